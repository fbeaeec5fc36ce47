//! The configuration: every value in effect with where it was written, changing one, and checking all of it.
//!
//! A change is made on the text, and refused where the result could not take effect: then the file stays as it was. No
//! password that stands in a value is ever told.

mod check;
mod exposed;
mod keys;
mod tracked;

use std::sync::Mutex;

use paddock_config::{ConfigError, ConfigFile, EditError};
use paddock_core::AgentName;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use check::{AgentChecked, Checked, ProblemShown, SecretsChecked, WarningShown, check};
pub use exposed::{Found, SecretsInFiles};

use crate::acts::Act;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::project::{self, Project};

/// A key that is set.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Setting {
    /// Its path: `workspace[0].scope`.
    pub key: String,
    /// Its value as it was written, without any password.
    pub value: String,
    /// Where it was written.
    pub origin: String,
}

/// What a change did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangedSetting {
    /// The key.
    pub key: String,
    /// The file that was changed.
    pub file: String,
    /// Why the configuration could not take effect before and still cannot, where that is so.
    pub still_wrong: Option<String>,
}

/// One change of the configuration at a time in this process: each is made on the text that it read.
static CHANGING: Mutex<()> = Mutex::new(());

/// Every key that is set, in the order of the file.
///
/// # Errors
/// When the configuration has problems.
pub fn settings(project: &Project) -> Result<Vec<Setting>> {
    Ok(settings_of(project, &project.config_file()?))
}

/// As [`settings`], of the configuration that holds while the file has problems.
///
/// # Errors
/// When there is none.
pub fn in_effect(desk: &Desk) -> Result<Vec<Setting>> {
    Ok(settings_of(desk.project(), &desk.config_in_effect()?))
}

fn settings_of(project: &Project, file: &ConfigFile) -> Vec<Setting> {
    let name = project.config_name();
    let shown = |key: keys::Key| Setting {
        key: key.path,
        value: keys::without_password(&key.value),
        origin: format!("{name}:{}", key.line),
    };
    keys::keys(file).into_iter().map(shown).collect()
}

/// The whole configuration as values, without any password.
///
/// # Errors
/// When it has problems.
pub fn values(project: &Project) -> Result<Value> {
    let file = project.config_file()?;
    let value = serde_json::to_value(file.config())
        .map_err(|error| Failure::of(FailureKind::Broken, error, "this is a defect; please report it"))?;
    Ok(keys::masked(value))
}

/// The value of one key, without any password; nothing where it is not set.
///
/// # Errors
/// When the configuration has problems, or it is not the path of a key.
pub fn get(project: &Project, key: &str) -> Result<Option<Value>> {
    let found = paddock_config::get(&project.config_name(), &project.text()?, key).map_err(edit_problem)?;
    Ok(found.map(keys::masked))
}

/// Changes one key. `value` is TOML, or else taken as text.
///
/// # Errors
/// When the configuration could not take effect with it; then nothing was changed.
pub fn set(project: &Project, desk: Option<&Desk>, key: &str, value: &str) -> Result<ChangedSetting> {
    change(project, desk, "config set", key, |name, text| paddock_config::set(name, text, key, value))
}

/// Takes one key away.
///
/// # Errors
/// When it is not set, or the configuration could not take effect without it; then nothing was changed.
pub fn unset(project: &Project, desk: Option<&Desk>, key: &str) -> Result<ChangedSetting> {
    change(project, desk, "config unset", key, |name, text| paddock_config::unset(name, text, key))
}

fn change(
    project: &Project,
    desk: Option<&Desk>,
    command: &str,
    key: &str,
    edit: impl FnOnce(&str, &str) -> Result<String, EditError>,
) -> Result<ChangedSetting> {
    let _alone = CHANGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (name, old) = (project.config_name(), project.text()?);
    let changed = edit(&name, &old).map_err(edit_problem)?;
    let unbuilt = project.unbuilt(&changed)?;
    if let Some(error) = &unbuilt
        && is_worse(project, &old, error)?
    {
        let text =
            format!("{error}\nnote: nothing was changed: with this value the configuration could not take effect");
        return Err(Failure::told(text, FailureKind::Misused));
    }
    paddock_config::save(&project.config, &changed).map_err(|error| {
        let message = format!("cannot write \"{}\": {error}", project.config.display());
        Failure::failed(message, "check that you may write the file and its directory")
    })?;
    // That a person changed it; never to what.
    desk.map_or(Ok(()), |desk| desk.acts().record(&Act::done(&AgentName::main(), command, key)))?;
    Ok(ChangedSetting { key: key.to_owned(), file: name, still_wrong: unbuilt.map(|error| error.to_string()) })
}

/// Does a change bring a problem that was not there before? A file with several is mended one key at a time.
fn is_worse(project: &Project, old: &str, new: &ConfigError) -> Result<bool> {
    let before = match ConfigFile::parse(&project.config_name(), old) {
        Ok(_) => project.unbuilt(old)?,
        // What could not even be read can only have become better.
        Err(_) => return Ok(false),
    };
    let had = |fault| before.iter().flat_map(ConfigError::problems).any(|problem| problem.fault() == fault);
    Ok(new.problems().iter().any(|problem| !had(problem.fault())))
}

fn edit_problem(error: EditError) -> Failure {
    match (error.hint(), error) {
        (_, EditError::Broken(problems)) => project::config_problem(problems),
        (hint, error) => Failure::misused(error, hint.unwrap_or("`paddock config show` shows every key that is set")),
    }
}
