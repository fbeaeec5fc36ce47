//! Agents and their Workspaces: the part of the configuration that decides access.

use std::borrow::Cow;
use std::collections::BTreeMap;

use paddock_core::{AgentName, is_plain_name};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::values::{ByteSize, GuardedText, HideList, Prefix, Scope, named};
use crate::fault::Fault;
use crate::read::{FromToml, Reading, Value};
use crate::source::Located;
use crate::table::{choice, table};

table! {
    /// One Workspace: a logical directory that the agent perceives, with exactly one Access Scope.
    pub struct WorkspaceTable in "in [[workspace]]" {
        required {
            /// The logical directory, absolute: "/project".
            prefix: Located<Prefix>,
            /// READ_ONLY (RO), READ_WRITE (RW) or WRITE_ONLY (WO).
            scope: Located<Scope>,
            /// What is behind it: { physical = "DIRECTORY" }, { virtual = "NAME" } or { overlay = "/PREFIX" }.
            mount: Located<MountSpec>,
        }
        optional {
            /// Names that are invisible in every operation, at any depth, as in a .gitignore file.
            hide: HideList,
            /// How much it may hold.
            quota: Quota,
            /// Guarded names, such as ".git/hooks", that may be written here after all.
            unguard: Vec<Located<GuardedText>>,
            /// Whether files with several hard links may be read. Default "read".
            hard_links: HardLinks,
            /// What a finished write survives. Default "process".
            durability: Durability,
        }
    }
}

table! {
    /// Another agent. It perceives exactly the Workspaces listed here.
    pub struct AgentTable in "in this agent" {
        required {}
        optional {
            /// Where relative paths of this agent start. Default "/".
            base: Located<Prefix>,
            /// Its Workspaces.
            workspace: Vec<WorkspaceTable>,
        }
    }
}

table! {
    /// The most that a Workspace may hold.
    pub struct Quota in "in quota" {
        required {}
        optional {
            /// Bytes of all files together: "1 GiB".
            bytes: ByteSize,
            /// The number of files, links and directories together.
            files: u64,
        }
    }
}

choice! {
    /// What happens to a file that has several hard links. It is never written through.
    pub enum HardLinks {
        /// It may be read.
        Read = "read",
        /// It is refused.
        Deny = "deny",
    }
}

choice! {
    /// What a finished write survives.
    pub enum Durability {
        /// The end of the process, however sudden.
        Process = "process",
        /// Loss of power.
        Disk = "disk",
    }
}

/// What backs a Workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum MountSpec {
    /// A directory on the host's disk.
    Physical {
        /// Relative to the Project Root, absolute, or starting with "~/".
        physical: Located<String>,
    },
    /// A Virtual Store: no file of it is on the host's disk as such.
    Virtual {
        /// Its name.
        #[serde(rename = "virtual")]
        name: Located<String>,
        /// One for every agent that names it, instead of one per agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        shared: Option<bool>,
    },
    /// Copy-on-write over another Workspace of the same agent.
    Overlay {
        /// The prefix of the Workspace below.
        overlay: Located<Prefix>,
    },
}

impl FromToml for MountSpec {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        const KEYS: &[&str] = &["physical", "virtual", "shared", "overlay"];
        let fields = reading.fields(value, "in mount", KEYS)?;
        let physical = reading.optional::<Located<String>>(&fields, "physical");
        let name = reading.optional::<Located<String>>(&fields, "virtual");
        let overlay = reading.optional(&fields, "overlay");
        let shared = reading.optional(&fields, "shared");
        let (physical, name, overlay, shared) = (physical?, name?, overlay?, shared?);
        if shared.is_some() && name.is_none() {
            return reading.fail(Fault::SharedWithoutVirtual, value.span());
        }
        match (physical, name, overlay) {
            (Some(physical), None, None) => {
                named(&physical, "physical", reading)?;
                Some(Self::Physical { physical })
            }
            (None, Some(name), None) => {
                named(&name, "virtual", reading)?;
                if !name.value.split('/').all(is_plain_name) {
                    return reading.fail(Fault::NotAName(name.value), name.span);
                }
                Some(Self::Virtual { name, shared })
            }
            (None, None, Some(overlay)) => Some(Self::Overlay { overlay }),
            (None, None, None) if fields.has_unknown => None,
            (None, None, None) => reading.fail(Fault::MountKind("none"), value.span()),
            _ => reading.fail(Fault::MountKind("several"), value.span()),
        }
    }
}

/// Agents by name, without the default one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents(pub BTreeMap<AgentName, AgentTable>);

impl FromToml for Agents {
    fn from_toml(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<Self> {
        let Some(table) = value.get_ref().as_table() else {
            return reading.wrong_type(value, "a table");
        };
        let mut agents = BTreeMap::new();
        let mut broken = false;
        for (key, value) in table {
            let read: Option<AgentTable> = reading.entry(key.get_ref(), value);
            let name = match AgentName::parse(key.get_ref()) {
                Ok(name) if name == AgentName::main() => reading.fail(Fault::MainAgentTwice, key.span()),
                Ok(name) => Some(name),
                Err(_) => reading.fail(Fault::AgentName(key.get_ref().to_string()), key.span()),
            };
            broken |= name.is_none() || read.is_none();
            agents.extend(name.zip(read));
        }
        (!broken).then_some(Self(agents))
    }
}

impl Serialize for Agents {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, agent)| (name.as_str(), agent)))
    }
}

impl JsonSchema for Agents {
    fn schema_name() -> Cow<'static, str> {
        "Agents".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Agents by name: 1 to 64 letters, digits, \"-\" or \"_\".",
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,64}$", "not": { "const": "main" } },
            "additionalProperties": generator.subschema_for::<AgentTable>(),
        })
    }
}
