//! The configuration with the origin of each value, changing it, and what the doctor finds.

use axum::http::Method;
use paddock_desk::FailureKind::Missing;
use paddock_desk::doctor::{self, Row};
use paddock_desk::setup::{self, ChangedSetting, Checked, Setting};
use paddock_desk::{Failure, Result, workspaces};
use schemars::JsonSchema;
use serde::Deserialize;

use super::looks::OfAgent;
use crate::endpoint::{Asked, Endpoint, Nothing, json};

/// Which key.
#[derive(Debug, Deserialize, JsonSchema)]
struct Key {
    /// Its path: `workspace[0].scope`.
    key: String,
}

/// What it should be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewValue {
    /// TOML (`true`, `["rm"]`), or else taken as text (`60 s`).
    value: String,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/config", "Every value that is set, with where it was written", settings),
        json(Method::GET, "/api/v1/config/{key}", "One value with where it was written", one),
        json(Method::PUT, "/api/v1/config/{key}", "Change one value; refused where it could not take effect", set),
        json(Method::DELETE, "/api/v1/config/{key}", "Take one value away", unset),
        json(Method::GET, "/api/v1/check", "Is the configuration right?", check).failing(&[Missing]),
        json(Method::GET, "/api/v1/doctor", "What could keep Paddock from working here", examine).failing(&[Missing]),
    ]
}

fn settings(asked: &Asked) -> Result<Vec<Setting>> {
    setup::settings(asked.shared.desk.project())
}

fn one(asked: &Asked<Key>) -> Result<Setting> {
    let key = &asked.path.key;
    let found = setup::settings(asked.shared.desk.project())?.into_iter().find(|setting| setting.key == *key);
    found.ok_or_else(|| {
        Failure::missing(format!("\"{}\" is not set", paddock_core::visible(key)), "see /api/v1/config for what is")
    })
}

fn set(asked: &Asked<Key, Nothing, NewValue>) -> Result<ChangedSetting> {
    asked.by_a_person("paddock config set")?;
    let desk = &asked.shared.desk;
    setup::set(desk.project(), Some(desk), &asked.path.key, &asked.body.value)
}

fn unset(asked: &Asked<Key>) -> Result<ChangedSetting> {
    asked.by_a_person("paddock config unset")?;
    let desk = &asked.shared.desk;
    setup::unset(desk.project(), Some(desk), &asked.path.key)
}

fn check(asked: &Asked<Nothing, OfAgent>) -> Result<Checked> {
    let desk = &asked.shared.desk;
    let agent = asked.query.agent.as_deref().map(|agent| workspaces::agent_named(desk, Some(agent))).transpose()?;
    setup::check(desk.project(), agent.as_ref())
}

fn examine(asked: &Asked<Nothing, OfAgent>) -> Result<Vec<Row>> {
    let desk = &asked.shared.desk;
    let agent = asked.query.agent.as_deref().map(|agent| workspaces::agent_named(desk, Some(agent))).transpose()?;
    Ok(doctor::examine(Ok(desk.project().clone()), agent.as_ref()))
}
