//! Processes that end with SIGKILL at every boundary of a run: of its checkpoints and messages, and of the ledger's journal, in which an
//! approval is used up. Another process goes on, and what happened outside is counted: every effect is there once.
//!
//! A process is this very binary, told by its environment which part to play. Each boundary has a thread of its own, all in one project.
//! First all are killed, then all go on: where a killed process leaves a lease, it runs out meanwhile.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paddock_agent::{Ended, RunError, RunEvent, Settled, Watcher};
use paddock_state::conversation::ConversationError;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;

use crate::world::{Process, World, answer, call, script};

const PART: &str = "PADDOCK_AGENT_TEST_PART";
const TOP: &str = "PADDOCK_AGENT_TEST_TOP";
const THREAD: &str = "PADDOCK_AGENT_TEST_THREAD";
const BOUNDARY: &str = "PADDOCK_AGENT_TEST_BOUNDARY";

/// A person is asked about some of the appends.
const ASKED: &str = "\n[[approvals.rule]]\ntool = \"append_file\"\npath = \"/w/asked-*\"\nrisk = \"high\"\n";

/// Each append is one line more: what happened twice is seen.
fn effects(thread: &str) -> String {
    let append =
        |name: &str| call("append_file", &json!({ "path": format!("/w/{name}-{thread}"), "content": "once\n" }));
    script(&[answer("- [ ] append\n"), append("free"), append("asked"), answer("appended")])
}

/// Kills its own process at the boundary with that number, having said which it is.
fn dying_at(boundary: usize, passed: &Arc<AtomicUsize>) -> Arc<Watcher> {
    let passed = Arc::clone(passed);
    Arc::new(move |event| {
        if let RunEvent::Boundary(name) = event
            && passed.fetch_add(1, Ordering::SeqCst) + 1 == boundary
        {
            say(&format!("at {name}"));
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    })
}

/// One line in one call; with a mark, since the harness of the tests talks on the same pipe.
fn say(line: &str) {
    std::io::stdout().write_all(format!("\n> {line}\n").as_bytes()).unwrap();
}

/// Does nothing unless another test started it.
#[test]
fn play() {
    let Ok(part) = std::env::var(PART) else { return };
    let told = |name| std::env::var(name).unwrap();
    let thread = told(THREAD);
    let passed = Arc::default();
    let world = World::at(PathBuf::from(told(TOP)), &effects(&thread));
    let process = world.process_watched(dying_at(told(BOUNDARY).parse().unwrap(), &passed));
    let ended = match part.as_str() {
        "start" => process.start(&thread, "go"),
        "resume" => process.resume(&thread),
        "it was done" => process.settle(&thread, Settled::Done),
        "it was not done" => process.settle(&thread, Settled::NotDone),
        other => panic!("no such part: {other}"),
    };
    let how = match ended {
        Ok(Ended::Done(_)) => "done".to_owned(),
        Ok(Ended::Frozen(approval)) => format!("frozen {approval}"),
        Ok(Ended::Blocked(_)) => "blocked".to_owned(),
        // A crash after the last checkpoint leaves a run that is over.
        Err(RunError::Over(_)) => "over".to_owned(),
        Err(RunError::Conversation(ConversationError::Held { .. })) => "held".to_owned(),
        other => panic!("{other:?}"),
    };
    say(&format!("{} {how}", passed.load(Ordering::SeqCst)));
}

/// How a process went.
enum Went {
    /// It was killed at this boundary.
    Killed(String),
    /// It passed so many boundaries, and came to its end.
    Ended(usize, String),
}

/// A project, and the person who looks after it.
struct Ground {
    world: World,
    person: Process,
}

impl Ground {
    fn new(world: World) -> Self {
        let file = world.top.join("project/paddock.toml");
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + ASKED).unwrap();
        let person = world.process();
        Self { world, person }
    }

    /// Has a process play a part, and be killed at that boundary if it gets there.
    fn process(&self, part: &str, thread: &str, boundary: usize) -> Went {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "killed::play"]).env(PART, part).env(THREAD, thread);
        let output = command.env(TOP, &self.world.top).env(BOUNDARY, boundary.to_string()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let said = printed.lines().find_map(|line| line.strip_prefix("> ")).unwrap_or_default();
        if output.status.signal() == Some(Signal::KILL.as_raw()) {
            return Went::Killed(said.strip_prefix("at ").unwrap().to_owned());
        }
        assert!(output.status.success(), "{part} {thread}: {printed}{}", String::from_utf8_lossy(&output.stderr));
        let (passed, how) = said.split_once(' ').unwrap();
        Went::Ended(passed.parse().unwrap(), how.to_owned())
    }

    /// Begins a run and has it killed at a boundary. Gives the boundary's name; or, where it never came, how many there are.
    fn killed_at(&self, thread: &str, boundary: usize) -> Result<String, usize> {
        let (mut part, mut before) = ("start", 0);
        loop {
            let (passed, how) = match self.process(part, thread, boundary - before) {
                Went::Killed(at) => return Ok(at),
                Went::Ended(passed, how) => (passed, how),
            };
            before += passed;
            let Some(approval) = how.strip_prefix("frozen ") else {
                assert_eq!(how, "done");
                return Err(before);
            };
            self.person.approve(approval);
            part = "resume";
        }
    }

    /// Has other processes go on with a thread until it is over; the person does what they are asked for. Gives what that was.
    fn finished(&self, thread: &str) -> Vec<String> {
        let mut asked = Vec::new();
        let (mut part, mut tries) = ("resume", 0);
        loop {
            let Went::Ended(_, how) = self.process(part, thread, usize::MAX) else { panic!("killed by somebody else") };
            let mut words = how.split(' ');
            part = match words.next().unwrap() {
                "done" | "over" => return asked,
                "held" => {
                    tries += 1;
                    assert!(tries < 600, "{thread} is held for good");
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                }
                "frozen" => {
                    self.person.approve(words.next().unwrap());
                    "resume"
                }
                _ if self.sees_the_effect(thread) => "it was done",
                _ => "it was not done",
            };
            asked.push(if part == "resume" { "frozen" } else { part }.to_owned());
        }
    }

    /// The person looks whether the call that was cut off took effect.
    fn sees_the_effect(&self, thread: &str) -> bool {
        let state = self.person.runtime.record.checkpoint(thread, None).unwrap().unwrap().state;
        let call = state.progress.proposed.unwrap().call;
        let name = call.arguments["path"].as_str().unwrap().strip_prefix("/w/").unwrap();
        !self.world.text(name).is_empty()
    }

    fn happened(&self, thread: &str) -> [String; 2] {
        ["free", "asked"].map(|name| self.world.text(&format!("{name}-{thread}")))
    }

    /// What a tool answered may be lost with the process, once its effect is there; that it answered is not.
    fn said(&self, thread: &str) -> Vec<String> {
        let said = self.person.said(thread).into_iter();
        said.map(|line| if line.starts_with("tool:") { "tool".to_owned() } else { line }).collect()
    }
}

/// Boundaries that have to be among those at which a run is killed.
const NAMES: [&str; 12] = [
    "before a checkpoint",
    "after a checkpoint",
    "after a message",
    "after the fold",
    "before the start",
    "after the start",
    "before the intent",
    "after the intent",
    "before the change",
    "after the change",
    "after the end",
    "after the effect",
];

fn killed_at_every_boundary(world: World) {
    let ground = Ground::new(world);
    let boundaries = ground.killed_at("whole", usize::MAX).unwrap_err();
    assert_eq!(ground.happened("whole"), ["once\n"; 2]);
    let thread = |boundary: usize| format!("t{boundary}");
    let kill = |boundary| ground.killed_at(&thread(boundary), boundary).expect("it is reached");
    let names: Vec<String> = (1..=boundaries).map(kill).collect();
    let missing: Vec<_> = NAMES.iter().filter(|name| !names.iter().any(|met| met == *name)).collect();
    assert!(missing.is_empty(), "nothing was killed at {missing:?}");
    let mut asked = BTreeSet::new();
    for (boundary, name) in (1..).zip(&names) {
        let thread = thread(boundary);
        let needed = ground.finished(&thread);
        let told = format!("boundary {boundary}, {name}: a person was asked {needed:?}");
        assert_eq!(ground.happened(&thread), ["once\n"; 2], "{told}");
        assert_eq!(ground.said(&thread), ground.said("whole"), "{told}");
        let replayed = paddock_agent::replay(&ground.person.runtime.record, &thread).unwrap();
        assert_eq!(replayed.differs_at, None, "the record comes to the same again: {told}");
        asked.insert(needed.join(", "));
    }
    // Each of the ways back was needed somewhere.
    for needed in ["", "frozen", "it was done", "it was not done, frozen"] {
        assert!(asked.contains(needed), "{needed:?} is not among {asked:?}");
    }
}

#[test]
fn a_run_that_is_killed_at_any_boundary_has_every_effect_once() {
    killed_at_every_boundary(World::new(""));
}

#[test]
fn a_run_that_is_killed_at_any_boundary_has_every_effect_once_on_postgresql() {
    killed_at_every_boundary(World::on_postgres(""));
}
