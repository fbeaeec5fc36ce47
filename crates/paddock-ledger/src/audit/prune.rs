//! Letting go of old rows, by a person: whole chains, each with a signed word in the register.
//!
//! A chain goes when it is closed and ended before a moment. Its entry in the register comes first, in one transaction with
//! its head, and says how many rows there were and the last hash; then its rows go, in steps that keep nobody waiting for long. So a chain
//! that is gone was either pruned, which its entry vouches for, or somebody took it. One that is cut off leaves rows that
//! [`AuditLog::verify`] tells of and the next pruning removes.
//!
//! Must never: prune what is not as it was written, since that would remove the evidence; or touch the register itself.

use std::time::{Duration, Instant};

use super::chain::{Event, Head, Nonce};
use super::error::AuditError;
use super::log::{AuditLog, now};
use super::storage::{Found, Result, SignedHead, Tables};
use super::verify::Finding;
use super::writer::{Book, Tx, fitting};

/// Heads looked at in one step.
const PAGE: usize = 256;
/// Rows removed in one step.
const STEP: usize = 2000;
/// How long one step may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was let go of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Whole chains.
    pub chains: u64,
    /// Their rows.
    pub rows: u64,
}

impl AuditLog {
    /// What [`Self::prune`] would let go of.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn prunable(&self, before: i64) -> Result<Pruned> {
        let mut found = Pruned::default();
        each_old(self.book(), before, &mut |head| {
            found = Pruned { chains: found.chains + 1, rows: found.rows + head.count };
            Ok(())
        })?;
        Ok(found)
    }

    /// Lets go of every chain that ended before a moment, in milliseconds since 1970. That it was done stays in the register.
    ///
    /// # Errors
    /// When something in the audit is not as it was written: nothing is pruned then. Or when the database does not answer.
    pub fn prune(&self, before: i64) -> Result<Pruned> {
        let book = self.book();
        let report = self.verify()?;
        if report.more > 0 || !report.findings.iter().all(Finding::is_left_by_pruning) {
            return Err(AuditError::NotWhole);
        }
        remove_leftovers(book)?;
        let mut done = Pruned::default();
        each_old(book, before, &mut |head| {
            if enter_and_remove_head(book, head)? {
                remove_rows(book, head.chain)?;
                done = Pruned { chains: done.chains + 1, rows: done.rows + head.count };
            }
            Ok(())
        })?;
        // Who keeps a mark of a chain that went is told that it was pruned.
        book.outside.advance(&book.key, &*book.storage, None)?;
        Ok(done)
    }
}

/// Every closed chain that ended before a moment, the oldest first.
fn each_old(book: &Book, before: i64, prune: &mut dyn FnMut(&Head) -> Result<()>) -> Result<()> {
    let mut after = 0;
    loop {
        let mut page: Vec<Found<SignedHead>> = Vec::new();
        book.storage.read(&mut |tables| {
            page = tables.heads(after, PAGE)?;
            Ok(())
        })?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.it.head.chain;
        let old = page.into_iter().filter_map(|found| fitting(&book.key, found));
        old.filter(|head| head.closed && head.at < before).try_for_each(|head| prune(&head))?;
    }
}

/// Answers whether the chain was still there to be pruned.
fn enter_and_remove_head(book: &Book, head: &Head) -> Result<bool> {
    let mut pruned = false;
    book.storage.write(Instant::now() + PATIENCE, &mut |tables| {
        let mut tx = Tx { key: &book.key, tables, at: now() };
        tx.register()?;
        let found = tx.tables.head(head.chain)?.and_then(|found| fitting(&book.key, found));
        pruned = found.as_ref() == Some(head);
        if pruned {
            tx.enter(Event::Pruned, head)?;
            tx.tables.remove_head(head.chain)?;
        }
        Ok(())
    })?;
    Ok(pruned)
}

fn remove_rows(book: &Book, chain: u64) -> Result<()> {
    loop {
        let mut removed = 0;
        book.storage.write(Instant::now() + PATIENCE, &mut |tables| {
            removed = tables.remove_rows(chain, STEP)?;
            Ok(())
        })?;
        if removed == 0 {
            return Ok(());
        }
    }
}

/// Removes what a pruning that was cut off left.
fn remove_leftovers(book: &Book) -> Result<()> {
    let mut after = 0;
    loop {
        let mut page = Vec::new();
        book.storage.read(&mut |tables| {
            page = tables.entries(after, PAGE)?;
            Ok(())
        })?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.it.seq;
        for entry in page.into_iter().map(|found| found.it).filter(|entry| entry.event == Event::Pruned) {
            remove_rows(book, entry.chain)?;
        }
    }
}

/// How many rows a chain had, and its nonce, if the register says that it was pruned.
pub(super) fn pruned(
    key: &super::key::AuditKey,
    tables: &mut dyn Tables,
    chain: u64,
    limit: usize,
) -> Result<Option<(u64, Nonce)>> {
    use super::chain::Link as _;
    let entries =
        tables.entries_about(chain, limit)?.into_iter().filter(|found| !found.malformed).map(|found| found.it);
    let mut ours = entries.filter(|entry| entry.sign_at(key, &Nonce::default(), entry.seq) == entry.hash);
    Ok(ours.find(|entry| entry.event == Event::Pruned).map(|entry| (entry.count, entry.nonce)))
}
