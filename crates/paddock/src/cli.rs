//! The command line as people write it: one declarative row per command and option.
//!
//! Help, man pages and completions derive from what stands here. It only describes; each command's own file
//! under `commands` does the work.

mod approvals;
mod connect;
mod forks;
mod instance;
mod projects;
mod run;
mod serve;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueHint};
use paddock_core::AgentName;
use paddock_desk::Places;
use tracing::Level;

use crate::secrets;

pub(crate) use approvals::{ApprovalEdit, Approvals};
pub(crate) use connect::{ClientName, Connect};
pub(crate) use forks::{Apply, Diff, Discard, Fork, Keep, Resolve};
pub(crate) use instance::{Instance, InstanceExport, InstanceImport, InstanceList, InstanceMessages};
pub(crate) use projects::{ExportFormat, ExportProject, ImportProject, New, Projects, Publish, Share};
pub(crate) use run::{How, Resume, Run, Threads};
pub(crate) use serve::{LogFormat, Login, Serve, Token};

const ABOUT: &str = "Bounded Workspaces for AI agents";

const LONG_ABOUT: &str = "Bounded Workspaces for AI agents.

A person says in paddock.toml which directories an agent perceives and with which Access Scope; every file \
operation of the agent goes through that one policy.";

const AFTER: &str = "Exit codes:
  0  done
  1  denied by the policy, or failed
  2  wrong usage, or a configuration with problems
  3  a person has to decide first

Begin with:
  paddock serve --init  set up the project in this directory and open its console
  paddock demo          see what an agent may and may not do
  paddock mcp           serve the agent's tools to an MCP client";

const STYLES: Styles =
    Styles::styled().header(AnsiColor::Green.on_default().bold()).literal(AnsiColor::Cyan.on_default());

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "paddock", version, about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER, styles = STYLES)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = "Options of every command")]
    pub(crate) global: Global,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The System Root, where state is kept [default: $PADDOCK_HOME, or ~/.paddock]
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,

    /// The configuration [default: the nearest paddock.toml, here or above]
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// An agent of the configuration [default: main; all for approvals, audit, check, doctor, log]
    #[arg(long, value_name = "NAME", global = true, value_parser = agent_name)]
    pub(crate) agent: Option<AgentName>,

    /// What is told on standard error: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(crate) log: Option<Level>,
}

impl Global {
    /// The System Root where it is not the usual one, for whoever starts Paddock later and without this environment.
    pub(crate) fn home_elsewhere(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os("PADDOCK_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        self.home.clone().or_else(variable)
    }

    /// Where the project is.
    pub(crate) fn places(&self) -> Places {
        Places { home: self.home.clone(), config: self.config.clone(), secrets: secrets::of_this_process() }
    }

    /// The agent that is meant where none is named.
    pub(crate) fn agent(&self) -> AgentName {
        self.agent.clone().unwrap_or_else(AgentName::main)
    }
}

fn agent_name(text: &str) -> Result<AgentName, paddock_core::BadAgentName> {
    AgentName::parse(text)
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up a project: write paddock.toml, its schema, and the directory that agents may write
    Init(Init),
    /// Connect an agent program: write its MCP entry, and switch off its own file and shell tools
    Connect(Connect),
    /// Serve the console, the API and MCP over HTTP
    Serve(Serve),
    /// Print a new link to sign in to the console with
    Login(Login),
    /// Make, list and end the tokens that agents and programs come in with over HTTP
    #[command(subcommand)]
    Token(Token),
    /// Serve the agent's tools to an MCP client over standard input and output
    Mcp(Mcp),
    /// Call one tool exactly as the agent would
    Tool(Tool),
    /// Run a command in the agent's sandbox: its Workspaces at their paths, with their scopes, and nothing else
    Exec(Exec),
    /// Show what the agent perceives
    Map(Map),
    /// Explain what the policy says about an operation on a path
    Why(Why),
    /// Show what happened to a path, or the last calls that changed something
    Log(Log),
    /// Take back what a call changed: the last one of the agent, or one by its id
    Undo(Undo),
    /// Bring a path back to what it held at an earlier moment
    Restore(Restore),
    /// Let an agent work on a task: it plans, works step by step, and asks you before what is risky
    Run(Run),
    /// Go on with a run exactly where it stopped
    Resume(Resume),
    /// Look at the runs there are: list, show, fork, cancel, replay
    #[command(subcommand)]
    Threads(Threads),
    /// Decide about the calls that wait for a person: list, show, approve, edit, reject, grants, revoke
    #[command(subcommand)]
    Approvals(Approvals),
    /// Look into the audit of every call: the last rows, a query, a check, an export
    #[command(subcommand)]
    Audit(Audit),
    /// Copy the project's state into a new directory while agents go on working
    Backup(Backup),
    /// Make a fork of a Workspace: the agent works on a copy at /forks/NAME, and a person applies it
    Fork(Fork),
    /// Show what a fork or an overlay changes of what it stands on
    Diff(Diff),
    /// Take over what a fork or an overlay changed into what it stands on: all of it, or nothing
    Apply(Apply),
    /// Make both sides of a conflict agree: keep what the fork holds, or what the Workspace holds
    Resolve(Resolve),
    /// Remove a fork, or empty an overlay
    Discard(Discard),
    /// Show the agent's whole view as a file system on a directory, until Ctrl-C
    Mount(Mount),
    /// Show what each Workspace holds and how much it may
    Quota(Quota),
    /// Show the projects in the read-write Workspaces of an agent, and how much each holds
    Projects(Projects),
    /// Start a project from a template
    New(New),
    /// Take a project in: a Zip, a Git bundle or a Git repository
    Import(ImportProject),
    /// Take a project home: as a Zip, a Git bundle or a repository, or by a push to one
    Export(ExportProject),
    /// Publish a project under a link of its own, until it ends
    Publish(Publish),
    /// List the links to published projects, and end them
    #[command(subcommand)]
    Share(Share),
    /// Look at the conversations of agents and care for them: list, show, messages, restart, delete, repair, export, import
    #[command(subcommand)]
    Instance(Instance),
    /// Check the configuration: problems, agents, and what looks like a slip
    Check(Check),
    /// Look for what could keep Paddock from working here
    Doctor(Doctor),
    /// Show or change the configuration, or with --user your own settings of the command line
    #[command(subcommand)]
    Config(Config),
    /// Keep keys and passwords encrypted, for paddock.toml to name as { secret = "NAME" }
    #[command(subcommand)]
    Secret(Secret),
    /// Play a sample project through a real MCP connection: denials, an approval, a fork, an undo
    Demo(Demo),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print the manual page, or write all of them to a directory
    Man(Man),
}

/// `paddock init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The project's directory
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// The project's name [default: the directory's]
    #[arg(long)]
    pub(crate) name: Option<String>,
}

/// `paddock mcp`
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serve these directories instead of a configuration, each at /<its name>: read-write, or read-only with
    /// ":ro", or write-only with ":wo"
    #[arg(value_name = "DIR[:ro|:wo]", conflicts_with = "config", value_hint = ValueHint::DirPath)]
    pub(crate) dirs: Vec<String>,
}

/// `paddock tool`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  paddock tool read_file '{\"path\": \"src/App.tsx\"}'

Exit codes: 0 done, 1 denied or failed, 2 unknown tool or wrong arguments, 3 a person has to decide first.")]
pub(crate) struct Tool {
    /// The tool's name
    pub(crate) name: String,

    /// Its arguments as a JSON object; "-" reads them from standard input
    #[arg(default_value = "{}", value_name = "JSON")]
    pub(crate) arguments: String,

    /// Print the verdict, the content and the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock exec`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock exec -- ls -la
  paddock exec --workspace /project/workspace/app -- npm test
  paddock exec 'grep -rn TODO . | sort'
  paddock exec --timeout 3600 -- python3 agent.py < tasks.jsonl

What the command changed is looked at when it ends, and kept as a whole or not at all; `paddock undo` takes it back.
Exit codes: the command's own; 3 held for a person, 125 refused or not started.")]
pub(crate) struct Exec {
    /// The read-write Workspace to run it in, or a directory inside of one, which is then all it sees of it
    /// [default: the first one]
    #[arg(long, value_name = "PATH")]
    pub(crate) workspace: Option<String>,

    /// The most seconds it may take, also more than agents are allowed [default: time_limit of the configuration]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,

    /// Pass on what is typed at the terminal; a pipe or a file is always passed on
    #[arg(short, long)]
    pub(crate) interactive: bool,

    /// Print what came of it as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// A program with its arguments, or one text for the shell
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// `paddock map`
#[derive(Debug, Args)]
pub(crate) struct Map {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock why`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  paddock why write src/App.tsx

Exit codes: 0 allowed, 1 denied.")]
pub(crate) struct Why {
    /// read, list, find, search, write, append, edit, make_dir, move, move_to or delete; a tool's name will do too,
    /// and so will make
    #[arg(value_name = "OP")]
    pub(crate) operation: String,

    /// The path as the agent writes it
    pub(crate) path: String,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock log`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  paddock log notes/plan.md

Without a PATH: the calls of every agent, or of the one that --agent names.")]
pub(crate) struct Log {
    /// A file or a directory, as the agent writes it
    pub(crate) path: Option<String>,

    /// The most that is shown
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) limit: NonZeroUsize,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock undo`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock undo            the last call of the agent that still stands
  paddock undo 01kbx3     the call whose id begins so; an undo can be undone too

Exit codes: 0 undone, 1 refused because something newer is in the way, or failed.")]
pub(crate) struct Undo {
    /// The id of a call, or its beginning [default: the agent's last call that is not undone]
    pub(crate) call: Option<String>,

    /// Only say what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock restore`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock restore notes/plan.md --at '10 min ago'
  paddock restore notes --at '2026-11-15 12:30'
  paddock restore notes --at 01kbx3     as this call left it")]
pub(crate) struct Restore {
    /// A file or a directory, as the agent writes it
    pub(crate) path: String,

    /// When: a time, the id of a call, or the version that a file had
    #[arg(long, value_name = "TIME|CALL")]
    pub(crate) at: String,

    /// Only say what would change
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Print the last rows
    Tail {
        /// How many
        #[arg(short, value_name = "N", default_value_t = 20)]
        n: usize,
        /// Go on with the rows that come, until it is stopped
        #[arg(short, long)]
        follow: bool,
        /// Print as JSON; with --follow, one row per line
        #[arg(long)]
        json: bool,
    },
    /// Print the rows that fit, the oldest first; --agent holds here too
    Query(Box<AuditQuery>),
    /// Check every signature: rows that were changed, removed, reordered or cut off
    Verify {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write every row as one line of JSON
    Export {
        /// A new file [default: standard output]
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Take the audit as it is, after you put back an older copy yourself; that you did is kept in it
    Accept,
    /// Remove the rows of processes that ended before a moment; that you did, and how many, is kept in it
    Prune {
        /// A moment, such as '90 days ago' or 2026-11-01
        #[arg(long, value_name = "TIME")]
        before: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// `paddock audit query`
#[derive(Debug, Args)]
pub(crate) struct AuditQuery {
    /// The own acts of this person, as the rows name them
    #[arg(long, value_name = "PERSON")]
    pub(crate) by: Option<String>,

    /// In this Workspace
    #[arg(long, value_name = "PREFIX")]
    pub(crate) workspace: Option<String>,

    /// Of this path and what is below it
    #[arg(long)]
    pub(crate) path: Option<String>,

    /// With this outcome: done, denied, failed, invalid, parked or lost
    #[arg(long)]
    pub(crate) outcome: Option<String>,

    /// Of this tool, or of this command of a person
    #[arg(long)]
    pub(crate) tool: Option<String>,

    /// Not before this moment
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Not after this moment
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Of this call, by its whole id, or by its beginning where it changed something
    #[arg(long)]
    pub(crate) call: Option<String>,

    /// The most that is shown
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) limit: NonZeroUsize,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock backup`
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// A directory that is not there yet, or is empty; not where agents can read
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// `paddock mount`
#[derive(Debug, Args)]
#[command(
    after_help = "Read-only it shows exactly what the agent sees. With --write it is yours: every scope counts as
read-write, hidden and guarded names still hold, and each file that is closed is one call that
`paddock log` shows and `paddock undo` takes back.

Example:
  mkdir /tmp/view && paddock mount /tmp/view"
)]
pub(crate) struct Mount {
    /// An empty directory outside of the project
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// Let what is changed there change the Workspaces
    #[arg(long)]
    pub(crate) write: bool,

    /// Print what is mounted where as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock quota`
#[derive(Debug, Args)]
pub(crate) struct Quota {
    /// One Workspace [default: all of the agent]
    pub(crate) workspace: Option<String>,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock check`
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The settings of a person, for the help of what changes them.
fn user_keys() -> String {
    let row = |key: &paddock_config::UserKey| format!("\n  {:<9} {}: {}", key.name, key.says, key.values.join(", "));
    let rows: String = paddock_config::USER_KEYS.iter().map(row).collect();
    format!("With --user, in config.json of the System Root; the first value is the default:{rows}")
}

/// `paddock config`
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every key that is set
    Show {
        /// Say where each key was written
        #[arg(long)]
        origin: bool,
        /// Your own settings, in every project
        #[arg(long)]
        user: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the value of one key
    #[command(after_help = user_keys())]
    Get {
        /// The key: name, commands.deny, workspace[0].scope
        key: String,
        /// Of your own settings, in every project
        #[arg(long)]
        user: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Change one key; comments and everything else stay as they are
    #[command(after_help = user_keys())]
    Set {
        /// The key: name, commands.deny, workspace[0].scope
        key: String,
        /// Its value, as TOML or as plain text
        value: String,
        /// Of your own settings, in every project
        #[arg(long)]
        user: bool,
    },
    /// Take one key away
    #[command(after_help = user_keys())]
    Unset {
        /// The key: name, commands.deny, workspace[0].hide
        key: String,
        /// Of your own settings, in every project
        #[arg(long)]
        user: bool,
    },
    /// Print the JSON Schema of paddock.toml
    Schema,
}

/// `paddock secret`
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Store a value: from standard input, or typed unseen, never as an argument
    Set {
        /// The name to store it under: 1 to 64 letters, digits, ".", "_" or "-"
        name: String,
        /// Taken only to be refused: what stands here is in the shell's history.
        #[arg(hide = true, allow_hyphen_values = true)]
        value: Vec<std::ffi::OsString>,
        /// Take the value from this variable
        #[arg(long, value_name = "VAR", conflicts_with = "from_file")]
        from_env: Option<String>,
        /// Take the value from this file
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        from_file: Option<PathBuf>,
    },
    /// Show which secrets there are and when each was stored, never a value
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove secrets
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Encrypt all of them anew under a new key, and take the old key away
    Rotate {
        /// Let a passphrase open them from now on
        #[arg(long, conflicts_with = "key_file")]
        passphrase: bool,
        /// Let a key in a file of the System Root open them from now on
        #[arg(long)]
        key_file: bool,
    },
}

/// `paddock demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Then open the console on the sample project, where a call waits for you and a fork can be applied
    #[arg(long)]
    pub(crate) serve: bool,

    /// The console's port; 0 takes a free one
    #[arg(long, requires = "serve", default_value_t = 0)]
    pub(crate) port: u16,

    /// Open the console in the browser
    #[arg(long, requires = "serve")]
    pub(crate) open: bool,

    /// Keep the sample project and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

/// `paddock completions`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock completions bash > ~/.local/share/bash-completion/completions/paddock
  paddock completions zsh > ~/.zfunc/_paddock     with ~/.zfunc in fpath
  paddock completions fish > ~/.config/fish/completions/paddock.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// `paddock man`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock man | man -l -
  paddock man ~/.local/share/man/man1     then `man paddock-apply`")]
pub(crate) struct Man {
    /// Write one page per command here instead of printing the first
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_description_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_may_stand_before_or_after_the_command() {
        for line in [["--agent", "x", "map"], ["map", "--agent", "x"]] {
            let cli = Cli::parse_from(["paddock"].into_iter().chain(line));
            assert_eq!(cli.global.agent().as_str(), "x");
        }
    }

    #[test]
    fn a_fork_may_be_for_several_agents() {
        for line in ["fork /w f --agent x --agent y", "--agent x fork /w f", "fork --list"] {
            let cli = Cli::parse_from(["paddock"].into_iter().chain(line.split(' ')));
            let Command::Fork(fork) = cli.command else { panic!("{line}") };
            let agents: Vec<&str> = fork.agent.iter().map(AgentName::as_str).collect();
            let named =
                line.split(' ').skip_while(|word| *word != "--agent").filter(|word| word.len() == 1 && *word != "f");
            assert_eq!(agents, named.collect::<Vec<_>>(), "{line}");
        }
    }
}
