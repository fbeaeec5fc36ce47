//! An answer of a tool as an MCP result: text once, facts as structured content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use paddock_tools::{Answer, Piece};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The result that carries this answer. What the policy denies, or what failed, is a result that the agent
/// reads; a protocol error would be shown to nobody.
#[must_use]
pub fn result(answer: Answer) -> CallToolResult {
    let is_error = answer.is_error();
    let mut result = CallToolResult::success(answer.content.into_iter().map(block).collect());
    result.is_error = is_error.then_some(true);
    if !answer.structured.is_empty() {
        result.structured_content = Some(Value::Object(answer.structured));
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
    use serde_json::{Map, json};

    fn sent(answer: Answer) -> Value {
        let mut value = serde_json::to_value(result(answer)).unwrap();
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
