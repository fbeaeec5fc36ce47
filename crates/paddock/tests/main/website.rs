//! Somebody else's site, on the loopback: pages by path, and what it was asked.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is answered: status line, further head lines, body.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) status: &'static str,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Page {
    pub(crate) fn ok(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: "200 OK", head: format!("Content-Type: {kind}\r\n"), body: body.into() }
    }

    pub(crate) fn status(status: &'static str, head: &str) -> Self {
        Self { status, head: head.to_owned(), body: Vec::new() }
    }
}

/// Pages, and who asked for them.
pub(crate) struct Website {
    pub(crate) port: u16,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    heard: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Website {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let site = Self { port, pages: Arc::default(), heard: Arc::default(), heads: Arc::default() };
        let (pages, heard, heads) = (Arc::clone(&site.pages), Arc::clone(&site.heard), Arc::clone(&site.heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, heard, heads) = (Arc::clone(&pages), Arc::clone(&heard), Arc::clone(&heads));
                std::thread::spawn(move || answer(stream, &pages, &heard, &heads));
            }
        });
        site
    }

    /// Answers a path, whatever stands behind its `?`.
    pub(crate) fn page(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// All other lines of their heads.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The first lines of all requests so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: TcpStream,
    pages: &Mutex<HashMap<String, Page>>,
    heard: &Mutex<Vec<String>>,
    heads: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    heads.lock().unwrap().extend(lines.by_ref().take_while(|line| !line.is_empty()));
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default().replace("%2f", "/").replace("%2F", "/");
    let page = pages.lock().unwrap().get(&path).cloned();
    heard.lock().unwrap().push(first);
    let Page { status, head, body } = page.unwrap_or_else(|| Page::status("404 Not Found", ""));
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(&body);
}
