//! Rows, heads and entries as the columns of a database, in the one order that every statement names them in.
//!
//! Reads what a program wrote; it must never judge it. Values that no program wrote are taken as nothing and marked, whatever
//! their type: who changes a database may change its tables too.

use paddock_core::CallId;
use paddock_db::statements::Param;

use super::chain::{Entry, Event, Head};
use super::query::Count;
use super::row::{Body, Kind, Row, risk_code, risk_of_code};
use super::storage::{Found, SignedHead};

/// The columns of a row.
pub(super) const ROW: &str = "chain, seq, at, kind, call, agent, person, tool, workspace, path, outcome, reason, risk, bytes, took_us, prev, hash";
/// How many they are.
pub(super) const ROW_COLUMNS: usize = 17;
/// The columns of a head.
pub(super) const HEAD: &str = "chain, nonce, key, at, count, hash, closed, mac";
/// The columns of an entry.
pub(super) const ENTRY: &str = "seq, at, event, chain, nonce, count, last, prev, hash";

/// A value of another type than any that was written.
#[derive(Debug)]
pub(super) struct Odd;

/// One row that a database answers with.
pub(super) trait Cells {
    fn number(&self, at: usize) -> Result<i64, Odd>;
    fn bytes(&self, at: usize) -> Result<&[u8], Odd>;
    fn text(&self, at: usize) -> Result<Option<&str>, Odd>;
}

/// Something that is read from its columns.
pub(super) trait Stored: Sized {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self;

    /// It, and whether a program wrote it.
    fn found(cells: &impl Cells) -> Found<Self> {
        let mut columns = Columns { cells, at: 0, malformed: false };
        let it = Self::read(&mut columns);
        Found { it, malformed: columns.malformed }
    }
}

/// The columns of a row of the database, one after the other.
pub(super) struct Columns<'r, C> {
    cells: &'r C,
    at: usize,
    malformed: bool,
}

impl<'r, C: Cells> Columns<'r, C> {
    fn next<T>(&mut self, read: impl FnOnce(&'r C, usize) -> Result<T, Odd>) -> Option<T> {
        self.at += 1;
        let value = read(self.cells, self.at - 1).ok();
        self.malformed |= value.is_none();
        value
    }

    fn number(&mut self) -> i64 {
        self.next(C::number).unwrap_or_default()
    }

    fn count(&mut self) -> u64 {
        self.number().cast_unsigned()
    }

    /// A code that does not stand for itself is none that a program wrote.
    fn coded<T>(&mut self, of_code: impl Fn(i64) -> T, code_of: impl Fn(&T) -> u8) -> T {
        let code = self.number();
        let value = of_code(code);
        self.malformed |= i64::from(code_of(&value)) != code;
        value
    }

    fn blob<const N: usize>(&mut self) -> [u8; N] {
        let read = |cells: &'r C, at: usize| cells.bytes(at)?.try_into().map_err(|_| Odd);
        self.next(read).unwrap_or([0; N])
    }

    fn text(&mut self) -> String {
        let read = |cells: &'r C, at: usize| cells.text(at)?.ok_or(Odd);
        self.next(read).unwrap_or_default().to_owned()
    }

    fn optional_text(&mut self) -> Option<String> {
        self.next(C::text).flatten().map(str::to_owned)
    }
}

impl Stored for Row {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self {
        let (chain, seq) = (columns.count(), columns.count());
        let body = Body {
            at: columns.number(),
            kind: columns.coded(Kind::of_code, |kind| kind.code()),
            call: CallId(u128::from_be_bytes(columns.blob())),
            agent: columns.text(),
            by: columns.optional_text(),
            tool: columns.text(),
            workspace: columns.optional_text(),
            path: columns.text(),
            outcome: columns.text(),
            reason: columns.text(),
            risk: columns.coded(risk_of_code, |risk| risk_code(*risk)),
            bytes: columns.count(),
            took_us: columns.count(),
        };
        Row::new(chain, seq, body, columns.blob(), columns.blob())
    }
}

impl Stored for SignedHead {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self {
        let head = Head {
            chain: columns.count(),
            nonce: columns.blob(),
            key: columns.blob(),
            at: columns.number(),
            count: columns.count(),
            hash: columns.blob(),
            closed: columns.coded(|code| code == 1, |closed| (*closed).into()),
        };
        Self { head, mac: columns.blob() }
    }
}

impl Stored for Entry {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self {
        Self {
            seq: columns.count(),
            at: columns.number(),
            event: columns.coded(|code| Event::of_code(code).unwrap_or(Event::Accepted), |event| event.code()),
            chain: columns.count(),
            nonce: columns.blob(),
            count: columns.count(),
            last: columns.blob(),
            prev: columns.blob(),
            hash: columns.blob(),
        }
    }
}

impl Stored for Count {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self {
        Self { from: columns.number(), outcome: columns.text(), count: columns.count() }
    }
}

/// A number.
impl Stored for u64 {
    fn read(columns: &mut Columns<'_, impl Cells>) -> Self {
        columns.count()
    }
}

/// A row as it is written, with the bytes of its call's id, which are nowhere else.
pub(super) fn of_row<'r>(row: &'r Row, call: &'r [u8; 16]) -> [Param<'r>; ROW_COLUMNS] {
    [
        number(row.chain),
        number(row.seq),
        Param::Int(row.at),
        number(row.kind.code()),
        Param::Bytes(call),
        Param::Text(&row.agent),
        row.by.as_deref().map_or(Param::Null, Param::Text),
        Param::Text(&row.tool),
        row.workspace.as_deref().map_or(Param::Null, Param::Text),
        Param::Text(&row.path),
        Param::Text(&row.outcome),
        Param::Text(&row.reason),
        number(risk_code(row.risk)),
        number(row.bytes),
        number(row.took_us),
        Param::Bytes(&row.prev),
        Param::Bytes(&row.hash),
    ]
}

/// A head as it is written.
pub(super) fn of_head(signed: &SignedHead) -> [Param<'_>; 8] {
    let SignedHead { head, mac } = signed;
    [
        number(head.chain),
        Param::Bytes(&head.nonce),
        Param::Bytes(&head.key),
        Param::Int(head.at),
        number(head.count),
        Param::Bytes(&head.hash),
        number(head.closed),
        Param::Bytes(mac),
    ]
}

/// An entry as it is written.
pub(super) fn of_entry(entry: &Entry) -> [Param<'_>; 9] {
    [
        number(entry.seq),
        Param::Int(entry.at),
        number(entry.event.code()),
        number(entry.chain),
        Param::Bytes(&entry.nonce),
        number(entry.count),
        Param::Bytes(&entry.last),
        Param::Bytes(&entry.prev),
        Param::Bytes(&entry.hash),
    ]
}

/// A number without a sign, which databases keep with one: as the same bits.
pub(super) fn number<'p>(number: impl Into<u64>) -> Param<'p> {
    Param::Int(number.into().cast_signed())
}
