//! The program git, for remotes: run so that nothing of the person's settings, nothing of a repository and no address makes it run
//! anything else, and so that what opens a remote is in no argument, no address, no message and no environment.

mod address;
mod program;

use zeroize::Zeroizing;

pub(crate) use address::Address;
pub(crate) use program::{Deadline, Git, Growth, WHOLE, end, spawn};

/// What opens a remote, from the person's secrets. Nothing prints it.
#[derive(Clone)]
pub struct Credentials {
    username: String,
    password: Zeroizing<String>,
}

/// A repository that is not a Workspace's.
#[derive(Debug, Clone, Copy)]
pub struct Remote<'a> {
    /// `https://…`, `ssh://…`, `HOST:PATH`, `git://…`, or the path of a repository or a bundle on this machine.
    pub address: &'a str,
    /// What opens it; only https takes any.
    pub credentials: Option<&'a Credentials>,
}

impl<'a> Remote<'a> {
    /// One that needs nothing to be opened.
    pub fn open(address: &'a str) -> Self {
        Self { address, credentials: None }
    }
}

impl Credentials {
    /// A name, and the word that goes with it. Where a service only takes a token, any name will do.
    pub fn new(username: &str, password: &str) -> Self {
        Self { username: username.to_owned(), password: Zeroizing::new(password.to_owned()) }
    }

    /// As git's helpers write it. Nothing where one of them holds the end of a line.
    pub(crate) fn lines(&self) -> Option<Zeroizing<String>> {
        let ends = |text: &str| text.contains(['\n', '\0', '\r']);
        if ends(&self.username) || ends(&self.password) {
            return None;
        }
        Some(Zeroizing::new(format!("username={}\npassword={}\n", self.username, *self.password)))
    }

    /// The word itself.
    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}
