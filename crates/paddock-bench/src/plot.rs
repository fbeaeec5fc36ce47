//! Which figures are drawn, and what is said of them: one plot of every goal, and one for each section that compares.
//!
//! Owns the names of the files and the words for those who do not see a plot. Reads the report and nothing else.

use crate::report::{Report, Row, Section};
use crate::svg::{Chart, Dot, Goal, svg};

/// The file of the goals.
const OVERVIEW: &str = "goals";

/// A drawn file and how the page refers to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plot {
    /// Without the directory.
    pub(crate) file: String,
    /// The result in words.
    pub(crate) says: String,
    pub(crate) svg: String,
}

impl Plot {
    fn of(name: &str, chart: &Chart) -> Self {
        Self { file: format!("{name}.svg"), says: chart.says.clone(), svg: svg(chart) }
    }

    /// The line of the page that shows it.
    pub(crate) fn as_markdown(&self, directory: &str) -> String {
        // Brackets would end the words.
        let says = self.says.replace(['[', ']'], "");
        format!("![{says}]({directory}/{})\n", self.file)
    }
}

/// Every goal: how far on this side or on that side of it we are. Nothing where there is none.
pub(crate) fn overview(report: &Report) -> Option<Plot> {
    let mut groups = Vec::new();
    for section in &report.sections {
        let dots: Vec<Dot> = section.rows.iter().filter_map(goal_dot).collect();
        if !dots.is_empty() {
            groups.push((section.title.clone(), dots));
        }
    }
    let dots = || groups.iter().flat_map(|(section, dots)| dots.iter().map(move |dot| (section, dot)));
    let worst = dots().min_by(|(_, a), (_, b)| a.times.total_cmp(&b.times))?;
    let met = dots().filter(|(_, dot)| dot.goal == Goal::Met).count();
    let furthest = if worst.1.goal == Goal::Missed { "missed by most" } else { "met by least" };
    let says = format!(
        "{met} of {} goals are met. The one {furthest}: {}, {}: {}.",
        dots().count(),
        worst.0,
        worst.1.name,
        worst.1.told
    );
    let sides = ["misses its goal", "better than its goal"];
    Some(Plot::of(OVERVIEW, &Chart { title: "Every goal".to_owned(), says, sides, groups }))
}

/// The comparisons of a section. Nothing where it has none.
pub(crate) fn section(section: &Section) -> Option<Plot> {
    let dots: Vec<Dot> = section.rows.iter().filter_map(lead_dot).collect();
    let best = dots.iter().max_by(|a, b| a.times.total_cmp(&b.times))?;
    let worst = dots.iter().min_by(|a, b| a.times.total_cmp(&b.times))?;
    let ahead = dots.iter().filter(|dot| dot.times >= 1.0).count();
    let mut says = format!("{}: Paddock is ahead in {ahead} of {} comparisons.", section.title, dots.len());
    for (which, dot) in [("Best", best), ("Worst", worst)] {
        says.push_str(&format!(" {which}: {}: {}.", dot.name, dot.told));
    }
    let goals = dots.iter().filter(|dot| dot.goal != Goal::Unset).count();
    if goals > 0 {
        let met = dots.iter().filter(|dot| dot.goal == Goal::Met).count();
        says.push_str(&format!(" {met} of {goals} goals are met."));
    }
    let sides = ["behind", "Paddock is ahead"];
    let chart = Chart { title: section.title.clone(), says, sides, groups: vec![(String::new(), dots)] };
    Some(Plot::of(&file_name(&section.title), &chart))
}

fn goal_dot(row: &Row) -> Option<Dot> {
    let times = row.margin?;
    let told = if row.is_met == Some(true) { format!("{} better", factor(times)) } else { missed_by(times) };
    Some(Dot { name: name(row), times, goal_at: None, goal: goal(row), told })
}

fn missed_by(times: f64) -> String {
    format!("missed by {}", factor(1.0 / times))
}

fn lead_dot(row: &Row) -> Option<Dot> {
    let times = row.lead?;
    let told =
        if times >= 1.0 { format!("{} ahead", factor(times)) } else { format!("{} behind", factor(1.0 / times)) };
    Some(Dot { name: name(row), times, goal_at: row.lead_wanted(), goal: goal(row), told })
}

fn name(row: &Row) -> String {
    if row.against.is_empty() { row.what.clone() } else { format!("{}, against {}", row.what, row.against) }
}

fn goal(row: &Row) -> Goal {
    match row.is_met {
        Some(true) => Goal::Met,
        Some(false) => Goal::Missed,
        None => Goal::Unset,
    }
}

fn factor(times: f64) -> String {
    let decimals = match times {
        large if large >= 100.0 => 0,
        middling if middling >= 10.0 => 1,
        _ => 2,
    };
    format!("{times:.decimals$}×")
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::Wanted;
    use crate::svg::tests::elements;

    fn report() -> Report {
        let mut report = Report::default();
        report.section("Calls & <more>", "n");
        let ms = Duration::from_millis;
        report.cheaper_by_total("read", "peer \"a\"", ms(20), ms(5), Some(Wanted::AtMost(0.5)));
        report.cheaper_by_total("edit", "peer [b]", ms(10), ms(12), Some(Wanted::AtMost(0.6)));
        report.cheaper_by_total("list", "peer [b]", ms(30), ms(10), None);
        report.section("Nothing to compare", "n");
        report.took("denial", ms(1), Some(ms(2)));
        report.noted("memory", "3 MiB");
        report
    }

    #[test]
    fn a_section_is_drawn_and_said() {
        let report = report();
        let plot = section(&report.sections[0]).unwrap();
        assert_eq!(plot.file, "calls-more.svg");
        let said = "Calls & <more>: Paddock is ahead in 2 of 3 comparisons. Best: read, against peer \"a\": 4.00× ahead. \
                    Worst: edit, against peer [b]: 1.20× behind. 1 of 2 goals are met.";
        assert_eq!(plot.says, said);
        assert!(elements(&plot.svg).len() > 20);
        assert!(plot.svg.contains(">read, against peer &quot;a&quot;</text>"), "{}", plot.svg);
        let line = plot.as_markdown("benchmarks");
        assert!(line.starts_with("![Calls") && line.ends_with("](benchmarks/calls-more.svg)\n"), "{line}");
        assert!(line.contains("against peer b: 1.20× behind"), "{line}");
        assert_eq!(section(&report.sections[1]), None);
    }

    #[test]
    fn every_goal_is_in_the_overview() {
        let plot = overview(&report()).unwrap();
        let said =
            "2 of 3 goals are met. The one missed by most: Calls & <more>, edit, against peer [b]: missed by 2.00×.";
        assert_eq!((plot.file.as_str(), plot.says.as_str()), ("goals.svg", said));
        assert!(plot.svg.contains(">denial</text>") && !plot.svg.contains(">list,"), "{}", plot.svg);
        assert_eq!(overview(&report()), Some(plot));
        assert_eq!(overview(&Report::default()), None);
    }
}
