//! Links are judged at where they lead, whatever they lead through.

use paddock_core::{AccessScope, DenyRule, ErrorKind, Expect};
use paddock_stores::conformance::world::{browse, denied, error, search};
use paddock_stores::conformance::{Space, World};

use crate::common::world;

const RO: AccessScope = AccessScope::ReadOnly;
const WO: AccessScope = AccessScope::WriteOnly;

/// `/w` with links of its own, and Workspaces nested in it.
fn linked() -> World {
    let world = world(&[Space::at("/w").hide(&["secret"]), Space::at("/w/ro").scope(RO), Space::at("/w/wo").scope(WO)]);
    for path in ["ro/f", "wo/f"] {
        world.seed(0, path, "shadowed");
    }
    world.seed(0, "secret/f", "hidden");
    world.seed(0, ".git/config", "guarded");
    world.seed(1, "f", "needle ro\n");
    world.seed(2, "f", "needle wo\n");
    for (link, target) in [
        ("to-ro", "ro"),
        ("to-wo", "wo"),
        ("to-secret", "secret"),
        ("to-config", ".git/config"),
        ("chain", "to-ro"),
        ("round", "ro/../secret"),
        ("d/from-top", "/ro"),
    ] {
        world.link(link, target);
    }
    world
}

#[test]
fn a_link_into_a_nested_workspace_obeys_the_nested_scope() {
    let world = linked();
    for path in ["/w/to-ro/f", "/w/chain/f", "/w/d/from-top/f"] {
        assert_eq!(world.text(path), "needle ro\n", "{path}");
        assert_eq!(denied(world.try_write(path, "x", Expect::Any)), DenyRule::Scope, "{path}");
        assert_eq!(denied(world.edit(path, "ro", "x")), DenyRule::Scope, "{path}");
    }
    assert_eq!(world.list("/w/to-ro"), ["/w/ro/f"]);
    assert_eq!(world.search("/w/chain", "needle"), ["/w/ro/f:1:needle ro"]);
    assert_eq!(denied(world.make_dir("/w/to-ro/d")), DenyRule::Scope);
    assert_eq!(denied(world.rename("/w/to-ro/f", "/w/stolen")), DenyRule::Scope);
    assert_eq!(denied(world.delete("/w/to-ro/f")), DenyRule::Scope);
    assert_eq!(world.held(0, "ro/f").as_deref(), Some("shadowed"));
}

#[test]
fn a_link_into_a_write_only_workspace_gives_nothing_back() {
    let world = linked();
    assert_eq!(denied(world.read_part("/w/to-wo/f", 0..1)), DenyRule::Scope);
    assert_eq!(denied(world.browse(&browse("/w/to-wo"))), DenyRule::Scope);
    assert_eq!(denied(world.search_for("/w/to-wo", &search("needle"))), DenyRule::Scope);
    let there = format!("{:?}", world.append("/w/to-wo/f", "more\n").unwrap());
    let absent = format!("{:?}", world.append("/w/to-wo/new", "more\n").unwrap());
    assert_eq!(there, absent);
    assert_eq!(world.held(2, "f").as_deref(), Some("needle wo\nmore\n"));
    assert_eq!(world.held(0, "wo/f").as_deref(), Some("shadowed"));
}

#[test]
fn a_link_to_a_hidden_place_leads_nowhere() {
    let world = linked();
    for path in ["/w/to-secret/f", "/w/to-secret", "/w/round/f"] {
        assert_eq!(denied(world.read_part(path, 0..1)), DenyRule::Hidden, "read {path}");
        assert_eq!(denied(world.try_write(path, "x", Expect::Any)), DenyRule::Hidden, "write {path}");
        assert_eq!(denied(world.browse(&browse(path))), DenyRule::Hidden, "list {path}");
        assert_eq!(denied(world.search_for(path, &search("x"))), DenyRule::Hidden, "search {path}");
    }
    assert_eq!(denied(world.delete("/w/to-secret/f")), DenyRule::Hidden);
    assert_eq!(denied(world.rename("/w/to-secret/f", "/w/g")), DenyRule::Hidden);
    assert_eq!(world.held(0, "secret/f").as_deref(), Some("hidden"));
}

#[test]
fn a_link_to_a_guarded_file_is_read_and_not_written() {
    let world = linked();
    assert_eq!(world.text("/w/to-config"), "guarded");
    assert!(matches!(denied(world.try_write("/w/to-config", "x", Expect::Any)), DenyRule::Guarded(_)));
    assert!(matches!(denied(world.append("/w/to-config", "x")), DenyRule::Guarded(_)));
    assert_eq!(world.held(0, ".git/config").as_deref(), Some("guarded"));
}

#[test]
fn a_link_in_a_workspace_that_denies_is_not_even_followed() {
    let world = world(&[Space::at("/w").scope(RO), Space::at("/v")]);
    world.seed(0, "f", "x");
    world.link("l", "f");
    assert_eq!(world.text("/w/l"), "x");
    assert_eq!(denied(world.try_write("/w/l", "y", Expect::Any)), DenyRule::Scope);
}

#[test]
fn a_move_through_a_link_is_judged_at_both_real_ends() {
    let world = linked();
    world.seed(0, "d/f", "x");
    world.link("to-d", "d");
    world.rename("/w/to-d/f", "/w/to-d/g").unwrap();
    assert_eq!(world.held(0, "d/g").as_deref(), Some("x"));
    assert_eq!(denied(world.rename("/w/d/g", "/w/to-ro/g")), DenyRule::Scope);
    assert_eq!(denied(world.rename("/w/d/g", "/w/to-secret/g")), DenyRule::Hidden);
    assert_eq!(world.held(0, "d/g").as_deref(), Some("x"));
}

#[test]
fn links_that_lead_out_or_in_circles_end_in_an_error() {
    let world = linked();
    world.link("out", "../../etc");
    world.link("ping", "pong");
    world.link("pong", "ping");
    for path in ["/w/out/passwd", "/w/ping"] {
        assert_eq!(error(world.read_part(path, 0..1)), ErrorKind::LinkEscapes);
        assert_eq!(error(world.try_write(path, "x", Expect::Any)), ErrorKind::LinkEscapes);
    }
    assert_eq!(world.list("/w").iter().filter(|path| path.contains("out") || path.contains("ng")).count(), 3);
}
