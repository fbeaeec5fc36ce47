//! What `.gitignore` and `.ignore` files leave out of a walk.

use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The files that hold such rules, the weaker first.
pub(crate) const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The most of a rule file that is read.
pub(crate) const MAX_RULES: u64 = 128 * 1024;

/// The rules that hold in one directory: its own and those of the directories above it.
#[derive(Debug, Default)]
pub(crate) struct Ignores {
    /// The directory's own, the stronger first.
    own: Vec<Gitignore>,
    above: Option<Arc<Ignores>>,
}

impl Ignores {
    /// The rules inside `dir`, given the text of its rule files in the order of [`RULE_FILES`].
    pub(crate) fn enter(above: &Arc<Self>, dir: &str, texts: &[String]) -> Arc<Self> {
        if texts.is_empty() {
            return Arc::clone(above);
        }
        let own = texts.iter().rev().filter_map(|text| compile(dir, text)).collect();
        Arc::new(Self { own, above: Some(Arc::clone(above)) })
    }

    /// Is this entry (a path relative to the Mount) left out? The nearest rule decides.
    pub(crate) fn skips(&self, path: &str, is_dir: bool) -> bool {
        path == ".git" || path.ends_with("/.git") || self.names(path, is_dir)
    }

    /// Does a rule say so of this entry itself? A repository is named by none.
    pub(crate) fn names(&self, path: &str, is_dir: bool) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            for own in &rules.own {
                match own.matched(path, is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            level = rules.above.as_deref();
        }
        false
    }
}

/// Lines that are no pattern are left out, as git does.
fn compile(dir: &str, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(dir);
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_decides() {
        let top = Ignores::enter(&Arc::default(), "", &["*.log\n/build/\n".to_owned()]);
        let inner = Ignores::enter(&top, "a", &["!keep.log\n".to_owned(), "*.tmp\n".to_owned()]);
        assert!(top.skips("x.log", false) && top.skips("a/b/x.log", false) && top.skips("build", true));
        assert!(!top.skips("a/build", true) && !top.skips("x.txt", false));
        assert!(!inner.skips("a/keep.log", false) && inner.skips("a/x.log", false) && inner.skips("a/x.tmp", false));
        assert!(inner.skips("a/.git", true) && !inner.skips("a/.github", true));
    }
}
