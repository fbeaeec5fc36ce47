//! Writing whole files: new, over old ones, and only where what was expected is there.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{ErrorKind, Expect};

use super::Fixture;
use super::world::{error, is_new, version_of};

pub fn a_write_replaces_everything(fixture: &Fixture) {
    let world = fixture.world();
    assert!(is_new(world.try_write("/w/f", "a long first text", Expect::Any)), "the first write makes it");
    assert!(!is_new(world.try_write("/w/f", "short", Expect::Any)), "the second does not");
    assert_eq!(world.text("/w/f"), "short");
    assert_eq!(world.meta("/w/f").len, 5);
}

pub fn missing_directories_are_made(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a/b/c/f", "x");
    world.write("/w/a/b/g", "y");
    assert_eq!(world.list("/w"), ["/w/a", "/w/a/b", "/w/a/b/c", "/w/a/b/c/f", "/w/a/b/g"]);
}

pub fn a_directory_is_never_replaced_by_a_file(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert_eq!(error(world.try_write("/w/d", "y", Expect::Any)), ErrorKind::IsADirectory);
    assert_eq!(error(world.try_write("/w", "y", Expect::Any)), ErrorKind::IsADirectory);
    assert_eq!(world.text("/w/d/f"), "x");
}

pub fn nothing_is_written_below_a_file(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    assert_eq!(error(world.try_write("/w/f/g", "y", Expect::Any)), ErrorKind::NotADirectory);
    assert_eq!(error(world.try_write("/w/f/g/h", "y", Expect::Any)), ErrorKind::NotADirectory);
    assert_eq!(world.list("/w"), ["/w/f"]);
}

pub fn each_change_gives_a_new_version_and_nothing_else_does(fixture: &Fixture) {
    let world = fixture.world();
    let mut seen = vec![world.write("/w/f", "a\n"), world.write("/w/f", "b\n")];
    seen.push(version_of(world.append("/w/f", "c\n")));
    seen.push(version_of(world.edit("/w/f", "c", "d")));
    assert_eq!(world.meta("/w/f").version, seen[3], "the version told is the one that is there");
    world.write("/w/other", "x");
    assert!(world.edit("/w/f", "absent", "x").is_err());
    assert_eq!(world.meta("/w/f").version, seen[3], "a change elsewhere and one that failed leave it");
    for (i, version) in seen.iter().enumerate() {
        assert!(!seen[..i].contains(version), "version {i} is new");
    }
}

pub fn a_write_of_the_same_length_gives_a_new_version(fixture: &Fixture) {
    let world = fixture.world();
    let mut versions: Vec<_> = (0..200).map(|i| world.write("/w/f", format!("{i:03}"))).collect();
    versions.dedup();
    assert_eq!(versions.len(), 200, "however fast they follow each other");
}

pub fn a_stale_version_changes_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let old = world.write("/w/f", "one");
    let now = world.write("/w/f", "two");
    assert_eq!(error(world.try_write("/w/f", "three", Expect::Is(old))), ErrorKind::Stale);
    assert_eq!(world.text("/w/f"), "two");
    assert_eq!(world.meta("/w/f").version, now);
    world.try_write("/w/f", "three", Expect::Is(now)).unwrap();
    assert_eq!(world.text("/w/f"), "three");
}

pub fn a_version_of_what_is_gone_is_stale(fixture: &Fixture) {
    let world = fixture.world();
    let version = world.write("/w/f", "one");
    world.delete("/w/f").unwrap();
    assert_eq!(error(world.try_write("/w/f", "two", Expect::Is(version))), ErrorKind::Stale);
    assert_eq!(error(world.read_part("/w/f", 0..1)), ErrorKind::NotFound);
}

pub fn what_must_be_absent_is_not_replaced(fixture: &Fixture) {
    let world = fixture.world();
    world.try_write("/w/f", "one", Expect::Absent).unwrap();
    assert_eq!(error(world.try_write("/w/f", "two", Expect::Absent)), ErrorKind::AlreadyExists);
    assert_eq!(world.text("/w/f"), "one");
}

pub fn a_replaced_file_keeps_its_mode(fixture: &Fixture) {
    if !fixture.can().modes {
        return;
    }
    let world = fixture.world();
    world.write("/w/run.sh", "echo 1\n");
    world.set_mode("run.sh", 0o750);
    let mode = || world.meta("/w/run.sh").mode.map(|mode| mode & 0o7777);
    assert_eq!(mode(), Some(0o750));
    world.write("/w/run.sh", "echo 2\n");
    assert_eq!(mode(), Some(0o750), "after a write");
    world.edit("/w/run.sh", "2", "3").unwrap();
    assert_eq!(mode(), Some(0o750), "after an edit");
    world.append("/w/run.sh", "exit\n").unwrap();
    assert_eq!(mode(), Some(0o750), "after an append");
    world.rename("/w/run.sh", "/w/go.sh").unwrap();
    assert_eq!(world.meta("/w/go.sh").mode.map(|mode| mode & 0o7777), Some(0o750), "after a move");
}
