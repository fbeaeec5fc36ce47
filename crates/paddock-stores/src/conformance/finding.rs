//! Searching contents: order, limits, context, and what is left out.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{ErrorKind, PathGlob, Search};

use super::Fixture;
use super::world::{error, lines, path_of, search};

pub fn matching_lines_come_in_tree_order(fixture: &Fixture) {
    let world = fixture.world();
    for path in ["a-b", "a/z", "a/b/c", "z"] {
        world.write(&format!("/w/{path}"), "no\nneedle here\nno\nneedle\n");
    }
    let expected: Vec<String> = ["a/b/c", "a/z", "a-b", "z"]
        .iter()
        .flat_map(|path| [format!("/w/{path}:2:needle here"), format!("/w/{path}:4:needle")])
        .collect();
    assert_eq!(world.search("/w", "needle"), expected);
}

pub fn the_first_matches_are_told_and_that_there_are_more(fixture: &Fixture) {
    let world = fixture.world();
    for path in ["c", "b", "a"] {
        world.write(&format!("/w/{path}"), "x1\nx2\nx3\n");
    }
    for limit in 1..=9 {
        let hits = world.search_for("/w", &Search { limit, ..search("x") }).unwrap();
        let all = world.search("/w", "x");
        assert_eq!(lines(&hits), all[..limit], "limit {limit}");
        assert_eq!(hits.more, limit < 9, "limit {limit}");
    }
}

pub fn many_files_give_the_same_answer_every_time(fixture: &Fixture) {
    let world = fixture.world();
    for i in 0..300 {
        world.write(&format!("/w/{}/{i}", i % 7), format!("line\nx{i}\n"));
    }
    let first = lines(&world.search_for("/w", &Search { limit: 20, ..search("x") }).unwrap());
    let all = world.search("/w", "x");
    assert_eq!(first, all[..20]);
    for _ in 0..10 {
        assert_eq!(lines(&world.search_for("/w", &Search { limit: 20, ..search("x") }).unwrap()), first);
    }
}

pub fn context_lines_come_along(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "1\n2\nx3\n4\n5\n6\nx7\n8\n");
    let with_context = Search { context: 1, ..search("x") };
    let expected = ["/w/f-2-2", "/w/f:3:x3", "/w/f-4-4", "/w/f-6-6", "/w/f:7:x7", "/w/f-8-8"];
    assert_eq!(lines(&world.search_for("/w", &with_context).unwrap()), expected);
}

pub fn context_of_a_match_past_the_limit_is_not_told(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "1\nx2\n3\n4\n5\nx6\n");
    world.write("/w/b", "1\nx2\n");
    let search = Search { context: 1, limit: 1, ..search("x") };
    let hits = world.search_for("/w", &search).unwrap();
    assert_eq!(lines(&hits), ["/w/a-1-1", "/w/a:2:x2", "/w/a-3-3"]);
    assert!(hits.more);
}

pub fn a_glob_chooses_files(fixture: &Fixture) {
    let world = fixture.world();
    for path in ["a.rs", "src/b.rs", "src/c.txt"] {
        world.write(&format!("/w/{path}"), "x\n");
    }
    let in_files = |start: &str, glob: &str| {
        let glob = Some(PathGlob::parse(glob).unwrap());
        lines(&world.search_for(start, &Search { glob, ..search("x") }).unwrap())
    };
    assert_eq!(in_files("/w", "*.rs"), ["/w/a.rs:1:x", "/w/src/b.rs:1:x"]);
    assert_eq!(in_files("/w", "src/*"), ["/w/src/b.rs:1:x", "/w/src/c.txt:1:x"]);
    assert_eq!(in_files("/w/src", "b.*"), ["/w/src/b.rs:1:x"]);
    assert_eq!(in_files("/w/src", "src/*"), [""; 0], "a path counts from where the search starts");
}

pub fn a_single_file_is_searched(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "a\nx\n");
    world.write("/w/d/g", "x\n");
    assert_eq!(world.search("/w/d/f", "x"), ["/w/d/f:2:x"]);
    assert_eq!(error(world.search_for("/w/none", &search("x"))), ErrorKind::NotFound);
}

pub fn case_counts_unless_it_should_not(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "Größe\nGRÖSSE\ngröße\n");
    assert_eq!(world.search("/w", "größe"), ["/w/f:3:größe"]);
    let hits = world.search_for("/w", &Search { ignore_case: true, ..search("GRÖßE") }).unwrap();
    assert_eq!(lines(&hits), ["/w/f:1:Größe", "/w/f:3:größe"]);
}

pub fn binary_files_are_passed_over(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a.bin", b"needle\n\0needle\n");
    world.write("/w/b.txt", "needle\n");
    assert_eq!(world.search("/w", "needle"), ["/w/b.txt:1:needle"]);
}

pub fn utf_16_files_are_searched_as_text(fixture: &Fixture) {
    let world = fixture.world();
    let content: Vec<u8> = "\u{feff}a\r\nñandú\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    world.write("/w/f", content);
    assert_eq!(world.search("/w", "^ñ.+ú$"), ["/w/f:2:ñandú"]);
}

pub fn a_pattern_that_cannot_be_used_is_explained(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x\n");
    for pattern in ["(", "[z-a]", "\\w{1000}{1000}", "a\\nb"] {
        let refused = error(world.search_for("/w", &search(pattern)));
        assert!(matches!(refused, ErrorKind::BadPattern(_)), "{pattern}: {refused:?}");
    }
}

pub fn a_costly_pattern_is_answered(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "a".repeat(50_000) + "!\n");
    assert_eq!(world.search("/w", "(a+)+$|(a|aa)+b|(x+x+)+y"), [""; 0]);
}

pub fn a_very_long_line_is_cut(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", format!("{}needle{}\n", "x".repeat(20_000), "y".repeat(20_000)));
    let hits = world.search_for("/w", &search("needle")).unwrap().found;
    assert_eq!(hits.len(), 1);
    assert!(hits[0].text.len() < 1000 && hits[0].text.contains("needle"), "{}", hits[0].text);
}

pub fn ignored_files_are_searched_only_when_asked_for(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/.gitignore", "out/\n");
    world.write("/w/out/f", "needle\n");
    world.write("/w/src/f", "needle\n");
    world.seed(0, ".git/HEAD", "needle\n");
    let skipping = world.search_for("/w", &Search { skip_ignored: true, ..search("needle") }).unwrap();
    assert_eq!(lines(&skipping), ["/w/src/f:1:needle"]);
    assert_eq!(world.search("/w", "needle").len(), 3);
}

pub fn a_search_goes_on_after_a_file(fixture: &Fixture) {
    let world = fixture.world();
    for path in ["a-b", "a/b", "b"] {
        world.write(&format!("/w/{path}"), "x\n");
    }
    let after = |path: &str| {
        let search = Search { after: Some(path_of(path)), ..search("x") };
        lines(&world.search_for("/w", &search).unwrap())
    };
    assert_eq!(after("/w/a/b"), ["/w/a-b:1:x", "/w/b:1:x"]);
    assert_eq!(after("/w/a/c"), ["/w/a-b:1:x", "/w/b:1:x"]);
    assert_eq!(after("/w/b"), [""; 0]);
}
