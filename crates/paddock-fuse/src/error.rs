//! Why a file system cannot be served.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a file system cannot be served.
#[derive(Debug, Error)]
pub enum FuseError {
    /// The host has no FUSE.
    #[error("this host has no /dev/fuse")]
    NoDevice,
    /// The user may not open the device.
    #[error("you may not open /dev/fuse")]
    DeviceDenied,
    /// An ordinary user needs a helper to mount.
    #[error("fusermount3 is not installed, and only root mounts without it")]
    NoHelper,
    /// The place to mount on is not a directory.
    #[error("\"{}\" is not a directory that can be reached", dir.display())]
    NotADirectory {
        /// Where.
        dir: PathBuf,
        /// What the host says.
        source: io::Error,
    },
    /// Something is in it.
    #[error("\"{}\" is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// A file system that nobody serves any more is mounted there.
    #[error("\"{}\" is still mounted, and nobody serves it any more", .0.display())]
    LeftBehind(PathBuf),
    /// The host refuses the mount.
    #[error("cannot mount on \"{}\": {source}", dir.display())]
    Mount {
        /// Where.
        dir: PathBuf,
        /// What the host says.
        source: io::Error,
    },
    /// The kernel and this program do not understand each other.
    #[error("the file system cannot be served: {0}")]
    Serve(#[source] io::Error),
}

impl FuseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDevice => {
                "load the kernel's module with `modprobe fuse`; in a container, start it with `--device /dev/fuse`"
                    .to_owned()
            }
            Self::DeviceDenied => "have an administrator run `chmod 0666 /dev/fuse`, as most systems do".to_owned(),
            Self::NoHelper => "install the package `fuse3`".to_owned(),
            Self::NotADirectory { .. } => "name a directory that exists and that you may enter".to_owned(),
            Self::NotEmpty(_) => "name an empty directory: what is in this one would be covered".to_owned(),
            Self::LeftBehind(dir) => {
                format!("run `fusermount3 -u {0}` (or, as root, `umount {0}`) first", dir.display())
            }
            Self::Mount { .. } => "`paddock doctor` shows what this host can do".to_owned(),
            Self::Serve(_) => "the kernel may be too old: Linux 5.4 or later is needed".to_owned(),
        }
    }
}
