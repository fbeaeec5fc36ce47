//! A change is made once by the id of its call, however often it is asked for.

use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{CallId, ErrorKind, Operation, Refused};
use paddock_db::postgres_testing::Database;
use paddock_ledger::history::{CallQuery, CallState, History, Page, schema};

use super::history_world::{World, path};
use super::on_disk::OnDisk;

fn append(text: &str) -> Operation {
    Operation::Append { path: path("/w/a"), content: text.into() }
}

fn was_made_already(outcome: &Result<(), Refused>) -> bool {
    matches!(outcome, Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::Stale)
}

fn is_made_once(world: &World) {
    let id = CallId::next();
    world.run_as(id, append("once\n")).unwrap();
    for again in [append("once\n"), append("twice\n")] {
        let outcome = world.run_as(id, again);
        assert!(was_made_already(&outcome), "{outcome:?}");
    }
    assert_eq!(world.text("/w/a").as_deref(), Some("once\n"));
    let calls = world.history.calls(&CallQuery::default(), Page::first(9)).unwrap();
    assert_eq!(
        calls.iter().map(|call| (call.call, call.state, call.changes)).collect::<Vec<_>>(),
        [(id, CallState::Completed, 1)]
    );
    world.run_as(CallId::next(), append("another call\n")).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("once\nanother call\n"), "the honest twin");
}

#[test]
fn what_was_made_is_not_made_again_by_the_same_call() {
    is_made_once(&World::new());
}

#[test]
fn what_was_made_is_not_made_again_by_the_same_call_on_postgresql() {
    let database = Database::fresh();
    let history = History::on_postgres(database.open(&[schema::POSTGRES]), "one");
    is_made_once(&World::on(history, tempfile::tempdir().unwrap()));
}

#[test]
fn of_many_that_make_it_after_it_was_made_none_does() {
    let world = World::new();
    let id = CallId::next();
    world.run_as(id, append("once\n")).unwrap();
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                if was_made_already(&world.run_as(id, append("again\n"))) {
                    refused.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!((refused.into_inner(), world.text("/w/a").as_deref()), (8, Some("once\n")));
}

#[test]
fn what_was_cut_off_may_be_made_by_the_same_call_when_somebody_says_so() {
    let world = World::new();
    let id = world.cut_off(append("begun\n"));
    world.run_as(id, append("ended\n")).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("begun\nended\n"));
    assert_eq!(world.history.find_call(&id.to_string()).unwrap().state, CallState::Completed);
    assert!(was_made_already(&world.run_as(id, append("again\n"))));
}

/// A command that may reach the network is asked about before it runs, under the id that its changes are made under.
#[test]
fn what_was_only_asked_about_is_made_afterwards_and_then_never_again() {
    let world = OnDisk::new();
    let many = || (0..70).map(|n| format!("one/d/f{n}"));
    many().for_each(|name| world.put(&name, "text"));
    let run = |id, operation| world.run(&world.vfs, id, operation);
    let delete = || Operation::Delete { path: path("/w/d"), recursive: true };
    let id = CallId::next();
    run(id, Operation::Commit { path: path("/w"), alterations: Vec::new() }).unwrap();
    // More than one part of it.
    run(id, delete()).unwrap();
    assert!(!world.at("one/d").exists());
    many().for_each(|name| world.put(&name, "again"));
    assert!(was_made_already(&run(id, delete())));
    assert!(many().all(|name| world.text(&name).is_some()));
    assert_eq!(world.history.find_call(&id.to_string()).unwrap().state, CallState::Completed);
}
