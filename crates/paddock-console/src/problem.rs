//! Failures as HTTP answers: problem+json for programs, a page for people.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use paddock_desk::{Failure, FailureKind};
use schemars::JsonSchema;
use serde::Serialize;

/// A failure, as RFC 9457 has it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// What kind of problem, in a word for programs.
    #[serde(rename = "type")]
    kind: String,
    /// What kind of problem, in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What is wrong.
    detail: String,
    /// The one thing to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// More for programs: what exactly is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Box<serde_json::Value>>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &str, detail: &str, hint: Option<&str>) -> Self {
        Self {
            kind: format!("urn:paddock:{kind}"),
            title: status.canonical_reason().unwrap_or("problem").to_owned(),
            status: status.as_u16(),
            detail: detail.to_owned(),
            hint: hint.map(str::to_owned),
            details: None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}

/// The status of a failure.
pub(crate) fn status(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::Misused => StatusCode::BAD_REQUEST,
        FailureKind::Denied => StatusCode::FORBIDDEN,
        FailureKind::Missing => StatusCode::NOT_FOUND,
        FailureKind::Conflict => StatusCode::CONFLICT,
        FailureKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Failed => StatusCode::UNPROCESSABLE_ENTITY,
        FailureKind::Broken => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What the status of a problem says, in a few words for who reads the OpenAPI document.
pub(crate) fn meaning(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "it is not what this endpoint takes",
        401 => "nobody is signed in",
        403 => "whoever asks may not do this",
        404 => "there is no such thing",
        408 => "the body did not come in time",
        409 => "something else happened meanwhile, or stands in the way",
        412 => "it is another version",
        413 => "the body is too large, or broke off",
        415 => "the body is not said to be JSON",
        416 => "the file has none of those bytes",
        421 => "this server does not answer under that name",
        422 => "it was tried, and failed",
        500 => "the host or a database is at fault",
        503 => "as much as there may be is under way; later it can be done",
        _ => return None,
    })
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Self {
        let word = match failure.kind() {
            FailureKind::Misused => "misused",
            FailureKind::Denied => "denied",
            FailureKind::Missing => "missing",
            FailureKind::Conflict => "conflict",
            FailureKind::Busy => "busy",
            FailureKind::Failed => "failed",
            FailureKind::Broken => "broken",
        };
        let problem = Self::new(status(failure.kind()), word, failure.message(), failure.hint());
        Self { details: failure.details().cloned().map(Box::new), ..problem }
    }
}
