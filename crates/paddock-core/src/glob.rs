//! Globs on paths, as `find_files` and `search_files` take them.

use globset::{GlobBuilder, GlobMatcher};

use crate::error::ErrorKind;

/// The longest glob taken, in bytes: the automaton grows with it.
const MAX_GLOB: usize = 1024;

/// A glob over the path below where a search starts. One without `/` matches a name at any depth.
#[derive(Debug, Clone)]
pub struct PathGlob {
    matcher: GlobMatcher,
    by_name: bool,
    /// Where the walk that asks stands, relative to where the search started.
    lead: String,
}

impl PathGlob {
    /// Compiles a glob: `*.rs`, `src/**/*.ts`, `{a,b}.md`.
    pub fn parse(text: &str) -> Result<Self, ErrorKind> {
        if text.len() > MAX_GLOB {
            return Err(ErrorKind::TooLarge { what: "the glob's length", limit: MAX_GLOB as u64 });
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|e| ErrorKind::BadPattern(e.kind().to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), by_name: !text.contains('/'), lead: String::new() })
    }

    /// The same glob for a walk that stands `lead` below where the search started.
    #[must_use]
    pub(crate) fn under(&self, lead: &str) -> Self {
        let lead = if lead.is_empty() { String::new() } else { format!("{lead}/") };
        Self { lead, ..self.clone() }
    }

    /// Does the path, relative to where the walk stands, match?
    pub fn matches(&self, below: &str) -> bool {
        if self.by_name {
            let name = below.rsplit_once('/').map_or(below, |(_, name)| name);
            self.matcher.is_match(name)
        } else if self.lead.is_empty() {
            self.matcher.is_match(below)
        } else {
            self.matcher.is_match(format!("{}{below}", self.lead))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_without_a_slash_matches_names_at_any_depth() {
        let glob = PathGlob::parse("*.rs").unwrap();
        assert!(glob.matches("a.rs") && glob.matches("x/y/a.rs") && !glob.matches("a.rs/b"));
    }

    #[test]
    fn a_glob_with_a_slash_matches_the_path() {
        let glob = PathGlob::parse("src/*.rs").unwrap();
        assert!(glob.matches("src/a.rs") && !glob.matches("src/x/a.rs") && !glob.matches("y/src/a.rs"));
        assert!(PathGlob::parse("**/*.rs").unwrap().matches("a.rs"));
        assert!(glob.under("src").matches("a.rs") && !glob.under("lib").matches("a.rs"));
    }

    #[test]
    fn wrong_globs_are_refused() {
        assert!(matches!(PathGlob::parse("a[b"), Err(ErrorKind::BadPattern(_))));
        assert!(PathGlob::parse(&"*".repeat(2000)).is_err());
    }
}
