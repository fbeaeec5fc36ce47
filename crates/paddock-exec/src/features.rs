//! What this system has of what a sandbox needs, for `paddock doctor`.
//!
//! Most of it is found by trying: a sandbox is built around `true`, once plain and once staged, and the step that fails
//! names what is missing. A table of versions would be wrong on the next distribution.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::cgroup;
use crate::error::{Error, Part};
use crate::landlock;
use crate::run::run;
use crate::sandbox::{Command, How, Limits, Sandbox, Shown, Stage, Tier};
use crate::sys;

/// Something that a kernel may have or lack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// What it protects, or makes possible.
    pub protects: &'static str,
    /// Whether this system has it.
    pub present: bool,
    /// Without it no command is run.
    pub needed: bool,
    /// What was found, where there is more to say than yes or no.
    pub detail: String,
    /// How to get it.
    pub remedy: String,
}

/// Looks at everything that a sandbox uses.
pub fn features() -> Vec<Feature> {
    let plain = trial(false);
    let staged = trial(true);
    let lacks = |trial: &Result<(), Error>, part: Part| matches!(trial, Err(Error::Build { part: failed, .. }) if *failed == part);
    let users = !matches!(&plain, Err(Error::Missing { .. })) && !lacks(&plain, Part::Users);
    let version = sys::landlock_version();
    let needed = |name, protects, present, detail, remedy: &str| Feature {
        name,
        protects,
        present,
        needed: true,
        detail,
        remedy: remedy.to_owned(),
    };
    let why = |trial: &Result<(), Error>| trial.as_ref().err().map(first_line).unwrap_or_default();
    let mut all = vec![
        needed(
            "user namespaces",
            "commands run without any privilege of the host",
            users,
            if users { String::new() } else { why(&plain) },
            &users_remedy(),
        ),
        needed(
            "mounts of its own",
            "a command sees its Workspaces and nothing else",
            users && !lacks(&plain, Part::Mounts),
            String::new(),
            "Linux 5.12 or newer is needed",
        ),
        needed(
            "a process table of its own",
            "processes of the host are neither seen nor reached",
            users && !lacks(&plain, Part::Processes),
            String::new(),
            "in a container, run it with an unmasked /proc (docker: --security-opt systempaths=unconfined)",
        ),
        needed(
            "overlay file systems in a user namespace",
            "changes are staged, and hidden names are not there",
            users && !lacks(&staged, Part::Layers) && !lacks(&plain, Part::Layers),
            if lacks(&staged, Part::Layers) { why(&staged) } else { String::new() },
            "Linux 5.11 or newer with the overlay module is needed: sudo modprobe overlay",
        ),
        needed(
            "Landlock",
            "WRITE_ONLY Workspaces, and a second wall behind the mounts",
            version >= landlock::NEEDED && !lacks(&plain, Part::Landlock),
            if version == 0 { String::new() } else { format!("version {version}") },
            landlock::REMEDY,
        ),
        needed(
            "filter of system calls",
            "sockets by family, io_uring, ptrace, keys and other doors of the kernel",
            !lacks(&plain, Part::Filter),
            String::new(),
            "a kernel with CONFIG_SECCOMP_FILTER is needed",
        ),
    ];
    all.extend(bounds());
    all.push(fuse());
    all
}

/// The first needed feature that is missing, as the error with which commands are refused.
pub fn missing() -> Option<Error> {
    let missing = features().into_iter().find(|feature| feature.needed && !feature.present)?;
    Some(Error::Missing { missing: missing.name.to_owned(), remedy: missing.remedy })
}

/// Control groups: without them limits hold for single processes only.
fn bounds() -> Vec<Feature> {
    let (memory, pids, cpu) = cgroup::tiers();
    let remedy =
        "run Paddock in a control group that its user may write, e.g. systemd-run --user --scope -p Delegate=yes";
    let bound = |name, protects, tier: Option<Tier>, instead: Tier| Feature {
        name,
        protects,
        present: tier.is_some(),
        needed: false,
        detail: tier.unwrap_or(instead).to_string(),
        remedy: remedy.to_owned(),
    };
    let processes = if rustix::process::geteuid().is_root() { Tier::PidNamespace } else { Tier::PerUser };
    vec![
        bound("memory limit", "all processes of a command together", memory, Tier::PerProcess),
        bound("process limit", "all processes of a command together", pids, processes),
        bound("processor time", "all processes of a command together", cpu, Tier::PerProcess),
    ]
}

fn fuse() -> Feature {
    Feature {
        name: "FUSE",
        protects: "Virtual and overlay Workspaces are visible to commands",
        present: access("/dev/fuse", Access::READ_OK | Access::WRITE_OK).is_ok(),
        needed: false,
        detail: String::new(),
        remedy: "sudo modprobe fuse && sudo chmod 0666 /dev/fuse".to_owned(),
    }
}

/// Builds a sandbox around `true`.
fn trial(staged: bool) -> Result<(), Error> {
    let yard = Yard::new()?;
    let how = if staged {
        How::Staged(Stage { upper: yard.dir("upper")?, work: yard.dir("work")?, held: Vec::new() })
    } else {
        How::Direct
    };
    let mut command = Command::new("/trial", ["/bin/sh", "-c", ":"]);
    command.limits = Limits::default();
    let shown = Shown::host("/trial", yard.dir("shown")?, how);
    run(Sandbox::new(vec![shown], command), &|| false, &mut |_| {}).map(drop)
}

/// A directory for a trial, gone afterwards.
struct Yard(PathBuf);

impl Yard {
    fn new() -> Result<Yard, Error> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("paddock-trial-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|source| Error::Host { path: path.clone(), source })?;
        Ok(Yard(path))
    }

    fn dir(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.0.join(name);
        fs::create_dir(&path).map_err(|source| Error::Host { path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let _ = crate::staged::remove_tree(&self.0);
    }
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Names the setting that forbids user namespaces.
fn users_remedy() -> String {
    let is = |path: &str, value: &str| fs::read_to_string(Path::new(path)).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor forbids them: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give this program \
                a profile with `userns,`"
            .to_owned();
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "sudo sysctl kernel.unprivileged_userns_clone=1".to_owned();
    }
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "sudo sysctl user.max_user_namespaces=15000".to_owned();
    }
    "in a container, allow them: docker needs --security-opt seccomp=unconfined and --cap-add SYS_ADMIN".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_need_is_here_where_the_other_tests_run() {
        let all = features();
        let absent: Vec<&Feature> = all.iter().filter(|feature| feature.needed && !feature.present).collect();
        assert!(absent.is_empty(), "{absent:?}");
        assert!(all.iter().all(|feature| !feature.remedy.is_empty()));
        assert!(missing().is_none());
    }

    #[test]
    fn a_trial_leaves_nothing_behind() {
        let path = {
            let yard = Yard::new().unwrap();
            yard.dir("a").unwrap();
            yard.0.clone()
        };
        assert!(!path.exists());
    }
}
