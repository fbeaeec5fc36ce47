//! From what a caller says to what the child does: everything that needs memory, decided before the clone.
//!
//! Owns the order of the places (an outer Workspace before what is nested in it), where each is mounted and how, and
//! the check that no Workspace takes a name of the system. It must never leave a decision to the child.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};

use crate::error::Error;
use crate::landlock;
use crate::protections::Protections;
use crate::sandbox::{Command, How, Network, Sandbox, Shown, Stage, What};
use crate::seccomp;
use crate::steps::{Layers, Seen, Served, Step};
use crate::sys::{self, Strings};
use crate::system;
use crate::veil;

/// Where programs are looked for when the caller says nothing.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Everything that the child needs, ready to be read.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) protections: Protections,
    pub(crate) flags: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) scratch_size: CString,
    pub(crate) scratch_files: CString,
    pub(crate) rules: landlock::Rules,
    pub(crate) filter: Vec<seccompiler::sock_filter>,
    pub(crate) programs: Vec<CString>,
    pub(crate) arguments: Strings,
    pub(crate) variables: Strings,
    pub(crate) directory: CString,
    pub(crate) limits: Vec<(Resource, Rlimit)>,
    /// Keeps the number of processes where nothing else can.
    pub(crate) pid_max: Option<Vec<u8>>,
    pub(crate) port: Option<u16>,
    /// Guarded paths of direct Workspaces that are absent: where they would be on the host, and as the command sees them.
    pub(crate) absent: Vec<(PathBuf, PathBuf)>,
}

/// Plans a run. What is served from outside is taken out of the description.
pub(crate) fn plan(sandbox: &mut Sandbox) -> Result<(Plan, Served), Error> {
    let protections = sandbox.protections;
    if protections.landlock && sys::landlock_version() < landlock::NEEDED {
        return Err(Error::Missing { missing: "Landlock".to_owned(), remedy: landlock::REMEDY.to_owned() });
    }
    sandbox.shown.sort_by(|one, other| one.at.cmp(&other.at));
    let mut places = Places { protections, ..Places::default() };
    for at in 0..sandbox.shown.len() {
        places.add(&sandbox.shown, at, &sandbox.command.tools)?;
    }
    for tool in &sandbox.command.tools {
        places.tool(tool, &sandbox.shown)?;
    }
    let rules = landlock::rules(&sandbox.shown, &sandbox.command.tools);
    let served = take_served(sandbox);
    let command = &sandbox.command;
    let variables = variables(command, protections);
    let port = match &command.network {
        Network::None => None,
        Network::Proxy { port, .. } => Some(*port),
    };
    let plan = Plan {
        protections,
        flags: namespaces(protections),
        steps: places.steps,
        scratch_size: text(command.limits.tmp_size.to_string(), "a size")?,
        // An empty file takes memory too, of which its size says nothing.
        scratch_files: text((command.limits.tmp_size / 4096 + 4096).to_string(), "a number")?,
        rules,
        filter: seccomp::filter(port.is_some()),
        programs: programs(command, &variables)?,
        arguments: Strings::new(texts(&command.arguments, "an argument")?),
        variables: Strings::new(texts(&variables, "a variable")?),
        directory: text(command.directory.as_os_str(), "the directory")?,
        limits: Vec::new(),
        pid_max: None,
        port,
        absent: places.absent,
    };
    Ok((plan, served))
}

fn namespaces(protections: Protections) -> u64 {
    let mut flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    if protections.processes {
        flags |= libc::CLONE_NEWPID;
    }
    if protections.network {
        flags |= libc::CLONE_NEWNET;
    }
    if protections.ipc {
        flags |= libc::CLONE_NEWIPC;
    }
    flags as u64
}

fn take_served(sandbox: &mut Sandbox) -> Served {
    let mut file_systems = Vec::new();
    for shown in &mut sandbox.shown {
        if let What::Fuse(serve) = std::mem::replace(&mut shown.what, What::Host(PathBuf::new())) {
            file_systems.push(serve);
        }
    }
    let listener = match std::mem::replace(&mut sandbox.command.network, Network::None) {
        Network::None => None,
        Network::Proxy { port, serve } => {
            sandbox.command.network = Network::Proxy { port, serve: Box::new(drop) };
            Some(serve)
        }
    };
    Served { file_systems, listener }
}

/// Collects the steps that put the Workspaces and tools in their places.
#[derive(Default)]
struct Places {
    protections: Protections,
    steps: Vec<Step>,
    /// Directories of the new system that are made already.
    made: BTreeMap<PathBuf, ()>,
    absent: Vec<(PathBuf, PathBuf)>,
}

impl Places {
    fn add(&mut self, all: &[Shown], index: usize, tools: &[PathBuf]) -> Result<(), Error> {
        let shown = &all[index];
        if shown.at == Path::new("/") {
            return self.ground(all, shown, tools);
        }
        check_place(&shown.at)?;
        if all[..index].iter().any(|other| other.at == shown.at) {
            return Err(Error::Place { at: shown.at.clone(), why: "another Workspace is at the same place" });
        }
        let at = relative(&shown.at)?;
        if outer(all, &shown.at).is_none() {
            self.make(&shown.at)?;
        }
        let What::Host(from) = &shown.what else {
            self.steps.push(Step::Fuse { at });
            return Ok(());
        };
        match &shown.how {
            How::ReadOnly if !self.protections.sockets => {
                let from = seen_as(shown, from)?;
                self.steps.push(Step::Bind { from, at, read_only: self.protections.read_only });
            }
            How::ReadOnly => self.overlay(all, shown, from, None)?,
            How::Staged(stage) => {
                self.overlay(all, shown, from, Some(fresh(stage, shown)?))?;
            }
            How::Direct => self.direct(shown, from, at)?,
            How::WriteOnly => {
                self.refuse_readable(all, shown, from)?;
                self.steps.push(Step::Bind { from: seen_as(shown, from)?, at, read_only: false });
            }
            How::Dropped(stage) => {
                self.refuse_readable(all, shown, from)?;
                self.overlay(all, shown, from, Some(fresh(stage, shown)?))?;
            }
        }
        Ok(())
    }

    /// A Workspace at `/`: the system and everything else lie on it, so it must be layered and have none of their names.
    fn ground(&mut self, all: &[Shown], shown: &Shown, tools: &[PathBuf]) -> Result<(), Error> {
        let refused = |why| Err(Error::Place { at: shown.at.clone(), why });
        let (What::Host(from), How::ReadOnly | How::Staged(_)) = (&shown.what, &shown.how) else {
            return refused("only a directory of the host that is read-only or staged can be there");
        };
        if !system::RESERVED.iter().all(|name| is_absent(&from.join(name))) {
            return refused("one of its entries has a name that the system needs");
        }
        let upper = match &shown.how {
            How::Staged(stage) => Some(fresh(stage, shown)?),
            _ => None,
        };
        let places = tools.iter().filter(|tool| !is_system(tool));
        let mut inner = nested(all, &shown.at);
        inner.extend(places.filter_map(|tool| tool.strip_prefix("/").ok().map(Path::to_owned)));
        let layers = self.layers(shown, from, upper, &inner)?;
        self.steps.push(Step::Ground(Box::new(layers)));
        Ok(())
    }

    fn overlay(&mut self, all: &[Shown], shown: &Shown, from: &Path, upper: Option<(Seen, Seen)>) -> Result<(), Error> {
        let layers = self.layers(shown, from, upper, &nested(all, &shown.at))?;
        self.steps.push(Step::Overlay(Box::new(layers)));
        Ok(())
    }

    /// The layers of a Workspace, with places for what is mounted in it.
    fn layers(
        &self,
        shown: &Shown,
        from: &Path,
        upper: Option<(Seen, Seen)>,
        inner: &[PathBuf],
    ) -> Result<Layers, Error> {
        let held = match &shown.how {
            How::Staged(stage) => stage.held.iter().map(|held| seen(held)).collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        let masks: &[PathBuf] = if self.protections.masks { &shown.masks } else { &[] };
        let base = seen_as(shown, from)?;
        let veil = veil::entries(from, masks, inner)?;
        let veil_at = text(format!("veil{}", self.steps.len()), "a number")?;
        let at = relative(&shown.at)?;
        Ok(Layers { at, base, held, upper, veil_at, veil })
    }

    fn direct(&mut self, shown: &Shown, from: &Path, at: CString) -> Result<(), Error> {
        self.steps.push(Step::Bind { from: seen_as(shown, from)?, at, read_only: false });
        let mut pins = BTreeMap::new();
        let mut guards = Vec::new();
        for guarded in shown.guarded.iter().filter(|_| self.protections.guards) {
            if is_absent(&from.join(guarded)) {
                self.absent.push((from.join(guarded), shown.at.join(guarded)));
                continue;
            }
            let above = guarded.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            pins.extend(above.map(|above| (shown.at.join(above), ())));
            guards.push(Step::Guard { at: relative(&shown.at.join(guarded))? });
        }
        for pin in pins.keys().filter(|_| self.protections.pins) {
            self.steps.push(Step::Pin { at: relative(pin)? });
        }
        self.steps.append(&mut guards);
        for mask in shown.masks.iter().filter(|mask| self.protections.masks && !is_absent(&from.join(mask))) {
            self.steps.push(Step::Cover { at: relative(&shown.at.join(mask))? });
        }
        Ok(())
    }

    fn refuse_readable(&self, all: &[Shown], shown: &Shown, from: &Path) -> Result<(), Error> {
        let readable = outer(all, &shown.at).is_some_and(|outer| !outer.how.is_write_only());
        if readable && !is_empty(from)? {
            return Err(Error::Place {
                at: shown.at.clone(),
                why: "a WRITE_ONLY Workspace inside one that can be read must be an empty drop box",
            });
        }
        Ok(())
    }

    fn tool(&mut self, tool: &Path, all: &[Shown]) -> Result<(), Error> {
        if is_system(tool) {
            return Ok(());
        }
        check_place(tool)?;
        let ground = Path::new("/");
        let clashes = |shown: &Shown| shown.at.starts_with(tool) || tool.starts_with(&shown.at);
        if all.iter().any(|shown| shown.at != ground && clashes(shown)) {
            return Err(Error::Place { at: tool.to_owned(), why: "a Workspace is at the same place" });
        }
        if !all.iter().any(|shown| shown.at == ground) {
            self.make(tool)?;
        }
        let (base, at) = (seen(tool)?, relative(tool)?);
        let veil_at = text(format!("veil{}", self.steps.len()), "a number")?;
        let layers = Layers { at, base, held: Vec::new(), upper: None, veil_at, veil: Vec::new() };
        self.steps.push(Step::Overlay(Box::new(layers)));
        Ok(())
    }

    /// Makes a directory of the new system with its parents.
    fn make(&mut self, at: &Path) -> Result<(), Error> {
        let mut above: Vec<&Path> = at.ancestors().filter(|above| above.parent().is_some()).collect();
        above.reverse();
        for directory in above {
            if self.made.insert(directory.to_owned(), ()).is_none() {
                self.steps.push(Step::Dir { at: relative(directory)? });
            }
        }
        Ok(())
    }
}

/// The upper and the work directory of a stage that no command has used.
fn fresh(stage: &Stage, shown: &Shown) -> Result<(Seen, Seen), Error> {
    if !is_empty(&stage.work)? {
        return Err(Error::Place { at: shown.at.clone(), why: "its stage was used by an earlier command" });
    }
    Ok((seen(&stage.upper)?, seen(&stage.work)?))
}

/// Whether a place is shown with the system anyway.
fn is_system(place: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64"].iter().any(|system| place.starts_with(system))
}

/// The innermost other Workspace that holds `at`.
pub(crate) fn outer<'a>(all: &'a [Shown], at: &Path) -> Option<&'a Shown> {
    let holds = |shown: &&Shown| shown.at != at && at.starts_with(&shown.at);
    all.iter().filter(holds).max_by_key(|shown| shown.at.components().count())
}

/// Where other Workspaces are mounted directly in the one at `at`, relative to it.
fn nested(all: &[Shown], at: &Path) -> Vec<PathBuf> {
    let inside = all.iter().filter(|shown| outer(all, &shown.at).is_some_and(|outer| outer.at == at));
    inside.filter_map(|shown| shown.at.strip_prefix(at).ok().map(Path::to_owned)).collect()
}

fn check_place(at: &Path) -> Result<(), Error> {
    let refused = |why| Err(Error::Place { at: at.to_owned(), why });
    let mut parts = at.components();
    if parts.next() != Some(Component::RootDir) {
        return refused("it is not absolute");
    }
    let Some(Component::Normal(first)) = parts.next() else {
        return refused("a Workspace at `/` would take the place of the system");
    };
    if system::RESERVED.iter().any(|name| first == OsStr::new(name)) {
        return refused("its first name belongs to the system");
    }
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        return refused("it has `.` or `..` in it");
    }
    Ok(())
}

/// As [`seen`], of a place that the caller may have opened before: it has to be that one.
fn seen_as(shown: &Shown, from: &Path) -> Result<Seen, Error> {
    let seen = seen(from)?;
    let Some(opened) = &shown.opened else { return Ok(seen) };
    let host = |source: rustix::io::Errno| Error::Host { path: from.to_owned(), source: source.into() };
    let judged = rustix::fs::fstat(opened).map_err(host)?;
    if (judged.st_dev, judged.st_ino) != (seen.device, seen.inode) {
        return Err(Error::Place { at: shown.at.clone(), why: "something else was put there while it was looked at" });
    }
    Ok(seen)
}

/// Opens a directory of the host, and remembers which one it was.
fn seen(path: &Path) -> Result<Seen, Error> {
    let host = |source: rustix::io::Errno| Error::Host { path: path.to_owned(), source: source.into() };
    let fd = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let meta = fd.and_then(rustix::fs::fstat).map_err(host)?;
    let absolute = std::path::absolute(path).map_err(|source| Error::Host { path: path.to_owned(), source })?;
    Ok(Seen { path: text(absolute.as_os_str(), "a path")?, device: meta.st_dev, inode: meta.st_ino })
}

/// Whether it is sure that nothing is there. What cannot be looked at, since it is closed or its path too long, may be.
fn is_absent(path: &Path) -> bool {
    let answer = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    matches!(answer, Err(Errno::NOENT | Errno::NOTDIR))
}

fn is_empty(path: &Path) -> Result<bool, Error> {
    let mut entries = std::fs::read_dir(path).map_err(|source| Error::Host { path: path.to_owned(), source })?;
    Ok(entries.next().is_none())
}

/// A logical path as one relative to the new system.
fn relative(at: &Path) -> Result<CString, Error> {
    text(at.strip_prefix("/").unwrap_or(at).as_os_str(), "a path")
}

fn programs(command: &Command, variables: &[OsString]) -> Result<Vec<CString>, Error> {
    let program = command.arguments.first().filter(|program| !program.is_empty()).ok_or(Error::Empty)?;
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![text(program, "the program")?]);
    }
    let path = variables.iter().find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="));
    let places = path.unwrap_or_default().split(|byte| *byte == b':').filter(|place| !place.is_empty());
    places.map(|place| text(Path::new(OsStr::from_bytes(place)).join(program), "the program")).collect()
}

/// The variables of the command: built, never inherited.
fn variables(command: &Command, protections: Protections) -> Vec<OsString> {
    let mut all: BTreeMap<OsString, OsString> = BTreeMap::new();
    if !protections.variables {
        all.extend(std::env::vars_os());
    }
    let defaults =
        [("HOME", "/tmp/home"), ("PATH", PATH), ("TMPDIR", "/tmp"), ("USER", system::user_name()), ("LANG", "C.UTF-8")];
    all.extend(defaults.map(|(name, value)| (name.into(), value.into())));
    all.extend(command.variables.iter().cloned());
    all.into_iter().map(|(name, value)| [name, value].join(OsStr::new("="))).collect()
}

fn texts(all: &[OsString], what: &'static str) -> Result<Vec<CString>, Error> {
    all.iter().map(|one| text(one, what)).collect()
}

fn text(value: impl Into<OsString>, what: &'static str) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStringExt as _;
    CString::new(value.into().into_vec()).map_err(|_| Error::NullByte { what })
}
