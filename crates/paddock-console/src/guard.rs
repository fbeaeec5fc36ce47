//! Before everything else: which host is asked, from which page, and who asks.
//!
//! A page on another port of this machine sends our cookie along with its requests, and a foreign name may resolve to this machine. So a
//! request for an unknown host gets nothing (421), and one that could change something must say that it comes from our own pages, or
//! carry a token, which no page can make a browser send.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use paddock_desk::Failure;
use paddock_desk::access::Access;

use crate::pages;
use crate::problem::Problem;
use crate::shared::{Shared, Who, on_a_thread};

/// The cookie that holds a session. Browsers keep cookies by host name alone, so that two consoles of one machine would sign each other out
/// if the port were not in it.
pub(crate) fn session_cookie(port: impl std::fmt::Display) -> String {
    format!("paddock_session_{port}")
}

/// The most cookies of this name that are looked at: a browser keeps no more than some dozens for one host.
const MOST_SESSIONS: usize = 64;
/// How often what stays open is looked at: another process may have closed its door.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(3);

/// The statuses of what is refused here, whatever was asked for.
pub(crate) const PROBLEMS: [StatusCode; 3] =
    [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::MISDIRECTED_REQUEST];

/// What no page of ours needs is not allowed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types paddock";

/// Puts the headers on that every answer has, unless it brought its own.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "same-origin");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(header::CACHE_CONTROL, "no-store");
    response
}

/// Refuses what is asked of a host that this server is not.
pub(crate) async fn host(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    if asked_host(&request).is_some_and(|host| shared.hosts.contains(&host)) {
        return next.run(request).await;
    }
    let text = "this server does not answer under that name";
    Problem::new(StatusCode::MISDIRECTED_REQUEST, "foreign-host", text, None).into_response()
}

/// The host that is asked, in small letters.
pub(crate) fn asked_host(request: &Request) -> Option<String> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let host = named.next()?.to_str().ok()?;
    // Two hosts are a trick.
    if named.next().is_some() || request.uri().authority().is_some_and(|other| other.as_str() != host) {
        return None;
    }
    Some(host.to_ascii_lowercase())
}

/// Lets in who signed in or has a token, and refuses what another page has sent.
pub(crate) async fn identity(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let (method, headers) = (request.method().clone(), request.headers().clone());
    match let_in(&shared, &method, &headers, is_api).await {
        Ok((who, key)) => {
            request.extensions_mut().insert(who.clone());
            request.extensions_mut().insert(key);
            let mut response = next.run(request).await;
            // For the log.
            response.extensions_mut().insert(who);
            response
        }
        Err(refusal) if is_api => refusal.problem().into_response(),
        Err(refusal) => refusal.page(),
    }
}

/// What somebody came in with. It holds a secret, so it is never shown.
#[derive(Clone)]
pub(crate) enum Key {
    Token(String),
    Sessions(Vec<String>),
}

impl Key {
    fn holds(&self, access: &Access) -> paddock_desk::Result<bool> {
        match self {
            Self::Token(secret) => access.token(secret).map(|token| token.is_some()),
            Self::Sessions(secrets) => {
                secrets.iter().try_fold(false, |known, secret| Ok(known || access.has_session(secret)?))
            }
        }
    }

    /// Waits until it opens nothing any more. What cannot be asked counts as that: whoever listens comes again.
    pub(crate) async fn until_it_ends(&self, shared: &Shared) {
        let mut doors = shared.doors.subscribe();
        loop {
            let (key, access) = (self.clone(), shared.access.clone());
            if !on_a_thread(move || key.holds(&access)).await.unwrap_or(false) {
                return;
            }
            tokio::select! {
                _ = doors.changed() => {}
                () = tokio::time::sleep(LOOKED_AT_EVERY) => {}
            }
        }
    }
}

/// Why somebody is not let in.
enum Refusal {
    SignedOut,
    OtherPage,
    ReadOnly,
    OfAgent,
    ForPeople,
    Broken(Failure),
}

impl Refusal {
    fn problem(&self) -> Problem {
        let (status, kind, text, hint) = match self {
            Self::SignedOut => (
                StatusCode::UNAUTHORIZED,
                "signed-out",
                "nobody is signed in",
                "send Authorization: Bearer with a token of `paddock token new NAME --api`",
            ),
            Self::OtherPage => (
                StatusCode::FORBIDDEN,
                "other-page",
                "this does not come from a page of the console",
                "programs send a token instead of a cookie",
            ),
            Self::ReadOnly => {
                (StatusCode::FORBIDDEN, "read-only", "this token may only look", "make one without --read-only")
            }
            Self::OfAgent => (
                StatusCode::FORBIDDEN,
                "token-of-agent",
                "this token speaks for an agent, and opens /mcp only",
                "make one with `paddock token new NAME --api`",
            ),
            Self::ForPeople => (
                StatusCode::FORBIDDEN,
                "for-people",
                "the forms of pages are for people",
                "programs use /api/v1, which /api/v1/openapi.json describes",
            ),
            Self::Broken(failure) => return Problem::from(failure),
        };
        Problem::new(status, kind, text, Some(hint))
    }

    fn page(&self) -> Response {
        match self {
            Self::SignedOut => (StatusCode::UNAUTHORIZED, pages::sign_in()).into_response(),
            Self::OtherPage => (StatusCode::FORBIDDEN, pages::other_page()).into_response(),
            Self::ReadOnly | Self::OfAgent | Self::ForPeople => self.problem().into_response(),
            Self::Broken(failure) => pages::failed(failure),
        }
    }
}

async fn let_in(shared: &Shared, method: &Method, headers: &HeaderMap, is_api: bool) -> Result<(Who, Key), Refusal> {
    let is_safe = matches!(*method, Method::GET | Method::HEAD);
    if let Some(secret) = bearer(headers) {
        let access = shared.access.clone();
        let key = Key::Token(secret.to_owned());
        let secret = secret.to_owned();
        let token = on_a_thread(move || access.token(&secret)).await.map_err(Refusal::Broken)?;
        let token = token.ok_or(Refusal::SignedOut)?;
        return match () {
            () if token.agent.is_some() => Err(Refusal::OfAgent),
            () if token.read_only && !is_safe => Err(Refusal::ReadOnly),
            // The forms of pages do what no token may.
            () if !is_api && !is_safe => Err(Refusal::ForPeople),
            () => Ok((Who::Program(token), key)),
        };
    }
    // A published page below our own name may have put others before ours.
    let key = Key::Sessions(cookies(headers, &shared.cookie).take(MOST_SESSIONS).map(str::to_owned).collect());
    let (access, asked) = (shared.access.clone(), key.clone());
    if !on_a_thread(move || asked.holds(&access)).await.map_err(Refusal::Broken)? {
        return Err(Refusal::SignedOut);
    }
    if !is_safe && !is_from_us(shared, headers) {
        return Err(Refusal::OtherPage);
    }
    Ok((Who::Person, key))
}

/// Does a browser say that one of our own pages sent this? What says nothing is not from us.
fn is_from_us(shared: &Shared, headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin") {
        return false;
    }
    match headers.get(header::ORIGIN) {
        Some(origin) => origin
            .to_str()
            .ok()
            .and_then(|origin| origin.parse::<Uri>().ok())
            .and_then(|origin| origin.authority().map(|host| host.as_str().to_ascii_lowercase()))
            .is_some_and(|host| shared.hosts.contains(&host)),
        None => site.is_some(),
    }
}

/// The secret of a bearer token.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = given.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// A cookie by its name.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    cookies(headers, name).next()
}

/// Every cookie of a name.
pub(crate) fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';')).filter_map(move |pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}
