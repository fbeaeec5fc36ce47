//! Paths as deep as they can be: whoever goes down step by step has the stack for it.

use serde_json::json;

use crate::client::{Raw, call};
use crate::harness::World;

const CONFIG: &str = "name = \"p\"\n\
    [[workspace]]\nprefix = \"/n\"\nscope = \"RW\"\nmount = { virtual = \"n\" }\n\
    [[workspace]]\nprefix = \"/o\"\nscope = \"RW\"\nmount = { overlay = \"/n\" }\n";

/// The server is a process of its own, and one whose stack ends answers nothing any more.
#[test]
fn a_path_of_two_thousand_directories_ends_no_server() {
    let world = World::configured(CONFIG);
    let mut agent = Raw::greeted(&world, &["mcp"]);
    let mut number = 0;
    let mut ask = |tool: &str, arguments: serde_json::Value| {
        number += 1;
        agent.send(&call(number, tool, &arguments));
        let answer = agent.receive();
        assert_ne!(answer["result"]["isError"], json!(true), "{tool}: {}", &answer.to_string()[..400]);
        answer.to_string()
    };
    let deep = format!("/n{}/f.txt", "/x".repeat(2000));
    ask("write_file", json!({"path": deep, "content": "needle\n"}));
    for workspace in ["/n", "/o"] {
        assert!(ask("search_files", json!({"path": workspace, "pattern": "needle"})).contains("f.txt"));
        assert!(ask("find_files", json!({"path": workspace, "glob": "**/f.txt"})).contains("f.txt"));
    }
    agent.end();
}
