//! The queue of writers, with real processes.

use std::time::{Duration, Instant};

use paddock_db::{DbError, Durability, rusqlite};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::tempdir;

use super::child::{lines, start};
use super::{all, numbers, put, soon};

#[test]
fn sixty_four_processes_lose_nothing_and_all_come_through() {
    let home = tempdir().unwrap();
    let mut children: Vec<_> = (0..64).map(|_| start("count", home.path())).collect();
    for child in &mut children {
        assert_eq!(lines(child).collect::<Vec<_>>(), ["done"]);
        assert!(child.wait().unwrap().success());
    }
    let db = numbers(home.path(), Durability::Process);
    let counted = db.read(|conn| {
        let look = conn.query_row("SELECT n FROM counter WHERE name = 'all'", (), |row| row.get::<_, i64>(0));
        look.map_err(|error| db.error(error))
    });
    assert_eq!(counted.unwrap(), 6400);
}

#[test]
fn a_stopped_holder_makes_the_others_busy_and_loses_the_turn_when_it_dies() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 0).unwrap();
    let mut holder = start("hold", home.path());
    assert_eq!(lines(&mut holder).next().unwrap(), "held");
    kill_process(Pid::from_child(&holder), Signal::STOP).unwrap();

    let mut impatient = start("impatient", home.path());
    let mut said = lines(&mut impatient);
    assert_eq!(said.next().unwrap(), "refused");
    let refused = db.write(Instant::now() + Duration::from_millis(30), |_| Ok::<_, DbError>(()));
    assert!(matches!(refused, Err(DbError::Busy { .. })), "{refused:?}");
    assert_eq!(all(&db).unwrap(), [0], "readers do not wait");

    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(said.next().unwrap(), "written");
    assert!(impatient.wait().unwrap().success());
    put(&db, 2).unwrap();
    assert_eq!(all(&db).unwrap(), [0, 1, 2]);
}

#[test]
fn a_writer_that_does_not_stand_in_line_is_waited_for_too() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    put(&db, 1).unwrap();
    let foreign = rusqlite::Connection::open(db.path()).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE; INSERT INTO number(n) VALUES (2)").unwrap();
    let refused = db.write(Instant::now() + Duration::from_millis(30), |_| Ok::<_, DbError>(()));
    assert!(matches!(refused, Err(DbError::Busy { .. })), "{refused:?}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| put(&db, 3));
        foreign.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(all(&db).unwrap(), [1, 2, 3]);
}

#[test]
fn a_write_inside_a_write_is_refused_at_its_deadline() {
    let home = tempdir().unwrap();
    let db = numbers(home.path(), Durability::Process);
    db.write(soon(), |_| {
        let inner = db.write(Instant::now() + Duration::from_millis(10), |_| Ok::<_, DbError>(()));
        assert!(matches!(inner, Err(DbError::Busy { .. })), "{inner:?}");
        Ok::<_, DbError>(())
    })
    .unwrap();
    put(&db, 1).unwrap();
}
