//! Check: what every call passes before it may run. Above the threshold the run freezes here.

use paddock_tools::{Control, Rehearsal, Toolbox};

use super::gatekeeper::level_allows;
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
            return Ok(Verdict::Refuse(not_allowed(&sees.call.name, sees.context)));
        }
        Ok(match sees.toolbox.rehearse(&sees.call.name, sees.call.arguments.clone(), sees.control) {
            Rehearsal::Passes => Verdict::Pass,
            Rehearsal::Parked(approval) => Verdict::Freeze(approval),
            Rehearsal::Fails(text) => Verdict::Refuse(text),
        })
    }
}

/// Why a tool is not one of this run; where its level is in the way, the one that would do.
fn not_allowed(tool: &str, context: &SecurityContext) -> String {
    let allowed = context.allowed_tools.join(", ");
    let by_level = match level_allows(context.permissions_level, tool) {
        true => "",
        false => " It takes --level admin, which a person says.",
    };
    format!("❌ ERROR: The tool \"{tool}\" is not allowed in this run.{by_level} Allowed: {allowed}")
}
