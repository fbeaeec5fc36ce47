//! Copies of a database that is in use.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use paddock_db::{DbError, Durability, Sqlite, rusqlite};
use tempfile::tempdir;

use super::{NUMBERS, all, numbers, put, soon};

/// More than one step of the copy has to be made for it.
fn fill(db: &Sqlite) {
    let fill = "WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 900000) INSERT INTO number(n) SELECT n FROM up";
    db.write(soon(), |tx| tx.execute_batch(fill).map_err(|error| db.error(error))).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names.into_iter().map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn a_copy_is_of_one_moment_though_others_write_all_the_time() {
    let home = tempdir().unwrap();
    let to = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    fill(&db);
    let mut steps = Vec::new();
    db.backup(&to.path().join("copy.db"), &mut |done, all| {
        steps.push((done, all));
        assert!(steps.len() < 100, "it begins again and again");
        put(&db, -i64::try_from(steps.len()).unwrap()).unwrap();
    })
    .unwrap();
    assert!(steps.len() > 1 && steps.is_sorted() && steps.last().is_some_and(|(done, all)| done == all), "{steps:?}");
    assert_eq!(names(to.path()), ["copy.db"]);
    assert_eq!(std::fs::metadata(to.path().join("copy.db")).unwrap().permissions().mode() & 0o777, 0o600);

    let copy = Sqlite::new(to.path().join("copy.db"), vec![NUMBERS], Durability::Process);
    assert_eq!(copy.check().unwrap(), Vec::<String>::new());
    assert_eq!(all(&copy).unwrap(), (1..=900_000).collect::<Vec<_>>());
    put(&copy, 0).unwrap();
    assert_eq!(all(&db).unwrap().len(), 900_000 + steps.len());
}

#[test]
fn a_copy_never_replaces_a_file() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    let to = tempdir().unwrap();
    let notes = to.path().join("notes");
    std::fs::write(&notes, "mine").unwrap();
    std::os::unix::fs::symlink("nowhere", to.path().join("link")).unwrap();
    for taken in [notes.clone(), to.path().join("link"), db.path().to_owned()] {
        let refused = db.backup(&taken, &mut |_, _| ());
        assert!(matches!(refused, Err(DbError::Exists { .. })), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "mine");
    assert_eq!(names(to.path()), ["link", "notes"]);

    // Also one that came while the copy was being made.
    let late = to.path().join("late");
    let refused = db.backup(&late, &mut |_, _| std::fs::write(&late, "mine").unwrap());
    assert!(matches!(refused, Err(DbError::Exists { .. })), "{refused:?}");
    assert_eq!(std::fs::read_to_string(late).unwrap(), "mine");
    assert_eq!(names(to.path()), ["late", "link", "notes"]);
}

#[test]
fn a_copy_that_cannot_be_made_says_so() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    let refused = db.backup(&home.path().join("not/there/copy.db"), &mut |_, _| ());
    assert!(matches!(refused, Err(DbError::Unreachable { .. })), "{refused:?}");
    assert!(!home.path().join("not").exists());
    assert_eq!(all(&db).unwrap(), [1]);
}

#[test]
fn the_copy_is_one_file_that_any_sqlite_opens() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Disk);
    put(&db, 7).unwrap();
    let to = home.path().join("copy.db");
    db.backup(&to, &mut |_, _| ()).unwrap();
    let copy = rusqlite::Connection::open(&to).unwrap();
    assert_eq!(copy.query_row("SELECT n FROM number", (), |row| row.get::<_, i64>(0)).unwrap(), 7);
}
