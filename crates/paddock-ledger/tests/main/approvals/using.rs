//! A decision is used in the transaction that records the intent: by one call, with its effect or without.

use std::sync::{Arc, Barrier};

use paddock_core::{Call, ErrorKind, Journal, Part, PartDone, Plan};
use paddock_db::rusqlite;
use paddock_ledger::Ledger;
use paddock_ledger::approvals::Reach;
use paddock_ledger::history::History;

use super::{Desk, Ground, Stopped, on_both, refused, to_new, writing};

#[test]
fn of_two_that_passed_with_one_decision_one_has_an_effect() {
    on_both(|ground| {
        let (one, two) = (ground.desk(), ground.desk());
        let id = one.parked(&writing(), to_new());
        one.approve(&id, Reach::Once);
        let late = one.with_call(|first| {
            two.with_call(|second| {
                let (plan_one, token_one) = one.ask(first, &writing(), to_new()).unwrap();
                let (plan_two, token_two) = two.ask(second, &writing(), to_new()).unwrap();
                two.vfs.run(second, plan_two, token_two).unwrap();
                let late = refused(one.vfs.run(first, plan_one, token_one).unwrap_err());
                assert!(matches!(late, Stopped::Refused("token_used", _)), "{late:?}");
                assert_eq!(one.approvals.show(&id).unwrap().used_by, Some(second.id.to_string()));
            });
            first.id
        });
        assert!(one.ledger.history.find_call(&late.to_string()).is_err());
    });
}

#[test]
fn of_many_processes_at_once_one_has_an_effect() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Once);
        let desks: Vec<Desk> = (0..8).map(|_| ground.desk()).collect();
        let together = Barrier::new(desks.len());
        let made = std::thread::scope(|scope| {
            let run = |desk: &Desk| {
                together.wait();
                desk.write().is_ok()
            };
            let threads: Vec<_> = desks.iter().map(|desk| scope.spawn(move || run(desk))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|made| *made).count()
        });
        assert_eq!(made, 1);
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
    });
}

/// A process that is killed when its intent is written, and before anything is changed.
struct KilledAfterIntent(Arc<History>);

impl Journal for KilledAfterIntent {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> paddock_core::Result<()> {
        self.0.begin(call, plan)?;
        Err(ErrorKind::Io.into())
    }

    fn part_begins(&self, _: &Call<'_>, _: &Part<'_>) -> paddock_core::Result<()> {
        unreachable!("it is dead")
    }

    fn part_done(&self, _: &Call<'_>, _: &PartDone<'_>) -> paddock_core::Result<()> {
        unreachable!("it is dead")
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

fn killed(ledger: &Ledger) -> Arc<dyn Journal> {
    Arc::new(KilledAfterIntent(Arc::clone(&ledger.history)))
}

#[test]
fn a_process_that_dies_after_its_intent_has_used_it() {
    on_both(|ground| {
        let desk = ground.desk_with(killed);
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Once);
        let call = desk.with_call(|call| {
            let (plan, token) = desk.ask(call, &writing(), to_new()).unwrap();
            // Passing the Gate alone uses nothing.
            assert_eq!(desk.approvals.show(&id).unwrap().used_by, None);
            desk.vfs.run(call, plan, token).unwrap_err();
            call.id
        });
        assert_eq!(desk.approvals.show(&id).unwrap().used_by, Some(call.to_string()));
        assert!(desk.ledger.history.unfinished().unwrap().iter().any(|open| open.call == call));
        let next = ground.desk();
        assert!(matches!(next.write(), Err(Stopped::Parked(other)) if other != id));
        assert_eq!(ground.text("a").as_deref(), Some("old\n"));
    });
}

#[test]
fn an_intent_that_cannot_be_written_uses_nothing() {
    let ground = Ground::on(None);
    let desk = ground.desk();
    let id = desk.parked(&writing(), to_new());
    desk.approve(&id, Reach::Once);
    let behind = rusqlite::Connection::open(ground.dir.path().join("state.db")).unwrap();
    let full = "CREATE TRIGGER full BEFORE INSERT ON history_call BEGIN SELECT RAISE(ABORT, 'full'); END";
    behind.execute_batch(full).unwrap();
    desk.with_call(|call| {
        let (plan, token) = desk.ask(call, &writing(), to_new()).unwrap();
        desk.vfs.run(call, plan, token).unwrap_err();
    });
    assert_eq!(desk.approvals.show(&id).unwrap().used_by, None);
    assert_eq!(ground.text("a").as_deref(), Some("old\n"));
    behind.execute_batch("DROP TRIGGER full").unwrap();
    // What could not be written is written with the next, both of it: the call that uses it is always one that is recorded.
    let again = desk.write();
    let used_by = desk.approvals.show(&id).unwrap().used_by.unwrap();
    assert!(desk.ledger.history.find_call(&used_by).is_ok());
    assert_eq!(ground.text("a").as_deref(), Some(if again.is_ok() { "new\n" } else { "old\n" }));
}
