//! A command plants a link, a hard link or a pipe, then a file tool opens it: nothing comes of it but an answer.
//!
//! Both with changes that are looked at before they are made, and with changes that take effect at once, where the file is
//! there whatever anybody thinks of it.

use serde_json::{Value, json};

use crate::harness::World;

fn world(changes: &str) -> World {
    let world = World::configured(&format!(
        r#"
[[workspace]]
prefix = "/work"
scope = "READ_WRITE"
mount = {{ physical = "work" }}
hide = ["hidden*"]
[[workspace]]
prefix = "/docs"
scope = "READ_ONLY"
mount = {{ physical = "docs" }}
[commands]
changes = "{changes}"
[approvals]
above = "high"
"#
    ));
    world.write("work/open", "for everybody");
    world.write("work/hidden", "PRIVATE");
    world.write("docs/manual", "as it was");
    std::fs::write(world.path().join("outside"), "PRIVATE").unwrap();
    world
}

fn called(world: &World, tool: &str, arguments: &Value) -> Value {
    world.paddock(&["tool", tool, &arguments.to_string(), "--json"]).json()
}

/// What each tool that opens files makes of a path.
fn opened(world: &World, path: &str) -> [Value; 4] {
    [
        called(world, "read_file", &json!({ "path": path })),
        called(world, "search_files", &json!({ "path": path, "pattern": "." })),
        called(world, "append_file", &json!({ "path": path, "content": "MINE" })),
        called(world, "edit_file", &json!({ "path": path, "old_string": "PRIVATE", "new_string": "MINE" })),
    ]
}

#[test]
fn what_a_command_planted_leads_a_file_tool_nowhere() {
    for changes in ["staged", "direct"] {
        let world = world(changes);
        let outside = world.path().join("outside");
        let out = outside.display();
        for plant in [
            format!("ln -s {out} planted"),
            "ln -s /etc/shadow planted".to_owned(),
            "ln -s ../../outside planted".to_owned(),
            "ln -s hidden planted".to_owned(),
            format!("mkdir -p d && ln -s {out} d/link && ln -s d/link planted"),
            format!("ln {out} planted; ln hidden planted; ln /docs/manual planted"),
            "mkfifo planted".to_owned(),
        ] {
            called(&world, "execute_command", &json!({ "command": format!("rm -rf planted d; {plant}") }));
            // Without an end at a pipe's other side these would not come back.
            for answer in opened(&world, "/work/planted") {
                assert!(!answer.to_string().contains("PRIVATE"), "{changes}, {plant}: {answer:#}");
                assert!(!answer.to_string().contains("root:"), "{changes}, {plant}: {answer:#}");
            }
            assert_eq!(std::fs::read_to_string(&outside).unwrap(), "PRIVATE", "{changes}, {plant}");
            assert_eq!(world.read("work/hidden"), "PRIVATE", "{changes}, {plant}");
            assert_eq!(world.read("docs/manual"), "as it was", "{changes}, {plant}");
        }
    }
}

#[test]
fn what_was_planted_is_really_there_and_an_honest_link_is_followed() {
    let world = world("direct");
    let outside = world.path().join("outside");
    let plant = format!("ln -s {} out && mkfifo pipe && ln -s open in && ln open twin", outside.display());
    let answer = called(&world, "execute_command", &json!({ "command": plant }));
    assert_eq!(answer["structured"]["exit_code"], 0, "{answer:#}");
    // Whoever follows it on the host gets there.
    assert_eq!(world.read("work/out"), "PRIVATE");
    for honest in ["in", "twin"] {
        let answer = called(&world, "read_file", &json!({ "path": format!("/work/{honest}") }));
        assert!(answer["verdict"] == "done" && answer.to_string().contains("for everybody"), "{answer:#}");
    }
    for planted in ["out", "pipe"] {
        let answer = called(&world, "read_file", &json!({ "path": format!("/work/{planted}") }));
        assert_ne!(answer["verdict"], "done", "{answer:#}");
    }
    let staged = self::world("staged");
    let answer = called(&staged, "execute_command", &json!({ "command": "ln -s open in; mkfifo pipe" }));
    assert_eq!(answer["verdict"], "done", "{answer:#}");
    assert!(staged.has("work/in") && !staged.has("work/pipe"), "{answer:#}");
}
