//! A Store in memory: the plain meaning of every operation, for tests and for comparison.
//!
//! One ordered map from path to node behind one lock. It is meant to be read and seen to be right,
//! so it does nothing clever: a walk looks at everything in order, a set of changes is made on the
//! tree and the tree before it is put back when one of them fails. It must never be faster at the
//! price of being less plain.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use paddock_core::{
    Act, Applied, AppliedChange, Before, Call, Change, ChangeSet, EditError, Entry, EntrySink, ErrorKind, Expect, Hit,
    Kind, LastName, Looks, Meta, OpKind, PLAIN_MODE, Place, Query, RelPath, RelPathBuf, Result, SNIFF, Sink, Store,
    TextKind, Version, Walk, edit, suited_to, tree_order,
};

use crate::ignores::{Ignores, RULE_FILES};
use crate::search::{LineSearch, TopHits, TreeOrder};
use crate::staged::whole_staged;

/// How many links are followed on the way to one path.
const MAX_LINKS: usize = 40;
const NEW_FILE: u32 = 0o644;
const NEW_DIR: u32 = 0o755;
const NEW_LINK: u32 = 0o777;

/// A Store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tree: Mutex<Arc<Tree>>,
}

/// Everything there is, in tree order. The Mount itself is always there and has no node.
#[derive(Debug, Clone, Default)]
struct Tree {
    nodes: BTreeMap<TreeOrder, Node>,
    /// Counts changes; each gives the node it touches a version of its own.
    clock: u128,
}

#[derive(Debug, Clone)]
struct Node {
    body: Body,
    version: Version,
    mode: u32,
}

#[derive(Debug, Clone)]
enum Body {
    File(Arc<Vec<u8>>),
    Dir,
    Link(String),
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// For tests: puts a symbolic link there, with the directories above it. A target that starts
    /// with `/` counts from the Mount, any other from where the link stands.
    pub fn plant_link(&self, path: &str, target: &str) {
        let mut tree = self.lock();
        let tree = Arc::make_mut(&mut tree);
        tree.make_dirs(parent(path));
        tree.put(path, Body::Link(target.to_owned()), 0o777);
    }

    /// For tests: gives a file or directory these mode bits. Answers whether it is there.
    pub fn set_mode(&self, path: &str, mode: u32) -> bool {
        let mut tree = self.lock();
        let node = Arc::make_mut(&mut tree).nodes.get_mut(&key(path));
        node.map(|node| node.mode = mode).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Tree>> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree as it is now. Looking at it holds no lock, so whoever takes the results may call
    /// this Store again.
    fn snapshot(&self) -> Arc<Tree> {
        Arc::clone(&self.lock())
    }
}

impl Store for MemoryStore {
    fn resolve(&self, call: &Call<'_>, path: RelPath<'_>, last: LastName) -> Result<RelPathBuf> {
        call.tick(1)?;
        self.snapshot().resolve(path.as_str(), last)
    }

    fn stat(&self, call: &Call<'_>, at: &Place<'_>) -> Result<Meta> {
        call.tick(1)?;
        self.snapshot().find(at.rel()).map(|found| found.map_or_else(top_meta, Node::meta))
    }

    fn read(&self, call: &Call<'_>, at: &Place<'_>, range: Range<u64>, out: &mut Vec<u8>) -> Result<Meta> {
        call.tick(1)?;
        let tree = self.snapshot();
        let node = tree.find(at.rel())?.ok_or(ErrorKind::IsADirectory)?;
        match &node.body {
            Body::File(content) => out.extend_from_slice(part(content, &range)),
            Body::Dir => return Err(ErrorKind::IsADirectory.into()),
            Body::Link(_) => return Err(ErrorKind::Link.into()),
        }
        Ok(node.meta())
    }

    /// It stands for a disk in tests.
    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_at_hand(&self, _: OpKind, _: RelPath<'_>) -> bool {
        true
    }

    fn leads_to(&self, call: &Call<'_>, at: &Place<'_>) -> Result<String> {
        call.tick(1)?;
        match self.snapshot().find(at.rel())?.map(|node| &node.body) {
            Some(Body::Link(text)) => Ok(text.clone()),
            _ => Err(ErrorKind::Unsupported("reading a link where there is none").into()),
        }
    }

    fn walk(&self, call: &Call<'_>, at: &Place<'_>, walk: &Walk<'_>, sink: EntrySink<'_>) -> Result<()> {
        let tree = self.snapshot();
        match tree.find(at.rel())?.map(|node| &node.body) {
            None | Some(Body::Dir) => {}
            Some(Body::File(_)) => return Err(ErrorKind::NotADirectory.into()),
            Some(Body::Link(_)) => return Err(ErrorKind::Link.into()),
        }
        let sights = Sights { place: at, skip_ignored: walk.skip_ignored, depth: walk.depth };
        tree.visit(call, &sights, &mut |path, node| {
            if !comes_after(path, walk.after) {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(sink(Entry { path, kind: node.kind(), plain: true }))
        })
    }

    fn search(&self, call: &Call<'_>, at: &Place<'_>, query: &Query, sink: Sink<'_, Hit>) -> Result<()> {
        let mut searcher = LineSearch::new(query)?.reader();
        let mut top = TopHits::new(query);
        let tree = self.snapshot();
        let start = at.rel();
        let mut search_file = |path: &str, content: &[u8]| {
            let mut hits = Vec::new();
            if comes_after(path, query.after.as_deref()) {
                searcher.search(call, path, content, &mut hits)?;
            }
            top.add(path, hits);
            Ok(if top.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        match tree.find(start)?.map(|node| &node.body) {
            Some(Body::Link(_)) => return Err(ErrorKind::Link.into()),
            // A file that was named is searched, whatever the glob says.
            Some(Body::File(content)) => {
                call.tick(1)?;
                let _: ControlFlow<()> = search_file(start.as_str(), content)?;
            }
            None | Some(Body::Dir) => {
                let sights = Sights { place: at, skip_ignored: query.skip_ignored, depth: None };
                tree.visit(call, &sights, &mut |path, node| match &node.body {
                    Body::File(content) if wanted(query, below(path, start.as_str())) => search_file(path, content),
                    _ => Ok(ControlFlow::Continue(())),
                })?;
            }
        }
        let _ = top.finish().into_iter().try_for_each(sink);
        Ok(())
    }

    fn apply(&self, call: &Call<'_>, set: &ChangeSet) -> Result<Applied> {
        let mut tree = self.lock();
        // A single change checks everything before it touches anything, so it needs no way back.
        let before = (set.changes().len() > 1).then(|| Arc::clone(&tree));
        let changed = Arc::make_mut(&mut tree);
        let make = |change| call.tick(1).and_then(|()| changed.make(change));
        let made: Result<Vec<AppliedChange>> = set.changes().iter().map(make).collect();
        if let (Err(_), Some(before)) = (&made, before) {
            *tree = before;
        }
        Ok(Applied { changes: made?, stopped: None })
    }
}

/// What of a tree a walk may meet.
struct Sights<'a> {
    place: &'a Place<'a>,
    skip_ignored: bool,
    depth: Option<u32>,
}

type Visit<'a> = &'a mut dyn FnMut(&str, &Node) -> Result<ControlFlow<()>>;

impl Tree {
    /// What is at a path, nothing for the Mount itself. A link as the last name is an answer, one
    /// before it an error.
    fn find(&self, path: RelPath<'_>) -> Result<Option<&Node>> {
        let mut above: Vec<RelPath<'_>> = path.ancestors().skip(1).collect();
        above.reverse();
        for dir in above {
            self.nodes.get(&key(dir.as_str())).ok_or(ErrorKind::NotFound)?.expect_dir()?;
        }
        if path.is_here() {
            return Ok(None);
        }
        Ok(Some(self.nodes.get(&key(path.as_str())).ok_or(ErrorKind::NotFound)?))
    }

    /// As [`Self::find`], where nothing being there is fine.
    fn look(&self, path: RelPath<'_>) -> Result<Option<&Node>> {
        match self.find(path) {
            Err(e) if *e.kind() == ErrorKind::NotFound => Ok(None),
            done => done,
        }
    }

    fn resolve(&self, path: &str, last: LastName) -> Result<RelPathBuf> {
        let mut todo: Vec<String> = names(path).rev().collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            match name.as_str() {
                "." => continue,
                ".." => {
                    done.pop().ok_or(ErrorKind::LinkEscapes)?;
                    continue;
                }
                _ => done.push(name),
            }
            let follow = last == LastName::Follow || !todo.is_empty();
            let Some(Body::Link(target)) = self.nodes.get(&key(&done.join("/"))).map(|node| &node.body) else {
                continue;
            };
            if !follow {
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(ErrorKind::LinkEscapes.into());
            }
            done.pop();
            if target.starts_with('/') {
                done.clear();
            }
            todo.extend(names(target).rev());
        }
        RelPathBuf::parse(&done.join("/")).map_err(|_| ErrorKind::LinkEscapes.into())
    }

    /// Everything below a place that may be met, in tree order.
    fn visit(&self, call: &Call<'_>, sights: &Sights<'_>, visit: Visit<'_>) -> Result<()> {
        let start = sights.place.rel().as_str();
        let mut rules = HashMap::new();
        // Below this nothing is met: it is hidden, ignored or too deep.
        let mut closed: Option<&str> = None;
        for (TreeOrder(path), node) in self.below(start) {
            call.tick(1)?;
            if closed.is_some_and(|closed| is_within(path, closed)) {
                continue;
            }
            let is_dir = matches!(node.body, Body::Dir);
            if !sights.place.shows(path)
                || (sights.skip_ignored && self.ignores(parent(path), &mut rules).skips(path, is_dir))
            {
                closed = Some(path);
                continue;
            }
            let level = below(path, start).split('/').count();
            if sights.depth.is_some_and(|depth| level >= depth as usize) {
                closed = Some(path);
            }
            if sights.depth != Some(0) && visit(path, node)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn below<'a>(&'a self, dir: &'a str) -> impl Iterator<Item = (&'a TreeOrder, &'a Node)> {
        let from = if dir.is_empty() { Bound::Unbounded } else { Bound::Excluded(key(dir)) };
        self.nodes.range((from, Bound::Unbounded)).take_while(move |(path, _)| is_within(&path.0, dir))
    }

    /// What the ignore files of a directory, and of those above it, say; each is read once.
    fn ignores(&self, dir: &str, known: &mut HashMap<String, Arc<Ignores>>) -> Arc<Ignores> {
        if let Some(rules) = known.get(dir) {
            return Arc::clone(rules);
        }
        let above = if dir.is_empty() { Arc::default() } else { self.ignores(parent(dir), known) };
        let texts: Vec<String> = RULE_FILES.iter().filter_map(|name| self.text(&join(dir, name))).collect();
        let rules = Ignores::enter(&above, dir, &texts);
        known.insert(dir.to_owned(), Arc::clone(&rules));
        rules
    }

    fn text(&self, path: &str) -> Option<String> {
        match &self.nodes.get(&key(path))?.body {
            Body::File(content) => Some(String::from_utf8_lossy(content).into_owned()),
            Body::Dir | Body::Link(_) => None,
        }
    }

    /// Makes one change, or fails.
    fn make(&mut self, change: &Change) -> Result<AppliedChange> {
        let path = change.path();
        let there = self.look(path)?;
        check(there, change.expect())?;
        let met = there.filter(|node| node.kind() != Kind::Dir).map(|node| node.version);
        let done = match change.act() {
            Act::Write { content, mode } => self.write(path, content.clone(), *mode),
            Act::Append { content } => self.append(path, content),
            Act::Edit { edits } => {
                let content = there.ok_or(ErrorKind::NotFound)?.content()?;
                let (content, replacements) = edit(content, edits)?;
                Ok(AppliedChange { replacements, ..self.write(path, content, None)? })
            }
            Act::MakeDir => self.make_dir(path),
            Act::Move { to } => self.move_to(path, to.as_rel()),
            Act::Delete => self.delete(path),
            Act::Restore { .. } => Err(ErrorKind::NotKept.into()),
            Act::Take { staged } => {
                let content = whole_staged(staged)?;
                self.replace(path, Body::File(Arc::new(content)), staged.mode())
            }
            Act::Link { leads_to } => self.replace(path, Body::Link(leads_to.clone()), NEW_LINK),
            Act::Dress { looks } => {
                let (body, mode) = there.map(|node| (node.body.clone(), node.mode)).ok_or(ErrorKind::NotFound)?;
                let before = Before::Looks(Looks { mode: Some(mode), modified: None });
                let is_file = matches!(body, Body::File(_));
                let version = self.put(path.as_str(), body, looks.mode.unwrap_or(mode) & PLAIN_MODE);
                Ok(AppliedChange { version: is_file.then_some(version), before, ..AppliedChange::default() })
            }
            Act::Truncate { len } => {
                let content = there.ok_or(ErrorKind::NotFound)?.content()?;
                let content = part(content, &(0..*len)).to_vec();
                self.write(path, content, None)
            }
        };
        Ok(AppliedChange { met, ..done? })
    }

    fn write(&mut self, path: RelPath<'_>, content: Vec<u8>, mode: Option<u32>) -> Result<AppliedChange> {
        let there = self.look(path)?;
        if path.is_here() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let kept = there.map(|node| node.content().map(|_| node.mode)).transpose()?;
        self.make_parents(path);
        let mode = kept.or(mode).unwrap_or(NEW_FILE);
        let version = self.put(path.as_str(), Body::File(Arc::new(content)), mode);
        Ok(AppliedChange { version: Some(version), created: kept.is_none(), ..AppliedChange::default() })
    }

    /// Puts a file or a link in the place of any other.
    fn replace(&mut self, path: RelPath<'_>, body: Body, mode: u32) -> Result<AppliedChange> {
        let there = self.look(path)?.map(Node::kind);
        if path.is_here() || there == Some(Kind::Dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        self.make_parents(path);
        let version = self.put(path.as_str(), body, mode);
        Ok(AppliedChange { version: Some(version), created: there.is_none(), ..AppliedChange::default() })
    }

    fn append(&mut self, path: RelPath<'_>, addition: &[u8]) -> Result<AppliedChange> {
        let content = match self.look(path)? {
            None => addition.to_vec(),
            Some(node) => {
                let content = node.content()?;
                let head = &content[..content.len().min(SNIFF)];
                let refused = || EditError::Encoding(TextKind::of(head).name());
                [content, &suited_to(head, addition).ok_or_else(refused)?].concat()
            }
        };
        self.write(path, content, None)
    }

    fn make_dir(&mut self, path: RelPath<'_>) -> Result<AppliedChange> {
        if path.is_here() {
            return Ok(AppliedChange::default());
        }
        let version = match self.look(path)? {
            Some(Node { body: Body::Dir, version, .. }) => Some(*version),
            Some(Node { body: Body::Link(_), .. }) => return Err(ErrorKind::Link.into()),
            Some(Node { body: Body::File(_), .. }) => return Err(ErrorKind::AlreadyExists.into()),
            None => None,
        };
        let created = version.is_none();
        self.make_dirs(path.as_str());
        let version = version.or_else(|| self.nodes.get(&key(path.as_str())).map(|node| node.version));
        Ok(AppliedChange { version, created, ..AppliedChange::default() })
    }

    fn move_to(&mut self, from: RelPath<'_>, to: RelPath<'_>) -> Result<AppliedChange> {
        let version = self.find(from)?.ok_or(ErrorKind::Unsupported("moving a whole Mount"))?.version;
        if to.is_here() || self.look(to)?.is_some() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if to.is_within(from) {
            return Err(ErrorKind::Unsupported("moving a directory into itself").into());
        }
        self.make_parents(to);
        let moved: Vec<TreeOrder> = std::iter::once(key(from.as_str()))
            .chain(self.below(from.as_str()).map(|(path, _)| path.clone()))
            .collect();
        for old in moved {
            let new = format!("{to}{}", &old.0[from.as_str().len()..]);
            if let Some(node) = self.nodes.remove(&old) {
                self.nodes.insert(TreeOrder(new), node);
            }
        }
        Ok(AppliedChange { version: Some(version), created: true, ..AppliedChange::default() })
    }

    fn delete(&mut self, path: RelPath<'_>) -> Result<AppliedChange> {
        self.find(path)?.ok_or(ErrorKind::Unsupported("deleting a whole Mount"))?;
        if self.below(path.as_str()).next().is_some() {
            return Err(ErrorKind::NotEmpty.into());
        }
        self.nodes.remove(&key(path.as_str()));
        Ok(AppliedChange::default())
    }

    /// The directories above a path, once it is known that none of them is something else.
    fn make_parents(&mut self, path: RelPath<'_>) {
        if let Some((parents, _)) = path.split_last() {
            self.make_dirs(parents.as_str());
        }
    }

    fn make_dirs(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|(at, _)| at).chain(Some(path.len()));
        for dir in ends.map(|end| &path[..end]).filter(|dir| !dir.is_empty()) {
            if !self.nodes.contains_key(&key(dir)) {
                self.put(dir, Body::Dir, NEW_DIR);
            }
        }
    }

    fn put(&mut self, path: &str, body: Body, mode: u32) -> Version {
        self.clock += 1;
        let version = Version(self.clock);
        self.nodes.insert(key(path), Node { body, version, mode });
        version
    }
}

impl Node {
    fn kind(&self) -> Kind {
        match self.body {
            Body::File(_) => Kind::File,
            Body::Dir => Kind::Dir,
            Body::Link(_) => Kind::Link,
        }
    }

    fn meta(&self) -> Meta {
        let len = match &self.body {
            Body::File(content) => content.len() as u64,
            Body::Dir => 0,
            Body::Link(target) => target.len() as u64,
        };
        Meta { kind: self.kind(), len, version: self.version, mode: Some(self.mode), modified: None }
    }

    fn expect_dir(&self) -> Result<(), ErrorKind> {
        match self.body {
            Body::Dir => Ok(()),
            Body::File(_) => Err(ErrorKind::NotADirectory),
            Body::Link(_) => Err(ErrorKind::Link),
        }
    }

    fn content(&self) -> Result<&[u8], ErrorKind> {
        match &self.body {
            Body::File(content) => Ok(content),
            Body::Dir => Err(ErrorKind::IsADirectory),
            Body::Link(_) => Err(ErrorKind::Link),
        }
    }
}

fn top_meta() -> Meta {
    Meta { kind: Kind::Dir, len: 0, version: Version(0), mode: Some(NEW_DIR), modified: None }
}

fn check(there: Option<&Node>, expect: Expect) -> Result<(), ErrorKind> {
    match (expect, there) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(ErrorKind::AlreadyExists),
        (Expect::Is(version), Some(node)) if node.version == version => Ok(()),
        (Expect::UnchangedSince(_), _) => Err(ErrorKind::Unsupported("telling when something changed")),
        (Expect::Is(_), _) => Err(ErrorKind::Stale),
    }
}

fn key(path: &str) -> TreeOrder {
    TreeOrder(path.to_owned())
}

fn names(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned)
}

fn part<'a>(content: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
    content.get(clip(range.start)..clip(range.end)).unwrap_or(&[])
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

fn is_within(path: &str, dir: &str) -> bool {
    dir.is_empty() || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn below<'a>(path: &'a str, dir: &str) -> &'a str {
    path[dir.len()..].trim_start_matches('/')
}

fn comes_after(path: &str, after: Option<&str>) -> bool {
    after.is_none_or(|after| tree_order(path, after).is_gt())
}

fn wanted(query: &Query, below_start: &str) -> bool {
    query.glob.as_ref().is_none_or(|glob| glob.matches(below_start))
}
