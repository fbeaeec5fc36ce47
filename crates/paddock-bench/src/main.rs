//! Measures Paddock beside its peers: the same work on both sides, in one run, as ratios.

#![allow(clippy::disallowed_methods)]

mod in_process;
mod report;
mod rounds;

fn main() -> anyhow::Result<()> {
    let mut report = report::Report::default();
    in_process::run(&mut report)
}
