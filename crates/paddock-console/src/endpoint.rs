//! The API's endpoints as rows: from one row come the route, the reading of what is asked, and its part of the OpenAPI document.
//!
//! What runs is an ordinary function of the desk's world: it gets what was asked, strictly read, and answers a value or a `Failure`. It runs on
//! a thread of the pool, since it may wait for a disk. So no endpoint can forget to be documented, to refuse unknown parameters, or to
//! answer a problem as one.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter, on};
use paddock_desk::{Failure, FailureKind, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::guard;
use crate::problem::{self, Problem};
use crate::shared::{Shared, Who, on_a_thread};

/// The largest body of a request that is no file.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
/// How long a body that is no file may take.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// What a body that is not said to be JSON gets.
const NO_JSON: StatusCode = StatusCode::UNSUPPORTED_MEDIA_TYPE;

/// Where nothing is asked, or nothing answered.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// What was asked.
pub(crate) struct Asked<P = Nothing, Q = Nothing, B = Nothing> {
    pub(crate) shared: Shared,
    pub(crate) who: Who,
    pub(crate) path: P,
    pub(crate) query: Q,
    pub(crate) body: B,
    /// Is anybody still waiting for the answer?
    pub(crate) waits: Waits,
}

/// Whether whoever asked still waits: what takes long looks at it, and stops.
#[derive(Debug, Clone)]
pub(crate) struct Waits(Weak<()>);

impl Waits {
    pub(crate) fn still(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl<P, Q, B> Asked<P, Q, B> {
    /// Refuses a program: a token that could make others, or widen the policy, would have no bounds of its own.
    pub(crate) fn by_a_person(&self, command: &str) -> Result<()> {
        match self.who {
            Who::Person => Ok(()),
            Who::Program(_) => Err(Failure::of(
                FailureKind::Denied,
                "a token may not do this",
                format!("a person does it in the console, or with `{command}`"),
            )),
        }
    }
}

/// A part of a request.
pub(crate) trait Part: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Part for T {}

/// What an endpoint answers.
pub(crate) enum Answers {
    /// A value, as JSON.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Nothing but that it is done.
    Done,
    /// Something else, of this content type.
    Other(&'static str),
}

/// One row.
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    /// The idea that it belongs to.
    pub(crate) tag: &'static str,
    /// As axum writes it.
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) path_schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) query_schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) body_schema: Option<fn(&mut SchemaGenerator) -> Schema>,
    /// The headers that are listened to, each with what it means.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The body is a file, not JSON.
    pub(crate) takes_file: bool,
    /// Further statuses that are no problem.
    pub(crate) also: &'static [u16],
    /// How it can fail, beyond what every endpoint can and what its path and body say.
    pub(crate) fails: &'static [FailureKind],
    /// Further statuses of problems, that are no kind of failure.
    pub(crate) refuses: &'static [u16],
    /// A body is taken into memory first, also one that nobody asked for.
    pub(crate) reads_body: bool,
    pub(crate) answers: Answers,
    pub(crate) router: MethodRouter<Shared>,
}

impl Endpoint {
    /// It can fail like this.
    pub(crate) fn failing(self, fails: &'static [FailureKind]) -> Self {
        Self { fails, ..self }
    }

    /// The status of every problem that it can answer.
    pub(crate) fn problems(&self) -> BTreeSet<u16> {
        let mut found = BTreeSet::from(guard::PROBLEMS.map(|status| status.as_u16()));
        // The doors and everything behind them are in a database, and no parameter is read that is not known.
        let everywhere = [FailureKind::Misused, FailureKind::Failed, FailureKind::Broken];
        let of_names = self.path.contains('{').then_some(FailureKind::Missing);
        let kinds = everywhere.iter().chain(&of_names).chain(self.fails);
        found.extend(kinds.map(|kind| problem::status(*kind).as_u16()));
        if self.reads_body {
            found.extend([Unread::TooLarge, Unread::TooSlow].map(|unread| unread.status().as_u16()));
        }
        if self.takes_file {
            found.insert(Unread::TooSlow.status().as_u16());
        }
        if self.body_schema.is_some() {
            found.insert(NO_JSON.as_u16());
        }
        found.extend(self.refuses);
        found
    }
}

/// An endpoint that answers JSON.
pub(crate) fn json<P: Part, Q: Part, B: Part, A: Serialize + JsonSchema + Send + 'static>(
    method: Method,
    path: &'static str,
    summary: &'static str,
    run: fn(&Asked<P, Q, B>) -> Result<A>,
) -> Endpoint {
    let is_done = TypeId::of::<A>() == TypeId::of::<Nothing>();
    let handler = move |State(shared): State<Shared>, request: Request| async move {
        match answered(shared, request, run).await {
            Ok(_) if is_done => StatusCode::NO_CONTENT.into_response(),
            Ok(answer) => axum::Json(answer).into_response(),
            Err(problem) => problem.into_response(),
        }
    };
    let asks_body = TypeId::of::<B>() != TypeId::of::<Nothing>();
    Endpoint {
        router: on(filter(&method), handler),
        method,
        tag: "",
        path,
        summary,
        path_schema: schema_of::<P>,
        query_schema: schema_of::<Q>,
        body_schema: asks_body.then_some(schema_of::<B> as fn(&mut SchemaGenerator) -> Schema),
        headers: &[],
        takes_file: false,
        also: &[],
        fails: &[],
        refuses: &[],
        reads_body: true,
        answers: if is_done { Answers::Done } else { Answers::Json(schema_of::<A>) },
    }
}

/// An endpoint whose answer is no JSON, or whose body is a file: the handler does the reading itself.
pub(crate) fn raw<P: Part, Q: Part>(
    method: Method,
    path: &'static str,
    summary: &'static str,
    answers: Answers,
    router: MethodRouter<Shared>,
) -> Endpoint {
    Endpoint {
        method,
        tag: "",
        path,
        summary,
        path_schema: schema_of::<P>,
        query_schema: schema_of::<Q>,
        body_schema: None,
        headers: &[],
        takes_file: false,
        also: &[],
        fails: &[],
        refuses: &[],
        reads_body: false,
        answers,
        router,
    }
}

fn filter(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET)
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

async fn answered<P: Part, Q: Part, B: Part, A: Send + 'static>(
    shared: Shared,
    request: Request,
    run: fn(&Asked<P, Q, B>) -> Result<A>,
) -> Result<A, Problem> {
    let (mut parts, body) = request.into_parts();
    let path = path_of::<P>(&mut parts).await?;
    let query = query_of::<Q>(&parts)?;
    let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| {
        kind.to_str().is_ok_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json"))
    });
    let body = body_of::<B>(is_json, body).await?;
    let who = who(&parts)?;
    let shared = shared.acted_by(&who);
    // Let go of with this future, which ends when the connection does.
    let here = Arc::new(());
    let asked = Asked { shared, who, path, query, body, waits: Waits(Arc::downgrade(&here)) };
    let answer = on_a_thread(move || run(&asked)).await.map_err(|failure| Problem::from(&failure));
    drop(here);
    answer
}

/// Who asks, as the guard found.
pub(crate) fn who(parts: &axum::http::request::Parts) -> Result<Who, Problem> {
    parts.extensions.get::<Who>().cloned().ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "signed-out", "nobody is signed in", Some("run `paddock login`"))
    })
}

/// What is shared, with who asks at the desk.
pub(crate) fn acting(shared: &Shared, parts: &axum::http::request::Parts) -> Result<Shared, Problem> {
    who(parts).map(|who| shared.acted_by(&who))
}

/// The parameters in the path.
pub(crate) async fn path_of<P: Part>(parts: &mut axum::http::request::Parts) -> Result<P, Problem> {
    let read = Path::<P>::from_request_parts(parts, &()).await;
    match read {
        Ok(Path(path)) => Ok(path),
        // A path without parameters has nothing to read them from.
        Err(PathRejection::MissingPathParams(_)) => {
            serde_json::from_value(serde_json::json!({})).map_err(|error| misread("the path", &error))
        }
        Err(error) => Err(misread("the path", &error)),
    }
}

/// The parameters behind the question mark.
pub(crate) fn query_of<Q: Part>(parts: &axum::http::request::Parts) -> Result<Q, Problem> {
    Query::<Q>::try_from_uri(&parts.uri).map(|Query(query)| query).map_err(|error| misread("the query", &error))
}

async fn body_of<B: Part>(is_json: bool, body: Body) -> Result<B, Problem> {
    let asks_body = TypeId::of::<B>() != TypeId::of::<Nothing>();
    let bytes = whole(body, LARGEST_BODY).await.map_err(|unread| unread.problem(LARGEST_BODY))?;
    if !asks_body {
        return serde_json::from_str("{}").map_err(|error| misread("the body", &error));
    }
    if !is_json {
        let text = "the body has to be JSON, said by Content-Type: application/json";
        return Err(Problem::new(NO_JSON, "no-json", text, None));
    }
    serde_json::from_slice(&bytes).map_err(|error| misread("the body", &error))
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unread {
    /// Larger than it may be, or it broke off.
    TooLarge,
    /// It took too long: whoever sends a byte now and then must not hold a connection forever.
    TooSlow,
}

impl Unread {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }

    pub(crate) fn problem(self, most: usize) -> Problem {
        match self {
            Self::TooLarge => {
                let text = format!("the body is larger than {most} bytes, or broke off");
                Problem::new(self.status(), "too-large", &text, None)
            }
            Self::TooSlow => {
                let text = format!("the body did not come within {} seconds", BODY_WITHIN.as_secs());
                Problem::new(self.status(), "too-slow", &text, Some("send it again, at once"))
            }
        }
    }
}

/// A body as a whole, where it is small enough and comes in time.
pub(crate) async fn whole(body: Body, most: usize) -> Result<Bytes, Unread> {
    match tokio::time::timeout(BODY_WITHIN, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(Unread::TooLarge),
        Err(_) => Err(Unread::TooSlow),
    }
}

fn misread(what: &str, error: &dyn std::error::Error) -> Problem {
    let detail = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let text = format!("{what} is not what this endpoint takes: {detail}");
    let failure = Failure::misused(paddock_core::visible(&text), "/api/v1/openapi.json describes it");
    Problem::from(&failure)
}
