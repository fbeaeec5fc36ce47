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
    [exit 0]
    "#);
    let world = World::configured("[serve]\nport = 7433\n");
    insta::assert_snapshot!(world.paddock(&["check"]), @r#"
    ✓ paddock.toml: no problems

    no agent has a Workspace, so nothing can be reached
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
      "missing_secrets": [],
      "secrets_in_files": null,
      "valid": true,
      "warnings": []
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
    hint: run `paddock init` in the project's directory; after `paddock mcp DIR`, in the first DIR
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
}

/// A configuration that cannot take effect keeps the last policy or, at the next start, none at all.
#[test]
fn set_refuses_what_cannot_be_built() {
    let world = small();
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].mount.physical", "missing"]), @r#"
    [stderr]
    error: the directory "missing" behind "/w" does not exist
     --> paddock.toml:6:9
      |
    6 | mount = { physical = "missing" }
      |         ^^^^^^^^^^^^^^^^^^^^^^^^
    hint: create it, or correct the path; it is relative to the directory of paddock.toml
    note: nothing was changed: with this value the configuration could not take effect
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].mount", "{ overlay = \"/gone\" }"]), @r#"
    [stderr]
    error: the agent has no Workspace "/gone" for an overlay to stand on
     --> paddock.toml:6:9
      |
    6 | mount = { overlay = "/gone" }
      |         ^^^^^^^^^^^^^^^^^^^^^
    hint: name the prefix of another Workspace of the same agent
    note: nothing was changed: with this value the configuration could not take effect
    [exit 2]
    "#);
    assert_eq!(world.read("paddock.toml"), SMALL);
}

#[test]
fn set_mends_a_file_that_could_not_be_built_one_key_at_a_time() {
    let two = format!("{SMALL}\n[[workspace]]\nprefix = \"/v\"\nscope = \"RO\"\nmount = {{ physical = \"v\" }}\n");
    let world = World::configured(&two);
    world.write("there/a.txt", "a");
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[0].mount.physical", "there"]), @r#"
    [stderr]
    changed "workspace[0].mount.physical" in paddock.toml

    warning: the configuration could not take effect before and still cannot
    error: the directory "v" behind "/v" does not exist
     --> paddock.toml:11:9
       |
    11 | mount = { physical = "v" }
       |         ^^^^^^^^^^^^^^^^^^
    hint: create it, or correct the path; it is relative to the directory of paddock.toml
    [exit 0]
    "#);
    assert_eq!(world.paddock(&["config", "set", "workspace[1].mount.physical", "elsewhere"]).code, 2, "no worse");
    insta::assert_snapshot!(world.paddock(&["config", "set", "workspace[1].mount.physical", "there"]), @r#"
    [stderr]
    changed "workspace[1].mount.physical" in paddock.toml
    [exit 0]
    "#);
}

const SLIPS: &str = r#"base = "/elsewhere"

[[workspace]]
prefix = "/p"
scope = "RO"
mount = { physical = "." }
hide = [".env"]

[[workspace]]
prefix = "/p/w"
scope = "RW"
mount = { physical = "w" }

[agents.b]
[[agents.b.workspace]]
prefix = "/b"
scope = "RO"
mount = { physical = "gone" }
"#;

#[test]
fn check_tells_what_was_perhaps_not_meant() {
    let world = World::configured(SLIPS);
    world.write("gone/a.txt", "a");
    insta::assert_snapshot!(world.paddock(&["check"]), @r#"
    ✓ paddock.toml: no problems

    agent main, relative paths start at /elsewhere
      READ_ONLY   /p  (paddock.toml:5)
      READ_WRITE  /p/w  (paddock.toml:11)

    agent b, relative paths start at /
      READ_ONLY   /b  (paddock.toml:17)

    perhaps not meant so:
      ⚠ base "/elsewhere" lies outside every Workspace, so every relative path is denied (paddock.toml:1)
          → start in a Workspace, such as base = "/p"
      ⚠ the Workspace "/p/w" shows what "/p" around it hides: ".env" (paddock.toml:10)
          → add them to its hide, unless they are meant to be visible there
    [exit 0]
    "#);
    let warnings = &world.paddock(&["check", "--json"]).json()["warnings"];
    assert_eq!((&warnings[0]["line"], &warnings[1]["line"]), (&1.into(), &10.into()), "{warnings}");
    let doctor = world.paddock(&["doctor"]);
    assert!(doctor.stdout.contains("⚠ configuration: base \"/elsewhere\" lies outside"), "{doctor}");
}

#[test]
fn check_and_doctor_look_at_one_agent_when_asked_to() {
    let world = World::configured(SLIPS);
    assert_eq!(world.paddock(&["check"]).code, 2, "the directory of b is missing");
    insta::assert_snapshot!(world.paddock(&["check", "--agent", "main"]), @r#"
    ✓ paddock.toml: no problems

    agent main, relative paths start at /elsewhere
      READ_ONLY   /p  (paddock.toml:5)
      READ_WRITE  /p/w  (paddock.toml:11)

    perhaps not meant so:
      ⚠ base "/elsewhere" lies outside every Workspace, so every relative path is denied (paddock.toml:1)
          → start in a Workspace, such as base = "/p"
      ⚠ the Workspace "/p/w" shows what "/p" around it hides: ".env" (paddock.toml:10)
          → add them to its hide, unless they are meant to be visible there
    [exit 0]
    "#);
    assert_eq!(world.paddock(&["check", "--agent", "b"]).code, 2);
    insta::assert_snapshot!(world.paddock(&["check", "--agent", "nobody"]), @r#"
    [stderr]
    error: there is no agent "nobody"
     --> paddock.toml
    hint: agents of this file are "main", "b"
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["doctor", "--agent", "b"]), @r#"
    ✓ kernel: opens paths without ever leaving a directory (openat2)
    ✓ System Root: [world]/home/.paddock is made when something is first kept
    ✗ configuration: the directory "gone" behind "/b" does not exist
         --> paddock.toml:18:9
           |
        18 | mount = { physical = "gone" }
           |         ^^^^^^^^^^^^^^^^^^^^^
        → create it, or correct the path; it is relative to the directory of paddock.toml
    ✗ Workspace /b: [world]/project/gone is not a directory
        → make it, or change its mount in paddock.toml
    [exit 1]
    "#);
    let main = world.paddock(&["doctor", "--agent", "main"]);
    assert!(main.code == 0 && main.stdout.contains("/p/w") && !main.stdout.contains("/b"), "{main}");
    assert_eq!(world.paddock(&["doctor", "--agent", "nobody"]).code, 1);
}

#[test]
fn the_schema_is_json() {
    let world = World::empty();
    let schema = world.paddock(&["config", "schema"]).json();
    assert!(schema["properties"]["workspace"].is_object(), "{schema}");
}
