//! One run of git: what it may reach, what it is told, and what it says.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use paddock_core::visible;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Address, Credentials};
use crate::error::{ProjectError, Result};
use crate::host;
use crate::progress::Meter;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// Every so many looks the disk is looked at too.
const LOOKS_PER_SIZE: u32 = 8;
/// The longest that a run may take.
pub(crate) const WHOLE: Duration = Duration::from_secs(10 * 60);
/// The longest that a run may neither say anything nor put anything on the disk.
const IDLE: Duration = Duration::from_secs(60);
/// The most that is kept of what git says.
const MOST_SAID: usize = 64 * 1024;
/// The most that is taken of an answer.
const MOST_ANSWERED: usize = 1024 * 1024;

/// What git gets of this process's environment: ways to the network, and nothing that changes what it runs.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Settings of every run; those of the person and of the system are not read.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("init.templateDir", ""),
    ("submodule.recurse", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.gpgSign", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("transfer.credentialsInUrl", "die"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
];

/// Git with one remote, or with none.
pub(crate) struct Git<'a> {
    home: &'a Path,
    address: Option<&'a Address>,
    /// What the helper reads: a file in memory of this process.
    opened_by: Option<(File, &'a Credentials)>,
    patience: Patience,
}

/// How long a run is waited for: a remote decides neither whether it answers nor how slowly.
#[derive(Debug, Clone, Copy)]
struct Patience {
    whole: Duration,
    idle: Duration,
}

/// What a listener counts of what it hears.
type Heard = Arc<AtomicU64>;

/// A bound on what a run may put on the disk.
pub(crate) struct Growth<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) most: u64,
}

impl<'a> Git<'a> {
    /// Git for this remote. `home` is an empty place of its own.
    pub(crate) fn new(
        home: &'a Path,
        address: Option<&'a Address>,
        credentials: Option<&'a Credentials>,
    ) -> Result<Self> {
        let opened_by = match (address, credentials) {
            (_, None) => None,
            (Some(Address::Web { .. }), Some(credentials)) => {
                let why = "the secret that opens it holds the end of a line";
                let shown = || address.map(Address::shown).unwrap_or_default();
                let lines = credentials.lines().ok_or_else(|| ProjectError::BadAddress { address: shown(), why })?;
                Some((host::memory_file(lines.as_bytes()).map_err(ProjectError::Scratch)?, credentials))
            }
            (address, Some(_)) => {
                let address = address.map(Address::shown).unwrap_or_default();
                return Err(ProjectError::BadAddress {
                    address,
                    why: "a secret opens only https; ssh has its own keys",
                });
            }
        };
        Ok(Self { home, address, opened_by, patience: Patience { whole: WHOLE, idle: IDLE } })
    }

    /// A run of git, confined. The caller adds what it is to do.
    pub(crate) fn command(&self) -> Command {
        let mut git = host::program("git");
        for name in ENVIRONMENT {
            if let Some(value) = std::env::var_os(name) {
                git.env(name, value);
            }
        }
        git.env("HOME", self.home)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15")
            .env("GIT_ALLOW_PROTOCOL", self.address.map_or("none", Address::protocol));
        for (number, (key, value)) in self.settings().into_iter().enumerate() {
            // Key and value apart: on the command line git would part them itself, at the first "=".
            git.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
            git.env("GIT_CONFIG_COUNT", (number + 1).to_string());
        }
        git.current_dir(self.home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        git
    }

    /// All settings of a run, in the order in which they hold.
    fn settings(&self) -> Vec<(String, String)> {
        let fixed = SETTINGS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let mut settings: Vec<_> = fixed.collect();
        if let (Some((file, _)), Some(Address::Web { origin, .. })) = (&self.opened_by, self.address) {
            // Only this host is told, whoever it sends us to. The words are read from our memory by whoever may look there:
            // they are in no argument, no environment and no file.
            let (process, descriptor) = (std::process::id(), file.as_raw_fd());
            let helper = format!("!cat /proc/{process}/fd/{descriptor} #");
            settings.push((format!("credential.{origin}.helper"), helper));
        }
        settings
    }

    /// Runs it to its end, and hands back what it answered.
    pub(crate) fn answer(&self, doing: &'static str, git: &mut Command, meter: &mut Meter<'_>) -> Result<String> {
        let mut child = spawn(git.stdout(Stdio::piped()))?;
        let sound = Heard::default();
        let answer = child.stdout.take().map(|out| listen(out, Keep::First(MOST_ANSWERED), &sound));
        self.wait(doing, child, meter, None, &sound)?;
        Ok(heard(answer))
    }

    /// Runs it to its end.
    pub(crate) fn run(
        &self,
        doing: &'static str,
        git: &mut Command,
        meter: &mut Meter<'_>,
        growth: Option<&Growth<'_>>,
    ) -> Result<()> {
        let child = spawn(git)?;
        self.wait(doing, child, meter, growth, &Heard::default())
    }

    fn wait(
        &self,
        doing: &'static str,
        mut child: Child,
        meter: &mut Meter<'_>,
        growth: Option<&Growth<'_>>,
        sound: &Heard,
    ) -> Result<()> {
        let said = child.stderr.take().map(|out| listen(out, Keep::Last(MOST_SAID), sound));
        let ended = self.watch(doing, &mut child, meter, growth, sound);
        if ended.is_err() {
            end(&mut child);
        }
        let said = heard(said);
        let status: ExitStatus = ended?;
        if status.success() { Ok(()) } else { Err(ProjectError::Git { doing, said: self.clean(&said) }) }
    }

    fn watch(
        &self,
        doing: &'static str,
        child: &mut Child,
        meter: &mut Meter<'_>,
        growth: Option<&Growth<'_>>,
        sound: &Heard,
    ) -> Result<ExitStatus> {
        let begun = Instant::now();
        let (mut looks, mut sign, mut signed) = (0_u32, (0, 0), begun);
        loop {
            if let Some(status) = child.try_wait().map_err(ProjectError::Scratch)? {
                return Ok(status);
            }
            meter.at("git")?;
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_PER_SIZE) {
                if let Some(Growth { directory, most }) = growth
                    && host::size_of(directory) > *most
                {
                    return Err(ProjectError::TooMuch { what: "its size in bytes", limit: *most });
                }
                let now = (sound.load(Ordering::Relaxed), host::size_of(self.home));
                if now != sign {
                    (sign, signed) = (now, Instant::now());
                }
            }
            if begun.elapsed() > self.patience.whole {
                return Err(ProjectError::TooSlow { doing, why: "it took too long" });
            }
            if signed.elapsed() > self.patience.idle {
                return Err(ProjectError::TooSlow { doing, why: "nothing came for too long" });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What git said in one line, without what opens a remote and harmless to show.
    pub(crate) fn clean(&self, said: &str) -> String {
        let mut text = said.to_owned();
        if let Some((_, credentials)) = &self.opened_by
            && !credentials.password().is_empty()
        {
            text = text.replace(credentials.password(), "***");
        }
        let telling = |line: &&str| {
            line.starts_with("fatal:")
                || line.starts_with("error:")
                || line.contains("[rejected]")
                || line.contains("remote:")
        };
        let lines = text.split(['\n', '\r']).map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty() && !is_progress(line)).collect();
        let chosen: Vec<&str> = lines.iter().copied().filter(telling).take(4).collect();
        let chosen = if chosen.is_empty() { lines.last().copied().into_iter().collect() } else { chosen };
        let line = visible(&chosen.join("; "));
        if line.is_empty() { said_nothing() } else { line.chars().take(600).collect() }
    }
}

/// Where a program gives no reason.
pub(crate) fn said_nothing() -> String {
    "it gave no reason".to_owned()
}

/// Starts it; that it is not there is told as such.
pub(crate) fn spawn(git: &mut Command) -> Result<Child> {
    git.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProjectError::NoGit,
        _ => ProjectError::Git { doing: "start", said: error.to_string() },
    })
}

/// Ends a run, with everything it started.
pub(crate) fn end(child: &mut Child) {
    kill_group(child.id());
    let _ = child.wait();
}

fn kill_group(number: u32) {
    if let Some(group) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Ends a run that hands out its answer as it is taken, when it takes longer than any may. Let go of, it watches no more.
pub(crate) struct Deadline {
    /// Closed when it is over.
    over: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

impl Deadline {
    /// Begins now. It has to be let go of before the run is waited for: its number belongs to somebody else then.
    pub(crate) fn of(child: &Child, whole: Duration) -> Self {
        let (over, waits) = channel();
        let number = child.id();
        let watcher = std::thread::spawn(move || {
            if waits.recv_timeout(whole) == Err(RecvTimeoutError::Timeout) {
                kill_group(number);
            }
        });
        Self { over: Some(over), watcher: Some(watcher) }
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

/// Which part is kept of what is heard: an answer begins with what matters, and a report of failure ends with it.
#[derive(Clone, Copy)]
enum Keep {
    First(usize),
    Last(usize),
}

fn listen(mut from: impl Read + Send + 'static, keep: Keep, sound: &Heard) -> JoinHandle<Vec<u8>> {
    let sound = Arc::clone(sound);
    std::thread::spawn(move || {
        let (mut kept, mut piece) = (Vec::new(), vec![0; 16 * 1024]);
        // All of it is taken, so that nobody waits for us.
        loop {
            let read = match from.read(&mut piece) {
                Ok(0) => return kept,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return kept,
            };
            sound.fetch_add(read as u64, Ordering::Relaxed);
            match keep {
                Keep::First(most) => kept.extend_from_slice(&piece[..read.min(most - kept.len())]),
                Keep::Last(most) => {
                    kept.extend_from_slice(&piece[..read]);
                    kept.drain(..kept.len().saturating_sub(most));
                }
            }
        }
    })
}

/// How far git is, which it tells so that its silence means something.
fn is_progress(line: &str) -> bool {
    const BEGINS: &[&str] = &[
        "Enumerating objects:",
        "Counting objects:",
        "Compressing objects:",
        "Receiving objects:",
        "Resolving deltas:",
        "Writing objects:",
        "Unpacking objects:",
        "Delta compression using",
        "Total ",
    ];
    let line = line.strip_prefix("remote:").map_or(line, str::trim_start);
    BEGINS.iter().any(|begins| line.starts_with(begins))
}

fn heard(listener: Option<JoinHandle<Vec<u8>>>) -> String {
    let heard = listener.and_then(|listener| listener.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&heard).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::unwatched;

    #[test]
    fn no_setting_is_on_the_command_line_and_git_reads_each_as_it_is_meant() {
        let home = tempfile::tempdir().unwrap();
        let address = Address::parse("https://me@[::1]:8443/x=y").unwrap();
        let credentials = Credentials::new("me", "open-sesame");
        let git = Git::new(home.path(), Some(&address), Some(&credentials)).unwrap();
        let mut list = git.command();
        assert_eq!(list.get_args().count(), 0);
        let listed =
            git.answer("list", list.args(["config", "--list", "-z"]), &mut Meter::new(&mut unwatched)).unwrap();
        let listed: Vec<(&str, &str)> =
            listed.split_terminator('\0').map(|one| one.split_once('\n').unwrap()).collect();
        assert_eq!(listed.len(), SETTINGS.len() + 1);
        assert!(listed.contains(&("core.hookspath", "/dev/null")), "{listed:?}");
        let (key, value) = listed.last().unwrap();
        assert_eq!(*key, "credential.https://[::1]:8443.helper");
        assert!(value.starts_with("!cat /proc/"), "{value}");
    }

    /// A remote that takes the connection and says nothing, for as long as the test runs.
    fn silent() -> (std::net::TcpListener, Address) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::parse(&format!("git://{}/x", listener.local_addr().unwrap())).unwrap();
        (listener, address)
    }

    #[test]
    fn a_remote_that_stays_silent_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (_listener, address) = silent();
        let (short, long) = (Duration::from_millis(300), Duration::from_secs(3600));
        for patience in [Patience { whole: short, idle: long }, Patience { whole: long, idle: short }] {
            let git = Git { patience, ..Git::new(home.path(), Some(&address), None).unwrap() };
            let mut ask = git.command();
            ask.args(["ls-remote", "--"]).arg(address.argument());
            let ended = git.answer("reach it", &mut ask, &mut Meter::new(&mut unwatched));
            assert!(matches!(ended, Err(ProjectError::TooSlow { .. })), "{ended:?}");
        }
    }

    #[test]
    fn who_says_something_now_and_then_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let patience = Patience { whole: Duration::from_secs(3600), idle: Duration::from_secs(2) };
        let git = Git { patience, ..Git::new(home.path(), None, None).unwrap() };
        let mut talk = git.command();
        talk.args(["-c", "alias.talk=!for n in 1 2 3 4 5 6; do echo $n; sleep 0.5; done", "talk"]);
        let said = git.answer("talk", &mut talk, &mut Meter::new(&mut unwatched)).unwrap();
        assert_eq!(said.lines().count(), 6);
    }

    #[test]
    fn a_run_whose_answer_is_taken_bit_by_bit_ends_too() {
        let mut sleep = host::program("sleep");
        let sleep = sleep.env("PATH", std::env::var_os("PATH").unwrap()).arg("3600").process_group(0);
        let mut child = spawn(sleep.stdout(Stdio::piped())).unwrap();
        let deadline = Deadline::of(&child, Duration::from_millis(50));
        let mut answer = String::new();
        child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
        drop(deadline);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn of_much_that_is_said_the_end_is_kept_and_of_an_answer_the_beginning() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
        let kept = |keep| listen(io::Cursor::new(text.clone()), keep, &Heard::default()).join().unwrap();
        assert_eq!(kept(Keep::Last(1000)), text[text.len() - 1000..]);
        assert_eq!(kept(Keep::First(1000)), text[..1000]);
    }

    #[test]
    fn what_git_says_is_told_in_one_line_without_what_opens_a_remote() {
        let address = Address::parse("https://example.com/x").unwrap();
        let credentials = Credentials::new("me", "open-sesame");
        let git = Git::new(Path::new("/"), Some(&address), Some(&credentials)).unwrap();
        let said = "Cloning into 'x'...\nremote: no \u{1b}[31mopen-sesame here\nfatal: could not read\n";
        let told = git.clean(said);
        assert_eq!(told, "remote: no \\u{1b}[31m*** here; fatal: could not read");
        assert_eq!(git.clean("\n"), said_nothing());
        let far = "remote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2), done.\nfatal: no\n";
        assert_eq!(git.clean(far), "fatal: no");
        assert_eq!(git.clean("only this\n"), "only this");
        let line = Credentials::new("me", "two\nusername=other");
        assert!(Git::new(Path::new("/"), Some(&address), Some(&line)).is_err());
    }
}
