//! What a share shows: files of one project, as the policy that holds now lets them be seen.
//!
//! Every request is judged anew. A path is resolved first, and what it leads to has to lie in the project too: a link cannot widen a share. Hidden names,
//! Paddock's own, another Workspace, and names that begin with a dot (a repository above all) are not there. Contents are read under the
//! resolved path, which a Store does not follow links in: what is exchanged meanwhile is refused.

use std::ops::Range;
use std::sync::Arc;

use paddock_core::{
    AgentName, AgentPolicy, Audit, ErrorKind, Kind, LastName, LogicalPath, Meta, OpKind, Refused, RelPath, RelPathBuf,
    StoreError, TextKind, View, Workspace, is_plain_name,
};
use paddock_tools::Person;

use super::Opened;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::{past, workspaces};

/// What a directory shows.
const INDEX: &str = "index.html";
/// The one name with a dot that is meant for visitors.
const WELL_KNOWN: &str = ".well-known";
/// How much is looked at to tell what a text is written in.
const HEAD: u64 = 8 * 1024;

/// What there is at a path of a share.
#[derive(Debug)]
pub enum Sought {
    /// A file.
    File(Box<Published>),
    /// A directory that was asked for without the slash at its end.
    Directory,
    /// Nothing that is shown.
    Missing,
    /// The Workspace of the project is not there any more, or is another.
    Gone,
}

/// A file that is shown, read in pieces of one version.
pub struct Published {
    policy: Arc<AgentPolicy>,
    audit: Arc<dyn Audit>,
    workspace: String,
    at: RelPathBuf,
    meta: Meta,
    head: Vec<u8>,
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Published").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Looks for the file at these names of a share. `slash` says that a directory was asked for.
///
/// # Errors
/// When the configuration has problems or the host is at fault.
pub fn find(desk: &Desk, share: &Opened, names: &[String], slash: bool) -> Result<Sought> {
    let agent = match workspaces::agent_named(desk, Some(&share.agent)) {
        Ok(agent) => agent,
        Err(failure) if failure.kind() == FailureKind::Missing => return Ok(Sought::Gone),
        Err(failure) => return Err(failure),
    };
    let policy = desk.policy(&agent)?.current();
    let audit = desk.audit();
    let Some(inside) = Inside::of(&policy, &*audit, share) else { return Ok(Sought::Gone) };
    let asks_index = slash || names.is_empty();
    let (mut names, mut is_index) = (names.to_vec(), false);
    loop {
        let Some((at, meta)) = inside.look(&names)? else { return Ok(Sought::Missing) };
        match meta.kind {
            Kind::Dir if is_index => return Ok(Sought::Missing),
            Kind::Dir if asks_index => names.push(INDEX.to_owned()),
            Kind::Dir => return Ok(Sought::Directory),
            Kind::File if slash && !is_index => return Ok(Sought::Missing),
            Kind::File => {
                let mut head = Vec::new();
                let read = inside.view.read(&inside.person.call(), at.as_rel(), 0..HEAD, &mut head);
                let Some(meta) = unless_unseen(read)? else { return Ok(Sought::Missing) };
                let workspace = share.workspace.clone();
                drop(inside);
                return Ok(Sought::File(Box::new(Published { policy, audit, workspace, at, meta, head })));
            }
            _ => return Ok(Sought::Missing),
        }
        is_index = true;
    }
}

/// The project of a share, as the person sees it.
struct Inside<'a> {
    person: Person<'a>,
    view: View,
    prefix: LogicalPath,
    start: RelPathBuf,
}

impl<'a> Inside<'a> {
    fn of(policy: &'a AgentPolicy, audit: &'a dyn Audit, share: &Opened) -> Option<Self> {
        let person = Person::on(policy, audit);
        let path = policy.path(&share.path).ok()?;
        let (view, prefix) = covering(&person, &path)?;
        let start = path.below(&prefix)?.to_buf();
        (prefix.as_str() == share.workspace).then_some(Self { person, view, prefix, start })
    }

    /// What is at these names, link-free; nothing where nothing is shown.
    fn look(&self, names: &[String]) -> Result<Option<(RelPathBuf, Meta)>> {
        if !names.iter().all(|name| is_shown_name(name)) {
            return Ok(None);
        }
        let start = self.start.as_str();
        let asked = names.iter().fold(start.to_owned(), |dir, name| joined(&dir, name));
        let Some(asked) = parsed(&asked) else { return Ok(None) };
        if !self.is_seen(asked.as_rel()) {
            return Ok(None);
        }
        let resolved = self.view.resolve(&self.person.call(), asked.as_rel(), LastName::Follow);
        let Some(at) = unless_unseen(resolved)? else { return Ok(None) };
        let below = match start {
            "" => Some(at.as_str()),
            start => at.as_str().strip_prefix(start).filter(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        let Some(below) = below else { return Ok(None) };
        let plain = below.split('/').filter(|name| !name.is_empty()).all(is_shown_name);
        if !plain || !self.is_seen(at.as_rel()) {
            return Ok(None);
        }
        let meta = self.view.stat(&self.person.call(), at.as_rel());
        Ok(unless_unseen(meta)?.map(|meta| (at, meta)))
    }

    fn is_seen(&self, at: RelPath<'_>) -> bool {
        let path = self.prefix.join(at);
        let decision = self.person.vfs().judge(OpKind::Read, &path);
        let is_same = decision.workspace().is_some_and(|workspace| *workspace.prefix() == self.prefix);
        decision.allowed() && is_same && self.view.shows(at)
    }
}

/// The Workspace that a path is in, for reading.
fn covering(person: &Person<'_>, path: &LogicalPath) -> Option<(View, LogicalPath)> {
    let decision = person.vfs().judge(OpKind::Read, path);
    let workspace: &Workspace = decision.workspace()?;
    Some((View::of(workspace, person.vfs().workspaces())?, workspace.prefix().clone()))
}

fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

fn parsed(path: &str) -> Option<RelPathBuf> {
    if path.is_empty() { Some(RelPath::HERE.to_buf()) } else { RelPathBuf::parse(path).ok() }
}

fn is_shown_name(name: &str) -> bool {
    is_plain_name(name) && (!name.starts_with('.') || name == WELL_KNOWN)
}

/// What is not there, leads out, or may not be read, is not shown; the rest is the host's fault.
fn unless_unseen<T>(asked: Result<T, StoreError>) -> Result<Option<T>> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(error) if *error.kind() == ErrorKind::Io => {
            Err(Failure::of(FailureKind::Broken, error, "the log of `paddock serve` says why"))
        }
        Err(_) => Ok(None),
    }
}

impl Published {
    /// How many bytes it has.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "whether a file is empty is of no interest here")]
    pub fn len(&self) -> u64 {
        self.meta.len
    }

    /// Stands for exactly this content.
    #[must_use]
    pub fn version(&self) -> String {
        self.meta.version.to_string()
    }

    /// Its last name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.at.as_str().rsplit('/').next().unwrap_or_default()
    }

    /// What its beginning looks like.
    #[must_use]
    pub fn text_kind(&self) -> TextKind {
        TextKind::of(&self.head)
    }

    /// Some of its bytes.
    ///
    /// # Errors
    /// When it cannot be read any more, or is not the same any more.
    pub fn piece(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let changed = || Failure::of(FailureKind::Conflict, "it has changed while it was read", "read it again");
        let person = Person::on(&self.policy, &*self.audit);
        let workspaces = person.vfs().workspaces();
        let workspace = workspaces.iter().find(|workspace| workspace.prefix().as_str() == self.workspace);
        let view = workspace.and_then(|workspace| View::of(workspace, workspaces)).ok_or_else(changed)?;
        let wanted = range.end.min(self.meta.len).saturating_sub(range.start);
        let mut bytes = Vec::new();
        let read = view.read(&person.call(), self.at.as_rel(), range, &mut bytes);
        match unless_unseen(read)? {
            Some(meta) if meta.version == self.meta.version && bytes.len() as u64 == wanted => Ok(bytes),
            _ => Err(changed()),
        }
    }
}

/// The agent, the Workspace and the path of a project that can be published.
pub(super) fn publishable(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
) -> Result<(AgentName, LogicalPath, LogicalPath)> {
    let agent = workspaces::agent_named(desk, agent)?;
    let policy = desk.policy(&agent)?.current();
    let path = policy.path(path).map_err(|error| Failure::misused(&error, error.hint()))?;
    let audit = desk.audit();
    let person = Person::on(&policy, &*audit);
    let decision = person.vfs().judge(OpKind::Read, &path);
    if !decision.allowed() {
        let denied = Refused::Denied(Box::new(decision.denial(&path)));
        return Err(past::refused(&denied).kind_of(FailureKind::Denied));
    }
    let no_directory = || Failure::missing(format!("there is no directory \"{path}\""), "name a project's directory");
    let (view, prefix) = covering(&person, &path).ok_or_else(no_directory)?;
    let at = path.below(&prefix).ok_or_else(no_directory)?;
    match view.stat(&person.call(), at) {
        Ok(Meta { kind: Kind::Dir, .. }) => Ok((agent, prefix, path)),
        _ => Err(no_directory()),
    }
}

/// What whoever publishes this directory may not have thought of, in words.
///
/// # Errors
/// As where it is published: when there is no such agent, or no such directory.
pub fn noteworthy(desk: &Desk, agent: Option<&str>, path: &str) -> Result<Vec<String>> {
    let (agent, prefix, path) = publishable(desk, agent, path)?;
    let (policy, audit) = (desk.policy(&agent)?.current(), desk.audit());
    let person = Person::on(&policy, &*audit);
    let mut notes = Vec::new();
    if path == prefix {
        notes.push(format!("{path} is a whole Workspace: visitors can read every file of it that is not hidden"));
    }
    let index = path.below(&prefix).and_then(|at| parsed(&joined(at.as_str(), INDEX)));
    let view = covering(&person, &path).map(|(view, _)| view);
    let found = index.zip(view).map(|(index, view)| view.stat(&person.call(), index.as_rel()));
    if !matches!(found, Some(Ok(Meta { kind: Kind::File | Kind::Link, .. }))) {
        notes.push(format!("it has no {INDEX}: visitors have to know the names of its files"));
    }
    Ok(notes)
}
