//! Running the commands that a document shows, and comparing what they print.
//!
//! Each command is a shell of its own. `paddock serve` stays in the background for the commands of its block that follow, on a port
//! that is free here; the document shows the usual one.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::served::Served;

use super::pages::Page;
use crate::harness::{FILES, World};

/// What stands for anything.
const ANYTHING: &str = "[..]";
/// How whoever has only the checkout starts the program.
const FROM_CHECKOUT: &str = "cargo run --release -- ";

/// The commands of one fence.
#[derive(Debug)]
pub(super) struct Block {
    /// The first line after the fence, and the line that closes it, counted from 0.
    first: usize,
    end: usize,
    fresh: bool,
    /// Does it need a PostgreSQL server?
    pub(super) postgres: bool,
    pub(super) steps: Vec<Step>,
}

/// One command and what the document says it prints.
#[derive(Debug)]
pub(super) struct Step {
    command: String,
    shown: Vec<String>,
}

/// What the commands of a block printed.
#[derive(Debug)]
pub(super) struct Outcome {
    first: usize,
    /// For each step the command, what is shown, what was printed.
    printed: Vec<(String, Vec<String>, Vec<String>)>,
}

/// The blocks of a page that are to be run.
pub(super) fn blocks(page: &Page) -> Vec<Block> {
    let lines: Vec<&str> = page.text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(fence) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let first = at + 1;
        let end = (first..lines.len()).find(|line| lines[*line] == "```").unwrap_or(lines.len());
        let body = &lines[first..end];
        let is_ours = |line: &&str| {
            let command = line.strip_prefix("$ ").unwrap_or_default();
            command.starts_with("paddock ") || command.starts_with(FROM_CHECKOUT)
        };
        if fence.starts_with("console") && body.first().is_some_and(is_ours) {
            let is = |word: &str| fence.split(' ').any(|said| said == word);
            blocks.push(Block { first, end, fresh: is("fresh"), postgres: is("postgres"), steps: steps(body) });
        }
        at = end + 1;
    }
    blocks
}

fn steps(body: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
            (None, Some(step)) => step.shown.push((*line).to_owned()),
            (None, None) => unreachable!("a block begins with a command"),
        }
    }
    steps
}

/// Runs the commands of a block, one after the other, in a project of their own; with these variables beside the usual ones.
pub(super) fn run(block: &Block, variables: &[(&str, &str)]) -> Outcome {
    let world = World::empty();
    for (path, content) in FILES {
        world.write(path, content);
    }
    if !block.fresh {
        assert_eq!(world.paddock(&["init"]).code, 0);
    }
    let mut served = None;
    let mut run = |step: &Step| {
        let command = step.command.replace(FROM_CHECKOUT, "paddock ");
        let told = if command.starts_with("paddock serve") && !command.contains("--help") {
            let (server, told) = Served::start(&world, |words| shell(&world, words, variables), &command);
            served = Some(server);
            told
        } else {
            let command = served.as_ref().map_or_else(|| command.clone(), |server: &Served| server.meant(&command));
            let told = world.run(shell(&world, &format!("exec 2>&1\n{command}"), variables), "").stdout;
            served.as_ref().map_or_else(|| told.clone(), |server| server.shown(&told))
        };
        (step.command.clone(), tidied(&step.shown.join("\n")), tidied(&as_a_reader_has_it(&told)))
    };
    Outcome { first: block.first, printed: block.steps.iter().map(&mut run).collect() }
}

/// A shell in the project, with `paddock` on its path.
fn shell(world: &World, words: &str, variables: &[(&str, &str)]) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_paddock")).parent().unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(words).current_dir(world.project());
    shell.env_clear().env("HOME", world.home()).env("TMPDIR", world.path());
    shell.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).envs(variables.iter().copied());
    shell
}

/// Places where a reader would have them.
fn as_a_reader_has_it(told: &str) -> String {
    let told = told.replace("[world]/project", "/home/you/my-app").replace("[world]/home", "/home/you");
    told.replace("[bin]/paddock", "/home/you/.cargo/bin/paddock")
}

/// Lines without blanks at their ends, and without empty lines at the end of all.
fn tidied(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

impl Outcome {
    /// What is wrong with the document, in words.
    pub(super) fn complaint(&self, page: &Page) -> Option<String> {
        let wrong = self.printed.iter().find(|(_, shown, printed)| !agree(shown, printed));
        wrong.map(|(command, shown, printed)| {
            format!(
                "{}:{}: `{command}`\n--- the document shows\n{}\n--- it prints\n{}\n\n",
                page.name,
                self.first + 1,
                shown.join("\n"),
                printed.join("\n")
            )
        })
    }
}

fn agree(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((line, rest)), _) if line == ANYTHING => (0..=printed.len()).any(|skip| agree(rest, &printed[skip..])),
        (Some((line, rest)), Some((real, others))) => agree_line(line, real) && agree(rest, others),
        _ => false,
    }
}

fn agree_line(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let Some(last) = shown.split(ANYTHING).skip(1).last() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    printed.len() >= first.len() + last.len() && printed.ends_with(last)
}

/// Puts what was printed into the document, where it shows something else.
pub(super) fn write_into(page: &mut Page, blocks: &[Block], outcomes: &[Outcome]) {
    if outcomes.iter().all(|outcome| outcome.complaint(page).is_none()) {
        return;
    }
    let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
    for (block, outcome) in blocks.iter().zip(outcomes).rev() {
        if outcome.complaint(page).is_none() {
            continue;
        }
        let body = outcome.printed.iter().flat_map(|(command, shown, printed)| {
            let kept = if agree(shown, printed) { shown } else { printed };
            std::iter::once(format!("$ {command}")).chain(kept.clone())
        });
        let body: Vec<String> = body.collect();
        lines.splice(block.first..block.end, body);
    }
    fs::write(&page.path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn elisions_stand_for_anything() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, printed, same) in [
        ("a", "a", true),
        ("a", "b", false),
        ("a[..]z", "a to z", true),
        ("a[..]z", "a to y", false),
        ("[..]b[..]", "abc", true),
        ("ab[..]ba", "aba", false),
        ("a\n[..]\nz", "a\nb\nc\nz", true),
        ("a\n[..]\nz", "a\nz", true),
        ("a\n[..]", "a\nb", true),
        ("a\nb", "a", false),
        ("a", "a\nb", false),
    ] {
        assert_eq!(agree(&lines(shown), &lines(printed)), same, "{shown:?} and {printed:?}");
    }
}
