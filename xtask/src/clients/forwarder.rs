//! A way to `paddock serve` for a program that cannot send a token: every request is handed on with the token in its head.
//!
//! Owns the head of a request; its body and the answer pass as they are. A name is handed on as it was said, with the server's port in the place of
//! the forwarder's own: one that is foreign here is foreign there, too. It must never outlive who started it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};

use super::site::Site;

/// The longest head; what is longer is none.
const LONGEST_HEAD: u64 = 64 * 1024;

/// A running forwarder, with the server behind it.
#[derive(Debug)]
pub(crate) struct Forwarder {
    way: Arc<Way>,
    accepting: Option<JoinHandle<()>>,
    _site: Site,
}

/// From where to where, and with which token.
#[derive(Debug)]
struct Way {
    here: SocketAddr,
    server: SocketAddr,
    token: String,
    ends: AtomicBool,
}

impl Forwarder {
    /// In front of a server, with its token.
    pub(crate) fn before(site: Site) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let server = site.address().trim_start_matches("http://").parse().context("the server has no address")?;
        let (here, token) = (listener.local_addr()?, site.token().to_owned());
        let way = Arc::new(Way { here, server, token, ends: AtomicBool::new(false) });
        let accepting = thread::spawn({
            let way = Arc::clone(&way);
            move || accept(&listener, &way)
        });
        Ok(Self { way, accepting: Some(accepting), _site: site })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.way.here)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.way.ends.store(true, Ordering::Release);
        // Whoever waits for a connection looks up at the next one.
        let _ = TcpStream::connect(self.way.here);
        let _ = self.accepting.take().map(JoinHandle::join);
    }
}

fn accept(listener: &TcpListener, way: &Arc<Way>) {
    for client in listener.incoming() {
        if way.ends.load(Ordering::Acquire) {
            return;
        }
        let (Ok(client), way) = (client, Arc::clone(way)) else { continue };
        // A connection that breaks off is for the two ends of it to tell.
        thread::spawn(move || drop(way.hand_on(client)));
    }
}

impl Way {
    /// One request and its answer: the connection is closed behind it, so that no second one comes without a token.
    fn hand_on(&self, mut client: TcpStream) -> io::Result<()> {
        let mut asking = BufReader::new(client.try_clone()?);
        let head = head(&mut asking)?;
        let mut server = TcpStream::connect(self.server)?;
        server.write_all(self.with_token(&head).as_bytes())?;
        let mut answering = server.try_clone()?;
        let answer = thread::spawn(move || {
            let _ = io::copy(&mut answering, &mut client);
            let _ = client.shutdown(Shutdown::Both);
        });
        let asked = io::copy(&mut asking, &mut server);
        let _ = server.shutdown(Shutdown::Both);
        let _ = answer.join();
        asked.map(drop)
    }

    fn with_token(&self, head: &str) -> String {
        let is = |line: &str, name: &str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        let kept = head.lines().filter(|line| !line.is_empty() && !is(line, "connection"));
        let (own, theirs) = (format!(":{}", self.here.port()), format!(":{}", self.server.port()));
        let mut made = String::new();
        for line in kept {
            let named = ["host", "origin"].iter().any(|name| is(line, name)) && line.ends_with(&own);
            made += &if named { line.replace(&own, &theirs) } else { line.to_owned() };
            made += "\r\n";
        }
        made + &format!("authorization: Bearer {}\r\nconnection: close\r\n\r\n", self.token)
    }
}

/// Everything up to the empty line.
fn head(from: &mut BufReader<TcpStream>) -> io::Result<String> {
    let (mut head, mut from) = (String::new(), from.take(LONGEST_HEAD));
    while !head.ends_with("\r\n\r\n") {
        if from.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way() -> Way {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Way { here: at(10), server: at(20), token: "secret".to_owned(), ends: AtomicBool::new(false) }
    }

    #[test]
    fn a_request_gets_the_token_and_the_port_of_the_server() {
        let head =
            "POST /mcp HTTP/1.1\r\nHost: localhost:10\r\nOrigin: http://localhost:10\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(
            way().with_token(head),
            "POST /mcp HTTP/1.1\r\nHost: localhost:20\r\nOrigin: http://localhost:20\r\n\
             authorization: Bearer secret\r\nconnection: close\r\n\r\n"
        );
    }

    #[test]
    fn a_foreign_name_stays_foreign() {
        let head = "POST /mcp HTTP/1.1\r\nhost: evil.example.com\r\norigin: http://evil.example.com:100\r\n\r\n";
        let made = way().with_token(head);
        assert!(made.contains("host: evil.example.com\r\norigin: http://evil.example.com:100\r\n"), "{made}");
    }
}
