//! A set that stops half-way on the host's disk: the Journal hears of every change that was made, and of no other.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{
    AccessScope, Call, ErrorKind, Journal, Mount, Operation, PartDone, Plan, Refused, Result as StoreResult, Vfs,
    Workspace,
};
use paddock_stores::PhysicalStore;
use paddock_stores::conformance::world::{Open, finish, path_of, with_call};

/// Counts the changes that it is told of.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Journal for Counting {
    fn keeps(&self) -> bool {
        false
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> StoreResult<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> StoreResult<()> {
        self.0.fetch_add(done.applied.changes.len(), Ordering::SeqCst);
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

#[test]
fn what_was_deleted_before_a_delete_stopped_is_told() {
    // More than the Journal hears of at once, so that it stops in a later batch.
    const FILES: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    for n in 0..FILES {
        fs::write(dir.path().join(format!("d/{n}")), "x").unwrap();
    }
    let journal = Arc::new(Counting::default());
    let store = Arc::new(PhysicalStore::new(dir.path()).unwrap());
    let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(store, None));
    let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::<Counting>::clone(&journal)).unwrap();
    with_call(|call| {
        let plan = vfs.plan(call, Operation::Delete { path: path_of("/w/d"), recursive: true }).unwrap();
        fs::write(dir.path().join("d/late"), "came after the plan").unwrap();
        match finish(&vfs, call, plan) {
            Err(Refused::Store { source, .. }) => assert_eq!(*source.kind(), ErrorKind::NotEmpty),
            other => panic!("the directory still holds something: {other:?}"),
        }
    });
    assert_eq!(fs::read_dir(dir.path().join("d")).unwrap().count(), 1, "only what came later is left");
    assert_eq!(journal.0.load(Ordering::SeqCst), FILES);
}
