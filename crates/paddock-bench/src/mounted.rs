//! A Virtual Workspace as a file system, beside the same files on the disk.
//!
//! Each round mounts anew, so that the kernel has kept nothing of the round before; what the disk has stays in the
//! kernel's cache. Mounting and unmounting are not counted. Needs `/dev/fuse`; where it cannot be opened the page says so.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use paddock_core::{AccessScope, AgentName, Expect, LogicalPath, Mount, NoJournal, Operation, Vfs, Workspace};
use paddock_db::Durability;
use paddock_fuse::{How, Others, Served};

use crate::guarded::{Databases, Guarded, Open};
use crate::options::Options;
use crate::report::{Report, Wanted};
use crate::rounds::in_turn;
use crate::trees::{Project, text};

const FILES: usize = 1000;
const BYTES: usize = 4096;
const NEW_FILES: usize = 200;

/// The way a Workspace is served.
#[derive(Clone, Copy)]
struct Way {
    how: How,
    others: Others,
}

const LOOKING: Way = Way { how: How::ReadOnly, others: Others::MayChange };
const FOR_A_COMMAND: Way = Way { how: How::Writable, others: Others::ChangeNothing };

/// Measures reading and writing through a mount.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    report.section(
        "A Virtual Workspace as a file system",
        "1,000 files of 4 KiB, each read once with open, read and close, and 200 new ones written; on a mounted Virtual \
         Workspace (SQLite) that is mounted anew for each round, beside the same files on the disk. A name that is new to the \
         kernel is a question to the server, and so are an opening and a closing; the program waits for the first two, and a file \
         that may be written cannot do without them, since nobody would hear of its closing. What a question costs on this machine \
         is told below: one for a name that no file can have, so that no Store is asked. Most of that is waking another \
         processor and being woken by it, and only the kernel decides whether that is needed. (Requests over io_uring stay on one processor and passthrough asks nothing, but the first has to be \
         switched on by root and the second is root's alone.) Less is better, and the ratio is ours divided by the disk's.",
    );
    let ground = Ground::lay(project)?;
    let reading = in_turn(3, options.rounds(20), |which| match which {
        0 => ground.read(&ground.on_disk),
        1 => ground.through(LOOKING, |dir| ground.read(dir)),
        _ => ground.through(FOR_A_COMMAND, |dir| ground.read(dir)),
    });
    let reading = match reading {
        Ok(reading) => reading,
        Err(error) => {
            report.failed("read", "the disk", "nothing can be mounted here", &format!("{error:#}"));
            return Ok(());
        }
    };
    let wanted = Some(Wanted::AtMost(6.0));
    report.cheaper("read, as a command does", "the disk", &reading[0], &reading[2], wanted);
    report.cheaper("read, where agents change things meanwhile", "the disk", &reading[0], &reading[1], None);
    let mut round = 0;
    let writing = in_turn(2, options.rounds(10), |which| {
        round += 1;
        match which {
            0 => ground.write(&ground.on_disk, round),
            _ => ground.through(FOR_A_COMMAND, |dir| ground.write(dir, round)),
        }
    })?;
    report.cheaper("write new files", "the disk", &writing[0], &writing[1], None);
    let asked = in_turn(2, options.rounds(10), |which| match which {
        0 => ground.ask(&ground.on_disk),
        _ => ground.through(FOR_A_COMMAND, |dir| ground.ask(dir)),
    })?;
    report.cheaper("a question that no Store is asked", "the disk", &asked[0], &asked[1], None);
    report.took("a byte to another thread and one back", to_and_fro()?, None);
    Ok(())
}

/// What it costs to wake somebody who waits and to be woken by the answer, where the kernel knows that one waits for the other.
fn to_and_fro() -> Result<Duration> {
    const TIMES: u32 = 2000;
    let ((mut heard, mut ask), (mut answered, mut answer)) = (std::io::pipe()?, std::io::pipe()?);
    let other = std::thread::spawn(move || {
        let mut byte = [0];
        while heard.read_exact(&mut byte).is_ok() && answer.write_all(&byte).is_ok() {}
    });
    let began = Instant::now();
    for _ in 0..TIMES {
        ask.write_all(&[1])?;
        answered.read_exact(&mut [0])?;
    }
    let took = began.elapsed() / TIMES;
    drop(ask);
    ensure!(other.join().is_ok(), "whoever answers ends by itself");
    Ok(took)
}

/// The same files on the disk and in a Virtual Store.
struct Ground {
    on_disk: PathBuf,
    vfs: Arc<Vfs>,
    scratch: PathBuf,
}

impl Ground {
    fn lay(project: &Project) -> Result<Self> {
        let (on_disk, state) = (project.scratch("mounted-disk")?, project.scratch("mounted-state")?);
        let store = Arc::new(Databases::at(&state, Durability::Process)?.store("mounted"));
        let guarded = Guarded::new(Arc::clone(&store) as _, None)?;
        for n in 0..FILES {
            let content = text(n, BYTES).into_bytes();
            let file = on_disk.join(name(n));
            std::fs::create_dir_all(file.parent().context("it is in a directory")?)?;
            std::fs::write(&file, &content)?;
            let path = path(&format!("/w/{}", name(n)))?;
            guarded.run("write_file", Operation::Write { path, content, expect: Expect::Any }, true)?;
        }
        let workspace = Workspace::new(path("/w")?, AccessScope::ReadWrite, Mount::new(store, None));
        let vfs = Arc::new(Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal))?);
        Ok(Self { on_disk, vfs, scratch: project.scratch("mounted-at")? })
    }

    /// Mounts, works, unmounts; the time of the work alone.
    fn through(&self, way: Way, work: impl FnOnce(&Path) -> Result<Duration>) -> Result<Duration> {
        let served = Served::new(Arc::clone(&self.vfs), path("/w")?, way.how, AgentName::main());
        let session = served.while_others(way.others).mount(&self.scratch)?;
        let took = work(&self.scratch);
        session.unmount()?;
        took
    }

    fn read(&self, dir: &Path) -> Result<Duration> {
        let began = Instant::now();
        let mut bytes = 0;
        for n in 0..FILES {
            bytes += std::fs::read(dir.join(name(n)))?.len();
        }
        let took = began.elapsed();
        ensure!(bytes == FILES * BYTES, "{bytes} bytes were read");
        Ok(took / u32::try_from(FILES)?)
    }

    /// Asks for names with a control character in them.
    fn ask(&self, dir: &Path) -> Result<Duration> {
        let names: Vec<PathBuf> = (0..FILES).map(|n| dir.join(format!("\u{1}{n}"))).collect();
        let began = Instant::now();
        for name in &names {
            ensure!(std::fs::symlink_metadata(name).is_err(), "\"{}\" is there", name.display());
        }
        Ok(began.elapsed() / u32::try_from(FILES)?)
    }

    fn write(&self, dir: &Path, round: usize) -> Result<Duration> {
        let new = dir.join(format!("new-{round}"));
        let content = text(round, BYTES);
        let began = Instant::now();
        std::fs::create_dir(&new)?;
        for n in 0..NEW_FILES {
            std::fs::write(new.join(format!("{n}")), &content)?;
        }
        Ok(began.elapsed() / u32::try_from(NEW_FILES)?)
    }
}

fn name(n: usize) -> String {
    format!("d{}/f{n}.txt", n % 20)
}

fn path(text: &str) -> Result<LogicalPath> {
    LogicalPath::parse(text, &LogicalPath::top()).map_err(|error| anyhow!("{error}"))
}
