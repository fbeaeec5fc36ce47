//! What the keys of a store say that tells them only all at once: the whole tree, or the way to one path.
//!
//! The tree is for whoever goes through it. A single change asks for less, and as often as there are changes: what is
//! on the way to its path, for which nothing has to be kept and the first key below the path is enough. What is no path
//! is nobody's file and is left out, here and nowhere else.

use std::collections::{BTreeMap, HashMap};

use paddock_core::{MAX_PATH, RelPath, RelPathBuf, Result};

use super::keeper::{Item, KeyKind};
use super::shelf::{MOST, too_large};

/// How much of the contents that come along with everything is held; the rest is read when it is wanted.
const HELD: usize = 64 * 1024 * 1024;

/// The path that a text is; nothing where it is none.
pub(super) fn path_of(text: &str) -> Option<RelPathBuf> {
    RelPathBuf::parse(text).ok().filter(|_| !text.is_empty() && text.len() <= MAX_PATH)
}

/// Counts keys, and says when there are more than anybody has.
#[derive(Default)]
struct Counted(usize);

impl Counted {
    fn one_more(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 > MOST { Err(too_large("the number of keys", MOST)) } else { Ok(()) }
    }
}

/// Everything that a Keeper holds, as a tree.
#[derive(Default)]
pub(super) struct Everything {
    /// What is directly in each directory.
    dirs: HashMap<String, BTreeMap<String, KeyKind>>,
    contents: HashMap<String, Vec<u8>>,
    count: Counted,
    /// How many bytes of contents are held.
    held: usize,
}

impl Everything {
    pub(super) fn take(&mut self, item: Item<'_>) -> Result<()> {
        self.count.one_more()?;
        let Some(path) = path_of(item.path) else { return Ok(()) };
        self.put(path.as_rel(), item.kind);
        if let Some(content) = item.content.filter(|content| self.held + content.len() <= HELD) {
            self.held += content.len();
            self.contents.insert(item.path.to_owned(), content);
        }
        Ok(())
    }

    /// What has something below it is a directory, whatever else it is.
    pub(super) fn put(&mut self, path: RelPath<'_>, kind: KeyKind) {
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

    /// Something was taken away, and the directory it was in stays.
    pub(super) fn remove(&mut self, path: RelPath<'_>) {
        if let Some((dir, name)) = path.split_last()
            && let Some(listed) = self.dirs.get_mut(dir.as_str())
        {
            listed.remove(name);
        }
    }

    pub(super) fn kind(&self, path: RelPath<'_>) -> Option<KeyKind> {
        let Some((dir, name)) = path.split_last() else { return Some(KeyKind::Dir) };
        self.dirs.get(dir.as_str())?.get(name).copied()
    }

    pub(super) fn listed(&self, dir: RelPath<'_>) -> BTreeMap<String, KeyKind> {
        self.dirs.get(dir.as_str()).cloned().unwrap_or_default()
    }

    pub(super) fn is_empty(&self, dir: RelPath<'_>) -> bool {
        self.dirs.get(dir.as_str()).is_none_or(BTreeMap::is_empty)
    }

    pub(super) fn content(&self, path: RelPath<'_>) -> Option<&[u8]> {
        self.contents.get(path.as_str()).map(Vec::as_slice)
    }
}

/// What the keys say about one path and the directories above it.
pub(super) struct Way {
    path: RelPathBuf,
    /// What each of them is, from the top; the last is the path itself.
    kinds: Vec<Option<KeyKind>>,
    /// Does something lie below the path?
    holds: bool,
    /// How many bytes of the path lead to the first of them that is not known to be a directory.
    open: usize,
    count: Counted,
}

impl Way {
    pub(super) fn to(path: RelPath<'_>) -> Self {
        let kinds = vec![None; path.names().count()];
        let mut way = Self { path: path.to_buf(), kinds, holds: false, open: 0, count: Counted::default() };
        way.go_on();
        way
    }

    fn go_on(&mut self) {
        let known = self.kinds.iter().take_while(|kind| **kind == Some(KeyKind::Dir)).count();
        let path = self.path.as_str();
        self.open = path.match_indices('/').nth(known).map_or(path.len(), |(at, _)| at);
    }

    /// Looks at a key; is all known then?
    pub(super) fn meet(&mut self, item: &Item<'_>) -> Result<bool> {
        self.count.one_more()?;
        // Asked of every key of a store for every new file: most tell nothing new, and that has to be seen at once.
        if !item.path.starts_with(&self.path.as_str()[..self.open]) {
            return Ok(self.holds);
        }
        let (names, goes_on) = shared(self.path.as_str(), item.path);
        let is_whole = goes_on && names == self.kinds.len();
        // Only one that does has to be a path.
        let tells = names > 0 && (self.kinds[names - 1] != Some(KeyKind::Dir) || is_whole);
        if tells && path_of(item.path).is_some() {
            self.kinds[..names].fill(Some(KeyKind::Dir));
            if !goes_on {
                self.kinds[names - 1] = Some(item.kind);
            }
            self.holds |= is_whole;
            self.go_on();
        }
        Ok(self.holds)
    }

    /// Where it leads.
    pub(super) fn path(&self) -> RelPath<'_> {
        self.path.as_rel()
    }

    /// Is this path on the way?
    pub(super) fn leads_by(&self, path: RelPath<'_>) -> bool {
        self.path.as_rel().is_within(path)
    }

    /// What is at a path on the way.
    pub(super) fn kind(&self, path: RelPath<'_>) -> Option<KeyKind> {
        match path.names().count() {
            0 => Some(KeyKind::Dir),
            names => self.kinds.get(names - 1).copied().flatten(),
        }
    }

    /// Does something lie below the path itself?
    pub(super) fn holds(&self) -> bool {
        self.holds
    }
}

/// How many names two paths share from the top, and whether the second goes on after them.
fn shared(path: &str, key: &str) -> (usize, bool) {
    let mut theirs = key.split('/');
    let mut names = 0;
    for ours in path.split('/') {
        match theirs.next() {
            Some(name) if name == ours => names += 1,
            other => return (names, other.is_some()),
        }
    }
    (names, theirs.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &str) -> Item<'_> {
        match key.strip_suffix('/') {
            Some(path) => Item { path, kind: KeyKind::Dir, content: None },
            None => Item { path: key, kind: KeyKind::File, content: None },
        }
    }

    fn rel(path: &str) -> RelPathBuf {
        RelPathBuf::parse(path).unwrap()
    }

    /// What a tree of these keys, and the way to `a/b/c` through them, say about each path on it; both say the same.
    fn said(keys: &[&str]) -> ([Option<KeyKind>; 3], bool) {
        let (mut all, path) = (Everything::default(), rel("a/b/c"));
        let mut way = Way::to(path.as_rel());
        for key in keys {
            all.take(item(key)).unwrap();
            if way.meet(&item(key)).unwrap() {
                assert!(way.holds(), "it ends when there is no more to know");
            }
        }
        let asked = ["a", "a/b", "a/b/c"].map(rel);
        let told = [0, 1, 2].map(|at| way.kind(asked[at].as_rel()));
        assert_eq!(told, [0, 1, 2].map(|at| all.kind(asked[at].as_rel())), "{keys:?}");
        assert_eq!(way.holds(), !all.is_empty(path.as_rel()), "{keys:?}");
        (told, way.holds())
    }

    const DIR: Option<KeyKind> = Some(KeyKind::Dir);
    const FILE: Option<KeyKind> = Some(KeyKind::File);

    #[test]
    fn the_way_to_a_path_says_of_it_what_the_tree_does() {
        assert_eq!(said(&[]), ([None; 3], false));
        assert_eq!(said(&["a/b/c"]), ([DIR, DIR, FILE], false));
        assert_eq!(said(&["a/b/c/"]), ([DIR; 3], false));
        assert_eq!(said(&["a/b/c/d/e"]), ([DIR; 3], true));
        assert_eq!(said(&["a/b/c/", "a/b/c/d/"]), ([DIR; 3], true));
        assert_eq!(said(&["a/b/c/d", "a/b/c", "a"]), ([DIR; 3], true));
        assert_eq!(said(&["a"]), ([FILE, None, None], false));
        assert_eq!(said(&["a", "a/x"]), ([DIR, None, None], false));
        assert_eq!(said(&["a/x", "a"]), ([DIR, None, None], false));
        assert_eq!(said(&["a/b", "a/bc/c/x", "ab/b/c/x", "b/c/x", "a-b"]), ([DIR, FILE, None], false));
    }

    #[test]
    fn what_is_no_path_says_nothing() {
        for key in ["a/b/c//d", "a/b/c/../x", "a/b/c/nul\0", "/a/b/c", "", "a/b/c/."] {
            assert_eq!(said(&[key]), ([None; 3], false), "{key:?}");
        }
    }

    #[test]
    fn what_was_taken_away_is_gone_and_its_directory_stays() {
        let mut all = Everything::default();
        for key in ["a/b/c", "a/b/d"] {
            all.take(item(key)).unwrap();
        }
        all.remove(rel("a/b/c").as_rel());
        assert_eq!(all.kind(rel("a/b/c").as_rel()), None);
        assert!(!all.is_empty(rel("a/b").as_rel()));
        all.remove(rel("a/b/d").as_rel());
        assert!(all.is_empty(rel("a/b").as_rel()));
        assert_eq!(all.kind(rel("a/b").as_rel()), DIR);
    }

    #[test]
    fn only_so_much_of_the_contents_is_held_and_the_rest_is_still_known() {
        let mut all = Everything::default();
        // Zeroes that nobody looks at cost no memory.
        for path in ["a", "b"] {
            let content = Some(vec![0; HELD / 2 + 1]);
            all.take(Item { path, kind: KeyKind::File, content }).unwrap();
        }
        assert!(all.content(rel("a").as_rel()).is_some() && all.content(rel("b").as_rel()).is_none());
        assert_eq!(all.kind(rel("b").as_rel()), FILE);
    }
}
