//! `paddock tool`: one call, exactly as the agent would make it.

use std::io::Read as _;
use std::time::Duration;

use paddock_tools::{Answer, Control, Piece, Verdict};
use serde_json::{Map, Value, json};

use crate::cli::{Global, Tool};
use crate::failure::{Ended, Failure};
use crate::printer::Printer;
use paddock_desk::unified::harmless;
use paddock_desk::{Project, project};

/// Nobody waits longer at a terminal.
const LONGEST: Duration = Duration::from_secs(600);

pub(crate) fn run(global: &Global, options: &Tool, printer: &Printer) -> anyhow::Result<Ended> {
    let arguments = arguments(&options.arguments)?;
    let toolbox = Project::find(&global.places())?.toolbox(global.agent())?;
    if toolbox.tools().iter().any(|tool| tool.name == options.name && !tool.hints.read_only) {
        project::count_first()?;
    }
    let answer = toolbox.call(&options.name, arguments, &Control::for_at_most(LONGEST).alone());
    let ended = ended(&answer.verdict);
    if options.json {
        printer.json(&as_json(answer))?;
    } else {
        for piece in &answer.content {
            let text = as_text(piece);
            if printer.is_for_a_person() {
                // What agents wrote is in it. A program gets it as it is.
                text.split_terminator('\n').try_for_each(|line| printer.line(harmless(line)))?;
            } else {
                printer.text(&text)?;
            }
        }
    }
    Ok(ended)
}

fn arguments(text: &str) -> anyhow::Result<Map<String, Value>> {
    let text = if text == "-" {
        let mut read = String::new();
        std::io::stdin().read_to_string(&mut read)?;
        read
    } else {
        text.to_owned()
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(wrong("the arguments are not a JSON object")),
        Err(error) => Err(wrong(&format!("the arguments are not JSON: {error}"))),
    }
}

fn wrong(message: &str) -> anyhow::Error {
    Failure::misused(message, "write them as '{\"path\": \"src/App.tsx\"}'")
}

fn ended(verdict: &Verdict) -> Ended {
    match verdict {
        Verdict::Done => Ended::Done,
        Verdict::Denied | Verdict::Failed => Ended::Denied,
        Verdict::Invalid => Ended::Misused,
        Verdict::Parked(_) => Ended::Waiting,
    }
}

fn as_text(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => text.clone(),
        Piece::Image { mime, data } => format!("[{mime}, {} bytes; --json shows them]", data.len()),
    }
}

/// The content is as an MCP client gets it.
fn as_json(answer: Answer) -> Value {
    let verdict = answer.verdict.name();
    let structured = answer.structured.clone();
    let content = paddock_mcp::call_result(answer, paddock_mcp::FactsIn::StructuredContent).content;
    json!({ "verdict": verdict, "content": content, "structured": structured })
}
