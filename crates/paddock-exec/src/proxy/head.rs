//! The head of a request: read within bounds, understood strictly, and written anew for the host that it is for.
//!
//! Two readers of one request must not disagree about where it ends or whom it is for. So a head that can be read in two ways is
//! refused, the `Host` of what goes on is always the host that was judged, and a body has a length.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use paddock_core::{Host, split_port};

/// Bytes of a head.
const LONGEST: usize = 32 * 1024;
/// Lines of a head.
const MOST_LINES: usize = 100;
/// How long a head may take to arrive.
const PATIENCE: Duration = Duration::from_secs(15);
const END: &[u8] = b"\r\n\r\n";

/// What concerns the way to the proxy and goes no further.
const FOR_THE_WAY: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) what: What,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A way through, for whatever the two speak.
    Tunnel,
    /// One request, with the head as the host gets it and the length of the body.
    Forward { head: Vec<u8>, body: u64 },
}

/// Why a head is none that is acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bad {
    /// The client went away, or was silent.
    Gone,
    TooLong,
    NoRequest,
    /// Not the form that proxies are asked in.
    NotForAProxy,
    /// The body does not say how long it is.
    NoLength,
}

/// Reads a head; also what came after it.
pub(super) fn read(mut stream: &TcpStream) -> Result<(Request, Vec<u8>), Bad> {
    let until = Instant::now() + PATIENCE;
    let mut got = Vec::with_capacity(2048);
    let mut piece = [0; 4096];
    let end = loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Bad::Gone);
        }
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0).ok_or(Bad::Gone)?;
        let from = got.len().saturating_sub(END.len() - 1);
        got.extend_from_slice(&piece[..count]);
        if let Some(found) = got[from..].windows(END.len()).position(|window| window == END) {
            break from + found + END.len();
        }
        if got.len() > LONGEST {
            return Err(Bad::TooLong);
        }
    };
    let rest = got.split_off(end);
    if got.len() > LONGEST {
        return Err(Bad::TooLong);
    }
    Ok((parse(&got)?, rest))
}

fn parse(head: &[u8]) -> Result<Request, Bad> {
    let mut lines = [httparse::EMPTY_HEADER; MOST_LINES];
    let mut request = httparse::Request::new(&mut lines);
    match request.parse(head) {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Bad::TooLong),
        _ => return Err(Bad::NoRequest),
    }
    let (Some(method), Some(to), Some(version)) = (request.method, request.path, request.version) else {
        return Err(Bad::NoRequest);
    };
    if method.eq_ignore_ascii_case("CONNECT") {
        let (host, port) = authority(to)?;
        return Ok(Request { host, port: port.ok_or(Bad::NoRequest)?, what: What::Tunnel });
    }
    let rest = strip_scheme(to).ok_or(Bad::NotForAProxy)?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, port) = authority(&rest[..at])?;
    let port = port.unwrap_or(80);
    let body = length_of_body(request.headers)?;
    let path = &rest[at..];
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host_line = if port == 80 { host.to_string() } else { format!("{host}:{port}") };
    let mut anew = format!("{method} {slash}{path} HTTP/1.{version}\r\nHost: {host_line}\r\n").into_bytes();
    for line in request.headers.iter().filter(|line| goes_on(line.name, request.headers)) {
        anew.extend_from_slice(line.name.as_bytes());
        anew.extend_from_slice(b": ");
        anew.extend_from_slice(line.value);
        anew.extend_from_slice(b"\r\n");
    }
    anew.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(Request { host, port, what: What::Forward { head: anew, body } })
}

fn strip_scheme(to: &str) -> Option<&str> {
    let scheme = to.get(..7)?;
    scheme.eq_ignore_ascii_case("http://").then(|| &to[7..])
}

fn authority(text: &str) -> Result<(Host, Option<u16>), Bad> {
    let (host, port) = split_port(text).map_err(|_| Bad::NoRequest)?;
    Ok((Host::parse(host).map_err(|_| Bad::NoRequest)?, port))
}

fn goes_on(name: &str, lines: &[httparse::Header<'_>]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    // What a client says about its connection to us takes no length away from its body.
    let named_for_the_way = || {
        let said = lines.iter().filter(|line| line.name.eq_ignore_ascii_case("connection"));
        let mut names = said.flat_map(|line| line.value.split(|c| *c == b','));
        names.any(|named| named.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    !FOR_THE_WAY.iter().any(|way| is(way)) && (is("content-length") || !named_for_the_way())
}

fn length_of_body(lines: &[httparse::Header<'_>]) -> Result<u64, Bad> {
    let named = |name: &'static str| lines.iter().filter(move |line| line.name.eq_ignore_ascii_case(name));
    if named("transfer-encoding").next().is_some() {
        return Err(Bad::NoLength);
    }
    let mut lengths = named("content-length");
    match (lengths.next(), lengths.next()) {
        (None, _) => Ok(0),
        (Some(_), Some(_)) => Err(Bad::NoRequest),
        (Some(only), None) => {
            let digits = !only.value.is_empty() && only.value.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(only.value).ok().filter(|_| digits);
            text.and_then(|text| text.parse().ok()).ok_or(Bad::NoRequest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(head: &str) -> (String, u64) {
        match parse(head.as_bytes()).unwrap().what {
            What::Forward { head, body } => (String::from_utf8(head).unwrap(), body),
            What::Tunnel => panic!("a tunnel"),
        }
    }

    #[test]
    fn what_goes_on_names_the_host_that_was_judged() {
        let (head, body) = forwarded(
            "POST http://Good.example:8080/a?b HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nX-Way: 1\r\n\
             Connection: keep-alive, X-Way, Content-Length\r\nContent-Length: 3\r\nAccept: */*\r\nUpgrade: h2c\r\n\r\n",
        );
        assert_eq!(
            head,
            "POST /a?b HTTP/1.1\r\nHost: good.example:8080\r\nContent-Length: 3\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(body, 3);
        assert!(
            forwarded("GET HTTP://a.example?q HTTP/1.0\r\n\r\n")
                .0
                .starts_with("GET /?q HTTP/1.0\r\nHost: a.example\r\n")
        );
    }

    #[test]
    fn a_tunnel_names_its_port() {
        let asked = parse(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((asked.host.to_string().as_str(), asked.port, asked.what), ("[::1]", 443, What::Tunnel));
        assert_eq!(parse(b"CONNECT good.example HTTP/1.1\r\n\r\n"), Err(Bad::NoRequest));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let get = "GET http://a.example/ HTTP/1.1\r\n";
        for (head, why) in [
            ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(), Bad::NotForAProxy),
            ("GET https://a.example/ HTTP/1.1\r\n\r\n".to_owned(), Bad::NotForAProxy),
            ("GET http://a.example@evil.example/ HTTP/1.1\r\n\r\n".to_owned(), Bad::NoRequest),
            ("GET http://a.example#@evil.example/ HTTP/1.1\r\n\r\n".to_owned(), Bad::NoRequest),
            ("GET http://a.example\\evil.example/ HTTP/1.1\r\n\r\n".to_owned(), Bad::NoRequest),
            ("GET http://0x7f.1/ HTTP/1.1\r\n\r\n".to_owned(), Bad::NoRequest),
            ("GET http:/// HTTP/1.1\r\n\r\n".to_owned(), Bad::NoRequest),
            (format!("{get}Transfer-Encoding: chunked\r\n\r\n"), Bad::NoLength),
            (format!("{get}Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), Bad::NoRequest),
            (format!("{get}Content-Length: +1\r\n\r\n"), Bad::NoRequest),
            (format!("{get}Content-Length: 1, 1\r\n\r\n"), Bad::NoRequest),
            (format!("{get}A: b\n\nGET /x HTTP/1.1\r\n\r\n"), Bad::NoRequest),
            (format!("{get}Host : a\r\n\r\n"), Bad::NoRequest),
            (format!("{get} folded\r\n\r\n"), Bad::NoRequest),
            (format!("{get}{}\r\n", "A: b\r\n".repeat(MOST_LINES + 1)), Bad::TooLong),
        ] {
            assert_eq!(parse(head.as_bytes()), Err(why), "{head:?}");
        }
    }
}
