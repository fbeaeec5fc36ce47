//! What the benchmarks are told: where the programs are, what to measure and how long.
//!
//! `cargo xtask bench` fills in the programs. One that is missing is left out and the results say so.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::parts;

/// What a peer is called where it is missing.
pub(crate) mod peer {
    pub(crate) const RUST_MCP_FILESYSTEM: &str = "rust-mcp-filesystem";
    pub(crate) const OFFICIAL: &str = "server-filesystem (Node)";
    pub(crate) const RIPGREP: &str = "ripgrep";
    pub(crate) const AGENTFS: &str = "AgentFS";
    pub(crate) const LANGGRAPH: &str = "LangGraph";
    pub(crate) const POSTGRES: &str = "PostgreSQL";
    pub(crate) const BUBBLEWRAP: &str = "bubblewrap";
    pub(crate) const NPM_PACKAGE: &str = "the npm package";
}

/// The command line.
#[derive(Debug, Default, Clone)]
pub(crate) struct Options {
    pub(crate) paddock: Option<PathBuf>,
    pub(crate) rust_mcp_filesystem: Option<PathBuf>,
    pub(crate) node: Option<PathBuf>,
    pub(crate) official: Option<PathBuf>,
    pub(crate) ripgrep: Option<PathBuf>,
    /// AgentFS doing the work of Virtual Stores.
    pub(crate) agentfs: Option<PathBuf>,
    /// A Python that has LangGraph.
    pub(crate) python: Option<PathBuf>,
    /// LangGraph doing the work of conversations.
    pub(crate) langgraph: Option<PathBuf>,
    /// LangGraph doing the work of runs.
    pub(crate) langgraph_runs: Option<PathBuf>,
    /// Where the npm package is installed beside its peers and our scripts.
    pub(crate) npm_package: Option<PathBuf>,
    /// The url of a PostgreSQL server.
    pub(crate) postgres: Option<String>,
    /// What it is.
    pub(crate) postgres_version: Option<String>,
    /// Which peers could not be had, and why.
    pub(crate) missing: Vec<(String, String)>,
    /// The page that is written when everything was measured.
    pub(crate) page: Option<PathBuf>,
    /// The page that is written otherwise.
    pub(crate) draft: Option<PathBuf>,
    /// Only these parts.
    pub(crate) only: Vec<String>,
    /// A fifth of the rounds: to see that it runs, not to be believed.
    pub(crate) quick: bool,
}

impl Options {
    pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("\"{arg}\" wants a value"));
            match arg.as_str() {
                "--paddock" => options.paddock = Some(program(&value()?)?),
                "--rust-mcp-filesystem" => options.rust_mcp_filesystem = Some(program(&value()?)?),
                "--node" => options.node = Some(program(&value()?)?),
                "--official" => options.official = Some(program(&value()?)?),
                "--ripgrep" => options.ripgrep = Some(program(&value()?)?),
                "--agentfs" => options.agentfs = Some(program(&value()?)?),
                "--python" => options.python = Some(program(&value()?)?),
                "--langgraph" => options.langgraph = Some(program(&value()?)?),
                "--langgraph-runs" => options.langgraph_runs = Some(program(&value()?)?),
                "--npm-package" => options.npm_package = Some(program(&value()?)?),
                "--missing" => options.missing.push(named(&value()?)?),
                "--postgres" => options.postgres = Some(value()?),
                "--postgres-version" => options.postgres_version = Some(value()?),
                "--page" => options.page = Some(value()?.into()),
                "--draft" => options.draft = Some(value()?.into()),
                "--only" => options.only.push(part(value()?)?),
                "--quick" => options.quick = true,
                other => match other.strip_prefix("--only=") {
                    Some(name) => options.only.push(part(name.to_owned())?),
                    None => bail!("\"{other}\" is no option\nhint: --only PART and --quick are"),
                },
            }
        }
        Ok(options)
    }

    /// Is this part measured?
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// Why a peer is not there.
    pub(crate) fn why_missing(&self, peer: &str) -> &str {
        let told = self.missing.iter().find(|(name, _)| name == peer);
        told.map_or("it is not installed", |(_, why)| why)
    }

    /// Where the results of this run go.
    pub(crate) fn results(&self) -> Option<&PathBuf> {
        if self.is_whole() { self.page.as_ref() } else { self.draft.as_ref() }
    }

    /// Is this a run whose results go on the page?
    pub(crate) fn is_whole(&self) -> bool {
        self.only.is_empty() && !self.quick
    }

    pub(crate) fn rounds(&self, whole: usize) -> usize {
        if self.quick { (whole / 5).max(2) } else { whole }
    }
}

/// Where a program is from anywhere: servers are started in the project they serve. A bare name is looked up as ever.
fn program(name: &str) -> Result<PathBuf> {
    Ok(if name.contains('/') { std::path::absolute(name)? } else { PathBuf::from(name) })
}

fn part(name: String) -> Result<String> {
    let known: Vec<&str> = parts::PARTS.iter().map(|part| part.name).collect();
    if !known.contains(&name.as_str()) {
        bail!("there is no part \"{name}\"\nhint: the parts are {}", known.join(", "));
    }
    Ok(name)
}

/// `NAME=WHY`.
fn named(text: &str) -> Result<(String, String)> {
    let (name, why) = text.split_once('=').with_context(|| format!("\"{text}\" names no reason"))?;
    Ok((name.to_owned(), why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_run_of_a_part_or_a_short_one_is_not_whole() {
        assert!(parse("--paddock p").unwrap().is_whole());
        let part = parse("--only calls --only=search").unwrap();
        assert!(!part.is_whole() && part.wants("calls") && part.wants("search") && !part.wants("memory"));
        let quick = parse("--quick").unwrap();
        assert!(!quick.is_whole() && quick.rounds(30) == 6 && quick.wants("memory"));
    }

    #[test]
    fn only_a_whole_run_writes_the_page() {
        let whole = parse("--page docs/b.md --draft target/b.md").unwrap();
        assert_eq!(whole.results(), Some(&PathBuf::from("docs/b.md")));
        for more in ["--quick", "--only calls"] {
            let short = parse(&format!("--page docs/b.md --draft target/b.md {more}")).unwrap();
            assert_eq!(short.results(), Some(&PathBuf::from("target/b.md")), "{more}");
        }
    }

    #[test]
    fn a_missing_peer_has_its_reason() {
        let options = parse("--missing LangGraph=python3=is-not-here").unwrap();
        assert_eq!(options.why_missing(peer::LANGGRAPH), "python3=is-not-here");
        assert_eq!(options.why_missing(peer::AGENTFS), "it is not installed");
        assert!(parse("--missing LangGraph").is_err());
    }

    #[test]
    fn programs_are_found_from_anywhere() {
        let options = parse("--paddock release/paddock --node node").unwrap();
        assert!(options.paddock.unwrap().is_absolute());
        assert_eq!(options.node.unwrap(), PathBuf::from("node"));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["--fast", "--only everything", "--only=", "--page"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
