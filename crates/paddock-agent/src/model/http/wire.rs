//! One request and the bytes of its reply.
//!
//! The request is made on a thread of its own, which hands over the bytes as they come: so whoever waits notices at once that the run was
//! cancelled or that a time is over, whatever the connection does. It goes to the one address of the service: no redirect is followed, no
//! proxy of the environment asked. It must never show the key.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use paddock_core::{BearerToken, Cancel};

use super::address::BaseUrl;
use crate::model::ModelError;
use crate::model::retry::{self, GLANCE, Patience};

/// Bytes of a reply that are read.
const LONGEST_REPLY: usize = 16 * 1024 * 1024;
/// Bytes that are taken from the connection at once.
const CHUNK: usize = 16 * 1024;
/// Chunks that may wait to be read.
const WAITING: usize = 16;

/// What is known of a reply before its body.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Without its parameters; empty where it was not told.
    pub(super) content_type: String,
    pub(super) retry_after: Option<Duration>,
}

/// What comes over a connection, in order.
enum Piece {
    Head(Head),
    Bytes(Vec<u8>),
    End,
    Broken(ModelError),
}

/// How a service is reached.
pub(super) struct Wire {
    agent: ureq::Agent,
    url: Arc<str>,
    headers: Arc<[(&'static str, BearerToken)]>,
    patience: Patience,
    cancel: Arc<Cancel>,
}

impl Wire {
    pub(super) fn new(
        (base, path): (&BaseUrl, &str),
        headers: Vec<(&'static str, BearerToken)>,
        patience: Patience,
        cancel: Arc<Cancel>,
    ) -> Self {
        let agent = agent(base, &patience);
        Self { agent, url: base.with(path).into(), headers: headers.into(), patience, cancel }
    }

    /// Sends a question, and waits for the head of its reply.
    pub(super) fn post(&self, body: Arc<str>, deadline: Instant) -> Result<Reply<'_>, ModelError> {
        let (agent, url, headers) = (self.agent.clone(), Arc::clone(&self.url), Arc::clone(&self.headers));
        let (give, pieces) = mpsc::sync_channel(WAITING);
        let asking = std::thread::Builder::new().name("model".to_owned()).spawn(move || {
            if let Err(error) = converse(&agent, &url, &headers, &body, &give) {
                // Nobody may be left who wants to know.
                let _ = give.send(Piece::Broken(error));
            }
        });
        asking.map_err(|error| ModelError::Unreachable(format!("no thread for the request: {error}")))?;
        let mut reply =
            Reply { pieces, head: Head::default(), read: 0, deadline, patience: &self.patience, cancel: &self.cancel };
        match reply.next(self.patience.connect.saturating_add(self.patience.first_byte))? {
            Piece::Head(head) => reply.head = head,
            Piece::Broken(error) => return Err(error),
            Piece::Bytes(_) | Piece::End => return Err(ModelError::Unreachable("the reply has no head".to_owned())),
        }
        Ok(reply)
    }
}

/// A reply that is coming.
pub(super) struct Reply<'a> {
    pieces: Receiver<Piece>,
    pub(super) head: Head,
    read: usize,
    deadline: Instant,
    patience: &'a Patience,
    cancel: &'a Cancel,
}

impl Reply<'_> {
    /// The next bytes of the body; nothing at its end.
    pub(super) fn bytes(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let silence = if self.read == 0 { self.patience.first_byte } else { self.patience.between_bytes };
        match self.next(silence)? {
            Piece::Bytes(bytes) => {
                self.read += bytes.len();
                if self.read > LONGEST_REPLY {
                    let most = LONGEST_REPLY / (1024 * 1024);
                    return Err(ModelError::Malformed(format!("it is longer than {most} MiB")));
                }
                Ok(Some(bytes))
            }
            Piece::End => Ok(None),
            Piece::Broken(error) => Err(error),
            Piece::Head(_) => Err(ModelError::Malformed("it has two heads".to_owned())),
        }
    }

    /// The whole body, or its first bytes where it is longer than that.
    pub(super) fn body(&mut self, most: usize) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while body.len() < most
            && let Some(bytes) = self.bytes()?
        {
            body.extend(bytes);
        }
        body.truncate(most);
        Ok(body)
    }

    fn next(&self, silence: Duration) -> Result<Piece, ModelError> {
        let until = self.deadline.min(Instant::now() + silence);
        loop {
            if retry::is_stopped(self.cancel) {
                return Err(ModelError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left.min(GLANCE)) {
                Ok(piece) => return Ok(piece),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(ModelError::Slow),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ModelError::Unreachable("the request ended without a word".to_owned()));
                }
            }
        }
    }
}

/// The request from its beginning to its end, on its own thread.
fn converse(
    agent: &ureq::Agent,
    url: &str,
    headers: &[(&'static str, BearerToken)],
    body: &str,
    give: &SyncSender<Piece>,
) -> Result<(), ModelError> {
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value.expose());
    }
    let mut response = request.send(body.as_bytes()).map_err(|error| told(&error))?;
    if give.send(Piece::Head(head(&response))).is_err() {
        return Ok(());
    }
    let mut reader = response.body_mut().as_reader();
    loop {
        let mut chunk = vec![0; CHUNK];
        let n = reader.read(&mut chunk).map_err(|error| told(&ureq::Error::from(error)))?;
        chunk.truncate(n);
        let piece = if n == 0 { Piece::End } else { Piece::Bytes(chunk) };
        if give.send(piece).is_err() || n == 0 {
            return Ok(());
        }
    }
}

fn head(response: &ureq::http::Response<ureq::Body>) -> Head {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let content_type = header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    Head {
        status: response.status().as_u16(),
        content_type: content_type.trim().to_ascii_lowercase(),
        retry_after: retry::retry_after(header("retry-after-ms"), header("retry-after")),
    }
}

fn told(error: &ureq::Error) -> ModelError {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            ModelError::Unreachable("no connection in time".to_owned())
        }
        ureq::Error::Timeout(_) => ModelError::Slow,
        ureq::Error::HostNotFound => ModelError::Unreachable("there is no host of that name".to_owned()),
        ureq::Error::LargeResponseHeader(..) => ModelError::Malformed("its head is too large".to_owned()),
        ureq::Error::Protocol(error) => ModelError::Unreachable(format!("what came is not HTTP ({error})")),
        other => ModelError::Unreachable(other.to_string()),
    }
}

fn agent(base: &BaseUrl, patience: &Patience) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(patience.total))
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .timeout_recv_response(Some(patience.first_byte))
        // Whoever waits is exact about it; this lets go of a connection that nobody waits for.
        .timeout_per_read(Some(patience.first_byte.max(patience.between_bytes)))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("paddock/", env!("CARGO_PKG_VERSION")))
        .accept("text/event-stream, application/json");
    let config =
        if base.is_https() { config.tls_config(paddock_tools::trusted_tls()).https_only(true) } else { config };
    config.build().new_agent()
}
