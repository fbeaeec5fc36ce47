//! The key-value database under a Virtual Store, as a trait: rows by namespace and key, every version of them.
//!
//! A namespace is a tuple of names and matches exactly: `("a1",)` never sees what is in `("a10",)`. A key is a path
//! relative to the Mount, without a leading slash; the Mount itself has no row. Every change of a namespace counts
//! its commit number up by one, and a row lives from the commit that made it until the one that replaced it. What is
//! no longer alive is kept while a pin falls into its life, or while somebody asked for keeping it.
//!
//! Contents are beside the rows: small ones whole, larger ones in chunks that are put in before the commit that names
//! them, so that a commit is always short. Which is which is decided above, once for every database.

use std::fmt;
use std::ops::Range;

use paddock_core::{Call, Kind, Result, Usage};

/// The names that a set of rows is kept under. Matches exactly, never by beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace {
    names: Vec<String>,
    /// Made once: every look at a database asks for it.
    key: String,
}

impl Namespace {
    /// A namespace of these names.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        // An empty name is not the same as none; no database of text takes a NUL.
        let escape = |name: &String| match name.as_str() {
            "" => "\\e".to_owned(),
            name => name.replace('\\', "\\\\").replace('/', "\\s").replace('\0', "\\0"),
        };
        let key = names.iter().map(escape).collect::<Vec<_>>().join("/");
        Self { names, key }
    }

    /// The names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// One text for the whole tuple; different tuples never give the same.
    pub fn key(&self) -> String {
        self.key.clone()
    }

    /// As [`Self::key`], borrowed.
    pub(super) fn text(&self) -> &str {
        &self.key
    }
}

impl Namespace {
    /// The tuple that [`Self::key`] was made from.
    pub fn of_key(key: &str) -> Option<Self> {
        let unescape = |name: &str| {
            if name == "\\e" {
                return Some(String::new());
            }
            let mut out = String::with_capacity(name.len());
            let mut letters = name.chars();
            while let Some(letter) = letters.next() {
                out.push(match letter {
                    '\\' => match letters.next()? {
                        '\\' => '\\',
                        's' => '/',
                        '0' => '\0',
                        _ => return None,
                    },
                    other => other,
                });
            }
            Some(out)
        };
        if key.is_empty() {
            return Some(Self::new(Vec::<String>::new()));
        }
        key.split('/').map(unescape).collect::<Option<Vec<String>>>().map(Self::new)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)
    }
}

/// A point in the life of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Commit(pub u64);

/// Which state of a namespace is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// What is there now.
    Now,
    /// What was there right after a commit.
    At(Commit),
}

/// What stands at a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// A file.
    File,
    /// A directory; over another layer, what that one holds shows through.
    Dir,
    /// A symbolic link; its target is its content.
    Link,
    /// A directory through which nothing of the layer below shows.
    OpaqueDir,
    /// Nothing, although the layer below has something here.
    Whiteout,
}

impl RowKind {
    /// A number for databases.
    pub fn code(self) -> i16 {
        match self {
            Self::File => 0,
            Self::Dir => 1,
            Self::Link => 2,
            Self::OpaqueDir => 3,
            Self::Whiteout => 4,
        }
    }

    /// What a number of [`Self::code`] means.
    pub fn of_code(code: i16) -> Option<Self> {
        [Self::File, Self::Dir, Self::Link, Self::OpaqueDir, Self::Whiteout]
            .into_iter()
            .find(|kind| kind.code() == code)
    }

    /// What an agent sees of it; nothing for a whiteout.
    pub fn shown(self) -> Option<Kind> {
        match self {
            Self::File => Some(Kind::File),
            Self::Dir | Self::OpaqueDir => Some(Kind::Dir),
            Self::Link => Some(Kind::Link),
            Self::Whiteout => None,
        }
    }
}

/// Where the content of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Its number; several rows may share one.
    pub id: u64,
    /// Is it in chunks? Then the body lists them.
    pub chunked: bool,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// The length of its content in bytes.
    pub len: u64,
    /// Unix mode bits.
    pub mode: u32,
    /// When it changed, in milliseconds since 1970.
    pub modified: i64,
    /// Counts the states of a namespace's rows; a move takes it along.
    pub version: u64,
    /// Its content; nothing where it has none.
    pub body: Option<Body>,
}

/// The content of a row that is put.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// None: a directory, a whiteout.
    None,
    /// Whole.
    Inline(&'a [u8]),
    /// In these chunks, staged before.
    Chunks(&'a [u64]),
    /// The content of another row, shared with it.
    Shared(Body),
}

/// A row that is put. Its version is that of the commit, or, for shared content that moves, what it was.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// What it is.
    pub kind: RowKind,
    /// The length of its content.
    pub len: u64,
    /// Unix mode bits.
    pub mode: u32,
    /// When it changed, in milliseconds since 1970.
    pub modified: i64,
    /// Its content.
    pub content: Content<'a>,
    /// The version it keeps; nothing for a new one.
    pub version: Option<u64>,
}

/// Takes names of a directory one by one, with what they are.
pub type TakeName<'a> = &'a mut dyn FnMut(&str, RowKind);

/// One namespace at one moment, for looking.
pub trait Rows {
    /// The row at a key.
    fn get(&self, key: &str) -> Result<Option<Row>>;

    /// The rows directly in a directory (`""` for the Mount itself), by name, after this one, at most so many.
    fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>>;

    /// As [`Self::children`], for who lists: the names and what they are, in one step and without the rest where the database can.
    fn names(&self, dir: &str, after: Option<&str>, limit: usize, take: TakeName<'_>) -> Result<()> {
        self.children(dir, after, limit)?.iter().for_each(|(name, row)| take(name, row.kind));
        Ok(())
    }

    /// Appends the bytes of a range of a body that is not chunked.
    fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()>;

    /// The numbers of some chunks of a chunked body, by position.
    fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>>;

    /// Appends the bytes of a range of one chunk.
    fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()>;

    /// What the namespace holds now.
    fn usage(&self) -> Result<Usage>;

    /// As [`Self::get`] together with the content of a small file, in one step where the database can.
    fn get_small(&self, key: &str, range: Range<u64>, out: &mut Vec<u8>) -> Result<Option<Row>> {
        let row = self.get(key)?;
        if let Some(Row { kind: RowKind::File, body: Some(body), .. }) = &row
            && !body.chunked
        {
            self.inline(*body, range, out)?;
        }
        Ok(row)
    }

    /// The row that was at a key right after a commit, if it is still kept.
    fn past(&self, key: &str, at: Commit) -> Result<Option<Row>>;
}

/// One namespace inside a transaction that nobody else writes beside.
pub trait RowsMut: Rows {
    /// The number of the last change of this namespace.
    fn head(&self) -> Commit;

    /// Begins the next change: what is put and removed from now on belongs to this commit.
    fn advance(&mut self) -> Result<Commit>;

    /// Puts a row; what was there is kept where `keep` or a pin says so. Answers the row as it is now.
    fn put(&mut self, key: &str, row: &NewRow<'_>, keep: bool) -> Result<Row>;

    /// Removes a row; what was there is kept where `keep` or a pin says so.
    fn remove(&mut self, key: &str, keep: bool) -> Result<()>;

    /// The row that was at a key after a commit is not asked for any more. It stays while a pin needs it.
    fn forget(&mut self, key: &str, at: Commit) -> Result<()>;

    /// Puts chunks in as a part of this transaction, where rows and chunks are in one database; else nothing, and they go in beside it.
    fn stage(&self, _chunks: &[&[u8]]) -> Result<Option<Vec<u64>>> {
        Ok(None)
    }

    /// What the namespace holds has become this.
    fn set_usage(&mut self, usage: Usage) -> Result<()>;
}

/// A look at the rows of one moment.
pub type Look<'a> = &'a mut dyn FnMut(&dyn Rows) -> Result<()>;

/// What is done to a namespace in one transaction.
pub type Change<'a> = &'a mut dyn FnMut(&mut dyn RowsMut) -> Result<()>;

/// Inside an `impl Rows`: everything but `get` and `usage`, as a field has it that has rows of its own.
macro_rules! rows_of {
    ($field:ident) => {
        fn children(&self, dir: &str, after: Option<&str>, limit: usize) -> Result<Vec<(String, Row)>> {
            self.$field.children(dir, after, limit)
        }

        fn names(&self, dir: &str, after: Option<&str>, limit: usize, take: TakeName<'_>) -> Result<()> {
            self.$field.names(dir, after, limit, take)
        }

        fn inline(&self, body: Body, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
            self.$field.inline(body, range, out)
        }

        fn chunks(&self, body: Body, positions: Range<u64>) -> Result<Vec<u64>> {
            self.$field.chunks(body, positions)
        }

        fn chunk(&self, id: u64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
            self.$field.chunk(id, range, out)
        }

        fn get_small(&self, key: &str, range: Range<u64>, out: &mut Vec<u8>) -> Result<Option<Row>> {
            self.$field.get_small(key, range, out)
        }

        fn past(&self, key: &str, at: Commit) -> Result<Option<Row>> {
            self.$field.past(key, at)
        }
    };
}
pub(super) use rows_of;

/// A database of namespaces.
///
/// Closures may run more than once: a transaction that lost its connection or its order begins again. They must
/// start from the same state each time.
pub trait BaseStore: Send + Sync {
    /// Looks at one moment of a namespace. Everything seen belongs to it. One that was never written is empty.
    fn read(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()>;

    /// As [`Self::read`], for a look at a few rows and nothing else: where the database can, it is taken where it costs least.
    fn glance(&self, call: &Call<'_>, namespace: &Namespace, moment: Moment, look: Look<'_>) -> Result<()> {
        self.read(call, namespace, moment, look)
    }

    /// Whether a namespace has nothing now at a name of its top. Without an answer where that is no cheaper than any other look.
    fn lacks(&self, _call: &Call<'_>, _namespace: &Namespace, _name: &str) -> Result<Option<bool>> {
        Ok(None)
    }

    /// Is it in this process or on this machine's disk, so that a look at it waits for no server?
    fn is_near(&self) -> bool {
        false
    }

    /// Changes a namespace in one transaction: all of it, durably, or nothing.
    fn write(&self, call: &Call<'_>, namespace: &Namespace, change: Change<'_>) -> Result<()>;

    /// Puts chunks in, before the commit that will name them. Unnamed ones are collected after a while.
    fn stage(&self, call: &Call<'_>, chunks: &[&[u8]]) -> Result<Vec<u64>>;

    /// Holds on to what a namespace is now, under a name; holding on twice keeps the first.
    fn pin(&self, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<Commit>;

    /// Lets go; rows that only this pin kept are collected.
    fn unpin(&self, call: &Call<'_>, namespace: &Namespace, name: &str) -> Result<()>;

    /// Removes a namespace with everything it ever held.
    fn drop_namespace(&self, call: &Call<'_>, namespace: &Namespace) -> Result<()>;

    /// Removes chunks that no row names and that were staged before `older_than` milliseconds ago. Answers how many.
    fn collect_chunks(&self, call: &Call<'_>, older_than: u64) -> Result<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_one_tuple_alone() {
        let tuples: [&[&str]; 10] =
            [&[], &[""], &["", ""], &["a", "b"], &["a/b"], &["a\\sb"], &["\\e"], &["a\0b"], &["a\\0b"], &["\\", "s"]];
        let spaces: Vec<Namespace> = tuples.iter().map(|tuple| Namespace::new(tuple.iter().copied())).collect();
        for space in &spaces {
            assert_eq!(Namespace::of_key(space.text()).as_ref(), Some(space));
            assert_eq!(spaces.iter().filter(|other| other.key() == space.key()).count(), 1, "{space}");
        }
        assert_eq!(Namespace::of_key("a\\x"), None);
    }
}
