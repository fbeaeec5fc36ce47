//! FIFOs, devices and sockets: listed, never opened, and nothing hangs.

use std::fs;
use std::os::unix::net::UnixListener;

use paddock_core::ErrorKind;
use rustix::fs::{CWD, FileType, Mode};

use super::pen::{Pen, kind};
use crate::could_not_run::could_not_run;

#[test]
fn pipes_and_sockets_are_refused_and_nothing_hangs() {
    let pen = Pen::new();
    rustix::fs::mknodat(CWD, pen.inside("fifo"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let _socket = UnixListener::bind(pen.inside("socket")).unwrap();
    fs::write(pen.inside("file"), "needle").unwrap();
    for path in ["/w/fifo", "/w/socket"] {
        assert_eq!(kind(pen.read(path)), ErrorKind::NotAFile, "{path}");
        assert_eq!(kind(pen.write(path, "x")), ErrorKind::NotAFile, "{path}");
        assert_eq!(kind(pen.append(path, "x")), ErrorKind::NotAFile, "{path}");
        assert_eq!(kind(pen.edit(path, "x", "y")), ErrorKind::NotAFile, "{path}");
        assert_eq!(kind(pen.search(path, "x")), ErrorKind::NotAFile, "{path}");
    }
    assert_eq!(pen.list("/w").unwrap(), ["/w/fifo", "/w/file", "/w/socket"]);
    assert_eq!(pen.search("/w", "needle").unwrap().len(), 1);
    pen.rename("/w/fifo", "/w/moved").unwrap();
    pen.delete("/w/moved").unwrap();
    assert_eq!(pen.read("/w/file").unwrap(), "needle");
}

#[test]
fn a_device_is_refused() {
    let pen = Pen::new();
    // The null device by its numbers; only root can make it, and then it has to be refused.
    let made = rustix::fs::mknodat(
        CWD,
        pen.inside("null"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o666),
        rustix::fs::makedev(1, 3),
    );
    if made.is_err() {
        assert!(!rustix::process::geteuid().is_root(), "root can make a device");
        return could_not_run("only root can make a device");
    }
    assert_eq!(kind(pen.read("/w/null")), ErrorKind::NotAFile);
    assert_eq!(kind(pen.write("/w/null", "x")), ErrorKind::NotAFile);
    assert_eq!(kind(pen.append("/w/null", "x")), ErrorKind::NotAFile);
}

#[test]
fn the_kernels_own_links_are_not_followed() {
    let pen = Pen::new();
    for lead in ["/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0", "/dev/fd"] {
        std::os::unix::fs::symlink(lead, pen.inside("magic")).unwrap();
        assert_eq!(kind(pen.read("/w/magic/etc/passwd")), ErrorKind::LinkEscapes, "{lead}");
        assert_eq!(kind(pen.list("/w/magic")), ErrorKind::LinkEscapes, "{lead}");
        fs::remove_file(pen.inside("magic")).unwrap();
    }
}
