//! A file while it is written: its content in memory, until it becomes one call.
//!
//! The memory is an anonymous file of the kernel, so nothing of it is on a disk and a Store reads it from a
//! descriptor. All of them together are bounded: past the bound a write is told that there is no space.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::Errno;
use paddock_core::{Expect, Staged, Version};
use rustix::fs::MemfdFlags;

use crate::errno::{self, Result};

/// How much may be in memory.
#[derive(Debug)]
pub(crate) struct Room {
    used: AtomicU64,
    /// The most of all files together.
    all: u64,
    /// The most of one file.
    one: u64,
}

impl Room {
    pub(crate) fn new(all: u64, one: u64) -> Self {
        Self { used: AtomicU64::new(0), all, one }
    }

    fn resize(&self, from: u64, to: u64) -> Result<()> {
        if to <= from {
            self.used.fetch_sub(from - to, Ordering::SeqCst);
            return Ok(());
        }
        if to > self.one {
            return Err(Errno::EFBIG);
        }
        let more = to - from;
        let grown = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
            used.checked_add(more).filter(|used| *used <= self.all)
        });
        grown.map(|_| ()).map_err(|_| Errno::ENOSPC)
    }

    #[cfg(test)]
    fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }
}

/// What the content replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Based {
    /// The file was created here and is not in the Store yet.
    New {
        /// Nothing may be there when it arrives.
        exclusive: bool,
    },
    /// All of it is new, whatever was there.
    Whole,
    /// It is what this version held, changed.
    On(Version),
}

/// Is the content in the Store?
#[derive(Debug, Clone, Copy)]
pub(crate) enum State {
    /// It is.
    Kept,
    /// The file was created or emptied, and nothing written yet.
    Begun,
    /// Something was written.
    Written,
    /// The Store did not take it; nothing was written since.
    Refused(Errno),
}

/// The content of a file that is being written.
pub(crate) struct Held {
    file: File,
    len: u64,
    room: Arc<Room>,
    pub(crate) mode: u32,
    pub(crate) modified: SystemTime,
    pub(crate) based: Based,
    pub(crate) state: State,
    /// It goes to a write-only Workspace: what is there never comes here, so this is all that is known of it.
    pub(crate) one_way: bool,
    /// What was written goes to the end of what a write-only Workspace holds.
    pub(crate) appends: bool,
}

impl Held {
    /// An empty file.
    pub(crate) fn new(room: &Arc<Room>, mode: u32, based: Based, state: State) -> Result<Self> {
        let fd = rustix::fs::memfd_create("paddock", MemfdFlags::CLOEXEC).map_err(|e| errno::of_host(&e.into()))?;
        Ok(Self {
            file: File::from(fd),
            len: 0,
            room: Arc::clone(room),
            mode: mode & paddock_core::PLAIN_MODE,
            modified: now(),
            based,
            state,
            one_way: false,
            appends: false,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Is something here that is not in the Store?
    pub(crate) fn is_ahead(&self) -> bool {
        !matches!(self.state, State::Kept)
    }

    /// Is what is here what programs see?
    pub(crate) fn is_shown(&self) -> bool {
        self.one_way || self.is_ahead()
    }

    /// What was to be added to the end of a file is there now; what is written next is added after it.
    pub(crate) fn is_added(&mut self) -> Result<()> {
        self.set_len(0)?;
        self.state = State::Kept;
        Ok(())
    }

    /// Is it not in the Store at all?
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.based, Based::New { .. })
    }

    pub(crate) fn read(&self, offset: u64, size: usize) -> Result<Vec<u8>> {
        let there = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; size.min(there)];
        self.file.read_exact_at(&mut bytes, offset).map_err(|e| errno::of_host(&e))?;
        Ok(bytes)
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        self.fill(offset, data)?;
        (self.state, self.modified) = (State::Written, now());
        Ok(())
    }

    /// Takes bytes in without counting as written.
    pub(crate) fn fill(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(Errno::EFBIG)?;
        if end > self.len {
            self.room.resize(self.len, end)?;
            self.len = end;
        }
        self.file.write_all_at(data, offset).map_err(|e| errno::of_host(&e))
    }

    pub(crate) fn set_len(&mut self, len: u64) -> Result<()> {
        self.room.resize(self.len, len)?;
        self.len = len;
        self.file.set_len(len).map_err(|e| errno::of_host(&e))?;
        (self.state, self.modified) = (State::Written, now());
        Ok(())
    }

    /// The file as a Store takes it. Whoever asks keeps it from being written until the Store has it.
    pub(crate) fn staged(&self) -> Result<Staged> {
        let file = self.file.try_clone().map_err(|e| errno::of_host(&e))?;
        Ok(Staged::new(file, self.len, self.mode, self.modified))
    }

    /// What has to be there for it to arrive.
    pub(crate) fn expect(&self) -> Expect {
        match self.based {
            Based::New { exclusive: true } => Expect::Absent,
            Based::New { exclusive: false } | Based::Whole => Expect::Any,
            Based::On(version) => Expect::Is(version),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.room.resize(self.len, 0);
    }
}

/// The time in the steps that every Store keeps.
pub(crate) fn now() -> SystemTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_millis(u64::try_from(since.as_millis()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(room: &Arc<Room>) -> Held {
        Held::new(room, 0o644, Based::Whole, State::Begun).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_with_zeros_between() {
        let room = Arc::new(Room::new(100, 100));
        let mut file = held(&room);
        file.write(3, b"abc").unwrap();
        assert_eq!(file.read(0, 100).unwrap(), b"\0\0\0abc");
        assert_eq!(file.read(4, 1).unwrap(), b"b");
        assert!(file.read(6, 5).unwrap().is_empty());
        assert!(file.read(60, 5).unwrap().is_empty());
        file.set_len(4).unwrap();
        file.set_len(6).unwrap();
        assert_eq!(file.read(0, 100).unwrap(), b"\0\0\0a\0\0");
    }

    #[test]
    fn the_memory_is_bounded_and_given_back() {
        let room = Arc::new(Room::new(100, 60));
        let mut first = held(&room);
        first.write(0, &[1; 60]).unwrap();
        assert_eq!(first.write(60, b"x").unwrap_err().code(), Errno::EFBIG.code());
        let mut second = held(&room);
        second.write(0, &[1; 40]).unwrap();
        assert_eq!(second.write(40, b"x").unwrap_err().code(), Errno::ENOSPC.code());
        assert_eq!(second.read(0, 50).unwrap(), [1; 40], "what was there stays");
        first.set_len(10).unwrap();
        second.write(40, b"x").unwrap();
        assert_eq!(room.used(), 51);
        drop((first, second));
        assert_eq!(room.used(), 0);
    }
}
