//! Two Mounts of one place: found at load where the scopes disagree and the nesting does not say why.

#![allow(clippy::result_large_err, reason = "the error is met once, when a configuration is loaded")]

use std::sync::Arc;

use paddock_core::{
    AccessScope, BuildError, Call, Gate, HidePattern, Mount, NameRules, NoJournal, Origin, Passed, Permit, Plan,
    Refused, Request, Territory, Vfs, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_stores::conformance::world::path_of;

const RO: AccessScope = AccessScope::ReadOnly;
const RW: AccessScope = AccessScope::ReadWrite;
const WO: AccessScope = AccessScope::WriteOnly;

struct Shut;

impl Gate for Shut {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, _: Permit) -> Result<Passed, Refused> {
        Err(Refused::Gate("nothing passes".to_owned()))
    }
}

fn at_line(prefix: &str, scope: AccessScope, place: &str, line: u32) -> Workspace {
    let names = place.split('/').filter(|name| !name.is_empty());
    let mount = Mount::new(Arc::new(MemoryStore::new()), Some(Territory::new("disk", names)));
    Workspace::new(path_of(prefix), scope, mount).with_origin(Origin::new("paddock.toml", line))
}

/// Workspaces by prefix, scope and the place they reach.
fn build(spaces: &[(&str, AccessScope, &str)]) -> Result<Vfs, BuildError> {
    let workspaces = spaces.iter().zip(1..).map(|((prefix, scope, place), line)| at_line(prefix, *scope, place, line));
    Vfs::new(workspaces.collect(), Arc::new(Shut), Arc::new(NoJournal))
}

fn alias(spaces: &[(&str, AccessScope, &str)]) -> Option<(String, String, String)> {
    // The answer must not depend on the order in which they were written.
    let told: Vec<bool> =
        (0..spaces.len()).map(|turn| build(&[&spaces[turn..], &spaces[..turn]].concat()).is_err()).collect();
    assert!(told.iter().all(|refused| *refused == told[0]), "{told:?}");
    match build(spaces) {
        Ok(_) => None,
        Err(BuildError::Alias { outer, seen_as, inner, .. }) => {
            Some((outer.to_string(), seen_as.to_string(), inner.to_string()))
        }
        Err(other) => panic!("{other}"),
    }
}

fn names(outer: &str, seen_as: &str, inner: &str) -> Option<(String, String, String)> {
    Some((outer.to_owned(), seen_as.to_owned(), inner.to_owned()))
}

#[test]
fn nesting_explains_a_place_that_is_reached_twice() {
    assert_eq!(alias(&[("/p", RO, "/home/p"), ("/p/w", RW, "/home/p/w")]), None);
}

#[test]
fn a_place_seen_under_two_scopes_is_an_error_that_names_both() {
    let spaces = [("/p", RO, "/home/p"), ("/w", RW, "/home/p/w")];
    assert_eq!(alias(&spaces), names("/p", "/p/w", "/w"));
    let told = build(&spaces).unwrap_err().to_string();
    for part in ["/p", "/w", "paddock.toml:1", "paddock.toml:2", "READ_ONLY", "READ_WRITE", "/p/w"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn the_same_place_twice_needs_the_same_scope() {
    assert_eq!(alias(&[("/a", RW, "/home/p"), ("/b", RW, "/home/p")]), None);
    assert!(alias(&[("/a", RW, "/home/p"), ("/b", RO, "/home/p")]).is_some());
    assert!(alias(&[("/a", WO, "/home/p"), ("/b", RW, "/home/p/sub")]).is_some());
}

#[test]
fn other_places_are_no_alias() {
    assert_eq!(alias(&[("/a", RO, "/home/p"), ("/b", RW, "/home/px"), ("/c", WO, "/home/q/p")]), None);
}

#[test]
fn places_of_different_realms_never_meet() {
    let mount = |realm: &str| Mount::new(Arc::new(MemoryStore::new()), Some(Territory::new(realm, ["x"])));
    let spaces =
        vec![Workspace::new(path_of("/a"), RO, mount("disk")), Workspace::new(path_of("/b"), RW, mount("notes"))];
    assert!(Vfs::new(spaces, Arc::new(Shut), Arc::new(NoJournal)).is_ok());
}

#[test]
fn a_nested_workspace_in_the_wrong_spot_explains_nothing() {
    // The outer one still shows the place at /p/w; what is nested stands elsewhere in it.
    assert_eq!(alias(&[("/p", RO, "/home/p"), ("/p/other", RW, "/home/p/w")]), names("/p", "/p/w", "/p/other"));
}

#[test]
fn another_workspace_over_the_spot_explains_it() {
    // What the outer one would show at /p/w is shadowed by something else entirely.
    assert_eq!(alias(&[("/p", RO, "/home/p"), ("/p/w", RO, "/elsewhere"), ("/w", RW, "/home/p/w")]), None);
}

#[test]
fn a_mount_that_contains_its_enclosing_one_is_found() {
    assert_eq!(alias(&[("/p", RO, "/home/p"), ("/p/all", RW, "/home")]), names("/p/all", "/p/all/p", "/p"));
}

#[test]
fn three_levels_explain_each_other() {
    let spaces = [("/p", RO, "/h"), ("/p/a", RW, "/h/a"), ("/p/a/b", RO, "/h/a/b")];
    assert_eq!(alias(&spaces), None);
    let with_a_hole = [("/p", RO, "/h"), ("/p/a", RW, "/h/a"), ("/p/c", RO, "/h/a/b")];
    assert_eq!(alias(&with_a_hole), names("/p/a", "/p/a/b", "/p/c"));
    let deep = [("/p", RO, "/h"), ("/p/a/b", RW, "/h/a/b"), ("/x", WO, "/h/a/b/c")];
    assert_eq!(alias(&deep), names("/p/a/b", "/p/a/b/c", "/x"));
}

#[test]
fn a_place_that_the_outer_one_hides_is_not_seen_twice() {
    let hide = |text: &str| {
        let pattern = HidePattern { text: text.to_owned(), origin: Origin::unknown() };
        NameRules::new(vec![pattern], &[], &[]).unwrap()
    };
    let build = |pattern: &str| {
        let outer = at_line("/p", RO, "/home/p", 1).with_names(hide(pattern));
        let inner = at_line("/w", RW, "/home/p/secret/w", 2);
        Vfs::new(vec![outer, inner], Arc::new(Shut), Arc::new(NoJournal))
    };
    assert!(build("secret").is_ok());
    assert!(build("/secret/w").is_ok());
    assert!(build("other").is_err());
}

#[test]
fn two_workspaces_at_one_prefix_are_an_error() {
    let told = build(&[("/p", RO, "/a"), ("/q", RO, "/c"), ("/p", RO, "/b")]).unwrap_err();
    assert!(matches!(&told, BuildError::SamePrefix { prefix, .. } if prefix.as_str() == "/p"), "{told}");
    assert!(told.to_string().contains("paddock.toml:1") && told.to_string().contains("paddock.toml:3"), "{told}");
}

#[test]
fn every_name_of_a_place_is_found() {
    let vfs = build(&[("/a", RW, "x"), ("/b", RW, "x"), ("/a/deep", RW, "x/y"), ("/other", RW, "z")]).unwrap();
    let names = |text: &str| vfs.names_of(&path_of(text)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names("/a/todo.md"), ["/a/todo.md", "/b/todo.md"]);
    assert_eq!(names("/b/y/todo.md"), ["/b/y/todo.md", "/a/y/todo.md", "/a/deep/todo.md"]);
    assert_eq!(names("/other/todo.md"), ["/other/todo.md"]);
    assert_eq!(names("/nowhere"), ["/nowhere"]);
}
