//! The place itself: who may see it, what it holds, and what is done about leftovers.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::Duration;

use paddock_core::{CallId, ErrorKind, Kept, Kind, Versioned};
use paddock_stores::{KeptPlace, TEMP_PREFIX};
use tempfile::TempDir;

use super::{Pasture, delete, error, kept, set_mode, write};

const SECRET: &str = "SECRET-OF-THE-HOST";

#[test]
fn it_is_made_when_first_needed_and_for_its_owner_alone() {
    let pasture = Pasture::new();
    let system = pasture.dir.path().join("system");
    pasture.write("/w/f", "one");
    assert_eq!(fs::metadata(system.join("history")).unwrap().mode() & 0o7777, 0o700);
    let loose = Pasture::with(true, |dir, place| {
        fs::create_dir_all(dir.join("system/history")).unwrap();
        set_mode(&dir.join("system/history"), 0o755);
        place
    });
    loose.write("/w/f", "one");
    assert_eq!(fs::metadata(loose.dir.path().join("system/history")).unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn a_place_that_cannot_be_had_is_told_before_anything_changes() {
    let pasture = Pasture::with(true, |dir, place| {
        fs::write(dir.join("system"), "a file where the directory should be").unwrap();
        place
    });
    assert_eq!(error(pasture.run(write("/w/f", "one"))), ErrorKind::NotADirectory);
    assert!(!pasture.host("f").exists());
}

#[test]
fn a_place_that_was_cleared_away_is_made_again() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    let first = kept(&pasture.write("/w/f", "two"));
    fs::remove_dir_all(pasture.dir.path().join("system")).unwrap();
    assert_eq!(pasture.recall(&first), Err(ErrorKind::NotKept));
    let second = kept(&pasture.write("/w/f", "three"));
    assert_eq!(pasture.recall(&second).unwrap(), "two");
    assert_eq!(error(pasture.restore("/w/f", &first)), ErrorKind::NotKept);
    assert_eq!(pasture.read("/w/f"), "three");
}

#[test]
fn entries_tell_name_size_and_age() {
    let pasture = Pasture::new();
    assert_eq!(pasture.place.entries().unwrap(), []);
    pasture.write("/w/f", "four");
    let first = kept(&pasture.write("/w/f", "two"));
    let second = kept(&pasture.run(delete("/w/f")).unwrap()[0].1);
    // What others keep beside it is not listed, nor what is no file.
    fs::write(pasture.dir.path().join("system/history/held.json"), "{}").unwrap();
    fs::create_dir(pasture.dir.path().join("system/history").join(CallId::next().to_string())).unwrap();
    let entries = pasture.place.entries().unwrap();
    let mut told: Vec<_> = entries.iter().map(|entry| (entry.len, entry.kind, &entry.kept)).collect();
    // Both may be of one millisecond, and then their order says nothing.
    told.sort_by_key(|(len, ..)| *len);
    assert_eq!(told, [(3, Kind::File, &second), (4, Kind::File, &first)]);
    assert!(entries.iter().all(|entry| entry.age() < Duration::from_secs(3600)));
}

#[test]
fn what_a_process_left_that_died_before_it_was_told_of_is_found_and_released() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    let named = kept(&pasture.write("/w/f", "two"));
    // Kept, and never told to anybody: a name of two days ago.
    let two_days_ago = CallId(CallId::next().0 - ((2 * 24 * 3600 * 1000_u128) << 80)).to_string();
    fs::write(pasture.dir.path().join("system/history").join(&two_days_ago), "left over").unwrap();
    let day = Duration::from_secs(24 * 3600);
    let old: Vec<_> = pasture.place.entries().unwrap().into_iter().filter(|entry| entry.age() > day).collect();
    assert_eq!(old.iter().map(|entry| (entry.kept.0.as_str(), entry.len)).collect::<Vec<_>>(), [(&*two_days_ago, 9)]);
    pasture.place.release(&[old[0].kept.clone()]).unwrap();
    let left: Vec<_> = pasture.place.entries().unwrap().into_iter().map(|entry| entry.kept).collect();
    assert_eq!(left, [named]);
}

#[test]
fn a_copy_that_was_never_finished_is_not_kept_and_goes_after_a_day() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    let named = kept(&pasture.write("/w/f", "two"));
    let history = pasture.dir.path().join("system/history");
    let unfinished = |days: u128| {
        let id = CallId(CallId::next().0 - ((days * 24 * 3600 * 1000) << 80));
        let path = history.join(format!("{TEMP_PREFIX}{id}"));
        fs::write(&path, "half").unwrap();
        path
    };
    let (old, new) = (unfinished(2), unfinished(0));
    let listed: Vec<_> = pasture.place.entries().unwrap().into_iter().map(|entry| entry.kept).collect();
    assert_eq!(listed, [named]);
    assert!(!old.exists() && new.exists(), "somebody may still be at the new one");
}

#[test]
fn what_is_released_is_gone_and_can_be_released_again() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    let first = kept(&pasture.write("/w/f", "two"));
    let second = kept(&pasture.write("/w/f", "three"));
    for _ in 0..2 {
        pasture.call(|call| pasture.store.release(call, std::slice::from_ref(&first))).unwrap();
    }
    assert_eq!(pasture.recall(&first), Err(ErrorKind::NotKept));
    assert_eq!(error(pasture.restore("/w/f", &first)), ErrorKind::NotKept);
    assert_eq!(pasture.recall(&second).unwrap(), "two");
}

#[test]
fn a_part_of_what_is_kept_is_read_by_itself() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "0123456789");
    let first = kept(&pasture.write("/w/f", "x"));
    let part = |range| pasture.call(|call| pasture.vfs.recall(call, &super::logical("/w/f"), &first, &range).unwrap());
    assert_eq!(part(2..5).0, b"234");
    assert_eq!(part(8..50).0, b"89");
    assert_eq!((part(50..60).0.as_slice(), part(0..0).1.len), (&b""[..], 10));
}

#[test]
fn no_name_leads_out_of_it_and_no_link_in_it_is_followed() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    pasture.write("/w/f", "two");
    fs::write(pasture.dir.path().join("secret"), SECRET).unwrap();
    let planted = CallId::next().to_string();
    symlink("../../secret", pasture.dir.path().join("system/history").join(&planted)).unwrap();
    for name in ["../../secret", "../secret", "/etc/hostname", "", ".", "..", &format!("./{planted}")] {
        let name = Kept(name.to_owned());
        assert_eq!(pasture.recall(&name), Err(ErrorKind::NotKept), "{name:?}");
        assert_eq!(error(pasture.restore("/w/f", &name)), ErrorKind::NotKept, "{name:?}");
        let released = pasture.call(|call| pasture.store.release(call, std::slice::from_ref(&name)));
        assert_eq!(*released.unwrap_err().kind(), ErrorKind::NotKept, "{name:?}");
    }
    let planted = Kept(planted);
    assert_eq!(pasture.recall(&planted), Err(ErrorKind::Link));
    pasture.restore("/w/f", &planted).unwrap();
    assert_eq!(pasture.state()["f"], "to ../../secret", "it comes back as the link that it is, and is judged as one");
    assert!(pasture.dir.path().join("secret").exists());
}

#[test]
fn a_link_on_the_way_to_it_is_resolved_once_and_never_again() {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("mount")).unwrap();
    fs::create_dir_all(dir.path().join("real")).unwrap();
    symlink("real", dir.path().join("alias")).unwrap();
    let pasture = Pasture::at(dir, true, |dir, _| KeptPlace::new(&dir.join("alias/history")).unwrap());
    pasture.write("/w/f", "one");
    kept(&pasture.write("/w/f", "two"));
    assert_eq!(fs::read_dir(pasture.dir.path().join("real/history")).unwrap().count(), 1);
    // Somebody puts a link where the directory was.
    fs::rename(pasture.dir.path().join("real"), pasture.dir.path().join("away")).unwrap();
    fs::create_dir_all(pasture.dir.path().join("trap/history")).unwrap();
    symlink("trap", pasture.dir.path().join("real")).unwrap();
    fs::remove_dir_all(pasture.dir.path().join("away/history")).unwrap();
    assert!(pasture.run(write("/w/f", "three")).is_err());
    assert_eq!(fs::read_dir(pasture.dir.path().join("trap/history")).unwrap().count(), 0);
    assert_eq!(pasture.read("/w/f"), "two");
}
