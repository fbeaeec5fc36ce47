//! Going through the tree of a Virtual Store, and searching it.
//!
//! Each directory is taken page by page and handed on outside of the database's transaction, so that whoever takes
//! the entries may call this Store, or any other, again.

use std::ops::ControlFlow;
use std::sync::Arc;

use paddock_core::{
    Call, Entry, EntrySink, ErrorKind, FoundList, Hit, Kind, Place, Query, Result, Sink, Walk, tree_order,
};

use super::VirtualStore;
use super::layers::{Found, rel};
use super::memory_base::{join, split};
use crate::below::Below;
use crate::ignores::{Ignores, MAX_RULES, RULE_FILES};
use crate::physical::passed_over;
use crate::search::{LineSearch, TopHits};

/// How much of a file is read at once by a search.
const STEP: u64 = 1024 * 1024;

/// One walk while it goes on.
struct Walking<'a> {
    store: &'a VirtualStore,
    call: &'a Call<'a>,
    at: &'a Place<'a>,
    walk: &'a Walk<'a>,
}

pub(super) fn walk(
    store: &VirtualStore,
    call: &Call<'_>,
    at: &Place<'_>,
    walk: &Walk<'_>,
    sink: EntrySink<'_>,
) -> Result<()> {
    let start = at.rel().as_str();
    let walking = Walking { store, call, at, walk };
    let ignores = if walk.skip_ignored { walking.ignores(start)? } else { Arc::default() };
    walking.directory(start, &ignores, 1, sink).map(|_| ())
}

impl Walking<'_> {
    fn directory(&self, dir: &str, ignores: &Arc<Ignores>, level: u32, sink: EntrySink<'_>) -> Result<ControlFlow<()>> {
        let mut below = Below::new(dir);
        let mut after = self.first_name(dir).map(str::to_owned);
        if let Some(name) = &after {
            let path = below.path(name);
            if let Some(kind) = self.kind_of(path)?
                && self.entry(Entry { path, kind, plain: true }, ignores, level, sink)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        loop {
            let (page, last) = self.page(dir, after.as_deref())?;
            self.call.tick(page.len() as u64)?;
            for child in page.iter() {
                let entry = Entry { path: below.path(child.path), kind: child.kind, plain: child.plain };
                if self.entry(entry, ignores, level, sink)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            match page.iter().next_back().filter(|_| !last) {
                Some(child) => after = Some(child.path.to_owned()),
                None => return Ok(ControlFlow::Continue(())),
            }
        }
    }

    fn entry(
        &self,
        entry: Entry<'_>,
        ignores: &Arc<Ignores>,
        level: u32,
        sink: EntrySink<'_>,
    ) -> Result<ControlFlow<()>> {
        if self.walk.depth == Some(0) {
            return Ok(ControlFlow::Break(()));
        }
        let Entry { path, kind, plain } = entry;
        let is_dir = kind == Kind::Dir;
        if !self.at.shows(path) || (self.walk.skip_ignored && ignores.skips(path, is_dir)) {
            return Ok(ControlFlow::Continue(()));
        }
        let wanted = self.walk.after.is_none_or(|after| tree_order(path, after).is_gt());
        if wanted && sink(entry).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let deeper = is_dir && plain && self.walk.depth.is_none_or(|depth| level < depth);
        if !deeper {
            return Ok(ControlFlow::Continue(()));
        }
        let inside = if self.walk.skip_ignored { self.enter(ignores, path)? } else { Arc::clone(ignores) };
        match self.directory(path, &inside, level + 1, sink) {
            // It went away since it was listed.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Link) => {
                Ok(ControlFlow::Continue(()))
            }
            done => done,
        }
    }

    /// The entry of a directory at which a walk that goes on has to begin.
    fn first_name(&self, dir: &str) -> Option<&str> {
        let after = self.walk.after?;
        let rest = if dir.is_empty() { after } else { after.strip_prefix(dir)?.strip_prefix('/')? };
        rest.split('/').next().filter(|name| !name.is_empty())
    }

    fn kind_of(&self, path: &str) -> Result<Option<Kind>> {
        let path = rel(path)?;
        let found = self.store.at(self.call, |layers| layers.look(path.as_rel()))?;
        Ok(found.map(|found| found.kind()))
    }

    fn page(&self, dir: &str, after: Option<&str>) -> Result<(FoundList, bool)> {
        let dir = rel(dir)?;
        self.store.at(self.call, |layers| layers.children(dir.as_rel(), after))
    }

    /// The rules that hold in a directory and those above it.
    fn ignores(&self, dir: &str) -> Result<Arc<Ignores>> {
        if dir.is_empty() {
            return self.enter(&Arc::default(), "");
        }
        self.enter(&self.ignores(split(dir).0)?, dir)
    }

    fn enter(&self, above: &Arc<Ignores>, dir: &str) -> Result<Arc<Ignores>> {
        let mut texts = Vec::new();
        for name in RULE_FILES {
            let path = rel(&join(dir, name))?;
            let mut bytes = Vec::new();
            let read = self.store.at(self.call, |layers| {
                bytes.clear();
                let found = layers.find(path.as_rel())?;
                layers.read(path.as_rel(), &found, 0..MAX_RULES, &mut bytes)
            });
            if read.is_ok() {
                texts.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Ignores::enter(above, dir, &texts))
    }
}

pub(super) fn search(
    store: &VirtualStore,
    call: &Call<'_>,
    at: &Place<'_>,
    query: &Query,
    sink: Sink<'_, Hit>,
) -> Result<()> {
    let mut searcher = LineSearch::new(query)?.reader();
    let mut top = TopHits::new(query);
    let start = at.rel().as_str();
    let mut search_file = |path: &str| -> Result<ControlFlow<()>> {
        if query.after.as_deref().is_none_or(|after| tree_order(path, after).is_gt()) && top.accepts(path) {
            let mut hits = Vec::new();
            match searcher.search(call, path, Reader::new(store, call, path)?, &mut hits) {
                Err(e) if *e.kind() == ErrorKind::NotFound => {}
                searched => searched?,
            }
            top.add(path, hits);
        }
        Ok(if top.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let kind = store.at(call, |layers| layers.find(at.rel()).map(|found| found.kind()))?;
    match kind {
        Kind::Link => return Err(ErrorKind::Link.into()),
        Kind::Special => return Err(ErrorKind::NotAFile.into()),
        // A file that was named is searched, whatever the glob says.
        Kind::File => {
            call.tick(1)?;
            let _: ControlFlow<()> = search_file(start)?;
        }
        Kind::Dir => {
            let mut failed = None;
            let all = Walk { depth: None, skip_ignored: query.skip_ignored, after: None };
            walk(store, call, at, &all, &mut |entry| {
                let below = entry.path[start.len()..].trim_start_matches('/');
                let wanted = entry.kind == Kind::File && query.glob.as_ref().is_none_or(|glob| glob.matches(below));
                if !wanted || !entry.plain {
                    return ControlFlow::Continue(());
                }
                match search_file(entry.path) {
                    Ok(flow) => flow,
                    // One that the layer below does not let anybody read keeps nothing else from being searched.
                    Err(error) if passed_over(&error) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
    }
    let _ = top.finish().into_iter().try_for_each(sink);
    Ok(())
}

/// Reads a file piece by piece, so that a search of a large one stays small.
struct Reader<'a> {
    store: &'a VirtualStore,
    call: &'a Call<'a>,
    path: paddock_core::RelPathBuf,
    at: u64,
    piece: Vec<u8>,
    used: usize,
}

impl<'a> Reader<'a> {
    fn new(store: &'a VirtualStore, call: &'a Call<'a>, path: &str) -> Result<Self> {
        Ok(Self { store, call, path: rel(path)?, at: 0, piece: Vec::new(), used: 0 })
    }

    fn next_piece(&mut self) -> Result<()> {
        let (path, range) = (self.path.as_rel(), self.at..self.at + STEP);
        let mut piece = std::mem::take(&mut self.piece);
        self.store.at(self.call, |layers| {
            piece.clear();
            let found = layers.find(path)?;
            match found {
                Found::Top => Ok(()),
                _ => layers.read(path, &found, range.clone(), &mut piece).map(|_| ()),
            }
        })?;
        self.at += piece.len() as u64;
        (self.piece, self.used) = (piece, 0);
        Ok(())
    }
}

impl std::io::Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.piece.len() {
            self.next_piece().map_err(std::io::Error::other)?;
        }
        let rest = &self.piece[self.used..];
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.used += n;
        Ok(n)
    }
}
