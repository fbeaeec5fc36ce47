//! What reaches the disk when an instance is made, emptied, filled or removed, or one of its small files is replaced.
//!
//! A directory appears whole and goes whole, by a rename each; a small file is written beside its place and renamed. Before a name is
//! relied on, the directory that holds it is synced. Every step goes through the layer that the tests of crashes stop.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Imported, Instance};
use crate::TurnId;
use crate::conversation::file::{FileConversation, Files, OneFile as _, Over, Paths, write_first_base};
use crate::conversation::{Conversation as _, ConversationError, Result};

pub(super) const METADATA: &str = "metadata.json";
pub(super) const EXTENSIONS: &str = "extensions";

/// The turns of a conversation from elsewhere: the one its messages came in, and the one whose events came with it.
pub(super) struct ImportTurns {
    pub(super) confirmed: TurnId,
    pub(super) open: TurnId,
}

/// The place of all instances, for whoever changes something there.
pub(super) struct Directories<'p, S> {
    pub(super) files: S,
    pub(super) place: &'p Path,
    /// Whether the loss of power is survived too.
    pub(super) synced: bool,
}

impl<S: Files> Directories<'_, S> {
    /// Makes an empty instance; false when there is one already.
    pub(super) fn create(&self, instance: &Instance) -> Result<bool> {
        self.build(instance, Over::Nothing, |_| Ok(()))
    }

    /// Puts an empty instance in the place of the one that is there.
    pub(super) fn clear(&self, fresh: &Instance) -> Result<()> {
        self.build(fresh, Over::Another, |_| Ok(())).map(drop)
    }

    /// Makes an instance of a conversation from elsewhere. Gives the number of its messages; nothing when there is one already.
    pub(super) fn import(
        &self,
        instance: &Instance,
        turns: &ImportTurns,
        Imported { messages, events, .. }: Imported<'_>,
    ) -> Result<Option<u64>> {
        let mut count = 0;
        let built = self.build(instance, Over::Nothing, |paths| {
            count = write_first_base(&self.files, paths, &turns.confirmed, messages)?;
            let mut conversation = FileConversation::open(self.files.clone(), paths.clone(), self.synced, ())?;
            events.iter().try_for_each(|event| conversation.append_event(&turns.open, event).map(drop))
        })?;
        Ok(built.then_some(count))
    }

    /// Removes the instance in a directory.
    pub(super) fn remove(&self, directory: &Path) -> Result<()> {
        let gone = self.aside("gone");
        self.files.rename(directory, &gone, Over::Nothing).map_err(told(directory))?;
        self.sync(self.place)?;
        self.files.remove(&gone).map_err(told(&gone))
    }

    /// Writes a small file whole or not at all.
    pub(super) fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        // Of nobody else, not even of another thread: two that shared it would put each other's half in place.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let beside = path.with_file_name(name);
        let placed = self.write(&beside, content).and_then(|()| {
            let renamed = self.files.rename(&beside, path, Over::Replaced);
            renamed.map_err(told(path))
        });
        if placed.is_err() {
            let _ = self.files.remove(&beside);
        }
        placed?;
        path.parent().map_or(Ok(()), |directory| self.sync(directory))
    }

    /// Builds an instance beside its place, and puts it there in one step. False when somebody was faster.
    fn build(&self, instance: &Instance, over: Over, fill: impl FnOnce(&Paths) -> Result<()>) -> Result<bool> {
        let new = self.aside("new");
        let place = self.place.join(&instance.instance_key);
        let taken = self.prepare(&new, instance, fill).and_then(|()| match self.files.rename(&new, &place, over) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed.map(|()| true).map_err(told(&place)),
        });
        if matches!(taken, Ok(true)) {
            // What was in the place must not go before it is certain to be there no longer.
            self.sync(self.place)?;
        }
        // What was in the place, or what did not get there: under no key.
        let _ = self.files.remove(&new);
        taken
    }

    /// The directories and files of an instance, all of which last.
    fn prepare(&self, new: &Path, instance: &Instance, fill: impl FnOnce(&Paths) -> Result<()>) -> Result<()> {
        let paths = Paths::of(new);
        self.make_place(self.place)?;
        for directory in [new, &paths.directory, &new.join(EXTENSIONS)] {
            self.files.make_directory(directory).map_err(told(directory))?;
        }
        for file in [&paths.base, &paths.events] {
            self.files.create(file, false).map_err(told(file))?;
        }
        let metadata = new.join(METADATA);
        let text = instance.to_json().map_err(|error| ConversationError::io(&metadata, error.into()))?;
        self.write(&metadata, text.as_bytes())?;
        fill(&paths)?;
        self.sync(&paths.directory)?;
        self.sync(new)
    }

    /// Makes the place of the instances, and those above it that are missing.
    fn make_place(&self, place: &Path) -> Result<()> {
        let Some(parent) = place.parent() else { return Ok(()) };
        match self.files.make_directory(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_place(parent)?;
                self.make_place(place)
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(ConversationError::io(place, error)),
            // Also where it was there: whoever made it may have ended before this.
            _ => self.sync(parent),
        }
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let file = self.files.create(path, true).map_err(told(path))?;
        let written = file.write_at(content, 0).and_then(|()| if self.synced { file.sync() } else { Ok(()) });
        written.map_err(told(path))
    }

    fn sync(&self, directory: &Path) -> Result<()> {
        if self.synced { self.files.sync_directory(directory).map_err(told(directory)) } else { Ok(()) }
    }

    fn aside(&self, why: &str) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        self.place.join(format!(".{why}-{}-{since}-{count}", std::process::id()))
    }
}

fn told(path: &Path) -> impl FnOnce(io::Error) -> ConversationError {
    let path = path.to_owned();
    move |error| ConversationError::io(path, error)
}
