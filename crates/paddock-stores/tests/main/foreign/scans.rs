//! What a store that only tells everything at once is asked for: names and no contents, once for a set of changes, and no
//! further than to the answer.

use std::sync::Arc;

use paddock_core::{AccessScope, ErrorKind, Expect, Mount, NoJournal, Vfs, Workspace};
use paddock_stores::conformance::World;
use paddock_stores::conformance::world::{Open, error, finish, path_of, run, search, with_call, write};
use paddock_stores::foreign::{ForeignStore, Listing, Locks};

use super::keepers::{MapKeeper, all};
use super::world_on;

/// A world on a store with these files, of which nobody but the store knows.
fn world_with(files: &[&str]) -> (Arc<MapKeeper>, World) {
    let keeper = Arc::new(MapKeeper { edits: false, ..MapKeeper::new(all(Listing::Whole)) });
    for file in files {
        keeper.plant(file, "x");
    }
    (Arc::clone(&keeper), world_on(keeper))
}

#[test]
fn a_new_file_takes_one_scan_however_deep_it_is() {
    let (keeper, world) = world_with(&["other", "z"]);
    for path in ["/w/new", "/w/a/b/c/new", "/w/a/b/newer"] {
        world.write(path, "x");
        assert_eq!(keeper.scanned().0, 1, "{path}");
    }
}

#[test]
fn what_somebody_else_did_between_the_look_and_the_change_is_seen() {
    let keeper = Arc::new(MapKeeper { edits: false, ..MapKeeper::new(all(Listing::Whole)) });
    let locks = Arc::new(Locks::new());
    let [vfs, other] = [0, 1].map(|_| {
        let store = ForeignStore::new(Arc::<MapKeeper>::clone(&keeper), Arc::clone(&locks), &["n".to_owned()]);
        let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(Arc::new(store), None));
        Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap()
    });
    let done = with_call(|call| {
        let planned = vfs.plan(call, write("/w/a", b"a file", Expect::Any)).unwrap();
        with_call(|call| run(&other, call, write("/w/a/b", b"in a directory", Expect::Any))).unwrap();
        keeper.keys().remove("a/");
        finish(&vfs, call, planned)
    });
    assert_eq!(error(done), ErrorKind::IsADirectory, "though nothing was there when it was looked at");
}

#[test]
fn what_is_there_is_found_without_a_scan() {
    let (keeper, world) = world_with(&["other"]);
    world.write("/w/d/f", "one");
    keeper.scanned();
    world.write("/w/d/f", "two");
    world.append("/w/d/f", "three").unwrap();
    world.edit("/w/d/f", "two", "2").unwrap();
    assert_eq!(world.text("/w/d/f"), "2three");
    assert_eq!(keeper.scanned(), (0, 0));
}

#[test]
fn a_scan_ends_when_the_answer_is_known() {
    let (keeper, world) = world_with(&["a/1", "a/2", "b", "c", "d", "e"]);
    assert_eq!(error(world.try_write("/w/a", "x", Expect::Any)), ErrorKind::IsADirectory);
    assert_eq!(keeper.scanned(), (1, 1), "the first key below it says that it is a directory");
    assert_eq!(error(world.delete("/w/a")), ErrorKind::NotEmpty);
    assert_eq!(keeper.scanned(), (1, 1));
}

#[test]
fn many_changes_that_belong_together_take_one_scan() {
    let (keeper, world) = world_with(&["stays"]);
    for n in 0..10 {
        world.write(&format!("/w/d/{n}/f"), "x");
    }
    keeper.scanned();
    world.delete_all("/w/d").unwrap();
    assert_eq!(keeper.scanned().0, 2, "one to see what is in it, one for all the changes");
    assert_eq!(world.list("/w"), ["/w/stays"]);
    assert!(keeper.keys().keys().eq(["stays"]));
}

#[test]
fn contents_come_along_with_a_search_and_with_nothing_else() {
    let (keeper, world) = world_with(&["a", "b/c"]);
    assert_eq!(world.search("/w", "x"), ["/w/a:1:x", "/w/b/c:1:x"]);
    assert_eq!(keeper.contents_handed(), 2);
    world.search_for("/w/b", &search("x")).unwrap();
    assert_eq!(keeper.contents_handed(), 2);
    world.list("/w");
    world.find("/w", "*");
    world.write("/w/new", "x");
    world.rename("/w/b", "/w/d").unwrap();
    world.delete_all("/w/d").unwrap();
    assert_eq!(keeper.contents_handed(), 0);
}
