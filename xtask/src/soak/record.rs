//! The page that a soak leaves behind: docs/soak.md.
//!
//! Owns its words. It must never say more than what came of the run: a failure stands on the page as well.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{COUNTED, Soaked, line};
use crate::process;
use crate::repo::Repo;

const PAGE: &str = "docs/soak.md";

pub(super) fn write(repo: &Repo, soaked: &[Soaked]) -> Result<()> {
    let said = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        let captured = process::captured(command.args(args).current_dir(repo.top()), Duration::from_secs(30));
        captured.map_or("unknown".to_owned(), |captured| captured.stdout.trim().to_owned())
    };
    let facts = [
        ("date", said("date", &["--utc", "+%Y-%m-%d"])),
        ("commit", said("git", &["rev-parse", "--short", "HEAD"])),
        ("processor", processor()),
        ("kernel", said("uname", &["-sr"])),
        ("minutes", format!("{:.0}", minutes(soaked))),
    ];
    let page = repo.path(PAGE);
    fs::write(&page, text(&facts, soaked)).with_context(|| format!("cannot write \"{}\"", page.display()))?;
    println!("written: {PAGE}");
    Ok(())
}

fn minutes(soaked: &[Soaked]) -> f64 {
    soaked.iter().map(|one| one.took.as_secs_f64()).sum::<f64>() / 60.0
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    format!("{cores} cores, {}", name.map_or("unknown", |(_, name)| name))
}

fn text(facts: &[(&str, String)], soaked: &[Soaked]) -> String {
    let facts: String = facts.iter().map(|(name, fact)| format!("- {name}: {fact}\n")).collect();
    let lines: Vec<String> = soaked.iter().map(line).collect();
    let rounds = COUNTED.iter().filter(|counted| soaked.iter().any(|one| one.suite == counted.name));
    let rounds: String = rounds
        .map(|counted| {
            let counts: Vec<String> = counted.env.iter().map(|(name, value)| format!("`{name}={value}`")).collect();
            format!("| {} | `{}`: `{}` | {} |\n", counted.name, counted.package, counted.filter, counts.join(", "))
        })
        .collect();
    format!(
        "# A long run\n\nWritten by `cargo xtask soak --record`; do not edit by hand. The tests of every change, with larger counts, again and \
         again; fuzzers for as long.\n\n{facts}\n```text\n{}\n```\n\nOne round of each:\n\n| suite | tests | counts |\n| --- | --- | --- |\n{rounds}",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Outcome;

    #[test]
    fn the_page_hides_no_failure() {
        let soaked = |suite: &str, outcome: Outcome| Soaked {
            suite: suite.to_owned(),
            rounds: 3,
            outcome,
            took: Duration::from_secs(90),
        };
        let fine = Outcome { passed: 7, ..Outcome::default() };
        let page = text(
            &[("date", "2026-01-01".to_owned())],
            &[soaked("race", fine), soaked("fuzz:path", Outcome::broken("it fell over".to_owned()))],
        );
        assert!(page.contains("- date: 2026-01-01") && page.contains("7 passed"), "{page}");
        assert!(page.contains("FAILED") && page.contains("it fell over"), "{page}");
        assert!(page.contains("PADDOCK_RACE_ATTEMPTS=100000") && !page.contains("PADDOCK_SERVE_KILLS"), "{page}");
    }
}
