//! Instances and their conversations.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_core::Stream;
use paddock_desk::FailureKind::{Busy, Conflict};
use paddock_desk::instances::{
    self, ClearedOrDeleted, InstanceDetail, InstanceListing, InstancesAsked, MessageShown, RepairShown, Restarted,
};
use paddock_desk::{Failure, FailureKind, Result, at_once};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

use crate::endpoint::{self, Answers, Asked, Endpoint, Nothing, json, raw};
use crate::outflow::Outlet;
use crate::problem::Problem;
use crate::shared::Shared;

/// As many as a page has where nothing is said.
const A_PAGE: usize = 50;
/// As much of an export is put together before it is sent.
const PIECE: usize = 64 * 1024;
/// How many pieces wait for a slow reader.
const AHEAD: usize = 2;

/// Which instance.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Key {
    /// Its key.
    pub(crate) key: String,
}

/// Which part of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Behind {
    /// Those behind the first so many.
    #[serde(default)]
    after: Option<u64>,
    /// The most: up to 200.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
}

/// What is to be done with a damaged conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Repair {
    /// Put what can be kept in the place of the damaged conversation?
    #[serde(default)]
    apply: bool,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        json(Method::GET, "/api/v1/instances", "The instances there are, the last changed first", list),
        json(Method::GET, "/api/v1/instances/{key}", "What is known of an instance", show),
        json(Method::DELETE, "/api/v1/instances/{key}", "Remove an instance with its messages and states", delete)
            .failing(&[Conflict]),
        json(Method::GET, "/api/v1/instances/{key}/messages", "Messages of an instance, in order", messages),
        json(
            Method::POST,
            "/api/v1/instances/{key}/restart",
            "End a turn that was cut off, keeping what it said",
            restart,
        )
        .failing(&[Conflict]),
        json(
            Method::POST,
            "/api/v1/instances/{key}/clear",
            "Let an instance begin anew, without its messages and states",
            clear,
        )
        .failing(&[Conflict]),
        json(Method::POST, "/api/v1/instances/{key}/repair", "What can be kept of a damaged conversation", repair)
            .failing(&[Conflict]),
        raw::<Key, Nothing>(
            Method::GET,
            "/api/v1/instances/{key}/export",
            "Every message, one per line, as `paddock instance import` takes them",
            Answers::Other("application/x-ndjson"),
            get(export),
        )
        .failing(&[Busy]),
    ]
}

fn list(asked: &Asked<Nothing, InstancesAsked>) -> Result<InstanceListing> {
    let limit = Some(at_once(asked.query.limit, A_PAGE, instances::MOST)?);
    instances::list(&asked.shared.desk, &InstancesAsked { limit, ..asked.query.clone() })
}

fn show(asked: &Asked<Key>) -> Result<InstanceDetail> {
    instances::show(&asked.shared.desk, &asked.path.key)
}

fn messages(asked: &Asked<Key, Behind>) -> Result<Vec<MessageShown>> {
    let limit = at_once(asked.query.limit, A_PAGE, instances::MOST)?;
    instances::messages(&asked.shared.desk, &asked.path.key, asked.query.after.unwrap_or(0), limit)
}

fn restart(asked: &Asked<Key>) -> Result<Restarted> {
    instances::restart(&asked.shared.desk, &asked.path.key)
}

fn clear(asked: &Asked<Key>) -> Result<ClearedOrDeleted> {
    instances::clear(&asked.shared.desk, &asked.path.key)
}

fn delete(asked: &Asked<Key>) -> Result<ClearedOrDeleted> {
    instances::delete(&asked.shared.desk, &asked.path.key)
}

fn repair(asked: &Asked<Key, Nothing, Repair>) -> Result<RepairShown> {
    instances::repair(&asked.shared.desk, &asked.path.key, asked.body.apply)
}

/// Sends a conversation as it is read: no more of it than a piece is in memory.
pub(crate) async fn export(State(shared): State<Shared>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let asked = endpoint::path_of::<Key>(&mut parts).await;
    let asked = asked.and_then(|path| endpoint::query_of::<Nothing>(&parts).map(|_| path.key));
    let key = match asked {
        Ok(key) => key,
        Err(problem) => return problem.into_response(),
    };
    let (begun, beginning) = oneshot::channel();
    let name = key.clone();
    let reading = shared.clone();
    let pieces = match shared.outflow.begin(AHEAD, move |outlet| give_out(&reading, &key, begun, &outlet)) {
        Ok(pieces) => pieces,
        Err(too_many) => return too_many.into_response(),
    };
    match beginning.await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => return Problem::from(&failure).into_response(),
        Err(_) => {
            let failure = Failure::of(FailureKind::Broken, "it broke off", "the log of `paddock serve` says why");
            return Problem::from(&failure).into_response();
        }
    }
    let file: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}.jsonl\"")),
    ];
    (headers, Body::from_stream(Pieces(pieces))).into_response()
}

type Begun = oneshot::Sender<Result<()>>;

/// Whether it can be read is told before its first piece; what breaks off later ends the stream without its end.
fn give_out(shared: &Shared, key: &str, begun: Begun, outlet: &Outlet<std::io::Result<Bytes>>) {
    if let Err(failure) = instances::show(&shared.desk, key) {
        let _ = begun.send(Err(failure));
        return;
    }
    let _ = begun.send(Ok(()));
    let (mut piece, mut left) = (Vec::new(), false);
    let read = instances::each_message(&shared.desk, key, &mut |message| {
        if left || serde_json::to_writer(&mut piece, &message).is_err() {
            return;
        }
        piece.push(b'\n');
        if piece.len() >= PIECE {
            left = outlet.send(Ok(std::mem::take(&mut piece).into())).is_err();
        }
    });
    if left {
        return;
    }
    let last = match read {
        Ok(_) => Ok(piece.into()),
        Err(failure) => Err(std::io::Error::other(failure.message().to_owned())),
    };
    let _ = outlet.send(last);
}

/// Pieces as they come.
struct Pieces(mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl Stream for Pieces {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
