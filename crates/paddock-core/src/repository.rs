//! Git directories that no name tells: a bare repository, what `git init --separate-git-dir` makes.
//!
//! Git takes a directory for one of its own that holds `HEAD` and `objects` or, of a linked worktree, `commondir`. So
//! where a path has one of the names below, what lies beside that name is looked at before the path is let through.
//! Nothing may become such a directory, or be none for a moment, by what an agent does: `HEAD` is a guarded name, and
//! `objects` beside one can neither come nor go.

use crate::call::Call;
use crate::decision::{Decision, Rule};
use crate::error::ErrorKind;
use crate::guarded::{GUARDED, GuardedName};
use crate::names::{NameRules, fold, is_spelling_of};
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::place::Place;
use crate::scope::OpKind;
use crate::store::Kind;
use crate::unfinished;
use crate::vfs::{Refused, Settled, Vfs, refusal};

/// What makes git run something in a directory of its own, each with the row that guards it in a `.git`.
const RUNS: &[(&str, &str)] = &[
    ("config", ".git/config"),
    ("config.worktree", ".git/config"),
    ("remotes", ".git/config"),
    ("branches", ".git/config"),
    ("hooks", ".git/hooks"),
    ("commondir", ".git/commondir"),
    ("gitdir", ".git/commondir"),
];

/// The row that guards what git goes on with.
const UNFINISHED: &str = ".git/rebase-merge";

/// The row that guards what git follows in lists of its own.
pub(crate) const INDEX_ROW: &str = ".git/index";

const HEAD: &str = "HEAD";
const OBJECTS: &str = "objects";
const COMMONDIR: &str = "commondir";

/// Do guarded names hold on the path that is asked for? Wherever a link leads they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guards {
    Hold,
    /// As that, for a change that git may have made in a directory of its own.
    HoldForGit,
    Lifted,
}

/// Is it called as people call git directories?
pub(crate) fn is_called_so(name: &str) -> bool {
    name.ends_with(".git") || name == ".bare"
}

/// Is it a directory in which old versions kept their remotes?
fn names_remotes(name: &str) -> bool {
    ["remotes", "branches"].iter().any(|known| is_spelling_of(name, known))
}

impl NameRules {
    /// The guarded name that an entry called so counts as where its directory is one of git's.
    pub fn guarded_beside_head(&self, name: &str) -> Option<&'static GuardedName> {
        let (_, row) = RUNS.iter().find(|(plain, _)| is_spelling_of(name, plain))?;
        self.holding(row)
    }

    /// What keeps a file tool out of git's own directories: git changes them, in commands, and follows whatever it finds there.
    pub(crate) fn in_gits(&self, op: OpKind, path: RelPath<'_>) -> Option<&'static GuardedName> {
        let (dir, name) = path.split_last().filter(|_| op.changes())?;
        let is_new = op == OpKind::MakeDir && is_spelling_of(name, ".git");
        let is_there = is_new || dir.names().any(|name| is_called_so(&fold(name)));
        // Who lifted the row of a name meant file tools, too.
        if is_there && !self.is_lifted(path) { self.holding(INDEX_ROW) } else { None }
    }

    /// As [`Self::guarded_beside_head`], for a path and the directory that would be one of git's.
    fn guarded_in_gits<'a>(&self, path: RelPath<'a>) -> Option<(RelPath<'a>, &'static GuardedName)> {
        let (dir, name) = path.split_last()?;
        if let Some(row) = self.guarded_beside_head(name) {
            return Some((dir, row));
        }
        let (above, dir) = dir.split_last()?;
        let is = |(known, file): &(&str, &str)| is_spelling_of(dir, known) && is_spelling_of(name, file);
        unfinished::FILES.iter().any(is).then(|| self.holding(UNFINISHED)).flatten().map(|row| (above, row))
    }

    /// What guards the path if there is a repository where it lies, which only a look can tell.
    pub(crate) fn depends_on(&self, rel: RelPath<'_>) -> Option<&'static GuardedName> {
        rel.ancestors().find_map(|path| self.guarded_in_gits(path)).map(|(_, row)| row)
    }

    /// The row of this name, unless it is lifted.
    pub(crate) fn holding(&self, row: &str) -> Option<&'static GuardedName> {
        GUARDED.iter().find(|known| known.name == row && !self.lifts(row))
    }
}

impl Vfs {
    /// As the guard by name, for what only what is there can tell. The path has no links in it.
    pub(crate) fn guarded_there(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        op: OpKind,
        index: usize,
        rel: RelPath<'_>,
    ) -> Result<Option<&'static GuardedName>, Refused> {
        if !op.changes() {
            return Ok(None);
        }
        let names = &self.workspaces[index].names;
        for path in rel.ancestors() {
            let Some((dir, name)) = path.split_last() else { continue };
            if let Some((dir, row)) = names.guarded_in_gits(path) {
                // As `git init` makes them these are empty, and nothing.
                let is_bare = path == rel
                    && names_remotes(name)
                    && (op == OpKind::MakeDir
                        || op == OpKind::Write && self.there(call, asked, index, dir, name)? == Some(Kind::Dir));
                if !is_bare && self.is_gits(call, asked, index, dir)? {
                    return Ok(Some(row));
                }
            } else if is_spelling_of(name, OBJECTS)
                && let Some(row) = names.holding(HEAD)
            {
                let goes = path == rel && matches!(op, OpKind::Delete | OpKind::MoveFrom);
                if self.would_be_gits(call, asked, index, dir)?
                    && (goes || self.there(call, asked, index, dir, name)?.is_none())
                {
                    return Ok(Some(row));
                }
            }
        }
        Ok(None)
    }

    /// Judges what arrives at a path by its kind. No link may arrive in a directory of git's, whatever that is called, since git writes
    /// through links there; and no directory, with whatever it holds.
    pub(crate) fn judge_arrival(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        at: &Settled,
        kind: Kind,
    ) -> Result<(), Refused> {
        let decision = self.judge_kind(op, &at.path, kind);
        if !decision.allowed() {
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        }
        let matters = kind == Kind::Link || (kind == Kind::Dir && op == OpKind::MoveTo);
        let Some(row) = self.workspaces[at.workspace].names.holding(INDEX_ROW).filter(|_| matters) else {
            return Ok(());
        };
        for dir in at.rel.as_rel().ancestors().skip(1) {
            if self.is_gits(call, asked, at.workspace, dir)? {
                let decision = Decision { rule: Rule::Guarded(row), ..decision };
                return Err(Refused::Denied(Box::new(decision.denial(asked))));
            }
        }
        Ok(())
    }

    /// Does git take this directory for one of its own?
    pub(crate) fn is_gits(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        dir: RelPath<'_>,
    ) -> Result<bool, Refused> {
        Ok(self.has_head(call, asked, index, dir)?
            && (self.there(call, asked, index, dir, OBJECTS)?.is_some()
                || self.there(call, asked, index, dir, COMMONDIR)?.is_some()))
    }

    /// Would it with `objects`? In a `.git` the table says where they may be.
    fn would_be_gits(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        dir: RelPath<'_>,
    ) -> Result<bool, Refused> {
        Ok(!dir.names().any(|name| is_spelling_of(name, ".git")) && self.has_head(call, asked, index, dir)?)
    }

    fn has_head(&self, call: &Call<'_>, asked: &LogicalPath, index: usize, dir: RelPath<'_>) -> Result<bool, Refused> {
        // Older versions wrote a link.
        Ok(matches!(self.there(call, asked, index, dir, HEAD)?, Some(Kind::File | Kind::Link)))
    }

    /// What is there, hidden or not: git does not ask what an agent may see.
    fn there(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        dir: RelPath<'_>,
        name: &str,
    ) -> Result<Option<Kind>, Refused> {
        let rel = if dir.is_here() { name.to_owned() } else { format!("{dir}/{name}") };
        let rel = RelPathBuf::unchecked(rel);
        match self.workspaces[index].mount.store.stat(call, &Place::bare(rel.as_rel())) {
            Ok(meta) => Ok(Some(meta.kind)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(refusal(asked, e)),
        }
    }
}
