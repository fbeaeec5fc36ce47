//! Groups in patterns of names: `{.env,keys/x}` stands for two patterns, each judged by itself.
//!
//! A `.gitignore` has no groups, and what is anchored, what is a directory and what is an exception are told by how a pattern
//! begins and ends. So groups are written out before a pattern means anything. It must never drop an alternative.

/// More than a person would write, and few enough to be compiled.
const MOST: usize = 256;

/// The patterns that a pattern stands for; itself where it has no group. Nothing where a group does not end, or they are too many.
pub fn written_out(pattern: &str) -> Option<Vec<String>> {
    let (mut left, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(pattern) = left.pop() {
        match first_group(&pattern) {
            Group::None => done.push(pattern),
            Group::Open => return None,
            Group::At { begins, ends, cuts } => {
                let bounds = std::iter::once(begins).chain(cuts.iter().copied()).chain([ends]);
                let bounds: Vec<usize> = bounds.collect();
                let alternative = |pair: &[usize]| {
                    [&pattern[..begins], &pattern[pair[0] + 1..pair[1]], &pattern[ends + 1..]].concat()
                };
                // Taken from the end, so that they come out in the order in which they are written.
                left.extend(bounds.windows(2).rev().map(alternative));
            }
        }
        if left.len() + done.len() > MOST {
            return None;
        }
    }
    Some(done)
}

/// Does a class begin that never ends? Such a pattern matches nothing, and nobody would notice.
pub(crate) fn has_open_class(pattern: &str) -> bool {
    let mut literal = 0;
    pattern.char_indices().any(|(at, letter)| {
        let rest = &pattern[at + letter.len_utf8()..];
        match letter {
            _ if at < literal => {}
            '\\' => literal = at + 1 + rest.chars().next().map_or(0, char::len_utf8),
            '[' => match class_len(rest) {
                Some(len) => literal = at + 1 + len,
                None => return true,
            },
            _ => {}
        }
        false
    })
}

/// The first group of a pattern.
enum Group {
    None,
    /// It does not end.
    Open,
    /// Where its braces and the commas between its alternatives are.
    At {
        begins: usize,
        ends: usize,
        cuts: Vec<usize>,
    },
}

fn first_group(pattern: &str) -> Group {
    let (mut begins, mut depth, mut cuts, mut literal) = (None, 0_usize, Vec::new(), 0);
    for (at, letter) in pattern.char_indices() {
        let rest = &pattern[at + letter.len_utf8()..];
        match letter {
            // It stands for itself.
            _ if at < literal => {}
            '\\' => literal = at + 1 + rest.chars().next().map_or(0, char::len_utf8),
            '[' => literal = at + 1 + class_len(rest).unwrap_or(0),
            '{' => {
                begins = begins.or(Some(at));
                depth += 1;
            }
            ',' if depth == 1 => cuts.push(at),
            '}' if depth > 0 => {
                depth -= 1;
                if let (0, Some(begins)) = (depth, begins) {
                    return Group::At { begins, ends: at, cuts };
                }
            }
            _ => {}
        }
    }
    if begins.is_some() { Group::Open } else { Group::None }
}

/// How long a class is, without what opens it; nothing where it does not end. A bracket right at its beginning is in it.
fn class_len(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix(['!', '^']).unwrap_or(rest);
    let negated = rest.len() - inside.len();
    let first = usize::from(inside.starts_with(']'));
    inside[first..].find(']').map(|end| negated + first + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(pattern: &str) -> Vec<String> {
        written_out(pattern).unwrap()
    }

    #[test]
    fn every_alternative_is_a_pattern_in_the_order_in_which_they_are_written() {
        assert_eq!(out("a/*.b"), ["a/*.b"]);
        assert_eq!(out("{/secrets,conf/prod}"), ["/secrets", "conf/prod"]);
        assert_eq!(out("!*.{pem,k{e,o}y}/"), ["!*.pem/", "!*.key/", "!*.koy/"]);
        assert_eq!(out("{a,b}{1,2}"), ["a1", "a2", "b1", "b2"]);
        assert_eq!(out("x{,y}"), ["x", "xy"]);
        assert_eq!(out("{one}"), ["one"]);
    }

    #[test]
    fn what_stands_for_itself_opens_no_group() {
        for plain in ["\\{a,b\\}", "[{]a,b", "[!{]a,b", "[]{]x,y", "a}b", "a,b", "[x"] {
            assert_eq!(out(plain), [plain]);
        }
        assert_eq!(out("[{]{a,b}"), ["[{]a", "[{]b"]);
        assert_eq!(out("{[,]x,y}"), ["[,]x", "y"]);
        assert_eq!(out("{a\\,b,c}"), ["a\\,b", "c"]);
    }

    #[test]
    fn a_class_has_to_end() {
        for open in ["[ab", "a[!", "[]", "x[ab]["] {
            assert!(has_open_class(open), "{open}");
        }
        for closed in ["[ab]", "[]]", "[!]]", "\\[ab", "a]", "[[]"] {
            assert!(!has_open_class(closed), "{closed}");
        }
    }

    #[test]
    fn what_does_not_end_or_has_no_end_is_none() {
        for bad in ["{a", "{a,{b}", "x{", &"{a,b}".repeat(20)] {
            assert_eq!(written_out(bad), None, "{bad}");
        }
    }
}
