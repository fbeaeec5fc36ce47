//! The page that soaks leave behind: docs/soak.md.
//!
//! Owns its words. Each suite has the line of its last run, with the day and the commit; a soak of some suites leaves the lines of the
//! others. It must never say more than what came of a run: a failure stands on the page as well.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{COUNTED, Soaked, line};
use crate::process;
use crate::repo::Repo;

const PAGE: &str = "docs/soak.md";
const FENCE: &str = "```";

pub(super) fn write(repo: &Repo, soaked: &[Soaked]) -> Result<()> {
    let said = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        let captured = process::captured(command.args(args).current_dir(repo.top()), Duration::from_secs(30));
        captured.map_or("unknown".to_owned(), |captured| captured.stdout.trim().to_owned())
    };
    let (day, commit) = (said("date", &["--utc", "+%Y-%m-%d"]), said("git", &["rev-parse", "--short", "HEAD"]));
    let machine = format!("{}, {}", processor(), said("uname", &["-sr"]));
    let page = repo.path(PAGE);
    let before = fs::read_to_string(&page).unwrap_or_default();
    let lines = renewed(kept(&before), soaked, &format!("{day}  {commit}"));
    fs::write(&page, text(&machine, &lines)).with_context(|| format!("cannot write \"{}\"", page.display()))?;
    println!("written: {PAGE}");
    Ok(())
}

/// The lines of a page, each with what was said below it.
fn kept(page: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let recorded = page.lines().skip_while(|line| !line.starts_with(FENCE)).skip(1);
    for line in recorded.take_while(|line| !line.starts_with(FENCE)) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.push_str(&format!("\n{line}")),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// These lines with those of the suites that ran now in the place of their older ones.
fn renewed(mut lines: Vec<String>, soaked: &[Soaked], when: &str) -> Vec<String> {
    for one in soaked {
        let told = line(one);
        let (first, below) = told.split_once('\n').map_or((told.as_str(), ""), |(first, below)| (first, below));
        // What a failure says may itself have several lines.
        let below: String = below.lines().map(|line| format!("\n  {}", line.trim_start())).collect();
        let new = format!("{first}  {when}{below}");
        match lines.iter_mut().find(|line| suite(line) == one.suite) {
            Some(old) => *old = new,
            None => lines.push(new),
        }
    }
    lines
}

fn suite(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

fn minutes(lines: &[String]) -> f64 {
    let one = |line: &String| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "min")?;
        words.get(at.checked_sub(1)?)?.parse::<f64>().ok()
    };
    lines.iter().filter_map(one).sum()
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    format!("{cores} cores, {}", name.map_or("unknown", |(_, name)| name))
}

fn text(machine: &str, lines: &[String]) -> String {
    let rounds = COUNTED.iter().filter(|counted| lines.iter().any(|line| suite(line) == counted.name));
    let rounds: String = rounds
        .map(|counted| {
            let counts: Vec<String> = counted.env.iter().map(|(name, value)| format!("`{name}={value}`")).collect();
            format!("| {} | `{}`: `{}` | {} |\n", counted.name, counted.package, counted.filter, counts.join(", "))
        })
        .collect();
    format!(
        "# Long runs\n\nWritten by `cargo xtask soak --record`; do not edit by hand. The tests of every change, with larger counts, again and \
         again; fuzzers for as long. Each suite has the line of its last run, with the day and the commit: {:.0} minutes in all.\n\n\
         The last on {machine}.\n\n{FENCE}text\n{}\n{FENCE}\n\nOne round of each:\n\n| suite | tests | counts |\n| --- | --- | --- |\n{rounds}",
        minutes(lines),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::Outcome;

    fn soaked(suite: &str, outcome: Outcome) -> Soaked {
        Soaked { suite: suite.to_owned(), rounds: 3, outcome, took: Duration::from_secs(90) }
    }

    #[test]
    fn the_page_hides_no_failure() {
        let fine = Outcome { passed: 7, ..Outcome::default() };
        let ran = [soaked("race", fine), soaked("fuzz:path", Outcome::broken("it fell\nover".to_owned()))];
        let page = text("2 cores", &renewed(Vec::new(), &ran, "2026-01-01  abc"));
        assert!(page.contains("2026-01-01  abc") && page.contains("7 passed") && page.contains("3 minutes"), "{page}");
        assert!(page.contains("FAILED") && page.contains("it fell\n  over"), "{page}");
        assert!(page.contains("PADDOCK_RACE_ATTEMPTS=100000") && !page.contains("PADDOCK_SERVE_KILLS"), "{page}");
    }

    #[test]
    fn a_suite_that_runs_again_takes_the_place_of_its_line_and_of_no_other() {
        let ran = [soaked("race", Outcome::default()), soaked("forks", Outcome::broken("it fell\nover".to_owned()))];
        let first = text("2 cores", &renewed(Vec::new(), &ran, "2026-01-01  abc"));
        let again = [soaked("forks", Outcome { passed: 4, ..Outcome::default() })];
        let second = text("2 cores", &renewed(kept(&first), &again, "2026-01-02  def"));
        assert_eq!(second.matches("forks").count(), first.matches("forks").count(), "{second}");
        assert!(second.contains("2026-01-01  abc") && second.contains("2026-01-02  def"), "{second}");
        assert!(!second.contains("it fell") && !second.contains("\n  over"), "{second}");
    }
}
