//! The tables of the instances.
//!
//! What a conversation's rows are counted by, and who may write it, is in the row of its instance: whoever changes a conversation
//! changes that row too and so waits for everybody who does. A message and an event is a line as a file would have it, with its
//! own checksum. Ids may be of any length, which no index takes: what is indexed is their digest.

use paddock_db::{Migration, Schema};

/// The tables on PostgreSQL.
pub(super) const SCHEMA: Schema = Schema {
    owner: "instance",
    migrations: &[Migration {
        version: 1,
        sql: r#"
CREATE TABLE instance_instance (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    installation TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    last_seq BIGINT NOT NULL DEFAULT 0,
    confirmed_seq BIGINT NOT NULL DEFAULT 0,
    messages BIGINT NOT NULL DEFAULT 0,
    events BIGINT NOT NULL DEFAULT 0,
    fence BIGINT NOT NULL DEFAULT 0,
    holder TEXT COLLATE "C",
    held_until TIMESTAMPTZ,
    UNIQUE (installation, key)
) WITH (fillfactor = 50);
CREATE TABLE instance_message (
    instance BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    id_digest BYTEA NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (instance, seq)
);
CREATE INDEX instance_message_id ON instance_message (instance, id_digest, seq);
CREATE TABLE instance_event (
    instance BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    event TEXT COLLATE "C" NOT NULL,
    id_digest BYTEA,
    message TEXT COLLATE "C",
    PRIMARY KEY (instance, seq)
);
CREATE TABLE instance_state (
    instance BIGINT NOT NULL,
    extension TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (instance, extension)
);
CREATE TABLE instance_damaged (
    instance BIGINT NOT NULL,
    repaired_at TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    event TEXT COLLATE "C",
    id_digest BYTEA,
    message TEXT COLLATE "C"
);
CREATE INDEX instance_damaged_instance ON instance_damaged (instance);
"#,
    }],
};
