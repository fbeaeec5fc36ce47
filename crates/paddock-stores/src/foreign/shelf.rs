//! What a Keeper holds, as far as its answers can be believed.
//!
//! Every answer is checked here and nowhere else: names that are none, paths that lead out, more than anybody has. One
//! that cannot be used is an error that says what was answered, for whoever looks after the store; an agent is only
//! told what is wrong with it. What a store of somebody else holds by itself is no bad answer: a key below a file makes
//! a directory of it, and a key that is told twice is one key.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::io;

use paddock_core::{
    Call, ErrorKind, Kind, MAX_PATH, Meta, RelPath, RelPathBuf, Result, StoreError, Version, is_plain_name, visible,
};

use super::keeper::{Abilities, Content, Item, Keeper, KeyKind, Listing, Named, Sight};

/// The most that one operation looks at.
pub(super) const MOST: usize = 250_000;
/// The largest file.
const LARGEST: usize = 256 * 1024 * 1024;
/// How much of the contents that come along with everything is held; the rest is read when it is wanted.
const HELD: usize = 64 * 1024 * 1024;
/// How much of an answer an error shows, in bytes.
const SHOWN: usize = 200;
/// Directories have nothing that could change.
const DIR_VERSION: Version = Version(0);

/// A Keeper during one operation.
pub(super) struct Shelf<'a> {
    pub(super) keeper: &'a dyn Keeper,
    pub(super) abilities: Abilities,
    pub(super) call: &'a Call<'a>,
    wants_contents: bool,
    everything: OnceCell<Everything>,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum Node {
    Dir,
    File(Content),
}

/// Everything that a Keeper holds, as a tree.
#[derive(Default)]
struct Everything {
    /// What is directly in each directory.
    dirs: HashMap<String, BTreeMap<String, KeyKind>>,
    contents: HashMap<String, Vec<u8>>,
    /// How many things there are, and how many bytes of contents are held.
    count: usize,
    held: usize,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(keeper: &'a dyn Keeper, abilities: Abilities, call: &'a Call<'a>) -> Self {
        Self { keeper, abilities, call, wants_contents: false, everything: OnceCell::new() }
    }

    /// With the contents that come along with everything, as far as they fit.
    pub(super) fn with_contents(mut self) -> Self {
        self.wants_contents = true;
        self
    }

    /// What is at a path, with its content. What is not there is an error that says why.
    pub(super) fn find(&self, path: RelPath<'_>) -> Result<Node> {
        self.call.tick(0)?;
        if path.is_here() {
            return Ok(Node::Dir);
        }
        // Asked for its content first, since most of what is asked for is a file that is there.
        match self.content(path) {
            Ok(Some(content)) => return Ok(Node::File(content)),
            Err(e) if is_over(&e) => return Err(e),
            // A store may have no other way to say that nothing is there.
            Ok(None) | Err(_) => {}
        }
        match self.look(path)? {
            Some(KeyKind::Dir) => Ok(Node::Dir),
            None => Err(self.missing(path)?.into()),
            // It may have been made since.
            Some(KeyKind::File) => match self.content(path)? {
                Some(content) => Ok(Node::File(content)),
                None => Err(bad_answer("a file that is there and cannot be read", path.as_str())),
            },
        }
    }

    /// As [`Self::find`], where nothing being there is fine.
    pub(super) fn find_any(&self, path: RelPath<'_>) -> Result<Option<Node>> {
        match self.find(path) {
            Err(e) if *e.kind() == ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// What kind of thing is at a path.
    pub(super) fn look(&self, path: RelPath<'_>) -> Result<Option<KeyKind>> {
        let Some((dir, name)) = path.split_last() else { return Ok(Some(KeyKind::Dir)) };
        self.call.tick(0)?;
        match (self.keeper.look(self.call, path)?, self.abilities.listing) {
            (Sight::Nothing, _) => Ok(None),
            (Sight::There(kind), _) => Ok(Some(kind)),
            (Sight::Unsure, Listing::Whole) => Ok(self.everything()?.kind(dir.as_str(), name)),
            (Sight::Unsure, Listing::Directories) => self.look_in_listing(dir, name),
        }
    }

    fn look_in_listing(&self, dir: RelPath<'_>, name: &str) -> Result<Option<KeyKind>> {
        let listed = match self.list(dir) {
            Err(e) if dir.is_here() || is_over(&e) => return Err(e),
            // It may fail because there is no such directory, and that is for the one above to say.
            Err(_) if self.look(dir)? != Some(KeyKind::Dir) => return Ok(None),
            // It may have been made since.
            Err(_) => self.list(dir)?,
            Ok(listed) => listed,
        };
        Ok(listed.into_iter().find(|entry| entry.name == name).map(|entry| entry.kind))
    }

    /// Why nothing is at a path.
    fn missing(&self, path: RelPath<'_>) -> Result<ErrorKind> {
        let mut above: Vec<RelPath<'_>> = path.ancestors().skip(1).collect();
        // Most often it is only the last name; else the shortest way to tell is from the top.
        if let Some(parent) = above.first()
            && self.look(*parent)? == Some(KeyKind::Dir)
        {
            return Ok(ErrorKind::NotFound);
        }
        while let Some(dir) = above.pop() {
            match self.look(dir)? {
                Some(KeyKind::Dir) => {}
                Some(KeyKind::File) => return Ok(ErrorKind::NotADirectory),
                None => break,
            }
        }
        Ok(ErrorKind::NotFound)
    }

    /// The whole content of a file; nothing where none is told.
    pub(super) fn content(&self, path: RelPath<'_>) -> Result<Option<Content>> {
        self.call.tick(0)?;
        let content = self.keeper.read(self.call, path)?;
        match &content {
            Some(content) if content.bytes.len() > LARGEST => Err(too_large("the size of the file", LARGEST)),
            _ => Ok(content),
        }
    }

    /// The content of a file that a search wants: what came along with everything, or read now.
    pub(super) fn content_for_search(&self, path: RelPath<'_>) -> Result<Option<Cow<'_, [u8]>>> {
        if let Some(bytes) = self.everything.get().and_then(|everything| everything.contents.get(path.as_str())) {
            return Ok(Some(Cow::Borrowed(bytes)));
        }
        match self.find(path) {
            Ok(Node::File(content)) => Ok(Some(Cow::Owned(content.bytes))),
            Ok(Node::Dir) => Ok(None),
            // It went away since it was listed.
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// What is directly in a directory, by name.
    pub(super) fn list(&self, dir: RelPath<'_>) -> Result<Vec<Named>> {
        self.call.tick(0)?;
        let listed = match self.abilities.listing {
            Listing::Whole => self.everything()?.listed(dir.as_str()),
            Listing::Directories => by_name(self.keeper.list(self.call, dir)?)?,
        };
        Ok(listed.into_iter().map(|(name, kind)| Named { name, kind }).collect())
    }

    fn everything(&self) -> Result<&Everything> {
        if let Some(everything) = self.everything.get() {
            return Ok(everything);
        }
        let mut all = Everything::default();
        self.keeper.everything(self.call, &mut |item| {
            self.call.tick(0)?;
            all.take(item, self.wants_contents)
        })?;
        Ok(self.everything.get_or_init(|| all))
    }

    /// The candidates of a search that are paths at all, each once; nothing where every file is one.
    pub(super) fn candidates(&self, dir: RelPath<'_>, pattern: &str) -> Result<Option<Vec<RelPathBuf>>> {
        self.call.tick(0)?;
        let Some(told) = self.keeper.search(self.call, dir, pattern)? else { return Ok(None) };
        if told.len() > MOST {
            return Err(too_large("the number of files that may match", MOST));
        }
        told.iter().map(|path| path_of("a search that found what is no path", path)).collect::<Result<_>>().map(Some)
    }
}

impl Everything {
    fn take(&mut self, item: Item, wants_content: bool) -> Result<()> {
        let path = path_of("a key that is no path", &item.path)?;
        self.count += 1;
        if self.count > MOST {
            return Err(too_large("the number of keys", MOST));
        }
        self.put(path.as_rel(), item.kind);
        if let Some(content) = item.content.filter(|content| wants_content && self.held + content.len() <= HELD) {
            self.held += content.len();
            self.contents.insert(item.path, content);
        }
        Ok(())
    }

    /// What has something below it is a directory, whatever else it is.
    fn put(&mut self, path: RelPath<'_>, kind: KeyKind) {
        let mut kind = kind;
        for path in path.ancestors() {
            let Some((dir, name)) = path.split_last() else { return };
            let listed = self.dirs.entry(dir.as_str().to_owned()).or_default();
            match (listed.get(name), kind) {
                (None, _) | (Some(KeyKind::File), KeyKind::Dir) => drop(listed.insert(name.to_owned(), kind)),
                // The directories above are known since then.
                (Some(_), _) => return,
            }
            kind = KeyKind::Dir;
        }
    }

    fn kind(&self, dir: &str, name: &str) -> Option<KeyKind> {
        self.dirs.get(dir)?.get(name).copied()
    }

    fn listed(&self, dir: &str) -> BTreeMap<String, KeyKind> {
        self.dirs.get(dir).cloned().unwrap_or_default()
    }
}

impl Node {
    pub(super) fn kind(&self) -> KeyKind {
        match self {
            Self::Dir => KeyKind::Dir,
            Self::File(_) => KeyKind::File,
        }
    }

    pub(super) fn meta(&self) -> Meta {
        match self {
            Self::Dir => Meta { kind: Kind::Dir, len: 0, version: DIR_VERSION, mode: None, modified: None },
            Self::File(Content { bytes, modified }) => Meta {
                kind: Kind::File,
                len: bytes.len() as u64,
                version: version_of(bytes),
                mode: None,
                modified: *modified,
            },
        }
    }
}

/// Equal for equal contents, and for no others.
pub(super) fn version_of(content: &[u8]) -> Version {
    let hash = blake3::hash(content);
    let mut half = [0; 16];
    half.copy_from_slice(&hash.as_bytes()[..16]);
    Version(u128::from_be_bytes(half))
}

fn by_name(listed: Vec<Named>) -> Result<BTreeMap<String, KeyKind>> {
    if listed.len() > MOST {
        return Err(too_large("the number of names in a directory", MOST));
    }
    let mut names = BTreeMap::new();
    for Named { name, kind } in listed {
        if !is_plain_name(&name) {
            return Err(bad_answer("a listing with a name that is none", &name));
        }
        let known = names.entry(name).or_insert(kind);
        if kind == KeyKind::Dir {
            *known = kind;
        }
    }
    Ok(names)
}

fn path_of(what: &'static str, path: &str) -> Result<RelPathBuf> {
    match RelPathBuf::parse(path) {
        Ok(parsed) if !path.is_empty() && path.len() <= MAX_PATH => Ok(parsed),
        _ => Err(bad_answer(what, path)),
    }
}

/// The path of something in a directory. A tree that holds itself ends where a path does.
pub(super) fn inside(dir: &str, name: &str) -> Result<RelPathBuf> {
    let path = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
    path_of("a tree that does not end", &path)
}

/// An answer that cannot be used. What it was is the cause, and for people.
pub(super) fn bad_answer(what: &'static str, answered: &str) -> StoreError {
    let shown = &answered[..answered.floor_char_boundary(SHOWN)];
    let cut = if shown.len() < answered.len() { "…" } else { "" };
    let source = io::Error::other(format!("the store answered \"{}{cut}\"", visible(shown)));
    StoreError::caused_by(ErrorKind::BadAnswer(what), source)
}

pub(super) fn too_large(what: &'static str, limit: usize) -> StoreError {
    ErrorKind::TooLarge { what, limit: limit as u64 }.into()
}

/// Has the call ended? Then nothing more is asked.
pub(super) fn is_over(error: &StoreError) -> bool {
    matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::TimedOut)
}

/// Is nothing there, any more?
pub(super) fn is_gone(error: &StoreError) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
