//! Keepers for tests: a map in memory that can be less than it is, and one that does what it is told at a chosen call.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use paddock_core::{Call, ErrorKind, RelPath, Result, StoreError};
use paddock_stores::foreign::{Abilities, Content, Item, Keeper, KeyKind, Listing, Named, Sight, Take, Wanted};

/// Everything that a Keeper can.
pub(crate) fn all(listing: Listing) -> Abilities {
    Abilities { listing, remove: true, search: true, make_dir: true, bytes: true }
}

/// Files and directories in a map: `a/b` is a file, `a/` a directory that was made.
pub(crate) struct MapKeeper {
    pub(crate) abilities: Abilities,
    /// Can it say what is at a path?
    pub(crate) stats: bool,
    /// Has it an edit of its own?
    pub(crate) edits: bool,
    /// Does it fail where nothing is, as a program does that knows no other way to say so?
    pub(crate) throws: bool,
    pub(crate) keys: Mutex<BTreeMap<String, Vec<u8>>>,
    pub(crate) asked: AtomicUsize,
    pub(crate) own_edits: AtomicUsize,
    /// How often everything was asked for, and how many keys were handed over then.
    pub(crate) scans: AtomicUsize,
    pub(crate) handed: AtomicUsize,
    pub(crate) contents: AtomicUsize,
}

impl MapKeeper {
    pub(crate) fn new(abilities: Abilities) -> Self {
        Self {
            abilities,
            stats: true,
            edits: true,
            throws: false,
            keys: Mutex::default(),
            asked: AtomicUsize::new(0),
            own_edits: AtomicUsize::new(0),
            scans: AtomicUsize::new(0),
            handed: AtomicUsize::new(0),
            contents: AtomicUsize::new(0),
        }
    }

    /// The four methods that every such store has, and no word for "nothing".
    pub(crate) fn four_methods() -> Self {
        let none =
            Abilities { listing: Listing::Directories, remove: false, search: false, make_dir: false, bytes: false };
        Self { stats: false, throws: true, ..Self::new(none) }
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a file there behind the Store's back.
    pub(crate) fn plant(&self, path: &str, content: &str) {
        self.keys().insert(path.to_owned(), content.as_bytes().to_vec());
    }

    /// How often it was asked since the last time this was.
    pub(crate) fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }

    /// How many edits of its own it made.
    pub(crate) fn own_edits(&self) -> usize {
        self.own_edits.load(Ordering::SeqCst)
    }

    /// How often everything was asked for since the last time this was, and how many keys were handed over.
    pub(crate) fn scanned(&self) -> (usize, usize) {
        (self.scans.swap(0, Ordering::SeqCst), self.handed.swap(0, Ordering::SeqCst))
    }

    /// How many contents came along since the last time this was asked.
    pub(crate) fn contents_handed(&self) -> usize {
        self.contents.swap(0, Ordering::SeqCst)
    }

    fn is_dir(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty() || self.keys().range(below.clone()..).next().is_some_and(|(key, _)| key.starts_with(&below))
    }

    fn ask(&self, call: &Call<'_>) -> Result<()> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        call.tick(0)
    }
}

/// What a program says that failed.
pub(crate) fn thrown(why: &str) -> StoreError {
    StoreError::caused_by(ErrorKind::Io, std::io::Error::other(why.to_owned()))
}

impl Keeper for MapKeeper {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn look(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Sight> {
        self.ask(call)?;
        if !self.stats {
            return Ok(Sight::Unsure);
        }
        let key = path.as_str();
        let explicit = self.keys().contains_key(&format!("{key}/"));
        Ok(if self.keys().contains_key(key) {
            Sight::There(KeyKind::File)
        } else if explicit || (self.abilities.listing == Listing::Directories && self.is_dir(key)) {
            Sight::There(KeyKind::Dir)
        } else if self.abilities.listing == Listing::Whole {
            Sight::Unsure
        } else {
            Sight::Nothing
        })
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>> {
        self.ask(call)?;
        let bytes = self.keys().get(path.as_str()).cloned();
        match bytes {
            None if self.throws => Err(thrown("ENOENT")),
            bytes => Ok(bytes.map(|bytes| Content { bytes, modified: None })),
        }
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], _: Option<SystemTime>) -> Result<()> {
        self.ask(call)?;
        self.keys().insert(path.as_str().to_owned(), content.to_vec());
        Ok(())
    }

    fn edit(&self, call: &Call<'_>, path: RelPath<'_>, old: &str, new: &str) -> Result<Option<u64>> {
        self.ask(call)?;
        if !self.edits {
            return Ok(None);
        }
        self.own_edits.fetch_add(1, Ordering::SeqCst);
        let mut keys = self.keys();
        let Some(content) = keys.get_mut(path.as_str()) else { return Ok(Some(0)) };
        let text = String::from_utf8_lossy(content).into_owned();
        *content = text.replace(old, new).into_bytes();
        Ok(Some(text.matches(old).count() as u64))
    }

    fn list(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<Vec<Named>> {
        self.ask(call)?;
        if self.throws && !self.is_dir(dir.as_str()) {
            return Err(thrown("ENOENT"));
        }
        let prefix = if dir.is_here() { String::new() } else { format!("{dir}/") };
        let mut listed: Vec<Named> = Vec::new();
        for key in self.keys().keys().filter_map(|key| key.strip_prefix(&prefix)).filter(|rest| !rest.is_empty()) {
            let (name, kind) = match key.split_once('/') {
                Some((name, _)) => (name, KeyKind::Dir),
                None => (key, KeyKind::File),
            };
            if listed.last().is_none_or(|last| last.name != name) {
                listed.push(Named { name: name.to_owned(), kind });
            }
        }
        Ok(listed)
    }

    fn everything(&self, call: &Call<'_>, wanted: Wanted, take: Take<'_>) -> Result<()> {
        self.ask(call)?;
        self.scans.fetch_add(1, Ordering::SeqCst);
        let keys: Vec<(String, Vec<u8>)> = self.keys().clone().into_iter().collect();
        for (key, content) in keys {
            self.handed.fetch_add(1, Ordering::SeqCst);
            let content = (wanted == Wanted::Contents).then_some(content);
            self.contents.fetch_add(usize::from(content.is_some()), Ordering::SeqCst);
            let item = match key.strip_suffix('/') {
                Some(dir) => Item { path: dir, kind: KeyKind::Dir, content: None },
                None => Item { path: &key, kind: KeyKind::File, content },
            };
            if take(item)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn remove(&self, call: &Call<'_>, path: RelPath<'_>, kind: KeyKind) -> Result<()> {
        self.ask(call)?;
        let slash = if kind == KeyKind::Dir { "/" } else { "" };
        self.keys().remove(&format!("{path}{slash}"));
        Ok(())
    }

    fn make_dir(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<()> {
        self.ask(call)?;
        self.keys().insert(format!("{dir}/"), Vec::new());
        Ok(())
    }
}

type Say<A> = Option<Box<dyn Fn(&str) -> Result<A> + Send + Sync>>;

/// A map that says something else where it was told to, and fails at a chosen call.
pub(crate) struct Lying {
    pub(crate) map: MapKeeper,
    pub(crate) look: Say<Sight>,
    pub(crate) read: Say<Option<Content>>,
    pub(crate) edit: Say<Option<u64>>,
    pub(crate) list: Say<Vec<Named>>,
    pub(crate) search: Say<Option<Vec<String>>>,
    /// Keys that it tells of, again and again.
    pub(crate) keys: Option<(Vec<String>, usize)>,
    /// What it was told that was left out of its answers.
    pub(crate) told: Mutex<Vec<String>>,
    /// The call that fails, counted from 1; none for 0.
    pub(crate) fails_at: AtomicUsize,
    pub(crate) calls: AtomicUsize,
}

impl Lying {
    pub(crate) fn new(map: MapKeeper) -> Self {
        Self {
            map,
            look: None,
            read: None,
            edit: None,
            list: None,
            search: None,
            keys: None,
            told: Mutex::default(),
            fails_at: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
        }
    }

    /// What it was told since the last time this was asked.
    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The n-th call from now on fails; none for 0.
    pub(crate) fn fail_at(&self, n: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.fails_at.store(n, Ordering::SeqCst);
    }

    /// Did the call fail that was to fail?
    pub(crate) fn has_failed(&self) -> bool {
        self.calls.load(Ordering::SeqCst) >= self.fails_at.load(Ordering::SeqCst)
    }

    fn say<A>(&self, lie: &Say<A>, path: RelPath<'_>, honest: impl FnOnce() -> Result<A>) -> Result<A> {
        if self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.fails_at.load(Ordering::SeqCst) {
            return Err(thrown("this call was chosen to fail"));
        }
        match lie {
            Some(lie) => lie(path.as_str()),
            None => honest(),
        }
    }
}

impl Keeper for Lying {
    fn abilities(&self) -> Abilities {
        self.map.abilities()
    }

    fn look(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Sight> {
        self.say(&self.look, path, || self.map.look(call, path))
    }

    fn read(&self, call: &Call<'_>, path: RelPath<'_>) -> Result<Option<Content>> {
        self.say(&self.read, path, || self.map.read(call, path))
    }

    fn write(&self, call: &Call<'_>, path: RelPath<'_>, content: &[u8], dated: Option<SystemTime>) -> Result<()> {
        self.say(&None, path, || self.map.write(call, path, content, dated))
    }

    fn edit(&self, call: &Call<'_>, path: RelPath<'_>, old: &str, new: &str) -> Result<Option<u64>> {
        self.say(&self.edit, path, || self.map.edit(call, path, old, new))
    }

    fn list(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<Vec<Named>> {
        self.say(&self.list, dir, || self.map.list(call, dir))
    }

    fn everything(&self, call: &Call<'_>, wanted: Wanted, take: Take<'_>) -> Result<()> {
        let honest = || match &self.keys {
            Some((keys, times)) => {
                for path in (0..*times).flat_map(|_| keys) {
                    let content = (wanted == Wanted::Contents).then(|| b"needle".to_vec());
                    if take(Item { path, kind: KeyKind::File, content })?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            None => self.map.everything(call, wanted, take),
        };
        self.say(&None, RelPath::HERE, honest)
    }

    fn left_out(&self, why: &StoreError) {
        let why = why.source().map(ToString::to_string).unwrap_or_default();
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(why);
    }

    fn search(&self, call: &Call<'_>, dir: RelPath<'_>, pattern: &str) -> Result<Option<Vec<String>>> {
        self.say(&self.search, dir, || self.map.search(call, dir, pattern))
    }

    fn remove(&self, call: &Call<'_>, path: RelPath<'_>, kind: KeyKind) -> Result<()> {
        self.say(&None, path, || self.map.remove(call, path, kind))
    }

    fn make_dir(&self, call: &Call<'_>, dir: RelPath<'_>) -> Result<()> {
        self.say(&None, dir, || self.map.make_dir(call, dir))
    }
}
