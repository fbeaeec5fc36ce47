//! What the host refuses an ordinary user on the way of a change is no reason to make half of it.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use paddock_core::{Alter, Before, Expect, Staged};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tempfile::TempDir;

use super::staged::staged;
use super::{Pasture, append, set_mode};
use crate::could_not_run::could_not_run;

/// Somebody who is not the administrator.
const NOBODY: u32 = 65_534;

/// Acts as an ordinary user, on a thread that is nobody else's.
fn as_ordinary_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let acts = || {
        if geteuid().is_root() {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(group, group, group).unwrap();
            set_thread_res_uid(user, user, user).unwrap();
        }
        act()
    };
    thread::scope(|threads| threads.spawn(acts).join().unwrap())
}

/// Gives a file or directory to the ordinary user.
fn give(path: &Path) {
    if geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

fn pasture() -> Pasture {
    let pasture = Pasture::new();
    give(pasture.dir.path());
    give(&pasture.host(""));
    pasture
}

#[test]
fn an_append_to_a_file_of_somebody_else_is_told() {
    if !geteuid().is_root() {
        return could_not_run("only root can make a file that is somebody else's");
    }
    let pasture = pasture();
    fs::write(pasture.host("log"), "theirs\n").unwrap();
    set_mode(&pasture.host("log"), 0o666);
    let told = as_ordinary_user(|| pasture.run(append("/w/log", "ours\n"))).unwrap();
    assert_eq!(told[0].1.before, Before::Prefix(7));
    assert_eq!(pasture.read("/w/log"), "theirs\nours\n");
    pasture.assert_version(&told);
}

#[test]
fn a_staged_file_that_cannot_leave_is_copied() {
    let pasture = pasture();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    let file = staged(home.path(), "f", "from a read-only directory", 0o644);
    give(home.path());
    give(&home.path().join("f"));
    set_mode(home.path(), 0o555);
    let told = as_ordinary_user(|| pasture.alter("/w/f", Alter::Take(file), Expect::Any)).unwrap();
    set_mode(home.path(), 0o755);
    drop(home);
    assert_eq!(pasture.read("/w/f"), "from a read-only directory");
    pasture.assert_version(&told);
}

#[test]
fn a_staged_file_that_nobody_may_open_is_taken() {
    let pasture = pasture();
    let home = TempDir::new_in(pasture.dir.path()).unwrap();
    let open = staged(home.path(), "f", "sealed", 0o600);
    set_mode(&home.path().join("f"), 0);
    let dir = Arc::new(OwnedFd::from(File::open(home.path()).unwrap()));
    let file = Staged::new(open.file().try_clone().unwrap(), open.len(), 0, open.modified()).at(dir, "f".to_owned());
    give(home.path());
    give(&home.path().join("f"));
    as_ordinary_user(|| pasture.alter("/w/f", Alter::Take(file), Expect::Any)).unwrap();
    let names: Vec<_> = fs::read_dir(pasture.host("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
    let now = fs::metadata(pasture.host("f")).unwrap();
    assert_eq!((now.mode() & 0o777, now.nlink()), (0, 1));
}
