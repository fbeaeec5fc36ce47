//! A directory that moves while somebody changes something in it: what was judged by one path never
//! ends under another.
//!
//! Each step is played with the locks that Paddock's processes take, held by the test as one more of
//! them; and then everything at once, by threads.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, Cancel, ErrorKind, Expect, Mount, NoJournal, Operation, Refused, TEMP_PREFIX, Vfs, Workspace,
};
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::{self, Open, with_call};
use paddock_stores::doubles::{Method, Shared};
use rustix::fs::FlockOperation;

use super::pen::{Pen, kind, logical};
use super::races::attempts;

/// A directory locked as another process would do it, past all of its checks.
struct Held(fs::File);

impl Held {
    fn lock(dir: &Path) -> Self {
        let dir = fs::File::open(dir).unwrap();
        rustix::fs::flock(&dir, FlockOperation::LockExclusive).unwrap();
        Self(dir)
    }

    /// A path in the directory, wherever that is by now.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd())).join(name)
    }
}

/// Waits for something that has to happen.
#[track_caller]
fn wait_until(what: &str, happened: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(Instant::now() < until, "waited in vain until {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Gives a thread that ought to wait the time to show that it does not.
fn tempt<T>(thread: &thread::ScopedJoinHandle<'_, T>) {
    let until = Instant::now() + Duration::from_millis(100);
    while !thread.is_finished() && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

/// How often this process has a directory open.
fn opens_of(dir: &Path) -> usize {
    let fds = fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    fds.filter(|led| led == dir).count()
}

/// Everything below a directory, to compare before and after.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            all.extend(tree(&path));
        }
        all.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
    all
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn go(from: &str, to: &str) -> Operation {
    Operation::Move { from: logical(from), to: logical(to) }
}

/// Each change waits for the lock of a directory that it has open already, which then becomes another.
#[test]
fn a_change_that_waited_starts_again_when_its_directory_moved() {
    let text = || b"new".to_vec();
    let edits = || vec![paddock_core::Replacement { old: "a".to_owned(), new: "b".to_owned(), all: true }];
    let changes: Vec<(Operation, Option<&str>)> = vec![
        (Operation::Write { path: logical("/w/x/new"), content: text(), expect: Expect::Any }, Some("x/new")),
        (Operation::Write { path: logical("/w/x/a"), content: text(), expect: Expect::Any }, Some("x/a")),
        (Operation::Write { path: logical("/w/x/d/e/f"), content: text(), expect: Expect::Any }, Some("x/d/e/f")),
        (Operation::Append { path: logical("/w/x/a"), content: text() }, Some("x/a")),
        (Operation::MakeDir { path: logical("/w/x/d/e") }, Some("x/d/e")),
        (go("/w/f", "/w/x/f"), Some("x/f")),
        (go("/w/x/a", "/w/taken"), None),
        (Operation::Edit { path: logical("/w/x/a"), edits: edits(), expect: Expect::Any }, None),
        (Operation::Delete { path: logical("/w/x/a"), recursive: false }, None),
    ];
    for (change, arrives) in changes {
        let told = format!("{change:?}");
        let pen = Pen::new();
        pen.write("/w/x/a", "aaa").unwrap();
        pen.write("/w/f", "f").unwrap();
        let (x, moved) = (pen.inside("x").canonicalize().unwrap(), pen.inside(".config"));
        let held = Held::lock(&x);
        let result = thread::scope(|threads| {
            let changing = threads.spawn(|| pen.run(change));
            wait_until("the change has the directory open", || opens_of(&x) > 1);
            fs::rename(&x, &moved).unwrap();
            drop(held);
            changing.join().unwrap()
        });
        assert_eq!(tree(&moved), BTreeMap::from([(moved.join("a"), b"aaa".to_vec())]), "{told}");
        match arrives {
            Some(path) => {
                result.unwrap();
                assert!(pen.inside(path).exists(), "{told}");
            }
            None => assert_eq!(kind(result), ErrorKind::NotFound, "{told}"),
        }
    }
}

/// Also when it is the whole Mount that moved.
#[test]
fn a_change_that_waited_finds_its_mount_again() {
    let pen = Pen::new();
    let mount = pen.inside("").canonicalize().unwrap();
    let held = Held::lock(&mount);
    thread::scope(|threads| {
        let changing = threads.spawn(|| pen.write("/w/f", "f"));
        wait_until("the change has the Mount open", || opens_of(&mount) > 1);
        fs::rename(&mount, pen.outside("elsewhere")).unwrap();
        drop(held);
        changing.join().unwrap().unwrap();
    });
    assert_eq!(names(&pen.outside("elsewhere")), [""; 0]);
    assert_eq!(pen.read("/w/f").unwrap(), "f");
}

/// Runs a move of `/w/x` while the test holds a directory of it, and `meanwhile` once `x` has gone aside.
fn move_while_held(
    pen: &Pen,
    held: Held,
    to: &str,
    meanwhile: impl FnOnce(Held, &dyn Fn()),
) -> Result<paddock_core::Outcome, Refused> {
    thread::scope(|threads| {
        let moving = threads.spawn(|| pen.rename("/w/x", to));
        wait_until("the directory is aside", || !pen.inside("x").exists());
        tempt(&moving);
        meanwhile(held, &|| tempt(&moving));
        moving.join().unwrap()
    })
}

/// A change that was under way inside ends before what is inside is judged.
#[test]
fn a_move_waits_for_what_is_under_way_inside() {
    for (late, arrives) in [("config", false), ("notes.txt", true)] {
        let pen = Pen::new();
        pen.make_dir("/w/x/git").unwrap();
        let held = Held::lock(&pen.inside("x/git"));
        let moved = move_while_held(&pen, held, "/w/.config", |held, _| {
            fs::write(held.path(late), "late").unwrap();
        });
        let stands = if arrives { ".config" } else { "x" };
        assert_eq!(moved.is_ok(), arrives, "{moved:?}");
        assert!(arrives || matches!(moved, Err(Refused::DeniedInside(_))));
        assert_eq!(names(&pen.inside("")), [stands]);
        assert_eq!(fs::read_to_string(pen.inside(stands).join("git").join(late)).unwrap(), "late");
    }
}

/// The change under way makes a directory, and the next one is under way in that.
#[test]
fn a_move_waits_in_directories_that_were_made_while_it_waited() {
    let pen = Pen::new();
    pen.make_dir("/w/x").unwrap();
    let held = Held::lock(&pen.inside("x"));
    let moved = move_while_held(&pen, held, "/w/.config", |held, tempt| {
        fs::create_dir(held.path("git")).unwrap();
        let inner = Held::lock(&held.path("git"));
        drop(held);
        tempt();
        fs::write(inner.path("config"), "late").unwrap();
    });
    assert!(matches!(moved, Err(Refused::DeniedInside(_))), "{moved:?}");
    assert_eq!(names(&pen.inside("")), ["x"]);
    assert_eq!(pen.read("/w/x/git/config").unwrap(), "late");
}

/// Somebody who never lets go can keep a directory from moving, and not take it away.
#[test]
fn a_directory_that_cannot_be_judged_goes_back() {
    let pen = Pen::new();
    pen.write("/w/x/deep/f", "f").unwrap();
    let held = Held::lock(&pen.inside("x/deep"));
    let overdue = pen.run_with(go("/w/x", "/w/y"), &Cancel::default(), Duration::from_millis(100));
    assert_eq!(kind(overdue), ErrorKind::Busy);
    assert_eq!((names(&pen.inside("")), pen.read("/w/x/deep/f").unwrap()), (vec!["x".to_owned()], "f".to_owned()));
    let cancel = Cancel::default();
    let stopped = thread::scope(|threads| {
        let moving = threads.spawn(|| pen.run_with(go("/w/x", "/w/y"), &cancel, Duration::from_secs(60)));
        wait_until("the directory is aside", || !pen.inside("x").exists());
        cancel.stop();
        moving.join().unwrap()
    });
    assert_eq!(kind(stopped), ErrorKind::Cancelled);
    assert_eq!((names(&pen.inside("")), pen.read("/w/x/deep/f").unwrap()), (vec!["x".to_owned()], "f".to_owned()));
    drop(held);
    pen.rename("/w/x", "/w/y").unwrap();
    assert_eq!(pen.read("/w/y/deep/f").unwrap(), "f");
}

/// Its path was written to meanwhile: both are kept, and the answer says where.
#[test]
fn a_directory_whose_path_was_taken_meanwhile_goes_back_beside_it() {
    let pen = Pen::new();
    pen.write("/w/x/git/old", "old").unwrap();
    fs::create_dir(pen.inside("x-2")).unwrap();
    let held = Held::lock(&pen.inside("x/git"));
    let moved = move_while_held(&pen, held, "/w/.config", |held, _| {
        pen.write("/w/x/git/new", "new").unwrap();
        fs::write(held.path("config"), "late").unwrap();
    });
    match moved {
        Err(Refused::Misuse { path, .. }) => assert_eq!(path, logical("/w/x-3")),
        other => panic!("{other:?}"),
    }
    assert_eq!(names(&pen.inside("")), ["x", "x-2", "x-3"]);
    assert_eq!(pen.read("/w/x/git/new").unwrap(), "new");
    assert_eq!(pen.read("/w/x-3/git/old").unwrap(), "old");
}

/// Several edit a file, which takes a while, and its directory moves at any moment of it. Once the move is
/// answered, nobody who only knows the old path changes anything there.
#[test]
fn race_edit_in_a_moving_directory() {
    const EDITORS: usize = 4;
    let filler = "filler\n".repeat(8 << 10);
    let pen = Pen::new();
    let (moved, edited) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let content = |n| fs::read(pen.inside(&format!("y{n}/d/f"))).unwrap();
    for n in 0..attempts() / 10 {
        let start: String = (0..EDITORS).map(|editor| format!("editor{editor}=0;\n")).collect();
        pen.write("/w/x/d/f", &(start + &filler)).unwrap();
        let began = AtomicUsize::new(0);
        thread::scope(|threads| {
            let mut editing = Vec::new();
            let answer = pen.run_after(go("/w/x", &format!("/w/y{n}")), || {
                for editor in 0..EDITORS {
                    let (pen, began) = (&pen, &began);
                    editing.push(threads.spawn(move || {
                        began.fetch_add(1, Ordering::SeqCst);
                        pen.edit("/w/x/d/f", &format!("editor{editor}=0;"), &format!("editor{editor}=1;"))
                    }));
                }
                wait_until("all have begun", || began.load(Ordering::SeqCst) == EDITORS);
                thread::sleep(Duration::from_micros(100) * u32::try_from(n % 30).unwrap());
            });
            let at_arrival = answer.as_ref().ok().map(|_| content(n));
            let done: Vec<bool> = editing.into_iter().map(|thread| thread.join().unwrap().is_ok()).collect();
            let now = match at_arrival {
                None => fs::read(pen.inside("x/d/f")).unwrap(),
                Some(then) => {
                    moved.fetch_add(1, Ordering::Relaxed);
                    let now = content(n);
                    assert!(now == then, "attempt {n}: an edit by the old path ended after the directory arrived");
                    now
                }
            };
            let now = String::from_utf8(now).unwrap();
            for (editor, done) in done.into_iter().enumerate() {
                edited.fetch_add(usize::from(done), Ordering::Relaxed);
                assert_eq!(now.contains(&format!("editor{editor}=1;")), done, "attempt {n}, editor {editor}");
            }
        });
        for left in names(&pen.inside("")) {
            fs::remove_dir_all(pen.inside(&left)).unwrap();
        }
    }
    let (moved, edited) = (moved.into_inner(), edited.into_inner());
    assert!(moved > 0 && edited > 0, "both succeed at times: {moved} moved, {edited} edited");
}

/// Processes in containers may all have the same number, and share a directory.
#[test]
fn what_somebody_else_has_aside_stays_there() {
    let temp = tempfile::tempdir().unwrap();
    let mount = temp.path().to_owned();
    fs::create_dir(mount.join("x")).unwrap();
    fs::write(mount.join("x/mine"), "").unwrap();
    let aside: Arc<Mutex<Option<PathBuf>>> = Arc::default();
    let planted = Arc::clone(&aside);
    let plant = move |method, path: &str| {
        if method == Method::Apply && path.starts_with(TEMP_PREFIX) && planted.lock().unwrap().is_none() {
            fs::create_dir(mount.join(path)).unwrap();
            fs::write(mount.join(path).join("theirs"), "").unwrap();
            *planted.lock().unwrap() = Some(mount.join(path));
        }
    };
    let store = Shared::new(Arc::new(PhysicalStore::new(temp.path()).unwrap()), plant);
    let workspace = Workspace::new(logical("/w"), AccessScope::ReadWrite, Mount::new(Arc::new(store), None));
    let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
    let (moved, id) = with_call(|call| (world::run(&vfs, call, go("/w/x", "/w/y")), call.id));
    assert_eq!(kind(moved), ErrorKind::AlreadyExists);
    let aside = aside.lock().unwrap().take().unwrap();
    assert!(aside.to_str().unwrap().contains(&id.to_string()), "no other call comes up with {}", aside.display());
    assert_eq!((names(&aside), names(&temp.path().join("x"))), (vec!["theirs".to_owned()], vec!["mine".to_owned()]));
    assert_eq!(names(temp.path()).len(), 2, "and nothing else is there");
}
