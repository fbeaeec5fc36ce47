//! What was written, remembered so that exactly that can be taken back.
//!
//! One file per client and place in the System Root (`connections/`), where no agent reaches it: from a client's file alone
//! nobody can tell whether a person wrote a line before. It holds Paddock's own lines and the switches they replaced, never
//! the rest of a file, which may hold tokens.

use std::path::{Path, PathBuf};

use paddock_state::SystemRoot;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::wish::Done;
use crate::failure::Failure;
use crate::host;

const VERSION: u32 = 1;

/// Everything that was written for one client at one place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    client: String,
    /// The Project Root, or the person's home.
    place: PathBuf,
    pub(crate) files: Vec<Written>,
}

/// What was written into one file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    /// The file was not there before.
    pub(crate) made: bool,
    /// Nor were these directories, the innermost first.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) done: Vec<Done>,
}

impl Record {
    pub(crate) fn new(client: &str, place: &Path, files: Vec<Written>) -> Self {
        Self { version: VERSION, client: client.to_owned(), place: place.to_owned(), files }
    }

    pub(crate) fn of_file(&self, path: &Path) -> Option<&Written> {
        self.files.iter().find(|written| written.path == path)
    }
}

/// Where the record of a client at a place is kept.
#[derive(Debug)]
pub(crate) struct Memory {
    system_root: SystemRoot,
    file: PathBuf,
}

impl Memory {
    pub(crate) fn of(system_root: &SystemRoot, client: &str, place: &Path) -> Self {
        let digest = Sha256::digest(place.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let file = system_root.path().join("connections").join(format!("{client}-{short}.json"));
        Self { system_root: system_root.clone(), file }
    }

    /// What was written, if anything was.
    pub(crate) fn recall(&self) -> anyhow::Result<Option<Record>> {
        let unusable = |reason: String| {
            let message = format!("what `paddock connect` wrote is not known: \"{}\" {reason}", self.file.display());
            Failure::failed(message, "take Paddock's lines out of the client's files by hand, and remove that file")
        };
        let text = host::text_if_any(&self.file).map_err(|error| unusable(format!("cannot be read: {error}")))?;
        let Some(text) = text else { return Ok(None) };
        let record: Record = serde_json::from_str(&text).map_err(|error| unusable(format!("is damaged: {error}")))?;
        if record.version > VERSION {
            return Err(unusable("was written by a newer Paddock".to_owned()));
        }
        Ok(Some(record))
    }

    /// Remembers; nothing to remember leaves nothing.
    pub(crate) fn keep(&self, record: &Record) -> anyhow::Result<()> {
        if record.files.is_empty() {
            return self.forget();
        }
        self.system_root.ensure().map_err(|error| Failure::failed(&error, error.hint()))?;
        let text = format!("{:#}\n", serde_json::to_value(record)?);
        let kept = host::make_dir_private(self.directory()).and_then(|()| host::replace(&self.file, &text, 0o600));
        kept.map_err(|error| self.unkept(&error))
    }

    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        host::remove_if_there(&self.file).map_err(|error| self.unkept(&error))?;
        host::remove_dir_if_empty(self.directory());
        Ok(())
    }

    fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    fn unkept(&self, error: &std::io::Error) -> anyhow::Error {
        let message = format!("cannot write \"{}\": {error}", self.file.display());
        Failure::failed(message, "check that you may write the System Root; without it nothing could be taken back")
    }
}
