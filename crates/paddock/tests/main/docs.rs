//! The documents say what is true: their commands are run, their tables compared with the code, their links
//! followed.
//!
//! A block that opens with ```` ```console ```` and whose first line is `$ paddock …` (or `$ cargo run --release -- …`) is run
//! in a sample project of its own and has to print what the document shows. `[..]` stands for anything within a line,
//! and alone on a line for any number of lines. The block is `console fresh` where the project is not set up yet. Whoever
//! changed an output on purpose runs the tests with `PADDOCK_WRITE_DOCS=1`, which puts the new one into the document.

mod console;
mod pages;
mod promises;
mod tables;

use std::collections::BTreeSet;

use pages::Page;

#[test]
fn every_command_prints_what_the_document_shows() {
    let mut ran = 0;
    let mut wrong = String::new();
    for mut page in pages::all() {
        let blocks = console::blocks(&page);
        ran += blocks.iter().map(|block| block.steps.len()).sum::<usize>();
        let outcomes: Vec<_> = blocks.iter().map(console::run).collect();
        wrong.extend(outcomes.iter().filter_map(|outcome| outcome.complaint(&page)));
        if std::env::var_os("PADDOCK_WRITE_DOCS").is_some() {
            console::write_into(&mut page, &blocks, &outcomes);
        }
    }
    assert!(ran > 30, "only {ran} commands were found: the test has lost the documents");
    assert!(wrong.is_empty(), "{wrong}\nrun again with PADDOCK_WRITE_DOCS=1 if this is meant");
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

#[test]
fn every_command_of_the_program_is_documented_with_its_help() {
    let page = Page::named("docs/cli.md");
    let world = crate::harness::World::empty();
    let help = world.paddock(&["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert!(names.len() > 8, "{help}");
    for name in names {
        assert!(page.text.contains(&format!("$ paddock {name} --help\n")), "docs/cli.md does not show `{name} --help`");
    }
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
