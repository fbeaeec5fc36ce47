//! The databases under the Virtual Store: one suite, against each of them.
//!
//! What the one in memory does is the law; `bases/alike.rs` compares the others with it, change by change.

mod alike;
mod chunks;
mod history;
mod namespaces;
mod on_postgres;
mod on_sqlite;
mod rows;

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{AgentName, Call, CallId, Cancel, ErrorKind, Result};
use paddock_db::postgres_testing::Database;
use paddock_db::{Durability, Sqlite};
use paddock_stores::conformance::world::with_call;
use paddock_stores::virtual_store::base::{
    BaseStore, Body, Commit, Content, Moment, Namespace, NewRow, Row, RowKind, Rows, RowsMut,
};
use paddock_stores::virtual_store::{MemoryBase, PostgresBase, SqliteBase};
use tempfile::TempDir;

/// A fresh database, gone when dropped.
trait Fresh: Sync {
    /// A handle, as another process would have one where several can.
    fn handle(&self) -> Arc<dyn BaseStore>;
}

struct InMemory(Arc<MemoryBase>);

impl InMemory {
    fn new() -> Self {
        Self(Arc::default())
    }
}

impl Fresh for InMemory {
    fn handle(&self) -> Arc<dyn BaseStore> {
        Arc::<MemoryBase>::clone(&self.0)
    }
}

struct OnSqlite(TempDir);

impl OnSqlite {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn state(&self) -> Sqlite {
        Sqlite::new(self.0.path().join("state.db"), vec![SqliteBase::STATE], Durability::Process)
    }

    fn content(&self) -> Sqlite {
        Sqlite::new(self.0.path().join("content.db"), vec![SqliteBase::CONTENT], Durability::Process)
    }
}

impl Fresh for OnSqlite {
    fn handle(&self) -> Arc<dyn BaseStore> {
        Arc::new(SqliteBase::new(self.state(), self.content()))
    }
}

struct OnPostgres(Database);

impl OnPostgres {
    fn new() -> Self {
        Self(Database::fresh())
    }
}

impl Fresh for OnPostgres {
    fn handle(&self) -> Arc<dyn BaseStore> {
        Arc::new(PostgresBase::new(self.0.open(&[PostgresBase::SCHEMA])))
    }
}

/// Every law, against one database.
macro_rules! base_suite {
    ($name:ident, $fresh:expr => $($module:ident :: $law:ident),* $(,)?) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $law() {
                    $module::$law(&$fresh);
                }
            )*
        }
    };
}

/// Every law, against each database.
macro_rules! laws {
    ($($law:tt)*) => {
        base_suite! { in_memory, InMemory::new() => $($law)* }
        base_suite! { with_sqlite, OnSqlite::new() => $($law)* }
        base_suite! { with_postgres, OnPostgres::new() => $($law)* }
    };
}

laws! {
    rows::what_is_put_is_got,
    rows::ranges_past_the_end_are_cut_off,
    rows::children_come_in_the_order_of_their_bytes_page_by_page,
    rows::long_paths_are_kept_apart,
    rows::a_change_that_fails_leaves_nothing,
    rows::shared_content_goes_with_the_last_row,
    rows::a_row_put_again_with_its_own_content_keeps_it,
    rows::versions_are_never_given_twice,
    rows::two_handles_see_each_other_and_count_on,
    rows::a_look_belongs_to_one_moment,
    rows::a_call_out_of_time_does_nothing,
    namespaces::tuples_match_exactly,
    namespaces::what_is_dropped_is_gone_and_a_new_one_is_empty,
    namespaces::dropping_leaves_the_content_that_others_share,
    namespaces::usage_is_kept,
    history::what_was_asked_for_is_kept_until_forgotten,
    history::a_moment_shows_what_was_there,
    history::a_pin_keeps_what_nobody_asked_for,
    history::what_is_asked_for_outlives_the_pin,
    history::of_two_pins_each_keeps_its_own,
    history::pinning_again_keeps_the_first,
    history::many_lives_of_one_name_are_one_name,
    history::a_row_changed_twice_in_a_commit_has_one_life,
    chunks::chunks_are_put_in_order_and_read_by_range,
    chunks::only_old_chunks_that_nobody_names_are_collected,
    chunks::chunks_named_by_the_past_stay_until_it_is_forgotten,
    chunks::many_chunks_are_collected,
}

fn with_deadline<T>(left: Duration, act: impl FnOnce(&Call<'_>) -> T) -> T {
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    act(&Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline: Instant::now() + left })
}

fn space() -> Namespace {
    Namespace::new(["space"])
}

/// One change of a namespace, a commit of its own; its number.
fn commit(
    base: &dyn BaseStore,
    namespace: &Namespace,
    mut change: impl FnMut(&mut dyn RowsMut) -> Result<()>,
) -> Commit {
    let mut at = Commit(0);
    let done = with_call(|call| {
        base.write(call, namespace, &mut |rows| {
            at = rows.advance()?;
            change(rows)
        })
    });
    done.unwrap();
    at
}

fn look<T>(
    base: &dyn BaseStore,
    namespace: &Namespace,
    moment: Moment,
    mut look: impl FnMut(&dyn Rows) -> Result<T>,
) -> Result<T> {
    let mut seen = None;
    with_call(|call| {
        base.read(call, namespace, moment, &mut |rows| {
            seen = Some(look(rows)?);
            Ok(())
        })
    })?;
    Ok(seen.unwrap())
}

fn file(bytes: &[u8]) -> NewRow<'_> {
    let (kind, content) = (RowKind::File, Content::Inline(bytes));
    NewRow { kind, len: bytes.len() as u64, mode: 0o644, modified: 1_700_000_000_123, content, version: None }
}

fn dir() -> NewRow<'static> {
    NewRow { kind: RowKind::Dir, len: 0, mode: 0o755, modified: -5, content: Content::None, version: None }
}

fn chunked(ids: &[u64], len: u64) -> NewRow<'_> {
    NewRow { len, content: Content::Chunks(ids), ..file(b"") }
}

/// A row that takes over the content of another.
fn sharing(row: &Row) -> NewRow<'static> {
    let content = row.body.map_or(Content::None, Content::Shared);
    NewRow { kind: row.kind, len: row.len, mode: row.mode, modified: row.modified, content, version: Some(row.version) }
}

fn put(base: &dyn BaseStore, namespace: &Namespace, key: &str, text: &str, keep: bool) -> (Commit, Row) {
    let mut row = None;
    let at = commit(base, namespace, |rows| {
        row = Some(rows.put(key, &file(text.as_bytes()), keep)?);
        Ok(())
    });
    (at, row.unwrap())
}

/// The text of a file; nothing when there is none.
fn text(base: &dyn BaseStore, namespace: &Namespace, moment: Moment, key: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let row = look(base, namespace, moment, |rows| {
        bytes.clear();
        rows.get_small(key, 0..u64::MAX, &mut bytes)
    });
    row.unwrap().map(|_| String::from_utf8(bytes).unwrap())
}

fn now(base: &dyn BaseStore, key: &str) -> Option<String> {
    text(base, &space(), Moment::Now, key)
}

fn names(base: &dyn BaseStore, namespace: &Namespace, moment: Moment, dir: &str) -> Vec<String> {
    let rows = look(base, namespace, moment, |rows| rows.children(dir, None, usize::MAX)).unwrap();
    rows.into_iter().map(|(name, _)| name).collect()
}

/// Whether a content is still there.
fn holds(base: &dyn BaseStore, body: Body) -> bool {
    look(base, &space(), Moment::Now, |rows| rows.inline(body, 0..1, &mut Vec::new())).is_ok()
}

/// A failure of the caller's own.
fn own_failure<T>() -> Result<T> {
    Err(ErrorKind::Stale.into())
}
