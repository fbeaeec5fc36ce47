//! An index of git: what is staged in it, read as git itself would.
//!
//! Git forgives much: what it cannot make sense of behind the entries it passes over, it believes there what it once noted about
//! whole directories, and where several threads read it begins where the end of the file says. So of an index that a
//! command or a fork leaves only the entries are taken over, with the hashes of the one length that the repository has;
//! git makes the rest again.

use std::collections::HashMap;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::gits_lists::MAX_LIST;

/// No path is longer.
const LONGEST_NAME: usize = 4096;
/// Before the hash of an entry stands what git knows of its file.
const STAT: usize = 40;
/// Where in that its mode stands.
const MODE: usize = 24;
/// Of a directory of which nothing is checked out.
const DIRECTORY: u32 = 0o040_000;

/// A file as it is staged: its mode, which of the sides of a conflict it is, and its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    stage: u16,
    content: Vec<u8>,
}

impl Entry {
    /// Is it a repository of its own?
    pub(crate) fn is_submodule(&self) -> bool {
        self.mode & 0o170_000 == 0o160_000
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == DIRECTORY
    }
}

/// What is read of an index.
#[derive(Debug)]
pub(crate) struct Index {
    /// By name; where there is a conflict a name has several.
    pub(crate) entries: HashMap<Vec<u8>, Vec<Entry>>,
    /// Where the entries of a name begin.
    starts: HashMap<Vec<u8>, Vec<usize>>,
    /// Where the entries end.
    end: usize,
}

impl Index {
    /// Reads one whose hashes have so many bytes; nothing where it is none, or has something that git has to know and is not known here.
    pub(crate) fn read(index: &[u8], hash: usize) -> Option<Self> {
        Reader::of(index, hash)?.read()
    }

    /// The same index with nothing but its entries; of those for which `is_looked_at` git has to look at the file again.
    pub(crate) fn alone(&self, index: &[u8], hash: usize, is_looked_at: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut entries = index[..self.end].to_vec();
        for start in self.starts.iter().filter(|(name, _)| is_looked_at(name)).flat_map(|(_, starts)| starts) {
            // Times, device and number, owner and length; the mode between them stays.
            entries[*start..start + MODE].fill(0);
            entries[start + MODE + 4..start + STAT].fill(0);
        }
        let sum = if hash == 20 { Sha1::digest(&entries).to_vec() } else { Sha256::digest(&entries).to_vec() };
        [entries, sum].concat()
    }
}

struct Reader<'a> {
    index: &'a [u8],
    hash: usize,
    version: u32,
    count: usize,
}

impl<'a> Reader<'a> {
    fn of(index: &'a [u8], hash: usize) -> Option<Self> {
        let (version, count) = (number(index, 4)?, number(index, 8)? as usize);
        (index.starts_with(b"DIRC") && (2..=4).contains(&version)).then_some(Self { index, hash, version, count })
    }

    fn read(&self) -> Option<Index> {
        let (mut at, mut last): (usize, Vec<u8>) = (12, Vec::new());
        let mut room = MAX_LIST as usize;
        let mut entries: HashMap<Vec<u8>, Vec<Entry>> = HashMap::new();
        let mut starts: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for _ in 0..self.count {
            let (name, entry, next) = self.entry(at, &last)?;
            // Names that go on from each other may come to far more than the index that holds them.
            room = room.checked_sub(name.len())?;
            entries.entry(name.clone()).or_default().push(entry);
            starts.entry(name.clone()).or_default().push(at);
            (at, last) = (next, name);
        }
        self.goes_without_the_rest(at).then_some(Index { entries, starts, end: at })
    }

    /// An entry with its name, and where the next one begins.
    fn entry(&self, at: usize, last: &[u8]) -> Option<(Vec<u8>, Entry, usize)> {
        const LONG: u16 = 0xfff;
        let flags_at = at + STAT + self.hash;
        let flags = u16::from_be_bytes(self.index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let is_extended = flags & 0x4000 != 0;
        if is_extended && self.version < 3 {
            return None;
        }
        let mut from = flags_at + if is_extended { 4 } else { 2 };
        let mut kept = 0;
        if self.version == 4 {
            let (cut, len) = varint(self.index.get(from..)?)?;
            kept = last.len().checked_sub(cut)?;
            from += len;
        }
        let rest = self.index.get(from..self.end())?;
        let len = rest.iter().position(|byte| *byte == 0)?;
        if kept + len > LONGEST_NAME {
            return None;
        }
        let name = [&last[..kept], &rest[..len]].concat();
        let told = flags & LONG;
        let is_told = usize::from(told) == name.len() || (told == LONG && name.len() >= usize::from(LONG));
        let next = if self.version == 4 { from + len + 1 } else { at + (from + len - at + 8) / 8 * 8 };
        let content = self.index.get(at + STAT..flags_at)?.to_vec();
        let entry = Entry { mode: number(self.index, at + MODE)?, stage: flags & 0x3000, content };
        (is_told && next <= self.end()).then_some((name, entry, next))
    }

    /// Where the sum of it all begins.
    fn end(&self) -> usize {
        self.index.len().saturating_sub(self.hash)
    }

    /// What follows the entries: git can do without what begins with a large letter, and `sdir` only says that there may be
    /// directories among the entries.
    fn goes_without_the_rest(&self, entries_end: usize) -> bool {
        let mut at = entries_end;
        while at < self.end() {
            let (Some(kind), Some(len)) = (self.index.get(at..at + 4), number(self.index, at + 4)) else {
                return false;
            };
            if !kind[0].is_ascii_uppercase() && kind != b"sdir" {
                return false;
            }
            let Some(next) = at.checked_add(8).and_then(|data| data.checked_add(len as usize)) else { return false };
            at = next;
        }
        at == self.end()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number as git packs it, and how many bytes it takes.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes[at] & 0x80 != 0 {
        at += 1;
        let byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: usize = 20;

    fn entry(out: &mut Vec<u8>, name: &[u8], told: u16) {
        let at = out.len();
        out.extend([0; 40 + HASH]);
        out.extend(told.to_be_bytes());
        out.extend(name);
        let len = out.len() - at;
        out.extend(vec![0; 8 - len % 8]);
    }

    fn index(names: &[&[u8]]) -> Vec<u8> {
        let mut out =
            [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &u32::try_from(names.len()).unwrap().to_be_bytes()].concat();
        names.iter().for_each(|name| entry(&mut out, name, u16::try_from(name.len()).unwrap()));
        out
    }

    fn closed(mut out: Vec<u8>) -> Vec<u8> {
        out.extend([0; HASH]);
        out
    }

    fn with(mut out: Vec<u8>, kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        out.extend(kind);
        out.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        out.extend(data);
        out
    }

    fn read_names(index: &[u8]) -> Option<Vec<String>> {
        let read = Index::read(index, HASH)?;
        let mut names: Vec<String> =
            read.entries.keys().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        Some(names)
    }

    #[test]
    fn the_entries_of_an_index_are_taken_over_and_nothing_else() {
        let plain = index(&[b"a", b"dir/longer-name.txt", b"x/1234567"]);
        assert_eq!(read_names(&closed(plain.clone())).unwrap(), ["a", "dir/longer-name.txt", "x/1234567"]);
        let sum = Sha1::digest(&plain).to_vec();
        for rest in [b"TREE", b"EOIE", b"IEOT", b"ZZZZ"] {
            let whole = closed(with(plain.clone(), rest, b"whatever"));
            let alone = Index::read(&whole, HASH).unwrap().alone(&whole, HASH, |_| false);
            assert_eq!(alone, [plain.as_slice(), &sum].concat());
            assert_eq!(read_names(&alone).unwrap().len(), 3);
        }
        assert_eq!(read_names(&closed(index(&[]))).unwrap(), [""; 0]);
    }

    #[test]
    fn what_git_could_read_otherwise_is_not_read() {
        let plain = index(&[b"a", b"b"]);
        let mut told_wrong = plain.clone();
        told_wrong[12 + 40 + HASH + 1] = 9;
        for bad in [
            Vec::new(),
            b"DIRC".to_vec(),
            plain[..plain.len() - 8].to_vec(),
            closed(told_wrong),
            closed(with(plain.clone(), b"link", b"")),
            closed([plain.clone(), b"TREE\xff\xff\xff\xff".to_vec()].concat()),
        ] {
            assert_eq!(read_names(&bad), None, "{bad:?}");
        }
        let mut extended = closed(plain);
        extended[12 + 40 + HASH] = 0x40;
        assert_eq!(read_names(&extended), None, "no such flags in version 2");
    }

    /// As version 4 has it: what goes of the name before, what comes.
    fn in_steps(names: &[(u8, &[u8], usize)]) -> Vec<u8> {
        let mut out =
            [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &u32::try_from(names.len()).unwrap().to_be_bytes()].concat();
        for (cut, rest, told) in names {
            out.extend([0; 40 + HASH]);
            out.extend(u16::try_from(*told.min(&0xfff)).unwrap().to_be_bytes());
            out.push(*cut);
            out.extend(*rest);
            out.push(0);
        }
        closed(out)
    }

    #[test]
    fn names_that_go_on_from_each_other_are_read_and_bounded() {
        let index = in_steps(&[(0, b"dir/one", 7), (3, b"two", 7), (7, b"../x", 4)]);
        assert_eq!(read_names(&index).unwrap(), ["../x", "dir/one", "dir/two"]);
        assert_eq!(read_names(&in_steps(&[(1, b"a", 1)])), None, "there is nothing before it");
        let long = vec![b'a'; LONGEST_NAME];
        assert_eq!(read_names(&in_steps(&[(0, &long, LONGEST_NAME)])).map(|names| names.len()), Some(1));
        assert_eq!(read_names(&in_steps(&[(0, &long, LONGEST_NAME), (0, b"a", LONGEST_NAME + 1)])), None);
        let many = vec![(0, b"".as_slice(), LONGEST_NAME); MAX_LIST as usize / LONGEST_NAME];
        assert_eq!(read_names(&in_steps(&[&[(0, long.as_slice(), LONGEST_NAME)], &many[..]].concat())), None);
    }

    #[test]
    fn an_index_is_read_with_the_hashes_of_its_repository_alone() {
        // With hashes of 20 bytes the first name leads out, with hashes of 32 there is one harmless file.
        let mut out = [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &1_u32.to_be_bytes(), &[0; 60]].concat();
        out.extend([0, 4, 0]);
        out.extend(b"../x\0");
        out.extend([b"ZZZZ".as_slice(), &[0, 5, 0], b"b.txt\0", &[0; 32]].concat());
        assert!(Index::read(&out, 20).is_none());
        assert!(Index::read(&out, 32).unwrap().entries.contains_key(b"b.txt".as_slice()));
    }

    #[test]
    fn a_file_that_has_to_be_looked_at_is_known_by_nothing_else() {
        let mut known = index(&[b"a", b"b"]);
        known[12..12 + 40].fill(7);
        let whole = closed(known);
        let read = Index::read(&whole, HASH).unwrap();
        let alone = read.alone(&whole, HASH, |name| name == b"a");
        assert_eq!(alone[12..12 + 40], [[0; 24].as_slice(), &[7; 4], &[0; 12]].concat());
        assert_eq!(Index::read(&alone, HASH).unwrap().entries, read.entries);
        assert_eq!(read.alone(&whole, HASH, |name| name == b"b")[..whole.len() - HASH], whole[..whole.len() - HASH]);
    }

    #[test]
    fn an_entry_that_is_changed_is_another() {
        let (before, mut after) = (closed(index(&[b"a"])), closed(index(&[b"a"])));
        let entries = |index: &[u8]| Index::read(index, HASH).unwrap().entries;
        assert_eq!(entries(&before), entries(&after));
        after[12 + 40] = 1;
        assert_ne!(entries(&before), entries(&after));
    }
}
