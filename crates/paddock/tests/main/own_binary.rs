//! The program that holds an agent to its policy is not written by the agent, where it lies in a Workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Ran, World};

const CONFIG: &str = "base = \"/project\"\n[[workspace]]\nprefix = \"/project\"\nscope = \"READ_WRITE\"\nmount = { physical = \".\" }\n\
     [approvals]\nabove = \"high\"\n[commands]\n";

/// A project that has the program in it, as a vendored tool is: at `tools/paddock`.
struct Vendored {
    world: World,
    program: PathBuf,
    len: u64,
}

impl Vendored {
    fn new() -> Self {
        let world = World::configured(CONFIG);
        world.write("tools/other", "another program");
        let program = world.project().join("tools/paddock");
        let built = Path::new(env!("CARGO_BIN_EXE_paddock"));
        // The same file under another name will do, and is quicker than a copy.
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        let len = fs::metadata(&program).unwrap().len();
        Self { world, program, len }
    }

    /// Has that very program make a call.
    fn call(&self, tool: &str, arguments: &Value) -> Ran {
        let mut command = Command::new(&self.program);
        command.args(["tool", "--json", tool, &arguments.to_string()]);
        command.current_dir(self.world.project()).env_clear().env("HOME", self.world.home());
        command.env("TMPDIR", self.world.path());
        self.world.run(command, "")
    }

    fn denied(&self, tool: &str, arguments: &Value) {
        let ran = self.call(tool, arguments);
        assert_eq!(ran.json()["verdict"], "denied", "{tool} {arguments}: {ran}");
        assert_eq!(fs::metadata(&self.program).unwrap().len(), self.len, "{tool} {arguments}");
    }
}

#[test]
fn by_no_tool_and_through_no_link() {
    let vendored = Vendored::new();
    symlink("tools/paddock", vendored.world.project().join("link")).unwrap();
    for own in ["tools/paddock", "/project/tools/paddock", "tools/../tools/paddock", "link"] {
        vendored.denied("write_file", &json!({ "path": own, "content": "x" }));
        vendored.denied("append_file", &json!({ "path": own, "content": "x" }));
        vendored.denied("edit_file", &json!({ "path": own, "old_string": "ELF", "new_string": "x" }));
    }
    vendored.denied("delete_file", &json!({ "path": "tools/paddock" }));
    vendored.denied("move_file", &json!({ "source": "tools/paddock", "destination": "away" }));
    vendored.denied("move_file", &json!({ "source": "tools/other", "destination": "tools/paddock" }));
    vendored.denied("delete_file", &json!({ "path": "tools", "recursive": true }));
    vendored.denied("move_file", &json!({ "source": "tools", "destination": "away" }));
    let honest = vendored.call("write_file", &json!({ "path": "tools/other", "content": "x" }));
    assert_eq!(honest.json()["verdict"], "done", "the honest twin: {honest}");
}

#[test]
fn by_no_command() {
    let vendored = Vendored::new();
    for command in ["echo x > tools/paddock", "mv tools/other tools/paddock", "mv tools away && mkdir tools"] {
        let ran = vendored.call("execute_command", &json!({ "command": command }));
        assert_ne!(ran.json()["verdict"], "done", "{command}: {ran}");
        assert_eq!(fs::metadata(&vendored.program).unwrap().len(), vendored.len, "{command}");
        assert_eq!(vendored.world.read("tools/other"), "another program", "{command}: {ran}");
    }
    let honest = vendored.call("execute_command", &json!({ "command": "echo x > tools/other" }));
    assert_eq!(honest.json()["verdict"], "done", "the honest twin: {honest}");
}
