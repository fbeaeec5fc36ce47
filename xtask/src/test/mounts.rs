//! Can a file system be mounted here? What of the tests cannot run where not, and why.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const DEVICE: &str = "/dev/fuse";
/// The tests that mount something, by a part of their names.
const MOUNTING: &str = "on_a_mount";
/// Those among them that only root can run.
const OF_ROOT: &str = "only_root";

/// Tests that cannot run, by a part of their names, with the reason.
pub(super) fn left_out() -> Vec<(&'static str, String)> {
    let root = crate::postgres::is_superuser();
    if let Some(why) = why_not(root) {
        return vec![(MOUNTING, format!("what needs a mounted file system: {why}"))];
    }
    if root {
        return Vec::new();
    }
    vec![(OF_ROOT, "what mounts without the helper, or for another user: these tests run as root".to_owned())]
}

/// What keeps this user from mounting.
fn why_not(root: bool) -> Option<String> {
    let Ok(about) = fs::metadata(DEVICE) else {
        return Some(format!("there is no {DEVICE}; `modprobe fuse` makes it"));
    };
    if OpenOptions::new().read(true).write(true).open(DEVICE).is_err() {
        let mode = about.permissions().mode() & 0o777;
        return Some(format!("{DEVICE} is {mode:04o} and this user is not root; `chmod 0666 {DEVICE}` opens it"));
    }
    let helper = ["/usr/bin/fusermount3", "/bin/fusermount3"].iter().any(|path| Path::new(path).exists());
    (!root && !helper).then(|| "fusermount3 is missing; it is in the package fuse3".to_owned())
}
