//! One line to one message.
//!
//! rmcp reads any message by trying each known shape in turn on a buffered copy, which costs more than a whole
//! file read. Nearly every message is a tool call, so those are read directly here; whatever is not exactly
//! that goes to rmcp's own reading, which stays the authority on everything else.
//!
//! A request that cannot be read is still answered: its sender waits. It must never be answered twice, and
//! a notification or an answer that cannot be read never is. A line that is no message at all is told apart: the
//! connection answers one of a row, lest two programs answer each other forever.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonObject, JsonRpcMessage,
    JsonRpcVersion2_0, MetaObject, RequestId, RequestMetaObject,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::id_finder::IdFinder;

/// What a line held.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message for the service.
    Message(Box<ClientJsonRpcMessage>),
    /// A request that cannot be read, to be answered with this.
    Refused(RequestId, ErrorData),
    /// No message, and nobody can say what it was meant to be.
    NoMessage(ErrorData),
    /// Nothing that anybody waits for.
    Nothing,
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Incoming {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Incoming::Nothing;
    }
    if let Ok(call) = serde_json::from_slice::<ToolCall>(line) {
        return Incoming::Message(Box::new(call.into_message()));
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(error) => refuse(line, &error),
    }
}

fn refuse(line: &[u8], error: &serde_json::Error) -> Incoming {
    tracing::debug!(%error, "a message that cannot be read");
    let id = IdFinder::in_message(line);
    let is_json = error.is_data();
    let answer = if is_json {
        ErrorData::invalid_request("the message is not a JSON-RPC 2.0 request as MCP defines it", None)
    } else {
        ErrorData::new(ErrorCode::PARSE_ERROR, format!("the message is not valid JSON: {error}"), None)
    };
    match id {
        Some(id) => Incoming::Refused(id, answer),
        None if is_json && Shape::of(line).is_some_and(Shape::wants_no_answer) => Incoming::Nothing,
        None => Incoming::NoMessage(answer),
    }
}

/// What of a message an object has, whatever it holds there.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shape {
    #[serde(deserialize_with = "is_there")]
    id: bool,
    #[serde(deserialize_with = "is_there")]
    method: bool,
    #[serde(deserialize_with = "is_there")]
    result: bool,
    #[serde(deserialize_with = "is_there")]
    error: bool,
}

impl Shape {
    fn of(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Is it a notification, or something that may be meant as an answer?
    fn wants_no_answer(self) -> bool {
        if self.method { !self.id } else { self.id || self.result || self.error }
    }
}

fn is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// Exactly a `tools/call`, and nothing beside what such a request always has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: Id,
    #[serde(rename = "method")]
    _method: Method,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    #[serde(default)]
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta", default)]
    meta: Option<JsonObject>,
}

impl ToolCall {
    fn into_message(self) -> ClientJsonRpcMessage {
        let mut params = CallToolRequestParams::new(self.params.name);
        params.arguments = self.params.arguments;
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = self.params.meta {
            request.extensions.insert(RequestMetaObject(MetaObject(meta)));
        }
        JsonRpcMessage::request(ClientRequest::CallToolRequest(request), self.id.0)
    }
}

/// The name of the method, read without allocating.
struct Method;

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match <&str>::deserialize(deserializer)? {
            "tools/call" => Ok(Self),
            _ => Err(serde::de::Error::custom("another method")),
        }
    }
}

/// An id as nearly every client writes it; other forms are left to rmcp.
struct Id(RequestId);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Plain;
        impl serde::de::Visitor<'_> for Plain {
            type Value = Id;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number or a text")
            }

            fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<Id, E> {
                i64::try_from(id).map(|id| Id(RequestId::Number(id))).map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<Id, E> {
                Ok(Id(RequestId::Number(id)))
            }

            fn visit_str<E: serde::de::Error>(self, id: &str) -> Result<Id, E> {
                Ok(Id(RequestId::String(id.into())))
            }
        }
        deserializer.deserialize_any(Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::GetMeta as _;
    use serde_json::{Value, json};

    fn is_direct(message: &Value) -> bool {
        serde_json::from_slice::<ToolCall>(message.to_string().as_bytes()).is_ok()
    }

    fn debugged(message: &ClientJsonRpcMessage) -> String {
        format!("{message:?}")
    }

    #[test]
    fn a_direct_reading_is_what_rmcp_reads() {
        let meta = json!({"progressToken": 3, "io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        let calls = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "a"}}}),
            json!({"method": "tools/call", "params": {"name": "x", "_meta": meta}, "jsonrpc": "2.0", "id": "seven"}),
            json!({"jsonrpc": "2.0", "id": -4, "method": "tools/call", "params": {"name": "x", "arguments": null}}),
        ];
        for call in calls {
            assert!(is_direct(&call), "{call}");
            let ours: ToolCall = serde_json::from_str(&call.to_string()).unwrap();
            let ours = ours.into_message();
            let theirs: ClientJsonRpcMessage = serde_json::from_value(call.clone()).unwrap();
            assert_eq!(debugged(&ours), debugged(&theirs), "{call}");
            let (JsonRpcMessage::Request(ours), JsonRpcMessage::Request(theirs)) = (ours, theirs) else {
                unreachable!("both are requests");
            };
            assert_eq!(ours.request.get_meta(), theirs.request.get_meta());
        }
    }

    #[test]
    fn anything_else_is_left_to_rmcp() {
        let others = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "requestState": "s"}}),
            json!({"jsonrpc": "2.0", "id": 1.0, "method": "tools/call", "params": {"name": "x"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ];
        for other in others {
            assert!(!is_direct(&other), "{other}");
            assert!(matches!(read(other.to_string().as_bytes()), Incoming::Message(_)), "{other}");
        }
    }

    fn refused(line: &[u8]) -> (RequestId, i32) {
        match read(line) {
            Incoming::Refused(id, error) => (id, error.code.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_that_cannot_be_read_is_answered() {
        let id = RequestId::Number(7);
        assert_eq!(
            refused(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"a\":\"\xff\"}}"),
            (id.clone(), -32700)
        );
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"#), (id.clone(), -32700));
        assert_eq!(refused(br#"{"jsonrpc":"1.0","id":7,"method":"x"}"#), (id.clone(), -32600));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#), (id, -32600));
    }

    #[test]
    fn what_wants_no_answer_gets_none() {
        let passed_over = [
            &b""[..],
            b"  \r",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"answer\":2}",
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":7}",
            b"{\"jsonrpc\":\"1.0\",\"method\":\"notifications/initialized\"}",
        ];
        for line in passed_over {
            assert!(matches!(read(line), Incoming::Nothing), "{line:?}");
        }
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let told = |line: &[u8]| match read(line) {
            Incoming::NoMessage(error) => error.code.0,
            other => panic!("{line:?}: {other:?}"),
        };
        for line in [&b"hello"[..], b"\xff\xfe", b"{\"jsonrpc\""] {
            assert_eq!(told(line), -32700, "{line:?}");
        }
        let with_id = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}");
        let requests = ["null", "{}", "1.5"].map(with_id);
        let others = ["[]", "[1,2]", "null", "7", "{}", "{\"jsonrpc\":\"2.0\"}"].map(str::to_owned);
        for line in requests.iter().chain(&others) {
            assert_eq!(told(line.as_bytes()), -32600, "{line}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_a_carriage_return_are_skipped() {
        let line =
            b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}\r";
        assert!(matches!(read(line), Incoming::Message(_)));
    }
}
