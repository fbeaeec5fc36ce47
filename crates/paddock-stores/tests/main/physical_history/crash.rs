//! A process that dies between any two steps: no content is lost, and none is half there.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use paddock_core::Before;
use paddock_stores::{PhysicalStore, TEMP_PREFIX};
use tempfile::TempDir;

use super::{Pasture, append, delete, kept};

const HOME: &str = "PADDOCK_STORES_CRASH_HOME";

/// The content of the n-th write: long enough to be seen when it is cut.
fn content(n: u64) -> String {
    format!("begin {n:08}\n{}end {n:08}\n", "x".repeat(20_000))
}

fn number(text: &str) -> u64 {
    let n = text.strip_prefix("begin ").and_then(|rest| rest[..8].parse().ok()).unwrap();
    assert!(text == content(n), "content {n} is whole");
    n
}

/// Overwrites and deletes one file for ever, and tells of each number that is done.
#[test]
fn writer() {
    let Ok(home) = std::env::var(HOME) else { return };
    let dir = TempDir::new_in(&home).unwrap();
    fs::create_dir(dir.path().join("mount")).unwrap();
    // Not to be cleared away by a process that is killed.
    let pasture = Pasture::at(dir, true, |_, place| place);
    for n in 0.. {
        if n % 7 == 6 {
            pasture.run(delete("/w/f")).unwrap();
        }
        pasture.write("/w/f", &content(n));
        let mut out = std::io::stdout();
        out.write_all(format!("\n> {n}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// Every whole content below a directory.
fn found(dir: &Path, seen: &mut BTreeSet<u64>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found(&path, seen);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let ours = path.file_name().unwrap().to_str().unwrap().starts_with(TEMP_PREFIX);
        // Only a file that was never finished may be cut, and only under a temporary name.
        if ours && !text.ends_with('\n') {
            continue;
        }
        seen.insert(number(&text));
    }
}

#[test]
fn a_writer_that_is_killed_at_any_moment_loses_nothing() {
    for round in 0..12 {
        let home = TempDir::new().unwrap();
        let arguments = ["--exact", "--nocapture", "physical_history::crash::writer"];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .env(HOME, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut told = (&mut lines).filter_map(|line| line.strip_prefix("> ")?.parse::<u64>().ok());
        let mut last = told.nth(20 + round * 13).unwrap();
        child.kill().unwrap();
        last = told.last().unwrap_or(last);
        child.wait().unwrap();
        let mut seen = BTreeSet::new();
        found(home.path(), &mut seen);
        let missing: Vec<u64> = (0..=last).filter(|n| !seen.contains(n)).collect();
        assert_eq!(missing, [], "every content of {last} that was acknowledged is there");
    }
}

#[test]
fn a_process_that_died_between_exchange_and_keeping_leaves_the_old_content_whole() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "old");
    // As it is left: the new content in place, the old one under the temporary name.
    let left = pasture.host(&format!("{TEMP_PREFIX}1-2-3"));
    fs::rename(pasture.host("f"), &left).unwrap();
    fs::write(pasture.host("f"), "new").unwrap();
    let again = pasture.write("/w/f", "newer");
    assert_eq!(pasture.recall(&kept(&again)).unwrap(), "new");
    assert_eq!(pasture.one(append("/w/f", "!")).before, Before::Prefix(5));
    assert_eq!(fs::read_to_string(&left).unwrap(), "old", "nobody touches it, and `paddock doctor` tells of it");
    let counted = pasture.call(|call| PhysicalStore::new(&pasture.host("")).unwrap().count(call)).unwrap();
    assert_eq!((counted.files, counted.bytes), (1, 6), "it does not count");
}
