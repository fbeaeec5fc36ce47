//! Being told of changes, for trees so large that asking every directory costs more than a command.
//!
//! The kernel tells of a change before the call that made it returns, so what has not been told has not happened. That
//! holds for file systems of this machine only, and while its queue has room; whatever breaks it, a file system of
//! another kind, a limit, an overflow, ends the watching, and directories are asked again.
//!
//! What is watched is a directory and not a path: one that was moved is told of by the same number. So a number stands
//! for every path at which its directory was ever met. What is told of a path too many is only looked at again.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::Stat;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// File systems on which every change goes through this kernel: ext, XFS, Btrfs, tmpfs, F2FS, ZFS.
const LOCAL: &[u64] = &[0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1];

/// A directory that was met at more paths ends the watching: it would remember without end.
const MOST_PATHS: usize = 8;

/// A queue of changes in the directories that were added.
pub(super) struct Watch {
    queue: OwnedFd,
    /// The top of the tree.
    top: Stat,
    paths: HashMap<i32, BTreeSet<PathBuf>>,
}

impl Watch {
    /// Begins to watch the tree at `top`; none where changes could come from elsewhere.
    pub(super) fn begin(top: BorrowedFd<'_>) -> Option<Watch> {
        let kind = rustix::fs::fstatfs(top).ok()?.f_type as u64;
        let top = rustix::fs::fstat(top).ok()?;
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        LOCAL.contains(&kind).then(|| Watch { queue, top, paths: HashMap::new() })
    }

    /// Is this the top of the tree that is watched?
    pub(super) fn is_of(&self, top: &Stat) -> bool {
        (self.top.st_dev, self.top.st_ino) == (top.st_dev, top.st_ino)
    }

    /// Adds an open directory; to be called before it is read. The answer is what it was when the watching had begun, or none
    /// when the watching has to end.
    pub(super) fn add(&mut self, directory: &OwnedFd, path: &Path) -> Option<Stat> {
        let flags =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ATTRIB | WatchFlags::ONLYDIR;
        let through = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let number = add_watch(&self.queue, through, flags).ok()?;
        let paths = self.paths.entry(number).or_default();
        paths.insert(path.to_owned());
        let bounded = paths.len() <= MOST_PATHS;
        rustix::fs::fstat(directory).ok().filter(|meta| bounded && meta.st_dev == self.top.st_dev)
    }

    /// The directories that have changed since the last call; none when that is not known.
    pub(super) fn changed(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut changed = BTreeSet::new();
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.queue, &mut space);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return None,
                // Directories come and go with an entry of their parent, which is told too. Modes of files mean nothing.
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => drop(self.paths.remove(&event.wd())),
                Ok(event) if is_mode_of_a_file(event.events(), event.file_name().is_some()) => {}
                Ok(event) => changed.extend(self.paths.get(&event.wd()).into_iter().flatten().cloned()),
                Err(Errno::AGAIN) => return Some(changed),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }
}

fn is_mode_of_a_file(events: ReadFlags, named: bool) -> bool {
    events.contains(ReadFlags::ATTRIB) && named && !events.contains(ReadFlags::ISDIR)
}
