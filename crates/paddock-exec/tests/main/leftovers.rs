//! Many commands, one after the other and at once, leave nothing behind; and what is served from outside.
//!
//! Counts come from `PADDOCK_EXEC_RUNS` (200, or 50 where a Workspace is served) and `PADDOCK_EXEC_AT_ONCE` (8); a soak sets larger ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use paddock_core::{AccessScope, Expect, Mount, NoAudit, NoJournal, Operation, Vfs, Workspace};
use paddock_exec::{Command, How, Runner, Sandbox, Shown, Stage, What};
use paddock_stores::conformance::world::{Open, path_of, run, with_call};
use paddock_stores::virtual_store::VirtualStore;

use crate::as_each_user;
use crate::main::harness::*;

fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What this process holds of the system.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    descriptors: usize,
    threads: usize,
    children: String,
    mounts: usize,
    namespaces: BTreeSet<PathBuf>,
    groups: BTreeSet<PathBuf>,
    files: Vec<PathBuf>,
}

/// What this process holds when it has come to rest: the kernel lists a thread for a moment longer than it takes to join it.
fn holdings(yard: &Yard) -> Holdings {
    let mut last = held(yard);
    loop {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let now = held(yard);
        if now == last {
            return now;
        }
        last = now;
    }
}

/// What it holds when that is as before, or when it is not after ten seconds: on a busy machine a thread that was told to end takes its time.
fn holdings_like(before: &Holdings, yard: &Yard) -> Holdings {
    for _ in 0..500 {
        if held(yard) == *before {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    held(yard)
}

fn held(yard: &Yard) -> Holdings {
    let entries = |path: &str| fs::read_dir(path).map_or(0, Iterator::count);
    let children = fs::read_dir("/proc/self/task").unwrap().flatten();
    Holdings {
        descriptors: entries("/proc/self/fd"),
        threads: entries("/proc/self/task"),
        children: children.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect(),
        mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
        namespaces: namespaces(),
        groups: groups(),
        files: tree(yard.dir.path()),
    }
}

/// The namespaces that this process keeps: those of its threads, of its children, and those it has open. One that is in no
/// process, no descriptor and no mount is gone.
fn namespaces() -> BTreeSet<PathBuf> {
    let listed = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let tasks: Vec<PathBuf> = listed("/proc/self/task".into()).collect();
    let children = tasks.iter().flat_map(|task| {
        let text = fs::read_to_string(task.join("children")).unwrap_or_default();
        text.split_whitespace().map(|pid| PathBuf::from(format!("/proc/{pid}"))).collect::<Vec<_>>()
    });
    let kept = tasks.iter().cloned().chain(children).flat_map(|process| listed(process.join("ns")));
    let links = kept.chain(listed("/proc/self/fd".into())).filter_map(|path| fs::read_link(path).ok());
    links.filter(|link| link.to_str().is_some_and(is_namespace)).collect()
}

/// Sockets and pipes are called alike.
fn is_namespace(link: &str) -> bool {
    link.contains(":[") && !["socket:", "pipe:", "anon_inode:"].iter().any(|other| link.starts_with(other))
}

/// Control groups that this process has made.
fn groups() -> BTreeSet<PathBuf> {
    groups_of(std::process::id())
}

fn groups_of(process: u32) -> BTreeSet<PathBuf> {
    let mine = format!("paddock-{process}-");
    let mut found = BTreeSet::new();
    let mut left = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(&mine) {
                    found.insert(entry.path());
                }
                left.push(entry.path());
            }
        }
    }
    found
}

/// One command of each kind, with a mask, a nested Workspace, and processes that are left running.
fn one(yard: &Yard, number: usize) {
    let nested = Shown::host("/project/in", yard.path("in"), How::ReadOnly);
    let text = "cat .env in/a; sleep 60 & setsid sleep 60 & echo done";
    if number.is_multiple_of(3) {
        let shown = Shown { masks: vec![".env".into()], ..yard.direct() };
        assert!(sh(vec![shown], text).well().out.contains("done"));
        return;
    }
    let directory = tempfile::tempdir_in(yard.dir.path()).unwrap();
    let stage = Stage::create(directory.path()).unwrap();
    let how = if number % 3 == 1 { How::ReadOnly } else { How::Staged(stage) };
    let shown = Shown { masks: vec![".env".into()], ..yard.shown(how) };
    assert_eq!(sh(vec![shown, nested], text).well().out, "adone\n");
    paddock_exec::staged::remove_tree(directory.path()).unwrap();
}

/// A Workspace that is no directory of the host, and whoever shows it to commands; nothing where this user cannot mount one.
struct Virtual {
    runner: Runner,
    vfs: Vfs,
}

impl Virtual {
    fn new(yard: &Yard) -> Option<Self> {
        if fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
            could_not_run("/dev/fuse cannot be opened by this user");
            return None;
        }
        let mount = Mount::new(Arc::new(VirtualStore::in_memory()), None);
        let workspace = Workspace::new(path_of("/virtual"), AccessScope::ReadWrite, mount);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
        let write = Operation::Write { path: path_of("/virtual/a"), content: b"a".to_vec(), expect: Expect::Any };
        with_call(|call| run(&vfs, call, write)).unwrap();
        Some(Self { runner: Runner::new(yard.path("staged"), Arc::new(NoAudit)), vfs })
    }

    /// A command that reads, writes, and leaves processes running.
    fn one(&self) {
        let text = "cat a; echo new > b; sleep 60 & setsid sleep 60 & echo done";
        let (ran, printed) = run_text(&self.runner, &self.vfs, "/virtual", text, false).unwrap();
        assert_eq!((ran.exit, ran.proposed.alterations.len()), (0, 1));
        assert_eq!(printed, "adone\n");
    }
}

as_each_user! {
    fn many_commands_on_served_workspaces_leave_nothing_behind() {
        alone("leftovers::many_commands_on_served_workspaces_leave_nothing_behind", || {
            let yard = Yard::new();
            let Some(served) = Virtual::new(&yard) else { return };
            served.one();
            paddock_exec::tidy_up();
            let before = holdings(&yard);
            for _ in 0..count("PADDOCK_EXEC_RUNS", 50) {
                served.one();
            }
            std::thread::scope(|scope| {
                for _ in 0..count("PADDOCK_EXEC_AT_ONCE", 8) {
                    scope.spawn(|| served.one());
                }
            });
            paddock_exec::tidy_up();
            assert_eq!(holdings_like(&before, &yard), before);
        });
    }

    fn a_namespace_that_is_kept_is_noticed() {
        alone("leftovers::a_namespace_that_is_kept_is_noticed", || {
            let before = namespaces();
            // Of another process, whose end would not end it while it is open.
            let mut child = std::process::Command::new("unshare").args(["-Ur", "sleep", "600"]).spawn().unwrap();
            let theirs = PathBuf::from(format!("/proc/{}/ns/user", child.id()));
            while fs::read_link(&theirs).unwrap() == fs::read_link("/proc/self/ns/user").unwrap() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            assert_ne!(namespaces(), before, "a child in it");
            let kept = fs::File::open(&theirs).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            assert_ne!(namespaces(), before, "open");
            drop(kept);
            assert_eq!(namespaces(), before);
        });
    }

    fn many_commands_leave_nothing_behind() {
        alone("leftovers::many_commands_leave_nothing_behind", || {
            let yard = Yard::new();
            yard.write("w/.env", "SECRET");
            yard.write("in/a", "a");
            one(&yard, 0);
            paddock_exec::tidy_up();
            let before = holdings(&yard);
            for number in 0..count("PADDOCK_EXEC_RUNS", 200) {
                one(&yard, number);
            }
            std::thread::scope(|scope| {
                for number in 0..count("PADDOCK_EXEC_AT_ONCE", 8) {
                    let yard = &yard;
                    scope.spawn(move || one(yard, number));
                }
            });
            if rustix::process::geteuid().is_root() && fs::metadata("/sys/fs/cgroup/pids").is_ok() {
                assert!(!groups().is_empty(), "slots keep their groups for a while");
            }
            paddock_exec::tidy_up();
            assert_eq!(holdings_like(&before, &yard), before);
        });
    }

    fn a_program_that_ends_takes_its_groups_along() {
        const VICTIM: &str = "PADDOCK_EXEC_TEST_ENDS";
        if std::env::var_os(VICTIM).is_some() {
            let yard = Yard::new();
            sh(vec![yard.direct()], "true").well();
            println!("it had {} groups", groups().len());
            return;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "main::leftovers::a_program_that_ends_takes_its_groups_along", "--nocapture"])
            .env(VICTIM, "")
            .env("PADDOCK_EXEC_TEST_AS", "this")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let number = child.id();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("1 passed"), "{text}");
        if text.contains("it had 0 groups") {
            could_not_run("no control group can be written here");
        }
        assert!(groups_of(number).is_empty(), "{:?}", groups_of(number));
    }

    fn a_run_that_fails_leaves_nothing_behind() {
        alone("leftovers::a_run_that_fails_leaves_nothing_behind", || {
            let yard = Yard::new();
            let bad = || Sandbox::new(vec![yard.direct()], Command::new("/project", ["no-such-program"]));
            try_run(bad()).unwrap_err();
            paddock_exec::tidy_up();
            let before = holdings(&yard);
            for _ in 0..20 {
                try_run(bad()).unwrap_err();
                let nowhere = Shown::host("/project/no/place", yard.path("w"), How::ReadOnly);
                try_run(Sandbox::new(vec![yard.direct(), nowhere], Command::new("/project", ["true"]))).unwrap_err();
            }
            paddock_exec::tidy_up();
            assert_eq!(holdings_like(&before, &yard), before);
        });
    }

    fn a_served_file_system_is_handed_out() {
        if fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
            could_not_run("/dev/fuse cannot be opened by this user");
            return;
        }
        let yard = Yard::new();
        let (heard, hears) = mpsc::channel();
        let serve = move |device| {
            std::thread::spawn(move || {
                let mut request = [0; 8192];
                let length = rustix::io::read(&device, &mut request).unwrap();
                // The first request is INIT, number 26; then the server goes away.
                heard.send((length, u32::from_ne_bytes(request[4..8].try_into().unwrap()))).unwrap();
            });
        };
        let what = What::Fuse(Box::new(serve));
        let shown = Shown { at: "/virtual".into(), what, how: How::Direct, masks: Vec::new(), guarded: Vec::new(), opened: None };
        let ran = sh(vec![yard.direct(), shown], "ls /virtual").badly();
        assert!(ran.err.contains("not connected") || ran.err.contains("aborted"), "{ran:?}");
        let (length, number) = hears.recv().unwrap();
        assert!(length >= 40 && number == 26);
    }
}
