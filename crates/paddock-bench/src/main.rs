//! Measures Paddock beside its peers: the same work on both sides, in one run, as ratios.
//!
//! Owns the order of the parts. Started by `cargo xtask bench`, which says where the peers are; without them only what
//! is there is measured. Nothing here may fail because a figure is bad.

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
mod options;
mod page;
mod report;
mod rounds;
mod searching;
mod served;
mod servers;
mod starting;
mod store_work;
mod trees;
mod usage;
mod virtual_store;
mod writers;

use anyhow::{Context, Result};
use machine::Machine;
use options::Options;
use report::Report;
use trees::Project;

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
    let machine = Machine::here(&options, &project.path());
    let mut report = Report::default();
    if options.wants("in-process") {
        in_process::run(&mut report, &options, &project)?;
    }
    virtual_stores(&mut report, &options, &project)?;
    if options.paddock.is_some() {
        over_stdio(&mut report, &options, &project)?;
    }
    match &options.page {
        Some(path) if options.is_whole() => {
            let text = page::page(&report, &machine);
            std::fs::write(path, text).with_context(|| format!("cannot write \"{}\"", path.display()))
        }
        _ => Ok(()),
    }
}

fn virtual_stores(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    if options.wants("virtual") {
        virtual_store::run(report, options, project)?;
    }
    if options.wants("layers") {
        layers::run(report, options, project)?;
    }
    if options.wants("large") {
        large::run(report, options, project)?;
    }
    if options.wants("writers") {
        writers::run(report, options, project)?;
    }
    if options.wants("mounted") {
        mounted::run(report, options, project)?;
    }
    if options.wants("commands") {
        commands::run(report, options, project)?;
    }
    if options.wants("conversation") {
        conversation::run(report, options)?;
    }
    Ok(())
}

fn over_stdio(report: &mut Report, options: &Options, project: &Project) -> Result<()> {
    let servers = servers::all(options, project)?;
    if options.wants("calls") {
        calls::run(report, options, project, &servers)?;
    }
    if options.wants("search") {
        searching::run(report, options, project, &servers)?;
    }
    if options.wants("start") {
        starting::run(report, options, &servers)?;
    }
    if options.wants("memory") {
        memory::run(report, options, project, &servers)?;
    }
    if options.wants("served") {
        served::run(report, options, project, &servers)?;
    }
    Ok(())
}
