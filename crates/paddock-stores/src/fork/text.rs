//! Texts, line by line: three merged into one, and two shown side by side.
//!
//! Merging works on bytes, so that every encoding in which a line feed is one byte keeps each byte, line endings
//! included. UTF-16 goes through text and back, which is exact. Texts of different encodings are never mixed.

use std::time::{Duration, Instant};

use similar::{ChangeTag, DiffableStr, TextDiff, TextMerge};

use paddock_core::TextKind;

use super::merge::Lines;

/// The largest file that is merged line by line.
pub(super) const MAX_MERGED: u64 = 16 * 1024 * 1024;
/// How long two texts are compared: far longer than any that people wrote, and no end is in sight for random ones.
const LONGEST: Duration = Duration::from_secs(5);

/// What came of merging three contents.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merged {
    Clean(Vec<u8>),
    /// Where they contradict each other.
    Clash(Vec<Lines>),
    /// They are no texts, or not in one encoding.
    NoText,
    /// They have too little in common to be compared in time.
    TooLong,
}

/// Until when two texts are compared, in a call that has to be over by then.
pub(super) fn limit(over: Instant) -> Instant {
    over.min(Instant::now() + LONGEST)
}

/// Merges what two sides made of a text, if it can be compared until then.
pub(super) fn merge(base: &[u8], ours: &[u8], theirs: &[u8], until: Instant) -> Merged {
    let sides = [base, ours, theirs];
    let Some(kind) = common_kind(&sides) else { return Merged::NoText };
    if kind.unit() == 1 {
        return merge_lines(base, ours, theirs, until);
    }
    let [Some(base), Some(ours), Some(theirs)] = sides.map(Utf16::decode) else { return Merged::NoText };
    match merge_lines(base.text.as_str(), ours.text.as_str(), theirs.text.as_str(), until) {
        Merged::Clean(bytes) => {
            String::from_utf8(bytes).map_or(Merged::NoText, |text| Merged::Clean(ours.encode(&text)))
        }
        other => other,
    }
}

/// The one encoding of several contents. Plain ASCII goes with any in which a character is a byte.
fn common_kind(sides: &[&[u8]]) -> Option<TextKind> {
    let mut common = None;
    for side in sides {
        let kind = TextKind::of(side);
        if kind == TextKind::Binary {
            return None;
        }
        if kind == TextKind::Utf8 && side.is_ascii() {
            continue;
        }
        if common.is_some_and(|common| common != kind) {
            return None;
        }
        common = Some(kind);
    }
    let kind = common.unwrap_or(TextKind::Utf8);
    let wide = |side: &&[u8]| TextKind::of(side).unit() == kind.unit();
    sides.iter().all(wide).then_some(kind)
}

fn merge_lines<T: DiffableStr + ?Sized>(base: &T, ours: &T, theirs: &T, until: Instant) -> Merged {
    // The merge itself knows no end, so what it is made of is tried before: these are the same comparisons.
    for side in [ours, theirs] {
        TextDiff::configure().deadline(until).diff_lines::<_, _, T>(base, side);
        if Instant::now() >= until {
            return Merged::TooLong;
        }
    }
    let merge = TextMerge::configure().merge_lines::<_, _, _, T>(base, ours, theirs);
    let lines = |region: &similar::MergeRegion| Lines {
        base: region.base_range(),
        here: region.ours_range(),
        below: region.theirs_range(),
    };
    if merge.is_conflicted() {
        return Merged::Clash(merge.conflicts().map(lines).collect());
    }
    let mut out = Vec::new();
    // Writing into memory cannot fail.
    merge.to_writer(&mut out).map_or(Merged::NoText, |()| Merged::Clean(out))
}

/// UTF-16 with its byte order mark.
struct Utf16 {
    text: String,
    big: bool,
}

impl Utf16 {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let big = bytes.starts_with(b"\xfe\xff");
        let pairs = bytes.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return None;
        }
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let text = char::decode_utf16(pairs.map(unit)).collect::<Result<String, _>>().ok()?;
        Some(Self { text, big })
    }

    fn encode(&self, text: &str) -> Vec<u8> {
        let units = text.encode_utf16();
        if self.big { units.flat_map(u16::to_be_bytes).collect() } else { units.flat_map(u16::to_le_bytes).collect() }
    }
}

/// Two texts side by side.
pub(super) struct Shown {
    pub(super) added: u64,
    pub(super) removed: u64,
    /// The hunks, without a header.
    pub(super) hunks: String,
}

/// Shows what became of a text; nothing where one side is none, or where the difference cannot be shown as text. What is
/// not compared until then is shown as replaced.
pub(super) fn show(before: &[u8], after: &[u8], until: Instant) -> Option<Shown> {
    let [before, after] = [before, after].map(|bytes| TextKind::of(bytes).decode(bytes));
    let (before, after) = (before?, after?);
    if before == after && !before.is_empty() {
        return None;
    }
    let diff = TextDiff::configure().deadline(until).diff_lines(before.as_str(), after.as_str());
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    Some(Shown { added, removed, hunks: diff.unified_diff().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merged {
        super::merge(base, ours, theirs, Instant::now() + Duration::from_secs(600))
    }

    fn show(before: &[u8], after: &[u8]) -> Option<Shown> {
        super::show(before, after, Instant::now() + Duration::from_secs(600))
    }

    #[test]
    fn what_cannot_be_compared_in_time_is_not_merged_and_is_shown_as_replaced() {
        // Few words in no order, over and over: the comparison of these has no end for a person.
        let texts = [7u64, 11, 13].map(|seed| {
            let next =
                |at: &u64| Some(at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
            let words = std::iter::successors(Some(seed), next).skip(9).take(400_000);
            words.map(|word| format!("{}\n", (word >> 33) % 1000)).collect::<String>().into_bytes()
        });
        let [base, ours, theirs] = &texts;
        let over = Instant::now();
        assert_eq!(super::merge(base, ours, theirs, over), Merged::TooLong);
        let shown = super::show(base, ours, over).unwrap();
        assert!(shown.added > 0 && shown.removed > 0);
        assert!(limit(over) == over && limit(over + Duration::from_secs(3600)) < over + Duration::from_secs(60));
    }

    fn clean(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
        match merge(base, ours, theirs) {
            Merged::Clean(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changes_in_different_places_meet() {
        let base = b"one\ntwo\nthree\nfour\nfive\n";
        let merged = clean(base, b"ONE\ntwo\nthree\nfour\nfive\n", b"one\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(merged, b"ONE\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(clean(base, base, b"x\n"), b"x\n");
        assert_eq!(clean(base, b"x\n", b"x\n"), b"x\n");
    }

    #[test]
    fn every_byte_of_line_endings_and_encodings_stays() {
        let base = b"one\r\ntwo\r\nthree\nfour\r\n";
        let merged = clean(base, b"ONE\r\ntwo\r\nthree\nfour\r\n", b"one\r\ntwo\r\nthree\nFOUR\r\n");
        assert_eq!(merged, b"ONE\r\ntwo\r\nthree\nFOUR\r\n");
        let latin = |first: &str, last: &str| {
            let text = format!("{first}\nStraße\nüber Größe\nund Öl\n{last}\n");
            text.chars().map(|c| u8::try_from(c).unwrap()).collect::<Vec<u8>>()
        };
        assert_eq!(clean(&latin("a", "z"), &latin("Ä", "z"), &latin("a", "é")), latin("Ä", "é"));
        let wide = |first: &str, last: &str| -> Vec<u8> {
            let text = format!("\u{feff}{first}\r\nmiddle ਊ\r\n{last}\r\n");
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        };
        assert_eq!(clean(&wide("a", "z"), &wide("日", "z"), &wide("a", "é")), wide("日", "é"));
    }

    #[test]
    fn contradictions_are_named_by_their_lines() {
        let clash = merge(b"a\nb\nc\n", b"a\nB\nc\n", b"a\nbb\nc\n");
        assert_eq!(clash, Merged::Clash(vec![Lines { base: 1..2, here: 1..2, below: 1..2 }]));
    }

    #[test]
    fn what_is_no_text_or_not_in_one_encoding_is_not_merged() {
        assert_eq!(merge(b"a\0", b"b\0", b"c\0"), Merged::NoText);
        assert_eq!(merge(b"a\n", b"b\n", b"c\0"), Merged::NoText);
        let utf8 = "größe und straße\n".as_bytes();
        let latin = b"a Gr\xf6\xdfe und Stra\xdfe, \xfcber allem\n";
        assert_eq!(merge(b"plain\n", utf8, latin), Merged::NoText);
        assert_eq!(merge(b"a\n", b"\xff\xfea\0\n\0", b"b\n"), Merged::NoText);
    }

    #[test]
    fn a_line_without_an_end_is_never_glued_to_another() {
        let mut texts = vec![String::new()];
        for lines in 1..=3u32 {
            for pick in 0..2u32.pow(lines) {
                let names: Vec<&str> = (0..lines).map(|at| if pick >> at & 1 == 0 { "a" } else { "b" }).collect();
                texts.extend([names.join("\n"), names.join("\n") + "\n"]);
            }
        }
        for base in &texts {
            for (ours, theirs) in texts.iter().flat_map(|ours| texts.iter().map(move |theirs| (ours, theirs))) {
                if let Merged::Clean(bytes) = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()) {
                    let text = String::from_utf8(bytes).unwrap();
                    assert!(text.lines().all(|line| line.len() == 1), "{base:?} {ours:?} {theirs:?}: {text:?}");
                }
            }
        }
    }

    #[test]
    fn lines_are_counted_and_shown() {
        let shown = show(b"a\nb\n", b"a\nc\nd\n").unwrap();
        assert_eq!((shown.added, shown.removed), (2, 1));
        assert_eq!(shown.hunks, "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n");
        assert!(show(b"a\0", b"b").is_none());
        // The same when read, and yet not the same.
        assert!(show(b"a\n", b"\xef\xbb\xbfa\n").is_none());
    }
}
