//! The contents that the suite expects, as its descriptions name them.

use serde_json::{Value, json};

/// A picture of one pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A sound of no length.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Tools without arguments worth a word.
const PLAIN: [&str; 25] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

pub(crate) fn tools() -> Vec<Value> {
    let plain = |name: &&str| json!({"name": name, "description": "a fixture", "inputSchema": {"type": "object"}});
    let mut tools: Vec<Value> = PLAIN.iter().map(plain).collect();
    let by_header = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    tools.push(json!({"name": "test_header_argument", "description": "a fixture", "inputSchema": by_header}));
    tools.push(json!({"name": "json_schema_2020_12_tool", "description": "a fixture", "inputSchema": rich_schema()}));
    tools
}

fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// The result of a tool that always answers the same.
pub(crate) fn result(name: &str) -> Option<Value> {
    let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
    let content = match name {
        "test_simple_text" => json!([{"type": "text", "text": "This is a simple text response for testing."}]),
        "test_image_content" => json!([picture]),
        "test_audio_content" => json!([{"type": "audio", "data": SOUND, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => {
            json!([embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
        }
        "test_multiple_content_types" => json!([
            {"type": "text", "text": "Multiple content types test:"},
            picture,
            embedded("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}"),
        ]),
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            return Some(json!({"isError": true, "content": [{"type": "text", "text": text}]}));
        }
        "test_header_argument" | "json_schema_2020_12_tool" => json!([{"type": "text", "text": "taken"}]),
        _ => return None,
    };
    Some(json!({"content": content}))
}

fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

pub(crate) fn prompts() -> Vec<Value> {
    let argument = |name: &str| json!({"name": name, "description": "an argument", "required": true});
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments.iter().map(|name| argument(name)).collect();
        json!({"name": name, "description": "a fixture", "arguments": arguments})
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &Value) -> Option<Value> {
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default();
    let message = |content: Value| json!({"role": "user", "content": content});
    let said = |text: &str| message(json!({"type": "text", "text": text}));
    let messages = match name {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![said(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let content = embedded(argument("resourceUri"), "text/plain", "Embedded resource content for testing.");
            vec![message(content), said("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let picture = json!({"type": "image", "data": PICTURE, "mimeType": "image/png"});
            vec![message(picture), said("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => vec![said("with your context")],
        _ => return None,
    };
    Some(json!({"messages": messages}))
}

pub(crate) fn resources() -> Vec<Value> {
    let resource = |uri: &str| json!({"uri": uri, "name": uri, "description": "a fixture"});
    ["test://static-text", "test://static-binary", "test://watched-resource"].map(resource).to_vec()
}

pub(crate) fn resource(uri: &str) -> Option<Value> {
    if let Some(id) = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
        let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
        return Some(json!({"uri": uri, "mimeType": "application/json", "text": text}));
    }
    let text = "This is the content of the static text resource.";
    match uri {
        "test://static-text" => Some(json!({"uri": uri, "mimeType": "text/plain", "text": text})),
        "test://static-binary" => Some(json!({"uri": uri, "mimeType": "image/png", "blob": PICTURE})),
        "test://watched-resource" => Some(json!({"uri": uri, "mimeType": "text/plain", "text": "watched"})),
        _ => None,
    }
}

pub(crate) fn user_form() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

pub(crate) fn form_with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

pub(crate) fn form_with_choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = json!([
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    })
}
