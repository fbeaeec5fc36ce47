//! What is allowed without asking again: listed with where it comes from, and taken back at any time.

use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::approvals;

use super::Id;
use crate::endpoint::Nothing;
use crate::pages::parts::{Question, counted, icon, in_url, shown, time};
use crate::pages::{Done, Page, Visit};

pub(super) fn page(visit: &Visit) -> Result<Page> {
    let grants = approvals::grants(&visit.shared.desk, None)?;
    Ok(Page::new(
        "Grants",
        html! {
            header.page-head {
                div { h1 { "Grants" } p.lede { "What is allowed without asking again. They are kept in the state of this project, not in " code { "paddock.toml" } "." } }
                div.actions { a.button href="/approvals" { "Approvals" } }
            }
            section.card #grants data-live="approvals settings" aria-labelledby="h-grants" {
                header { h2 #h-grants { "Allowed" } }
                @if grants.is_empty() {
                    div.empty { (icon("key")) h2 { "Nothing is allowed without asking" } p { "Approving a call for longer than once makes a grant." } }
                } @else {
                    table.table {
                        caption.sr { "Grants" }
                        thead { tr { th scope="col" { "Covers" } th scope="col" { "Agent" } th scope="col" { "Reach" } th scope="col" { "From" } th scope="col" { "Last used" } th scope="col" { span.sr { "Acts" } } } }
                        tbody data-key-list { @for grant in &grants {
                            tr data-key-item tabindex="-1" {
                                th scope="row" data-label="Covers" { (shown(&grant.covers)) }
                                td data-label="Agent" { (shown(&grant.agent)) }
                                td data-label="Reach" { span.label { (grant.reach) } }
                                td data-label="From" { a href={ "/approvals/" (in_url(&grant.approval)) } { (grant.approval) } " by " (shown(&grant.granted_by)) ", " (time(&grant.granted_at)) }
                                td data-label="Last used" { @match &grant.last_used { Some(last) => { (time(last)) ", " (counted(grant.uses, "time")) }, None => span.muted { "never" } } }
                                td.actions { (revoke_button(&grant.id)) }
                            }
                        } }
                    }
                }
            }
        },
    ))
}

fn revoke_button(grant: &str) -> Markup {
    let question = Question {
        id: format!("revoke-{grant}"),
        action: &format!("/grants/{}/revoke", in_url(grant)),
        question: html! { "Revoke this grant? From the next call on you are asked again." },
        yes: "Revoke",
    };
    question.behind("danger small", &html! { "Revoke" span.sr { " " (grant) } }, &html! {})
}

pub(super) fn revoke(visit: &Visit<Id>, _: Nothing) -> Result<Done> {
    let revoked = approvals::revoke(&visit.shared.desk, &visit.path.id)?;
    Ok(Done::Back {
        to: "/grants".to_owned(),
        told: format!("Revoked {}: it is asked again from the next call on.", revoked.id),
    })
}
