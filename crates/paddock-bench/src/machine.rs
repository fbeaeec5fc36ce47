//! The machine, the day and the versions that a run was measured with.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::options::{Options, peer};
use crate::page::cell;

/// In memory, where the temporary directory will not do.
const IN_MEMORY: &str = "/dev/shm";

/// Where the files of the benchmarks go: the temporary directory, except on an ext4 without a journal. There the kernel
/// looks through every file deleted in the last minute before it makes a new one, so that whoever replaces files atomically
/// is measured by how many were deleted before.
pub(crate) fn place_of_files() -> PathBuf {
    let usual = std::env::temp_dir();
    let (device, kind) = mounted(&read("/proc/self/mounts"), &usual).unwrap_or_default();
    let in_memory = PathBuf::from(IN_MEMORY);
    if kind == "ext4" && !has_journal(&device) && in_memory.is_dir() { in_memory } else { usual }
}

/// Whether the kernel keeps a journal for this device.
fn has_journal(device: &str) -> bool {
    let name = device.rsplit('/').next().unwrap_or_default();
    let Ok(journals) = fs::read_dir("/proc/fs/jbd2") else { return false };
    journals.flatten().any(|journal| journal.file_name().to_string_lossy().starts_with(&format!("{name}-")))
}

/// The type of the file system that holds a path.
pub(crate) fn file_system(path: &Path) -> String {
    mounted(&read("/proc/self/mounts"), path).map_or("unknown".to_owned(), |(_, kind)| kind)
}

/// What has to be said beside figures for them to mean anything.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    lines: Vec<(&'static str, String)>,
}

impl Machine {
    /// Looks at this machine; `files` is where the files of the benchmarks are.
    pub(crate) fn here(options: &Options, files: &Path) -> Self {
        let mut lines = vec![
            ("date", today()),
            ("processor", format!("{} cores, {}", cores(), processor())),
            ("kernel", format!("Linux {}", read("/proc/sys/kernel/osrelease"))),
            ("file system", file_system(files)),
            ("load before the run", read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(", ")),
        ];
        let bubblewrap = is_on_path("bwrap").then(|| PathBuf::from("bwrap"));
        let programs = [
            ("Paddock", &options.paddock),
            (peer::RUST_MCP_FILESYSTEM, &options.rust_mcp_filesystem),
            ("Node", &options.node),
            (peer::RIPGREP, &options.ripgrep),
            (peer::AGENTFS, &options.agentfs),
            (peer::BUBBLEWRAP, &bubblewrap),
        ];
        let missing = |peer| format!("could not be measured: {}", options.why_missing(peer));
        lines.extend(programs.map(|(name, program)| (name, program.as_deref().map_or_else(|| missing(name), version))));
        let langgraph = options.python.as_ref().zip(options.langgraph.as_ref());
        let langgraph =
            langgraph.map_or_else(|| missing(peer::LANGGRAPH), |(python, script)| python_version(python, script));
        lines.push((peer::LANGGRAPH, langgraph));
        let official = options.official.as_deref().map_or_else(|| missing(peer::OFFICIAL), package_version);
        lines.push((peer::OFFICIAL, official));
        lines.push((peer::POSTGRES, options.postgres_version.clone().unwrap_or_else(|| missing(peer::POSTGRES))));
        lines.extend(npm_packages(options.npm_package.as_deref()));
        Self { lines }
    }

    /// How long the run lasted.
    pub(crate) fn took(&mut self, time: std::time::Duration) {
        self.lines.push(("the whole run took", crate::parts::clock(time)));
    }

    pub(crate) fn as_markdown(&self) -> String {
        let mut out = String::from("\n## Machine and versions\n\n| | |\n| --- | --- |\n");
        for (what, value) in &self.lines {
            let _ = writeln!(out, "| {what} | {} |", cell(value));
        }
        out
    }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// What the npm package is measured beside.
fn npm_packages(place: Option<&Path>) -> Vec<(&'static str, String)> {
    let Some(place) = place else { return Vec::new() };
    let of = |name: &'static str| (name, package_version(&place.join("node_modules").join(name).join("package.json")));
    ["deepagents", "langchain"].map(of).to_vec()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim_end().to_owned()).unwrap_or_default()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn processor() -> String {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, name)| name.trim()).to_owned()
}

/// The device and the type of the file system that holds a path: the longest mount point above it.
fn mounted(mounts: &str, path: &Path) -> Option<(String, String)> {
    let above = |line: &str| {
        let mut fields = line.split(' ');
        let (device, point, kind) = (fields.next()?, fields.next()?, fields.next()?);
        path.starts_with(point).then(|| (point.len(), (device.to_owned(), kind.to_owned())))
    };
    mounts.lines().filter_map(above).max_by_key(|(length, _)| *length).map(|(_, found)| found)
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    first.rsplit_once(' ').filter(|_| !first.contains('(')).map_or(first, |(_, version)| version).to_owned()
}

/// What a script of a peer says it is.
fn python_version(python: &Path, script: &Path) -> String {
    let output = Command::new(python).arg(script).arg("--version").output().ok();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// From the `package.json` above a script.
fn package_version(script: &Path) -> String {
    let found = script.ancestors().find_map(|above| fs::read_to_string(above.join("package.json")).ok());
    let package: Option<serde_json::Value> = found.and_then(|text| serde_json::from_str(&text).ok());
    package.and_then(|package| Some(package["version"].as_str()?.to_owned())).unwrap_or_else(|| "unknown".to_owned())
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date_of(seconds / 86_400)
}

/// The date so many days after 1 January 1970.
fn date_of(mut days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!([date_of(0), date_of(58), date_of(59)], ["1970-01-01", "1970-02-28", "1970-03-01"]);
        assert_eq!([date_of(11_016), date_of(19_782), date_of(20_089)], ["2000-02-29", "2024-02-29", "2025-01-01"]);
    }

    #[test]
    fn the_nearest_mount_point_above_a_path_tells_its_file_system() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nx /tmpfoo xfs rw 0 0\n";
        let mounted = |path: &str| mounted(mounts, Path::new(path)).unwrap();
        assert_eq!(mounted("/tmp/x"), ("tmpfs".to_owned(), "tmpfs".to_owned()));
        assert_eq!(mounted("/home"), ("/dev/a".to_owned(), "ext4".to_owned()));
    }
}
