//! How much of what was there a change takes away: very much is a high risk, whatever it is done with.
//!
//! What counts is what is not there any more afterwards, so a file that is written anew with most of its lines has lost few of them, and nothing
//! is lost by adding. What the agent made itself, and nobody else changed since, is its own. What cannot be large is not looked at.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::{AddAssign, Range};

use paddock_core::{Effect, EffectKind, Holding, Kind, Large, OpKind, Plan, TextKind};

use crate::boundary::Context;
use crate::contents::Contents;

/// As much of a content as is compared at once; of what is larger one part after the other, each with what comes to be in its place.
pub(crate) const LARGEST: usize = 8 * 1024 * 1024;
/// What is no text is compared by parts of so many bytes.
const BLOCK: usize = 4096;

/// How much goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Taken {
    lines: u64,
    bytes: u64,
}

impl AddAssign for Taken {
    fn add_assign(&mut self, more: Self) {
        self.lines += more.lines;
        self.bytes += more.bytes;
    }
}

impl Taken {
    /// That it is very much, in words; nothing where it is not.
    fn told(self, large: &Large) -> Option<String> {
        if self.lines > large.lines {
            Some(format!("it replaces {} lines", grouped(self.lines)))
        } else if self.bytes > large.bytes {
            Some(format!("it replaces {} bytes", grouped(self.bytes)))
        } else {
            None
        }
    }
}

/// That a file tool takes very much away, in words; nothing where it does not.
pub(crate) fn of_plan(cx: &Context<'_>, plan: &Plan) -> Option<String> {
    let (large, paths) = (&cx.policy().terms.large, plan.paths() as u64);
    let verb = match plan.kind() {
        OpKind::Delete => "deletes",
        OpKind::MoveFrom => "moves",
        _ => return of_content(cx, &plan.effects().iter().collect::<Vec<_>>(), None),
    };
    (paths > large.paths).then(|| many(verb, paths))
}

/// That so many paths are touched, in words.
pub(crate) fn many(verb: &str, paths: u64) -> String {
    format!("it {verb} {} paths", grouped(paths))
}

/// That the content of these paths loses very much, in words; nothing where it does not.
pub(crate) fn of_content(cx: &Context<'_>, effects: &[&Effect], holding: Option<Holding<'_>>) -> Option<String> {
    let large = &cx.policy().terms.large;
    let replaces =
        |effect: &&&Effect| effect.what == EffectKind::Replace && effect.was.is_none_or(|was| was.kind == Kind::File);
    let replaced: Vec<&Effect> = effects.iter().filter(replaces).copied().collect();
    // All that can be lost. A line has at least one byte.
    let most: u64 = replaced.iter().filter_map(|effect| effect.len).sum();
    if most.min(cx.most_edited().unwrap_or(most)) <= large.lines.min(large.bytes) {
        return None;
    }
    let contents = cx.contents(holding);
    let mut losing: Vec<(&Effect, Taken)> =
        replaced.into_iter().filter_map(|effect| Some((effect, taken(effect, &contents, cx.most_edited())?))).collect();
    sum(&losing).told(large)?;
    // Whose it is is asked for last: that is looked up in the history.
    losing.retain(|(effect, _)| !cx.was_made_by_agent(effect));
    sum(&losing).told(large)
}

fn sum(losing: &[(&Effect, Taken)]) -> Taken {
    let mut all = Taken::default();
    losing.iter().for_each(|(_, taken)| all += *taken);
    all
}

/// What one file loses, where that can be told. Of what is too large to be edited here it is all that the edit can take.
fn taken(effect: &Effect, contents: &Contents<'_>, most_edited: Option<u64>) -> Option<Taken> {
    let len = effect.len?;
    if len > LARGEST as u64 {
        let Some(after) = contents.len_after(effect) else {
            return Some(Taken { lines: 0, bytes: most_edited.unwrap_or(len) });
        };
        let old = |range| contents.part(effect, range).ok();
        return Some(lost_in_parts(len, after, old, |range| contents.part_after(effect, range)));
    }
    let old = contents.before(effect).ok()?;
    Some(lost(&old, &contents.after(effect, &old)?))
}

/// What a content loses that is too large to be looked at as a whole: from one length to another, read in parts. What cannot be read, or
/// has come to be far from where it was, seems gone.
fn lost_in_parts(
    len: u64,
    len_after: u64,
    old: impl Fn(Range<u64>) -> Option<Vec<u8>>,
    new: impl Fn(Range<u64>) -> Option<Vec<u8>>,
) -> Taken {
    // What is beyond the new end is gone, whatever it was.
    let both = len.min(len_after);
    let mut all = Taken { lines: 0, bytes: len - both };
    for from in (0..both).step_by(LARGEST) {
        let until = from + LARGEST as u64;
        match (old(from..until.min(both)), new(from..until)) {
            (Some(old), Some(new)) if new.starts_with(&old) => {}
            (Some(old), Some(new)) => all += lost(&old, &new),
            _ => all += Taken { lines: 0, bytes: until.min(both) - from },
        }
    }
    all
}

/// What of the old content is not in the new one. Of a new one that was cut off, too much seems gone rather than too little.
fn lost(old: &[u8], new: &[u8]) -> Taken {
    let Some(text) = TextKind::of(old).decode(old) else {
        let gone = missing(old.chunks(BLOCK), new.chunks(BLOCK));
        let lines = missing(readable(old), new.split(|byte| *byte == b'\n')).len() as u64;
        return Taken { lines, bytes: gone.iter().map(|block| block.len() as u64).sum() };
    };
    // A byte that no text holds does not make lines into something else.
    let new = TextKind::of(new).decode(new).unwrap_or_else(|| String::from_utf8_lossy(new).into_owned());
    let gone = missing(text.lines(), new.lines());
    Taken { lines: gone.len() as u64, bytes: gone.iter().map(|line| line.len() as u64 + 1).sum() }
}

/// The lines in what is no text that people can read all the same.
fn readable(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_plain = |text: &str| text.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\r'));
    let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter(move |line| std::str::from_utf8(line).is_ok_and(is_plain))
}

/// Those of the old that are not among the new, each as often as it is there.
fn missing<T: Eq + Hash>(old: impl Iterator<Item = T>, new: impl Iterator<Item = T>) -> Vec<T> {
    let mut there: HashMap<T, usize> = HashMap::new();
    new.for_each(|part| *there.entry(part).or_default() += 1);
    let is_gone = |part: &T| match there.get_mut(part) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    old.filter(is_gone).collect()
}

/// A number as people read it: 4,812.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: u64, bytes: u64) -> Taken {
        Taken { lines, bytes }
    }

    #[test]
    fn what_is_still_there_is_not_lost() {
        assert_eq!(lost(b"a\nb\nc\n", b"c\nb\nnew\na\n"), taken(0, 0));
        assert_eq!(lost(b"a\r\nb\r\n", b"a\nb\n"), taken(0, 0), "line endings are no lines");
        assert_eq!(lost(b"x\nx\nx\n", b"x\n"), taken(2, 4), "each as often as it was there");
        assert_eq!(lost(b"one\ntwo\n", b""), taken(2, 8));
        assert_eq!(lost(b"one\ntwo\n", &vec![b'x'; LARGEST + 1]), taken(2, 8), "also where more takes its place");
        let (old, mut new) = (vec![0_u8; 5 * BLOCK], vec![0_u8; 5 * BLOCK]);
        new[2 * BLOCK] = 1;
        assert_eq!(lost(&old, &new), taken(0, BLOCK as u64), "of what is no text, the parts that change");
    }

    #[test]
    fn what_is_too_large_to_be_looked_at_as_a_whole_is_compared_part_by_part() {
        let over = |old: &str, new: &str| {
            let part = |of: &str, range: Range<u64>| {
                let clip = |at: u64| usize::try_from(at).unwrap().min(of.len());
                assert!(range.end - range.start <= LARGEST as u64, "no more than that is in memory");
                Some(of.as_bytes()[clip(range.start)..clip(range.end)].to_vec())
            };
            let len = |of: &str| of.len() as u64;
            lost_in_parts(len(old), len(new), |range| part(old, range), |range| part(new, range))
        };
        let lines: String = (0..3000).map(|n| format!("{n:09}\n")).collect();
        let row = format!("{}\n", "-".repeat(99));
        let nothing = row.repeat((17 << 20) / row.len());
        let (before, behind) = (format!("{lines}{nothing}"), format!("{nothing}{lines}"));
        let without = row.repeat(before.len() / row.len());
        assert_eq!(over(&before, &without).lines, 3000, "as long as before");
        assert_eq!(over(&behind, &without).lines, 3000, "wherever it is");
        assert_eq!(over(&behind, &format!("{without}more\n")).lines, 3000, "whatever is put behind it");
        assert_eq!(over(&before, &before.replacen("07\n", "0x\n", 1)), taken(1, 10));
        assert_eq!(over(&before, &before[..before.len() - row.len()]), taken(0, row.len() as u64), "what is cut off");
        // Nothing is lost by adding.
        assert_eq!(over(&before, &format!("{before}one line more\n")), taken(0, 0));
        assert!(over(&before, &format!("one line\n{before}")).lines < 20, "but what falls from one part into the next");
    }

    #[test]
    fn a_byte_that_is_no_text_hides_no_lines() {
        let lines: String = (0..3000).map(|n| format!("{n}\n")).collect();
        assert_eq!(lost(lines.as_bytes(), b"\0"), taken(3000, lines.len() as u64));
        let with_one = |at: usize| [&lines.as_bytes()[..at], b"\0", &lines.as_bytes()[at..]].concat();
        assert_eq!(lost(lines.as_bytes(), &with_one(0)).lines, 1, "the one that it stands in");
        assert_eq!(lost(&with_one(0), b"x").lines, 2999);
        assert_eq!(lost(&with_one(500), lines.as_bytes()).lines, 0);
        // What an image is made of are no lines, although it has line feeds.
        let mut state = 1_u32;
        let mut random = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let image: Vec<u8> = std::iter::once(0).chain((0..1 << 20).map(&mut random)).collect();
        assert!(lost(&image, b"x").lines < 200, "{:?}", lost(&image, b"x"));
    }

    #[test]
    fn very_much_is_told_in_numbers_that_people_read() {
        let large = Large { lines: 1000, bytes: 5000, paths: 10 };
        assert_eq!(taken(1000, 5000).told(&large), None);
        assert_eq!(taken(4812, 9).told(&large).unwrap(), "it replaces 4,812 lines");
        assert_eq!(taken(0, 1_048_577).told(&large).unwrap(), "it replaces 1,048,577 bytes");
        assert_eq!(["0", "12", "999", "1,000", "12,345,678"], [0, 12, 999, 1000, 12_345_678].map(grouped));
    }
}
