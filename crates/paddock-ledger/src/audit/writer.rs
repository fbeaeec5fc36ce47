//! Puts rows into the chain of this process, and opens and closes chains.
//!
//! Rows and head are one transaction. When the database does not say whether a transaction was kept (a connection lost in
//! the middle of a commit), the same rows are tried again and recognized by the head that they lead to: a row is never
//! there twice. It must never sign what it did not write itself: a register that does not fit is not continued.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::chain::{Event, Head, Nonce, REGISTER};
use super::error::AuditError;
use super::key::{self, AuditKey};
use super::outside::{Mark, Outside, Seen};
use super::queue::Queue;
use super::row::Row;
use super::storage::{Found, Result, SignedHead, Storage, Tables};
use paddock_db::statements::Deed;

/// Rows in one transaction.
const CHUNK: usize = 4096;

/// A chain that has not grown for so long is closed by whoever opens the next.
const SILENCE: Duration = Duration::from_secs(3600);

/// Silent chains that are closed at once.
const CLOSED_AT_ONCE: usize = 64;

/// Where rows go and what signs them.
pub(super) struct Book {
    pub(super) storage: Box<dyn Storage>,
    pub(super) key: AuditKey,
    pub(super) outside: Outside,
}

/// The chain of this process, and the rows that are on their way into it.
#[derive(Default)]
pub(super) struct Writer {
    /// As it was when the database last said so.
    chain: Option<Head>,
    /// For the next chain; remembered, so that a chain whose opening was left open is known again.
    nonce: Option<Nonce>,
    /// The last transaction may have been kept without our knowing.
    uncertain: bool,
    prepared: bool,
    taken: Queue,
    next: usize,
    /// What the history wants written, with the next rows that are.
    deeds: Vec<Deed>,
    /// How many rows, of all that ever waited, are kept once `taken` is.
    upto: u64,
    kept: u64,
}

impl Writer {
    /// How many rows, of all that ever waited, are in the database.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    pub(super) fn is_done(&self) -> bool {
        self.next >= self.taken.len() && self.deeds.is_empty()
    }

    /// Takes the rows of `queue`, which are all up to `upto`, and gives it room for others. Only when it is done with
    /// those before.
    pub(super) fn take(&mut self, queue: &mut Queue, upto: u64) {
        self.taken.clear();
        self.next = 0;
        self.upto = upto;
        std::mem::swap(&mut self.taken, queue);
        self.deeds = self.taken.take_deeds();
    }

    /// How many rows that were taken are not in the database.
    pub(super) fn unwritten(&self) -> usize {
        self.taken.len() - self.next
    }

    /// How far the chain of this process is, if it has one.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.chain.as_ref().map(Mark::of)
    }

    /// Writes some of the rows that were taken.
    pub(super) fn write_some(&mut self, book: &Book, at: i64, until: Instant) -> Result<()> {
        let range = self.next..self.taken.len().min(self.next + CHUNK);
        let mut deeds = std::mem::take(&mut self.deeds);
        let written = if range.is_empty() {
            self.write_deeds(book, &mut deeds, until)
        } else {
            self.write_rows(book, range, &mut deeds, at, until)
        };
        if written.is_err() {
            self.deeds = deeds;
        }
        written?;
        if self.is_done() {
            self.kept = self.upto;
        }
        Ok(())
    }

    /// What the history wants written, where no row waits.
    fn write_deeds(&mut self, book: &Book, deeds: &mut [Deed], until: Instant) -> Result<()> {
        if deeds.is_empty() {
            return Ok(());
        }
        book.storage.write(until, &mut |tables| deeds.iter_mut().try_for_each(|deed| tables.run(deed)))
    }

    fn write_rows(
        &mut self,
        book: &Book,
        range: Range<usize>,
        deeds: &mut [Deed],
        at: i64,
        until: Instant,
    ) -> Result<()> {
        if !self.prepared {
            book.outside.prepare(&book.key, &*book.storage)?;
            self.prepared = true;
        }
        let nonce = self.next_nonce(book)?;
        let head = self.append(book, &nonce, range.clone(), deeds, at, until)?;
        if head.nonce == nonce {
            self.nonce = None;
        }
        self.chain = Some(head);
        self.next = range.end;
        Ok(())
    }

    fn append(
        &mut self,
        book: &Book,
        nonce: &Nonce,
        range: Range<usize>,
        deeds: &mut [Deed],
        at: i64,
        until: Instant,
    ) -> Result<Head> {
        let mut reached = None;
        let this = &*self;
        let outcome = book.storage.write(until, &mut |tables| {
            let book = Tx { key: &book.key, tables, at };
            reached = Some(this.append_in(book, nonce, range.clone(), deeds)?);
            Ok(())
        });
        self.uncertain = outcome.is_err();
        outcome?;
        reached.ok_or(AuditError::Tampered)
    }

    fn append_in(&self, mut tx: Tx<'_>, nonce: &Nonce, range: Range<usize>, deeds: &mut [Deed]) -> Result<Head> {
        if self.uncertain
            && let Some(kept) = self.kept_before(&mut tx, nonce, range.clone())?
        {
            // And what the history wanted with them.
            return Ok(kept);
        }
        deeds.iter_mut().try_for_each(|deed| tx.tables.run(deed))?;
        if let Some(grown) = self.grow(&mut tx, range.clone())? {
            return Ok(grown);
        }
        let head = match self.still_ours(&mut tx)? {
            Some(head) => head,
            None => tx.open(*nonce)?,
        };
        let (rows, head) = self.linked(tx.key, head, range);
        tx.tables.insert(&rows)?;
        tx.put(&head)?;
        Ok(head)
    }

    /// Puts the rows behind the last one where the chain is as this process left it: nearly always.
    fn grow(&self, tx: &mut Tx<'_>, range: Range<usize>) -> Result<Option<Head>> {
        let Some(known) = &self.chain else { return Ok(None) };
        let (rows, head) = self.linked(tx.key, known.clone(), range);
        let signed = |head: &Head| SignedHead { mac: head.sign(tx.key), head: head.clone() };
        if !tx.tables.grow_head(&signed(known), &signed(&head))? {
            return Ok(None);
        }
        tx.tables.insert(&rows)?;
        Ok(Some(head))
    }

    /// The head to which these rows have led already.
    fn kept_before(&self, tx: &mut Tx<'_>, nonce: &Nonce, range: Range<usize>) -> Result<Option<Head>> {
        let fresh = tx.tables.head_of_nonce(nonce)?.and_then(|found| fitting(tx.key, found));
        let start = fresh.as_ref().map(|head| Head::new(head.chain, *nonce, tx.key, 0));
        let known = match &self.chain {
            Some(known) => tx.tables.head(known.chain)?.and_then(|found| fitting(tx.key, found)),
            None => None,
        };
        for (found, before) in [(fresh, start), (known, self.chain.clone())] {
            let (Some(found), Some(before)) = (found, before) else { continue };
            let (_, after) = self.linked(tx.key, before, range.clone());
            if (after.nonce, after.count, after.hash) == (found.nonce, found.count, found.hash) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The chain of this process, if it is as it was left. Where it was changed by others, what it was goes into the register.
    fn still_ours(&self, tx: &mut Tx<'_>) -> Result<Option<Head>> {
        let Some(known) = &self.chain else { return Ok(None) };
        let found = tx.tables.head(known.chain)?.and_then(|found| fitting(tx.key, found));
        match found.filter(|found| (found.nonce, found.count, found.hash) == (known.nonce, known.count, known.hash)) {
            Some(found) => Ok(Some(found).filter(|found| !found.closed)),
            None => {
                tx.enter(Event::Closed, known)?;
                Ok(None)
            }
        }
    }

    fn linked(&self, key: &AuditKey, mut head: Head, range: Range<usize>) -> (Vec<Row>, Head) {
        let rows = range.filter_map(|index| self.taken.body(index)).map(|body| head.link(key, body)).collect();
        (rows, head)
    }

    fn next_nonce(&mut self, book: &Book) -> Result<Nonce> {
        if let Some(nonce) = self.nonce {
            return Ok(nonce);
        }
        let failed = |why| AuditError::File { path: book.outside.path().to_owned(), why };
        let mut nonce = Nonce::default();
        nonce.copy_from_slice(&key::random().map_err(failed)?[..16]);
        self.nonce = Some(nonce);
        Ok(nonce)
    }

    /// Lets go of the chain: the next row opens another.
    pub(super) fn forget(&mut self) {
        self.chain = None;
    }

    /// Closes the chain of this process; afterwards it has none.
    pub(super) fn close(&mut self, book: &Book, at: i64, until: Instant) -> Result<()> {
        if self.chain.is_none() {
            return Ok(());
        }
        let this = &*self;
        book.storage.write(until, &mut |tables| {
            let mut tx = Tx { key: &book.key, tables, at };
            match this.still_ours(&mut tx)? {
                Some(head) => tx.close(&head),
                None => Ok(()),
            }
        })?;
        self.chain = None;
        Ok(())
    }
}

/// A transaction, with what signs in it.
pub(super) struct Tx<'a> {
    pub(super) key: &'a AuditKey,
    pub(super) tables: &'a mut dyn Tables,
    pub(super) at: i64,
}

impl Tx<'_> {
    fn put(&mut self, head: &Head) -> Result<()> {
        self.tables.put_head(&SignedHead { mac: head.sign(self.key), head: head.clone() })
    }

    /// The head of the register, which nobody else writes until the end.
    pub(super) fn register(&mut self) -> Result<Head> {
        let first = Head::new(REGISTER, Nonce::default(), self.key, self.at);
        self.tables.lock_register(&SignedHead { mac: first.sign(self.key), head: first })?;
        let found = self.tables.head(REGISTER)?.ok_or(AuditError::Tampered)?;
        if found.it.head.key != self.key.id() {
            return Err(AuditError::OtherKey);
        }
        let head = fitting(self.key, found).ok_or(AuditError::Tampered)?;
        let last = self.tables.entries(head.count.saturating_sub(1), 2)?;
        let fits = match last.as_slice() {
            [] => head.count == 0,
            [last] => (last.it.seq, last.it.hash) == (head.count, head.hash),
            _ => false,
        };
        if fits { Ok(head) } else { Err(AuditError::Tampered) }
    }

    pub(super) fn enter(&mut self, event: Event, of: &Head) -> Result<u64> {
        let mut register = self.register()?;
        let entry = register.enter(self.key, self.at, event, of);
        self.tables.enter(&entry)?;
        self.put(&register)?;
        Ok(entry.seq)
    }

    fn open(&mut self, nonce: Nonce) -> Result<Head> {
        // First, so that whoever opens or closes comes one after the other.
        self.register()?;
        self.close_silent()?;
        let chain = self.enter(Event::Opened, &Head::new(REGISTER, nonce, self.key, self.at))?;
        Ok(Head::new(chain, nonce, self.key, self.at))
    }

    fn close(&mut self, head: &Head) -> Result<()> {
        self.enter(Event::Closed, head)?;
        self.put(&Head { closed: true, ..head.clone() })
    }

    fn close_silent(&mut self) -> Result<()> {
        let silence = i64::try_from(SILENCE.as_millis()).unwrap_or(i64::MAX);
        for found in self.tables.silent_heads(self.at.saturating_sub(silence), CLOSED_AT_ONCE)? {
            if let Some(head) = fitting(self.key, found) {
                self.close(&head)?;
            }
        }
        Ok(())
    }
}

/// The head, if our key signed it.
pub(super) fn fitting(key: &AuditKey, found: Found<SignedHead>) -> Option<Head> {
    let SignedHead { head, mac } = found.it;
    (!found.malformed && head.sign(key) == mac).then_some(head)
}

/// A person takes the database as it is: what the outside head said goes into the register, and the outside head
/// begins anew with what is there.
pub(super) fn accept(book: &Book, said: &Seen, at: i64, until: Instant) -> Result<Seen> {
    let mut seen = Seen::nothing();
    book.storage.write(until, &mut |tables| {
        let mut tx = Tx { key: &book.key, tables, at };
        let mut of = Head::new(REGISTER, said.register.nonce, tx.key, at);
        (of.count, of.hash) = (said.register.count, said.register.hash);
        tx.enter(Event::Accepted, &of)?;
        seen.register = Mark::of(&tx.register()?);
        Ok(())
    })?;
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use paddock_core::CallId;
    use paddock_db::{Durability, Sqlite};

    use super::*;
    use crate::audit::SQLITE_SCHEMA;
    use crate::audit::outside::Look;
    use crate::audit::queue::Waiting;
    use crate::audit::row::Kind;
    use crate::audit::verify::verify;

    fn book(home: &std::path::Path) -> Book {
        let storage = Box::new(Sqlite::new(home.join("state.db"), vec![SQLITE_SCHEMA], Durability::Process));
        let outside = Outside { path: home.join("head"), sync: false };
        Book { storage, key: AuditKey::from_bytes([3; 32]), outside }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    fn take_row(writer: &mut Writer, path: &str, at: i64) {
        let mut queue = Queue::default();
        let (agent, tool, outcome, reason) = ("main", "read", "done", "");
        let (kind, call) = (Kind::Outcome, CallId(1));
        queue.push(&Waiting {
            at,
            kind,
            call,
            agent,
            by: None,
            tool,
            workspace: None,
            path,
            outcome,
            reason,
            risk: None,
            bytes: 0,
            took_us: 0,
        });
        let upto = writer.upto + 1;
        writer.take(&mut queue, upto);
    }

    fn write(writer: &mut Writer, book: &Book, path: &str, at: i64) -> u64 {
        take_row(writer, path, at);
        writer.write_some(book, at, soon()).unwrap();
        assert_eq!(writer.kept(), writer.upto);
        writer.chain.as_ref().unwrap().chain
    }

    fn checked(book: &Book) -> (u64, u64) {
        let look = book.outside.look(&book.key).unwrap();
        assert!(matches!(look, Look::Found(_)));
        let report = verify(book, &look).unwrap();
        assert!(report.is_ok(), "{report:?}");
        (report.chains, report.rows)
    }

    #[test]
    fn a_silent_chain_is_closed_by_who_comes_and_its_owner_opens_another() {
        let home = tempfile::tempdir().unwrap();
        let book = book(home.path());
        let (mut silent, mut lively, mut late) = (Writer::default(), Writer::default(), Writer::default());
        let hour = i64::try_from(SILENCE.as_millis()).unwrap();
        assert_eq!(write(&mut silent, &book, "/1", 0), 1);
        book.outside.advance(&book.key, &*book.storage, silent.mark()).unwrap();
        assert_eq!(write(&mut lively, &book, "/2", hour), 2, "an hour to the millisecond is not yet too long");
        let before = book.outside.look(&book.key).unwrap();
        assert!(matches!(&before, Look::Found(seen) if seen.chains.len() == 1), "{before:?}");
        assert_eq!(write(&mut late, &book, "/3", hour + 1), 4, "the third entry closed the first chain");
        book.outside.advance(&book.key, &*book.storage, late.mark()).unwrap();
        let after = book.outside.look(&book.key).unwrap();
        assert!(matches!(&after, Look::Found(seen) if seen.chains == [late.mark().unwrap()]), "{after:?}");
        assert_eq!(write(&mut silent, &book, "/4", hour + 2), 5, "its owner was alive");
        assert_eq!(write(&mut lively, &book, "/5", hour + 3), 2);
        assert_eq!(checked(&book), (4, 5));
    }

    /// A storage that keeps what it is given and then says that it does not know.
    struct Forgetful(Sqlite, std::sync::atomic::AtomicBool);

    impl Storage for Forgetful {
        fn is_shared(&self) -> bool {
            false
        }

        fn read(&self, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
            Storage::read(&self.0, look)
        }

        fn read_durable(&self, until: Instant, look: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
            self.0.read_durable(until, look)
        }

        fn write(&self, until: Instant, change: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
            Storage::write(&self.0, until, change)?;
            match self.1.swap(false, std::sync::atomic::Ordering::SeqCst) {
                true => Err(paddock_db::DbError::Other { name: "it".into(), why: "lost".into() }.into()),
                false => Ok(()),
            }
        }
    }

    #[test]
    fn rows_of_which_it_is_not_known_whether_they_were_kept_are_never_there_twice() {
        let home = tempfile::tempdir().unwrap();
        let plain = book(home.path());
        let db = Sqlite::new(home.path().join("state.db"), vec![SQLITE_SCHEMA], Durability::Process);
        let forgets = std::sync::atomic::AtomicBool::new(true);
        let book = Book { storage: Box::new(Forgetful(db, forgets)), key: plain.key, outside: plain.outside };
        let mut writer = Writer::default();
        // At the opening of a chain, and within it.
        take_row(&mut writer, "/1", 1);
        assert!(writer.write_some(&book, 1, soon()).is_err());
        writer.write_some(&book, 2, soon()).unwrap();
        assert_eq!(checked(&book), (1, 1));
        write(&mut writer, &book, "/2", 3);
        assert_eq!(checked(&book), (1, 2));
    }

    #[test]
    fn the_same_within_a_chain() {
        let home = tempfile::tempdir().unwrap();
        let plain = book(home.path());
        let mut writer = Writer::default();
        write(&mut writer, &plain, "/1", 1);
        let db = Sqlite::new(home.path().join("state.db"), vec![SQLITE_SCHEMA], Durability::Process);
        let forgets = std::sync::atomic::AtomicBool::new(true);
        let book = Book { storage: Box::new(Forgetful(db, forgets)), key: plain.key, outside: plain.outside };
        take_row(&mut writer, "/2", 2);
        assert!(writer.write_some(&book, 2, soon()).is_err());
        writer.write_some(&book, 3, soon()).unwrap();
        assert_eq!(checked(&book), (1, 2));
        writer.close(&book, 4, soon()).unwrap();
        assert_eq!(checked(&book), (1, 2));
    }
}
