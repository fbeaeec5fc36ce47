//! Resident memory: after the start, and after searching a small and a large tree.
//!
//! A server whose memory grows with the tree it searched fails its host on the day the tree is large. A server that
//! cannot search contents looks for files by name instead.

use anyhow::{Context, Result};

use crate::client::Client;
use crate::options::Options;
use crate::report::{Report, Wanted, mebibytes};
use crate::searching::over_stdio;
use crate::servers::{Kind, Server, Work};
use crate::trees::{PATTERN, Project, Searched};
use crate::usage::Memory;

const SMALL: usize = 1000;
const LARGE: usize = 20_000;
/// One search tells little: memory may grow with each.
const SEARCHES: usize = 5;
/// Growth beyond this is not flat.
const FLAT: f64 = 1.1;

struct Used {
    kind: Kind,
    idle: Memory,
    small: Memory,
    large: Memory,
}

/// Measures every server.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project, servers: &[Server]) -> Result<()> {
    let small = project.searched_tree("small", SMALL)?;
    let large = project.searched_tree("large", LARGE)?;
    let searches = if options.quick { 1 } else { SEARCHES };
    let used: Vec<Used> = servers.iter().map(|server| used(server, &small, &large, searches)).collect::<Result<_>>()?;
    report.section(
        "Resident memory",
        "After the start, then after five searches of a tree of 1,000 files and five of one of 20,000 (the server on Node, \
         which does not search contents, looks for a name instead); less is better, and the ratio is ours divided by theirs.",
    );
    let ours = used.first().context("Paddock is among the servers")?;
    for theirs in &used[1..] {
        let name = theirs.kind.name();
        let mut row = |what: &str, theirs: u64, ours: u64| report.smaller(what, name, theirs, ours);
        row("after the start", theirs.idle.resident, ours.idle.resident);
        row("after searching 1,000 files", theirs.small.resident, ours.small.resident);
        row("after searching 20,000 files", theirs.large.resident, ours.large.resident);
        row("the most there ever was", theirs.large.peak, ours.large.peak);
    }
    let limit = mebibytes(15 * 1024 * 1024);
    let peak = ours.large.peak;
    report.absolute("the most there ever was", &mebibytes(peak), &format!("≤ {limit}"), peak <= 15 * 1024 * 1024);
    for used in &used {
        #[allow(clippy::cast_precision_loss)]
        let growth = used.large.resident as f64 / used.small.resident as f64;
        let wanted = (used.kind == Kind::Paddock).then_some(Wanted::AtMost(FLAT));
        report.growth(&format!("{}: after 20,000 files against after 1,000", used.kind.name()), growth, wanted);
    }
    Ok(())
}

fn used(server: &Server, small: &Searched, large: &Searched, searches: usize) -> Result<Used> {
    let mut client = server.start()?.0;
    let idle = client.memory()?;
    let mut after = |tree: &Searched| {
        for _ in 0..searches {
            look_through(server, &mut client, tree)?;
        }
        client.memory()
    };
    Ok(Used { kind: server.kind, idle, small: after(small)?, large: after(large)? })
}

fn look_through(server: &Server, client: &mut Client, tree: &Searched) -> Result<()> {
    if server.request(Work::Search { path: &tree.path, pattern: PATTERN }).is_some() {
        over_stdio(server, client, tree)?;
        return Ok(());
    }
    let name = format!("file-{}.rs", tree.files - 1);
    let asked = server.request(Work::FindByName { path: &tree.path, part: &name });
    let (tool, arguments) = asked.context("every server finds by name")?;
    let answer = client.call(tool, &arguments)?;
    anyhow::ensure!(answer.text.contains(&name), "{} did not find {name}", server.name());
    Ok(())
}
