//! What must never come out: anything about a write-only place, anything hidden, any host path.

use std::io;
use std::panic;
use std::sync::{Arc, Once};
use std::time::Duration;

use paddock_core::{
    Alter, Alteration, Call, CommandLine, CommandRunner, CommandSpec, Commands, EditError, ErrorKind, Expect, NotRun,
    OutputSink, Proposed, Ran, Result, Store, StoreError, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_tools::{Answer, Piece, RecordingGate, Toolbox, Verdict};
use serde_json::{Value, json};

use crate::setup::{Agent, Meddler, Meddling, RO, RW, WO, agent, hiding, holding, workspace};

const ACCEPTED: &str = "Accepted: this Workspace is write-only, so nothing about what is there comes back.";

/// Everything that can be different about a path, each at the same name.
fn write_only_states() -> Vec<(&'static str, Arc<MemoryStore>)> {
    let linked = holding(&[("real", b"old text"), ("dir/", b"")]);
    linked.plant_link("x", "real");
    let dangling = holding(&[]);
    dangling.plant_link("x", "nowhere");
    let outward = holding(&[]);
    outward.plant_link("x", "../../outside");
    let circle = holding(&[]);
    circle.plant_link("x", "x");
    vec![
        ("absent", holding(&[])),
        ("present", holding(&[("x", b"old text")])),
        ("twice in it", holding(&[("x", b"old old")])),
        ("binary", holding(&[("x", b"\0\x01")])),
        ("directory", holding(&[("x/inside", b"old")])),
        ("link", linked),
        ("dangling link", dangling),
        ("link that leads out", outward),
        ("link in a circle", circle),
        ("file on the way", holding(&[("x", b"old")])),
    ]
}

#[test]
fn a_write_only_workspace_answers_the_same_whatever_is_there() {
    let calls = [
        ("write_file", json!({"content": "new"})),
        ("append_file", json!({"content": "new"})),
        ("edit_file", json!({"old_string": "old", "new_string": "new"})),
        ("edit_file", json!({"old_string": "absent", "new_string": "new"})),
        (
            "edit_file",
            json!({"edits": [{"old_string": "old", "new_string": "a"}, {"old_string": "no", "new_string": "b"}]}),
        ),
    ];
    let expected = Answer {
        content: vec![Piece::Text(ACCEPTED.to_owned())],
        structured: Default::default(),
        verdict: Verdict::Done,
    };
    for path in ["/drop/x", "/drop/x/below"] {
        for (tool, more) in &calls {
            for (state, store) in write_only_states() {
                let agent = agent(vec![workspace("/drop", WO, store)]);
                let mut arguments = more.clone();
                arguments["path"] = path.into();
                assert_eq!(agent.call(tool, arguments), expected, "{tool} at {path}, {state}");
            }
        }
    }
}

#[test]
fn a_write_only_workspace_does_take_what_it_is_given() {
    let store = holding(&[("x", b"old")]);
    let agent = agent(vec![workspace("/drop", WO, Arc::clone(&store) as _)]);
    agent.done("edit_file", json!({"path": "/drop/x", "old_string": "old", "new_string": "new"}));
    agent.done("append_file", json!({"path": "/drop/x", "content": "er"}));
    agent.done("write_file", json!({"path": "/drop/a/b", "content": "made"}));
    let person = crate::setup::agent(vec![workspace("/", RO, store)]);
    assert_eq!(person.done("read_file", json!({"path": "/x"})), "newer");
    assert_eq!(person.done("read_file", json!({"path": "/a/b"})), "made");
}

#[test]
fn a_version_is_refused_in_a_write_only_workspace_the_same_whatever_is_there() {
    let mut answers = write_only_states().into_iter().map(|(_, store)| {
        let agent = agent(vec![workspace("/drop", WO, store)]);
        agent.call("write_file", json!({"path": "/drop/x", "content": "", "expected_version": format!("v{:032x}", 3)}))
    });
    let first = answers.next().unwrap();
    assert!(first.is_error() && first.text().contains("nothing about what is there comes back"), "{}", first.text());
    assert!(answers.all(|answer| answer == first));
}

/// A Workspace that hides `secret`, with or without something of that name behind it.
fn hider(there: bool) -> Agent {
    let store = holding(&[("seen", b"x")]);
    if there {
        crate::setup::plant(&store, "secret/inner", b"top");
        crate::setup::plant(&store, "secret.txt", b"top");
    }
    store.plant_link("link", "secret.txt");
    agent(vec![hiding(workspace("/w", RW, store), &["secret", "secret.txt"])])
}

#[test]
fn what_is_hidden_answers_exactly_as_if_it_were_absent() {
    let looks = [
        ("read_file", json!({})),
        ("list_dir", json!({})),
        ("find_files", json!({"glob": "*"})),
        ("search_files", json!({"pattern": "top"})),
    ];
    // Here the same names are not hidden, and not there: the real answer.
    let absent = agent(vec![workspace("/w", RW, holding(&[("seen", b"x")]))]);
    for (tool, more) in &looks {
        for path in ["/w/secret.txt", "/w/secret", "/w/secret/inner", "/w/secret/none", "/w/link"] {
            let mut arguments = more.clone();
            arguments["path"] = path.into();
            let expected = absent.call(tool, arguments.clone());
            assert_eq!(expected.structured["error"], "not_found");
            for there in [true, false] {
                assert_eq!(hider(there).call(tool, arguments.clone()), expected, "{tool} {path}, there: {there}");
            }
        }
    }
}

#[test]
fn a_change_to_a_hidden_name_says_only_that_the_name_is_not_available() {
    let changes = [
        ("write_file", json!({"path": "/w/secret.txt", "content": ""})),
        ("append_file", json!({"path": "/w/secret/new", "content": ""})),
        ("edit_file", json!({"path": "/w/secret.txt", "old_string": "top", "new_string": "x"})),
        ("edit_file", json!({"path": "/w/link", "old_string": "top", "new_string": "x"})),
        ("make_dir", json!({"path": "/w/secret"})),
        ("delete_file", json!({"path": "/w/secret.txt"})),
        ("move_file", json!({"source": "/w/secret.txt", "destination": "/w/shown"})),
        ("move_file", json!({"source": "/w/seen", "destination": "/w/secret.txt"})),
    ];
    for (tool, arguments) in changes {
        let (with, without) = (hider(true).call(tool, arguments.clone()), hider(false).call(tool, arguments.clone()));
        assert_eq!(with, without, "{tool} {arguments}");
        assert!(with.text().contains("this name is not available here"), "{}", with.text());
    }
    assert_eq!(
        hider(true).refused("write_file", json!({"path": "/w/link", "content": ""})),
        "❌ ERROR: Cannot write to \"/w/link\": this name is not available here. Use another name."
    );
}

#[test]
fn what_is_hidden_is_named_nowhere() {
    let store = holding(&[("d/seen", b"top"), ("d/sub/secret.txt", b"top"), ("d/sub/secrets/a", b"top")]);
    let agent = commanding(vec![hiding(workspace("/w", RW, store), &["secret.txt", "secrets"])]);
    for (tool, arguments) in [
        ("list_dir", json!({"path": "/w", "depth": 9})),
        ("find_files", json!({"path": "/w", "glob": "**", "include_ignored": true})),
        ("search_files", json!({"path": "/w", "pattern": "top"})),
        ("delete_file", json!({"path": "/w/d", "recursive": true})),
        ("move_file", json!({"source": "/w/d", "destination": "/w/e"})),
        // As `mv` does of what it does not see.
        ("execute_command", json!({"command": "/w/d/seen /w/d/sub/secret.txt /w/d/sub/secrets/a"})),
    ] {
        let answer = agent.call(tool, arguments);
        if tool == "execute_command" {
            assert!(answer.text().contains("Cannot delete \"/w/d/sub\" whole"), "{}", answer.text());
        }
        assert!(!everything(&answer).contains("secret"), "{tool}: {}", answer.text());
    }
    assert!(agent.done("list_dir", json!({"path": "/w/d", "depth": 9})).contains("seen"), "and nothing was changed");
}

/// An agent whose commands delete what they name.
fn commanding(workspaces: Vec<Workspace>) -> Agent {
    let commands = Commands { settings: Arc::default(), runner: Arc::new(Deletes) };
    let policy = crate::setup::policy(workspaces, "/").with_commands(Some(commands));
    Agent { toolbox: Toolbox::fixed(policy), gate: Arc::new(RecordingGate::new()) }
}

struct Deletes;

impl CommandRunner for Deletes {
    fn denied_word(&self, _: CommandLine<'_>, _: &[String]) -> Option<String> {
        None
    }

    fn run(&self, _: &Call<'_>, spec: &CommandSpec<'_>, _: OutputSink<'_>) -> std::result::Result<Ran, NotRun> {
        let CommandLine::Shell(paths) = spec.command else { unreachable!("it is a text") };
        let delete = |path| Alteration { path: crate::setup::path(path), how: Alter::Delete, expect: Expect::Any };
        let alterations = paths.split(' ').map(delete).collect();
        let proposed = Proposed { alterations, ..Proposed::default() };
        Ok(Ran { exit: 0, ended_by: None, took: Duration::ZERO, proposed, notes: Vec::new() })
    }
}

/// All that an answer holds, as one text.
fn everything(answer: &Answer) -> String {
    format!("{answer:?}")
}

/// Fails at one method with one kind of error, and says where on the host.
struct Leaking {
    inner: Arc<dyn Store>,
    at: &'static str,
    kind: Option<ErrorKind>,
}

impl Meddling for Leaking {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn meddle(&self, method: &'static str) -> Result<()> {
        match (&self.kind, method == self.at) {
            (_, false) => Ok(()),
            (Some(kind), true) => {
                Err(StoreError::caused_by(kind.clone(), io::Error::other("open /secret/host/path: refused")))
            }
            (None, true) => panic!("assertion failed at /secret/host/path"),
        }
    }
}

/// The panics of this module are meant; their traces would only drown what matters.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.contains("/secret/host/path")) {
                before(info);
            }
        }));
    });
}

fn kinds() -> Vec<Option<ErrorKind>> {
    let kinds = vec![
        ErrorKind::NotFound,
        ErrorKind::AlreadyExists,
        ErrorKind::IsADirectory,
        ErrorKind::NotADirectory,
        ErrorKind::NotEmpty,
        ErrorKind::Stale,
        ErrorKind::Link,
        ErrorKind::LinkEscapes,
        ErrorKind::NotAFile,
        ErrorKind::HardLinked,
        ErrorKind::Edit(EditError::NotText),
        ErrorKind::Edit(EditError::Absent { index: None }),
        ErrorKind::Edit(EditError::Encoding("Big5")),
        ErrorKind::BadPattern("unclosed group".to_owned()),
        ErrorKind::TooLarge { what: "the file", limit: 7 },
        ErrorKind::Full,
        ErrorKind::OverQuota { what: "bytes", limit: 7 },
        ErrorKind::NotKept,
        ErrorKind::HostRefuses,
        ErrorKind::Busy,
        ErrorKind::Cancelled,
        ErrorKind::TimedOut,
        ErrorKind::Unsupported("a link"),
        ErrorKind::Io,
    ];
    kinds.into_iter().map(Some).chain([None]).collect()
}

fn every_tool() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": "/w/f"})),
        ("list_dir", json!({"path": "/w/d"})),
        ("find_files", json!({"path": "/w", "glob": "*"})),
        ("search_files", json!({"path": "/w", "pattern": "x"})),
        ("write_file", json!({"path": "/w/f", "content": ""})),
        ("append_file", json!({"path": "/w/f", "content": ""})),
        ("edit_file", json!({"path": "/w/f", "old_string": "x", "new_string": "y"})),
        ("make_dir", json!({"path": "/w/new"})),
        ("move_file", json!({"source": "/w/f", "destination": "/w/g"})),
        ("move_file", json!({"source": "/w/f", "destination": "/other/g"})),
        ("delete_file", json!({"path": "/w/d", "recursive": true})),
    ]
}

#[test]
fn no_answer_holds_a_host_path_whatever_fails_and_the_process_lives() {
    quiet_panics();
    let mut failures = 0;
    for scope in [RO, RW, WO] {
        for kind in kinds() {
            for at in ["resolve", "stat", "read", "walk", "search", "apply"] {
                for (tool, arguments) in every_tool() {
                    let inner = holding(&[("f", b"x"), ("d/e", b"x")]);
                    let leaking = Arc::new(Meddler(Leaking { inner, at, kind: kind.clone() }));
                    let spaces = vec![workspace("/w", scope, leaking), workspace("/other", RW, holding(&[]))];
                    let answer = agent(spaces).call(tool, arguments);
                    let all = everything(&answer);
                    assert!(!all.contains("/secret") && !all.contains("host/path"), "{tool} {kind:?} at {at}: {all}");
                    if answer.is_error() {
                        failures += 1;
                        assert!(answer.text().starts_with("❌ ERROR: "), "{}", answer.text());
                    }
                }
            }
        }
    }
    assert!(failures > 1000, "{failures} calls failed: the property was put to the test");
}

#[test]
fn a_panic_is_reported_as_a_message_and_nothing_of_it_is_told() {
    quiet_panics();
    let inner = holding(&[("f", b"x")]);
    let panicking = Arc::new(Meddler(Leaking { inner, at: "read", kind: None }));
    let agent = agent(vec![workspace("/w", RW, panicking)]);
    let answer = agent.call("read_file", json!({"path": "/w/f"}));
    assert_eq!(answer.verdict, Verdict::Failed);
    assert_eq!(
        answer.text(),
        "❌ ERROR: Something broke inside Paddock, and the call was stopped. Other calls still work; a person can find \
         the cause in Paddock's log."
    );
    agent.done("write_file", json!({"path": "/w/f", "content": "still works"}));
}
