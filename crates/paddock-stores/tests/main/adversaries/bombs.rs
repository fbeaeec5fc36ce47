//! Searches and listings that try to cost too much.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use paddock_core::{Cancel, ErrorKind};

use super::pen::{Pen, kind, search};

/// How large something is made: as the environment says, in a soak, else small enough for every run.
fn size(variable: &str, in_every_run: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(in_every_run)
}

/// A file of one line, piece by piece: a test that holds it in memory could not tell who else does.
fn write_line(path: &Path, bytes: usize) {
    let piece = [b'x'; 1 << 16];
    let mut file = File::create(path).unwrap();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        file.write_all(&piece[..now]).unwrap();
        left -= now;
    }
}

#[test]
fn a_catastrophic_pattern_costs_no_more_than_any_other() {
    let pen = Pen::new();
    fs::write(pen.inside("a.txt"), format!("{}!\n", "a".repeat(100_000))).unwrap();
    assert_eq!(pen.search("/w", "^(a+)+$").unwrap(), []);
    assert_eq!(pen.search("/w", "(a*)*!").unwrap().len(), 1);
    assert!(matches!(kind(pen.search("/w", "(")), ErrorKind::BadPattern(_)));
    assert!(matches!(kind(pen.search("/w", &"(a{1,1000}){1,1000}".repeat(10))), ErrorKind::BadPattern(_)));
}

#[test]
fn a_line_without_end_a_sparse_file_and_a_loop_are_survived() {
    let pen = Pen::new();
    File::create(pen.inside("sparse")).unwrap().set_len(1 << 40).unwrap();
    write_line(&pen.inside("line"), size("PADDOCK_LINE_BYTES", 32 << 20));
    fs::create_dir(pen.inside("d")).unwrap();
    symlink("..", pen.inside("d/loop")).unwrap();
    fs::write(pen.inside("d/z.txt"), "needle").unwrap();
    assert_eq!(pen.search("/w", "needle").unwrap().len(), 1);
    assert_eq!(pen.list("/w").unwrap().len(), 5);
    assert_eq!(pen.read("/w/sparse").unwrap().len(), 1 << 20, "a range of a terabyte is only a range");
    assert!(matches!(kind(pen.edit("/w/sparse", "a", "b")), ErrorKind::TooLarge { .. }));
}

#[test]
fn a_cancelled_or_overdue_search_stops() {
    let pen = Pen::new();
    for i in 0..500 {
        fs::create_dir(pen.inside(&format!("d{i}"))).unwrap();
        fs::write(pen.inside(&format!("d{i}/f")), "text\n").unwrap();
    }
    let cancel = Cancel::default();
    cancel.stop();
    assert_eq!(kind(pen.run_with(search("/w", "x"), &cancel, Duration::from_secs(60))), ErrorKind::Cancelled);
    assert_eq!(kind(pen.run_with(search("/w", "x"), &Cancel::default(), Duration::ZERO)), ErrorKind::TimedOut);
    assert_eq!(pen.search("/w", "text").unwrap().len(), 500);
}

#[test]
fn a_large_flat_directory_is_listed_whole_and_in_order() {
    let pen = Pen::new();
    let entries = size("PADDOCK_ENTRIES", 20_000);
    for i in 0..entries {
        File::create(pen.inside(&format!("{i:08}"))).unwrap();
    }
    let listed = pen.list("/w").unwrap();
    assert_eq!(listed.len(), entries);
    assert!(listed.is_sorted());
}
