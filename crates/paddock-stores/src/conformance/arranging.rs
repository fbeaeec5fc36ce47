//! Directories, moves and deletions.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{ErrorKind, Refused};

use super::world::{error, is_new};
use super::{Fixture, Space};

pub fn a_directory_is_made_with_those_above_it(fixture: &Fixture) {
    let world = fixture.world();
    assert!(is_new(world.make_dir("/w/a/b")));
    assert_eq!(world.list("/w"), ["/w/a", "/w/a/b"]);
}

pub fn making_a_directory_that_is_there_is_fine(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a/f", "x");
    assert!(!is_new(world.make_dir("/w/a")));
    assert_eq!(world.text("/w/a/f"), "x");
    world.make_dir("/w").unwrap();
}

pub fn no_directory_is_made_in_place_of_a_file_or_below_one(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    assert_eq!(error(world.make_dir("/w/f")), ErrorKind::AlreadyExists);
    assert_eq!(error(world.make_dir("/w/f/d")), ErrorKind::NotADirectory);
    assert_eq!(world.text("/w/f"), "x");
}

pub fn a_file_moves(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "x");
    world.rename("/w/a", "/w/b").unwrap();
    assert_eq!(world.list("/w"), ["/w/b"]);
    assert_eq!(world.text("/w/b"), "x");
}

pub fn a_directory_moves_with_everything_in_it(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/old/f", "1");
    world.write("/w/old/deep/g", "2");
    world.make_dir("/w/old/empty").unwrap();
    world.write("/w/older", "stays");
    world.rename("/w/old", "/w/new").unwrap();
    let expected = ["/w/new", "/w/new/deep", "/w/new/deep/g", "/w/new/empty", "/w/new/f", "/w/older"];
    assert_eq!(world.list("/w"), expected);
    assert_eq!((world.text("/w/new/f"), world.text("/w/new/deep/g")), ("1".to_owned(), "2".to_owned()));
}

pub fn a_move_makes_missing_directories_at_its_other_end(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    world.rename("/w/f", "/w/a/b/g").unwrap();
    assert_eq!(world.list("/w"), ["/w/a", "/w/a/b", "/w/a/b/g"]);
}

pub fn a_move_never_replaces(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "1");
    world.write("/w/b", "2");
    world.make_dir("/w/d").unwrap();
    for to in ["/w/b", "/w/d", "/w/a"] {
        assert_eq!(error(world.rename("/w/a", to)), ErrorKind::AlreadyExists, "{to}");
    }
    assert_eq!(error(world.rename("/w/d", "/w/a")), ErrorKind::AlreadyExists);
    assert_eq!(world.list("/w"), ["/w/a", "/w/b", "/w/d"]);
    assert_eq!((world.text("/w/a"), world.text("/w/b")), ("1".to_owned(), "2".to_owned()));
}

pub fn a_directory_does_not_move_into_itself(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert!(matches!(world.rename("/w/d", "/w/d/e"), Err(Refused::Misuse { .. })));
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f"]);
}

pub fn what_is_not_there_does_not_move(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    assert_eq!(error(world.rename("/w/none", "/w/a/b")), ErrorKind::NotFound);
    assert_eq!(error(world.rename("/w/f/below", "/w/b")), ErrorKind::NotADirectory);
    assert_eq!(error(world.rename("/w/f", "/w/f/below")), ErrorKind::NotADirectory);
    assert_eq!(world.list("/w"), ["/w/f"]);
}

pub fn a_file_goes(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/a", "x");
    world.write("/w/b", "y");
    world.delete("/w/a").unwrap();
    assert_eq!(world.list("/w"), ["/w/b"]);
    assert_eq!(error(world.delete("/w/a")), ErrorKind::NotFound);
}

pub fn only_an_empty_directory_goes_by_itself(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert_eq!(error(world.delete("/w/d")), ErrorKind::NotEmpty);
    assert_eq!(world.text("/w/d/f"), "x");
    world.delete("/w/d/f").unwrap();
    world.delete("/w/d").unwrap();
    assert!(world.list("/w").is_empty());
}

pub fn a_directory_goes_with_everything_when_asked_for(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/e/f", "x");
    world.write("/w/d/g", "x");
    world.write("/w/d-e", "stays");
    world.delete_all("/w/d").unwrap();
    assert_eq!(world.list("/w"), ["/w/d-e"]);
}

pub fn content_moves_from_one_store_to_another(fixture: &Fixture) {
    let world = fixture.world_of(&[Space::at("/w"), Space::at("/v")]);
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    world.write("/w/d/f", &bytes);
    world.write("/w/d/e/g", "g");
    world.make_dir("/w/d/empty").unwrap();
    if fixture.can().modes {
        world.set_mode("d/f", 0o750);
    }
    world.rename("/w/d", "/v/x/d").unwrap();
    assert_eq!(world.list("/"), ["/v", "/v/x", "/v/x/d", "/v/x/d/e", "/v/x/d/e/g", "/v/x/d/empty", "/v/x/d/f", "/w"]);
    assert!(world.read("/v/x/d/f") == bytes);
    if fixture.can().modes {
        assert_eq!(world.meta("/v/x/d/f").mode.map(|mode| mode & 0o7777), Some(0o750));
    }
}
