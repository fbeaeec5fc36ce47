//! The audit over the API and in the pages.

use std::time::Duration;

use paddock_core::{AgentName, CallId, CallRecord};
use serde_json::{Value, json};

use crate::harness::Served;

fn busy() -> Served {
    let served = Served::start();
    for n in 0..3 {
        served.tool("main", "write_file", json!({ "path": format!("/notes/{n}.md"), "content": "x\n" }));
    }
    served.tool("main", "write_file", json!({ "path": "/project/src/lib.rs", "content": "no" }));
    served.desk.audit().flush().unwrap();
    served
}

fn rows(served: &Served, query: &str) -> Vec<Value> {
    let told = served.get(&format!("/api/v1/audit?{query}"));
    assert_eq!(told.status, 200, "{}", told.text());
    told.json().as_array().unwrap().clone()
}

#[test]
fn rows_come_by_filter_and_page_by_page_in_both_directions() {
    let served = busy();
    let all = rows(&served, "");
    assert_eq!(rows(&served, "outcome=denied").len(), 1);
    assert_eq!(rows(&served, "ended=true&tool=write_file&path=/notes").len(), 3);
    for order in ["", "newest_first=true&"] {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let page = rows(&served, &format!("{order}limit=2&{after}"));
            let Some(last) = page.last() else { break };
            after = format!("after={}", last["cursor"].as_str().unwrap());
            seen.extend(page);
        }
        if !order.is_empty() {
            seen.reverse();
        }
        assert_eq!(seen, all, "{order}");
    }
    assert_eq!(served.get("/api/v1/audit?after=nonsense").status, 400);
    assert_eq!(served.get("/api/v1/audit?since=soon").status, 400);
    let mistyped = served.get("/api/v1/audit?outcome=dennied");
    assert!(mistyped.status == 400 && mistyped.text().contains("done, denied, failed"), "{}", mistyped.text());
    for list in ["audit?", "history?path=/notes&", "calls?"] {
        let refused = served.get(&format!("/api/v1/{list}limit=10001"));
        assert!(refused.status == 400 && refused.text().contains("ask for 1 to 10000"), "{list}: {}", refused.text());
    }
    let page = served.get("/activity").text();
    assert!(page.contains("/notes/2.md") && page.contains("why?"), "{page}");
    assert!(!served.get("/activity?outcome=denied").text().contains("/notes/2.md"));
}

#[test]
fn hours_are_counted_by_outcome() {
    let served = busy();
    let hours = served.get("/api/v1/audit/hours?hours=2").json();
    assert_eq!(hours.as_array().unwrap().len(), 2);
    let sum = |word: &str| hours.as_array().unwrap().iter().map(|hour| hour[word].as_u64().unwrap()).sum::<u64>();
    // With the link that was made, and the sign-in by it.
    assert_eq!((sum("done"), sum("denied"), sum("failed")), (3 + 2, 1, 0));
}

#[test]
fn an_export_is_every_row_as_a_line() {
    let served = busy();
    let told = served.get("/api/v1/audit/export");
    assert_eq!((told.status, told.head("content-type")), (200, Some("application/x-ndjson")));
    assert_eq!(told.head("transfer-encoding"), Some("chunked"), "it is not put together first");
    let lines: Vec<Value> = told.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all = rows(&served, "");
    let hashes = |rows: &[Value]| rows.iter().map(|row| row["hash"].clone()).collect::<Vec<_>>();
    assert_eq!(hashes(&lines), hashes(&all));
    assert_eq!(served.stranger("GET", "/api/v1/audit/export").status, 401);
}

#[test]
fn a_row_that_was_tampered_with_is_found() {
    let served = busy();
    let whole = served.request("POST", "/api/v1/audit/verify").json();
    assert_eq!(whole["ok"], json!(true), "{whole}");
    assert!(served.form("/activity/verify", &[]).text().contains("as they were written"));
    let database = served.desk.installation().home().unwrap().state_db();
    let changed = rusqlite::Connection::open(database).unwrap();
    changed.execute("UPDATE audit_row SET outcome = 'done' WHERE outcome = 'denied'", ()).unwrap();
    let told = served.request("POST", "/api/v1/audit/verify").json();
    assert_eq!(told["ok"], json!(false), "{told}");
    assert!(served.form("/activity/verify", &[]).text().contains("It is not: "));
}

#[test]
fn what_an_agent_wrote_is_only_text() {
    let served = Served::start();
    let (tool, path) = ("<img src=x onerror=alert(1)>", "/elsewhere/<img src=x onerror=alert(1)>\u{202e}gpj.md");
    let call = CallId::next();
    let record = CallRecord {
        call,
        agent: &AgentName::main(),
        by: None,
        tool,
        path,
        workspace: None,
        outcome: "denied",
        reason: "<img src=x>",
        risk: None,
        bytes: 0,
        took: Duration::ZERO,
        effect: false,
    };
    served.desk.audit().record(&record).unwrap();
    served.desk.audit().flush().unwrap();
    for page in ["/activity".to_owned(), format!("/activity/{call}"), "/".to_owned()] {
        let text = served.get(&page).text();
        assert!(!text.contains("<img src=x"), "{page}: {text}");
        assert!(!text.contains('\u{202e}'), "{page}: {text}");
        assert!(text.contains("U+202E"), "{page}: {text}");
    }
}

#[test]
fn one_call_is_told_with_its_reason() {
    let served = busy();
    let row = rows(&served, "outcome=denied").remove(0);
    let call = row["call"].as_str().unwrap();
    let told = served.get(&format!("/api/v1/audit/calls/{call}")).json();
    assert_eq!(told["why"]["would_allow"]["text"], json!("scope = \"READ_WRITE\""), "{told}");
    assert_eq!(told["changes"], Value::Null);
    let page = served.get(&format!("/activity/{call}")).text();
    assert!(page.contains("READ_ONLY does not let write through") && page.contains("paddock.toml:"), "{page}");
    assert_eq!(served.get("/api/v1/audit/calls/zzzzzzzzzzzzz").status, 404);
    assert_eq!(served.get("/activity/zzzzzzzzzzzzz").status, 404);
}

#[test]
fn what_a_person_did_names_the_person_and_what_an_agent_did_does_not() {
    let served = busy();
    let put = |request: crate::http::Request| request.header("content-type", "text/plain").body(b"by hand\n").status;
    assert_eq!(put(served.request("PUT", "/api/v1/files/main/notes/mine.md")), 201);
    let secret = served.token("ci", false);
    let by_program = served.stranger("PUT", "/api/v1/files/main/notes/ours.md");
    assert_eq!(put(by_program.bearer(&secret)), 201);
    let by = |path: &str| {
        let found = rows(&served, &format!("path={path}"));
        assert!(!found.is_empty(), "{path}");
        let same = found.iter().all(|row| row["by"] == found[0]["by"]);
        assert!(same, "intent and outcome name the same: {found:?}");
        (found[0]["agent"].clone(), found[0]["by"].clone())
    };
    assert_eq!(by("/notes/0.md"), (json!("main"), Value::Null));
    let person = format!("{} (console)", paddock_desk::person());
    assert_eq!(by("/notes/mine.md"), (json!("main"), json!(person)));
    assert_eq!(by("/notes/ours.md"), (json!("main"), json!("token ci")));
    assert_eq!(rows(&served, "by=token%20ci&ended=true").len(), 1);
    let page = served.get("/activity").text();
    assert!(page.contains("by token ci") && page.contains(&format!("by {person}")), "{page}");
    let changes = served.get("/api/v1/history?path=/notes/ours.md").json();
    assert_eq!(changes[0]["by"], json!("token ci"), "{changes}");
    assert!(served.get("/files/notes/ours.md?view=history").text().contains("by token ci"));
    assert_eq!(served.request("POST", "/api/v1/audit/verify").json()["ok"], json!(true));
}

#[test]
fn tokens_links_and_sessions_leave_rows_without_their_secrets() {
    let served = Served::start();
    let secret = served.token("ci", false);
    let id = served.get("/api/v1/tokens").json()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(served.request("DELETE", &format!("/api/v1/tokens/{id}")).status, 204);
    let link = served.link();
    let acts: Vec<(String, String, String)> = rows(&served, "ended=true")
        .iter()
        .map(|row| ["tool", "path", "by"].map(|name| row[name].as_str().unwrap_or_default().to_owned()).into())
        .collect();
    let person = paddock_desk::person();
    let console = format!("{person} (console)");
    let about = format!("{id} ci");
    let row = |tool: &str, about: &str, by: &str| (tool.to_owned(), about.to_owned(), by.to_owned());
    let expected = [
        row("login", "", &person),
        row("sign in", "", &console),
        row("token new", &about, &person),
        row("token revoke", &about, &console),
        row("login", "", &person),
    ];
    assert_eq!(acts, expected);
    let exported = served.get("/api/v1/audit/export").text();
    assert!(!exported.contains(&secret) && !exported.contains(&link), "{exported}");
    served.form("/logout", &[("everybody", "true")]).text();
    let again = served.again();
    let ended = rows(&again, "ended=true&tool=sign%20everybody%20out");
    assert_eq!(ended[0]["by"], json!(console), "{ended:?}");
}
