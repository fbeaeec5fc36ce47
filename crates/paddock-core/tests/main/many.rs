//! Ten thousand Workspaces: routed right, each to its own Store.

use std::sync::Arc;

use paddock_core::{AccessScope, Mount, NoJournal, OpKind, Vfs, Workspace};
use paddock_stores::MemoryStore;
use paddock_stores::conformance::world::{Open, path_of};
use paddock_stores::doubles::Denying;

/// `/t/0` … `/t/99`, ten nested in each, nine in each of those: the first ten thousand.
fn prefixes() -> Vec<String> {
    let mut prefixes = Vec::new();
    for i in 0..100 {
        prefixes.push(format!("/t/{i}"));
        for j in 0..10 {
            prefixes.push(format!("/t/{i}/{j}"));
            prefixes.extend((0..9).map(|k| format!("/t/{i}/{j}/a/{k}")));
        }
    }
    prefixes.truncate(10_000);
    prefixes
}

fn scope(index: usize) -> AccessScope {
    AccessScope::ALL[index % 3]
}

fn vfs() -> Vfs {
    let store = Arc::new(MemoryStore::new());
    let workspaces = prefixes().into_iter().enumerate().map(|(index, prefix)| {
        let store: Arc<MemoryStore> = Arc::clone(&store);
        Workspace::new(path_of(&prefix), scope(index), Mount::new(store, None))
    });
    Vfs::new(workspaces.collect(), Arc::new(Open), Arc::new(NoJournal)).unwrap()
}

fn routed(vfs: &Vfs, path: &str) -> Option<(String, AccessScope)> {
    let path = path_of(path);
    let decision = vfs.judge(OpKind::Read, &path);
    decision.workspace().map(|w| (w.prefix().to_string(), w.scope()))
}

#[test]
fn each_of_ten_thousand_is_found_by_its_longest_prefix() {
    let vfs = vfs();
    let prefixes = prefixes();
    assert_eq!(vfs.workspaces().len(), 10_000);
    for (index, prefix) in prefixes.iter().enumerate() {
        let expected = Some((prefix.clone(), scope(index)));
        for path in [prefix.clone(), format!("{prefix}/x"), format!("{prefix}/x/y/z")] {
            assert_eq!(routed(&vfs, &path), expected, "{path}");
        }
    }
    for outside in ["/", "/t", "/t/100", "/t/0x/1", "/u/0"] {
        assert_eq!(routed(&vfs, outside), None, "{outside}");
    }
    assert_eq!(routed(&vfs, "/t/7/3/a").map(|found| found.0).as_deref(), Some("/t/7/3"));
    assert_eq!(routed(&vfs, "/t/7/3/ab/0").map(|found| found.0).as_deref(), Some("/t/7/3"));
}

#[test]
fn verdicts_follow_the_scope_of_each() {
    let vfs = vfs();
    for (index, prefix) in prefixes().iter().enumerate() {
        let path = path_of(&format!("{prefix}/f"));
        for op in OpKind::ALL {
            assert_eq!(vfs.judge(op, &path).allowed(), scope(index).allows(op), "{op} {path}");
        }
    }
}

#[test]
fn judging_touches_no_store() {
    let denying = Arc::new(Denying::new());
    let store: Arc<Denying> = Arc::clone(&denying);
    let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(store, None));
    let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
    for op in OpKind::ALL {
        for path in ["/", "/w", "/w/a/b", "/x"] {
            let path = path_of(path);
            let decision = vfs.judge(op, &path);
            assert!(decision.explain().contains(path.as_str()));
        }
    }
    assert_eq!(denying.calls(), 0);
}
