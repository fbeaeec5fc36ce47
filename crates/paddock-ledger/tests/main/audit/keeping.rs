//! What is kept, and when.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use paddock_core::{Audit, CallRecord};
use paddock_ledger::audit::{AuditError, AuditKey, Filter, Kind, Row};

use super::{Ground, effect, main, open_at, record};

fn all(ground: &Ground) -> Vec<Row> {
    ground.open().tail(&Filter::default(), 10_000).unwrap()
}

#[test]
fn an_effect_is_in_the_database_when_its_call_returns() {
    for ground in Ground::both() {
        let log = ground.open();
        let call = effect(&log, "/ws/a").unwrap();
        let rows = all(&ground);
        assert_eq!(
            rows.iter().map(|row| (row.kind, row.call)).collect::<Vec<_>>(),
            [(Kind::Intent, call), (Kind::Outcome, call)]
        );
        assert_eq!((rows[0].tool.as_str(), rows[0].outcome.as_str()), ("write", ""));
        assert_eq!((rows[1].tool.as_str(), rows[1].workspace.as_deref()), ("write_file", Some("/ws")));
        assert_eq!((rows[1].bytes, rows[1].took_us), (10, 7));
    }
}

#[test]
fn reads_and_denials_come_by_themselves_a_little_later() {
    for ground in Ground::both() {
        let log = ground.open();
        let agent = main();
        log.record(&record(&agent, "read", "/a", false)).unwrap();
        let denied =
            CallRecord { outcome: "denied", reason: "scope", risk: None, ..record(&agent, "read", "/b", false) };
        log.record(&denied).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while all(&ground).len() < 2 {
            assert!(Instant::now() < until, "nobody writes them");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(all(&ground)[1].reason, "scope");
        assert!(log.verify().unwrap().is_ok());
    }
}

#[test]
fn nothing_that_waits_is_lost_when_the_program_ends() {
    let ground = Ground::sqlite();
    let log = ground.open();
    for n in 0..1000 {
        log.record(&record(&main(), "read", &format!("/{n}"), false)).unwrap();
    }
    drop(log);
    let report = ground.verify();
    assert!(report.is_ok(), "{report:?}");
    assert_eq!((report.rows, report.chains, report.lost), (1000, 1, 0));
}

#[test]
fn an_audit_that_nothing_was_told_leaves_nothing_behind() {
    let ground = Ground::sqlite();
    drop(ground.open());
    assert!(!ground.database().exists() && !ground.outside().exists());
    let report = ground.verify();
    assert!(report.is_ok() && report.chains == 0);
}

#[test]
fn more_than_the_queue_holds_is_written_by_who_calls() {
    let ground = Ground::sqlite();
    let log = ground.open();
    let long = format!("/{}", "x".repeat(4000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3000 {
                    log.record(&record(&main(), "read", &long, false)).unwrap();
                }
            });
        }
    });
    assert_eq!(log.lost(), 0);
    log.close().unwrap();
    let report = ground.verify();
    assert!(report.is_ok() && report.rows == 12_000, "{report:?}");
}

#[test]
fn many_threads_write_one_chain() {
    for ground in Ground::both() {
        let log = ground.open();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let log = &log;
                scope.spawn(move || {
                    for n in 0..20 {
                        effect(log, &format!("/ws/{thread}/{n}")).unwrap();
                        log.record(&record(&main(), "read", "/ws", false)).unwrap();
                    }
                });
            }
        });
        let report = log.verify().unwrap();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!((report.rows, report.chains), (8 * 20 * 3, 1));
    }
}

#[test]
fn what_a_path_holds_is_kept_as_it_was_asked_for() {
    for ground in Ground::both() {
        let strange = "/a\0b\n\u{202e}é\u{1f}'";
        let log = ground.open();
        log.record(&record(&main(), "read\0", strange, true)).unwrap();
        log.close().unwrap();
        assert_eq!(all(&ground)[0].path, strange);
        assert!(ground.verify().is_ok());
    }
}

#[test]
fn the_key_is_made_once_and_only_its_owner_reads_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("secrets/audit.key");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| AuditKey::load_or_create(&path).unwrap());
        }
    });
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 32);
    assert_ne!(bytes, [0; 32]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing half made is left");

    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(matches!(AuditKey::load_or_create(&path), Err(AuditError::BadKey { .. })));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(&path, b"short").unwrap();
    assert!(matches!(AuditKey::load_or_create(&path), Err(AuditError::BadKey { .. })));
    assert_eq!(format!("{:?}", AuditKey::from_bytes([7; 32])), "AuditKey(…)");
}

#[test]
fn another_key_is_told_apart_and_signs_nothing() {
    for ground in Ground::both() {
        ground.write_chain(2);
        let right = std::fs::read(ground.home().join("secrets/audit.key")).unwrap();
        std::fs::write(ground.home().join("secrets/audit.key"), [5; 32]).unwrap();
        let log = open_at(ground.home(), ground.url().as_deref());
        assert!(log.record(&record(&main(), "write", "/a", true)).is_err());
        drop(log);
        assert_eq!(ground.findings(), [paddock_ledger::audit::Finding::OtherKey { chain: 0 }]);
        std::fs::write(ground.home().join("secrets/audit.key"), right).unwrap();
        let report = ground.verify();
        assert!(report.is_ok() && report.rows == 2, "{report:?}");
    }
}
