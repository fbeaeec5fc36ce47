//! From the name of a secret to its value, when something is about to be used.
//!
//! Where a configuration is only looked at there are no secrets, and nothing is looked up. What comes back must not be put
//! into a message: the name says enough.

use paddock_state::{SecretValue, Secrets};

use crate::config_file::ConfigFile;
use crate::fault::Fault;
use crate::problem::{ConfigError, Problem};
use crate::schema::{Config, OfSecret, SecretKey, SecretOr, SecretRef};
use crate::source::Located;

/// The value itself, or the one behind the name; nothing where nothing is looked up.
pub(crate) fn look_up<T: OfSecret + Clone>(value: &SecretOr<T>, secrets: &Secrets) -> Result<Option<T>, Box<Problem>> {
    let named = match value {
        SecretOr::Plain(value) => return Ok(Some(value.clone())),
        SecretOr::Secret(named) => named,
    };
    let Some(found) = find(named, secrets)? else { return Ok(None) };
    match T::of_secret(found.expose()) {
        Some(value) => Ok(Some(value)),
        None => {
            let name = named.value.secret.0.clone();
            Err(Box::new(Problem::new(Fault::SecretIsNot { name, what: T::WHAT }, named.span.clone())))
        }
    }
}

/// The same for what is always a secret.
pub(crate) fn look_up_key(key: &SecretKey, secrets: &Secrets) -> Result<Option<SecretValue>, Box<Problem>> {
    find(&key.0, secrets)
}

fn find(named: &Located<SecretRef>, secrets: &Secrets) -> Result<Option<SecretValue>, Box<Problem>> {
    if secrets.is_none() {
        return Ok(None);
    }
    let name = &named.value.secret.0;
    let problem = |fault| Box::new(Problem::new(fault, named.span.clone()));
    match secrets.get(name) {
        Ok(Some(value)) => Ok(Some(value)),
        Ok(None) => Err(problem(Fault::NoSecret(name.clone()))),
        Err(error) => {
            Err(problem(Fault::SecretsClosed { name: name.clone(), why: error.to_string(), hint: error.hint() }))
        }
    }
}

impl ConfigFile {
    /// A value of this file, or the one behind the name that it has; nothing where nothing is looked up.
    ///
    /// # Errors
    /// When there is no such secret, or it is not what it should be.
    pub fn look_up<T: OfSecret + Clone>(
        &self,
        value: &SecretOr<T>,
        secrets: &Secrets,
    ) -> Result<Option<T>, ConfigError> {
        look_up(value, secrets).map_err(|problem| ConfigError::one(self.source(), *problem))
    }

    /// The key of the model, where one is named and secrets are looked up.
    ///
    /// # Errors
    /// When there is no such secret.
    pub fn model_key(&self, secrets: &Secrets) -> Result<Option<SecretValue>, ConfigError> {
        let key = self.config().model.as_ref().and_then(|model| model.key.as_ref());
        let found = key.map(|key| look_up_key(key, secrets)).transpose();
        found.map(Option::flatten).map_err(|problem| ConfigError::one(self.source(), *problem))
    }

    /// What keeps this file from taking effect once its secrets are needed: each that is not there, or is not what it
    /// should be.
    #[must_use]
    pub fn missing_secrets(&self, secrets: &Secrets) -> Option<ConfigError> {
        let problems: Vec<Problem> = problems(self.config(), secrets).into_iter().flatten().collect();
        (!problems.is_empty()).then(|| ConfigError::new(self.source().clone(), problems))
    }
}

fn problems(config: &Config, secrets: &Secrets) -> Vec<Option<Problem>> {
    fn of<T: OfSecret + Clone>(value: Option<&SecretOr<T>>, secrets: &Secrets) -> Option<Problem> {
        look_up(value?, secrets).err().map(|problem| *problem)
    }
    let search = config.web_search.as_ref();
    let mut found = vec![
        of(config.virtual_.as_ref().and_then(|stores| stores.url.as_ref()), secrets),
        of(config.state.as_ref().and_then(|state| state.url.as_ref()), secrets),
        of(search.map(|search| &search.url), secrets),
        search.and_then(|search| look_up_key(search.key.as_ref()?, secrets).err().map(|problem| *problem)),
    ];
    let env = config.commands.as_ref().and_then(|commands| commands.env.as_ref());
    found.extend(env.into_iter().flatten().map(|(_, value)| of(Some(value), secrets)));
    found
}
