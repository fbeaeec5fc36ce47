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
use crate::git::{Formats, is_option, read};
use crate::gits_index::names_in_index;
use crate::guarded::GuardedName;
use crate::names::{fold, is_spelling_of};
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::repository::{INDEX_ROW, is_called_so};
use crate::scope::OpKind;
use crate::unfinished::quoted;
use crate::vfs::{Refused, Vfs};

/// The largest list that is read.
pub const MAX_LIST: u64 = 64 * 1024 * 1024;

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
    /// What a search for the first bad commit is confined to.
    Searched,
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
        () if is("bisect_names") => Some(List::Searched),
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
    let mut above = above.peekable();
    while let Some(name) = above.next() {
        if is_called_so(&fold(name)) && !above.peek().is_some_and(|next| matches!(*next, "refs" | "logs")) {
            return true;
        }
    }
    false
}

impl Vfs {
    /// What guards a list of git's against this change, which git would not have made.
    pub(crate) fn misleads_git(
        &self,
        call: &Call<'_>,
        path: &LogicalPath,
        how: &Alter,
        formats: &Formats,
    ) -> Option<&'static GuardedName> {
        let (index, rel) = self.route(path)?;
        let (list, dir) = list_at(rel)?;
        let row = self.workspaces[index].names.holding(INDEX_ROW)?;
        let is_in_git = are_in_git(dir.names()) || self.is_gits(call, path, index, dir).unwrap_or(true);
        if !is_in_git {
            return None;
        }
        let is_fine = match how {
            Alter::Write { content, .. } => match list {
                List::Index => {
                    let hash = self.hash_of(call, &self.workspaces[index].prefix.join(dir), formats);
                    self.index_is_fine(call, index, rel, &Staged { content, hash })
                }
                List::Conflicts => self.conflicts_are_fine(call, index, rel, content),
                _ => options_are_fine(list, content),
            },
            // What was there goes, gets other looks, or comes back from a past that was looked at.
            Alter::Delete | Alter::Dress(_) | Alter::Restore(_) => true,
            _ => false,
        };
        (!is_fine).then_some(row)
    }

    /// What keeps a file tool out of git's own directories, and away from its lists where only what lies there tells that a directory
    /// is one of git's.
    pub(crate) fn in_gits_there(
        &self,
        call: &Call<'_>,
        asked: &LogicalPath,
        op: OpKind,
        index: usize,
        rel: RelPath<'_>,
    ) -> Result<Option<&'static GuardedName>, Refused> {
        let names = &self.workspaces[index].names;
        if let Some(row) = names.in_gits(op, rel) {
            return Ok(Some(row));
        }
        let Some((_, dir)) = list_at(rel).filter(|_| op.changes()) else { return Ok(None) };
        let Some(row) = names.holding(INDEX_ROW) else { return Ok(None) };
        Ok(self.is_gits(call, asked, index, dir)?.then_some(row))
    }

    /// Each name must be one that git takes from others, and none may be new that the Workspace hides: a person's next commit
    /// would put that file where an agent can read it.
    fn index_is_fine(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>, new: &Staged<'_>) -> bool {
        let Some(staged) = names_in_index(new.content, new.hash) else { return false };
        if !staged.iter().all(|name| is_fine_name(name)) {
            return false;
        }
        let root = root_of(rel);
        let mut hidden = staged.iter().filter(|name| self.is_hidden_in(index, root, name)).peekable();
        if hidden.peek().is_none() {
            return true;
        }
        let known = names_in_index(&self.list_before(call, index, rel), new.hash).unwrap_or_default();
        hidden.all(|name| known.contains(name))
    }

    /// Git follows links when it remembers how a conflict was resolved, also those that come later: so nothing gets into this list but
    /// what stands in it.
    fn conflicts_are_fine(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>, content: &[u8]) -> bool {
        let before = self.list_before(call, index, rel);
        let known: BTreeSet<&[u8]> = before.split(|byte| *byte == 0).collect();
        content.split(|byte| *byte == 0).all(|record| record.is_empty() || known.contains(record))
    }

    /// A list as it is; empty where it cannot be had.
    fn list_before(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>) -> Vec<u8> {
        let mut there = Vec::new();
        let store = &self.workspaces[index].mount.store;
        let read = store.read(call, &self.place(index, rel), 0..MAX_LIST, &mut there);
        read.map_or_else(|_| Vec::new(), |_| there)
    }

    /// May the agent not see a name of a worktree? Where nobody knows here where that is, patterns without a place tell.
    fn is_hidden_in(&self, index: usize, root: Option<&str>, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name);
        let path = match root {
            None | Some("") => name.into_owned(),
            Some(root) => format!("{root}/{name}"),
        };
        let Ok(path) = RelPathBuf::parse(path.trim_end_matches('/')) else { return true };
        let workspace = &self.workspaces[index];
        match root {
            Some(_) => !self.judge(OpKind::Read, &workspace.prefix.join(path.as_rel())).allowed(),
            None => workspace.names.hidden(path.as_rel()).is_some(),
        }
    }
}

/// An index that is to be there.
struct Staged<'a> {
    content: &'a [u8],
    /// How many bytes a hash has in it.
    hash: usize,
}

/// Which list a path would be, and in which directory of git's.
fn list_at(rel: RelPath<'_>) -> Option<(List, RelPath<'_>)> {
    let (dir, name) = rel.split_last()?;
    let last = dir.split_last();
    let list = list_of(last.map_or("", |(_, last)| last), name)?;
    let is_beside_head = matches!(list, List::Index | List::Conflicts | List::Searched);
    let dir = if is_beside_head { dir } else { last.map_or(dir, |(above, _)| above) };
    Some((list, dir))
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
        List::StrategyOptions => text.chars().all(|c| c == '"' || is_plain(c)),
        List::SequencerOptions => read(content).is_some_and(|settings| {
            settings.iter().all(|((section, key), values)| {
                section == "options"
                    && is_option(key)
                    && (key != "strategy" || values.iter().all(|name| is_strategy(name)))
                    && (key != "strategy-option" || values.iter().all(|value| value.chars().all(is_plain)))
            })
        }),
        List::Searched => are_quoted(content),
        List::ApplyOptions => text.split_whitespace().map(|word| word.trim_matches('\'')).all(|word| {
            let number = word.strip_prefix("-p").or_else(|| word.strip_prefix("-C"));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
                || word.strip_prefix("--whitespace=").is_some_and(|how| how.chars().all(|c| is_plain(c) && c != ' '))
                || matches!(word, "--ignore-space-change" | "--ignore-whitespace" | "--reject" | "--3way")
        }),
        List::Index | List::Conflicts => false,
    }
}

/// Words as git quotes them for a shell, which old versions had read them.
fn are_quoted(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        if text.is_empty() {
            return true;
        }
        match quoted(text) {
            Some(rest) if rest.is_empty() || rest[0].is_ascii_whitespace() => text = rest,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (List::StrategyOptions, "\"ignore-space-change\" \"rename-threshold=50\"\n"),
            (List::SequencerOptions, "[options]\n\trecord-origin = true\n\tstrategy = ort\n"),
            (List::SequencerOptions, "[options]\n\tstrategy-option = ignore-space-change\n\tstrategy-option = ours\n"),
            (List::Searched, " 'src/a b' 'it'\\''s'\n"),
            (List::Searched, "\n"),
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
            (List::SequencerOptions, "[options]\n\tstrategy-option = $(evil)\n"),
            (List::SequencerOptions, "[core]\n\tpager = evil\n"),
            (List::Searched, "; touch evil #"),
            (List::Searched, " 'a'; evil"),
            (List::Searched, " 'a'$(evil)"),
            (List::Searched, " 'a"),
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
            ".git/BISECT_NAMES",
            "docs.git/logs/.git/index",
            "docs.git/refs/b.git/MERGE_RR",
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
