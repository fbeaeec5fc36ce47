//! One approval as a row: what was asked, what was decided, and by which call it was used.

use paddock_core::{Preview, Risk};

use paddock_db::statements::{Row, Value};

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nobody decided yet.
    Pending,
    /// Agreed to as asked.
    Approved,
    /// Agreed to with other arguments.
    Edited,
    /// Refused.
    Rejected,
    /// Its time is over.
    Expired,
    /// What it was about had moved on before it was made: nothing was, and the reason says why. It is kept as one that expired with a
    /// reason, which is what it is for a process that does not know the word.
    Overtaken,
}

impl Status {
    const ALL: [Self; 5] = [Self::Pending, Self::Approved, Self::Edited, Self::Rejected, Self::Expired];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Edited => "edited",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Overtaken => "overtaken",
        }
    }

    fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.name() == text).unwrap_or(Self::Expired)
    }
}

/// How far a decision reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This call, once.
    Once,
    /// This exact call, as often as it comes; of a command, as often as it makes the same change.
    Exact,
    /// This tool, for as long as the session lasts that asked.
    Session,
    /// This tool on this path, from now on.
    Always,
}

impl Reach {
    /// All of them, the nearest first.
    pub const ALL: [Self; 4] = [Self::Once, Self::Exact, Self::Session, Self::Always];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Exact => "exact",
            Self::Session => "session",
            Self::Always => "always",
        }
    }
}

/// A call that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// What it is called.
    pub id: String,
    /// The agent that asks.
    pub agent: String,
    /// The process, connection or thread that asks.
    pub session: String,
    /// The thread of a run.
    pub thread: Option<String>,
    /// The person on whose behalf it runs.
    pub user: Option<String>,
    /// The tool.
    pub tool: String,
    /// The first path of the call.
    pub path: String,
    /// The arguments, without secrets.
    pub arguments: String,
    /// Stands for the arguments as they are.
    pub digest: String,
    /// Stands for what the call would touch, as it was.
    pub state_version: String,
    /// Stands for the policy that held.
    pub policy: String,
    /// How risky it is.
    pub risk: Risk,
    /// The rule that says so.
    pub rule: Option<String>,
    /// What would change.
    pub preview: Preview,
    /// Stands for the change of a command that waits for this, the same whenever the command runs.
    pub held: Option<String>,
    /// When it was asked, in milliseconds since 1970.
    pub requested_at: i64,
    /// Until when it can be decided and used.
    pub expires_at: i64,
    /// Where it stands.
    pub status: Status,
    /// When it was decided.
    pub decided_at: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why it was rejected, for the agent; why nothing was made, where it was overtaken.
    pub reason: Option<String>,
    /// The arguments that a person put in the place of the agent's.
    pub edited: Option<String>,
    /// How far the decision reaches.
    pub reach: Option<String>,
    /// What proves the decision. Never for a model.
    pub token: Option<String>,
    /// The call that used it.
    pub used_by: Option<String>,
    /// Stands for the call by itself: for a command, without what it changed.
    pub(crate) of_call: String,
    /// What a command answered whose change is held.
    pub(crate) told: Option<String>,
    /// When the agent was told that the change was made.
    pub(crate) told_at: Option<i64>,
}

impl Approval {
    /// What a person agreed to: the agent's arguments, or those they put in their place.
    pub(crate) fn agreed_digest(&self) -> String {
        self.edited.as_ref().map_or_else(|| self.digest.clone(), |edited| digest(&self.tool, edited))
    }

    /// What binds a decision to what was shown: a second look that finds another one has to be a second decision.
    #[must_use]
    pub fn shown(&self) -> String {
        let preview = [self.preview.words.clone(), parts_of(&self.preview).unwrap_or_default()].concat();
        let parts = [&self.id, &self.tool, &self.digest, &self.state_version, &preview];
        let text: String = parts.iter().map(|part| format!("{}:{part};", part.len())).collect();
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    /// Are the arguments kept as they are, with no secret taken out?
    #[must_use]
    pub fn shows_all_arguments(&self) -> bool {
        digest(&self.tool, &self.arguments) == self.of_call
    }
}

/// The parts of a preview, as they are kept; nothing where it has only words.
fn parts_of(preview: &Preview) -> Option<String> {
    // Nothing in it can fail to be JSON: texts, numbers, and names of an enum as keys.
    preview.has_parts().then(|| serde_json::to_string(preview).unwrap_or_default())
}

/// A preview as text, which is all that a process of before there were parts knows of it. It shows that as it is, and as whole.
fn words_of(preview: &Preview) -> String {
    if preview.has_parts() { preview.to_string() } else { preview.words.clone() }
}

/// A preview as it was kept. Before there were parts it was one text, which is shown as it is and never read.
fn preview(words: &str, whole: bool, parts: Option<&str>) -> Preview {
    let broken = || Preview::in_words("what it would change was kept and cannot be read any more");
    match parts {
        None => Preview { whole, ..Preview::in_words(words) },
        Some(parts) => serde_json::from_str(parts).unwrap_or_else(|_| broken()),
    }
}

/// Stands for a call: its tool and its arguments as one text.
pub(crate) fn digest(tool: &str, arguments: &str) -> String {
    let text = format!("{}:{tool};{arguments}", tool.len());
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The text of a preview is only for where there are no parts, and may be long.
pub(crate) const COLUMNS: &str = "id, agent, session, thread, requested_for, tool, path, arguments, digest, state_version, policy, risk, rule, \
     CASE WHEN parts IS NULL THEN preview ELSE '' END, whole, held, requested_at, expires_at, status, decided_at, decided_by, reason, \
     edited, reach, token, used_by, of_call, told, told_at, parts";

pub(crate) const INSERT: &str = "INSERT INTO approval (home, id, agent, session, thread, requested_for, tool, path, arguments, digest, \
     state_version, policy, risk, rule, preview, whole, held, requested_at, expires_at, of_call, told, parts, status) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, 'pending') ON CONFLICT DO NOTHING";

pub(crate) fn values(home: &str, row: &Approval) -> Vec<Value> {
    vec![
        home.into(),
        row.id.as_str().into(),
        row.agent.as_str().into(),
        row.session.as_str().into(),
        row.thread.clone().into(),
        row.user.clone().into(),
        row.tool.as_str().into(),
        row.path.as_str().into(),
        row.arguments.as_str().into(),
        row.digest.as_str().into(),
        row.state_version.as_str().into(),
        row.policy.as_str().into(),
        row.risk.name().into(),
        row.rule.clone().into(),
        words_of(&row.preview).into(),
        row.preview.whole.into(),
        row.held.clone().into(),
        row.requested_at.into(),
        row.expires_at.into(),
        row.of_call.as_str().into(),
        row.told.clone().into(),
        parts_of(&row.preview).into(),
    ]
}

/// As it stands in the database, where one that was overtaken has expired for a reason. A rejection has a reason too, and could expire once.
fn status_of(kept: &str, has_reason: bool, was_rejected: bool) -> Status {
    match Status::parse(kept) {
        Status::Expired if was_rejected => Status::Rejected,
        Status::Expired if has_reason => Status::Overtaken,
        other => other,
    }
}

/// A row of [`COLUMNS`].
pub(crate) fn read(row: &Row) -> Approval {
    let text = |at: usize| row[at].text().to_owned();
    let maybe = |at: usize| row[at].maybe_text().map(str::to_owned);
    let has_reason = row[21].maybe_text().is_some();
    let (is_decided, is_agreed) = (row[20].maybe_text().is_some(), row[24].maybe_text().is_some());
    Approval {
        id: text(0),
        agent: text(1),
        session: text(2),
        thread: maybe(3),
        user: maybe(4),
        tool: text(5),
        path: text(6),
        arguments: text(7),
        digest: text(8),
        state_version: text(9),
        policy: text(10),
        risk: risk(row[11].text()),
        rule: maybe(12),
        preview: preview(row[13].text(), row[14].int() != 0, row[29].maybe_text()),
        held: maybe(15),
        requested_at: row[16].int(),
        expires_at: row[17].int(),
        status: status_of(row[18].text(), has_reason, has_reason && is_decided && !is_agreed),
        decided_at: row[19].maybe_int(),
        decided_by: maybe(20),
        reason: maybe(21),
        edited: maybe(22),
        reach: maybe(23),
        token: maybe(24),
        used_by: maybe(25),
        of_call: text(26),
        told: maybe(27),
        told_at: row[28].maybe_int(),
    }
}

/// A word that is none means the worst.
pub(crate) fn risk(text: &str) -> Risk {
    [Risk::Low, Risk::Medium].into_iter().find(|risk| risk.name() == text).unwrap_or(Risk::High)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    use paddock_core::{Changed, Fate, Totals};
    use paddock_db::statements::Storage;
    use paddock_db::{Durability, Sqlite};

    use super::super::schema;
    use super::*;

    fn deleted(path: &str) -> Changed {
        Changed {
            path: path.to_owned(),
            fate: Fate::Deleted,
            is_directory: false,
            leads_to: None,
            mode: None,
            added: 0,
            removed: 0,
            hunks: Vec::new(),
            not_shown: None,
        }
    }

    fn asking_about(preview: Preview) -> Approval {
        Approval {
            id: "ap".to_owned(),
            agent: "main".to_owned(),
            session: "s1".to_owned(),
            thread: None,
            user: None,
            tool: "delete_file".to_owned(),
            path: "/w".to_owned(),
            arguments: "{}".to_owned(),
            digest: digest("delete_file", "{}"),
            state_version: String::new(),
            policy: String::new(),
            risk: Risk::High,
            rule: None,
            preview,
            held: None,
            requested_at: 1,
            expires_at: 2,
            status: Status::Pending,
            decided_at: None,
            decided_by: None,
            reason: None,
            edited: None,
            reach: None,
            token: None,
            used_by: None,
            of_call: digest("delete_file", "{}"),
            told: None,
            told_at: None,
        }
    }

    /// A process that was started before there were parts goes on after an update, and shows what it finds as whole.
    #[test]
    fn the_column_that_an_older_process_shows_names_every_path() {
        let directory = tempfile::tempdir().unwrap();
        let database = Sqlite::new(directory.path().join("state.db"), vec![schema::SQLITE], Durability::Process);
        let storage: &dyn Storage = &database;
        let totals = Totals { fates: BTreeMap::from([(Fate::Deleted, 2)]), ..Totals::default() };
        let paths = vec![deleted("/w/one"), deleted("/w/two")];
        let row = asking_about(Preview { totals, paths, whole: true, ..Preview::default() });
        let until = Instant::now() + Duration::from_secs(60);
        storage.change(until, |session| session.execute(INSERT, &values("", &row))).unwrap();

        let old = storage.look(|session| session.query("SELECT preview, whole FROM approval", &[])).unwrap();
        let (text, whole) = (old[0][0].text(), old[0][1].int() != 0);
        assert!(whole && text.contains("deleted      /w/one") && text.contains("deleted      /w/two"), "{text:?}");

        let now = storage.look(|session| session.query(&format!("SELECT {COLUMNS} FROM approval"), &[])).unwrap();
        assert_eq!(read(&now[0]), row, "who knows of parts reads them and nothing else");
    }
}
