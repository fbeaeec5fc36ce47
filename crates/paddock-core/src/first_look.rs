//! A look at how names begin and end, which settles nearly every path before a pattern is asked, or compiled.
//!
//! It may say "perhaps" too often and never too seldom: the compiled patterns decide. It goes by letters as the matchers do,
//! without regard to case; a name with other characters than ASCII may fold into anything.

/// How the names that some patterns match begin or end.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstLook {
    beginnings: Parts,
    endings: Parts,
    /// Some pattern tells neither.
    anything: bool,
}

/// Parts of names, and the letters at which they stand first: most names are settled by one.
#[derive(Debug, Clone)]
struct Parts {
    letters: [bool; 256],
    parts: Vec<String>,
}

impl Default for Parts {
    fn default() -> Self {
        Self { letters: [false; 256], parts: Vec::new() }
    }
}

impl Parts {
    fn add(&mut self, part: &str, letter: Option<&u8>) {
        for letter in letter.into_iter().flat_map(|letter| [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()]) {
            self.letters[usize::from(letter)] = true;
        }
        self.parts.push(part.to_owned());
    }

    fn have(&self, letter: Option<&u8>, is_part: impl Fn(&[u8]) -> bool) -> bool {
        letter.is_some_and(|letter| self.letters[usize::from(*letter)])
            && self.parts.iter().any(|part| is_part(part.as_bytes()))
    }
}

impl FirstLook {
    /// By the first name of each pattern: every path that one matches has such a name somewhere.
    pub(crate) fn at_the_first<'p>(patterns: impl Iterator<Item = &'p str>) -> Self {
        Self::of(patterns, |pattern| {
            let inside = pattern.strip_prefix("**/").unwrap_or(pattern).trim_start_matches('/');
            inside.split_once('/').map_or(inside, |(first, _)| first)
        })
    }

    /// By the last name of each pattern: the name of every entry that one matches is such a one.
    pub(crate) fn at_the_last<'p>(patterns: impl Iterator<Item = &'p str>) -> Self {
        Self::of(patterns, |pattern| pattern.rsplit_once('/').map_or(pattern, |(_, last)| last))
    }

    /// One that always says "perhaps".
    #[cfg(test)]
    pub(crate) fn of_anything() -> Self {
        Self { anything: true, ..Self::default() }
    }

    fn of<'p>(patterns: impl Iterator<Item = &'p str>, name_of: impl Fn(&'p str) -> &'p str) -> Self {
        let mut look = Self::default();
        // An exception matches nothing.
        for pattern in patterns.filter(|pattern| !pattern.starts_with('!')) {
            let name = name_of(pattern.trim_end_matches('/'));
            // A class may stand for a slash, or hold one, and what an escape says may be beyond it.
            if pattern.contains(['[', '\\']) || !is_whole(name) {
                look.anything = true;
                continue;
            }
            match name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(names) if !names.contains(['{', '}']) => names.split(',').for_each(|name| look.learn(name)),
                _ => look.learn(name),
            }
        }
        look
    }

    fn learn(&mut self, name: &str) {
        let is_special = |c: char| !c.is_ascii() || "*?{}!# \t".contains(c);
        let beginning = name.split(is_special).next().unwrap_or_default();
        match name.strip_prefix('*') {
            _ if !beginning.is_empty() => self.beginnings.add(beginning, beginning.as_bytes().first()),
            Some(ending) if !ending.is_empty() && !ending.contains(is_special) => {
                self.endings.add(ending, ending.as_bytes().last());
            }
            _ => self.anything = true,
        }
    }

    /// May a pattern match this path, or a directory above it?
    pub(crate) fn may_match(&self, path: &str) -> bool {
        self.anything || !path.is_ascii() || path.as_bytes().split(|b| *b == b'/').any(|name| self.may_be(name))
    }

    /// May a pattern match a path for this name?
    pub(crate) fn may_match_name(&self, name: &str) -> bool {
        self.anything || !name.is_ascii() || self.may_be(name.as_bytes())
    }

    fn may_be(&self, name: &[u8]) -> bool {
        let begins = |part: &[u8]| name.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part));
        let ends = |part: &[u8]| {
            let end = name.len().checked_sub(part.len()).and_then(|at| name.get(at..));
            end.is_some_and(|end| end.eq_ignore_ascii_case(part))
        };
        self.beginnings.have(name.first(), begins) || self.endings.have(name.last(), ends)
    }
}

/// Does a part of a pattern begin and end outside of every group? A slash may stand in one: `{.env,keys/x}`.
fn is_whole(part: &str) -> bool {
    let mut groups = 0_usize;
    for c in part.chars() {
        match c {
            '{' => groups += 1,
            '}' if groups == 0 => return false,
            '}' => groups -= 1,
            _ => {}
        }
    }
    groups == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_how_they_begin_or_end() {
        let look = FirstLook::at_the_last([".env.*", "*.pem", "/a/b", "!x", "k?y"].into_iter());
        for may in [".env.x", ".ENV.", "K.PEM", "x/a.pem/y", "b", "key", "caf\u{e9}", "z/\u{212a}"] {
            assert!(look.may_match(may), "{may}");
        }
        for never in ["", ".env", "pem", "a", "x", "a.pem.txt", "a/c"] {
            assert!(!look.may_match(never), "{never}");
        }
        let look = FirstLook::at_the_first(["**/{*.git,.bare}/hooks", "**/.config/x", "HEAD"].into_iter());
        for may in ["a/x.git/y", ".bare", ".config", "head", "a.GIT"] {
            assert!(look.may_match(may), "{may}");
        }
        for never in ["hooks", "x", "git", "src/main.rs"] {
            assert!(!look.may_match(never), "{never}");
        }
    }

    #[test]
    fn what_tells_neither_may_be_anything() {
        for pattern in
            ["*", "**", "a/**", "[ab]c", "?x", "\\!x", "{a,b}c", "*a*", "", "{.env,keys/x}", "{a/b,c}", "x[a/b]"]
        {
            assert!(FirstLook::at_the_last([pattern].into_iter()).may_match("anything"), "{pattern}");
        }
        for pattern in ["{a/b,c}", "x[a/b]", "**/{a,b/c}"] {
            assert!(FirstLook::at_the_first([pattern].into_iter()).may_match("anything"), "{pattern}");
        }
    }
}
