//! Which nodes there are, and how each is wired: one table.

use crate::run::{Run, Transition};
use crate::runtime::RunError;
use crate::wires;

/// A node of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeName {
    /// Looks at what came in.
    Gatekeeper,
    /// Makes the plan.
    Planner,
    /// Decides which step comes.
    Supervisor,
    /// Proposes one call.
    Executor,
    /// Looks at the call before it runs.
    Check,
    /// Runs it.
    Tools,
    /// Says what its result means.
    Interpreter,
    /// Has the last word.
    Finalizer,
    /// The turn is over.
    End,
}

/// Does a node's part, and says what becomes of the run.
pub(crate) type Wire = fn(&mut Run<'_>) -> Result<Transition, RunError>;

/// The table. What a node says is put into the state by its wire, and the wire alone names the node that comes.
const TABLE: [(NodeName, Wire); 8] = [
    (NodeName::Gatekeeper, wires::gatekeeper),
    (NodeName::Planner, wires::planner),
    (NodeName::Supervisor, wires::supervisor),
    (NodeName::Executor, wires::executor),
    (NodeName::Check, wires::check),
    (NodeName::Tools, wires::tools),
    (NodeName::Interpreter, wires::interpreter),
    (NodeName::Finalizer, wires::finalizer),
];

impl NodeName {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gatekeeper => "gatekeeper",
            Self::Planner => "planner",
            Self::Supervisor => "supervisor",
            Self::Executor => "executor",
            Self::Check => "check",
            Self::Tools => "tools",
            Self::Interpreter => "interpreter",
            Self::Finalizer => "finalizer",
            Self::End => "end",
        }
    }

    /// The node with that name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let end = (text == Self::End.name()).then_some(Self::End);
        TABLE.iter().map(|(node, _)| *node).find(|node| node.name() == text).or(end)
    }

    /// How it is wired; nothing for the end.
    pub(crate) fn wire(self) -> Option<Wire> {
        TABLE.iter().find(|(node, _)| *node == self).map(|(_, wire)| *wire)
    }
}
