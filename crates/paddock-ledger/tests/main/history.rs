//! The history as stories: what is told, what comes back, what is refused.

use std::time::Duration;

use paddock_core::{Alter, Alteration, CallId, ErrorKind, Expect, Operation, Refused};
use paddock_ledger::history::{CallQuery, CallState, Content, HistoryError, Moment, Page};

use super::history_world::{World, path, person, run};

fn newer(result: Result<CallId, HistoryError>) -> Vec<(String, Vec<CallId>)> {
    match result {
        Err(HistoryError::Newer(conflicts)) => conflicts.into_iter().map(|c| (c.path.to_string(), c.newer)).collect(),
        other => panic!("expected something newer in the way, got {other:?}"),
    }
}

#[test]
fn each_kind_of_change_comes_back() {
    let world = World::new();
    let made = world.write("/w/d/e/a", "one");
    let replaced = world.write("/w/d/e/a", "two");
    let appended = world.append("/w/d/e/a", " three");
    let edited = world.edit("/w/d/e/a", "two", "2");
    let moved = world.rename("/w/d/e/a", "/w/n/b");
    let deleted = world.delete("/w/n");
    assert_eq!(world.paths(), ["d", "d/e"]);

    world.undo(deleted).unwrap();
    assert_eq!(world.text("/w/n/b").as_deref(), Some("2 three"));
    world.undo(moved).unwrap();
    assert_eq!(world.paths(), ["d", "d/e", "d/e/a"], "the directory made for it goes too");
    world.undo(edited).unwrap();
    assert_eq!(world.text("/w/d/e/a").as_deref(), Some("two three"));
    world.undo(appended).unwrap();
    assert_eq!(world.text("/w/d/e/a").as_deref(), Some("two"));
    world.undo(replaced).unwrap();
    assert_eq!(world.text("/w/d/e/a").as_deref(), Some("one"));
    world.undo(made).unwrap();
    assert!(world.paths().is_empty());
}

#[test]
fn an_undo_can_be_undone_and_a_call_is_undone_once() {
    let world = World::new();
    world.write("/w/a", "one");
    let second = world.write("/w/a", "two");
    let undo = world.undo(second).unwrap();
    assert!(matches!(world.undo(second), Err(HistoryError::AlreadyUndone { by, .. }) if by == undo));
    let redo = world.undo(undo).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("two"));
    // It stands again, so it can be undone again, and so can the redoing.
    let again = world.undo(second).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("one"));
    assert_eq!(world.history.find_call(&second.to_string()).unwrap().undone_by, Some(again));
    world.undo(again).unwrap();
    world.undo(redo).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("one"));
    assert_eq!(world.history.find_call(&second.to_string()).unwrap().undone_by, Some(undo));
}

#[test]
fn something_newer_in_the_way_refuses_the_whole_and_names_it() {
    let world = World::new();
    world.write("/w/a", "a");
    world.write("/w/b", "b");
    let both = world.alter(vec![
        Alteration { path: path("/w/a"), how: Alter::Write { content: "A".into(), mode: None }, expect: Expect::Any },
        Alteration { path: path("/w/b"), how: Alter::Write { content: "B".into(), mode: None }, expect: Expect::Any },
    ]);
    let since = world.append("/w/b", "!");
    let before = world.store.dump();
    let Err(HistoryError::Newer(conflicts)) = world.undo(both) else { panic!("it must refuse") };
    let [conflict] = &conflicts[..] else { panic!("one path: {conflicts:?}") };
    assert_eq!((conflict.path.as_str(), &conflict.newer[..]), ("/w/b", &[since][..]));
    assert!(conflict.before.is_some() && conflict.after.is_some() && conflict.after != conflict.now);
    assert_eq!(world.store.dump(), before);
    world.undo(since).unwrap();
    world.undo(both).unwrap();
    assert_eq!((world.text("/w/a").unwrap(), world.text("/w/b").unwrap()), ("a".to_owned(), "b".to_owned()));
}

#[test]
fn what_somebody_else_changed_is_in_the_way_too() {
    let world = World::new();
    let call = world.write("/w/a", "ours");
    world.store.plant("a", "theirs");
    assert_eq!(newer(world.undo(call)), [("/w/a".to_owned(), vec![])]);
    assert_eq!(world.text("/w/a").as_deref(), Some("theirs"));
}

#[test]
fn a_directory_comes_back_whole_or_not_at_all() {
    let world = World::new();
    for (at, text) in [("/w/d/a", "1"), ("/w/d/s/b", "2"), ("/w/d/s/c", "3")] {
        world.write(at, text);
    }
    world.make_dir("/w/d/empty");
    let before = world.store.dump().into_keys().collect::<Vec<_>>();
    let deleted = world.delete("/w/d");
    let other = world.write("/w/d/s/b", "new");
    assert_eq!(newer(world.undo(deleted)), [("/w/d/s/b".to_owned(), vec![other])]);
    world.undo(other).unwrap();
    let undo = world.undo(deleted).unwrap();
    assert_eq!(world.paths(), before);
    assert_eq!(world.text("/w/d/s/c").as_deref(), Some("3"));
    world.undo(undo).unwrap();
    assert!(world.paths().is_empty());
}

#[test]
fn a_directory_made_for_a_file_stays_when_something_else_is_in_it() {
    let world = World::new();
    let first = world.write("/w/d/a", "1");
    world.write("/w/d/b", "2");
    world.undo(first).unwrap();
    assert_eq!(world.paths(), ["d", "d/b"]);
    let dir = world.make_dir("/w/e");
    let inside = world.write("/w/e/x", "x");
    assert_eq!(newer(world.undo(dir)), [("/w/e".to_owned(), vec![inside])]);
}

/// Directories that were made on the way are listed once, not once for each above them.
#[test]
fn looking_at_directories_made_on_the_way_takes_as_long_as_there_are() {
    let world = World::new();
    let deep = format!("/w/{}/f", vec!["d"; 200].join("/"));
    let call = world.write(&deep, "1");
    let before = world.store.walked();
    let undo = world.with_call(CallId::next(), |call_now| world.history.undo(&world.vfs, call_now, call)).unwrap();
    assert_eq!(undo.alterations.len(), 201);
    let walked = world.store.walked() - before;
    assert!(walked <= 3 * 201, "{walked} entries for 201 paths");
    world.undo(call).unwrap();
    assert!(world.paths().is_empty());
}

#[test]
fn what_moved_is_in_the_way_of_what_was_done_to_it_before() {
    let world = World::new();
    let made = world.write("/w/d/a", "1");
    let deleted_first = world.write("/w/d/b", "2");
    let deleted = world.delete("/w/d/b");
    let moved = world.rename("/w/d", "/w/e");
    assert_eq!(newer(world.undo(made)), [("/w/d/a".to_owned(), vec![moved])]);
    assert_eq!(newer(world.undo(deleted)), [("/w/d/b".to_owned(), vec![moved])]);
    let inside = world.write("/w/e/a", "new");
    assert_eq!(newer(world.undo(moved)), [("/w/e/a".to_owned(), vec![inside])]);
    world.undo(inside).unwrap();
    world.undo(moved).unwrap();
    world.undo(deleted).unwrap();
    world.undo(deleted_first).unwrap();
    world.undo(made).unwrap();
    assert!(world.paths().is_empty());
}

#[test]
fn what_took_the_place_of_something_that_moved_is_in_the_way() {
    let world = World::new();
    world.write("/w/a", "1");
    let moved = world.rename("/w/a", "/w/b");
    let taken = world.write("/w/a", "2");
    assert_eq!(newer(world.undo(moved)), [("/w/a".to_owned(), vec![taken])]);
    world.undo(taken).unwrap();
    world.undo(moved).unwrap();
    assert_eq!((world.text("/w/a").as_deref(), world.text("/w/b")), (Some("1"), None));
}

#[test]
fn a_file_where_a_directory_was_made_is_not_removed() {
    let world = World::new();
    let made = world.make_dir("/w/d");
    let on_the_way = world.write("/w/e/a", "1");
    world.delete("/w/d");
    world.delete("/w/e");
    world.write("/w/d", "a file");
    world.write("/w/e", "a file");
    for call in [made, on_the_way] {
        newer(world.undo(call));
    }
    assert_eq!(world.paths(), ["d", "e"]);
}

#[test]
fn moves_between_workspaces_come_back() {
    let world = World::new();
    world.write("/w/d/a", "1");
    let moved = world.rename("/w/d", "/o/x/d");
    assert_eq!((world.paths().len(), world.text("/o/x/d/a").as_deref()), (0, Some("1")));
    let undo = world.undo(moved).unwrap();
    assert_eq!(world.text("/w/d/a").as_deref(), Some("1"));
    assert!(world.other.dump().is_empty());
    world.undo(undo).unwrap();
    assert_eq!((world.paths().len(), world.text("/o/x/d/a").as_deref()), (0, Some("1")));
}

#[test]
fn several_changes_of_one_path_in_one_call_come_back_as_one() {
    let world = World::new();
    world.write("/w/a", "old");
    let write = |at: &str, text: &str| Alteration {
        path: path(at),
        how: Alter::Write { content: text.into(), mode: None },
        expect: Expect::Any,
    };
    let rename =
        |from: &str, to: &str| Alteration { path: path(from), how: Alter::Move { to: path(to) }, expect: Expect::Any };
    let delete = |at: &str| Alteration { path: path(at), how: Alter::Delete, expect: Expect::Any };
    let before = world.paths();
    let calls = [
        vec![write("/w/a", "x"), write("/w/a", "y")],
        vec![rename("/w/a", "/w/b"), write("/w/a", "new")],
        vec![rename("/w/a", "/w/b"), delete("/w/b")],
        vec![rename("/w/a", "/w/b"), write("/w/a", "new"), delete("/w/b")],
        vec![write("/w/n/f", "x"), delete("/w/n/f")],
        vec![delete("/w/a"), write("/w/a/b", "a directory now")],
    ];
    for alterations in calls {
        let shown = format!("{alterations:?}");
        let call = world.alter(alterations);
        world.undo(call).unwrap_or_else(|e| panic!("{shown}: {e}"));
        assert_eq!((world.paths(), world.text("/w/a").as_deref()), (before.clone(), Some("old")), "{shown}");
    }
}

#[test]
fn the_log_follows_moves() {
    let world = World::new();
    world.write("/w/d/a", "1");
    world.edit("/w/d/a", "1", "2");
    world.write("/w/d/other", "x");
    world.rename("/w/d/a", "/w/b");
    world.append("/w/b", "3");
    world.write("/w/d/a", "another");
    let life = ["append /w/b", "move /w/d/a /w/b", "edit /w/d/a", "write /w/d/a"];
    assert_eq!(world.log("/w/b"), life);
    assert_eq!(world.log("/w/d").len(), 5, "the move away is a change of the directory");
    // A directory that moved brings the lives of what is in it.
    world.rename("/w/d", "/w/e");
    assert_eq!(world.log("/w/e/other"), ["move /w/d /w/e", "write /w/d/other"]);
    let first = world.history.log(&world.spot("/w/b"), Page::first(2)).unwrap();
    let rest = world.history.log(&world.spot("/w/b"), Page { limit: 9, before: Some(first[1].seq) }).unwrap();
    assert_eq!(
        first.iter().chain(&rest).map(|row| row.what.name()).collect::<Vec<_>>(),
        ["append", "move", "edit", "write"]
    );
    assert!(world.log("/o").is_empty());
    // Back and forth many times is followed once.
    for _ in 0..20 {
        world.rename("/w/b", "/w/c");
        world.rename("/w/c", "/w/b");
    }
    assert_eq!(world.log("/w/b").len(), 44);
}

#[test]
fn names_are_compared_whole() {
    let world = World::new();
    world.write("/w/safe/a", "1");
    world.write("/w/safe_evil", "2");
    world.write("/w/safe-evil", "3");
    assert_eq!(world.log("/w/safe"), ["write /w/safe/a"]);
}

#[test]
fn calls_are_found_by_the_beginning_of_their_id() {
    let world = World::new();
    let first = world.write("/w/a", "1");
    let second = world.write("/w/a", "2");
    let text = second.to_string();
    assert_eq!(world.history.find_call(&text.to_uppercase()).unwrap().call, second);
    let common = first.to_string().bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
    assert_eq!(world.history.find_call(&text[..=common]).unwrap().call, second);
    let Err(HistoryError::Ambiguous { calls, .. }) = world.history.find_call(&text[..common]) else {
        panic!("ambiguous")
    };
    assert_eq!(calls, [first, second]);
    for bad in ["", "zzzz", "%", "~"] {
        assert!(matches!(world.history.find_call(bad), Err(HistoryError::NoSuchCall(_))), "{bad:?}");
    }
}

#[test]
fn the_last_call_is_the_last_that_stands() {
    let world = World::new();
    let first = world.write("/w/a", "1");
    let second = world.write("/w/a", "2");
    world.make_dir("/w/d");
    let third = world.last();
    world.run(Operation::MakeDir { path: path("/w/d") }).unwrap();
    let last = || world.history.last_call(Some(&world.agent)).unwrap().map(|call| call.call);
    assert_eq!(last(), Some(third), "what changed nothing does not count");
    let nobody = paddock_core::AgentName::parse("nobody").unwrap();
    assert!(world.history.last_call(Some(&nobody)).unwrap().is_none());
    for expected in [third, second, first] {
        assert_eq!(last(), Some(expected));
        world.undo(expected).unwrap();
    }
    assert_eq!(last(), None);
    assert!(world.paths().is_empty());
    let calls = world.history.calls(&CallQuery::default(), Page::first(2)).unwrap();
    assert_eq!(calls.iter().map(|call| call.op.as_str()).collect::<Vec<_>>(), ["undo", "undo"]);
}

#[test]
fn contents_of_the_past_are_found() {
    let world = World::new();
    world.write("/w/a", "one");
    world.append("/w/a", " two");
    world.append("/w/a", " three");
    let before = |n: usize| {
        let rows = world.history.log(&world.spot("/w/a"), Page::first(50)).unwrap();
        let row = rows.into_iter().rev().nth(n).unwrap();
        world.content(&world.history.content_before(&row).unwrap())
    };
    assert_eq!((before(0), before(1).as_deref(), before(2).as_deref()), (None, Some("one"), Some("one two")));
    world.rename("/w/a", "/w/b");
    let rows = world.history.log(&world.spot("/w/b"), Page::first(50)).unwrap();
    let of = |n: usize| world.content(&world.history.content_before(&rows[n]).unwrap());
    assert_eq!((of(0).as_deref(), of(1).as_deref()), (Some("one two three"), Some("one two")));
    world.write("/w/b", "other");
    assert_eq!((of(0).as_deref(), of(2).as_deref()), (Some("one two three"), Some("one")));
    world.delete("/w/b");
    assert_eq!(of(1).as_deref(), Some("one two"));
}

#[test]
fn a_path_goes_back_to_a_moment() {
    let world = World::new();
    world.write("/w/a", "one");
    let then = world.now();
    world.wait(10);
    let two = world.write("/w/a", "two");
    world.append("/w/a", "!");
    world.wait(10);
    world.rename("/w/a", "/w/b");
    world.write("/w/b", "three");
    let to = |at: &str, moment: Moment| {
        let id = CallId::next();
        let restoration =
            world.with_call(id, |call| world.history.restore_to(&world.vfs, call, &world.spot(at), moment))?;
        world.run_as(id, restoration.operation())?;
        Ok::<_, HistoryError>(id)
    };
    let call = to("/w/b", Moment::Time(then)).unwrap();
    assert_eq!(world.text("/w/b").as_deref(), Some("one"));
    world.undo(call).unwrap();
    assert_eq!(world.text("/w/b").as_deref(), Some("three"));
    to("/w/b", Moment::Call(two)).unwrap();
    assert_eq!(world.text("/w/b").as_deref(), Some("two"), "it keeps its name of today");
    let version = world.history.changes(two).unwrap()[0].version.unwrap();
    to("/w/b", Moment::Version(version)).unwrap();
    assert_eq!(world.text("/w/b").as_deref(), Some("two"));
    assert!(matches!(to("/w/a", Moment::Time(then)), Err(HistoryError::Moved { .. })));
    let nowhere = Moment::Version(paddock_core::Version(77));
    assert!(matches!(to("/w/b", nowhere), Err(HistoryError::NoSuchVersion { .. })));
}

#[test]
fn a_directory_goes_back_to_a_moment() {
    let world = World::new();
    world.write("/w/d/a", "1");
    world.write("/w/d/b", "2");
    world.write("/w/d/s/c", "3");
    let (then, before) = (world.now(), world.store.dump());
    let texts = |dump: &std::collections::BTreeMap<String, super::history_store::Node>| {
        dump.keys().map(|key| (key.clone(), world.text(&format!("/w/{key}")))).collect::<Vec<_>>()
    };
    let expected = texts(&before);
    world.wait(5);
    for text in ["x", "y", "z"] {
        world.write("/w/d/a", text);
    }
    world.delete("/w/d/s");
    world.write("/w/d/s", "a file now");
    world.delete("/w/d/s");
    world.rename("/w/d/b", "/w/d/moved");
    world.append("/w/d/moved", "!");
    world.write("/w/d/new", "new");
    let id = CallId::next();
    let spot = world.spot("/w/d");
    let restoration =
        world.with_call(id, |call| world.history.restore_to(&world.vfs, call, &spot, Moment::Time(then))).unwrap();
    assert!(restoration.alterations.len() < 9, "what lay between is not made again: {:?}", restoration.says());
    world.run_as(id, restoration.operation()).unwrap();
    assert_eq!(texts(&world.store.dump()), expected);
    let none = world.with_call(id, |call| world.history.restore_to(&world.vfs, call, &spot, Moment::Time(world.now())));
    assert!(none.unwrap().alterations.is_empty());
}

#[test]
fn what_was_cut_off_is_told_and_comes_back_as_far_as_it_went() {
    let world = World::new();
    world.write("/w/d/a", "1");
    world.write("/w/d/b", "2");
    // The Store of the other Workspace dies after the first file was carried over.
    let id = CallId::next();
    let part = vec![
        Alteration { path: path("/w/d/a"), how: Alter::Delete, expect: Expect::Any },
        Alteration { path: path("/o/gone"), how: Alter::Delete, expect: Expect::Is(paddock_core::Version(1)) },
    ];
    let refused = world.run_as(id, Operation::Alter { path: path("/w"), alterations: part });
    assert!(matches!(refused, Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::Stale));
    assert_eq!(world.text("/w/d/a"), None, "the first part was made");
    assert_eq!(world.history.find_call(&id.to_string()).unwrap().state, CallState::Failed);
    assert!(world.history.unfinished().unwrap().is_empty());
    world.undo(id).unwrap();
    assert_eq!(world.text("/w/d/a").as_deref(), Some("1"));

    // A process that ends between the intent and the outcome.
    let cut_off = CallId::next();
    world.with_call(cut_off, |call| {
        let operation = Operation::Write { path: path("/w/x"), content: b"x".to_vec(), expect: Expect::Any };
        let plan = world.vfs.plan(call, operation).unwrap();
        paddock_core::Journal::begin(&world.history, call, &plan).unwrap();
    });
    let open = world.history.unfinished().unwrap();
    assert_eq!(open.iter().map(|call| (call.call, call.path.as_str())).collect::<Vec<_>>(), [(cut_off, "/w/x")]);
    assert!(matches!(world.undo(cut_off), Err(HistoryError::ChangedNothing(_))));

    // One that ends after its last part.
    let done = world.cut_off(Operation::Delete { path: path("/w/d"), recursive: true });
    assert_eq!(world.history.unfinished().unwrap()[0].call, done);
    world.undo(done).unwrap();
    assert_eq!(world.paths(), ["d", "d/a", "d/b"]);
}

#[test]
fn an_undo_that_was_cut_off_stands_in_the_way_as_far_as_it_went() {
    let world = World::new();
    let first = vec![
        Alteration { path: path("/w/a"), how: Alter::Write { content: "1".into(), mode: None }, expect: Expect::Any },
        Alteration { path: path("/o/b"), how: Alter::Write { content: "2".into(), mode: None }, expect: Expect::Any },
    ];
    let call = world.alter(first);
    let id = CallId::next();
    let undo = world.with_call(id, |by| world.history.undo(&world.vfs, by, call)).unwrap();
    // Its second part finds something newer, so only the first is done.
    world.write("/w/a", "newer");
    assert!(world.run_as(id, undo.operation()).is_err());
    assert_eq!((world.text("/w/a").as_deref(), world.text("/o/b")), (Some("newer"), None));
    assert_eq!(world.history.find_call(&call.to_string()).unwrap().undone_by, None);
    assert_eq!(newer(world.undo(call)).len(), 2);
    world.undo(id).unwrap();
    assert_eq!(world.text("/o/b").as_deref(), Some("2"));
}

#[test]
fn two_undos_of_one_call_that_meet_do_it_once() {
    let world = World::new();
    let call = world.make_dir("/w/d");
    let (first, second) = (CallId::next(), CallId::next());
    let undo = |id| world.with_call(id, |by| world.history.undo(&world.vfs, by, call)).unwrap();
    let (one, two) = (undo(first), undo(second));
    world.run_as(first, one.operation()).unwrap();
    world.make_dir("/w/d");
    let refused = world.run_as(second, two.operation());
    assert!(matches!(refused, Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::Stale));
    assert_eq!(world.paths(), ["d"]);
}

#[test]
fn a_directory_that_fills_meanwhile_is_left() {
    let world = World::new();
    let call = world.write("/w/d/a", "1");
    let id = CallId::next();
    let undo = world.with_call(id, |by| world.history.undo(&world.vfs, by, call)).unwrap();
    assert_eq!(undo.says(), ["removes /w/d/a", "removes /w/d"]);
    world.write("/w/d/b", "2");
    assert!(world.run_as(id, undo.operation()).is_err());
    assert_eq!(world.paths(), ["d", "d/a", "d/b"]);
    world.run_as(id, undo.keeping_directories()).unwrap();
    assert_eq!(world.paths(), ["d", "d/b"]);
    assert_eq!(world.history.find_call(&call.to_string()).unwrap().undone_by, Some(id));
}

#[test]
fn what_it_held_is_told_for_a_diff() {
    let world = World::new();
    world.write("/w/a", "one");
    let call = world.write("/w/a", "two");
    world.write("/w/a", "three");
    let Err(HistoryError::Newer(conflicts)) = world.undo(call) else { panic!("it must refuse") };
    let kept = conflicts[0].before.clone().unwrap();
    let held = Content::Kept { spot: world.spot("/w/a"), kept, cut: None };
    assert_eq!(world.content(&held).as_deref(), Some("one"));
}

#[test]
fn a_person_may_wait_long_before_undoing() {
    let world = World::new();
    let call = world.write("/w/a", "one");
    world.wait(Duration::from_secs(90 * 24 * 3600).as_secs());
    world.undo(call).unwrap();
    assert!(world.paths().is_empty());
}

#[test]
fn what_a_person_put_there_names_them_and_is_not_the_agents_own() {
    let world = World::new();
    let alice = person(world.vfs.workspaces().to_vec(), std::sync::Arc::new(world.history.clone())).by("alice");
    let of_agent = world.write("/w/own", "by the agent");
    let of_alice = CallId::next();
    let content = "by hand".into();
    let put = Operation::Write { path: path("/w/put"), content, expect: Expect::Any };
    world.with_call(of_alice, |call| run(&alice, call, put)).unwrap();
    let by = |call: CallId| {
        let row = world.history.find_call(&call.to_string()).unwrap();
        let changes = world.history.changes(call).unwrap();
        assert!(changes.iter().all(|change| change.by == row.by), "{changes:?}");
        (row.agent, row.by)
    };
    assert_eq!(by(of_agent), ("main".to_owned(), None));
    assert_eq!(by(of_alice), ("main".to_owned(), Some("alice".to_owned())));
    assert!(world.is_own("/w/own"));
    assert!(!world.is_own("/w/put"), "a command that deletes it deletes what is a person's");
}
