//! What a process and those it started use: processor time and memory, as the kernel counts them; and what they may.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    /// The most there ever was.
    pub(crate) peak: u64,
}

/// Lets this process and the servers it starts open as many files as the host allows: one peer opens
/// all files of a tree at once to search them and fails at the usual limit of 1,024.
pub(crate) fn allow_open_files() -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).context("the limit of open files can be raised to the most allowed")
}

/// Processor time, in user space and in the kernel, of a process and everything it started.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let ticks: u64 = tree(pid).into_iter().map(ticks).sum::<Result<u64>>()?;
    #[allow(clippy::cast_precision_loss)]
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Memory of a process and everything it started.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let mut sum = Memory::default();
    for pid in tree(pid) {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        sum.resident += kibibytes(&status, "VmRSS:").context("the kernel tells the memory of a process")? * 1024;
        sum.peak += kibibytes(&status, "VmHWM:").context("the kernel tells the memory of a process")? * 1024;
    }
    Ok(sum)
}

/// From now on the most there ever was is counted anew.
pub(crate) fn forget_peak(pid: u32) -> Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").context("the kernel forgets the most that a process ever had")
}

/// What this process has resident: of its own, and pages of files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) own: u64,
    pub(crate) mapped: u64,
}

/// Memory of this process alone.
pub(crate) fn own_memory() -> Result<Resident> {
    let status = fs::read_to_string("/proc/self/status")?;
    let of = |key| kibibytes(&status, key).map(|kibibytes| kibibytes * 1024);
    let told = || Some(Resident { own: of("RssAnon:")?, mapped: of("RssFile:")? + of("RssShmem:")? });
    told().context("the kernel tells the memory of a process")
}

/// The process and its descendants. Where the kernel does not tell them, the process alone.
fn tree(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(&pid) = all.get(next) {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    all
}

/// Of the process, its threads that ended, and its children that were waited for.
fn ticks(pid: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse_ticks(&stat).with_context(|| format!("cannot read what process {pid} used"))
}

fn parse_ticks(stat: &str) -> Option<u64> {
    // The name of the program stands in parentheses and may hold anything.
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

fn kibibytes(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_past_any_program_name() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1";
        assert_eq!(parse_ticks(stat), Some(127));
        assert_eq!(parse_ticks("12 (a) S 1"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!((kibibytes(status, "VmRSS:"), kibibytes(status, "VmHWM:")), (Some(1024), Some(2048)));
        assert_eq!(kibibytes(status, "VmSwap:"), None);
    }

    #[test]
    fn a_process_and_its_children_are_counted() {
        let mut shell = std::process::Command::new("sh");
        let mut child = shell.args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        while tree(child.id()).len() < 2 {
            std::thread::yield_now();
        }
        let whole = tree(child.id());
        let sum = memory(child.id()).unwrap();
        assert!(sum.resident > 0 && sum.peak >= sum.resident);
        cpu_time(child.id()).unwrap();
        for pid in whole.iter().skip(1) {
            let _ = std::process::Command::new("kill").arg(pid.to_string()).status();
        }
        child.wait().unwrap();
    }
}
