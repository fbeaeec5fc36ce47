//! The forks of a project: which there are, what each stands on, and whose Workspace it is.
//!
//! One small file in the project's place, replaced whole; its contents are in a database, under the fork's own id.
//! Whoever changes it holds a lock, so that of two people who fork at once none is lost.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{StateError, WorkspaceHome, private};

const FORKS_FILE: &str = "forks.json";

/// One fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRecord {
    /// Its name: the Workspace is at `/forks/NAME`.
    pub name: String,
    /// Tells it from every other fork that ever had this name.
    pub id: String,
    /// The prefix of the Workspace that it stands on.
    pub source: String,
    /// The place behind it. Another one there later is not what was forked.
    #[serde(default)]
    pub territory: String,
    /// The agent that has this Workspace.
    pub from: String,
    /// The agents that have the fork.
    pub agents: Vec<String>,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// The commit that it stands on, where the Store can hold on to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_at: Option<u64>,
    /// Whose commit that is: a Workspace may get another Mount later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_in: Option<String>,
}

/// The file that lists a project's forks.
#[derive(Debug, Clone)]
pub struct Forks {
    path: PathBuf,
}

impl Forks {
    /// Those of a project.
    #[must_use]
    pub fn of(home: &WorkspaceHome) -> Self {
        Self { path: home.path().join(FORKS_FILE) }
    }

    /// The file, for whoever watches it.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn list(&self) -> Result<Vec<ForkRecord>, StateError> {
        let damaged = |reason: String| StateError::Damaged { path: self.path.clone(), reason };
        match fs::read(&self.path) {
            Ok(bytes) => {
                let forks: Vec<ForkRecord> =
                    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
                match forks.iter().find(|fork| !is_name(&fork.name)) {
                    Some(fork) => Err(damaged(format!("{:?} cannot name a fork", fork.name))),
                    None => Ok(forks),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(StateError::io(&self.path, error)),
        }
    }

    /// Changes the list; what the closure answers comes back when the new list is on disk.
    ///
    /// # Errors
    /// When the file cannot be read or written, or the closure refuses.
    pub fn change<T, E: From<StateError>>(
        &self,
        change: impl FnOnce(&mut Vec<ForkRecord>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = self.lock()?;
        let mut forks = self.list()?;
        let done = change(&mut forks)?;
        forks.sort_by(|a, b| a.name.cmp(&b.name));
        self.replace(&forks)?;
        Ok(done)
    }

    fn lock(&self) -> Result<File, StateError> {
        let path = self.path.with_extension("lock");
        let failed = |error| StateError::io(&path, error);
        let file = private::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    fn replace(&self, forks: &[ForkRecord]) -> Result<(), StateError> {
        let failed = |error| StateError::io(&self.path, error);
        let text = serde_json::to_vec_pretty(forks).map_err(|error| failed(io::Error::other(error)))?;
        private::replace(&self.path, &text).map_err(failed)
    }
}

/// Can a fork have this name? It is a part of a path, and is printed.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HomeSources, Origin, SystemRoot};

    fn record(name: &str) -> ForkRecord {
        ForkRecord {
            name: name.to_owned(),
            id: format!("{name}-1"),
            source: "/w".to_owned(),
            territory: "disk:/w".to_owned(),
            from: "main".to_owned(),
            agents: vec!["main".to_owned()],
            created: 1,
            frozen_at: None,
            frozen_in: None,
        }
    }

    #[test]
    fn many_changes_at_once_lose_none() {
        let dir = tempfile::tempdir().unwrap();
        let sources = HomeSources { option: Some(dir.path().join("home")), ..HomeSources::default() };
        let system = SystemRoot::resolve(&sources, None).unwrap();
        let home = WorkspaceHome::claim(&system, &Origin::new(dir.path(), "p")).unwrap();
        let forks = Forks::of(&home);
        assert_eq!(forks.list().unwrap(), []);
        std::thread::scope(|scope| {
            for n in 0..16 {
                let forks = &forks;
                scope.spawn(move || {
                    forks
                        .change::<_, StateError>(|all| {
                            all.push(record(&format!("f{n:02}")));
                            Ok(())
                        })
                        .unwrap();
                });
            }
        });
        let names: Vec<String> = forks.list().unwrap().into_iter().map(|fork| fork.name).collect();
        assert_eq!(names, (0..16).map(|n| format!("f{n:02}")).collect::<Vec<_>>());
        fs::write(forks.path(), "{").unwrap();
        assert!(matches!(forks.list(), Err(StateError::Damaged { .. })));
        for name in ["", "a\nb", "a\0", "a\u{202e}b", "../a", &"a".repeat(65)] {
            fs::write(forks.path(), serde_json::to_vec(&[record(name)]).unwrap()).unwrap();
            assert!(matches!(forks.list(), Err(StateError::Damaged { .. })), "{name:?}");
        }
    }
}
