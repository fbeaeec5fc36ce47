//! Files are written as everywhere, and each close is one call.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use paddock_core::{AccessScope, Operation, Quota};
use paddock_fuse::{How, Others};
use paddock_stores::virtual_store::VirtualStore;
use rustix::io::Errno;

use crate::world::{Mounted, act, counted, errno, names, one, path, read, soon, vfs, workspace, write};

#[test]
fn what_is_written_is_there_for_the_file_tools_when_it_is_closed() {
    let mounted = Mounted::writable(one());
    fs::write(mounted.at("/w/new"), "hello").unwrap();
    assert_eq!(read(&mounted.vfs, "/w/new").as_deref(), Some("hello"));
    fs::write(mounted.at("/w/new"), "bye").unwrap();
    assert_eq!(read(&mounted.vfs, "/w/new").as_deref(), Some("bye"));
    assert_eq!(fs::read_to_string(mounted.at("/w/new")).unwrap(), "bye");
}

#[test]
fn each_close_is_one_call() {
    let (vfs, gate) = counted();
    let mounted = Mounted::writable(vfs);
    let at = mounted.at("/w/f");
    fs::write(&at, "one").unwrap();
    assert_eq!(gate.take(), 1, "created, written, closed");
    let mut file = OpenOptions::new().append(true).open(&at).unwrap();
    for _ in 0..10 {
        file.write_all(b" more").unwrap();
    }
    assert_eq!(gate.take(), 0, "nothing before it is closed");
    file.sync_all().unwrap();
    assert_eq!(gate.take(), 1, "but when it is synced");
    drop(file);
    assert_eq!(gate.take(), 0, "nothing was written since");
    let done = Command::new("sh").arg("-c").arg(format!("echo hi > {}", at.display())).status().unwrap();
    assert!(done.success());
    assert_eq!((gate.take(), read(&mounted.vfs, "/w/f").as_deref()), (1, Some("hi\n")), "as a shell does it");
    fs::set_permissions(&at, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(gate.take(), 1, "a mode by itself is a call");
}

#[test]
fn a_file_that_is_only_made_is_seen_at_once_and_kept_soon() {
    let mounted = Mounted::writable(one());
    let file = File::create(mounted.at("/w/made")).unwrap();
    assert_eq!(names(&mounted.at("/w")), ["made"], "it is listed while it is open");
    assert_eq!(fs::metadata(mounted.at("/w/made")).unwrap().len(), 0);
    assert_eq!(read(&mounted.vfs, "/w/made"), None);
    drop(file);
    assert!(soon(|| read(&mounted.vfs, "/w/made").as_deref() == Some("")));
    assert_eq!(names(&mounted.at("/w")), ["made"]);
}

#[test]
fn a_file_that_is_made_for_reading_is_made() {
    let mounted = Mounted::writable(one());
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CREATE;
    drop(rustix::fs::open(mounted.at("/w/made"), flags, 0o600.into()).unwrap());
    assert!(soon(|| read(&mounted.vfs, "/w/made").as_deref() == Some("")));
    assert_eq!(fs::metadata(mounted.at("/w/made")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_is_open_when_it_ends_is_kept() {
    let mounted = Mounted::writable(one());
    let made = File::create(mounted.at("/w/made")).unwrap();
    let mut written = File::create(mounted.at("/w/written")).unwrap();
    written.write_all(b"all of it").unwrap();
    let vfs = Arc::clone(&mounted.vfs);
    drop(mounted);
    assert_eq!(read(&vfs, "/w/made").as_deref(), Some(""));
    assert_eq!(read(&vfs, "/w/written").as_deref(), Some("all of it"));
    drop((made, written));
}

#[test]
fn parts_are_written_in_place() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/f", "0123456789");
    let file = OpenOptions::new().read(true).write(true).open(mounted.at("/w/f")).unwrap();
    file.write_all_at(b"ab", 3).unwrap();
    file.write_all_at(b"z", 12).unwrap();
    let mut all = String::new();
    (&file).read_to_string(&mut all).unwrap();
    assert_eq!(all, "012ab56789\0\0z");
    assert_eq!(fs::read(mounted.at("/w/f")).unwrap(), b"012ab56789\0\0z", "others see it before it is closed");
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("0123456789"));
    drop(file);
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("012ab56789\0\0z"));
}

#[test]
fn lengths_change_with_and_without_an_open_file() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/f", "0123456789");
    let cut = Command::new("truncate").arg("-s").arg("4").arg(mounted.at("/w/f")).status().unwrap();
    assert!(cut.success());
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("0123"));
    let file = OpenOptions::new().write(true).open(mounted.at("/w/f")).unwrap();
    file.set_len(2).unwrap();
    file.set_len(3).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 3);
    drop(file);
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("01\0"));
    let emptied = OpenOptions::new().write(true).truncate(true).open(mounted.at("/w/f")).unwrap();
    assert_eq!(fs::metadata(mounted.at("/w/f")).unwrap().len(), 0);
    drop(emptied);
    assert!(soon(|| read(&mounted.vfs, "/w/f").as_deref() == Some("")));
}

#[test]
fn appends_of_two_who_have_it_open_follow_each_other() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/log", "start\n");
    let open = || OpenOptions::new().append(true).open(mounted.at("/w/log")).unwrap();
    let (mut one, mut other) = (open(), open());
    one.write_all(b"one\n").unwrap();
    other.write_all(b"other\n").unwrap();
    one.write_all(b"one again\n").unwrap();
    drop((one, other));
    assert_eq!(read(&mounted.vfs, "/w/log").as_deref(), Some("start\none\nother\none again\n"));
}

#[test]
fn a_mapped_file_is_written_through_its_mapping() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/f", "0123456789");
    let script = "import mmap,sys\n\
        f=open(sys.argv[1],'r+b')\n\
        m=mmap.mmap(f.fileno(),0)\n\
        f.close()\n\
        m[2:5]=b'abc'\n\
        m.close()\n";
    let ran = Command::new("python3").arg("-c").arg(script).arg(mounted.at("/w/f")).status().unwrap();
    assert!(ran.success());
    assert!(soon(|| read(&mounted.vfs, "/w/f").as_deref() == Some("01abc56789")));
}

#[test]
fn a_file_that_is_open_outlives_its_name() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/old", "content");
    let reader = File::open(mounted.at("/w/old")).unwrap();
    let mut writer = OpenOptions::new().read(true).write(true).open(mounted.at("/w/old")).unwrap();
    fs::remove_file(mounted.at("/w/old")).unwrap();
    assert_eq!(read(&mounted.vfs, "/w/old"), None);
    let mut seen = [0; 7];
    reader.read_exact_at(&mut seen, 0).unwrap();
    assert_eq!(&seen, b"content");
    writer.write_all(b"CONTENT and more").unwrap();
    writer.seek(SeekFrom::Start(0)).unwrap();
    let mut now = String::new();
    writer.read_to_string(&mut now).unwrap();
    assert_eq!(now, "CONTENT and more");
    assert_eq!(writer.metadata().unwrap().nlink(), 0);
    drop((reader, writer));
    // The same name is another file now.
    let new = File::create_new(mounted.at("/w/old")).unwrap();
    fs::remove_file(mounted.at("/w/old")).unwrap();
    drop(new);
    assert_eq!(names(&mounted.at("/w")), Vec::<String>::new());
    assert_eq!(read(&mounted.vfs, "/w/old"), None);
}

#[test]
fn modes_and_times_arrive_with_the_content() {
    let (vfs, gate) = counted();
    let mounted = Mounted::writable(vfs);
    let at = mounted.at("/w/script");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o750).open(&at).unwrap();
    file.write_all(b"#!/bin/sh\necho ran\n").unwrap();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.set_modified(then).unwrap();
    file.set_permissions(Permissions::from_mode(0o711)).unwrap();
    drop(file);
    assert_eq!(gate.take(), 1);
    let meta = fs::metadata(&at).unwrap();
    assert_eq!((meta.mode() & 0o7777, meta.modified().unwrap()), (0o711, then));
    let ran = Command::new(&at).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ran\n", "it can be run");
    fs::set_permissions(&at, Permissions::from_mode(0o4755)).unwrap();
    assert_eq!(fs::metadata(&at).unwrap().mode() & 0o7777, 0o755, "no bit that raises privileges");
    let uid = rustix::process::geteuid().as_raw();
    std::os::unix::fs::chown(&at, Some(uid), None).unwrap();
    assert_eq!(errno(std::os::unix::fs::chown(&at, Some(uid + 1), None)), Some(Errno::PERM.raw_os_error()));
}

fn a_quota_is_told(others: Others) {
    let quota = Quota { bytes: Some(100), files: None };
    let store = Arc::new(VirtualStore::in_memory());
    let vfs = vfs(vec![workspace("/w", AccessScope::ReadWrite, store).with_quota(quota)]);
    let mounted = Mounted::new(vfs, How::Writable, |served| served.while_others(others));
    fs::write(mounted.at("/w/small"), [1; 60]).unwrap();
    let mut file = File::create(mounted.at("/w/more")).unwrap();
    file.write_all(&[1; 60]).unwrap();
    assert_eq!(errno(file.sync_all()), Some(Errno::DQUOT.raw_os_error()));
    assert_eq!(names(&mounted.at("/w")), ["more", "small"], "who has it open still has it");
    drop(file);
    assert!(soon(|| names(&mounted.at("/w")) == ["small"]), "{:?}", names(&mounted.at("/w")));
    assert!(soon(|| fs::metadata(mounted.at("/w/more")).is_err()), "it is not there");
    assert_eq!(read(&mounted.vfs, "/w/more"), None);
    fs::write(mounted.at("/w/less"), [1; 30]).unwrap();
    fs::write(mounted.at("/w/more"), [1; 5]).unwrap();
    assert_eq!(read(&mounted.vfs, "/w/more").map(|text| text.len()), Some(5));
}

#[test]
fn a_quota_is_told_at_the_close_and_nothing_is_half_there() {
    a_quota_is_told(Others::MayChange);
}

#[test]
fn a_quota_is_told_where_the_kernel_remembers_too() {
    a_quota_is_told(Others::ChangeNothing);
}

#[test]
fn memory_for_what_is_written_is_bounded() {
    let mounted = Mounted::new(one(), How::Writable, |served| served.holding_at_most(1 << 20, 600 << 10));
    let mut file = File::create(mounted.at("/w/f")).unwrap();
    assert_eq!(errno(file.write_all(&vec![1; 700 << 10])), Some(Errno::FBIG.raw_os_error()));
    let mut one = File::create(mounted.at("/w/one")).unwrap();
    one.write_all(&vec![1; 500 << 10]).unwrap();
    let mut two = File::create(mounted.at("/w/two")).unwrap();
    assert_eq!(errno(two.write_all(&vec![1; 590 << 10])), Some(Errno::NOSPC.raw_os_error()));
    drop((file, one, two));
    // What was closed is not in memory any more.
    assert!(soon(|| fs::write(mounted.at("/w/again"), vec![1; 500 << 10]).is_ok()));
}

#[test]
fn what_somebody_else_changed_meanwhile_is_not_overwritten() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/f", "0123456789");
    let file = OpenOptions::new().write(true).open(mounted.at("/w/f")).unwrap();
    file.write_all_at(b"ab", 0).unwrap();
    write(&mounted.vfs, "/w/f", "by a tool");
    assert_eq!(errno(file.sync_all()), Some(Errno::STALE.raw_os_error()));
    drop(file);
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("by a tool"));
    assert!(soon(|| fs::read(mounted.at("/w/f")).is_ok_and(|now| now == b"by a tool")));
    // Who replaces all of it means it.
    let mut file = File::create(mounted.at("/w/f")).unwrap();
    write(&mounted.vfs, "/w/f", "by a tool again");
    file.write_all(b"whole").unwrap();
    file.sync_all().unwrap();
    assert_eq!(read(&mounted.vfs, "/w/f").as_deref(), Some("whole"));
    // And what went away does not come back.
    let file = OpenOptions::new().append(true).open(mounted.at("/w/f")).unwrap();
    act(&mounted.vfs, Operation::Delete { path: path("/w/f"), recursive: false }).unwrap();
    assert!(file.write_all_at(b"x", 0).and_then(|()| file.sync_all()).is_err());
}
