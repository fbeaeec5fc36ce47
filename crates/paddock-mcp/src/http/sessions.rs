//! The sessions of one token: of clients that begin with `initialize`.
//!
//! rmcp keeps them; this bounds their number and says when one has ended, so that nothing goes on for it. The one that was unused
//! the longest makes place: clients that went away without a word must not lock out the same agent's next one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use paddock_core::CallId;
use rmcp::model::{ClientJsonRpcMessage, Extensions, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::sync::watch;

/// To what a request belongs: goes with it, to whom it may concern. Over HTTP many sessions come and go while the handler stays.
#[derive(Debug, Clone)]
pub(super) struct Belongs {
    /// What a person's decision "for this session" is about. Never the id that the client sends.
    name: Arc<str>,
    /// Told by being closed: the session is over. Where there is none, there is nothing to end.
    end: Option<watch::Receiver<()>>,
}

impl Belongs {
    /// To a token, and to no session: requests of the newer kind.
    pub(super) fn to_token(name: &Arc<str>) -> Self {
        Self { name: Arc::clone(name), end: None }
    }
}

/// A name that nobody had before.
pub(super) fn new_name() -> Arc<str> {
    format!("http-{}", CallId::next()).into()
}

fn belongs(extensions: &Extensions) -> Option<&Belongs> {
    extensions.get::<http::request::Parts>()?.extensions.get()
}

/// The name of the session to which a message with these extensions belongs; none over stdio, where there is one per process.
pub(crate) fn session_of(extensions: &Extensions) -> Option<&str> {
    belongs(extensions).map(|belongs| &*belongs.name)
}

/// Returns once the session is over to which a message with these extensions belongs; never where it belongs to none.
pub(crate) async fn end_of_session(extensions: &Extensions) {
    let Some(mut end) = belongs(extensions).and_then(|belongs| belongs.end.clone()) else {
        return std::future::pending().await;
    };
    // Nothing is ever sent.
    while end.changed().await.is_ok() {}
}

#[derive(Debug)]
struct Known {
    name: Arc<str>,
    last_used: Instant,
    end: watch::Sender<()>,
}

/// The sessions of one token.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: Arc<LocalSessionManager>,
    known: Mutex<HashMap<SessionId, Known>>,
    most: usize,
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(idle);
        Self { inner: Arc::new(inner), known: Mutex::default(), most: most.max(1) }
    }

    pub(super) fn count(&self) -> usize {
        self.known().len()
    }

    pub(super) fn get(&self, id: &str) -> Option<Belongs> {
        let known = self.known();
        let session = known.get(id)?;
        Some(Belongs { name: Arc::clone(&session.name), end: Some(session.end.subscribe()) })
    }

    pub(super) fn close_all(&self) {
        let ids: Vec<SessionId> = self.known().drain().map(|(id, _)| id).collect();
        for id in ids {
            self.close_in_background(id);
        }
    }

    pub(super) async fn end_streams(&self) {
        let handles: Vec<_> = self.inner.sessions.read().await.values().cloned().collect();
        for handle in handles {
            // One that has just ended has no stream.
            let _ = handle.close_standalone_sse_stream(None).await;
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used_now(&self, id: &SessionId) {
        if let Some(session) = self.known().get_mut(id) {
            session.last_used = Instant::now();
        }
    }

    /// Forgets the sessions that have to make place for one more.
    fn make_place(&self) -> Vec<SessionId> {
        let mut known = self.known();
        let mut gone = Vec::new();
        while known.len() >= self.most {
            let oldest = known.iter().min_by_key(|(_, session)| session.last_used).map(|(id, _)| Arc::clone(id));
            let Some(id) = oldest else { break };
            known.remove(&id);
            gone.push(id);
        }
        gone
    }

    /// Not waited for: a session whose client reads nothing takes its time.
    fn close_in_background(&self, id: SessionId) {
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            if let Err(error) = inner.close_session(&id).await {
                tracing::debug!(%error, "a session could not be closed");
            }
        });
    }
}

type Error = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        for id in self.make_place() {
            self.close_in_background(id);
        }
        let (id, transport) = self.inner.create_session().await?;
        let session = Known { name: new_name(), last_used: Instant::now(), end: watch::Sender::new(()) };
        self.known().insert(Arc::clone(&id), session);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        self.used_now(id);
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.known().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        self.inner.resume(id, last_event_id).await
    }
}
