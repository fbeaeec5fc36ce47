//! What a Gate answers, and what stops a call from outside.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use paddock_core::{
    AgentName, AgentPolicy, Audit, Call, CallRecord, ErrorKind, Gate, Journal, NoJournal, PartDone, Passed, Permit,
    Plan, Refused, Request, Risk, Vfs,
};
use paddock_state::Secrets;
use paddock_stores::doubles::{Method, Recording, Stalling};
use paddock_tools::{Answer, Audited, Control, RecordingGate, Toolbox, Verdict};
use serde_json::json;

use crate::setup::{RW, agent, call, holding, path, workspace};

/// Parks what is above low and refuses what is above medium.
struct Careful;

impl Gate for Careful {
    fn pass(&self, _: &Call<'_>, request: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        match request.risk {
            Risk::Low => Ok(Passed::Now(permit.grant())),
            Risk::Medium => Ok(Passed::Parked(format!("{}-7", request.tool))),
            Risk::High => Err(Refused::Gate("nobody can be asked".to_owned())),
        }
    }
}

#[test]
fn what_the_gate_does_not_let_through_changes_nothing() {
    let store = Arc::new(Recording::new(holding(&[("f", b"x")])));
    let vfs = Vfs::new(vec![workspace("/w", RW, Arc::clone(&store) as _)], Arc::new(Careful), Arc::new(NoJournal));
    let toolbox = Toolbox::fixed(AgentPolicy::new(AgentName::main(), path("/"), vfs.unwrap()));

    let parked = call(&toolbox, "write_file", json!({"path": "/w/f", "content": "y"}));
    assert_eq!(parked.verdict, Verdict::Parked("write_file-7".to_owned()));
    assert_eq!(
        parked.text(),
        "❌ ERROR: A person has to approve this call first: `paddock approvals show write_file-7`. Make exactly the same call \
         again once it is approved."
    );
    let refused = call(&toolbox, "delete_file", json!({"path": "/w/f"}));
    assert_eq!(refused.verdict, Verdict::Denied);
    assert_eq!(refused.text(), "❌ ERROR: This call is not let through: nobody can be asked.");
    assert!(store.take().iter().all(|(method, _)| *method != Method::Apply));

    let low = call(&toolbox, "write_file", json!({"path": "/w/new", "content": "y"}));
    assert_eq!(low.verdict, Verdict::Done);
    assert!(store.take().contains(&(Method::Apply, "new".to_owned())));
}

#[test]
fn a_store_that_stalls_is_left_when_time_is_up_or_the_call_is_cancelled() {
    let agent = agent(vec![workspace("/w", RW, Arc::new(Stalling))]);
    let arguments = || json!({"path": "/w/f"}).as_object().cloned().unwrap();
    let late = agent.toolbox.call("read_file", arguments(), &Control::for_at_most(Duration::from_millis(5)));
    assert_eq!((late.verdict.clone(), &late.structured["error"]), (Verdict::Failed, &json!("timed_out")));

    let control = Control::for_at_most(Duration::from_secs(600));
    control.cancel.stop();
    let stopped = agent.toolbox.call("read_file", arguments(), &control);
    assert_eq!(stopped.text(), "❌ ERROR: The call was cancelled.");
}

/// Refuses everything for this reason.
struct Refusing(&'static str);

impl Gate for Refusing {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, _: Permit) -> Result<Passed, Refused> {
        Err(Refused::NotApproved { name: self.0, why: format!("it is {}", self.0) })
    }
}

/// A Journal that finds the approval used when the intent is written.
struct UsedUp;

impl Journal for UsedUp {
    fn keeps(&self) -> bool {
        false
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> paddock_core::Result<()> {
        Err(ErrorKind::UsedUp.into())
    }

    fn part_done(&self, _: &Call<'_>, _: &PartDone<'_>) -> paddock_core::Result<()> {
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// The outcome and the reason of every call.
#[derive(Default)]
struct Rows(Mutex<Vec<(String, String)>>);

impl Audit for Rows {
    fn record(&self, record: &CallRecord<'_>) -> paddock_core::Result<()> {
        self.0.lock().unwrap().push((record.outcome.to_owned(), record.reason.to_owned()));
        Ok(())
    }
}

fn recorded(gate: Arc<dyn Gate>, journal: Arc<dyn Journal>) -> (Answer, (String, String)) {
    let vfs = Vfs::new(vec![workspace("/w", RW, holding(&[("f", b"x")]))], gate, journal).unwrap();
    let policy = Arc::new(AgentPolicy::new(AgentName::main(), path("/"), vfs));
    let rows = Arc::new(Rows::default());
    let source = Audited { policy, audit: Arc::<Rows>::clone(&rows), secrets: Secrets::none() };
    let answer = call(&Toolbox::new(Arc::new(source)), "delete_file", json!({"path": "/w/f"}));
    let row = rows.0.lock().unwrap().pop().unwrap();
    (answer, row)
}

#[test]
fn every_reason_why_a_decision_does_not_count_is_in_the_audit() {
    for name in
        ["token_forged", "token_expired", "token_thread", "token_user", "token_tool", "token_arguments", "rejected"]
    {
        let (answer, row) = recorded(Arc::new(Refusing(name)), Arc::new(NoJournal));
        assert!(answer.is_error() && answer.text().contains(&format!("it is {name}")), "{answer:?}");
        assert_eq!(row, (answer.verdict.name().to_owned(), name.to_owned()));
    }
    let (answer, row) = recorded(Arc::new(RecordingGate::new()), Arc::new(UsedUp));
    assert_eq!((row.1.as_str(), &answer.structured["error"]), ("token_used", &json!("token_used")), "{answer:?}");
}
