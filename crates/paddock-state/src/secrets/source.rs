//! The secrets of a person as one process uses them: looked up by name, and kept current.
//!
//! One `stat` says whether the vault changed. Values that were once read stay known to the [`Redactor`] until the process
//! ends: a secret that was removed or replaced may still be in what is about to be written.
//!
//! It must never ask a person anything unless a value is needed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::vault::{Stamp, Unlocked, Vault};
use super::{Redactor, SecretName, SecretValue, SecretsError};

/// Where the passphrase of a vault comes from.
pub trait Passphrases: Send + Sync {
    /// What was given beforehand, without asking anybody.
    ///
    /// # Errors
    /// When it was given and cannot be read.
    fn given(&self) -> Result<Option<SecretValue>, SecretsError>;

    /// What was given, or what a person answers now.
    ///
    /// # Errors
    /// When it cannot be read.
    fn passphrase(&self) -> Result<Option<SecretValue>, SecretsError> {
        self.given()
    }
}

/// Nobody knows a passphrase.
impl Passphrases for () {
    fn given(&self) -> Result<Option<SecretValue>, SecretsError> {
        Ok(None)
    }
}

/// Asks nobody.
struct OnlyGiven<'a>(&'a dyn Passphrases);

impl Passphrases for OnlyGiven<'_> {
    fn given(&self) -> Result<Option<SecretValue>, SecretsError> {
        self.0.given()
    }
}

/// The secrets that a process can use. Cheap to clone; every clone knows the same.
#[derive(Clone, Default)]
pub struct Secrets(Option<Arc<Inner>>);

struct Inner {
    vault: Vault,
    ask: Box<dyn Passphrases>,
    redactor: Redactor,
    generation: AtomicU64,
    held: RwLock<Held>,
    loading: Mutex<()>,
}

/// What was read last.
#[derive(Default)]
struct Held {
    /// Of which state of the vault; nothing before the first look.
    of: Option<Option<Stamp>>,
    values: BTreeMap<SecretName, SecretValue>,
    unlocked: Option<Unlocked>,
    /// It is there and could not be opened.
    is_closed: bool,
}

impl Secrets {
    /// Those in a vault. Looks at nothing yet.
    #[must_use]
    pub fn of(vault: Vault, ask: impl Passphrases + 'static) -> Self {
        Self(Some(Arc::new(Inner {
            vault,
            ask: Box::new(ask),
            redactor: Redactor::changing(),
            generation: AtomicU64::new(0),
            held: RwLock::default(),
            loading: Mutex::default(),
        })))
    }

    /// No secrets: for programs that have none, and for tests.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Can anything be looked up here at all?
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// What keeps the values out of everything else. Knows what was read so far, and what will be.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        self.0.as_ref().map_or_else(Redactor::none, |inner| inner.redactor.clone())
    }

    /// Looks whether the vault changed, and reads it if so; asks nobody. Answers a number that grows with every change.
    /// Where it cannot be opened, what was read before stays known.
    pub fn refresh(&self) -> u64 {
        let Some(inner) = &self.0 else { return 0 };
        let now = inner.vault.stamp();
        let is_known = inner.held.read().unwrap_or_else(PoisonError::into_inner).of == Some(now);
        if !is_known {
            // What is wrong is told to whoever needs a value.
            let _ = inner.load(now, &OnlyGiven(&*inner.ask));
        }
        inner.generation.load(Ordering::Acquire)
    }

    /// Sees to it that every value is known; asks for the passphrase where that is needed.
    ///
    /// # Errors
    /// When there is a vault that cannot be opened.
    pub fn unlock(&self) -> Result<(), SecretsError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let now = inner.vault.stamp();
        let held = inner.held.read().unwrap_or_else(PoisonError::into_inner);
        let is_known = held.of == Some(now) && !held.is_closed;
        drop(held);
        if is_known { Ok(()) } else { inner.load(now, &*inner.ask) }
    }

    /// The value of a secret; nothing where there is none of this name.
    ///
    /// # Errors
    /// When there is a vault that cannot be opened.
    pub fn get(&self, name: &SecretName) -> Result<Option<SecretValue>, SecretsError> {
        self.unlock()?;
        let Some(inner) = &self.0 else { return Ok(None) };
        Ok(inner.held.read().unwrap_or_else(PoisonError::into_inner).values.get(name).cloned())
    }
}

impl Inner {
    fn load(&self, now: Option<Stamp>, ask: &dyn Passphrases) -> Result<(), SecretsError> {
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.held.read().unwrap_or_else(PoisonError::into_inner).unlocked.clone();
        let loaded = match now {
            Some(_) => self.vault.load(known.as_ref(), ask),
            None => Ok(None),
        };
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.of = Some(now);
        held.is_closed = loaded.is_err();
        let Some((unlocked, opened)) = loaded? else {
            let had_some = !std::mem::take(&mut held.values).is_empty();
            self.generation.fetch_add(u64::from(had_some), Ordering::AcqRel);
            return Ok(());
        };
        held.unlocked = Some(unlocked);
        let values: BTreeMap<SecretName, SecretValue> =
            opened.into_iter().map(|(name, secret)| (name, secret.value)).collect();
        if held.values != values {
            self.redactor.learn(values.iter().map(|(name, value)| (name.clone(), value.clone())));
            held.values = values;
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets")
            .field("vault", &self.0.as_ref().map(|inner| inner.vault.path().to_owned()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HomeSources, NewKey, SystemRoot};

    /// A passphrase that is only told when somebody is asked.
    struct Asked(&'static str);

    impl Passphrases for Asked {
        fn given(&self) -> Result<Option<SecretValue>, SecretsError> {
            Ok(None)
        }

        fn passphrase(&self) -> Result<Option<SecretValue>, SecretsError> {
            Ok(Some(SecretValue::new(self.0.to_owned())))
        }
    }

    fn vault(dir: &tempfile::TempDir) -> Vault {
        let sources = HomeSources { option: Some(dir.path().join("home")), ..HomeSources::default() };
        Vault::of(&SystemRoot::resolve(&sources, None).unwrap())
    }

    fn name(text: &str) -> SecretName {
        SecretName::parse(text).unwrap()
    }

    fn value(text: &str) -> SecretValue {
        SecretValue::to_store(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn what_others_change_is_known_at_the_next_look_and_what_was_known_stays_redacted() {
        let dir = tempfile::tempdir().unwrap();
        let vault = vault(&dir);
        let secrets = Secrets::of(vault.clone(), ());
        let redactor = secrets.redactor();
        assert_eq!(secrets.refresh(), 0);
        assert!(!vault.directory().exists(), "looking makes nothing");
        vault.set(&name("a"), value("first-value"), &()).unwrap();
        assert_eq!(redactor.text("first-value"), "first-value", "nobody looked yet");
        assert_eq!(secrets.refresh(), 1);
        assert_eq!(redactor.text("a first-value"), "a [secret a]");
        vault.set(&name("a"), value("second-value"), &()).unwrap();
        assert_eq!(secrets.get(&name("a")).unwrap().unwrap().expose(), "second-value");
        assert_eq!(redactor.text("first-value second-value"), "[secret a] [secret a]");
        vault.remove(&[name("a")], &()).unwrap();
        assert_eq!(secrets.get(&name("a")).unwrap(), None);
        assert_eq!(redactor.text("second-value"), "[secret a]");
    }

    #[test]
    fn a_locked_vault_is_asked_for_only_when_a_value_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let vault = vault(&dir);
        vault.set(&name("a"), value("first-value"), &()).unwrap();
        vault.rotate(&NewKey::Passphrase(&value("five good words")), &()).unwrap();
        let secrets = Secrets::of(vault.clone(), Asked("five good words"));
        assert_eq!(secrets.refresh(), 0, "nobody was asked");
        assert_eq!(secrets.get(&name("a")).unwrap().unwrap().expose(), "first-value");
        assert_eq!(secrets.redactor().text("first-value"), "[secret a]");
        let wrong = Secrets::of(vault.clone(), Asked("five other words")).unlock().unwrap_err();
        assert_eq!(wrong.to_string(), "wrong passphrase");
        assert!(matches!(Secrets::of(vault, ()).unlock(), Err(SecretsError::Locked)));
    }

    #[test]
    fn a_vault_that_breaks_later_leaves_the_known_values_known() {
        let dir = tempfile::tempdir().unwrap();
        let vault = vault(&dir);
        vault.set(&name("a"), value("first-value"), &()).unwrap();
        let secrets = Secrets::of(vault.clone(), ());
        secrets.unlock().unwrap();
        std::fs::write(vault.path(), "{}").unwrap();
        secrets.refresh();
        assert_eq!(secrets.redactor().text("first-value"), "[secret a]");
        assert!(matches!(secrets.get(&name("a")), Err(SecretsError::Damaged { .. })));
    }
}
