//! Files and directories that nobody but their owner may look at: the one way in which anything in the System Root is made.
//!
//! The mode is given when they are made and never by the umask, so there is no moment at which others could open them.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the name begins of what is still being written.
pub(crate) const UNFINISHED: &str = ".new-";

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

/// Puts a small file in place, whole and lasting: whoever reads it sees the old text or the new one. Of several who do so at once
/// the last one's stands.
///
/// # Errors
/// When the host refuses; the old one is there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(&OnHost(|_: &Path| Ok(())), path, content)
}

/// The steps by which a file is put in place: each can be where a process ends.
pub(crate) trait Placing {
    /// Writes a file that is not there yet, lastingly.
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Gives it the name of another, which goes.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes away what did not get there.
    fn discard(&self, path: &Path) -> io::Result<()>;
    /// Makes what happened to the names in a directory last.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// [`replace`], by other steps.
pub(crate) fn replace_by(steps: &impl Placing, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(UNFINISHED);
    name.push(path.file_name().unwrap_or_default());
    name.push(format!("-{}", unused()));
    let beside = path.with_file_name(name);
    let placed = steps.write(&beside, content).and_then(|()| steps.rename(&beside, path));
    if placed.is_err() {
        let _ = steps.discard(&beside);
    }
    placed?;
    path.parent().map_or(Ok(()), |directory| steps.sync_directory(directory))
}

/// The host's own steps. What it holds is asked before each.
pub(crate) struct OnHost<F>(pub(crate) F);

impl<F: Fn(&Path) -> io::Result<()>> Placing for OnHost<F> {
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        (self.0)(path)?;
        let mut file = options().write(true).create_new(true).open(path)?;
        (self.0)(path)?;
        file.write_all(content)?;
        (self.0)(path)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.0)(to)?;
        fs::rename(from, to)
    }

    fn discard(&self, path: &Path) -> io::Result<()> {
        (self.0)(path)?;
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        (self.0)(path)?;
        sync_directory(path)
    }
}

/// The end of a name that nobody else gives to anything now: no other thread, and no process that has the same number elsewhere.
pub(crate) fn unused() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{since}-{count}", std::process::id())
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

    #[test]
    fn of_two_that_replace_a_file_at_once_neither_takes_the_others_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("small");
        let met = std::cell::Cell::new(false);
        // When the one is about to put its text in place, the other comes and goes.
        let other_comes = |at: &Path| {
            if at == path && !met.replace(true) {
                replace(&path, b"the other's")?;
                assert_eq!(fs::read(&path)?, b"the other's");
            }
            Ok(())
        };
        replace_by(&OnHost(other_comes), &path, b"the one's").unwrap();
        assert!(met.get());
        assert_eq!(fs::read(&path).unwrap(), b"the one's");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_cannot_be_put_in_place_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        new_directory(&directory.path().join("taken")).unwrap();
        assert!(replace(&directory.path().join("taken"), b"text").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
