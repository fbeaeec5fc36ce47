//! `paddock serve`, `login` and `token`: the console and who may come in.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// `paddock serve`
#[derive(Debug, Args)]
#[command(
    after_help = "The console, the API and MCP are served on one address, on this machine alone unless --bind says otherwise. \
Everybody needs a sign-in link or a token, whatever the address.

Example:
  paddock serve --init        set up this directory and open for work"
)]
pub(crate) struct Serve {
    /// The project's directory
    #[arg(value_hint = ValueHint::DirPath, conflicts_with = "config")]
    pub(crate) dir: Option<PathBuf>,

    /// Write paddock.toml first, where there is none
    #[arg(long)]
    pub(crate) init: bool,

    /// The port; 0 takes a free one [default: the configuration's, or 7433]
    #[arg(long)]
    pub(crate) port: Option<u16>,

    /// The address to listen on [default: the configuration's, or 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,

    /// A further name that this server is reached under, as in a browser's address bar (again for more)
    #[arg(long, value_name = "NAME[:PORT]")]
    pub(crate) host: Vec<String>,

    /// Open the console in the browser
    #[arg(long)]
    pub(crate) open: bool,

    /// Say where it listens as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// How the log on standard error is written
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One object per line, with its time
    Json,
}

/// `paddock login`
#[derive(Debug, Args)]
pub(crate) struct Login {
    /// Where the console listens, when it is not the usual place
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// End every session first: whoever is signed in needs a new link
    #[arg(long)]
    pub(crate) sign_everybody_out: bool,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock token`
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token; its secret is shown this once
    New(NewToken),
    /// List the tokens, never their secrets
    List(ListTokens),
    /// End a token now
    Revoke(RevokeToken),
}

/// `paddock token new`
#[derive(Debug, Args)]
pub(crate) struct NewToken {
    /// What to call it, after the program that will use it
    pub(crate) name: String,

    /// For the API instead of an agent
    #[arg(long)]
    pub(crate) api: bool,

    /// May only look; for the API
    #[arg(long, requires = "api")]
    pub(crate) read_only: bool,

    /// End by itself after so many days
    #[arg(long, value_name = "N")]
    pub(crate) days: Option<u32>,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock token list`
#[derive(Debug, Args)]
pub(crate) struct ListTokens {
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paddock token revoke`
#[derive(Debug, Args)]
pub(crate) struct RevokeToken {
    /// Its id, as `paddock token list` shows it
    pub(crate) id: String,
}
