//! A lean HTTP/1.1 client on one connection: for measuring a server, not for browsing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// One connection that is kept.
#[derive(Debug)]
pub(crate) struct Connection {
    to: TcpStream,
    from: BufReader<TcpStream>,
    host: String,
    token: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr, token: &str) -> Result<Self> {
        let to = TcpStream::connect(address).context("the server takes connections")?;
        to.set_nodelay(true)?;
        to.set_read_timeout(Some(Duration::from_secs(60)))?;
        let from = BufReader::with_capacity(64 * 1024, to.try_clone()?);
        Ok(Self { to, from, host: address.to_string(), token: token.to_owned() })
    }

    /// Asks and waits for the whole answer.
    pub(crate) fn ask(&mut self, method: &str, path: &str, more: &str, body: &[u8]) -> Result<Answer> {
        self.send(method, path, more, body)?;
        let (status, head) = self.head()?;
        let mut answer = Answer { status, head, body: Vec::new() };
        let mut body = std::mem::take(&mut answer.body);
        self.body(&answer.head, |piece| body.extend_from_slice(piece))?;
        Ok(Answer { body, ..answer })
    }

    /// Asks, and only counts what comes.
    pub(crate) fn count(&mut self, path: &str) -> Result<u64> {
        self.send("GET", path, "", b"")?;
        let (status, head) = self.head()?;
        let mut bytes = 0;
        self.body(&head, |piece| bytes += piece.len() as u64)?;
        if status != 200 {
            bail!("\"{path}\" answered {status}");
        }
        Ok(bytes)
    }

    /// Begins a stream of events; the lines are read with [`Self::line`].
    pub(crate) fn listen(&mut self, path: &str) -> Result<()> {
        self.send("GET", path, "accept: text/event-stream\r\n", b"")?;
        let (status, _) = self.head()?;
        if status != 200 {
            bail!("\"{path}\" answered {status}");
        }
        Ok(())
    }

    /// The next line of a stream, chunk marks included: whoever counts events looks for what they begin with.
    pub(crate) fn line(&mut self, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        if self.from.read_until(b'\n', line)? == 0 {
            bail!("the stream ended");
        }
        Ok(())
    }

    fn send(&mut self, method: &str, path: &str, more: &str, body: &[u8]) -> Result<()> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n{more}\r\n",
            self.host,
            self.token,
            body.len()
        );
        let message = [head.as_bytes(), body].concat();
        self.to.write_all(&message).context("the server takes no request")
    }

    fn head(&mut self) -> Result<(u16, String)> {
        let mut head = String::new();
        loop {
            let before = head.len();
            if self.from.read_line(&mut head)? == 0 {
                bail!("the server went away");
            }
            if head[before..].trim().is_empty() {
                break;
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("an answer has a status")?;
        Ok((status, head.to_ascii_lowercase()))
    }

    fn body(&mut self, head: &str, mut take: impl FnMut(&[u8])) -> Result<()> {
        let mut room = vec![0; 64 * 1024];
        if let Some(length) = field(head, "content-length") {
            return self.pieces(length.parse()?, &mut room, &mut take);
        }
        if field(head, "transfer-encoding").is_none() {
            return Ok(());
        }
        let mut line = String::new();
        loop {
            line.clear();
            self.from.read_line(&mut line)?;
            let length = u64::from_str_radix(line.trim(), 16).context("a chunk has a length")?;
            self.pieces(length, &mut room, &mut take)?;
            line.clear();
            self.from.read_line(&mut line)?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn pieces(&mut self, mut left: u64, room: &mut [u8], take: &mut impl FnMut(&[u8])) -> Result<()> {
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
            let read = self.from.read(&mut room[..most])?;
            if read == 0 {
                bail!("the answer broke off");
            }
            take(&room[..read]);
            left -= read as u64;
        }
        Ok(())
    }
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}
