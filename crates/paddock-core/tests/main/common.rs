//! What these tests share: Workspaces on Stores in memory, and how many cases a property gets.

use std::sync::Arc;

use paddock_core::Store;
use paddock_stores::MemoryStore;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh, Space, World};
use proptest::test_runner::Config;

struct InMemory(Arc<MemoryStore>);

impl Fresh for InMemory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<MemoryStore>::clone(&self.0)
    }

    fn plant_link(&self, path: &str, target: &str) {
        self.0.plant_link(path, target);
    }
}

/// Workspaces, each on a Store of its own.
pub(crate) fn world(spaces: &[Space<'_>]) -> World {
    let can = Capabilities { links: true, modes: false, atomic_sets: true };
    Fixture::new(can, || Box::new(InMemory(Arc::default()))).world_of(spaces)
}

/// This many cases, or as many as a longer run asks for by `PROPTEST_CASES`.
pub(crate) fn cases(n: u32) -> Config {
    let asked_for = std::env::var_os("PROPTEST_CASES").is_some();
    let default = Config::default();
    let cases = if asked_for { default.cases } else { n };
    Config { cases, failure_persistence: None, ..default }
}
