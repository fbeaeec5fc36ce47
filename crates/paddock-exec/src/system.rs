//! The minimal system beside the Workspaces: which places of the host a command needs to run at all.
//!
//! Programs and libraries are the host's own, read-only; of `/etc` only what programs ask for at their start and what
//! holds no secret; users, hosts and devices are made up. What the host has is looked at once and kept: it changes
//! when packages do, and a name that is gone by the time of a run is left out there.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::steps::Step;

/// The names at the top that belong to the system: no Workspace can be at one of them or below.
pub const RESERVED: &[&str] =
    &["bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "tmp", "usr"];

/// The names at the top that a sandbox may have, for a Workspace that is the ground below them.
pub(crate) const TOP: &[&std::ffi::CStr] =
    &[c"bin", c"dev", c"etc", c"lib", c"lib32", c"lib64", c"libx32", c"proc", c"sbin", c"tmp", c"usr"];

/// Where programs are, bound read-only or, where the host has a link, linked.
const PROGRAMS: &[&str] = &["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Small files of `/etc` that are copied: a copy costs less than a mount.
const COPIED: &[&str] = &[
    "bash.bashrc",
    "debian_version",
    "fedora-release",
    "alpine-release",
    "gai.conf",
    "host.conf",
    "inputrc",
    "ld.so.conf",
    "locale.alias",
    "locale.conf",
    "magic",
    "nsswitch.conf",
    "profile",
    "protocols",
    "services",
    "shells",
    "ssl/openssl.cnf",
];

/// Files and directories of `/etc` that are shown as they are.
const BOUND: &[&str] =
    &["alternatives", "ld.so.cache", "mime.types", "pki/ca-trust/extracted", "pki/tls/certs", "ssl/certs"];

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// A file that is copied may be this long.
const COPY_CAP: u64 = 32 * 1024;

/// The steps that put the system there; they come before those of the Workspaces.
pub(crate) fn steps() -> &'static [Step] {
    static STEPS: OnceLock<Vec<Step>> = OnceLock::new();
    STEPS.get_or_init(look)
}

fn look() -> Vec<Step> {
    let mut steps = Vec::new();
    for name in PROGRAMS {
        steps.extend(shown(&format!("/{name}"), name));
    }
    steps.extend(etc());
    steps.extend(devices());
    steps.extend([dir("proc"), dir("tmp"), Step::Proc, scratch("tmp", "tmp"), scratch("shm", "dev/shm")]);
    steps
}

fn etc() -> Vec<Step> {
    let mut steps = ["etc", "etc/ssl", "etc/pki", "etc/pki/ca-trust", "etc/pki/tls"].map(dir).to_vec();
    for name in COPIED {
        let from = format!("/etc/{name}");
        let small = fs::metadata(&from).is_ok_and(|meta| meta.is_file() && meta.len() <= COPY_CAP);
        if let Some(content) = small.then(|| fs::read(&from).ok()).flatten() {
            steps.push(file(&format!("etc/{name}"), content));
        }
    }
    let java = names_in("/etc").into_iter().filter(|name| name.starts_with("java"));
    for name in BOUND.iter().map(|name| (*name).to_owned()).chain(java) {
        steps.extend(shown(&format!("/etc/{name}"), &format!("etc/{name}")));
    }
    for name in ["localtime", "os-release"] {
        steps.extend(shown(&format!("/etc/{name}"), &format!("etc/{name}")));
    }
    steps.push(file("etc/hosts", b"127.0.0.1 localhost\n::1 localhost\n".to_vec()));
    steps.push(file("etc/hostname", b"paddock\n".to_vec()));
    steps.extend(users());
    steps
}

/// The one user that the command is, under the numbers that its files have.
fn users() -> [Step; 2] {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let name = user_name();
    let user = format!("{name}:x:{uid}:{gid}:{name}:/tmp/home:/bin/sh\n");
    let group = format!("{name}:x:{gid}:\n");
    [file("etc/passwd", user.into_bytes()), file("etc/group", group.into_bytes())]
}

/// The user's name inside.
pub(crate) fn user_name() -> &'static str {
    if rustix::process::geteuid().is_root() { "root" } else { "agent" }
}

fn devices() -> Vec<Step> {
    let mut steps = vec![dir("dev"), dir("dev/shm")];
    for name in DEVICES {
        steps.push(file(&format!("dev/{name}"), Vec::new()));
        steps.extend(
            named(&format!("dev/{name}"))
                .zip(named(&format!("/dev/{name}")))
                .map(|(at, from)| Step::Device { from, at }),
        );
    }
    for (name, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        steps.extend(link(&format!("dev/{name}"), Path::new(to)));
    }
    steps
}

/// A place of the host as it is there: a link linked, a directory or file bound read-only.
fn shown(from: &str, at: &str) -> Vec<Step> {
    let Ok(meta) = fs::symlink_metadata(from) else { return Vec::new() };
    if meta.is_symlink() {
        return fs::read_link(from).ok().and_then(|to| link(at, &to)).into_iter().collect();
    }
    let Some((from, to)) = named(from).zip(named(at)) else { return Vec::new() };
    let place = if meta.is_dir() { dir(at) } else { file(at, Vec::new()) };
    vec![place, Step::System { from, at: to }]
}

fn names_in(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn dir(at: &str) -> Step {
    Step::Dir { at: named(at).unwrap_or_default() }
}

fn file(at: &str, content: Vec<u8>) -> Step {
    Step::File { at: named(at).unwrap_or_default(), content }
}

fn scratch(from: &str, at: &str) -> Step {
    Step::Scratch { from: named(from).unwrap_or_default(), at: named(at).unwrap_or_default() }
}

fn link(at: &str, to: &Path) -> Option<Step> {
    Some(Step::Link { at: named(at)?, to: CString::new(to.as_os_str().as_bytes()).ok()? })
}

fn named(text: &str) -> Option<CString> {
    CString::new(text).ok()
}
