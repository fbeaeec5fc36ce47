//! Names: directories, links, removals and renames.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use paddock_core::AccessScope;
use paddock_stores::PhysicalStore;
use paddock_stores::virtual_store::VirtualStore;
use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps, renameat_with, utimensat};
use rustix::io::Errno;

use crate::world::{Mounted, errno, hiding, names, one, read, soon, vfs, workspace, write};

#[test]
fn directories_come_and_go() {
    let mounted = Mounted::writable(one());
    fs::create_dir_all(mounted.at("/w/a/b/c")).unwrap();
    assert_eq!(errno(fs::create_dir(mounted.at("/w/a"))), Some(Errno::EXIST.raw_os_error()));
    assert_eq!(errno(fs::remove_dir(mounted.at("/w/a"))), Some(Errno::NOTEMPTY.raw_os_error()));
    rustix::fs::mkdir(mounted.at("/w/private"), 0o700.into()).unwrap();
    assert_eq!(fs::metadata(mounted.at("/w/private")).unwrap().mode() & 0o777, 0o700);
    fs::remove_dir_all(mounted.at("/w/a")).unwrap();
    assert_eq!(names(&mounted.at("/w")), ["private"]);
    assert_eq!(errno(fs::remove_dir(mounted.at("/w"))), Some(Errno::BUSY.raw_os_error()), "a Workspace stays");
    let open = File::create(mounted.at("/w/private/being-made")).unwrap();
    assert_eq!(errno(fs::remove_dir(mounted.at("/w/private"))), Some(Errno::NOTEMPTY.raw_os_error()));
    drop(open);
}

#[test]
fn links_are_made_read_and_followed() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/d/real", "content");
    symlink("d/real", mounted.at("/w/l")).unwrap();
    symlink("../nowhere", mounted.at("/w/d/dangling")).unwrap();
    assert_eq!(fs::read_link(mounted.at("/w/l")).unwrap().to_str(), Some("d/real"));
    assert_eq!(fs::read_link(mounted.at("/w/d/dangling")).unwrap().to_str(), Some("../nowhere"));
    assert_eq!(fs::read_to_string(mounted.at("/w/l")).unwrap(), "content");
    assert_eq!(fs::symlink_metadata(mounted.at("/w/l")).unwrap().len(), 6);
    assert_eq!(read(&mounted.vfs, "/w/l").as_deref(), Some("content"));
    fs::write(mounted.at("/w/l"), "through").unwrap();
    assert_eq!(read(&mounted.vfs, "/w/d/real").as_deref(), Some("through"));
    assert!(fs::symlink_metadata(mounted.at("/w/l")).unwrap().is_symlink(), "the link stays one");
    assert_eq!(errno(symlink("x", mounted.at("/w/l"))), Some(Errno::EXIST.raw_os_error()));
    fs::rename(mounted.at("/w/l"), mounted.at("/w/m")).unwrap();
    assert_eq!(fs::read_link(mounted.at("/w/m")).unwrap().to_str(), Some("d/real"));
}

/// What `cp -a` and `touch -h` ask for.
fn set_time(link: &Path) -> Result<(), Errno> {
    let time = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, link, &times, AtFlags::SYMLINK_NOFOLLOW)
}

#[test]
fn the_time_of_a_link_may_be_set_and_nothing_becomes_of_it() {
    let dir = tempfile::TempDir::new().unwrap();
    symlink("there", dir.path().join("before")).unwrap();
    let disk = |scope, prefix| workspace(prefix, scope, Arc::new(PhysicalStore::new(dir.path()).unwrap()));
    let mounted = Mounted::writable(vfs(vec![
        workspace("/rows", AccessScope::ReadWrite, Arc::new(VirtualStore::in_memory())),
        disk(AccessScope::ReadWrite, "/disk"),
        disk(AccessScope::ReadOnly, "/looked-at"),
    ]));
    for link in ["/rows/l", "/disk/l"] {
        symlink("nowhere", mounted.at(link)).unwrap();
        set_time(&mounted.at(link)).unwrap_or_else(|e| panic!("{link}: {e}"));
        assert_eq!(fs::read_link(mounted.at(link)).unwrap().to_str(), Some("nowhere"), "{link}");
    }
    assert!(set_time(&mounted.at("/looked-at/before")).is_err(), "only where something may be changed");
}

fn renames(mounted: &Mounted) {
    let at = |name: &str| mounted.at(&format!("/w/{name}"));
    fs::write(at("a"), "a").unwrap();
    fs::write(at("b"), "b").unwrap();
    let inode = fs::metadata(at("a")).unwrap().ino();
    let reader = File::open(at("b")).unwrap();
    fs::rename(at("a"), at("b")).unwrap();
    assert_eq!((read(&mounted.vfs, "/w/b").as_deref(), read(&mounted.vfs, "/w/a")), (Some("a"), None));
    assert_eq!(fs::read_to_string(at("b")).unwrap(), "a");
    assert_eq!(fs::metadata(at("b")).unwrap().ino(), inode, "it is the same file");
    let mut old = [0];
    reader.read_exact_at(&mut old, 0).unwrap();
    assert_eq!(&old, b"b", "who had the replaced one open keeps it");
    fs::write(at("c"), "c").unwrap();
    let kept = renameat_with(CWD, at("c"), CWD, at("b"), RenameFlags::NOREPLACE);
    assert_eq!(kept, Err(Errno::EXIST));
    assert_eq!(renameat_with(CWD, at("c"), CWD, at("b"), RenameFlags::EXCHANGE), Err(Errno::INVAL));
    renameat_with(CWD, at("c"), CWD, at("new"), RenameFlags::NOREPLACE).unwrap();
    let mut writer = File::create(at("writing")).unwrap();
    writer.write_all(b"before").unwrap();
    fs::rename(at("writing"), at("new")).unwrap();
    writer.write_all(b" and after").unwrap();
    writer.sync_all().unwrap();
    drop(writer);
    assert_eq!(read(&mounted.vfs, "/w/new").as_deref(), Some("before and after"));
    fs::create_dir_all(at("dir/sub")).unwrap();
    fs::write(at("dir/sub/f"), "deep").unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full/f"), "x").unwrap();
    assert_eq!(errno(fs::rename(at("dir"), at("full"))), Some(Errno::NOTEMPTY.raw_os_error()));
    assert_eq!(errno(fs::rename(at("dir"), at("new"))), Some(Errno::NOTDIR.raw_os_error()));
    assert_eq!(errno(fs::rename(at("new"), at("empty"))), Some(Errno::ISDIR.raw_os_error()));
    fs::rename(at("dir"), at("empty")).unwrap();
    assert_eq!(fs::read_to_string(at("empty/sub/f")).unwrap(), "deep");
    assert_eq!(errno(fs::rename(at("none"), at("x"))), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(names(&mounted.at("/w")), ["b", "empty", "full", "new"]);
}

#[test]
fn a_rename_takes_the_place_of_what_is_there() {
    renames(&Mounted::writable(one()));
}

#[test]
fn a_rename_takes_the_place_of_what_is_there_on_the_hosts_disk_too() {
    let host = tempfile::tempdir().unwrap();
    let store = PhysicalStore::new(host.path()).unwrap();
    renames(&Mounted::writable(vfs(vec![workspace("/w", AccessScope::ReadWrite, Arc::new(store))])));
}

#[test]
fn what_is_written_follows_its_name() {
    let mounted = Mounted::writable(one());
    let mut file = File::create(mounted.at("/w/before")).unwrap();
    file.write_all(b"first").unwrap();
    fs::rename(mounted.at("/w/before"), mounted.at("/w/after")).unwrap();
    file.write_all(b" second").unwrap();
    drop(file);
    assert_eq!(read(&mounted.vfs, "/w/after").as_deref(), Some("first second"));
    fs::create_dir(mounted.at("/w/d")).unwrap();
    let mut inside = File::create(mounted.at("/w/d/f")).unwrap();
    inside.write_all(b"inside").unwrap();
    inside.sync_all().unwrap();
    fs::rename(mounted.at("/w/d"), mounted.at("/w/e")).unwrap();
    inside.write_all(b" and more").unwrap();
    drop(inside);
    assert_eq!(read(&mounted.vfs, "/w/e/f").as_deref(), Some("inside and more"));
    assert_eq!(names(&mounted.at("/w")), ["after", "e"]);
}

#[test]
fn nothing_crosses_from_workspace_to_workspace_by_a_rename() {
    let two = |prefix| workspace(prefix, AccessScope::ReadWrite, Arc::new(VirtualStore::in_memory()));
    let mounted = Mounted::writable(vfs(vec![two("/w"), two("/v")]));
    fs::write(mounted.at("/w/f"), "x").unwrap();
    assert_eq!(errno(fs::rename(mounted.at("/w/f"), mounted.at("/v/f"))), Some(Errno::XDEV.raw_os_error()));
    let moved = std::process::Command::new("mv").arg(mounted.at("/w/f")).arg(mounted.at("/v/f")).status().unwrap();
    assert!(moved.success(), "mv copies then");
    assert_eq!((read(&mounted.vfs, "/v/f").as_deref(), read(&mounted.vfs, "/w/f")), (Some("x"), None));
}

#[test]
fn what_a_store_does_not_know_is_refused() {
    let mounted = Mounted::writable(one());
    fs::write(mounted.at("/w/f"), "x").unwrap();
    assert_eq!(errno(fs::hard_link(mounted.at("/w/f"), mounted.at("/w/g"))), Some(Errno::PERM.raw_os_error()));
    let pipe = rustix::fs::mknodat(CWD, mounted.at("/w/p"), rustix::fs::FileType::Fifo, 0o644.into(), 0);
    assert_eq!(pipe, Err(Errno::PERM));
    let bytes = mounted.at("/w").join(OsStr::from_bytes(b"not-utf8-\xff"));
    assert_eq!(errno(fs::write(&bytes, "x")), Some(Errno::ILSEQ.raw_os_error()));
    assert_eq!(errno(fs::write(mounted.at("/w/back\\slash"), "x")), Some(Errno::INVAL.raw_os_error()));
    assert_eq!(errno(fs::metadata(mounted.at("/w/back\\slash"))), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(errno(fs::write(mounted.at("/outside"), "x")), Some(Errno::ACCESS.raw_os_error()));
}

#[test]
fn a_directory_that_holds_something_hidden_stays() {
    let store = Arc::new(VirtualStore::in_memory());
    let seeding = vfs(vec![workspace("/w", AccessScope::ReadWrite, Arc::clone(&store) as _)]);
    write(&seeding, "/w/d/secret", "s");
    let mounted =
        Mounted::writable(vfs(vec![workspace("/w", AccessScope::ReadWrite, store).with_names(hiding(&["secret"]))]));
    assert_eq!(names(&mounted.at("/w/d")), Vec::<String>::new());
    assert_eq!(errno(fs::remove_dir(mounted.at("/w/d"))), Some(Errno::ACCESS.raw_os_error()));
    assert_eq!(errno(fs::rename(mounted.at("/w/d"), mounted.at("/w/e"))), Some(Errno::ACCESS.raw_os_error()));
    assert_eq!(errno(fs::write(mounted.at("/w/secret"), "x")), Some(Errno::ACCESS.raw_os_error()));
    assert_eq!(read(&seeding, "/w/d/secret").as_deref(), Some("s"));
}

#[test]
fn numbers_stay_while_they_are_known_and_are_freed_then() {
    let mounted = Mounted::writable(one());
    for n in 0..200 {
        fs::write(mounted.at(&format!("/w/f{n}")), "x").unwrap();
    }
    let first = fs::metadata(mounted.at("/w/f7")).unwrap().ino();
    assert_eq!(fs::metadata(mounted.at("/w/f7")).unwrap().ino(), first);
    assert!(mounted.session().known() >= 200);
    for n in 0..200 {
        fs::remove_file(mounted.at(&format!("/w/f{n}"))).unwrap();
    }
    assert!(soon(|| mounted.session().known() < 10), "{} are still known", mounted.session().known());
}
