//! What was made elsewhere arrives: staged files, links, modes and times.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paddock_core::{Alter, Alteration, ErrorKind, Expect, Kind, Looks, Operation, Outcome, Refused, Staged};

use super::world::{browse, error, path_of};
use super::{Fixture, World};

/// A time that no clock shows by chance.
fn long_ago() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

/// A file that lies nowhere.
fn staged(content: &[u8], mode: u32) -> Staged {
    let mut file = File::from(rustix::fs::memfd_create("staged", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
    file.write_all(content).unwrap();
    Staged::new(file, content.len() as u64, mode, long_ago())
}

fn alter(world: &World, path: &str, how: Alter, expect: Expect) -> Result<Outcome, Refused> {
    let alterations = vec![Alteration { path: path_of(path), how, expect }];
    world.run(Operation::Alter { path: path_of(path), alterations })
}

fn take(world: &World, path: &str, content: &[u8]) -> Result<Outcome, Refused> {
    alter(world, path, Alter::Take(staged(content, 0o640)), Expect::Any)
}

fn link(world: &World, path: &str, leads_to: &str) -> Result<Outcome, Refused> {
    alter(world, path, Alter::Link { leads_to: leads_to.to_owned() }, Expect::Any)
}

pub fn a_staged_file_arrives_with_its_mode_and_time(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/there", "old");
    for path in ["/w/new/f", "/w/there"] {
        take(&world, path, b"made elsewhere").unwrap();
        assert_eq!(world.text(path), "made elsewhere");
        let meta = world.meta(path);
        if fixture.can().modes {
            assert_eq!(meta.mode.map(|mode| mode & 0o777), Some(0o640), "{path}");
        }
        assert!(meta.modified.is_none_or(|time| time == long_ago()), "{path}");
    }
}

pub fn a_large_staged_file_arrives_whole(fixture: &Fixture) {
    let world = fixture.world();
    let content: Vec<u8> = (0..700_001_u32).map(|n| (n % 251) as u8).collect();
    take(&world, "/w/f", &content).unwrap();
    assert!(world.read("/w/f") == content);
    take(&world, "/w/f", b"").unwrap();
    assert_eq!(world.text("/w/f"), "");
}

pub fn a_staged_file_never_takes_the_place_of_a_directory(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert_eq!(error(take(&world, "/w/d", b"y")), ErrorKind::IsADirectory);
    assert_eq!(error(take(&world, "/w/d/f/g", b"y")), ErrorKind::NotADirectory);
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f"]);
}

pub fn a_staged_file_for_a_stale_version_changes_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let old = world.write("/w/f", "a");
    let now = world.write("/w/f", "b");
    let take = |expect| alter(&world, "/w/f", Alter::Take(staged(b"c", 0o644)), expect);
    assert_eq!(error(take(Expect::Is(old))), ErrorKind::Stale);
    assert_eq!(error(take(Expect::Absent)), ErrorKind::AlreadyExists);
    assert_eq!(world.text("/w/f"), "b");
    take(Expect::Is(now)).unwrap();
    assert_eq!(world.text("/w/f"), "c");
}

pub fn a_link_and_a_file_take_each_others_place(fixture: &Fixture) {
    if !fixture.can().links {
        return;
    }
    let world = fixture.world();
    world.write("/w/real", "content");
    world.write("/w/l", "a file");
    link(&world, "/w/l", "real").unwrap();
    link(&world, "/w/sub/up", "../real").unwrap();
    assert_eq!((world.text("/w/l").as_str(), world.text("/w/sub/up").as_str()), ("content", "content"));
    let found = world.browse(&browse("/w")).unwrap().found;
    let links: Vec<&str> = found.iter().filter(|f| f.kind == Kind::Link).map(|f| f.path).collect();
    assert_eq!(links, ["/w/l", "/w/sub/up"]);
    take(&world, "/w/l", b"a file again").unwrap();
    assert_eq!((world.text("/w/l").as_str(), world.text("/w/real").as_str()), ("a file again", "content"));
}

pub fn a_link_that_is_made_leads_nowhere_else(fixture: &Fixture) {
    if !fixture.can().links {
        return;
    }
    let world = fixture.world();
    link(&world, "/w/out", "../../etc/passwd").unwrap();
    assert_eq!(error(world.read_part("/w/out", 0..1)), ErrorKind::LinkEscapes);
    world.write("/w/d/f", "x");
    assert_eq!(error(link(&world, "/w/d", "f")), ErrorKind::IsADirectory);
}

pub fn a_mode_changes_and_the_content_stays(fixture: &Fixture) {
    if !fixture.can().modes {
        return;
    }
    let world = fixture.world();
    world.write("/w/d/f", "#!/bin/sh");
    let dress = |path, looks| alter(&world, path, Alter::Dress(looks), Expect::Any);
    // What raises privileges is left out.
    dress("/w/d/f", Looks { mode: Some(0o4711), modified: None }).unwrap();
    assert_eq!(world.meta("/w/d/f").mode, Some(0o711));
    dress("/w/d/f", Looks { mode: None, modified: Some(long_ago()) }).unwrap();
    let meta = world.meta("/w/d/f");
    assert_eq!(meta.mode, Some(0o711));
    assert!(meta.modified.is_none_or(|time| time == long_ago()));
    dress("/w/d", Looks { mode: Some(0o750), modified: None }).unwrap();
    assert_eq!(world.text("/w/d/f"), "#!/bin/sh");
    assert_eq!(error(dress("/w/none", Looks::default())), ErrorKind::NotFound);
}
