//! A disk that is full or read-only: an effect is not acknowledged without its rows, and reads go on.

use std::path::Path;
use std::process::Command;

use paddock_core::{Audit, ErrorKind};
use paddock_ledger::audit::{Filter, Kind};

use super::child::{command, ourselves};
use super::{Ground, effect, main, open_at, record};

#[test]
fn on_a_full_disk_effects_are_refused_and_reads_go_on() {
    with_mounts("full-disk");
}

#[test]
fn what_a_process_could_not_write_is_told_by_the_next_that_can() {
    with_mounts("left-behind");
}

#[test]
fn on_a_read_only_disk_effects_are_refused_and_reads_go_on() {
    with_mounts("read-only-disk");
}

/// Plays `part` in a process that may mount, where nobody else sees it and nothing is left mounted.
fn with_mounts(part: &str) {
    let ground = Ground::sqlite();
    let ended = command("unshare", &["--user", "--map-root-user", "--mount", "--"], part, &ground)
        .args(ourselves())
        .output()
        .expect("unshare is installed");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}

fn mount(options: &str, at: &Path) {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status().unwrap();
    assert!(mounted.success(), "mount -o {options}");
}

/// The part for a process that may mount.
pub(super) fn full_disk(home: &Path) {
    mount("size=600k", home);
    let log = open_at(home, None);
    let mut kept = 0;
    let refused = loop {
        match log.record(&record(&main(), "write", &format!("/{}", "x".repeat(2000)), true)) {
            Ok(()) => kept += 1,
            Err(refused) => break refused,
        }
        assert!(kept < 1000, "the disk never fills");
    };
    assert_eq!(refused.kind(), &ErrorKind::Full);
    assert!(kept > 0);
    for _ in 0..100 {
        log.record(&record(&main(), "read", "/r", false)).unwrap();
    }
    assert!(effect(&log, "/ws/a").is_err());
    mount("remount,size=16m", home);
    // What could not be written before is written now: it happened.
    effect(&log, "/ws/b").unwrap();
    log.close().unwrap();
    let log = open_at(home, None);
    let report = log.verify().unwrap();
    assert!(report.is_ok(), "{report:?}");
    let rows = |tool: &str| {
        log.query(&Filter { tool: Some(tool.to_owned()), limit: Some(5000), ..Filter::default() }).unwrap().rows.len()
    };
    assert_eq!((rows("read"), rows("write_file")), (100, 1));
    assert_eq!(report.lost, 0);
    assert_eq!(rows("write"), kept + 1 + 2, "and the refused ones, since they had happened, and two intents");
}

/// The part for a process that may mount.
pub(super) fn left_behind(home: &Path) {
    mount("size=600k", home);
    let log = open_at(home, None);
    while log.record(&record(&main(), "write", &format!("/{}", "x".repeat(2000)), true)).is_ok() {}
    for _ in 0..7 {
        log.record(&record(&main(), "read", "/r", false)).unwrap();
    }
    // It is asked to write what waits at its end, twice, and ends.
    assert!(Audit::flush(&log).is_err());
    assert!(log.close().is_err());
    mount("remount,size=16m", home);
    let log = open_at(home, None);
    effect(&log, "/ws/b").unwrap();
    let report = log.verify().unwrap();
    // The seven, and the one that was refused when it had happened.
    assert!(report.is_ok() && report.lost == 8, "{report:?}");
    log.close().unwrap();
    // And it is told once.
    let log = open_at(home, None);
    effect(&log, "/ws/c").unwrap();
    let gaps = log.tail(&Filter { outcome: Some("lost".to_owned()), ..Filter::default() }, 9).unwrap();
    assert_eq!(gaps.iter().map(|gap| gap.bytes).collect::<Vec<_>>(), [8]);
    // What could be written after all is not lost.
    let filler = home.join("filler");
    assert!(std::fs::write(&filler, vec![1; 32 << 20]).is_err(), "the disk is full now");
    let more = format!("/{}", "y".repeat(4000));
    while Audit::flush(&log).is_ok() {
        log.record(&record(&main(), "read", &more, false)).unwrap();
    }
    std::fs::remove_file(&filler).unwrap();
    effect(&log, "/ws/d").unwrap();
    log.close().unwrap();
    assert_eq!(open_at(home, None).verify().unwrap().lost, 8);
}

/// The part for a process that may mount.
pub(super) fn read_only_disk(home: &Path) {
    mount("size=64m", home);
    open_at(home, None).close().unwrap();
    effect(&open_at(home, None), "/ws/a").unwrap();
    mount("remount,ro", home);
    let log = open_at(home, None);
    assert!(effect(&log, "/ws/b").is_err());
    // More than may wait: what comes then is counted, and told when the disk is back.
    let more = 70_000;
    for _ in 0..more {
        log.record(&record(&main(), "read", "/r", false)).unwrap();
    }
    let lost = log.lost();
    assert!(lost > 0);
    mount("remount,rw,size=128m", home);
    // The queue is full until somebody succeeds.
    log.flush().unwrap();
    effect(&log, "/ws/c").unwrap();
    assert_eq!(log.lost(), 0);
    let report = log.verify().unwrap();
    assert!(report.is_ok(), "{report:?}");
    assert_eq!(report.lost, lost);
    // Of the second effect there is the intent, of the others both.
    assert_eq!(report.rows + lost, 2 + 1 + more + 1 + 2);
    let gap = log.tail(&Filter { outcome: Some("lost".to_owned()), ..Filter::default() }, 9).unwrap();
    assert_eq!((gap.len(), gap[0].kind, gap[0].bytes), (1, Kind::Gap, lost));
}
