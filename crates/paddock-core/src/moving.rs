//! Moving files and directories: judged at both ends, and a directory twice.
//!
//! What a directory holds is judged before it moves and again once nobody can reach it any more: it
//! first goes aside, under a name that no agent may use, then everything in it is judged as what it will
//! be, and only then does it arrive. Whatever was put into it meanwhile is met there: a Store that has
//! moved a directory to such a name lets no change that was under way in it outlast the answer.
//!
//! A directory that may not arrive goes back, and never stays aside because its call was stopped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::call::{Call, CallId, Cancel};
use crate::change::{Act, Applied, AppliedChange, Before, ChangeSet, Expect};
use crate::decision::Decision;
use crate::error::ErrorKind;
use crate::names::TEMP_PREFIX;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::place::Place;
use crate::plan::{CarryStep, Effect, EffectKind, Outcome, Was, Work};
use crate::ports::{Part, PartDone};
use crate::run::Run;
use crate::scope::OpKind;
use crate::store::{Kind, LastName};
use crate::vfs::{Refused, Settled, Vfs, below, refusal, store_refusal};

/// How long a directory has for its way back, whatever became of the call.
const WAY_BACK: Duration = Duration::from_secs(10);

/// How many names are tried for a directory whose own was taken meanwhile.
const OTHER_NAMES: usize = 100;

impl Vfs {
    pub(crate) fn plan_move(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        to: &LogicalPath,
    ) -> Result<(Work, Vec<Effect>), Refused> {
        let denied = |decision: Decision<'_>| Refused::Denied(Box::new(decision.denial(to)));
        let decision = self.judge(OpKind::MoveTo, to);
        if !decision.allowed() {
            return Err(denied(decision));
        }
        let from = self.settle(call, OpKind::MoveFrom, asked, LastName::Keep)?;
        let kind = from.meta.as_ref().ok_or_else(|| store_refusal(asked, ErrorKind::NotFound))?.kind;
        let dest = self.settle(call, OpKind::MoveTo, to, LastName::Keep)?;
        if dest.meta.is_some() {
            return Err(store_refusal(to, ErrorKind::AlreadyExists));
        }
        if dest.path.below(&from.path).is_some() {
            return Err(Refused::Misuse { path: to.clone(), why: "a directory cannot move into itself" });
        }
        self.judge_arrival(call, OpKind::MoveTo, to, &dest, kind)?;
        let mut along = Vec::new();
        if kind == Kind::Dir {
            self.refuse_holding_workspaces(OpKind::MoveFrom, asked, &from.path)?;
            let stands_at = [(OpKind::MoveFrom, &from.path), (OpKind::MoveTo, &dest.path)];
            along = self.expand_as(call, asked, from.workspace, from.rel.as_rel(), &stands_at)?;
        }
        let effects = vec![
            Effect {
                path: from.path.clone(),
                what: EffectKind::MoveAway,
                before: from.meta.as_ref().map(|m| m.version),
                len: None,
                was: from.meta.as_ref().map(Was::of),
            },
            Effect { path: dest.path.clone(), what: EffectKind::MoveHere, before: None, len: None, was: None },
        ];
        let work = if from.workspace == dest.workspace && kind == Kind::Dir {
            let along = along.into_iter().map(|(path, _)| path).collect();
            Work::MoveDir { workspace: from.workspace, from: (from.path, from.rel), to: (dest.path, dest.rel), along }
        } else if from.workspace == dest.workspace {
            let set = ChangeSet::one(from.rel, Act::Move { to: dest.rel }, Expect::Any);
            Work::Change { workspace: from.workspace, set }
        } else {
            self.plan_carry(call, asked, &from, &dest, (from.rel.clone(), kind), along)?
        };
        Ok((work, effects))
    }

    fn plan_carry(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        from: &Settled,
        dest: &Settled,
        itself: (RelPathBuf, Kind),
        along: Vec<(RelPathBuf, Kind)>,
    ) -> Result<Work, Refused> {
        let store = &self.workspaces[from.workspace].mount.store;
        let mut steps = Vec::with_capacity(along.len() + 1);
        for (rel, kind) in std::iter::once(itself).chain(along) {
            if !matches!(kind, Kind::File | Kind::Dir) {
                let why = "only files and directories can move to another Workspace, no links or pipes";
                return Err(Refused::Misuse { path: asked.clone(), why });
            }
            let mode = match kind {
                Kind::File => store.stat(call, &Place::bare(rel.as_rel())).map_err(|e| refusal(asked, e))?.mode,
                _ => None,
            };
            let to = dest.rel.as_rel().0.to_owned() + &slash(below(rel.as_rel(), from.rel.as_rel()).0);
            steps.push(CarryStep { from: rel, to: RelPathBuf::unchecked(to), kind, mode });
        }
        let ends = (from.path.clone(), dest.path.clone());
        Ok(Work::Carry { from: from.workspace, to: dest.workspace, ends, steps })
    }

    /// Moves a directory by way of a name that no agent may use.
    pub(crate) fn move_dir(
        &self,
        run: &Run<'_>,
        part: usize,
        workspace: usize,
        from: &(LogicalPath, RelPathBuf),
        to: &(LogicalPath, RelPathBuf),
    ) -> Result<Outcome, Refused> {
        let Run { call, asked, planned, .. } = *run;
        // The Journal hears of one move, not of the way it takes.
        let set = ChangeSet::one(from.1.clone(), Act::Move { to: to.1.clone() }, Expect::Any);
        let begins = Part { workspace: &self.workspaces[workspace], set: &set, planned };
        self.journal.part_begins(call, &begins).map_err(|e| refusal(asked, e))?;
        let aside = aside(call.id, to.1.as_rel());
        let stands_at = [(OpKind::MoveFrom, &from.0), (OpKind::MoveTo, &to.0)];
        let rename = |from: &RelPathBuf, to: &RelPathBuf| self.rename(call, asked, workspace, from, to);
        let went = rename(&from.1, &aside);
        let is_somebody_elses = failed_with(&went, &ErrorKind::AlreadyExists);
        let arrived = went
            .and_then(|went| {
                if let Some(kind) = went.but {
                    return Err(store_refusal(asked, kind));
                }
                let held = self.expand_as(call, asked, workspace, aside.as_rel(), &stands_at)?;
                Ok((held.len(), went.parents))
            })
            .and_then(|found| rename(&aside, &to.1).map(|came| (found, came.but)));
        match arrived {
            Ok(((held, parents), but)) => {
                // It stood aside where it arrives, so the directories on the way were made then.
                let moved =
                    AppliedChange { created: true, before: Before::Absent, parents, ..AppliedChange::default() };
                let applied = Applied { changes: vec![moved], stopped: but.clone() };
                let done = PartDone { part, workspace: begins.workspace, set: &set, applied: &applied };
                self.journal.part_done(call, &done).map_err(|e| refusal(asked, e))?;
                if let Some(kind) = but {
                    return Err(store_refusal(asked, kind));
                }
                Ok(Outcome::Changed { version: None, created: true, replacements: 0, paths: held + 1 })
            }
            // What is aside never went there from here, and is left alone.
            Err(refused) if is_somebody_elses => Err(refused),
            Err(refused) => {
                self.put_back(call, workspace, &aside, from)?;
                Err(refused)
            }
        }
    }

    /// Brings a directory back from aside, if it ever got there. Whoever wrote to its path meanwhile has made
    /// another one, and neither may be lost: it then gets a name beside that one, and the answer tells it.
    fn put_back(
        &self,
        call: &Call<'_>,
        workspace: usize,
        aside: &RelPathBuf,
        home: &(LogicalPath, RelPathBuf),
    ) -> Result<(), Refused> {
        let cancel = Cancel::default();
        let call = Call { cancel: &cancel, deadline: Instant::now() + WAY_BACK, ..*call };
        let mut back = self.rename(&call, &home.0, workspace, aside, &home.1);
        for n in 2..OTHER_NAMES {
            if !failed_with(&back, &ErrorKind::AlreadyExists) {
                break;
            }
            let Ok(path) = LogicalPath::parse(&format!("{}-{n}", home.0), &LogicalPath::top()) else { break };
            if !self.judge_kind(OpKind::MoveTo, &path, Kind::Dir).allowed() {
                continue;
            }
            let rel = RelPathBuf::unchecked(format!("{}-{n}", home.1.as_rel()));
            back = self.rename(&call, &home.0, workspace, aside, &rel).and_then(|_| {
                let why = "the directory could not arrive, and its old path was taken meanwhile: it is here now";
                Err(Refused::Misuse { path, why })
            });
        }
        if failed_with(&back, &ErrorKind::NotFound) { Ok(()) } else { back.map(drop) }
    }

    fn rename(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        workspace: usize,
        from: &RelPathBuf,
        to: &RelPathBuf,
    ) -> Result<Renamed, Refused> {
        let set = ChangeSet::one(from.clone(), Act::Move { to: to.clone() }, Expect::Any);
        let applied = self.workspaces[workspace].mount.store.apply(call, &set).map_err(|e| refusal(asked, e))?;
        let parents = applied.changes.first().map_or(0, |change| change.parents);
        Ok(Renamed { parents, but: applied.stopped })
    }
}

/// What came of a rename that was made.
struct Renamed {
    /// How many directories were made on the way.
    parents: usize,
    /// What failed after it.
    but: Option<ErrorKind>,
}

fn failed_with(result: &Result<Renamed, Refused>, kind: &ErrorKind) -> bool {
    matches!(result, Err(Refused::Store { source, .. }) if source.kind() == kind)
}

/// A name beside where a directory goes. By the call: two processes may have one number, each in a container of its own.
fn aside(call: CallId, to: RelPath<'_>) -> RelPathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{TEMP_PREFIX}{call}-move-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    match to.split_last() {
        Some((dir, _)) if !dir.is_here() => RelPathBuf::unchecked(format!("{dir}/{name}")),
        _ => RelPathBuf::unchecked(name),
    }
}

fn slash(rel: &str) -> String {
    if rel.is_empty() { String::new() } else { format!("/{rel}") }
}
