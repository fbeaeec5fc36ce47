//! An agent cannot widen its own policy, by any tool, in any scope.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::World;

const SCHEMA: &str = ".paddock.schema.json";

/// Everything may be written, as far as scopes go.
const WIDE: &str = "base = \"/project\"\n[[workspace]]\nprefix = \"/project\"\nscope = \"READ_WRITE\"\nmount = { physical = \".\" }\n\
     [approvals]\nabove = \"high\"\n";

fn wide() -> World {
    let world = World::configured(WIDE);
    world.write(SCHEMA, "{}");
    world.write("ordinary.txt", "READ_WRITE");
    world.write("sub/x.txt", "x");
    world
}

/// Makes the call and sees that it is denied, and that the configuration is as it was.
fn denied(world: &World, tool: &str, arguments: &Value) {
    let ran = world.paddock(&["tool", "--json", tool, &arguments.to_string()]);
    assert_eq!(ran.json()["verdict"], "denied", "{tool} {arguments}: {ran}");
    assert_eq!(ran.code, 1);
    assert_eq!(world.read("paddock.toml"), WIDE, "{tool} {arguments}");
    assert_eq!(world.read(SCHEMA), "{}", "{tool} {arguments}");
}

fn done(world: &World, tool: &str, arguments: &Value) {
    let ran = world.paddock(&["tool", tool, &arguments.to_string()]);
    assert_eq!(ran.code, 0, "{tool} {arguments}: {ran}");
}

#[test]
fn by_no_tool_on_the_file_itself_or_its_schema() {
    let world = wide();
    for own in ["paddock.toml", SCHEMA, "/project/paddock.toml", "sub/../paddock.toml"] {
        denied(&world, "write_file", &json!({"path": own, "content": "x"}));
        denied(&world, "append_file", &json!({"path": own, "content": "x"}));
        denied(&world, "edit_file", &json!({"path": own, "old_string": "READ_WRITE", "new_string": "x"}));
        denied(&world, "delete_file", &json!({"path": own}));
        denied(&world, "make_dir", &json!({"path": own}));
        denied(&world, "make_dir", &json!({"path": format!("{own}/x")}));
        denied(&world, "move_file", &json!({"source": own, "destination": "elsewhere"}));
        denied(&world, "move_file", &json!({"source": "ordinary.txt", "destination": own}));
    }
}

#[test]
fn the_honest_twins_succeed() {
    let world = wide();
    done(&world, "read_file", &json!({"path": "paddock.toml"}));
    done(&world, "write_file", &json!({"path": "new.txt", "content": "x"}));
    done(&world, "append_file", &json!({"path": "ordinary.txt", "content": "x"}));
    done(&world, "edit_file", &json!({"path": "ordinary.txt", "old_string": "READ_WRITE", "new_string": "x"}));
    done(&world, "make_dir", &json!({"path": "made"}));
    done(&world, "move_file", &json!({"source": "ordinary.txt", "destination": "moved.txt"}));
    done(&world, "delete_file", &json!({"path": "moved.txt"}));
    done(&world, "write_file", &json!({"path": "sub/paddock.toml.txt", "content": "x"}));
}

#[test]
fn through_no_link() {
    let world = wide();
    symlink("paddock.toml", world.project().join("link.toml")).unwrap();
    symlink(".", world.project().join("here")).unwrap();
    for path in ["link.toml", "here/paddock.toml", "here/here/paddock.toml"] {
        denied(&world, "write_file", &json!({"path": path, "content": "x"}));
        denied(&world, "append_file", &json!({"path": path, "content": "x"}));
        denied(&world, "edit_file", &json!({"path": path, "old_string": "READ_WRITE", "new_string": "x"}));
    }
    denied(&world, "delete_file", &json!({"path": "here/paddock.toml"}));
    denied(&world, "move_file", &json!({"source": "here/paddock.toml", "destination": "x"}));
    denied(&world, "move_file", &json!({"source": "ordinary.txt", "destination": "here/paddock.toml"}));
}

#[test]
fn not_by_moving_or_deleting_the_directory_that_holds_it() {
    let world = World::empty();
    let config = "[[workspace]]\nprefix = \"/all\"\nscope = \"READ_WRITE\"\nmount = { physical = \"..\" }\n\
                  [approvals]\nabove = \"high\"\n";
    world.write("inner/paddock.toml", config);
    world.write("other/x.txt", "x");
    let call = |tool: &str, arguments: Value| {
        let arguments = arguments.to_string();
        let ran = world.paddock(&["--config", "inner/paddock.toml", "tool", "--json", tool, &arguments]);
        assert_eq!(world.read("inner/paddock.toml"), config, "{ran}");
        ran.json()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(call("move_file", json!({"source": "/all/inner", "destination": "/all/away"})), "denied");
    assert_eq!(call("delete_file", json!({"path": "/all/inner", "recursive": true})), "denied");
    assert_eq!(call("delete_file", json!({"path": "/all", "recursive": true})), "denied");
    assert_eq!(call("move_file", json!({"source": "/all/other", "destination": "/all/away"})), "done");
    assert_eq!(call("delete_file", json!({"path": "/all/away", "recursive": true})), "done");
}

#[test]
fn not_by_a_new_configuration_where_another_could_begin() {
    let world = World::seed();
    let ran = world.paddock(&["tool", "write_file", r#"{"path": "workspace/paddock.toml", "content": "x"}"#]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(!world.has("workspace/paddock.toml"));
}

#[test]
fn not_by_a_mount_that_holds_the_system_root() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/home\"\nscope = \"READ_WRITE\"\nmount = { physical = \"../home\" }\n",
    );
    let ran = world.paddock(&["check"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("contains the System Root"), "{ran}");
    assert_eq!(world.paddock(&["tool", "list_dir", r#"{"path": "/home"}"#]).code, 2);
}

/// A Mount inside another one, which is not there yet: the agent puts a link in its place.
#[test]
fn not_by_a_link_on_the_way_to_another_mount() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/rw\"\nscope = \"RW\"\nmount = { physical = \"rw\" }\n\
         [[workspace]]\nprefix = \"/other\"\nscope = \"RW\"\nmount = { physical = \"rw/absent/deep\" }\n",
    );
    world.write("rw/file", "");
    world.write("outside/deep/secret.txt", "private");
    let honest = world.paddock(&["tool", "write_file", r#"{"path": "/other/a.txt", "content": "a"}"#]);
    assert!(honest.code == 0 && world.read("rw/absent/deep/a.txt") == "a", "{honest}");
    std::fs::remove_dir_all(world.project().join("rw/absent")).unwrap();
    std::os::unix::fs::symlink("../outside", world.project().join("rw/absent")).unwrap();
    for call in [
        ["tool", "read_file", r#"{"path": "/other/secret.txt"}"#],
        ["tool", "write_file", r#"{"path": "/other/planted", "content": "x"}"#],
    ] {
        let ran = world.paddock(&call);
        assert!(ran.code == 2 && ran.stderr.contains("in a directory that agents write"), "{ran}");
    }
    assert!(!world.has("outside/deep/planted"));
}

/// No agent puts a link where a Mount is, or will be: its own, or one of an agent that it knows nothing of.
#[test]
fn not_by_planting_a_link_where_any_agent_has_a_mount() {
    let world = World::configured(
        "base = \"/rw\"\n[[workspace]]\nprefix = \"/rw\"\nscope = \"RW\"\nmount = { physical = \"rw\" }\n\
         [[workspace]]\nprefix = \"/mine\"\nscope = \"RW\"\nmount = { physical = \"rw/Mine/deep\" }\n\
         [[agents.other.workspace]]\nprefix = \"/theirs\"\nscope = \"RW\"\nmount = { physical = \"rw/theirs\" }\n\
         [commands]\n[approvals]\nabove = \"high\"\n",
    );
    world.write("rw/file", "");
    let run = |command: &str| {
        let arguments = json!({ "command": command }).to_string();
        world.paddock(&["tool", "--json", "execute_command", &arguments]).json()
    };
    let twin = run("ln -s file beside && mkdir -p Mine && ln -s ../file Mine/beside && echo x > theirs-too");
    assert_eq!(twin["verdict"], "done", "{twin:#}");
    for planted in [
        "ln -s /etc theirs",
        "ln -s /etc Theirs",
        "ln -s /etc l && mv l theirs",
        "ln -s /etc Mine/deep",
        "rm -r Mine && ln -s /etc Mine",
        "mkdir d && ln -s /etc d/deep && rm -r Mine && mv d Mine",
    ] {
        let answer = run(planted);
        assert_eq!(answer["verdict"], "denied", "{planted}: {answer:#}");
        assert!(answer["content"].to_string().contains("holds one"), "{planted}: {answer:#}");
    }
    let moved =
        world.paddock(&["tool", "--json", "move_file", r#"{"source": "/rw/beside", "destination": "/rw/theirs"}"#]);
    assert_eq!(moved.json()["verdict"], "denied", "{moved}");
    assert!(!world.has("rw/theirs") && !world.has("rw/Mine/deep"));
}
