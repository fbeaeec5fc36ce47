//! `paddock publish`: a link under which a project can be looked at.

use paddock_core::visible;
use paddock_desk::shares::{Base, NewShare, Shares};
use paddock_desk::{Desk, Project};
use paddock_state::SecretName;
use serde_json::json;

use crate::cli::{Global, Publish};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use crate::secrets;

/// Where the console usually listens.
const USUAL: &str = "http://127.0.0.1:7322";

pub(crate) fn run(global: &Global, options: &Publish, printer: &Printer) -> anyhow::Result<Ended> {
    let desk = Desk::work(Project::with_config(&global.places())?)?;
    let new = NewShare {
        agent: Some(global.agent().as_str().to_owned()),
        path: options.path.clone(),
        name: options.name.clone(),
        days: Some(options.days),
        password: password(options)?,
        max_uses: options.max_uses,
    };
    let made = Shares::of(desk.installation())?.make(&desk, &new, &base(options.url.as_deref()))?;
    if options.json {
        printer.json(&json!(made))?;
    } else {
        printer.line(&made.link)?;
        printer::tell(format_args!(
            "shows {} while `paddock serve` runs, until {}; `paddock share revoke {}` ends it",
            visible(&made.path),
            made.expires,
            &made.id[..8]
        ));
    }
    Ok(Ended::Done)
}

/// Under which address published projects are reached.
pub(super) fn base(url: Option<&str>) -> Base {
    Base::of_url(url.unwrap_or(USUAL))
}

/// As an argument it would stay in the shell's history.
fn password(options: &Publish) -> anyhow::Result<Option<String>> {
    if options.password {
        return Ok(Some(secrets::twice("password of the share: ")?.expose().to_owned()));
    }
    let Some(name) = &options.password_secret else { return Ok(None) };
    let parsed = SecretName::parse(name).map_err(|error| Failure::misused(&error, error.hint()))?;
    let value = secrets::of_this_process().get(&parsed).map_err(secrets::problem)?;
    let value = value.ok_or_else(|| {
        Failure::failed(format!("there is no secret \"{name}\""), format!("store it with `paddock secret set {name}`"))
    })?;
    Ok(Some(value.expose().to_owned()))
}
