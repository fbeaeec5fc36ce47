//! The filter of system calls: what a command never needs, and what would lead out of the sandbox.
//!
//! A list of what is refused, not of what is allowed: the namespaces, the mounts and the missing capabilities are the
//! walls, and the filter takes away the doors that kernels have had in them. Sockets are the exception: their
//! families are allowed by list, since a network namespace alone leaves some of them (vsock) open.

use std::collections::BTreeMap;
use std::ffi::c_long;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Refused whatever their arguments.
const REFUSED: &[c_long] = &[
    // Looking into, or taking over, other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // A second way to make nearly every other call, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_setns,
    // Files by handle, past the mounts; watching the whole file system.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keys, which no namespace holds.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Large attack surfaces of the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

const OPEN_TREE_ATTR: c_long = 467;

/// Flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

const CLONE_NEWTIME: u64 = 0x80;

/// Requests that type into a terminal.
const TYPING: &[u64] = &[0x5412, 0x541C];

/// The program for a command, with or without internet sockets.
pub(crate) fn filter(internet: bool) -> BpfProgram {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())));
    let namespaces: Vec<u64> = NAMESPACES.iter().map(|flag| *flag as u64).collect();
    let has = |flag: &u64| rule(&[(0, SeccompCmpOp::MaskedEq(*flag), *flag)]);
    rules.insert(libc::SYS_clone, namespaces.iter().filter_map(has).collect());
    rules.insert(libc::SYS_unshare, namespaces.iter().chain([&CLONE_NEWTIME]).filter_map(has).collect());
    let typing = TYPING.iter().filter_map(|request| rule(&[(1, SeccompCmpOp::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, typing.collect());
    rules.insert(libc::SYS_mknodat, devices(2));
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1));
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        rules.insert(call, families(internet).into_iter().collect());
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH);
    let filter = arch.and_then(|arch| SeccompFilter::new(rules, SeccompAction::Allow, refused, arch));
    // What cannot be compiled is refused as a whole: an empty program is no filter, and the kernel says so.
    let compiled = filter.and_then(BpfProgram::try_from).unwrap_or_default();
    if compiled.is_empty() { compiled } else { prefix().into_iter().chain(compiled).collect() }
}

/// Matches when every condition holds: which argument, how, with what.
fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Option<SeccompRule> {
    let made: Result<Vec<_>, _> = conditions
        .iter()
        .map(|(argument, how, value)| SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, how.clone(), *value))
        .collect();
    SeccompRule::new(made.ok()?).ok()
}

/// Making a character or a block device, with the mode in this argument.
fn devices(mode: u8) -> Vec<SeccompRule> {
    let is = |kind: u32| rule(&[(mode, SeccompCmpOp::MaskedEq(u64::from(libc::S_IFMT)), u64::from(kind))]);
    [libc::S_IFCHR, libc::S_IFBLK].into_iter().filter_map(is).collect()
}

/// Matches every family that is not allowed.
fn families(internet: bool) -> Option<SeccompRule> {
    let allowed: &[i32] = if internet { &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6] } else { &[libc::AF_UNIX] };
    let others: Vec<_> = allowed.iter().map(|family| (0, SeccompCmpOp::Ne, *family as u64)).collect();
    rule(&others)
}

/// What comes before: `clone3` (its flags are in memory, out of a filter's sight) and the x32 numbers do not exist.
fn prefix() -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NUMBER: u32 = 0;
    const X32: u32 = 0x4000_0000;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD, 0, 0, NUMBER),
        line(IF_AT_LEAST, 1, 0, X32),
        line(IF_EQUAL, 0, 1, libc::SYS_clone3 as u32),
        line(RETURN, 0, 0, NO_SUCH_CALL),
    ]
}
