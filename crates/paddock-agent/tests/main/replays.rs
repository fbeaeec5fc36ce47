//! Every run can be gone through again from its record: nothing is asked and nothing is run, and where the record says something else than the
//! program makes of it, the first such point is told.

use paddock_agent::graph::NodeName;
use paddock_agent::record::Checkpoint;
use paddock_agent::state::AgentMode;
use paddock_agent::{Ended, Replayed, replay};
use serde_json::json;

use crate::versions::execute;
use crate::world::{Process, World, answer, call, key, options, plan, script};

/// A thread with a plan that fails and is made anew, calls that are decided about in each way, a bound, an answer that is no plan, and a turn that
/// only looks.
fn eventful() -> World {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let delete = |name: &str| call("delete_file", &json!({ "path": format!("/w/{name}") }));
    let world = World::new(&script(&[
        plan(&["look", "then remove"]),
        fail(),
        fail(),
        fail(),
        plan(&["remove", "tell"]),
        delete("one.txt"),
        delete("two.txt"),
        delete("three.txt"),
        call("teleport", &json!({})),
        answer("removed"),
        answer("told"),
    ]));
    for name in ["one.txt", "two.txt", "three.txt", "four.txt"] {
        std::fs::write(world.file(name), "precious\n").unwrap();
    }
    decided_in_each_way(&world);
    let read = || call("read_file", &json!({ "path": "/r/facts.txt" }));
    world.say(&script(&[plan(&["read for ever"]), read(), read(), read(), read(), read()]));
    world.settings.lock().unwrap().max_steps = 15;
    let Ended::Asking(_) = world.process().start("t", "the second task").unwrap() else { panic!("it did not ask") };
    world.say(&script(&[answer("no"), answer("never"), answer("not even now")]));
    let Ended::Asking(_) = world.process().start("t", "the third task").unwrap() else { panic!("it did not ask") };
    world.say(&script(&[read(), answer("42")]));
    let consulting = paddock_agent::RunOptions { mode: AgentMode::Consulting, ..options("t") };
    assert_eq!(world.process().runtime.start("what?", &consulting).unwrap(), Ended::Done("42".into()));
    world
}

/// Three calls wait: one is approved, one rejected, one made with other arguments.
fn decided_in_each_way(world: &World) {
    use paddock_ledger::approvals::{Decision, Reach};
    let decisions = [
        Decision::Approve(Reach::Once),
        Decision::Reject("we need it".into()),
        Decision::Edit(r#"{"path":"/w/four.txt"}"#.into()),
    ];
    let mut ended = world.process().start("t", "the first task");
    for decision in decisions {
        let Ended::Frozen(approval) = ended.unwrap() else { panic!("it did not freeze") };
        let process = world.process();
        // Nobody has decided yet.
        assert_eq!(process.resume("t").unwrap(), Ended::Frozen(approval.clone()));
        process.installation.approvals().unwrap().decide(&approval, None, "bob", &decision).unwrap();
        ended = world.process().resume("t");
    }
    assert_eq!(ended.unwrap(), Ended::Done("told".into()));
    let there = ["one.txt", "two.txt", "three.txt", "four.txt"].map(|name| world.file(name).exists());
    assert_eq!(there, [false, true, true, false]);
}

fn comes_to_the_same(process: &Process, thread: &str) {
    let Replayed { differs_at, why, .. } = replay(&process.runtime.record, thread).unwrap();
    assert_eq!((differs_at, why), (None, None), "{thread}");
}

fn checkpoints(world: &World) -> Vec<Checkpoint> {
    world.process().runtime.record.checkpoints_after("t", 0, 1000).unwrap()
}

#[test]
fn a_run_with_everything_in_it_comes_to_the_same_and_leaves_everything_as_it_is() {
    let world = eventful();
    let (said, kept) = (world.process().said("t"), checkpoints(&world));
    comes_to_the_same(&world.process(), "t");
    assert_eq!((world.process().said("t"), checkpoints(&world)), (said, kept));
    let nodes = checkpoints(&world).into_iter().map(|checkpoint| checkpoint.node);
    let nodes: std::collections::BTreeSet<&str> = nodes.map(NodeName::name).collect();
    assert_eq!(nodes.len(), 8, "every node is in it: {nodes:?}");
}

#[test]
fn a_fork_from_any_step_comes_to_the_same_and_a_fork_of_a_fork() {
    let world = eventful();
    let all = checkpoints(&world).len() as u64;
    let process = world.process();
    for n in 1..=all {
        let (fork, of_fork) = (format!("f{n}"), format!("g{n}"));
        process.runtime.fork(&key("t"), n, &key(&fork), "alice").unwrap();
        comes_to_the_same(&process, &fork);
        process.runtime.fork(&key(&fork), n.div_ceil(2), &key(&of_fork), "alice").unwrap();
        comes_to_the_same(&process, &of_fork);
    }
    // And what it does of its own.
    std::fs::write(world.file("one.txt"), "again\n").unwrap();
    world.settings.lock().unwrap().max_steps = 100;
    world.say(&script(&[answer("then I leave it"), answer("told")]));
    let frozen = checkpoints(&world).iter().find(|checkpoint| checkpoint.state.approval_state.is_some()).unwrap().n;
    let fork = format!("f{frozen}");
    let Ended::Frozen(approval) = world.process().runtime.resume(&key(&fork), "alice", None).unwrap() else { panic!() };
    let reject = paddock_ledger::approvals::Decision::Reject("no".into());
    world.process().installation.approvals().unwrap().decide(&approval, None, "bob", &reject).unwrap();
    assert_eq!(world.process().runtime.resume(&key(&fork), "alice", None).unwrap(), Ended::Done("told".into()));
    comes_to_the_same(&process, &fork);
}

/// Changes one thing in the record.
fn set(column: &str, path: &str, value: &str, n: u64) -> String {
    format!(
        "UPDATE agent_checkpoint SET {column} = json_set({column}, '{path}', {value}) WHERE thread = 't' AND n = {n}"
    )
}

#[test]
fn what_does_not_follow_from_the_record_is_told_with_its_first_point() {
    let world = eventful();
    let all = checkpoints(&world);
    let first = |node: NodeName, next: NodeName| {
        all.iter().find(|checkpoint| (checkpoint.node, checkpoint.next) == (node, next)).unwrap().n
    };
    let planned = first(NodeName::Planner, NodeName::Supervisor);
    let proposed = first(NodeName::Executor, NodeName::Check);
    let passed = first(NodeName::Check, NodeName::Tools);
    let ran = first(NodeName::Tools, NodeName::Interpreter);
    let decided = all.iter().find(|one| one.state.approval_state.as_ref().is_some_and(|one| one.token.is_some()));
    let decided = decided.unwrap().n;
    let refused = first(NodeName::Check, NodeName::Interpreter);
    let interpreted = first(NodeName::Interpreter, NodeName::Supervisor);
    let supervised = first(NodeName::Supervisor, NodeName::Executor);
    let replanned = first(NodeName::Supervisor, NodeName::Planner);
    let ended = first(NodeName::Finalizer, NodeName::End);
    let begins = all.iter().rfind(|one| one.node == NodeName::Gatekeeper).unwrap().n;
    let call = &all[usize::try_from(ran).unwrap() - 2].state.progress.proposed.as_ref().unwrap().call_id;
    let result = |set: &str| format!("UPDATE agent_effect SET {set} WHERE thread = 't' AND call = '{call}'");
    let cases = [
        (
            set("state", "$.security_context.permissions_level", "'user'", 1),
            1,
            "gatekeeper: the state, security_context",
        ),
        (
            set("state", "$.current_plan_path", "'/w/other.md'", begins),
            begins,
            "gatekeeper: the state, current_plan_path",
        ),
        (set("answer", "$.content", "'- [ ] another step'", planned), planned, "planner: the state, step_history"),
        (set("asked", "$", "'executor'", planned), planned, "planner: the record of the run does not fit together"),
        (
            set("state", "$.current_step_id", "'t1.0002'", supervised),
            supervised,
            "supervisor: the state, current_step_id",
        ),
        (set("answer", "$.tool_calls[0].name", "'write_file'", proposed), proposed, "executor: the state, progress"),
        (set("state", "$.progress.tokens", "1", proposed), proposed, "executor: the state, progress, tokens"),
        (set("outbox", "$[0].data.content", "'said otherwise'", proposed), proposed, "executor: what was said"),
        (set("state", "$.progress.proposed.checked", "json('false')", passed), passed, "check: the state, progress"),
        (
            set("state", "$.approval_state.approval_id", "'ap-other'", decided),
            decided,
            "check: the state, approval_state",
        ),
        (
            set("state", "$.last_tool_result.status", "'success'", refused),
            refused,
            "check: the state, last_tool_result",
        ),
        (
            result("result = json_set(result, '$.output', 'otherwise')"),
            ran,
            "tools: the state, last_tool_result, output",
        ),
        (result("state = 'started', result = NULL"), ran, "there is no result of the call"),
        (set("state", "$.progress.failing.count", "7", interpreted), interpreted, "interpreter: the state, progress"),
        (set("state", "$.progress.told", "'another answer'", ended), ended, "finalizer: the state, progress, told"),
        (
            format!("UPDATE agent_checkpoint SET next = 'executor' WHERE n = {replanned}"),
            replanned,
            "the node that comes",
        ),
        (format!("UPDATE agent_checkpoint SET node = 'check' WHERE n = {ran}"), ran, "the node is \"check\""),
        (format!("UPDATE agent_checkpoint SET turn = 't1' WHERE n = {begins}"), begins, "turn is \"t1\""),
    ];
    execute(&world, "CREATE TABLE kept_checkpoint AS SELECT * FROM agent_checkpoint");
    execute(&world, "CREATE TABLE kept_effect AS SELECT * FROM agent_effect");
    for (change, n, words) in cases {
        assert_eq!(execute(&world, &change), 1, "{change}");
        let found = replay(&world.process().runtime.record, "t").unwrap();
        assert_eq!(found.differs_at, Some(n), "{change}: {found:?}");
        let why = found.why.unwrap();
        assert!(why.contains(words), "{change}: {why}");
        for table in ["checkpoint", "effect"] {
            execute(&world, &format!("DELETE FROM agent_{table}"));
            execute(&world, &format!("INSERT INTO agent_{table} SELECT * FROM kept_{table}"));
        }
    }
    comes_to_the_same(&world.process(), "t");
}
