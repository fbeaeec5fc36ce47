//! Starting other programs: streamed live, and their lines seen by whoever counts tests.
//!
//! Owns the rule that a child never reads from the terminal, so that a chore behaves the same with and
//! without one. It must never swallow what a child prints unless a log file was asked for.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

/// The cargo that runs this program, so that toolchain overrides carry over.
pub(crate) fn cargo(top: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top).stdin(Stdio::null());
    command
}

/// Shows the command, as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(OsStr::new("?"));
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

/// Runs to the end, passing standard output through line by line and showing each to `each_line`.
pub(crate) fn stream(command: &mut Command, mut each_line: impl FnMut(&str)) -> Result<ExitStatus> {
    println!("$ {}", shown(command));
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            std::io::stdout().write_all(&line)?;
            each_line(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    Ok(child.wait()?)
}

/// Whether the program starts at all and says its version.
pub(crate) fn answers(program: impl AsRef<OsStr>, argument: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn start(command: &mut Command) -> Result<Child> {
    command
        .spawn()
        .with_context(|| format!("cannot start `{}`", shown(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_are_seen_and_the_status_is_passed_on() {
        let mut lines = Vec::new();
        let status = stream(&mut shell("echo one; echo two; exit 3"), |line| {
            lines.push(line.to_owned());
        })
        .unwrap();
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(status.code(), Some(3));
    }
}
