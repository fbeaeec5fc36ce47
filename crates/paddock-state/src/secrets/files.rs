//! The files of the vault: private, replaced whole, and durable before anybody relies on them.
//!
//! Every step that reaches the disk goes through one of the functions here and is counted in the tests, which end a
//! process at each of them. Nothing here knows what the files hold.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::error::SecretsError;
use crate::private;

const LOCK: &str = "vault.lock";
/// No file here is larger.
const MOST: u64 = 64 << 20;

type Result<T> = std::result::Result<T, SecretsError>;

/// Makes the directory where it is missing, and refuses one that others may look into.
pub(super) fn ensure_private_dir(path: &Path) -> Result<()> {
    step(path)?;
    private::make_directory(path).map_err(|error| SecretsError::io(path, error))?;
    let found = fs::symlink_metadata(path).map_err(|error| SecretsError::io(path, error))?;
    if !found.is_dir() {
        return Err(SecretsError::NotOurs { path: path.to_owned(), why: "it is no directory" });
    }
    refuse_others(path, &found, 0o700)
}

/// Whoever holds it changes the vault alone. The kernel lets go of it when the process ends.
pub(super) fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK);
    let failed = |error| SecretsError::io(&path, error);
    let file = unlinked().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// What a private file holds; nothing where there is none. One that others may read is refused.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let failed = |error: io::Error| SecretsError::io(path, error);
    let file = match File::options().read(true).custom_flags(no_follow()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let found = file.metadata().map_err(failed)?;
    let odd = |why| SecretsError::NotOurs { path: path.to_owned(), why };
    if !found.is_file() {
        return Err(odd("it is no plain file"));
    }
    if found.len() > MOST {
        return Err(odd("it is too large"));
    }
    refuse_others(path, &found, 0o600)?;
    let mut content = Zeroizing::new(Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1));
    file.take(MOST).read_to_end(&mut content).map_err(failed)?;
    Ok(Some(content))
}

/// Puts a file in place, whole and durable: at every moment there is the old one or the new one.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    private::replace_by(&private::OnHost(reached), path, content).map_err(|error| SecretsError::io(path, error))
}

/// Takes a file away; one that is not there is no error.
pub(super) fn remove(path: &Path) -> Result<()> {
    step(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SecretsError::io(path, error)),
        _ => Ok(()),
    }
}

/// Makes durable what was put into or taken out of a directory.
pub(super) fn sync_dir(directory: &Path) -> Result<()> {
    step(directory)?;
    private::sync_directory(directory).map_err(|error| SecretsError::io(directory, error))
}

/// Files that a process left that ended in the middle: those still being written, and those whose name begins with `prefix`
/// but for the one to keep.
pub(super) fn leftovers(directory: &Path, prefix: &str, keep: Option<&str>) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_left = |name: &String| {
        name.starts_with(private::UNFINISHED) || (name.starts_with(prefix) && Some(name.as_str()) != keep)
    };
    names.filter(is_left).map(|name| directory.join(name)).collect()
}

fn unlinked() -> fs::OpenOptions {
    let mut options = private::options();
    options.custom_flags(no_follow());
    options
}

/// A link in the place of one of these files is not ours.
fn no_follow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

fn refuse_others(path: &Path, found: &fs::Metadata, wanted: u32) -> Result<()> {
    let mode = found.mode() & 0o777;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(SecretsError::NotOurs { path: path.to_owned(), why: "it belongs to another user" });
    }
    if mode & !wanted != 0 {
        return Err(SecretsError::NotPrivate { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}

fn step(path: &Path) -> Result<()> {
    reached(path).map_err(|error| SecretsError::io(path, error))
}

/// A place where a process may end. In the tests one does, and from then on nothing reaches the disk any more.
#[cfg(not(test))]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "in the tests it fails")]
fn reached(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use self::ending::reached;
#[cfg(test)]
pub(super) use self::ending::{ends_after, steps_of};

#[cfg(test)]
mod ending {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        static TAKEN: Cell<u32> = const { Cell::new(0) };
    }

    pub(super) fn reached(_: &Path) -> io::Result<()> {
        TAKEN.set(TAKEN.get() + 1);
        match LEFT.get() {
            Some(0) => Err(io::Error::other("the process has ended")),
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Runs `act` as a process that ends after so many steps.
    pub(in super::super) fn ends_after<T>(steps: u32, act: impl FnOnce() -> T) -> T {
        LEFT.set(Some(steps));
        let done = act();
        LEFT.set(None);
        done
    }

    /// How many steps `act` takes.
    pub(in super::super) fn steps_of(act: impl FnOnce()) -> u32 {
        TAKEN.set(0);
        act();
        TAKEN.get()
    }
}
