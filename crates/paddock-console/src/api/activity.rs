//! What every call asked for and what became of it.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_core::Stream;
use paddock_desk::FailureKind::{Busy, Missing};
use paddock_desk::activity::{self, Act, CallStory, Hour, Verified, Wanted};
use paddock_desk::{Failure, Result, at_once};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::endpoint::{Answers, Asked, Endpoint, Nothing, json, query_of, raw};
use crate::outflow::Outlet;
use crate::shared::Shared;

/// How much is sent at once.
const PIECE: usize = 64 * 1024;
/// How many pieces wait for a slow reader.
const AHEAD: usize = 2;

/// Which call.
#[derive(Debug, Deserialize, JsonSchema)]
struct Id {
    /// Its id.
    id: String,
}

/// How far back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Back {
    /// How many hours, up to 744; 24 where nobody says.
    #[serde(default)]
    hours: Option<u64>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/audit", "The rows of the audit that fit", query).failing(&[Missing]),
        json(Method::GET, "/api/v1/audit/hours", "How many calls ended how, hour by hour", hours),
        json(Method::POST, "/api/v1/audit/verify", "Is the audit as it was written?", verify),
        raw::<Nothing, Nothing>(
            Method::GET,
            "/api/v1/audit/export",
            "Every row, one line of JSON each",
            Answers::Other("application/x-ndjson"),
            get(export),
        )
        .failing(&[Busy]),
        json(Method::GET, "/api/v1/audit/calls/{id}", "Everything about one call", call),
    ]
}

fn query(asked: &Asked<Nothing, Wanted>) -> Result<Vec<Act>> {
    let limit = Some(at_once(asked.query.limit, activity::USUAL, activity::MOST)?);
    activity::query(&asked.shared.desk, &Wanted { limit, ..asked.query.clone() })
}

fn hours(asked: &Asked<Nothing, Back>) -> Result<Vec<Hour>> {
    activity::hours(&asked.shared.desk, asked.query.hours.unwrap_or(24))
}

fn verify(asked: &Asked) -> Result<Verified> {
    activity::verify(&asked.shared.desk)
}

fn call(asked: &Asked<Id>) -> Result<CallStory> {
    activity::call(&asked.shared.desk, &asked.path.id)
}

/// Streams the audit; it is never in memory as a whole.
pub(crate) async fn export(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(problem) = query_of::<Nothing>(&parts) {
        return problem.into_response();
    }
    let reading = shared.clone();
    let feed = move |to| {
        let mut out = Pieces { to, waiting: Vec::new() };
        if let Err(failure) = activity::export(&reading.desk, &mut out) {
            out.breaks_off(&failure);
        }
    };
    let receiver = match shared.outflow.begin(AHEAD, feed) {
        Ok(receiver) => receiver,
        Err(too_many) => return too_many.into_response(),
    };
    let name = "attachment; filename=\"paddock-audit.jsonl\"";
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CONTENT_DISPOSITION, name)];
    (headers, Body::from_stream(Taken(receiver))).into_response()
}

/// Hands on what is written, piece by piece, as fast as it is taken.
struct Pieces {
    to: Outlet<io::Result<Bytes>>,
    waiting: Vec<u8>,
}

impl Pieces {
    /// Whoever takes it must see that it is not whole.
    fn breaks_off(&self, failure: &Failure) {
        tracing::warn!(failure = failure.message(), "an export of the audit broke off");
        let _ = self.to.send(Err(io::ErrorKind::Other.into()));
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.waiting) {
            nothing if nothing.is_empty() => Ok(()),
            piece => self.to.send(Ok(piece.into())),
        }
    }
}

/// A channel as the stream that axum sends.
struct Taken(mpsc::Receiver<io::Result<Bytes>>);

impl Stream for Taken {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}
