//! Which bytes of a file are asked for.

use std::ops::Range;

/// What a `Range` header means for a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it: nothing else is asked for, or nothing that we do (several parts at once).
    All,
    /// These bytes.
    Some(Range<u64>),
    /// None of them: they are all behind its end.
    Nothing,
}

/// Reads the header.
pub(super) fn part(header: Option<&str>, len: u64) -> Part {
    let Some((first, last)) = header.and_then(single) else { return Part::All };
    let range = match (first, last) {
        (Some(first), Some(last)) if last < first => return Part::All,
        (Some(first), last) => first..last.map_or(len, |last| last.saturating_add(1)).min(len),
        (None, Some(most)) => len.saturating_sub(most)..len,
        (None, None) => return Part::All,
    };
    if range.start >= range.end { Part::Nothing } else { Part::Some(range) }
}

/// `bytes=FIRST-LAST` with one of them left out at most; nothing for everything else.
fn single(header: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| -> Option<Option<u64>> {
        if text.is_empty() {
            return Some(None);
        }
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok().or(Some(u64::MAX)))
    };
    Some((number(first.trim())?, number(last.trim())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_sent_and_everything_else_is_the_whole() {
        let asked = |text| part(Some(text), 10);
        assert_eq!(asked("bytes=0-3"), Part::Some(0..4));
        assert_eq!(asked("bytes=4-"), Part::Some(4..10));
        assert_eq!(asked("bytes=-3"), Part::Some(7..10));
        assert_eq!(asked("bytes=0-99999999999999999999999"), Part::Some(0..10));
        assert_eq!(asked("bytes=-99"), Part::Some(0..10));
        assert_eq!(asked("bytes=10-"), Part::Nothing);
        assert_eq!(asked("bytes=-0"), Part::Nothing);
        for whole in ["bytes=0-1,3-4", "bytes=5-2", "bytes=-", "bytes=+1-2", "lines=1-2", "bytes", ""] {
            assert_eq!(asked(whole), Part::All, "{whole}");
        }
        assert_eq!(part(None, 10), Part::All);
        assert_eq!(part(Some("bytes=0-"), 0), Part::Nothing);
    }
}
