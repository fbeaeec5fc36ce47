//! Connections and servers that are lost: every acknowledged change is there, and none is there twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use paddock_db::postgres_testing::Cluster;
use paddock_db::{DbError, Postgres};

use super::proxy::{Cut, Proxy};
use super::{count_up, counted, number, opened, put, soon};

struct Cuttable {
    db: Postgres,
    proxy: Proxy,
    cluster: Cluster,
}

fn cuttable() -> Cuttable {
    let cluster = Cluster::start();
    let proxy = Proxy::to(cluster.port());
    let url = cluster.url().replace(&cluster.port().to_string(), &proxy.port.to_string());
    let db = opened(&format!("{url}?sslmode=disable&pool_size=1"));
    assert_eq!(counted(&db), 0);
    Cuttable { db, proxy, cluster }
}

/// Writes one entry, the connection being cut as `cut` says; how often it was tried.
fn put_while_cut(cuttable: &Cuttable, cut: Cut) -> u32 {
    let mut tries = 0;
    cuttable
        .db
        .write(soon(), |tx| {
            tries += 1;
            put(tx, 1)?;
            if tries == 1 {
                cuttable.proxy.arm(cut);
            }
            if cut == Cut::Now { put(tx, 2) } else { Ok(()) }
        })
        .unwrap();
    assert!(cuttable.proxy.has_cut());
    tries
}

#[test]
fn a_commit_that_never_arrived_is_done_again() {
    let cuttable = cuttable();
    assert_eq!(put_while_cut(&cuttable, Cut::BeforeCommit), 2);
    assert_eq!(number(&cuttable.db, "SELECT count(*) FROM entry"), 1);
}

#[test]
fn a_commit_whose_answer_was_lost_is_not_done_again() {
    let cuttable = cuttable();
    // The first write of a connection makes its mark, later ones change it: both must be found.
    assert_eq!(put_while_cut(&cuttable, Cut::AfterCommit), 1);
    assert_eq!(number(&cuttable.db, "SELECT count(*) FROM entry"), 1);
    count_up(&cuttable.db).unwrap();
    assert_eq!(put_while_cut(&cuttable, Cut::AfterCommit), 1);
    assert_eq!(number(&cuttable.db, "SELECT count(*) FROM entry"), 2);
}

#[test]
fn a_connection_cut_in_the_middle_is_replaced_and_all_is_done_again() {
    let cuttable = cuttable();
    assert_eq!(put_while_cut(&cuttable, Cut::Now), 2);
    assert_eq!(number(&cuttable.db, "SELECT count(*) FROM entry"), 2);
    cuttable.proxy.arm(Cut::Now);
    assert_eq!(number(&cuttable.db, "SELECT count(*) FROM entry"), 2, "a look is repeated too");
}

#[test]
fn a_commit_nobody_can_be_asked_about_is_told_as_unknown() {
    let cuttable = cuttable();
    let unknown = cuttable.db.write(Instant::now() + Duration::from_secs(1), |tx| {
        put(tx, 1)?;
        cuttable.cluster.kill();
        Ok::<_, DbError>(())
    });
    let error = unknown.unwrap_err();
    assert!(matches!(error, DbError::Unknown { .. }), "{error}");
    assert!(error.hint().contains("before doing it again"));
}

#[test]
fn a_server_that_is_restarted_is_found_again() {
    let cluster = Cluster::start();
    let db = opened(&cluster.url());
    (0..3).for_each(|_| count_up(&db).unwrap());
    cluster.stop();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| count_up(&db));
        cluster.restart();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(counted(&db), 4);
}

#[test]
fn a_server_that_stays_away_is_told_at_the_deadline() {
    let cluster = Cluster::start();
    let db = opened(&cluster.url());
    count_up(&db).unwrap();
    cluster.stop();
    let gone = db.write(Instant::now() + Duration::from_millis(300), |tx| put(tx, 1));
    assert!(matches!(gone, Err(DbError::Unreachable { .. })), "{gone:?}");
    cluster.restart();
    assert_eq!(number(&db, "SELECT count(*) FROM entry"), 0);
}

/// The server is killed under a load, several times.
#[test]
fn every_acknowledged_change_outlives_a_killed_server() {
    let cluster = Cluster::start();
    let db = opened(&cluster.url());
    let (next, over) = (AtomicI64::new(0), AtomicBool::new(false));
    let (kept, unknown) = (Mutex::new(BTreeSet::new()), Mutex::new(BTreeSet::new()));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    match db.write(soon(), |tx| put(tx, n)) {
                        Ok(()) => kept.lock().unwrap().insert(n),
                        Err(DbError::Unknown { .. }) => unknown.lock().unwrap().insert(n),
                        Err(other) => panic!("{other}"),
                    };
                }
            });
        }
        for _ in 0..4 {
            let before = kept.lock().unwrap().len();
            while kept.lock().unwrap().len() < before + 100 {
                thread::sleep(Duration::from_millis(3));
            }
            cluster.kill();
            cluster.restart();
        }
        over.store(true, Ordering::Relaxed);
    });
    let there: BTreeMap<i64, i64> = db
        .read(soon(), |tx| {
            let rows = tx.query("SELECT n, count(*) FROM entry GROUP BY n", &[])?;
            Ok::<_, DbError>(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
        })
        .unwrap();
    let (kept, unknown) = (kept.into_inner().unwrap(), unknown.into_inner().unwrap());
    assert!(kept.len() >= 400);
    assert!(there.values().all(|count| *count == 1), "nothing is there twice");
    for n in &kept {
        assert!(there.contains_key(n), "{n} was acknowledged");
    }
    for n in there.keys() {
        assert!(kept.contains(n) || unknown.contains(n), "{n} was neither acknowledged nor told as unknown");
    }
    assert!(unknown.is_empty(), "the server came back in time to be asked: {unknown:?}");
}
