//! Whether an operation would be over at once, for whoever must not wait.
//!
//! Only a look: nothing is changed by it and nothing promised. Where it cannot tell it says no, which costs a hop to another thread.
//!
//! Of a read only the Mount is asked, and what is known of that is remembered: a look at its path would cost as much as the read. So
//! what somebody mounted within a Mount is read as if it lay on the Mount's own disk.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};

use paddock_core::{ErrorKind, Kind, OpKind, RelPath, Result};
use rustix::fs::{OFlags, Stat};
use rustix::io::Errno;

use super::host::{kind_of, open_unmounted, store_error};
use super::lock;
use super::{Durability, OpenMount, PhysicalStore, TRUST};

/// A directory is read and put in order whole for each page of it. One of so many bytes holds a few thousand names.
const LARGE_DIR: i64 = 128 * 1024;
/// As many, where the size of a directory is the number of its names.
const MANY_NAMES: i64 = 4096;
/// A file that is edited, or kept on another disk, is read whole.
const LARGE_FILE: i64 = 1024 * 1024;

/// File systems of this machine's own disks and memory, by the numbers that the kernel has for them, and the size up to which a directory
/// there is no large one. Others may have a server to be waited for, or call something else the size of a directory.
///
/// An overlay of the kernel (0x794c7630), which is what containers stand on, is not among them. It does not tell what is below it, which
/// may be an image that is fetched over a network as it is read, and the size of a directory is that of its upper layer alone.
const LOCAL: [(u32, i64); 7] = [
    (0xef53, LARGE_DIR),       // ext2, ext3, ext4
    (0x5846_5342, LARGE_DIR),  // XFS
    (0x9123_683e, LARGE_DIR),  // Btrfs
    (0x0102_1994, LARGE_DIR),  // tmpfs
    (0xf2f5_2010, LARGE_DIR),  // F2FS
    (0xca45_1a4e, LARGE_DIR),  // bcachefs
    (0x2fc1_2fc1, MANY_NAMES), // ZFS
];

/// The file system that a directory is on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disk {
    device: u64,
    /// The size of the largest directory that is listed at once; nothing where it is no disk of this machine, nor its memory.
    listed: Option<i64>,
}

impl Disk {
    fn of(dir: &OwnedFd) -> rustix::io::Result<Self> {
        let device = rustix::fs::fstat(dir)?.st_dev;
        Ok(Self { device, listed: listed_at_once(rustix::fs::fstatfs(dir)?.f_type) })
    }

    /// Is this directory on it?
    pub(super) fn holds(self, dir: &OwnedFd) -> bool {
        rustix::fs::fstat(dir).is_ok_and(|stat| stat.st_dev == self.device)
    }
}

fn listed_at_once(file_system: impl Into<i64>) -> Option<i64> {
    let file_system = file_system.into();
    LOCAL.iter().find(|(known, _)| i64::from(*known) == file_system).map(|(_, size)| *size)
}

pub(super) fn is_at_hand(store: &PhysicalStore, op: OpKind, path: RelPath<'_>) -> bool {
    let Some(largest) = disk_of(store).and_then(|disk| disk.listed) else { return false };
    match op {
        OpKind::Read => true,
        OpKind::List => is_listed_soon(store, path, largest),
        OpKind::Write | OpKind::Append | OpKind::Edit | OpKind::MakeDir => {
            store.durability == Durability::Process && store.reading(|mount| is_free(mount, path)).unwrap_or(false)
        }
        _ => false,
    }
}

/// What the Mount is on. That is found out once for each file system that its path leads to, and not while there is no Mount.
fn disk_of(store: &PhysicalStore) -> Option<Disk> {
    let known = store.open.read().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|open| open.disk);
    if let Some(disk) = known.filter(|disk| disk.listed.is_none()) {
        // To open the Mount again would be to ask its server. Whoever may wait does so, and notices there that it is another.
        return Some(disk);
    }
    let open = store.open_mount(TRUST).ok()?;
    open.disk.or_else(|| find_out(store, &open))
}

fn find_out(store: &PhysicalStore, open: &OpenMount) -> Option<Disk> {
    let disk = Disk::of(&open.dir).ok()?;
    let mut now = store.open.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(now) = now.as_mut().filter(|now| Arc::ptr_eq(&now.dir, &open.dir)) {
        now.disk = Some(disk);
    }
    Some(disk)
}

/// Is the directory none of the large ones, and on the Mount's own file system?
fn is_listed_soon(store: &PhysicalStore, path: RelPath<'_>, largest: i64) -> bool {
    match store.reading(|mount| look_unmounted(mount, path.as_str()).map_err(store_error)) {
        // A link may lead to another Workspace.
        Ok(stat) => kind_of(&stat) != Kind::Link && stat.st_size <= largest,
        // What is not there is soon said.
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Is nobody writing in the directory, and nothing large or unusual at the path?
fn is_free(mount: &OwnedFd, path: RelPath<'_>) -> Result<bool> {
    let Some((parent, name)) = path.split_last() else { return Ok(false) };
    let dir = open_unmounted(mount, parent.as_str(), OFlags::RDONLY | OFlags::DIRECTORY).map_err(store_error)?;
    let is_light = match look_unmounted(&dir, name) {
        Ok(stat) => kind_of(&stat) == Kind::File && stat.st_size <= LARGE_FILE,
        Err(errno) => errno == Errno::NOENT,
    };
    Ok(is_light && lock::is_free(&dir))
}

/// Facts about what is at a path, unless something is mounted on the way or there: whoever serves that would have to be asked.
fn look_unmounted(dir: impl AsFd, path: &str) -> rustix::io::Result<Stat> {
    rustix::fs::fstat(open_unmounted(dir, path, OFlags::PATH | OFlags::NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::Duration;

    use paddock_core::{RelPathBuf, Store as _};

    use super::*;

    /// Overlays, NFS, FUSE, SMB, 9P, and the kernel's own.
    const ELSEWHERE: [i64; 6] = [0x794c_7630, 0x6969, 0x6573_5546, 0xfe53_4d42, 0x0102_1997, 0x9fa0];

    fn at_hand(store: &PhysicalStore, op: OpKind, path: &str) -> bool {
        store.is_at_hand(op, RelPathBuf::parse(path).unwrap().as_rel())
    }

    /// A Store that takes what it stands on for a disk that lists directories of this size, whatever the tests run on.
    fn on_a_disk(dir: &Path, listed: Option<i64>) -> PhysicalStore {
        let store = PhysicalStore::new(dir).unwrap();
        take_for(&store, listed);
        store
    }

    fn take_for(store: &PhysicalStore, listed: Option<i64>) {
        let open = store.open_mount(TRUST).unwrap();
        let device = rustix::fs::fstat(&open.dir).unwrap().st_dev;
        *store.open.write().unwrap() = Some(OpenMount { disk: Some(Disk { device, listed }), ..open });
    }

    #[test]
    fn what_is_known_of_a_file_system_goes_by_its_number() {
        for (disk, size) in LOCAL {
            assert_eq!(listed_at_once(disk), Some(size), "{disk:#x}");
        }
        for elsewhere in ELSEWHERE {
            assert_eq!(listed_at_once(elsewhere), None, "{elsewhere:#x}");
        }
        let dir = tempfile::tempdir().unwrap();
        let kernel_says = listed_at_once(rustix::fs::fstatfs(File::open(dir.path()).unwrap()).unwrap().f_type);
        let store = PhysicalStore::new(dir.path()).unwrap();
        assert_eq!(at_hand(&store, OpKind::Read, "f"), kernel_says.is_some(), "whatever this is");
    }

    #[test]
    fn a_change_is_at_hand_where_nobody_else_writes_and_nothing_is_large() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("d/e")).unwrap();
        fs::write(dir.path().join("d/small"), "x").unwrap();
        File::create(dir.path().join("d/large")).unwrap().set_len(1 << 30).unwrap();
        symlink("small", dir.path().join("d/link")).unwrap();
        let store = on_a_disk(dir.path(), Some(LARGE_DIR));
        for op in [OpKind::Write, OpKind::Append, OpKind::Edit, OpKind::MakeDir] {
            assert!(at_hand(&store, op, "d/small") && at_hand(&store, op, "d/new"), "{op:?}");
            for path in ["d/large", "d/link", "d/e", "missing/new", ""] {
                assert!(!at_hand(&store, op, path), "{op:?} {path}");
            }
            let held = File::open(dir.path().join("d")).unwrap();
            held.lock().unwrap();
            assert!(!at_hand(&store, op, "d/new"), "{op:?} while somebody holds the directory");
            assert!(at_hand(&store, op, "top"), "{op:?} in another directory");
            drop(held);
            assert!(at_hand(&store, op, "d/new"), "{op:?} afterwards: nothing is kept locked");
        }
        assert!(!at_hand(&store, OpKind::Delete, "d/small"));
        let lasting = on_a_disk(dir.path(), Some(LARGE_DIR)).with_durability(Durability::Disk);
        assert!(!at_hand(&lasting, OpKind::Write, "d/new"), "the disk has to be waited for");
        assert!(at_hand(&lasting, OpKind::Read, "d/small"));
    }

    #[test]
    fn nothing_is_at_hand_where_a_server_may_have_to_be_waited_for() {
        // No disk: the kernel answers there, as a server would.
        let store = PhysicalStore::new(Path::new("/proc/self")).unwrap();
        for op in OpKind::ALL {
            assert!(!at_hand(&store, op, "status") && !at_hand(&store, op, "new"), "{op:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("later");
        let store = PhysicalStore::new(&later).unwrap();
        assert!(!at_hand(&store, OpKind::List, "") && !at_hand(&store, OpKind::Read, "f"), "nothing is known of it");
        fs::create_dir(&later).unwrap();
        take_for(&store, Some(i64::MAX));
        assert!(at_hand(&store, OpKind::List, "") && at_hand(&store, OpKind::Read, "f"), "and now it is there");
    }

    #[test]
    fn what_is_mounted_within_is_not_at_hand() {
        let store = on_a_disk(Path::new("/"), Some(i64::MAX));
        assert!(at_hand(&store, OpKind::List, "") && at_hand(&store, OpKind::List, "no-such-directory"));
        for mounted in ["proc", "proc/sys"] {
            assert!(!at_hand(&store, OpKind::List, mounted), "{mounted}");
            let new = format!("{mounted}/new");
            assert!(!at_hand(&store, OpKind::Write, &new) && !at_hand(&store, OpKind::List, &new), "{new}");
        }
    }

    #[test]
    fn another_file_system_in_the_same_place_is_asked_anew() {
        let dir = tempfile::tempdir().unwrap();
        let store = on_a_disk(dir.path(), Some(7));
        let known = |store: &PhysicalStore| store.open_mount(Duration::ZERO).unwrap().disk.map(|disk| disk.listed);
        assert_eq!(known(&store), Some(Some(7)), "the same one is not asked again");
        let mut open = store.last_open().unwrap();
        open.disk = Some(Disk { device: !open.disk.unwrap().device, listed: None });
        open.checked = Duration::ZERO;
        *store.open.write().unwrap() = Some(open);
        assert!(!at_hand(&store, OpKind::Read, "f"));
        assert_eq!(store.last_open().unwrap().checked, Duration::ZERO, "what has a server is not opened for a look");
        assert_eq!(known(&store), None, "whoever opens it notices");
    }

    #[test]
    fn a_listing_is_at_hand_unless_the_directory_is_large() {
        let dir = tempfile::tempdir().unwrap();
        let listed = dir.path().join("listed");
        fs::create_dir(&listed).unwrap();
        File::create(listed.join("f")).unwrap();
        symlink("listed", dir.path().join("link")).unwrap();
        let size = i64::try_from(fs::metadata(&listed).unwrap().len()).unwrap();
        let (short, long) = (on_a_disk(dir.path(), Some(size)), on_a_disk(dir.path(), Some(size - 1)));
        assert!(at_hand(&short, OpKind::List, "listed") && !at_hand(&long, OpKind::List, "listed"));
        assert!(at_hand(&short, OpKind::List, "missing"), "that is soon said");
        assert!(!at_hand(&short, OpKind::List, "link"));
        assert!(at_hand(&long, OpKind::Read, "listed") && !at_hand(&short, OpKind::Search, "listed"));
    }
}
