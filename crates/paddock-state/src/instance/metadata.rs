//! `metadata.json`: what is known of an instance without looking at its messages.

use serde::{Deserialize, Serialize};

use super::small;
use crate::{InstanceKey, Timestamp};

/// Whether an instance is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It waits for a message.
    Idle,
    /// A turn is under way, or was when its process ended.
    Processing,
}

impl Status {
    /// As the format writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Processing => "processing",
        }
    }
}

/// What is known of an instance, in the order and with the names of the stored format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Whether it is at work.
    pub status: Status,
    /// Which agent it is an instance of.
    pub agent_name: String,
    /// Its key.
    pub instance_key: InstanceKey,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something of this was last changed.
    pub updated_at: Timestamp,
}

impl Instance {
    pub(super) fn new(key: &InstanceKey, agent: &str) -> Self {
        let now = Timestamp::now();
        let (status, agent_name, instance_key) = (Status::Idle, agent.to_owned(), key.clone());
        Self { status, agent_name, instance_key, created_at: now, updated_at: now }
    }

    /// One from elsewhere, made there at that moment.
    pub(super) fn imported(key: &InstanceKey, agent: &str, created_at: Option<Timestamp>) -> Self {
        let new = Self::new(key, agent);
        Self { created_at: created_at.unwrap_or(new.created_at), ..new }
    }

    /// As the file holds it.
    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        Ok(small::seal(&serde_json::to_string_pretty(self)?))
    }

    /// Reads what the file holds; an error says what is wrong with it.
    pub(super) fn of_json(bytes: Vec<u8>) -> Result<Self, String> {
        serde_json::from_str(&small::open(bytes)?).map_err(|error| error.to_string())
    }
}
