//! `paddock check` and `paddock config`.

use crate::harness::World;

const SMALL: &str =
    "name = \"small\"  # kept\n\n[[workspace]]\nprefix = \"/w\"\nscope = \"RO\"\nmount = { physical = \"w\" }\n";

fn small() -> World {
    let world = World::configured(SMALL);
    world.write("w/a.txt", "a");
    world
}

#[test]
fn check_lists_agents_and_what_has_no_effect_yet() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["check"]), @r#"
    ✓ paddock.toml: no problems

    agent main, relative paths start at /project
      READ_ONLY   /project  (paddock.toml:15)
      READ_WRITE  /project/workspace  (paddock.toml:22)

    accepted, but without effect in this version:
      ⚠ "commands" has no effect yet: commands are not built (paddock.toml:27)
    [exit 0]
    "#);
}

#[test]
fn check_shows_every_problem_with_its_place() {
    let world = World::configured(
        "nmae = \"x\"\n\n[[workspace]]\nprefix = \"w\"\nscope = \"READ\"\nmount = { physical = \"w\" }\n",
    );
    insta::assert_snapshot!(world.paddock(&["check"]), @r#"
    [stderr]
    error: unknown key "nmae" at the top of the file
     --> paddock.toml:1:1
      |
    1 | nmae = "x"
      | ^^^^
    hint: did you mean "name"?

    error: "w" is not absolute
     --> paddock.toml:4:10
      |
    4 | prefix = "w"
      |          ^^^
    hint: start it with "/": "/w"

    error: "READ" is not an Access Scope
     --> paddock.toml:5:9
      |
    5 | scope = "READ"
      |         ^^^^^^
    hint: use "READ_ONLY" (RO), "READ_WRITE" (RW) or "WRITE_ONLY" (WO)
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["check", "--json"]), @r#"
    {
      "file": "paddock.toml",
      "problems": [
        {
          "column": 1,
          "hint": "did you mean \"name\"?",
          "line": 1,
          "message": "unknown key \"nmae\" at the top of the file"
        },
        {
          "column": 10,
          "hint": "start it with \"/\": \"/w\"",
          "line": 4,
          "message": "\"w\" is not absolute"
        },
        {
          "column": 9,
          "hint": "use \"READ_ONLY\" (RO), \"READ_WRITE\" (RW) or \"WRITE_ONLY\" (WO)",
          "line": 5,
          "message": "\"READ\" is not an Access Scope"
        }
      ],
      "valid": false
    }
    [exit 2]
    "#);
}

#[test]
fn check_builds_every_agent() {
    let world = World::configured(
        "[agents.a]\n[[agents.a.workspace]]\nprefix = \"/x\"\nscope = \"RO\"\nmount = { physical = \"missing\" }\n",
    );
    insta::assert_snapshot!(world.paddock(&["check"]), @r#"
    [stderr]
    error: the directory "missing" behind "/x" does not exist
     --> paddock.toml:5:9
      |
    5 | mount = { physical = "missing" }
      |         ^^^^^^^^^^^^^^^^^^^^^^^^
    hint: create it, or correct the path; it is relative to the directory of paddock.toml
    [exit 2]
    "#);
    // The same for whoever asks for that agent; the others are not harmed.
    assert_eq!(world.paddock(&["map", "--agent", "a"]).code, 2);
    assert_eq!(world.paddock(&["map"]).code, 0);
}

#[test]
fn check_for_programs() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["check", "--json"]), @r#"
    {
      "agents": [
        {
          "base": "/",
          "name": "main",
          "workspaces": [
            {
              "line": 5,
              "prefix": "/w",
              "scope": "READ_ONLY"
            }
          ]
        }
      ],
      "file": "paddock.toml",
      "not_built": [],
      "valid": true
    }
    [exit 0]
    "#);
}

#[test]
fn without_a_file_there_is_nothing_to_check() {
    let world = World::empty();
    insta::assert_snapshot!(world.paddock(&["check"]), @"
    [stderr]
    error: there is no paddock.toml here or above
    hint: run `paddock init` in the project's directory
    [exit 2]
    ");
}

#[test]
fn show_prints_every_key_and_where_it_was_written() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["config", "show"]), @r#"
    name = "small"
    workspace[0].prefix = "/w"
    workspace[0].scope = "RO"
    workspace[0].mount.physical = "w"
    [exit 0]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "show", "--origin"]), @r#"
    name = "small"  # paddock.toml:1
    workspace[0].prefix = "/w"  # paddock.toml:4
    workspace[0].scope = "RO"  # paddock.toml:5
    workspace[0].mount.physical = "w"  # paddock.toml:6
    [exit 0]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "show", "--json"]), @r#"
    {
      "name": "small",
      "workspace": [
        {
          "mount": {
            "physical": "w"
          },
          "prefix": "/w",
          "scope": "READ_ONLY"
        }
      ]
    }
    [exit 0]
    "#);
    let with_origin = world.paddock(&["config", "show", "--json", "--origin"]).json();
    assert_eq!(with_origin[1]["origin"], "paddock.toml:4", "{with_origin}");
}

#[test]
fn get_prints_one_value() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["config", "get", "name"]), @"
    small
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["config", "get", "--json", "workspace[0]"]), @r#"
    {
      "mount": {
        "physical": "w"
      },
      "prefix": "/w",
      "scope": "RO"
    }
    [exit 0]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "get", "base"]), @r#"
    [stderr]
    error: "base" is not set
    hint: `paddock config show` shows every key that is
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "get", "a..b"]), @r#"
    [stderr]
    error: "a..b" is not the path of a key
    hint: write it as name, commands.deny or workspace[0].scope
    [exit 2]
    "#);
}

#[test]
fn set_changes_one_key_and_keeps_the_rest() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].scope", "READ_WRITE"]), @r#"
    [stderr]
    changed "workspace[0].scope" in paddock.toml
    [exit 0]
    "#);
    assert_eq!(world.read("paddock.toml"), SMALL.replace("\"RO\"", "\"READ_WRITE\""));
    assert_eq!(world.paddock(&["tool", "write_file", r#"{"path": "/w/b", "content": "x"}"#]).code, 0);
}

#[test]
fn set_never_breaks_the_file() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].scope", "ALL"]), @r#"
    [stderr]
    error: "ALL" is not an Access Scope
     --> paddock.toml:5:9
      |
    5 | scope = "ALL"
      |         ^^^^^
    hint: use "READ_ONLY" (RO), "READ_WRITE" (RW) or "WRITE_ONLY" (WO)
    [exit 2]
    "#);
    assert_eq!(world.read("paddock.toml"), SMALL);
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].mount.physical", "missing"]), @r#"
    [stderr]
    changed "workspace[0].mount.physical" in paddock.toml

    warning: the change is saved and cannot take effect yet
    error: the directory "missing" behind "/w" does not exist
     --> paddock.toml:6:9
      |
    6 | mount = { physical = "missing" }
      |         ^^^^^^^^^^^^^^^^^^^^^^^^
    hint: create it, or correct the path; it is relative to the directory of paddock.toml
    [exit 0]
    "#);
}

#[test]
fn the_schema_is_json() {
    let world = World::empty();
    let schema = world.paddock(&["config", "schema"]).json();
    assert!(schema["properties"]["workspace"].is_object(), "{schema}");
}
