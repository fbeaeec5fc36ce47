//! The first page: who works here, on what, what waits, what happened last.

use maud::html;
use paddock_desk::Result;
use paddock_desk::workspaces;

use super::parts::{quota, scope};
use super::{Page, Visit};

pub(super) fn page(visit: &Visit) -> Result<Page> {
    let desk = &visit.shared.desk;
    let agents = workspaces::agents(desk)?;
    let shown = workspaces::of_agent(desk, visit.agent.as_deref())?;
    Ok(Page::new(
        "Overview",
        html! {
            header.page-head { div { h1 { "Overview" } p.lede { (agents.len()) " agents, " (shown.len()) " Workspaces" } } }
            section.card aria-labelledby="h-ws" #workspaces data-live="overview" {
                header { h2 #h-ws { "Workspaces" } }
                table.table {
                    caption.sr { "Workspaces of the agent" }
                    thead { tr { th scope="col" { "Workspace" } th scope="col" { "Scope" } th scope="col" { "Store" } th scope="col" { "Holds" } } }
                    tbody data-key-list { @for row in &shown {
                        tr data-key-item tabindex="-1" {
                            th scope="row" data-label="Workspace" { a.path href={ "/files" (super::parts::path_in_url(&row.prefix)) } { (row.prefix) } }
                            td data-label="Scope" { (scope(&row.scope)) }
                            td data-label="Store" { span.label { (row.store) } }
                            td data-label="Holds" { @if let Some(used) = row.used { (quota(&row.prefix, used.bytes, row.quota.bytes)) } @else { span.muted { "not counted" } } }
                        }
                    } }
                }
            }
        },
    ))
}
