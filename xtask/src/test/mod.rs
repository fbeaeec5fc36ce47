//! `cargo xtask test`: every suite, then a summary that hides nothing.
//!
//! Owns the order of the suites and what makes the whole fail. One failing suite never keeps the next from
//! running, and what could not run on this machine is listed with its reason, never counted as passed.

mod ahead;
mod mounts;
mod outcome;
pub(crate) mod reports;
mod suites;
mod summary;
mod unrun;

use std::time::Instant;

use anyhow::{Result, bail};

pub(crate) use ahead::Fetch;
pub(crate) use outcome::Outcome;

use crate::repo::Repo;
use suites::{SUITES, Suite};
use summary::Row;

/// Shown by `cargo xtask test --help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask test [--only SUITE[,SUITE]…] [--list]

  --only SUITE,…  run only these suites
  --list          list the suites, their budgets and needs, and run nothing

Ends with a table, what could not run and why, and a line `N passed, M failed`.
Fails when a test fails, or when a suite that should run tests ran none.
";

#[derive(Debug, PartialEq, Eq)]
enum Request {
    List,
    Run(Vec<&'static str>),
}

/// Runs the suites asked for; true when nothing failed.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<bool> {
    let names = match parse(args)? {
        Request::List => {
            print!("{}", summary::list(SUITES));
            return Ok(true);
        }
        Request::Run(names) => names,
    };
    let suites: Vec<&'static Suite> = SUITES.iter().filter(|suite| names.contains(&suite.name)).collect();
    let ahead = ahead::begin(repo, &suites);
    let rows: Vec<Row> = suites.into_iter().map(|suite| run_one(repo, suite)).collect();
    drop(ahead);
    print!("\n{}", summary::render(&rows));
    Ok(rows.iter().all(|row| row.outcome.failed == 0))
}

fn run_one(repo: &Repo, suite: &'static Suite) -> Row {
    println!("\n== {}: {}", suite.name, suite.about);
    let start = Instant::now();
    let outcome = match (suite.run)(repo) {
        Ok(outcome) => outcome.checked(suite.runs_tests),
        Err(error) => Outcome::broken(format!("{error:#}")),
    };
    Row { suite, took: start.elapsed(), outcome }
}

fn parse(args: &[String]) -> Result<Request> {
    let mut names: Vec<&'static str> = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let list = match (arg.as_str(), arg.strip_prefix("--only=")) {
            ("--list", _) => return Ok(Request::List),
            (_, Some(list)) => list,
            ("--only", _) => match rest.next() {
                Some(list) => list,
                None => bail!("--only needs the name of a suite\nhint: `cargo xtask test --list`"),
            },
            _ => bail!("\"{arg}\" is not an option of test\nhint: `cargo xtask test --help`"),
        };
        for name in list.split(',') {
            let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
                bail!("no suite is named \"{name}\"\nhint: `cargo xtask test --list`");
            };
            names.push(suite.name);
        }
    }
    if names.is_empty() {
        names = SUITES.iter().map(|suite| suite.name).collect();
    }
    Ok(Request::Run(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Request> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_every_suite_runs() {
        let Request::Run(names) = parsed(&[]).unwrap() else { panic!("not a run") };
        assert_eq!(names.len(), SUITES.len());
    }

    #[test]
    fn only_takes_lists_in_both_spellings() {
        assert_eq!(parsed(&["--only", "format,tidy"]).unwrap(), Request::Run(vec!["format", "tidy"]));
        assert_eq!(parsed(&["--only=doc", "--only", "tidy"]).unwrap(), Request::Run(vec!["doc", "tidy"]));
    }

    #[test]
    fn an_unknown_suite_or_option_is_an_error() {
        assert!(parsed(&["--only", "nope"]).unwrap_err().to_string().contains("\"nope\""));
        assert!(parsed(&["--only"]).is_err());
        assert!(parsed(&["--onyl"]).unwrap_err().to_string().contains("\"--onyl\""));
    }

    #[test]
    fn the_budgets_together_stay_below_half_an_hour() {
        assert!(SUITES.iter().map(|suite| suite.budget_minutes).sum::<f64>() <= 30.0);
    }
}
