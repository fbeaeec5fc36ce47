//! `paddock serve` under load: calls over HTTP beside the official server over stdio; many agents and viewers at once; pages; exports.
//!
//! Every answer is checked and every event counted: a figure of a server that loses something means nothing.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::http::Connection;
use crate::options::Options;
use crate::report::{Report, Wanted, grouped, mebibytes};
use crate::rounds::in_turn;
use crate::servers::{Kind, Server, Work, tell_absent};
use crate::trees::{Project, SIZE, text};
use crate::usage::{forget_peak, memory};

/// Viewers and agents at once.
const VIEWERS: usize = 1000;
const AGENTS: usize = 200;
/// Calls of each agent while all watch.
const CALLS: usize = 10;
/// Files of the large Workspace.
const MANY: usize = 100_000;
/// What is exported, in MiB.
const EXPORTED: u64 = 2048;
/// The most that the first page may transfer.
const FIRST_PAGE: u64 = 100 * 1024;

/// A server that runs.
struct Served {
    child: Child,
    address: SocketAddr,
    agent: String,
    api: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the server.
pub(crate) fn run(report: &mut Report, options: &Options, project: &Project, servers: &[Server]) -> Result<()> {
    let served = Served::start(options, project)?;
    calls(report, options, project, servers, &served)?;
    crowd(report, options, &served)?;
    pages(report, options, project, &served)?;
    export(report, options, project, &served)
}

impl Served {
    fn start(options: &Options, project: &Project) -> Result<Self> {
        let program = options.paddock.clone().context("--paddock names the binary that is measured")?;
        let paddock = |words: &[&str]| {
            let mut command = Command::new(&program);
            command.arg("--home").arg(project.system_root()).arg("--config").arg(project.path().join("paddock.toml"));
            command.args(words);
            command
        };
        let token = |words: &[&str]| -> Result<String> {
            let made = paddock(words).output().context("cannot start Paddock")?;
            ensure!(made.status.success(), "`paddock token` failed: {}", String::from_utf8_lossy(&made.stderr));
            Ok(String::from_utf8(made.stdout)?.trim().to_owned())
        };
        let (agent, api) = (token(&["token", "new", "bench"])?, token(&["token", "new", "bench", "--api"])?);
        let mut serve = paddock(&["serve", "--port", "0", "--json"]);
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("cannot start Paddock")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("it has an output")?).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line).context("`paddock serve --json` says where it listens")?;
        let address = told["address"].as_str().and_then(|address| address.parse().ok()).context("an address")?;
        Ok(Self { child, address, agent, api })
    }

    fn as_agent(&self) -> Result<Connection> {
        Connection::open(self.address, &self.agent)
    }

    fn as_program(&self) -> Result<Connection> {
        Connection::open(self.address, &self.api)
    }
}

/// One call of a tool, as a client of the newest protocol makes it.
fn call(connection: &mut Connection, tool: &str, arguments: &Value) -> Result<(String, Duration)> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "paddock-bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": meta },
    });
    let body = serde_json::to_vec(&body)?;
    let more = format!(
        "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\n"
    );
    let start = Instant::now();
    let answer = connection.ask("POST", "/mcp", &more, &body)?;
    let took = start.elapsed();
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    ensure!(answer.status == 200, "{tool} answered {}: {text}", answer.status);
    // The answer is JSON, or one event that holds it.
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: ")).chain([text.as_str()]);
    let message = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).find(|value| value["id"] == 1);
    let message = message.with_context(|| format!("{tool} answered {text}"))?;
    ensure!(message["result"]["isError"] != true && message["error"].is_null(), "{tool} failed: {message}");
    let pieces = message["result"]["content"].as_array().cloned().unwrap_or_default();
    Ok((pieces.iter().filter_map(|piece| piece["text"].as_str()).collect(), took))
}

fn calls(report: &mut Report, options: &Options, project: &Project, servers: &[Server], served: &Served) -> Result<()> {
    report.section(
        "Calls per second over HTTP",
        "MCP over streamable HTTP on one kept connection, one call at a time, with a token that is checked at each call; beside the official server, which \
         speaks over pipes. More is better, and the ratio is ours divided by theirs.",
    );
    let Some(official) = servers.iter().find(|server| server.kind == Kind::Official) else {
        tell_absent(report, options, servers, &[Kind::Official]);
        return Ok(());
    };
    let samples = project.read_tree()?;
    let (mut theirs, _) = official.start()?;
    let mut ours = served.as_agent()?;
    let mut next = 0;
    let reads = in_turn(2, options.rounds(20), |which| {
        let mut took = Duration::ZERO;
        for _ in 0..200 {
            let sample = &samples[next % samples.len()];
            next += 1;
            let (text, time) = ask(official, &mut theirs, &mut ours, which, Work::Read { path: &sample.path })?;
            ensure!(text.contains(&sample.content), "\"{}\" was not read whole", sample.path);
            took += time;
        }
        Ok(took / 200)
    })?;
    report.faster("read a file of 4 KiB", Kind::Official.name(), &reads[0], &reads[1], Some(Wanted::AtLeast(1.0)));
    let mut turn = 0;
    let writes = in_turn(2, options.rounds(15), |which| {
        let mut took = Duration::ZERO;
        for i in 0..50 {
            turn += 1;
            let path = format!("workspace/http-{which}-{i}.txt");
            let content = text(turn, SIZE);
            took += ask(official, &mut theirs, &mut ours, which, Work::Write { path: &path, content: &content })?.1;
        }
        Ok(took / 50)
    })?;
    report.faster("write a file of 4 KiB", Kind::Official.name(), &writes[0], &writes[1], None);
    Ok(())
}

/// The same work of the peer (0) or of ours (1).
fn ask(
    official: &Server,
    theirs: &mut crate::client::Client,
    ours: &mut Connection,
    which: usize,
    work: Work<'_>,
) -> Result<(String, Duration)> {
    if which == 0 {
        let (tool, arguments) = official.request(work).context("every server has the tool")?;
        let timed = theirs.call(tool, &arguments)?;
        return Ok((timed.text, timed.took));
    }
    let (tool, arguments) = crate::servers::ours(work);
    call(ours, tool, &arguments)
}

/// Many agents call while many watch; every viewer must see every call.
fn crowd(report: &mut Report, options: &Options, served: &Served) -> Result<()> {
    let (viewers, agents) = if options.quick { (VIEWERS / 5, AGENTS / 5) } else { (VIEWERS, AGENTS) };
    report.section(
        "A crowd",
        &format!(
            "{} viewers of the live events and {} agents that make {CALLS} calls each, all at once, on this machine's processors. Every viewer has \
             to see every call.",
            grouped(viewers as f64),
            agents
        ),
    );
    let before = memory(served.child.id())?;
    let wanted = (agents * CALLS) as u64;
    let (ready, lost, seen) = (Barrier::new(viewers + 1), AtomicU64::new(0), AtomicU64::new(0));
    let took = std::thread::scope(|scope| -> Result<Duration> {
        for _ in 0..viewers {
            let (ready, lost, seen) = (&ready, &lost, &seen);
            let watch = move || {
                let count = watched(served, wanted, ready).unwrap_or(0);
                lost.fetch_add(wanted - count.min(wanted), Ordering::Relaxed);
                seen.fetch_add(count, Ordering::Relaxed);
            };
            std::thread::Builder::new().stack_size(256 * 1024).spawn_scoped(scope, watch)?;
        }
        ready.wait();
        let start = Instant::now();
        let calling: Vec<_> = (0..agents)
            .map(|agent| {
                scope.spawn(move || -> Result<()> {
                    let mut connection = served.as_agent()?;
                    for n in 0..CALLS {
                        let path = format!("/project/workspace/crowd-{agent}-{n}.txt");
                        call(&mut connection, "write_file", &json!({ "path": path, "content": "in a crowd\n" }))?;
                    }
                    Ok(())
                })
            })
            .collect();
        for agent in calling {
            agent.join().map_err(|_| anyhow::anyhow!("an agent panicked"))??;
        }
        Ok(start.elapsed())
    })?;
    let after = memory(served.child.id())?;
    let lost = lost.load(Ordering::Relaxed);
    report.noted("calls per second of all agents", &format!("{}/s", grouped(wanted as f64 / took.as_secs_f64())));
    report.noted("events that viewers saw", &grouped(seen.load(Ordering::Relaxed) as f64));
    report.at_most("events lost", lost, 0, |lost| lost.to_string());
    report.noted("memory before", &mebibytes(before.resident));
    report.noted("memory at its most", &mebibytes(after.peak));
    Ok(())
}

/// Watches until as many calls were seen as there will be; says how many.
fn watched(served: &Served, wanted: u64, ready: &Barrier) -> Result<u64> {
    let connection = served.as_program().and_then(|mut connection| {
        connection.listen("/api/v1/events")?;
        Ok(connection)
    });
    // Everybody has to come, also those who cannot listen.
    ready.wait();
    let (mut connection, mut line, mut count) = (connection?, Vec::new(), 0);
    while count < wanted {
        if connection.line(&mut line).is_err() {
            break;
        }
        if line.starts_with(b"data: ") && line.windows(7).any(|part| part == b"/crowd-") {
            count += 1;
        }
    }
    Ok(count)
}

fn pages(report: &mut Report, options: &Options, project: &Project, served: &Served) -> Result<()> {
    report.section("Pages", "As a browser asks for them, on one connection, nothing compressed.");
    let mut connection = served.as_program()?;
    let first = connection.ask("GET", "/", "", b"")?;
    ensure!(first.status == 200, "the first page answered {}", first.status);
    let page = String::from_utf8(first.body)?;
    let mut bytes = page.len() + first.head.len();
    for asset in assets(&page) {
        let answer = connection.ask("GET", &asset, "", b"")?;
        ensure!(answer.status == 200, "\"{asset}\" answered {}", answer.status);
        bytes += answer.body.len() + answer.head.len();
    }
    let shown = |bytes: u64| format!("{} bytes", grouped(bytes as f64));
    report.at_most("the first page with all it names", bytes as u64, FIRST_PAGE, shown);
    let many = if options.quick { MANY / 10 } else { MANY };
    let place = project.path().join("workspace/many");
    std::fs::create_dir_all(&place)?;
    for n in 0..many {
        std::fs::write(place.join(format!("file-{n:06}.txt")), b"")?;
    }
    let mut times = Vec::new();
    for _ in 0..options.rounds(10) {
        let start = Instant::now();
        let answer = connection.ask("GET", "/files/project/workspace/many", "", b"")?;
        ensure!(answer.status == 200, "the listing answered {}", answer.status);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    report.took(&format!("the page of a directory of {} files", grouped(many as f64)), times[times.len() / 2], None);
    Ok(std::fs::remove_dir_all(place)?)
}

/// What a page names that a browser fetches with it.
fn assets(page: &str) -> Vec<String> {
    let named = page.split('"').filter(|word| word.starts_with("/assets/")).map(|word| word.split('#').next());
    let mut named: Vec<String> = named.flatten().map(str::to_owned).collect();
    named.sort();
    named.dedup();
    named
}

/// A large project as a Zip file, in constant memory.
fn export(report: &mut Report, options: &Options, project: &Project, served: &Served) -> Result<()> {
    let mebi = if options.quick { EXPORTED / 16 } else { EXPORTED };
    report.section("Exports", "A project as a Zip file, streamed.");
    let place = project.path().join("workspace/large-project");
    lay_large(&place, mebi)?;
    forget_peak(served.child.id())?;
    let before = memory(served.child.id())?;
    let start = Instant::now();
    let bytes = served.as_program()?.count("/api/v1/export/main/project/workspace/large-project?format=zip")?;
    let took = start.elapsed();
    let after = memory(served.child.id())?;
    std::fs::remove_dir_all(place)?;
    report.noted(&format!("{mebi} MiB exported in"), &crate::report::time(took));
    report.noted("bytes of the Zip file", &grouped(bytes as f64));
    let grown = after.peak.saturating_sub(before.peak);
    report.at_most("memory that it took", grown, 64 * 1024 * 1024, mebibytes);
    Ok(())
}

/// Files of 16 MiB that a compressor can do something with, and not too much.
fn lay_large(place: &Path, mebi: u64) -> Result<()> {
    std::fs::create_dir_all(place)?;
    std::fs::write(place.join("index.html"), "<h1>large</h1>")?;
    let block: Vec<u8> = (0..1024 * 1024_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for n in 0..mebi / 16 {
        let mut file = std::fs::File::create(place.join(format!("data-{n:04}.bin")))?;
        for part in 0..16_u64 {
            std::io::Write::write_all(&mut file, &(n * 16 + part).to_le_bytes())?;
            std::io::Write::write_all(&mut file, &block[8..])?;
        }
    }
    Ok(())
}
