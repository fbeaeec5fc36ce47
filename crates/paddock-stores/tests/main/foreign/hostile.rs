//! Keepers that mean ill, or know no better: nothing they answer panics, hangs, leads out or loses anything.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{Browse, Cancel, ErrorKind, Expect, Kind, Operation, Refused};
use paddock_stores::conformance::Space;
use paddock_stores::conformance::world::{browse, delete, error, lines, rename, search, swap, write};
use paddock_stores::foreign::{Content, KeyKind, Listing, Named, Sight};

use super::keepers::{Lying, MapKeeper, all, thrown};
use super::{world, world_of};

fn by_directory() -> Lying {
    Lying::new(MapKeeper::new(all(Listing::Directories)))
}

fn whole() -> Lying {
    Lying::new(MapKeeper::new(all(Listing::Whole)))
}

fn named(name: &str, kind: KeyKind) -> Named {
    Named { name: name.to_owned(), kind }
}

/// Keys that a Keeper tells of so many times, each of a file with a needle in it.
fn keys(keys: &[&str], times: usize) -> Option<(Vec<String>, usize)> {
    Some((keys.iter().map(|key| (*key).to_owned()).collect(), times))
}

/// A bad answer: what is wrong with it, and what was answered, for whoever looks after the store.
fn bad_answer<T: Debug>(outcome: Result<T, Refused>) -> String {
    match outcome {
        Err(Refused::Store { source, .. }) if matches!(source.kind(), ErrorKind::BadAnswer(_)) => {
            source.source().expect("it says what was answered").to_string()
        }
        other => panic!("the answer should have been refused, and this came: {other:?}"),
    }
}

#[test]
fn a_name_that_is_none_is_left_out_of_a_listing_and_told() {
    let long = "x".repeat(300);
    for name in ["", ".", "..", "a/b", "../up", "/etc", "nul\0", "line\nfeed", "\u{202e}txt", "back\\slash", &long] {
        let listed = vec![named(name, KeyKind::File), named("fine", KeyKind::File), named(name, KeyKind::Dir)];
        let list = move |dir: &str| Ok(if matches!(dir, "" | "d") { listed.clone() } else { Vec::new() });
        let keeper = Arc::new(Lying { list: Some(Box::new(list)), ..by_directory() });
        keeper.map.plant("fine", "needle");
        let world = super::world_on(Arc::clone(&keeper));
        let found = world.browse(&browse("/w")).unwrap().found;
        assert_eq!(found.iter().map(|one| one.path).collect::<Vec<_>>(), ["/w/fine"], "{name:?}");
        let told = keeper.told();
        assert_eq!(told.len(), 1, "one line, however many there are: {told:?}");
        assert!(told[0].starts_with("the store answered \"") && told[0].len() < 300, "{told:?}");
        assert!(!told[0].contains(['\0', '\n', '\u{202e}']), "{told:?}");
        assert_eq!(lines(&world.search_for("/w", &search("needle")).unwrap()), ["/w/fine:1:needle"]);
        world.write("/w/new", "beside it");
    }
}

#[test]
fn a_directory_that_holds_what_has_no_name_is_neither_deleted_nor_moved() {
    let list = move |dir: &str| Ok(if dir == "d" { vec![named("..", KeyKind::File)] } else { Vec::new() });
    let world = world(Lying { list: Some(Box::new(list)), ..by_directory() });
    world.make_dir("/w/d").unwrap();
    bad_answer(world.delete("/w/d"));
    bad_answer(world.delete_all("/w/d"));
    bad_answer(world.rename("/w/d", "/w/e"));
}

#[test]
fn a_key_that_is_no_path_is_left_out() {
    let long = "x/".repeat(3000) + "x";
    for key in ["", "/abs", "a//b", "a/", "../up", "a/../b", "a/./b", "nul\0", &long] {
        let keeper = Arc::new(Lying { keys: keys(&[key, "fine"], 1), ..whole() });
        let world = super::world_on(Arc::clone(&keeper));
        assert_eq!(world.list("/w"), ["/w/fine"], "{key:?}");
        assert_eq!(lines(&world.search_for("/w", &search("needle")).unwrap()), ["/w/fine:1:needle"]);
        world.write("/w/a", "implied by nothing");
    }
}

#[test]
fn what_is_told_twice_is_one_and_what_holds_something_is_a_directory() {
    let twice = vec![named("a", KeyKind::File), named("a", KeyKind::Dir), named("a", KeyKind::File)];
    let list = move |dir: &str| Ok(if dir.is_empty() { twice.clone() } else { Vec::new() });
    let world_by_directory = world(Lying { list: Some(Box::new(list)), ..by_directory() });
    let found = world_by_directory.browse(&browse("/w")).unwrap().found;
    assert_eq!(found.iter().map(|one| (one.path, one.kind)).collect::<Vec<_>>(), [("/w/a", Kind::Dir)]);

    let keeper = whole();
    keeper.map.plant("a", "1");
    keeper.map.plant("a/b", "2");
    let world_whole = world(Lying { keys: keys(&["a/b", "a", "a/b"], 2), ..keeper });
    assert_eq!(world_whole.list("/w"), ["/w/a", "/w/a/b"]);
    assert_eq!((world_whole.text("/w/a"), world_whole.text("/w/a/b")), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn a_tree_that_holds_itself_comes_to_an_end() {
    let list = |_: &str| Ok(vec![named("d", KeyKind::Dir)]);
    let look = |_: &str| Ok(Sight::There(KeyKind::Dir));
    let world = world(Lying { list: Some(Box::new(list)), look: Some(Box::new(look)), ..by_directory() });
    let some = world.browse(&Browse { limit: 3, ..browse("/w") }).unwrap();
    assert!(some.more && some.found.get(2).unwrap().path == "/w/d/d/d");
    bad_answer(world.browse(&browse("/w")));
    bad_answer(world.search_for("/w", &search("x")));
    bad_answer(world.delete_all("/w/d"));
    assert_eq!(error(world.delete("/w/d")), ErrorKind::NotEmpty);
}

#[test]
fn a_tree_without_end_in_every_directory_is_too_large() {
    let list = |_: &str| Ok((0..1000).map(|n| named(&n.to_string(), KeyKind::Dir)).collect());
    let world = world(Lying { list: Some(Box::new(list)), ..by_directory() });
    assert!(matches!(error(world.search_for("/w", &search("x"))), ErrorKind::TooLarge { .. }));
    let soon = Instant::now() + Duration::from_millis(50);
    let listing = Operation::List(browse("/w"));
    assert_eq!(error(world.run_until(listing, &Cancel::default(), soon)), ErrorKind::TimedOut);
}

#[test]
fn more_than_anybody_has_is_too_large() {
    let list = |_: &str| Ok((0..300_000).map(|n| named(&n.to_string(), KeyKind::File)).collect());
    let wide = world(Lying { list: Some(Box::new(list)), ..by_directory() });
    assert!(matches!(error(wide.browse(&browse("/w"))), ErrorKind::TooLarge { .. }));

    let endless = world(Lying { keys: keys(&["a"], usize::MAX), ..whole() });
    assert!(matches!(error(endless.browse(&browse("/w"))), ErrorKind::TooLarge { .. }));
    assert!(matches!(error(endless.search_for("/w", &search("needle"))), ErrorKind::TooLarge { .. }));
    assert!(matches!(error(endless.try_write("/w/b", "x", Expect::Any)), ErrorKind::TooLarge { .. }));

    let found = |_: &str| Ok(Some(vec!["a".to_owned(); 300_000]));
    let searched = world(Lying { search: Some(Box::new(found)), ..by_directory() });
    assert!(matches!(error(searched.search_for("/w", &search("x"))), ErrorKind::TooLarge { .. }));

    // Zeroes that nobody looks at cost no memory.
    let read = |_: &str| Ok(Some(Content { bytes: vec![0; (256 << 20) + 1], modified: None }));
    let look = |_: &str| Ok(Sight::There(KeyKind::File));
    let huge = world(Lying { read: Some(Box::new(read)), look: Some(Box::new(look)), ..by_directory() });
    assert!(matches!(error(huge.read_part("/w/f", 0..1)), ErrorKind::TooLarge { .. }));
}

#[test]
fn what_a_store_says_is_there_is_only_there_when_it_can_be_read() {
    let look = |_: &str| Ok(Sight::There(KeyKind::File));
    let liar = world(Lying { look: Some(Box::new(look)), ..by_directory() });
    let told = bad_answer(liar.read_part("/w/none", 0..1));
    assert!(told.contains("none"), "{told}");
    bad_answer(liar.try_write("/w/none", "x", Expect::Any));

    let look = |_: &str| Ok(Sight::There(KeyKind::Dir));
    let keeper = by_directory();
    keeper.map.plant("f", "a file");
    let liar = world(Lying { look: Some(Box::new(look)), ..keeper });
    assert_eq!(liar.text("/w/f"), "a file");
    assert_eq!(error(liar.read_part("/w/none", 0..1)), ErrorKind::IsADirectory);
}

#[test]
fn a_search_finds_what_it_would_have_found_without_the_store() {
    let files = ["a", "d/b", "d/.gitignore", "d/left-out", ".git/config", "hidden/x", "in/inner", "z"];
    let told = ["z", "d/b", "a", "a", "d/left-out", "hidden/x", "in/inner", "gone/f", "d", ".git/config"];
    let candidates: Vec<String> = told.map(str::to_owned).to_vec();
    let found = move |_: &str| Ok(Some(candidates.clone()));
    let keepers = [by_directory(), Lying { search: Some(Box::new(found)), ..by_directory() }];
    let answers = keepers.map(|keeper| {
        for file in files {
            keeper.map.plant(file, if file.ends_with("ignore") { "left-out\n" } else { "needle\n" });
        }
        let other = Lying::new(MapKeeper::new(all(Listing::Directories)));
        let world = world_of(&[Space::at("/w").hide(&["hidden"]), Space::at("/w/in")], vec![keeper, other]);
        [("/w", false), ("/w", true), ("/w/d", true), ("/w/a", true)].map(|(path, skip_ignored)| {
            let mut search = search("needle");
            search.skip_ignored = skip_ignored;
            lines(&world.search_for(path, &search).unwrap())
        })
    });
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1][1], ["/w/a:1:needle", "/w/d/b:1:needle", "/w/z:1:needle"]);
    assert_eq!(answers[1][0].len(), 5, "with what is ignored: {:?}", answers[1][0]);
    assert_eq!(answers[1][2], ["/w/d/b:1:needle"], "what lies outside of where it starts is dropped");
}

#[test]
fn what_is_no_path_is_left_out_of_what_a_search_found_and_told() {
    for path in ["", "../up", "/etc/passwd", "a//b", "nul\0"] {
        let found = move |_: &str| Ok(Some(vec![path.to_owned(), "f".to_owned()]));
        let keeper = Arc::new(Lying { search: Some(Box::new(found)), ..by_directory() });
        keeper.map.plant("f", "x");
        let world = super::world_on(Arc::clone(&keeper));
        assert_eq!(lines(&world.search_for("/w", &search("x")).unwrap()), ["/w/f:1:x"]);
        assert_eq!(keeper.told().len(), 1, "{path:?}");
    }
}

#[test]
fn a_store_is_not_asked_where_case_does_not_count() {
    let keeper = Lying { search: Some(Box::new(|_| Ok(Some(Vec::new())))), ..by_directory() };
    keeper.map.plant("f", "Needle");
    let world = world(keeper);
    let mut search = search("needle");
    search.ignore_case = true;
    assert_eq!(lines(&world.search_for("/w", &search).unwrap()), ["/w/f:1:Needle"]);
}

#[test]
fn an_edit_that_the_store_did_not_make_as_it_was_asked_is_no_success() {
    for (count, kind) in [(0, Some(ErrorKind::Stale)), (2, None)] {
        let world = world(Lying { edit: Some(Box::new(move |_| Ok(Some(count)))), ..by_directory() });
        world.write("/w/f", "old text");
        let edited = world.edit("/w/f", "old", "new");
        match kind {
            Some(kind) => assert_eq!(error(edited), kind),
            None => assert!(bad_answer(edited).contains('2')),
        }
        assert_eq!(world.text("/w/f"), "old text");
    }
}

/// Does it with the first, the second, … call of the Keeper failing until none fails, and looks each time.
fn with_each_call_failing(make: fn() -> Lying, operation: &Operation, look: impl Fn(&BTreeMap<String, Vec<u8>>, bool)) {
    for n in 1..200 {
        let keeper = Arc::new(make());
        for (path, content) in [("d/a", "1 old"), ("d/e/b", "2"), ("d/e/c", "3")] {
            keeper.map.plant(path, content);
        }
        let world = super::world_on(Arc::clone(&keeper));
        keeper.fail_at(n);
        let outcome = world.run(operation.clone());
        let failed = keeper.has_failed();
        keeper.fail_at(0);
        look(&keeper.map.keys(), outcome.is_ok());
        if !failed {
            assert!(outcome.is_ok() && n > 1, "without a failure it is done: {outcome:?}");
            return;
        }
        // Nothing of the call is left that others would have to wait for.
        let soon = Instant::now() + Duration::from_secs(10);
        let next = write("/w/d/a", b"next", Expect::Any);
        world.run_until(next, &Cancel::default(), soon).unwrap();
    }
    panic!("it never came to an end");
}

/// Is this content somewhere?
fn holds(keys: &BTreeMap<String, Vec<u8>>, content: &str) -> bool {
    keys.iter().any(|(key, held)| !key.ends_with('/') && held == content.as_bytes())
}

#[test]
fn whichever_call_fails_nothing_is_lost() {
    for make in [by_directory as fn() -> Lying, whole] {
        with_each_call_failing(make, &rename("/w/d", "/w/x/y"), |keys, done| {
            for content in ["1 old", "2", "3"] {
                assert!(holds(keys, content), "{content} is somewhere: {keys:?}");
            }
            assert!(!done || keys.contains_key("x/y/e/b") && !keys.contains_key("d/e/b"), "{keys:?}");
        });
        with_each_call_failing(make, &rename("/w/d/a", "/w/x/a"), |keys, done| {
            assert!(holds(keys, "1 old") && (!done || !keys.contains_key("d/a")), "{keys:?}");
        });
        let edits = vec![swap("old", "new", false)];
        let edit = Operation::Edit { path: super::path("/w/d/a"), edits, expect: Expect::Any };
        with_each_call_failing(make, &edit, |keys, done| {
            assert!(keys["d/a"] == b"1 new" || (!done && keys["d/a"] == b"1 old"), "{keys:?}");
        });
        with_each_call_failing(make, &write("/w/n/e/w", b"new", Expect::Absent), |keys, done| {
            assert_eq!(keys.get("n/e/w").is_some_and(|content| content == b"new"), done, "{keys:?}");
        });
        with_each_call_failing(make, &delete("/w/d", true), |keys, done| {
            assert!(!done || !keys.keys().any(|key| key.starts_with("d/")), "{keys:?}");
        });
    }
}

#[test]
fn a_copy_that_could_not_be_finished_is_taken_back() {
    let mut taken_back = 0;
    for n in 1..100 {
        let keeper = Arc::new(by_directory());
        keeper.map.plant("d/a", "1");
        keeper.map.plant("d/b", "2");
        let world = super::world_on(Arc::clone(&keeper));
        keeper.fail_at(n);
        let moved = world.rename("/w/d", "/w/c").is_ok();
        let failed = keeper.has_failed();
        let keys = keeper.map.keys();
        let files: Vec<&String> = keys.keys().filter(|key| !key.ends_with('/')).collect();
        match (moved, failed) {
            (true, false) => {
                assert!(taken_back > 1 && files == ["c/a", "c/b"], "{taken_back} {files:?}");
                return;
            }
            (true, true) => assert_eq!(files, ["c/a", "c/b"], "call {n} was asked for again"),
            (false, _) => {
                // Once a removal was asked for nobody knows whether it still happens, and the copy stays.
                let copied = files.iter().any(|file| !file.starts_with("d/"));
                let complete = files.iter().filter(|file| !file.starts_with("d/")).count() == 2;
                assert!(!copied || complete, "call {n}: {files:?}");
                taken_back += usize::from(!copied);
            }
        }
    }
    panic!("it never came to an end");
}

#[test]
fn a_store_that_throws_says_so_and_no_more() {
    let keeper = Lying { list: Some(Box::new(|_| Err(thrown("ENOENT: /home/somebody/secret")))), ..by_directory() };
    let world = world(keeper);
    let Err(Refused::Store { source, .. }) = world.browse(&browse("/w")) else { panic!("it throws") };
    assert_eq!(*source.kind(), ErrorKind::Io);
    assert!(!source.to_string().contains("secret"), "only whoever looks at the cause learns it: {source}");
}
