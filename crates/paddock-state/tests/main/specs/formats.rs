//! `workspace.md`: places, names and formats.

use std::collections::BTreeSet;
use std::path::PathBuf;

use paddock_state::conversation::{Message, MessageEvent, MessageSource};
use paddock_state::instance::{Instance, Instances as _, Saved};
use paddock_state::{ExtensionName, HomeSources, InstanceKey, Origin, SystemRoot, TurnId, WorkspaceHome, WorkspaceId};
use serde_json::{Map, Value};

use super::page::Page;
use super::{Ground, example, lines, messages, turn};

fn page() -> Page {
    Page::named("workspace.md")
}

#[test]
fn the_system_root_is_found_as_the_specification_says() {
    let rows = page().rows_under("Which System Root");
    assert!(rows.len() >= 3);
    for row in rows {
        let given = |cell: &String| (!cell.is_empty()).then(|| PathBuf::from(cell));
        let sources =
            HomeSources { option: given(&row[0]), variable: Some(row[1].clone().into()), home: given(&row[2]) };
        let found = SystemRoot::resolve(&sources, None).unwrap();
        assert_eq!(found.path().to_str().unwrap(), row[3], "{row:?}");
    }
}

#[test]
fn the_ids_of_the_specification_are_those_of_the_code() {
    let rows = page().rows_under("WorkspaceId");
    assert!(rows.len() >= 10);
    for row in &rows {
        assert_eq!(WorkspaceId::of(&Origin::new(&row[0], &row[1])).as_str(), row[2], "{row:?}");
    }
    let ids: BTreeSet<&str> = rows.iter().map(|row| row[2].as_str()).collect();
    assert!(ids.len() < rows.len(), "two rows show that ids can be the same");
}

#[test]
fn the_origin_is_kept_as_the_specification_says() {
    let directory = tempfile::tempdir().unwrap();
    let sources = HomeSources { option: Some(directory.path().join("home")), ..HomeSources::default() };
    let system = SystemRoot::resolve(&sources, None).unwrap();
    let home = WorkspaceHome::claim(&system, &Origin::new("/a/b_c", "p")).unwrap();
    let shown = example(&page(), "WorkspaceId");
    assert_eq!(std::fs::read_to_string(home.origin_file()).unwrap(), shown.block("origin.json"));
    // The other row with this id gets the hash.
    let other = WorkspaceHome::claim(&system, &Origin::new("/a_b/c", "p")).unwrap();
    assert_ne!(other.id(), home.id());
    assert!(other.id().as_str().starts_with("a_b_c__p-"), "{}", other.id());
}

#[test]
fn names_are_taken_and_refused_as_the_specification_says() {
    let rows = page().rows_under("Names");
    assert!(rows.len() >= 10);
    for row in rows {
        let said = |taken: bool| if taken { "yes" } else { "no" };
        assert_eq!(row[1], said(InstanceKey::new(&row[0]).is_ok()), "{row:?}");
        assert_eq!(row[1], said(ExtensionName::new(&row[0]).is_ok()), "{row:?}");
        assert_eq!(row[2], said(TurnId::new(&row[0]).is_ok()), "{row:?}");
    }
    for taken in [InstanceKey::new("k".repeat(200)).is_ok(), InstanceKey::new("k".repeat(201)).is_err()] {
        assert!(taken);
    }
}

#[test]
fn metadata_is_written_as_the_specification_shows() {
    let page = page();
    let shown = example(&page, "metadata.json");
    let shown = shown.block("metadata.json");
    let rows = page.rows_under("metadata.json");
    let fields: Vec<String> = rows.iter().map(|row| format!("  \"{}\": \"{}\"", row[0], row[1])).collect();
    assert_eq!(shown, format!("{{\n{}\n}}\n", fields.join(",\n")));
    let ground = Ground::new();
    std::fs::write(ground.file("metadata.json"), shown).unwrap();
    let instance: Instance = ground.instances.show(&ground.key).unwrap().unwrap();
    let plain = serde_json::to_string_pretty(&instance).unwrap();
    assert!(shown.starts_with(plain.trim_end_matches("\n}")), "{plain}");
    // And what is written anew keeps what does not change.
    ground.instances.set_status(&ground.key, paddock_state::instance::Status::Idle).unwrap();
    let written = std::fs::read_to_string(ground.file("metadata.json")).unwrap();
    assert_eq!(written.lines().take(5).collect::<Vec<_>>(), shown.lines().take(5).collect::<Vec<_>>());
}

#[test]
fn sources_and_events_are_those_of_the_specification() {
    let page = page();
    for row in page.rows_under("Messages") {
        let source: MessageSource = serde_json::from_str(&row[0]).unwrap_or_else(|error| panic!("{error}: {}", row[0]));
        assert_eq!(serde_json::to_string(&source).unwrap(), row[0]);
    }
    let message = serde_json::to_string(&Message::new("m", "user", &Value::from("hi"), MessageSource::User)).unwrap();
    let rows = page.rows_under("Events");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let text = row[0].replace('…', &message);
        let event: MessageEvent = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
    }
}

#[test]
fn lines_are_written_and_read_as_the_specification_shows() {
    let shown = example(&page(), "Lines");
    let (base, open) = (shown.block("base.jsonl"), shown.block("events.jsonl"));
    let ground = Ground::with_files(base, open);
    assert_eq!(ground.read(), (shown.block("messages").to_owned(), vec![]));
    // The same turns, written by us, are the same bytes.
    let ground = Ground::new();
    let mut conversation = ground.instances.conversation(&ground.key).unwrap();
    let mut last = None;
    let marked = |line: &&str| !line.starts_with("{\"type\":\"folded\"");
    for (line, message) in base.lines().chain(open.lines().filter(marked)).zip(messages(shown.block("messages"))) {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = turn(line["turnId"].as_str().unwrap());
        if let Some(before) = last.replace(of.clone()).filter(|before| *before != of) {
            conversation.fold(&before).unwrap();
        }
        conversation.append_event(&of, &MessageEvent::Append { message }).unwrap();
    }
    assert_eq!(std::fs::read_to_string(ground.file("messages/base.jsonl")).unwrap(), base);
    assert_eq!(std::fs::read_to_string(ground.file("messages/events.jsonl")).unwrap(), open);
}

#[test]
fn the_mark_of_a_new_base_is_the_one_shown() {
    let shown = example(&page(), "The mark of a base that was written anew");
    let base = shown.block("base.jsonl");
    let ground = Ground::with_files(base, "");
    assert_eq!(ground.read(), (shown.block("messages").to_owned(), vec![]));
    // Two messages, of which a second turn replaces the last.
    let ground = Ground::new();
    let mut conversation = ground.instances.conversation(&ground.key).unwrap();
    let result = messages(shown.block("messages"));
    for message in &result {
        conversation.append_event(&turn("turn-1"), &MessageEvent::Append { message: message.clone() }).unwrap();
    }
    conversation.fold(&turn("turn-1")).unwrap();
    let last = result.last().unwrap().clone();
    let replace = MessageEvent::Replace { target_id: last.id().to_owned(), message: last };
    conversation.append_event(&turn("turn-2"), &replace).unwrap();
    conversation.fold(&turn("turn-2")).unwrap();
    assert_eq!(std::fs::read_to_string(ground.file("messages/base.jsonl")).unwrap(), base);
    assert_eq!(ground.read().0, lines(&result));
}

#[test]
fn extension_state_is_stored_as_the_specification_shows() {
    let shown = example(&page(), "Extension state");
    let state: Map<String, Value> = serde_json::from_str(shown.block("state")).unwrap();
    let ground = Ground::new();
    let name = ExtensionName::new("memory").unwrap();
    assert_eq!(ground.instances.set_state(&ground.key, &name, &state).unwrap(), Saved::Written);
    let stored = std::fs::read_to_string(ground.file("extensions/memory.json")).unwrap();
    assert_eq!(stored, shown.block("extensions/memory.json"));
}
