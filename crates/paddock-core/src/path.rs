//! Paths as an agent writes them, and paths relative to a Mount.
//!
//! Every incoming path becomes a [`LogicalPath`] at the edge: absolute, POSIX, with `.` and `..`
//! resolved by text alone. Past this module nothing is a bare string, so no later step can be
//! talked into looking at another file by spelling it differently. Nothing here touches a disk.

use std::cmp::Ordering;
use std::fmt;

use thiserror::Error;

/// The longest path accepted, in bytes.
pub const MAX_PATH: usize = 4096;
/// The longest single name accepted, in bytes.
pub const MAX_NAME: usize = 255;

/// Why a text is not a logical path. Each variant names the offending part, made visible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    /// More `..` than there are directories.
    #[error("path \"{0}\" leads above \"/\"")]
    Escapes(String),
    /// A character that no name may hold.
    #[error("path \"{path}\" holds {what}, which no name may hold")]
    Forbidden {
        /// The path, with the character made visible.
        path: String,
        /// The kind of character.
        what: &'static str,
    },
    /// A name over [`MAX_NAME`] bytes.
    #[error("the name \"{0}…\" is longer than 255 bytes")]
    NameTooLong(String),
    /// A path over [`MAX_PATH`] bytes.
    #[error("the path \"{0}…\" is longer than 4096 bytes")]
    TooLong(String),
}

impl PathError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Escapes(_) => "write the path from \"/\", without climbing above it",
            Self::Forbidden { .. } => "use \"/\" between names and plain characters in them",
            Self::NameTooLong(_) | Self::TooLong(_) => "use shorter names",
        }
    }
}

/// An absolute, normalised path in the agent's own view: `/project/src/main.rs`.
///
/// ```
/// use paddock_core::LogicalPath;
/// let base = LogicalPath::parse("/project", &LogicalPath::top()).unwrap();
/// let path = LogicalPath::parse("src/./a/../main.rs", &base).unwrap();
/// assert_eq!(path.as_str(), "/project/src/main.rs");
/// assert!(LogicalPath::parse("../../etc/passwd", &base).is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LogicalPath(String);

impl LogicalPath {
    /// `/`, the top of every agent's view.
    pub fn top() -> Self {
        Self("/".to_owned())
    }

    /// Reads what an agent wrote. A relative path starts at `base`.
    pub fn parse(input: &str, base: &Self) -> Result<Self, PathError> {
        if input.len() > MAX_PATH {
            return Err(PathError::TooLong(visible(prefix_of(input, 40))));
        }
        if is_clean(input.as_bytes()) {
            return Ok(Self(input.to_owned()));
        }
        let mut out = String::with_capacity(base.0.len() + input.len() + 1);
        if !input.starts_with('/') && !base.is_top() {
            out.push_str(&base.0);
        }
        for name in input.split('/') {
            match name {
                "" | "." => {}
                ".." => match out.rfind('/') {
                    Some(cut) => out.truncate(cut),
                    None => return Err(PathError::Escapes(visible(input))),
                },
                name => {
                    check_name(name, input)?;
                    out.push('/');
                    out.push_str(name);
                }
            }
        }
        if out.is_empty() {
            out.push('/');
        }
        if out.len() > MAX_PATH {
            return Err(PathError::TooLong(visible(prefix_of(&out, 40))));
        }
        Ok(Self(out))
    }

    /// The path as text, always starting with `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Is this `/`?
    pub fn is_top(&self) -> bool {
        self.0.len() == 1
    }

    /// The names from the top down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The last name, or nothing for `/`.
    pub fn name(&self) -> Option<&str> {
        self.names().last()
    }

    /// The directory that holds this, or nothing for `/`.
    pub fn parent(&self) -> Option<Self> {
        if self.is_top() {
            return None;
        }
        match self.0.rfind('/') {
            Some(0) | None => Some(Self::top()),
            Some(cut) => Some(Self(self.0[..cut].to_owned())),
        }
    }

    /// What is left of this path below `prefix`, or nothing when it is not below it.
    /// Compares whole names: `/safe_evil` is not below `/safe`.
    pub fn below<'a>(&'a self, prefix: &Self) -> Option<RelPath<'a>> {
        if prefix.is_top() {
            return Some(RelPath(&self.0[1..]));
        }
        match self.0.strip_prefix(&prefix.0)? {
            "" => Some(RelPath("")),
            rest => rest.strip_prefix('/').map(RelPath),
        }
    }

    /// This path followed by a path relative to it.
    pub fn join(&self, rel: RelPath<'_>) -> Self {
        let mut out = Self(String::with_capacity(self.0.len() + rel.0.len() + 1));
        self.join_into(rel, &mut out);
        out
    }

    /// As [`Self::join`], in memory that is used again.
    pub(crate) fn join_into(&self, rel: RelPath<'_>, out: &mut Self) {
        out.0.clone_from(&self.0);
        if rel.is_here() {
            return;
        }
        if !self.is_top() {
            out.0.push('/');
        }
        out.0.push_str(rel.0);
    }
}

impl fmt::Display for LogicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LogicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialOrd for LogicalPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogicalPath {
    /// By name, as a tree is walked: `/a/b` comes before `/a-b`.
    fn cmp(&self, other: &Self) -> Ordering {
        tree_order(&self.0, &other.0)
    }
}

/// A path relative to a Mount, with no leading slash; empty for the Mount itself.
///
/// Borrowed; [`RelPathBuf`] owns one. Both are only made from text that is already clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelPath<'a>(pub(crate) &'a str);

impl<'a> RelPath<'a> {
    /// The Mount itself.
    pub const HERE: RelPath<'static> = RelPath("");

    /// The path as text: `src/main.rs`.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Is this the Mount itself?
    pub fn is_here(self) -> bool {
        self.0.is_empty()
    }

    /// The names from the Mount down.
    pub fn names(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The directory part and the last name; nothing for the Mount itself.
    pub fn split_last(self) -> Option<(RelPath<'a>, &'a str)> {
        if self.is_here() {
            return None;
        }
        Some(match self.0.rsplit_once('/') {
            Some((dir, name)) => (RelPath(dir), name),
            None => (RelPath::HERE, self.0),
        })
    }

    /// This path and each directory above it, longest first, without the Mount itself.
    pub fn ancestors(self) -> impl Iterator<Item = RelPath<'a>> {
        let mut next = (!self.is_here()).then_some(self);
        std::iter::from_fn(move || {
            let here = next?;
            next = here.split_last().map(|(dir, _)| dir).filter(|dir| !dir.is_here());
            Some(here)
        })
    }

    /// Is this `dir`, or something below it?
    pub fn is_within(self, dir: RelPath<'_>) -> bool {
        dir.is_here() || self.0.strip_prefix(dir.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// An owned copy.
    pub fn to_buf(self) -> RelPathBuf {
        RelPathBuf(self.0.to_owned())
    }
}

impl fmt::Display for RelPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An owned [`RelPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RelPathBuf(String);

impl RelPathBuf {
    /// Checks each name as [`LogicalPath::parse`] does; `.` and `..` are refused, not resolved,
    /// since what a Store or a configuration hands over has to be clean already.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        for name in text.split('/').filter(|_| !text.is_empty()) {
            if matches!(name, "" | "." | "..") {
                return Err(PathError::Forbidden { path: visible(text), what: "an empty, \".\" or \"..\" part" });
            }
            check_name(name, text)?;
        }
        Ok(Self(text.to_owned()))
    }

    /// Borrows it.
    pub fn as_rel(&self) -> RelPath<'_> {
        RelPath(&self.0)
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn unchecked(text: String) -> Self {
        Self(text)
    }
}

/// Compares two `/`-separated paths name by name, the order in which a tree is walked.
///
/// ```
/// use paddock_core::tree_order;
/// assert!(tree_order("a/b", "a-b").is_lt());
/// assert!(tree_order("a", "a/b").is_lt());
/// ```
pub fn tree_order(a: &str, b: &str) -> Ordering {
    // '/' has to sort before every other byte; NUL cannot occur in a path.
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(key).cmp(b.bytes().map(key))
}

/// Is this a name that [`LogicalPath::parse`] would take? Stores use it to tell which entries of a
/// host directory an agent can open, and which can only be shown escaped.
pub fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains('/') && check_name(name, name).is_ok()
}

/// A text with every character that could deceive a reader written as an escape.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if forbidden(c).is_some() && c != '\\' {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Does it show nothing, and change how others are shown or read: a mark of direction, a joiner, a tag? Of words that a model or a
/// person is given nothing is lost without them. What a path may hold is another question.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Is this already what parsing would make of it? Most paths that agents send are: absolute, of
/// printable ASCII, with no empty, dotted or overlong part.
fn is_clean(path: &[u8]) -> bool {
    let mut name = 0;
    let mut dots = 0;
    let ends_name = |name: usize, dots: usize| name > 0 && name <= MAX_NAME && (dots != name || name > 2);
    let Some((b'/', rest)) = path.split_first() else { return false };
    for byte in rest {
        match byte {
            b'/' if ends_name(name, dots) => (name, dots) = (0, 0),
            b'/' | b'\\' => return false,
            b'.' => (name, dots) = (name + 1, dots + 1),
            0x20..0x7f => name += 1,
            _ => return false,
        }
    }
    ends_name(name, dots)
}

fn check_name(name: &str, whole: &str) -> Result<(), PathError> {
    if name.len() > MAX_NAME {
        return Err(PathError::NameTooLong(visible(prefix_of(name, 40))));
    }
    // Nearly every name is printable ASCII: one pass over bytes settles it, and one without a way out is over sooner.
    if name.bytes().fold(true, |plain, b| plain & (0x20..0x7f).contains(&b) & (b != b'\\')) {
        return Ok(());
    }
    match name.chars().find_map(forbidden) {
        Some(what) => Err(PathError::Forbidden { path: visible(prefix_of(whole, 200)), what }),
        None => Ok(()),
    }
}

/// Characters that make one path look like another, or like none. Joiners (U+200C, U+200D) stay:
/// ordinary Persian words and emoji are written with them.
fn forbidden(c: char) -> Option<&'static str> {
    match c {
        '\0' => Some("a NUL"),
        '\\' => Some("a backslash"),
        c if c.is_control() => Some("a control character"),
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("a character that changes the direction of text")
        }
        '\u{00ad}'
        | '\u{034f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => Some("an invisible character"),
        _ => None,
    }
}

fn prefix_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, PathError> {
        let base = LogicalPath("/base".to_owned());
        LogicalPath::parse(text, &base).map(|p| p.0)
    }

    #[test]
    fn paths_are_coerced_to_absolute_and_resolved_by_text() {
        for (given, expected) in [
            ("/", "/"),
            ("", "/base"),
            (".", "/base"),
            ("a", "/base/a"),
            ("./a//b/", "/base/a/b"),
            ("/a/b/../c/.", "/a/c"),
            ("..", "/"),
            ("missing/../x", "/base/x"),
            ("/[...slug]/a..b/~/...", "/[...slug]/a..b/~/..."),
            ("/häuser/日本/👩\u{200d}💻", "/häuser/日本/👩\u{200d}💻"),
        ] {
            assert_eq!(parse(given).as_deref(), Ok(expected), "{given:?}");
        }
    }

    #[test]
    fn the_short_way_takes_only_what_needs_no_change() {
        for clean in ["/a", "/a/b.c", "/a/.../b", "/.env", "/a b/c"] {
            assert!(is_clean(clean.as_bytes()), "{clean}");
            assert_eq!(parse(clean).as_deref(), Ok(clean));
        }
        let long = format!("/{}", "n".repeat(256));
        for other in
            ["", "/", "a", "/a/", "//a", "/a//b", "/.", "/a/..", "/./a", "/a/../b", "/\u{e9}", "/a\\b", "/a\n", &long]
        {
            assert!(!is_clean(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn escaping_the_top_is_an_error_and_not_a_clamp() {
        for given in ["../..", "/..", "/a/../../a", "../../base/a", "/../../etc/passwd"] {
            assert!(matches!(parse(given), Err(PathError::Escapes(_))), "{given:?}");
        }
    }

    #[test]
    fn deceptive_characters_are_named() {
        for (given, what) in [
            ("/a\0b", "a NUL"),
            ("/a\\..\\b", "a backslash"),
            ("/a\nb", "a control character"),
            ("/a\u{7f}", "a control character"),
            ("/a\u{85}", "a control character"),
            ("/a\u{202e}txt.exe", "a character that changes the direction of text"),
            ("/.e\u{200b}nv", "an invisible character"),
            ("/.e\u{feff}nv", "an invisible character"),
        ] {
            match parse(given) {
                Err(PathError::Forbidden { what: got, path }) => {
                    assert_eq!(got, what, "{given:?}");
                    assert!(path.chars().all(|c| c == '\\' || forbidden(c).is_none()), "{path:?} is visible");
                }
                other => panic!("{given:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn lengths_are_bounded_by_name_and_by_path() {
        assert!(parse(&format!("/{}", "n".repeat(255))).is_ok());
        assert!(matches!(parse(&format!("/{}", "n".repeat(256))), Err(PathError::NameTooLong(_))));
        let long = "/n".repeat(2048);
        assert!(parse(&long).is_ok());
        assert!(matches!(parse(&format!("{long}x/y")), Err(PathError::TooLong(_))));
        // Just short enough by itself, too long once it starts at the base.
        assert!(matches!(parse(&long[1..]), Err(PathError::TooLong(_))));
        let wide = format!("/{}", "é".repeat(128));
        assert!(matches!(parse(&wide), Err(PathError::NameTooLong(_))));
    }

    #[test]
    fn prefixes_compare_whole_names() {
        let path = |text: &str| LogicalPath(text.to_owned());
        assert_eq!(path("/safe/x").below(&path("/safe")).map(RelPath::as_str), Some("x"));
        assert_eq!(path("/safe").below(&path("/safe")).map(RelPath::as_str), Some(""));
        assert_eq!(path("/safe_evil/x").below(&path("/safe")), None);
        assert_eq!(path("/a").below(&path("/")).map(RelPath::as_str), Some("a"));
    }

    #[test]
    fn order_is_that_of_a_tree_walk() {
        let mut paths = ["/a-b", "/a/z", "/a", "/a/b/c", "/b", "/"].map(|p| LogicalPath(p.to_owned()));
        paths.sort();
        assert_eq!(paths.map(|p| p.0), ["/", "/a", "/a/b/c", "/a/z", "/a-b", "/b"]);
    }

    #[test]
    fn relative_paths_are_taken_only_when_clean() {
        assert!(RelPathBuf::parse("").is_ok());
        assert!(RelPathBuf::parse("a/b").is_ok());
        for bad in ["/a", "a/", "a//b", "a/../b", ".", "a/./b", "a\0"] {
            assert!(RelPathBuf::parse(bad).is_err(), "{bad:?}");
        }
    }
}
