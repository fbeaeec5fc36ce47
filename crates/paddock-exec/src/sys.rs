//! The system calls that have no safe wrapper: the only module of the project that may say `unsafe`.
//!
//! Everything here is a thin, checked call of the kernel. What runs between the clone and the `execve` runs in a
//! copy of a process with many threads, so nothing in this module allocates, takes a lock, or panics there.
//! It must never decide anything: what is called, in which order and with which values, is decided by its callers.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use seccompiler::sock_filter;

/// What a system call answered.
pub(crate) type Answer<T> = Result<T, Errno>;

fn check(answer: c_long) -> Answer<c_long> {
    if answer >= 0 {
        return Ok(answer);
    }
    // SAFETY: the C library's `errno` is a valid integer of this thread.
    let code = unsafe { *libc::__errno_location() };
    Err(Errno::from_raw_os_error(code))
}

fn check_int(answer: c_int) -> Answer<c_int> {
    check(c_long::from(answer)).map(|_| answer)
}

/// A process that was cloned, as its parent holds it.
#[derive(Debug)]
pub(crate) struct Cloned {
    /// Its number as the parent sees it.
    pub(crate) pid: i32,
    /// The descriptor that stands for it, even when the number is used again.
    pub(crate) pidfd: OwnedFd,
}

/// Ends the process when a panic unwinds through the child: nothing of the parent's program may run on there.
struct EndOnDrop;

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        end(CHILD_FAILED);
    }
}

/// The exit status of a child whose own program failed.
pub(crate) const CHILD_FAILED: i32 = 121;

/// Clones this process into new namespaces, like `fork`, and runs `child` there.
///
/// The child has only the calling thread, and whatever lock another thread held stays locked in it for ever:
/// `child` must not allocate, lock or print. The process ends when `child` returns.
pub(crate) fn clone_into(flags: u64, cgroup: Option<BorrowedFd<'_>>, child: impl FnOnce() -> i32) -> Answer<Cloned> {
    let mut pidfd: RawFd = -1;
    // SAFETY: `clone_args` is plain data for which all zeroes is a valid value.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags | libc::CLONE_PIDFD as u64 | CLONE_CLEAR_SIGHAND;
    args.pidfd = std::ptr::from_mut(&mut pidfd) as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: the arguments live until the call returns; with no stack given and no CLONE_VM the child goes on
    // here on its own copy of this stack, as after `fork`.
    let answer = check(unsafe {
        libc::syscall(libc::SYS_clone3, std::ptr::from_mut(&mut args), std::mem::size_of::<libc::clone_args>())
    })?;
    if answer == 0 {
        let guard = EndOnDrop;
        let status = child();
        std::mem::forget(guard);
        end(status);
    }
    // SAFETY: the kernel has just put a new descriptor there, which nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Cloned { pid: answer as i32, pidfd })
}

const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Ends this process at once, with no handler and no destructor run.
pub(crate) fn end(status: i32) -> ! {
    // SAFETY: `_exit` never returns and runs nothing of this program.
    unsafe { libc::_exit(status) }
}

/// Has a function run when this program ends by itself, that is not by a signal.
pub(crate) fn at_exit(run: extern "C" fn()) {
    // SAFETY: the function takes nothing and is there as long as the program is. What it may do is up to the caller:
    // other threads are still running then.
    let _ = unsafe { libc::atexit(run) };
}

/// Has the allocator give large pieces of memory back to the kernel as soon as they are free.
///
/// A clone copies the tables of all memory that was touched, so what is kept for later makes every start slower. By
/// itself the C library keeps pieces as large as the largest that was ever freed; with bounds of our own it does not.
pub(crate) fn keep_no_large_memory() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: c_int = 4 << 20;
        // SAFETY: takes plain numbers, and may be called at any time by any thread.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
        }
    }
}

/// A stack for [`start_on`], taken before the clone.
#[derive(Debug)]
pub(crate) struct Stack(Vec<u128>);

impl Stack {
    pub(crate) fn new() -> Stack {
        Stack(vec![0; 64 * 1024 / std::mem::size_of::<u128>()])
    }
}

/// Starts a process that shares this memory until it calls [`execute`] or ends, like `vfork`: this one waits for it.
///
/// Only for a process with a single thread.
pub(crate) fn start_on<T>(stack: &mut Stack, work: &mut Work<'_, T>) -> Answer<i32> {
    extern "C" fn entry<T>(argument: *mut c_void) -> c_int {
        // SAFETY: `argument` is the `work` below, which outlives this process: its owner waits for it.
        let work = unsafe { &mut *argument.cast::<Work<'_, T>>() };
        let guard = EndOnDrop;
        (work.run)(work.with);
        drop(guard);
        CHILD_FAILED
    }
    let top = stack.0.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours, large, aligned and used by nobody else; the parent is stopped until the child has
    // left this memory, so the two never run in it at once.
    check_int(unsafe { libc::clone(entry::<T>, top.cast(), flags, std::ptr::from_mut(work).cast()) })
}

/// What a process of [`start_on`] does, and with what.
pub(crate) struct Work<'a, T> {
    pub(crate) run: fn(&mut T),
    pub(crate) with: &'a mut T,
}

/// A list of C strings ending in a null pointer, as `execve` takes it.
#[derive(Debug)]
pub(crate) struct Strings {
    pointers: Vec<*const c_char>,
    // What the pointers point at; a `CString` never moves its bytes.
    _owned: Vec<std::ffi::CString>,
}

// SAFETY: the pointers lead into `_owned`, which goes along and is never changed.
unsafe impl Send for Strings {}
// SAFETY: as above; nothing is ever written through them.
unsafe impl Sync for Strings {}

impl Strings {
    pub(crate) fn new(owned: Vec<std::ffi::CString>) -> Strings {
        let pointers = owned.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Strings { pointers, _owned: owned }
    }
}

/// Becomes another program; returns only when that failed.
pub(crate) fn execute(program: &CStr, arguments: &Strings, variables: &Strings) -> Errno {
    // SAFETY: both lists are null-terminated arrays of C strings that live through the call.
    let answer = unsafe { libc::execve(program.as_ptr(), arguments.pointers.as_ptr(), variables.pointers.as_ptr()) };
    check_int(answer).err().unwrap_or(Errno::INVAL)
}

/// Changes the attributes of a mount, or of a whole tree of them.
pub(crate) fn mount_setattr(mount: BorrowedFd<'_>, recursive: bool, set: u64, propagation: u64) -> Answer<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, and the structure lives through the call with its true size.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(&attributes),
            std::mem::size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}

const AT_RECURSIVE: c_int = 0x8000;

/// Closes every descriptor from `first` to `last`.
pub(crate) fn close_range(first: RawFd, last: RawFd) -> Answer<()> {
    // SAFETY: takes plain numbers. Called only in a child whose remaining descriptors are never used again.
    check(unsafe { libc::syscall(libc::SYS_close_range, first as u32, last as u32, 0) }).map(drop)
}

/// Gives every signal its default effect, and blocks none: what a program expects at its start.
pub(crate) fn reset_signals() {
    // SAFETY: both are plain data for which all zeroes is valid: the default effect, the empty set.
    let (action, none): (KernelSigaction, u64) = unsafe { (std::mem::zeroed(), 0) };
    for signal in 1..=64 {
        // SAFETY: the structure has the kernel's layout and size; the uncatchable signals answer an error.
        let _ = unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, std::ptr::from_ref(&action), std::ptr::null::<u8>(), 8)
        };
    }
    // SAFETY: a set of 64 signals is 8 bytes.
    let _ = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, std::ptr::from_ref(&none), std::ptr::null::<u8>(), 8)
    };
}

/// `struct sigaction` as the kernel has it, which is not what the C library shows.
#[repr(C)]
struct KernelSigaction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Puts a seccomp filter on this thread; `no_new_privs` must be set.
pub(crate) fn set_filter(program: &[sock_filter]) -> Answer<()> {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| Errno::TOOBIG)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    const SET_MODE_FILTER: c_int = 1;
    // SAFETY: the program is read, not written, and has the kernel's layout and the length given.
    check(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, std::ptr::from_ref(&filter)) }).map(drop)
}

/// A Landlock ruleset as the kernel takes it, up to ABI 6.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LandlockRuleset {
    pub(crate) handled_fs: u64,
    pub(crate) handled_net: u64,
    pub(crate) scoped: u64,
}

#[repr(C, packed)]
struct LandlockPathBeneath {
    allowed: u64,
    parent: i32,
}

/// The Landlock version of this kernel; 0 when it has none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: asking for the version takes no structure.
    let answer =
        check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) });
    answer.map_or(0, |version| version as u32)
}

/// Makes a ruleset; `size` is how much of the structure this kernel's version knows.
pub(crate) fn landlock_create(ruleset: &LandlockRuleset, size: usize) -> Answer<OwnedFd> {
    let size = size.min(std::mem::size_of::<LandlockRuleset>());
    // SAFETY: the structure lives through the call and is at least `size` long.
    let fd =
        check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(ruleset), size, 0_u32) })?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Allows `allowed` below `parent`.
pub(crate) fn landlock_allow(ruleset: BorrowedFd<'_>, parent: BorrowedFd<'_>, allowed: u64) -> Answer<()> {
    const PATH_BENEATH: c_int = 1;
    let rule = LandlockPathBeneath { allowed, parent: parent.as_raw_fd() };
    // SAFETY: the structure has the kernel's packed layout and lives through the call.
    check(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, std::ptr::from_ref(&rule), 0_u32)
    })
    .map(drop)
}

/// Puts a ruleset on this thread; `no_new_privs` must be set.
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Answer<()> {
    // SAFETY: takes plain numbers.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) }).map(drop)
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> Answer<()> {
    // SAFETY: `ifreq` is plain data for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as c_char;
    request.ifr_name[1] = b'o' as c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the request is a whole `ifreq` with a name that ends in a null byte.
    check_int(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, std::ptr::from_ref(&request)) }).map(drop)
}

/// Waits for any child; its number, status and what it used. `None` when there is no child left.
pub(crate) fn wait_any() -> Option<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: the status is a valid integer to write to.
        match check_int(unsafe { libc::waitpid(-1, &mut status, libc::__WALL) }) {
            Ok(pid) => return Some((pid, status)),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Kills every other process of this process namespace, when this is its first one; nothing otherwise.
pub(crate) fn kill_others() {
    // SAFETY: takes plain numbers. Outside of a namespace of its own the call would reach the whole host, so the
    // number of this process is asked first: only the first process of a namespace has number 1.
    unsafe {
        if libc::getpid() == 1 {
            libc::kill(-1, libc::SIGKILL);
        }
    }
}

/// Waits for the child behind a descriptor to end, and lets the kernel forget it.
pub(crate) fn reap(pidfd: BorrowedFd<'_>) {
    loop {
        // SAFETY: plain data for which all zeroes is valid; the kernel fills it.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is valid to write to, the descriptor is open.
        let answer = unsafe {
            libc::waitid(libc::P_PIDFD, pidfd.as_raw_fd() as libc::id_t, &mut info, libc::WEXITED | libc::__WALL)
        };
        if check_int(answer) != Err(Errno::INTR) {
            return;
        }
    }
}

/// Processor time in microseconds and the largest memory in KiB, of the children that were waited for.
pub(crate) fn used_by_children() -> (u64, u64) {
    // SAFETY: plain data for which all zeroes is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is valid to write to.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) } != 0 {
        return (0, 0);
    }
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (micros(usage.ru_utime) + micros(usage.ru_stime), usage.ru_maxrss as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn large_memory_that_is_free_is_the_kernels_again() {
        const LARGE: usize = 16 << 20;
        let resident = || {
            let numbers = std::fs::read_to_string("/proc/self/statm").unwrap();
            numbers.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        keep_no_large_memory();
        let before = resident();
        // Once such a piece was freed, the C library would keep the next ones.
        for _ in 0..3 {
            drop(std::hint::black_box(vec![1_u8; LARGE]));
        }
        let kept = resident().saturating_sub(before);
        assert!(kept < LARGE / 2, "{kept} bytes are still there");
    }
}
