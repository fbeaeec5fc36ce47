//! What whoever waits is told while a project comes or goes, and how they stop it.

use std::ops::ControlFlow;

use crate::error::{ProjectError, Result};

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Files and links that are done.
    pub files: u64,
    /// Bytes of content that are done.
    pub bytes: u64,
    /// What is being done now.
    pub path: &'a str,
}

/// Hears of progress; answers `Break` to stop.
pub type Watch<'a> = &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>;

/// For whoever does not want to hear of it.
pub fn unwatched(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Counts, and tells.
pub(crate) struct Meter<'a> {
    watch: Watch<'a>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(watch: Watch<'a>) -> Self {
        Self { watch, files: 0, bytes: 0 }
    }

    /// Something is going on with this path.
    pub(crate) fn at(&mut self, path: &str) -> Result<()> {
        match (self.watch)(Progress { files: self.files, bytes: self.bytes, path }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ProjectError::Stopped),
        }
    }

    /// So many more bytes of this path are done.
    pub(crate) fn advance(&mut self, path: &str, bytes: usize) -> Result<()> {
        self.bytes += bytes as u64;
        self.at(path)
    }
}
