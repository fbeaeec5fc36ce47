//! The vault: one file of sealed secrets, and the key that opens it.
//!
//! Whoever changes it holds a lock and replaces the file whole, so that of two processes none loses anything and one that
//! ends at any moment leaves the old vault or the new one. A new key is on disk before the vault that needs it, and the
//! old key goes after it. Reading takes no lock.
//!
//! It must never be made by looking at it, and never remove a key that some vault may still need.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::crypt::{Key, Stretching, fresh_id};
use super::error::SecretsError;
use super::files;
use super::format::{KeyOf, Opened, OpenedSecret, SecretEntry, VaultFile, key_of_text, key_text};
use super::{Passphrases, SecretName, SecretValue};
use crate::SystemRoot;

const VAULT: &str = "vault.json";
/// What the file of a key is called, before its id.
const KEY: &str = "key-";
/// What it is called when there is no vault for it any more, and somebody may put one back.
const KEPT: &str = "kept-key-";
/// The fewest characters of a passphrase.
pub(super) const SHORTEST_PASSPHRASE: usize = 8;
/// How often a reader starts again while others exchange the key.
const TRIES: usize = 20;

type Result<T> = std::result::Result<T, SecretsError>;

/// The secrets of a person, on disk.
#[derive(Debug, Clone)]
pub struct Vault {
    directory: PathBuf,
    /// The file in it, made once: it is looked at before every call.
    path: PathBuf,
}

/// What opens a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// A key in a file beside it.
    KeyFile,
    /// What a person remembers.
    Passphrase,
}

/// What shall open it from now on.
#[derive(Debug)]
pub enum NewKey<'a> {
    /// A new key in a file beside it.
    KeyFile,
    /// This passphrase.
    Passphrase(&'a SecretValue),
}

/// Tells one state of the file from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

/// A key, and which one it is.
#[derive(Clone)]
pub(super) struct Unlocked {
    id: String,
    key: Key,
}

impl Vault {
    /// That of a System Root. Looks at nothing.
    #[must_use]
    pub fn of(system: &SystemRoot) -> Self {
        let directory = system.secrets_dir();
        let path = directory.join(VAULT);
        Self { directory, path }
    }

    /// The file itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file as it is now; nothing where there is none. One `stat`.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let found = fs::symlink_metadata(&self.path).ok()?;
        Some(Stamp { inode: found.ino(), len: found.len(), changed: (found.ctime(), found.ctime_nsec()) })
    }

    /// What opens it; nothing where there is no vault.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn protection(&self) -> Result<Option<Protection>> {
        let of = |file: VaultFile| match file.key.passphrase {
            Some(_) => Protection::Passphrase,
            None => Protection::KeyFile,
        };
        Ok(self.read()?.map(of))
    }

    /// Which secrets there are, by name. Needs no key, and so does not know whether the list is whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn list(&self) -> Result<Vec<SecretEntry>> {
        let entries = self.read()?.map(|file| file.entries).unwrap_or_default();
        let told = entries.into_iter().map(|(name, entry)| SecretEntry {
            name,
            created: entry.created_at,
            updated: entry.updated_at,
        });
        Ok(told.collect())
    }

    /// Stores a value under a name; says whether one was replaced. The first makes the vault, with a key in a file.
    ///
    /// # Errors
    /// When the vault cannot be opened or written.
    pub fn set(&self, name: &SecretName, value: SecretValue, ask: &dyn Passphrases) -> Result<bool> {
        // Before the lock: nobody should have to wait while a person types.
        let known = self.unlock(None, ask)?;
        files::ensure_private_dir(&self.directory)?;
        let _lock = files::lock(&self.directory)?;
        let Some(file) = self.read()? else {
            self.keep_keys_without_a_vault()?;
            let secret = OpenedSecret { value, created: now(), updated: now() };
            self.write_under_new_key(&NewKey::KeyFile, &Opened::from([(name.clone(), secret)]))?;
            return Ok(false);
        };
        let (unlocked, mut secrets) = self.open(&file, known, ask)?;
        let created = secrets.get(name).map_or_else(now, |old| old.created);
        let replaced = secrets.insert(name.clone(), OpenedSecret { value, created, updated: now() }).is_some();
        self.write(file.key, &unlocked.key, &secrets)?;
        Ok(replaced)
    }

    /// Removes secrets, all of those named or none.
    ///
    /// # Errors
    /// When one of them is not there, or the vault cannot be opened or written.
    pub fn remove(&self, names: &[SecretName], ask: &dyn Passphrases) -> Result<()> {
        let known = self.unlock(None, ask)?;
        let Some(first) = names.first() else { return Ok(()) };
        if known.is_none() {
            return Err(SecretsError::NoSuch(first.clone()));
        }
        let _lock = files::lock(&self.directory)?;
        let file = self.read()?.ok_or_else(|| SecretsError::NoSuch(first.clone()))?;
        let (unlocked, mut secrets) = self.open(&file, known, ask)?;
        if let Some(absent) = names.iter().find(|name| !secrets.contains_key(*name)) {
            return Err(SecretsError::NoSuch(absent.clone()));
        }
        secrets.retain(|name, _| !names.contains(name));
        self.write(file.key, &unlocked.key, &secrets)
    }

    /// Seals every secret anew under a new key, and takes the old key away; says how many there are.
    ///
    /// # Errors
    /// When there is no vault, or it cannot be opened or written. Then the old key holds, or already the new one.
    pub fn rotate(&self, to: &NewKey<'_>, ask: &dyn Passphrases) -> Result<usize> {
        if let NewKey::Passphrase(passphrase) = to {
            let characters = passphrase.expose().chars().count();
            if characters < SHORTEST_PASSPHRASE {
                return Err(SecretsError::WeakPassphrase(characters));
            }
        }
        let known = self.unlock(None, ask)?;
        if known.is_none() {
            return Err(SecretsError::None);
        }
        let _lock = files::lock(&self.directory)?;
        let file = self.read()?.ok_or(SecretsError::None)?;
        let (_, secrets) = self.open(&file, known, ask)?;
        self.write_under_new_key(to, &secrets)?;
        Ok(secrets.len())
    }

    /// The key of the vault that is there; nothing where there is none. `known` is asked first.
    pub(super) fn unlock(&self, known: Option<Unlocked>, ask: &dyn Passphrases) -> Result<Option<Unlocked>> {
        let Some(file) = self.read()? else { return Ok(None) };
        match self.unlocked(&file, known, ask) {
            // Others exchanged the key between the two looks.
            Err(SecretsError::KeyGone(_)) => {
                let Some((unlocked, _)) = self.load(None, ask)? else { return Ok(None) };
                Ok(Some(unlocked))
            }
            other => other.map(Some),
        }
    }

    /// Every secret, and the key for the next time; nothing where there is no vault.
    pub(super) fn load(&self, known: Option<&Unlocked>, ask: &dyn Passphrases) -> Result<Option<(Unlocked, Opened)>> {
        let mut gone = None;
        for _ in 0..TRIES {
            let Some(file) = self.read()? else { return Ok(None) };
            match self.open(&file, known.cloned(), ask) {
                Ok(opened) => return Ok(Some(opened)),
                // Who exchanges the key takes the old one away: then another vault is there by now.
                Err(error @ SecretsError::KeyGone(_)) => {
                    if gone.as_ref() == Some(&file.key.id) {
                        return Err(error);
                    }
                    gone = Some(file.key.id);
                }
                Err(error) => return Err(error),
            }
        }
        Err(SecretsError::KeyGone(self.key_path(&gone.unwrap_or_default())))
    }

    fn read(&self) -> Result<Option<VaultFile>> {
        // Where there is none, this is all that happens.
        if self.stamp().is_none() {
            return Ok(None);
        }
        files::read(&self.path)?.map(|bytes| VaultFile::parse(&self.path, &bytes)).transpose()
    }

    fn open(&self, file: &VaultFile, known: Option<Unlocked>, ask: &dyn Passphrases) -> Result<(Unlocked, Opened)> {
        let unlocked = self.unlocked(file, known, ask)?;
        let secrets = file.open(&self.path, &unlocked.key)?;
        Ok((unlocked, secrets))
    }

    fn unlocked(&self, file: &VaultFile, known: Option<Unlocked>, ask: &dyn Passphrases) -> Result<Unlocked> {
        if let Some(known) = known.filter(|known| known.id == file.key.id && file.key.is(&known.key)) {
            return Ok(known);
        }
        let id = file.key.id.clone();
        let key = match &file.key.passphrase {
            Some(how) => {
                let passphrase = ask.passphrase()?.ok_or(SecretsError::Locked)?;
                let key = Key::of_passphrase(&passphrase, how);
                key.filter(|key| file.key.is(key)).ok_or(SecretsError::WrongPassphrase)?
            }
            None => {
                let path = self.key_path(&id);
                let text = files::read(&path)?.ok_or_else(|| SecretsError::KeyGone(path.clone()))?;
                let key = key_of_text(&text).filter(|key| file.key.is(key));
                key.ok_or(SecretsError::WrongKey(path))?
            }
        };
        Ok(Unlocked { id, key })
    }

    fn write_under_new_key(&self, to: &NewKey<'_>, secrets: &Opened) -> Result<()> {
        let failed = |error| SecretsError::io(self.path(), error);
        let id = fresh_id().map_err(failed)?;
        let (how, key) = match to {
            NewKey::KeyFile => (None, Key::random().map_err(failed)?),
            NewKey::Passphrase(passphrase) => {
                let how = Stretching::fresh().map_err(failed)?;
                let key = Key::of_passphrase(passphrase, &how).ok_or(SecretsError::WrongPassphrase)?;
                (Some(how), key)
            }
        };
        if how.is_none() {
            files::replace(&self.key_path(&id), &key_text(&key))?;
        }
        let key_of = KeyOf::new(id, how, &key).map_err(failed)?;
        self.write(key_of, &key, secrets)
    }

    /// Puts the vault in place, and takes away the keys that it does not need: the one before, and what others left.
    fn write(&self, key_of: KeyOf, key: &Key, secrets: &Opened) -> Result<()> {
        let path = self.path();
        let needed = key_of.passphrase.is_none().then(|| format!("{KEY}{}", key_of.id));
        let file = VaultFile::of(key_of, key, secrets).map_err(|error| SecretsError::io(path, error))?;
        let bytes = file.bytes().map_err(|error| SecretsError::io(path, error))?;
        files::replace(path, &bytes)?;
        let surplus = files::leftovers(&self.directory, KEY, needed.as_deref());
        for left in &surplus {
            files::remove(left)?;
        }
        if surplus.is_empty() { Ok(()) } else { files::sync_dir(&self.directory) }
    }

    /// Where a vault was taken away its key is kept under another name, for whoever puts it back.
    fn keep_keys_without_a_vault(&self) -> Result<()> {
        for key in files::leftovers(&self.directory, KEY, None) {
            let name = key.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(id) = name.strip_prefix(KEY) {
                let kept = self.directory.join(format!("{KEPT}{id}"));
                fs::rename(&key, &kept).map_err(|error| SecretsError::io(&key, error))?;
            }
        }
        Ok(())
    }

    fn key_path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{KEY}{id}"))
    }

    /// The directory of the vault.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

fn now() -> u64 {
    u64::try_from(UNIX_EPOCH.elapsed().unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
