//! What a Gate answers, and what stops a call from outside.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, Audit, Call, CallRecord, ErrorKind, Gate, Journal, NoJournal, Notify, Origin,
    PartDone, Passed, Permit, Plan, Refused, Request, Risk, RiskRule, RiskRules, Vfs,
};
use paddock_state::Secrets;
use paddock_stores::doubles::{Method, Recording, Stalling};
use paddock_tools::{Answer, Audited, Control, RecordingGate, Toolbox, Verdict};
use serde_json::{Value, json};

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

/// An Audit whose record somebody else is writing to, or nobody.
struct Record {
    is_free: bool,
}

impl Audit for Record {
    fn record(&self, _: &CallRecord<'_>) -> paddock_core::Result<()> {
        Ok(())
    }

    fn is_free(&self) -> bool {
        self.is_free
    }
}

#[test]
fn what_may_wait_for_others_goes_to_a_thread_of_its_own() {
    let asked = |is_free: bool, (notify, rules): (Option<Notify>, RiskRules), tool: &str, arguments: Value| {
        let gate: Arc<dyn Gate> = Arc::new(RecordingGate::new());
        // A Store that says nothing of it may have to be waited for.
        let far = workspace("/far", RW, Arc::new(Stalling));
        let inbox = workspace("/in", AccessScope::WriteOnly, holding(&[]));
        let vfs = Vfs::new(vec![workspace("/w", RW, holding(&[])), far, inbox], gate, Arc::new(NoJournal)).unwrap();
        let mut policy = AgentPolicy::new(AgentName::main(), path("/"), vfs);
        policy.terms.notify = notify;
        policy.rules = rules;
        let audit = Arc::new(Record { is_free });
        let source = Audited { policy: Arc::new(policy), audit, secrets: Secrets::none() };
        Toolbox::new(Arc::new(source)).is_quick(tool, arguments.as_object().unwrap())
    };
    let notified =
        |is_free, notify, tool: &str, arguments| asked(is_free, (notify, RiskRules::default()), tool, arguments);
    let quick = |is_free, tool: &str, arguments| notified(is_free, None, tool, arguments);
    let edit = || json!({"path": "/w/f", "old_string": "a", "new_string": "b"});
    assert!(quick(true, "edit_file", edit()) && !quick(false, "edit_file", edit()));
    let write = |content: &str| json!({"path": "/w/f", "content": content});
    assert!(quick(true, "write_file", write("x")) && !quick(false, "write_file", write("x")));
    assert!(!quick(true, "write_file", write(&"x".repeat(100_000))), "much to write");
    assert!(!quick(true, "edit_file", json!({"path": "/w/f", "edits": []})), "any number of edits");
    assert!(quick(false, "read_file", json!({"path": "/w/f"})), "who only looks waits for no writer");
    assert!(!quick(true, "read_file", json!({"path": "/w/f", "offset": 9})), "all before it is read, too");
    assert!(quick(false, "list_dir", json!({"path": "/w"})), "one directory");
    assert!(!quick(true, "list_dir", json!({"path": "/w", "depth": 2})), "any number of directories");
    let far = || json!({"path": "/far/f", "content": "x"});
    assert!(
        !quick(true, "read_file", json!({"path": "/far/f"})) && !quick(true, "write_file", far()),
        "a Store to wait for"
    );
    assert!(!quick(true, "list_dir", json!({"file_path": "/far"})), "by its other name, too");
    assert!(quick(true, "read_file", json!({"path": "/elsewhere"})), "what is denied asks no Store");
    let told = || Some(Notify::Webhook("http://127.0.0.1:1/".to_owned()));
    assert!(!notified(true, told(), "write_file", write("x")), "whoever is told may be slow");
    assert!(notified(true, told(), "read_file", json!({"path": "/w/f"})), "nobody is told of a read");
    let ruled = |is_free, notify| {
        let rule = RiskRule { tool: None, path: None, risk: Risk::High, why: None, origin: Origin::unknown() };
        asked(is_free, (notify, RiskRules(vec![rule])), "list_dir", json!({"path": "/w"}))
    };
    assert!(ruled(true, None) && !ruled(false, None), "a rule may put a look before a person, too");
    assert!(!ruled(true, told()), "who then hears of it");
    assert!(
        !quick(true, "write_file", json!({"path": "/in/f", "content": "x"})),
        "whatever is there: it must not tell"
    );
    for tool in ["search_files", "find_files", "move_file", "delete_file", "execute_command", "no_such_tool"] {
        assert!(!quick(true, tool, json!({"path": "/w"})), "{tool}");
    }
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
