//! Finds the id of a JSON-RPC message that cannot be parsed, so that whoever waits for an answer gets one.
//!
//! A message may be too long to keep or broken in the middle, and its id may stand at either end of it. So the
//! bytes are walked once, as they come, and only the top level of the outermost object is looked at. What is
//! kept is a key and a value of bounded length; it must never hold the message itself.

use rmcp::model::RequestId;

/// No id that a client makes is longer than this.
const LONGEST_ID: usize = 512;

/// Walks a message piece by piece.
#[derive(Debug, Default)]
pub(crate) struct IdFinder {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// A value is being read at the top level, rather than a key.
    in_value: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<RequestId>,
    is_request: bool,
}

impl IdFinder {
    /// The id in a whole message.
    pub(crate) fn in_message(message: &[u8]) -> Option<RequestId> {
        let mut finder = Self::default();
        finder.feed(message);
        finder.id()
    }

    /// Walks the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.step(byte);
        }
    }

    /// The id, when what was walked is a request: only those are answered.
    pub(crate) fn id(self) -> Option<RequestId> {
        self.id.filter(|_| self.is_request)
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => self.end_member(),
            _ => self.keep(byte),
        }
    }

    /// Keeps a byte of a key or of a plain value; what is nested, or too long, cannot be an id.
    fn keep(&mut self, byte: u8) {
        let part = if self.in_value { &mut self.value } else { &mut self.key };
        if self.depth == 1 && part.len() <= LONGEST_ID && !byte.is_ascii_whitespace() {
            part.push(byte);
        }
    }

    fn end_member(&mut self) {
        match self.key.as_slice() {
            b"\"id\"" if self.value.len() <= LONGEST_ID => self.id = serde_json::from_slice(&self.value).ok(),
            b"\"method\"" => self.is_request = true,
            _ => {}
        }
        self.key.clear();
        self.value.clear();
        self.in_value = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(id: i64) -> Option<RequestId> {
        Some(RequestId::Number(id))
    }

    #[test]
    fn the_id_may_stand_anywhere_at_the_top() {
        assert_eq!(IdFinder::in_message(br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{}}"#), number(7));
        assert_eq!(IdFinder::in_message(br#"{ "method" : "m", "params": {"id": 1}, "id" : 8 }"#), number(8));
        let text = IdFinder::in_message(br#"{"id":"a\"b","method":"m"}"#);
        assert_eq!(text, Some(RequestId::String("a\"b".into())));
    }

    #[test]
    fn what_is_nested_or_quoted_is_not_the_id() {
        assert_eq!(IdFinder::in_message(br#"{"method":"m","params":{"id":1,"x":["id",2]}}"#), None);
        assert_eq!(IdFinder::in_message(br#"{"method":"m","params":"\",\"id\":3,\""}"#), None);
        assert_eq!(IdFinder::in_message(br#"{"method":"m","id":{"a":1}}"#), None);
    }

    #[test]
    fn only_requests_are_answered() {
        assert_eq!(IdFinder::in_message(br#"{"id":7,"result":{}}"#), None);
    }

    #[test]
    fn broken_messages_give_what_they_hold() {
        assert_eq!(IdFinder::in_message(b"{\"id\":7,\"method\":\"m\",\"params\":{\"text\":\"\xff\"}}"), number(7));
        assert_eq!(IdFinder::in_message(br#"{"id":7,"method":"m","params":{"text":"cut off"#), number(7));
        assert_eq!(IdFinder::in_message(b"nonsense"), None);
    }

    #[test]
    fn memory_stays_bounded() {
        let mut finder = IdFinder::default();
        finder.feed(b"{\"method\":\"m\",\"");
        for _ in 0..1000 {
            finder.feed(&[b'k'; 1000]);
        }
        finder.feed(b"\":\"");
        for _ in 0..1000 {
            finder.feed(&[b'v'; 1000]);
        }
        assert!(finder.key.capacity() + finder.value.capacity() < 8 * LONGEST_ID);
        finder.feed(b"\",\"id\":9}");
        assert_eq!(finder.id(), number(9));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(
            bytes in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b'{'), Just(b'}'), Just(b','), Just(b':'), any::<u8>()], 0..200),
            cut in 0usize..200,
        ) {
            let mut finder = IdFinder::default();
            let cut = cut.min(bytes.len());
            finder.feed(&bytes[..cut]);
            finder.feed(&bytes[cut..]);
            prop_assert_eq!(finder.id(), IdFinder::in_message(&bytes));
        }
    }
}
