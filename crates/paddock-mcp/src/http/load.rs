//! What a request takes of a bound, and gives back by being dropped.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one request took. Every copy has to go before anything is given back.
#[derive(Debug, Clone, Default)]
pub(super) struct Load(Vec<Arc<OwnedSemaphorePermit>>);

impl Load {
    pub(super) fn take(&mut self, permit: OwnedSemaphorePermit) {
        self.0.push(Arc::new(permit));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// Something of which there is only so much.
#[derive(Debug, Clone)]
pub(super) struct Room {
    left: Arc<Semaphore>,
    all: usize,
}

impl Room {
    pub(super) fn of(all: usize) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(all)), all }
    }

    /// Takes so much, waiting for it if need be; nothing when there was none in time. What is more than all there ever is, is all.
    pub(super) async fn take(&self, amount: usize, patience: Duration) -> Option<OwnedSemaphorePermit> {
        let amount = u32::try_from(amount.min(self.all)).unwrap_or(u32::MAX);
        let taking = Arc::clone(&self.left).acquire_many_owned(amount);
        tokio::time::timeout(patience, taking).await.ok()?.ok()
    }

    /// Takes one if there is one.
    pub(super) fn take_one(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.left).try_acquire_owned().ok()
    }

    pub(super) fn used(&self) -> usize {
        self.all - self.left.available_permits()
    }
}
