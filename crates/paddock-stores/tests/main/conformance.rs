//! The one suite, against each Store of this crate.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use paddock_core::Store;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh};
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{MemoryBase, VirtualStore};
use paddock_stores::{MemoryStore, PhysicalStore, conformance_tests};
use tempfile::TempDir;

use crate::planting;

struct InMemory(Arc<MemoryStore>);

impl Fresh for InMemory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<MemoryStore>::clone(&self.0)
    }

    fn plant_link(&self, path: &str, target: &str) {
        self.0.plant_link(path, target);
    }

    fn set_mode(&self, path: &str, mode: u32) {
        assert!(self.0.set_mode(path, mode), "{path} is there");
    }
}

fn in_memory() -> Fixture {
    let can = Capabilities { links: true, modes: true, atomic_sets: true };
    Fixture::new(can, || Box::new(InMemory(Arc::default())))
}

conformance_tests!(memory, in_memory);

struct OnDisk {
    dir: TempDir,
    store: Arc<PhysicalStore>,
}

impl Fresh for OnDisk {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<PhysicalStore>::clone(&self.store)
    }

    fn plant_link(&self, path: &str, target: &str) {
        let link = self.dir.path().join("mount").join(path);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }

    fn set_mode(&self, path: &str, mode: u32) {
        let path = self.dir.path().join("mount").join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn on_disk() -> Fixture {
    // A set of several changes is made one by one on a host's disk.
    let can = Capabilities { links: true, modes: true, atomic_sets: false };
    Fixture::new(can, || {
        let dir = TempDir::new().unwrap();
        let store = Arc::new(PhysicalStore::new(&dir.path().join("mount")).unwrap());
        Box::new(OnDisk { dir, store })
    })
}

conformance_tests!(physical, on_disk);

/// A Virtual Store on any database, perhaps over the View of another Store.
struct Rows {
    store: Arc<VirtualStore>,
    /// Lives as long as the Store.
    _below: Option<Box<dyn Fresh>>,
}

impl Fresh for Rows {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<VirtualStore>::clone(&self.store)
    }

    fn plant_link(&self, path: &str, target: &str) {
        planting::link(&self.store, path, target);
    }

    fn set_mode(&self, path: &str, mode: u32) {
        planting::mode(&self.store, path, mode);
    }
}

const ALL: Capabilities = Capabilities { links: true, modes: true, atomic_sets: true };

fn rows(base: impl Fn() -> Arc<dyn BaseStore> + 'static) -> Fixture {
    Fixture::new(ALL, move || {
        let store = Arc::new(VirtualStore::new(base(), Namespace::new(["w"])));
        Box::new(Rows { store, _below: None })
    })
}

fn virtual_in_memory() -> Fixture {
    rows(|| Arc::new(MemoryBase::new()))
}

conformance_tests!(virtual_memory, virtual_in_memory);

fn over(base: impl Fn() -> Arc<dyn BaseStore> + 'static, below: fn() -> Box<dyn Fresh>) -> Fixture {
    Fixture::new(ALL, move || {
        let below = below();
        let lower = planting::view(below.store());
        let store = Arc::new(VirtualStore::new(base(), Namespace::new(["w"])).over(lower));
        Box::new(Rows { store, _below: Some(below) })
    })
}

fn overlay_on_disk() -> Fixture {
    over(|| Arc::new(MemoryBase::new()), || on_disk().fresh())
}

fn overlay_on_memory() -> Fixture {
    over(|| Arc::new(MemoryBase::new()), || virtual_in_memory().fresh())
}

conformance_tests!(overlay_memory_physical, overlay_on_disk);
conformance_tests!(overlay_memory_memory, overlay_on_memory);
