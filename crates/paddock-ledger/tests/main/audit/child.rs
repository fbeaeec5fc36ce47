//! Processes that the tests start: this very binary, told by its environment which part to play.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use paddock_core::Audit;
use paddock_ledger::audit::{Filter, Kind};

use super::{Ground, effect, main, open_at, record};

const PART: &str = "PADDOCK_LEDGER_TEST_PART";
const HOME: &str = "PADDOCK_LEDGER_TEST_HOME";
const URL: &str = "PADDOCK_LEDGER_TEST_URL";
const ROUNDS: &str = "PADDOCK_CRASH_ROUNDS";

/// Does nothing unless another test started it.
#[test]
fn play() {
    let (Ok(part), Ok(home)) = (std::env::var(PART), std::env::var(HOME)) else { return };
    let (home, url) = (Path::new(&home), std::env::var(URL).ok());
    match part.as_str() {
        "endless" => endless(home, url.as_deref()),
        "some" => some(home, url.as_deref()),
        "full-disk" => super::trouble::full_disk(home),
        "left-behind" => super::trouble::left_behind(home),
        "read-only-disk" => super::trouble::read_only_disk(home),
        other => panic!("no such part: {other}"),
    }
}

pub(super) fn command(program: &str, before: &[&str], part: &str, ground: &Ground) -> Command {
    let mut command = Command::new(program);
    command.args(before).env(PART, part).env(HOME, ground.home());
    if let Some(url) = ground.url() {
        command.env(URL, url);
    }
    command
}

pub(super) fn ourselves() -> [String; 4] {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [program, "--exact".into(), "--nocapture".into(), "audit::child::play".into()]
}

fn start(part: &str, ground: &Ground) -> Child {
    let [program, rest @ ..] = ourselves();
    command(&program, &[], part, ground).args(rest).stdout(Stdio::piped()).spawn().unwrap()
}

/// Effects and reads until it is killed; says each effect once it is acknowledged.
fn endless(home: &Path, url: Option<&str>) {
    let log = open_at(home, url);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let log = &log;
            scope.spawn(move || {
                for n in 0.. {
                    log.record(&record(&main(), "read", "/ws/read", false)).unwrap();
                    let call = effect(log, &format!("/ws/{thread}/{n}")).unwrap();
                    let line = format!("\n> {call}\n");
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

/// A few effects and reads, and a proper end.
fn some(home: &Path, url: Option<&str>) {
    let log = open_at(home, url);
    for n in 0..50 {
        effect(&log, &format!("/ws/{n}")).unwrap();
        log.record(&record(&main(), "read", "/ws/read", false)).unwrap();
    }
    log.close().unwrap();
}

fn rounds() -> u64 {
    std::env::var(ROUNDS).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(10)
}

/// Whatever the moment: what was acknowledged has both its rows, and nobody cries wolf.
fn killed_at_random(ground: &Ground) {
    let mut acknowledged = BTreeSet::new();
    for round in 0..rounds() {
        let mut child = start("endless", ground);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Not before it writes; then at a moment that differs from round to round, past the outside head's second at times.
        let mut said: Vec<String> = Vec::new();
        said.extend(lines.by_ref().filter_map(|line| Some(line.split_once("> ")?.1.to_owned())).take(1));
        let micros = (round * 7919 + u64::from(child.id()) * 104_729) % 150_000;
        let moment = Duration::from_micros(if round % 5 == 4 { 1_000_000 + micros } else { micros });
        let reader = std::thread::spawn(move || {
            said.extend(lines.filter_map(|line| Some(line.split_once("> ")?.1.to_owned())));
            said
        });
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(reader.join().unwrap());
        let report = ground.verify();
        assert!(report.is_ok(), "round {round}: {report:?}");
    }
    assert!(acknowledged.len() as u64 >= rounds());
    let (mut intents, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    let log = ground.open();
    let mut filter = Filter { limit: Some(5000), ..Filter::default() };
    loop {
        let page = log.query(&filter).unwrap();
        for row in page.rows {
            let calls = if row.kind == Kind::Intent { &mut intents } else { &mut outcomes };
            calls.insert(row.call.to_string());
        }
        filter.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    for call in &acknowledged {
        assert!(intents.contains(call) && outcomes.contains(call), "{call} was acknowledged");
    }
}

#[test]
fn a_process_killed_at_any_moment_leaves_a_whole_audit_in_sqlite() {
    killed_at_random(&Ground::sqlite());
}

#[test]
fn a_process_killed_at_any_moment_leaves_a_whole_audit_in_postgres() {
    killed_at_random(&Ground::postgres());
}

#[test]
fn many_processes_write_at_once() {
    for ground in Ground::both() {
        let children: Vec<Child> = (0..8).map(|_| start("some", &ground)).collect();
        let while_they_write = ground.verify();
        assert!(while_they_write.is_ok(), "{while_they_write:?}");
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let report = ground.verify();
        assert!(report.is_ok(), "{report:?}");
        assert_eq!((report.chains, report.rows), (8, 8 * 50 * 3));
        assert!(std::fs::read_to_string(ground.outside()).unwrap().contains("\"chains\":[]"), "all are closed");
    }
}
