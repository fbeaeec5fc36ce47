//! The rules of collaboration of the second specification, each by its name there.

use std::sync::{Arc, Mutex};

use paddock_agent::graph::NodeName;
use paddock_agent::record::ThreadStatus;
use paddock_agent::state::{AgentMode, ApprovalStatus, StepStatus};
use paddock_agent::{Ended, RunEvent};
use serde_json::json;

use crate::world::{POLICY, World, answer, call, key, options, plan, script};

/// The nodes in the order in which they ran.
fn watched(world: &World, thread: &str, prompt: &str) -> (Ended, Vec<NodeName>) {
    let nodes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&nodes);
    let process = world.process_watched(Arc::new(move |event| {
        if let RunEvent::Node { node, .. } = event {
            seen.lock().unwrap().push(*node);
        }
    }));
    let ended = process.start(thread, prompt).unwrap();
    let nodes = nodes.lock().unwrap().clone();
    (ended, nodes)
}

#[test]
fn a_run_plans_works_and_answers() {
    let world = World::new(&script(&[
        plan(&["look at the facts", "write them down"]),
        call("read_file", &json!({ "path": "/r/facts.txt" })),
        answer("I know it."),
        call("write_file", &json!({ "path": "/w/answer.txt", "content": "42\n" })),
        answer("It is 42, and written down."),
    ]));
    let process = world.process();
    let ended = process.start("t", "What is the answer? Write it down.").unwrap();
    assert_eq!(ended, Ended::Done("It is 42, and written down.".into()));
    assert_eq!(world.text("answer.txt"), "42\n");
    let todo = world.text("todo.md");
    assert!(todo.contains("- [x] look at the facts") && todo.contains("- [x] write them down"), "{todo}");
    let thread = process.runtime.record.thread("t").unwrap();
    assert_eq!(thread.status, ThreadStatus::Done);
    let said = process.said("t");
    assert!(said[0].starts_with("user: \"What is the answer?"), "{said:#?}");
    assert!(said.iter().any(|line| line.starts_with("tool:") && line.contains("the answer is 42")), "{said:#?}");
    assert_eq!(said.last().unwrap(), "assistant: \"It is 42, and written down.\"");
}

#[test]
fn a1_the_executor_always_returns_to_the_supervisor() {
    let world = World::new(&script(&[
        plan(&["one", "two"]),
        call("read_file", &json!({ "path": "/r/facts.txt" })),
        call("read_file", &json!({ "path": "/r/nothing.txt" })),
        answer("one is done"),
        answer("two is done"),
    ]));
    let (_, nodes) = watched(&world, "t", "go");
    use NodeName::{Check, Executor, Finalizer, Gatekeeper, Interpreter, Planner, Supervisor, Tools};
    let expected = [
        Gatekeeper,
        Planner,
        Supervisor,
        Executor,
        Check,
        Tools,
        Interpreter,
        Supervisor,
        Executor,
        Check,
        Tools,
        Interpreter,
        Supervisor,
        Executor,
        Interpreter,
        Supervisor,
        Executor,
        Interpreter,
        Supervisor,
        Finalizer,
    ];
    assert_eq!(nodes, expected);
    // Whatever the Executor says, the node before the next Executor is a Supervisor.
    for pair in nodes.windows(2).filter(|pair| pair[1] == Executor) {
        assert_eq!(pair[0], Supervisor);
    }
}

#[test]
fn a2_no_call_of_the_run_changes_the_plan() {
    let tamper = |tool: &str, arguments| call(tool, &arguments);
    let world = World::new(&script(&[
        plan(&["cheat"]),
        tamper("write_file", json!({ "path": "/w/todo.md", "content": "- [x] cheat\n" })),
        tamper("delete_file", json!({ "path": "/w/todo.md" })),
        answer("done"),
    ]));
    let process = world.process();
    process.start("t", "go").unwrap();
    let todo = world.text("todo.md");
    assert!(todo.contains("plan of thread t") && todo.contains("failed 2 of 3"), "{todo}");
    let said = process.said("t");
    assert!(said.iter().filter(|line| line.contains("is kept by the run itself")).count() == 2, "{said:#?}");
}

/// The plan lies in a directory that another Workspace shows, too.
#[test]
fn a2_no_directory_goes_with_the_plan_in_it() {
    let world = World::new(&script(&[
        plan(&["cheat"]),
        call("move_file", &json!({ "source": "/up/w", "destination": "/up/away" })),
        call("move_file", &json!({ "source": "/up/other", "destination": "/up/away" })),
        answer("done"),
    ]));
    std::fs::create_dir_all(world.top.join("project/up/w")).unwrap();
    std::fs::create_dir_all(world.top.join("project/up/other")).unwrap();
    let policy = POLICY.replace("physical = \"w\"", "physical = \"up/w\"");
    let up = "\n[[workspace]]\nprefix = \"/up\"\nscope = \"READ_WRITE\"\nmount = { physical = \"up\" }\n";
    std::fs::write(world.top.join("project/paddock.toml"), format!("{policy}{up}")).unwrap();
    let process = world.process();
    process.start("t", "go").unwrap();
    assert!(world.top.join("project/up/w/todo.md").exists(), "{:#?}", process.said("t"));
    assert!(world.top.join("project/up/away").exists(), "its honest twin: {:#?}", process.said("t"));
    assert!(!world.top.join("project/up/other").exists());
}

#[test]
fn a3_three_failures_lead_to_a_new_plan_and_two_of_those_to_a_question() {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let mut lines = Vec::new();
    for plan_number in 1..=3 {
        lines.push(plan(&[&format!("try {plan_number}")]));
        lines.extend([fail(), fail(), fail()]);
    }
    let world = World::new(&script(&lines));
    let (ended, nodes) = watched(&world, "t", "go");
    assert_eq!(nodes.iter().filter(|node| **node == NodeName::Planner).count(), 3);
    let Ended::Asking(question) = ended else { panic!("{ended:?}") };
    assert!(question.contains("try 3") && question.contains("after 3 tries"), "{question}");
    let process = world.process();
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    let steps: Vec<_> = state.step_history.values().map(|step| (step.status, step.tries)).collect();
    assert_eq!(steps, [(StepStatus::Failed, 3); 3]);
}

#[test]
fn b1_no_call_runs_without_passing_check() {
    let world = World::new(&script(&[
        plan(&["write"]),
        call("write_file", &json!({ "path": "/r/facts.txt", "content": "lies" })),
        call("execute_command", &json!({ "command": "true" })),
        answer("done"),
    ]));
    let (_, nodes) = watched(&world, "t", "go");
    // Both were refused by Check, so Tools never came.
    assert!(!nodes.contains(&NodeName::Tools), "{nodes:?}");
    let said = world.process().said("t");
    assert!(said.iter().any(|line| line.contains("Cannot write to protected path")), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("is not allowed in this run. Allowed:")), "{said:#?}");
}

#[test]
fn b2_a_call_above_the_threshold_freezes_the_run_on_disk() {
    let world = World::new(&script(&[
        plan(&["remove"]),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        answer("removed"),
    ]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let ended = world.process().start("t", "go").unwrap();
    let Ended::Frozen(approval) = ended else { panic!("{ended:?}") };
    assert_eq!(world.text("old.txt"), "precious\n", "nothing happened yet");
    let process = world.process();
    assert_eq!(process.runtime.record.thread("t").unwrap().status, ThreadStatus::Frozen);
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    let waiting = state.approval_state.unwrap();
    assert_eq!((waiting.approval_id.as_str(), waiting.status), (approval.as_str(), ApprovalStatus::Pending));
    // Without a decision it stays where it is, however often it is resumed.
    assert_eq!(process.resume("t").unwrap(), Ended::Frozen(approval));
    assert_eq!(world.text("old.txt"), "precious\n");
}

#[test]
fn b3_with_the_token_it_goes_on_exactly_where_it_was() {
    let world = World::new(&script(&[
        plan(&["remove", "tell"]),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        answer("removed"),
        answer("told"),
    ]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("it did not freeze") };
    world.process().approve(&approval);
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&tokens);
    let process = world.process_watched(Arc::new(move |event| {
        if let RunEvent::Node { node, state, .. } = event {
            let token = state.approval_state.as_ref().and_then(|approval| approval.token.clone());
            seen.lock().unwrap().push((*node, token.is_some()));
        }
    }));
    assert_eq!(process.resume("t").unwrap(), Ended::Done("told".into()));
    assert!(!world.file("old.txt").exists());
    // The token is in the state when the call passes Check, and nowhere a model reads.
    assert_eq!(tokens.lock().unwrap()[0], (NodeName::Check, true));
    assert!(process.said("t").iter().all(|line| !line.contains("pat1")));
    let deletions = process
        .installation
        .history()
        .unwrap()
        .calls(&Default::default(), paddock_ledger::history::Page::first(100))
        .unwrap();
    assert_eq!(deletions.iter().filter(|row| row.op == "delete").count(), 1);
}

#[test]
fn a_rejected_call_is_told_and_the_run_goes_on() {
    let world = World::new(&script(&[
        plan(&["remove"]),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        answer("then I leave it"),
    ]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("it did not freeze") };
    let process = world.process();
    let reject = paddock_ledger::approvals::Decision::Reject("we need it".into());
    process.installation.approvals().unwrap().decide(&approval, None, "bob", &reject).unwrap();
    assert_eq!(process.resume("t").unwrap(), Ended::Done("then I leave it".into()));
    assert_eq!(world.text("old.txt"), "precious\n");
    assert!(process.said("t").iter().any(|line| line.contains("bob rejected this call: we need it")));
}

#[test]
fn an_edited_call_runs_with_the_persons_arguments() {
    let world = World::new(&script(&[
        plan(&["remove"]),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        answer("removed"),
    ]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    std::fs::write(world.file("older.txt"), "not so\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("it did not freeze") };
    let process = world.process();
    let edit = paddock_ledger::approvals::Decision::Edit(r#"{"path":"/w/older.txt"}"#.into());
    process.installation.approvals().unwrap().decide(&approval, None, "bob", &edit).unwrap();
    assert_eq!(process.resume("t").unwrap(), Ended::Done("removed".into()));
    assert_eq!(world.text("old.txt"), "precious\n");
    assert!(!world.file("older.txt").exists());
    assert!(process.said("t").iter().any(|line| line.contains("A person changed the arguments of this call")));
}

#[test]
fn what_changed_since_it_was_approved_is_asked_anew() {
    let world = World::new(&script(&[
        plan(&["remove"]),
        call("delete_file", &json!({ "path": "/w/old.txt" })),
        answer("removed"),
    ]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(first) = world.process().start("t", "go").unwrap() else { panic!("it did not freeze") };
    world.process().approve(&first);
    std::fs::write(world.file("old.txt"), "more precious than it was\n").unwrap();
    let Ended::Frozen(second) = world.process().resume("t").unwrap() else { panic!("it did not freeze again") };
    assert_ne!(first, second);
    assert!(world.file("old.txt").exists());
    world.process().approve(&second);
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("removed".into()));
    assert!(!world.file("old.txt").exists());
}

#[test]
fn a_thread_without_a_task_is_not_made() {
    let world = World::new("");
    assert!(world.process().start("t", " \u{200b}").is_err());
    assert_eq!(world.process().runtime.record.threads_after(None, 100).unwrap(), []);
}

#[test]
fn consulting_only_reads_and_planning_only_plans() {
    let lines = [
        call("write_file", &json!({ "path": "/w/x", "content": "x" })),
        call("read_file", &json!({ "path": "/r/facts.txt" })),
        answer("42"),
    ];
    let world = World::new(&script(&lines));
    let mut consulting = options("c");
    consulting.mode = AgentMode::Consulting;
    assert_eq!(world.process().runtime.start("what?", &consulting).unwrap(), Ended::Done("42".into()));
    assert!(!world.file("x").exists());
    world.say(&script(&[plan(&["write x"])]));
    let mut planning = options("p");
    planning.mode = AgentMode::Planning;
    let Ended::Done(told) = world.process().runtime.start("write x", &planning).unwrap() else { panic!() };
    assert!(told.contains("nothing was done yet") && told.contains("write x"), "{told}");
    assert!(!world.file("x").exists());
}

#[test]
fn a_thread_goes_on_with_another_task_and_remembers() {
    let world = World::new(&script(&[plan(&["greet"]), answer("hello")]));
    assert_eq!(world.process().start("t", "greet me").unwrap(), Ended::Done("hello".into()));
    world.say(&script(&[plan(&["again"]), answer("hello again")]));
    assert_eq!(world.process().start("t", "once more").unwrap(), Ended::Done("hello again".into()));
    let said = world.process().said("t");
    assert_eq!(said.iter().filter(|line| line.starts_with("user:")).count(), 2);
    let state = world.process().runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    assert_eq!(state.step_history.len(), 1, "each turn has its own plan");
}

#[test]
fn nobody_else_resumes_a_thread() {
    let world = World::new(&script(&[plan(&["remove"]), call("delete_file", &json!({ "path": "/w/old.txt" }))]));
    std::fs::write(world.file("old.txt"), "x").unwrap();
    world.process().start("t", "go").unwrap();
    let process = world.process();
    let refused = process.runtime.resume(&key("t"), "mallory", None).unwrap_err();
    assert!(matches!(refused, paddock_agent::RunError::NotYours(_)), "{refused}");
    // Another System Root has another key, even with the right name.
    let mut other = world.process();
    other.runtime.key = [7; 32];
    assert!(matches!(other.resume("t").unwrap_err(), paddock_agent::RunError::NotYours(_)));
}

#[test]
fn a_secret_gets_into_nothing_that_is_kept() {
    const SECRET: &str = "hunter2-hunter2-xyz";
    let name = paddock_state::SecretName::parse("pw").unwrap();
    let value = paddock_state::SecretValue::new(SECRET.to_owned());
    let world = World::new(&script(&[
        plan(&[&format!("use {SECRET}")]),
        call(&format!("tool-{SECRET}"), &json!({ "path": SECRET })),
        answer(&format!("The password is {SECRET}")),
    ]));
    let mut process = world.process();
    process.runtime.redactor = paddock_state::Redactor::of([(name, value)]);
    let Ended::Done(told) = process.start("t", &format!("what is {SECRET}?")).unwrap() else {
        panic!("it is not done")
    };
    assert_eq!(told, "The password is [secret pw]");
    drop(process);
    let mut looked_at = 0;
    let mut waiting = vec![world.top.clone()];
    while let Some(place) = waiting.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                looked_at += bytes.len();
                assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{}", path.display());
            }
        }
    }
    assert!(looked_at > 10_000);
}

#[test]
fn a_run_that_ended_before_its_first_node_has_no_more_than_it_was_given() {
    let world = World::new(&script(&[
        call("write_file", &json!({ "path": "/w/x", "content": "x" })),
        answer("nothing to say"),
    ]));
    let ends = world.process_watched(Arc::new(|event| {
        if let RunEvent::Boundary("before a checkpoint") = event {
            std::panic::resume_unwind(Box::new("the process ends here"));
        }
    }));
    let mut consulting = options("t");
    (consulting.mode, consulting.tools) = (AgentMode::Consulting, Some(vec!["read_file".to_owned()]));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ends.runtime.start("look", &consulting)));
    assert!(ended.is_err());
    drop(ends);
    world.process().resume("t").unwrap();
    assert!(!world.file("x").exists());
    let state = world.process().runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    assert_eq!(
        (state.agent_mode, state.security_context.allowed_tools),
        (AgentMode::Consulting, vec!["read_file".to_owned()])
    );
    assert!(!world.file("todo.md").exists(), "who is consulted writes nothing");
}

#[test]
fn a_plan_takes_no_file_of_somebody_else() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    std::fs::write(world.file("todo.md"), "mine\n").unwrap();
    std::fs::write(world.file("todo-t.md"), "mine too\n").unwrap();
    world.process().start("t", "go").unwrap();
    assert_eq!((world.text("todo.md"), world.text("todo-t.md")), ("mine\n".to_owned(), "mine too\n".to_owned()));
    assert!(world.text("todo-t-2.md").contains("- [x] say"));
}

#[test]
fn a_secret_that_unseen_characters_part_gets_into_no_checkpoint() {
    const SECRET: &str = "hunter2-hunter2-xyz";
    let name = paddock_state::SecretName::parse("pw").unwrap();
    let value = paddock_state::SecretValue::new(SECRET.to_owned());
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    let mut process = world.process();
    process.runtime.redactor = paddock_state::Redactor::of([(name, value)]);
    process.start("t", "what is hunter2-\u{200b}hunter2-xyz?").unwrap();
    let state = process.runtime.record.checkpoint("t", None).unwrap().unwrap().state;
    assert_eq!(state.input_prompt, "what is [secret pw]?");
}
