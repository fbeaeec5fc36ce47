//! The handle: lazy, in snapshots, all or nothing, with migrations that may race.

use std::os::unix::fs::PermissionsExt;

use paddock_db::{DbError, Durability, Migration, Schema, Sqlite};
use rusqlite::StatementStatus;
use tempfile::tempdir;

use super::{NUMBERS, all, numbers, put, soon};

#[test]
fn making_a_handle_touches_nothing() {
    let home = tempdir().unwrap();
    let db = numbers(&home.path().join("not/yet"), Durability::Disk);
    assert_eq!(db.path(), home.path().join("not/yet/numbers.db"));
    drop(db);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn what_is_written_is_read_also_by_another_handle() {
    for durability in [Durability::Process, Durability::Disk] {
        let home = tempdir().unwrap();
        let db = numbers(home.path(), durability);
        assert_eq!(all(&db).unwrap(), Vec::<i64>::new(), "the first reader makes the tables");
        put(&db, 1).unwrap();
        put(&db.clone(), 2).unwrap();
        assert_eq!(all(&db).unwrap(), [1, 2]);
        assert_eq!(all(&numbers(home.path(), durability)).unwrap(), [1, 2]);
        drop(db);
        assert_eq!(all(&numbers(home.path(), durability)).unwrap(), [1, 2]);
    }
}

#[test]
fn a_change_that_fails_leaves_nothing() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    let refused = db.write(soon(), |tx| {
        tx.execute("INSERT INTO number(n) VALUES (2)", ()).map_err(|error| db.error(error))?;
        tx.execute("INSERT INTO number(n) VALUES (1)", ()).map_err(|error| db.error(error))
    });
    assert!(matches!(refused, Err(DbError::Other { .. })), "{refused:?}");
    let panicked = std::panic::catch_unwind(|| {
        db.write(soon(), |tx| -> Result<(), DbError> {
            tx.execute("INSERT INTO number(n) VALUES (3)", ()).unwrap();
            panic!("on purpose");
        })
    });
    assert!(panicked.is_err());
    assert_eq!(all(&db).unwrap(), [1]);
    put(&db, 4).unwrap();
    assert_eq!(all(&db).unwrap(), [1, 4]);
}

/// Nobody would ever find what is written to a file without a name.
#[test]
fn nothing_is_acknowledged_once_the_database_was_taken_away() {
    for replaced in [false, true] {
        let home = tempdir().unwrap();
        let db = numbers(home.path(), Durability::Process);
        put(&db, 1).unwrap();
        std::fs::rename(db.path(), home.path().join("away")).unwrap();
        if replaced {
            std::fs::copy(home.path().join("away"), db.path()).unwrap();
        }
        for _ in 0..2 {
            let refused = put(&db, 2);
            assert!(matches!(refused, Err(DbError::TakenAway { .. })), "{refused:?}");
        }
        std::fs::rename(home.path().join("away"), db.path()).unwrap();
        put(&db, 3).unwrap();
        assert_eq!(all(&db).unwrap(), [1, 3]);
    }
}

#[test]
fn a_reader_keeps_its_snapshot_and_cannot_write() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    db.read(|conn| {
        let count = || conn.query_row("SELECT count(*) FROM number", (), |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count(), 1);
        put(&db, 2)?;
        assert_eq!(count(), 1, "still the snapshot of before");
        let refused = conn.execute("INSERT INTO number(n) VALUES (3)", ()).map_err(|error| db.error(error));
        assert!(matches!(refused, Err(DbError::ReadOnly { .. })), "{refused:?}");
        Ok::<_, DbError>(())
    })
    .unwrap();
    assert_eq!(all(&db).unwrap(), [1, 2]);
}

#[test]
fn a_glance_sees_every_commit_and_nothing_else() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    let count = |db: &Sqlite| {
        db.glance(|conn| {
            let count = conn.query_row("SELECT count(*) FROM number", (), |row| row.get::<_, i64>(0));
            count.map_err(|error| db.error(error))
        })
    };
    assert_eq!(count(&db).unwrap(), 0, "the first who looks makes the tables");
    put(&db, 1).unwrap();
    assert_eq!(count(&db).unwrap(), 1);
    put(&numbers(home.path(), Durability::Process), 2).unwrap();
    assert_eq!(count(&db).unwrap(), 2, "also what another process wrote");
    db.write(soon(), |tx| {
        tx.execute("INSERT INTO number(n) VALUES (3)", ()).map_err(|error| db.error(error))?;
        assert_eq!(count(&db)?, 2, "nothing of a change that is not over");
        std::thread::scope(|scope| scope.spawn(|| assert_eq!(count(&db).unwrap(), 2)).join().unwrap());
        Ok::<_, DbError>(())
    })
    .unwrap();
    assert_eq!(count(&db).unwrap(), 3);
}

#[test]
fn a_stamp_stays_until_somebody_commits() {
    let home = tempdir().unwrap();
    let (db, other) = (numbers(home.path(), Durability::Process), numbers(home.path(), Durability::Process));
    assert_eq!(db.stamp().unwrap(), None, "there is no reader yet");
    put(&db, 1).unwrap();
    let count = |db: &Sqlite| {
        let seen = db.read_stamped(|conn| {
            let count = conn.query_row("SELECT count(*) FROM number", (), |row| row.get::<_, i64>(0));
            count.map_err(|error| db.error(error))
        });
        let (count, stamp) = seen.unwrap();
        (count, Some(stamp))
    };
    let (_, first) = count(&db);
    assert_eq!(db.stamp().unwrap(), first);
    assert_eq!(all(&db).unwrap(), [1], "looking changes nothing");
    assert_eq!(db.stamp().unwrap(), first);
    for (writer, expected) in [(&db, 2), (&other, 3)] {
        let before = db.stamp().unwrap();
        put(writer, expected).unwrap();
        assert_ne!(db.stamp().unwrap(), before, "somebody committed");
        let (seen, stamp) = count(&db);
        assert_eq!((seen, stamp), (expected, db.stamp().unwrap()));
    }
    // A look that began before a commit is stamped as what it saw.
    let (seen, stamp) = db
        .read_stamped(|conn| {
            put(&other, 4)?;
            conn.query_row("SELECT count(*) FROM number", (), |row| row.get::<_, i64>(0))
                .map_err(|error| db.error(error))
        })
        .unwrap();
    assert_eq!(seen, 3);
    assert_ne!(db.stamp().unwrap(), Some(stamp));
}

#[test]
fn a_glance_that_fails_or_panics_leaves_the_writer_as_it_was() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    let failed = db.glance(|conn| {
        conn.query_row("SELECT n FROM number WHERE n = 7", (), |_| Ok(())).map_err(|error| db.error(error))
    });
    assert!(failed.is_err());
    let panicked = std::panic::catch_unwind(|| {
        db.glance(|conn| -> Result<(), DbError> {
            conn.query_row("SELECT n FROM number", (), |_| Ok(())).unwrap();
            panic!("on purpose");
        })
    });
    assert!(panicked.is_err());
    put(&db, 2).unwrap();
    assert_eq!(all(&db).unwrap(), [1, 2]);
}

#[test]
fn only_the_owner_may_read_the_files() {
    let home = tempdir().unwrap();
    let db = numbers(&home.path().join("new"), Durability::Disk);
    put(&db, 1).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.path().join("new")), 0o700);
    let names: Vec<_> =
        std::fs::read_dir(home.path().join("new")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        assert_eq!(mode(&name), 0o600, "{}", name.display());
    }
}

#[test]
fn threads_that_start_at_once_make_the_tables_once() {
    let home = tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let home = home.path();
            // A handle for each, as if they were processes.
            scope.spawn(move || put(&numbers(home, Durability::Process), n).unwrap());
        }
    });
    assert_eq!(all(&numbers(home.path(), Durability::Process)).unwrap(), (0..16).collect::<Vec<_>>());
}

#[test]
fn steps_are_added_to_what_is_there_and_owners_do_not_meet() {
    const FIRST: Schema = Schema { owner: "numbers", migrations: NUMBERS.migrations.split_at(1).0 };
    const OTHER: Schema =
        Schema { owner: "other", migrations: &[Migration { version: 7, sql: "CREATE TABLE other(n INTEGER)" }] };
    let home = tempdir().unwrap();
    let path = home.path().join("numbers.db");
    put(&Sqlite::new(path.clone(), vec![FIRST], Durability::Process), 1).unwrap();
    put(&Sqlite::new(path.clone(), vec![OTHER, NUMBERS], Durability::Process), 2).unwrap();
    let db = Sqlite::new(path, vec![NUMBERS], Durability::Process);
    let steps: Vec<(String, u32)> = db
        .read(|conn| {
            let mut found = conn.prepare("SELECT owner, version FROM paddock_schema ORDER BY owner").unwrap();
            let rows = found.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            Ok::<_, DbError>(rows.map(Result::unwrap).collect())
        })
        .unwrap();
    assert_eq!(steps, [("numbers".to_owned(), 2), ("other".to_owned(), 7)]);
    assert_eq!(all(&db).unwrap(), [1, 2]);
}

#[test]
fn a_step_that_fails_leaves_the_tables_as_they_were() {
    const BROKEN: Schema = Schema {
        owner: "numbers",
        migrations: &[
            NUMBERS.migrations[0],
            NUMBERS.migrations[1],
            Migration { version: 3, sql: "CREATE TABLE third(n INTEGER); NONSENSE" },
        ],
    };
    let home = tempdir().unwrap();
    let path = home.path().join("numbers.db");
    put(&numbers(home.path(), Durability::Process), 1).unwrap();
    let broken = put(&Sqlite::new(path, vec![BROKEN], Durability::Process), 2);
    assert!(matches!(broken, Err(DbError::Other { .. })), "{broken:?}");
    let db = numbers(home.path(), Durability::Process);
    assert_eq!(all(&db).unwrap(), [1]);
    let third = db.read(|conn| conn.execute_batch("SELECT * FROM third").map_err(|error| db.error(error)));
    assert!(third.is_err());
}

#[test]
fn a_statement_is_compiled_once_whatever_its_values() {
    const MARKED: Schema = Schema {
        owner: "marked",
        migrations: &[Migration {
            version: 1,
            sql: "CREATE TABLE marked(home TEXT NOT NULL, key TEXT NOT NULL, mark TEXT) STRICT;
                  CREATE INDEX marked_key ON marked (home, key);
                  CREATE INDEX marked_mark ON marked (home, mark) WHERE mark = 'yes';",
        }],
    };
    let dir = tempdir().unwrap();
    let db = Sqlite::new(dir.path().join("marked.db"), vec![MARKED], Durability::Process);
    db.write(soon(), |tx| {
        let mut look = tx.prepare("SELECT count(*) FROM marked WHERE home = ?1 AND mark = ?2").unwrap();
        for (home, mark) in [("a", "yes"), ("b", "no"), ("c", "yes")] {
            look.query_row([home, mark], |row| row.get::<_, i64>(0)).unwrap();
        }
        assert_eq!(look.get_status(StatementStatus::RePrepare), 0);
        Ok::<_, DbError>(())
    })
    .unwrap();
}
