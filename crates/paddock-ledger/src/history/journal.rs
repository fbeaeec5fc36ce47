//! Writing down what happens: the half of the history that a Vfs calls.
//!
//! What a Store has done is recorded even when the call's time is up: the change is there, and without its row
//! nobody could take it back. An end that cannot be written leaves the call open, which is the truth about it.

use std::time::{Duration, Instant, SystemTime};

use paddock_core::{Act, AppliedChange, Call, CallId, Change, ErrorKind, Journal, PartDone, Plan, Result};
use paddock_db::DbError;

use super::History;
use super::error::store_error;
use super::row::{INSERT_CHANGE, call_id, change_values, millis};
use super::storage::{Session, Value};

/// The least time that is taken for writing down what has been done.
const RECORDING: Duration = Duration::from_secs(10);

impl Journal for History {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, call: &Call<'_>, plan: &Plan) -> Result<()> {
        if let Some(intent) = &self.intent {
            intent(call, plan)?;
        }
        let undoes = self.undoing().remove(&call.id);
        let now = self.now();
        let row = self.call_values(call, plan, undoes, now);
        let begun = self.write(call.deadline, |session| {
            if let Some(undone) = undoes
                && self.is_undone(session, undone)?
            {
                return Ok(false);
            }
            session.execute(INSERT_CALL, &row)?;
            Ok(true)
        });
        if begun.map_err(store_error)? { Ok(()) } else { Err(ErrorKind::Stale.into()) }
    }

    fn part_done(&self, call: &Call<'_>, done: &PartDone<'_>) -> Result<()> {
        let at = millis(self.now());
        let territory = done.workspace.territory().map(ToString::to_string).unwrap_or_default();
        let prefix = done.workspace.prefix().as_str();
        let changes = done.set.changes().iter().zip(&done.applied.changes).enumerate();
        let rows: Vec<Vec<Value>> = changes
            .filter(|(_, (change, applied))| happened(change, applied))
            .map(|(index, (change, applied))| {
                let mut row: Vec<Value> = vec![
                    self.home.as_str().into(),
                    call.id.to_string().into(),
                    number(done.part),
                    number(index),
                    at.into(),
                    call.agent.as_str().into(),
                ];
                row.extend(change_values(&territory, prefix, change, applied));
                row
            })
            .collect();
        let until = call.deadline.max(Instant::now() + RECORDING);
        let recorded = self.write(until, |session| {
            let mut made = 0;
            for row in &rows {
                made += session.execute(INSERT_CHANGE, row)?;
            }
            let count = [made.cast_signed().into(), self.home.as_str().into(), call.id.to_string().into()];
            session.execute("UPDATE history_call SET changes = changes + ?1 WHERE home = ?2 AND call = ?3", &count)?;
            Ok(())
        });
        recorded.map_err(store_error)
    }

    fn end(&self, call: &Call<'_>, completed: bool) {
        let ended = millis(self.now());
        let state = if completed { 1 } else { 2 };
        let until = call.deadline.max(Instant::now() + RECORDING);
        // What cannot be written stays open, and is shown as not ended.
        let _ = self.write(until, |session| {
            let values: [Value; 4] =
                [ended.into(), state.into(), self.home.as_str().into(), call.id.to_string().into()];
            session.execute("UPDATE history_call SET ended = ?1, state = ?2 WHERE home = ?3 AND call = ?4", &values)?;
            if completed { self.mark_undone(session, call.id) } else { Ok(()) }
        });
    }
}

impl History {
    fn call_values(&self, call: &Call<'_>, plan: &Plan, undoes: Option<CallId>, now: SystemTime) -> Vec<Value> {
        let op = if undoes.is_some() { "undo" } else { plan.kind().verb() };
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
        ]
    }

    fn is_undone(&self, session: &mut dyn Session, call: CallId) -> Result<bool, DbError> {
        let sql = "SELECT undone_by FROM history_call WHERE home = ?1 AND call = ?2 AND undone_by IS NOT NULL";
        Ok(!session.query(sql, &[self.home.as_str().into(), call.to_string().into()])?.is_empty())
    }

    /// What `by` undoes is undone; what *that* had undone is there again, and so on.
    fn mark_undone(&self, session: &mut dyn Session, by: CallId) -> Result<(), DbError> {
        let (mut by, mut undone) = (by, true);
        while let Some(call) = self.undone_call(session, by)? {
            let mark = undone.then(|| by.to_string());
            let values = [mark.into(), self.home.as_str().into(), call.to_string().into()];
            session.execute("UPDATE history_call SET undone_by = ?1 WHERE home = ?2 AND call = ?3", &values)?;
            (by, undone) = (call, !undone);
        }
        Ok(())
    }

    fn undone_call(&self, session: &mut dyn Session, by: CallId) -> Result<Option<CallId>, DbError> {
        let sql = "SELECT undoes FROM history_call WHERE home = ?1 AND call = ?2";
        let rows = session.query(sql, &[self.home.as_str().into(), by.to_string().into()])?;
        Ok(rows.first().and_then(|row| call_id(&row[0])))
    }
}

const INSERT_CALL: &str = "INSERT INTO history_call (home, call, agent, op, path, began, deadline, state, undoes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8) ON CONFLICT DO NOTHING";

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
