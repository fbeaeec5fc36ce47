//! Approvals: calls that wait for a person, what was decided about each, and what was allowed for longer.
//!
//! [`Approvals`] is the Gate of an agent's Vfs where there is somebody to ask. What waits is in the database, so that it outlives
//! every process, and whoever decides may be in another one. It must never let a call through that was not decided, nor one
//! decision be used twice, nor show a token to anybody but the call it was made for.

mod error;
mod gate;
mod grants;
mod held;
mod row;
pub mod schema;
mod token;

#[cfg(test)]
mod bounds_tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{CallId, Held, Notify, Requester, Terms, Waiting};
use paddock_db::DbError;

pub use self::error::{ApprovalError, TokenFault};
pub(crate) use self::gate::mark_used;
pub use self::grants::Grant;
pub use self::row::{Approval, Reach, Status};

use self::token::TokenKey;
use paddock_db::statements::{Row, Session, Storage, Value};

/// How long the database is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is kept as the reason of a decision that was withdrawn.
const REFUSED_NOW: &str = "nothing was made: the call was refused for another reason by then";

/// The outcome of asking about approvals.
pub type Result<T, E = ApprovalError> = std::result::Result<T, E>;

/// What a person decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Agreed, as far as said.
    Approve(Reach),
    /// Agreed, with these arguments (the one text that stands for them).
    Edit(String),
    /// Refused; the reason is for the agent.
    Reject(String),
}

/// Which approvals are wanted.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQuery {
    /// Also those that were decided.
    pub all: bool,
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only of this thread.
    pub thread: Option<String>,
    /// Only those that are no longer waiting.
    pub decided: bool,
    /// Those that come behind this one; nothing where there is none with that id.
    pub after: Option<String>,
    /// The most; the newest of them.
    pub limit: Option<usize>,
}

/// Calls about to run, and the approvals that they use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Using(Arc<Mutex<HashMap<CallId, String>>>);

impl Using {
    fn map(&self) -> MutexGuard<'_, HashMap<CallId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, call: CallId, approval: String) {
        self.map().insert(call, approval);
    }

    pub(crate) fn take(&self, call: CallId) -> Option<String> {
        self.map().remove(&call)
    }
}

/// Told of a call that waits now, and who else is to be told.
pub type Messenger = dyn Fn(&Waiting<'_>, Option<&Notify>) + Send + Sync;

/// The calls that wait for a person.
#[derive(Clone)]
pub struct Approvals {
    storage: Arc<dyn Storage>,
    home: String,
    key: TokenKey,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    using: Using,
    messenger: Arc<OnceLock<Arc<Messenger>>>,
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvals").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Approvals {
    pub(crate) fn new(storage: Arc<dyn Storage>, home: &str, key: &[u8; 32], using: Using) -> Self {
        let (home, key) = (home.to_owned(), TokenKey::from(key));
        Self { storage, home, key, clock: Arc::new(SystemTime::now), using, messenger: Arc::default() }
    }

    /// Has somebody told of each call that begins to wait. Said once.
    pub fn tell_by(&self, messenger: Arc<Messenger>) {
        let _ = self.messenger.set(messenger);
    }

    /// With another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Fn() -> SystemTime + Send + Sync>) -> Self {
        self.clock = clock;
        self
    }

    fn now(&self) -> i64 {
        let since = (self.clock)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn tell(&self, approval: &Approval, terms: &Terms) {
        let Approval { id, agent, tool, path, risk, .. } = approval;
        if let Some(messenger) = self.messenger.get() {
            messenger(&Waiting { id, agent, tool, path, risk: *risk }, terms.notify.as_ref());
        }
    }

    fn read<T>(&self, look: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T, DbError> {
        self.storage.look(look)
    }

    fn write<T>(&self, change: impl FnMut(&mut dyn Session) -> Result<T, DbError>) -> Result<T, DbError> {
        self.storage.change(Instant::now() + PATIENCE, change)
    }

    fn find(&self, id: &str) -> Result<Option<Approval>, DbError> {
        self.read(|session| self.find_in(session, id))
    }

    fn find_in(&self, session: &mut dyn Session, id: &str) -> Result<Option<Approval>, DbError> {
        let sql = format!("SELECT {} FROM approval WHERE home = ?1 AND id = ?2", row::COLUMNS);
        let rows = session.query(&sql, &[self.home.as_str().into(), id.into()])?;
        Ok(rows.first().map(row::read))
    }

    /// `why` where its time is not over: what it was about has moved on.
    fn expire(&self, session: &mut dyn Session, id: &str, why: Option<&str>) -> Result<(), DbError> {
        let sql = "UPDATE approval SET status = 'expired', reason = COALESCE(?3, reason) \
                   WHERE home = ?1 AND id = ?2 AND used_by IS NULL";
        session.execute(sql, &[self.home.as_str().into(), id.into(), why.map(str::to_owned).into()]).map(drop)
    }

    /// A decision that nobody can use any more, because the call is refused for another reason: whoever makes it again asks anew.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn withdraw(&self, id: &str) -> Result<()> {
        Ok(self.write(|session| self.expire(session, id, Some(REFUSED_NOW)))?)
    }

    /// One approval, as it stands now.
    ///
    /// # Errors
    /// When there is none with that id.
    pub fn show(&self, id: &str) -> Result<Approval> {
        let found = self.find(id)?.ok_or_else(|| ApprovalError::NoApproval(id.to_owned()))?;
        Ok(self.as_of_now(found))
    }

    /// The approval that a call used, if it did.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn used_by(&self, call: CallId) -> Result<Option<Approval>> {
        let sql = format!("SELECT {} FROM approval WHERE home = ?1 AND used_by = ?2", row::COLUMNS);
        let rows = self.read(|session| session.query(&sql, &[self.home.as_str().into(), call.to_string().into()]))?;
        Ok(rows.first().map(row::read))
    }

    /// What a command changed and a person agreed to; nothing where it was made, or nobody agreed.
    ///
    /// # Errors
    /// When there is no such approval, or what it holds cannot be read.
    pub fn held(&self, id: &str) -> Result<Option<Held>> {
        let approval = self.show(id)?;
        let waits = approval.held.is_some() && approval.status == Status::Approved && approval.used_by.is_none();
        let unreadable = |error: held::NotHeld| ApprovalError::NotHeld { id: id.to_owned(), why: error.to_string() };
        waits.then(|| self.load(&approval)).transpose().map_err(unreadable)
    }

    /// Approvals, the newest first.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn list(&self, query: &ApprovalQuery) -> Result<Vec<Approval>> {
        self.list_as(query, |approval| approval)
    }

    /// The same, with what is made of each: one is loaded at a time, because each may say very much of what would change.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn list_as<T>(&self, query: &ApprovalQuery, mut make: impl FnMut(Approval) -> T) -> Result<Vec<T>> {
        let now = self.now();
        let mut params: Vec<Value> = vec![self.home.as_str().into()];
        let mut narrowed = String::new();
        let mut narrow = |text: &str, value: Value| {
            params.push(value);
            narrowed.push_str(&text.replace("?n", &format!("?{}", params.len())));
        };
        if query.decided {
            narrow(" AND (status <> 'pending' OR expires_at <= ?n)", now.into());
        } else if !query.all {
            narrow(" AND status = 'pending' AND expires_at > ?n", now.into());
        }
        if let Some(agent) = &query.agent {
            narrow(" AND agent = ?n", agent.as_str().into());
        }
        if let Some(thread) = &query.thread {
            narrow(" AND thread = ?n", thread.as_str().into());
        }
        if let Some(after) = &query.after {
            let at = "(SELECT a.requested_at FROM approval a WHERE a.home = ?1 AND a.id = ?n)";
            let behind = format!(" AND (requested_at < {at} OR (requested_at = {at} AND id > ?n))");
            narrow(&behind, after.as_str().into());
        }
        narrow(" ORDER BY requested_at DESC, id LIMIT ?n", limit_of(query.limit).into());
        let sql = format!("SELECT id FROM approval WHERE home = ?1{narrowed}");
        Ok(self.read(|session| {
            let ids = session.query(&sql, &params)?;
            let mut made = Vec::with_capacity(ids.len());
            for id in &ids {
                let found = self.find_in(session, id[0].text())?;
                made.extend(found.map(|found| make(self.as_of_now(found))));
            }
            Ok(made)
        })?)
    }

    /// The ids that begin so, some of them, each with whether it still waits.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn begins(&self, with: &str) -> Result<Vec<(String, bool)>> {
        let sql = "SELECT id, status, expires_at FROM approval WHERE home = ?1 AND substr(id, 1, length(?2)) = ?2 ORDER BY id LIMIT 100";
        let rows = self.read(|session| session.query(sql, &[self.home.as_str().into(), with.into()]))?;
        let now = self.now();
        let waits = |row: &Row| row[1].text() == Status::Pending.name() && now < row[2].int();
        Ok(rows.iter().map(|row| (row[0].text().to_owned(), waits(row))).collect())
    }

    /// How many wait for a person.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn waiting(&self) -> Result<u64> {
        let sql = "SELECT COUNT(*) FROM approval WHERE home = ?1 AND status = 'pending' AND expires_at > ?2";
        let rows = self.read(|session| session.query(sql, &[self.home.as_str().into(), self.now().into()]))?;
        Ok(rows.first().map_or(0, |row| u64::try_from(row[0].int()).unwrap_or(0)))
    }

    /// Forgets what was over before this moment, in milliseconds since 1970: nobody can decide or use it any more. What a run may still ask
    /// about stays.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn collect(&self, before: i64) -> Result<u64> {
        let over = "DELETE FROM approval WHERE home = ?1 AND expires_at < ?2 AND COALESCE(decided_at, 0) < ?2 \
                    AND (thread IS NULL OR used_by IS NOT NULL)";
        let revoked = "DELETE FROM approval_grant WHERE home = ?1 AND revoked_at < ?2";
        let before = before.min(self.now());
        let values: [Value; 2] = [self.home.as_str().into(), before.into()];
        Ok(self.write(|session| {
            self.sweep(session)?;
            session.execute(revoked, &values)?;
            session.execute(over, &values)
        })?)
    }

    /// What nobody decided in time is over.
    fn as_of_now(&self, mut approval: Approval) -> Approval {
        if approval.status == Status::Pending && self.now() >= approval.expires_at {
            approval.status = Status::Expired;
        }
        approval
    }

    /// Decides what waits, once. `shown` is [`Approval::shown`] of what the person looked at.
    ///
    /// # Errors
    /// When there is none, it was decided or is over, or it is not what was shown.
    pub fn decide(&self, id: &str, shown: Option<&str>, by: &str, decision: &Decision) -> Result<Approval> {
        let grant_id = new_id("gr");
        self.write(|session| {
            let Some(found) = self.find_in(session, id)? else {
                return Ok(Err(ApprovalError::NoApproval(id.to_owned())));
            };
            match self.decide_in(session, self.as_of_now(found), shown, by, decision, &grant_id) {
                // Nothing of a decision is kept where a part of it could not be.
                Err(ApprovalError::Database(error)) => Err(error),
                other => Ok(other),
            }
        })?
    }

    fn decide_in(
        &self,
        session: &mut dyn Session,
        mut approval: Approval,
        shown: Option<&str>,
        by: &str,
        decision: &Decision,
        grant_id: &str,
    ) -> Result<Approval> {
        let id = approval.id.clone();
        if approval.status != Status::Pending {
            let Approval { status, decided_by: by, expires_at: until, .. } = approval;
            return Err(ApprovalError::Decided { id, status, by, until });
        }
        if shown.is_some_and(|shown| shown != approval.shown()) {
            return Err(ApprovalError::NotAsShown(id));
        }
        match decision {
            Decision::Approve(Reach::Session | Reach::Always) if !approval.preview.whole => {
                return Err(ApprovalError::NotWhole(id));
            }
            Decision::Approve(Reach::Always) if approval.preview.has_moves() => {
                return Err(ApprovalError::TwoPlaces(id));
            }
            Decision::Approve(Reach::Session) if Requester::is_of_one_call(&approval.session) => {
                return Err(ApprovalError::SessionOver(id));
            }
            Decision::Edit(_) if approval.held.is_some() => return Err(ApprovalError::NothingToEdit(id)),
            Decision::Approve(reach) => {
                (approval.status, approval.reach) = (Status::Approved, Some(reach.name().to_owned()));
            }
            Decision::Edit(arguments) => {
                (approval.status, approval.edited) = (Status::Edited, Some(arguments.clone()));
            }
            Decision::Reject(reason) => {
                (approval.status, approval.reason) = (Status::Rejected, Some(reason.clone()));
            }
        }
        (approval.decided_at, approval.decided_by) = (Some(self.now()), Some(by.to_owned()));
        if approval.status != Status::Rejected {
            approval.token = Some(token::token(&self.key, &approval));
        }
        if !self.keep_decision(session, &approval)? {
            // Somebody else decided between the look and now.
            let now = self.find_in(session, &id)?.ok_or_else(|| ApprovalError::NoApproval(id.clone()))?;
            return Err(ApprovalError::Decided { id, status: now.status, by: now.decided_by, until: now.expires_at });
        }
        self.sweep(session)?;
        if let Decision::Approve(reach) = decision
            && let Some(grant) = Grant::of(&approval, *reach, grant_id.to_owned(), by, self.now())
        {
            session.execute(grants::INSERT, &grants::values(&self.home, &grant))?;
        }
        Ok(approval)
    }

    /// Whether it was still undecided.
    fn keep_decision(&self, session: &mut dyn Session, approval: &Approval) -> Result<bool, DbError> {
        let sql = "UPDATE approval SET status = ?1, decided_at = ?2, decided_by = ?3, reason = ?4, edited = ?5, reach = ?6, \
                   token = ?7 WHERE home = ?8 AND id = ?9 AND status = 'pending'";
        let values = [
            approval.status.name().into(),
            approval.decided_at.into(),
            approval.decided_by.clone().into(),
            approval.reason.clone().into(),
            approval.edited.clone().into(),
            approval.reach.clone().into(),
            approval.token.clone().into(),
            self.home.as_str().into(),
            approval.id.as_str().into(),
        ];
        Ok(session.execute(sql, &values)? == 1)
    }

    fn grants_in(&self, session: &mut dyn Session, of: Option<(&str, &str)>) -> Result<Vec<Grant>, DbError> {
        let narrowed = if of.is_some() { " AND agent = ?2 AND tool = ?3" } else { "" };
        let sql = format!(
            "SELECT {} FROM approval_grant WHERE home = ?1{narrowed} AND revoked_at IS NULL ORDER BY granted_at DESC, id",
            grants::COLUMNS
        );
        let mut params = vec![self.home.as_str().into()];
        params.extend(of.iter().flat_map(|(agent, tool)| [(*agent).into(), (*tool).into()]));
        Ok(session.query(&sql, &params)?.iter().map(grants::read).collect())
    }

    /// What is allowed without asking, the newest first.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub fn grants(&self) -> Result<Vec<Grant>> {
        Ok(self.read(|session| self.grants_in(session, None))?)
    }

    /// Takes a grant back; from the next call on it is asked again.
    ///
    /// # Errors
    /// When there is none with that id.
    pub fn revoke(&self, id: &str) -> Result<()> {
        let sql = "UPDATE approval_grant SET revoked_at = ?1 WHERE home = ?2 AND id = ?3 AND revoked_at IS NULL";
        let changed =
            self.write(|session| session.execute(sql, &[self.now().into(), self.home.as_str().into(), id.into()]))?;
        if changed == 1 { Ok(()) } else { Err(ApprovalError::NoGrant(id.to_owned())) }
    }

    /// How often a grant was used is for people to see; a call does not fail for it.
    fn count_use(&self, id: &str) {
        let sql = "UPDATE approval_grant SET uses = uses + 1, last_used = ?1 WHERE home = ?2 AND id = ?3";
        let _ = self.write(|session| session.execute(sql, &[self.now().into(), self.home.as_str().into(), id.into()]));
    }
}

/// As a database counts.
fn limit_of(limit: Option<usize>) -> i64 {
    limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX)
}

/// A short name that nobody can guess.
fn new_id(kind: &str) -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let random =
        crate::audit::random().unwrap_or_else(|_| *blake3::hash(CallId::next().to_string().as_bytes()).as_bytes());
    let text: String = random[..10].iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect();
    format!("{kind}-{text}")
}
