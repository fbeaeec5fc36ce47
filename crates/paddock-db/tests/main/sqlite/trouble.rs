//! What goes wrong on a host: each time a clear error, and nothing lost once the cause is gone.

use std::path::Path;
use std::process::Command;

use paddock_db::{DbError, Durability, Migration, Schema, Sqlite, rusqlite};
use tempfile::{TempDir, tempdir};

use super::child::{arguments, cast};
use super::{NUMBERS, all, numbers, put};

/// A database with a few pages of rows, all of them in its one file.
fn settled() -> (TempDir, Vec<i64>) {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    let rows: Vec<i64> = (0..5000).collect();
    db.write(super::soon(), |tx| {
        for n in &rows {
            tx.prepare_cached("INSERT INTO number(n) VALUES (?1)").unwrap().execute([n]).unwrap();
        }
        Ok::<_, DbError>(())
    })
    .unwrap();
    let path = db.path().to_owned();
    drop(db);
    drop(rusqlite::Connection::open(&path).map(|last| last.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")).unwrap());
    assert!(!home.path().join("numbers.db-wal").exists());
    (home, rows)
}

/// Damages `bytes` of the file, expects what `meet` says of it, and puts the bytes back.
fn damaged(bytes: std::ops::Range<usize>, meet: impl Fn(&Sqlite)) {
    let (home, rows) = settled();
    let path = home.path().join("numbers.db");
    let whole = std::fs::read(&path).unwrap();
    let mut broken = whole.clone();
    broken[bytes].fill(0xa5);
    std::fs::write(&path, broken).unwrap();
    let db = numbers(home.path(), Durability::Disk);
    meet(&db);
    drop(db);
    std::fs::write(&path, whole).unwrap();
    let db = numbers(home.path(), Durability::Disk);
    assert_eq!(db.check().unwrap(), Vec::<String>::new());
    assert_eq!(all(&db).unwrap(), rows);
}

#[test]
fn a_damaged_header_is_said_and_nothing_is_written() {
    damaged(0..100, |db| {
        let before = std::fs::read(db.path()).unwrap();
        assert!(matches!(all(db), Err(DbError::Corrupt { .. })));
        assert!(matches!(put(db, -1), Err(DbError::Corrupt { .. })));
        assert_eq!(db.check().unwrap().len(), 1);
        assert!(std::fs::read(db.path()).unwrap() == before);
    });
}

#[test]
fn a_damaged_page_is_said_where_it_is_met() {
    damaged(5 * 4096..7 * 4096, |db| {
        let met = all(db);
        assert!(matches!(met, Err(DbError::Corrupt { .. })), "{met:?}");
        assert!(!db.check().unwrap().is_empty());
    });
}

#[test]
fn what_is_no_database_is_left_as_it_is() {
    let home = tempdir().unwrap();
    let text = "not a database, but somebody's notes\n".repeat(300);
    std::fs::write(home.path().join("numbers.db"), &text).unwrap();
    let db = numbers(home.path(), Durability::Disk);
    for refused in [all(&db).map(drop), put(&db, 1)] {
        assert!(matches!(refused, Err(DbError::Corrupt { .. })), "{refused:?}");
    }
    assert_eq!(db.check().unwrap(), ["file is not a database"]);
    assert_eq!(std::fs::read_to_string(db.path()).unwrap(), text);
}

#[test]
fn a_newer_schema_is_refused_and_not_touched() {
    const NEWER: Schema = Schema {
        owner: "numbers",
        migrations: &[
            NUMBERS.migrations[0],
            NUMBERS.migrations[1],
            Migration { version: 3, sql: "CREATE TABLE third(n INTEGER)" },
        ],
    };
    const ALSO: Schema =
        Schema { owner: "also", migrations: &[Migration { version: 1, sql: "CREATE TABLE also(n INTEGER)" }] };
    let home = tempdir().unwrap();
    let path = home.path().join("numbers.db");
    let newer = Sqlite::new(path.clone(), vec![NEWER], Durability::Process);
    put(&newer, 1).unwrap();
    let read = |end: &str| std::fs::read(home.path().join(format!("numbers.db{end}"))).unwrap();
    let before = (read(""), read("-wal"));
    let older = Sqlite::new(path, vec![ALSO, NUMBERS], Durability::Disk);
    for refused in [put(&older, 2), all(&older).map(drop)] {
        assert!(matches!(&refused, Err(DbError::Newer { owner, found: 3, known: 2, .. }) if owner == "numbers"));
    }
    assert!((read(""), read("-wal")) == before);
    assert_eq!(all(&newer).unwrap(), [1]);
}

#[test]
fn a_directory_that_cannot_be_made_is_said() {
    let home = tempdir().unwrap();
    std::fs::write(home.path().join("file"), "").unwrap();
    let db = numbers(&home.path().join("file"), Durability::Disk);
    for refused in [put(&db, 1), all(&db).map(drop)] {
        assert!(matches!(refused, Err(DbError::Unreachable { .. })), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(home.path().join("file")).unwrap(), "");
}

#[test]
fn a_full_disk_is_said_and_nothing_is_lost() {
    with_mounts("full-disk");
}

#[test]
fn a_read_only_disk_is_said_and_nothing_is_lost() {
    with_mounts("read-only-disk");
}

/// Plays `part` in a process that may mount, where nobody else sees it and nothing is left mounted.
fn with_mounts(part: &str) {
    let home = tempdir().unwrap();
    let mut alone = Command::new("unshare");
    alone.args(["--user", "--map-root-user", "--mount", "--"]).args(arguments());
    let ended = cast(&mut alone, part, home.path()).output().expect("unshare is installed");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ended.stderr));
}

fn mount(options: &str, at: &Path) {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status().unwrap();
    assert!(mounted.success(), "mount -o {options}");
}

/// The part for a process that may mount.
pub(super) fn full_disk(home: &Path) {
    for durability in [Durability::Process, Durability::Disk] {
        mount("size=400k", home);
        let db = numbers(home, durability);
        let mut kept = Vec::new();
        let refused = loop {
            let many = kept.len() as i64 * 100;
            let filled = db.write(super::soon(), |tx| {
                for n in many..many + 100 {
                    tx.execute("INSERT INTO number(n) VALUES (?1)", [n]).map_err(|error| db.error(error))?;
                }
                Ok(many)
            });
            match filled {
                Ok(many) => kept.push(many),
                Err(refused) => break refused,
            }
        };
        assert!(matches!(refused, DbError::Full { .. }), "{refused:?}");
        assert!(!kept.is_empty());
        let there = all(&db).unwrap();
        assert_eq!(there.len(), kept.len() * 100, "all that was acknowledged, and nothing of what was not");
        mount("remount,size=8m", home);
        put(&db, -1).unwrap();
        assert_eq!(all(&db).unwrap().len(), there.len() + 1);
        assert_eq!(db.check().unwrap(), Vec::<String>::new());
        drop(db);
        assert_eq!(all(&numbers(home, durability)).unwrap().len(), there.len() + 1);
        assert!(Command::new("umount").arg(home).status().unwrap().success());
    }
    full_from_the_start(home);
}

fn full_from_the_start(home: &Path) {
    mount("size=16k", home);
    std::fs::write(home.join("ballast"), [0; 16 << 10]).unwrap();
    let db = numbers(home, Durability::Disk);
    for refused in [put(&db, 1), all(&db).map(drop)] {
        assert!(matches!(refused, Err(DbError::Full { .. })), "{refused:?}");
    }
    mount("remount,size=8m", home);
    put(&db, 1).unwrap();
    assert_eq!(all(&db).unwrap(), [1]);
}

/// The part for a process that may mount.
pub(super) fn read_only_disk(home: &Path) {
    mount("size=8m", home);
    put(&numbers(home, Durability::Disk), 1).unwrap();
    mount("remount,ro", home);
    let db = numbers(home, Durability::Disk);
    let refused = put(&db, 2);
    assert!(matches!(refused, Err(DbError::ReadOnly { .. })), "{refused:?}");
    let read = all(&db);
    assert!(matches!(&read, Err(DbError::ReadOnly { .. })) || read.as_ref().is_ok_and(|rows| rows == &[1]), "{read:?}");
    let nothing = all(&numbers(&home.join("new"), Durability::Disk));
    assert!(matches!(nothing, Err(DbError::ReadOnly { .. })), "{nothing:?}");
    mount("remount,rw", home);
    put(&db, 3).unwrap();
    assert_eq!(all(&db).unwrap(), [1, 3]);
}
