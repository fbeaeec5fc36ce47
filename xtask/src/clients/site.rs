//! A server over HTTP for the length of a test, on a port that it picks: `paddock serve` with a token, or the example program of
//! `paddock-mcp`, with what the conformance suite wants to find.
//!
//! Owns its start and its end. It must never outlive who started it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
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

    /// A person's session: the cookie that a browser keeps, once it was at a link that signs in.
    pub(crate) fn session(&self, paddock: &Path, project: &Path, system: &Path) -> Result<String> {
        let told = process::captured(of_project(paddock, project, system).args(["login", "--json"]), HANG)?;
        let told: Value = serde_json::from_str(&told.stdout).context("no link to sign in with")?;
        let link = told["sign_in"].as_str().context("no link to sign in with")?;
        let path = link.strip_prefix(self.address()).context("the link leads elsewhere")?;
        let answer = self.get(path, "accept: */*")?;
        cookie(&answer).with_context(|| format!("no cookie came: {answer}"))
    }

    /// What is at a path, with the head of the answer; asked for with one more line.
    pub(crate) fn get(&self, path: &str, line: &str) -> Result<String> {
        let host = self.address().trim_start_matches("http://");
        let mut stream = TcpStream::connect(host)?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n{line}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Where the server is, without the place of MCP.
    pub(crate) fn address(&self) -> &str {
        self.url.strip_suffix("/mcp").unwrap_or(&self.url)
    }

    /// What the conformance suite expects to find.
    pub(crate) fn of_fixtures(program: &Path) -> Result<Self> {
        Self::start(&mut Command::new(program), as_it_is)
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

/// The cookie that an answer sets, with its name.
fn cookie(answer: &str) -> Option<String> {
    let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "))?;
    set.split(';').next().map(str::to_owned)
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
    fn the_cookie_of_an_answer_is_found() {
        let answer = "HTTP/1.1 303 See Other\r\nset-cookie: session_1=abc; Path=/; HttpOnly\r\n\r\n";
        assert_eq!(cookie(answer).as_deref(), Some("session_1=abc"));
        assert_eq!(cookie("HTTP/1.1 403 Forbidden\r\n\r\n"), None);
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
