//! Resident memory: after the start, and after searching a small and a large tree.
//!
//! A server whose memory grows with the tree it searched fails its host on the day the tree is large. A server that
//! cannot search contents looks for files by name instead.

use anyhow::{Context, Result};

use crate::client::Client;
use crate::options::Options;
use crate::report::{Report, Wanted, mebibytes};
use crate::searching::over_stdio;
use crate::servers::{Kind, Server, Work, tell_absent};
use crate::trees::{PATTERN, Project, Searched};
use crate::usage::Memory;

const SMALL: usize = 1000;
const LARGE: usize = 20_000;
/// One search tells little: memory may grow with each.
const SEARCHES: usize = 5;
/// What Paddock may take at most.
const LIMIT: u64 = 15 * 1024 * 1024;
/// Growth beyond this is not flat.
const FLAT: f64 = 1.1;

struct Used {
    kind: Kind,
    idle: Memory,
    small: Memory,
    /// Or why it could not search the large tree.
    large: Result<Memory, String>,
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
    let (ours, peers) = used.split_first().context("Paddock is among the servers")?;
    let large = ours.large.as_ref().map_err(|why| anyhow::anyhow!("Paddock: {why}"))?;
    for theirs in peers {
        let name = theirs.kind.name();
        report.smaller("after the start", name, theirs.idle.resident, ours.idle.resident);
        report.smaller("after searching 1,000 files", name, theirs.small.resident, ours.small.resident);
        match &theirs.large {
            Ok(used) => {
                report.smaller("after searching 20,000 files", name, used.resident, large.resident);
                report.smaller("the most there ever was", name, used.peak, large.peak);
            }
            Err(why) => report.failed("after searching 20,000 files", name, why, &mebibytes(large.resident)),
        }
    }
    tell_absent(report, options, servers, &Kind::PEERS);
    report.at_most("Paddock: the most there ever was", large.peak, LIMIT, mebibytes);
    for used in &used {
        let Ok(large) = &used.large else { continue };
        #[allow(clippy::cast_precision_loss)]
        let growth = large.resident as f64 / used.small.resident as f64;
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
    let small = after(small)?;
    let large = after(large).map_err(|error| error.root_cause().to_string());
    Ok(Used { kind: server.kind, idle, small, large })
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
