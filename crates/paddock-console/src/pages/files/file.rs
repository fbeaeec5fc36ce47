//! The page of a file: what it holds, as far as that can be shown safely.

use maud::{Markup, html};
use paddock_desk::files::{self, FileShown, Spot, TextShown};
use paddock_desk::{Result, past};

use super::{Here, address, head, highlight, is_writable, markdown, raw};
use crate::pages::parts::{Question, counted, icon, shown, time};

/// How much of a text is shown.
const MOST: u64 = 256 * 1024;
/// How many lines have an address of their own.
const ADDRESSED: usize = 5000;
/// The images that a page shows, by the end of the name.
pub(super) const IMAGES: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg"];

/// How a file can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Image,
    Document,
    Source,
    Nothing,
}

fn look(stat: &FileShown, asked: Option<&str>) -> Look {
    let end = stat.name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    let is_text = stat.text == Some(true);
    match asked {
        _ if stat.kind != "file" => Look::Nothing,
        Some("source") if is_text => Look::Source,
        _ if IMAGES.contains(&end.as_str()) => Look::Image,
        _ if is_text && matches!(end.as_str(), "md" | "markdown") => Look::Document,
        _ if is_text => Look::Source,
        _ => Look::Nothing,
    }
}

pub(super) fn page(here: &Here<'_>, stat: &FileShown) -> Result<Markup> {
    let path = here.spot.path.as_str();
    let address = raw(here.spot.agent.as_str(), path);
    let asked = here.visit.query.view.as_deref();
    let look = look(stat, asked);
    let inside = match look {
        Look::Image => image(stat, &address),
        Look::Nothing => nothing(stat, &address),
        Look::Document | Look::Source => {
            let opened = files::open(here.spot.at(path)?)?;
            match files::text(&opened, MOST)? {
                Some(text) if look == Look::Document => document(here, stat, &text),
                Some(text) => source(stat, &text),
                None => nothing(stat, &address),
            }
        }
    };
    let actions = html! {
        @if stat.kind == "file" { a.button href={ (address) "?download=true" } { (icon("download")) "Download" } }
    };
    Ok(html! {
        (head(here, stat, &actions))
        (tabs(here, stat, Some(look)))
        section.card #content aria-labelledby="h-content" data-live="files" {
            header { h2 #h-content { "Content" } (facts(stat)) }
            (inside)
        }
        @if is_writable(stat) { (change(here, stat)) }
    })
}

/// The ways to look at a path.
pub(super) fn tabs(here: &Here<'_>, stat: &FileShown, now: Option<Look>) -> Markup {
    let own = here.address(here.spot.path.as_str());
    let both = stat.text == Some(true) && matches!(look(stat, None), Look::Image | Look::Document);
    let current = |is: bool| is.then_some("page");
    let is_source = now == Some(Look::Source);
    html! {
        nav.tabs aria-label="Views of the file" {
            a href=(own) aria-current=[current(now.is_some() && !(both && is_source))] { "Preview" }
            @if both { a href={ (own) "&view=source" } aria-current=[current(is_source)] { "Source" } }
            a href={ (own) "&view=history" } aria-current=[current(now.is_none())] { "History" }
        }
    }
}

fn facts(stat: &FileShown) -> Markup {
    html! {
        span.muted.small {
            @if let Some(size) = stat.size { (past::size(size)) }
            @if let Some(encoding) = &stat.encoding { " · " (encoding) }
            @if let Some(at) = &stat.modified { " · " (time(at)) }
        }
    }
}

fn image(stat: &FileShown, address: &str) -> Markup {
    let end = stat.name.rsplit_once('.').map(|(_, end)| end.to_ascii_uppercase()).unwrap_or_default();
    let version = stat.version.as_deref().unwrap_or_default();
    html! {
        div.card-body { figure.image {
            // The version, so that a browser shows what is there now.
            img src={ (address) "#" (version) } alt=(paddock_core::visible(&stat.name));
            figcaption { (end) ", " (past::size(stat.size.unwrap_or(0))) }
        } }
    }
}

fn nothing(stat: &FileShown, address: &str) -> Markup {
    html! {
        div.empty {
            (icon("file"))
            @match stat.kind {
                "file" => {
                    h3 { "This file is no text" }
                    p { (past::size(stat.size.unwrap_or(0))) ", not shown here." }
                    div.actions { a.button href={ (address) "?download=true" } { "Download" } }
                },
                "link" => { h3 { "A link" } p { "It leads to where the agent does not perceive anything." } },
                _ => { h3 { "A pipe, a device or a socket" } p { "It is never opened." } },
            }
        }
    }
}

fn source(stat: &FileShown, text: &TextShown) -> Markup {
    let content = text.text.replace("\r\n", "\n");
    let lines = content.lines().count();
    let invisible = content.chars().filter(|c| is_invisible(*c)).count();
    html! {
        @if invisible > 0 {
            p.note.warn { "This text holds " (counted(invisible, "invisible character")) ", shown as " span.char { "U+200B" } "." }
        }
        div.code.scroll tabindex="0" role="region" aria-label={ "Content of " (paddock_core::visible(&stat.name)) } {
            pre.gutter aria-hidden="true" { (gutter(lines)) }
            pre.source { code { (highlight::coloured(&stat.name, &content)) } }
        }
        @if text.cut { p.note.info { "Only the first " (past::size(MOST)) " are shown; download the file to see the rest." } }
    }
}

fn is_invisible(letter: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = letter.encode_utf8(&mut buffer);
    !matches!(letter, '\n' | '\t') && paddock_core::visible(text) != text
}

fn gutter(lines: usize) -> Markup {
    html! {
        @for n in 1..=lines {
            @if n <= ADDRESSED { a #{ "L" (n) } href={ "#L" (n) } tabindex="-1" { (n) } } @else { (n) }
            "\n"
        }
    }
}

fn document(here: &Here<'_>, stat: &FileShown, text: &TextShown) -> Markup {
    let places = Around { spot: &here.spot, workspace: stat.workspace.as_deref().unwrap_or("/") };
    html! {
        div.card-body { article.prose { (markdown::rendered(&text.text, &places)) } }
        @if text.cut { p.note.info { "Only the first " (past::size(MOST)) " are shown; download the file to see the rest." } }
    }
}

/// Where a document of this path leads.
struct Around<'a> {
    spot: &'a Spot,
    workspace: &'a str,
}

impl Around<'_> {
    /// The path that a document names: from its own directory, or from the Workspace where it begins with a slash.
    fn path(&self, named: &str) -> Option<String> {
        let named = decoded(named)?;
        let from = match named.starts_with('/') {
            true => self.workspace.to_owned(),
            false => self.spot.path.parent()?.to_string(),
        };
        let found = self.spot.at(&format!("{}/{}", from.trim_end_matches('/'), named)).ok()?;
        Some(found.path.to_string())
    }
}

impl markdown::Places for Around<'_> {
    fn link(&self, path: &str) -> Option<String> {
        self.path(path).map(|path| address(self.spot.agent.as_str(), &path))
    }

    fn image(&self, path: &str) -> Option<String> {
        let path = self.path(path)?;
        let end = path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase())?;
        let inside = super::below(&path, self.workspace).is_some();
        (inside && IMAGES.contains(&end.as_str())).then(|| raw(self.spot.agent.as_str(), &path))
    }
}

/// What the percent signs of an address stand for.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = more.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// What can be done with what is here.
pub(super) fn change(here: &Here<'_>, stat: &FileShown) -> Markup {
    let own = here.address(here.spot.path.as_str());
    let delete = Question {
        id: "delete".into(),
        action: &own,
        question: html! { "Delete “" (shown(&stat.name)) "”? " code { "paddock undo" } " brings it back." },
        yes: "Delete",
    };
    let fields = html! {
        input type="hidden" name="act" value="delete";
        @if let Some(version) = &stat.version { input type="hidden" name="version" value=(version); }
    };
    html! {
        details.more {
            summary { "Move or delete" }
            div.stack {
                form.row method="post" action=(own) {
                    input type="hidden" name="act" value="move";
                    div.field { label for="m-to" { "New path" } input #m-to name="to" required value=(here.spot.path.as_str()); }
                    button.button { "Move" }
                }
                div { (delete.behind("danger", &html! { (icon("trash")) "Delete " (shown(&stat.name)) }, &fields)) }
            }
        }
    }
}
