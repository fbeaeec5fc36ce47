//! WorkspaceHome: a project's own place in the System Root, `workspaces/<WorkspaceId>/`.
//!
//! It appears whole: a directory with its `origin.json` is prepared beside and renamed into place. A rename
//! never replaces a directory that holds something, so of two projects (or two processes) that want the
//! same id exactly one gets it, and the other reads whose it is.
//!
//! It must never give one origin the state of another, nor guess whose state without an origin is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::origin::Unreadable;
use crate::{Origin, StateError, SystemRoot, WorkspaceId, private};

const ORIGIN_FILE: &str = "origin.json";
/// What the files in [`SystemRoot::audit_heads_dir`] end with.
pub(crate) const HEAD_ENDING: &str = ".head";

/// A project's directory under `workspaces/`, checked to be its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceHome {
    id: WorkspaceId,
    path: PathBuf,
    audit_head: PathBuf,
}

impl WorkspaceHome {
    /// The place that already belongs to `origin`, if there is one. Makes nothing.
    ///
    /// # Errors
    /// When a place that may be the origin's cannot be read, or nothing says whose it is.
    pub fn find(system: &SystemRoot, origin: &Origin) -> Result<Option<Self>, StateError> {
        // The hashed id first: who once had to take it keeps it after the plain one becomes free.
        for id in [WorkspaceId::with_hash(origin), WorkspaceId::of(origin)] {
            let home = Self::at(system, id);
            if home.owner()?.as_ref() == Some(origin) {
                return Ok(Some(home));
            }
        }
        Ok(None)
    }

    /// The origin's place, made now if it is not there yet.
    ///
    /// # Errors
    /// As [`Self::find`], and when it cannot be made.
    pub fn claim(system: &SystemRoot, origin: &Origin) -> Result<Self, StateError> {
        system.ensure()?;
        if let Some(home) = Self::find(system, origin)? {
            return Ok(home);
        }
        let plain = Self::at(system, WorkspaceId::of(origin));
        if plain.take(system, origin)? == *origin {
            return Ok(plain);
        }
        let hashed = Self::at(system, WorkspaceId::with_hash(origin));
        let owner = hashed.take(system, origin)?;
        if owner == *origin {
            return Ok(hashed);
        }
        Err(StateError::Taken { path: hashed.path, owner: Box::new(owner) })
    }

    /// Where the place of `origin` was, if all that is left of it is the head of its audit: somebody took it away.
    #[must_use]
    pub fn taken_away(system: &SystemRoot, origin: &Origin) -> Option<PathBuf> {
        let homes = [WorkspaceId::with_hash(origin), WorkspaceId::of(origin)].map(|id| Self::at(system, id));
        homes.into_iter().find(|home| home.audit_head.is_file() && !home.path.exists()).map(|home| home.path)
    }

    /// Whose place a directory under `workspaces/` is, as far as that can be read.
    #[must_use]
    pub fn owner_of(place: &Path) -> Option<Origin> {
        let text = fs::read_to_string(place.join(ORIGIN_FILE)).ok()?;
        Origin::from_json(&text).ok()
    }

    /// The id it is kept under.
    #[must_use]
    pub fn id(&self) -> &WorkspaceId {
        &self.id
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is.
    #[must_use]
    pub fn origin_file(&self) -> PathBuf {
        self.path.join(ORIGIN_FILE)
    }

    /// Ledger, checkpoints, tokens, metadata of Virtual Stores.
    #[must_use]
    pub fn state_db(&self) -> PathBuf {
        self.path.join("state.db")
    }

    /// How far the audit was when it was last looked at from outside its database. Not in this place but beside the key:
    /// whoever takes this place away, or puts an older one in it, does not take this along.
    #[must_use]
    pub fn audit_head(&self) -> &Path {
        &self.audit_head
    }

    /// Chunks of Virtual Stores and evicted outputs.
    #[must_use]
    pub fn content_db(&self) -> PathBuf {
        self.path.join("content.db")
    }

    /// Pre-images of Physical Stores; staged and held changes.
    #[must_use]
    pub fn history_dir(&self) -> PathBuf {
        self.path.join("history")
    }

    /// Conversations and extension state, one directory per instance.
    #[must_use]
    pub fn instances_dir(&self) -> PathBuf {
        self.path.join("instances")
    }

    fn at(system: &SystemRoot, id: WorkspaceId) -> Self {
        let path = system.workspaces_dir().join(&id);
        let audit_head = system.audit_heads_dir().join(format!("{id}{HEAD_ENDING}"));
        Self { id, path, audit_head }
    }

    /// Who has this place: `None` when it is free (missing, or an empty directory).
    fn owner(&self) -> Result<Option<Origin>, StateError> {
        if let Some(owner) = self.origin()? {
            return Ok(Some(owner));
        }
        if !self.holds_something()? {
            return Ok(None);
        }
        // A place appears whole: if it came between the two looks, its origin is there by now.
        self.origin()?.map(Some).ok_or_else(|| StateError::NoOrigin(self.path.clone()))
    }

    /// What `origin.json` says, where there is one.
    fn origin(&self) -> Result<Option<Origin>, StateError> {
        let file = self.origin_file();
        match fs::read_to_string(&file) {
            Ok(text) => Origin::from_json(&text).map(Some).map_err(|unreadable| match unreadable {
                Unreadable::Damaged(reason) => StateError::DamagedOrigin { path: file, reason },
                Unreadable::Newer(layout) => StateError::NewerLayout { path: self.path.clone(), layout },
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let reason = "it is not text".to_owned();
                Err(StateError::DamagedOrigin { path: file, reason })
            }
            Err(error) => Err(StateError::io(file, error)),
        }
    }

    fn holds_something(&self) -> Result<bool, StateError> {
        match fs::read_dir(&self.path) {
            Ok(mut entries) => Ok(entries.next().is_some()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StateError::io(&self.path, error)),
        }
    }

    /// Puts `origin` here if nobody has the place, and says who has it now.
    fn take(&self, system: &SystemRoot, origin: &Origin) -> Result<Origin, StateError> {
        let prepared = prepare(system, origin)?;
        let moved = fs::rename(&prepared, &self.path);
        if moved.is_err() {
            // Somebody has it. What was prepared is ours alone and holds one small file.
            let _ = fs::remove_dir_all(&prepared);
        }
        match (self.owner()?, moved) {
            (Some(owner), _) => {
                let place = system.workspaces_dir();
                private::sync_directory(&place).map_err(|error| StateError::io(&place, error))?;
                Ok(owner)
            }
            (None, Err(error)) => Err(StateError::io(&self.path, error)),
            (None, Ok(())) => Err(StateError::NoOrigin(self.path.clone())),
        }
    }
}

/// A new directory beside the others that holds the origin and nothing else.
fn prepare(system: &SystemRoot, origin: &Origin) -> Result<PathBuf, StateError> {
    // No WorkspaceId is such a name: those contain `__`.
    let directory = system.workspaces_dir().join(format!("{}{}", private::UNFINISHED, private::unused()));
    private::make_directory(&directory).map_err(|error| StateError::io(&directory, error))?;
    let file = directory.join(ORIGIN_FILE);
    write_durably(&file, origin.to_json().as_bytes()).map_err(|error| StateError::io(&file, error))?;
    Ok(directory)
}

fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private::options().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()?;
    path.parent().map_or(Ok(()), private::sync_directory)
}
