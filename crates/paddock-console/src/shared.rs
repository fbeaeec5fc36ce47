//! What every request can reach: the desk, the doors, and the stream of what happens.

use std::collections::BTreeSet;
use std::sync::Arc;

use paddock_desk::access::{Access, Token};
use paddock_desk::shares::{Base, Shares};
use paddock_desk::{Desk, Failure, FailureKind, Result};

use paddock_mcp::http::HttpService;
use tokio::sync::watch;

use crate::events::Hub;
use crate::metrics::Metrics;
use crate::outflow::Outflow;
use crate::published::{Deliveries, Passwords};

/// One for all requests; the desk, the doors and the shares with who asks at them.
#[derive(Clone)]
pub(crate) struct Shared {
    inner: Arc<Inner>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) access: Access,
    /// The links to published projects.
    pub(crate) shares: Shares,
}

pub(crate) struct Inner {
    pub(crate) hub: Arc<Hub>,
    /// The agents that come over HTTP.
    pub(crate) mcp: HttpService,
    /// The hosts that this server answers as, with their ports.
    pub(crate) hosts: BTreeSet<String>,
    /// The name of the cookie that holds a session.
    pub(crate) cookie: String,
    /// Under which address they are reached.
    pub(crate) base: Base,
    pub(crate) passwords: Passwords,
    pub(crate) deliveries: Deliveries,
    /// What is sent at the pace of whoever takes it.
    pub(crate) outflow: Outflow,
    /// Counts what closed a door: what is open looks then whether it still may be.
    pub(crate) doors: watch::Sender<u64>,
    /// The server is asked to end.
    pub(crate) ending: watch::Sender<bool>,
    /// How people and agents reach it.
    pub(crate) url: String,
    /// What it counts about itself.
    pub(crate) metrics: Metrics,
}

impl Shared {
    pub(crate) fn new(desk: Arc<Desk>, inner: Inner) -> Result<Self> {
        Ok(Self { inner: Arc::new(inner), access: Access::of(&desk)?, shares: Shares::of(&desk)?, desk })
    }

    /// The same for somebody: what they do is recorded under their name.
    pub(crate) fn acted_by(&self, who: &Who) -> Self {
        let by = who.name();
        let (access, shares) = (self.access.acting_as(&by), self.shares.acting_as(&by));
        Self { inner: Arc::clone(&self.inner), desk: Arc::new(self.desk.acting_as(&by)), access, shares }
    }

    /// Ends a token, and all that is open with it.
    pub(crate) fn revoke_token(&self, id: &str) -> Result<()> {
        self.access.revoke(id)?;
        self.mcp.revoke(id);
        self.doors_changed();
        Ok(())
    }
}

impl Inner {
    /// A session or a token has ended: what is open with it ends now.
    pub(crate) fn doors_changed(&self) {
        self.doors.send_modify(|count| *count += 1);
    }

    /// Waits until the server is asked to end.
    pub(crate) async fn ends(&self) {
        let _ = self.ending.subscribe().wait_for(|ending| *ending).await;
    }
}

impl std::ops::Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) enum Who {
    /// A person who signed in.
    Person,
    /// A program, with a token for the API.
    Program(Token),
}

impl Who {
    /// The name under which their acts are recorded.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Person => format!("{} (console)", paddock_desk::person()),
            Self::Program(token) => format!("token {}", token.name),
        }
    }
}

/// Runs what may wait for a disk or a database on a thread of the pool.
pub(crate) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let broken = |_| Failure::of(FailureKind::Broken, "it broke off", "the log of `paddock serve` says why");
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}
