//! An answer of a tool as an MCP result: text once, facts beside it.
//!
//! The facts (version, counts, how to go on) are structured content. Some clients hand their model only
//! the structured content of a result that has any, and the text not at all; for those the facts go where
//! no model looks, and what a model may want of them is said in words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use paddock_tools::{Answer, Piece};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value};

/// Clients, by the start of the name they give, that show their model structured content *instead of* text.
const SHOW_FACTS_ONLY: [&str; 2] = ["claude-code", "codex"];
/// Under which name the facts go into the metadata of a result.
const FACTS: &str = "paddock/facts";

/// Where the facts of an answer go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactsIn {
    /// Into structured content, as MCP means it.
    StructuredContent,
    /// Into the result's metadata, with the version in words.
    Metadata,
}

impl FactsIn {
    /// What the client of this name needs so that its model sees the text.
    #[must_use]
    pub fn for_client(name: &str) -> Self {
        let starts = |known: &str| name.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
        if SHOW_FACTS_ONLY.into_iter().any(starts) { Self::Metadata } else { Self::StructuredContent }
    }
}

/// The result that carries this answer. What the policy denies, or what failed, is a result that the agent
/// reads; a protocol error would be shown to nobody.
#[must_use]
pub fn result(answer: Answer, facts: FactsIn) -> CallToolResult {
    let is_error = answer.is_error();
    let mut result = CallToolResult::success(answer.content.into_iter().map(block).collect());
    result.is_error = is_error.then_some(true);
    match facts {
        _ if answer.structured.is_empty() => {}
        FactsIn::StructuredContent => result.structured_content = Some(Value::Object(answer.structured)),
        FactsIn::Metadata => {
            if let Some(version) = answer.structured.get("version").and_then(Value::as_str) {
                result.content.push(ContentBlock::text(format!("(version {version})")));
            }
            result.meta = Some(MetaObject(Map::from_iter([(FACTS.to_owned(), Value::Object(answer.structured))])));
        }
    }
    result
}

fn block(piece: Piece) -> ContentBlock {
    match piece {
        Piece::Text(text) => ContentBlock::text(text),
        Piece::Image { mime, data } => ContentBlock::image(BASE64.encode(data), mime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paddock_tools::Verdict;
    use serde_json::json;

    fn sent(answer: Answer) -> Value {
        let mut value = serde_json::to_value(result(answer, FactsIn::StructuredContent)).unwrap();
        value.as_object_mut().unwrap().remove("resultType");
        value
    }

    #[test]
    fn text_is_sent_once_and_facts_beside_it() {
        let structured = Map::from_iter([("version".to_owned(), json!("v1"))]);
        let answer = Answer { content: vec![Piece::Text("hello".into())], structured, verdict: Verdict::Done };
        let expected = json!({"content": [{"type": "text", "text": "hello"}], "structuredContent": {"version": "v1"}});
        assert_eq!(sent(answer), expected);
    }

    #[test]
    fn a_client_that_hides_text_beside_structured_content_gets_none() {
        assert_eq!(FactsIn::for_client("mcp-inspector"), FactsIn::StructuredContent);
        assert_eq!(FactsIn::for_client(""), FactsIn::StructuredContent);
        for name in ["claude-code", "codex-mcp-client", "Codex"] {
            assert_eq!(FactsIn::for_client(name), FactsIn::Metadata, "{name}");
        }
        let structured = Map::from_iter([("version".to_owned(), json!("v1")), ("lines".to_owned(), json!(1))]);
        let answer = Answer { content: vec![Piece::Text("hello".into())], structured, verdict: Verdict::Done };
        let sent = serde_json::to_value(result(answer, FactsIn::Metadata)).unwrap();
        assert_eq!(sent["content"][0]["text"], "hello");
        assert_eq!(sent["content"][1]["text"], "(version v1)");
        assert_eq!(sent["_meta"]["paddock/facts"], json!({"version": "v1", "lines": 1}));
        assert_eq!(sent.get("structuredContent"), None);
    }

    #[test]
    fn whatever_was_not_done_is_an_error_that_the_agent_reads() {
        for verdict in [Verdict::Denied, Verdict::Failed, Verdict::Invalid, Verdict::Parked("a1".into())] {
            let answer = Answer { content: vec![Piece::Text("no".into())], structured: Map::new(), verdict };
            assert_eq!(sent(answer), json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
        }
    }

    #[test]
    fn an_image_is_sent_as_an_image() {
        let piece = Piece::Image { mime: "image/png", data: vec![0xff, 0, 1] };
        let answer = Answer { content: vec![piece], structured: Map::new(), verdict: Verdict::Done };
        assert_eq!(sent(answer), json!({"content": [{"type": "image", "data": "/wAB", "mimeType": "image/png"}]}));
    }
}
