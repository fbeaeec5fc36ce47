//! A model that plays a script: it makes the calls it was given, one per request, and keeps what it was offered and told.
//!
//! Owns a server on a free port of this machine that speaks just enough of the two protocols in which Claude Code and Codex
//! ask their models. It knows no account and reaches nothing. It must never judge: the cases do.

use std::collections::VecDeque;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The running model. Its thread ends with the program.
#[derive(Debug)]
pub(super) struct Model {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Value>,
    requests: Vec<Value>,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port for the model")?;
        let address = listener.local_addr()?;
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that goes away in the middle is the cases' business.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Ok(Self { address, state })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Begins a new play: these calls, then a last word.
    pub(super) fn play(&self, script: impl IntoIterator<Item = Value>) {
        *lock(&self.state) = State { script: script.into_iter().collect(), requests: Vec::new() };
    }

    /// Every request with tools since the play began.
    pub(super) fn requests(&self) -> Vec<Value> {
        lock(&self.state).requests.clone()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some((path, body)) = request(&mut reader)? {
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        // Clients also ask for titles and the like, without tools; those are no steps of the play.
        let is_step = asked["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let call = is_step.then(|| {
            let mut state = lock(state);
            state.requests.push(asked);
            state.script.pop_front().filter(|call| !call.is_null())
        });
        let (kind, text) = answer(&path, call.flatten());
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
        let mut answering: &TcpStream = stream;
        answering.write_all((head + &text).as_bytes())?;
    }
    Ok(())
}

/// The next request of a connection: its path and its body.
fn request(reader: &mut impl std::io::BufRead) -> Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    Ok(Some((path, body)))
}

fn answer(path: &str, call: Option<Value>) -> (&'static str, String) {
    let events = match path.split('?').next().unwrap_or_default() {
        "/v1/messages" => message(call),
        "/v1/responses" => response(call),
        _ => return ("application/json", json!({ "data": [], "models": [], "input_tokens": 1 }).to_string()),
    };
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    ("text/event-stream", events.iter().map(line).collect())
}

/// One message as Anthropic streams it: a call, or the last word.
fn message(call: Option<Value>) -> Vec<Value> {
    let stop = if call.is_some() { "tool_use" } else { "end_turn" };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let (block, delta) = match call {
        Some(call) => (
            json!({ "type": "tool_use", "id": call["id"], "name": call["name"], "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": call["input"].to_string() }),
        ),
        None => (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": "done" })),
    };
    vec![
        json!({ "type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ]
}

/// One response as OpenAI streams it.
fn response(call: Option<Value>) -> Vec<Value> {
    let text = json!([{ "type": "output_text", "text": "done" }]);
    let item = call.unwrap_or_else(|| json!({ "type": "message", "role": "assistant", "id": "m", "content": text }));
    let usage = json!({ "input_tokens": 0, "input_tokens_details": null, "output_tokens": 0, "output_tokens_details": null,
        "total_tokens": 0 });
    vec![
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.done", "item": item }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": usage } }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &Model, body: &Value) -> String {
        let mut stream = TcpStream::connect(model.address).unwrap();
        let body = body.to_string();
        let head = format!("POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn it_makes_its_calls_in_order_and_keeps_what_it_was_asked() {
        let model = Model::start().unwrap();
        model.play([json!({ "id": "1", "name": "Bash", "input": { "command": "ls" } })]);
        let with_tools = json!({ "tools": [{ "name": "Bash" }] });
        assert!(ask(&model, &json!({ "tools": [] })).contains("done"), "no step of the play");
        assert!(ask(&model, &with_tools).contains("tool_use"));
        assert!(ask(&model, &with_tools).contains("end_turn"));
        assert_eq!(model.requests().len(), 2);
    }
}
