//! The first page: who works here, on what, what waits, what happened last.

mod charts;

use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::activity::Act;
use paddock_desk::overview::{self, AgentAtWork, Overview, Waits};

use super::parts::{actor, icon, in_url, outcome, path_in_url, quota, scope, shown, time};
use super::{Page, Visit};

/// How many tools are named.
const TOOLS: usize = 6;

pub(super) fn page(visit: &Visit) -> Result<Page> {
    let all = overview::overview(&visit.shared.desk, &visit.shared.access)?;
    let agent = paddock_desk::workspaces::agent_named(&visit.shared.desk, visit.agent.as_deref())?;
    // What cannot be counted must not keep the first page from being shown.
    let projects = paddock_desk::projects::stored(&visit.shared.desk, &agent).unwrap_or_default();
    let workspaces: usize = all.agents.iter().map(|agent| agent.workspaces.len()).sum();
    let nobody_came = all.recent.is_empty();
    Ok(Page::new(
        "Overview",
        html! {
            header.page-head { div {
                h1 { "Overview" }
                p.lede { (counted(all.agents.len(), "agent", "agents")) ", " (counted(workspaces, "Workspace", "Workspaces")) }
            } }
            (tiles(&all))
            @if nobody_came { (connect()) }
            (waiting(&all))
            div #work.stack data-live="overview" { @for agent in &all.agents { (at_work(agent)) } }
            div.grid.two {
                section.card #chart data-live="overview" aria-labelledby="h-chart" {
                    header { h2 #h-chart { "Activity" } a.button.small href="/activity" { "All" } }
                    div.card-body { (charts::hours(&all.hours)) }
                }
                section.card #storage data-live="overview" aria-labelledby="h-storage" {
                    header { h2 #h-storage { "Storage by Workspace" } }
                    div.card-body { (charts::storage(&all.agents)) }
                }
                @if !projects.is_empty() {
                    section.card #projects data-live="overview" aria-labelledby="h-projects" {
                        header { h2 #h-projects { "Storage by project" } a.button.small href={ "/projects?agent=" (in_url(agent.as_str())) } { "All" } }
                        div.card-body { (charts::projects(agent.as_str(), &projects)) }
                    }
                }
            }
            (recent(&all.recent))
        },
    ))
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn tiles(all: &Overview) -> Markup {
    let sum = |of: fn(&paddock_desk::activity::Hour) -> u64| all.hours.iter().map(of).sum::<u64>();
    let denied = sum(|hour| hour.denied);
    let acts = sum(|hour| hour.done + hour.denied + hour.waiting + hour.failed);
    html! {
        div.tiles #tiles data-live="overview approvals" {
            a.tile.attention[all.waiting > 0] href="/approvals" {
                span.tile-number { (all.waiting) } span.tile-label { @if all.waiting == 1 { "waits for you" } @else { "wait for you" } }
            }
            a.tile href="/activity" {
                span.tile-number { (acts) } span.tile-label { "acts in 24 hours" }
                @if denied > 0 { span.tile-note { (denied) " denied" } }
            }
            a.tile href="/files" {
                span.tile-number { (all.agents.iter().map(|agent| agent.workspaces.len()).sum::<usize>()) }
                span.tile-label { "Workspaces" }
            }
        }
    }
}

/// For a project that no agent has come to yet.
fn connect() -> Markup {
    html! {
        section.card aria-labelledby="h-connect" { div.empty {
            (icon("agent"))
            h2 #h-connect { "No agent has called yet" }
            p { "Connect one: the command writes its MCP entry and switches its own file and shell tools off, after showing what changes." }
            pre.terminal { "paddock connect claude-code" }
            div.actions { a.button href="/settings" { "Make a token for /mcp" } }
        } }
    }
}

fn waiting(all: &Overview) -> Markup {
    html! {
        section.card #waits data-live="approvals" aria-labelledby="h-waits" {
            header { h2 #h-waits { "Waits for you" } a.button.small href="/approvals" { "All " (all.waiting) } }
            @if all.first.is_empty() { div.card-body { p.muted { "Nothing. Calls above the configured risk are held until you decide." } } }
            @else {
                table.table {
                    caption.sr { "Calls that wait" }
                    thead { tr { th scope="col" { "Since" } th scope="col" { "Agent" } th scope="col" { "Call" } th scope="col" { "Risk" } } }
                    tbody { @for one in &all.first { (waits(one)) } }
                }
            }
        }
    }
}

fn waits(one: &Waits) -> Markup {
    html! {
        tr {
            td data-label="Since" { (time(&one.requested_at)) }
            td data-label="Agent" { (shown(&one.agent)) }
            th scope="row" data-label="Call" { a href={ "/approvals/" (in_url(&one.id)) } { (shown(&one.tool)) " " span.path { (shown(&one.path)) } } }
            td data-label="Risk" { span class={ "risk " (one.risk) } { (one.risk) } }
        }
    }
}

/// An agent with its Workspaces.
fn at_work(agent: &AgentAtWork) -> Markup {
    let id = format!("h-agent-{}", agent.name);
    let address = |prefix: &str| format!("/files{}?agent={}", path_in_url(prefix), in_url(&agent.name));
    html! {
        section.card aria-labelledby=(id) {
            header {
                h2 id=(id) { (icon("agent")) " " (shown(&agent.name)) }
                span.muted.small { (connection(agent)) }
            }
            @if agent.workspaces.is_empty() {
                div.card-body { p.muted { "It perceives nothing: the configuration gives it no Workspace." } }
            } @else {
                table.table {
                    caption.sr { "Workspaces of " (shown(&agent.name)) }
                    thead { tr { th scope="col" { "Workspace" } th scope="col" { "Scope" } th scope="col" { "Store" } th scope="col" { "Holds" } } }
                    tbody data-key-list { @for row in &agent.workspaces {
                        tr data-key-item tabindex="-1" {
                            th scope="row" data-label="Workspace" { a.path href=(address(&row.prefix)) { (row.prefix) } }
                            td data-label="Scope" { (scope(&row.scope)) }
                            td data-label="Store" { span.label { (row.store) } }
                            td data-label="Holds" { (quota(row)) }
                        }
                    } }
                }
            }
            footer { (tools(agent)) }
        }
    }
}

fn connection(agent: &AgentAtWork) -> Markup {
    html! {
        @match &agent.last { Some(last) => { "last call " (time(&last.time)) }, None => "has not called yet" }
        @if agent.tokens > 0 { " · " (counted(agent.tokens, "token", "tokens")) }
    }
}

fn tools(agent: &AgentAtWork) -> Markup {
    let (named, rest) = agent.tools.split_at(agent.tools.len().min(TOOLS));
    html! {
        div.row {
            @for tool in named { span.label { (tool) } }
            @if !rest.is_empty() { details.more { summary { "and " (rest.len()) " more tools" } div.row { @for tool in rest { span.label { (tool) } } } } }
            @if agent.tools.is_empty() { span.muted { "no tools" } }
        }
    }
}

fn recent(acts: &[Act]) -> Markup {
    html! {
        section.card #recent data-live="overview" aria-labelledby="h-recent" {
            header { h2 #h-recent { "Recent acts" } a.button.small href="/activity" { "All" } }
            @if acts.is_empty() { div.card-body { p.muted { "Nothing has happened yet." } } }
            @else {
                table.table {
                    caption.sr { "Recent acts" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "Who" } th scope="col" { "Act" } th scope="col" { "Outcome" } } }
                    tbody data-key-list { @for act in acts {
                        tr data-key-item tabindex="-1" {
                            td data-label="When" { (time(&act.time)) }
                            td data-label="Who" { (actor(&act.agent, act.by.as_deref())) }
                            th scope="row" data-label="Act" { a href={ "/activity/" (in_url(&act.call)) } data-key="Enter" { (shown(&act.tool)) " " span.path { (shown(&act.path)) } } }
                            td data-label="Outcome" { (outcome(&act.outcome)) }
                        }
                    } }
                }
            }
        }
    }
}
