//! One call, from its arguments to its outcome: the only way from a tool to a Workspace.
//!
//! A tool gets a [`Context`] and nothing else. Every operation it performs is planned by the Vfs,
//! weighed by the tool's row, put before the Gate and run with the Gate's token. Anything a Store
//! throws, a panic included, ends here.
//!
//! Whatever leaves, an answer, a piece of output or a line of the log, passes the Redactor here.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use paddock_core::{
    AgentPolicy, Audit, Call, CallId, CallRecord, Earlier, Effect, Held, Holding, LogicalPath, OpKind, Operation,
    Outcome, Passed, Plan, Refused, Request, Requester, Risk, RiskRule, Workspace, visible,
};
use paddock_state::Redactor;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::{Answer, Piece, Verdict};
use crate::arguments;
use crate::asking::Asking;
use crate::catalogue::{self, Tool};
use crate::contents::Contents;
use crate::control::{Control, Goes};
use crate::failure::Failure;
use crate::hearing::Hearing;
use crate::messages;
use crate::person::Person;
use crate::risk::Weight;
use crate::size;
use crate::tools::command;

/// How much is repeated of a name or a path that is none.
const SHOWN: usize = 60;

/// How many characters of a command are remembered.
const NOTED: usize = 120;

/// What a running tool has: the policy of this call, and the way through it.
pub(crate) struct Context<'a> {
    policy: &'a AgentPolicy,
    audit: &'a dyn Audit,
    call: Call<'a>,
    tool: &'static Tool,
    /// Its token is shown to the Gate once.
    requester: RefCell<Requester>,
    /// The arguments, where somebody may be asked about them.
    given: Map<String, Value>,
    risk: Cell<Option<Risk>>,
    /// How many bytes of content went in or came out.
    bytes: Cell<u64>,
    /// Was a change tried?
    effect: Cell<bool>,
    /// The first path of the call, for the log.
    path: RefCell<String>,
    /// What is remembered of a command: its text and how it ended.
    note: RefCell<String>,
    /// Does it only happen to change something?
    aside: Cell<bool>,
    /// The arguments that a person put in the place of the agent's.
    edited_to: RefCell<Option<String>>,
    /// Says to other processes that it is under way, until it is recorded.
    under_way: RefCell<Option<Box<dyn std::any::Any>>>,
    /// What bounds it from outside.
    control: &'a Control,
    /// Knows what must not leave.
    redactor: &'a Redactor,
    /// Told what a command prints, as it comes.
    hearing: Hearing<'a>,
}

impl<'a> Context<'a> {
    fn of(
        policy: &'a AgentPolicy,
        audit: &'a dyn Audit,
        redactor: &'a Redactor,
        tool: &'static Tool,
        given: Map<String, Value>,
        control: &'a Control,
    ) -> Self {
        let (cancel, deadline) = (&*control.cancel, control.deadline);
        Self {
            policy,
            audit,
            call: Call { id: control.call.unwrap_or_else(CallId::next), agent: &policy.agent, cancel, deadline },
            tool,
            requester: RefCell::new(control.requester.clone()),
            given,
            risk: Cell::new(None),
            bytes: Cell::new(0),
            effect: Cell::new(false),
            path: RefCell::default(),
            note: RefCell::default(),
            aside: Cell::new(false),
            control,
            redactor,
            hearing: Hearing::of(control, redactor),
            under_way: RefCell::new(None),
            edited_to: RefCell::new(None),
        }
    }
}

impl Context<'_> {
    /// Reads the tool's arguments.
    pub(crate) fn arguments<T: DeserializeOwned>(&self, given: Map<String, Value>) -> Result<T, Failure> {
        Ok(arguments::read(&self.tool.schema, given)?)
    }

    /// Reads a path as the agent writes it. The first one read is the one the log names.
    pub(crate) fn path(&self, text: &str) -> Result<LogicalPath, Failure> {
        let path = self.policy.path(text);
        // Names are written down in many places, and a Store cannot redact its own.
        if let Some(secret) = self.redactor.found_in(text.as_bytes()) {
            return Err(Failure::SecretInPath(secret));
        }
        let mut logged = self.path.borrow_mut();
        if logged.is_empty() {
            match &path {
                Ok(path) => logged.push_str(path.as_str()),
                Err(_) => logged.push_str(&visible(&text[..text.floor_char_boundary(SHOWN)])),
            }
        }
        Ok(path?)
    }

    /// The path that the log names, where the call itself named none.
    pub(crate) fn names(&self, path: &LogicalPath) {
        let mut logged = self.path.borrow_mut();
        if logged.is_empty() {
            logged.push_str(path.as_str());
        }
    }

    /// The policy of this call.
    pub(crate) fn policy(&self) -> &AgentPolicy {
        self.policy
    }

    /// This call, for what is asked in its name.
    pub(crate) fn call(&self) -> &Call<'_> {
        &self.call
    }

    /// Takes back what this call has changed, where something stopped it half-way.
    pub(crate) fn take_back(&self) -> Result<bool, Refused> {
        Person::on(self.policy, self.audit).take_back(self.call.id)
    }

    /// Has a command remembered where calls are listed, and how it ended once it has. Secrets go before it is shortened: half
    /// of one would not be known any more.
    pub(crate) fn notes(&self, ended: Option<&str>, command: &str) {
        let text = self.redactor.text(command).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match text.char_indices().nth(NOTED) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        self.note.replace(ended.map_or_else(|| text.clone(), |ended| format!("{ended}: {text}")));
    }

    /// What is remembered of the command.
    pub(crate) fn noted(&self) -> String {
        self.note.borrow().clone()
    }

    /// Has remembered what was noted of it before.
    pub(crate) fn notes_as_before(&self, noted: &str) {
        noted.clone_into(&mut self.note.borrow_mut());
    }

    /// What the call changes it changes by the way: nobody means it who takes back the last call.
    pub(crate) fn changes_by_the_way(&self) {
        self.aside.set(true);
    }

    /// Passes on what a command prints.
    pub(crate) fn tell(&self, piece: paddock_core::Output<'_>) -> ControlFlow<()> {
        self.hearing.tell(piece);
        ControlFlow::Continue(())
    }

    /// What keeps secrets out of what is kept beside the answer.
    pub(crate) fn redactor(&self) -> &Redactor {
        self.redactor
    }

    /// Notes how risky the call is.
    pub(crate) fn weighs(&self, risk: Risk) {
        self.risk.set(Some(risk));
    }

    /// Did this agent make what was there, and nobody else change it since?
    pub(crate) fn was_made_by_agent(&self, effect: &Effect) -> bool {
        self.policy.vfs.was_made_by(&self.call, effect)
    }

    /// That nothing here allows what the tool does.
    pub(crate) fn not_provided(&self) -> Failure {
        let without = self.policy.vfs.workspaces().is_empty().then(|| self.policy.agent.clone());
        Failure::NotProvided { tool: self.tool.name, without }
    }

    /// Plans, weighs, asks, runs.
    pub(crate) fn perform(&self, operation: Operation) -> Result<Outcome, Failure> {
        self.perform_if(operation, |plan| Ok(self.weighed(plan)))
    }

    /// How risky it is by the tool's row, and by how much it takes away.
    fn weighed(&self, plan: &Plan) -> Weight {
        let own = Weight::from((self.tool.risk)(plan.effects()));
        if plan.effects().is_empty() { own } else { own.raised(size::of_plan(self, plan)) }
    }

    /// What the call finds and leaves, as far as it is weighed.
    pub(crate) fn contents<'p>(&'p self, holding: Option<Holding<'p>>) -> Contents<'p> {
        let person = Person::on(self.policy, self.audit);
        Contents::of(person, self.tool.name, &self.given, holding, size::LARGEST).within(&self.call)
    }

    /// The most bytes that an edit can take away, by its arguments; nothing where they do not tell.
    pub(crate) fn most_edited(&self) -> Option<u64> {
        let of_one = |one: &Map<String, Value>| {
            let all = one.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
            one.get("old_string").and_then(Value::as_str).filter(|_| !all).map(|old| old.len() as u64)
        };
        match self.given.get("edits").and_then(Value::as_array) {
            Some(edits) => edits.iter().map(|edit| of_one(edit.as_object()?)).sum(),
            None => of_one(&self.given),
        }
    }

    /// As [`Self::perform`], weighed by what the tool itself knows, which may also stop it.
    pub(crate) fn perform_if(
        &self,
        operation: Operation,
        weigh: impl FnOnce(&Plan) -> Result<Weight, Failure>,
    ) -> Result<Outcome, Failure> {
        self.perform_holding(operation, None, weigh)
    }

    /// As [`Self::perform_if`], of what a command changed already: where a person has to decide, it is kept for them.
    pub(crate) fn perform_holding(
        &self,
        operation: Operation,
        holding: Option<Holding<'_>>,
        weigh: impl FnOnce(&Plan) -> Result<Weight, Failure>,
    ) -> Result<Outcome, Failure> {
        let vfs = &self.policy.vfs;
        self.count(content_of(&operation));
        let plan = vfs.plan(&self.call, operation)?;
        self.spare_protected(&plan)?;
        let Weight { risk: own, why } = weigh(&plan)?;
        let (risk, rule) = self.policy.rules.weigh(self.tool.name, &plan, own);
        let rule = rule.map(RiskRule::told).or(why);
        // What nobody can take back is no light matter, whatever it is.
        let risk = if plan.lost().is_empty() { risk } else { Risk::High };
        self.risk.set(Some(risk));
        if self.control.goes == Goes::UntilJudged {
            return Err(Failure::Rehearsed);
        }
        let plan = plan.noting(&self.note.borrow());
        let plan = if self.aside.get() { plan.aside() } else { plan };
        let requester = self.requester();
        let asked = self.asking(&requester, plan.effects(), rule, holding);
        match vfs.ask(&self.call, &Request { tool: self.tool.name, risk, asked: &asked }, &plan)? {
            Passed::Now(_) if self.control.goes != Goes::All => Err(Failure::Rehearsed),
            Passed::Now(token) => {
                self.effect.set(self.effect.get() || plan.kind().changes());
                let outcome = vfs.run(&self.call, plan, token)?;
                if let Outcome::Read { bytes, .. } = &outcome {
                    self.count(bytes.len());
                }
                Ok(outcome)
            }
            Passed::Parked(id) => {
                // A person is going to be told of it: the record has to last as long as what waits does.
                self.effect.set(true);
                Err(Failure::Parked(id))
            }
            Passed::Edited { arguments, token } => Err(Failure::Edited { arguments, token }),
        }
    }

    /// Who asks, with a token the first time.
    fn requester(&self) -> Requester {
        let mut ours = self.requester.borrow_mut();
        let token = ours.token.take();
        Requester { token, ..ours.clone() }
    }

    /// The call as whoever decides about it sees it.
    fn asking<'p>(
        &'p self,
        requester: &'p Requester,
        effects: &'p [Effect],
        rule: Option<String>,
        holding: Option<Holding<'p>>,
    ) -> Asking<'p> {
        Asking {
            policy: self.policy,
            audit: self.audit,
            redactor: self.redactor,
            requester,
            tool: self.tool.name,
            given: &self.given,
            rule,
            effects,
            holding,
            reads_input: self.control.input.is_some(),
        }
    }

    /// What became of the change of an identical command that ran before.
    pub(crate) fn earlier(&self) -> Result<Earlier, Failure> {
        let requester = self.requester.borrow().clone();
        let asked = self.asking(&requester, &[], None, None);
        let request = Request { tool: self.tool.name, risk: Risk::High, asked: &asked };
        Ok(self.policy.vfs.gate().earlier(&self.call, &request)?)
    }

    /// The agent is told now what became of it; false where it was before.
    pub(crate) fn hears(&self, id: &str) -> Result<bool, Failure> {
        Ok(self.policy.vfs.gate().hears(id, &self.requester.borrow())?)
    }

    /// Keeps a mark until the call is recorded: a process that dies before that has left something to be taken back.
    pub(crate) fn is_under_way(&self, mark: Option<Box<dyn std::any::Any>>) {
        *self.under_way.borrow_mut() = mark;
    }

    /// From now on the call has this token.
    pub(crate) fn brings(&self, token: String) {
        self.requester.borrow_mut().token = Some(token);
    }

    /// Makes the call with the arguments that a person put in the place of the agent's, and says so.
    fn edited(&mut self, arguments: &str, token: String) -> Result<Answer, Failure> {
        let given: Map<String, Value> = serde_json::from_str(arguments).map_err(|_| Failure::Defect)?;
        self.brings(token);
        *self.edited_to.borrow_mut() = Some(arguments.to_owned());
        self.given = given.clone();
        self.path.borrow_mut().clear();
        attempt(self, given)
    }

    /// Whoever calls may keep something from the call that the policy would allow: a run keeps its plan.
    fn spare_protected(&self, plan: &Plan) -> Result<(), Failure> {
        let spared = self.spared();
        if spared.is_empty() {
            return Ok(());
        }
        let mut touched = plan.effects().iter().map(|effect| effect.path.clone()).chain(plan.along());
        touched.find(|path| spared.contains(path)).map_or(Ok(()), |path| Err(Failure::Protected(path)))
    }

    /// All the paths of what is kept from the call: the same file may be reached through two Workspaces.
    pub(crate) fn spared(&self) -> Vec<LogicalPath> {
        self.control.protected.iter().flat_map(|path| self.policy.vfs.names_of(path)).collect()
    }

    /// What a command reads.
    pub(crate) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.control.input.as_ref().map(|input| input.as_fd())
    }

    /// How long a command may take, where a person said so who starts it.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.control.time_limit
    }

    /// Is it only looked whether the call could run?
    pub(crate) fn rehearses(&self) -> bool {
        self.control.goes != Goes::All
    }

    /// The thread of the run that makes the call.
    pub(crate) fn thread(&self) -> Option<&str> {
        self.control.requester.thread.as_deref()
    }

    /// Is it only looked what the policy says?
    pub(crate) fn is_only_judged(&self) -> bool {
        self.control.goes == Goes::UntilJudged
    }

    /// How many files were searched only in part.
    pub(crate) fn cut_short(&self) -> u64 {
        self.call.cancel.cut_short()
    }

    /// Counts content that came in or went out.
    pub(crate) fn count(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }

    /// Stops a call that was cancelled or is out of time, between two operations of it.
    pub(crate) fn check_time(&self, path: &LogicalPath) -> Result<(), Failure> {
        let stop = |source| Failure::Refused(Refused::Store { path: path.clone(), source });
        self.call.tick(0).map_err(stop)
    }
}

/// Runs one call under one policy. Always answers, never without a record, and never with the value of a secret.
pub(crate) fn call(
    policy: &AgentPolicy,
    audit: &dyn Audit,
    redactor: &Redactor,
    name: &str,
    given: Map<String, Value>,
    control: &Control,
) -> Answer {
    redacted(unredacted(policy, audit, redactor, name, given, control), redactor)
}

/// The answer as it may leave.
fn redacted(mut answer: Answer, redactor: &Redactor) -> Answer {
    if redactor.is_empty() {
        return answer;
    }
    for piece in &mut answer.content {
        match piece {
            Piece::Text(text) => redactor.text_in_place(text),
            Piece::Image { data, .. } => {
                if let Some(secret) = redactor.found_in(data) {
                    *piece = Piece::Text(format!("[not shown: this image holds the secret {secret}]"));
                }
            }
        }
    }
    let mut facts = Value::Object(std::mem::take(&mut answer.structured));
    redactor.json(&mut facts);
    if let Value::Object(facts) = facts {
        answer.structured = facts;
    }
    answer
}

/// Makes what a command changed and a person agreed to: the agent's change, recorded as such.
pub(crate) fn make_held(
    policy: &AgentPolicy,
    audit: &dyn Audit,
    redactor: &Redactor,
    held: Held,
    control: &Control,
) -> Answer {
    let Some(tool) = catalogue::find("execute_command") else { return messages::answer_to(&Failure::Defect) };
    let context = Context::of(policy, audit, redactor, tool, Map::new(), control);
    context.path.borrow_mut().push_str(held.path.as_str());
    let made = catch_unwind(AssertUnwindSafe(|| command::held::make(&context, held))).unwrap_or(Err(Failure::Defect));
    redacted(ended(&context, made, Instant::now()), redactor)
}

fn unredacted(
    policy: &AgentPolicy,
    audit: &dyn Audit,
    redactor: &Redactor,
    name: &str,
    given: Map<String, Value>,
    control: &Control,
) -> Answer {
    let began = Instant::now();
    let Some(tool) = catalogue::find(name) else {
        return refuse_unknown(policy, audit, &redactor.text(name), began);
    };
    // What a person may be asked about is told with its arguments.
    let keeps_arguments = !tool.is_read_only() || !policy.rules.0.is_empty();
    let kept = if keeps_arguments { given.clone() } else { Map::new() };
    let mut context = Context::of(policy, audit, redactor, tool, kept, control);
    let mut ran = attempt(&context, given);
    if let Err(Failure::Edited { arguments, token }) = ran {
        ran = context.edited(&arguments, token);
    }
    context.hearing.end();
    // What only was looked at has left nothing to record.
    if let Err(Failure::Rehearsed) = ran {
        return Answer::done("");
    }
    ended(&context, ran, began)
}

/// The answer to a call that is over, logged and recorded.
fn ended(context: &Context<'_>, ran: Result<Answer, Failure>, began: Instant) -> Answer {
    let (answer, denied, reason) = match ran {
        Ok(answer) => (answer, false, ""),
        Err(failure) => (messages::answer_to(&failure), failure.is_denial(), failure.reason()),
    };
    // What is hidden was denied, whatever the agent is told.
    let outcome = if denied { Verdict::Denied.name() } else { answer.verdict.name() };
    let answer = match context.edited_to.borrow().as_deref() {
        Some(arguments) => answer.told_first(&messages::edited_to(arguments)).with("edited", true),
        None => answer,
    };
    log(context, outcome, reason);
    // Under the name of its approval, so that whoever looks back finds who decided: what waits, and what a command had changed before.
    let approval = match &answer.verdict {
        Verdict::Parked(approval) => Some(approval.as_str()),
        _ => answer.structured.get("approval").and_then(Value::as_str),
    };
    let reason = approval.unwrap_or(reason).to_owned();
    record(context, answer, outcome, &reason, began)
}

/// Whatever a tool or a Store does, a panic included, ends here.
fn attempt(context: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    catch_unwind(AssertUnwindSafe(|| run(context, given))).unwrap_or(Err(Failure::Defect))
}

/// Records a call. One that had an effect is not acknowledged without its record.
fn record(context: &Context<'_>, answer: Answer, outcome: &str, reason: &str, began: Instant) -> Answer {
    let path = context.path.borrow();
    let asked = context.policy.path(&path).ok();
    let decision = asked.as_ref().map(|asked| context.policy.vfs.judge(OpKind::Read, asked));
    let reason = match (context.note.borrow().as_str(), reason) {
        ("", reason) => reason.to_owned(),
        (note, "") => note.to_owned(),
        (note, reason) => format!("{reason}: {note}"),
    };
    let record = CallRecord {
        call: context.call.id,
        agent: context.call.agent,
        by: None,
        tool: context.tool.name,
        path: &path,
        workspace: decision.as_ref().and_then(|decision| decision.workspace()).map(Workspace::prefix),
        outcome,
        reason: &reason,
        risk: context.risk.get(),
        bytes: context.bytes.get(),
        took: began.elapsed(),
        effect: context.effect.get(),
    };
    match context.audit.record(&record) {
        Err(error) if context.effect.get() => {
            tracing::error!(call = %context.call.id, error = %error, "the call could not be recorded");
            messages::answer_to(&Failure::NotRecorded)
        }
        Err(error) => {
            tracing::warn!(call = %context.call.id, error = %error, "the call could not be recorded");
            answer
        }
        Ok(()) => answer,
    }
}

/// How much content an operation brings in.
fn content_of(operation: &Operation) -> usize {
    match operation {
        Operation::Write { content, .. } | Operation::Append { content, .. } => content.len(),
        Operation::Edit { edits, .. } => edits.iter().map(|edit| edit.new.len()).sum(),
        Operation::Commit { alterations, .. } => alterations.iter().map(|alteration| alteration.how.bytes()).sum(),
        _ => 0,
    }
}

fn run(context: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    if !context.tool.is_provided(context.policy) {
        return Err(context.not_provided());
    }
    (context.tool.run)(context, given)
}

fn refuse_unknown(policy: &AgentPolicy, audit: &dyn Audit, name: &str, began: Instant) -> Answer {
    let mut given = visible(&name[..name.floor_char_boundary(SHOWN)]);
    if name.len() > SHOWN {
        given.push('…');
    }
    tracing::info!(tool = given, agent = policy.agent.as_str(), verdict = "invalid", "call of an unknown tool");
    let record = CallRecord {
        call: CallId::next(),
        agent: &policy.agent,
        by: None,
        tool: &given,
        path: "",
        workspace: None,
        outcome: "invalid",
        reason: "tool",
        risk: None,
        bytes: 0,
        took: began.elapsed(),
        effect: false,
    };
    if let Err(error) = audit.record(&record) {
        tracing::warn!(error = %error, "the call could not be recorded");
    }
    let nearest = catalogue::nearest_tool(name, policy);
    messages::answer_to(&Failure::NoTool { given, nearest })
}

fn log(context: &Context<'_>, outcome: &str, reason: &str) {
    tracing::info!(
        call = %context.call.id,
        tool = context.tool.name,
        agent = context.policy.agent.as_str(),
        path = context.path.borrow().as_str(),
        verdict = outcome,
        risk = context.risk.get().map_or("", Risk::name),
        reason,
        "call"
    );
}

#[cfg(test)]
mod tests {
    //! Beside the code and not with the other tests of calls: the log of a process is one, and there
    //! other threads would write it too.

    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use paddock_core::{AccessScope, AgentName, HidePattern, Mount, NameRules, NoJournal, Origin, Vfs, Workspace};
    use paddock_stores::MemoryStore;
    use serde_json::json;

    use super::*;
    use crate::gate::RecordingGate;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(act: impl FnOnce()) -> String {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, act);
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    fn policy() -> AgentPolicy {
        let hide = vec![HidePattern { text: "hidden".to_owned(), origin: Origin::unknown() }];
        let workspace = |prefix, scope| {
            let prefix = LogicalPath::parse(prefix, &LogicalPath::top()).unwrap();
            Workspace::new(prefix, scope, Mount::new(Arc::new(MemoryStore::new()), None))
        };
        let workspaces = vec![
            workspace("/w", AccessScope::ReadWrite).with_names(NameRules::new(hide, &[], &[]).unwrap()),
            workspace("/r", AccessScope::ReadOnly),
        ];
        let vfs = Vfs::new(workspaces, Arc::new(RecordingGate::new()), Arc::new(NoJournal)).unwrap();
        AgentPolicy::new(AgentName::main(), LogicalPath::top(), vfs)
    }

    #[test]
    fn each_call_is_logged_with_tool_agent_path_verdict_and_risk() {
        let policy = policy();
        let control = Control::for_at_most(Duration::from_secs(60));
        let ask = |tool: &str, arguments: Value| {
            call(
                &policy,
                &paddock_core::NoAudit,
                &Redactor::none(),
                tool,
                arguments.as_object().cloned().unwrap_or_default(),
                &control,
            );
        };
        let log = logged(|| {
            ask("write_file", json!({"path": "/w/f", "content": "private words"}));
            ask("delete_file", json!({"path": "/w/f"}));
            ask("write_file", json!({"path": "/r/f", "content": "private words"}));
            ask("read_file", json!({"path": "/w/hidden"}));
            ask("read_file", json!({"path": "../up"}));
            ask("teleport", json!({}));
        });
        let expected = [
            "tool=\"write_file\" agent=\"main\" path=\"/w/f\" verdict=\"done\" risk=\"low\" reason=\"\"",
            "tool=\"delete_file\" agent=\"main\" path=\"/w/f\" verdict=\"done\" risk=\"high\" reason=\"\"",
            "tool=\"write_file\" agent=\"main\" path=\"/r/f\" verdict=\"denied\" risk=\"\" reason=\"scope\"",
            // What the agent was told is that it does not exist; the log knows better.
            "tool=\"read_file\" agent=\"main\" path=\"/w/hidden\" verdict=\"denied\" risk=\"\" reason=\"hidden\"",
            "tool=\"read_file\" agent=\"main\" path=\"../up\" verdict=\"denied\" risk=\"\" reason=\"path\"",
            "tool=\"teleport\" agent=\"main\" verdict=\"invalid\"",
        ];
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{log}");
        for (line, part) in lines.iter().zip(expected) {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!log.contains("private words"), "contents are never logged");
    }
}
