//! Runs one call: at once where it is short, on a thread of the pool where it may take long.
//!
//! A call on a thread can be stopped by the client, and tells it how far it is when asked to. A short one can
//! neither: it is over before a message about it could be read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use paddock_core::{Cancel, Output};
use paddock_tools::{Answer, Control, PlainText, Toolbox};
use rmcp::ErrorData;
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::{Instant, MissedTickBehavior};

use crate::http::{end_of_session, session_of};

/// No call takes longer, whatever it looks at.
const LONGEST: Duration = Duration::from_secs(300);
/// How much longer than that its answer is waited for. A call that is past stopping for a while, such as one
/// in the middle of a very long line, must not keep the client.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often progress is told.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// Runs a short call where we are; gives back the arguments of any other. On a runtime of several threads the others go on meanwhile,
/// should it not be short after all: something may be mounted within a Mount, or lie where a link leads, that has a server to wait for, and
/// the look whether it is short waits for a configuration that was just changed.
pub(crate) fn at_once(
    toolbox: &Toolbox,
    name: &str,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<Answer, JsonObject> {
    let run = || match toolbox.is_quick(name, &arguments) {
        true => Ok(toolbox.call(name, arguments, &control(LONGEST, context))),
        false => Err(arguments),
    };
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(run),
        _ => run(),
    }
}

/// What a call is bound by. What a person decides for a session holds for the client's own, not for all that this process serves.
fn control(longest: Duration, context: &RequestContext<RoleServer>) -> Control {
    let mut control = Control::for_at_most(longest);
    if let Some(session) = session_of(&context.extensions) {
        session.clone_into(&mut control.requester.session);
    }
    control
}

/// Runs a call on a thread of the pool.
pub(crate) async fn on_a_thread(
    toolbox: &Toolbox,
    name: String,
    arguments: JsonObject,
    context: RequestContext<RoleServer>,
) -> Result<Answer, ErrorData> {
    let longest = toolbox.longest(&name, LONGEST);
    let mut control = control(longest, &context);
    let cancel = Arc::clone(&control.cancel);
    let heard = Arc::new(Heard::default());
    let listening = Arc::clone(&heard);
    control.listener = Some(Arc::new(move |piece| listening.take(piece)));
    let toolbox = toolbox.clone();
    let work = tokio::task::spawn_blocking(move || toolbox.call(&name, arguments, &control));
    let _stopped_with_us = StopOnDrop(Arc::clone(&cancel));
    let token = context.meta.get_progress_token();
    let answer = tokio::select! {
        answer = work => answer,
        never = follow(&context, token, &cancel, &heard) => match never {},
        () = tokio::time::sleep(longest + PATIENCE) => {
            return Err(ErrorData::internal_error("the call ran out of time", None));
        }
    };
    answer.map_err(|error| {
        tracing::error!(%error, "a call did not come back");
        ErrorData::internal_error("the call could not be finished", None)
    })
}

/// What a command printed since it was last told.
#[derive(Default)]
struct Heard {
    text: Mutex<(Vec<u8>, PlainText)>,
    bytes: AtomicU64,
}

impl Heard {
    /// The most that is told at once: the end of it.
    const MOST: usize = 4096;

    fn take(&self, piece: Output<'_>) {
        let (Output::Out(bytes) | Output::Err(bytes)) = piece;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let mut heard = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, plain) = &mut *heard;
        plain.clean(bytes, text);
        let surplus = text.len().saturating_sub(Self::MOST);
        text.drain(..surplus);
    }

    fn text(&self) -> String {
        let mut heard = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut heard.0)).into_owned()
    }
}

/// However the call is left, nothing goes on working for it.
struct StopOnDrop(Arc<Cancel>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Stops the call when the client gives it up, and tells how far it is until then. Never ends by itself.
async fn follow(
    context: &RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    cancel: &Cancel,
    heard: &Heard,
) -> std::convert::Infallible {
    let telling = async {
        match token {
            Some(token) => tell_progress(&context.peer, token, cancel, heard).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = context.ct.cancelled() => cancel.stop(),
        // rmcp would let it go on for a while.
        () = end_of_session(&context.extensions) => cancel.stop(),
        () = telling => {}
    }
    std::future::pending().await
}

/// Tells progress whenever there was some, until the client is gone.
async fn tell_progress(peer: &Peer<RoleServer>, token: ProgressToken, cancel: &Cancel, heard: &Heard) {
    let mut ticks = tokio::time::interval_at(Instant::now() + TOLD_EVERY, TOLD_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = 0;
    loop {
        ticks.tick().await;
        let printed = heard.text();
        let seen = cancel.seen().max(heard.bytes.load(Ordering::Relaxed));
        if seen <= told {
            continue;
        }
        told = seen;
        #[expect(clippy::cast_precision_loss, reason = "a count of files is far below 2^53")]
        let mut progress = ProgressNotificationParam::new(token.clone(), seen as f64);
        progress.message = Some(if printed.is_empty() { format!("looked at {seen}") } else { printed });
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}
