//! The Vfs: the router and the guard of one agent, and the only way to its Stores.
//!
//! [`Vfs::judge`] is pure. [`Vfs::plan`] judges every path an operation touches, after links are
//! resolved and recursion is expanded; what it refuses by scope or by name never reaches a Store.
//! [`Vfs::ask`] puts the plan before the Gate, and `Vfs::run` (in `run.rs`) takes the plan together
//! with the token that only the Gate could have granted.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use crate::alter::Author;
use crate::call::Call;
use crate::change::{Act, Change, ChangeSet, Expect};
use crate::decision::{Decision, Denial, Rule};
use crate::error::{ErrorKind, StoreError};
use crate::names::NameRules;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::place::{Place, Veil};
use crate::plan::{Effect, EffectKind, Operation, Plan, Work};
use crate::ports::{Gate, Journal, Passed, Permit, Request};
use crate::repository::Guards;
use crate::router::Router;
use crate::scope::{AccessScope, OpKind};
use crate::store::{Kind, LastName, Meta, Walk};
use crate::surroundings::Surroundings;
use crate::workspace::{Origin, Workspace};

/// How many links that lead from Workspace to Workspace are followed.
pub(crate) const MAX_HOPS: usize = 8;
/// The most paths that one recursive delete or move may hold.
pub const MAX_EXPANSION: usize = 100_000;

/// Why Workspaces cannot stand together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// Two Workspaces at one place in the agent's view.
    #[error("two Workspaces have the prefix \"{prefix}\" ({first} and {second})")]
    SamePrefix {
        /// The prefix.
        prefix: LogicalPath,
        /// Where one was written.
        first: Origin,
        /// Where the other was written.
        second: Origin,
    },
    /// One place is reached through two Workspaces whose scopes disagree.
    #[error("{}", alias_text(self))]
    Alias {
        /// The Workspace whose Mount contains the place.
        outer: LogicalPath,
        /// Its scope.
        outer_scope: AccessScope,
        /// Where it was written.
        outer_origin: Origin,
        /// Where the place appears in it.
        seen_as: LogicalPath,
        /// The Workspace whose Mount is the place.
        inner: LogicalPath,
        /// Its scope.
        inner_scope: AccessScope,
        /// Where it was written.
        inner_origin: Origin,
    },
}

fn alias_text(error: &BuildError) -> String {
    let BuildError::Alias { outer, outer_scope, outer_origin, seen_as, inner, inner_scope, inner_origin } = error
    else {
        return String::new();
    };
    let both = format!("Workspaces \"{outer}\" ({outer_origin}) and \"{inner}\" ({inner_origin}) reach the same place");
    if outer_scope == inner_scope {
        return format!("{both} and hide or unguard different names there: it is also seen as \"{seen_as}\"");
    }
    format!("{both} with scopes that disagree: it is {outer_scope} as \"{seen_as}\" and {inner_scope} as \"{inner}\"")
}

/// Why an operation does not happen.
#[derive(Debug, Error)]
pub enum Refused {
    /// The policy denies it; no Store was touched, or only to see where a link leads.
    #[error("denied: {} {}", .0.op, .0.asked)]
    Denied(Box<Denial>),
    /// A recursive operation met a path that the policy denies.
    #[error("denied: {} {} holds a path that may not be changed", .0.op, .0.asked)]
    DeniedInside(Box<Denial>),
    /// The Store could not do it.
    #[error("{path}: {source}")]
    Store {
        /// The path it was about.
        path: LogicalPath,
        /// What the Store said.
        source: StoreError,
    },
    /// It is not possible as asked.
    #[error("{path}: {why}")]
    Misuse {
        /// The path it was about.
        path: LogicalPath,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The Gate does not let it pass.
    #[error("{0}")]
    Gate(String),
    /// A person has not agreed to it.
    #[error("{why}")]
    NotApproved {
        /// Why, in a word for programs.
        name: &'static str,
        /// Why, in a sentence.
        why: String,
    },
}

/// The router and the guard of one agent.
pub struct Vfs {
    pub(crate) id: u64,
    /// In tree order of their prefixes.
    pub(crate) workspaces: Vec<Workspace>,
    /// For each Workspace, what the others mean for it.
    pub(crate) around: Vec<Surroundings>,
    router: Router,
    /// For each kind of operation, the Workspaces that allow it.
    allowed_in: [Arc<[LogicalPath]>; OpKind::ALL.len()],
    gate: Arc<dyn Gate>,
    pub(crate) journal: Arc<dyn Journal>,
    /// The person whose acts these are.
    by: Option<Arc<str>>,
}

impl std::fmt::Debug for Vfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vfs").field("workspaces", &self.workspaces).finish_non_exhaustive()
    }
}

/// A path that was judged, with links resolved, and what is there.
pub(crate) struct Settled {
    pub(crate) workspace: usize,
    pub(crate) path: LogicalPath,
    pub(crate) rel: RelPathBuf,
    pub(crate) meta: Option<Meta>,
}

impl Vfs {
    /// Builds the view of one agent. Finds Workspaces that contradict each other.
    pub fn new(
        mut workspaces: Vec<Workspace>,
        gate: Arc<dyn Gate>,
        journal: Arc<dyn Journal>,
    ) -> Result<Self, BuildError> {
        workspaces.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        if let Some(pair) = workspaces.windows(2).find(|pair| pair[0].prefix == pair[1].prefix) {
            return Err(BuildError::SamePrefix {
                prefix: pair[0].prefix.clone(),
                first: pair[0].origin.clone(),
                second: pair[1].origin.clone(),
            });
        }
        let vfs = Self::assemble(workspaces, gate, journal);
        match vfs.find_alias() {
            Some(alias) => Err(alias),
            None => Ok(vfs),
        }
    }

    /// Puts together what is known to be in tree order.
    fn assemble(workspaces: Vec<Workspace>, gate: Arc<dyn Gate>, journal: Arc<dyn Journal>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let allowing = |op| workspaces.iter().filter(move |w: &&Workspace| w.allows(op) && !w.aside);
        let allowed_in = OpKind::ALL.map(|op| allowing(op).map(|w| w.prefix.clone()).collect());
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            around: Surroundings::of(&workspaces),
            router: Router::new(workspaces.iter().map(|w| &w.prefix)),
            allowed_in,
            workspaces,
            gate,
            journal,
            by: None,
        }
    }

    /// The same Workspaces for a person's own act: read-write, whatever the agent's scope. Hidden, guarded and
    /// Paddock's own names still hold.
    #[must_use]
    pub fn for_person(&self, gate: Arc<dyn Gate>) -> Self {
        let lift = |workspace: &Workspace| Workspace { scope: AccessScope::ReadWrite, ..workspace.clone() };
        let workspaces: Vec<Workspace> = self.workspaces.iter().map(lift).collect();
        Self::assemble(workspaces, gate, Arc::clone(&self.journal))
    }

    /// The same, with the name of the person whose acts are recorded.
    #[must_use]
    pub fn by(self, person: &str) -> Self {
        Self { by: Some(person.into()), ..self }
    }

    /// The person whose acts these are, where they have a name.
    pub fn person(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// One Workspace by itself, for what Paddock puts there for an agent that can only read it. Nothing of it is
    /// recorded or undone.
    #[must_use]
    pub fn alone(&self, prefix: &LogicalPath, gate: Arc<dyn Gate>) -> Option<Self> {
        let workspace = self.workspaces.iter().find(|workspace| workspace.prefix == *prefix)?;
        let workspace = Workspace { scope: AccessScope::ReadWrite, ..workspace.clone() };
        Some(Self::assemble(vec![workspace], gate, Arc::new(crate::ports::NoJournal)))
    }

    /// Did the agent of this call make what a plan takes away or changes, and nobody else change it since?
    pub fn was_made_by(&self, call: &Call<'_>, effect: &Effect) -> bool {
        let routed = self.router.route(&effect.path);
        routed.is_some_and(|(index, rel)| self.journal.made_by(call, &self.workspaces[index], rel, effect))
    }

    /// The Workspaces, in tree order.
    pub fn workspaces(&self) -> &[Workspace] {
        &self.workspaces
    }

    /// Every path under which these Workspaces reach the same place, this one first: two may be on one directory.
    #[must_use]
    pub fn names_of(&self, path: &LogicalPath) -> Vec<LogicalPath> {
        let mut names = vec![path.clone()];
        let Some((index, rel)) = self.router.route(path) else { return names };
        let Some(territory) = &self.workspaces[index].mount.territory else { return names };
        let inside: Vec<&str> = rel.as_str().split('/').filter(|name| !name.is_empty()).collect();
        let whole: Vec<&str> = territory.names().iter().map(String::as_str).chain(inside).collect();
        for workspace in &self.workspaces {
            let Some(other) = &workspace.mount.territory else { continue };
            let is_above = other.realm() == territory.realm()
                && other.names().len() <= whole.len()
                && other.names().iter().zip(&whole).all(|(one, name)| one == name);
            let seen_as = workspace.prefix.join(RelPath(&whole[other.names().len().min(whole.len())..].join("/")));
            if is_above && !names.contains(&seen_as) {
                names.push(seen_as);
            }
        }
        names
    }

    /// The Workspaces in which an operation is allowed.
    pub fn allowed_in(&self, op: OpKind) -> &[LogicalPath] {
        &self.allowed_in[op as usize]
    }

    /// The verdict on one operation on one path, by the policy alone.
    pub fn judge<'a>(&'a self, op: OpKind, path: &'a LogicalPath) -> Decision<'a> {
        self.judge_as(op, path, op == OpKind::MakeDir)
    }

    /// Would an operation be over at once, see [`Store::is_at_hand`](crate::Store::is_at_hand)? What is denied is, and no Store is asked.
    pub fn is_at_hand(&self, op: OpKind, path: &LogicalPath) -> bool {
        let routed = self.router.route(path);
        if !self.judge_routed(op, path, routed, op == OpKind::MakeDir).allowed() {
            return true;
        }
        // Which of two calls is answered first must not tell what is in a drop box.
        let seen = routed.map(|(index, rel)| (&self.workspaces[index], rel));
        seen.is_none_or(|(at, rel)| at.scope != AccessScope::WriteOnly && at.mount.store.is_at_hand(op, rel))
    }

    /// As [`Self::judge`], where it is known whether the path is, or will be, a directory.
    pub(crate) fn judge_as<'a>(&'a self, op: OpKind, path: &'a LogicalPath, directory: bool) -> Decision<'a> {
        self.judge_routed(op, path, self.router.route(path), directory)
    }

    fn judge_routed<'a>(
        &'a self,
        op: OpKind,
        path: &'a LogicalPath,
        routed: Option<(usize, RelPath<'_>)>,
        directory: bool,
    ) -> Decision<'a> {
        Decision {
            op,
            path,
            workspace: routed.map(|(index, _)| &self.workspaces[index]),
            rule: match routed {
                None if op.browses() && self.is_above_a_workspace(path) => Rule::Ancestor,
                None => Rule::NoWorkspace,
                Some((index, rel)) => rule_for(op, &self.workspaces[index], &self.around[index], rel, directory),
            },
            allowed_in: &self.allowed_in[op as usize],
        }
    }

    /// Judges an operation whole: resolves links, expands recursion, judges each path.
    pub fn plan(&self, call: &Call<'_>, operation: Operation) -> Result<Plan, Refused> {
        let kind = operation.kind();
        let operation = match operation {
            Operation::Read { path, range } => return self.plan_read(path, range),
            Operation::Alter { path, alterations } => {
                let (work, effects) = self.plan_alterations(call, Author::Person, alterations)?;
                return Ok(self.plan_of_change(call, kind, path, work, effects));
            }
            Operation::TakeOver { path, alterations } => {
                let (work, effects) = self.plan_alterations(call, Author::Fork, alterations)?;
                return Ok(self.plan_of_change(call, kind, path, work, effects));
            }
            Operation::Commit { path, alterations } => {
                let (work, effects) = self.plan_alterations(call, Author::Command, alterations)?;
                let plan = self.plan_of_change(call, kind, path, work, effects);
                return Ok(Plan { is_command: true, ..plan });
            }
            other => other,
        };
        let asked = operation.path().clone();
        let decision = self.judge(kind, &asked);
        if !decision.allowed() {
            return Err(Refused::Denied(Box::new(decision.denial(&asked))));
        }
        let write_only = decision.workspace().is_some_and(|w| w.scope == AccessScope::WriteOnly);
        let (work, effects) = match operation {
            Operation::Read { path, range } => return self.plan_read(path, range),
            Operation::Alter { alterations, .. } => self.plan_alterations(call, Author::Person, alterations)?,
            Operation::Commit { alterations, .. } => self.plan_alterations(call, Author::Command, alterations)?,
            Operation::TakeOver { alterations, .. } => self.plan_alterations(call, Author::Fork, alterations)?,
            Operation::List(browse) => (Work::Browse { browse: Box::new(browse), glob: None }, Vec::new()),
            Operation::Find { browse, glob } => {
                let (browse, glob) = (Box::new(browse), Some(Box::new(glob)));
                (Work::Browse { browse, glob }, Vec::new())
            }
            Operation::Search { search, .. } => (Work::Search(Box::new(search)), Vec::new()),
            Operation::Write { content, expect, .. } => {
                let act = Act::Write { content, mode: None };
                self.plan_file(call, kind, &asked, act, expect, write_only)?
            }
            Operation::Append { content, .. } => {
                self.plan_file(call, kind, &asked, Act::Append { content }, Expect::Any, write_only)?
            }
            Operation::Edit { edits, expect, .. } => {
                self.plan_file(call, kind, &asked, Act::Edit { edits }, expect, write_only)?
            }
            Operation::MakeDir { .. } => self.plan_make_dir(call, &asked)?,
            Operation::Move { to, .. } => self.plan_move(call, &asked, &to)?,
            Operation::Delete { recursive, .. } => self.plan_delete(call, &asked, recursive)?,
        };
        Ok(self.plan_of_change(call, kind, asked, work, effects))
    }

    fn plan_of_change(
        &self,
        call: &Call<'_>,
        kind: OpKind,
        asked: LogicalPath,
        work: Work,
        effects: Vec<Effect>,
    ) -> Plan {
        let lost = if self.journal.keeps() { self.lost(call, &work, &effects) } else { Vec::new() };
        Plan { lost, ..self.new_plan(kind, asked, work, effects) }
    }

    /// What is larger than its Store can keep, of what goes, or all of it where the Journal has no room. Where a Store keeps everything,
    /// nothing is looked at.
    fn lost(&self, call: &Call<'_>, work: &Work, effects: &[Effect]) -> Vec<LogicalPath> {
        let goes = |what: EffectKind| match what {
            EffectKind::Replace | EffectKind::Delete => true,
            EffectKind::MoveAway => matches!(work, Work::Carry { .. }),
            _ => false,
        };
        let is_lost = |path: &LogicalPath| {
            let (index, rel) = self.router.route(path)?;
            let store = &self.workspaces[index].mount.store;
            let most = store.keeps_up_to()?;
            let meta = store.stat(call, &Place::bare(rel)).ok()?;
            Some(meta.kind == Kind::File && meta.len > most)
        };
        let mut going = effects.iter().filter(|effect| goes(effect.what)).map(|effect| &effect.path).peekable();
        // Asked only where something goes.
        let has_room = going.peek().is_none() || self.journal.has_room();
        going.filter(|path| !has_room || is_lost(path) == Some(true)).cloned().collect()
    }

    /// Reads are most of what agents do: judged once, with nothing copied.
    fn plan_read(&self, path: LogicalPath, range: Range<u64>) -> Result<Plan, Refused> {
        let routed = self.router.route(&path);
        let decision = self.judge_routed(OpKind::Read, &path, routed, false);
        let Some((workspace, rel)) = routed.filter(|_| decision.allowed()) else {
            return Err(Refused::Denied(Box::new(decision.denial(&path))));
        };
        let rel_from = path.as_str().len() - rel.as_str().len();
        Ok(self.new_plan(OpKind::Read, path, Work::Read { workspace, rel_from, range }, Vec::new()))
    }

    fn new_plan(&self, kind: OpKind, asked: LogicalPath, work: Work, effects: Vec<Effect>) -> Plan {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (lost, note, by) = (Vec::new(), String::new(), self.by.clone());
        Plan {
            id,
            vfs: self.id,
            kind,
            asked,
            work,
            effects,
            lost,
            is_command: false,
            note,
            is_aside: false,
            by,
            act: None,
        }
    }

    /// Puts a plan before the Gate.
    pub fn ask(&self, call: &Call<'_>, request: &Request<'_>, plan: &Plan) -> Result<Passed, Refused> {
        self.gate.pass(call, request, plan, Permit { plan: plan.id })
    }

    /// The Gate itself, for what is asked beside a plan. It gives no token.
    pub fn gate(&self) -> &dyn Gate {
        &*self.gate
    }

    fn plan_file(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        act: Act,
        expect: Expect,
        write_only: bool,
    ) -> Result<(Work, Vec<Effect>), Refused> {
        if write_only {
            return self.plan_delivery(call, op, asked, asked, act, expect);
        }
        let settled = self.settle(call, op, asked, LastName::Follow)?;
        if self.workspaces[settled.workspace].scope == AccessScope::WriteOnly {
            // A link out of a read-write Workspace into a write-only one: what is there stays unknown.
            return self.plan_delivery(call, op, asked, &settled.path, act, expect);
        }
        let what = match (&settled.meta, op) {
            (Some(Meta { kind: Kind::Dir, .. }), _) => return Err(store_refusal(asked, ErrorKind::IsADirectory)),
            (Some(Meta { kind: Kind::Special, .. }), _) => return Err(store_refusal(asked, ErrorKind::NotAFile)),
            (None, OpKind::Edit) => return Err(store_refusal(asked, ErrorKind::NotFound)),
            (None, _) => EffectKind::Create,
            (Some(_), OpKind::Append) => EffectKind::Append,
            (Some(_), _) => EffectKind::Replace,
        };
        let (before, len) = (settled.meta.as_ref().map(|m| m.version), settled.meta.as_ref().map(|m| m.len));
        let effect = Effect { path: settled.path, what, before, len, was: None };
        let set = ChangeSet::one(settled.rel, act, expect);
        Ok((Work::Change { workspace: settled.workspace, set }, vec![effect]))
    }

    /// A write-only Workspace: whatever is there, the plan and the answer look the same.
    pub(crate) fn plan_delivery(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        path: &LogicalPath,
        act: Act,
        expect: Expect,
    ) -> Result<(Work, Vec<Effect>), Refused> {
        if expect != Expect::Any {
            let why =
                "expected_version cannot be used in a write-only Workspace: nothing about what is there comes back";
            return Err(Refused::Misuse { path: asked.clone(), why });
        }
        let (here, rel) = self.router.route(path).unwrap_or((0, RelPath::HERE));
        // By its name alone, so that nothing is told of what is there.
        if let Some(row) = self.workspaces[here].names.in_gits(op, rel) {
            let decision = Decision { rule: Rule::Guarded(row), ..self.judge(op, path) };
            return Err(Refused::Denied(Box::new(decision.denial(asked))));
        }
        self.probe(call, asked, here)?;
        let effect = Effect { path: asked.clone(), what: EffectKind::Deliver, before: None, len: None, was: None };
        // What stands in the way depends on what is there, so it is not told.
        let settled = self.settle(call, op, path, LastName::Follow).ok();
        let (workspace, set) = match settled {
            Some(s) if self.workspaces[s.workspace].scope == AccessScope::WriteOnly => {
                (s.workspace, Some(ChangeSet::one(s.rel, act, expect)))
            }
            _ => (here, None),
        };
        Ok((Work::Deliver { workspace, set }, vec![effect]))
    }

    /// Is the Store there at all? Asked of the Mount itself, before anything in it is looked at, so that
    /// a dead Store is told and nothing else.
    fn probe(&self, call: &Call<'_>, asked: &LogicalPath, index: usize) -> Result<(), Refused> {
        match self.workspaces[index].mount.store.stat(call, &self.place(index, RelPath::HERE)) {
            Err(e) if *e.kind() != ErrorKind::NotFound => Err(refusal(asked, e)),
            _ => Ok(()),
        }
    }

    fn plan_make_dir(&self, call: &Call<'_>, asked: &LogicalPath) -> Result<(Work, Vec<Effect>), Refused> {
        let settled = self.settle(call, OpKind::MakeDir, asked, LastName::Follow)?;
        if settled.meta.as_ref().is_some_and(|meta| meta.kind != Kind::Dir) {
            return Err(store_refusal(asked, ErrorKind::AlreadyExists));
        }
        let effect = Effect { path: settled.path, what: EffectKind::MakeDir, before: None, len: None, was: None };
        let set = ChangeSet::one(settled.rel, Act::MakeDir, Expect::Any);
        Ok((Work::Change { workspace: settled.workspace, set }, vec![effect]))
    }

    fn plan_delete(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        recursive: bool,
    ) -> Result<(Work, Vec<Effect>), Refused> {
        let settled = self.settle(call, OpKind::Delete, asked, LastName::Keep)?;
        let meta = settled.meta.as_ref().ok_or_else(|| store_refusal(asked, ErrorKind::NotFound))?;
        let mut doomed = vec![(settled.rel.clone(), meta.kind)];
        if meta.kind == Kind::Dir {
            self.refuse_holding_workspaces(OpKind::Delete, asked, &settled.path)?;
            if recursive {
                doomed.extend(self.expand(call, OpKind::Delete, asked, &settled)?);
            } else if self.journal.keeps() {
                // Known before anybody is asked about a call that can only fail. Where nothing is kept nobody is asked.
                self.refuse_what_holds_something(call, asked, &settled)?;
            }
        }
        // Tree order puts a directory before what it holds; it can only go after it.
        doomed.reverse();
        let prefix = &self.workspaces[settled.workspace].prefix;
        let effects = doomed
            .iter()
            .map(|(rel, _)| prefix.join(rel.as_rel()))
            .map(|path| Effect { path, what: EffectKind::Delete, before: None, len: None, was: None })
            .collect();
        let set = ChangeSet::new(doomed.into_iter().map(|(path, _)| delete(path)).collect());
        Ok((Work::Change { workspace: settled.workspace, set }, effects))
    }

    fn refuse_what_holds_something(&self, call: &Call<'_>, asked: &LogicalPath, dir: &Settled) -> Result<(), Refused> {
        let (mut holds, store) = (false, &self.workspaces[dir.workspace].mount.store);
        let walk = Walk { depth: Some(1), ..Walk::default() };
        let walked = store.walk(call, &Place::bare(dir.rel.as_rel()), &walk, &mut |_| {
            holds = true;
            ControlFlow::Break(())
        });
        walked.map_err(|e| refusal(asked, e))?;
        if holds { Err(store_refusal(asked, ErrorKind::NotEmpty)) } else { Ok(()) }
    }

    /// Everything below a directory, hidden or not, each path judged. One denied path refuses all.
    fn expand(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        dir: &Settled,
    ) -> Result<Vec<(RelPathBuf, Kind)>, Refused> {
        self.expand_as(call, asked, dir.workspace, dir.rel.as_rel(), &[(op, &dir.path)])
    }

    /// As [`Self::expand`], judged as if the directory stood at each of these paths.
    pub(crate) fn expand_as(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        dir: RelPath<'_>,
        stands_at: &[(OpKind, &LogicalPath)],
    ) -> Result<Vec<(RelPathBuf, Kind)>, Refused> {
        let mut found = Vec::new();
        let mut refused = None;
        let walk = Walk::default();
        let store = &self.workspaces[index].mount.store;
        let walked = store.walk(call, &Place::bare(dir), &walk, &mut |entry| {
            if found.len() >= MAX_EXPANSION {
                let kind = ErrorKind::TooLarge { what: "the number of paths in it", limit: MAX_EXPANSION as u64 };
                refused = Some(store_refusal(asked, kind));
                return ControlFlow::Break(());
            }
            if !entry.plain {
                let why = "it holds a name that cannot be written as a path, so a person has to do it";
                refused = Some(Refused::Misuse { path: asked.clone(), why });
                return ControlFlow::Break(());
            }
            for (op, base) in stands_at {
                let path = base.join(below(RelPath(entry.path), dir));
                let decision = self.judge_kind(*op, &path, entry.kind);
                if !decision.allowed() {
                    refused = Some(Refused::DeniedInside(Box::new(decision.denial(asked))));
                    return ControlFlow::Break(());
                }
            }
            found.push((RelPathBuf::unchecked(entry.path.to_owned()), entry.kind));
            ControlFlow::Continue(())
        });
        walked.map_err(|e| refusal(asked, e))?;
        refused.map_or(Ok(found), Err)
    }

    /// As [`Self::judge`], for something whose kind is known. A link may not arrive where guarded names
    /// lie below: they would then be written under another path.
    pub(crate) fn judge_kind<'a>(&'a self, op: OpKind, path: &'a LogicalPath, kind: Kind) -> Decision<'a> {
        let decision = self.judge_as(op, path, kind == Kind::Dir);
        if !decision.allowed() || kind != Kind::Link || !matches!(op, OpKind::MoveTo | OpKind::Write) {
            return decision;
        }
        let Some((index, rel)) = self.router.route(path) else { return decision };
        let names = &self.workspaces[index].names;
        match names.guarded_way(rel) {
            Some(name) => Decision { rule: Rule::Guarded(name), ..decision },
            None if names.leads_to_a_mount(rel) => Decision { rule: Rule::HoldsWorkspace, ..decision },
            None => decision,
        }
    }

    pub(crate) fn refuse_holding_workspaces(
        &self,
        op: OpKind,
        asked: &LogicalPath,
        path: &LogicalPath,
    ) -> Result<(), Refused> {
        if !self.is_above_a_workspace(path) {
            return Ok(());
        }
        let decision = Decision { rule: Rule::HoldsWorkspace, ..self.judge(op, path) };
        Err(Refused::Denied(Box::new(decision.denial(asked))))
    }

    /// Follows links to where the path really is, judging each place they lead to, and looks at it.
    pub(crate) fn settle(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        last: LastName,
    ) -> Result<Settled, Refused> {
        self.settle_with(call, op, asked, last, Guards::Hold)
    }

    /// As [`Self::settle`], for a path on which the guard was asked already.
    pub(crate) fn settle_with(
        &self,
        call: &Call<'_>,
        op: OpKind,
        asked: &LogicalPath,
        last: LastName,
        guards: Guards,
    ) -> Result<Settled, Refused> {
        let mut path = asked.clone();
        for _ in 0..MAX_HOPS {
            let decision = self.judge(op, &path);
            let lifted = guards == Guards::Lifted && path == *asked && matches!(decision.rule, Rule::Guarded(_));
            let Some((index, rel)) = self.router.route(&path).filter(|_| lifted || decision.allowed()) else {
                return Err(Refused::Denied(Box::new(decision.denial(asked))));
            };
            let store = &self.workspaces[index].mount.store;
            let meta = match store.stat(call, &self.place(index, rel)) {
                Ok(meta) if meta.kind == Kind::Link && last == LastName::Follow => None,
                Ok(meta) => Some(Some(meta)),
                Err(e) if *e.kind() == ErrorKind::NotFound => Some(None),
                Err(e) if *e.kind() == ErrorKind::Link => None,
                // A link led here from elsewhere: what stands in the way is not told either.
                Err(_) if path != *asked && self.workspaces[index].scope == AccessScope::WriteOnly => Some(None),
                Err(e) => return Err(refusal(asked, e)),
            };
            if let Some(meta) = meta {
                let is_lifted = guards == Guards::Lifted && path == *asked;
                let is_tools = guards == Guards::Hold || path != *asked;
                let in_gits = if is_tools { self.in_gits_there(call, asked, op, index, rel)? } else { None };
                let there = if is_lifted { None } else { self.guarded_there(call, asked, op, index, rel)? };
                if let Some(name) = there.or(in_gits) {
                    let decision = Decision { rule: Rule::Guarded(name), ..decision };
                    return Err(Refused::Denied(Box::new(decision.denial(asked))));
                }
                let rel = rel.to_buf();
                return Ok(Settled { workspace: index, rel, path, meta });
            }
            path = self.follow(call, asked, index, rel, last)?;
        }
        Err(store_refusal(asked, ErrorKind::LinkEscapes))
    }

    /// The logical path that a path with links in it stands for.
    pub(crate) fn follow(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        index: usize,
        rel: RelPath<'_>,
        last: LastName,
    ) -> Result<LogicalPath, Refused> {
        let workspace = &self.workspaces[index];
        let resolved = workspace.mount.store.resolve(call, rel, last).map_err(|e| refusal(asked, e))?;
        Ok(workspace.prefix.join(resolved.as_rel()))
    }

    pub(crate) fn route<'p>(&self, path: &'p LogicalPath) -> Option<(usize, RelPath<'p>)> {
        self.router.route(path)
    }

    pub(crate) fn place<'a>(&'a self, index: usize, rel: RelPath<'a>) -> Place<'a> {
        Place::veiled(rel, Veil { names: &self.workspaces[index].names, around: &self.around[index] })
    }

    /// The Workspaces strictly below a path, in tree order.
    pub(crate) fn workspaces_below(&self, path: &LogicalPath) -> &[Workspace] {
        let from = self.workspaces.partition_point(|w| w.prefix <= *path);
        let rest = &self.workspaces[from..];
        &rest[..rest.partition_point(|w| w.prefix.below(path).is_some())]
    }

    fn is_above_a_workspace(&self, path: &LogicalPath) -> bool {
        !self.workspaces_below(path).is_empty()
    }

    /// Two Mounts of one place under different scopes, where nesting does not explain it.
    fn find_alias(&self) -> Option<BuildError> {
        let mut by_place: HashMap<(&str, &[String]), Vec<&Workspace>> = HashMap::new();
        for workspace in &self.workspaces {
            if let Some(territory) = &workspace.mount.territory {
                by_place.entry(territory.key()).or_default().push(workspace);
            }
        }
        self.workspaces.iter().find_map(|inner| {
            let territory = inner.mount.territory.as_ref()?;
            territory.and_above().find_map(|place| {
                let below = territory.names()[place.1.len()..].join("/");
                by_place.get(&place)?.iter().find_map(|outer| self.alias_between(outer, inner, &below))
            })
        })
    }

    fn alias_between(&self, outer: &Workspace, inner: &Workspace, below: &str) -> Option<BuildError> {
        let seen_as = outer.prefix.join(RelPath(below));
        let reached = self.router.route(&seen_as).is_some_and(|(i, _)| self.workspaces[i].prefix == outer.prefix);
        let disagree = outer.scope != inner.scope || !outer.names.agree_with(&inner.names);
        if !reached || !disagree || outer.names.hidden(RelPath(below)).is_some() {
            return None;
        }
        Some(BuildError::Alias {
            outer: outer.prefix.clone(),
            outer_scope: outer.scope,
            outer_origin: outer.origin.clone(),
            seen_as,
            inner: inner.prefix.clone(),
            inner_scope: inner.scope,
            inner_origin: inner.origin.clone(),
        })
    }
}

/// The guard: scope first, then what the Store can, then names.
fn rule_for<'a>(
    op: OpKind,
    workspace: &'a Workspace,
    around: &Surroundings,
    rel: RelPath<'_>,
    directory: bool,
) -> Rule<'a> {
    if !workspace.scope.allows(op) {
        return Rule::Scope;
    }
    if !workspace.mount.store.serves(op) {
        return Rule::Unserved;
    }
    if around.shadow(rel) {
        return Rule::Shadowed;
    }
    if let Some(pattern) = workspace.names.hidden(rel) {
        return Rule::Hidden(pattern);
    }
    if !op.changes() {
        return Rule::ScopeAllows;
    }
    let takes_away = matches!(op, OpKind::Delete | OpKind::MoveFrom | OpKind::MoveTo);
    if takes_away && (rel.is_here() || around.lead_through(rel)) {
        return Rule::HoldsWorkspace;
    }
    // What a write that was cut off left behind may go, and nothing else may happen to it.
    let left_behind = NameRules::temporary(rel) && !matches!(op, OpKind::Delete | OpKind::MoveFrom);
    if left_behind || workspace.names.own(rel) {
        return Rule::Own;
    }
    workspace.names.guarded(rel, directory).map_or(Rule::ScopeAllows, Rule::Guarded)
}

pub(crate) fn refusal(path: &LogicalPath, source: StoreError) -> Refused {
    Refused::Store { path: path.clone(), source }
}

pub(crate) fn store_refusal(path: &LogicalPath, kind: ErrorKind) -> Refused {
    refusal(path, kind.into())
}

fn delete(path: RelPathBuf) -> Change {
    Change { path, act: Act::Delete, expect: Expect::Any }
}

pub(crate) fn below<'a>(path: RelPath<'a>, dir: RelPath<'_>) -> RelPath<'a> {
    RelPath(path.0[dir.0.len()..].trim_start_matches('/'))
}
