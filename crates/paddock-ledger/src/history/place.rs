//! Places: a path in the territory of a Mount as one text, and the way back to a logical path.
//!
//! Prefixes and Workspaces come and go with the configuration; the place that a Mount reached stays. So the past
//! is kept by place, and what it is called today is found from the Workspaces of today. A place is never shown to an
//! agent: it holds host paths.

use std::fmt;

use paddock_core::{LogicalPath, RelPath, RelPathBuf, Vfs, Workspace};

/// How many characters of a place are indexed.
const KEY: usize = 200;

/// A path in the territory of a Mount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The territory as text; empty where a Mount has none.
    pub territory: String,
    /// The path relative to the Mount; empty for the Mount itself.
    pub path: String,
}

impl Spot {
    /// The spot of a path in a Workspace, where its Mount has a territory.
    pub fn of(workspace: &Workspace, rel: RelPath<'_>) -> Option<Self> {
        let territory = workspace.territory()?.to_string();
        Some(Self { territory, path: rel.as_str().to_owned() })
    }

    /// The spot of a logical path, where it belongs to a Workspace whose Mount has a territory.
    pub fn find(vfs: &Vfs, path: &LogicalPath) -> Option<Self> {
        let inmost = vfs.workspaces().iter().filter(|w| path.below(w.prefix()).is_some());
        let workspace = inmost.max_by_key(|w| w.prefix().names().count())?;
        Self::of(workspace, path.below(workspace.prefix())?)
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(&self.territory, &self.path)
    }
}

/// A spot as one text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(String);

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Place {
    pub(crate) fn new(territory: &str, path: &str) -> Self {
        match (path, territory.ends_with('/')) {
            ("", _) => Self(territory.to_owned()),
            (path, true) => Self(format!("{territory}{path}")),
            (path, false) => Self(format!("{territory}/{path}")),
        }
    }

    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What is left of this place below another; empty for the other itself.
    pub(crate) fn below<'a>(&'a self, other: &Self) -> Option<&'a str> {
        match self.0.strip_prefix(&other.0)? {
            "" => Some(""),
            rest if other.0.ends_with('/') => Some(rest),
            rest => rest.strip_prefix('/'),
        }
    }

    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.below(other).is_some()
    }

    pub(crate) fn join(&self, rest: &str) -> Self {
        Self::new(&self.0, rest)
    }

    /// This place as it is called once `from` is called `to`.
    pub(crate) fn moved(&self, from: &Self, to: &Self) -> Option<Self> {
        self.below(from).map(|rest| to.join(rest))
    }

    /// The places above this one, nearest first, down to the territory's realm.
    pub(crate) fn above(&self) -> impl Iterator<Item = Self> + '_ {
        let first = self.0.find(":/").map_or(0, |at| at + 2);
        let cuts = self.0.char_indices().rev().filter(move |(at, c)| *c == '/' && *at >= first);
        let realm = (self.0.len() > first).then_some(first);
        cuts.map(|(at, _)| at).chain(realm).map(|at| Self(self.0[..at].to_owned()))
    }

    /// The directory that holds it.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.above().next()
    }

    /// The indexed beginning.
    pub(crate) fn key(&self) -> String {
        key(&self.0)
    }

    /// The bounds of what lies below: from the first to before the second.
    pub(crate) fn bounds(&self) -> (String, String) {
        let dir = self.0.trim_end_matches('/');
        // '0' is the byte after '/'.
        (format!("{dir}/"), format!("{dir}0"))
    }
}

/// The indexed beginning of a place. Cut by characters, so that the order of two places is never turned round.
pub(crate) fn key(place: &str) -> String {
    place.chars().take(KEY).collect()
}

/// What a place is called in the Workspaces of today, and which Workspace it is in.
pub(crate) fn logical<'v>(vfs: &'v Vfs, place: &Place, recorded: &str) -> Option<(LogicalPath, &'v Workspace)> {
    let named = |workspace: &'v Workspace| {
        let territory = workspace.territory()?.to_string();
        let rest = place.below(&Place::from_text(&territory))?;
        let rel = RelPathBuf::parse(rest).ok()?;
        let path = workspace.prefix().join(rel.as_rel());
        let reached = Spot::find(vfs, &path).is_some_and(|spot| spot.territory == territory);
        reached.then_some((path, workspace, territory))
    };
    // The very Mount it was done through first, then the one that reaches nearest.
    let all = vfs.workspaces().iter().filter_map(named);
    let best = all.max_by_key(|(_, _, territory)| (territory == recorded, territory.len()));
    best.map(|(path, workspace, _)| (path, workspace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_compared_by_whole_names() {
        let dir = Place::new("host:/a", "b");
        assert_eq!(dir.as_str(), "host:/a/b");
        assert_eq!(Place::new("host:/", "a/b"), dir);
        assert_eq!(Place::new("host:/a/b/c", "").below(&dir), Some("c"));
        assert_eq!(Place::new("host:/a", "bc").below(&dir), None);
        assert!(dir.is_within(&Place::new("host:/", "")));
        let (from, to) = dir.bounds();
        assert!(*"host:/a/b/c" >= *from && *"host:/a/b/c" < *to && !(*"host:/a/b-c" >= *from && *"host:/a/b-c" < *to));
    }

    #[test]
    fn what_is_above_ends_at_the_realm() {
        let above = |text: &str| Place::from_text(text).above().map(|p| p.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(above("host:/a/b"), ["host:/a", "host:/"]);
        assert_eq!(above("host:/a"), ["host:/"]);
        assert!(above("host:/").is_empty());
    }

    #[test]
    fn keys_keep_the_order_of_places() {
        let (long, other) = (format!("{}é", "a".repeat(KEY - 1)), format!("{}z{}", "a".repeat(KEY - 1), "b".repeat(9)));
        assert_eq!(long < other, key(&long) < key(&other));
        assert_eq!(key(&other).chars().count(), KEY);
    }
}
