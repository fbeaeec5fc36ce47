//! Files and directories that nobody but their owner may look at: the one way in which anything in the System Root is made.
//!
//! The mode is given when they are made and never by the umask, so there is no moment at which others could open them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
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

/// Puts a small file in place, whole and lasting: whoever reads it sees the old text or the new one. For one writer at a time.
///
/// # Errors
/// When the host refuses; the old one is there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = options().write(true).create(true).truncate(true).open(&beside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Makes what happened to the names in a directory last.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes a directory with mode 0700, and those above it that are missing. Nothing where it is there.
///
/// # Errors
/// When the host refuses.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes one directory with mode 0700, where there is nothing yet.
///
/// # Errors
/// When the host refuses, or something is there.
pub fn new_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_made_or_narrowed_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        make_directory(&at("a/b")).unwrap();
        new_directory(&at("c")).unwrap();
        assert!(new_directory(&at("c")).is_err());
        assert_eq!(["a", "a/b", "c"].map(|name| mode(&at(name))), [0o700; 3]);
        replace(&at("small"), b"one").unwrap();
        // One of before, which others may read, is replaced by one which they may not.
        fs::set_permissions(at("small"), Permissions::from_mode(0o644)).unwrap();
        replace(&at("small"), b"two").unwrap();
        assert_eq!((fs::read(at("small")).unwrap().as_slice(), mode(&at("small"))), (&b"two"[..], 0o600));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "nothing is left beside it");
        fs::write(at("wide"), "").unwrap();
        fs::set_permissions(at("wide"), Permissions::from_mode(0o666)).unwrap();
        narrow(&File::open(at("wide")).unwrap()).unwrap();
        assert_eq!(mode(&at("wide")), 0o600);
    }
}
