//! Tools: runs the call that passed Check, and makes a ToolResult of its answer.

use paddock_tools::{Answer, Control, Piece, Toolbox, Verdict};
use serde_json::{Map, Value, json};

use super::{Node, NodeError};
use crate::model::ToolCall;
use crate::state::{ToolResult, ToolStatus};

/// How much of the beginning of a long output is said, in bytes.
const LONGEST_HEAD: usize = 2000;
/// How much of its end.
const LONGEST_TAIL: usize = 1000;

/// Runs calls.
#[derive(Debug, Clone, Copy)]
pub struct Tools;

/// What Tools sees: no plan, and no step.
pub struct Passed<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// The tools, with the policy that holds now.
    pub toolbox: &'a Toolbox,
    /// Who calls, under which id.
    pub control: &'a Control,
    /// Outputs above this many bytes are kept elsewhere.
    pub evict_above: usize,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ran {
    /// It has an answer.
    Answered(ToolResult),
    /// What it did waits for a person.
    Parked(String),
}

impl Node for Tools {
    type Sees<'a> = Passed<'a>;
    type Says = Ran;

    fn run(&self, sees: Passed<'_>) -> Result<Ran, NodeError> {
        let answer = sees.toolbox.call(&sees.call.name, sees.call.arguments.clone(), sees.control);
        if let Verdict::Parked(approval) = &answer.verdict {
            return Ok(Ran::Parked(approval.clone()));
        }
        Ok(Ran::Answered(result(&sees, &answer)))
    }
}

fn result(sees: &Passed<'_>, answer: &Answer) -> ToolResult {
    let output = text(answer);
    let mut metadata = answer.structured.clone();
    metadata.insert("bytes".to_owned(), output.len().into());
    let status = if answer.verdict.is_error() { ToolStatus::Error } else { ToolStatus::Success };
    let (status, output) = evicted(sees, output, status, &mut metadata);
    ToolResult { tool_name: sees.call.name.clone(), tool_call_id: sees.call.id.clone(), output, status, metadata }
}

/// Keeps a long output where `read_file` pages it, and its head here. A failure stays one.
fn evicted(
    sees: &Passed<'_>,
    output: String,
    status: ToolStatus,
    metadata: &mut Map<String, Value>,
) -> (ToolStatus, String) {
    if output.len() <= sees.evict_above {
        return (status, output);
    }
    match sees.toolbox.evict(&output, sees.control) {
        Some(path) => {
            let pointer = pointer(&path, &output, status, sees.evict_above);
            metadata.insert("pointer".to_owned(), path.into());
            let failed = status == ToolStatus::Error;
            (if failed { status } else { ToolStatus::Evicted }, pointer.to_string())
        }
        None => {
            metadata.insert("cut".to_owned(), true.into());
            let kept = output.floor_char_boundary(sees.evict_above);
            (status, format!("{}\n… {} bytes more could not be kept", &output[..kept], output.len() - kept))
        }
    }
}

/// Where an output is, with its head; with its end too where it tells of a failure, since a command's exit code comes last.
fn pointer(path: &str, output: &str, status: ToolStatus, most: usize) -> Value {
    let head = &output[..output.floor_char_boundary(most.min(LONGEST_HEAD))];
    let mut pointer = json!({ "evicted": path, "bytes": output.len(), "head": head });
    if status == ToolStatus::Error {
        let tail = output.len().saturating_sub(most.min(LONGEST_TAIL));
        pointer["tail"] = output[output.ceil_char_boundary(tail)..].into();
    }
    pointer
}

fn text(answer: &Answer) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Image { mime, data } => format!("[an image: {mime}, {} bytes]", data.len()),
    };
    answer.content.iter().map(piece).collect::<Vec<_>>().join("\n")
}
