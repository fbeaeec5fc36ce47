//! The only file of this crate that touches the host itself: it reads the configuration, looks at what could be wrong, and keeps what arrives until it is put somewhere.

#![allow(clippy::disallowed_methods, reason = "for the person in charge, never for an agent")]

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The most entries that are looked through for leftovers.
const MOST_ENTRIES: usize = 100_000;

/// Is there a file?
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// The beginning of a file, of at most so many bytes.
pub(crate) fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(path)?, most), &mut bytes)?;
    Ok(bytes)
}

/// A file without a name in a directory that is made for it, which only the person can look into.
pub(crate) fn nameless(directory: &Path) -> io::Result<std::fs::File> {
    paddock_state::private::make_directory(directory)?;
    tempfile::tempfile_in(directory)
}

/// The mode bits of what is there.
pub(crate) fn mode(path: &Path) -> io::Result<u32> {
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o7777)
}

/// May this process look into the directory, and change it?
pub(crate) fn access(path: &Path) -> (bool, bool) {
    use rustix::fs::Access;
    let may = |access| rustix::fs::access(path, access).is_ok();
    (may(Access::READ_OK | Access::EXEC_OK), may(Access::WRITE_OK | Access::EXEC_OK))
}

/// Writes a byte to a file without a name in a directory, which is gone at once.
pub(crate) fn try_a_write(directory: &Path) -> io::Result<()> {
    io::Write::write_all(&mut tempfile::tempfile_in(directory)?, b"x")
}

/// Can this kernel open a path without ever leaving a directory?
pub(crate) fn has_openat2() -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH).is_ok()
}

/// Files and directories below the directory whose name begins so, of the first many entries.
pub(crate) fn with_prefix(directory: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    let mut looked_at = 0;
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES {
                return found;
            }
            match entry.file_type() {
                // Also a directory: the move of one may have been cut off.
                Ok(_) if entry.file_name().to_string_lossy().starts_with(prefix) => found.push(entry.path()),
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// Is there a directory?
pub(crate) fn is_dir(path: &Path) -> bool {
    path.is_dir()
}
