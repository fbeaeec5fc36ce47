//! No row holds the value of a secret, whatever it is asked to keep.

use std::time::SystemTime;

use paddock_core::{Audit as _, CallId, CallRecord, LogicalPath};
use paddock_db::{Durability, Sqlite};
use paddock_ledger::audit::{AuditKey, AuditLog, Filter, SQLITE_SCHEMA};
use paddock_state::{Redactor, SecretName, SecretValue};

use super::{main, record};

const VALUE: &str = "planted-value-0123";

#[test]
fn every_text_of_a_row_is_kept_without_values_of_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let value = SecretValue::to_store(VALUE.as_bytes().to_vec()).unwrap();
    let redactor = Redactor::of([(SecretName::parse("s").unwrap(), value)]);
    let db = Sqlite::new(dir.path().join("state.db"), vec![SQLITE_SCHEMA], Durability::Process);
    let key = AuditKey::from_bytes([7; 32]);
    let log = AuditLog::sqlite(db, Durability::Process, key, dir.path().join("head"), redactor);
    let path = LogicalPath::parse(&format!("/w/{VALUE}"), &LogicalPath::top()).unwrap();
    let agent = main();
    let (outcome, reason) = (format!("out {VALUE}"), format!("why {VALUE}"));
    let asked = CallRecord {
        by: Some(VALUE),
        workspace: Some(&path),
        outcome: &outcome,
        reason: &reason,
        ..record(&agent, VALUE, path.as_str(), true)
    };
    log.record(&asked).unwrap();
    log.intent(CallId::next(), (&agent, Some(VALUE)), VALUE, path.as_str(), Some(&path), SystemTime::now()).unwrap();
    log.flush().unwrap();
    let rows = log.tail(&Filter::default(), 10).unwrap();
    assert_eq!(rows.len(), 2);
    let told = rows.iter().find(|row| !row.outcome.is_empty()).unwrap();
    assert_eq!((told.tool.as_str(), told.path.as_str()), ("[secret s]", "/w/[secret s]"));
    assert_eq!((told.outcome.as_str(), told.reason.as_str()), ("out [secret s]", "why [secret s]"));
    assert_eq!((told.workspace.as_deref(), told.by.as_deref()), (Some("/w/[secret s]"), Some("[secret s]")));
    assert!(log.verify().unwrap().is_ok());
    log.close().unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes()));
    }
}
