//! Taking back: exactly what was written, and nothing that a person wrote.

use super::{CLIENTS, connect, files, project, text, value};

/// Files as people have them: comments, tabs, rules of their own, some of which Paddock wants too.
const BEFORE: &[(&str, &str)] = &[
    (
        ".claude/settings.json",
        "{\n  // ours\n  \"permissions\": {\n    \"deny\": [\n      \"Bash\", // never\n      \"WebFetch\"\n    ]\n  }\n}\n",
    ),
    (".mcp.json", "{\n\t\"mcpServers\": {\n\t\t\"docs\": { \"command\": \"docs\" }\n\t}\n}"),
    (
        ".codex/config.toml",
        "# ours\nsandbox_mode = \"danger-full-access\" # so far\n\n[features]\nshell_tool = true # we need it\n",
    ),
    (".cursor/hooks.json", "{\r\n  \"version\": 1,\r\n  \"hooks\": {\r\n    \"preToolUse\": []\r\n  }\r\n}\r\n"),
    (
        ".cursor/cli.json",
        "{\n  \"permissions\": {\n    \"allow\": [\"Shell(ls)\"],\n    \"deny\": [\"Shell(**)\"]\n  }\n}\n",
    ),
    (
        ".vscode/mcp.json",
        "// shared\n{\n    \"inputs\": [],\n    \"servers\": {\n        \"docs\": { \"type\": \"http\", \"url\": \"https://d\" }, // theirs\n    },\n}\n",
    ),
    (".github/workflows/ci.yml", "on: push\n"),
];

#[test]
fn every_byte_is_back_as_it_was() {
    let world = project();
    for (path, content) in BEFORE {
        world.write(path, content);
    }
    let before = files(&world.project());
    for client in CLIENTS {
        connect(&world, client, &[]);
    }
    let connected = files(&world.project());
    assert!(connected.len() > before.len());
    for client in CLIENTS {
        connect(&world, client, &["--undo"]);
    }
    assert_eq!(files(&world.project()), before);
}

#[test]
fn what_was_made_is_gone_with_its_directories() {
    let world = project();
    let before = files(&world.project());
    for client in CLIENTS {
        connect(&world, client, &[]);
        connect(&world, client, &["--undo"]);
        assert_eq!(files(&world.project()), before, "{client}");
    }
    assert!(!world.home().join(".paddock/connections").exists());
}

#[test]
fn what_was_written_meanwhile_stays_and_what_was_changed_is_told() {
    let world = project();
    connect(&world, "claude-code", &[]);
    let settings = world.read(".claude/settings.json");
    world.write(".claude/settings.json", settings.replace("\"Grep\",", "\"Grep\",\n      \"WebFetch\", // mine\n"));
    world.write(".mcp.json", world.read(".mcp.json").replace("\"stdio\"", "\"stdio\",\n      \"env\": {}"));
    let ran = connect(&world, "claude-code", &["--undo"]);
    assert!(ran.stdout.contains(".mcp.json: kept \"mcpServers.paddock\", which was changed since"), "{ran}");
    assert!(text(&world, ".claude/settings.json").contains("// mine"));
    let left = value_of_jsonc(&world.read(".claude/settings.json"));
    assert_eq!(left, serde_json::json!({ "permissions": { "deny": ["WebFetch"] } }));
    assert!(value(&world, ".mcp.json")["mcpServers"]["paddock"]["env"].is_object());
}

fn value_of_jsonc(text: &str) -> serde_json::Value {
    let plain: String = text.lines().map(|line| line.split("//").next().unwrap()).collect();
    serde_json::from_str(&plain.replace(char::is_whitespace, "").replace(",]", "]")).unwrap()
}

#[test]
fn what_is_not_known_is_not_touched() {
    let world = project();
    connect(&world, "cursor", &[]);
    std::fs::remove_dir_all(world.home().join(".paddock/connections")).unwrap();
    let before = files(&world.project());
    insta::assert_snapshot!(world.paddock(&["connect", "cursor", "--undo", "--yes"]), @r#"
    nothing to take back: Cursor was not connected from here
    .cursor/hooks.json names paddock: look at it yourself
    .cursor/cli.json names paddock: look at it yourself
    .cursor/mcp.json names paddock: look at it yourself
    [exit 0]
    "#);
    assert_eq!(files(&world.project()), before);
}

#[test]
fn a_record_that_cannot_be_read_stops_it() {
    let world = project();
    connect(&world, "codex", &[]);
    let (path, _) = files(&world.home().join(".paddock/connections")).remove(0);
    std::fs::write(&path, "{").unwrap();
    let before = files(&world.project());
    for more in [&["--undo"][..], &[]] {
        let ran = world.paddock(&[&["connect", "codex", "--yes"], more].concat());
        assert!(ran.code == 1 && ran.stderr.contains("is damaged"), "{ran}");
    }
    assert_eq!(files(&world.project()), before);
}

#[test]
fn a_broken_file_is_not_written_and_can_be_mended_first() {
    let world = project();
    connect(&world, "codex", &[]);
    let good = world.read(".codex/config.toml");
    world.write(".codex/config.toml", format!("{good}oops\n"));
    let ran = world.paddock(&["connect", "codex", "--undo", "--yes"]);
    assert!(ran.code == 2 && ran.stderr.contains("line "), "{ran}");
    world.write(".codex/config.toml", good);
    connect(&world, "codex", &["--undo"]);
    assert!(!world.has(".codex"));
}

/// What is remembered holds Paddock's lines and the switches they replaced, and nothing of what stands beside them.
#[test]
fn what_is_remembered_is_private_and_holds_nothing_of_others() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = project();
    world.write(
        ".mcp.json",
        "{ \"mcpServers\": { \"docs\": { \"command\": \"d\", \"env\": { \"KEY\": \"sk-hidden\" } } } }\n",
    );
    connect(&world, "claude-code", &[]);
    let (path, record) = files(&world.home().join(".paddock/connections")).remove(0);
    assert!(record.contains("mcp__paddock") && !record.contains("sk-hidden"), "{record}");
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}
