//! Instances and their conversations: one suite for every place they can be kept in, and what is particular to each.

mod child;
mod file;
mod kills;
mod model;
mod postgres;
mod suite;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use paddock_db::postgres_testing::{Database, run};
use paddock_db::{Durability, Postgres};
use paddock_state::conversation::{Loaded, Message, MessageEvent, MessageSource};
use paddock_state::instance::{FileInstances, Instances, PostgresInstances};
use paddock_state::{InstanceKey, TurnId};
use serde_json::Value;
use tempfile::TempDir;

/// A place for instances, empty at first.
pub(super) enum World {
    Files(TempDir),
    Postgres(Database),
}

impl World {
    fn files() -> Self {
        Self::Files(tempfile::tempdir().unwrap())
    }

    fn postgres() -> Self {
        Self::Postgres(Database::fresh())
    }

    /// Where it is, as one text: for other processes.
    fn place(&self) -> String {
        match self {
            Self::Files(directory) => directory.path().to_str().unwrap().to_owned(),
            Self::Postgres(database) => database.url(),
        }
    }

    /// The instances as another process would see them.
    fn open(&self) -> Arc<dyn Instances> {
        opened(&self.place(), None)
    }

    /// An instance to begin with.
    fn with(&self, name: &str) -> Arc<dyn Instances> {
        let instances = self.open();
        instances.create(&key(name), "agent").unwrap();
        instances
    }

    fn file(&self, path: &str) -> PathBuf {
        let Self::Files(directory) = self else { panic!("no files here") };
        directory.path().join(path)
    }

    /// Alters a confirmed message behind everybody's back, by its number.
    fn damage(&self, name: &str, number: usize) {
        match self {
            Self::Files(_) => {
                let path = self.file(name).join("messages/base.jsonl");
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.split_inclusive('\n').enumerate();
                let altered = lines.map(|(at, line)| if at + 1 == number { altered(line) } else { line.to_owned() });
                fs::write(&path, altered.collect::<String>()).unwrap();
            }
            Self::Postgres(database) => run(
                &database.url(),
                &format!(
                    "UPDATE paddock.instance_message SET line = replace(line, 'content', 'kontent') WHERE seq = {number} \
                     AND instance = (SELECT id FROM paddock.instance_instance WHERE key = '{name}')"
                ),
            ),
        }
    }

    /// Makes what is known of an instance unreadable.
    fn damage_metadata(&self, name: &str) {
        match self {
            Self::Files(_) => fs::write(self.file(name).join("metadata.json"), "{\"status\":\"idle\"").unwrap(),
            Self::Postgres(database) => run(
                &database.url(),
                &format!("UPDATE paddock.instance_instance SET status = 'lost' WHERE key = '{name}'"),
            ),
        }
    }
}

fn altered(line: &str) -> String {
    let altered = line.replacen("content", "kontent", 1);
    assert_ne!(altered, line);
    altered
}

/// The instances at a place, with another time than usual after which a holder that does not answer is taken for dead.
fn opened(place: &str, lease: Option<Duration>) -> Arc<dyn Instances> {
    if !place.starts_with("postgres://") {
        return Arc::new(FileInstances::at(place.into(), Durability::Process));
    }
    let db = Postgres::new(place, vec![PostgresInstances::SCHEMA]).unwrap();
    let instances = PostgresInstances::new(db, "suite");
    Arc::new(match lease {
        Some(lease) => instances.with_lease(lease),
        None => instances,
    })
}

fn key(name: &str) -> InstanceKey {
    InstanceKey::new(name).unwrap()
}

fn turn(name: &str) -> TurnId {
    TurnId::new(name).unwrap()
}

fn message(id: &str) -> Message {
    saying(id, &format!("this is {id}"))
}

fn saying(id: &str, what: &str) -> Message {
    Message::new(id, "user", &Value::from(what), MessageSource::User)
}

fn append(id: &str) -> MessageEvent {
    MessageEvent::Append { message: message(id) }
}

fn replace(target_id: &str, message: Message) -> MessageEvent {
    MessageEvent::Replace { target_id: target_id.to_owned(), message }
}

fn remove(target_id: &str) -> MessageEvent {
    MessageEvent::Remove { target_id: target_id.to_owned() }
}

/// Does one turn after the other, each whole.
fn turns(instances: &dyn Instances, name: &str, turns: &[&[MessageEvent]]) {
    let mut conversation = instances.conversation(&key(name)).unwrap();
    for (number, events) in turns.iter().enumerate() {
        let turn = turn(&format!("t{number}"));
        for event in *events {
            conversation.append_event(&turn, event).unwrap();
        }
        conversation.fold(&turn).unwrap();
    }
}

fn ids(loaded: &Loaded) -> Vec<&str> {
    loaded.messages.iter().map(Message::id).collect()
}

/// The ids of what an instance says.
fn said(instances: &dyn Instances, name: &str) -> Vec<String> {
    ids(&instances.load(&key(name)).unwrap()).into_iter().map(str::to_owned).collect()
}

/// How often something is tried: more where the environment says so.
fn count(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}
