//! What a Place keeps out of sight: hidden names, and what lies under a nested Workspace.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{AccessScope, DenyRule, ErrorKind, Expect};

use super::world::{denied, error, search};
use super::{Fixture, Space, World};

fn with_secrets(fixture: &Fixture) -> World {
    let world = fixture.world_of(&[Space::at("/w").hide(&[".env", "*.pem", "/private/"])]);
    for path in ["a", ".env", "sub/.env", "sub/b", "keys/server.pem", "private/x", "sub/private/y"] {
        world.seed(0, path, "needle\n");
    }
    world
}

pub fn hidden_names_are_not_listed(fixture: &Fixture) {
    let world = with_secrets(fixture);
    let shown = ["/w/a", "/w/keys", "/w/sub", "/w/sub/b", "/w/sub/private", "/w/sub/private/y"];
    assert_eq!(world.list("/w"), shown);
    assert_eq!(world.find("/w", "*"), ["/w/a", "/w/sub/b", "/w/sub/private/y"]);
}

pub fn hidden_names_are_not_searched(fixture: &Fixture) {
    let world = with_secrets(fixture);
    let shown = ["/w/a:1:needle", "/w/sub/b:1:needle", "/w/sub/private/y:1:needle"];
    assert_eq!(world.search("/w", "needle"), shown);
    assert_eq!(denied(world.search_for("/w/private", &search("needle"))), DenyRule::Hidden);
}

pub fn hidden_names_are_not_reached_by_name(fixture: &Fixture) {
    let world = with_secrets(fixture);
    for path in ["/w/.env", "/w/sub/.env", "/w/keys/server.pem", "/w/private/x", "/w/private", "/w/.ENV"] {
        assert_eq!(denied(world.read_part(path, 0..1)), DenyRule::Hidden, "{path}");
        assert_eq!(denied(world.try_write(path, "x", Expect::Any)), DenyRule::Hidden, "{path}");
        assert_eq!(denied(world.delete(path)), DenyRule::Hidden, "{path}");
        assert_eq!(denied(world.rename("/w/a", path)), DenyRule::Hidden, "{path}");
    }
    assert_eq!(world.held(0, ".env").as_deref(), Some("needle\n"));
}

pub fn a_directory_that_holds_a_hidden_name_stays(fixture: &Fixture) {
    let world = with_secrets(fixture);
    assert_eq!(denied(world.delete_all("/w/sub")), DenyRule::Hidden);
    assert_eq!(denied(world.rename("/w/sub", "/w/elsewhere")), DenyRule::Hidden);
    assert_eq!(world.held(0, "sub/.env").as_deref(), Some("needle\n"));
    assert_eq!(world.held(0, "sub/b").as_deref(), Some("needle\n"));
    assert_eq!(error(world.delete("/w/keys")), ErrorKind::NotEmpty, "and it is not taken for an empty one");
}

/// `/w` with a Workspace nested at `/w/in`, and content of the outer Store under that name.
fn nested(fixture: &Fixture, scope: AccessScope) -> World {
    let world = fixture.world_of(&[Space::at("/w"), Space::at("/w/in").scope(scope)]);
    for path in ["a", "in/shadowed", "in/deep/shadowed", "in-side", "z"] {
        world.seed(0, path, "needle outside\n");
    }
    world.seed(1, "inner", "needle inside\n");
    world
}

pub fn a_nested_workspace_stands_where_its_prefix_is(fixture: &Fixture) {
    let world = nested(fixture, AccessScope::ReadOnly);
    assert_eq!(world.list("/w"), ["/w/a", "/w/in", "/w/in/inner", "/w/in-side", "/w/z"]);
    assert_eq!(world.find("/w", "*"), ["/w/a", "/w/in/inner", "/w/in-side", "/w/z"]);
}

pub fn what_lies_under_a_nested_workspace_is_not_found_by_searching(fixture: &Fixture) {
    let world = nested(fixture, AccessScope::ReadOnly);
    let found = [
        "/w/a:1:needle outside",
        "/w/in/inner:1:needle inside",
        "/w/in-side:1:needle outside",
        "/w/z:1:needle outside",
    ];
    assert_eq!(world.search("/w", "needle"), found);
}

pub fn what_lies_under_a_nested_workspace_is_not_read(fixture: &Fixture) {
    let world = nested(fixture, AccessScope::ReadWrite);
    assert_eq!(error(world.read_part("/w/in/shadowed", 0..1)), ErrorKind::NotFound);
    assert_eq!(world.text("/w/in/inner"), "needle inside\n");
    world.write("/w/in/shadowed", "new\n");
    assert_eq!(world.held(0, "in/shadowed").as_deref(), Some("needle outside\n"), "the outer one is untouched");
    assert_eq!(world.held(1, "shadowed").as_deref(), Some("new\n"));
}

pub fn a_write_only_nested_workspace_contributes_nothing(fixture: &Fixture) {
    let world = nested(fixture, AccessScope::WriteOnly);
    assert_eq!(world.list("/w"), ["/w/a", "/w/in", "/w/in-side", "/w/z"]);
    let found = ["/w/a:1:needle outside", "/w/in-side:1:needle outside", "/w/z:1:needle outside"];
    assert_eq!(world.search("/w", "needle"), found);
    assert_eq!(denied(world.read_part("/w/in/inner", 0..1)), DenyRule::Scope);
}

pub fn a_directory_that_holds_a_workspace_stays(fixture: &Fixture) {
    let world = fixture.world_of(&[Space::at("/w"), Space::at("/w/d/in")]);
    world.seed(0, "d/f", "x");
    for path in ["/w/d", "/w/d/in"] {
        assert_eq!(denied(world.delete_all(path)), DenyRule::HoldsWorkspace, "{path}");
        assert_eq!(denied(world.rename(path, "/w/e")), DenyRule::HoldsWorkspace, "{path}");
    }
    assert_eq!(world.held(0, "d/f").as_deref(), Some("x"));
}
