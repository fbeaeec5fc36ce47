//! `paddock config`: shows and changes `paddock.toml`, key by key.

use serde_json::Value;

use crate::cli::{Config, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Look, Printer};
use paddock_desk::setup::{self, ChangedSetting};
use paddock_desk::{Desk, Project};

pub(crate) fn run(global: &Global, options: &Config, printer: &Printer) -> anyhow::Result<Ended> {
    match options {
        Config::Show { origin, json } => show(global, *origin, *json, printer),
        Config::Get { key, json } => get(global, key, *json, printer),
        Config::Set { key, value } => change(global, |project, desk| setup::set(project, desk, key, value)),
        Config::Unset { key } => change(global, |project, desk| setup::unset(project, desk, key)),
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
