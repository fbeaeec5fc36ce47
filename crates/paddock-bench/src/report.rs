//! What was measured, as rows of tables, for the terminal and for the page of results.
//!
//! Owns what a ratio means (ours divided by theirs, always) and whether a goal was met. A goal that was missed is a
//! mark in a table, never a failure: figures depend on the machine.

use std::time::Duration;

use crate::rounds::Samples;

/// What we want a ratio to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Wanted {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(limit) => ratio >= limit,
            Self::AtMost(limit) => ratio <= limit,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("≥ {limit}×"),
            Self::AtMost(limit) => format!("≤ {limit}×"),
        }
    }
}

/// One row of the results.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) against: String,
    pub(crate) theirs: String,
    pub(crate) ours: String,
    pub(crate) ratio: String,
    /// The middle half of the ratios round by round.
    pub(crate) spread: String,
    pub(crate) wanted: String,
    pub(crate) is_met: Option<bool>,
    pub(crate) peer_is_ahead: bool,
}

/// A table with what is said above it.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) rows: Vec<Row>,
}

/// Everything measured in one run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) sections: Vec<Section>,
}

impl Report {
    /// Begins a table; the rows that follow go into it.
    #[allow(clippy::print_stderr)]
    pub(crate) fn section(&mut self, title: &str, note: &str) {
        eprintln!("\n{title}");
        self.sections.push(Section { title: title.to_owned(), note: note.to_owned(), rows: Vec::new() });
    }

    /// Work per second, where more is better.
    pub(crate) fn faster(
        &mut self,
        what: &str,
        against: &str,
        theirs: &Samples,
        ours: &Samples,
        wanted: Option<Wanted>,
    ) {
        let ratio = theirs.times(ours);
        let per_second = |samples: &Samples| format!("{}/s", grouped(1.0 / samples.median().as_secs_f64()));
        let row = Row {
            theirs: per_second(theirs),
            ours: per_second(ours),
            spread: between(theirs.spread(ours)),
            peer_is_ahead: ratio < 1.0,
            ..Row::of(what, against, ratio, wanted)
        };
        self.push(row);
    }

    /// Time for a piece of work, where less is better.
    pub(crate) fn cheaper(
        &mut self,
        what: &str,
        against: &str,
        theirs: &Samples,
        ours: &Samples,
        wanted: Option<Wanted>,
    ) {
        let spread = between(ours.spread(theirs));
        let row = Row { spread, ..Row::of_times(what, against, theirs.median(), ours.median(), wanted) };
        self.push(row);
    }

    /// As `cheaper`, where only the whole over all rounds is known.
    pub(crate) fn cheaper_by_total(
        &mut self,
        what: &str,
        against: &str,
        theirs: Duration,
        ours: Duration,
        wanted: Option<Wanted>,
    ) {
        self.push(Row::of_times(what, against, theirs, ours, wanted));
    }

    /// Memory, where less is better.
    pub(crate) fn smaller(&mut self, what: &str, against: &str, theirs: u64, ours: u64) {
        #[allow(clippy::cast_precision_loss)]
        let ratio = ours as f64 / theirs as f64;
        let row = Row {
            theirs: mebibytes(theirs),
            ours: mebibytes(ours),
            peer_is_ahead: ratio > 1.0,
            ..Row::of(what, against, ratio, None)
        };
        self.push(row);
    }

    /// Bytes of any number, where less is better.
    pub(crate) fn bytes(&mut self, what: &str, against: &str, theirs: u64, ours: u64) {
        #[allow(clippy::cast_precision_loss)]
        let (theirs, ours) = (theirs as f64, ours as f64);
        let ratio = ours / theirs;
        let row = Row {
            theirs: grouped(theirs),
            ours: grouped(ours),
            // Some are thousands of times apart.
            ratio: format!("{ratio:.4}×"),
            peer_is_ahead: ratio > 1.0,
            ..Row::of(what, against, ratio, None)
        };
        self.push(row);
    }

    /// Work that a peer could not do.
    pub(crate) fn failed(&mut self, what: &str, against: &str, why: &str, ours: &str) {
        self.push(Row {
            what: what.to_owned(),
            against: against.to_owned(),
            theirs: format!("failed: {why}"),
            ours: ours.to_owned(),
            ..Row::default()
        });
    }

    /// A figure of one contender against another of its own.
    pub(crate) fn growth(&mut self, what: &str, ratio: f64, wanted: Option<Wanted>) {
        self.push(Row::of(what, "", ratio, wanted));
    }

    /// A time of ours with no peer.
    pub(crate) fn took(&mut self, what: &str, took: Duration, at_most: Option<Duration>) {
        let wanted = at_most.map(|limit| format!("≤ {limit:?}")).unwrap_or_default();
        let is_met = at_most.map(|limit| took <= limit);
        self.push(Row { what: what.to_owned(), ours: time(took), wanted, is_met, ..Row::default() });
    }

    /// A figure of ours with no peer and no goal.
    pub(crate) fn noted(&mut self, what: &str, ours: &str) {
        self.push(Row { what: what.to_owned(), ours: ours.to_owned(), ..Row::default() });
    }

    /// A figure of ours with no peer.
    pub(crate) fn absolute(&mut self, what: &str, ours: &str, wanted: &str, is_met: bool) {
        self.push(Row {
            what: what.to_owned(),
            ours: ours.to_owned(),
            wanted: wanted.to_owned(),
            is_met: Some(is_met),
            ..Row::default()
        });
    }

    #[allow(clippy::print_stderr)]
    fn push(&mut self, row: Row) {
        let Row { what, against, theirs, ours, ratio, spread, wanted, .. } = &row;
        eprintln!("  {what:<40} {against:<26} {theirs:>10} {ours:>10} {ratio:>7} {spread:>13} {wanted} {}", row.mark());
        if let Some(section) = self.sections.last_mut() {
            section.rows.push(row);
        }
    }
}

impl Row {
    fn of(what: &str, against: &str, ratio: f64, wanted: Option<Wanted>) -> Self {
        Self {
            what: what.to_owned(),
            against: against.to_owned(),
            ratio: format!("{ratio:.2}×"),
            wanted: wanted.map(Wanted::shown).unwrap_or_default(),
            is_met: wanted.map(|wanted| wanted.is_met(ratio)),
            ..Self::default()
        }
    }

    fn of_times(what: &str, against: &str, theirs: Duration, ours: Duration, wanted: Option<Wanted>) -> Self {
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        Self {
            theirs: time(theirs),
            ours: time(ours),
            peer_is_ahead: ratio > 1.0,
            ..Self::of(what, against, ratio, wanted)
        }
    }

    /// Was the goal met?
    pub(crate) fn mark(&self) -> &'static str {
        match self.is_met {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "",
        }
    }
}

/// Bytes as people compare them.
pub(crate) fn mebibytes(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss)]
    let mebibytes = bytes as f64 / (1024.0 * 1024.0);
    format!("{mebibytes:.1} MiB")
}

/// Three digits that mean something.
pub(crate) fn time(time: Duration) -> String {
    let nanoseconds = time.as_secs_f64() * 1e9;
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

fn between((low, high): (f64, f64)) -> String {
    format!("{low:.2}–{high:.2}")
}

pub(crate) fn grouped(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_as_people_read_them() {
        assert_eq!([grouped(7.25), grouped(999.6), grouped(1_234_567.0)], ["7.2", "1,000", "1,234,567"]);
        assert_eq!(time(Duration::from_nanos(950)), "950 ns");
        assert_eq!(time(Duration::from_micros(1_234)), "1.23 ms");
        assert_eq!(time(Duration::from_micros(45)), "45.0 µs");
        assert_eq!(mebibytes(15 * 1024 * 1024), "15.0 MiB");
    }

    #[test]
    fn goals_are_judged_and_peers_that_are_ahead_are_marked() {
        let mut report = Report::default();
        report.section("t", "n");
        let ms = Duration::from_millis;
        report.cheaper_by_total("good", "peer", ms(10), ms(5), Some(Wanted::AtMost(0.6)));
        report.cheaper_by_total("bad", "peer", ms(10), ms(11), Some(Wanted::AtMost(1.0)));
        report.took("denial", Duration::from_nanos(2500), Some(Duration::from_micros(2)));
        report.growth("memory", 1.0, None);
        let rows = &report.sections[0].rows;
        assert_eq!(rows.iter().map(Row::mark).collect::<Vec<_>>(), ["✓", "✗", "✗", ""]);
        assert_eq!(rows.iter().map(|row| row.peer_is_ahead).collect::<Vec<_>>(), [false, true, false, false]);
    }
}
