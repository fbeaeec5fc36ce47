//! What is of SQLite alone: the tables, two databases, what has to be fast.

use paddock_db::DbError;
use paddock_db::rusqlite::Connection;

use super::*;

fn count(database: &Sqlite, sql: &str) -> i64 {
    let ask = |conn: &Connection| conn.query_row(sql, (), |row| row.get(0));
    database.read(|conn| ask(conn).map_err(|error| database.error(error))).unwrap()
}

/// How many rows of all tables are left.
fn left(state: &Sqlite) -> i64 {
    count(
        state,
        "SELECT (SELECT count(*) FROM living) + (SELECT count(*) FROM past) + (SELECT count(*) FROM body) \
         + (SELECT count(*) FROM share) + (SELECT count(*) FROM pin) + (SELECT count(*) FROM dropped)",
    )
}

#[test]
fn nothing_is_left_in_the_tables_of_what_is_gone() {
    let fresh = OnSqlite::new();
    let base = fresh.handle();
    let (at, row) = put(&*base, &space(), "f", "one", true);
    commit(&*base, &space(), |rows| {
        rows.put("g", &sharing(&row), true)?;
        rows.put("f", &file(b"two"), true).map(drop)
    });
    with_call(|call| base.pin(call, &space(), "fork")).unwrap();
    commit(&*base, &space(), |rows| {
        rows.remove("f", false)?;
        rows.remove("g", false)?;
        rows.forget("f", at)
    });
    assert_ne!(left(&fresh.state()), 0);
    with_call(|call| base.unpin(call, &space(), "fork")).unwrap();
    assert_eq!(left(&fresh.state()), 0);
}

#[test]
fn dropping_that_was_cut_off_is_finished_by_the_next() {
    let fresh = OnSqlite::new();
    let base = fresh.handle();
    put(&*base, &space(), "f", "one", true);
    put(&*base, &space(), "f", "two", true);
    // As the first step leaves it.
    let state = fresh.state();
    let cut = |conn: &Connection| {
        conn.execute_batch(
            "INSERT INTO dropped SELECT id FROM namespace WHERE id > 0; DELETE FROM namespace WHERE id > 0",
        )
    };
    let soon = Instant::now() + Duration::from_secs(60);
    state.write(soon, |tx| cut(tx).map_err(|error| state.error(error))).unwrap();
    assert_eq!(now(&*base, "f"), None);
    with_call(|call| base.collect_chunks(call, 0)).unwrap();
    assert_eq!(left(&state), 0);
}

#[test]
fn a_failed_step_that_is_passed_over_fails_the_change() {
    let fresh = OnSqlite::new();
    let base = fresh.handle();
    put(&*base, &space(), "f", "before", false);
    let changed = with_call(|call| {
        base.write(call, &space(), &mut |rows| {
            rows.advance()?;
            let nobody = Content::Shared(Body { id: 4711, chunked: false });
            assert!(rows.put("f", &NewRow { content: nobody, ..file(b"") }, false).is_err());
            rows.put("g", &file(b"after"), false).map(drop)
        })
    });
    assert_eq!(changed.unwrap_err().kind(), &ErrorKind::Io);
    assert_eq!((now(&*base, "f").as_deref(), now(&*base, "g")), (Some("before"), None));
}

#[test]
fn listing_what_lives_never_touches_the_past() {
    let fresh = OnSqlite::new();
    let base = fresh.handle();
    put(&*base, &space(), "d/f", "one", true);
    put(&*base, &space(), "d/f", "two", true);
    // Were it read, this would be noticed.
    let state = fresh.state();
    let hide = |conn: &Connection| conn.execute_batch("ALTER TABLE past RENAME TO hidden");
    let soon = Instant::now() + Duration::from_secs(60);
    state.write(soon, |tx| hide(tx).map_err(|error| state.error(error))).unwrap();
    assert_eq!(names(&*base, &space(), Moment::Now, "d"), ["f"]);
    assert_eq!(now(&*base, "d/f").as_deref(), Some("two"));
    let before = look(&*base, &space(), Moment::At(Commit(1)), |rows| rows.children("d", None, 9));
    assert_eq!(before.unwrap_err().kind(), &ErrorKind::Io);
}

#[test]
fn a_name_with_a_hundred_thousand_lives_is_listed_once() {
    let fresh = OnSqlite::new();
    let base = fresh.handle();
    put(&*base, &space(), "d/f", "one", true);
    let state = fresh.state();
    let fill = |conn: &Connection| {
        conn.execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) \
             INSERT INTO past SELECT 1, 'd', 'f', i, i - 1, 0, 1, 420, 0, i, NULL, 0, 1 FROM n; \
             UPDATE namespace SET head = 100000 WHERE id = 1; UPDATE living SET born = 100000",
        )
    };
    let soon = Instant::now() + Duration::from_secs(60);
    state.write(soon, |tx| fill(tx).map_err(|error| state.error(error))).unwrap();
    for (moment, seen) in [(Moment::Now, 1), (Moment::At(Commit(50_000)), 1), (Moment::At(Commit(0)), 0)] {
        assert_eq!(names(&*base, &space(), moment, "d").len(), seen, "{moment:?}");
    }
    let row = look(&*base, &space(), Moment::At(Commit(50_000)), |rows| rows.get("d/f")).unwrap();
    assert_eq!(row.unwrap().version, 50_001);
}

#[test]
fn a_chunk_that_was_collected_cannot_be_named() {
    chunks::a_chunk_that_was_collected_cannot_be_named(&OnSqlite::new());
}

#[test]
fn collecting_beside_writers_and_readers_takes_nothing_that_is_named() {
    chunks::collecting_beside_writers_and_readers_takes_nothing_that_is_named(&OnSqlite::new());
}

#[test]
fn what_is_wrong_with_the_database_is_told() {
    let fresh = OnSqlite::new();
    std::fs::write(fresh.0.path().join("state.db"), "this is no database, however long it is".repeat(100)).unwrap();
    let told = look(&*fresh.handle(), &space(), Moment::Now, |rows| rows.get("f")).unwrap_err();
    assert_eq!(told.kind(), &ErrorKind::Io);
    let source = std::error::Error::source(&told).unwrap().downcast_ref::<std::io::Error>().unwrap();
    let cause = source.get_ref().unwrap().downcast_ref::<DbError>().unwrap();
    assert!(matches!(cause, DbError::Corrupt { .. }), "{cause}");
}

#[test]
fn a_writer_that_waits_in_vain_is_told_so() {
    let fresh = OnSqlite::new();
    let (base, other) = (fresh.handle(), fresh.handle());
    put(&*base, &space(), "f", "one", false);
    commit(&*base, &space(), |_| {
        let late = with_deadline(Duration::from_millis(50), |call| other.write(call, &space(), &mut |_| Ok(())));
        assert_eq!(late.unwrap_err().kind(), &ErrorKind::Busy);
        Ok(())
    });
}
