//! `list_dir` and `find_files`: entries as lines of text.
//!
//! One text is built and nothing per entry besides, so that a thousand entries cost little more than
//! their names.

use paddock_core::{Browse, Entries, Found, FoundList, Kind, LogicalPath, Operation, Outcome, PathGlob};
use serde_json::{Map, Value};

use super::{PAGE, mention_unreachable};
use crate::answer::Answer;
use crate::arguments::{BadArguments, FindFiles, ListDir, count};
use crate::boundary::Context;
use crate::failure::Failure;

const DEFAULT_ENTRIES: u64 = 1000;
const MOST_ENTRIES: u64 = 10_000;

pub(crate) fn list_dir(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: ListDir = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let depth = count("depth", args.depth, 1, u64::from(u32::MAX))?;
    let browse = Browse {
        path: path.clone(),
        depth: u32::try_from(depth).ok(),
        skip_ignored: false,
        after: args.after.map(|after| cx.path(&after)).transpose()?,
        limit: limit(args.limit)?,
    };
    let entries = entries(cx.perform(Operation::List(browse))?)?;
    Ok(page(&entries, Some(&path), "(empty)"))
}

pub(crate) fn find_files(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: FindFiles = cx.arguments(given)?;
    let path = cx.path(&args.path)?;
    let glob = parse_glob(&args.glob)?;
    let skip_ignored = !args.include_ignored.unwrap_or(false);
    let browse = Browse {
        path,
        depth: None,
        skip_ignored,
        after: args.after.map(|after| cx.path(&after)).transpose()?,
        limit: limit(args.limit)?,
    };
    let entries = entries(cx.perform(Operation::Find { browse, glob })?)?;
    let none = if skip_ignored {
        "No file matches. include_ignored=true also looks at what .gitignore leaves out."
    } else {
        "No file matches."
    };
    Ok(page(&entries, None, none))
}

/// Reads a glob argument.
pub(crate) fn parse_glob(text: &str) -> Result<PathGlob, Failure> {
    PathGlob::parse(text).map_err(|kind| BadArguments::Bad { name: "glob", why: format!("is refused: {kind}") }.into())
}

fn limit(given: Option<u64>) -> Result<usize, Failure> {
    let limit = count("limit", given, DEFAULT_ENTRIES, MOST_ENTRIES)?;
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn entries(outcome: Outcome) -> Result<Entries, Failure> {
    match outcome {
        Outcome::Entries(entries) => Ok(entries),
        _ => Err(Failure::Defect),
    }
}

/// One page of entries: relative to `within` where that is given, and where they are below it.
fn page(entries: &Entries, within: Option<&LogicalPath>, none: &str) -> Answer {
    let lead = within.map(|path| format!("{}/", path.as_str().trim_end_matches('/')));
    let lead = lead.as_deref().unwrap_or_default();
    let found = &entries.found;
    let fits = fitting(found);
    let more = entries.more || fits < found.len();
    let shown = if more { up_to_a_cursor(found, fits) } else { fits };

    let mut out = String::with_capacity(found.iter().take(shown).map(|entry| entry.path.len() + 2).sum());
    for entry in found.iter().take(shown) {
        out.push_str(entry.path.strip_prefix(lead).unwrap_or(entry.path));
        out.push_str(mark(entry));
        out.push('\n');
    }
    if shown == 0 {
        out.push_str(none);
        out.push('\n');
    }
    let last = shown.checked_sub(1).and_then(|last| found.get(last));
    let cursor = last.filter(|last| more && last.plain).map(|last| last.path);
    match cursor {
        Some(after) => out.push_str(&format!("more: use after=\"{after}\"\n")),
        None if more => out.push_str("more: use a larger limit\n"),
        None => {}
    }
    mention_unreachable(&entries.unreachable, &mut out);
    out.pop();
    let answer = Answer::done(out).with("entries", shown).with("truncated", more);
    match cursor {
        Some(after) => answer.with("next_after", after),
        None => answer,
    }
}

/// As many as one answer shows.
fn fitting(found: &FoundList) -> usize {
    let mut room = PAGE;
    let fits = found.iter().take_while(|entry| {
        let fits = entry.path.len() <= room;
        room = room.saturating_sub(entry.path.len() + 1);
        fits
    });
    fits.count()
}

/// A name that cannot be written as a path cannot be a cursor either, so a page ends before it.
fn up_to_a_cursor(found: &FoundList, shown: usize) -> usize {
    let plain = |at: &usize| found.get(at - 1).is_some_and(|entry| entry.plain);
    (1..=shown).rev().find(plain).unwrap_or(shown)
}

fn mark(entry: Found<'_>) -> &'static str {
    use paddock_core::AccessScope::{ReadOnly, ReadWrite, WriteOnly};
    match (entry.kind, entry.scope) {
        (_, Some(ReadOnly)) => "/ [read-only Workspace]",
        (_, Some(ReadWrite)) => "/ [read-write Workspace]",
        (_, Some(WriteOnly)) => "/ [write-only Workspace]",
        (Kind::Dir, None) if entry.plain => "/",
        (Kind::Link, None) if entry.plain => "@",
        (Kind::File, None) if entry.plain => "",
        (Kind::Special, None) => " [pipe, device or socket: cannot be opened]",
        (Kind::Dir, None) => "/ [name cannot be used in a call]",
        (Kind::Link | Kind::File, None) => " [name cannot be used in a call]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(names: &[(&str, bool)], more: bool) -> Entries {
        let found = names.iter().map(|&(path, plain)| Found { path, kind: Kind::File, plain, scope: None });
        Entries { found: found.collect(), more, unreachable: vec![] }
    }

    #[test]
    fn a_name_that_cannot_be_called_is_shown_and_never_a_cursor() {
        let odd = [("/a", true), ("/b\\u{202e}", false)];
        let whole = page(&entries(&odd, false), None, "");
        assert_eq!(whole.text(), "/a\n/b\\u{202e} [name cannot be used in a call]");
        // With more to come the page ends where the agent can go on.
        let cut = page(&entries(&odd, true), None, "");
        assert_eq!(cut.text(), "/a\nmore: use after=\"/a\"");
        assert_eq!(cut.structured["next_after"], "/a");
        let stuck = page(&entries(&odd[1..], true), None, "");
        assert_eq!(stuck.text(), "/b\\u{202e} [name cannot be used in a call]\nmore: use a larger limit");
    }

    #[test]
    fn entries_elsewhere_keep_their_whole_path() {
        let dir = LogicalPath::parse("/link", &LogicalPath::top());
        let found = entries(&[("/link/a", true), ("/real/b", true)], false);
        assert_eq!(page(&found, dir.ok().as_ref(), "").text(), "a\n/real/b");
    }
}
