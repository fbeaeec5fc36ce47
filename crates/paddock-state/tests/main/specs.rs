//! The specifications say what is true: every example in `docs/specs` is run, every table of examples compared.
//!
//! An example is the fenced blocks under one heading; the word after the language says what a block is. Input and output
//! are both shown, so a document in which one of them was altered fails here.

mod folding;
mod formats;
mod page;

use std::collections::BTreeMap;
use std::path::Path;

use paddock_db::Durability;
use paddock_state::conversation::{Message, MessageEvent, Notice};
use paddock_state::instance::{FileInstances, Instances as _};
use paddock_state::{InstanceKey, TurnId};
use page::{Example, Page};
use serde_json::Value;

/// What each block of the documents may be.
const KINDS: &[&str] = &[
    "base",
    "events",
    "messages",
    "warnings",
    "written",
    "notices",
    "base.jsonl",
    "events.jsonl",
    "metadata.json",
    "origin.json",
    "state",
    "extensions/memory.json",
];

/// Instances in a directory of their own.
struct Ground {
    directory: tempfile::TempDir,
    instances: FileInstances,
    key: InstanceKey,
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let instances = FileInstances::at(directory.path().join("instances"), Durability::Process);
        let key = InstanceKey::new("chat").unwrap();
        instances.create(&key, "main").unwrap();
        Self { directory, instances, key }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join("instances/chat").join(name)
    }

    /// One with files as a document shows them.
    fn with_files(base: &str, events: &str) -> Self {
        let ground = Self::new();
        for (name, shown) in [("messages/base.jsonl", base), ("messages/events.jsonl", events)] {
            // What a document shows of a line that was cut off ends where it was cut.
            let cut = shown.strip_suffix('\n').filter(|shown| !shown.ends_with("\"}"));
            std::fs::write(ground.file(name), cut.unwrap_or(shown)).unwrap();
        }
        ground
    }

    /// The messages one per line, and what was noticed.
    fn read(&self) -> (String, Vec<Notice>) {
        let loaded = self.instances.load(&self.key).unwrap();
        (lines(&loaded.messages), loaded.notices)
    }
}

fn lines(messages: &[Message]) -> String {
    messages.iter().map(|message| serde_json::to_string(message).unwrap() + "\n").collect()
}

fn messages(text: &str) -> Vec<Message> {
    text.lines().map(parsed).collect()
}

fn events(text: &str) -> Vec<MessageEvent> {
    text.lines().map(parsed).collect()
}

/// What a line says; it has to stand there as we would write it, so that nothing of it is passed over.
fn parsed<T: serde::Serialize + serde::de::DeserializeOwned>(line: &str) -> T {
    let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(serde_json::to_string(&value).unwrap(), line);
    value
}

fn turn(text: &str) -> TurnId {
    TurnId::new(text).unwrap()
}

#[test]
fn every_block_of_the_specifications_is_looked_at() {
    for (name, least) in [("workspace.md", 9), ("runtime.md", 40)] {
        let page = Page::named(name);
        let blocks: Vec<_> = page.examples().into_iter().flat_map(|example| example.blocks).collect();
        assert!(blocks.len() >= least, "{name} has only {} examples: the test has lost them", blocks.len());
        for block in blocks {
            assert!(KINDS.contains(&block.kind.as_str()), "{name}: nobody looks at a block \"{}\"", block.kind);
        }
    }
}

/// Some messages have no effect in their example. They are those of other examples, and have to be the same there.
#[test]
fn one_message_is_the_same_wherever_it_is_shown() {
    for name in ["workspace.md", "runtime.md"] {
        let mut known: BTreeMap<(String, String), String> = BTreeMap::new();
        let examples = Page::named(name).examples();
        let lines = examples.iter().flat_map(|example| &example.blocks).flat_map(|block| block.text.lines());
        for value in lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let mut message = value.get("message").unwrap_or(&value).clone();
            let Some(fields) = message.as_object_mut().filter(|fields| fields.contains_key("id")) else { continue };
            for frame in ["seq", "turnId", "line", "sum"] {
                fields.remove(frame);
            }
            let key = (message["id"].to_string(), message["createdAt"].to_string());
            let text = message.to_string();
            assert_eq!(known.entry(key).or_insert_with(|| text.clone()), &text, "{name}");
        }
        assert!(known.len() >= 4, "{known:?}");
    }
}

/// A test that a specification names as its proof has to be there.
#[test]
fn every_test_that_the_specifications_name_exists() {
    let sources = page::rust_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let workspace = Page::named("workspace.md");
    let rows = workspace.rows_under("The rules of seed 004, and the test of each");
    assert!(rows.len() >= 16, "{}", rows.len());
    let runtime = Page::named("runtime.md");
    let steps = runtime.section("The steps, and what is found after a crash at each");
    // What is quoted and no name of a test is a file or a code.
    let is_test = |quoted: &&str| quoted.matches('_').count() > 2 && !quoted.starts_with("E_");
    let in_steps = steps.split('`').skip(1).step_by(2).filter(is_test);
    let mut named: Vec<&str> = in_steps.collect();
    assert!(named.len() >= 4, "{named:?}");
    for row in &rows {
        // One test alone stands without its quotes.
        let tests: Vec<&str> = row[1].split(['`', ',', ' ']).filter(|word| !word.is_empty()).collect();
        assert!(!tests.is_empty(), "the rule \"{}\" has no test", row[0]);
        named.extend(tests);
    }
    for test in named {
        let declared = format!("fn {test}(");
        assert!(sources.iter().any(|source| source.contains(&declared)), "there is no test \"{test}\"");
    }
}

/// The one example under a heading.
fn example(page: &Page, heading: &str) -> Example {
    let mut found = page.examples().into_iter().filter(|example| example.heading == heading);
    found.next().unwrap_or_else(|| panic!("there is no example under \"{heading}\""))
}
