//! What arrives from outside, piece by piece, before it is put into a Workspace.
//!
//! It waits in a file without a name below the System Root: it never has to fit into memory, and a process that dies leaves nothing of it.

use std::fs::File;
use std::io::Write as _;
use std::time::SystemTime;

use paddock_core::{OpKind, Refused, Staged};

use super::{Spot, refused};
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::host;

/// A content that arrives.
#[derive(Debug)]
pub struct Receiving {
    file: File,
    len: u64,
    most: u64,
    mode: Option<u32>,
}

impl Receiving {
    /// For a content of this path. What the policy does not allow to be there is refused before any of it is taken.
    ///
    /// # Errors
    /// When it is denied, cannot fit into the Workspace, or nothing can be kept meanwhile.
    pub fn begin(desk: &Desk, spot: &Spot, announced: Option<u64>) -> Result<Self> {
        let person = spot.person();
        let decision = person.vfs().judge(OpKind::Write, &spot.path);
        if !decision.allowed() {
            return Err(refused(&Refused::Denied(Box::new(decision.denial(&spot.path)))));
        }
        let most = decision.workspace().and_then(|workspace| workspace.quota().bytes).unwrap_or(u64::MAX);
        if announced.is_some_and(|announced| announced > most) {
            return Err(too_much(most));
        }
        let home = desk.installation().home();
        let place = home.map_or_else(std::env::temp_dir, |home| home.path().join("incoming"));
        Ok(Self { file: host::nameless(&place)?, len: 0, most, mode: None })
    }

    /// The next piece.
    ///
    /// # Errors
    /// When it is more than the Workspace may hold, or cannot be kept.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.len = self.len.saturating_add(piece.len() as u64);
        if self.len > self.most {
            return Err(too_much(self.most));
        }
        Ok(self.file.write_all(piece)?)
    }

    /// With this mode, whatever the file that it replaces has.
    pub(crate) fn with_mode(self, mode: Option<u32>) -> Self {
        Self { mode, ..self }
    }

    /// For a file that otherwise has this mode.
    pub(super) fn staged(self, mode: u32) -> Staged {
        Staged::new(self.file, self.len, self.mode.unwrap_or(mode), SystemTime::now())
    }
}

fn too_much(most: u64) -> Failure {
    let text = format!("the Workspace may hold {most} bytes and no more");
    Failure::of(FailureKind::Failed, text, "take something away first, or raise its quota in paddock.toml")
}
