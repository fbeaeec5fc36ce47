//! A Gate for where nobody is asked: file tools pass, and their risk is recorded.
//!
//! It never refuses and never parks. A Gate that asks a person takes its place once there is one to
//! ask.

use std::sync::atomic::{AtomicU64, Ordering};

use paddock_core::{Call, Gate, Passed, Permit, Plan, Refused, Request, Risk};

/// Lets every plan pass and counts them by risk.
#[derive(Debug, Default)]
pub struct RecordingGate {
    passed: [AtomicU64; 3],
}

impl RecordingGate {
    /// A Gate that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many plans of this risk have passed.
    pub fn passed(&self, risk: Risk) -> u64 {
        self.passed[risk as usize].load(Ordering::Relaxed)
    }
}

impl Gate for RecordingGate {
    fn pass(&self, call: &Call<'_>, request: &Request<'_>, plan: &Plan, permit: Permit) -> Result<Passed, Refused> {
        self.passed[request.risk as usize].fetch_add(1, Ordering::Relaxed);
        tracing::debug!(
            call = call.id.0,
            agent = call.agent.as_str(),
            tool = request.tool,
            path = plan.path().as_str(),
            risk = request.risk.name(),
            effects = plan.effects().len(),
            "passed"
        );
        Ok(Passed::Now(permit.grant()))
    }
}
