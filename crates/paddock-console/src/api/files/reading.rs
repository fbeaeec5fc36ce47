//! Reading a file: whole or in part, piece by piece under one version.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use paddock_desk::files::{self, Opened};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ranges::{Part, part};
use super::{OfFile, conditions, kinds};
use crate::endpoint::{path_of, query_of};
use crate::pieces::pieces;
use crate::problem::Problem;
use crate::shared::{Shared, on_a_thread};

/// How a file is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HowRead {
    /// Is it to be kept, not shown?
    #[serde(default)]
    download: bool,
}

pub(super) async fn file(State(shared): State<Shared>, request: Request) -> Response {
    match answer(shared, request).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

async fn answer(shared: Shared, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let of: OfFile = path_of(&mut parts).await?;
    let how: HowRead = query_of(&parts)?;
    let opened = on_a_thread(move || files::open(of.spot(&shared.desk)?)).await;
    let opened = opened.map_err(|failure| Problem::from(&failure))?;
    let version = opened.version();
    if conditions::is_unwanted(&parts.headers, &version) {
        let text = "it is another version";
        return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "precondition", text, Some("read it again")));
    }
    let mut headers = facts(&opened, how.download);
    if conditions::is_known(&parts.headers, &version) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let asked = parts.headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let asked = asked.filter(|_| conditions::range_holds(&parts.headers, &version));
    let len = opened.len();
    let (status, range) = match part(asked, len) {
        Part::All => (StatusCode::OK, 0..len),
        Part::Some(range) => (StatusCode::PARTIAL_CONTENT, range),
        Part::Nothing => {
            let text = format!("the file has {len} bytes, and none of those");
            let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", &text, None);
            let mut response = problem.into_response();
            put(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{len}"));
            return Ok(response);
        }
    };
    if status == StatusCode::PARTIAL_CONTENT {
        let told = format!("bytes {}-{}/{len}", range.start, range.end - 1);
        put(&mut headers, header::CONTENT_RANGE, &told);
    }
    put(&mut headers, header::CONTENT_LENGTH, &(range.end - range.start).to_string());
    let body = if parts.method == Method::HEAD {
        Body::empty()
    } else {
        Body::from_stream(pieces(range, move |part| opened.piece(part)))
    };
    Ok((status, headers, body).into_response())
}

fn facts(opened: &Opened, download: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let name = opened.path().name().unwrap_or("file").to_owned();
    let (kind, shown) = kinds::sent_as(&name, opened.text_kind());
    put(&mut headers, header::CONTENT_TYPE, &kind);
    put(&mut headers, header::CONTENT_DISPOSITION, &kinds::disposition(&name, shown && !download));
    put(&mut headers, header::CONTENT_SECURITY_POLICY, kinds::POLICY);
    put(&mut headers, header::ETAG, &conditions::tag(&opened.version()));
    put(&mut headers, header::ACCEPT_RANGES, "bytes");
    put(&mut headers, header::CACHE_CONTROL, "private, no-cache");
    headers
}

fn put(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
