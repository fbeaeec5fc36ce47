//! What the server's answers mean: which may be tried again, and how each is told to people.
//!
//! Owns the only table from SQLSTATE to [`DbError`]. A message of the server is passed on; nothing here ever sees the
//! url, so no message can hold the password.

use std::error::Error as _;
use std::io;

use tokio_postgres::error::SqlState;

use crate::DbError;

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection is gone, or the server is: all of it may be tried again on another one.
    Lost,
    /// The server undid it for the sake of another transaction: all of it may be tried again.
    Conflict,
    /// The time is over.
    Late,
    /// No repetition helps.
    Refused,
}

/// A fault and what is told of it.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) fault: Fault,
    pub(super) error: DbError,
}

impl Trouble {
    /// The time is over.
    pub(super) fn late(name: &str) -> Self {
        Self { fault: Fault::Late, error: DbError::Busy { name: name.to_owned() } }
    }

    /// No connection, for a reason that the server did not give.
    pub(super) fn unreachable(name: &str, why: impl Into<String>) -> Self {
        Self { fault: Fault::Lost, error: DbError::Unreachable { name: name.to_owned(), why: why.into() } }
    }

    /// No repetition helps.
    pub(super) fn refused(name: &str, why: impl Into<String>) -> Self {
        Self { fault: Fault::Refused, error: DbError::Other { name: name.to_owned(), why: why.into() } }
    }

    /// Reads an answer.
    pub(super) fn of(name: &str, error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(answer) => of_answer(name, answer),
            None => of_connection(name, error),
        }
    }
}

fn of_answer(name: &str, answer: &tokio_postgres::error::DbError) -> Trouble {
    let code = answer.code();
    let name = name.to_owned();
    let why = answer.message().to_owned();
    let (fault, error) = match code.code() {
        // Serialization failure, deadlock.
        "40001" | "40P01" => (Fault::Conflict, DbError::Busy { name }),
        // Canceled by the statement's or the lock's time limit.
        "57014" | "55P03" => (Fault::Late, DbError::Busy { name }),
        // Ended by its administrator, by a crash, still starting, database going away, idle for too long.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" => (Fault::Lost, DbError::Unreachable { name, why }),
        // The connection holds statements that are of no use any more: tables changed, or a pooler changed the session.
        "26000" | "42P05" => (Fault::Lost, DbError::Other { name, why }),
        "0A000" if why.contains("cached plan") => (Fault::Lost, DbError::Other { name, why }),
        // Too many connections: room comes back.
        "53300" => (Fault::Lost, DbError::Unreachable { name, why }),
        "53100" => (Fault::Refused, DbError::Full { name }),
        "25006" => (Fault::Refused, DbError::ReadOnly { name }),
        "3D000" => (Fault::Refused, DbError::Missing { name, why }),
        "28P01" | "28000" | "42501" => (Fault::Refused, DbError::Denied { name, why }),
        "XX001" | "XX002" => (Fault::Refused, DbError::Corrupt { name, why }),
        // The whole class is about the connection; what was wrong with the talk itself is not.
        "08P01" if is_about_startup(&why) => (Fault::Refused, DbError::Other { name, why }),
        class if class.starts_with("08") => (Fault::Lost, DbError::Unreachable { name, why }),
        code => (Fault::Refused, DbError::Other { name, why: format!("{why} (SQLSTATE {code})") }),
    };
    Trouble { fault, error }
}

/// Whether a server, in truth a pooler, turned away what the connection opened with.
pub(super) fn is_startup_refused(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|answer| *answer.code() == SqlState::PROTOCOL_VIOLATION)
}

/// Whether the server does not know the name of a statement, or knows it already.
pub(super) fn is_strange_name(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| matches!(code.code(), "26000" | "42P05"))
}

fn is_about_startup(why: &str) -> bool {
    why.contains("startup parameter")
}

fn of_connection(name: &str, error: &tokio_postgres::Error) -> Trouble {
    let said = error.to_string();
    let source = error.source();
    let why = source.map_or_else(|| said.clone(), |source| source.to_string());
    if said.contains("TLS") {
        return Trouble { fault: Fault::Refused, error: DbError::Insecure { name: name.to_owned(), why } };
    }
    if said.contains("authentication") || said.contains("configuration") {
        return Trouble { fault: Fault::Refused, error: DbError::Denied { name: name.to_owned(), why } };
    }
    let of_the_wire = source.is_some_and(|source| source.is::<io::Error>());
    if error.is_closed() || of_the_wire || said.contains("connecting") || said.contains("timeout") {
        return Trouble::unreachable(name, why);
    }
    Trouble::refused(name, if why == said { said } else { format!("{said}: {why}") })
}
