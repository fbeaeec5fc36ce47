//! Namespaces on PostgreSQL: for those whom one machine is not enough.
//!
//! Rows and chunks are in one database: the server lets large contents and short changes go on side by side. A journey to it
//! is what costs, so every step is one statement, whatever has to happen in it. Transactions are done again when
//! the connection or the order was lost; nothing here does anything that counts beside them.

mod draft;
mod schema;
mod sight;
mod upkeep;

use std::time::Instant;

use paddock_core::{Call, Result};
use paddock_db::{Postgres, Schema};

use self::draft::Draft;
use self::sight::{Sight, short};
use super::base::{BaseStore, Change, Commit, Look, Moment, Namespace};
use super::rows_sql::{Told, transactions};
use super::rows_sql_sweep::sweep;

/// Namespaces on PostgreSQL.
#[derive(Debug, Clone)]
pub struct PostgresBase {
    db: Postgres,
}

impl PostgresBase {
    /// The tables, for the handle.
    pub const SCHEMA: Schema = schema::SCHEMA;

    /// Namespaces in this database; nothing is reached for yet.
    pub fn new(db: Postgres) -> Self {
        Self { db }
    }

    /// One transaction on a namespace.
    fn change<T>(
        &self,
        call: &Call<'_>,
        namespace: &Namespace,
        mut change: impl FnMut(&mut Draft<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let key = namespace.text();
        let key = short(key);
        let changed = self.db.write(call.deadline, |tx| {
            call.tick(1)?;
            let mut draft = Draft::open(tx, &key)?;
            let done = change(&mut draft)?;
            draft.close()?;
            Ok::<_, Told>(done)
        });
        changed.map_err(|told| told.0)
    }

    /// One transaction on no namespace in particular.
    fn on_tables<T>(&self, until: Instant, mut change: impl FnMut(&Sight<'_, '_>) -> Result<T>) -> Result<T> {
        let changed = self.db.write(until, |tx| change(&Sight::new(tx, "", Moment::Now)).map_err(Told));
        changed.map_err(|told| told.0)
    }
}

impl BaseStore for PostgresBase {
    fn read(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()> {
        call.tick(1)?;
        let key = namespace.text();
        let key = short(key);
        let seen = self.db.read(call.deadline, |tx| look(&Sight::new(tx, &key, moment)).map_err(Told));
        seen.map_err(|told| told.0)
    }

    fn write(&self, call: &Call<'_>, namespace: &Namespace, change: Change<'_>) -> Result<()> {
        call.tick(1)?;
        self.change(call, namespace, |draft| change(draft))
    }

    fn stage(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
        let mut ids = Vec::with_capacity(chunks.len());
        for group in transactions(chunks) {
            call.tick(1)?;
            ids.extend(self.on_tables(call.deadline, |sight| draft::stage(sight, group))?);
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
        sweep(call, &upkeep::Chunks { base: self, until: call.deadline, older_than })
    }
}
