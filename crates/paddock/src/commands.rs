//! Every command, one file each.

mod apply;
mod approvals;
mod audit;
mod backup;
mod check;
mod completions;
mod config;
mod connect;
mod demo;
mod diff;
mod discard;
mod doctor;
mod exec;
mod export;
mod fork;
mod import;
mod init;
mod instance;
mod log;
mod login;
mod man;
mod map;
mod mcp;
mod mount;
mod new;
mod projects;
mod publish;
mod quota;
mod resolve;
mod restore;
mod run;
mod secret;
mod serve;
mod share;
mod threads;
mod token;
mod tool;
mod undo;
mod why;

use crate::cli::{Cli, Command};
use crate::failure::Ended;
use crate::printer::Printer;

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli, printer: &Printer) -> anyhow::Result<Ended> {
    let global = &cli.global;
    match &cli.command {
        Command::Init(options) => init::run(options, global, printer),
        Command::Connect(options) => connect::run(global, options, printer),
        Command::Serve(options) => serve::run(global, options, printer),
        Command::Login(options) => login::run(global, options, printer),
        Command::Token(options) => token::run(global, options, printer),
        Command::Mcp(options) => mcp::run(global, options),
        Command::Tool(options) => tool::run(global, options, printer),
        Command::Exec(options) => exec::run(global, options, printer),
        Command::Map(options) => map::run(global, options, printer),
        Command::Why(options) => why::run(global, options, printer),
        Command::Log(options) => log::run(global, options, printer),
        Command::Undo(options) => undo::run(global, options, printer),
        Command::Restore(options) => restore::run(global, options, printer),
        Command::Run(options) => run::run(global, options, printer),
        Command::Resume(options) => run::resume(global, options, printer),
        Command::Threads(options) => threads::run(global, options, printer),
        Command::Approvals(options) => approvals::run(global, options, printer),
        Command::Audit(options) => audit::run(global, options, printer),
        Command::Backup(options) => backup::run(global, options, printer),
        Command::Fork(options) => fork::run(global, options, printer),
        Command::Diff(options) => diff::run(global, options, printer),
        Command::Apply(options) => apply::run(global, options, printer),
        Command::Resolve(options) => resolve::run(global, options, printer),
        Command::Discard(options) => discard::run(global, options, printer),
        Command::Mount(options) => mount::run(global, options, printer),
        Command::Quota(options) => quota::run(global, options, printer),
        Command::Projects(options) => projects::run(global, options, printer),
        Command::New(options) => new::run(global, options, printer),
        Command::Import(options) => import::run(global, options, printer),
        Command::Export(options) => export::run(global, options, printer),
        Command::Publish(options) => publish::run(global, options, printer),
        Command::Share(options) => share::run(global, options, printer),
        Command::Instance(options) => instance::run(global, options, printer),
        Command::Check(options) => check::run(global, options, printer),
        Command::Doctor(options) => doctor::run(global, options, printer),
        Command::Config(options) => config::run(global, options, printer),
        Command::Secret(options) => secret::run(global, options, printer),
        Command::Demo(options) => demo::run(options, printer),
        Command::Completions(options) => completions::run(options, printer),
        Command::Man(options) => man::run(options, printer),
    }
}
