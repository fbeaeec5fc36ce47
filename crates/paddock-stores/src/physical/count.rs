//! Counting everything that a Mount holds, for the baseline of its quota.
//!
//! Files, links and directories count as one each, under whatever name, also what a Workspace hides; their bytes are the lengths of
//! files and of links' texts. A file with several names counts once for each. What Paddock itself has under a temporary name does not.
//!
//! Only one directory is open at a time, so that depth costs no descriptors.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use paddock_core::{Call, ErrorKind, Kind, Result, StoreError, Usage};
use rustix::fs::{AtFlags, OFlags, RawDir};
use rustix::io::Errno;

use super::host::{meta_of, open_raw_beneath, store_error};
use super::lock::lock_dirs;
use super::walk::passed_over;
use super::{PhysicalStore, TEMP_PREFIX};

/// How many entries are counted between two looks at the call's bounds.
const TICK: u64 = 1024;

impl PhysicalStore {
    /// Counts what the Mount holds now, by going through all of it.
    pub fn count(&self, call: &Call<'_>) -> Result<Usage> {
        self.count_while(call, &mut || {})
    }

    /// As [`Self::count`], with something to be done now and then.
    pub(crate) fn count_while(&self, call: &Call<'_>, meanwhile: &mut dyn FnMut()) -> Result<Usage> {
        let mount = match self.mount_for_reading() {
            Err(e) if *e.kind() == ErrorKind::NotFound => return Ok(Usage::default()),
            opened => opened?,
        };
        let mut usage = Usage::default();
        let mut left: Vec<CString> = vec![CString::from(c".")];
        while let Some(path) = left.pop() {
            let counted = count_dir(call, &mount, &path, &mut usage, &mut left, meanwhile);
            match counted {
                Err(e) if !path.as_bytes().eq(b".") && passed_over(&e) => {}
                // The Mount itself went away meanwhile, and holds as little as one that was never there.
                Err(e) if *e.kind() == ErrorKind::NotFound => return Ok(Usage::default()),
                counted => counted?,
            }
        }
        Ok(usage)
    }
}

fn count_dir(
    call: &Call<'_>,
    mount: &OwnedFd,
    path: &CStr,
    usage: &mut Usage,
    left: &mut Vec<CString>,
    meanwhile: &mut dyn FnMut(),
) -> Result<()> {
    let dir = open_raw_beneath(mount, path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(store_error)?;
    outlast_changes(call, &dir)?;
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut raw = RawDir::new(&dir, buffer.spare_capacity_mut());
    let mut seen = 0;
    while let Some(entry) = raw.next() {
        let entry = entry.map_err(store_error)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        seen += 1;
        if seen % TICK == 0 {
            call.tick(TICK)?;
            meanwhile();
        }
        let stat = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            // It went away meanwhile.
            Err(Errno::NOENT) => continue,
            stat => meta_of(&stat.map_err(store_error)?),
        };
        if stat.kind == Kind::Dir {
            usage.files += 1;
            left.push(below(path, name)?);
        } else if !name.to_bytes().starts_with(TEMP_PREFIX.as_bytes()) {
            usage.files += 1;
            usage.bytes += if matches!(stat.kind, Kind::File | Kind::Link) { stat.len } else { 0 };
        }
    }
    call.tick(seen % TICK)?;
    meanwhile();
    Ok(())
}

/// A change is counted before it is made, and both under the lock of its directory. Who was counted before the count
/// began has the lock by now: once it was ours, their change is there to be seen. It is not held any longer than
/// that, and who keeps it for too long is passed by.
fn outlast_changes(call: &Call<'_>, dir: &OwnedFd) -> Result<()> {
    match lock_dirs(call, &[dir]) {
        Err(e) if *e.kind() != ErrorKind::Busy => Err(e),
        _ => Ok(()),
    }
}

fn below(path: &CStr, name: &CStr) -> Result<CString> {
    let joined = [path.to_bytes(), b"/", name.to_bytes()].concat();
    CString::new(joined).map_err(|_| StoreError::from(ErrorKind::Io))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use paddock_core::{AgentName, CallId, Cancel};

    use super::*;

    #[test]
    fn a_mount_that_goes_away_meanwhile_holds_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mount = place.path().join("mount");
        std::fs::create_dir(&mount).unwrap();
        // More than the kernel tells at once, so that it is asked again.
        (0..4 * TICK).for_each(|n| std::fs::write(mount.join(format!("a file with a name {n}")), "").unwrap());
        let store = PhysicalStore::new(&mount).unwrap();
        let (agent, cancel) = (AgentName::main(), Cancel::default());
        let deadline = Instant::now() + Duration::from_secs(600);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let counted = store.count_while(&call, &mut || drop(std::fs::remove_dir_all(&mount)));
        assert_eq!(counted.unwrap(), Usage::default());
        assert!(!mount.exists());
    }
}
