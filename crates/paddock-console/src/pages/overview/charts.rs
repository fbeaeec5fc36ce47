//! The pictures of the first page: activity over time, storage by Workspace. Each says in words what it shows.

use maud::{Markup, html};
use paddock_desk::activity::Hour;
use paddock_desk::overview::AgentAtWork;
use paddock_desk::past;
use paddock_desk::projects::Stored;

use crate::pages::parts::{in_url, path_in_url, shown};

const WIDTH: u64 = 720;
const HEIGHT: u64 = 120;

/// How calls ended, hour by hour.
pub(super) fn hours(hours: &[Hour]) -> Markup {
    let sum = |hour: &Hour| hour.done + hour.denied + hour.waiting + hour.failed;
    let most = hours.iter().max_by_key(|hour| sum(hour));
    let (top, all) = (most.map_or(0, sum), hours.iter().map(sum).sum::<u64>());
    let step = WIDTH / (hours.len() as u64).max(1);
    let clock = |hour: &Hour| hour.from.get(11..16).unwrap_or_default().to_owned();
    let label = match most.filter(|_| top > 0) {
        Some(hour) => format!("Acts per hour: at most {top} at {} UTC, {all} in all", clock(hour)),
        None => "Acts per hour: none".to_owned(),
    };
    html! {
        figure.chart {
            figcaption { "Acts per hour, last 24 hours" }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
                line.axis x1="0" y1="119.5" x2=(WIDTH) y2="119.5" {}
                @for (n, hour) in hours.iter().enumerate() { (bar(hour, n as u64 * step + 2, step.saturating_sub(4), top, &clock(hour))) }
            }
            div.chart-ends { span { (hours.first().map(clock).unwrap_or_default()) " UTC" } span { "now" } }
            ul.legend { li.done { "done" } li.denied { "denied" } li.failed { "failed" } li.waiting { "waiting" } }
            p.muted.small { (label) "." }
        }
    }
}

fn bar(hour: &Hour, x: u64, width: u64, top: u64, clock: &str) -> Markup {
    let parts = [("done", hour.done), ("denied", hour.denied), ("failed", hour.failed), ("waiting", hour.waiting)];
    let mut below = HEIGHT - 1;
    let said: Vec<String> = parts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    if said.is_empty() {
        return html! {};
    }
    let mut boxes = Vec::new();
    for (class, number) in parts.into_iter().filter(|(_, number)| *number > 0) {
        // What there was at all is seen, however little.
        let height = (number * (HEIGHT - 8) / top.max(1)).max(2);
        below = below.saturating_sub(height);
        boxes.push(html! { rect class=(class) x=(x) y=(below) width=(width) height=(height) {} });
    }
    html! { g { title { (clock) " UTC: " (said.join(", ")) } @for one in &boxes { (one) } } }
}

/// The most projects of the first page.
const PROJECTS: usize = 8;

/// What each project of an agent holds, the largest first; those that take long to count behind.
pub(super) fn projects(agent: &str, stored: &[Stored]) -> Markup {
    let mut held: Vec<&Stored> = stored.iter().collect();
    held.sort_by_key(|one| std::cmp::Reverse(one.bytes));
    let most = held.first().and_then(|one| one.bytes).unwrap_or(0).max(1);
    html! {
        dl.bars { @for one in held.iter().take(PROJECTS) {
            div {
                dt { a.path href={ "/files" (path_in_url(&one.path)) "?agent=" (in_url(agent)) } { (shown(&one.path)) } }
                dd {
                    svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                        rect.track width="100" height="8" {}
                        rect.bar width=(one.bytes.unwrap_or(0).saturating_mul(100) / most) height="8" {}
                    }
                    span { @match one.bytes { Some(bytes) => (past::size(bytes)), None => "large" } }
                }
            }
        } }
        @if held.len() > PROJECTS { p.muted.small { "and " (held.len() - PROJECTS) " more" } }
    }
}

/// What each Workspace holds, the fullest first.
pub(super) fn storage(agents: &[AgentAtWork]) -> Markup {
    let mut held: Vec<(&str, &str, u64)> = Vec::new();
    for agent in agents {
        let used = agent.workspaces.iter().filter_map(|row| Some((row.prefix.as_str(), row.used?.bytes)));
        held.extend(used.map(|(prefix, bytes)| (agent.name.as_str(), prefix, bytes)));
    }
    held.sort_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    let most = held.first().map_or(0, |(_, _, bytes)| *bytes).max(1);
    let several = agents.len() > 1;
    html! {
        @if held.is_empty() { p.muted { "No Workspace is counted. One with a quota is, and every Virtual one." } }
        @else {
            dl.bars { @for (agent, prefix, bytes) in &held {
                div {
                    dt { a.path href={ "/files" (path_in_url(prefix)) "?agent=" (in_url(agent)) } { (prefix) } @if several { " " span.muted { (agent) } } }
                    dd {
                        svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                            rect.track width="100" height="8" {}
                            rect.bar width=(bytes.saturating_mul(100) / most) height="8" {}
                        }
                        span { (past::size(*bytes)) }
                    }
                }
            } }
        }
    }
}
