//! WorkspaceId: the readable name of a project's place in the System Root.
//!
//! `<folderToken>__<packageToken>`, made only from the Project Root and the package's name, so the same
//! project always finds the same state. Tokens are lossy: `/a/b_c` and `/a_b/c` make the same one. That is
//! why an id alone is never enough to use state; [`crate::WorkspaceHome`] also compares the origin.

use std::fmt;
use std::path::Path;

use crate::Origin;

/// The longest id, in characters (all of them ASCII).
const MAX_CHARS: usize = 120;
/// What `-` and the hash digits take.
const SUFFIX_CHARS: usize = 1 + 12;

/// The name of a project's directory under `workspaces/`.
///
/// ```
/// use paddock_state::{Origin, WorkspaceId};
/// let origin = Origin::new("/Users/alice/projects/my-agent", "@goondan/sample-10");
/// assert_eq!(
///     WorkspaceId::of(&origin).as_str(),
///     "Users_alice_projects_my-agent__goondan_sample-10"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceId(String);

impl WorkspaceId {
    /// The id of an origin: plain where it is short and both tokens say something, else with the hash.
    #[must_use]
    pub fn of(origin: &Origin) -> Self {
        let (folder, package) = tokens(origin);
        let plain = format!("{folder}__{package}");
        if folder.is_empty() || package.is_empty() || plain.len() > MAX_CHARS {
            Self::suffixed(&plain, origin)
        } else {
            Self(plain)
        }
    }

    /// The id with the hash always: for an origin whose plain id is already another's.
    #[must_use]
    pub fn with_hash(origin: &Origin) -> Self {
        let (folder, package) = tokens(origin);
        Self::suffixed(&format!("{folder}__{package}"), origin)
    }

    /// The id as text: never empty, `.` or `..`, and without separators.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn suffixed(plain: &str, origin: &Origin) -> Self {
        // Cut only what would not fit: an id of 107 characters or fewer stays whole.
        let kept = plain.get(..MAX_CHARS - SUFFIX_CHARS).unwrap_or(plain);
        Self(format!("{kept}-{}", origin.short_digest()))
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<Path> for WorkspaceId {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

fn tokens(origin: &Origin) -> (String, String) {
    (token(&origin.project_root().to_string_lossy()), token(origin.package()))
}

/// Runs of characters outside `[A-Za-z0-9.-]` become one `_`, none of them at the ends.
fn token(text: &str) -> String {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'))
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(root: &str, package: &str) -> String {
        WorkspaceId::of(&Origin::new(root, package)).to_string()
    }

    #[test]
    fn the_example_of_the_specification() {
        assert_eq!(
            id("/Users/alice/projects/my-agent", "@goondan/sample-10"),
            "Users_alice_projects_my-agent__goondan_sample-10"
        );
    }

    #[test]
    fn case_dots_and_dashes_are_kept() {
        assert_eq!(id("/Home/A.b", "--X.1"), "Home_A.b__--X.1");
        assert_eq!(id("/a//__b é c/", "_p_"), "a_b_c__p");
    }

    #[test]
    fn an_empty_token_gets_the_hash() {
        // printf '/\nshop' | sha256sum
        assert_eq!(id("/", "shop"), "__shop-1f4a9ea9a93d");
        // printf '/a\n日本' | sha256sum
        assert_eq!(id("/a", "日本"), "a__-2dd714bfb197");
        assert_ne!(id("/a", "日本"), id("/a", "語"));
    }

    #[test]
    fn a_long_id_is_cut_to_107_and_gets_the_hash() {
        let root = format!("/{}", "r".repeat(117));
        assert_eq!(id(&root, "p"), format!("{}__p", "r".repeat(117)));
        let longer = id(&root, "pp");
        assert_eq!(longer.len(), 120);
        assert_eq!(&longer[..107], "r".repeat(107));
        assert_eq!(&longer[107..108], "-");
    }

    #[test]
    fn two_places_with_one_plain_id_differ_with_the_hash() {
        let (first, second) = (Origin::new("/a/b_c", "p"), Origin::new("/a_b/c", "p"));
        assert_eq!(WorkspaceId::of(&first), WorkspaceId::of(&second));
        assert_ne!(WorkspaceId::with_hash(&first), WorkspaceId::with_hash(&second));
    }

    proptest! {
        #[test]
        fn ids_are_names_that_any_directory_can_hold(root in "/\\PC{0,200}", package in "\\PC{0,200}") {
            let origin = Origin::new(root.clone(), package.clone());
            for id in [WorkspaceId::of(&origin), WorkspaceId::with_hash(&origin)] {
                let text = id.as_str();
                prop_assert!(text.len() <= 120, "{}", text.len());
                prop_assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)));
                prop_assert!(text != "." && text != ".." && !text.is_empty());
            }
            prop_assert_eq!(WorkspaceId::of(&origin), WorkspaceId::of(&Origin::new(root, package)));
        }

        #[test]
        fn different_origins_differ_with_the_hash(a in "/[ab_/]{0,6}", b in "/[ab_/]{0,6}", p in "[ab_]{0,3}") {
            let (first, second) = (Origin::new(a, p.clone()), Origin::new(b, p));
            prop_assert_eq!(
                first.project_root().as_os_str() == second.project_root().as_os_str(),
                WorkspaceId::with_hash(&first) == WorkspaceId::with_hash(&second)
            );
        }
    }
}
