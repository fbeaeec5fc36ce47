//! Waiting for what others do.

use std::time::{Duration, Instant};

use paddock_db::DbError;
use paddock_db::postgres_testing::{Cluster, Database, run};

use super::{COUNTERS, number, opened, put, soon};

fn a_moment() -> Instant {
    Instant::now() + Duration::from_millis(700)
}

#[test]
fn a_change_wakes_who_watches_its_topic() {
    let database = Database::fresh();
    let (here, there) = (database.open(&[COUNTERS]), database.open(&[COUNTERS]));
    let mut watch = here.watch("mine", soon()).unwrap();
    let mut other = here.watch("other", soon()).unwrap();
    there
        .write(soon(), |tx| {
            tx.notify("mine");
            put(tx, 1)
        })
        .unwrap();
    assert!(watch.wait(soon()));
    assert_eq!(number(&here, "SELECT count(*) FROM entry"), 1, "what it was about is there");
    assert!(!watch.wait(a_moment()), "one change wakes once");
    assert!(!other.wait(a_moment()), "another topic sleeps");
}

#[test]
fn what_was_before_the_watch_does_not_wake_it_and_a_change_undone_neither() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    db.notify("mine", soon()).unwrap();
    let mut watch = db.watch("mine", soon()).unwrap();
    let undone = db.write(soon(), |tx| {
        tx.notify("mine");
        Err::<(), _>(DbError::Full { name: String::new() })
    });
    assert!(undone.is_err());
    assert!(!watch.wait(a_moment()));
    db.notify("mine", soon()).unwrap();
    assert!(watch.wait(soon()));
}

#[test]
fn a_watch_outlives_its_server() {
    let cluster = Cluster::start();
    let db = opened(&cluster.url());
    let mut watch = db.watch("mine", soon()).unwrap();
    cluster.kill();
    cluster.restart();
    opened(&cluster.url()).notify("mine", soon()).unwrap();
    assert!(watch.wait(soon()));
}

#[test]
fn who_listens_is_called_and_opens_one_connection_for_all() {
    let database = Database::fresh();
    let db = database.open(&[COUNTERS]);
    let watches: Vec<_> = (0..10).map(|n| db.watch(&format!("topic {n}"), soon()).unwrap()).collect();
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    while number(&db, listening) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(number(&db, listening), 1);
    drop(watches);
    while number(&db, listening) == 1 {
        std::thread::yield_now();
    }
    // Cut off, it listens again.
    let mut watch = db.watch("mine", soon()).unwrap();
    while number(&db, listening) == 0 {
        std::thread::yield_now();
    }
    run(
        &database.url(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
    );
    db.notify("mine", soon()).unwrap();
    assert!(watch.wait(soon()));
}
