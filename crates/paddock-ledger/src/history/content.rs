//! What a path held before a change, and the way to an earlier moment of it.

use std::ops::Range;
use std::time::SystemTime;

use paddock_core::{Alteration, Before, Call, CallId, Expect, Kept, LogicalPath, Operation, Version, Vfs};
use paddock_db::DbError;

use super::log::Window;
use super::place::{Place, Spot, logical};
use super::row::{ChangeRow, What, millis};
use super::undo::{Now, alteration, find, name_of, say_all, version_now};
use super::way::{Back, Way};
use super::{History, HistoryError, Result};
use paddock_db::statements::{Session, Value};

/// Where the content that a path once held can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// There was nothing.
    Nothing,
    /// It was a directory.
    Dir,
    /// The Store keeps it: recall it.
    Kept {
        /// Where the Store keeps it for.
        spot: Spot,
        /// Under which name.
        kept: Kept,
        /// Only so many bytes of its beginning.
        cut: Option<u64>,
    },
    /// It is still there: read it.
    Now {
        /// Where it is today.
        spot: Spot,
        /// Only so many bytes of its beginning.
        cut: Option<u64>,
        /// The version under which that is true.
        version: Option<Version>,
    },
    /// Nobody has it any more.
    Lost,
}

impl Content {
    /// Which bytes of what is kept, or there, are meant.
    pub fn range(&self) -> Range<u64> {
        match self {
            Self::Kept { cut: Some(cut), .. } | Self::Now { cut: Some(cut), .. } => 0..*cut,
            _ => 0..u64::MAX,
        }
    }
}

/// An earlier moment of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// As it was then.
    Time(SystemTime),
    /// As this call left it.
    Call(CallId),
    /// When it had this version.
    Version(Version),
}

/// What brings a path to an earlier moment.
#[derive(Debug, Clone)]
pub struct Restoration {
    /// The path.
    pub path: LogicalPath,
    /// The changes, in the order in which they are made; none when it has not changed since.
    pub alterations: Vec<Alteration>,
}

impl Restoration {
    /// All of it as one operation.
    pub fn operation(&self) -> Operation {
        Operation::Alter { path: self.path.clone(), alterations: self.alterations.clone() }
    }

    /// What it does, a line for each path.
    pub fn says(&self) -> Vec<String> {
        say_all(&self.alterations)
    }
}

impl Spot {
    /// What it is called in the Workspaces of today.
    pub fn logical(&self, vfs: &Vfs) -> Option<LogicalPath> {
        logical(vfs, &self.place(), &self.territory).map(|(path, _)| path)
    }
}

impl History {
    /// What the path of a change held before it.
    pub fn content_before(&self, row: &ChangeRow) -> Result<Content> {
        Ok(match (&row.before, row.what) {
            (_, What::Move) => self.content_after(row)?,
            (Before::Absent, _) => Content::Nothing,
            (Before::Dir(_), _) => Content::Dir,
            (Before::Kept(kept), _) => Content::Kept { spot: row.spot.clone(), kept: kept.clone(), cut: None },
            (Before::Prefix(len), _) => cut(self.content_after(row)?, *len),
            (Before::Looks(_), _) => self.content_after(row)?,
            (Before::Lost, _) => Content::Lost,
        })
    }

    /// What the path of a change held after it, wherever that went since.
    pub fn content_after(&self, row: &ChangeRow) -> Result<Content> {
        if row.what == What::Delete {
            return Ok(Content::Nothing);
        }
        if row.what == What::MakeDir {
            return Ok(Content::Dir);
        }
        self.read(|session| self.follow(session, row))
    }

    fn follow(&self, session: &mut dyn Session, row: &ChangeRow) -> Result<Content, DbError> {
        let mut place = row.result_place();
        let mut version = row.version;
        let mut after = row.seq;
        let mut least: Option<u64> = None;
        'moved: loop {
            let window = Window { after, below: false, ..Window::default() };
            let mut rows = self.touching(session, &place, &window)?;
            rows.reverse();
            for next in rows {
                let itself = next.place() == place;
                // Somebody without a row was faster: what the next change met is theirs.
                if itself && version.zip(next.met).is_some_and(|(left, met)| left != met) {
                    return Ok(Content::Lost);
                }
                if let (What::Move, Some(to)) = (next.what, next.to_place()) {
                    let Some(moved) = place.moved(&next.place(), &to) else { continue };
                    version = if itself { next.version.or(version) } else { version };
                    (place, after) = (moved, next.seq);
                    continue 'moved;
                }
                match next.before {
                    Before::Kept(kept) => return Ok(Content::Kept { spot: next.spot, kept, cut: least }),
                    Before::Prefix(len) => {
                        least = Some(least.map_or(len, |least| least.min(len)));
                        version = next.version;
                    }
                    Before::Looks(_) => version = next.version,
                    Before::Absent | Before::Dir(_) | Before::Lost => return Ok(Content::Lost),
                }
            }
            let territory = row.spot.territory.clone();
            let path = place.below(&Place::from_text(&territory)).unwrap_or_default().to_owned();
            return Ok(Content::Now { spot: Spot { territory, path }, cut: least, version });
        }
    }

    /// What brings a path, and everything below it, to an earlier moment. It keeps its name of today; what moved inside it
    /// goes back to its name of then.
    ///
    /// The Vfs is that of a person ([`Vfs::for_person`]); the answer holds for what is there now.
    pub fn restore_to(&self, vfs: &Vfs, call: &Call<'_>, spot: &Spot, moment: Moment) -> Result<Restoration> {
        let place = spot.place();
        let Some((path, _)) = logical(vfs, &place, &spot.territory) else {
            return Err(HistoryError::NoWorkspace { path: spot.path.clone() });
        };
        let after = self.number_of(&place, &path, moment)?;
        let way = self.way_to(vfs, &place, after)?;
        let (steps, lost) = way.steps();
        if !lost.is_empty() {
            return Err(HistoryError::Lost(lost.iter().map(|step| name_of(vfs, &step.place, &step.row)).collect()));
        }
        let mut alterations = Vec::new();
        for step in &steps {
            // Directories that were made on the way stay: only what the path held is asked for.
            if step.back == Back::RemoveParent {
                continue;
            }
            let mut expect = Expect::Any;
            if step.first && step.now == step.place {
                let (path, _) = find(vfs, &step.now, &step.row)?;
                expect = match version_now(vfs, call, &path)? {
                    Now::There(version) => Expect::Is(version),
                    Now::Nothing if matches!(step.back, Back::Remove | Back::RemoveDir) => continue,
                    Now::Nothing | Now::Blocked => Expect::Absent,
                };
            }
            if matches!(step.back, Back::MakeDir | Back::RemoveDir | Back::MoveTo(_) | Back::Dress(_)) {
                expect = Expect::Any;
            }
            alterations.push(alteration(vfs, step, expect)?);
        }
        Ok(Restoration { path, alterations })
    }

    /// The way back over everything that happened to a place after a row.
    fn way_to(&self, vfs: &Vfs, place: &Place, after: i64) -> Result<Way> {
        let mut way = Way::default();
        let mut here = place.clone();
        let mut before = i64::MAX;
        'renamed: loop {
            let window = Window { after, before, ..Window::default() };
            let rows = self.read(|session| self.touching(session, &here, &window))?;
            for row in &rows {
                let from = row.place();
                let to = row.to_place();
                if let (What::Move, Some(to)) = (row.what, &to) {
                    if let Some(then) = here.moved(to, &from) {
                        (here, before) = (then, row.seq);
                        continue 'renamed;
                    }
                    if !from.is_within(&here) || !to.is_within(&here) || from == here {
                        let path = name_of(vfs, &from, row);
                        let to = name_of(vfs, to, row);
                        return Err(HistoryError::Moved { path, to, call: row.call });
                    }
                }
                let today = |then: &Place| then.moved(&here, place).unwrap_or_else(|| then.clone());
                way.take_back(row, today(&from), to.as_ref().map(today));
            }
            return Ok(way);
        }
    }

    /// The number of the last change that had happened at a moment.
    fn number_of(&self, place: &Place, path: &LogicalPath, moment: Moment) -> Result<i64> {
        match moment {
            Moment::Time(time) => {
                // Rows come in the order of their time, so that this stops at the first that fits.
                let sql = "SELECT seq FROM history_change WHERE home = ?1 AND at <= ?2 ORDER BY seq DESC LIMIT 1";
                Ok(self.number(sql, &[self.home.as_str().into(), millis(time).into()])?.unwrap_or(0))
            }
            Moment::Call(call) => {
                let sql = "SELECT seq FROM history_change WHERE home = ?1 AND call = ?2 ORDER BY seq DESC LIMIT 1";
                let found = self.number(sql, &[self.home.as_str().into(), call.to_string().into()])?;
                found.ok_or_else(|| HistoryError::NoSuchCall(call.to_string()))
            }
            Moment::Version(version) => {
                let found = self.number_of_version(place, version)?;
                found.ok_or_else(|| HistoryError::NoSuchVersion { path: path.to_string(), version })
            }
        }
    }

    fn number(&self, sql: &str, values: &[Value]) -> Result<Option<i64>> {
        self.read(|session| Ok(session.query(sql, values)?.first().map(|row| row[0].int())))
    }

    fn number_of_version(&self, place: &Place, version: Version) -> Result<Option<i64>> {
        let mut here = place.clone();
        let mut before = i64::MAX;
        'renamed: loop {
            let window = Window { before, below: false, ..Window::default() };
            for row in self.read(|session| self.touching(session, &here, &window))? {
                if row.version == Some(version) && row.result_place() == here {
                    return Ok(Some(row.seq));
                }
                let came = row.to_place().and_then(|to| here.moved(&to, &row.place()));
                if let Some(then) = came {
                    (here, before) = (then, row.seq);
                    continue 'renamed;
                }
            }
            return Ok(None);
        }
    }
}

/// Only the first bytes of it.
fn cut(content: Content, len: u64) -> Content {
    let least = |cut: Option<u64>| Some(cut.map_or(len, |cut| cut.min(len)));
    match content {
        Content::Kept { spot, kept, cut } => Content::Kept { spot, kept, cut: least(cut) },
        Content::Now { spot, cut, version } => Content::Now { spot, cut: least(cut), version },
        other => other,
    }
}
