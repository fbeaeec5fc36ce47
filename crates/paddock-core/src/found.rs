//! What a listing brings back: entries, with all their paths in one text.
//!
//! There are thousands of them at a time, and a piece of memory for each costs more than all else that is done with it.

use std::fmt;

use crate::scope::AccessScope;
use crate::store::Kind;

/// One entry, in logical paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a> {
    /// The path; shown escaped where `plain` is false.
    pub path: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Can it be named in a call?
    pub plain: bool,
    /// The scope, when a Workspace begins here.
    pub scope: Option<AccessScope>,
}

/// Entries in the order in which they were found.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FoundList {
    paths: String,
    facts: Vec<Facts>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Facts {
    /// Where its path ends, and the next one begins.
    end: usize,
    kind: Kind,
    plain: bool,
    scope: Option<AccessScope>,
}

impl FoundList {
    /// Puts one behind all others.
    pub fn push(&mut self, found: Found<'_>) {
        let Found { path, kind, plain, scope } = found;
        self.paths.push_str(path);
        self.facts.push(Facts { end: self.paths.len(), kind, plain, scope });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// The entry at a position.
    pub fn get(&self, at: usize) -> Option<Found<'_>> {
        let Facts { end, kind, plain, scope } = *self.facts.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.facts[before].end);
        Some(Found { path: &self.paths[start..end], kind, plain, scope })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Found<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl fmt::Debug for FoundList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> FromIterator<Found<'a>> for FoundList {
    fn from_iter<I: IntoIterator<Item = Found<'a>>>(found: I) -> Self {
        let mut list = Self::default();
        found.into_iter().for_each(|one| list.push(one));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_keeps_its_own_path() {
        let one = |path, kind| Found { path, kind, plain: true, scope: None };
        let given = [one("/a", Kind::File), one("/", Kind::Dir), one("/é/b", Kind::Link)];
        let list: FoundList = given.into_iter().collect();
        assert!(list.iter().eq(given) && list.iter().rev().eq(given.into_iter().rev()));
        assert_eq!((list.len(), list.get(1), list.get(3)), (3, Some(given[1]), None));
        assert!(FoundList::default().is_empty() && FoundList::default().iter().next().is_none());
    }
}
