//! In a write-only Workspace nothing comes back: one answer, whatever was there.

use paddock_core::{
    AccessScope, AgentName, Call, CallId, Cancel, DenyRule, EffectKind, Expect, OpKind, Operation, Refused,
};
use paddock_stores::conformance::world::{browse, delete, denied, path_of, rename, search, swap, write};
use paddock_stores::conformance::{Space, World};

use crate::common::world;

/// Worlds that differ in what is at `/drop/f`, and in nothing else.
fn worlds() -> Vec<(&'static str, World)> {
    let make = |prepare: &dyn Fn(&World)| {
        let world = world(&[Space::at("/drop").scope(AccessScope::WriteOnly).hide(&["secret"]), Space::at("/w")]);
        prepare(&world);
        world
    };
    vec![
        ("nothing", make(&|_| {})),
        ("a file", make(&|w| w.seed(0, "f", "old text\n"))),
        ("an empty file", make(&|w| w.seed(0, "f", ""))),
        ("a binary file", make(&|w| w.seed(0, "f", b"\x7fELF\0\0"))),
        ("the text twice", make(&|w| w.seed(0, "f", "old old\n"))),
        ("latin-1", make(&|w| w.seed(0, "f", b"Stra\xdfe \xfcber Gr\xf6\xdfe, old m\xf6glich"))),
        ("a directory", make(&|w| w.seed(0, "f/inner", "x"))),
        (
            "a link to a file",
            make(&|w| {
                w.seed(0, "g", "old text\n");
                w.link("f", "g");
            }),
        ),
        ("a link to nothing", make(&|w| w.link("f", "gone"))),
        ("a link out", make(&|w| w.link("f", "../../etc/passwd"))),
        (
            "a link to a hidden place",
            make(&|w| {
                w.seed(0, "secret", "s");
                w.link("f", "secret");
            }),
        ),
        ("a link in circles", make(&|w| w.link("f", "f"))),
    ]
}

fn deliveries() -> Vec<Operation> {
    let path = || path_of("/drop/f");
    let deep = || path_of("/drop/f/below/it");
    let edit = |old: &str, all| vec![swap(old, "new", all)];
    vec![
        Operation::Write { path: path(), content: b"new\n".to_vec(), expect: Expect::Any },
        Operation::Append { path: path(), content: "日本\n".as_bytes().to_vec() },
        Operation::Edit { path: path(), edits: edit("old", false), expect: Expect::Any },
        Operation::Edit { path: path(), edits: edit("nowhere", true), expect: Expect::Any },
        Operation::Write { path: deep(), content: b"new\n".to_vec(), expect: Expect::Any },
        Operation::Append { path: deep(), content: b"new\n".to_vec() },
    ]
}

#[test]
fn every_delivery_gives_one_answer_whatever_was_there() {
    for n in 0..deliveries().len() {
        let mut answers: Vec<(String, &str)> = Vec::new();
        for (what, world) in worlds() {
            let operation = deliveries().remove(n);
            answers.push((format!("{:?}", world.run(operation)), what));
        }
        for (answer, what) in &answers {
            assert_eq!(*answer, answers[0].0, "delivery {n} onto {what}");
            assert_eq!(answer, "Ok(Accepted)", "delivery {n} onto {what}");
        }
    }
}

#[test]
fn the_plan_that_a_gate_sees_tells_nothing_either() {
    let agent = AgentName::main();
    let cancel = Cancel::default();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(600);
    for n in 0..deliveries().len() {
        for (what, world) in worlds() {
            let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
            let plan = world.vfs().plan(&call, deliveries().remove(n)).unwrap();
            let told: Vec<(EffectKind, bool)> =
                plan.effects().iter().map(|effect| (effect.what, effect.before.is_some())).collect();
            assert_eq!(told, [(EffectKind::Deliver, false)], "delivery {n} onto {what}");
            assert_eq!(plan.effects()[0].path, *plan.path(), "where a link leads is not told");
        }
    }
}

#[test]
fn what_can_be_delivered_is_delivered() {
    let worlds = worlds();
    for (what, world) in &worlds {
        world.run(deliveries().remove(0)).unwrap();
        let landed = match *what {
            "a link to a file" => world.held(0, "g"),
            "a link to nothing" => world.held(0, "gone"),
            "a directory" | "a link out" | "a link to a hidden place" | "a link in circles" => continue,
            _ => world.held(0, "f"),
        };
        assert_eq!(landed.as_deref(), Some("new\n"), "onto {what}");
    }
    let hidden = worlds.iter().find(|(what, _)| *what == "a link to a hidden place").unwrap();
    assert_eq!(hidden.1.held(0, "secret").as_deref(), Some("s"), "and what is hidden stays as it was");
}

#[test]
fn an_edit_that_does_not_apply_changes_nothing() {
    let world = world(&[Space::at("/drop").scope(AccessScope::WriteOnly)]);
    world.seed(0, "f", "old old\n");
    world.edit("/drop/f", "old", "new").unwrap();
    assert_eq!(world.held(0, "f").as_deref(), Some("old old\n"));
    world.edit_all("/drop/f", vec![swap("old", "new", true)], Expect::Any).unwrap();
    assert_eq!(world.held(0, "f").as_deref(), Some("new new\n"));
}

#[test]
fn an_expectation_is_refused_before_the_store() {
    for (what, world) in worlds() {
        let outcome = world.run(write("/drop/f", b"x", Expect::Absent));
        assert!(matches!(outcome, Err(Refused::Misuse { .. })), "onto {what}");
    }
}

#[test]
fn nothing_else_is_allowed() {
    let (_, world) = worlds().remove(1);
    let refused: Vec<Operation> = vec![
        Operation::Read { path: path_of("/drop/f"), range: 0..1 },
        Operation::List(browse("/drop")),
        Operation::Search { path: path_of("/drop"), search: search("x") },
        Operation::MakeDir { path: path_of("/drop/d") },
        rename("/drop/f", "/w/f"),
        rename("/w/f", "/drop/g"),
        delete("/drop/f", false),
    ];
    world.seed(1, "f", "x");
    for operation in refused {
        let told = format!("{operation:?}");
        assert_eq!(denied(world.run(operation)), DenyRule::Scope, "{told}");
    }
    let allowed: Vec<OpKind> =
        OpKind::ALL.into_iter().filter(|op| world.vfs().judge(*op, &path_of("/drop/f")).allowed()).collect();
    assert_eq!(allowed, [OpKind::Write, OpKind::Append, OpKind::Edit]);
}
