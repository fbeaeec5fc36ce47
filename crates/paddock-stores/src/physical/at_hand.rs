//! Whether an operation would be over at once, for whoever must not wait.
//!
//! Only a look: nothing is changed by it and nothing promised. Where it cannot tell it says no, which costs a hop to another thread.

use std::os::fd::OwnedFd;

use paddock_core::{ErrorKind, Kind, OpKind, RelPath, Result};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::host::{kind_of, look, open_dir, store_error};
use super::lock;
use super::{Durability, PhysicalStore};

/// A directory is read and put in order whole for each page of it. One of so many bytes holds a few thousand names.
const LARGE_DIR: i64 = 128 * 1024;
/// A file that is edited, or kept on another disk, is read whole.
const LARGE_FILE: i64 = 1024 * 1024;

/// File systems of this machine's own disks and memory, by the numbers that the kernel has for them. Others may have a server to be waited
/// for, or call something else the size of a directory.
const LOCAL: [u32; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0xca45_1a4e];

pub(super) fn is_at_hand(store: &PhysicalStore, op: OpKind, path: RelPath<'_>) -> bool {
    match op {
        OpKind::Read => true,
        _ if !is_local(store) => false,
        OpKind::List => {
            let seen = store.reading(|mount| look(mount, path.as_str()).map_err(store_error));
            // What is not there is soon said; a link may lead to another Workspace.
            seen.map_or_else(
                |error| *error.kind() != ErrorKind::Link,
                |stat| kind_of(&stat) != Kind::Link && stat.st_size <= LARGE_DIR,
            )
        }
        OpKind::Write | OpKind::Append | OpKind::Edit | OpKind::MakeDir => {
            store.durability == Durability::Process && store.reading(|mount| is_free(mount, path)).unwrap_or(false)
        }
        _ => false,
    }
}

/// Is the Mount on a disk of this machine, or in its memory? Found out once, and not while there is no Mount.
fn is_local(store: &PhysicalStore) -> bool {
    let found = store.is_local.get().copied().or_else(|| {
        let found = store.reading(|mount| of_this_machine(mount).map_err(store_error)).ok()?;
        Some(*store.is_local.get_or_init(|| found))
    });
    found.unwrap_or(false)
}

fn of_this_machine(mount: &OwnedFd) -> rustix::io::Result<bool> {
    let kind = rustix::fs::fstatfs(mount)?.f_type;
    Ok(LOCAL.iter().any(|known| i64::from(*known) == kind))
}

/// Is nobody writing in the directory, and nothing large or unusual at the path?
fn is_free(mount: &OwnedFd, path: RelPath<'_>) -> Result<bool> {
    let Some((parent, name)) = path.split_last() else { return Ok(false) };
    let dir = open_dir(mount, parent.as_str()).map_err(store_error)?;
    let is_light = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => kind_of(&stat) == Kind::File && stat.st_size <= LARGE_FILE,
        Err(errno) => errno == Errno::NOENT,
    };
    Ok(is_light && lock::is_free(&dir))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use paddock_core::{RelPathBuf, Store as _};

    use super::*;

    fn at_hand(store: &PhysicalStore, op: OpKind, path: &str) -> bool {
        store.is_at_hand(op, RelPathBuf::parse(path).unwrap().as_rel())
    }

    #[test]
    fn a_change_is_at_hand_where_nobody_else_writes_and_nothing_is_large() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("d/e")).unwrap();
        fs::write(dir.path().join("d/small"), "x").unwrap();
        File::create(dir.path().join("d/large")).unwrap().set_len(1 << 30).unwrap();
        symlink("small", dir.path().join("d/link")).unwrap();
        let store = PhysicalStore::new(dir.path()).unwrap();
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
        let lasting = PhysicalStore::new(dir.path()).unwrap().with_durability(Durability::Disk);
        assert!(!at_hand(&lasting, OpKind::Write, "d/new"), "the disk has to be waited for");
    }

    #[test]
    fn nothing_but_a_read_is_at_hand_where_a_server_may_have_to_be_waited_for() {
        // No disk: the kernel answers there, as a server would.
        let store = PhysicalStore::new(std::path::Path::new("/proc/self")).unwrap();
        assert!(at_hand(&store, OpKind::Read, "status"));
        assert!(!at_hand(&store, OpKind::List, "") && !at_hand(&store, OpKind::Write, "new"));
        let missing = tempfile::tempdir().unwrap();
        let store = PhysicalStore::new(&missing.path().join("later")).unwrap();
        assert!(!at_hand(&store, OpKind::List, ""), "nothing is known of it");
        fs::create_dir(missing.path().join("later")).unwrap();
        assert!(at_hand(&store, OpKind::List, ""), "and now it is there");
    }

    #[test]
    fn a_listing_is_at_hand_unless_the_directory_is_large() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("few")).unwrap();
        fs::create_dir(dir.path().join("many")).unwrap();
        for n in 0..8000 {
            File::create(dir.path().join(format!("many/{n:0>60}"))).unwrap();
        }
        symlink("few", dir.path().join("link")).unwrap();
        let store = PhysicalStore::new(dir.path()).unwrap();
        assert!(at_hand(&store, OpKind::List, "") && at_hand(&store, OpKind::List, "few"));
        assert!(at_hand(&store, OpKind::List, "missing"), "that is soon said");
        assert!(!at_hand(&store, OpKind::List, "many") && !at_hand(&store, OpKind::List, "link"));
        assert!(at_hand(&store, OpKind::Read, "few") && !at_hand(&store, OpKind::Search, "few"));
    }
}
