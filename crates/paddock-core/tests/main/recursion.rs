//! Recursive deletes and moves: every path inside is judged, and one denied path refuses the whole.

use paddock_core::{AccessScope, DenyRule, Refused};
use paddock_stores::conformance::world::denied;
use paddock_stores::conformance::{Space, World};

use crate::common::world;

/// A directory with ordinary files and one that may not be touched.
fn holding(inside: &str) -> World {
    let world = world(&[Space::at("/w").hide(&["secret"]), Space::at("/v").hide(&["private"])]);
    for path in ["d/a", inside, "d/z/z"] {
        world.seed(0, path, "x");
    }
    world
}

fn unchanged(world: &World, inside: &str) {
    for path in ["d/a", inside, "d/z/z"] {
        assert_eq!(world.held(0, path).as_deref(), Some("x"), "{path} is where it was");
    }
    assert!(world.contents(1).is_empty());
}

#[test]
fn a_hidden_path_inside_keeps_everything_where_it_is() {
    for inside in ["d/secret", "d/k/secret", "d/secret/deep/f", "d/SECRET"] {
        let world = holding(inside);
        for outcome in [world.delete_all("/w/d"), world.rename("/w/d", "/w/e"), world.rename("/w/d", "/v/e")] {
            assert!(matches!(&outcome, Err(Refused::DeniedInside(_))), "{inside}: {outcome:?}");
            assert_eq!(denied(outcome), DenyRule::Hidden);
        }
        unchanged(&world, inside);
    }
}

#[test]
fn a_guarded_path_inside_keeps_everything_where_it_is() {
    for inside in ["d/.git/hooks/pre-commit", "d/repo/.git/config", "d/.envrc", "d/.vscode/tasks.json", "d/.git"] {
        let world = holding(inside);
        for outcome in [world.delete_all("/w/d"), world.rename("/w/d", "/w/e"), world.rename("/w/d", "/v/e")] {
            assert!(matches!(denied(outcome), DenyRule::Guarded(_)), "{inside}");
        }
        unchanged(&world, inside);
    }
}

#[test]
fn without_it_the_same_directory_goes() {
    let world = holding("d/ordinary");
    world.rename("/w/d", "/v/e").unwrap();
    assert_eq!(world.list("/"), ["/v", "/v/e", "/v/e/a", "/v/e/ordinary", "/v/e/z", "/v/e/z/z", "/w"]);
    world.delete_all("/v/e").unwrap();
    assert_eq!(world.list("/"), ["/v", "/w"]);
}

#[test]
fn what_would_be_hidden_where_it_arrives_does_not_go_there() {
    let world = holding("d/k/private");
    assert_eq!(denied(world.rename("/w/d", "/v/e")), DenyRule::Hidden);
    unchanged(&world, "d/k/private");
    world.rename("/w/d", "/w/e").unwrap();
    assert_eq!(world.held(0, "e/k/private").as_deref(), Some("x"));
}

#[test]
fn what_would_be_guarded_where_it_arrives_does_not_go_there() {
    let world = world(&[Space::at("/w")]);
    world.seed(0, "innocent/pre-commit", "x");
    world.seed(0, "hooks/pre-commit", "x");
    world.seed(0, "repo/.git/HEAD", "x");
    assert!(matches!(denied(world.rename("/w/innocent", "/w/repo/.git/hooks")), DenyRule::Guarded(_)));
    world.seed(0, "half/hooks/pre-commit", "x");
    assert!(matches!(denied(world.rename("/w/half", "/w/other/.git")), DenyRule::Guarded(_)));
    assert_eq!(world.held(0, "half/hooks/pre-commit").as_deref(), Some("x"));
}

#[test]
fn nothing_arrives_under_a_nested_workspace() {
    for scope in AccessScope::ALL {
        let world = world(&[Space::at("/w"), Space::at("/w/on/way").scope(scope)]);
        world.seed(0, "d/way/f", "x");
        let rule = denied(world.rename("/w/d", "/w/on"));
        assert!(matches!(rule, DenyRule::HoldsWorkspace | DenyRule::Scope), "{scope}: {rule:?}");
        assert_eq!(world.held(0, "d/way/f").as_deref(), Some("x"));
        assert!(world.held(0, "on/way/f").is_none() && world.contents(1).is_empty());
    }
}

#[test]
fn a_workspace_and_what_holds_one_stay() {
    let world = world(&[Space::at("/w"), Space::at("/w/d/in/deep")]);
    world.seed(0, "d/f", "x");
    world.seed(1, "g", "y");
    for path in ["/w", "/w/d", "/w/d/in/deep"] {
        assert_eq!(denied(world.delete_all(path)), DenyRule::HoldsWorkspace, "{path}");
        assert_eq!(denied(world.rename(path, "/w/e")), DenyRule::HoldsWorkspace, "{path}");
    }
    assert_eq!(denied(world.rename("/w/d/f", "/w/d/in/deep")), DenyRule::HoldsWorkspace);
    assert_eq!((world.held(0, "d/f").as_deref(), world.held(1, "g").as_deref()), (Some("x"), Some("y")));
}
