//! Writing a file under the conditions of the request, and taking one away.
//!
//! What is refused is refused before its content is taken. The rest waits in a file without a name, and is put in its place as one call when it is
//! whole: a connection that breaks off changes nothing.

use std::pin::Pin;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream as _;
use paddock_core::{Expect, Version};
use paddock_desk::files::{self, Changed, Receiving, Spot};
use paddock_desk::{Failure, FailureKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::OfFile;
use super::conditions::{Condition, tag};
use crate::connection::SILENCE;
use crate::endpoint::{Nothing, acting, path_of, query_of};
use crate::problem::Problem;
use crate::shared::{Shared, on_a_thread};

/// How much is gathered before it is written.
const PIECE: usize = 256 * 1024;
/// How much of what is refused is read all the same, so that a browser gets to see why.
const HEARD_OUT: u64 = 256 * 1024 * 1024;

/// How much goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HowDeleted {
    /// A directory with everything in it?
    #[serde(default)]
    recursive: bool,
}

pub(super) async fn file(State(shared): State<Shared>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut body = body.into_data_stream();
    match put(shared, &mut parts, &mut body).await {
        Ok(changed) => {
            let status = if changed.created { StatusCode::CREATED } else { StatusCode::OK };
            let mut response = (status, axum::Json(&changed)).into_response();
            let version = changed.version.as_deref().and_then(|version| HeaderValue::from_str(&tag(version)).ok());
            if let Some(version) = version {
                response.headers_mut().insert(header::ETAG, version);
            }
            response
        }
        Err(problem) => {
            if !parts.headers.contains_key(header::EXPECT) {
                hear_out(&mut body).await;
            }
            problem.into_response()
        }
    }
}

async fn put(shared: Shared, parts: &mut Parts, body: &mut BodyDataStream) -> Result<Changed, Problem> {
    let shared = acting(&shared, parts)?;
    let of: OfFile = path_of(parts).await?;
    let _: Nothing = query_of(parts)?;
    let condition = Condition::of(&parts.headers).map_err(|failure| Problem::from(&failure))?;
    if parts.headers.contains_key(header::CONTENT_RANGE) {
        let text = "a part of a file cannot be put";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "misused", text, Some("put all of it")));
    }
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse().ok());
    let conditional = condition != Condition::None;
    let begun = on_a_thread(move || {
        let spot = of.spot(&shared.desk)?;
        if of.path.ends_with('/') {
            return Err(Failure::misused("a file's name does not end in \"/\"", "name the file"));
        }
        let receiving = Receiving::begin(&shared.desk, &spot, announced)?;
        let expect = expected(&spot, &condition)?;
        Ok((spot, Incoming::new(receiving), expect))
    });
    let (spot, mut incoming, expect) = begun.await.map_err(|failure| told(&failure, conditional))?;
    while let Some(piece) = next(body).await? {
        incoming.push(&piece).await.map_err(|failure| Problem::from(&failure))?;
    }
    let received = incoming.whole().await.map_err(|failure| Problem::from(&failure))?;
    let done = on_a_thread(move || files::put(&spot, received, expect)).await;
    done.map_err(|failure| told(&failure, conditional))
}

/// A condition as the Store can hold it: against the version that is there now, under its own lock.
fn expected(spot: &Spot, condition: &Condition) -> Result<Expect, Failure> {
    if *condition == Condition::None {
        return Ok(Expect::Any);
    }
    let stale = |text: &str| Failure::of(FailureKind::Conflict, format!("{}: {text}", spot.path), "look at it again");
    let there = match files::stat(spot) {
        Ok(there) => Some(there),
        Err(failure) if failure.kind() == FailureKind::Missing => None,
        Err(failure) => return Err(failure),
    };
    let version = there.as_ref().and_then(|there| Version::parse(there.version.as_deref()?));
    match (condition, there, version) {
        (Condition::Absent, None, _) => Ok(Expect::Absent),
        (Condition::Absent, Some(_), _) => Err(stale("something is there already")),
        (Condition::Present, _, Some(version)) => Ok(Expect::Is(version)),
        (Condition::OneOf(wanted), _, Some(version)) if wanted.contains(&version) => Ok(Expect::Is(version)),
        (Condition::Present, ..) => Err(stale("there is no such file")),
        _ => Err(stale("it is another version")),
    }
}

/// A failure; where a condition was given, a conflict is that it does not hold.
fn told(failure: &Failure, conditional: bool) -> Problem {
    if conditional && failure.kind() == FailureKind::Conflict {
        let status = StatusCode::PRECONDITION_FAILED;
        return Problem::new(status, "precondition", failure.message(), failure.hint());
    }
    Problem::from(failure)
}

/// The next piece of a body.
pub(crate) async fn next(body: &mut BodyDataStream) -> Result<Option<Bytes>, Problem> {
    let piece = std::future::poll_fn(|context| Pin::new(&mut *body).poll_next(context));
    match tokio::time::timeout(SILENCE, piece).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(piece))) => Ok(Some(piece)),
        Ok(Some(Err(_))) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, "broken-off", "the content broke off", Some("send it again")))
        }
        Err(_) => {
            let text = "nothing came for too long";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", text, Some("send it again")))
        }
    }
}

/// Reads what is refused anyway: a browser that is still sending does not look for the answer.
async fn hear_out(body: &mut BodyDataStream) {
    let mut heard = 0;
    while heard < HEARD_OUT {
        match next(body).await {
            Ok(Some(piece)) => heard += piece.len() as u64,
            _ => return,
        }
    }
}

/// A content on its way in: gathered, and written on a thread of the pool, which is never held while the client is waited for.
pub(crate) struct Incoming {
    receiving: Option<Receiving>,
    gathered: Vec<u8>,
}

impl Incoming {
    pub(crate) fn new(receiving: Receiving) -> Self {
        Self { receiving: Some(receiving), gathered: Vec::new() }
    }

    pub(crate) async fn push(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.gathered.extend_from_slice(piece);
        if self.gathered.len() >= PIECE { self.write().await } else { Ok(()) }
    }

    pub(crate) async fn whole(mut self) -> Result<Receiving, Failure> {
        self.write().await?;
        self.receiving.ok_or_else(gone)
    }

    async fn write(&mut self) -> Result<(), Failure> {
        let (gathered, receiving) = (std::mem::take(&mut self.gathered), self.receiving.take());
        let mut receiving = receiving.ok_or_else(gone)?;
        let written = on_a_thread(move || receiving.push(&gathered).map(|()| receiving)).await?;
        self.receiving = Some(written);
        Ok(())
    }
}

fn gone() -> Failure {
    Failure::of(FailureKind::Broken, "what arrived could not be kept", "the log of `paddock serve` says why")
}

pub(super) async fn away(State(shared): State<Shared>, request: Request) -> Response {
    let (mut parts, _): (Parts, Body) = request.into_parts();
    match delete(shared, &mut parts).await {
        Ok(changed) => axum::Json(changed).into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn delete(shared: Shared, parts: &mut Parts) -> Result<Changed, Problem> {
    let shared = acting(&shared, parts)?;
    let of: OfFile = path_of(parts).await?;
    let how: HowDeleted = query_of(parts)?;
    let condition = Condition::of(&parts.headers).map_err(|failure| Problem::from(&failure))?;
    let conditional = condition != Condition::None;
    let done = on_a_thread(move || {
        let spot = of.spot(&shared.desk)?;
        let expect = match expected(&spot, &condition)? {
            Expect::Is(version) => Some(version),
            _ => None,
        };
        files::delete(&spot, how.recursive, expect)
    });
    done.await.map_err(|failure| told(&failure, conditional))
}
