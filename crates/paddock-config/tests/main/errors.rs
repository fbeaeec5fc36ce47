//! Every message about a wrong file, word for word.

use paddock_config::ConfigFile;

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = ConfigFile::parse("paddock.toml", text).unwrap_err();
    assert_eq!(error.to_string(), expected.trim_matches('\n'));
}

#[test]
fn broken_syntax_is_shown_line_by_line() {
    refused(
        r#"name = "x
base = "/"
[[workspace
"#,
        r#"
error: invalid basic string, expected `"`
 --> paddock.toml:1:10
  |
1 | name = "x
  |          ^
hint: correct the TOML syntax at this place

error: unclosed array table, expected `]]`
 --> paddock.toml:3:12
  |
3 | [[workspace
  |            ^
hint: correct the TOML syntax at this place
"#,
    );
}

#[test]
fn a_key_twice() {
    refused(
        r#"name = "a"
name = "b"
"#,
        r#"
error: duplicate key
 --> paddock.toml:2:1
  |
2 | name = "b"
  | ^^^^
hint: correct the TOML syntax at this place
"#,
    );
}

#[test]
fn text_without_quotes() {
    refused(
        r#"name = shop
"#,
        r#"
error: string values must be quoted, expected literal string
 --> paddock.toml:1:8
  |
1 | name = shop
  |        ^^^^
hint: correct the TOML syntax at this place
"#,
    );
}

#[test]
fn unknown_keys_name_the_nearest() {
    refused(
        r#"nmae = "x"
permissions = 1
"#,
        r#"
error: unknown key "nmae" at the top of the file
 --> paddock.toml:1:1
  |
1 | nmae = "x"
  | ^^^^
hint: did you mean "name"?

error: unknown key "permissions" at the top of the file
 --> paddock.toml:2:1
  |
2 | permissions = 1
  | ^^^^^^^^^^^
hint: known keys here are "name", "base", "workspace", "agents", "virtual", "state", "commands", "approvals", "model", "run", "serve", "web_search"
"#,
    );
}

#[test]
fn a_key_in_the_wrong_table() {
    refused(
        r#"hide = []
[[workspace]]
prefix = "/a"
scope = "RO"
mount = { physical = "." }
name = "x"
"#,
        r#"
error: unknown key "hide" at the top of the file
 --> paddock.toml:1:1
  |
1 | hide = []
  | ^^^^
hint: "hide" belongs in [[workspace]]

error: unknown key "name" in [[workspace]]
 --> paddock.toml:6:1
  |
6 | name = "x"
  | ^^^^
hint: "name" belongs at the top of the file, above the first [table]
"#,
    );
}

#[test]
fn a_workspace_without_its_three_keys() {
    refused(
        r#"[[workspace]]
"#,
        r#"
error: "prefix" is missing in [[workspace]]
 --> paddock.toml:1:1
  |
1 | [[workspace]]
  | ^^^^^^^^^^^^^
hint: add the logical directory that the agent sees, such as prefix = "/project"

error: "scope" is missing in [[workspace]]
 --> paddock.toml:1:1
  |
1 | [[workspace]]
  | ^^^^^^^^^^^^^
hint: add scope = "READ_ONLY", "READ_WRITE" or "WRITE_ONLY"

error: "mount" is missing in [[workspace]]
 --> paddock.toml:1:1
  |
1 | [[workspace]]
  | ^^^^^^^^^^^^^
hint: add what is behind it, such as mount = { physical = "workspace" }
"#,
    );
}

#[test]
fn a_workspace_with_wrong_values() {
    refused(
        r#"[[workspace]]
prefix = "docs"
scope = "rw"
mount = { physicl = "." }
"#,
        r#"
error: "docs" is not absolute
 --> paddock.toml:2:10
  |
2 | prefix = "docs"
  |          ^^^^^^
hint: start it with "/": "/docs"

error: "rw" is not an Access Scope
 --> paddock.toml:3:9
  |
3 | scope = "rw"
  |         ^^^^
hint: use "READ_ONLY" (RO), "READ_WRITE" (RW) or "WRITE_ONLY" (WO)

error: unknown key "physicl" in mount
 --> paddock.toml:4:11
  |
4 | mount = { physicl = "." }
  |           ^^^^^^^
hint: did you mean "physical"?
"#,
    );
}

#[test]
fn a_prefix_that_climbs() {
    refused(
        r#"[[workspace]]
prefix = "/a/../.."
scope = "RO"
mount = { physical = "" }
"#,
        r#"
error: path "/a/../.." leads above "/"
 --> paddock.toml:2:10
  |
2 | prefix = "/a/../.."
  |          ^^^^^^^^^^
hint: write the path from "/", without climbing above it

error: "physical" is empty
 --> paddock.toml:4:22
  |
4 | mount = { physical = "" }
  |                      ^^
hint: write a name
"#,
    );
}

#[test]
fn a_virtual_store_has_a_name_that_can_be_read() {
    refused(
        r#"[[workspace]]
prefix = "/a"
scope = "RW"
mount = { virtual = "no\ntes" }
[[workspace]]
prefix = "/b"
scope = "RW"
mount = { virtual = "\u202Eseton", shared = true }
"#,
        r#"
error: "no\u{a}tes" cannot name a Virtual Store
 --> paddock.toml:4:21
  |
4 | mount = { virtual = "no\ntes" }
  |                     ^^^^^^^^^
hint: use names that everybody can read, parted by single "/": no control, invisible or direction-changing characters

error: "\u{202e}seton" cannot name a Virtual Store
 --> paddock.toml:8:21
  |
8 | mount = { virtual = "\u202Eseton", shared = true }
  |                     ^^^^^^^^^^^^^
hint: use names that everybody can read, parted by single "/": no control, invisible or direction-changing characters
"#,
    );
    let named = |name: &str| {
        let text = format!("[[workspace]]\nprefix = \"/a\"\nscope = \"RW\"\nmount = {{ virtual = \"{name}\" }}\n");
        ConfigFile::parse("paddock.toml", &text).is_ok()
    };
    assert!(named("notes") && named("team/notas de diseño") && named("[...slug]"));
    for name in ["a\\u0000b", "a\\u200Bb", "a//b", "/a", "a/..", "a\\u0085b"] {
        assert!(!named(name), "{name}");
    }
}

#[test]
fn single_brackets() {
    refused(
        r#"[workspace]
prefix = "/a"
[agents.b.workspace]
"#,
        r#"
error: "workspace" must be a list of tables, not one table
 --> paddock.toml:1:1
  |
1 | [workspace]
  | ^^^^^^^^^^^
hint: write [[workspace]] with double brackets

error: "agents.b.workspace" must be a list of tables, not one table
 --> paddock.toml:3:1
  |
3 | [agents.b.workspace]
  | ^^^^^^^^^^^^^^^^^^^^
hint: write [[agents.b.workspace]] with double brackets
"#,
    );
}

#[test]
fn values_of_another_kind() {
    refused(
        r#"workspace = 3
name = 5
[commands]
deny = "rm"
env = "A"
tools = [1]
"#,
        r#"
error: "workspace" must be a list, not a whole number
 --> paddock.toml:1:13
  |
1 | workspace = 3
  |             ^
hint: write it in brackets, such as ["a", "b"]

error: "name" must be a text in quotes, not a whole number
 --> paddock.toml:2:8
  |
2 | name = 5
  |        ^
hint: put it in quotes

error: "deny" must be a list, not a text
 --> paddock.toml:4:8
  |
4 | deny = "rm"
  |        ^^^^
hint: write it in brackets, such as ["a", "b"]

error: "env" must be a table, not a text
 --> paddock.toml:5:7
  |
5 | env = "A"
  |       ^^^
hint: write it in braces, such as { name = "value" }

error: "tools[0]" must be a text in quotes, not a whole number
 --> paddock.toml:6:10
  |
6 | tools = [1]
  |          ^
hint: put it in quotes
"#,
    );
}

#[test]
fn patterns_that_would_hide_nothing_are_refused_at_their_line() {
    let parse = |list: &str| {
        let text = format!(
            "[[workspace]]\nprefix = \"/a\"\nscope = \"RO\"\nmount = {{ physical = \".\" }}\nhide = [\n{list}\n]\n"
        );
        ConfigFile::parse("paddock.toml", &text).map_err(|error| error.to_string())
    };
    for (list, why) in [
        (r#""""#, "it is empty"),
        (r#"" .env""#, "it begins or ends with a space"),
        (r#"".env ""#, "it begins or ends with a space"),
        (r#"".env\n*.pem""#, "it holds a line break"),
        (r#"".env\r""#, "it holds a line break"),
        (r#"".env\u2028b""#, "it holds a line break"),
        (r##""#env""##, "it is a comment"),
        (r#""/""#, "never part of a path"),
        (r#""x", "!""#, "never part of a path"),
        (r#""./secret""#, "never part of a path"),
        (r#""../secret""#, "never part of a path"),
        (r#""!x""#, "it excepts from the patterns before it, and there are none"),
        (r#""!x", "!y""#, "it excepts from the patterns before it, and there are none"),
        (r#""{!x,y}""#, "it excepts from the patterns before it, and there are none"),
        (r#""!{x,y}", "z""#, "it excepts from the patterns before it, and there are none"),
    ] {
        let error = parse(list).unwrap_err();
        assert!(error.contains(why) && error.contains("under hide hides nothing"), "{list}: {error}");
        assert!(error.contains("paddock.toml:6:"), "{list}: {error}");
    }
    for list in
        ["", r#""*", "!x""#, r#""{*,!x}""#, r#""*", "{!x,!y}""#, r#""/private/", "a b", "**/x", "\\#x", ".*", "...""#]
    {
        parse(list).unwrap();
    }
}

#[test]
fn name_rules_that_match_nothing() {
    refused(
        r#"[[workspace]]
prefix = "/a"
scope = "RO"
mount = { physical = "." }
hide = ["ok", "a{b", " "]
unguard = [".git/hook", "Makefile"]
hard_links = "dney"
durability = "maybe"
"#,
        r#"
error: "a{b" is not a pattern
 --> paddock.toml:5:15
  |
5 | hide = ["ok", "a{b", " "]
  |               ^^^^^
hint: write it as in a .gitignore file, such as ".env.*" or "/private"

error: " " under hide hides nothing: it is empty
 --> paddock.toml:5:22
  |
5 | hide = ["ok", "a{b", " "]
  |                      ^^^
hint: write it as in a .gitignore file, such as ".env.*" or "/private"

error: ".git/hook" is not a guarded name
 --> paddock.toml:6:12
  |
6 | unguard = [".git/hook", "Makefile"]
  |            ^^^^^^^^^^^
hint: did you mean ".git/hooks"?

error: "Makefile" is not a guarded name
 --> paddock.toml:6:25
  |
6 | unguard = [".git/hook", "Makefile"]
  |                         ^^^^^^^^^^
hint: guarded names are for example ".git/hooks", ".envrc" and ".vscode"

error: "dney" is not one of "read", "deny"
 --> paddock.toml:7:14
  |
7 | hard_links = "dney"
  |              ^^^^^^
hint: did you mean "deny"?

error: "maybe" is not one of "process", "disk"
 --> paddock.toml:8:14
  |
8 | durability = "maybe"
  |              ^^^^^^^
hint: use "process", "disk"
"#,
    );
}

#[test]
fn a_prefix_twice() {
    refused(
        r#"[[workspace]]
prefix = "/a"
scope = "RO"
mount = { physical = "." }

[[workspace]]
prefix = "/a"
scope = "RO"
mount = { physical = "." }
"#,
        r#"
error: the prefix "/a" is used twice
 --> paddock.toml:7:10
  |
7 | prefix = "/a"
  |          ^^^^
note: it is first used here
 --> paddock.toml:2:10
  |
2 | prefix = "/a"
  |          ^^^^
hint: give each Workspace of an agent its own prefix
"#,
    );
}

#[test]
fn agents_that_cannot_be() {
    refused(
        r#"[agents.main]
[agents."a b"]
"#,
        r#"
error: the agent "main" is configured by the keys at the top of the file
 --> paddock.toml:1:9
  |
1 | [agents.main]
  |         ^^^^
hint: move these keys to the top of the file, or give the agent another name

error: "a b" cannot name an agent
 --> paddock.toml:2:9
  |
2 | [agents."a b"]
  |         ^^^^^
hint: use 1 to 64 letters, digits, "-" or "_"
"#,
    );
}

#[test]
fn mounts_that_cannot_be() {
    refused(
        r#"[[workspace]]
prefix = "/a"
scope = "RO"
mount = { physical = ".", virtual = "x" }
[[workspace]]
prefix = "/b"
scope = "RO"
mount = { physical = ".", shared = true }
[[workspace]]
prefix = "/c"
scope = "RO"
mount = {}
[[workspace]]
prefix = "/d"
scope = "RO"
mount = "."
"#,
        r#"
error: a mount is exactly one of "physical", "virtual" and "overlay"; this one names several
 --> paddock.toml:4:9
  |
4 | mount = { physical = ".", virtual = "x" }
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: write for example mount = { physical = "workspace" }

error: "shared" belongs to a virtual mount only
 --> paddock.toml:8:9
  |
8 | mount = { physical = ".", shared = true }
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: remove it, or use mount = { virtual = "NAME", shared = true }

error: a mount is exactly one of "physical", "virtual" and "overlay"; this one names none
 --> paddock.toml:12:9
   |
12 | mount = {}
   |         ^^
hint: write for example mount = { physical = "workspace" }

error: "mount" must be a table, not a text
 --> paddock.toml:16:9
   |
16 | mount = "."
   |         ^^^
hint: write it in braces, such as { physical = "DIRECTORY" }
"#,
    );
}

#[test]
fn a_secret_is_never_shown() {
    refused(
        r#"[model]
use = "openai:x"
key = "sk-123"
[virtual]
url = "mysql://me:sk-123@host/db"
"#,
        r#"
error: "key" holds a secret in plain text
 --> paddock.toml:3:7
hint: write key = { secret = "NAME" }, store it with `paddock secret set NAME`, and replace the exposed one

error: "mysql://…@host/db" is not a place for Virtual Stores
 --> paddock.toml:5:7
hint: use "sqlite", "memory" or "postgres://…"
"#,
    );
}

#[test]
fn numbers_sizes_durations_addresses() {
    refused(
        r#"[serve]
port = 99999
bind = "localhost"
[run]
max_steps = -1
[commands]
network = true
time_limit = 60
memory_limit = "2 gigs"
[state]
url = "memory"
[approvals]
above = "never"
"#,
        r#"
error: "port" must be a whole number from 0 to 65535, not 99999
 --> paddock.toml:2:8
  |
2 | port = 99999
  |        ^^^^^
hint: write a number in that range, without quotes

error: "localhost" is not an IP address
 --> paddock.toml:3:8
  |
3 | bind = "localhost"
  |        ^^^^^^^^^^^
hint: write an address such as "127.0.0.1"

error: "max_steps" must be a whole number from 0 to 9223372036854775807, not -1
 --> paddock.toml:5:13
  |
5 | max_steps = -1
  |             ^^
hint: write a number in that range, without quotes

error: "network" cannot be true
 --> paddock.toml:7:11
  |
7 | network = true
  |           ^^^^
hint: list the hosts that commands may reach, or write false

error: "60" is not a duration
 --> paddock.toml:8:14
  |
8 | time_limit = 60
  |              ^^
hint: write a number and a unit, such as "60 s", "5 min", "2 h" or "30 days"

error: "2 gigs" is not a size
 --> paddock.toml:9:16
  |
9 | memory_limit = "2 gigs"
  |                ^^^^^^^^
hint: write a number and a unit, such as "64 KiB", "10 MiB" or "1 GiB"

error: "memory" is not a place for state
 --> paddock.toml:11:7
   |
11 | url = "memory"
   |       ^^^^^^^^
hint: use "sqlite" or "postgres://…"

error: "never" is not one of "low", "medium", "high"
 --> paddock.toml:13:9
   |
13 | above = "never"
   |         ^^^^^^^
hint: use "low", "medium", "high"
"#,
    );
}

#[test]
fn the_next_of_several_tables_takes_double_brackets_too() {
    let table = "prefix = \"/a\"\nscope = \"RO\"\nmount = { physical = \".\" }\n";
    for first in ["[[workspace]]", "[workspace]"] {
        let text = format!("{first}\n{table}[workspace]\n{table}");
        let error = ConfigFile::parse("paddock.toml", &text).unwrap_err().to_string();
        assert!(error.contains("hint: write [[workspace]] with double brackets"), "{error}");
        assert!(error.contains("paddock.toml:5:"), "{error}");
    }
}

#[test]
fn a_mount_that_is_only_a_text_is_told_how_it_is_written() {
    let text = "[[workspace]]\nprefix = \"/a\"\nscope = \"RO\"\nmount = \"src\"\n";
    let error = ConfigFile::parse("paddock.toml", text).unwrap_err().to_string();
    assert!(error.contains("hint: write it in braces, such as { physical = \"DIRECTORY\" }"), "{error}");
}
