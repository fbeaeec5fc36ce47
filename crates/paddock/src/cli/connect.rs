//! `paddock connect` as people write it: which client, what is written where, and the way back.

use clap::{Args, ValueEnum};

/// Where `paddock serve` answers where nothing else is said.
const ENDPOINT: &str = "http://127.0.0.1:7433/mcp";

const AFTER: &str = "Examples:
  paddock connect claude-code              show what would be written, and ask
  paddock connect codex --dry-run          only show it
  paddock connect cursor --undo            take back what was written
  paddock connect vscode --http            ask a running `paddock serve`

Exit codes: 0 done, or nothing to do; 1 not wanted, or failed; 2 a file that cannot be read as it should, or nobody who can be asked.";

/// `paddock connect`
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Connect {
    /// The agent program
    #[arg(value_enum)]
    pub(crate) client: ClientName,

    /// Take back what was written; what you changed since is kept
    #[arg(long)]
    pub(crate) undo: bool,

    /// Only show what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Connect to a running `paddock serve` instead of starting `paddock mcp`
    #[arg(long, conflicts_with = "undo")]
    pub(crate) http: bool,

    /// The MCP endpoint that `paddock serve` prints
    #[arg(long, requires = "http", default_value = ENDPOINT, value_parser = endpoint)]
    pub(crate) url: String,

    /// The variable that holds the token for --http; the token itself is never written [default: PADDOCK_TOKEN; VS
    /// Code asks for it once]
    #[arg(long, value_name = "NAME", requires = "http", value_parser = variable)]
    pub(crate) token_env: Option<String>,

    /// For this project [default]
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,

    /// For every project that you open with the client; it sees this project's Workspaces in all of them
    #[arg(long)]
    pub(crate) user: bool,

    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// What the client's hook runs before each of its tools: reads the tool from standard input and answers.
    #[arg(long, hide = true, conflicts_with_all = ["undo", "dry_run", "yes", "http", "user", "project", "json"])]
    pub(crate) hook: bool,
}

/// The agent programs whose files are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Anthropic's Claude Code
    ClaudeCode,
    #[value(help = "OpenAI's Codex")]
    Codex,
    /// The Cursor editor, and its command line
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
}

fn endpoint(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '$' | '{' | '}');
    match host {
        "" => Err("it has to begin with http:// or https:// and name a host".to_owned()),
        _ if host.contains('@') => Err("a name or password does not belong into it; see --token-env".to_owned()),
        _ if text.contains(odd) => Err("it holds a character that no address of an endpoint has".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn variable(text: &str) -> Result<String, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match text.chars().next() {
        Some(first) if !first.is_ascii_digit() && text.chars().all(is_word) => Ok(text.to_owned()),
        _ => Err("a variable's name has letters, digits and _, and does not begin with a digit".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_without_secrets_and_placeholders_are_endpoints() {
        assert!(endpoint("http://127.0.0.1:7777/mcp").is_ok());
        assert!(endpoint("https://paddock.example/mcp").is_ok());
        for wrong in [
            "",
            "127.0.0.1:7777",
            "ftp://x/mcp",
            "http://",
            "http://me:secret@host/mcp",
            "http://h/${X}",
            "http://h/ x",
        ] {
            assert!(endpoint(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_usual_endpoint_is_that_of_serve() {
        use crate::cli::{Cli, Command};
        use clap::Parser as _;
        let Command::Serve(serve) = Cli::parse_from(["paddock", "serve"]).command else { panic!("no serve") };
        assert_eq!((serve.bind, serve.port), (None, None));
        assert_eq!(ENDPOINT, format!("http://127.0.0.1:{}/mcp", crate::listening::PORT));
    }

    #[test]
    fn only_names_of_variables_are_taken() {
        assert!(variable("PADDOCK_TOKEN").is_ok());
        for wrong in ["", "1A", "A-B", "A}", "sk-secret"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }
}
