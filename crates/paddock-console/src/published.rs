//! Published projects: each share under a host name of its own, `<id>.localhost` or `<id>.<name of this server>`.
//!
//! What agents wrote runs here, so nothing of the console is here: another origin, other cookies, other headers, and none of the console's
//! routes. A page loads what its own project holds and nothing else; it cannot be framed, cannot keep a worker that outlives the share, and does not
//! tell the address, which is the capability, to where its links lead. The console in turn takes nothing that such a page sends.
//! Addresses are read strictly: what is not written plainly is not there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use paddock_core::TextKind;
use paddock_desk::shares::{self, Door, Opened, Published, Sought};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::pieces::pieces;
use crate::server::OWN_NAME;
use crate::shared::{Shared, on_a_thread};
use crate::{endpoint, guard};

/// Holds the mark of a visit; of one host alone, since it names no domain.
const COOKIE: &str = "paddock_visit";
/// What a published page may do.
const POLICY: &str = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; form-action 'self'; \
                      base-uri 'self'; frame-ancestors 'none'; \
                      sandbox allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-downloads";
/// What a page of ours may do here.
const OWN_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// The largest form.
const FORM: usize = 8 * 1024;
/// How many files are on their way at once: whoever has a link decides how slowly one is taken.
const DELIVERIES: usize = 256;
/// How often a password of one share may be tried within a minute.
const TRIES: u32 = 20;
const WITHIN: Duration = Duration::from_secs(60);

/// The places of files that are on their way to visitors.
pub(crate) struct Deliveries(Arc<Semaphore>);

impl Default for Deliveries {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(DELIVERIES)))
    }
}

/// What keeps passwords from being guessed, and argon2 from taking all memory.
pub(crate) struct Passwords {
    tries: Mutex<HashMap<String, (Instant, u32)>>,
    at_once: Semaphore,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { tries: Mutex::default(), at_once: Semaphore::new(2) }
    }
}

impl Passwords {
    /// One more try; false when there were too many. Only shares that exist get here, so the table stays small.
    fn may_try(&self, id: &str) -> bool {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.retain(|_, (since, _)| since.elapsed() < WITHIN);
        let (_, count) = tries.entry(id.to_owned()).or_insert_with(|| (Instant::now(), 0));
        *count += 1;
        *count <= TRIES
    }
}

/// The share that a host names, where this server is what stands behind its first name.
fn named<'h>(shared: &Shared, host: &'h str) -> Option<&'h str> {
    let (id, rest) = host.split_once('.')?;
    let name = rest.rsplit_once(':').map_or(rest, |(name, _)| name);
    let is_number = name.parse::<std::net::IpAddr>().is_ok() || name.starts_with('[');
    // What is published is no neighbour of the console's own name.
    (shares::is_id(id) && !is_number && name != OWN_NAME && shared.hosts.contains(rest)).then_some(id)
}

/// Answers what is asked of a share; everything else goes on to the console.
pub(crate) async fn by_host(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let Some(host) = guard::asked_host(&request) else { return next.run(request).await };
    let Some(id) = named(&shared, &host).map(str::to_owned) else { return next.run(request).await };
    let mut response = answer(&shared, id, request).await;
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, OWN_POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "no-referrer");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(HeaderName::from_static("origin-agent-cluster"), "?1");
    put(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()");
    put(HeaderName::from_static("x-robots-tag"), "noindex");
    put(header::CACHE_CONTROL, "no-store");
    response
}

async fn answer(shared: &Shared, id: String, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let ahead = ["purpose", "sec-purpose"].iter().any(|name| parts.headers.contains_key(*name));
    if ahead {
        // Whoever only looks ahead is no visitor.
        return StatusCode::NO_CONTENT.into_response();
    }
    if parts.headers.contains_key("service-worker") {
        // It would go on showing what is revoked.
        return StatusCode::FORBIDDEN.into_response();
    }
    let mark = guard::cookie(&parts.headers, COOKIE).map(str::to_owned);
    let door = match parts.method {
        Method::GET | Method::HEAD => {
            let doors = shared.shares.clone();
            on_a_thread(move || doors.knock(&id, mark.as_deref())).await
        }
        Method::POST => return entered(shared, id, parts.uri.path(), body).await,
        _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
    };
    match door {
        Ok(Door::Unknown) => missing(),
        Ok(Door::Gone) => gone(),
        Ok(Door::Asks) => asks(StatusCode::UNAUTHORIZED, None),
        Ok(Door::Open(opened, mark)) => {
            let mark = mark.map(|mark| cookie(&mark, opened.lasts));
            let mut response = shown(shared, *opened, parts.uri.path(), &parts.method, &parts.headers).await;
            if let Some(mark) = mark {
                response.headers_mut().insert(header::SET_COOKIE, mark);
            }
            response
        }
        Err(failure) => broken(&failure),
    }
}

#[derive(Deserialize)]
struct Said {
    password: String,
}

/// Somebody sends the form with the password.
async fn entered(shared: &Shared, id: String, path: &str, body: Body) -> Response {
    let knocked = {
        let (doors, id) = (shared.shares.clone(), id.clone());
        on_a_thread(move || doors.asks(&id)).await
    };
    match knocked {
        Ok(Door::Asks) => {}
        Ok(Door::Unknown) => return missing(),
        Ok(Door::Gone) => return gone(),
        Ok(Door::Open(..)) => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
        Err(failure) => return broken(&failure),
    }
    let bytes = match endpoint::whole(body, FORM).await {
        Ok(bytes) => bytes,
        Err(unread) => return unread.status().into_response(),
    };
    let Ok(said) = serde_urlencoded::from_bytes::<Said>(&bytes) else {
        return asks(StatusCode::BAD_REQUEST, Some("Type the password."));
    };
    if !shared.passwords.may_try(&id) {
        return asks(StatusCode::TOO_MANY_REQUESTS, Some("Too many tries. Wait a minute."));
    }
    let Ok(_turn) = shared.passwords.at_once.acquire().await else { return gone() };
    let doors = shared.shares.clone();
    match on_a_thread(move || doors.enter(&id, &said.password)).await {
        Ok(Door::Open(opened, Some(mark))) => {
            let to = if names(path).is_some() { path } else { "/" };
            let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to.to_owned())]).into_response();
            response.headers_mut().insert(header::SET_COOKIE, cookie(&mark, opened.lasts));
            response
        }
        Ok(Door::Asks) => asks(StatusCode::UNAUTHORIZED, Some("That is not the password.")),
        Ok(Door::Unknown) => missing(),
        Ok(Door::Gone | Door::Open(..)) => gone(),
        Err(failure) => broken(&failure),
    }
}

/// For this host alone, out of reach of its scripts, and no longer than the share.
fn cookie(mark: &str, lasts: u64) -> HeaderValue {
    let text = format!("{COOKIE}={mark}; Path=/; HttpOnly; SameSite=Lax; Max-Age={lasts}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

async fn shown(shared: &Shared, opened: Opened, path: &str, method: &Method, headers: &HeaderMap) -> Response {
    let Some((asked, slash)) = names(path) else { return missing() };
    let desk = Arc::clone(&shared.desk);
    let sought = on_a_thread(move || shares::find(&desk, &opened, &asked, slash)).await;
    match sought {
        Ok(Sought::File(file)) => sent(&shared.deliveries, *file, method, headers),
        Ok(Sought::Directory) => {
            (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, format!("{path}/"))]).into_response()
        }
        Ok(Sought::Missing) => missing(),
        Ok(Sought::Gone) => gone(),
        Err(failure) => broken(&failure),
    }
}

/// The names of an address and whether it ends in a slash; nothing where it is not written plainly.
fn names(path: &str) -> Option<(Vec<String>, bool)> {
    let path = path.strip_prefix('/')?;
    let (path, slash) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
    if path.is_empty() {
        return (!slash).then(|| (Vec::new(), true));
    }
    let names: Option<Vec<String>> = path.split('/').map(name).collect();
    Some((names?, slash))
}

/// A name of an address, decoded once. No escape may stand for what divides names or ends them.
fn name(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    let name = String::from_utf8(bytes).ok()?;
    let is_plain = !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '\\', '\0']);
    is_plain.then_some(name)
}

fn sent(deliveries: &Deliveries, file: Published, method: &Method, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", file.version());
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag));
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::ETAG, &tag);
    // Kept, and asked for each time: what is revoked is gone.
    put(header::CACHE_CONTROL, "private, no-cache");
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    put(header::CONTENT_TYPE, &content_type(file.name(), file.text_kind()));
    let len = file.len();
    put(header::CONTENT_LENGTH, &len.to_string());
    if *method == Method::HEAD {
        return (headers, Body::empty()).into_response();
    }
    let Ok(place) = Arc::clone(&deliveries.0).try_acquire_owned() else { return busy() };
    let body = Body::from_stream(pieces(0..len, move |part| file.piece(part)).taking(place));
    (headers, body).into_response()
}

/// What a browser takes a file for, by the end of its name.
const KINDS: &[(&str, &str)] = &[
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("xml", "application/xml"),
    ("txt", "text/plain"),
    ("md", "text/plain"),
    ("csv", "text/csv"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

fn content_type(name: &str, text: TextKind) -> String {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let known = KINDS.iter().find(|(known, _)| end.as_deref() == Some(*known)).map(|(_, kind)| *kind);
    let kind = known.unwrap_or(if text == TextKind::Binary { "application/octet-stream" } else { "text/plain" });
    let is_text = kind.starts_with("text/") || kind.ends_with("xml") || kind.ends_with("json");
    match text {
        TextKind::Binary => kind.to_owned(),
        text if is_text => format!("{kind}; charset={}", text.name().to_ascii_lowercase()),
        _ => kind.to_owned(),
    }
}

/// A page of ours: nothing in it comes from the project.
fn page(status: StatusCode, title: &str, inside: &Markup) -> Response {
    let style = "body{font:1rem/1.5 system-ui,sans-serif;max-width:28rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}\
                 input,button{font:inherit;padding:.4rem .6rem}";
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (style) }
            }
            body { main { h1 { (title) } (inside) } }
        }
    };
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.0).into_response()
}

fn busy() -> Response {
    let text = html! { p { "Many are looking at it. Try again in a moment." } };
    let mut response = page(StatusCode::SERVICE_UNAVAILABLE, "It cannot be shown now", &text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn missing() -> Response {
    page(StatusCode::NOT_FOUND, "Nothing is here", &html! { p { "This address shows nothing." } })
}

/// What a browser kept of it goes too.
fn gone() -> Response {
    let text = html! { p { "This link has ended. Ask whoever sent it for another." } };
    let mut response = page(StatusCode::GONE, "It is not shared any more", &text);
    let name = HeaderName::from_static("clear-site-data");
    response.headers_mut().insert(name, HeaderValue::from_static("\"cache\", \"cookies\", \"storage\""));
    response
}

fn asks(status: StatusCode, wrong: Option<&str>) -> Response {
    page(
        status,
        "A password is needed",
        &html! {
            @if let Some(wrong) = wrong { p role="alert" { (wrong) } }
            form method="post" {
                p { label for="password" { "Password" } }
                p { input #password name="password" type="password" required autofocus autocomplete="current-password"; }
                p { button { "Show it" } }
            }
        },
    )
}

fn broken(failure: &paddock_desk::Failure) -> Response {
    tracing::warn!(failure = failure.message(), "a published project could not be shown");
    page(StatusCode::INTERNAL_SERVER_ERROR, "It cannot be shown now", &html! { p { "Try again later." } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_once_and_strictly() {
        let read = |path: &str| names(path).map(|(names, slash)| (names.join("|"), slash));
        assert_eq!(read("/"), Some((String::new(), true)));
        assert_eq!(read("/a/b%20c.html"), Some(("a|b c.html".to_owned(), false)));
        assert_eq!(read("/a/"), Some(("a".to_owned(), true)));
        assert_eq!(read("/%2561"), Some(("%61".to_owned(), false)), "decoded once");
        for odd in [
            "",
            "//",
            "//a",
            "/a//b",
            "/..",
            "/a/../b",
            "/.",
            "/%2e%2e/a",
            "/%2E%2e",
            "/a%2fb",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/a%00",
            "/%ff",
            "/%",
            "/%2",
            "/%zz",
            "/%+1",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn contents_are_called_what_they_are() {
        let text = TextKind::of(b"abc");
        assert_eq!(content_type("index.HTML", text), "text/html; charset=utf-8");
        assert_eq!(content_type("a.js", text), "text/javascript; charset=utf-8");
        assert_eq!(content_type("a.png", TextKind::Binary), "image/png");
        assert_eq!(content_type("a", TextKind::Binary), "application/octet-stream");
        assert_eq!(content_type("LICENSE", text), "text/plain; charset=utf-8");
    }
}
