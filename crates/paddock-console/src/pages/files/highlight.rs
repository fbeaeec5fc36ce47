//! Source code with its parts coloured, as far as that is quick.
//!
//! The syntaxes are read when the first file is shown. What a file holds reaches the page as text: the highlighter only says which
//! class a piece has, and those all begin with `hl-`. It works on what anybody wrote, so it is given a bound: what it does not reach within is shown plain.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use syntect::parsing::{ParseState, Scope, ScopeStack, ScopeStackOp, SyntaxReference, SyntaxSet};

use crate::pages::parts::shown;

/// How long it may take.
const LONGEST: Duration = Duration::from_millis(400);
/// A line that is longer is no source code.
const LONGEST_LINE: usize = 2000;
/// What is coloured, by the first word of a scope.
const COLOURED: [&str; 10] =
    ["comment", "string", "constant", "keyword", "storage", "entity", "support", "variable", "markup", "invalid"];

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// The text as markup, coloured as a file of this name.
pub(super) fn coloured(name: &str, text: &str) -> Markup {
    let Some(syntax) = syntax_of(name, text) else { return shown(text) };
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let until = Instant::now() + LONGEST;
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < text.len() && Instant::now() < until {
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        if line.len() > LONGEST_LINE || !line_pieces(at, line, &mut state, &mut stack, &mut pieces) {
            break;
        }
        at += line.len();
    }
    // What a line that was given up has left behind is shown plain, from where it begins.
    pieces.retain(|piece: &Piece| piece.range.end <= at);
    html! {
        @for Piece { class, range } in &pieces {
            @match class { Some(class) => span class=(class) { (shown(&text[range.clone()])) }, None => (shown(&text[range.clone()])), }
        }
        (shown(&text[at..]))
    }
}

/// A part of the text, all of one class.
struct Piece {
    class: Option<String>,
    range: Range<usize>,
}

fn syntax_of(name: &str, text: &str) -> Option<&'static SyntaxReference> {
    let set = &*SYNTAXES;
    let end = name.rsplit_once('.').map_or(name, |(_, end)| end);
    // The same language, for what the set does not know by name.
    let end = match end {
        "ts" | "tsx" | "jsx" | "mjs" | "cjs" => "js",
        "toml" => "ini",
        "jsonc" | "json5" => "json",
        other => other,
    };
    let first = text.lines().next().unwrap_or_default();
    let named = set.find_syntax_by_extension(name).or_else(|| set.find_syntax_by_extension(end));
    let found =
        named.or_else(|| set.find_syntax_by_first_line(&first[..first.len().min(first.floor_char_boundary(200))]));
    found.filter(|syntax| syntax.name != "Plain Text")
}

/// The pieces of one line; false where the highlighter gives up.
fn line_pieces(
    start: usize,
    line: &str,
    state: &mut ParseState,
    stack: &mut ScopeStack,
    pieces: &mut Vec<Piece>,
) -> bool {
    let Ok(steps) = state.parse_line(line, &SYNTAXES) else { return false };
    let end = (line.len(), ScopeStackOp::Noop);
    let mut at = 0;
    for (next, step) in steps.iter().chain([&end]) {
        if at < *next {
            let (class, range) = (class_of(stack), start + at..start + next);
            match pieces.last_mut() {
                // Never over the end of a line: a line can be given up.
                Some(last) if last.class == class && last.range.end == range.start && at > 0 => {
                    last.range.end = range.end;
                }
                _ => pieces.push(Piece { class, range }),
            }
            at = *next;
        }
        if stack.apply(step).is_err() {
            return false;
        }
    }
    true
}

/// The classes of the innermost scope that has a colour.
fn class_of(stack: &ScopeStack) -> Option<String> {
    let words = |scope: &Scope| scope.build_string();
    let named = stack.as_slice().iter().rev().map(words).find(|name| {
        let first = name.split('.').next().unwrap_or_default();
        COLOURED.contains(&first)
    })?;
    let classes = named.split('.').take(4).filter(|word| is_word(word)).map(|word| format!("hl-{word}"));
    Some(classes.collect::<Vec<_>>().join(" "))
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_and_stays_text() {
        let made = coloured("a.rs", "// <script>\nlet x = \"</code>\u{202e}\";\n").into_string();
        assert!(made.contains("<span class=\"hl-comment"), "{made}");
        assert!(made.contains("&lt;script&gt;") && !made.contains("<script>") && !made.contains("</code>"), "{made}");
        assert!(made.contains("U+202E"), "{made}");
    }

    #[test]
    fn nothing_of_the_text_is_lost() {
        let text = "fn main() {\n    println!(\"a {} b\", 1); // c\n}\n\nlast line without an end";
        let made = coloured("a.rs", text).into_string();
        let mut plain = String::new();
        let mut inside = false;
        for letter in made.chars() {
            match letter {
                '<' => inside = true,
                '>' => inside = false,
                _ if !inside => plain.push(letter),
                _ => {}
            }
        }
        assert_eq!(plain.replace("&quot;", "\"").replace("&amp;", "&"), text);
    }

    #[test]
    fn what_is_no_code_is_shown_plain() {
        assert_eq!(coloured("a.none", "x < y").into_string(), "x &lt; y");
        let long = "a".repeat(LONGEST_LINE + 1);
        assert_eq!(coloured("a.rs", &long).into_string(), long);
    }
}
