//! The steps by which a sandbox is built: a list made before the clone, read after it.
//!
//! A step holds everything that its system calls need, as C strings and plain numbers, since after the clone nothing
//! may be allocated. Paths named `at` are relative to the new system; paths named `from` are the host's.

use std::ffi::CString;

use crate::error::Part;
use crate::sandbox::Serve;

/// One step. The launcher names the failed one in its error.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Makes a directory.
    Dir { at: CString },
    /// Makes a file with a content; an empty one is also a place to mount a file on.
    File { at: CString, content: Vec<u8> },
    /// Makes a symbolic link.
    Link { at: CString, to: CString },
    /// Shows a place of the system read-only; one that is gone is left out.
    System { from: CString, at: CString },
    /// Shows a device.
    Device { from: CString, at: CString },
    /// Shows a directory of the scratch space, writable.
    Scratch { from: CString, at: CString },
    /// Mounts the processes of the sandbox.
    Proc,
    /// Shows a directory of the host.
    Bind { from: Seen, at: CString, read_only: bool },
    /// Shows directories of the host as layers.
    Overlay(Box<Layers>),
    /// Makes layers the ground on which the system and every other place are: a Workspace at `/`.
    Ground(Box<Layers>),
    /// Mounts a file system that the launcher serves.
    Fuse { at: CString },
    /// Binds a directory onto itself, so that it cannot be renamed or removed.
    Pin { at: CString },
    /// Binds a place onto itself read-only.
    Guard { at: CString },
    /// Covers a place with nothing.
    Cover { at: CString },
}

impl Step {
    /// What the step does, for a message.
    pub(crate) fn doing(&self) -> String {
        let (verb, at) = match self {
            Step::Dir { at } | Step::File { at, .. } | Step::Link { at, .. } => ("making", at),
            Step::System { at, .. } => ("showing the system's", at),
            Step::Device { at, .. } => ("showing the device", at),
            Step::Scratch { at, .. } => ("mounting", at),
            Step::Proc => return "mounting /proc".to_owned(),
            Step::Bind { at, .. } => ("showing", at),
            Step::Overlay(layers) | Step::Ground(layers) => ("mounting layers at", &layers.at),
            Step::Fuse { at } => ("mounting a served file system at", at),
            Step::Pin { at } => ("pinning", at),
            Step::Guard { at } => ("guarding", at),
            Step::Cover { at } => ("covering", at),
        };
        format!("{verb} /{}", at.to_string_lossy())
    }
}

impl Step {
    /// What kind of step it is.
    pub(crate) fn part(&self) -> Part {
        match self {
            Step::Proc => Part::Processes,
            Step::Overlay(_) | Step::Ground(_) => Part::Layers,
            _ => Part::Mounts,
        }
    }
}

/// A directory of the host that was opened when the run was planned: what is found there later must be the same one.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: CString,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// An overlay: from the top down `upper`, `held`, `veil`, `base`.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    pub(crate) at: CString,
    pub(crate) base: Seen,
    pub(crate) held: Vec<Seen>,
    /// Where changes go, and the kernel's work directory beside it; without them nothing can be changed.
    pub(crate) upper: Option<(Seen, Seen)>,
    /// The directory of the scratch space that holds the veil.
    pub(crate) veil_at: CString,
    pub(crate) veil: Vec<Veil>,
}

/// An entry of the layer that lies on the base: it hides names, and has the places where nested Workspaces are mounted.
#[derive(Debug, Clone)]
pub(crate) enum Veil {
    /// A directory that goes through to the base, or is new. A merged directory shows the attributes of its topmost
    /// layer, so it carries those of the base. An opaque one shows nothing of the base.
    Dir { at: CString, mode: u32, owner: Option<(u32, u32)>, modified: Option<(i64, i64)>, opaque: bool },
    /// A name that is not there.
    Hidden { at: CString },
}

/// What is served from outside for a run, in the order of its steps.
pub(crate) struct Served {
    pub(crate) file_systems: Vec<Serve<std::os::fd::OwnedFd>>,
    pub(crate) listener: Option<Serve<std::net::TcpListener>>,
}
