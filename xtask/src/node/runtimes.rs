//! The table of runtimes that the package promises to run in: how each runs the same compiled tests and closes with its counts.

use std::path::PathBuf;
use std::process::Command;

use super::counts::Counted;
use super::install::Npm;

/// One row of the table.
#[derive(Debug)]
pub(super) struct Runtime {
    pub(super) name: &'static str,
    /// What runs the files of tests that follow; none where this processor has no such program.
    pub(super) command: fn(&Npm) -> Option<Command>,
    /// Are its tests given PostgreSQL? What is behind the addon is the same in each, so one of them is enough.
    pub(super) asks_server: bool,
    /// What a closing line says, if it is one.
    pub(super) counted: fn(&str) -> Vec<Counted>,
}

pub(super) const RUNTIMES: &[Runtime] = &[
    Runtime { name: "Node", command: node, asks_server: true, counted: of_node },
    Runtime { name: "Bun", command: bun, asks_server: false, counted: of_bun },
    Runtime { name: "Deno", command: deno, asks_server: false, counted: of_deno },
];

/// Where the programs are: the script of the package `bun` moves its own.
const BUN: [&str; 3] = ["@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun", "bun/bin/bun.exe"];
const DENO: [&str; 2] = ["@deno/linux-x64-glibc/deno", "@deno/linux-arm64-glibc/deno"];

fn node(npm: &Npm) -> Option<Command> {
    let mut command = npm.node();
    command.args(["--expose-gc", "--test", "--test-reporter=spec", "--test-reporter-destination=stdout"]);
    Some(command)
}

fn bun(npm: &Npm) -> Option<Command> {
    let mut command = npm.program(&first(npm, &BUN)?);
    // It gives each test five seconds where nothing else is said; the others give them all they want.
    command.args(["test", "--timeout", "600000"]);
    Some(command)
}

fn deno(npm: &Npm) -> Option<Command> {
    let mut command = npm.program(&first(npm, &DENO)?);
    command.args(["test", "--allow-all", "--no-check", "--v8-flags=--expose-gc"]);
    Some(command)
}

fn first(npm: &Npm, candidates: &[&str]) -> Option<PathBuf> {
    candidates.iter().map(|path| npm.packages().join(path)).find(|path| path.is_file())
}

/// `ℹ pass 12`.
fn of_node(line: &str) -> Vec<Counted> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["ℹ", word, number] => Counted::of(word, number).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// ` 12 pass`.
fn of_bun(line: &str) -> Vec<Counted> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [number, word] => Counted::of(word, number).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `ok | 12 passed | 0 failed | 1 ignored (3s)`.
fn of_deno(line: &str) -> Vec<Counted> {
    let Some(parts) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | ")) else {
        return Vec::new();
    };
    let words = parts.split('|').map(|part| part.split_whitespace().take(2).collect::<Vec<_>>());
    words.filter_map(|words| Counted::of(words.get(1)?, words.first()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Counted::{Failed, Ignored, Passed};

    #[test]
    fn the_closing_lines_of_each_are_read() {
        assert_eq!(of_node("ℹ pass 6"), [Passed(6)]);
        assert_eq!(of_node("ℹ cancelled 1"), [Failed(1)]);
        assert_eq!(of_bun(" 12 pass"), [Passed(12)]);
        assert_eq!(of_bun(" 1 fail"), [Failed(1)]);
        assert_eq!(
            of_deno("FAILED | 10 passed (3 steps) | 2 failed | 1 ignored (4s)"),
            [Passed(10), Failed(2), Ignored(1)]
        );
    }

    #[test]
    fn what_a_test_prints_is_no_count() {
        for counted in [of_node, of_bun, of_deno] {
            for line in ["12", "it can pass", "ℹ pass 3 more", "ℹ duration_ms 12.5", "running 2 tests from ./a.js", ""]
            {
                assert_eq!(counted(line), [], "{line}");
            }
        }
    }
}
