//! The configuration in effect, each value with its line; changing one.

use maud::{Markup, html};
use paddock_desk::Result;
use paddock_desk::setup::{self, Setting};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::endpoint::Nothing;
use crate::pages::parts::{counted, in_url, shown};
use crate::pages::{Done, Page, Visit};

/// What the form is filled in with.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Filled {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    value: Option<String>,
}

pub(super) fn page(visit: &Visit<Nothing, Filled>) -> Result<Page> {
    // While the file has problems, what holds is what it last said.
    let settings = setup::in_effect(&visit.shared.desk).unwrap_or_default();
    let Filled { key, value } = &visit.query;
    Ok(Page::new("Configuration", body(&settings, key.as_deref(), value.as_deref(), &html! {})))
}

fn body(settings: &[Setting], key: Option<&str>, value: Option<&str>, note: &Markup) -> Markup {
    html! {
        (super::head("/settings/config"))
        (note)
        section.card aria-labelledby="h-set" {
            header { h2 #h-set { "Change a value" } }
            div.card-body { form.stack method="post" action="/settings/config" {
                div.row {
                    div.field { label for="c-key" { "Key" } input #c-key name="key" required value=[key] placeholder="workspace[0].scope"; }
                    div.field { label for="c-value" { "Value" } input #c-value name="value" value=[value] placeholder="READ_WRITE" aria-describedby="c-hint"; p.hint #c-hint { "TOML, or plain text. A value with which the configuration could not take effect is refused." } }
                }
                div.actions {
                    button.button.primary name="deed" value="set" { "Set" }
                    button.button.danger name="deed" value="unset" { "Take the key away" }
                }
            } }
        }
        section.card #config aria-labelledby="h-config" data-live="settings" {
            header { h2 #h-config { "In effect" } span.muted { (counted(settings.len(), "value")) } }
            table.table {
                caption.sr { "Every value that is set" }
                thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th scope="col" { "Written at" } th scope="col" { span.sr { "Acts" } } } }
                tbody data-key-list { @for one in settings {
                    tr data-key-item tabindex="-1" {
                        th.mono scope="row" data-label="Key" { (shown(&one.key)) }
                        td.mono data-label="Value" { (shown(&one.value)) }
                        td data-label="Written at" { code { (shown(&one.origin)) } }
                        td.actions { a.button.small.quiet href={ "/settings/config?key=" (in_url(&one.key)) "&value=" (in_url(&one.value)) "#c-key" } { "Change" span.sr { " " (shown(&one.key)) } } }
                    }
                } }
            }
        }
    }
}

/// What the form sends.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    key: String,
    #[serde(default)]
    value: String,
    deed: String,
}

pub(super) fn change(visit: &Visit, Change { key, value, deed }: Change) -> Result<Done> {
    let desk = &visit.shared.desk;
    let project = desk.project();
    let done = match deed.as_str() {
        "unset" => setup::unset(project, Some(desk), &key),
        _ => setup::set(project, Some(desk), &key, &value),
    };
    match done {
        Ok(changed) => {
            let told = format!("Changed {} in {}.", changed.key, changed.file);
            Ok(Done::Back { to: "/settings/config".to_owned(), told })
        }
        Err(failure) => {
            let note = html! { div.note.bad role="alert" {
                p { "Nothing was changed." }
                pre.terminal.scroll tabindex="0" role="region" aria-label="What is wrong" { (shown(failure.text())) }
            } };
            let settings = setup::in_effect(desk).unwrap_or_default();
            let mut page = Page::new("Configuration", body(&settings, Some(&key), Some(&value), &note));
            page.status = crate::problem::status(failure.kind());
            Ok(Done::Page(Box::new(page)))
        }
    }
}
