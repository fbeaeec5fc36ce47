//! Models behind HTTP: what is the same for every protocol.
//!
//! A question becomes a request, the reply a draft, the draft an answer. What can pass by itself is tried again ([`super::retry`]); a call whose
//! arguments cannot be read is told to the model once, and is an error when it happens again. A protocol knows names and shapes alone. No error
//! that leaves here holds the key or the request.

pub mod address;
pub(super) mod draft;
pub(super) mod messages;
mod wire;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::{BearerToken, Cancel};
use serde_json::Value;

use self::address::BaseUrl;
use self::draft::{BadCall, Draft};
use self::wire::{Reply, Wire};
use super::retry::{self, Failed, Patience, Words};
use super::sse::{Event, Events};
use super::{ModelAnswer, ModelError, ModelMessage, Question, Role};

/// Bytes that are read of a page that tells of an error.
const LONGEST_ERROR: usize = 64 * 1024;
/// Characters of what a service says about an error that are told.
const LONGEST_WORDS: usize = 300;
/// Tokens of an answer, where a protocol wants a number and nobody named one.
pub const LONGEST_ANSWER: u32 = 8192;

/// A model behind a service.
#[derive(Debug, Clone)]
pub struct Service {
    /// What the model is called in records: `openai:NAME`.
    pub called: String,
    /// What the service calls it.
    pub model: String,
    /// Where the service is.
    pub base_url: BaseUrl,
    /// What opens it.
    pub key: Option<BearerToken>,
    /// The longest answer in tokens, where the protocol wants that told.
    pub longest_answer: u32,
    /// How long it may take, and how often it is asked.
    pub patience: Patience,
    /// Stops what is under way.
    pub cancel: Arc<Cancel>,
}

/// How a service wants to be spoken to.
pub(super) trait Protocol {
    /// Where questions go, after the address of the service.
    const PATH: &'static str;

    /// What tells the service who asks.
    fn headers(key: &BearerToken) -> Vec<(&'static str, BearerToken)>;

    /// What it has to be told beside.
    fn plain_headers() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// A question as the service reads it.
    fn request(model: &str, longest: u32, question: &Question) -> Value;

    /// Takes one event of a stream into the draft.
    fn event(event: &Event, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError>;

    /// Takes an answer that came in one piece, from a service that does not stream.
    fn whole(said: &Value, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError>;
}

/// A model that is spoken to in a protocol.
pub(super) struct HttpModel<P> {
    service: Service,
    wire: Wire,
    protocol: PhantomData<fn() -> P>,
}

impl<P: Protocol> HttpModel<P> {
    pub(super) fn new(service: Service) -> Self {
        let plain = P::plain_headers().into_iter().map(|(name, value)| (name, BearerToken::new(value)));
        let headers = plain.chain(service.key.as_ref().map(P::headers).into_iter().flatten()).collect();
        let address = (&service.base_url, P::PATH);
        let wire = Wire::new(address, headers, service.patience.clone(), Arc::clone(&service.cancel));
        Self { service, wire, protocol: PhantomData }
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    pub(super) fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        let deadline = Instant::now() + self.service.patience.total;
        let bad = match self.answer(question, deadline, heard)? {
            Ok(answer) => return Ok(answer),
            Err(bad) => bad,
        };
        tracing::warn!(
            model = self.service.called,
            tool = bad.name,
            why = bad.why,
            "a call cannot be read; the model is told"
        );
        let told = telling(question, &bad);
        let mut answer = self.answer(&told, deadline, heard)?.map_err(|bad| self.without_key(bad.error()))?;
        answer.usage += bad.usage;
        Ok(answer)
    }

    fn answer(
        &self,
        question: &Question,
        deadline: Instant,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Result<ModelAnswer, BadCall>, ModelError> {
        let body: Arc<str> = P::request(&self.service.model, self.service.longest_answer, question).to_string().into();
        let draft = self.persist(&body, deadline, &mut Words::new(heard)).map_err(|error| self.without_key(error))?;
        draft.answer(body.len()).map_err(|error| self.without_key(error))
    }

    /// Asks until there is an answer, or no more attempt is worth it.
    fn persist(&self, body: &Arc<str>, deadline: Instant, words: &mut Words<'_>) -> Result<Draft, ModelError> {
        let mut attempt = 1;
        loop {
            words.anew();
            let failed = match self.attempt(body, deadline, words) {
                Ok(draft) => return Ok(draft),
                Err(failed) => failed,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(wait) = self.service.patience.wait(attempt, &failed, left) else { return Err(failed.error) };
            let error = self.without_key(failed.error);
            tracing::warn!(model = self.service.called, attempt, ?wait, %error, "the model is asked again");
            retry::pause(wait, &self.service.cancel)?;
            attempt += 1;
        }
    }

    fn attempt(&self, body: &Arc<str>, deadline: Instant, words: &mut Words<'_>) -> Result<Draft, Failed> {
        if retry::is_stopped(&self.service.cancel) {
            return Err(ModelError::Cancelled.into());
        }
        let mut reply = self.wire.post(Arc::clone(body), deadline)?;
        if reply.head.status != 200 {
            return Err(refused(&mut reply));
        }
        let mut draft = Draft::default();
        match reply.head.content_type.as_str() {
            "text/event-stream" | "" => stream::<P>(&mut reply, &mut draft, words)?,
            "application/json" => {
                let body = reply.body(usize::MAX)?;
                let said: Value = serde_json::from_slice(&body)
                    .map_err(|error| ModelError::Malformed(format!("it is not JSON ({error})")))?;
                P::whole(&said, &mut draft, words)?;
            }
            other => {
                let why =
                    format!("it is of the type \"{}\", and no answer of a model: is base_url right?", plain(other));
                return Err(ModelError::Malformed(why).into());
            }
        }
        Ok(draft)
    }

    /// The same error, should a service have repeated the key in it.
    fn without_key(&self, error: ModelError) -> ModelError {
        let Some(key) = self.service.key.as_ref().map(BearerToken::expose).filter(|key| !key.is_empty()) else {
            return error;
        };
        let clean = |text: String| text.replace(key, "…");
        match error {
            ModelError::Unreachable(text) => ModelError::Unreachable(clean(text)),
            ModelError::Malformed(text) => ModelError::Malformed(clean(text)),
            ModelError::Refused { status, message } => ModelError::Refused { status, message: clean(message) },
            other => other,
        }
    }
}

/// Reads events until the answer is whole. Words that have come are told at once.
fn stream<P: Protocol>(reply: &mut Reply<'_>, draft: &mut Draft, words: &mut Words<'_>) -> Result<(), ModelError> {
    let mut events = Events::default();
    while !draft.over {
        let bytes = match reply.bytes() {
            Ok(Some(bytes)) => bytes,
            // What comes after the last word is of no account.
            Ok(None) | Err(ModelError::Unreachable(_) | ModelError::Slow) if draft.is_whole() => break,
            Ok(None) => {
                return Err(ModelError::Unreachable("the connection ended in the middle of an answer".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let whole = events.take(&bytes).map_err(|error| ModelError::Malformed(error.to_string()))?;
        for event in &whole {
            P::event(event, draft, words)?;
        }
    }
    Ok(())
}

/// The question again, with a word about the call that could not be read.
fn telling(question: &Question, bad: &BadCall) -> Question {
    let mut again = question.clone();
    if !bad.content.trim().is_empty() {
        again.messages.push(ModelMessage::of(Role::Assistant, bad.content.clone()));
    }
    let told = format!(
        "Your call of \"{}\" was not made: its arguments {}. Call it again with one JSON object of arguments.",
        bad.name, bad.why
    );
    again.messages.push(ModelMessage::of(Role::User, told));
    again
}

/// What a status other than that of an answer means.
fn refused(reply: &mut Reply<'_>) -> Failed {
    let (status, retry_after) = (reply.head.status, reply.head.retry_after);
    if (300..400).contains(&status) {
        let message = "it leads elsewhere, which is not followed: the key is for this address alone".to_owned();
        return ModelError::Refused { status, message }.into();
    }
    // Without its words it is still that status.
    let body = match reply.body(LONGEST_ERROR) {
        Err(ModelError::Cancelled) => return ModelError::Cancelled.into(),
        body => body.unwrap_or_default(),
    };
    let said: Value = serde_json::from_slice(&body).unwrap_or_else(|_| page(&body));
    let error = said.get("error").unwrap_or(&said);
    Failed { error: service_error(status, error), retry_after: retry_after.filter(|wait| *wait < Duration::MAX) }
}

/// A page that is not JSON: its words, unless it is written for a browser.
fn page(body: &[u8]) -> Value {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') { "a page for a browser".into() } else { text.into_owned().into() }
}

/// An error that a service tells of, before an answer or in the middle of one.
pub(super) fn service_error(status: u16, error: &Value) -> ModelError {
    let is_passing = matches!(status, 408 | 409 | 429 | 500..=599);
    // The same status stands for "slower" and for "you have paid for no more"; only the first one passes.
    let is_spent = [&error["code"], &error["type"]].iter().any(|word| **word == "insufficient_quota");
    if is_passing && !is_spent {
        return ModelError::Busy { status };
    }
    let words = error.get("message").unwrap_or(error).as_str().unwrap_or_default();
    let message = if words.trim().is_empty() { "it does not say why".to_owned() } else { plain(words) };
    ModelError::Refused { status, message }
}

/// Words of a service on one line, without what steers a terminal, and not too many.
fn plain(words: &str) -> String {
    let seen: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_WORDS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
