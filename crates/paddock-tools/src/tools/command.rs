//! `execute_command`: a command in the agent's Workspaces, and what it changed as one change.
//!
//! The runner knows how to run it; nothing here does. What it did comes back as alterations and goes the way of every
//! other change: judged path by path, weighed by what it *did*, put before the Gate, made and recorded as one. Where a
//! single path is refused, nothing of it is made, and the answer says why.

pub(crate) mod held;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use paddock_core::{
    AccessScope, AgentPolicy, Alteration, CommandLine, CommandSettings, CommandSpec, Earlier, Effect, EffectKind,
    Holding, LogicalPath, OpKind, Operation, Outcome, Proposed, Ran, Refused, Risk, Workspace,
};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Piece, Verdict};
use crate::arguments::{BadArguments, ExecuteCommand};
use crate::boundary::Context;
use crate::evicted;
use crate::failure::Failure;
use crate::messages;
use crate::output::{Captured, Room, Shown};
use crate::risk::Weight;
use crate::size;

/// The most changed paths that an answer lists.
const MOST_LISTED: usize = 50;
/// The most reasons that an answer gives.
const MOST_REASONS: usize = 10;

pub(crate) fn execute_command(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: ExecuteCommand = cx.arguments(given)?;
    if args.timeout == Some(0) {
        let why = "is 0, and it takes at least 1 second: leave it out for all the time there is".to_owned();
        return Err(Failure::Arguments(BadArguments::Bad { name: "timeout", why }));
    }
    let line = CommandLine::Shell(&args.command);
    cx.notes(None, &args.command);
    let place = Place::of(cx, args.workspace.as_deref())?;
    cx.names(&place.directory);
    let waiting = match earlier(cx)? {
        Earlier::Nothing { waiting } => waiting,
        Earlier::Waits(id) => return Err(Failure::Parked(id)),
        // It would not be run: what it changed is there, or is made when the call is.
        Earlier::Agreed(_) | Earlier::Made { .. } if cx.rehearses() => return Err(Failure::Rehearsed),
        Earlier::Agreed(held) => {
            let id = held.id.clone();
            let answer = held::make(cx, *held)?;
            cx.hears(&id)?;
            return Ok(answer);
        }
        Earlier::Made { id, told, by } if cx.hears(&id)? => return Ok(held::made(&id, &told, &by)),
        // Of two that ask at once one is told; for the other it is a command like any.
        Earlier::Made { .. } => 0,
    };
    let mut ran = run(cx, line, &place, args.timeout.map(Duration::from_secs))?;
    if waiting > 0 {
        ran.ran.notes.push(held::still_waiting(waiting));
    }
    Ok(ran.answer())
}

/// What became of the same command before. With an input none is the same: nobody knows what it will read.
fn earlier(cx: &Context<'_>) -> Result<Earlier, Failure> {
    if cx.input().is_some() { Ok(Earlier::Nothing { waiting: 0 }) } else { cx.earlier() }
}

/// Where a command runs.
#[derive(Debug)]
pub(crate) struct Place {
    directory: LogicalPath,
    confined: bool,
}

impl Place {
    /// The Workspace that is named, a directory in it, or the one where commands start by themselves.
    pub(crate) fn of(cx: &Context<'_>, named: Option<&str>) -> Result<Self, Failure> {
        let vfs = &cx.policy().vfs;
        let Some(named) = named else {
            let directory = starting(cx.policy()).ok_or_else(|| cx.not_provided())?.prefix().clone();
            return Ok(Self { directory, confined: false });
        };
        let directory = cx.path(named)?;
        // What a command may do anywhere in a Workspace, only the whole scope allows.
        let decision = vfs.judge(OpKind::Delete, &directory);
        let is_workspace =
            vfs.workspaces().iter().any(|w| *w.prefix() == directory && w.scope() == AccessScope::ReadWrite);
        if !is_workspace && !decision.allowed() {
            let places = vfs.allowed_in(OpKind::Delete).to_vec();
            return Err(Failure::NoPlace { asked: directory, places });
        }
        Ok(Self { directory, confined: !is_workspace })
    }
}

/// Where commands start by themselves: in the read-write Workspace where relative paths start, so that commands and file tools are at home
/// in the same one, else in the one that a person wrote first.
pub(crate) fn starting(policy: &AgentPolicy) -> Option<&Workspace> {
    let workspaces = policy.vfs.workspaces();
    let around = workspaces.iter().filter(|workspace| policy.base.below(workspace.prefix()).is_some());
    let base = around.max_by_key(|workspace| workspace.prefix().as_str().len());
    base.filter(|workspace| workspace.scope() == AccessScope::ReadWrite).or_else(|| first(workspaces))
}

/// The read-write Workspace that a person wrote first.
pub(crate) fn first(workspaces: &[Workspace]) -> Option<&Workspace> {
    let written = |workspace: &&Workspace| (workspace.origin().line() == 0, workspace.origin().line());
    workspaces.iter().filter(|workspace| workspace.scope() == AccessScope::ReadWrite).min_by_key(written)
}

/// A command that ran to its end.
pub(crate) struct Done {
    ran: Ran,
    shown: Shown,
    evicted: Option<LogicalPath>,
    changes: Changes,
}

/// What became of what it changed.
enum Changes {
    /// Made; what happened to which path.
    Made(Vec<Effect>),
    /// Nothing of it was made.
    Dropped(Vec<String>),
    /// Nothing of it was made, because of what a person decided or has to decide first: in a word, and why.
    NotApproved(&'static str, String),
    /// It stopped half-way, and what was made before that could not be taken back: it stays, and is recorded.
    Partly(String),
    /// A person would have to decide, and there is nobody to ask.
    NobodyToAsk(Risk, Vec<Effect>),
    /// It waits for a person; this names what they decide.
    Held(String, Risk, Vec<Effect>),
}

/// Runs a command and makes what it changed.
pub(crate) fn run(
    cx: &Context<'_>,
    line: CommandLine<'_>,
    place: &Place,
    timeout: Option<Duration>,
) -> Result<Done, Failure> {
    let commands = cx.policy().commands.as_ref().ok_or_else(|| cx.not_provided())?;
    let settings = &*commands.settings;
    if let Some(word) = commands.runner.denied_word(line, &settings.deny) {
        return Err(Failure::NotRun(paddock_core::NotRun::Word(word)));
    }
    if !cx.is_only_judged() {
        ask_before(cx, settings, place)?;
    }
    if cx.rehearses() {
        return Err(Failure::Rehearsed);
    }
    let allowed = &settings.limits;
    let spec = CommandSpec {
        command: line,
        vfs: &cx.policy().vfs,
        directory: &place.directory,
        confined: place.confined,
        spared: &cx.spared(),
        settings,
        time_limit: cx.time_limit().unwrap_or_else(|| timeout.unwrap_or(allowed.time).min(allowed.time)),
        // Who lets it run longer than agents may does not mean it to end at what these may use.
        cpu_limit: allowed.cpu.max(cx.time_limit().unwrap_or_default()),
        input: cx.input(),
    };
    let room = Room { file: evicted::anonymous_file(), bytes: evicted::LONGEST_OUTPUT };
    let mut captured = Captured::new(settings.limits.output, room, cx.redactor().clone());
    let ran = commands.runner.run(cx.call(), &spec, &mut |piece| {
        captured.take(piece);
        cx.tell(piece)
    });
    let mut ran = ran.map_err(Failure::NotRun)?;
    let ended = match ran.ended_by {
        None => format!("exit {}", ran.exit),
        Some("stopped") => "cancelled".to_owned(),
        Some(limit) => format!("ended by the limit of {limit}"),
    };
    cx.notes(Some(&ended), &text_of(line));
    let (shown, all) = captured.finish();
    let evicted = if shown.cut { all.and_then(|all| evicted::keep(cx, all)) } else { None };
    let proposed = std::mem::take(&mut ran.proposed);
    let told = held::kept_answer(&ran, &shown, &cx.noted());
    let changes = commit(cx, settings, place, proposed, &told)?;
    Ok(Done { ran, shown, evicted, changes })
}

/// Where changes take effect at once, or others can be reached, a person decides before it runs.
fn ask_before(cx: &Context<'_>, settings: &CommandSettings, place: &Place) -> Result<(), Failure> {
    if !settings.direct && settings.network.is_empty() {
        return Ok(());
    }
    cx.weighs(Risk::High);
    if settings.ask_above < Risk::High && !cx.policy().vfs.gate().asks() {
        let why = if settings.direct { "its changes would take effect at once" } else { "it may reach the network" };
        return Err(Failure::NobodyToAsk { risk: Risk::High, why });
    }
    let nothing = Operation::Commit { path: place.directory.clone(), alterations: Vec::new() };
    cx.perform_if(nothing, |_| Ok(Risk::High.into())).map(|_| ())
}

/// Makes what a command changed, all of it or nothing.
fn commit(
    cx: &Context<'_>,
    settings: &CommandSettings,
    place: &Place,
    proposed: Proposed,
    told: &str,
) -> Result<Changes, Failure> {
    let Proposed { alterations, ignored, obstacles, stage } = proposed;
    if !obstacles.is_empty() {
        return Ok(Changes::Dropped(obstacles));
    }
    if let Some(secret) = alterations.iter().find_map(|made| cx.redactor().found_in(made.path.as_str().as_bytes())) {
        return Ok(Changes::Dropped(vec![messages::secret_in_path(&secret)]));
    }
    if alterations.is_empty() {
        cx.weighs(Risk::Low);
        return Ok(Changes::Made(Vec::new()));
    }
    let mut held = None;
    let mut made = Vec::new();
    let mut weighed = Risk::High;
    let operation = Operation::Commit { path: place.directory.clone(), alterations: alterations.clone() };
    let holding = Holding { alterations: &alterations, told, of: None };
    let done = cx.perform_holding(operation, Some(holding), |plan| {
        let (weight, by_the_way) = weigh(cx, plan.effects(), &ignored, holding);
        if by_the_way {
            cx.changes_by_the_way();
        }
        let risk = weight.risk;
        (made, weighed) = (plan.effects().to_vec(), risk);
        if risk > settings.ask_above && !cx.policy().vfs.gate().asks() {
            held = Some(risk);
            return Err(Failure::NobodyToAsk { risk, why: "it changed what a person has to look at first" });
        }
        Ok(weight)
    });
    let changes = match (done, held) {
        (Ok(Outcome::Changed { .. } | Outcome::Accepted), _) => Ok(Changes::Made(made)),
        (Ok(_), _) => Err(Failure::Defect),
        (Err(_), Some(risk)) => Ok(Changes::NobodyToAsk(risk, made)),
        (Err(Failure::Parked(id)), None) => Ok(Changes::Held(id, weighed, made)),
        (Err(Failure::Refused(refused @ Refused::NotApproved { name, .. })), None) => {
            Ok(Changes::NotApproved(name, messages::reason_of_command(&cx.policy().vfs, &refused)))
        }
        // Planned, let through, and then something was in the way.
        (Err(Failure::Refused(refused)), None) if !made.is_empty() => Ok(take_back(cx, &refused)),
        (Err(Failure::Refused(refused)), None) => Ok(Changes::Dropped(reasons(cx, place, &refused, &alterations))),
        (Err(failure), None) => Err(failure),
    };
    // Whoever finds it later knows that nobody has settled this yet.
    drop(stage);
    changes
}

/// Takes back what was made before something was in the way.
fn take_back(cx: &Context<'_>, refused: &Refused) -> Changes {
    let reason = messages::reason_of_command(&cx.policy().vfs, refused);
    match cx.take_back() {
        Ok(_) => Changes::Dropped(vec![reason]),
        Err(error) => {
            tracing::warn!(%error, "what a command changed half-way could not be taken back");
            Changes::Partly(reason)
        }
    }
}

/// What git writes anew when it only looks: `git status` notes there what it has compared.
fn is_refreshed_by_git(path: &LogicalPath) -> bool {
    path.as_str().ends_with("/.git/index")
}

fn text_of(line: CommandLine<'_>) -> String {
    match line {
        CommandLine::Shell(text) => text.to_owned(),
        CommandLine::Words(words) => words.join(" "),
    }
}

/// How risky is what it did, and did it do that only by the way? Nothing: low. New and changed files: medium. Gone what the
/// agent did not make itself, or very many paths or lines: high. What a `.gitignore` names does not count where it is new or the
/// agent's own. Everything else does: an agent can write such a file itself.
fn weigh(cx: &Context<'_>, effects: &[Effect], ignored: &HashSet<LogicalPath>, holding: Holding<'_>) -> (Weight, bool) {
    let is_gone = |effect: &Effect| effect.what == EffectKind::Delete;
    let gone: BTreeSet<&str> = effects.iter().filter(|e| is_gone(e)).map(|effect| effect.path.as_str()).collect();
    // A directory that went with what was in it counts as that.
    let held_more = |path: &str| {
        let inside = format!("{path}/");
        gone.range(inside.as_str()..).next().is_some_and(|next| next.starts_with(&inside))
    };
    let is_own = |effect: &Effect| {
        let costs_nothing = if is_gone(effect) { held_more(effect.path.as_str()) } else { effect.was.is_none() };
        costs_nothing || cx.was_made_by_agent(effect)
    };
    let counted: Vec<&Effect> = effects.iter().filter(|e| !ignored.contains(&e.path) || !is_own(e)).collect();
    let takes_away = counted.iter().any(|effect| is_gone(effect) && !is_own(effect));
    let own = match (takes_away, counted.is_empty()) {
        (true, _) => Risk::High,
        (false, true) => Risk::Low,
        (false, false) => Risk::Medium,
    };
    let paths = counted.len() as u64;
    let many = (paths > cx.policy().terms.large.paths).then(|| size::many("changes", paths));
    let why = many.or_else(|| size::of_content(cx, &counted, Some(holding)));
    (Weight::from(own).raised(why), counted.iter().all(|effect| is_refreshed_by_git(&effect.path)))
}

/// Why nothing was made: the reason of each path that is refused, up to a number.
fn reasons(cx: &Context<'_>, place: &Place, first: &Refused, alterations: &[Alteration]) -> Vec<String> {
    let vfs = &cx.policy().vfs;
    let mut told = vec![messages::reason_of_command(vfs, first)];
    for alteration in alterations {
        if told.len() > MOST_REASONS {
            told.push("… and perhaps more".to_owned());
            break;
        }
        let alone = Operation::Commit { path: place.directory.clone(), alterations: vec![alteration.clone()] };
        if let Err(refused @ (Refused::Denied(_) | Refused::DeniedInside(_))) = vfs.plan(cx.call(), alone) {
            let why = messages::reason_of_command(vfs, &refused);
            if !told.contains(&why) {
                told.push(why);
            }
        }
    }
    told
}

impl Done {
    fn answer(&self) -> Answer {
        let mut answer = Answer::of(self.verdict(), self.shown.text.clone()).and(Piece::Text(self.summary()));
        answer = answer
            .with("exit_code", self.ran.exit)
            .with("duration_ms", u64::try_from(self.ran.took.as_millis()).unwrap_or(u64::MAX))
            .with("output_bytes", self.shown.total)
            .with("truncated", self.shown.cut);
        if let Some(limit) = self.ran.ended_by {
            answer = answer.with("ended_by", limit);
        }
        if let Some(path) = &self.evicted {
            answer = answer.with("output_path", path.as_str());
        }
        if let Changes::Dropped(reasons) = &self.changes {
            answer = answer.with("error", "dropped").with("reasons", reasons.clone());
        }
        if let Changes::NotApproved(name, reason) = &self.changes {
            answer = answer.with("error", *name).with("reasons", vec![reason.clone()]);
        }
        if let Changes::Partly(reason) = &self.changes {
            answer = answer.with("error", "partly").with("reasons", vec![reason.clone()]);
        }
        if let Changes::NobodyToAsk(risk, _) = &self.changes {
            answer = answer.with("error", "nobody_to_ask").with("risk", risk.name());
        }
        if let Changes::Held(id, risk, effects) = &self.changes {
            answer = answer.with("error", "parked").with("approval", id.as_str());
            answer = answer.with("risk", risk.name()).with("paths", effects.len());
        }
        if let Changes::Made(effects) = &self.changes {
            let listed = effects.iter().take(MOST_LISTED);
            let changed = listed.map(|effect| json!({ "path": effect.path.as_str(), "change": word(effect.what) }));
            answer = answer.with("changed", changed.collect::<Vec<_>>()).with("paths", effects.len());
        }
        answer
    }

    fn verdict(&self) -> Verdict {
        match &self.changes {
            Changes::Held(id, ..) => Verdict::Parked(id.clone()),
            Changes::Made(_) if self.ran.exit == 0 && self.ran.ended_by.is_none() => Verdict::Done,
            Changes::Made(_) => Verdict::Failed,
            Changes::Dropped(_) | Changes::NotApproved(..) | Changes::NobodyToAsk(..) => Verdict::Denied,
            Changes::Partly(_) => Verdict::Failed,
        }
    }

    /// What an agent reads after the output.
    fn summary(&self) -> String {
        let mut lines = Vec::new();
        let exit = match self.ran.ended_by {
            Some(limit) => format!("Ended by the limit of {limit}"),
            None => format!("Exit code {}", self.ran.exit),
        };
        lines.push(format!("{exit}, after {:.1} s.", self.ran.took.as_secs_f64()));
        if self.shown.broken > 0 {
            lines.push(format!("{} bytes of the output were no text and are shown as \u{fffd}.", self.shown.broken));
        }
        if self.shown.cut {
            lines.push(match &self.evicted {
                Some(path) if self.shown.kept < self.shown.total => format!(
                    "The output had {} bytes; read_file {path} shows the first {}, and more of one is not kept.",
                    self.shown.total, self.shown.kept
                ),
                Some(path) => format!("The output has {} bytes; read_file {path} shows all of it.", self.shown.total),
                None => format!("The output had {} bytes; its middle could not be kept.", self.shown.total),
            });
        }
        lines.extend(self.ran.notes.iter().cloned());
        match &self.changes {
            Changes::Made(effects) if effects.is_empty() => lines.push("No file changed.".to_owned()),
            Changes::Made(effects) => lines.push(listed("Changed", effects)),
            Changes::Dropped(reasons) => {
                lines.push("❌ ERROR: Nothing it changed was kept, because:".to_owned());
                lines.extend(reasons.iter().map(|reason| format!("- {reason}")));
            }
            Changes::NotApproved(_, reason) => {
                lines.push(format!("❌ ERROR: Nothing it changed was kept. {reason}"));
            }
            Changes::Partly(reason) => {
                lines.push(format!(
                    "❌ ERROR: Perhaps only a part of what it changed was kept: {reason} A person can see and take back what \
                     was made with `paddock log` and `paddock undo`."
                ));
            }
            Changes::Held(id, _, effects) => {
                lines.push(format!(
                    "❌ ERROR: What it changed waits for a person, who has to approve it first: `paddock approvals show {id}`. Until \
                     then files are as they were before it. Once it is approved the change is made as it is; the same command \
                     is not run again then, and answers with this result."
                ));
                lines.push(listed("It would change", effects));
            }
            Changes::NobodyToAsk(risk, effects) => {
                lines.push(format!(
                    "❌ ERROR: Nothing it changed was kept: the risk of it is {}, and there is nobody to ask. A person can let \
                     it through with [approvals] above in paddock.toml.",
                    risk.name()
                ));
                lines.push(listed("It would have changed", effects));
            }
        }
        lines.join("\n")
    }
}

fn listed(what: &str, effects: &[Effect]) -> String {
    let shown: Vec<String> =
        effects.iter().take(MOST_LISTED).map(|effect| format!("{} {}", mark(effect.what), effect.path)).collect();
    let more = effects.len() - shown.len();
    let more = if more > 0 { format!("\n… and {more} more") } else { String::new() };
    format!("{what}:\n{}{more}", shown.join("\n"))
}

fn mark(what: EffectKind) -> char {
    match what {
        EffectKind::Create | EffectKind::MakeDir | EffectKind::MoveHere => '+',
        EffectKind::Delete | EffectKind::MoveAway => '-',
        EffectKind::Replace | EffectKind::Append | EffectKind::Deliver | EffectKind::Dress => '~',
    }
}

fn word(what: EffectKind) -> &'static str {
    match what {
        EffectKind::Create | EffectKind::MoveHere => "created",
        EffectKind::MakeDir => "made",
        EffectKind::Delete | EffectKind::MoveAway => "deleted",
        EffectKind::Replace | EffectKind::Append => "modified",
        EffectKind::Deliver => "delivered",
        EffectKind::Dress => "mode or time",
    }
}
