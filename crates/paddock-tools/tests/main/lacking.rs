//! Workspaces whose Stores can less than their scopes allow: no tool promises what none of them can.

use std::sync::Arc;

use paddock_core::{OpKind, Store};
use paddock_stores::doubles::Lacking;
use serde_json::json;

use crate::setup::{RO, RW, WO, agent, holding, workspace};

/// What a store of somebody else often cannot.
const LACKS: [OpKind; 4] = [OpKind::Search, OpKind::MakeDir, OpKind::MoveFrom, OpKind::Delete];

fn lacking() -> Arc<dyn Store> {
    Arc::new(Lacking::new(holding(&[("/f", b"needle\n")]), &LACKS))
}

#[test]
fn tools_that_no_store_can_serve_are_not_provided() {
    let agent = agent(vec![workspace("/a", RW, lacking())]);
    let names = agent.tool_names();
    assert_eq!(names, ["read_file", "list_dir", "find_files", "write_file", "append_file", "edit_file"]);
    let refused = agent.refused("delete_file", json!({"path": "/a/f"}));
    assert!(refused.contains("is not provided"), "{refused}");
    assert_eq!(agent.done("read_file", json!({"path": "/a/f"})).lines().next(), Some("needle"));
}

#[test]
fn the_map_tells_what_works_in_each_workspace() {
    let spaces = vec![
        workspace("/all", RW, holding(&[])),
        workspace("/less", RW, lacking()),
        workspace("/only-read", RO, lacking()),
        workspace("/only-written", WO, lacking()),
    ];
    let agent = agent(spaces);
    let map = agent.toolbox.filesystem_map();
    for line in [
        "- /all: read-write (read, list, find, search, write, append, edit, make, move, delete)\n",
        "- /less: read-write (read, list, find, write, append, edit)\n",
        "- /only-read: read-only (read, list, find)\n",
        "- /only-written: write-only (write, append, edit; nothing comes back)\n",
    ] {
        assert!(map.contains(line), "{map}");
    }
    let tools = agent.toolbox.tools();
    let described = |name| &tools.iter().find(|tool| tool.name == name).unwrap().description;
    for name in ["delete_file", "move_file", "make_dir", "search_files"] {
        assert!(described(name).ends_with("Works in: /all (read-write)."), "{}", described(name));
    }
}

#[test]
fn a_call_that_the_store_cannot_serve_is_told_where_it_works() {
    let agent = agent(vec![workspace("/a", RW, lacking()), workspace("/b", RW, holding(&[]))]);
    let told = agent.refused("delete_file", json!({"path": "/a/f"}));
    assert_eq!(told, "❌ ERROR: Cannot delete \"/a/f\": the Store behind /a cannot do that. It works in /b.");
    let told = agent.refused("search_files", json!({"path": "/a", "pattern": "needle"}));
    assert_eq!(told, "❌ ERROR: Cannot search \"/a\": the Store behind /a cannot do that. It works in /b.");
    let told = agent.done("search_files", json!({"path": "/", "pattern": "needle"}));
    assert!(told.contains("could not look into: /a"), "{told}");
}
