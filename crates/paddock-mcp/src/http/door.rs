//! What one token has: its handler, its sessions, its share of every bound.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::Full;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::answers::Answer;
use super::load::Room;
use super::options::HttpOptions;
use super::sessions::{Belongs, Sessions, new_name};

pub(super) const SESSION: &str = "mcp-session-id";

/// One token's way in.
pub(super) struct Door<H> {
    name: Arc<str>,
    agent: Agent,
    handler: H,
    service: StreamableHttpService<H, Sessions>,
    sessions: Arc<Sessions>,
    calls: Room,
    streams: Room,
    room: Room,
    closed: CancellationToken,
    last_used: Mutex<Instant>,
}

impl<H: ServerHandler + Clone> Door<H> {
    pub(super) fn new(agent: Agent, handler: H, options: &HttpOptions, closed: CancellationToken) -> Self {
        let sessions = Arc::new(Sessions::new(options.sessions_at_once, options.session_idle));
        let made = handler.clone();
        let config = options.config(closed.clone());
        Self {
            name: new_name(),
            agent,
            handler,
            service: StreamableHttpService::new(move || Ok(made.clone()), Arc::clone(&sessions), config),
            sessions,
            calls: Room::of(options.calls_at_once),
            streams: Room::of(options.streams_at_once),
            room: Room::of(options.room),
            closed,
            last_used: Mutex::new(Instant::now()),
        }
    }

    pub(super) async fn ask(&self, request: Request<Full<Bytes>>) -> Answer {
        self.service.handle(request).await
    }

    /// Waits for this call's turn.
    pub(super) async fn call(&self, patience: Duration) -> Option<OwnedSemaphorePermit> {
        self.calls.take(1, patience).await
    }

    pub(super) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        self.streams.take_one()
    }

    /// Ends the streams that stay open without a request. Those of a request end with the word that the handler got.
    pub(super) async fn end_streams(&self) {
        self.sessions.end_streams().await;
    }

    /// Ends everything.
    pub(super) fn close(&self) {
        self.closed.cancel();
        self.sessions.close_all();
    }

    /// To what a request with these headers belongs: its session, else the token.
    pub(super) fn belonging(&self, headers: &HeaderMap) -> Belongs {
        self.session(headers).unwrap_or_else(|| Belongs::to_token(&self.name))
    }

    /// Is there the session that a request names?
    pub(super) fn has_session(&self, headers: &HeaderMap) -> bool {
        self.session(headers).is_some()
    }

    fn session(&self, headers: &HeaderMap) -> Option<Belongs> {
        self.sessions.get(headers.get(SESSION)?.to_str().ok()?)
    }

    pub(super) fn used_now(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn is_unused_for(&self, time: Duration) -> bool {
        let last = *self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        last.elapsed() >= time && self.sessions() == 0 && self.calls_under_way() == 0 && self.streams_open() == 0
    }
}

impl<H> Door<H> {
    pub(super) fn agent(&self) -> &Agent {
        &self.agent
    }

    pub(super) fn handler(&self) -> &H {
        &self.handler
    }

    pub(super) fn room(&self) -> &Room {
        &self.room
    }

    pub(super) fn sessions(&self) -> usize {
        self.sessions.count()
    }

    pub(super) fn calls_under_way(&self) -> usize {
        self.calls.used()
    }

    pub(super) fn streams_open(&self) -> usize {
        self.streams.used()
    }
}
