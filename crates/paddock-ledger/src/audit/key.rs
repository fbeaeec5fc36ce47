//! The key that signs the audit.
//!
//! Held in memory and never printed. Where it is kept is the caller's choice; it must be where no agent can read it.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use paddock_db::Postgres;

use super::chain::REGISTER;
use super::error::AuditError;
use super::host;
use super::storage::Storage;

/// How long a server may take to tell whose key it knows.
const ASKING: Duration = Duration::from_secs(10);

/// 32 random bytes.
#[derive(Clone)]
pub struct AuditKey([u8; 32]);

impl AuditKey {
    /// A key that the caller keeps.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key in the file at `path`, which only its owner may read; nothing where there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, AuditError> {
        let failed = |why| AuditError::File { path: path.to_owned(), why };
        host::read_private(path).map_err(failed)?.map(|found| Self::parse(path, &found)).transpose()
    }

    /// One that nobody has, and nobody will: what is signed with it is never believed. For looking where there is no key.
    pub fn of_nobody() -> Result<Self, AuditError> {
        random().map(Self).map_err(|why| AuditError::File { path: "/dev/urandom".into(), why })
    }

    /// As [`Self::load`], and made when there is none: only for where nothing can have been signed yet. Of several processes that
    /// make it at once, all get the same.
    pub fn load_or_create(path: &Path) -> Result<Self, AuditError> {
        if let Some(found) = Self::load(path)? {
            return Ok(found);
        }
        let failed = |why| AuditError::File { path: path.to_owned(), why };
        let fresh = random().map_err(failed)?;
        host::create_private(path, &fresh).map_err(failed)?;
        let found = host::read_private(path).map_err(failed)?;
        Self::parse(path, &found.unwrap_or_default())
    }

    /// Looks whether what is on a server was signed with this key, or nothing was signed there yet.
    ///
    /// # Errors
    /// With [`AuditError::OtherKey`] where it was not; when the server cannot be asked.
    pub fn suits(&self, server: &Postgres) -> Result<(), AuditError> {
        let mut register = None;
        Storage::read_durable(server, Instant::now() + ASKING, &mut |tables| {
            register = tables.head(REGISTER)?;
            Ok(())
        })?;
        match register {
            Some(found) if found.it.head.key != self.id() => Err(AuditError::OtherKey),
            _ => Ok(()),
        }
    }

    fn parse(path: &Path, found: &host::Private) -> Result<Self, AuditError> {
        let bad = |why| AuditError::BadKey { path: path.to_owned(), why };
        if found.readable_by_others {
            return Err(bad("others than its owner may read it; it has to have the mode 0600"));
        }
        let bytes: [u8; 32] = found.content.as_slice().try_into().map_err(|_| bad("it has to hold 32 bytes"))?;
        Ok(Self(bytes))
    }

    /// A key for another purpose, from which this one cannot be found.
    pub fn derived(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }

    /// For keys of other purposes that are made of it.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Signs a text of one purpose.
    pub(super) fn sign(&self, text: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, text).as_bytes()
    }

    /// Tells keys apart without telling anything of them.
    pub(super) fn id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        id.copy_from_slice(&self.sign(b"paddock audit key id")[..8]);
        id
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(…)")
    }
}

/// 32 bytes that nobody can guess.
pub(crate) fn random() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(bytes)
}
