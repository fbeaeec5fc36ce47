//! What git keeps in a directory of its own, file by file, and what each may hold.
//!
//! A person's next git command follows what lies there without a second look: it writes through a reference that names another
//! file, and applies a stash that `MERGE_AUTOSTASH` names. So this is a list of what git's ordinary commands leave, each with what is
//! known to lead nowhere else; everything that is not in it is refused. Hooks, configs and steps are here only because other
//! rows guard them.

use crate::names::is_spelling_of;
use crate::unfinished;

/// What a file of git's may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Git shows it to people, or another rule reads it.
    Anything,
    /// The same, and nothing of this name may be there before: git never changes what it has put there.
    AnythingNew,
    /// Names of objects, one in a line.
    Objects,
    /// Where a branch stands: an object, or another reference.
    Reference,
    /// What was fetched: objects, each with words about it.
    Fetched,
    /// Many references.
    Packed,
    /// The name of a branch, or of an object.
    Branch,
    /// Plain words, one in a line.
    Words,
    /// What is staged, and where it goes.
    Index,
    /// Whose conflicts are remembered.
    Conflicts,
    /// What a search for the first bad commit is confined to.
    Searched,
    /// The strategy of a merge that goes on.
    Strategy,
    /// Its options.
    StrategyOptions,
    /// Options of a cherry-pick that goes on.
    SequencerOptions,
    /// Options of an `am` that goes on.
    ApplyOptions,
}

impl Holds {
    /// Does what stands in it decide?
    pub(crate) fn is_read(self) -> bool {
        !matches!(self, Self::Anything | Self::AnythingNew)
    }
}

/// What may be in a file, by its place in a directory of git's; nothing where git has no such file.
pub(crate) fn holds(path: &[&str]) -> Option<Holds> {
    use Holds::{
        Anything, AnythingNew, Branch, Conflicts, Fetched, Index, Objects, Packed, Reference, Searched, Words,
    };
    Some(match path {
        ["HEAD"] => Reference,
        [
            "ORIG_HEAD"
            | "MERGE_HEAD"
            | "CHERRY_PICK_HEAD"
            | "REVERT_HEAD"
            | "REBASE_HEAD"
            | "BISECT_HEAD"
            | "AUTO_MERGE"
            | "BISECT_EXPECTED_REV"
            | "shallow",
        ] => Objects,
        ["FETCH_HEAD"] => Fetched,
        ["packed-refs"] => Packed,
        // One object in the place of another.
        ["refs", name, ..] if is_spelling_of(name, "replace") => return None,
        ["refs", _, ..] => Reference,
        // What is noted there of commits is believed before the commits themselves.
        ["objects", "info", "packs"] => Anything,
        ["objects", name, ..] if is_spelling_of(name, "info") => return None,
        ["objects", _, ..] | ["lfs", "objects", ..] => AnythingNew,
        ["index"] => Index,
        ["MERGE_RR"] => Conflicts,
        ["BISECT_NAMES"] => Searched,
        ["BISECT_TERMS"] => Words,
        ["BISECT_START"] => Branch,
        ["description" | "git-daemon-export-ok"] | ["info", "exclude"] => AnythingNew,
        ["info", "refs" | "sparse-checkout"] => Anything,
        [name] if MESSAGES.contains(name) => Anything,
        // What tells and keeps, and what the guarded names hold.
        ["logs" | "lfs" | "hooks" | "remotes" | "branches", _, ..] => Anything,
        ["config" | "config.worktree" | "commondir" | "gitdir"] => Anything,
        ["rebase-merge" | "rebase-apply" | "sequencer", ..] => return unfinished_holds(path),
        ["worktrees", _, "locked"] => Anything,
        ["worktrees", _, rest @ ..] => return holds(rest),
        // A submodule may have a name of several parts.
        ["modules", rest @ ..] => return (1..rest.len()).find_map(|at| holds(&rest[at..])),
        _ => return None,
    })
}

const MESSAGES: [&str; 13] = [
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "MERGE_MODE",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "EDIT_DESCRIPTION",
    "BISECT_LOG",
    "BISECT_RUN",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
    "gc.log",
    "gc.pid",
];

/// Of what git goes on with: `autostash` is not among it, since its commit is put over whatever is there.
fn unfinished_holds(path: &[&str]) -> Option<Holds> {
    const OBJECTS: [&str; 7] =
        ["onto", "orig-head", "amend", "stopped-sha", "squash-onto", "original-commit", "abort-safety"];
    const TOLD: [&str; 45] = [
        "interactive",
        "quiet",
        "verbose",
        "end",
        "msgnum",
        "done",
        "message",
        "message-squash",
        "message-fixup",
        "current-fixups",
        "patch",
        "signoff",
        "allow_rerere_autoupdate",
        "cdate_is_adate",
        "ignore_date",
        "drop_redundant_commits",
        "keep_redundant_commits",
        "no-reschedule-failed-exec",
        "reschedule-failed-exec",
        "rewritten-list",
        "rewritten-pending",
        "dropped",
        "no-ff",
        "next",
        "last",
        "info",
        "msg",
        "final-commit",
        "keep",
        "scissors",
        "utf8",
        "threeway",
        "sign",
        "messageid",
        "rebasing",
        "applying",
        "rewritten",
        "dirtyindex",
        "quoted-cr",
        "no_inbody_headers",
        "committer_date_is_author_date",
        "head",
        "update-refs",
        "refs-to-delete",
        "patch-merge-index",
    ];
    let [dir, rest @ ..] = path else { return None };
    Some(match (*dir, rest) {
        ("sequencer", ["head" | "abort-safety"]) => Holds::Objects,
        ("sequencer", ["opts"]) => Holds::SequencerOptions,
        ("rebase-merge", ["strategy"]) => Holds::Strategy,
        ("rebase-merge", ["strategy_opts"]) => Holds::StrategyOptions,
        ("rebase-apply", ["apply-opt"]) => Holds::ApplyOptions,
        ("rebase-merge" | "rebase-apply", ["head-name"]) => Holds::Branch,
        ("rebase-merge" | "rebase-apply", ["update-refs" | "refs-to-delete"]) => Holds::Packed,
        ("rebase-merge" | "rebase-apply", [name]) if OBJECTS.contains(name) => Holds::Objects,
        (_, [name]) if unfinished::is_one(dir, name) => Holds::Anything,
        ("rebase-merge" | "rebase-apply", [name]) if TOLD.contains(name) || is_number(name) => Holds::Anything,
        ("rebase-merge", ["rewritten", _]) => Holds::Anything,
        _ => return None,
    })
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// May this stand where only names of objects and references do? What is read by other rules is not asked here.
pub(crate) fn is_fine(holds: Holds, content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut lines = text.lines().filter(|line| !line.is_empty());
    match holds {
        Holds::Objects => lines.all(|line| is_object(line.trim_end())),
        Holds::Reference => {
            let line = lines.next().unwrap_or_default().trim_end();
            let is_one = lines.next().is_none();
            is_one && (line.is_empty() || is_object(line) || line.strip_prefix("ref: ").is_some_and(is_reference))
        }
        Holds::Fetched => lines.all(|line| is_object(line.split('\t').next().unwrap_or_default())),
        Holds::Packed => lines.all(is_packed),
        Holds::Branch => {
            let line = lines.next().unwrap_or_default();
            lines.next().is_none() && (line == "detached HEAD" || is_branch(line))
        }
        Holds::Words => lines.all(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()) && is_branch(line)),
        _ => false,
    }
}

fn is_packed(line: &str) -> bool {
    let (first, name) = line.split_once(' ').unwrap_or((line, ""));
    let is_name = |name: &str| is_reference(name) && !name.starts_with("refs/replace/");
    line.starts_with('#')
        || line.strip_prefix('^').is_some_and(is_object)
        || is_object(first) && (name.is_empty() || is_name(name))
        || is_name(line)
}

fn is_object(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_reference(name: &str) -> bool {
    name.starts_with("refs/") && is_branch(name)
}

/// Is it a name as git takes it for a branch?
fn is_branch(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains("..");
    !name.starts_with('-')
        && !name.contains(|c: char| c.is_control() || " ~^:?*[\\".contains(c))
        && name.split('/').all(is_part)
}

/// Is a directory by its name one of git's?
pub(crate) fn is_repository(name: &str) -> bool {
    is_spelling_of(name, ".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<Holds> {
        holds(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn what_git_leaves_is_known_and_nothing_else() {
        for path in [
            "HEAD",
            "refs/heads/a/b",
            "logs/HEAD",
            "objects/ab/cdef",
            "objects/pack/pack-1.pack",
            "index",
            "modules/lib/foo/refs/heads/main",
            "worktrees/tree/ORIG_HEAD",
            "worktrees/tree/logs/HEAD",
            "rebase-merge/head-name",
            "rebase-apply/0001",
            "sequencer/opts",
            "lfs/objects/ab/cd/abcd",
            "refs/stash",
        ] {
            assert!(of(path).is_some(), "{path}");
        }
        for path in [
            "MERGE_AUTOSTASH",
            "rebase-merge/autostash",
            "0123456789012345678901234567890123456789/config",
            "refs/replace/1",
            "objects/info/alternates",
            "index.lock",
            "sharedindex.1",
            "orig_head",
            "worktrees/tree/MERGE_AUTOSTASH",
            "modules/x/MERGE_AUTOSTASH",
            "rr-cache/1/postimage",
            "info/attributes",
            "info/grafts",
            "refs/Replace/1",
            "objects/Info/alternates",
            "objects/info/commit-graph",
            "reftable/tables.list",
            "sl/config",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }

    #[test]
    fn what_names_a_place_names_one_of_gits() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        for (holds, fine) in [
            (Holds::Objects, format!("{id}\n")),
            (Holds::Objects, String::new()),
            (Holds::Reference, format!("{id}\n")),
            (Holds::Reference, "ref: refs/heads/main\n".to_owned()),
            (Holds::Fetched, format!("{id}\tnot-for-merge\tbranch 'x' of y\n{id}\t\t'z'\n")),
            (Holds::Packed, format!("# pack-refs with: peeled\n{id} refs/heads/a\n^{id}\n")),
            (Holds::Packed, format!("refs/heads/a\n{id}\n{id}\n")),
            (Holds::Branch, "refs/heads/main\n".to_owned()),
            (Holds::Branch, "detached HEAD\n".to_owned()),
            (Holds::Branch, "main\n".to_owned()),
            (Holds::Words, "bad\ngood\n".to_owned()),
        ] {
            assert!(is_fine(holds, fine.as_bytes()), "{holds:?} {fine}");
        }
        for (holds, bad) in [
            (Holds::Objects, "ref: commondir\n".to_owned()),
            (Holds::Objects, "ref: refs/heads/main\n".to_owned()),
            (Holds::Reference, "ref: commondir\n".to_owned()),
            (Holds::Reference, "ref: refs/../hooks/x\n".to_owned()),
            (Holds::Reference, format!("{id}\nref: hooks/x\n")),
            (Holds::Fetched, "ref: commondir\n".to_owned()),
            (Holds::Packed, format!("{id} refs/replace/{id}\n")),
            (Holds::Packed, format!("{id} commondir\n")),
            (Holds::Branch, "--evil\n".to_owned()),
            (Holds::Branch, "a b\n".to_owned()),
            (Holds::Words, "-x\n".to_owned()),
        ] {
            assert!(!is_fine(holds, bad.as_bytes()), "{holds:?} {bad}");
        }
    }
}
