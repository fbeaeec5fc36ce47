//! Tells clients that the tool list changed.
//!
//! The policy is looked at every half second while a client is connected, and after a call. Whoever
//! listens hears of each change once: legacy clients on their connection, modern ones on the subscription they
//! asked for. What a person has to know about the configuration goes to the log, never to the client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use paddock_tools::PolicySource;
use tokio::sync::watch;

/// How often the policy is looked at when nobody calls.
const INTERVAL: Duration = Duration::from_millis(500);
/// How often at the most when somebody does: looking costs a system call, and a call follows a changed policy
/// whether or not the change was announced yet.
const WHILE_CALLED: Duration = Duration::from_millis(50);

/// Watches the policy of one agent.
pub(crate) struct Changes {
    policy: Arc<dyn PolicySource>,
    generation: watch::Sender<u64>,
    started: Instant,
    /// When it was last looked at after a call, in milliseconds since the start.
    last: AtomicU64,
}

impl Changes {
    pub(crate) fn of(policy: Arc<dyn PolicySource>) -> Self {
        let generation = watch::Sender::new(policy.generation());
        Self { policy, generation, started: Instant::now(), last: AtomicU64::new(0) }
    }

    /// Hears of every change from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Looks at the policy now.
    pub(crate) fn look(&self) {
        let now = self.policy.generation();
        self.generation.send_if_modified(|last| std::mem::replace(last, now) != now);
        self.tell_people();
    }

    /// Looks at the policy unless that was done a moment ago.
    pub(crate) fn look_after_call(&self) {
        let elapsed = self.started.elapsed();
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        if elapsed.saturating_sub(last) >= WHILE_CALLED {
            self.last.store(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
            self.look();
        }
    }

    /// Looks at the policy for as long as this is polled.
    pub(crate) async fn keep_looking(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.look();
        }
    }

    /// Looks at the policy for as long as somebody keeps this and it is not over; only while anybody listens. On a thread of the
    /// pool: a changed file is read at once, and others are served meanwhile.
    pub(crate) async fn keep_looking_while_kept(changes: Weak<Self>, mut over: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                _ = over.wait_for(|over| *over) => return,
            }
            let Some(changes) = changes.upgrade() else { return };
            if changes.listeners() > 0
                && let Err(error) = tokio::task::spawn_blocking(move || changes.look()).await
            {
                tracing::error!(%error, "the policy could not be looked at");
            }
        }
    }

    /// How many hear of changes.
    pub(crate) fn listeners(&self) -> usize {
        self.generation.receiver_count()
    }

    fn tell_people(&self) {
        if let Some(notice) = self.policy.notice() {
            tracing::warn!("the configuration changed and has a problem:\n{notice}");
        }
    }
}
