//! Compiling what is tested through the linter: one pass over the code gives its lints and its programs.
//!
//! `cargo clippy` would check all of it, and all it depends on, once more before the tests compile it again; on two cores that is
//! minutes. The linter is the compiler with more to say, so whatever is tested is compiled by it, and what it says is read from
//! cargo's messages: also a warning is a failure, and yet keeps no test from running. What is released or measured must never be
//! compiled so: it leaves out steps of the optimizer that would hide code from lints.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::Result;
use serde_json::Value;

use crate::process;
use crate::repo::Repo;
use crate::test::Outcome;

/// What cargo calls instead of the compiler, for the crates of a workspace.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// What the addon for Node is built for by its own program, which always names a platform: cargo shares nothing between what is
/// built for a named platform and for none, also where it is the same.
const TARGET: &str = "CARGO_BUILD_TARGET";

/// Cargo, for what is tested. Without a linter it compiles as always.
pub(crate) fn cargo(repo: &Repo) -> Command {
    let mut command = process::cargo(repo.top());
    command.envs(variables());
    command
}

/// The same for a program that calls cargo.
pub(crate) fn variables() -> Vec<(&'static str, OsString)> {
    let wrapper = program().map(|program| (WRAPPER, program.as_os_str().to_owned()));
    wrapper.into_iter().chain(host().map(|host| (TARGET, host.into()))).collect()
}

/// Where the programs are that were compiled so.
pub(crate) fn built(repo: &Repo) -> PathBuf {
    let directory = repo.build_directory();
    host().map_or(directory.to_owned(), |host| directory.join(host)).join("debug")
}

/// The linter of the toolchain that compiles; none where it is not installed.
pub(crate) fn program() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find).as_deref()
}

fn find() -> Option<PathBuf> {
    let program = Path::new(rustc("--print=sysroot")?.trim()).join("bin/clippy-driver");
    program.is_file().then_some(program)
}

/// The platform of this machine, as the compiler calls it.
fn host() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let found = || rustc("-vV")?.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    FOUND.get_or_init(found).as_deref()
}

fn rustc(argument: &str) -> Option<String> {
    String::from_utf8(Command::new("rustc").arg(argument).output().ok()?.stdout).ok()
}

/// Every kind of target that has tests, but the documentation.
pub(crate) const TESTED: &[&str] = &["--workspace", "--lib", "--bins", "--tests", "--examples"];

/// What came of compiling the tests.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// One pass where nobody speaks up; a failure for each message otherwise.
    pub(crate) outcome: Outcome,
    pub(crate) programs: Vec<TestProgram>,
}

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The directory of its package, where it wants to run.
    pub(crate) home: PathBuf,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Compiles all tests of the workspace.
pub(crate) fn compile_tests(repo: &Repo) -> Result<Compiled> {
    let mut command = cargo(repo);
    command.args(["test", "--no-run", "--message-format=json"]).args(TESTED);
    let (mut said, mut programs): (Vec<String>, Vec<TestProgram>) = Default::default();
    let status = process::watch(&mut command, |line| {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return };
        programs.extend(program_in(&line));
        if let Some(message) = message_in(&line).filter(|message| !said.contains(message)) {
            println!("{message}");
            said.push(message);
        }
    })?;
    Ok(Compiled { outcome: judged(said, status.success()), programs })
}

fn judged(said: Vec<String>, success: bool) -> Outcome {
    let mut outcome = Outcome::of_check(success && said.is_empty());
    outcome.failed = outcome.failed.max(said.len() as u64);
    outcome.failures = said;
    outcome
}

/// A warning or an error, as the compiler shows it.
fn message_in(line: &Value) -> Option<String> {
    let message = &line["message"];
    let counts = line["reason"] == "compiler-message" && (message["level"] == "warning" || message["level"] == "error");
    counts.then(|| message["rendered"].as_str().unwrap_or_default().trim_end().to_owned())
}

/// A program of tests that is there now.
fn program_in(line: &Value) -> Option<TestProgram> {
    let is_one = line["reason"] == "compiler-artifact" && line["profile"]["test"] == true;
    let path = line["executable"].as_str().filter(|_| is_one)?;
    Some(TestProgram {
        home: Path::new(line["manifest_path"].as_str()?).parent()?.to_owned(),
        name: line["target"]["name"].as_str()?.to_owned(),
        path: path.into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn warnings_and_errors_are_read_and_nothing_else() {
        let line = |reason: &str, level: &str| json!({ "reason": reason, "message": { "level": level, "rendered": "warning: it leaks\n" } });
        assert_eq!(message_in(&line("compiler-message", "warning")).as_deref(), Some("warning: it leaks"));
        assert_eq!(message_in(&line("compiler-message", "error")).as_deref(), Some("warning: it leaks"));
        for other in [line("compiler-message", "note"), line("compiler-artifact", "warning"), json!("text")] {
            assert_eq!(message_in(&other), None, "{other}");
        }
    }

    #[test]
    fn programs_of_tests_are_found_and_no_others() {
        let line = |test: bool, executable: Value| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/x/crates/a/Cargo.toml", "target": { "name": "main" },
                "profile": { "test": test }, "executable": executable,
            })
        };
        let found = program_in(&line(true, json!("/x/target/main-1"))).unwrap();
        assert_eq!((found.home.as_path(), found.name.as_str()), (Path::new("/x/crates/a"), "main"));
        assert_eq!(program_in(&line(false, json!("/x/target/a"))), None);
        assert_eq!(program_in(&line(true, Value::Null)), None);
    }

    #[test]
    fn every_message_is_a_failure_and_so_is_a_build_that_fails_in_silence() {
        assert_eq!(judged(Vec::new(), true), Outcome { passed: 1, ..Outcome::default() });
        assert_eq!(judged(vec!["a".to_owned(), "b".to_owned()], true).failed, 2);
        assert_eq!(judged(Vec::new(), false).failed, 1);
    }

    /// The way it is called is not what people type: were it not to lint any more, this would tell.
    #[test]
    fn what_is_compiled_through_it_is_linted() {
        let program = program().expect("the component clippy of the toolchain is installed");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("odd.rs");
        std::fs::write(&file, "pub fn odd(list: &[u8]) -> bool { list.len() == 0 }\n").unwrap();
        let mut command = Command::new(program);
        command.arg("rustc").args(["--crate-type=lib", "--emit=metadata", "--out-dir"]).arg(place.path()).arg(&file);
        let said = process::captured(&mut command, std::time::Duration::from_secs(60)).unwrap();
        assert!(said.stderr.contains("clippy::len_zero"), "{}", said.stderr);
    }
}
