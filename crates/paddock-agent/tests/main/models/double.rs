//! A service that says what it is told to: over real connections, in pieces, with every trouble that a service has.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use paddock_agent::model::choose::{ChooseOptions, choose};
use paddock_agent::model::retry::Patience;
use paddock_agent::model::{Asker, Model, ModelAnswer, ModelError, ModelMessage, Question, Role};
use paddock_core::{BearerToken, Cancel};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "sk-very-secret";

/// The status of a reply that never begins.
pub(crate) const SILENT: u16 = 0;

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Whole,
    /// The connection is closed where more was promised.
    Cut,
    /// Nothing more comes, and the connection stays.
    Stalls,
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) ends: Ends,
}

impl Reply {
    pub(crate) fn stream(body: &str) -> Self {
        Self::of(200, "text/event-stream; charset=utf-8", body)
    }

    pub(crate) fn of(status: u16, content_type: &str, body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, pieces: vec![body.as_bytes().to_vec()], ends: Ends::Whole }
    }

    /// An error as services tell of one.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::of(status, "application/json", &json!({ "error": { "message": message } }).to_string())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn ending(mut self, ends: Ends) -> Self {
        self.ends = ends;
        self
    }

    /// The same, every byte on its own.
    pub(crate) fn in_bytes(mut self) -> Self {
        self.pieces = self.pieces.concat().into_iter().map(|byte| vec![byte]).collect();
        self
    }
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Everything it holds, as text.
    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }
}

#[derive(Default)]
struct Shared {
    replies: Mutex<Vec<Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// Connections on which nothing more comes.
    stalled: Mutex<Vec<TcpStream>>,
    over: AtomicBool,
}

pub(crate) struct Double {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    serving: Option<std::thread::JoinHandle<()>>,
}

impl Double {
    /// A service with these replies, in order. After the last one it refuses.
    pub(crate) fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { replies: Mutex::new(replies), ..Shared::default() });
        let serves = Arc::clone(&shared);
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serves.over.load(Ordering::SeqCst) {
                    return;
                }
                // A client that went away in the middle is what some of the tests are about.
                let _ = stream.and_then(|stream| serve(stream, &serves));
            }
        });
        Self { address, shared, serving: Some(serving) }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        drop(self.serving.take().map(std::thread::JoinHandle::join));
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    shared.asked.lock().unwrap().push(read(&stream)?);
    let reply = {
        let mut replies = shared.replies.lock().unwrap();
        if replies.is_empty() { Reply::error(418, "the double has nothing more to say") } else { replies.remove(0) }
    };
    if reply.status == SILENT {
        shared.stalled.lock().unwrap().push(stream);
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Reply\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let mut out = &stream;
    out.write_all((head + "\r\n").as_bytes())?;
    for piece in reply.pieces.iter().filter(|piece| !piece.is_empty()) {
        out.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        out.write_all(piece)?;
        out.write_all(b"\r\n")?;
        out.flush()?;
    }
    match reply.ends {
        Ends::Whole => out.write_all(b"0\r\n\r\n")?,
        Ends::Cut => {}
        Ends::Stalls => shared.stalled.lock().unwrap().push(stream),
    }
    Ok(())
}

fn read(stream: &TcpStream) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Asked { path, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// A protocol, with what a service of it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenAi,
    Anthropic,
}

pub(crate) const BOTH: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];

/// An answer to be sent: words, and calls as id, name and pieces of their arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Says<'a> {
    pub(crate) words: Vec<&'a str>,
    pub(crate) calls: Vec<(&'a str, &'a str, Vec<&'a str>)>,
    pub(crate) is_cut: bool,
}

impl Wire {
    pub(crate) fn model(self, double: &Double) -> Arc<dyn Model> {
        self.model_with(double.address, &quick(), Arc::default())
    }

    pub(crate) fn model_with(self, address: SocketAddr, patience: &Patience, cancel: Arc<Cancel>) -> Arc<dyn Model> {
        let (spec, path) = match self {
            Self::OpenAi => ("compatible:m", "/v1"),
            Self::Anthropic => ("anthropic:m", ""),
        };
        let options = ChooseOptions { patience: patience.clone(), cancel, ..ChooseOptions::default() };
        let (url, key) = (format!("http://{address}{path}"), BearerToken::new(KEY));
        choose(spec, Some(&url), Some(key), &options, &|_| Ok(String::new())).unwrap().model
    }

    pub(crate) fn words(self, words: &[&str]) -> Reply {
        self.says(&Says { words: words.to_vec(), ..Says::default() })
    }

    pub(crate) fn call(self, name: &str, arguments: &str) -> Reply {
        self.says(&Says { calls: vec![("c1", name, vec![arguments])], ..Says::default() })
    }

    pub(crate) fn says(self, says: &Says<'_>) -> Reply {
        Reply::stream(&match self {
            Self::OpenAi => openai(says),
            Self::Anthropic => anthropic(says),
        })
    }
}

/// Tokens that every answer of the double counts.
pub(crate) const TOKENS: (u64, u64) = (11, 7);

fn openai(says: &Says<'_>) -> String {
    let chunk = |delta: Value, finish: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }], "usage": null });
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    events.extend(says.words.iter().map(|word| chunk(json!({ "content": word }), Value::Null)));
    for (index, (id, name, pieces)) in says.calls.iter().enumerate() {
        let begins =
            json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
        events.push(chunk(json!({ "tool_calls": [begins] }), Value::Null));
        for piece in pieces {
            let goes_on = json!({ "index": index, "function": { "arguments": piece } });
            events.push(chunk(json!({ "tool_calls": [goes_on] }), Value::Null));
        }
    }
    let finish = if says.is_cut {
        "length"
    } else if says.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    events.push(chunk(json!({}), json!(finish)));
    let cached = json!({ "cached_tokens": TOKENS.0 - 1 });
    let usage = json!({ "prompt_tokens": TOKENS.0, "prompt_tokens_details": cached, "completion_tokens": TOKENS.1 });
    events.push(json!({ "choices": [], "usage": usage }));
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{body}data: [DONE]\n\n")
}

fn anthropic(says: &Says<'_>) -> String {
    let usage = json!({ "input_tokens": 1, "cache_read_input_tokens": TOKENS.0 - 1, "output_tokens": 1 });
    let mut events = vec![json!({ "type": "message_start", "message": { "content": [], "usage": usage } })];
    let delta = |index: usize, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let begins =
        |index: usize, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    events.push(begins(0, json!({ "type": "text", "text": "" })));
    events.push(json!({ "type": "ping" }));
    events.extend(says.words.iter().map(|word| delta(0, json!({ "type": "text_delta", "text": word }))));
    events.push(json!({ "type": "content_block_stop", "index": 0 }));
    for (index, (id, name, pieces)) in (1..).zip(&says.calls) {
        events.push(begins(index, json!({ "type": "tool_use", "id": id, "name": name, "input": {} })));
        events.extend(
            pieces.iter().map(|piece| delta(index, json!({ "type": "input_json_delta", "partial_json": piece }))),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let reason = if says.is_cut {
        "max_tokens"
    } else if says.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    events.push(
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": TOKENS.1 } }),
    );
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

/// Waits that a test can afford; long enough for a slow machine where nothing is to be noticed.
pub(crate) fn quick() -> Patience {
    Patience {
        attempts: 3,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(4),
        ..Patience::default()
    }
}

/// The same, for a service that stalls.
pub(crate) fn impatient() -> Patience {
    let short = Duration::from_millis(400);
    Patience { connect: short, first_byte: short, between_bytes: short, ..quick() }
}

pub(crate) fn question() -> Question {
    let messages = vec![ModelMessage::of(Role::System, "be brief"), ModelMessage::of(Role::User, "what is it?")];
    Question { asker: Asker::Executor, messages, tools: Vec::new() }
}

/// The answer, and what was heard meanwhile.
pub(crate) fn ask(model: &dyn Model) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    let mut heard = Vec::new();
    let answer = model.ask(&question(), &mut |words| heard.push(words.to_owned()));
    (answer, heard)
}
