//! What the doctor finds, and what runs here.

use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::doctor::{self, Row, Status};

use crate::pages::parts::{counted, hinted, shown};
use crate::pages::{Page, Visit};

pub(super) fn doctor(visit: &Visit) -> Result<Page> {
    let rows = doctor::examine(Ok(visit.shared.desk.project().clone()), None);
    let count = |status: Status| rows.iter().filter(|row| row.status == status).count();
    let (bad, doubtful) = (count(Status::Bad), count(Status::Doubtful));
    Ok(Page::new(
        "Doctor",
        html! {
            (super::head("/settings/doctor"))
            @if bad > 0 { div.note.bad { p { @if bad == 1 { "1 thing does" } @else { (bad) " things do" } " not work." } } }
            @else if doubtful > 0 { div.note.warn { p { "Everything works; " (counted(doubtful, "thing")) " may not be meant so." } } }
            @else { div.note.ok { p { "Everything is as it should be." } } }
            section.card aria-labelledby="h-doctor" {
                header { h2 #h-doctor { "What was looked at" } }
                table.table {
                    caption.sr { "What was looked at" }
                    thead { tr { th scope="col" { "Stands" } th scope="col" { "What" } th scope="col" { "Found" } th scope="col" { "Remedy" } } }
                    tbody { @for row in &rows { (line(row)) } }
                }
            }
        },
    ))
}

fn line(row: &Row) -> Markup {
    let (class, sign, word) = match row.status {
        Status::Good => ("done", "✓", "ok"),
        Status::Doubtful => ("waiting", "⚠", "warning"),
        Status::Bad => ("failed", "✗", "problem"),
    };
    html! {
        tr {
            td data-label="Stands" { span class={ "outcome " (class) } { (sign) span.sr { " " (word) } } }
            th scope="row" data-label="What" { (shown(&row.what)) }
            td data-label="Found" { (shown(&row.found)) }
            td data-label="Remedy" { @if let Some(remedy) = &row.remedy { (hinted(remedy)) } }
        }
    }
}

pub(super) fn about(visit: &Visit) -> Result<Page> {
    let desk = &visit.shared.desk;
    let project = desk.project();
    let home = desk.installation().home().map(|home| home.path().display().to_string());
    let usage = visit.shared.mcp.usage();
    Ok(Page::new(
        "About",
        html! {
            (super::head("/settings/about"))
            section.card aria-labelledby="h-about" {
                header { h2 #h-about { "What runs here" } }
                div.card-body { dl.facts {
                    div { dt { "Paddock" } dd { (env!("CARGO_PKG_VERSION")) } }
                    div { dt { "Configuration" } dd.path { (shown(&project.config.display().to_string())) } }
                    @if let Some(home) = &home { div { dt { "State" } dd.path { (shown(home)) } } }
                    div { dt { "Listening pages" } dd { (visit.shared.hub.readers()) } }
                    div { dt { "MCP sessions" } dd { (usage.sessions) } }
                } }
                footer { a.button.small href="/api/v1/openapi.json" { "API" } " " a.button.small href="/metrics" { "Metrics" } }
            }
        },
    ))
}
