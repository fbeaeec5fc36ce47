//! A call as a person who decides about it sees it: its arguments, its rule, and what it would change.
//!
//! Made only when somebody is asked. What was there is read as that person may read it, so hidden names stay hidden; values of secrets stay
//! out of everything that is shown or kept.

mod lines;
mod preview;

use std::collections::BTreeMap;
use std::time::Instant;

use paddock_core::{
    AgentPolicy, Asked, Audit, Browse, CallId, CallRecord, Effect, EffectKind, Held, Holding, Kind, LogicalPath,
    OpKind, Operation, Outcome, Preview, Question, Requester, Terms, Workspace,
};
use paddock_state::Redactor;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::arguments;
use crate::boundary;
use crate::catalogue;
use crate::control::Control;
use crate::person::Person;
use crate::policy::PolicySource;

/// As many paths as one call takes.
const MOST_ALONG: usize = 100_000;

/// The one text that stands for arguments: equal arguments are equal texts, in whatever order they came.
pub fn canonical(arguments: &Map<String, Value>) -> String {
    in_order(&Value::Object(arguments.clone())).to_string()
}

/// The same with the names of every object in order; a map may keep them as they came.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), in_order(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(in_order).collect()),
        other => other.clone(),
    }
}

/// Whether arguments are those of a tool, without making a call.
///
/// # Errors
/// In words, when they are not.
pub fn check_arguments(tool: &str, arguments: &Map<String, Value>) -> Result<(), String> {
    let tool = catalogue::find(tool).ok_or_else(|| format!("there is no tool \"{tool}\""))?;
    arguments::read::<Value>(&tool.schema, arguments.clone()).map(|_| ()).map_err(|bad| bad.to_string())
}

/// Does a directory move, with all that is in it?
fn moves_along(effect: &Effect) -> bool {
    effect.what == EffectKind::MoveAway && effect.was.as_ref().is_some_and(|was| was.kind == Kind::Dir)
}

/// What is in a directory, each file with its version: whoever agrees to its move agrees to what arrives.
fn below(person: &Person<'_>, directory: &LogicalPath) -> String {
    let browse = Browse { path: directory.clone(), depth: None, skip_ignored: false, after: None, limit: MOST_ALONG };
    let Ok(Outcome::Entries(entries)) = person.look(Operation::List(browse)) else { return "unread\n".to_owned() };
    let version = |path: &LogicalPath| match person.look(Operation::Read { path: path.clone(), range: 0..0 }) {
        Ok(Outcome::Read { meta, .. }) => meta.version.to_string(),
        _ => String::new(),
    };
    let told = |path: LogicalPath| format!("{path} {}\n", version(&path));
    entries.found.iter().filter_map(|found| LogicalPath::parse(found.path, directory).ok()).map(told).collect()
}

/// Makes what a command of an agent changed and a person agreed to, without running it again. It is the agent's change, judged
/// under the policy that holds now.
pub fn make_held(source: &dyn PolicySource, held: Held, control: &Control) -> Answer {
    let policy = source.current();
    boundary::make_held(&policy, source.audit(), &source.redactor(), held, control)
}

/// What the person in front of a client is asked about a call that waits: only where the configuration entrusts that client with
/// it, by the name that it gives.
pub fn question(
    source: &dyn PolicySource,
    client: &str,
    id: &str,
    tool: &str,
    given: &Map<String, Value>,
) -> Option<Question> {
    let policy = source.current();
    let is_entrusted = !client.is_empty() && policy.terms.entrusted.iter().any(|name| name == client);
    is_entrusted.then(|| policy.vfs.gate().question(&policy.agent, id, tool, &canonical(given))).flatten()
}

/// Decides what was asked, as the client that asked, and records it. False where it could not be decided any more.
pub fn answer_question(source: &dyn PolicySource, question: &Question, client: &str, agrees: bool) -> bool {
    let began = Instant::now();
    let policy = source.current();
    let decided = policy.vfs.gate().answered(&question.id, &format!("client {client}"), agrees);
    let path = policy.path(&question.path).ok();
    let decision = path.as_ref().map(|path| policy.vfs.judge(OpKind::Read, path));
    let how = if agrees { "once" } else { "declined when the client asked" };
    let record = CallRecord {
        call: CallId::next(),
        agent: &policy.agent,
        by: None,
        tool: if agrees { "approvals approve" } else { "approvals reject" },
        path: &question.path,
        workspace: decision.as_ref().and_then(|decision| decision.workspace()).map(Workspace::prefix),
        outcome: if decided.is_ok() { "done" } else { "failed" },
        reason: &format!("{}: {how}", question.id),
        risk: None,
        bytes: 0,
        took: began.elapsed(),
        effect: true,
    };
    let recorded = source.audit().record(&record);
    if let Err(error) = &recorded {
        tracing::error!(%error, "a decision could not be recorded");
    }
    decided.is_ok() && recorded.is_ok()
}

/// What is known of a call when its plan is put before the Gate.
pub(crate) struct Asking<'a> {
    pub(crate) policy: &'a AgentPolicy,
    pub(crate) audit: &'a dyn Audit,
    pub(crate) redactor: &'a Redactor,
    pub(crate) requester: &'a Requester,
    pub(crate) tool: &'static str,
    pub(crate) given: &'a Map<String, Value>,
    pub(crate) rule: Option<String>,
    pub(crate) effects: &'a [Effect],
    /// What a command changed already.
    pub(crate) holding: Option<Holding<'a>>,
    /// Does it depend on bytes that are in no argument?
    pub(crate) reads_input: bool,
}

impl Asked for Asking<'_> {
    fn terms(&self) -> &Terms {
        &self.policy.terms
    }

    fn requester(&self) -> &Requester {
        self.requester
    }

    fn rule(&self) -> Option<String> {
        self.rule.clone()
    }

    fn arguments(&self) -> String {
        let arguments = canonical(self.given);
        // Never the same call as one without an input.
        if self.reads_input { format!("{arguments} and an input") } else { arguments }
    }

    fn shown_arguments(&self) -> String {
        let mut shown = Value::Object(self.given.clone());
        self.redactor.json(&mut shown);
        in_order(&shown).to_string()
    }

    fn holding(&self) -> Option<Holding<'_>> {
        self.holding
    }

    fn state(&self) -> String {
        // A plan to delete does not look at each file; whoever agrees to it agrees to what the files hold.
        let unseen = |effect: &&Effect| effect.what == EffectKind::Delete && effect.before.is_none();
        let person = Person::on(self.policy, self.audit);
        let version = |effect: &Effect| match person.look(Operation::Read { path: effect.path.clone(), range: 0..0 }) {
            Ok(Outcome::Read { meta, .. }) => format!("{} {}\n", effect.path, meta.version),
            _ => format!("{}\n", effect.path),
        };
        let unseen = self.effects.iter().filter(unseen).map(version);
        unseen
            .chain(self.effects.iter().filter(|effect| moves_along(effect)).map(|effect| below(&person, &effect.path)))
            .collect()
    }

    fn preview(&self) -> Preview {
        preview::of(self)
    }
}
