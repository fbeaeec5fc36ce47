//! `paddock serve` as people start it; under load, and killed under load, with nothing lost that was answered.
//!
//! Agents write and are asked about deletes over HTTP while somebody listens to the events. The process is killed with -9 at a moment of
//! chance. What was answered has to be there afterwards: the file, its row in the history, the approval that waits; and whoever
//! listened goes on with the new server exactly where the old one was killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{World, eventually};

/// How often the server is killed; `cargo xtask soak` asks for more.
fn kills() -> usize {
    std::env::var("PADDOCK_SERVE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// A server that runs.
struct Serving {
    child: Child,
    address: SocketAddr,
    told: Value,
}

impl Serving {
    fn start(world: &World) -> Self {
        Self::start_with(world, &[], Stdio::null())
    }

    fn start_with(world: &World, more: &[&str], stderr: Stdio) -> Self {
        let mut command = world.command(&[&["serve", "--port", "0", "--json"], more].concat());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["address"].as_str().unwrap().parse().unwrap();
        Self { child, address, told }
    }

    /// One request on a connection of its own; nothing where the server went away meanwhile.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, String)> {
        ask(self.address, method, path, headers, body)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    // An answer in chunks that broke off has no end.
    let whole = !answer.to_ascii_lowercase().contains("transfer-encoding: chunked") || answer.ends_with("0\r\n\r\n");
    whole.then_some((status, answer))
}

/// What a tool answers an agent over HTTP.
fn call(address: SocketAddr, token: &str, tool: &str, arguments: &Value) -> Option<String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "a test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = format!(
        "authorization: Bearer {token}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n"
    );
    let (status, answer) = ask(address, "POST", "/mcp", &headers, &body)?;
    assert_eq!(status, 200, "{answer}");
    Some(answer)
}

#[test]
fn it_says_where_it_listens_and_ends_when_it_is_asked_to() {
    let world = World::seed();
    let mut serving = Serving::start(&world);
    let url = serving.told["url"].as_str().unwrap();
    assert_eq!(serving.told["mcp"], format!("{url}/mcp"));
    let link = serving.told["sign_in"].as_str().unwrap().strip_prefix(url).unwrap();
    assert_eq!(serving.ask("GET", link, "", "").unwrap().0, 303);
    assert_eq!(serving.ask("GET", link, "", "").unwrap().0, 403);
    let another = world.paddock(&["login", "--url", url, "--json"]).json();
    let another = another["sign_in"].as_str().unwrap().strip_prefix(url).unwrap().to_owned();
    assert_eq!(serving.ask("GET", &another, "", "").unwrap().0, 303);
    let pid = rustix::process::Pid::from_child(&serving.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(serving.child.wait().unwrap().success());
}

#[test]
fn an_open_tab_does_not_keep_it_from_ending() {
    let world = World::seed();
    let log = world.path().join("said");
    let file = std::fs::File::create(&log).unwrap();
    let mut serving = Serving::start_with(&world, &[], file.into());
    let token = world.paddock(&["token", "new", "ci", "--api", "--json"]).json()["secret"].as_str().unwrap().to_owned();
    let mut tab = TcpStream::connect(serving.address).unwrap();
    tab.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = serving.address;
    write!(tab, "GET /api/v1/events HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut tab = BufReader::new(tab);
    let mut line = String::new();
    while !line.starts_with(": here") {
        line.clear();
        assert!(tab.read_line(&mut line).unwrap() > 0);
    }
    let pid = rustix::process::Pid::from_child(&serving.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // Ended, not broken off when the time for a farewell was over.
    let mut rest = String::new();
    tab.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    assert!(serving.child.wait().unwrap().success());
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("ending when what is under way has ended"), "{said}");
}

#[test]
fn every_request_is_a_line_of_the_log_and_no_secret_is_in_any() {
    let world = World::seed();
    let log = world.path().join("log");
    let file = std::fs::File::create(&log).unwrap();
    let mut serving = Serving::start_with(&world, &["--log", "trace", "--log-format", "json"], file.into());
    let sign_in = serving.told["sign_in"].as_str().unwrap().to_owned();
    let link = sign_in.rsplit('/').next().unwrap().to_owned();
    let (_, signed_in) = serving.ask("GET", &format!("/login/{link}"), "", "").unwrap();
    let name = format!("paddock_session_{}=", serving.address.port());
    let session = signed_in.split(&name).nth(1).unwrap().split(';').next().unwrap().to_owned();
    let token = world.paddock(&["token", "new", "ci", "--api", "--json"]).json()["secret"].as_str().unwrap().to_owned();
    let cookie = format!("cookie: {name}{session}\r\nsec-fetch-site: same-origin\r\n");
    let form = format!("{cookie}content-type: application/x-www-form-urlencoded\r\n");
    let (status, made) = serving.ask("POST", "/settings/tokens", &form, "name=x&agent=main&days=").unwrap();
    let shown = made.split("Bearer ").nth(1).unwrap_or_default();
    let shown: String = shown.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
    assert!(status == 200 && shown.len() > 20, "{made}");
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(serving.ask("GET", "/api/v1/workspaces", &bearer, "").unwrap().0, 200);
    assert_eq!(serving.ask("GET", "/api/v1/nowhere?secret=in-the-address", &bearer, "").unwrap().0, 404);
    let pid = rustix::process::Pid::from_child(&serving.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    serving.child.wait().unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |route: &str| {
        lines.iter().find(|line| line["route"] == json!(route)).unwrap_or_else(|| panic!("{route}: {text}"))
    };
    assert_eq!((&of("/login/{link}")["status"], &of("/login/{link}")["who"]), (&json!(303), &json!("nobody")));
    assert_eq!(of("/settings/tokens")["who"], json!("person"));
    assert!(of("/api/v1/workspaces")["who"].as_str().unwrap().starts_with("token "), "{text}");
    for secret in [link, session, token, shown, "in-the-address".to_owned()] {
        assert!(!text.contains(&secret), "{secret}: {text}");
    }
}

#[test]
fn it_sets_a_directory_up_where_it_is_asked_to() {
    let world = World::empty();
    let refused = world.paddock(&["serve", "--port", "0"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("hint:"), "{refused}");
    let mut command = world.command(&["serve", "--init", "--port", "0", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(serde_json::from_str::<Value>(&line).is_ok_and(|told| told["url"].is_string()), "{line}");
    assert!(world.has("paddock.toml"));
    child.kill().unwrap();
    child.wait().unwrap();
    let open = world.paddock(&["serve", "--bind", "0.0.0.0", "--port", "0"]);
    assert_eq!(open.code, 2, "{open}");
    assert!(open.stderr.contains("--host"), "{open}");
}

/// What was answered before the kill.
#[derive(Default)]
struct Answered {
    written: BTreeSet<String>,
    parked: BTreeSet<String>,
    told: BTreeSet<String>,
    last: Option<String>,
}

#[test]
fn what_was_answered_is_there_after_kill_9() {
    let world = World::seed();
    let token = world.paddock(&["token", "new", "agent"]).stdout.trim().to_owned();
    let api = world.paddock(&["token", "new", "program", "--api"]).stdout.trim().to_owned();
    let mut all = Answered::default();
    for round in 0..kills() {
        for n in 0..20 {
            world.write(&format!("workspace/old-{round}-{n}"), "old");
        }
        let mut serving = Serving::start(&world);
        let listening = AtomicBool::new(false);
        let answered = std::thread::scope(|scope| {
            let (address, token, api, listening) = (serving.address, &token, &api, &listening);
            let last = all.last.clone();
            let ears = scope.spawn(move || listen(address, api, last.as_deref(), listening));
            while !listening.load(Ordering::Acquire) && !ears.is_finished() {
                std::thread::yield_now();
            }
            let agents: Vec<_> = (0..4).map(|agent| scope.spawn(move || work(address, token, round, agent))).collect();
            // Long enough that some calls are answered, and never the same.
            std::thread::sleep(Duration::from_millis(120 + 70 * u64::try_from(round % 5).unwrap()));
            serving.child.kill().unwrap();
            serving.child.wait().unwrap();
            let mut answered = ears.join().unwrap();
            for agent in agents {
                let (written, parked) = agent.join().unwrap();
                answered.written.extend(written);
                answered.parked.extend(parked);
            }
            answered
        });
        assert!(!answered.written.is_empty(), "nothing was answered before the kill");
        all.written.extend(answered.written);
        all.parked.extend(answered.parked);
        all.told.extend(answered.told);
        all.last = answered.last.or(all.last);
    }
    let recorded = world.paddock(&["audit", "export"]).stdout;
    let waiting = world.paddock(&["approvals", "list", "--json"]).stdout;
    for path in &all.written {
        assert!(world.has(path.trim_start_matches("/project/")), "{path} was answered and is gone");
        assert!(recorded.contains(path.as_str()), "{path} was answered and is not in the audit");
    }
    for path in &all.parked {
        assert!(waiting.contains(path.as_str()), "{path} waits and is not listed");
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    // Whoever listened hears of all the rest from the next server, and of nothing twice.
    let serving = Serving::start(&world);
    let rest = caught_up(serving.address, &api, all.last.as_deref(), &all);
    for path in all.written.iter().chain(&all.parked) {
        assert!(all.told.contains(path) || rest.contains(path), "{path} was never told");
    }
    assert!(rest.is_disjoint(&all.told), "told twice: {:?}", rest.intersection(&all.told).collect::<Vec<_>>());
}

/// How many rounds of calls each agent makes; `cargo xtask soak` asks for more.
fn rounds_of_calls() -> usize {
    std::env::var("PADDOCK_LOAD_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

const BUSY: usize = 8;
/// What the server may take more at the end than half-way: what it keeps of a call goes to disk.
const MORE: u64 = 48 * 1024;

#[test]
fn under_load_no_change_is_lost_all_is_recorded_and_memory_stays() {
    let world = World::seed();
    let token = world.paddock(&["token", "new", "agent"]).stdout.trim().to_owned();
    let counters: String = (0..BUSY).map(|agent| format!("agent {agent}: 0.\n")).collect();
    world.write("workspace/counters.txt", &counters);
    let serving = Serving::start(&world);
    let rounds = rounds_of_calls();
    let half_way = serve_all(&serving, &token, 0..rounds / 2);
    let at_the_end = serve_all(&serving, &token, rounds / 2..rounds);
    let wanted: String = (0..BUSY).map(|agent| format!("agent {agent}: {rounds}.\n")).collect();
    assert_eq!(world.read("workspace/counters.txt"), wanted);
    let limit = (BUSY * rounds + 1).to_string();
    for tool in ["edit_file", "write_file", "read_file"] {
        let recorded = || {
            let query = world.paddock(&["audit", "query", "--tool", tool, "--limit", &limit, "--json"]);
            query.stdout.matches(&format!("\"{tool}\"")).count()
        };
        // What was only looked at is written down in batches, soon after.
        assert!(eventually(|| recorded() == BUSY * rounds), "{tool}: {} of {}", recorded(), BUSY * rounds);
    }
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    assert!(at_the_end < half_way + MORE, "{half_way} KiB half-way, {at_the_end} KiB at the end");
}

/// All agents at once; answers how much memory the server holds then, in KiB.
fn serve_all(serving: &Serving, token: &str, rounds: std::ops::Range<usize>) -> u64 {
    std::thread::scope(|scope| {
        for agent in 0..BUSY {
            let rounds = rounds.clone();
            scope.spawn(move || rounds.for_each(|round| make_calls(serving.address, token, agent, round)));
        }
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    resident.split_whitespace().next().unwrap().parse().unwrap()
}

/// One edit of the file that all edit, one file of one's own, and what is in it.
fn make_calls(address: SocketAddr, token: &str, agent: usize, round: usize) {
    let done = |tool: &str, arguments: &Value| {
        let answer = call(address, token, tool, arguments).unwrap_or_else(|| panic!("{tool} was not answered"));
        assert!(!answer.contains("\"isError\":true"), "{tool}: {answer}");
        answer
    };
    let counted = |count: usize| format!("agent {agent}: {count}.");
    let edit = json!({ "path": "/project/workspace/counters.txt", "old_string": counted(round), "new_string": counted(round + 1) });
    done("edit_file", &edit);
    let path = format!("/project/workspace/of-{agent}.txt");
    done("write_file", &json!({ "path": path, "content": format!("round {round} of {agent}") }));
    assert!(done("read_file", &json!({ "path": path })).contains(&format!("round {round} of {agent}")));
}

/// Writes and asks for deletes until the server is gone; answers what was answered.
fn work(address: SocketAddr, token: &str, round: usize, agent: usize) -> (Vec<String>, Vec<String>) {
    let (mut written, mut parked) = (Vec::new(), Vec::new());
    for n in 0.. {
        let path = format!("/project/workspace/new-{round}-{agent}-{n}");
        match call(address, token, "write_file", &json!({ "path": path, "content": "new" })) {
            Some(_) => written.push(path),
            None => break,
        }
        if n < 5 {
            let path = format!("/project/workspace/old-{round}-{}", agent * 5 + n);
            match call(address, token, "delete_file", &json!({ "path": path })) {
                Some(answer) => {
                    assert!(answer.contains("has to approve"), "{answer}");
                    parked.push(path);
                }
                None => break,
            }
        }
    }
    (written, parked)
}

/// Listens until the server is gone.
fn listen(address: SocketAddr, token: &str, last: Option<&str>, listening: &AtomicBool) -> Answered {
    let mut answered = Answered { last: last.map(str::to_owned), ..Answered::default() };
    let mut from = stream(address, token, last);
    let mut id = None;
    let mut line = String::new();
    loop {
        line.clear();
        if !from.read_line(&mut line).is_ok_and(|read| read > 0 && line.ends_with('\n')) {
            return answered;
        }
        if line.starts_with(": here") {
            listening.store(true, Ordering::Release);
        }
        if let Some(mark) = line.trim_end().strip_prefix("id: ") {
            id = Some(mark.to_owned());
        } else if let Some(path) = path_of(&line) {
            assert!(answered.told.insert(path.clone()), "{path} was told twice");
        } else if line.trim_end().is_empty() && id.is_some() {
            // An event counts when it came whole.
            answered.last = id.take();
        }
    }
}

fn caught_up(address: SocketAddr, token: &str, last: Option<&str>, all: &Answered) -> BTreeSet<String> {
    let mut from = stream(address, token, last);
    let mut rest = BTreeSet::new();
    // Something that comes last, so that it is known when everything was told.
    let wanted = all.written.iter().chain(&all.parked).filter(|path| !all.told.contains(*path)).count();
    let mut line = String::new();
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while rest.iter().filter(|path| all.written.contains(*path) || all.parked.contains(*path)).count() < wanted {
        line.clear();
        assert!(from.read_line(&mut line).unwrap() > 0, "the stream ended");
        if std::time::Instant::now() > until {
            // What is missing is told by whoever asked.
            return rest;
        }
        rest.extend(path_of(&line));
    }
    rest
}

fn path_of(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line.trim_end().strip_prefix("data: ")?).ok()?;
    event["path"].as_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

fn stream(address: SocketAddr, token: &str, last: Option<&str>) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
    let head = format!("GET /api/v1/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{last}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    BufReader::new(stream)
}
