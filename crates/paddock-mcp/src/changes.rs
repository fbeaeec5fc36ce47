//! Tells clients that the tool list changed.
//!
//! The policy is looked at every half second while a client is connected, and after every call. Whoever
//! listens hears of each change once: legacy clients on their connection, modern ones on the subscription they
//! asked for. What a person has to know about the configuration goes to the log, never to the client.

use std::sync::Arc;
use std::time::Duration;

use paddock_tools::PolicySource;
use tokio::sync::watch;

/// How often the policy is looked at when nobody calls.
const INTERVAL: Duration = Duration::from_millis(500);

/// Watches the policy of one agent.
pub(crate) struct Changes {
    policy: Arc<dyn PolicySource>,
    generation: watch::Sender<u64>,
}

impl Changes {
    pub(crate) fn of(policy: Arc<dyn PolicySource>) -> Self {
        let generation = watch::Sender::new(policy.generation());
        Self { policy, generation }
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

    /// Looks at the policy for as long as this is polled.
    pub(crate) async fn keep_looking(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.look();
        }
    }

    fn tell_people(&self) {
        if let Some(notice) = self.policy.notice() {
            tracing::warn!("the configuration changed and has a problem:\n{notice}");
        }
    }
}
