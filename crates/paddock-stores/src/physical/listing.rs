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
    /// What sorts most names: the first bytes behind what all of them begin with.
    key: u64,
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
        listing.sort();
        Ok(listing)
    }

    fn sort(&mut self) {
        let Self { names, entries } = self;
        let bytes = |entry: &Listed| name_of(names, entry).as_bytes();
        let mut shared = entries.first().map_or(&[][..], bytes);
        for entry in &*entries {
            while !bytes(entry).starts_with(shared) {
                shared = &shared[..shared.len() - 1];
            }
        }
        for entry in &mut *entries {
            entry.key = key_of(&bytes(entry)[shared.len()..]);
        }
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key).then_with(|| bytes(a).cmp(bytes(b))));
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
            key: 0,
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

/// The first eight bytes, as a number that sorts like them.
fn key_of(name: &[u8]) -> u64 {
    let mut key = [0; 8];
    let len = name.len().min(key.len());
    key[..len].copy_from_slice(&name[..len]);
    u64::from_be_bytes(key)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_bytes_whatever_they_begin_with() {
        let sets: [&[&str]; 5] = [
            &[],
            &["only"],
            &["b", "a", "", "ab", "aaaaaaaaab", "aaaaaaaaaa", "aaaaaaaa"],
            &["shared-2", "shared-10", "shared-", "shared-123456789b", "shared-123456789a", "shared-\u{1f}"],
            &["\u{e9}b", "\u{e8}", "\u{e9}", "\u{e9}a"],
        ];
        for names in sets {
            let mut listing = Listing::default();
            names.iter().for_each(|name| listing.push(name.as_bytes(), Kind::File).unwrap());
            listing.sort();
            let mut expected: Vec<String> = listing.iter().map(|entry| entry.name.to_owned()).collect();
            expected.sort();
            assert_eq!(listing.iter().map(|entry| entry.name.to_owned()).collect::<Vec<_>>(), expected, "{names:?}");
            assert_eq!(listing.iter().count(), names.len());
        }
    }
}
