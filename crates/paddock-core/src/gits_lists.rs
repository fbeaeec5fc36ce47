//! What a command or a fork leaves in a directory of git's, and what of it is taken over.
//!
//! A person's `git checkout .` writes whatever the index names, also outside of the project and into `.git/hooks`; `git commit`
//! keeps what `MERGE_RR` names, where an agent can read it; a rebase that goes on starts the strategy that is noted. Git writes
//! these files in every command, so they are no guarded names: what a command or a fork leaves in them is read here, and
//! refused where git itself would not have written it. What cannot be read is refused, too, and so is what git does not write.

use std::collections::{BTreeSet, HashSet};

use crate::alter::Alter;
use crate::call::Call;
use crate::git::{Repositories, is_option, read};
use crate::gits_files::{Holds, holds, is_fine, is_repository};
use crate::gits_index::{Entry, Index};
use crate::guarded::GuardedName;
use crate::names::is_spelling_of;
use crate::path::{LogicalPath, RelPath, RelPathBuf};
use crate::place::Place;
use crate::repository::INDEX_ROW;
use crate::scope::OpKind;
use crate::store::Kind;
use crate::unfinished::quoted;
use crate::vfs::{Refused, Vfs};
use crate::workspace::Workspace;

/// The largest list that is read.
pub const MAX_LIST: u64 = 64 * 1024 * 1024;

/// Strategies of merging that git has.
const STRATEGIES: [&str; 6] = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Their options, without what follows an equals sign.
const OPTIONS: [&str; 15] = [
    "ours",
    "theirs",
    "ignore-space-change",
    "ignore-all-space",
    "ignore-space-at-eol",
    "ignore-cr-at-eol",
    "renormalize",
    "no-renormalize",
    "find-renames",
    "rename-threshold",
    "no-renames",
    "patience",
    "histogram",
    "diff-algorithm",
    "subtree",
];

/// Does what stands in a file of git's decide about it? Whoever brings what a command wrote has to bring its content along then.
pub fn is_read_by_git(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let inside = names.iter().position(|name| is_repository(name)).map(|at| &names[at + 1..]);
    inside.and_then(holds).is_some_and(Holds::is_read)
}

/// What is asked about a change in a directory of git's.
pub(crate) struct Asked<'a> {
    pub(crate) path: &'a LogicalPath,
    pub(crate) repositories: &'a Repositories,
    /// Does an earlier change take away what is at a path?
    pub(crate) is_gone: &'a dyn Fn(&LogicalPath) -> bool,
}

impl Vfs {
    /// The change as git may have made it, or what guards the path against it. Where that is no file of git's it stays as it is.
    pub(crate) fn taken_by_git(
        &self,
        call: &Call<'_>,
        asked: &Asked<'_>,
        how: Alter,
    ) -> Result<Alter, &'static GuardedName> {
        let Some((index, rel)) = self.route(asked.path) else { return Ok(how) };
        let Some(row) = self.workspaces[index].names.holding(INDEX_ROW) else { return Ok(how) };
        let Some(dir) = self.gits_directory(call, asked, index, rel) else { return Ok(how) };
        let inside = &rel.as_str()[if dir.is_here() { 0 } else { dir.as_str().len() + 1 }..];
        let names: Vec<&str> = inside.split('/').collect();
        let known = holds(&names).filter(|_| !names.iter().any(|name| is_repository(name)));
        let is_there = || !(asked.is_gone)(asked.path) && self.is_there(call, index, rel);
        match (how, known) {
            // What was there goes, gets other looks, or comes back from a past that was looked at.
            (how @ (Alter::Delete | Alter::Dress(_) | Alter::Restore(_) | Alter::MakeDir), _) => Ok(how),
            (how @ (Alter::Write { .. } | Alter::Take(_)), Some(Holds::Anything)) => Ok(how),
            (how @ (Alter::Write { .. } | Alter::Take(_)), Some(Holds::AnythingNew)) if !is_there() => Ok(how),
            (Alter::Write { content, mode }, Some(Holds::Index)) => {
                let dir = self.workspaces[index].prefix.join(dir);
                let hash = self.hash_of(call, &dir, asked.repositories);
                let content = self.index_alone(call, index, rel, asked, &content, hash).ok_or(row)?;
                Ok(Alter::Write { content, mode })
            }
            (Alter::Write { content, mode }, Some(Holds::Conflicts))
                if self.conflicts_are_fine(call, index, rel, &content) =>
            {
                Ok(Alter::Write { content, mode })
            }
            (Alter::Write { content, mode }, Some(holds))
                if is_fine(holds, &content) || options_are_fine(holds, &content) =>
            {
                Ok(Alter::Write { content, mode })
            }
            _ => Err(row),
        }
    }

    /// The directory of git's that a path lies in: the nearest that is one, or one that is about to be.
    fn gits_directory<'p>(
        &self,
        call: &Call<'_>,
        asked: &Asked<'_>,
        index: usize,
        rel: RelPath<'p>,
    ) -> Option<RelPath<'p>> {
        let is_one = |dir: &RelPath<'p>| {
            let looked = || self.is_gits(call, asked.path, index, *dir).unwrap_or(true);
            asked.repositories.remembered(index, dir.as_str(), looked)
        };
        let about_to_be = || {
            let above =
                rel.ancestors().skip(1).filter(|dir| dir.split_last().is_some_and(|(_, name)| is_repository(name)));
            above.last()
        };
        rel.ancestors().skip(1).find(is_one).or_else(about_to_be)
    }

    /// What keeps a file tool out of git's own directories, whatever they are called where git itself may be at work; elsewhere only
    /// names tell.
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
        let row = names.holding(INDEX_ROW).filter(|_| op.changes() && !names.is_lifted(rel));
        let Some(row) = row.filter(|_| self.workspaces[index].mount.store.is_on_disk()) else { return Ok(None) };
        for dir in rel.ancestors().skip(1) {
            if self.is_gits(call, asked, index, dir)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// An index with nothing but its entries; nothing where one of them is new that the agent could not have made, or that would
    /// make git remove something: a person's `git checkout .` writes whatever it names, and their commit keeps it.
    fn index_alone(
        &self,
        call: &Call<'_>,
        index: usize,
        rel: RelPath<'_>,
        asked: &Asked<'_>,
        content: &[u8],
        hash: usize,
    ) -> Option<Vec<u8>> {
        let new = Index::read(content, hash)?;
        let before = Index::read(&self.list_before(call, index, rel), hash).map(|old| old.entries).unwrap_or_default();
        let mut ways = HashSet::new();
        for (name, entries) in &new.entries {
            let is_known = before.get(name) == Some(entries);
            let is_fine = is_fine_name(name)
                && (is_known || self.may_be_staged(call, index, root_of(rel), name, entries, asked, &mut ways));
            if !is_fine {
                return None;
            }
        }
        // What an agent says of a file that is not its to change may hide what a person did to it.
        let is_anothers = |name: &[u8]| !self.may_be_changed(index, root_of(rel), name);
        Some(new.alone(content, hash, is_anothers))
    }

    /// May the agent see and change a name of a worktree? Where nobody knows here where that is, patterns without a place tell.
    fn may_be_changed(&self, index: usize, root: Option<&str>, name: &[u8]) -> bool {
        let Ok(name) = std::str::from_utf8(name) else { return false };
        let path =
            root.filter(|root| !root.is_empty()).map_or_else(|| name.to_owned(), |root| format!("{root}/{name}"));
        let Ok(rel) = RelPathBuf::parse(&path) else { return false };
        let (rel, Workspace { names, prefix, .. }) = (rel.as_rel(), &self.workspaces[index]);
        if root.is_none() {
            return names.hidden(rel).is_none() && names.guarded(rel, false).is_none() && !names.own(rel);
        }
        let path = prefix.join(rel);
        [OpKind::Read, OpKind::Write].into_iter().all(|op| self.judge(op, &path).allowed())
    }

    /// May an agent have staged this?
    #[expect(clippy::too_many_arguments, reason = "all of it is asked of each of many names")]
    fn may_be_staged(
        &self,
        call: &Call<'_>,
        index: usize,
        root: Option<&str>,
        name: &[u8],
        entries: &[Entry],
        asked: &Asked<'_>,
        ways: &mut HashSet<String>,
    ) -> bool {
        if entries.iter().any(Entry::is_directory) || !self.may_be_changed(index, root, name) {
            return false;
        }
        let (Some(root), false) = (root, entries.iter().all(Entry::is_submodule)) else { return true };
        let name = String::from_utf8_lossy(name);
        let path = if root.is_empty() { name.into_owned() } else { format!("{root}/{name}") };
        RelPathBuf::parse(&path).is_ok_and(|rel| self.has_room(call, index, (root, rel.as_rel()), asked, ways))
    }

    /// Does git find a file's place free of what it would remove: a directory there, or a file above it?
    fn has_room(
        &self,
        call: &Call<'_>,
        index: usize,
        (root, rel): (&str, RelPath<'_>),
        asked: &Asked<'_>,
        ways: &mut HashSet<String>,
    ) -> bool {
        let prefix = &self.workspaces[index].prefix;
        let kind = |at: RelPath<'_>| {
            let stays = !(asked.is_gone)(&prefix.join(at));
            let looked = || self.workspaces[index].mount.store.stat(call, &Place::bare(at)).ok();
            stays.then(looked).flatten().map(|meta| meta.kind)
        };
        let above = rel.ancestors().skip(1).take_while(|dir| dir.as_str().len() > root.len());
        let mut way = above.filter(|dir| ways.insert(dir.as_str().to_owned()));
        kind(rel) != Some(Kind::Dir) && way.all(|dir| kind(dir).is_none_or(|kind| kind == Kind::Dir))
    }

    fn is_there(&self, call: &Call<'_>, index: usize, rel: RelPath<'_>) -> bool {
        self.workspaces[index].mount.store.stat(call, &Place::bare(rel)).is_ok()
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
}

/// Where the worktree is whose `.git` this lies in; nothing where that is elsewhere.
fn root_of(rel: RelPath<'_>) -> Option<&str> {
    let (dir, _) = rel.split_last()?;
    let (root, name) = dir.split_last()?;
    is_repository(name).then_some(root.0)
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
            || is_spelling_of(text.trim_end_matches(['.', ' ']), ".git"))
    };
    // A directory of which not everything is checked out ends with a slash.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    !name.iter().any(|byte| *byte < b' ' || *byte == b'\\') && name.split(|byte| *byte == b'/').all(is_fine)
}

/// Options that git's own commands write, and that start nothing but git.
fn options_are_fine(holds: Holds, content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let is_strategy = |name: &str| STRATEGIES.contains(&name);
    match holds {
        Holds::Strategy => is_strategy(text.trim_end_matches('\n')),
        Holds::StrategyOptions => text.split_whitespace().all(is_strategy_option),
        Holds::SequencerOptions => read(content).is_some_and(|settings| {
            settings.iter().all(|((section, key), values)| {
                section == "options"
                    && is_option(key)
                    && (key != "strategy" || values.iter().all(|name| is_strategy(name)))
                    && (key != "strategy-option" || values.iter().all(|value| is_strategy_option(value)))
            })
        }),
        Holds::Searched => are_quoted(content),
        Holds::ApplyOptions => text.split_whitespace().map(|word| word.trim_matches('\'')).all(|word| {
            let number = word.strip_prefix("-p").or_else(|| word.strip_prefix("-C"));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
                || word.strip_prefix("--whitespace=").is_some_and(is_plain)
                || matches!(word, "--ignore-space-change" | "--ignore-whitespace" | "--reject" | "--3way")
        }),
        _ => false,
    }
}

/// Is it an option of a strategy that git has, as it is noted, quoted or not?
fn is_strategy_option(word: &str) -> bool {
    let word = word.trim_matches(['\'', '"']).trim_start_matches("--");
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    OPTIONS.contains(&name) && is_plain(value)
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_-%".contains(c))
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
            (Holds::Strategy, "ort\n"),
            (Holds::StrategyOptions, " '--ours' '--rename-threshold=50'\n"),
            (Holds::StrategyOptions, "\"ignore-space-change\" \"rename-threshold=50\"\n"),
            (Holds::SequencerOptions, "[options]\n\trecord-origin = true\n\tstrategy = ort\n"),
            (Holds::SequencerOptions, "[options]\n\tstrategy-option = ignore-space-change\n\tstrategy-option = ours\n"),
            (Holds::Searched, " 'src/a b' 'it'\\''s'\n"),
            (Holds::Searched, "\n"),
            (Holds::ApplyOptions, " '-p1' '--whitespace=fix'\n"),
            (Holds::ApplyOptions, ""),
        ] {
            assert!(options_are_fine(list, fine.as_bytes()), "{fine}");
        }
        for (list, bad) in [
            (Holds::Strategy, "/../evil"),
            (Holds::Strategy, "evil"),
            (Holds::StrategyOptions, "$(evil)"),
            (Holds::StrategyOptions, "\"index-output=.env\""),
            (Holds::StrategyOptions, "\"index-output=Makefile\""),
            (Holds::SequencerOptions, "[options]\n\tstrategy-option = index-output=.env\n"),
            (Holds::SequencerOptions, "[options]\n\tstrategy = /../evil\n"),
            (Holds::SequencerOptions, "[options]\n\tstrategy-option = $(evil)\n"),
            (Holds::SequencerOptions, "[core]\n\tpager = evil\n"),
            (Holds::Searched, "; touch evil #"),
            (Holds::Searched, " 'a'; evil"),
            (Holds::Searched, " 'a'$(evil)"),
            (Holds::Searched, " 'a"),
            (Holds::ApplyOptions, " '--build-fake-ancestor=../precious'"),
            (Holds::ApplyOptions, " '-p'"),
        ] {
            assert!(!options_are_fine(list, bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn what_is_read_is_told_by_its_place() {
        for read in [
            ".git/index",
            "a/.git/modules/x/index",
            ".GIT/refs/heads/a",
            ".git/rebase-merge/strategy",
            ".git/ORIG_HEAD",
        ] {
            assert!(is_read_by_git(read), "{read}");
        }
        for other in ["index", "src/index", ".git/objects/ab/cd", ".git/logs/refs/heads/index", ".git/strategy"] {
            assert!(!is_read_by_git(other), "{other}");
        }
    }
}
