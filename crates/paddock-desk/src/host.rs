//! The only file of this crate that touches the host itself: it looks for the configuration and reads it.

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
