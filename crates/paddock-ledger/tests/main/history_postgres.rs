//! Every question of the history, asked of PostgreSQL.

use paddock_core::{CallId, Kept};
use paddock_db::postgres_testing::Database;
use paddock_ledger::history::{CallQuery, History, HistoryError, Moment, Page, Retention, schema};

use super::history_world::World;

#[test]
fn everything_is_answered_and_installations_do_not_see_each_other() {
    let database = Database::fresh();
    let server = database.open(&[schema::POSTGRES]);
    let world = World::on(History::on_postgres(server.clone(), "one"), tempfile::tempdir().unwrap());
    let other = World::on(History::on_postgres(server, "two"), tempfile::tempdir().unwrap());
    let long = format!("/w/{}/a", ["n".repeat(200).as_str(); 18].join("/"));
    let first = world.write(&long, "one");
    world.append(&long, " two");
    world.rename(&long, "/w/b");
    let then = world.now();
    world.wait(10);
    let last = world.write("/w/b", "three");
    assert_eq!(world.log("/w/b").len(), 4);
    assert_eq!(other.log("/w/b").len(), 0);
    assert_eq!(world.history.last_call(Some(&world.agent)).unwrap().unwrap().call, last);
    assert_eq!(world.history.find_call(&first.to_string()).unwrap().changes, 1);
    assert!(matches!(other.history.find_call(&first.to_string()), Err(HistoryError::NoSuchCall(_))));
    assert!(world.history.unfinished().unwrap().is_empty());
    assert_eq!(world.history.calls(&CallQuery::default(), Page::first(9)).unwrap().len(), 4);
    let rows = world.history.log(&world.spot("/w/b"), Page::first(9)).unwrap();
    assert_eq!(world.content(&world.history.content_before(&rows[2]).unwrap()).as_deref(), Some("one"));

    let id = CallId::next();
    let to = Moment::Time(then);
    let restoration = world.with_call(id, |call| world.history.restore_to(&world.vfs, call, &world.spot("/w/b"), to));
    world.run_as(id, restoration.unwrap().operation()).unwrap();
    assert_eq!(world.text("/w/b").as_deref(), Some("one two"));
    world.undo(id).unwrap();
    world.undo(last).unwrap();
    assert!(matches!(world.undo(last), Err(HistoryError::AlreadyUndone { .. })));

    world.history.pin(last, true).unwrap();
    let collect = |rules: Retention| {
        let collected = world.history.collect(&rules, &mut |_, kept| world.store.kept_len(kept)).unwrap();
        for one in &collected {
            world.history.forget(one).unwrap();
        }
        collected.into_iter().flat_map(|one| one.kept).collect::<Vec<Kept>>()
    };
    assert!(collect(Retention { bytes: Some(1 << 40), ..Retention::default() }).is_empty());
    let gone = collect(Retention { bytes: Some(0), ..Retention::default() });
    assert!(!gone.is_empty());
    assert_eq!(world.history.unknown("test:/one", &gone).unwrap(), gone);
    assert!(collect(Retention { count: Some(0), ..Retention::default() }).is_empty());
    world.history.pin(last, false).unwrap();
    world.wait(7200);
    collect(Retention { age: Some(std::time::Duration::from_secs(1)), ..Retention::default() });
    assert!(world.log("/w").is_empty());
}
