//! Names that deceive: pairs that look alike, names that are no text, names that are too long.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use paddock_core::{ErrorKind, LogicalPath};

use super::pen::{Pen, assert_denied, kind};

#[test]
fn composed_and_decomposed_names_are_two_files_and_stay_two() {
    let pen = Pen::new();
    pen.write("/w/caf\u{e9}", "composed").unwrap();
    pen.write("/w/cafe\u{301}", "decomposed").unwrap();
    pen.write("/w/Readme", "upper").unwrap();
    pen.write("/w/readme", "lower").unwrap();
    assert_eq!(pen.read("/w/caf\u{e9}").unwrap(), "composed");
    assert_eq!(pen.read("/w/cafe\u{301}").unwrap(), "decomposed");
    assert_eq!(pen.read("/w/Readme").unwrap(), "upper");
    assert_eq!(pen.read("/w/readme").unwrap(), "lower");
}

#[test]
fn a_hidden_name_is_hidden_in_every_spelling_a_file_system_may_fold() {
    let pen = Pen::new();
    for name in [".env", ".ENV", ".Env", ".e\u{200d}nv", ".env\u{fe0f}"] {
        fs::write(pen.inside(name), "k").unwrap();
        assert_denied(pen.read(&format!("/w/{name}")));
        assert_denied(pen.write(&format!("/w/{name}"), "x"));
        assert_denied(pen.rename(&format!("/w/{name}"), "/w/x"));
    }
    assert_eq!(pen.list("/w").unwrap(), [""; 0]);
    pen.write("/w/env", "fine").unwrap();
    assert_eq!(pen.read("/w/env").unwrap(), "fine");
}

#[test]
fn host_names_that_no_path_can_hold_are_shown_escaped_and_not_opened() {
    let pen = Pen::new();
    fs::write(pen.inside("").join(OsStr::from_bytes(b"bad\xff.txt")), "x").unwrap();
    fs::write(pen.inside("line\nbreak"), "needle").unwrap();
    fs::write(pen.inside("flip\u{202e}txt"), "needle").unwrap();
    fs::write(pen.inside("good.txt"), "needle").unwrap();
    let listed = pen.list("/w").unwrap();
    assert_eq!(listed, ["/w/bad\\xff.txt", "/w/flip\\u{202e}txt", "/w/good.txt", "/w/line\\u{a}break"]);
    for shown in &listed {
        let openable = LogicalPath::parse(shown, &LogicalPath::top());
        assert_eq!(openable.is_ok(), shown.ends_with("good.txt"), "{shown}");
    }
    assert_eq!(pen.search("/w", "needle").unwrap().len(), 1, "what cannot be named is not searched either");
    // A directory that holds such a name is not deleted over an agent's head.
    assert!(pen.delete("/w/good.txt").is_ok());
}

#[test]
fn a_directory_with_an_unspeakable_name_inside_is_left_to_a_person() {
    let pen = Pen::new();
    fs::create_dir(pen.inside("d")).unwrap();
    fs::write(pen.inside("d").join(OsStr::from_bytes(b"\xff")), "x").unwrap();
    assert!(pen.delete("/w/d").is_err());
    assert!(pen.inside("d").exists());
}

#[test]
fn the_longest_names_work_and_longer_ones_are_errors() {
    let pen = Pen::new();
    let longest = format!("/w/{}", "n".repeat(255));
    pen.write(&longest, "x").unwrap();
    assert_eq!(pen.read(&longest).unwrap(), "x");
    assert!(LogicalPath::parse(&format!("{longest}n"), &LogicalPath::top()).is_err());
    let deep = format!("/w/{}x", "d/".repeat(1500));
    pen.write(&deep, "deep").unwrap();
    assert_eq!(pen.read(&deep).unwrap(), "deep");
    assert_eq!(pen.list("/w/d").unwrap().len(), 1500);
    assert_eq!(pen.search("/w", "deep").unwrap().len(), 1);
    pen.delete("/w/d").unwrap();
    assert_eq!(kind(pen.read(&deep)), ErrorKind::NotFound);
}
