//! The plain model: trees as maps, a fork as its own map, a merge as three values for each path.
//!
//! Nothing here is clever, and nothing is shared with what it is compared with. A fork over a frozen Workspace is two
//! whole trees. One over a Workspace that can change is the list of what it covers, with what was below at that time.

use std::collections::BTreeMap;

/// A file of lines that stay apart, so that what a merge makes of it can be told line by line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) slots: [u8; 4],
    pub(crate) tail: Vec<u8>,
}

impl Text {
    pub(crate) fn render(&self) -> Vec<u8> {
        let mut out = String::new();
        for (slot, value) in self.slots.iter().enumerate() {
            // The last one is either short or larger than a chunk.
            let fill = if slot == 3 && value % 2 == 1 { "x".repeat(70_000) } else { String::new() };
            out.push_str(&format!("s{slot}={value}{fill}\n--a{slot}\n--b{slot}\n--c{slot}\n"));
        }
        for value in &self.tail {
            out.push_str(&format!("t{value}\n"));
        }
        out.into_bytes()
    }

    /// What two sides made of it; nothing where they contradict each other.
    fn merged(base: &Self, ours: &Self, theirs: &Self) -> Option<Self> {
        let mut slots = [0; 4];
        for (slot, to) in slots.iter_mut().enumerate() {
            *to = three_way(&base.slots[slot], &ours.slots[slot], &theirs.slots[slot])?;
        }
        Some(Self { slots, tail: three_way(&base.tail, &ours.tail, &theirs.tail)? })
    }
}

fn three_way<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T) -> Option<T> {
    if ours == theirs || ours == base {
        Some(theirs.clone())
    } else if base == theirs {
        Some(ours.clone())
    } else {
        None
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Dir,
    File(Text),
    /// As it is written.
    Link(&'static str),
}

pub(crate) type Tree = BTreeMap<String, Node>;

/// The directories above a path, from the top down.
pub(crate) fn above(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

pub(crate) fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// What applying comes to: the new tree, or nothing when something contradicts.
pub(crate) fn merged(base: &Tree, ours: &Tree, theirs: &Tree) -> Option<Tree> {
    let mut result = Tree::new();
    let mut from_here = Vec::new();
    let paths: std::collections::BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    for path in paths {
        let (b, o, t) = (base.get(path), ours.get(path), theirs.get(path));
        let node = match (three_way(&b, &o, &t), b, o, t) {
            (Some(node), ..) => node.cloned(),
            (None, Some(Node::File(b)), Some(Node::File(o)), Some(Node::File(t))) => {
                Some(Node::File(Text::merged(b, o, t)?))
            }
            _ => return None,
        };
        let Some(node) = node else { continue };
        if t.is_none() {
            from_here.push(path.clone());
        }
        result.insert(path.clone(), node);
    }
    // What comes from the fork brings the directories it needs along.
    for path in from_here {
        for dir in above(&path) {
            result.entry(dir.to_owned()).or_insert(Node::Dir);
        }
    }
    let in_directories = |path: &String| above(path).all(|dir| result.get(dir) == Some(&Node::Dir));
    result.keys().all(in_directories).then_some(result)
}

/// One of the places that change, as the model has it.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The Workspace itself, or a fork of a frozen one: a tree.
    Plain(Tree),
    Live(Live),
}

/// A fork over a Workspace that can change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    own: BTreeMap<String, Own>,
    /// What was below when a path was covered, or what the fork held when it was applied.
    notes: BTreeMap<String, Option<Node>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Own {
    /// Lets what is below show through.
    Dir,
    /// Lets nothing through.
    NewDir,
    /// A file or a link.
    Is(Node),
    Gone,
}

impl Live {
    fn shows_through(&self, path: &str) -> bool {
        above(path).rev().find_map(|dir| self.own.get(dir)).is_none_or(|own| *own == Own::Dir)
    }

    fn below<'t>(&self, lower: &'t Tree, path: &str) -> Option<&'t Node> {
        lower.get(path).filter(|_| self.shows_through(path))
    }

    fn get(&self, lower: &Tree, path: &str) -> Option<Node> {
        match self.own.get(path) {
            Some(Own::Gone) => None,
            Some(Own::Dir | Own::NewDir) => Some(Node::Dir),
            Some(Own::Is(node)) => Some(node.clone()),
            None => self.below(lower, path).cloned(),
        }
    }

    /// The common ancestor of what is here and what is below.
    fn base(&self, lower: &Tree, path: &str) -> Option<Node> {
        if !self.own.contains_key(path) && self.shows_through(path) {
            return lower.get(path).cloned();
        }
        self.notes.get(path).cloned().flatten()
    }

    fn put(&mut self, lower: &Tree, path: &str, own: Own) {
        if !self.own.contains_key(path) && self.shows_through(path) {
            match lower.get(path) {
                Some(node) => drop(self.notes.insert(path.to_owned(), Some(node.clone()))),
                None => self.forget(path),
            }
        }
        self.own.insert(path.to_owned(), own);
    }

    fn forget(&mut self, path: &str) {
        self.notes.retain(|noted, _| noted != path && !is_below(noted, path));
    }

    fn make_parents(&mut self, lower: &Tree, path: &str) {
        for dir in above(path) {
            if matches!(self.own.get(dir), Some(Own::Dir | Own::NewDir)) {
                continue;
            }
            let through = !self.own.contains_key(dir) && self.below(lower, dir).is_some();
            let own = if through { Own::Dir } else { Own::NewDir };
            self.put(lower, dir, own);
        }
    }

    fn remove(&mut self, lower: &Tree, path: &str) {
        self.own.retain(|own, _| !is_below(own, path));
        self.make_parents(lower, path);
        if self.below(lower, path).is_some() {
            self.put(lower, path, Own::Gone);
            return;
        }
        self.own.remove(path);
        if self.shows_through(path) {
            self.forget(path);
        }
    }

    fn restore(&mut self, lower: &Tree, path: &str, node: &Node, was_own: bool) {
        if !was_own && self.below(lower, path).is_some() {
            self.own.remove(path);
            self.forget(path);
            return;
        }
        self.make_parents(lower, path);
        self.put(lower, path, Own::Is(node.clone()));
    }
}

impl Place {
    pub(crate) fn get(&self, lower: &Tree, path: &str) -> Option<Node> {
        match self {
            Self::Plain(tree) => tree.get(path).cloned(),
            Self::Live(live) => live.get(lower, path),
        }
    }

    pub(crate) fn tree(&self, lower: &Tree) -> Tree {
        match self {
            Self::Plain(tree) => tree.clone(),
            Self::Live(live) => {
                let paths = live.own.keys().chain(lower.keys());
                paths.filter_map(|path| Some((path.clone(), live.get(lower, path)?))).collect()
            }
        }
    }

    /// The common ancestors of what a live fork and its Workspace hold.
    pub(crate) fn base(&self, lower: &Tree) -> Tree {
        match self {
            Self::Plain(tree) => tree.clone(),
            Self::Live(live) => {
                let paths = live.own.keys().chain(lower.keys()).chain(live.notes.keys());
                paths.filter_map(|path| Some((path.clone(), live.base(lower, path)?))).collect()
            }
        }
    }

    /// What a live fork holds is below now.
    pub(crate) fn applied(&mut self) {
        let Self::Live(live) = self else { return };
        let note = |own: &Own| match own {
            Own::Dir | Own::NewDir => Some(Node::Dir),
            Own::Is(node) => Some(node.clone()),
            Own::Gone => None,
        };
        live.notes = live.own.iter().map(|(path, own)| (path.clone(), note(own))).collect();
    }

    pub(crate) fn is_own(&self, path: &str) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Live(live) => matches!(live.own.get(path), Some(Own::Is(_))),
        }
    }

    /// Puts a file or a link.
    pub(crate) fn put(&mut self, lower: &Tree, path: &str, node: &Node) {
        self.make_parents(lower, path);
        match self {
            Self::Plain(tree) => drop(tree.insert(path.to_owned(), node.clone())),
            Self::Live(live) => live.put(lower, path, Own::Is(node.clone())),
        }
    }

    pub(crate) fn put_dir(&mut self, lower: &Tree, path: &str) {
        if self.get(lower, path).is_some() {
            return;
        }
        self.make_parents(lower, path);
        match self {
            Self::Plain(tree) => drop(tree.insert(path.to_owned(), Node::Dir)),
            Self::Live(live) => live.put(lower, path, Own::NewDir),
        }
    }

    /// A file, or a directory that holds nothing, goes.
    pub(crate) fn remove(&mut self, lower: &Tree, path: &str) {
        match self {
            Self::Plain(tree) => drop(tree.remove(path)),
            Self::Live(live) => live.remove(lower, path),
        }
    }

    pub(crate) fn restore(&mut self, lower: &Tree, path: &str, node: &Node, was_own: bool) {
        match self {
            Self::Plain(_) => self.put(lower, path, node),
            Self::Live(live) => live.restore(lower, path, node, was_own),
        }
    }

    fn make_parents(&mut self, lower: &Tree, path: &str) {
        match self {
            Self::Plain(tree) => {
                for dir in above(path) {
                    tree.entry(dir.to_owned()).or_insert(Node::Dir);
                }
            }
            Self::Live(live) => live.make_parents(lower, path),
        }
    }
}
