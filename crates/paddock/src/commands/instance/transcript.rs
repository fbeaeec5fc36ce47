//! `instance messages`: a conversation, for people to read or for programs, however long it is.
//!
//! Messages are given out as they are read and never gathered, but for `--last`, which keeps as many as it shows.

use std::collections::VecDeque;
use std::io::{BufWriter, Write};

use paddock_core::visible;
use paddock_state::conversation::{Message, MessageSource};
use serde_json::Value;

use super::{Named, tell_notices};
use crate::cli::InstanceMessages;
use crate::commands::threads::asked_for;
use crate::failure::Ended;
use crate::printer::{Look, Printer};
use paddock_desk::moment;

pub(super) fn run(named: &Named, options: &InstanceMessages, printer: &Printer) -> anyhow::Result<Ended> {
    let mut out = BufWriter::with_capacity(64 * 1024, printer.stream());
    let mut writer = Writer { form: Form::of(options), printer, out: &mut out, count: 0, failed: None };
    let mut last = options.last.map(|most| Last { most, messages: VecDeque::new() });
    let read = named.instances().read(&named.key, &mut |message| match &mut last {
        Some(last) => last.add(message),
        None => writer.write(&message),
    });
    if let Ok(seen) = &read {
        last.into_iter().flat_map(|last| last.messages).for_each(|message| writer.write(&message));
        writer.finish()?;
        tell_notices(&seen.notices);
    }
    // What comes before a damaged line is shown; a JSON array is not closed then, and so is none.
    out.flush()?;
    read.map_err(|error| named.problem(&error))?;
    Ok(Ended::Done)
}

/// How messages are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    ForPeople,
    Array,
    Lines,
}

impl Form {
    fn of(options: &InstanceMessages) -> Self {
        match (options.json, options.jsonl) {
            (true, _) => Self::Array,
            (_, true) => Self::Lines,
            _ => Self::ForPeople,
        }
    }
}

/// The last of many.
struct Last {
    most: usize,
    messages: VecDeque<Message>,
}

impl Last {
    fn add(&mut self, message: Message) {
        self.messages.push_back(message);
        if self.messages.len() > self.most {
            self.messages.pop_front();
        }
    }
}

/// Writes one message after the other; the first failure is kept, and nothing is written after it.
struct Writer<'a> {
    form: Form,
    printer: &'a Printer,
    out: &'a mut dyn Write,
    count: u64,
    failed: Option<std::io::Error>,
}

impl Writer<'_> {
    fn write(&mut self, message: &Message) {
        if self.failed.is_some() || !self.printer.is_read() {
            return;
        }
        let first = self.count == 0;
        self.count += 1;
        let written = match self.form {
            Form::Lines => line(self.out, message),
            Form::Array => self
                .out
                .write_all(if first { b"[\n  " } else { b",\n  " })
                .and_then(|()| Ok(serde_json::to_writer(&mut *self.out, message)?)),
            Form::ForPeople => {
                let gap = if first { Ok(()) } else { self.out.write_all(b"\n") };
                gap.and_then(|()| self.out.write_all(for_people(message, self.printer).as_bytes()))
            }
        };
        self.failed = written.err();
    }

    fn finish(self) -> std::io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None if self.form != Form::Array => Ok(()),
            None => self.out.write_all(if self.count == 0 { b"[]\n" } else { b"\n]\n" }),
        }
    }
}

/// A message as a line of its own.
pub(super) fn line(out: &mut dyn Write, message: &Message) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, message)?;
    out.write_all(b"\n")
}

fn for_people(message: &Message, printer: &Printer) -> String {
    let who = match message.source() {
        MessageSource::User => "user".to_owned(),
        MessageSource::Assistant { .. } => "assistant".to_owned(),
        MessageSource::Tool { tool_name, .. } => format!("tool {tool_name}"),
        MessageSource::System => "system".to_owned(),
        MessageSource::Extension { extension_name } => format!("extension {extension_name}"),
    };
    // Who made it and as what a model reads it are two things.
    let role = message.role();
    let role = if who.split(' ').next() == Some(&role) { String::new() } else { format!(" as {role}") };
    let who = printer.look(Look::Strong, format_args!("{}{}", visible(&who), visible(&role)));
    let time = printer.look(Look::Faint, moment::shown(message.created_at().into()));
    let id = printer.look(Look::Faint, visible(message.id()));
    let mut text = format!("{time}  {who}  {id}\n");
    let calls = asked_for(&message.data().value()["toolCalls"]);
    let calls: String = calls.iter().map(|call| format!("calls {call}\n")).collect();
    for line in said(&message.content()).lines().chain(calls.lines()) {
        text.push_str("  ");
        text.push_str(&visible(line));
        text.push('\n');
    }
    text
}

/// What was said, as text: parts that are no text as JSON.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        other => part(other),
    }
}

fn part(part: &Value) -> String {
    match (part, part["text"].as_str()) {
        (Value::String(text), _) => text.clone(),
        (_, Some(text)) if part["type"] == "text" => text.to_owned(),
        _ => part.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_are_shown_as_text_or_as_json() {
        let content = json!([{"type": "text", "text": "a\nb"}, {"type": "tool-call", "toolName": "t"}, "c"]);
        assert_eq!(said(&content), "a\nb\n{\"toolName\":\"t\",\"type\":\"tool-call\"}\nc");
        assert_eq!(said(&json!("plain")), "plain");
        assert_eq!(said(&json!(null)), "null");
    }

    #[test]
    fn a_call_is_shown_with_its_tool_and_its_arguments() {
        let data = json!({"role": "assistant", "content": "", "toolCalls": [{"id": "1", "name": "read_file", "arguments": {"path": "a\n"}}]});
        let kept = json!({"id": "m", "data": data, "metadata": {}, "createdAt": "2026-11-15T12:30:00.000Z", "source": {"type": "assistant", "stepId": "s1"}});
        let shown = for_people(&serde_json::from_value(kept).unwrap(), &Printer::plain());
        assert!(shown.ends_with("m\n  calls read_file {\"path\":\"a\\n\"}\n"), "{shown:?}");
    }

    #[test]
    fn what_was_said_cannot_steer_a_terminal() {
        let message = Message::new("m\x1b", "user", &json!("\x1b[2Jhi\r\nthere\x07"), MessageSource::User);
        let shown = for_people(&message, &Printer::plain());
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        assert!(shown.ends_with("there\\u{7}\n"), "{shown:?}");
    }
}
