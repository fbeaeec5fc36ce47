//! How much of what was there a change takes away: very much is a high risk, whatever it is done with.
//!
//! What counts is what is not there any more afterwards, so a file that is written anew with most of its lines has lost few of them, and nothing
//! is lost by adding. What the agent made itself, and nobody else changed since, is its own. What cannot be large is not looked at.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::AddAssign;

use paddock_core::{Effect, EffectKind, Holding, Kind, Large, OpKind, Plan, TextKind};

use crate::boundary::Context;
use crate::contents::Contents;

/// The largest content that is compared; of what is larger it counts by how much it becomes shorter.
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

/// What one file loses, where that can be told. Of what is too large to be compared and edited it is all that the edit can take.
fn taken(effect: &Effect, contents: &Contents<'_>, most_edited: Option<u64>) -> Option<Taken> {
    let len = effect.len?;
    if len > LARGEST as u64 {
        let shorter = contents.len_after(effect).map(|after| len.saturating_sub(after));
        return Some(Taken { lines: 0, bytes: shorter.or(most_edited).unwrap_or(len) });
    }
    let old = contents.before(effect).ok()?;
    Some(lost(&old, &contents.after(effect, &old)?))
}

/// What of the old content is not in the new one. Of a new one that was cut off, too much seems gone rather than too little.
fn lost(old: &[u8], new: &[u8]) -> Taken {
    match (TextKind::of(old).decode(old), TextKind::of(new).decode(new)) {
        (Some(old), Some(new)) => {
            let gone = missing(old.lines(), new.lines());
            Taken { lines: gone.len() as u64, bytes: gone.iter().map(|line| line.len() as u64 + 1).sum() }
        }
        _ => {
            let gone = missing(old.chunks(BLOCK), new.chunks(BLOCK));
            Taken { lines: 0, bytes: gone.iter().map(|block| block.len() as u64).sum() }
        }
    }
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
    fn very_much_is_told_in_numbers_that_people_read() {
        let large = Large { lines: 1000, bytes: 5000, paths: 10 };
        assert_eq!(taken(1000, 5000).told(&large), None);
        assert_eq!(taken(4812, 9).told(&large).unwrap(), "it replaces 4,812 lines");
        assert_eq!(taken(0, 1_048_577).told(&large).unwrap(), "it replaces 1,048,577 bytes");
        assert_eq!(["0", "12", "999", "1,000", "12,345,678"], [0, 12, 999, 1000, 12_345_678].map(grouped));
    }
}
