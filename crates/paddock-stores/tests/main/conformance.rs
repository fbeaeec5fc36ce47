//! The one suite, against each Store of this crate.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use paddock_core::{Cancel, Quota, Store};
use paddock_db::{Durability, Sqlite};
use paddock_stores::conformance::{Capabilities, Fixture, Fresh};
use paddock_stores::quota::{MemoryUsage, UsageCounter, reconcile};
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{MemoryBase, SqliteBase, VirtualStore};
use paddock_stores::{KeptPlace, MemoryStore, PhysicalStore, conformance_tests};
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

/// A Mount on the host's disk, with everything that changes replace kept and everything that they add counted.
struct Counted {
    on_disk: OnDisk,
    counter: Arc<MemoryUsage>,
    /// Something was put there behind the Store's back.
    planted: AtomicBool,
}

impl Fresh for Counted {
    fn store(&self) -> Arc<dyn Store> {
        self.on_disk.store()
    }

    fn plant_link(&self, path: &str, target: &str) {
        self.planted.store(true, Ordering::Relaxed);
        self.on_disk.plant_link(path, target);
    }

    fn set_mode(&self, path: &str, mode: u32) {
        self.on_disk.set_mode(path, mode);
    }
}

impl Drop for Counted {
    /// Whatever a case did, the counter knows of it.
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.planted.load(Ordering::Relaxed) {
            let counted = planting::with_call(|call| self.on_disk.store.count(call)).unwrap();
            assert_eq!(self.counter.current().unwrap(), Some(counted));
        }
    }
}

fn on_disk_with_history_and_quota() -> Fixture {
    let fixture = Fixture::new(on_disk().can(), || {
        let dir = TempDir::new().unwrap();
        let counter = Arc::new(MemoryUsage::new());
        let shared: Arc<dyn UsageCounter> = Arc::<MemoryUsage>::clone(&counter);
        let place = KeptPlace::new(&dir.path().join("history")).unwrap();
        let store = PhysicalStore::new(&dir.path().join("mount")).unwrap().with_history(place).with_usage(shared);
        reconcile(&store, &Cancel::default()).unwrap();
        Box::new(Counted { on_disk: OnDisk { dir, store: Arc::new(store) }, counter, planted: AtomicBool::new(false) })
    });
    fixture.keeping().within(AMPLE)
}

/// More than any case needs.
const AMPLE: Quota = Quota { bytes: Some(1 << 40), files: Some(1 << 30) };

conformance_tests!(physical_with_history_and_quota, on_disk_with_history_and_quota);

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

fn virtual_with_history_and_quota() -> Fixture {
    virtual_in_memory().keeping().within(AMPLE)
}

conformance_tests!(virtual_memory_with_history_and_quota, virtual_with_history_and_quota);

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

/// A SQLite database in a directory that goes with the process.
fn sqlite_base() -> Arc<dyn BaseStore> {
    static PLACES: std::sync::Mutex<Vec<TempDir>> = std::sync::Mutex::new(Vec::new());
    let dir = TempDir::new().unwrap();
    let open = |name, schema| Sqlite::new(dir.path().join(name), vec![schema], Durability::Process);
    let base = SqliteBase::new(open("state.db", SqliteBase::STATE), open("content.db", SqliteBase::CONTENT));
    PLACES.lock().unwrap().push(dir);
    Arc::new(base)
}

fn virtual_on_sqlite() -> Fixture {
    rows(sqlite_base)
}

fn overlay_of_sqlite_on_disk() -> Fixture {
    over(sqlite_base, || on_disk().fresh())
}

fn overlay_of_sqlite_on_sqlite() -> Fixture {
    over(sqlite_base, || virtual_on_sqlite().fresh())
}

conformance_tests!(virtual_sqlite, virtual_on_sqlite);
conformance_tests!(overlay_sqlite_physical, overlay_of_sqlite_on_disk);
conformance_tests!(overlay_sqlite_sqlite, overlay_of_sqlite_on_sqlite);

/// A version that counted would tell how often others have changed something, also in a write-only Workspace.
#[test]
fn versions_of_a_virtual_store_count_nothing() {
    let world = virtual_in_memory().world();
    let count = |n: u32| (world.write("/w/f", n.to_string()).0 & u128::from(u64::MAX)) as u64;
    let counts: Vec<u64> = (0..16).map(count).collect();
    assert!(counts.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 1 << 16), "{counts:?}");
}
