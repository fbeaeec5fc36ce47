//! The one suite, against each Store of this crate.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use paddock_core::Store;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh};
use paddock_stores::{MemoryStore, PhysicalStore, conformance_tests};
use tempfile::TempDir;

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
