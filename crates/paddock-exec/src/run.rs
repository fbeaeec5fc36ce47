//! One run from the outside: clone, maps, output, limits, the end of everything.
//!
//! Owns the life of the sandbox's processes: whichever way this returns, by an answer, an error or a panic, none of
//! them is left. It must never wait for a command without looking at the clock and at the caller's wish to stop.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::Signal;

use crate::cgroup::Count;
use crate::child::{self, Ends};
use crate::error::{Error, Part};
use crate::limits;
use crate::maps;
use crate::plan::{self, Plan};
use crate::report::{LENGTH, Report, stage};
use crate::sandbox::{Ended, Exit, Limit, Limits, Output, Sandbox, Tiers, Usage};
use crate::slots::Slot;
use crate::steps::Served;
use crate::sys::{self, Cloned, Stack};
use crate::system;

/// How often the caller's wish to stop and the counters are looked at.
const TICK: Duration = Duration::from_millis(20);

/// Runs a command in its sandbox until it ends, and gives its output away piece by piece.
///
/// `stop` is asked about every 20 ms; once it says true everything is killed.
pub fn run(mut sandbox: Sandbox, stop: &dyn Fn() -> bool, out: &mut dyn FnMut(Output<'_>)) -> Result<Ended, Error> {
    let started = Instant::now();
    let (mut plan, served) = plan::plan(&mut sandbox)?;
    let limits = sandbox.command.limits;
    let slot = Slot::take()?;
    let tiers = limits::apply(&limits, slot.group().map(Arc::as_ref), &mut plan);
    let run = start(Arc::new(plan), slot, tiers, sandbox.command.input)?;
    run.supervise(started, &limits, served, stop, out)
}

/// The launcher's ends of a run.
struct Running {
    plan: Arc<Plan>,
    // Fields go in this order: the process must be gone before its slot is free again.
    process: Process,
    slot: Slot,
    tiers: Tiers,
    counted: Count,
    report: OwnedFd,
    handed_out: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
}

/// The first process of the sandbox: killed, with all of them, when this goes.
struct Process(Cloned);

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

impl Process {
    /// Kills it and waits until it is gone, and with it everything inside.
    fn end(&self) {
        self.kill();
        sys::reap(self.0.pidfd.as_fd());
    }

    fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.0.pidfd, Signal::KILL);
    }
}

fn start(plan: Arc<Plan>, slot: Slot, tiers: Tiers, input: Option<OwnedFd>) -> Result<Running, Error> {
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("making a pipe"));
    let (go, ready) = pipe()?;
    let (report, report_in) = pipe()?;
    let (output, output_in) = pipe()?;
    let (errors, errors_in) = pipe()?;
    let (handed_out, hand_out) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(failed("making a socket"))?;
    let input = match input {
        Some(input) => input,
        None => rustix::fs::openat(CWD, c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed("opening /dev/null"))?,
    };
    let ends = Ends { go, report: report_in, hand_out, input, output: output_in, errors: errors_in };
    // Looked at before the clone: the child may not allocate.
    let _ = system::steps();
    let theirs = Arc::clone(&plan);
    let counted = slot.group().map(|group| {
        group.forget_peak();
        group.count()
    });
    let counted = counted.unwrap_or_default();
    let group = slot.group().cloned();
    let process = slot.run(move || {
        let mut stack = Stack::new();
        let entrance = group.as_ref().and_then(|group| group.entrance.as_ref()).map(AsFd::as_fd);
        let cloned = sys::clone_into(theirs.flags, entrance, || child::run(&theirs, &ends, &mut stack));
        let process = Process(cloned.map_err(cannot_clone)?);
        maps::write(process.0.pid).map_err(Error::launcher("writing the user map of the sandbox"))?;
        rustix::io::write(&ready, b"g").map_err(failed("starting the sandbox"))?;
        Ok::<Process, Error>(process)
    })??;
    Ok(Running { plan, process, slot, tiers, counted, report, handed_out, output, errors })
}

fn failed(doing: &'static str) -> impl FnOnce(Errno) -> Error {
    move |errno| Error::Launcher { doing, source: errno.into() }
}

fn cannot_clone(errno: Errno) -> Error {
    match errno {
        Errno::PERM | Errno::NOSPC | Errno::USERS | Errno::ACCESS | Errno::INVAL | Errno::NOSYS => Error::Missing {
            missing: format!("user namespaces for this user ({})", io::Error::from(errno)),
            remedy: "run `paddock doctor`, which names the setting that forbids them".to_owned(),
        },
        other => failed("cloning a process")(other),
    }
}

/// What has been heard of a run so far.
#[derive(Default)]
struct Heard {
    ended: Option<(i32, u64, u64)>,
    failed: Option<(u32, i32)>,
    printed: u64,
    limit: Option<Limit>,
    stopped: bool,
}

impl Running {
    fn supervise(
        self,
        started: Instant,
        limits: &Limits,
        served: Served,
        stop: &dyn Fn() -> bool,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<Ended, Error> {
        let mut heard = Heard::default();
        let mut served = Waiting { file_systems: served.file_systems.into_iter(), listener: served.listener };
        let mut open = Open { output: true, errors: true, report: true, handed: served.waits() };
        let mut buffer = vec![0; 64 * 1024];
        while open.output || open.errors || (open.report && heard.ended.is_none()) {
            self.check_bounds(&mut heard, started, limits, stop);
            let ready = self.wait(&open, heard.limit.is_some() || heard.stopped)?;
            if ready.report {
                open.report = self.hear(&mut heard)?;
            }
            if ready.handed {
                open.handed = self.serve(&mut served)? && served.waits();
            }
            if ready.output {
                open.output =
                    self.pass_on(&self.output, |bytes| Output::Out(bytes), &mut buffer, limits, &mut heard, out)?;
            }
            if ready.errors {
                open.errors =
                    self.pass_on(&self.errors, |bytes| Output::Err(bytes), &mut buffer, limits, &mut heard, out)?;
            }
        }
        self.conclude(&heard, started, limits)
    }

    /// Kills everything when a limit is passed or the caller wants to stop; what was printed is still read.
    fn check_bounds(&self, heard: &mut Heard, started: Instant, limits: &Limits, stop: &dyn Fn() -> bool) {
        if heard.limit.is_some() || heard.stopped || heard.ended.is_some() {
            return;
        }
        if started.elapsed() >= limits.wall {
            heard.limit = Some(Limit::Wall);
        } else if self.plan.protections.limits && self.cpu().is_some_and(|used| used >= limits.cpu) {
            heard.limit = Some(Limit::Cpu);
        } else if stop() {
            heard.stopped = true;
        } else {
            return;
        }
        self.process.kill();
    }

    /// Processor time of all processes so far, where it is counted.
    fn cpu(&self) -> Option<Duration> {
        Some(self.slot.group()?.cpu()?.saturating_sub(self.counted.cpu?))
    }

    fn wait(&self, open: &Open, ending: bool) -> Result<Open, Error> {
        let watched = [
            (open.output, &self.output),
            (open.errors, &self.errors),
            (open.report, &self.report),
            (open.handed, &self.handed_out),
        ];
        // What is closed is left out: its hang-up would be reported for ever.
        let mut fds: Vec<PollFd<'_>> =
            watched.iter().filter(|(on, _)| *on).map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        let tick = if ending { Duration::from_millis(5) } else { TICK };
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(tick.subsec_nanos()) };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(failed("waiting for the command")(errno)),
        }
        let mut answers = fds.iter().map(|fd| !fd.revents().is_empty());
        let [output, errors, report, handed] = watched.map(|(on, _)| on && answers.next().unwrap_or(false));
        Ok(Open { output, errors, report, handed })
    }

    /// Reads a report; false when there will be no more.
    fn hear(&self, heard: &mut Heard) -> Result<bool, Error> {
        let mut bytes = [0; LENGTH];
        let count = match rustix::io::read(&self.report, &mut bytes) {
            Err(Errno::INTR) => return Ok(true),
            answer => answer.map_err(failed("reading the report"))?,
        };
        if count != LENGTH {
            return Ok(false);
        }
        match Report::read(&bytes) {
            Some(Report::Ended { status, cpu, memory }) => heard.ended = Some((status, cpu, memory)),
            Some(Report::Failed { stage, errno }) => heard.failed = Some((stage, errno)),
            None => {}
        }
        Ok(true)
    }

    /// Takes a descriptor that was made inside and gives it to its server.
    fn serve(&self, served: &mut Waiting) -> Result<bool, Error> {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = rustix::net::recvmsg(&self.handed_out, &mut [io::IoSliceMut::new(&mut byte)], &mut control, flags);
        if got.map_err(failed("taking a descriptor from the sandbox"))?.bytes == 0 {
            return Ok(false);
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                fds.for_each(|fd| served.take(fd));
            }
        }
        Ok(true)
    }

    /// Passes a piece of output on; false when there will be no more.
    fn pass_on(
        &self,
        from: &OwnedFd,
        kind: for<'a> fn(&'a [u8]) -> Output<'a>,
        buffer: &mut [u8],
        limits: &Limits,
        heard: &mut Heard,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<bool, Error> {
        let count = match rustix::io::read(from, &mut *buffer) {
            Err(Errno::INTR) => return Ok(true),
            answer => answer.map_err(failed("reading the output"))?,
        };
        let left = limits.output.saturating_sub(heard.printed);
        let allowed = count.min(usize::try_from(left).unwrap_or(usize::MAX));
        if allowed > 0 {
            out(kind(&buffer[..allowed]));
            heard.printed += allowed as u64;
        }
        if allowed < count && heard.limit.is_none() {
            heard.limit = Some(Limit::Output);
            self.process.kill();
        }
        Ok(count > 0)
    }

    fn conclude(self, heard: &Heard, started: Instant, limits: &Limits) -> Result<Ended, Error> {
        if let Some((stage, errno)) = heard.failed {
            return Err(self.explain(stage, errno));
        }
        // Once the first process has reported the end nothing else is left; its own end takes the mounts away, for
        // which nobody has to wait. Without a report everything is gone when it is.
        if heard.ended.is_none() {
            self.process.end();
        }
        let (exit, waited, largest) = match heard.ended {
            Some((status, cpu, memory)) => (exit_of(status), Duration::from_micros(cpu), memory * 1024),
            None => (Exit::Signalled(Signal::KILL.as_raw()), Duration::ZERO, 0),
        };
        let count = self.slot.group().map(|group| group.count().since(self.counted)).unwrap_or_default();
        let cpu = count.cpu.unwrap_or(waited);
        let (ended_by, mut reached) = limits::met(limits, exit, cpu, count);
        let limit = heard.limit.or(ended_by);
        reached.extend(limit.filter(|limit| !reached.contains(limit)));
        let ended = Ended {
            exit,
            limit,
            reached,
            stopped: heard.stopped,
            took: started.elapsed(),
            usage: Usage { cpu, memory: count.memory().unwrap_or(largest), output: heard.printed },
            tiers: self.tiers,
            appeared: self.appeared(),
        };
        let Running { process, slot, .. } = self;
        slot.leave(move || drop(process));
        Ok(ended)
    }

    fn appeared(&self) -> Vec<PathBuf> {
        let there = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok();
        self.plan.absent.iter().filter(|(host, _)| there(host)).map(|(_, logical)| logical.clone()).collect()
    }

    /// Puts a failed stage into words.
    fn explain(&self, number: u32, errno: i32) -> Error {
        let source = io::Error::from_raw_os_error(errno);
        if number == stage::EXECUTE {
            let program = self.plan.programs.last().map(|program| PathBuf::from(os(program))).unwrap_or_default();
            return Error::Start { program, source };
        }
        let (part, step) = match number {
            stage::START => (Part::Users, "setting up the first process".to_owned()),
            stage::SYSTEM => (Part::Mounts, "mounting the new system".to_owned()),
            stage::PIVOT => (Part::Mounts, "entering the new system".to_owned()),
            stage::NETWORK => (Part::Network, "setting up the network".to_owned()),
            stage::CONFINE => (Part::Users, "dropping capabilities".to_owned()),
            stage::LANDLOCK => (Part::Landlock, "putting Landlock rules on".to_owned()),
            stage::FILTER => (Part::Filter, "putting the filter of system calls on".to_owned()),
            step => {
                let index = step.saturating_sub(stage::STEPS) as usize;
                let step = system::steps().iter().chain(&self.plan.steps).nth(index);
                step.map_or_else(|| (Part::Mounts, format!("stage {number}")), |step| (step.part(), step.doing()))
            }
        };
        Error::Build { part, step, source, hint: hint(part, errno) }
    }
}

fn hint(part: Part, errno: i32) -> &'static str {
    match (part, Errno::from_raw_os_error(errno)) {
        (Part::Layers, Errno::INVAL) => {
            "a Workspace with other file systems mounted in it cannot be layered, and changes cannot be staged on an overlay, \
             NFS or FUSE; run `paddock doctor`"
        }
        (Part::Layers | Part::Mounts, Errno::NOENT) => {
            "a place for a nested Workspace must be there when the outer one is written directly"
        }
        (_, Errno::STALE) => "a directory was replaced while the command was being started; try again",
        _ => "run `paddock doctor`, which says what this system can and cannot do",
    }
}

fn os(text: &CStr) -> &std::ffi::OsStr {
    std::ffi::OsStr::from_bytes(text.to_bytes())
}

fn exit_of(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signalled(libc::WTERMSIG(status))
    } else {
        Exit::Exited(libc::WEXITSTATUS(status))
    }
}

/// Which ends are still open, or ready.
struct Open {
    output: bool,
    errors: bool,
    report: bool,
    handed: bool,
}

/// Servers that wait for what they serve.
struct Waiting {
    file_systems: std::vec::IntoIter<crate::sandbox::Serve<OwnedFd>>,
    listener: Option<crate::sandbox::Serve<std::net::TcpListener>>,
}

impl Waiting {
    fn waits(&self) -> bool {
        self.file_systems.len() > 0 || self.listener.is_some()
    }

    /// Descriptors come in the order of the steps, the listener last.
    fn take(&mut self, fd: OwnedFd) {
        if let Some(serve) = self.file_systems.next() {
            serve(fd);
        } else if let Some(serve) = self.listener.take() {
            serve(fd.into());
        }
    }
}
