//! File tools over stdio: the same work asked of every server, each answer checked, wall time and processor time.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::client::Client;
use crate::options::Options;
use crate::report::{Report, Wanted};
use crate::rounds::{Samples, in_turn};
use crate::servers::{Kind, Server, Work, keeping_no_record, tell_absent};
use crate::trees::{NEEDLE, Project, SIZE, Sample, text};

/// How many files are written, again and again.
const WRITTEN: usize = 100;
const BEFORE: &str = "setting = \"before\"";
const AFTER: &str = "setting = \"after, which is longer\"";

/// A server that runs, and what it used.
struct Contender {
    server: Server,
    client: Client,
    cpu: Duration,
    calls: u32,
}

/// What one kind of work took, for every contender.
struct Measured {
    kinds: Vec<Kind>,
    wall: Vec<Samples>,
    /// Processor time of the server per call.
    cpu: Vec<Duration>,
}

/// How fast we want to be, as multiples of each peer's calls per second.
struct Goals {
    rust: Option<f64>,
    official: Option<f64>,
    /// Our processor time per call, as a multiple of the first one's.
    cpu: Option<f64>,
}

const NO_GOALS: Goals = Goals { rust: None, official: None, cpu: None };

/// Measures every file tool.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project, servers: &[Server]) -> Result<()> {
    let mut bench = Bench { options, contenders: start(servers)? };
    let reads = bench.reads(project)?;
    let edits = bench.edits(project)?;
    let writes = bench.writes(project)?;
    let lists = bench.lists(project)?;
    let finds = bench.finds(project)?;
    let mut alike = Bench { options, contenders: start(&keeping_no_record(servers)?)? };
    let unrecorded_edits = alike.edits(project)?;
    let unrecorded_writes = alike.writes(project)?;
    let edit_goals = || Goals { rust: Some(1.3), official: Some(4.0), cpu: None };
    let measured = [
        ("read a file of 4 KiB", reads, Goals { rust: Some(1.4), official: Some(4.0), cpu: Some(0.6) }),
        ("edit a file of 4 KiB", edits, edit_goals()),
        ("edit a file of 4 KiB, no record kept", unrecorded_edits, edit_goals()),
        ("write a file of 4 KiB", writes, NO_GOALS),
        ("write a file of 4 KiB, no record kept", unrecorded_writes, NO_GOALS),
        ("list 1,000 entries", lists, Goals { rust: Some(4.0), official: Some(2.0), cpu: None }),
        ("find 40 of 2,000 files by name", finds, NO_GOALS),
    ];
    report.section(
        "Calls per second over stdio",
        "Calls answered per second, one at a time; more is better, and the ratio is ours divided by theirs. \
         The peers answer an edit with a diff, Paddock with the new version of the file. Paddock has history and audit on, as \
         it always has: every call is recorded, and what a change replaces is kept. What the record costs is told by the lines \
         \"no record kept\": the same tools, guard and Store, served without a ledger, which is the work that the peers do.",
    );
    for (what, measured, goals) in &measured {
        measured.report_speed(report, what, goals);
    }
    tell_absent(report, options, servers, &Kind::PEERS);
    report.section(
        "Processor time of the server per call",
        "User and kernel time of the server's processes; less is better, and the ratio is ours divided by theirs.",
    );
    for (what, measured, goals) in &measured {
        measured.report_cpu(report, what, goals);
    }
    tell_absent(report, options, servers, &Kind::PEERS);
    Ok(())
}

fn start(servers: &[Server]) -> Result<Vec<Contender>> {
    let start = |server: &Server| {
        let (client, _) = server.start()?;
        Ok(Contender { server: server.clone(), client, cpu: Duration::ZERO, calls: 0 })
    };
    servers.iter().map(start).collect()
}

struct Bench<'a> {
    options: &'a Options,
    contenders: Vec<Contender>,
}

impl Bench<'_> {
    fn reads(&mut self, project: &Project) -> Result<Measured> {
        let samples = project.read_tree()?;
        let mut next = vec![0; self.contenders.len()];
        self.measure(30, |contender, which| {
            // Each round goes on where the last one of this contender stopped, so that all files are read.
            let mut took = Duration::ZERO;
            for _ in 0..500 {
                let sample: &Sample = &samples[next[which] % samples.len()];
                next[which] += 1;
                let answer = contender.call(Work::Read { path: &sample.path }, &mut took)?;
                ensure!(answer.contains(&sample.content), "\"{}\" was not read whole", sample.path);
            }
            Ok(took / 500)
        })
    }

    fn writes(&mut self, project: &Project) -> Result<Measured> {
        let mut turn = 0;
        self.measure(20, |contender, _| {
            turn += 1;
            let mut took = Duration::ZERO;
            let path = |kind: Kind, i: usize| format!("{}/written-{i}.txt", kind.written());
            let content = |i: usize| text(turn * WRITTEN + i, SIZE);
            for i in 0..WRITTEN {
                let path = path(contender.server.kind, i);
                contender.call(Work::Write { path: &path, content: &content(i) }, &mut took)?;
            }
            for i in [0, WRITTEN / 2, WRITTEN - 1] {
                let path = path(contender.server.kind, i);
                ensure!(project.read(&path)? == content(i), "\"{path}\" was not written");
            }
            Ok(took / u32::try_from(WRITTEN)?)
        })
    }

    fn edits(&mut self, project: &Project) -> Result<Measured> {
        let (head, tail) = (text(1, SIZE / 2), text(2, SIZE / 2 - BEFORE.len() - 1));
        let content = |setting: &str| format!("{head}{setting}\n{tail}");
        let path = |kind: Kind| format!("{}/edited.txt", kind.written());
        for contender in &self.contenders {
            project.write(&path(contender.server.kind), &content(BEFORE))?;
        }
        self.measure(20, |contender, _| {
            let path = path(contender.server.kind);
            let mut took = Duration::ZERO;
            for _ in 0..50 {
                contender.call(Work::Edit { path: &path, old: BEFORE, new: AFTER }, &mut took)?;
                ensure!(project.read(&path)? == content(AFTER), "\"{path}\" was not edited");
                contender.call(Work::Edit { path: &path, old: AFTER, new: BEFORE }, &mut took)?;
            }
            ensure!(project.read(&path)? == content(BEFORE), "\"{path}\" was not edited back");
            Ok(took / 100)
        })
    }

    fn lists(&mut self, project: &Project) -> Result<Measured> {
        let names = project.listed_directory()?;
        self.measure(20, |contender, _| {
            let mut took = Duration::ZERO;
            let mut checked = String::new();
            for _ in 0..20 {
                let answer = contender.call(Work::List { path: "listed" }, &mut took)?;
                // Looking for every name takes longer than the call; the same answer is looked through once.
                if answer != checked {
                    let missing = names.iter().find(|name| !answer.contains(name.as_str()));
                    ensure!(missing.is_none(), "the listing lacks {missing:?}");
                    checked = answer;
                }
            }
            Ok(took / 20)
        })
    }

    fn finds(&mut self, project: &Project) -> Result<Measured> {
        let wanted = project.named_tree()?;
        self.measure(12, |contender, _| {
            let mut took = Duration::ZERO;
            for _ in 0..4 {
                let answer = contender.call(Work::FindByName { path: "named", part: NEEDLE }, &mut took)?;
                let found = |line: &str| Some(line.trim_end().rsplit('/').next()?.to_owned());
                let mut found: Vec<String> = answer.lines().filter(|l| l.contains(NEEDLE)).filter_map(found).collect();
                found.sort();
                ensure!(found == wanted, "found by name: {found:?}");
            }
            Ok(took / 4)
        })
    }

    /// Runs rounds in turn and takes the processor time of each server over all of them.
    fn measure(
        &mut self,
        rounds: usize,
        mut round: impl FnMut(&mut Contender, usize) -> Result<Duration>,
    ) -> Result<Measured> {
        for contender in &mut self.contenders {
            (contender.cpu, contender.calls) = (Duration::ZERO, 0);
        }
        let contenders = &mut self.contenders;
        let wall = in_turn(contenders.len(), self.options.rounds(rounds), |which| {
            let contender = &mut contenders[which];
            let before = contender.client.cpu_time()?;
            let took = round(contender, which).with_context(|| contender.server.name())?;
            contender.cpu += contender.client.cpu_time()?.saturating_sub(before);
            Ok(took)
        })?;
        let cpu = contenders.iter().map(|contender| contender.cpu / contender.calls.max(1)).collect();
        Ok(Measured { kinds: contenders.iter().map(|contender| contender.server.kind).collect(), wall, cpu })
    }
}

impl Contender {
    fn call(&mut self, work: Work<'_>, took: &mut Duration) -> Result<String> {
        let (tool, arguments) = self.server.request(work).context("every server has the tool")?;
        let timed = self.client.call(tool, &arguments)?;
        *took += timed.took;
        self.calls += 1;
        Ok(timed.text)
    }
}

impl Measured {
    fn report_speed(&self, report: &mut Report, what: &str, goals: &Goals) {
        for (kind, theirs) in self.kinds.iter().zip(&self.wall).skip(1) {
            let wanted = if *kind == Kind::RustMcpFilesystem { goals.rust } else { goals.official };
            report.faster(what, kind.name(), theirs, &self.wall[0], wanted.map(Wanted::AtLeast));
        }
    }

    fn report_cpu(&self, report: &mut Report, what: &str, goals: &Goals) {
        for (kind, theirs) in self.kinds.iter().zip(&self.cpu).skip(1) {
            let wanted = if *kind == Kind::RustMcpFilesystem { goals.cpu } else { None };
            report.cheaper_by_total(what, kind.name(), *theirs, self.cpu[0], wanted.map(Wanted::AtMost));
        }
    }
}
