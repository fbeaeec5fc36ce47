//! The three states of each path that an Overlay has a say in, and what follows from them.
//!
//! A path where the Overlay holds what is below, or what was below when it was covered, is settled: nothing of the
//! Overlay's own is there. What only the Overlay changed is taken. What both changed is merged where all three are
//! texts, and is a clash otherwise. Kinds come before contents, and a clash at a directory covers what is in it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use paddock_core::{Call, Kind, PLAIN_MODE, RelPath, RelPathBuf, Result, View, Walk, tree_order};

use super::apart;
use super::merge::{ConflictKind, Lines};
use super::text::{self, MAX_MERGED, Merged};
use crate::physical::passed_over;
use crate::virtual_store::base::RowKind;
use crate::virtual_store::{Overlaid, OwnRow, Thing};

/// How much of two files is compared at once.
const STEP: u64 = 1024 * 1024;

/// One path that differs.
pub(super) struct Finding<'a> {
    pub(super) path: RelPathBuf,
    pub(super) ours: Thing<'a>,
    pub(super) theirs: Thing<'a>,
    /// The mode that it gets, where it has one.
    pub(super) mode: Option<u32>,
    pub(super) verdict: Verdict,
}

/// What follows from the three states.
pub(super) enum Verdict {
    /// It becomes what the Overlay holds.
    Take,
    /// The content stays, and it gets the mode that the Overlay gave it.
    Dress,
    /// Both changed it, and this holds both changes.
    Merged(Vec<u8>),
    /// Nobody but a person can tell.
    Clash(ConflictKind, Vec<Lines>),
}

/// Everything that differs, in tree order, and what the layer below keeps out of sight.
#[derive(Default)]
pub(super) struct Compared<'a> {
    pub(super) findings: Vec<Finding<'a>>,
    pub(super) left_out: Vec<RelPathBuf>,
    /// What a `.gitignore` names, and each index of Git that changed alone, where that is left apart, the uppermost of each.
    pub(super) ignored: Vec<RelPathBuf>,
    /// What was named to be left apart, the uppermost of each.
    pub(super) excepted: Vec<RelPathBuf>,
}

/// Compares an Overlay with the layer below as it is now.
pub(super) struct Compare<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) seen: &'a Overlaid<'a>,
    pub(super) below: &'a View,
}

impl<'a> Compare<'a> {
    pub(super) fn run(&self, rows: &[OwnRow]) -> Result<Compared<'a>> {
        let mut run = Run::new(self);
        let mut asked = Vec::with_capacity(rows.len());
        for own in rows {
            let path = own.path()?;
            run.own.insert(path.clone());
            asked.push((path, Overlaid::ours(own), own.row.kind));
        }
        asked.extend(self.seen.let_go()?.into_iter().map(|(path, ours)| (path, ours, RowKind::Whiteout)));
        asked.sort_by(|(a, ..), (b, ..)| tree_order(a.as_str(), b.as_str()));
        for (path, ours, kind) in asked {
            self.call.tick(1)?;
            if self.below.shows(path.as_rel()) {
                run.judge(path, ours, kind == RowKind::OpaqueDir)?;
            } else if kind != RowKind::Whiteout {
                run.leave_out(path);
            }
        }
        let mut done = run.done;
        done.findings.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
        if !self.seen.excepted.is_empty() {
            done.excepted = apart::excepted(self.seen.excepted, &mut done.findings)?;
        }
        if self.seen.leaves_ignored {
            done.ignored = apart::ignored(self.seen, &mut done.findings)?;
        }
        Ok(done)
    }

    /// The whole content of a file.
    pub(super) fn content(&self, path: RelPath<'_>, thing: &Thing<'_>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.seen.read(path, thing, 0..u64::MAX, &mut bytes)?;
        Ok(bytes)
    }

    fn same(&self, path: RelPath<'_>, a: &Thing<'_>, b: &Thing<'_>) -> Result<bool> {
        if a.kind() != b.kind() {
            return Ok(false);
        }
        match a.kind() {
            Some(Kind::File) if a.is_surely(b) => Ok(true),
            Some(Kind::File) if a.len() == b.len() => match self.same_bytes(path, a, b) {
                // What nobody may read cannot be called the same.
                Err(error) if passed_over(&error) => Ok(false),
                same => same,
            },
            Some(Kind::File) => Ok(false),
            Some(Kind::Link) => Ok(a.is_surely(b) || self.seen.link_text(path, a)? == self.seen.link_text(path, b)?),
            None | Some(Kind::Dir | Kind::Special) => Ok(true),
        }
    }

    /// Is what is below what it was?
    fn is_as_it_was(&self, path: RelPath<'_>, base: &Thing<'_>, theirs: &Thing<'_>) -> Result<bool> {
        Ok(self.same(path, base, theirs)? || self.seen.is_noted_place(path, base, theirs)?)
    }

    fn same_bytes(&self, path: RelPath<'_>, a: &Thing<'_>, b: &Thing<'_>) -> Result<bool> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < a.len() {
            self.call.tick(1)?;
            left.clear();
            right.clear();
            self.seen.read(path, a, at..at + STEP, &mut left)?;
            self.seen.read(path, b, at..at + STEP, &mut right)?;
            if left != right {
                return Ok(false);
            }
            at += STEP;
        }
        Ok(true)
    }

    /// What both changed, each in its own way.
    fn both(&self, path: RelPath<'_>, base: &Thing<'_>, ours: &Thing<'_>, theirs: &Thing<'_>) -> Result<Verdict> {
        let kind = match (base.kind(), ours.kind(), theirs.kind()) {
            (Some(Kind::File), Some(Kind::File), Some(Kind::File)) => return self.merge(path, base, ours, theirs),
            (_, None, Some(_)) => ConflictKind::DeletedHereChangedBelow,
            (_, Some(_), None) => ConflictKind::DeletedBelowChangedHere,
            (_, here, below) if here != below => ConflictKind::KindClash,
            (None, ..) => ConflictKind::AddedOnBothSides,
            _ => ConflictKind::BothChanged,
        };
        Ok(Verdict::Clash(kind, Vec::new()))
    }

    fn merge(&self, path: RelPath<'_>, base: &Thing<'_>, ours: &Thing<'_>, theirs: &Thing<'_>) -> Result<Verdict> {
        if [base, ours, theirs].iter().any(|thing| thing.len() > MAX_MERGED) {
            return Ok(Verdict::Clash(ConflictKind::BothChanged, Vec::new()));
        }
        let [base, ours, theirs] = [base, ours, theirs].map(|thing| self.content(path, thing));
        Ok(match text::merge(&base?, &ours?, &theirs?, text::limit(self.call.deadline)) {
            Merged::Clean(bytes) => Verdict::Merged(bytes),
            Merged::Clash(lines) => Verdict::Clash(ConflictKind::BothChanged, lines),
            Merged::TooLong => Verdict::Clash(ConflictKind::BothChanged, Vec::new()),
            Merged::NoText => Verdict::Clash(ConflictKind::BothChangedBinary, Vec::new()),
        })
    }

    /// The mode that something gets: the Overlay's. Where it was changed below, also there, that one stays.
    fn mode(&self, path: RelPath<'_>, ours: &Thing<'_>, theirs: &Thing<'_>) -> Result<Option<u32>> {
        let (here, below) = (plain_mode(ours), plain_mode(theirs));
        if here == below || ours.kind() != theirs.kind() {
            return Ok(here);
        }
        let as_it_was = plain_mode(&self.seen.ancestor(path)?) == below;
        Ok(if as_it_was { here } else { below })
    }

    /// What the layer below shows in a directory, by path and kind of name.
    fn entries(&self, dir: RelPath<'_>, depth: Option<u32>) -> Result<Vec<(String, bool)>> {
        let mut entries = Vec::new();
        let walk = Walk { depth, ..Walk::default() };
        self.below.walk(self.call, dir, &walk, &mut |entry| {
            entries.push((entry.path.to_owned(), entry.plain));
            ControlFlow::Continue(())
        })?;
        Ok(entries)
    }
}

/// A comparison while it goes on.
struct Run<'c, 'a> {
    compare: &'c Compare<'a>,
    /// Paths with a row of their own.
    own: HashSet<RelPathBuf>,
    done: Compared<'a>,
    /// What there is a finding about.
    found: HashSet<RelPathBuf>,
    clashes: HashSet<RelPathBuf>,
    /// Where something that is no directory below makes way for one.
    made_way: HashSet<RelPathBuf>,
}

impl<'c, 'a> Run<'c, 'a> {
    fn new(compare: &'c Compare<'a>) -> Self {
        let (own, found, clashes, made_way) = Default::default();
        Self { compare, own, done: Compared::default(), found, clashes, made_way }
    }

    fn judge(&mut self, path: RelPathBuf, ours: Thing<'a>, opaque: bool) -> Result<()> {
        let compare = self.compare;
        let at = path.as_rel();
        if self.found.contains(&path) || self.in_a_clash(at) {
            return Ok(());
        }
        let theirs = Thing::seen(compare.call, compare.below, at)?;
        if compare.same(at, &ours, &theirs)? {
            self.dress(&path, ours, theirs)?;
            return if opaque { self.judge_covered(path.as_rel()) } else { Ok(()) };
        }
        let base = compare.seen.ancestor(at)?;
        if compare.same(at, &ours, &base)? {
            return self.dress(&path, ours, theirs);
        }
        let verdict = if compare.is_as_it_was(at, &base, &theirs)? {
            self.take(at, &ours, &theirs)?
        } else {
            compare.both(at, &base, &ours, &theirs)?
        };
        // Something in it cannot go, so it does not either.
        if self.found.contains(&path) {
            return Ok(());
        }
        // Both sides had come to the same before, and only the layer below went on.
        if let Verdict::Merged(bytes) = &verdict
            && bytes.len() as u64 == theirs.len()
            && *bytes == compare.content(at, &theirs)?
        {
            return self.dress(&path, ours, theirs);
        }
        self.find(path, ours, theirs, verdict)
    }

    /// The content below stays. Does the mode?
    fn dress(&mut self, path: &RelPathBuf, ours: Thing<'a>, theirs: Thing<'a>) -> Result<()> {
        let at = path.as_rel();
        if at.is_here() || ours.kind() != theirs.kind() || self.compare.mode(at, &ours, &theirs)? == plain_mode(&theirs)
        {
            return Ok(());
        }
        self.find(path.clone(), ours, theirs, Verdict::Dress)
    }

    fn find(&mut self, path: RelPathBuf, ours: Thing<'a>, theirs: Thing<'a>, verdict: Verdict) -> Result<()> {
        self.found.insert(path.clone());
        let mode = match verdict {
            Verdict::Clash(..) => plain_mode(&ours),
            _ => self.compare.mode(path.as_rel(), &ours, &theirs)?,
        };
        if matches!(verdict, Verdict::Clash(..)) {
            self.clashes.insert(path.clone());
        }
        self.done.findings.push(Finding { path, ours, theirs, mode, verdict });
        Ok(())
    }

    /// Only the Overlay changed it.
    fn take(&mut self, at: RelPath<'_>, ours: &Thing<'a>, theirs: &Thing<'a>) -> Result<Verdict> {
        match (ours.kind(), theirs.kind()) {
            (Some(Kind::Special), _) => return Ok(clash(ConflictKind::CannotBeApplied)),
            (Some(_), None) if !self.way_is_free(at)? => return Ok(clash(ConflictKind::KindClash)),
            (Some(Kind::Dir), Some(_)) => drop(self.made_way.insert(at.to_buf())),
            (_, Some(Kind::Dir)) => self.judge_removed(at)?,
            _ => {}
        }
        Ok(Verdict::Take)
    }

    /// Is there nothing but directories on the way to a path below, or what makes way?
    fn way_is_free(&self, at: RelPath<'_>) -> Result<bool> {
        for above in at.ancestors().skip(1) {
            if self.made_way.contains(&above.to_buf()) {
                return Ok(true);
            }
            match Thing::seen(self.compare.call, self.compare.below, above)?.kind() {
                None => {}
                Some(Kind::Dir) => return Ok(true),
                Some(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Everything below a directory that goes: it goes too, unless it is not what it was.
    fn judge_removed(&mut self, dir: RelPath<'_>) -> Result<()> {
        let compare = self.compare;
        for (name, plain) in compare.entries(dir, None)? {
            compare.call.tick(1)?;
            let Some(path) = RelPathBuf::parse(&name).ok().filter(|_| plain) else {
                // No change can name it, so the directory cannot go.
                let theirs = Thing::seen(compare.call, compare.below, dir)?;
                return self.find(dir.to_buf(), Thing::Absent, theirs, clash(ConflictKind::CannotBeApplied));
            };
            if self.in_a_clash(path.as_rel()) {
                continue;
            }
            let theirs = Thing::seen(compare.call, compare.below, path.as_rel())?;
            let base = compare.seen.ancestor(path.as_rel())?;
            let verdict = if theirs.kind().is_none() {
                continue;
            } else if base.kind().is_none() {
                clash(ConflictKind::AddedInDeletedDirectory)
            } else if compare.is_as_it_was(path.as_rel(), &base, &theirs)? {
                Verdict::Take
            } else {
                clash(ConflictKind::DeletedHereChangedBelow)
            };
            self.find(path, Thing::Absent, theirs, verdict)?;
        }
        Ok(())
    }

    /// What a directory of the Overlay's own keeps from showing through: what was there when it was covered was
    /// removed; what came later is none of the Overlay's doing.
    fn judge_covered(&mut self, dir: RelPath<'_>) -> Result<()> {
        for (name, plain) in self.compare.entries(dir, Some(1))? {
            let Some(path) = RelPathBuf::parse(&name).ok().filter(|_| plain) else { continue };
            if !self.own.contains(&path) && self.compare.seen.ancestor(path.as_rel())?.kind().is_some() {
                self.judge(path, Thing::Absent, false)?;
            }
        }
        Ok(())
    }

    fn in_a_clash(&self, at: RelPath<'_>) -> bool {
        !self.clashes.is_empty() && at.ancestors().any(|path| self.clashes.contains(&path.to_buf()))
    }

    fn leave_out(&mut self, path: RelPathBuf) {
        let within = |last: &RelPathBuf| path.as_rel().is_within(last.as_rel());
        if !self.done.left_out.last().is_some_and(within) {
            self.done.left_out.push(path);
        }
    }
}

/// The mode of what has one of its own.
pub(super) fn plain_mode(thing: &Thing<'_>) -> Option<u32> {
    let has_one = matches!(thing.kind(), Some(Kind::File | Kind::Dir));
    thing.mode().filter(|_| has_one).map(|mode| mode & PLAIN_MODE)
}

fn clash(kind: ConflictKind) -> Verdict {
    Verdict::Clash(kind, Vec::new())
}
