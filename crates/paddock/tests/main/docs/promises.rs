//! `docs/promises.md` against the sources: every test that holds a promise is there, in the file that is linked, and is run.
//!
//! A name is a test where an attribute says so, or where a suite lists it. What has no test says so in words: a row
//! with neither is a promise that nobody looked at.

use std::fs;
use std::path::Path;

use super::pages::{Page, rows};

/// The sections of the design that promise something.
const SECTIONS: [&str; 11] = [
    "2. Architecture",
    "3. Policy",
    "4. Configuration",
    "5. Tools",
    "6. Stores",
    "7. Commands",
    "8. State",
    "9. Agent runtime",
    "10. Console and API",
    "11. Command line",
    "12. Architecture that cannot rot",
];

/// What a row without a test has to say.
const HONEST: [&str; 2] = ["**not tested**", "**not built**"];

#[test]
fn every_promise_names_tests_that_exist_or_says_that_it_has_none() {
    let page = Page::named("docs/promises.md");
    let mut named = 0;
    for section in SECTIONS {
        let rows = page.rows_under(section);
        assert!(!rows.is_empty(), "docs/promises.md has no row under \"{section}\"");
        for row in rows {
            let tests = tests_in(&row[1]);
            let honest = HONEST.iter().any(|words| row[1].contains(words));
            assert!(!tests.is_empty() || honest, "docs/promises.md: \"{}\" names no test and does not say so", row[0]);
            for (name, file) in &tests {
                let place = page.path.parent().unwrap().join(file);
                let there = is_a_test(&place, name);
                assert!(there, "docs/promises.md names \"{name}\", which is no test of {file}");
            }
            named += tests.len();
        }
    }
    assert!(named > 300, "only {named} tests were found: the test has lost the page");
}

/// The links of a cell whose text is code: the name of a test, and its file.
fn tests_in(cell: &str) -> Vec<(String, String)> {
    let links = cell.split("[`").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once("`](")?;
        Some((name.to_owned(), rest.split_once(')')?.0.to_owned()))
    });
    links.collect()
}

fn is_a_test(file: &Path, name: &str) -> bool {
    let source = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    match file.extension().and_then(|end| end.to_str()) {
        Some("rs") => has_attribute(&source, name) || is_in_a_suite(file, &source, name),
        // Cases that are played with clients of others.
        Some("json") => source.contains(&format!("\"name\": \"{name}\",")),
        _ => source.contains(&format!("test(\"{name}\"")),
    }
}

/// `#[test]` or `#[tokio::test]` above the function, and nothing that leaves it out.
fn has_attribute(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let above =
        |at: usize| lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    let declared = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
    };
    let is_one = |at: usize| {
        above(at).any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
            && !above(at).any(|line| line.starts_with("#[ignore"))
    };
    (0..lines.len()).any(|at| declared(lines[at]) && is_one(at))
}

/// Suites make tests of what they list: those of the Stores and databases, of instances, of each user.
fn is_in_a_suite(file: &Path, source: &str, name: &str) -> bool {
    let declares = |words: &str| source.contains(&format!("{words}fn {name}("));
    if source.contains("as_each_user! {") {
        return declares("    ");
    }
    let list = match file.parent().and_then(|place| place.file_name()?.to_str()) {
        Some("conformance") => file.with_file_name("mod.rs"),
        Some("bases") => file.parent().unwrap().with_extension("rs"),
        _ => file.to_owned(),
    };
    let list = fs::read_to_string(list).unwrap();
    let listed = ["conformance_cases! { @each $made", "laws! {", "promises! {"].iter().any(|suite| {
        let after = list.split(suite).nth(1).unwrap_or_default();
        after.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    });
    listed && (declares("pub ") || declares("pub(super) ") || declares(""))
}

#[test]
fn a_name_that_is_no_test_is_found_out() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/main/docs/promises.rs");
    assert!(is_a_test(&here, "a_name_that_is_no_test_is_found_out"));
    assert!(!is_a_test(&here, "is_a_test"), "a function that is no test");
    assert!(!is_a_test(&here, "a_name_that_is_no_test"), "the beginning of a name");
    let ignored = "#[test]\n#[ignore = \"slow\"]\nfn sleeps() {}\n#[test]\nfn wakes() {}\n";
    assert!(!has_attribute(ignored, "sleeps") && has_attribute(ignored, "wakes"));
    let table = rows("| promise | held by |\n| --- | --- |\n| a | [`b`](../c.rs), [d](e.md), `f` |\n");
    assert_eq!(tests_in(&table[0][1]), [("b".to_owned(), "../c.rs".to_owned())]);
}
