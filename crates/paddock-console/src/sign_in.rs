//! Signing in with a one-time link, and out again.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use paddock_desk::Failure;
use serde::Deserialize;

use crate::guard;
use crate::shared::{Shared, Who, on_a_thread};
use crate::{endpoint, pages};

/// How long a browser keeps the cookie; the session itself ends when nobody uses it.
const KEPT_SECONDS: u64 = 30 * 24 * 3600;
/// The largest form.
const LARGEST_FORM: usize = 1024;

/// Uses a link up: a cookie, and on to where the person wanted to go.
pub(crate) async fn login(
    State(shared): State<Shared>,
    method: Method,
    Path(link): Path<String>,
    headers: HeaderMap,
) -> Response {
    // Whoever only looks ahead must not use the link up.
    if method != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let ahead = ["purpose", "sec-purpose"].iter().any(|name| headers.get(*name).is_some());
    if ahead {
        return StatusCode::NO_CONTENT.into_response();
    }
    let label = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().to_owned();
    let access = shared.acted_by(&Who::Person).access;
    match on_a_thread(move || access.sign_in(&link, &label)).await {
        Ok(Some(secret)) => (cookies(&shared.cookie, &secret, KEPT_SECONDS), Redirect::to("/")).into_response(),
        Ok(None) => (StatusCode::FORBIDDEN, pages::used_link()).into_response(),
        Err(failure) => pages::failed(&failure),
    }
}

/// What the sign-out form sends.
#[derive(Debug, Deserialize)]
pub(crate) struct SignOut {
    /// Every session, not only this one.
    #[serde(default)]
    everybody: bool,
}

/// Ends this session, or all of them.
pub(crate) async fn logout(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    let bytes = match endpoint::whole(body, LARGEST_FORM).await {
        Ok(bytes) => bytes,
        Err(unread) => return unread.problem(LARGEST_FORM).into_response(),
    };
    let Ok(form) = serde_urlencoded::from_bytes::<SignOut>(&bytes) else {
        return pages::failed(&Failure::misused("the form is not what this page takes", "load the page again"));
    };
    let access = shared.acted_by(&Who::Person).access;
    // A session that another cookie of this name stood before would go on.
    let secrets: Vec<String> = guard::cookies(&headers, &shared.cookie).map(str::to_owned).collect();
    let ended = on_a_thread(move || match form.everybody {
        true => access.sign_everybody_out().map(|_| ()),
        false => secrets.iter().try_for_each(|secret| access.sign_out(secret)),
    });
    match ended.await {
        Ok(()) => {
            shared.doors_changed();
            (cookies(&shared.cookie, "", 0), pages::sign_in()).into_response()
        }
        Err(failure) => pages::failed(&failure),
    }
}

/// Lax: a link in a chat should arrive signed in; what could change something is checked by where it comes from.
fn cookies(name: &str, secret: &str, seconds: u64) -> HeaderMap {
    let text = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}");
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(header::SET_COOKIE, value);
    }
    headers
}
