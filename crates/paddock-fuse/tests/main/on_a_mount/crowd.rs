//! Many at once, Stores that are slow or break, and a server that is killed.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use paddock_core::{
    AccessScope, Applied, Call, ChangeSet, EntrySink, Hit, LastName, Meta, Place, Query, RelPath, RelPathBuf, Result,
    Sink, Store, Walk,
};
use paddock_fuse::{How, Others};
use paddock_stores::virtual_store::VirtualStore;
use rustix::io::Errno;

use crate::world::{Mounted, errno, names, one, read, soon, vfs, workspace, write};

#[test]
fn many_readers_and_writers_get_along() {
    many_get_along(&Mounted::writable(one()));
}

#[test]
fn whoever_opens_while_others_write_sees_a_whole_version() {
    let mounted =
        Mounted::new(one(), How::Writable, |served| served.while_others(Others::ChangeNothing).with_threads(2));
    const FILES: usize = 24;
    for n in 0..FILES {
        write(&mounted.vfs, &format!("/w/f{n}"), "old\n".repeat(2000));
    }
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let mounted = &mounted;
            scope.spawn(move || {
                for n in 0..FILES {
                    let at = mounted.at(&format!("/w/f{n}"));
                    if worker % 3 == 0 {
                        let file = OpenOptions::new().write(true).open(&at).unwrap();
                        file.write_all_at("new\n".repeat(2000).as_bytes(), 0).unwrap();
                    } else {
                        let text = fs::read_to_string(&at).unwrap();
                        assert!(text.len() == 8000 && text.lines().all(|line| line == "old" || line == "new"));
                    }
                }
            });
        }
    });
    for n in 0..FILES {
        assert_eq!(fs::read_to_string(mounted.at(&format!("/w/f{n}"))).unwrap(), "new\n".repeat(2000), "in the cache");
        assert_eq!(read(&mounted.vfs, &format!("/w/f{n}")).unwrap(), "new\n".repeat(2000), "in the Store");
    }
}

#[test]
fn many_readers_and_writers_get_along_where_the_kernel_remembers() {
    many_get_along(&Mounted::new(one(), How::Writable, |served| served.while_others(Others::ChangeNothing)));
}

fn many_get_along(mounted: &Mounted) {
    write(&mounted.vfs, "/w/shared", "x".repeat(100_000));
    std::thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || {
                for n in 0..20 {
                    let at = mounted.at(&format!("/w/d{}/f{worker}-{n}", n % 3));
                    fs::create_dir_all(at.parent().unwrap()).unwrap();
                    fs::write(&at, format!("{worker} {n}")).unwrap();
                    assert_eq!(fs::read_to_string(&at).unwrap(), format!("{worker} {n}"));
                    assert_eq!(fs::read(mounted.at("/w/shared")).unwrap().len(), 100_000);
                    let to = at.with_extension("moved");
                    fs::rename(&at, &to).unwrap();
                    if n % 2 == 0 {
                        fs::remove_file(&to).unwrap();
                    }
                }
            });
        }
        for worker in 0..4 {
            scope.spawn(move || {
                for n in 0..25 {
                    let mut log = OpenOptions::new().append(true).create(true).open(mounted.at("/w/log")).unwrap();
                    log.write_all(format!("line {worker} {n}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let log = read(&mounted.vfs, "/w/log").unwrap();
    assert_eq!(log.lines().count(), 100, "no line of the log is lost or torn");
    assert!(log.lines().all(|line| line.starts_with("line ")));
    let left: usize = (0..3).map(|d| names(&mounted.at(&format!("/w/d{d}"))).len()).sum();
    assert_eq!(left, 80);
}

/// A Store that waits in its reads until it is let go, and panics where it is told to.
struct Troubled {
    inner: VirtualStore,
    held: Mutex<bool>,
    released: Condvar,
    waiting: AtomicBool,
}

impl Troubled {
    fn let_go(&self) {
        *self.held.lock().unwrap() = false;
        self.released.notify_all();
    }
}

impl Store for Troubled {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        self.inner.resolve(call, path, last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        self.inner.stat(call, at)
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        assert!(at.rel().as_str() != "broken", "this Store is broken there");
        if at.rel().as_str().starts_with("slow") {
            self.waiting.store(true, Ordering::SeqCst);
            let held = self.held.lock().unwrap();
            drop(self.released.wait_while(held, |held| *held).unwrap());
        }
        self.inner.read(call, at, range, out)
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        self.inner.walk(call, at, walk, sink)
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        self.inner.search(call, at, query, sink)
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        self.inner.apply(call, set)
    }
}

fn troubled() -> (Mounted, Arc<Troubled>) {
    troubled_while(Others::MayChange)
}

fn troubled_while(others: Others) -> (Mounted, Arc<Troubled>) {
    let store = Arc::new(Troubled {
        inner: VirtualStore::in_memory(),
        held: Mutex::new(true),
        released: Condvar::new(),
        waiting: AtomicBool::new(false),
    });
    let vfs = vfs(vec![workspace("/w", AccessScope::ReadWrite, Arc::clone(&store) as _)]);
    for name in ["slow1", "slow2", "slow3", "quick", "broken"] {
        write(&vfs, &format!("/w/{name}"), name);
    }
    (Mounted::new(vfs, How::Writable, |served| served.while_others(others)), store)
}

/// The kernel may wait for us with a page of such a file: whoever would then wait for the kernel waits for ever.
#[test]
fn what_somebody_has_open_is_not_given_with_its_opening() {
    let (mounted, store) = troubled_while(Others::ChangeNothing);
    let _writer = OpenOptions::new().write(true).open(mounted.at("/w/slow1")).unwrap();
    let opened = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _reader = File::open(mounted.at("/w/slow1")).unwrap();
            opened.store(true, Ordering::SeqCst);
        });
        let opened_at_once = soon(|| opened.load(Ordering::SeqCst));
        store.let_go();
        assert!(opened_at_once, "opening waited for the content");
    });
}

#[test]
fn a_slow_store_leaves_the_others_to_work() {
    let (mounted, store) = troubled();
    std::thread::scope(|scope| {
        let slow: Vec<_> = (1..=3)
            .map(|n| {
                let at = mounted.at(&format!("/w/slow{n}"));
                scope.spawn(move || fs::read_to_string(at).unwrap())
            })
            .collect();
        while !store.waiting.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        for _ in 0..20 {
            assert_eq!(fs::read_to_string(mounted.at("/w/quick")).unwrap(), "quick");
            fs::write(mounted.at("/w/other"), "written").unwrap();
        }
        store.let_go();
        let read: Vec<String> = slow.into_iter().map(|reader| reader.join().unwrap()).collect();
        assert_eq!(read, ["slow1", "slow2", "slow3"]);
    });
}

#[test]
fn a_store_that_panics_is_an_error_of_one_call() {
    let (mounted, _) = troubled();
    for _ in 0..20 {
        assert_eq!(errno(fs::read(mounted.at("/w/broken"))), Some(Errno::IO.raw_os_error()));
    }
    assert!(mounted.session().defects() >= 20);
    assert_eq!(fs::read_to_string(mounted.at("/w/quick")).unwrap(), "quick");
    let mut file = OpenOptions::new().append(true).open(mounted.at("/w/broken")).unwrap();
    assert_eq!(errno(file.write_all(b"x")), Some(Errno::IO.raw_os_error()));
    drop(file);
    File::create(mounted.at("/w/new")).unwrap();
}
