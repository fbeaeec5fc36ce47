//! Stores that can little: what they cannot is not served, and what they can is made of what they have.

use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use paddock_core::{Call, DenyRule, ErrorKind, Expect, OpKind, Quota, RelPath, Result as StoreResult, Store};
use paddock_stores::conformance::world::{denied, error, replaced, search, swap, version_of};
use paddock_stores::foreign::{Abilities, Content, ForeignStore, Keeper, Listing, Locks, Named};
use paddock_stores::virtual_store::base::Namespace;
use paddock_stores::virtual_store::{MemoryBase, VirtualStore};

use super::keepers::{MapKeeper, all};
use super::{store, world_on, world_on_stores, world_within};
use crate::planting;

#[test]
fn what_a_keeper_cannot_is_not_served() {
    let can = all(Listing::Directories);
    let cases: [(Abilities, &[OpKind]); 4] = [
        (can, &[]),
        (Abilities { remove: false, ..can }, &[OpKind::MoveFrom, OpKind::Delete]),
        (Abilities { search: false, ..can }, &[OpKind::Search]),
        (Abilities { make_dir: false, ..can }, &[OpKind::MakeDir]),
    ];
    for (can, missing) in cases {
        let store = store(Arc::new(MapKeeper::new(can)));
        let unserved: Vec<OpKind> = OpKind::ALL.into_iter().filter(|op| !store.serves(*op)).collect();
        assert_eq!(unserved, missing);
    }
}

#[test]
fn four_methods_are_enough_to_read_list_write_append_and_edit() {
    let keeper = Arc::new(MapKeeper::four_methods());
    let world = world_on(Arc::clone(&keeper));
    world.write("/w/a/b/f", "one\n");
    world.append("/w/a/b/f", "two\n").unwrap();
    assert_eq!(replaced(world.edit("/w/a/b/f", "one", "1")), 1);
    assert_eq!(world.text("/w/a/b/f"), "1\ntwo\n");
    assert_eq!(world.list("/w"), ["/w/a", "/w/a/b", "/w/a/b/f"]);
    assert_eq!(world.find("/w", "*"), ["/w/a/b/f"]);
    assert_eq!(error(world.read_part("/w/none/f", 0..1)), ErrorKind::NotFound);
    assert_eq!(error(world.read_part("/w/a/b/f/g", 0..1)), ErrorKind::NotADirectory);
    assert_eq!(error(world.read_part("/w/a", 0..1)), ErrorKind::IsADirectory);
    assert_eq!(
        error(world.try_write("/w/bin", [0xff, 0xfe, 0x00], Expect::Any)),
        unsupported("holding what is not UTF-8 text")
    );

    keeper.asked();
    assert_eq!(denied(world.delete("/w/a/b/f")), DenyRule::Unserved);
    assert_eq!(denied(world.rename("/w/a/b/f", "/w/g")), DenyRule::Unserved);
    assert_eq!(denied(world.make_dir("/w/d")), DenyRule::Unserved);
    assert_eq!(denied(world.search_for("/w", &search("two"))), DenyRule::Unserved);
    assert_eq!(keeper.asked(), 0, "what is denied never reaches the store");
}

fn unsupported(what: &'static str) -> ErrorKind {
    ErrorKind::Unsupported(what)
}

#[test]
fn an_overlay_can_do_what_the_store_below_cannot() {
    let keeper = Arc::new(MapKeeper::four_methods());
    keeper.plant("d/f", "needle\n");
    keeper.plant("d/g", "other\n");
    let lower = planting::view(store(Arc::<MapKeeper>::clone(&keeper)));
    let upper = VirtualStore::new(Arc::new(MemoryBase::new()), Namespace::new(["w"])).over(lower);
    let world = world_on_stores(vec![Arc::new(upper)]);
    assert_eq!(world.search("/w", "needle"), ["/w/d/f:1:needle"]);
    world.delete("/w/d/f").unwrap();
    world.rename("/w/d/g", "/w/h").unwrap();
    world.make_dir("/w/e").unwrap();
    assert_eq!(world.list("/w"), ["/w/d", "/w/e", "/w/h"]);
    assert_eq!(keeper.keys().len(), 2, "and the store below keeps what it has");
}

#[test]
fn directories_that_only_their_files_make_go_with_them() {
    let can = Abilities { make_dir: false, ..all(Listing::Directories) };
    let keeper = Arc::new(MapKeeper::new(can));
    let world = world_on(Arc::clone(&keeper));
    // More than one batch, of which the last holds nothing but the directory.
    for n in 0..32 {
        world.write(&format!("/w/d/{n}"), "x");
    }
    world.write("/w/stays", "x");
    world.rename("/w/d", "/w/e").unwrap();
    assert_eq!(world.list("/w").len(), 34);
    world.delete_all("/w/e").unwrap();
    assert_eq!(world.list("/w"), ["/w/stays"]);
    assert_eq!(error(world.delete("/w/e")), ErrorKind::NotFound);
}

#[test]
fn a_directory_that_somebody_elses_files_imply_outlives_them() {
    for listing in [Listing::Directories, Listing::Whole] {
        let keeper = Arc::new(MapKeeper::new(all(listing)));
        keeper.plant("d/e/f", "x");
        let world = world_on(Arc::clone(&keeper));
        assert_eq!(world.list("/w"), ["/w/d", "/w/d/e", "/w/d/e/f"]);
        assert_eq!(error(world.try_write("/w/d", "y", Expect::Any)), ErrorKind::IsADirectory);
        assert_eq!(error(world.try_write("/w/d/e/f/g", "y", Expect::Any)), ErrorKind::NotADirectory);
        world.delete("/w/d/e/f").unwrap();
        assert_eq!(world.list("/w"), ["/w/d", "/w/d/e"], "{listing:?}");
        world.delete_all("/w/d").unwrap();
        assert_eq!(world.list("/w"), [""; 0]);
        assert!(keeper.keys().is_empty(), "and nothing is left of them");
    }
}

#[test]
fn a_plain_edit_is_the_stores_own_and_no_other_is() {
    let keeper = Arc::new(MapKeeper::new(all(Listing::Directories)));
    let world = world_on(Arc::clone(&keeper));
    world.write("/w/f", "one two two\n");
    world.write("/w/crlf", "one\r\ntwo\r\n");
    world.edit("/w/f", "one", "1").unwrap();
    assert_eq!(keeper.own_edits(), 1);
    let all_of = |text| vec![swap("two", text, true)];
    world.edit_all("/w/f", all_of("2"), Expect::Any).unwrap();
    world.edit_all("/w/f", vec![swap("1", "x", false), swap("x", "y", false)], Expect::Any).unwrap();
    world.edit("/w/crlf", "one\ntwo", "1\n2").unwrap();
    world.edit("/w/crlf", "1", "a\nb").unwrap();
    assert!(world.edit("/w/f", "2", "3").is_err(), "it stands there twice");
    assert_eq!(keeper.own_edits(), 1, "what means something else than it says is written whole");
    assert_eq!(world.text("/w/f"), "y 2 2\n");
    assert_eq!(world.text("/w/crlf"), "a\r\nb\r\n2\r\n");
}

#[test]
fn the_version_of_an_edit_is_that_of_what_is_there_then() {
    let map = MapKeeper::new(all(Listing::Directories));
    map.plant("f", "old\n");
    let world = world_on(Arc::new(Meddled(map)));
    let version = version_of(world.edit("/w/f", "old", "new"));
    assert_eq!(world.text("/w/f"), "new\noutside\n");
    assert_eq!(world.meta("/w/f").version, version);
}

/// A map to which somebody outside of this process writes right before each of its own edits.
struct Meddled(MapKeeper);

impl Keeper for Meddled {
    fn abilities(&self) -> Abilities {
        self.0.abilities()
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> StoreResult<Option<Content>> {
        self.0.read(call, path)
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], dated: Option<SystemTime>) -> StoreResult<()> {
        self.0.write(call, path, content, dated)
    }

    fn edit(&self, call: &Call<'_>, path: RelPath<'_>, old: &str, new: &str) -> StoreResult<Option<u64>> {
        self.0.keys().get_mut(path.as_str()).unwrap().extend(b"outside\n");
        self.0.edit(call, path, old, new)
    }

    fn list(&self, call: &Call<'_>, dir: RelPath<'_>) -> StoreResult<Vec<Named>> {
        self.0.list(call, dir)
    }
}

#[test]
fn of_fifty_edits_through_stores_on_the_same_keeper_none_is_lost() {
    for listing in [Listing::Directories, Listing::Whole] {
        let keeper = Arc::new(MapKeeper { edits: false, ..MapKeeper::new(all(listing)) });
        let locks = Arc::new(Locks::new());
        let worlds: Vec<_> = (0..2)
            .map(|_| {
                let keeper: Arc<dyn Keeper> = Arc::<MapKeeper>::clone(&keeper);
                let store = ForeignStore::new(keeper, Arc::clone(&locks), &["n".to_owned()]);
                world_on_stores(vec![Arc::new(store)])
            })
            .collect();
        let text: String = (0..50).map(|n| format!("<{n}>\n")).collect();
        worlds[0].write("/w/f", text);
        thread::scope(|scope| {
            for n in 0..50 {
                let world = &worlds[n % 2];
                scope.spawn(move || world.edit("/w/f", &format!("<{n}>"), &format!("done {n}")).unwrap());
            }
        });
        let expected: String = (0..50).map(|n| format!("done {n}\n")).collect();
        assert_eq!(worlds[1].text("/w/f"), expected);
    }
}

#[test]
fn a_quota_that_cannot_be_held_is_refused_and_not_ignored() {
    let world = world_within(Quota { bytes: Some(10), files: None });
    assert_eq!(error(world.try_write("/w/f", "x", Expect::Any)), unsupported("keeping to a quota"));
}

#[test]
fn two_namespaces_of_one_store_are_two_places_and_the_same_twice_is_one() {
    let keeper: Arc<dyn Keeper> = Arc::new(MapKeeper::new(all(Listing::Whole)));
    let (one, other) = (Arc::new(Locks::new()), Arc::new(Locks::new()));
    let territory = |locks: &Arc<Locks>, namespace: &[&str]| {
        let namespace: Vec<String> = namespace.iter().map(|name| (*name).to_owned()).collect();
        ForeignStore::new(Arc::clone(&keeper), Arc::clone(locks), &namespace).territory()
    };
    assert_eq!(territory(&one, &["a", "b"]), territory(&one, &["a", "b"]));
    assert_ne!(territory(&one, &["a", "b"]), territory(&one, &["a", "c"]));
    assert_ne!(territory(&one, &["a", "b"]), territory(&one, &["a\", \"b"]));
    assert_ne!(territory(&one, &["a"]), territory(&other, &["a"]));
}

#[test]
fn a_name_that_differs_from_a_directory_is_not_in_it() {
    let keeper = Arc::new(MapKeeper::new(all(Listing::Whole)));
    for key in ["d/f", "d-e/f", "de"] {
        keeper.plant(key, "x");
    }
    let world = world_on(keeper);
    assert_eq!(world.list("/w/d"), ["/w/d/f"]);
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f", "/w/d-e", "/w/d-e/f", "/w/de"]);
}
