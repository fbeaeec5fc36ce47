//! One row of the audit, as it is kept and shown.

use paddock_core::{CallId, Risk};
use serde::{Serialize, Serializer};

/// A blake3 hash.
pub(super) type Hash = [u8; 32];

/// What a row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An effect is about to be tried.
    Intent,
    /// What became of a call.
    Outcome,
    /// Rows are missing here, `bytes` of them: the database failed for too long to keep them.
    Gap,
}

impl Kind {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Intent => 1,
            Self::Outcome => 2,
            Self::Gap => 3,
        }
    }

    /// What no program wrote reads as a gap, and its hash does not fit.
    pub(super) fn of_code(code: i64) -> Self {
        match code {
            1 => Self::Intent,
            2 => Self::Outcome,
            _ => Self::Gap,
        }
    }
}

/// What a row says; all that is in it but its place in the chain.
///
/// Texts are as they were asked for, cut at a length: whoever shows them escapes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) at: i64,
    pub(super) kind: Kind,
    pub(super) call: CallId,
    pub(super) agent: String,
    pub(super) by: Option<String>,
    pub(super) tool: String,
    pub(super) workspace: Option<String>,
    pub(super) path: String,
    pub(super) outcome: String,
    pub(super) reason: String,
    pub(super) risk: Option<Risk>,
    pub(super) bytes: u64,
    pub(super) took_us: u64,
}

/// One row of the audit. Written as JSON, the fields keep this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Which chain; each process has its own.
    pub chain: u64,
    /// Its number in the chain, counted from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What it tells.
    pub kind: Kind,
    /// The call.
    #[serde(serialize_with = "as_text")]
    pub call: CallId,
    /// Who called, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was; nothing for what an agent did, and for what was written before persons were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The tool, the operation of an intent, or the command of a person.
    pub tool: String,
    /// The Workspace that the path belongs to.
    pub workspace: Option<String>,
    /// The path as it was asked for.
    pub path: String,
    /// What became of it; empty in an intent.
    pub outcome: String,
    /// Why not, in a word for programs.
    pub reason: String,
    /// Its risk, where it was weighed.
    #[serde(serialize_with = "risk_name")]
    pub risk: Option<Risk>,
    /// How many bytes of content went in or came out.
    pub bytes: u64,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// The hash of the row before.
    #[serde(serialize_with = "as_hex")]
    pub prev: [u8; 32],
    /// The signature over all of this.
    #[serde(serialize_with = "as_hex")]
    pub hash: [u8; 32],
}

impl Row {
    pub(super) fn new(chain: u64, seq: u64, body: Body, prev: Hash, hash: Hash) -> Self {
        let Body { at, kind, call, agent, by, tool, workspace, path, outcome, reason, risk, bytes, took_us } = body;
        Self {
            chain,
            seq,
            at,
            kind,
            call,
            agent,
            by,
            tool,
            workspace,
            path,
            outcome,
            reason,
            risk,
            bytes,
            took_us,
            prev,
            hash,
        }
    }
}

pub(super) fn risk_code(risk: Option<Risk>) -> u8 {
    match risk {
        None => 0,
        Some(Risk::Low) => 1,
        Some(Risk::Medium) => 2,
        Some(Risk::High) => 3,
    }
}

pub(super) fn risk_of_code(code: i64) -> Option<Risk> {
    match code {
        1 => Some(Risk::Low),
        2 => Some(Risk::Medium),
        3 => Some(Risk::High),
        _ => None,
    }
}

/// The hash in hexadecimal digits.
pub(super) fn hex(hash: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(hash.len() * 2);
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn as_hex<S: Serializer>(hash: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(hash))
}

fn as_text<S: Serializer>(call: &CallId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(call)
}

#[expect(clippy::ref_option, reason = "the shape that serde asks for")]
fn risk_name<S: Serializer>(risk: &Option<Risk>, serializer: S) -> Result<S::Ok, S::Error> {
    risk.map(Risk::name).serialize(serializer)
}
