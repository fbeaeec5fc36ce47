//! What a run needs, put together: the tools and the state of the project, a model, and somebody who watches.

use std::sync::Arc;

use paddock_agent::model::{Model, ScriptedModel};
use paddock_agent::record::{Record, schema};
use paddock_agent::{RunSettings, Runtime, Watcher};
use paddock_config::{ConfigFile, Installation, StateDatabase, Tables};
use paddock_core::{AgentName, Cancel};
use paddock_tools::Toolbox;

use crate::failure::Failure;
use crate::host;
use crate::project::Project;
use crate::secrets;

/// The tables that runs add to the state.
pub(crate) const TABLES: Tables = Tables { sqlite: schema::SQLITE, postgres: schema::POSTGRES };

/// The record of a project's runs, where it has one.
pub(crate) fn record(installation: &Installation) -> Option<Record> {
    Some(match installation.state_database()? {
        StateDatabase::Sqlite(database) => Record::on_sqlite(database.clone()),
        StateDatabase::Postgres(database, home) => Record::on_postgres(database.clone(), home),
    })
}

/// The bounds that the configuration sets.
pub(crate) fn settings(file: &ConfigFile) -> RunSettings {
    let default = RunSettings::default();
    let Some(run) = &file.config().run else { return default };
    RunSettings {
        max_steps: run.max_steps.unwrap_or(default.max_steps),
        max_tokens: run.max_tokens.unwrap_or(default.max_tokens),
        max_time: run.max_time.as_ref().map_or(default.max_time, |time| time.0),
        evict_above: run
            .evict_above
            .as_ref()
            .map_or(default.evict_above, |size| usize::try_from(size.0).unwrap_or(usize::MAX)),
        ..default
    }
}

/// Everything for a run of this agent.
pub(crate) fn runtime(
    project: &Project,
    agent: AgentName,
    chosen: &Chosen,
    settings: RunSettings,
    watcher: Arc<Watcher>,
) -> anyhow::Result<(Runtime, Installation)> {
    let (reloader, installation) = project.working_as(agent)?;
    let (Some(record), Some(instances)) = (record(&installation), installation.instances()) else {
        return Err(Failure::misused("there is no project here to keep a run in", "begin with `paddock init`"));
    };
    let runtime = Runtime {
        record,
        instances,
        toolbox: Toolbox::new(Arc::new(reloader)),
        model: Arc::clone(&chosen.model),
        model_name: chosen.name.clone(),
        approvals: installation.approvals().cloned(),
        history: installation.history().cloned(),
        redactor: secrets::of_this_process().redactor(),
        settings,
        key: installation.session_key(),
        cancel: Arc::new(Cancel::default()),
        watcher,
    };
    Ok((runtime, installation))
}

/// A model, and the script that it is, where it is one.
pub(crate) struct Chosen {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) script: Option<Arc<ScriptedModel>>,
    /// As it was named.
    pub(crate) name: String,
}

impl Chosen {
    /// For what asks no model.
    pub(crate) fn nobody() -> Self {
        Self { model: Arc::new(ScriptedModel::default()), script: None, name: String::new() }
    }
}

/// The model that was asked for, or the one that the configuration names.
pub(crate) fn choose(file: &ConfigFile, asked: Option<&str>) -> anyhow::Result<Chosen> {
    let configured = file.config().model.as_ref();
    let Some(name) = asked.or(configured.map(|model| model.name.as_str())) else {
        return Err(Failure::misused(
            "no model is named",
            "write [model] use = \"openai:NAME\" in paddock.toml, or add --model; script:FILE needs no service",
        ));
    };
    if let Some(path) = name.strip_prefix("script:") {
        let text = host::read_text(path.as_ref()).map_err(|error| {
            Failure::misused(
                format!("the script \"{path}\" cannot be read: {error}"),
                "name a file with one answer per line",
            )
        })?;
        let script = ScriptedModel::parse(&text).map_err(|bad| {
            Failure::misused(&bad, "each line is {\"content\": …, \"tool_calls\"?: [{\"name\", \"arguments\"}]}")
        })?;
        let script = Arc::new(script);
        return Ok(Chosen { model: script.clone(), script: Some(script), name: name.to_owned() });
    }
    let hint = "write script:FILE, openai:NAME, anthropic:NAME or compatible:NAME";
    Err(Failure::misused(format!("\"{name}\" is no model"), hint))
}
