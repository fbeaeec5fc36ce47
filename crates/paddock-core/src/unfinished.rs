//! What git goes on with when a person says `git rebase --continue`: lists of steps, and who wrote what they bring.
//!
//! A step may run anything, and old versions had a shell read the author. A command that leaves a rebase unfinished may
//! leave what git writes by itself: steps that only take commits, and an author as quoted text. This is a list of what
//! is harmless, and everything else stays guarded.

/// Words of steps that run nothing but git itself. `exec` and `x` are not among them.
const STEPS: &[&str] = &[
    "pick",
    "p",
    "revert",
    "edit",
    "e",
    "reword",
    "r",
    "fixup",
    "f",
    "squash",
    "s",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "update-ref",
    "u",
    "drop",
    "d",
    "noop",
    "break",
    "b",
];

/// The files, each with the directory it lies in below that of the repository.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("rebase-merge", TODO),
    ("rebase-merge", "git-rebase-todo.backup"),
    ("rebase-merge", AUTHOR),
    ("rebase-apply", AUTHOR),
    ("sequencer", "todo"),
];

const TODO: &str = "git-rebase-todo";
const AUTHOR: &str = "author-script";

/// Is it one of these files, written as git writes it? A command may take such a file away: then nothing is gone on with.
pub(crate) fn is_one(dir: &str, name: &str) -> bool {
    FILES.contains(&(dir, name))
}

/// Can what stands in it make nothing run?
pub(crate) fn is_harmless(name: &str, content: &[u8]) -> bool {
    if content.contains(&0) {
        return false;
    }
    let mut lines = content.split(|byte| *byte == b'\n');
    if name == AUTHOR { lines.all(is_author) } else { lines.all(is_step) }
}

fn is_step(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let word = line.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    line.is_empty() || line.starts_with(b"#") || STEPS.iter().any(|step| step.as_bytes() == word)
}

fn is_author(line: &[u8]) -> bool {
    let value = |key: &str| line.strip_prefix(key.as_bytes());
    let value = value("GIT_AUTHOR_NAME=").or_else(|| value("GIT_AUTHOR_EMAIL=")).or_else(|| value("GIT_AUTHOR_DATE="));
    line.is_empty() || value.is_some_and(is_quoted)
}

fn is_quoted(text: &[u8]) -> bool {
    quoted(text).is_some_and(<[u8]>::is_empty)
}

/// What follows a word that is quoted as git does it for a shell: all of it between single quotes, but for those and for exclamation
/// marks.
pub(crate) fn quoted(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        let open = text.strip_prefix(b"'")?;
        let end = open.iter().position(|byte| *byte == b'\'')?;
        let rest = &open[end + 1..];
        match rest.strip_prefix(br"\'").or_else(|| rest.strip_prefix(br"\!")) {
            Some(next) => text = next,
            None => return Some(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_only_take_commits_are_harmless() {
        for todo in [
            "",
            "pick 1234567 subject; $(anything) exec x\nfixup -C 89 two\n\n# Commands:\n# x, exec <command> = run\n",
            "label onto\nreset onto\nmerge -C 12 side # Merge\nupdate-ref refs/heads/a\nbreak\nnoop\n",
            "\tp 1234 caf\u{e9}\r\n",
        ] {
            assert!(is_harmless(TODO, todo.as_bytes()), "{todo}");
        }
        assert!(is_harmless("todo", b"revert 1234 \xff\n"));
    }

    #[test]
    fn a_step_that_runs_something_and_one_that_nobody_knows_is_not() {
        for todo in [
            "exec evil",
            "pick 1\nx evil\n",
            " \texec\tevil",
            "x\tevil",
            "pick 1\rx\nx",
            "EXEC evil",
            "run evil",
            "; x evil",
        ] {
            assert!(!is_harmless(TODO, todo.as_bytes()), "{todo:?}");
        }
        assert!(!is_harmless(TODO, b"pick 1\0exec evil"));
    }

    #[test]
    fn an_author_is_quoted_text() {
        let git = r"GIT_AUTHOR_NAME='A'\''B'\!' C'
GIT_AUTHOR_EMAIL='a@b.c'
GIT_AUTHOR_DATE='@1700000000 +0000'
";
        assert!(is_harmless(AUTHOR, git.as_bytes()));
        for evil in [
            "evil",
            "GIT_AUTHOR_NAME=$(evil)",
            "GIT_AUTHOR_NAME='a'; evil",
            "GIT_AUTHOR_NAME='a'$(evil)''",
            "GIT_AUTHOR_NAME='a",
            "GIT_AUTHOR_NAME='a'\\'evil",
            "PATH='x'",
        ] {
            assert!(!is_harmless(AUTHOR, evil.as_bytes()), "{evil}");
        }
    }
}
