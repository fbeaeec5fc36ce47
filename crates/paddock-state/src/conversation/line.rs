//! One line of a conversation's file: a JSON object with `seq`, `turnId`, `line` and `sum` at its end.
//!
//! `seq` counts the events of the whole conversation, `line` the lines of the file, and `sum` is over every byte before
//! it. So a line that was altered, lost, doubled or moved is noticed, and by which line. Readers of the plain format ignore these fields.
//! The sum is against accidents: who may write in the System Root may also write a right sum.

use crate::TurnId;

/// How many hexadecimal digits of the hash a line carries.
pub(crate) const SUM: usize = 16;
const SUM_FIELD: &str = ",\"sum\":\"";

/// Where a line belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The event that made it.
    pub(crate) seq: u64,
    /// The turn of that event.
    pub(crate) turn: TurnId,
    /// Which line of its file it is, from 1.
    pub(crate) line: u64,
}

/// Writes an object as a line of a file, with its line break.
pub(crate) fn seal(object: &str, frame: &Frame) -> String {
    let open = object.strip_suffix('}').unwrap_or(object);
    let comma = if open.ends_with('{') { "" } else { "," };
    let Frame { seq, turn, line } = frame;
    let mut text = format!("{open}{comma}\"seq\":{seq},\"turnId\":\"{turn}\",\"line\":{line}");
    let sum = sum(text.as_bytes());
    text.push_str(SUM_FIELD);
    text.push_str(&sum);
    text.push_str("\"}\n");
    text
}

/// Reads a line, given without its line break: the whole object, and where it belongs.
pub(crate) fn open(bytes: &[u8]) -> Result<(&str, Frame), &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text")?;
    let ending = SUM_FIELD.len() + SUM + 2;
    let at = text
        .len()
        .checked_sub(ending)
        .filter(|at| text.is_char_boundary(*at))
        .ok_or("it is no line of a conversation")?;
    let (summed, ending) = text.split_at(at);
    let told = ending.strip_prefix(SUM_FIELD).and_then(|rest| rest.strip_suffix("\"}"));
    let told = told.ok_or("it has no checksum")?;
    if told != sum(summed.as_bytes()) {
        return Err("its checksum does not fit");
    }
    let (rest, line) = summed.rsplit_once(",\"line\":").ok_or("it does not say which line it is")?;
    let (rest, turn) = rest.rsplit_once(",\"turnId\":\"").ok_or("it has no turnId")?;
    let (_, seq) = rest.rsplit_once("\"seq\":").ok_or("it has no seq")?;
    let frame = Frame {
        seq: seq.parse().map_err(|_| "its seq is no number")?,
        turn: turn.strip_suffix('"').and_then(|turn| TurnId::new(turn).ok()).ok_or("its turnId is none")?,
        line: line.parse().map_err(|_| "its line is no number")?,
    };
    Ok((text, frame))
}

/// The object without what [`seal`] added, so that it can be sealed at another place. For lines that [`open`] took.
pub(crate) fn unsealed(text: &str) -> String {
    let plain = text.rfind("\"seq\":").map_or(text, |at| &text[..at]);
    let mut object = plain.strip_suffix(',').unwrap_or(plain).to_owned();
    object.push('}');
    object
}

/// What stands for bytes in a file of an instance.
pub(crate) fn sum(bytes: &[u8]) -> String {
    let mut hex = blake3::hash(bytes).to_hex();
    hex.truncate(SUM);
    hex.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        Frame { seq: 7, turn: TurnId::new("t:1").unwrap(), line: 3 }
    }

    #[test]
    fn a_line_is_its_object_with_four_fields_more() {
        let line = seal(r#"{"id":"m","x":", \"seq\":9"}"#, &frame());
        assert!(line.starts_with(r#"{"id":"m","x":", \"seq\":9","seq":7,"turnId":"t:1","line":3,"sum":""#), "{line}");
        let (text, read) = open(line.trim_end().as_bytes()).unwrap();
        assert_eq!(read, frame());
        assert_eq!(unsealed(text), r#"{"id":"m","x":", \"seq\":9"}"#);
        assert_eq!(unsealed(open(seal("{}", &frame()).trim_end().as_bytes()).unwrap().0), "{}");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let line = seal(r#"{"id":"m","data":{"role":"user","content":"naïve"}}"#, &frame());
        let bytes = line.trim_end().as_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&flipped).is_err(), "bit {bit} was accepted");
        }
    }

    #[test]
    fn every_cut_line_is_noticed() {
        let line = seal(r#"{"id":"m"}"#, &frame());
        for len in 0..line.len() - 1 {
            assert!(open(&line.as_bytes()[..len]).is_err(), "{len} bytes were accepted");
        }
    }
}
