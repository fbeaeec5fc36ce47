//! MCP over streamable HTTP: a service to be nested at one path of any server, both protocol eras, the same handler as over stdio.
//!
//! Who asks is settled before: a layer above checks the token and puts an [`Agent`] into the request's extensions. A request
//! without one gets 401 and nothing else. Each token has a door of its own ([`door`]): its sessions, its limits, its handler. So a
//! session cannot be used with another token, whatever id is sent, and no token can use up what another needs.
//!
//! rmcp speaks the protocol, checks `Host`, `Origin` and that the headers say what the body says. This module adds what it lacks:
//! bodies that are too long, too slow or broken are refused in words; calls at once, open streams, sessions and bytes in memory
//! are bounded; and everything a request took is given back when its answer was sent or its reader went away.
//!
//! It must never authenticate anybody, and never log or answer with a token.

mod answers;
mod body;
mod door;
mod load;
mod options;
mod sessions;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::Full;
use paddock_tools::PolicySource;
use rmcp::ServerHandler;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::changes::Changes;
use crate::message::{self, Incoming};
use crate::server::Server;
use answers::{Answer, Refusal};
use body::Message;
use door::Door;
use load::{Load, Room};

pub use answers::AnswerBody;
pub use options::HttpOptions;
pub(crate) use sessions::{end_of_session, session_of};

/// Who asks: put into the extensions of a request by whoever checked its token.
#[derive(Clone)]
pub struct Agent {
    token: Arc<str>,
    policy: Arc<dyn PolicySource>,
}

impl Agent {
    /// `token` names the token (its id, never the secret itself); `policy` is what its agent may do, the same one for as long as
    /// the token is good: with another one, what was open with the token ends.
    pub fn new(token: impl Into<Arc<str>>, policy: Arc<dyn PolicySource>) -> Self {
        Self { token: token.into(), policy }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.token == other.token && std::ptr::addr_eq(Arc::as_ptr(&self.policy), Arc::as_ptr(&other.policy))
    }

    /// What this agent may do.
    #[must_use]
    pub fn policy(&self) -> &Arc<dyn PolicySource> {
        &self.policy
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("token", &self.token).finish_non_exhaustive()
    }
}

/// What is in use at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that were seen lately.
    pub tokens: usize,
    /// Sessions of clients that began with `initialize`.
    pub sessions: usize,
    /// Calls under way.
    pub calls: usize,
    /// Streams that stay open to hear of changes.
    pub streams: usize,
    /// Clients that will be told when the tools change.
    pub listeners: usize,
}

/// Makes the handler of one agent; what it is given is true once no more is served.
type Make<H> = dyn Fn(&Agent, watch::Receiver<bool>) -> H + Send + Sync;

/// MCP over streamable HTTP, as a service.
pub struct HttpService<H = Arc<Server>>(Arc<Shared<H>>);

impl<H> Clone for HttpService<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H> std::fmt::Debug for HttpService<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService").field("options", &self.0.options).finish_non_exhaustive()
    }
}

struct Shared<H> {
    options: HttpOptions,
    make: Box<Make<H>>,
    doors: Mutex<HashMap<Arc<str>, Arc<Door<H>>>>,
    room: Room,
    /// True once streams that stay open are no longer taken.
    draining: watch::Sender<bool>,
    closed: CancellationToken,
}

impl HttpService {
    /// Serves the tools of whichever agent asks.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        Self::serving(options, |agent, ended| {
            let changes = Arc::new(Changes::of(Arc::clone(&agent.policy)));
            tokio::spawn(Changes::keep_looking_while_kept(Arc::downgrade(&changes), ended.clone()));
            Arc::new(Server::new(Arc::clone(&agent.policy), changes, ended))
        })
    }

    /// What is in use at this moment.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut usage = self.counted();
        usage.listeners = self.doors().values().map(|door| door.handler().listeners()).sum();
        usage
    }
}

impl<H: ServerHandler + Clone> HttpService<H> {
    /// Serves another handler over the same transport, made once per token: for tests of the transport.
    pub fn serving(
        options: HttpOptions,
        make: impl Fn(&Agent, watch::Receiver<bool>) -> H + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            room: Room::of(options.room_in_all),
            options,
            make: Box::new(make),
            doors: Mutex::default(),
            draining: watch::Sender::new(false),
            closed: CancellationToken::new(),
        }))
    }

    /// Ends all that is open for this token: its streams, sessions and calls. For a token that is good no more.
    pub fn revoke(&self, token: &str) {
        let door = self.doors().remove(token);
        if let Some(door) = door {
            door.close();
        }
    }

    /// Ends the streams that stay open and takes no new ones; calls go on. The first step of an orderly end: without it a
    /// server that waits for its connections waits for as long as anybody listens.
    pub async fn drain(&self) {
        self.0.draining.send_replace(true);
        let doors: Vec<Arc<Door<H>>> = self.doors().values().map(Arc::clone).collect();
        for door in doors {
            door.end_streams().await;
        }
    }

    /// Ends everything, calls too.
    pub fn close(&self) {
        self.0.draining.send_replace(true);
        self.0.closed.cancel();
        for (_, door) in self.doors().drain() {
            door.close();
        }
    }

    fn doors(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Door<H>>>> {
        self.0.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counted(&self) -> Usage {
        let doors = self.doors();
        let mut usage = Usage { tokens: doors.len(), ..Usage::default() };
        for door in doors.values() {
            usage.sessions += door.sessions();
            usage.calls += door.calls_under_way();
            usage.streams += door.streams_open();
        }
        usage
    }

    /// The door of this token. Tokens that nobody used for long leave nothing behind.
    fn door(&self, agent: &Agent) -> Arc<Door<H>> {
        let mut doors = self.doors();
        match doors.get(&agent.token) {
            Some(door) if door.agent().is_same(agent) => {
                door.used_now();
                return Arc::clone(door);
            }
            Some(door) => door.close(),
            None => {}
        }
        let unused = self.0.options.session_idle;
        doors.retain(|_, door| Arc::strong_count(door) > 1 || !door.is_unused_for(unused));
        let handler = (self.0.make)(agent, self.0.draining.subscribe());
        let door = Arc::new(Door::new(agent.clone(), handler, &self.0.options, self.0.closed.child_token()));
        doors.insert(Arc::clone(&agent.token), Arc::clone(&door));
        door
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Answer, Refusal>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Display,
    {
        let Some(agent) = request.extensions().get::<Agent>() else {
            return Err(Refusal::unauthorized());
        };
        if self.0.closed.is_cancelled() {
            return Err(Refusal::ending(None));
        }
        let door = self.door(agent);
        match *request.method() {
            Method::POST => self.post(&door, request).await,
            Method::GET => {
                let load = self.stream_load(&door, None)?;
                Ok(answers::holding(door.ask(without_body(request)).await, load))
            }
            Method::DELETE if request.headers().contains_key(door::SESSION) && !door.has_session(request.headers()) => {
                Err(Refusal::no_session())
            }
            _ => Ok(answers::ended(door.ask(without_body(request)).await)),
        }
    }

    async fn post<B>(&self, door: &Door<H>, request: Request<B>) -> Result<Answer, Refusal>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Display,
    {
        let options = &self.0.options;
        let (mut parts, body) = request.into_parts();
        let weight = body::weight(&body, options.body_limit);
        let mut load = Load::default();
        load.take(door.room().take(weight, options.patience).await.ok_or_else(|| Refusal::too_much(None))?);
        load.take(self.0.room.take(weight, options.patience).await.ok_or_else(|| Refusal::busy(None))?);
        let body = body::read(body, options.body_limit, options.body_time).await?;
        match message::read(&body) {
            Incoming::Message(message) => match Message::of(&message) {
                Message::Call(id) => load.take(door.call(options.patience).await.ok_or(Refusal::too_many(id))?),
                Message::Stream(id) => load.join(self.stream_load(door, Some(id))?),
                Message::Word => {}
            },
            Incoming::Refused(id, error) => return Err(Refusal::unreadable(Some(id), error)),
            Incoming::NoMessage(_) | Incoming::Nothing => return Err(Refusal::no_message()),
        }
        // What was taken is kept for as long as the handler works, whether or not somebody still reads the answer.
        parts.extensions.insert(load.clone());
        parts.extensions.insert(door.belonging(&parts.headers));
        Ok(answers::holding(door.ask(Request::from_parts(parts, Full::new(body))).await, load))
    }

    fn stream_load(&self, door: &Door<H>, id: Option<rmcp::model::RequestId>) -> Result<Load, Refusal> {
        if *self.0.draining.borrow() {
            return Err(Refusal::ending(id));
        }
        let mut load = Load::default();
        load.take(door.stream().ok_or_else(|| Refusal::too_many_streams(id))?);
        Ok(load)
    }
}

impl Message {
    fn of(message: &ClientJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::SubscriptionsListenRequest(_) => Self::Stream(request.id.clone()),
                _ => Self::Call(request.id.clone()),
            },
            _ => Self::Word,
        }
    }
}

fn without_body<B>(request: Request<B>) -> Request<Full<Bytes>> {
    request.map(|_| Full::default())
}

impl<B, H> Service<Request<B>> for HttpService<H>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Display,
    H: ServerHandler + Clone,
{
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await.unwrap_or_else(Refusal::into_answer)) })
    }
}
