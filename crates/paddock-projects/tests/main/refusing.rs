//! Archives that mean harm: each is refused as a whole, and nothing is written.

use std::io::{Cursor, Write as _};

use paddock_core::Quota;
use paddock_projects::import::{Import, Limits};
use paddock_projects::{FaultKind, ProjectError, WhyLeft};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::world::{GROUNDS, Node, Tree, World, file, tree};

fn looks() -> SimpleFileOptions {
    SimpleFileOptions::default().unix_permissions(0o644)
}

/// A Zip of an honest file and whatever is added.
fn archive(add: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>)) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("honest", looks()).unwrap();
    zip.write_all(b"honest").unwrap();
    add(&mut zip);
    zip.finish().unwrap().into_inner()
}

fn with_file(name: &str) -> Vec<u8> {
    archive(|zip| {
        zip.start_file(name, looks()).unwrap();
        zip.write_all(b"evil").unwrap();
    })
}

fn replaced(archive: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = archive.to_vec();
    for at in 0..out.len().saturating_sub(from.len() - 1) {
        if out[at..].starts_with(from) {
            out[at..at + to.len()].copy_from_slice(to);
        }
    }
    out
}

/// Nothing of it arrives, on any Store, and the error is of this kind.
fn refused(archive: &[u8], kind: FaultKind) -> Vec<ProjectError> {
    refused_with(archive, Import::default(), kind)
}

fn refused_with(archive: &[u8], how: Import, kind: FaultKind) -> Vec<ProjectError> {
    let world = World::new();
    let refused = GROUNDS.map(|ground| {
        let error = world.unzip_with(&format!("{ground}/new"), archive, how).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.hint().is_empty());
        assert_eq!(world.tree(ground), Tree::new(), "{error}");
        error
    });
    assert_eq!(world.waiting(), 0);
    assert!(world.heard().iter().all(|(_, outcome)| outcome != "done"));
    refused.into()
}

#[test]
fn the_honest_twin_comes_in() {
    let world = World::new();
    for ground in GROUNDS {
        world.unzip(&format!("{ground}/new"), &archive(|_| ())).unwrap();
        assert_eq!(world.tree(&format!("{ground}/new")), tree(&[("honest", file("honest"))]));
    }
}

#[test]
fn names_that_lead_elsewhere() {
    for name in [
        "../evil",
        "a/../../evil",
        "/etc/evil",
        "a/..",
        "..\\evil",
        "a\\evil",
        "C:evil",
        "c:/evil",
        "a//evil",
        "./evil",
        "a/./evil",
        "evil\u{0}",
        "e\u{202e}vil",
        "new\nline",
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        "git~1/config",
        &"x".repeat(300),
    ] {
        refused(&with_file(name), FaultKind::BadContent);
    }
    // Only their central directory says something else.
    let slipping = replaced(&with_file("aa/evil"), b"aa/evil", b"../evil");
    refused(&slipping, FaultKind::BadContent);
}

#[test]
fn two_names_that_are_one() {
    for name in ["HONEST", "honest/below", "Honest"] {
        refused(&with_file(name), FaultKind::BadContent);
    }
    let composed = archive(|zip| {
        zip.start_file("\u{e9}", looks()).unwrap();
        zip.start_file("e\u{301}", looks()).unwrap();
    });
    refused(&composed, FaultKind::BadContent);
    // One that reads the first and one that reads the last would disagree.
    let twice = replaced(&with_file("honesT"), b"honesT", b"honest");
    refused(&twice, FaultKind::BadContent);
}

#[test]
fn links_that_leave_and_files_behind_links() {
    for leads_to in ["/etc/passwd", "../../outside", "../..", "a/../../..", "", "x\\y", "../.git/config"] {
        refused(&archive(|zip| zip.add_symlink("sub/link", leads_to, looks()).unwrap()), FaultKind::BadContent);
    }
    for leads_to in ["/etc", "../up", ".git/config"] {
        refused(&archive(|zip| zip.add_symlink("link", leads_to, looks()).unwrap()), FaultKind::BadContent);
    }
    // By its text the second stays inside; by the first it does not.
    let together = archive(|zip| {
        zip.add_symlink("a/b/c/d", "../../..", looks()).unwrap();
        zip.add_symlink("a/b/c/x", "d/../../../etc/passwd", looks()).unwrap();
    });
    refused(&together, FaultKind::BadContent);
    let through = archive(|zip| {
        zip.add_directory("real", looks()).unwrap();
        zip.add_symlink("link", "real", looks()).unwrap();
        zip.start_file("link/evil", looks()).unwrap();
    });
    refused(&through, FaultKind::BadContent);
}

#[test]
fn what_is_neither_file_directory_nor_link() {
    // A FIFO by its mode.
    let fifo = archive(|zip| {
        let looks = SimpleFileOptions::default().external_attributes(0o010_644 << 16);
        zip.start_file("pipe", looks).unwrap();
    });
    let errors = refused(&fifo, FaultKind::BadContent);
    assert!(errors[0].to_string().contains("neither"), "{}", errors[0]);
}

#[test]
fn what_only_a_password_opens() {
    let mut locked = archive(|_| ());
    // The bit that says so, in the local and in the central header.
    let local = locked.windows(4).position(|bytes| bytes == b"PK\x03\x04").unwrap();
    let central = locked.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    locked[local + 6] |= 1;
    locked[central + 8] |= 1;
    let errors = refused(&locked, FaultKind::BadContent);
    assert!(errors.iter().all(|error| matches!(error, ProjectError::Encrypted { .. })), "{errors:?}");
}

#[test]
fn bombs_by_ratio_by_size_and_by_number() {
    let zeros = archive(|zip| {
        zip.start_file("zeros", looks()).unwrap();
        for _ in 0..70 {
            zip.write_all(&vec![0; 1 << 20]).unwrap();
        }
    });
    assert!(zeros.len() < 1 << 20);
    refused(&zeros, FaultKind::TooLarge);
    let limited = |limits| Import { limits, ..Import::default() };
    let plain = archive(|zip| {
        for n in 0..5 {
            zip.start_file(format!("{n}"), looks()).unwrap();
            zip.write_all(&[7; 100]).unwrap();
        }
    });
    refused_with(&plain, limited(Limits { bytes: 505, ..Limits::default() }), FaultKind::TooLarge);
    refused_with(&plain, limited(Limits { entries: 5, ..Limits::default() }), FaultKind::TooLarge);
    let world = World::new();
    let enough = Limits { bytes: 506, entries: 6, ..Limits::default() };
    world.unzip_with("/p/new", &plain, limited(enough)).unwrap();
}

#[test]
fn a_size_that_is_a_lie_does_not_get_past_the_bound() {
    // The central directory says one byte; what is read is counted.
    let mut lying = archive(|zip| {
        zip.start_file("more", looks()).unwrap();
        zip.write_all(&[7; 4000]).unwrap();
    });
    let central = lying.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    lying[central + 24..central + 28].copy_from_slice(&1_u32.to_le_bytes());
    let world = World::new();
    let how = Import { limits: Limits { bytes: 1000, ..Limits::default() }, ..Import::default() };
    world.unzip_with("/p/new", &lying, how).unwrap_err();
    assert_eq!(world.tree("/p"), Tree::new());
}

#[test]
fn what_is_damaged_or_no_zip() {
    refused(b"", FaultKind::BadContent);
    refused(b"not a zip at all", FaultKind::BadContent);
    let whole = with_file("second");
    refused(&whole[..whole.len() - 30], FaultKind::BadContent);
    let stored = archive(|zip| {
        let looks = looks().compression_method(zip::CompressionMethod::Stored);
        zip.start_file("stored", looks).unwrap();
        zip.write_all(b"0123456789").unwrap();
    });
    refused(&replaced(&stored, b"0123456789", b"0123456780"), FaultKind::BadContent);
}

#[test]
fn names_that_the_workspace_does_not_let_be_written() {
    for name in [".env", "deep/.env.local", "key.pem", ".envrc", ".vscode/tasks.json", "paddock.toml", ".paddock-tmp-x"]
    {
        let errors = refused(&with_file(name), FaultKind::Denied);
        assert!(errors.iter().all(|error| error.to_string().contains(name)), "{errors:?}");
        // Left out when that is asked for; and told.
        let world = World::new();
        for ground in GROUNDS {
            let how = Import { leave_out_denied: true, ..Import::default() };
            let told = world.unzip_with(&format!("{ground}/new"), &with_file(name), how).unwrap();
            assert_eq!(told.left_out.paths.len(), 1);
            assert_eq!(told.left_out.paths[0].why, WhyLeft::Denied);
            assert_eq!(world.tree(&format!("{ground}/new")), tree(&[("honest", file("honest"))]));
        }
    }
}

#[test]
fn what_stops_half_way_is_taken_back() {
    // The Workspace becomes full in the middle.
    for (ground, merge) in [("/p", false), ("/v", false), ("/p", true)] {
        let world = World::with_quota(Quota { bytes: None, files: Some(12) });
        let mine = tree(&[("0", file("mine")), ("sub", Node::Dir(0o700))]);
        if merge {
            world.plant("/p/new", &mine);
        }
        let many = archive(|zip| {
            for n in 0..20 {
                zip.start_file(format!("{n}"), looks()).unwrap();
                zip.write_all(b"x").unwrap();
            }
        });
        let how = Import { merge, ..Import::default() };
        let error = world.unzip_with(&format!("{ground}/new"), &many, how).unwrap_err();
        assert_eq!(error.kind(), FaultKind::TooLarge, "{error}");
        let expected = if merge { mine } else { Tree::new() };
        assert_eq!(world.tree(&format!("{ground}/new")), expected, "{ground}");
        assert_eq!(world.tree(ground).contains_key("new"), merge);
    }
}
