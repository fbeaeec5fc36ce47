//! Several changes judged and made as one: undo, restore, the applying of a fork, what a command did.
//!
//! Every path is judged as if it had been asked for alone, with links on the way resolved first. One denied path
//! refuses the whole. Changes of one Store are one [`ChangeSet`]; where several Stores are touched, each is a part.
//!
//! Planning looks at what is there now, and a later change may stand where an earlier one of the same list takes
//! something away. So what has left is remembered: nothing is looked for below it, no link of it is followed, and a
//! directory goes only when everything in it has left before. That is known before anything is touched.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::call::Call;
use crate::change::{Act, Change, ChangeSet, Expect, Kept, Looks};
use crate::decision::{Decision, Rule};
use crate::error::ErrorKind;
use crate::git::Repositories;
use crate::gits_lists::Asked;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::place::Place;
use crate::plan::{Effect, EffectKind, Was, Work};
use crate::repository::Guards;
use crate::scope::{AccessScope, OpKind};
use crate::staged::Staged;
use crate::store::{Kind, LastName, Walk};
use crate::vfs::{Refused, Settled, Vfs, refusal, store_refusal};
use crate::workspace::Workspace;

/// One change of several that belong together, in logical paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alteration {
    /// What changes.
    pub path: LogicalPath,
    /// How.
    pub how: Alter,
    /// What must be true before.
    pub expect: Expect,
}

/// What happens to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alter {
    /// The content becomes this.
    Write {
        /// The whole content.
        content: Vec<u8>,
        /// The mode of a new file, where it is known.
        mode: Option<u32>,
    },
    /// What its Store kept is there again.
    Restore(Kept),
    /// Only this many bytes of the beginning stay.
    Truncate(u64),
    /// A directory is made.
    MakeDir,
    /// A file, a link or an empty directory goes.
    Delete,
    /// It goes elsewhere in the same Workspace.
    Move {
        /// Where nothing may be.
        to: LogicalPath,
    },
    /// A file that was made elsewhere arrives whole, in the place of any file or link.
    Take(Staged),
    /// A symbolic link is there, in the place of any file or link.
    Link {
        /// Where it says that it leads, as it is written.
        leads_to: String,
    },
    /// The content stays; the mode or the time changes.
    Dress(Looks),
}

/// Whose changes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// A person's, or an undo's.
    Person,
    /// What a command did.
    Command,
    /// An agent's, in a fork or an overlay, which a person takes over.
    Fork,
}

impl Alter {
    /// How much content it brings in.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Write { content, .. } => content.len(),
            Self::Take(staged) => usize::try_from(staged.len()).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    pub(crate) fn op(&self) -> OpKind {
        match self {
            Self::Write { .. }
            | Self::Restore(_)
            | Self::Truncate(_)
            | Self::Take(_)
            | Self::Link { .. }
            | Self::Dress(_) => OpKind::Write,
            Self::MakeDir => OpKind::MakeDir,
            Self::Delete => OpKind::Delete,
            Self::Move { .. } => OpKind::MoveFrom,
        }
    }
}

/// What one Store is asked to do in one go.
enum Part {
    Set(usize, Vec<Change>),
    /// Into a write-only Workspace.
    Delivery(Work),
    /// A directory is judged again on its way, so it goes by itself.
    MoveDir {
        workspace: usize,
        from: (LogicalPath, RelPathBuf),
        to: (LogicalPath, RelPathBuf),
        along: Vec<RelPathBuf>,
    },
}

/// What earlier changes of a list took away.
#[derive(Default)]
struct Left(HashSet<LogicalPath>);

impl Left {
    /// Was something above this path taken away?
    fn covers(&self, path: &LogicalPath) -> bool {
        !self.0.is_empty() && std::iter::successors(path.parent(), LogicalPath::parent).any(|dir| self.0.contains(&dir))
    }
}

impl Vfs {
    pub(crate) fn plan_alterations(
        &self,
        call: &Call<'_>,
        author: Author,
        alterations: Vec<Alteration>,
    ) -> Result<(Work, Vec<Effect>), Refused> {
        let mut parts: Vec<Part> = Vec::new();
        let mut effects = Vec::new();
        let mut left = Left::default();
        let repositories = Repositories::of(&alterations);
        for alteration in alterations {
            let part = self.plan_alteration(call, (author, &repositories), alteration, &mut effects, &mut left)?;
            match (part, parts.last_mut()) {
                // Where a set is not made as a whole, each change is recorded as soon as it is made.
                (Part::Set(workspace, more), Some(Part::Set(last, changes)))
                    if *last == workspace && self.workspaces[workspace].mount.store.is_atomic() =>
                {
                    changes.extend(more);
                }
                (part, _) => parts.push(part),
            }
        }
        let work = |part| match part {
            Part::Set(workspace, changes) => Work::Change { workspace, set: ChangeSet::new(changes) },
            Part::Delivery(work) => work,
            Part::MoveDir { workspace, from, to, along } => Work::MoveDir { workspace, from, to, along },
        };
        Ok((Work::Parts(parts.into_iter().map(work).collect()), effects))
    }

    fn plan_alteration(
        &self,
        call: &Call<'_>,
        (author, repositories): (Author, &Repositories),
        alteration: Alteration,
        effects: &mut Vec<Effect>,
        left: &mut Left,
    ) -> Result<Part, Refused> {
        let Alteration { path: asked, how, expect } = alteration;
        if matches!((author, &how), (Author::Command, Alter::Take(_))) && self.is_write_only(&asked) {
            return self.plan_drop(call, &asked, how, effects);
        }
        let unguarded = match author {
            Author::Command | Author::Fork => self.is_harmless_for_git(call, &asked, &how),
            Author::Person => self.is_gits_own(call, &asked, &how),
        };
        let guards = if unguarded { Guards::Lifted } else { Guards::HoldForGit };
        let settled = if left.covers(&asked) {
            self.settle_unseen(how.op(), &asked)?
        } else {
            self.settle_with(call, how.op(), &asked, LastName::Keep, guards)?
        };
        let op = how.op();
        let how = if author == Author::Person {
            how
        } else {
            let is_gone = |path: &LogicalPath| left.0.contains(path) || left.covers(path);
            let git = Asked { path: &asked, repositories, is_gone: &is_gone };
            self.taken_by_git(call, &git, how).map_err(|row| {
                let decision = Decision { rule: Rule::Guarded(row), ..self.judge(op, &asked) };
                Refused::Denied(Box::new(decision.denial(&asked)))
            })?
        };
        if self.workspaces[settled.workspace].scope == AccessScope::WriteOnly {
            let why = "in a write-only Workspace files are only written, appended to and edited";
            return Err(Refused::Misuse { path: asked, why });
        }
        let kind = settled.meta.as_ref().map(|meta| meta.kind);
        // What an earlier change takes away is not there any more when this one is made.
        let there = settled.meta.as_ref().filter(|_| !left.0.contains(&settled.path));
        let mut effect = |path: &LogicalPath, what, here: bool| {
            let there = there.filter(|_| here);
            let (before, len, was) = (there.map(|meta| meta.version), there.map(|meta| meta.len), there.map(Was::of));
            effects.push(Effect { path: path.clone(), what, before, len, was });
        };
        let act = match how {
            Alter::Write { content, mode } => {
                effect(&settled.path, replaces(kind), true);
                Act::Write { content, mode }
            }
            Alter::Restore(kept) => {
                effect(&settled.path, replaces(kind), true);
                Act::Restore { kept }
            }
            Alter::Truncate(len) => {
                effect(&settled.path, EffectKind::Replace, true);
                Act::Truncate { len }
            }
            Alter::Take(staged) => {
                effect(&settled.path, replaces(kind), true);
                Act::Take { staged }
            }
            Alter::Link { leads_to } => {
                self.judge_arrival(call, OpKind::Write, &asked, &settled, Kind::Link)?;
                effect(&settled.path, replaces(kind), true);
                Act::Link { leads_to }
            }
            Alter::Dress(looks) => {
                effect(&settled.path, EffectKind::Dress, true);
                Act::Dress { looks }
            }
            Alter::MakeDir => {
                effect(&settled.path, EffectKind::MakeDir, true);
                Act::MakeDir
            }
            Alter::Delete => {
                self.refuse_holding_workspaces(OpKind::Delete, &asked, &settled.path)?;
                if kind == Some(Kind::Dir) {
                    self.refuse_holding_more(call, &asked, &settled, left)?;
                }
                effect(&settled.path, EffectKind::Delete, true);
                left.0.insert(settled.path);
                Act::Delete
            }
            Alter::Move { to } => {
                let (dest, along) = self.judge_move(call, &asked, &settled, kind, &to)?;
                effect(&settled.path, EffectKind::MoveAway, true);
                effect(&dest.path, EffectKind::MoveHere, false);
                left.0.insert(settled.path.clone());
                if kind == Some(Kind::Dir) {
                    let (from, to) = ((settled.path, settled.rel), (dest.path, dest.rel));
                    return Ok(Part::MoveDir { workspace: settled.workspace, from, to, along });
                }
                Act::Move { to: dest.rel }
            }
        };
        Ok(Part::Set(settled.workspace, vec![Change { path: settled.rel, act, expect }]))
    }

    fn is_write_only(&self, path: &LogicalPath) -> bool {
        self.route(path).is_some_and(|(index, _)| self.workspaces[index].scope == AccessScope::WriteOnly)
    }

    /// What a command left in a write-only Workspace goes in as if it had been written by a tool.
    fn plan_drop(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        how: Alter,
        effects: &mut Vec<Effect>,
    ) -> Result<Part, Refused> {
        let decision = self.judge(how.op(), asked);
        let Alter::Take(staged) = how else { return Err(Refused::Denied(Box::new(decision.denial(asked)))) };
        if !decision.allowed() {
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        }
        let (work, told) = self.plan_delivery(call, OpKind::Write, asked, asked, Act::Take { staged }, Expect::Any)?;
        effects.extend(told);
        Ok(Part::Delivery(work))
    }

    /// As [`Vfs::settle`], below what an earlier change of the list takes away: nothing is there, and no link leads on.
    fn settle_unseen(&self, op: OpKind, asked: &LogicalPath) -> Result<Settled, Refused> {
        let decision = self.judge(op, asked);
        match self.route(asked).filter(|_| decision.allowed()) {
            Some((workspace, rel)) => Ok(Settled { workspace, rel: rel.to_buf(), path: asked.clone(), meta: None }),
            None => Err(Refused::Denied(Box::new(decision.denial(asked)))),
        }
    }

    /// A directory goes when all it holds, hidden or not, has left before.
    fn refuse_holding_more(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        dir: &Settled,
        left: &Left,
    ) -> Result<(), Refused> {
        let Workspace { prefix, mount, .. } = &self.workspaces[dir.workspace];
        let mut refused = None;
        let walk = Walk { depth: Some(1), ..Walk::default() };
        let walked = mount.store.walk(call, &Place::bare(dir.rel.as_rel()), &walk, &mut |entry| {
            let path = prefix.join(RelPath(entry.path));
            if entry.plain && left.0.contains(&path) {
                return ControlFlow::Continue(());
            }
            let decision = self.judge_kind(OpKind::Delete, &path, entry.kind);
            refused = Some(if decision.allowed() {
                store_refusal(asked, ErrorKind::NotEmpty)
            } else {
                Refused::DeniedInside(Box::new(decision.denial(asked)))
            });
            ControlFlow::Break(())
        });
        walked.map_err(|e| refusal(asked, e))?;
        refused.map_or(Ok(()), Err)
    }

    /// Judges both ends of a move within a Workspace, and everything that goes along; gives what that is.
    fn judge_move(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        from: &Settled,
        kind: Option<Kind>,
        to: &LogicalPath,
    ) -> Result<(Settled, Vec<RelPathBuf>), Refused> {
        let kind = kind.ok_or_else(|| store_refusal(asked, ErrorKind::NotFound))?;
        let dest = self.settle(call, OpKind::MoveTo, to, LastName::Keep)?;
        if dest.path.below(&from.path).is_some() {
            return Err(Refused::Misuse { path: to.clone(), why: "a directory cannot move into itself" });
        }
        self.judge_arrival(call, OpKind::MoveTo, to, &dest, kind)?;
        if dest.workspace != from.workspace {
            let why = "a change of several paths moves things only within a Workspace";
            return Err(Refused::Misuse { path: to.clone(), why });
        }
        if kind == Kind::Dir {
            self.refuse_holding_workspaces(OpKind::MoveFrom, asked, &from.path)?;
            let stands_at = [(OpKind::MoveFrom, &from.path), (OpKind::MoveTo, &dest.path)];
            let along = self.expand_as(call, asked, from.workspace, from.rel.as_rel(), &stands_at)?;
            return Ok((dest, along.into_iter().map(|(path, _)| path).collect()));
        }
        Ok((dest, Vec::new()))
    }
}

fn replaces(there: Option<Kind>) -> EffectKind {
    if there.is_some() { EffectKind::Replace } else { EffectKind::Create }
}
