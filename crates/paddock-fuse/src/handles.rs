//! What programs have open: files that are read or written, and directories that are listed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use fuser::{Errno, FileHandle};

use crate::errno::Result;
use crate::listing::Cursor;
use crate::nodes::{Node, lock};

/// Something that is open.
pub(crate) enum Handle {
    /// A directory, and how far it is listed.
    Dir(Mutex<Cursor>),
    /// A file.
    File(OpenFile),
}

/// A file that is open.
pub(crate) struct OpenFile {
    pub(crate) node: Arc<Node>,
    pub(crate) writes: bool,
    pub(crate) appends: bool,
    /// The file was created or emptied with it, which is a change even when nothing is written.
    pub(crate) begins: bool,
}

/// Everything that is open, by number.
#[derive(Default)]
pub(crate) struct Handles(Mutex<(HashMap<u64, Arc<Handle>>, u64)>);

impl Handles {
    pub(crate) fn open(&self, handle: Handle) -> FileHandle {
        let (open, next) = &mut *lock(&self.0);
        *next += 1;
        open.insert(*next, Arc::new(handle));
        FileHandle(*next)
    }

    pub(crate) fn get(&self, fh: FileHandle) -> Result<Arc<Handle>> {
        lock(&self.0).0.get(&fh.0).cloned().ok_or(Errno::EBADF)
    }

    /// The nodes of all files that are open, whether the kernel still knows them or not.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        let node = |handle: &Arc<Handle>| match &**handle {
            Handle::File(file) => Some(Arc::clone(&file.node)),
            Handle::Dir(_) => None,
        };
        lock(&self.0).0.values().filter_map(node).collect()
    }

    pub(crate) fn close(&self, fh: FileHandle) -> Option<Arc<Handle>> {
        lock(&self.0).0.remove(&fh.0)
    }
}
