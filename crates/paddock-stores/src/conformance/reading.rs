//! Reading: whole, in parts, and what is no file.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{ErrorKind, Kind};

use super::Fixture;
use super::world::error;

pub fn what_was_written_reads_back(fixture: &Fixture) {
    let world = fixture.world();
    let every_byte: Vec<u8> = (0..=255).collect();
    world.write("/w/a.bin", &every_byte);
    assert_eq!(world.read("/w/a.bin"), every_byte);
}

pub fn an_empty_file_is_a_file(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/empty", "");
    let (bytes, meta) = world.read_part("/w/empty", 0..100).unwrap();
    assert_eq!((bytes.len(), meta.len, meta.kind), (0, 0, Kind::File));
}

pub fn a_range_gives_its_part_and_no_more(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "0123456789");
    for (range, expected) in [
        (0..4, "0123"),
        (4..8, "4567"),
        (8..100, "89"),
        (3..3, ""),
        (10..20, ""),
        (50..60, ""),
        (0..u64::MAX, "0123456789"),
        (u64::MAX - 1..u64::MAX, ""),
    ] {
        let (bytes, meta) = world.read_part("/w/f", range.clone()).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), expected, "{range:?}");
        assert_eq!(meta.len, 10, "the length is that of the file, not of the part");
    }
}

pub fn a_large_file_reads_back_whole_and_in_parts(fixture: &Fixture) {
    let world = fixture.world();
    let large: Vec<u8> = (0..5 * 1024 * 1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    world.write("/w/large", &large);
    assert!(world.read("/w/large") == large, "5 MiB come back as they went in");
    let (middle, _) = world.read_part("/w/large", 3_000_000..3_000_100).unwrap();
    assert_eq!(middle, large[3_000_000..3_000_100]);
}

pub fn what_is_not_there_is_not_found(fixture: &Fixture) {
    let world = fixture.world();
    assert_eq!(error(world.read_part("/w/none", 0..1)), ErrorKind::NotFound);
    assert_eq!(error(world.read_part("/w/no/such/dir", 0..1)), ErrorKind::NotFound);
}

pub fn a_directory_is_not_read(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert_eq!(error(world.read_part("/w/d", 0..1)), ErrorKind::IsADirectory);
    assert_eq!(error(world.read_part("/w", 0..1)), ErrorKind::IsADirectory);
}

pub fn nothing_is_below_a_file(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x");
    assert_eq!(error(world.read_part("/w/f/below", 0..1)), ErrorKind::NotADirectory);
    assert_eq!(error(world.read_part("/w/f/far/below", 0..1)), ErrorKind::NotADirectory);
}

pub fn reading_changes_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let version = world.write("/w/f", "x");
    world.read("/w/f");
    world.list("/w");
    world.search("/w", "x");
    assert_eq!(world.meta("/w/f").version, version);
}
