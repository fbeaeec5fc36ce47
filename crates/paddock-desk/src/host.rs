//! The only file of this crate that touches the host itself: it reads the configuration, and keeps what arrives until it is put somewhere.

#![allow(clippy::disallowed_methods, reason = "for the person in charge, never for an agent")]

use std::io;
use std::path::Path;

/// Is there a file?
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// A file without a name in a directory that is made for it, which only the person can look into.
pub(crate) fn nameless(directory: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    tempfile::tempfile_in(directory)
}
