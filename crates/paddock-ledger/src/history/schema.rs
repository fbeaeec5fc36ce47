//! The tables of the history.
//!
//! `place` is the territory of a Mount and the path in it as one text, so that a directory and everything below it is one
//! range, whichever Mount of several that overlap was written through. What is indexed is the beginning of it, `place_key`: PostgreSQL
//! takes no index entry as long as a path may be. Contents are never here.

use paddock_db::{Migration, Schema};

/// The tables on SQLite.
pub const SQLITE: Schema = Schema {
    owner: "history",
    migrations: &[
        Migration {
            version: 1,
            sql: "
CREATE TABLE history_call (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    home TEXT NOT NULL,
    call TEXT NOT NULL,
    agent TEXT NOT NULL,
    op TEXT NOT NULL,
    path TEXT NOT NULL,
    began INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    ended INTEGER,
    state INTEGER NOT NULL,
    undoes TEXT,
    undone_by TEXT,
    pinned INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    UNIQUE (home, call)
) STRICT;
CREATE INDEX history_call_open ON history_call (home, seq) WHERE state = 0;
CREATE TABLE history_change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    home TEXT NOT NULL,
    call TEXT NOT NULL,
    part INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    territory TEXT NOT NULL,
    prefix TEXT NOT NULL,
    path TEXT NOT NULL,
    place TEXT NOT NULL,
    place_key TEXT NOT NULL,
    what TEXT NOT NULL,
    to_path TEXT,
    to_place TEXT,
    to_key TEXT,
    created INTEGER NOT NULL,
    before TEXT NOT NULL,
    kept TEXT,
    len INTEGER,
    kept_bytes INTEGER,
    version TEXT,
    parents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    UNIQUE (home, call, part, idx)
) STRICT;
CREATE INDEX history_change_place ON history_change (home, place_key, seq);
CREATE INDEX history_change_to ON history_change (home, to_key, seq) WHERE to_key IS NOT NULL;
CREATE INDEX history_change_kept ON history_change (home, territory, kept) WHERE kept IS NOT NULL;
CREATE INDEX history_change_at ON history_change (home, at, seq);
CREATE TABLE history_doomed (
    home TEXT NOT NULL,
    territory TEXT NOT NULL,
    kept TEXT NOT NULL,
    PRIMARY KEY (home, territory, kept)
) WITHOUT ROWID, STRICT;
",
        },
        Migration { version: 2, sql: LEANER },
        Migration { version: 3, sql: LOOKS },
        Migration { version: 4, sql: NOTES },
        Migration { version: 5, sql: PERSONS },
        Migration { version: 6, sql: FOUND },
        Migration { version: 7, sql: MET },
    ],
};

/// Every page that a change touches is written to the log once more: numbers need no table of their own, calls that run
/// are few and found by looking, and rows come in the order of their time anyway. With what a call was about to change.
const LEANER: &str = "
ALTER TABLE history_call RENAME TO history_call_1;
CREATE TABLE history_call (
    seq INTEGER PRIMARY KEY,
    home TEXT NOT NULL,
    call TEXT NOT NULL,
    agent TEXT NOT NULL,
    op TEXT NOT NULL,
    path TEXT NOT NULL,
    began INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    ended INTEGER,
    state INTEGER NOT NULL,
    undoes TEXT,
    undone_by TEXT,
    pinned INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    planned TEXT,
    UNIQUE (home, call)
) STRICT;
INSERT INTO history_call SELECT *, NULL FROM history_call_1;
DROP TABLE history_call_1;
ALTER TABLE history_change RENAME TO history_change_1;
CREATE TABLE history_change (
    seq INTEGER PRIMARY KEY,
    home TEXT NOT NULL,
    call TEXT NOT NULL,
    part INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    territory TEXT NOT NULL,
    prefix TEXT NOT NULL,
    path TEXT NOT NULL,
    place TEXT NOT NULL,
    place_key TEXT NOT NULL,
    what TEXT NOT NULL,
    to_path TEXT,
    to_place TEXT,
    to_key TEXT,
    created INTEGER NOT NULL,
    before TEXT NOT NULL,
    kept TEXT,
    len INTEGER,
    kept_bytes INTEGER,
    version TEXT,
    parents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    UNIQUE (home, call, part, idx)
) STRICT;
INSERT INTO history_change SELECT * FROM history_change_1;
DROP TABLE history_change_1;
CREATE INDEX history_change_place ON history_change (home, place_key, seq);
CREATE INDEX history_change_to ON history_change (home, to_key, seq) WHERE to_key IS NOT NULL;
CREATE INDEX history_change_kept ON history_change (home, territory, kept) WHERE kept IS NOT NULL;
";

/// How something looked before a change is no name of anything that a Store keeps, and must not be let go of as if it were.
const LOOKS: &str = "
ALTER TABLE history_change ADD COLUMN looks TEXT;
UPDATE history_change SET looks = kept, kept = NULL, kept_bytes = NULL WHERE before = 'looks';
DELETE FROM history_doomed WHERE kept LIKE '% %' AND kept NOT LIKE '%:%';
";

/// What a command was, and whether it only happened to change something.
const NOTES: &str = "
ALTER TABLE history_call ADD COLUMN note TEXT;
ALTER TABLE history_call ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;
";

/// The same where whole numbers have another name.
const NOTES_ON_POSTGRES: &str = "
ALTER TABLE history_call ADD COLUMN note TEXT;
ALTER TABLE history_call ADD COLUMN aside BIGINT NOT NULL DEFAULT 0;
";

/// Whose own act a call was. Those of before name nobody.
const PERSONS: &str = "ALTER TABLE history_call ADD COLUMN person TEXT";

/// Was what a change met made by no agent? Of before, what was the first that is known of its place counts as that.
const FOUND: &str = "
ALTER TABLE history_change ADD COLUMN found INTEGER NOT NULL DEFAULT 0;
UPDATE history_change SET found = 1 WHERE seq IN (SELECT min(seq) FROM history_change GROUP BY home, place);
CREATE INDEX history_change_found ON history_change (home, kept_bytes) WHERE found = 1 AND kept IS NOT NULL;
";

/// The same where whole numbers have another name.
const FOUND_ON_POSTGRES: &str = "
ALTER TABLE history_change ADD COLUMN found BIGINT NOT NULL DEFAULT 0;
UPDATE history_change SET found = 1 WHERE seq IN (SELECT min(seq) FROM history_change GROUP BY home, place);
CREATE INDEX history_change_found ON history_change (home, kept_bytes) WHERE found = 1 AND kept IS NOT NULL;
";

/// The version of what a change met: what came between two changes, and has no row, shows by it. Those of before do not tell.
const MET: &str = "ALTER TABLE history_change ADD COLUMN met TEXT";

/// The tables on PostgreSQL. Texts are compared byte by byte, as SQLite does.
pub const POSTGRES: Schema = Schema {
    owner: "history",
    migrations: &[
        Migration {
            version: 1,
            sql: r#"
CREATE TABLE history_call (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home TEXT COLLATE "C" NOT NULL,
    call TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    op TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    began BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    ended BIGINT,
    state BIGINT NOT NULL,
    undoes TEXT COLLATE "C",
    undone_by TEXT COLLATE "C",
    pinned BIGINT NOT NULL DEFAULT 0,
    changes BIGINT NOT NULL DEFAULT 0,
    UNIQUE (home, call)
);
CREATE INDEX history_call_open ON history_call (home, seq) WHERE state = 0;
CREATE TABLE history_change (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home TEXT COLLATE "C" NOT NULL,
    call TEXT COLLATE "C" NOT NULL,
    part BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    at BIGINT NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    territory TEXT COLLATE "C" NOT NULL,
    prefix TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    place_key TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    to_path TEXT COLLATE "C",
    to_place TEXT COLLATE "C",
    to_key TEXT COLLATE "C",
    created BIGINT NOT NULL,
    before TEXT COLLATE "C" NOT NULL,
    kept TEXT COLLATE "C",
    len BIGINT,
    kept_bytes BIGINT,
    version TEXT COLLATE "C",
    parents BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    UNIQUE (home, call, part, idx)
);
CREATE INDEX history_change_place ON history_change (home, place_key, seq);
CREATE INDEX history_change_to ON history_change (home, to_key, seq) WHERE to_key IS NOT NULL;
CREATE INDEX history_change_kept ON history_change (home, territory, kept) WHERE kept IS NOT NULL;
CREATE INDEX history_change_at ON history_change (home, at, seq);
CREATE TABLE history_doomed (
    home TEXT COLLATE "C" NOT NULL,
    territory TEXT COLLATE "C" NOT NULL,
    kept TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (home, territory, kept)
);
"#,
        },
        Migration { version: 2, sql: "ALTER TABLE history_call ADD COLUMN planned TEXT" },
        Migration { version: 3, sql: LOOKS },
        Migration { version: 4, sql: NOTES_ON_POSTGRES },
        Migration { version: 5, sql: PERSONS },
        Migration { version: 6, sql: FOUND_ON_POSTGRES },
        Migration { version: 7, sql: MET },
    ],
};
