//! What was said lasts before the next checkpoint is written, and before a run stops: a conversation that says when it was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paddock_agent::RunEvent;
use paddock_state::conversation::{Conversation, Folded, Message, MessageEvent, Notice, OpenTurn, Repaired, Result};
use paddock_state::instance::{Imported, Instance, Instances, Listing, Saved, Seen, Status};
use paddock_state::{ExtensionName, InstanceKey, TurnId};
use serde_json::{Map, Value, json};

use crate::world::{World, answer, call, plan, script};

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
fn what_was_said_lasts_before_the_next_checkpoint_and_before_a_run_stops() {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "x").unwrap();
    let unsettled = Unsettled::default();
    let (seen, said) = (Arc::clone(&unsettled), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&said);
    let mut process = world.process_watched(Arc::new(move |event| match event {
        RunEvent::Boundary("before a checkpoint") => {
            assert_eq!(seen.load(Ordering::SeqCst), 0, "a checkpoint came first");
        }
        RunEvent::Boundary("after a message") => _ = counted.fetch_add(seen.load(Ordering::SeqCst), Ordering::SeqCst),
        _ => {}
    }));
    process.runtime.instances =
        Arc::new(Telling { inner: Arc::clone(&process.runtime.instances), unsettled: Arc::clone(&unsettled) });
    // It stops to ask a person.
    process.start("t", "go").unwrap();
    assert_eq!(unsettled.load(Ordering::SeqCst), 0);
    assert!(said.load(Ordering::SeqCst) >= 3, "nothing was said ahead");
}
