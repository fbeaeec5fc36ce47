//! Lists in a git directory that git follows without a second look: names of files to write, to read and to remember, and options
//! for what it starts.
//!
//! A person's `git checkout .` writes whatever the index names, also outside of the project and into `.git/hooks`; `git commit`
//! keeps what `MERGE_RR` names, where an agent can read it; a rebase that goes on starts the strategy that is noted. Git writes
//! these files in every command, so they are no guarded names: what a command or a fork leaves in them is read here, and
//! refused where git itself would not have written it. What cannot be read is refused, too.

use std::collections::BTreeSet;

use crate::alter::Alter;
use crate::call::Call;
use crate::git::{is_option, read};
use crate::guarded::GuardedName;
use crate::names::{fold, is_spelling_of};
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::repository::{INDEX_ROW, is_called_so};
use crate::vfs::Vfs;

/// The largest list that is read.
pub const MAX_LIST: u64 = 64 * 1024 * 1024;

/// No path is longer.
const LONGEST_NAME: usize = 4096;

const REPOSITORY: &str = ".git";

/// Strategies of merging that git has.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// A list, by its place in a git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    /// What is staged, and where it goes.
    Index,
    /// Whose conflicts are remembered.
    Conflicts,
    Strategy,
    StrategyOptions,
    SequencerOptions,
    ApplyOptions,
}

/// Which list has this name, if any?
fn list_of(dir: &str, name: &str) -> Option<List> {
    let is = |known: &str| is_spelling_of(name, known);
    let lies_in = |known: &str| is_spelling_of(dir, known);
    if is("index") || name.to_ascii_lowercase().starts_with("sharedindex.") {
        return Some(List::Index);
    }
    match () {
        () if is("merge_rr") => Some(List::Conflicts),
        () if lies_in("rebase-merge") && is("strategy") => Some(List::Strategy),
        () if lies_in("rebase-merge") && is("strategy_opts") => Some(List::StrategyOptions),
        () if lies_in("sequencer") && is("opts") => Some(List::SequencerOptions),
        () if lies_in("rebase-apply") && is("apply-opt") => Some(List::ApplyOptions),
        () => None,
    }
}

/// Is a file by its name one of git's lists? Whoever brings what a command wrote has to bring its content along then.
pub fn is_gits_list(path: &str) -> bool {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let dir = above.rsplit_once('/').map_or(above, |(_, dir)| dir);
    list_of(dir, name).is_some() && are_in_git(above.split('/'))
}

/// Do these directories lead into one of git's by its name, and to no branch, which may be called as a list is?
fn are_in_git<'a>(above: impl Iterator<Item = &'a str>) -> bool {
    let mut inside = above.skip_while(|name| !is_called_so(&fold(name)));
    inside.next().is_some() && !inside.next().is_some_and(|name| matches!(name, "refs" | "logs"))
}

impl Vfs {
    /// What guards a list of git's against this change, which git would not have made.
    pub(crate) fn misleads_git(
        &self,
        call: &Call<'_>,
        path: &LogicalPath,
        how: &Alter,
    ) -> Option<&'static GuardedName> {
        let (index, rel) = self.route(path)?;
        let names: Vec<&str> = rel.names().collect();
        let [above @ .., name] = names.as_slice() else { return None };
        let list = list_of(above.last().copied().unwrap_or_default(), name)?;
        let row = self.workspaces[index].names.holding(INDEX_ROW)?;
        let is_in_git = are_in_git(above.iter().copied())
            || self.is_gits(call, path, index, RelPath(&above.join("/"))).unwrap_or(true);
        if !is_in_git {
            return None;
        }
        let is_fine = match how {
            Alter::Write { content, .. } => match list {
                List::Index => self.index_is_fine(call, index, rel, content),
                List::Conflicts => self.conflicts_are_fine(index, above, content),
                _ => options_are_fine(list, content),
            },
            // What was there goes, gets other looks, or comes back from a past that was looked at.
            Alter::Delete | Alter::Dress(_) | Alter::Restore(_) => true,
            _ => false,
        };
        (!is_fine).then_some(row)
    }

    /// Each name must be one that git takes from others, and none may be new that the Workspace hides: a person's next commit
    /// would put that file where an agent can read it.
    fn index_is_fine(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>, content: &[u8]) -> bool {
        let Some(staged) = names_in_index(content) else { return false };
        if !staged.iter().all(|name| is_fine_name(name)) {
            return false;
        }
        let Some(root) = root_of(rel) else { return true };
        let mut hidden = staged.iter().filter(|name| self.is_hidden_in(index, root, name)).peekable();
        if hidden.peek().is_none() {
            return true;
        }
        let mut there = Vec::new();
        let store = &self.workspaces[index].mount.store;
        let read = store.read(call, &self.place(index, rel), 0..MAX_LIST, &mut there);
        let known = read.ok().and_then(|_| names_in_index(&there)).unwrap_or_default();
        hidden.all(|name| known.contains(name))
    }

    fn conflicts_are_fine(&self, index: usize, above: &[&str], content: &[u8]) -> bool {
        let rel = format!("{}/MERGE_RR", above.join("/"));
        let root = root_of(RelPath(&rel));
        content.split(|byte| *byte == 0).filter(|record| !record.is_empty()).all(|record| {
            let path = record.iter().position(|byte| *byte == b'\t').map(|at| &record[at + 1..]);
            // Of a worktree elsewhere nobody knows here what its names mean.
            let (Some(path), Some(root)) = (path, root) else { return false };
            is_fine_name(path) && !self.is_hidden_in(index, root, path)
        })
    }

    /// Does the Workspace hide a name of a worktree?
    fn is_hidden_in(&self, index: usize, root: &str, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name);
        let path = if root.is_empty() { name.into_owned() } else { format!("{root}/{name}") };
        RelPathBuf::parse(path.trim_end_matches('/')).is_ok_and(|path| {
            let rules = &self.workspaces[index].names;
            rules.hidden(path.as_rel()).is_some() || self.around[index].shadow(path.as_rel())
        })
    }
}

/// Where the worktree is whose `.git` this lies in; nothing where that is elsewhere.
fn root_of(rel: RelPath<'_>) -> Option<&str> {
    let (dir, _) = rel.split_last()?;
    let (root, name) = dir.split_last()?;
    is_spelling_of(name, REPOSITORY).then_some(root.0)
}

/// Would git take this name from others? As it asks of every name that comes from elsewhere.
fn is_fine_name(name: &[u8]) -> bool {
    let is_fine = |part: &[u8]| {
        let text = String::from_utf8_lossy(part);
        let short = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("git~1"));
        !(part.is_empty()
            || part == b"."
            || part == b".."
            || short
            || is_spelling_of(text.trim_end_matches(['.', ' ']), REPOSITORY))
    };
    // A directory of which not everything is checked out ends with a slash.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    !name.iter().any(|byte| *byte < b' ' || *byte == b'\\') && name.split(|byte| *byte == b'/').all(is_fine)
}

/// Options that git's own commands write, and that start nothing but git.
fn options_are_fine(list: List, content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let is_strategy = |name: &str| STRATEGIES.contains(&name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " '=_-.\n".contains(c);
    match list {
        List::Strategy => is_strategy(text.trim_end_matches('\n')),
        List::StrategyOptions => text.chars().all(is_plain),
        List::SequencerOptions => read(content).is_some_and(|settings| {
            settings.iter().all(|((section, key), values)| {
                section == "options"
                    && is_option(key)
                    && (key != "strategy" || values.iter().all(|name| is_strategy(name)))
            })
        }),
        List::ApplyOptions => text.split_whitespace().map(|word| word.trim_matches('\'')).all(|word| {
            let number = word.strip_prefix("-p").or_else(|| word.strip_prefix("-C"));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
                || word.strip_prefix("--whitespace=").is_some_and(|how| how.chars().all(|c| is_plain(c) && c != ' '))
                || matches!(word, "--ignore-space-change" | "--ignore-whitespace" | "--reject" | "--3way")
        }),
        List::Index | List::Conflicts => false,
    }
}

/// The names in an index; nothing where it is none, or git would read it otherwise. An index says nowhere how long its hashes are, so that
/// where it can be read in both ways all names of both are given.
fn names_in_index(index: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let both: Vec<BTreeSet<Vec<u8>>> =
        [20, 32].into_iter().filter_map(|hash| Entries::of(index, hash)?.names()).collect();
    (!both.is_empty()).then(|| both.into_iter().flatten().collect())
}

/// What is read of an index.
struct Entries<'a> {
    index: &'a [u8],
    hash: usize,
    version: u32,
    count: usize,
}

impl<'a> Entries<'a> {
    fn of(index: &'a [u8], hash: usize) -> Option<Self> {
        let (version, count) = (number(index, 4)?, number(index, 8)? as usize);
        (index.starts_with(b"DIRC") && (2..=4).contains(&version)).then_some(Self { index, hash, version, count })
    }

    fn names(&self) -> Option<BTreeSet<Vec<u8>>> {
        let (mut at, mut last): (usize, Vec<u8>) = (12, Vec::new());
        let mut room = MAX_LIST as usize;
        let (mut names, mut starts) = (BTreeSet::new(), Vec::new());
        for _ in 0..self.count {
            let (name, kept, next) = self.entry(at, &last)?;
            // Names that go on from each other may come to far more than the index that holds them.
            room = room.checked_sub(name.len())?;
            starts.push((at, kept));
            names.insert(name.clone());
            (at, last) = (next, name);
        }
        self.ends_well(at, &starts).then_some(names)
    }

    /// The name of an entry, how much of it is that of the one before, and where the next one begins.
    fn entry(&self, at: usize, last: &[u8]) -> Option<(Vec<u8>, usize, usize)> {
        const STAT: usize = 40;
        const LONG: u16 = 0xfff;
        let flags_at = at + STAT + self.hash;
        let flags = u16::from_be_bytes(self.index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let is_extended = flags & 0x4000 != 0;
        if is_extended && self.version < 3 {
            return None;
        }
        let mut from = flags_at + if is_extended { 4 } else { 2 };
        let mut kept = 0;
        if self.version == 4 {
            let (cut, len) = varint(self.index.get(from..)?)?;
            kept = last.len().checked_sub(cut)?;
            from += len;
        }
        let rest = self.index.get(from..self.end())?;
        let len = rest.iter().position(|byte| *byte == 0)?;
        if kept + len > LONGEST_NAME {
            return None;
        }
        let name = [&last[..kept], &rest[..len]].concat();
        let told = flags & LONG;
        let is_told = usize::from(told) == name.len() || (told == LONG && name.len() >= usize::from(LONG));
        let next = if self.version == 4 { from + len + 1 } else { at + (from + len - at + 8) / 8 * 8 };
        (is_told && next <= self.end()).then_some((name, kept, next))
    }

    /// Where the sum of it all begins.
    fn end(&self) -> usize {
        self.index.len().saturating_sub(self.hash)
    }

    /// What follows the entries: nothing that git has to know and is not known here, and offsets only to where entries are.
    fn ends_well(&self, entries_end: usize, starts: &[(usize, usize)]) -> bool {
        let mut at = entries_end;
        while at < self.end() {
            let (Some(kind), Some(len)) = (self.index.get(at..at + 4), number(self.index, at + 4)) else {
                return false;
            };
            let Some(data) =
                self.index.get(at + 8..at + 8 + len as usize).filter(|_| at + 8 + len as usize <= self.end())
            else {
                return false;
            };
            let is_fine = match kind {
                b"EOIE" => number(data, 0) == u32::try_from(entries_end).ok(),
                b"IEOT" => self.blocks_fit(data, starts),
                b"sdir" => true,
                other => other[0].is_ascii_uppercase(),
            };
            if !is_fine {
                return false;
            }
            at += 8 + len as usize;
        }
        at == self.end()
    }

    /// Several threads begin where this says.
    fn blocks_fit(&self, table: &[u8], starts: &[(usize, usize)]) -> bool {
        let mut entry = 0;
        let fits = |block: &[u8]| {
            let (Some(offset), Some(count)) = (number(block, 0), number(block, 4)) else { return false };
            let is_here = starts.get(entry).is_some_and(|(at, kept)| *at == offset as usize && *kept == 0);
            entry += count as usize;
            is_here
        };
        table.len() % 8 == 4 && table[4..].chunks(8).all(fits) && entry == self.count
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number as git packs it, and how many bytes it takes.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = usize::from(bytes.first()? & 0x7f);
    let mut at = 0;
    while bytes[at] & 0x80 != 0 {
        at += 1;
        let byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: usize = 20;

    fn entry(out: &mut Vec<u8>, name: &[u8], told: u16) {
        let at = out.len();
        out.extend([0; 40 + HASH]);
        out.extend(told.to_be_bytes());
        out.extend(name);
        let len = out.len() - at;
        out.extend(vec![0; 8 - len % 8]);
    }

    fn index(names: &[&[u8]]) -> Vec<u8> {
        let mut out =
            [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &u32::try_from(names.len()).unwrap().to_be_bytes()].concat();
        names.iter().for_each(|name| entry(&mut out, name, u16::try_from(name.len()).unwrap()));
        out
    }

    fn closed(mut out: Vec<u8>) -> Vec<u8> {
        out.extend([0; HASH]);
        out
    }

    fn with(mut out: Vec<u8>, kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        out.extend(kind);
        out.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        out.extend(data);
        out
    }

    fn read_names(index: &[u8]) -> Option<Vec<String>> {
        names_in_index(index).map(|names| names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    #[test]
    fn the_names_of_an_index_are_read_as_git_reads_them() {
        let plain = index(&[b"a", b"dir/longer-name.txt", b"x/1234567"]);
        assert_eq!(read_names(&closed(plain.clone())).unwrap(), ["a", "dir/longer-name.txt", "x/1234567"]);
        assert_eq!(read_names(&closed(with(plain.clone(), b"TREE", b"xyz"))).unwrap().len(), 3);
        let end = u32::try_from(plain.len()).unwrap().to_be_bytes();
        assert!(read_names(&closed(with(plain.clone(), b"EOIE", &end))).is_some());
        let blocks = [1_u32, 12, 3].map(u32::to_be_bytes).concat();
        assert!(read_names(&closed(with(plain, b"IEOT", &blocks))).is_some());
        assert_eq!(read_names(&closed(index(&[]))).unwrap(), [""; 0]);
    }

    #[test]
    fn what_git_could_read_otherwise_is_not_read() {
        let plain = index(&[b"a", b"b"]);
        let mut told_wrong = plain.clone();
        told_wrong[12 + 40 + HASH + 1] = 9;
        let blocks = [1_u32, 20, 2].map(u32::to_be_bytes).concat();
        for bad in [
            Vec::new(),
            b"DIRC".to_vec(),
            plain[..plain.len() - 8].to_vec(),
            closed(told_wrong),
            closed(with(plain.clone(), b"link", b"")),
            closed(with(plain.clone(), b"EOIE", &[0, 0, 0, 12])),
            closed(with(plain.clone(), b"IEOT", &blocks)),
            closed([plain.clone(), b"TREE\xff\xff\xff\xff".to_vec()].concat()),
        ] {
            assert_eq!(read_names(&bad), None, "{bad:?}");
        }
        let mut extended = closed(plain);
        extended[12 + 40 + HASH] = 0x40;
        assert_eq!(read_names(&extended), None, "no such flags in version 2");
    }

    /// As version 4 has it: what goes of the name before, what comes.
    fn in_steps(names: &[(u8, &[u8], usize)]) -> Vec<u8> {
        let mut out =
            [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &u32::try_from(names.len()).unwrap().to_be_bytes()].concat();
        for (cut, rest, told) in names {
            out.extend([0; 40 + HASH]);
            out.extend(u16::try_from(*told.min(&0xfff)).unwrap().to_be_bytes());
            out.push(*cut);
            out.extend(*rest);
            out.push(0);
        }
        closed(out)
    }

    #[test]
    fn names_that_go_on_from_each_other_are_read_and_bounded() {
        let index = in_steps(&[(0, b"dir/one", 7), (3, b"two", 7), (7, b"../x", 4)]);
        assert_eq!(read_names(&index).unwrap(), ["../x", "dir/one", "dir/two"]);
        assert_eq!(read_names(&in_steps(&[(1, b"a", 1)])), None, "there is nothing before it");
        let long = vec![b'a'; LONGEST_NAME];
        assert_eq!(read_names(&in_steps(&[(0, &long, LONGEST_NAME)])).map(|names| names.len()), Some(1));
        assert_eq!(read_names(&in_steps(&[(0, &long, LONGEST_NAME), (0, b"a", LONGEST_NAME + 1)])), None);
        let many = vec![(0, b"".as_slice(), LONGEST_NAME); MAX_LIST as usize / LONGEST_NAME];
        assert_eq!(read_names(&in_steps(&[&[(0, long.as_slice(), LONGEST_NAME)], &many[..]].concat())), None);
    }

    #[test]
    fn names_that_git_takes_from_nobody_are_refused() {
        for fine in ["a", "src/.gitignore", "dir/", ".github/x", "caf\u{e9}", "...", "a.git/x"] {
            assert!(is_fine_name(fine.as_bytes()), "{fine}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            ".git/hooks/x",
            "a/.GIT/config",
            ".git",
            "a//b",
            "./a",
            "a\\b",
            "a\nb",
            "GIT~1/x",
            ".git./x",
            "a/..",
            ".g\u{200d}it/x",
        ] {
            assert!(!is_fine_name(bad.as_bytes()), "{bad:?}");
        }
    }

    #[test]
    fn options_are_those_that_git_notes() {
        for (list, fine) in [
            (List::Strategy, "ort\n"),
            (List::StrategyOptions, " '--ours' '--rename-threshold=50'\n"),
            (List::SequencerOptions, "[options]\n\trecord-origin = true\n\tstrategy = ort\n"),
            (List::ApplyOptions, " '-p1' '--whitespace=fix'\n"),
            (List::ApplyOptions, ""),
        ] {
            assert!(options_are_fine(list, fine.as_bytes()), "{fine}");
        }
        for (list, bad) in [
            (List::Strategy, "/../evil"),
            (List::Strategy, "evil"),
            (List::StrategyOptions, "$(evil)"),
            (List::SequencerOptions, "[options]\n\tstrategy = /../evil\n"),
            (List::SequencerOptions, "[core]\n\tpager = evil\n"),
            (List::ApplyOptions, " '--build-fake-ancestor=../precious'"),
            (List::ApplyOptions, " '-p'"),
        ] {
            assert!(!options_are_fine(list, bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn lists_are_told_by_their_place() {
        for list in [
            ".git/index",
            "a/.git/modules/x/index",
            "b.git/MERGE_RR",
            ".git/rebase-merge/strategy",
            ".GIT/index",
            ".git/sharedindex.1",
        ] {
            assert!(is_gits_list(list), "{list}");
        }
        for other in
            ["index", "src/index", ".git/HEAD", ".git/refs/heads/index", ".git/logs/refs/heads/index", ".git/strategy"]
        {
            assert!(!is_gits_list(other), "{other}");
        }
    }
}
