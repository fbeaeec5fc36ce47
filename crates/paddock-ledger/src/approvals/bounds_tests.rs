//! How much of what is held and shown goes through the database at once: however much is kept, a transaction and an answer stay small.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paddock_core::{
    AgentName, Alter, Alteration, Asked, Call, CallId, Cancel, Earlier, Expect, Gate as _, Holding, LogicalPath,
    Preview, Request, Requester, Risk, Terms,
};
use paddock_db::statements::{Row, Session, Storage, Value, Work};
use paddock_db::{DbError, Durability, Sqlite};
use tempfile::TempDir;

use super::row::{self, Approval, Status, digest};
use super::{ApprovalQuery, Approvals, Using, schema};

/// No transaction writes more; `TOGETHER` and one piece are less.
const MOST_WRITTEN: usize = 8 * 1024 * 1024;
const COMMAND: &str = "execute_command";

/// The bytes that each transaction wrote, and those that each question was answered with.
#[derive(Default)]
struct Seen {
    written: Vec<usize>,
    answered: Vec<usize>,
}

/// A database that is watched.
struct Watched {
    database: Sqlite,
    seen: Arc<Mutex<Seen>>,
}

impl Storage for Watched {
    fn read(&self, work: Work<'_>) -> Result<(), DbError> {
        Storage::read(&self.database, &mut |session| work(&mut WatchedSession { session, seen: &self.seen }))
    }

    fn write(&self, until: Instant, work: Work<'_>) -> Result<(), DbError> {
        Storage::write(&self.database, until, &mut |session| {
            self.seen.lock().unwrap().written.push(0);
            work(&mut WatchedSession { session, seen: &self.seen })
        })
    }
}

struct WatchedSession<'a> {
    session: &'a mut dyn Session,
    seen: &'a Mutex<Seen>,
}

fn bytes(values: &[Value]) -> usize {
    values.iter().map(|value| value.text().len()).sum()
}

impl Session for WatchedSession<'_> {
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        let rows = self.session.query(sql, params)?;
        self.seen.lock().unwrap().answered.push(rows.iter().map(|row| bytes(row)).sum());
        Ok(rows)
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        *self.seen.lock().unwrap().written.last_mut().unwrap() += bytes(params);
        self.session.execute(sql, params)
    }
}

/// Approvals whose every step is watched.
struct World {
    approvals: Approvals,
    seen: Arc<Mutex<Seen>>,
    _directory: TempDir,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Sqlite::new(directory.path().join("state.db"), vec![schema::SQLITE], Durability::Process);
        let seen = Arc::<Mutex<Seen>>::default();
        let storage = Watched { database, seen: Arc::clone(&seen) };
        let approvals = Approvals::new(Arc::new(storage), "", &[7; 32], Using::default());
        Self { approvals, seen, _directory: directory }
    }

    /// An approval of what a command changed, with much to show.
    fn held(&self, id: &str, arguments: &str) -> Approval {
        let now = self.approvals.now();
        let text = String::new;
        let held = Approval {
            id: id.to_owned(),
            agent: AgentName::main().as_str().to_owned(),
            session: text(),
            thread: None,
            user: None,
            tool: COMMAND.to_owned(),
            path: "/w".to_owned(),
            arguments: arguments.to_owned(),
            digest: id.to_owned(),
            state_version: text(),
            policy: text(),
            risk: Risk::High,
            rule: None,
            preview: Preview { whole: true, ..Preview::in_words("+ a line\n".repeat(20_000)) },
            held: Some(id.to_owned()),
            requested_at: now,
            expires_at: now + 1_000_000,
            status: Status::Pending,
            decided_at: None,
            decided_by: None,
            reason: None,
            edited: None,
            reach: None,
            token: None,
            used_by: None,
            of_call: digest(COMMAND, arguments),
            told: Some("what it printed".to_owned()),
            told_at: None,
        };
        let kept = self.approvals.write(|session| session.execute(row::INSERT, &row::values("", &held)));
        assert_eq!(kept.unwrap(), 1);
        held
    }

    /// What became of a command that ran before, and how much the answer took.
    fn earlier(&self, arguments: &'static str) -> (Earlier, usize) {
        self.seen.lock().unwrap().answered.clear();
        let asked = Asks { arguments, terms: Terms::default(), requester: Requester::default() };
        let request = Request { tool: COMMAND, risk: Risk::High, asked: &asked };
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(60);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let earlier = self.approvals.earlier(&call, &request).unwrap();
        (earlier, self.seen.lock().unwrap().answered.iter().sum())
    }
}

struct Asks {
    arguments: &'static str,
    terms: Terms,
    requester: Requester,
}

impl Asked for Asks {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn requester(&self) -> &Requester {
        &self.requester
    }

    fn rule(&self) -> Option<String> {
        None
    }

    fn arguments(&self) -> String {
        self.arguments.to_owned()
    }

    fn shown_arguments(&self) -> String {
        self.arguments.to_owned()
    }

    fn preview(&self) -> Preview {
        Preview { whole: true, ..Preview::default() }
    }
}

fn writes(at: &str, content: Vec<u8>) -> Alteration {
    let path = LogicalPath::parse(at, &LogicalPath::top()).unwrap();
    Alteration { path, how: Alter::Write { content, mode: None }, expect: Expect::Any }
}

#[test]
fn a_large_file_is_kept_in_many_small_transactions() {
    let world = World::new();
    let large: Vec<u8> = (0..12_000_000u32).map(|n| n.to_le_bytes()[1]).collect();
    let kept = [writes("/w/small", b"small".to_vec()), writes("/w/large", large), writes("/w/last", Vec::new())];
    let holding = Holding { alterations: &kept, told: "", of: None };
    world.approvals.keep("ap", &holding).unwrap();
    let written = std::mem::take(&mut world.seen.lock().unwrap().written);
    assert!(written.iter().all(|bytes| *bytes <= MOST_WRITTEN), "{written:?}");
    assert!(written.iter().sum::<usize>() > 12_000_000, "{written:?}");
    let back = world.approvals.load(&world.held("ap", "{}")).unwrap();
    assert!(back.alterations == kept, "it comes back as it was kept");
}

#[test]
fn of_a_list_one_is_loaded_at_a_time() {
    let world = World::new();
    let each = world.held("0", "{}").preview.words.len();
    (1..20).for_each(|number| drop(world.held(&number.to_string(), "{}")));
    world.seen.lock().unwrap().answered.clear();
    assert_eq!(world.approvals.list(&ApprovalQuery::default()).unwrap().len(), 20);
    let answered = std::mem::take(&mut world.seen.lock().unwrap().answered);
    assert!(answered.iter().all(|bytes| *bytes < 2 * each), "{answered:?}");
    assert!(answered.iter().sum::<usize>() > 20 * each, "{answered:?}");
}

#[test]
fn what_became_of_a_command_is_told_without_loading_what_others_hold() {
    let world = World::new();
    let own = world.held("own", "own");
    for number in 0..20 {
        world.held(&format!("other-{number}"), "other");
    }
    let (earlier, answered) = world.earlier("own");
    assert!(matches!(earlier, Earlier::Waits(id) if id == "own"));
    assert!(answered < 2 * own.preview.words.len(), "{answered}");
    let (earlier, answered) = world.earlier("new");
    assert!(matches!(earlier, Earlier::Nothing { waiting: 21 }), "they are counted all the same");
    assert!(answered < 1000, "{answered}");
}
