//! `cargo xtask order`: which functions a start and the usual calls run, for the linker.
//!
//! Owns `crates/paddock/link-order.txt`, which `crates/paddock/build.rs` gives to the linker. The list is made from a released
//! program that serves an MCP client under gdb. It is never what makes the program work: a list that is old costs a few pages.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::process;
use crate::repo::Repo;

const LIST: &str = "crates/paddock/link-order.txt";
const TRACE: &str = include_str!("trace.py");
/// A list of which so few are left is told of.
const FEW: f64 = 0.7;

/// Shown by `cargo xtask order --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask order

Builds Paddock in release mode, lets it serve an MCP client under gdb (which has to be installed, with nm) and writes the names of the
functions that were run to crates/paddock/link-order.txt. The linker puts those together, so that a start touches fewer pages. Run
it when `cargo xtask bench` says that the list is old: after an update of Rust, for one.
";

/// Writes the list anew.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    ensure!(args.is_empty(), "`cargo xtask order` takes no arguments\nhint: see `cargo xtask order --help`");
    for program in ["gdb", "nm"] {
        ensure!(process::answers(program, "--version"), "{program} is not installed");
    }
    let mut build = process::cargo(repo.top());
    build.args(["build", "--release", "--package", "paddock"]);
    ensure!(process::stream(&mut build, |_| {})?.success(), "the release build failed");
    let program = repo.build_directory().join("release/paddock");
    let place = tempfile::tempdir()?;
    let project = Project::lay_out(place.path())?;
    // The first makes its home, the second finds it as nearly every start does.
    let names = [project.run(&program)?, project.run(&program)?].concat();
    let names = each_once(names.lines());
    fs::write(repo.path(LIST), names.join("\n") + "\n")?;
    println!("{LIST}: {} functions", names.len());
    Ok(true)
}

/// What should be said of the list beside a program that was built with it, if anything.
pub(crate) fn complaint(repo: &Repo, program: &Path) -> Result<Option<String>> {
    let (list, bytes) = (repo.read(LIST)?, fs::read(program)?);
    let there: HashSet<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let (all, left) = (list.lines().count(), list.lines().filter(|name| there.contains(name.as_bytes())).count());
    #[allow(clippy::cast_precision_loss)]
    let is_old = (left as f64) < all as f64 * FEW;
    Ok(is_old.then(|| format!("{LIST} is old: of {all} functions {left} are left\nhint: run `cargo xtask order`")))
}

fn each_once<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// What the agent works on.
struct Project<'p> {
    place: &'p Path,
}

impl<'p> Project<'p> {
    fn lay_out(place: &'p Path) -> Result<Self> {
        let line = "let found = \"a needle\";\n";
        for directory in ["home", "project/src"] {
            fs::create_dir_all(place.join(directory))?;
        }
        for file in 0..50 {
            fs::write(place.join(format!("project/src/file-{file}.rs")), line.repeat(50))?;
        }
        fs::write(place.join("project/.gitignore"), "target/\n*.log\n")?;
        fs::write(place.join("trace.py"), TRACE)?;
        Ok(Self { place })
    }

    /// The functions of one session, in the order in which they were entered.
    fn run(&self, program: &Path) -> Result<String> {
        let order = self.place.join("order.txt");
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-nx", "-batch", "-x"]).arg(self.place.join("trace.py")).arg("--args").arg(program);
        gdb.arg("mcp").arg(self.place.join("project")).env("HOME", self.place.join("home")).env("ORDER", &order);
        gdb.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        println!("$ {}", process::shown(&gdb));
        let mut client = Client::of(gdb.spawn()?)?;
        client.greet()?;
        for (tool, arguments) in usual_calls() {
            let answer = client.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
            ensure!(answer["result"]["isError"] != true, "{tool} failed: {answer}");
        }
        client.leave()?;
        fs::read_to_string(order).context("gdb wrote no list")
    }
}

fn usual_calls() -> Vec<(&'static str, Value)> {
    let written = |content: &str| json!({"path": "/project/new.txt", "content": content});
    vec![
        ("read_file", json!({"path": "/project/src/file-1.rs"})),
        ("list_dir", json!({"path": "/project/src"})),
        ("find_files", json!({"path": "/project", "glob": "*7.rs"})),
        ("search_files", json!({"path": "/project", "pattern": "need[a-z]+"})),
        ("write_file", written("one\n")),
        ("write_file", written("setting = 1\n")),
        ("edit_file", json!({"path": "/project/new.txt", "old_string": "1", "new_string": "2"})),
        ("append_file", json!({"path": "/project/new.txt", "content": "end\n"})),
        ("read_file", json!({"path": "/project/new.txt"})),
    ]
}

/// An MCP client that asks one thing after the other.
struct Client {
    server: Child,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn of(mut server: Child) -> Result<Self> {
        let answers = BufReader::new(server.stdout.take().context("gdb has no output")?);
        Ok(Self { server, answers, asked: 0 })
    }

    fn greet(&mut self) -> Result<()> {
        let client = json!({"name": "order", "version": "1"});
        let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.ask("initialize", &greeting)?;
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        self.ask("tools/list", &json!({})).map(drop)
    }

    fn tell(&mut self, message: &Value) -> Result<()> {
        let mut to = self.server.stdin.as_ref().context("gdb has no input")?;
        Ok(writeln!(to, "{message}")?)
    }

    /// What gdb says of itself stands between the answers.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        self.tell(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}))?;
        let mut line = String::new();
        while self.answers.read_line(&mut line)? > 0 {
            if let Ok(answer) = serde_json::from_str::<Value>(&line)
                && answer["id"] == self.asked
            {
                return Ok(answer);
            }
            line.clear();
        }
        anyhow::bail!("gdb ended before {method} was answered")
    }

    fn leave(mut self) -> Result<()> {
        drop(self.server.stdin.take());
        std::io::copy(&mut self.answers, &mut std::io::sink())?;
        self.server.wait()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    #[test]
    fn a_function_stands_where_it_was_first_entered() {
        assert_eq!(each_once(["a", "b", "a", "c", "b"].into_iter()), ["a", "b", "c"]);
    }

    #[test]
    fn a_list_is_old_when_most_of_it_is_gone() {
        let sample = Sample::of(&[(LIST, "one\ntwo\nthree\n"), ("new", "\0one\0two\0"), ("old", "\0one\0twofold\0")]);
        let repo = Sample::of(&[]).repo();
        assert!(complaint(&repo, Path::new("none")).is_err());
        let repo = sample.repo();
        // Two of three are fewer than the bound, too.
        assert!(complaint(&repo, &repo.path("new")).unwrap().unwrap().contains("of 3 functions 2 are left"));
        assert!(complaint(&repo, &repo.path("old")).unwrap().unwrap().contains("of 3 functions 1 are left"));
        fs::write(repo.path("new"), "\0one\0two\0three\0").unwrap();
        assert_eq!(complaint(&repo, &repo.path("new")).unwrap(), None);
    }
}
