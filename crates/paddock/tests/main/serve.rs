//! `paddock serve` as people start it; under load, and killed under load, with nothing lost that was answered.
//!
//! Agents write and are asked about deletes over HTTP while somebody decides about these and somebody listens to the events. The process is
//! killed with -9 at a moment of chance. What was answered has to be there afterwards: the file, its row in the history, the approval that
//! waits, the decision; and whoever listened goes on with the new server exactly where the old one was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{World, eventually};
use crate::server::{Server, token};

/// How often the server is killed; `cargo xtask soak` asks for more.
fn kills() -> usize {
    std::env::var("PADDOCK_SERVE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

#[test]
fn it_says_where_it_listens_and_ends_when_it_is_asked_to() {
    let world = World::seed();
    let server = Server::start(&world);
    let url = server.told["url"].as_str().unwrap();
    assert_eq!(server.told["mcp"], format!("{url}/mcp"));
    let link = server.told["sign_in"].as_str().unwrap().strip_prefix(url).unwrap();
    assert_eq!(server.request("GET", link).status, 303);
    assert_eq!(server.request("GET", link).status, 403);
    let another = world.paddock(&["login", "--url", url, "--json"]).json();
    let another = another["sign_in"].as_str().unwrap().strip_prefix(url).unwrap().to_owned();
    assert_eq!(server.request("GET", &another).status, 303);
    let known = world.paddock(&["login"]);
    assert!(known.stdout.starts_with(url) && !known.stderr.contains("nobody listens"), "{known}");
    server.signal(Signal::TERM);
    assert!(server.ended().success());
}

#[test]
fn of_several_servers_one_that_answers_is_named() {
    let world = World::seed();
    let (one, two) = (Server::start(&world), Server::start(&world));
    let url = one.told["url"].as_str().unwrap();
    two.signal(Signal::KILL);
    two.ended();
    let known = world.paddock(&["login"]);
    assert!(known.stdout.starts_with(url) && !known.stderr.contains("nobody listens"), "{known}");
    let three = Server::start(&world);
    assert_eq!(three.request("GET", "/login/none").status, 403);
    three.signal(Signal::TERM);
    assert!(three.ended().success());
    let known = world.paddock(&["login"]);
    assert!(known.stdout.starts_with(url), "{known}");
}

#[test]
fn a_link_to_where_nobody_listens_says_so() {
    let ran = World::configured("[serve]\nport = 1\n").paddock(&["login"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("http://127.0.0.1:1/login/"), "{ran}");
    assert!(ran.stderr.contains("nobody listens there now: start `paddock serve` first"), "{ran}");
}

#[test]
fn a_port_that_another_project_has_is_told_with_that_project() {
    let world = World::seed();
    let server = Server::start(&world);
    let other = world.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("paddock.toml"), "name = \"other\"\n").unwrap();
    let config = other.join("paddock.toml").display().to_string();
    let port = server.port().to_string();
    let second = world.paddock(&["serve", "--config", &config, "--port", &port]);
    let project = world.project().canonicalize().unwrap();
    assert_eq!(second.code, 1, "{second}");
    assert!(second.stderr.contains("`paddock serve` of \"") && second.stderr.contains("\" has it"), "{second}");
    assert!(second.stderr.contains(project.file_name().unwrap().to_str().unwrap()), "{second}");
    // One that was killed has it no more, although it could not say so.
    server.signal(Signal::KILL);
    server.ended();
    let _taken = std::net::TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let second = world.paddock(&["serve", "--config", &config, "--port", &port]);
    assert!(second.code == 1 && !second.stderr.contains("has it"), "{second}");
}

/// A server whose words go to a file, and that file.
fn overheard(world: &World, options: &[&str]) -> (Server, std::path::PathBuf) {
    let said = world.path().join("said");
    let mut command = Server::command(world);
    command.args(options).stderr(std::fs::File::create(&said).unwrap());
    (Server::spawn(command), said)
}

#[test]
fn an_open_tab_does_not_keep_it_from_ending() {
    let world = World::seed();
    let (server, said) = overheard(&world, &[]);
    let mut tab = stream(&server, &token(&world, &["ci", "--api"]), None);
    let mut line = String::new();
    while !line.starts_with(": here") {
        line.clear();
        assert!(tab.read_line(&mut line).unwrap() > 0);
    }
    server.signal(Signal::INT);
    // Ended, not broken off when the time for a farewell was over.
    let mut rest = String::new();
    tab.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    assert!(server.ended().success());
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(said.contains("ending when what is under way has ended"), "{said}");
}

#[test]
fn every_request_is_a_line_of_the_log_and_no_secret_is_in_any() {
    let world = World::seed();
    let (server, log) = overheard(&world, &["--log", "trace", "--log-format", "json"]);
    let link = server.told["sign_in"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let signed_in = server.request("GET", &format!("/login/{link}"));
    let name = format!("paddock_session_{}=", server.port());
    let cookies = signed_in.headers.iter().filter(|(header, _)| header == "set-cookie");
    let session = cookies.filter_map(|(_, value)| value.strip_prefix(&name)).next().unwrap();
    let session = session.split(';').next().unwrap().to_owned();
    let secret = token(&world, &["ci", "--api"]);
    let made = server
        .request("POST", "/settings/tokens")
        .header("cookie", &format!("{name}{session}"))
        .header("sec-fetch-site", "same-origin")
        .form(&[("name", "x"), ("agent", "main"), ("days", "")]);
    let shown = made.text().split("Bearer ").nth(1).unwrap_or_default().to_owned();
    let shown: String = shown.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
    assert!(made.status == 200 && shown.len() > 20, "{}", made.text());
    for (target, status) in [("/api/v1/workspaces", 200), ("/api/v1/nowhere?secret=in-the-address", 404)] {
        assert_eq!(server.request("GET", target).bearer(&secret).status, status);
    }
    server.signal(Signal::TERM);
    server.ended();
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |route: &str| {
        lines.iter().find(|line| line["route"] == json!(route)).unwrap_or_else(|| panic!("{route}: {text}"))
    };
    assert_eq!((&of("/login/{link}")["status"], &of("/login/{link}")["who"]), (&json!(303), &json!("nobody")));
    assert_eq!(of("/settings/tokens")["who"], json!("person"));
    assert!(of("/api/v1/workspaces")["who"].as_str().unwrap().starts_with("token "), "{text}");
    for secret in [link, session, secret, shown, "in-the-address".to_owned()] {
        assert!(!text.contains(&secret), "{secret}: {text}");
    }
}

#[test]
fn it_sets_a_directory_up_where_it_is_asked_to() {
    let world = World::empty();
    let refused = world.paddock(&["serve", "--port", "0"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("hint:"), "{refused}");
    let mut command = Server::command(&world);
    command.arg("--init");
    assert!(Server::spawn(command).told["url"].is_string());
    assert!(world.has("paddock.toml"));
    let open = world.paddock(&["serve", "--bind", "0.0.0.0", "--port", "0"]);
    assert_eq!(open.code, 2, "{open}");
    assert!(open.stderr.contains("--host"), "{open}");
}

/// What was done, as an event tells it: the tool or the person's command, and the path.
type Act = (String, String);

/// What was answered before the kill.
#[derive(Default)]
struct Answered {
    written: BTreeSet<String>,
    parked: BTreeSet<String>,
    /// What somebody decided about a path.
    decided: BTreeMap<String, &'static str>,
    told: BTreeSet<Act>,
    last: Option<String>,
}

impl Answered {
    /// Everything that whoever listens has to be told of.
    fn acts(&self) -> BTreeSet<Act> {
        let of = |tool: &str, path: &String| (tool.to_owned(), path.clone());
        let written = self.written.iter().map(|path| of("write_file", path));
        let parked = self.parked.iter().map(|path| of("delete_file", path));
        let decided = self.decided.iter().map(|(path, decision)| of(&format!("approvals {decision}"), path));
        written.chain(parked).chain(decided).collect()
    }

    fn extend(&mut self, more: Self) {
        self.written.extend(more.written);
        self.parked.extend(more.parked);
        self.decided.extend(more.decided);
        self.told.extend(more.told);
        self.last = more.last.or(self.last.take());
    }
}

#[test]
fn what_was_answered_is_there_after_kill_9() {
    let world = World::seed();
    let (secret, api) = (token(&world, &["agent"]), token(&world, &["program", "--api"]));
    let mut all = Answered::default();
    for round in 0..kills() {
        for n in 0..20 {
            world.write(&format!("workspace/old-{round}-{n}"), "old");
        }
        let server = Server::start(&world);
        let listening = AtomicBool::new(false);
        let answered = std::thread::scope(|scope| {
            let (server, secret, api, listening) = (&server, &secret, &api, &listening);
            let last = all.last.clone();
            let ears = scope.spawn(move || listen(server, api, last.as_deref(), listening));
            while !listening.load(Ordering::Acquire) && !ears.is_finished() {
                std::thread::yield_now();
            }
            let (wrote, written) = channel();
            let working = |agent| {
                let wrote = wrote.clone();
                scope.spawn(move || work(server, secret, round, agent, &wrote))
            };
            let agents: Vec<_> = (0..4).map(working).collect();
            drop(wrote);
            let (first, enough) = channel();
            let person = scope.spawn(move || decide(server, api, &first));
            // Once something is written, somebody has agreed and somebody has refused, at a moment that is never the same.
            let enough = enough.recv().and(written.recv());
            std::thread::sleep(Duration::from_millis(70 * u64::try_from(round % 5).unwrap()));
            server.signal(Signal::KILL);
            let mut answered = ears.join().unwrap();
            answered.decided = person.join().unwrap();
            enough.unwrap();
            for agent in agents {
                let (written, parked) = agent.join().unwrap();
                answered.written.extend(written);
                answered.parked.extend(parked);
            }
            answered
        });
        server.ended();
        assert!(!answered.written.is_empty(), "nothing was answered before the kill");
        all.extend(answered);
    }
    let recorded = world.paddock(&["audit", "export"]).stdout;
    for path in &all.written {
        assert!(world.has(path.trim_start_matches("/project/")), "{path} was answered and is gone");
        assert!(recorded.contains(path.as_str()), "{path} was answered and is not in the audit");
    }
    are_as_decided(&world.paddock(&["approvals", "list", "--all", "--json"]).json(), &all);
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    // Whoever listened hears of all the rest from the next server, and of nothing twice.
    let server = Server::start(&world);
    let rest = caught_up(&server, &api, all.last.as_deref(), &all);
    for act in all.acts() {
        assert!(all.told.contains(&act) || rest.contains(&act), "{act:?} was never told");
    }
    assert!(rest.is_disjoint(&all.told), "told twice: {:?}", rest.intersection(&all.told).collect::<Vec<_>>());
    decisions_hold(&server, &secret, &all);
}

/// Each approval that was asked for is listed, and each decision that was answered is the one it has.
fn are_as_decided(listed: &Value, all: &Answered) {
    let of = |path: &str| {
        let rows: Vec<&Value> = listed.as_array().unwrap().iter().filter(|row| row["path"] == path).collect();
        assert_eq!(rows.len(), 1, "{path}: {rows:?}");
        rows[0]
    };
    for path in &all.parked {
        of(path);
    }
    for (path, decision) in &all.decided {
        let row = of(path);
        let wanted = if *decision == "approve" { "approved" } else { "rejected" };
        assert_eq!((&row["status"], &row["decided_by"]), (&json!(wanted), &json!("token program")), "{row}");
    }
}

/// Who makes the calls again is let through, or told why not.
fn decisions_hold(server: &Server, secret: &str, all: &Answered) {
    for (path, decision) in &all.decided {
        let answer = server.call(secret, "delete_file", &json!({ "path": path }));
        let wanted = if *decision == "approve" { "Deleted" } else { REASON };
        assert!(answer.contains(wanted), "{decision} {path}: {answer}");
    }
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
    let secret = token(&world, &["agent"]);
    let counters: String = (0..BUSY).map(|agent| format!("agent {agent}: 0.\n")).collect();
    world.write("workspace/counters.txt", &counters);
    let server = Server::start(&world);
    let rounds = rounds_of_calls();
    let half_way = serve_all(&server, &secret, 0..rounds / 2);
    let at_the_end = serve_all(&server, &secret, rounds / 2..rounds);
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
fn serve_all(server: &Server, secret: &str, rounds: std::ops::Range<usize>) -> u64 {
    std::thread::scope(|scope| {
        for agent in 0..BUSY {
            let rounds = rounds.clone();
            scope.spawn(move || rounds.for_each(|round| make_calls(server, secret, agent, round)));
        }
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    resident.split_whitespace().next().unwrap().parse().unwrap()
}

/// One edit of the file that all edit, one file of one's own, and what is in it.
fn make_calls(server: &Server, secret: &str, agent: usize, round: usize) {
    let done = |tool: &str, arguments: &Value| {
        let answer = server.call(secret, tool, arguments);
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
fn work(server: &Server, secret: &str, round: usize, agent: usize, wrote: &Sender<()>) -> (Vec<String>, Vec<String>) {
    let (mut written, mut parked) = (Vec::new(), Vec::new());
    for n in 0.. {
        let path = format!("/project/workspace/new-{round}-{agent}-{n}");
        match server.try_call(secret, "write_file", &json!({ "path": path, "content": "new" })) {
            Some(_) => {
                written.push(path);
                // Only the first is waited for.
                let _ = wrote.send(());
            }
            None => break,
        }
        if n < 5 {
            let path = format!("/project/workspace/old-{round}-{}", agent * 5 + n);
            match server.try_call(secret, "delete_file", &json!({ "path": path })) {
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

const REASON: &str = "it is still needed";

/// Agrees to every other call that waits and refuses the rest, until the server is gone; answers what was answered. Says when there was
/// one of each.
fn decide(server: &Server, secret: &str, enough: &Sender<()>) -> BTreeMap<String, &'static str> {
    let mut decided = BTreeMap::new();
    let ask = |method: &str, path: &str| server.request(method, path).bearer(secret);
    while let Ok(waiting) = ask("GET", "/api/v1/approvals?which=waiting").try_send() {
        let waiting: Vec<Value> = serde_json::from_slice(&waiting.body).unwrap();
        for approval in waiting {
            let decision = if decided.len() % 2 == 0 { "approve" } else { "reject" };
            let mut body = json!({ "decision": decision, "shown": approval["shown"] });
            if decision == "reject" {
                body["reason"] = json!(REASON);
            }
            let target = format!("/api/v1/approvals/{}/decision", approval["id"].as_str().unwrap());
            let Ok(answer) = ask("POST", &target).json_body(&body).try_send() else { return decided };
            assert_eq!(answer.status, 200, "{}", answer.text());
            decided.insert(approval["path"].as_str().unwrap().to_owned(), decision);
            if decided.len() == 2 {
                enough.send(()).unwrap();
            }
        }
    }
    decided
}

/// Listens until the server is gone.
fn listen(server: &Server, secret: &str, last: Option<&str>, listening: &AtomicBool) -> Answered {
    let mut answered = Answered { last: last.map(str::to_owned), ..Answered::default() };
    let mut from = stream(server, secret, last);
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
        } else if let Some(act) = act_of(&line) {
            assert!(answered.told.insert(act.clone()), "{act:?} was told twice");
        } else if line.trim_end().is_empty() && id.is_some() {
            // An event counts when it came whole.
            answered.last = id.take();
        }
    }
}

fn caught_up(server: &Server, secret: &str, last: Option<&str>, all: &Answered) -> BTreeSet<Act> {
    let mut from = stream(server, secret, last);
    let mut rest = BTreeSet::new();
    let mut missing: BTreeSet<Act> = all.acts().difference(&all.told).cloned().collect();
    let mut line = String::new();
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !missing.is_empty() {
        line.clear();
        assert!(from.read_line(&mut line).unwrap() > 0, "the stream ended");
        if std::time::Instant::now() > until {
            // What is missing is told by whoever asked.
            return rest;
        }
        if let Some(act) = act_of(&line) {
            missing.remove(&act);
            rest.insert(act);
        }
    }
    rest
}

fn act_of(line: &str) -> Option<Act> {
    let event: Value = serde_json::from_str(line.trim_end().strip_prefix("data: ")?).ok()?;
    let path = event["path"].as_str().filter(|path| !path.is_empty())?;
    Some((event["tool"].as_str()?.to_owned(), path.to_owned()))
}

fn stream(server: &Server, secret: &str, last: Option<&str>) -> BufReader<TcpStream> {
    let request = server.request("GET", "/api/v1/events").bearer(secret);
    let request = match last {
        Some(id) => request.header("last-event-id", id),
        None => request,
    };
    BufReader::new(request.open())
}
