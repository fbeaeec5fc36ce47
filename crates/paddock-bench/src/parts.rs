//! The parts of a run, in their order, and what becomes of one that breaks: it is told on the page, and the others are measured.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::options::Options;
use crate::report::Report;
use crate::servers::all;
use crate::trees::Project;
use crate::{
    calls, commands, conversation, in_process, large, layers, memory, mounted, npm_package, runs, searching, served,
    starting, virtual_store, writers,
};

type Measure = fn(&mut Report, &Options, &Project) -> Result<()>;

/// A part that can be measured alone.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    run: Measure,
}

const fn part(name: &'static str, run: Measure) -> Part {
    Part { name, run }
}

/// All of them.
pub(crate) const PARTS: [Part; 15] = [
    part("in-process", in_process::run),
    part("virtual", virtual_store::run),
    part("layers", layers::run),
    part("large", large::run),
    part("writers", writers::run),
    part("mounted", mounted::run),
    part("commands", commands::run),
    part("conversation", |report, options, _| conversation::run(report, options)),
    part("runs", |report, options, _| runs::run(report, options)),
    part("calls", |report, options, project| calls::run(report, options, project, &all(options, project)?)),
    part("search", |report, options, project| searching::run(report, options, project, &all(options, project)?)),
    part("start", |report, options, project| starting::run(report, options, &all(options, project)?)),
    part("memory", |report, options, project| memory::run(report, options, project, &all(options, project)?)),
    part("served", |report, options, project| served::run(report, options, project, &all(options, project)?)),
    part("node", |report, options, _| npm_package::run(report, options)),
];

/// Measures what is wanted, and tells `after` each part what there is so far; the names of the parts that broke.
pub(crate) fn run(
    report: &mut Report,
    options: &Options,
    project: &Project,
    after: impl Fn(&Report),
) -> Vec<&'static str> {
    let wanted: Vec<&Part> = PARTS.iter().filter(|part| options.wants(part.name)).collect();
    let wanted: Vec<(&'static str, Measure)> = wanted.iter().map(|part| (part.name, part.run)).collect();
    each(report, &wanted, after, |measure, report| measure(report, options, project))
}

/// One part after the other; the names of those that broke.
#[allow(clippy::print_stderr)]
fn each<T: Copy>(
    report: &mut Report,
    parts: &[(&'static str, T)],
    after: impl Fn(&Report),
    run: impl Fn(T, &mut Report) -> Result<()>,
) -> Vec<&'static str> {
    let (start, mut broken) = (Instant::now(), Vec::new());
    for (number, (name, part)) in parts.iter().enumerate() {
        eprintln!("\n[{} of {}] {name}, {} after the start", number + 1, parts.len(), clock(start.elapsed()));
        let (began, sections) = (Instant::now(), report.sections.len());
        // A comparison that panics must not take the others with it.
        let done = catch_unwind(AssertUnwindSafe(|| run(*part, report)));
        if let Err(error) = done.unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", words(&*panic)))) {
            report.broke(name, sections, &format!("{error:#}"));
            broken.push(*name);
        }
        eprintln!("  {name} took {}", clock(began.elapsed()));
        after(report);
    }
    broken
}

/// What a panic says.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nobody knows why")
}

/// Minutes and seconds.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_or_panics_is_told_and_the_rest_is_measured() {
        let mut report = Report::default();
        let seen = std::cell::Cell::new(0);
        let after = |report: &Report| seen.set(seen.get() + report.sections.len());
        let broken = each(&mut report, &[("a", 0), ("b", 1), ("c", 2), ("d", 3)], after, |which, report| {
            if which > 0 {
                report.section(&format!("section {which}"), "n");
            }
            match which {
                0 => Err(anyhow!("no ground").context("it cannot begin")),
                1 => panic!("a wrong sum"),
                _ => Ok(()),
            }
        });
        assert_eq!((broken, seen.get()), (vec!["a", "b"], 1 + 2 + 3 + 4));
        let told: Vec<_> = report.sections.iter().map(|s| (s.title.as_str(), s.broken.as_deref())).collect();
        let expected = [
            ("a", Some("it cannot begin: no ground")),
            ("section 1", Some("it panicked: a wrong sum")),
            ("section 2", None),
            ("section 3", None),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_help_names_every_part() {
        let help = include_str!("../../../xtask/src/bench/mod.rs");
        let help = help.split("USAGE").nth(1).unwrap();
        for part in PARTS {
            assert!(
                help.contains(&format!("{},", part.name)) || help.contains(&format!("{};", part.name)),
                "{}",
                part.name
            );
        }
    }

    #[test]
    fn times_are_told_as_people_say_them() {
        assert_eq!([clock(Duration::from_secs(59)), clock(Duration::from_secs(125))], ["59 s", "2 min 5 s"]);
    }
}
