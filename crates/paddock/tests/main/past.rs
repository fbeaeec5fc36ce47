//! The past: log, undo, restore, audit, backup, and what they say when something is wrong with what is kept.

mod audit;
mod backup;
mod log;
mod restore;
mod trouble;
mod undo;

use serde_json::json;

use crate::harness::{Ran, World};

/// A Virtual and a Physical Workspace, and another agent with one of its own.
const CONFIG: &str = "name = \"p\"\n\
    [[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = { virtual = \"notes\" }\nhide = [\"*.key\"]\n\
    [[workspace]]\nprefix = \"/disk\"\nscope = \"RW\"\nmount = { physical = \"disk\" }\n\
    [[agents.other.workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = { virtual = \"notes\" }\n";

fn world() -> World {
    let world = World::configured(CONFIG).unasked();
    world.write("disk/README", "by hand\n");
    world
}

/// One call of the agent `main`, which has to be done.
fn tool(world: &World, name: &str, arguments: &serde_json::Value) {
    let ran = world.paddock_reading(&["tool", name, "-"], &arguments.to_string());
    assert_eq!(ran.code, 0, "{ran}");
}

fn write(world: &World, path: &str, content: &str) {
    tool(world, "write_file", &json!({ "path": path, "content": content }));
}

/// What a path holds for the agent; nothing when it is not there.
fn read(world: &World, path: &str) -> Option<String> {
    let ran = world.paddock(&["tool", "read_file", &json!({ "path": path }).to_string()]);
    (ran.code == 0).then_some(ran.stdout)
}

/// The ids of the calls that changed something, newest first.
fn calls(world: &World) -> Vec<String> {
    let rows = world.paddock(&["log", "--json"]).json();
    rows.as_array().unwrap().iter().map(|row| row["call"].as_str().unwrap().to_owned()).collect()
}

/// What was printed, with times and ids that read the same every time: a call is a number in the order in which they are
/// met.
fn plain(ran: &Ran) -> String {
    let mut met: Vec<String> = Vec::new();
    let mut out = String::new();
    let text = ran.to_string();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        if word.len() == 26 && paddock_core::CallId::parse(word).is_some() {
            let at = met.iter().position(|known| known == word).unwrap_or_else(|| {
                met.push(word.to_owned());
                met.len() - 1
            });
            out.push_str(&format!("[call {}]", at + 1));
            rest = &rest[word.len()..];
        } else if is_time(rest) {
            out.push_str("[time]");
            rest = &rest[TIME.len()..];
        } else {
            let len = word.len().max(c.len_utf8());
            out.push_str(&rest[..len]);
            rest = &rest[len..];
        }
    }
    out
}

const TIME: &str = "dddd-dd-dd dd:dd:dd";

fn is_time(text: &str) -> bool {
    let fits = |(want, got): (u8, u8)| if want == b'd' { got.is_ascii_digit() } else { want == got };
    text.len() >= TIME.len() && TIME.bytes().zip(text.bytes()).all(fits)
}
