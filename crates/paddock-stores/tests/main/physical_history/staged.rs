//! A staged file is taken itself where it can be, and copied where it cannot.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use paddock_core::{Alter, Before, Expect, Looks, Staged};
use tempfile::TempDir;

use super::Pasture;
use crate::could_not_run::could_not_run;

/// A file in a directory of its own, ready to be taken.
pub(super) fn staged(home: &Path, name: &str, content: &str, mode: u32) -> Staged {
    let path = home.join(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let dir = Arc::new(OwnedFd::from(File::open(home).unwrap()));
    Staged::new(File::open(&path).unwrap(), content.len() as u64, mode, time).at(dir, name.to_owned())
}

fn version_now(pasture: &Pasture, path: &str) -> paddock_core::Version {
    pasture.alter(path, Alter::Truncate(u64::MAX), Expect::Any).unwrap()[0].1.version.unwrap()
}

#[test]
fn the_file_itself_is_taken_and_leaves_where_it_waited() {
    let pasture = Pasture::new();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    pasture.write("/w/there", "old");
    for name in ["there", "new/f"] {
        let file = staged(home.path(), "f", "made elsewhere", 0o6755);
        let inode = file.file().metadata().unwrap().ino();
        let told = pasture.alter(&format!("/w/{name}"), Alter::Take(file), Expect::Any).unwrap();
        let now = fs::metadata(pasture.host(name)).unwrap();
        assert_eq!((now.ino(), now.nlink(), now.mode() & 0o7777), (inode, 1, 0o755), "{name}");
        assert!(!home.path().join("f").exists(), "{name}");
        assert_eq!(told[0].1.version, Some(version_now(&pasture, &format!("/w/{name}"))), "{name}");
        if name == "there" {
            let Before::Kept(kept) = &told[0].1.before else { panic!("{told:?}") };
            assert_eq!(pasture.recall(kept).unwrap(), "old");
            pasture.restore("/w/there", kept).unwrap();
            assert_eq!(pasture.read("/w/there"), "old");
        }
    }
}

#[test]
fn a_file_with_another_name_is_copied_so_that_nobody_writes_through_it() {
    let pasture = Pasture::new();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    let file = staged(home.path(), "f", "content", 0o644);
    fs::hard_link(home.path().join("f"), home.path().join("other")).unwrap();
    pasture.alter("/w/f", Alter::Take(file), Expect::Any).unwrap();
    fs::write(home.path().join("other"), "changed later").unwrap();
    assert_eq!(pasture.read("/w/f"), "content");
    assert_eq!(fs::metadata(pasture.host("f")).unwrap().nlink(), 1);
}

#[test]
fn a_file_of_another_file_system_is_copied() {
    let pasture = Pasture::new();
    let Ok(home) = TempDir::new_in("/dev/shm") else { return could_not_run("there is no /dev/shm") };
    let file = staged(home.path(), "f", "from memory", 0o600);
    pasture.alter("/w/f", Alter::Take(file), Expect::Any).unwrap();
    assert_eq!(pasture.read("/w/f"), "from memory");
    assert_eq!(fs::metadata(pasture.host("f")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn another_file_under_the_name_is_not_taken_for_it() {
    let pasture = Pasture::new();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    let file = staged(home.path(), "f", "the right one", 0o644);
    fs::rename(home.path().join("f"), home.path().join("moved")).unwrap();
    fs::write(home.path().join("f"), "a wrong one").unwrap();
    assert!(pasture.alter("/w/f", Alter::Take(file), Expect::Any).is_err());
    assert!(!pasture.host("f").exists());
    assert_eq!(fs::read_dir(pasture.host("")).unwrap().count(), 0);
}

#[test]
fn what_something_looked_like_is_told_and_comes_back() {
    let pasture = Pasture::new();
    pasture.write("/w/d/f", "x");
    let was = fs::metadata(pasture.host("d/f")).unwrap();
    let told = pasture.alter("/w/d/f", Alter::Dress(Looks { mode: Some(0o700), modified: None }), Expect::Any).unwrap();
    let Before::Looks(looks) = told[0].1.before else { panic!("{told:?}") };
    pasture.alter("/w/d/f", Alter::Dress(looks), Expect::Is(told[0].1.version.unwrap())).unwrap();
    let now = fs::metadata(pasture.host("d/f")).unwrap();
    assert_eq!((now.mode(), now.modified().unwrap()), (was.mode(), was.modified().unwrap()));
}

#[test]
fn what_somebody_changed_meanwhile_is_not_replaced() {
    let pasture = Pasture::new();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    pasture.write("/w/f", "before");
    std::thread::sleep(Duration::from_millis(20));
    let began = std::time::SystemTime::now();
    let take = |name: &str| {
        let file = staged(home.path(), "f", "by the command", 0o644);
        pasture.alter(&format!("/w/{name}"), Alter::Take(file), Expect::UnchangedSince(began))
    };
    take("f").unwrap();
    take("new").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    pasture.write("/w/g", "by somebody else");
    assert_eq!(super::error(take("g")), paddock_core::ErrorKind::Stale);
    // Setting the time of the content back does not help.
    fs::File::open(pasture.host("g")).unwrap().set_modified(UNIX_EPOCH).unwrap();
    assert_eq!(super::error(take("g")), paddock_core::ErrorKind::Stale);
    assert_eq!(pasture.read("/w/g"), "by somebody else");
}
