//! The directories in which agents of this process may write, wherever their Mounts were said.
//!
//! A program may make one middleware after the other, or other Mounts for each call, and none of them knows of the rest. A
//! Store follows links only while it is made: it is enough to look then, and what an agent puts down later is followed by
//! none that is there already. What an agent left stays when its Workspaces are gone, so nothing is forgotten here; that is
//! one path for each directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::host::identity;

/// By Mounts that a program gave.
pub(crate) static BY_PROGRAMS: Written = Written::new();
/// By Mounts of a configuration.
pub(crate) static BY_CONFIGS: Written = Written::new();

/// Directories that agents write.
#[derive(Debug)]
pub(crate) struct Written(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// Free of links, as far as they existed.
    names: BTreeSet<PathBuf>,
    /// What they really are: one directory may stand at two places.
    identities: BTreeMap<(u64, u64), PathBuf>,
    /// Those that were not seen yet: the first write makes them.
    unseen: Vec<PathBuf>,
}

impl Written {
    const fn new() -> Self {
        Self(Mutex::new(Known { names: BTreeSet::new(), identities: BTreeMap::new(), unseen: Vec::new() }))
    }

    /// From now on these are known.
    pub(crate) fn remember<'p>(&self, directories: impl Iterator<Item = &'p Path>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for directory in directories {
            if !directory.ancestors().any(|above| known.names.contains(above)) {
                known.names.insert(directory.to_owned());
                known.unseen.push(directory.to_owned());
            }
        }
    }

    /// Does the link lie in one of them? A link in the place of the directory itself is nothing that its own agent can make.
    pub(crate) fn holds(&self, link: &Path) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.look_at_unseen();
        link.ancestors().skip(1).any(|above| known.names.contains(above) || known.stands_at(above))
    }
}

impl Known {
    fn look_at_unseen(&mut self) {
        let Self { identities, unseen, .. } = self;
        unseen.retain(|directory| match identity(directory) {
            Some(identity) => {
                identities.insert(identity, directory.clone());
                false
            }
            None => true,
        });
    }

    /// Is it one of them under another name? The number of one that is gone may be another's by now.
    fn stands_at(&self, path: &Path) -> bool {
        let Some(is) = identity(path) else { return false };
        self.identities.get(&is).is_some_and(|directory| identity(directory) == Some(is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_directory_that_was_told_is_held_and_nothing_else() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let written = Written::new();
        assert!(!written.holds(&top.join("a/link")));
        written.remember([top.join("a").as_path(), top.join("a/b").as_path()].into_iter());
        for held in ["a/link", "a/b/link", "a/deep/er/link"] {
            assert!(written.holds(&top.join(held)), "{held}");
        }
        for other in ["a", "ab/link", "link"] {
            assert!(!written.holds(&top.join(other)), "{other}");
        }
    }

    #[test]
    fn what_is_made_later_is_known_by_what_it_is_and_not_what_takes_its_number() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let (named, elsewhere) = (top.join("later"), top.join("elsewhere"));
        let written = Written::new();
        written.remember([named.as_path()].into_iter());
        std::fs::create_dir(&named).unwrap();
        assert!(written.holds(&named.join("link")));
        let known = |path: &Path| written.0.lock().unwrap().stands_at(path);
        assert!(known(&named), "by its number");
        // The same directory under another name, and the first name is gone: it is another's number as far as anybody can tell.
        std::fs::rename(&named, &elsewhere).unwrap();
        assert!(!known(&elsewhere));
    }
}
