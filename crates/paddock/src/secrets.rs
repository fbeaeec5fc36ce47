//! The person's secrets in this process: found once, used by whoever needs one, and kept out of what is printed.
//!
//! Whatever goes to standard error passes [`redacted`]. The passphrase of a vault comes from a file or a variable, or from
//! the person at the terminal; never from standard input, which may be an MCP client's.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use paddock_state::{FromEnvironment, HomeSources, Passphrases, SecretValue, Secrets, SecretsError, SystemRoot, Vault};

use crate::failure::Failure;
use crate::host;

const NEW_FILE: &str = "PADDOCK_NEW_PASSPHRASE_FILE";

static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Finds the secrets: those of the System Root that the options name. Reads nothing yet.
pub(crate) fn start(home: Option<PathBuf>) -> Secrets {
    let found = || match SystemRoot::resolve(&HomeSources::from_environment(home), None) {
        Ok(system) => Secrets::of(Vault::of(&system), Person { stdin_is_data: false }),
        // Whoever needs it is told what is wrong with it.
        Err(_) => Secrets::none(),
    };
    SECRETS.get_or_init(found).clone()
}

/// The secrets of this process.
pub(crate) fn of_this_process() -> Secrets {
    SECRETS.get().cloned().unwrap_or_default()
}

/// A text without values of secrets.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    let secrets = of_this_process();
    secrets.refresh();
    secrets.redactor().text(text)
}

/// The `--home` of a command line that could not be read otherwise.
pub(crate) fn home_in(arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next() {
        if argument == "--home" {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(home) = argument.strip_prefix("--home=") {
            return Some(PathBuf::from(home));
        }
    }
    None
}

/// Whoever started this process.
pub(crate) struct Person {
    /// Standard input holds something else, and the person can still be asked at the terminal.
    pub(crate) stdin_is_data: bool,
}

impl Person {
    fn can_be_asked(&self) -> bool {
        std::io::stdin().is_terminal() || (self.stdin_is_data && std::io::stderr().is_terminal())
    }
}

impl Passphrases for Person {
    fn given(&self) -> Result<Option<SecretValue>, SecretsError> {
        FromEnvironment.given()
    }

    fn passphrase(&self) -> Result<Option<SecretValue>, SecretsError> {
        match self.given()? {
            None if self.can_be_asked() => asked("passphrase of the secrets: ").map(Some),
            given => Ok(given),
        }
    }
}

/// A new passphrase: what was given for it, or what a person types twice.
pub(crate) fn new_passphrase(is_first: bool) -> anyhow::Result<SecretValue> {
    let person = Person { stdin_is_data: false };
    let given = match FromEnvironment::in_file(NEW_FILE).map_err(problem)? {
        // Without a passphrase so far, the one that is given can only be the new one.
        None if is_first => person.given().map_err(problem)?,
        given => given,
    };
    match given {
        Some(given) => Ok(given),
        None if person.can_be_asked() => twice("new passphrase: "),
        None => Err(Failure::misused(
            "there is nobody to ask for the new passphrase",
            format!("run it in a terminal, or name a file that holds it in {NEW_FILE}"),
        )),
    }
}

/// What a person types twice, unseen.
pub(crate) fn twice(prompt: &str) -> anyhow::Result<SecretValue> {
    let first = asked(prompt).map_err(problem)?;
    let second = asked("the same again: ").map_err(problem)?;
    if first == second {
        return Ok(first);
    }
    Err(Failure::misused("the two are not the same", "run it again"))
}

/// What cannot be done with secrets, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn problem(error: SecretsError) -> anyhow::Error {
    Failure::failed(&error, error.hint())
}

fn asked(prompt: &str) -> Result<SecretValue, SecretsError> {
    let typed = host::ask_unseen(prompt);
    let failed =
        |why: std::io::Error| SecretsError::NoPassphrase { place: "the terminal".into(), why: why.to_string() };
    typed.map(SecretValue::new).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_found_in_any_command_line() {
        let home = |line: &str| home_in(line.split(' ').map(OsString::from)).map(|path| path.display().to_string());
        assert_eq!(home("paddock --home /a bogus"), Some("/a".to_owned()));
        assert_eq!(home("paddock bogus --home=/a"), Some("/a".to_owned()));
        assert_eq!(home("paddock map --json"), None);
    }
}
