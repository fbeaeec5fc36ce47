//! The key of a vault and what is done with it: sealing texts so that any change shows.
//!
//! XChaCha20-Poly1305 with a random nonce of 24 bytes for each text, so that no counter has to survive. What a text
//! belongs to (format, key, purpose, name, times) is its associated data: a text that is moved elsewhere does not open.

use std::io;

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::SecretValue;

/// Bytes of a key.
pub(super) const KEY: usize = 32;
/// Bytes of a nonce.
const NONCE: usize = 24;
/// Bytes of a salt.
const SALT: usize = 16;

/// 32 bytes that open the vault.
#[derive(Clone)]
pub(super) struct Key(Zeroizing<[u8; KEY]>);

/// A text that was sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    pub(super) nonce: String,
    pub(super) ciphertext: String,
}

/// How a passphrase becomes a key: argon2id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Stretching {
    pub(super) salt: String,
    pub(super) memory_kib: u32,
    pub(super) passes: u32,
    pub(super) lanes: u32,
}

impl Key {
    /// A key that nobody can guess.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; KEY]);
        fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    pub(super) fn from_slice(bytes: &[u8]) -> Option<Self> {
        let mut key = Zeroizing::new([0; KEY]);
        (bytes.len() == KEY).then(|| key.copy_from_slice(bytes))?;
        Some(Self(key))
    }

    /// The key that a passphrase gives; nothing where the numbers are none that Paddock writes.
    pub(super) fn of_passphrase(passphrase: &SecretValue, how: &Stretching) -> Option<Self> {
        // Bounded, so that a changed file cannot make us take all memory.
        let sane = how.memory_kib <= 1 << 20 && how.passes <= 64 && how.lanes <= 16;
        let salt = super::format::from_text(&how.salt).filter(|salt| salt.len() == SALT && sane)?;
        let params = Params::new(how.memory_kib, how.passes, how.lanes, Some(KEY)).ok()?;
        let mut key = Zeroizing::new([0; KEY]);
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_into(passphrase.expose().as_bytes(), &salt, &mut *key).ok()?;
        Some(Self(key))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &*self.0
    }

    /// Seals a text that belongs to `about`.
    pub(super) fn seal(&self, text: &[u8], about: &[u8]) -> io::Result<Sealed> {
        let mut nonce = [0; NONCE];
        fill(&mut nonce)?;
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), Payload { msg: text, aad: about });
        let sealed = sealed.map_err(|_| io::Error::other("the text could not be sealed"))?;
        Ok(Sealed { nonce: super::format::to_text(&nonce), ciphertext: super::format::to_text(&sealed) })
    }

    /// The text, if exactly this was sealed with this key for `about`.
    pub(super) fn open(&self, sealed: &Sealed, about: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let nonce: [u8; NONCE] = super::format::from_text(&sealed.nonce)?.try_into().ok()?;
        let text = super::format::from_text(&sealed.ciphertext)?;
        let opened = self.cipher().decrypt(&XNonce::from(nonce), Payload { msg: &text, aad: about });
        opened.ok().map(Zeroizing::new)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }
}

impl Stretching {
    /// What a guess costs: 64 MiB and about a tenth of a second.
    pub(super) fn fresh() -> io::Result<Self> {
        let mut salt = [0; SALT];
        fill(&mut salt)?;
        // The tests make many.
        let (memory_kib, passes) = if cfg!(test) { (64, 1) } else { (64 * 1024, 3) };
        Ok(Self { salt: super::format::to_text(&salt), memory_kib, passes, lanes: 1 })
    }
}

/// A short name that was never used before.
pub(super) fn fresh_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Fills it from the randomness of the operating system.
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
