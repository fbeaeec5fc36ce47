//! Message and MessageEvent: what a conversation is made of, in the order and with the names of the stored format.
//!
//! What a model or a tool said is kept as the JSON text it came as: numbers keep their digits and objects the order of
//! their keys, so that files written elsewhere come back as they were. It must never look into a content.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Redactor, Timestamp};

/// A JSON value as it was written, on one line.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The value that a text holds.
    ///
    /// # Errors
    /// When it holds none, or more than one.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        // A line break between two tokens would end the line of the file; inside of a string there is none.
        if text.contains(['\n', '\r']) {
            let value: Value = serde_json::from_str(text)?;
            return Ok(Self::from(&value));
        }
        RawValue::from_string(text.to_owned()).map(Self)
    }

    /// As text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// As a value to look into. Numbers beyond what JSON readers agree on lose digits here, not in the file.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or(Value::Null)
    }

    fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        let written = serde_json::value::to_raw_value(value);
        // A value has string keys only, so it can always be written.
        Self(written.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get().contains(['\n', '\r']) {
            Self::parse(raw.get()).map_err(serde::de::Error::custom)
        } else {
            Ok(Self(raw))
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() || self.value() == other.value()
    }
}

/// Who a message comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum MessageSource {
    /// The person.
    User,
    /// The model, in a step of the turn.
    Assistant {
        /// The step.
        step_id: String,
    },
    /// A tool, answering a call.
    Tool {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
    },
    /// The program that runs the agent.
    System,
    /// An extension.
    Extension {
        /// Which.
        extension_name: String,
    },
}

/// One message: `data` is `{role, content}` as models read it, `metadata` whatever its maker keeps beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire")]
pub struct Message {
    id: String,
    data: Json,
    metadata: Json,
    #[serde(rename = "createdAt")]
    created_at: Timestamp,
    source: MessageSource,
}

/// A message as it is read, before anybody looked whether it is one.
#[derive(Deserialize)]
struct Wire {
    id: String,
    data: Json,
    #[serde(default)]
    metadata: Option<Json>,
    #[serde(rename = "createdAt")]
    created_at: Timestamp,
    source: MessageSource,
}

impl TryFrom<Wire> for Message {
    type Error = BadMessage;

    fn try_from(wire: Wire) -> Result<Self, BadMessage> {
        let metadata = wire.metadata.unwrap_or_else(|| Json::from(&Value::Object(serde_json::Map::new())));
        Self { id: wire.id, data: wire.data, metadata, created_at: wire.created_at, source: wire.source }.checked()
    }
}

/// Why something is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// No role and content in it.
    #[error("the data of message {0:?} is no object with a role (a text) and a content")]
    Data(String),
    /// Metadata that is no object.
    #[error("the metadata of message {0:?} is no object")]
    Metadata(String),
}

/// What must be in the data of a message; there may be more.
#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    role: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Message {
    /// A message made now.
    pub fn new(id: impl Into<String>, role: &str, content: &Value, source: MessageSource) -> Self {
        let mut data = String::from("{\"role\":");
        data.push_str(Json::from(&Value::from(role)).text());
        data.push_str(",\"content\":");
        data.push_str(Json::from(content).text());
        data.push('}');
        let data = Json::parse(&data).unwrap_or_else(|_| Json::from(&Value::Null));
        let metadata = Json::from(&Value::Object(serde_json::Map::new()));
        Self { id: id.into(), data, metadata, created_at: Timestamp::now(), source }
    }

    /// The same without values of secrets, with which others than Paddock may have written it. Where none is in it, it stays byte by
    /// byte as it is.
    #[must_use]
    pub fn redacted(mut self, redactor: &Redactor) -> Self {
        redactor.text_in_place(&mut self.id);
        for json in [&mut self.data, &mut self.metadata] {
            let mut value = json.value();
            redactor.json(&mut value);
            if value != json.value() {
                *json = Json::from(&value);
            }
        }
        match &mut self.source {
            MessageSource::User | MessageSource::System => {}
            MessageSource::Assistant { step_id: text } | MessageSource::Extension { extension_name: text } => {
                redactor.text_in_place(text);
            }
            MessageSource::Tool { tool_call_id, tool_name } => {
                redactor.text_in_place(tool_call_id);
                redactor.text_in_place(tool_name);
            }
        }
        self
    }

    fn checked(self) -> Result<Self, BadMessage> {
        if !self.metadata.is_object() {
            return Err(BadMessage::Metadata(self.id));
        }
        match self.look() {
            Some(_) => Ok(self),
            None => Err(BadMessage::Data(self.id)),
        }
    }

    fn look(&self) -> Option<Data<'_>> {
        serde_json::from_str(self.data.text()).ok()
    }

    /// Its id. Two messages may have the same.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who speaks, as models name it.
    #[must_use]
    pub fn role(&self) -> String {
        self.look().map(|data| data.role.into_owned()).unwrap_or_default()
    }

    /// What is said.
    #[must_use]
    pub fn content(&self) -> Value {
        self.look().and_then(|data| serde_json::from_str(data.content.get()).ok()).unwrap_or(Value::Null)
    }

    /// Role, content and whatever else its maker put there.
    #[must_use]
    pub fn data(&self) -> &Json {
        &self.data
    }

    /// What its maker keeps beside it.
    #[must_use]
    pub fn metadata(&self) -> &Json {
        &self.metadata
    }

    /// When it was made.
    #[must_use]
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Who it comes from.
    #[must_use]
    pub fn source(&self) -> &MessageSource {
        &self.source
    }
}

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "EventWire", try_from = "EventWire")]
pub enum MessageEvent {
    /// One more message at the end.
    Append {
        /// The message.
        message: Message,
    },
    /// Another message in the place of the first with that id.
    Replace {
        /// The id.
        target_id: String,
        /// The new message.
        message: Message,
    },
    /// Without the first message with that id.
    Remove {
        /// The id.
        target_id: String,
    },
    /// Without any message.
    Truncate,
}

impl MessageEvent {
    /// The same without values of secrets, as [`Message::redacted`].
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let plain = |id: String| redactor.text(&id).into_owned();
        match self {
            Self::Append { message } => Self::Append { message: message.redacted(redactor) },
            Self::Replace { target_id, message } => {
                Self::Replace { target_id: plain(target_id), message: message.redacted(redactor) }
            }
            Self::Remove { target_id } => Self::Remove { target_id: plain(target_id) },
            Self::Truncate => Self::Truncate,
        }
    }

    /// Whether it only adds: then nothing that is confirmed has to be written again.
    #[must_use]
    pub fn is_append(&self) -> bool {
        matches!(self, Self::Append { .. })
    }

    /// The id it looks for.
    #[must_use]
    pub fn target_id(&self) -> Option<&str> {
        match self {
            Self::Replace { target_id, .. } | Self::Remove { target_id } => Some(target_id),
            Self::Append { .. } | Self::Truncate => None,
        }
    }
}

/// An event as it stands in the file.
#[derive(Serialize, Deserialize)]
struct EventWire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "targetId", default, skip_serializing_if = "Option::is_none")]
    target_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

impl From<MessageEvent> for EventWire {
    fn from(event: MessageEvent) -> Self {
        let (kind, target_id, message) = match event {
            MessageEvent::Append { message } => ("append", None, Some(message)),
            MessageEvent::Replace { target_id, message } => ("replace", Some(target_id), Some(message)),
            MessageEvent::Remove { target_id } => ("remove", Some(target_id), None),
            MessageEvent::Truncate => ("truncate", None, None),
        };
        Self { kind: kind.to_owned(), target_id, message }
    }
}

impl TryFrom<EventWire> for MessageEvent {
    type Error = String;

    fn try_from(wire: EventWire) -> Result<Self, String> {
        match (wire.kind.as_str(), wire.target_id, wire.message) {
            ("append", _, Some(message)) => Ok(Self::Append { message }),
            ("replace", Some(target_id), Some(message)) => Ok(Self::Replace { target_id, message }),
            ("remove", Some(target_id), _) => Ok(Self::Remove { target_id }),
            ("truncate", _, _) => Ok(Self::Truncate),
            ("append" | "replace", _, None) => Err(format!("an event {:?} without its message", wire.kind)),
            ("replace" | "remove", None, _) => Err(format!("an event {:?} without its targetId", wire.kind)),
            (other, _, _) => Err(format!("{other:?} is no kind of event")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"id":"m1","data":{"role":"assistant","content":[{"z":1,"a":12345678901234567890123}],"name":"x"},"metadata":{"b":1.0,"a":null},"createdAt":"2026-11-15T12:30:00.000Z","source":{"type":"tool","toolCallId":"c1","toolName":"read_file"}}"#;

    #[test]
    fn a_message_comes_back_as_it_was_written() {
        let message: Message = serde_json::from_str(LINE).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), LINE);
        assert_eq!(message.role(), "assistant");
    }

    #[test]
    fn every_source_has_the_fields_of_the_format() {
        let written = |source: MessageSource| serde_json::to_string(&source).unwrap();
        assert_eq!(written(MessageSource::User), r#"{"type":"user"}"#);
        assert_eq!(written(MessageSource::System), r#"{"type":"system"}"#);
        assert_eq!(written(MessageSource::Assistant { step_id: "s".into() }), r#"{"type":"assistant","stepId":"s"}"#);
        assert_eq!(
            written(MessageSource::Extension { extension_name: "e".into() }),
            r#"{"type":"extension","extensionName":"e"}"#
        );
    }

    #[test]
    fn every_event_is_written_and_read() {
        let message = Message::new("m", "user", &Value::from("hi"), MessageSource::User);
        let events = [
            (MessageEvent::Append { message: message.clone() }, r#"{"type":"append","message":{"id":"m""#),
            (
                MessageEvent::Replace { target_id: "t".into(), message },
                r#"{"type":"replace","targetId":"t","message":{"id":"m""#,
            ),
            (MessageEvent::Remove { target_id: "t".into() }, r#"{"type":"remove","targetId":"t"}"#),
            (MessageEvent::Truncate, r#"{"type":"truncate"}"#),
        ];
        for (event, begins) in events {
            let text = serde_json::to_string(&event).unwrap();
            assert!(text.starts_with(begins), "{text}");
            assert_eq!(serde_json::from_str::<MessageEvent>(&text).unwrap(), event);
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_reason() {
        for (from, to) in [
            (r#""role":"assistant","#, ""),
            (r#""role":"assistant""#, r#""role":1"#),
            (r#""metadata":{"b":1.0,"a":null}"#, r#""metadata":3"#),
            ("2026-11-15T12:30:00.000Z", "noon"),
            (r#","toolName":"read_file""#, ""),
        ] {
            let text = LINE.replace(from, to);
            assert_ne!(text, LINE);
            assert!(serde_json::from_str::<Message>(&text).is_err(), "{text}");
        }
        for text in [r#"{"type":"append"}"#, r#"{"type":"remove"}"#, r#"{"type":"swap","targetId":"x"}"#] {
            assert!(serde_json::from_str::<MessageEvent>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_of_a_secret_goes_from_wherever_it_stands_and_nothing_else_changes() {
        let value = crate::SecretValue::to_store(b"tok_0123456789".to_vec()).unwrap();
        let redactor = Redactor::of([(crate::SecretName::parse("key").unwrap(), value)]);
        let text = |word: &str| {
            format!(
                r#"{{"id":"m-{word}","data":{{"role":"tool","content":["say {word}"]}},"metadata":{{"{word}":"{word}"}},"createdAt":"2026-11-15T12:30:00.000Z","source":{{"type":"tool","toolCallId":"{word}","toolName":"t-{word}"}}}}"#
            )
        };
        let read = |text: &str| serde_json::from_str::<Message>(text).unwrap();
        assert_eq!(read(&text("tok_0123456789")).redacted(&redactor), read(&text("[secret key]")));
        let event = |word: &str| MessageEvent::Replace { target_id: word.to_owned(), message: read(&text(word)) };
        assert_eq!(event("tok_0123456789").redacted(&redactor), event("[secret key]"));
        let exact = text("plain").replace("{\"plain\":\"plain\"}", r#"{"z": 12345678901234567890123, "a":1.0}"#);
        let written = |message: &Message| serde_json::to_string(message).unwrap();
        assert_eq!(written(&read(&exact).redacted(&redactor)), written(&read(&exact)));
    }

    #[test]
    fn a_line_break_never_gets_into_a_line() {
        let json = Json::parse("{\n \"a\": \"b\\nc\"\n}").unwrap();
        assert_eq!(json.text(), r#"{"a":"b\nc"}"#);
    }
}
