//! Where a path with symbolic links in it leads, inside the Mount.
//!
//! The links are read name by name, each from a descriptor that was opened without following
//! anything. The answer is only a path: the Vfs judges it and opens it again the strict way, so
//! that a link swapped in meanwhile can only make an error.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::path::Path;

use paddock_core::{Call, ErrorKind, Kind, LastName, RelPath, RelPathBuf, StoreError};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::host::{kind_of, open_beneath, store_error};

/// As many links as the kernel itself follows.
const MAX_LINKS: usize = 40;

/// Replaces every link on the way by where it leads.
pub(super) fn resolve(
    call: &Call<'_>,
    mount: impl AsFd,
    host: &Path,
    path: RelPath<'_>,
    last: LastName,
) -> Result<RelPathBuf, StoreError> {
    let mut todo: VecDeque<String> = path.names().map(str::to_owned).collect();
    let mut done: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        call.tick(0)?;
        if name == ".." {
            // Only a link's own text can hold this: logical paths have none.
            done.pop().ok_or(ErrorKind::LinkEscapes)?;
            continue;
        }
        done.push(name);
        if todo.is_empty() && last == LastName::Keep {
            break;
        }
        let Some(lead) = link_at(&mount, &done.join("/"))? else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(ErrorKind::LinkEscapes.into());
        }
        done.pop();
        if let Some(inside) = lead.strip_prefix('/') {
            let inside = below_mount(inside, host).ok_or(ErrorKind::LinkEscapes)?;
            done.clear();
            push_front(&mut todo, &inside);
        } else {
            push_front(&mut todo, &lead);
        }
    }
    RelPathBuf::parse(&done.join("/")).map_err(|_| ErrorKind::LinkEscapes.into())
}

/// Where the link at a path says that it leads.
pub(super) fn leads_to(mount: impl AsFd, path: RelPath<'_>) -> Result<String, StoreError> {
    let fd = open_beneath(mount, path.as_str(), OFlags::PATH | OFlags::NOFOLLOW).map_err(store_error)?;
    if kind_of(&rustix::fs::fstat(&fd).map_err(store_error)?) != Kind::Link {
        return Err(ErrorKind::Unsupported("reading a link where there is none").into());
    }
    let text = rustix::fs::readlinkat(&fd, "", Vec::new()).map_err(store_error)?;
    text.into_string().map_err(|_| ErrorKind::Unsupported("a link whose text is not UTF-8").into())
}

/// The text of the link at a path; nothing when it is no link, or is not there.
fn link_at(mount: impl AsFd, path: &str) -> Result<Option<String>, StoreError> {
    let fd = match open_beneath(mount, path, OFlags::PATH | OFlags::NOFOLLOW) {
        Ok(fd) => fd,
        // What does not exist stays as it is written; so does what lies below a file.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(ErrorKind::Stale.into()),
        Err(e) => return Err(store_error(e)),
    };
    if kind_of(&rustix::fs::fstat(&fd).map_err(store_error)?) != Kind::Link {
        return Ok(None);
    }
    let text = rustix::fs::readlinkat(&fd, "", Vec::new()).map_err(store_error)?;
    text.into_string().map(Some).map_err(|_| ErrorKind::LinkEscapes.into())
}

fn push_front(todo: &mut VecDeque<String>, path: &str) {
    for name in path.split('/').rev().filter(|name| !matches!(*name, "" | ".")) {
        todo.push_front(name.to_owned());
    }
}

/// An absolute link that leads into the Mount, as a path relative to it.
fn below_mount(link: &str, host: &Path) -> Option<String> {
    let inside = Path::new("/").join(link);
    inside.strip_prefix(host).ok()?.to_str().map(str::to_owned)
}
