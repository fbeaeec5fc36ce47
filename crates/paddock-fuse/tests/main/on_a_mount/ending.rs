//! Beginnings and ends: a descriptor that was mounted elsewhere, and a mount that is in use when it goes.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use paddock_core::AgentName;
use paddock_fuse::{How, Others, Served};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags};

use crate::world::{Mounted, names, one, path, read, write};

mod only_root {
    use super::*;

    /// Opens the device and mounts it, as a sandbox does inside of its namespaces.
    fn mounted_elsewhere(dir: &Path) -> OwnedFd {
        let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let options = CString::new(options).unwrap();
        rustix::mount::mount(
            "paddock",
            dir,
            "fuse.paddock",
            MountFlags::NOSUID | MountFlags::NODEV,
            options.as_c_str(),
        )
        .expect("mounting the device needs root");
        device
    }

    #[test]
    fn a_device_that_was_mounted_elsewhere_is_served() {
        let vfs = one();
        write(&vfs, "/w/f", "content");
        let dir = tempfile::tempdir().unwrap();
        let served = Served::new(vfs.clone(), path("/w"), How::Writable, AgentName::main())
            .while_others(Others::ChangeNothing)
            .owned_by(0, 0);
        let session = served.serve(mounted_elsewhere(dir.path())).unwrap();
        assert_eq!(names(dir.path()), ["f"], "one Workspace alone");
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), "content");
        fs::write(dir.path().join("new"), "written").unwrap();
        let made = File::create(dir.path().join("made")).unwrap();
        drop(made);
        assert!(!session.is_over());
        rustix::mount::unmount(dir.path(), UnmountFlags::empty()).unwrap();
        session.wait().unwrap();
        assert_eq!(read(&vfs, "/w/new").as_deref(), Some("written"));
        assert_eq!(read(&vfs, "/w/made").as_deref(), Some(""), "all of it has arrived when the wait is over");
        assert_eq!(names(dir.path()), Vec::<String>::new());
    }
}

#[test]
fn a_mount_that_is_in_use_goes_all_the_same() {
    let mounted = Mounted::writable(one());
    write(&mounted.vfs, "/w/f", "content");
    let mut open = File::open(mounted.at("/w/f")).unwrap();
    let dir = mounted.dir().to_owned();
    let vfs = mounted.vfs.clone();
    drop(mounted);
    assert!(!dir.exists(), "nothing is there to keep the directory from being removed");
    // Who has it open may go on, or be told; they never hang.
    let mut text = String::new();
    let _ = open.read_to_string(&mut text);
    drop(open);
    assert_eq!(read(&vfs, "/w/f").as_deref(), Some("content"));
}

#[test]
fn a_hundred_mounts_leave_nothing_behind() {
    let before = open_descriptors();
    for _ in 0..100 {
        let mounted = Mounted::read_only(one());
        assert_eq!(names(mounted.dir()), ["w"]);
        mounted.unmount();
    }
    assert!(crate::world::soon(|| open_descriptors() <= before + 2), "{before} before, {} now", open_descriptors());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let pid = std::process::id().to_string();
    assert!(!mounts.lines().any(|line| line.starts_with("paddock ") && line.contains(&pid)));
}

fn open_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn what_is_below_a_path_is_served_alone() {
    let vfs = one();
    write(&vfs, "/w/sub/in/f", "x");
    write(&vfs, "/w/beside", "y");
    let dir = tempfile::tempdir().unwrap();
    let session = Served::new(vfs, path("/w/sub"), How::ReadOnly, AgentName::main()).mount(dir.path()).unwrap();
    assert_eq!(names(dir.path()), ["in"]);
    assert_eq!(fs::read_to_string(dir.path().join("in/f")).unwrap(), "x");
    assert!(fs::metadata(dir.path().join("../beside")).is_err());
    session.unmount().unwrap();
}
