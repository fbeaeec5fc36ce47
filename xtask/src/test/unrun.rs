//! What tests themselves found that this machine cannot run, or not as every user.
//!
//! The harness prints nothing of a test that passes, so they write it into a file, which a variable names; see
//! `tests/could_not_run.rs`. Some of them run as another user, who must be able to write it too.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::repo::Repo;

/// Names the file; the tests know it by the same name.
pub(super) const VARIABLE: &str = "PADDOCK_COULD_NOT_RUN";

/// The file of one run.
#[derive(Debug)]
pub(super) struct Unrun {
    path: PathBuf,
}

impl Unrun {
    /// An empty one, for everybody to add to.
    pub(super) fn begin(repo: &Repo) -> Result<Self> {
        let path = repo.build_directory().join("could-not-run.txt");
        let made = fs::create_dir_all(repo.build_directory())
            .and_then(|()| fs::write(&path, ""))
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o666)));
        made.with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What was written, each once.
    pub(super) fn lines(self) -> Result<Vec<String>> {
        let text = fs::read_to_string(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(text.lines().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn what_tests_add_is_listed_once_and_nothing_of_an_earlier_run() {
        let sample = Sample::of(&[("target/could-not-run.txt", "of another run\n")]);
        let unrun = Unrun::begin(&sample.repo()).unwrap();
        assert_eq!(fs::metadata(unrun.path()).unwrap().permissions().mode() & 0o777, 0o666);
        for line in ["b: no node", "a: no fuse", "b: no node"] {
            let mut file = fs::File::options().append(true).open(unrun.path()).unwrap();
            writeln!(file, "{line}").unwrap();
        }
        assert_eq!(unrun.lines().unwrap(), ["a: no fuse", "b: no node"]);
    }

    #[test]
    fn the_tests_know_the_file_by_the_same_name() {
        let text = include_str!("../../../tests/could_not_run.rs");
        assert!(text.contains(&format!("\"{VARIABLE}\"")));
    }
}
