//! A whole program inside, started by a person: what it is handed to read, what it answers meanwhile, how long it may take.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::World;

/// An agent as far as its surroundings notice one: a request per line, an answer per line, files in between.
const AGENT: &str = r#"
import json, sys

def done(request):
    if "write" in request:
        open(request["write"], "w").write(request["text"])
        return "written"
    return open(request["read"]).read()

for line in sys.stdin:
    try:
        answer = {"answer": done(json.loads(line))}
    except OSError as error:
        answer = {"refused": error.errno}
    print(json.dumps(answer), flush=True)
print("nobody asks any more", file=sys.stderr)
"#;

fn world(commands: &str) -> World {
    let world = World::configured(&format!(
        r#"
[[workspace]]
prefix = "/project"
scope = "READ_ONLY"
mount = {{ physical = "docs" }}
hide = ["secret.txt"]
[[workspace]]
prefix = "/work"
scope = "READ_WRITE"
mount = {{ physical = "work" }}
[commands]
{commands}
"#
    ));
    world.write("work/agent.py", AGENT);
    world.write("docs/plan.txt", "the plan");
    world.write("docs/secret.txt", "not for it");
    world
}

/// A program inside with which one talks.
struct Talk {
    child: Child,
    say: Option<ChildStdin>,
    hear: BufReader<ChildStdout>,
}

impl Talk {
    fn begin(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (say, hear) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, say, hear }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.say.as_ref().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.hear.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Says nothing more; the code, and what was told on standard error.
    fn end(mut self) -> (i32, String) {
        drop(self.say.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn an_agent_program_is_talked_to_and_held_to_its_workspaces() {
    let world = world("");
    let outside = world.path().join("outside.txt");
    std::fs::write(&outside, "private").unwrap();
    let mut talk = Talk::begin(&world, &["exec", "--timeout", "600", "--", "python3", "agent.py"]);
    assert_eq!(talk.ask(&json!({ "read": "/project/plan.txt" })), json!({ "answer": "the plan" }));
    assert_eq!(talk.ask(&json!({ "write": "result.txt", "text": "done" })), json!({ "answer": "written" }));
    assert_eq!(talk.ask(&json!({ "read": "result.txt" })), json!({ "answer": "done" }));
    assert!(!world.has("work/result.txt"), "nobody else sees it before it ends");
    for attack in [
        json!({ "read": outside }),
        json!({ "read": "/etc/shadow" }),
        json!({ "read": "/project/secret.txt" }),
        json!({ "write": "/project/plan.txt", "text": "mine" }),
        json!({ "write": outside, "text": "mine" }),
    ] {
        let answer = talk.ask(&attack);
        assert!(answer["refused"].is_i64(), "{attack}: {answer}");
    }
    let (code, told) = talk.end();
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("nobody asks any more") && told.contains("+ /work/result.txt"), "{told}");
    assert_eq!((world.read("work/result.txt"), world.read("docs/plan.txt")), ("done".into(), "the plan".into()));
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "private");
}

#[test]
fn what_is_handed_to_it_is_read_and_the_handle_is_not() {
    let world = world("");
    let ran = world.paddock_reading(&["exec", "--", "wc", "-l"], "one\ntwo\nthree\n");
    assert!(ran.code == 0 && ran.stdout == "3\n", "{ran}");
    // A file that is handed in could be opened again for writing; what it reads is a pipe.
    let mut command = world.command(&["exec", "stat -Lc %F /proc/self/fd/0; cat; echo mine > /proc/self/fd/0"]);
    command.stdin(std::fs::File::options().read(true).write(true).open(world.project().join("docs/plan.txt")).unwrap());
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("fifo\nthe plan"), "{output:?}");
    assert_eq!(world.read("docs/plan.txt"), "the plan");
    // Where nothing is handed in there is nothing: programs take a pipe for work to do.
    let mut command = world.command(&["exec", "stat -Lc %F /proc/self/fd/0"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "character special file\n", "{output:?}");
}

#[test]
fn a_terminal_is_passed_on_only_when_asked_for_and_never_itself() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let world = world("");
    let typed = |arguments: &[&str], line: &str| {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let terminal = std::fs::File::options().read(true).write(true).open(name).unwrap();
        std::fs::File::from(keyboard.try_clone().unwrap()).write_all(line.as_bytes()).unwrap();
        let output = world.command(arguments).stdin(terminal).output().unwrap();
        drop(keyboard);
        String::from_utf8(output.stdout).unwrap()
    };
    let text = "test -t 0 && echo terminal; read -r line; echo \"got $line\"";
    assert_eq!(typed(&["exec", "-i", text], "a line\n"), "got a line\n");
    assert_eq!(typed(&["exec", text], "a line\n"), "got \n");
}

#[test]
fn a_person_may_let_it_run_longer_than_an_agent_may() {
    let world = world("time_limit = \"1 s\"\ncpu_limit = \"1 s\"");
    // Waits and works longer than both limits, by clocks of its own.
    let text = "python3 -c 'import time\nend = time.time() + 1.3\nwhile time.process_time() < 1.3 or time.time() < end: pass\nprint(\"through\")'";
    let agents = world.paddock(&["tool", "execute_command", &json!({ "command": text, "timeout": 60 }).to_string()]);
    assert!(agents.code == 1 && !agents.stdout.contains("through\n"), "{agents}");
    let persons = world.paddock(&["exec", "--timeout", "60", text]);
    assert!(persons.code == 0 && persons.stdout == "through\n", "{persons}");
}

#[test]
fn with_another_input_it_is_another_command() {
    let world = world("");
    world.write("work/one", "a person's");
    world.write("work/two", "a person's");
    // Taking away what a person made is held.
    for name in ["one", "two"] {
        let ran = world.paddock_reading(&["exec", "xargs unlink"], name);
        assert!(ran.code == 3 && ran.stderr.contains(&format!("- /work/{name}")), "{ran}");
    }
    // The agent's own call of that name has no input: it is none of the two.
    let agents = world.paddock(&["tool", "execute_command", r#"{"command": "xargs unlink"}"#]);
    assert!(agents.code == 1 && agents.stdout.contains("Exit code 123"), "{agents}");
}
