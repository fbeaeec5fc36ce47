//! Letting go of the past: what is too old, too much for a path, or too large in all. The last two take only what agents made
//! themselves.
//!
//! In two steps. First the rows say that nothing is kept, in the same transaction in which the names go to a list of their
//! own; then whoever called has the Stores release those names, and says so. Cut off in between, the
//! list is still there and the next time begins with it. A name is never released while a row promises it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{CallId, Kept};
use paddock_db::DbError;

use super::place::Spot;
use super::row::millis;
use super::{History, PATIENCE, Result};
use paddock_db::statements::{Session, Value};

/// How many rows one transaction lets go of.
const BATCH: usize = 500;
/// How long after its time a call that has not ended is still believed to run.
const GRACE: Duration = Duration::from_secs(3600);

/// What is kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// No longer than this.
    pub age: Option<Duration>,
    /// No more than so many changes of one path, of what agents made.
    pub count: Option<u64>,
    /// No more than so many bytes in all, as long as what agents made is enough to let go of.
    pub bytes: Option<u64>,
}

/// What a Store may release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The territory of the Mount.
    pub territory: String,
    /// The names under which its Store keeps what nobody needs any more.
    pub kept: Vec<Kept>,
}

impl History {
    /// Lets go of what the rules no longer keep, and answers what the Stores are to release. After each is released,
    /// tell [`Self::forget`]; what is not told is answered again.
    ///
    /// `measure` is asked once for the size of each thing kept; nothing is taken for 0.
    pub fn collect(
        &self,
        rules: &Retention,
        measure: &mut dyn FnMut(&Spot, &Kept) -> Option<u64>,
    ) -> Result<Vec<Collected>> {
        let now = self.now();
        let protect = now.checked_sub(GRACE).unwrap_or(SystemTime::UNIX_EPOCH);
        let too_old = rules.age.map(|age| now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH));
        if let Some(cutoff) = too_old {
            self.let_go(TOO_OLD, millis(cutoff), protect)?;
        }
        if let Some(count) = rules.count {
            self.let_go(&format!("{TOO_MANY} AND {OF_AGENTS}"), limit(count), protect)?;
        }
        if let Some(bytes) = rules.bytes {
            self.measure(measure)?;
            self.let_go(&format!("{TOO_LARGE} AND {OF_AGENTS}"), limit(bytes), protect)?;
        }
        if let Some(cutoff) = too_old {
            self.drop_calls(cutoff, protect)?;
        }
        self.room.ask_again();
        self.doomed()
    }

    /// The Store has released these.
    pub fn forget(&self, released: &Collected) -> Result<()> {
        for batch in released.kept.chunks(BATCH) {
            self.write(until(), |session| {
                for Kept(name) in batch {
                    let values = [self.home.as_str().into(), released.territory.as_str().into(), name.as_str().into()];
                    session.execute(
                        "DELETE FROM history_doomed WHERE home = ?1 AND territory = ?2 AND kept = ?3",
                        &values,
                    )?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Keeps what a call replaced whatever its age, or no longer so.
    pub fn pin(&self, call: CallId, pinned: bool) -> Result<()> {
        let values = [pinned.into(), self.home.as_str().into(), call.to_string().into()];
        let sql = "UPDATE history_call SET pinned = ?1 WHERE home = ?2 AND call = ?3";
        self.write(until(), |session| session.execute(sql, &values))?;
        Ok(())
    }

    /// Which of these names no row knows: what a change left behind whose row was never written.
    pub fn unknown(&self, territory: &str, names: &[Kept]) -> Result<Vec<Kept>> {
        let sql = "SELECT 1 FROM history_change WHERE home = ?1 AND territory = ?2 AND kept = ?3 \
             UNION ALL SELECT 1 FROM history_doomed WHERE home = ?1 AND territory = ?2 AND kept = ?3 LIMIT 1";
        self.read(|session| {
            let mut unknown = Vec::new();
            for kept in names {
                let values = [self.home.as_str().into(), territory.into(), kept.0.as_str().into()];
                if session.query(sql, &values)?.is_empty() {
                    unknown.push(kept.clone());
                }
            }
            Ok(unknown)
        })
    }

    /// Lets go of what the rows chosen by `sql` keep, some at a time, so that nobody waits long.
    fn let_go(&self, sql: &str, bound: i64, protect: SystemTime) -> Result<()> {
        let sql = format!("{sql} AND call NOT IN ({PROTECTED}) ORDER BY seq LIMIT ?4");
        let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let values = [self.home.as_str().into(), bound.into(), millis(protect).into(), batch.into()];
        loop {
            let went = self.write(until(), |session| {
                let rows = session.query(&sql, &values)?;
                for row in &rows {
                    doom(session, &row[0])?;
                }
                Ok(rows.len())
            })?;
            if went < BATCH {
                return Ok(());
            }
        }
    }

    /// Asks for the sizes that nobody has asked for yet.
    fn measure(&self, measure: &mut dyn FnMut(&Spot, &Kept) -> Option<u64>) -> Result<()> {
        let sql = "SELECT seq, territory, path, kept FROM history_change WHERE home = ?1 AND kept IS NOT NULL \
             AND kept_bytes IS NULL ORDER BY seq LIMIT ?2";
        loop {
            let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
            let rows = self.read(|session| session.query(sql, &[self.home.as_str().into(), batch.into()]))?;
            let sizes: Vec<[Value; 2]> = rows
                .iter()
                .map(|row| {
                    let spot = Spot { territory: row[1].text().to_owned(), path: row[2].text().to_owned() };
                    let size = measure(&spot, &Kept(row[3].text().to_owned())).unwrap_or(0);
                    [limit(size).into(), row[0].clone()]
                })
                .collect();
            self.write(until(), |session| {
                for size in &sizes {
                    session.execute("UPDATE history_change SET kept_bytes = ?1 WHERE seq = ?2", size)?;
                }
                Ok(())
            })?;
            if rows.len() < BATCH {
                return Ok(());
            }
        }
    }

    /// Removes the calls that are too old, with all their rows: never some of a call's rows without the others.
    fn drop_calls(&self, cutoff: SystemTime, protect: SystemTime) -> Result<()> {
        let sql = format!(
            "SELECT call FROM history_call WHERE home = ?1 AND began < ?2 AND call NOT IN ({PROTECTED}) AND NOT EXISTS \
             (SELECT 1 FROM history_change c WHERE c.home = ?1 AND c.call = history_call.call AND c.kept IS NOT NULL) LIMIT ?4"
        );
        let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let values = [self.home.as_str().into(), millis(cutoff).into(), millis(protect).into(), batch.into()];
        loop {
            let went = self.write(until(), |session| {
                let calls = session.query(&sql, &values)?;
                for call in &calls {
                    let call = [self.home.as_str().into(), call[0].clone()];
                    session.execute("DELETE FROM history_change WHERE home = ?1 AND call = ?2", &call)?;
                    session.execute("DELETE FROM history_call WHERE home = ?1 AND call = ?2", &call)?;
                }
                Ok(calls.len())
            })?;
            if went < BATCH {
                return Ok(());
            }
        }
    }

    /// What is to be released. A name that some row still promises is taken off the list.
    fn doomed(&self) -> Result<Vec<Collected>> {
        let home: [Value; 1] = [self.home.as_str().into()];
        let rows = self.write(until(), |session| {
            session.execute(
                "DELETE FROM history_doomed WHERE home = ?1 AND EXISTS (SELECT 1 FROM history_change c WHERE c.home = \
                 history_doomed.home AND c.territory = history_doomed.territory AND c.kept = history_doomed.kept)",
                &home,
            )?;
            session.query("SELECT territory, kept FROM history_doomed WHERE home = ?1 ORDER BY territory, kept", &home)
        })?;
        let mut by_territory: BTreeMap<String, Vec<Kept>> = BTreeMap::new();
        for row in &rows {
            by_territory.entry(row[0].text().to_owned()).or_default().push(Kept(row[1].text().to_owned()));
        }
        Ok(by_territory.into_iter().map(|(territory, kept)| Collected { territory, kept }).collect())
    }
}

/// Rows that keep something, of calls that began before a time.
const TOO_OLD: &str = "SELECT seq FROM history_change WHERE home = ?1 AND kept IS NOT NULL \
     AND call IN (SELECT call FROM history_call WHERE home = ?1 AND began < ?2)";

/// Rows that keep something where more newer ones of the same path do than are wanted.
const TOO_MANY: &str = "SELECT seq FROM (SELECT seq, call, found, row_number() OVER (PARTITION BY place ORDER BY seq DESC) AS n \
     FROM history_change WHERE home = ?1 AND kept IS NOT NULL) AS counted WHERE n > ?2";

/// Rows that keep something where those that stay whatever the size, and the newer ones, are as large as is wanted.
const TOO_LARGE: &str = "SELECT seq FROM (SELECT seq, call, found, CAST(sum(kept_bytes) OVER (ORDER BY \
     CASE WHEN found = 0 OR call IN (SELECT call FROM history_call WHERE home = ?1 AND person IS NOT NULL) THEN 1 ELSE 0 END, \
     seq DESC) AS BIGINT) AS total FROM history_change WHERE home = ?1 AND kept IS NOT NULL) AS summed WHERE total > ?2";

/// What agents made themselves, or a person replaced: see `found.rs`.
const OF_AGENTS: &str = "(found = 0 OR call IN (SELECT call FROM history_call WHERE home = ?1 AND person IS NOT NULL))";

/// Calls that keep what they have: pinned ones, those that run, and those that one that runs takes back.
const PROTECTED: &str = "SELECT call FROM history_call WHERE home = ?1 AND (pinned = 1 OR (state = 0 AND deadline > ?3)) \
     UNION SELECT undoes FROM history_call WHERE home = ?1 AND state = 0 AND deadline > ?3 AND undoes IS NOT NULL";

fn doom(session: &mut dyn Session, seq: &Value) -> Result<(), DbError> {
    let seq = [seq.clone()];
    session.execute(
        "INSERT INTO history_doomed (home, territory, kept) SELECT home, territory, kept FROM history_change \
         WHERE seq = ?1 ON CONFLICT DO NOTHING",
        &seq,
    )?;
    session
        .execute("UPDATE history_change SET before = 'lost', kept = NULL, kept_bytes = NULL WHERE seq = ?1", &seq)?;
    Ok(())
}

fn limit(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn until() -> Instant {
    Instant::now() + PATIENCE
}
