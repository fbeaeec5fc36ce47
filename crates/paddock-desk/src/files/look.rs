//! Looking: what is at a path, what a directory holds, what a file contains.

use std::ops::Range;
use std::time::SystemTime;

use paddock_core::{
    Browse, ErrorKind, Found, Kind, LogicalPath, Meta, OpKind, Operation, Outcome, PLAIN_MODE, Refused, StoreError,
    TextKind, View, Workspace,
};
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Spot, refused};
use crate::at_once::at_once;
use crate::failure::{Failure, FailureKind, Result};
use crate::moment;

/// The entries of one page, where nobody says how many, and at most.
const USUAL: usize = 200;
const MOST: usize = 1000;
/// How much of a file is looked at to tell whether it is text.
const HEAD: u64 = 8 * 1024;

/// What is at a path.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileShown {
    /// The path.
    pub path: String,
    /// Its last name; of the top, nothing.
    pub name: String,
    /// `file`, `directory`, `link` or `special`.
    pub kind: &'static str,
    /// Of a file: its length in bytes.
    pub size: Option<u64>,
    /// Of a file: stands for exactly this content.
    pub version: Option<String>,
    /// When it was last changed.
    pub modified: Option<String>,
    /// The Workspace that it is in; above the Workspaces, none.
    pub workspace: Option<String>,
    /// The scope that its agent has there.
    pub scope: Option<String>,
    /// Of a file: is it text?
    pub text: Option<bool>,
    /// Of a text: its encoding.
    pub encoding: Option<String>,
}

impl FileShown {
    /// Is it a directory?
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == "directory"
    }
}

/// One entry of a directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EntryShown {
    /// Its name.
    pub name: String,
    /// Its path; nothing where the name is none that can be asked for.
    pub path: Option<String>,
    /// `file`, `directory`, `link` or `special`.
    pub kind: &'static str,
    /// Of a file: its length in bytes.
    pub size: Option<u64>,
    /// When it was last changed.
    pub modified: Option<String>,
    /// The scope, where a Workspace begins here.
    pub scope: Option<String>,
}

/// A page of a directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listing {
    /// The directory.
    pub path: String,
    /// The Workspace that it is in; above the Workspaces, none.
    pub workspace: Option<String>,
    /// The scope that its agent has there.
    pub scope: Option<String>,
    /// Its entries, by name.
    pub entries: Vec<EntryShown>,
    /// Where the next page begins: `after` takes it.
    pub next: Option<String>,
    /// Workspaces below that could not be looked into.
    pub unreachable: Vec<String>,
}

/// The beginning of a text.
#[derive(Debug, Clone)]
pub struct TextShown {
    /// The text.
    pub text: String,
    /// Is there more?
    pub cut: bool,
}

/// What is at a path.
///
/// # Errors
/// When it is denied, or nothing is there.
pub fn stat(spot: &Spot) -> Result<FileShown> {
    let person = spot.person();
    let found = facts(spot, &person)?;
    let is_file = found.kind == Kind::File;
    let mut shown = shown(spot, &person, &found);
    if is_file {
        let kind = TextKind::of(&head(spot, &person)?);
        shown.text = Some(kind != TextKind::Binary);
        shown.encoding = (kind != TextKind::Binary).then(|| kind.name().to_owned());
    }
    Ok(shown)
}

fn shown(spot: &Spot, person: &Person<'_>, found: &Facts) -> FileShown {
    let is_file = found.kind == Kind::File;
    let meta = found.meta.as_ref();
    let of_file = meta.filter(|_| is_file);
    let (workspace, scope) = home(spot, person);
    FileShown {
        path: spot.path.as_str().to_owned(),
        name: spot.path.name().unwrap_or_default().to_owned(),
        kind: word(found.kind),
        size: of_file.map(|meta| meta.len),
        version: of_file.map(|meta| meta.version.to_string()),
        modified: meta.and_then(|meta| meta.modified).map(exact),
        workspace,
        scope,
        text: None,
        encoding: None,
    }
}

/// What a path is, as far as that is known.
pub(super) struct Facts {
    pub(super) kind: Kind,
    /// Of a place that only exists as the way to a Workspace there is none.
    pub(super) meta: Option<Meta>,
    /// Is a link on the way, or the last name one?
    pub(super) is_link: bool,
}

/// What is at a path; a link is followed, as far as the policy lets one.
pub(super) fn facts(spot: &Spot, person: &Person<'_>) -> Result<Facts> {
    let vfs = person.vfs();
    let decision = vfs.judge(OpKind::List, &spot.path);
    if !decision.allowed() {
        return Err(refused(&Refused::Denied(Box::new(decision.denial(&spot.path)))));
    }
    let dir = || Ok(Facts { kind: Kind::Dir, meta: None, is_link: false });
    let Some(workspace) = decision.workspace() else { return dir() };
    match stat_in(person, workspace, &spot.path) {
        Ok(meta) if meta.kind != Kind::Link => Ok(Facts { kind: meta.kind, meta: Some(meta), is_link: false }),
        Ok(_) => followed(spot, person),
        Err(error) if *error.kind() == ErrorKind::Link => followed(spot, person),
        // Not there yet: the first write makes it. Or it is only the way to another Workspace.
        Err(error) if *error.kind() == ErrorKind::NotFound && leads_to_workspace(person, &spot.path) => dir(),
        Err(source) => Err(refused(&Refused::Store { path: spot.path.clone(), source })),
    }
}

fn leads_to_workspace(person: &Person<'_>, path: &LogicalPath) -> bool {
    person.vfs().workspaces().iter().any(|workspace| workspace.prefix().below(path).is_some())
}

fn stat_in(person: &Person<'_>, workspace: &Workspace, path: &LogicalPath) -> Result<Meta, StoreError> {
    let view = View::of(workspace, person.vfs().workspaces()).ok_or(ErrorKind::NotFound)?;
    let rel = path.below(workspace.prefix()).ok_or(ErrorKind::NotFound)?;
    view.stat(&person.call(), rel)
}

/// Where a link leads.
fn followed(spot: &Spot, person: &Person<'_>) -> Result<Facts> {
    match person.look(Operation::Read { path: spot.path.clone(), range: 0..0 }) {
        Ok(Outcome::Read { meta, .. }) => Ok(Facts { kind: meta.kind, meta: Some(meta), is_link: true }),
        Ok(_) => Err(odd()),
        Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::IsADirectory => {
            Ok(Facts { kind: Kind::Dir, meta: None, is_link: true })
        }
        // It leads nowhere, or to where nobody may go: it is only a link.
        Err(Refused::Store { source, .. }) if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::LinkEscapes) => {
            Ok(Facts { kind: Kind::Link, meta: None, is_link: true })
        }
        Err(error) => Err(refused(&error)),
    }
}

fn home(spot: &Spot, person: &Person<'_>) -> (Option<String>, Option<String>) {
    let decision = person.vfs().judge(OpKind::List, &spot.path);
    let Some(workspace) = decision.workspace() else { return (None, None) };
    // A person's own view has every scope lifted; what is told is the agent's.
    let all = spot.policy.vfs.workspaces();
    let of_agent = all.iter().find(|known| known.prefix() == workspace.prefix());
    (Some(workspace.prefix().to_string()), of_agent.map(|known| known.scope().name().to_owned()))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "directory",
        Kind::Link => "link",
        Kind::Special => "special",
    }
}

fn exact(at: SystemTime) -> String {
    moment::exact(at)
}

fn odd() -> Failure {
    Failure::of(FailureKind::Broken, "the Workspace answered something else than was asked", "please report this")
}

fn head(spot: &Spot, person: &Person<'_>) -> Result<Vec<u8>> {
    match person.look(Operation::Read { path: spot.path.clone(), range: 0..HEAD }) {
        Ok(Outcome::Read { bytes, .. }) => Ok(bytes),
        Ok(_) => Err(odd()),
        Err(error) => Err(refused(&error)),
    }
}

/// A page of what a directory holds, behind the path `after`.
///
/// # Errors
/// When it is denied, or no directory.
pub fn list(spot: &Spot, after: Option<&str>, limit: Option<usize>) -> Result<Listing> {
    let person = spot.person();
    let after = after.map(|after| spot.at(after)).transpose()?.map(|after| after.path);
    if after.as_ref().is_some_and(|after| after.parent().as_ref() != Some(&spot.path)) {
        let text = "`after` is no entry of this directory";
        return Err(Failure::misused(text, "take the `next` of the page before, or leave it out"));
    }
    let limit = at_once(limit, USUAL, MOST)?;
    let browse = Browse { path: spot.path.clone(), depth: Some(1), skip_ignored: false, after, limit };
    let found = match person.look(Operation::List(browse)) {
        Ok(Outcome::Entries(found)) => found,
        Ok(_) => return Err(odd()),
        Err(error) => return Err(refused(&error)),
    };
    // A name that cannot be asked for cannot say where to go on either.
    let next = found.found.iter().rev().find(|entry| entry.plain).map(|entry| entry.path.to_owned());
    let (workspace, scope) = home(spot, &person);
    Ok(Listing {
        path: spot.path.as_str().to_owned(),
        workspace,
        scope,
        next: next.filter(|_| found.more),
        unreachable: found.unreachable.iter().map(ToString::to_string).collect(),
        entries: found.found.iter().map(|entry| entry_shown(spot, &person, entry)).collect(),
    })
}

fn entry_shown(spot: &Spot, person: &Person<'_>, found: Found<'_>) -> EntryShown {
    let start = spot.path.as_str().trim_end_matches('/').len() + 1;
    let name = found.path.get(start..).unwrap_or_default().to_owned();
    let path = Some(found.path).filter(|_| found.plain);
    let meta = path.filter(|_| found.kind != Kind::Link).and_then(|path| {
        let path = spot.at(path).ok()?.path;
        let decision = person.vfs().judge(OpKind::Read, &path);
        // What has gone meanwhile has no size.
        stat_in(person, decision.workspace().filter(|_| decision.allowed())?, &path).ok()
    });
    let of_agent = |prefix: &str| spot.policy.vfs.workspaces().iter().find(|known| known.prefix().as_str() == prefix);
    let scope = found.scope.and_then(|_| of_agent(path?)).map(|known| known.scope().name().to_owned());
    EntryShown {
        name,
        kind: word(found.kind),
        size: meta.as_ref().filter(|_| found.kind == Kind::File).map(|meta| meta.len),
        modified: meta.and_then(|meta| meta.modified).map(exact),
        scope,
        path: path.map(str::to_owned),
    }
}

/// A file that is read in pieces, all of one version.
#[derive(Debug)]
pub struct Opened {
    spot: Spot,
    meta: Meta,
    head: Vec<u8>,
}

/// Opens a file for reading.
///
/// # Errors
/// When it is denied, or no file.
pub fn open(spot: Spot) -> Result<Opened> {
    let person = spot.person();
    let read = person.look(Operation::Read { path: spot.path.clone(), range: 0..HEAD });
    let (head, meta) = match read {
        Ok(Outcome::Read { bytes, meta }) => (bytes, meta),
        Ok(_) => return Err(odd()),
        Err(error) => return Err(refused(&error)),
    };
    drop(person);
    Ok(Opened { spot, meta, head })
}

impl Opened {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> &LogicalPath {
        &self.spot.path
    }

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

    /// Its mode bits, where its Store keeps them.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.meta.mode.map(|mode| mode & PLAIN_MODE)
    }

    /// When it was last changed.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        self.meta.modified
    }

    /// What its beginning looks like.
    #[must_use]
    pub fn text_kind(&self) -> TextKind {
        TextKind::of(&self.head)
    }

    /// Some of its bytes.
    ///
    /// # Errors
    /// When it cannot be read any more, or is not the same any more: pieces of two versions are never mixed.
    pub fn piece(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let wanted = range.end.min(self.meta.len).saturating_sub(range.start);
        let read = self.spot.person().look(Operation::Read { path: self.spot.path.clone(), range });
        match read {
            Ok(Outcome::Read { bytes, meta }) if meta.version == self.meta.version && bytes.len() as u64 == wanted => {
                Ok(bytes)
            }
            Ok(_) => {
                let text = format!("{} has changed while it was read", self.spot.path);
                Err(Failure::of(FailureKind::Conflict, text, "read it again"))
            }
            Err(error) => Err(refused(&error)),
        }
    }
}

/// The beginning of a text, up to so many bytes. Nothing where it is no text.
///
/// # Errors
/// When it cannot be read.
pub fn text(opened: &Opened, most: u64) -> Result<Option<TextShown>> {
    if opened.text_kind() == TextKind::Binary {
        return Ok(None);
    }
    let mut bytes = opened.piece(0..most.min(opened.len()))?;
    let cut = opened.len() > most;
    if cut {
        // Up to a whole line, so that no character is torn.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.truncate(end);
    }
    Ok(TextKind::of(&bytes).decode(&bytes).map(|text| TextShown { text, cut }))
}
