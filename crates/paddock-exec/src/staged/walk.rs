//! The walk over a layer of changes: each entry beside what was there before.
//!
//! Directories are kept as paths, not as open descriptors, so that neither the depth of the tree nor the number of its
//! directories uses anything up but a bounded path.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::below::{Below, Entry, Merged, is_opaque, is_whiteout, names_in};
use super::{Changes, Found, LONGEST, Now, beneath};
use crate::error::Error;

/// Fills `changes.found`.
pub(super) fn walk(changes: &mut Changes, below: &Below, most: usize) -> Result<(), Error> {
    let mut walk = Walk { changes, below, most };
    let mut left = vec![(PathBuf::new(), below.top())];
    while let Some((directory, merged)) = left.pop() {
        walk.directory(&directory, &merged, &mut left)?;
    }
    Ok(())
}

struct Walk<'a> {
    changes: &'a mut Changes,
    below: &'a Below,
    most: usize,
}

type Left = Vec<(PathBuf, Merged)>;

impl Walk<'_> {
    fn directory(&mut self, directory: &Path, merged: &Merged, left: &mut Left) -> Result<(), Error> {
        let opened = self.open_directory(directory)?;
        let mut names = names_in(&opened).map_err(unreadable(directory))?;
        names.sort();
        let mut inner = Left::new();
        for name in &names {
            let path = directory.join(name);
            if path.as_os_str().len() > LONGEST {
                return Err(Error::Layer { path: short(&path), why: "it is too deep to be judged".to_owned() });
            }
            let meta = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable(&path))?;
            let before = self.below.look(merged, directory, name).map_err(unreadable(&path))?;
            self.entry(&opened, &path, &meta, before, merged, &mut inner)?;
        }
        if is_opaque(&opened).map_err(unreadable(directory))? {
            self.covered(directory, merged, &names)?;
        }
        // The last is taken first, so that paths come in their order.
        left.extend(inner.into_iter().rev());
        Ok(())
    }

    /// Opens a directory of the layer, also one that the command closed to its owner.
    fn open_directory(&mut self, path: &Path) -> Result<OwnedFd, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = beneath(&self.changes.upper, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC);
        let meta = place.and_then(rustix::fs::fstat).map_err(unreadable(path))?;
        let mode = meta.st_mode & 0o7777;
        if mode & 0o500 != 0o500 && !rustix::process::geteuid().is_root() {
            let parent = beneath(
                &self.changes.upper,
                path.parent().unwrap_or(Path::new("")),
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            );
            let name = path.file_name().unwrap_or_default();
            let chmod = |parent: OwnedFd| {
                rustix::fs::chmodat(parent, name, Mode::from_raw_mode(mode | 0o700), AtFlags::empty())
            };
            parent.and_then(chmod).map_err(unreadable(path))?;
            self.changes.opened.push((path.to_owned(), mode));
        }
        beneath(&self.changes.upper, path, flags).map_err(unreadable(path))
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        path: &Path,
        meta: &Stat,
        before: Option<Entry>,
        merged: &Merged,
        inner: &mut Left,
    ) -> Result<(), Error> {
        if is_whiteout(meta) {
            return self.gone(merged, path);
        }
        let kind = FileType::from_raw_mode(meta.st_mode);
        let other_kind = before.as_ref().is_some_and(|before| before.kind() != kind);
        if other_kind {
            self.gone(merged, path)?;
        }
        let before = before.filter(|_| !other_kind);
        let new = before.is_none() && !other_kind;
        match kind {
            FileType::Directory => {
                let same = before.as_ref().is_some_and(|before| mode(&before.meta) == mode(meta));
                if !same {
                    let new = before.is_none();
                    self.push(path, Now::Dir { mode: mode(meta), new })?;
                }
                inner.push((path.to_owned(), before.map(|before| before.merged).unwrap_or_default()));
            }
            FileType::RegularFile => self.file(path, meta, before.as_ref(), new)?,
            FileType::Symlink => self.link(directory, path, before.as_ref(), new)?,
            _ => self.push(path, Now::Special)?,
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, meta: &Stat, before: Option<&Entry>, new: bool) -> Result<(), Error> {
        let same_content = match before {
            Some(before) if before.meta.st_size == meta.st_size => self.is_same(path, before.layer)?,
            _ => false,
        };
        if same_content && before.is_some_and(|before| mode(&before.meta) == mode(meta)) {
            return Ok(());
        }
        let len = u64::try_from(meta.st_size).unwrap_or(0);
        self.push(path, Now::File { len, mode: mode(meta), modified: modified(meta), new, same_content })
    }

    fn is_same(&self, path: &Path, layer: usize) -> Result<bool, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let before = self.below.open(layer, path, flags).map(std::fs::File::from);
        // What cannot be read cannot be called the same.
        let (Ok(before), now) = (before, self.changes.open(path)?) else { return Ok(false) };
        same_bytes(before, now).map_err(|error| Error::Layer { path: path.to_owned(), why: error.to_string() })
    }

    fn link(&mut self, directory: &OwnedFd, path: &Path, before: Option<&Entry>, new: bool) -> Result<(), Error> {
        let name = path.file_name().unwrap_or_default();
        let read = |directory: &OwnedFd| {
            rustix::fs::readlinkat(directory, name, Vec::new())
                .map(|to| PathBuf::from(std::ffi::OsStr::from_bytes(to.to_bytes())))
        };
        let to = read(directory).map_err(unreadable(path))?;
        if let Some(before) = before {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let parent = self.below.open(before.layer, path.parent().unwrap_or(Path::new("")), flags);
            if parent.and_then(|parent| read(&parent)).map_err(unreadable(path))? == to {
                return Ok(());
            }
        }
        self.push(path, Now::Link { to, new })
    }

    /// What an opaque directory covers and does not have itself is gone.
    fn covered(&mut self, directory: &Path, merged: &Merged, present: &[OsString]) -> Result<(), Error> {
        for name in self.below.names(merged, directory).map_err(unreadable(directory))? {
            if present.binary_search(&name).is_err() {
                self.gone(merged, &directory.join(name))?;
            }
        }
        Ok(())
    }

    fn gone(&mut self, merged: &Merged, path: &Path) -> Result<(), Error> {
        for (path, dir) in self.below.all(merged, path, self.most).map_err(unreadable(path))? {
            self.push(&path, Now::Gone { dir })?;
        }
        Ok(())
    }

    fn push(&mut self, path: &Path, what: Now) -> Result<(), Error> {
        if self.changes.found.len() >= self.most {
            return Err(Error::Layer { path: path.to_owned(), why: format!("more than {} changes", self.most) });
        }
        self.changes.found.push(Found { path: path.to_owned(), what });
        Ok(())
    }
}

fn unreadable(path: &Path) -> impl FnOnce(Errno) -> Error {
    let path = short(path);
    move |errno| Error::Layer { path, why: errno.to_string() }
}

/// A path that fits into a message.
fn short(path: &Path) -> PathBuf {
    path.components().take(16).collect()
}

fn mode(meta: &Stat) -> u32 {
    meta.st_mode & 0o7777
}

fn modified(meta: &Stat) -> SystemTime {
    let nanoseconds = Duration::from_nanos(meta.st_mtime_nsec);
    match u64::try_from(meta.st_mtime) {
        Ok(seconds) => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + nanoseconds,
        Err(_) => SystemTime::UNIX_EPOCH,
    }
}

fn same_bytes(mut one: impl Read, mut other: impl Read) -> std::io::Result<bool> {
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let (one, other) = (fill(&mut one, &mut left)?, fill(&mut other, &mut right)?);
        if left[..one] != right[..other] {
            return Ok(false);
        }
        if one == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or there is no more.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match from.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
