//! A call as a person who decides about it sees it: its arguments, its rule, and what it would change.
//!
//! Made only when somebody is asked. What was there is read as that person may read it, so hidden names stay hidden; values of secrets stay
//! out of everything that is shown or kept.

use std::collections::BTreeMap;
use std::time::Instant;

use paddock_core::{
    AgentPolicy, Alter, Asked, Audit, CallId, CallRecord, Effect, EffectKind, ErrorKind, Held, Holding, Kind, OpKind,
    Operation, Outcome, PLAIN_MODE, Preview, Question, Refused, Requester, Terms, TextKind, Workspace, visible,
};
use paddock_state::Redactor;
use serde_json::{Map, Value};
use similar::TextDiff;

use crate::answer::Answer;
use crate::arguments;
use crate::boundary;
use crate::catalogue;
use crate::contents::{Contents, brings_content};
use crate::control::Control;
use crate::person::Person;
use crate::policy::PolicySource;

/// The largest content that is shown line by line.
const LARGEST: usize = 256 * 1024;
/// What a diff calls the side on which nothing is.
const NOWHERE: &str = "/dev/null";
/// The most of a preview, in bytes.
const LONGEST: usize = 512 * 1024;
/// The mode of a file that nobody gave another.
const PLAIN_FILE: u32 = 0o644;
/// The most paths that are listed.
const MOST_PATHS: usize = 500;

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
    let record = CallRecord {
        call: CallId::next(),
        agent: &policy.agent,
        by: None,
        tool: if agrees { "approvals approve" } else { "approvals reject" },
        path: &question.path,
        workspace: decision.as_ref().and_then(|decision| decision.workspace()).map(Workspace::prefix),
        outcome: if decided.is_ok() { "done" } else { "failed" },
        reason: if decided.is_ok() { "" } else { "client" },
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
        self.effects.iter().filter(unseen).map(version).collect()
    }

    fn preview(&self) -> Preview {
        let mut preview = Preview { text: String::new(), whole: true };
        if self.tool == "execute_command" && self.holding.is_none() {
            let text = "what it will do is not known before it runs\n".to_owned();
            return Preview { text, whole: false };
        }
        let mut cut = self.effects.len() > MOST_PATHS;
        for effect in self.effects.iter().take(MOST_PATHS) {
            self.show(effect, &mut preview);
            if preview.text.len() > LONGEST {
                preview.text.truncate(preview.text.floor_char_boundary(LONGEST));
                cut = true;
                break;
            }
        }
        // A file whose content cannot be shown is named with the reason: nothing is missing after it.
        if cut {
            preview.whole = false;
            preview.text.push_str("\n… and more that is not shown\n");
        }
        self.redactor.text_in_place(&mut preview.text);
        preview.text = seen(&preview.text);
        preview
    }
}

/// The same with every character shown that a reader would not see, or that would make them read something else.
fn seen(text: &str) -> String {
    // Tabs steer nothing, and code is full of them.
    let line = |line: &str| line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

impl Asking<'_> {
    fn show(&self, effect: &Effect, preview: &mut Preview) {
        let path = effect.path.as_str();
        let looks = self.looks(effect).map(|looks| format!("~ {path} ({looks})\n"));
        let line = match effect.what {
            EffectKind::MakeDir => format!("+ {path}/\n"),
            EffectKind::MoveAway => format!("- {path} (moved away)\n"),
            EffectKind::MoveHere => format!("+ {path} (moved here)\n"),
            EffectKind::Dress => looks.unwrap_or_else(|| format!("~ {path} (mode or time)\n")),
            EffectKind::Delete => self.gone(effect, preview),
            EffectKind::Create | EffectKind::Replace | EffectKind::Append | EffectKind::Deliver => {
                let content = self.diff(effect).unwrap_or_else(|why| {
                    preview.whole = false;
                    format!("~ {path} ({why})\n")
                });
                looks.unwrap_or_default() + &content
            }
        };
        preview.text.push_str(&line);
    }

    /// What goes, with its lines where it is a text.
    fn gone(&self, effect: &Effect, preview: &mut Preview) -> String {
        let path = effect.path.as_str();
        if effect.was.as_ref().is_some_and(|was| was.kind == Kind::Dir) {
            return format!("- {path}/\n");
        }
        let compared = match self.contents().before(effect) {
            Ok(old) => compared(path, Some(&old), None).map(|diff| format!("- {path} (deleted)\n{diff}")),
            // Of what a recursive delete expanded to, the plan did not say what it was. What it holds is listed beside it.
            Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::IsADirectory => {
                return format!("- {path}/\n");
            }
            Err(_) => Err("a link, or not readable".to_owned()),
        };
        compared.unwrap_or_else(|why| {
            preview.whole = false;
            format!("- {path} (deleted; {why})\n")
        })
    }

    /// What changes in a file; or why that cannot be shown.
    fn diff(&self, effect: &Effect) -> Result<String, String> {
        let unknown = || "content not shown".to_owned();
        let contents = self.contents();
        if let Some(Alter::Link { leads_to }) = contents.altered(effect) {
            return Ok(format!("+ {} -> {leads_to}\n", effect.path));
        }
        let old = match effect.what {
            EffectKind::Create => None,
            _ => Some(Self::old(&contents, effect).ok_or_else(unknown)?),
        };
        let new = contents.after(effect, old.as_deref().unwrap_or_default()).ok_or_else(unknown)?;
        compared(effect.path.as_str(), old.as_deref(), Some(&new))
    }

    /// What becomes of the mode of a path, where that is worth a look.
    fn looks(&self, effect: &Effect) -> Option<String> {
        let was = effect.was.as_ref().filter(|was| was.kind != Kind::Link).and_then(|was| was.looks.mode);
        let now = match self.contents().made_of(effect, |how| brings_content(how) || matches!(how, Alter::Dress(_)))? {
            Alter::Dress(looks) => looks.mode,
            Alter::Take(staged) => Some(staged.mode()),
            // One that is there keeps its mode.
            Alter::Write { mode, .. } => mode.filter(|_| effect.what == EffectKind::Create),
            _ => None,
        };
        mode_changes(effect.what, was, now?)
    }

    /// What the call finds and leaves, as far as that is shown.
    fn contents(&self) -> Contents<'_> {
        Contents {
            person: Person::on(self.policy, self.audit),
            call: None,
            tool: self.tool,
            given: self.given,
            holding: self.holding,
            most: LARGEST,
        }
    }

    /// What is there now, as far as it is shown.
    fn old(contents: &Contents<'_>, effect: &Effect) -> Option<Vec<u8>> {
        let unseen = || (effect.what == EffectKind::Deliver).then(Vec::new);
        contents.before(effect).map_or_else(|_| unseen(), Some)
    }
}

/// A mode in words, where it is not what anybody would expect. What had none before is new, was a link, or is in a Store that
/// keeps none.
fn mode_changes(what: EffectKind, was: Option<u32>, now: u32) -> Option<String> {
    match (was.map(|was| was & PLAIN_MODE), now & PLAIN_MODE) {
        (Some(was), now) => (was != now).then(|| format!("mode {was:03o} → {now:03o}")),
        (None, PLAIN_FILE) if what != EffectKind::Dress => None,
        (None, now) if what == EffectKind::Create => Some(format!("new file mode 100{now:03o}")),
        (None, now) => Some(format!("mode {now:03o}")),
    }
}

/// Two contents as a diff, either of which may not be there; or why they cannot be shown.
fn compared(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<String, String> {
    let name = |side: Option<&[u8]>| if side.is_some() { path } else { NOWHERE };
    let names = format!("--- {}\n+++ {}\n", name(old), name(new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old.len() > LARGEST || new.len() > LARGEST {
        return Err(format!("too long to be shown: {} bytes", new.len().max(old.len())));
    }
    let binary = || format!("no text: {} bytes", new.len().max(old.len()));
    let old_text = TextKind::of(old).decode(old).ok_or_else(binary)?;
    let new_text = TextKind::of(new).decode(new).ok_or_else(binary)?;
    let hunks = TextDiff::from_lines(old_text.as_str(), new_text.as_str()).unified_diff().to_string();
    Ok(format!("{names}{hunks}"))
}
