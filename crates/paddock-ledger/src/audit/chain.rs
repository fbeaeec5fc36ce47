//! What is signed, byte for byte: rows, entries of the register, heads.
//!
//! Every text goes in with its length before it and every number with eight bytes, behind a word for the purpose: no
//! two things that can be signed have the same bytes. Changing this changes every hash; a new form gets a new word.

use super::key::AuditKey;
use super::row::{Body, Hash, Row, risk_code};

/// The register is kept like a chain, under this number.
pub(super) const REGISTER: u64 = 0;

/// Makes a chain known apart from another with its number, in a copy of the database.
pub(super) type Nonce = [u8; 16];

/// Before the first link.
pub(super) const START: Hash = [0; 32];

/// The end of a chain as far as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) chain: u64,
    pub(super) nonce: Nonce,
    /// Which key signed it.
    pub(super) key: [u8; 8],
    /// When it last grew.
    pub(super) at: i64,
    pub(super) count: u64,
    pub(super) hash: Hash,
    pub(super) closed: bool,
}

/// What an entry of the register tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A chain begins; it has the number of this entry.
    Opened,
    /// A chain is over, with so many rows and this last hash.
    Closed,
    /// A person had a chain removed, which had so many rows and this last hash.
    Pruned,
    /// A person took the database as it is, although the outside head said otherwise: it had seen so many entries, and this hash.
    Accepted,
}

impl Event {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Opened => 1,
            Self::Closed => 2,
            Self::Accepted => 3,
            Self::Pruned => 4,
        }
    }

    pub(super) fn of_code(code: i64) -> Option<Self> {
        let all = [Self::Opened, Self::Closed, Self::Accepted, Self::Pruned];
        all.into_iter().find(|event| i64::from(event.code()) == code)
    }
}

/// One entry of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) event: Event,
    pub(super) chain: u64,
    pub(super) nonce: Nonce,
    pub(super) count: u64,
    pub(super) last: Hash,
    pub(super) prev: Hash,
    pub(super) hash: Hash,
}

/// Something that stands in a chain: it can be signed for a place, and says what it was signed with.
pub(super) trait Link {
    /// The number it is kept under.
    fn seq(&self) -> u64;
    fn prev(&self) -> Hash;
    fn hash(&self) -> Hash;
    /// Its signature, were it at `seq`.
    fn sign_at(&self, key: &AuditKey, nonce: &Nonce, seq: u64) -> Hash;
}

impl Link for Row {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn prev(&self) -> Hash {
        self.prev
    }

    fn hash(&self) -> Hash {
        self.hash
    }

    fn sign_at(&self, key: &AuditKey, nonce: &Nonce, seq: u64) -> Hash {
        // Rows without a person are as they were before there were any.
        let mut text = Signed::new(if self.by.is_some() { "paddock audit row 2" } else { "paddock audit row 1" });
        text.number(self.chain).text(nonce).number(seq).text(&self.prev);
        text.number(self.at.cast_unsigned()).number(self.kind.code().into()).text(&self.call.0.to_le_bytes());
        text.text(self.agent.as_bytes()).text(self.tool.as_bytes());
        text.number(self.workspace.is_some().into()).text(self.workspace.as_deref().unwrap_or("").as_bytes());
        text.text(self.path.as_bytes()).text(self.outcome.as_bytes()).text(self.reason.as_bytes());
        text.number(risk_code(self.risk).into()).number(self.bytes).number(self.took_us);
        if let Some(by) = &self.by {
            text.text(by.as_bytes());
        }
        key.sign(&text.0)
    }
}

impl Link for Entry {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn prev(&self) -> Hash {
        self.prev
    }

    fn hash(&self) -> Hash {
        self.hash
    }

    fn sign_at(&self, key: &AuditKey, _: &Nonce, seq: u64) -> Hash {
        let mut text = Signed::new("paddock audit register 1");
        text.number(seq).text(&self.prev).number(self.at.cast_unsigned()).number(self.event.code().into());
        text.number(self.chain).text(&self.nonce).number(self.count).text(&self.last);
        key.sign(&text.0)
    }
}

impl Head {
    /// The head of a chain in which nothing is yet.
    pub(super) fn new(chain: u64, nonce: Nonce, key: &AuditKey, at: i64) -> Self {
        Self { chain, nonce, key: key.id(), at, count: 0, hash: START, closed: false }
    }

    pub(super) fn sign(&self, key: &AuditKey) -> Hash {
        let mut text = Signed::new("paddock audit head 1");
        text.number(self.chain).text(&self.nonce).text(&self.key).number(self.at.cast_unsigned());
        text.number(self.count).text(&self.hash).number(self.closed.into());
        key.sign(&text.0)
    }

    /// Puts a row behind the last one.
    pub(super) fn link(&mut self, key: &AuditKey, body: Body) -> Row {
        self.count += 1;
        self.at = self.at.max(body.at);
        let mut row = Row::new(self.chain, self.count, body, self.hash, START);
        row.hash = row.sign_at(key, &self.nonce, self.count);
        self.hash = row.hash;
        row
    }

    /// Puts an entry behind the last one of the register.
    pub(super) fn enter(&mut self, key: &AuditKey, at: i64, event: Event, of: &Head) -> Entry {
        self.count += 1;
        self.at = self.at.max(at);
        let (seq, prev, Head { chain, nonce, count, hash: last, .. }) = (self.count, self.hash, of.clone());
        let chain = if event == Event::Opened { seq } else { chain };
        let mut entry = Entry { seq, at, event, chain, nonce, count, last, prev, hash: START };
        entry.hash = entry.sign_at(key, &self.nonce, seq);
        self.hash = entry.hash;
        entry
    }
}

/// The bytes that are signed.
struct Signed(Vec<u8>);

impl Signed {
    fn new(purpose: &str) -> Self {
        let mut signed = Self(Vec::with_capacity(320));
        signed.text(purpose.as_bytes());
        signed
    }

    fn text(&mut self, text: &[u8]) -> &mut Self {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use paddock_core::CallId;

    use super::*;
    use crate::audit::row::Kind;

    fn body(agent: &str, tool: &str) -> Body {
        Body {
            at: 1,
            kind: Kind::Outcome,
            call: CallId(7),
            agent: agent.to_owned(),
            by: None,
            tool: tool.to_owned(),
            workspace: None,
            path: "/a".to_owned(),
            outcome: "done".to_owned(),
            reason: String::new(),
            risk: None,
            bytes: 0,
            took_us: 0,
        }
    }

    fn row_of(key: &AuditKey, nonce: Nonce, body: Body) -> Row {
        Head::new(1, nonce, key, 0).link(key, body)
    }

    #[test]
    fn texts_cannot_be_shifted_between_fields_nor_chains() {
        let key = AuditKey::from_bytes([1; 32]);
        let plain = row_of(&key, [0; 16], body("ab", "c"));
        assert_ne!(plain.hash, row_of(&key, [0; 16], body("a", "bc")).hash);
        assert_ne!(plain.hash, row_of(&key, [1; 16], body("ab", "c")).hash);
        let empty = Body { workspace: Some(String::new()), ..body("ab", "c") };
        assert_ne!(plain.hash, row_of(&key, [0; 16], empty).hash);
        let nobody = row_of(&key, [0; 16], Body { by: Some(String::new()), ..body("ab", "c") });
        assert_ne!(plain.hash, nobody.hash);
        assert_ne!(nobody.hash, row_of(&key, [0; 16], Body { by: Some("alice".to_owned()), ..body("ab", "c") }).hash);
        let other = AuditKey::from_bytes([2; 32]);
        assert_ne!(plain.hash, row_of(&other, [0; 16], body("ab", "c")).hash);
    }

    #[test]
    fn a_row_is_signed_for_its_place() {
        let key = AuditKey::from_bytes([1; 32]);
        let mut head = Head::new(1, [0; 16], &key, 0);
        let (first, second) = (head.link(&key, body("a", "b")), head.link(&key, body("a", "b")));
        assert_eq!((first.seq, second.seq, second.prev), (1, 2, first.hash));
        assert_ne!(first.hash, second.hash);
        assert_eq!(second.sign_at(&key, &[0; 16], 2), second.hash);
        assert_ne!(second.sign_at(&key, &[0; 16], 3), second.hash);
    }
}
