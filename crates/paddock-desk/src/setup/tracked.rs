//! Is a file that Git tracks hidden from an agent?
//!
//! In a fork, and to a command, such a file is not there, so Git takes it for deleted there. The names are read from the
//! index of the repository that the project is; nothing of Git is run, and what is not read easily is not looked at.

use std::collections::BTreeMap;
use std::path::Path;

use paddock_core::{AgentPolicy, OpKind, RelPathBuf, Rule, Workspace, visible};

use super::check::WarningShown;
use crate::host;

/// The largest index that is looked at.
const LARGEST: u64 = 64 << 20;
/// The most names that one warning tells.
const MOST_NAMED: usize = 3;
/// What stands before the name of an entry: times, mode, size, hash and flags.
const BEFORE_NAME: usize = 62;
/// In the flags: there are two more bytes of them.
const EXTENDED: u8 = 0x40;

/// The tracked files that a Workspace of this agent hides, a warning for each pattern that does.
pub(super) fn hidden(project_root: &Path, policy: &AgentPolicy) -> Vec<WarningShown> {
    let Ok(index) = host::read_bytes(&project_root.join(".git/index"), LARGEST) else { return Vec::new() };
    let names = names(&index).unwrap_or_default();
    let mut found: BTreeMap<(u32, String), Vec<String>> = BTreeMap::new();
    for workspace in policy.vfs.workspaces().iter().filter(|workspace| !workspace.is_aside()) {
        for name in &names {
            if let Some(pattern) = hides(policy, workspace, &project_root.join(name)) {
                found.entry(pattern).or_default().push(name.clone());
            }
        }
    }
    let shown = |((line, pattern), names): ((u32, String), Vec<String>)| {
        WarningShown {
        agent: policy.agent.to_string(),
        message: format!("Git tracks what \"{}\" hides: {}", visible(&pattern), named(&names)),
        hint: "agents that see .git can read it there (`git show`), and in a fork Git takes it for deleted: take it out of Git and its \
               history, or hide .git too"
            .to_owned(),
        line,
    }
    };
    found.into_iter().map(shown).collect()
}

/// The pattern of this Workspace that hides a file of the host, with its line.
fn hides(policy: &AgentPolicy, workspace: &Workspace, file: &Path) -> Option<(u32, String)> {
    let rel = file.strip_prefix(workspace.host_directory()?).ok()?.to_str()?;
    let path = workspace.prefix().join(RelPathBuf::parse(rel).ok()?.as_rel());
    let decision = policy.vfs.judge(OpKind::Read, &path);
    match decision.rule() {
        // What a nested Workspace hides is told of that one.
        _ if decision.workspace().is_none_or(|covers| covers.prefix() != workspace.prefix()) => None,
        Rule::Hidden(pattern) => Some((pattern.origin.line(), pattern.text.clone())),
        _ => None,
    }
}

fn named(names: &[String]) -> String {
    let some: Vec<String> = names.iter().take(MOST_NAMED).map(|name| format!("\"{}\"", visible(name))).collect();
    match names.len().saturating_sub(MOST_NAMED) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

/// The names in an index of version 2 or 3, which all but those who asked for another have.
fn names(index: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if !index.starts_with(b"DIRC") || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let (mut at, mut found) = (12, Vec::new());
    for _ in 0..number(8)? {
        let is_extended = index.get(at + BEFORE_NAME - 2)? & EXTENDED != 0;
        let begins = at + BEFORE_NAME + if is_extended { 2 } else { 0 };
        let len = index.get(begins..)?.iter().position(|byte| *byte == 0)?;
        found.extend(String::from_utf8(index[begins..begins + len].to_vec()));
        // Each entry ends with one to eight zeros, so that its length can be divided by eight.
        at += (begins + len - at) / 8 * 8 + 8;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_index_has_no_names() {
        for bytes in
            [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01", b"DIRC\0\0\0\x04\0\0\0\0", b"GIT!\0\0\0\x02\0\0\0\0"]
        {
            assert_eq!(names(bytes), None, "{bytes:?}");
        }
        assert_eq!(names(b"DIRC\0\0\0\x02\0\0\0\0"), Some(Vec::new()));
    }
}
