//! What a command changed, as alterations in logical paths, in the order in which they can be made.
//!
//! What cannot be said as one (a name that is no logical path, a device) is an obstacle or left out, and told.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use paddock_core::{
    Alter, Alteration, Call, Expect, LogicalPath, Looks, MAX_LIST, PLAIN_MODE, Proposed, RelPathBuf, Staged,
    is_read_by_git,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::scene::{From, Layer, Scene};
use super::stage::Stage;
use crate::error::Error;
use crate::staged::{self, Changes, Found, Now};

/// The most paths that one command may change.
const MOST: usize = 100_000;
/// The mode of a directory that nobody gave another.
const PLAIN_DIR: u32 = 0o755;
/// What the owner of a directory keeps: where Paddock cannot look, nobody is told what is there, and later commands do not see
/// it.
const OWNERS_WAY_IN: u32 = 0o500;
/// The largest file that is looked into before it is judged.
const SMALL: u64 = 64 * 1024;
/// What the kernel's overlay notes on a file of a layer.
const OVERLAY_NOTES: &[u8] = b"user.overlay.";

/// Reads what was changed.
pub(super) fn of(
    call: &Call<'_>,
    scene: &Scene,
    stage: Arc<Stage>,
    notes: &mut Vec<String>,
) -> Result<Proposed, Error> {
    let mut proposal = Proposal { began: scene.began, ..Proposal::default() };
    for layer in &scene.layers {
        proposal.read(layer)?;
    }
    if let Some(served) = &scene.served {
        let (alterations, obstacles) = served.changes(call);
        proposal.made.extend(alterations);
        proposal.obstacles.extend(obstacles);
    }
    if proposal.left_out > 0 {
        notes.push(format!("{} pipes, sockets or devices were left out.", proposal.left_out));
    }
    Ok(proposal.finish(stage))
}

/// Alterations by when they are made.
struct Proposal {
    began: SystemTime,
    gone: Vec<Alteration>,
    made: Vec<Alteration>,
    /// Directories get their mode last: one that is closed could not be filled.
    dressed: Vec<Alteration>,
    ignored: HashSet<LogicalPath>,
    obstacles: Vec<String>,
    left_out: usize,
}

impl Default for Proposal {
    fn default() -> Self {
        Self {
            began: SystemTime::UNIX_EPOCH,
            gone: Vec::new(),
            made: Vec::new(),
            dressed: Vec::new(),
            ignored: HashSet::new(),
            obstacles: Vec::new(),
            left_out: 0,
        }
    }
}

impl Proposal {
    fn read(&mut self, layer: &Layer) -> Result<(), Error> {
        match &layer.from {
            From::Upper { stage, base, opened } => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let over = rustix::fs::openat(&**opened, ".", flags, Mode::empty())
                    .map_err(|errno| Error::Host { path: base.clone(), source: errno.into() })?;
                let changes = staged::changes_over(stage, over, MOST)?;
                let mut homes = Homes::new(&stage.upper)?;
                let mut ignores = Ignores::new(base);
                self.take(layer, &changes, &mut homes, Some(&mut ignores))
            }
            From::Box(dir) => {
                let changes = staged::drop_box(dir, MOST)?;
                self.take(layer, &changes, &mut Homes::new(dir)?, None)
            }
        }
    }

    fn take(
        &mut self,
        layer: &Layer,
        changes: &Changes,
        homes: &mut Homes,
        mut ignores: Option<&mut Ignores>,
    ) -> Result<(), Error> {
        let in_box = matches!(layer.from, From::Box(_));
        for found in &changes.found {
            let Some(path) = self.logical(layer, &found.path) else { continue };
            let is_dir = matches!(found.what, Now::Dir { .. } | Now::Gone { dir: true });
            if ignores.as_mut().is_some_and(|ignores| ignores.name(&found.path, is_dir)) {
                self.ignored.insert(path.clone());
            }
            let expect = if in_box { Expect::Any } else { Expect::UnchangedSince(self.began) };
            match &found.what {
                // In a write-only Workspace directories come only as parents of files.
                Now::Dir { .. } if in_box => {}
                Now::Link { .. } if in_box => self.left_out += 1,
                _ => {
                    let most = most_read(layer, &path, &found.path);
                    self.add(&path, expect, found, changes, homes, most)?;
                }
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: &LogicalPath,
        expect: Expect,
        found: &Found,
        changes: &Changes,
        homes: &mut Homes,
        most_read: Option<u64>,
    ) -> Result<(), Error> {
        let alteration = |how, expect| Alteration { path: path.clone(), how, expect };
        match &found.what {
            Now::Gone { dir } => {
                // What a directory holds decides about it, not when that last changed.
                let expect = if *dir { Expect::Any } else { expect };
                self.gone.push(alteration(Alter::Delete, expect));
            }
            Now::Dir { mode, new } => {
                if *new {
                    self.made.push(alteration(Alter::MakeDir, Expect::Any));
                }
                let mode = (mode & PLAIN_MODE) | OWNERS_WAY_IN;
                if mode != PLAIN_DIR || !new {
                    let looks = Looks { mode: Some(mode), modified: None };
                    self.dressed.push(alteration(Alter::Dress(looks), Expect::Any));
                }
            }
            Now::File { mode, same_content: true, .. } => {
                let looks = Looks { mode: Some(mode & PLAIN_MODE), modified: None };
                self.made.push(alteration(Alter::Dress(looks), expect));
            }
            Now::File { len, mode, modified, .. } => {
                let file = changes.open(&found.path)?;
                let how = if most_read.is_some_and(|most| *len <= most) {
                    Alter::Write { content: content(file, *len), mode: Some(mode & PLAIN_MODE) }
                } else {
                    clear_notes(&file);
                    Alter::Take(homes.staged(&found.path, file, *len, *mode, *modified)?)
                };
                self.made.push(alteration(how, expect));
            }
            Now::Link { to, .. } => match to.to_str() {
                Some(text) => self.made.push(alteration(Alter::Link { leads_to: text.to_owned() }, expect)),
                None => self.obstacles.push(format!("\"{path}\" is a link to a name that is no text.")),
            },
            Now::Special => self.left_out += 1,
        }
        Ok(())
    }

    /// The logical path of something below a place.
    fn logical(&mut self, layer: &Layer, path: &Path) -> Option<LogicalPath> {
        let rel = path.to_str().and_then(|text| RelPathBuf::parse(text).ok());
        if rel.is_none() {
            self.obstacles
                .push(format!("\"{}\" is a name that no tool could ask for.", path.to_string_lossy().escape_debug()));
        }
        rel.map(|rel| layer.prefix.join(rel.as_rel()))
    }

    fn finish(self, stage: Arc<Stage>) -> Proposed {
        let alterations: Vec<Alteration> = self.gone.into_iter().chain(self.made).chain(self.dressed).collect();
        let stage: Option<Arc<dyn paddock_core::Stage>> = if alterations.is_empty() { None } else { Some(stage) };
        Proposed { alterations, ignored: self.ignored, obstacles: self.obstacles, stage }
    }
}

/// Only these guarded files are ever let through by what is in them. A git directory may have any name.
fn is_git_config(layer: &Layer, path: &Path) -> bool {
    let From::Upper { base, .. } = &layer.from else { return false };
    let dir = path.parent().unwrap_or(Path::new(""));
    let is_called_so = dir.to_string_lossy().ends_with(".git") || dir.ends_with(".bare");
    path.file_name().is_some_and(|name| name == "config")
        && (is_called_so || base.join(dir).join("HEAD").symlink_metadata().is_ok())
}

/// Up to which length a file is brought by its content, because that decides about it.
fn most_read(layer: &Layer, logical: &LogicalPath, path: &Path) -> Option<u64> {
    if is_read_by_git(logical.as_str()) || is_read_beside_head(layer, path) {
        return Some(MAX_LIST);
    }
    (is_git_config(layer, path) || is_unfinished(path)).then_some(SMALL)
}

/// As that, in a repository whose directory has a name of its own.
fn is_read_beside_head(layer: &Layer, path: &Path) -> bool {
    let From::Upper { base, .. } = &layer.from else { return false };
    path.ancestors().skip(1).any(|dir| {
        // Called so as in a repository that has the usual name.
        let as_usual = path.strip_prefix(dir).map(|inside| Path::new(".git").join(inside));
        as_usual.is_ok_and(|path| path.to_str().is_some_and(is_read_by_git))
            && base.join(dir).join("HEAD").symlink_metadata().is_ok()
    })
}

/// What git goes on with when a rebase is continued.
fn is_unfinished(path: &Path) -> bool {
    let ends =
        ["git-rebase-todo", "git-rebase-todo.backup", "author-script"].map(|name| Path::new("rebase-merge").join(name));
    ends.iter().any(|end| path.ends_with(end))
        || path.ends_with("rebase-apply/author-script")
        || path.ends_with("sequencer/todo")
}

fn content(file: File, len: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = file.take(len).read_to_end(&mut bytes);
    bytes
}

/// Takes off what the overlay noted: in a Workspace it would mean nothing, or something else.
fn clear_notes(file: &File) {
    let mut names = [0_u8; 4096];
    let Ok(len) = rustix::fs::flistxattr(file, &mut names) else { return };
    for name in names[..len].split(|byte| *byte == 0).filter(|name| name.starts_with(OVERLAY_NOTES)) {
        let _ = rustix::fs::fremovexattr(file, name);
    }
}

/// The directories of a layer, opened, so that files can be taken from them.
struct Homes {
    top: OwnedFd,
    known: HashMap<PathBuf, Arc<OwnedFd>>,
}

impl Homes {
    /// As many are kept open; more are opened again.
    const KEPT: usize = 64;

    fn new(top: &Path) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::openat(CWD, top, flags, Mode::empty())
            .map_err(|errno| Error::Host { path: top.to_owned(), source: errno.into() })?;
        Ok(Self { top, known: HashMap::new() })
    }

    fn staged(&mut self, path: &Path, file: File, len: u64, mode: u32, modified: SystemTime) -> Result<Staged, Error> {
        let staged = Staged::new(file, len, mode, modified);
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().and_then(|name| name.to_str());
        Ok(match (self.open(parent), name) {
            (Some(home), Some(name)) => staged.at(home, name.to_owned()),
            // Then it is read and copied.
            _ => staged,
        })
    }

    fn open(&mut self, dir: &Path) -> Option<Arc<OwnedFd>> {
        if let Some(known) = self.known.get(dir) {
            return Some(Arc::clone(known));
        }
        let path = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = Arc::new(rustix::fs::openat2(&self.top, path, flags, Mode::empty(), resolve).ok()?);
        if self.known.len() >= Self::KEPT {
            self.known.clear();
        }
        self.known.insert(dir.to_owned(), Arc::clone(&opened));
        Some(opened)
    }
}

/// What the `.gitignore` files of a Workspace say, as they were before the command.
struct Ignores {
    base: PathBuf,
    known: HashMap<PathBuf, Option<Gitignore>>,
}

impl Ignores {
    fn new(base: &Path) -> Self {
        Self { base: base.to_owned(), known: HashMap::new() }
    }

    /// Does one of them name this path, or a directory above it? Git applies them to no directory of its own.
    fn name(&mut self, path: &Path, is_dir: bool) -> bool {
        let steps: Vec<&Path> = path.ancestors().filter(|step| !step.as_os_str().is_empty()).collect();
        let mut outside = steps.into_iter().rev().take_while(|step| !step.ends_with(".git"));
        outside.any(|step| self.names_entry(step, is_dir || step != path))
    }

    fn names_entry(&mut self, path: &Path, is_dir: bool) -> bool {
        let above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
        for dir in above {
            let base = &self.base;
            let rules = self.known.entry(dir.clone()).or_insert_with(|| {
                let file = base.join(&dir).join(".gitignore");
                let mut builder = GitignoreBuilder::new(&dir);
                let readable = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= SMALL);
                (readable && builder.add(&file).is_none()).then(|| builder.build().ok()).flatten()
            });
            match rules.as_ref().map(|rules| rules.matched(path, is_dir)) {
                Some(ignore::Match::Ignore(_)) => return true,
                Some(ignore::Match::Whitelist(_)) => return false,
                _ => {}
            }
        }
        false
    }
}
