//! Overlays and forks: what reading through one costs, making one, and telling and carrying down what changed.
//!
//! The trees are put in by the row, many in a transaction: how they came to be is not measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use paddock_core::{Call, NoJournal, Operation, Passed, RelPathBuf, Request, Risk, Store, Vfs, View, Workspace};
use paddock_db::Durability;
use paddock_stores::PhysicalStore;
use paddock_stores::fork;
use paddock_stores::virtual_store::VirtualStore;
use paddock_stores::virtual_store::base::{BaseStore, Content, Namespace, NewRow, RowKind, RowsMut};

use crate::guarded::{Caller, Databases, Open, logical, workspace};
use crate::options::Options;
use crate::report::{Report, Wanted};
use crate::rounds::{Samples, in_turn};
use crate::trees::{Project, READ, SIZE, Sample};

/// How many files the trees have that are forked.
const TREES: [usize; 3] = [1_000, 100_000, 1_000_000];
/// Files in a directory of such a tree.
const IN_A_DIRECTORY: usize = 100;
/// Rows put in by one transaction.
const BATCH: usize = 10_000;
/// How many files a fork changes.
const FEW: usize = 10;
const MANY: usize = 1_000;
const LONGEST_FORK: Duration = Duration::from_millis(10);

/// Measures overlays, then forks.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let place = project.scratch("layers")?;
    let databases = Databases::at(&place, Durability::Process)?;
    overlays(report, options, project, &databases)?;
    let trees: Vec<Tree> = TREES
        .into_iter()
        .filter(|files| !options.quick || *files < 1_000_000)
        .map(|files| Tree::plant(&databases, files))
        .collect::<Result<_>>()?;
    forks(report, options, &trees)?;
    differences(report, options, &trees)?;
    drop((trees, databases));
    Ok(std::fs::remove_dir_all(place)?)
}

/// The first read of every file through an overlay that holds nothing yet.
fn overlays(report: &mut Report, options: &Options, project: &Project, databases: &Databases) -> Result<()> {
    let samples = project.read_tree()?;
    let paths: Vec<RelPathBuf> = samples.iter().map(|sample| rel(&sample.path)).collect::<Result<_>>()?;
    let physical = PhysicalStore::new(&project.path()).map_err(|error| anyhow!("{error}"))?;
    let on_sqlite = databases.store("lower");
    copy_in(databases, &samples)?;
    report.section(
        "Overlay",
        "The first read of each of 1,000 files of 4 KiB, two directories down, that an overlay shows from the layer below, \
         against the same read of that layer. Nothing is copied. Time of one; less is better, and the ratio is ours divided by theirs.",
    );
    let lowers: [(&str, Arc<dyn Store>); 2] =
        [("Physical Store", Arc::new(physical)), ("Virtual Store", Arc::new(on_sqlite))];
    for (name, lower) in lowers {
        let below = view(&workspace("/lower", lower)?)?;
        let mut made = 0;
        let samples = in_turn(2, options.rounds(30), |which| {
            if which == 0 {
                return read_all(&below, &paths);
            }
            made += 1;
            let overlay = databases.store(&format!("overlay of a {name} {made}")).over(below.clone());
            read_all(&view(&workspace("/upper", Arc::new(overlay))?)?, &paths)
        })?;
        let wanted = Some(Wanted::AtMost(1.5));
        report.beside_ours("first read through an overlay", name, &samples[0], &samples[1], wanted);
    }
    Ok(())
}

fn read_all(view: &View, paths: &[RelPathBuf]) -> Result<Duration> {
    let caller = Caller::new();
    let call = caller.call();
    let mut out = Vec::with_capacity(SIZE);
    let start = Instant::now();
    for path in paths {
        out.clear();
        view.read(&call, path.as_rel(), 0..65536, &mut out)?;
        ensure!(out.len() == SIZE, "\"{}\" was not read whole", path.as_str());
    }
    Ok(start.elapsed() / u32::try_from(READ)?)
}

fn copy_in(databases: &Databases, samples: &[Sample]) -> Result<()> {
    let store = Arc::new(databases.store("lower"));
    let guarded = crate::guarded::Guarded::new(store, None)?;
    samples.iter().try_for_each(|sample| guarded.write(&sample.path, sample.content.clone().into_bytes()))
}

/// A namespace with many files.
struct Tree {
    files: usize,
    databases: Databases,
    namespace: Namespace,
}

impl Tree {
    fn plant(databases: &Databases, files: usize) -> Result<Self> {
        let namespace = Namespace::new(["tree".to_owned(), files.to_string()]);
        let tree = Self { files, databases: databases.clone(), namespace };
        let caller = Caller::new();
        for from in (0..files).step_by(BATCH) {
            let numbers = from..(from + BATCH).min(files);
            tree.databases.base.write(&caller.call(), &tree.namespace, &mut |rows| {
                rows.advance()?;
                numbers.clone().try_for_each(|number| plant(rows, number))
            })?;
        }
        Ok(tree)
    }

    fn base(&self) -> &Arc<dyn BaseStore> {
        &self.databases.base
    }

    fn store(&self) -> VirtualStore {
        VirtualStore::new(Arc::clone(self.base()), self.namespace.clone())
    }

    fn source(&self) -> Result<Workspace> {
        workspace("/source", Arc::new(self.store()))
    }

    /// A fork as the command makes it: the tree is pinned, and a new namespace stands over it.
    fn fork(&self, call: &Call<'_>, name: &str) -> Result<VirtualStore> {
        let at = self.base().pin(call, &self.namespace, name)?;
        let below = view(&self.source()?)?.standing_on(Arc::new(self.store().frozen(at)));
        let own = Namespace::new(["fork".to_owned(), self.files.to_string(), name.to_owned()]);
        Ok(VirtualStore::new(Arc::clone(self.base()), own).over_frozen(below))
    }
}

fn plant(rows: &mut dyn RowsMut, number: usize) -> paddock_core::Result<()> {
    let new = |kind, mode, content, len| NewRow { kind, len, mode, modified: 0, content, version: None };
    if number.is_multiple_of(IN_A_DIRECTORY) {
        rows.put(&directory(number), &new(RowKind::Dir, 0o755, Content::None, 0), false)?;
    }
    let content = planted(number);
    let row = new(RowKind::File, 0o644, Content::Inline(content.as_bytes()), content.len() as u64);
    rows.put(&path(number), &row, false).map(drop)
}

fn directory(number: usize) -> String {
    format!("part-{:05}", number / IN_A_DIRECTORY)
}

fn path(number: usize) -> String {
    format!("{}/file-{number:07}.txt", directory(number))
}

fn planted(number: usize) -> String {
    format!("file {number}\nwith a few lines\nto be changed\n")
}

fn forks(report: &mut Report, options: &Options, trees: &[Tree]) -> Result<()> {
    report.section(
        "Fork",
        "Making a fork of a Virtual Workspace: holding on to its state, and a namespace over it that holds nothing yet; with the \
         first read and the first write in it. However many files there are.",
    );
    let caller = Caller::new();
    let mut made = 0;
    let samples = in_turn(trees.len(), options.rounds(30), |which| {
        made += 1;
        let (tree, call, start) = (&trees[which], caller.call(), Instant::now());
        let fork = tree.fork(&call, &format!("timed {made}"))?;
        let number = tree.files / 2;
        let vfs = Vfs::new(vec![workspace("/fork", Arc::new(fork))?], Arc::new(Open), Arc::new(NoJournal))?;
        let asked = logical(&format!("/fork/{}", path(number)))?;
        perform(&vfs, &call, Operation::Read { path: asked.clone(), range: 0..4096 })?;
        let content = b"changed in the fork\n".to_vec();
        perform(&vfs, &call, Operation::Write { path: asked, content, expect: paddock_core::Expect::Any })?;
        Ok(start.elapsed())
    })?;
    for (tree, samples) in trees.iter().zip(&samples) {
        let what = format!("of {} files", crate::report::grouped(count(tree.files)));
        report.took(&what, samples.median(), Some(LONGEST_FORK));
    }
    if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
        report.growth("the largest against the smallest", last.times(first), Some(Wanted::AtMost(1.5)));
    }
    Ok(())
}

fn perform(vfs: &Vfs, call: &Call<'_>, operation: Operation) -> Result<()> {
    let told = |refused: paddock_core::Refused| anyhow!("{refused}");
    let plan = vfs.plan(call, operation).map_err(told)?;
    let Passed::Now(token) = vfs.ask(call, &Request::of_person("bench", Risk::Low), &plan).map_err(told)? else {
        return Err(anyhow!("nobody is there to decide"));
    };
    vfs.run(call, plan, token).map(drop).map_err(told)
}

/// What `diff` and `apply` take for a fork.
struct Told {
    diff: Samples,
    apply: Samples,
}

fn differences(report: &mut Report, options: &Options, trees: &[Tree]) -> Result<()> {
    let [small, large, ..] = trees else { return Ok(()) };
    report.section(
        "Diff and apply of a fork",
        "A line changed in each of 10 or 1,000 files of a fork. \"diff\" tells the differences, \"apply\" merges them and changes \
         the Workspace below in one transaction. The cost has to follow what changed, whatever is there.",
    );
    let rounds = options.rounds(10);
    let few = told(large, FEW, rounds)?;
    let many = told(large, MANY, rounds)?;
    let small = told(small, MANY, rounds)?;
    in_proportion(report, "diff", [&few.diff, &many.diff, &small.diff]);
    in_proportion(report, "apply", [&few.apply, &many.apply, &small.apply]);
    Ok(())
}

/// Few changes in a large tree, many in it, and many in a small one.
fn in_proportion(report: &mut Report, what: &str, [few, many, small]: [&Samples; 3]) {
    report.took(&format!("{what}: 10 of 100,000 files changed"), few.median(), None);
    report.took(&format!("{what}: 1,000 of 100,000 files changed"), many.median(), None);
    let wanted = Some(Wanted::AtMost(100.0));
    report.growth(&format!("{what}: 1,000 changes against 10"), many.times(few), wanted);
    let wanted = Some(Wanted::AtMost(1.5));
    report.growth(&format!("{what}: 1,000 changes in 100,000 files against in 1,000"), many.times(small), wanted);
}

fn told(tree: &Tree, changed: usize, rounds: usize) -> Result<Told> {
    let caller = Caller::new();
    let mut round = 0;
    let mut applied = Vec::new();
    let diff = in_turn(1, rounds, |_| {
        round += 1;
        let call = caller.call();
        let fork = tree.fork(&call, &format!("changed {changed} {round}"))?;
        change(tree, &fork, changed, round)?;
        let live = view(&tree.source()?)?;
        let start = Instant::now();
        let differences = fork::differences(&call, &fork, &live)?;
        let took = start.elapsed();
        ensure!(differences.len() == changed, "{} differences, {changed} changes", differences.len());
        applied.push(apply(tree, &fork, changed)?);
        Ok(took)
    })?;
    let mut applied = applied.into_iter();
    let apply = in_turn(1, rounds, |_| applied.next().context("as many were applied"))?;
    let take = |mut samples: Vec<Samples>| samples.pop().context("one way was measured");
    Ok(Told { diff: take(diff)?, apply: take(apply)? })
}

/// Changes one line of each of so many files that are beside each other.
fn change(tree: &Tree, fork: &VirtualStore, changed: usize, round: usize) -> Result<()> {
    let vfs = Vfs::new(vec![workspace("/fork", Arc::new(fork.clone()))?], Arc::new(Open), Arc::new(NoJournal))?;
    let caller = Caller::new();
    // As many directories, however large the tree is.
    let first = (tree.files - changed) / 2 / IN_A_DIRECTORY * IN_A_DIRECTORY;
    for at in 0..changed {
        let number = first + at;
        let content = planted(number).replace("to be changed", &format!("changed {round} times")).into_bytes();
        let path = logical(&format!("/fork/{}", path(number)))?;
        perform(&vfs, &caller.call(), Operation::Write { path, content, expect: paddock_core::Expect::Any })?;
    }
    Ok(())
}

/// Merges and makes the changes, as the command does.
fn apply(tree: &Tree, fork: &VirtualStore, changed: usize) -> Result<Duration> {
    let caller = Caller::new();
    let call = caller.call();
    let source = tree.source()?;
    let prefix = source.prefix().clone();
    let live = view(&source)?;
    let vfs = Vfs::new(vec![source], Arc::new(Open), Arc::new(NoJournal))?;
    let start = Instant::now();
    let merge = fork::merge(&call, fork, &live, &prefix)?;
    ensure!(merge.conflicts.is_empty() && merge.alterations.len() == changed, "the merge has conflicts");
    perform(&vfs, &call, Operation::Alter { path: prefix, alterations: merge.alterations.clone() })?;
    merge.applied(&call, fork)?;
    Ok(start.elapsed())
}

fn view(workspace: &Workspace) -> Result<View> {
    View::of(workspace, std::slice::from_ref(workspace)).context("it can be read")
}

fn rel(path: &str) -> Result<RelPathBuf> {
    RelPathBuf::parse(path).map_err(|error| anyhow!("{error}"))
}

#[allow(clippy::cast_precision_loss)]
fn count(files: usize) -> f64 {
    files as f64
}
