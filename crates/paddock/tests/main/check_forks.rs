//! `paddock check` shows what an agent perceives, forks included.

use serde_json::json;

use crate::harness::World;

#[test]
fn an_agent_that_has_only_forks_is_listed_with_them() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/code\"\nscope = \"RO\"\nmount = { physical = \".\" }\n[agents.helper]\n",
    );
    let before = world.paddock(&["check", "--agent", "helper", "--json"]).json();
    assert_eq!(before["agents"][0]["workspaces"], json!([]));
    assert_eq!(world.paddock(&["fork", "/code", "try", "--agent", "helper", "--from", "main"]).code, 0);
    insta::assert_snapshot!(world.paddock(&["check", "--agent", "helper"]), @r"
    ✓ paddock.toml: no problems

    agent helper, relative paths start at /
      READ_WRITE  /forks/try  (fork try)
    [exit 0]
    ");
    let all = world.paddock(&["check", "--json"]).json();
    let shown: Vec<_> = all["agents"].as_array().unwrap().iter().map(|agent| &agent["workspaces"]).collect();
    assert_eq!(
        shown,
        [
            &json!([{ "prefix": "/code", "scope": "READ_ONLY", "line": 3 }]),
            &json!([{ "prefix": "/forks/try", "scope": "READ_WRITE", "line": 0 }]),
        ]
    );
}
