//! A conversation as it is read: who said what, and what tools were asked and answered.

use maud::{Markup, html};
use paddock_desk::instances::MessageShown;
use serde_json::Value;

use crate::pages::parts::{shown, time};

/// A text that is longer is folded away.
const LONG: usize = 4000;

pub(in crate::pages) fn conversation(messages: &[MessageShown]) -> Markup {
    html! {
        @if messages.is_empty() { p.muted { "Nothing was said yet." } } @else {
            ol.conversation { @for message in messages { (one(message)) } }
        }
    }
}

fn one(message: &MessageShown) -> Markup {
    let kept = serde_json::to_value(message).unwrap_or_default();
    let (role, content) = (message.0.role(), message.0.content());
    let source = kept["source"]["type"].as_str().unwrap_or(&role).to_owned();
    let who = match (source.as_str(), kept["source"]["toolName"].as_str(), kept["source"]["extensionName"].as_str()) {
        ("tool", Some(tool), _) => tool.to_owned(),
        ("extension", _, Some(extension)) => format!("extension {extension}"),
        _ => source.clone(),
    };
    let class = match source.as_str() {
        "user" => "user",
        "tool" => "tool",
        _ => "assistant",
    };
    let at = kept["createdAt"].as_str().unwrap_or_default().to_owned();
    html! {
        li class=(class) {
            header { @if class == "tool" { code { (shown(&who)) } } @else { strong { (shown(&who)) } } " " (time(&at)) }
            @for part in parts(&content) { (said(&part, class == "tool")) }
            @for call in calls(&kept) { (said(&call, true)) }
        }
    }
}

enum Said {
    Text(String),
    Other(String, String),
}

/// What was said: texts, and everything else as JSON under a name.
fn parts(content: &Value) -> Vec<Said> {
    match content {
        Value::String(text) => vec![Said::Text(text.clone())],
        Value::Array(parts) => parts.iter().map(part).collect(),
        Value::Null => Vec::new(),
        other => vec![part(other)],
    }
}

/// The tools that a message asked for, as runs keep them.
fn calls(kept: &Value) -> Vec<Said> {
    let call = |call: &Value| {
        let name = call["name"].as_str().unwrap_or("a tool").to_owned();
        Said::Other(name, format!("{:#}", call["arguments"]))
    };
    kept["data"]["toolCalls"].as_array().into_iter().flatten().map(call).collect()
}

fn part(part: &Value) -> Said {
    match (part, part["text"].as_str()) {
        (Value::String(text), _) => Said::Text(text.clone()),
        (_, Some(text)) if part["type"] == "text" => Said::Text(text.to_owned()),
        _ => {
            let named = ["toolName", "name", "type"].into_iter().find_map(|key| part[key].as_str());
            Said::Other(named.unwrap_or("part").to_owned(), format!("{part:#}"))
        }
    }
}

fn said(said: &Said, verbatim: bool) -> Markup {
    match said {
        Said::Text(text) if text.is_empty() => html! {},
        Said::Text(text) if verbatim => {
            let few = text.len() <= LONG;
            html! { details open[few] { summary { "Answer" } pre.terminal { (shown(text)) } } }
        }
        Said::Text(text) if text.len() <= LONG => text_of(text),
        Said::Text(text) => html! { details { summary { (text.len()) " bytes" } (text_of(text)) } },
        Said::Other(name, json) => html! { details { summary { (shown(name)) } pre.terminal { (shown(json)) } } },
    }
}

fn text_of(text: &str) -> Markup {
    html! {
        div.prose { @for paragraph in text.split("\n\n") {
            p { @for (at, line) in paragraph.lines().enumerate() { @if at > 0 { br; } (shown(line)) } }
        } }
    }
}
