//! Forks and overlays: what they change, applying and discarding them.

use axum::http::Method;
use paddock_desk::FailureKind::Conflict;
use paddock_desk::forks::{
    self, Applied, Applying, Compared, Comparing, Discarded, ForkShown, NewForkAsked, OverlayShown, ResolveAsked,
    Resolved,
};
use paddock_desk::{Failure, Result, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use super::looks::OfAgent;
use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// Which fork or overlay.
#[derive(Debug, Deserialize, JsonSchema)]
struct Name {
    /// The name of a fork, or the prefix of an overlay with its slashes encoded.
    name: String,
}

/// How to apply.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyAsked {
    /// Only say what it would change.
    #[serde(default)]
    dry_run: bool,
    /// Also what a `.gitignore` names.
    #[serde(default)]
    ignored: bool,
    /// Paths that stay in the fork, with what is below them.
    #[serde(default)]
    except: Vec<String>,
}

/// How to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareAsked {
    /// The agent; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// Also what a `.gitignore` names.
    #[serde(default)]
    ignored: bool,
}

/// How to discard.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiscardAsked {
    /// The agent whose overlay is meant; `main` where none is named.
    #[serde(default)]
    agent: Option<String>,
    /// Also where something is in it that was not applied.
    #[serde(default)]
    may_be_lost: bool,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/forks", "The forks, and how each stands beside its source", list),
        json(Method::POST, "/api/v1/forks", "Make a fork of a Workspace", make),
        json(Method::GET, "/api/v1/overlays", "The overlays of the configuration", overlays),
        json(Method::GET, "/api/v1/forks/{name}", "What a fork or an overlay changes, path by path", compare),
        json(Method::POST, "/api/v1/forks/{name}/apply", "Take over what it changed: all of it, or nothing", apply)
            .failing(&[Conflict]),
        json(
            Method::POST,
            "/api/v1/forks/{name}/resolve",
            "Make both sides of a conflict agree, on what one of them holds",
            resolve,
        )
        .failing(&[Conflict]),
        json(Method::DELETE, "/api/v1/forks/{name}", "Remove a fork, or empty an overlay", discard)
            .failing(&[Conflict]),
    ]
}

fn list(asked: &Asked) -> Result<Vec<ForkShown>> {
    forks::list(&asked.shared.desk)
}

fn overlays(asked: &Asked) -> Result<Vec<OverlayShown>> {
    forks::overlays(&asked.shared.desk)
}

fn make(asked: &Asked<Nothing, Nothing, NewForkAsked>) -> Result<ForkShown> {
    forks::make(&asked.shared.desk, &asked.body)
}

fn compare(asked: &Asked<Name, CompareAsked>) -> Result<Compared> {
    let agent = workspaces::agent_named(&asked.shared.desk, asked.query.agent.as_deref())?;
    let name = known(asked.shared.desk.as_ref(), &asked.path.name)?;
    let what = Comparing { ignored: asked.query.ignored, paths: Vec::new() };
    forks::compare(&asked.shared.desk, name, &agent, &what)
}

fn apply(asked: &Asked<Name, OfAgent, ApplyAsked>) -> Result<Applied> {
    let agent = workspaces::agent_named(&asked.shared.desk, asked.query.agent.as_deref())?;
    let name = known(asked.shared.desk.as_ref(), &asked.path.name)?;
    let (dry_run, ignored) = (asked.body.dry_run, asked.body.ignored);
    let how = Applying { dry_run, ignored, except: asked.body.except.clone() };
    let applied = forks::apply(&asked.shared.desk, name, &agent, &how)?;
    if asked.body.dry_run { Ok(applied) } else { applied.unless_conflicts() }
}

fn resolve(asked: &Asked<Name, OfAgent, ResolveAsked>) -> Result<Resolved> {
    let agent = workspaces::agent_named(&asked.shared.desk, asked.query.agent.as_deref())?;
    let name = known(asked.shared.desk.as_ref(), &asked.path.name)?;
    forks::resolve(&asked.shared.desk, name, &agent, &asked.body)
}

fn discard(asked: &Asked<Name, DiscardAsked>) -> Result<Discarded> {
    let agent = workspaces::agent_named(&asked.shared.desk, asked.query.agent.as_deref())?;
    let name = known(asked.shared.desk.as_ref(), &asked.path.name)?;
    forks::discard_unless_lost(&asked.shared.desk, name, &agent, asked.query.may_be_lost)
}

/// For a program, a name that nothing has is missing, not misused.
fn known<'n>(desk: &paddock_desk::Desk, name: &'n str) -> Result<&'n str> {
    let is_known = name.contains('/') || forks::exists(desk, name)?;
    let missing =
        || Failure::missing(format!("there is no fork \"{}\"", paddock_core::visible(name)), "see /api/v1/forks");
    is_known.then_some(name).ok_or_else(missing)
}
