//! Where the project is and what policy holds in it: what nearly every command begins with.
//!
//! Finds the configuration and the System Root, and starts the agent's policy from them. It makes nothing on
//! disk and decides nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paddock_config::{ConfigError, ConfigFile, Host, Installation, InstallationError, Ports, Reloader, Settings};
use paddock_core::{AgentName, Audit, CommandRunner, Gate, NoAudit};
use paddock_db::Postgres;
use paddock_exec::Runner;
use paddock_state::{HomeSources, SystemRoot, WorkspaceHome};
use paddock_stores::virtual_store::PostgresBase;
use paddock_tools::{PolicySource, RecordingGate, Toolbox};

use crate::cli::Global;
use crate::failure::{Ended, Failure};
use crate::host;
use crate::{running, secrets};

/// The keys that may name a server.
const VIRTUAL_URL: &str = "virtual.url";
pub(crate) const STATE_URL: &str = "state.url";

/// A project as the command line names it.
#[derive(Debug)]
pub(crate) struct Project {
    /// The configuration, or where it would be.
    pub(crate) config: PathBuf,
    pub(crate) system_root: SystemRoot,
}

impl Project {
    /// The project that the options name: its configuration may be missing, which grants nothing.
    pub(crate) fn find(global: &Global) -> anyhow::Result<Self> {
        let config = config_path(global)?;
        // Where there is no configuration there is no Project Root either.
        let project_root = config.parent().filter(|_| host::is_file(&config));
        let system_root = system_root(global, project_root)?;
        Ok(Self { config, system_root })
    }

    /// As [`Self::find`], for commands that are about the configuration itself.
    pub(crate) fn with_config(global: &Global) -> anyhow::Result<Self> {
        let project = Self::find(global)?;
        if host::is_file(&project.config) {
            return Ok(project);
        }
        Err(Failure::misused("there is no paddock.toml here or above", "run `paddock init` in the project's directory"))
    }

    /// The configuration's text.
    pub(crate) fn text(&self) -> anyhow::Result<String> {
        host::read_text(&self.config).map_err(|error| {
            let message = format!("cannot read \"{}\": {error}", self.config.display());
            Failure::misused(message, "check that it is a text file that you may read")
        })
    }

    /// The configuration, read strictly.
    pub(crate) fn config_file(&self) -> anyhow::Result<ConfigFile> {
        ConfigFile::parse(&self.config_name(), &self.text()?).map_err(config_problem)
    }

    /// What keeps a text without problems from taking effect here as the configuration, if anything does.
    pub(crate) fn unbuilt(&self, text: &str) -> anyhow::Result<Option<ConfigError>> {
        let file = ConfigFile::parse(&self.config_name(), text).map_err(config_problem)?;
        Ok(paddock_config::check(&file, &self.host()?).err())
    }

    /// What the configuration is called in messages.
    pub(crate) fn config_name(&self) -> String {
        self.config.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What building Workspaces has to know about the host.
    pub(crate) fn host(&self) -> anyhow::Result<Host> {
        Host::new(&self.config, self.system_root.clone()).map_err(|error| {
            Failure::misused(
                format!("the directory of \"{}\" cannot be reached: {error}", self.config.display()),
                "name a configuration in a directory that exists",
            )
        })
    }

    /// The policy of the agent, current at every call, for looking at it. Makes nothing on disk.
    pub(crate) fn policy(&self, global: &Global) -> anyhow::Result<Reloader> {
        self.start(global.agent(), Installation::look).map(|(reloader, _)| reloader)
    }

    /// The policy of the agent and the project's installation, for calls that are recorded and may change something.
    pub(crate) fn working(&self, global: &Global) -> anyhow::Result<(Reloader, Installation)> {
        self.working_as(global.agent())
    }

    /// As [`Self::working`], for an agent that the options need not name.
    pub(crate) fn working_as(&self, agent: AgentName) -> anyhow::Result<(Reloader, Installation)> {
        let (reloader, installation) = self.start(agent, Installation::claim)?;
        paddock_tools::settle(&reloader.current(), reloader.audit());
        Ok((reloader, installation))
    }

    /// The policy of an agent and the project's installation as far as there is one. Makes nothing on disk.
    pub(crate) fn looking_as(&self, agent: AgentName) -> anyhow::Result<(Reloader, Installation)> {
        self.start(agent, Installation::look)
    }

    /// The project's installation as far as there is one. Makes nothing on disk.
    pub(crate) fn installation(&self) -> anyhow::Result<Installation> {
        let file = self.config_file()?;
        let settings = settings(self.host()?.project_root().to_owned(), Some(&file))?;
        Installation::look(&self.system_root, &settings).map_err(installation_problem)
    }

    /// What of the project's state is in PostgreSQL, by the key that says so.
    pub(crate) fn on_servers(&self) -> anyhow::Result<Vec<&'static str>> {
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
    pub(crate) fn servers(&self) -> anyhow::Result<Vec<(&'static str, Postgres)>> {
        let open = |(key, url): (&'static str, String)| {
            let schemas = match key {
                VIRTUAL_URL => vec![PostgresBase::SCHEMA],
                _ => paddock_config::state_schemas().into_iter().chain([running::TABLES.postgres]).collect(),
            };
            let opened = Postgres::new(&url, schemas).map_err(|error| installation_problem(error.into()))?;
            Ok((key, opened))
        };
        server_urls(&self.config_file()?)?.into_iter().map(open).collect()
    }

    /// Was anything recorded yet? Asking an embedded database would make it.
    pub(crate) fn has_ledger(&self, installation: &Installation) -> anyhow::Result<bool> {
        let Some(home) = installation.home() else { return Ok(false) };
        // A head without its database is what is left when somebody took the database away.
        let recorded = host::is_file(&home.state_db()) || host::is_file(home.audit_head());
        Ok(recorded || self.on_servers()?.contains(&STATE_URL))
    }

    fn start(&self, agent: AgentName, take: Taking) -> anyhow::Result<(Reloader, Installation)> {
        let mut taken = Installation::in_memory();
        let mut ports = |host: &Host, file: Option<&ConfigFile>| -> anyhow::Result<Ports> {
            // Without a configuration there is no project, and nothing to keep anything of.
            if file.is_some() {
                let settings = settings(host.project_root().to_owned(), file)?;
                taken = take(&self.system_root, &settings).map_err(installation_problem)?;
            }
            if let Some(approvals) = taken.approvals() {
                approvals.tell_by(Arc::new(paddock_tools::notify));
            }
            let ports = taken.ports(gate());
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
    Told(anyhow::Error),
}

impl From<ConfigError> for Stopped {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// Where the state of a project is, with the tables of everybody.
pub(crate) fn settings(project_root: PathBuf, file: Option<&ConfigFile>) -> anyhow::Result<Settings> {
    let settings = Settings::of(project_root, file, &secrets::of_this_process()).map_err(config_problem)?;
    Ok(settings.with_tables(running::TABLES))
}

/// The urls of servers, by the key that says each.
fn server_urls(file: &ConfigFile) -> anyhow::Result<Vec<(&'static str, String)>> {
    let (config, secrets) = (file.config(), secrets::of_this_process());
    let virtual_ = config.virtual_.as_ref().and_then(|stores| stores.url.as_ref());
    let virtual_ = virtual_.map(|url| file.look_up(url, &secrets)).transpose().map_err(config_problem)?.flatten();
    let state = config.state.as_ref().and_then(|state| state.url.as_ref());
    let state = state.map(|url| file.look_up(url, &secrets)).transpose().map_err(config_problem)?.flatten();
    let named = [(VIRTUAL_URL, virtual_.map(|url| url.0)), (STATE_URL, state.map(|url| url.0))].into_iter();
    let named = named.filter_map(|(key, url)| Some((key, url?)));
    Ok(named.filter(|(_, url)| !matches!(url.as_str(), "sqlite" | "memory")).collect())
}

/// The policy of the agent that the options name, for looking at it.
pub(crate) fn policy(global: &Global) -> anyhow::Result<Arc<dyn PolicySource>> {
    Ok(Arc::new(Project::find(global)?.policy(global)?))
}

/// The tools of the agent that the options name, for calling them.
pub(crate) fn toolbox(global: &Global) -> anyhow::Result<Toolbox> {
    let (reloader, _) = Project::find(global)?.working(global)?;
    Ok(Toolbox::new(Arc::new(reloader)))
}

/// How long a command that changes something counts first.
const COUNTING: std::time::Duration = std::time::Duration::from_secs(10);

/// Has every directory with a quota counted that nobody ever counted. For commands that change something and end: nobody counts
/// beside them.
pub(crate) fn count_first() -> anyhow::Result<()> {
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
pub(crate) fn system_root(global: &Global, project_root: Option<&Path>) -> anyhow::Result<SystemRoot> {
    let sources = HomeSources::from_environment(global.home.clone());
    SystemRoot::resolve(&sources, project_root).map_err(|error| Failure::misused(&error, error.hint()))
}

/// For where nothing can wait for a person: there is no project, or it is only looked at.
pub(crate) fn gate() -> Arc<dyn Gate> {
    Arc::new(RecordingGate::new())
}

/// What a guard is given that nobody calls through.
pub(crate) fn looking() -> Ports {
    Ports::in_memory(gate()).with_runner(runner(None, Arc::new(NoAudit)))
}

/// What runs commands. What they change waits in the project's place in the System Root.
fn runner(home: Option<&WorkspaceHome>, audit: Arc<dyn Audit>) -> Arc<dyn CommandRunner> {
    let staged = home.map_or_else(|| std::env::temp_dir().join("paddock-staged"), |home| home.path().join("staged"));
    Arc::new(Runner::new(staged, audit))
}

/// An installation that cannot be used, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn installation_problem(error: InstallationError) -> anyhow::Error {
    Failure::misused(&error, error.hint())
}

/// A configuration with problems, as it is told: the text holds its hints already.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(crate) fn config_problem(error: ConfigError) -> anyhow::Error {
    Failure::told(error.to_string(), Ended::Misused)
}

fn config_path(global: &Global) -> anyhow::Result<PathBuf> {
    if let Some(config) = &global.config {
        if host::is_file(config) {
            return Ok(std::path::absolute(config)?);
        }
        let message = format!("there is no file \"{}\"", config.display());
        return Err(Failure::misused(message, "name a paddock.toml that exists, or leave --config out"));
    }
    let here = std::env::current_dir()?;
    Ok(paddock_config::find_upwards(&here).unwrap_or_else(|| here.join(paddock_config::CONFIG_FILE)))
}
