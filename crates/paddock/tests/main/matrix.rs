//! Every scope by every operation, by a file tool and by a command: what one may do the other may do, and nothing else.
//!
//! No tool makes a link or runs a file, so these stand beside what they come to: a link is made where a file can be made, is
//! followed where what it leads to can be read, and runs what can be read.
//!
//! What differs is listed here and in docs/commands.md. `mv` is not among the operations: into a write-only Workspace it copies
//! and deletes, which are both allowed; the rename itself, which is asked for here, is refused by both.

use serde_json::{Value, json};

use crate::client::{Raw, call};
use crate::harness::World;

/// A name that is there and one that is not, for which the same rule holds.
struct Place {
    what: &'static str,
    dir: &'static str,
    there: &'static str,
    new: &'static str,
}

const fn place(what: &'static str, dir: &'static str, there: &'static str, new: &'static str) -> Place {
    Place { what, dir, there, new }
}

const PLACES: [Place; 7] = [
    place("read-only", "/ro", "file", "new"),
    place("read-write", "/rw", "file", "new"),
    place("write-only", "/wo", "file", "new"),
    place("hidden", "/rw", "hidden", "hidden-new"),
    place("guarded", "/rw", ".envrc", "d/.envrc"),
    place("in a guarded directory", "/rw", ".vscode/tasks.json", ".vscode/launch.json"),
    place("no Workspace", "/none", "file", "new"),
];

/// Where a file can be made and a link cannot: only files and directories are delivered into a write-only Workspace.
const DIFFERS: [&str; 1] = ["link, write-only"];

/// One operation both ways.
struct Operation {
    what: &'static str,
    tool: (&'static str, Value),
    command: String,
}

impl Place {
    fn operations(&self) -> Vec<Operation> {
        let Place { dir, there, new, .. } = self;
        let (there, new, link) = (format!("{dir}/{there}"), format!("{dir}/{new}"), format!("{dir}/to-{there}"));
        let link = link.replace(".vscode/", "");
        let operation = |what, tool, arguments, command| Operation { what, tool: (tool, arguments), command };
        let rename = |from: &str, to: &str| format!("python3 -c 'import os; os.rename(\"{from}\", \"{to}\")'");
        let moved = |from: &str, to: &str| json!({ "source": from, "destination": to });
        let read = |path: &str| json!({ "path": path });
        let write = |path: &str| json!({ "path": path, "content": "by an agent" });
        // A drop box is empty to a command, so that a look at it must find something to count as one.
        let look = format!("ls -A {dir} | grep -q .");
        vec![
            operation("read", "read_file", read(&there), format!("cat {there}")),
            operation("list", "list_dir", read(dir), look),
            operation("follow a link", "read_file", read(&link), format!("cat {link}")),
            operation("exec", "read_file", read(&there), there.clone()),
            operation("write", "write_file", write(&there), format!("echo by an agent > {there}")),
            operation("create", "write_file", write(&new), format!("echo by an agent > {new}")),
            operation("link", "write_file", write(&new), format!("ln -s file {new}")),
            operation("rename here", "move_file", moved("/rw/other", &new), rename("/rw/other", &new)),
            operation("rename away", "move_file", moved(&there, "/rw/arrived"), rename(&there, "/rw/arrived")),
            operation("delete", "delete_file", read(&there), format!("unlink {there}")),
        ]
    }
}

/// Somebody else has all of it, and has put something everywhere.
fn world(mount: impl Fn(&str) -> String) -> World {
    let workspace = |of: &str, name: &str, scope: &str, more: &str| {
        format!("[[{of}workspace]]\nprefix = \"/{name}\"\nscope = \"{scope}\"\nmount = {}\n{more}\n", mount(name))
    };
    let agents = [("ro", "READ_ONLY", ""), ("rw", "READ_WRITE", "hide = [\"hidden*\"]"), ("wo", "WRITE_ONLY", "")];
    let main: String = agents.iter().map(|(name, scope, more)| workspace("", name, scope, more)).collect();
    let all = "unguard = [\".envrc\", \".vscode\"]";
    let author: String = agents.iter().map(|(name, ..)| workspace("agents.author.", name, "READ_WRITE", all)).collect();
    let world =
        World::configured(&format!("{main}[agents.author]\n{author}[commands]\n[approvals]\nabove = \"high\"\n"));
    let mut text = "set -e; mkdir /rw/d; echo > /rw/d/keep".to_owned();
    let there = PLACES.iter().filter(|place| place.dir != "/none");
    for (dir, name) in there.map(|place| (place.dir, place.there)).chain([("/rw", "other")]) {
        let path = format!("{dir}/{name}");
        let link = format!("{dir}/to-{}", name.replace(".vscode/", ""));
        text += &format!("; mkdir -p $(dirname {path}); printf '#!/bin/sh\\necho ran\\n' > {path}; chmod +x {path}");
        text += &format!("; ln -s {name} {link}");
    }
    let made = world.paddock(&["--agent", "author", "exec", "--workspace", "/rw", &text]);
    assert_eq!(made.code, 0, "{made}");
    world
}

/// Makes the call; whether it was let through, and what was answered. What it changed is taken back.
fn is_done(world: &World, server: &mut Raw, tool: &str, arguments: &Value) -> (bool, Value) {
    server.send(&call(1, tool, arguments));
    let answer = std::iter::repeat_with(|| server.receive()).find(|message| message["id"] == 1).unwrap();
    let done = answer["result"]["isError"] != true;
    let looks = tool.starts_with("read") || tool.starts_with("list");
    let changed = answer["result"]["structuredContent"]["changed"].as_array().is_some_and(|all| !all.is_empty());
    if done && !looks && (changed || tool != "execute_command") {
        let undone = world.paddock(&["undo"]);
        assert_eq!(undone.code, 0, "{tool} {arguments}: {undone}");
    }
    (done, answer)
}

fn compare(mount: impl Fn(&str) -> String) {
    let world = world(mount);
    let mut server = Raw::greeted(&world, &["mcp"]);
    let mut rows = String::new();
    let (mut differing, mut answers) = (Vec::new(), String::new());
    for place in &PLACES {
        let mut allowed = Vec::new();
        for Operation { what, tool: (tool, arguments), command } in place.operations() {
            let (by_tool, told) = is_done(&world, &mut server, tool, &arguments);
            let (by_command, printed) = is_done(&world, &mut server, "execute_command", &json!({ "command": command }));
            if by_tool != by_command {
                differing.push(format!("{what}, {}", place.what));
                answers += &format!("{tool} {told:#}\n{command} {printed:#}\n");
            }
            if by_tool {
                allowed.push(what);
            }
        }
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        rows += &format!("{}: {allowed}\n", place.what);
    }
    assert_eq!(differing, DIFFERS, "{answers}");
    // That both refuse everything would be the same verdict too; both tests say the same of their Stores.
    insta::allow_duplicates! {
        insta::assert_snapshot!(rows, @r"
        read-only: read, list, follow a link, exec
        read-write: read, list, follow a link, exec, write, create, link, rename here, rename away, delete
        write-only: write, create, link
        hidden: list
        guarded: read, list, follow a link, exec
        in a guarded directory: read, list, follow a link, exec
        no Workspace: nothing
        ");
    }
}

#[test]
fn the_same_verdict_by_tool_and_by_command() {
    compare(|name| format!("{{ physical = \"{name}\" }}"));
}

#[test]
fn the_same_verdict_by_tool_and_by_command_on_virtual_workspaces() {
    compare(|name| format!("{{ virtual = \"{name}\", shared = true }}"));
}
