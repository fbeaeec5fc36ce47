//! Files and directories that nobody but their owner may look at: the one way in which anything in the System Root is made.
//!
//! The mode is given when they are made and never by the umask, so there is no moment at which others could open them.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// How a private file is opened: with mode 0600 where it is made now.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

/// Takes from others what they may do with a file. One that was there may have come from elsewhere, with a wider mode.
///
/// # Errors
/// When the host refuses.
pub fn narrow(file: &File) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Makes a directory with mode 0700, and those above it that are missing. Nothing where it is there.
///
/// # Errors
/// When the host refuses.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes one directory with mode 0700, where there is nothing yet.
pub(crate) fn new_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}
