//! What a Keeper holds, as far as its answers can be believed.
//!
//! Every answer is checked here and nowhere else: names that are none, paths that lead out, more than anybody has. One
//! that cannot be used is an error that says what was answered, for whoever looks after the store; an agent is only
//! told what is wrong with it. One name that is none is left out of a listing and told, since it must not hide all
//! others; whoever changes a directory is refused, as it would go with it unseen. What a store of somebody else holds by
//! itself is no bad answer: a key below a file makes a directory of it, and a key that is told twice is one key.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use paddock_core::{
    Act, Call, Change, ErrorKind, Kind, Meta, RelPath, RelPathBuf, Result, StoreError, Version, is_plain_name, visible,
};

use super::keeper::{Abilities, Content, Keeper, KeyKind, Listing, Named, Sight, Wanted};
use super::keys::{Everything, Way, path_of};

/// The most that one operation looks at.
pub(super) const MOST: usize = 250_000;
/// The largest file.
const LARGEST: usize = 256 * 1024 * 1024;
/// How much of an answer an error shows, in bytes.
const SHOWN: usize = 200;
/// Directories have nothing that could change.
const DIR_VERSION: Version = Version(0);

/// A Keeper during one operation.
pub(super) struct Shelf<'a> {
    pub(super) keeper: &'a dyn Keeper,
    pub(super) abilities: Abilities,
    pub(super) call: &'a Call<'a>,
    wanted: Wanted,
    strange: Strange,
    /// The one path that this is about, where it is about one.
    about: Option<RelPath<'a>>,
    way: OnceCell<Way>,
    everything: OnceCell<Everything>,
}

/// What becomes of a listing that holds what no agent could name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strange {
    LeftOut,
    Refused,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum Node {
    Dir,
    File(Content),
}

impl<'a> Shelf<'a> {
    pub(super) fn new(keeper: &'a dyn Keeper, abilities: Abilities, call: &'a Call<'a>) -> Self {
        let (way, everything) = (OnceCell::new(), OnceCell::new());
        Self { keeper, abilities, call, wanted: Wanted::Names, strange: Strange::LeftOut, about: None, way, everything }
    }

    /// With the contents that come along with everything, as far as they fit.
    pub(super) fn with_contents(mut self) -> Self {
        self.wanted = Wanted::Contents;
        self
    }

    /// For who asks about this path, and those above it, and no others.
    pub(super) fn about(mut self, path: RelPath<'a>) -> Self {
        self.about = Some(path).filter(|path| !path.is_here());
        self
    }

    /// The same, with the way to its path as it was seen before.
    pub(super) fn knowing(self, way: Option<Way>) -> Self {
        if let Some(way) = way {
            let _ = self.way.set(way);
        }
        self
    }

    /// The way to its path, where it was asked for.
    pub(super) fn into_way(self) -> Option<Way> {
        self.way.into_inner()
    }

    /// For who changes what is listed.
    pub(super) fn for_changes(mut self) -> Self {
        self.strange = Strange::Refused;
        self
    }

    /// What is at a path, with its content. What is not there is an error that says why.
    pub(super) fn find(&self, path: RelPath<'_>) -> Result<Node> {
        self.call.tick(0)?;
        if path.is_here() {
            return Ok(Node::Dir);
        }
        // Asked for its content first, since most of what is asked for is a file that is there.
        let looked = match self.content(path) {
            Ok(Some(content)) => return Ok(Node::File(content)),
            Err(e) if is_over(&e) => return Err(e),
            Ok(None) => self.look(path)?,
            // A store may have no other way to say that nothing is there; it may also hold what is no file.
            Err(_) => self.ask(path)?,
        };
        match looked {
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
        match self.way.get().filter(|way| way.leads_by(path)) {
            // Whoever has seen all names need not ask.
            Some(way) => Ok(way.kind(path)),
            None => self.ask(path),
        }
    }

    fn ask(&self, path: RelPath<'_>) -> Result<Option<KeyKind>> {
        let Some((dir, name)) = path.split_last() else { return Ok(Some(KeyKind::Dir)) };
        self.call.tick(0)?;
        match (self.keeper.look(self.call, path)?, self.abilities.listing) {
            (Sight::Nothing, _) => Ok(None),
            (Sight::There(kind), _) => Ok(Some(kind)),
            (Sight::Unsure, Listing::Whole) => match self.way()?.filter(|way| way.leads_by(path)) {
                Some(way) => Ok(way.kind(path)),
                None => Ok(self.everything()?.kind(path)),
            },
            (Sight::Unsure, Listing::Directories) => self.look_in_listing(dir, name),
        }
    }

    fn look_in_listing(&self, dir: RelPath<'_>, name: &str) -> Result<Option<KeyKind>> {
        let listed = match self.listed(dir, Strange::LeftOut) {
            Err(e) if dir.is_here() || is_over(&e) => return Err(e),
            // It may fail because there is no such directory, and that is for the one above to say.
            Err(_) if self.look(dir)? != Some(KeyKind::Dir) => return Ok(None),
            // It may have been made since.
            Err(_) => self.listed(dir, Strange::LeftOut)?,
            Ok(listed) => listed,
        };
        Ok(listed.get(name).copied())
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
        if let Some(bytes) = self.everything.get().and_then(|everything| everything.content(path)) {
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
        let listed = self.listed(dir, self.strange)?;
        Ok(listed.into_iter().map(|(name, kind)| Named { name, kind }).collect())
    }

    fn listed(&self, dir: RelPath<'_>, strange: Strange) -> Result<BTreeMap<String, KeyKind>> {
        self.call.tick(0)?;
        match self.abilities.listing {
            Listing::Whole => self.everything().map(|everything| everything.listed(dir)),
            Listing::Directories => self.by_name(self.keeper.list(self.call, dir)?, strange),
        }
    }

    /// Is nothing in a directory?
    pub(super) fn is_empty(&self, dir: RelPath<'_>) -> Result<bool> {
        if self.abilities.listing == Listing::Directories {
            return self.list(dir).map(|listed| listed.is_empty());
        }
        match self.way()?.filter(|_| self.about == Some(dir)) {
            Some(way) => Ok(!way.holds()),
            None => Ok(self.everything()?.is_empty(dir)),
        }
    }

    /// Everything, asked for once; [`Self::made`] keeps it true.
    fn everything(&self) -> Result<&Everything> {
        if let Some(everything) = self.everything.get() {
            return Ok(everything);
        }
        let mut all = Everything::default();
        self.keeper.everything(self.call, self.wanted, &mut |item| {
            self.call.tick(0)?;
            all.take(item).map(ControlFlow::Continue)
        })?;
        Ok(self.everything.get_or_init(|| all))
    }

    /// The way to the path that this is about, asked for once; nothing where everything is known or has to be.
    fn way(&self) -> Result<Option<&Way>> {
        let Some(about) = self.about.filter(|_| self.everything.get().is_none()) else { return Ok(None) };
        if self.way.get().is_none() {
            let mut way = Way::to(about);
            // Whoever hands over keys by pages asks for each whether the call is over.
            self.keeper.everything(self.call, Wanted::Names, &mut |item| {
                let is_known = way.meet(&item)?;
                Ok(if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            let _ = self.way.set(way);
        }
        Ok(self.way.get())
    }

    /// A change was made. What is known of everything follows it, as nobody else may change what is claimed.
    pub(super) fn made(&mut self, change: &Change) {
        let Some(all) = self.everything.get_mut() else { return };
        match change.act() {
            Act::Delete if self.abilities.make_dir => all.remove(change.path()),
            // Directories may have gone along, or a whole tree came.
            Act::Delete | Act::Move { .. } => drop(self.everything.take()),
            Act::MakeDir => all.put(change.path(), KeyKind::Dir),
            _ => all.put(change.path(), KeyKind::File),
        }
    }

    /// The candidates of a search that are paths at all; nothing where every file is one.
    pub(super) fn candidates(&self, dir: RelPath<'_>, pattern: &str) -> Result<Option<Vec<RelPathBuf>>> {
        self.call.tick(0)?;
        let Some(told) = self.keeper.search(self.call, dir, pattern)? else { return Ok(None) };
        if told.len() > MOST {
            return Err(too_large("the number of files that may match", MOST));
        }
        let strange = told.iter().map(String::as_str).filter(|text| path_of(text).is_none());
        self.leave_out("a search that found what is no path", strange);
        Ok(Some(told.iter().filter_map(|text| path_of(text)).collect()))
    }

    fn by_name(&self, listed: Vec<Named>, strange: Strange) -> Result<BTreeMap<String, KeyKind>> {
        const WHAT: &str = "a listing with a name that is none";
        if listed.len() > MOST {
            return Err(too_large("the number of names in a directory", MOST));
        }
        let mut nameless = listed.iter().map(|named| named.name.as_str()).filter(|name| !is_plain_name(name));
        match strange {
            Strange::Refused => nameless.next().map_or(Ok(()), |name| Err(bad_answer(WHAT, name)))?,
            Strange::LeftOut => self.leave_out(WHAT, nameless),
        }
        let mut names = BTreeMap::new();
        for Named { name, kind } in listed.into_iter().filter(|named| is_plain_name(&named.name)) {
            let known = names.entry(name).or_insert(kind);
            if kind == KeyKind::Dir {
                *known = kind;
            }
        }
        Ok(names)
    }

    /// Tells of the first of what is left out: one line, however much it is.
    fn leave_out<'t>(&self, what: &'static str, mut strange: impl Iterator<Item = &'t str>) {
        if let Some(first) = strange.next() {
            self.keeper.left_out(&bad_answer(what, first));
        }
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

/// The path of something in a directory. A tree that holds itself ends where a path does.
pub(super) fn inside(dir: &str, name: &str) -> Result<RelPathBuf> {
    let path = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
    path_of(&path).ok_or_else(|| bad_answer("a tree that does not end", &path))
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
