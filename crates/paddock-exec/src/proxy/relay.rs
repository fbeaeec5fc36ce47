//! Bytes between a client and a host, both ways at once, until one of them is done or both are silent.
//!
//! Of a single request exactly its body goes on: what a client sends after it would reach the host as a request that nobody judged.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long both sides may be silent.
const IDLE: Duration = Duration::from_secs(120);
/// Bytes at once.
const PIECE: usize = 32 * 1024;

/// Passes everything, both ways.
pub(super) fn tunnel(client: &TcpStream, host: &TcpStream, first: &[u8]) {
    let pulse = Pulse::new();
    between(client, host, &pulse, || {
        let mut out = host;
        out.write_all(first)?;
        copy(client, host, u64::MAX, &pulse)?;
        host.shutdown(Shutdown::Write)
    });
}

/// Passes one request and everything that is answered to it.
pub(super) fn exchange(client: &TcpStream, host: &TcpStream, head: &[u8], first: &[u8], body: u64) {
    let pulse = Pulse::new();
    let first = &first[..first.len().min(usize::try_from(body).unwrap_or(usize::MAX))];
    let left = body - first.len() as u64;
    between(client, host, &pulse, || {
        let mut out = host;
        out.write_all(head)?;
        out.write_all(first)?;
        copy(client, host, left, &pulse)
    });
}

/// Runs `there` beside the way back. When the way back is over, everything is; when `there` breaks off, too.
fn between(client: &TcpStream, host: &TcpStream, pulse: &Pulse, there: impl FnOnce() -> io::Result<()> + Send) {
    for stream in [client, host] {
        if stream.set_read_timeout(Some(IDLE)).and_then(|()| stream.set_write_timeout(Some(IDLE))).is_err() {
            return end(client, host);
        }
        // Small pieces of a handshake must not wait for each other.
        let _ = stream.set_nodelay(true);
    }
    std::thread::scope(|scope| {
        let there = std::thread::Builder::new().name("proxied".to_owned()).spawn_scoped(scope, || {
            if there().is_err() {
                end(client, host);
            }
        });
        if there.is_ok() {
            let _ = copy(host, client, u64::MAX, pulse);
        }
        end(client, host);
    });
}

fn end(client: &TcpStream, host: &TcpStream) {
    let _ = (client.shutdown(Shutdown::Both), host.shutdown(Shutdown::Both));
}

/// Copies up to `left` bytes, or until the sender is done. It is an error when both sides are silent.
fn copy(mut from: &TcpStream, mut to: &TcpStream, mut left: u64, pulse: &Pulse) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
        let count = match from.read(&mut piece[..most]) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_silence(&error) && !pulse.is_silent() => continue,
            Err(error) => return Err(error),
        };
        pulse.beat();
        to.write_all(&piece[..count])?;
        left -= count as u64;
    }
    Ok(())
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// When a byte passed last, in either way: a long answer is not ended because its reader has nothing to say.
struct Pulse {
    began: Instant,
    last: AtomicU64,
}

impl Pulse {
    fn new() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0) }
    }

    fn beat(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    fn is_silent(&self) -> bool {
        let idle = u64::try_from(IDLE.as_millis()).unwrap_or(u64::MAX);
        self.now().saturating_sub(self.last.load(Ordering::Relaxed)) >= idle
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
