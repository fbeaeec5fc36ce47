//! Random calls and random undoing, compared with a naive model: a snapshot before and after each call.
//!
//! The model knows nothing of rows. What a call changed is where its snapshots differ; it may be undone when all of that is
//! as it left it, and must not be when a file of it is not. In between lie a few cases that are free, such as a directory that
//! somebody made again; there the outcome only has to be one of the two.

use std::collections::{BTreeMap, HashMap};

use paddock_core::{Alter, Alteration, CallId, Expect, Operation, Replacement};
use paddock_db::postgres_testing::Database;
use paddock_ledger::history::{History, HistoryError, schema};
use proptest::collection::vec;
use proptest::prelude::*;

use super::history_store::Node;
use super::history_world::{World, path};

const PATHS: [&str; 9] = ["a", "b", "d", "d/x", "d/y", "d/s", "d/s/z", "e", "e/x"];

#[derive(Debug, Clone)]
enum Step {
    Write(usize),
    Append(usize),
    Edit(usize),
    MakeDir(usize),
    Move(usize, usize),
    Delete(usize),
    Several(Vec<Step>),
    Undo(usize),
    /// Somebody saves one of the files at the top, and no row tells it.
    Outsider(usize),
}

fn one() -> impl Strategy<Value = Step> {
    let at = || 0..PATHS.len();
    prop_oneof![
        4 => at().prop_map(Step::Write),
        1 => at().prop_map(Step::MakeDir),
        2 => (at(), at()).prop_map(|(from, to)| Step::Move(from, to)),
        2 => at().prop_map(Step::Delete),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..PATHS.len();
    prop_oneof![
        4 => one(),
        1 => at().prop_map(Step::Append),
        1 => at().prop_map(Step::Edit),
        1 => vec(one(), 1..4).prop_map(Step::Several),
        5 => (0_usize..6).prop_map(Step::Undo),
        2 => (0_usize..2).prop_map(Step::Outsider),
    ]
}

/// What is at a path, as far as undoing can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    Dir,
    File(u128),
}

type Marks = BTreeMap<String, Mark>;

struct Past {
    id: CallId,
    before: (Marks, BTreeMap<String, Node>),
    after: Marks,
    moves_directories: bool,
    undone: bool,
    undoes: Option<usize>,
}

struct Model<'a> {
    world: &'a World,
    past: Vec<Past>,
    /// A version that undoing made, and the one that it brought back.
    same: HashMap<u128, u128>,
    count: usize,
}

fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

impl Model<'_> {
    fn marks(&self) -> Marks {
        let mark = |node| match node {
            Node::Dir => Mark::Dir,
            Node::File(_, version) => Mark::File(self.same.get(&version).copied().unwrap_or(version)),
        };
        self.world.store.dump().into_iter().map(|(path, node)| (path, mark(node))).collect()
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        if let Step::Undo(back) = step {
            let Some(target) = self.past.len().checked_sub(back + 1) else { return Ok(()) };
            return self.undo(target);
        }
        if let Step::Outsider(a) = step {
            self.save_outside(PATHS[a]);
            return Ok(());
        }
        let before = (self.marks(), self.world.store.dump());
        let moved = |step: &Step| match step {
            Step::Move(from, _) => before.0.get(PATHS[*from]) == Some(&Mark::Dir),
            _ => false,
        };
        let moves_directories = match &step {
            Step::Several(steps) => steps.iter().any(|one| matches!(one, Step::Move(..))),
            one => moved(one),
        };
        let operation = self.operation(step);
        let _ = self.world.run(operation);
        let (id, after) = (self.world.last(), self.marks());
        self.past.push(Past { id, before, after, moves_directories, undone: false, undoes: None });
        Ok(())
    }

    /// Only a file that is there: this Store has no times, by which a directory would tell what is new in it.
    fn save_outside(&mut self, path: &str) {
        self.count += 1;
        if let Some(Mark::File(_)) = self.marks().get(path) {
            self.world.store.plant(path, &format!("by hand {}", self.count));
        }
    }

    fn operation(&mut self, step: Step) -> Operation {
        self.count += 1;
        let at = |index: usize| path(&format!("/w/{}", PATHS[index]));
        let text = || format!("text {}", self.count).into_bytes();
        match step {
            Step::Write(a) => Operation::Write { path: at(a), content: text(), expect: Expect::Any },
            Step::Append(a) => Operation::Append { path: at(a), content: text() },
            Step::Edit(a) => {
                let edits = vec![Replacement { old: "text".into(), new: format!("{} text", self.count), all: true }];
                Operation::Edit { path: at(a), edits, expect: Expect::Any }
            }
            Step::MakeDir(a) => Operation::MakeDir { path: at(a) },
            Step::Move(a, b) => Operation::Move { from: at(a), to: at(b) },
            Step::Delete(a) => Operation::Delete { path: at(a), recursive: true },
            Step::Several(steps) => {
                let alterations = steps.into_iter().map(|step| {
                    let (index, how) = match step {
                        Step::Move(a, b) => (a, Alter::Move { to: at(b) }),
                        Step::Delete(a) => (a, Alter::Delete),
                        Step::MakeDir(a) => (a, Alter::MakeDir),
                        Step::Write(a) | Step::Append(a) | Step::Edit(a) | Step::Undo(a) | Step::Outsider(a) => {
                            (a, Alter::Write { content: text(), mode: None })
                        }
                        Step::Several(_) => unreachable!("only single steps are generated inside"),
                    };
                    Alteration { path: at(index), how, expect: Expect::Any }
                });
                Operation::Alter { path: path("/w"), alterations: alterations.collect() }
            }
            Step::Undo(_) | Step::Outsider(_) => unreachable!("handled before"),
        }
    }

    fn undo(&mut self, target: usize) -> Result<(), TestCaseError> {
        let before = (self.marks(), self.world.store.dump());
        let past = &self.past[target];
        let touched: Vec<String> = differing(&past.before.0, &past.after);
        let (must, may) = self.verdict(target, &touched, &before.0);
        let expected = restored(past, &touched, &before.1);
        match self.world.undo(past.id) {
            Ok(id) => {
                prop_assert!(may, "undone although something newer was in the way: {touched:?}");
                let now = self.world.store.dump();
                self.compare(target, &now, &expected)?;
                self.learn(target, &touched, &now);
                let after = self.marks();
                let moves_directories = self.past[target].moves_directories;
                self.mark_undone(target);
                self.past.push(Past { id, before, after, moves_directories, undone: false, undoes: Some(target) });
            }
            Err(error) => {
                prop_assert!(!must, "refused without need ({touched:?}): {error}");
                prop_assert_eq!(self.world.store.dump(), before.1, "a refusal changes nothing: {}", error);
                let undone = matches!(error, HistoryError::AlreadyUndone { .. });
                prop_assert_eq!(undone, self.past[target].undone);
            }
        }
        Ok(())
    }

    /// Must it be undone, and may it?
    fn verdict(&self, target: usize, touched: &[String], now: &Marks) -> (bool, bool) {
        let past = &self.past[target];
        if past.undone {
            return (false, false);
        }
        let agrees = |path: &String| now.get(path) == past.after.get(path);
        let file = |mark: Option<&Mark>| matches!(mark, Some(Mark::File(_)));
        let in_the_way = |path: &String| !agrees(path) && (file(now.get(path)) || file(past.after.get(path)));
        let may = !touched.iter().any(in_the_way);
        let below = |marks: &Marks, dir: &str| -> Marks {
            marks.iter().filter(|(path, _)| is_below(path, dir)).map(|(p, m)| (p.clone(), m.clone())).collect()
        };
        let made = touched.iter().filter(|path| past.after.get(*path) == Some(&Mark::Dir));
        let undisturbed = touched.iter().all(agrees)
            && touched.iter().flat_map(|path| parents(path)).all(|dir| now.get(dir) == past.after.get(dir))
            && made.into_iter().all(|dir| below(now, dir) == below(&past.after, dir))
            && !self.past[target + 1..].iter().any(|later| later.moves_directories);
        let only_this = self.past[target + 1..].iter().all(|later| later.before.0 == later.after);
        // Who takes back something older after this may bring back its state by another way, which is not looked for.
        let crossed = self.past[target + 1..].iter().any(|later| later.undoes.is_some_and(|older| older < target));
        let must = undisturbed && !crossed && (!past.moves_directories || only_this) && !touched.is_empty();
        (must, may)
    }

    /// Files are as they were, and directories too, but for those that a move may leave behind.
    fn compare(
        &self,
        target: usize,
        now: &BTreeMap<String, Node>,
        expected: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> Result<(), TestCaseError> {
        let mut found: BTreeMap<String, Option<Vec<u8>>> =
            now.iter().map(|(p, node)| (p.clone(), content(node))).collect();
        let mut expected = expected.clone();
        if self.past[target].moves_directories {
            found.retain(|_, content| content.is_some());
            expected.retain(|_, content| content.is_some());
        }
        prop_assert_eq!(found, expected);
        Ok(())
    }

    /// What came back counts as what was there before.
    fn learn(&mut self, target: usize, touched: &[String], now: &BTreeMap<String, Node>) {
        for path in touched {
            let was = self.past[target].before.0.get(path);
            if let (Some(Node::File(_, version)), Some(Mark::File(was))) = (now.get(path), was)
                && version != was
            {
                self.same.insert(*version, *was);
            }
        }
    }

    fn mark_undone(&mut self, target: usize) {
        let (mut at, mut undone) = (Some(target), true);
        while let Some(index) = at {
            self.past[index].undone = undone;
            (at, undone) = (self.past[index].undoes, !undone);
        }
    }
}

fn differing(before: &Marks, after: &Marks) -> Vec<String> {
    let mut paths: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| before.get(path) != after.get(path));
    paths
}

fn content(node: &Node) -> Option<Vec<u8>> {
    match node {
        Node::Dir => None,
        Node::File(content, _) => Some(content.clone()),
    }
}

/// What is there now, with what a call touched as it was before it.
fn restored(past: &Past, touched: &[String], now: &BTreeMap<String, Node>) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all: BTreeMap<String, Option<Vec<u8>>> = now.iter().map(|(p, node)| (p.clone(), content(node))).collect();
    for path in touched {
        match past.before.1.get(path) {
            Some(node) => all.insert(path.clone(), content(node)),
            None => all.remove(path),
        };
    }
    // Directories above what is there stay, or come back.
    let needed: Vec<String> = all.keys().flat_map(|path| parents(path)).map(str::to_owned).collect();
    for dir in needed {
        all.entry(dir).or_insert(None);
    }
    all
}

fn play(world: &World, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut model = Model { world, past: Vec::new(), same: HashMap::new(), count: 0 };
    for step in steps {
        model.take(step)?;
    }
    Ok(())
}

fn cases(few: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(few);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn undoing_in_any_order_is_what_the_snapshots_say(steps in vec(step(), 1..40)) {
        play(&World::new(), steps)?;
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn undoing_on_postgresql_is_what_the_snapshots_say(steps in vec(step(), 1..30)) {
        let database = Database::fresh();
        let history = History::on_postgres(database.open(&[schema::POSTGRES]), "here");
        play(&World::on(history, tempfile::tempdir().unwrap()), steps)?;
    }
}
