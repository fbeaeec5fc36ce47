//! Outputs that are too long to show: kept where the agent reads them by pages.
//!
//! They lie in a Workspace of their own that the agent can only read. Those of a run have a place for its thread, and go with the thread: a
//! run that waits for a person for a month finds them again. Of all others the old ones go when a new one comes.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use paddock_config::EVICTED;
use paddock_core::{
    AgentPolicy, Alter, Alteration, Browse, Call, CallId, Cancel, Expect, LogicalPath, Operation, Outcome, Passed,
    Request, Risk, Staged, Vfs,
};

use crate::boundary::Context;
use crate::gate::RecordingGate;

/// How long an output of no thread can be read.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long keeping one may take.
const LONGEST: Duration = Duration::from_secs(60);
/// The most outputs of a thread, and of an agent without one.
const MOST: usize = 200;
/// The most bytes of all of those.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// The most of one output, in bytes.
pub(crate) const LONGEST_OUTPUT: u64 = 64 * 1024 * 1024;

/// A file that nobody can name, for what is still being printed.
pub(crate) fn anonymous_file() -> Option<File> {
    rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC).ok().map(File::from)
}

/// Keeps an output, and tells where.
pub(crate) fn keep(cx: &Context<'_>, all: File) -> Option<LogicalPath> {
    keep_file(cx.policy(), cx.call(), cx.thread(), all)
}

/// Keeps a text, and tells where.
pub(crate) fn keep_text(policy: &AgentPolicy, thread: Option<&str>, text: &str) -> Option<LogicalPath> {
    let mut file = anonymous_file()?;
    file.write_all(text.as_bytes()).ok()?;
    file.rewind().ok()?;
    ours(policy, |call| keep_file(policy, call, thread, file))
}

/// Lets go of everything that was kept for a thread.
pub(crate) fn forget(policy: &AgentPolicy, thread: &str) {
    let Some((vfs, place)) = place_of(policy, Some(thread)) else { return };
    ours(policy, |call| run(call, &vfs, Operation::Delete { path: place, recursive: true }));
}

/// A call that nobody made.
fn ours<T>(policy: &AgentPolicy, work: impl FnOnce(&Call<'_>) -> T) -> T {
    let cancel = Cancel::default();
    let deadline = Instant::now() + LONGEST;
    work(&Call { id: CallId::next(), agent: &policy.agent, cancel: &cancel, deadline })
}

/// Where the outputs of a thread lie; those of none lie beside such places.
fn place_of(policy: &AgentPolicy, thread: Option<&str>) -> Option<(Vfs, LogicalPath)> {
    let top = LogicalPath::parse(EVICTED, &LogicalPath::top()).ok()?;
    let vfs = policy.vfs.alone(&top, Arc::new(RecordingGate::new()))?;
    let place = match thread {
        Some(thread) => LogicalPath::parse(&format!("thread-{thread}"), &top).ok()?,
        None => top,
    };
    Some((vfs, place))
}

fn keep_file(policy: &AgentPolicy, call: &Call<'_>, thread: Option<&str>, all: File) -> Option<LogicalPath> {
    let (vfs, place) = place_of(policy, thread)?;
    let len = all.metadata().ok()?.len();
    collect(call, &vfs, &place, thread.is_none(), len);
    let path = LogicalPath::parse(&format!("{}.txt", call.id), &place).ok()?;
    let staged = Staged::new(all, len, 0o644, SystemTime::now());
    let kept = Alteration { path: path.clone(), how: Alter::Take(staged), expect: Expect::Any };
    run(call, &vfs, Operation::Alter { path: path.clone(), alterations: vec![kept] })?;
    Some(path)
}

/// Removes what is too much beside one that comes, and what is old where that counts. Names begin with the time they were made at.
fn collect(call: &Call<'_>, vfs: &Vfs, place: &LogicalPath, ages: bool, comes: u64) {
    let browse = Browse { path: place.clone(), depth: Some(1), skip_ignored: false, after: None, limit: 10 * MOST };
    let Some(Outcome::Entries(entries)) = run(call, vfs, Operation::List(browse)) else { return };
    let paths = entries.found.iter().filter_map(|found| LogicalPath::parse(found.path, place).ok());
    // What is no output is the place of a thread.
    let outputs: Vec<_> = paths.filter_map(|path| made_at(&path).map(|made| (path, made))).collect();
    let lengths: Vec<u64> = outputs.iter().map(|(path, _)| length(call, vfs, path)).collect();
    let surplus = surplus(&lengths, comes);
    for (n, (path, made)) in outputs.into_iter().enumerate() {
        let is_old = || SystemTime::now().duration_since(made).is_ok_and(|age| age > KEPT_FOR);
        if n < surplus || (ages && is_old()) {
            run(call, vfs, Operation::Delete { path, recursive: false });
        }
    }
}

/// How many of these, the oldest first, have to go before one comes that is so long.
fn surplus(lengths: &[u64], comes: u64) -> usize {
    let mut room = MOST_BYTES.saturating_sub(comes);
    let fits = |length: &&u64| {
        let left = room.checked_sub(**length);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let stay = lengths.iter().rev().take(MOST - 1).take_while(fits).count();
    lengths.len() - stay
}

fn length(call: &Call<'_>, vfs: &Vfs, path: &LogicalPath) -> u64 {
    match run(call, vfs, Operation::Read { path: path.clone(), range: 0..0 }) {
        Some(Outcome::Read { meta, .. }) => meta.len,
        _ => 0,
    }
}

/// When an output was made; nothing for what is none.
fn made_at(path: &LogicalPath) -> Option<SystemTime> {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let id = name.strip_suffix(".txt").and_then(CallId::parse)?;
    Some(UNIX_EPOCH + Duration::from_millis(u64::try_from(id.0 >> 80).unwrap_or(0)))
}

fn run(call: &Call<'_>, vfs: &Vfs, operation: Operation) -> Option<Outcome> {
    let plan = vfs.plan(call, operation).ok()?;
    match vfs.ask(call, &Request::of_person("evict", Risk::Low), &plan).ok()? {
        Passed::Now(token) => vfs.run(call, plan, token).ok(),
        Passed::Parked(_) | Passed::Edited { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_where_there_are_too_many_or_too_many_bytes() {
        assert_eq!(surplus(&[], LONGEST_OUTPUT), 0);
        assert_eq!(surplus(&[1; MOST - 1], 1), 0);
        assert_eq!(surplus(&[1; MOST + 3], 1), 4, "the one that comes is one of them");
        // Four of the longest are all there is room for.
        assert_eq!(surplus(&[LONGEST_OUTPUT; 3], LONGEST_OUTPUT), 0);
        assert_eq!(surplus(&[LONGEST_OUTPUT; 6], LONGEST_OUTPUT), 3);
        assert_eq!(surplus(&[1, LONGEST_OUTPUT, LONGEST_OUTPUT, LONGEST_OUTPUT], LONGEST_OUTPUT), 1);
        assert_eq!(surplus(&[1, MOST_BYTES, 1], 1), 2, "what is older than one that goes does not stay");
    }
}
