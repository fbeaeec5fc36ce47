//! Measures Paddock beside its peers: the same work on both sides, in one run, as ratios.
//!
//! Owns a run from its first part to its page. Started by `cargo xtask bench`, which says where the peers are; without them only
//! what is there is measured, and the page says what is not. Nothing here may fail because a figure is bad.

// It lays out files, starts the peers and reads what the kernel says about them.
#![allow(clippy::disallowed_methods)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod agentfs;
mod bare_sqlite;
mod calls;
mod client;
mod commands;
mod conversation;
mod guarded;
mod helpers;
mod http;
mod in_process;
mod langgraph;
mod large;
mod layers;
mod machine;
mod memory;
mod mounted;
mod npm_package;
mod options;
mod page;
mod parts;
mod plot;
mod report;
mod rounds;
mod run_ground;
mod runs;
mod searching;
mod served;
mod servers;
mod starting;
mod store_work;
mod svg;
mod trees;
mod usage;
mod virtual_store;
mod writers;

use std::time::Instant;

use anyhow::{Result, ensure};
use machine::Machine;
use options::Options;
use report::Report;
use trees::Project;

#[allow(clippy::print_stderr)]
fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if helpers::helped(&args)? {
        return Ok(());
    }
    let options = Options::parse(args)?;
    usage::allow_open_files()?;
    // As in the product: what one part leaves in memory must not slow down the starts of another.
    paddock_exec::keep_no_large_memory();
    let project = Project::new(&machine::place_of_files())?;
    let mut machine = Machine::here(&options, &project.path());
    let (mut report, start) = (Report::default(), Instant::now());
    // What was measured is kept, whatever becomes of the rest.
    let keep = |report: &Report| {
        let kept = options.draft.as_ref().map(|path| page::write(path, report, &machine, &options));
        if let Some(Err(error)) = kept {
            eprintln!("  the draft of the page is not kept: {error:#}");
        }
    };
    let broken = parts::run(&mut report, &options, &project, keep);
    machine.took(start.elapsed());
    if let Some(path) = options.results() {
        page::write(path, &report, &machine, &options)?;
        eprintln!("\n{} in {}", path.display(), parts::clock(start.elapsed()));
    }
    ensure!(broken.is_empty(), "could not be measured to the end: {}", broken.join(", "));
    Ok(())
}
