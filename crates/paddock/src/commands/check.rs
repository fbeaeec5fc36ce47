//! `paddock check`: is the configuration right, and what in it looks like a slip?

use crate::cli::{Check, Global};
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use paddock_desk::Project;
use paddock_desk::past::size;
use paddock_desk::setup::{self, AgentChecked, Checked, SecretsChecked, SecretsInFiles, WarningShown};

/// The most findings that are shown.
const SHOWN: usize = 20;

pub(crate) fn run(global: &Global, options: &Check, printer: &Printer) -> anyhow::Result<Ended> {
    let checked = setup::check(&Project::with_config(&global.places())?, global.agent.as_ref())?;
    if options.json {
        printer.json(&serde_json::to_value(&checked)?)?;
        return Ok(if checked.valid { Ended::Done } else { Ended::Misused });
    }
    if let Some(failure) = checked.failure {
        return Err(failure.into());
    }
    report(&checked, printer)?;
    if let Some(secrets) = &checked.secrets {
        report_missing(&checked.file, secrets, printer)?;
        secrets.secrets_in_files.iter().try_for_each(|found| report_exposed(found, printer))?;
    }
    Ok(Ended::Done)
}

fn report(checked: &Checked, printer: &Printer) -> anyhow::Result<()> {
    let name = &checked.file;
    printer.line(format_args!("{} {name}: no problems", printer.look(Look::Good, "✓")))?;
    let agents: &[AgentChecked] = checked.agents.as_deref().unwrap_or_default();
    for agent in agents {
        printer.line(format_args!("\nagent {}, relative paths start at {}", agent.name, agent.base))?;
        for workspace in &agent.workspaces {
            let origin = printer.look(Look::Faint, format_args!("({})", workspace.origin));
            printer.line(format_args!("  {:<10}  {}  {origin}", workspace.scope, workspace.prefix))?;
        }
    }
    if !checked.rules.is_empty() {
        printer.line("\nrules about risks, the first that matches decides:")?;
    }
    for rule in &checked.rules {
        printer.line(format_args!("  {}", paddock_core::visible(rule)))?;
    }
    if agents.is_empty() {
        printer.line("\nno agent has a Workspace, so nothing can be reached")?;
    }
    let warnings: &[WarningShown] = checked.warnings.as_deref().unwrap_or_default();
    if !warnings.is_empty() {
        printer.line("\nperhaps not meant so:")?;
    }
    for warning in warnings {
        let place = printer.look(Look::Faint, format_args!("({name}:{})", warning.line));
        printer.line(format_args!("  {} {} {place}", printer.look(Look::Warning, "⚠"), warning.message))?;
        printer.line(format_args!("      → {}", warning.hint))?;
    }
    Ok(())
}

/// Secrets that the file names and that are not there.
fn report_missing(name: &str, secrets: &SecretsChecked, printer: &Printer) -> anyhow::Result<()> {
    if !secrets.missing_secrets.is_empty() {
        printer.line("\nwithout these it cannot take effect:")?;
    }
    for problem in &secrets.missing_secrets {
        let place = printer.look(Look::Faint, format_args!("({name}:{})", problem.line.unwrap_or(0)));
        printer.line(format_args!("  {} {} {place}", printer.look(Look::Warning, "⚠"), problem.message))?;
        printer.line(format_args!("      → {}", problem.hint))?;
    }
    Ok(())
}

fn report_exposed(exposed: &SecretsInFiles, printer: &Printer) -> anyhow::Result<()> {
    let warning = || printer.look(Look::Warning, "⚠");
    if let Some(why) = &exposed.closed {
        return printer.line(format_args!("\n{} files were not looked through for secrets: {why}", warning()));
    }
    let more = if exposed.complete { "" } else { ", not all there is" };
    let looked = format!("{} files, {}{more}", exposed.files, size(exposed.bytes));
    if exposed.found.is_empty() {
        return printer.line(format_args!("\nno stored secret is in what agents can read ({looked})"));
    }
    printer.line(format_args!("\nstored secrets in what agents can read ({looked}):"))?;
    for found in exposed.found.iter().take(SHOWN) {
        let (path, secret) = (paddock_core::visible(&found.path), &found.secret);
        let agent = printer.look(Look::Faint, format_args!("(agent {})", found.agent));
        printer.line(format_args!("  {} {path} holds the secret \"{secret}\" {agent}", warning()))?;
    }
    match exposed.found.len().saturating_sub(SHOWN) {
        0 => {}
        more => printer.line(format_args!("  … and {more} more"))?,
    }
    printer.line("      → hide them with `hide`, or take the value out: agents get [secret NAME] by tools, and commands get the file")
}
