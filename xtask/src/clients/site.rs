//! A server over HTTP for the length of a test, on a port that it picks: `paddock serve` with a token, or the example program of
//! `paddock-mcp`, for the conformance suite, which sends no token.
//!
//! Owns its start and its end. It must never outlive who started it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process;

/// Where scripts find the token.
pub(crate) const TOKEN_VARIABLE: &str = "PADDOCK_TEST_TOKEN";
/// Making a token takes a moment; past this it hangs.
const HANG: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub(crate) struct Site {
    child: Child,
    url: String,
    token: String,
}

impl Site {
    /// `paddock serve` on a project, with a token of its agent `main`.
    pub(crate) fn of_project(paddock: &Path, project: &Path, system: &Path) -> Result<Self> {
        let token = make_token(paddock, project, system, &[])?;
        let mut site =
            Self::start(of_project(paddock, project, system).args(["serve", "--port", "0", "--json"]), |line| {
                let told: Value = serde_json::from_str(line).ok()?;
                Some(told["mcp"].as_str()?.to_owned())
            })?;
        site.token = token;
        Ok(site)
    }

    /// A token that opens the API of a project.
    pub(crate) fn token_of_api(paddock: &Path, project: &Path, system: &Path) -> Result<String> {
        make_token(paddock, project, system, &["--api"])
    }

    /// Where the server is, without the place of MCP.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_suffix("/mcp").unwrap_or(&self.url)
    }

    /// Paddock's tools for anybody: the agent `main` of a configuration.
    pub(crate) fn of_tools(program: &Path, config: &Path, system: &Path) -> Result<Self> {
        Self::start(Command::new(program).arg("tools").arg(config).arg(system), as_it_is)
    }

    /// What the conformance suite expects to find.
    pub(crate) fn of_fixtures(program: &Path) -> Result<Self> {
        Self::start(Command::new(program).arg("fixtures"), as_it_is)
    }

    /// Starts it and reads from its first line where it is.
    fn start(command: &mut Command, url: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.with_context(|| format!("`{}` does not start", process::shown(command)))?;
        let mut site = Self { child, url: String::new(), token: String::new() };
        let output = site.child.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        // It says where it is, or ends.
        BufReader::new(output).read_line(&mut line)?;
        let found = url(line.trim()).filter(|url| url.starts_with("http://"));
        site.url = found.with_context(|| format!("`{}` said {line:?}, not where it is", process::shown(command)))?;
        Ok(site)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

fn of_project(paddock: &Path, project: &Path, system: &Path) -> Command {
    let mut command = Command::new(paddock);
    command.arg("--home").arg(system).current_dir(project).env_remove("PADDOCK_HOME");
    command
}

fn make_token(paddock: &Path, project: &Path, system: &Path, more: &[&str]) -> Result<String> {
    let made =
        process::captured(of_project(paddock, project, system).args(["token", "new", "clients"]).args(more), HANG)?;
    ensure!(made.status.success(), "no token could be made: {}", made.stderr.trim());
    Ok(made.stdout.trim().to_owned())
}

fn as_it_is(line: &str) -> Option<String> {
    Some(line.to_owned())
}

impl Drop for Site {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_server_that_does_not_say_where_it_is_is_an_error() {
        let error = Site::start(&mut shell("echo somewhere"), as_it_is).unwrap_err();
        assert!(error.to_string().contains("somewhere"), "{error}");
    }

    #[test]
    fn a_server_ends_with_its_test() {
        let site = Site::start(&mut shell("echo http://127.0.0.1:1/mcp; exec sleep 600"), as_it_is).unwrap();
        let process = format!("/proc/{}/stat", site.child.id());
        assert!(Path::new(&process).exists());
        drop(site);
        assert!(!Path::new(&process).exists());
    }
}
