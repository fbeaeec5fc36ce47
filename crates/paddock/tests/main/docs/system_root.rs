//! The System Root of somebody who used everything: each path in it is one of the specification, and others may look at none.
//!
//! Whatever keeps something new there is used here too, so that its path cannot be forgotten in the specification.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::pages::Page;
use crate::harness::{Ran, World};
use crate::server::Server;

const CONFIG: &str = r#"
name = "app"

[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }

[commands]
"#;

const MESSAGE: &str = r#"{"id":"m1","data":{"role":"user","content":"hello"},"metadata":{},"createdAt":"2026-11-15T12:30:00.000Z","source":{"type":"user"}}"#;

/// The command of somebody whose new files others may read.
fn wide(world: &World, arguments: &[&str]) -> Command {
    let narrow = world.command(arguments);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(narrow.get_program()).args(narrow.get_args());
    command.current_dir(world.project()).env_clear();
    command.envs(narrow.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn done(world: &World, arguments: &[&str]) -> Ran {
    reading(world, arguments, "")
}

fn reading(world: &World, arguments: &[&str], input: &str) -> Ran {
    let ran = world.run(wide(world, arguments), input);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran}");
    ran
}

fn tool(world: &World, tool: &str, arguments: &serde_json::Value) {
    done(world, &["tool", tool, &arguments.to_string()]);
}

fn project_place(world: &World) -> PathBuf {
    let mut places = fs::read_dir(world.home().join(".paddock/workspaces")).unwrap();
    places.next().unwrap().unwrap().path()
}

/// Everything that leaves something behind.
fn used() -> (World, Server) {
    let world = World::configured(CONFIG);
    world.write("w/old.txt", "one\n");
    reading(&world, &["secret", "set", "token"], "tok_0123456789abcdef");
    done(&world, &["config", "set", "--user", "progress", "never"]);
    for path in ["/w/a.txt", "/w/old.txt", "/notes/b.txt"] {
        tool(&world, "write_file", &json!({ "path": path, "content": "two\n" }));
    }
    tool(&world, "execute_command", &json!({ "command": "echo three > c.txt", "workspace": "/w" }));
    let parked = world.run(wide(&world, &["tool", "delete_file", &json!({ "path": "/w/a.txt" }).to_string()]), "");
    assert_eq!(parked.code, 3, "{parked}");
    done(&world, &["fork", "/w", "x"]);
    done(&world, &["connect", "claude-code", "--yes"]);
    done(&world, &["new", "vanilla", "/w/site"]);
    // More than is kept beside its name.
    world.write("w/site/long.txt", "long ".repeat(100_000));
    done(&world, &["export", "/w/site", "--format", "bundle"]);
    done(&world, &["import", "site.bundle", "/notes/site"]);
    converse(&world);
    done(&world, &["token", "new", "agent"]);
    done(&world, &["audit", "verify"]);
    done(&world, &["backup", "../copy"]);
    let mut serve = wide(&world, &["serve", "--port", "0", "--json"]);
    serve.stderr(Stdio::null());
    (world, Server::spawn(serve))
}

/// A run, and a conversation that was damaged, cut off and repaired.
fn converse(world: &World) {
    let said = |text: &str| json!({ "content": text }).to_string();
    world.write("script.jsonl", [said("- [ ] look"), said("nothing to do")].join("\n"));
    let script = format!("script:{}", world.project().join("script.jsonl").display());
    done(world, &["run", "look around", "--thread", "run", "--model", &script, "--no-wait"]);
    world.write("from/messages/base.jsonl", format!("{MESSAGE}\n{}\n", MESSAGE.replace("m1", "m2")));
    world.write("from/messages/events.jsonl", format!("{{\"type\":\"append\",\"message\":{MESSAGE}}}\n"));
    world.write("from/extensions/memory.json", "{}");
    done(world, &["instance", "import", "chat", "from"]);
    let messages = project_place(world).join("instances/chat/messages");
    let altered = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(messages.join(name)).unwrap();
        fs::write(messages.join(name), text.replacen(from, to, 1)).unwrap();
    };
    altered("base.jsonl", "hello", "hullo");
    done(world, &["instance", "repair", "chat", "--apply"]);
    fs::write(messages.join("events.jsonl"), "{\"type\":").unwrap();
    done(world, &["instance", "restart", "chat"]);
    // Somebody put a package there by hand.
    let package = world.home().join(".paddock/packages/plain@1.0.0");
    fs::create_dir_all(&package).unwrap();
    for made in [package.parent().unwrap(), &package] {
        fs::set_permissions(made, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// Everything below a directory but the directories that hold something.
fn leaves(directory: &Path, found: &mut Vec<PathBuf>) {
    let entries: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()).collect();
    if entries.is_empty() {
        found.push(directory.to_owned());
    }
    for entry in entries {
        if entry.file_type().unwrap().is_dir() { leaves(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

/// A path as the specification writes it: names that people or Paddock choose stand for themselves.
fn general(path: &Path) -> String {
    let mut parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
    let id = project_id(&parts);
    if let ["workspaces", id, rest @ ..] = &mut parts[..] {
        *id = "<workspaceId>";
        if let [name] = rest
            && name.starts_with("serving-at-")
        {
            *name = "serving-at-<process>";
        }
        // Beside each of the databases lie the same.
        if let [name] = rest
            && let Some(ending) = ["content.db", "state.db"].iter().find_map(|database| name.strip_prefix(database))
            && !ending.is_empty()
        {
            return format!("workspaces/<workspaceId>/<database>{ending}");
        }
        if let ["instances", key, rest @ ..] = rest {
            *key = "<instanceKey>";
            match rest {
                ["extensions", state] => *state = "<extension>.json",
                ["messages", aside, ..] if aside.starts_with("damaged-") => *aside = "damaged-<time>",
                _ => {}
            }
        }
    }
    let path = parts.join("/");
    id.map_or(path.clone(), |id| path.replace(&id, "<workspaceId>"))
}

/// Whose audit a head is of.
fn project_id(parts: &[&str]) -> Option<String> {
    match parts {
        ["secrets", "audit", head] => Some(head.split('.').next().unwrap().to_owned()),
        _ => None,
    }
}

#[test]
fn a_well_used_system_root_holds_what_the_specification_says_and_nothing_for_others() {
    let (world, _server) = used();
    let root = world.home().join(".paddock");
    let rows = Page::named("docs/specs/workspace.md").rows_under("Layout");
    let shown: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let mut found = Vec::new();
    leaves(&root, &mut found);
    let (mut met, mut unknown) = (BTreeSet::new(), Vec::new());
    for path in &found {
        let is_dir = path.is_dir();
        let path = general(path.strip_prefix(&root).unwrap()) + if is_dir { "/" } else { "" };
        // An empty place of what the specification describes.
        if is_dir && shown.iter().any(|row| row.starts_with(&path) && *row != path) {
            continue;
        }
        let names = |row: &&&str| path == **row || (row.ends_with('/') && path.starts_with(**row));
        match shown.iter().filter(names).max_by_key(|row| row.len()) {
            Some(row) => drop(met.insert(*row)),
            None => unknown.push(path),
        }
    }
    assert_eq!(unknown, [""; 0], "not in the specification");
    let never_met: Vec<_> = shown.iter().filter(|row| !met.contains(*row)).collect();
    assert_eq!(never_met, [&""; 0], "in the specification, and nowhere here");
    nobody_else_may_look(&root);
}

fn nobody_else_may_look(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    let mode = found.permissions().mode() & 0o7777;
    assert_eq!(mode & 0o077, 0, "{mode:o} {}", path.display());
    // What was replaced comes back with the mode that it had, and nobody else gets into the directory.
    if found.is_dir() && !path.ends_with("history") {
        fs::read_dir(path).unwrap().for_each(|entry| nobody_else_may_look(&entry.unwrap().path()));
    }
}
