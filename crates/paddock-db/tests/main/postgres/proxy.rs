//! Something between the program and the server that cuts a connection at the worst moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

/// When to cut, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cut {
    Never = 0,
    /// The server never hears of `COMMIT`.
    BeforeCommit = 1,
    /// The server does what `COMMIT` says, and its answer never arrives.
    AfterCommit = 2,
    /// Whatever is said next.
    Now = 3,
}

/// Listens on a port of its own and passes on what it hears.
pub(super) struct Proxy {
    pub(super) port: u16,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    pub(super) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicU8::new(0));
        let shared = cut.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let cut = shared.clone();
                let (answer, asked) = (client, server);
                thread::spawn(move || pass_questions(from, to, &cut));
                thread::spawn(move || pass_answers(asked, answer));
            }
        });
        Self { port, cut }
    }

    pub(super) fn arm(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    pub(super) fn has_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

fn pass_questions(mut from: TcpStream, mut to: TcpStream, cut: &AtomicU8) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let said = &buffer[..length];
        let commits = said.windows(7).any(|window| window == b"COMMIT\0");
        match cut.load(Ordering::SeqCst) {
            1 if commits => return end(cut, &from, &to),
            3 => return end(cut, &from, &to),
            2 if commits => {
                // The answer's way is closed first, then the question is passed on.
                let _ = from.shutdown(Shutdown::Both);
                to.write_all(said).unwrap();
                cut.store(0, Ordering::SeqCst);
                // The server is given the time to do it before its side is closed as well.
                let _ = to.read(&mut buffer);
                return;
            }
            _ => {}
        }
        if to.write_all(said).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

fn end(cut: &AtomicU8, from: &TcpStream, to: &TcpStream) {
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
    cut.store(0, Ordering::SeqCst);
}

fn pass_answers(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
