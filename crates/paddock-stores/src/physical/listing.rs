//! The entries of one host directory, sorted.

use std::os::fd::OwnedFd;

use paddock_core::{Call, Kind, StoreError, is_plain_name, visible};
use rustix::fs::{AtFlags, FileType, RawDir};

use super::host::{kind_of, kind_of_type, store_error};

/// How many entries are read between two looks at the call's bounds.
const TICK: usize = 1024;

/// Names in one buffer, so that a directory of a million entries costs little more than its names.
#[derive(Default)]
pub(super) struct Listing {
    names: String,
    entries: Vec<Listed>,
}

#[derive(Clone, Copy)]
struct Listed {
    start: u32,
    len: u16,
    kind: Kind,
    plain: bool,
}

/// One entry of a [`Listing`].
pub(super) struct HostEntry<'a> {
    /// The name; escaped where it is not plain.
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    /// Can an agent name it?
    pub(super) plain: bool,
}

impl Listing {
    /// Reads a directory and sorts it by name.
    pub(super) fn read(call: &Call<'_>, dir: &OwnedFd) -> Result<Self, StoreError> {
        let mut listing = Self::default();
        let mut buffer = Vec::with_capacity(32 * 1024);
        let mut raw = RawDir::new(dir, buffer.spare_capacity_mut());
        let mut unticked = 0;
        while let Some(entry) = raw.next() {
            let entry = entry.map_err(store_error)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind_of(&stat),
                    Err(_) => continue,
                },
                known => kind_of_type(known),
            };
            listing.push(name.to_bytes(), kind)?;
            unticked += 1;
            if unticked == TICK {
                call.tick(TICK as u64)?;
                unticked = 0;
            }
        }
        call.tick(unticked as u64)?;
        let names = &listing.names;
        listing.entries.sort_unstable_by(|a, b| name_of(names, a).cmp(name_of(names, b)));
        Ok(listing)
    }

    fn push(&mut self, raw: &[u8], kind: Kind) -> Result<(), StoreError> {
        let start = self.names.len();
        let plain = match std::str::from_utf8(raw) {
            Ok(name) if is_plain_name(name) => {
                self.names.push_str(name);
                true
            }
            _ => {
                self.names.push_str(&escaped(raw));
                false
            }
        };
        let too_large = || paddock_core::ErrorKind::TooLarge { what: "the directory", limit: u64::from(u32::MAX) };
        self.entries.push(Listed {
            start: u32::try_from(start).map_err(|_| too_large())?,
            len: u16::try_from(self.names.len() - start).map_err(|_| too_large())?,
            kind,
            plain,
        });
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = HostEntry<'_>> {
        self.entries.iter().map(|e| HostEntry { name: name_of(&self.names, e), kind: e.kind, plain: e.plain })
    }

    /// Is there a plain file of this name?
    pub(super) fn has_file(&self, name: &str) -> bool {
        let found = self.entries.binary_search_by(|e| name_of(&self.names, e).cmp(name));
        found.is_ok_and(|i| self.entries[i].kind == Kind::File && self.entries[i].plain)
    }
}

fn name_of<'a>(names: &'a str, entry: &Listed) -> &'a str {
    &names[entry.start as usize..entry.start as usize + usize::from(entry.len)]
}

/// A name that no path can hold, made readable: it is shown and cannot be opened.
fn escaped(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len() * 2);
    for chunk in raw.utf8_chunks() {
        out.push_str(&visible(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}
