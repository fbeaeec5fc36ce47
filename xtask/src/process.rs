//! Starting other programs: streamed live, and their lines seen by whoever counts tests.
//!
//! Owns the rule that a child never reads from the terminal, so that a chore behaves the same with and
//! without one. It must never swallow what a child prints unless a log file was asked for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// What a child that was waited for said.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The cargo that runs this program, so that toolchain overrides carry over.
pub(crate) fn cargo(top: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top).stdin(Stdio::null());
    command
}

/// Shows the command, as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(OsStr::new("?"));
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| arg.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Runs to the end, passing standard output through line by line and showing each to `each_line`.
pub(crate) fn stream(command: &mut Command, each_line: impl FnMut(&str)) -> Result<ExitStatus> {
    println!("$ {}", shown(command));
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    if let Some(output) = child.stdout.take() {
        pass_through("", output, each_line)?;
    }
    Ok(child.wait()?)
}

/// The same for lines that only a program can read: they are shown to `each_line` alone.
pub(crate) fn watch(command: &mut Command, mut each_line: impl FnMut(&str)) -> Result<ExitStatus> {
    println!("$ {}", shown(command));
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        each_line(&line?);
    }
    Ok(child.wait()?)
}

/// The same for a program that also tells on its standard error and is one of several at once: each line says whose it is.
pub(crate) fn stream_beside(name: &str, command: &mut Command, each_line: impl FnMut(&str)) -> Result<ExitStatus> {
    println!("{name}: $ {}", shown(command));
    let (output, input) = std::io::pipe()?;
    let mut child = start(command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input))?;
    // The command keeps its ends, and the output ends with the last one.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    pass_through(&format!("{name}: "), output, each_line)?;
    Ok(child.wait()?)
}

fn pass_through(before: &str, output: impl Read, mut each_line: impl FnMut(&str)) -> Result<()> {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&[before.as_bytes(), &line].concat())?;
        each_line(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(())
}

/// Runs with everything it prints in `log`; on failure the log is shown and named in the error.
pub(crate) fn logged(command: &mut Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write the log \"{}\"", log.display()))?;
    let errors = file.try_clone()?;
    let status = start(command.stdin(Stdio::null()).stdout(file).stderr(errors))?.wait()?;
    if status.success() {
        return Ok(());
    }
    let said = std::fs::read_to_string(log).unwrap_or_default();
    eprintln!("{}", said.trim_end());
    bail!("`{}` ended with {status}; its output is in \"{}\"", shown(command), log.display())
}

/// Runs with its output kept; a child that outlives `limit` is killed and is an error.
pub(crate) fn captured(command: &mut Command, limit: Duration) -> Result<Captured> {
    let mut child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait_at_most(&mut child, limit)
        .with_context(|| format!("`{}` did not end within {} s", shown(command), limit.as_secs()))?;
    Ok(Captured { status, stdout: text_of(stdout), stderr: text_of(stderr) })
}

/// Whether the program starts at all and says its version.
pub(crate) fn answers(program: impl AsRef<OsStr>, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn start(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A torn pipe ends the output; what came before it is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn text_of(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

fn wait_at_most(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            _ => {
                // Already gone is as good as killed.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
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

    #[test]
    fn lines_of_both_outputs_are_seen() {
        let mut lines = Vec::new();
        stream_beside("x", &mut shell("echo one; echo two >&2"), |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn a_child_finds_no_terminal_input() {
        let said = captured(&mut shell("cat; echo end"), Duration::from_secs(30)).unwrap();
        assert_eq!(said.stdout, "end\n");
    }

    #[test]
    fn a_child_that_hangs_is_killed() {
        let error = captured(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("did not end"), "{error}");
    }

    #[test]
    fn a_failed_install_names_its_log() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let error = logged(&mut shell("echo why; exit 1"), &log).unwrap_err();
        assert!(error.to_string().contains("log"), "{error}");
        assert_eq!(std::fs::read_to_string(log).unwrap(), "why\n");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = captured(&mut Command::new("no-such-program-here"), Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"), "{error}");
    }
}
