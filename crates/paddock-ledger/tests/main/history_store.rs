//! A small Store that keeps what changes replace: a map of paths, versions that count up, and a drawer of what was.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{
    Act, Applied, AppliedChange, Before, Call, Change, ChangeSet, Entry, EntrySink, ErrorKind, Expect, Hit, Kept, Kind,
    LastName, Looks, Meta, Place, Query, RelPath, RelPathBuf, Result, Sink, Store, Usage, Version, Versioned, Walk,
    edit, tree_order,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Dir,
    File(Vec<u8>, u128),
}

#[derive(Debug, Default)]
pub(crate) struct KeepingStore {
    inner: Mutex<Inner>,
    /// How many entries walks have met.
    walked: AtomicUsize,
}

#[derive(Debug, Clone, Default)]
struct Inner {
    nodes: BTreeMap<String, Node>,
    kept: BTreeMap<String, Vec<u8>>,
    clock: u128,
}

impl KeepingStore {
    pub(crate) fn walked(&self) -> usize {
        self.walked.load(Ordering::SeqCst)
    }

    pub(crate) fn dump(&self) -> BTreeMap<String, Node> {
        self.inner.lock().unwrap().nodes.clone()
    }

    pub(crate) fn kept(&self) -> Vec<Kept> {
        self.inner.lock().unwrap().kept.keys().cloned().map(Kept).collect()
    }

    pub(crate) fn kept_len(&self, kept: &Kept) -> Option<u64> {
        self.inner.lock().unwrap().kept.get(&kept.0).map(|content| content.len() as u64)
    }

    /// As somebody who does not ask Paddock.
    pub(crate) fn plant(&self, path: &str, content: &str) {
        let mut inner = self.inner.lock().unwrap();
        inner.clock += 1;
        let version = inner.clock;
        inner.nodes.insert(path.to_owned(), Node::File(content.into(), version));
    }

    /// The same with a directory.
    pub(crate) fn plant_directory(&self, path: &str) {
        self.inner.lock().unwrap().nodes.insert(path.to_owned(), Node::Dir);
    }
}

impl Inner {
    fn find(&self, path: RelPath<'_>) -> Result<Option<&Node>> {
        let mut above: Vec<RelPath<'_>> = path.ancestors().skip(1).collect();
        above.reverse();
        for dir in above {
            match self.nodes.get(dir.as_str()) {
                Some(Node::Dir) => {}
                Some(Node::File(..)) => return Err(ErrorKind::NotADirectory.into()),
                None => return Ok(None),
            }
        }
        if path.is_here() {
            return Ok(Some(&Node::Dir));
        }
        Ok(self.nodes.get(path.as_str()))
    }

    fn put(&mut self, path: &str, content: Vec<u8>) -> Version {
        self.clock += 1;
        self.nodes.insert(path.to_owned(), Node::File(content, self.clock));
        Version(self.clock)
    }

    fn keep(&mut self, content: Vec<u8>) -> Before {
        self.clock += 1;
        let name = format!("k{}", self.clock);
        self.kept.insert(name.clone(), content);
        Before::Kept(Kept(name))
    }

    fn parents(&mut self, path: RelPath<'_>) -> usize {
        let missing: Vec<String> = path.ancestors().skip(1).map(|dir| dir.as_str().to_owned()).collect();
        missing.into_iter().filter(|dir| self.nodes.insert(dir.clone(), Node::Dir).is_none()).count()
    }

    fn write(&mut self, path: RelPath<'_>, content: Vec<u8>, prefix: bool) -> Result<AppliedChange> {
        let (before, created) = match self.find(path)?.cloned() {
            None => (Before::Absent, true),
            Some(Node::Dir) => return Err(ErrorKind::IsADirectory.into()),
            Some(Node::File(old, _)) if prefix => (Before::Prefix(old.len() as u64), false),
            Some(Node::File(old, _)) => (self.keep(old), false),
        };
        let parents = self.parents(path);
        let version = Some(self.put(path.as_str(), content));
        Ok(AppliedChange { version, created, before, parents, ..AppliedChange::default() })
    }

    fn below(&self, path: &str) -> Vec<String> {
        self.nodes
            .keys()
            .filter(|other| other.strip_prefix(path).is_some_and(|r| r.starts_with('/')))
            .cloned()
            .collect()
    }

    fn move_to(&mut self, from: RelPath<'_>, to: RelPath<'_>) -> Result<AppliedChange> {
        let node = self.find(from)?.cloned().ok_or(ErrorKind::NotFound)?;
        if self.find(to)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if to.is_within(from) {
            return Err(ErrorKind::Unsupported("moving a directory into itself").into());
        }
        let parents = self.parents(to);
        let version = match node {
            Node::File(content, _) => {
                self.nodes.remove(from.as_str());
                Some(self.put(to.as_str(), content))
            }
            Node::Dir => {
                let moved = self.below(from.as_str()).into_iter().chain([from.as_str().to_owned()]);
                for old in moved.collect::<Vec<_>>() {
                    let node = self.nodes.remove(&old).unwrap();
                    self.nodes.insert(format!("{to}{}", &old[from.as_str().len()..]), node);
                }
                None
            }
        };
        Ok(AppliedChange { version, created: true, before: Before::Absent, parents, ..AppliedChange::default() })
    }

    fn make(&mut self, change: &Change) -> Result<AppliedChange> {
        let path = change.path();
        let there = self.find(path)?.cloned();
        match (change.expect(), &there) {
            (Expect::Any, _) | (Expect::Absent, None) => {}
            (Expect::Absent, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
            (Expect::Is(version), Some(Node::File(_, now))) if version.0 == *now => {}
            (Expect::Is(_) | Expect::UnchangedSince(_), _) => return Err(ErrorKind::Stale.into()),
        }
        let content = || match &there {
            Some(Node::File(content, _)) => Ok(content.clone()),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory),
            None => Err(ErrorKind::NotFound),
        };
        let met = match &there {
            Some(Node::File(_, version)) => Some(Version(*version)),
            _ => None,
        };
        let done = match change.act() {
            Act::Write { content, .. } => self.write(path, content.clone(), false),
            Act::Append { content: more } => {
                let old = if there.is_some() { content()? } else { Vec::new() };
                self.write(path, [old, more.clone()].concat(), true)
            }
            Act::Edit { edits } => {
                let (new, replacements) = edit(&content()?, edits)?;
                Ok(AppliedChange { replacements, ..self.write(path, new, false)? })
            }
            Act::Restore { kept } => {
                let old = self.kept.get(&kept.0).cloned().ok_or(ErrorKind::NotKept)?;
                self.write(path, old, false)
            }
            Act::Truncate { len } => {
                let mut new = content()?;
                new.truncate(usize::try_from(*len).unwrap());
                self.write(path, new, false)
            }
            Act::MakeDir => match there {
                Some(Node::Dir) => {
                    Ok(AppliedChange { before: Before::Dir(Looks::default()), ..AppliedChange::default() })
                }
                Some(Node::File(..)) => Err(ErrorKind::AlreadyExists.into()),
                None => {
                    let parents = self.parents(path);
                    self.nodes.insert(path.as_str().to_owned(), Node::Dir);
                    Ok(AppliedChange { created: true, before: Before::Absent, parents, ..AppliedChange::default() })
                }
            },
            Act::Take { .. } | Act::Link { .. } | Act::Dress { .. } => Err(ErrorKind::Unsupported("this here").into()),
            Act::Move { to } => self.move_to(path, to.as_rel()),
            Act::Delete => {
                let before = match there.ok_or(ErrorKind::NotFound)? {
                    Node::Dir if !self.below(path.as_str()).is_empty() => return Err(ErrorKind::NotEmpty.into()),
                    Node::Dir => Before::Dir(Looks::default()),
                    Node::File(content, _) => self.keep(content),
                };
                self.nodes.remove(path.as_str());
                Ok(AppliedChange { before, ..AppliedChange::default() })
            }
        };
        Ok(AppliedChange { met, ..done? })
    }
}

fn meta(node: &Node) -> Meta {
    let (kind, len, version) = match node {
        Node::Dir => (Kind::Dir, 0, 0),
        Node::File(content, version) => (Kind::File, content.len() as u64, *version),
    };
    Meta { kind, len, version: Version(version), mode: None, modified: None }
}

fn part(content: &[u8], range: &Range<u64>, out: &mut Vec<u8>) {
    let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
    out.extend_from_slice(&content[clip(range.start)..clip(range.end)]);
}

impl Store for KeepingStore {
    fn resolve(&self, _: &Call<'_>, path: RelPath<'_>, _: LastName) -> Result<RelPathBuf> {
        Ok(path.to_buf())
    }

    fn stat(&self, _: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        let inner = self.inner.lock().unwrap();
        Ok(meta(inner.find(at.rel())?.ok_or(ErrorKind::NotFound)?))
    }

    fn read(&self, _: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        let inner = self.inner.lock().unwrap();
        let node = inner.find(at.rel())?.ok_or(ErrorKind::NotFound)?;
        let Node::File(content, _) = node else { return Err(ErrorKind::IsADirectory.into()) };
        part(content, &range, out);
        Ok(meta(node))
    }

    fn walk(&self, _: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        let nodes = self.dump();
        let mut paths: Vec<&String> = nodes.keys().collect();
        paths.sort_by(|a, b| tree_order(a, b));
        for path in paths {
            let start = at.rel().as_str();
            let rest = if start.is_empty() { Some(path.as_str()) } else { path.strip_prefix(&format!("{start}/")) };
            let Some(rest) = rest else { continue };
            let level = rest.split('/').count();
            let near = walk.depth.is_none_or(|depth| level <= depth as usize);
            let kind = meta(&nodes[path]).kind;
            self.walked.fetch_add(usize::from(near), Ordering::SeqCst);
            if near && sink(Entry { path, kind, plain: true }) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn search(&self, _: &Call<'_>, _: &Place<'_>, _: &Query, _: Sink<'_, Hit>) -> Result<()> {
        Err(ErrorKind::Unsupported("searching").into())
    }

    fn apply(&self, _: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        let moves = |change: &Change| matches!(change.act(), Act::Move { .. });
        assert!(set.keeps() || set.changes().iter().all(moves), "the Journal asks for keeping");
        let mut inner = self.inner.lock().unwrap();
        let before = inner.clone();
        let made: Result<Vec<AppliedChange>> = set.changes().iter().map(|change| inner.make(change)).collect();
        if made.is_err() {
            *inner = before;
        }
        Ok(Applied { changes: made?, stopped: None })
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn versioned(&self) -> Option<&dyn Versioned> {
        Some(self)
    }
}

impl Versioned for KeepingStore {
    fn recall(&self, _: &Call<'_>, _: &Place<'_>, kept: &Kept, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        let inner = self.inner.lock().unwrap();
        let content = inner.kept.get(&kept.0).ok_or(ErrorKind::NotKept)?;
        part(content, &range, out);
        Ok(meta(&Node::File(content.clone(), 0)))
    }

    fn release(&self, _: &Call<'_>, kept: &[Kept]) -> Result<()> {
        let mut inner = self.inner.lock().unwrap();
        for Kept(name) in kept {
            inner.kept.remove(name);
        }
        Ok(())
    }

    fn usage(&self, _: &Call<'_>) -> Result<Usage> {
        Ok(Usage::default())
    }
}
