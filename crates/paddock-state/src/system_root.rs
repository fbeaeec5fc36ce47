//! The System Root: one private directory for everything that is not the project's own.
//!
//! `--home` beats `PADDOCK_HOME` beats `~/.paddock/`. It is made when something is first kept, with mode
//! 0700, and refused when it lies inside the Project Root, belongs to somebody else or can be written by
//! others: whoever can write it can change what Paddock allows. (The Project Root inside the System Root
//! is not refused here; a Mount that lies in the System Root is an error of the configuration.)
//!
//! It must never be created by merely asking where it is: a lone `paddock check` leaves no trace.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::HomeError;
use crate::private;
use crate::workspace_home::HEAD_ENDING;

/// Everything that may say where the System Root is, strongest first.
#[derive(Debug, Clone, Default)]
pub struct HomeSources {
    /// The `--home` option.
    pub option: Option<PathBuf>,
    /// The variable `PADDOCK_HOME`; an empty one counts as absent.
    pub variable: Option<OsString>,
    /// The person's home directory.
    pub home: Option<PathBuf>,
}

impl HomeSources {
    /// The option beside what the process' environment says.
    #[must_use]
    pub fn from_environment(option: Option<PathBuf>) -> Self {
        Self { option, variable: std::env::var_os("PADDOCK_HOME"), home: std::env::home_dir() }
    }

    fn strongest(&self) -> Option<PathBuf> {
        let not_empty = |path: &PathBuf| !path.as_os_str().is_empty();
        self.option
            .clone()
            .or_else(|| self.variable.clone().map(PathBuf::from).filter(not_empty))
            .or_else(|| Some(self.home.clone().filter(not_empty)?.join(".paddock")))
    }
}

/// The System Root: known to be safe where it exists, not yet made where it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoot {
    path: PathBuf,
}

impl SystemRoot {
    /// Finds the System Root and refuses an unsafe one. Makes nothing.
    ///
    /// # Errors
    /// When it lies inside `project_root`, is not ours alone, or cannot be looked at.
    pub fn resolve(sources: &HomeSources, project_root: Option<&Path>) -> Result<Self, HomeError> {
        let named = sources.strongest().ok_or(HomeError::NoHome)?;
        let path = real_place(&named)?;
        if let Some(project) = project_root {
            refuse_inside(&path, &real_place(project)?)?;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) => refuse_unsafe(&path, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(HomeError::io(path, error)),
        }
        Ok(Self { path })
    }

    /// Where it is: absolute and free of links, whether or not it exists yet.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it where it is missing, and looks again: what stands there now is what will be used.
    ///
    /// # Errors
    /// When it cannot be made, or is no longer ours alone.
    pub fn ensure(&self) -> Result<(), HomeError> {
        private::make_directory(&self.path).map_err(|error| HomeError::io(&self.path, error))?;
        let found = fs::symlink_metadata(&self.path).map_err(|error| HomeError::io(&self.path, error))?;
        refuse_unsafe(&self.path, &found)
    }

    /// A person's own settings of the command line.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.path.join("config.json")
    }

    /// Versioned templates and extensions.
    #[must_use]
    pub fn packages_dir(&self) -> PathBuf {
        self.path.join("packages")
    }

    /// Secrets, encrypted at rest.
    #[must_use]
    pub fn secrets_dir(&self) -> PathBuf {
        self.path.join("secrets")
    }

    /// The key that signs the audit of every project.
    #[must_use]
    pub fn audit_key(&self) -> PathBuf {
        self.secrets_dir().join("audit.key")
    }

    /// What this machine has seen of each project's audit, beside the key.
    #[must_use]
    pub(crate) fn audit_heads_dir(&self) -> PathBuf {
        self.secrets_dir().join("audit")
    }

    /// Was anything ever signed here? Then a key that is not there is gone, and not yet to be made.
    #[must_use]
    pub fn has_audit_heads(&self) -> bool {
        let Ok(heads) = fs::read_dir(self.audit_heads_dir()) else { return false };
        heads.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with(HEAD_ENDING))
    }

    /// One directory per project, named by its WorkspaceId.
    #[must_use]
    pub fn workspaces_dir(&self) -> PathBuf {
        self.path.join("workspaces")
    }
}

fn refuse_inside(home: &Path, project: &Path) -> Result<(), HomeError> {
    if home.starts_with(project) {
        return Err(HomeError::InsideProject { home: home.to_owned(), project: project.to_owned() });
    }
    Ok(())
}

fn refuse_unsafe(home: &Path, found: &fs::Metadata) -> Result<(), HomeError> {
    let home = home.to_owned();
    let ours = rustix::process::geteuid().as_raw();
    let mode = found.mode() & 0o777;
    if !found.is_dir() {
        return Err(HomeError::NotADirectory(home));
    }
    if found.uid() != ours {
        let owner = found.uid();
        return Err(HomeError::NotOurs { home, owner, ours });
    }
    if mode & 0o022 != 0 {
        return Err(HomeError::WritableByOthers { home, mode });
    }
    Ok(())
}

/// The absolute, link-free form of a path whose last parts may not exist yet.
fn real_place(path: &Path) -> Result<PathBuf, HomeError> {
    let absolute = std::path::absolute(path).map_err(|error| HomeError::io(path, error))?;
    match fs::canonicalize(&absolute) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link(&absolute) => {
            let unresolvable = || HomeError::Unresolvable(path.to_owned());
            let name = absolute.file_name().ok_or_else(unresolvable)?;
            let parent = absolute.parent().ok_or_else(unresolvable)?;
            Ok(real_place(parent)?.join(name))
        }
        Err(error) => Err(HomeError::io(absolute, error)),
    }
}

/// A link that leads nowhere yet could be made to lead anywhere later, so it is not followed.
fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}
