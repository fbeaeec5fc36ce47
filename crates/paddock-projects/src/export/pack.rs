//! Git's objects, a pack of them, and the index of the pack. Nothing is a delta: each object stands for itself.
//!
//! The formats are those of Git's own documentation (gitformat-pack, gitformat-index). A pack is written from front to back, so it can go
//! anywhere; the index is made from what was noted on the way.

use std::fmt;
use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use sha1::{Digest as _, Sha1};

/// The name of an object: the hash of what it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub(crate) [u8; 20]);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }
}

/// Computes the name of an object while its content goes by.
pub(crate) struct Naming(Sha1);

impl Naming {
    pub(crate) fn new(kind: Type, len: u64) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{} {len}\0", kind.name()));
        Self(hash)
    }

    pub(crate) fn update(&mut self, content: &[u8]) {
        self.0.update(content);
    }

    pub(crate) fn id(self) -> Id {
        Id(self.0.finalize().into())
    }
}

/// The name of an object whose content is at hand.
pub(crate) fn id_of(kind: Type, content: &[u8]) -> Id {
    let mut naming = Naming::new(kind, content.len() as u64);
    naming.update(content);
    naming.id()
}

/// Where an object is in a pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed {
    id: Id,
    crc: u32,
    offset: u64,
}

/// Counts and hashes what is written on.
struct Tally<W> {
    out: W,
    hash: Sha1,
    crc: Crc,
    written: u64,
}

impl<W: Write> Write for Tally<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.crc.update(&bytes[..n]);
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A pack while it is written.
pub(crate) struct PackWriter<W: Write> {
    tally: Tally<W>,
    packed: Vec<Packed>,
}

/// One object while it is written.
pub(crate) struct ObjectWriter<'a, W: Write> {
    zlib: ZlibEncoder<&'a mut Tally<W>>,
    packed: &'a mut Vec<Packed>,
    naming: Naming,
    offset: u64,
}

impl<W: Write> PackWriter<W> {
    /// A pack of so many objects.
    pub(crate) fn new(out: W, objects: u32) -> io::Result<Self> {
        let mut tally = Tally { out, hash: Sha1::new(), crc: Crc::new(), written: 0 };
        tally.write_all(b"PACK")?;
        tally.write_all(&2_u32.to_be_bytes())?;
        tally.write_all(&objects.to_be_bytes())?;
        Ok(Self { tally, packed: Vec::new() })
    }

    /// Begins an object of this length.
    pub(crate) fn object(&mut self, kind: Type, len: u64) -> io::Result<ObjectWriter<'_, W>> {
        let offset = self.tally.written;
        self.tally.crc.reset();
        self.tally.write_all(&object_header(kind, len))?;
        let zlib = ZlibEncoder::new(&mut self.tally, Compression::default());
        Ok(ObjectWriter { zlib, packed: &mut self.packed, naming: Naming::new(kind, len), offset })
    }

    /// An object whose content is at hand.
    pub(crate) fn whole(&mut self, kind: Type, content: &[u8]) -> io::Result<Id> {
        let mut object = self.object(kind, content.len() as u64)?;
        object.write(content)?;
        object.finish()
    }

    /// Ends the pack: its hash, and what the index says.
    pub(crate) fn finish(mut self) -> io::Result<(W, [u8; 20], Vec<Packed>)> {
        let hash: [u8; 20] = self.tally.hash.clone().finalize().into();
        self.tally.out.write_all(&hash)?;
        self.tally.out.flush()?;
        self.packed.sort_by_key(|packed| packed.id);
        Ok((self.tally.out, hash, self.packed))
    }
}

impl<W: Write> ObjectWriter<'_, W> {
    pub(crate) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.naming.update(content);
        self.zlib.write_all(content)
    }

    pub(crate) fn finish(self) -> io::Result<Id> {
        let tally = self.zlib.finish()?;
        let id = self.naming.id();
        self.packed.push(Packed { id, crc: tally.crc.sum(), offset: self.offset });
        Ok(id)
    }
}

/// Type and length: four bits of the length first, then seven at a time.
fn object_header(kind: Type, len: u64) -> Vec<u8> {
    let mut rest = len >> 4;
    let mut header = vec![(kind as u8) << 4 | u8::try_from(len & 0xf).unwrap_or(0)];
    while rest > 0 {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push(u8::try_from(rest & 0x7f).unwrap_or(0));
        rest >>= 7;
    }
    header
}

/// Writes the index of a pack, in its second version.
pub(crate) fn write_index(out: &mut dyn Write, pack: [u8; 20], packed: &[Packed]) -> io::Result<()> {
    const FAR: u64 = 0x8000_0000;
    let mut tally = Tally { out, hash: Sha1::new(), crc: Crc::new(), written: 0 };
    tally.write_all(b"\xfftOc")?;
    tally.write_all(&2_u32.to_be_bytes())?;
    for first in 0..=255_u8 {
        let up_to = packed.partition_point(|packed| packed.id.0[0] <= first);
        tally.write_all(&word(up_to as u64))?;
    }
    packed.iter().try_for_each(|packed| tally.write_all(&packed.id.0))?;
    packed.iter().try_for_each(|packed| tally.write_all(&packed.crc.to_be_bytes()))?;
    let far: Vec<u64> = packed.iter().map(|packed| packed.offset).filter(|offset| *offset >= FAR).collect();
    let mut next_far = 0;
    for offset in packed.iter().map(|packed| packed.offset) {
        let is_far = offset >= FAR;
        tally.write_all(&word(if is_far { FAR | next_far } else { offset }))?;
        next_far += u64::from(is_far);
    }
    far.iter().try_for_each(|offset| tally.write_all(&offset.to_be_bytes()))?;
    tally.write_all(&pack)?;
    let hash: [u8; 20] = tally.hash.clone().finalize().into();
    tally.out.write_all(&hash)?;
    tally.out.flush()
}

/// Four bytes, as the index has them.
fn word(n: u64) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_names_that_git_gives_them() {
        assert_eq!(id_of(Type::Blob, b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id_of(Type::Tree, b"").to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(id_of(Type::Blob, b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn a_header_says_the_type_and_the_length() {
        assert_eq!(object_header(Type::Blob, 5), [0x35]);
        assert_eq!(object_header(Type::Commit, 16), [0x90, 0x01]);
        assert_eq!(object_header(Type::Tree, 15 + (127 << 4)), [0xaf, 0x7f]);
        assert_eq!(object_header(Type::Blob, 1 << 35).len(), 6);
    }

    #[test]
    fn offsets_past_two_gibibytes_go_to_the_second_table() {
        let near = Packed { id: Id([1; 20]), crc: 7, offset: 12 };
        let far = Packed { id: Id([2; 20]), crc: 8, offset: 5 << 30 };
        let mut index = Vec::new();
        write_index(&mut index, [9; 20], &[near, far]).unwrap();
        let offsets = 8 + 256 * 4 + 2 * 20 + 2 * 4;
        assert_eq!(index[offsets..offsets + 4], 12_u32.to_be_bytes());
        assert_eq!(index[offsets + 4..offsets + 8], 0x8000_0000_u32.to_be_bytes());
        assert_eq!(index[offsets + 8..offsets + 16], (5_u64 << 30).to_be_bytes());
    }
}
