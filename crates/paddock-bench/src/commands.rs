//! Commands in the sandbox: what a start costs beside bubblewrap, what staging costs, and what hidden names cost.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use paddock_core::{
    AccessScope, AgentName, Call, CallId, Cancel, CommandLine, CommandRunner, CommandSettings, CommandSpec,
    LogicalPath, Mount, NoAudit, NoJournal, Operation, Passed, Request, Risk, Vfs, Workspace,
};
use paddock_exec::staged::remove_tree;
use paddock_exec::{Command, How, Index, Runner, Sandbox, Shown, Stage};
use paddock_stores::PhysicalStore;

use crate::guarded::Open;
use crate::helpers::{Helper, Job, duration};
use crate::options::{Options, peer};
use crate::report::{Report, Wanted};
use crate::rounds::{Samples, in_turn};
use crate::trees::Project;

/// Ways to start a command.
const WAYS: usize = 4;
/// How much more memory a larger process has in use, in MiB.
const MORE: usize = 100;
/// Files that a command makes.
const MADE: usize = 1000;
/// The tree in which names are hidden.
const DIRECTORIES: usize = 1000;
const FILES_EACH: usize = 100;
/// How often the hidden names are asked for.
const LOOKS: u32 = 20;

/// Measures starts, staging and hidden names.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    report.section(
        "Commands",
        "`true`, started bare, in bubblewrap with like mounts, and in our sandbox: with changes that take effect at once, \
         and staged, with the making and removing of the stage; by a process that does nothing else, and by a larger one, since a \
         start copies the page tables of all memory that the starting process has in use, while bubblewrap's first step is to become \
         a small program. A command that writes 1,000 new files of 1 KiB, staged \
         and committed beside direct. The hidden names of a tree of 100,000 files, asked for before a command. Less is \
         better.",
    );
    let ground = project.scratch("commands")?;
    std::fs::create_dir_all(ground.join("w"))?;
    starts(report, options, &ground)?;
    staging(report, options, &ground)?;
    hidden(report, &project.scratch("commands-tree")?)?;
    paddock_exec::tidy_up();
    Ok(())
}

/// Starts in a process of their own: what the other parts left in this one's memory is not what a server has.
fn starts(report: &mut Report, options: &Options, ground: &Path) -> Result<()> {
    let times = timed_starts(ground, options.rounds(100), 0)?;
    if has_bubblewrap() {
        report.cheaper("start, direct", "bubblewrap", &times[1], &times[2], Some(Wanted::AtMost(0.7)));
        report.cheaper("start, staged", "bubblewrap", &times[1], &times[3], Some(Wanted::AtMost(1.1)));
        let larger = timed_starts(ground, options.rounds(30), MORE)?;
        let what = format!("start, direct, by a process with {MORE} MiB more");
        report.cheaper(&what, "bubblewrap", &larger[1], &larger[2], None);
    } else {
        report.absent("start", peer::BUBBLEWRAP, options.why_missing(peer::BUBBLEWRAP));
    }
    report.cheaper("start, direct", "fork and exec", &times[0], &times[2], None);
    report.cheaper("start, staged", "fork and exec", &times[0], &times[3], None);
    Ok(())
}

fn has_bubblewrap() -> bool {
    Process::new("bwrap").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn timed_starts(ground: &Path, rounds: usize, more: usize) -> Result<Vec<Samples>> {
    let mut helper = Helper::start(&Job::Start { ground: ground.to_owned(), rounds, more })?;
    helper.begin()?;
    heard(&helper.answer()?)
}

/// For each way the rounds with commas.
fn told(times: &[Samples]) -> String {
    let way = |way: &Samples| way.rounds().iter().map(|took| took.as_nanos().to_string()).collect::<Vec<_>>().join(",");
    times.iter().map(way).collect::<Vec<_>>().join(";")
}

fn heard(answer: &str) -> Result<Vec<Samples>> {
    let way = |way: &str| Ok(Samples::of(way.split(',').map(duration).collect::<Result<_>>()?));
    let times = answer.split(';').map(way).collect::<Result<Vec<_>>>()?;
    ensure!(times.len() == WAYS, "\"{answer}\" is not about {WAYS} ways to start");
    Ok(times)
}

/// Times each way to start `true`, in this process with so many more MiB in use.
pub(crate) fn time_starts(ground: &Path, rounds: usize, more: usize) -> Result<String> {
    let memory = vec![1_u8; more << 20];
    let has_bubblewrap = has_bubblewrap();
    let times = in_turn(WAYS, rounds, |which| {
        let began = Instant::now();
        match which {
            0 => status(&mut Process::new("/bin/true"))?,
            1 if has_bubblewrap => status(&mut bubblewrap(ground))?,
            1 => {}
            2 => start(ground, How::Direct)?,
            _ => {
                let directory = ground.join("stage");
                std::fs::create_dir(&directory)?;
                start(ground, How::Staged(Stage::create(&directory)?))?;
                remove_tree(&directory)?;
            }
        }
        Ok(began.elapsed())
    })?;
    drop(std::hint::black_box(memory));
    paddock_exec::tidy_up();
    Ok(told(&times))
}

fn status(process: &mut Process) -> Result<()> {
    ensure!(process.stdin(Stdio::null()).stdout(Stdio::null()).status()?.success(), "{process:?} failed");
    Ok(())
}

fn start(ground: &Path, how: How) -> Result<()> {
    let shown = Shown::host("/project", ground.join("w"), how);
    let sandbox = Sandbox::new(vec![shown], Command::new("/project", ["/bin/true"]));
    let ended = paddock_exec::run(sandbox, &|| false, &mut |_| {})?;
    ensure!(ended.exit.code() == 0, "true ended with {}", ended.exit.code());
    Ok(())
}

/// The mounts of the minimal system and one Workspace.
fn bubblewrap(ground: &Path) -> Process {
    let mut process = Process::new("bwrap");
    process.args(["--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--cap-drop"]);
    process.args(["ALL", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    for name in ["bin", "sbin", "lib", "lib64"] {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(to) => process.arg("--symlink").arg(to).arg(path),
            Err(_) => process.arg("--ro-bind-try").arg(&path).arg(&path),
        };
    }
    for name in ["alternatives", "ld.so.cache", "mime.types", "ssl/certs", "nsswitch.conf", "passwd"] {
        let path = Path::new("/etc").join(name);
        process.arg("--ro-bind-try").arg(&path).arg(&path);
    }
    process.arg("--bind").arg(ground.join("w")).args(["/project", "--chdir", "/project", "/bin/true"]);
    process
}

/// A command that makes files, run through the runner and committed through the guard.
fn staging(report: &mut Report, options: &Options, ground: &Path) -> Result<()> {
    let work = Work::lay(ground)?;
    let mut round = 0;
    let times = in_turn(2, options.rounds(10), |which| {
        round += 1;
        work.make_files(which == 0, round)
    })?;
    let wanted = Some(Wanted::AtMost(2.5));
    report.beside_ours("1,000 new files, staged and committed", "direct", &times[0], &times[1], wanted);
    Ok(())
}

struct Work {
    runner: Runner,
    vfs: Vfs,
    directory: LogicalPath,
}

impl Work {
    fn lay(ground: &Path) -> Result<Self> {
        let store = Arc::new(PhysicalStore::new(&ground.join("w"))?);
        let territory = store.territory();
        let directory = LogicalPath::parse("/project", &LogicalPath::top())?;
        let mount = Mount::new(store, Some(territory)).on_host(ground.join("w"));
        let workspace = Workspace::new(directory.clone(), AccessScope::ReadWrite, mount);
        let vfs = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal))?;
        Ok(Self { runner: Runner::new(ground.join("staged"), Arc::new(NoAudit)), vfs, directory })
    }

    fn make_files(&self, direct: bool, round: usize) -> Result<Duration> {
        let text = format!(
            "mkdir n{round}; cd n{round}; i=0; while [ $i -lt {MADE} ]; do printf %01024d {round} > $i; \
             i=$((i + 1)); done"
        );
        let settings = CommandSettings { direct, ..CommandSettings::default() };
        let (cancel, agent) = (Cancel::default(), AgentName::main());
        let deadline = Instant::now() + Duration::from_secs(300);
        let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
        let spec = CommandSpec {
            command: CommandLine::Shell(&text),
            vfs: &self.vfs,
            directory: &self.directory,
            confined: false,
            spared: &[],
            settings: &settings,
            time_limit: Duration::from_secs(60),
            cpu_limit: settings.limits.cpu,
            input: None,
        };
        let began = Instant::now();
        let ran = self.runner.run(&call, &spec, &mut |_| std::ops::ControlFlow::Continue(()))?;
        ensure!(ran.exit == 0, "the command ended with {}", ran.exit);
        if !direct {
            let alterations = ran.proposed.alterations;
            ensure!(alterations.len() == MADE + 1, "{} changes were found", alterations.len());
            let plan = self.vfs.plan(&call, Operation::Commit { path: self.directory.clone(), alterations })?;
            match self.vfs.ask(&call, &Request::of_person("execute_command", Risk::Medium), &plan)? {
                Passed::Now(token) => drop(self.vfs.run(&call, plan, token)?),
                other => anyhow::bail!("{other:?}"),
            }
            drop(ran.proposed.stage);
        }
        Ok(began.elapsed())
    }
}

/// The hidden names of a large tree, as they are asked for before each command.
fn hidden(report: &mut Report, tree: &Path) -> Result<()> {
    for n in 0..DIRECTORIES {
        let dir: PathBuf = tree.join(format!("d{}", n % 10)).join(format!("e{n}"));
        std::fs::create_dir_all(&dir)?;
        for file in 0..FILES_EACH {
            std::fs::write(dir.join(format!("f{file}.txt")), "")?;
        }
    }
    std::fs::write(tree.join("d3/.env"), "")?;
    let index = Index::new(tree, Box::new(|path, _| path.file_name().is_some_and(|name| name == ".env")));
    // Times that are too young are not trusted yet.
    std::thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    ensure!(index.find()?.len() == 1, "one name is hidden");
    report.took("hidden names of 100,000 files, the first time", began.elapsed(), None);
    index.find()?;
    let began = Instant::now();
    for _ in 0..LOOKS {
        index.find().context("the tree can be read")?;
    }
    report.took(
        "hidden names of 100,000 files, before each command",
        began.elapsed() / LOOKS,
        Some(Duration::from_millis(5)),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_helper_timed_is_understood_as_it_was_told() {
        let times = [[1, 2], [3, 4], [5, 6], [7, 8]].map(|way| Samples::of(way.map(Duration::from_nanos).to_vec()));
        let understood = heard(&told(&times)).unwrap();
        let rounds = |all: &[Samples]| all.iter().map(|way| way.rounds().to_vec()).collect::<Vec<_>>();
        assert_eq!(rounds(&understood), rounds(&times));
        assert!(heard(&told(&times[1..])).is_err(), "one way is missing");
        assert!(heard("1,2;3,soon;5,6;7,8").is_err());
    }
}
