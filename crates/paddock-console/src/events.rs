//! What happens, as it happens: every row of the audit, whichever process wrote it, as a stream of server-sent events.
//!
//! The audit is the stream: an event's id says how far its reader has seen the audit, so whoever comes back with it goes on exactly there, also
//! after the server was killed. One thread looks for new rows and hands them to all readers; a reader who falls behind is not
//! waited for, but reads what it missed from the audit itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use paddock_desk::{Failure, Result, moment, past};
use paddock_ledger::audit::{AuditLog, Follow, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc};

use crate::guard::Key;
use crate::problem::Problem;
use crate::shared::{Shared, on_a_thread};

/// How often the audit is looked at while somebody listens, and while nobody does.
const WHILE_HEARD: Duration = Duration::from_millis(150);
const WHILE_UNHEARD: Duration = Duration::from_millis(1000);
/// How long a silent stream is left without a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// How many batches a reader may be behind before it has to read them itself.
const BEHIND: usize = 256;
/// The most readers at once.
const READERS: usize = 4096;

/// An event, as it is sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Event {
    /// What happened: `act`, or `approval-waiting`.
    kind: &'static str,
    /// Which parts of the console it concerns.
    topics: Vec<&'static str>,
    /// The call.
    call: String,
    /// When.
    at: String,
    /// Who.
    agent: String,
    /// The tool, or the command of a person.
    tool: String,
    /// The Workspace.
    workspace: Option<String>,
    /// The path.
    path: String,
    /// What became of it.
    outcome: String,
    /// In words.
    title: String,
    /// Where the console shows it.
    href: String,
}

/// A batch, ready to be sent, and the mark behind it.
#[derive(Debug, Clone)]
struct Batch {
    text: Bytes,
}

/// Looks for new rows and hands them on.
pub(crate) struct Hub {
    audit: Arc<AuditLog>,
    seen: Mutex<Follow>,
    news: broadcast::Sender<Batch>,
    readers: Arc<AtomicUsize>,
    /// The thread that looks.
    looks: OnceLock<Thread>,
}

impl Hub {
    /// One that looks from now on.
    pub(crate) fn start(audit: Arc<AuditLog>) -> Result<Arc<Self>> {
        let seen = Mutex::new(audit.follow().map_err(past::audit_problem)?);
        let hub = Arc::new(Self {
            audit,
            seen,
            news: broadcast::Sender::new(BEHIND),
            readers: Arc::default(),
            looks: OnceLock::new(),
        });
        let looking = Arc::downgrade(&hub);
        let look = move || {
            while let Some(hub) = looking.upgrade() {
                hub.look();
                let pause = if hub.news.receiver_count() > 0 { WHILE_HEARD } else { WHILE_UNHEARD };
                drop(hub);
                std::thread::park_timeout(pause);
            }
        };
        let thread = std::thread::Builder::new().name("paddock-events".to_owned()).spawn(look)?;
        let _ = hub.looks.set(thread.thread().clone());
        Ok(hub)
    }

    /// How far the newest event goes. What is read after this is asked is at least as new.
    pub(crate) fn mark(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).mark()
    }

    /// How many listen.
    pub(crate) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    fn look(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.clone();
        match self.audit.poll(&mut seen) {
            Ok(rows) if rows.is_empty() => {}
            Ok(rows) => {
                let text = frames(before, rows, |_| true);
                // Sent while the mark is held: a reader that comes now finds it either in the stream or before its mark.
                let _ = self.news.send(Batch { text });
            }
            Err(error) => tracing::warn!(%error, "the audit could not be looked at"),
        }
    }

    /// What came after a mark, up to now, everything from now on, and how far that is.
    fn join(&self, after: Option<Follow>) -> Result<(Bytes, broadcast::Receiver<Batch>, Follow)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let news = self.news.subscribe();
        let now = seen.clone();
        drop(seen);
        // Somebody listens from now on, so that it is looked more often.
        self.looks.get().map(Thread::unpark);
        let Some(after) = after else { return Ok((Bytes::new(), news, now)) };
        let mut follow = after.clone();
        let rows = self.audit.poll(&mut follow).map_err(past::audit_problem)?;
        Ok((frames(after, rows, |row| now.has_seen(row)), news, now))
    }
}

/// Rows as they are sent, each with the mark behind it.
fn frames(mut mark: Follow, mut rows: Vec<Row>, wanted: impl Fn(&Row) -> bool) -> Bytes {
    rows.sort_by_key(|row| (row.chain, row.seq));
    let mut text = String::new();
    for row in rows.iter().filter(|row| wanted(row)) {
        mark.note(row);
        let Some(event) = event(row) else { continue };
        let data = serde_json::to_string(&event).unwrap_or_default();
        text.push_str(&format!("id: {}\nevent: {}\ndata: {data}\n\n", mark.mark(), event.topics[0]));
    }
    text.into()
}

/// A row as an event; the intent of a call is none, its end is.
fn event(row: &Row) -> Option<Event> {
    if row.outcome.is_empty() {
        return None;
    }
    let call = row.call.to_string();
    let waits = row.outcome == "parked" || row.outcome == "waiting";
    Some(Event {
        kind: if waits { "approval-waiting" } else { "act" },
        topics: topics(row, waits),
        at: moment::exact(moment::of_millis(row.at)),
        agent: row.agent.clone(),
        tool: row.tool.clone(),
        workspace: row.workspace.clone(),
        path: row.path.clone(),
        outcome: row.outcome.clone(),
        title: format!("{} {}", paddock_core::visible(&row.tool), paddock_core::visible(&row.path)),
        href: if waits { "/approvals".to_owned() } else { format!("/activity/{call}") },
        call,
    })
}

/// What of the console shows a row, the most particular first.
fn topics(row: &Row, waits: bool) -> Vec<&'static str> {
    let word = row.tool.split(' ').next().unwrap_or_default();
    let particular: &[&'static str] = match word {
        _ if waits => &["approvals", "threads"],
        "approvals" => &["approvals", "files", "threads"],
        "fork" | "discard" => &["forks", "files"],
        "apply" => &["forks", "files", "projects"],
        "new" | "import" | "publish" | "share" => &["projects", "files"],
        "token" | "grant" | "config" => &["settings"],
        "run" | "resume" | "threads" => &["threads", "instances"],
        "instance" => &["instances"],
        _ => &["files"],
    };
    particular.iter().copied().chain(["activity", "overview"]).collect()
}

/// What the stream takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct After {
    /// The id of the last event that was seen; the header `Last-Event-ID` says the same.
    #[serde(default)]
    after: Option<String>,
}

/// The stream.
pub(crate) async fn stream(
    State(shared): State<Shared>,
    Extension(key): Extension<Key>,
    headers: HeaderMap,
    after: Result<Query<After>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(after)) = after else {
        let failure = Failure::misused("the stream takes `after` and nothing else", "leave the rest out");
        return Problem::from(&failure).into_response();
    };
    let hub = Arc::clone(&shared.hub);
    let Some(reader) = Reader::of(&hub.readers, READERS) else {
        let text = "too many listen already";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many", text, None).into_response();
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned).or(after.after);
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let _reader = reader;
        // It is open no longer than the door that it came through.
        tokio::select! {
            () = tell(&hub, last, &sender) => {}
            () = key.until_it_ends(&shared) => {}
            () = shared.ends() => {}
        }
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(Told(receiver))).into_response()
}

/// One of those who listen, for as long as it lives.
struct Reader(Arc<AtomicUsize>);

impl Reader {
    /// Nothing where `most` listen already.
    fn of(readers: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let taken = readers.fetch_add(1, Ordering::Relaxed);
        let reader = Self(Arc::clone(readers));
        (taken < most).then_some(reader)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells one reader everything, until it goes away.
async fn tell(hub: &Arc<Hub>, last: Option<String>, to: &mpsc::Sender<Bytes>) {
    let mut mark = last.as_deref().and_then(Follow::behind);
    // One who comes with a mark that is none has to look at everything anew.
    let mut greeting =
        if last.is_some() && mark.is_none() { "event: reset\ndata: {}\n\n" } else { ": here\n\n" }.to_owned();
    loop {
        let (joining, from) = (Arc::clone(hub), mark.clone());
        let Ok((missed, mut news, now)) = on_a_thread(move || joining.join(from)).await else { return };
        if mark.is_none() {
            // Also who has seen no event yet knows where to go on.
            greeting.push_str(&format!("id: {}\n\n", now.mark()));
        }
        mark = Some(now);
        let first = Bytes::from(std::mem::take(&mut greeting));
        for told in [first, missed].into_iter().filter(|told| !told.is_empty()) {
            if to.send(told).await.is_err() {
                return;
            }
        }
        loop {
            let told = tokio::select! {
                told = news.recv() => told,
                () = tokio::time::sleep(SIGN_OF_LIFE) => {
                    if to.send(Bytes::from_static(b": still here\n\n")).await.is_err() { return }
                    continue;
                }
                () = to.closed() => return,
            };
            match told {
                Ok(batch) => {
                    mark = last_mark(&batch.text).or(mark);
                    if !batch.text.is_empty() && to.send(batch.text).await.is_err() {
                        return;
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => break,
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
        // Behind: what was missed is read from the audit.
    }
}

/// The mark behind the last event of a text.
fn last_mark(text: &[u8]) -> Option<Follow> {
    let text = std::str::from_utf8(text).ok()?;
    let line = text.rsplit("id: ").next()?.lines().next()?;
    Follow::behind(line)
}

/// A channel as the stream that axum sends.
struct Told(mpsc::Receiver<Bytes>);

impl Stream for Told {
    type Item = std::result::Result<Bytes, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|told| told.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_listen_at_once_and_a_place_comes_free() {
        let readers = Arc::default();
        let here: Vec<Option<Reader>> = (0..3).map(|_| Reader::of(&readers, 2)).collect();
        assert_eq!(here.iter().flatten().count(), 2);
        drop(here);
        assert!(Reader::of(&readers, 2).is_some());
        assert_eq!(readers.load(Ordering::Relaxed), 0);
    }
}
