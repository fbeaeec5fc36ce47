//! The table of runtimes that the package promises to run in: how each runs the same compiled tests and reports on them.

use std::path::PathBuf;
use std::process::Command;

use super::install::Npm;
use crate::test::reports::{self, Report};

/// One row of the table.
#[derive(Debug)]
pub(super) struct Runtime {
    pub(super) name: &'static str,
    /// What runs the files of tests that follow; none where this processor has no such program.
    pub(super) command: fn(&Npm) -> Option<Command>,
    /// Are its tests given PostgreSQL? What is behind the addon is the same in each, so one of them is enough.
    pub(super) asks_server: bool,
    /// Does a variable that a test sets reach the addon? Where it does not, the System Root is named from outside.
    pub(super) names_home: bool,
    pub(super) report: &'static Report,
}

pub(super) const RUNTIMES: &[Runtime] = &[
    Runtime { name: "Node", command: node, asks_server: true, names_home: true, report: &reports::NODE },
    Runtime { name: "Bun", command: bun, asks_server: false, names_home: false, report: &reports::BUN },
    Runtime { name: "Deno", command: deno, asks_server: false, names_home: true, report: &reports::DENO },
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
