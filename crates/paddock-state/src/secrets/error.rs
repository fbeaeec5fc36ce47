//! What can be wrong with the vault, in words that tell a person what to do next.
//!
//! Messages hold host paths and names of secrets: they are for people. None ever holds a value.

use std::io;
use std::path::PathBuf;

use super::{BadSecretValue, SecretName};

/// Why secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The host refused.
    #[error("cannot use \"{}\": {source}", path.display())]
    Io {
        /// What was being read or written.
        path: PathBuf,
        /// What the host said.
        source: io::Error,
    },
    /// A file or directory that others may look into.
    #[error("others may read \"{}\" (mode {mode:03o})", path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Those that it should have.
        wanted: u32,
    },
    /// It belongs to another user, or is no plain file.
    #[error("\"{}\" is not a file of ours: {why}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The vault is not as Paddock wrote it.
    #[error("the vault \"{}\" is damaged: {why}", path.display())]
    Damaged {
        /// The vault.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A newer Paddock wrote it.
    #[error("the vault \"{}\" has format {found}, and this version knows format {known}", path.display())]
    Format {
        /// The vault.
        path: PathBuf,
        /// What it says.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// The key is not there.
    #[error("the key of the secrets \"{}\" is gone", .0.display())]
    KeyGone(PathBuf),
    /// Another key.
    #[error("\"{}\" is not the key of these secrets", .0.display())]
    WrongKey(PathBuf),
    /// Nobody gave the passphrase.
    #[error("the secrets are locked by a passphrase, and none was given")]
    Locked,
    /// Another passphrase.
    #[error("wrong passphrase")]
    WrongPassphrase,
    /// A passphrase that protects nothing.
    #[error("the passphrase has {0} characters; it takes at least {least}", least = super::vault::SHORTEST_PASSPHRASE)]
    WeakPassphrase(usize),
    /// The passphrase cannot be had.
    #[error("cannot read the passphrase from {place}: {why}")]
    NoPassphrase {
        /// Where it should be.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// No such secret.
    #[error("there is no secret \"{0}\"")]
    NoSuch(SecretName),
    /// There is no vault.
    #[error("there are no secrets yet")]
    None,
    /// A value that cannot be stored.
    #[error(transparent)]
    Value(#[from] BadSecretValue),
}

impl SecretsError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check the owner and mode of the directory, and the free space".into(),
            Self::NotPrivate { path, wanted, .. } => {
                format!(
                    "run: chmod {wanted:03o} \"{}\", and replace the secrets if somebody may have read them",
                    path.display()
                )
            }
            Self::NotOurs { .. } => "remove it, or put back what belongs there".into(),
            Self::Damaged { path, .. } => {
                format!(
                    "put back a copy of \"{}\" from a backup, or move it away and set the secrets anew",
                    path.display()
                )
            }
            Self::Format { .. } => "use the version of Paddock that wrote it, or a newer one".into(),
            Self::KeyGone(_) => "put it back from a backup, or move vault.json away and set the secrets anew".into(),
            Self::WrongKey(_) => "put back the key that belongs to vault.json".into(),
            Self::Locked => "run it in a terminal, or name a file that holds it in PADDOCK_PASSPHRASE_FILE".into(),
            Self::WrongPassphrase => "try again; without it the secrets have to be set anew".into(),
            Self::WeakPassphrase(_) => "choose a longer one, such as five words".into(),
            Self::NoPassphrase { .. } => "name a file with one line that only you may read".into(),
            Self::NoSuch(_) => "`paddock secret list` shows which there are".into(),
            Self::None => "store one with `paddock secret set NAME`".into(),
            Self::Value(error) => error.hint().into(),
        }
    }

    pub(super) fn io(path: impl Into<PathBuf>, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.into(), source: source.into() }
    }
}
