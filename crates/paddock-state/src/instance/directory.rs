//! What reaches the disk when an instance is made, emptied, filled or removed, or one of its small files is replaced.
//!
//! A directory appears whole and goes whole, by a rename each; a small file is written beside its place and renamed. Before a name is
//! relied on, the directory that holds it is synced. Every step goes through the layer that the tests of crashes stop. What somebody
//! left under another name who was cut off is taken away by whoever comes next.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Imported, Instance};
use crate::TurnId;
use crate::conversation::file::{FileConversation, Files, OneFile as _, Over, Paths, write_first_base};
use crate::conversation::{Conversation as _, ConversationError, Result};
use crate::private::{self, Placing};

pub(super) const METADATA: &str = "metadata.json";
pub(super) const EXTENSIONS: &str = "extensions";

/// How the name begins of what was an instance.
const GONE: &str = ".gone-";
/// Nobody makes an instance for so long.
const ABANDONED: Duration = Duration::from_hours(24);

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
    /// When it is done.
    pub(super) now: SystemTime,
}

impl<S: Files> Directories<'_, S> {
    /// Makes an empty instance; false when there is one already.
    pub(super) fn create(&self, instance: &Instance) -> Result<bool> {
        self.build(instance, Over::Nothing, |_| Ok(()))
    }

    /// Puts an empty instance in the place of the one that is there.
    pub(super) fn clear(&self, fresh: &Instance) -> Result<()> {
        self.build(fresh, Over::Another, |_| Ok(()))?;
        self.sweep()
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
        self.put_away(directory)?;
        self.sweep()
    }

    /// Takes away what is no instance any more, and what never became one: also what somebody left who was cut off.
    pub(super) fn sweep(&self) -> Result<()> {
        let names = match self.files.names_in(self.place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names.map_err(told(self.place))?,
        };
        let left: Vec<_> = names.iter().filter(|name| self.is_left(name)).map(|name| self.place.join(name)).collect();
        if left.is_empty() {
            return Ok(());
        }
        // What is in it must not go before it is certain that the instance has this name, whoever gave it.
        self.sync(self.place)?;
        // One that cannot be taken away keeps no other.
        left.iter().map(|path| self.take_away(path)).fold(Ok(()), Result::and)
    }

    /// Writes a small file whole or not at all.
    pub(super) fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        private::replace_by(self, path, content).map_err(told(path))
    }

    /// Whether nobody will do anything more with what has such a name.
    fn is_left(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return false };
        let made = || name.strip_prefix(private::UNFINISHED)?.split('-').nth(1)?.parse().ok().map(Duration::from_nanos);
        let is_abandoned = |made| self.now.duration_since(UNIX_EPOCH + made).is_ok_and(|age| age > ABANDONED);
        name.starts_with(GONE) || made().is_some_and(is_abandoned)
    }

    fn take_away(&self, path: &Path) -> Result<()> {
        match self.files.remove(path) {
            // Somebody else sweeps too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(told(path)),
        }
    }

    /// Gives a directory a name under which it is to go.
    fn put_away(&self, directory: &Path) -> Result<()> {
        self.files.rename(directory, &self.aside(GONE), Over::Nothing).map_err(told(directory))
    }

    /// Builds an instance beside its place, and puts it there in one step. False when somebody was faster.
    fn build(&self, instance: &Instance, over: Over, fill: impl FnOnce(&Paths) -> Result<()>) -> Result<bool> {
        // What others left is in nobody's way.
        let _ = self.sweep();
        let new = self.aside(private::UNFINISHED);
        let place = self.place.join(&instance.instance_key);
        let taken = self.prepare(&new, instance, fill).and_then(|()| match self.files.rename(&new, &place, over) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed.map(|()| true).map_err(told(&place)),
        });
        if !matches!(taken, Ok(true)) {
            let _ = self.files.remove(&new);
            return taken;
        }
        if over == Over::Another {
            // What was in the place has the name of the new one now, under which it would stay if this ended here.
            self.put_away(&new)?;
        }
        self.sync(self.place)?;
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
        self.write(&metadata, text.as_bytes()).map_err(told(&metadata))?;
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

    fn sync(&self, directory: &Path) -> Result<()> {
        self.sync_directory(directory).map_err(told(directory))
    }

    /// A name that no instance has. It says when it was given.
    fn aside(&self, begins: &str) -> PathBuf {
        self.place.join(format!("{begins}{}", private::unused()))
    }
}

impl<S: Files> Placing for Directories<'_, S> {
    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let file = self.files.create(path, true)?;
        file.write_at(content, 0)?;
        if self.synced { file.sync() } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to, Over::Replaced)
    }

    fn discard(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.synced { self.files.sync_directory(path) } else { Ok(()) }
    }
}

fn told(path: &Path) -> impl FnOnce(io::Error) -> ConversationError {
    let path = path.to_owned();
    move |error| ConversationError::io(path, error)
}
