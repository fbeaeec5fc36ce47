//! The tables of the runs: threads, the state after every node, the steps that changed with it, and the effects.

use paddock_db::{Migration, Schema};

macro_rules! tables {
    ($text:literal, $int:literal) => {
        concat!(
            "CREATE TABLE agent_thread (home ",
            $text,
            " NOT NULL, id ",
            $text,
            " NOT NULL, agent ",
            $text,
            " NOT NULL, user_id ",
            $text,
            " NOT NULL, prompt ",
            $text,
            " NOT NULL, bounds ",
            $text,
            " NOT NULL, status ",
            $text,
            " NOT NULL, told ",
            $text,
            ", model ",
            $text,
            " NOT NULL, created_at ",
            $int,
            " NOT NULL, updated_at ",
            $int,
            " NOT NULL, fence ",
            $int,
            " NOT NULL, last_n ",
            $int,
            " NOT NULL, parent ",
            $text,
            ", parent_n ",
            $int,
            ", PRIMARY KEY (home, id));\n",
            "CREATE INDEX agent_thread_updated ON agent_thread (home, updated_at);\n",
            "CREATE TABLE agent_checkpoint (home ",
            $text,
            " NOT NULL, thread ",
            $text,
            " NOT NULL, n ",
            $int,
            " NOT NULL, node ",
            $text,
            " NOT NULL, next ",
            $text,
            " NOT NULL, state ",
            $text,
            " NOT NULL, turn ",
            $text,
            " NOT NULL, seq ",
            $int,
            " NOT NULL, outbox ",
            $text,
            ", asked ",
            $text,
            ", answer ",
            $text,
            ", at ",
            $int,
            " NOT NULL, PRIMARY KEY (home, thread, n));\n",
            "CREATE TABLE agent_step (home ",
            $text,
            " NOT NULL, thread ",
            $text,
            " NOT NULL, id ",
            $text,
            " NOT NULL, n ",
            $int,
            " NOT NULL, step ",
            $text,
            " NOT NULL, PRIMARY KEY (home, thread, id, n));\n",
            "CREATE TABLE agent_effect (home ",
            $text,
            " NOT NULL, thread ",
            $text,
            " NOT NULL, call ",
            $text,
            " NOT NULL, n ",
            $int,
            " NOT NULL, tool ",
            $text,
            " NOT NULL, state ",
            $text,
            " NOT NULL, result ",
            $text,
            ", PRIMARY KEY (home, thread, call));\n",
        )
    };
}

/// The tables on SQLite.
pub const SQLITE: Schema = Schema {
    owner: "runs",
    migrations: &[Migration { version: 1, sql: tables!("TEXT", "INTEGER") }, Migration { version: 2, sql: LEANER }],
};

/// The tables on PostgreSQL.
pub const POSTGRES: Schema = Schema {
    owner: "runs",
    migrations: &[
        Migration { version: 1, sql: tables!("TEXT COLLATE \"C\"", "BIGINT") },
        Migration { version: 2, sql: LEANER },
    ],
};

/// Every node changes when its thread last went on: an index of that was a page more in each commit, for a list that is asked for now
/// and then and puts a few thousand threads in order in no time.
const LEANER: &str = "DROP INDEX agent_thread_updated";
