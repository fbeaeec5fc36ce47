//! `paddock config`: shows and changes `paddock.toml`, key by key; with `--user`, the person's own settings.

use paddock_config::{UserError, UserSettings};
use paddock_state::SystemRoot;
use serde_json::Value;

use crate::cli::{Config, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Look, Printer};
use paddock_desk::setup::{self, ChangedSetting};
use paddock_desk::{Desk, Project};

pub(crate) fn run(global: &Global, options: &Config, printer: &Printer) -> anyhow::Result<Ended> {
    match options {
        Config::Show { user: true, origin, json } => show_users(global, *origin, *json, printer),
        Config::Show { origin, json, .. } => show(global, *origin, *json, printer),
        Config::Get { user: true, key, json } => get_users(global, key, *json, printer),
        Config::Get { key, json, .. } => get(global, key, *json, printer),
        Config::Set { user: true, key, value } => change_users(global, key, |users| users.set(key, value)),
        Config::Set { key, value, .. } => change(global, |project, desk| setup::set(project, desk, key, value)),
        Config::Unset { user: true, key } => unset_users(global, key),
        Config::Unset { key, .. } => change(global, |project, desk| setup::unset(project, desk, key)),
        Config::Schema => {
            printer.json(&paddock_config::json_schema())?;
            Ok(Ended::Done)
        }
    }
}

fn show(global: &Global, origin: bool, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    if as_json && !origin {
        printer.json(&setup::values(&project)?)?;
        return Ok(Ended::Done);
    }
    let settings = setup::settings(&project)?;
    if as_json {
        printer.json(&serde_json::to_value(&settings)?)?;
        return Ok(Ended::Done);
    }
    for setting in &settings {
        let place = format!("  # {}", setting.origin);
        let place = if origin { printer.look(Look::Faint, place) } else { String::new() };
        printer.line(format_args!("{} = {}{place}", setting.key, setting.value))?;
    }
    Ok(Ended::Done)
}

fn get(global: &Global, key: &str, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    match setup::get(&Project::with_config(&global.places())?, key)? {
        None => Err(Failure::failed(format!("\"{key}\" is not set"), "`paddock config show` shows every key that is")),
        Some(Value::String(text)) if !as_json => printer.text(&text).map(|()| Ended::Done),
        Some(value) => printer.json(&value).map(|()| Ended::Done),
    }
}

/// Changes the file. It is recorded where anything is recorded; a file that is broken can be mended before that.
fn change(
    global: &Global,
    change: impl FnOnce(&Project, Option<&Desk>) -> paddock_desk::Result<ChangedSetting>,
) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let desk = Desk::look(project.clone()).ok();
    let desk = desk.filter(|desk| project.has_ledger(desk.installation()).unwrap_or(false));
    let changed = change(&project, desk.as_ref())?;
    printer::tell(format_args!("changed \"{}\" in {}", changed.key, changed.file));
    if let Some(error) = changed.still_wrong {
        printer::tell(format_args!(
            "\nwarning: the configuration could not take effect before and still cannot\n{error}"
        ));
    }
    Ok(Ended::Done)
}

/// Where the person's settings are. No project is needed for them.
fn system_root(global: &Global) -> anyhow::Result<SystemRoot> {
    Ok(paddock_desk::project::system_root(&global.places(), None)?)
}

/// What was typed is a misuse; what the file holds, or the host refuses, is a failure.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn problem(error: UserError) -> anyhow::Error {
    match error {
        UserError::UnknownKey(_) | UserError::BadValue { .. } => Failure::misused(&error, error.hint()),
        UserError::Damaged { .. } | UserError::Io { .. } | UserError::Home(_) => Failure::failed(&error, error.hint()),
    }
}

fn show_users(global: &Global, origin: bool, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let system_root = system_root(global)?;
    let users = UserSettings::load(&system_root).map_err(problem)?;
    if as_json {
        return printer.json(&users.json()).map(|()| Ended::Done);
    }
    for (name, value) in users.all() {
        let place = format!("  # {}", system_root.config_file().display());
        let place = if origin { printer.look(Look::Faint, place) } else { String::new() };
        printer.line(format_args!("{name} = \"{value}\"{place}"))?;
    }
    Ok(Ended::Done)
}

fn get_users(global: &Global, key: &str, as_json: bool, printer: &Printer) -> anyhow::Result<Ended> {
    let users = UserSettings::load(&system_root(global)?).map_err(problem)?;
    match users.get(key).map_err(problem)? {
        None => Err(not_set(key)),
        Some(value) if as_json => printer.json(&Value::from(value)).map(|()| Ended::Done),
        Some(value) => printer.text(value).map(|()| Ended::Done),
    }
}

fn not_set(key: &str) -> anyhow::Error {
    Failure::failed(format!("\"{key}\" is not set"), "`paddock config show --user` shows every setting that is")
}

fn unset_users(global: &Global, key: &str) -> anyhow::Result<Ended> {
    if UserSettings::load(&system_root(global)?).map_err(problem)?.get(key).map_err(problem)?.is_none() {
        return Err(not_set(key));
    }
    change_users(global, key, |users| users.unset(key).map(drop))
}

fn change_users(
    global: &Global,
    key: &str,
    change: impl FnOnce(&mut UserSettings) -> Result<(), UserError>,
) -> anyhow::Result<Ended> {
    let system_root = system_root(global)?;
    UserSettings::change(&system_root, change).map_err(problem)?;
    printer::tell(format_args!("changed \"{key}\" in {}", system_root.config_file().display()));
    Ok(Ended::Done)
}
