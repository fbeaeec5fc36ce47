//! MCP Inspector's command line: one process, one conversation, one request per case.
//!
//! Owns how it is started and how its answers are read. It ends with 0 when the answer is fine, 5 when a tool
//! reported an error, 6 when `--strict` found a tool schema that not every client can use; in the modern era
//! it refuses to fall back to the handshake, so that a modern case cannot pass as a legacy one.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::cases::Cases;
use super::install::NodeClients;
use super::{ERAS, Programs, Served, Way, judge_host};
use crate::process::{self, Captured};
use crate::test::Outcome;

/// Nothing here takes long; past this it hangs.
const HANG: Duration = Duration::from_secs(60);
const TOOL_ERROR: i32 = 5;

/// Plays every case in both eras, both ways.
pub(crate) fn play(outcome: &mut Outcome, cases: &Cases, node: &NodeClients, programs: &Programs) -> Result<()> {
    for (way, era) in Way::ALL.into_iter().flat_map(|way| ERAS.map(|era| (way, era))) {
        let client = format!("MCP Inspector, {}, {era}", way.named());
        let served = Served::new(cases, programs, way)?;
        let ask = |request: &[&str]| process::captured(&mut command(node, &served, era, request), HANG);
        let listing = ask(&["--method", "tools/list", "--strict"]).map(|said| listing_complaints(cases, &said));
        outcome.case(&format!("{client}: exactly the expected tools, strictly"), &flat(listing));
        for call in &cases.calls {
            let arguments = call.arguments.to_string();
            let request = ["--method", "tools/call", "--tool-name", &call.tool, "--tool-args-json", &arguments];
            let answer = ask(&request).map(|said| match result_of(&said) {
                Ok(result) => call.complaints(&result),
                Err(why) => vec![why],
            });
            outcome.case(&format!("{client}: {}", call.name), &flat(answer));
        }
        judge_host(outcome, cases, &served, &client);
    }
    Ok(())
}

fn command(node: &NodeClients, served: &Served, era: &str, request: &[&str]) -> Command {
    let mut command = Command::new(&node.node);
    command.arg(&node.inspector).args(["--cli", "--format", "json", "--protocol-era", era]).args(request);
    match served.site() {
        Some(site) => {
            let token = format!("Authorization: Bearer {}", site.token());
            command.args(["--transport", "http", "--header", &token, "--", site.url()])
        }
        None => command.arg("--").args(served.command_line()),
    };
    command.env("HOME", served.home()).env("MCP_INSPECTOR_SECRET_STORE", "memory").env_remove("PADDOCK_HOME");
    command
}

fn listing_complaints(cases: &Cases, said: &Captured) -> Vec<String> {
    // The strict report is for people: everything but the listing itself is on standard error.
    if said.status.code() != Some(0) {
        return vec![format!("ended with {}: {}", said.status, said.stderr.trim())];
    }
    match result_of(said) {
        Ok(result) => cases.tool_complaints(&result),
        Err(why) => vec![why],
    }
}

fn result_of(said: &Captured) -> Result<Value, String> {
    let told = || format!("ended with {}: {}{}", said.status, said.stdout.trim(), said.stderr.trim());
    if !matches!(said.status.code(), Some(0 | TOOL_ERROR)) {
        return Err(told());
    }
    let answer: Value = serde_json::from_str(&said.stdout).map_err(|_| told())?;
    Ok(answer["result"].clone())
}

fn flat(complaints: Result<Vec<String>>) -> Vec<String> {
    complaints.unwrap_or_else(|error| vec![format!("{error:#}")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn said(code: i32, stdout: &str) -> Captured {
        Captured { status: ExitStatus::from_raw(code << 8), stdout: stdout.to_owned(), stderr: "why".to_owned() }
    }

    #[test]
    fn an_answer_and_a_tool_error_both_have_a_result() {
        for code in [0, TOOL_ERROR] {
            let result = result_of(&said(code, "{\"result\":{\"isError\":true}}")).unwrap();
            assert_eq!(result["isError"], true);
        }
    }

    #[test]
    fn any_other_end_is_a_complaint_with_what_was_said() {
        assert!(result_of(&said(1, "")).unwrap_err().contains("why"));
        assert!(result_of(&said(0, "not JSON")).is_err());
    }
}
