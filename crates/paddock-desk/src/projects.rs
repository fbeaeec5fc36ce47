//! Projects in an agent's Workspaces: templates, what there is and how large, taking one in and taking one home.
//!
//! The work itself is `paddock-projects`'; here a person's words become its arguments: which agent, which path, which secret opens a
//! remote. What arrives waits in a file without a name, and what leaves is written as it is read. A secret is looked up for one act and never told.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek as _, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use paddock_core::{AgentName, AgentPolicy, Audit, LogicalPath, OpKind};
use paddock_projects::export::{self, Commit, Export, Exported, Pushed};
use paddock_projects::import::{self, Import, Imported};
use paddock_projects::{
    Created, Credentials, FaultKind, Progress, Project, ProjectError, Remote, Scratch, Template, Templates, Watch,
    measure, unwatched,
};
use paddock_state::SecretName;
use paddock_tools::Person;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::at_once::at_once;
use crate::desk::Desk;
use crate::failure::{Failure, FailureKind, Result};
use crate::project::count_first;
use crate::workspaces::WorkspaceShown;
use crate::{host, past, workspaces};

/// The projects of one page, where nobody says how many.
pub const USUAL: usize = 100;
/// And at most.
const MOST: usize = 500;
/// The user name that goes with a token where no other is said.
const ANYBODY: &str = "git";

/// The projects of an agent, with the Workspaces that they are in.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProjectsShown {
    /// The read-write Workspaces, with what each holds and may hold.
    pub workspaces: Vec<WorkspaceShown>,
    /// The projects, by path.
    pub projects: Vec<Project>,
    /// Where the next page begins: `after` takes it.
    pub next: Option<String>,
}

/// As what a project goes home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A Zip.
    #[default]
    Zip,
    /// A Git bundle: `git clone FILE` takes it.
    Bundle,
}

impl Format {
    /// How the name of such a file ends.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Bundle => "bundle",
        }
    }

    /// What such a file is, for HTTP.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Zip => "application/zip",
            Self::Bundle => "application/x-git-bundle",
        }
    }
}

/// How something is taken in.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taking {
    /// Also over what is there: files of the same name are replaced, all others stay.
    #[serde(default)]
    pub merge: bool,
    /// Leave out what may not be written, instead of refusing the whole.
    #[serde(default)]
    pub leave_out_denied: bool,
    /// Of a Zip: take in what is in the one directory that everything is in.
    #[serde(default)]
    pub unwrap: bool,
}

impl Taking {
    fn how(self) -> Import {
        Import { merge: self.merge, leave_out_denied: self.leave_out_denied, unwrap: self.unwrap, ..Import::default() }
    }
}

/// A remote, as a person names it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteNamed {
    /// `https://…`, `ssh://…`, `HOST:PATH`, `git://…`.
    pub url: String,
    /// The branch; the remote's own, or `main` for a push, where none is named.
    #[serde(default)]
    pub branch: Option<String>,
    /// The secret whose value opens it.
    #[serde(default)]
    pub secret: Option<String>,
    /// The user name that goes with it.
    #[serde(default)]
    pub user: Option<String>,
}

impl RemoteNamed {
    /// Is it somewhere else than on this machine's disk?
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        let colon = self.url.find(':');
        let slash = self.url.find('/').unwrap_or(usize::MAX);
        colon.is_some_and(|colon| colon < slash) && !self.url.starts_with("file:")
    }

    fn credentials(&self, desk: &Desk) -> Result<Option<Credentials>> {
        let Some(name) = &self.secret else { return Ok(None) };
        let parsed = SecretName::parse(name).map_err(|error| Failure::misused(&error, error.hint()))?;
        let value = desk.project().secrets.get(&parsed).map_err(|error| Failure::failed(&error, error.hint()))?;
        let value = value.ok_or_else(|| {
            Failure::missing(
                format!("there is no secret \"{name}\""),
                format!("store it with `paddock secret set {name}`"),
            )
        })?;
        Ok(Some(Credentials::new(self.user.as_deref().unwrap_or(ANYBODY), value.expose())))
    }
}

/// A directory of an agent's Workspaces.
struct Place {
    policy: Arc<AgentPolicy>,
    audit: Arc<dyn Audit>,
    path: LogicalPath,
    scratch: Scratch,
    by: String,
}

impl Place {
    fn of(desk: &Desk, agent: Option<&str>, path: &str) -> Result<Self> {
        let policy = desk.policy(&workspaces::agent_named(desk, agent)?)?.current();
        let path = policy.path(path).map_err(|error| Failure::misused(&error, error.hint()))?;
        Ok(Self { policy, audit: desk.audit(), path, scratch: scratch(desk), by: desk.by().to_owned() })
    }

    fn person(&self) -> Person<'_> {
        Person::on(&self.policy, &*self.audit).named(&self.by)
    }
}

fn scratch(desk: &Desk) -> Scratch {
    let home = desk.installation().home();
    Scratch::new(
        home.map_or_else(|| std::env::temp_dir().join("paddock-projects"), |home| home.path().join("incoming")),
    )
}

/// What a project can start from.
///
/// # Errors
/// When the packages of the System Root cannot be looked at.
pub fn templates(desk: &Desk) -> Result<Vec<Template>> {
    of_system(desk).list().map_err(told)
}

fn of_system(desk: &Desk) -> Templates {
    Templates::with_packages(desk.project().system_root.packages_dir())
}

/// A page of an agent's projects, behind the path `after`; with sizes each file of them is looked at.
///
/// # Errors
/// When there is no such agent, or a Workspace cannot be looked into.
pub fn list(
    desk: &Desk,
    agent: Option<&str>,
    sizes: bool,
    after: Option<&str>,
    limit: Option<usize>,
) -> Result<ProjectsShown> {
    let place = Place::of(desk, agent, "/")?;
    let person = place.person();
    let mut projects = paddock_projects::projects(&person, &place.policy).map_err(told)?;
    if let Some(after) = after {
        projects.retain(|project| paddock_core::tree_order(&project.path, after).is_gt());
    }
    let limit = at_once(limit, USUAL, MOST)?;
    let more = projects.len() > limit;
    projects.truncate(limit);
    if sizes {
        for project in &mut projects {
            let path = place.policy.path(&project.path).map_err(|error| Failure::misused(&error, error.hint()))?;
            project.size = Some(measure(&person, &path, &mut unwatched).map_err(told)?);
        }
    }
    let next = projects.last().filter(|_| more).map(|last| last.path.clone());
    let mut workspaces = workspaces::of_agent(desk, agent)?;
    workspaces.retain(|workspace| workspace.scope == "READ_WRITE");
    Ok(ProjectsShown { workspaces, projects, next })
}

/// How much one project holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Stored {
    /// The project.
    pub path: String,
    /// Its bytes; nothing where counting them would have taken too long.
    pub bytes: Option<u64>,
}

/// How large each agent's projects were, and when that was looked at.
#[derive(Default)]
pub(crate) struct Measured(Mutex<HashMap<AgentName, (Instant, Vec<Stored>)>>);

/// How long counting may take where somebody waits for a page, and how long what was counted is good enough.
const COUNTED_WITHIN: Duration = Duration::from_millis(250);
const GOOD_FOR: Duration = Duration::from_secs(30);

/// What an agent's projects hold, as far as that is counted quickly: at a glance, and a little old perhaps.
///
/// # Errors
/// When a Workspace cannot be looked into.
pub fn stored(desk: &Desk, agent: &AgentName) -> Result<Vec<Stored>> {
    let known = || desk.measured().0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, stored)) = known().get(agent).filter(|(when, _)| when.elapsed() < GOOD_FOR) {
        return Ok(stored.clone());
    }
    let place = Place::of(desk, Some(agent.as_str()), "/")?;
    let person = place.person();
    let until = Instant::now() + COUNTED_WITHIN;
    let mut in_time =
        |_: Progress<'_>| if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let mut stored = Vec::new();
    for project in paddock_projects::projects(&person, &place.policy).map_err(told)?.into_iter().take(USUAL) {
        let path = place.policy.path(&project.path).map_err(|error| Failure::misused(&error, error.hint()))?;
        let size = (Instant::now() < until).then(|| measure(&person, &path, &mut in_time).ok()).flatten();
        stored.push(Stored { path: project.path, bytes: size.map(|size| size.bytes) });
    }
    known().insert(agent.clone(), (Instant::now(), stored.clone()));
    Ok(stored)
}

/// What whoever made or took in a project there may not have thought of, in words.
///
/// # Errors
/// When there is no such agent, or it is no path.
pub fn noteworthy(desk: &Desk, agent: Option<&str>, path: &str) -> Result<Option<String>> {
    let Place { policy, path, .. } = Place::of(desk, agent, path)?;
    let decision = policy.vfs.judge(OpKind::Write, &path);
    let scope = decision.workspace().map(paddock_core::Workspace::scope).filter(|scope| !scope.allows(OpKind::Write));
    Ok(scope.map(|scope| {
        format!(
            "the Workspace is {} for agent {}: it cannot change the project, and `paddock projects` does not list it",
            scope.name(),
            policy.agent
        )
    }))
}

/// Makes a project from a template, where nothing is yet.
///
/// # Errors
/// When there is no such template, or the Workspace does not take it.
pub fn new(desk: &Desk, agent: Option<&str>, template: &str, path: &str, watch: Watch<'_>) -> Result<Created> {
    let place = Place::of(desk, agent, path)?;
    count_first()?;
    of_system(desk).create(&place.person(), template, &place.path, &place.scratch, watch).map_err(told)
}

/// An archive that arrives from outside, piece by piece.
#[derive(Debug)]
pub struct Arriving {
    file: File,
    len: u64,
}

impl Arriving {
    /// The largest archive that is taken.
    const MOST: u64 = 8 << 30;

    /// Before its first piece, for this place: what could not be taken in there is refused before any of it is kept.
    ///
    /// # Errors
    /// When there is no such agent or place, nothing may be written there, or nothing can be kept meanwhile.
    pub fn begin(desk: &Desk, agent: Option<&str>, path: &str, taking: Taking) -> Result<Self> {
        let into = Place::of(desk, agent, path)?;
        import::could(&into.person(), &into.path, taking.how()).map_err(told)?;
        let home = desk.installation().home();
        let place = home.map_or_else(std::env::temp_dir, |home| home.path().join("incoming"));
        Ok(Self { file: host::nameless(&place)?, len: 0 })
    }

    /// The next piece.
    ///
    /// # Errors
    /// When it is too much, or cannot be kept.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.len = self.len.saturating_add(piece.len() as u64);
        if self.len > Self::MOST {
            return Err(Failure::failed("the archive is too large", "take in less at once"));
        }
        Ok(self.file.write_all(piece)?)
    }

    /// All of it, from its beginning.
    ///
    /// # Errors
    /// When the host cannot go back to its beginning.
    pub fn whole(mut self) -> Result<File> {
        self.file.rewind()?;
        Ok(self.file)
    }
}

/// Takes in a Zip.
///
/// # Errors
/// When it holds what is refused, or the Workspace does not take it. Nothing is written then.
pub fn import_zip(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
    taking: Taking,
    archive: File,
    watch: Watch<'_>,
) -> Result<Imported> {
    let place = Place::of(desk, agent, path)?;
    count_first()?;
    import::zip(&place.person(), &place.path, taking.how(), archive, &place.scratch, watch).map_err(told)
}

/// Takes in what is on a branch of a repository, or in a bundle.
///
/// # Errors
/// As [`import_zip`], and when the remote cannot be had.
pub fn import_git(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
    taking: Taking,
    remote: &RemoteNamed,
    watch: Watch<'_>,
) -> Result<Imported> {
    let place = Place::of(desk, agent, path)?;
    let credentials = remote.credentials(desk)?;
    count_first()?;
    let how = Import { unwrap: false, ..taking.how() };
    let from = Remote { address: &remote.url, credentials: credentials.as_ref() };
    let branch = remote.branch.as_deref();
    import::git(&place.person(), &place.path, how, &from, branch, &place.scratch, watch).map_err(told)
}

/// Writes a project as one file.
///
/// # Errors
/// When it cannot be read, or `out` takes no more: what was written is no whole file then.
pub fn export(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
    (format, ignored): (Format, bool),
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<Exported> {
    let place = Place::of(desk, agent, path)?;
    let (person, export) = (place.person(), Export { ignored });
    let written = match format {
        Format::Zip => export::zip(&person, &place.path, export, out, watch),
        Format::Bundle => export::bundle(&person, &place.path, export, &Commit::default(), out, watch),
    };
    written.map_err(told)
}

/// Writes a project as a bare repository of one commit, into a directory of the host that is empty or not there.
///
/// # Errors
/// When the project cannot be read, or the directory is not empty.
pub fn export_repository(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
    ignored: bool,
    directory: &Path,
    watch: Watch<'_>,
) -> Result<Exported> {
    let place = Place::of(desk, agent, path)?;
    let (person, commit) = (place.person(), Commit::default());
    export::repository(&person, &place.path, Export { ignored }, &commit, directory, watch).map_err(told)
}

/// Pushes a project as one commit on top of a branch of a remote.
///
/// # Errors
/// When the project cannot be read, or the remote does not take it.
pub fn push(
    desk: &Desk,
    agent: Option<&str>,
    path: &str,
    (remote, ignored): (&RemoteNamed, bool),
    watch: Watch<'_>,
) -> Result<Pushed> {
    let place = Place::of(desk, agent, path)?;
    let credentials = remote.credentials(desk)?;
    let to = Remote { address: &remote.url, credentials: credentials.as_ref() };
    let mut commit = Commit { when: Some(SystemTime::now()), author: crate::person(), ..Commit::default() };
    if let Some(branch) = &remote.branch {
        commit.branch.clone_from(branch);
    }
    export::push(&place.person(), &place.path, Export { ignored }, &commit, &to, &place.scratch, watch).map_err(told)
}

/// What is not done with a project, as it is told.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn told(error: ProjectError) -> Failure {
    let kind = match error.kind() {
        FaultKind::Misuse => FailureKind::Misused,
        FaultKind::NotFound => FailureKind::Missing,
        FaultKind::Conflict => FailureKind::Conflict,
        FaultKind::Denied => FailureKind::Denied,
        FaultKind::BadContent | FaultKind::TooLarge | FaultKind::Failed | FaultKind::Stopped => FailureKind::Failed,
    };
    match &error {
        ProjectError::Refused(refused) => past::refused(refused).kind_of(kind),
        error => Failure::of(kind, error, error.hint()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_this_machine_is_told_from_what_is_elsewhere() {
        let elsewhere = |url: &str| RemoteNamed { url: url.into(), ..RemoteNamed::default() }.is_elsewhere();
        for url in ["https://host/x.git", "ssh://git@host/x", "git@host:x.git", "git://host/x"] {
            assert!(elsewhere(url), "{url}");
        }
        for url in ["/srv/x.git", "x.bundle", "../x", "file:///srv/x", "./a:b", ""] {
            assert!(!elsewhere(url), "{url}");
        }
    }
}
