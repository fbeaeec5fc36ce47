//! The veil: a small layer on top of a Workspace that hides names and has the places of nested Workspaces.
//!
//! It lies in the sandbox's own memory, so neither the Workspace nor the layer of changes ever holds a trace of it. A
//! merged directory shows the attributes of its topmost layer, so each directory of the veil carries those of the
//! Workspace's. Only what is there is hidden: a mask for nothing would make its parents appear. What cannot be looked at
//! is no nothing: then there is no veil, and no run.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::error::Error;
use crate::steps::Veil;

/// The entries of the veil over `base`, parents first: `masks` are hidden, `nested` are places to mount on.
pub(crate) fn entries(base: &Path, masks: &[PathBuf], nested: &[PathBuf]) -> Result<Vec<Veil>, Error> {
    if masks.is_empty() && nested.is_empty() {
        return Ok(Vec::new());
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let host = |source: Errno| Error::Host { path: base.to_owned(), source: source.into() };
    let base = rustix::fs::openat(CWD, base, flags, Mode::empty()).map_err(host)?;
    let mut made = Weaver { base: base.as_fd(), entries: BTreeMap::new() };
    for mask in masks {
        made.hide(mask).map_err(|source| Error::Host { path: mask.clone(), source: source.into() })?;
    }
    for place in nested {
        made.place(place);
    }
    made.entries.into_iter().map(|(path, entry)| entry.veil(&path)).collect()
}

enum Entry {
    /// A directory of the base, with its attributes.
    Through(Box<Stat>),
    /// A directory that hides what the base has there.
    Instead,
    Hidden,
}

impl Entry {
    fn veil(self, path: &Path) -> Result<Veil, Error> {
        let at = CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::NullByte { what: "a path" })?;
        Ok(match self {
            Entry::Hidden => Veil::Hidden { at },
            Entry::Instead => Veil::Dir { at, mode: 0o755, owner: None, modified: None, opaque: true },
            Entry::Through(meta) => Veil::Dir {
                at,
                mode: meta.st_mode & 0o7777,
                owner: Some((meta.st_uid, meta.st_gid)),
                modified: Some((meta.st_mtime, meta.st_mtime_nsec as i64)),
                opaque: false,
            },
        })
    }
}

struct Weaver<'a> {
    base: BorrowedFd<'a>,
    entries: BTreeMap<PathBuf, Entry>,
}

impl Weaver<'_> {
    fn hide(&mut self, mask: &Path) -> Result<(), Errno> {
        let above: Vec<&Path> = above(mask);
        if above.iter().any(|path| matches!(self.entries.get(*path), Some(Entry::Hidden))) || self.look(mask)?.is_none()
        {
            return Ok(());
        }
        for path in above {
            let Some(meta) = self.directory(path)? else { return Ok(()) };
            self.entries.entry(path.to_owned()).or_insert(Entry::Through(meta));
        }
        self.entries.insert(mask.to_owned(), Entry::Hidden);
        Ok(())
    }

    /// Makes sure that a directory is there to mount on, whatever the base has at that name.
    fn place(&mut self, place: &Path) {
        let all: Vec<&Path> = above(place).into_iter().chain([place]).collect();
        let hidden = |path: &&Path| matches!(self.entries.get(*path), Some(Entry::Hidden));
        if !all.iter().any(hidden) && all.iter().all(|path| matches!(self.directory(path), Ok(Some(_)))) {
            return;
        }
        let mut instead = false;
        for path in all {
            instead |= matches!(self.entries.get(path), Some(Entry::Hidden | Entry::Instead));
            let base = self.directory(path).ok().flatten().filter(|_| !instead);
            instead |= base.is_none();
            let entry = base.map_or(Entry::Instead, Entry::Through);
            self.entries.insert(path.to_owned(), entry);
        }
    }

    fn directory(&self, path: &Path) -> Result<Option<Box<Stat>>, Errno> {
        Ok(self.look(path)?.filter(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::Directory))
    }

    /// What is at a path; nothing only where it is sure that nothing is there.
    fn look(&self, path: &Path) -> Result<Option<Box<Stat>>, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let meta = match parent {
            None => rustix::fs::statat(self.base, name, AtFlags::SYMLINK_NOFOLLOW),
            Some(parent) => rustix::fs::openat2(self.base, parent, flags, Mode::empty(), resolve)
                .and_then(|parent| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)),
        };
        match meta {
            Ok(meta) => Ok(Some(Box::new(meta))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

/// The directories above a relative path, outermost first.
fn above(path: &Path) -> Vec<&Path> {
    let mut all: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    all.reverse();
    all
}
