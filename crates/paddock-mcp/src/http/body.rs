//! Reading the body of a request: whole, bounded in length and in time.
//!
//! What is too long is read on without being kept, for a while: a client that is still sending would not hear the answer, and its id
//! may stand at the end.

use std::fmt::Display;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::Body;
use rmcp::model::RequestId;

use super::answers::Refusal;
use crate::id_finder::IdFinder;

/// What is shorter counts for nothing: connections are bounded elsewhere.
const SMALL: usize = 16 * 1024;
/// How many times the limit is passed over at most before the answer.
const PASSED_OVER: usize = 4;

/// What a message is, as far as the bounds are concerned.
pub(super) enum Message {
    /// Somebody waits for its answer.
    Call(RequestId),
    /// Its answer stays open.
    Stream(RequestId),
    /// A notification, or the answer to a question: always let in, since a call that is under way may wait for it.
    Word,
}

/// How much memory a body needs at most.
pub(super) fn weight(body: &impl Body, limit: usize) -> usize {
    let length = body.size_hint().upper().map_or(limit, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if length <= SMALL { 0 } else { length.min(limit) }
}

/// The whole body.
pub(super) async fn read<B>(body: B, limit: usize, time: Duration) -> Result<Bytes, Refusal>
where
    B: Body,
    B::Error: Display,
{
    tokio::time::timeout(time, collect(body, limit)).await.unwrap_or_else(|_| Err(Refusal::too_slow(time)))
}

async fn collect<B>(body: B, limit: usize) -> Result<Bytes, Refusal>
where
    B: Body,
    B::Error: Display,
{
    let mut body = pin!(body);
    let mut kept = BytesMut::new();
    let mut over: Option<IdFinder> = None;
    let mut length = 0usize;
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = frame.map_err(|error| {
            tracing::debug!(%error, "a body broke off");
            Refusal::broken_off()
        })?;
        let Ok(mut data) = frame.into_data() else { continue };
        length = length.saturating_add(data.remaining());
        if length > limit.saturating_mul(PASSED_OVER) {
            break;
        }
        if length > limit && over.is_none() {
            let mut finder = IdFinder::default();
            finder.feed(&std::mem::take(&mut kept));
            over = Some(finder);
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            match &mut over {
                Some(finder) => finder.feed(chunk),
                None => kept.extend_from_slice(chunk),
            }
            let passed = chunk.len();
            data.advance(passed);
        }
    }
    match over {
        Some(finder) => Err(Refusal::too_long(finder.id(), limit)),
        None => Ok(kept.freeze()),
    }
}
