//! What a run needs, put together: the tools and the state of the project, a model, and somebody who watches.

use std::sync::Arc;
use std::time::Instant;

use paddock_agent::model::choose::{self, ChooseOptions};
use paddock_agent::model::{Model, Prices, ScriptedModel};
use paddock_agent::record::{Record, schema};
use paddock_agent::{RunSettings, Runtime, Watcher};
use paddock_config::{ConfigFile, Installation, StateDatabase, Tables};
use paddock_core::{AgentName, BearerToken, Cancel, visible};
use paddock_state::Secrets;

use crate::desk::Desk;
use crate::failure::{Failure, Result};
use crate::host;
use crate::project::config_problem;

/// The tables that runs add to the state.
pub const TABLES: Tables = Tables { sqlite: schema::SQLITE, postgres: schema::POSTGRES };

/// The record of a project's runs, where it has one.
pub fn record(installation: &Installation) -> Option<Record> {
    Some(match installation.state_database()? {
        StateDatabase::Sqlite(database) => Record::on_sqlite(database.clone()),
        StateDatabase::Postgres(database, home) => Record::on_postgres(database.clone(), home),
    })
}

/// The bounds that the configuration sets.
pub fn settings(file: &ConfigFile) -> RunSettings {
    let default = RunSettings::default();
    let Some(run) = &file.config().run else { return default };
    RunSettings {
        max_steps: run.max_steps.unwrap_or(default.max_steps),
        max_tokens: run.max_tokens.unwrap_or(default.max_tokens),
        max_time: run.max_time.as_ref().map_or(default.max_time, |time| time.0),
        max_cost: run.max_cost.map(|amount| amount.0),
        evict_above: run
            .evict_above
            .as_ref()
            .map_or(default.evict_above, |size| usize::try_from(size.0).unwrap_or(usize::MAX)),
        ..default
    }
}

/// Everything for a run of this agent.
pub fn runtime(
    desk: &Desk,
    agent: &AgentName,
    chosen: &Chosen,
    settings: RunSettings,
    watcher: Arc<Watcher>,
) -> Result<Runtime> {
    // A bound that cannot hold is none.
    if settings.max_cost.is_some() && chosen.prices.is_none() && chosen.script.is_none() {
        return Err(Failure::misused(
            format!("nobody knows what \"{}\" costs, so max_cost of [run] cannot hold", visible(&chosen.name)),
            "write its prices in [model], or take max_cost out",
        ));
    }
    let installation = desk.installation();
    let (Some(record), Some(instances)) = (record(installation), installation.instances()) else {
        return Err(Failure::misused("there is no project here to keep a run in", "begin with `paddock init`"));
    };
    Ok(Runtime {
        record,
        instances,
        toolbox: desk.toolbox(agent)?,
        model: Arc::clone(&chosen.model),
        model_name: chosen.name.clone(),
        prices: chosen.prices.clone(),
        approvals: installation.approvals().cloned(),
        history: installation.history().cloned(),
        redactor: desk.project().secrets.redactor(),
        settings,
        key: installation.session_key(),
        cancel: Arc::clone(&chosen.cancel),
        watcher,
        clock: Arc::new(Instant::now),
    })
}

/// A model, and how a person named it.
pub struct Chosen {
    /// The model itself.
    pub model: Arc<dyn Model>,
    /// The same where it is a script, so that a resumed run can skip what it has had.
    pub script: Option<Arc<ScriptedModel>>,
    /// As a person named it.
    pub name: String,
    /// What it costs, where the configuration says so.
    pub prices: Option<Prices>,
    /// Stops it.
    cancel: Arc<Cancel>,
}

impl Chosen {
    /// For what asks no model.
    pub fn nobody() -> Self {
        let model = Arc::new(ScriptedModel::default());
        Self { model, script: None, name: String::new(), prices: None, cancel: Arc::default() }
    }
}

/// The model that was asked for, or the one that the configuration names. Address and key are the configuration's, where it names that service.
pub fn choose(file: &ConfigFile, secrets: &Secrets, asked: Option<&str>) -> Result<Chosen> {
    let configured = file.config().model.as_ref();
    let Some(name) = asked.or(configured.map(|model| model.name.as_str())) else {
        return Err(Failure::misused(
            "no model is named",
            "write [model] use = \"openai:NAME\" in paddock.toml, or add --model; script:FILE needs no service",
        ));
    };
    let kind = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let same = configured.filter(|model| kind(&model.name) == kind(name));
    let base_url = same.and_then(|model| model.base_url.as_deref());
    let key = match same {
        Some(_) => file.model_key(secrets).map_err(config_problem)?,
        None => None,
    };
    let key = key.map(|key| BearerToken::new(key.expose()));
    let options = ChooseOptions::default();
    let read = |file: &str| host::read_text(file.as_ref());
    let chosen = choose::choose(name, base_url, key, &options, &read);
    let chosen = chosen.map_err(|error| Failure::misused(&error, error.hint()))?;
    // Another model of the same service has other prices.
    let prices = configured.filter(|model| model.name == name).and_then(|model| model.prices.as_ref()).map(prices);
    Ok(Chosen { model: chosen.model, script: chosen.script, name: name.to_owned(), prices, cancel: options.cancel })
}

fn prices(written: &paddock_config::schema::Prices) -> Prices {
    Prices {
        input: written.input.0,
        cached: written.cached.map(|price| price.0),
        output: written.output.0,
        currency: written.currency.as_ref().map_or_else(|| "USD".to_owned(), |currency| currency.0.clone()),
    }
}
