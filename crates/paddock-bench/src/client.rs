//! A lean MCP client over pipes, the same for every server: one request at a time, and nothing but the server on
//! the clock.
//!
//! The request is written out before the clock starts, and the answer is looked at after it has stopped. It speaks
//! the era with `initialize`, which is the only one that every peer knows.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::usage::{Memory, cpu_time, memory};

const PROTOCOL: &str = "2025-06-18";
/// Room for the largest answer of the benchmarks, so that no server pays for our small reads.
const BUFFER: usize = 256 * 1024;

/// A running server and the conversation with it.
#[derive(Debug)]
pub(crate) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last_id: u64,
    line: Vec<u8>,
}

/// An answer, and how long it took from the first byte of the request to the last of the answer.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) text: String,
    pub(crate) took: Duration,
}

impl Client {
    /// Starts a server and greets it; the time is from before it was started to its greeting.
    pub(crate) fn start(mut command: Command) -> Result<(Self, Duration)> {
        let greeting = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "paddock-bench", "version": env!("CARGO_PKG_VERSION")},
        });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let to = child.stdin.take();
        let from = child.stdout.take().context("the server has an output")?;
        let from = BufReader::with_capacity(BUFFER, from);
        let mut client = Self { child, to, from, last_id: 0, line: Vec::new() };
        client.request("initialize", &greeting)?;
        let took = start.elapsed();
        client.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok((client, took))
    }

    /// Calls a tool; an answer that says it failed is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Timed> {
        let (result, took) = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let text = text_of(&result);
        if result["isError"] == true {
            bail!("{tool} failed: {text}");
        }
        Ok(Timed { text, took })
    }

    /// What the server's processes have used of the processors so far.
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        cpu_time(self.child.id())
    }

    /// What the server's processes hold in memory.
    pub(crate) fn memory(&self) -> Result<Memory> {
        memory(self.child.id())
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<(Value, Duration)> {
        self.last_id += 1;
        let id = self.last_id;
        let mut request = serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        request.push(b'\n');
        let start = Instant::now();
        self.send(&request)?;
        loop {
            self.line.clear();
            let read = self.from.read_until(b'\n', &mut self.line)?;
            let took = start.elapsed();
            if read == 0 {
                bail!("the server went away during \"{method}\"");
            }
            let mut message: Value = serde_json::from_slice(&self.line)?;
            if message["id"] != id {
                // A notification, or a request of the server's own: neither answers us.
                continue;
            }
            return match message.get_mut("result") {
                Some(result) => Ok((result.take(), took)),
                None => bail!("\"{method}\" was refused: {}", message["error"]),
            };
        }
    }

    fn send(&mut self, message: &[u8]) -> Result<()> {
        self.to.as_mut().context("the server takes input")?.write_all(message).context("the server takes no input")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.to.take());
        // Most servers end when their input does; whether they do is not what is measured.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(result: &Value) -> String {
    let pieces = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    pieces.iter().filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that greets, says something unasked, and answers a call.
    fn server(answer: &str) -> Command {
        let script = format!(
            r#"read -r greeting; echo '{{"jsonrpc":"2.0","id":1,"result":{{}}}}'
               read -r initialized; read -r call
               echo '{{"jsonrpc":"2.0","method":"notifications/message","params":{{}}}}'
               echo '{{"jsonrpc":"2.0","id":2,{answer}}}'
               read -r never"#
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    }

    #[test]
    fn an_answer_is_told_from_what_comes_unasked() {
        let answer = r#""result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        let (mut client, _) = Client::start(server(answer)).unwrap();
        assert_eq!(client.call("t", &json!({})).unwrap().text, "a\nb");
        assert!(client.memory().unwrap().resident > 0);
    }

    #[test]
    fn a_failed_call_is_an_error_with_what_the_server_said() {
        for answer in
            [r#""result":{"isError":true,"content":[{"type":"text","text":"why"}]}"#, r#""error":{"message":"why"}"#]
        {
            let (mut client, _) = Client::start(server(answer)).unwrap();
            let error = client.call("t", &json!({})).unwrap_err().to_string();
            assert!(error.contains("why"), "{error}");
        }
    }

    #[test]
    fn a_server_that_goes_away_is_an_error() {
        let error = Client::start(Command::new("true")).unwrap_err();
        assert!(format!("{error:#}").contains("the server"), "{error:#}");
    }
}
