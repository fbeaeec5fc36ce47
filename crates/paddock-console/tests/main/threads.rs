//! Runs over HTTP: looked at, resumed in the background of the server, cancelled, forked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_agent::state::{AgentMode, TrustLevel};
use paddock_agent::{Ended, RunOptions};
use paddock_core::AgentName;
use paddock_desk::{running, threads};
use serde_json::{Value, json};

use crate::harness::Served;

fn answer(text: &str) -> Value {
    json!({ "content": text })
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "content": "", "tool_calls": [{ "name": name, "arguments": arguments }] })
}

/// Begins a run that writes and then wants to delete, and waits for that; gives the approval.
pub(crate) fn frozen(served: &Served, thread: &str) -> String {
    std::fs::write(served.file("workspace/old.txt"), "one\n").unwrap();
    let script = served.file(format!("../{thread}.jsonl"));
    let lines = [
        answer("- [ ] write <b>bold</b>\n- [ ] remove"),
        call("write_file", &json!({ "path": "/project/workspace/note.txt", "content": "hello\n" })),
        answer("written"),
        call("delete_file", &json!({ "path": "/project/workspace/old.txt" })),
        answer("removed"),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&script, text).unwrap();
    let model = format!("script:{}", script.display());
    let file = served.desk.config_file().unwrap();
    let chosen = running::choose(&file, &served.desk.project().secrets, Some(&model)).unwrap();
    let settings = running::settings(&file);
    let runtime = running::runtime(&served.desk, &AgentName::main(), &chosen, settings, Arc::new(|_| {})).unwrap();
    let options = RunOptions {
        thread: threads::key(thread).unwrap(),
        agent: "main".to_owned(),
        user: threads::user(),
        mode: AgentMode::Execution,
        level: TrustLevel::Admin,
        tools: None,
    };
    match runtime.start("tidy <script>alert(1)</script>", &options).unwrap() {
        Ended::Frozen(id) => id,
        other => panic!("{other:?}"),
    }
}

/// The thread once it is what is waited for.
fn once(served: &Served, thread: &str, status: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let shown = served.get(&format!("/api/v1/threads/{thread}")).json();
        if shown["thread"]["status"] == status && shown["thread"]["working"] == false {
            return shown;
        }
        assert!(Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_run_that_waits_is_decided_and_resumed_by_the_server() {
    let served = Served::start();
    let id = frozen(&served, "tidy");
    let shown = served.get("/api/v1/threads/tidy").json();
    assert_eq!((&shown["thread"]["status"], &shown["thread"]["approval"]), (&json!("frozen"), &json!(id)));
    assert_eq!(shown["steps"].as_array().unwrap().len(), 2, "{shown}");
    assert_eq!(shown, json!(threads::show(&served.desk, "tidy", None).unwrap()));
    assert_eq!(served.get("/api/v1/threads").json(), json!(threads::list(&served.desk, None, None).unwrap()));
    // Nothing proves a decision but the run's own record.
    let approval = served.get(&format!("/api/v1/approvals/{id}")).json();
    assert_eq!(approval["thread_id"], "tidy");
    let body = json!({ "decision": "approve", "shown": approval["shown"] });
    let decided = served.request("POST", &format!("/api/v1/approvals/{id}/decision")).json_body(&body);
    assert_eq!(decided.status, 200, "{}", decided.text());
    let resumed = served.request("POST", "/api/v1/threads/tid/resume").json_body(&json!({}));
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    let done = once(&served, "tidy", "done");
    assert_eq!(done["thread"]["told"], "removed", "{done}");
    assert!(!served.file("workspace/old.txt").exists());
    assert!(!done.to_string().contains("pat1"), "no token is shown");

    let over = served.request("POST", "/api/v1/threads/tidy/resume").json_body(&json!({}));
    assert_eq!(over.status, 409, "{}", over.text());
    let replay = served.get("/api/v1/threads/tidy/replay").json();
    assert_eq!((&replay["differs_at"], &replay["checkpoints"]), (&json!(null), &done["thread"]["checkpoints"]));
    let all = served.get("/api/v1/threads/tidy/steps?limit=200").json();
    let some = served.get("/api/v1/threads/tidy/steps?limit=2&after=2").json();
    assert_eq!(some[0], all[2]);
    assert_eq!((some.as_array().unwrap().len(), all[0]["n"].as_u64()), (2, Some(1)));
}

/// Resuming what still waits says for what; once that is decided, the page says to resume it.
#[test]
fn a_run_that_waits_says_for_what_and_when_to_resume_it() {
    let served = Served::start();
    let id = frozen(&served, "waits");
    let resumed = served.form("/threads/waits/resume", &[]);
    let to = resumed.head("location").unwrap_or_default().to_owned();
    assert!(to.contains(&format!("told=It%20waits%20for%20approval%20{id}")), "{to} {}", resumed.text());
    let page = served.get("/threads/waits").text();
    assert!(page.contains(&format!("It waits for a decision: <a href=\"/approvals/{id}\">")), "{page}");
    let approval = served.get(&format!("/api/v1/approvals/{id}")).json();
    let body = json!({ "decision": "approve", "shown": approval["shown"] });
    assert_eq!(served.request("POST", &format!("/api/v1/approvals/{id}/decision")).json_body(&body).status, 200);
    let page = served.get("/threads/waits").text();
    assert!(page.contains("Decided: approved") && page.contains("Resume it."), "{page}");
    let resumed = served.form("/threads/waits/resume", &[]);
    assert!(resumed.head("location").is_some_and(|to| to.contains("goes%20on")), "{}", resumed.text());
    once(&served, "waits", "done");
}

#[test]
fn a_run_is_forked_and_cancelled_and_what_it_asked_is_withdrawn() {
    let served = Served::start();
    let id = frozen(&served, "a");
    let forked = served.request("POST", "/api/v1/threads/a/fork").json_body(&json!({ "at": 2, "name": "b" }));
    assert_eq!(
        (forked.status, &forked.json()["parent"]),
        (200, &json!({ "thread_id": "a", "at": 2 })),
        "{}",
        forked.text()
    );
    let taken = served.request("POST", "/api/v1/threads/a/fork").json_body(&json!({ "at": 2, "name": "b" }));
    assert!((400..500).contains(&taken.status), "{}", taken.text());
    assert_eq!(served.request("POST", "/api/v1/threads/a/fork").json_body(&json!({ "at": 99 })).status, 404);
    let cancelled = served.request("POST", "/api/v1/threads/a/cancel");
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")), "{}", cancelled.text());
    assert_eq!(served.get(&format!("/api/v1/approvals/{id}")).json()["status"], "rejected");
    assert_eq!(served.request("POST", "/api/v1/threads/a/cancel").status, 409);
    assert_eq!(served.request("POST", "/api/v1/threads/a/resume").json_body(&json!({})).status, 409);
    assert_eq!(served.request("POST", "/api/v1/threads/none/cancel").status, 404);
    let looker = served.token("looker", true);
    let refused = served.stranger("POST", "/api/v1/threads/b/cancel").bearer(&looker);
    assert_eq!(refused.status, 403);
}

#[test]
fn the_page_shows_plan_steps_and_words_as_text() {
    let served = Served::start();
    let id = frozen(&served, "tidy");
    assert!(served.get("/threads").text().contains("/threads/tidy"));
    let html = served.get("/threads/tidy?replay=1").text();
    for part in [
        "class=\"plan\"",
        "class=\"conversation\"",
        "planner",
        "Resume",
        "Fork",
        &format!("/approvals/{id}"),
        "each comes to the same",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("<script>alert") && !html.contains("<b>bold</b>"), "{html}");
    let forked = served.form("/threads/tidy/fork", &[("at", "2")]);
    assert_eq!(forked.status, 303, "{}", forked.text());
    let cancelled = served.form("/threads/tidy/cancel", &[]);
    assert_eq!(cancelled.status, 303, "{}", cancelled.text());
    assert!(!served.get("/threads/tidy").text().contains("/threads/tidy/resume"));
    assert_eq!(served.get("/threads/nobody").status, 404);
}

#[test]
fn the_page_tells_what_a_run_used_and_what_that_cost() {
    let served = Served::start();
    let used = |thread: &str| {
        frozen(&served, thread);
        let page = served.get(&format!("/threads/{thread}")).text();
        let told = page.split("<dt>Used</dt><dd>").nth(1).unwrap_or_else(|| panic!("{page}"));
        told.split("</dd>").next().unwrap().to_owned()
    };
    let plain = used("plain");
    assert!(plain.ends_with(" tokens"), "{plain}");
    let (file, model) = (served.file("paddock.toml"), format!("script:{}", served.file("../dear.jsonl").display()));
    let config = std::fs::read_to_string(&file).unwrap();
    let prices = "prices = { input = 1000, output = 1000 }";
    std::fs::write(&file, format!("{config}\n[model]\nuse = {}\n{prices}\n", json!(model))).unwrap();
    let dear = used("dear");
    assert!(dear.contains(" tokens, 0.") && dear.ends_with(" USD"), "{dear}");
}
