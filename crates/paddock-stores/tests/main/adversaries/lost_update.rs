//! Many writers of one file, in one process and in several: nothing is lost.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock_core::{Cancel, ErrorKind, Expect, Operation, Outcome, Refused};

use super::pen::{Pen, kind, logical};

const WRITERS: usize = 64;
const EDITS: usize = 10;

#[test]
fn of_64_threads_that_edit_one_file_none_loses() {
    let pen = Arc::new(Pen::new());
    pen.write("/w/counters", &counters(WRITERS)).unwrap();
    let threads: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let pen = Arc::clone(&pen);
            thread::spawn(move || (0..EDITS).for_each(|n| count_up(&pen, writer, n)))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(pen.read("/w/counters").unwrap(), finished(WRITERS));
}

#[test]
fn of_64_threads_that_append_to_one_file_none_loses() {
    let pen = Arc::new(Pen::new());
    let threads: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let pen = Arc::clone(&pen);
            thread::spawn(move || {
                (0..EDITS).for_each(|n| drop(pen.append("/w/log", &format!("{writer}-{n}\n")).unwrap()));
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let log = pen.read("/w/log").unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), WRITERS * EDITS);
}

#[test]
fn of_many_that_expect_one_version_exactly_one_wins() {
    let pen = Arc::new(Pen::new());
    pen.write("/w/f", "start").unwrap();
    let Outcome::Read { meta, .. } = pen.run(Operation::Read { path: logical("/w/f"), range: 0..10 }).unwrap() else {
        panic!("a read reads");
    };
    let threads: Vec<_> = (0..16)
        .map(|writer: usize| {
            let (pen, expect) = (Arc::clone(&pen), Expect::Is(meta.version));
            let content = format!("writer {writer}").into_bytes();
            thread::spawn(move || pen.run(Operation::Write { path: logical("/w/f"), content, expect }).is_ok())
        })
        .collect();
    let won = threads.into_iter().map(|t| t.join().unwrap()).filter(|won| *won).count();
    assert_eq!(won, 1);
}

/// The same file edited by several processes. This test starts itself again as each of them.
#[test]
fn of_several_processes_that_edit_one_file_none_loses() {
    const PROCESSES: usize = 4;
    if let Ok(dir) = std::env::var("PADDOCK_TEST_EDIT_IN") {
        let writer = std::env::var("PADDOCK_TEST_WRITER").unwrap().parse().unwrap();
        return edit_as_process(&dir, writer);
    }
    let pen = Pen::new();
    pen.write("/w/counters", &counters(PROCESSES)).unwrap();
    let children: Vec<_> = (0..PROCESSES)
        .map(|writer| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "adversaries::lost_update::of_several_processes_that_edit_one_file_none_loses"])
                .env("PADDOCK_TEST_EDIT_IN", pen.inside(""))
                .env("PADDOCK_TEST_WRITER", writer.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(pen.read("/w/counters").unwrap(), finished(PROCESSES));
    let left: Vec<_> = fs::read_dir(pen.inside("")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file is left: {left:?}");
}

fn edit_as_process(dir: &str, writer: usize) {
    use paddock_core::AccessScope::ReadWrite;
    use paddock_stores::HardLinks;
    let pane = super::pen::Pane { prefix: "/w", scope: ReadWrite, host: dir, hide: &[] };
    let pen = Pen::with(&[pane], HardLinks::Read);
    (0..EDITS).for_each(|n| count_up(&pen, writer, n));
}

fn counters(writers: usize) -> String {
    (0..writers).map(|writer| format!("w{writer}=0;\n")).collect()
}

fn finished(writers: usize) -> String {
    (0..writers).map(|writer| format!("w{writer}={EDITS};\n")).collect()
}

fn count_up(pen: &Pen, writer: usize, n: usize) {
    let done: Result<Outcome, Refused> =
        pen.edit("/w/counters", &format!("w{writer}={n};"), &format!("w{writer}={};", n + 1));
    done.unwrap();
}

/// Somebody who knows nothing of our lock replaces the file, as editors do.
#[test]
fn what_an_editor_saves_meanwhile_is_never_overwritten_with_something_older() {
    const SAVES: usize = 300;
    let pen = Arc::new(Pen::new());
    pen.write("/w/f", "ours=a;\ntheirs=0;\n").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let editing = {
        let (pen, stop) = (Arc::clone(&pen), Arc::clone(&stop));
        thread::spawn(move || {
            let mut done = 0;
            while !stop.load(Ordering::Relaxed) {
                done += usize::from(pen.edit("/w/f", "ours=a;", "ours=b;").is_ok());
                done += usize::from(pen.edit("/w/f", "ours=b;", "ours=a;").is_ok());
            }
            done
        })
    };
    for save in 1..=SAVES {
        fs::write(pen.inside("saved"), format!("ours=a;\ntheirs={save};\n")).unwrap();
        fs::rename(pen.inside("saved"), pen.inside("f")).unwrap();
        // For an instant our content may be in its place, until it is swapped back.
        let kept = (0..1000).any(|_| {
            let now = fs::read_to_string(pen.inside("f")).unwrap_or_default();
            now.contains(&format!("theirs={save};")) || {
                thread::sleep(Duration::from_millis(1));
                false
            }
        });
        assert!(kept, "save {save} was lost");
    }
    stop.store(true, Ordering::Relaxed);
    assert!(editing.join().unwrap() > 0, "edits succeed all the while");
}

/// The lock is one that other processes see.
#[test]
fn a_writer_waits_for_whoever_holds_the_directory() {
    let pen = Pen::new();
    pen.write("/w/f", "a").unwrap();
    let dir = fs::File::open(pen.inside("")).unwrap();
    rustix::fs::flock(&dir, rustix::fs::FlockOperation::LockExclusive).unwrap();
    for operation in [
        Operation::Write { path: logical("/w/f"), content: b"b".to_vec(), expect: Expect::Any },
        Operation::Append { path: logical("/w/f"), content: b"b".to_vec() },
        Operation::Move { from: logical("/w/f"), to: logical("/w/g") },
        Operation::Delete { path: logical("/w/f"), recursive: false },
    ] {
        let result = pen.run_with(operation, &Cancel::default(), Duration::from_millis(30));
        assert_eq!(kind(result), ErrorKind::Busy);
    }
    assert_eq!(pen.read("/w/f").unwrap(), "a");
    rustix::fs::flock(&dir, rustix::fs::FlockOperation::Unlock).unwrap();
    pen.write("/w/f", "b").unwrap();
}
