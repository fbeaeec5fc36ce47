//! Going through a host directory tree, in tree order, without following anything.
//!
//! Each directory is opened by itself from the Mount's descriptor and closed before the next, so
//! that depth costs no descriptors, and a directory swapped for a link meanwhile is an error on that
//! one directory, which is then left out.

use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use paddock_core::{Call, Entry, EntrySink, ErrorKind, Kind, Place, RelPath, StoreError, Walk, tree_order};

use super::TEMP_PREFIX;
use super::host::{open_dir, open_file, store_error};
use super::listing::{HostEntry, Listing};
use crate::below::Below;
use crate::ignores::{Ignores, MAX_RULES, RULE_FILES};

/// What a walk needs to know everywhere.
pub(super) struct Tree<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) mount: &'a OwnedFd,
    pub(super) place: &'a Place<'a>,
    pub(super) skip_ignored: bool,
}

/// One directory, listed, with the ignore rules that hold inside it.
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) listing: Listing,
    pub(super) ignores: Arc<Ignores>,
}

impl Tree<'_> {
    /// Opens the directory that a walk starts at, under the rules of the directories above it.
    pub(super) fn start(&self) -> Result<Opened, StoreError> {
        let rel = self.place.rel();
        let mut ignores = Arc::default();
        if self.skip_ignored {
            let mut above: Vec<RelPath<'_>> = rel.ancestors().skip(1).collect();
            above.push(RelPath::HERE);
            for dir in above.into_iter().rev().filter(|_| !rel.is_here()) {
                let fd = open_dir(self.mount, dir.as_str()).map_err(store_error)?;
                ignores = enter(&ignores, &fd, dir.as_str(), |name| file_text(&fd, name).is_some());
            }
        }
        self.open(rel.as_str(), &ignores)
    }

    /// Opens and lists one directory.
    pub(super) fn open(&self, path: &str, above: &Arc<Ignores>) -> Result<Opened, StoreError> {
        let fd = open_dir(self.mount, path).map_err(store_error)?;
        let listing = Listing::read(self.call, &fd)?;
        let ignores =
            if self.skip_ignored { enter(above, &fd, path, |name| listing.has_file(name)) } else { Arc::clone(above) };
        Ok(Opened { fd, listing, ignores })
    }

    /// Whether an entry may be seen and is not left out.
    pub(super) fn shows(&self, path: &str, entry: &HostEntry<'_>, ignores: &Ignores) -> bool {
        let ours = entry.name.starts_with(TEMP_PREFIX) && !self.place.shows_everything();
        let skipped = self.skip_ignored && ignores.skips(path, entry.kind == Kind::Dir);
        !ours && !skipped && self.place.shows(path)
    }
}

/// Walks everything below the Place.
pub(super) fn walk(tree: &Tree<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<(), StoreError> {
    let start = tree.start()?;
    let dir = tree.place.rel().as_str().to_owned();
    let depth = walk.depth.unwrap_or(u32::MAX);
    walk_dir(tree, walk, &dir, &start, depth, sink).map(|_| ())
}

fn walk_dir(
    tree: &Tree<'_>,
    walk: &Walk<'_>,
    dir: &str,
    opened: &Opened,
    depth: u32,
    sink: EntrySink<'_>,
) -> Result<ControlFlow<()>, StoreError> {
    if depth == 0 {
        return Ok(ControlFlow::Continue(()));
    }
    let mut below = Below::new(dir);
    for entry in opened.listing.iter() {
        let path = below.path(entry.name);
        if !tree.shows(path, &entry, &opened.ignores) {
            continue;
        }
        let seen_before = walk.after.is_some_and(|after| tree_order(path, after).is_le());
        if seen_before && !walk.after.is_some_and(|after| leads_to(path, after)) {
            continue;
        }
        if !seen_before && sink(Entry { path, kind: entry.kind, plain: entry.plain }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if entry.kind != Kind::Dir || !entry.plain || depth == 1 {
            continue;
        }
        match tree.open(path, &opened.ignores) {
            Ok(inner) => {
                if walk_dir(tree, walk, path, &inner, depth - 1, sink)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Err(e) if passed_over(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Is `after` the directory itself, or inside it?
fn leads_to(dir: &str, after: &str) -> bool {
    after.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A directory that went away, was swapped for something else, or that the host keeps closed is left
/// out; the walk goes on.
pub(crate) fn passed_over(error: &StoreError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::Link
            | ErrorKind::HostRefuses
            | ErrorKind::NotAFile
            | ErrorKind::IsADirectory
            | ErrorKind::HardLinked
            | ErrorKind::TooLarge { .. }
    )
}

fn enter(above: &Arc<Ignores>, fd: &OwnedFd, dir: &str, has: impl Fn(&str) -> bool) -> Arc<Ignores> {
    let texts: Vec<String> =
        RULE_FILES.iter().filter(|name| has(name)).filter_map(|name| file_text(fd, name)).collect();
    Ignores::enter(above, dir, &texts)
}

fn file_text(dir: &OwnedFd, name: &str) -> Option<String> {
    let (file, _) = open_file(dir, name).ok()?;
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(MAX_RULES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
