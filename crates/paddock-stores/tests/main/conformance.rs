//! The one suite, against each Store of this crate.

use std::any::Any;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use paddock_core::{Cancel, Quota, Store};
use paddock_db::postgres_testing::{Database, ask};
use paddock_db::{Durability, Sqlite};
use paddock_stores::conformance::world::with_call;
use paddock_stores::conformance::{Capabilities, Fixture, Fresh, suite};
use paddock_stores::quota::{MemoryUsage, UsageCounter, reconcile};
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{MemoryBase, PostgresBase, SqliteBase, VirtualStore};
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
            let counted = with_call(|call| self.on_disk.store.count(call)).unwrap();
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

/// Where a Virtual Store has its rows: an empty namespace of a database.
struct Ground {
    base: Arc<dyn BaseStore>,
    namespace: Namespace,
    /// What the database lives in.
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

fn in_memory_of_its_own() -> Ground {
    Ground { base: Arc::new(MemoryBase::new()), namespace: Namespace::new(["w"]), kept: None }
}

fn on_sqlite() -> Ground {
    let dir = TempDir::new().unwrap();
    let open = |name, schema| Sqlite::new(dir.path().join(name), vec![schema], Durability::Process);
    let base = SqliteBase::new(open("state.db", SqliteBase::STATE), open("content.db", SqliteBase::CONTENT));
    Ground { base: Arc::new(base), namespace: Namespace::new(["w"]), kept: Some(Arc::new(dir)) }
}

/// A database of a server, and the one handle that a process has.
struct OnServer {
    base: PostgresBase,
    namespaces: AtomicUsize,
    _database: Database,
}

/// A namespace of its own, in a database that all of this process share while anybody uses it.
fn on_postgres() -> Ground {
    static SHARED: Mutex<Weak<OnServer>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = shared.upgrade().unwrap_or_else(|| {
        let database = Database::fresh();
        let base = PostgresBase::new(database.open(&[PostgresBase::SCHEMA]));
        Arc::new(OnServer { base, namespaces: AtomicUsize::new(0), _database: database })
    });
    *shared = Arc::downgrade(&server);
    let number = server.namespaces.fetch_add(1, Ordering::Relaxed);
    let namespace = Namespace::new(["w".to_owned(), number.to_string()]);
    Ground { base: Arc::new(server.base.clone()), namespace, kept: Some(server) }
}

/// A Virtual Store on any database, perhaps over the View of another Store.
struct Rows {
    store: Arc<VirtualStore>,
    /// Lives as long as the Store.
    _below: Option<Box<dyn Fresh>>,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
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

fn rows(ground: fn() -> Ground) -> Fixture {
    Fixture::new(ALL, move || {
        let Ground { base, namespace, kept } = ground();
        Box::new(Rows { store: Arc::new(VirtualStore::new(base, namespace)), _below: None, _kept: kept })
    })
}

fn over(ground: fn() -> Ground, below: fn() -> Fixture) -> Fixture {
    Fixture::new(ALL, move || {
        let (below, Ground { base, namespace, kept }) = (below().fresh(), ground());
        let store = VirtualStore::new(base, namespace).over(planting::view(below.store()));
        Box::new(Rows { store: Arc::new(store), _below: Some(below), _kept: kept })
    })
}

/// A Virtual Store or an Overlay: the suite on it, and with everything kept and counted around it.
macro_rules! virtual_suites {
    ($($name:ident: $fixture:expr;)*) => {
        $(
            mod $name {
                use super::*;
                fn fixture() -> Fixture {
                    $fixture
                }
                fn with_both() -> Fixture {
                    fixture().keeping().within(AMPLE)
                }
                conformance_tests!(suite, fixture);
                conformance_tests!(with_history_and_quota, with_both);
            }
        )*
    };
}

fn virtual_in_memory() -> Fixture {
    rows(in_memory_of_its_own)
}

fn virtual_on_sqlite() -> Fixture {
    rows(on_sqlite)
}

fn virtual_on_postgres() -> Fixture {
    rows(on_postgres)
}

fn postgres_over_physical() -> Fixture {
    over(on_postgres, on_disk)
}

fn postgres_over_memory() -> Fixture {
    over(on_postgres, virtual_in_memory)
}

fn postgres_over_sqlite() -> Fixture {
    over(on_postgres, virtual_on_sqlite)
}

virtual_suites! {
    virtual_memory: virtual_in_memory();
    virtual_sqlite: virtual_on_sqlite();
    virtual_postgres: virtual_on_postgres();
    overlay_memory_physical: over(in_memory_of_its_own, on_disk);
    overlay_memory_memory: over(in_memory_of_its_own, virtual_in_memory);
    overlay_memory_sqlite: over(in_memory_of_its_own, virtual_on_sqlite);
    overlay_memory_postgres: over(in_memory_of_its_own, virtual_on_postgres);
    overlay_sqlite_physical: over(on_sqlite, on_disk);
    overlay_sqlite_memory: over(on_sqlite, virtual_in_memory);
    overlay_sqlite_sqlite: over(on_sqlite, virtual_on_sqlite);
    overlay_sqlite_postgres: over(on_sqlite, virtual_on_postgres);
    overlay_postgres_postgres: over(on_postgres, virtual_on_postgres);
}

conformance_tests!(overlay_postgres_physical, postgres_over_physical);
conformance_tests!(overlay_postgres_memory, postgres_over_memory);
conformance_tests!(overlay_postgres_sqlite, postgres_over_sqlite);

/// With history and quota around them, the other Overlays on a server share the suite: each case is for one of them to
/// pass. A soak has every case pass on each.
mod in_shares {
    use super::*;

    /// The pairs that share.
    const PAIRS: usize = 3;

    /// How many of the pairs each case is for.
    fn each_case_on() -> usize {
        std::env::var("PADDOCK_EACH_CASE_ON").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    fn share(pair: usize, fixture: fn() -> Fixture) {
        let fixture = fixture().keeping().within(AMPLE);
        // Its database stays from case to case.
        let _server = on_postgres();
        let is_ours = |number: usize| (number + pair) % PAIRS < each_case_on();
        for (_, case) in suite().into_iter().enumerate().filter(|(number, _)| is_ours(*number)) {
            (case.run)(&fixture);
        }
    }

    #[test]
    fn overlay_postgres_physical_with_history_and_quota() {
        share(0, postgres_over_physical);
    }

    #[test]
    fn overlay_postgres_memory_with_history_and_quota() {
        share(1, postgres_over_memory);
    }

    #[test]
    fn overlay_postgres_sqlite_with_history_and_quota() {
        share(2, postgres_over_sqlite);
    }
}

/// A version that counted would tell how often others have changed something, also in a write-only Workspace.
#[test]
fn versions_of_a_virtual_store_count_nothing() {
    let world = virtual_in_memory().world();
    let count = |n: u32| (world.write("/w/f", n.to_string()).0 & u128::from(u64::MAX)) as u64;
    let counts: Vec<u64> = (0..16).map(count).collect();
    assert!(counts.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 1 << 16), "{counts:?}");
}

/// A pooler may have no second connection to give while everybody else waits for what the first one holds.
#[test]
fn a_change_that_puts_in_chunks_on_postgres_needs_one_connection() {
    let database = Database::fresh();
    let base = PostgresBase::new(database.open(&[PostgresBase::SCHEMA]));
    let fixture = Fixture::new(ALL, move || {
        let store = VirtualStore::new(Arc::new(base.clone()), Namespace::new(["w"]));
        Box::new(Rows { store: Arc::new(store), _below: None, _kept: None })
    });
    let world = fixture.world();
    world.append("/w/f", "x".repeat(100_000)).unwrap();
    world.append("/w/f", "y".repeat(100_000)).unwrap();
    world.edit("/w/f", &"x".repeat(100_000), "z").unwrap();
    assert_eq!(world.text("/w/f"), format!("z{}", "y".repeat(100_000)));
    let open = ask(&database.url(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()");
    assert_eq!(open.as_deref(), Some("2"), "its own, and that of this question");
}
