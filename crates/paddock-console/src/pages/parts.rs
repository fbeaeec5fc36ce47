//! Small pieces of markup that pages share: icons, badges, times, paths, texts that others wrote.

use maud::{Markup, html};
use paddock_desk::past;
use paddock_desk::workspaces::WorkspaceShown;

/// An icon of the sprite.
pub(crate) fn icon(name: &str) -> Markup {
    html! { svg.icon aria-hidden="true" { use href={ "/assets/icons.svg#" (name) } {} } }
}

/// A text that others wrote, with every character shown that could deceive a reader.
pub(crate) fn shown(text: &str) -> Markup {
    html! {
        @for piece in pieces(text) {
            @match piece {
                Piece::Plain(text) => (text),
                Piece::Odd(letter) => span.char { "U+" (format!("{:04X}", u32::from(letter))) },
            }
        }
    }
}

/// A message or a hint of Paddock's own, with what stands between backticks as code.
pub(crate) fn hinted(text: &str) -> Markup {
    let pieces: Vec<&str> = text.split('`').collect();
    // A backtick without its other half is a character like any other.
    let whole = pieces.len() % 2 == 1;
    html! {
        @if !whole { (shown(text)) }
        @else { @for (at, piece) in pieces.iter().enumerate() {
            @if at % 2 == 1 { code { (shown(piece)) } } @else { (shown(piece)) }
        } }
    }
}

enum Piece<'t> {
    Plain(&'t str),
    Odd(char),
}

/// The text in pieces: what reads as it is, and the characters between that do not.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        let mut buffer = [0; 4];
        let plain = matches!(letter, '\n' | '\t')
            || paddock_core::visible(letter.encode_utf8(&mut buffer)) == buffer_text(letter);
        if plain {
            continue;
        }
        if start < at {
            found.push(Piece::Plain(&text[start..at]));
        }
        found.push(Piece::Odd(letter));
        start = at + letter.len_utf8();
    }
    if start < text.len() {
        found.push(Piece::Plain(&text[start..]));
    }
    found
}

fn buffer_text(letter: char) -> String {
    letter.to_string()
}

/// Who did it: the agent, or a person on its Workspaces.
pub(crate) fn actor(agent: &str, by: Option<&str>) -> Markup {
    html! {
        @match by {
            Some(by) => { "by " (shown(by)) " " span.muted { "for " (shown(agent)) } },
            None => (shown(agent)),
        }
    }
}

/// A moment; the modules of the page write it as the person likes.
pub(crate) fn time(exact: &str) -> Markup {
    html! { time datetime=(exact) { (exact.replace('T', " ").trim_end_matches('Z')) " UTC" } }
}

/// The badge of a scope.
pub(crate) fn scope(name: &str) -> Markup {
    let short = match name {
        "READ_ONLY" => "RO",
        "READ_WRITE" => "RW",
        _ => "WO",
    };
    html! { span class={ "scope " (short.to_lowercase()) } title=(name) { (short) } }
}

/// The badge of an outcome.
pub(crate) fn outcome(word: &str) -> Markup {
    let class = match word {
        "done" | "approved" | "completed" => "done",
        "denied" | "rejected" => "denied",
        "parked" | "pending" | "waiting" => "waiting",
        "running" => "running",
        _ => "failed",
    };
    html! { span class={ "outcome " (class) } { (word) } }
}

/// How full a Workspace is: a meter for each quota that it has.
pub(crate) fn quota(workspace: &WorkspaceShown) -> Markup {
    let WorkspaceShown { prefix, used, quota, .. } = workspace;
    let Some(used) = used else { return html! { span.muted { "not counted" } } };
    html! {
        div.quota {
            @match quota.bytes {
                Some(most) => (meter(&format!("Storage of {prefix}"), (used.bytes, most), past::size, "")),
                None => div.quota-text { (past::size(used.bytes)) },
            }
            @if let Some(most) = quota.files { (meter(&format!("Files of {prefix}"), (used.files, most), |files| files.to_string(), " files")) }
        }
    }
}

/// So much of at most so much.
fn meter(label: &str, (used, most): (u64, u64), said: fn(u64) -> String, unit: &str) -> Markup {
    let share = used.saturating_mul(100).checked_div(most).unwrap_or(100);
    html! {
        div.quota-text { span { (said(used)) " of " (said(most)) (unit) } span.muted { (share) " %" } }
        meter min="0" max=(most) low=(most / 4 * 3) high=(most / 10 * 9) optimum="0" value=(used) aria-label=(label) { (share) " %" }
    }
}

/// What is not done unasked: a button that opens a question, and the form that is sent when it is answered with yes.
///
/// The form stands in the dialog and nowhere else, so the question cannot be missed: the browser itself opens the dialog, and one
/// that cannot sends nothing, whether or not the page's modules run.
pub(crate) struct Question<'a> {
    /// Tells this question from the page's others, and is the same when the page is made again.
    pub(crate) id: String,
    pub(crate) action: &'a str,
    pub(crate) question: Markup,
    /// What yes is called here.
    pub(crate) yes: &'a str,
}

impl Question<'_> {
    /// The button, of these classes and with this content, and its dialog; `fields` are sent along.
    pub(crate) fn behind(&self, classes: &str, button: &Markup, fields: &Markup) -> Markup {
        let id = format!("ask-{}", in_url(&self.id));
        html! {
            button class={ "button " (classes) } type="button" command="show-modal" commandfor=(id) { (button) }
            dialog.dialog id=(id) role="alertdialog" aria-labelledby={ (id) "-question" } {
                h2 id={ (id) "-question" } { (self.question) }
                form method="post" action=(self.action) {
                    (fields)
                    div.actions {
                        // The first button has the focus: whoever only presses a key agrees to nothing.
                        button.button type="button" command="close" commandfor=(id) { "Cancel" }
                        button.button.danger.primary { (self.yes) }
                    }
                }
            }
        }
    }
}

/// So many of something.
pub(crate) fn counted<N: std::fmt::Display>(count: N, what: &str) -> String {
    let count = count.to_string();
    let end = if count == "1" { "" } else { "s" };
    format!("{count} {what}{end}")
}

/// A text as a part of a URL.
pub(crate) fn in_url(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A logical path as the rest of an address: its slashes stay.
pub(crate) fn path_in_url(path: &str) -> String {
    path.split('/').map(in_url).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_shown() {
        assert_eq!(shown("a\u{202e}<b>").into_string(), "a<span class=\"char\">U+202E</span>&lt;b&gt;");
        assert_eq!(shown("plain\nü").into_string(), "plain\nü");
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(hinted("run `a <b>` now").into_string(), "run <code>a &lt;b&gt;</code> now");
        assert_eq!(hinted("a ` alone").into_string(), "a ` alone");
    }

    #[test]
    fn paths_go_into_addresses_whole() {
        assert_eq!(path_in_url("/a b/ü?#%/"), "/a%20b/%C3%BC%3F%23%25/");
    }
}
