//! Nested Workspaces are real boundaries: what is listed, found and searched across them.

use paddock_core::{AccessScope, Browse, ErrorKind, Kind, Search};
use paddock_stores::conformance::world::{browse, denied, error, lines, path_of, paths, search};
use paddock_stores::conformance::{Space, World};

use crate::common::world;

const RO: AccessScope = AccessScope::ReadOnly;
const WO: AccessScope = AccessScope::WriteOnly;

/// Four levels and neighbours, with names that sort differently as text and as paths.
fn layered() -> World {
    let world = world(&[
        Space::at("/p"),
        Space::at("/p/a").scope(RO),
        Space::at("/p/a/in/b"),
        Space::at("/p/a/in/c").scope(RO),
        Space::at("/p/drop").scope(WO),
        Space::at("/p/drop/open").scope(RO),
        Space::at("/q").scope(RO),
    ]);
    for (n, files) in [
        (0, &["0", "a/shadowed", "a-b", "drop/shadowed", "z"][..]),
        (1, &["in/b/shadowed", "in/a", "in/z", "f"]),
        (2, &["deep/f", "g"]),
        (3, &["h"]),
        (4, &["secret", "open/shadowed"]),
        (5, &["o"]),
        (6, &["i"]),
    ] {
        for path in files {
            world.seed(n, path, format!("needle {n}\n"));
        }
    }
    world
}

const EVERYTHING: &[&str] = &[
    "/p",
    "/p/0",
    "/p/a",
    "/p/a/f",
    "/p/a/in",
    "/p/a/in/a",
    "/p/a/in/b",
    "/p/a/in/b/deep",
    "/p/a/in/b/deep/f",
    "/p/a/in/b/g",
    "/p/a/in/c",
    "/p/a/in/c/h",
    "/p/a/in/z",
    "/p/a-b",
    "/p/drop",
    "/p/drop/open",
    "/p/drop/open/o",
    "/p/z",
    "/q",
    "/q/i",
];

#[test]
fn everything_is_listed_in_tree_order_across_workspaces() {
    assert_eq!(layered().list("/"), EVERYTHING);
}

#[test]
fn workspaces_are_told_with_their_scope_and_only_they() {
    let found = layered().browse(&browse("/")).unwrap().found;
    let scopes: Vec<(&str, &str)> = found.iter().filter_map(|f| f.scope.map(|scope| (f.path, scope.short()))).collect();
    let expected = [
        ("/p", "RW"),
        ("/p/a", "RO"),
        ("/p/a/in/b", "RW"),
        ("/p/a/in/c", "RO"),
        ("/p/drop", "WO"),
        ("/p/drop/open", "RO"),
        ("/q", "RO"),
    ];
    assert_eq!(scopes, expected);
    assert!(found.iter().filter(|f| f.scope.is_some()).all(|f| f.kind == Kind::Dir));
}

#[test]
fn a_listing_starts_at_any_level() {
    let world = layered();
    for start in ["/p", "/p/a", "/p/a/in", "/p/a/in/b", "/q"] {
        let below = format!("{start}/");
        let expected: Vec<&str> = EVERYTHING.iter().copied().filter(|path| path.starts_with(&below)).collect();
        assert_eq!(world.list(start), expected, "{start}");
    }
}

#[test]
fn depth_counts_across_workspaces() {
    let world = layered();
    for start in ["/", "/p", "/p/a"] {
        for depth in 1..6 {
            let below = |path: &&str| *path != start && path.starts_with(start);
            let level =
                |path: &str| path.matches('/').count() - if start == "/" { 0 } else { start.matches('/').count() };
            let inside = |path: &&str| start == "/" || path.starts_with(&format!("{start}/"));
            let expected: Vec<&str> = EVERYTHING
                .iter()
                .copied()
                .filter(below)
                .filter(inside)
                .filter(|path| level(path) <= depth as usize)
                .collect();
            let listed = paths(&world.browse(&Browse { depth: Some(depth), ..browse(start) }).unwrap());
            assert_eq!(listed, expected, "{start} at depth {depth}");
        }
    }
}

#[test]
fn pages_across_workspaces_meet_each_entry_once() {
    let world = layered();
    for limit in 1..=EVERYTHING.len() + 1 {
        let mut met: Vec<String> = Vec::new();
        loop {
            let after = met.last().map(|last| path_of(last));
            let page = world.browse(&Browse { limit, after, ..browse("/") }).unwrap();
            met.extend(paths(&page));
            if !page.more {
                break;
            }
            assert_eq!(page.found.len(), limit);
        }
        assert_eq!(met, EVERYTHING, "{limit} at a time");
    }
}

#[test]
fn a_page_may_go_on_anywhere() {
    let world = layered();
    for after in EVERYTHING.iter().copied().chain(["/p/a/in/b/zz", "/p/nothing/here", "/p/drop/secret", "/a", "/z"]) {
        let page = world.browse(&Browse { after: Some(path_of(after)), ..browse("/") }).unwrap();
        let expected: Vec<&str> = EVERYTHING.iter().copied().filter(|path| path_of(path) > path_of(after)).collect();
        assert_eq!(paths(&page), expected, "after {after}");
    }
}

#[test]
fn what_no_workspace_covers_shows_only_the_way_to_them() {
    let world = world(&[Space::at("/x/y/one"), Space::at("/x/y/two").scope(WO), Space::at("/x/z/three").scope(RO)]);
    world.seed(0, "f", "");
    world.seed(1, "g", "");
    let top = paths(&world.browse(&Browse { depth: Some(1), ..browse("/") }).unwrap());
    assert_eq!(top, ["/x"]);
    assert_eq!(world.list("/x"), ["/x/y", "/x/y/one", "/x/y/one/f", "/x/y/two", "/x/z", "/x/z/three"]);
    assert_eq!(world.list("/x/y"), ["/x/y/one", "/x/y/one/f", "/x/y/two"]);
    denied(world.browse(&browse("/elsewhere")));
    denied(world.browse(&browse("/x/y/none")));
    denied(world.read_part("/x", 0..1));
}

#[test]
fn a_search_crosses_under_the_scope_of_each() {
    let world = layered();
    let found = [
        "/p/0:1:needle 0",
        "/p/a/f:1:needle 1",
        "/p/a/in/a:1:needle 1",
        "/p/a/in/b/deep/f:1:needle 2",
        "/p/a/in/b/g:1:needle 2",
        "/p/a/in/c/h:1:needle 3",
        "/p/a/in/z:1:needle 1",
        "/p/a-b:1:needle 0",
        "/p/drop/open/o:1:needle 5",
        "/p/z:1:needle 0",
        "/q/i:1:needle 6",
    ];
    assert_eq!(world.search("/", "needle"), found);
    assert_eq!(world.search("/p/a/in", "needle"), found[2..7]);
    for limit in 0..found.len() + 1 {
        let hits = world.search_for("/", &Search { limit, ..search("needle") }).unwrap();
        assert_eq!(lines(&hits), found[..limit.min(found.len())]);
        assert_eq!(hits.more, limit < found.len());
    }
}

#[test]
fn a_glob_counts_from_where_the_search_started() {
    let world = layered();
    assert_eq!(world.find("/p", "a/in/b/*"), ["/p/a/in/b/g"]);
    assert_eq!(world.find("/p/a/in", "b/*"), ["/p/a/in/b/g"]);
    assert_eq!(world.find("/p/a/in", "*/deep/*"), ["/p/a/in/b/deep/f"]);
    assert_eq!(world.find("/", "*/drop/**"), ["/p/drop/open/o"]);
}

#[test]
fn a_nested_workspace_whose_store_is_empty_is_still_there() {
    let world = world(&[Space::at("/p"), Space::at("/p/new/in").scope(RO)]);
    assert_eq!(world.list("/p"), ["/p/new", "/p/new/in"]);
    assert_eq!(world.list("/p/new"), ["/p/new/in"], "the way to it can be listed although no Store holds it");
    assert_eq!(world.list("/p/new/in"), [""; 0]);
    assert_eq!(error(world.browse(&browse("/p/other"))), ErrorKind::NotFound);
}

#[test]
fn neighbours_below_one_missing_directory_show_it_once() {
    let world = world(&[Space::at("/p"), Space::at("/p/m/a"), Space::at("/p/m/b"), Space::at("/p/m/b/c")]);
    assert_eq!(world.list("/p"), ["/p/m", "/p/m/a", "/p/m/b", "/p/m/b/c"]);
}

#[test]
fn a_file_on_the_way_to_a_workspace_is_listed_once() {
    let world = world(&[Space::at("/p"), Space::at("/p/x/in")]);
    world.seed(0, "x", "a file");
    world.seed(1, "f", "");
    assert_eq!(world.list("/p"), ["/p/x", "/p/x/in", "/p/x/in/f"]);
    assert_eq!(world.text("/p/x"), "a file");
}

#[test]
fn ignore_files_do_not_hide_a_workspace() {
    let world = world(&[Space::at("/p").scope(RO), Space::at("/p/workspace")]);
    world.seed(0, ".gitignore", "workspace/\n*.log\n");
    world.seed(0, "a.log", "needle");
    world.seed(1, "b.log", "needle");
    let listed = paths(&world.browse(&Browse { skip_ignored: true, ..browse("/p") }).unwrap());
    assert_eq!(listed, ["/p/.gitignore", "/p/workspace", "/p/workspace/b.log"]);
    let hits = world.search_for("/p", &Search { skip_ignored: true, ..search("needle") }).unwrap();
    assert_eq!(lines(&hits), ["/p/workspace/b.log:1:needle"]);
}

#[test]
fn a_hidden_name_of_the_outer_one_does_not_hide_the_inner() {
    let world = world(&[Space::at("/p").hide(&["in"]), Space::at("/p/in").hide(&["out"])]);
    world.seed(0, "in/f", "outer");
    world.seed(0, "out", "outer");
    world.seed(1, "f", "inner");
    world.seed(1, "out", "inner");
    assert_eq!(world.list("/p"), ["/p/in", "/p/in/f", "/p/out"]);
    assert_eq!(world.text("/p/in/f"), "inner");
}
