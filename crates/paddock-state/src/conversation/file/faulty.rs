//! Files in memory that stop, fail, or lose what was not synced: for the tests of crashes.
//!
//! Every write, sync, truncation, rename and sync of a directory is one step, and the world can end at any of them. What a process
//! that is killed leaves is everything up to there. What a loss of power leaves is less: of the steps on a file since its last sync some
//! first ones count, and of what they wrote any block may be zeros.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::layer::{Files, Lock, OneFile};

/// How much of a file is written to the disk in one piece.
const BLOCK: usize = 64;

/// What happens at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It and everything after it fails; of a write, that many hundredths were done.
    Stop { done: usize },
    /// It alone fails; of a write, that many hundredths were done.
    FailOnce { done: usize },
}

#[derive(Debug, Clone)]
enum Step {
    Write { at: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl Step {
    fn apply(&self, content: &mut Vec<u8>, keeps: &mut dyn FnMut() -> bool) {
        match self {
            Self::Truncate(len) => content.resize(*len, 0),
            Self::Write { at, bytes } => {
                if content.len() < at + bytes.len() {
                    content.resize(at + bytes.len(), 0);
                }
                for (index, block) in bytes.chunks(BLOCK).enumerate() {
                    let start = at + index * BLOCK;
                    let kept = keeps();
                    let written: Vec<u8> = block.iter().map(|byte| if kept { *byte } else { 0 }).collect();
                    content[start..start + block.len()].copy_from_slice(&written);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Inode {
    now: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Step>,
}

#[derive(Debug, Default)]
struct World {
    inodes: Vec<Inode>,
    names: HashMap<PathBuf, usize>,
    durable_names: HashMap<PathBuf, usize>,
    renames: Vec<(PathBuf, PathBuf)>,
    steps: u64,
    fault: Option<(u64, Fault)>,
    stopped: bool,
}

impl World {
    /// Counts a step; says how much of it happens, and whether it is told as done.
    fn step(&mut self) -> (usize, io::Result<()>) {
        self.steps += 1;
        if self.stopped {
            return (0, Err(io::Error::other("stopped")));
        }
        match self.fault {
            Some((at, fault)) if at == self.steps => {
                let (Fault::Stop { done } | Fault::FailOnce { done }) = fault;
                self.stopped = matches!(fault, Fault::Stop { .. });
                (done, Err(io::Error::other("the chosen step")))
            }
            _ => (100, Ok(())),
        }
    }
}

/// The files; clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultyFiles(Arc<Mutex<World>>);

impl FaultyFiles {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Files that are there, empty and lasting.
    pub(super) fn with(paths: &[&Path]) -> Self {
        let files = Self::default();
        {
            let mut world = files.world();
            for path in paths {
                let inode = world.inodes.len();
                world.inodes.push(Inode::default());
                world.names.insert(path.to_path_buf(), inode);
                world.durable_names.insert(path.to_path_buf(), inode);
            }
        }
        files
    }

    /// Lets the step with that number from now on go wrong.
    pub(super) fn fault(&self, at: u64, fault: Fault) {
        let mut world = self.world();
        world.steps = 0;
        world.fault = Some((at, fault));
    }

    /// Whether the chosen step was reached.
    pub(super) fn was_reached(&self) -> bool {
        let world = self.world();
        world.fault.is_some_and(|(at, _)| world.steps >= at)
    }

    pub(super) fn content(&self, path: &Path) -> Vec<u8> {
        let world = self.world();
        world.inodes[world.names[path]].now.clone()
    }

    /// Somebody else shortens a file.
    pub(super) fn cut(&self, path: &Path, len: usize) {
        let mut world = self.world();
        let inode = world.names[path];
        world.inodes[inode].now.truncate(len);
    }

    pub(super) fn steps(&self) -> u64 {
        self.world().steps
    }

    /// What is there after the process was killed.
    pub(super) fn after_kill(&self) -> Self {
        let old = self.world();
        let inodes = old.inodes.iter().map(|inode| Inode { now: inode.now.clone(), ..Inode::default() });
        let world = World { inodes: inodes.collect(), names: old.names.clone(), ..World::default() };
        Self(Arc::new(Mutex::new(world)))
    }

    /// What is there after the power was lost; `keeps` decides what was written in time.
    pub(super) fn after_power_loss(&self, keeps: &mut dyn FnMut() -> bool) -> Self {
        let old = self.world();
        let mut inodes = Vec::new();
        for inode in &old.inodes {
            let mut content = inode.durable.clone();
            for step in &inode.unsynced {
                if !keeps() {
                    break;
                }
                step.apply(&mut content, keeps);
            }
            inodes.push(Inode { now: content.clone(), durable: content, unsynced: Vec::new() });
        }
        let mut names = old.durable_names.clone();
        for (from, to) in &old.renames {
            if !keeps() {
                break;
            }
            let moved = names.remove(from).or_else(|| old.names.get(to).copied());
            names.insert(to.clone(), moved.unwrap());
        }
        let durable_names = names.clone();
        Self(Arc::new(Mutex::new(World { inodes, names, durable_names, ..World::default() })))
    }
}

impl Files for FaultyFiles {
    type File = FaultyFile;

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let inode = self.world().names.get(path).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(FaultyFile { files: self.clone(), inode })
    }

    fn create(&self, path: &Path, anew: bool) -> io::Result<FaultyFile> {
        let mut world = self.world();
        let inode = match world.names.get(path) {
            Some(inode) => *inode,
            None => {
                world.inodes.push(Inode::default());
                let inode = world.inodes.len() - 1;
                world.names.insert(path.to_owned(), inode);
                inode
            }
        };
        drop(world);
        let file = FaultyFile { files: self.clone(), inode };
        if anew {
            file.truncate(0)?;
        }
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world();
        let (done, told) = world.step();
        if done == 100 {
            let inode = world.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
            world.names.insert(to.to_owned(), inode);
            world.renames.push((from.to_owned(), to.to_owned()));
        }
        told
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        let mut world = self.world();
        let (done, told) = world.step();
        if done == 100 {
            world.durable_names = world.names.clone();
            world.renames.clear();
        }
        told
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct FaultyFile {
    files: FaultyFiles,
    inode: usize,
}

impl FaultyFile {
    fn change(&self, step: impl FnOnce(usize) -> Step) -> io::Result<()> {
        let mut world = self.files.world();
        let (done, told) = world.step();
        if done > 0 {
            let step = step(done);
            let inode = &mut world.inodes[self.inode];
            step.apply(&mut inode.now, &mut || true);
            inode.unsynced.push(step);
        }
        told
    }
}

impl OneFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.files.world().inodes[self.inode].now.len() as u64)
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        let world = self.files.world();
        let content = &world.inodes[self.inode].now;
        let from = usize::try_from(at).unwrap().min(content.len());
        let n = out.len().min(content.len() - from);
        out[..n].copy_from_slice(&content[from..from + n]);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let at = usize::try_from(at).unwrap();
        self.change(|done| Step::Write { at, bytes: bytes[..bytes.len() * done / 100].to_vec() })
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.change(|_| Step::Truncate(usize::try_from(len).unwrap()))
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.files.world();
        let (done, told) = world.step();
        if done == 100 {
            let inode = &mut world.inodes[self.inode];
            inode.durable = inode.now.clone();
            inode.unsynced.clear();
        }
        told
    }

    fn lock(&self, _: Lock) -> io::Result<()> {
        Ok(())
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }
}
