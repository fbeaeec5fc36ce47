//! Which names of a Workspace are hidden, kept between commands: an index for each directory and its rules.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use paddock_core::{NameRules, RelPath};

use crate::index::Index;

/// The most indexes that are kept; a policy that changes leaves old ones behind.
const MOST: usize = 64;

/// What an index was made for: the directory, where it lies in its Workspace, and what is hidden.
type Key = (PathBuf, String, Vec<String>);

/// Finds hidden names.
#[derive(Debug, Default)]
pub(super) struct HiddenNames(Mutex<HashMap<Key, Arc<Index>>>);

impl HiddenNames {
    /// Every hidden path below a directory, relative to it. What is below a hidden one is hidden with it.
    pub(super) fn below(&self, host: &Path, names: &NameRules, above: RelPath<'_>) -> Vec<PathBuf> {
        if names.hide_patterns().is_empty() {
            return Vec::new();
        }
        self.index(host, names, above).find().unwrap_or_default()
    }

    fn index(&self, host: &Path, names: &NameRules, above: RelPath<'_>) -> Arc<Index> {
        let patterns = names.hide_patterns().iter().map(|pattern| pattern.text.clone()).collect();
        let key = (host.to_owned(), above.as_str().to_owned(), patterns);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            known.clear();
        }
        Arc::clone(known.entry(key).or_insert_with(|| {
            let (names, above) = (names.clone(), PathBuf::from(above.as_str()));
            let hides = move |path: &Path, _| names.hides_entry(&above.join(path).to_string_lossy()).is_some();
            Arc::new(Index::new(host, Box::new(hides)))
        }))
    }
}
