//! A repository or a bundle that comes in: the files of one commit, without its history.
//!
//! The program git fetches it into a bare repository of our own; nothing is checked out, so that no filter, hook or attribute of it runs, and
//! its files are read as they are stored.

use std::io::{BufRead as _, BufReader, Read, Seek as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use paddock_core::{LogicalPath, visible};
use paddock_tools::Person;

use super::incoming::Pieces;
use super::{Import, Imported, Incoming};
use crate::error::{ProjectError, Result};
use crate::export::host_branch;
use crate::git::{Address, Deadline, Git, Growth, Remote, WHOLE, end, spawn};
use crate::host::{self, Scratch};
use crate::left_out::WhyLeft;
use crate::progress::{Meter, Watch};

/// The most that is read of a link.
const LONGEST_LINK: u64 = 4096;

/// How a bundle begins, with the number of its version before it.
const BUNDLE: &str = " git bundle\n";

/// One line of a tree.
struct Line {
    mode: u32,
    id: String,
    size: u64,
    name: String,
}

/// Takes in the files of a repository, as one call recorded under this command's name: from an address, or from the path of a
/// repository or a bundle. Without a branch it is the one that the repository itself names.
///
/// # Errors
/// When it cannot be had, holds what is refused or more than is taken, or the Workspace does not take it. Nothing is written then.
pub fn git(
    person: &Person<'_>,
    path: &LogicalPath,
    import: Import,
    remote: &Remote<'_>,
    branch: Option<&str>,
    scratch: &Scratch,
    watch: Watch<'_>,
) -> Result<Imported> {
    let branch = branch.map(host_branch).transpose()?;
    let address = Address::parse(remote.address)?;
    if let Address::Local(path) = &address
        && host::beginning(path, BUNDLE.len() as u64 + 16).is_some_and(|begins| !is_bundle(&begins))
    {
        return Err(ProjectError::OtherKind { path: visible(remote.address) });
    }
    let mut meter = Meter::new(watch);
    let home = scratch.directory()?;
    let fetched = home.path().join("in");
    let git = Git::new(home.path(), Some(&address), remote.credentials)?;
    fetch(&git, &address, branch, &fetched, import.limits.bytes, &mut meter)?;
    let git = Git::new(home.path(), None, None)?;
    let mut incoming = Incoming::new(scratch, import.limits);
    let lines = list(&git, &fetched, scratch, &mut incoming, &mut meter)?;
    read_all(&git, &fetched, scratch, &lines, &mut incoming, &mut meter)?;
    if import.unwrap {
        incoming.unwrap()?;
    }
    incoming.settle(person, "import", path, import)
}

/// `# v2 git bundle`, or a later version.
fn is_bundle(begins: &[u8]) -> bool {
    let line = begins.split_inclusive(|b| *b == b'\n').next().unwrap_or_default();
    line.starts_with(b"# v") && line.ends_with(BUNDLE.as_bytes())
}

fn fetch(
    git: &Git<'_>,
    address: &Address,
    branch: Option<&str>,
    into: &Path,
    most: u64,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let mut clone = git.command();
    clone.args(["clone", "--progress", "--bare", "--depth=1", "--single-branch", "--no-tags", "--no-local"]);
    clone.args(["--no-recurse-submodules", "--template="]);
    if let Some(branch) = branch {
        clone.arg(format!("--branch={branch}"));
    }
    clone.arg("--").arg(address.argument()).arg(into);
    git.run("fetch it", &mut clone, meter, Some(&Growth { directory: into, most }))
}

/// What the commit holds. Other repositories that are only named are left out.
fn list(
    git: &Git<'_>,
    fetched: &Path,
    scratch: &Scratch,
    incoming: &mut Incoming<'_>,
    meter: &mut Meter<'_>,
) -> Result<Vec<Line>> {
    let mut listing = scratch.file()?;
    let mut list = git.command();
    list.env("GIT_DIR", fetched).args(["ls-tree", "-r", "-l", "-z", "--full-tree", "HEAD"]);
    list.stdout(listing.try_clone().map_err(ProjectError::Scratch)?);
    git.run("list its files", &mut list, meter, None)?;
    listing.rewind().map_err(ProjectError::Scratch)?;
    let (mut lines, mut bytes) = (Vec::new(), 0_u64);
    for line in BufReader::new(listing).split(0) {
        let line = parse(&line.map_err(ProjectError::Scratch)?)?;
        if line.mode == 0o160_000 {
            incoming.left_out().add(visible(&line.name), WhyLeft::Submodule);
            continue;
        }
        bytes = bytes.saturating_add(line.size);
        incoming.announce(lines.len() as u64 + 1, bytes)?;
        lines.push(line);
    }
    Ok(lines)
}

/// `100644 blob ID    SIZE<tab>NAME`.
fn parse(line: &[u8]) -> Result<Line> {
    let damaged = |why: &str| ProjectError::Damaged { what: "a repository", why: why.to_owned() };
    let text = std::str::from_utf8(line).map_err(|_| damaged("it holds a name that is no text"))?;
    let (facts, name) = text.split_once('\t').ok_or_else(|| damaged("its tree is not as git writes it"))?;
    let facts: Vec<&str> = facts.split_ascii_whitespace().collect();
    let [mode, _, id, size] = facts[..] else { return Err(damaged("its tree is not as git writes it")) };
    let mode = u32::from_str_radix(mode, 8).map_err(|_| damaged("it holds a mode that is none"))?;
    Ok(Line { mode, id: id.to_owned(), size: size.parse().unwrap_or(0), name: name.to_owned() })
}

/// Reads every file, in one go.
fn read_all(
    git: &Git<'_>,
    fetched: &Path,
    scratch: &Scratch,
    lines: &[Line],
    incoming: &mut Incoming<'_>,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let mut asked = scratch.file()?;
    let ask = |asked: &mut std::fs::File| {
        let text: String = lines.iter().map(|line| format!("{}\n", line.id)).collect();
        asked.write_all(text.as_bytes())?;
        asked.rewind()
    };
    ask(&mut asked).map_err(ProjectError::Scratch)?;
    let mut read = git.command();
    read.env("GIT_DIR", fetched).args(["cat-file", "--batch", "--buffer"]);
    let mut child = spawn(read.stdin(asked).stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let deadline = Deadline::of(&child, WHOLE);
    let done = match child.stdout.take() {
        Some(out) => take_all(&mut BufReader::new(out), lines, incoming, meter),
        None => Err(torn()),
    };
    drop(deadline);
    end(&mut child);
    done
}

fn take_all(
    out: &mut impl std::io::BufRead,
    lines: &[Line],
    incoming: &mut Incoming<'_>,
    meter: &mut Meter<'_>,
) -> Result<()> {
    for line in lines {
        let mut header = String::new();
        out.by_ref().take(200).read_line(&mut header).map_err(|_| torn())?;
        let size: Option<u64> = match header.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [id, "blob", size] if id == line.id => size.parse().ok(),
            _ => None,
        };
        let size = size.ok_or_else(torn)?;
        let mut content = out.by_ref().take(size);
        take(line, &mut content, incoming, meter)?;
        if content.limit() > 0 {
            return Err(torn());
        }
        let mut end = [0];
        out.read_exact(&mut end).map_err(|_| torn())?;
    }
    Ok(())
}

fn take(line: &Line, content: &mut dyn Read, incoming: &mut Incoming<'_>, meter: &mut Meter<'_>) -> Result<()> {
    match line.mode {
        0o120_000 if line.size <= LONGEST_LINK => {
            let mut leads_to = String::new();
            let read = content.read_to_string(&mut leads_to);
            read.map_err(|_| ProjectError::LinkLeaves { name: visible(&line.name) })?;
            incoming.link(&line.name, &leads_to)
        }
        0o120_000 => Err(ProjectError::LinkLeaves { name: visible(&line.name) }),
        0o100_755 => incoming.file(&line.name, Some(0o755), &mut Pieces { content, meter }, u64::MAX),
        // Older trees know other modes of a file that is not run.
        mode if mode & 0o170_000 == 0o100_000 => {
            incoming.file(&line.name, Some(0o644), &mut Pieces { content, meter }, u64::MAX)
        }
        _ => Err(ProjectError::BadName { name: visible(&line.name), why: "it is neither a file nor a link" }),
    }
}

fn torn() -> ProjectError {
    ProjectError::Damaged { what: "a repository", why: "git did not hand out all of its files".to_owned() }
}
