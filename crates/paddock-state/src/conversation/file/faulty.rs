//! Files in memory that stop, fail, or lose what was not synced: for the tests of crashes.
//!
//! Every write, sync, truncation, rename, new name, removal and sync of a directory is one step, and the world can end at any of them.
//! What a process that is killed leaves is everything up to there. What a loss of power leaves is less: of the steps on a file since
//! its last sync some first ones count, and of what they wrote any block may be zeros; of what happened to the names in a directory
//! since *its* last sync, some first ones count. A name that does not last takes along what is below it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard};

use super::layer::{Files, Lock, OneFile, Over};

/// How much of a file is written to the disk in one piece.
const BLOCK: usize = 64;
/// The directory that everything is below.
const ROOT: usize = 0;

/// A random but repeatable decision.
pub(crate) fn decisions(seed: u64) -> impl FnMut() -> bool {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state & 1 == 0
    }
}

/// What happens at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
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

type Names = BTreeMap<String, usize>;

/// What happens to the names in a directory.
#[derive(Debug, Clone)]
enum Naming {
    Add(String, usize),
    Move(String, String),
    Swap(String, String),
    Remove(String),
}

impl Naming {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Add(name, inode) => drop(names.insert(name.clone(), *inode)),
            Self::Remove(name) => drop(names.remove(name)),
            Self::Move(from, to) => {
                let moved = names.remove(from).unwrap();
                names.insert(to.clone(), moved);
            }
            Self::Swap(one, other) => {
                let (first, second) = (names[one], names[other]);
                names.insert(one.clone(), second);
                names.insert(other.clone(), first);
            }
        }
    }
}

/// Something with a name: as it is, as it was when it was last synced, and what was done to it since.
#[derive(Debug, Clone)]
enum Node {
    File { now: Vec<u8>, durable: Vec<u8>, unsynced: Vec<Step> },
    Directory { now: Names, durable: Names, unsynced: Vec<Naming> },
}

impl Node {
    fn file(content: Vec<u8>) -> Self {
        Self::File { durable: content.clone(), now: content, unsynced: Vec::new() }
    }

    fn directory(names: Names) -> Self {
        Self::Directory { durable: names.clone(), now: names, unsynced: Vec::new() }
    }

    fn names(&self) -> io::Result<&Names> {
        match self {
            Self::Directory { now, .. } => Ok(now),
            Self::File { .. } => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn content(&self) -> &Vec<u8> {
        match self {
            Self::File { now, .. } => now,
            Self::Directory { .. } => panic!("a directory is read as a file"),
        }
    }

    fn name(&mut self, naming: Naming) {
        let Self::Directory { now, unsynced, .. } = self else { panic!("a name in a file") };
        naming.apply(now);
        unsynced.push(naming);
    }

    fn sync(&mut self) {
        *self = self.after_kill();
    }

    fn after_kill(&self) -> Self {
        match self {
            Self::File { now, .. } => Self::file(now.clone()),
            Self::Directory { now, .. } => Self::directory(now.clone()),
        }
    }

    fn after_power_loss(&self, keeps: &mut dyn FnMut() -> bool) -> Self {
        match self {
            Self::File { durable, unsynced, .. } => {
                let mut content = durable.clone();
                for step in unsynced {
                    if !keeps() {
                        break;
                    }
                    step.apply(&mut content, keeps);
                }
                Self::file(content)
            }
            Self::Directory { durable, unsynced, .. } => {
                let mut names = durable.clone();
                unsynced.iter().take_while(|_| keeps()).for_each(|naming| naming.apply(&mut names));
                Self::directory(names)
            }
        }
    }
}

type AtLock = Box<dyn FnOnce(&FaultyFiles) + Send>;

struct World {
    nodes: Vec<Node>,
    steps: u64,
    syncs: u64,
    fault: Option<(u64, Fault)>,
    stopped: bool,
    at_lock: Option<AtLock>,
}

impl World {
    fn of(nodes: Vec<Node>) -> Self {
        Self { nodes, steps: 0, syncs: 0, fault: None, stopped: false, at_lock: None }
    }

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

    /// A step that happens or does not.
    fn whole_step(&mut self, work: impl FnOnce(&mut Self)) -> io::Result<()> {
        let (done, told) = self.step();
        if done == 100 {
            work(self);
        }
        told
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut at = ROOT;
        for part in path.components().filter(|part| *part != Component::RootDir) {
            let name = part.as_os_str().to_str().unwrap();
            at = *self.nodes[at].names()?.get(name).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(at)
    }

    /// The directory that a path is in, and its name there.
    fn place(&self, path: &Path) -> io::Result<(usize, String)> {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        Ok((self.find(path.parent().unwrap())?, name))
    }

    /// Gives something new a name.
    fn add(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        let (directory, name) = self.place(path)?;
        if self.nodes[directory].names()?.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = self.nodes.len();
        self.whole_step(|world| {
            world.nodes.push(node);
            world.nodes[directory].name(Naming::Add(name, inode));
        })?;
        Ok(inode)
    }
}

/// The files; clones are the same ones.
#[derive(Clone)]
pub(crate) struct FaultyFiles(Arc<Mutex<World>>);

impl FaultyFiles {
    fn of(nodes: Vec<Node>) -> Self {
        Self(Arc::new(Mutex::new(World::of(nodes))))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Directories that are there, empty and lasting; each after the one that it is in.
    pub(crate) fn with(directories: &[&Path]) -> Self {
        let files = Self::of(vec![Node::directory(Names::new())]);
        directories.iter().for_each(|path| files.make_directory(path).unwrap());
        files.synced()
    }

    /// All that is there now lasts.
    pub(crate) fn synced(self) -> Self {
        self.world().nodes.iter_mut().for_each(Node::sync);
        self
    }

    /// Lets the step with that number from now on go wrong.
    pub(crate) fn fault(&self, at: u64, fault: Fault) {
        let mut world = self.world();
        world.steps = 0;
        world.fault = Some((at, fault));
    }

    /// Whether the chosen step was reached.
    pub(crate) fn was_reached(&self) -> bool {
        let world = self.world();
        world.fault.is_some_and(|(at, _)| world.steps >= at)
    }

    /// What somebody else does when a file is next to be locked.
    pub(crate) fn at_lock(&self, work: impl FnOnce(&Self) + Send + 'static) {
        self.world().at_lock = Some(Box::new(work));
    }

    pub(crate) fn content(&self, path: &Path) -> Vec<u8> {
        let world = self.world();
        world.nodes[world.find(path).unwrap()].content().clone()
    }

    /// The names in a directory; none where there is no such directory.
    pub(crate) fn names(&self, path: &Path) -> Vec<String> {
        let world = self.world();
        let Ok(directory) = world.find(path) else { return Vec::new() };
        world.nodes[directory].names().unwrap().keys().cloned().collect()
    }

    /// Somebody else writes a file anew, lastingly.
    pub(crate) fn put(&self, path: &Path, content: Vec<u8>) {
        let mut world = self.world();
        let inode = world.find(path).unwrap();
        world.nodes[inode] = Node::file(content);
    }

    pub(crate) fn steps(&self) -> u64 {
        self.world().steps
    }

    /// How often anything was synced.
    pub(crate) fn syncs(&self) -> u64 {
        self.world().syncs
    }

    /// The process was killed, and another comes: what was not synced still is not.
    pub(crate) fn restart(&self) {
        let mut world = self.world();
        (world.stopped, world.fault) = (false, None);
    }

    /// What is there after the process was killed.
    pub(crate) fn after_kill(&self) -> Self {
        Self::of(self.world().nodes.iter().map(Node::after_kill).collect())
    }

    /// What is there after the power was lost; `keeps` decides what was written in time.
    pub(crate) fn after_power_loss(&self, keeps: &mut dyn FnMut() -> bool) -> Self {
        Self::of(self.world().nodes.iter().map(|node| node.after_power_loss(keeps)).collect())
    }
}

impl Files for FaultyFiles {
    type File = FaultyFile;

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let inode = self.world().find(path)?;
        Ok(FaultyFile { files: self.clone(), inode })
    }

    fn open_to_write(&self, path: &Path) -> io::Result<FaultyFile> {
        self.open(path)
    }

    fn create(&self, path: &Path, anew: bool) -> io::Result<FaultyFile> {
        match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let inode = self.world().add(path, Node::file(Vec::new()))?;
                Ok(FaultyFile { files: self.clone(), inode })
            }
            Ok(file) if anew => file.truncate(0).map(|()| file),
            found => found,
        }
    }

    fn rename(&self, from: &Path, to: &Path, over: Over) -> io::Result<()> {
        let mut world = self.world();
        let ((directory, from), (other, to)) = (world.place(from)?, world.place(to)?);
        assert_eq!(directory, other, "what is renamed stays in its directory");
        let names = world.nodes[directory].names()?;
        match (names.contains_key(&from), names.contains_key(&to), over) {
            (false, ..) | (_, false, Over::Another) => return Err(io::ErrorKind::NotFound.into()),
            (_, true, Over::Nothing) => return Err(io::ErrorKind::AlreadyExists.into()),
            _ => {}
        }
        let naming = if over == Over::Another { Naming::Swap(from, to) } else { Naming::Move(from, to) };
        world.whole_step(|world| world.nodes[directory].name(naming))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.world().add(path, Node::directory(Names::new())).map(drop)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.find(path)?;
        let (directory, name) = world.place(path)?;
        world.whole_step(|world| world.nodes[directory].name(Naming::Remove(name)))
    }

    fn is_at(&self, file: &FaultyFile, path: &Path) -> io::Result<bool> {
        Ok(self.world().find(path).is_ok_and(|inode| inode == file.inode))
    }

    fn names_in(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let world = self.world();
        let names = world.nodes[world.find(directory)?].names()?;
        Ok(names.keys().map(OsString::from).collect())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        let directory = world.find(path)?;
        world.syncs += 1;
        world.whole_step(|world| world.nodes[directory].sync())
    }
}

/// An open file.
pub(crate) struct FaultyFile {
    files: FaultyFiles,
    inode: usize,
}

impl FaultyFile {
    fn change(&self, step: impl FnOnce(usize) -> Step) -> io::Result<()> {
        let mut world = self.files.world();
        let (done, told) = world.step();
        if done > 0 {
            let step = step(done);
            let Node::File { now, unsynced, .. } = &mut world.nodes[self.inode] else { panic!("no file") };
            step.apply(now, &mut || true);
            unsynced.push(step);
        }
        told
    }
}

impl OneFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.files.world().nodes[self.inode].content().len() as u64)
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        let world = self.files.world();
        let content = world.nodes[self.inode].content();
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
        world.syncs += 1;
        world.whole_step(|world| world.nodes[self.inode].sync())
    }

    fn lock(&self, _: Lock) -> io::Result<()> {
        let work = self.files.world().at_lock.take();
        if let Some(work) = work {
            work(&self.files);
        }
        Ok(())
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }
}
