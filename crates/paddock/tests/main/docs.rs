//! The documents say what is true: their commands are run, their tables compared with the code, their links
//! followed.
//!
//! A block that opens with ```` ```console ```` and whose first line is `$ paddock …` (or `$ cargo run --release -- …`) is run
//! in a sample project of its own and has to print what the document shows. `[..]` stands for anything within a line,
//! and alone on a line for any number of lines. The block is `console fresh` where the project is not set up yet, and `console
//! postgres` where it needs a server, whose address is then in `DATABASE_URL`. Whoever changed an output on purpose runs the
//! tests with `PADDOCK_WRITE_DOCS=1`, which puts the new one into the document.

mod console;
mod own_store;
mod pages;
mod promises;
mod reference;
mod served;
mod system_root;
mod tables;
mod twins;

use std::collections::BTreeSet;

use paddock_db::postgres_testing::Database;
use pages::Page;

use crate::harness::World;

#[test]
fn every_command_prints_what_the_document_shows() {
    let ran = run_the_commands(false, &[]);
    assert!(ran > 30, "only {ran} commands were found: the test has lost the documents");
}

#[test]
fn every_command_prints_what_the_document_shows_on_postgres() {
    let database = Database::fresh();
    let ran = run_the_commands(true, &[("DATABASE_URL", &database.url())]);
    assert!(ran > 5, "only {ran} commands were found: the test has lost the documents");
}

/// Runs every block that needs a server, or every other; gives how many commands that were.
fn run_the_commands(on_postgres: bool, variables: &[(&str, &str)]) -> usize {
    let mut ran = 0;
    let mut wrong = String::new();
    for mut page in pages::all() {
        let mut blocks = console::blocks(&page);
        blocks.retain(|block| block.postgres == on_postgres);
        ran += blocks.iter().map(|block| block.steps.len()).sum::<usize>();
        let outcomes: Vec<_> = blocks.iter().map(|block| console::run(block, variables)).collect();
        wrong.extend(outcomes.iter().filter_map(|outcome| outcome.complaint(&page)));
        if std::env::var_os("PADDOCK_WRITE_DOCS").is_some() {
            console::write_into(&mut page, &blocks, &outcomes);
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nrun again with PADDOCK_WRITE_DOCS=1 if this is meant");
    ran
}

/// What the tests cannot do: build the program they are part of, or run themselves.
const NOT_RUN: [&str; 4] = ["cargo xtask ", "cargo install ", "cargo build ", "cargo nextest "];

#[test]
fn every_block_of_commands_is_run() {
    for page in pages::all() {
        let run = console::blocks(&page).len();
        let mut found = 0;
        for (words, lines) in page.fences() {
            let commands = lines.iter().filter_map(|line| match words {
                "sh" | "bash" | "shell" => Some(*line).filter(|line| !line.starts_with('#')),
                "" => Some(*line).filter(|line| line.starts_with("paddock ") || line.starts_with("cargo ")),
                _ => line.strip_prefix("$ "),
            });
            let commands: Vec<&str> = commands.filter(|line| !line.is_empty()).collect();
            let left: Vec<&&str> =
                commands.iter().filter(|line| !NOT_RUN.iter().any(|start| line.starts_with(start))).collect();
            if words.starts_with("console") {
                found += 1;
            } else {
                assert!(left.is_empty(), "{}: nobody runs {left:?}: put it into a `console` block", page.name);
            }
        }
        assert_eq!(found, run, "{}: a `console` block begins with `$ paddock …`", page.name);
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    for page in pages::all() {
        for link in page.links() {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let place = if file.is_empty() { page.path.clone() } else { page.path.parent().unwrap().join(file) };
            assert!(place.exists(), "{}: there is no \"{link}\"", page.name);
            if !anchor.is_empty() {
                let headings = Page::read(&place).anchors();
                assert!(headings.contains(anchor), "{}: \"{link}\" names no heading: {headings:?}", page.name);
            }
            followed += 1;
        }
    }
    assert!(followed > 20, "only {followed} links were found");
}

#[test]
fn every_document_is_in_the_index() {
    let index = Page::named("docs/README.md");
    let linked: BTreeSet<String> = index.links().into_iter().collect();
    for page in pages::all() {
        if let Some(name) = page.name.strip_prefix("docs/")
            && name != "README.md"
        {
            assert!(linked.contains(name), "docs/README.md does not link {name}");
        }
    }
}

/// The commands that a help lists.
fn commands_of(world: &World, command: &[&str]) -> Vec<String> {
    let help = world.paddock(&[command, &["--help"]].concat()).stdout;
    let Some(commands) = help.split("Commands:\n").nth(1) else { return Vec::new() };
    let lines = commands.split("\n\n").next().unwrap().lines();
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_program_is_documented_with_its_help() {
    let page = Page::named("docs/cli.md");
    let names = commands_of(&World::empty(), &[]);
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        assert!(page.text.contains(&format!("$ paddock {name} --help\n")), "docs/cli.md does not show `{name} --help`");
    }
}

/// Commands that list something, whatever they stand under.
const LISTS: [&str; 11] =
    ["list", "grants", "tail", "query", "log", "quota", "check", "doctor", "fork", "diff", "messages"];

#[test]
fn every_list_is_there_for_programs_too() {
    let world = World::empty();
    let mut found = 0;
    for command in commands_of(&world, &[]) {
        let below = commands_of(&world, &[&command]);
        let all =
            std::iter::once(vec![command.clone()]).chain(below.into_iter().map(|name| vec![command.clone(), name]));
        for words in all.filter(|words| LISTS.contains(&words.last().unwrap().as_str())) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let help = world.paddock(&[&words[..], &["--help"]].concat()).stdout;
            // What has commands of its own lists nothing itself.
            assert!(help.contains("--json") || help.contains("Commands:\n"), "{words:?} has no --json: {help}");
            found += 1;
        }
    }
    assert!(found > 12, "only {found} lists were found");
}

/// A test that a document names as its proof has to be there.
#[test]
fn every_test_that_the_threat_model_names_exists() {
    let sources = pages::rust_sources();
    let mut named = 0;
    for row in Page::named("docs/security.md").rows_under("What is promised") {
        for test in row.last().unwrap().split('`').skip(1).step_by(2) {
            let declared = [format!("fn {test}("), format!("pub fn {test}(")];
            let there = sources.iter().any(|source| declared.iter().any(|line| source.contains(line.as_str())));
            assert!(there, "docs/security.md names the test \"{test}\", which does not exist");
            named += 1;
        }
    }
    assert!(named > 20, "only {named} tests were found");
}
