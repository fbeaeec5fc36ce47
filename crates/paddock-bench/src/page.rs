//! The page of results, in Markdown: plots, tables, where a peer is ahead, what could not be measured, the machine, the versions, the method.
//!
//! Owns the page's file and the directory of its plots, which is named like it. A plot of an earlier run that this one has not drawn is
//! taken away, so that the page and its plots are of one run.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::machine::Machine;
use crate::options::Options;
use crate::plot::{self, Plot};
use crate::report::{Report, Row, Section};

const INTRODUCTION: &str = "\
# Benchmarks

Written by `cargo xtask bench`; do not edit by hand. Every figure comes from one run on one machine, so compare figures
within this page only: the ratios are what counts. A ratio is always ours divided by theirs. ✓ and ✗ say whether a goal
that was set beforehand was met. In the plots better is always to the right, and the scale counts in times.
";

const DRAFT: &str = "
**Of a short or partial run, or of one that has not come to its end: it shows that everything runs, and its figures mean little.**
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
  must be the expected ones. A wrong answer ends its section, and the page says so.
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

/// Writes the page and its plots.
pub(crate) fn write(path: &Path, report: &Report, machine: &Machine, options: &Options) -> Result<()> {
    let directory = path.with_extension("");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot make \"{}\"", directory.display()))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    // What is written while a run goes on, or after a short one, is not the page.
    let is_draft = options.page.as_deref() != Some(path);
    let (text, plots) = page(report, machine, options, (&name, is_draft));
    for entry in std::fs::read_dir(&directory)? {
        let old = entry?.path();
        if old.extension().is_some_and(|extension| extension == "svg") {
            std::fs::remove_file(old)?;
        }
    }
    for plot in &plots {
        std::fs::write(directory.join(&plot.file), &plot.svg)?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write \"{}\"", path.display()))
}

/// The whole page, or a draft of it; its plots are in the directory of this name beside it.
fn page(
    report: &Report,
    machine: &Machine,
    options: &Options,
    (directory, is_draft): (&str, bool),
) -> (String, Vec<Plot>) {
    let mut out = String::from(INTRODUCTION);
    if is_draft {
        out.push_str(DRAFT);
    }
    let mut plots = Vec::new();
    let mut show = |out: &mut String, plot: Option<Plot>| {
        if let Some(plot) = plot {
            let _ = write!(out, "\n{}", plot.as_markdown(directory));
            plots.push(plot);
        }
    };
    summarize(&mut out, report);
    show(&mut out, plot::overview(report));
    shortcomings(&mut out, report, options);
    for section in &report.sections {
        let _ = writeln!(out, "\n## {}", section.title);
        if !section.note.is_empty() {
            let _ = writeln!(out, "\n{}", section.note);
        }
        show(&mut out, plot::section(section));
        table(&mut out, section);
    }
    out.push('\n');
    out.push_str(METHOD);
    out.push_str(&machine.as_markdown());
    (out, plots)
}

fn rows(report: &Report) -> impl Iterator<Item = (&Section, &Row)> {
    report.sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)))
}

fn summarize(out: &mut String, report: &Report) {
    let goals = rows(report).filter(|(_, row)| row.is_met.is_some()).count();
    let met = rows(report).filter(|(_, row)| row.is_met == Some(true)).count();
    let _ = writeln!(out, "\nGoals met: {met} of {goals}.");
}

fn shortcomings(out: &mut String, report: &Report, options: &Options) {
    let broken = report.sections.iter().filter_map(|section| Some((&section.title, section.broken.as_ref()?)));
    let broken: Vec<_> = broken.map(|(title, why)| format!("- {title}: {}", flat(why))).collect();
    let missing = options.missing.iter().map(|(name, why)| format!("- {name}: {}", flat(why)));
    for (title, lines) in [("Broken in this run", broken), ("Could not be measured", missing.collect())] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{title}:\n\n{}", lines.join("\n"));
        }
    }
    list(out, "Goals missed", rows(report).filter(|(_, row)| row.is_met == Some(false)));
    list(out, "Where a peer is ahead", rows(report).filter(|(_, row)| row.peer_is_ahead()));
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
    if !section.rows.is_empty() {
        out.push_str("\n| what | against | theirs | ours | ratio | rounds | wanted | |\n");
        out.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n");
    }
    for row in &section.rows {
        let Row { what, against, theirs, ours, ratio, spread, wanted, .. } = row;
        let cells = [what, against, theirs, ours, ratio, spread, wanted, row.mark()];
        let _ = writeln!(out, "| {} |", cells.map(cell).join(" | "));
    }
    if let Some(why) = &section.broken {
        let _ = writeln!(out, "\n**Broken in this run, so what should follow is not here:** {}", flat(why));
    }
}

/// What ends a cell would end it.
pub(crate) fn cell(text: &str) -> String {
    flat(text).replace('|', "\\|")
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Wanted;

    fn drawn(report: &Report, options: &Options) -> (String, Vec<Plot>) {
        page(report, &Machine::default(), options, ("benchmarks", options.quick))
    }

    fn sample() -> Report {
        let mut report = Report::default();
        report.section("Cold start", "less is better");
        let ms = Duration::from_millis;
        report.cheaper_by_total("cold start", "peer", ms(10), ms(12), Some(Wanted::AtMost(1.0)));
        report
    }

    #[test]
    fn a_goal_that_was_missed_and_a_peer_that_is_ahead_are_named() {
        let (page, plots) = drawn(&sample(), &Options::default());
        assert!(page.contains("Goals met: 0 of 1."), "{page}");
        assert_eq!(page.matches("- Cold start: cold start against peer: 1.20×, wanted ≤ 1×").count(), 2, "{page}");
        assert!(page.contains("| cold start | peer | 10.0 ms | 12.0 ms | 1.20× |  | ≤ 1× | ✗ |"), "{page}");
        assert!(!page.contains("short or partial"), "{page}");
        let files: Vec<&str> = plots.iter().map(|plot| plot.file.as_str()).collect();
        assert_eq!(files, ["goals.svg", "cold-start.svg"]);
        for file in files {
            assert!(page.contains(&format!("](benchmarks/{file})")), "{page}");
        }
    }

    #[test]
    fn where_all_is_well_the_page_says_so() {
        let mut report = Report::default();
        report.section("Denials", "");
        report.took("denial", Duration::from_nanos(500), Some(Duration::from_micros(2)));
        let (page, _) = drawn(&report, &Options::default());
        assert!(page.contains("Goals met: 1 of 1.") && page.contains("Where a peer is ahead: nowhere"), "{page}");
        assert!(!page.contains("Broken") && !page.contains("Could not be measured"), "{page}");
    }

    #[test]
    fn what_broke_or_is_missing_is_told() {
        let mut report = sample();
        report.absent("cold start", "other | peer", "no network,\nno peer");
        report.broke("calls", 1, "a wrong answer");
        let missing = vec![("other | peer".to_owned(), "no network,\nno peer".to_owned())];
        let options = Options { missing, quick: true, ..Options::default() };
        let (page, _) = drawn(&report, &options);
        assert!(page.contains("Broken in this run:\n\n- calls: a wrong answer\n"), "{page}");
        assert!(page.contains("Could not be measured:\n\n- other | peer: no network, no peer\n"), "{page}");
        let row = "| cold start | other \\| peer | could not be measured: no network, no peer |  |  |  |  |  |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("## calls\n\n**Broken in this run") && page.contains("short or partial"), "{page}");
    }

    #[test]
    fn the_plots_beside_the_page_are_of_its_run() {
        let place = tempfile::tempdir().unwrap();
        let plots = place.path().join("results");
        std::fs::create_dir(&plots).unwrap();
        std::fs::write(plots.join("old.svg"), "<svg/>").unwrap();
        std::fs::write(plots.join("notes.txt"), "kept").unwrap();
        let path = place.path().join("results.md");
        let options = Options { page: Some(path.clone()), ..Options::default() };
        write(&path, &sample(), &Machine::default(), &options).unwrap();
        let mut names: Vec<_> = std::fs::read_dir(&plots).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["cold-start.svg", "goals.svg", "notes.txt"]);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("](results/goals.svg)") && !text.contains("short or partial"), "{text}");
        let draft = place.path().join("draft/results.md");
        write(&draft, &sample(), &Machine::default(), &options).unwrap();
        assert!(std::fs::read_to_string(draft).unwrap().contains("short or partial"));
    }
}
