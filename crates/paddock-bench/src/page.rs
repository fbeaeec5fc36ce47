//! The page of results, in Markdown: tables, where a peer is ahead, the machine, the versions, the method.

use std::fmt::Write as _;

use crate::machine::Machine;
use crate::report::{Report, Row, Section};

const INTRODUCTION: &str = "\
# Benchmarks

Written by `cargo xtask bench`; do not edit by hand. Every figure comes from one run on one machine, so compare figures
within this page only: the ratios are what counts. A ratio is always ours divided by theirs. ✓ and ✗ say whether a goal
that was set beforehand was met.
";

const METHOD: &str = "\
## Method

- Every server is started as its users start it and spoken to by the same lean client over pipes: one request at a time, the
  request written out before the clock starts, the answer looked at after it has stopped. Paddock runs with the configuration
  that `paddock init` writes, hidden and guarded names included.
- The contenders take turns (A, B, C, A, B, C …), many short rounds each, after one that does not count. A figure is the median
  of the rounds; a ratio is the ratio of two medians of the same run. \"Rounds\" is the middle half of the ratios round by round:
  where it is wide, the machine was disturbed.
- Every answer is checked: contents read are compared, files written and edited are read back, names listed and lines found
  must be the expected ones. A wrong answer ends the run.
- Virtual Stores are measured in the process that calls them, through the guard, as an agent's call reaches them; AgentFS in a
  process of its own that keeps the clock itself, so that no pipe is measured. Each does 1,000 files, then the next one.
- Processor time is what the kernel charges to the server's processes; memory is what it calls resident.
- The limit of open files is raised to the most the host allows, for all: rust-mcp-filesystem opens every file of a tree at once to
  search contents and fails where there are more than it may open.
- All files are in memory, in the page cache or on tmpfs; nothing is synced to a disk, by any contender, but where the page says
  so. An ext4 without a journal is
  avoided: it makes new files slowly for a minute after others were deleted, and so would punish whoever replaces files atomically
  (Paddock and the server on Node) for what ran before.
";

/// The whole page.
pub(crate) fn page(report: &Report, machine: &Machine) -> String {
    let mut out = String::from(INTRODUCTION);
    summarize(&mut out, report);
    for section in &report.sections {
        table(&mut out, section);
    }
    out.push('\n');
    out.push_str(METHOD);
    out.push_str(&machine.as_markdown());
    out
}

fn summarize(out: &mut String, report: &Report) {
    let rows = || report.sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)));
    let goals = rows().filter(|(_, row)| row.is_met.is_some()).count();
    let met = rows().filter(|(_, row)| row.is_met == Some(true)).count();
    let _ = writeln!(out, "\nGoals met: {met} of {goals}.");
    list(out, "Goals missed", rows().filter(|(_, row)| row.is_met == Some(false)));
    list(out, "Where a peer is ahead", rows().filter(|(_, row)| row.peer_is_ahead));
}

fn list<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = (&'a Section, &'a Row)>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        let _ = writeln!(out, "\n{title}: nowhere in this run.");
        return;
    }
    let _ = writeln!(out, "\n{title}:\n");
    for (section, row) in rows {
        let against = if row.against.is_empty() { String::new() } else { format!(" against {}", row.against) };
        let wanted = if row.wanted.is_empty() { String::new() } else { format!(", wanted {}", row.wanted) };
        let figure = if row.ratio.is_empty() { &row.ours } else { &row.ratio };
        let _ = writeln!(out, "- {}: {}{against}: {figure}{wanted}", section.title, row.what);
    }
}

fn table(out: &mut String, section: &Section) {
    let _ = writeln!(out, "\n## {}\n\n{}\n", section.title, section.note);
    out.push_str("| what | against | theirs | ours | ratio | rounds | wanted | |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
    for row in &section.rows {
        let Row { what, against, theirs, ours, ratio, spread, wanted, .. } = row;
        let cells = [what, against, theirs, ours, ratio, spread, wanted, row.mark()];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Wanted;

    #[test]
    fn a_goal_that_was_missed_and_a_peer_that_is_ahead_are_named() {
        let mut report = Report::default();
        report.section("Cold start", "less is better");
        let ms = Duration::from_millis;
        report.cheaper_by_total("cold start", "peer", ms(10), ms(12), Some(Wanted::AtMost(1.0)));
        let page = page(&report, &Machine::default());
        assert!(page.contains("Goals met: 0 of 1."), "{page}");
        assert_eq!(page.matches("- Cold start: cold start against peer: 1.20×, wanted ≤ 1×").count(), 2, "{page}");
        assert!(page.contains("| cold start | peer | 10.0 ms | 12.0 ms | 1.20× |  | ≤ 1× | ✗ |"), "{page}");
    }

    #[test]
    fn where_all_is_well_the_page_says_so() {
        let mut report = Report::default();
        report.section("Denials", "");
        report.took("denial", Duration::from_nanos(500), Some(Duration::from_micros(2)));
        let page = page(&report, &Machine::default());
        assert!(page.contains("Goals met: 1 of 1.") && page.contains("Where a peer is ahead: nowhere"), "{page}");
    }
}
