//! Check: what every call passes before it may run. Above the threshold the run freezes here.

use paddock_tools::{Control, Rehearsal, Toolbox};

use super::{Node, NodeError};
use crate::model::ToolCall;
use crate::state::SecurityContext;

/// Looks at a call before it runs.
#[derive(Debug, Clone, Copy)]
pub struct Check;

/// What Check sees.
pub struct Proposed<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// What the run may do.
    pub context: &'a SecurityContext,
    /// The tools, with the policy that holds now.
    pub toolbox: &'a Toolbox,
    /// Who calls.
    pub control: &'a Control,
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Pass,
    /// A person has to decide first.
    Freeze(String),
    /// It may not; why, for the agent.
    Refuse(String),
}

impl Node for Check {
    type Sees<'a> = Proposed<'a>;
    type Says = Verdict;

    fn run(&self, sees: Proposed<'_>) -> Result<Verdict, NodeError> {
        if !sees.context.is_sanitized {
            return Err(NodeError::NotSanitized);
        }
        if !sees.context.allowed_tools.contains(&sees.call.name) {
            let allowed = sees.context.allowed_tools.join(", ");
            let text =
                format!("❌ ERROR: The tool \"{}\" is not allowed in this run. Allowed: {allowed}", sees.call.name);
            return Ok(Verdict::Refuse(text));
        }
        Ok(match sees.toolbox.rehearse(&sees.call.name, sees.call.arguments.clone(), sees.control) {
            Rehearsal::Passes => Verdict::Pass,
            Rehearsal::Parked(approval) => Verdict::Freeze(approval),
            Rehearsal::Fails(text) => Verdict::Refuse(text),
        })
    }
}
