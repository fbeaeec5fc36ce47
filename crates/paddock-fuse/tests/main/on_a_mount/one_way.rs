//! Write-only Workspaces: what goes in never comes back.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;

use paddock_core::{AccessScope, Vfs};
use paddock_stores::virtual_store::VirtualStore;
use rustix::io::Errno;

use crate::world::{Mounted, errno, read, vfs, workspace, write};

/// A drop box at `/drop`, and the same Store for whoever empties it.
fn drop_box() -> (Mounted, Arc<Vfs>) {
    let store = Arc::new(VirtualStore::in_memory());
    let behind = vfs(vec![workspace("/drop", AccessScope::ReadWrite, Arc::clone(&store) as _)]);
    write(&behind, "/drop/there", "already");
    (Mounted::writable(vfs(vec![workspace("/drop", AccessScope::WriteOnly, store)])), behind)
}

#[test]
fn files_go_in_and_nothing_comes_back() {
    let (mounted, behind) = drop_box();
    fs::write(mounted.at("/drop/new"), "for you").unwrap();
    assert_eq!(read(&behind, "/drop/new").as_deref(), Some("for you"));
    for name in ["there", "new"] {
        assert_eq!(errno(fs::read(mounted.at(&format!("/drop/{name}")))), Some(Errno::NOENT.raw_os_error()));
        assert_eq!(errno(fs::metadata(mounted.at(&format!("/drop/{name}")))), Some(Errno::NOENT.raw_os_error()));
    }
    let listed = fs::read_dir(mounted.at("/drop")).and_then(|mut all| all.next().unwrap());
    assert_eq!(errno(listed), Some(Errno::ACCESS.raw_os_error()));
    assert!(fs::remove_file(mounted.at("/drop/there")).is_err());
    assert!(fs::rename(mounted.at("/drop/there"), mounted.at("/drop/x")).is_err());
    assert_eq!(errno(fs::create_dir(mounted.at("/drop/d"))), Some(Errno::ACCESS.raw_os_error()));
    assert_eq!(read(&behind, "/drop/there").as_deref(), Some("already"));
}

#[test]
fn what_is_there_makes_no_difference() {
    let (mounted, behind) = drop_box();
    for name in ["there", "fresh"] {
        let mut file = File::create_new(mounted.at(&format!("/drop/{name}"))).unwrap();
        file.write_all(b"new ").unwrap();
        file.sync_all().unwrap();
        file.write_all(b"content").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 11, "of what was written itself");
        drop(file);
        assert_eq!(read(&behind, &format!("/drop/{name}")).as_deref(), Some("new content"));
    }
}

#[test]
fn what_is_appended_goes_to_the_end() {
    let (mounted, behind) = drop_box();
    let mut file = OpenOptions::new().append(true).create(true).open(mounted.at("/drop/there")).unwrap();
    file.write_all(b" and").unwrap();
    file.sync_all().unwrap();
    file.write_all(b" more").unwrap();
    drop(file);
    assert_eq!(read(&behind, "/drop/there").as_deref(), Some("already and more"));
}

#[test]
fn programs_can_put_things_in() {
    let (mounted, behind) = drop_box();
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), "copied").unwrap();
    let copied = Command::new("cp").arg(source.path()).arg(mounted.at("/drop/copy")).status().unwrap();
    assert!(copied.success());
    assert_eq!(read(&behind, "/drop/copy").as_deref(), Some("copied"));
    let script = format!("echo one >> {0}; echo two >> {0}", mounted.at("/drop/log").display());
    assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
    assert_eq!(read(&behind, "/drop/log").as_deref(), Some("one\ntwo\n"));
}

/// The kernel tells the last close of a file late: by then it may have been made again.
#[test]
fn one_append_after_the_other_arrives() {
    let (mounted, behind) = drop_box();
    let path = mounted.at("/drop/log");
    for _ in 0..2000 {
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        file.write_all(b"x").unwrap();
    }
    drop(mounted);
    assert_eq!(read(&behind, "/drop/log").map(|text| text.len()), Some(2000));
}
