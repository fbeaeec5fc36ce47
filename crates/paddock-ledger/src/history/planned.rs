//! What a call is about to change: written with the call before its Store is asked, and forgotten when it has ended.
//!
//! A process that dies between a change and its row leaves this behind. It names every path that may have changed without a
//! row, and what was there when it was planned; it never says that a path *has* changed.

use paddock_core::{Act, CallId, Change, Part, Version};
use paddock_db::DbError;
use serde::{Deserialize, Serialize};

use super::place::Spot;
use super::row::{ChangeRow, What};
use super::storage::Session;
use super::{History, Result};

/// A path that a call was about to change, and of which no row says that it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Where.
    pub spot: Spot,
    /// The Workspace's prefix at that time.
    pub prefix: String,
    /// What was to happen.
    pub what: What,
    /// The other end of a move, relative to the same Mount.
    pub to: Option<String>,
    /// The version that was there; nothing where none was, or none was asked for.
    pub version: Option<Version>,
}

/// All of a part, as it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    territory: String,
    prefix: String,
    changes: Vec<KeptChange>,
}

#[derive(Serialize, Deserialize)]
struct KeptChange {
    path: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// What a part will change, as a text.
pub(crate) fn planned_text(part: &Part<'_>) -> String {
    let kept = |change: &Change| KeptChange {
        path: change.path().as_str().to_owned(),
        what: What::of(change.act()).name().to_owned(),
        to: if let Act::Move { to } = change.act() { Some(to.as_str().to_owned()) } else { None },
        version: part.version_before(change).map(|version| version.to_string()),
    };
    let all = Kept {
        territory: part.workspace.territory().map(ToString::to_string).unwrap_or_default(),
        prefix: part.workspace.prefix().as_str().to_owned(),
        changes: part.set.changes().iter().map(kept).collect(),
    };
    serde_json::to_string(&all).unwrap_or_default()
}

/// What [`planned_text`] wrote. What cannot be read promises nothing.
fn read(text: &str) -> Vec<Planned> {
    let Ok(Kept { territory, prefix, changes }) = serde_json::from_str(text) else { return Vec::new() };
    let planned = |change: KeptChange| Planned {
        spot: Spot { territory: territory.clone(), path: change.path },
        prefix: prefix.clone(),
        what: What::parse(&change.what),
        to: change.to,
        version: change.version.as_deref().and_then(Version::parse),
    };
    changes.into_iter().map(planned).collect()
}

impl Planned {
    /// Does a row say what became of it?
    fn is_told(&self, rows: &[ChangeRow]) -> bool {
        rows.iter().any(|row| row.spot == self.spot && row.what == self.what && row.to == self.to)
    }
}

impl History {
    /// The paths that a call which has not ended may have changed without a row that says so: it runs, or it was cut off.
    pub fn planned(&self, call: CallId) -> Result<Vec<Planned>> {
        self.read(|session| self.planned_in(session, call))
    }

    pub(crate) fn planned_in(&self, session: &mut dyn Session, call: CallId) -> Result<Vec<Planned>, DbError> {
        let sql = "SELECT planned FROM history_call WHERE home = ?1 AND call = ?2 AND planned IS NOT NULL";
        let found = session.query(sql, &[self.home.as_str().into(), call.to_string().into()])?;
        let Some(planned) = found.first().map(|row| read(row[0].text())) else { return Ok(Vec::new()) };
        let rows = self.changes_in(session, call)?;
        Ok(planned.into_iter().filter(|planned| !planned.is_told(&rows)).collect())
    }
}
