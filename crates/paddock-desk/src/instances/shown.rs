//! Instances and their messages as they are shown.

use std::path::PathBuf;

use paddock_state::conversation::{Message, Notice, OpenTurn, Repaired};
use paddock_state::instance::{Instance, Instances};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What is known of an instance without looking at its messages.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceShown {
    /// Its key.
    pub key: String,
    /// Which agent it is an instance of.
    pub agent: String,
    /// `idle` or `processing`.
    pub status: String,
    /// When it was made.
    pub created_at: String,
    /// When something of this was last changed.
    pub updated_at: String,
    /// Who writes it now.
    pub held_by: Option<String>,
}

/// The instances there are.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct InstanceListing {
    /// The last changed first.
    pub instances: Vec<InstanceShown>,
    /// How many more there are.
    pub more: usize,
    /// Those that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// An instance that cannot be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unreadable {
    /// What it is called.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// What is known of an instance.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceDetail {
    /// Without its messages.
    #[serde(flatten)]
    pub instance: InstanceShown,
    /// How many messages it has.
    pub messages: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// The turn that is not over.
    pub open_turn: Option<OpenTurnShown>,
    /// The extensions that keep a state in it.
    pub extensions: Vec<ExtensionShown>,
    /// What was noticed.
    pub notices: Vec<NoticeShown>,
}

/// A turn that is not over.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenTurnShown {
    /// The turn.
    pub turn_id: String,
    /// How many events it has so far.
    pub events: u64,
    /// The number of the last of them.
    pub last_seq: u64,
}

/// The state of an extension.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExtensionShown {
    /// The extension.
    pub name: String,
    /// How many bytes its state has.
    pub bytes: u64,
}

/// Something a person may want to know; nothing failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NoticeShown {
    /// How programs recognise it.
    pub code: String,
    /// In words.
    pub said: String,
}

/// A message, exactly as it is kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct MessageShown(#[schemars(with = "Map<String, Value>")] pub Message);

/// What ending a turn that was cut off came to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restarted {
    /// The instance.
    pub key: String,
    /// The turn that was cut off and is over now.
    pub ended_turn: Option<String>,
}

/// What became of an instance.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClearedOrDeleted {
    /// The instance.
    pub key: String,
    /// Was there one?
    pub was_there: bool,
}

/// What can be kept of a damaged conversation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepairShown {
    /// Messages that are kept.
    pub messages: u64,
    /// Events of an open turn that are kept.
    pub events: u64,
    /// What is not.
    pub lost: Vec<LostLineShown>,
    /// Where the files as they were found are.
    pub kept_aside: Option<PathBuf>,
}

/// A line that cannot be kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LostLineShown {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: u64,
    /// Why.
    pub reason: String,
    /// The message it may have held.
    pub id: Option<String>,
}

pub(super) fn instance(instance: &Instance, kept: &dyn Instances) -> InstanceShown {
    InstanceShown {
        key: instance.instance_key.to_string(),
        agent: instance.agent_name.clone(),
        status: instance.status.as_str().to_owned(),
        created_at: instance.created_at.to_string(),
        updated_at: instance.updated_at.to_string(),
        held_by: kept.held_by(&instance.instance_key),
    }
}

pub(super) fn open_turn(open: &OpenTurn) -> OpenTurnShown {
    OpenTurnShown { turn_id: open.turn.to_string(), events: open.events, last_seq: open.last_seq }
}

pub(super) fn notice(notice: &Notice) -> NoticeShown {
    NoticeShown { code: notice.code().to_owned(), said: notice.to_string() }
}

pub(super) fn repaired(repaired: &Repaired) -> RepairShown {
    let lost = repaired.lost.iter().map(|lost| LostLineShown {
        file: lost.file.clone(),
        line: lost.line,
        reason: lost.reason.clone(),
        id: lost.id.clone(),
    });
    RepairShown {
        messages: repaired.messages,
        events: repaired.events,
        lost: lost.collect(),
        kept_aside: repaired.kept_aside.clone(),
    }
}
