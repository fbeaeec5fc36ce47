//! Goes along one chain and says what is wrong in it, with the numbers of the rows.
//!
//! A link is signed for its number, so what it is signed for tells where it belongs, wherever it stands now. What no
//! place fits was changed or invented: changed, if a link is missing there. Memory is bounded whatever is found; once too much
//! is wrong, less is told apart.

use std::ops::Range;

use super::chain::{Head, Link, Nonce, START};
use super::key::AuditKey;
use super::row::Hash;
use super::verify::{Finding, Findings};

/// Ranges of missing links, and unfit ones, that are remembered before they are reported as they are.
const REMEMBERED: usize = 1024;

/// Goes along one chain.
pub(super) struct Walk<'a> {
    key: &'a AuditKey,
    chain: u64,
    nonce: Nonce,
    /// The largest number that a link can have been signed for.
    longest: u64,
    /// How many guesses may still be made at where links belong.
    guesses: &'a mut u64,
    findings: &'a mut Findings,
    next: u64,
    /// The hash of the link before `next`, when it is whole.
    last: Option<Hash>,
    unfit: Vec<u64>,
    missing: Vec<Range<u64>>,
    /// How far the last link stood from its place.
    shift: i64,
    /// Something is wrong already, by which what follows may have got another number.
    renumbered: bool,
    watched: Watched,
}

/// A number whose hash is to be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub(super) seq: u64,
    pub(super) hash: Hash,
    /// It was met, and was another.
    pub(super) differs: bool,
}

impl Watched {
    pub(super) fn nothing() -> Self {
        Self { seq: 0, hash: START, differs: false }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        key: &'a AuditKey,
        (chain, nonce, longest): (u64, Nonce, u64),
        guesses: &'a mut u64,
        findings: &'a mut Findings,
        watched: Watched,
    ) -> Self {
        Self {
            key,
            chain,
            nonce,
            longest,
            guesses,
            findings,
            next: 1,
            last: Some(START),
            unfit: Vec::new(),
            missing: Vec::new(),
            shift: 0,
            renumbered: false,
            watched,
        }
    }

    /// The next link in the order in which they are kept.
    pub(super) fn step(&mut self, link: &impl Link, malformed: bool) {
        match self.place_of(link, malformed) {
            None => self.put_unfit(link.seq()),
            Some(place) => {
                self.shift = link.seq().cast_signed().wrapping_sub(place.cast_signed());
                if place == self.watched.seq {
                    self.watched.differs = link.hash() != self.watched.hash;
                }
                if place < self.next { self.too_late(place, link.seq()) } else { self.in_order(place, link) }
            }
        }
    }

    /// Compares the end with the head, if there is one to believe.
    pub(super) fn finish(mut self, head: Option<&Head>) -> Watched {
        let chain = self.chain;
        if let Some(head) = head.filter(|head| head.count >= self.next) {
            let (from, to) = (self.next, head.count);
            self.settle_unfit(to + 1);
            let cut = std::mem::take(&mut self.missing);
            let (tail, holes): (Vec<_>, Vec<_>) = cut.into_iter().partition(|range| range.start >= from);
            self.missing = holes;
            for range in tail {
                self.findings.add(Finding::CutOff { chain, from: range.start, to: range.end - 1 });
            }
        } else {
            self.settle_unfit(self.next);
            if let Some(head) = head {
                let behind = head.count < self.next - 1;
                if behind || self.last.is_some_and(|last| last != head.hash) {
                    self.findings.add(Finding::HeadChanged { chain });
                }
            }
        }
        self.report_missing();
        self.watched
    }

    fn in_order(&mut self, place: u64, link: &impl Link) {
        self.settle_unfit(place);
        if place == self.next && self.last.is_some_and(|last| last != link.prev()) {
            self.findings.add(Finding::Changed { chain: self.chain, seq: place.saturating_sub(1).max(1) });
        }
        if link.seq() != place && !self.renumbered {
            self.renumbered = true;
            self.findings.add(Finding::Reordered { chain: self.chain, seq: place, found_at: link.seq() });
        }
        self.next = place + 1;
        self.last = Some(link.hash());
    }

    fn too_late(&mut self, place: u64, found_at: u64) {
        let chain = self.chain;
        let finding = if take_out(&mut self.missing, place) {
            Finding::Reordered { chain, seq: place, found_at }
        } else {
            Finding::Inserted { chain, seq: found_at }
        };
        self.findings.add(finding);
    }

    fn put_unfit(&mut self, seq: u64) {
        self.unfit.push(seq);
        if self.unfit.len() > REMEMBERED {
            let place = self.next + self.unfit.len() as u64;
            self.settle_unfit(place);
            self.next = place;
            self.last = None;
        }
    }

    /// Everything before `place` that did not come yet is wrong in some way: where an unfit link stands for it, it was
    /// changed; else it is missing. Unfit links that stand for none were put in.
    fn settle_unfit(&mut self, place: u64) {
        let (chain, gap) = (self.chain, self.next..place);
        if gap.is_empty() && self.unfit.is_empty() {
            return;
        }
        self.renumbered = true;
        let unfit = std::mem::take(&mut self.unfit);
        let mut absent: Vec<Range<u64>> = if gap.is_empty() { Vec::new() } else { vec![gap] };
        let (at_place, elsewhere): (Vec<u64>, Vec<u64>) =
            unfit.into_iter().partition(|seq| take_out(&mut absent, *seq));
        for seq in at_place {
            self.findings.add(Finding::Changed { chain, seq });
        }
        for seq in elsewhere {
            let instead = absent.first().map(|range| range.start);
            let finding = match instead {
                Some(seq) => Finding::Changed { chain, seq },
                None => Finding::Inserted { chain, seq },
            };
            if let Some(seq) = instead {
                take_out(&mut absent, seq);
            }
            self.findings.add(finding);
        }
        self.last = self.last.filter(|_| place == self.next);
        self.missing.extend(absent);
        if self.missing.len() > REMEMBERED {
            self.report_missing();
        }
    }

    fn report_missing(&mut self) {
        for range in std::mem::take(&mut self.missing) {
            self.findings.add(Finding::Removed { chain: self.chain, from: range.start, to: range.end - 1 });
        }
    }

    /// The number that the link was signed for.
    fn place_of(&mut self, link: &impl Link, malformed: bool) -> Option<u64> {
        let seq = link.seq();
        if malformed {
            return None;
        }
        let fits = |place: u64| link.sign_at(self.key, &self.nonce, place) == link.hash();
        if fits(seq) {
            return Some(seq);
        }
        let shifted = seq.wrapping_add_signed(-self.shift);
        if let Some(place) = [self.next, shifted].into_iter().find(|place| fits(*place)) {
            return Some(place);
        }
        self.guess(link)
    }

    /// Moved further: what stands near is the most likely. Nobody gets this to run without end: the guesses are counted.
    fn guess(&mut self, link: &impl Link) -> Option<u64> {
        let seq = link.seq();
        for far in 1..=self.longest {
            for place in [seq.checked_sub(far), seq.checked_add(far)].into_iter().flatten() {
                if *self.guesses == 0 {
                    return None;
                }
                *self.guesses -= 1;
                if (1..=self.longest).contains(&place) && link.sign_at(self.key, &self.nonce, place) == link.hash() {
                    return Some(place);
                }
            }
        }
        None
    }
}

/// Takes one number out of the ranges; was it in them?
fn take_out(ranges: &mut Vec<Range<u64>>, seq: u64) -> bool {
    let Some(index) = ranges.iter().position(|range| range.contains(&seq)) else { return false };
    let range = ranges.remove(index);
    let rest = [range.start..seq, seq + 1..range.end];
    for part in rest.into_iter().rev().filter(|part| !part.is_empty()) {
        ranges.insert(index, part);
    }
    true
}
