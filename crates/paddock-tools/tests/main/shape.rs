//! What a model is given: the tool list and its schemas, and that both stay small.

use std::fmt::Write as _;
use std::sync::Arc;

use paddock_core::Store;
use serde_json::{Value, json};

use crate::setup::{RO, RW, WO, agent, agent_at, holding, workspace};

/// A schema in one line, names sorted, whatever order the map keeps.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            let parts: Vec<String> = names.iter().map(|name| format!("{name}: {}", one_line(&map[*name]))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[test]
fn the_tool_list_of_a_project() {
    let agent = agent_at(
        "/project",
        vec![
            workspace("/project", RO, holding(&[])),
            workspace("/project/workspace", RW, holding(&[])),
            workspace("/drop", WO, holding(&[])),
        ],
    );
    let mut out = String::new();
    for tool in agent.toolbox.tools() {
        let hints = tool.hints;
        let flags = [
            (hints.read_only, "read-only"),
            (hints.destructive, "destructive"),
            (hints.idempotent, "idempotent"),
            (hints.open_world, "open-world"),
        ];
        let flags: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        writeln!(out, "{} \"{}\" ({})\n  {}", tool.name, tool.title, flags.join(", "), tool.description).unwrap();
        let mut schema = Value::Object((*tool.input_schema).clone());
        let properties = schema["properties"].take();
        let mut lines: Vec<String> = properties
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, property)| format!("{name}: {}", one_line(property)))
            .collect();
        lines.sort();
        schema.as_object_mut().unwrap().remove("properties");
        writeln!(out, "  {}\n    {}", one_line(&schema), lines.join("\n    ")).unwrap();
    }
    insta::assert_snapshot!(out, @r#"
    read_file "Read a file" (read-only, idempotent)
      Read a text file by lines; the answer says how to go on where there is more. Images are shown, other binary files named by type and size. Works in: /project (read-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path"], type: "object"}
        limit: {description: "How many lines to read. Default 2000.", minimum: 1, type: "integer"}
        offset: {description: "How many lines to skip. Default 0.", minimum: 0, type: "integer"}
        path: {description: "The file to read.", type: "string"}
    list_dir "List a directory" (read-only, idempotent)
      List a directory. Directories end with "/", links with "@". Works in: /project (read-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path"], type: "object"}
        after: {description: "Go on after this path, as the answer before said.", type: "string"}
        depth: {description: "How many levels down. Default 1.", minimum: 1, type: "integer"}
        limit: {description: "The most entries to show. Default 1000.", minimum: 1, type: "integer"}
        path: {description: "The directory to list.", type: "string"}
    find_files "Find files by name" (read-only, idempotent)
      Find files by a glob, at any depth. What .gitignore names is left out by default. Works in: /project (read-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path", "glob"], type: "object"}
        after: {description: "Go on after this path, as the answer before said.", type: "string"}
        glob: {description: "Which files: \"*.rs\" by name at any depth, \"src/**/*.ts\" by path below the directory.", type: "string"}
        include_ignored: {description: "Also what .gitignore leaves out. Default false.", type: "boolean"}
        limit: {description: "The most files to show. Default 1000.", minimum: 1, type: "integer"}
        path: {description: "The directory to look below.", type: "string"}
    search_files "Search in files" (read-only, idempotent)
      Search the contents of files for a regular expression. Answers each file with its lines, "12: text" for a match and "13- text" for context. What .gitignore names is left out by default. A line over 1 MiB ends the search of its file, and the answer says so. Works in: /project (read-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path", "pattern"], type: "object"}
        after: {description: "Go on after this, as the answer before said.", type: "string"}
        context: {description: "Lines to show around each match. Default 0.", maximum: 100, minimum: 0, type: "integer"}
        glob: {description: "Only in files that match: \"*.rs\" by name, \"src/**\" by path below the directory.", type: "string"}
        ignore_case: {description: "Match without regard to case. Default false.", type: "boolean"}
        include_ignored: {description: "Also what .gitignore leaves out. Default false.", type: "boolean"}
        limit: {description: "The most matching lines to show. Default 100.", minimum: 1, type: "integer"}
        path: {description: "The directory or file to search.", type: "string"}
        pattern: {description: "A regular expression, matched line by line.", type: "string"}
    write_file "Write a file" (destructive, idempotent)
      Create a file or replace its whole content. Works in: /drop (write-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path", "content"], type: "object"}
        content: {description: "The whole content.", type: "string"}
        expected_version: {description: "Write only if the file still has this version, as read_file gave it.", type: "string"}
        path: {description: "The file to write. Missing directories above it are made.", type: "string"}
    append_file "Add to a file" ()
      Add text to the end of a file. Works in: /drop (write-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path", "content"], type: "object"}
        content: {description: "What is added at the end.", type: "string"}
        path: {description: "The file to add to. It is made where it is missing.", type: "string"}
    edit_file "Edit a file" (destructive)
      Replace exact text in a file, atomically. Line endings and encoding stay as they are. Works in: /drop (write-only), /project/workspace (read-write).
      {additionalProperties: false, required: ["path"], type: "object"}
        edits: {description: "Several replacements in order, all or nothing, instead of old_string and new_string.", items: {additionalProperties: false, properties: {new_string: {type: "string"}, old_string: {type: "string"}, replace_all: {type: "boolean"}}, required: ["old_string", "new_string"], type: "object"}, type: "array"}
        expected_version: {description: "Edit only if the file still has this version, as read_file gave it.", type: "string"}
        new_string: {description: "The text to put in its place.", type: "string"}
        old_string: {description: "The exact text to replace. It must be there exactly once unless replace_all is true.", type: "string"}
        path: {description: "The file to edit.", type: "string"}
        replace_all: {description: "Replace every occurrence. Default false.", type: "boolean"}
    make_dir "Make a directory" (idempotent)
      Make a directory, with those above it. One that is there already is fine. Works in: /project/workspace (read-write).
      {additionalProperties: false, required: ["path"], type: "object"}
        path: {description: "The directory to make, with those above it.", type: "string"}
    move_file "Move a file or directory" (destructive)
      Move or rename a file or directory. Nothing is ever overwritten. Works in: /project/workspace (read-write).
      {additionalProperties: false, required: ["source", "destination"], type: "object"}
        destination: {description: "Its new path. Nothing may be there.", type: "string"}
        source: {description: "The file or directory to move.", type: "string"}
    delete_file "Delete a file or directory" (destructive, idempotent)
      Delete a file, an empty directory, or with recursive a directory and everything in it. Works in: /project/workspace (read-write).
      {additionalProperties: false, required: ["path"], type: "object"}
        path: {description: "The file or directory to delete.", type: "string"}
        recursive: {description: "Delete a directory with everything in it. Default false.", type: "boolean"}
    "#);
}

#[test]
fn schemas_are_made_once_and_shared() {
    let agent = agent(vec![workspace("/w", RW, holding(&[]))]);
    for (one, other) in agent.toolbox.tools().iter().zip(agent.toolbox.tools()) {
        assert!(Arc::ptr_eq(&one.input_schema, &other.input_schema), "{}", one.name);
    }
}

#[test]
fn thousands_of_workspaces_keep_map_tools_and_messages_small() {
    let store: Arc<dyn Store> = holding(&[]);
    let scopes = [RO, RW, WO];
    let long = "n".repeat(200);
    let spaces = (0..6000).map(|i| workspace(&format!("/{long}/{i:04}"), scopes[i % 3], Arc::clone(&store)));
    let agent = agent(spaces.collect());
    let map = agent.toolbox.filesystem_map();
    assert!(map.len() < 16 * 1024, "{}", map.len());
    assert!(map.contains("more (") && map.contains("read-only") && map.contains("list_dir shows them"), "{map}");
    for tool in agent.toolbox.tools() {
        assert!(tool.description.len() < 4096, "{}", tool.description.len());
        assert!(tool.description.contains(" more"), "{}", tool.description);
    }
    let told = agent.refused("write_file", json!({"path": format!("/{long}/0000/x"), "content": ""}));
    assert!(told.len() < 4096 && told.contains("and 3992 more directories are writable"), "{told}");
}
