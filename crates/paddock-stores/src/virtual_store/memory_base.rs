//! Namespaces in memory: nothing of them is on disk, and nothing survives the process.
//!
//! A transaction works on a copy of the namespace that takes the place of the original when it is over. Directories
//! are shared between copies until one of them changes, so that a copy costs little. A content lives as long as a row
//! that names it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use paddock_core::{Call, ErrorKind, Result, Usage};

use super::base::{BaseStore, Body, Change, Commit, Content, Look, Moment, Namespace, NewRow, Row, Rows, RowsMut};

/// Namespaces in memory.
#[derive(Debug, Default)]
pub struct MemoryBase {
    all: Mutex<All>,
    /// Held by whoever changes a namespace, from its first look to its last put.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct All {
    spaces: HashMap<Namespace, Arc<Space>>,
    bodies: HashMap<u64, Weak<Stored>>,
    chunks: HashMap<u64, Chunk>,
    last_id: u64,
}

#[derive(Debug)]
struct Chunk {
    bytes: Arc<[u8]>,
    staged: Instant,
}

#[derive(Debug)]
enum Stored {
    Inline(Box<[u8]>),
    Chunks(Box<[u64]>),
}

/// Rows by directory; a directory is shared between copies until one of them changes it.
type ByDirectory<K> = BTreeMap<String, Arc<BTreeMap<K, Life>>>;

/// One namespace.
#[derive(Debug, Clone, Default)]
struct Space {
    head: u64,
    usage: Usage,
    living: ByDirectory<String>,
    /// By name and the commit at which it died.
    past: ByDirectory<(String, u64)>,
    pins: HashMap<String, u64>,
}

#[derive(Debug, Clone)]
struct Life {
    row: Row,
    born: u64,
    #[expect(dead_code, reason = "keeps the content while the row is there")]
    held: Option<Arc<Stored>>,
    /// Of what is past: somebody asked for it, and not only a pin.
    asked: bool,
}

/// A namespace as a reader or a transaction has it.
struct Sight<'a> {
    base: &'a MemoryBase,
    space: Arc<Space>,
    moment: Moment,
}

impl MemoryBase {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sight(&self, namespace: &Namespace, moment: Moment) -> Sight<'_> {
        let space = self.lock().spaces.get(namespace).cloned().unwrap_or_default();
        Sight { base: self, space, moment }
    }

    fn change<T>(&self, namespace: &Namespace, change: impl FnOnce(&mut Sight<'_>) -> Result<T>) -> Result<T> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut draft = self.sight(namespace, Moment::Now);
        let done = change(&mut draft)?;
        self.lock().spaces.insert(namespace.clone(), draft.space);
        Ok(done)
    }

    fn stored(&self, body: Body) -> Result<Arc<Stored>> {
        self.lock().bodies.get(&body.id).and_then(Weak::upgrade).ok_or_else(|| ErrorKind::Io.into())
    }
}

impl BaseStore for MemoryBase {
    fn is_near(&self) -> bool {
        true
    }

    fn read(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()> {
        call.tick(1)?;
        look(&self.sight(namespace, moment))
    }

    fn write(&self, call: &Call<'_>, namespace: &Namespace, change: Change<'_>) -> Result<()> {
        call.tick(1)?;
        self.change(namespace, |draft| change(draft))
    }

    fn stage(&self, _: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>> {
        let mut all = self.lock();
        let put = |bytes: &&[u8]| {
            let id = all.next_id();
            all.chunks.insert(id, Chunk { bytes: Arc::from(*bytes), staged: Instant::now() });
            id
        };
        Ok(chunks.iter().map(put).collect())
    }

    fn pin(&self, _: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Commit> {
        self.change(namespace, |draft| {
            let space = Arc::make_mut(&mut draft.space);
            Ok(Commit(*space.pins.entry(name.to_owned()).or_insert(space.head)))
        })
    }

    fn unpin(&self, _: &Call<'_>, namespace: &Namespace, name: &str) -> Result<()> {
        self.change(namespace, |draft| {
            let space = Arc::make_mut(&mut draft.space);
            space.pins.remove(name);
            space.collect();
            Ok(())
        })
    }

    fn drop_namespace(&self, _: &Call<'_>, namespace: &Namespace) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.lock().spaces.remove(namespace);
        Ok(())
    }

    fn collect_chunks(&self, _: &Call<'_>, older_than: u64) -> Result<u64> {
        let mut all = self.lock();
        all.bodies.retain(|_, stored| stored.strong_count() > 0);
        let bodies: Vec<Arc<Stored>> = all.bodies.values().filter_map(Weak::upgrade).collect();
        let named: HashSet<u64> = bodies.iter().flat_map(|stored| stored.chunks()).copied().collect();
        let (before, age) = (all.chunks.len(), Duration::from_millis(older_than));
        all.chunks.retain(|id, chunk| named.contains(id) || chunk.staged.elapsed() < age);
        Ok((before - all.chunks.len()) as u64)
    }
}

impl All {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

impl Stored {
    fn chunks(&self) -> &[u64] {
        match self {
            Self::Chunks(ids) => ids,
            Self::Inline(_) => &[],
        }
    }
}

impl Space {
    fn alive(&self, key: &str) -> Option<&Life> {
        let (dir, name) = split(key);
        self.living.get(dir)?.get(name)
    }

    fn row_at(&self, key: &str, at: u64) -> Option<&Life> {
        let (dir, name) = split(key);
        let alive = self.alive(key).filter(|life| life.born <= at);
        alive.or_else(|| {
            let lives = (name.to_owned(), at + 1)..=(name.to_owned(), u64::MAX);
            self.past.get(dir)?.range(lives).next().map(|(_, life)| life).filter(|life| life.born <= at)
        })
    }

    fn names_at(&self, dir: &str, at: u64) -> Vec<&str> {
        let alive = self.living.get(dir).into_iter().flat_map(|names| names.iter());
        let alive = alive.filter(|(_, life)| life.born <= at).map(|(name, _)| name.as_str());
        let past = self.past.get(dir).into_iter().flat_map(|names| names.iter());
        let past = past.filter(|((_, died), life)| life.born <= at && at < *died).map(|((name, _), _)| name.as_str());
        let mut names: Vec<&str> = alive.chain(past).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What nobody needs any more goes: no pin in its life, and nobody asked for it.
    fn collect(&mut self) {
        let pins: Vec<u64> = self.pins.values().copied().collect();
        for names in self.past.values_mut() {
            let needed = |died: u64, life: &Life| life.asked || pins.iter().any(|pin| (life.born..died).contains(pin));
            Arc::make_mut(names).retain(|(_, died), life| needed(*died, life));
        }
        self.past.retain(|_, names| !names.is_empty());
    }

    /// Takes what is alive at a key out of the living.
    fn bury(&mut self, key: &str, keep: bool) {
        let (dir, name) = split(key);
        let Some(names) = self.living.get_mut(dir) else { return };
        let Some(life) = Arc::make_mut(names).remove(name) else { return };
        if names.is_empty() {
            self.living.remove(dir);
        }
        let pinned = self.pins.values().any(|pin| (life.born..self.head).contains(pin));
        if (keep || pinned) && life.born < self.head {
            let past = Arc::make_mut(self.past.entry(dir.to_owned()).or_default());
            past.insert((name.to_owned(), self.head), Life { asked: keep, ..life });
        }
    }
}

impl Rows for Sight<'_> {
    fn get(&self, key: &str) -> Result<Option<Row>> {
        let life = match self.moment {
            Moment::Now => self.space.alive(key),
            Moment::At(commit) => self.space.row_at(key, commit.0),
        };
        Ok(life.map(|life| life.row.clone()))
    }

    fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
        if let Moment::At(commit) = self.moment {
            let names = self.space.names_at(dir, commit.0).into_iter().filter(|name| after.is_none_or(|a| *name > a));
            let row = |name: &str| Some((name.to_owned(), self.space.row_at(&join(dir, name), commit.0)?.row.clone()));
            return Ok(names.filter_map(row).take(limit).collect());
        }
        let Some(names) = self.space.living.get(dir) else { return Ok(Vec::new()) };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = names.range::<str, _>((from, Bound::Unbounded)).take(limit);
        Ok(rows.map(|(name, life)| (name.clone(), life.row.clone())).collect())
    }

    fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        match &*self.base.stored(body)? {
            Stored::Inline(bytes) => out.extend_from_slice(cut(bytes, &range)),
            Stored::Chunks(_) => return Err(ErrorKind::Io.into()),
        }
        Ok(())
    }

    fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>> {
        Ok(cut(self.base.stored(body)?.chunks(), &positions).to_vec())
    }

    fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = self.base.lock().chunks.get(&id).map(|chunk| Arc::clone(&chunk.bytes)).ok_or(ErrorKind::Io)?;
        out.extend_from_slice(cut(&bytes, &range));
        Ok(())
    }

    fn usage(&self) -> Result<Usage> {
        Ok(self.space.usage)
    }

    fn past(&self, key: &str, at: Commit) -> Result<Option<Row>> {
        Ok(self.space.row_at(key, at.0).map(|life| life.row.clone()))
    }
}

impl RowsMut for Sight<'_> {
    fn head(&self) -> Commit {
        Commit(self.space.head)
    }

    fn advance(&mut self) -> Result<Commit> {
        let space = Arc::make_mut(&mut self.space);
        space.head += 1;
        Ok(Commit(space.head))
    }

    fn put(&mut self, key: &str, new: &NewRow<'_>, keep: bool) -> Result<Row> {
        let mut all = self.base.lock();
        let id = all.next_id();
        let (body, held) = match new.content {
            Content::None => (None, None),
            Content::Shared(body) => (Some(body), all.bodies.get(&body.id).and_then(Weak::upgrade)),
            Content::Inline(bytes) => (Some(Body { id, chunked: false }), Some(Arc::new(Stored::Inline(bytes.into())))),
            Content::Chunks(ids) => (Some(Body { id, chunked: true }), Some(Arc::new(Stored::Chunks(ids.into())))),
        };
        if let (Some(body), Some(held)) = (body, &held) {
            all.bodies.insert(body.id, Arc::downgrade(held));
        }
        drop(all);
        let version = new.version.unwrap_or(id);
        let row = Row { kind: new.kind, len: new.len, mode: new.mode, modified: new.modified, version, body };
        let space = Arc::make_mut(&mut self.space);
        space.bury(key, keep);
        let (dir, name) = split(key);
        let life = Life { row: row.clone(), born: space.head, held, asked: false };
        Arc::make_mut(space.living.entry(dir.to_owned()).or_default()).insert(name.to_owned(), life);
        Ok(row)
    }

    fn remove(&mut self, key: &str, keep: bool) -> Result<()> {
        Arc::make_mut(&mut self.space).bury(key, keep);
        Ok(())
    }

    fn forget(&mut self, key: &str, at: Commit) -> Result<()> {
        let (dir, name) = split(key);
        let space = Arc::make_mut(&mut self.space);
        if let Some(names) = space.past.get_mut(dir) {
            let lives = (name.to_owned(), at.0 + 1)..=(name.to_owned(), u64::MAX);
            let life = Arc::make_mut(names).range_mut(lives).next();
            if let Some((_, life)) = life.filter(|(_, life)| life.born <= at.0) {
                life.asked = false;
            }
        }
        space.collect();
        Ok(())
    }

    fn set_usage(&mut self, usage: Usage) -> Result<()> {
        Arc::make_mut(&mut self.space).usage = usage;
        Ok(())
    }
}

/// A key as its directory and its name.
pub(crate) fn split(key: &str) -> (&str, &str) {
    key.rsplit_once('/').unwrap_or(("", key))
}

/// A directory and a name as a key.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

fn cut<'a, T>(all: &'a [T], range: &Range<u64>) -> &'a [T] {
    let clip = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(all.len());
    all.get(clip(range.start)..clip(range.end)).unwrap_or(&[])
}
