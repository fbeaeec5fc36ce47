//! Behind a real pooler that lends sessions for one transaction.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use paddock_db::DbError;
use paddock_db::postgres_testing::{Cluster, as_other_user, ask, free_port, fresh_place, give_away};

use super::{count_up, counted, number, opened, soon};

/// PgBouncer in front of a server of its own.
struct Pooled {
    cluster: Cluster,
    pooler: Child,
    port: u16,
    place: PathBuf,
}

impl Pooled {
    fn start(more: &str) -> Self {
        let cluster = Cluster::start();
        let (place, port) = (fresh_place(), free_port());
        let users = place.join("users");
        fs::write(&users, "\"postgres\" \"test-password\"\n").unwrap();
        let settings = place.join("pgbouncer.ini");
        fs::write(
            &settings,
            format!(
                "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
                 unix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = transaction\n\
                 default_pool_size = 3\n{more}\n",
                cluster.port(),
                users.display()
            ),
        )
        .unwrap();
        give_away(&users).unwrap();
        let mut command = as_other_user("pgbouncer");
        let log = fs::File::create(place.join("log")).unwrap();
        command.arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let pooler = command.spawn().expect("pgbouncer starts; install it");
        let pooled = Self { cluster, pooler, port, place };
        let end = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "{}", fs::read_to_string(pooled.place.join("log")).unwrap());
            thread::sleep(Duration::from_millis(20));
        }
        pooled
    }

    fn url(&self) -> String {
        self.cluster.url().replace(&format!(":{}", self.cluster.port()), &format!(":{}", self.port))
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.pooler.kill().unwrap();
        self.pooler.wait().unwrap();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// More of us than the pooler has sessions, and sessions that change hands.
fn works_through(url: &str) {
    let databases = [opened(url), opened(url)];
    thread::scope(|scope| {
        for db in &databases {
            for _ in 0..8 {
                scope.spawn(|| (0..10).for_each(|_| count_up(db).unwrap()));
            }
        }
    });
    let db = &databases[0];
    assert_eq!(counted(db), 160);
    assert!(db.about().unwrap()[0].contains("through a pooler"));
    let mismatch = db.read(soon(), |tx| tx.query("SELECT $1::bigint", &[&1_i64, &2_i64]));
    assert!(mismatch.is_err());
    let mismatch = db.read(soon(), |tx| tx.query("SELECT $1::bigint", &[&1_i64, &2_i64]));
    assert!(mismatch.unwrap_err().to_string().contains("parameters"), "known from the first time");
    let mut sum = 0_i64;
    for _ in 0..2 {
        db.read(soon(), |tx| {
            tx.for_each("SELECT generate_series(1, $1::bigint)", &[&1000_i64], |row| {
                sum += row.get::<_, i64>(0);
                Ok::<_, DbError>(())
            })
        })
        .unwrap();
    }
    assert_eq!(sum, 1_001_000);
    // Nothing of ours is left in the sessions, which are others' next.
    for _ in 0..10 {
        assert_eq!(number(db, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 's%'"), 0);
        assert_eq!(number(db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0);
    }
}

#[test]
fn a_pooler_that_refuses_strange_openings_is_noticed() {
    let pooled = Pooled::start("");
    works_through(&pooled.url());
}

#[test]
fn a_pooler_that_ignores_strange_openings_is_noticed() {
    let pooled = Pooled::start("ignore_startup_parameters = options");
    works_through(&pooled.url());
}

#[test]
fn a_pooler_may_be_named() {
    let pooled = Pooled::start("");
    works_through(&format!("{}?pooler=transaction", pooled.url()));
}

#[test]
fn the_session_behind_it_keeps_no_setting() {
    // One session for all: the stranger gets the one that we had.
    let pooled = Pooled::start("default_pool_size = 1");
    let through = opened(&pooled.url());
    count_up(&through).unwrap();
    assert_eq!(counted(&through), 1);
    for setting in ["search_path", "statement_timeout", "idle_in_transaction_session_timeout"] {
        let fresh = ask(&pooled.cluster.url(), &format!("SHOW {setting}"));
        assert_eq!(ask(&pooled.url(), &format!("SHOW {setting}")), fresh, "{setting}");
    }
}

#[test]
fn a_watch_behind_a_pooler_looks_for_itself() {
    let pooled = Pooled::start("");
    let (through, direct) = (opened(&pooled.url()), opened(&pooled.cluster.url()));
    let mut watch = through.watch("mine", soon()).unwrap();
    direct.notify("mine", soon()).unwrap();
    assert!(watch.wait(soon()));
    let mut watch = direct.watch("mine", soon()).unwrap();
    through.notify("mine", soon()).unwrap();
    assert!(watch.wait(soon()), "calling works from there, listening does not");
    let listening =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND application_name <> 'paddock'";
    assert_eq!(number(&direct, listening), 0);
}
