//! A planted value is used in every way there is, and then looked for everywhere.
//!
//! Every file under the System Root is searched byte by byte, databases included, and so is everything that was printed
//! on the way. Each act has to show the mark that stands in the place of the value, so that none of them is idle.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Ran, World};
use crate::server::{Server, token};
use crate::website::{Page, Website};

/// Nothing in it needs an escape anywhere.
const PLAIN: &str = "tok_0123456789abcdef";
/// Everything in it does.
const ODD: &str = "pl\"anted/Va&lue+ 9876543210";

/// What must be found nowhere: the values, and what programs make of them.
fn needles() -> Vec<String> {
    let mut needles = Vec::new();
    for value in [PLAIN, ODD] {
        needles.push(value.to_owned());
        needles.push(value.replace('"', "\\\""));
        needles.push(value.replace('"', "\\\\\\\""));
    }
    for encoded in [
        // base64 of each, alone and after one and two letters, as far as it depends on the value
        "dG9rXzAxMjM0NTY3ODlhYmNkZW",
        "Rva18wMTIzNDU2Nzg5YWJjZGVm",
        "0b2tfMDEyMzQ1Njc4OWFiY2RlZ",
        "cGwiYW50ZWQvVmEmbHVlKyA5ODc2NTQzMjEw",
        // percent-encoded and in hexadecimal digits
        "pl%22anted%2FVa%26lue%2B%209876543210",
        "746f6b5f30313233343536373839616263646566",
    ] {
        needles.push(encoded.to_owned());
    }
    needles
}

/// What of it is there.
fn held(what: &str, bytes: &[u8]) -> Option<String> {
    let is_there = |needle: &&String| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    let needles = needles();
    let found = needles.iter().find(is_there)?;
    Some(format!("{what} holds {found:?}:\n{}", String::from_utf8_lossy(bytes)))
}

#[track_caller]
fn assert_free(what: &str, bytes: &[u8]) {
    assert_eq!(held(what, bytes), None);
}

/// How many files there are, and what of it is in them or in their names.
fn search(directory: &Path, wrong: &mut Vec<String>) -> usize {
    let mut looked_at = 0;
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        wrong.extend(held("a name", path.to_string_lossy().as_bytes()));
        if entry.file_type().unwrap().is_dir() {
            looked_at += search(&path, wrong);
        } else {
            let found = held(&path.display().to_string(), &fs::read(&path).unwrap());
            wrong.extend(found.map(|found| found.lines().next().unwrap_or_default().to_owned()));
            looked_at += 1;
        }
    }
    looked_at
}

/// A project whose commands have both values in their environment.
fn planted() -> World {
    let world = World::configured(
        r#"
base = "/project"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
[commands]
env = { PLAIN = { secret = "plain" }, ODD = { secret = "odd" }, LANG = "C.UTF-8" }
output_limit = "2 KiB"
"#,
    );
    for (name, value) in [("plain", PLAIN), ("odd", ODD)] {
        assert_eq!(super::set(&world, name, value).code, 0);
    }
    world.write("work/settings.txt", format!("first\ntoken = {PLAIN}\nother = {ODD}\n"));
    world
}

/// What was asked for and printed, and what of it has to hold a mark.
struct Heard {
    world: World,
    count: usize,
    /// What is wrong, all of it: a run is long.
    wrong: Vec<String>,
}

impl Heard {
    fn take(&mut self, what: &str, ran: &Ran) {
        self.listen(what, ran);
        let told = ran.to_string();
        if !told.contains("[secret ") && !told.contains("value of the secret") {
            self.wrong.push(format!("{what} came to nothing: {ran}"));
        }
    }

    /// The same for what may tell nothing.
    fn listen(&mut self, what: &str, ran: &Ran) {
        self.wrong.extend(held(what, ran.to_string().as_bytes()));
        self.count += 1;
    }

    fn tool(&mut self, tool: &str, arguments: &Value) {
        let text = arguments.to_string();
        let ran = self.world.paddock(&["--log", "trace", "tool", tool, &text]);
        self.take(&format!("{tool} {text}"), &ran);
        let ran = self.world.paddock(&["tool", tool, &text, "--json"]);
        self.take(&format!("{tool} {text} as JSON"), &ran);
    }
}

/// Commands that print them.
const PRINTING: &[&str] = &[
    r#"printf '%s\n' "$PLAIN" "$ODD""#,
    r#"printf '%s\n' "$ODD" >&2"#,
    r#"printf %s "$PLAIN" | base64; printf %s "x$PLAIN" | base64; printf %s "xy$PLAIN" | base64; printf %s "$ODD" | base64"#,
    r#"printf %s "$PLAIN" | od -An -tx1 | tr -d ' \n'"#,
    // in two writes, and on two streams
    r#"printf %s "${PLAIN%????????}"; sleep 0.2; printf '%s\n' "${PLAIN#????????????}""#,
    r#"printf %s "${PLAIN%????????}"; sleep 0.2; printf '%s\n' "${PLAIN#????????????}" >&2"#,
    r#"printf '%s\033[31m%s\n' "${PLAIN%????????}" "${PLAIN#????????????}""#,
    // and in a name
    r#"touch "$PLAIN.txt"; mkdir "d$PLAIN""#,
];

#[test]
fn a_planted_value_is_found_nowhere() {
    let mut heard = Heard { world: planted(), count: 0, wrong: Vec::new() };
    by_commands(&mut heard);
    by_files_and_paths(&mut heard);
    over_mcp(&mut heard);
    by_the_command_line(&mut heard);
    by_a_run(&mut heard);
    by_an_import(&mut heard);
    by_what_waits_for_a_person(&mut heard);
    over_http(&mut heard);
    for arguments in
        [&["audit", "query", "--json"][..], &["audit", "export"], &["log"], &["log", "--json"], &["config", "show"]]
    {
        let ran = heard.world.paddock(arguments);
        assert_eq!(ran.code, 0, "{ran}");
        heard.listen(&format!("{arguments:?}"), &ran);
    }
    let Heard { world, count, mut wrong } = heard;
    let looked_at = search(&world.home(), &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 40 && looked_at > 6, "{count} {looked_at}");
    let verified = world.paddock(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    assert_eq!(
        world.read("work/settings.txt"),
        format!("first\ntoken = {PLAIN}\nother = {ODD}\n"),
        "a file is as it was written"
    );
}

fn by_commands(heard: &mut Heard) {
    for command in PRINTING {
        heard.tool("execute_command", &json!({ "command": command }));
        // A terminal has two streams, and each is looked at by itself.
        if !(command.contains("%????????") && (command.contains(">&2") || command.contains("033"))) {
            let ran = heard.world.paddock(&["exec", command]);
            heard.take(&format!("exec {command}"), &ran);
        }
    }
    // The value in the text of a command.
    heard.tool("execute_command", &json!({ "command": format!("echo {PLAIN}") }));
    heard.tool("execute_command", &json!({ "command": "true", "workspace": format!("/x/{PLAIN}") }));
    // More than is shown: all of it can be read later.
    let long = r#"i=0; while [ $i -lt 500 ]; do echo "line $i $PLAIN $ODD"; i=$((i+1)); done"#;
    let ran = heard.world.paddock(&["tool", "execute_command", &json!({ "command": long }).to_string(), "--json"]);
    heard.take("a long output", &ran);
    let path = ran.json()["structured"]["output_path"].as_str().unwrap().to_owned();
    heard.tool("read_file", &json!({ "path": path, "offset": 200, "limit": 20 }));
}

fn by_files_and_paths(heard: &mut Heard) {
    heard.tool("read_file", &json!({ "path": "settings.txt" }));
    heard.tool("search_files", &json!({ "path": ".", "pattern": "token|other" }));
    let edit = json!({ "path": "settings.txt", "old_string": "no such", "new_string": PLAIN, "expected_version": ODD });
    let ran = heard.world.paddock(&["--log", "trace", "tool", "edit_file", &edit.to_string()]);
    heard.listen("edit_file", &ran);
    for path in [format!("/project/{PLAIN}"), format!("/outside/{ODD}"), format!("../../{PLAIN}"), format!("{PLAIN}\0")]
    {
        heard.tool("read_file", &json!({ "path": path }));
        heard.tool("write_file", &json!({ "path": path, "content": "x" }));
    }
    heard.tool("make_dir", &json!({ "path": format!("a/{PLAIN}/b") }));
    heard.tool("move_file", &json!({ "source": "settings.txt", "destination": format!("{PLAIN}.txt") }));
    heard.tool("find_files", &json!({ "path": ".", PLAIN: 1 }));
    heard.tool(PLAIN, &json!({}));
    // A name that a person gave to a file is listed without it.
    heard.world.write(&format!("work/named-{PLAIN}.txt"), "x");
    heard.tool("list_dir", &json!({ "path": "." }));
    heard.tool("find_files", &json!({ "path": ".", "glob": "named*" }));
    fs::remove_file(heard.world.project().join(format!("work/named-{PLAIN}.txt"))).unwrap();
}

fn over_mcp(heard: &mut Heard) {
    // The name of a client is logged.
    let client = json!({ "name": PLAIN, "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    let slow =
        r#"printf %s "${PLAIN%????????}"; sleep 0.6; printf '%s\n' "${PLAIN#????????????}"; echo "$ODD"; sleep 0.6"#;
    for (id, (tool, arguments)) in [
        ("execute_command", json!({ "command": slow })),
        ("read_file", json!({ "path": "settings.txt" })),
        ("write_file", json!({ "path": format!("{PLAIN}.txt"), "content": PLAIN })),
        (PLAIN, json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
        lines.push(json!({ "jsonrpc": "2.0", "id": id + 1, "method": "tools/call", "params": params }));
    }
    lines.push(json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": { "cursor": PLAIN } }));
    lines.push(json!({ "jsonrpc": "2.0", "id": 9, "method": format!("tools/{PLAIN}"), "params": {} }));
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = session(&heard.world, &input, 7);
    heard.take("a session over MCP", &ran);
    let is_marked = |line: &&str| line.contains("[secret ") || line.contains("value of the secret");
    let marked = ran.stdout.lines().filter(is_marked).count();
    let told_meanwhile = ran.stdout.contains("notifications/progress");
    if marked < 6 || !told_meanwhile {
        heard.wrong.push(format!("of a session {marked} lines are marked: {ran}"));
    }
    let directories =
        heard.world.paddock_reading(&["mcp", "work"], &input.replace("\"settings.txt\"", "\"/work/settings.txt\""));
    heard.take("a session over MCP on directories", &directories);
}

/// A session whose client stays until so many of its requests are answered: only then is progress told.
fn session(world: &World, input: &str, answers: usize) -> Ran {
    let mut command = world.command(&["--log", "info", "mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(input.as_bytes()).unwrap();
    let mut stdout = String::new();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let mut left = answers;
    while left > 0 {
        let before = stdout.len();
        assert_ne!(from.read_line(&mut stdout).unwrap(), 0, "{stdout}");
        left -= usize::from(stdout[before..].contains("\"id\":"));
    }
    drop(to);
    from.read_to_string(&mut stdout).unwrap();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    Ran { stdout, stderr, code: ended.status.code().unwrap_or(-1) }
}

fn by_the_command_line(heard: &mut Heard) {
    let broken = format!("{{\"path\": {PLAIN}");
    for arguments in [
        &["undo", PLAIN][..],
        &["restore", PLAIN, "--at", ODD],
        &["diff", PLAIN],
        &["--agent", PLAIN, "map"],
        &["--config", PLAIN, "check"],
        &["config", "set", "name", PLAIN, ODD],
        &["config", "get", PLAIN],
        &["secret", "rm", PLAIN],
        &["mcp", PLAIN],
    ] {
        let ran = heard.world.paddock(arguments);
        heard.take(&format!("{arguments:?}"), &ran);
    }
    let ran = heard.world.paddock(&["tool", "read_file", &broken]);
    heard.listen("broken arguments", &ran);
    let config = heard.world.read("paddock.toml");
    heard.world.write("paddock.toml", format!("{config}\n[commands.{PLAIN}]\n"));
    let ran = heard.world.paddock(&["check"]);
    heard.take("a broken configuration", &ran);
    heard.world.write("paddock.toml", config);
}

/// A person says them to a model, which says them back, in words and in calls.
fn by_a_run(heard: &mut Heard) {
    let calling = |tool: &str, arguments: Value| json!({ "content": ODD, "tool_calls": [{ "name": tool, "arguments": arguments }] });
    let lines = [
        json!({ "content": format!("- [ ] use {PLAIN}") }),
        calling("read_file", json!({ "path": "settings.txt" })),
        calling("execute_command", json!({ "command": "echo \"$PLAIN $ODD\"" })),
        calling("make_dir", json!({ "path": format!("d/{PLAIN}") })),
        json!({ "content": format!("it was {PLAIN}, and {ODD}") }),
    ];
    let script = heard.world.path().join("script.jsonl");
    fs::write(&script, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let model = format!("script:{}", script.display());
    let prompt = format!("Is {PLAIN} or {ODD} right?");
    let ran = heard.world.paddock(&["run", &prompt, "--thread", "said", "--model", &model, "--no-wait"]);
    assert_eq!(ran.code, 0, "{ran}");
    heard.take("a run", &ran);
    for arguments in [
        &["threads", "show", "said", "--json"][..],
        &["threads", "replay", "said"],
        &["instance", "messages", "said", "--jsonl"],
    ] {
        let ran = heard.world.paddock(arguments);
        assert_eq!(ran.code, 0, "{ran}");
        heard.listen(&format!("{arguments:?}"), &ran);
    }
    let ran = heard.world.paddock(&["instance", "export", "said"]);
    heard.take("a conversation", &ran);
}

/// A conversation that somebody else wrote, with them wherever a text can stand.
fn by_an_import(heard: &mut Heard) {
    let message = |id: &str, text: &str| {
        json!({
            "id": id, "data": { "role": "tool", "content": [text], text: 1 }, "metadata": { "beside": text },
            "createdAt": "2026-11-15T12:30:00.000Z",
            "source": { "type": "tool", "toolCallId": text, "toolName": text },
        })
    };
    let events = [
        json!({ "type": "append", "message": message("m2", ODD) }),
        json!({ "type": "replace", "targetId": PLAIN, "message": message("m3", PLAIN) }),
    ];
    heard.world.write("from/messages/base.jsonl", format!("{}\n", message(PLAIN, ODD)));
    heard.world.write("from/messages/events.jsonl", events.map(|event| event.to_string() + "\n").concat());
    heard.world.write("from/extensions/memory.json", json!({ PLAIN: [ODD], "more": { "key": PLAIN } }).to_string());
    let ran = heard.world.paddock(&["--log", "trace", "instance", "import", "came", "from"]);
    assert_eq!(ran.code, 0, "{ran}");
    heard.listen("an import", &ran);
    // The message that an event looks for is found although its id is another now.
    let ran = heard.world.paddock(&["instance", "export", "came"]);
    assert_eq!((ran.stdout.lines().count(), ran.stdout.matches("\"m3\"").count()), (2, 1), "{ran}");
    heard.take("what was imported", &ran);
    fs::remove_dir_all(heard.world.project().join("from")).unwrap();
}

/// What a person is shown before a file that holds them is deleted.
fn by_what_waits_for_a_person(heard: &mut Heard) {
    let delete = json!({ "path": "settings.txt" }).to_string();
    let ran = heard.world.paddock(&["tool", "delete_file", &delete]);
    assert_eq!(ran.code, 3, "{ran}");
    heard.listen("a call that waits", &ran);
    let ran = heard.world.paddock(&["approvals", "list", "--json"]);
    heard.listen("what waits", &ran);
    let id = ran.json()[0]["id"].as_str().unwrap().to_owned();
    for arguments in [&["approvals", "show", &id][..], &["approvals", "show", &id, "--json"]] {
        let ran = heard.world.paddock(arguments);
        heard.take(&format!("{arguments:?}"), &ran);
    }
    let ran = heard.world.paddock(&["approvals", "reject", &id, "--reason", PLAIN]);
    assert_eq!(ran.code, 0, "{ran}");
    heard.listen("a rejection", &ran);
}

/// The same over HTTP, for programs and for agents.
fn over_http(heard: &mut Heard) {
    let server = Server::start(&heard.world);
    let (api, agent) = (token(&heard.world, &["program", "--api"]), token(&heard.world, &["agent"]));
    let mut marked = 0;
    for target in [
        "/api/v1/instances/said/export",
        "/api/v1/instances/came/messages",
        "/api/v1/approvals",
        "/api/v1/audit/export",
        "/api/v1/threads/said/steps",
    ] {
        let answer = server.request("GET", target).bearer(&api).text();
        heard.wrong.extend(held(target, answer.as_bytes()));
        marked += usize::from(answer.contains("[secret "));
        heard.count += 1;
    }
    for (tool, arguments) in [
        ("read_file", json!({ "path": "settings.txt" })),
        ("execute_command", json!({ "command": "echo \"$PLAIN $ODD\"" })),
        (PLAIN, json!({})),
    ] {
        let answer = server.call(&agent, tool, &arguments);
        heard.wrong.extend(held(tool, answer.as_bytes()));
        marked += usize::from(answer.contains("[secret "));
        heard.count += 1;
    }
    assert!(marked >= 5, "{marked} answers are marked");
}

#[test]
fn a_search_service_is_sent_its_key_and_nobody_else_is_told() {
    let server = Website::start();
    server.page(
        "/search",
        Page::ok(
            "application/json",
            json!({ "results": [
        { "url": "https://doc.example/", "title": format!("told {PLAIN} back"), "content": "x" },
    ] })
            .to_string(),
        ),
    );
    let world = World::configured(
        "[[workspace]]\nprefix = \"/w\"\nscope = \"RO\"\nmount = { virtual = \"w\" }\n\
         [web_search]\nurl = { secret = \"service\" }\nkey = { secret = \"plain\" }\n",
    );
    super::set(&world, "plain", PLAIN);
    super::set(&world, "service", &format!("http://127.0.0.1:{}/", server.port));
    let ran = world.paddock(&["--log", "trace", "tool", "web_search", r#"{"query": "x"}"#]);
    assert!(ran.code == 0 && ran.stdout.contains("told [secret plain] back"), "{ran}");
    assert_free("the answer", ran.to_string().as_bytes());
    assert!(server.heads().iter().any(|head| head.to_lowercase().contains(&format!("authorization: bearer {PLAIN}"))));
    let mut wrong = Vec::new();
    search(&world.home(), &mut wrong);
    assert_eq!(wrong, [] as [String; 0]);
}
