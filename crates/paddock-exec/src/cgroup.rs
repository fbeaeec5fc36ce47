//! Control groups: what all processes of a sandbox use together, counted and bounded by the kernel.
//!
//! Version 2 and version 1, each as far as this process may write it; a controller that is missing is left to the
//! limits of single processes. A group belongs to a slot and is used by one sandbox after the other, so counters are
//! read as differences. It must never move a process that is not ours.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::sandbox::Tier;

/// What groups of Paddock are called; the number of the process and its start time follow.
const PREFIX: &str = "paddock-";

/// More than the kernel has to say in any file of counters that is read.
const LARGEST: usize = 4096;

/// The group of a slot.
#[derive(Debug, Default)]
pub(crate) struct Group {
    memory: Option<Part>,
    pids: Option<Part>,
    cpu: Option<Part>,
    /// The directory into which sandboxes are cloned, where the kernel can do that (version 2).
    pub(crate) entrance: Option<OwnedFd>,
    /// The bounds that are set: commands mostly have the same, and setting them again is not free.
    bounds: Mutex<Option<Bounds>>,
}

/// Memory and processes, and what keeps them.
type Bounds = ((u64, u64), (Option<Tier>, Option<Tier>));

/// One controller of a group.
#[derive(Debug, Clone)]
struct Part {
    tier: Tier,
    parent: PathBuf,
    directory: PathBuf,
    /// The counters that were read: before, during and after each run, so their files stay open.
    counters: Arc<Mutex<Vec<(&'static str, File)>>>,
}

impl Part {
    fn read(&self, file: &'static str) -> Option<String> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counters.iter().position(|(name, _)| *name == file);
        let index = match known {
            Some(index) => index,
            None => {
                counters.push((file, File::open(self.directory.join(file)).ok()?));
                counters.len() - 1
            }
        };
        let mut bytes = [0; LARGEST];
        let read = counters.get(index)?.1.read_at(&mut bytes, 0).ok()?;
        Some(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    fn number(&self, file: &'static str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }

    fn write(&self, file: &str, value: &str) -> bool {
        fs::write(self.directory.join(file), value).is_ok()
    }

    /// The value behind a word in a file of rows.
    fn event(&self, file: &'static str, word: &str) -> u64 {
        let text = self.read(file).unwrap_or_default();
        let mut rows = text.lines().filter_map(|row| row.split_once(' '));
        rows.find(|(name, _)| *name == word).and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
    }
}

/// Where groups can be made, per controller.
#[derive(Debug, Default)]
struct Base {
    memory: Option<(Tier, PathBuf)>,
    pids: Option<(Tier, PathBuf)>,
    cpu: Option<(Tier, PathBuf)>,
}

/// The counters of a group at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) cpu: Option<Duration>,
    pub(crate) killed_for_memory: u64,
    pub(crate) refused_processes: u64,
    memory_now: u64,
    memory_most: u64,
}

impl Count {
    /// What happened since an earlier moment.
    pub(crate) fn since(self, earlier: Count) -> Count {
        Count {
            cpu: self.cpu.zip(earlier.cpu).map(|(now, then)| now.saturating_sub(then)),
            killed_for_memory: self.killed_for_memory.saturating_sub(earlier.killed_for_memory),
            refused_processes: self.refused_processes.saturating_sub(earlier.refused_processes),
            memory_now: self.memory_now,
            memory_most: self.memory_most.saturating_sub(earlier.memory_now),
        }
    }

    /// The most memory that was in use at once; none when the kernel does not count it.
    pub(crate) fn memory(self) -> Option<u64> {
        (self.memory_most > 0).then_some(self.memory_most)
    }
}

impl Group {
    /// Makes the group of a slot and puts the calling thread into it; none where nothing can be written.
    pub(crate) fn make(number: u64) -> Option<Group> {
        let name = format!("{PREFIX}{}-{number}", myself()?);
        let base = base();
        let part = |place: &Option<(Tier, PathBuf)>| place.as_ref().and_then(|place| enter(place, &name));
        let mut group =
            Group { memory: part(&base.memory), pids: part(&base.pids), cpu: part(&base.cpu), ..Group::default() };
        let unified = group.parts().find(|part| part.tier == Tier::CgroupV2).map(|part| part.directory.clone());
        group.entrance = unified.and_then(|directory| fs::File::open(directory).ok()).map(OwnedFd::from);
        let any = group.parts().next().is_some();
        any.then_some(group)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        [&self.memory, &self.pids, &self.cpu].into_iter().flatten()
    }

    /// Takes the calling thread out and removes the group. Nothing else may be in it.
    pub(crate) fn remove(&self) {
        for part in self.parts() {
            leave(part);
        }
    }

    /// Sets what a sandbox may use; says which of the two limits the group keeps.
    pub(crate) fn bound(&self, memory: u64, processes: u64) -> (Option<Tier>, Option<Tier>) {
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        match *bounds {
            Some((set, kept)) if set == (memory, processes) => kept,
            _ => bounds.insert(((memory, processes), self.set(memory, processes))).1,
        }
    }

    fn set(&self, memory: u64, processes: u64) -> (Option<Tier>, Option<Tier>) {
        let bytes = memory.to_string();
        let memory = self.memory.as_ref().filter(|part| match part.tier {
            Tier::CgroupV2 => {
                part.write("memory.swap.max", "0");
                part.write("memory.oom.group", "1");
                part.write("memory.max", &bytes)
            }
            // The limit with swap must never be below the one without, so it is lifted first.
            _ => {
                part.write("memory.memsw.limit_in_bytes", "-1");
                let bounded = part.write("memory.limit_in_bytes", &bytes);
                part.write("memory.memsw.limit_in_bytes", &bytes);
                bounded
            }
        });
        // Besides the command's: the first process, and the slot's thread where that is in the group.
        let most = (processes + 2).to_string();
        let pids = self.pids.as_ref().filter(|part| part.write("pids.max", &most));
        (memory.map(|part| part.tier), pids.map(|part| part.tier))
    }

    /// Who counts processor time.
    pub(crate) fn cpu_tier(&self) -> Option<Tier> {
        self.cpu.as_ref().map(|part| part.tier)
    }

    /// Processor time so far.
    pub(crate) fn cpu(&self) -> Option<Duration> {
        let part = self.cpu.as_ref()?;
        match part.tier {
            Tier::CgroupV2 => Some(Duration::from_micros(part.event("cpu.stat", "usage_usec"))),
            _ => part.number("cpuacct.usage").map(Duration::from_nanos),
        }
    }

    /// Forgets the most memory that was in use so far, where the kernel can.
    pub(crate) fn forget_peak(&self) {
        if let Some(part) = self.memory.as_ref().filter(|part| part.tier == Tier::CgroupV1) {
            part.write("memory.max_usage_in_bytes", "0");
        }
    }

    /// All counters.
    pub(crate) fn count(&self) -> Count {
        let mut count = Count { cpu: self.cpu(), ..Count::default() };
        if let Some(part) = &self.memory {
            let (events, now, most) = match part.tier {
                Tier::CgroupV2 => ("memory.events", "memory.current", "memory.peak"),
                _ => ("memory.oom_control", "memory.usage_in_bytes", "memory.max_usage_in_bytes"),
            };
            count.killed_for_memory = part.event(events, "oom_kill");
            count.memory_now = part.number(now).unwrap_or(0);
            count.memory_most = part.number(most).unwrap_or(0);
        }
        if let Some(part) = &self.pids {
            count.refused_processes = part.event("pids.events", "max");
        }
        count
    }
}

/// Makes the directory of a controller and, in version 1, puts the calling thread into it.
fn enter((tier, parent): &(Tier, PathBuf), name: &str) -> Option<Part> {
    let directory = parent.join(name);
    // In version 2 all controllers share one directory, so it may be there already.
    match fs::create_dir(&directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && *tier == Tier::CgroupV2 => {}
        Err(_) => return None,
    }
    let part = Part { tier: *tier, parent: parent.clone(), directory, counters: Arc::default() };
    if *tier == Tier::CgroupV1 && !part.write("tasks", &thread_number()) {
        let _ = fs::remove_dir(&part.directory);
        return None;
    }
    Some(part)
}

fn leave(part: &Part) {
    if part.tier == Tier::CgroupV1 {
        let _ = fs::write(part.parent.join("tasks"), thread_number());
    }
    // The last process may take a moment to be gone for good.
    for _ in 0..50 {
        match fs::remove_dir(&part.directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(2));
            }
            _ => return,
        }
    }
}

fn thread_number() -> String {
    rustix::thread::gettid().as_raw_nonzero().to_string()
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let base = find(&own, &mounts);
        for (_, place) in [&base.memory, &base.pids, &base.cpu].into_iter().flatten() {
            sweep(place);
        }
        base
    })
}

/// Finds where groups can be made, from the kernel's two tables.
fn find(own: &str, mounts: &str) -> Base {
    let mut base = Base::default();
    let slot = |place: Option<PathBuf>, tier| place.map(|place| (tier, place));
    if let Some(place) = unified(own, mounts) {
        base.memory = slot(with_controller(&place, "memory"), Tier::CgroupV2);
        base.pids = slot(with_controller(&place, "pids"), Tier::CgroupV2);
        base.cpu = slot(Some(place), Tier::CgroupV2).filter(|_| base.memory.is_some() || base.pids.is_some());
    }
    let old = |name| slot(controller(own, mounts, name).filter(|place| may_write(place)), Tier::CgroupV1);
    base.memory = base.memory.or_else(|| old("memory"));
    base.pids = base.pids.or_else(|| old("pids"));
    base.cpu = base.cpu.or_else(|| old("cpuacct"));
    base
}

/// The innermost group above ours in which we may make others that bound memory and processes (version 2).
fn unified(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|row| row.strip_prefix("0::"))?;
    let top = mounted(mounts, |kind, _| kind == "cgroup2")?;
    let place = top.join(path.trim_start_matches('/'));
    let fits =
        |place: &&Path| place.starts_with(&top) && with_controller(place, "memory").is_some() && may_write(place);
    place.ancestors().find(fits).map(Path::to_owned)
}

/// The place itself, when groups in it have this controller.
fn with_controller(place: &Path, name: &str) -> Option<PathBuf> {
    let given = fs::read_to_string(place.join("cgroup.subtree_control")).ok()?;
    given.split_whitespace().any(|given| given == name).then(|| place.to_owned())
}

/// Our own group of a controller (version 1).
fn controller(own: &str, mounts: &str, name: &str) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|one| one == name);
    let path = own.lines().find_map(|row| {
        let (_, rest) = row.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        has(controllers).then(|| path.to_owned())
    })?;
    let top = mounted(mounts, |kind, options| kind == "cgroup" && has(options))?;
    let place = top.join(path.trim_start_matches('/'));
    // In a container the path may be the host's, while only our own group is mounted.
    Some(if place.is_dir() { place } else { top })
}

/// The first mount whose kind and options fit, as `mountinfo` names it.
fn mounted(mounts: &str, fits: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|row| {
        let (head, tail) = row.split_once(" - ")?;
        let mut tail = tail.split(' ');
        let (kind, options) = (tail.next()?, tail.nth(1)?);
        fits(kind, options).then(|| head.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

fn may_write(place: &Path) -> bool {
    let write = rustix::fs::Access::WRITE_OK;
    let allowed = |path: PathBuf| rustix::fs::access(&path, write).is_ok();
    allowed(place.to_owned()) && allowed(place.join("cgroup.procs"))
}

/// This process by number and start time, so that a number that is used again is no other's group.
fn myself() -> Option<String> {
    let pid = std::process::id();
    Some(format!("{pid}-{}", start_time(pid)?))
}

fn start_time(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, so count from its closing bracket.
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Removes the groups of processes that are gone.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|name| !is_alive(name)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn is_alive(name: &str) -> bool {
    let mut parts = name.split('-').map(str::parse::<u64>);
    let (Some(Ok(pid)), Some(Ok(start))) = (parts.next(), parts.next()) else { return true };
    u32::try_from(pid).ok().and_then(start_time) == Some(start)
}

/// What keeps a limit on this system, for `features`.
pub(crate) fn tiers() -> (Option<Tier>, Option<Tier>, Option<Tier>) {
    let base = base();
    let tier = |place: &Option<(Tier, PathBuf)>| place.as_ref().map(|(tier, _)| *tier);
    (tier(&base.memory), tier(&base.pids), tier(&base.cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
36 35 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
37 35 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
38 35 0:32 / /sys/fs/cgroup/unified rw,relatime shared:3 - cgroup2 cgroup2 rw
";

    #[test]
    fn a_controller_is_found_where_it_is_mounted() {
        let own = "5:memory:/a/b\n4:cpu,cpuacct:/\n0::/c\n";
        assert_eq!(controller(own, MOUNTS, "memory"), Some(PathBuf::from("/sys/fs/cgroup/memory")));
        assert_eq!(controller(own, MOUNTS, "cpuacct"), Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/")));
        assert_eq!(controller(own, MOUNTS, "pids"), None);
    }

    #[test]
    fn only_groups_of_the_dead_are_swept() {
        let place = tempfile::tempdir().unwrap();
        let mine = format!("{PREFIX}{}-0", myself().unwrap());
        let other = format!("{PREFIX}{}-{}-0", std::process::id(), 1);
        for name in [mine.as_str(), other.as_str(), "paddock-notes", "someone"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        sweep(place.path());
        let left = |name: &str| place.path().join(name).exists();
        assert!(left(&mine) && left("paddock-notes") && left("someone") && !left(&other));
    }

    #[test]
    fn counters_are_differences() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().to_owned();
        let part = Part { tier: Tier::CgroupV2, parent: directory.clone(), directory, counters: Arc::default() };
        fs::write(place.path().join("memory.events"), "low 0\noom 3\noom_kill 2\n").unwrap();
        fs::write(place.path().join("cpu.stat"), "usage_usec 1500\nuser_usec 9\n").unwrap();
        let group = Group { memory: Some(part.clone()), pids: Some(part.clone()), cpu: Some(part), ..Group::default() };
        let count = group.count();
        assert_eq!((count.killed_for_memory, count.cpu), (2, Some(Duration::from_micros(1500))));
        fs::write(place.path().join("memory.events"), "oom_kill 5\n").unwrap();
        assert_eq!(group.count().since(count).killed_for_memory, 3);
    }

    #[test]
    fn version_2_is_bounded_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().to_owned();
        let part = Part { tier: Tier::CgroupV2, parent: directory.clone(), directory, counters: Arc::default() };
        let group = Group { memory: Some(part.clone()), pids: Some(part), ..Group::default() };
        assert_eq!(group.bound(4096, 10), (Some(Tier::CgroupV2), Some(Tier::CgroupV2)));
        let text = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
        assert_eq!(
            (text("memory.max"), text("memory.swap.max"), text("pids.max")),
            ("4096".into(), "0".into(), "12".into())
        );
    }
}
