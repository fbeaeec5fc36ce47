//! Rows that wait to be written, packed so that keeping one costs about as much as copying its texts.
//!
//! All texts of the queue stand in one buffer and each row knows where its own end, so a row needs no allocation while
//! the buffer is warm. What is kept is bounded, in each row and in all.

use paddock_core::{CallId, Risk};

use super::row::{Body, Kind};
use paddock_db::statements::Deed;

/// Rows that may wait.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// What the history may have waiting; each is about one call.
const MOST_DEEDS: usize = 1 << 14;

/// Bytes of text that may wait.
const MOST_TEXT: usize = 16 << 20;

/// What is kept of a path: more than any that can be used.
const LONGEST_PATH: usize = 4096;

/// What is kept of every other text.
const LONGEST_WORD: usize = 256;

/// A row to be kept, borrowed from whoever asks for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) at: i64,
    pub(super) kind: Kind,
    pub(super) call: CallId,
    pub(super) agent: &'a str,
    pub(super) by: Option<&'a str>,
    pub(super) tool: &'a str,
    pub(super) workspace: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) outcome: &'a str,
    pub(super) reason: &'a str,
    pub(super) risk: Option<Risk>,
    pub(super) bytes: u64,
    pub(super) took_us: u64,
}

/// Rows in the order in which they came, and what the history wants written with them.
#[derive(Default)]
pub(super) struct Queue {
    rows: Vec<Packed>,
    texts: String,
    deeds: Vec<Deed>,
}

#[derive(Debug)]
struct Packed {
    at: i64,
    call: CallId,
    bytes: u64,
    took_us: u64,
    kind: Kind,
    risk: Option<Risk>,
    in_workspace: bool,
    by_person: bool,
    /// Where the texts begin, and where each of them ends.
    start: u32,
    ends: [u32; 7],
}

impl Queue {
    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= MOST_ROWS || self.deeds.len() >= MOST_DEEDS || self.texts.len() >= MOST_TEXT
    }

    pub(super) fn push(&mut self, row: &Waiting<'_>) {
        let start = self.end();
        let mut ends = self.texts_of(row, Self::plain_word);
        // One look at all of them together: there never is one.
        if self.texts.as_bytes()[start as usize..].contains(&0) {
            self.texts.truncate(start as usize);
            ends = self.texts_of(row, Self::word);
        }
        let Waiting { at, kind, call, risk, bytes, took_us, .. } = *row;
        let (in_workspace, by_person) = (row.workspace.is_some(), row.by.is_some());
        self.rows.push(Packed { at, call, bytes, took_us, kind, risk, in_workspace, by_person, start, ends });
    }

    pub(super) fn push_deed(&mut self, deed: Deed) {
        self.deeds.push(deed);
    }

    /// Takes out what the history wants written.
    pub(super) fn take_deeds(&mut self) -> Vec<Deed> {
        std::mem::take(&mut self.deeds)
    }

    /// The row at `index`, unpacked.
    pub(super) fn body(&self, index: usize) -> Option<Body> {
        let row = self.rows.get(index)?;
        let mut start = row.start as usize;
        let [agent, by, tool, workspace, path, outcome, reason] = row.ends.map(|end| {
            let text = self.texts.get(start..end as usize).unwrap_or("").to_owned();
            start = end as usize;
            text
        });
        let Packed { at, call, bytes, took_us, kind, risk, .. } = *row;
        let (workspace, by) = (row.in_workspace.then_some(workspace), row.by_person.then_some(by));
        Some(Body { at, kind, call, agent, by, tool, workspace, path, outcome, reason, risk, bytes, took_us })
    }

    /// Forgets the rows and keeps the room.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.texts.clear();
    }

    fn texts_of(&mut self, row: &Waiting<'_>, word: impl Fn(&mut Self, &str) -> u32) -> [u32; 7] {
        [
            word(self, row.agent),
            word(self, row.by.unwrap_or("")),
            word(self, row.tool),
            self.path(row.workspace.unwrap_or("")),
            self.path(row.path),
            word(self, row.outcome),
            word(self, row.reason),
        ]
    }

    fn end(&self) -> u32 {
        // At most MOST_TEXT and one row more.
        u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }

    fn path(&mut self, text: &str) -> u32 {
        self.cut(text, LONGEST_PATH)
    }

    /// A word without a NUL.
    fn plain_word(&mut self, text: &str) -> u32 {
        self.cut(text, LONGEST_WORD)
    }

    /// Everything but paths is made of plain characters by whoever asks; PostgreSQL could not keep a NUL as text.
    fn word(&mut self, text: &str) -> u32 {
        if text.contains('\0') {
            self.cut(&text.replace('\0', "\u{2400}"), LONGEST_WORD)
        } else {
            self.cut(text, LONGEST_WORD)
        }
    }

    fn cut(&mut self, text: &str, longest: usize) -> u32 {
        if text.len() <= longest {
            self.texts.push_str(text);
        } else {
            let kept = text.floor_char_boundary(longest);
            self.texts.push_str(&text[..kept]);
            self.texts.push_str(&format!("…[{} bytes more]", text.len() - kept));
        }
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting<'a>(path: &'a str, tool: &'a str) -> Waiting<'a> {
        Waiting {
            at: 5,
            kind: Kind::Outcome,
            call: CallId(9),
            agent: "main",
            by: None,
            tool,
            workspace: None,
            path,
            outcome: "done",
            reason: "",
            risk: Some(Risk::Low),
            bytes: 1,
            took_us: 2,
        }
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut queue = Queue::default();
        queue.push(&waiting("/a", "read"));
        queue.push(&Waiting { workspace: Some("/ws"), by: Some("alice"), ..waiting("", "write") });
        let (first, second) = (queue.body(0).unwrap(), queue.body(1).unwrap());
        assert_eq!((first.path.as_str(), first.tool.as_str(), first.workspace), ("/a", "read", None));
        assert_eq!((second.path.as_str(), second.tool.as_str()), ("", "write"));
        assert_eq!((second.workspace.as_deref(), second.outcome.as_str()), (Some("/ws"), "done"));
        assert_eq!((second.agent.as_str(), second.reason.as_str(), second.risk), ("main", "", Some(Risk::Low)));
        assert_eq!((first.by, second.by.as_deref()), (None, Some("alice")));
        assert!(queue.body(2).is_none());
        queue.clear();
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn long_texts_are_cut_at_a_character_and_say_so() {
        let mut queue = Queue::default();
        let long = "é".repeat(5000);
        queue.push(&waiting(&long, "a\0b"));
        let body = queue.body(0).unwrap();
        assert_eq!(body.path, format!("{}…[5904 bytes more]", "é".repeat(2048)));
        assert_eq!(body.tool, "a\u{2400}b");
        queue.push(&waiting("/after", "plain"));
        let after = queue.body(1).unwrap();
        assert_eq!((after.path.as_str(), after.tool.as_str(), after.outcome.as_str()), ("/after", "plain", "done"));
    }
}
