//! The only place of this crate that touches the host: temporary files, repositories that are written, the packages of the System
//! Root, and the program git.
//!
//! Nothing here reads or writes a Workspace. What is made in a place for temporary files goes when it is let go of; what a killed process left goes
//! when the place is used again.

#![allow(
    clippy::disallowed_methods,
    reason = "temporary files, exported repositories, packages and git are the host's"
)]

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rust_embed::Embed;
use rustix::fs::{MemfdFlags, OFlags};
use rustix::process::{Resource, Rlimit};
use tempfile::{NamedTempFile, TempDir};

use crate::error::{ProjectError, Result};

/// How the directories of temporary files are called.
const OURS: &str = "project-";
/// What is older than this was left by a process that is gone.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Open files that other work of the process may need.
const SPARE_FILES: u64 = 256;

/// A directory for temporary files, which only the person can look into: below their System Root.
#[derive(Debug, Clone)]
pub struct Scratch {
    directory: PathBuf,
}

/// Something that was received and lies in a temporary file until it is let go of.
#[derive(Debug)]
pub struct Received(NamedTempFile);

impl Received {
    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The file, open at its beginning.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> Result<File> {
        self.0.reopen().map_err(ProjectError::Scratch)
    }
}

impl Scratch {
    /// Temporary files go into this directory, which is made when it is first needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Takes in what arrives, up to so many bytes.
    ///
    /// # Errors
    /// When there is more, or it cannot be read or kept.
    pub fn receive(&self, from: &mut dyn Read, most: u64) -> Result<Received> {
        let mut kept =
            tempfile::Builder::new().prefix(OURS).tempfile_in(self.ready()?).map_err(ProjectError::Scratch)?;
        let copied =
            io::copy(&mut from.take(most.saturating_add(1)), kept.as_file_mut()).map_err(ProjectError::Scratch)?;
        if copied > most {
            return Err(ProjectError::TooMuch { what: "its size in bytes", limit: most });
        }
        Ok(Received(kept))
    }

    /// A file that has no name, and is gone when it is closed.
    pub(crate) fn file(&self) -> Result<File> {
        tempfile::tempfile_in(self.made()?).map_err(ProjectError::Scratch)
    }

    /// A directory that goes when it is let go of.
    pub(crate) fn directory(&self) -> Result<TempDir> {
        tempfile::Builder::new().prefix(OURS).tempdir_in(self.ready()?).map_err(ProjectError::Scratch)
    }

    fn made(&self) -> Result<&Path> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(ProjectError::Scratch)?;
        Ok(&self.directory)
    }

    fn ready(&self) -> Result<&Path> {
        let directory = self.made()?;
        self.sweep();
        Ok(directory)
    }

    /// Takes away what processes left that are gone.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(OURS)) {
            let age = entry.metadata().and_then(|found| found.modified()).map(|at| at.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > STALE) {
                let path = entry.path();
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        }
    }
}

/// How many files this process may have open beside its other work. Raised as far as the host lets it.
pub(crate) fn open_files() -> usize {
    let allowed = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: allowed.maximum, maximum: allowed.maximum });
    let now = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(now.saturating_sub(SPARE_FILES) / 2).unwrap_or(usize::MAX)
}

/// A file in memory that nobody can name.
pub(crate) fn memory_file(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("paddock", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    Ok(file)
}

/// A program of the host's, with nothing of this process's environment.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear();
    command
}

/// How many bytes the files below a directory have, as far as it can be looked at.
pub(crate) fn size_of(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        _ => entry.metadata().map_or(0, |found| found.len()),
    };
    entries.flatten().map(size).sum()
}

/// How a file begins; nothing where it is no file that can be read.
pub(crate) fn beginning(path: &Path, len: u64) -> Option<Vec<u8>> {
    let file = fs::OpenOptions::new().read(true).custom_flags(no_follow()).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut begins = Vec::new();
    file.take(len).read_to_end(&mut begins).ok()?;
    Some(begins)
}

/// Where something on this machine really is.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// A bare repository that is being written. Let go of without [`Self::keep`], it goes again.
pub(crate) struct BareRepository {
    directory: PathBuf,
    was_there: bool,
    kept: bool,
}

impl BareRepository {
    /// Makes one, with nothing on its branch yet, in a directory that is not there or empty.
    pub(crate) fn make(directory: &Path, branch: &str) -> Result<Self> {
        let was_there = match fs::read_dir(directory) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    let text = format!("\"{}\" is not empty", directory.display());
                    return Err(ProjectError::Output(io::Error::new(io::ErrorKind::AlreadyExists, text)));
                }
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(ProjectError::Output(error)),
        };
        let made = Self { directory: directory.to_owned(), was_there, kept: false };
        made.lay_out(branch).map_err(ProjectError::Output)?;
        Ok(made)
    }

    fn lay_out(&self, branch: &str) -> io::Result<()> {
        for name in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(self.directory.join(name))?;
        }
        fs::write(self.directory.join("HEAD"), format!("ref: {branch}\n"))?;
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
        fs::write(self.directory.join("config"), config)
    }

    /// It stays.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn arriving(&self) -> PathBuf {
        self.directory.join("objects/pack/tmp_pack_arriving")
    }

    /// Where a pack is written.
    pub(crate) fn new_pack(&self) -> Result<BufWriter<File>> {
        File::create(self.arriving()).map(BufWriter::new).map_err(ProjectError::Output)
    }

    /// A pack is whole: it gets its name, and its index.
    pub(crate) fn settle_pack(&self, pack: BufWriter<File>, hash: &str, index: &[u8]) -> Result<()> {
        let pack = pack.into_inner().map_err(|error| ProjectError::Output(error.into_error()))?;
        let named = |ending: &str| self.directory.join(format!("objects/pack/pack-{hash}.{ending}"));
        let settle = || {
            pack.sync_all()?;
            fs::rename(self.arriving(), named("pack"))?;
            fs::write(named("idx"), index)
        };
        settle().map_err(ProjectError::Output)
    }

    /// A branch is at a commit.
    pub(crate) fn set_branch(&self, branch: &str, commit: &str) -> Result<()> {
        let file = self.directory.join(branch);
        let set = || {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&file, format!("{commit}\n"))
        };
        set().map_err(ProjectError::Output)
    }
}

impl Drop for BareRepository {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if !self.was_there {
            let _ = fs::remove_dir_all(&self.directory);
            return;
        }
        for name in ["objects", "refs"] {
            let _ = fs::remove_dir_all(self.directory.join(name));
        }
        for name in ["HEAD", "config"] {
            let _ = fs::remove_file(self.directory.join(name));
        }
    }
}

/// The names of the directories directly below one, sorted; none where it is not there.
pub(crate) fn directories(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))?;
        entry.file_name().into_string().ok()
    };
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    Ok(names)
}

/// The templates of the program. A build for development reads them where they are written.
#[derive(Embed)]
#[folder = "templates/"]
struct Embedded;

/// The files of all templates of the program, in order.
pub(crate) fn embedded_paths() -> impl Iterator<Item = String> {
    let mut paths: Vec<String> = Embedded::iter().map(|path| path.into_owned()).collect();
    paths.sort();
    paths.into_iter()
}

/// What a file of a template holds.
pub(crate) fn embedded(path: &str) -> Option<Vec<u8>> {
    Embedded::get(path).map(|file| file.data.into_owned())
}

/// What a person put into a directory of a package.
pub(crate) enum PackageEntry {
    Dir { mode: u32 },
    File { file: File, mode: u32 },
    Link { leads_to: String },
}

/// Everything below a directory of a package, in order. What is neither file, directory nor link is left alone.
pub(crate) fn package_entries(directory: &Path) -> io::Result<Vec<(String, PackageEntry)>> {
    let mut found = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(directory.join(&dir))? {
            let entry = entry?;
            let name =
                entry.file_name().into_string().map_err(|_| io::Error::other("it holds a name that is no text"))?;
            let path = crate::source::join(&dir, &name);
            let kind = entry.file_type()?;
            let what = if kind.is_dir() {
                waiting.push(path.clone());
                PackageEntry::Dir { mode: entry.metadata()?.permissions().mode() }
            } else if kind.is_file() {
                let file = fs::OpenOptions::new().read(true).custom_flags(no_follow()).open(entry.path())?;
                let mode = file.metadata()?.permissions().mode();
                PackageEntry::File { file, mode }
            } else if kind.is_symlink() {
                let leads_to = fs::read_link(entry.path())?;
                let text = leads_to.into_os_string().into_string();
                PackageEntry::Link {
                    leads_to: text.map_err(|_| io::Error::other("it holds a link to a name that is no text"))?,
                }
            } else {
                continue;
            };
            found.push((path, what));
        }
    }
    found.sort_by(|(a, _), (b, _)| paddock_core::tree_order(a, b));
    Ok(found)
}

/// A small file of a package, where it is there.
pub(crate) fn package_text(file: &Path, most: u64) -> Option<String> {
    let opened = fs::OpenOptions::new().read(true).custom_flags(no_follow()).open(file).ok()?;
    let mut text = String::new();
    opened.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0)
}
