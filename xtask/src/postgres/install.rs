//! The programs that tests of databases need, installed with the system's packages when they are missing.
//!
//! Owns the table of what is needed. It must never install what is there already, so that a machine without the
//! right to install, or without the network, can run the tests all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::alone;
use crate::process;
use crate::repo::Repo;

const SYSTEM: &str = "the system's packages";

/// A program, the package that has it, and how it tells its version.
struct Needed {
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed { program: "postgres", package: "postgresql", version: "--version" },
    Needed { program: "pgbouncer", package: "pgbouncer", version: "--version" },
    Needed { program: "strace", package: "strace", version: "--version" },
    Needed { program: "fusermount3", package: "fuse3", version: "--version" },
    Needed { program: "git", package: "git", version: "--version" },
    Needed { program: "gcc", package: "gcc", version: "--version" },
    Needed { program: "python3", package: "python3", version: "--version" },
    Needed { program: "sqlite3", package: "sqlite3", version: "--version" },
];

/// Installs what is missing; what is there then, by name and version.
pub(crate) fn programs(repo: &Repo) -> Result<Vec<String>> {
    // There is one list of the system's packages, and what is missing is looked up when nobody adds to it.
    let _alone = alone::with(SYSTEM);
    let missing: Vec<&str> =
        NEEDED.iter().filter(|needed| find(needed.program).is_none()).map(|needed| needed.package).collect();
    if !missing.is_empty() {
        install(repo, &missing)?;
    }
    NEEDED.iter().map(version_of).collect()
}

/// Installs one program that only a few need, where it is missing.
pub(crate) fn program(repo: &Repo, program: &str, package: &str) -> Result<()> {
    let _alone = alone::with(SYSTEM);
    if find(program).is_some() { Ok(()) } else { install(repo, &[package]) }
}

fn install(repo: &Repo, packages: &[&str]) -> Result<()> {
    if find("apt-get").is_none() {
        bail!("{} missing, and there is no apt-get to install it", packages.join(", "));
    }
    let log = repo.build_directory().join("packages.log");
    fs::create_dir_all(repo.build_directory())?;
    println!("installing {}; the log is \"{}\"", packages.join(", "), log.display());
    let add = || {
        let mut command = privileged("apt-get");
        command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
        process::logged(&mut command, &log)
    };
    // Mostly the lists of packages are older than the packages.
    add().or_else(|_| {
        process::logged(privileged("apt-get").arg("update"), &log)?;
        add()
    })
}

/// A program with the right to change the system: as we are, or through `sudo` when it asks nothing.
fn privileged(program: &str) -> Command {
    let mut command = if super::server::is_superuser() {
        Command::new(program)
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["--non-interactive", program]);
        sudo
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn version_of(needed: &Needed) -> Result<String> {
    let path = find(needed.program).with_context(|| format!("{} is still missing", needed.program))?;
    let said = Command::new(path).arg(needed.version).output()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(format!("{} {}", needed.program, version_in(&said)))
}

/// The first word that begins with a digit.
fn version_in(said: &str) -> &str {
    said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("?")
}

/// Where a program is: among those of the newest PostgreSQL, which Debian keeps off the path, or on the path.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = versions.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let of_server = numbers.iter().rev().map(|number| PathBuf::from(format!("/usr/lib/postgresql/{number}/bin")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = of_server.chain(of_path).chain([PathBuf::from("/usr/sbin")]);
    places.map(|place| place.join(program)).find(|path| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version_in("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n"), "15.14");
        assert_eq!(version_in("PgBouncer 1.18.0\nlibevent 2.1.12\n"), "1.18.0");
        assert_eq!(version_in(""), "?");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-here").is_none());
    }
}
