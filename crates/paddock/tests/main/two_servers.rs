//! Two `paddock serve` on one PostgreSQL, each on a machine of its own as far as they know: another directory, another System Root. What
//! waits at one is decided at the other, and holds.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

use paddock_db::postgres_testing::Database;
use serde_json::{Value, json};

use crate::harness::{World, eventually};

/// Two machines of one installation: they share its key, and nothing else but the server.
fn machines(database: &Database) -> (World, World) {
    let (here, there) = (machine(database), machine(database));
    // The key is made with the first call.
    let write = here.paddock(&["tool", "write_file", "{\"path\": \"/notes/old.txt\", \"content\": \"one\\n\"}"]);
    assert_eq!(write.code, 0, "{write}");
    let refused = there.paddock(&["tool", "delete_file", "{\"path\": \"/notes/old.txt\"}"]);
    assert_ne!(refused.code, 0, "without the key nothing is done: {refused}");
    let key = |world: &World| world.home().join(".paddock/secrets/audit.key");
    std::fs::copy(key(&here), key(&there)).unwrap();
    (here, there)
}

/// A project whose files and state are all on a server, as one of several machines has it.
fn machine(database: &Database) -> World {
    let url = database.url();
    World::configured(&format!(
        "name = \"p\"\n[virtual]\nurl = \"{url}\"\n[state]\nurl = \"{url}\"\nid = \"p\"\n\
         [[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = {{ virtual = \"notes\" }}\n"
    ))
}

/// A server that runs.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(world: &World) -> Self {
        let mut command = world.command(&["serve", "--port", "0", "--json"]);
        command.env("USER", "alice").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        Self { child, address: told["address"].as_str().unwrap().parse().unwrap() }
    }

    /// One request with a token: the status, and the JSON of the body.
    fn ask(&self, secret: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, text) = self.send(secret, method, path, "accept: application/json\r\n", body);
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    fn send(&self, secret: &str, method: &str, path: &str, more: &str, body: Option<&Value>) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {secret}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{more}\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// What a tool answers an agent over MCP.
    fn call(&self, secret: &str, tool: &str, arguments: &Value) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "two servers", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let headers = format!(
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
             mcp-name: {tool}\r\n"
        );
        let (status, text) = self.send(secret, "POST", "/mcp", &headers, Some(&body));
        assert_eq!(status, 200, "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(world: &World, arguments: &[&str]) -> String {
    let made = world.paddock(&[&["token", "new"], arguments, &["--json"]].concat());
    assert_eq!(made.code, 0, "{made}");
    made.json()["secret"].as_str().unwrap().to_owned()
}

fn decide(server: &Server, secret: &str, id: &str) -> (u16, Value) {
    let (_, shown) = server.ask(secret, "GET", &format!("/api/v1/approvals/{id}"), None);
    let decision = json!({ "decision": "approve", "shown": shown["shown"] });
    server.ask(secret, "POST", &format!("/api/v1/approvals/{id}/decision"), Some(&decision))
}

#[test]
fn what_waits_at_one_is_decided_at_the_other() {
    let database = Database::fresh();
    let (here, there) = machines(&database);
    let (first, second) = (Server::start(&here), Server::start(&there));
    let agent = token(&here, &["worker", "--agent", "main"]);
    let person = token(&there, &["person", "--api"]);
    let delete = json!({ "path": "/notes/old.txt" });
    let told = first.call(&agent, "delete_file", &delete);
    let (status, waiting) = second.ask(&person, "GET", "/api/v1/approvals", None);
    let id = waiting[0]["id"].as_str().unwrap_or_else(|| panic!("{status} {waiting}")).to_owned();
    assert!(told.contains(&id), "{told}");
    let (status, decided) = decide(&second, &person, &id);
    assert_eq!((status, &decided["approval"]["decided_by"]), (200, &json!("token person")), "{decided}");
    // Too late at the first, which hears who was faster.
    let (status, late) = decide(&first, &person, &id);
    assert_eq!(status, 409, "{late}");
    assert!(late["detail"].as_str().unwrap().contains("approved already, by token person"), "{late}");
    let done = first.call(&agent, "delete_file", &delete);
    assert!(!done.contains("ap-"), "{done}");
    let gone = first.call(&agent, "read_file", &delete);
    assert!(gone.contains("ERROR") && !gone.contains("one"), "{gone}");
    let (_, used) = second.ask(&person, "GET", &format!("/api/v1/approvals/{id}"), None);
    assert!(used["used_by"].is_string(), "{used}");
}

#[test]
fn a_run_that_waits_at_one_goes_on_at_the_other() {
    let database = Database::fresh();
    let (here, there) = machines(&database);
    let script = here.path().join("script.jsonl");
    let call =
        json!({ "content": "", "tool_calls": [{ "name": "delete_file", "arguments": { "path": "/notes/old.txt" } }] });
    std::fs::write(
        &script,
        format!("{}\n{call}\n{}\n", json!({ "content": "- [ ] remove" }), json!({ "content": "removed" })),
    )
    .unwrap();
    let model = format!("script:{}", script.display());
    let mut command =
        here.command(&["run", "tidy", "--thread", "t", "--level", "admin", "--model", &model, "--no-wait", "--json"]);
    command.env("USER", "alice");
    let frozen = here.run(command, "");
    assert_eq!(frozen.code, 3, "{frozen}");
    let id = frozen.json()["approval"].as_str().unwrap().to_owned();

    let (first, second) = (Server::start(&here), Server::start(&there));
    let person = token(&here, &["person", "--api"]);
    let (status, decided) = decide(&first, &person, &id);
    assert_eq!(status, 200, "{decided}");
    // Signed by one machine, it holds on the other, and so does the right to resume.
    let (status, resumed) = second.ask(&person, "POST", "/api/v1/threads/t/resume", Some(&json!({})));
    assert_eq!(status, 200, "{resumed}");
    let shown = || first.ask(&person, "GET", "/api/v1/threads/t", None).1["thread"].clone();
    assert!(
        eventually(|| shown()["status"] == "done"),
        "{} {}",
        shown(),
        second.ask(&person, "GET", "/api/v1/threads/t", None).1["thread"]
    );
    assert_eq!(shown()["told"], "removed");
}
