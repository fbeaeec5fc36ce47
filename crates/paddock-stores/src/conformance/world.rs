//! The world of one case: fresh Stores, the Workspaces of an agent on them, and short ways to act
//! and to check what came of it.
//!
//! Public, since tests of the guard itself tell their stories in the same words.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{
    AccessScope, AgentName, Browse, Call, CallId, Cancel, DenyRule, Entries, ErrorKind, Expect, Found, GUARDED, Gate,
    HidePattern, Hits, Journal, Kind, LogicalPath, Meta, Mount, NameRules, NoJournal, Operation, Origin, Outcome,
    PartDone, Passed, PathGlob, Permit, Plan, Refused, Replacement, Request, Risk, Search, Store, Version, Vfs,
    Workspace,
};

use super::{Conditions, Fresh};

/// The most entries a listing brings back where a case does not say.
const MANY: usize = 1_000_000;

/// A Workspace that a case wants.
#[derive(Debug, Clone, Copy)]
pub struct Space<'a> {
    prefix: &'a str,
    scope: AccessScope,
    hide: &'a [&'a str],
}

impl<'a> Space<'a> {
    /// A read-write Workspace that hides nothing.
    pub fn at(prefix: &'a str) -> Self {
        Self { prefix, scope: AccessScope::ReadWrite, hide: &[] }
    }

    /// With this scope.
    #[must_use]
    pub fn scope(self, scope: AccessScope) -> Self {
        Self { scope, ..self }
    }

    /// With these names hidden.
    #[must_use]
    pub fn hide(self, hide: &'a [&'a str]) -> Self {
        Self { hide, ..self }
    }
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy)]
pub struct Open;

impl Gate for Open {
    fn pass(&self, _: &Call<'_>, _: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        Ok(Passed::Now(permit.grant()))
    }
}

/// A Journal that wants everything kept, and forgets what it is told.
struct KeepsAll;

impl Journal for KeepsAll {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> paddock_core::Result<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> paddock_core::Result<()> {
        let told = done.applied.changes.len();
        let (whole, failed) = (told == done.set.changes().len(), done.applied.stopped.is_some());
        assert!(whole || failed, "each change that was made is told of, and why the others were not");
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// An agent's Workspaces on fresh Stores.
pub struct World {
    fresh: Vec<Box<dyn Fresh>>,
    vfs: Vfs,
    /// Each Store by itself, at `/0`, `/1` and so on, with nothing hidden, guarded or nested.
    behind: Vfs,
    agent: AgentName,
}

impl World {
    pub(super) fn new(
        spaces: &[Space<'_>],
        conditions: Conditions,
        fresh: Vec<Box<dyn Fresh>>,
        mut wrap: impl FnMut(usize, Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let stores: Vec<Arc<dyn Store>> = fresh.iter().map(|fresh| fresh.store()).collect();
        let vfs = vfs_of(
            conditions,
            spaces.iter().zip(&stores).enumerate().map(|(i, (space, store))| {
                let store = wrap(i, Arc::clone(store));
                let hide =
                    space.hide.iter().map(|text| HidePattern { text: (*text).to_owned(), origin: Origin::unknown() });
                let names = NameRules::new(hide.collect(), &[], &[]).unwrap();
                workspace(space.prefix, space.scope, &store).with_names(names)
            }),
        );
        let unguard: Vec<String> = GUARDED.iter().map(|row| row.name.to_owned()).collect();
        let behind = vfs_of(
            conditions,
            stores.iter().enumerate().map(|(i, store)| {
                let names = NameRules::new(Vec::new(), &unguard, &[]).unwrap();
                workspace(&format!("/{i}"), AccessScope::ReadWrite, store).with_names(names)
            }),
        );
        Self { fresh, vfs, behind, agent: AgentName::main() }
    }

    /// Writes into the Store of the n-th Workspace, whatever the policy says.
    pub fn seed(&self, n: usize, path: &str, content: impl AsRef<[u8]>) {
        let write = write(&format!("/{n}/{path}"), content.as_ref(), Expect::Any);
        self.run_on(&self.behind, write).unwrap();
    }

    /// What the Store of the n-th Workspace holds, whatever the policy says; nothing when absent.
    pub fn held(&self, n: usize, path: &str) -> Option<String> {
        let read = Operation::Read { path: path_of(&format!("/{n}/{path}")), range: 0..u64::MAX };
        match self.run_on(&self.behind, read) {
            Ok(Outcome::Read { bytes, .. }) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::NotFound => None,
            other => panic!("reading {path} behind the policy gave {other:?}"),
        }
    }

    /// Everything that the Store of the n-th Workspace holds, by path; nothing for a directory.
    pub fn contents(&self, n: usize) -> BTreeMap<String, Option<Vec<u8>>> {
        let entries = entries(self.run_on(&self.behind, Operation::List(browse(&format!("/{n}")))).unwrap()).unwrap();
        let content = |found: Found<'_>| match found.kind {
            Kind::Dir => None,
            _ => Some(self.held(n, &found.path[format!("/{n}/").len()..]).unwrap().into_bytes()),
        };
        let path = |found: Found<'_>| found.path[format!("/{n}/").len()..].to_owned();
        entries.found.iter().map(|found| (path(found), content(found))).collect()
    }

    /// The Vfs itself.
    pub fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    /// Puts a link into the Store of the first Workspace.
    pub fn link(&self, path: &str, target: &str) {
        self.fresh[0].plant_link(path, target);
    }

    /// Sets the mode of something in the Store of the first Workspace.
    pub fn set_mode(&self, path: &str, mode: u32) {
        self.fresh[0].set_mode(path, mode);
    }

    /// Does what was asked, from plan to outcome.
    pub fn run(&self, operation: Operation) -> Result<Outcome, Refused> {
        self.run_on(&self.vfs, operation)
    }

    /// As [`Self::run`], for a call that somebody else may stop and that has to end in time.
    pub fn run_until(&self, operation: Operation, cancel: &Cancel, deadline: Instant) -> Result<Outcome, Refused> {
        let call = Call { id: CallId::next(), agent: &self.agent, cancel, deadline };
        run(&self.vfs, &call, operation)
    }

    /// Plans now; what comes back does it later.
    pub fn plan(&self, operation: Operation) -> impl FnOnce() -> Result<Outcome, Refused> + '_ {
        let plan = self.call(|call| self.vfs.plan(call, operation)).unwrap();
        move || self.call(|call| finish(&self.vfs, call, plan))
    }

    fn run_on(&self, vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
        self.call(|call| run(vfs, call, operation))
    }

    fn call<T>(&self, act: impl FnOnce(&Call<'_>) -> T) -> T {
        let cancel = Cancel::default();
        let deadline = Instant::now() + Duration::from_secs(600);
        act(&Call { id: CallId::next(), agent: &self.agent, cancel: &cancel, deadline })
    }

    /// Where a link says that it leads.
    pub fn leads_to(&self, path: &str) -> Result<String, Refused> {
        self.call(|call| self.vfs.leads_to(call, &path_of(path)))
    }

    /// Facts about what is at a path.
    pub fn facts(&self, path: &str) -> Result<Meta, Refused> {
        self.call(|call| self.vfs.facts(call, &path_of(path)))
    }

    /// Writes a file and gives its version.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Version {
        version_of(self.try_write(path, content, Expect::Any))
    }

    /// Writes a file if what is expected is there.
    pub fn try_write(&self, path: &str, content: impl AsRef<[u8]>, expect: Expect) -> Result<Outcome, Refused> {
        self.run(write(path, content.as_ref(), expect))
    }

    /// Everything a file holds.
    pub fn read(&self, path: &str) -> Vec<u8> {
        self.read_part(path, 0..u64::MAX).unwrap().0
    }

    /// Everything a file holds, as text.
    pub fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    /// A part of a file, and facts about it.
    pub fn read_part(&self, path: &str, range: Range<u64>) -> Result<(Vec<u8>, Meta), Refused> {
        match self.run(Operation::Read { path: path_of(path), range })? {
            Outcome::Read { bytes, meta } => Ok((bytes, meta)),
            other => panic!("a read gave {other:?}"),
        }
    }

    /// The facts about a file.
    pub fn meta(&self, path: &str) -> Meta {
        self.read_part(path, 0..0).unwrap().1
    }

    /// Adds to a file.
    pub fn append(&self, path: &str, content: impl AsRef<[u8]>) -> Result<Outcome, Refused> {
        self.run(Operation::Append { path: path_of(path), content: content.as_ref().to_vec() })
    }

    /// Replaces the only occurrence of a text.
    pub fn edit(&self, path: &str, old: &str, new: &str) -> Result<Outcome, Refused> {
        self.edit_all(path, vec![swap(old, new, false)], Expect::Any)
    }

    /// Makes several replacements.
    pub fn edit_all(&self, path: &str, edits: Vec<Replacement>, expect: Expect) -> Result<Outcome, Refused> {
        self.run(Operation::Edit { path: path_of(path), edits, expect })
    }

    /// Makes a directory.
    pub fn make_dir(&self, path: &str) -> Result<Outcome, Refused> {
        self.run(Operation::MakeDir { path: path_of(path) })
    }

    /// Moves something.
    pub fn rename(&self, from: &str, to: &str) -> Result<Outcome, Refused> {
        self.run(rename(from, to))
    }

    /// Deletes a file or an empty directory.
    pub fn delete(&self, path: &str) -> Result<Outcome, Refused> {
        self.run(delete(path, false))
    }

    /// Deletes with everything below.
    pub fn delete_all(&self, path: &str) -> Result<Outcome, Refused> {
        self.run(delete(path, true))
    }

    /// Everything below a directory, by path.
    pub fn list(&self, path: &str) -> Vec<String> {
        paths(&self.browse(&browse(path)).unwrap())
    }

    /// A listing.
    pub fn browse(&self, browse: &Browse) -> Result<Entries, Refused> {
        entries(self.run(Operation::List(browse.clone()))?)
    }

    /// The files below a directory that match a glob.
    pub fn find(&self, path: &str, glob: &str) -> Vec<String> {
        let operation = Operation::Find { browse: browse(path), glob: PathGlob::parse(glob).unwrap() };
        paths(&entries(self.run(operation).unwrap()).unwrap())
    }

    /// The lines that match, as `path:line:text`, and their context, as `path-line-text`.
    pub fn search(&self, path: &str, pattern: &str) -> Vec<String> {
        lines(&self.search_for(path, &search(pattern)).unwrap())
    }

    /// A search.
    pub fn search_for(&self, path: &str, search: &Search) -> Result<Hits, Refused> {
        match self.run(Operation::Search { path: path_of(path), search: search.clone() })? {
            Outcome::Hits(hits) => Ok(hits),
            other => panic!("a search gave {other:?}"),
        }
    }
}

fn vfs_of(conditions: Conditions, workspaces: impl Iterator<Item = Workspace>) -> Vfs {
    let workspaces = workspaces.map(|workspace| workspace.with_quota(conditions.quota)).collect();
    let journal: Arc<dyn Journal> = if conditions.keep { Arc::new(KeepsAll) } else { Arc::new(NoJournal) };
    Vfs::new(workspaces, Arc::new(Open), journal).unwrap()
}

fn workspace(prefix: &str, scope: AccessScope, store: &Arc<dyn Store>) -> Workspace {
    Workspace::new(path_of(prefix), scope, Mount::new(Arc::clone(store), None))
}

/// Runs something with a call of its own, which has time enough.
pub fn with_call<T>(act: impl FnOnce(&Call<'_>) -> T) -> T {
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    let deadline = Instant::now() + Duration::from_secs(600);
    act(&Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline })
}

/// Does what was asked of any Vfs whose Gate is open, from plan to outcome.
pub fn run(vfs: &Vfs, call: &Call<'_>, operation: Operation) -> Result<Outcome, Refused> {
    let plan = vfs.plan(call, operation)?;
    finish(vfs, call, plan)
}

/// As [`run`], of what was planned before.
pub fn finish(vfs: &Vfs, call: &Call<'_>, plan: Plan) -> Result<Outcome, Refused> {
    match vfs.ask(call, &Request::of_person("conformance", Risk::Low), &plan)? {
        Passed::Now(token) => vfs.run(call, plan, token),
        other => panic!("the gate is open, yet it answered {other:?}"),
    }
}

/// A path as an agent writes it.
pub fn path_of(text: &str) -> LogicalPath {
    LogicalPath::parse(text, &LogicalPath::top()).unwrap()
}

/// A write of a whole file.
pub fn write(path: &str, content: &[u8], expect: Expect) -> Operation {
    Operation::Write { path: path_of(path), content: content.to_vec(), expect }
}

/// A move.
pub fn rename(from: &str, to: &str) -> Operation {
    Operation::Move { from: path_of(from), to: path_of(to) }
}

/// A deletion.
pub fn delete(path: &str, recursive: bool) -> Operation {
    Operation::Delete { path: path_of(path), recursive }
}

/// One replacement of text.
pub fn swap(old: &str, new: &str, all: bool) -> Replacement {
    Replacement { old: old.to_owned(), new: new.to_owned(), all }
}

/// Everything below a directory, with nothing left out.
pub fn browse(path: &str) -> Browse {
    Browse { path: path_of(path), depth: None, skip_ignored: false, after: None, limit: MANY }
}

/// Every line that matches, without context.
pub fn search(pattern: &str) -> Search {
    Search {
        pattern: pattern.to_owned(),
        ignore_case: false,
        glob: None,
        context: 0,
        limit: 1000,
        skip_ignored: false,
        after: None,
    }
}

fn entries(outcome: Outcome) -> Result<Entries, Refused> {
    match outcome {
        Outcome::Entries(entries) => {
            assert_eq!(entries.unreachable, [], "every Workspace can be looked into");
            Ok(entries)
        }
        other => panic!("a listing gave {other:?}"),
    }
}

/// The paths of a listing.
pub fn paths(entries: &Entries) -> Vec<String> {
    entries.found.iter().map(|found| found.path.to_owned()).collect()
}

/// Hits as `path:line:text`, and their context as `path-line-text`.
pub fn lines(hits: &Hits) -> Vec<String> {
    let line = |hit: &paddock_core::Hit| {
        let mark = if hit.matched { ':' } else { '-' };
        format!("{}{mark}{}{mark}{}", hit.path, hit.line, hit.text)
    };
    hits.found.iter().map(line).collect()
}

/// The version that a change of one file gave.
pub fn version_of(outcome: Result<Outcome, Refused>) -> Version {
    match outcome.unwrap() {
        Outcome::Changed { version: Some(version), .. } => version,
        other => panic!("a change of one file gave {other:?}"),
    }
}

/// Was the file that was changed new?
pub fn is_new(outcome: Result<Outcome, Refused>) -> bool {
    match outcome.unwrap() {
        Outcome::Changed { created, .. } => created,
        other => panic!("a change gave {other:?}"),
    }
}

/// How many replacements an edit made.
pub fn replaced(outcome: Result<Outcome, Refused>) -> usize {
    match outcome.unwrap() {
        Outcome::Changed { replacements, .. } => replacements,
        other => panic!("an edit gave {other:?}"),
    }
}

/// What the Store said instead of doing it.
pub fn error<T: Debug>(outcome: Result<T, Refused>) -> ErrorKind {
    match outcome {
        Err(Refused::Store { source, .. }) => source.kind().clone(),
        other => panic!("the Store should have refused, and this came: {other:?}"),
    }
}

/// The rule by which the policy denied it.
pub fn denied<T: Debug>(outcome: Result<T, Refused>) -> DenyRule {
    match outcome {
        Err(Refused::Denied(denial) | Refused::DeniedInside(denial)) => denial.rule,
        other => panic!("the policy should have denied it, and this came: {other:?}"),
    }
}
