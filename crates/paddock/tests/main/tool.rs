//! `paddock tool`: one call, its text, its JSON, its exit code.

use crate::harness::World;

#[test]
fn it_prints_the_text() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", r#"{"path": "src/App.tsx"}"#]), @"
    export default function App() {
      return <h1>Hola</h1>;
    }
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["tool", "list_dir", r#"{"path": "."}"#]), @"
    .gitignore
    .paddock.schema.json
    backend-orchestrator/
    memoria/
    package.json
    paddock.toml
    src/
    supabase/
    workspace/ [read-write Workspace]
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["tool", "write_file", r#"{"path": "src/App.tsx", "content": "x"}"#]), @r#"
    ❌ ERROR: Cannot write to protected path "/project/src/App.tsx". Only /project/workspace directory is writable.
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["tool", "write_file", r#"{"path": "/etc/x", "content": "x"}"#]), @"
    ❌ ERROR: Can only write to /project/workspace. Attempted: /etc/x
    [exit 1]
    ");
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", r#"{"path": "../../etc/passwd"}"#]), @r#"
    ❌ ERROR: The path is refused: path "../../etc/passwd" leads above "/"; write the path from "/", without climbing above it. Nothing exists above it.
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", r#"{"path": ".env"}"#]), @r#"
    ❌ ERROR: "/project/.env" does not exist. list_dir and find_files show what is there.
    [exit 1]
    "#);
}

#[test]
fn it_prints_everything_as_json() {
    let world = World::seed();
    let ran = world.paddock(&["tool", "--json", "read_file", r#"{"path": "package.json"}"#]);
    let answer = ran.json();
    assert_eq!((&answer["verdict"], ran.code), (&"done".into(), 0));
    assert_eq!(answer["content"][0]["type"], "text");
    assert!(answer["structured"]["version"].is_string(), "{ran}");
    let ran = world.paddock(&["tool", "--json", "delete_file", r#"{"path": "package.json"}"#]);
    assert_eq!((&ran.json()["verdict"], ran.code), (&"denied".into(), 1));
}

#[test]
fn arguments_may_come_from_standard_input() {
    let world = World::seed();
    let ran = world.paddock_reading(&["tool", "read_file", "-"], r#"{"path": "package.json"}"#);
    assert!(ran.stdout.contains("proyecto") && ran.code == 0, "{ran}");
}

#[test]
fn wrong_usage_ends_with_2() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", "src/App.tsx"]), @r#"
    [stderr]
    error: the arguments are not JSON: expected value at line 1 column 1
    hint: write them as '{"path": "src/App.tsx"}'
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", "[]"]), @r#"
    [stderr]
    error: the arguments are not a JSON object
    hint: write them as '{"path": "src/App.tsx"}'
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["tool", "read_fiel", "{}"]), @r#"
    ❌ ERROR: There is no tool "read_fiel". Did you mean "read_file"?
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["tool", "read_file", r#"{"paht": "x"}"#]), @r#"
    ❌ ERROR: Unknown argument "paht". Did you mean "path"? The arguments are: limit, offset, path.
    [exit 2]
    "#);
}

#[test]
fn file_path_is_an_alias_of_path() {
    let world = World::seed();
    assert_eq!(world.paddock(&["tool", "read_file", r#"{"file_path": "package.json"}"#]).code, 0);
}

#[test]
fn an_image_is_named_in_text_and_whole_in_json() {
    let world = World::seed();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    world.write("src/dot.png", png);
    let ran = world.paddock(&["tool", "read_file", r#"{"path": "src/dot.png"}"#]);
    assert!(ran.stdout.contains("[image/png, 33 bytes"), "{ran}");
    let answer = world.paddock(&["tool", "--json", "read_file", r#"{"path": "src/dot.png"}"#]).json();
    let images = answer["content"].as_array().unwrap().iter().filter(|block| block["type"] == "image").count();
    assert_eq!(images, 1, "{answer}");
}

#[test]
fn a_workspace_that_denies_inside_one_that_would_allow_is_named() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/p\"\nscope = \"RW\"\nmount = { physical = \".\" }\n\
         [[workspace]]\nprefix = \"/p/docs\"\nscope = \"RO\"\nmount = { physical = \"docs\" }\n",
    );
    world.write("docs/a.md", "a");
    let ran = world.paddock(&["tool", "write_file", r#"{"path": "/p/docs/a.md", "content": "x"}"#]);
    insta::assert_snapshot!(ran, @r#"
    ❌ ERROR: Cannot write to protected path "/p/docs/a.md". Only /p directory is writable. /p/docs in /p is not: it is read-only.
    [exit 1]
    "#);
}

#[test]
fn a_pattern_that_is_none_is_told_as_it_was_written() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["tool", "search_files", r#"{"path": ".", "pattern": "f("}"#]), @r#"
    ❌ ERROR: The pattern cannot be used: "f(": unclosed group. It has to be a regular expression.
    [exit 2]
    "#);
}

#[test]
fn a_search_says_where_it_stopped_at_a_line_that_is_too_long() {
    let world = World::seed();
    world.write("src/bundle.js", format!("needle 1\n{}\nneedle 3\n", "x".repeat(2 << 20)));
    let search = ["tool", "search_files", r#"{"path": "src", "pattern": "needle"}"#];
    insta::assert_snapshot!(world.paddock(&search), @"
    /project/src/bundle.js
    1: needle 1
    1 file was searched only up to a line that is too long: over 1 MiB, or 32 KiB for a costly pattern. read_file shows the rest.
    [exit 0]
    ");
    let facts = world.paddock(&[search[0], search[1], search[2], "--json"]).json();
    assert!(facts.to_string().contains("\"cut_short\":1"), "{facts}");
    let other = world.paddock(&["tool", "search_files", r#"{"path": "memoria", "pattern": "Notas", "limit": 1}"#]);
    assert!(!other.stdout.contains("too long"), "{other}");
}
