//! Listening: from the first connection to a quiet end.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use paddock_desk::shares::Base;
use paddock_desk::{Desk, Failure};
use paddock_mcp::http::{HttpOptions, HttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};

use crate::connection::{Patient, SILENCE};
use crate::events::Hub;
use crate::metrics::{self, Metrics};
use crate::outflow::Outflow;
use crate::published::{Deliveries, Passwords};
use crate::shared::{Inner, Shared};
use crate::{api, assets, guard, pages, published, sign_in};

/// Connections at once.
const CONNECTIONS: usize = 8192;
/// How long a client may take to say what it wants.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// The most that waits to be sent on one connection, besides the piece at hand.
const UNSENT: usize = 64 * 1024;
/// How long what is under way may take when the server ends.
const FAREWELL: Duration = Duration::from_secs(10);
/// A name that no other server of this machine is asked under, so that none is sent our cookie.
pub(crate) const OWN_NAME: &str = "paddock.localhost";
/// Threads for what waits for a disk or a database.
const THREADS: usize = 64;
/// The stack of such a thread: a path can be two thousand directories deep.
const DEEP: usize = 16 * 1024 * 1024;

/// Where to listen.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The address.
    pub address: IpAddr,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Further names that this server is reached under, with their ports where they have one.
    pub hosts: Vec<String>,
}

/// Why serving did not begin, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {why}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        why: io::Error,
    },
    /// The host gives no means to serve.
    #[error("the host gives no means to serve: {0}")]
    Runtime(#[source] io::Error),
    /// What is behind it cannot be used.
    #[error("{}", .0.message())]
    Desk(Failure),
}

impl ServeError {
    /// The one thing to do next.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Listen { .. } => "choose another port with --port, or 0 for a free one",
            Self::Runtime(_) => "run `paddock doctor`",
            Self::Desk(failure) => failure.hint().unwrap_or("run `paddock doctor`"),
        }
    }
}

/// What listens now.
#[derive(Debug, Clone)]
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    /// The console's address.
    pub url: String,
    /// The link to sign in with, once.
    pub sign_in: String,
}

/// Serves until somebody asks the process to end; `begun` hears where, `ending` that it ends when what is under way has ended.
///
/// # Errors
/// When the address cannot be had, or the project's state cannot be used.
pub fn serve(
    desk: Arc<Desk>,
    options: &ServeOptions,
    begun: impl FnOnce(&Listening),
    ending: impl FnOnce(),
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .thread_stack_size(DEEP)
        .build()
        .map_err(ServeError::Runtime)?;
    let served = runtime.block_on(async {
        let address = SocketAddr::new(options.address, options.port);
        let listener = TcpListener::bind(address).await.map_err(|why| ServeError::Listen { address, why })?;
        let address = listener.local_addr().map_err(ServeError::Runtime)?;
        let shared = shared(desk, options, address).map_err(ServeError::Desk)?;
        let url = format!("http://{}", name(address));
        let link = shared.access.link().map_err(ServeError::Desk)?;
        begun(&Listening { address, sign_in: format!("{url}/login/{link}"), url });
        Ok(accept(listener, router(&shared), &shared, ending).await)
    });
    match served {
        Ok(End::AtOnce) => runtime.shutdown_background(),
        _ => runtime.shutdown_timeout(FAREWELL),
    }
    served.map(|_| ())
}

fn shared(desk: Arc<Desk>, options: &ServeOptions, address: SocketAddr) -> Result<Shared, Failure> {
    // Every policy is started now: one that begins while the configuration has problems would have nothing older to hold on to.
    for agent in desk.agents()? {
        let _ = desk.policy(&agent);
    }
    let hub = Hub::start(Arc::clone(desk.audit_log()?))?;
    let hosts = hosts(options, address);
    let origins = hosts.iter().flat_map(|host| [format!("http://{host}"), format!("https://{host}")]).collect();
    let mcp = HttpOptions {
        allowed_hosts: hosts.iter().cloned().collect(),
        allowed_origins: origins,
        ..HttpOptions::default()
    };
    // A name that was given is that of a proxy with TLS before it.
    let url =
        options.hosts.first().map_or_else(|| format!("http://{}", name(address)), |host| format!("https://{host}"));
    let metrics = Metrics::default();
    let base = Base::of_url(&url);
    let (passwords, deliveries) = (Passwords::default(), Deliveries::default());
    let mcp = HttpService::new(mcp);
    let cookie = guard::session_cookie(address.port());
    let (outflow, doors, ending) = (Outflow::default(), watch::Sender::new(0), watch::Sender::new(false));
    let inner = Inner { hub, mcp, hosts, cookie, base, passwords, deliveries, outflow, doors, ending, url, metrics };
    Shared::new(desk, inner)
}

/// The address as people type it.
fn name(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() => format!("127.0.0.1:{}", address.port()),
        _ => address.to_string(),
    }
}

/// The names that this server answers under.
fn hosts(options: &ServeOptions, address: SocketAddr) -> BTreeSet<String> {
    let port = address.port();
    let own = ["127.0.0.1", "localhost", "[::1]", OWN_NAME].into_iter().map(|host| format!("{host}:{port}"));
    let more = options.hosts.iter().map(|host| host.to_ascii_lowercase());
    own.chain([address.to_string()]).chain(more).collect()
}

fn router(shared: &Shared) -> Router {
    let inside = Router::new()
        .merge(api::router())
        .merge(pages::router())
        .route("/logout", post(sign_in::logout))
        .route("/metrics", get(metrics::show))
        .layer(from_fn_with_state(shared.clone(), guard::identity));
    let outside = Router::new()
        .route("/login/{link}", get(sign_in::login))
        .route("/assets/{*path}", get(assets::serve))
        .route_service("/mcp", crate::mcp::service(shared))
        .route("/healthz", get(|| async { "ok\n" }));
    let ours = outside.merge(inside).layer(from_fn_with_state(shared.clone(), guard::host));
    ours.layer(from_fn(guard::headers))
        .layer(from_fn_with_state(shared.clone(), metrics::observe))
        // Before everything of the console: what is published has nothing of it.
        .layer(from_fn_with_state(shared.clone(), published::by_host))
        .with_state(shared.clone())
}

/// Takes connections until somebody asks the process to end, then lets what is under way finish.
async fn accept(listener: TcpListener, router: Router, shared: &Shared, ending: impl FnOnce()) -> End {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut asked = AskedToEnd::listen();
    loop {
        // Also a server that is full hears that it shall end.
        let next = async { (Arc::clone(&room).acquire_owned().await, listener.accept().await) };
        let (place, stream) = tokio::select! {
            accepted = next => match accepted {
                (place, Ok((stream, _))) => (place, stream),
                // Out of descriptors, or the client is gone: the next may do.
                (_, Err(error)) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = asked.again() => break,
        };
        let connection = graceful.watch(serve_one(stream, router.clone()));
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
    drop(listener);
    ending();
    // Streams would go on for as long as a tab is open.
    shared.ending.send_replace(true);
    let farewell = async {
        shared.mcp.drain().await;
        graceful.shutdown().await;
    };
    tokio::select! {
        _ = tokio::time::timeout(FAREWELL, farewell) => End::Quiet,
        () = asked.again() => End::AtOnce,
    }
}

/// How it ends.
enum End {
    /// What was under way has ended, or had its time.
    Quiet,
    /// Somebody asked twice.
    AtOnce,
}

type Connection = hyper::server::conn::http1::Connection<TokioIo<Patient<TcpStream>>, TowerToHyperService<Router>>;

fn serve_one(stream: TcpStream, router: Router) -> Connection {
    let _ = stream.set_nodelay(true);
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_headers(64)
        .max_buf_size(UNSENT)
        .serve_connection(TokioIo::new(Patient::new(stream, SILENCE)), TowerToHyperService::new(router))
}

/// The signals that ask the process to end.
struct AskedToEnd(Option<(Signal, Signal)>);

impl AskedToEnd {
    fn listen() -> Self {
        let both = signal(SignalKind::terminate()).and_then(|one| Ok((one, signal(SignalKind::interrupt())?)));
        Self(both.ok())
    }

    /// Waits for the next of them.
    async fn again(&mut self) {
        let Some((terminate, interrupt)) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
