//! What a command changed, kept until a person decides: whole, bound to its approval by a digest, and gone once it is decided.
//!
//! It lies in the database beside its approval, so that it outlives every process, is as private as the ledger, and nothing of a
//! Virtual Workspace comes to lie in a file. Large contents are written piece by piece before the approval is there; what a process
//! that was killed left behind is swept away later.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use paddock_core::{Alter, Alteration, Expect, Held, Holding, LogicalPath, Looks, Staged, Version};
use paddock_db::DbError;
use paddock_db::statements::Session;
use serde::{Deserialize, Serialize};

use super::{Approval, Approvals};

/// The most content that waits for one decision.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// The bytes of one piece.
const PIECE: usize = 1024 * 1024;
/// About so many bytes are written in one transaction.
const TOGETHER: usize = 4 * 1024 * 1024;
/// What nobody asked about after this time never will be.
const ORPHANED: i64 = 3600 * 1000;

/// Why a change cannot wait for a person.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotHeld {
    #[error("what it changed has {0} bytes, more than the {MOST_BYTES} that can wait for a person")]
    TooLarge(u64),
    #[error("what it changed cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("a change of this kind cannot wait for a person")]
    Unfit,
    #[error("{0}")]
    Database(#[from] DbError),
}

/// One change as it is written down; its content stands beside it.
#[derive(Serialize, Deserialize)]
struct Entry {
    path: String,
    how: How,
    expect: Expected,
}

#[derive(Serialize, Deserialize)]
enum How {
    Write { mode: Option<u32> },
    Take { mode: u32, modified: i128 },
    MakeDir,
    Delete,
    Move { to: String },
    Link { leads_to: String },
    Dress { mode: Option<u32>, modified: Option<i128> },
}

#[derive(Serialize, Deserialize)]
enum Expected {
    Any,
    Absent,
    Is(String),
    UnchangedSince(i128),
}

/// Nanoseconds since 1970.
fn nanos(time: SystemTime) -> i128 {
    let whole = |span: Duration| i128::try_from(span.as_nanos()).unwrap_or(i128::MAX);
    time.duration_since(SystemTime::UNIX_EPOCH).map_or_else(|before| -whole(before.duration()), whole)
}

fn time(nanos: i128) -> SystemTime {
    let span = Duration::from_nanos(u64::try_from(nanos.unsigned_abs()).unwrap_or(u64::MAX));
    if nanos < 0 { SystemTime::UNIX_EPOCH - span } else { SystemTime::UNIX_EPOCH + span }
}

impl Entry {
    fn of(alteration: &Alteration) -> Result<Self, NotHeld> {
        let how = match &alteration.how {
            Alter::Write { mode, .. } => How::Write { mode: *mode },
            Alter::Take(staged) => How::Take { mode: staged.mode(), modified: nanos(staged.modified()) },
            Alter::MakeDir => How::MakeDir,
            Alter::Delete => How::Delete,
            Alter::Move { to } => How::Move { to: to.to_string() },
            Alter::Link { leads_to } => How::Link { leads_to: leads_to.clone() },
            Alter::Dress(looks) => How::Dress { mode: looks.mode, modified: looks.modified.map(nanos) },
            Alter::Restore(_) | Alter::Truncate(_) => return Err(NotHeld::Unfit),
        };
        let expect = match &alteration.expect {
            Expect::Any => Expected::Any,
            Expect::Absent => Expected::Absent,
            Expect::Is(version) => Expected::Is(version.to_string()),
            Expect::UnchangedSince(since) => Expected::UnchangedSince(nanos(*since)),
        };
        Ok(Self { path: alteration.path.to_string(), how, expect })
    }

    /// The same without the times of one run.
    fn at_any_time(self) -> Self {
        let how = match self.how {
            How::Take { mode, .. } => How::Take { mode, modified: 0 },
            How::Dress { mode, modified } => How::Dress { mode, modified: modified.map(|_| 0) },
            other => other,
        };
        Self { how, expect: Expected::Any, ..self }
    }

    fn alteration(self, content: Vec<u8>) -> Result<Alteration, NotHeld> {
        let path = |text: &str| LogicalPath::parse(text, &LogicalPath::top()).map_err(|_| NotHeld::Unfit);
        let how = match self.how {
            How::Write { mode } => Alter::Write { content, mode },
            How::Take { mode, modified } => Alter::Take(staged(&content, mode, time(modified))?),
            How::MakeDir => Alter::MakeDir,
            How::Delete => Alter::Delete,
            How::Move { to } => Alter::Move { to: path(&to)? },
            How::Link { leads_to } => Alter::Link { leads_to },
            How::Dress { mode, modified } => Alter::Dress(Looks { mode, modified: modified.map(time) }),
        };
        let expect = match self.expect {
            Expected::Any => Expect::Any,
            Expected::Absent => Expect::Absent,
            Expected::Is(version) => Expect::Is(Version::parse(&version).ok_or(NotHeld::Unfit)?),
            Expected::UnchangedSince(since) => Expect::UnchangedSince(time(since)),
        };
        Ok(Alteration { path: path(&self.path)?, how, expect })
    }
}

/// A file in memory that a Store can take: what waited never was a file of the host.
fn staged(content: &[u8], mode: u32, modified: SystemTime) -> Result<Staged, NotHeld> {
    let made = rustix::fs::memfd_create("paddock-held", rustix::fs::MemfdFlags::CLOEXEC);
    let mut file = File::from(made.map_err(std::io::Error::from)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(Staged::new(file, content.len() as u64, mode, modified))
}

/// What a change brings in.
fn content_of(how: &Alter) -> Result<Vec<u8>, NotHeld> {
    match how {
        Alter::Write { content, .. } => Ok(content.clone()),
        Alter::Take(staged) => {
            let mut content = vec![0; usize::try_from(staged.len()).unwrap_or(usize::MAX)];
            staged.file().read_exact_at(&mut content, 0)?;
            Ok(content)
        }
        _ => Ok(Vec::new()),
    }
}

/// Stands for what becomes of which path, the same whenever the command runs: without times, and without what must be true before.
pub(super) fn exact(of_call: &str, holding: &Holding<'_>) -> Result<String, NotHeld> {
    let mut parts = Vec::with_capacity(holding.alterations.len());
    for alteration in holding.alterations {
        let entry = serde_json::to_string(&Entry::of(alteration)?.at_any_time()).map_err(std::io::Error::from)?;
        let content = blake3::hash(&content_of(&alteration.how)?);
        parts.push((&alteration.path, format!("{}:{entry}{}\n", entry.len(), content.to_hex())));
    }
    // Paths come as a directory lists them; of one path, what comes first counts.
    parts.sort_by_key(|(path, _)| *path);
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("what becomes of which path\n{of_call}\n").as_bytes());
    for (_, part) in &parts {
        hasher.update(part.as_bytes());
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Stands for exactly these changes: paths, contents, modes, and what must be true before.
pub(super) fn digest(of_call: &str, holding: &Holding<'_>) -> Result<String, NotHeld> {
    let bytes: u64 = holding.alterations.iter().map(|alteration| alteration.how.bytes() as u64).sum();
    if bytes > MOST_BYTES {
        return Err(NotHeld::TooLarge(bytes));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(of_call.as_bytes());
    for alteration in holding.alterations {
        let entry = serde_json::to_string(&Entry::of(alteration)?).map_err(std::io::Error::from)?;
        let content = content_of(&alteration.how)?;
        hasher.update(format!("\n{}:{entry}{}:", entry.len(), content.len()).as_bytes());
        hasher.update(&content);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

const INSERT: &str =
    "INSERT INTO approval_held_part (home, id, seq, part, at, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// What is kept, on its way to the database: a large change is written in several transactions, so that others come in between.
struct Parts<'a> {
    of: &'a Approvals,
    id: &'a str,
    at: i64,
    waiting: Vec<(i64, i64, String)>,
    bytes: usize,
}

impl Parts<'_> {
    fn add(&mut self, seq: i64, part: i64, content: String) -> Result<(), NotHeld> {
        self.bytes += content.len();
        self.waiting.push((seq, part, content));
        if self.bytes >= TOGETHER || self.waiting.len() >= 1000 { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), NotHeld> {
        self.of.write(|session| {
            for (seq, part, content) in &self.waiting {
                let (home, content) = (self.of.home.as_str(), content.as_str());
                let values =
                    [home.into(), self.id.into(), (*seq).into(), (*part).into(), self.at.into(), content.into()];
                session.execute(INSERT, &values)?;
            }
            Ok(())
        })?;
        (self.waiting, self.bytes) = (Vec::new(), 0);
        Ok(())
    }
}

impl Approvals {
    /// Writes changes down under the id of the approval that will be asked for.
    pub(super) fn keep(&self, id: &str, holding: &Holding<'_>) -> Result<(), NotHeld> {
        let mut parts = Parts { of: self, id, at: self.now(), waiting: Vec::new(), bytes: 0 };
        for (seq, alteration) in (0i64..).zip(holding.alterations) {
            let entry = serde_json::to_string(&Entry::of(alteration)?).map_err(std::io::Error::from)?;
            parts.add(seq, 0, entry)?;
            for (part, piece) in (1i64..).zip(content_of(&alteration.how)?.chunks(PIECE)) {
                parts.add(seq, part, BASE64.encode(piece))?;
            }
        }
        parts.write()
    }

    /// How many changes of an agent's commands wait for a person.
    pub(super) fn count_waiting(&self, session: &mut dyn Session, agent: &str) -> Result<usize, DbError> {
        let sql = "SELECT count(*) FROM approval WHERE home = ?1 AND agent = ?2 AND held IS NOT NULL \
                   AND status = 'pending' AND told_at IS NULL AND expires_at > ?3";
        let rows = session.query(sql, &[self.home.as_str().into(), agent.into(), self.now().into()])?;
        Ok(rows.first().map_or(0, |row| usize::try_from(row[0].int()).unwrap_or(0)))
    }

    /// What was kept under an approval, as it is made.
    pub(super) fn load(&self, approval: &Approval) -> Result<Held, NotHeld> {
        let sql = "SELECT seq, part, content FROM approval_held_part WHERE home = ?1 AND id = ?2 ORDER BY seq, part";
        let id = approval.id.as_str();
        let rows = self.read(|session| session.query(sql, &[self.home.as_str().into(), id.into()]))?;
        let mut alterations = Vec::new();
        let mut open: Option<(Entry, Vec<u8>)> = None;
        for row in rows {
            if row[1].int() == 0 {
                let next = serde_json::from_str(row[2].text()).map_err(std::io::Error::from)?;
                if let Some((entry, content)) = open.replace((next, Vec::new())) {
                    alterations.push(entry.alteration(content)?);
                }
            } else if let Some((_, content)) = &mut open {
                content.extend(BASE64.decode(row[2].text()).map_err(|_| NotHeld::Unfit)?);
            }
        }
        if let Some((entry, content)) = open {
            alterations.push(entry.alteration(content)?);
        }
        Ok(Held {
            id: approval.id.clone(),
            of: approval.of_call.clone(),
            path: LogicalPath::parse(&approval.path, &LogicalPath::top()).map_err(|_| NotHeld::Unfit)?,
            alterations,
            told: approval.told.clone().unwrap_or_default(),
            by: approval.decided_by.clone().unwrap_or_default(),
            token: approval.token.clone().unwrap_or_default(),
        })
    }

    /// Takes away what is held for nothing any more.
    pub(super) fn sweep(&self, session: &mut dyn Session) -> Result<(), DbError> {
        let over = "DELETE FROM approval_held_part WHERE home = ?1 AND id IN (SELECT id FROM approval WHERE home = ?1 AND \
                    held IS NOT NULL AND (used_by IS NOT NULL OR status IN ('rejected', 'expired') OR expires_at <= ?2))";
        let orphaned = "DELETE FROM approval_held_part WHERE home = ?1 AND at < ?2 AND \
                        id NOT IN (SELECT id FROM approval WHERE home = ?1 AND held IS NOT NULL)";
        let now = self.now();
        session.execute(over, &[self.home.as_str().into(), now.into()])?;
        session.execute(orphaned, &[self.home.as_str().into(), (now - ORPHANED).into()]).map(drop)
    }
}
