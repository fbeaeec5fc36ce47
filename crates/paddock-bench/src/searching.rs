//! Searching contents: our tool over stdio against ripgrep started as a process, on the same tree.
//!
//! Both have to find exactly the same lines, or there is nothing to compare. The one peer server that searches
//! contents is measured beside it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::options::{Options, peer};
use crate::report::{Report, Wanted};
use crate::rounds::in_turn;
use crate::servers::{Kind, Server, Work, tell_absent};
use crate::trees::{PATTERN, Project, Searched};

const FILES: usize = 5000;

/// Measures every way of searching that is installed.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project, servers: &[Server]) -> Result<()> {
    let tree = project.searched_tree("searched", FILES)?;
    report.section(
        "Searching contents",
        "A regular expression that matches 40 lines in 5,000 text files in 200 directories, with a `.gitignore` that \
         leaves out 500 more; time until the whole answer is there, and all found the same lines. Less is better, \
         and the ratio is ours divided by theirs.",
    );
    let ours = servers.first().context("Paddock is among the servers")?;
    if let Some(ripgrep) = &options.ripgrep {
        let mut client = ours.start()?.0;
        let samples = in_turn(2, options.rounds(40), |which| match which {
            0 => average(3, || ripgrep_process(ripgrep, project, &tree)),
            _ => average(3, || over_stdio(ours, &mut client, &tree)),
        })?;
        report.cheaper("search", "rg as a process", &samples[0], &samples[1], Some(Wanted::AtMost(1.3)));
    } else {
        report.absent("search", "rg as a process", options.why_missing(peer::RIPGREP));
    }
    for peer in servers.iter().skip(1).filter(|peer| peer.request(search(&tree)).is_some()) {
        let (mut theirs, mut mine) = (peer.start()?.0, ours.start()?.0);
        let samples = in_turn(2, options.rounds(5), |which| match which {
            0 => over_stdio(peer, &mut theirs, &tree),
            _ => over_stdio(ours, &mut mine, &tree),
        })?;
        report.cheaper("search", peer.name(), &samples[0], &samples[1], None);
    }
    tell_absent(report, options, servers, &[Kind::RustMcpFilesystem]);
    Ok(())
}

fn search(tree: &Searched) -> Work<'_> {
    Work::Search { path: &tree.path, pattern: PATTERN }
}

fn average(count: u32, mut work: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut took = Duration::ZERO;
    for _ in 0..count {
        took += work()?;
    }
    Ok(took / count)
}

/// Searches a tree with a server's tool; also used to see what a search leaves in memory.
pub(crate) fn over_stdio(server: &Server, client: &mut Client, tree: &Searched) -> Result<Duration> {
    let (tool, arguments) = server.request(search(tree)).context("the server searches contents")?;
    let answer = client.call(tool, &arguments).with_context(|| server.name())?;
    let found = grouped(&answer.text, &lead(tree));
    ensure!(found == tree.matches, "{} found other lines: {found:?}", server.name());
    Ok(answer.took)
}

fn ripgrep_process(ripgrep: &Path, project: &Project, tree: &Searched) -> Result<Duration> {
    let mut command = Command::new(ripgrep);
    // Rules of .gitignore hold with and without a repository around them: for Paddock always, for ripgrep when told.
    command.args(["--no-config", "--no-require-git", "--color=never", "--no-heading", "--line-number"]);
    command.arg(PATTERN).arg(project.path().join(&tree.path)).stdin(Stdio::null());
    let start = Instant::now();
    let output = command.output().context("cannot start ripgrep")?;
    let took = start.elapsed();
    let found = one_per_line(&String::from_utf8_lossy(&output.stdout), &lead(tree));
    ensure!(found == tree.matches, "ripgrep found other lines: {found:?}");
    Ok(took)
}

/// What stands before the path within the tree, for an agent as on the host.
fn lead(tree: &Searched) -> String {
    format!("/project/{}/", tree.path)
}

/// `file:line` of answers that name a file once and its lines after it.
fn grouped(answer: &str, lead: &str) -> Vec<String> {
    let mut file = "";
    let mut found = Vec::new();
    for line in answer.lines() {
        if let Some((_, below)) = line.split_once(lead).filter(|_| line.starts_with('/')) {
            file = below;
        } else if let Some(number) = line.trim_start().split(':').next().filter(|text| text.parse::<u64>().is_ok()) {
            found.push(format!("{file}:{number}"));
        }
    }
    found.sort();
    found
}

/// `file:line` of lines as grep writes them.
fn one_per_line(output: &str, lead: &str) -> Vec<String> {
    let place = |line: &str| {
        let (_, below) = line.split_once(lead)?;
        let mut parts = below.splitn(3, ':');
        Some(format!("{}:{}", parts.next()?, parts.next()?))
    };
    let mut found: Vec<String> = output.lines().filter_map(place).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_of_answers_are_read_alike() {
        let ours = "/project/t/a/x.rs\n12: let x\n40: let y\n\n/project/t/b.rs\n1: let z";
        let theirs = "/tmp/project/t/b.rs\n  1:4: let z\n\n/tmp/project/t/a/x.rs\n  40:0: let y\n  12:0: let x\n\n";
        let grep = "/tmp/project/t/a/x.rs:12:let x: 7\n/tmp/project/t/b.rs:1:z\n/tmp/project/t/a/x.rs:40:y\n";
        let expected = ["a/x.rs:12", "a/x.rs:40", "b.rs:1"];
        assert_eq!(grouped(ours, "/project/t/"), expected);
        assert_eq!(grouped(theirs, "/project/t/"), expected);
        assert_eq!(one_per_line(grep, "/project/t/"), expected);
    }
}
