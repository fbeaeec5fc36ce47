//! Checks the whole audit: the register, every chain, and what the outside head has seen of them.
//!
//! Reads one snapshot page by page, in constant memory. It must never change anything, and never stop at the first finding.

use std::collections::VecDeque;
use std::fmt;

use serde::Serialize;

use super::chain::{Entry, Event, Head, Link, Nonce, REGISTER};
use super::key::AuditKey;
use super::outside::{Look, Mark, Seen};
use super::prune;
use super::row::{Kind, Row};
use super::storage::{BEFORE_ALL, Found, Result, SignedHead, Tables};
use super::walk::{Walk, Watched};
use super::writer::Book;

/// Read at once.
const PAGE: usize = 512;

/// Findings that are told one by one.
const TOLD: usize = 1000;

/// Entries about one chain that are looked at; two is what is to be expected.
pub(super) const ABOUT_ONE: usize = 16;

/// Guesses at where displaced rows belong, for all of them together.
const GUESSES: u64 = 1 << 18;

/// Something that is not as it was written. Chain 0 is the register of chains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// A row says something else than was written.
    Changed {
        /// Its chain.
        chain: u64,
        /// Its number.
        seq: u64,
    },
    /// Rows are gone from within a chain.
    Removed {
        /// Their chain.
        chain: u64,
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// A row stands in the place of another.
    Reordered {
        /// Its chain.
        chain: u64,
        /// The number it was written with.
        seq: u64,
        /// The number under which it is found.
        found_at: u64,
    },
    /// A row was put in, or is there twice.
    Inserted {
        /// The chain.
        chain: u64,
        /// The number under which it is found.
        seq: u64,
    },
    /// Rows are gone from the end of a chain.
    CutOff {
        /// Their chain.
        chain: u64,
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// The head of a chain is not the one that was written last.
    HeadChanged {
        /// Its chain.
        chain: u64,
    },
    /// The head of a chain is gone.
    HeadRemoved {
        /// Its chain.
        chain: u64,
    },
    /// A whole chain is gone.
    ChainRemoved {
        /// Which.
        chain: u64,
    },
    /// A chain that the register knows nothing of.
    ChainInserted {
        /// Which.
        chain: u64,
    },
    /// Something is left of a chain that was pruned.
    PrunedLeft {
        /// Which.
        chain: u64,
    },
    /// Something is kept under numbers that nothing has.
    Strays {
        /// How many rows, heads and entries.
        count: u64,
    },
    /// A chain was further than it is, or is another: an older copy was put back.
    RolledBack {
        /// Which.
        chain: u64,
        /// So many rows had it when the outside head saw it.
        seen: u64,
        /// So many it has now.
        found: u64,
    },
    /// It was signed with another key.
    OtherKey {
        /// Its chain.
        chain: u64,
    },
    /// The file of the outside head is gone.
    OutsideMissing,
    /// The file of the outside head was changed.
    OutsideChanged,
}

impl Finding {
    /// Is it what a pruning leaves that was cut off?
    pub(super) fn is_left_by_pruning(&self) -> bool {
        matches!(self, Self::PrunedLeft { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = |chain: &u64| match *chain {
            REGISTER => ("entry", "the register".to_owned()),
            chain => ("row", format!("chain {chain}")),
        };
        match self {
            Self::Changed { chain, seq } => {
                let (row, chain) = what(chain);
                write!(f, "{row} {seq} of {chain} was changed")
            }
            Self::Removed { chain, from, to } => {
                let (row, chain) = what(chain);
                write!(f, "{} of {chain} removed", numbered(row, *from, *to))
            }
            Self::Reordered { chain, seq, found_at } => {
                let (row, chain) = what(chain);
                write!(f, "{row} {seq} of {chain} stands in the place of {found_at}")
            }
            Self::Inserted { chain, seq } => {
                let (row, chain) = what(chain);
                write!(f, "{row} {seq} of {chain} was put in")
            }
            Self::CutOff { chain, from, to } => {
                let (row, chain) = what(chain);
                write!(f, "{} at the end of {chain} cut off", numbered(row, *from, *to))
            }
            Self::HeadChanged { chain } => write!(f, "the head of {} was changed or put back", what(chain).1),
            Self::HeadRemoved { chain } => write!(f, "the head of {} was removed", what(chain).1),
            Self::ChainRemoved { chain } => write!(f, "chain {chain} was removed"),
            Self::ChainInserted { chain } => write!(f, "chain {chain} is not in the register"),
            Self::PrunedLeft { chain } => {
                write!(f, "something is left of chain {chain}, which was pruned: `paddock audit prune` removes it")
            }
            Self::Strays { count } => write!(f, "{count} records are kept under numbers that nothing has"),
            Self::RolledBack { chain, seen, found } => {
                let (row, chain) = what(chain);
                write!(f, "{chain} was rolled back: it was seen with {row} {seen}, and that is not what is there")?;
                write!(f, " (it ends with {found})")
            }
            Self::OtherKey { chain } => write!(f, "{} was signed with another key", what(chain).1),
            Self::OutsideMissing => f.write_str("the outside head is gone, so a rollback would not be noticed"),
            Self::OutsideChanged => f.write_str("the outside head was changed, so a rollback would not be noticed"),
        }
    }
}

fn numbered(row: &str, from: u64, to: u64) -> String {
    match (row, from == to) {
        (_, true) => format!("{row} {from} was"),
        ("entry", _) => format!("entries {from} to {to} were"),
        _ => format!("rows {from} to {to} were"),
    }
}

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Chains looked at.
    pub chains: u64,
    /// Rows looked at.
    pub rows: u64,
    /// Rows that could not be kept when they came, as rows say.
    pub lost: u64,
    /// How often a person took the database as it was.
    pub accepted: u64,
    /// Chains that a person had removed.
    pub pruned_chains: u64,
    /// Their rows.
    pub pruned_rows: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How much more is wrong.
    pub more: u64,
}

impl Report {
    /// Is everything as it was written?
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty() && self.more == 0
    }
}

/// What was found so far, bounded.
#[derive(Debug, Default)]
pub(super) struct Findings {
    told: Vec<Finding>,
    more: u64,
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        if self.told.len() < TOLD {
            self.told.push(finding);
        } else {
            self.more += 1;
        }
    }
}

pub(super) fn verify(book: &Book, look: &Look) -> Result<Report> {
    let mut report = Report::default();
    book.storage.read(&mut |tables| {
        let mut check =
            Check { key: &book.key, findings: Findings::default(), guesses: GUESSES, report: Report::default() };
        check.all(tables, look)?;
        let Findings { told, more } = check.findings;
        report = Report { findings: told, more, ..check.report };
        Ok(())
    })?;
    Ok(report)
}

struct Check<'a> {
    key: &'a AuditKey,
    findings: Findings,
    guesses: u64,
    report: Report,
}

/// What there is of one chain besides its rows.
struct Parts {
    chain: u64,
    head: Option<Found<SignedHead>>,
    opened: Option<Entry>,
    has_rows: bool,
}

impl Check<'_> {
    fn all(&mut self, tables: &mut dyn Tables, look: &Look) -> Result<()> {
        let register = tables.head(REGISTER)?;
        if register.as_ref().is_some_and(|found| found.it.head.key != self.key.id()) {
            self.findings.add(Finding::OtherKey { chain: REGISTER });
            return Ok(());
        }
        let nothing = Seen::nothing();
        let seen = match look {
            Look::Found(seen) => seen,
            Look::Missing | Look::Forged => &nothing,
        };
        match look {
            Look::Forged => self.findings.add(Finding::OutsideChanged),
            Look::Missing if register.is_some() => self.findings.add(Finding::OutsideMissing),
            Look::Missing | Look::Found(_) => {}
        }
        self.register(tables, register, &seen.register)?;
        self.chains(tables, seen)?;
        let strays = tables.strays()?;
        if strays > 0 {
            self.findings.add(Finding::Strays { count: strays });
        }
        Ok(())
    }

    fn register(&mut self, tables: &mut dyn Tables, found: Option<Found<SignedHead>>, seen: &Mark) -> Result<()> {
        let head = found.and_then(|found| self.believed(found));
        let place = (REGISTER, Nonce::default(), head.as_ref().map_or(u64::MAX, |head| head.count));
        let mut entries = Pages::default();
        let mut walk = Walk::new(self.key, place, &mut self.guesses, &mut self.findings, watch(seen));
        let mut any = false;
        while let Some(entry) = entries.take(|after| tables.entries(after.map_or(0, |last: &Entry| last.seq), PAGE))? {
            any = true;
            self.report.accepted += u64::from(entry.it.event == Event::Accepted);
            walk.step(&entry.it, entry.malformed);
        }
        let watched = walk.finish(head.as_ref());
        if any && head.is_none() && tables.head(REGISTER)?.is_none() {
            self.findings.add(Finding::HeadRemoved { chain: REGISTER });
        }
        self.compare(seen, head.as_ref().map_or(0, |head| head.count), watched);
        Ok(())
    }

    fn chains(&mut self, tables: &mut dyn Tables, seen: &Seen) -> Result<()> {
        let (mut heads, mut rows, mut entries) = (Pages::default(), Pages::default(), Pages::default());
        let mut unmet = seen.chains.clone();
        loop {
            let head = heads.peek(|after| tables.heads(after.map_or(0, |last: &SignedHead| last.head.chain), PAGE))?;
            let head_chain = head.map(|found| found.it.head.chain);
            let row =
                rows.peek(|after| tables.rows(after.map_or(BEFORE_ALL, |last: &Row| (last.chain, last.seq)), PAGE))?;
            let row_chain = row.map(|found| found.it.chain);
            let opened_chain = next_opened(tables, &mut entries, self.key)?;
            let Some(chain) = [head_chain, row_chain, opened_chain].into_iter().flatten().min() else { break };
            let parts = Parts {
                chain,
                head: if head_chain == Some(chain) { heads.pop() } else { None },
                opened: if opened_chain == Some(chain) { entries.pop().map(|found| found.it) } else { None },
                has_rows: row_chain == Some(chain),
            };
            let mark = unmet.iter().position(|mark| mark.chain == chain).map(|index| unmet.remove(index));
            self.chain(tables, &mut rows, parts, mark)?;
        }
        for mark in unmet {
            self.findings.add(Finding::RolledBack { chain: mark.chain, seen: mark.count, found: 0 });
        }
        Ok(())
    }

    fn chain(
        &mut self,
        tables: &mut dyn Tables,
        rows: &mut Pages<Row>,
        parts: Parts,
        mark: Option<Mark>,
    ) -> Result<()> {
        let Parts { chain, head: found, opened, has_rows } = parts;
        if found.is_none()
            && let Some(removed) = prune::pruned(self.key, tables, chain, ABOUT_ONE)?
        {
            return self.pruned(tables, rows, chain, removed, mark);
        }
        self.report.chains += 1;
        if found.is_none() && !has_rows {
            self.findings.add(Finding::ChainRemoved { chain });
            return Ok(());
        }
        if opened.is_none() {
            self.findings.add(Finding::ChainInserted { chain });
        } else if found.is_none() {
            self.findings.add(Finding::HeadRemoved { chain });
        }
        let head = found.and_then(|found| self.believed(found));
        let entered = opened.as_ref().map(|entry| entry.nonce);
        if let (Some(head), Some(entered)) = (&head, entered)
            && head.nonce != entered
        {
            self.findings.add(Finding::HeadChanged { chain });
        }
        let nonce = entered.or(head.as_ref().map(|head| head.nonce));
        let watched = self.rows(tables, rows, (chain, nonce.unwrap_or_default()), head.as_ref(), mark.as_ref())?;
        let count = head.as_ref().map_or(0, |head| head.count);
        if let Some(mark) = mark {
            let other = nonce.is_some_and(|nonce| nonce != mark.nonce);
            self.compare(&mark, count, Watched { differs: watched.differs || other, ..watched });
        }
        if let Some(head) = head {
            self.closings(tables, &head)?;
        }
        Ok(())
    }

    /// A chain that the register says was removed: nothing of it may be left, and what was seen of it has to have been in it.
    fn pruned(
        &mut self,
        tables: &mut dyn Tables,
        rows: &mut Pages<Row>,
        chain: u64,
        (count, nonce): (u64, Nonce),
        mark: Option<Mark>,
    ) -> Result<()> {
        self.report.pruned_chains += 1;
        self.report.pruned_rows += count;
        if let Some(mark) = mark.filter(|mark| mark.count > count || mark.nonce != nonce) {
            self.findings.add(Finding::RolledBack { chain, seen: mark.count, found: count });
        }
        let mut left = false;
        loop {
            let next =
                rows.peek(|after| tables.rows(after.map_or(BEFORE_ALL, |last: &Row| (last.chain, last.seq)), PAGE))?;
            if next.is_none_or(|found| found.it.chain != chain) {
                break;
            }
            rows.pop();
            left = true;
        }
        if left {
            self.findings.add(Finding::PrunedLeft { chain });
        }
        Ok(())
    }

    fn rows(
        &mut self,
        tables: &mut dyn Tables,
        rows: &mut Pages<Row>,
        (chain, nonce): (u64, Nonce),
        head: Option<&Head>,
        mark: Option<&Mark>,
    ) -> Result<Watched> {
        let place = (chain, nonce, head.map_or(u64::MAX, |head| head.count));
        let watched = mark.map_or_else(Watched::nothing, watch);
        let mut walk = Walk::new(self.key, place, &mut self.guesses, &mut self.findings, watched);
        loop {
            let next =
                rows.peek(|after| tables.rows(after.map_or(BEFORE_ALL, |last: &Row| (last.chain, last.seq)), PAGE))?;
            if next.is_none_or(|found| found.it.chain != chain) {
                return Ok(walk.finish(head));
            }
            let Some(Found { it: row, malformed }) = rows.pop() else { continue };
            self.report.rows += 1;
            if row.kind == Kind::Gap {
                self.report.lost += row.bytes;
            }
            walk.step(&row, malformed);
        }
    }

    /// What the register says of the end of a chain has to be what its head says.
    fn closings(&mut self, tables: &mut dyn Tables, head: &Head) -> Result<()> {
        let chain = head.chain;
        for found in tables.entries_about(chain, ABOUT_ONE)? {
            let entry = found.it;
            let ours = !found.malformed && entry.sign_at(self.key, &Nonce::default(), entry.seq) == entry.hash;
            if ours && entry.event == Event::Pruned {
                self.findings.add(Finding::PrunedLeft { chain });
            }
            if !ours || entry.event != Event::Closed {
                continue;
            }
            if head.count < entry.count {
                self.findings.add(Finding::CutOff { chain, from: head.count + 1, to: entry.count });
            } else if !head.closed || (head.nonce, head.count, head.hash) != (entry.nonce, entry.count, entry.last) {
                self.findings.add(Finding::HeadChanged { chain });
            }
        }
        Ok(())
    }

    /// The head, if it is signed; a finding otherwise.
    fn believed(&mut self, found: Found<SignedHead>) -> Option<Head> {
        let SignedHead { head, mac } = found.it;
        let chain = head.chain;
        if !found.malformed && head.sign(self.key) == mac {
            return Some(head);
        }
        let other = head.key != self.key.id();
        self.findings.add(if other { Finding::OtherKey { chain } } else { Finding::HeadChanged { chain } });
        None
    }

    fn compare(&mut self, seen: &Mark, found: u64, watched: Watched) {
        if found < seen.count || watched.differs {
            self.findings.add(Finding::RolledBack { chain: seen.chain, seen: seen.count, found });
        }
    }
}

fn watch(mark: &Mark) -> Watched {
    Watched { seq: mark.count, hash: mark.hash, differs: false }
}

/// The chain that the next entry opens which can be believed; others are passed over.
fn next_opened(tables: &mut dyn Tables, entries: &mut Pages<Entry>, key: &AuditKey) -> Result<Option<u64>> {
    loop {
        let next = entries.peek(|after| tables.entries(after.map_or(0, |last: &Entry| last.seq), PAGE))?;
        let Some(Found { it: entry, malformed }) = next else { return Ok(None) };
        let signed = !malformed && entry.sign_at(key, &Nonce::default(), entry.chain) == entry.hash;
        if signed && entry.event == Event::Opened {
            return Ok(Some(entry.chain));
        }
        entries.pop();
    }
}

/// Something that comes page by page.
struct Pages<T> {
    page: VecDeque<Found<T>>,
    last: Option<T>,
    over: bool,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { page: VecDeque::new(), last: None, over: false }
    }
}

impl<T: Clone> Pages<T> {
    /// The next one, left where it is. `more` gives the page behind the one it is given.
    fn peek(&mut self, more: impl FnOnce(Option<&T>) -> Result<Vec<Found<T>>>) -> Result<Option<&Found<T>>> {
        if self.page.is_empty() && !self.over {
            self.page = more(self.last.as_ref())?.into();
            match self.page.back() {
                Some(last) => self.last = Some(last.it.clone()),
                None => self.over = true,
            }
        }
        Ok(self.page.front())
    }

    fn pop(&mut self) -> Option<Found<T>> {
        self.page.pop_front()
    }

    fn take(&mut self, more: impl FnOnce(Option<&T>) -> Result<Vec<Found<T>>>) -> Result<Option<Found<T>>> {
        self.peek(more)?;
        Ok(self.pop())
    }
}
