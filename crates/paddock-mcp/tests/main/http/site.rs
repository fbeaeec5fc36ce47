//! A server on a port of its own, and a client that writes requests by hand.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use paddock_mcp::http::{Agent, HttpOptions, HttpService, Usage};
use paddock_tools::PolicySource;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{context, soon};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

type Agents = Arc<Mutex<HashMap<String, Agent>>>;

/// The service behind a layer that knows tokens, as the console has one.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) service: HttpService,
    agents: Agents,
}

impl Site {
    /// Serves these agents, each with its name as token.
    pub(crate) async fn open(options: HttpOptions, agents: &[(&str, Arc<dyn PolicySource>)]) -> Self {
        let agents = agents.iter().map(|(name, policy)| ((*name).to_owned(), Agent::new(*name, Arc::clone(policy))));
        let agents: Agents = Arc::new(Mutex::new(agents.collect()));
        let service = HttpService::new(options);
        let router = Router::new()
            .route_service("/mcp", service.clone())
            .layer(from_fn_with_state(Arc::clone(&agents), identify));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, service, agents }
    }

    /// From now on this token is of another agent.
    pub(crate) fn give(&self, token: &str, policy: Arc<dyn PolicySource>) {
        self.agents.lock().unwrap().insert(token.to_owned(), Agent::new(token, policy));
    }

    pub(crate) fn request(&self, method: &'static str, token: &str) -> Asking {
        let headers = vec![
            ("Host".to_owned(), self.address.to_string()),
            ("Authorization".to_owned(), format!("Bearer {token}")),
            ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        Asking { address: self.address, method, headers, body: None }
    }

    /// A request of the newer kind with all that belongs to it.
    pub(crate) fn modern(&self, token: &str, method: &str, mut params: Value) -> Asking {
        params["_meta"] = context();
        let name = params["name"].as_str().map(str::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let asking = self.request("POST", token).with("MCP-Protocol-Version", MODERN).with("Mcp-Method", method);
        let asking = match name {
            Some(name) => asking.with("Mcp-Name", &name),
            None => asking,
        };
        asking.json(&body)
    }

    /// A message in a session of the older kind.
    pub(crate) fn legacy(&self, token: &str, session: &str, body: &Value) -> Asking {
        self.request("POST", token).with("MCP-Protocol-Version", LEGACY).with("Mcp-Session-Id", session).json(body)
    }

    /// Opens a session and gives its id.
    pub(crate) async fn greet(&self, token: &str) -> String {
        let client = json!({"name": "by hand", "version": "1"});
        let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client});
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut reply = self.request("POST", token).json(&greeting).send().await;
        assert_eq!(reply.status, 200);
        let session = reply.header("mcp-session-id").unwrap();
        assert_eq!(reply.message().await["result"]["serverInfo"]["name"], "paddock");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.legacy(token, &session, &ready).send().await.status, 202);
        session
    }

    /// Waits until what is in use is as wanted.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(Usage) -> bool) {
        let waiting = async {
            while !wanted(self.service.usage()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(crate::harness::HANG, waiting).await;
        assert!(in_time.is_ok(), "{what}: {:?}", self.service.usage());
    }
}

async fn identify(State(agents): State<Agents>, mut request: Request, next: Next) -> Response {
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    let agent = token.and_then(|token| agents.lock().unwrap().get(token).cloned());
    if let Some(agent) = agent {
        request.extensions_mut().insert(agent);
    }
    next.run(request).await
}

/// A call of a tool, as the parameters of a request.
#[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
pub(crate) fn tool(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// A call of a tool, as a message of the older kind.
pub(crate) fn call(id: u32, name: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": tool(name, arguments)})
}

/// A request that is being written.
#[derive(Clone)]
pub(crate) struct Asking {
    address: SocketAddr,
    method: &'static str,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Asking {
    /// Sets a header; an empty value takes it away.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.bytes(body.to_string().as_bytes())
    }

    pub(crate) fn bytes(self, body: &[u8]) -> Self {
        let length = body.len().to_string();
        let mut asking = self.with("Content-Type", "application/json").with("Content-Length", &length);
        asking.body = Some(body.to_vec());
        asking
    }

    /// The head alone, on a connection of its own.
    pub(crate) async fn begin(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{} /mcp HTTP/1.1\r\n", self.method);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        stream
    }

    /// All of it, without waiting for an answer.
    pub(crate) async fn begin_sent(&self) -> TcpStream {
        let mut stream = self.begin().await;
        if let Some(body) = &self.body {
            // A server that has heard enough may close before all is sent; its answer is what counts.
            let _ = stream.write_all(body).await;
        }
        stream
    }

    pub(crate) async fn send(&self) -> Reply {
        Reply::of(self.begin_sent().await).await
    }
}

/// An answer, its body read as it comes.
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    text: String,
    is_over: bool,
}

impl Reply {
    pub(crate) async fn of(stream: TcpStream) -> Self {
        let mut stream = BufReader::new(stream);
        let status = soon(line(&mut stream)).await;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = soon(line(&mut stream)).await;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Self { status, headers, stream, text: String::new(), is_over: false }
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// Reads some more of the body.
    async fn more(&mut self) {
        let chunked = self.header("transfer-encoding").is_some();
        let length = if chunked {
            usize::from_str_radix(&line(&mut self.stream).await, 16).unwrap()
        } else {
            self.is_over = true;
            self.header("content-length").map_or(0, |length| length.parse().unwrap())
        };
        let mut piece = vec![0; length];
        self.stream.read_exact(&mut piece).await.unwrap();
        self.text += std::str::from_utf8(&piece).unwrap();
        if chunked {
            line(&mut self.stream).await;
            self.is_over = length == 0;
        }
    }

    /// The next message: of a stream, or the only one.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let is_stream = self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        loop {
            if !is_stream && self.is_over {
                return serde_json::from_str(&std::mem::take(&mut self.text)).ok();
            }
            while is_stream && let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or("").trim();
                let message = serde_json::from_str(data).ok();
                self.text = rest.to_owned();
                if message.is_some() {
                    return message;
                }
            }
            if self.is_over {
                return None;
            }
            soon(self.more()).await;
        }
    }

    /// Waits for the end. What still comes is passed over.
    pub(crate) async fn over(mut self) {
        soon(async { while self.next().await.is_some() {} }).await;
    }

    /// The next message, which has to be there.
    pub(crate) async fn message(&mut self) -> Value {
        soon(self.next()).await.expect("the answer is over")
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    line.trim_end().to_owned()
}
