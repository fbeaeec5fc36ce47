//! Letting go of the past: by age, by count, by size; in two steps, and never what somebody needs.

use std::time::Duration;

use paddock_core::{Before, CallId, Expect, Journal, Kept, Operation, Store};
use paddock_ledger::history::{Collected, HistoryError, Page, Retention};

use super::history_world::{World, path};

fn collect(world: &World, rules: &Retention) -> Vec<Collected> {
    world.history.collect(rules, &mut |_, kept| world.store.kept_len(kept)).unwrap()
}

fn names(collected: &[Collected]) -> Vec<Kept> {
    collected.iter().flat_map(|one| one.kept.clone()).collect()
}

/// Collects, releases and forgets.
fn sweep(world: &World, rules: &Retention) -> usize {
    let collected = collect(world, rules);
    for one in &collected {
        world.with_call(CallId::next(), |call| world.store.versioned().unwrap().release(call, &one.kept)).unwrap();
        world.history.forget(one).unwrap();
    }
    names(&collected).len()
}

fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

#[test]
fn what_is_too_old_goes_with_its_rows() {
    let world = World::new();
    world.write("/w/a", "1");
    let old = world.write("/w/a", "2");
    world.wait(hours(10).as_secs());
    let young = world.write("/w/a", "3");
    let rules = Retention { age: Some(hours(5)), ..Retention::default() };
    assert_eq!(sweep(&world, &rules), 1);
    assert!(matches!(world.undo(old), Err(HistoryError::NoSuchCall(_))));
    assert_eq!(world.log("/w/a").len(), 1);
    world.undo(young).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("2"));
}

#[test]
fn only_so_many_of_a_path_are_kept() {
    let world = World::new();
    let calls: Vec<CallId> = (0..6).map(|n| world.write("/w/a", &n.to_string())).collect();
    world.write("/w/b", "1");
    world.write("/w/b", "2");
    let rules = Retention { count: Some(2), ..Retention::default() };
    assert_eq!(sweep(&world, &rules), 3);
    assert_eq!(sweep(&world, &rules), 0);
    assert_eq!(world.log("/w/a").len(), 6, "the rows still tell what happened");
    world.undo(calls[5]).unwrap();
    world.undo(calls[4]).unwrap();
    assert_eq!(world.text("/w/a").as_deref(), Some("3"));
    let Err(HistoryError::Lost(paths)) = world.undo(calls[3]) else { panic!("it is gone") };
    assert_eq!((paths, world.text("/w/a").as_deref()), (vec!["/w/a".to_owned()], Some("3")));
}

#[test]
fn only_so_many_bytes_are_kept() {
    let world = World::new();
    for text in ["aaaa", "bbbb", "cccc", "dddd"] {
        world.write("/w/a", text);
    }
    let mut asked = 0;
    let rules = Retention { bytes: Some(8), ..Retention::default() };
    let measure = &mut |_: &_, kept: &Kept| {
        asked += 1;
        world.store.kept_len(kept)
    };
    let collected = world.history.collect(&rules, measure).unwrap();
    assert_eq!(names(&collected).len(), 1);
    world.history.collect(&rules, measure).unwrap();
    assert_eq!(asked, 3, "each is measured once");
}

#[test]
fn a_crash_between_the_steps_loses_nothing_and_leaks_nothing() {
    let world = World::new();
    world.write("/w/a", "1");
    let call = world.write("/w/a", "2");
    let rules = Retention { count: Some(0), ..Retention::default() };
    let first = collect(&world, &rules);
    assert_eq!(names(&first).len(), 1);
    // Nothing was released, and already nobody is promised it.
    assert!(matches!(world.undo(call), Err(HistoryError::Lost(_))));
    assert_eq!(collect(&world, &Retention::default()), first, "what was not forgotten is answered again");
    assert!(world.history.unknown("test:/one", &names(&first)).unwrap().is_empty());
    assert_eq!(sweep(&world, &Retention::default()), 1);
    assert!(collect(&world, &Retention::default()).is_empty());
    assert!(world.store.kept().is_empty());
    assert_eq!(world.history.unknown("test:/one", &names(&first)).unwrap(), names(&first));
}

#[test]
fn what_is_pinned_runs_or_is_being_undone_stays() {
    let world = World::new();
    world.write("/w/a", "1");
    let pinned = world.write("/w/a", "2");
    let undone = world.write("/w/a", "3");
    world.history.pin(pinned, true).unwrap();
    // A call runs.
    world.write("/w/b", "1");
    world.cut_off(Operation::Write { path: path("/w/b"), content: b"2".to_vec(), expect: Expect::Any });
    // An undo has begun.
    let id = CallId::next();
    let undo = world.with_call(id, |call| world.history.undo(&world.vfs, call, undone)).unwrap();
    world.with_call(id, |call| {
        let plan = world.vfs.plan(call, undo.operation()).unwrap();
        world.history.begin(call, &plan).unwrap();
    });
    let rules = Retention { age: Some(Duration::ZERO), count: Some(0), bytes: Some(0) };
    world.wait(1);
    assert_eq!(sweep(&world, &rules), 0);
    // Long past its time it does not run any more.
    world.wait(hours(3).as_secs());
    assert_eq!(sweep(&world, &rules), 2);
    world.history.pin(pinned, false).unwrap();
    assert_eq!(sweep(&world, &rules), 1);
    assert!(world.log("/w/a").is_empty() && world.history.unfinished().unwrap().is_empty());
}

#[test]
fn what_the_content_of_another_row_needs_is_missed_honestly() {
    let world = World::new();
    world.write("/w/a", "one");
    let append = world.append("/w/a", " two");
    world.write("/w/a", "three");
    let row = world.history.changes(append).unwrap().remove(0);
    assert_eq!(row.before, Before::Prefix(3));
    assert_eq!(world.content(&world.history.content_before(&row).unwrap()).as_deref(), Some("one"));
    sweep(&world, &Retention { count: Some(0), ..Retention::default() });
    assert_eq!(world.content(&world.history.content_before(&row).unwrap()), None);
}

#[test]
fn many_are_let_go_of_a_few_at_a_time() {
    let world = World::new();
    for n in 0..1201 {
        world.write("/w/a", &n.to_string());
    }
    assert_eq!(sweep(&world, &Retention { count: Some(0), ..Retention::default() }), 1200);
    assert_eq!(world.history.log(&world.spot("/w/a"), Page::first(2000)).unwrap().len(), 1201);
}

#[test]
fn a_workspace_without_a_territory_is_told_and_not_undone() {
    use paddock_core::{AccessScope, Mount, Workspace};
    let world = World::new();
    let store = std::sync::Arc::new(super::history_store::KeepingStore::default());
    let nowhere = Workspace::new(path("/n"), AccessScope::ReadWrite, Mount::new(store, None));
    let vfs = super::history_world::person(vec![nowhere], std::sync::Arc::new(world.history.clone()));
    let id = CallId::next();
    world.with_call(id, |call| {
        let operation = Operation::Write { path: path("/n/a"), content: b"x".to_vec(), expect: Expect::Any };
        let plan = vfs.plan(call, operation).unwrap();
        let request = paddock_core::Request::of_person("test", paddock_core::Risk::Low);
        let paddock_core::Passed::Now(token) = vfs.ask(call, &request, &plan).unwrap() else { panic!("parked") };
        vfs.run(call, plan, token).unwrap();
        assert!(
            matches!(world.history.undo(&vfs, call, id), Err(HistoryError::NoWorkspace { path }) if path == "/n/a")
        );
    });
    assert_eq!(world.history.changes(id).unwrap().len(), 1);
}

/// Puts a file there without Paddock, as a person does.
fn put(world: &World, at: &str, text: &str) {
    world.store.plant(at.strip_prefix("/w/").unwrap(), text);
}

const TIGHT: Retention = Retention { age: None, count: Some(2), bytes: Some(8) };

#[test]
fn what_no_agent_made_is_kept_however_often_it_is_written_over() {
    let world = World::new();
    put(&world, "/w/thesis", "by hand");
    let first = world.write("/w/thesis", "0");
    let calls: Vec<CallId> = (1..20).map(|n| world.write("/w/thesis", &n.to_string())).collect();
    world.write("/w/large", "a large one");
    world.write("/w/large", "another large one");
    sweep(&world, &TIGHT);
    let row = world.history.changes(first).unwrap().remove(0);
    assert_eq!(world.content(&world.history.content_before(&row).unwrap()).as_deref(), Some("by hand"));
    assert!(matches!(world.undo(calls[0]), Err(HistoryError::Lost(_))), "what agents made is let go of");
    // Its age alone ends it.
    world.wait(hours(10).as_secs());
    sweep(&world, &Retention { age: Some(hours(5)), ..TIGHT });
    assert!(world.history.changes(first).unwrap().is_empty());
}

#[test]
fn what_agents_made_makes_room_for_what_stays_however_old_that_is() {
    let world = World::new();
    put(&world, "/w/thesis", "by hand");
    world.write("/w/thesis", "agent");
    let over = world.write("/w/thesis", "2");
    let last = world.write("/w/thesis", "3");
    // Seven bytes stay, and of the agent's only the one byte that fits beside them.
    sweep(&world, &Retention { count: None, ..TIGHT });
    assert!(matches!(world.undo(over), Err(HistoryError::Lost(_))));
    world.undo(last).unwrap();
}

#[test]
fn no_way_round_makes_a_persons_content_the_agents() {
    type Detour = fn(&World);
    let detours: [(&str, Detour); 3] = [
        ("/w/thesis", |world| _ = world.append("/w/thesis", " and more")),
        ("/w/other", |world| _ = world.rename("/w/thesis", "/w/other")),
        // Written over once, and by hand again since.
        ("/w/thesis", |world| {
            world.write("/w/thesis", "by an agent");
            put(world, "/w/thesis", "by hand");
        }),
    ];
    for (at, detour) in detours {
        let world = World::new();
        put(&world, "/w/thesis", "by hand");
        detour(&world);
        let over = world.write(at, "0");
        for n in 1..9 {
            world.write(at, &n.to_string());
        }
        sweep(&world, &TIGHT);
        let row = world.history.changes(over).unwrap().remove(0);
        let kept = world.content(&world.history.content_before(&row).unwrap());
        assert!(kept.is_some_and(|kept| kept.starts_with("by hand")), "{at}");
    }
}

#[test]
fn where_only_that_fills_what_may_be_kept_nothing_more_is_promised() {
    let world = World::new();
    put(&world, "/w/thesis", "by hand, long");
    world.history.keep_up_to(TIGHT.bytes);
    world.write("/w/thesis", "0");
    assert!(world.history.has_room(), "nobody has measured yet");
    sweep(&world, &TIGHT);
    assert!(!world.history.has_room());
    let lost = |at: &str| {
        let operation = Operation::Write { path: path(at), content: b"x".to_vec(), expect: Expect::Any };
        world.with_call(CallId::next(), |call| world.vfs.plan(call, operation).unwrap().lost().to_vec())
    };
    assert_eq!(lost("/w/thesis"), [path("/w/thesis")], "what it replaces would not stay kept");
    assert!(lost("/w/new").is_empty(), "what is new replaces nothing");
    world.wait(hours(10).as_secs());
    sweep(&world, &Retention { age: Some(hours(5)), ..TIGHT });
    assert!(world.history.has_room());
}
