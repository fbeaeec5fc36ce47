//! The `paddock` command line: wires the crates together and holds no logic of its own.
//!
//! `cli` says what can be asked, one file under `commands` does each, `failure` turns errors into words and exit
//! codes, `printer` owns standard output, `log` standard error, `project` finds the configuration and the agent's policy, `past`
//! what it did before.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cli;
mod commands;
mod failure;
mod host;
mod layered;
mod log;
mod moment;
mod past;
mod printer;
mod project;
mod unified;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;
use crate::printer::Printer;

fn main() -> ExitCode {
    // Wrong usage ends here, with exit code 2.
    let cli = Cli::parse();
    log::start(cli.global.log);
    let ended = commands::run(&cli, &Printer::for_stdout()).unwrap_or_else(|error| {
        let (text, ended) = failure::report(&error);
        printer::tell(text);
        ended
    });
    ended.into()
}
