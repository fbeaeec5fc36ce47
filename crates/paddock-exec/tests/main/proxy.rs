//! The filtering proxy: who is reached through it, who is not, what is on record, and that nothing gets past it.
//!
//! Hosts are servers on the loopback of the host; their names are answered by the test. A name that leads there is
//! refused unless the address is listed too, so each test lists what it needs and no more.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paddock_core::{AgentName, AllowedHost, Audit, Call, CallId, CallRecord, Cancel, StoreError};
use paddock_exec::{Command, Network, Proxy, Sandbox};

use crate::as_each_user;
use crate::main::harness::*;

/// An HTTP server that answers every request with its name, and keeps what it was asked.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(name: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let keeps = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let keeps = Arc::clone(&keeps);
                std::thread::spawn(move || answer(stream.unwrap(), name, &keeps));
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads until the client is silent for a moment, so that it sees all that came along.
fn answer(mut stream: TcpStream, name: &str, heard: &Mutex<Vec<String>>) {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        all.extend_from_slice(&piece[..count]);
    }
    heard.lock().unwrap().push(String::from_utf8_lossy(&all).into_owned());
    let text = format!("I am {name}\n");
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len());
}

/// Keeps what it is told as `outcome host:port`, or keeps nothing and says so.
#[derive(Default)]
struct Records {
    rows: Mutex<Vec<String>>,
    broken: bool,
}

impl Audit for Records {
    fn record(&self, record: &CallRecord<'_>) -> Result<(), StoreError> {
        assert_eq!((record.tool, record.agent.as_str()), ("execute_command", "main"));
        if self.broken {
            return Err(paddock_core::ErrorKind::Io.into());
        }
        self.rows.lock().unwrap().push(format!("{} {} {}", record.outcome, record.path, record.reason));
        Ok(())
    }
}

impl Records {
    fn rows(&self) -> Vec<String> {
        self.rows.lock().unwrap().clone()
    }
}

/// Every name that ends in `.inside` leads to the loopback, `.meta` to the service that clouds have, no other anywhere.
fn proxy(allowed: &[String], audit: &Arc<Records>) -> Proxy {
    let allowed = allowed.iter().map(|entry| AllowedHost::parse(entry).unwrap()).collect();
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    let deadline = Instant::now() + Duration::from_secs(60);
    let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
    let audit: Arc<dyn Audit> = Arc::clone(audit) as Arc<dyn Audit>;
    Proxy::with_resolver(allowed, audit, &call, |name, port| {
        let to = |address: Ipv4Addr| Ok(vec![SocketAddr::from((address, port))]);
        match name.rsplit('.').next() {
            Some("inside" | "localhost") => to(Ipv4Addr::LOCALHOST),
            Some("meta") => to(Ipv4Addr::new(169, 254, 169, 254)),
            _ => Err(std::io::Error::other("no such name")),
        }
    })
}

/// A command in the sandbox, led to a proxy with this list.
fn led(yard: &Yard, allowed: &[String], audit: &Arc<Records>, text: &str) -> Ran {
    let mut command = Command::shell("/project", text);
    let proxy = proxy(allowed, audit);
    proxy.lead(&mut command);
    ran(Sandbox::new(vec![yard.direct()], command))
}

/// The proxy on a port of the host, so that a test can talk to it byte by byte.
fn outside(proxy: &Proxy) -> SocketAddr {
    let mut command = Command::shell("/", "true");
    proxy.lead(&mut command);
    let Network::Proxy { serve, .. } = command.network else { panic!("no proxy") };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    serve(listener);
    address
}

fn say(to: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

as_each_user! {
    fn a_listed_host_is_reached_and_no_other_and_both_are_on_record() {
        let (yard, audit) = (Yard::new(), Arc::new(Records::default()));
        let (good, evil) = (Server::start("good"), Server::start("evil"));
        let allowed = [format!("good.inside:{}", good.port), format!("127.0.0.1:{}", good.port)];
        let url = format!("http://good.inside:{}/a?b", good.port);
        let text = format!("curl -sS {url}; curl -sS --proxytunnel {url}; /usr/bin/python3 -c \"import urllib.request as u; print(u.urlopen('{url}').read().decode(), end='')\"");
        assert_eq!(led(&yard, &allowed, &audit, &text).well().out, "I am good\n".repeat(3));
        assert_eq!(audit.rows(), vec![format!("done good.inside:{} ", good.port); 3]);
        assert!(good.heard()[0].starts_with(&format!("GET /a?b HTTP/1.1\r\nHost: good.inside:{}\r\n", good.port)), "{:?}", good.heard());

        let audit = Arc::new(Records::default());
        let to = format!("evil.inside:{}", evil.port);
        let said = led(&yard, &allowed, &audit, &format!("curl -sS http://{to}/; curl -sS --proxytunnel http://{to}/ || exit 7"));
        assert_eq!(said.code(), 7, "{said:?}");
        let line = format!("network = [\"good.inside:{0}\", \"127.0.0.1:{0}\", \"{to}\"]", good.port);
        assert!(said.out.contains(&format!("commands may not reach \"{to}\"")) && said.out.contains(&line), "{said:?}");
        assert!(said.err.contains("403"), "{said:?}");
        assert_eq!(audit.rows(), vec![format!("denied {to} host not listed"); 2]);
        assert!(evil.heard().is_empty());
    }

    fn nothing_leaves_but_through_the_proxy() {
        let (yard, audit) = (Yard::new(), Arc::new(Records::default()));
        let server = Server::start("good");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let text = format!(
            "/usr/bin/python3 -c \"\nimport socket\ndef tries(what, f):\n  try: f(); print('reached', what)\n  except OSError: pass\ntries('tcp', lambda: socket.create_connection(('127.0.0.1', {0}), 2))\ntries('out', lambda: socket.create_connection(('1.1.1.1', 53), 2))\nu = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntries('dns', lambda: (u.settimeout(2), u.sendto(b'x', ('1.1.1.1', 53)), u.recv(9)))\nu.sendto(b'out', ('127.0.0.1', {1}))\ntries('name', lambda: socket.getaddrinfo('example.com', 80))\n\"; env -u http_proxy -u ALL_PROXY -u all_proxy curl -sS -m 2 --noproxy '*' http://127.0.0.1:{0}/ || exit 7",
            server.port,
            udp.local_addr().unwrap().port(),
        );
        let said = led(&yard, &[format!("127.0.0.1:{}", server.port)], &audit, &text);
        assert_eq!((said.code(), said.out.as_str()), (7, ""), "{said:?}");
        assert!(udp.recv(&mut [0; 9]).is_err(), "nothing came out by UDP");
        assert!(server.heard().is_empty() && audit.rows().is_empty());
    }

    fn a_command_talks_to_what_it_started_itself() {
        let (yard, audit) = (Yard::new(), Arc::new(Records::default()));
        let text = "echo mine > index.html; /usr/bin/python3 -m http.server 8123 >/dev/null 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; curl -s http://localhost:8123/index.html && break; done; kill $!";
        assert_eq!(led(&yard, &["example.com".to_owned()], &audit, text).out, "mine\n");
        assert!(audit.rows().is_empty());
    }
}

#[test]
fn a_name_that_leads_inside_is_refused_unless_the_address_is_listed_too() {
    let server = Server::start("secret");
    let name = format!("rebound.inside:{}", server.port);
    let get = format!("GET http://{name}/ HTTP/1.1\r\n\r\n");
    let audit = Arc::new(Records::default());
    let without = proxy(std::slice::from_ref(&name), &audit);
    let said = say(outside(&without), &get);
    assert!(said.starts_with("HTTP/1.1 403 ") && said.contains("not public"), "{said}");
    assert!(say(outside(&without), &format!("CONNECT {name} HTTP/1.1\r\n\r\n")).starts_with("HTTP/1.1 403 "));
    assert_eq!(audit.rows(), vec![format!("denied {name} address not public"); 2]);
    assert!(server.heard().is_empty());

    let meta = proxy(&["cloud.meta".to_owned()], &Arc::new(Records::default()));
    assert!(say(outside(&meta), "GET http://cloud.meta/latest HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 403 "));

    let with = proxy(&[name, format!("127.0.0.1:{}", server.port)], &audit);
    assert!(say(outside(&with), &get).contains("I am secret"));
}

#[test]
fn an_address_is_reached_only_where_it_is_listed_itself() {
    let server = Server::start("by address");
    let audit = Arc::new(Records::default());
    let by_name = proxy(&[format!("localhost:{}", server.port)], &audit);
    let to = outside(&by_name);
    for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.2"] {
        let said = say(to, &format!("CONNECT {host}:{} HTTP/1.1\r\n\r\n", server.port));
        assert!(said.starts_with("HTTP/1.1 403 "), "{host}: {said}");
    }
    for odd in ["127.1", "2130706433", "0x7f.1", "0177.0.0.1"] {
        let said = say(to, &format!("CONNECT {odd}:{} HTTP/1.1\r\n\r\n", server.port));
        assert!(said.starts_with("HTTP/1.1 40"), "{odd}: {said}");
    }
    assert!(server.heard().is_empty());
    assert!(say(to, &format!("GET http://LOCALHOST.:{}/ HTTP/1.1\r\n\r\n", server.port)).contains("I am by address"));
    assert_eq!(audit.rows().last().unwrap(), &format!("done localhost:{} ", server.port));
}

#[test]
fn a_port_that_is_not_listed_is_another_host() {
    let (server, audit) = (Server::start("other port"), Arc::new(Records::default()));
    let plain = proxy(&["localhost".to_owned()], &audit);
    let said = say(outside(&plain), &format!("GET http://localhost:{}/ HTTP/1.1\r\n\r\n", server.port));
    assert!(said.contains(&format!("network = [\"localhost\", \"localhost:{}\"]", server.port)), "{said}");
    assert!(server.heard().is_empty());
}

#[test]
fn of_a_request_exactly_its_body_goes_on() {
    let (server, audit) = (Server::start("good"), Arc::new(Records::default()));
    let proxy = proxy(&[format!("localhost:{}", server.port)], &audit);
    let said = say(
        outside(&proxy),
        &format!(
            "POST http://localhost:{}/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nbodyGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            server.port
        ),
    );
    assert!(said.contains("I am good"), "{said}");
    let heard = server.heard();
    assert!(heard.len() == 1 && heard[0].ends_with("\r\n\r\nbody") && !heard[0].contains("evil"), "{heard:?}");
}

#[test]
fn what_cannot_be_recorded_does_not_pass() {
    let server = Server::start("good");
    let audit = Arc::new(Records { broken: true, ..Records::default() });
    let proxy = proxy(&[format!("localhost:{}", server.port)], &audit);
    let said = say(outside(&proxy), &format!("GET http://localhost:{}/ HTTP/1.1\r\n\r\n", server.port));
    assert!(said.starts_with("HTTP/1.1 502 ") && said.contains("recorded"), "{said}");
    assert!(server.heard().iter().all(String::is_empty), "{:?}", server.heard());
}

#[test]
fn what_is_no_request_for_a_proxy_is_told_so_and_on_record() {
    let audit = Arc::new(Records::default());
    let proxy = proxy(&["localhost".to_owned()], &audit);
    let to = outside(&proxy);
    assert!(say(to, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("this is a proxy"));
    assert!(say(to, &format!("GET http://localhost/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(40_000))).contains("431"));
    assert!(say(to, "\0\0\0\0\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert_eq!(audit.rows(), ["invalid  request"; 3]);
}

#[test]
fn connections_at_once_are_bounded_and_room_comes_back() {
    let audit = Arc::new(Records::default());
    let proxy = proxy(&["localhost".to_owned()], &audit);
    let to = outside(&proxy);
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(to).unwrap()).collect();
    let get = "GET http://other.example/ HTTP/1.1\r\n\r\n";
    assert!(say(to, get).starts_with("HTTP/1.1 503 "), "the 65th waits for nobody");
    drop(silent);
    let until = Instant::now() + Duration::from_secs(20);
    while !say(to, get).starts_with("HTTP/1.1 403 ") {
        assert!(Instant::now() < until, "room never came back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn when_the_command_is_over_every_connection_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let audit = Arc::new(Records::default());
    let proxy = proxy(&[format!("localhost:{port}")], &audit);
    let to = outside(&proxy);
    let mut client = TcpStream::connect(to).unwrap();
    write!(client, "CONNECT localhost:{port} HTTP/1.1\r\n\r\n").unwrap();
    let (mut there, _) = listener.accept().unwrap();
    let mut said = [0; 12];
    client.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 200");
    client.write_all(b"ping").unwrap();
    let mut heard = [0; 4];
    there.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"ping");
    there.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    drop(proxy);
    let end = there.read(&mut heard);
    let ended = end.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |count| *count == 0);
    assert!(ended, "the host sees the end: {end:?}");
    assert!(TcpStream::connect(to).is_err(), "nobody listens");
    let _ = client.shutdown(Shutdown::Both);
}
