//! Outputs that are too long to show: kept where the agent reads them by pages.
//!
//! They lie in a Workspace of their own that the agent can only read. Old ones go when a new one comes.

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

/// How long an output can be read.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long keeping one may take.
const LONGEST: Duration = Duration::from_secs(60);
/// The most outputs of an agent.
const MOST: usize = 200;

/// A file that nobody can name, for what is still being printed.
pub(crate) fn anonymous_file() -> Option<File> {
    rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC).ok().map(File::from)
}

/// Keeps an output, and tells where.
pub(crate) fn keep(cx: &Context<'_>, all: File) -> Option<LogicalPath> {
    keep_file(cx.policy(), cx.call(), all)
}

/// Keeps a text, and tells where.
pub(crate) fn keep_text(policy: &AgentPolicy, text: &str) -> Option<LogicalPath> {
    let mut file = anonymous_file()?;
    file.write_all(text.as_bytes()).ok()?;
    file.rewind().ok()?;
    let cancel = Cancel::default();
    let deadline = Instant::now() + LONGEST;
    keep_file(policy, &Call { id: CallId::next(), agent: &policy.agent, cancel: &cancel, deadline }, file)
}

fn keep_file(policy: &AgentPolicy, call: &Call<'_>, all: File) -> Option<LogicalPath> {
    let place = LogicalPath::parse(EVICTED, &LogicalPath::top()).ok()?;
    let vfs = policy.vfs.alone(&place, Arc::new(RecordingGate::new()))?;
    collect(call, &vfs, &place);
    let len = all.metadata().ok()?.len();
    let path = LogicalPath::parse(&format!("{EVICTED}/{}.txt", call.id), &place).ok()?;
    let staged = Staged::new(all, len, 0o644, SystemTime::now());
    let kept = Alteration { path: path.clone(), how: Alter::Take(staged), expect: Expect::Any };
    run(call, &vfs, Operation::Alter { path: path.clone(), alterations: vec![kept] })?;
    Some(path)
}

/// Removes what is old or too much. Names begin with the time they were made at.
fn collect(call: &Call<'_>, vfs: &Vfs, place: &LogicalPath) {
    let browse = Browse { path: place.clone(), depth: Some(1), skip_ignored: false, after: None, limit: 10 * MOST };
    let Some(Outcome::Entries(entries)) = run(call, vfs, Operation::List(browse)) else { return };
    let surplus = entries.found.len().saturating_sub(MOST);
    for (n, found) in entries.found.iter().enumerate() {
        let Ok(path) = LogicalPath::parse(&found.path, place) else { continue };
        if n < surplus || is_old(&path) {
            run(call, vfs, Operation::Delete { path, recursive: false });
        }
    }
}

fn is_old(path: &LogicalPath) -> bool {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let id = name.strip_suffix(".txt").and_then(CallId::parse);
    let made = id.map(|id| UNIX_EPOCH + Duration::from_millis(u64::try_from(id.0 >> 80).unwrap_or(0)));
    made.is_some_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age > KEPT_FOR))
}

fn run(call: &Call<'_>, vfs: &Vfs, operation: Operation) -> Option<Outcome> {
    let plan = vfs.plan(call, operation).ok()?;
    match vfs.ask(call, &Request::of_person("evict", Risk::Low), &plan).ok()? {
        Passed::Now(token) => vfs.run(call, plan, token).ok(),
        Passed::Parked(_) | Passed::Edited { .. } => None,
    }
}
