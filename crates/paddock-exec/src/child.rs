//! What runs between the clone and the command: builds the sandbox from inside, then watches over its processes.
//!
//! This is the first process of the new namespaces, a copy of the launcher with one thread. Nothing here allocates,
//! locks or prints; every string and number comes from the plan. Whatever fails ends the process, and the launcher
//! is told which step it was. Nothing of the command has run by then.

use std::ffi::CStr;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::plan::Plan;
use crate::report::{Report, stage};
use crate::steps::{Layers, Seen, Step, Veil};
use crate::sys::{self, Answer, Stack, Work};
use crate::system;

/// The descriptors that the child keeps.
#[derive(Debug)]
pub(crate) struct Ends {
    /// One byte comes when the maps are written; nothing when the launcher is gone.
    pub(crate) go: OwnedFd,
    pub(crate) report: OwnedFd,
    pub(crate) hand_out: OwnedFd,
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

impl Ends {
    fn all(&self) -> [RawFd; 6] {
        [&self.go, &self.report, &self.hand_out, &self.input, &self.output, &self.errors].map(AsRawFd::as_raw_fd)
    }
}

/// Builds the sandbox, starts the command, waits for its end. The answer is the exit status of the first process.
pub(crate) fn run(plan: &Plan, ends: &Ends, stack: &mut Stack) -> i32 {
    let mut child = Child { plan, ends, stage: stage::START };
    match child.build().and_then(|()| child.start(stack)) {
        Ok(first) => child.watch(first),
        Err(errno) => {
            child.tell(Report::Failed { stage: child.stage, errno: errno.raw_os_error() });
            sys::CHILD_FAILED
        }
    }
}

struct Child<'a> {
    plan: &'a Plan,
    ends: &'a Ends,
    stage: u32,
}

impl Child<'_> {
    fn tell(&self, report: Report) {
        let _ = rustix::io::write(&self.ends.report, &report.bytes());
    }

    fn build(&mut self) -> Answer<()> {
        if self.plan.protections.death {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        if self.plan.protections.descriptors {
            close_others(&mut self.ends.all())?;
        }
        self.wait_for_maps()?;
        self.stage = stage::SYSTEM;
        let (system, scratch) = self.new_system()?;
        let (new, grounded) = self.each_step(system, &scratch)?;
        self.stage = stage::PIVOT;
        let old = if self.plan.protections.detached { None } else { Some(open_path(CWD, c"/")?) };
        enter(&new, self.plan.protections.read_only && !grounded)?;
        uncover(old.as_ref().unwrap_or(&new))?;
        self.stage = stage::NETWORK;
        self.network()?;
        self.stage = stage::CONFINE;
        self.confine()
    }

    fn wait_for_maps(&self) -> Answer<()> {
        let mut byte = [0];
        loop {
            match rustix::io::read(&self.ends.go, &mut byte) {
                Ok(1) => break,
                // The launcher died, or gave up: there is nobody to report to.
                Ok(_) => sys::end(sys::CHILD_FAILED),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        rustix::system::sethostname(b"paddock")?;
        // Supplementary groups would reach files that the one user does not; where the map forbids it they stay.
        let _ = rustix::thread::set_thread_groups(&[]);
        Ok(())
    }

    /// An empty file system as the new system, and one in which the command's scratch space and the veils are.
    fn new_system(&self) -> Answer<(OwnedFd, OwnedFd)> {
        rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let scratch = memory(&self.plan.scratch_size, &self.plan.scratch_files)?;
        attach(&scratch, CWD, c"/")?;
        make_dir(&scratch, c"tmp", 0o1777)?;
        make_dir(&scratch, c"shm", 0o1777)?;
        make_dir(&scratch, c"tmp/home", 0o700)?;
        make_dir(&scratch, c"empty", 0)?;
        make_file(&scratch, c"nothing", &[], 0)?;
        let new = memory(c"16777216", c"65536")?;
        attach(&new, CWD, c"/")?;
        Ok((new, scratch))
    }

    /// Every step; the answer is the new system, and whether that is a Workspace's own ground.
    fn each_step(&mut self, mut new: OwnedFd, scratch: &OwnedFd) -> Answer<(OwnedFd, bool)> {
        let mut grounded = false;
        for (number, step) in (stage::STEPS..).zip(system::steps().iter().chain(&self.plan.steps)) {
            self.stage = number;
            if let Step::Ground(layers) = step {
                new = self.ground(layers, &new, scratch)?;
                grounded = true;
            } else {
                self.step(step, &new, scratch)?;
            }
        }
        Ok((new, grounded))
    }

    /// Mounts a Workspace at `/` and puts the system, as it was built, on top of it.
    fn ground(&self, layers: &Layers, system: &OwnedFd, scratch: &OwnedFd) -> Answer<OwnedFd> {
        make_dir(scratch, &layers.veil_at, 0o755)?;
        let veil = beneath(scratch, &layers.veil_at)?;
        for name in system::TOP {
            match beneath(system, name).and_then(rustix::fs::fstat) {
                Ok(meta) if is_dir(&meta) => make_dir(&veil, name, 0o755)?,
                Ok(_) => copy_link(system, &veil, name)?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        let ground = self.layered(layers, &veil)?;
        attach(&ground, CWD, c"/")?;
        for name in system::TOP {
            let Ok(from) = beneath(system, name) else { continue };
            if !is_dir(&rustix::fs::fstat(&from)?) {
                continue;
            }
            show(&from, &ground, name, MountAttrFlags::empty())?;
            if self.plan.protections.read_only && (*name == c"etc" || *name == c"dev") {
                let shown = beneath(&ground, name)?;
                sys::mount_setattr(shown.as_fd(), false, u64::from(MountAttrFlags::MOUNT_ATTR_RDONLY.bits()), 0)?;
            }
        }
        Ok(ground)
    }

    fn step(&self, step: &Step, new: &OwnedFd, scratch: &OwnedFd) -> Answer<()> {
        let read_only = self.plan.protections.read_only;
        match step {
            Step::Dir { at } => make_dir(new, at, 0o755),
            Step::File { at, content } => make_file(new, at, content, 0o644),
            Step::Link { at, to } => rustix::fs::symlinkat(to, new, at),
            Step::System { from, at } => match open_path(CWD, from) {
                Ok(from) => show(&from, new, at, attributes(read_only)),
                Err(Errno::NOENT) => Ok(()),
                Err(errno) => Err(errno),
            },
            Step::Device { from, at } => {
                let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                show(&open_path(CWD, from)?, new, at, attributes)
            }
            Step::Scratch { from, at } => show(&beneath(scratch, from)?, new, at, attributes(false)),
            Step::Proc => self.proc(new),
            Step::Bind { from, at, read_only } => {
                let mut wanted = attributes(*read_only);
                wanted.set(MountAttrFlags::MOUNT_ATTR_NOSUID, self.plan.protections.no_new_privileges);
                show(&open_seen(from)?, new, at, wanted)
            }
            Step::Overlay(layers) => self.overlay(layers, new, scratch),
            // Handled by the caller: it changes what the new system is.
            Step::Ground(_) => Err(Errno::INVAL),
            Step::Fuse { at } => self.fuse(new, at),
            Step::Pin { at } => show(&beneath(new, at)?, new, at, attributes(false)),
            Step::Guard { at } => show(&beneath(new, at)?, new, at, attributes(true)),
            Step::Cover { at } => cover(new, scratch, at),
        }
    }

    /// Only the processes, and of these only the command's own: `/proc/sys` and the rest are not there at all.
    fn proc(&self, new: &OwnedFd) -> Answer<()> {
        if !self.plan.protections.processes {
            return show(&open_path(CWD, c"/proc")?, new, c"proc", MountAttrFlags::empty());
        }
        let fs = rustix::mount::fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        if let Some(most) = &self.plan.pid_max {
            bound_pids(most)?;
        }
        rustix::mount::fsconfig_set_string(fs.as_fd(), c"subset", c"pid")?;
        if self.plan.protections.undumpable {
            // Only what could be traced is shown. The milder settings except a group, which root's is.
            rustix::mount::fsconfig_set_string(fs.as_fd(), c"hidepid", c"ptraceable")?;
        }
        let attributes = attributes(false) | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        place(&mounted(&fs, attributes)?, new, c"proc")
    }

    fn overlay(&self, layers: &Layers, new: &OwnedFd, scratch: &OwnedFd) -> Answer<()> {
        make_dir(scratch, &layers.veil_at, 0o755)?;
        let veil = beneath(scratch, &layers.veil_at)?;
        place(&self.layered(layers, &veil)?, new, &layers.at)
    }

    /// Layers with their veil, mounted and not yet attached.
    fn layered(&self, layers: &Layers, veil: &OwnedFd) -> Answer<OwnedFd> {
        weave(veil, &layers.veil)?;
        let base = open_seen(&layers.base)?;
        copy_attributes(&base, veil)?;
        let fs = rustix::mount::fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        self.layer(&fs, layers, veil, &base)?;
        rustix::mount::fsconfig_set_flag(fs.as_fd(), c"userxattr")?;
        let writable = layers.upper.is_some() || !self.plan.protections.read_only;
        mounted(&fs, attributes(!writable))
    }

    /// Names the layers. Paths go through descriptors, so that no name of the host needs quoting or can be swapped.
    fn layer(&self, fs: &OwnedFd, layers: &Layers, veil: &OwnedFd, base: &OwnedFd) -> Answer<()> {
        let mut names = Names::new();
        for held in &layers.held {
            let held = open_seen(held)?;
            names.push(held.as_fd())?;
            // Stays open until the mount is made: the name leads through it.
            std::mem::forget(held);
        }
        names.push(veil.as_fd())?;
        names.push(base.as_fd())?;
        rustix::mount::fsconfig_set_string(fs.as_fd(), c"lowerdir", names.text()?)?;
        let Some((upper, work)) = &layers.upper else { return Ok(()) };
        for (key, seen) in [(c"upperdir", upper), (c"workdir", work)] {
            let directory = open_seen(seen)?;
            let mut name = Names::new();
            name.push(directory.as_fd())?;
            rustix::mount::fsconfig_set_string(fs.as_fd(), key, name.text()?)?;
            std::mem::forget(directory);
        }
        // Without it the end of every command would write the whole file system below to the disk.
        rustix::mount::fsconfig_set_flag(fs.as_fd(), c"volatile")
    }

    /// Opens the device inside, mounts it, and hands it out: the server never enters the sandbox.
    fn fuse(&self, new: &OwnedFd, at: &CStr) -> Answer<()> {
        let device = rustix::fs::openat(CWD, c"/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let fs = rustix::mount::fsopen(c"fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let set = |key: &CStr, value: u32| {
            let mut digits = [0; 12];
            rustix::mount::fsconfig_set_string(fs.as_fd(), key, decimal(value, &mut digits)?)
        };
        set(c"fd", device.as_raw_fd() as u32)?;
        rustix::mount::fsconfig_set_string(fs.as_fd(), c"rootmode", c"40755")?;
        set(c"user_id", rustix::process::geteuid().as_raw())?;
        set(c"group_id", rustix::process::getegid().as_raw())?;
        rustix::mount::fsconfig_set_flag(fs.as_fd(), c"default_permissions")?;
        rustix::mount::fsconfig_set_flag(fs.as_fd(), c"allow_other")?;
        let mount = mounted(&fs, attributes(false))?;
        self.hand_out(&device)?;
        place(&mount, new, at)
    }

    fn network(&self) -> Answer<()> {
        let Some(port) = self.plan.port else { return Ok(()) };
        use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sys::loopback_up(listener.as_fd())?;
        bind(&listener, &std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port))?;
        listen(&listener, 128)?;
        self.hand_out(&listener)
    }

    fn hand_out(&self, fd: &OwnedFd) -> Answer<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [fd.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&fds));
        rustix::net::sendmsg(&self.ends.hand_out, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL).map(drop)
    }

    /// Everything that is taken away for good, in the order in which the kernel allows it.
    fn confine(&mut self) -> Answer<()> {
        let on = &self.plan.protections;
        if on.undumpable {
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
        }
        if on.capabilities {
            drop_capabilities()?;
        }
        if on.no_new_privileges || on.landlock || on.filter {
            rustix::thread::set_no_new_privs(true)?;
        }
        self.stage = stage::LANDLOCK;
        if on.landlock {
            self.landlock()?;
        }
        self.stage = stage::FILTER;
        if on.filter {
            sys::set_filter(&self.plan.filter)?;
        }
        Ok(())
    }

    fn landlock(&self) -> Answer<()> {
        let rules = &self.plan.rules;
        let ruleset = sys::landlock_create(&rules.ruleset, rules.size)?;
        for (path, allowed) in &rules.places {
            match open_path(CWD, path) {
                Ok(place) => sys::landlock_allow(ruleset.as_fd(), place.as_fd(), *allowed)?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        sys::landlock_restrict(ruleset.as_fd())
    }

    fn start(&mut self, stack: &mut Stack) -> Answer<i32> {
        self.stage = stage::EXECUTE;
        let mut starting = Starting { plan: self.plan, ends: self.ends, errno: None };
        let first = sys::start_on(stack, &mut Work { run: Starting::run, with: &mut starting })?;
        match starting.errno {
            Some(errno) => Err(errno),
            None => Ok(first),
        }
    }

    /// Waits for every process until the first one ends, then ends all that are left. Once that is reported nothing of
    /// the command runs any more; the end of this process only takes the mounts away.
    fn watch(&self, first: i32) -> i32 {
        let report = self.ends.report.as_raw_fd();
        let _ = close_others(&mut [report]);
        let mut answer = None;
        while let Some((pid, status)) = sys::wait_any() {
            if pid == first {
                answer = Some(status);
                if !self.plan.protections.processes {
                    break;
                }
                sys::kill_others();
            }
        }
        let Some(status) = answer else { return sys::CHILD_FAILED };
        let (cpu, memory) = sys::used_by_children();
        self.tell(Report::Ended { status, cpu, memory });
        0
    }
}

/// The process that becomes the command. It shares the memory of the first one until then.
struct Starting<'a> {
    plan: &'a Plan,
    ends: &'a Ends,
    errno: Option<Errno>,
}

impl Starting<'_> {
    fn run(&mut self) {
        let errno = match self.prepare() {
            Ok(()) => self.execute(),
            Err(errno) => errno,
        };
        self.errno = Some(errno);
    }

    fn prepare(&self) -> Answer<()> {
        let _ = rustix::process::setsid();
        rustix::stdio::dup2_stdin(&self.ends.input)?;
        rustix::stdio::dup2_stdout(&self.ends.output)?;
        rustix::stdio::dup2_stderr(&self.ends.errors)?;
        if self.plan.protections.descriptors {
            sys::close_range(3, RawFd::MAX)?;
        }
        for (resource, limit) in &self.plan.limits {
            rustix::process::setrlimit(*resource, *limit)?;
        }
        sys::reset_signals();
        rustix::process::umask(Mode::from_raw_mode(0o022));
        rustix::process::chdir(self.plan.directory.as_c_str())
    }

    /// Tries each place where the program may be, as a shell does.
    fn execute(&self) -> Errno {
        let mut answer = Errno::NOENT;
        for program in &self.plan.programs {
            match sys::execute(program, &self.plan.arguments, &self.plan.variables) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => answer = Errno::ACCESS,
                other => return other,
            }
        }
        answer
    }
}

/// Closes every descriptor but these.
fn close_others(kept: &mut [RawFd]) -> Answer<()> {
    kept.sort_unstable();
    let mut next = 0;
    for fd in kept.iter() {
        if *fd > next {
            sys::close_range(next, *fd - 1)?;
        }
        next = *fd + 1;
    }
    sys::close_range(next, RawFd::MAX)
}

fn attributes(read_only: bool) -> MountAttrFlags {
    let base = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    if read_only { base | MountAttrFlags::MOUNT_ATTR_RDONLY } else { base }
}

/// A file system in memory, not yet attached.
fn memory(size: &CStr, files: &CStr) -> Answer<OwnedFd> {
    let fs = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(fs.as_fd(), c"size", size)?;
    rustix::mount::fsconfig_set_string(fs.as_fd(), c"nr_inodes", files)?;
    rustix::mount::fsconfig_set_string(fs.as_fd(), c"mode", c"0755")?;
    mounted(&fs, attributes(false))
}

fn mounted(fs: &OwnedFd, attributes: MountAttrFlags) -> Answer<OwnedFd> {
    rustix::mount::fsconfig_create(fs.as_fd())?;
    rustix::mount::fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn attach(mount: &OwnedFd, directory: BorrowedFd<'_>, at: &CStr) -> Answer<()> {
    rustix::mount::move_mount(mount.as_fd(), c"", directory, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Attaches a mount at a path of the new system, which no link may bend.
fn place(mount: &OwnedFd, new: &OwnedFd, at: &CStr) -> Answer<()> {
    let place = beneath(new, at)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount.as_fd(), c"", place.as_fd(), c"", flags)
}

/// Shows a directory or file of the host, with everything mounted below it, at a path of the new system.
fn show(from: &OwnedFd, new: &OwnedFd, at: &CStr, attributes: MountAttrFlags) -> Answer<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = rustix::mount::open_tree(from.as_fd(), c"", flags)?;
    sys::mount_setattr(tree.as_fd(), true, u64::from(attributes.bits()), 0)?;
    place(&tree, new, at)
}

/// Covers a directory with an empty one, and a file with an empty one, that nobody can read.
fn cover(new: &OwnedFd, scratch: &OwnedFd, at: &CStr) -> Answer<()> {
    let covered = beneath(new, at)?;
    let meta = rustix::fs::fstat(&covered)?;
    let with = beneath(scratch, if is_dir(&meta) { c"empty" } else { c"nothing" })?;
    show(&with, new, at, attributes(true))
}

fn open_path(directory: BorrowedFd<'_>, path: &CStr) -> Answer<OwnedFd> {
    rustix::fs::openat(directory, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a path below a directory, following no link.
fn beneath(directory: &OwnedFd, path: &CStr) -> Answer<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
            // Answered when something was renamed meanwhile.
            Err(Errno::AGAIN) => {}
            answer => return answer,
        }
    }
}

fn is_dir(meta: &rustix::fs::Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(meta.st_mode) == rustix::fs::FileType::Directory
}

/// Makes the same link in another directory.
fn copy_link(from: &OwnedFd, to: &OwnedFd, name: &CStr) -> Answer<()> {
    let mut bytes = [MaybeUninit::uninit(); 256];
    let (leads, _) = rustix::fs::readlinkat_raw(from, name, &mut bytes[..255])?;
    let mut text = [0_u8; 256];
    text.get_mut(..leads.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(leads);
    let leads = CStr::from_bytes_until_nul(&text).map_err(|_| Errno::INVAL)?;
    rustix::fs::symlinkat(leads, to, name)
}

/// Opens a directory of the host again, in this namespace, and makes sure that it is the one that was planned with.
fn open_seen(seen: &Seen) -> Answer<OwnedFd> {
    let fd = rustix::fs::openat(CWD, &seen.path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let meta = rustix::fs::fstat(&fd)?;
    if (meta.st_dev, meta.st_ino) == (seen.device, seen.inode) { Ok(fd) } else { Err(Errno::STALE) }
}

fn make_dir(directory: &OwnedFd, at: &CStr, mode: u32) -> Answer<()> {
    match rustix::fs::mkdirat(directory, at, Mode::from_raw_mode(mode)) {
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
        Ok(()) if mode & 0o022 == 0 => Ok(()),
        // The inherited umask has taken bits away.
        Ok(()) => rustix::fs::chmodat(directory, at, Mode::from_raw_mode(mode), AtFlags::empty()),
    }
}

fn make_file(directory: &OwnedFd, at: &CStr, content: &[u8], mode: u32) -> Answer<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, at, flags, Mode::from_raw_mode(mode))?;
    let mut rest = content;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Fills the veil; times come last, since making an entry changes its directory's.
fn weave(veil: &OwnedFd, entries: &[Veil]) -> Answer<()> {
    for entry in entries {
        match entry {
            Veil::Hidden { at } => {
                let whiteout = rustix::fs::FileType::CharacterDevice;
                rustix::fs::mknodat(veil, at, whiteout, Mode::empty(), 0)?;
            }
            Veil::Dir { at, mode, owner, opaque, .. } => {
                make_dir(veil, at, 0o700)?;
                rustix::fs::chmodat(veil, at, Mode::from_raw_mode(*mode), AtFlags::empty())?;
                own(veil, at, *owner);
                if *opaque {
                    make_opaque(veil, at)?;
                }
            }
        }
    }
    for entry in entries.iter().rev() {
        if let Veil::Dir { at, modified: Some((seconds, nanoseconds)), .. } = entry {
            let _ = rustix::fs::utimensat(veil, at, &times(*seconds, *nanoseconds), AtFlags::empty());
        }
    }
    Ok(())
}

/// Another user's directory stays ours where the map has only one user; who may write it is decided at the commit.
fn own(veil: &OwnedFd, at: &CStr, owner: Option<(u32, u32)>) {
    if let Some((user, group)) = owner {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let _ = rustix::fs::chownat(veil, at, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn make_opaque(veil: &OwnedFd, at: &CStr) -> Answer<()> {
    let directory = rustix::fs::openat(veil, at, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::fsetxattr(&directory, c"user.overlay.opaque", b"y", rustix::fs::XattrFlags::empty())
}

/// The top of the veil is the top of what the command sees, so it shows the attributes of the Workspace.
fn copy_attributes(from: &OwnedFd, veil: &OwnedFd) -> Answer<()> {
    let meta = rustix::fs::fstat(from)?;
    let veil = rustix::fs::openat(veil, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::fchmod(&veil, Mode::from_raw_mode(meta.st_mode & 0o7777))?;
    let _ = rustix::fs::fchown(&veil, Some(Uid::from_raw(meta.st_uid)), Some(Gid::from_raw(meta.st_gid)));
    let _ = rustix::fs::futimens(&veil, &times(meta.st_mtime, meta.st_mtime_nsec as i64));
    Ok(())
}

fn times(tv_sec: i64, tv_nsec: i64) -> Timestamps {
    let time = Timespec { tv_sec, tv_nsec };
    Timestamps { last_access: time, last_modification: time }
}

/// Makes the new system the one that paths begin in.
fn enter(new: &OwnedFd, read_only: bool) -> Answer<()> {
    if read_only {
        sys::mount_setattr(new.as_fd(), false, u64::from(MountAttrFlags::MOUNT_ATTR_RDONLY.bits()), 0)?;
    }
    rustix::process::fchdir(new)?;
    rustix::process::pivot_root(c".", c".")
}

/// Whatever the new system was put on lies on top of it now, with the old system among it. None of it may stay above this one,
/// which is the new system itself: a path that goes up through ".." would come out in what is left.
fn uncover(last: &OwnedFd) -> Answer<()> {
    for _ in 0..MOST_COVERS {
        if is_on_top(last)? {
            return rustix::process::chdir(c"/");
        }
        rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
    }
    Err(Errno::BUSY)
}

/// More than the scratch space, the system below a Workspace's ground, and the old system.
const MOST_COVERS: usize = 8;

/// Does the way up from the top of the new system end in this one?
fn is_on_top(last: &OwnedFd) -> Answer<bool> {
    let up = rustix::fs::statat(CWD, c"..", rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    let here = rustix::fs::fstat(last)?;
    Ok((up.st_dev, up.st_ino) == (here.st_dev, here.st_ino))
}

/// Bounds the process numbers of this namespace, through a `/proc` that is never attached anywhere.
fn bound_pids(most: &[u8]) -> Answer<()> {
    let fs = rustix::mount::fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let proc = mounted(&fs, attributes(false))?;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&proc, c"sys/kernel/pid_max", flags, Mode::empty())?;
    rustix::io::write(&file, most).map(drop)
}

fn drop_capabilities() -> Answer<()> {
    use rustix::thread::CapabilitiesSecureBits as Bits;
    // Being user 0 gives nothing from here on, and no program can change that.
    let bits = Bits::NO_ROOT | Bits::NO_ROOT_LOCKED | Bits::NO_SETUID_FIXUP | Bits::NO_SETUID_FIXUP_LOCKED;
    rustix::thread::set_capabilities_secure_bits(
        bits | Bits::NO_CAP_AMBIENT_RAISE | Bits::NO_CAP_AMBIENT_RAISE_LOCKED,
    )?;
    rustix::thread::clear_ambient_capability_set()?;
    for capability in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << capability);
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // Past the last one that this kernel knows.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// The names of layers, as one text of paths through descriptors, with no allocation.
struct Names {
    bytes: [u8; 1024],
    length: usize,
}

impl Names {
    fn new() -> Names {
        Names { bytes: [0; 1024], length: 0 }
    }

    fn push(&mut self, fd: BorrowedFd<'_>) -> Answer<()> {
        let mut digits = [0; 12];
        let number = decimal(fd.as_raw_fd() as u32, &mut digits)?;
        let colon: &[u8] = if self.length == 0 { b"" } else { b":" };
        for part in [colon, b"/proc/self/fd/", number.to_bytes()] {
            let end = self.length + part.len();
            // One byte stays free for the end of the text.
            let room = self.bytes.get_mut(self.length..end).filter(|_| end < 1024).ok_or(Errno::TOOBIG)?;
            room.copy_from_slice(part);
            self.length = end;
        }
        Ok(())
    }

    fn text(&self) -> Answer<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).map_err(|_| Errno::INVAL)
    }
}

/// A number in decimal.
fn decimal(mut value: u32, digits: &mut [u8; 12]) -> Answer<&CStr> {
    let mut at = digits.len() - 1;
    digits[at] = 0;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    CStr::from_bytes_until_nul(&digits[at..]).map_err(|_| Errno::INVAL)
}
