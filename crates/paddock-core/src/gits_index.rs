//! The names in an index of git, read as git itself would.
//!
//! Git forgives much: what it cannot make sense of behind the entries it passes over, and where several threads read it begins
//! where the end of the file says. So this reader takes what git writes and nothing that could be read in another way,
//! with hashes of the one length that the repository has.

use std::collections::BTreeSet;

use crate::gits_lists::MAX_LIST;

/// No path is longer.
const LONGEST_NAME: usize = 4096;

/// What git itself puts behind the entries, and passes over or reads as names of what is there already.
const EXTENSIONS: [&[u8; 4]; 5] = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"sdir"];

/// The names in an index whose hashes have so many bytes; nothing where it is none, or git could read it otherwise.
pub(crate) fn names_in_index(index: &[u8], hash: usize) -> Option<BTreeSet<Vec<u8>>> {
    Entries::of(index, hash)?.names()
}

/// What is read of an index.
struct Entries<'a> {
    index: &'a [u8],
    hash: usize,
    version: u32,
    count: usize,
}

impl<'a> Entries<'a> {
    fn of(index: &'a [u8], hash: usize) -> Option<Self> {
        let (version, count) = (number(index, 4)?, number(index, 8)? as usize);
        (index.starts_with(b"DIRC") && (2..=4).contains(&version)).then_some(Self { index, hash, version, count })
    }

    fn names(&self) -> Option<BTreeSet<Vec<u8>>> {
        let (mut at, mut last): (usize, Vec<u8>) = (12, Vec::new());
        let mut room = MAX_LIST as usize;
        let (mut names, mut starts) = (BTreeSet::new(), Vec::new());
        for _ in 0..self.count {
            let (name, kept, next) = self.entry(at, &last)?;
            // Names that go on from each other may come to far more than the index that holds them.
            room = room.checked_sub(name.len())?;
            starts.push((at, kept));
            names.insert(name.clone());
            (at, last) = (next, name);
        }
        self.ends_well(at, &starts).then_some(names)
    }

    /// The name of an entry, how much of it is that of the one before, and where the next one begins.
    fn entry(&self, at: usize, last: &[u8]) -> Option<(Vec<u8>, usize, usize)> {
        const STAT: usize = 40;
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
        (is_told && next <= self.end()).then_some((name, kept, next))
    }

    /// Where the sum of it all begins.
    fn end(&self) -> usize {
        self.index.len().saturating_sub(self.hash)
    }

    /// What follows the entries: only what git writes there, and offsets only to where entries are.
    fn ends_well(&self, entries_end: usize, starts: &[(usize, usize)]) -> bool {
        let mut at = entries_end;
        let mut told_end = None;
        while at < self.end() {
            let Some((kind, data)) = self.extension(at) else { return false };
            let is_fine = match kind {
                b"EOIE" => {
                    told_end = Some(at);
                    data.len() == 4 + self.hash && number(data, 0) == u32::try_from(entries_end).ok()
                }
                b"IEOT" => self.blocks_fit(data, starts),
                other => EXTENSIONS.iter().any(|known| known.as_slice() == other),
            };
            if !is_fine {
                return false;
            }
            at += 8 + data.len();
        }
        at == self.end() && told_end == self.seeming_end()
    }

    fn extension(&self, at: usize) -> Option<(&'a [u8], &'a [u8])> {
        let len = number(self.index, at + 4)? as usize;
        let data = self.index.get(at + 8..at.checked_add(8)?.checked_add(len)?)?;
        (at + 8 + len <= self.end()).then_some((&self.index[at..at + 4], data))
    }

    /// Where git takes the last of the extensions to be that tells the end of the entries: it looks at a fixed place, whatever that
    /// is a part of.
    fn seeming_end(&self) -> Option<usize> {
        let at = self.end().checked_sub(8 + 4 + self.hash)?;
        let mark = [b"EOIE".as_slice(), &u32::try_from(4 + self.hash).ok()?.to_be_bytes()].concat();
        (self.index.get(at..at + 8)? == mark).then_some(at)
    }

    /// Several threads begin where this says.
    fn blocks_fit(&self, table: &[u8], starts: &[(usize, usize)]) -> bool {
        let mut entry = 0;
        let fits = |block: &[u8]| {
            let (Some(offset), Some(count)) = (number(block, 0), number(block, 4)) else { return false };
            let is_here = starts.get(entry).is_some_and(|(at, kept)| *at == offset as usize && *kept == 0);
            entry += count as usize;
            is_here
        };
        table.len() % 8 == 4 && table[4..].chunks(8).all(fits) && entry == self.count
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

    /// Where the entries end, and a sum that is not looked at here.
    fn told_end(at: usize) -> Vec<u8> {
        [u32::try_from(at).unwrap().to_be_bytes().as_slice(), &[0; HASH]].concat()
    }

    fn read_names(index: &[u8]) -> Option<Vec<String>> {
        names_in_index(index, HASH)
            .map(|names| names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    #[test]
    fn the_names_of_an_index_are_read_as_git_reads_them() {
        let plain = index(&[b"a", b"dir/longer-name.txt", b"x/1234567"]);
        assert_eq!(read_names(&closed(plain.clone())).unwrap(), ["a", "dir/longer-name.txt", "x/1234567"]);
        assert_eq!(read_names(&closed(with(plain.clone(), b"TREE", b"xyz"))).unwrap().len(), 3);
        let end = told_end(plain.len());
        assert!(read_names(&closed(with(plain.clone(), b"EOIE", &end))).is_some());
        let blocks = [1_u32, 12, 3].map(u32::to_be_bytes).concat();
        assert!(read_names(&closed(with(plain, b"IEOT", &blocks))).is_some());
        assert_eq!(read_names(&closed(index(&[]))).unwrap(), [""; 0]);
    }

    #[test]
    fn what_git_could_read_otherwise_is_not_read() {
        let plain = index(&[b"a", b"b"]);
        let mut told_wrong = plain.clone();
        told_wrong[12 + 40 + HASH + 1] = 9;
        let blocks = [1_u32, 20, 2].map(u32::to_be_bytes).concat();
        for bad in [
            Vec::new(),
            b"DIRC".to_vec(),
            plain[..plain.len() - 8].to_vec(),
            closed(told_wrong),
            closed(with(plain.clone(), b"link", b"")),
            closed(with(plain.clone(), b"EOIE", &told_end(12))),
            closed(with(plain.clone(), b"EOIE", &told_end(plain.len())[..4])),
            closed(with(plain.clone(), b"ZZZZ", b"")),
            // Git looks for it at a fixed place, also where that is a part of something else.
            closed(with(plain.clone(), b"TREE", &with(b"x".to_vec(), b"EOIE", &told_end(12)))),
            closed(with(with(plain.clone(), b"EOIE", &told_end(plain.len())), b"TREE", b"")),
            closed(with(plain.clone(), b"IEOT", &blocks)),
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
        assert_eq!(names_in_index(&out, 20), None);
        assert_eq!(names_in_index(&out, 32).map(|names| names.len()), Some(1));
    }
}
