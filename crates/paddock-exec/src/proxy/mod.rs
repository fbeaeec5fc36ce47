//! The filtering proxy: the only one whom a command with an allowed network can talk to.
//!
//! It runs outside the sandbox, on a listener that was made inside, so the kernel keeps everything else unreachable and
//! this module decides only about what is asked of it: HTTP/1.1 with a whole address, and `CONNECT`, whose TLS is never
//! opened. A host is let through by name and port; its address is asked for here, outside, and one that is not public is
//! used only where the list itself names it, so that no name can be made to lead into the host or its network. Every
//! connection is on record before its first byte passes. It must never pass a byte to a host that is not listed,
//! and nothing of it is left when the command is over.

mod addresses;
mod answer;
mod connection;
mod head;
mod relay;
mod variables;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use paddock_core::{AgentName, AllowedHost, Audit, Call, CallId, CallRecord, Host, Risk};

use crate::sandbox::{Command, Network};

/// Where it listens inside the sandbox.
pub(crate) const PORT: u16 = 3128;
/// Connections of one command at once.
const MOST_AT_ONCE: usize = 64;
/// Connections of one command from its start to its end: each is a row of the audit.
const MOST_EVER: u64 = 10_000;
/// Refused hosts that a command's notes name.
const MOST_NOTED: usize = 10;
/// Entries of the list that a refusal repeats.
const MOST_REPEATED: usize = 8;
/// How long to wait when the process has no descriptor or thread left.
const SHORT_OF_MEANS: Duration = Duration::from_millis(20);

/// Asks for the addresses of a name.
type Resolve = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// A proxy for one command. Dropping it ends every connection that goes through it.
pub struct Proxy {
    shared: Arc<Shared>,
}

/// What its threads have in common.
struct Shared {
    allowed: Vec<AllowedHost>,
    resolve: Box<Resolve>,
    audit: Arc<dyn Audit>,
    call: CallId,
    agent: AgentName,
    open: Mutex<Open>,
    /// The entries that would have let refused hosts through.
    refused: Mutex<BTreeSet<String>>,
}

/// What has to be ended when the command is over.
#[derive(Default)]
struct Open {
    stopped: bool,
    listener: Option<TcpListener>,
    accepting: Option<JoinHandle<()>>,
    streams: HashMap<u64, Vec<Arc<TcpStream>>>,
    ever: u64,
}

impl Proxy {
    /// A proxy that lets only these hosts through and tells this audit of each connection, in the name of the call.
    pub fn new(allowed: Vec<AllowedHost>, audit: Arc<dyn Audit>, call: &Call<'_>) -> Self {
        Self::with_resolver(allowed, audit, call, |name, port| Ok((name, port).to_socket_addrs()?.collect()))
    }

    /// The same, with another way to find the addresses of a name.
    pub fn with_resolver(
        allowed: Vec<AllowedHost>,
        audit: Arc<dyn Audit>,
        call: &Call<'_>,
        resolve: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            allowed,
            resolve: Box::new(resolve),
            audit,
            call: call.id,
            agent: call.agent.clone(),
            open: Mutex::default(),
            refused: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Leads a command here: its only way out, and the variables by which programs find it, whatever else they were set to.
    pub fn lead(&self, command: &mut Command) {
        let shared = Arc::clone(&self.shared);
        command.network = Network::Proxy { port: PORT, serve: Box::new(move |listener| shared.serve(listener)) };
        let ours = variables::all(self.shared.allowed.iter().any(AllowedHost::is_this_machine));
        command.variables.retain(|(name, _)| !ours.iter().any(|(our, _)| our == name));
        command.variables.extend(ours);
    }

    /// What a person or an agent should know about what was refused, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let refused = lock(&self.shared.refused);
        let note = |entry: &String| {
            format!("\"{entry}\" was not reached: network in paddock.toml, under [commands], does not list it.")
        };
        refused.iter().map(note).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("allowed", &self.shared.allowed).finish_non_exhaustive()
    }
}

impl Shared {
    /// Serves whoever connects, on a thread of its own.
    fn serve(self: &Arc<Self>, listener: TcpListener) {
        let mut open = lock(&self.open);
        let Ok(kept) = listener.try_clone() else { return };
        let shared = Arc::clone(self);
        let accepting = std::thread::Builder::new().name("proxy".to_owned()).spawn(move || shared.accept(&listener));
        match accepting {
            Ok(thread) => (open.listener, open.accepting) = (Some(kept), Some(thread)),
            Err(error) => tracing::warn!(%error, "a command has no network: no thread for its proxy"),
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            match listener.accept() {
                Ok((stream, _)) => self.take(stream),
                Err(_) if lock(&self.open).stopped => return,
                // Out of descriptors, or a connection that was gone before it was taken.
                Err(_) => std::thread::sleep(SHORT_OF_MEANS),
            }
        }
    }

    /// Gives a connection a thread, if there is room for it.
    fn take(self: &Arc<Self>, stream: TcpStream) {
        let stream = Arc::new(stream);
        let Some(number) = self.enter(&stream) else {
            return answer::busy(&stream);
        };
        let shared = Arc::clone(self);
        let client = Arc::clone(&stream);
        let thread = std::thread::Builder::new().name("proxied".to_owned()).spawn(move || {
            connection::serve(&shared, number, &client);
            lock(&shared.open).streams.remove(&number);
        });
        if thread.is_err() {
            lock(&self.open).streams.remove(&number);
            answer::busy(&stream);
        }
    }

    fn enter(&self, stream: &Arc<TcpStream>) -> Option<u64> {
        let mut open = lock(&self.open);
        if open.stopped || open.streams.len() >= MOST_AT_ONCE || open.ever >= MOST_EVER {
            return None;
        }
        open.ever += 1;
        let number = open.ever;
        open.streams.insert(number, vec![Arc::clone(stream)]);
        Some(number)
    }

    /// Has the other end of a connection ended with it, unless everything is over already.
    fn join(&self, number: u64, stream: &Arc<TcpStream>) -> bool {
        let mut open = lock(&self.open);
        let going_on = !open.stopped;
        if let Some(streams) = open.streams.get_mut(&number).filter(|_| going_on) {
            streams.push(Arc::clone(stream));
        }
        going_on
    }

    fn stop(&self) {
        let (listener, accepting) = {
            let mut open = lock(&self.open);
            open.stopped = true;
            for stream in open.streams.values().flatten() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            (open.listener.take(), open.accepting.take())
        };
        // Who waits for a connection is woken by this, and the listener holds the network of the sandbox.
        if let Some(listener) = listener {
            let _ = rustix::net::shutdown(&listener, rustix::net::Shutdown::Both);
        }
        if let Some(thread) = accepting {
            let _ = thread.join();
        }
    }

    /// Keeps what became of a connection. Where it cannot be kept, nothing may pass.
    fn record(&self, to: &str, outcome: Became, began: Instant) -> bool {
        let (outcome, reason) = outcome.words();
        let record = CallRecord {
            call: self.call,
            agent: &self.agent,
            by: None,
            tool: "execute_command",
            path: to,
            workspace: None,
            outcome,
            reason,
            risk: Some(Risk::High),
            bytes: 0,
            took: began.elapsed(),
            effect: outcome == "done",
        };
        let kept = self.audit.record(&record);
        if let Err(error) = &kept {
            tracing::error!(call = %self.call, %error, "a connection could not be recorded");
        }
        kept.is_ok()
    }

    fn note_refused(&self, host: &Host, port: u16) {
        let mut refused = lock(&self.refused);
        if refused.len() < MOST_NOTED {
            refused.insert(AllowedHost::for_it(host, port).to_string());
        }
    }

    /// The line of the configuration that would let something more through.
    fn line_with(&self, further: &str) -> String {
        let mut entries: Vec<String> = self.allowed.iter().map(ToString::to_string).collect();
        if entries.len() > MOST_REPEATED {
            return format!("network = [\"{further}\", …]");
        }
        entries.push(further.to_owned());
        format!("network = [\"{}\"]", entries.join("\", \""))
    }
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    /// It was made.
    Made,
    /// The host is not listed.
    NotListed,
    /// The name leads to an address that is not public and not listed.
    NotPublic,
    /// Nobody answers there.
    Unreachable,
    /// What was asked is no request that a proxy understands.
    NoRequest,
}

impl Became {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Made => ("done", ""),
            Self::NotListed => ("denied", "host not listed"),
            Self::NotPublic => ("denied", "address not public"),
            Self::Unreachable => ("failed", "unreachable"),
            Self::NoRequest => ("invalid", "request"),
        }
    }
}

/// A thread that panicked has left nothing half done in these.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
