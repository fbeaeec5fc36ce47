//! What the kernel is told without being asked: that something it knows is not so any more.
//!
//! From a thread of its own. The kernel may wait for an answer of ours before it takes a notice, so whoever answers
//! must never wait for the kernel.

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

/// Starts telling. Ends when nobody can notice anything any more.
pub(crate) fn start(notifier: Notifier) -> std::io::Result<Sender<Notice>> {
    let (sender, receiver) = channel();
    std::thread::Builder::new().name("paddock-notices".to_owned()).spawn(move || tell(&notifier, &receiver))?;
    Ok(sender)
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
