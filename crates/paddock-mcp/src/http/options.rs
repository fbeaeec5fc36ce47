//! Every bound of MCP over HTTP in one place, with what holds when nobody says otherwise.

use std::time::Duration;

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio_util::sync::CancellationToken;

use crate::transport::LONGEST_MESSAGE;

/// What the service takes, and how much of it.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Names, or names with a port, that a request's `Host` may have. An empty list means this machine's own names.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may ask, with scheme and port. Clients that are no browser send none and are let in by their token.
    pub allowed_origins: Vec<String>,
    /// The longest message, in bytes.
    pub body_limit: usize,
    /// How long a message may take to come in.
    pub body_time: Duration,
    /// Calls of one token that may be under way at once; more wait.
    pub calls_at_once: usize,
    /// How long a call waits for its turn before it is refused.
    pub patience: Duration,
    /// Streams of one token that may stay open to hear of changes.
    pub streams_at_once: usize,
    /// Sessions of one token. One more ends the one that was unused the longest.
    pub sessions_at_once: usize,
    /// How long a session that nobody uses is kept.
    pub session_idle: Duration,
    /// Bytes of messages of one token that may be in memory.
    pub room: usize,
    /// Bytes of messages of all tokens together.
    pub room_in_all: usize,
}

const MIB: usize = 1024 * 1024;
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// How often a stream that is silent says that it is still there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: OWN_NAMES.map(str::to_owned).to_vec(),
            allowed_origins: Vec::new(),
            body_limit: LONGEST_MESSAGE,
            body_time: Duration::from_secs(60),
            calls_at_once: 16,
            patience: Duration::from_secs(10),
            streams_at_once: 512,
            sessions_at_once: 512,
            session_idle: Duration::from_secs(3600),
            room: 64 * MIB,
            room_in_all: 256 * MIB,
        }
    }
}

impl HttpOptions {
    /// The same for rmcp.
    pub(super) fn config(&self, closed: CancellationToken) -> StreamableHttpServerConfig {
        // Where rmcp has no list it takes any host.
        let hosts = if self.allowed_hosts.is_empty() {
            OWN_NAMES.map(str::to_owned).to_vec()
        } else {
            self.allowed_hosts.clone()
        };
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(self.allowed_origins.iter().map(|origin| with_port(origin)))
            .enforce_origin_validation()
            .with_json_response(true)
            .with_sse_keep_alive(Some(SIGN_OF_LIFE))
            // The bound is ours, and ours speaks first.
            .with_max_request_body_bytes(self.body_limit.saturating_add(1))
            .with_cancellation_token(closed)
    }
}

/// An origin with its port: rmcp would take one without as any port of that host.
fn with_port(origin: &str) -> String {
    let Some((scheme, host)) = origin.split_once("://") else {
        return origin.to_owned();
    };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    match scheme {
        _ if has_port => origin.to_owned(),
        "https" => format!("{origin}:443"),
        _ => format!("{origin}:80"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_without_a_port_means_the_one_of_its_scheme() {
        assert_eq!(with_port("https://a.example"), "https://a.example:443");
        assert_eq!(with_port("http://[::1]"), "http://[::1]:80");
        assert_eq!(with_port("http://[::1]:8080"), "http://[::1]:8080");
        assert_eq!(with_port("http://localhost:4747"), "http://localhost:4747");
        assert_eq!(with_port("null"), "null");
    }

    #[test]
    fn no_list_of_hosts_means_this_machine() {
        let options = HttpOptions { allowed_hosts: Vec::new(), ..HttpOptions::default() };
        assert_eq!(options.config(CancellationToken::new()).allowed_hosts, OWN_NAMES);
    }
}
