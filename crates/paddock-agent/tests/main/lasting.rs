//! What was said lasts before more is said, and before a run stops; what the power takes until then is said again. With a conversation that
//! says when it was asked. A checkpoint that would come again need not last: what the power takes of the record is done anew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use paddock_agent::record::{Record, schema};
use paddock_agent::{Ended, RunError, RunEvent, Watcher};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::approvals::Status as Decided;
use paddock_state::conversation::{Conversation, Folded, Message, MessageEvent, Notice, OpenTurn, Repaired, Result};
use paddock_state::instance::{Imported, Instance, Instances, Listing, Saved, Seen, Status};
use paddock_state::{ExtensionName, InstanceKey, TurnId};
use serde_json::{Map, Value, json};

use crate::turns::{ending_at, noting, without_answers};
use crate::world::{POLICY, Process, World, answer, call, plan, script};

/// How many events may still be lost with the power.
type Unsettled = Arc<AtomicU64>;

struct Told {
    inner: Box<dyn Conversation>,
    unsettled: Unsettled,
}

impl Conversation for Told {
    fn open_turn(&self) -> Option<&OpenTurn> {
        self.inner.open_turn()
    }

    fn last_seq(&self) -> u64 {
        self.inner.last_seq()
    }

    fn append_event(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        self.settle()?;
        self.inner.append_event(turn, event)
    }

    fn append_event_ahead(&mut self, turn: &TurnId, event: &MessageEvent) -> Result<u64> {
        let seq = self.inner.append_event_ahead(turn, event)?;
        self.unsettled.store(1, Ordering::SeqCst);
        Ok(seq)
    }

    fn settle(&mut self) -> Result<()> {
        self.unsettled.store(0, Ordering::SeqCst);
        self.inner.settle()
    }

    fn fold(&mut self, turn: &TurnId) -> Result<Folded> {
        self.settle()?;
        self.inner.fold(turn)
    }

    fn write_base(&mut self, turn: &TurnId, messages: &[Message]) -> Result<Folded> {
        self.settle()?;
        self.inner.write_base(turn, messages)
    }

    fn notices(&self) -> &[Notice] {
        self.inner.notices()
    }
}

fn telling(inner: &Arc<dyn Instances>, unsettled: &Unsettled) -> Arc<dyn Instances> {
    Arc::new(Telling { inner: Arc::clone(inner), unsettled: Arc::clone(unsettled) })
}

struct Telling {
    inner: Arc<dyn Instances>,
    unsettled: Unsettled,
}

impl Instances for Telling {
    fn create(&self, key: &InstanceKey, agent: &str) -> Result<Instance> {
        self.inner.create(key, agent)
    }

    fn show(&self, key: &InstanceKey) -> Result<Option<Instance>> {
        self.inner.show(key)
    }

    fn list(&self) -> Result<Listing> {
        self.inner.list()
    }

    fn set_status(&self, key: &InstanceKey, status: Status) -> Result<()> {
        self.inner.set_status(key, status)
    }

    fn delete(&self, key: &InstanceKey) -> Result<bool> {
        self.inner.delete(key)
    }

    fn clear(&self, key: &InstanceKey) -> Result<()> {
        self.inner.clear(key)
    }

    fn conversation(&self, key: &InstanceKey) -> Result<Box<dyn Conversation>> {
        let unsettled = Arc::clone(&self.unsettled);
        Ok(Box::new(Told { inner: self.inner.conversation(key)?, unsettled }))
    }

    fn read(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<Seen> {
        self.inner.read(key, each)
    }

    fn read_apart(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<(Vec<MessageEvent>, Seen)> {
        self.inner.read_apart(key, each)
    }

    fn get_state(&self, key: &InstanceKey, extension: &ExtensionName) -> Result<Option<Map<String, Value>>> {
        self.inner.get_state(key, extension)
    }

    fn extensions(&self, key: &InstanceKey) -> Result<Vec<ExtensionName>> {
        self.inner.extensions(key)
    }

    fn set_state(&self, key: &InstanceKey, extension: &ExtensionName, state: &Map<String, Value>) -> Result<Saved> {
        self.inner.set_state(key, extension, state)
    }

    fn repair(&self, key: &InstanceKey, apply: bool) -> Result<Repaired> {
        self.inner.repair(key, apply)
    }

    fn import(&self, key: &InstanceKey, agent: &str, imported: Imported<'_>) -> Result<u64> {
        self.inner.import(key, agent, imported)
    }

    fn held_by(&self, key: &InstanceKey) -> Option<String> {
        self.inner.held_by(key)
    }
}

#[test]
fn what_was_said_lasts_before_more_is_said_and_before_a_run_stops() {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "x").unwrap();
    let unsettled = Unsettled::default();
    let (seen, silent, said) = (Arc::clone(&unsettled), AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&said);
    let mut process = world.process_watched(Arc::new(move |event| match event {
        RunEvent::Boundary("before a checkpoint") => {
            let lasts = seen.load(Ordering::SeqCst) == 0;
            let before = if lasts { 0 } else { silent.load(Ordering::SeqCst) + 1 };
            assert!(before <= 1, "another checkpoint came first");
            silent.store(before, Ordering::SeqCst);
        }
        RunEvent::Boundary("after a message") => {
            assert_eq!(silent.load(Ordering::SeqCst), 0, "more was said first");
            counted.fetch_add(seen.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        _ => {}
    }));
    process.runtime.instances = telling(&process.runtime.instances, &unsettled);
    // It stops to ask a person.
    process.start("t", "go").unwrap();
    assert_eq!(unsettled.load(Ordering::SeqCst), 0);
    assert!(said.load(Ordering::SeqCst) >= 3, "nothing was said ahead");
}

#[test]
fn a_message_that_is_lost_with_the_power_is_said_again() {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": "once\n" }));
    let told = script(&[plan(&["note"]), append, answer("noted")]);
    let whole = World::new(&told);
    let names = Arc::new(Mutex::new(Vec::new()));
    whole.process_watched(noting(&names)).start("t", "go").unwrap();
    let (said, names) = (without_answers(whole.process().said("t")), names.lock().unwrap().clone());
    let first = names.iter().position(|name| *name == "after the task").unwrap() + 1;
    let mut lost = Vec::new();
    for boundary in first..=names.len() {
        let world = World::new(&told);
        let unsettled = Unsettled::default();
        let mut process = world.process_watched(ending_at(boundary));
        process.runtime.instances = telling(&process.runtime.instances, &unsettled);
        let ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "go")));
        assert!(ended.is_err(), "boundary {boundary} was not reached");
        drop(process);
        if unsettled.load(Ordering::SeqCst) > 0 {
            lose_the_last_event(&world);
            lost.push(names[boundary - 1]);
        }
        let next = world.process();
        match next.resume("t") {
            Ok(ended) => assert_eq!(ended, Ended::Done("noted".into()), "boundary {boundary}"),
            Err(RunError::Over(_)) => {}
            Err(error) => panic!("boundary {boundary}: {error}"),
        }
        assert_eq!(world.text("effects.txt"), "once\n", "boundary {boundary}");
        assert_eq!(without_answers(next.said("t")), said, "boundary {boundary}");
    }
    assert!(lost.contains(&"after a message") && lost.contains(&"after a checkpoint"), "{lost:?}");
}

/// As a disk does that was not asked to keep it.
fn lose_the_last_event(world: &World) {
    let workspaces = std::fs::read_dir(world.top.join("home/workspaces")).unwrap();
    let events = workspaces.map(|entry| entry.unwrap().path().join("instances/t/messages/events.jsonl"));
    let events = events.into_iter().find(|path| path.is_file()).unwrap();
    let text = std::fs::read_to_string(&events).unwrap();
    let last = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
    std::fs::write(events, &text[..last]).unwrap();
}

/// The record on a disk of its own, as it would be found after a loss of power: as it was when everything in it had been synced.
/// Nobody but the run commits there, so that each of its events sees one moment.
struct Disk {
    database: Sqlite,
    /// What of the log was synced. The database's file is not looked at while it is open: closing it would drop SQLite's locks.
    log: Mutex<Vec<u8>>,
}

/// What is in the database's file before anything of the log is moved into it.
const FIRST_PAGE: u64 = 4096;

impl Disk {
    fn of(world: &World) -> Arc<Self> {
        let path = world.top.join("record.db");
        Arc::new(Self { database: Sqlite::new(path, vec![schema::SQLITE], Durability::Disk), log: Mutex::default() })
    }

    /// A process whose record is there.
    fn process(&self, world: &World, watcher: Arc<Watcher>) -> Process {
        let mut process = world.process_watched(watcher);
        process.runtime.record = Record::on_sqlite(self.database.clone());
        process
    }

    /// The same, and each of its events is a moment at which the power may fail.
    fn watched(self: &Arc<Self>, world: &World, then: Arc<Watcher>) -> Process {
        self.look();
        let disk = Arc::clone(self);
        let watcher = move |event: &RunEvent<'_>| {
            disk.look();
            then(event);
        };
        self.process(world, Arc::new(watcher))
    }

    fn look(&self) {
        if self.database.is_synced() {
            *self.log.lock().unwrap() = std::fs::read(beside(self.database.path(), "-wal")).unwrap_or_default();
        }
    }

    /// Gives it back as it is found then, once no process has it.
    fn lose_the_rest(self: Arc<Self>) {
        let Self { database, log } = Arc::into_inner(self).expect("its process has ended");
        let path = database.path().to_owned();
        drop(database);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), FIRST_PAGE, "a part of the log was moved");
        std::fs::remove_file(beside(&path, "-shm")).unwrap();
        std::fs::write(beside(&path, "-wal"), log.into_inner().unwrap()).unwrap();
    }
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

#[test]
fn what_the_power_takes_of_the_record_is_done_anew() {
    let append = call("append_file", &json!({ "path": "/w/effects.txt", "content": "once\n" }));
    let read = call("read_file", &json!({ "path": "/r/facts.txt" }));
    let told = script(&[plan(&["look", "note"]), read, answer("seen"), append, answer("noted")]);
    let whole = World::new(&told);
    let names = Arc::new(Mutex::new(Vec::new()));
    whole.process_watched(noting(&names)).start("t", "go").unwrap();
    let (said, names) = (without_answers(whole.process().said("t")), names.lock().unwrap().clone());
    let first = names.iter().position(|name| *name == "after the task").unwrap() + 1;
    let mut lost = Vec::new();
    for boundary in first..=names.len() {
        let world = World::new(&told);
        let disk = Disk::of(&world);
        let process = disk.watched(&world, ending_at(boundary));
        let ended = catch_unwind(AssertUnwindSafe(|| process.start("t", "go")));
        assert!(ended.is_err(), "boundary {boundary} was not reached");
        let before = process.runtime.record.thread("t").unwrap().checkpoints;
        if !disk.database.is_synced() {
            lost.push(names[boundary - 1]);
        }
        drop(process);
        disk.lose_the_rest();
        let next = Disk::of(&world).process(&world, Arc::new(|_| {}));
        let there = next.runtime.record.thread("t").unwrap().checkpoints;
        assert!(before - there <= 2, "boundary {boundary}: {there} of {before} checkpoints are left");
        match next.resume("t") {
            Ok(ended) => assert_eq!(ended, Ended::Done("noted".into()), "boundary {boundary}"),
            Err(RunError::Over(_)) => {}
            Err(error) => panic!("boundary {boundary}: {error}"),
        }
        assert_eq!(world.text("effects.txt"), "once\n", "boundary {boundary}");
        assert_eq!(without_answers(next.said("t")), said, "boundary {boundary}");
    }
    assert!(lost.contains(&"after a checkpoint"), "{lost:?}");
}

/// The policy has changed since, so that the decision fits no more, and nobody has to be asked.
#[test]
fn a_state_that_waits_for_an_approval_does_not_come_back_once_that_is_withdrawn() {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let disk = Disk::of(&world);
    let nobody: Arc<Watcher> = Arc::new(|_| {});
    let Ended::Frozen(id) = disk.process(&world, nobody.clone()).start("t", "go").unwrap() else {
        panic!("not frozen")
    };
    world.process().approve(&id);
    let policy = format!("{POLICY}\n[approvals]\nabove = \"high\"\n");
    std::fs::write(world.top.join("project/paddock.toml"), policy).unwrap();
    let process = disk.watched(&world, after_a_checkpoint());
    assert!(catch_unwind(AssertUnwindSafe(|| process.resume("t"))).is_err());
    let approval = process.installation.approvals().unwrap().show(&id).unwrap();
    assert_eq!(approval.status, Decided::Overtaken);
    drop(process);
    disk.lose_the_rest();
    let next = Disk::of(&world).process(&world, nobody);
    assert_eq!(next.resume("t").unwrap(), Ended::Done("removed".into()));
    assert!(!world.file("old.txt").exists(), "{:#?}", next.said("t"));
}

/// Ends the process there.
fn after_a_checkpoint() -> Arc<Watcher> {
    Arc::new(|event| {
        if let RunEvent::Boundary("after a checkpoint") = event {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    })
}
