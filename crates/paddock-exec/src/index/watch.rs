//! Being told of changes, for trees so large that asking every directory costs more than a command.
//!
//! The kernel tells of a change before the call that made it returns, so what has not been told has not happened. That
//! holds for file systems of this machine only, and while its queue has room; whatever breaks it, a file system of
//! another kind, a limit, an overflow, ends the watching, and directories are asked again.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// File systems on which every change goes through this kernel: ext, XFS, Btrfs, tmpfs, F2FS, ZFS.
const LOCAL: &[u64] = &[0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1];

/// A queue of changes in the directories that were added.
pub(super) struct Watch {
    queue: OwnedFd,
    /// The device that all of them are on.
    device: u64,
    paths: HashMap<i32, PathBuf>,
}

impl Watch {
    /// Begins to watch the tree at `top`; none where changes could come from elsewhere.
    pub(super) fn begin(top: BorrowedFd<'_>) -> Option<Watch> {
        let kind = rustix::fs::fstatfs(top).ok()?.f_type as u64;
        let device = rustix::fs::fstat(top).ok()?.st_dev;
        let queue = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        LOCAL.contains(&kind).then(|| Watch { queue, device, paths: HashMap::new() })
    }

    /// Adds an open directory; to be called before it is read. False when the watching has to end.
    pub(super) fn add(&mut self, directory: &OwnedFd, device: u64, path: &Path) -> bool {
        let flags =
            WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::ATTRIB | WatchFlags::ONLYDIR;
        let through = format!("/proc/self/fd/{}", directory.as_raw_fd());
        match add_watch(&self.queue, through, flags) {
            Ok(number) if device == self.device => {
                self.paths.insert(number, path.to_owned());
                true
            }
            _ => false,
        }
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
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => {}
                Ok(event) if is_mode_of_a_file(event.events(), event.file_name().is_some()) => {}
                Ok(event) => changed.extend(self.paths.get(&event.wd()).cloned()),
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
