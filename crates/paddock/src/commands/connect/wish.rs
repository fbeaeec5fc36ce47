//! What a client's file should say, and what was done to it so that it does.
//!
//! A [`Wish`] is one place in a file: a value, or items of a list. [`Done`] is what came of it, with all that is needed to
//! take it back: it is what `--undo` reads. Neither knows how a file is written; `document.rs` does.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The way to a place in a file: one key below the other.
pub(crate) type At = Vec<String>;

/// The way that is written with dots; no key here has one of its own.
pub(crate) fn at(dotted: &str) -> At {
    dotted.split('.').map(str::to_owned).collect()
}

/// The keys of a table in the order in which people write them: what it is first.
pub(crate) fn in_order(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    const FIRST: [&str; 3] = ["type", "command", "url"];
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut rows: Vec<_> = map.iter().collect();
    rows.sort_by_key(|(key, _)| rank(key));
    rows.into_iter()
}

/// One thing that a file should say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    /// This value, whatever stands there now.
    Put { at: At, value: Value },
    /// This value where there is none.
    Default { at: At, value: Value },
    /// Paddock's entry: it is only put where there is none, or where it is Paddock's own.
    Entry { at: At, value: Value },
    /// These items in a list, beside those that are there.
    Add { at: At, items: Vec<Value> },
}

/// One thing that was done to a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Done {
    /// A value was put; it was another one before, or none.
    Put { at: At, was: Option<Value>, is: Value },
    /// An item was added to a list.
    Added { at: At, item: Value },
    /// A table or a list was made to hold what was put.
    Made { at: At },
    /// The whole text is Paddock's.
    Wrote { text: String },
}

impl Wish {
    /// Is this what was done for it?
    pub(crate) fn covers(&self, done: &Done) -> bool {
        match (self, done) {
            (
                Self::Put { at, .. } | Self::Default { at, .. } | Self::Entry { at, .. },
                Done::Put { at: done_at, .. },
            ) => at == done_at,
            (Self::Add { at, items }, Done::Added { at: done_at, item }) => at == done_at && items.contains(item),
            (_, Done::Made { at }) => self.at().starts_with(at),
            _ => false,
        }
    }

    pub(crate) fn at(&self) -> &At {
        match self {
            Self::Put { at, .. } | Self::Default { at, .. } | Self::Entry { at, .. } | Self::Add { at, .. } => at,
        }
    }
}
