//! What a commit survives: `process` the end of the process, `disk` the loss of power, and each no less than it states.

use std::path::Path;
use std::process::Stdio;

use paddock_db::Durability;
use tempfile::tempdir;

use super::child::{arguments, cast, lines, start};
use super::{all, numbers};
use crate::power_loss::{replay, under_strace};

#[test]
fn what_was_acknowledged_survives_kill_9() {
    for part in ["numbers-process", "numbers-disk"] {
        let home = tempdir().unwrap();
        let mut kept = Vec::new();
        for round in 1..=5 {
            let mut child = start(part, home.path());
            let mut said = lines(&mut child);
            kept.extend(said.by_ref().take(round * 7));
            child.kill().unwrap();
            child.wait().unwrap();
            // What it said between our last look and its end counts as well.
            kept.extend(said);
            let there = all(&numbers(home.path(), Durability::Process)).unwrap();
            for line in &kept {
                let n: i64 = line.strip_prefix("kept ").unwrap().parse().unwrap();
                assert!(there.contains(&n), "{part}, round {round}: {n} was acknowledged");
            }
            assert!(there.len() <= kept.len() + round, "at most one for each round was not acknowledged");
        }
    }
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power() {
    let lost = lost_when_power_fails("story-disk", 3 * 2 * 3 * 4);
    assert_eq!(lost, Vec::<String>::new());
}

#[test]
fn what_is_written_ahead_lasts_with_what_comes_next() {
    assert_eq!(lost_when_power_fails("ahead", 10), Vec::<String>::new());
    assert!(!lost_when_power_fails("only-ahead", 10).is_empty(), "it was not waited for");
}

/// Shows that the test above can fail, and that the two choices are two.
#[test]
fn without_syncing_power_loss_does_lose() {
    let lost = lost_when_power_fails("story-process", 3 * 2 * 3 * 4);
    assert!(!lost.is_empty());
}

/// Each acknowledged number that is not there when the power fails right at its acknowledgement, or at a later one.
fn lost_when_power_fails(part: &str, said: usize) -> Vec<String> {
    let home = tempdir().unwrap();
    let log = tempdir().unwrap();
    let log = log.path().join("strace");
    run(part, home.path(), &log, &[]);
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    replay(&log, home.path(), |line, disk| {
        let Some(n) = line.strip_prefix("> kept ") else { return };
        kept.push(n.parse::<i64>().unwrap());
        let found = tempdir().unwrap();
        disk.write_into(found.path());
        let db = numbers(&found.path().join("new/deeper"), Durability::Process);
        assert_eq!(db.check().unwrap(), Vec::<String>::new(), "whatever is lost, the rest is whole");
        let there = all(&db).unwrap();
        lost.extend(kept.iter().filter(|n| !there.contains(n)).map(|gone| format!("{gone} at {n}")));
    });
    assert_eq!(kept.len(), said);
    lost
}

#[test]
fn a_failed_sync_is_reported_and_the_next_commit_is_good_again() {
    let home = tempdir().unwrap();
    let log = home.path().join("strace");
    let said = run("ten", home.path(), &log, &["-e", "inject=fdatasync:error=EIO:when=4"]);
    let (kept, not): (Vec<_>, Vec<_>) = said.iter().partition(|line| line.starts_with("kept"));
    assert_eq!((kept.len(), not.len()), (9, 1), "{said:?}");
    assert!(not[0].starts_with("not known 3") && not[0].contains("Input/output error"), "{not:?}");
    let text = std::fs::read_to_string(&log).unwrap();
    let after = text.split("(INJECTED)").nth(1).unwrap();
    assert!(after.contains("fsync("), "the log was moved into the database before the next acknowledgement");
    assert_eq!(all(&numbers(home.path(), Durability::Process)).unwrap().len(), 10);
}

fn run(part: &str, home: &Path, log: &Path, more: &[&str]) -> Vec<String> {
    let mut strace = under_strace(log, more);
    let mut child =
        cast(strace.args(arguments()), part, home).stdout(Stdio::piped()).spawn().expect("strace is installed");
    let said = lines(&mut child).collect();
    assert!(child.wait().unwrap().success());
    said
}
