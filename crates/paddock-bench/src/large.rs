//! Large things in a Virtual Store: a range of a large file, a large write beside small ones, a name with a long past.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use paddock_core::{AgentName, CallId};
use paddock_db::Durability;
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{Content, Namespace, NewRow, RowKind};

use crate::guarded::{Caller, Databases, Guarded};
use crate::helpers::{Helper, Job, duration};
use crate::options::Options;
use crate::report::{Report, mebibytes, time};
use crate::rounds::in_turn;
use crate::trees::Project;
use crate::usage;

/// A file of 1 GiB, and one of a sixteenth.
const LARGE: usize = 1 << 30;
const SMALL: usize = 64 << 20;
/// Appended at once.
const STEP: usize = 8 << 20;
/// What is read of it, and how often.
const RANGE: u64 = 4096;
const READS: u64 = 1000;
/// More memory than this would mean that the file is in it.
const GROWTH: u64 = 1 << 20;
/// What is written beside the others.
const WRITTEN: usize = 256 << 20;
const STALL: Duration = Duration::from_millis(60);
const VERSIONS: usize = 100_000;
/// Other names beside the one with so many versions.
const OTHERS: usize = 9;
const LISTED: Duration = Duration::from_millis(1);

/// Measures all three.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let place = project.scratch("large")?;
    report.section(
        "Large things in a Virtual Store",
        "A range of 4 KiB is read at 1,000 places of a file, by a process that reads nothing else. Memory is what that process \
         takes for itself after these reads, against before; what the kernel shows it of the database's file is told beside it. A large \
         write goes on in one process while another writes rows of the ledger to the same database, one after the other.",
    );
    ranges(report, options, &place.join("ranges"))?;
    stalls(report, options, &place.join("stalls"))?;
    versions(report, options, &place.join("versions"))?;
    Ok(std::fs::remove_dir_all(place)?)
}

fn ranges(report: &mut Report, options: &Options, place: &Path) -> Result<()> {
    let databases = Databases::at(place, Durability::Process)?;
    let guarded = Guarded::new(Arc::new(databases.store("files")), None)?;
    let large = if options.quick { LARGE / 8 } else { LARGE };
    for (path, size) in [("small.bin", SMALL), ("large.bin", large)] {
        for step in 0..size / STEP {
            guarded.append(path, numbered(step))?;
        }
    }
    drop((guarded, databases));
    let mut growth = Vec::new();
    for (what, path) in [("64 MiB", "small.bin"), ("1 GiB", "large.bin")] {
        let mut helper = Helper::start(&Job::ReadRanges { directory: place.to_owned(), path: path.to_owned() })?;
        helper.begin()?;
        let answer = helper.answer()?;
        let words: Vec<&str> = answer.split(' ').collect();
        let [each, own, mapped] = words[..] else { anyhow::bail!("\"{answer}\" is no answer about ranges") };
        report.took(&format!("4 KiB of a file of {what}"), duration(each)?, None);
        growth.push((what, own.parse::<u64>()?, mapped.parse::<u64>()?));
    }
    for (what, own, mapped) in growth {
        let shown = |bytes: u64| format!("{} KiB", bytes / 1024);
        report.at_most(&format!("memory for ranges of {what}"), own, GROWTH, shown);
        report.noted(&format!("pages of the database shown for ranges of {what}"), &mebibytes(mapped));
    }
    std::fs::remove_dir_all(place)?;
    Ok(())
}

/// A piece of a file in which every 8 bytes tell their own place.
fn numbered(step: usize) -> Vec<u8> {
    let first = (step * STEP / 8) as u64;
    (first..first + (STEP / 8) as u64).flat_map(u64::to_le_bytes).collect()
}

/// The work of the helper: time of one read, memory of its own and pages shown that the reads took; in words.
pub(crate) fn read_ranges(directory: &Path, path: &str) -> Result<String> {
    let databases = Databases::at(directory, Durability::Process)?;
    let guarded = Guarded::new(Arc::new(databases.store("files")), None)?;
    // Opens the databases.
    let size = SMALL as u64;
    read_range(&guarded, path, size / 2)?;
    let before = usage::own_memory()?;
    let large = if path == "small.bin" { size } else { file_size(&guarded, path)? };
    let start = Instant::now();
    for at in 0..READS {
        // Far apart, and in no order.
        let from = at * 7919 % READS * (large / READS) / 8 * 8;
        read_range(&guarded, path, from)?;
    }
    let each = start.elapsed() / u32::try_from(READS)?;
    let after = usage::own_memory()?;
    let (own, mapped) = (after.own.saturating_sub(before.own), after.mapped.saturating_sub(before.mapped));
    Ok(format!("{} {own} {mapped}", each.as_nanos()))
}

fn file_size(guarded: &Guarded, path: &str) -> Result<u64> {
    let past = guarded.read(path, LARGE as u64 / 2..LARGE as u64 / 2 + 8)?;
    Ok(if past.is_empty() { LARGE as u64 / 8 } else { LARGE as u64 })
}

fn read_range(guarded: &Guarded, path: &str, from: u64) -> Result<()> {
    let bytes = guarded.read(path, from..from + RANGE)?;
    let first = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
    ensure!(
        bytes.len() as u64 == RANGE && first == Some(from / 8),
        "the range at {from} was not read as it was written"
    );
    Ok(())
}

fn stalls(report: &mut Report, options: &Options, place: &Path) -> Result<()> {
    let databases = Databases::at(place, Durability::Process)?;
    let bytes = if options.quick { WRITTEN / 8 } else { WRITTEN };
    let job = Job::WriteLarge { directory: place.to_owned(), bytes };
    let audit = databases.ledger()?.audit;
    let agent = AgentName::main();
    let write = || -> Result<Duration> {
        let start = Instant::now();
        audit.intent(CallId::next(), (&agent, None), "write", "/w/other.txt", None, SystemTime::now())?;
        audit.flush()?;
        Ok(start.elapsed())
    };
    write()?;
    let mut helper = Helper::start(&job)?;
    let began = Instant::now();
    helper.begin()?;
    let mut beside = Vec::new();
    while !helper.is_done()? {
        beside.push(write()?);
    }
    let lasted = began.elapsed();
    let took = duration(&helper.answer()?)?;
    let mut alone = Vec::new();
    let end = Instant::now() + lasted;
    while Instant::now() < end {
        alone.push(write()?);
    }
    let longest = |all: &[Duration]| all.iter().max().copied().context("rows were written");
    report.took("a write of 256 MiB, recorded", took, None);
    report.took("the longest that a row of the ledger waited meanwhile", longest(&beside)?, Some(STALL));
    report.took("the longest that one waits with nobody beside", longest(&alone)?, None);
    let shown = format!("{} of {}", time(middle(&mut beside)), beside.len());
    report.noted("the median of those rows", &shown);
    drop((audit, databases));
    std::fs::remove_dir_all(place)?;
    Ok(())
}

fn middle(all: &mut [Duration]) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn versions(report: &mut Report, options: &Options, place: &Path) -> Result<()> {
    let databases = Databases::at(place, Durability::Process)?;
    let namespace = Namespace::new(["versions"]);
    let caller = Caller::new();
    let row = |content| NewRow { kind: RowKind::File, len: 2, mode: 0o644, modified: 0, content, version: None };
    databases.base.write(&caller.call(), &namespace, &mut |rows| {
        rows.advance()?;
        let dir = NewRow { kind: RowKind::Dir, ..row(Content::None) };
        rows.put("dir", &NewRow { len: 0, mode: 0o755, ..dir }, false)?;
        (0..OTHERS)
            .try_for_each(|n| rows.put(&format!("dir/other-{n}"), &row(Content::Inline(b"x\n")), false).map(drop))
    })?;
    let middle = databases.base.pin(&caller.call(), &namespace, "early")?;
    for _ in 0..100 {
        databases.base.write(&caller.call(), &namespace, &mut |rows| {
            for _ in 0..VERSIONS / 100 {
                rows.advance()?;
                rows.put("dir/many", &row(Content::Inline(b"v\n")), true)?;
            }
            Ok(())
        })?;
    }
    let now = VirtualStore::new(Arc::clone(&databases.base), namespace);
    let then = now.clone().frozen(middle);
    for (what, store, expected) in [("now", now, OTHERS + 1), ("as it was before them", then, OTHERS)] {
        let guarded = Guarded::new(Arc::new(store), None)?;
        let samples = in_turn(1, options.rounds(200), |_| {
            let start = Instant::now();
            let found = guarded.list("dir", 100)?;
            let took = start.elapsed();
            ensure!(found.len() == expected, "{} entries listed, {expected} expected", found.len());
            Ok(took)
        })?;
        let what = format!("a directory where one name has 100,000 versions, listed {what}");
        report.took(&what, samples[0].median(), Some(LISTED));
    }
    Ok(())
}
