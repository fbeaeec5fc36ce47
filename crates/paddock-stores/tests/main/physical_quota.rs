//! The quota of a Physical Store: exact for what Paddock does, and put right where others write too.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, Alter, Alteration, Cancel, ErrorKind, Expect, Mount, NoJournal, Operation, Quota, Refused, Result,
    Usage, Versioned, Vfs, Workspace,
};
use paddock_db::Sqlite;
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::{self, Open, with_call};
use paddock_stores::quota::{Counted, MemoryUsage, Reconciler, SqliteUsage, UsageCounter, UsageDelta, reconcile};
use tempfile::TempDir;

use crate::physical_history::{append, delete, edit, error, logical, rename, write};

/// A Mount at `/w` that may hold only so much.
struct Stall {
    dir: TempDir,
    store: Arc<PhysicalStore>,
    counter: Arc<dyn UsageCounter>,
    vfs: Vfs,
}

impl Stall {
    fn new(quota: Quota) -> Self {
        let dir = TempDir::new().unwrap();
        Self::with(dir, quota, Arc::new(MemoryUsage::new())).counted()
    }

    fn on_sqlite(quota: Quota) -> Self {
        let dir = TempDir::new().unwrap();
        let counter = Arc::new(sqlite(&dir));
        Self::with(dir, quota, counter).counted()
    }

    fn with(dir: TempDir, quota: Quota, counter: Arc<dyn UsageCounter>) -> Self {
        fs::create_dir(dir.path().join("mount")).unwrap();
        let store = PhysicalStore::new(&dir.path().join("mount")).unwrap().with_usage(Arc::clone(&counter));
        let store = Arc::new(store);
        let mount = Mount::new(Arc::<PhysicalStore>::clone(&store), None);
        let workspace = Workspace::new(logical("/w"), AccessScope::ReadWrite, mount).with_quota(quota);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
        Self { dir, store, counter, vfs }
    }

    fn counted(self) -> Self {
        self.count_again();
        self
    }

    fn count_again(&self) -> Option<Counted> {
        reconcile(&self.store, &Cancel::default()).unwrap()
    }

    fn host(&self, path: &str) -> PathBuf {
        self.dir.path().join("mount").join(path)
    }

    fn run(&self, operation: Operation) -> Result<(), Refused> {
        with_call(|call| world::run(&self.vfs, call, operation)).map(drop)
    }

    fn alter(&self, path: &str, how: Alter) -> Result<(), Refused> {
        let alterations = vec![Alteration { path: logical(path), how, expect: Expect::Any }];
        self.run(Operation::Alter { path: logical(path), alterations })
    }

    fn really(&self) -> Usage {
        with_call(|call| self.store.count(call)).unwrap()
    }

    #[track_caller]
    fn assert_exact(&self) {
        assert_eq!(self.counter.current().unwrap(), Some(self.really()));
    }
}

fn sqlite(dir: &TempDir) -> SqliteUsage {
    let path = dir.path().join("state.db");
    SqliteUsage::new(Sqlite::new(path, vec![SqliteUsage::SCHEMA], paddock_db::Durability::Process), "host:/here")
}

fn bytes(bytes: u64) -> Quota {
    Quota { bytes: Some(bytes), files: None }
}

fn files(files: u64) -> Quota {
    Quota { bytes: None, files: Some(files) }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

const OVER_BYTES: ErrorKind = ErrorKind::OverQuota { what: "bytes", limit: 10 };
const OVER_FILES: ErrorKind = ErrorKind::OverQuota { what: "files", limit: 3 };

#[test]
fn every_act_is_counted_exactly() {
    for stall in [Stall::new(bytes(1 << 20)), Stall::on_sqlite(bytes(1 << 20))] {
        let steps = [
            write("/w/a/b/c", "12345"),
            write("/w/a/b/c", "123"),
            write("/w/a/b/c", "1234567"),
            append("/w/a/b/c", "89"),
            append("/w/new/log", "12"),
            edit("/w/a/b/c", "123", "one two three"),
            edit("/w/a/b/c", "one two three", ""),
            Operation::MakeDir { path: logical("/w/d/e/f") },
            Operation::MakeDir { path: logical("/w/d") },
            rename("/w/a/b/c", "/w/x/y/c"),
            rename("/w/d", "/w/x/d"),
            delete("/w/new/log"),
            delete("/w/x"),
        ];
        for step in steps {
            let text = format!("{step:?}");
            stall.run(step).unwrap();
            assert_eq!(stall.counter.current().unwrap(), Some(stall.really()), "after {text}");
        }
        fs::write(stall.host("long"), "0123456789").unwrap();
        fs::hard_link(stall.host("long"), stall.dir.path().join("other")).unwrap();
        stall.count_again();
        stall.run(append("/w/long", "0")).unwrap();
        stall.assert_exact();
        stall.alter("/w/long", Alter::Truncate(3)).unwrap();
        stall.assert_exact();
    }
}

#[test]
fn what_fails_is_given_back() {
    let stall = Stall::new(bytes(100));
    stall.run(write("/w/f", "12345")).unwrap();
    fs::create_dir(stall.host("d")).unwrap();
    stall.count_again();
    assert!(stall.run(write("/w/d", "12345")).is_err());
    assert!(stall.run(edit("/w/f", "none", "other and longer")).is_err());
    assert!(stall.run(rename("/w/none", "/w/x")).is_err());
    let expect = Expect::Absent;
    assert!(stall.run(Operation::Write { path: logical("/w/f"), content: vec![b'x'; 50], expect }).is_err());
    stall.assert_exact();
}

#[test]
fn the_last_byte_fits_and_one_more_does_not() {
    let stall = Stall::new(bytes(10));
    stall.run(write("/w/f", "0123456789")).unwrap();
    assert_eq!(error(stall.run(write("/w/g", "x"))), OVER_BYTES);
    assert_eq!(error(stall.run(append("/w/f", "x"))), OVER_BYTES);
    assert_eq!(error(stall.run(edit("/w/f", "9", "99"))), OVER_BYTES);
    assert_eq!(error(stall.run(write("/w/new/dir/g", "x"))), OVER_BYTES);
    assert!(!stall.host("new").exists(), "no directory was made for what was refused");
    assert_eq!(fs::read_to_string(stall.host("f")).unwrap(), "0123456789");
    // What does not grow is fine, and what was freed can be used again.
    stall.run(write("/w/empty", "")).unwrap();
    stall.run(edit("/w/f", "9", "")).unwrap();
    stall.run(append("/w/f", "9")).unwrap();
    stall.assert_exact();
}

#[test]
fn directories_count_as_files_do() {
    let stall = Stall::new(files(3));
    stall.run(write("/w/a/b", "x")).unwrap();
    assert_eq!(error(stall.run(write("/w/c/d", "x"))), OVER_FILES);
    assert_eq!(error(stall.run(rename("/w/a/b", "/w/c/d/b"))), OVER_FILES);
    assert_eq!(error(stall.run(Operation::MakeDir { path: logical("/w/c/d") })), OVER_FILES);
    assert!(!stall.host("c").exists());
    stall.run(Operation::MakeDir { path: logical("/w/c") }).unwrap();
    assert_eq!(error(stall.run(write("/w/f", ""))), OVER_FILES);
    stall.run(write("/w/a/b", "longer")).unwrap();
    stall.run(rename("/w/a/b", "/w/c/b")).unwrap();
    stall.assert_exact();
}

#[test]
fn over_quota_what_does_not_grow_is_still_allowed() {
    let stall = Stall::new(bytes(10));
    fs::write(stall.host("f"), "more than ten bytes").unwrap();
    fs::write(stall.host("g"), "x").unwrap();
    stall.count_again();
    stall.run(write("/w/f", "even not less bytes")).unwrap();
    stall.run(edit("/w/f", "even ", "")).unwrap();
    assert_eq!(error(stall.run(append("/w/g", "x"))), OVER_BYTES);
    stall.run(Operation::MakeDir { path: logical("/w/d") }).unwrap();
    stall.run(delete("/w/f")).unwrap();
    stall.run(append("/w/g", "x")).unwrap();
    stall.assert_exact();
}

#[test]
fn one_set_may_use_what_it_frees_itself() {
    let stall = Stall::new(bytes(10));
    stall.run(write("/w/f", "0123456789")).unwrap();
    let step = |path: &str, how| Alteration { path: logical(path), how, expect: Expect::Any };
    let content = b"9876543210".to_vec();
    let alterations = vec![step("/w/f", Alter::Delete), step("/w/g", Alter::Write { content, mode: None })];
    stall.run(Operation::Alter { path: logical("/w"), alterations }).unwrap();
    stall.assert_exact();
}

/// Many writers, each in a directory of its own, so that no lock of a directory helps.
fn crowd(stall: &Stall, threads: usize, each: usize, content: &str, most: u64) {
    let over = AtomicBool::new(false);
    let done = AtomicBool::new(false);
    let written: usize = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                over.fetch_or(stall.really().bytes > most, Ordering::Relaxed);
            }
        });
        let write_all = |t: usize| {
            let wrote = |n: usize| stall.run(write(&format!("/w/{t}/{n}"), content));
            (0..each).filter(|n| wrote(*n).map_err(|e| assert_eq!(error(Err::<(), _>(e)), OVER_MOST)).is_ok()).count()
        };
        let writers: Vec<_> = (0..threads).map(|t| scope.spawn(move || write_all(t))).collect();
        let written = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
        written
    });
    assert!(!over.load(Ordering::Relaxed), "it never held more than it may");
    assert_eq!(written as u64, most / content.len() as u64, "all that fits was written");
    stall.assert_exact();
}

const MOST: u64 = 1000;
const OVER_MOST: ErrorKind = ErrorKind::OverQuota { what: "bytes", limit: MOST };

#[test]
fn of_64_writers_none_exceeds_it_and_all_that_fits_is_written() {
    let stall = Stall::new(bytes(MOST));
    (0..64).for_each(|t| fs::create_dir(stall.host(&t.to_string())).unwrap());
    stall.count_again();
    crowd(&stall, 64, 8, "0123456789", MOST);
}

#[test]
fn several_handles_on_one_database_count_together() {
    let stall = Stall::on_sqlite(bytes(MOST));
    (0..16).for_each(|t| fs::create_dir(stall.host(&t.to_string())).unwrap());
    stall.count_again();
    let other = sqlite(&stall.dir);
    other.add(UsageDelta { bytes: 500, files: 0 }).unwrap();
    assert_eq!(stall.counter.current().unwrap().unwrap().bytes, 500);
    other.add(UsageDelta { bytes: -500, files: 0 }).unwrap();
    crowd(&stall, 16, 8, "0123456789", MOST);
    assert_eq!(other.current().unwrap(), stall.counter.current().unwrap());
    let elsewhere = SqliteUsage::new(
        Sqlite::new(stall.dir.path().join("state.db"), vec![SqliteUsage::SCHEMA], paddock_db::Durability::Process),
        "host:/here/too",
    );
    assert_eq!(elsewhere.current().unwrap(), None, "another territory is another counter");
}

#[test]
fn before_the_first_count_everything_is_allowed_and_counted_afterwards() {
    for on_disk in [false, true] {
        let dir = TempDir::new().unwrap();
        let counter: Arc<dyn UsageCounter> =
            if on_disk { Arc::new(sqlite(&dir)) } else { Arc::new(MemoryUsage::new()) };
        let stall = Stall::with(dir, bytes(10), counter);
        assert_eq!((stall.counter.current().unwrap(), stall.counter.counted_at().unwrap()), (None, None));
        stall.run(write("/w/f", "more than ten bytes")).unwrap();
        assert_eq!(stall.counter.current().unwrap(), None);
        let usage = with_call(|call| stall.store.usage(call)).unwrap();
        assert_eq!(usage, Usage { bytes: 19, files: 1 }, "who asks is told nevertheless");
        assert_eq!(stall.count_again(), Some(Counted::Exact));
        stall.assert_exact();
        assert!(stall.counter.counted_at().unwrap().is_some());
        assert_eq!(error(stall.run(append("/w/f", "x"))), OVER_BYTES);
    }
}

fn both_counters(story: impl Fn(&dyn UsageCounter)) {
    story(&MemoryUsage::new());
    let dir = TempDir::new().unwrap();
    story(&sqlite(&dir));
}

const fn held(bytes: u64, files: u64) -> Usage {
    Usage { bytes, files }
}

#[test]
fn what_is_added_during_a_count_is_on_top_of_it() {
    both_counters(|counter| {
        let delta = |bytes, files| UsageDelta { bytes, files };
        counter.reserve(delta(7, 1), bytes(1 << 20), soon()).unwrap();
        let count = counter.begin_count().unwrap().unwrap();
        assert_eq!(counter.begin_count().unwrap(), None, "one at a time");
        counter.reserve(delta(5, 1), bytes(1 << 20), soon()).unwrap();
        counter.add(delta(-2, 0)).unwrap();
        assert!(counter.renew_count(count).unwrap());
        assert_eq!(counter.end_count(count, held(100, 10)).unwrap(), Counted::WithChanges);
        assert_eq!(counter.current().unwrap(), Some(held(103, 11)));
        let count = counter.begin_count().unwrap().unwrap();
        assert_eq!(counter.end_count(count, held(50, 5)).unwrap(), Counted::Exact);
        assert_eq!(counter.current().unwrap(), Some(held(50, 5)));
        assert_eq!(counter.end_count(count, held(1, 1)).unwrap(), Counted::Overtaken, "it is over");
        let count = counter.begin_count().unwrap().unwrap();
        counter.abandon_count(count).unwrap();
        assert!(counter.begin_count().unwrap().is_some());
        counter.add(delta(-1000, -1000)).unwrap();
        assert_eq!(counter.current().unwrap(), Some(held(0, 0)), "never less than nothing");
    });
}

#[test]
fn a_count_that_nobody_renews_is_taken_over() {
    let dir = TempDir::new().unwrap();
    let counter = sqlite(&dir);
    let dead = counter.begin_count().unwrap().unwrap();
    let database = Sqlite::new(dir.path().join("state.db"), vec![SqliteUsage::SCHEMA], paddock_db::Durability::Process);
    let long_ago = |tx: &paddock_db::rusqlite::Connection| {
        tx.execute("UPDATE usage SET renewed_at = renewed_at - 61000", ()).map_err(|e| database.error(e))
    };
    database.write(soon(), long_ago).unwrap();
    let next = counter.begin_count().unwrap().unwrap();
    assert!(!counter.renew_count(dead).unwrap());
    assert_eq!(counter.end_count(dead, held(1, 1)).unwrap(), Counted::Overtaken);
    assert_eq!(counter.current().unwrap(), None);
    assert_eq!(counter.end_count(next, held(2, 2)).unwrap(), Counted::Exact);
    assert_eq!(counter.current().unwrap(), Some(held(2, 2)));
}

#[test]
fn a_count_sees_everything_under_any_name_but_its_own_temporary_files() {
    let stall = Stall::new(bytes(1 << 20));
    stall.run(write("/w/d/f", "12345")).unwrap();
    fs::write(stall.host(".env"), "123").unwrap();
    std::os::unix::fs::symlink("target", stall.host("link")).unwrap();
    let raw = std::os::unix::ffi::OsStrExt::from_bytes(b"not \xff utf-8");
    let raw: &std::ffi::OsStr = raw;
    fs::create_dir(stall.host("").join(raw)).unwrap();
    fs::write(stall.host("").join(raw).join("inside"), "1").unwrap();
    fs::write(stall.host(".paddock-tmp-1-2-3"), "left over").unwrap();
    fs::create_dir(stall.host(".paddock-tmp-1-move-2")).unwrap();
    fs::write(stall.host(".paddock-tmp-1-move-2/f"), "12").unwrap();
    // d, f, .env, link, the raw name, inside, the directory aside, f.
    assert_eq!(stall.really(), Usage { bytes: 5 + 3 + 6 + 1 + 2, files: 8 });
}

#[test]
fn a_count_waits_for_the_change_that_was_counted_before_it() {
    let stall = Stall::new(bytes(1 << 20));
    stall.run(Operation::MakeDir { path: logical("/w/d") }).unwrap();
    let dir = fs::File::open(stall.host("d")).unwrap();
    rustix::fs::flock(&dir, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| stall.really());
        std::thread::sleep(Duration::from_millis(100));
        // As a change does it whose room was reserved before the count began.
        fs::write(stall.host("d/f"), "12345").unwrap();
        drop(dir);
        assert_eq!(counting.join().unwrap(), Usage { bytes: 5, files: 2 });
    });
}

#[test]
fn counting_again_and_again_among_writers_loses_nothing() {
    let stall = Stall::new(bytes(1 << 30));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) || rounds == 0 {
                stall.count_again();
                rounds += 1;
                // It only grows, and what is there was counted before: twice perhaps, and never not at all.
                let before = stall.really();
                let counted = stall.counter.current().unwrap().unwrap();
                assert!(counted.bytes >= before.bytes && counted.files >= before.files, "{counted:?} {before:?}");
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|t| {
                let stall = &stall;
                scope.spawn(move || {
                    for n in 0..200 {
                        stall.run(write(&format!("/w/{t}/{}/{n}", n % 10), "0123456789")).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        counting.join().unwrap();
    });
    assert_eq!(stall.count_again(), Some(Counted::Exact));
    stall.assert_exact();
    assert_eq!(stall.really().bytes, 4 * 200 * 10);
}

#[test]
fn the_reconciler_counts_what_nobody_counted_and_what_others_write() {
    let dir = TempDir::new().unwrap();
    let stall = Stall::with(dir, bytes(10), Arc::new(MemoryUsage::new()));
    fs::write(stall.host("f"), "12345").unwrap();
    let reconciler = Reconciler::start(vec![Arc::clone(&stall.store)], Duration::from_millis(5)).unwrap();
    until(|| stall.counter.current().unwrap() == Some(held(5, 1)));
    fs::write(stall.host("g"), "1234").unwrap();
    until(|| stall.counter.current().unwrap() == Some(held(9, 2)));
    drop(reconciler);
    let last = stall.counter.counted_at().unwrap();
    fs::write(stall.host("h"), "1").unwrap();
    // A count that is recent enough is left alone: it comes before one that is not, which is waited for.
    let other = Stall::with(TempDir::new().unwrap(), bytes(10), Arc::new(MemoryUsage::new()));
    let both = vec![Arc::clone(&stall.store), Arc::clone(&other.store)];
    let _reconciler = Reconciler::start(both, Duration::from_secs(3600)).unwrap();
    until(|| other.counter.current().unwrap() == Some(held(0, 0)));
    assert_eq!(stall.counter.counted_at().unwrap(), last);
}

#[track_caller]
fn until(mut condition: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < patience, "it never came to that");
        std::thread::sleep(Duration::from_millis(1));
    }
}
