//! Answers as they should be: words, calls, tokens, and what a question looks like on its way.

use std::sync::Arc;

use paddock_agent::model::{Asker, ModelMessage, Question, Role, ToolCall, ToolOffer, Usage};
use serde_json::{Value, json};

use super::double::{BOTH, Double, KEY, Reply, Says, TOKENS, Wire, ask, question};

#[test]
fn a_plain_answer_is_heard_as_it_comes_and_counted() {
    for wire in BOTH {
        let double = Double::new(vec![wire.words(&["It is ", "über ", "日本."])]);
        let (answer, heard) = ask(&*wire.model(&double));
        let answer = answer.unwrap();
        assert_eq!(answer.content, "It is über 日本.");
        let (input_tokens, output_tokens) = TOKENS;
        assert_eq!(answer.usage, Usage { input_tokens, cached_tokens: input_tokens - 1, output_tokens });
        assert_eq!(heard, ["It is ", "über ", "日本."]);
        let asked = &double.asked()[0];
        assert_eq!((&asked.body["model"], &asked.body["stream"]), (&json!("m"), &json!(true)));
        assert!(!asked.text().contains(KEY));
        match wire {
            Wire::OpenAi => {
                assert_eq!(asked.path, "/v1/chat/completions");
                assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
                assert_eq!(asked.body["stream_options"]["include_usage"], true);
            }
            Wire::Anthropic => {
                assert_eq!(asked.path, "/v1/messages");
                assert_eq!((asked.header("x-api-key"), asked.header("authorization")), (Some(KEY), None));
                assert!(asked.header("anthropic-version").is_some() && asked.body["max_tokens"].is_u64());
                assert_eq!(asked.body["system"], "be brief");
            }
        }
    }
}

#[test]
fn it_does_not_matter_where_the_pieces_end() {
    for wire in BOTH {
        let says = Says {
            words: vec!["zwölf ", "日本 🦀"],
            calls: vec![("c1", "read_file", vec!["{\"path\": \"/r/ü", ".txt\"}"])],
            is_cut: false,
        };
        let double = Double::new(vec![wire.says(&says).in_bytes()]);
        let (answer, heard) = ask(&*wire.model(&double));
        let answer = answer.unwrap();
        assert_eq!((answer.content.as_str(), heard.concat().as_str()), ("zwölf 日本 🦀", "zwölf 日本 🦀"));
        assert_eq!(answer.tool_calls[0].arguments["path"], "/r/ü.txt");
    }
}

#[test]
fn calls_are_put_together_from_their_pieces() {
    for wire in BOTH {
        let calls = vec![
            ("first", "read_file", vec!["{\"pa", "th\":", "\"/r/a\"}"]),
            ("second", "list_dir", vec![]),
            ("third", "write_file", vec!["{\"path\":\"/w/b\",", "\"content\":\"x\\n", "y\"}"]),
        ];
        let double = Double::new(vec![wire.says(&Says { words: vec!["I look."], calls, is_cut: false })]);
        let answer = ask(&*wire.model(&double)).0.unwrap();
        let shown: Vec<_> = answer
            .tool_calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), Value::Object(call.arguments.clone())))
            .collect();
        let expected = [
            ("first", "read_file", json!({ "path": "/r/a" })),
            ("second", "list_dir", json!({})),
            ("third", "write_file", json!({ "path": "/w/b", "content": "x\ny" })),
        ];
        assert_eq!(shown, expected);
        assert_eq!(answer.content, "I look.");
    }
}

#[test]
fn an_answer_that_reached_its_longest_says_so() {
    for wire in BOTH {
        let double = Double::new(vec![wire.says(&Says { words: vec!["Once upon"], is_cut: true, ..Says::default() })]);
        let content = ask(&*wire.model(&double)).0.unwrap().content;
        assert!(content.starts_with("Once upon") && content.contains("was cut off here"), "{content}");
    }
}

#[test]
fn a_service_that_does_not_stream_is_understood() {
    let openai = json!({
        "choices": [{ "finish_reason": "tool_calls", "message": { "content": "I look.", "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\":\"/r/a\"}" } }
        ] } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 4 }
    });
    let anthropic = json!({
        "content": [
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "c", "name": "read_file", "input": { "path": "/r/a" } }
        ],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 3, "output_tokens": 4 }
    });
    for (wire, body) in BOTH.into_iter().zip([openai, anthropic]) {
        let double = Double::new(vec![Reply::of(200, "application/json", &body.to_string())]);
        let (answer, heard) = ask(&*wire.model(&double));
        let answer = answer.unwrap();
        assert_eq!((answer.content.as_str(), heard.concat().as_str()), ("I look.", "I look."));
        assert_eq!(answer.tool_calls[0].arguments["path"], "/r/a");
        assert_eq!(answer.usage, Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() });
    }
}

fn long_question() -> (Question, Value) {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let call = |id: &str| ToolCall { id: id.into(), name: "read_file".into(), arguments: serde_json::Map::new() };
    let result =
        |id: &str, text: &str| ModelMessage { tool_call_id: Some(id.into()), ..ModelMessage::of(Role::Tool, text) };
    let mut messages = question().messages;
    messages.extend([
        ModelMessage { tool_calls: vec![call("a"), call("b")], ..ModelMessage::of(Role::Assistant, "") },
        result("a", "of a"),
        result("b", "of b"),
        ModelMessage::of(Role::User, "go on"),
    ]);
    let offered = Arc::new(schema.as_object().unwrap().clone());
    let tools = vec![ToolOffer { name: "read_file".into(), description: "Reads a file.".into(), schema: offered }];
    (Question { asker: Asker::Executor, messages, tools }, schema)
}

#[test]
fn a_question_has_the_shape_of_its_protocol() {
    let (question, schema) = long_question();
    let ask = |wire: Wire| {
        let double = Double::new(vec![wire.words(&["ok"])]);
        wire.model(&double).ask(&question, &mut |_| {}).unwrap();
        double.asked()[0].body.clone()
    };
    let body = ask(Wire::OpenAi);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(messages[2]["tool_calls"][1]["id"], messages[4]["tool_call_id"]);
    assert_eq!((&messages[2]["content"], &messages[4]["content"]), (&Value::Null, &json!("of b")));
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(body["tools"][0]["function"]["parameters"], schema);

    let body = ask(Wire::Anthropic);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let results = messages[2]["content"].as_array().unwrap();
    let kinds: Vec<&str> = results.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
    assert_eq!(messages[1]["content"][1]["id"], results[1]["tool_use_id"]);
    assert_eq!(body["tools"][0]["input_schema"], schema);
}
