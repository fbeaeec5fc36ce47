//! Chores of the repository: `cargo xtask test`, `tidy`, `bench`, `order`, `soak`, `supply`, `node`, `postgres`.
//!
//! Owns how the repository is checked, so that a person, a hook and the continuous integration all run
//! the same thing. It depends on no crate of Paddock: it must still work while they do not compile.
//! It must never hold logic that the product needs.

// The chores start programs and read the repository's files: that is all they do.
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod alone;
mod bench;
mod browser;
mod built;
mod clients;
mod linter;
mod node;
mod order;
mod postgres;
mod process;
mod repo;
mod soak;
mod supply;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use repo::Repo;

/// One chore: a row per subcommand, from which `--help` and the dispatch derive.
struct Chore {
    name: &'static str,
    about: &'static str,
    usage: &'static str,
    run: fn(&Repo, &[String]) -> Result<bool>,
}

const CHORES: &[Chore] = &[
    Chore {
        name: "test",
        about: "run every suite and end with a summary; this is what .ci/run calls",
        usage: test::USAGE,
        run: test::run,
    },
    Chore { name: "tidy", about: "check that the architecture has not rotted", usage: tidy::USAGE, run: tidy::run },
    Chore {
        name: "bench",
        about: "measure Paddock beside its peers (release build)",
        usage: bench::USAGE,
        run: bench::run,
    },
    Chore {
        name: "order",
        about: "write down which functions a start runs, for the linker",
        usage: order::USAGE,
        run: order::run,
    },
    Chore {
        name: "soak",
        about: "run races and properties with large counts, and fuzz for a given time",
        usage: soak::USAGE,
        run: soak::run,
    },
    Chore {
        name: "supply",
        about: "check licences, origins and advisories of the crates we build on",
        usage: supply::USAGE,
        run: supply::run,
    },
    Chore {
        name: "node",
        about: "build, test or pack the npm package in bindings/node",
        usage: node::USAGE,
        run: node::run,
    },
    Chore {
        name: "postgres",
        about: "run a command with a PostgreSQL server beside it",
        usage: postgres::USAGE,
        run: postgres::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<bool> {
    let Some((name, rest)) = args.split_first() else {
        eprint!("{}", help());
        return Ok(false);
    };
    if is_help(name) {
        print!("{}", help());
        return Ok(true);
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        anyhow::bail!("no chore is named \"{name}\"\nhint: `cargo xtask --help` lists them");
    };
    if rest.iter().take_while(|arg| *arg != "--").any(|arg| is_help(arg)) {
        print!("{}\n\n{}", chore.about, chore.usage);
        return Ok(true);
    }
    (chore.run)(&Repo::here(), rest)
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "--help" | "-h" | "help")
}

fn help() -> String {
    let mut text = String::from("Chores of the repository.\n\nUsage: cargo xtask CHORE [OPTIONS]\n\nChores:\n");
    for chore in CHORES {
        text.push_str(&format!("  {:<8} {}\n", chore.name, chore.about));
    }
    text.push_str("\n`cargo xtask CHORE --help` says more.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_chore() {
        let text = help();
        for chore in CHORES {
            assert!(text.contains(chore.about), "{}", chore.name);
        }
    }

    #[test]
    fn an_unknown_chore_is_an_error_with_a_way_out() {
        let error = dispatch(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("\"tset\"") && error.contains("hint:"), "{error}");
    }
}
