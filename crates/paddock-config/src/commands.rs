//! What a person allows commands: `[commands]`, and from `[approvals]` when somebody is asked.
//!
//! A place that a command may read beside the system's own must not reach into the System Root, where the ledger and
//! secrets are. A Workspace must not stand where the minimal system of a command is.
//!
//! What depends on what lies on the disk is looked at before each command ([`Needs`]), and is no part of whether a configuration
//! can take effect: an agent can bring it about, and must not keep a policy that a person has taken away by that.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paddock_core::{
    Call, CallId, CommandLimits, CommandLine, CommandRunner, CommandSettings, CommandSpec, CutOff, NotRun, OutputSink,
    Ran, Risk, Workspace,
};
use paddock_state::Secrets;
use paddock_stores::Way;

use crate::approvals;
use crate::fault::Fault;
use crate::host::Host;
use crate::places::Places;
use crate::problem::Problem;
use crate::schema::{Changes, Commands, Config, Network};
use crate::secret;

/// Where outputs are that are too long to show. A Workspace of every agent, unless another one is there.
pub const EVICTED: &str = "/evicted";
/// Where the plans of runs are while the agent has no read-write Workspace. A Workspace of every agent, unless another one is there.
pub const PLANS: &str = "/plan";

/// What the minimal system of a command has at the top.
const SYSTEM: [&str; 12] =
    ["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"];

/// The settings that a configuration gives; nothing where it has no commands.
pub(crate) fn settings(
    config: &Config,
    host: &Host,
    secrets: &Secrets,
) -> Result<Option<CommandSettings>, Box<Problem>> {
    let Some(commands) = &config.commands else { return Ok(None) };
    let ask_above = config.approvals.as_ref().and_then(|approvals| approvals.above.as_ref());
    let limits = limits(commands);
    enough(&limits).map_err(|fault| Box::new(Problem::of_file(fault)))?;
    Ok(Some(CommandSettings {
        deny: commands.deny.clone().unwrap_or_default(),
        direct: commands.changes == Some(Changes::Direct),
        network: match &commands.network {
            Some(Network::Only(hosts)) => hosts.iter().map(|host| host.0.clone()).collect(),
            Some(Network::Off) | None => Vec::new(),
        },
        tools: commands.tools.iter().flatten().map(|written| host.path_of(written)).collect(),
        env: env(commands, secrets)?,
        limits,
        ask_above: ask_above.map_or(Risk::Medium, |level| approvals::risk(*level)),
    }))
}

/// The variables, with the values of those that are secrets; without them where nothing is looked up.
fn env(commands: &Commands, secrets: &Secrets) -> Result<BTreeMap<String, String>, Box<Problem>> {
    let written = commands.env.iter().flatten();
    let values = written.map(|(name, value)| Ok(secret::look_up(value, secrets)?.map(|value| (name.clone(), value))));
    values.filter_map(Result::transpose).collect()
}

/// Looks whether a shell can start within the limits.
fn enough(limits: &CommandLimits) -> Result<(), Fault> {
    const KIB: u64 = 1024;
    let times = [("time_limit", limits.time), ("cpu_limit", limits.cpu)];
    for (key, found) in times {
        if found < Duration::from_millis(100) {
            return Err(Fault::LimitTooSmall { key, found: format!("\"{} ms\"", found.as_millis()), least: "100 ms" });
        }
    }
    let sizes = [
        ("memory_limit", limits.memory, 16 * 1024 * KIB, "16 MiB"),
        ("output_limit", limits.output, KIB, "1 KiB"),
        ("file_limit", limits.file, 4 * KIB, "4 KiB"),
        ("tmp_limit", limits.tmp, 64 * KIB, "64 KiB"),
        ("staged_limit", limits.staged, 64 * KIB, "64 KiB"),
    ];
    for (key, found, least, written) in sizes {
        if found < least {
            return Err(Fault::LimitTooSmall { key, found: format!("\"{found} B\""), least: written });
        }
    }
    for (key, found, least, written) in
        [("process_limit", limits.processes, 4, "4"), ("open_limit", limits.open, 16, "16")]
    {
        if found < least {
            return Err(Fault::LimitTooSmall { key, found: found.to_string(), least: written });
        }
    }
    Ok(())
}

fn limits(commands: &Commands) -> CommandLimits {
    let default = CommandLimits::default();
    CommandLimits {
        time: commands.time_limit.as_ref().map_or(default.time, |limit| limit.0),
        cpu: commands.cpu_limit.as_ref().map_or(default.cpu, |limit| limit.0),
        memory: commands.memory_limit.as_ref().map_or(default.memory, |limit| limit.0),
        output: commands.output_limit.as_ref().map_or(default.output, |limit| limit.0),
        processes: commands.process_limit.unwrap_or(default.processes),
        file: commands.file_limit.as_ref().map_or(default.file, |limit| limit.0),
        tmp: commands.tmp_limit.as_ref().map_or(default.tmp, |limit| limit.0),
        open: commands.open_limit.unwrap_or(default.open),
        staged: commands.staged_limit.as_ref().map_or(default.staged, |limit| limit.0),
    }
}

/// Looks whether the prefix of a Workspace leaves room for the system of a command.
pub(crate) fn leaves_room(workspace: &Workspace) -> Result<(), Fault> {
    let prefix = workspace.prefix().as_str();
    if prefix == EVICTED || prefix.starts_with("/evicted/") {
        return Err(Fault::ReservedPrefix(prefix.to_owned()));
    }
    let first = prefix.split('/').nth(1).unwrap_or_default();
    if SYSTEM.contains(&first) || first == "tmp" {
        return Err(Fault::SystemPrefix { prefix: prefix.to_owned(), name: first.to_owned() });
    }
    Ok(())
}

/// What has to be so on the disk for a command to run.
pub(crate) struct Needs {
    host: Host,
    places: Arc<Places>,
    tools: Vec<PathBuf>,
    /// The directory of a Workspace at the top, on which the system of a command would lie.
    ground: Option<PathBuf>,
}

impl Needs {
    pub(crate) fn new(settings: &CommandSettings, workspaces: &[Workspace], host: &Host, places: &Arc<Places>) -> Self {
        let top = workspaces.iter().find(|workspace| workspace.prefix().as_str() == "/");
        Self {
            host: host.clone(),
            places: Arc::clone(places),
            tools: settings.tools.clone(),
            ground: top.and_then(Workspace::host_directory).map(ToOwned::to_owned),
        }
    }

    /// What is missing now.
    pub(crate) fn missing(&self) -> Vec<Fault> {
        self.tools.iter().filter_map(|tool| self.tool(tool).err()).chain(self.ground()).collect()
    }

    fn tool(&self, path: &Path) -> Result<(), Fault> {
        let Way { end, links, .. } = Way::of(path);
        let named = || self.host.named(path);
        // What it is now decides, and not how it is called.
        if self.host.in_system_root(&end) || self.host.holds_system_root(&end) {
            return Err(Fault::ToolInSystemRoot(named()));
        }
        if let Some(link) = self.places.planted(&links) {
            return Err(Fault::ToolByLink { tool: named(), link: link.display().to_string() });
        }
        if end.exists() { Ok(()) } else { Err(Fault::NoSuchTool(named())) }
    }

    fn ground(&self) -> Option<Fault> {
        let ground = self.ground.as_ref()?;
        let name = SYSTEM.iter().chain(&["tmp"]).find(|name| ground.join(name).symlink_metadata().is_ok())?;
        Some(Fault::SystemPrefix { prefix: "/".to_owned(), name: (*name).to_owned() })
    }
}

/// Runs commands while what they need is there.
pub(crate) struct Careful {
    pub(crate) runner: Arc<dyn CommandRunner>,
    pub(crate) needs: Needs,
}

impl CommandRunner for Careful {
    fn denied_word(&self, command: CommandLine<'_>, deny: &[String]) -> Option<String> {
        self.runner.denied_word(command, deny)
    }

    fn run(&self, call: &Call<'_>, spec: &CommandSpec<'_>, out: OutputSink<'_>) -> Result<Ran, NotRun> {
        match self.needs.missing().first() {
            Some(fault) => Err(not_run(fault)),
            None => self.runner.run(call, spec, out),
        }
    }

    fn making(&self, call: CallId) -> Option<Box<dyn Any>> {
        self.runner.making(call)
    }

    fn cut_off(&self) -> Vec<Box<dyn CutOff>> {
        self.runner.cut_off()
    }
}

/// Why no command runs, without a path of the host.
fn not_run(fault: &Fault) -> NotRun {
    let why = match fault {
        Fault::SystemPrefix { name, .. } => {
            format!("\"/{name}\" is in a Workspace, and a command has its system there")
        }
        _ => "a place that the configuration names under tools cannot be used".to_owned(),
    };
    NotRun::Cannot { why, remedy: Some("`paddock check` says what is wrong".to_owned()) }
}
