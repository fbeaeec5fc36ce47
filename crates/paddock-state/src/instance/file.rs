//! Instances in directories: `instances/<instanceKey>/` with `metadata.json`, `messages/` and `extensions/`.
//!
//! A directory appears whole and goes whole: a name that begins with a dot, which no key does, is one that is being made or
//! removed. It must never follow a link out of its place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use paddock_db::Durability;
use serde_json::{Map, Value};

use super::directory::{Directories, EXTENSIONS, ImportTurns, METADATA};
use super::{Imported, Instance, Instances, Listing, Saved, Seen, Status, extension, small};
use crate::conversation::file::{self, FileConversation, HostFiles, Lease, Paths, Snapshot, held_by, repair};
use crate::conversation::{Conversation, ConversationError, Message, MessageEvent, Repaired, Result};
use crate::{ExtensionName, InstanceKey, TurnId, WorkspaceHome};

/// The turn that an imported conversation came in, and the one whose events came with it.
const IMPORTED: &str = "import";
const IMPORTED_OPEN: &str = "import-open";

/// The instances in one directory.
#[derive(Debug, Clone)]
pub struct FileInstances {
    place: PathBuf,
    durability: Durability,
}

impl FileInstances {
    /// Those of a project.
    #[must_use]
    pub fn of(home: &WorkspaceHome, durability: Durability) -> Self {
        Self::at(home.instances_dir(), durability)
    }

    /// Those in a directory, which is made when the first instance is.
    #[must_use]
    pub fn at(place: PathBuf, durability: Durability) -> Self {
        Self { place, durability }
    }

    /// Copies the conversation of an instance as it is at one moment, over what stands in the directory `to` of a copied instance.
    ///
    /// # Errors
    /// When there is no such instance, or the host refuses.
    pub fn copy_conversation(&self, key: &InstanceKey, to: &Path) -> Result<()> {
        file::copy(&HostFiles, &Paths::of(&self.found(key)?), &Paths::of(to))
    }

    fn directory(&self, key: &InstanceKey) -> PathBuf {
        self.place.join(key)
    }

    fn synced(&self) -> bool {
        self.durability == Durability::Disk
    }

    /// For whoever changes something.
    fn directories(&self) -> Directories<'_, HostFiles> {
        Directories { files: HostFiles, place: &self.place, synced: self.synced(), now: SystemTime::now() }
    }

    /// The conversation as it is at this moment.
    fn snapshot(&self, key: &InstanceKey) -> Result<Snapshot<fs::File>> {
        let taken = file::snapshot(&HostFiles, &Paths::of(&self.found(key)?));
        taken.or_else(|error| {
            // What was removed meanwhile is not damaged.
            self.found(key)?;
            Err(error)
        })
    }

    /// The directory of an instance that is there.
    fn found(&self, key: &InstanceKey) -> Result<PathBuf> {
        let directory = self.directory(key);
        match fs::symlink_metadata(&directory) {
            Ok(metadata) if metadata.is_dir() => Ok(directory),
            Ok(_) => Err(damaged(&directory, "it is not a directory")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ConversationError::NoInstance(key.clone())),
            Err(error) => Err(ConversationError::io(directory, error)),
        }
    }

    fn metadata(directory: &Path) -> Result<Instance> {
        let path = directory.join(METADATA);
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged(&path, "it is missing"),
            _ => ConversationError::io(&path, error),
        })?;
        let instance = Instance::of_json(bytes).map_err(|reason| damaged(&path, &reason))?;
        match directory.file_name().and_then(|name| name.to_str()) {
            Some(name) if name == instance.instance_key.as_str() => Ok(instance),
            _ => Err(damaged(&path, &format!("it is of instance \"{}\"", instance.instance_key))),
        }
    }

    fn change(&self, key: &InstanceKey, change: impl FnOnce(&mut Instance)) -> Result<()> {
        let directory = self.found(key)?;
        let mut instance = Self::metadata(&directory)?;
        change(&mut instance);
        instance.updated_at = crate::Timestamp::now().max(instance.updated_at);
        let path = directory.join(METADATA);
        let text = instance.to_json().map_err(|error| ConversationError::io(&path, error.into()))?;
        self.directories().replace(&path, text.as_bytes())
    }

    fn state_file(directory: &Path, extension: &ExtensionName) -> PathBuf {
        directory.join(EXTENSIONS).join(format!("{extension}.json"))
    }

    fn stored_state(path: &Path) -> Result<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConversationError::io(path, error)),
        }
    }
}

impl Instances for FileInstances {
    fn create(&self, key: &InstanceKey, agent: &str) -> Result<Instance> {
        loop {
            if let Some(instance) = self.show(key)? {
                return Ok(instance);
            }
            let instance = Instance::new(key, agent);
            if self.directories().create(&instance)? {
                return Ok(instance);
            }
        }
    }

    fn show(&self, key: &InstanceKey) -> Result<Option<Instance>> {
        match self.found(key) {
            Ok(directory) => Self::metadata(&directory).map(Some),
            Err(ConversationError::NoInstance(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self) -> Result<Listing> {
        let entries = match fs::read_dir(&self.place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Listing::default()),
            Err(error) => return Err(ConversationError::io(&self.place, error)),
        };
        let mut listing = Listing::default();
        for entry in entries {
            let entry = entry.map_err(|error| ConversationError::io(&self.place, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // What is being made or removed.
            if name.starts_with('.') {
                continue;
            }
            let read = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Self::metadata(&entry.path()),
                // A link leads out of here, whatever it leads to.
                _ => Err(damaged(&entry.path(), "it is not a directory")),
            };
            match read {
                Ok(instance) => listing.instances.push(instance),
                Err(error) => listing.unreadable.push((name, error.to_string())),
            }
        }
        listing.instances.sort_by(|a, b| (b.updated_at, &a.instance_key).cmp(&(a.updated_at, &b.instance_key)));
        listing.unreadable.sort();
        Ok(listing)
    }

    fn set_status(&self, key: &InstanceKey, status: Status) -> Result<()> {
        self.change(key, |instance| instance.status = status)
    }

    fn delete(&self, key: &InstanceKey) -> Result<bool> {
        let removed = self.found(key).and_then(|directory| {
            let _lease = Lease::take(&directory, key)?;
            self.directories().remove(&directory)
        });
        match removed {
            // Who was cut off while it went may ask again: then what it said is still there, under another name.
            Err(ConversationError::NoInstance(_)) => self.directories().sweep().map(|()| false),
            removed => removed.map(|()| true),
        }
    }

    fn clear(&self, key: &InstanceKey) -> Result<()> {
        let directory = self.found(key)?;
        let old = Self::metadata(&directory)?;
        let _lease = Lease::take(&directory, key)?;
        let fresh = Instance { created_at: old.created_at, ..Instance::new(key, &old.agent_name) };
        self.directories().clear(&fresh)
    }

    fn conversation(&self, key: &InstanceKey) -> Result<Box<dyn Conversation>> {
        let directory = self.found(key)?;
        let lease = Lease::take(&directory, key)?;
        let opened = FileConversation::open(HostFiles, Paths::of(&directory), self.synced(), lease)?;
        Ok(Box::new(opened))
    }

    fn read(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<Seen> {
        let snapshot = self.snapshot(key)?;
        let open_turn = snapshot.open_turn();
        Ok(Seen { open_turn, notices: snapshot.messages(each)? })
    }

    fn read_apart(&self, key: &InstanceKey, each: &mut dyn FnMut(Message)) -> Result<(Vec<MessageEvent>, Seen)> {
        let snapshot = self.snapshot(key)?;
        let open_turn = snapshot.open_turn();
        let (events, notices) = snapshot.apart(each)?;
        Ok((events, Seen { open_turn, notices }))
    }

    fn get_state(&self, key: &InstanceKey, extension: &ExtensionName) -> Result<Option<Map<String, Value>>> {
        let path = Self::state_file(&self.found(key)?, extension);
        let Some(bytes) = Self::stored_state(&path)? else { return Ok(None) };
        let read = small::open(bytes).and_then(|text| extension::read(&text));
        read.map(Some).map_err(|reason| damaged(&path, &reason))
    }

    fn extensions(&self, key: &InstanceKey) -> Result<Vec<ExtensionName>> {
        let place = self.found(key)?.join(EXTENSIONS);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ConversationError::io(place, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry.map_err(|error| ConversationError::io(&place, error))?.file_name();
            let stem = file.to_str().and_then(|name| name.strip_suffix(".json"));
            names.extend(stem.and_then(|stem| ExtensionName::new(stem).ok()));
        }
        names.sort();
        Ok(names)
    }

    fn set_state(&self, key: &InstanceKey, extension: &ExtensionName, state: &Map<String, Value>) -> Result<Saved> {
        let path = Self::state_file(&self.found(key)?, extension);
        let text = extension::written(state).map_err(|error| ConversationError::io(&path, error.into()))?;
        let text = small::seal(&text);
        if Self::stored_state(&path)?.as_deref() == Some(text.as_bytes()) {
            return Ok(Saved::Unchanged);
        }
        self.directories().replace(&path, text.as_bytes())?;
        Ok(Saved::Written)
    }

    fn repair(&self, key: &InstanceKey, apply: bool) -> Result<Repaired> {
        let directory = self.found(key)?;
        let _lease = Lease::take(&directory, key)?;
        repair(&HostFiles, &Paths::of(&directory), apply)
    }

    fn import(&self, key: &InstanceKey, agent: &str, imported: Imported<'_>) -> Result<u64> {
        if self.show(key)?.is_some() {
            return Err(ConversationError::Exists(key.clone()));
        }
        let turn = |name| TurnId::new(name).map_err(|bad| damaged(&self.place, &bad.to_string()));
        let turns = ImportTurns { confirmed: turn(IMPORTED)?, open: turn(IMPORTED_OPEN)? };
        let count =
            self.directories().import(&Instance::imported(key, agent, imported.created_at), &turns, imported)?;
        count.ok_or_else(|| ConversationError::Exists(key.clone()))
    }

    fn held_by(&self, key: &InstanceKey) -> Option<String> {
        held_by(&self.directory(key))
    }
}

fn damaged(path: &Path, reason: &str) -> ConversationError {
    ConversationError::DamagedFile { path: path.to_owned(), reason: reason.to_owned() }
}
