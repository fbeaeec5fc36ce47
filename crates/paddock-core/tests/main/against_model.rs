//! The Vfs against the naive model: random Workspaces, paths and operations, the same answers.

use std::collections::BTreeMap;

use paddock_core::{
    AccessScope, Browse, Expect, LogicalPath, OpKind, Operation, Outcome, PathGlob, Refused, Replacement, Search,
};
use paddock_stores::conformance::world::{browse, path_of, search};
use paddock_stores::conformance::{Space, World};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{cases, world};
use crate::model::{Glob, Hide, Model, ModelSpace, Names, Step, Told, parse, text};

/// The common ones several times, so that paths meet each other.
const NAMES: [&str; 14] = ["a", "a", "a", "b", "b", "b", "c", "c", "a-b", "ab", "secret", "Secret", "x.key", ".envrc"];
const PREFIX_NAMES: [&str; 6] = ["a", "a", "b", "b", "c", "secret"];
const BASE: &str = "/a/b";

fn names(from: &'static [&'static str], most: usize) -> impl Strategy<Value = Names> {
    prop::collection::vec(select(from).prop_map(str::to_owned), 0..=most)
}

/// Paths where something is, or could well be: without them most operations would meet nothing.
fn likely(model: &Model) -> Vec<String> {
    let mut likely = vec!["/".to_owned()];
    for space in &model.spaces {
        likely.extend((1..=space.prefix.len()).map(|end| text(&space.prefix[..end])));
        for rel in model.spaces.iter().flat_map(|other| other.nodes.keys()) {
            likely.push(text(&[space.prefix.clone(), rel.clone()].concat()));
        }
    }
    likely
}

fn path(likely: &[String]) -> impl Strategy<Value = String> + use<> {
    prop_oneof![9 => select(likely.to_vec()), 1 => written()]
}

/// A path as an agent may write it: detours, doubled slashes, relative.
fn written() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => select(&NAMES[..]).prop_map(str::to_owned),
        1 => Just(".".to_owned()),
        1 => Just("..".to_owned()),
        1 => Just(String::new()),
    ];
    (prop::collection::vec(part, 0..6), any::<bool>(), prop::bool::weighted(0.8)).prop_map(|(parts, tail, absolute)| {
        let (head, tail) = (if absolute { "/" } else { "" }, if tail { "/" } else { "" });
        format!("{head}{}{tail}", parts.join("/"))
    })
}

fn hides() -> impl Strategy<Value = Vec<Hide>> {
    let hide = select(vec![Hide::Name("secret"), Hide::Suffix(".key"), Hide::AtTop("c"), Hide::Name("a-b")]);
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(hide, 1..3)]
}

fn model() -> impl Strategy<Value = Model> {
    let scope = prop_oneof![
        6 => Just(AccessScope::ReadWrite),
        1 => Just(AccessScope::ReadOnly),
        1 => Just(AccessScope::WriteOnly),
    ];
    let space = (names(&PREFIX_NAMES, 3), scope, hides(), nodes());
    prop::collection::vec(space, 1..6).prop_map(|spaces| {
        let mut by_prefix = BTreeMap::new();
        for (prefix, scope, hide, nodes) in spaces {
            by_prefix.insert(prefix.clone(), ModelSpace { prefix, scope, hide, nodes });
        }
        Model { spaces: by_prefix.into_values().collect() }
    })
}

/// What a Store holds to begin with; a path that contradicts an earlier one is left out.
fn nodes() -> impl Strategy<Value = BTreeMap<Names, Option<String>>> {
    prop::collection::vec((names(&NAMES, 4), content()), 0..8).prop_map(|files| {
        let mut nodes: BTreeMap<Names, Option<String>> = BTreeMap::new();
        for (path, content) in files {
            let on_the_way = |end: usize| nodes.get(&path[..end]).is_none_or(Option::is_none);
            if path.is_empty() || nodes.contains_key(&path) || !(1..path.len()).all(on_the_way) {
                continue;
            }
            for end in 1..path.len() {
                nodes.insert(path[..end].to_vec(), None);
            }
            nodes.insert(path, Some(content));
        }
        nodes
    })
}

fn content() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&["x", "y", "z", "x x", ""][..]), 0..5).prop_map(|lines| lines.join("\n"))
}

/// A step as it is written, before its paths are parsed.
#[derive(Debug, Clone)]
enum Written {
    Read,
    List { depth: Option<u32>, after: Option<Names>, limit: usize },
    Find { glob: Glob, after: Option<Names>, limit: usize },
    Search { glob: Option<Glob>, after: Option<Names>, limit: usize },
    Write { content: String, absent: bool },
    Append { content: String },
    Edit { old: char, new: char, all: bool },
    MakeDir,
    Move { to: String },
    Delete { recursive: bool },
}

fn step(likely: &[String]) -> impl Strategy<Value = (String, Written)> + use<> {
    let after = || prop::option::weighted(0.3, names(&NAMES, 3));
    let limit = || prop_oneof![3 => Just(1000usize), 1 => 0usize..5];
    let glob =
        || select(vec![Glob::StartsWith("a"), Glob::StartsWith(""), Glob::DirectlyIn("a"), Glob::DirectlyIn("b")]);
    let letter = || select(vec!['x', 'y', 'z']);
    let step = prop_oneof![
        2 => Just(Written::Read),
        3 => (prop::option::of(0u32..4), after(), limit())
            .prop_map(|(depth, after, limit)| Written::List { depth, after, limit }),
        1 => (glob(), after(), limit()).prop_map(|(glob, after, limit)| Written::Find { glob, after, limit }),
        2 => (prop::option::of(glob()), after(), limit())
            .prop_map(|(glob, after, limit)| Written::Search { glob, after, limit }),
        3 => (content(), prop::bool::weighted(0.2))
            .prop_map(|(content, absent)| Written::Write { content, absent }),
        1 => content().prop_map(|content| Written::Append { content }),
        2 => (letter(), letter(), any::<bool>()).prop_map(|(old, new, all)| Written::Edit { old, new, all }),
        1 => Just(Written::MakeDir),
        6 => path(likely).prop_map(|to| Written::Move { to }),
        2 => any::<bool>().prop_map(|recursive| Written::Delete { recursive }),
    ];
    (path(likely), step)
}

fn story() -> impl Strategy<Value = (Model, Vec<(String, Written)>)> {
    model().prop_flat_map(|model| {
        let steps = prop::collection::vec(step(&likely(&model)), 1..16);
        (Just(model), steps)
    })
}

/// The step on clean paths; nothing when a path leads above the top.
fn clean(path: &str, step: &Written) -> Option<Step> {
    let base = parse(BASE, &[]).unwrap();
    let at = parse(path, &base)?;
    // A page goes on somewhere below where it started.
    let below = |after: &Option<Names>| after.as_ref().map(|after| [at.clone(), after.clone()].concat());
    Some(match step.clone() {
        Written::Read => Step::Read(at),
        Written::List { depth, after, limit } => Step::List { depth, after: below(&after), limit, at },
        Written::Find { glob, after, limit } => Step::Find { glob, after: below(&after), limit, at },
        Written::Search { glob, after, limit } => Step::Search { glob, after: below(&after), limit, at },
        Written::Write { content, absent } => {
            Step::Write { at, content, expect: if absent { Expect::Absent } else { Expect::Any } }
        }
        Written::Append { content } => Step::Append { at, content },
        Written::Edit { old, new, all } => Step::Edit { at, old, new, all },
        Written::MakeDir => Step::MakeDir(at),
        Written::Move { to } => Step::Move { from: at, to: parse(&to, &base)? },
        Written::Delete { recursive } => Step::Delete { at, recursive },
    })
}

fn operation(step: &Step) -> Operation {
    let path = |names: &Names| path_of(&text(names));
    let after = |after: &Option<Names>| after.as_ref().map(path);
    let glob = |glob: Glob| PathGlob::parse(&glob.text()).unwrap();
    match step.clone() {
        Step::Read(at) => Operation::Read { path: path(&at), range: 0..u64::MAX },
        Step::List { at, depth, after: page, limit } => {
            Operation::List(Browse { depth, after: after(&page), limit, ..browse(&text(&at)) })
        }
        Step::Find { at, glob: only, after: page, limit } => {
            Operation::Find { browse: Browse { after: after(&page), limit, ..browse(&text(&at)) }, glob: glob(only) }
        }
        Step::Search { at, glob: only, after: page, limit } => Operation::Search {
            path: path(&at),
            search: Search { glob: only.map(glob), after: after(&page), limit, ..search("x") },
        },
        Step::Write { at, content, expect } => {
            Operation::Write { path: path(&at), content: content.into_bytes(), expect }
        }
        Step::Append { at, content } => Operation::Append { path: path(&at), content: content.into_bytes() },
        Step::Edit { at, old, new, all } => Operation::Edit {
            path: path(&at),
            edits: vec![Replacement { old: old.to_string(), new: new.to_string(), all }],
            expect: Expect::Any,
        },
        Step::MakeDir(at) => Operation::MakeDir { path: path(&at) },
        Step::Move { from, to } => Operation::Move { from: path(&from), to: path(&to) },
        Step::Delete { at, recursive } => Operation::Delete { path: path(&at), recursive },
    }
}

/// What the Vfs came to, in the model's words.
fn told(step: &Step, outcome: Result<Outcome, Refused>) -> Told {
    match outcome {
        Ok(Outcome::Read { bytes, .. }) => Told::Read(String::from_utf8(bytes).unwrap()),
        Ok(Outcome::Entries(entries)) => {
            assert!(entries.unreachable.is_empty());
            let found = entries.found.iter().map(|found| (found.path.to_owned(), found.kind, found.scope));
            Told::Entries(found.collect(), entries.more)
        }
        Ok(Outcome::Hits(hits)) => {
            assert!(hits.unreachable.is_empty() && hits.found.iter().all(|hit| hit.matched));
            Told::Hits(hits.found.into_iter().map(|hit| (hit.path, hit.line, hit.text)).collect(), hits.more)
        }
        Ok(Outcome::Changed { created, replacements, paths, .. }) => match step {
            Step::Delete { .. } => Told::Deleted(paths),
            Step::Move { .. } => Told::Moved,
            _ => Told::Changed { created, replacements },
        },
        Ok(Outcome::Accepted) => Told::Accepted,
        Err(Refused::Denied(denial)) => Told::Denied(denial.rule.into()),
        Err(Refused::DeniedInside(denial)) => Told::DeniedInside(denial.rule.into()),
        Err(Refused::Store { source, .. }) => Told::Failed(source.kind().clone()),
        Err(Refused::Misuse { .. }) => Told::Misuse,
        Err(Refused::NotApproved { why, .. } | Refused::Gate(why)) => panic!("the gate is open: {why}"),
    }
}

fn build(model: &Model) -> World {
    let prefixes: Vec<String> = model.spaces.iter().map(|space| text(&space.prefix)).collect();
    let patterns: Vec<Vec<String>> =
        model.spaces.iter().map(|space| space.hide.iter().map(|hide| hide.pattern()).collect()).collect();
    let patterns: Vec<Vec<&str>> = patterns.iter().map(|all| all.iter().map(String::as_str).collect()).collect();
    let spaces: Vec<Space<'_>> = model
        .spaces
        .iter()
        .zip(prefixes.iter().zip(&patterns))
        .map(|(space, (prefix, hide))| Space::at(prefix).scope(space.scope).hide(hide))
        .collect();
    let world = world(&spaces);
    for (index, space) in model.spaces.iter().enumerate() {
        for (path, content) in &space.nodes {
            if let Some(content) = content {
                world.seed(index, &path.join("/"), content);
            }
        }
    }
    world
}

fn held(model: &Model, index: usize) -> BTreeMap<String, Option<Vec<u8>>> {
    let bytes = |content: &Option<String>| content.as_ref().map(|content| content.clone().into_bytes());
    model.spaces[index].nodes.iter().map(|(path, content)| (path.join("/"), bytes(content))).collect()
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn operations_come_to_what_the_model_says((mut model, steps) in story()) {
        let world = build(&model);
        for (path, step) in &steps {
            let Some(step) = clean(path, step) else { continue };
            let expected = model.take(&step);
            let came = told(&step, world.run(operation(&step)));
            prop_assert_eq!(came, expected, "{:?}", step);
        }
        for index in 0..model.spaces.len() {
            prop_assert_eq!(world.contents(index), held(&model, index), "Workspace {}", index);
        }
    }

    #[test]
    fn verdicts_are_those_of_a_linear_scan(model in model(), paths in prop::collection::vec(written(), 1..30)) {
        let world = build(&model);
        let base = parse(BASE, &[]).unwrap();
        for path in paths {
            let parsed = LogicalPath::parse(&path, &path_of(BASE));
            let Some(names) = parse(&path, &base) else {
                prop_assert!(parsed.is_err(), "{path}");
                continue;
            };
            let parsed = parsed.unwrap();
            prop_assert_eq!(parsed.as_str(), text(&names));
            for op in OpKind::ALL {
                let decision = world.vfs().judge(op, &parsed);
                prop_assert_eq!(decision.allowed(), model.judge(op, &names).is_ok(), "{} {}", op, parsed);
            }
        }
    }
}
