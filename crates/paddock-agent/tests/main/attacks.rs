//! Attacks on the token of a decision, through the tools and the Gate that asks: each is refused, and the audit tells which it was.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use paddock_core::{
    AccessScope, AgentName, AgentPolicy, CallId, LogicalPath, Mount, NoJournal, Requester, Terms, Territory, Vfs,
    Workspace,
};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::approvals::{Approvals, Decision, Reach, schema};
use paddock_ledger::audit::{AuditKey, Filter, SQLITE_SCHEMA};
use paddock_ledger::{Ledger, history};
use paddock_state::{Redactor, Secrets};
use paddock_stores::MemoryStore;
use paddock_tools::{Answer, Audited, Control, RecordingGate, Rehearsal, Toolbox, Verdict};
use serde_json::{Value, json};

/// A database, and a Workspace whose changes a person is asked about.
struct Ground {
    _keep: tempfile::TempDir,
    ledger: Ledger,
    approvals: Approvals,
    seconds: Arc<AtomicU64>,
    store: Arc<MemoryStore>,
}

fn path(text: &str) -> LogicalPath {
    LogicalPath::parse(text, &LogicalPath::top()).unwrap()
}

impl Ground {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let schemas = vec![history::schema::SQLITE, schema::SQLITE, SQLITE_SCHEMA];
        let database = Sqlite::new(keep.path().join("state.db"), schemas, Durability::Process);
        let (key, outside) = (AuditKey::from_bytes([7; 32]), keep.path().join("head"));
        let ledger = Ledger::sqlite(&database, Durability::Process, key, outside, Redactor::none());
        let seconds = Arc::new(AtomicU64::new(1_000));
        let now = Arc::clone(&seconds);
        let clock = move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::SeqCst));
        let approvals = (*ledger.approvals).clone().with_clock(Arc::new(clock));
        Self { _keep: keep, ledger, approvals, seconds, store: Arc::new(MemoryStore::new()) }
    }

    fn workspace(&self) -> Workspace {
        let mount = Mount::new(Arc::<MemoryStore>::clone(&self.store), Some(Territory::new("test", ["w"])));
        Workspace::new(path("/w"), AccessScope::ReadWrite, mount)
    }

    /// The tools under a policy.
    fn toolbox(&self, policy: &str) -> Toolbox {
        let journal = Arc::clone(&self.ledger.history);
        let vfs = Vfs::new(vec![self.workspace()], Arc::new(self.approvals.clone()), journal).unwrap();
        let terms = Terms { policy: policy.to_owned(), expires: Duration::from_secs(100), ..Terms::default() };
        let policy = Arc::new(AgentPolicy { terms, ..AgentPolicy::new(AgentName::main(), path("/"), vfs) });
        let audit = Arc::clone(&self.ledger.audit);
        Toolbox::new(Arc::new(Audited { policy, audit, secrets: Secrets::none() }))
    }

    /// Somebody else writes a file.
    fn plant(&self, name: &str, content: &str) {
        let vfs = Vfs::new(vec![self.workspace()], Arc::new(RecordingGate::new()), Arc::new(NoJournal)).unwrap();
        let toolbox = Toolbox::fixed(AgentPolicy::new(AgentName::main(), path("/"), vfs));
        let written = Attempt::of("write_file", json!({ "path": name, "content": content })).made(&toolbox);
        assert_eq!(written.verdict, Verdict::Done, "{written:?}");
    }

    /// The token of a decision about the call that all attacks are on.
    fn approved(&self) -> String {
        let parked = removing().made(&self.toolbox("p1"));
        let Verdict::Parked(id) = parked.verdict else { panic!("{parked:?}") };
        let decided = self.approvals.decide(&id, None, "bob", &Decision::Approve(Reach::Once)).unwrap();
        decided.token.unwrap()
    }

    /// Makes an attempt that must fail, as a run does it: looked at first, then made. Gives the reason that the audit has for it.
    fn refused(&self, policy: &str, attempt: &Attempt) -> String {
        let toolbox = self.toolbox(policy);
        let looked = toolbox.rehearse(attempt.tool, attempt.arguments(), &attempt.control);
        assert!(matches!(looked, Rehearsal::Fails(_)), "{looked:?}");
        assert!(attempt.made(&toolbox).is_error());
        self.ledger.audit.flush().unwrap();
        let of_it = Filter { call: attempt.control.call, ended: true, ..Filter::default() };
        let rows = self.ledger.audit.query(&of_it).unwrap().rows;
        let [looked, made] = rows.as_slice() else { panic!("{rows:#?}") };
        assert_eq!((looked.tool.as_str(), &looked.reason), (attempt.tool, &made.reason));
        assert_ne!(made.outcome, Verdict::Done.name());
        made.reason.clone()
    }
}

/// A call, and who makes it.
struct Attempt {
    tool: &'static str,
    given: Value,
    control: Control,
}

impl Attempt {
    fn of(tool: &'static str, given: Value) -> Self {
        let mut control = Control::for_at_most(Duration::from_secs(60));
        control.call = Some(CallId::next());
        let (thread, user) = (Some("t".to_owned()), Some("alice".to_owned()));
        control.requester = Requester { session: "thread-t".to_owned(), thread, user, token: None };
        Self { tool, given, control }
    }

    fn with(mut self, token: &str) -> Self {
        self.control.requester.token = Some(token.to_owned());
        self
    }

    fn arguments(&self) -> serde_json::Map<String, Value> {
        self.given.as_object().cloned().unwrap()
    }

    fn made(&self, toolbox: &Toolbox) -> Answer {
        toolbox.call(self.tool, self.arguments(), &self.control)
    }
}

fn removing() -> Attempt {
    Attempt::of("delete_file", json!({ "path": "/w/old.txt" }))
}

#[test]
fn every_attack_on_a_token_is_in_the_audit_with_its_own_reason() {
    let ground = Ground::new();
    ground.plant("/w/old.txt", "precious\n");
    ground.plant("/w/other.txt", "precious too\n");
    let token = ground.approved();
    let by = |change: &dyn Fn(&mut Requester)| {
        let mut attempt = removing().with(&token);
        change(&mut attempt.control.requester);
        attempt
    };
    let signature = token.rsplit('.').next().unwrap();
    let forged = token.replace(signature, &"0".repeat(signature.len()));
    let unknown = format!("pat1.ap-0000000000.{signature}");
    let write = Attempt::of("write_file", json!({ "path": "/w/old.txt", "content": "mine\n" })).with(&token);
    let other = Attempt::of("delete_file", json!({ "path": "/w/other.txt" })).with(&token);
    let mut reasons = vec![
        ground.refused("p1", &by(&|requester| requester.thread = Some("u".to_owned()))),
        ground.refused("p1", &by(&|requester| requester.user = Some("mallory".to_owned()))),
        ground.refused("p1", &write),
        ground.refused("p1", &other),
        ground.refused("p2", &removing().with(&token)),
        ground.refused("p1", &removing().with(&forged)),
        ground.refused("p1", &removing().with(&unknown)),
    ];
    // None of it has used the decision up: it is for exactly this call, and for one.
    assert_eq!(removing().with(&token).made(&ground.toolbox("p1")).verdict, Verdict::Done);
    ground.plant("/w/old.txt", "precious again\n");
    reasons.push(ground.refused("p1", &removing().with(&token)));
    let token = ground.approved();
    ground.plant("/w/old.txt", "changed since\n");
    reasons.push(ground.refused("p1", &removing().with(&token)));
    ground.seconds.fetch_add(101, Ordering::SeqCst);
    reasons.push(ground.refused("p1", &removing().with(&token)));

    let expected = ["thread", "user", "tool", "arguments", "policy", "forged", "unknown", "used", "state", "expired"];
    assert_eq!(reasons, expected.map(|reason| format!("token_{reason}")));
    assert_eq!(reasons.iter().collect::<BTreeSet<_>>().len(), 10, "each has its own");
    let left = Attempt::of("read_file", json!({ "path": "/w/old.txt" })).made(&ground.toolbox("p1")).text();
    assert!(left.contains("changed since"), "{left}");
}
