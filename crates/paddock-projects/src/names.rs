//! Names that come from outside, or go there: which ones are refused.
//!
//! A name in an archive or a tree of Git is somebody else's word. It is taken as a path below the project or not at all; nothing is
//! trimmed, replaced or repaired, since two programs that repair differently disagree about what was imported.

use std::collections::HashMap;

use paddock_core::{RelPathBuf, fold, is_plain_name, visible};

use crate::error::{ProjectError, Result};

/// What stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    Dir,
    Other,
}

/// Reads a name from outside as a path below the project.
pub(crate) fn parse(name: &str) -> Result<RelPathBuf> {
    let refuse = |why| Err(ProjectError::BadName { name: visible(name), why });
    if name.starts_with('/') {
        return refuse("it is absolute");
    }
    if name.contains('\\') {
        return refuse("it holds a backslash");
    }
    if name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic() {
        return refuse("it begins with the letter of a drive");
    }
    for part in name.split('/') {
        match part {
            "" => return refuse("it has an empty part"),
            ".." => return refuse("it leads out of the project"),
            "." => return refuse("it has a part that is only a dot"),
            part if is_repository(part) => return refuse("it is a repository's own file"),
            part if !is_plain_name(part) => return refuse("it holds a character that is not allowed, or is too long"),
            _ => {}
        }
    }
    RelPathBuf::parse(name).or_else(|_| refuse("it is too long"))
}

/// Does Git, on some host, take this name for a repository's own directory?
pub(crate) fn is_repository(name: &str) -> bool {
    let folded = fold(name);
    let bare = folded.trim_end_matches([' ', '.']);
    bare == ".git" || bare == "git~1" || folded.starts_with(".git:")
}

/// Where a link leads, seen from the directory it is in; nothing where it leaves the project, or where only who follows it
/// could say. What it climbs it climbs first, through directories, since nothing lies below a link: after a name, which
/// may itself be a link to elsewhere, ".." is not the directory that it looks like.
pub(crate) fn link_leads(dir: &str, leads_to: &str) -> Option<String> {
    if leads_to.is_empty() || leads_to.starts_with('/') || leads_to.contains(['\\', '\0']) {
        return None;
    }
    let mut names: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    let mut climbs = true;
    for part in leads_to.split('/') {
        match part {
            "" | "." => {}
            ".." if climbs => {
                names.pop()?;
            }
            part if is_repository(part) || !is_plain_name(part) => return None,
            part => {
                climbs = false;
                names.push(part);
            }
        }
    }
    Some(names.join("/"))
}

/// The names that were taken so far: no two that some host takes for one, and nothing below what is no directory.
#[derive(Debug, Default)]
pub(crate) struct Taken(HashMap<String, (String, Stands)>);

impl Taken {
    /// Takes one more name. A directory may be named again.
    pub(crate) fn take(&mut self, path: &str, stands: Stands) -> Result<()> {
        for (end, _) in path.match_indices('/') {
            self.put(&path[..end], Stands::Dir)?;
        }
        self.put(path, stands)
    }

    fn put(&mut self, path: &str, stands: Stands) -> Result<()> {
        match self.0.get(&fold(path)) {
            None => {
                self.0.insert(fold(path), (path.to_owned(), stands));
                Ok(())
            }
            Some((known, Stands::Dir)) if known == path && stands == Stands::Dir => Ok(()),
            Some((known, _)) => Err(ProjectError::SameName { first: visible(known), second: visible(path) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_below_the_project_or_refused() {
        for good in ["a", "a/b.txt", "[...slug]/a..b", "~", ".gitignore", "ä/ö", "a:b"] {
            let parsed = parse(good);
            // One letter and a colon is a drive elsewhere.
            assert_eq!(parsed.is_ok(), good != "a:b", "{good}");
        }
        for bad in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/..",
            "..",
            ".",
            "a/./b",
            "a//b",
            "",
            "a\\b",
            "..\\x",
            "C:x",
            "c:/x",
            "a\0b",
            "a\nb",
            "\u{202e}x",
            ".git/config",
            "a/.GIT/hooks/x",
            "git~1/x",
            ".git. /x",
            ".git::$INDEX_ALLOCATION/x",
            ".g\u{200c}it/hooks/x",
            "a/\u{200d}.gIt/x",
            ".git\u{feff}/x",
            ".\u{200c}git\u{200d}. /x",
        ] {
            assert!(matches!(parse(bad), Err(ProjectError::BadName { .. })), "{bad:?}");
        }
        assert!(parse(&"x".repeat(300)).is_err());
        assert!(parse(&"x/".repeat(3000)).is_err());
    }

    #[test]
    fn what_a_host_passes_over_makes_no_other_name() {
        for passed_over in ('\u{200c}'..='\u{200f}').chain('\u{202a}'..='\u{202e}').chain('\u{206a}'..='\u{206f}') {
            assert!(is_repository(&format!(".g{passed_over}it")), "{passed_over:?}");
        }
        assert!(is_repository("\u{feff}.git"));
        assert_eq!(link_leads("", ".g\u{200c}it/config"), None);
        // Other letters, and other names with such a character, are what they are.
        assert!(!is_repository(".g\u{131}t") && !is_repository(".g\u{200c}itignore"));
        assert!(parse("caf\u{200c}e").is_ok());
    }

    #[test]
    fn a_link_stays_inside_or_leads_nowhere() {
        assert_eq!(link_leads("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(link_leads("", "./x/.").as_deref(), Some("x"));
        assert_eq!(link_leads("a", "..").as_deref(), Some(""));
        assert_eq!(link_leads("a/b", ".././../x/y").as_deref(), Some("x/y"));
        for leaves in ["/etc", "../../x", "../..", "", "a\\b", "../.git/config", ".git", "d/../x", "d/..", "../d/../x"]
        {
            assert_eq!(link_leads("a", leaves), None, "{leaves}");
        }
    }

    #[test]
    fn two_names_that_a_host_takes_for_one_are_refused() {
        let twice = |one: &str, two: &str| {
            let mut taken = Taken::default();
            taken.take(one, Stands::Other).unwrap();
            taken.take(two, Stands::Other).is_err()
        };
        assert!(twice("a", "a"));
        assert!(twice("README", "readme"));
        assert!(twice("\u{e9}", "e\u{301}"));
        assert!(twice("Src/a", "src/b"));
        assert!(twice("a\u{200d}", "A") && twice("stra\u{df}e", "STRASSE"));
        assert!(twice("a", "a/b"));
        assert!(twice("a/b", "a"));
        assert!(!twice("a/b", "a/c"));
        let mut taken = Taken::default();
        taken.take("a/b", Stands::Other).unwrap();
        assert!(taken.take("a", Stands::Dir).is_ok());
        assert!(taken.take("a", Stands::Other).is_err());
    }
}
