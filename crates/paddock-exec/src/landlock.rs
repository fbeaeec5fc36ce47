//! What Landlock allows where: the second wall behind the mounts, and the only one that can say write-only.
//!
//! Its rules add up along a path, so nothing can be taken away below a place that allows it. That is why a sandbox
//! with a write-only Workspace has a rule for every place instead of one for everything, and why `ls /` is refused there.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::sandbox::{How, Shown};
use crate::sys::{self, LandlockRuleset};
use crate::system;

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_BLOCK: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
const WRITE_ONLY: u64 = WRITE_FILE | MAKE_REG | MAKE_DIR | TRUNCATE;

/// The first version that can refuse truncation, without which write-only does not hold.
pub(crate) const NEEDED: u32 = 3;

/// How to get it.
pub(crate) const REMEDY: &str =
    "Linux 6.2 or newer with `landlock` among the `lsm=` of the kernel's command line is needed";

/// A ruleset, ready to be made.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) ruleset: LandlockRuleset,
    /// How much of the structure this kernel knows.
    pub(crate) size: usize,
    /// What is allowed below which path, as seen from inside.
    pub(crate) places: Vec<(CString, u64)>,
}

/// The rules of a run that sees `shown` and `tools`.
pub(crate) fn rules(shown: &[Shown], tools: &[PathBuf]) -> Rules {
    let version = sys::landlock_version();
    let all = handled(version);
    let mut places: Vec<(PathBuf, u64)> = Vec::new();
    if shown.iter().any(|shown| shown.how.is_write_only()) {
        places.extend(system::RESERVED.iter().map(|name| (Path::new("/").join(name), READ)));
        places.extend(tools.iter().map(|tool| (tool.clone(), READ)));
    } else {
        places.push((PathBuf::from("/"), READ));
    }
    places.push((PathBuf::from("/tmp"), all & !(MAKE_CHAR | MAKE_BLOCK)));
    places.push((PathBuf::from("/dev"), READ | WRITE_FILE | IOCTL_DEV));
    places.push((PathBuf::from("/dev/shm"), all & !(MAKE_CHAR | MAKE_BLOCK)));
    places.extend(shown.iter().map(|shown| (shown.at.clone(), of_scope(&shown.how, all))));
    let named = |(path, allowed): (PathBuf, u64)| {
        CString::new(path.as_os_str().as_bytes()).ok().map(|path| (path, allowed & all))
    };
    Rules {
        ruleset: ruleset(version, all),
        size: size(version),
        places: places.into_iter().filter_map(named).collect(),
    }
}

fn of_scope(how: &How, all: u64) -> u64 {
    match how {
        How::ReadOnly => READ,
        How::Direct | How::Staged(_) => all & !(MAKE_CHAR | MAKE_BLOCK),
        How::WriteOnly | How::Dropped(_) => WRITE_ONLY,
    }
}

/// Everything that a version can refuse about files.
fn handled(version: u32) -> u64 {
    match version {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

/// From version 6 on, sockets and signals that lead out of the sandbox are refused here too.
fn ruleset(version: u32, handled_fs: u64) -> LandlockRuleset {
    LandlockRuleset { handled_fs, handled_net: 0, scoped: if version >= 6 { 0b11 } else { 0 } }
}

fn size(version: u32) -> usize {
    match version {
        0..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    }
}
