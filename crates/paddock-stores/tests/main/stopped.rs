//! A set that stops half-way on the host's disk: the Journal hears of every change that was made, and of no other.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{
    AccessScope, Call, ErrorKind, Gate, Journal, LogicalPath, Mount, Operation, PartDone, Passed, Permit, Plan,
    Refused, Request, Result as StoreResult, Risk, Vfs, Workspace,
};
use paddock_stores::PhysicalStore;

use crate::planting::with_call;

struct Open;

impl Gate for Open {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        Ok(Passed::Now(permit.grant()))
    }
}

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
    let path = |text: &str| LogicalPath::parse(text, &LogicalPath::top()).unwrap();
    let journal = Arc::new(Counting::default());
    let store = Arc::new(PhysicalStore::new(dir.path()).unwrap());
    let workspace = Workspace::new(path("/w"), AccessScope::ReadWrite, Mount::new(store, None));
    let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::<Counting>::clone(&journal)).unwrap();
    with_call(|call| {
        let plan = vfs.plan(call, Operation::Delete { path: path("/w/d"), recursive: true }).unwrap();
        fs::write(dir.path().join("d/late"), "came after the plan").unwrap();
        let request = Request::of_person("test", Risk::Low);
        let Passed::Now(token) = vfs.ask(call, &request, &plan).unwrap() else { panic!("the gate is open") };
        match vfs.run(call, plan, token) {
            Err(Refused::Store { source, .. }) => assert_eq!(*source.kind(), ErrorKind::NotEmpty),
            other => panic!("the directory still holds something: {other:?}"),
        }
    });
    assert_eq!(fs::read_dir(dir.path().join("d")).unwrap().count(), 1, "only what came later is left");
    assert_eq!(journal.0.load(Ordering::SeqCst), FILES);
}
