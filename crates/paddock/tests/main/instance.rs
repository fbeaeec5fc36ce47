//! `paddock instance`: the conversations of agents in the hands of a person.

mod carry;
mod change;
mod look;

use std::fs;
use std::path::PathBuf;

use paddock_db::Durability;
use paddock_state::conversation::{Message, MessageEvent, MessageSource};
use paddock_state::instance::{FileInstances, Instances as _};
use paddock_state::{InstanceKey, TurnId};
use serde_json::json;

use crate::harness::{Ran, World};

const CONFIG: &str =
    "name = \"app\"\n[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = { virtual = \"w\" }\n";

/// Texts that must never name an instance, with a word of the reason.
const BAD_KEYS: &[(&str, &str)] = &[
    ("", "empty"),
    (".", "another directory"),
    ("..", "another directory"),
    ("a/b", "separator"),
    ("../a", "dot"),
    ("a\\b", "separator"),
    (".hidden", "dot"),
    ("a\nb", "cannot be seen"),
    ("a\u{202e}b", "cannot be seen"),
];

/// Three lines as goondan writes them: big numbers and an order of keys that no map has.
const LINES: &str = concat!(
    r#"{"id":"m1","data":{"role":"user","content":"Is it in src?"},"metadata":{},"createdAt":"2026-11-15T12:30:00.000Z","source":{"type":"user"}}"#,
    "\n",
    r#"{"id":"m2","data":{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool-call","toolName":"read_file","z":1,"a":12345678901234567890123}]},"metadata":{"z":1.0,"a":null},"createdAt":"2026-11-15T12:30:01.250Z","source":{"type":"assistant","stepId":"s1"}}"#,
    "\n",
    r#"{"id":"m3","data":{"role":"tool","content":"No.\nIt is in lib."},"metadata":{},"createdAt":"2026-11-15T12:30:02.000Z","source":{"type":"tool","toolCallId":"c1","toolName":"read_file"}}"#,
    "\n",
);

/// A project with one instance "chat" of three messages.
fn with_chat() -> World {
    let world = World::configured(CONFIG);
    import(&world, "chat", LINES);
    world
}

fn import(world: &World, key: &str, lines: &str) {
    let ran = world.paddock_reading(&["instance", "import", key, "-"], lines);
    assert_eq!(ran.code, 0, "{ran}");
}

/// `paddock instance …`, with the times of one zone.
fn instance(world: &World, arguments: &[&str]) -> Ran {
    let arguments: Vec<&str> = std::iter::once("instance").chain(arguments.iter().copied()).collect();
    let mut command = world.command(&arguments);
    command.env("TZ", "UTC");
    world.run(command, "")
}

/// Where the instances of the only project are.
fn place(world: &World) -> PathBuf {
    let workspaces = world.home().join(".paddock/workspaces");
    let mut found = fs::read_dir(workspaces).unwrap().map(|entry| entry.unwrap().path());
    let place = found.find(|path| path.is_dir()).unwrap().join("instances");
    assert!(place.is_dir(), "{}", place.display());
    place
}

fn files(world: &World) -> FileInstances {
    FileInstances::at(place(world), Durability::Process)
}

fn key(text: &str) -> InstanceKey {
    InstanceKey::new(text).unwrap()
}

/// Leaves a turn of an instance open, with one message in it.
fn open_turn(world: &World, of: &str) {
    let message = Message::new("m4", "user", &json!("And now?"), MessageSource::User);
    let mut conversation = files(world).conversation(&key(of)).unwrap();
    conversation.append_event(&TurnId::new("turn-7").unwrap(), &MessageEvent::Append { message }).unwrap();
}

/// The keys there are, by name.
fn keys(world: &World) -> Vec<String> {
    let told = instance(world, &["list", "--all", "--json"]).json();
    let mut keys: Vec<String> =
        told["instances"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    keys
}

#[test]
fn a_key_that_could_lead_elsewhere_is_refused_by_every_command() {
    let world = with_chat();
    world.write("chat.jsonl", LINES);
    let long = "k".repeat(300);
    let bad = BAD_KEYS.iter().copied().chain([(long.as_str(), "longer than 200 bytes")]);
    for (key, why) in bad {
        let commands: [&[&str]; 8] = [
            &["show", key],
            &["messages", key],
            &["restart", key],
            &["restart", key, "--fresh", "--yes"],
            &["delete", key, "--yes"],
            &["repair", key, "--apply"],
            &["export", key],
            &["import", key, "chat.jsonl"],
        ];
        for command in commands {
            let ran = instance(&world, command);
            assert_eq!(ran.code, 2, "{command:?}: {ran}");
            assert!(ran.stderr.contains("cannot be the key of an instance") && ran.stderr.contains(why), "{ran}");
            assert!(ran.stderr.contains("\nhint: "), "{ran}");
            assert!(!ran.stderr.trim_end().chars().any(|c| c != '\n' && c.is_control()), "{ran}");
        }
    }
    assert_eq!(keys(&world), ["chat"]);
}

#[test]
fn an_instance_that_is_not_there_is_named() {
    let world = World::configured(CONFIG);
    // Also where nothing was ever kept, and looking makes nothing.
    for command in [&["show", "x"][..], &["messages", "x"], &["restart", "x"], &["repair", "x"], &["export", "x"]] {
        let ran = instance(&world, command);
        assert_eq!(ran.code, 1, "{ran}");
        let told = "error: there is no instance \"x\"\nhint: `paddock instance list` shows those there are\n";
        assert_eq!(ran.stderr, told, "{command:?}");
    }
    assert!(!world.home().join(".paddock").exists(), "looking makes nothing");
    import(&world, "chat", LINES);
    for command in [&["show", "x"][..], &["messages", "x"], &["restart", "x"], &["repair", "x"], &["export", "x", "d"]]
    {
        let ran = instance(&world, command);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.starts_with("error: there is no instance \"x\"\n"), "{command:?}: {ran}");
    }
    assert!(!world.has("d"), "nothing is made for an export of nothing");
}
