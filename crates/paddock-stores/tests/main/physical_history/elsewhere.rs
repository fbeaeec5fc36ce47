//! A place on another file system: what cannot be moved there is copied, up to a size.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use paddock_core::{Alter, Before, ErrorKind, Expect};
use paddock_stores::KeptPlace;
use tempfile::TempDir;

use super::{Pasture, append, delete, edit, kept, set_mode};
use crate::could_not_run::could_not_run;

/// A directory on another file system than the one of temporary files; nothing where there is none.
fn another_file_system() -> Option<TempDir> {
    let here = TempDir::new().unwrap();
    let Ok(other) = TempDir::new_in("/dev/shm") else {
        could_not_run("there is no /dev/shm");
        return None;
    };
    let device = |path: &Path| fs::metadata(path).unwrap().dev();
    let found = (device(here.path()) != device(other.path())).then_some(other);
    if found.is_none() {
        could_not_run("/dev/shm is no other file system than that of temporary files");
    }
    found
}

fn pasture_with_far_place(cap: u64) -> Option<(Pasture, TempDir)> {
    let other = another_file_system()?;
    let place = KeptPlace::new(&other.path().join("history")).unwrap().with_copy_cap(cap);
    Some((Pasture::with(true, |_, _| place), other))
}

#[test]
fn what_is_replaced_or_deleted_is_copied() {
    let Some((pasture, _other)) = pasture_with_far_place(1024) else { return };
    pasture.write("/w/f", "one\n");
    set_mode(&pasture.host("f"), 0o640);
    let first = kept(&pasture.write("/w/f", "two\n"));
    let second = kept(&pasture.one(edit("/w/f", "two", "three")));
    assert_eq!(pasture.one(append("/w/f", "four\n")).before, Before::Prefix(6));
    let third = kept(&pasture.run(delete("/w/f")).unwrap()[0].1);
    let texts = [&first, &second, &third].map(|kept| pasture.recall(kept).unwrap());
    assert_eq!(texts, ["one\n", "two\n", "three\nfour\n"]);
    pasture.restore("/w/f", &first).unwrap();
    assert_eq!(pasture.state()["f"], "640 one\n");
    pasture.restore("/w/f", &third).unwrap();
    pasture.alter("/w/f", Alter::Truncate(6), Expect::Any).unwrap();
    assert_eq!(pasture.state()["f"], "640 three\n");
    assert_eq!(pasture.state().len(), 1, "no temporary name stays");
    pasture.assert_counted();
}

#[test]
fn a_link_is_copied_as_a_link() {
    let Some((pasture, _other)) = pasture_with_far_place(1024) else { return };
    symlink("nowhere", pasture.host("link")).unwrap();
    let link = kept(&pasture.run(delete("/w/link")).unwrap()[0].1);
    assert!(pasture.state().is_empty());
    pasture.restore("/w/link", &link).unwrap();
    assert_eq!(pasture.state()["link"], "to nowhere");
}

#[test]
fn what_is_larger_than_the_cap_is_lost_and_the_change_is_made() {
    let Some((pasture, other)) = pasture_with_far_place(4) else { return };
    pasture.write("/w/f", "four");
    let fits = kept(&pasture.write("/w/f", "five!"));
    assert_eq!(pasture.write("/w/f", "six").before, Before::Lost);
    pasture.write("/w/f", "seven");
    assert_eq!(pasture.run(delete("/w/f")).unwrap()[0].1.before, Before::Lost);
    let left: Vec<_> = fs::read_dir(other.path().join("history")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "what was not kept leaves nothing behind: {left:?}");
    assert_eq!(pasture.recall(&fits).unwrap(), "four");
    assert!(pasture.state().is_empty());
}

#[test]
fn a_truncation_that_cannot_be_kept_happens_in_place() {
    let Some((pasture, _other)) = pasture_with_far_place(2) else { return };
    pasture.write("/w/f", "0123456789");
    let told = pasture.alter("/w/f", Alter::Truncate(5), Expect::Any).unwrap();
    assert_eq!((pasture.read("/w/f").as_str(), &told[0].1.before), ("01234", &Before::Lost));
}

#[test]
fn a_copy_is_whole_at_any_size_around_a_step() {
    let Some((pasture, _other)) = pasture_with_far_place(64 << 20) else { return };
    let step = 8 << 20;
    for len in [0, 1, step - 1, step, step + 1, 2 * step + 3] {
        let content: Vec<u8> = (0..len).map(|n: usize| b'a' + (n % 23) as u8).collect();
        let content = String::from_utf8(content).unwrap();
        fs::write(pasture.host("f"), &content).unwrap();
        let kept = kept(&pasture.write("/w/f", "x"));
        assert!(pasture.recall(&kept).unwrap() == content, "{len} bytes");
        pasture.restore("/w/f", &kept).unwrap();
        assert!(pasture.read("/w/f") == content, "{len} bytes come back");
    }
}

#[test]
fn a_delete_that_the_host_refuses_leaves_no_copy() {
    let Some((pasture, other)) = pasture_with_far_place(1024) else { return };
    if rustix::process::geteuid().is_root() {
        could_not_run("the host refuses nothing to its administrator");
        return;
    }
    pasture.write("/w/d/f", "one");
    fs::set_permissions(pasture.host("d"), fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(super::error(pasture.run(delete("/w/d/f"))), ErrorKind::HostRefuses);
    fs::set_permissions(pasture.host("d"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read_dir(other.path().join("history")).unwrap().count(), 0);
}
