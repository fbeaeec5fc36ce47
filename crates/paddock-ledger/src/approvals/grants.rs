//! Grants: what a person allowed for longer than one call. Listed, counted, and taken back at any time.

use paddock_core::Risk;

use super::row::{Approval, Reach, risk};
use paddock_db::statements::{Row, Value};

/// Something that is allowed without asking again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it is called.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// Only this exact call; of a command, only where it makes the same change.
    pub digest: Option<String>,
    /// Only on this path.
    pub path: Option<String>,
    /// Only in this session.
    pub session: Option<String>,
    /// Up to this risk.
    pub risk: Risk,
    /// When it was given, in milliseconds since 1970.
    pub granted_at: i64,
    /// By whom.
    pub granted_by: String,
    /// The approval it came from.
    pub approval: String,
    /// When it was last used.
    pub last_used: Option<i64>,
    /// How often.
    pub uses: i64,
}

impl Grant {
    /// What an approval grants that reaches further than one call.
    pub(super) fn of(approval: &Approval, reach: Reach, id: String, by: &str, now: i64) -> Option<Self> {
        let (digest, path, session) = match reach {
            Reach::Once => return None,
            Reach::Exact => (Some(approval.held.as_ref().unwrap_or(&approval.digest).clone()), None, None),
            Reach::Session => (None, None, Some(approval.session.clone())),
            Reach::Always => (None, Some(approval.path.clone()), None),
        };
        Some(Self {
            id,
            agent: approval.agent.clone(),
            tool: approval.tool.clone(),
            digest,
            path,
            session,
            risk: approval.risk,
            granted_at: now,
            granted_by: by.to_owned(),
            approval: approval.id.clone(),
            last_used: None,
            uses: 0,
        })
    }

    /// How far it reaches, in words.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match (&self.digest, &self.session) {
            (Some(_), _) => Reach::Exact,
            (None, Some(_)) => Reach::Session,
            (None, None) => Reach::Always,
        }
    }

    /// Whether it covers a call of its agent and tool.
    pub(super) fn covers(&self, digest: &str, path: &str, session: &str, risk: Risk) -> bool {
        let same = |granted: &Option<String>, asked: &str| granted.as_deref().is_none_or(|granted| granted == asked);
        // One that says nothing would cover everything.
        let says_something = self.digest.is_some() || self.path.is_some() || self.session.is_some();
        says_something
            && risk <= self.risk
            && same(&self.digest, digest)
            && same(&self.path, path)
            && same(&self.session, session)
    }
}

pub(super) const COLUMNS: &str =
    "id, agent, tool, digest, path, session, risk, granted_at, granted_by, approval, last_used, uses";

pub(super) const INSERT: &str = "INSERT INTO approval_grant (home, id, agent, tool, digest, path, session, risk, granted_at, granted_by, \
     approval) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

pub(super) fn values(home: &str, grant: &Grant) -> Vec<Value> {
    vec![
        home.into(),
        grant.id.as_str().into(),
        grant.agent.as_str().into(),
        grant.tool.as_str().into(),
        grant.digest.clone().into(),
        grant.path.clone().into(),
        grant.session.clone().into(),
        grant.risk.name().into(),
        grant.granted_at.into(),
        grant.granted_by.as_str().into(),
        grant.approval.as_str().into(),
    ]
}

pub(super) fn read(row: &Row) -> Grant {
    let text = |at: usize| row[at].text().to_owned();
    let maybe = |at: usize| row[at].maybe_text().map(str::to_owned);
    Grant {
        id: text(0),
        agent: text(1),
        tool: text(2),
        digest: maybe(3),
        path: maybe(4),
        session: maybe(5),
        risk: risk(row[6].text()),
        granted_at: row[7].int(),
        granted_by: text(8),
        approval: text(9),
        last_used: row[10].maybe_int(),
        uses: row[11].int(),
    }
}
