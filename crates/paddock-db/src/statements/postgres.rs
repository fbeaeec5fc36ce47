//! PostgreSQL behind the statements, with its way of writing parameters.

use std::error::Error;
use std::time::{Duration, Instant};

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::{Param, Row, Session, Storage, Value, Work};
use crate::{DbError, PgRow, PgTransaction, Postgres};

/// How long a look waits for the server.
const PATIENCE: Duration = Duration::from_secs(30);

impl Storage for Postgres {
    fn read(&self, work: Work<'_>) -> Result<(), DbError> {
        Self::read(self, Instant::now() + PATIENCE, |tx| work(&mut PgSession { tx }))
    }

    fn write(&self, until: Instant, work: Work<'_>) -> Result<(), DbError> {
        Self::write(self, until, |tx| work(&mut PgSession { tx }))
    }
}

/// A transaction of PostgreSQL.
#[derive(Debug)]
pub struct PgSession<'a, 't> {
    /// The transaction.
    pub tx: &'a mut PgTransaction<'t>,
}

impl PgSession<'_, '_> {
    /// The rows that `sql` answers.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub fn ask(&mut self, sql: &str, params: &[impl ToSql + Sync]) -> Result<Vec<PgRow>, DbError> {
        self.tx.query(&dollars(sql), &borrowed(params))
    }

    /// How many rows `sql` changed.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn change(&mut self, sql: &str, params: &[impl ToSql + Sync]) -> Result<u64, DbError> {
        self.tx.execute(&dollars(sql), &borrowed(params))
    }
}

impl Session for PgSession<'_, '_> {
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        Ok(self.ask(sql, params)?.iter().map(read).collect())
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        self.change(sql, params)
    }
}

/// No statement may hold a question mark that is not a parameter.
fn dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

fn borrowed(params: &[impl ToSql + Sync]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn read(row: &PgRow) -> Row {
    let value = |(at, column): (usize, &Type)| match *column {
        Type::INT8 => row.try_get::<_, Option<i64>>(at).ok().flatten().into(),
        Type::INT4 => row.try_get::<_, Option<i32>>(at).ok().flatten().map(i64::from).into(),
        _ => row.try_get::<_, Option<String>>(at).ok().flatten().into(),
    };
    row.columns().iter().map(|column| column.type_()).enumerate().map(value).collect()
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(n) => n.to_sql_checked(ty, out),
            Self::Text(text) if *ty == Type::BYTEA => text.as_bytes().to_sql_checked(ty, out),
            Self::Text(text) => text.to_sql_checked(ty, out),
            Self::Bytes(bytes) => bytes.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.borrowed().to_sql(ty, out)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
