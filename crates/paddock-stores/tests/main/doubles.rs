//! What the guard does when a Store misbehaves: nothing hangs, nothing is hidden, nothing is lost.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, AgentName, Browse, Call, CallId, Cancel, DenyRule, ErrorKind, Expect, Mount, NoJournal, OpKind,
    Operation, Outcome, Refused, Search, Store, Vfs, Workspace,
};
use paddock_stores::conformance::world::{self, Open, path_of};
use paddock_stores::doubles::{Denying, FailsAt, Lacking, Method, Panicking, Recording, Shared, Stalling};
use paddock_stores::{HardLinks, KeptPlace, MemoryStore, PhysicalStore};

fn vfs(spaces: Vec<(&str, AccessScope, Arc<dyn Store>)>) -> Vfs {
    let workspace = |(prefix, scope, store)| Workspace::new(path_of(prefix), scope, Mount::new(store, None));
    Vfs::new(spaces.into_iter().map(workspace).collect(), Arc::new(Open), Arc::new(NoJournal)).unwrap()
}

fn run_until(vfs: &Vfs, operation: Operation, cancel: &Cancel, deadline: Instant) -> Result<Outcome, Refused> {
    let agent = AgentName::main();
    let call = Call { id: CallId::next(), agent: &agent, cancel, deadline };
    world::run(vfs, &call, operation)
}

fn run(vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
    run_until(vfs, operation, &Cancel::default(), Instant::now() + Duration::from_secs(600))
}

fn kind(outcome: Result<Outcome, Refused>) -> ErrorKind {
    match outcome {
        Err(Refused::Store { source, .. }) => source.kind().clone(),
        other => panic!("expected what a Store says, got {other:?}"),
    }
}

fn list(at: &str) -> Operation {
    Operation::List(Browse { path: path_of(at), depth: None, skip_ignored: false, after: None, limit: 100 })
}

fn search(at: &str) -> Operation {
    let search = Search {
        pattern: "x".to_owned(),
        ignore_case: false,
        glob: None,
        context: 0,
        limit: 100,
        skip_ignored: false,
        after: None,
    };
    Operation::Search { path: path_of(at), search }
}

fn write(at: &str) -> Operation {
    Operation::Write { path: path_of(at), content: b"x\n".to_vec(), expect: Expect::Any }
}

/// One of each operation on a path, and the far end of a move.
fn every_operation(at: &str, other: &str) -> Vec<Operation> {
    let edits = vec![paddock_core::Replacement { old: "x".into(), new: "y".into(), all: false }];
    vec![
        Operation::Read { path: path_of(at), range: 0..1 },
        list(at),
        Operation::Find {
            browse: Browse { path: path_of(at), depth: None, skip_ignored: true, after: None, limit: 1 },
            glob: paddock_core::PathGlob::parse("*").unwrap(),
        },
        search(at),
        write(at),
        Operation::Append { path: path_of(at), content: b"x".to_vec() },
        Operation::Edit { path: path_of(at), edits, expect: Expect::Any },
        Operation::MakeDir { path: path_of(at) },
        Operation::Move { from: path_of(at), to: path_of(other) },
        Operation::Move { from: path_of(other), to: path_of(at) },
        Operation::Delete { path: path_of(at), recursive: true },
    ]
}

#[test]
fn a_store_that_denies_is_reported_and_counted() {
    let denying = Arc::new(Denying::new());
    let store: Arc<dyn Store> = Arc::<Denying>::clone(&denying);
    let vfs = vfs(vec![("/w", AccessScope::ReadWrite, store)]);
    let operations = every_operation("/w/a", "/w/b");
    let asked = operations.len();
    for operation in operations {
        assert_eq!(kind(run(&vfs, operation)), ErrorKind::HostRefuses);
    }
    assert!(denying.calls() >= asked, "each reached the Store");
}

#[test]
fn a_denied_operation_never_reaches_the_store() {
    for scope in AccessScope::ALL {
        let recording = Arc::new(Recording::new(Arc::new(MemoryStore::new())));
        let store: Arc<dyn Store> = Arc::<Recording>::clone(&recording);
        let vfs = vfs(vec![("/w", scope, store)]);
        for operation in every_operation("/w/a", "/w/b").into_iter().chain(every_operation("/elsewhere", "/w/b")) {
            let text = format!("{operation:?}");
            let outcome = run(&vfs, operation);
            let touched = recording.take();
            if let Err(Refused::Denied(_)) = outcome {
                assert_eq!(touched, [], "{scope}: {text}");
            } else {
                assert!(!touched.is_empty(), "{scope}: {text} was allowed and reached it");
            }
        }
    }
}

#[test]
fn what_a_store_cannot_is_denied_before_it_is_asked() {
    let lacks = [OpKind::Search, OpKind::MakeDir, OpKind::MoveFrom, OpKind::Delete];
    let recording = Arc::new(Recording::new(Arc::new(MemoryStore::new())));
    let lacking: Arc<dyn Store> = Arc::new(Lacking::new(Arc::<Recording>::clone(&recording), &lacks));
    let vfs = vfs(vec![("/w", AccessScope::ReadWrite, lacking)]);
    for operation in every_operation("/w/a", "/w/b") {
        let op = operation.kind();
        match run(&vfs, operation) {
            Err(Refused::Denied(denial)) => {
                assert_eq!(denial.rule, DenyRule::Unserved, "{op}");
                assert!(lacks.contains(&op) && recording.take().is_empty(), "{op} never reached it");
            }
            _ => assert!(!lacks.contains(&op) && !recording.take().is_empty(), "{op} reached it"),
        }
    }
    for op in OpKind::ALL {
        assert_eq!(vfs.allowed_in(op).is_empty(), lacks.contains(&op), "{op}");
        let (decision, asked) = (vfs.judge(op, &path_of("/w/a")).explain(), lacks.contains(&op));
        assert_eq!(decision.contains("the Store behind this Workspace cannot"), asked, "{decision}");
    }
}

#[test]
fn a_person_cannot_make_a_store_do_what_it_cannot() {
    let store: Arc<dyn Store> = Arc::new(Lacking::new(Arc::new(MemoryStore::new()), &[OpKind::Delete]));
    let agents = vfs(vec![("/w", AccessScope::ReadOnly, store)]);
    let persons = agents.for_person(Arc::new(Open));
    run(&persons, write("/w/a")).unwrap();
    let gone = run(&persons, Operation::Delete { path: path_of("/w/a"), recursive: false });
    assert!(matches!(gone, Err(Refused::Denied(denial)) if denial.rule == DenyRule::Unserved));
}

#[test]
fn a_workspace_that_cannot_be_searched_is_named_and_the_rest_is_searched() {
    let inner: Arc<dyn Store> = Arc::new(Lacking::new(Arc::new(MemoryStore::new()), &[OpKind::Search]));
    let vfs = vfs(vec![
        ("/w", AccessScope::ReadWrite, Arc::new(MemoryStore::new())),
        ("/w/in", AccessScope::ReadWrite, inner),
        ("/w/drop", AccessScope::WriteOnly, Arc::new(MemoryStore::new())),
    ]);
    run(&vfs, write("/w/a")).unwrap();
    run(&vfs, write("/w/in/b")).unwrap();
    let Ok(Outcome::Hits(hits)) = run(&vfs, search("/w")) else { panic!("a search") };
    assert_eq!(hits.found.iter().map(|hit| hit.path.as_str()).collect::<Vec<_>>(), ["/w/a"]);
    assert_eq!(hits.unreachable, [path_of("/w/in")]);
    let Ok(Outcome::Entries(entries)) = run(&vfs, list("/w")) else { panic!("a listing") };
    assert!(entries.found.iter().any(|found| found.path == "/w/in/b"), "it is listed all the same");
}

#[test]
fn a_recording_store_tells_what_was_called_on_which_path() {
    let recording = Arc::new(Recording::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::<Recording>::clone(&recording);
    let vfs = vfs(vec![("/w", AccessScope::ReadWrite, store)]);
    run(&vfs, write("/w/d/a")).unwrap();
    assert_eq!(recording.take().last(), Some(&(Method::Apply, "d/a".to_owned())));
    run(&vfs, Operation::Move { from: path_of("/w/d/a"), to: path_of("/w/b") }).unwrap();
    let calls = recording.take();
    assert_eq!(calls[calls.len() - 2..], [(Method::Apply, "d/a".to_owned()), (Method::Apply, "b".to_owned())]);
    run(&vfs, Operation::Read { path: path_of("/w/b"), range: 0..1 }).unwrap();
    assert_eq!(recording.take(), [(Method::Read, "b".to_owned())]);
}

#[test]
fn a_nested_workspace_that_cannot_be_reached_is_named_and_the_rest_is_shown() {
    let outer: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let spaces: Vec<(&str, AccessScope, Arc<dyn Store>)> =
        vec![("/w", AccessScope::ReadWrite, outer), ("/w/in", AccessScope::ReadOnly, Arc::new(Denying::new()))];
    let vfs = vfs(spaces);
    run(&vfs, write("/w/a")).unwrap();
    run(&vfs, write("/w/z")).unwrap();
    let Ok(Outcome::Entries(entries)) = run(&vfs, list("/w")) else { panic!("a listing") };
    assert_eq!(entries.found.iter().map(|f| f.path).collect::<Vec<_>>(), ["/w/a", "/w/in", "/w/z"]);
    assert_eq!(entries.unreachable, [path_of("/w/in")]);
    let Ok(Outcome::Hits(hits)) = run(&vfs, search("/w")) else { panic!("a search") };
    assert_eq!(hits.found.iter().map(|h| h.path.as_str()).collect::<Vec<_>>(), ["/w/a", "/w/z"]);
    assert_eq!(hits.unreachable, [path_of("/w/in")]);
}

#[test]
fn a_store_that_stalls_ends_with_the_call() {
    let vfs = vfs(vec![
        ("/w", AccessScope::ReadWrite, Arc::new(Stalling)),
        ("/o", AccessScope::WriteOnly, Arc::new(Stalling)),
    ]);
    let operations = || every_operation("/w/a", "/w/b").into_iter().chain([list("/"), search("/"), write("/o/a")]);
    for operation in operations() {
        let soon = Instant::now() + Duration::from_millis(10);
        let text = format!("{operation:?}");
        assert_eq!(kind(run_until(&vfs, operation, &Cancel::default(), soon)), ErrorKind::TimedOut, "{text}");
    }
    for operation in operations() {
        let cancel = Cancel::default();
        let later = Instant::now() + Duration::from_secs(600);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| kind(run_until(&vfs, operation, &cancel, later)));
            cancel.stop();
            assert_eq!(running.join().unwrap(), ErrorKind::Cancelled);
        });
    }
}

#[test]
fn a_store_fails_at_the_call_that_was_chosen_and_at_no_other() {
    let failing = FailsAt::new(Arc::new(MemoryStore::new()), 3);
    let vfs = vfs(vec![("/w", AccessScope::ReadWrite, Arc::new(failing))]);
    // A write asks for the facts first: calls 1 and 2, then 3.
    run(&vfs, write("/w/a")).unwrap();
    assert_eq!(kind(run(&vfs, write("/w/a"))), ErrorKind::Io);
    run(&vfs, write("/w/a")).unwrap();
}

#[test]
fn a_store_that_panics_does_so_in_every_operation() {
    let vfs = vfs(vec![("/w", AccessScope::ReadWrite, Arc::new(Panicking))]);
    for operation in every_operation("/w/a", "/w/b") {
        let text = format!("{operation:?}");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&vfs, operation)));
        assert!(caught.is_err(), "{text}");
    }
}

#[test]
fn what_somebody_saves_while_a_file_moves_to_another_workspace_stays() {
    let dir = tempfile::TempDir::new().unwrap();
    let mount = dir.path().join("mount");
    let disk = Arc::new(PhysicalStore::new(&mount).unwrap());
    for file in ["d/first", "d/last"] {
        std::fs::create_dir_all(mount.join("d")).unwrap();
        std::fs::write(mount.join(file), "before\n").unwrap();
    }
    let saved = mount.join("d/first");
    let others = move |method, path: &str| {
        if method == Method::Apply && path == "d/first" {
            let mut file = std::fs::OpenOptions::new().append(true).open(&saved).unwrap();
            file.write_all(b"saved\n").unwrap();
        }
    };
    let shared: Arc<dyn Store> = Arc::new(Shared::new(disk, others));
    let vfs = vfs(vec![
        ("/from", AccessScope::ReadWrite, shared),
        ("/to", AccessScope::ReadWrite, Arc::new(MemoryStore::new())),
    ]);
    let moved = run(&vfs, Operation::Move { from: path_of("/from/d"), to: path_of("/to/d") });
    assert_eq!(kind(moved), ErrorKind::Stale);
    assert_eq!(std::fs::read_to_string(mount.join("d/first")).unwrap(), "before\nsaved\n");
    let alone = Operation::Move { from: path_of("/from/d/first"), to: path_of("/to/alone") };
    assert_eq!(kind(run(&vfs, alone)), ErrorKind::Stale);
    assert_eq!(std::fs::read_to_string(mount.join("d/first")).unwrap(), "before\nsaved\nsaved\n");
}

/// A directory on disk as builds leave them: one file by two names, and another.
fn linked(dir: &std::path::Path) -> std::path::PathBuf {
    let mount = dir.join("mount");
    std::fs::create_dir_all(mount.join("d/deps")).unwrap();
    std::fs::write(mount.join("d/deps/one"), "built\n").unwrap();
    std::fs::write(mount.join("d/other"), "other\n").unwrap();
    for name in ["d/two", "d/three"] {
        std::fs::hard_link(mount.join("d/deps/one"), mount.join(name)).unwrap();
    }
    mount
}

/// Moves `/from/d` to `/to/d`.
fn moved(from: Arc<dyn Store>) -> (Vfs, Result<Outcome, Refused>) {
    let to: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let vfs = vfs(vec![("/from", AccessScope::ReadWrite, from), ("/to", AccessScope::ReadWrite, to)]);
    let moved = run(&vfs, Operation::Move { from: path_of("/from/d"), to: path_of("/to/d") });
    (vfs, moved)
}

fn read(vfs: &Vfs, at: &str) -> String {
    match run(vfs, Operation::Read { path: path_of(at), range: 0..100 }) {
        Ok(Outcome::Read { bytes, .. }) => String::from_utf8(bytes).unwrap(),
        other => panic!("{at}: {other:?}"),
    }
}

#[test]
fn a_file_by_several_names_moves_to_another_workspace_whole() {
    for keeps in [false, true] {
        let dir = tempfile::TempDir::new().unwrap();
        let mount = linked(dir.path());
        let mut disk = PhysicalStore::new(&mount).unwrap();
        if keeps {
            disk = disk.with_history(KeptPlace::new(&dir.path().join("history")).unwrap());
        }
        let (vfs, moved) = moved(Arc::new(disk));
        moved.unwrap();
        assert!(!mount.join("d").exists());
        for name in ["deps/one", "two", "three"] {
            assert_eq!(read(&vfs, &format!("/to/d/{name}")), "built\n");
        }
    }
}

#[test]
fn what_somebody_saves_by_another_name_while_a_directory_moves_stays() {
    for (when, stays) in [(Method::Apply, "d/two"), (Method::Read, "d/deps/one")] {
        let dir = tempfile::TempDir::new().unwrap();
        let mount = linked(dir.path());
        let saved = mount.join("d/three");
        // Once everything was copied, or before the last of its names is: the others were copied as they were.
        let others = move |method, path: &str| {
            if method == when && path == "d/two" {
                std::fs::write(&saved, "saved\n").unwrap();
            }
        };
        let (_, moved) = moved(Arc::new(Shared::new(Arc::new(PhysicalStore::new(&mount).unwrap()), others)));
        assert_eq!(kind(moved), ErrorKind::Stale);
        assert_eq!(std::fs::read_to_string(mount.join(stays)).unwrap(), "saved\n");
    }
}

#[test]
fn a_file_by_several_names_that_is_refused_moves_nowhere() {
    let dir = tempfile::TempDir::new().unwrap();
    let mount = linked(dir.path());
    let disk = PhysicalStore::new(&mount).unwrap().with_hard_links(HardLinks::Deny);
    let (_, moved) = moved(Arc::new(disk));
    assert_eq!(kind(moved), ErrorKind::HardLinked);
    for name in ["d/deps/one", "d/two", "d/three", "d/other"] {
        assert!(mount.join(name).exists(), "{name}");
    }
}

#[test]
fn what_goes_by_itself_once_it_was_copied_stops_no_move() {
    let dir = tempfile::TempDir::new().unwrap();
    let mount = linked(dir.path());
    let doomed = mount.join("d/other");
    let others = move |method, path: &str| {
        if method == Method::Apply && path == "d/other" {
            std::fs::remove_file(&doomed).unwrap();
        }
    };
    let (vfs, moved) = moved(Arc::new(Shared::new(Arc::new(PhysicalStore::new(&mount).unwrap()), others)));
    moved.unwrap();
    assert!(!mount.join("d").exists());
    assert_eq!(read(&vfs, "/to/d/other"), "other\n");
    // Of one alone it is told.
    std::fs::create_dir(mount.join("d")).unwrap();
    std::fs::write(mount.join("d/other"), "other\n").unwrap();
    let (mount, doomed) = (mount.clone(), mount.join("d/other"));
    let others = move |method, _: &str| {
        if method == Method::Apply {
            std::fs::remove_file(&doomed).unwrap();
        }
    };
    let alone: Arc<dyn Store> = Arc::new(Shared::new(Arc::new(PhysicalStore::new(&mount).unwrap()), others));
    let to: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let vfs = crate::doubles::vfs(vec![("/from", AccessScope::ReadWrite, alone), ("/to", AccessScope::ReadWrite, to)]);
    let moved = run(&vfs, Operation::Move { from: path_of("/from/d/other"), to: path_of("/to/other") });
    assert_eq!(kind(moved), ErrorKind::Stale);
}
