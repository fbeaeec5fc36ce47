//! Namespaces on SQLite: what a machine of one's own needs, and several processes share.
//!
//! Rows and small contents are in one database, together with the ledger, so that a change and what is
//! told of it can be looked at side by side; chunks are in another, so that a large content keeps nobody waiting. Chunks are put in
//! before the commit that names them and never changed: a crash between the two leaves chunks that nobody names, which
//! are collected, and never a name without its chunk.
//!
//! Nothing is cached here but what SQLite itself keeps and can tell to be as it was, since others may change everything at any time. Who needs
//! both databases takes the turn to write the rows first; the other way round two could wait for each other.

mod draft;
mod schema;
mod sight;
mod tops;
mod upkeep;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use paddock_core::{Call, Result};
use paddock_db::rusqlite::Connection;
use paddock_db::{Schema, Sqlite};

use self::draft::Draft;
use self::sight::Sight;
use self::tops::Tops;
use super::base::{BaseStore, Change, Commit, Look, Moment, Namespace, Rows as _};
use super::rows_sql::{Told, store_error, transactions, unsigned};
use super::rows_sql_sweep::sweep;

const STAGE: &str = "INSERT INTO chunk(staged, data) VALUES (?1, ?2)";

/// How often a look is taken again whose content was collected under it.
const LOOKS: u32 = 5;

/// Namespaces on SQLite.
#[derive(Debug, Clone)]
pub struct SqliteBase {
    state: Sqlite,
    content: Sqlite,
    tops: Arc<Tops>,
}

impl SqliteBase {
    /// The tables of the rows, for the handle given as `state`.
    pub const STATE: Schema = schema::STATE;
    /// The tables of the chunks, for the handle given as `content`.
    pub const CONTENT: Schema = schema::CONTENT;

    /// Namespaces in these two databases; nothing is opened yet.
    pub fn new(state: Sqlite, content: Sqlite) -> Self {
        Self { state, content, tops: Arc::default() }
    }

    /// Looks at one moment of a namespace, through a connection that `through` finds.
    fn look(
        &self,
        call: &Call<'_>,
        namespace: &Namespace,
        moment: Moment,
        look: Look<'_>,
        through: impl Fn(&mut dyn FnMut(&Connection) -> Result<(), Told>) -> Result<(), Told>,
    ) -> Result<()> {
        let key = namespace.text();
        for left in (0..LOOKS).rev() {
            call.tick(1)?;
            let mut overtaken = false;
            let seen = through(&mut |conn| {
                let sight = Sight { base: self, conn, key, ns: None, moment, overtaken: Cell::new(false) };
                let seen = look(&sight).map_err(Told);
                overtaken = sight.overtaken.get();
                seen
            });
            match seen {
                Err(_) if overtaken && left > 0 => {}
                seen => return seen.map_err(|told| told.0),
            }
        }
        Ok(())
    }

    /// One transaction on a namespace.
    fn change<T>(
        &self,
        call: &Call<'_>,
        namespace: &Namespace,
        change: impl FnOnce(&mut Draft<'_>) -> Result<T>,
    ) -> Result<T> {
        call.tick(1)?;
        let key = namespace.text();
        let changed = self.state.write(call.deadline, |tx| {
            let mut draft = Draft::open(self, tx, key)?;
            let done = change(&mut draft)?;
            draft.close()?;
            Ok::<_, Told>(done)
        });
        changed.map_err(|told| told.0)
    }

    /// One transaction on no namespace in particular.
    fn on_state<T>(&self, until: Instant, change: impl FnOnce(&Sight<'_>) -> Result<T>) -> Result<T> {
        let changed = self.state.write(until, |tx| {
            let sight =
                Sight { base: self, conn: tx, key: "", ns: None, moment: Moment::Now, overtaken: Cell::new(false) };
            change(&sight).map_err(Told)
        });
        changed.map_err(|told| told.0)
    }

    fn stage_some(&self, until: Instant, chunks: &[&[u8]], ids: &mut Vec<u64>) -> Result<()> {
        let (content, staged) = (&self.content, upkeep::now());
        let put = content.write(until, |tx| {
            let mut statement = tx.prepare_cached(STAGE).map_err(|error| content.error(error))?;
            let mut put = |chunk: &&[u8]| statement.insert((staged, *chunk)).map(unsigned);
            chunks.iter().map(&mut put).collect::<Result<Vec<u64>, _>>().map_err(|error| content.error(error))
        });
        ids.extend(put.map_err(store_error)?);
        Ok(())
    }
}

impl BaseStore for SqliteBase {
    fn is_near(&self) -> bool {
        true
    }

    fn read(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()> {
        self.look(call, namespace, moment, look, |take| self.state.read(take))
    }

    fn glance(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()> {
        self.look(call, namespace, moment, look, |take| self.state.glance(take))
    }

    fn lacks(&self, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Option<bool>> {
        let key = namespace.text();
        let stamp = self.state.stamp().map_err(store_error)?;
        if let Some(lacks) = stamp.and_then(|stamp| self.tops.known(stamp, key, name)) {
            return Ok(Some(lacks));
        }
        call.tick(0)?;
        let seen = self.state.read_stamped(|conn| {
            let (moment, overtaken) = (Moment::Now, Cell::new(false));
            let sight = Sight { base: self, conn, key, ns: None, moment, overtaken };
            sight.get(name).map_err(Told)
        });
        let (row, stamp) = seen.map_err(|told| told.0)?;
        self.tops.learn(stamp, key, name, row.is_none());
        Ok(Some(row.is_none()))
    }

    fn write(&self, call: &Call<'_>, namespace: &Namespace, change: Change<'_>) -> Result<()> {
        self.change(call, namespace, |draft| change(draft))
    }

    fn stage(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
        let mut ids = Vec::with_capacity(chunks.len());
        for group in transactions(chunks) {
            call.tick(1)?;
            self.stage_some(call.deadline, group, &mut ids)?;
        }
        Ok(ids)
    }

    fn pin(&self, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Commit> {
        upkeep::pin(self, call, namespace, name)
    }

    fn unpin(&self, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<()> {
        upkeep::unpin(self, call, namespace, name)
    }

    fn drop_namespace(&self, call: &Call<'_>, namespace: &Namespace) -> Result<()> {
        upkeep::drop_namespace(self, call, namespace)
    }

    fn collect_chunks(&self, call: &Call<'_>, older_than: u64) -> Result<u64> {
        upkeep::clear_dropped(self, call)?;
        let staged_before = upkeep::now().saturating_sub_unsigned(older_than);
        sweep(call, &upkeep::Chunks { base: self, until: call.deadline, staged_before })
    }
}
