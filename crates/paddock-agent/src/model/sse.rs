//! Server-sent events, put together from bytes that come in pieces.
//!
//! A piece may end anywhere: inside a character, inside `data:`, between the two bytes of a line's end. A line is looked at when it is whole,
//! so nothing depends on where a piece ends. How much is read is bounded by who reads, never here.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// Its name; empty where it has none.
    pub name: String,
    /// What it says. Several lines of it are joined.
    pub data: String,
}

/// A line that is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is not UTF-8")]
pub struct NotText;

/// What has come of a stream.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a `\r`, which ended a line: a `\n` after it ends none.
    after_return: bool,
    begun: bool,
}

impl Events {
    /// Takes a piece, and gives the events that it completes.
    ///
    /// # Errors
    /// When a line is no text.
    pub fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, NotText> {
        let mut whole = Vec::new();
        for &byte in piece {
            let ends_nothing = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if ends_nothing => {}
                b'\n' | b'\r' => whole.extend(self.end_line()?),
                other => self.line.push(other),
            }
        }
        Ok(whole)
    }

    fn end_line(&mut self) -> Result<Option<Event>, NotText> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| NotText)?;
        let mut line = line.as_str();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.trim_start_matches('\u{feff}');
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add(value),
            // Ids and times to come back are for streams that go on; an empty field is a remark.
            _ => {}
        }
        Ok(None)
    }

    fn add(&mut self, data: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(data);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "\u{feff}: a remark\r\nevent: first\r\ndata: {\"w\":\"über 日本\"}\r\n\r\ndata:one\ndata: two\n\nid: 7\nevent: no data\n\n\
                          data\n\nevent: old\rdata: mac\r\rdata: never ended";

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    fn expected() -> Vec<Event> {
        vec![event("first", "{\"w\":\"über 日本\"}"), event("", "one\ntwo"), event("", ""), event("old", "mac")]
    }

    #[test]
    fn the_whole_at_once() {
        assert_eq!(Events::default().take(STREAM.as_bytes()).unwrap(), expected());
    }

    #[test]
    fn every_byte_on_its_own() {
        let mut events = Events::default();
        let all: Vec<Event> = STREAM.bytes().flat_map(|byte| events.take(&[byte]).unwrap()).collect();
        assert_eq!(all, expected());
    }

    #[test]
    fn a_line_that_is_no_text_is_told() {
        assert_eq!(Events::default().take(b"data: \xff\n"), Err(NotText));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_pieces_end(mut cuts in proptest::collection::vec(0..STREAM.len(), 0..8)) {
            cuts.push(STREAM.len());
            cuts.sort_unstable();
            let (mut events, mut all, mut from) = (Events::default(), Vec::new(), 0);
            for cut in cuts {
                all.extend(events.take(&STREAM.as_bytes()[from..cut]).unwrap());
                from = cut;
            }
            prop_assert_eq!(all, expected());
        }
    }
}
