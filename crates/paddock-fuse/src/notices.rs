//! What the kernel is told without being asked: that something it knows is not so any more.
//!
//! From a thread of its own. The kernel may wait for an answer of ours before it takes a notice, so whoever answers
//! must never wait for the kernel. The one thing that is told at once is the content of a file that nobody has open: no
//! page of it can be waiting for us.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, Sender, channel};

use fuser::{INodeNo, Notifier};

/// Something that the kernel should forget.
#[derive(Debug)]
pub(crate) enum Notice {
    /// What a name in a directory stands for.
    Name(u64, OsString),
    /// Facts and content of a node.
    Content(u64),
}

/// The way to the kernel. Whoever has one keeps the connection open.
#[derive(Debug, Clone)]
pub(crate) struct Notices {
    soon: Sender<Notice>,
    at_once: Notifier,
}

impl Notices {
    /// Starts telling. Ends when nobody can notice anything any more.
    pub(crate) fn start(notifier: Notifier) -> std::io::Result<Self> {
        let (soon, receiver) = channel();
        let at_once = notifier.clone();
        std::thread::Builder::new().name("paddock-notices".to_owned()).spawn(move || tell(&notifier, &receiver))?;
        Ok(Self { soon, at_once })
    }

    /// Has the kernel forget something, soon.
    pub(crate) fn send(&self, notice: Notice) {
        let _ = self.soon.send(notice);
    }

    /// Gives the kernel the content of a file that nobody has open.
    pub(crate) fn give(&self, ino: u64, content: &[u8]) {
        if let Err(error) = self.at_once.store(INodeNo(ino), 0, content) {
            tracing::debug!(ino, %error, "the kernel did not take a content");
        }
    }
}

fn tell(notifier: &Notifier, receiver: &Receiver<Notice>) {
    for notice in receiver {
        let told = match &notice {
            Notice::Name(dir, name) => notifier.inval_entry(INodeNo(*dir), name),
            Notice::Content(ino) => notifier.inval_inode(INodeNo(*ino), 0, 0),
        };
        if let Err(error) = told {
            tracing::debug!(?notice, %error, "the kernel did not take a notice");
        }
    }
}
