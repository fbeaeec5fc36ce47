//! `paddock serve` for the tests: started as people start it, and asked over HTTP as programs and agents ask.

// One client for this and for the console's own tests.
#[path = "../../../paddock-console/tests/main/http.rs"]
mod http;

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) use self::http::Request;
use crate::harness::World;

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    /// What it told the program that started it.
    pub(crate) told: Value,
}

impl Server {
    pub(crate) fn start(world: &World) -> Self {
        Self::spawn(Self::command(world))
    }

    /// What starts one; nobody hears what it tells people.
    pub(crate) fn command(world: &World) -> Command {
        let mut command = world.command(&["serve", "--port", "0", "--json"]);
        command.stderr(Stdio::null());
        command
    }

    /// Started by a command of [`Self::command`], when it listens.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, address: told["address"].as_str().unwrap().parse().unwrap(), told }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has the process get this signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended; waits for it.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// What a tool answers the agent of a token, over MCP; nothing where the server went away meanwhile.
    pub(crate) fn try_call(&self, secret: &str, tool: &str, arguments: &Value) -> Option<String> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = self
            .request("POST", "/mcp")
            .bearer(secret)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .json_body(&body);
        let answer = request.try_send().ok()?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        Some(answer.text())
    }

    pub(crate) fn call(&self, secret: &str, tool: &str, arguments: &Value) -> String {
        self.try_call(secret, tool, arguments).unwrap_or_else(|| panic!("{tool} was not answered"))
    }
}

/// Somebody who listens to what happens.
pub(crate) struct Listener(BufReader<TcpStream>);

impl Listener {
    /// Whoever asked for the events, once they are greeted; nothing where there is no room for them.
    pub(crate) fn let_in(connection: TcpStream) -> Option<Self> {
        let mut listener = Self(BufReader::new(connection));
        let status = listener.line();
        if status.starts_with("HTTP/1.1 503 ") {
            return None;
        }
        assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
        while !listener.line().starts_with(": here") {}
        Some(listener)
    }

    /// The next event that is about a path, and not about a token or somebody who signs in.
    pub(crate) fn next(&mut self) -> Value {
        // A silent stream shows signs of life for ever.
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let line = self.line();
            let event = line.trim_end().strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap());
            if let Some(event) = event.filter(|event| event["path"].as_str().is_some_and(|path| path.starts_with('/')))
            {
                return event;
            }
            assert!(Instant::now() < until, "nothing is told");
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The secret of a new token, of `paddock token new` with these arguments.
pub(crate) fn token(world: &World, arguments: &[&str]) -> String {
    let made = world.paddock(&[&["token", "new"], arguments, &["--json"]].concat());
    assert_eq!(made.code, 0, "{made}");
    made.json()["secret"].as_str().unwrap().to_owned()
}
