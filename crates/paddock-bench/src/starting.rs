//! Cold start: from starting the process to its answer to the greeting.

use anyhow::Result;

use crate::options::Options;
use crate::report::{Report, Wanted};
use crate::rounds::in_turn;
use crate::servers::{Kind, Server, tell_absent};

/// Starts every server in turn.
pub(crate) fn run(report: &mut Report, options: &Options, servers: &[Server]) -> Result<()> {
    let samples = in_turn(servers.len(), options.rounds(30), |which| Ok(servers[which].start()?.1))?;
    report.section(
        "Cold start",
        "From starting the process to the answer to `initialize`; less is better, and the ratio is ours divided by theirs.",
    );
    for (server, theirs) in servers.iter().zip(&samples).skip(1) {
        let wanted = (server.kind == Kind::RustMcpFilesystem).then_some(Wanted::AtMost(1.0));
        report.cheaper("cold start", server.name(), theirs, &samples[0], wanted);
    }
    tell_absent(report, options, servers, &Kind::PEERS);
    Ok(())
}
