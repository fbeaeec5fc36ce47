//! The Virtual Store on SQLite: 10,000 files of 4 KiB against AgentFS and against bare rusqlite, in one run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use paddock_db::Durability;

use crate::agentfs::AgentFs;
use crate::bare_sqlite::{Bare, Synchronous};
use crate::guarded::{Databases, Guarded};
use crate::machine;
use crate::options::{Options, peer};
use crate::report::{Report, Wanted};
use crate::rounds::{Samples, in_turn};
use crate::store_work::{Worker, shuffled};
use crate::trees::Project;

/// So many files at a time, by each in turn.
const SLICE: usize = 1000;
const SLICES: usize = 10;
/// Where every commit waits for the disk.
const SYNCED_SLICE: usize = 100;
const LISTS: usize = 20;

/// What is measured, with what we want: times AgentFS's speed, and times the time of bare rusqlite.
const KINDS: [(&str, Option<f64>, Option<f64>); 5] = [
    ("write", Some(1.5), Some(1.5)),
    ("random read", Some(2.0), Some(1.5)),
    ("list of 10,000", Some(5.0), Some(1.5)),
    ("overwrite", None, Some(1.5)),
    ("delete", Some(3.0), Some(1.5)),
];

const AGENTFS_NOTE: &str = "10,000 files of 4 KiB on SQLite, through the guard, and through `agentfs-sdk`, which has none. Per second; more is \
    better, and the ratio is ours divided by theirs. Equal durability: AgentFS runs with `synchronous=OFF`, Paddock with \
    durability `process`; both survive the end of the process and neither the loss of power. \"Recorded\" is with \
    history and audit on, which keep every version and every call; AgentFS keeps neither. AgentFS overwrites in place, Paddock \
    replaces the whole file.";

/// Who does the work, in the order of the turns.
struct Workers {
    plain: Guarded,
    recorded: Guarded,
    bare: Bare,
    agentfs: Option<AgentFs>,
}

/// Which of them.
const PLAIN: usize = 0;
const RECORDED: usize = 1;
const BARE: usize = 2;
const AGENTFS: usize = 3;

impl Workers {
    fn new(options: &Options, place: &Path) -> Result<Self> {
        let [plain, recorded] = ["plain", "recorded"].map(|name| Databases::at(&place.join(name), Durability::Process));
        let recorded = recorded?;
        let agentfs = options.agentfs.as_ref().map(|program| AgentFs::start(program, &place.join("agentfs.db")));
        Ok(Self {
            plain: Guarded::new(Arc::new(plain?.store("files")), None)?,
            recorded: Guarded::new(Arc::new(recorded.store("files")), Some(recorded.ledger()?))?,
            bare: Bare::new(&place.join("bare.db"), Synchronous::Normal)?,
            agentfs: agentfs.transpose()?,
        })
    }

    fn all(&mut self) -> Vec<&mut dyn Worker> {
        let mut all: Vec<&mut dyn Worker> = vec![&mut self.plain, &mut self.recorded, &mut self.bare];
        all.extend(self.agentfs.as_mut().map(|agentfs| agentfs as &mut dyn Worker));
        all
    }
}

/// Measures both comparisons.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let place = project.scratch("virtual")?;
    let mut workers = Workers::new(options, &place)?;
    let slices = options.rounds(SLICES);
    let mut measured = before_deletion(&mut workers.all(), slices, SLICE)?;
    let names = match &mut workers.agentfs {
        Some(agentfs) => Some(listed_by_name(&mut workers.plain, agentfs, slices * SLICE)?),
        None => None,
    };
    measured.push(deletions(&mut workers.all(), slices, SLICE)?);
    report.section("Virtual Store against AgentFS", AGENTFS_NOTE);
    match names {
        Some(names) => against_agentfs(report, &measured, &names),
        None => report.absent("all of it", peer::AGENTFS, options.why_missing(peer::AGENTFS)),
    }
    against_bare(report, &measured);
    drop(workers);
    std::fs::remove_dir_all(place)?;
    synced(report, options)
}

/// Every kind of work but the last, in the order of [`KINDS`]. The slice that does not count has a directory of its own.
fn before_deletion(workers: &mut [&mut dyn Worker], slices: usize, slice: usize) -> Result<Vec<Vec<Samples>>> {
    let files = slices * slice;
    for worker in workers.iter_mut() {
        worker.make_dir("warm")?;
        worker.make_dir("files")?;
    }
    let written = in_slices(
        workers,
        slices,
        |worker, dir, first| {
            worker.write(dir, 1, &(first..first + slice).collect::<Vec<_>>()).map(|took| per(took, slice))
        },
        slice,
    )?;
    let read = in_slices(
        workers,
        slices,
        |worker, _, first| worker.read("files", 1, &shuffled(first, slice, files)).map(|took| per(took, slice)),
        slice,
    )?;
    let listed = in_turn(workers.len(), LISTS, |which| workers[which].list("files", files))?;
    let overwritten = in_slices(
        workers,
        slices,
        |worker, dir, first| {
            let numbers: Vec<usize> = match dir {
                "warm" => (0..slice).collect(),
                _ => shuffled(first, slice, files),
            };
            worker.write(dir, 2, &numbers).map(|took| per(took, slice))
        },
        slice,
    )?;
    Ok(vec![written, read, listed, overwritten])
}

fn deletions(workers: &mut [&mut dyn Worker], slices: usize, slice: usize) -> Result<Vec<Samples>> {
    in_slices(
        workers,
        slices,
        |worker, dir, first| {
            worker.delete(dir, &(first..first + slice).collect::<Vec<_>>()).map(|took| per(took, slice))
        },
        slice,
    )
}

/// Gives each worker its slices in turn: the directory, and the first number in it.
fn in_slices(
    workers: &mut [&mut dyn Worker],
    slices: usize,
    mut work: impl FnMut(&mut dyn Worker, &str, usize) -> Result<Duration>,
    slice: usize,
) -> Result<Vec<Samples>> {
    let mut done = vec![0; workers.len()];
    in_turn(workers.len(), slices, |which| {
        let (dir, first) = if done[which] == 0 { ("warm", 0) } else { ("files", (done[which] - 1) * slice) };
        done[which] += 1;
        work(workers[which], dir, first)
    })
}

fn per(took: Duration, count: usize) -> Duration {
    took / u32::try_from(count).unwrap_or(u32::MAX)
}

/// AgentFS can list names alone; ours come with their kinds.
fn listed_by_name(ours: &mut Guarded, agentfs: &mut AgentFs, files: usize) -> Result<Vec<Samples>> {
    in_turn(2, LISTS, |which| match which {
        0 => Worker::list(ours, "files", files),
        _ => agentfs.list_names("files", files),
    })
}

fn against_agentfs(report: &mut Report, measured: &[Vec<Samples>], names: &[Samples]) {
    for ((what, goal, _), samples) in KINDS.iter().zip(measured) {
        report.faster(what, "AgentFS", &samples[AGENTFS], &samples[PLAIN], goal.map(Wanted::AtLeast));
        if *what == "list of 10,000" {
            let goal = goal.map(Wanted::AtLeast);
            report.faster("list of 10,000", "AgentFS, names alone", &names[1], &names[0], goal);
        }
    }
    for ((what, _, _), samples) in KINDS.iter().zip(measured) {
        report.faster(&format!("{what}, recorded"), "AgentFS", &samples[AGENTFS], &samples[RECORDED], None);
    }
}

fn against_bare(report: &mut Report, measured: &[Vec<Samples>]) {
    report.section(
        "Virtual Store against bare SQLite",
        "The same files in the same tables by rusqlite alone: one transaction for each change, a write-ahead log with \
         `synchronous=NORMAL`, statements that stay compiled; no guard, no past, no other process. Time of one; less is \
         better, and the ratio is ours divided by theirs.",
    );
    for ((what, _, goal), samples) in KINDS.iter().zip(measured) {
        report.cheaper(what, "bare rusqlite", &samples[BARE], &samples[PLAIN], goal.map(Wanted::AtMost));
    }
    for ((what, _, _), samples) in KINDS.iter().zip(measured) {
        report.beside_ours(&format!("{what}, recorded"), "not recorded", &samples[PLAIN], &samples[RECORDED], None);
    }
}

/// Changes that survive the loss of power, on a disk where syncing means something.
fn synced(report: &mut Report, options: &Options) -> Result<()> {
    let place = tempfile::Builder::new().prefix("paddock-bench-").tempdir_in(std::env::temp_dir())?;
    let databases = Databases::at(place.path(), Durability::Disk)?;
    let mut ours = Guarded::new(Arc::new(databases.store("files")), None)?;
    let mut bare = Bare::new(&place.path().join("bare.db"), Synchronous::Full)?;
    let mut workers: [&mut dyn Worker; 2] = [&mut ours, &mut bare];
    let slices = options.rounds(SLICES);
    let mut measured = before_deletion(&mut workers, slices, SYNCED_SLICE)?;
    measured.push(deletions(&mut workers, slices, SYNCED_SLICE)?);
    report.section(
        "Virtual Store on a disk",
        &format!(
            "As above with durability `disk`, on {}: every commit is synced before it is acknowledged, by bare rusqlite with \
             `synchronous=FULL`. 1,000 files, one caller; where many call at once, one sync serves them all. \
             Time of one; less is better.",
            machine::file_system(place.path())
        ),
    );
    for (at, what) in [(0, "write"), (3, "overwrite"), (4, "delete")] {
        report.cheaper(what, "bare rusqlite", &measured[at][1], &measured[at][0], Some(Wanted::AtMost(1.5)));
    }
    Ok(())
}
