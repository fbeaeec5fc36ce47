//! The page of a directory: its entries, page by page, and what can be done in it.

use maud::{Markup, html};
use paddock_desk::files::{self, EntryShown, FileShown, Listing};
use paddock_desk::{Result, past};

use super::{Here, head, is_writable, raw, tree};
use crate::pages::parts::{icon, in_url, path_in_url, scope, shown, time};

/// The entries of one page.
const PAGE: usize = 200;

pub(super) fn page(here: &Here<'_>, stat: &FileShown) -> Result<Markup> {
    let after = here.visit.query.after.as_deref();
    let listing = files::list(&here.spot, after, Some(PAGE))?;
    let path = here.spot.path.as_str();
    let writable = is_writable(stat);
    let prefix = raw(here.spot.agent.as_str(), path);
    let drop_here = writable.then(|| format!("{}/", prefix.trim_end_matches('/')));
    let history = stat.workspace.as_ref().map(|_| format!("{}&view=history", here.address(path)));
    let actions =
        html! { @if let Some(history) = &history { a.button href=(history) { (icon("history")) "History" } } };
    Ok(html! {
        (head(here, stat, &actions))
        @if writable { div.row { (upload(here)) (make_dir(here)) } }
        div.split.files-split {
            (tree(here)?)
            section.card #listing data-live="files" data-upload=[drop_here] aria-labelledby="h-listing" {
                header {
                    h2 #h-listing { @if stat.name.is_empty() { "Workspaces" } @else { (shown(&stat.name)) } }
                    @if let Some(word) = &stat.scope { (scope(word)) }
                }
                (entries(here, &listing))
                (pager(here, &listing))
            }
        }
        @if writable && stat.workspace.as_deref() != Some(path) { (super::file::change(here, stat)) }
    })
}

fn entries(here: &Here<'_>, listing: &Listing) -> Markup {
    if listing.entries.is_empty() {
        return html! {
            div.empty { (icon("dir")) h3 { "Nothing is here" } p { "What the agent writes appears here by itself." } }
        };
    }
    html! {
        table.table.files {
            caption.sr { "Entries of " (shown(&listing.path)) }
            thead { tr { th scope="col" { "Name" } th.number scope="col" { "Size" } th scope="col" { "Changed" } } }
            tbody data-key-list { @for entry in &listing.entries { (row(here, entry)) } }
        }
        @for prefix in &listing.unreachable { p.note.warn { "The Workspace " span.path { (prefix) } " cannot be looked into." } }
    }
}

fn row(here: &Here<'_>, entry: &EntryShown) -> Markup {
    let class = format!("entry {}", picture(entry));
    html! {
        tr data-key-item tabindex="-1" {
            th scope="row" {
                @match &entry.path {
                    Some(path) => a class=(class) href=(here.address(path)) { (shown(&entry.name)) },
                    None => span class=(class) title="This name cannot be asked for" { (shown(&entry.name)) },
                }
                @if let Some(word) = &entry.scope { " " (scope(word)) }
            }
            td.number data-label="Size" { @match entry.size { Some(size) => (past::size(size)), None => "–" } }
            td data-label="Changed" { @match &entry.modified { Some(at) => (time(at)), None => "–" } }
        }
    }
}

fn picture(entry: &EntryShown) -> &'static str {
    let end = entry.name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    match entry.kind {
        _ if entry.scope.is_some() => "workspace",
        "directory" => "dir",
        "link" => "link",
        _ if super::file::IMAGES.contains(&end.as_str()) => "image",
        _ => "file",
    }
}

fn pager(here: &Here<'_>, listing: &Listing) -> Markup {
    let is_first = here.visit.query.after.is_none();
    if is_first && listing.next.is_none() {
        return html! {};
    }
    let address = here.address(here.spot.path.as_str());
    let ends = |entry: Option<&EntryShown>| html! { @if let Some(entry) = entry { (shown(&entry.name)) } };
    html! {
        nav.pager aria-label="Pages" {
            @if !is_first { a.button.small rel="prev" href=(address) { "First page" } }
            span { (ends(listing.entries.first())) " – " (ends(listing.entries.last())) }
            @if let Some(next) = &listing.next { a.button.small rel="next" href={ (address) "&after=" (in_url(next)) } { "Next" } }
        }
    }
}

fn upload(here: &Here<'_>) -> Markup {
    let action = format!("/upload{}?agent={}", path_in_url(here.spot.path.as_str()), in_url(here.spot.agent.as_str()));
    html! {
        form.upload method="post" enctype="multipart/form-data" action=(action) {
            label.button for="up" { (icon("upload")) "Upload files" }
            input.sr #up name="files" type="file" multiple;
            button.button.needs-no-js { "Send" }
        }
    }
}

fn make_dir(here: &Here<'_>) -> Markup {
    html! {
        details.more {
            summary { "New directory" }
            form.row method="post" action=(here.address(here.spot.path.as_str())) {
                input type="hidden" name="act" value="make_dir";
                div.field { label for="d-name" { "Name" } input #d-name name="name" required maxlength="255"; }
                button.button { "Make it" }
            }
        }
    }
}
