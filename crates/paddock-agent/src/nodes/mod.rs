//! The nodes of a run, each in its own module behind one small trait.
//!
//! What a node may see and say is its own type, so that what it must not do cannot be written down: the Executor sees one step and says one
//! call, and has no word for the next step or the plan. What is said is put into the state by `graph`, and by nobody else.

pub mod check;
pub mod executor;
pub mod finalizer;
pub mod gatekeeper;
pub mod interpreter;
pub mod planner;
pub mod supervisor;
pub mod tools;

use crate::model::ModelError;

/// One part of a run.
pub trait Node {
    /// Everything it may know.
    type Sees<'a>;
    /// Everything it may say.
    type Says;

    /// Does its part.
    ///
    /// # Errors
    /// When it cannot; the run stops before it and can be resumed there.
    fn run(&self, sees: Self::Sees<'_>) -> Result<Self::Says, NodeError>;
}

/// Why a node cannot do its part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The input was not looked at by the Gatekeeper.
    #[error("the input was not sanitized, so nothing is executed")]
    NotSanitized,
    /// There is nothing to do.
    #[error("there is no task: write what is to be done")]
    NoTask,
    /// The task is too long.
    #[error("the task has {0} bytes, more than {max}", max = gatekeeper::LONGEST)]
    TaskTooLong(usize),
    /// Somebody stopped it.
    #[error("the run was stopped")]
    Stopped,
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
}
