//! The users of a sandbox: which of the host's users and groups exist inside.
//!
//! A launcher that is root maps every user, since files of other users would be out of reach otherwise; anybody else
//! can map only themselves. Numbers inside are the numbers outside, so files look as they do on the host.

use std::fs;
use std::io;

/// Writes the maps of a process that was just cloned into a new user namespace.
pub(crate) fn write(pid: i32) -> io::Result<()> {
    let whole = rustix::process::geteuid().is_root() && write_whole(pid).is_ok();
    if whole { Ok(()) } else { write_own(pid) }
}

fn write_whole(pid: i32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/gid_map"), same_numbers("/proc/self/gid_map")?)?;
    fs::write(format!("/proc/{pid}/uid_map"), same_numbers("/proc/self/uid_map")?)
}

/// The ranges that exist here, each mapped to itself.
fn same_numbers(map: &str) -> io::Result<String> {
    let text = fs::read_to_string(map)?;
    let rows = text.lines().filter_map(|row| {
        let mut numbers = row.split_whitespace();
        let (inside, _, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    Ok(rows.collect())
}

fn write_own(pid: i32) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    fs::write(format!("/proc/{pid}/uid_map"), format!("{uid} {uid} 1\n"))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{gid} {gid} 1\n"))
}
