//! A client that sends exactly what it is told, and reads no more than the answer.
//!
//! A request is sent when its answer is first asked for, so that headers and a body can be added to it. The tests of the command line
//! speak with `paddock serve` through it too. Whatever the API answers to a test, the OpenAPI document has to name its status.

#![allow(dead_code)]

use std::cell::OnceCell;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

/// Nothing takes as long; past this it hangs.
const HANG: Duration = Duration::from_secs(120);

/// A request, and its answer once somebody asked for it.
pub(crate) struct Request {
    address: SocketAddr,
    method: String,
    target: String,
    host: String,
    /// All other lines of the head.
    lines: String,
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
    pub(crate) fn new(address: SocketAddr, method: &str, target: &str) -> Self {
        let (method, target, host) = (method.to_owned(), target.to_owned(), address.to_string());
        let (lines, content) = ("connection: close\r\n".to_owned(), Vec::new());
        Self { address, method, target, host, lines, content, answer: OnceCell::new() }
    }

    /// By another name than its address.
    pub(crate) fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        self.lines(&format!("{name}: {value}\r\n"))
    }

    /// With the token of a program or an agent.
    pub(crate) fn bearer(self, secret: &str) -> Self {
        self.header("authorization", &format!("Bearer {secret}"))
    }

    /// Lines of the head as they stand, each with its end.
    pub(crate) fn lines(mut self, lines: &str) -> Self {
        self.lines.push_str(lines);
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
        let pairs = fields.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        self.header("content-type", "application/x-www-form-urlencoded").body(body)
    }

    /// Fails where the connection breaks off before an answer is whole.
    pub(crate) fn try_send(&self) -> Result<Answer> {
        let answer = read_answer(&mut BufReader::new(self.try_open()?), self.method == "HEAD")?;
        self.is_documented(&answer);
        Ok(answer)
    }

    /// A status that the document does not name is a mistake of the endpoint, or of its row.
    fn is_documented(&self, answer: &Answer) {
        let method = if self.method == "HEAD" { "get".to_owned() } else { self.method.to_lowercase() };
        let path = self.target.split('?').next().unwrap_or_default();
        // Under another name it may be what was published that answers.
        if self.host != self.address.to_string() {
            return;
        }
        let Some(operations) = operations_at(path) else { return };
        let Some(responses) = operations[&method]["responses"].as_object() else { return };
        let status = answer.status.to_string();
        assert!(responses.contains_key(&status), "{method} {path} answers {status}, which is not documented");
    }

    /// The connection when everything is sent, for who reads by hand.
    pub(crate) fn open(&self) -> TcpStream {
        self.try_open().unwrap()
    }

    /// The connection when the head is sent and this much of a body, whose rest does not come.
    pub(crate) fn begun(&self, part: &str) -> TcpStream {
        let mut stream = self.open();
        stream.write_all(part.as_bytes()).unwrap();
        stream
    }

    pub(crate) fn try_open(&self) -> Result<TcpStream> {
        let Self { method, target, host, lines, .. } = self;
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(HANG))?;
        stream.write_all(format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n{lines}\r\n").as_bytes())?;
        // Who is refused early may not be read to the end.
        let _ = stream.write_all(&self.content);
        Ok(stream)
    }

    /// Reads the beginning of the answer, has something happen, and reads on: the whole body, or what came before it broke off.
    pub(crate) fn slowly(&self, meanwhile: impl FnOnce()) -> std::result::Result<Vec<u8>, Vec<u8>> {
        let mut stream = BufReader::new(self.open());
        let answer = read_head(&mut stream).unwrap();
        let mut body = vec![0; 1000];
        stream.read_exact(&mut body).unwrap();
        meanwhile();
        // A connection that is reset has lost what it had not delivered.
        let _ = stream.read_to_end(&mut body);
        if Some(body.len()) == answer.length() { Ok(body) } else { Err(body) }
    }
}

impl Answer {
    /// One value of a header.
    pub(crate) fn head(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn length(&self) -> Option<usize> {
        self.head("content-length").and_then(|length| length.parse().ok())
    }
}

impl std::ops::Deref for Request {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        self.answer.get_or_init(|| self.try_send().expect("an answer"))
    }
}

/// What the document says of a path; nothing where it knows none like it.
fn operations_at(path: &str) -> Option<&'static Value> {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(paddock_console::openapi);
    let paths = DOCUMENT["paths"].as_object()?;
    // The one that says most of the path by itself, before any that only has a place for it.
    let fitting = paths.iter().filter(|(template, _)| fits(template, path));
    fitting.min_by_key(|(template, _)| template.matches('{').count()).map(|(_, operations)| operations)
}

/// Is it a path of this template? `{path}` stands for all the rest.
fn fits(template: &str, path: &str) -> bool {
    let mut given = path.split('/');
    for part in template.split('/') {
        match (part, given.next()) {
            ("{path}", Some(_)) => return true,
            (part, Some(given)) if part == given || (part.starts_with('{') && !given.is_empty()) => {}
            _ => return false,
        }
    }
    given.next().is_none()
}

fn escaped(text: &str) -> String {
    let kept = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().map(|byte| if kept(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The answer up to where its body begins.
fn read_head(stream: &mut impl BufRead) -> Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Error::other(format!("no status: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Answer { status, headers, body: Vec::new() })
}

fn read_answer(stream: &mut impl BufRead, head_only: bool) -> Result<Answer> {
    let mut answer = read_head(stream)?;
    if head_only || matches!(answer.status, 204 | 304) {
    } else if answer.head("transfer-encoding") == Some("chunked") {
        read_chunks(stream, &mut answer.body)?;
    } else if let Some(length) = answer.length() {
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body)?;
    } else {
        stream.read_to_end(&mut answer.body)?;
    }
    Ok(answer)
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let length = usize::from_str_radix(line.trim(), 16).map_err(Error::other)?;
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..])?;
        stream.read_line(&mut line)?;
        if length == 0 {
            return Ok(());
        }
    }
}
