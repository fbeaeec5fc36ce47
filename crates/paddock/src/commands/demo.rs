//! `paddock demo`: a sample project, this same program as its MCP server, and an agent's calls through a real
//! connection, each with its verdict and the rule that decided it.
//!
//! What is shown is what happened: each scene says what must come of it, and the command fails when one does
//! not. What this machine cannot show is named as such and never shown as passed.

mod client;
mod sample;
mod scenes;

use std::path::Path;
use std::sync::Arc;

use paddock_core::AgentPolicy;
use paddock_ledger::approvals::{ApprovalError, ApprovalQuery, Decision, Reach};

use self::client::{Client, Reply};
use self::scenes::{Expected, SCENES, Scene};
use crate::cli::{Demo, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{Look, Printer};
use paddock_desk::Project;

/// The most lines of an answer that are shown.
const MOST_LINES: usize = 6;

pub(crate) fn run(options: &Demo, printer: &Printer) -> anyhow::Result<Ended> {
    let sample = sample::Sample::new()?;
    let config = sample.config();
    let policy = policy(&sample.home(), &config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let lacking = paddock_exec::missing();
    let scenes: Vec<&Scene> = SCENES.iter().filter(|scene| lacking.is_none() || !scene.runs_a_command()).collect();
    let failed = runtime.block_on(play(&sample, &scenes, &policy, printer));
    let kept = options.keep.then(|| sample.keep());
    let failed = failed?;
    if let Some(lacking) = lacking {
        printer
            .line(format_args!("\n{}", printer.look(Look::Strong, "Not shown, since commands cannot be held here:")))?;
        for scene in SCENES.iter().filter(|scene| scene.runs_a_command()) {
            printer.line(format_args!("    {}", scene.prompt))?;
        }
        indented(&lacking.to_string(), "    ", printer)?;
    }
    end(failed, scenes.len(), printer)?;
    if let Some(kept) = kept {
        printer.line(format_args!("\nThe sample project is kept in \"{}\".", kept.display()))?;
    }
    Ok(if failed == 0 { Ended::Done } else { Ended::Denied })
}

/// The policy that explains, made from the file that the server reads.
fn policy(home: &Path, config: &Path) -> anyhow::Result<Arc<AgentPolicy>> {
    let global = global(home, config);
    Ok(Project::find(&global.places())?.policy_of(global.agent())?.current())
}

fn global(home: &Path, config: &Path) -> Global {
    Global { home: Some(home.to_owned()), config: Some(config.to_owned()), agent: None, log: tracing::Level::WARN }
}

/// Plays every scene and counts those that did not end as they must.
async fn play(
    sample: &sample::Sample,
    scenes: &[&Scene],
    policy: &AgentPolicy,
    printer: &Printer,
) -> anyhow::Result<usize> {
    let client = Client::connect(sample).await?;
    begin(&client, printer)?;
    let mut failed = 0;
    let mut part = "";
    for (number, scene) in scenes.iter().enumerate() {
        if part != scene.part {
            part = scene.part;
            printer.line(format_args!("\n{}", printer.look(Look::Strong, part)))?;
        }
        let reply = client.call(scene).await?;
        let as_expected = scene.expected.is_met_by(&reply);
        failed += usize::from(!as_expected);
        show(number + 1, scene, &reply, as_expected, policy, printer)?;
        if matches!(scene.expected, Expected::Waits(_)) {
            approve(sample, printer)?;
        }
    }
    client.close().await?;
    Ok(failed)
}

/// Plays the person who looks at what waits, and agrees.
fn approve(sample: &sample::Sample, printer: &Printer) -> anyhow::Result<()> {
    let installation = Project::find(&global(&sample.home(), &sample.config()).places())?.installation()?;
    let Some(approvals) = installation.approvals() else { return Ok(()) };
    let problem = |error: ApprovalError| Failure::failed(&error, error.hint());
    for waiting in approvals.list(&ApprovalQuery::default()).map_err(problem)? {
        let (id, shown) = (&waiting.id, waiting.shown());
        indented(&waiting.preview, "    shown    ", printer)?;
        approvals.decide(id, Some(&shown), "the demo", &Decision::Approve(Reach::Once)).map_err(problem)?;
        printer.line("    person   paddock approvals approve")?;
    }
    Ok(())
}

fn begin(client: &Client, printer: &Printer) -> anyhow::Result<()> {
    printer.line("A sample project, one agent, and `paddock mcp` between them.")?;
    printer.line(format_args!("Connected to {}. The agent is told:\n", client.server()))?;
    indented(&client.instructions(), "  ", printer)
}

fn show(
    number: usize,
    scene: &Scene,
    reply: &Reply,
    as_expected: bool,
    policy: &AgentPolicy,
    printer: &Printer,
) -> anyhow::Result<()> {
    printer.line(format_args!("\n{number:>2}. {}", scene.prompt))?;
    if !scene.gloss.is_empty() {
        printer.line(format_args!("    {}", printer.look(Look::Faint, scene.gloss)))?;
    }
    printer.line(format_args!("    call     {} {}", scene.tool, scene.arguments))?;
    printer.line(format_args!("    verdict  {}", verdict(reply, as_expected, printer)))?;
    indented(&reply.text, "    answer   ", printer)?;
    let path = policy.path(scene.path).map_err(|error| Failure::failed(&error, error.hint()))?;
    let decision = policy.vfs.judge(scene.op, &path);
    indented(&decision.explain(), "    why      ", printer)
}

fn verdict(reply: &Reply, as_expected: bool, printer: &Printer) -> String {
    let said = if reply.is_error { "✗ refused" } else { "✓ done" };
    match as_expected {
        true if reply.is_error => printer.look(Look::Bad, said),
        true => printer.look(Look::Good, said),
        false => printer.look(Look::Warning, format_args!("{said}, and that is NOT what was expected")),
    }
}

/// Prints a text whose first line follows `head` and whose others stand below it.
fn indented(text: &str, head: &str, printer: &Printer) -> anyhow::Result<()> {
    let blank = " ".repeat(head.chars().count());
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().take(MOST_LINES).enumerate() {
        printer.line(format_args!("{}{line}", if n == 0 { head } else { &blank }))?;
    }
    match lines.len().checked_sub(MOST_LINES) {
        Some(more) if more > 0 => printer.line(format_args!("{blank}… {more} more lines")),
        _ => Ok(()),
    }
}

fn end(failed: usize, all: usize, printer: &Printer) -> anyhow::Result<()> {
    let told = format!("{} of {all} calls ended as they must.", all - failed);
    let look = if failed == 0 { Look::Good } else { Look::Bad };
    printer.line(format_args!("\n{}", printer.look(look, told)))?;
    if failed == 0 {
        printer.line("Set up your own project with `paddock init`.")?;
    }
    Ok(())
}

impl Expected {
    fn is_met_by(self, reply: &Reply) -> bool {
        match self {
            Self::Done(says) => !reply.is_error && reply.text.contains(says),
            Self::Refused(says) | Self::Waits(says) => {
                reply.is_error && reply.text.contains(says) && !reply.text.contains(sample::SECRET)
            }
        }
    }
}
