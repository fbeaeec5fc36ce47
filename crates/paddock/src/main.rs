//! The `paddock` command line: wires the crates together and holds no logic of its own.
//!
//! `cli` says what can be asked, one file under `commands` does each, `failure` turns errors into words and exit
//! codes, `printer` owns standard output, `log` standard error, `secrets` keeps values out of all that is told, `settings` are the person's own, `serving` understands `paddock mcp` without the rest.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod cli;
mod commands;
mod failure;
mod host;
mod listening;
mod log;
mod printer;
mod progress;
mod rows;
mod secrets;
mod serving;
mod settings;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command, LogFormat};
use crate::failure::Ended;
use crate::printer::Printer;

fn main() -> ExitCode {
    let cli = match serving::understood(std::env::args_os()).map_or_else(Cli::try_parse, Ok) {
        Ok(cli) => cli,
        Err(error) => return misread(&error),
    };
    let format = match &cli.command {
        Command::Serve(serve) => serve.log_format,
        _ => LogFormat::default(),
    };
    let trouble = settings::start(cli.global.home.clone());
    let level = cli.global.log.unwrap_or_else(settings::log_level);
    log::start(level, format, secrets::start(cli.global.home.clone()));
    if let Some(trouble) = trouble.filter(|_| !matches!(cli.command, Command::Config(_))) {
        printer::tell(trouble);
    }
    let ended = commands::run(&cli, &Printer::for_stdout()).unwrap_or_else(|error| {
        let (text, ended) = failure::report(&error);
        printer::tell(text);
        ended
    });
    ended.into()
}

/// Wrong usage, or a question about usage. What was typed is repeated, and may hold a secret.
fn misread(error: &clap::Error) -> ExitCode {
    let secrets = secrets::start(secrets::home_in(std::env::args_os()));
    secrets.refresh();
    if secrets.redactor().is_empty() || !error.use_stderr() {
        error.exit();
    }
    printer::tell(error.render().to_string().trim_end());
    Ended::Misused.into()
}
