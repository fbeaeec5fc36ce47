//! What a command sees of the Workspaces, each in the way its Access Scope wants it.
//!
//! A read-only one is shown read-only; a read-write one with a layer on top that takes the changes; a write-only one as an
//! empty drop box, so that not even the size of what is there can be seen. Hidden names are not there. A command that is
//! confined to a directory sees nothing else of its Workspace.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use paddock_core::{AccessScope, Call, CommandSpec, LogicalPath, RelPath, Workspace};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::hidden::{Names, Wanted};
use super::served::ServedPlaces;
use super::stage::Stage;
use crate::error::Error;
use crate::sandbox::{self, How, Shown, What};

/// What a command sees, and where its changes will be.
pub(super) struct Scene {
    pub(super) shown: Vec<Shown>,
    /// What is no directory of the host.
    pub(super) served: Option<ServedPlaces>,
    pub(super) layers: Vec<Layer>,
    pub(super) began: SystemTime,
    pub(super) notes: Vec<String>,
}

/// Where changes of one place are.
pub(super) struct Layer {
    /// What the place is called.
    pub(super) prefix: LogicalPath,
    pub(super) from: From,
}

/// What changes are read from.
pub(super) enum From {
    /// A layer on top of a directory of the host.
    Upper { stage: sandbox::Stage, base: PathBuf, opened: Arc<OwnedFd> },
    /// An empty directory that was written to.
    Box(PathBuf),
}

impl Scene {
    pub(super) fn of(call: &Call<'_>, spec: &CommandSpec<'_>, stage: &Stage, names: &Names) -> Result<Self, Error> {
        // The kernel's own clock for files, which may be a little behind the other one.
        let mark = stage.directory("mark")?;
        let began = std::fs::metadata(&mark).and_then(|meta| meta.modified());
        let began = began.map_err(|source| Error::Host { path: mark, source })?;
        let mut scene = Self { shown: Vec::new(), served: None, layers: Vec::new(), began, notes: Vec::new() };
        // Where outputs are read by pages is nothing for commands.
        let is_shown = |workspace: &&Workspace| !workspace.is_aside();
        let mut shown = spec.vfs.workspaces().iter().filter(is_shown);
        if shown.any(|workspace| workspace.host_directory().is_none()) {
            scene.served = Some(ServedPlaces::of(call, spec.vfs, spec.settings.limits.memory)?);
        }
        for (n, workspace) in spec.vfs.workspaces().iter().filter(is_shown).enumerate() {
            let around = Around { spec, stage, names };
            match workspace.host_directory() {
                Some(host) => scene.show(&around, n, workspace, host)?,
                None => scene.show_served(&around, n, workspace)?,
            }
        }
        Ok(scene)
    }

    /// One that is no directory of the host. In a write-only one files are put as in any other.
    fn show_served(&mut self, around: &Around<'_>, n: usize, workspace: &Workspace) -> Result<(), Error> {
        let prefix = workspace.prefix();
        if workspace.scope() == AccessScope::WriteOnly {
            let place = Place::of(around, workspace, prefix.clone(), PathBuf::new(), None, RelPath::HERE)?;
            return self.place(around, n, place);
        }
        let Some(served) = &self.served else { return Ok(()) };
        let inside = around.spec.directory.below(prefix).filter(|rel| around.spec.confined && !rel.is_here());
        let at = match inside.filter(|_| is_routed_to(around.spec, workspace)) {
            Some(rel) => {
                let nothing = around.stage.directory(&format!("around-{n}"))?;
                around.stage.directory(&format!("around-{n}/{}", rel.as_str()))?;
                self.shown.push(Shown::host(prefix.as_str(), nothing, How::ReadOnly));
                around.spec.directory
            }
            None => prefix,
        };
        let how = if workspace.scope() == AccessScope::ReadOnly { How::ReadOnly } else { How::Direct };
        let what = What::Fuse(served.serve(at, workspace.scope()));
        let at = PathBuf::from(at.as_str());
        self.shown.push(Shown { at, what, how, masks: Vec::new(), guarded: Vec::new(), opened: None });
        Ok(())
    }

    fn show(&mut self, around: &Around<'_>, n: usize, workspace: &Workspace, host: &Path) -> Result<(), Error> {
        let spec = around.spec;
        let inside = spec.directory.below(workspace.prefix()).filter(|rel| spec.confined && !rel.is_here());
        if let Some(rel) = inside.filter(|_| is_routed_to(spec, workspace)) {
            return self.confine(around, n, workspace, host, rel);
        }
        let opened = match open_plain(host, RelPath::HERE) {
            Ok(opened) => Some(opened),
            Err(Errno::NOENT) => None,
            Err(_) => {
                let at = PathBuf::from(workspace.prefix().as_str());
                return Err(Error::Place { at, why: "its directory cannot be opened" });
            }
        };
        let prefix = workspace.prefix().clone();
        let place = Place::of(around, workspace, prefix, host.to_owned(), opened, RelPath::HERE)?;
        self.place(around, n, place)
    }

    /// Only one directory of a Workspace: nothing else of it is there.
    fn confine(
        &mut self,
        around: &Around<'_>,
        n: usize,
        workspace: &Workspace,
        host: &Path,
        rel: RelPath<'_>,
    ) -> Result<(), Error> {
        let prefix = around.spec.directory.clone();
        // A link would lead to a place that was never judged. What is open here is what the command gets, or nothing.
        let Ok(opened) = open_plain(host, rel) else {
            let at = PathBuf::from(prefix.as_str());
            return Err(Error::Place { at, why: "there is no such directory to be confined to" });
        };
        let nothing = around.stage.directory(&format!("around-{n}"))?;
        around.stage.directory(&format!("around-{n}/{}", rel.as_str()))?;
        self.shown.push(Shown::host(workspace.prefix().as_str(), nothing, How::ReadOnly));
        let place = Place::of(around, workspace, prefix, host.join(rel.as_str()), Some(opened), rel)?;
        self.place(around, n, place)
    }

    fn place(&mut self, around: &Around<'_>, n: usize, place: Place) -> Result<(), Error> {
        let Place { prefix, scope, host, opened, masks, guarded } = place;
        let stage = around.stage;
        let at = PathBuf::from(prefix.as_str());
        // One that is not there yet is empty; the first change makes it.
        let (base, opened) = match opened {
            Some(opened) => (host, opened),
            None => {
                let empty = stage.directory(&format!("empty-{n}"))?;
                let gone = |_| Error::Place { at: at.clone(), why: "its place cannot be made" };
                let opened = open_plain(&empty, RelPath::HERE).map_err(gone)?;
                (empty, opened)
            }
        };
        let mut opened = Some(opened);
        let (what, how, masks) = match scope {
            AccessScope::ReadOnly => (base, How::ReadOnly, masks),
            AccessScope::ReadWrite if around.spec.settings.direct => (base, How::Direct, masks),
            AccessScope::ReadWrite => {
                let layer = sandbox::Stage {
                    upper: stage.directory(&format!("upper-{n}"))?,
                    work: stage.directory(&format!("work-{n}"))?,
                    held: Vec::new(),
                };
                if let Some(opened) = opened.clone() {
                    let from = From::Upper { stage: layer.clone(), base: base.clone(), opened };
                    self.layers.push(Layer { prefix, from });
                }
                (base, How::Staged(layer), masks)
            }
            AccessScope::WriteOnly => {
                let layer = sandbox::Stage {
                    upper: stage.directory(&format!("box-{n}"))?,
                    work: stage.directory(&format!("work-{n}"))?,
                    held: Vec::new(),
                };
                opened = None;
                self.layers.push(Layer { prefix, from: From::Box(layer.upper.clone()) });
                (stage.directory(&format!("below-{n}"))?, How::Dropped(layer), Vec::new())
            }
        };
        self.shown.push(Shown { at, what: What::Host(what), how, masks, guarded, opened });
        Ok(())
    }
}

/// What a place is shown with.
struct Around<'a> {
    spec: &'a CommandSpec<'a>,
    stage: &'a Stage,
    names: &'a Names,
}

/// A Workspace, or the part of one that is shown.
struct Place {
    prefix: LogicalPath,
    scope: AccessScope,
    host: PathBuf,
    /// The directory of the host, where it is there.
    opened: Option<Arc<OwnedFd>>,
    masks: Vec<PathBuf>,
    guarded: Vec<PathBuf>,
}

impl Place {
    fn of(
        around: &Around<'_>,
        workspace: &Workspace,
        prefix: LogicalPath,
        host: PathBuf,
        opened: Option<Arc<OwnedFd>>,
        above: RelPath<'_>,
    ) -> Result<Self, Error> {
        let (rules, scope, above) = (workspace.names(), workspace.scope(), Path::new(above.as_str()));
        let direct = around.spec.settings.direct && scope == AccessScope::ReadWrite;
        let find = |wanted| {
            // Nothing is there yet, or nothing of it is shown.
            if opened.is_none() || scope == AccessScope::WriteOnly {
                return Ok(Vec::new());
            }
            around.names.below(&host, rules, above, wanted).map_err(|error| {
                tracing::warn!(%error, at = prefix.as_str(), "hidden names cannot be looked for");
                let at = PathBuf::from(prefix.as_str());
                Error::Place { at, why: "what is hidden in a Workspace cannot be looked for" }
            })
        };
        let masks = find(if direct { Wanted::HiddenOrReachable } else { Wanted::Hidden })?;
        // A staged change is judged when the command has ended.
        let mut guarded = if direct { find(Wanted::Guarded)? } else { Vec::new() };
        if direct {
            let spared = around.spec.spared.iter().filter_map(|path| path.below(&prefix));
            guarded.extend(spared.filter(|rel| !rel.is_here()).map(|rel| PathBuf::from(rel.as_str())));
        }
        Ok(Self { prefix, scope, host, opened, masks, guarded })
    }
}

/// A directory below another, with no link on the way, opened.
fn open_plain(top: &Path, rel: RelPath<'_>) -> Result<Arc<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let top = rustix::fs::openat2(CWD, top, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    if rel.is_here() {
        return Ok(Arc::new(top));
    }
    rustix::fs::openat2(top, rel.as_str(), flags, Mode::empty(), resolve).map(Arc::new)
}

/// Does the directory that the command is confined to belong to this Workspace?
fn is_routed_to(spec: &CommandSpec<'_>, workspace: &Workspace) -> bool {
    let decision = spec.vfs.judge(paddock_core::OpKind::Read, spec.directory);
    decision.workspace().is_some_and(|routed| routed.prefix() == workspace.prefix())
}
