//! Every call leaves a line in the log, with the true reason.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::setup::{RO, RW, agent, hiding, holding, workspace};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn logged(act: impl FnOnce()) -> String {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, act);
    String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn each_call_is_logged_with_tool_agent_path_verdict_and_risk() {
    let agent = agent(vec![
        hiding(workspace("/w", RW, holding(&[("f", b"x"), ("hidden", b"x")])), &["hidden"]),
        workspace("/r", RO, holding(&[])),
    ]);
    let log = logged(|| {
        agent.call("delete_file", json!({"path": "/w/f"}));
        agent.call("write_file", json!({"path": "/r/f", "content": "top secret"}));
        agent.call("read_file", json!({"path": "/w/hidden"}));
        agent.call("read_file", json!({"path": "../up"}));
        agent.call("teleport", json!({}));
    });
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 5, "{log}");
    let expected = [
        ["tool=\"delete_file\"", "agent=\"main\"", "path=\"/w/f\"", "verdict=\"done\"", "risk=\"high\""],
        ["tool=\"write_file\"", "agent=\"main\"", "path=\"/r/f\"", "verdict=\"denied\"", "reason=\"scope\""],
        // What the agent was told is that it does not exist; the log knows better.
        ["tool=\"read_file\"", "agent=\"main\"", "path=\"/w/hidden\"", "verdict=\"failed\"", "reason=\"hidden\""],
        ["tool=\"read_file\"", "agent=\"main\"", "path=\"../up\"", "verdict=\"denied\"", "reason=\"path\""],
        ["tool=\"teleport\"", "agent=\"main\"", "", "verdict=\"invalid\"", ""],
    ];
    for (line, parts) in lines.iter().zip(expected) {
        for part in parts {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    assert!(!log.contains("top secret"), "contents are never logged");
}
