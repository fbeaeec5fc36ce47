//! Lines that others wrote, in rows of a terminal.
//!
//! A terminal goes on in the next row where a line is too long, and what stands there then looks like a line of its own: a removed
//! line, another file's name, a word of ours. So a line is folded before the terminal does it, and each further row says that it goes on,
//! by a sign that is escaped where others wrote it.
//! It must never fold what a program reads: there a line is as long as it is.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Stands for going on, and for nothing else.
const SIGN: char = '⤷';
/// Before each row but the first.
const GOES_ON: &str = "   ⤷ ";
/// What [`GOES_ON`] takes of a row, and no less is left beside it.
const LEAST: usize = 20;
/// As far as a tab may reach.
const TAB: usize = 8;

/// How many columns a stream has where a terminal shows it; without a bound elsewhere.
pub(crate) fn columns(stream: impl IsTerminal + AsFd) -> usize {
    let size = if stream.is_terminal() { tcgetwinsize(stream).ok() } else { None };
    // A terminal that does not know folds nowhere.
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// A line in rows of at most so many columns.
pub(crate) fn folded(line: &str, columns: usize) -> Vec<String> {
    if columns == usize::MAX {
        return vec![line.to_owned()];
    }
    let columns = columns.max(LEAST);
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for c in line.replace(SIGN, &SIGN.escape_unicode().to_string()).chars() {
        let wide = width(c);
        if used + wide > columns {
            rows.push(std::mem::replace(&mut row, GOES_ON.to_owned()));
            used = GOES_ON.chars().count();
        }
        row.push(c);
        used += wide;
    }
    rows.push(row);
    rows
}

/// The most columns that a character may take. One too many makes a row shorter, and one too few would let the terminal fold.
fn width(c: char) -> usize {
    match c {
        '\t' => TAB,
        c if c.is_ascii() => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_never_looks_like_a_line_of_its_own() {
        let hidden = format!("+{}-a line that was never there", " ".repeat(39));
        assert_eq!(
            folded(&hidden, 40),
            [format!("+{}", " ".repeat(39)), "   ⤷ -a line that was never there".to_owned()]
        );
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for line in ["字".repeat(50), "\t".repeat(9), "x".repeat(200), format!("{}\t字x", "y".repeat(19))] {
            let rows = folded(&line, 20);
            assert!(rows.len() > 1 && rows.iter().all(|row| wide(row) <= 20), "{rows:?}");
            let back: String = rows.iter().map(|row| row.strip_prefix(GOES_ON).unwrap_or(row)).collect();
            assert_eq!(back, line);
        }
        assert_eq!(folded("x", 1), ["x"], "a window without room is none to fold for");
    }

    #[test]
    fn nobody_else_says_that_a_line_goes_on() {
        assert_eq!(folded(&format!("{GOES_ON}x"), 80), ["   \\u{2937} x"]);
    }

    #[test]
    fn a_program_gets_lines_as_they_are() {
        assert_eq!(folded(&"x".repeat(9999), usize::MAX).len(), 1);
        assert_eq!(folded("", 80), [""]);
    }

    fn wide(row: &str) -> usize {
        row.strip_prefix(GOES_ON).map_or(row, |rest| rest).chars().map(width).sum::<usize>()
            + if row.starts_with(GOES_ON) { GOES_ON.chars().count() } else { 0 }
    }
}
