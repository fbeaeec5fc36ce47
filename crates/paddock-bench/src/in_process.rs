//! What the guard costs inside one process: reads against bare system calls, denials, routing.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use paddock_core::{
    AccessScope, AgentName, Call, CallId, Cancel, Expect, HidePattern, LogicalPath, Mount, NameRules, NoJournal,
    OpKind, Operation, Origin, Outcome, Passed, Request, Risk, Vfs, Workspace,
};
use paddock_db::Durability;
use paddock_stores::PhysicalStore;

use crate::guarded::{Databases, Guarded, Open};
use crate::options::Options;
use crate::report::{Report, Wanted};
use crate::rounds::{in_turn, time};
use crate::trees::{Project, READ, SIZE};

/// The names that a new configuration hides in every Workspace.
const HIDDEN: [&str; 6] = [".env", ".env.*", "*.pem", "*.key", "id_rsa", "id_ed25519"];

/// Runs every in-process benchmark.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let place = project.path();
    let paths: Vec<String> = project.read_tree()?.into_iter().map(|sample| sample.path).collect();
    let vfs = view(&place, 1)?;
    report.section(
        "In one process",
        "What the guard costs where no transport is in the way: parsing the path, judging it, asking the Gate and running \
         the plan. Less is better, and the ratio is ours divided by theirs.",
    );
    reads(report, options, &vfs, &recorded(project)?, &place, &paths)?;
    denials(report, options, &vfs)?;
    routing(report, options, &place)
}

fn reads(
    report: &mut Report,
    options: &Options,
    vfs: &Vfs,
    recorded: &Guarded,
    dir: &Path,
    paths: &[String],
) -> Result<()> {
    let agent = AgentName::main();
    let hosts: Vec<_> = paths.iter().map(|path| dir.join(path)).collect();
    let given: Vec<String> = paths.iter().map(|path| format!("/project/{path}")).collect();
    let mut bare = |i: usize| {
        let mut buffer = Vec::with_capacity(SIZE);
        let done = File::open(&hosts[i]).and_then(|f| f.take(SIZE as u64).read_to_end(&mut buffer));
        assert_eq!(done.ok(), Some(SIZE), "the bare read reads");
        black_box(buffer);
    };
    let mut guarded = |i: usize| {
        let bytes = read(vfs, &agent, &given[i]).unwrap_or_default();
        assert_eq!(bytes.len(), SIZE, "our read reads");
        black_box(bytes);
    };
    let mut audited = |i: usize| {
        let bytes = recorded.read_as_asked(&given[i], 0..65536).unwrap_or_default();
        assert_eq!(bytes.len(), SIZE, "our read reads");
        black_box(bytes);
    };
    let samples = in_turn(3, options.rounds(50), |which| {
        Ok(match which {
            0 => time(READ, &mut bare),
            1 => time(READ, &mut guarded),
            _ => time(READ, &mut audited),
        })
    })?;
    let rows = [("4 KiB read through the Vfs", 1.3), ("4 KiB read through the Vfs, with audit", 1.6)];
    for ((what, limit), ours) in rows.into_iter().zip(&samples[1..]) {
        report.cheaper(what, "bare open, read, close", &samples[0], ours, Some(Wanted::AtMost(limit)));
    }
    Ok(())
}

fn read(vfs: &Vfs, agent: &AgentName, path: &str) -> Option<Vec<u8>> {
    let cancel = Cancel::default();
    let call = Call { id: CallId::next(), agent, cancel: &cancel, deadline: Instant::now() + Duration::from_secs(60) };
    let path = LogicalPath::parse(path, &LogicalPath::top()).ok()?;
    let plan = vfs.plan(&call, Operation::Read { path, range: 0..65536 }).ok()?;
    let Passed::Now(token) = vfs.ask(&call, &Request::of_person("read_file", Risk::Low), &plan).ok()? else {
        return None;
    };
    match vfs.run(&call, plan, token).ok()? {
        Outcome::Read { bytes, .. } => Some(bytes),
        _ => None,
    }
}

fn denials(report: &mut Report, options: &Options, vfs: &Vfs) -> Result<()> {
    let agent = AgentName::main();
    let cancel = Cancel::default();
    let call = Call {
        id: CallId::next(),
        agent: &agent,
        cancel: &cancel,
        deadline: Instant::now() + Duration::from_secs(3600),
    };
    for (what, path) in [("scope", "/project/src/deep/App.tsx"), ("no Workspace", "/etc/passwd")] {
        let asked = LogicalPath::parse(path, &LogicalPath::top())?;
        let denied = |path| vfs.plan(&call, Operation::Write { path, content: Vec::new(), expect: Expect::Any });
        if denied(asked.clone()).is_ok() {
            bail!("{path} should be denied");
        }
        let took = median(options, |_| drop(black_box(denied(asked.clone()))))?;
        report.took(&format!("denial by {what}"), took, Some(Duration::from_micros(2)));
    }
    Ok(())
}

fn routing(report: &mut Report, options: &Options, dir: &Path) -> Result<()> {
    for workspaces in [1, 100, 10_000] {
        let vfs = view(dir, workspaces)?;
        let asked = LogicalPath::parse("/project/src/deep/App.tsx", &LogicalPath::top())?;
        let took = median(options, |_| {
            black_box(vfs.judge(OpKind::Read, &asked).allowed());
        })?;
        report.took(&format!("judging a path among {workspaces} Workspaces"), took, None);
    }
    Ok(())
}

/// The median time of work that takes about a microsecond.
fn median(options: &Options, mut work: impl FnMut(usize)) -> Result<Duration> {
    let samples = in_turn(1, options.rounds(25), |_| Ok(time(10_000, &mut work)))?;
    Ok(samples[0].median())
}

/// The same Workspace with history and audit on.
fn recorded(project: &Project) -> Result<Guarded> {
    let ledger = Databases::at(&project.scratch("ledger")?, Durability::Process)?.ledger()?;
    Guarded::of(workspace(&project.path(), "/project")?, Some(ledger))
}

fn view(dir: &Path, workspaces: usize) -> Result<Vfs> {
    let mut all = vec![workspace(dir, "/project")?];
    for i in 1..workspaces {
        all.push(workspace(dir, &format!("/many/{i}/place"))?);
    }
    Vfs::new(all, Arc::new(Open), Arc::new(NoJournal)).context("the Workspaces stand together")
}

fn workspace(dir: &Path, prefix: &str) -> Result<Workspace> {
    let hide = HIDDEN.iter().map(|p| HidePattern { text: (*p).to_owned(), origin: Origin::unknown() }).collect();
    let store = PhysicalStore::new(dir).map_err(|e| anyhow::anyhow!("{e}"))?;
    let prefix = LogicalPath::parse(prefix, &LogicalPath::top())?;
    Ok(Workspace::new(prefix, AccessScope::ReadOnly, Mount::new(Arc::new(store), None)).with_names(NameRules::new(
        hide,
        &[],
        &[],
    )?))
}
