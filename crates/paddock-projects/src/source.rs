//! A project as it is read: everything that its Workspace shows of it, in one fixed order.
//!
//! The order is that of Git's trees, so that a Zip and a tree come out the same each time. Links are told, never followed.
//! One directory at a time is listed and contents are read piece by piece, so memory does not grow with the project. Every look is a call of its own: however long
//! it takes in all, no deadline of one call cuts it off.

use std::ops::ControlFlow;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use paddock_core::{
    ErrorKind, Kind, LogicalPath, Meta, PLAIN_MODE, Refused, RelPath, RelPathBuf, StoreError, View, Walk, Workspace,
};
use paddock_tools::Person;

use crate::error::{ProjectError, Result};
use crate::left_out::{LeftOut, WhyLeft};
use crate::names;
use crate::progress::Meter;

/// How much of a file is read at once.
const PIECE: u64 = 1024 * 1024;
/// The largest file of rules that is read.
const MAX_RULES: u64 = 1024 * 1024;
/// The file whose patterns leave things out.
const RULES: &str = ".gitignore";

/// A directory of a Workspace, for reading.
pub(crate) struct Source<'a> {
    person: &'a Person<'a>,
    view: View,
    /// The directory, relative to the Mount.
    start: RelPathBuf,
    path: LogicalPath,
    /// Workspaces that begin below it.
    nested: Vec<String>,
}

/// Takes what a visit meets. Paths are relative to the project.
pub(crate) trait Visit {
    /// A directory begins.
    fn dir(&mut self, path: &str, mode: u32) -> Result<()>;
    /// A file; its content is read through the source.
    fn file(&mut self, source: &Source<'_>, file: &Met<'_>) -> Result<()>;
    /// A link that stays inside.
    fn link(&mut self, path: &str, leads_to: &str) -> Result<()>;
    /// Everything in a directory was met; the project itself is the empty path.
    fn leave(&mut self, path: &str) -> Result<()>;
    /// Something does not come along.
    fn left_out(&mut self) -> &mut LeftOut;
}

/// A file that a visit met.
pub(crate) struct Met<'m> {
    pub(crate) path: &'m str,
    pub(crate) len: u64,
    pub(crate) mode: u32,
}

/// What a directory holds.
pub(crate) struct Listing {
    /// Name and kind, in the order of Git's trees.
    pub(crate) found: Vec<(String, Kind)>,
    /// Names that cannot be written as a path, harmless to show.
    pub(crate) unnameable: Vec<String>,
}

/// How a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WasRead {
    pub(crate) bytes: u64,
    /// Did somebody change it meanwhile?
    pub(crate) changed: bool,
}

/// How much a visit goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Without what its rules name, and without a repository's own files.
    Project,
    /// Also what its rules name.
    Ignored,
    /// Everything.
    All,
}

/// A directory that is being gone through.
struct Level {
    path: String,
    entries: std::vec::IntoIter<(String, Kind)>,
    rules: Option<Gitignore>,
}

impl<'a> Source<'a> {
    /// The directory at a path, as the person sees it.
    pub(crate) fn open(person: &'a Person<'a>, path: &LogicalPath) -> Result<Self> {
        let source = Self::at(person, path)?;
        match source.stat("")? {
            Some(Meta { kind: Kind::Dir, .. }) => Ok(source),
            Some(_) => Err(ProjectError::InTheWay { path: path.clone(), is: "no directory" }),
            None => Err(ProjectError::NoDirectory { path: path.clone() }),
        }
    }

    /// A path of a Workspace, whether anything is there or not.
    pub(crate) fn at(person: &'a Person<'a>, path: &LogicalPath) -> Result<Self> {
        let all = person.vfs().workspaces();
        let (workspace, start) = covering(all, path).ok_or_else(|| ProjectError::NoWorkspace { path: path.clone() })?;
        let view = View::of(workspace, all).ok_or_else(|| ProjectError::NoWorkspace { path: path.clone() })?;
        let below = |other: &Workspace| {
            other.prefix().below(path).filter(|rel| !rel.is_here()).map(|rel| rel.as_str().to_owned())
        };
        let nested = all.iter().filter(|other| !other.is_aside()).filter_map(below).collect();
        Ok(Self { person, view, start, path: path.clone(), nested })
    }

    /// Is it the place where a Workspace begins, which is always there?
    pub(crate) fn is_whole_workspace(&self) -> bool {
        self.start.as_rel().is_here()
    }

    /// Does it show nothing?
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let Listing { found, unnameable } = self.list("")?;
        Ok(found.is_empty() && unnameable.is_empty() && self.nested.is_empty())
    }

    /// What is there; nothing where nothing is, or nothing is shown.
    pub(crate) fn stat(&self, path: &str) -> Result<Option<Meta>> {
        let at = self.in_mount(path)?;
        match self.view.stat(&self.person.call(), at.as_rel()) {
            Ok(meta) => Ok(Some(meta)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            // Something above it is a link: whatever it leads to, nothing of this directory is there.
            Err(e) if *e.kind() == ErrorKind::Link => {
                Err(ProjectError::InTheWay { path: self.logical(path), is: "reached through a link" })
            }
            Err(e) => Err(self.failed(path, e)),
        }
    }

    /// What a directory of the project holds.
    pub(crate) fn list(&self, path: &str) -> Result<Listing> {
        let at = self.in_mount(path)?;
        let (mut found, mut unnameable) = (Vec::new(), Vec::new());
        let walk = Walk { depth: Some(1), ..Walk::default() };
        let walked = self.view.walk(&self.person.call(), at.as_rel(), &walk, &mut |entry| {
            let name = entry.path.rsplit_once('/').map_or(entry.path, |(_, name)| name).to_owned();
            if entry.plain {
                found.push((name, entry.kind));
            } else {
                unnameable.push(name);
            }
            ControlFlow::Continue(())
        });
        match walked {
            // It went while it was looked at, or is a Workspace that nothing was written to yet.
            Err(e) if *e.kind() == ErrorKind::NotFound => {}
            walked => walked.map_err(|e| self.failed(path, e))?,
        }
        found.sort_by(|(a, a_kind), (b, b_kind)| git_key(a, *a_kind).cmp(git_key(b, *b_kind)));
        Ok(Listing { found, unnameable })
    }

    /// Goes through what leaves: without a repository's own files, and only with `ignored` what the rules of the project name.
    pub(crate) fn visit(&self, ignored: bool, visit: &mut dyn Visit) -> Result<()> {
        self.go(if ignored { Reach::Ignored } else { Reach::Project }, visit)
    }

    /// Goes through everything that is shown.
    pub(crate) fn visit_all(&self, visit: &mut dyn Visit) -> Result<()> {
        self.go(Reach::All, visit)
    }

    fn go(&self, reach: Reach, visit: &mut dyn Visit) -> Result<()> {
        for nested in &self.nested {
            visit.left_out().add(nested.clone(), WhyLeft::OtherWorkspace);
        }
        let mut levels = vec![self.level("", reach, visit)?];
        while let Some(level) = levels.last_mut() {
            let Some((name, kind)) = level.entries.next() else {
                visit.leave(&level.path)?;
                levels.pop();
                continue;
            };
            let path = join(&level.path, &name);
            if reach != Reach::All && names::is_repository(&name) {
                visit.left_out().add(path, WhyLeft::Repository);
            } else if is_ignored(&levels, &path, kind) {
                visit.left_out().ignored += 1;
            } else if let Some(deeper) = self.meet(&path, kind, reach, visit)? {
                levels.push(deeper);
            }
        }
        Ok(())
    }

    /// One thing of the project; a directory is gone into.
    fn meet(&self, path: &str, kind: Kind, reach: Reach, visit: &mut dyn Visit) -> Result<Option<Level>> {
        // What has gone meanwhile was not there.
        let Some(meta) = self.stat(path)? else { return Ok(None) };
        let mode = meta.mode.map(|mode| mode & PLAIN_MODE);
        match kind {
            Kind::Dir if meta.kind == Kind::Dir => {
                visit.dir(path, mode.unwrap_or(0o755))?;
                return self.level(path, reach, visit).map(Some);
            }
            Kind::File if meta.kind == Kind::File => {
                match visit.file(self, &Met { path, len: meta.len, mode: mode.unwrap_or(0o644) }) {
                    Err(ProjectError::Refused(Refused::Store { source, .. }))
                        if *source.kind() == ErrorKind::HardLinked =>
                    {
                        visit.left_out().add(path, WhyLeft::HardLinked);
                    }
                    met => met?,
                }
            }
            Kind::Link => match self.link_inside(path)? {
                Some(leads_to) => visit.link(path, &leads_to)?,
                None => visit.left_out().add(path, WhyLeft::LinkLeaves),
            },
            _ => visit.left_out().add(path, WhyLeft::Special),
        }
        Ok(None)
    }

    fn level(&self, path: &str, reach: Reach, visit: &mut dyn Visit) -> Result<Level> {
        let Listing { found: entries, unnameable } = self.list(path)?;
        for name in unnameable {
            visit.left_out().add(join(path, &name), WhyLeft::Unnameable);
        }
        let has_rules =
            reach == Reach::Project && entries.iter().any(|(name, kind)| name == RULES && *kind == Kind::File);
        let rules = if has_rules { self.rules(path)? } else { None };
        Ok(Level { path: path.to_owned(), entries: entries.into_iter(), rules })
    }

    fn rules(&self, dir: &str) -> Result<Option<Gitignore>> {
        let mut text = Vec::new();
        self.read_whole(&join(dir, RULES), MAX_RULES, &mut text)?;
        let mut rules = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(&text).lines() {
            // A pattern that is none leaves nothing out, as in Git.
            let _ = rules.add_line(None, line);
        }
        Ok(rules.build().ok())
    }

    /// Where a link says that it leads, when that is inside and shown.
    fn link_inside(&self, path: &str) -> Result<Option<String>> {
        let at = self.in_mount(path)?;
        let leads_to = match self.view.leads_to(&self.person.call(), at.as_rel()) {
            Ok(leads_to) => leads_to,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Unsupported(_)) => return Ok(None),
            Err(e) => return Err(self.failed(path, e)),
        };
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let Some(there) = names::link_leads(dir, &leads_to) else { return Ok(None) };
        let is_shown = self.in_mount(&there).is_ok_and(|at| self.view.shows(at.as_rel()));
        Ok(is_shown.then_some(leads_to))
    }

    /// The first bytes of a file.
    pub(crate) fn read_whole(&self, path: &str, most: u64, out: &mut Vec<u8>) -> Result<Meta> {
        let at = self.in_mount(path)?;
        self.view.read(&self.person.call(), at.as_rel(), 0..most, out).map_err(|e| self.failed(path, e))
    }

    /// Hands on the first `len` bytes of a file, piece by piece.
    pub(crate) fn read(
        &self,
        path: &str,
        len: u64,
        meter: &mut Meter<'_>,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<WasRead> {
        let at = self.in_mount(path)?;
        let mut piece = Vec::new();
        let mut read = WasRead { bytes: 0, changed: false };
        let mut version = None;
        while read.bytes < len {
            piece.clear();
            let range = read.bytes..len.min(read.bytes + PIECE);
            let meta = self.view.read(&self.person.call(), at.as_rel(), range, &mut piece);
            let meta = meta.map_err(|e| self.failed(path, e))?;
            read.changed |= version.replace(meta.version).is_some_and(|before| before != meta.version);
            if piece.is_empty() {
                read.changed = true;
                break;
            }
            sink(&piece)?;
            read.bytes += piece.len() as u64;
            meter.advance(path, piece.len())?;
        }
        Ok(read)
    }

    /// The logical path of something in the project.
    pub(crate) fn logical(&self, path: &str) -> LogicalPath {
        RelPathBuf::parse(path).map_or_else(|_| self.path.clone(), |rel| self.path.join(rel.as_rel()))
    }

    fn in_mount(&self, path: &str) -> Result<RelPathBuf> {
        let whole = join(self.start.as_str(), path);
        if whole.is_empty() {
            return Ok(RelPath::HERE.to_buf());
        }
        RelPathBuf::parse(&whole).map_err(|_| ProjectError::BadName { name: whole, why: "it is too long" })
    }

    fn failed(&self, path: &str, source: StoreError) -> ProjectError {
        ProjectError::Refused(Refused::Store { path: self.logical(path), source })
    }
}

/// The Workspace with the longest prefix above a path, and what is below it.
fn covering<'w>(all: &'w [Workspace], path: &LogicalPath) -> Option<(&'w Workspace, RelPathBuf)> {
    let covers = all.iter().filter_map(|workspace| Some((workspace, path.below(workspace.prefix())?)));
    covers.min_by_key(|(_, rel)| rel.as_str().len()).map(|(workspace, rel)| (workspace, rel.to_buf()))
}

fn is_ignored(levels: &[Level], path: &str, kind: Kind) -> bool {
    let verdict = levels.iter().rev().find_map(|level| {
        let below = path.strip_prefix(level.path.as_str())?.trim_start_matches('/');
        match level.rules.as_ref()?.matched(below, kind == Kind::Dir) {
            ignore::Match::None => None,
            found => Some(found.is_ignore()),
        }
    });
    verdict == Some(true)
}

/// Git compares the name of a directory as if it ended in a slash.
fn git_key(name: &str, kind: Kind) -> impl Iterator<Item = u8> + '_ {
    name.bytes().chain((kind == Kind::Dir).then_some(b'/'))
}

/// A name in a directory, which may be the project itself.
pub(crate) fn join(dir: &str, name: &str) -> String {
    match (dir, name) {
        ("", name) => name.to_owned(),
        (dir, "") => dir.to_owned(),
        (dir, name) => format!("{dir}/{name}"),
    }
}
