//! What lies below the layer of changes: held layers and the Workspace, seen as the kernel merges them.
//!
//! From the top down a name is what the first layer says that has it; a whiteout ends the search, a file too, and a
//! directory goes on unless it is opaque. The veil is left out on purpose: what a command could not see still counts
//! when it would be deleted.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::beneath;

/// The layers, the topmost first.
pub(super) struct Below {
    layers: Vec<OwnedFd>,
}

/// The layers that a directory is merged from, by number.
pub(super) type Merged = Vec<usize>;

/// What is at a name.
pub(super) struct Entry {
    pub(super) meta: Stat,
    pub(super) layer: usize,
    /// For a directory: where its own entries come from.
    pub(super) merged: Merged,
}

impl Entry {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.meta.st_mode)
    }
}

impl Below {
    pub(super) fn new(layers: Vec<OwnedFd>) -> Below {
        Below { layers }
    }

    /// The top, which every layer has.
    pub(super) fn top(&self) -> Merged {
        (0..self.layers.len()).collect()
    }

    pub(super) fn open(&self, layer: usize, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        beneath(self.layers.get(layer).ok_or(Errno::NOENT)?, path, flags)
    }

    /// What a directory, merged from these layers, has at a name.
    pub(super) fn look(&self, merged: &Merged, directory: &Path, name: &OsStr) -> Result<Option<Entry>, Errno> {
        let mut found: Option<Entry> = None;
        for layer in merged {
            let parent = self.open(*layer, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
            let meta = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                answer => answer?,
            };
            let is_dir = FileType::from_raw_mode(meta.st_mode) == FileType::Directory;
            match &mut found {
                _ if is_whiteout(&meta) => break,
                Some(entry) if is_dir => entry.merged.push(*layer),
                // Something else below a directory: the directory has covered it.
                Some(_) => break,
                None => {
                    found = Some(Entry { meta, layer: *layer, merged: if is_dir { vec![*layer] } else { Vec::new() } });
                }
            }
            if !is_dir || self.is_opaque(*layer, &directory.join(name))? {
                break;
            }
        }
        Ok(found)
    }

    /// Names in a directory merged from these layers; some may turn out to be covered.
    pub(super) fn names(&self, merged: &Merged, directory: &Path) -> Result<Vec<OsString>, Errno> {
        let mut names = Vec::new();
        for layer in merged {
            let directory = self.open(*layer, directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
            names.extend(names_in(&directory)?);
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Only held layers are overlays' own; the Workspace's attributes mean nothing.
    fn is_opaque(&self, layer: usize, path: &Path) -> Result<bool, Errno> {
        if layer + 1 == self.layers.len() {
            return Ok(false);
        }
        let directory = self.open(layer, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        is_opaque(&directory)
    }

    /// Everything at a path and below it, entries before their directory.
    pub(super) fn all(&self, merged: &Merged, path: &Path, most: usize) -> Result<Vec<(PathBuf, bool)>, Errno> {
        let mut found = Vec::new();
        let parent = path.parent().unwrap_or(Path::new(""));
        let Some(name) = path.file_name() else { return Ok(found) };
        let Some(top) = self.look(merged, parent, name)? else { return Ok(found) };
        // In this order a directory stands before its entries, so the list is turned round at the end.
        let mut left = vec![(path.to_owned(), top)];
        while let Some((path, entry)) = left.pop() {
            let is_dir = entry.kind() == FileType::Directory;
            if is_dir {
                for name in self.names(&entry.merged, &path)? {
                    if let Some(inner) = self.look(&entry.merged, &path, &name)? {
                        left.push((path.join(name), inner));
                    }
                }
            }
            found.push((path, is_dir));
            if found.len() > most {
                return Err(Errno::TOOBIG);
            }
        }
        found.reverse();
        Ok(found)
    }
}

/// The kernel's mark for a name that is gone.
pub(super) fn is_whiteout(meta: &Stat) -> bool {
    FileType::from_raw_mode(meta.st_mode) == FileType::CharacterDevice && meta.st_rdev == 0
}

/// The kernel's mark for a directory that covers what is below it.
pub(super) fn is_opaque(directory: &OwnedFd) -> Result<bool, Errno> {
    let mut value = [0; 8];
    match rustix::fs::fgetxattr(directory, c"user.overlay.opaque", &mut value) {
        Ok(1) => Ok(value[0] == b'y'),
        Ok(_) | Err(Errno::NODATA | Errno::NOTSUP | Errno::RANGE) => Ok(false),
        Err(errno) => Err(errno),
    }
}

pub(super) fn names_in(directory: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}
