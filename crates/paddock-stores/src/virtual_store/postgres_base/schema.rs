//! The tables of Virtual Stores on PostgreSQL. Steps are never changed once released, only added to.

use paddock_db::{Migration, Schema};

/// Rows and chunks, in one database.
pub(super) const SCHEMA: Schema = Schema { owner: "virtual", migrations: &[Migration { version: 1, sql: TABLES }] };

/// Texts are compared as bytes. `virtual_number` gives versions and bodies their numbers, of the whole database.
///
/// How many rows share a body is in its row, unlike on SQLite: here a number can be changed without writing
/// the content again, and only a change of the row itself is seen by another namespace that is about to remove it.
/// Contents are stored as they are, so that a part of one can be read without the rest.
const TABLES: &str = r#"
CREATE SEQUENCE virtual_number;

CREATE TABLE namespace(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    head bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    files bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE dropped(id bigint PRIMARY KEY);

CREATE TABLE living(
    ns bigint NOT NULL,
    dir text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    born bigint NOT NULL,
    kind smallint NOT NULL,
    len bigint NOT NULL,
    mode bigint NOT NULL,
    modified bigint NOT NULL,
    version bigint NOT NULL,
    body bigint,
    chunked boolean NOT NULL,
    PRIMARY KEY (ns, dir, name)
);

CREATE TABLE past(
    ns bigint NOT NULL,
    dir text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    died bigint NOT NULL,
    born bigint NOT NULL,
    kind smallint NOT NULL,
    len bigint NOT NULL,
    mode bigint NOT NULL,
    modified bigint NOT NULL,
    version bigint NOT NULL,
    body bigint,
    chunked boolean NOT NULL,
    asked boolean NOT NULL,
    PRIMARY KEY (ns, dir, name, died)
);
CREATE INDEX past_unasked ON past(ns, died) WHERE NOT asked;

CREATE TABLE body(
    id bigint PRIMARY KEY,
    refs bigint NOT NULL,
    chunked boolean NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE body ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX body_chunked ON body(id) WHERE chunked;

CREATE TABLE pin(
    ns bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (ns, name)
);
CREATE INDEX pin_at ON pin(ns, at);

CREATE SEQUENCE chunk_number;
CREATE TABLE chunk(
    id bigint PRIMARY KEY,
    staged bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;
"#;
