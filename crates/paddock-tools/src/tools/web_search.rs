//! `web_search`: one question to the one search service that a person named.
//!
//! The only call of a tool that leaves the machine, so it goes to that service's own address and nowhere else: no
//! redirect is followed and no proxy of the environment asked. It is bounded in time and size. What comes back was
//! written by strangers: it is taken apart, freed of everything that steers a terminal or cannot be seen, and cut in
//! length. What it says must never be taken for more than text.

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anstyle_parse::{Parser, Perform, Utf8Parser};
use paddock_core::{ErrorKind, Risk, WebSearch, is_unseen};
use serde_json::{Map, Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::answer::Answer;
use crate::arguments::{self, BadArguments};
use crate::boundary::Context;
use crate::failure::{Failure, NotSearched};

const DEFAULT_RESULTS: u64 = 10;
const MOST_RESULTS: u64 = 50;
/// Bytes of a query.
const LONGEST_QUERY: usize = 1000;
/// Characters that are shown of a title, an address and a snippet.
const LONGEST_TITLE: usize = 200;
const LONGEST_URL: usize = 2000;
const LONGEST_SNIPPET: usize = 500;
/// Bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 4 * 1024 * 1024;
/// How long the service may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a call that waits looks whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(20);

pub(crate) fn web_search(cx: &Context<'_>, given: Map<String, Value>) -> Result<Answer, Failure> {
    let args: arguments::WebSearch = cx.arguments(given)?;
    let limit = arguments::count("limit", args.limit, DEFAULT_RESULTS, MOST_RESULTS)?;
    check_query(&args.query)?;
    let service = cx.policy().web_search.clone().ok_or_else(|| cx.not_provided())?;
    cx.weighs(Risk::Low);
    let body = ask(cx, service, args.query).map_err(Failure::NotSearched)?;
    cx.count(body.len());
    let results = results(&body, usize::try_from(limit).unwrap_or(usize::MAX)).map_err(Failure::NotSearched)?;
    Ok(answer(&results))
}

fn check_query(query: &str) -> Result<(), BadArguments> {
    let bad = |why: String| Err(BadArguments::Bad { name: "query", why });
    if query.trim().is_empty() {
        return bad("is empty: there is nothing to search for".to_owned());
    }
    if query.len() > LONGEST_QUERY {
        return bad(format!("has {} bytes; a search takes at most {LONGEST_QUERY}", query.len()));
    }
    Ok(())
}

/// Asks the service, on a thread that a cancelled call does not wait for.
fn ask(cx: &Context<'_>, service: WebSearch, query: String) -> Result<Vec<u8>, NotSearched> {
    let patience = PATIENCE.min(cx.call().deadline.saturating_duration_since(Instant::now()));
    let (done, answered) = mpsc::sync_channel(1);
    let asking = std::thread::Builder::new().name("web search".to_owned()).spawn(move || {
        // Nobody may be left who wants to know.
        let _ = done.send(fetch(&service, &query, patience));
    });
    asking.map_err(|_| NotSearched::Unreachable)?;
    loop {
        match answered.recv_timeout(GLANCE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Err(NotSearched::Unreachable),
            Err(RecvTimeoutError::Timeout) => cx.call().tick(0).map_err(|stopped| match stopped.kind() {
                ErrorKind::Cancelled => NotSearched::Cancelled,
                _ => NotSearched::Slow,
            })?,
        }
    }
}

fn fetch(service: &WebSearch, query: &str, patience: Duration) -> Result<Vec<u8>, NotSearched> {
    let url = format!("{}/search", service.url);
    let mut request = agent(&service.url, patience).get(&url).query("q", query).query("format", "json");
    if let Some(key) = &service.key {
        request = request.header("Authorization", format!("Bearer {}", key.expose()));
    }
    let asked = request.call();
    let mut response = asked.map_err(|error| not_searched(&error))?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(NotSearched::Status(status));
    }
    let body = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
    body.map_err(|error| not_searched(&error))
}

pub(crate) fn agent(url: &str, patience: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(patience))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("paddock/", env!("CARGO_PKG_VERSION")))
        .accept("application/json");
    let config = if url.starts_with("https:") { config.tls_config(TLS.clone()) } else { config };
    config.build().new_agent()
}

/// Whom the host trusts, for everything that asks a service over TLS.
pub fn trusted_tls() -> TlsConfig {
    TLS.clone()
}

/// Read once.
static TLS: LazyLock<TlsConfig> = LazyLock::new(|| {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted: Vec<_> = trusted.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
});

fn not_searched(error: &ureq::Error) -> NotSearched {
    tracing::warn!(%error, "the search service did not answer");
    match error {
        ureq::Error::Timeout(_) => NotSearched::Slow,
        ureq::Error::BodyExceedsLimit(_) => NotSearched::TooLarge,
        ureq::Error::Protocol(_) => NotSearched::NotResults,
        _ => NotSearched::Unreachable,
    }
}

/// One result, clean.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    title: String,
    url: String,
    snippet: String,
}

/// Takes an answer apart. What has no address of the web is left out.
fn results(body: &[u8], most: usize) -> Result<Vec<Found>, NotSearched> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| NotSearched::NotResults)?;
    let listed = answer.get("results").and_then(Value::as_array).ok_or(NotSearched::NotResults)?;
    Ok(listed.iter().filter_map(found).take(most).collect())
}

fn found(result: &Value) -> Option<Found> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let url = text("url");
    let of_the_web = url.starts_with("http://") || url.starts_with("https://");
    // An address that is cut or cleaned leads somewhere else.
    if !of_the_web || url.len() > LONGEST_URL || clean(url, LONGEST_URL) != url {
        return None;
    }
    let title = clean(text("title"), LONGEST_TITLE);
    let title = if title.is_empty() { "(no title)".to_owned() } else { title };
    Some(Found { title, url: url.to_owned(), snippet: clean(text("content"), LONGEST_SNIPPET) })
}

fn answer(results: &[Found]) -> Answer {
    if results.is_empty() {
        return Answer::done("No results. Other words may find some.").with("count", 0);
    }
    let mut text = String::new();
    for (number, found) in results.iter().enumerate() {
        let _ = writeln!(text, "{}. {}\n   {}", number + 1, found.title, found.url);
        if !found.snippet.is_empty() {
            let _ = writeln!(text, "   {}", found.snippet);
        }
    }
    let listed: Vec<Value> = results.iter().map(|found| json!({ "title": found.title, "url": found.url })).collect();
    Answer::done(text).with("count", results.len()).with("results", listed)
}

/// A text on one line, without what steers a terminal or cannot be seen, and not longer than this.
fn clean(text: &str, most: usize) -> String {
    let mut plain = Plain(String::new());
    let mut parser = Parser::<Utf8Parser>::new();
    for byte in text.bytes() {
        parser.advance(&mut plain, byte);
    }
    let words: Vec<&str> = plain.0.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
    }
}

/// Takes what would be seen of a text, and nothing of its escape sequences.
struct Plain(String);

impl Perform for Plain {
    fn print(&mut self, c: char) {
        if !c.is_control() && !is_unseen(c) {
            self.0.push(c);
        }
    }

    fn execute(&mut self, _: u8) {
        self.0.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_or_cannot_be_seen_comes_through() {
        for (text, expected) in [
            ("plain \u{fc}ber \u{65e5}\u{672c}", "plain \u{fc}ber \u{65e5}\u{672c}"),
            ("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}end", "red end"),
            ("\u{9b}31mred", "31mred"),
            ("a\r\n\tb\0c", "a b c"),
            ("safe\u{202e}exe.gpj", "safeexe.gpj"),
            ("hid\u{200b}den \u{e0041}\u{e0042}", "hidden"),
        ] {
            assert_eq!(clean(text, 100), expected, "{text:?}");
        }
        assert_eq!(clean("four words in here", 9), "four word…");
    }

    /// A service that accepts and says nothing, and where it is.
    fn silent() -> (std::net::TcpListener, WebSearch) {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        (silent, WebSearch { url, key: None })
    }

    fn searched(service: WebSearch, control: &crate::control::Control) -> Answer {
        use paddock_core::{AgentName, AgentPolicy, LogicalPath, NoAudit, NoJournal, Vfs};

        let vfs = Vfs::new(Vec::new(), Arc::new(crate::gate::RecordingGate::new()), Arc::new(NoJournal)).unwrap();
        let policy = AgentPolicy::new(AgentName::main(), LogicalPath::top(), vfs).with_web_search(Some(service));
        let given = json!({ "query": "x" }).as_object().cloned().unwrap();
        let redactor = paddock_state::Redactor::none();
        crate::boundary::call(&policy, &NoAudit, &redactor, "web_search", given, control)
    }

    #[test]
    fn a_service_that_says_nothing_or_stops_half_way_is_too_slow() {
        use std::io::Write as _;

        let short = Duration::from_millis(100);
        let (_silent, service) = silent();
        assert_eq!(fetch(&service, "x", short), Err(NotSearched::Slow));
        let (halting, service) = silent();
        let half = std::thread::spawn(move || {
            let mut stream = halting.accept().unwrap().0;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{").unwrap();
            stream
        });
        // Long enough to get that far, for a machine that is busy.
        assert_eq!(fetch(&service, "x", 20 * short), Err(NotSearched::Slow));
        drop(half.join());
        let (_silent, service) = silent();
        let answer = searched(service, &crate::control::Control::for_at_most(short));
        assert_eq!(answer.structured["error"], "timed_out", "{}", answer.text());
        assert!(answer.text().contains("The search service took too long."), "{}", answer.text());
    }

    #[test]
    fn a_cancelled_search_waits_for_nobody() {
        let (silent, service) = silent();
        let control = crate::control::Control::for_at_most(Duration::from_secs(600));
        let cancel = Arc::clone(&control.cancel);
        let asked = std::thread::spawn(move || {
            // Somebody is connected, and gets no answer.
            let connected = silent.accept();
            cancel.stop();
            connected
        });
        let answer = searched(service, &control);
        assert_eq!(answer.structured["error"], "cancelled", "{}", answer.text());
        drop(asked.join());
    }

    #[test]
    fn only_addresses_of_the_web_are_results() {
        let body = json!({ "results": [
            { "url": "https://a.example/x", "title": "A", "content": "first" },
            { "url": "javascript:alert(1)", "title": "B" },
            { "url": "https://b.example/\u{1b}[31m", "title": "C" },
            { "url": format!("https://c.example/{}", "x".repeat(LONGEST_URL)), "title": "D" },
            { "title": "E" },
            7,
            { "url": "http://f.example/", "title": null, "content": null },
            { "url": "http://g.example/", "title": "G" },
        ]});
        let found = results(body.to_string().as_bytes(), 2).unwrap();
        let shown: Vec<(&str, &str)> = found.iter().map(|f| (f.title.as_str(), f.url.as_str())).collect();
        assert_eq!(shown, [("A", "https://a.example/x"), ("(no title)", "http://f.example/")]);
        for other in ["<html>", "{}", "[]", "{\"results\": 3}"] {
            assert_eq!(results(other.as_bytes(), 9), Err(NotSearched::NotResults), "{other}");
        }
    }
}
