//! What was said, put so that any service takes it: every call has its answer right after it, and every answer its call.
//!
//! Services refuse a conversation in which a call was never answered, as happens when a run ended between the two, and each has its own idea
//! of what an id may look like. An id only pairs a call with its answer, so both are numbered anew in each question.

use std::collections::HashSet;

use crate::model::{ModelMessage, Role, ToolCall};

/// Stands for an answer that was never given.
const NO_ANSWER: &str = "This call has no answer: the run ended before it.";

/// The same messages, paired.
pub(in crate::model) fn paired(messages: &[ModelMessage]) -> Vec<ModelMessage> {
    let (mut out, mut used, mut calls) = (Vec::new(), HashSet::new(), 0);
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Tool {
            // It stands after its call, or has none.
            continue;
        }
        let mut answers = Vec::new();
        let mut said = message.clone();
        for call in &mut said.tool_calls {
            calls += 1;
            answers.push(answer(messages, at, call, calls, &mut used));
        }
        out.push(said);
        out.extend(answers);
    }
    out
}

/// Gives a call its number, and takes the first answer after it that is not another one's.
fn answer(
    messages: &[ModelMessage],
    at: usize,
    call: &mut ToolCall,
    number: usize,
    used: &mut HashSet<usize>,
) -> ModelMessage {
    let answers =
        |message: &ModelMessage| message.role == Role::Tool && message.tool_call_id.as_ref() == Some(&call.id);
    let mut later = (at + 1..messages.len()).filter(|n| !used.contains(n) && answers(&messages[*n]));
    let found = later.next();
    used.extend(found);
    let content = found.map_or_else(|| NO_ANSWER.to_owned(), |n| messages[n].content.clone());
    // Nine letters and digits: the narrowest of the services wants exactly that.
    call.id = format!("call{number:05}");
    ModelMessage { tool_call_id: Some(call.id.clone()), ..ModelMessage::of(Role::Tool, content) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(ids: &[&str]) -> ModelMessage {
        let call =
            |id: &&str| ToolCall { id: (*id).to_owned(), name: "t".to_owned(), arguments: serde_json::Map::new() };
        ModelMessage { tool_calls: ids.iter().map(call).collect(), ..ModelMessage::of(Role::Assistant, "") }
    }

    fn result(id: &str, content: &str) -> ModelMessage {
        ModelMessage { tool_call_id: Some(id.to_owned()), ..ModelMessage::of(Role::Tool, content) }
    }

    #[test]
    fn every_call_is_followed_by_its_own_answer() {
        let said = [
            result("gone", "of a call that is no longer shown"),
            calls(&["a", "b"]),
            result("b", "of b"),
            ModelMessage::of(Role::User, "between"),
            result("a", "of a"),
            calls(&["a"]),
            result("a", "of the second a"),
            calls(&["c"]),
        ];
        let paired = paired(&said);
        let shown: Vec<(&str, Option<&str>)> =
            paired.iter().map(|message| (message.content.as_str(), message.tool_call_id.as_deref())).collect();
        let expected = [
            ("", None),
            ("of a", Some("call00001")),
            ("of b", Some("call00002")),
            ("between", None),
            ("", None),
            ("of the second a", Some("call00003")),
            ("", None),
            (NO_ANSWER, Some("call00004")),
        ];
        assert_eq!(shown, expected);
        assert_eq!(paired[0].tool_calls[1].id, "call00002");
    }
}
