//! `vault.json`: what is in it, and how it is written.
//!
//! Names and times are readable, values are sealed one by one, and a seal over all of it shows whether an entry was added, taken
//! out, exchanged or put back to an older one. A text that does not read back byte by byte as it was written is damaged.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::crypt::{Key, Sealed, Stretching};
use super::error::SecretsError;
use super::{SecretName, SecretValue};

/// The only format there is.
pub(super) const FORMAT: u32 = 1;
/// Sealed with every key, to know it again.
const PROOF: &[u8] = b"the key of these secrets";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VaultFile {
    pub(super) format: u32,
    pub(super) key: KeyOf,
    pub(super) entries: BTreeMap<SecretName, Entry>,
    /// Over everything above.
    seal: Sealed,
}

/// Which key it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyOf {
    pub(super) id: String,
    /// Absent: the key is in a file of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) passphrase: Option<Stretching>,
    proof: Sealed,
}

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Entry {
    nonce: String,
    ciphertext: String,
    pub(super) created_at: u64,
    pub(super) updated_at: u64,
}

/// What is told of a secret: never its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its name.
    pub name: SecretName,
    /// When it was first stored, in milliseconds since 1970.
    pub created: u64,
    /// When its value was last stored.
    pub updated: u64,
}

/// Only the version, for files of another one.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl KeyOf {
    pub(super) fn new(id: String, passphrase: Option<Stretching>, key: &Key) -> std::io::Result<Self> {
        let proof = key.seal(PROOF, about_key(&id, passphrase.as_ref()).as_bytes())?;
        Ok(Self { id, passphrase, proof })
    }

    /// Is it this key?
    pub(super) fn is(&self, key: &Key) -> bool {
        let about = about_key(&self.id, self.passphrase.as_ref());
        key.open(&self.proof, about.as_bytes()).is_some_and(|text| *text == PROOF)
    }
}

impl VaultFile {
    /// Reads a file without looking whether it is as it was written; [`Self::open`] does.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, SecretsError> {
        let damaged = |why: String| SecretsError::Damaged { path: path.to_owned(), why };
        let unread = |error: serde_json::Error| damaged(format!("it cannot be read: {error}"));
        if let Ok(Version { format }) = serde_json::from_slice(bytes)
            && format != FORMAT
        {
            return Err(SecretsError::Format { path: path.to_owned(), found: format, known: FORMAT });
        }
        let file: Self = serde_json::from_slice(bytes).map_err(unread)?;
        let is_id = file.key.id.len() == 16 && file.key.id.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_id || file.bytes().map_err(unread)? != bytes {
            return Err(damaged("it is not as Paddock writes it".to_owned()));
        }
        Ok(file)
    }

    /// A file with these secrets, all sealed anew.
    pub(super) fn of(key_of: KeyOf, key: &Key, secrets: &Opened) -> Result<Self, std::io::Error> {
        let seal = Sealed { nonce: String::new(), ciphertext: String::new() };
        let mut file = Self { format: FORMAT, key: key_of, entries: BTreeMap::new(), seal };
        for (name, secret) in secrets {
            file.put(key, name, secret)?;
        }
        file.seal(key)?;
        Ok(file)
    }

    fn put(&mut self, key: &Key, name: &SecretName, secret: &OpenedSecret) -> std::io::Result<()> {
        let about = about_entry(&self.key.id, name, secret.created, secret.updated);
        let Sealed { nonce, ciphertext } = key.seal(secret.value.expose().as_bytes(), about.as_bytes())?;
        let entry = Entry { nonce, ciphertext, created_at: secret.created, updated_at: secret.updated };
        self.entries.insert(name.clone(), entry);
        Ok(())
    }

    fn seal(&mut self, key: &Key) -> std::io::Result<()> {
        self.seal = key.seal(b"", self.about_all().as_bytes())?;
        Ok(())
    }

    /// Every secret, if all is as it was written.
    pub(super) fn open(&self, path: &Path, key: &Key) -> Result<Opened, SecretsError> {
        let damaged = |why: String| SecretsError::Damaged { path: path.to_owned(), why };
        let mut opened = Opened::new();
        for (name, entry) in &self.entries {
            let about = about_entry(&self.key.id, name, entry.created_at, entry.updated_at);
            let sealed = Sealed { nonce: entry.nonce.clone(), ciphertext: entry.ciphertext.clone() };
            let text = key.open(&sealed, about.as_bytes());
            let text = text.ok_or_else(|| damaged(format!("the secret \"{name}\" is not as it was written")))?;
            let text = std::str::from_utf8(&text).map_err(|_| damaged(format!("the secret \"{name}\" is no text")))?;
            let value = SecretValue::new(text.to_owned());
            let secret = OpenedSecret { value, created: entry.created_at, updated: entry.updated_at };
            opened.insert(name.clone(), secret);
        }
        match key.open(&self.seal, self.about_all().as_bytes()) {
            Some(_) => Ok(opened),
            None => Err(damaged("secrets were added, taken out or put back".to_owned())),
        }
    }

    /// The file as it is written.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn about_all(&self) -> String {
        use std::fmt::Write as _;
        let mut about = format!("paddock secrets {} all {}\n", self.format, self.key.id);
        for (name, entry) in &self.entries {
            let Entry { nonce, ciphertext, created_at, updated_at } = entry;
            let _ = writeln!(about, "{name} {nonce} {ciphertext} {created_at} {updated_at}");
        }
        about
    }
}

/// Every secret with its value.
pub(super) type Opened = BTreeMap<SecretName, OpenedSecret>;

#[derive(Clone)]
pub(super) struct OpenedSecret {
    pub(super) value: SecretValue,
    pub(super) created: u64,
    pub(super) updated: u64,
}

fn about_key(id: &str, passphrase: Option<&Stretching>) -> String {
    let how = passphrase.map(|how| format!("{} {} {} {}", how.salt, how.memory_kib, how.passes, how.lanes));
    format!("paddock secrets {FORMAT} key {id} {}", how.unwrap_or_default())
}

fn about_entry(id: &str, name: &SecretName, created: u64, updated: u64) -> String {
    format!("paddock secrets {FORMAT} entry {id} {name} {created} {updated}")
}

pub(super) fn to_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn from_text(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A key as its file holds it.
pub(super) fn key_text(key: &Key) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(STANDARD.encode(key.bytes()).into_bytes());
    text.push(b'\n');
    text
}

pub(super) fn key_of_text(bytes: &[u8]) -> Option<Key> {
    let text = bytes.strip_suffix(b"\n")?;
    Key::from_slice(&Zeroizing::new(STANDARD.decode(text).ok()?))
}
