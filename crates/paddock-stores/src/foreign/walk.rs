//! Going through the tree of a foreign store, and searching it.
//!
//! Without recursion, and never further than one operation may look: a store that holds itself, or that never ends,
//! comes to an end here. Whoever takes the entries may call this Store again.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use paddock_core::{ErrorKind, Hit, Place, Query, RelPath, RelPathBuf, Result, Sink, Walk, tree_order};

use super::keeper::{KeyKind, Named};
use super::shelf::{MOST, Shelf, inside, is_over, too_large};
use crate::ignores::{Ignores, MAX_RULES, RULE_FILES};
use crate::search::{LineSearch, TopHits};

/// Takes what a walk meets.
pub(super) type Visit<'a> = &'a mut dyn FnMut(RelPath<'_>, KeyKind) -> Result<ControlFlow<()>>;

/// A directory that is gone through.
struct Level {
    dir: RelPathBuf,
    left: vec::IntoIter<Named>,
    ignores: Arc<Ignores>,
}

/// Everything below a directory that the Place shows, in tree order.
pub(super) fn walk(shelf: &Shelf<'_>, at: &Place<'_>, how: &Walk<'_>, visit: Visit<'_>) -> Result<()> {
    go_through(shelf, at.rel(), &|path| at.shows(path), how, visit)
}

/// Everything below a directory that goes with it, in tree order.
pub(super) fn below(shelf: &Shelf<'_>, dir: RelPath<'_>, visit: Visit<'_>) -> Result<()> {
    go_through(shelf, dir, &|_| true, &Walk::default(), visit)
}

fn go_through(
    shelf: &Shelf<'_>,
    start: RelPath<'_>,
    shows: &dyn Fn(&str) -> bool,
    walk: &Walk<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    if kind_of(shelf, start)? == KeyKind::File {
        return Err(ErrorKind::NotADirectory.into());
    }
    let above = if walk.skip_ignored { ignores_above(shelf, start)? } else { Arc::default() };
    let mut levels = vec![enter(shelf, start, walk.skip_ignored, &above)?];
    let mut listed = 0;
    while let Some(level) = levels.last_mut() {
        if listed > MOST {
            return Err(too_large("the number of paths in it", MOST));
        }
        let Some(Named { name, kind }) = level.left.next() else {
            levels.pop();
            continue;
        };
        shelf.call.tick(1)?;
        if walk.depth == Some(0) {
            return Ok(());
        }
        let path = inside(level.dir.as_str(), &name)?;
        if !shows(path.as_str()) || (walk.skip_ignored && level.ignores.skips(path.as_str(), kind == KeyKind::Dir)) {
            continue;
        }
        if comes_after(path.as_str(), walk.after) && visit(path.as_rel(), kind)?.is_break() {
            return Ok(());
        }
        let is_deep = walk.depth.is_some_and(|depth| levels.len() >= depth as usize);
        if kind == KeyKind::Dir && !is_deep && !is_past(path.as_rel(), walk.after) {
            let ignores = levels.last().map(|level| Arc::clone(&level.ignores)).unwrap_or_default();
            match enter(shelf, path.as_rel(), walk.skip_ignored, &ignores) {
                Ok(level) => {
                    // Counted before it is gone through: all that is listed is held.
                    listed += level.left.len();
                    levels.push(level);
                }
                // It may have gone away since it was listed.
                Err(e) if !is_over(&e) && shelf.look(path.as_rel())? != Some(KeyKind::Dir) => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}

/// What a walk starts at; where nothing is there, why.
fn kind_of(shelf: &Shelf<'_>, path: RelPath<'_>) -> Result<KeyKind> {
    match shelf.look(path)? {
        Some(kind) => Ok(kind),
        None => shelf.find(path).map(|node| node.kind()),
    }
}

fn enter(shelf: &Shelf<'_>, dir: RelPath<'_>, skip_ignored: bool, above: &Arc<Ignores>) -> Result<Level> {
    let listed = shelf.list(dir)?;
    let ignores = if skip_ignored { ignores_in(shelf, dir, &listed, above)? } else { Arc::default() };
    Ok(Level { dir: dir.to_buf(), left: listed.into_iter(), ignores })
}

/// What the ignore files of the directories above a path say.
fn ignores_above(shelf: &Shelf<'_>, path: RelPath<'_>) -> Result<Arc<Ignores>> {
    let mut above: Vec<RelPath<'_>> =
        path.ancestors().skip(1).chain((!path.is_here()).then_some(RelPath::HERE)).collect();
    let mut ignores = Arc::default();
    while let Some(dir) = above.pop() {
        ignores = ignores_in(shelf, dir, &shelf.list(dir)?, &ignores)?;
    }
    Ok(ignores)
}

fn ignores_in(shelf: &Shelf<'_>, dir: RelPath<'_>, listed: &[Named], above: &Arc<Ignores>) -> Result<Arc<Ignores>> {
    let mut texts = Vec::new();
    for name in RULE_FILES {
        if !listed.iter().any(|entry| entry.kind == KeyKind::File && entry.name == name) {
            continue;
        }
        match shelf.content(inside(dir.as_str(), name)?.as_rel()) {
            Ok(content) => {
                let bytes = content.map(|content| content.bytes).unwrap_or_default();
                let most = usize::try_from(MAX_RULES).unwrap_or(usize::MAX).min(bytes.len());
                texts.push(String::from_utf8_lossy(&bytes[..most]).into_owned());
            }
            Err(e) if is_over(&e) => return Err(e),
            // One that cannot be read leaves nothing out.
            Err(_) => {}
        }
    }
    Ok(Ignores::enter(above, dir.as_str(), &texts))
}

/// The first matching lines below a directory, or in one file.
pub(super) fn search(shelf: &Shelf<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
    let mut searcher = LineSearch::new(query)?.reader();
    let mut top = TopHits::new(query);
    let start = at.rel();
    let mut search_file = |path: RelPath<'_>| {
        if comes_after(path.as_str(), query.after.as_deref())
            && top.accepts(path.as_str())
            && let Some(content) = shelf.content_for_search(path)?
        {
            let mut hits = Vec::new();
            searcher.search(shelf.call, path.as_str(), &*content, &mut hits)?;
            top.add(path.as_str(), hits);
        }
        Ok(if top.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    if kind_of(shelf, start)? == KeyKind::File {
        // A file that was named is searched, whatever the glob says.
        shelf.call.tick(1)?;
        let _: ControlFlow<()> = search_file(start)?;
    } else {
        let mut wanted = |path: RelPath<'_>, kind| {
            let below = path.as_str()[start.as_str().len()..].trim_start_matches('/');
            if kind == KeyKind::File && query.glob.as_ref().is_none_or(|glob| glob.matches(below)) {
                return search_file(path);
            }
            Ok(ControlFlow::Continue(()))
        };
        // A store knows nothing of searches in which case does not count.
        let asked = if query.ignore_case { None } else { shelf.candidates(start, &query.pattern)? };
        match asked {
            Some(candidates) => among(shelf, at, query, candidates, &mut wanted)?,
            None => walk(shelf, at, &Walk { skip_ignored: query.skip_ignored, ..Walk::default() }, &mut wanted)?,
        }
    }
    let _ = top.finish().into_iter().try_for_each(sink);
    Ok(())
}

/// Visits the candidates that a walk would have met, in its order. What it would not have met is dropped: the store was
/// asked, and not believed.
fn among(
    shelf: &Shelf<'_>,
    at: &Place<'_>,
    query: &Query,
    mut candidates: Vec<RelPathBuf>,
    visit: Visit<'_>,
) -> Result<()> {
    candidates.sort_by(|a, b| tree_order(a.as_str(), b.as_str()));
    candidates.dedup();
    let mut ways = Ways { shelf, known: Vec::new() };
    for candidate in candidates {
        shelf.call.tick(1)?;
        let path = candidate.as_rel();
        if path == at.rel() || !path.is_within(at.rel()) || !is_shown(at, path) {
            continue;
        }
        if query.skip_ignored && ways.skip(at.rel(), path)? {
            continue;
        }
        if visit(path, KeyKind::File)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Is a path shown, and every directory on the way to it?
fn is_shown(at: &Place<'_>, path: RelPath<'_>) -> bool {
    path.ancestors().take_while(|above| *above != at.rel()).all(|above| at.shows(above.as_str()))
}

/// The ignore rules of the directories on the way to one candidate after the other. They come in tree order, so that
/// those of the last are most of those of the next.
struct Ways<'a> {
    shelf: &'a Shelf<'a>,
    known: Vec<(RelPathBuf, Arc<Ignores>)>,
}

impl Ways<'_> {
    /// Is a file left out, or a directory on the way to it from the start? What is not there is, too.
    fn skip(&mut self, start: RelPath<'_>, path: RelPath<'_>) -> Result<bool> {
        let mut way: Vec<RelPath<'_>> = path.ancestors().collect();
        way.reverse();
        let mut dir = RelPath::HERE;
        for step in way {
            let ignores = match self.inside(dir) {
                Err(e) if !is_over(&e) && self.shelf.look(dir)? != Some(KeyKind::Dir) => return Ok(true),
                read => read?,
            };
            // Where a search starts was asked for, whatever the rules say.
            if !start.is_within(step) && ignores.skips(step.as_str(), step != path) {
                return Ok(true);
            }
            dir = step;
        }
        Ok(false)
    }

    fn inside(&mut self, dir: RelPath<'_>) -> Result<Arc<Ignores>> {
        while self.known.last().is_some_and(|(known, _)| !dir.is_within(known.as_rel())) {
            self.known.pop();
        }
        if let Some((known, ignores)) = self.known.last()
            && known.as_rel() == dir
        {
            return Ok(Arc::clone(ignores));
        }
        let above = self.known.last().map(|(_, ignores)| Arc::clone(ignores)).unwrap_or_default();
        let ignores = ignores_in(self.shelf, dir, &self.shelf.list(dir)?, &above)?;
        self.known.push((dir.to_buf(), Arc::clone(&ignores)));
        Ok(ignores)
    }
}

fn comes_after(path: &str, after: Option<&str>) -> bool {
    after.is_none_or(|after| tree_order(path, after).is_gt())
}

/// Does everything in a directory come before where a walk goes on?
fn is_past(dir: RelPath<'_>, after: Option<&str>) -> bool {
    after.is_some_and(|after| {
        let leads_there = after.strip_prefix(dir.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        !leads_there && tree_order(dir.as_str(), after).is_lt()
    })
}
