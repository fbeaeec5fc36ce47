//! What the proxy itself answers: that a way is open, or why it is not and what would open it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use paddock_core::{AllowedHost, Host};

use super::Shared;
use super::head::Bad;

/// How long an answer may take to go out, and its reader to go away.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is read of a request that was refused, so that its sender sees the answer and not a broken connection.
const MOST_DRAINED: usize = 64 * 1024;

/// Tells that the tunnel is there.
pub(super) fn open(mut stream: &TcpStream) -> bool {
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").is_ok()
}

/// Tells that there are too many connections.
pub(super) fn busy(stream: &TcpStream) {
    say(stream, "503 Service Unavailable", "too many connections of this command; try again when some have ended");
}

/// Tells that the host is not listed, and which line would list it.
pub(super) fn not_listed(shared: &Shared, stream: &TcpStream, host: &Host, port: u16) {
    let line = shared.line_with(&AllowedHost::for_it(host, port).to_string());
    let text = format!(
        "commands may not reach \"{host}:{port}\". A person can allow it with this line in paddock.toml, under [commands]: {line}"
    );
    say(stream, "403 Forbidden by paddock.toml", &text);
}

/// Tells that the name leads to no public address.
pub(super) fn not_public(shared: &Shared, stream: &TcpStream, host: &Host, port: u16) {
    let line = shared.line_with("ADDRESS");
    let text = format!(
        "\"{host}:{port}\" leads to an address that is not public. A person who trusts that address lists it beside \
         the name in paddock.toml, under [commands]: {line}"
    );
    say(stream, "403 Forbidden by paddock.toml", &text);
}

/// Tells that nobody answers there.
pub(super) fn unreachable(stream: &TcpStream, host: &Host, port: u16) {
    say(stream, "502 Bad Gateway", &format!("\"{host}:{port}\" is allowed and cannot be reached; try again later"));
}

/// Tells that the connection cannot be recorded, so it is not made.
pub(super) fn not_recorded(stream: &TcpStream) {
    say(stream, "502 Bad Gateway", "the connection could not be recorded, so it was not made; a person has to look");
}

/// Tells what is wrong with a request.
pub(super) fn bad(stream: &TcpStream, bad: Bad) {
    match bad {
        Bad::Gone => {
            let _ = stream.shutdown(Shutdown::Both);
        }
        Bad::TooLong => say(stream, "431 Request Header Fields Too Large", "the head of the request is too long"),
        Bad::NoRequest => say(stream, "400 Bad Request", "this is not a request that can be passed on"),
        Bad::NotForAProxy => say(
            stream,
            "400 Bad Request",
            "this is a proxy: ask for the whole address, \"GET http://HOST/PATH\", or \"CONNECT HOST:PORT\"",
        ),
        Bad::NoLength => say(stream, "411 Length Required", "send the body with its Content-Length"),
    }
}

fn say(mut stream: &TcpStream, status: &str, text: &str) {
    let _ = (stream.set_write_timeout(Some(PATIENCE)), stream.set_read_timeout(Some(PATIENCE)));
    let text = format!("Paddock: {text}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
    if sent.and_then(|()| stream.shutdown(Shutdown::Write)).is_ok() {
        let mut piece = [0; 4096];
        let mut left = MOST_DRAINED;
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            left = left.saturating_sub(count);
            if left == 0 {
                break;
            }
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}
