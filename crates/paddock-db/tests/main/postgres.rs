//! PostgreSQL, with a real server.

mod basics;

use std::time::{Duration, Instant};

use paddock_db::{Migration, Schema};

pub(crate) const COUNTERS: Schema = Schema {
    owner: "test",
    migrations: &[Migration {
        version: 1,
        sql: "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL); INSERT INTO counter VALUES (1, 0)",
    }],
};

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
