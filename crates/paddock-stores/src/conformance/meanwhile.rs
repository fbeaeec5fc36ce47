//! What changes between the plan and its run, and what fails half-way.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use std::sync::Arc;

use paddock_core::{ErrorKind, Expect, Operation, Store};

use super::world::{delete, error, path_of, rename, swap, write};
use super::{Fixture, Space, World};
use crate::doubles::FailsAt;

pub fn a_destination_that_appeared_is_not_replaced(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "1");
    let run = world.plan(rename("/w/a", "/w/b"));
    world.write("/w/b", "2");
    assert_eq!(error(run()), ErrorKind::AlreadyExists);
    assert_eq!((world.text("/w/a"), world.text("/w/b")), ("1".to_owned(), "2".to_owned()));
}

pub fn a_source_that_went_away_does_not_move(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "1");
    let run = world.plan(rename("/w/a", "/w/b"));
    world.delete("/w/a").unwrap();
    assert_eq!(error(run()), ErrorKind::NotFound);
    assert_eq!(world.list("/w"), [""; 0]);
}

pub fn a_file_that_became_a_directory_is_not_replaced(fixture: &Fixture) {
    let world = fixture.world();
    let run = world.plan(write("/w/a", b"x", Expect::Any));
    world.write("/w/a/b", "y");
    assert_eq!(error(run()), ErrorKind::IsADirectory);
    assert_eq!(world.text("/w/a/b"), "y");
}

pub fn a_directory_that_became_a_file_holds_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let run = world.plan(write("/w/a/b", b"x", Expect::Any));
    world.write("/w/a", "y");
    assert_eq!(error(run()), ErrorKind::NotADirectory);
    assert_eq!(world.text("/w/a"), "y");
}

pub fn a_file_that_went_away_is_not_edited(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "x");
    let edits = vec![swap("x", "y", false)];
    let run = world.plan(Operation::Edit { path: path_of("/w/a"), edits, expect: Expect::Any });
    world.delete("/w/a").unwrap();
    assert_eq!(error(run()), ErrorKind::NotFound);
    assert_eq!(world.list("/w"), [""; 0]);
}

pub fn a_directory_that_is_no_longer_empty_stays(fixture: &Fixture) {
    let world = fixture.world();
    world.make_dir("/w/d").unwrap();
    let run = world.plan(delete("/w/d", false));
    world.write("/w/d/f", "x");
    assert_eq!(error(run()), ErrorKind::NotEmpty);
    assert_eq!(world.text("/w/d/f"), "x");
}

pub fn what_came_later_is_not_deleted_along(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/a", "1");
    world.write("/w/d/b", "2");
    let run = world.plan(delete("/w/d", true));
    world.write("/w/d/late", "3");
    assert_eq!(error(run()), ErrorKind::NotEmpty);
    assert_eq!(world.text("/w/d/late"), "3");
    if fixture.can().atomic_sets {
        assert_eq!(world.list("/w"), ["/w/d", "/w/d/a", "/w/d/b", "/w/d/late"], "nothing of the set was made");
    }
}

/// A world in which the n-th call of the Store at this index fails.
fn failing(fixture: &Fixture, spaces: &[Space<'_>], which: usize, n: usize) -> (World, Arc<FailsAt>) {
    let mut double = None;
    let world = fixture.world_through(spaces, |index, store| -> Arc<dyn Store> {
        if index != which {
            return store;
        }
        let failing = Arc::new(FailsAt::new(store, n));
        double = Some(Arc::clone(&failing));
        failing
    });
    (world, double.unwrap())
}

/// Does it with the first, the second, … call failing until none fails, and looks each time.
fn with_each_call_failing(
    fixture: &Fixture,
    spaces: &[Space<'_>],
    which: usize,
    operation: &Operation,
    look: impl Fn(&World, bool),
) {
    for n in 1..100 {
        let (world, double) = failing(fixture, spaces, which, n);
        world.seed(0, "d/a", "1");
        world.seed(0, "d/e/b", "2");
        let outcome = world.run(operation.clone());
        look(&world, outcome.is_ok());
        if !double.has_failed() {
            assert!(outcome.is_ok() && n > 1, "without a failure it is done: {outcome:?}");
            return;
        }
        assert_eq!(error(outcome), ErrorKind::Io, "call {n}");
    }
    panic!("it never came to an end");
}

pub fn a_write_that_fails_leaves_what_was_there(fixture: &Fixture) {
    let operation = write("/w/d/a", b"new", Expect::Any);
    with_each_call_failing(fixture, &[Space::at("/w")], 0, &operation, |world, done| {
        assert_eq!(world.held(0, "d/a").as_deref(), Some(if done { "new" } else { "1" }));
    });
}

pub fn a_delete_that_fails_leaves_everything_or_nothing(fixture: &Fixture) {
    with_each_call_failing(fixture, &[Space::at("/w")], 0, &delete("/w/d", true), |world, done| {
        let expected = if done { (None, None) } else { (Some("1"), Some("2")) };
        assert_eq!((world.held(0, "d/a").as_deref(), world.held(0, "d/e/b").as_deref()), expected);
    });
}

pub fn a_move_between_stores_that_fails_loses_nothing(fixture: &Fixture) {
    let spaces = [Space::at("/w"), Space::at("/v")];
    for which in [0, 1] {
        with_each_call_failing(fixture, &spaces, which, &rename("/w/d", "/v/d"), |world, done| {
            for (path, content) in [("d/a", "1"), ("d/e/b", "2")] {
                let (here, there) = (world.held(0, path), world.held(1, path));
                assert!([&here, &there].iter().any(|held| held.as_deref() == Some(content)), "{path} is somewhere");
                assert!(!done || here.is_none(), "{path} has moved");
            }
        });
    }
}
