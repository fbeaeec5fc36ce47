//! Writing down what happens: the half of the history that a Vfs calls.
//!
//! Beside an audit, what is told waits in its queue and is written with its rows: the intent, the call and what the first part
//! will change in one transaction, which is durable before anything is touched; what was changed, the end and
//! the outcome in another, before the call is acknowledged. What the next part will change goes with what
//! the last one did. Whatever cuts a call off, there is a row or a plan for each path that it can have changed.
//!
//! What a Store has done is recorded even when the call's time is up: the change is there, and without its row
//! nobody could take it back. An end that cannot be written leaves the call open, which is the truth about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{
    Act, AppliedChange, Call, CallId, Change, Effect, ErrorKind, Journal, Part, PartDone, Plan, Refused, RelPath,
    Result, Vfs, WayBack, Workspace,
};
use paddock_db::DbError;

use super::error::store_error;
use super::found::{Met, met_something};
use super::log::Window;
use super::own::is_own;
use super::place::Place;
use super::planned::planned_text;
use super::row::{CallState, INSERT_CHANGE, OWN_COPY, call_id, change_values, millis};
use super::{History, HistoryError};
use crate::approvals::mark_used;
use paddock_db::statements::{Deed, Session, Value};

/// The least time that is taken for writing down what has been done.
const RECORDING: Duration = Duration::from_secs(10);

impl Journal for History {
    fn keeps(&self) -> bool {
        true
    }

    fn has_room(&self) -> bool {
        self.room.is_left(|| self.found_bytes())
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> Result<()> {
        let now = self.now();
        if let Some(audit) = &self.audit {
            audit.intent(call.id, (call.agent, plan.by()), plan.verb(), plan.path().as_str(), None, now)?;
        }
        let undoes = self.undoing().get(&call.id).copied();
        let (home, row) = (self.home.clone(), self.call_values(call, plan, undoes, now));
        let approval = self.using.take(call.id);
        let (by, at) = (call.id.to_string(), millis(now));
        let hindrance = Arc::new(Mutex::new(None));
        let found = Arc::clone(&hindrance);
        // Somebody may have undone the same meanwhile, or used the same approval: known before anything is changed, and not only
        // at the first part.
        let until = (undoes.is_some() || approval.is_some()).then_some(call.deadline);
        let begun = self.note(until, move |session| {
            let undone = undoes.map(|undone| is_undone(session, &home, undone)).transpose()?.unwrap_or(false);
            let used = match &approval {
                Some(approval) => !mark_used(session, &home, approval, &by, at)?,
                None => false,
            };
            let hindered = if undone { Some(ErrorKind::Stale) } else { used.then_some(ErrorKind::UsedUp) };
            if hindered.is_none() {
                session.execute(INSERT_CALL, &row)?;
            }
            *found.lock().unwrap_or_else(PoisonError::into_inner) = hindered;
            Ok(())
        });
        if begun.is_err() {
            self.end(call, false);
        }
        begun?;
        let hindered = hindrance.lock().unwrap_or_else(PoisonError::into_inner).take();
        hindered.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn part_begins(&self, call: &Call<'_>, part: &Part<'_>) -> Result<()> {
        self.meets(call.id, part);
        let changes = self.untold(call.id);
        let values: [Value; 4] =
            [planned_text(part).into(), changes, self.home.as_str().into(), call.id.to_string().into()];
        let open = Arc::new(AtomicBool::new(false));
        let found = Arc::clone(&open);
        self.note(Some(call.deadline), move |session| {
            found.store(session.execute(PLAN_CALL, &values)? > 0, Ordering::SeqCst);
            Ok(())
        })?;
        // What this call was to change is changed: whoever asks for it again under the same id gets nothing more.
        if open.load(Ordering::SeqCst) { Ok(()) } else { Err(ErrorKind::Stale.into()) }
    }

    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> Result<()> {
        let rows = self.change_rows(call, done);
        let is_own_copy = done.set.is_own_copy();
        *self.counted().entry(call.id).or_default() += rows.len();
        let home = self.home.clone();
        self.note(None, move |session| {
            rows.iter().try_for_each(|(row, met)| {
                let found = met.as_ref().map(|met| met.is_found(session, &home)).transpose()?.unwrap_or(false);
                let found = if is_own_copy { Value::Int(OWN_COPY) } else { found.into() };
                let row: Vec<Value> = row.iter().cloned().chain([found]).collect();
                session.execute(INSERT_CHANGE, &row).map(drop)
            })
        })
    }

    fn end(&self, call: &Call<'_>, completed: bool) {
        let undoes = self.undoing().remove(&call.id).filter(|_| completed);
        self.end_of(call.id, completed, undoes);
    }

    fn way_back(&self, vfs: &Vfs, call: &Call<'_>, undone: CallId) -> Result<WayBack, Refused> {
        self.find_way_back(vfs, call, undone).map_err(|error| match error {
            HistoryError::Refused(refused) => refused,
            error => Refused::Gate(error.to_string()),
        })
    }

    fn made_by(&self, call: &Call<'_>, workspace: &Workspace, rel: RelPath<'_>, now: &Effect) -> bool {
        let Some(territory) = workspace.territory() else { return false };
        let place = Place::new(&territory.to_string(), rel.as_str());
        let window = Window { below: false, ..Window::default() };
        let rows = self.read(|session| self.touching(session, &place, &window)).unwrap_or_default();
        is_own(&rows, &place, call.agent, now)
    }
}

impl History {
    fn find_way_back(&self, vfs: &Vfs, call: &Call<'_>, undone: CallId) -> super::Result<WayBack> {
        let Some(row) = self.read(|session| self.call_in(session, undone))? else { return Ok(WayBack::Nothing) };
        if row.state == CallState::Completed || row.undone_by.is_some() {
            return Ok(WayBack::Nothing);
        }
        if row.agent != call.agent.as_str() {
            return Ok(WayBack::OfAnother);
        }
        match self.undo(vfs, call, undone) {
            Ok(undo) => Ok(WayBack::By(undo.alterations)),
            Err(HistoryError::ChangedNothing(_)) => {
                self.end_of(undone, false, None);
                Ok(WayBack::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes that a call is over. What cannot be written stays open, and is shown as not ended.
    fn end_of(&self, id: CallId, completed: bool, undoes: Option<CallId>) {
        self.met().remove(&id);
        let home = self.home.clone();
        let state = if completed { 1 } else { 2 };
        let changes = self.untold(id);
        let values: [Value; 5] =
            [millis(self.now()).into(), state.into(), changes, home.as_str().into(), id.to_string().into()];
        let _ = self.note(None, move |session| {
            session.execute(END_CALL, &values)?;
            if undoes.is_some() { mark_undone(session, &home, id) } else { Ok(()) }
        });
    }

    /// Has something written down. `until` given: returns when it is durable, with everything noted before. Without
    /// an audit to write it with, it is written at once.
    fn note(
        &self,
        until: Option<Instant>,
        mut deed: impl FnMut(&mut dyn Session) -> Result<(), DbError> + Send + 'static,
    ) -> Result<()> {
        if let Some(audit) = &self.audit {
            let deed: Deed = Box::new(deed);
            return Ok(audit.note(deed, until)?);
        }
        let until = until.unwrap_or_else(|| Instant::now() + RECORDING);
        self.storage.write(until, &mut deed).map_err(store_error)
    }

    /// How many changes of a call have rows that its own row does not count yet.
    fn untold(&self, call: CallId) -> Value {
        number(self.counted().remove(&call).unwrap_or(0))
    }

    /// The rows of a part, each with what its change met, where that was something.
    fn change_rows(&self, call: &Call<'_>, done: &PartDone<'_>) -> Vec<(Vec<Value>, Option<Met>)> {
        let versions = self.met().remove(&call.id).unwrap_or_default();
        let at = millis(self.now());
        let territory = done.workspace.territory().map(ToString::to_string).unwrap_or_default();
        let prefix = done.workspace.prefix().as_str();
        let changes = done.set.changes().iter().zip(&done.applied.changes).enumerate();
        let changed = changes.filter(|(_, (change, applied))| happened(change, applied));
        let row = |(index, (change, applied)): (usize, (&Change, &AppliedChange))| {
            let mut row: Vec<Value> = vec![
                self.home.as_str().into(),
                call.id.to_string().into(),
                number(done.part),
                number(index),
                at.into(),
                call.agent.as_str().into(),
            ];
            row.extend(change_values(&territory, prefix, change, applied));
            let met = || Met {
                call: call.id,
                place: Place::new(&territory, change.path().as_str()),
                version: versions.get(change.path().as_str()).copied(),
            };
            (row, (!territory.is_empty() && met_something(change, applied)).then(met))
        };
        changed.map(row).collect()
    }

    fn call_values(&self, call: &Call<'_>, plan: &Plan, undoes: Option<CallId>, now: SystemTime) -> Vec<Value> {
        let op = if undoes.is_some() { "undo" } else { plan.verb() };
        let left = call.deadline.saturating_duration_since(Instant::now());
        vec![
            self.home.as_str().into(),
            call.id.to_string().into(),
            call.agent.as_str().into(),
            op.into(),
            plan.path().as_str().into(),
            millis(now).into(),
            millis(now.checked_add(left).unwrap_or(now)).into(),
            undoes.map(|id| id.to_string()).into(),
            plan.note().into(),
            plan.is_aside().into(),
            plan.by().into(),
        ]
    }
}

fn is_undone(session: &mut dyn Session, home: &str, call: CallId) -> Result<bool, DbError> {
    let sql = "SELECT undone_by FROM history_call WHERE home = ?1 AND call = ?2 AND undone_by IS NOT NULL";
    Ok(!session.query(sql, &[home.into(), call.to_string().into()])?.is_empty())
}

/// What `by` undoes is undone; what *that* had undone is there again, and so on.
fn mark_undone(session: &mut dyn Session, home: &str, by: CallId) -> Result<(), DbError> {
    let (mut by, mut undone) = (by, true);
    while let Some(call) = undone_call(session, home, by)? {
        let mark = undone.then(|| by.to_string());
        let values = [mark.into(), home.into(), call.to_string().into()];
        session.execute("UPDATE history_call SET undone_by = ?1 WHERE home = ?2 AND call = ?3", &values)?;
        (by, undone) = (call, !undone);
    }
    Ok(())
}

fn undone_call(session: &mut dyn Session, home: &str, by: CallId) -> Result<Option<CallId>, DbError> {
    let sql = "SELECT undoes FROM history_call WHERE home = ?1 AND call = ?2";
    let rows = session.query(sql, &[home.into(), by.to_string().into()])?;
    Ok(rows.first().and_then(|row| call_id(&row[0])))
}

/// A call that came to its end without a change was only asked about, as a command is before it runs: what it changes then is made, and it
/// runs again until that is over.
const PLAN_CALL: &str = "UPDATE history_call SET planned = ?1, changes = changes + ?2, \
     state = CASE state WHEN 1 THEN 0 ELSE state END, ended = CASE state WHEN 1 THEN NULL ELSE ended END \
     WHERE home = ?3 AND call = ?4 AND (state <> 1 OR changes = 0)";

const END_CALL: &str = "UPDATE history_call SET ended = ?1, state = ?2, changes = changes + ?3, planned = NULL \
     WHERE home = ?4 AND call = ?5 AND state <> 1";

const INSERT_CALL: &str = "INSERT INTO history_call (home, call, agent, op, path, began, deadline, state, undoes, note, \
     aside, person) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";

/// A directory that was there already did not change, and neither did what moved to where it is.
fn happened(change: &Change, applied: &AppliedChange) -> bool {
    match change.act() {
        Act::MakeDir => applied.created,
        Act::Move { to } => to.as_rel() != change.path(),
        _ => true,
    }
}

fn number(n: usize) -> Value {
    (n as u64).cast_signed().into()
}
