//! Telling the code of a Rust file from its comments and its string literals.
//!
//! Owns a small lexer that the checks share, so that a banned word in a string is not taken for code and a
//! brace in a comment is not counted. It must never be stricter than the compiler: what it does not
//! understand is code.

/// What a piece of a source file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comment,
    Text,
}

/// A comment or a string literal, with the line it starts on (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A source file taken apart.
#[derive(Debug)]
pub(crate) struct RustText {
    /// The file with every comment and literal blanked out, byte for byte as long as it was.
    pub(crate) code: String,
    pub(crate) pieces: Vec<Piece>,
    /// For each line (from 0): does it belong to `#[cfg(test)]` code?
    in_test: Vec<bool>,
}

impl RustText {
    pub(crate) fn parse(source: &str) -> Self {
        let mut lexer = Lexer { source, at: 0, code: String::with_capacity(source.len()), pieces: Vec::new() };
        lexer.run();
        let Lexer { code, pieces, .. } = lexer;
        let in_test = test_lines(&code);
        Self { code, pieces, in_test }
    }

    /// Whether the line (from 1) is compiled into tests only.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.in_test.get(line.saturating_sub(1)).copied().unwrap_or(false)
    }

    /// The lines of pure code, numbered from 1.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    code: String,
    pieces: Vec<Piece>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest().chars().next() {
            let taken = if self.rest().starts_with("//") {
                self.piece(Kind::Comment, self.rest().find('\n').unwrap_or(self.rest().len()))
            } else if self.rest().starts_with("/*") {
                self.piece(Kind::Comment, block_comment_length(self.rest()))
            } else if let Some(length) = self.literal_length(next) {
                self.piece(Kind::Text, length)
            } else if let Some(length) = char_length(self.rest()) {
                self.blank(length)
            } else {
                self.code.push(next);
                next.len_utf8()
            };
            self.at += taken;
        }
    }

    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    /// The length of a string literal that starts here; the letter of `r"…"` must not end an identifier.
    fn literal_length(&self, next: char) -> Option<usize> {
        let inside_name = self.code.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
        match next {
            '"' => Some(quoted_length(self.rest())),
            'r' | 'b' | 'c' if !inside_name => prefixed_length(self.rest()),
            _ => None,
        }
    }

    fn piece(&mut self, kind: Kind, length: usize) -> usize {
        let line = 1 + self.source[..self.at].matches('\n').count();
        let text = self.rest()[..length].to_owned();
        self.pieces.push(Piece { kind, line, text });
        self.blank(length)
    }

    fn blank(&mut self, length: usize) -> usize {
        let blanks: String = self.rest()[..length].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
        self.code.push_str(&blanks);
        length
    }
}

fn block_comment_length(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, found) in text.char_indices().skip(1) {
        match found {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"`; anything else is not a literal.
fn prefixed_length(text: &str) -> Option<usize> {
    let letters = text.find(|found| !matches!(found, 'r' | 'b' | 'c')).filter(|length| *length <= 2)?;
    let raw = text[..letters].contains('r');
    let hashes = text[letters..].bytes().take_while(|byte| *byte == b'#').count();
    let open = letters + hashes;
    if !text[open..].starts_with('"') || (hashes > 0 && !raw) {
        return None;
    }
    if !raw {
        return Some(open + quoted_length(&text[open..]));
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let end = text[open + 1..].find(&close).map(|at| open + 1 + at + close.len());
    Some(end.unwrap_or(text.len()))
}

/// The length of a character literal; a lifetime is not one.
fn char_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let after = escape.chars().next()?.len_utf8();
        return escape[after..].find('\'').map(|end| 2 + after + end + 1);
    }
    let first = inner.chars().next()?;
    inner[first.len_utf8()..].starts_with('\'').then(|| first.len_utf8() + 2)
}

fn test_lines(code: &str) -> Vec<bool> {
    let line_of = |at: usize| code[..at].matches('\n').count();
    let mut marked = vec![false; code.lines().count() + 1];
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let after = start + attribute.len();
        let end = item_end(&code[after..]).map_or(code.len(), |length| after + length);
        marked[line_of(start)..=line_of(end.saturating_sub(1).max(start))].fill(true);
    }
    marked
}

/// Where the item that starts here ends: at its `;`, or where its braces close.
fn item_end(code: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, found) in code.char_indices() {
        match found {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            ';' if depth == 0 => return Some(at + 1),
            _ => continue,
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str, kind: Kind) -> Vec<String> {
        let parsed = RustText::parse(source);
        assert_eq!(parsed.code.len(), source.len());
        parsed.pieces.into_iter().filter(|piece| piece.kind == kind).map(|piece| piece.text).collect()
    }

    #[test]
    fn comments_of_every_shape() {
        let source = "a // one\n/* two /* deep */ still */ b\n/// three\n";
        assert_eq!(texts(source, Kind::Comment), ["// one", "/* two /* deep */ still */", "/// three"]);
    }

    #[test]
    fn strings_of_every_shape() {
        let source = r####"f("a\"b", r"c\", r#"d"e"#, b"f", br##"g"#h"##, c"i", 'x', '"', '\'', "j")"####;
        let wanted = [r#""a\"b""#, r#"r"c\""#, "r#\"d\"e\"#", "b\"f\"", "br##\"g\"#h\"##", "c\"i\"", "\"j\""];
        assert_eq!(texts(source, Kind::Text), wanted);
    }

    #[test]
    fn lifetimes_and_names_are_code() {
        let source = "fn bar<'a>(r: &'a str, xr: u8) -> &'a str { r } // \"no\"";
        assert!(texts(source, Kind::Text).is_empty());
        assert!(RustText::parse(source).code.contains("fn bar<'a>(r: &'a str"));
    }

    #[test]
    fn a_comment_mark_inside_a_string_is_text() {
        assert!(texts("let x = \"http://x /* y\";", Kind::Comment).is_empty());
    }

    #[test]
    fn lines_are_counted_from_one() {
        let parsed = RustText::parse("\n\nlet x = \"y\";");
        assert_eq!(parsed.pieces[0].line, 3);
    }

    #[test]
    fn test_code_is_known() {
        let parsed = RustText::parse("fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() { \"}\"; }\n}\nfn c() {}\n");
        let marks: Vec<bool> = (1..=6).map(|line| parsed.is_test(line)).collect();
        assert_eq!(marks, [false, true, true, true, true, false]);
    }

    #[test]
    fn a_test_module_in_its_own_file_marks_one_item() {
        let parsed = RustText::parse("#[cfg(test)]\nmod tests;\nfn c() {}\n");
        assert!(parsed.is_test(2) && !parsed.is_test(3));
    }
}
