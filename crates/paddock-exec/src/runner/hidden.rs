//! Which names of a Workspace are hidden or guarded, kept between commands: an index for each directory and its rules.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use paddock_core::{NameRules, RelPathBuf};

use crate::index::{Index, Kind};

/// The most indexes that are kept; a policy that changes leaves old ones behind.
const MOST: usize = 64;

/// Which names are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// What the rules hide.
    Hidden,
    /// What they hide, and sockets: where changes take effect at once, one of the host could be reached.
    HiddenOrReachable,
    /// What they guard, and Paddock's own files.
    Guarded,
}

/// What an index was made for: the directory, where it lies in its Workspace, the rules and the question.
type Key = (PathBuf, PathBuf, String, Wanted);

/// Finds names.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashMap<Key, Arc<Index>>>);

impl Names {
    /// Every such path below a directory that lies at `above` in its Workspace, relative to the directory. What is below one
    /// goes with it. A command must not run where they could not all be looked for.
    pub(super) fn below(
        &self,
        host: &Path,
        rules: &NameRules,
        above: &Path,
        wanted: Wanted,
    ) -> io::Result<Vec<PathBuf>> {
        if wanted == Wanted::Hidden && rules.hide_patterns().is_empty() {
            return Ok(Vec::new());
        }
        self.index(host, rules, above, wanted).find()
    }

    fn index(&self, host: &Path, rules: &NameRules, above: &Path, wanted: Wanted) -> Arc<Index> {
        let key = (host.to_owned(), above.to_owned(), rules.text(), wanted);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            known.clear();
        }
        Arc::clone(known.entry(key).or_insert_with(|| {
            let (rules, above, top) = (rules.clone(), above.to_owned(), host.to_owned());
            let matches = move |path: &Path, kind| {
                matches(&rules, &above.join(path), kind, wanted)
                    || wanted == Wanted::Guarded && is_part_of_git(&rules, &top.join(path))
            };
            Arc::new(Index::new(host, Box::new(matches)))
        }))
    }
}

fn matches(rules: &NameRules, path: &Path, kind: Kind, wanted: Wanted) -> bool {
    let text = path.to_string_lossy();
    match wanted {
        Wanted::Hidden => rules.hides_entry(&text).is_some(),
        Wanted::HiddenOrReachable => kind == Kind::Socket || rules.hides_entry(&text).is_some(),
        Wanted::Guarded => {
            let rel = RelPathBuf::parse(&text);
            rel.is_ok_and(|rel| rules.own(rel.as_rel()) || rules.guarded(rel.as_rel(), kind == Kind::Dir).is_some())
        }
    }
}

/// Does it make git run something, in a directory that git takes for one of its own? That depends on what its directory holds
/// beside it, so whatever changes that has the directory read again.
fn is_part_of_git(rules: &NameRules, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| rules.guarded_beside_head(name).is_some()) && {
        let there = |name: &str| path.with_file_name(name).symlink_metadata();
        let has_head = there("HEAD").is_ok_and(|meta| !meta.is_dir());
        has_head && (there("objects").is_ok() || there("commondir").is_ok())
    }
}
