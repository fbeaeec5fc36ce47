//! A configuration that a person changes while an agent works.
// A test plays the person, who writes the file on the host.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::sync::Arc;

use paddock_config::{Ports, Reloader};
use paddock_core::AgentName;
use paddock_state::{HomeSources, SystemRoot};
use paddock_tools::{PolicySource, RecordingGate, Toolbox, Verdict};
use serde_json::json;

use crate::setup::call;

#[test]
fn a_changed_file_takes_effect_at_the_next_call_and_a_broken_one_changes_nothing() {
    let project = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = project.path().join("paddock.toml");
    let configure = |scope: &str| {
        let text = format!("[[workspace]]\nprefix = \"/p\"\nscope = \"{scope}\"\nmount = {{ physical = \".\" }}\n");
        fs::write(&file, text).unwrap();
    };
    configure("READ_ONLY");
    let system_root =
        SystemRoot::resolve(&HomeSources::from_environment(Some(home.path().join("home"))), None).unwrap();
    let ports = Ports::in_memory(Arc::new(RecordingGate::new()));
    let source = Arc::new(Reloader::start(&file, AgentName::main(), system_root, ports).unwrap());
    let toolbox = Toolbox::new(Arc::clone(&source) as Arc<dyn PolicySource>);
    let write = || call(&toolbox, "write_file", json!({"path": "/p/a", "content": "x"})).verdict;

    let first = toolbox.generation();
    assert_eq!(write(), Verdict::Denied);
    configure("READ_WRITE");
    assert_eq!(write(), Verdict::Done);
    assert!(toolbox.generation() > first);
    assert_eq!(PolicySource::notice(&*source), None);

    let held = toolbox.generation();
    fs::write(&file, "[[workspace]]\nprefix = ").unwrap();
    assert_eq!(write(), Verdict::Done, "the last valid policy holds");
    assert_eq!(toolbox.generation(), held);
    assert!(PolicySource::notice(&*source).is_some(), "and a person is told");

    fs::remove_file(&file).unwrap();
    assert_eq!(write(), Verdict::Denied);
    assert!(toolbox.tools().is_empty());
}
