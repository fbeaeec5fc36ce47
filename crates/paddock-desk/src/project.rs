//! Where the project is and what policy holds in it: what nearly every command begins with.
//!
//! Finds the configuration and the System Root, and starts the agent's policy from them. It makes nothing on
//! disk and decides nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_config::{
    ConfigError, ConfigFile, Host, Installation, InstallationError, Ports, Reloader, Settings, StateDatabase,
};
use paddock_core::{AgentName, Audit, CommandRunner, Gate, NoAudit};
use paddock_db::Postgres;
use paddock_db::statements::Storage;
use paddock_exec::Runner;
use paddock_state::{HomeSources, Secrets, SystemRoot, WorkspaceHome};
use paddock_stores::virtual_store::PostgresBase;
use paddock_tools::{RecordingGate, Toolbox};

use crate::failure::{Failure, FailureKind, Result};
use crate::{access, host, running, shares};

/// The keys that may name a server.
const VIRTUAL_URL: &str = "virtual.url";
/// Where history, audit, approvals and runs are.
pub const STATE_URL: &str = "state.url";

/// Where a person says that a project is.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The System Root, where it is not the usual one.
    pub home: Option<PathBuf>,
    /// The configuration, where it is not the nearest one.
    pub config: Option<PathBuf>,
    /// The person's secrets.
    pub secrets: Secrets,
}

/// A project as a person names it.
#[derive(Debug, Clone)]
pub struct Project {
    /// The configuration, or where it would be.
    pub config: PathBuf,
    /// Where its state is.
    pub system_root: SystemRoot,
    /// The person's secrets.
    pub secrets: Secrets,
    /// Are its agents without commands, whatever the configuration says?
    pub(crate) without_commands: bool,
}

impl Project {
    /// The project that the options name: its configuration may be missing, which grants nothing.
    pub fn find(places: &Places) -> Result<Self> {
        let config = config_path(places)?;
        // Where there is no configuration there is no Project Root either.
        let project_root = config.parent().filter(|_| host::is_file(&config));
        let system_root = system_root(places, project_root)?;
        Ok(Self { config, system_root, secrets: places.secrets.clone(), without_commands: false })
    }

    /// The same, with agents that run no commands, whatever the configuration says.
    #[must_use]
    pub fn without_commands(mut self) -> Self {
        self.without_commands = true;
        self
    }

    /// As [`Self::find`], for commands that are about the configuration itself.
    pub fn with_config(places: &Places) -> Result<Self> {
        let project = Self::find(places)?;
        if host::is_file(&project.config) {
            return Ok(project);
        }
        Err(Failure::misused(
            "there is no paddock.toml here or above",
            "run `paddock init` in the project's directory; after `paddock mcp DIR`, in the first DIR",
        ))
    }

    /// The configuration's text.
    pub fn text(&self) -> Result<String> {
        host::read_text(&self.config).map_err(|error| {
            let message = format!("cannot read \"{}\": {error}", self.config.display());
            Failure::misused(message, "check that it is a text file that you may read")
        })
    }

    /// The configuration, read strictly.
    pub fn config_file(&self) -> Result<ConfigFile> {
        ConfigFile::parse(&self.config_name(), &self.text()?).map_err(config_problem)
    }

    /// What keeps a text without problems from taking effect here as the configuration, if anything does.
    pub fn unbuilt(&self, text: &str) -> Result<Option<ConfigError>> {
        let file = ConfigFile::parse(&self.config_name(), text).map_err(config_problem)?;
        Ok(paddock_config::check(&file, &self.host()?).err())
    }

    /// What the configuration is called in messages.
    pub fn config_name(&self) -> String {
        self.config.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Where the state of the project is.
    pub fn settings(&self) -> Result<Settings> {
        let file = self.config_file()?;
        settings(self.host()?.project_root().to_owned(), Some(&file), &self.secrets)
    }

    /// What building Workspaces has to know about the host.
    pub fn host(&self) -> Result<Host> {
        Host::new(&self.config, self.system_root.clone()).map_err(|error| {
            Failure::misused(
                format!("the directory of \"{}\" cannot be reached: {error}", self.config.display()),
                "name a configuration in a directory that exists",
            )
        })
    }

    /// The policy of the agent, current at every call, for looking at it. Makes nothing on disk.
    pub fn policy_of(&self, agent: AgentName) -> Result<Reloader> {
        self.start(agent, Installation::look).map(|(reloader, _)| reloader)
    }

    /// The policy of the agent and the project's installation, for calls that are recorded and may change something.
    pub fn working_as(&self, agent: AgentName) -> Result<(Reloader, Installation)> {
        let (reloader, installation) = self.start(agent, Installation::claim)?;
        paddock_tools::settle(&reloader.current(), reloader.audit());
        Ok((reloader, installation))
    }

    /// The tools of the agent, for calling them.
    pub fn toolbox(&self, agent: AgentName) -> Result<Toolbox> {
        let (reloader, _) = self.working_as(agent)?;
        Ok(Toolbox::new(Arc::new(reloader)))
    }

    /// The policy of an agent and the project's installation as far as there is one. Makes nothing on disk.
    pub fn looking_as(&self, agent: AgentName) -> Result<(Reloader, Installation)> {
        self.start(agent, Installation::look)
    }

    /// The project's installation as far as there is one. Makes nothing on disk.
    pub fn installation(&self) -> Result<Installation> {
        Installation::look(&self.system_root, &self.settings()?).map_err(installation_problem)
    }

    /// What of the project's state is in PostgreSQL, by the key that says so.
    pub fn on_servers(&self) -> Result<Vec<&'static str>> {
        let config_file = self.config_file()?;
        let is_server = |url: Option<&str>| !matches!(url, Some("sqlite" | "memory"));
        // A secret can only be the address of a server.
        let stores = config_file.config().virtual_.as_ref().and_then(|stores| stores.url.as_ref());
        let state = config_file.config().state.as_ref().and_then(|state| state.url.as_ref());
        let stores = stores.filter(|url| is_server(url.plain().map(|url| url.0.as_str()))).map(|_| VIRTUAL_URL);
        let state = state.filter(|url| is_server(url.plain().map(|url| url.0.as_str()))).map(|_| STATE_URL);
        Ok(stores.into_iter().chain(state).collect())
    }

    /// The servers themselves, by the key that names each. Reaches for nothing.
    pub fn servers(&self) -> Result<Vec<(&'static str, Postgres)>> {
        let open = |(key, url): (&'static str, String)| {
            let schemas = match key {
                VIRTUAL_URL => vec![PostgresBase::SCHEMA],
                _ => paddock_config::state_schemas()
                    .into_iter()
                    .chain([running::TABLES.postgres, access::TABLES.postgres, shares::TABLES.postgres])
                    .collect(),
            };
            let opened = Postgres::new(&url, schemas).map_err(|error| installation_problem(error.into()))?;
            Ok((key, opened))
        };
        server_urls(&self.config_file()?, &self.secrets)?.into_iter().map(open).collect()
    }

    /// Was anything recorded yet? Asking an embedded database would make it.
    pub fn has_ledger(&self, installation: &Installation) -> Result<bool> {
        let Some(home) = installation.home() else { return Ok(false) };
        // A head without its database is what is left when somebody took the database away.
        let recorded = host::is_file(&home.state_db()) || host::is_file(home.audit_head());
        Ok(recorded || self.on_servers()?.contains(&STATE_URL))
    }

    fn start(&self, agent: AgentName, take: Taking) -> Result<(Reloader, Installation)> {
        let mut taken = Installation::in_memory();
        let mut ports = |host: &Host, file: Option<&ConfigFile>| -> Result<Ports> {
            // Without a configuration there is no project, and nothing to keep anything of.
            if file.is_some() {
                let settings = settings(host.project_root().to_owned(), file, &self.secrets)?;
                taken = take(&self.system_root, &settings).map_err(installation_problem)?;
            }
            if let Some(approvals) = taken.approvals() {
                approvals.tell_by(Arc::new(paddock_tools::notify));
            }
            let ports = taken.ports(gate());
            if self.without_commands {
                return Ok(ports);
            }
            let runner = runner(taken.home(), Arc::clone(&ports.audit));
            Ok(ports.with_runner(runner))
        };
        let started = Reloader::start_with(&self.config, agent, self.system_root.clone(), |host, file| {
            ports(host, file).map_err(Stopped::Told)
        });
        match started {
            Ok(reloader) => Ok((reloader, taken)),
            Err(Stopped::Config(error)) => Err(config_problem(error)),
            Err(Stopped::Told(error)) => Err(error),
        }
    }
}

/// How an installation is taken: as it is, or made where there is none.
type Taking = fn(&SystemRoot, &Settings) -> Result<Installation, InstallationError>;

/// Why a policy cannot start.
enum Stopped {
    Config(ConfigError),
    Told(Failure),
}

impl From<ConfigError> for Stopped {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// Where the tables of an installation's state are, and whose rows in them are ours.
pub(crate) fn state_of(installation: &Installation) -> Result<(Arc<dyn Storage>, String)> {
    match installation.state_database() {
        Some(StateDatabase::Sqlite(database)) => Ok((Arc::new(database.clone()), String::new())),
        Some(StateDatabase::Postgres(database, home)) => Ok((Arc::new(database.clone()), home.clone())),
        None => Err(Failure::misused("there is no project here", "begin with `paddock init`")),
    }
}

/// Where the state of a project is, with the tables of everybody.
pub fn settings(project_root: PathBuf, file: Option<&ConfigFile>, secrets: &Secrets) -> Result<Settings> {
    let settings = Settings::of(project_root, file, secrets).map_err(config_problem)?;
    Ok(settings.with_tables(running::TABLES).with_tables(access::TABLES).with_tables(shares::TABLES))
}

/// The urls of servers, by the key that says each.
fn server_urls(file: &ConfigFile, secrets: &Secrets) -> Result<Vec<(&'static str, String)>> {
    let config = file.config();
    let virtual_ = config.virtual_.as_ref().and_then(|stores| stores.url.as_ref());
    let virtual_ = virtual_.map(|url| file.look_up(url, secrets)).transpose().map_err(config_problem)?.flatten();
    let state = config.state.as_ref().and_then(|state| state.url.as_ref());
    let state = state.map(|url| file.look_up(url, secrets)).transpose().map_err(config_problem)?.flatten();
    let named = [(VIRTUAL_URL, virtual_.map(|url| url.0)), (STATE_URL, state.map(|url| url.0))].into_iter();
    let named = named.filter_map(|(key, url)| Some((key, url?)));
    Ok(named.filter(|(_, url)| !matches!(url.as_str(), "sqlite" | "memory")).collect())
}

/// How long a command that changes something counts first.
const COUNTING: std::time::Duration = std::time::Duration::from_secs(10);

/// Has every directory with a quota counted that nobody ever counted. For commands that change something and end: nobody counts
/// beside them.
pub fn count_first() -> Result<()> {
    paddock_config::upkeep::count_first(COUNTING).map_err(|(place, error)| {
        let place = place.display();
        match error {
            Some(error) => {
                Failure::failed(format!("what \"{place}\" holds cannot be counted: {error}"), "look who may read it")
            }
            None => Failure::failed(
                format!("\"{place}\" is too large to be counted within {} s, and has a quota", COUNTING.as_secs()),
                "run `paddock quota` once, which takes its time, or let `paddock mcp` count it",
            ),
        }
    })
}

/// The System Root that the options name.
pub fn system_root(places: &Places, project_root: Option<&Path>) -> Result<SystemRoot> {
    let sources = HomeSources::from_environment(places.home.clone());
    SystemRoot::resolve(&sources, project_root).map_err(|error| Failure::misused(&error, error.hint()))
}

/// For where nothing can wait for a person: there is no project, or it is only looked at.
pub fn gate() -> Arc<dyn Gate> {
    Arc::new(RecordingGate::new())
}

/// What a guard is given that nobody calls through.
pub fn looking() -> Ports {
    Ports::in_memory(gate()).with_runner(runner(None, Arc::new(NoAudit)))
}

/// What runs commands. What they change waits in the project's place in the System Root.
pub fn runner(home: Option<&WorkspaceHome>, audit: Arc<dyn Audit>) -> Arc<dyn CommandRunner> {
    let staged = home.map_or_else(|| std::env::temp_dir().join("paddock-staged"), |home| home.path().join("staged"));
    Arc::new(Runner::new(staged, audit))
}

/// An installation that cannot be used, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn installation_problem(error: InstallationError) -> Failure {
    Failure::misused(&error, error.hint())
}

/// A configuration with problems, as it is told: the text holds its hints already.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn config_problem(error: ConfigError) -> Failure {
    Failure::told(error.to_string(), FailureKind::Misused)
}

fn config_path(places: &Places) -> Result<PathBuf> {
    if let Some(config) = &places.config {
        if host::is_file(config) {
            return Ok(std::path::absolute(config)?);
        }
        let message = format!("there is no file \"{}\"", config.display());
        return Err(Failure::misused(message, "name a paddock.toml that exists, or leave --config out"));
    }
    let here = std::env::current_dir()?;
    Ok(paddock_config::find_upwards(&here).unwrap_or_else(|| here.join(paddock_config::CONFIG_FILE)))
}
