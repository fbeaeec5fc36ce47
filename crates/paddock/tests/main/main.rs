//! The built binary, as people and MCP clients use it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, missing_docs)]

mod accounts;
mod adhoc;
mod approvals;
mod check_forks;
mod client;
mod commands;
mod config;
mod connect;
mod connection;
mod costs;
#[path = "../../../../tests/could_not_run.rs"]
mod could_not_run;
mod crash;
mod deep;
mod demo;
mod docs;
mod doctor;
mod forks;
mod half_way;
mod harness;
mod init;
mod inside;
mod instance;
mod lacking;
mod matrix;
mod mount;
mod network;
mod no_node;
mod own_binary;
mod own_policy;
mod past;
mod person_settings;
mod planted;
mod policy;
mod postgres;
mod projects;
mod quota;
mod readers;
mod reload;
mod repositories;
mod runs;
mod secrets;
mod seed_000;
mod serve;
mod server;
mod shell;
mod tool;
mod two_servers;
mod upgrade;
mod web_search;
mod website;
