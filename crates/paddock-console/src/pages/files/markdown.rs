//! Markdown as a page shows it.
//!
//! Written by whoever wrote the file, so nothing of it is trusted: raw HTML is text, a link leads to the web or to a file of the same
//! agent, an image is a file of the same Workspace, and what nests too deeply is only its text. There is no way from here to markup that is not
//! written below.

use maud::{Markup, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::pages::parts::shown;

/// How deep quotes, lists and the like may nest.
const DEEPEST: usize = 40;

/// Where links and images of a document lead.
pub(super) trait Places {
    /// The address of a file that the document names, for reading about it.
    fn link(&self, path: &str) -> Option<String>;
    /// The address of an image that the document shows.
    fn image(&self, path: &str) -> Option<String>;
}

/// The document.
pub(super) fn rendered(text: &str, places: &dyn Places) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader { events: Parser::new_ext(text, options), places, depth: 0 };
    reader.until_end()
}

struct Reader<'t, 'p> {
    events: Parser<'t>,
    places: &'p dyn Places,
    depth: usize,
}

impl Reader<'_, '_> {
    /// Everything up to the end of what was begun.
    fn until_end(&mut self) -> Markup {
        let mut parts = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::End(_) => break,
                Event::Start(tag) => parts.push(self.begun(tag)),
                Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => parts.push(shown(&text)),
                Event::Code(text) => parts.push(html! { code { (shown(&text)) } }),
                Event::SoftBreak => parts.push(html! { "\n" }),
                Event::HardBreak => parts.push(html! { br; }),
                Event::Rule => parts.push(html! { hr; }),
                Event::TaskListMarker(done) => parts.push(html! { (if done { "☑ " } else { "☐ " }) }),
                Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                    parts.push(shown(&text));
                }
            }
        }
        html! { @for part in &parts { (part) } }
    }

    fn begun(&mut self, tag: Tag<'_>) -> Markup {
        if self.depth >= DEEPEST {
            return shown(&self.text_until_end());
        }
        self.depth += 1;
        let made = self.made(tag);
        self.depth -= 1;
        made
    }

    fn made(&mut self, tag: Tag<'_>) -> Markup {
        match tag {
            Tag::CodeBlock(kind) => {
                let text = self.text_until_end();
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.split([' ', ',']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                html! { pre { code { (super::highlight::coloured(&format!("x.{language}"), &text)) } } }
            }
            Tag::Image { dest_url, .. } => {
                let alt = self.text_until_end();
                match self.places.image(&dest_url).filter(|_| !has_scheme(&dest_url)) {
                    Some(address) => html! { img src=(address) alt=(alt); },
                    None => html! { span.muted { (shown(&alt)) } },
                }
            }
            Tag::Link { dest_url, .. } => {
                let inside = self.until_end();
                match self.leads_to(&dest_url) {
                    Some(address) => html! { a href=(address) rel="noopener noreferrer nofollow" { (inside) } },
                    None => inside,
                }
            }
            Tag::Table(sides) => self.table(&sides),
            Tag::List(Some(first)) => html! { ol start=(first) { (self.until_end()) } },
            Tag::List(None) => html! { ul { (self.until_end()) } },
            Tag::Item => html! { li { (self.until_end()) } },
            Tag::Heading { level, .. } => heading(level, &self.until_end()),
            Tag::BlockQuote(_) => html! { blockquote { (self.until_end()) } },
            Tag::Emphasis => html! { em { (self.until_end()) } },
            Tag::Strong => html! { strong { (self.until_end()) } },
            Tag::Strikethrough => html! { s { (self.until_end()) } },
            Tag::Paragraph => html! { p { (self.until_end()) } },
            Tag::HtmlBlock => html! { pre { (self.until_end()) } },
            _ => self.until_end(),
        }
    }

    /// The head, then a body of rows.
    fn table(&mut self, sides: &[Alignment]) -> Markup {
        let (mut head, mut rows) = (Vec::new(), Vec::new());
        while let Some(event) = self.events.next() {
            match event {
                Event::End(TagEnd::Table) => break,
                Event::Start(Tag::TableHead) => head = self.cells(),
                Event::Start(Tag::TableRow) => rows.push(self.cells()),
                _ => {}
            }
        }
        let class = |column: usize| matches!(sides.get(column), Some(Alignment::Right)).then_some("number");
        html! {
            div.scroll tabindex="0" role="region" aria-label="Table" { table {
                thead { tr { @for (n, cell) in head.iter().enumerate() { th scope="col" class=[class(n)] { (cell) } } } }
                tbody { @for row in &rows { tr { @for (n, cell) in row.iter().enumerate() { td class=[class(n)] { (cell) } } } } }
            } }
        }
    }

    fn cells(&mut self) -> Vec<Markup> {
        let mut cells = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::End(TagEnd::TableHead | TagEnd::TableRow) => break,
                Event::Start(_) => cells.push(self.until_end()),
                _ => {}
            }
        }
        cells
    }

    /// The bare text of what was begun, however deep it is nested.
    fn text_until_end(&mut self) -> String {
        let (mut text, mut open) = (String::new(), 1_usize);
        for event in self.events.by_ref() {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) => open -= 1,
                Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                    text.push_str(&part);
                }
                Event::SoftBreak | Event::HardBreak => text.push('\n'),
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        text
    }

    fn leads_to(&self, address: &str) -> Option<String> {
        let lower = address.to_ascii_lowercase();
        if ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme)) {
            let plain = address.chars().all(|c| !c.is_control() && !c.is_whitespace());
            return plain.then(|| address.to_owned());
        }
        if has_scheme(address) {
            return None;
        }
        let path = address.split(['#', '?']).next().filter(|path| !path.is_empty())?;
        self.places.link(path)
    }
}

/// Does it lead elsewhere than to a path?
fn has_scheme(address: &str) -> bool {
    let head = address.split(['/', '?', '#']).next().unwrap_or_default();
    address.starts_with("//") || address.contains('\\') || head.contains(':') || address.chars().any(char::is_control)
}

/// One level lower than it says: the page has a first heading already.
fn heading(level: HeadingLevel, inside: &Markup) -> Markup {
    match level {
        HeadingLevel::H1 => html! { h2 { (inside) } },
        HeadingLevel::H2 => html! { h3 { (inside) } },
        HeadingLevel::H3 => html! { h4 { (inside) } },
        HeadingLevel::H4 => html! { h5 { (inside) } },
        _ => html! { h6 { (inside) } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Here;

    impl Places for Here {
        fn link(&self, path: &str) -> Option<String> {
            Some(format!("/files/w/{path}"))
        }
        fn image(&self, path: &str) -> Option<String> {
            Some(format!("/raw/w/{path}"))
        }
    }

    fn made(text: &str) -> String {
        rendered(text, &Here).into_string()
    }

    #[test]
    fn what_documents_hold_is_rendered() {
        let text = "# A *b*\n\n- [x] one\n- two `c`\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```rs\nlet a = 1;\n```\n\n[to](docs/x.md#y) ![pic](a.png)";
        let html = made(text);
        for part in [
            "<h2>A <em>b</em></h2>",
            "☑ one",
            "<code>c</code>",
            "<td class=\"number\">2</td>",
            "<pre><code><span class=\"hl-",
            "<a href=\"/files/w/docs/x.md\" rel=\"noopener noreferrer nofollow\">to</a>",
            "<img src=\"/raw/w/a.png\" alt=\"pic\">",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }

    #[test]
    fn nothing_of_a_document_becomes_markup_of_its_own() {
        let text =
            "<script>alert(1)</script>\n\nx <img src=x onerror=alert(1)> y\n\n<div onclick=\"a\">\n\nz\n\n</div>\n";
        let html = made(text);
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("<div"), "{html}");
        assert!(html.contains("&lt;script&gt;"), "{html}");
    }

    #[test]
    fn links_lead_to_the_web_or_to_files_only() {
        let bad = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "//evil.example/x",
            "\\\\\\\\evil.example",
            "java&#10;script:alert(1)",
            "&#1;javascript:alert(1)",
            "file:///etc/passwd",
        ];
        for address in bad {
            let html = made(&format!("[a](<{address}>)"));
            assert!(!html.contains("href"), "{address}: {html}");
            let html = made(&format!("![a](<{address}>)"));
            assert!(!html.contains("<img"), "{address}: {html}");
        }
        assert!(made("[a](https://e.example/?a=%22&b=1)").contains("href=\"https://e.example/?a=%22&amp;b=1\""));
        assert!(made("<https://e.example>").contains("href=\"https://e.example\""));
        assert!(!made("![a](https://e.example/a.png)").contains("<img"));
    }

    #[test]
    fn deep_nesting_ends_in_text() {
        let html = made(&format!("{} bottom", ">".repeat(100_000)));
        assert!(html.contains("bottom"));
        assert!(html.matches("<blockquote>").count() <= DEEPEST);
    }
}
