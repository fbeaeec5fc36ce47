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

    /// How many times better than wanted; one and more is met.
    fn margin(self, ratio: f64) -> f64 {
        match self {
            Self::AtLeast(limit) => ratio / limit,
            Self::AtMost(limit) => limit / ratio,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("≥ {limit}×"),
            Self::AtMost(limit) => format!("≤ {limit}×"),
        }
    }
}

/// Whom a figure of ours stands beside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Beside {
    #[default]
    Nobody,
    /// Another program, or the least that could be done.
    Peer,
    /// Another way of our own.
    Ourselves,
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
    pub(crate) beside: Beside,
    /// How many times better than what it stands beside: above one, ours is ahead.
    pub(crate) lead: Option<f64>,
    /// How many times better than the goal: one and more is met.
    pub(crate) margin: Option<f64>,
}

/// A table with what is said above it.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) rows: Vec<Row>,
    /// Why what should follow is not there.
    pub(crate) broken: Option<String>,
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
        self.sections.push(Section { title: title.to_owned(), note: note.to_owned(), rows: Vec::new(), broken: None });
    }

    /// A part could not be measured to its end. `began` is how many sections there were before it.
    #[allow(clippy::print_stderr)]
    pub(crate) fn broke(&mut self, part: &str, began: usize, why: &str) {
        eprintln!("  broken: {why}");
        if self.sections.len() == began {
            self.section(part, "");
        }
        if let Some(section) = self.sections.last_mut() {
            section.broken = Some(why.to_owned());
        }
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
            ..Row::of(what, against, ratio, wanted).led(ratio)
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

    /// As `cheaper`, beside another way of our own.
    pub(crate) fn beside_ours(
        &mut self,
        what: &str,
        against: &str,
        other: &Samples,
        this: &Samples,
        wanted: Option<Wanted>,
    ) {
        let spread = between(this.spread(other));
        let row = Row::of_times(what, against, other.median(), this.median(), wanted);
        self.push(Row { spread, beside: Beside::Ourselves, ..row });
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
            ..Row::of(what, against, ratio, None).led(1.0 / ratio)
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
            ..Row::of(what, against, ratio, None).led(1.0 / ratio)
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

    /// Work that nobody could ask a peer for.
    pub(crate) fn absent(&mut self, what: &str, against: &str, why: &str) {
        self.push(Row {
            what: what.to_owned(),
            against: against.to_owned(),
            theirs: format!("could not be measured: {why}"),
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
        let margin = at_most.map(|limit| limit.as_secs_f64() / took.as_secs_f64());
        self.push(Row { what: what.to_owned(), ours: time(took), wanted, is_met, margin, ..Row::default() });
    }

    /// A figure of ours with no peer and no goal.
    pub(crate) fn noted(&mut self, what: &str, ours: &str) {
        self.push(Row { what: what.to_owned(), ours: ours.to_owned(), ..Row::default() });
    }

    /// A number of ours with no peer that has to stay below another one.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn at_most(&mut self, what: &str, ours: u64, limit: u64, shown: impl Fn(u64) -> String) {
        // Nothing is as far below nothing as can be told.
        let margin = if limit == 0 { 1.0 / (ours + 1) as f64 } else { limit as f64 / ours.max(1) as f64 };
        self.push(Row {
            what: what.to_owned(),
            ours: shown(ours),
            wanted: if limit == 0 { shown(limit) } else { format!("≤ {}", shown(limit)) },
            is_met: Some(ours <= limit),
            margin: Some(margin),
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
            margin: wanted.map(|wanted| wanted.margin(ratio)),
            ..Self::default()
        }
    }

    /// So many times better than a peer.
    fn led(self, lead: f64) -> Self {
        Self { lead: Some(lead), beside: Beside::Peer, ..self }
    }

    fn of_times(what: &str, against: &str, theirs: Duration, ours: Duration, wanted: Option<Wanted>) -> Self {
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        Self { theirs: time(theirs), ours: time(ours), ..Self::of(what, against, ratio, wanted).led(1.0 / ratio) }
    }

    /// Does the page have to say so?
    pub(crate) fn peer_is_ahead(&self) -> bool {
        self.beside == Beside::Peer && self.lead.is_some_and(|lead| lead < 1.0)
    }

    /// The lead that would just meet the goal.
    pub(crate) fn lead_wanted(&self) -> Option<f64> {
        Some(self.lead? / self.margin?)
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
        assert_eq!(rows.iter().map(Row::peer_is_ahead).collect::<Vec<_>>(), [false, true, false, false]);
    }

    #[test]
    fn leads_and_margins_are_above_one_where_it_is_good() {
        let mut report = Report::default();
        report.section("t", "n");
        let (quick, slow) = (samples(5), samples(10));
        report.faster("more", "peer", &slow, &quick, Some(Wanted::AtLeast(4.0)));
        report.cheaper("less", "peer", &slow, &quick, Some(Wanted::AtMost(1.0)));
        report.beside_ours("dearer", "another way", &quick, &slow, Some(Wanted::AtMost(1.5)));
        report.took("time", Duration::from_millis(2), Some(Duration::from_millis(8)));
        report.at_most("bytes", 200, 100, |n| n.to_string());
        report.at_most("lost", 0, 0, |n| n.to_string());
        report.at_most("lost", 3, 0, |n| n.to_string());
        let rows = &report.sections[0].rows;
        let of = |figure: fn(&Row) -> Option<f64>| rows.iter().map(figure).collect::<Vec<_>>();
        let (some, none) = (Some, None::<f64>);
        assert_eq!(of(|row| row.lead), [some(2.0), some(2.0), some(0.5), none, none, none, none]);
        assert_eq!(of(Row::lead_wanted), [some(4.0), some(1.0), some(1.0 / 1.5), none, none, none, none]);
        let margins = [some(0.5), some(2.0), some(0.75), some(4.0), some(0.5), some(1.0), some(0.25)];
        assert_eq!(of(|row| row.margin), margins);
        assert_eq!(rows.iter().map(Row::mark).collect::<String>(), "✗✓✗✓✗✓✗");
        // Another way of our own is no peer.
        assert!(rows.iter().all(|row| !row.peer_is_ahead()));
    }

    #[test]
    fn what_broke_is_told_where_it_broke() {
        let mut report = Report::default();
        report.broke("calls", 0, "no server");
        report.section("Memory", "n");
        report.broke("memory", 1, "it ended");
        let told: Vec<_> = report.sections.iter().map(|s| (s.title.as_str(), s.broken.as_deref())).collect();
        assert_eq!(told, [("calls", Some("no server")), ("Memory", Some("it ended"))]);
    }

    fn samples(milliseconds: u64) -> Samples {
        Samples::of(vec![Duration::from_millis(milliseconds)])
    }
}
