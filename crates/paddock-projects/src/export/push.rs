//! A project as one commit, pushed to a remote: on top of what is on the branch there, or as its first.

use std::process::Stdio;

use paddock_core::LogicalPath;
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::Serialize;

use super::git::{Commit, Named, Whole, host_branch};
use super::{Export, Exported};
use crate::error::{ProjectError, Result};
use crate::git::{Address, Git, Remote};
use crate::host::{BareRepository, Scratch};
use crate::progress::{Meter, Watch};
use crate::source::Source;

/// Where what was on the branch is put.
const THERE: &str = "refs/paddock/there";

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pushed {
    /// What went out.
    #[serde(flatten)]
    pub exported: Exported,
    /// Where to, without what opens it.
    pub address: String,
    /// The branch.
    pub branch: String,
    /// Was the same there already? Then nothing was pushed.
    pub unchanged: bool,
}

/// Pushes a project to a branch of a remote. What is on the branch there becomes the parent of the commit.
///
/// # Errors
/// When the project cannot be read, the address is refused, there is no git, or the remote does not take it.
pub fn push(
    person: &Person<'_>,
    path: &LogicalPath,
    export: Export,
    commit: &Commit,
    remote: &Remote<'_>,
    scratch: &Scratch,
    watch: Watch<'_>,
) -> Result<Pushed> {
    let branch = format!("refs/heads/{}", host_branch(&commit.branch)?);
    let address = Address::parse(remote.address)?;
    let source = Source::open(person, path)?;
    let mut meter = Meter::new(watch);
    let home = scratch.directory()?;
    let git = Git::new(home.path(), Some(&address), remote.credentials)?;
    let repository = BareRepository::make(&home.path().join("out"), &branch)?;
    let there = There { git: &git, address: &address, repository: &repository };
    let parent = there.fetch(&branch, &mut meter)?;
    let named = Named::of(&source, export, &mut meter)?;
    let unchanged = parent.as_ref().is_some_and(|parent| parent.tree == named.tree.to_string());
    let whole = Whole::new(named, commit, parent.as_ref().map(|parent| parent.commit.as_str()));
    let mut exported = whole.told();
    if let Some(parent) = parent.filter(|_| unchanged) {
        exported.commit = Some(parent.commit);
    } else {
        whole.write_into(&source, &repository, &branch, &mut meter)?;
        there.push(&branch, &mut meter)?;
    }
    Ok(Pushed { exported, address: address.shown(), branch: commit.branch.clone(), unchanged })
}

/// What is on a branch.
struct Tip {
    commit: String,
    tree: String,
}

struct There<'a> {
    git: &'a Git<'a>,
    address: &'a Address,
    repository: &'a BareRepository,
}

impl There<'_> {
    /// What is on the branch there, taken along as far as a push needs it.
    fn fetch(&self, branch: &str, meter: &mut Meter<'_>) -> Result<Option<Tip>> {
        let listed = self.answer("reach the remote", meter, |git| {
            git.args(["ls-remote", "--"]).arg(self.address.argument()).arg(branch);
        })?;
        if listed.trim().is_empty() {
            return Ok(None);
        }
        let mut fetch = self.here();
        fetch.args([
            "fetch",
            "--progress",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--",
        ]);
        fetch.arg(self.address.argument()).arg(format!("+{branch}:{THERE}"));
        self.git.run("look at the branch", &mut fetch, meter, None)?;
        let parsed = self.answer("look at the branch", meter, |git| {
            git.args(["log", "-1", "--no-show-signature", "--format=%H%n%T", THERE]);
        })?;
        let mut lines = parsed.lines().map(str::trim).filter(|line| is_id(line));
        match (lines.next(), lines.next()) {
            (Some(commit), Some(tree)) => Ok(Some(Tip { commit: commit.to_owned(), tree: tree.to_owned() })),
            _ => Err(ProjectError::Git { doing: "look at the branch", said: "it holds no commit".to_owned() }),
        }
    }

    fn push(&self, branch: &str, meter: &mut Meter<'_>) -> Result<()> {
        let mut push = self.here();
        push.args(["push", "--progress", "--no-verify", "--no-follow-tags", "--"]).arg(self.address.argument());
        push.arg(format!("{branch}:{branch}")).stdout(Stdio::null());
        self.git.run("push", &mut push, meter, None)
    }

    fn here(&self) -> std::process::Command {
        let mut git = self.git.command();
        git.env("GIT_DIR", self.repository.directory());
        git
    }

    fn answer(
        &self,
        doing: &'static str,
        meter: &mut Meter<'_>,
        what: impl FnOnce(&mut std::process::Command),
    ) -> Result<String> {
        let mut git = self.here();
        what(&mut git);
        self.git.answer(doing, &mut git, meter)
    }
}

fn is_id(line: &str) -> bool {
    line.len() == 40 && line.bytes().all(|b| b.is_ascii_hexdigit())
}
