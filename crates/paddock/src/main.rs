//! The `paddock` command line: wires the crates together and holds no logic of its own.
//!
//! `cli` says what can be asked, one file under `commands` does each, `failure` turns errors into words and exit
//! codes, `printer` owns standard output, `project` finds the configuration and the agent's policy.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cli;
mod commands;
mod failure;
mod host;
mod printer;
mod project;

use std::process::ExitCode;

use clap::Parser as _;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::Cli;
use crate::printer::Printer;

fn main() -> ExitCode {
    // Wrong usage ends here, with exit code 2.
    let cli = Cli::parse();
    start_log(cli.global.log);
    let ended = commands::run(&cli, &Printer::for_stdout()).unwrap_or_else(|error| {
        let (text, ended) = failure::report(&error);
        printer::tell(text);
        ended
    });
    ended.into()
}

/// rmcp warns of each call that it refuses. Clients that never read standard error would stop the server with
/// those once the pipe is full, so they are told only to a person who asked for the calls.
fn start_log(level: Level) {
    let rmcp = if level > Level::WARN { level } else { Level::ERROR };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).without_time();
    let log = log.with_target(level > Level::INFO).finish();
    log.with(Targets::new().with_default(level).with_target("rmcp", rmcp)).init();
}
