//! Two `paddock serve` on one PostgreSQL, each on a machine of its own as far as they know: another directory, another System Root. What
//! waits at one is decided at the other, and holds; what happens at one is told at the other.

use std::os::unix::fs::DirBuilderExt as _;

use paddock_db::postgres_testing::Database;
use serde_json::{Value, json};

use crate::harness::{World, eventually};
use crate::server::{Listener, Server, token};

/// Two machines of one installation: they share its key, and nothing else but the server.
fn machines(database: &Database) -> (World, World) {
    let (here, there) = (machine(database), machine(database));
    // The key is made with the first call.
    let write = here.paddock(&["tool", "write_file", "{\"path\": \"/notes/old.txt\", \"content\": \"one\\n\"}"]);
    assert_eq!(write.code, 0, "{write}");
    let refused = there.paddock(&["tool", "delete_file", "{\"path\": \"/notes/old.txt\"}"]);
    assert_ne!(refused.code, 0, "without the key nothing is done: {refused}");
    share_key(&here, &there);
    (here, there)
}

/// Copies the key of one machine to another, as a person does before that one begins.
pub(crate) fn share_key(from: &World, to: &World) {
    let secrets = |world: &World| world.home().join(".paddock/secrets");
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700).create(secrets(to)).unwrap();
    std::fs::copy(secrets(from).join("audit.key"), secrets(to).join("audit.key")).unwrap();
}

/// A project whose files and state are all on a server, as one of several machines has it.
fn machine(database: &Database) -> World {
    let url = database.url();
    World::configured(&format!(
        "name = \"p\"\n[virtual]\nurl = \"{url}\"\n[state]\nurl = \"{url}\"\nid = \"p\"\n\
         [[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = {{ virtual = \"notes\" }}\n"
    ))
}

/// As alice starts it.
fn serve(world: &World) -> Server {
    let mut command = Server::command(world);
    command.env("USER", "alice");
    Server::spawn(command)
}

/// One request with a token: the status, and the JSON of the body.
fn ask(server: &Server, secret: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let request = server.request(method, path).bearer(secret).header("accept", "application/json");
    let request = if let Some(body) = body { request.json_body(body) } else { request };
    (request.status, serde_json::from_slice(&request.body).unwrap_or(Value::String(request.text())))
}

fn decide(server: &Server, secret: &str, id: &str) -> (u16, Value) {
    let (_, shown) = ask(server, secret, "GET", &format!("/api/v1/approvals/{id}"), None);
    let decision = json!({ "decision": "approve", "shown": shown["shown"] });
    ask(server, secret, "POST", &format!("/api/v1/approvals/{id}/decision"), Some(&decision))
}

#[test]
fn what_waits_at_one_is_decided_at_the_other() {
    let database = Database::fresh();
    let (here, there) = machines(&database);
    let (first, second) = (serve(&here), serve(&there));
    let agent = token(&here, &["worker", "--agent", "main"]);
    let person = token(&there, &["person", "--api"]);
    let delete = json!({ "path": "/notes/old.txt" });
    let told = first.call(&agent, "delete_file", &delete);
    let (status, waiting) = ask(&second, &person, "GET", "/api/v1/approvals", None);
    let id = waiting[0]["id"].as_str().unwrap_or_else(|| panic!("{status} {waiting}")).to_owned();
    assert!(told.contains(&id), "{told}");
    let (status, decided) = decide(&second, &person, &id);
    assert_eq!((status, &decided["approval"]["decided_by"]), (200, &json!("token person")), "{decided}");
    // Too late at the first, which hears who was faster.
    let (status, late) = decide(&first, &person, &id);
    assert_eq!(status, 409, "{late}");
    assert!(late["detail"].as_str().unwrap().contains("approved already, by token person"), "{late}");
    let done = first.call(&agent, "delete_file", &delete);
    assert!(!done.contains("ap-"), "{done}");
    let gone = first.call(&agent, "read_file", &delete);
    assert!(gone.contains("ERROR") && !gone.contains("one"), "{gone}");
    let (_, used) = ask(&second, &person, "GET", &format!("/api/v1/approvals/{id}"), None);
    assert!(used["used_by"].is_string(), "{used}");
}

#[test]
fn what_happens_at_one_is_told_at_the_other() {
    let database = Database::fresh();
    let (here, there) = machines(&database);
    let (first, second) = (serve(&here), serve(&there));
    let agent = token(&here, &["worker", "--agent", "main"]);
    let person = token(&there, &["person", "--api"]);
    let listens =
        |server: &Server| Listener::let_in(server.request("GET", "/api/v1/events").bearer(&person).open()).unwrap();
    let (mut at_first, mut at_second) = (listens(&first), listens(&second));
    first.call(&agent, "write_file", &json!({ "path": "/notes/new.txt", "content": "new" }));
    first.call(&agent, "delete_file", &json!({ "path": "/notes/old.txt" }));
    for listener in [&mut at_second, &mut at_first] {
        let (written, waits) = (listener.next(), listener.next());
        assert_eq!((&written["path"], &written["outcome"]), (&json!("/notes/new.txt"), &json!("done")));
        assert_eq!((&waits["path"], &waits["kind"]), (&json!("/notes/old.txt"), &json!("approval-waiting")));
    }
    // And what a person decides at the second is told at the first.
    let (_, waiting) = ask(&second, &person, "GET", "/api/v1/approvals", None);
    let (status, decided) = decide(&second, &person, waiting[0]["id"].as_str().unwrap());
    assert_eq!(status, 200, "{decided}");
    assert_eq!(at_first.next()["tool"], "approvals approve");
}

#[test]
fn a_run_that_waits_at_one_goes_on_at_the_other() {
    let database = Database::fresh();
    let (here, there) = machines(&database);
    let script = here.path().join("script.jsonl");
    let call =
        json!({ "content": "", "tool_calls": [{ "name": "delete_file", "arguments": { "path": "/notes/old.txt" } }] });
    std::fs::write(
        &script,
        format!("{}\n{call}\n{}\n", json!({ "content": "- [ ] remove" }), json!({ "content": "removed" })),
    )
    .unwrap();
    let model = format!("script:{}", script.display());
    let mut command =
        here.command(&["run", "tidy", "--thread", "t", "--level", "admin", "--model", &model, "--no-wait", "--json"]);
    command.env("USER", "alice");
    let frozen = here.run(command, "");
    assert_eq!(frozen.code, 3, "{frozen}");
    let id = frozen.json()["approval"].as_str().unwrap().to_owned();

    let (first, second) = (serve(&here), serve(&there));
    let person = token(&here, &["person", "--api"]);
    let (status, decided) = decide(&first, &person, &id);
    assert_eq!(status, 200, "{decided}");
    // Signed by one machine, it holds on the other, and so does the right to resume.
    let (status, resumed) = ask(&second, &person, "POST", "/api/v1/threads/t/resume", Some(&json!({})));
    assert_eq!(status, 200, "{resumed}");
    let shown = || ask(&first, &person, "GET", "/api/v1/threads/t", None).1["thread"].clone();
    assert!(
        eventually(|| shown()["status"] == "done"),
        "{} {}",
        shown(),
        ask(&second, &person, "GET", "/api/v1/threads/t", None).1["thread"]
    );
    assert_eq!(shown()["told"], "removed");
}
