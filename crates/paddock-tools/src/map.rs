//! The Filesystem Map: what an agent perceives, in words, made anew each time it is asked for.
//!
//! Bounded: an agent may have thousands of Workspaces and a prompt may not. Knows prefixes and
//! scopes, and of what backs them only what it cannot do.

use std::fmt::Write as _;

use paddock_core::{AccessScope, AgentPolicy, OpKind, Vfs, Workspace};

use crate::messages::how_to_begin;
use crate::tools::command::starting;

/// The most Workspaces that the map lists.
const MOST_LINES: usize = 100;
/// The most Workspaces that one tool's description names.
const MOST_PLACES: usize = 8;
/// The most bytes of listed Workspaces.
const MOST_BYTES: usize = 8 * 1024;

/// What can be done in a Workspace, in the words of the map.
const ACTS: [(&str, OpKind); 10] = [
    ("read", OpKind::Read),
    ("list", OpKind::List),
    ("find", OpKind::Find),
    ("search", OpKind::Search),
    ("write", OpKind::Write),
    ("append", OpKind::Append),
    ("edit", OpKind::Edit),
    ("make", OpKind::MakeDir),
    ("move", OpKind::MoveFrom),
    ("delete", OpKind::Delete),
];

/// The map of one agent.
pub(crate) fn filesystem_map(policy: &AgentPolicy) -> String {
    let workspaces: Vec<&Workspace> = policy.vfs.workspaces().iter().filter(|w| !w.is_aside()).collect();
    if workspaces.is_empty() {
        return format!("Filesystem Map: empty. {}\n", how_to_begin(&policy.agent));
    }
    let mut out = String::from("Filesystem Map: the Workspaces you perceive. Nothing else exists for you.\n");
    let shown = list(&workspaces, &mut out);
    if shown < workspaces.len() {
        summarize(&workspaces[shown..], &mut out);
    }
    let _ = writeln!(
        out,
        "A path belongs to the Workspace with the longest prefix of it. Relative paths start at {}.",
        policy.base
    );
    if let Some(start) = policy.commands.as_ref().and_then(|_| starting(policy)) {
        let _ = writeln!(out, "Commands (execute_command) see the same Workspaces and start in {}.", start.prefix());
    }
    out
}

/// Lists Workspaces until there is no room, and answers how many it listed.
fn list(workspaces: &[&Workspace], out: &mut String) -> usize {
    let full = out.len() + MOST_BYTES;
    let mut shown = 0;
    for workspace in workspaces.iter().take(MOST_LINES) {
        let line = format!("- {}: {}\n", workspace.prefix(), in_words(workspace));
        if shown > 0 && out.len() + line.len() > full {
            break;
        }
        out.push_str(&line);
        shown += 1;
    }
    shown
}

fn summarize(rest: &[&Workspace], out: &mut String) {
    let counts = AccessScope::ALL.map(|scope| (scope, rest.iter().filter(|w| w.scope() == scope).count()));
    let told = counts.iter().filter(|(_, n)| *n > 0).map(|(scope, n)| format!("{n} {}", scope.words()));
    let _ =
        writeln!(out, "- … and {} more ({}); list_dir shows them.", rest.len(), told.collect::<Vec<_>>().join(", "));
}

/// The scope, and what it allows here: a Store may be able to do less.
fn in_words(workspace: &Workspace) -> String {
    let can: Vec<&str> = ACTS.iter().filter(|(_, op)| workspace.allows(*op)).map(|(word, _)| *word).collect();
    let silent = if workspace.scope() == AccessScope::WriteOnly { "; nothing comes back" } else { "" };
    format!("{} ({}{silent})", workspace.scope().words(), can.join(", "))
}

/// The part of the map that belongs to one tool.
pub(crate) fn where_it_works(vfs: &Vfs, needs: &[OpKind]) -> String {
    let allowing = || vfs.workspaces().iter().filter(|w| !w.is_aside() && needs.iter().all(|op| w.allows(*op)));
    let told = |w: &Workspace| format!("{} ({})", w.prefix(), w.scope().words());
    let shown: Vec<String> = allowing().take(MOST_PLACES).map(told).collect();
    match allowing().count() - shown.len() {
        0 => format!("Works in: {}.", shown.join(", ")),
        more => format!("Works in: {} and {more} more.", shown.join(", ")),
    }
}
