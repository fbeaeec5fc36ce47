//! `paddock demo`: a sample project, this same program as its MCP server, and an agent's calls through a real
//! connection, each with its verdict and the rule that decided it; then a fork, an undo, and on request the console on all of it.
//!
//! What is shown is what happened: each scene says what must come of it, and the command fails when one does
//! not. What this machine cannot show is named as such and never shown as passed.

mod client;
mod console;
mod person;
mod sample;
mod scenes;

use std::sync::Arc;

use paddock_core::AgentPolicy;
use tokio::runtime::Runtime;

use self::client::{Client, Reply};
use self::person::{Done, Person};
use self::sample::Sample;
use self::scenes::{Act, Expected, FORK_AND_UNDO, SCENES, Scene, Step, WAITING};
use crate::cli::{Demo, Global};
use crate::failure::{Ended, Failure};
use crate::printer::{Look, Printer};
use paddock_desk::Project;

/// The most lines of an answer that are shown.
const MOST_LINES: usize = 6;
/// The most lines of what a person is shown, who looks at a difference.
const MOST_SHOWN: usize = 12;

pub(crate) fn run(options: &Demo, printer: &Printer) -> anyhow::Result<Ended> {
    let sample = Sample::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = played(&sample, runtime, options, printer);
    let kept = options.keep.then(|| sample.keep());
    let ended = ended?;
    if let Some(kept) = kept {
        printer.line(format_args!("\nThe sample project is kept in \"{}\".", kept.display()))?;
    }
    Ok(ended)
}

/// Everything up to the end of the sample project.
fn played(sample: &Sample, runtime: Runtime, options: &Demo, printer: &Printer) -> anyhow::Result<Ended> {
    let lacking = paddock_exec::missing();
    let mut stage = Stage::new(sample, &runtime, printer)?;
    stage.begin()?;
    for scene in SCENES.iter().filter(|scene| lacking.is_none() || !scene.runs_a_command()) {
        runtime.block_on(stage.call(scene))?;
        if matches!(scene.expected, Expected::Waits(_)) {
            stage.approve()?;
        }
    }
    for step in FORK_AND_UNDO {
        match step {
            Step::Agent(scene) => runtime.block_on(stage.call(scene))?,
            Step::Person(part, act) => stage.act(part, *act)?,
        }
    }
    if let Some(lacking) = lacking {
        not_shown(&lacking.to_string(), printer)?;
    }
    let failed = stage.failed;
    if !options.serve {
        stage.end()?;
        runtime.block_on(stage.client.close())?;
    } else if failed == 0 {
        runtime.block_on(stage.call(&WAITING))?;
        stage.serve(runtime, options)?;
    }
    Ok(if failed == 0 { Ended::Done } else { Ended::Denied })
}

fn not_shown(lacking: &str, printer: &Printer) -> anyhow::Result<()> {
    let heading = printer.look(Look::Strong, "Not shown, since commands cannot be held here:");
    printer.line(format_args!("\n{heading}"))?;
    for scene in SCENES.iter().filter(|scene| scene.runs_a_command()) {
        printer.line(format_args!("    {}", scene.prompt))?;
    }
    indented(lacking, "    ", MOST_LINES, printer)
}

/// The agent, the person, and what was shown so far.
struct Stage<'a> {
    global: Global,
    client: Client,
    person: Person,
    /// Explains; made from the files that the server reads.
    policy: Arc<AgentPolicy>,
    printer: &'a Printer,
    part: &'static str,
    calls: usize,
    failed: usize,
}

impl<'a> Stage<'a> {
    fn new(sample: &Sample, runtime: &Runtime, printer: &'a Printer) -> anyhow::Result<Self> {
        let (home, config) = (Some(sample.home()), Some(sample.config()));
        let global = Global { home, config, agent: None, log: None };
        let policy = policy(&global)?;
        let client = runtime.block_on(Client::connect(sample))?;
        let person = Person::new(global.places());
        Ok(Self { global, client, person, policy, printer, part: "", calls: 0, failed: 0 })
    }

    fn begin(&self) -> anyhow::Result<()> {
        self.printer.line("A sample project, one agent, and `paddock mcp` between them.")?;
        self.printer.line(format_args!("Connected to {}. The agent is told:\n", self.client.server()))?;
        indented(&self.client.instructions(), "  ", MOST_LINES, self.printer)
    }

    fn enter(&mut self, part: &'static str) -> anyhow::Result<()> {
        if self.part != part {
            self.part = part;
            self.printer.line(format_args!("\n{}", self.printer.look(Look::Strong, part)))?;
        }
        Ok(())
    }

    /// The agent makes a call.
    async fn call(&mut self, scene: &Scene) -> anyhow::Result<()> {
        self.enter(scene.part)?;
        let reply = self.client.call(scene).await?;
        let as_expected = scene.expected.is_met_by(&reply);
        self.calls += 1;
        self.failed += usize::from(!as_expected);
        self.show(scene, &reply, as_expected)
    }

    /// The person does something.
    fn act(&mut self, part: &'static str, act: Act) -> anyhow::Result<()> {
        self.enter(part)?;
        let Done { command, shown } = self.person.act(act)?;
        self.printer.line(format_args!("\n    person   {command}"))?;
        // A fork is a Workspace more.
        self.policy = policy(&self.global)?;
        indented(&shown.join("\n"), "    shown    ", MOST_SHOWN, self.printer)
    }

    /// The person looks at what waits, and agrees.
    fn approve(&self) -> anyhow::Result<()> {
        for waiting in self.person.waiting()? {
            indented(&waiting.preview.to_string(), "    shown    ", MOST_LINES, self.printer)?;
            self.person.approve(&waiting)?;
            self.printer.line("    person   paddock approvals approve")?;
        }
        Ok(())
    }

    fn show(&self, scene: &Scene, reply: &Reply, as_expected: bool) -> anyhow::Result<()> {
        let printer = self.printer;
        printer.line(format_args!("\n{:>2}. {}", self.calls, scene.prompt))?;
        if !scene.gloss.is_empty() {
            printer.line(format_args!("    {}", printer.look(Look::Faint, scene.gloss)))?;
        }
        printer.line(format_args!("    call     {} {}", scene.tool, scene.arguments))?;
        printer.line(format_args!("    verdict  {}", verdict(scene.expected, reply, as_expected, printer)))?;
        indented(&reply.text, "    answer   ", MOST_LINES, printer)?;
        let path = self.policy.path(scene.path).map_err(|error| Failure::failed(&error, error.hint()))?;
        let decision = self.policy.vfs.judge(scene.op, &path);
        indented(&decision.explain(), "    why      ", MOST_LINES, printer)
    }

    fn end(&self) -> anyhow::Result<()> {
        let told = format!("{} of {} calls ended as they must.", self.calls - self.failed, self.calls);
        let look = if self.failed == 0 { Look::Good } else { Look::Bad };
        self.printer.line(format_args!("\n{}", self.printer.look(look, told)))?;
        if self.failed == 0 {
            self.printer
                .line("`paddock demo --serve` goes on in the console. Set up your own project with `paddock init`.")?;
        }
        Ok(())
    }

    /// The console, while the agent waits.
    fn serve(self, runtime: Runtime, options: &Demo) -> anyhow::Result<()> {
        let waiting = self.person.waiting()?.into_iter().next();
        let approval = waiting.ok_or_else(|| Failure::failed("nothing waits", "run `paddock doctor`"))?.id;
        let agent = console::Waiting::begin(runtime, self.client, self.person, approval, self.printer.clone());
        let served = console::serve(options, &self.global, self.printer);
        agent.end();
        served.map(drop)
    }
}

fn policy(global: &Global) -> anyhow::Result<Arc<AgentPolicy>> {
    Ok(Project::find(&global.places())?.policy_of(global.agent())?.current())
}

fn verdict(expected: Expected, reply: &Reply, as_expected: bool, printer: &Printer) -> String {
    let said = match (expected, reply.is_error) {
        (Expected::Waits(_), true) => "… waits for a person",
        (_, true) => "✗ refused",
        (_, false) => "✓ done",
    };
    match (as_expected, expected) {
        (false, _) => printer.look(Look::Warning, format_args!("{said}, and that is NOT what was expected")),
        (true, Expected::Waits(_)) => printer.look(Look::Warning, said),
        (true, Expected::Refused(_)) => printer.look(Look::Bad, said),
        (true, Expected::Done(_)) => printer.look(Look::Good, said),
    }
}

/// Prints so many lines of a text whose first line follows `head` and whose others stand below it.
fn indented(text: &str, head: &str, most: usize, printer: &Printer) -> anyhow::Result<()> {
    let blank = " ".repeat(head.chars().count());
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().take(most).enumerate() {
        printer.line(format_args!("{}{line}", if n == 0 { head } else { &blank }))?;
    }
    match lines.len().checked_sub(most) {
        Some(more) if more > 0 => printer.line(format_args!("{blank}… {more} more lines")),
        _ => Ok(()),
    }
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
