//! `cargo xtask postgres`: a command with a PostgreSQL server beside it, as the tests have one.
//!
//! Owns the server that the suites share: started once, found by the tests through one variable, and gone with the
//! run, however that ends. Its data is thrown away, so it does not wait for the disk.

mod install;
mod server;

use std::process::Command;

use anyhow::{Context, Result, bail};

pub(crate) use install::{program, programs};
pub(crate) use server::{Server, is_superuser};

use crate::process;
use crate::repo::Repo;
use crate::test::Fetch;

/// Shown by `cargo xtask postgres --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask postgres -- COMMAND…

Runs COMMAND from the top of the repository with PADDOCK_TEST_POSTGRES set to the url
of a fresh server, for example `cargo xtask postgres -- cargo nextest run -p paddock-db`.
Installs what is missing with apt-get. The server is gone afterwards.
";

/// What is installed for it.
pub(crate) const FETCH: &[Fetch] = &[|repo| programs(repo).map(drop)];

/// Where tests look for the server.
pub(crate) const VARIABLE: &str = "PADDOCK_TEST_POSTGRES";

/// Runs a command beside a server; true when it succeeded.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let words = args.strip_prefix(&["--".to_owned()]).unwrap_or(args);
    let Some((program, rest)) = words.split_first() else {
        bail!("postgres needs a command\nhint: `cargo xtask postgres --help`");
    };
    programs(repo)?;
    let server = Server::start()?;
    let mut command = Command::new(program);
    command.args(rest).current_dir(repo.top()).env(VARIABLE, server.url());
    let status = command.status().with_context(|| format!("cannot start `{}`", process::shown(&command)))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_needed() {
        for args in [vec![], vec!["--".to_owned()]] {
            assert!(run(&Repo::here(), &args).unwrap_err().to_string().contains("needs a command"));
        }
    }
}
