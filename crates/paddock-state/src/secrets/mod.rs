//! Secrets: keys and passwords, encrypted at rest, and kept out of everything that is written or shown.
//!
//! A [`Vault`] holds them in one file in the System Root, under a key that lies beside it or that a passphrase gives.
//! A configuration names one as `{ secret = "NAME" }`, and [`Secrets`] looks it up. A [`Redactor`] knows every value
//! and puts `[secret NAME]` in its place wherever Paddock writes or answers something.
//!
//! Where there are no secrets nothing is opened: a call costs one look whether there is a vault.
//!
//! It must never write a value in plain text, print one, or take a damaged vault for an empty one.

mod crypt;
mod environment;
mod error;
mod files;
mod format;
mod forms;
mod name;
mod redactor;
mod source;
mod stream;
mod value;
mod vault;

pub use self::environment::FromEnvironment;
pub use self::error::SecretsError;
pub use self::format::SecretEntry;
pub use self::name::{BadSecretName, SecretName};
pub use self::redactor::Redactor;
pub use self::source::{Passphrases, Secrets};
pub use self::stream::RedactedStream;
pub use self::value::{BadSecretValue, SecretValue};
pub use self::vault::{NewKey, Protection, Vault};
