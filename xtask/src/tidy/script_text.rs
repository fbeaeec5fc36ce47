//! Telling the code of a TypeScript file from its comments and its string literals.
//!
//! Owns a small lexer beside that of Rust. What is in `${…}` is code, and so are regular expressions. It must never be stricter
//! than the compiler: a text ends with its line, unless it stands between backticks.

use super::rust_text::{Kind, Piece};

/// A source file taken apart.
#[derive(Debug, Default)]
pub(crate) struct ScriptText {
    /// The file without its comments and texts, with all of its lines.
    pub(crate) code: String,
    pub(crate) pieces: Vec<Piece>,
}

impl ScriptText {
    pub(crate) fn parse(source: &str) -> Self {
        let mut lexer = Lexer { rest: source, line: 1, script: Self::default() };
        lexer.code(false);
        lexer.script
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    script: ScriptText,
}

impl Lexer<'_> {
    /// Code up to the end, or up to the brace that ends the code within a template.
    fn code(&mut self, within_template: bool) {
        let mut depth = 0_usize;
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '/' if self.rest.starts_with("//") => self.comment("\n"),
                '/' if self.rest.starts_with("/*") => self.comment("*/"),
                '"' | '\'' => self.text(letter),
                '`' => self.template(),
                '}' if within_template && depth == 0 => return,
                _ => {
                    depth = match letter {
                        '{' => depth + 1,
                        '}' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    self.script.code.push(letter);
                    self.take(letter.len_utf8());
                }
            }
        }
    }

    fn comment(&mut self, end: &str) {
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        let begun = self.line;
        let text = self.take(length);
        self.keep(Kind::Comment, begun, text);
        if end == "*/" {
            self.take(end.len().min(self.rest.len()));
        }
    }

    fn text(&mut self, quote: char) {
        let begun = self.line;
        self.take(1);
        let mut text = String::new();
        while let Some(letter) = self.rest.chars().next().filter(|letter| *letter != '\n') {
            if letter == quote {
                self.take(1);
                break;
            }
            text.push_str(&self.letter());
        }
        self.keep(Kind::Text, begun, text);
    }

    fn template(&mut self) {
        let mut begun = self.line;
        self.take(1);
        let mut text = String::new();
        while let Some(letter) = self.rest.chars().next() {
            if letter == '`' {
                self.take(1);
                break;
            }
            if self.rest.starts_with("${") {
                self.keep(Kind::Text, begun, std::mem::take(&mut text));
                self.take(2);
                self.code(true);
                self.take(1.min(self.rest.len()));
                begun = self.line;
            } else {
                text.push_str(&self.letter());
            }
        }
        self.keep(Kind::Text, begun, text);
    }

    /// The next letter, with the one it escapes.
    fn letter(&mut self) -> String {
        let mut letters = self.rest.chars();
        let first = letters.next().map_or(0, char::len_utf8);
        let escaped = letters.next().filter(|_| self.rest.starts_with('\\')).map_or(0, char::len_utf8);
        self.take(first + escaped)
    }

    fn take(&mut self, length: usize) -> String {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken.to_owned()
    }

    fn keep(&mut self, kind: Kind, line: usize, text: String) {
        self.script.code.extend(text.chars().filter(|letter| *letter == '\n'));
        self.script.pieces.push(Piece { kind, line, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(source: &str) -> Vec<(usize, String)> {
        ScriptText::parse(source).pieces.into_iter().map(|piece| (piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_and_texts_are_told_apart_with_their_lines() {
        let source = "// one\nconst a = \"two\"; /* three\nfour */ f('it\\'s');\n";
        let script = ScriptText::parse(source);
        assert_eq!(
            pieces(source),
            [(1, "// one".into()), (2, "two".into()), (2, "/* three\nfour ".into()), (3, "it\\'s".into())]
        );
        assert_eq!(script.code, "\nconst a = ; \n f();\n");
    }

    #[test]
    fn what_a_template_computes_is_code() {
        let script = ScriptText::parse("`a ${b({ c: `d ${e}` })} f`;");
        let texts: Vec<String> = script.pieces.into_iter().map(|piece| piece.text).collect();
        assert_eq!(texts, ["a ", "d ", "", " f"]);
        assert_eq!(script.code, "b({ c: e });");
    }

    #[test]
    fn a_quote_that_is_never_closed_ends_with_its_line() {
        let script = ScriptText::parse("const quote = /'/;\nexport const a = 1;\n");
        assert!(script.code.ends_with("export const a = 1;\n"), "{}", script.code);
    }

    #[test]
    fn anything_is_taken_apart_to_its_end() {
        for source in ["`${", "`${`", "/*", "\"\\", "}}}", "`é${", "//"] {
            ScriptText::parse(source);
        }
    }
}
