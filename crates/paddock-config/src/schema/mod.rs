//! Every key of `paddock.toml`: one row each, with the words that the JSON Schema shows an editor.
//!
//! From these rows come the reader, the JSON Schema and the list of known keys.

mod agents;
mod money;
mod secrets;
mod sections;
mod values;

pub use agents::{AgentTable, Agents, Durability, HardLinks, MountSpec, Quota, WorkspaceTable};
pub use money::{Currency, Money};
pub use secrets::{NameOfSecret, OfSecret, SecretKey, SecretOr, SecretRef};
pub use sections::{
    Approvals, Changes, Commands, Examples, History, Large, Model, Network, Notify, Prices, RiskLevel, RiskRule, Run,
    Serve, State, Virtual, WebSearch,
};
pub use values::{
    ByteSize, DatabaseUrl, Duration, GuardedText, HideList, HideText, HostText, IpAddress, Prefix, Scope, ServiceUrl,
    StateUrl,
};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::Value;

use crate::source::Located;
use crate::table::table;

table! {
    /// `paddock.toml`: which Workspaces the agents of a project perceive, and with which Access Scope.
    pub struct Config in "at the top of the file" {
        required {}
        optional {
            /// The package name; part of the WorkspaceId. Absent: the directory's name.
            name: Located<String>,
            /// Where relative paths of the default agent start. Default "/".
            base: Located<Prefix>,
            /// The Workspaces of the default agent, which is named "main".
            workspace: Vec<WorkspaceTable>,
            /// Further agents by name. Workspaces are never inherited.
            agents: Agents,
            /// Where Virtual Stores keep their contents.
            virtual_ as "virtual": Virtual,
            /// Where the ledger and checkpoints are kept.
            state: State,
            /// Commands that agents may run in a sandbox. Absent: no execute_command.
            commands: Commands,
            /// When a person is asked. Absent: above = "medium".
            approvals: Approvals,
            /// The model that the agent runtime talks to.
            model: Model,
            /// What bounds a run.
            run: Run,
            /// The console and the HTTP API.
            serve: Serve,
            /// Searching the web. Absent: no web_search.
            web_search: WebSearch,
        }
    }
}

/// The JSON Schema of `paddock.toml`, for editors and for `paddock config schema`.
#[must_use]
pub fn json_schema() -> Value {
    // Draft 7 is what TOML editors understand best.
    let settings = SchemaSettings::draft07();
    let mut schema = settings.into_generator().into_root_schema_for::<Config>();
    RecursiveTransform(forget_null).transform(&mut schema);
    schema.to_value()
}

/// TOML has no null: an optional key is one that may be absent.
fn forget_null(schema: &mut schemars::Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(mut branches)) = schema.get("anyOf").cloned() else {
        return;
    };
    branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
    if branches.len() == 1 && branches[0].get("$ref").is_some() {
        // Draft 7 ignores what stands beside $ref, so the description keeps its own level.
        schema.remove("anyOf");
        schema.insert("allOf".to_owned(), Value::Array(branches));
    } else {
        schema.insert("anyOf".to_owned(), Value::Array(branches));
    }
}
