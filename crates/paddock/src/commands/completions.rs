//! `paddock completions`: what a shell needs to complete this command line.

use clap::CommandFactory as _;

use crate::cli::{Cli, Completions};
use crate::failure::Ended;
use crate::printer::Printer;

pub(crate) fn run(options: &Completions, printer: &Printer) -> anyhow::Result<Ended> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "paddock", &mut script);
    printer.text(&String::from_utf8_lossy(&script))?;
    Ok(Ended::Done)
}
