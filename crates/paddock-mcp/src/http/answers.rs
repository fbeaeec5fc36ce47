//! Answers as they leave: those of rmcp, which hold what their request took until they were sent, and refusals of our own.
//!
//! A refusal is JSON-RPC too, so that a client can show its agent why.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId, ServerJsonRpcMessage};

use super::load::Load;

/// The body of an answer.
pub type AnswerBody = BoxBody<Bytes, Infallible>;
pub(super) type Answer = Response<AnswerBody>;

/// After how many seconds a client that was too much may try again.
const TRY_AGAIN: &str = "1";
/// The code of what JSON-RPC has no code for.
const REFUSED: ErrorCode = ErrorCode(-32000);

/// Why a request is not served.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    id: Option<RequestId>,
    error: ErrorData,
}

impl Refusal {
    fn new(status: StatusCode, id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, id, error: ErrorData::new(code, message.into(), None) }
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, None, REFUSED, "a token is needed: send \"Authorization: Bearer TOKEN\"")
    }

    pub(super) fn ending(id: Option<RequestId>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, id, REFUSED, "the server is about to end")
    }

    pub(super) fn busy(id: Option<RequestId>) -> Self {
        let message = "the server is busy with many large messages; try again in a moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, id, REFUSED, message)
    }

    pub(super) fn too_much(id: Option<RequestId>) -> Self {
        let message = "too many large messages of this token are under way; try again in a moment";
        Self::new(StatusCode::TOO_MANY_REQUESTS, id, REFUSED, message)
    }

    pub(super) fn too_many(id: RequestId) -> Self {
        let message = "too many calls of this token are under way; try again in a moment";
        Self::new(StatusCode::TOO_MANY_REQUESTS, Some(id), REFUSED, message)
    }

    pub(super) fn too_many_streams(id: Option<RequestId>) -> Self {
        let message = "too many streams of this token are open; close one, or try again later";
        Self::new(StatusCode::TOO_MANY_REQUESTS, id, REFUSED, message)
    }

    pub(super) fn too_long(id: Option<RequestId>, limit: usize) -> Self {
        let message =
            format!("the message is over the limit of {}; write large files in parts with append_file", size(limit));
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, id, ErrorCode::INVALID_REQUEST, message)
    }

    pub(super) fn too_slow(time: Duration) -> Self {
        let message = format!("the message did not come in within {} s", time.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, None, ErrorCode::INVALID_REQUEST, message)
    }

    pub(super) fn broken_off() -> Self {
        Self::new(StatusCode::BAD_REQUEST, None, ErrorCode::INVALID_REQUEST, "the message broke off")
    }

    pub(super) fn unreadable(id: Option<RequestId>, error: ErrorData) -> Self {
        Self { status: StatusCode::BAD_REQUEST, id, error }
    }

    pub(super) fn no_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, None, REFUSED, "there is no such session of this token")
    }

    pub(super) fn no_message() -> Self {
        let message = "the body is not one JSON-RPC 2.0 message as MCP defines it";
        Self::new(StatusCode::BAD_REQUEST, None, ErrorCode::PARSE_ERROR, message)
    }

    pub(super) fn into_answer(self) -> Answer {
        let status = self.status;
        let message = ServerJsonRpcMessage::error(self.error, self.id);
        let mut answer = Response::new(Full::new(serde_json::to_vec(&message).unwrap_or_default().into()).boxed());
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match status {
            StatusCode::UNAUTHORIZED => headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static(TRY_AGAIN))
            }
            _ => None,
        };
        answer
    }
}

fn size(bytes: usize) -> String {
    const MIB: usize = 1024 * 1024;
    if bytes >= MIB { format!("{} MiB", bytes / MIB) } else { format!("{bytes} bytes") }
}

/// The answer to the end of a session. rmcp says "accepted", which some clients take for a failure: there is nothing left to do.
pub(super) fn ended(mut answer: Answer) -> Answer {
    if answer.status() == StatusCode::ACCEPTED {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    answer
}

/// The answer, holding what its request took until it was sent or given up.
pub(super) fn holding(answer: Answer, load: Load) -> Answer {
    answer.map(|inner| Holding { inner, _load: load }.boxed())
}

struct Holding {
    inner: AnswerBody,
    _load: Load,
}

impl Body for Holding {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
