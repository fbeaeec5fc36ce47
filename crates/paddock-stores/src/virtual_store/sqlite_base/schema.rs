//! The tables of Virtual Stores on SQLite. Steps are never changed once released, only added to.

use paddock_db::{Migration, Schema};

/// The rows, in the database that has the ledger beside them.
pub(super) const STATE: Schema = Schema { owner: "virtual", migrations: &[Migration { version: 1, sql: ROWS }] };

/// The chunks, in a database of their own, so that large contents keep nobody else waiting.
pub(super) const CONTENT: Schema = Schema { owner: "virtual", migrations: &[Migration { version: 1, sql: CHUNKS }] };

/// A directory is one stretch of `living`, whatever there is of its past. Texts are compared as bytes.
///
/// The namespace 0 is nobody's: its head is the last number given to a version or a body of the whole database. It has
/// its place there because every commit writes this table anyway, and a key that no tuple of names has.
///
/// How many rows share a body is beside it: SQLite would write the whole body again for a number within. Who is not in
/// `share` has one row.
const ROWS: &str = "
CREATE TABLE namespace(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    files INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO namespace(id, key) VALUES (0, '\\numbers');

CREATE TABLE dropped(id INTEGER PRIMARY KEY) STRICT;

CREATE TABLE living(
    ns INTEGER NOT NULL,
    dir TEXT NOT NULL,
    name TEXT NOT NULL,
    born INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    len INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body INTEGER,
    chunked INTEGER NOT NULL,
    PRIMARY KEY (ns, dir, name)
) WITHOUT ROWID, STRICT;

CREATE TABLE past(
    ns INTEGER NOT NULL,
    dir TEXT NOT NULL,
    name TEXT NOT NULL,
    died INTEGER NOT NULL,
    born INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    len INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body INTEGER,
    chunked INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    PRIMARY KEY (ns, dir, name, died)
) WITHOUT ROWID, STRICT;
CREATE INDEX past_unasked ON past(ns, died, dir, name) WHERE asked = 0;

CREATE TABLE body(
    id INTEGER PRIMARY KEY,
    chunked INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE INDEX body_chunked ON body(id) WHERE chunked = 1;

CREATE TABLE share(
    body INTEGER PRIMARY KEY,
    refs INTEGER NOT NULL
) STRICT;

CREATE TABLE pin(
    ns INTEGER NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (ns, name)
) WITHOUT ROWID, STRICT;
CREATE INDEX pin_at ON pin(ns, at);
";

/// Numbers are never given twice: a reader of an older state must not meet another content under one.
const CHUNKS: &str = "
CREATE TABLE chunk(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    staged INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
";
