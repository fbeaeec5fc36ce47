//! Where Mounts are on the host, all that are known: this agent's and those of others.
//!
//! An agent that writes in a directory must not choose by a link in it what a Mount shows that lies there. It may put no link
//! at such a place ([`Places::below`]), and one that stands there all the same is not followed ([`Places::refuse_planted`]).
//! Mounts of which a policy does not know, since another part of the same process has them, count for the second too.

use std::path::{Path, PathBuf};

use paddock_core::{AccessScope, RelPathBuf};
use paddock_stores::{PhysicalStore, Way};

use crate::fault::Fault;
use crate::host::Looked;
use crate::written::Written;

/// The directories of the host that a policy mounts.
#[derive(Debug)]
pub(crate) struct Places {
    mounted: Vec<Place>,
    /// What others of this process write.
    others: Vec<&'static Written>,
}

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
        Self { mounted: named.into_iter().map(place).collect(), others: Vec::new() }
    }

    /// The same, beside what others of this process write.
    pub(crate) fn beside(self, others: &[&'static Written]) -> Self {
        Self { others: others.to_vec(), ..self }
    }

    /// Makes those that agents write known to others of this process, before an agent gets there.
    pub(crate) fn make_known(&self, to: &Written) {
        to.remember(self.mounted.iter().filter(|place| place.written).map(|place| place.directory.as_path()));
    }

    /// Those below a Mount, relative to it.
    pub(crate) fn below(&self, mount: &Path) -> Vec<RelPathBuf> {
        let mut looked = Looked::default();
        let below = self.mounted.iter().filter_map(|place| looked.beneath(mount, &place.directory));
        // A name that is no logical path cannot be asked for, so it needs no rule.
        let rels = below.filter_map(|rel| RelPathBuf::parse(rel.to_str()?).ok());
        rels.filter(|rel| !rel.as_rel().is_here()).collect()
    }

    /// No link on the way to a Mount may lie in a directory that agents write: whoever put it there would choose what is
    /// mounted.
    pub(crate) fn refuse_planted(&self, store: &PhysicalStore, written: &str, prefix: &str) -> Result<(), Fault> {
        match self.planted(store.links()) {
            Some(link) => Err(Fault::LinkThatAgentsWrite {
                path: written.to_owned(),
                link: link.display().to_string(),
                prefix: prefix.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The first of these links that lies in a directory that agents write.
    pub(crate) fn planted<'l>(&self, links: &'l [PathBuf]) -> Option<&'l PathBuf> {
        let mut looked = Looked::default();
        links.iter().find(|link| {
            let mut places = self.mounted.iter().filter(|place| place.written);
            places.any(|place| looked.beneath(&place.directory, link).is_some())
                || self.others.iter().any(|written| written.holds(link))
        })
    }
}
