//! `paddock.toml`: which Workspaces an agent perceives, said by a person in one file.
//!
//! The file is read strictly (an unknown key is an error with its line and the key that was meant), every
//! problem is reported together, and a file with a problem never becomes a policy: the last valid one stays,
//! and nothing is ever widened by a mistake. From a valid file this crate builds an agent's Workspaces, each
//! citing the line that it came from, and keeps them current while the file changes.
//!
//! It must never decide a call; that is the `Vfs` in `paddock-core`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]
#![allow(
    clippy::disallowed_methods,
    reason = "this crate owns the configuration file and looks at the directories that Mounts name"
)]

mod adhoc;
mod approvals;
mod build;
mod commands;
mod config_file;
mod edit;
mod fault;
mod host;
mod init;
mod installation;
mod layer;
mod nearest;
mod places;
mod problem;
mod program;
mod quiet;
mod read;
mod reload;
pub mod schema;
mod secret;
mod source;
mod table;
pub mod upkeep;
mod user;
mod warning;
mod written;

pub use adhoc::{AdhocDir, AdhocError, adhoc};
pub use build::{Ports, build, check, fork_store, namespace_of};
pub use commands::{EVICTED, PLANS};
pub use config_file::ConfigFile;
pub use edit::{EditError, get, save, set, unset};
pub use fault::Fault;
pub use host::Host;
pub use init::{CONFIG_FILE, HIDE, InitError, SCHEMA_FILE, WORKSPACE_DIR, find_upwards, init, template};
pub use installation::{Installation, InstallationError, Settings, StateDatabase, Tables, TidyError, state_schemas};
pub use layer::{Layer, LayerError, LayerName, Layers, NewFork};
pub use problem::{ConfigError, Problem};
pub use program::{
    Base, ProgramCommands, ProgramError, ProgramMount, ProgramStore, program, program_commands, program_options,
};
pub use reload::Reloader;
pub use schema::json_schema;
pub use source::{Located, Position, Source};
pub use user::{USER_KEYS, UserError, UserKey, UserSettings};
pub use warning::{Warning, warnings};
