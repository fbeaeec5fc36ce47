//! `paddock projects`, `new`, `import`, `export`, `publish` and `share`: projects in a read-write Workspace.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// `paddock projects`
#[derive(Debug, Args)]
pub(crate) struct Projects {
    /// The most that is shown
    #[arg(short, value_name = "N", default_value_t = paddock_desk::projects::USUAL)]
    pub(crate) n: usize,

    /// Behind this project
    #[arg(long, value_name = "PATH")]
    pub(crate) after: Option<String>,

    /// Print them as JSON, with the Workspaces that they are in
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock new`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock new --list
  paddock new vanilla /project/workspace/site

Nothing may be at the path yet. `paddock undo` takes it back.")]
pub(crate) struct New {
    /// The template, as `--list` shows it
    #[arg(required_unless_present = "list")]
    pub(crate) template: Option<String>,

    /// Where to, as the agent perceives it
    #[arg(required_unless_present = "list")]
    pub(crate) path: Option<String>,

    /// List the templates there are
    #[arg(long, conflicts_with_all = ["template", "path"])]
    pub(crate) list: bool,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock import site.zip /project/workspace/site
  paddock import https://host/team/app.git /project/workspace/app --branch main --secret git-token

All of it comes in, or nothing does; `paddock undo` takes it back.")]
pub(crate) struct ImportProject {
    /// A Zip, a Git bundle, or the path or address of a Git repository
    pub(crate) source: String,

    /// Where to, as the agent perceives it
    pub(crate) path: String,

    /// Also over what is there: files of the same name are replaced, all others stay
    #[arg(long)]
    pub(crate) merge: bool,

    /// Leave out what may not be written, instead of refusing the whole
    #[arg(long)]
    pub(crate) leave_out_denied: bool,

    /// Take in what is in the one directory that everything in the Zip is in
    #[arg(long)]
    pub(crate) unwrap: bool,

    /// The branch [default: the repository's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,

    #[command(flatten)]
    pub(crate) opens: Opens,

    /// Print what came in as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What opens a remote.
#[derive(Debug, Args)]
pub(crate) struct Opens {
    /// The secret whose value opens the remote
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Option<String>,

    /// The user name that goes with it [default: git]
    #[arg(long, value_name = "NAME", requires = "secret")]
    pub(crate) user: Option<String>,
}

/// As what a project goes home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A Zip
    Zip,
    /// A Git bundle, which `git clone` takes
    Bundle,
    /// A bare Git repository, as a new directory
    Repository,
}

/// `paddock export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  paddock export /project/workspace/site
  paddock export /project/workspace/site --format bundle --output site.bundle
  paddock export /project/workspace/site --push https://host/team/site.git --branch main --secret git-token

Hidden names never leave, and what .gitignore files name stays unless it is asked for.")]
pub(crate) struct ExportProject {
    /// The project, as the agent perceives it
    pub(crate) path: String,

    /// As what it is written
    #[arg(long, default_value = "zip", conflicts_with = "push")]
    pub(crate) format: ExportFormat,

    /// Where to; "-" is standard output [default: its name, in this directory]
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "push")]
    pub(crate) output: Option<PathBuf>,

    /// Also what its .gitignore files name
    #[arg(long)]
    pub(crate) include_ignored: bool,

    /// Push it to a Git remote instead, as one commit on top of the branch
    #[arg(long, value_name = "URL")]
    pub(crate) push: Option<String>,

    /// The branch to push to [default: main]
    #[arg(long, value_name = "NAME", requires = "push")]
    pub(crate) branch: Option<String>,

    #[command(flatten)]
    pub(crate) opens: Opens,

    /// Print what went out as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock publish`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  paddock publish /project/workspace/site --days 3 --max-uses 20

Whoever has the link may look while `paddock serve` runs. Hidden names are never shown.")]
pub(crate) struct Publish {
    /// The project, as the agent perceives it
    pub(crate) path: String,

    /// What to call it [default: the project's name]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// After how many days it ends
    #[arg(long, value_name = "N", default_value_t = paddock_desk::shares::USUAL_DAYS)]
    pub(crate) days: u32,

    /// Ask for a password, which visitors have to type
    #[arg(long, conflicts_with = "password_secret")]
    pub(crate) password: bool,

    /// The secret whose value is the password
    #[arg(long, value_name = "NAME")]
    pub(crate) password_secret: Option<String>,

    /// How many visitors may come
    #[arg(long, value_name = "N")]
    pub(crate) max_uses: Option<u32>,

    /// Where the console listens, when it is not the usual place
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock share`
#[derive(Debug, Subcommand)]
pub(crate) enum Share {
    /// List the shares, with their links
    List(ListShares),
    /// End a share now
    Revoke(RevokeShare),
}

/// `paddock share list`
#[derive(Debug, Args)]
pub(crate) struct ListShares {
    /// Where the console listens, when it is not the usual place
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock share revoke`
#[derive(Debug, Args)]
pub(crate) struct RevokeShare {
    /// Its id, or the first 8 digits of it
    pub(crate) id: String,
}
