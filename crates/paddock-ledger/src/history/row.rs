//! The rows of the history as values, and how they are written down.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paddock_core::{Act, AppliedChange, Before, CallId, Change, Kept, Looks, Version};

use super::place::{Place, Spot};
use paddock_db::statements::{Row, Value};

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Its content became another.
    Write,
    /// Something was added to it.
    Append,
    /// Text in it was replaced.
    Edit,
    /// It was made as a directory.
    MakeDir,
    /// It went elsewhere.
    Move,
    /// It went.
    Delete,
    /// What was kept came back.
    Restore,
    /// Its end was cut off.
    Truncate,
    /// A link came to be there.
    Link,
    /// Its mode or time changed.
    Dress,
}

impl What {
    const ALL: [Self; 10] = [
        Self::Write,
        Self::Append,
        Self::Edit,
        Self::MakeDir,
        Self::Move,
        Self::Delete,
        Self::Restore,
        Self::Truncate,
        Self::Link,
        Self::Dress,
    ];

    /// The word for listings and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Append => "append",
            Self::Edit => "edit",
            Self::MakeDir => "make_dir",
            Self::Move => "move",
            Self::Delete => "delete",
            Self::Restore => "restore",
            Self::Truncate => "truncate",
            Self::Link => "link",
            Self::Dress => "dress",
        }
    }

    /// Does it leave a file or a link with a content that it says, or works out?
    pub(crate) fn is_about_content(self) -> bool {
        !matches!(self, Self::MakeDir | Self::Move | Self::Delete | Self::Dress)
    }

    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|what| what.name() == name).unwrap_or(Self::Write)
    }

    pub(crate) fn of(act: &Act) -> Self {
        match act {
            Act::Write { .. } | Act::Take { .. } => Self::Write,
            Act::Append { .. } => Self::Append,
            Act::Edit { .. } => Self::Edit,
            Act::MakeDir => Self::MakeDir,
            Act::Move { .. } => Self::Move,
            Act::Delete => Self::Delete,
            Act::Restore { .. } => Self::Restore,
            Act::Truncate { .. } => Self::Truncate,
            Act::Link { .. } => Self::Link,
            Act::Dress { .. } => Self::Dress,
        }
    }
}

/// One change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    /// Later rows have larger numbers.
    pub seq: i64,
    /// The call that made it.
    pub call: CallId,
    /// Which part of the call.
    pub part: u64,
    /// Which change of the part.
    pub index: u64,
    /// When.
    pub at: SystemTime,
    /// Who, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was.
    pub by: Option<String>,
    /// Where.
    pub spot: Spot,
    /// The Workspace's prefix at that time.
    pub prefix: String,
    /// What happened.
    pub what: What,
    /// The other end of a move, relative to the same Mount.
    pub to: Option<String>,
    /// Was it new?
    pub created: bool,
    /// What was there before.
    pub before: Before,
    /// The version that it left, for what has one.
    pub version: Option<Version>,
    /// The version of what it met, where that was known. Calls of before do not tell.
    pub met: Option<Version>,
    /// How many directories above it were made for it.
    pub parents: u64,
    /// How many bytes of content went in.
    pub bytes: u64,
    /// What is known of what it met, or brought.
    pub(crate) found: i64,
    /// The operation that it was a part of, in a word.
    pub(crate) op: String,
}

/// In `found`: it met what no agent had left there.
pub(crate) const MET_ANOTHER: i64 = 1;
/// In `found`: it brought from another Workspace what the agent itself had made there.
pub(crate) const OWN_COPY: i64 = 2;

pub(crate) const CHANGE_COLUMNS: &str = "seq, call, part, idx, at, agent, territory, prefix, path, what, to_path, \
     created, before, kept, len, version, parents, bytes, looks, \
     (SELECT person FROM history_call WHERE history_call.home = history_change.home \
     AND history_call.call = history_change.call) AS person, found, \
     (SELECT op FROM history_call WHERE history_call.home = history_change.home \
     AND history_call.call = history_change.call) AS op, met";

impl ChangeRow {
    /// The path as it was called at that time.
    pub fn path_then(&self) -> String {
        logical_then(&self.prefix, &self.spot.path)
    }

    /// The other end of a move as it was called at that time.
    pub fn to_then(&self) -> Option<String> {
        self.to.as_deref().map(|to| logical_then(&self.prefix, to))
    }

    pub(crate) fn place(&self) -> Place {
        self.spot.place()
    }

    pub(crate) fn to_place(&self) -> Option<Place> {
        self.to.as_deref().map(|to| Place::new(&self.spot.territory, to))
    }

    /// Where what it left is: the other end for a move.
    pub(crate) fn result_place(&self) -> Place {
        self.to_place().unwrap_or_else(|| self.place())
    }

    pub(crate) fn read(row: &Row) -> Self {
        Self {
            seq: row[0].int(),
            call: call_id(&row[1]).unwrap_or(CallId(0)),
            part: row[2].int().cast_unsigned(),
            index: row[3].int().cast_unsigned(),
            at: time(row[4].int()),
            agent: row[5].text().to_owned(),
            by: row[19].maybe_text().map(str::to_owned),
            spot: Spot { territory: row[6].text().to_owned(), path: row[8].text().to_owned() },
            prefix: row[7].text().to_owned(),
            what: What::parse(row[9].text()),
            to: row[10].maybe_text().map(str::to_owned),
            created: row[11].int() != 0,
            before: read_before(row[12].text(), &row[13], &row[14], &row[18]),
            version: row[15].maybe_text().and_then(Version::parse),
            met: row[22].maybe_text().and_then(Version::parse),
            parents: row[16].int().cast_unsigned(),
            bytes: row[17].int().cast_unsigned(),
            found: row[20].int(),
            op: row[21].maybe_text().unwrap_or_default().to_owned(),
        }
    }
}

pub(crate) fn logical_then(prefix: &str, rel: &str) -> String {
    match (prefix, rel) {
        (prefix, "") => prefix.to_owned(),
        ("/", rel) => format!("/{rel}"),
        (prefix, rel) => format!("{prefix}/{rel}"),
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallState {
    /// It has not: it runs, or it was cut off.
    Open,
    /// All of it was done.
    Completed,
    /// It failed; what its rows say was done before that.
    Failed,
}

/// One call that changed something, or tried to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// Later calls have larger numbers.
    pub seq: i64,
    /// Its id.
    pub call: CallId,
    /// Who called, or on whose Workspaces a person acted.
    pub agent: String,
    /// The person whose own act it was; nothing for what an agent did, and for calls of before persons were named.
    pub by: Option<String>,
    /// The operation, in a word.
    pub op: String,
    /// The path that was asked for.
    pub path: String,
    /// When it began.
    pub began: SystemTime,
    /// When it had to be over; an open call past this was cut off.
    pub deadline: SystemTime,
    /// How it ended.
    pub state: CallState,
    /// The call that it undoes.
    pub undoes: Option<CallId>,
    /// The call that undid it, as long as that was not undone itself.
    pub undone_by: Option<CallId>,
    /// Is what it replaced kept whatever its age?
    pub pinned: bool,
    /// How many changes it made.
    pub changes: u64,
    /// Of a command, its text and how it ended.
    pub note: Option<String>,
    /// Does nobody mean it who takes back the last call?
    pub is_aside: bool,
}

pub(crate) const CALL_COLUMNS: &str =
    "seq, call, agent, op, path, began, deadline, state, undoes, undone_by, pinned, changes, note, aside, person";

impl CallRow {
    pub(crate) fn read(row: &Row) -> Self {
        Self {
            seq: row[0].int(),
            call: call_id(&row[1]).unwrap_or(CallId(0)),
            agent: row[2].text().to_owned(),
            by: row[14].maybe_text().map(str::to_owned),
            op: row[3].text().to_owned(),
            path: row[4].text().to_owned(),
            began: time(row[5].int()),
            deadline: time(row[6].int()),
            state: match row[7].int() {
                0 => CallState::Open,
                1 => CallState::Completed,
                _ => CallState::Failed,
            },
            undoes: call_id(&row[8]),
            undone_by: call_id(&row[9]),
            pinned: row[10].int() != 0,
            changes: row[11].int().cast_unsigned(),
            note: row[12].maybe_text().map(str::to_owned),
            is_aside: row[13].int() != 0,
        }
    }
}

/// What a change is written down as: in the order of [`INSERT_CHANGE`] after `home`, `call`, `part` and `idx`, up to `found`.
pub(crate) fn change_values(territory: &str, prefix: &str, change: &Change, applied: &AppliedChange) -> Vec<Value> {
    let path = change.path().as_str();
    let place = Place::new(territory, path);
    let to = match change.act() {
        Act::Move { to } => Some(to.as_str()),
        _ => None,
    };
    let to_place = to.map(|to| Place::new(territory, to));
    // Without a territory nobody could say later where it was.
    let lost = Before::Lost;
    let before = if territory.is_empty() { &lost } else { &applied.before };
    let (name, kept, len, looks) = match before {
        Before::Absent => ("absent", None, None, None),
        Before::Dir(looks) => ("dir", None, None, Some(*looks)),
        Before::Kept(Kept(name)) => ("kept", Some(name.clone()), None, None),
        Before::Looks(looks) => ("looks", None, None, Some(*looks)),
        Before::Prefix(len) => ("prefix", None, Some(len.cast_signed()), None),
        Before::Lost => ("lost", None, None, None),
    };
    vec![
        territory.into(),
        prefix.into(),
        path.into(),
        place.as_str().into(),
        place.key().into(),
        What::of(change.act()).name().into(),
        to.into(),
        to_place.as_ref().map(Place::as_str).into(),
        to_place.as_ref().map(Place::key).into(),
        applied.created.into(),
        name.into(),
        kept.into(),
        len.into(),
        applied.version.map(|version| version.to_string()).into(),
        (applied.parents as u64).cast_signed().into(),
        bytes(change.act()).cast_signed().into(),
        looks.filter(|looks| *looks != Looks::default()).map(write_looks).into(),
        applied.met.map(|met| met.to_string()).into(),
    ]
}

pub(crate) const INSERT_CHANGE: &str = "INSERT INTO history_change (home, call, part, idx, at, agent, territory, prefix, \
     path, place, place_key, what, to_path, to_place, to_key, created, before, kept, len, version, parents, bytes, looks, met, found) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, \
     ?23, ?24, ?25) \
     ON CONFLICT DO NOTHING";

fn read_before(name: &str, kept: &Value, len: &Value, looks: &Value) -> Before {
    let looks = looks.maybe_text().and_then(read_looks);
    match (name, kept.maybe_text(), len.maybe_int()) {
        ("absent", _, _) => Before::Absent,
        ("dir", _, _) => Before::Dir(looks.unwrap_or_default()),
        ("kept", Some(kept), _) => Before::Kept(Kept(kept.to_owned())),
        ("prefix", _, Some(len)) => Before::Prefix(len.cast_unsigned()),
        ("looks", _, _) => looks.map_or(Before::Lost, Before::Looks),
        _ => Before::Lost,
    }
}

/// The mode in octal and the time in nanoseconds since 1970, each where it is known.
pub(crate) fn write_looks(looks: Looks) -> String {
    let mode = looks.mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
    let nanos = looks.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_nanos());
    format!("{mode} {}", nanos.map(|nanos| nanos.to_string()).unwrap_or_default())
}

pub(crate) fn read_looks(text: &str) -> Option<Looks> {
    let (mode, nanos) = text.split_once(' ')?;
    let mode = if mode.is_empty() { None } else { Some(u32::from_str_radix(mode, 8).ok()?) };
    let modified = if nanos.is_empty() { None } else { Some(UNIX_EPOCH + Duration::from_nanos(nanos.parse().ok()?)) };
    Some(Looks { mode, modified })
}

fn bytes(act: &Act) -> u64 {
    match act {
        Act::Take { staged } => staged.len(),
        Act::Write { content, .. } | Act::Append { content } => content.len() as u64,
        Act::Edit { edits } => edits.iter().map(|edit| edit.new.len() as u64).sum(),
        _ => 0,
    }
}

pub(crate) fn call_id(value: &Value) -> Option<CallId> {
    value.maybe_text().and_then(CallId::parse)
}

/// Milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(millis: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.max(0).cast_unsigned())
}
