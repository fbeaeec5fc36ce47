//! A directory or file swapped with a link while a call runs. Ever only an error may come of it.
//!
//! `PADDOCK_RACE_ATTEMPTS` says how many attempts each operation makes (the long suites set it).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::pen::{Pen, SECRET};

pub(super) fn attempts() -> usize {
    std::env::var("PADDOCK_RACE_ATTEMPTS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000)
}

/// Exchanges two names as fast as it can until dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Swapper {
    fn start(a: PathBuf, b: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut swaps = 0;
            while !stopped.load(Ordering::Relaxed) {
                swaps += u64::from(renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).is_ok());
            }
            swaps
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let swaps = self.thread.take().map(|t| t.join().unwrap_or(0));
        assert!(thread::panicking() || swaps.is_some_and(|n| n > 0), "the swapper swapped");
    }
}

/// A pen in which `/w/d` (a directory with `secret.txt` and room) keeps being swapped with a link to
/// the directory outside, which holds a file of the same name.
fn pen_with_directory() -> Pen {
    let pen = Pen::new();
    fs::create_dir(pen.inside("d")).unwrap();
    fs::write(pen.inside("d/secret.txt"), "inside\n").unwrap();
    fs::write(pen.outside("only-outside.txt"), SECRET).unwrap();
    symlink(pen.outside(""), pen.inside("swap")).unwrap();
    pen
}

/// Runs one operation again and again under the swap. Nothing outside may change, and the honest
/// twin has to have succeeded at times.
fn race_directory(act: impl Fn(&Pen, usize) -> Option<String>) {
    let pen = pen_with_directory();
    let before = pen.outside_state();
    let mut done = 0;
    {
        let _swapper = Swapper::start(pen.inside("d"), pen.inside("swap"));
        for attempt in 0..attempts() {
            if let Some(seen) = act(&pen, attempt) {
                assert!(!seen.contains(SECRET), "attempt {attempt} leaked");
                done += 1;
            }
        }
    }
    assert_eq!(pen.outside_state(), before, "something outside changed");
    // With the swapping over, put the directory back under its own name: now it has to work.
    if fs::symlink_metadata(pen.inside("d")).unwrap().is_symlink() {
        renameat_with(CWD, pen.inside("d"), CWD, pen.inside("swap"), RenameFlags::EXCHANGE).unwrap();
    }
    assert!(act(&pen, usize::MAX).is_some(), "the honest twin succeeds ({done} did under the race)");
}

#[test]
fn race_read() {
    race_directory(|pen, _| pen.read("/w/d/secret.txt").ok());
}

#[test]
fn race_overwrite() {
    race_directory(|pen, n| pen.write("/w/d/secret.txt", &format!("attempt {n}")).ok().map(|_| String::new()));
}

#[test]
fn race_create() {
    race_directory(|pen, n| pen.write(&format!("/w/d/new/{n}.txt"), "planted").ok().map(|_| String::new()));
}

#[test]
fn race_append() {
    race_directory(|pen, _| pen.append("/w/d/secret.txt", "x").ok().map(|_| String::new()));
}

#[test]
fn race_edit() {
    race_directory(|pen, n| {
        let swapped = pen
            .edit("/w/d/secret.txt", "inside", "INSIDE")
            .or_else(|_| pen.edit("/w/d/secret.txt", "INSIDE", "inside"));
        // The text can be in either state; what matters is that only ours is ever edited.
        assert!(n != usize::MAX || swapped.is_ok());
        swapped.ok().map(|_| String::new())
    });
}

#[test]
fn race_list() {
    race_directory(|pen, _| {
        let listed = pen.list("/w/d").ok()?;
        assert!(!listed.iter().any(|path| path.contains("only-outside")), "{listed:?}");
        Some(listed.join("\n"))
    });
}

#[test]
fn race_search() {
    race_directory(|pen, _| {
        let found = pen.search("/w", "SECRET|inside").ok()?;
        Some(found.into_iter().map(|hit| hit.1).collect())
    });
}

#[test]
fn race_move() {
    race_directory(|pen, n| {
        pen.write("/w/carried", "x").unwrap();
        let moved = pen.rename("/w/carried", &format!("/w/d/carried-{n}"));
        let taken = pen.rename("/w/d/secret.txt", "/w/taken").is_ok();
        if taken {
            let content = pen.read("/w/taken").unwrap();
            assert!(!content.contains(SECRET));
            // Put it back for the next attempt; under the race that may take a while.
            while pen.rename("/w/taken", "/w/d/secret.txt").is_err() {}
        }
        moved.ok().map(|_| String::new())
    });
}

#[test]
fn race_delete() {
    race_directory(|pen, n| {
        let name = format!("/w/d/victim-{n}");
        let _ = pen.write(&name, "x");
        let gone = pen.delete("/w/d/secret.txt").is_ok();
        if gone {
            while pen.write("/w/d/secret.txt", "inside\n").is_err() {}
        }
        gone.then(String::new)
    });
}

/// The last name itself is swapped between a file and a link.
#[test]
fn race_of_the_last_name() {
    let pen = Pen::new();
    fs::write(pen.inside("f"), "inside\n").unwrap();
    symlink(pen.outside("secret.txt"), pen.inside("swap")).unwrap();
    let before = pen.outside_state();
    {
        let _swapper = Swapper::start(pen.inside("f"), pen.inside("swap"));
        for n in 0..attempts() {
            if let Ok(content) = pen.read("/w/f") {
                assert!(!content.contains(SECRET), "attempt {n} leaked");
            }
            let _ = pen.append("/w/f", "x");
            let _ = pen.edit("/w/f", "inside", "INSIDE");
        }
    }
    assert_eq!(pen.outside_state(), before);
    assert!(
        !fs::read_dir(pen.inside("")).unwrap().any(|e| e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".paddock"))
    );
}
