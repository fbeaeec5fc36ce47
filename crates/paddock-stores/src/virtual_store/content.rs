//! Contents of a Virtual Store: small ones whole, larger ones in chunks of one size.
//!
//! A chunk is never changed. A new content that has a chunk in common with the old one, at the same place, names it
//! again instead of storing it again.

use std::ops::Range;

use paddock_core::{Call, ErrorKind, Result, Staged};

use super::base::{BaseStore, Content, Row, Rows, RowsMut};
use crate::staged::{read_staged, whole_staged};

/// The size of a chunk, and the most that is kept whole beside its row.
pub(super) const CHUNK: usize = 64 * 1024;
/// How much is staged at once.
const BATCH: usize = 64;

/// A content ready to be put: staged where it is large.
#[derive(Debug)]
pub(super) enum Ready {
    Inline(Vec<u8>),
    Chunks { ids: Vec<u64>, len: u64 },
}

impl Ready {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Chunks { len, .. } => *len,
        }
    }

    pub(super) fn content(&self) -> Content<'_> {
        match self {
            Self::Inline(bytes) => Content::Inline(bytes),
            Self::Chunks { ids, .. } => Content::Chunks(ids),
        }
    }
}

/// Where chunks go before the row that names them.
pub(super) trait Staging {
    fn put_in(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>>;
}

/// Before a transaction.
impl Staging for &dyn BaseStore {
    fn put_in(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
        self.stage(call, chunks)
    }
}

/// Within one: as a part of it where the database can, so that nobody who holds a namespace waits for a connection.
pub(super) struct Within<'a> {
    pub(super) base: &'a dyn BaseStore,
    pub(super) rows: &'a dyn RowsMut,
}

impl Staging for Within<'_> {
    fn put_in(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
        match self.rows.stage(chunks)? {
            Some(ids) => Ok(ids),
            None => self.base.stage(call, chunks),
        }
    }
}

/// What a content can take over from the one it replaces.
pub(super) struct Like<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) ids: &'a [u64],
}

/// Makes a content ready: a large one is staged, but for the chunks it has in common with another.
pub(super) fn ready(base: &dyn Staging, call: &Call<'_>, content: Vec<u8>, like: Option<&Like<'_>>) -> Result<Ready> {
    if content.len() <= CHUNK {
        return Ok(Ready::Inline(content));
    }
    let known = |at: usize, chunk: &[u8]| {
        let like = like?;
        let old = like.bytes.chunks(CHUNK).nth(at)?;
        (old == chunk).then(|| like.ids.get(at).copied()).flatten()
    };
    let chunks: Vec<&[u8]> = content.chunks(CHUNK).collect();
    let mut ids: Vec<Option<u64>> = chunks.iter().enumerate().map(|(at, chunk)| known(at, chunk)).collect();
    let missing: Vec<usize> = ids.iter().enumerate().filter(|(_, id)| id.is_none()).map(|(at, _)| at).collect();
    for batch in missing.chunks(BATCH) {
        call.tick(0)?;
        let bytes: Vec<&[u8]> = batch.iter().map(|at| chunks[*at]).collect();
        for (at, id) in batch.iter().zip(base.put_in(call, &bytes)?) {
            ids[*at] = Some(id);
        }
    }
    Ok(Ready::Chunks { ids: ids.into_iter().flatten().collect(), len: content.len() as u64 })
}

/// A staged file made ready: read a few chunks at a time, however large it is.
pub(super) fn staged(base: &dyn Staging, call: &Call<'_>, staged: &Staged) -> Result<Ready> {
    if staged.len() <= CHUNK as u64 {
        return whole_staged(staged).map(Ready::Inline);
    }
    let mut ids = Vec::new();
    let mut at = 0;
    while at < staged.len() {
        call.tick(0)?;
        let step = usize::try_from((staged.len() - at).min((CHUNK * BATCH) as u64)).unwrap_or(CHUNK);
        let bytes = read_staged(staged, at, step)?;
        if bytes.len() < step {
            return Err(ErrorKind::Stale.into());
        }
        ids.extend(base.put_in(call, &bytes.chunks(CHUNK).collect::<Vec<_>>())?);
        at += step as u64;
    }
    Ok(Ready::Chunks { ids, len: staged.len() })
}

/// A content that is in chunks already.
pub(super) struct Chunked {
    pub(super) ids: Vec<u64>,
    pub(super) len: u64,
}

impl Chunked {
    /// The content of a row, where it is in chunks.
    pub(super) fn of(rows: &dyn Rows, row: &Row) -> Result<Option<Self>> {
        let Some(body) = row.body.filter(|body| body.chunked) else { return Ok(None) };
        Ok(Some(Self { ids: rows.chunks(body, 0..u64::MAX)?, len: row.len }))
    }

    /// Adds to its end without reading more of it than its last chunk.
    pub(super) fn extended(
        self,
        base: &dyn Staging,
        call: &Call<'_>,
        rows: &dyn Rows,
        addition: &[u8],
    ) -> Result<Ready> {
        let Self { mut ids, len } = self;
        if addition.is_empty() {
            return Ok(Ready::Chunks { ids, len });
        }
        let full = usize::try_from(len / CHUNK as u64).unwrap_or(usize::MAX);
        let mut tail = Vec::new();
        if let Some(last) = ids.get(full) {
            rows.chunk(*last, 0..len % CHUNK as u64, &mut tail)?;
        }
        ids.truncate(full);
        tail.extend_from_slice(addition);
        let chunks: Vec<&[u8]> = tail.chunks(CHUNK).collect();
        for batch in chunks.chunks(BATCH) {
            call.tick(0)?;
            ids.extend(base.put_in(call, batch)?);
        }
        Ok(Ready::Chunks { ids, len: len + addition.len() as u64 })
    }

    /// Its beginning, which is less than all of it.
    fn shortened(mut self, base: &dyn Staging, call: &Call<'_>, rows: &dyn Rows, len: u64) -> Result<Ready> {
        let (full, rest) = (len / CHUNK as u64, len % CHUNK as u64);
        let mut tail = Vec::new();
        if let Some(last) = self.ids.get(usize::try_from(full).unwrap_or(usize::MAX)) {
            rows.chunk(*last, 0..rest, &mut tail)?;
        }
        self.ids.truncate(usize::try_from(full).unwrap_or(usize::MAX));
        Self { len: full * CHUNK as u64, ..self }.extended(base, call, rows, &tail)
    }
}

/// The beginning of a content.
pub(super) fn shortened(base: &dyn Staging, call: &Call<'_>, rows: &dyn Rows, row: &Row, len: u64) -> Result<Ready> {
    let len = len.min(row.len);
    match Chunked::of(rows, row)? {
        Some(chunked) if len > CHUNK as u64 => chunked.shortened(base, call, rows, len),
        _ => {
            let mut bytes = Vec::new();
            read(rows, row, 0..len, &mut bytes)?;
            Ok(Ready::Inline(bytes))
        }
    }
}

/// Appends the bytes of a range of a row's content; only the chunks in it are touched.
pub(super) fn read(rows: &dyn Rows, row: &Row, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
    let range = range.start.min(row.len)..range.end.min(row.len);
    let Some(body) = row.body.filter(|_| range.start < range.end) else { return Ok(()) };
    if !body.chunked {
        return rows.inline(body, range, out);
    }
    let size = CHUNK as u64;
    let first = range.start / size;
    for (at, id) in (first..).zip(rows.chunks(body, first..range.end.div_ceil(size))?) {
        let start = at * size;
        let part = range.start.saturating_sub(start)..(range.end - start).min(size);
        rows.chunk(id, part, out)?;
    }
    Ok(())
}
