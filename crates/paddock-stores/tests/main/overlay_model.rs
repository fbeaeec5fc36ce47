//! History, forks, applying, undoing and collecting against a plain model, step by step.
//!
//! After every step each tree is what the model says, and so is every moment that somebody holds on to. Whether an
//! apply contradicts is the model's word too. `PROPTEST_CASES` asks for more cases; `cargo xtask soak` does.

mod model;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use paddock_core::{Alter, Alteration, Before, Kept, Operation, Store, Versioned};
use paddock_db::postgres_testing::Database;
use paddock_db::{Durability, Sqlite};
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::with_call;
use paddock_stores::virtual_store::base::{BaseStore, Commit, Namespace};
use paddock_stores::virtual_store::{MemoryBase, PostgresBase, SqliteBase, VirtualStore};
use proptest::prelude::*;
use proptest::test_runner::Config;
use tempfile::TempDir;

use self::model::{Node, Place, Text, Tree, above, is_below, merged};
use self::steps::{Change, Step, Where, steps};
use crate::forks::ground::{FORK, Ground, SOURCE, Standing, at, take_back, tree_of};
use crate::planting;

/// This many cases, or as many as a longer run asks for.
fn cases(n: u32) -> Config {
    let asked_for = std::env::var_os("PROPTEST_CASES").is_some();
    let default = Config::default();
    let cases = if asked_for { default.cases } else { n };
    Config { cases, failure_persistence: None, ..default }
}

/// One fork, and what the model says of it.
struct Fork {
    ground: Ground,
    model: Place,
    /// The common ancestor of a frozen fork; a live one keeps its own.
    base: Option<Tree>,
}

/// The Workspace, its forks, its pins; the real ones and the model's.
struct Run {
    base: Arc<dyn BaseStore>,
    store: Arc<dyn Store>,
    /// The Workspace's own rows, where it can be frozen.
    rows: Option<VirtualStore>,
    source: Ground,
    tree: Place,
    forks: [Option<Fork>; 2],
    pins: [Option<(Commit, Tree)>; 2],
    kept: Vec<(Where, Kept)>,
    _dir: TempDir,
}

fn none() -> Tree {
    Tree::new()
}

impl Run {
    fn new(base: Arc<dyn BaseStore>, dir: TempDir, physical: bool) -> Self {
        let rows = VirtualStore::new(Arc::clone(&base), Namespace::new(["source"]));
        let store: Arc<dyn Store> = if physical {
            Arc::new(PhysicalStore::new(&dir.path().join("mount")).unwrap())
        } else {
            Arc::new(rows.clone())
        };
        let unused = (Arc::clone(&base), Namespace::new(["unused"]));
        let source = Ground::new(Arc::clone(&store), Standing::Live, unused, &[]);
        Self {
            base,
            store,
            rows: (!physical).then_some(rows),
            source,
            tree: Place::Plain(none()),
            forks: [None, None],
            pins: [None, None],
            kept: Vec::new(),
            _dir: dir,
        }
    }

    fn tree(&self) -> Tree {
        self.tree.tree(&none())
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Change { place, change, undo } => self.change(*place, change, *undo),
            Step::Fork(which) => self.fork(*which),
            Step::Apply(which) => self.apply(*which),
            Step::Discard(which) => self.discard(*which),
            Step::Pin(which) => self.pin(*which),
            Step::Unpin(which) => self.unpin(*which),
            Step::Collect => self.collect(),
        }
        self.check();
    }

    fn change(&mut self, place: Where, change: &Change, undo: bool) {
        let lower = self.tree();
        let (ground, prefix, model) = match place {
            Where::Source => (&self.source, SOURCE, &mut self.tree),
            Where::Fork(which) => match &mut self.forks[which] {
                Some(fork) => (&fork.ground, FORK, &mut fork.model),
                None => return,
            },
        };
        let Some(operation) = operation(prefix, change, &model.tree(&lower)) else { return };
        let before = model.clone();
        let expected = make(model, &lower, change);
        let done = ground.run(operation);
        assert_eq!(done.is_ok(), expected, "{place:?} {change:?}: {done:?}");
        if done.is_err() {
            *model = before;
            return;
        }
        let told = ground.last_told();
        let lost = told.iter().any(|(_, before)| *before == Before::Lost);
        if undo && !lost && !matches!(change, Change::Move(..)) {
            for (path, _) in told.iter().rev() {
                let path = &path.as_str()[prefix.len() + 1..];
                match before.get(&lower, path) {
                    None => model.remove(&lower, path),
                    Some(Node::Dir) => model.put_dir(&lower, path),
                    Some(node) => model.restore(&lower, path, &node, before.is_own(path)),
                }
            }
            take_back(ground, told);
        } else {
            let kept = told.into_iter().filter_map(|(_, before)| match before {
                Before::Kept(kept) => Some((place, kept)),
                _ => None,
            });
            self.kept.extend(kept);
        }
    }

    fn fork(&mut self, which: usize) {
        if self.forks[which].is_some() {
            return;
        }
        let name = format!("fork{which}");
        let (standing, model, base) = match &self.rows {
            Some(rows) => {
                let commit = with_call(|call| self.base.pin(call, rows.namespace(), &name)).unwrap();
                let frozen: Arc<dyn Store> = Arc::new(rows.clone().frozen(commit));
                (Standing::Frozen(frozen), self.tree.clone(), Some(self.tree()))
            }
            None => (Standing::Live, Place::Live(model::Live::default()), None),
        };
        let upper = (Arc::clone(&self.base), Namespace::new(["fork", &name]));
        let ground = Ground::new(Arc::clone(&self.store), standing, upper, &[]);
        self.forks[which] = Some(Fork { ground, model, base });
    }

    fn apply(&mut self, which: usize) {
        let lower = self.tree();
        let Some(fork) = &mut self.forks[which] else { return };
        let ours = fork.model.tree(&lower);
        let base = fork.base.clone().unwrap_or_else(|| fork.model.base(&lower));
        let expected = merged(&base, &ours, &lower);
        let merge = fork.ground.merge();
        match (merge.ready(), expected) {
            (Ok(alterations), Some(result)) => {
                let quiet = fork.ground.diff().is_empty();
                assert_eq!(quiet, alterations.is_empty(), "{:?}", fork.ground.diff());
                assert_eq!(quiet, result == lower, "{alterations:?}");
                fork.ground.alter(alterations.to_vec()).unwrap();
                assert!(with_call(|call| merge.applied(call, &fork.ground.fork)).unwrap());
                self.tree = Place::Plain(result);
                fork.model.applied();
                if let Some(base) = &mut fork.base {
                    *base = ours;
                }
                assert_eq!(fork.ground.diff(), [""; 0], "after the apply");
            }
            (Err(conflicts), None) => assert!(!conflicts.is_empty()),
            (Ok(alterations), None) => panic!("the model says conflict: {alterations:?}"),
            (Err(conflicts), Some(result)) => panic!("{conflicts:?}, where the model says {result:?}"),
        }
    }

    fn discard(&mut self, which: usize) {
        let Some(fork) = self.forks[which].take() else { return };
        with_call(|call| {
            self.base.drop_namespace(call, fork.ground.fork.namespace()).unwrap();
            if let Some(rows) = &self.rows {
                self.base.unpin(call, rows.namespace(), &format!("fork{which}")).unwrap();
            }
        });
        self.kept.retain(|(place, _)| *place != Where::Fork(which));
    }

    fn pin(&mut self, which: usize) {
        let Some(rows) = &self.rows else { return };
        let commit = with_call(|call| self.base.pin(call, rows.namespace(), &format!("pin{which}"))).unwrap();
        let tree = self.tree();
        let (held, _) = self.pins[which].get_or_insert((commit, tree));
        assert_eq!(*held, commit, "holding on twice keeps the first");
    }

    fn unpin(&mut self, which: usize) {
        let Some(rows) = &self.rows else { return };
        if self.pins[which].take().is_some() {
            with_call(|call| self.base.unpin(call, rows.namespace(), &format!("pin{which}"))).unwrap();
        }
    }

    /// Nobody asks for what was kept any more.
    fn collect(&mut self) {
        for (place, kept) in std::mem::take(&mut self.kept) {
            let release =
                |store: &dyn Versioned| with_call(|call| store.release(call, std::slice::from_ref(&kept))).unwrap();
            match place {
                Where::Source => release(self.store.versioned().unwrap()),
                Where::Fork(which) => release(self.forks[which].as_ref().unwrap().ground.fork.versioned().unwrap()),
            }
        }
        with_call(|call| self.base.collect_chunks(call, 0)).unwrap();
    }

    fn check(&self) {
        let lower = self.tree();
        assert_same(self.source.tree(SOURCE), &lower, "the Workspace");
        for (which, fork) in self.forks.iter().enumerate() {
            if let Some(fork) = fork {
                assert_same(fork.ground.tree(FORK), &fork.model.tree(&lower), &format!("fork {which}"));
            }
        }
        for (commit, tree) in self.pins.iter().flatten() {
            let rows = self.rows.as_ref().unwrap();
            let view = planting::view(Arc::new(rows.clone().frozen(*commit)));
            assert_same(tree_of(&view), tree, "what is held on to");
        }
    }
}

/// Are two trees the same? Told in few words where not.
fn assert_same(real: Vec<(String, Vec<u8>)>, model: &Tree, what: &str) {
    let real: BTreeMap<String, Vec<u8>> = real.into_iter().collect();
    let one = |(path, node): (&String, &Node)| match node {
        Node::Dir => (format!("{path}/"), Vec::new()),
        Node::File(text) => (path.clone(), text.render()),
        Node::Link(text) => (format!("{path}@"), text.as_bytes().to_vec()),
    };
    let model: BTreeMap<String, Vec<u8>> = model.iter().map(one).collect();
    if real != model {
        panic!("{what}\n real: {:?}\nmodel: {:?}", short(&real), short(&model));
    }
}

fn short(tree: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let one = |(path, bytes): (&String, &Vec<u8>)| {
        let lines = String::from_utf8_lossy(bytes).replace(&"x".repeat(70_000), "…");
        let lines: Vec<&str> = lines.lines().filter(|line| !line.starts_with("--")).collect();
        format!("{path} {}", lines.join(" "))
    };
    tree.iter().map(one).collect()
}

/// What an agent asks for; nothing where there is no telling how it would be asked.
fn operation(prefix: &str, change: &Change, tree: &Tree) -> Option<Operation> {
    let full = |path: &str| at(&format!("{prefix}/{path}"));
    let expect = paddock_core::Expect::Any;
    Some(match change {
        Change::Write(path, text) => Operation::Write { path: full(path), content: text.render(), expect },
        Change::Edit(path, slot, value) => {
            let Some(Node::File(text)) = tree.get(*path) else { return None };
            let old = text.slots[*slot];
            if old == *value {
                return None;
            }
            let line = |value: u8| format!("s{slot}={value}\n--a{slot}\n");
            let edits = vec![paddock_core::Replacement { old: line(old), new: line(*value), all: false }];
            Operation::Edit { path: full(path), edits, expect }
        }
        // The model has no file that is only a tail.
        Change::Append(path, _) if !tree.contains_key(*path) => return None,
        Change::Append(path, value) => {
            Operation::Append { path: full(path), content: format!("t{value}\n").into_bytes() }
        }
        Change::Delete(path) => Operation::Delete { path: full(path), recursive: true },
        Change::Move(from, to) => Operation::Move { from: full(from), to: full(to) },
        Change::MakeDir(path) => Operation::MakeDir { path: full(path) },
        Change::Link(path, text) => {
            let how = Alter::Link { leads_to: (*text).to_owned() };
            Operation::Alter { path: full(path), alterations: vec![Alteration { path: full(path), how, expect }] }
        }
    })
}

/// Makes a change in the model. Answers whether it can be made.
fn make(model: &mut Place, lower: &Tree, change: &Change) -> bool {
    let tree = model.tree(lower);
    let way_is_free = |path: &str| above(path).all(|dir| matches!(tree.get(dir), None | Some(Node::Dir)));
    let fits = |path: &str, file: bool| match tree.get(path) {
        None => way_is_free(path),
        Some(node) => (*node != Node::Dir) == file,
    };
    match change {
        Change::Write(path, text) => {
            let can = fits(path, true);
            if can {
                model.put(lower, path, &Node::File(text.clone()));
            }
            can
        }
        Change::Link(path, text) => {
            let can = fits(path, true);
            if can {
                model.put(lower, path, &Node::Link(text));
            }
            can
        }
        Change::Edit(path, slot, value) => {
            let Some(Node::File(mut text)) = tree.get(*path).cloned() else { return false };
            text.slots[*slot] = *value;
            model.put(lower, path, &Node::File(text));
            true
        }
        Change::Append(path, value) => match tree.get(*path).cloned() {
            Some(Node::File(mut text)) => {
                text.tail.push(*value);
                model.put(lower, path, &Node::File(text));
                true
            }
            _ => false,
        },
        Change::Delete(path) => {
            let can = tree.contains_key(*path);
            if can {
                delete(model, lower, &tree, path);
            }
            can
        }
        Change::Move(from, to) => {
            let can = tree.contains_key(*from) && !tree.contains_key(*to) && !is_below(to, from) && way_is_free(to);
            if can {
                for (path, node) in tree.iter().filter(|(path, _)| *path == from || is_below(path, from)) {
                    let new = format!("{to}{}", &path[from.len()..]);
                    match node {
                        Node::Dir => model.put_dir(lower, &new),
                        leaf => model.put(lower, &new, leaf),
                    }
                }
                delete(model, lower, &tree, from);
            }
            can
        }
        Change::MakeDir(path) => {
            let can = fits(path, false);
            if can {
                model.put_dir(lower, path);
            }
            can
        }
    }
}

/// What a path holds goes first, the last in the order of the tree before the others.
fn delete(model: &mut Place, lower: &Tree, tree: &Tree, path: &str) {
    let mut doomed: Vec<&String> = tree.keys().filter(|other| *other == path || is_below(other, path)).collect();
    doomed.sort_by(|a, b| paddock_core::tree_order(b, a));
    for path in doomed {
        model.remove(lower, path);
    }
}

fn hold(mut run: Run, steps: &[Step]) {
    for step in steps {
        run.step(step);
    }
    for which in [0, 1] {
        run.step(&Step::Apply(which));
        run.step(&Step::Discard(which));
        run.step(&Step::Unpin(which));
    }
    run.step(&Step::Collect);
}

fn on_memory(physical: bool) -> Run {
    Run::new(Arc::new(MemoryBase::new()), TempDir::new().unwrap(), physical)
}

fn on_sqlite() -> Run {
    let dir = TempDir::new().unwrap();
    let database = |name: &str, schema| Sqlite::new(dir.path().join(name), vec![schema], Durability::Process);
    let base = SqliteBase::new(database("state.db", SqliteBase::STATE), database("content.db", SqliteBase::CONTENT));
    Run::new(Arc::new(base), dir, false)
}

/// The server that the databases are on lives as long as the run.
fn on_postgres() -> (Run, Database) {
    let database = Database::fresh();
    let base = PostgresBase::new(database.open(&[PostgresBase::SCHEMA]));
    (Run::new(Arc::new(base), TempDir::new().unwrap(), false), database)
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn forks_of_a_frozen_virtual_workspace_do_what_the_model_says(steps in steps()) {
        hold(on_memory(false), &steps);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn forks_of_a_physical_workspace_that_changes_do_what_the_model_says(steps in steps()) {
        hold(on_memory(true), &steps);
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn forks_on_sqlite_do_what_the_model_says(steps in steps()) {
        hold(on_sqlite(), &steps);
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn forks_on_postgres_do_what_the_model_says(steps in steps()) {
        let (run, _database) = on_postgres();
        hold(run, &steps);
    }
}

#[test]
fn the_steps_of_the_property_do_not_all_fail() {
    let text = |slots| Text { slots, tail: Vec::new() };
    let change = |place, change| Step::Change { place, change, undo: false };
    let steps = [
        change(Where::Source, Change::Write("d/a", text([0, 0, 0, 1]))),
        Step::Fork(0),
        change(Where::Source, Change::Edit("d/a", 0, 1)),
        change(Where::Fork(0), Change::Edit("d/a", 2, 2)),
        change(Where::Fork(0), Change::Write("e/a", text([1, 1, 1, 0]))),
        change(Where::Fork(0), Change::Link("d/l", "../e/a")),
        Step::Apply(0),
    ];
    for physical in [false, true] {
        let mut run = on_memory(physical);
        for step in &steps {
            run.step(step);
        }
        assert_eq!(run.tree().get("d/a"), Some(&Node::File(text([1, 0, 2, 1]))));
        assert_eq!(run.tree().get("d/l"), Some(&Node::Link("../e/a")));
        assert_eq!(run.tree().len(), 5);
        let contradiction = [
            change(Where::Source, Change::Write("a", text([0; 4]))),
            change(Where::Fork(0), Change::Write("a", text([2; 4]))),
        ];
        // Over a Workspace that can change the fork sees the first one.
        for step in &contradiction {
            run.step(step);
        }
        let conflicts = run.forks[0].as_ref().unwrap().ground.merge().conflicts.len();
        assert_eq!(conflicts, usize::from(!physical));
    }
}
