//! `cargo xtask soak`: the same tests with counts too large for every change, again and again for as long as asked, and fuzzing.
//!
//! Owns the table of soaks. There are no tests of its own kind here: a long test is an ordinary test whose count
//! comes from the environment, and is built as it is for every change, so that what soaks is what was tested. A soak that ran
//! no test has failed, and one failure ends its soak: what it left behind is what somebody wants to see.

mod record;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::linter::{self, TestProgram};
use crate::postgres;
use crate::process;
use crate::repo::Repo;
use crate::test::{Outcome, reports};

/// Shown by `cargo xtask soak --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask soak [--minutes N] [--record] [SUITE…]

  --minutes N  how long each suite goes on (default 5): a fuzz target exactly, the others with as many whole rounds as begin
               within it, at least one
  --record     write what came of it to docs/soak.md, after each suite

Suites: race, bombs, overlays, kills, postgres-kills, commands, run-kills, serve-kills, load, properties-core,
properties-config, properties-tools, forks, conversations, conversation-kills, and fuzz (every target) or fuzz:TARGET.
Without a name, all of them.
Fuzzing needs a C++ compiler; cargo-fuzz is installed when it is absent.
";

const DEFAULT_MINUTES: u64 = 5;
const FUZZ_TARGETS: &str = "fuzz/fuzz_targets";

/// A run of ordinary tests with larger counts: what one round of it is.
struct Counted {
    name: &'static str,
    /// Whose integration tests they are.
    package: &'static str,
    /// What the names of the tests have in common.
    filter: &'static str,
    env: &'static [(&'static str, &'static str)],
}

const COUNTED: &[Counted] = &[
    Counted { name: "race", package: "paddock-stores", filter: "race", env: &[("PADDOCK_RACE_ATTEMPTS", "100000")] },
    Counted {
        name: "bombs",
        package: "paddock-stores",
        filter: "bombs",
        env: &[("PADDOCK_LINE_BYTES", "1073741824"), ("PADDOCK_ENTRIES", "1000000")],
    },
    Counted { name: "overlays", package: "paddock-stores", filter: "in_shares", env: &[("PADDOCK_EACH_CASE_ON", "3")] },
    Counted { name: "kills", package: "paddock", filter: "crash", env: &[("PADDOCK_KILLS", "500")] },
    Counted {
        name: "postgres-kills",
        package: "paddock",
        filter: "what_was_answered_survives_a_server_that_is_killed",
        env: &[("PADDOCK_POSTGRES_KILLS", "200")],
    },
    Counted {
        name: "commands",
        package: "paddock-exec",
        filter: "leftovers",
        env: &[("PADDOCK_EXEC_RUNS", "1000"), ("PADDOCK_EXEC_AT_ONCE", "50")],
    },
    Counted {
        name: "run-kills",
        package: "paddock",
        filter: "killed_at_random_a_run",
        env: &[("PADDOCK_RUN_KILLS", "100")],
    },
    Counted {
        name: "serve-kills",
        package: "paddock",
        filter: "what_was_answered_is_there_after_kill_9",
        env: &[("PADDOCK_SERVE_KILLS", "50")],
    },
    Counted { name: "load", package: "paddock", filter: "under_load", env: &[("PADDOCK_LOAD_CALLS", "500")] },
    Counted {
        name: "properties-core",
        package: "paddock-core",
        filter: "properties",
        env: &[("PROPTEST_CASES", "5000")],
    },
    Counted {
        name: "properties-config",
        package: "paddock-config",
        filter: "properties",
        env: &[("PROPTEST_CASES", "5000")],
    },
    Counted {
        name: "properties-tools",
        package: "paddock-tools",
        filter: "properties",
        env: &[("PROPTEST_CASES", "5000")],
    },
    Counted { name: "forks", package: "paddock-stores", filter: "overlay_model", env: &[("PROPTEST_CASES", "500")] },
    Counted {
        name: "conversations",
        package: "paddock-state",
        filter: "random_conversations",
        env: &[("PROPTEST_CASES", "2000")],
    },
    Counted {
        name: "conversation-kills",
        package: "paddock-state",
        filter: "killed_at_any_moment",
        env: &[("PADDOCK_KILLS", "500")],
    },
];

#[derive(Debug, PartialEq, Eq)]
struct Request {
    minutes: u64,
    record: bool,
    suites: Vec<String>,
}

/// What came of one soak.
#[derive(Debug)]
struct Soaked {
    suite: String,
    rounds: u64,
    outcome: Outcome,
    took: Duration,
}

/// Runs the soaks asked for, then one line for each; true when none failed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let targets = fuzz_targets(repo)?;
    let request = parse(args, &targets)?;
    // The server ends with this chore, whatever comes of it.
    let server = postgres::programs(repo).and_then(|_| postgres::Server::start());
    if let Err(error) = &server {
        println!("could not run: what needs PostgreSQL: {error:#}");
    }
    let url = server.as_ref().ok().map(postgres::Server::url);
    let compiled = linter::compile_tests(repo)?;
    ensure!(compiled.outcome.failed == 0, "the tests have to compile without a word before they soak");
    let ground = Ground { repo, programs: &compiled.programs, server: url.as_deref() };
    let mut soaked: Vec<Soaked> = Vec::new();
    for suite in &request.suites {
        soaked.push(ground.soak(suite, request.minutes));
        // A run that is broken off is on record as far as it came.
        if request.record {
            record::write(repo, &soaked)?;
        }
    }
    println!("\n{}", soaked.iter().map(line).collect::<Vec<_>>().join("\n"));
    if targets.is_empty() {
        println!("could not run: fuzzing, there is no target in \"{FUZZ_TARGETS}\"");
    }
    Ok(soaked.iter().all(|one| one.outcome.failed == 0))
}

/// What the soaks are made on.
struct Ground<'a> {
    repo: &'a Repo,
    programs: &'a [TestProgram],
    server: Option<&'a str>,
}

impl Ground<'_> {
    fn soak(&self, suite: &str, minutes: u64) -> Soaked {
        println!("\n== {suite}");
        let start = Instant::now();
        let mut soaked =
            Soaked { suite: suite.to_owned(), rounds: 0, outcome: Outcome::default(), took: Duration::ZERO };
        loop {
            let round = self.round(suite, minutes);
            soaked.rounds += 1;
            soaked.outcome.add(round.unwrap_or_else(|error| Outcome::broken(format!("{error:#}"))));
            soaked.took = start.elapsed();
            let over = soaked.took >= Duration::from_secs(minutes * 60) || suite.starts_with("fuzz:");
            if over || soaked.outcome.failed > 0 {
                return soaked;
            }
        }
    }

    fn round(&self, suite: &str, minutes: u64) -> Result<Outcome> {
        if let Some(target) = suite.strip_prefix("fuzz:") {
            return fuzz(self.repo, target, minutes);
        }
        let counted = COUNTED.iter().find(|counted| counted.name == suite).context("not in the table")?;
        let is_meant = |program: &&TestProgram| program.name == "main" && program.home.ends_with(counted.package);
        let program = self.programs.iter().find(is_meant).context("its tests were not compiled")?;
        let mut command = Command::new(&program.path);
        command.arg(counted.filter).current_dir(&program.home).envs(counted.env.iter().copied());
        command.envs(self.server.map(|url| (postgres::VARIABLE, url)));
        Ok(reports::run(&reports::LIBTEST, &mut command)?.checked(true))
    }
}

fn parse(args: &[String], targets: &[String]) -> Result<Request> {
    let mut request = Request { minutes: DEFAULT_MINUTES, record: false, suites: Vec::new() };
    let fuzz: Vec<String> = targets.iter().map(|target| format!("fuzz:{target}")).collect();
    let counted = || COUNTED.iter().map(|suite| suite.name.to_owned());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--minutes" => {
                let number = rest.next().context("--minutes needs a number")?;
                request.minutes = number.parse().with_context(|| format!("\"{number}\" is not a number of minutes"))?;
            }
            "--record" => request.record = true,
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

fn line(soaked: &Soaked) -> String {
    let Soaked { suite, rounds, outcome, took } = soaked;
    let verdict = if outcome.failed == 0 { "ok" } else { "FAILED" };
    let (passed, failed, minutes) = (outcome.passed, outcome.failed, took.as_secs_f64() / 60.0);
    let mut line =
        format!("{suite:<28}{verdict:<8}{rounds:>4} rounds{passed:>7} passed{failed:>4} failed{minutes:>8.1} min");
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
        assert_eq!(
            request,
            Request { minutes: 3, record: false, suites: vec!["fuzz:path".to_owned(), "race".to_owned()] }
        );
        assert!(parsed(&["--record"]).unwrap().record);
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
        let outcome = Outcome::broken("it leaked".to_owned());
        let took = Duration::from_secs(60);
        let line = line(&Soaked { suite: "race".to_owned(), rounds: 2, outcome, took });
        assert!(line.contains("FAILED") && line.contains("2 rounds") && line.contains("it leaked"), "{line}");
    }
}
