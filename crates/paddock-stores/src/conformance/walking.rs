//! Listing: order, depth, paging, and what ignore files leave out.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{Browse, ErrorKind, Kind};

use super::world::{browse, error, path_of, paths};
use super::{Fixture, World};

/// A tree with names that sort differently as text and as paths.
fn grow(world: &World) {
    for path in ["a-b", "a/z", "a/b/c", "a/b-c", "a.txt", "B", "ab/x", "z/1/2/3/4"] {
        world.write(&format!("/w/{path}"), path);
    }
    world.make_dir("/w/empty").unwrap();
}

const GROWN: &[&str] = &[
    "/w/B",
    "/w/a",
    "/w/a/b",
    "/w/a/b/c",
    "/w/a/b-c",
    "/w/a/z",
    "/w/a-b",
    "/w/a.txt",
    "/w/ab",
    "/w/ab/x",
    "/w/empty",
    "/w/z",
    "/w/z/1",
    "/w/z/1/2",
    "/w/z/1/2/3",
    "/w/z/1/2/3/4",
];

pub fn entries_come_in_tree_order(fixture: &Fixture) {
    let world = fixture.world();
    grow(&world);
    assert_eq!(world.list("/w"), GROWN);
}

pub fn entries_tell_what_they_are(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    let found = world.browse(&browse("/w")).unwrap().found;
    assert_eq!(found.iter().map(|f| (f.kind, f.plain)).collect::<Vec<_>>(), [(Kind::Dir, true), (Kind::File, true)]);
}

pub fn depth_bounds_how_far_it_goes(fixture: &Fixture) {
    let world = fixture.world();
    grow(&world);
    for depth in 0..6 {
        let listed = paths(&world.browse(&Browse { depth: Some(depth), ..browse("/w") }).unwrap());
        let level = |path: &str| path.matches('/').count() - 1;
        let expected: Vec<&str> = GROWN.iter().copied().filter(|path| level(path) <= depth as usize).collect();
        assert_eq!(listed, expected, "depth {depth}");
    }
}

pub fn a_listing_starts_anywhere(fixture: &Fixture) {
    let world = fixture.world();
    grow(&world);
    assert_eq!(world.list("/w/a"), ["/w/a/b", "/w/a/b/c", "/w/a/b-c", "/w/a/z"]);
    assert_eq!(world.list("/w/empty"), [""; 0]);
    assert_eq!(paths(&world.browse(&Browse { depth: Some(1), ..browse("/w/z/1") }).unwrap()), ["/w/z/1/2"]);
}

pub fn only_a_directory_is_listed(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    assert_eq!(error(world.browse(&browse("/w/f"))), ErrorKind::NotADirectory);
    assert_eq!(error(world.browse(&browse("/w/none"))), ErrorKind::NotFound);
}

pub fn an_empty_workspace_lists_as_empty(fixture: &Fixture) {
    assert_eq!(fixture.world().list("/w"), [""; 0]);
}

pub fn pages_meet_each_entry_exactly_once(fixture: &Fixture) {
    let world = fixture.world();
    grow(&world);
    world.write("/w/.gitignore", "ab/\n");
    for (depth, skip_ignored) in [(None, false), (None, true), (Some(2), false), (Some(2), true)] {
        let all = Browse { depth, skip_ignored, ..browse("/w") };
        let whole = paths(&world.browse(&all).unwrap());
        for limit in [1, 2, 3, 7, 100] {
            assert_eq!(page_through(&world, &all, limit), whole, "{limit} at a time, depth {depth:?}");
        }
    }
}

fn page_through(world: &World, all: &Browse, limit: usize) -> Vec<String> {
    let mut met: Vec<String> = Vec::new();
    loop {
        let after = met.last().map(|last| path_of(last));
        let page = world.browse(&Browse { limit, after, ..all.clone() }).unwrap();
        assert!(page.found.len() <= limit);
        met.extend(paths(&page));
        if !page.more {
            return met;
        }
        assert_eq!(page.found.len(), limit, "only a full page has more after it");
    }
}

pub fn a_page_goes_on_after_what_is_gone(fixture: &Fixture) {
    let world = fixture.world();
    grow(&world);
    let listed = |after: &str| {
        let page = world.browse(&Browse { after: Some(path_of(after)), limit: 2, ..browse("/w") });
        paths(&page.unwrap())
    };
    assert_eq!(listed("/w/a/b/c-never-was"), ["/w/a/b-c", "/w/a/z"]);
    assert_eq!(listed("/w/a/zz/deep"), ["/w/a-b", "/w/a.txt"]);
    assert_eq!(listed("/w/zz"), [""; 0]);
}

pub fn ignore_files_count_only_when_asked_for(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/.gitignore", "*.log\n/build/\n# a note\n\n!keep.log\n");
    world.write("/w/sub/.ignore", "private\n");
    for path in ["a.log", "keep.log", "build/x", "sub/build/x", "sub/b.log", "sub/private/x", "src/main.rs"] {
        world.write(&format!("/w/{path}"), "x");
    }
    world.seed(0, ".git/HEAD", "x");
    let skipping = paths(&world.browse(&Browse { skip_ignored: true, ..browse("/w") }).unwrap());
    let shown = [
        "/w/.gitignore",
        "/w/keep.log",
        "/w/src",
        "/w/src/main.rs",
        "/w/sub",
        "/w/sub/.ignore",
        "/w/sub/build",
        "/w/sub/build/x",
    ];
    assert_eq!(skipping, shown);
    let everything = world.list("/w");
    for path in ["/w/a.log", "/w/build/x", "/w/sub/b.log", "/w/sub/private/x", "/w/.git/HEAD"] {
        assert!(everything.iter().any(|listed| listed == path), "{path}");
    }
}

pub fn ignore_files_above_the_start_count_too(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/.gitignore", "*.log\n/a/b/skip\n");
    world.write("/w/a/.gitignore", "*.tmp\n");
    for path in ["a/b/x.log", "a/b/x.tmp", "a/b/skip", "a/b/x.rs"] {
        world.write(&format!("/w/{path}"), "x");
    }
    let listed = paths(&world.browse(&Browse { skip_ignored: true, ..browse("/w/a/b") }).unwrap());
    assert_eq!(listed, ["/w/a/b/x.rs"]);
}

pub fn a_glob_finds_files_by_name_or_by_path(fixture: &Fixture) {
    let world = fixture.world();
    for path in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.txt", "x.rs/inner.txt"] {
        world.write(&format!("/w/{path}"), "x");
    }
    assert_eq!(world.find("/w", "*.rs"), ["/w/a.rs", "/w/src/b.rs", "/w/src/deep/c.rs"]);
    assert_eq!(world.find("/w", "src/*.rs"), ["/w/src/b.rs"]);
    assert_eq!(world.find("/w", "src/**/*.{rs,txt}"), ["/w/src/b.rs", "/w/src/d.txt", "/w/src/deep/c.rs"]);
    assert_eq!(world.find("/w/src", "*.rs"), ["/w/src/b.rs", "/w/src/deep/c.rs"]);
    assert_eq!(world.find("/w", "nothing*"), [""; 0]);
}

pub fn a_directory_of_thousands_is_listed_in_order(fixture: &Fixture) {
    let world = fixture.world();
    let mut expected: Vec<String> = (0..2000).map(|i| format!("/w/d/{i}")).collect();
    for path in &expected {
        world.write(path, "");
    }
    expected.sort();
    assert_eq!(world.list("/w/d"), expected);
}
