//! The lease of an instance: a lock that ends with the process that has it, and a note that says which one that is.
//!
//! The lock is the host's, so a dead holder has none: nothing has to time out, and nobody can be taken for dead who is not.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::layer::{Files as _, HostFiles};
use crate::conversation::{ConversationError, Result};
use crate::{InstanceKey, Timestamp, private};

/// How long a look at the lock takes, and for how many of them it is waited.
const LOOK: Duration = Duration::from_millis(2);
const LOOKS: u32 = 10;

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    file: File,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing would not be enough: a process that is just being started has the descriptor too, until its own program runs.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Who has a lease.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    pid: u32,
    program: String,
    since: Timestamp,
}

impl Lease {
    /// Takes the lease of the instance in `directory`, or says who has it.
    pub(crate) fn take(directory: &Path, key: &InstanceKey) -> Result<Self> {
        Self::take_once_opened(directory, key, &mut || ())
    }

    /// The same; what others do between the opening of the file and its lock is for the tests to say.
    fn take_once_opened(directory: &Path, key: &InstanceKey, opened: &mut dyn FnMut()) -> Result<Self> {
        let path = directory.join("lease");
        let told = |error| ConversationError::io(&path, error);
        loop {
            let mut file = match private::options().read(true).write(true).create(true).truncate(false).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(ConversationError::NoInstance(key.clone()));
                }
                file => file.map_err(told)?,
            };
            opened();
            match locked(&file) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let holder = holder(&mut file);
                    return Err(ConversationError::Held { key: key.clone(), holder });
                }
                Err(error) => return Err(told(error.into())),
            }
            let mut lease = Self { file };
            // Who had the lease may have emptied or removed the instance: then this one is of a directory that nobody finds any more.
            if HostFiles.is_at(&lease.file, &path).map_err(told)? {
                sign(&mut lease.file).map_err(told)?;
                return Ok(lease);
            }
        }
    }
}

/// Takes the lock. Who only looks whether somebody has it, has it for that moment: such moments are waited for.
fn locked(file: &File) -> rustix::io::Result<()> {
    let mut tries = LOOKS;
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if tries > 0 => tries -= 1,
            done => return done,
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether somebody writes the instance in `directory` now, and who.
pub(crate) fn held_by(directory: &Path) -> Option<String> {
    let mut file = File::open(directory.join("lease")).ok()?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => Some(holder(&mut file)),
        _ => {
            let _ = rustix::fs::flock(&file, FlockOperation::Unlock);
            None
        }
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    let program = std::env::args().next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let note = Note { pid: std::process::id(), program, since: Timestamp::now() };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(&note)?.as_bytes())
}

/// The holder in words; it may not have signed yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match read.ok().and_then(|_| serde_json::from_str::<Note>(&text).ok()) {
        Some(Note { pid, program, since }) => format!("process {pid} ({program}), since {since}"),
        None => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key() -> InstanceKey {
        InstanceKey::new("main").unwrap()
    }

    #[test]
    fn the_lease_is_of_the_directory_that_is_in_its_place_now() {
        let home = tempfile::tempdir().unwrap();
        let (place, old, new) = (home.path().join("main"), home.path().join("old"), home.path().join("new"));
        [&place, &new].iter().for_each(|directory| fs::create_dir(directory).unwrap());
        let mut holder = Some(Lease::take(&place, &key()).unwrap());
        let waited = Lease::take_once_opened(&place, &key(), &mut || {
            if let Some(held) = holder.take() {
                fs::rename(&place, &old).unwrap();
                fs::rename(&new, &place).unwrap();
                drop(held);
            }
        });
        let _waited = waited.unwrap();
        let third = Lease::take(&place, &key());
        assert!(matches!(third, Err(ConversationError::Held { .. })), "two have it: {third:?}");
    }

    #[test]
    fn who_waited_for_an_instance_that_was_removed_is_told_that_there_is_none() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("main");
        fs::create_dir(&place).unwrap();
        let mut holder = Some(Lease::take(&place, &key()).unwrap());
        let waited = Lease::take_once_opened(&place, &key(), &mut || {
            fs::rename(&place, home.path().join("gone")).unwrap();
            drop(holder.take());
        });
        assert!(matches!(waited, Err(ConversationError::NoInstance(_))), "{waited:?}");
    }
}
