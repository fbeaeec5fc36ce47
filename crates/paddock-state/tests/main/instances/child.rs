//! Processes that the tests start: this very binary, told by its environment which part to play.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_state::conversation::{Conversation, ConversationError};
use paddock_state::instance::Instances;
use rustix::process::{Pid, Signal, kill_process};

use super::{append, key, message, opened, replace, turn};

const PART: &str = "PADDOCK_STATE_TEST_PART";
const PLACE: &str = "PADDOCK_STATE_TEST_PLACE";
/// After this a holder on a server that does not answer is taken for dead.
pub(super) const LEASE: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed when it is no longer needed.
pub(super) struct Player {
    child: Child,
    said: Box<dyn Iterator<Item = String>>,
    told: ChildStdin,
}

impl Player {
    pub(super) fn start(part: &str, place: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "instances::child::play"]);
        command.env(PART, part).env(PLACE, place).stdout(Stdio::piped()).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        // The harness talks on the same pipe.
        let said = out.lines().map_while(Result::ok).filter_map(|line| Some(line.split_once("> ")?.1.to_owned()));
        let told = child.stdin.take().unwrap();
        Self { child, said: Box::new(said), told }
    }

    /// The next line it says; none when it has ended.
    pub(super) fn hears(&mut self) -> Option<String> {
        self.said.next()
    }

    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.told, "{line}").unwrap();
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it at once; what it had said by then.
    pub(super) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.said, Box::new(std::iter::empty())).collect()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes the conversation as soon as whoever died with it is taken for dead.
pub(super) fn taken(instances: &dyn Instances, name: &str) -> Box<dyn Conversation> {
    let end = Instant::now() + PATIENCE;
    loop {
        match instances.conversation(&key(name)) {
            Ok(conversation) => return conversation,
            Err(ConversationError::Held { .. } | ConversationError::Database(_)) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// One line in one call, marked.
fn say(line: &str) {
    let mut out = std::io::stdout();
    out.write_all(format!("\n> {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
fn play() {
    let (Ok(part), Ok(place)) = (std::env::var(PART), std::env::var(PLACE)) else { return };
    let instances = opened(&place, Some(LEASE));
    match part.as_str() {
        "turns" => endless_turns(&instances),
        "hold" => hold(&instances),
        "sleeper" => sleeper(&instances),
        other => panic!("no such part: {other}"),
    }
}

/// Writes numbered messages, in turns of four, until it is killed, and says each once it is acknowledged.
fn endless_turns(instances: &Arc<dyn Instances>) {
    let mut conversation = taken(&**instances, "main");
    if let Some(cut_off) = conversation.open_turn().map(|open| open.turn.clone()) {
        conversation.fold(&cut_off).unwrap();
    }
    let first = instances.load(&key("main")).unwrap().messages.len();
    for n in first.. {
        let turn = turn(&format!("t{}", n / 4));
        conversation.append_event(&turn, &append(&n.to_string())).unwrap();
        say(&format!("kept {n}"));
        if n % 20 == 19 {
            // Now and then all is written anew, with the same ids.
            conversation.append_event(&turn, &replace("0", message("0"))).unwrap();
        }
        if n % 4 == 3 {
            conversation.fold(&turn).unwrap();
        }
    }
}

/// Holds the instance until it is killed.
fn hold(instances: &Arc<dyn Instances>) {
    let mut conversation = taken(&**instances, "main");
    conversation.append_event(&turn("theirs"), &append("theirs")).unwrap();
    say("held");
    listen();
}

/// Writes once, and again when it is told to: it may have slept for long.
fn sleeper(instances: &Arc<dyn Instances>) {
    let mut conversation = taken(&**instances, "main");
    conversation.append_event(&turn("early"), &append("early")).unwrap();
    say("wrote");
    listen();
    let lost = |outcome: Result<(), ConversationError>| match outcome {
        Err(ConversationError::LeaseLost(_)) => "lost".to_owned(),
        other => format!("{other:?}"),
    };
    say(&lost(conversation.append_event(&turn("early"), &append("late")).map(drop)));
    say(&lost(conversation.fold(&turn("early")).map(drop)));
    say(&lost(conversation.append_event(&turn("early"), &replace("early", message("late"))).map(drop)));
}
