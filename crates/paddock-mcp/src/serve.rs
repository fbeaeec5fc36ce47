//! Serves one client from its first message to its last.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use paddock_tools::PolicySource;
use rmcp::service::{ServerInitializeError, serve_server};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::changes::Changes;
use crate::server::Server;
use crate::stdio;
use crate::transport::Connection;

/// Threads for calls that may take long. Two more are spare for a standard input that needs one.
const LONG_CALLS: usize = 8;
/// The stack of a thread that runs a call.
const DEEP: usize = 16 * 1024 * 1024;
/// How long work that nobody waits for any more may hold up the end of the process.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why serving ended early.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The runtime could not be made.
    #[error("the host gives no means to serve: {0}")]
    Runtime(#[source] io::Error),
    /// The client could not be greeted.
    #[error("the client could not be greeted: {0}")]
    Greeting(#[source] Box<ServerInitializeError>),
    /// The service broke.
    #[error("serving broke off: {0}")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves the agent's tools over standard input and output until the client closes them, or somebody asks the process to
/// end: then too this returns, and what waits can be written. `greeted` is what has time until the client was answered.
///
/// Everything that is short runs on the calling thread, so a small read costs no thread hop.
///
/// # Errors
/// When the client cannot be greeted or the connection breaks. A client that merely goes away is no error.
pub fn serve_stdio(policy: Arc<dyn PolicySource>, greeted: impl FnOnce()) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(LONG_CALLS + 2)
        // A path can be two thousand directories deep, and a walk goes down step by step.
        .thread_stack_size(DEEP)
        .build()
        .map_err(ServeError::Runtime)?;
    let served = runtime.block_on(async {
        let end = asked_to_end();
        let (input, output) = stdio::stdio();
        tokio::select! {
            served = serve_and(policy, input, output, greeted) => served,
            () = end => Ok(()),
        }
    });
    runtime.shutdown_timeout(FAREWELL);
    served
}

/// Serves the agent's tools to one client over any two streams, until the client closes its side.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn serve<R, W>(policy: Arc<dyn PolicySource>, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    serve_and(policy, reader, writer, || {}).await
}

/// Returns when a signal asks the process to end; never where signals cannot be waited for.
fn asked_to_end() -> impl Future<Output = ()> {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let mut signals: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    poll_fn(move |context| {
        let came = |signal: &mut Signal| matches!(signal.poll_recv(context), Poll::Ready(Some(())));
        if signals.iter_mut().any(came) { Poll::Ready(()) } else { Poll::Pending }
    })
}

async fn serve_and<R, W>(
    policy: Arc<dyn PolicySource>,
    reader: R,
    writer: W,
    greeted: impl FnOnce(),
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (ended, is_ended) = watch::channel(false);
    let changes = Arc::new(Changes::of(Arc::clone(&policy)));
    let server = Server::new(policy, Arc::clone(&changes), is_ended);
    let connection = Connection::new(reader, writer, ended);
    let serving = async {
        let running = match serve_server(server, connection).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Greeting(Box::new(error))),
        };
        greeted();
        running.waiting().await.map(|_| ()).map_err(ServeError::Broken)
    };
    tokio::select! {
        served = serving => served,
        () = changes.keep_looking() => Ok(()),
    }
}
