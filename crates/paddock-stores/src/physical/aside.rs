//! What is about to go from a path stands aside first, under a temporary name in the same directory.
//!
//! A name can be somebody else's a moment after it was looked at: removing by name removes whatever is there then. What
//! stands aside is judged there, where nobody who knows only the path reaches it, and goes only when it is what was
//! looked at. A process that dies meanwhile leaves it whole under the temporary name.

use std::os::fd::OwnedFd;

use paddock_core::{Kind, StoreError};
use rustix::fs::{AtFlags, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::apply::Try;
use super::host::{kind_of, open_beneath, same_content, store_error};
use super::outside::knows_no_replace;
use super::replace::{Spot, next_name};

/// Something that stands aside. It stays there until it is removed or put back.
pub(super) struct Aside<'a> {
    from: Spot<'a>,
    name: String,
}

impl<'a> Aside<'a> {
    /// Takes what was looked at aside. Nothing when somebody was faster: what they put there is there again.
    pub(super) fn take(from: Spot<'a>, looked_at: &Stat) -> Try<Self> {
        let aside = Self { from, name: next_name() };
        match rename_to_fresh(from, from.dir, &aside.name) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(store_error(e)),
        }
        match aside.holds(looked_at) {
            Ok(true) => Ok(Some(aside)),
            Ok(false) => aside.put_back().map(|()| None),
            Err(e) => aside.put_back().and(Err(e)),
        }
    }

    fn holds(&self, looked_at: &Stat) -> Result<bool, StoreError> {
        let there = open_beneath(self.from.dir, &self.name, OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)?;
        Ok(same_content(&rustix::fs::fstat(there).map_err(store_error)?, looked_at))
    }

    /// Where it stands.
    pub(super) fn spot(&self) -> Spot<'_> {
        Spot { dir: self.from.dir, name: &self.name }
    }

    /// It is gone for good.
    pub(super) fn remove(&self) -> Result<(), StoreError> {
        rustix::fs::unlinkat(self.from.dir, &self.name, AtFlags::empty()).map_err(store_error)
    }

    /// It is where it was. Where somebody has taken that name meanwhile, both are theirs: it is left for a person to find.
    pub(super) fn put_back(self) -> Result<(), StoreError> {
        match rename_back(self.spot(), self.from) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(store_error(e)),
        }
    }
}

/// Renames to a name that nobody else ever comes up with.
pub(super) fn rename_to_fresh(from: Spot<'_>, dir: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rename_to_free(from, Spot { dir, name }) {
        // A file system that cannot refuse to replace; nobody else ever comes up with this name.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rustix::fs::renameat(from.dir, from.name, dir, name),
        renamed => renamed,
    }
}

/// Renames back to where it was taken from, and never over what is there by now.
pub(super) fn rename_back(from: Spot<'_>, to: Spot<'_>) -> Result<(), Errno> {
    match rename_to_free(from, to) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_back(from, to),
        renamed => renamed,
    }
}

fn rename_to_free(from: Spot<'_>, to: Spot<'_>) -> Result<(), Errno> {
    if !knows_no_replace() {
        return Err(Errno::INVAL);
    }
    rustix::fs::renameat_with(from.dir, from.name, to.dir, to.name, RenameFlags::NOREPLACE)
}

/// For file systems whose rename always replaces: a second name never does.
fn link_back(from: Spot<'_>, to: Spot<'_>) -> Result<(), Errno> {
    let looked_at = rustix::fs::statat(from.dir, from.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if kind_of(&looked_at) != Kind::Dir {
        rustix::fs::linkat(from.dir, from.name, to.dir, to.name, AtFlags::empty())?;
        return rustix::fs::unlinkat(from.dir, from.name, AtFlags::empty());
    }
    // A directory has no second name, and replaces nothing but an empty one.
    match rustix::fs::renameat(from.dir, from.name, to.dir, to.name) {
        Err(Errno::NOTDIR | Errno::NOTEMPTY) => Err(Errno::EXIST),
        renamed => renamed,
    }
}
