//! What a command sees of the Workspaces, each in the way its Access Scope wants it.
//!
//! A read-only one is shown read-only; a read-write one with a layer on top that takes the changes; a write-only one as an
//! empty drop box, so that not even the size of what is there can be seen. Hidden names are not there. A command that is
//! confined to a directory sees nothing else of its Workspace.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use paddock_core::{AccessScope, CommandSpec, LogicalPath, NameRules, RelPath, Workspace};

use super::stage::Stage;
use crate::error::Error;
use crate::sandbox::{self, How, Shown, What};

/// What a command sees, and where its changes will be.
pub(super) struct Scene {
    pub(super) shown: Vec<Shown>,
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
    Upper { stage: sandbox::Stage, base: PathBuf },
    /// An empty directory that was written to.
    Box(PathBuf),
}

impl Scene {
    pub(super) fn of(spec: &CommandSpec<'_>, stage: &Stage) -> Result<Self, Error> {
        // The kernel's own clock for files, which may be a little behind the other one.
        let mark = stage.directory("mark")?;
        let began = std::fs::metadata(&mark).and_then(|meta| meta.modified());
        let began = began.map_err(|source| Error::Host { path: mark, source })?;
        let mut scene = Self { shown: Vec::new(), layers: Vec::new(), began, notes: Vec::new() };
        for (n, workspace) in spec.vfs.workspaces().iter().enumerate() {
            let Some(host) = workspace.host_directory() else {
                scene.notes.push(format!("{} is not shown to commands.", workspace.prefix()));
                continue;
            };
            scene.show(spec, stage, n, workspace, host)?;
        }
        Ok(scene)
    }

    fn show(
        &mut self,
        spec: &CommandSpec<'_>,
        stage: &Stage,
        n: usize,
        workspace: &Workspace,
        host: &Path,
    ) -> Result<(), Error> {
        let inside = spec.directory.below(workspace.prefix()).filter(|rel| spec.confined && !rel.is_here());
        let is_here = inside.is_some() && is_routed_to(spec, workspace);
        if let (Some(rel), true) = (inside, is_here) {
            return self.confine(spec, stage, n, workspace, &host.join(rel.as_str()), rel);
        }
        let masks = hidden(host, workspace.names(), RelPath::HERE);
        self.place(spec, stage, n, workspace.prefix().clone(), workspace.scope(), host.to_owned(), masks)
    }

    /// Only one directory of a Workspace: nothing else of it is there.
    fn confine(
        &mut self,
        spec: &CommandSpec<'_>,
        stage: &Stage,
        n: usize,
        workspace: &Workspace,
        host: &Path,
        rel: RelPath<'_>,
    ) -> Result<(), Error> {
        if !host.is_dir() {
            let at = PathBuf::from(spec.directory.as_str());
            return Err(Error::Place { at, why: "there is no such directory to be confined to" });
        }
        let around = stage.directory(&format!("around-{n}"))?;
        stage.directory(&format!("around-{n}/{}", rel.as_str()))?;
        self.shown.push(Shown::host(workspace.prefix().as_str(), around, How::ReadOnly));
        let masks = hidden(host, workspace.names(), rel);
        self.place(spec, stage, n, spec.directory.clone(), workspace.scope(), host.to_owned(), masks)
    }

    #[expect(clippy::too_many_arguments, reason = "one call site each for a whole Workspace and for a part of one")]
    fn place(
        &mut self,
        spec: &CommandSpec<'_>,
        stage: &Stage,
        n: usize,
        prefix: LogicalPath,
        scope: AccessScope,
        host: PathBuf,
        masks: Vec<PathBuf>,
    ) -> Result<(), Error> {
        let at = PathBuf::from(prefix.as_str());
        // One that is not there yet is empty; the first change makes it.
        let base = if host.is_dir() { host } else { stage.directory(&format!("empty-{n}"))? };
        let (what, how) = match scope {
            AccessScope::ReadOnly => (base, How::ReadOnly),
            AccessScope::ReadWrite if spec.settings.direct => (base, How::Direct),
            AccessScope::ReadWrite => {
                let layer = sandbox::Stage {
                    upper: stage.directory(&format!("upper-{n}"))?,
                    work: stage.directory(&format!("work-{n}"))?,
                    held: Vec::new(),
                };
                self.layers.push(Layer { prefix, from: From::Upper { stage: layer.clone(), base: base.clone() } });
                (base, How::Staged(layer))
            }
            AccessScope::WriteOnly => {
                let dropped = stage.directory(&format!("box-{n}"))?;
                self.layers.push(Layer { prefix, from: From::Box(dropped.clone()) });
                (dropped, How::WriteOnly)
            }
        };
        let masks = if scope == AccessScope::WriteOnly { Vec::new() } else { masks };
        self.shown.push(Shown { at, what: What::Host(what), how, masks, guarded: Vec::new() });
        Ok(())
    }
}

/// Does the directory that the command is confined to belong to this Workspace?
fn is_routed_to(spec: &CommandSpec<'_>, workspace: &Workspace) -> bool {
    let decision = spec.vfs.judge(paddock_core::OpKind::Read, spec.directory);
    decision.workspace().is_some_and(|routed| routed.prefix() == workspace.prefix())
}

/// Every hidden path below a directory, relative to it. What is below a hidden one is hidden with it.
fn hidden(host: &Path, names: &NameRules, above: RelPath<'_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(dir) = left.pop() {
        let Ok(entries) = std::fs::read_dir(host.join(&dir)) else { continue };
        for entry in entries.flatten() {
            let path = dir.join(entry.file_name());
            let rel = Path::new(above.as_str()).join(&path);
            if names.hides_entry(&rel.to_string_lossy()).is_some() {
                found.push(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
            }
        }
    }
    found
}
