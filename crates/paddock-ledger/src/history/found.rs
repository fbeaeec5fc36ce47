//! What changes found that no agent had made: kept for as long as the age says, however much else an agent replaces.
//!
//! Count and size of what is kept are in the hands of whoever writes often or much. So they never take what was there before an
//! agent came, or what a person put there since: only what agents made themselves. Where all that may be kept is of the
//! first kind, nothing more is promised, and what replaces something has a high risk for that.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use paddock_core::{Act, AppliedChange, Before, CallId, Change, Part, Version};
use paddock_db::DbError;
use paddock_db::statements::{Session, Value};

use super::place::Place;
use super::row::{What, call_id};
use super::{History, Result};

/// What a change met at its path.
pub(crate) struct Met {
    pub(crate) call: CallId,
    pub(crate) place: Place,
    /// Its version when the change was planned, where that is known.
    pub(crate) version: Option<Version>,
}

impl Met {
    /// Did no agent make it? Says so of what it cannot know: that is only kept longer.
    pub(crate) fn is_found(&self, session: &mut dyn Session, home: &str) -> Result<bool, DbError> {
        let values: [Value; 3] = [home.into(), self.place.key().into(), self.place.as_str().into()];
        let rows = session.query(LAST_AT, &values)?;
        let Some(last) = rows.first() else { return Ok(true) };
        let (what, is_persons) = (What::parse(last[0].text()), last[4].maybe_text().is_some());
        let left = last[1].maybe_text().and_then(Version::parse);
        // What the call itself left there has another version than what was there when it was planned.
        let is_own = call_id(&last[6]) == Some(self.call);
        let is_another = !is_own && left.zip(self.version).is_some_and(|(left, met)| left != met);
        Ok(is_persons
            || is_another
            || match (what, last[3].text()) {
                // It went: what was met came from elsewhere.
                (What::Delete | What::Restore, _) => true,
                (What::Move, _) if last[5].text() == "from" => true,
                // The content stayed, under another name, with more behind it or looking otherwise.
                (What::Move | What::Dress, _) | (What::Append, "prefix") => last[2].int() != 0,
                _ => false,
            })
    }
}

/// The last change that is known of a place, or of what came there by a move.
const LAST_AT: &str = "SELECT t.what, t.version, t.found, t.before, (SELECT person FROM history_call h WHERE h.home = ?1 \
     AND h.call = t.call) AS person, t.end_of, t.call FROM (\
     SELECT * FROM (SELECT seq, call, what, version, found, before, CAST('from' AS TEXT) AS end_of FROM history_change \
     WHERE home = ?1 AND place_key = ?2 AND place = ?3 ORDER BY seq DESC LIMIT 1) AS a \
     UNION ALL SELECT * FROM (SELECT seq, call, what, version, found, before, CAST('to' AS TEXT) AS end_of FROM \
     history_change WHERE home = ?1 AND to_key = ?2 AND to_place = ?3 ORDER BY seq DESC LIMIT 1) AS b\
     ) AS t ORDER BY t.seq DESC LIMIT 1";

/// Was there something that the change replaced, took away or carried on?
pub(crate) fn met_something(change: &Change, applied: &AppliedChange) -> bool {
    matches!(change.act(), Act::Move { .. })
        || matches!(applied.before, Before::Kept(_) | Before::Prefix(_) | Before::Looks(_))
        || (applied.before == Before::Lost && !applied.created)
}

impl History {
    /// Remembers what the paths of a part are before it is made.
    pub(crate) fn meets(&self, call: CallId, part: &Part<'_>) {
        let version = |change: &Change| {
            let before = part.effect(change)?.before?;
            Some((change.path().as_str().to_owned(), before))
        };
        let versions: HashMap<String, Version> = part.set.changes().iter().filter_map(version).collect();
        self.met().insert(call, versions);
    }

    /// How many bytes are kept in all, and no more unless somebody lets go of them for their age.
    pub fn keep_up_to(&self, bytes: Option<u64>) {
        self.room.set(bytes);
    }

    /// How many bytes are kept of what no agent had made.
    pub fn found_bytes(&self) -> Result<u64> {
        let sql = "SELECT CAST(COALESCE(sum(kept_bytes), 0) AS BIGINT) FROM history_change WHERE home = ?1 AND found = 1 \
             AND kept IS NOT NULL AND call NOT IN (SELECT call FROM history_call WHERE home = ?1 AND person IS NOT NULL)";
        let found = self.read(|session| session.query(sql, &[self.home.as_str().into()]))?;
        Ok(found.first().map_or(0, |row| row[0].int().max(0).cast_unsigned()))
    }
}

/// Whether more can be kept: asked of the database once, and again whenever somebody has tidied.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    bytes: Option<u64>,
    is_left: Option<bool>,
}

impl Room {
    fn set(&self, bytes: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Known { bytes, is_left: None };
    }

    /// Something was let go of, or measured.
    pub(crate) fn ask_again(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_left = None;
    }

    pub(crate) fn is_left(&self, used: impl FnOnce() -> Result<u64>) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = known.bytes else { return true };
        if let Some(is_left) = known.is_left {
            return is_left;
        }
        // A database that does not answer now is asked the next time.
        let Ok(used) = used() else { return true };
        *known.is_left.insert(used < bytes)
    }
}
