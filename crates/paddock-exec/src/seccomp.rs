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
    let numbers: Vec<u32> = rules.keys().map(|number| *number as u32).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH);
    let filter = arch.and_then(|arch| SeccompFilter::new(rules, SeccompAction::Allow, refused, arch));
    // What cannot be compiled is refused as a whole: an empty program is no filter, and the kernel says so.
    let compiled = filter.and_then(BpfProgram::try_from).unwrap_or_default();
    if compiled.is_empty() {
        compiled
    } else {
        prefix(&numbers, &refused_always()).into_iter().chain(compiled).collect()
    }
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

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const fn line(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// The numbers that are refused whatever their arguments, in order.
fn refused_always() -> Vec<u32> {
    let mut numbers: Vec<u32> = REFUSED.iter().chain(REFUSED_HERE).map(|call| *call as u32).collect();
    numbers.sort_unstable();
    numbers
}

/// What comes before the compiled rules, which are only about calls whose arguments decide.
///
/// `clone3` (its flags are in memory, out of a filter's sight) and the x32 numbers do not exist. Other calls are found
/// by halving: the kernel runs the whole filter for every number there is when it is put on, so a list that is gone
/// through from its beginning would cost more than everything else in this crate.
fn prefix(decided_by_arguments: &[u32], refused: &[u32]) -> Vec<sock_filter> {
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    const X32: u32 = 0x4000_0000;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;
    const NOT_PERMITTED: u32 = 0x0005_0000 | libc::EPERM as u32;
    let mut rest = search(refused);
    rest.push(line(RETURN, 0, 0, NOT_PERMITTED));
    let asked = decided_by_arguments.len();
    let mut lines = vec![
        line(LOAD, 0, 0, ARCHITECTURE),
        line(IF_EQUAL, 1, 0, native()),
        // Another architecture's numbers mean other calls: the compiled rules end the process.
        line(JUMP, 0, 0, (4 + 2 * asked + rest.len()) as u32),
        line(LOAD, 0, 0, NUMBER),
        line(IF_AT_LEAST, 1, 0, X32),
        line(IF_EQUAL, 0, 1, libc::SYS_clone3 as u32),
        line(RETURN, 0, 0, NO_SUCH_CALL),
    ];
    for (at, number) in decided_by_arguments.iter().enumerate() {
        lines.push(line(IF_EQUAL, 0, 1, *number));
        lines.push(line(JUMP, 0, 0, (2 * (asked - at - 1) + rest.len()) as u32));
    }
    lines.append(&mut rest);
    lines
}

#[cfg(target_arch = "x86_64")]
const fn native() -> u32 {
    0xC000_003E
}
#[cfg(target_arch = "aarch64")]
const fn native() -> u32 {
    0xC000_00B7
}

/// Lines that let a number through when it is not among these, and otherwise run on behind their end.
fn search(numbers: &[u32]) -> Vec<sock_filter> {
    const ALLOWED: u32 = 0x7FFF_0000;
    if numbers.len() <= 3 {
        let last = numbers.len();
        let equal = numbers.iter().enumerate().map(|(at, number)| line(IF_EQUAL, (last - at) as u8, 0, *number));
        return equal.chain([line(RETURN, 0, 0, ALLOWED)]).collect();
    }
    let (low, high) = numbers.split_at(numbers.len() / 2);
    let (middle, low, high) = (high[0], search(low), search(high));
    // Below the middle: over the long jump into the low half, whose end leads past the high half.
    let mut lines = vec![line(IF_AT_LEAST, 0, 1, middle), line(JUMP, 0, 0, (low.len() + 1) as u32)];
    lines.extend(low);
    lines.push(line(JUMP, 0, 0, high.len() as u32));
    lines.extend(high);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program answers to a call, by the rules of the kernel's machine.
    fn answer(program: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => number,
            4 => arch,
            offset => {
                let argument = arguments[(offset as usize - 16) / 8];
                if offset % 8 == 0 { argument as u32 } else { (argument >> 32) as u32 }
            }
        };
        let (mut at, mut held) = (0_usize, 0_u32);
        loop {
            let line = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { line.jt } else { line.jf });
            match line.code {
                LOAD => held = word(line.k),
                JUMP => at += line.k as usize,
                IF_EQUAL => at += jump(held == line.k),
                IF_AT_LEAST => at += jump(held >= line.k),
                0x25 => at += jump(held > line.k),
                0x54 => held &= line.k,
                RETURN => return line.k,
                other => panic!("line {at}: {other:#x}"),
            }
        }
    }

    const ALLOWED: u32 = 0x7FFF_0000;
    const REFUSED_WITH: u32 = 0x0005_0000;

    #[test]
    fn every_number_is_judged_as_the_list_says() {
        let program = filter(false);
        let errno = |code: i32| REFUSED_WITH | code as u32;
        for number in 0..600_u32 {
            let always = REFUSED.iter().chain(REFUSED_HERE).any(|call| *call as u32 == number);
            let wanted = match i64::from(number) {
                _ if always => errno(libc::EPERM),
                libc::SYS_clone3 => errno(libc::ENOSYS),
                // With every argument 0: family 0 is none that is allowed.
                libc::SYS_socket | libc::SYS_socketpair => errno(libc::EPERM),
                _ => ALLOWED,
            };
            assert_eq!(answer(&program, native(), number, [0; 6]), wanted, "{number}");
        }
        assert_eq!(answer(&program, native(), 0x4000_0000, [0; 6]), errno(libc::ENOSYS));
        assert_eq!(answer(&program, 0x4000_0003, 20, [0; 6]), 0x8000_0000, "i386 is ended");
    }

    #[test]
    fn arguments_decide_where_they_must() {
        let judged = |internet: bool, call: i64, arguments: &[u64]| {
            let mut all = [0; 6];
            all[..arguments.len()].copy_from_slice(arguments);
            answer(&filter(internet), native(), call as u32, all) == ALLOWED
        };
        let (unix, inet, vsock) = (libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_VSOCK as u64);
        assert!(judged(false, libc::SYS_socket, &[unix]) && judged(true, libc::SYS_socket, &[unix]));
        assert!(!judged(false, libc::SYS_socket, &[inet]) && judged(true, libc::SYS_socket, &[inet]));
        assert!(!judged(true, libc::SYS_socket, &[vsock]));
        // The kernel looks at the lower half only, and so must the filter.
        assert!(
            !judged(true, libc::SYS_socket, &[1 << 32 | vsock]) && judged(false, libc::SYS_socket, &[1 << 32 | unix])
        );
        assert!(judged(false, libc::SYS_clone, &[0x11]) && !judged(false, libc::SYS_clone, &[0x1000_0011]));
        assert!(judged(false, libc::SYS_unshare, &[0x200]) && !judged(false, libc::SYS_unshare, &[0x80]));
        assert!(judged(false, libc::SYS_ioctl, &[0, 0x5401]) && !judged(false, libc::SYS_ioctl, &[0, 0x5412]));
        let mode = |kind: u32| u64::from(kind | 0o644);
        assert!(judged(false, libc::SYS_mknodat, &[0, 0, mode(libc::S_IFIFO)]));
        assert!(judged(false, libc::SYS_mknodat, &[0, 0, mode(libc::S_IFREG)]));
        assert!(!judged(false, libc::SYS_mknodat, &[0, 0, mode(libc::S_IFCHR)]));
        assert!(!judged(false, libc::SYS_mknodat, &[0, 0, mode(libc::S_IFBLK)]));
    }
}
