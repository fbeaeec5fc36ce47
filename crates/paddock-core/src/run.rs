//! Running a plan: the half of the Vfs that reaches Stores.

use std::collections::HashSet;
use std::ops::Range;

use crate::call::{Call, CallId};
use crate::change::{Act, Applied, Change, ChangeSet, Expect, Kept, Looks, Usage};
use crate::error::{ErrorKind, Result as StoreResult};
use crate::own::Own;
use crate::path::{LogicalPath, RelPath};
use crate::place::Place;
use crate::plan::{CarryStep, Effect, EffectKind, Outcome, Plan, Search, Was, Work};
use crate::ports::{Part, PartDone, Token, WayBack};
use crate::scope::OpKind;
use crate::store::{Hit, Kind, LastName, Meta, Query, Version};
use crate::vfs::{Refused, Vfs, refusal, store_refusal};
use crate::workspace::Workspace;

/// How many changes the Journal hears of at once, where a Store makes them one by one.
const BATCH: usize = 32;
/// The largest file that moves from one Store to another.
const MAX_CARRIED: u64 = 256 * 1024 * 1024;

/// A plan that is run: what all of its parts have in common.
pub(crate) struct Run<'a> {
    pub(crate) call: &'a Call<'a>,
    pub(crate) asked: &'a LogicalPath,
    /// See [`Part::effect`].
    pub(crate) planned: &'a [Effect],
    /// What it did to files that have other names.
    pub(crate) own: Own,
}

impl Vfs {
    /// Runs a plan that the Gate let pass.
    #[expect(clippy::needless_pass_by_value, reason = "the token is used up")]
    pub fn run(&self, call: &Call<'_>, plan: Plan, token: Token) -> Result<Outcome, Refused> {
        if token.plan != plan.id || plan.vfs != self.id {
            return Err(Refused::Gate("the token was granted for another plan".to_owned()));
        }
        if !plan.kind.changes() {
            return self.look(call, plan);
        }
        if plan.is_command {
            self.refuse_what_changed(call, &plan.work)?;
        }
        self.journal.begin(call, &plan).map_err(|e| refusal(&plan.asked, e))?;
        let Plan { asked, work, effects, .. } = plan;
        let run = Run { call, asked: &asked, planned: &with_versions(effects), own: Own::default() };
        let outcome = self.change(&run, work);
        self.journal.end(call, outcome.is_ok());
        outcome
    }

    fn look(&self, call: &Call<'_>, plan: Plan) -> Result<Outcome, Refused> {
        match plan.work {
            Work::Read { workspace, rel_from, range } => self.run_read(call, &plan.asked, workspace, rel_from, &range),
            Work::Browse { browse, glob } => {
                self.browse(call, plan.kind, &browse, glob.as_deref()).map(Outcome::Entries)
            }
            Work::Search(search) => self.run_search(call, &plan.asked, &search),
            Work::Change { .. } | Work::Parts(_) | Work::MoveDir { .. } | Work::Carry { .. } | Work::Deliver { .. } => {
                Err(Refused::Gate("a plan that only looks holds a change".to_owned()))
            }
        }
    }

    /// Looks at everything that the changes of a command expect before the first of them is made. What an earlier change
    /// takes away or puts there says nothing about today.
    fn refuse_what_changed(&self, call: &Call<'_>, work: &Work) -> Result<(), Refused> {
        let alone = std::slice::from_ref(work);
        let parts = if let Work::Parts(parts) = work { parts.as_slice() } else { alone };
        let mut touched: HashSet<(usize, RelPath<'_>)> = HashSet::new();
        for part in parts {
            let Work::Change { workspace, set } = part else { continue };
            let Workspace { prefix, mount, .. } = &self.workspaces[*workspace];
            for change in set.changes() {
                let path = change.path();
                let is_ours = path.ancestors().any(|above| touched.contains(&(*workspace, above)));
                let place = Place::bare(path);
                let fails = |e| refusal(&prefix.join(path), e);
                if !is_ours && !mount.store.holds(call, &place, change.expect()).map_err(fails)? {
                    return Err(store_refusal(&prefix.join(path), ErrorKind::Stale));
                }
                touched.insert((*workspace, path));
            }
        }
        Ok(())
    }

    fn change(&self, run: &Run<'_>, work: Work) -> Result<Outcome, Refused> {
        let Work::Parts(parts) = work else { return self.change_part(run, 0, work) };
        let mut all = Vec::with_capacity(parts.len());
        for (part, work) in parts.into_iter().enumerate() {
            all.push(self.change_part(run, part, work)?);
        }
        Ok(together(all))
    }

    fn change_part(&self, run: &Run<'_>, part: usize, work: Work) -> Result<Outcome, Refused> {
        match work {
            Work::Change { workspace, set } => {
                let prefix = &self.workspaces[workspace].prefix;
                let arrives = set.changes().iter().find_map(|change| match change.act() {
                    Act::Move { to } => Some(prefix.join(to.as_rel())),
                    _ => None,
                });
                let applied = self.apply(run, part, workspace, set).map_err(|e| refusal(run.asked, e));
                Ok(summary(&applied.map_err(|refused| grown_at(refused, arrives))?))
            }
            Work::Deliver { workspace, set } => {
                let Some(set) = set else { return Ok(Outcome::Accepted) };
                // Told or not told would each say something about what was there.
                let _ = self.apply(run, part, workspace, set);
                Ok(Outcome::Accepted)
            }
            Work::MoveDir { workspace, from, to, along } => {
                // What is there is looked at again.
                drop(along);
                let moved = self.move_dir(run, part, workspace, &from, &to);
                moved.map_err(|refused| grown_at(refused, Some(to.0)))
            }
            Work::Carry { from, to, steps, .. } => self.carry(run, from, to, steps),
            Work::Read { .. } | Work::Browse { .. } | Work::Search(_) | Work::Parts(_) => {
                Err(Refused::Gate("a plan that changes holds no change".to_owned()))
            }
        }
    }

    /// Has a Store make a set, and tells the Journal before and after. Where the Store does not make it as a whole, that
    /// is done batch by batch: whatever stops it, the Journal knows what was changed and what may have been.
    fn apply(&self, run: &Run<'_>, part: usize, workspace: usize, set: ChangeSet) -> StoreResult<Applied> {
        let workspace = &self.workspaces[workspace];
        let store = &workspace.mount.store;
        let set = set.within(workspace.quota, self.journal.keeps()).knowing(&run.own);
        let batches = set.in_batches(if store.is_atomic() { usize::MAX } else { BATCH });
        let mut all = Applied::default();
        for (n, set) in batches.iter().enumerate() {
            self.journal.part_begins(run.call, &Part { workspace, set, planned: run.planned })?;
            let applied = store.apply(run.call, set)?;
            self.journal.part_done(run.call, &PartDone { part: part + n, workspace, set, applied: &applied })?;
            if let Some(kind) = applied.stopped {
                return Err(kind.into());
            }
            all.changes.extend(applied.changes);
        }
        Ok(all)
    }

    /// Copies first and removes last: a run that is cut off leaves both, never neither. Only what was copied is removed:
    /// a file that somebody saved since stays, and a directory that somebody put something into.
    fn carry(&self, run: &Run<'_>, from: usize, to: usize, steps: Vec<CarryStep>) -> Result<Outcome, Refused> {
        let fail = |e| refusal(run.asked, e);
        let (paths, source) = (steps.len(), &self.workspaces[from]);
        let mut removals = Vec::with_capacity(paths);
        for (part, step) in steps.into_iter().enumerate() {
            let (act, expect, copied) = match step.kind {
                Kind::Dir => (Act::MakeDir, Expect::Any, Expect::Any),
                _ => {
                    let (content, version) = self.content(run.call, run.asked, from, step.from.as_rel())?;
                    (Act::Write { content, mode: step.mode }, Expect::Absent, Expect::Is(version))
                }
            };
            // What was somebody else's is not the agent's own for having been brought elsewhere.
            let before = if let Expect::Is(version) = copied { Some(version) } else { None };
            let was = Some(Was { kind: step.kind, looks: Looks::default() });
            let path = source.prefix.join(step.from.as_rel());
            let found = Effect { path, what: EffectKind::Delete, before, len: None, was };
            let is_own = self.journal.made_by(run.call, source, step.from.as_rel(), &found);
            removals.push(Change { path: step.from, act: Act::Delete, expect: copied });
            let arrives = self.workspaces[to].prefix.join(step.to.as_rel());
            let made = self.apply(run, part, to, ChangeSet::one(step.to, act, expect).copying(is_own));
            made.map_err(|e| grown_at(fail(e), Some(arrives)))?;
        }
        removals.reverse();
        self.apply(run, paths, from, ChangeSet::new(removals)).map_err(fail)?;
        Ok(Outcome::Changed { version: None, created: true, replacements: 0, paths })
    }

    /// A whole file, and the version that it is of.
    fn content(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        from: usize,
        rel: RelPath<'_>,
    ) -> Result<(Vec<u8>, Version), Refused> {
        let mut content = Vec::new();
        let store = &self.workspaces[from].mount.store;
        let meta =
            store.read(call, &self.place(from, rel), 0..MAX_CARRIED, &mut content).map_err(|e| refusal(asked, e))?;
        if meta.len > MAX_CARRIED {
            let kind =
                ErrorKind::TooLarge { what: "the size of a file that moves between Workspaces", limit: MAX_CARRIED };
            return Err(store_refusal(asked, kind));
        }
        Ok((content, meta.version))
    }

    fn run_read(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        rel_from: usize,
        range: &Range<u64>,
    ) -> Result<Outcome, Refused> {
        let mut bytes = Vec::new();
        let rel = RelPath(&asked.as_str()[rel_from..]);
        let store = &self.workspaces[index].mount.store;
        let mut read = store.read(call, &self.place(index, rel), range.clone(), &mut bytes);
        if read.as_ref().is_err_and(|e| *e.kind() == ErrorKind::Link) {
            // Where it leads is judged and read the same way, from the start.
            let settled = self.settle(call, OpKind::Read, asked, LastName::Follow)?;
            bytes.clear();
            let store = &self.workspaces[settled.workspace].mount.store;
            read = store.read(call, &self.place(settled.workspace, settled.rel.as_rel()), range.clone(), &mut bytes);
        }
        let meta = read.map_err(|e| refusal(asked, e))?;
        Ok(Outcome::Read { bytes, meta })
    }

    /// Bytes of what a Store kept when a path changed. For a person who looks at the past of what the agent's
    /// Workspaces hold; the path is judged as for a read.
    pub fn recall(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        kept: &Kept,
        range: &Range<u64>,
    ) -> Result<(Vec<u8>, Meta), Refused> {
        let decision = self.judge(OpKind::Read, asked);
        let Some((index, rel)) = self.route(asked).filter(|_| decision.allowed()) else {
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        };
        let store = &self.workspaces[index].mount.store;
        let past = store.versioned().ok_or_else(|| store_refusal(asked, ErrorKind::NotKept))?;
        let mut bytes = Vec::new();
        let read = past.recall(call, &self.place(index, rel), kept, range.clone(), &mut bytes);
        let meta = read.map_err(|e| refusal(asked, e))?;
        Ok((bytes, meta))
    }

    /// What takes a call back that failed or was cut off. The Vfs is that of a person ([`Vfs::for_person`]), and `call` is
    /// the one that will run it.
    pub fn way_back(&self, call: &Call<'_>, undone: CallId) -> Result<WayBack, Refused> {
        self.journal.way_back(self, call, undone)
    }

    /// What a call that was cut off kept of a path, where its Store can tell. Judged as [`Self::recall`].
    pub fn kept_by(&self, call: &Call<'_>, asked: &LogicalPath, cut_off: CallId) -> Result<Option<Kept>, Refused> {
        let decision = self.judge(OpKind::Read, asked);
        let Some((index, rel)) = self.route(asked).filter(|_| decision.allowed()) else {
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        };
        let Some(past) = self.workspaces[index].mount.store.versioned() else { return Ok(None) };
        past.kept_by(call, &self.place(index, rel), cut_off).map_err(|e| refusal(asked, e))
    }

    /// Did what is at a path change after this was kept of it, past its Store? Judged as [`Self::recall`].
    pub fn is_newer(&self, call: &Call<'_>, asked: &LogicalPath, kept: &Kept) -> Result<bool, Refused> {
        let decision = self.judge(OpKind::Read, asked);
        let Some((index, rel)) = self.route(asked).filter(|_| decision.allowed()) else {
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        };
        let Some(past) = self.workspaces[index].mount.store.versioned() else { return Ok(false) };
        past.is_newer(call, &self.place(index, rel), kept).map_err(|e| refusal(asked, e))
    }

    /// What the Workspace at a prefix holds, for a person who looks at quotas; nothing where its Store does not count.
    pub fn usage(&self, call: &Call<'_>, prefix: &LogicalPath) -> Result<Option<Usage>, Refused> {
        let Some(workspace) = self.workspaces.iter().find(|workspace| workspace.prefix == *prefix) else {
            return Err(Refused::Misuse { path: prefix.clone(), why: "no Workspace begins here" });
        };
        let counted = workspace.mount.store.versioned().map(|past| past.usage(call)).transpose();
        counted.map_err(|e| refusal(prefix, e))
    }

    fn run_search(&self, call: &Call<'_>, asked: &LogicalPath, search: &Search) -> Result<Outcome, Refused> {
        self.search(call, asked, search).map(Outcome::Hits)
    }

    /// One Workspace's share of a search, with logical paths in the answer.
    pub(crate) fn search_one(
        &self,
        call: &Call<'_>,
        index: usize,
        rel: RelPath<'_>,
        query: &Query,
        out: &mut Vec<Hit>,
    ) -> StoreResult<()> {
        let workspace = &self.workspaces[index];
        workspace.mount.store.search(call, &self.place(index, rel), query, &mut |mut hit| {
            hit.path = workspace.prefix.join(RelPath(&hit.path)).as_str().to_owned();
            out.push(hit);
            std::ops::ControlFlow::Continue(())
        })
    }
}

/// What had a version when it was planned, or was not there, by path.
fn with_versions(mut effects: Vec<Effect>) -> Vec<Effect> {
    let makes = |what| matches!(what, EffectKind::Create | EffectKind::Replace | EffectKind::MakeDir);
    effects.retain(|effect| effect.before.is_some() || makes(effect.what));
    effects.sort_by(|a, b| a.path.cmp(&b.path));
    effects
}

/// What several parts come to; one alone tells what it would have told.
fn together(mut parts: Vec<Outcome>) -> Outcome {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let count = |part: &Outcome| if let Outcome::Changed { paths, .. } = part { *paths } else { 0 };
    let paths = parts.iter().map(count).sum();
    Outcome::Changed { version: None, created: false, replacements: 0, paths }
}

/// A quota speaks of what would grow: of what moves, that is where it arrives.
fn grown_at(refused: Refused, arrives: Option<LogicalPath>) -> Refused {
    match (refused, arrives) {
        (Refused::Store { source, .. }, Some(path)) if matches!(source.kind(), ErrorKind::OverQuota { .. }) => {
            Refused::Store { path, source }
        }
        (refused, _) => refused,
    }
}

/// What a single change tells of its file; several only tell how many there were.
fn summary(applied: &Applied) -> Outcome {
    let paths = applied.changes.len();
    let only = if paths == 1 { applied.changes.first().cloned() } else { None };
    let only = only.unwrap_or_default();
    Outcome::Changed { version: only.version, created: only.created, replacements: only.replacements, paths }
}
