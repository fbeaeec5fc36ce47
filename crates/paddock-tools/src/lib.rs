//! The tools of an agent, and the one boundary that every call of one passes.
//!
//! A [`Toolbox`] stands on the policy of one agent. It offers the tools that some Workspace of that
//! agent allows ([`Toolbox::tools`]), says in words what the agent perceives
//! ([`Toolbox::filesystem_map`]), and runs calls ([`Toolbox::call`]): arguments are read strictly,
//! the path is judged and the plan is put before the Gate by `paddock-core`, and whatever happens
//! becomes an [`Answer`] that the agent can read. [`WorkspacesMiddleware`] puts the same around any
//! model and any tool handler.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use paddock_core::{AccessScope, AgentName, AgentPolicy, LogicalPath, Mount, NoJournal, Vfs, Workspace};
//! use paddock_stores::MemoryStore;
//! use paddock_tools::{Control, RecordingGate, Toolbox};
//! use serde_json::json;
//!
//! let prefix = LogicalPath::parse("/notes", &LogicalPath::top())?;
//! let notes = Workspace::new(prefix.clone(), AccessScope::ReadWrite, Mount::new(Arc::new(MemoryStore::new()), None));
//! let vfs = Vfs::new(vec![notes], Arc::new(RecordingGate::new()), Arc::new(NoJournal))?;
//! let toolbox = Toolbox::fixed(AgentPolicy::new(AgentName::main(), prefix, vfs));
//!
//! let write = json!({"path": "a.md", "content": "hello"}).as_object().cloned().unwrap_or_default();
//! let answer = toolbox.call("write_file", write, &Control::for_at_most(Duration::from_secs(10)));
//! assert_eq!(answer.text(), "File written successfully: /notes/a.md (5 bytes, new file)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each tool is one row of the [`catalogue`]. What an agent is told when something fails is written
//! in one module, `messages`.
//!
//! This crate must never panic on a bad call, run a command, know a concrete Store, or let a host
//! path or the name of something hidden into an answer.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod answer;
mod arguments;
mod asking;
mod boundary;
pub mod catalogue;
mod contents;
mod control;
mod evicted;
mod failure;
mod gate;
mod hearing;
mod map;
mod messages;
mod middleware;
mod names;
mod notifying;
mod output;
mod person;
mod policy;
mod risk;
mod schema;
mod size;
mod toolbox;
mod tools;

pub use answer::{Answer, Piece, Verdict};
pub use asking::{answer_question, canonical, check_arguments, make_held, question};
pub use catalogue::{Hints, ToolSpec};
pub use control::{Control, Listener};
pub use gate::RecordingGate;
pub use messages::edited_to;
pub use middleware::{Handled, ModelRequest, ToolRequest, WorkspacesMiddleware};
pub use names::{BadToolNames, ToolNames};
pub use notifying::notify;
pub use output::PlainText;
pub use person::{Acted, Person, settle};
pub use policy::{Audited, Fixed, PolicySource};
pub use toolbox::{Rehearsal, Toolbox};
pub use tools::web_search::trusted_tls;
