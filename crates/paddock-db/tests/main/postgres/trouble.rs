//! What people are told when it does not work.

use std::time::{Duration, Instant};

use paddock_db::postgres_testing::{Database, free_port, run, with_database};
use paddock_db::{DbError, Postgres};

use super::soon;

fn refusal(url: &str) -> DbError {
    let db = Postgres::new(url, vec![]).unwrap();
    let error = db.read(soon(), |_| Ok::<_, DbError>(())).unwrap_err();
    assert!(!error.hint().is_empty());
    for shown in [format!("{error}"), format!("{error:?}"), format!("{db:?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    error
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let before = Instant::now();
    let error = refusal(&format!("postgres://me:hunter2@127.0.0.1:{}/work", free_port()));
    assert!(matches!(error, DbError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    // It was not tried until the deadline, which is two minutes away.
    assert!(before + Duration::from_secs(60) > Instant::now());
}

#[test]
fn a_host_without_an_address_is_told() {
    let error = refusal("postgres://me:hunter2@no-such-host.invalid/work");
    assert!(matches!(error, DbError::Unreachable { .. }), "{error}");
}

#[test]
fn a_socket_that_is_not_there_is_told() {
    assert!(matches!(refusal("postgres://me:hunter2@/work?host=/nowhere"), DbError::Unreachable { .. }));
}

#[test]
fn a_wrong_password_is_told_and_never_shown() {
    let database = Database::fresh();
    let url = database.url();
    let (start, rest) = url.split_once('@').unwrap();
    let (user, _) = start.rsplit_once(':').unwrap();
    let error = refusal(&format!("{user}:hunter2@{rest}"));
    assert!(matches!(error, DbError::Denied { .. }), "{error}");
}

#[test]
fn a_database_that_is_missing_is_told() {
    let database = Database::fresh();
    let error = refusal(&with_database(&database.url(), "not_there", ""));
    assert!(matches!(error, DbError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("not_there") && error.hint().contains("createdb"));
}

#[test]
fn a_user_who_may_not_make_tables_is_told() {
    let database = Database::fresh();
    let user = format!("{}_user", database.name());
    run(&database.url(), &format!("CREATE ROLE {user} LOGIN PASSWORD 'hunter2'"));
    let url = database.url();
    let error = refusal(&format!("postgres://{user}:hunter2@{}", url.split_once('@').unwrap().1));
    run(&database.url(), &format!("DROP ROLE {user}"));
    assert!(matches!(error, DbError::Denied { .. }), "{error}");
}

#[test]
fn a_statement_that_is_refused_is_told_with_its_state() {
    let database = Database::fresh();
    let refused = database.open(&[]).read(soon(), |tx| tx.query("SELEKT 1", &[])).unwrap_err();
    assert!(refused.to_string().contains("SQLSTATE 42601"), "{refused}");
}
