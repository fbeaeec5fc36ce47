//! `cargo xtask soak`: the same tests with counts too large for every change, and fuzzing for a given time.
//!
//! Owns the table of soaks. There are no tests of its own kind here: a long test is an ordinary test whose count
//! comes from the environment, so that what soaks is what was tested. A soak that ran no test has failed.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process;
use crate::repo::Repo;
use crate::test::{Outcome, reports};

/// Shown by `cargo xtask soak --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask soak [--minutes N] [SUITE…]

  --minutes N  how long each fuzz target runs (default 10); the other suites run to the end of their counts

Suites: race, kills, commands, run-kills, serve-kills, properties-core, properties-config, properties-tools, forks, conversations,
conversation-kills, and fuzz (every target) or fuzz:TARGET.
Without a name, all of them.
Fuzzing needs a C++ compiler; cargo-fuzz is installed when it is absent.
";

const DEFAULT_MINUTES: u64 = 10;
const FUZZ_TARGETS: &str = "fuzz/fuzz_targets";

/// A run of ordinary tests with larger counts.
struct Counted {
    name: &'static str,
    cargo: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

const COUNTED: &[Counted] = &[
    Counted {
        name: "race",
        cargo: &["--package", "paddock-stores", "--test", "main", "race"],
        env: &[("PADDOCK_RACE_ATTEMPTS", "100000")],
    },
    Counted {
        name: "kills",
        cargo: &["--package", "paddock", "--test", "main", "crash"],
        env: &[("PADDOCK_KILLS", "3000")],
    },
    Counted {
        name: "commands",
        cargo: &["--package", "paddock-exec", "--test", "main", "leftovers"],
        env: &[("PADDOCK_EXEC_RUNS", "1000"), ("PADDOCK_EXEC_AT_ONCE", "50")],
    },
    Counted {
        name: "run-kills",
        cargo: &["--package", "paddock", "--test", "main", "killed_at_random_a_run"],
        env: &[("PADDOCK_RUN_KILLS", "3000")],
    },
    Counted {
        name: "serve-kills",
        cargo: &["--package", "paddock", "--test", "main", "what_was_answered_is_there_after_kill_9"],
        env: &[("PADDOCK_SERVE_KILLS", "300")],
    },
    Counted {
        name: "properties-core",
        cargo: &["--package", "paddock-core", "--test", "main"],
        env: &[("PROPTEST_CASES", "200000")],
    },
    Counted {
        name: "properties-config",
        cargo: &["--package", "paddock-config", "--test", "main", "properties"],
        env: &[("PROPTEST_CASES", "50000")],
    },
    Counted {
        name: "properties-tools",
        cargo: &["--package", "paddock-tools", "--test", "main", "properties"],
        env: &[("PROPTEST_CASES", "50000")],
    },
    Counted {
        name: "forks",
        cargo: &["--package", "paddock-stores", "--test", "main", "overlay_model"],
        env: &[("PROPTEST_CASES", "5000")],
    },
    Counted {
        name: "conversations",
        cargo: &["--package", "paddock-state", "--test", "main", "random_conversations"],
        env: &[("PROPTEST_CASES", "20000")],
    },
    Counted {
        name: "conversation-kills",
        cargo: &["--package", "paddock-state", "--test", "main", "killed_at_any_moment"],
        env: &[("PADDOCK_KILLS", "3000")],
    },
];

#[derive(Debug, PartialEq, Eq)]
struct Request {
    minutes: u64,
    suites: Vec<String>,
}

/// Runs the soaks asked for, then one line for each; true when none failed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let targets = fuzz_targets(repo)?;
    let request = parse(args, &targets)?;
    let mut lines = Vec::new();
    let mut clean = true;
    for suite in &request.suites {
        println!("\n== {suite}");
        let start = Instant::now();
        let outcome =
            run_one(repo, suite, request.minutes).unwrap_or_else(|error| Outcome::broken(format!("{error:#}")));
        clean &= outcome.failed == 0;
        lines.push(summary(suite, &outcome, start.elapsed()));
    }
    println!("\n{}", lines.join("\n"));
    if targets.is_empty() {
        println!("could not run: fuzzing, there is no target in \"{FUZZ_TARGETS}\"");
    }
    Ok(clean)
}

fn parse(args: &[String], targets: &[String]) -> Result<Request> {
    let mut request = Request { minutes: DEFAULT_MINUTES, suites: Vec::new() };
    let fuzz: Vec<String> = targets.iter().map(|target| format!("fuzz:{target}")).collect();
    let counted = || COUNTED.iter().map(|suite| suite.name.to_owned());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--minutes" => {
                let number = rest.next().context("--minutes needs a number")?;
                request.minutes = number.parse().with_context(|| format!("\"{number}\" is not a number of minutes"))?;
            }
            "fuzz" => {
                ensure!(!fuzz.is_empty(), "there is no fuzz target in \"{FUZZ_TARGETS}\"");
                request.suites.extend(fuzz.iter().cloned());
            }
            name if counted().any(|known| known == name) || fuzz.iter().any(|known| known == name) => {
                request.suites.push(name.to_owned());
            }
            name => bail!("no soak is named \"{name}\"\nhint: `cargo xtask soak --help`"),
        }
    }
    if request.suites.is_empty() {
        request.suites = counted().chain(fuzz).collect();
    }
    Ok(request)
}

fn run_one(repo: &Repo, suite: &str, minutes: u64) -> Result<Outcome> {
    if let Some(target) = suite.strip_prefix("fuzz:") {
        return fuzz(repo, target, minutes);
    }
    let counted = COUNTED.iter().find(|counted| counted.name == suite).context("not in the table")?;
    let mut command = process::cargo(repo.top());
    command.args(["test", "--release", "--no-fail-fast"]).args(counted.cargo);
    command.envs(counted.env.iter().copied());
    for (name, value) in counted.env {
        println!("{name}={value}");
    }
    Ok(reports::run(&reports::LIBTEST, &mut command)?.checked(true))
}

fn fuzz(repo: &Repo, target: &str, minutes: u64) -> Result<Outcome> {
    install_cargo_fuzz(repo)?;
    let mut command = process::cargo(repo.top());
    // The sanitizer is behind a flag that a stable compiler only takes when told that it is meant.
    command.env("RUSTC_BOOTSTRAP", "1").args(["fuzz", "run", target, "--"]);
    command.arg(format!("-max_total_time={}", minutes * 60));
    Ok(Outcome::of_check(process::stream(&mut command, |_| {})?.success()))
}

fn install_cargo_fuzz(repo: &Repo) -> Result<()> {
    if process::answers("cargo-fuzz", "--version") {
        return Ok(());
    }
    let mut command: Command = process::cargo(repo.top());
    command.args(["install", "--locked", "cargo-fuzz"]);
    ensure!(process::stream(&mut command, |_| {})?.success(), "cargo-fuzz could not be installed");
    Ok(())
}

fn fuzz_targets(repo: &Repo) -> Result<Vec<String>> {
    let paths = repo.paths(FUZZ_TARGETS)?;
    let names = paths.iter().filter_map(|path| path.strip_prefix(FUZZ_TARGETS)?.strip_suffix(".rs"));
    Ok(names.map(|name| name.trim_start_matches('/').to_owned()).filter(|name| !name.contains('/')).collect())
}

fn summary(suite: &str, outcome: &Outcome, took: Duration) -> String {
    let verdict = if outcome.failed == 0 { "ok" } else { "FAILED" };
    let mut line = format!(
        "{suite:<28}{verdict:<8}{:>6} passed{:>6} failed{:>8.1} min",
        outcome.passed,
        outcome.failed,
        took.as_secs_f64() / 60.0
    );
    for failure in &outcome.failures {
        line.push_str(&format!("\n  {failure}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::sample::Sample;

    fn parsed(args: &[&str]) -> Result<Request> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>(), &["edit".to_owned(), "path".to_owned()])
    }

    #[test]
    fn without_a_name_everything_soaks() {
        let request = parsed(&[]).unwrap();
        assert_eq!(request.minutes, DEFAULT_MINUTES);
        let counted = COUNTED.iter().map(|suite| suite.name);
        assert_eq!(request.suites, counted.chain(["fuzz:edit", "fuzz:path"]).collect::<Vec<_>>());
    }

    #[test]
    fn help_names_every_soak() {
        assert!(COUNTED.iter().all(|suite| USAGE.contains(suite.name)));
    }

    #[test]
    fn names_and_minutes_are_taken() {
        let request = parsed(&["--minutes", "3", "fuzz:path", "race"]).unwrap();
        assert_eq!(request, Request { minutes: 3, suites: vec!["fuzz:path".to_owned(), "race".to_owned()] });
        assert_eq!(parsed(&["fuzz"]).unwrap().suites, ["fuzz:edit", "fuzz:path"]);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(parsed(&["fuzz:nope"]).is_err());
        assert!(parsed(&["--minutes", "soon"]).is_err());
        assert!(parse(&["fuzz".to_owned()], &[]).is_err());
    }

    #[test]
    fn targets_are_the_files_there() {
        let sample = Sample::of(&[
            ("fuzz/fuzz_targets/edit.rs", ""),
            ("fuzz/fuzz_targets/shared/mod.rs", ""),
            ("fuzz/Cargo.toml", ""),
        ]);
        assert_eq!(fuzz_targets(&sample.repo()).unwrap(), ["edit"]);
    }

    #[test]
    fn the_line_of_a_failed_soak_says_why() {
        let line = summary("race", &Outcome::broken("it leaked".to_owned()), Duration::from_secs(60));
        assert!(line.contains("FAILED") && line.contains("it leaked"), "{line}");
    }
}
