//! A process that dies between a change and its row: what it was about to change is known, and comes back.

use std::sync::Arc;
use std::time::Duration;

use paddock_core::{
    Audit as _, Call, CallId, CallRecord, Expect, Journal, Operation, Part, PartDone, Plan, Replacement,
    Result as StoreResult,
};
use paddock_db::Durability;
use paddock_ledger::Ledger;
use paddock_ledger::audit::{AuditKey, AuditLog, Filter, Kind};
use paddock_ledger::history::{CallQuery, CallState, History, HistoryError, Page};

use super::history_world::{path, person};
use super::mortal::Dies;
use super::on_disk::{OnDisk, database, workspaces};

fn write(at: &str, text: &str) -> Operation {
    Operation::Write { path: path(at), content: text.into(), expect: Expect::Any }
}

fn edit(at: &str, old: &str, new: &str) -> Operation {
    let edits = vec![Replacement { old: old.to_owned(), new: new.to_owned(), all: false }];
    Operation::Edit { path: path(at), edits, expect: Expect::Any }
}

#[test]
fn a_change_without_its_row_comes_back() {
    let world = OnDisk::new();
    world.put("one/f", "before");
    // The same path in another Workspace is another path.
    world.put("two/f", "theirs");
    let edited = world.dies(Dies::After(0), edit("/w/f", "before", "after"));
    let made = world.dies(Dies::After(0), write("/w/new", "new"));
    let gone = world.dies(Dies::After(0), Operation::Delete { path: path("/o/f"), recursive: false });
    assert_eq!((world.text("one/f").as_deref(), world.text("two/f")), (Some("after"), None));
    // They are told with what they may have changed, the last one first.
    let calls = world.history.calls(&CallQuery::default(), Page::first(9)).unwrap();
    assert_eq!(calls.iter().map(|call| call.call).collect::<Vec<_>>(), [gone, made, edited]);
    assert!(calls.iter().all(|call| call.state == CallState::Open && call.changes == 0));
    let planned = world.history.planned(edited).unwrap();
    assert_eq!(planned.iter().map(paddock_ledger::history::Planned::path_then).collect::<Vec<_>>(), ["/w/f"]);
    for call in [gone, made, edited] {
        world.undo(call).unwrap();
    }
    assert_eq!((world.text("one/f").as_deref(), world.text("one/new")), (Some("before"), None));
    assert_eq!(world.text("two/f").as_deref(), Some("theirs"));
}

#[test]
fn every_path_of_a_killed_set_comes_back() {
    let world = OnDisk::new();
    let name = |n: usize| format!("one/d/f{n}");
    for n in 0..70 {
        world.put(&name(n), &format!("text {n}"));
    }
    // The third batch is made and not told.
    let killed = world.dies(Dies::After(2), Operation::Delete { path: path("/w/d"), recursive: true });
    assert!((0..70).all(|n| world.text(&name(n)).is_none()) && !world.at("one/d").exists());
    assert_eq!(world.history.changes(killed).unwrap().len(), 64);
    assert_eq!(world.history.planned(killed).unwrap().len(), 7);
    world.undo(killed).unwrap();
    for n in 0..70 {
        assert_eq!(world.text(&name(n)), Some(format!("text {n}")));
    }
}

#[test]
fn moves_are_found_where_they_went() {
    let world = OnDisk::new();
    world.put("one/a", "1");
    world.put("one/d/b", "2");
    let file = world.dies(Dies::After(0), Operation::Move { from: path("/w/a"), to: path("/w/z") });
    let dir = world.dies(Dies::After(0), Operation::Move { from: path("/w/d"), to: path("/w/e") });
    assert_eq!((world.text("one/z").as_deref(), world.text("one/e/b").as_deref()), (Some("1"), Some("2")));
    world.undo(dir).unwrap();
    world.undo(file).unwrap();
    assert_eq!((world.text("one/a").as_deref(), world.text("one/d/b").as_deref()), (Some("1"), Some("2")));
}

#[test]
fn what_was_not_changed_is_not_taken_back() {
    let world = OnDisk::new();
    world.put("one/f", "before");
    // It died when everything was ready.
    let id = CallId::next();
    world.with_call(id, |call| {
        let plan = world.vfs.plan(call, write("/w/f", "after")).unwrap();
        world.history.begin(call, &plan).unwrap();
    });
    let other = world.dies(Dies::After(0), write("/w/g", "made"));
    std::fs::remove_file(world.at("one/g")).unwrap();
    for call in [id, other] {
        assert!(matches!(world.undo(call), Err(HistoryError::ChangedNothing(_))));
    }
    assert_eq!(world.text("one/f").as_deref(), Some("before"));
}

#[test]
fn what_cannot_be_said_is_refused_and_named() {
    let world = OnDisk::new();
    world.put("one/log", "lines\n");
    world.put("one/f", "before");
    let appended = world.dies(Dies::After(0), Operation::Append { path: path("/w/log"), content: "more\n".into() });
    // Its kept file is gone, and nobody knows whose content is there.
    let lost = world.dies(Dies::After(0), write("/w/f", "after"));
    std::fs::remove_dir_all(world.at("history")).unwrap();
    // Somebody else has changed it since, with a row.
    let overtaken = world.dies(Dies::After(0), write("/w/new", "made"));
    world.run(&world.vfs, CallId::next(), write("/w/new", "theirs")).unwrap();
    for (call, name) in [(appended, "/w/log"), (lost, "/w/f"), (overtaken, "/w/new")] {
        match world.undo(call) {
            Err(HistoryError::CutOff { paths, .. }) => assert_eq!(paths, [name]),
            other => panic!("{name}: {other:?}"),
        }
    }
    let there = ["one/log", "one/f", "one/new"].map(|name| world.text(name).unwrap());
    assert_eq!(there, ["lines\nmore\n", "after", "theirs"], "nothing was changed");
}

/// They have no row, and whoever takes back runs unasked at the next start.
#[test]
fn what_a_person_did_after_the_process_died_is_not_taken_for_its_doing() {
    let world = OnDisk::new();
    for name in ["edited", "written", "saved"] {
        world.put(&format!("one/{name}"), "before");
    }
    let edited = world.dies(Dies::After(0), edit("/w/edited", "before", "after"));
    let written = world.dies(Dies::After(0), write("/w/written", "after"));
    let saved = world.dies(Dies::After(0), write("/w/saved", "after"));
    let made = world.dies(Dies::After(0), write("/w/made", "made"));
    // Nothing was made of these.
    let planned = world.dies(Dies::Before(0), write("/w/notes.txt", "made"));
    let added = world.dies(Dies::Before(0), Operation::Append { path: path("/w/log"), content: "made".into() });
    // The kernel's clock for files may be behind by a tick.
    std::thread::sleep(Duration::from_millis(50));
    for name in ["edited", "written", "made", "notes.txt", "log"] {
        world.put(&format!("one/{name}"), "by a person");
    }
    // An editor that saves by a rename.
    world.put("one/.saved.swp", "by a person");
    std::fs::rename(world.at("one/.saved.swp"), world.at("one/saved")).unwrap();
    let calls = [
        (edited, "edited"),
        (written, "written"),
        (saved, "saved"),
        (made, "made"),
        (planned, "notes.txt"),
        (added, "log"),
    ];
    for (call, name) in calls {
        match world.undo(call) {
            Err(HistoryError::CutOff { paths, .. }) => assert_eq!(paths, [format!("/w/{name}")]),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(world.text(&format!("one/{name}")).as_deref(), Some("by a person"), "{name}");
    }
}

/// Looks at the ledger as another process would, whenever a Store is about to be asked.
struct Watched {
    history: Arc<History>,
    others: History,
    audit: AuditLog,
}

impl Journal for Watched {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> StoreResult<()> {
        self.history.begin(call, plan)
    }

    fn part_begins(&self, call: &Call<'_>, part: &Part<'_>) -> StoreResult<()> {
        self.history.part_begins(call, part)?;
        let open = self.others.unfinished().unwrap();
        assert_eq!(open.iter().map(|open| open.call).collect::<Vec<_>>(), [call.id]);
        assert_eq!(self.others.planned(call.id).unwrap().len(), part.set.changes().len());
        let rows = self.audit.query(&Filter { call: Some(call.id), ..Filter::default() }).unwrap().rows;
        assert_eq!(rows.iter().map(|row| row.kind).collect::<Vec<_>>(), [Kind::Intent]);
        Ok(())
    }

    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> StoreResult<()> {
        self.history.part_done(call, done)
    }

    fn end(&self, call: &Call<'_>, completed: bool) {
        self.history.end(call, completed);
    }
}

#[test]
fn others_see_the_intent_before_a_store_is_asked_and_the_rest_before_the_call_is_answered() {
    let world = OnDisk::new();
    let place = world.dir.path();
    let key = || AuditKey::from_bytes([5; 32]);
    let ledger = Ledger::sqlite(
        &database(place),
        Durability::Process,
        key(),
        place.join("head"),
        paddock_state::Redactor::none(),
    );
    let others = History::on_sqlite(database(place));
    let audit = AuditLog::sqlite(
        database(place),
        Durability::Process,
        key(),
        place.join("head"),
        paddock_state::Redactor::none(),
    );
    let watched = Watched { history: Arc::clone(&ledger.history), others: others.clone(), audit };
    let watched = Arc::new(watched);
    let vfs = person(workspaces(place), Arc::clone(&watched) as Arc<dyn Journal>);
    let id = CallId::next();
    world.run(&vfs, id, write("/w/f", "text")).unwrap();
    let record = CallRecord {
        call: id,
        agent: &world.agent,
        by: None,
        tool: "write_file",
        path: "/w/f",
        workspace: None,
        outcome: "done",
        reason: "",
        risk: None,
        bytes: 4,
        took: Duration::ZERO,
        effect: true,
    };
    ledger.audit.record(&record).unwrap();
    let call = others.find_call(&id.to_string()).unwrap();
    assert_eq!((call.state, call.changes), (CallState::Completed, 1));
    assert!(others.planned(id).unwrap().is_empty());
    let rows = watched.audit.query(&Filter { call: Some(id), ..Filter::default() }).unwrap().rows;
    assert_eq!(rows.iter().map(|row| row.kind).collect::<Vec<_>>(), [Kind::Intent, Kind::Outcome]);
    // What is not recorded as a call's end is seen by who asks in the same process, and by others a moment later.
    let second = CallId::next();
    world
        .run(&person(workspaces(place), Arc::clone(&ledger.history) as Arc<dyn Journal>), second, write("/w/g", ""))
        .unwrap();
    assert_eq!(ledger.history.find_call(&second.to_string()).unwrap().state, CallState::Completed);
    assert!(ledger.audit.verify().unwrap().is_ok());
}
