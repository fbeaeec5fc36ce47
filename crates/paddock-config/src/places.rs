//! Where Mounts are on the host, all that are known: this agent's and those of others.
//!
//! An agent that writes in a directory must not choose by a link in it what a Mount shows that lies there. It may put no link
//! at such a place ([`Places::below`]), and one that stands there all the same is not followed ([`Places::refuse_planted`]).

use std::path::{Path, PathBuf};

use paddock_core::{AccessScope, RelPathBuf};
use paddock_stores::{PhysicalStore, Way};

use crate::fault::Fault;
use crate::host::Looked;

/// The directories of the host that a policy mounts.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Place>);

#[derive(Debug)]
struct Place {
    /// Free of links, as far as it exists.
    directory: PathBuf,
    written: bool,
}

impl Places {
    /// Of absolute paths, each with the Access Scope of its Workspace.
    pub(crate) fn new(mounts: impl Iterator<Item = (PathBuf, AccessScope)>) -> Self {
        let mut named: Vec<(PathBuf, bool)> =
            mounts.map(|(path, scope)| (path, scope != AccessScope::ReadOnly)).collect();
        // Many agents share few directories.
        named.sort();
        named.dedup();
        let place = |(path, written): (PathBuf, bool)| Place { directory: Way::of(&path).end, written };
        Self(named.into_iter().map(place).collect())
    }

    /// Those below a Mount, relative to it.
    pub(crate) fn below(&self, mount: &Path) -> Vec<RelPathBuf> {
        let mut looked = Looked::default();
        let below = self.0.iter().filter_map(|place| looked.beneath(mount, &place.directory));
        // A name that is no logical path cannot be asked for, so it needs no rule.
        let rels = below.filter_map(|rel| RelPathBuf::parse(rel.to_str()?).ok());
        rels.filter(|rel| !rel.as_rel().is_here()).collect()
    }

    /// No link on the way to a Mount may lie in a directory that agents write: whoever put it there would choose what is
    /// mounted.
    pub(crate) fn refuse_planted(&self, store: &PhysicalStore, written: &str, prefix: &str) -> Result<(), Fault> {
        let mut looked = Looked::default();
        let mut planted = store.links().iter().filter(|link| {
            let mut places = self.0.iter().filter(|place| place.written);
            places.any(|place| looked.beneath(&place.directory, link).is_some())
        });
        match planted.next() {
            Some(link) => Err(Fault::LinkThatAgentsWrite {
                path: written.to_owned(),
                link: link.display().to_string(),
                prefix: prefix.to_owned(),
            }),
            None => Ok(()),
        }
    }
}
