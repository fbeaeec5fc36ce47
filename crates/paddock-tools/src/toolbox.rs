//! The Toolbox: what an agent may call now, and the calls themselves.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use paddock_config::PLANS;
use paddock_core::{AgentPolicy, ErrorKind, Expect, LogicalPath, NoAudit, Operation, Outcome, Refused};
use serde_json::{Map, Value};

use crate::answer::{Answer, Verdict};
use crate::boundary;
use crate::catalogue::{self, Tool, ToolSpec};
use crate::control::{Control, Goes};
use crate::evicted;
use crate::failure::Failure;
use crate::map;
use crate::messages;
use crate::person::Person;
use crate::policy::{Fixed, PolicySource};
use crate::tools::command;

/// The tools of one agent. Cheap to clone; every clone stands on the same policy.
#[derive(Clone)]
pub struct Toolbox {
    policy: Arc<dyn PolicySource>,
}

impl Toolbox {
    /// The tools of the agent whose policy comes from here.
    pub fn new(policy: Arc<dyn PolicySource>) -> Self {
        Self { policy }
    }

    /// The tools of an agent whose policy never changes.
    pub fn fixed(policy: AgentPolicy) -> Self {
        Self::new(Arc::new(Fixed(Arc::new(policy))))
    }

    /// The tools that some Workspace of the agent allows, under the policy that holds now.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let policy = self.policy.current();
        catalogue::provided(&policy).map(|tool| tool.spec(&policy)).collect()
    }

    /// What the agent perceives, in words, under the policy that holds now.
    pub fn filesystem_map(&self) -> String {
        map::filesystem_map(&self.policy.current())
    }

    /// Grows whenever the policy changed.
    pub fn generation(&self) -> u64 {
        self.policy.generation()
    }

    /// Is there a tool of this name, provided now or not?
    pub fn knows(&self, name: &str) -> bool {
        catalogue::find(name).is_some()
    }

    /// May this call run without a hop to another thread, as far as one look tells? Not one with an offset, which has to look at all
    /// that it passes over, nor one that goes down into directories, nor one with much to write, nor one whose Store has somebody else
    /// to wait for or much to do. What changes something, or may be put before a person, may not either while somebody else writes to
    /// the record.
    pub fn is_quick(&self, name: &str, arguments: &Map<String, Value>) -> bool {
        // What panics here would take the call along, and no answer would come.
        catch_unwind(AssertUnwindSafe(|| self.seems_quick(name, arguments))).unwrap_or(false)
    }

    fn seems_quick(&self, name: &str, arguments: &Map<String, Value>) -> bool {
        let Some(tool) = catalogue::find(name).filter(|tool| tool.is_of_one_place) else { return false };
        let is_long = |value: &Value| value.as_str().map_or(value.is_array(), |text| text.len() > MUCH);
        let is_far_in = arguments.get("offset").is_some_and(|offset| *offset != 0);
        let goes_down = arguments.get("depth").is_some_and(|depth| *depth != 1);
        if is_far_in || goes_down || arguments.values().any(is_long) {
            return false;
        }
        let policy = self.policy.current();
        // Whoever is told of a call that waits may be slow to hear it.
        let is_free = || self.policy.audit().is_free() && policy.terms.notify.is_none();
        // Of what only looks, nothing waits unless a rule says so.
        let is_sure = tool.looks() && policy.rules.0.is_empty();
        (is_sure || is_free()) && is_at_hand(&policy, tool, arguments)
    }

    /// How long a call of this tool may take: as long as others, and a command the time it has on top.
    pub fn longest(&self, name: &str, others: Duration) -> Duration {
        // The policy is asked for last: that looks at the configuration's file.
        if !catalogue::find(name).is_some_and(Tool::runs_commands) {
            return others;
        }
        let commands = self.policy.current().commands.as_ref().map(|commands| commands.settings.limits.time);
        others + commands.unwrap_or_default()
    }

    /// A text for the agent that is no answer of a tool, without values of secrets.
    pub fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.policy.redactor().text(text) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(redacted) => Cow::Owned(redacted),
        }
    }

    /// Runs one call. Whatever happens becomes an answer.
    pub fn call(&self, name: &str, arguments: Map<String, Value>, control: &Control) -> Answer {
        // A source that panics must not take the process along either.
        let current = catch_unwind(AssertUnwindSafe(|| self.policy.current()));
        match current {
            Ok(policy) => {
                boundary::call(&policy, self.policy.audit(), &self.policy.redactor(), name, arguments, control)
            }
            Err(_) => messages::answer_to(&Failure::Defect),
        }
    }
}

/// What a look at a call before it runs came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rehearsal {
    /// It could run.
    Passes,
    /// A person has to decide first; this names what they decide.
    Parked(String),
    /// It would not; why, as the agent is told.
    Fails(String),
}

/// For whoever runs an agent: beside the calls themselves.
impl Toolbox {
    /// Looks whether a call could run, as far as that can be told without running it. What is above the threshold is put before a
    /// person; what is refused is recorded as every refusal is.
    pub fn rehearse(&self, name: &str, arguments: Map<String, Value>, control: &Control) -> Rehearsal {
        let control = Control { goes: Goes::UntilAsked, ..control.clone() };
        let answer = self.call(name, arguments, &control);
        match answer.verdict {
            Verdict::Done => Rehearsal::Passes,
            Verdict::Parked(id) => Rehearsal::Parked(id),
            Verdict::Denied | Verdict::Failed | Verdict::Invalid => Rehearsal::Fails(answer.text()),
        }
    }

    /// Why a call would not get as far as being put before a person, as the agent would be told; nothing where it would. Nobody is
    /// asked, and nothing is recorded: nobody made the call.
    pub fn objection(&self, name: &str, arguments: Map<String, Value>, control: &Control) -> Option<String> {
        let control = Control { goes: Goes::UntilJudged, ..control.clone() };
        let policy = self.policy.current();
        let answer = boundary::call(&policy, &NoAudit, &self.policy.redactor(), name, arguments, &control);
        (answer.verdict != Verdict::Done).then(|| answer.text())
    }

    /// Can a call of this tool be made again without a second effect?
    pub fn is_idempotent(&self, name: &str) -> bool {
        catalogue::find(name).is_some_and(catalogue::Tool::is_idempotent)
    }

    /// Keeps what a call came to where the agent reads it by pages, and tells where. What a run is told stays as long as its thread.
    pub fn evict(&self, text: &str, control: &Control) -> Option<String> {
        let policy = self.policy.current();
        evicted::keep_text(&policy, control.requester.thread.as_deref(), text).map(|path| path.to_string())
    }

    /// Lets go of everything that was kept so for a thread.
    pub fn forget_evicted(&self, thread: &str) {
        evicted::forget(&self.policy.current(), thread);
    }

    /// Do commands have their effect while they run, so that one which was cut off may have had a part of it?
    pub fn commands_act_at_once(&self) -> bool {
        let policy = self.policy.current();
        let settings = policy.commands.as_ref().map(|commands| &commands.settings);
        settings.is_some_and(|settings| settings.direct || !settings.network.is_empty())
    }

    /// Does a tool run commands?
    pub fn runs_commands(&self, name: &str) -> bool {
        catalogue::find(name).is_some_and(catalogue::Tool::runs_commands)
    }

    /// Where a plan can be kept: the read-write Workspace that a person wrote first, or else Paddock's own place for plans.
    pub fn plan_place(&self) -> Option<LogicalPath> {
        let policy = self.policy.current();
        let all = policy.vfs.workspaces();
        let own = || all.iter().find(|workspace| workspace.is_aside() && workspace.prefix().as_str() == PLANS);
        command::first(all).or_else(own).map(|workspace| workspace.prefix().clone())
    }

    /// A text file of a Workspace as a person reads it; nothing where there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read as text.
    pub fn read_text(&self, path: &LogicalPath) -> Result<Option<String>, String> {
        let policy = self.policy.current();
        let read = Operation::Read { path: path.clone(), range: 0..LONGEST_TEXT };
        match Person::on(&policy, self.policy.audit()).look(read) {
            Ok(Outcome::Read { bytes, .. }) => String::from_utf8(bytes).map(Some).map_err(|error| error.to_string()),
            Ok(_) => Err("it is no file".to_owned()),
            Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::NotFound => Ok(None),
            Err(refused) => Err(messages::reason(&refused)),
        }
    }

    /// Keeps a text that whoever runs the agent writes, and the agent only reads: recorded, and undoable.
    ///
    /// # Errors
    /// With the reason.
    pub fn keep_text(&self, path: &LogicalPath, text: &str) -> Result<(), String> {
        self.keep_text_where(path, text, Expect::Any)
    }

    /// As [`Self::keep_text`], where nothing is.
    ///
    /// # Errors
    /// With the reason, also that something is there.
    pub fn keep_new_text(&self, path: &LogicalPath, text: &str) -> Result<(), String> {
        self.keep_text_where(path, text, Expect::Absent)
    }

    fn keep_text_where(&self, path: &LogicalPath, text: &str, expect: Expect) -> Result<(), String> {
        let policy = self.policy.current();
        let person = Person::on(&policy, self.policy.audit());
        let write = Operation::Write { path: path.clone(), content: text.as_bytes().to_vec(), expect };
        person.act_by_the_way("plan", &person.call(), write).map(drop).map_err(|refused| messages::reason(&refused))
    }
}

fn is_at_hand(policy: &AgentPolicy, tool: &Tool, arguments: &Map<String, Value>) -> bool {
    let path = ["path", "file_path"].iter().find_map(|name| arguments.get(*name)?.as_str());
    // What is no path is refused at once.
    let path = LogicalPath::parse(path.unwrap_or_default(), &policy.base);
    path.is_ok_and(|path| tool.needs.iter().all(|op| policy.vfs.is_at_hand(*op, &path)))
}

/// The longest text that is read whole.
const LONGEST_TEXT: u64 = 1024 * 1024;
/// A longer text takes a while to write, in bytes.
const MUCH: usize = 64 * 1024;

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolbox").finish_non_exhaustive()
    }
}
