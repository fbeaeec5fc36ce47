//! Calls that wait for a person, on both databases: what a decision is for, and that it is used once.

mod deciding;
mod granting;
mod holding;
mod tokens;
mod using;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use paddock_core::{
    AgentName, Alteration, Asked, Call, CallId, Cancel, Changed, DiffHunk, DiffLine, ErrorKind, Expect, Fate, Holding,
    Journal, LineFate, Operation, Passed, Plan, Preview, Refused, Request, Requester, Risk, Terms, Token, Totals, Vfs,
};
use paddock_db::postgres_testing::Database;
use paddock_db::{Durability, Sqlite};
use paddock_ledger::approvals::{Approval, ApprovalQuery, Approvals, Decision, Reach, schema};
use paddock_ledger::audit::{AuditKey, POSTGRES_SCHEMA, SQLITE_SCHEMA};
use paddock_ledger::{Ledger, history};
use paddock_state::Redactor;
use tempfile::TempDir;

use super::history_store::{KeepingStore, Node};
use super::history_world::{path, workspace};

/// One process on a database that several may have open, with a clock set by hand.
struct Desk {
    approvals: Approvals,
    ledger: Ledger,
    vfs: Vfs,
    agent: AgentName,
}

/// What all processes share.
struct Ground {
    dir: TempDir,
    postgres: Option<Database>,
    store: Arc<KeepingStore>,
    clock: Arc<AtomicU64>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Ground {
    fn on(postgres: Option<Database>) -> Self {
        let store = Arc::new(KeepingStore::default());
        store.plant("a", "old\n");
        let clock = Arc::new(AtomicU64::new(1_000));
        Self { dir: tempfile::tempdir().unwrap(), postgres, store, clock, told: Arc::default() }
    }

    fn both() -> [Self; 2] {
        [Self::on(None), Self::on(Some(Database::fresh()))]
    }

    fn ledger(&self) -> Ledger {
        let key = AuditKey::from_bytes([7; 32]);
        let outside = self.dir.path().join("head");
        match &self.postgres {
            None => {
                let schemas = vec![history::schema::SQLITE, schema::SQLITE, SQLITE_SCHEMA];
                let database = Sqlite::new(self.dir.path().join("state.db"), schemas, Durability::Process);
                Ledger::sqlite(&database, Durability::Process, key, outside, Redactor::none())
            }
            Some(database) => {
                let server = database.open(&[history::schema::POSTGRES, schema::POSTGRES, POSTGRES_SCHEMA]);
                Ledger::postgres(&server, "one", key, outside, Redactor::none())
            }
        }
    }

    /// Another process.
    fn desk(&self) -> Desk {
        self.desk_with(|ledger| Arc::clone(&ledger.history) as Arc<dyn Journal>)
    }

    fn desk_with(&self, journal: impl FnOnce(&Ledger) -> Arc<dyn Journal>) -> Desk {
        let ledger = self.ledger();
        let (seconds, told) = (Arc::clone(&self.clock), Arc::clone(&self.told));
        let clock = move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst));
        let approvals = (*ledger.approvals).clone().with_clock(Arc::new(clock));
        approvals.tell_by(Arc::new(move |waiting, _| told.lock().unwrap().push(waiting.id.to_owned())));
        let workspaces = vec![workspace("/w", &["one"], &self.store)];
        let vfs = Vfs::new(workspaces, Arc::new(approvals.clone()), journal(&ledger)).unwrap();
        Desk { approvals, ledger, vfs, agent: AgentName::main() }
    }

    fn wait(&self, seconds: u64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    fn text(&self, at: &str) -> Option<String> {
        match self.store.dump().remove(at)? {
            Node::File(content, _) => Some(String::from_utf8(content).unwrap()),
            Node::Dir => None,
        }
    }
}

/// A preview of one file with these lines.
fn shows(lines: &[&str]) -> Preview {
    let lines: Vec<DiffLine> = lines.iter().map(|line| DiffLine::from(format!("{line}\n"))).collect();
    let count = |fate| lines.iter().filter(|line| line.fate == fate).count() as u64;
    let (added, removed) = (count(LineFate::Added), count(LineFate::Removed));
    let hunk = DiffHunk { old_start: 0, old_lines: removed, new_start: 0, new_lines: added, lines };
    let changed = Changed {
        path: "/w/a".to_owned(),
        fate: Fate::Changed,
        is_directory: false,
        leads_to: None,
        mode: None,
        added,
        removed,
        hunks: vec![hunk],
        not_shown: None,
    };
    let totals = Totals { fates: BTreeMap::from([(Fate::Changed, 1)]), added, removed, uncounted: 0 };
    Preview { totals, paths: vec![changed], whole: true, ..Preview::default() }
}

/// A call as it is put before the Gate.
#[derive(Clone)]
struct Ask {
    tool: &'static str,
    arguments: String,
    risk: Risk,
    requester: Requester,
    terms: Terms,
    preview: Preview,
    /// What a command changed already.
    changes: Option<Vec<Alteration>>,
    /// The call that made it, where this is another.
    of: Option<String>,
}

impl Ask {
    fn of(tool: &'static str, arguments: &str) -> Self {
        Self {
            tool,
            arguments: arguments.to_owned(),
            risk: Risk::High,
            requester: Requester { session: "s1".to_owned(), ..Requester::default() },
            terms: Terms { expires: Duration::from_secs(100), policy: "p1".to_owned(), ..Terms::default() },
            preview: shows(&["-old", "+new"]),
            changes: None,
            of: None,
        }
    }

    fn with_token(&self, token: &str) -> Self {
        let mut ask = self.clone();
        ask.requester.token = Some(token.to_owned());
        ask
    }
}

impl Asked for Ask {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn requester(&self) -> &Requester {
        &self.requester
    }

    fn rule(&self) -> Option<String> {
        Some("paddock.toml:3 says the risk is high".to_owned())
    }

    fn arguments(&self) -> String {
        self.arguments.clone()
    }

    fn shown_arguments(&self) -> String {
        self.arguments.clone()
    }

    fn preview(&self) -> Preview {
        self.preview.clone()
    }

    fn holding(&self) -> Option<Holding<'_>> {
        let alterations = self.changes.as_deref()?;
        Some(Holding { alterations, told: "what it printed", of: self.of.as_deref() })
    }
}

/// What came of a call that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stopped {
    Parked(String),
    Edited { arguments: String, token: String },
    Refused(&'static str, String),
}

fn refused(refused: Refused) -> Stopped {
    match refused {
        Refused::NotApproved { name, why } => Stopped::Refused(name, why),
        Refused::Store { source, .. } if *source.kind() == ErrorKind::UsedUp => {
            Stopped::Refused("token_used", source.to_string())
        }
        other => panic!("{other}"),
    }
}

impl Desk {
    fn with_call<T>(&self, run: impl FnOnce(&Call<'_>) -> T) -> T {
        let cancel = Cancel::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        run(&Call { id: CallId::next(), agent: &self.agent, cancel: &cancel, deadline })
    }

    /// Plans a call and puts it before the Gate.
    fn ask(&self, call: &Call<'_>, ask: &Ask, operation: Operation) -> Result<(Plan, Token), Stopped> {
        let plan = self.vfs.plan(call, operation).unwrap();
        let request = Request { tool: ask.tool, risk: ask.risk, asked: ask };
        match self.vfs.ask(call, &request, &plan).map_err(refused)? {
            Passed::Now(token) => Ok((plan, token)),
            Passed::Parked(id) => Err(Stopped::Parked(id)),
            Passed::Edited { arguments, token } => Err(Stopped::Edited { arguments, token }),
        }
    }

    fn call(&self, ask: &Ask, operation: Operation) -> Result<CallId, Stopped> {
        self.with_call(|call| {
            let (plan, token) = self.ask(call, ask, operation)?;
            self.vfs.run(call, plan, token).map_err(refused)?;
            Ok(call.id)
        })
    }

    /// The call that most tests are about: `/w/a` becomes "new".
    fn write(&self) -> Result<CallId, Stopped> {
        self.call(&writing(), to_new())
    }

    fn parked(&self, ask: &Ask, operation: Operation) -> String {
        match self.call(ask, operation) {
            Err(Stopped::Parked(id)) => id,
            other => panic!("{other:?}"),
        }
    }

    fn decide(&self, id: &str, decision: &Decision) -> Approval {
        self.approvals.decide(id, None, "alice", decision).unwrap()
    }

    fn approve(&self, id: &str, reach: Reach) -> Approval {
        self.decide(id, &Decision::Approve(reach))
    }

    fn waiting(&self) -> Vec<String> {
        let waiting = self.approvals.list(&ApprovalQuery::default()).unwrap();
        waiting.into_iter().map(|approval| approval.id).collect()
    }
}

fn writing() -> Ask {
    Ask::of("write_file", r#"{"content":"new\n","path":"/w/a"}"#)
}

fn to_new() -> Operation {
    write_of("/w/a", "new\n")
}

fn write_of(at: &str, text: &str) -> Operation {
    Operation::Write { path: path(at), content: text.into(), expect: Expect::Any }
}

/// Runs a test on SQLite and on PostgreSQL.
fn on_both(test: impl Fn(&Ground)) {
    for ground in Ground::both() {
        test(&ground);
    }
}
