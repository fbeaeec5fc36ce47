//! Looking back: the changes of a path and the calls that made them, newest first.

use std::collections::BTreeMap;

use paddock_core::{AgentName, CallId};
use paddock_db::DbError;

use super::place::{Place, Spot};
use super::row::{CALL_COLUMNS, CHANGE_COLUMNS, CallRow, ChangeRow, What};
use super::{History, HistoryError, Result};
use paddock_db::statements::{Session, Value};

/// How many calls an ambiguous id names.
const NAMED: usize = 5;

/// How much to bring back.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The most rows.
    pub limit: usize,
    /// Only what has a smaller number than this.
    pub before: Option<i64>,
}

impl Page {
    /// The newest `limit`.
    pub fn first(limit: usize) -> Self {
        Self { limit, before: None }
    }

    fn limit(self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX)
    }
}

/// Which calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallQuery<'a> {
    /// Only those of this agent.
    pub agent: Option<&'a AgentName>,
    /// Also those that changed nothing in the end.
    pub without_changes: bool,
    /// Leave out what was undone, and the undoing.
    pub only_standing: bool,
    /// Leave out what only happened by the way.
    pub only_meant: bool,
}

impl History {
    /// The changes of a path, and of everything below it, newest first. What moved here, or into it, shows its earlier life.
    pub fn log(&self, spot: &Spot, page: Page) -> Result<Vec<ChangeRow>> {
        let end = page.before.unwrap_or(i64::MAX);
        self.read(|session| {
            let mut found = BTreeMap::new();
            for watch in self.watches(session, spot.place())? {
                let window = Window { before: watch.1.min(end), limit: page.limit(), ..Window::default() };
                let rows = self.touching(session, &watch.0, &window)?;
                found.extend(rows.into_iter().map(|row| (row.seq, row)));
            }
            Ok(found.into_values().rev().take(page.limit).collect())
        })
    }

    /// The calls that changed something, newest first.
    pub fn calls(&self, which: &CallQuery<'_>, page: Page) -> Result<Vec<CallRow>> {
        let mut values: Vec<Value> = vec![self.home.as_str().into(), page.before.unwrap_or(i64::MAX).into()];
        let mut sql = format!("SELECT {CALL_COLUMNS} FROM history_call WHERE home = ?1 AND seq < ?2");
        if !which.without_changes {
            // What has not ended may have changed what it was about to.
            sql += " AND (changes > 0 OR planned IS NOT NULL)";
        }
        if which.only_standing {
            sql += " AND undoes IS NULL AND undone_by IS NULL";
        }
        if which.only_meant {
            sql += " AND aside = 0";
        }
        if let Some(agent) = which.agent {
            values.push(agent.as_str().into());
            sql += " AND agent = ?3";
        }
        values.push(page.limit().into());
        sql += &format!(" ORDER BY seq DESC LIMIT ?{}", values.len());
        self.call_rows(&sql, &values)
    }

    /// The newest call of an agent that changed something, not by the way, and still stands: neither undone nor an undoing.
    pub fn last_call(&self, agent: Option<&AgentName>) -> Result<Option<CallRow>> {
        let which = CallQuery { agent, only_standing: true, only_meant: true, ..CallQuery::default() };
        Ok(self.calls(&which, Page::first(1))?.pop())
    }

    /// The call with this id, or with an id that begins so.
    pub fn find_call(&self, id: &str) -> Result<CallRow> {
        let id = id.to_ascii_lowercase();
        if id.is_empty() || !id.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(HistoryError::NoSuchCall(paddock_core::visible(&id)));
        }
        let sql = format!(
            "SELECT {CALL_COLUMNS} FROM history_call WHERE home = ?1 AND call >= ?2 AND call < ?3 ORDER BY call LIMIT ?4"
        );
        let limit = i64::try_from(NAMED).unwrap_or(i64::MAX);
        // '~' comes after every letter of an id.
        let values = [self.home.as_str().into(), id.as_str().into(), format!("{id}~").into(), limit.into()];
        let mut rows = self.call_rows(&sql, &values)?;
        match rows.len() {
            0 => Err(HistoryError::NoSuchCall(id)),
            1 => Ok(rows.remove(0)),
            _ => Err(HistoryError::Ambiguous { id, calls: rows.into_iter().map(|row| row.call).collect() }),
        }
    }

    /// The changes of one call, in the order in which they were made.
    pub fn changes(&self, call: CallId) -> Result<Vec<ChangeRow>> {
        self.read(|session| self.changes_in(session, call))
    }

    /// The calls that began and have neither ended nor been undone, newest first: they run, or were cut off.
    pub fn unfinished(&self) -> Result<Vec<CallRow>> {
        let sql = format!(
            "SELECT {CALL_COLUMNS} FROM history_call WHERE home = ?1 AND state = 0 AND undone_by IS NULL ORDER BY seq DESC"
        );
        self.call_rows(&sql, &[self.home.as_str().into()])
    }

    fn call_rows(&self, sql: &str, values: &[Value]) -> Result<Vec<CallRow>> {
        self.read(|session| Ok(session.query(sql, values)?.iter().map(CallRow::read).collect()))
    }

    pub(crate) fn call_in(&self, session: &mut dyn Session, call: CallId) -> Result<Option<CallRow>, DbError> {
        let sql = format!("SELECT {CALL_COLUMNS} FROM history_call WHERE home = ?1 AND call = ?2");
        let rows = session.query(&sql, &[self.home.as_str().into(), call.to_string().into()])?;
        Ok(rows.first().map(CallRow::read))
    }

    pub(crate) fn changes_in(&self, session: &mut dyn Session, call: CallId) -> Result<Vec<ChangeRow>, DbError> {
        let sql =
            format!("SELECT {CHANGE_COLUMNS} FROM history_change WHERE home = ?1 AND call = ?2 ORDER BY part, idx");
        let rows = session.query(&sql, &[self.home.as_str().into(), call.to_string().into()])?;
        Ok(rows.iter().map(ChangeRow::read).collect())
    }

    /// The place and each one that something in it came from, with the number before which that holds.
    fn watches(&self, session: &mut dyn Session, place: Place) -> Result<Vec<(Place, i64)>, DbError> {
        let mut watches = vec![(place, i64::MAX)];
        let mut next = 0;
        while let Some((here, before)) = watches.get(next).cloned() {
            let window = Window { before, moves_only: true, ..Window::default() };
            for row in self.touching(session, &here, &window)? {
                let Some(source) = came_from(&row, &here) else { continue };
                let known = |(place, until): &(Place, i64)| source.is_within(place) && *until >= row.seq;
                if !watches.iter().any(known) {
                    watches.push((source, row.seq));
                }
            }
            next += 1;
        }
        Ok(watches)
    }

    /// The changes that touch a place, newest first: of itself, of what is below it, and moves of what is above it.
    pub(crate) fn touching(
        &self,
        session: &mut dyn Session,
        place: &Place,
        window: &Window,
    ) -> Result<Vec<ChangeRow>, DbError> {
        let mut values: Vec<Value> =
            vec![self.home.as_str().into(), window.after.into(), window.before.into(), window.limit.into()];
        let moves = if window.moves_only { " AND what = 'move'" } else { "" };
        let mut branches = Vec::new();
        let mut branch = |condition: String| {
            branches.push(format!(
                "SELECT * FROM (SELECT {CHANGE_COLUMNS} FROM history_change WHERE home = ?1 AND seq > ?2 AND seq < ?3 \
                 AND {condition}{moves} ORDER BY seq DESC LIMIT ?4) AS b{}",
                branches.len()
            ));
        };
        for (key, text) in [("place_key", "place"), ("to_key", "to_place")] {
            let n = values.len();
            values.extend([place.key().into(), place.as_str().into()]);
            branch(format!("{key} = ?{} AND {text} = ?{}", n + 1, n + 2));
            if window.below {
                let (n, (from, to)) = (values.len(), place.bounds());
                let (from_key, to_key) = (super::place::key(&from), super::place::key(&to));
                values.extend([from_key.into(), to_key.into(), from.into(), to.into()]);
                let (a, b, c, d) = (n + 1, n + 2, n + 3, n + 4);
                branch(format!("{key} >= ?{a} AND {key} <= ?{b} AND {text} >= ?{c} AND {text} < ?{d}"));
            }
            let above: Vec<Place> = place.above().collect();
            if !above.is_empty() {
                let keys = listed(&mut values, above.iter().map(Place::key));
                let texts = listed(&mut values, above.iter().map(Place::as_str));
                branch(format!("{key} IN ({keys}) AND {text} IN ({texts}) AND what = 'move'"));
            }
        }
        let sql = format!("SELECT * FROM ({}) AS t ORDER BY seq DESC LIMIT ?4", branches.join(" UNION "));
        Ok(session.query(&sql, &values)?.iter().map(ChangeRow::read).collect())
    }
}

/// Which of the changes that touch a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Only larger numbers than this.
    pub(crate) after: i64,
    /// Only smaller numbers than this.
    pub(crate) before: i64,
    pub(crate) limit: i64,
    pub(crate) moves_only: bool,
    /// Also what is below the place.
    pub(crate) below: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self { after: 0, before: i64::MAX, limit: i64::MAX, moves_only: false, below: true }
    }
}

/// Adds values and answers their places in the statement.
fn listed(values: &mut Vec<Value>, more: impl Iterator<Item = impl Into<Value>>) -> String {
    let first = values.len() + 1;
    values.extend(more.map(Into::into));
    (first..=values.len()).map(|n| format!("?{n}")).collect::<Vec<_>>().join(", ")
}

/// Where what a move brought here, or into here, was before.
fn came_from(row: &ChangeRow, here: &Place) -> Option<Place> {
    if row.what != What::Move {
        return None;
    }
    let (from, to) = (row.place(), row.to_place()?);
    match here.moved(&to, &from) {
        Some(whole) => Some(whole),
        None => to.is_within(here).then_some(from),
    }
}
