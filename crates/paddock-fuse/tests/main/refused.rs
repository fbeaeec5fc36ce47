//! Where nothing can be mounted, and what is said then.

use std::fs;

use paddock_core::{AgentName, LogicalPath};
use paddock_fuse::{FuseError, How, Served};

use crate::world::one;

fn refusal(dir: &std::path::Path) -> FuseError {
    Served::new(one(), LogicalPath::top(), How::ReadOnly, AgentName::main()).mount(dir).unwrap_err()
}

#[test]
fn only_an_empty_directory_is_covered() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "x").unwrap();
    let error = refusal(dir.path());
    assert!(matches!(error, FuseError::NotEmpty(_)), "{error}");
    assert!(error.to_string().contains("is not empty") && error.hint().contains("empty directory"));
    let error = refusal(&dir.path().join("f"));
    assert!(matches!(error, FuseError::NotADirectory { .. }), "{error}");
    let error = refusal(&dir.path().join("none"));
    assert!(matches!(error, FuseError::NotADirectory { .. }), "{error}");
}
