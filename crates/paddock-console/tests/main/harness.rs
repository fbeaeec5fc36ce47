//! A project in a temporary directory, served for real, and a client that sends exactly what it is told.
//!
//! The project has two agents. `main` perceives `/project` (RO, the project's directory), `/project/workspace` (RW, with a quota of
//! 64 MiB), `/notes` (RW, Virtual) and `/drop` (WO); `reviewer` perceives `/code` (RO). `.env` and `*.secret` are hidden everywhere.
//! A request is sent when its answer is first asked for, so that headers and a body can be added to it.

#![allow(dead_code)]

use std::cell::OnceCell;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use paddock_console::{ServeOptions, serve};
use paddock_desk::access::NewToken;
use paddock_desk::{Desk, Places, Project, access::Access};
use paddock_tools::Control;
use serde_json::Value;

const CONFIG: &str = r#"
name = "served"
base = "/project"

[[workspace]]
prefix = "/project"
scope = "READ_ONLY"
mount = { physical = "." }
hide = [".env", "*.secret"]

[[workspace]]
prefix = "/project/workspace"
scope = "READ_WRITE"
mount = { physical = "workspace" }
hide = [".env", "*.secret"]
quota = { bytes = "64 MiB", files = 200000 }

[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
hide = [".env", "*.secret"]

[[workspace]]
prefix = "/drop"
scope = "WRITE_ONLY"
mount = { physical = "../drop" }
hide = [".env", "*.secret"]

[agents.reviewer]
[[agents.reviewer.workspace]]
prefix = "/code"
scope = "READ_ONLY"
mount = { physical = "code" }
hide = [".env", "*.secret"]
"#;

/// A served project.
pub(crate) struct Served {
    /// Removed at the end.
    _place: tempfile::TempDir,
    /// The project's directory.
    pub(crate) root: PathBuf,
    pub(crate) desk: Arc<Desk>,
    pub(crate) address: SocketAddr,
    session: String,
}

impl Served {
    /// The project as the module says, signed in.
    pub(crate) fn start() -> Self {
        Self::with(CONFIG)
    }

    /// As [`Self::start`], with more lines of configuration behind.
    pub(crate) fn start_with(more: &str) -> Self {
        Self::with(&format!("{CONFIG}\n{more}"))
    }

    /// A project of this configuration, signed in.
    pub(crate) fn with(config: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        for directory in ["workspace", "../drop", "code", "src"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("paddock.toml"), config).unwrap();
        std::fs::write(root.join("src/lib.rs"), "pub fn one() -> u32 {\n    1\n}\n").unwrap();
        std::fs::write(root.join(".env"), "KEY=hidden-value\n").unwrap();
        std::fs::write(root.join("workspace/hello.txt"), "hello\n").unwrap();
        std::fs::write(root.join("workspace/.env"), "KEY=hidden-value\n").unwrap();
        std::fs::write(root.join("code/a.txt"), "for the reviewer\n").unwrap();
        let places = Places {
            home: Some(place.path().join("home")),
            config: Some(root.join("paddock.toml")),
            ..Places::default()
        };
        let desk = Arc::new(Desk::work(Project::find(&places).unwrap()).unwrap());
        let (address, session) = serve_and_sign_in(&desk);
        Self { _place: place, root, desk, address, session }
    }

    /// A request of the person who signed in, from a page of the console.
    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        let mut request = self.stranger(method, target).header("cookie", &self.session);
        if !matches!(method, "GET" | "HEAD") {
            request = request.header("sec-fetch-site", "same-origin");
        }
        request
    }

    /// A request of nobody.
    pub(crate) fn stranger(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    pub(crate) fn get(&self, target: &str) -> Request {
        self.request("GET", target)
    }

    /// A form of a page, sent.
    pub(crate) fn form(&self, target: &str, fields: &[(&str, &str)]) -> Request {
        self.request("POST", target).form(fields)
    }

    /// The secret of a new token for the API.
    pub(crate) fn token(&self, name: &str, read_only: bool) -> String {
        self.make_token(serde_json::json!({ "name": name, "read_only": read_only }))
    }

    /// The secret of a new token that speaks for an agent at `/mcp`.
    pub(crate) fn agent_token(&self, agent: &str) -> String {
        self.make_token(serde_json::json!({ "name": agent, "agent": agent }))
    }

    fn make_token(&self, new: Value) -> String {
        let new: NewToken = serde_json::from_value(new).unwrap();
        Access::of(&self.desk).unwrap().make_token(&new).unwrap().secret
    }

    /// What a tool of the agent answers, as the agent reads it.
    pub(crate) fn tool(&self, agent: &str, tool: &str, arguments: Value) -> String {
        let agent = paddock_core::AgentName::parse(agent).unwrap();
        let toolbox = self.desk.toolbox(&agent).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        toolbox.call(tool, arguments, &Control::for_at_most(Duration::from_secs(60))).text()
    }

    /// The cookie of the person who signed in.
    pub(crate) fn session(&self) -> String {
        self.session.clone()
    }

    /// The secret of a new sign-in link.
    pub(crate) fn link(&self) -> String {
        Access::of(&self.desk).unwrap().link().unwrap()
    }

    /// Another server on the same project, as another process would be.
    pub(crate) fn again(&self) -> Self {
        let desk = Arc::new(Desk::work(self.desk.project().clone()).unwrap());
        let (address, session) = serve_and_sign_in(&desk);
        Self { _place: tempfile::tempdir().unwrap(), root: self.root.clone(), desk, address, session }
    }

    /// A file of the project's directory.
    pub(crate) fn file(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }
}

/// Serves on a thread of its own until the process of the tests ends.
fn serve_and_sign_in(desk: &Arc<Desk>) -> (SocketAddr, String) {
    let (told, begun) = mpsc::channel();
    let serving = Arc::clone(desk);
    std::thread::spawn(move || {
        let options = ServeOptions { address: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0, hosts: Vec::new() };
        let ended = serve(serving, &options, |listening| told.send(listening.clone()).unwrap(), || {});
        if let Err(error) = ended {
            panic!("{error}");
        }
    });
    let listening = begun.recv().unwrap();
    let link = listening.sign_in.strip_prefix(&listening.url).unwrap();
    let signed_in = Request::new(listening.address, "GET", link);
    let cookie = signed_in.head("set-cookie").expect("the link signs in");
    (listening.address, cookie.split(';').next().unwrap().to_owned())
}

/// A request, and its answer once somebody asked for it.
pub(crate) struct Request {
    address: SocketAddr,
    head: String,
    /// What is sent.
    content: Vec<u8>,
    answer: OnceCell<Answer>,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    fn new(address: SocketAddr, method: &str, target: &str) -> Self {
        let head = format!("{method} {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
        Self { address, head, content: Vec::new(), answer: OnceCell::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.content = body.as_ref().to_owned();
        let length = self.content.len().to_string();
        self.header("content-length", &length)
    }

    /// A body whose length is not announced.
    pub(crate) fn chunked(mut self, body: &[u8]) -> Self {
        for chunk in body.chunks(1 << 20) {
            self.content.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            self.content.extend_from_slice(chunk);
            self.content.extend_from_slice(b"\r\n");
        }
        self.content.extend_from_slice(b"0\r\n\r\n");
        self.header("transfer-encoding", "chunked")
    }

    pub(crate) fn json_body(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn form(self, fields: &[(&str, &str)]) -> Self {
        let body = serde_urlencoded::to_string(fields).unwrap();
        self.header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Fails where the connection breaks off before an answer is whole.
    pub(crate) fn try_send(&self) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(format!("{}\r\n", self.head).as_bytes())?;
        // Who is refused early may not be read to the end.
        let _ = stream.write_all(&self.content);
        read_answer(&mut BufReader::new(stream), self.head.starts_with("HEAD "))
    }

    /// Sends the head and this much of a body, and hangs up.
    pub(crate) fn try_half(&self, body: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(format!("{}\r\n{body}", self.head).as_bytes())
    }

    /// Reads the beginning of the answer, has something happen, and reads on: the whole body, or what came before it broke off.
    pub(crate) fn slowly(&self, meanwhile: impl FnOnce()) -> Result<Vec<u8>, Vec<u8>> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(format!("{}\r\n", self.head).as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else {
                if line == "\r\n" { break } else { continue }
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; 1000];
        stream.read_exact(&mut body).unwrap();
        meanwhile();
        // A connection that is reset has lost what it had not delivered.
        let _ = stream.read_to_end(&mut body);
        if body.len() == length { Ok(body) } else { Err(body) }
    }

    /// One value of a header of the answer.
    pub(crate) fn head(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The answer as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The answer as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl std::ops::Deref for Request {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        self.answer.get_or_init(|| self.try_send().expect("an answer"))
    }
}

fn read_answer(stream: &mut impl BufRead, head_only: bool) -> std::io::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other(format!("no status: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let of = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut body = Vec::new();
    if head_only || matches!(status, 204 | 304) {
    } else if of("transfer-encoding").is_some_and(|kind| kind == "chunked") {
        read_chunks(stream, &mut body)?;
    } else if let Some(length) = of("content-length").and_then(|length| length.parse().ok()) {
        body.resize(length, 0);
        stream.read_exact(&mut body)?;
    } else {
        stream.read_to_end(&mut body)?;
    }
    Ok(Answer { status, headers, body })
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..])?;
        stream.read_line(&mut line)?;
        if length == 0 {
            return Ok(());
        }
    }
}
