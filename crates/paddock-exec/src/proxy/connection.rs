//! One connection from its first byte to its last: understood, judged, recorded, and only then passed on.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_core::Host;

use super::head::{self, Bad, Request, What};
use super::{Became, Shared, addresses, answer, relay};

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
const MOST_TRIED: usize = 4;

/// Serves a client of the proxy.
pub(super) fn serve(shared: &Shared, number: u64, client: &Arc<TcpStream>) {
    let began = Instant::now();
    let (request, rest) = match head::read(client) {
        Ok(read) => read,
        Err(Bad::Gone) => return answer::bad(client, Bad::Gone),
        Err(bad) => {
            shared.record("", Became::NoRequest, began);
            return answer::bad(client, bad);
        }
    };
    let Request { host, port, what } = request;
    let named = format!("{host}:{port}");
    let host_there = match reach(shared, &host, port) {
        Ok(stream) => Arc::new(stream),
        Err(became) => {
            shared.record(&named, became, began);
            return refuse(shared, client, &host, port, became);
        }
    };
    if !shared.record(&named, Became::Made, began) {
        return answer::not_recorded(client);
    }
    if shared.join(number, &host_there) {
        pass(client, &host_there, &what, &rest);
    }
}

/// Connects to a host that is listed, at an address that it may have.
fn reach(shared: &Shared, host: &Host, port: u16) -> Result<TcpStream, Became> {
    if !shared.allowed.iter().any(|entry| entry.admits(host, port)) {
        return Err(Became::NotListed);
    }
    let addresses = match host {
        // It is listed as it stands.
        Host::Address(address) => vec![SocketAddr::new(*address, port)],
        Host::Name(name) => {
            let found = (shared.resolve)(name, port).map_err(|_| Became::Unreachable)?;
            if found.is_empty() {
                return Err(Became::Unreachable);
            }
            addresses::usable(&shared.allowed, host, found)
        }
    };
    if addresses.is_empty() {
        return Err(Became::NotPublic);
    }
    let tried = addresses.iter().take(MOST_TRIED);
    let mut reached = tried.filter_map(|address| TcpStream::connect_timeout(address, PATIENCE).ok());
    reached.next().ok_or(Became::Unreachable)
}

fn refuse(shared: &Shared, client: &TcpStream, host: &Host, port: u16, became: Became) {
    match became {
        Became::NotListed => {
            shared.note_refused(host, port);
            answer::not_listed(shared, client, host, port);
        }
        Became::NotPublic => answer::not_public(shared, client, host, port),
        _ => answer::unreachable(client, host, port),
    }
}

fn pass(client: &TcpStream, host: &TcpStream, what: &What, rest: &[u8]) {
    match what {
        What::Tunnel => {
            if answer::open(client) {
                relay::tunnel(client, host, rest);
            }
        }
        What::Forward { head, body } => relay::exchange(client, host, head, rest, *body),
    }
}
