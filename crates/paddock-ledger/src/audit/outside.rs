//! The outside head: what this machine has seen of the audit, in a file that is not in the database.
//!
//! It shows a database that was put back to an older copy. It only ever moves forward: what the database contradicts
//! stays as it is, as evidence, until a person decides. It must never be ahead of what is durable in the database.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::chain::{Head, Nonce, REGISTER, START};
use super::error::AuditError;
use super::host;
use super::key::AuditKey;
use super::prune;
use super::row::{Hash, hex};
use super::storage::{Result, Storage, Tables};
use super::verify::ABOUT_ONE;

/// How long to wait for another process that replaces the file.
const PATIENCE: Duration = Duration::from_secs(2);

/// How the file ends that holds the number of rows that could not be written.
const LOST: &str = "lost";

/// Where the outside head is kept, and how.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) path: PathBuf,
    /// Must loss of power leave it whole?
    pub(super) sync: bool,
}

/// How far one chain was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) chain: u64,
    pub(super) nonce: Nonce,
    pub(super) count: u64,
    pub(super) hash: Hash,
}

impl Mark {
    pub(super) fn of(head: &Head) -> Self {
        Self { chain: head.chain, nonce: head.nonce, count: head.count, hash: head.hash }
    }
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) register: Mark,
    pub(super) chains: Vec<Mark>,
}

/// What was found in the place of the file.
#[derive(Debug)]
pub(super) enum Look {
    Missing,
    /// Nobody with the key wrote this.
    Forged,
    Found(Seen),
}

impl Seen {
    pub(super) fn nothing() -> Self {
        let register = Mark { chain: REGISTER, nonce: [0; 16], count: 0, hash: START };
        Self { register, chains: Vec::new() }
    }

    fn put(&mut self, mark: Mark) {
        self.chains.retain(|other| other.chain != mark.chain);
        self.chains.push(mark);
        self.chains.sort_by_key(|mark| mark.chain);
    }
}

impl Outside {
    pub(super) fn look(&self, key: &AuditKey) -> Result<Look> {
        let Some(found) = host::read_private(&self.path).map_err(|why| self.failed(why))? else {
            return Ok(Look::Missing);
        };
        Ok(parse(key, &found.content).map_or(Look::Forged, Look::Found))
    }

    /// How many rows processes that have ended could not write, and nobody has told of in a row yet.
    pub(super) fn lost(&self) -> u64 {
        host::number_beside(&self.path, LOST)
    }

    /// So many more could not be written.
    pub(super) fn add_lost(&self, more: u64) -> Result<()> {
        let _lock = self.lock()?;
        let lost = self.lost().saturating_add(more);
        host::put_number_beside(&self.path, LOST, lost).map_err(|why| self.failed(why))
    }

    /// So many were told of in a row, or written after all.
    pub(super) fn told_lost(&self, told: u64) -> Result<()> {
        let _lock = self.lock()?;
        let lost = self.lost().saturating_sub(told);
        host::put_number_beside(&self.path, LOST, lost).map_err(|why| self.failed(why))
    }

    /// Makes the file, before the first chain is opened: from then on its absence tells something. Where machines share the database,
    /// each makes its own when it first comes.
    pub(super) fn prepare(&self, key: &AuditKey, storage: &dyn Storage) -> Result<()> {
        host::make_number_beside(&self.path, LOST).map_err(|why| self.failed(why))?;
        if !matches!(self.look(key)?, Look::Missing) {
            return Ok(());
        }
        let mut used = false;
        storage.read(&mut |tables| {
            used = tables.head(REGISTER)?.is_some_and(|found| found.it.head.count > 0);
            Ok(())
        })?;
        if used && !storage.is_shared() {
            return Ok(());
        }
        host::create_private(&self.path, &write(key, &Seen::nothing())).map_err(|why| self.failed(why))
    }

    /// Moves the file forward to what the database holds, with `own` as the chain of this process.
    pub(super) fn advance(&self, key: &AuditKey, storage: &dyn Storage, own: Option<Mark>) -> Result<()> {
        let _lock = host::lock_beside(&self.path, Instant::now() + PATIENCE).map_err(|why| self.failed(why))?;
        let Look::Found(mut seen) = self.look(key)? else { return Ok(()) };
        let before = seen.clone();
        if let Some(own) = own {
            seen.put(own);
        }
        let mut next = seen.clone();
        storage.read_durable(Instant::now() + PATIENCE, &mut |tables| {
            next = seen.clone();
            forward(key, tables, &mut next)
        })?;
        if next == before {
            return Ok(());
        }
        self.replace(key, &next)
    }

    pub(super) fn replace(&self, key: &AuditKey, seen: &Seen) -> Result<()> {
        host::replace_private(&self.path, &write(key, seen), self.sync).map_err(|why| self.failed(why))
    }

    pub(super) fn lock(&self) -> Result<std::fs::File> {
        host::lock_beside(&self.path, Instant::now() + PATIENCE).map_err(|why| self.failed(why))
    }

    fn failed(&self, why: io::Error) -> AuditError {
        AuditError::File { path: self.path.clone(), why }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes the register as it is now, if what was seen of it is in it, and drops the chains that it closed as they were seen.
fn forward(key: &AuditKey, tables: &mut dyn Tables, seen: &mut Seen) -> Result<()> {
    let Some(register) = tables.head(REGISTER)? else { return Ok(()) };
    let (head, signed) = (register.it.head, register.it.mac);
    if register.malformed || head.sign(key) != signed || !register_holds(tables, &head, &seen.register)? {
        return Ok(());
    }
    seen.register = Mark::of(&head);
    let mut open = Vec::new();
    for mark in &seen.chains {
        if !is_settled(key, tables, mark)? {
            open.push(*mark);
        }
    }
    seen.chains = open;
    Ok(())
}

/// Is what was seen of the register still in it?
pub(super) fn register_holds(tables: &mut dyn Tables, head: &Head, seen: &Mark) -> Result<bool> {
    if seen.count == 0 {
        return Ok(true);
    }
    if head.count < seen.count {
        return Ok(false);
    }
    let entry = tables.entries(seen.count - 1, 1)?.pop();
    Ok(entry.is_some_and(|entry| entry.it.seq == seen.count && entry.it.hash == seen.hash))
}

/// Is the chain closed, with what was seen of it? Then the register vouches for it.
fn is_settled(key: &AuditKey, tables: &mut dyn Tables, mark: &Mark) -> Result<bool> {
    let Some(found) = tables.head(mark.chain)? else {
        // It may be gone because a person had it removed, with what was seen of it.
        let pruned = prune::pruned(key, tables, mark.chain, ABOUT_ONE)?;
        return Ok(pruned.is_some_and(|(count, nonce)| count >= mark.count && nonce == mark.nonce));
    };
    let head = &found.it.head;
    if !head.closed || found.malformed || head.sign(key) != found.it.mac || head.nonce != mark.nonce {
        return Ok(false);
    }
    if mark.count == 0 {
        return Ok(true);
    }
    let row = tables.rows((mark.chain, mark.count - 1), 1)?.pop();
    Ok(row.is_some_and(|row| (row.it.chain, row.it.seq, row.it.hash) == (mark.chain, mark.count, mark.hash)))
}

#[derive(Serialize, Deserialize)]
struct FileForm {
    about: String,
    register: MarkForm,
    chains: Vec<MarkForm>,
    signature: String,
}

#[derive(Serialize, Deserialize)]
struct MarkForm {
    chain: u64,
    nonce: String,
    count: u64,
    hash: String,
}

const ABOUT: &str = "what this machine has seen of paddock's audit; changing it is noticed";

fn write(key: &AuditKey, seen: &Seen) -> Vec<u8> {
    let mut form = FileForm {
        about: ABOUT.to_owned(),
        register: mark_form(&seen.register),
        chains: seen.chains.iter().map(mark_form).collect(),
        signature: String::new(),
    };
    form.signature = hex(&signature(key, seen));
    serde_json::to_vec(&form).unwrap_or_default()
}

fn parse(key: &AuditKey, content: &[u8]) -> Option<Seen> {
    let form: FileForm = serde_json::from_slice(content).ok()?;
    let chains = form.chains.iter().map(mark).collect::<Option<Vec<_>>>()?;
    let seen = Seen { register: mark(&form.register)?, chains };
    (unhex(&form.signature)? == signature(key, &seen)).then_some(seen)
}

fn signature(key: &AuditKey, seen: &Seen) -> Hash {
    let mut text = b"paddock audit outside 1".to_vec();
    for mark in std::iter::once(&seen.register).chain(&seen.chains) {
        text.extend_from_slice(&mark.chain.to_le_bytes());
        text.extend_from_slice(&mark.nonce);
        text.extend_from_slice(&mark.count.to_le_bytes());
        text.extend_from_slice(&mark.hash);
    }
    key.sign(&text)
}

fn mark_form(mark: &Mark) -> MarkForm {
    MarkForm { chain: mark.chain, nonce: hex(&mark.nonce), count: mark.count, hash: hex(&mark.hash) }
}

fn mark(form: &MarkForm) -> Option<Mark> {
    Some(Mark { chain: form.chain, nonce: unhex(&form.nonce)?, count: form.count, hash: unhex(&form.hash)? })
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_anything_else_is_not() {
        let key = AuditKey::from_bytes([1; 32]);
        let mut seen = Seen::nothing();
        seen.put(Mark { chain: 3, nonce: [9; 16], count: 4, hash: [7; 32] });
        let text = write(&key, &seen);
        assert_eq!(parse(&key, &text), Some(seen));
        assert_eq!(parse(&AuditKey::from_bytes([2; 32]), &text), None);
        let changed = String::from_utf8(text).unwrap().replace("\"count\":4", "\"count\":3");
        assert_eq!(parse(&key, changed.as_bytes()), None);
    }
}
