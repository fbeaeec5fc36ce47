//! The sections that hold for all agents: state, commands, approvals, models, runs, the server.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::Durability;
use super::money::{Currency, Money};
use super::secrets::{SecretKey, SecretOr};
use super::values::{ByteSize, DatabaseUrl, Duration, HostText, IpAddress, Prefix, ServiceUrl, StateUrl};
use crate::fault::Fault;
use crate::read::{FromToml, Reading, Value};
use crate::source::Located;
use crate::table::{choice, table};

table! {
    /// Where Virtual Stores keep their contents.
    pub struct Virtual in "in [virtual]" {
        required {}
        optional {
            /// "sqlite" (embedded, in the System Root), "memory" (nothing on disk) or "postgres://…".
            url: SecretOr<DatabaseUrl>,
            /// How much of the past is kept.
            history: History,
        }
    }
}

table! {
    /// How much of the past is kept.
    pub struct History in "in history" {
        required {}
        optional {
            /// For how long: "30 days".
            keep: Duration,
            /// Up to which size together: "1 GiB".
            size: ByteSize,
            /// How many versions of a file.
            count: u64,
        }
    }
}

table! {
    /// Where the ledger and checkpoints are kept.
    pub struct State in "in [state]" {
        required {}
        optional {
            /// "sqlite", or "postgres://…" for many processes.
            url: SecretOr<StateUrl>,
            /// Which installation's rows are ours on a shared server. Default: the WorkspaceId.
            id: String,
            /// What a finished write survives. Default "process".
            durability: Durability,
        }
    }
}

table! {
    /// Commands that agents may run in a sandbox.
    pub struct Commands in "in [commands]" {
        required {}
        optional {
            /// Words that are refused before anything runs.
            deny: Vec<String>,
            /// Whether what a command changed is committed when it ends, or at once. Default "staged".
            changes: Changes,
            /// false, or the only hosts that commands may reach.
            network: Network,
            /// Host places that a command may read beside the system's own.
            tools: Vec<String>,
            /// Variables that a command sees.
            env: BTreeMap<String, SecretOr<String>>,
            /// The longest time: "60 s".
            time_limit: Duration,
            /// The longest time on a processor: "120 s".
            cpu_limit: Duration,
            /// The most memory: "2 GiB".
            memory_limit: ByteSize,
            /// The most output: "1 MiB".
            output_limit: ByteSize,
            /// The most processes at once.
            process_limit: u64,
            /// The largest file that may be written: "1 GiB".
            file_limit: ByteSize,
            /// The most that /tmp may hold: "1 GiB".
            tmp_limit: ByteSize,
            /// The most files open at once.
            open_limit: u64,
            /// The most that all its changes may hold together until it ends: "4 GiB".
            staged_limit: ByteSize,
        }
    }
}

choice! {
    /// When the changes of a command take effect.
    pub enum Changes {
        /// When it ends, judged as one change.
        Staged = "staged",
        /// At once.
        Direct = "direct",
    }
}

/// Which hosts a command may reach: none, or only those listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// None.
    Off,
    /// These, through a filtering proxy.
    Only(Vec<HostText>),
}

impl FromToml for Network {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        match value.get_ref().as_bool() {
            Some(false) => Some(Self::Off),
            Some(true) => reading.fail(Fault::WholeNetwork, value.span()),
            None if value.get_ref().is_array() => Vec::from_toml(value, reading).map(Self::Only),
            None => reading.wrong_type(value, "false or a list of hosts"),
        }
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Only(hosts) => hosts.serialize(serializer),
        }
    }
}

impl JsonSchema for Network {
    fn schema_name() -> Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "false, or the only hosts that commands may reach.",
            "anyOf": [{ "const": false }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}

table! {
    /// When a person is asked before a call goes on.
    pub struct Approvals in "in [approvals]" {
        required {}
        optional {
            /// Ask when a call's risk is above this: low, medium or high (= never). Default "medium".
            above: RiskLevel,
            /// How long an approval can be given: "24 h".
            expires: Duration,
            /// MCP clients by name whose own prompt may decide.
            trust_elicitation: Vec<String>,
            /// Told of a new approval: a command as a list of words, or a webhook URL.
            notify: Notify,
            /// How much a change takes away whose risk is high for that alone.
            large: Large,
            /// Rules that raise or lower the risk of what they match.
            rule: Vec<RiskRule>,
        }
    }
}

table! {
    /// How much a change takes away whose risk is high for that alone. What the agent made itself does not count.
    pub struct Large in "in large" {
        required {}
        optional {
            /// More lines than this. Default 2000.
            lines: u64,
            /// More bytes than this. Default "1 MiB".
            bytes: ByteSize,
            /// More paths than this. Default 1000.
            paths: u64,
        }
    }
}

choice! {
    /// How much harm a call can do.
    pub enum RiskLevel {
        /// It can be taken for granted.
        Low = "low",
        /// It changes what is there.
        Medium = "medium",
        /// It destroys, or cannot be undone.
        High = "high",
    }
}

/// Who is told of a new approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Notify {
    /// A command, as words.
    Command(Vec<String>),
    /// A webhook.
    Url(String),
}

impl FromToml for Notify {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        match value.get_ref().as_str() {
            Some(url) => Some(Self::Url(url.to_owned())),
            None if value.get_ref().is_array() => Vec::from_toml(value, reading).map(Self::Command),
            None => reading.wrong_type(value, "a list of words or a URL"),
        }
    }
}

table! {
    /// Raises or lowers the risk of what it matches.
    pub struct RiskRule in "in [[approvals.rule]]" {
        required {
            /// The risk that it has then.
            risk: Located<RiskLevel>,
        }
        optional {
            /// The tool.
            tool: String,
            /// Logical paths, as a pattern.
            path: String,
            /// What the person who is asked should know.
            why: String,
            /// Paths that it must and must not match; checked when the file is loaded.
            examples: Examples,
        }
    }
}

table! {
    /// Paths that a rule must and must not match.
    pub struct Examples in "in examples" {
        required {}
        optional {
            /// Paths that it matches.
            matching as "match": Vec<Prefix>,
            /// Paths that it does not match.
            no_match: Vec<Prefix>,
        }
    }
}

table! {
    /// The model that the agent runtime talks to.
    pub struct Model in "in [model]" {
        required {
            /// "openai:NAME", "anthropic:NAME", "compatible:NAME" or "script:FILE".
            name as "use": String,
        }
        optional {
            /// The address of a service that speaks the same protocol.
            base_url: String,
            /// The key, as a reference to a stored secret.
            key: SecretKey,
            /// What it costs. Absent: tokens are told, and no amount of money.
            prices: Prices,
        }
    }
}

table! {
    /// What a million tokens of a model cost.
    pub struct Prices in "in prices" {
        required {
            /// Of what it is asked: 1.25.
            input: Money,
            /// Of what it answers: 10.
            output: Money,
        }
        optional {
            /// Of what it is asked and the service had kept, where it says so. Default: as much as input.
            cached: Money,
            /// The word for the money. Default "USD".
            currency: Currency,
        }
    }
}

table! {
    /// What bounds a run.
    pub struct Run in "in [run]" {
        required {}
        optional {
            /// The most steps.
            max_steps: u64,
            /// The most tokens.
            max_tokens: u64,
            /// The longest time that it works: "2 h".
            max_time: Duration,
            /// The most that its model may cost, in the money of its prices: 5. Default: no bound.
            max_cost: Money,
            /// Larger outputs are paged: "64 KiB".
            evict_above: ByteSize,
        }
    }
}

table! {
    /// The console and the HTTP API.
    pub struct Serve in "in [serve]" {
        required {}
        optional {
            /// The address to listen on. Default "127.0.0.1".
            bind: IpAddress,
            /// The port to listen on. Default 7433; 0 takes a free one.
            port: u16,
            /// Further Host names that are accepted.
            hosts: Vec<String>,
            /// The name that published projects stand under: "{id}.localhost", which is the default, or "{id}.pages.example.com".
            publish_origin: String,
        }
    }
}

table! {
    /// Searching the web.
    pub struct WebSearch in "in [web_search]" {
        required {
            /// A SearXNG-compatible service: "http://127.0.0.1:8888".
            url: SecretOr<ServiceUrl>,
        }
        optional {
            /// Sent with every search as a bearer token, as a reference to a stored secret.
            key: SecretKey,
        }
    }
}
