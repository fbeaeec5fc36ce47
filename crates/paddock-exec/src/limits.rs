//! Which limit is kept by what, and which one ended a run.
//!
//! A control group bounds all processes together; where there is none the kernel bounds each process, or each user. A
//! limit that is already tighter on the launcher itself stays as it is: it could not be raised anyway.

use std::time::Duration;

use rustix::process::{Resource, Rlimit};

use crate::cgroup::{Count, Group};
use crate::plan::Plan;
use crate::sandbox::{Exit, Limit, Limits, Tier, Tiers};

/// The least number of processes that the kernel accepts for a process namespace.
const LEAST_PID_MAX: u64 = 301;

/// Puts the limits into the plan and onto the group; the answer says what keeps each.
pub(crate) fn apply(limits: &Limits, group: Option<&Group>, plan: &mut Plan) -> Tiers {
    let on = plan.protections.limits;
    let (memory, processes) = match group.filter(|_| on) {
        Some(group) => group.bound(limits.memory, limits.processes),
        None => (None, None),
    };
    let is_root = rustix::process::geteuid().is_root();
    let tiers = Tiers {
        memory: memory.unwrap_or(Tier::PerProcess),
        processes: processes.unwrap_or(if is_root { Tier::PidNamespace } else { Tier::PerUser }),
        cpu: group.and_then(Group::cpu_tier).unwrap_or(Tier::PerProcess),
    };
    if !on {
        // The group may still have the bounds of an earlier run.
        if let Some(group) = group {
            group.bound(i64::MAX as u64, 4_000_000);
        }
        return tiers;
    }
    let seconds = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
    let mut bounds = vec![
        // The signal can be caught, so a second later nothing is asked any more.
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::Fsize, limits.file_size, limits.file_size),
        (Resource::Nofile, limits.open_files, limits.open_files),
        // Not 0: a pattern that pipes dumps to a program of the host ignores 0, and takes 1 for "none".
        (Resource::Core, 1, 1),
        // Locked memory and message queues are the kernel's, not the group's.
        (Resource::Memlock, 64 * 1024, 64 * 1024),
        (Resource::Msgqueue, 819_200, 819_200),
    ];
    if tiers.memory == Tier::PerProcess {
        bounds.push((Resource::As, limits.memory, limits.memory));
    }
    match tiers.processes {
        // The first process counts too.
        Tier::PerUser => bounds.push((Resource::Nproc, limits.processes + 1, limits.processes + 1)),
        Tier::PidNamespace => plan.pid_max = Some(limits.processes.max(LEAST_PID_MAX).to_string().into_bytes()),
        _ => {}
    }
    plan.limits = bounds.into_iter().map(|(resource, soft, hard)| (resource, clamped(resource, soft, hard))).collect();
    tiers
}

fn clamped(resource: Resource, soft: u64, hard: u64) -> Rlimit {
    let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
    Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) }
}

/// The limits that a run met, by what it left behind: `(ended by, all that were met)`.
pub(crate) fn met(limits: &Limits, exit: Exit, cpu: Duration, count: Count) -> (Option<Limit>, Vec<Limit>) {
    let ended_by = |signal: i32| exit == Exit::Signalled(signal) || exit == Exit::Exited(128 + signal);
    let mut all = Vec::new();
    let mut ended = None;
    if count.killed_for_memory > 0 {
        all.push(Limit::Memory);
        ended = Some(Limit::Memory);
    }
    if ended_by(libc::SIGXFSZ) {
        all.push(Limit::FileSize);
        ended = Some(Limit::FileSize);
    }
    let killed = ended_by(libc::SIGXCPU) || ended_by(libc::SIGKILL);
    if killed && cpu >= limits.cpu {
        all.push(Limit::Cpu);
        ended = Some(Limit::Cpu);
    }
    if count.refused_processes > 0 {
        all.push(Limit::Processes);
    }
    (ended, all)
}
