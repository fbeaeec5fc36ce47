//! What the server says about itself: one line in the log per request, and the numbers at `/metrics`, as Prometheus reads them.
//!
//! A small registry of its own: several servers can live in one process, which a global recorder does not allow, and what is
//! counted is a handful of numbers. Requests are known by their route, never by their address: a link that signs in is an
//! address. It must never hold more than the routes, methods and statuses that there are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use paddock_core::CallId;

use crate::shared::{Shared, Who, on_a_thread};

/// The upper ends of the buckets of the histogram, in microseconds.
const BUCKETS: [u64; 10] = [1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000];

/// What was counted so far.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Kind, u64>>,
    took: Mutex<BTreeMap<Arc<str>, Took>>,
}

/// Method, route and status.
type Kind = (&'static str, Arc<str>, u16);

/// How long requests of one route took.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    /// How many fell into each bucket, not added up.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    micros: u64,
}

impl Metrics {
    fn note(&self, method: &Method, route: &Arc<str>, status: StatusCode, took: Duration) {
        let key = (word(method), Arc::clone(route), status.as_u16());
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut all = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry(Arc::clone(route)).or_default();
        if let Some(bucket) = BUCKETS.iter().position(|end| micros <= *end) {
            entry.buckets[bucket] += 1;
        }
        entry.count += 1;
        entry.micros = entry.micros.saturating_add(micros);
    }

    fn write(&self, out: &mut String) {
        out.push_str("# HELP paddock_http_requests_total Requests by route and status.\n# TYPE paddock_http_requests_total counter\n");
        for ((method, route, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let labels = format!("method=\"{method}\",route=\"{}\",status=\"{status}\"", escaped(route));
            let _ = writeln!(out, "paddock_http_requests_total{{{labels}}} {count}");
        }
        let name = "paddock_http_request_duration_seconds";
        let _ = writeln!(out, "# HELP {name} Until an answer begins.\n# TYPE {name} histogram");
        for (route, took) in &*self.took.lock().unwrap_or_else(PoisonError::into_inner) {
            let route = escaped(route);
            let mut sum = 0;
            for (end, count) in BUCKETS.iter().zip(took.buckets) {
                sum += count;
                let _ = writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"{}\"}} {sum}", seconds(*end));
            }
            let _ = writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {}", took.count);
            let _ = writeln!(out, "{name}_sum{{route=\"{route}\"}} {}", seconds(took.micros));
            let _ = writeln!(out, "{name}_count{{route=\"{route}\"}} {}", took.count);
        }
    }
}

/// Microseconds as seconds, exactly.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Anybody can write a method of their own; they are not told apart.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Gives each request an id, counts it, and has it logged: by its route, never by its address.
pub(crate) async fn observe(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = CallId::next().to_string();
    let method = request.method().clone();
    let route: Arc<str> = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).into();
    let mut response = next.run(request).await;
    let took = began.elapsed();
    let status = response.status();
    shared.metrics.note(&method, &route, status, took);
    let who = match response.extensions().get::<Who>() {
        Some(Who::Person) => "person".to_owned(),
        Some(Who::Program(token)) => format!("token {}", token.id),
        None => "nobody".to_owned(),
    };
    let (millis, status) = (took.as_secs_f64() * 1000.0, status.as_u16());
    if is_quiet(&route) {
        tracing::debug!(%id, method = word(&method), route = &*route, status, millis, who, "request");
    } else {
        tracing::info!(%id, method = word(&method), route = &*route, status, millis, who, "request");
    }
    if let Ok(value) = HeaderValue::try_from(id) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    response
}

/// What comes so often, and says so little, that nobody wants to read it.
fn is_quiet(route: &str) -> bool {
    route.starts_with("/assets/") || matches!(route, "/healthz" | "/metrics" | "/api/v1/events")
}

/// Everything that is counted, as Prometheus reads it.
pub(crate) async fn show(State(shared): State<Shared>) -> Response {
    let kept = {
        let shared = shared.clone();
        on_a_thread(move || {
            let lost = shared.desk.audit_log().map_or(0, |log| log.lost());
            let waiting = shared.desk.approvals()?.waiting().unwrap_or(0);
            Ok((lost, waiting))
        })
        .await
    };
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "# HELP paddock_build_info What runs here.\n# TYPE paddock_build_info gauge");
    let _ = writeln!(out, "paddock_build_info{{version=\"{version}\"}} 1");
    shared.metrics.write(&mut out);
    let usage = shared.mcp.usage();
    let mut gauge = |name: &str, help: &str, value: u64| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    };
    gauge("paddock_event_readers", "Who listens to what happens.", shared.hub.readers() as u64);
    gauge("paddock_mcp_tokens", "Tokens of agents that were seen lately.", usage.tokens as u64);
    gauge("paddock_mcp_sessions", "Sessions of MCP clients.", usage.sessions as u64);
    gauge("paddock_mcp_calls", "Calls of agents under way.", usage.calls as u64);
    gauge("paddock_mcp_streams", "Streams of MCP clients.", usage.streams as u64);
    if let Ok((lost, waiting)) = kept {
        gauge("paddock_approvals_waiting", "Calls that wait for a person.", waiting);
        gauge("paddock_audit_rows_lost", "Rows of the audit that could not be kept and are not told of yet.", lost);
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], out).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        let route: Arc<str> = "/files/{*path}".into();
        metrics.note(&Method::GET, &route, StatusCode::OK, Duration::from_micros(900));
        metrics.note(&Method::GET, &route, StatusCode::OK, Duration::from_millis(7));
        let odd = Method::from_bytes(b"BREW").unwrap();
        metrics.note(&odd, &route, StatusCode::METHOD_NOT_ALLOWED, Duration::from_secs(60));
        let mut out = String::new();
        metrics.write(&mut out);
        for line in [
            "paddock_http_requests_total{method=\"GET\",route=\"/files/{*path}\",status=\"200\"} 2",
            "paddock_http_requests_total{method=\"other\",route=\"/files/{*path}\",status=\"405\"} 1",
            "paddock_http_request_duration_seconds_bucket{route=\"/files/{*path}\",le=\"0.001\"} 1",
            "paddock_http_request_duration_seconds_bucket{route=\"/files/{*path}\",le=\"0.01\"} 2",
            "paddock_http_request_duration_seconds_bucket{route=\"/files/{*path}\",le=\"30\"} 2",
            "paddock_http_request_duration_seconds_bucket{route=\"/files/{*path}\",le=\"+Inf\"} 3",
            "paddock_http_request_duration_seconds_sum{route=\"/files/{*path}\"} 60.0079",
            "paddock_http_request_duration_seconds_count{route=\"/files/{*path}\"} 3",
        ] {
            assert!(out.lines().any(|one| one == line), "{line}\n{out}");
        }
    }
}
