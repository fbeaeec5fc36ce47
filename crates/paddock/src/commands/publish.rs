//! `paddock publish`: a link under which a project can be looked at.

use paddock_config::ConfigFile;
use paddock_core::visible;
use paddock_desk::shares::{self, Base, NewShare, Shares};
use paddock_desk::{Desk, Project, moment};
use paddock_state::SecretName;
use serde_json::json;

use crate::cli::{Global, Publish};
use crate::failure::{Ended, Failure};
use crate::printer::{self, Printer};
use crate::{listening, secrets};

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
    let made = Shares::of(&desk)?.make(&desk, &new, &base(&desk, options.url.as_deref())?)?;
    if options.json {
        printer.json(&json!(made))?;
        return Ok(Ended::Done);
    }
    printer.line(&made.link)?;
    printer::tell(format_args!(
        "shows {} while `paddock serve` runs, until {}; `paddock share revoke {}` ends it",
        visible(&made.path),
        moment::reshown(&made.expires),
        &made.id[..8]
    ));
    for note in shares::noteworthy(&desk, new.agent.as_deref(), &new.path)? {
        printer::tell(format_args!("note: {note}"));
    }
    if !is_served(&desk, options.url.as_deref())? {
        printer::tell("note: nobody serves now: start `paddock serve`");
    }
    Ok(Ended::Done)
}

/// Does somebody listen where the link leads? Of a name that somebody else answers under that cannot be told.
fn is_served(desk: &Desk, url: Option<&str>) -> anyhow::Result<bool> {
    let file = desk.config_file()?;
    let elsewhere = url.is_some() || origin(&file)?.is_some();
    Ok(elsewhere || listening::answers(&listening::url(desk.installation(), &file)))
}

/// Under which address published projects are reached.
pub(super) fn base(desk: &Desk, url: Option<&str>) -> anyhow::Result<Base> {
    if let Some(url) = url {
        return Ok(Base::of_url(url));
    }
    let file = desk.config_file()?;
    let known = listening::url(desk.installation(), &file);
    Ok(origin(&file)?.map_or_else(|| Base::of_url(&known), |host| Base::of_host(&host)))
}

/// The name that published projects stand under, where the configuration says one: what follows "{id}.".
pub(super) fn origin(file: &ConfigFile) -> anyhow::Result<Option<String>> {
    let Some(origin) = file.config().serve.as_ref().and_then(|serve| serve.publish_origin.as_deref()) else {
        return Ok(None);
    };
    match origin.strip_prefix("{id}.").filter(|host| !host.is_empty() && !host.contains(['/', '{', '@', ' '])) {
        // On this machine the port is the server's own.
        Some("localhost") => Ok(None),
        Some(host) => Ok(Some(host.to_owned())),
        None => Err(Failure::misused(
            format!("publish_origin is \"{}\"", paddock_core::visible(origin)),
            "write it as \"{id}.pages.example.com\"",
        )),
    }
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
