//! `paddock secret`: keys and passwords, stored encrypted, for the configuration to name.
//!
//! A value is never an argument and never printed. It comes from standard input, a variable or a file, or is typed unseen.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use paddock_state::{NewKey, Protection, SecretEntry, SecretName, SecretValue, Vault};
use serde_json::{Value, json};

use crate::cli::{Global, Secret};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Look, Printer};
use crate::secrets::{self, Person, problem};
use paddock_desk::{moment, project};

/// More than a secret may have: what is longer is refused, and need not be read to its end.
const MOST: u64 = 1 << 20;

pub(crate) fn run(global: &Global, options: &Secret, printer: &Printer) -> anyhow::Result<Ended> {
    let system_root = project::system_root(&global.places(), None)?;
    let vault = Vault::of(&system_root);
    match options {
        Secret::Set { name, value, from_env, from_file } => {
            // Before anything else, and without repeating it.
            if !value.is_empty() {
                return Err(Failure::misused(
                    "the value of a secret is never an argument: it would stay in the shell's history",
                    "pipe it in, or leave it out and type it; and replace the one that was shown",
                ));
            }
            let name =
                SecretName::parse(name).map_err(|error| Failure::misused("this cannot name a secret", error.hint()))?;
            let value = value_of(&name, from_env.as_deref(), from_file.as_deref())?;
            system_root.ensure().map_err(|error| Failure::misused(&error, error.hint()))?;
            set(&vault, &name, value)
        }
        Secret::List { json } => list(&vault, *json, printer),
        Secret::Rm { names } => remove(&vault, names),
        Secret::Rotate { passphrase, key_file } => rotate(&vault, *passphrase, *key_file),
    }
}

fn set(vault: &Vault, name: &SecretName, value: SecretValue) -> anyhow::Result<Ended> {
    let replaced = vault.set(name, value, &Person { stdin_is_data: true }).map_err(problem)?;
    let done = if replaced { "replaced" } else { "stored" };
    printer::tell(format_args!("{done} the secret \"{name}\"; paddock.toml names it as {{ secret = \"{name}\" }}"));
    Ok(Ended::Done)
}

fn value_of(name: &SecretName, variable: Option<&str>, file: Option<&Path>) -> anyhow::Result<SecretValue> {
    let bytes = match (variable, file) {
        (Some(variable), _) => from_variable(variable)?,
        (None, Some(file)) => host::read_bytes(file, MOST).map_err(|error| {
            let message = format!("cannot read \"{}\": {error}", file.display());
            Failure::misused(message, "name a file that you may read")
        })?,
        (None, None) if std::io::stdin().is_terminal() => {
            secrets::twice(&format!("value of {name}: "))?.expose().as_bytes().to_vec()
        }
        (None, None) => {
            let mut bytes = Vec::new();
            std::io::stdin().take(MOST).read_to_end(&mut bytes)?;
            bytes
        }
    };
    SecretValue::to_store(bytes).map_err(|error| Failure::misused(&error, error.hint()))
}

fn from_variable(variable: &str) -> anyhow::Result<Vec<u8>> {
    use std::os::unix::ffi::OsStringExt as _;
    match std::env::var_os(variable) {
        Some(value) => Ok(value.into_vec()),
        None => Err(Failure::misused(
            format!("there is no variable \"{}\"", paddock_core::visible(variable)),
            "name one of this shell's that is exported",
        )),
    }
}

fn list(vault: &Vault, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let entries = vault.list().map_err(problem)?;
    let time = |millis: u64| moment::of_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    if as_json {
        let told = |entry: &SecretEntry| {
            let (created, updated) = (moment::exact(time(entry.created)), moment::exact(time(entry.updated)));
            json!({ "name": entry.name, "createdAt": created, "updatedAt": updated })
        };
        printer.json(&Value::Array(entries.iter().map(told).collect()))?;
        return Ok(Ended::Done);
    }
    if entries.is_empty() {
        printer::tell("there are no secrets; `paddock secret set NAME` stores one");
    }
    let widest = entries.iter().map(|entry| entry.name.as_str().len()).max().unwrap_or(0);
    for entry in &entries {
        let name = printer.look(Look::Strong, format_args!("{:widest$}", entry.name.as_str()));
        printer.line(format_args!("{name}  stored {}", moment::shown(time(entry.updated))))?;
    }
    Ok(Ended::Done)
}

fn remove(vault: &Vault, names: &[String]) -> anyhow::Result<Ended> {
    let parse = |name: &String| SecretName::parse(name).map_err(|error| Failure::misused(&error, error.hint()));
    let names = names.iter().map(parse).collect::<anyhow::Result<Vec<SecretName>>>()?;
    vault.remove(&names, &Person { stdin_is_data: true }).map_err(problem)?;
    let told: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    printer::tell(format_args!("removed {}", told.join(", ")));
    Ok(Ended::Done)
}

fn rotate(vault: &Vault, passphrase: bool, key_file: bool) -> anyhow::Result<Ended> {
    let Some(now) = vault.protection().map_err(problem)? else {
        return Err(problem(paddock_state::SecretsError::None));
    };
    let to_passphrase = passphrase || (now == Protection::Passphrase && !key_file);
    let person = Person { stdin_is_data: false };
    let count = if to_passphrase {
        let new = secrets::new_passphrase(now == Protection::KeyFile)?;
        vault.rotate(&NewKey::Passphrase(&new), &person).map_err(problem)?
    } else {
        vault.rotate(&NewKey::KeyFile, &person).map_err(problem)?
    };
    let secrets = if count == 1 { "1 secret is".to_owned() } else { format!("{count} secrets are") };
    let by = if to_passphrase { "the new passphrase" } else { "a new key file" };
    printer::tell(format_args!("{secrets} encrypted anew, opened by {by}"));
    Ok(Ended::Done)
}
