//! The passphrase of a vault as whoever starts a process gives it: in a file that a variable names, or in a variable.

use std::fs;
use std::path::PathBuf;

use super::{Passphrases, SecretValue, SecretsError};

const FILE: &str = "PADDOCK_PASSPHRASE_FILE";
const VARIABLE: &str = "PADDOCK_PASSPHRASE";

/// What the environment says, and nobody is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct FromEnvironment;

impl Passphrases for FromEnvironment {
    fn given(&self) -> Result<Option<SecretValue>, SecretsError> {
        match Self::in_file(FILE)? {
            None => Ok(std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()).map(SecretValue::new)),
            given => Ok(given),
        }
    }
}

impl FromEnvironment {
    /// The first line of the file that a variable names; nothing where it names none.
    ///
    /// # Errors
    /// When it names one that cannot be read, or is empty.
    pub fn in_file(variable: &str) -> Result<Option<SecretValue>, SecretsError> {
        let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from) else {
            return Ok(None);
        };
        let failed = |why: String| SecretsError::NoPassphrase { place: format!("\"{}\"", path.display()), why };
        let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            return Err(failed("it is empty".to_owned()));
        }
        Ok(Some(SecretValue::new(line.to_owned())))
    }
}
