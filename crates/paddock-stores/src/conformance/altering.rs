//! Editing and appending: exact, all or nothing, in the encoding and line endings that are there.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use paddock_core::{EditError, ErrorKind, Expect};

use super::Fixture;
use super::world::{error, is_new, replaced, swap};

fn utf16_le(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub fn the_only_match_is_replaced(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "fn a() {}\nfn b() {}\n");
    assert_eq!(replaced(world.edit("/w/f", "fn b", "fn c")), 1);
    assert_eq!(world.text("/w/f"), "fn a() {}\nfn c() {}\n");
}

pub fn a_text_that_is_not_there_changes_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let version = world.write("/w/f", "abc");
    let absent = ErrorKind::Edit(EditError::Absent { index: None });
    assert_eq!(error(world.edit("/w/f", "x", "y")), absent);
    assert_eq!((world.text("/w/f").as_str(), world.meta("/w/f").version), ("abc", version));
}

pub fn several_matches_are_told_with_their_lines_and_none_is_taken(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x\ny\nx x\n");
    let ambiguous = EditError::Ambiguous { index: None, count: 3, lines: vec![1, 3, 3] };
    assert_eq!(error(world.edit("/w/f", "x", "z")), ErrorKind::Edit(ambiguous));
    assert_eq!(world.text("/w/f"), "x\ny\nx x\n");
}

pub fn all_matches_are_replaced_when_asked_for(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "x\ny\nx x\n");
    assert_eq!(replaced(world.edit_all("/w/f", vec![swap("x", "zz", true)], Expect::Any)), 3);
    assert_eq!(world.text("/w/f"), "zz\ny\nzz zz\n");
}

pub fn several_edits_apply_together_or_not_at_all(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "a b");
    let half = vec![swap("a", "A", false), swap("nowhere", "x", false)];
    assert!(matches!(error(world.edit_all("/w/f", half, Expect::Any)), ErrorKind::Edit(_)));
    assert_eq!(world.text("/w/f"), "a b");
    let both = vec![swap("a", "A", false), swap("b", "B", false)];
    assert_eq!(replaced(world.edit_all("/w/f", both, Expect::Any)), 2);
    assert_eq!(world.text("/w/f"), "A B");
}

pub fn an_edit_of_a_stale_version_changes_nothing(fixture: &Fixture) {
    let world = fixture.world();
    let old = world.write("/w/f", "a");
    let now = world.write("/w/f", "a b");
    let edit = || vec![swap("a", "c", false)];
    assert_eq!(error(world.edit_all("/w/f", edit(), Expect::Is(old))), ErrorKind::Stale);
    assert_eq!(world.text("/w/f"), "a b");
    world.edit_all("/w/f", edit(), Expect::Is(now)).unwrap();
    assert_eq!(world.text("/w/f"), "c b");
}

pub fn what_is_not_there_cannot_be_edited(fixture: &Fixture) {
    let world = fixture.world();
    assert_eq!(error(world.edit("/w/none", "a", "b")), ErrorKind::NotFound);
    world.write("/w/d/f", "x");
    assert_eq!(error(world.edit("/w/d", "a", "b")), ErrorKind::IsADirectory);
    assert_eq!(world.list("/w"), ["/w/d", "/w/d/f"]);
}

pub fn an_edit_keeps_crlf(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "a\r\nb\r\nc\r\n");
    world.edit("/w/f", "a\nb", "x\ny\nz").unwrap();
    assert_eq!(world.text("/w/f"), "x\r\ny\r\nz\r\nc\r\n");
}

pub fn an_edit_keeps_latin_1(fixture: &Fixture) {
    let world = fixture.world();
    let latin = b"Stra\xdfe \xfcber Gr\xf6\xdfe, m\xf6glich";
    world.write("/w/f", latin);
    world.edit("/w/f", "über", "öber").unwrap();
    assert_eq!(world.read("/w/f"), b"Stra\xdfe \xf6ber Gr\xf6\xdfe, m\xf6glich");
    assert!(matches!(error(world.edit("/w/f", "öber", "日本")), ErrorKind::Edit(EditError::Encoding(_))));
    assert_eq!(world.read("/w/f"), b"Stra\xdfe \xf6ber Gr\xf6\xdfe, m\xf6glich");
}

pub fn an_edit_keeps_utf_16(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", utf16_le("añb\r\nc\r\n"));
    world.edit("/w/f", "ñb\nc", "日").unwrap();
    assert_eq!(world.read("/w/f"), utf16_le("a日\r\n"));
}

pub fn an_edit_leaves_broken_bytes_alone(fixture: &Fixture) {
    let world = fixture.world();
    let mixed = [b"caf\xc3\xa9 ".repeat(20), b"bad \xff byte, old".to_vec()].concat();
    world.write("/w/f", &mixed);
    world.edit("/w/f", "old", "new").unwrap();
    let expected = [b"caf\xc3\xa9 ".repeat(20), b"bad \xff byte, new".to_vec()].concat();
    assert_eq!(world.read("/w/f"), expected);
}

pub fn a_binary_file_is_not_edited(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", b"\x7fELF\0old");
    assert_eq!(error(world.edit("/w/f", "old", "new")), ErrorKind::Edit(EditError::NotText));
    assert_eq!(world.read("/w/f"), b"\x7fELF\0old");
}

pub fn an_append_makes_what_is_not_there(fixture: &Fixture) {
    let world = fixture.world();
    assert!(is_new(world.append("/w/logs/today", "one\n")));
    assert!(!is_new(world.append("/w/logs/today", "two\n")));
    assert_eq!(world.text("/w/logs/today"), "one\ntwo\n");
}

pub fn an_append_adds_at_the_end_and_nothing_else(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "no newline");
    world.append("/w/f", ", still none").unwrap();
    assert_eq!(world.text("/w/f"), "no newline, still none");
    world.append("/w/f", "").unwrap();
    assert_eq!(world.text("/w/f"), "no newline, still none");
}

pub fn an_append_to_a_directory_is_refused(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/d/f", "x");
    assert_eq!(error(world.append("/w/d", "y")), ErrorKind::IsADirectory);
    assert_eq!(error(world.append("/w/d/f/g", "y")), ErrorKind::NotADirectory);
}

pub fn an_append_keeps_crlf(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "a\r\nb\r\n");
    world.append("/w/f", "c\nd\n").unwrap();
    assert_eq!(world.text("/w/f"), "a\r\nb\r\nc\r\nd\r\n");
}

pub fn an_append_keeps_utf_16(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", utf16_le("a\r\n"));
    world.append("/w/f", "日\n").unwrap();
    assert_eq!(world.read("/w/f"), utf16_le("a\r\n日\r\n"));
}

pub fn an_append_that_the_encoding_cannot_hold_is_refused(fixture: &Fixture) {
    let world = fixture.world();
    let latin = b"Stra\xdfe \xfcber Gr\xf6\xdfe, m\xf6glich\n";
    world.write("/w/f", latin);
    assert!(matches!(error(world.append("/w/f", "日本\n")), ErrorKind::Edit(EditError::Encoding(_))));
    assert_eq!(world.read("/w/f"), latin);
    world.append("/w/f", "für\n").unwrap();
    assert_eq!(world.read("/w/f"), [&latin[..], b"f\xfcr\n"].concat());
}
