//! `paddock backup`: a consistent copy of a project's state, made while agents go on working.
//!
//! The order is what makes it consistent. First the ledger in one snapshot; then what its rows speak of: contents and pre-images, which are only ever added
//! while nobody tidies, and nobody does until the copy is made. Nothing is replaced, and an interrupted copy is not called whole: the word on how to put it
//! back is written last.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use paddock_config::schema::MountSpec;
use paddock_db::Sqlite;
use paddock_state::WorkspaceHome;
use paddock_state::conversation::ConversationError;
use paddock_state::instance::{FileInstances, Instances as _};

use crate::cli::{Backup, Global};
use crate::failure::{Ended, Failure};
use crate::host;
use crate::printer::{self, Printer};
use crate::progress::{self, Line};
use paddock_desk::Project;
use paddock_desk::past;

/// How to put it back; there only when everything else is.
const README: &str = "README.txt";

pub(crate) fn run(global: &Global, options: &Backup, printer: &Printer) -> anyhow::Result<Ended> {
    let project = Project::with_config(&global.places())?;
    let installation = project.installation()?;
    let Some(home) = installation.home() else {
        return Err(Failure::failed("nothing is kept for this project yet", "there is nothing to copy"));
    };
    let to = place(&project, &options.dir)?;
    let _still = installation.hold_still().map_err(|error| not_copied(home.path(), &error))?;
    let copy = |name: &str| copy_file(home, &to, name);
    copy("origin.json")?;
    copy("forks.json")?;
    for (name, database) in installation.databases() {
        if host::is_file(database.path()) {
            copy_database(name, database, &to)?;
            printer.line(format_args!("{name}: {}", past::size(host::len(&to.join(name)))))?;
        }
    }
    let history = home.history_dir();
    let copied = progress::during("history", || host::copy_new(&history, &to.join("history")));
    let kept = copied.map_err(|error| not_copied(&history, &error))?;
    if kept > 0 {
        printer.line(format_args!("history: {kept} files"))?;
    }
    let instances = home.instances_dir();
    host::copy_new(&instances, &to.join("instances")).map_err(|error| not_copied(&instances, &error))?;
    copy_conversations(home, &to.join("instances"))?;
    let words = words(&project, home)?;
    let readme = to.join(README);
    let written = host::make_private_file(&readme).and_then(|mut file| {
        file.write_all(words.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| not_copied(&readme, &error))?;
    printer::tell(format_args!("copied to \"{}\"\n\n{words}", to.display()));
    Ok(Ended::Done)
}

/// The two files of a conversation are copied anew, as of one moment: somebody may have folded a turn between the one and the other.
fn copy_conversations(home: &WorkspaceHome, to: &Path) -> anyhow::Result<()> {
    let instances = FileInstances::of(home, paddock_db::Durability::Process);
    let told = |error: ConversationError| Failure::failed(&error, error.hint());
    for instance in instances.list().map_err(told)?.instances {
        let copied = to.join(&instance.instance_key);
        if host::is_dir(&copied) {
            instances.copy_conversation(&instance.instance_key, &copied).map_err(told)?;
        }
    }
    Ok(())
}

/// Where the copy goes: a new directory, outside what an agent may be shown.
fn place(project: &Project, dir: &Path) -> anyhow::Result<PathBuf> {
    let to = std::path::absolute(dir)?;
    let failed = |error: std::io::Error| {
        let message = format!("cannot make the directory \"{}\": {error}", to.display());
        Failure::failed(message, "name one that is not there yet, or is empty, below a directory that you may write")
    };
    let parent = to.parent().ok_or_else(|| failed(std::io::ErrorKind::AlreadyExists.into()))?;
    let real = host::real(parent).map_err(failed)?.join(to.file_name().unwrap_or_default());
    let real = host::real(&to).unwrap_or(real);
    let shown = shown_to_agents(project)?;
    if let Some(reached) = shown.iter().find(|reached| real.starts_with(reached)) {
        let message = format!("\"{}\" lies in \"{}\", where an agent may read it", to.display(), reached.display());
        return Err(Failure::misused(message, "name a directory outside the project and its Workspaces"));
    }
    host::make_private_dir(&to).map_err(failed)?;
    Ok(to)
}

/// The Project Root, and every directory behind a Workspace.
fn shown_to_agents(project: &Project) -> anyhow::Result<Vec<PathBuf>> {
    let (host, file) = (project.host()?, project.config_file()?);
    let mut shown = vec![host.project_root().to_owned()];
    for table in file.agents().iter().flat_map(|agent| file.workspaces_of(agent)) {
        if let MountSpec::Physical { physical } = &table.mount.value {
            let path = host.path_of(physical);
            shown.push(host::real(&path).unwrap_or(path));
        }
    }
    Ok(shown)
}

fn copy_file(home: &WorkspaceHome, to: &Path, name: &str) -> anyhow::Result<()> {
    let from = home.path().join(name);
    host::copy_new(&from, &to.join(name)).map_err(|error| not_copied(&from, &error))?;
    Ok(())
}

fn copy_database(name: &str, database: &Sqlite, to: &Path) -> anyhow::Result<()> {
    let mut line = Line::new();
    let copied = database.backup(&to.join(name), &mut |done, all| line.hear_of(name, done, all));
    Ok(copied.map_err(past::database_problem)?)
}

fn not_copied(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let message = format!("cannot copy \"{}\": {error}", path.display());
    Failure::failed(
        message,
        "the copy is not whole: remove it, look at the free space and who owns what, and try again",
    )
}

/// How to put the copy back.
fn words(project: &Project, home: &WorkspaceHome) -> anyhow::Result<String> {
    let servers = project.on_servers()?;
    let elsewhere = if servers.is_empty() {
        String::new()
    } else {
        format!(
            "\nWhat is in PostgreSQL ({}) is not in the copy: use pg_dump at the same moment.\n",
            servers.join(", ")
        )
    };
    let key = project.system_root.secrets_dir().join("audit.key");
    Ok(format!(
        "To put it back, with no agent working:\n\
         1. move \"{home}\" away\n\
         2. copy this directory to that place: cp -a DIR \"{home}\"\n\
         3. run `paddock audit verify` in the project: it says that the audit was rolled back, if anything was recorded since\n   \
         the copy; `paddock audit accept` takes it as it is, and that stays on record\n\
         4. run `paddock doctor`\n\n\
         The key of the audit is a secret and not in the copy: keep \"{key}\" elsewhere too.\n\
         Without it the audit can be read, and not verified.\n{elsewhere}",
        home = home.path().display(),
        key = key.display(),
    ))
}
