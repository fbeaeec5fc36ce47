//! The connection itself: both eras, bounds, broken messages, cancellation, the end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::{Client, Era, Raw, call};
use crate::harness::World;

/// One Workspace.
const BOUNDED: &str = "[[workspace]]\nprefix = \"/code\"\nscope = \"RW\"\nmount = { physical = \".\" }\n";

#[tokio::test]
async fn both_eras_get_the_same_tools_and_the_map() {
    let world = World::seed();
    let mut lists = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let client = Client::connect(&world, era, &["mcp"]).await;
        let info = client.service.peer().peer_info().unwrap();
        let map = info.instructions.clone().unwrap();
        assert_eq!(map, world.paddock(&["map"]).stdout, "{era:?}");
        lists.push(client.service.list_all_tools().await.unwrap());
        client.close().await;
    }
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[0].len(), 11);
}

#[test]
fn a_message_over_the_limit_is_answered_and_the_connection_lives() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    let content = "x".repeat(13 * 1024 * 1024);
    raw.send(&call(7, "write_file", &json!({"path": "workspace/big.txt", "content": content})));
    let answer = raw.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("append_file"), "{answer}");
    assert!(!world.has("workspace/big.txt"));

    raw.send_text(&format!("{}\n", "y".repeat(13 * 1024 * 1024)));
    let answer = raw.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)));

    let content = "x".repeat(8 * 1024 * 1024);
    raw.send(&call(8, "write_file", &json!({"path": "workspace/fits.txt", "content": content})));
    let answer = raw.receive();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(8), &Value::Null), "{answer}");
    assert_eq!(world.read("workspace/fits.txt").len(), content.len());
    assert!(raw.end().is_empty());
}

#[test]
fn a_broken_message_is_answered_and_the_connection_lives() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    raw.send_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\n");
    assert_eq!(raw.receive()["error"]["code"], -32700);
    raw.send_text("not a message\n\n");
    let answer = raw.receive();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)));
    raw.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 5}}));
    assert_eq!(raw.receive()["error"]["code"], -32602);
    raw.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "no/such"}));
    assert_eq!(raw.receive()["error"]["code"], -32601);
    raw.send(&call(4, "no_such_tool", &json!({})));
    assert_eq!(raw.receive()["error"]["code"], -32602);
    raw.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}));
    assert_eq!(raw.receive(), json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    assert!(raw.end().is_empty());
}

#[test]
fn a_search_that_is_given_up_is_not_answered() {
    let world = World::seed();
    for n in 0..3_000 {
        world.write(&format!("src/many/{}/{n}.txt", n % 50), "nothing to see here\n");
    }
    let mut raw = Raw::greeted(&world, &["mcp"]);
    let search = call(1, "search_files", &json!({"path": "/project", "pattern": "(a|b|c)+never"}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let read = call(2, "read_file", &json!({"path": "package.json"}));
    raw.send_text(&format!("{search}\n{cancel}\n{read}\n"));
    assert_eq!(raw.receive()["id"], 2);
    assert!(raw.end().is_empty(), "the search was given up");
}

/// These clients hand their model nothing but structured content where there is some.
#[test]
fn a_client_that_hides_text_beside_structured_content_still_sees_the_file() {
    let world = World::seed();
    for name in ["claude-code", "codex-mcp-client"] {
        let mut raw = Raw::start(&world, &["mcp"]);
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        raw.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        raw.receive();
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        raw.send(&call(1, "read_file", &json!({"path": "package.json"})));
        let result = &raw.receive()["result"];
        assert_eq!(result["content"][0]["text"], world.read("package.json"), "{name}");
        assert_eq!(result.get("structuredContent"), None, "{name}");
        assert!(result["_meta"]["paddock/facts"]["version"].is_string(), "{name}: {result}");
    }
}

#[test]
fn a_write_that_waits_for_another_process_holds_up_nobody_else() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    // From the first change on the record is open, and what waits for nobody runs where it arrives.
    raw.send(&call(0, "write_file", &json!({"path": "workspace/first.txt", "content": "1"})));
    assert_eq!(raw.receive()["id"], 0);
    let held = std::fs::File::open(world.project().join("workspace")).unwrap();
    held.lock().unwrap();
    raw.send(&call(1, "write_file", &json!({"path": "workspace/a.txt", "content": "waits"})));
    raw.send(&call(2, "read_file", &json!({"path": "package.json"})));
    assert_eq!(raw.receive()["id"], 2, "the read does not wait");
    held.unlock().unwrap();
    assert_eq!(raw.receive()["id"], 1);
    assert_eq!(world.read("workspace/a.txt"), "waits");
}

/// The first lines are text; what follows takes long to look through and no room on disk.
#[test]
fn a_read_far_into_a_huge_file_holds_up_nobody_else() {
    let world = World::seed();
    world.write("src/huge.txt", "a line\n".repeat(20_000));
    let huge = std::fs::File::options().write(true).open(world.project().join("src/huge.txt")).unwrap();
    huge.set_len(8 << 30).unwrap();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    let read = call(1, "read_file", &json!({"path": "src/huge.txt", "offset": 1_000_000_000_000_000_u64}));
    let small = call(2, "read_file", &json!({"path": "package.json"}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    raw.send_text(&format!("{read}\n{small}\n"));
    assert_eq!(raw.receive()["id"], 2, "the small read does not wait");
    raw.send(&cancel);
    assert!(raw.end().is_empty(), "the long read was given up");
}

#[test]
fn the_end_of_the_input_ends_the_server_after_its_answers() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    for id in 1..=20 {
        raw.send(&call(id, "search_files", &json!({"path": "/project", "pattern": "Hola"})));
    }
    let mut ids: Vec<i64> = raw.end().iter().map(|answer| answer["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).collect::<Vec<i64>>());
}

/// Node gives its children sockets, not pipes.
#[test]
fn a_client_may_give_sockets() {
    let world = World::seed();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = world.command(&["mcp"]);
    command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
    let mut server = command.spawn().unwrap();
    drop(command);
    converse(&ours, &ours);
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_client_may_give_files() {
    let world = World::seed();
    let requests = format!("{}\n{}\n", greeting(), call(1, "read_file", &json!({"path": "package.json"})));
    world.write("requests", requests);
    let mut command = world.command(&["mcp"]);
    command.stdin(std::fs::File::open(world.project().join("requests")).unwrap());
    command.stdout(std::fs::File::create(world.project().join("answers")).unwrap());
    assert!(command.status().unwrap().success());
    let answers = world.read("answers");
    assert_eq!(answers.lines().count(), 2, "{answers}");
    assert!(answers.contains("proyecto"), "{answers}");
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    let ran = World::configured(BOUNDED).paddock(&["mcp"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

/// Not every client reads standard error, and a full pipe would stop the server.
#[test]
fn calls_that_are_refused_are_not_told_on_standard_error() {
    let world = World::configured(BOUNDED);
    let calls = [
        greeting(),
        call(1, "no_such_tool", &json!({})),
        call(2, "read_file", &json!({"path": "/nowhere"})),
        call(3, "read_file", &json!({"no": "path"})),
        json!({"jsonrpc": "2.0", "id": 4, "method": "no/such"}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": 5}}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let ran = world.paddock_reading(&["mcp"], &input);
    assert_eq!((ran.code, ran.stdout.lines().count(), ran.stderr.as_str()), (0, calls.len(), ""));
    let asked = world.paddock_reading(&["mcp", "--log", "info"], &input);
    assert!(asked.stderr.contains("no_such_tool"), "{asked}");
}

#[test]
fn what_holds_is_told_to_nobody() {
    let world = World::configured(&format!("{BOUNDED}quota = {{ bytes = \"1MiB\" }}\n[approvals]\n"));
    assert_eq!(world.paddock(&["mcp"]).stderr, "");
    let answers = world.paddock_reading(&["mcp"], &format!("{}\n", greeting())).stdout;
    assert!(answers.contains("/code") && !answers.contains("quota"), "{answers}");
}

/// Without commands in this version, their section bounds nothing that an agent could do.
#[test]
fn what_init_writes_worries_nobody() {
    assert_eq!(World::seed().paddock(&["mcp"]).stderr, "");
}

/// The log of a few hundred calls is far more than a pipe holds.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let world = World::seed();
    let mut command = world.command(&["mcp", "--log", "trace"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let (mut to, from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let mut lines = BufReader::new(from).lines();
    writeln!(to, "{}", greeting()).unwrap();
    lines.next().unwrap().unwrap();
    for id in 1..=500 {
        writeln!(to, "{}", call(id, "no_such_tool", &json!({"padding": "x".repeat(500)}))).unwrap();
        assert!(lines.next().unwrap().unwrap().contains(&format!("\"id\":{id},")), "call {id}");
    }
    drop(to);
    assert!(server.wait().unwrap().success());
    let mut told = Vec::new();
    server.stderr.take().unwrap().read_to_end(&mut told).unwrap();
    assert!(told.len() > 32 * 1024, "{} bytes: the pipe was never full", told.len());
}

fn greeting() -> Value {
    let params =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// Greets and makes one call.
fn converse(mut to: impl std::io::Write, from: impl std::io::Read) {
    let mut lines = BufReader::new(from).lines();
    let mut answer = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    writeln!(to, "{}", greeting()).unwrap();
    assert_eq!(answer()["result"]["serverInfo"]["name"], "paddock");
    writeln!(to, "{}", call(1, "read_file", &json!({"path": "package.json"}))).unwrap();
    let answer = answer();
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("proyecto"), "{answer}");
}

#[test]
fn nothing_but_messages_goes_to_standard_output() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp", "--log", "trace"]);
    raw.send(&call(1, "read_file", &json!({"path": "src/App.tsx"})));
    assert_eq!(raw.receive()["id"], 1);
    world.write("paddock.toml", "broken");
    raw.send(&call(2, "read_file", &json!({"path": "src/App.tsx"})));
    assert_eq!(raw.receive()["id"], 2);
    assert!(raw.end().is_empty());
}

#[test]
fn text_is_sent_once_and_facts_beside_it() {
    let world = World::seed();
    let mut raw = Raw::greeted(&world, &["mcp"]);
    raw.send(&call(1, "read_file", &json!({"path": "src/App.tsx"})));
    let answer = raw.receive();
    assert_eq!(answer.to_string().matches("export default").count(), 1, "{answer}");
    assert!(answer["result"]["structuredContent"]["version"].is_string(), "{answer}");
    assert!(raw.end().is_empty());
}

#[test]
fn an_agent_is_served_by_its_own_name() {
    let world = World::configured(
        "[agents.reviewer]\n[[agents.reviewer.workspace]]\nprefix = \"/code\"\nscope = \"RO\"\nmount = { physical = \".\" }\n",
    );
    let mut raw = Raw::greeted(&world, &["mcp", "--agent", "reviewer"]);
    raw.send(&call(1, "list_dir", &json!({"path": "/code"})));
    assert_eq!(raw.receive()["result"]["isError"], Value::Null);
    assert!(raw.end().is_empty());
    insta::assert_snapshot!(world.paddock(&["mcp", "--agent", "nobody"]), @r#"
    [stderr]
    error: there is no agent "nobody"
     --> paddock.toml
    hint: agents of this file are "reviewer"
    [exit 2]
    "#);
}

#[test]
fn a_server_that_is_asked_to_end_records_what_it_has_answered() {
    let world = World::seed();
    for (round, signal) in ["TERM", "INT", "HUP"].into_iter().enumerate() {
        let mut raw = Raw::greeted(&world, &["mcp"]);
        for n in 1..=5 {
            raw.send(&call(n, "read_file", &json!({"path": "src/App.tsx"})));
            assert_eq!(raw.receive()["id"], n);
        }
        raw.send(&call(6, "write_file", &json!({"path": "/nowhere/f", "content": ""})));
        assert_eq!(raw.receive()["result"]["isError"], true);
        assert!(raw.terminate(signal).success(), "{signal}");
        let rows = |outcome| {
            let told = world.paddock(&["audit", "query", "--outcome", outcome, "--json"]).stdout;
            serde_json::from_str::<Value>(&told).unwrap().as_array().unwrap().len()
        };
        assert_eq!((rows("done"), rows("denied")), ((round + 1) * 5, round + 1), "{signal}");
    }
}
