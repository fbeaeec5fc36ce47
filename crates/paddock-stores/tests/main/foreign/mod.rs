//! The Store over files that somebody else keeps: the suite on Keepers of two kinds, and Keepers that mean ill.

mod hostile;
mod keepers;
mod lesser;
mod scans;

use std::sync::{Arc, Mutex};

use paddock_core::{LogicalPath, Quota, Store};
use paddock_stores::conformance::{Capabilities, Fixture, Fresh, Space, World};
use paddock_stores::conformance_tests;
use paddock_stores::foreign::{ForeignStore, Keeper, Listing, Locks};

use keepers::{Lying, MapKeeper, all};

const CAN: Capabilities = Capabilities { links: false, modes: false, atomic_sets: false };

struct Kept(Arc<dyn Store>);

impl Fresh for Kept {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0)
    }
}

/// A Store over a Keeper that nobody else changes.
fn store(keeper: Arc<dyn Keeper>) -> Arc<ForeignStore> {
    Arc::new(ForeignStore::new(keeper, Arc::new(Locks::new()), &[]))
}

fn fixture(make: fn() -> MapKeeper) -> Fixture {
    Fixture::new(CAN, move || Box::new(Kept(store(Arc::new(make())))))
}

/// Read-write Workspaces on these Stores, the first of them at `/w` where there is only one.
fn world_of_stores(spaces: &[Space<'_>], stores: Vec<Arc<dyn Store>>, quota: Quota) -> World {
    let left = Mutex::new(stores.into_iter());
    let make = move || -> Box<dyn Fresh> { Box::new(Kept(left.lock().unwrap().next().unwrap())) };
    Fixture::new(CAN, make).within(quota).world_of(spaces)
}

fn world_on_stores(stores: Vec<Arc<dyn Store>>) -> World {
    world_of_stores(&[Space::at("/w")], stores, Quota::default())
}

fn world_on(keeper: Arc<impl Keeper + 'static>) -> World {
    world_on_stores(vec![store(keeper)])
}

fn world(keeper: Lying) -> World {
    world_on(Arc::new(keeper))
}

fn world_of(spaces: &[Space<'_>], keepers: Vec<Lying>) -> World {
    let stores = keepers.into_iter().map(|keeper| -> Arc<dyn Store> { store(Arc::new(keeper)) });
    world_of_stores(spaces, stores.collect(), Quota::default())
}

fn world_within(quota: Quota) -> World {
    world_of_stores(&[Space::at("/w")], vec![store(Arc::new(MapKeeper::new(all(Listing::Whole))))], quota)
}

fn path(text: &str) -> LogicalPath {
    LogicalPath::parse(text, &LogicalPath::top()).unwrap()
}

fn listed_by_directory() -> Fixture {
    fixture(|| MapKeeper::new(all(Listing::Directories)))
}

fn listed_whole() -> Fixture {
    fixture(|| MapKeeper { edits: false, ..MapKeeper::new(all(Listing::Whole)) })
}

fn listed_whole_and_keeping() -> Fixture {
    listed_whole().keeping()
}

fn knowing_nothing_but_listings() -> Fixture {
    fixture(|| MapKeeper { stats: false, throws: true, ..MapKeeper::new(all(Listing::Directories)) })
}

conformance_tests!(by_directory, listed_by_directory);
conformance_tests!(whole, listed_whole);
conformance_tests!(whole_and_keeping, listed_whole_and_keeping);
conformance_tests!(listings_only, knowing_nothing_but_listings);
