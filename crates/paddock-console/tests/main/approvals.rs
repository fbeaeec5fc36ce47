//! What waits for a person, over HTTP: shown whole, decided once, by whoever was first.

use paddock_desk::approvals::{self, ListAsked, Which};
use serde_json::{Value, json};

use crate::harness::Served;
use crate::http::Request;

/// A delete of a file that now waits, as the API shows it.
fn parked(served: &Served, name: &str, content: &str) -> Value {
    std::fs::write(served.file("workspace").join(name), content).unwrap();
    let told = served.tool("main", "delete_file", json!({ "path": format!("/project/workspace/{name}") }));
    assert!(told.contains("ap-"), "{told}");
    served.get("/api/v1/approvals?limit=1").json()[0].clone()
}

fn at(approval: &Value) -> String {
    format!("/api/v1/approvals/{}", approval["id"].as_str().unwrap())
}

fn decide(served: &Served, approval: &Value, decision: Value) -> Request {
    let mut body = json!({ "shown": approval["shown"] });
    body.as_object_mut().unwrap().extend(decision.as_object().unwrap().clone());
    served.request("POST", &format!("{}/decision", at(approval))).json_body(&body)
}

#[test]
fn of_eight_at_once_one_decides_and_the_others_hear_who_did() {
    let served = Served::start();
    let approval = parked(&served, "old.txt", "one\ntwo\n");
    let secrets: Vec<String> = (0..8).map(|n| served.token(&format!("door-{n}"), false)).collect();
    let target = format!("{}/decision", at(&approval));
    let body = json!({ "decision": "approve", "shown": approval["shown"] });
    let statuses: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let send = |secret: &String| {
            let sent = served.stranger("POST", &target).bearer(secret).json_body(&body);
            let answer = sent.try_send().unwrap();
            (answer.status, serde_json::from_slice(&answer.body).unwrap())
        };
        let all: Vec<_> = secrets.iter().map(|secret| scope.spawn(move || send(secret))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let won: Vec<&Value> = statuses.iter().filter(|(status, _)| *status == 200).map(|(_, body)| body).collect();
    assert_eq!(won.len(), 1, "{statuses:?}");
    let by = won[0]["approval"]["decided_by"].as_str().unwrap();
    assert!(by.starts_with("token door-"), "{by}");
    for (status, body) in statuses.iter().filter(|(status, _)| *status != 200) {
        assert_eq!(*status, 409, "{body}");
        assert!(body["detail"].as_str().unwrap().contains(&format!("approved already, by {by}")), "{body}");
    }
    // What was agreed to is made once.
    served.tool("main", "delete_file", json!({ "path": "/project/workspace/old.txt" }));
    assert!(!served.file("workspace/old.txt").exists());
}

#[test]
fn a_call_that_waited_names_who_decided_and_the_call_that_made_the_change() {
    let served = Served::start();
    let approval = parked(&served, "old.txt", "one\n");
    let call = |outcome: &str| {
        served.desk.audit().flush().unwrap();
        let rows = served.get(&format!("/api/v1/audit?tool=delete_file&outcome={outcome}")).json();
        rows[0]["call"].as_str().unwrap().to_owned()
    };
    let story = |call: &str| served.get(&format!("/api/v1/audit/calls/{call}")).json()["approval"].clone();
    let waited = call("parked");
    assert_eq!((&story(&waited)["id"], &story(&waited)["status"]), (&approval["id"], &json!("pending")));
    assert_eq!(decide(&served, &approval, json!({ "decision": "approve" })).status, 200);
    served.tool("main", "delete_file", json!({ "path": "/project/workspace/old.txt" }));
    let made = call("done");
    for one in [&waited, &made] {
        let told = story(one);
        assert_eq!((&told["id"], &told["status"]), (&approval["id"], &json!("approved")), "{told}");
        assert_eq!(told["used_by"], json!(made), "{told}");
        let page = served.get(&format!("/activity/{one}")).text();
        assert!(page.contains(&format!("href=\"/approvals/{}\"", approval["id"].as_str().unwrap())), "{page}");
        assert_eq!(page.contains("Made by"), *one == waited, "{page}");
    }
    // The decision says what it was about, in its row and in the list.
    let rows = served.get("/api/v1/audit?tool=approvals%20approve").json();
    let said = format!("{}: once", approval["id"].as_str().unwrap());
    assert_eq!(rows[0]["reason"], json!(said), "{rows}");
    assert_eq!(story(rows[0]["call"].as_str().unwrap())["id"], approval["id"]);
    assert!(served.get("/activity").text().contains(&said));
}

#[test]
fn a_decision_is_about_what_was_looked_at() {
    let served = Served::start();
    let approval = parked(&served, "old.txt", "one\n");
    let mut other = approval.clone();
    other["shown"] = json!("0000000000000000");
    let stale = decide(&served, &other, json!({ "decision": "approve" }));
    assert_eq!(stale.status, 409, "{}", stale.text());
    assert!(stale.json()["detail"].as_str().unwrap().contains("no longer what was shown"));
    let unsaid = served.request("POST", &format!("{}/decision", at(&approval)));
    assert_eq!(unsaid.json_body(&json!({ "decision": "approve" })).status, 400);
    assert_eq!(served.get(&at(&approval)).json()["status"], "pending");
    let path = format!("/approvals/{}/approve", approval["id"].as_str().unwrap());
    assert_eq!(served.form(&path, &[("hash", "0000000000000000"), ("reach", "once")]).status, 409);
    for (decision, beside) in [("approve", "reason"), ("reject", "reach"), ("reject", "arguments")] {
        let value = match beside {
            "reason" => json!("x"),
            "reach" => json!("always"),
            _ => json!({}),
        };
        let mixed = decide(&served, &approval, json!({ "decision": decision, (beside): value }));
        assert_eq!(mixed.status, 400, "{decision} with {beside}: {}", mixed.text());
    }
}

#[test]
fn an_edit_has_to_fit_the_tool_and_is_what_runs() {
    let served = Served::start();
    std::fs::write(served.file("workspace/other.txt"), "x\n").unwrap();
    let approval = parked(&served, "old.txt", "one\n");
    for (arguments, why) in [
        (json!({ "path": 7 }), "path"),
        (json!({ "path": "/project/workspace/other.txt", "sudo": true }), "sudo"),
        (json!({}), "path"),
        (approval["arguments"].clone(), "nothing was changed"),
    ] {
        let refused = decide(&served, &approval, json!({ "decision": "edit", "arguments": arguments }));
        assert_eq!(refused.status, 400, "{arguments}: {}", refused.text());
        assert!(refused.text().contains(why), "{why}: {}", refused.text());
    }
    let denied = json!({ "decision": "edit", "arguments": { "path": "/project/src/lib.rs" } });
    let denied = decide(&served, &approval, denied);
    assert_eq!(denied.status, 403, "{}", denied.text());
    assert!(denied.text().contains("it would not run, so nothing was decided"), "{}", denied.text());
    let edited = json!({ "path": "/project/workspace/other.txt" });
    let done = decide(&served, &approval, json!({ "decision": "edit", "arguments": edited }));
    assert_eq!((done.status, &done.json()["approval"]["edited"]), (200, &edited), "{}", done.text());
    served.tool("main", "delete_file", json!({ "path": "/project/workspace/old.txt" }));
    assert!(served.file("workspace/old.txt").exists() && !served.file("workspace/other.txt").exists());
}

#[test]
fn who_decides_is_recorded_and_who_may_only_look_may_not() {
    let served = Served::start();
    let approval = parked(&served, "old.txt", "one\n");
    let body = json!({ "decision": "reject", "reason": "not now", "shown": approval["shown"] });
    let send = |secret: &str| {
        let target = format!("{}/decision", at(&approval));
        served.stranger("POST", &target).bearer(secret).json_body(&body)
    };
    assert_eq!(send(&served.token("looker", true)).status, 403);
    assert_eq!(served.get(&at(&approval)).json()["status"], "pending");
    let done = send(&served.token("robot", false));
    assert_eq!((done.status, &done.json()["approval"]["decided_by"]), (200, &json!("token robot")));
    let told = served.tool("main", "delete_file", json!({ "path": "/project/workspace/old.txt" }));
    assert!(told.contains("token robot rejected this call: not now"), "{told}");
}

#[test]
fn what_the_api_answers_is_what_the_command_prints() {
    let served = Served::start();
    let first = parked(&served, "a.txt", "one\n");
    parked(&served, "b.txt", "two\n");
    decide(&served, &first, json!({ "decision": "approve", "reach": "exact" })).text();
    let same = |target: &str, desk: Value| assert_eq!(served.get(target).json(), desk, "{target}");
    let list = |which| {
        let asked = ListAsked { which: Some(which), ..ListAsked::default() };
        json!(approvals::list(&served.desk, &asked).unwrap())
    };
    same("/api/v1/approvals", list(Which::Waiting));
    same("/api/v1/approvals?which=all", list(Which::All));
    same("/api/v1/approvals?which=decided", list(Which::Decided));
    same(&at(&first), json!(approvals::show(&served.desk, first["id"].as_str().unwrap()).unwrap()));
    same("/api/v1/grants", json!(approvals::grants(&served.desk, None).unwrap()));
    assert_eq!(served.get("/api/v1/grants").json().as_array().unwrap().len(), 1);
    for moment in ["requested_at", "expires_at"] {
        assert!(first[moment].as_str().unwrap().ends_with('Z'), "{first}");
    }
    assert_eq!(served.get("/api/v1/approvals/ap-nothing").status, 404);
    assert_eq!(served.get("/api/v1/approvals?whom=me").status, 400);
}

#[test]
fn pages_of_a_long_list_hold_each_once() {
    let served = Served::start();
    for n in 0..7 {
        parked(&served, &format!("f{n}.txt"), "x\n");
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = served.get(&format!("/api/v1/approvals?limit=3{after}")).json();
        let Some(last) = page.as_array().unwrap().last() else { break };
        after = format!("&after={}", last["id"].as_str().unwrap());
        seen.extend(page.as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()));
    }
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!((seen.len(), once.len()), (7, 7), "{seen:?}");
    for bad in ["0", "101", "-1", "many"] {
        assert_eq!(served.get(&format!("/api/v1/approvals?limit={bad}")).status, 400, "{bad}");
    }
}

#[test]
fn what_agents_write_is_text_on_the_page_and_shown_as_what_it_is() {
    let served = Served::start();
    let bad = "<script>alert(1)</script>";
    let name = "<img src=x onerror=alert(1)>.txt";
    let approval = parked(&served, name, &format!("{bad}\n\u{202e}evil\n"));
    let id = approval["id"].as_str().unwrap().to_owned();
    for page in ["/approvals".to_owned(), format!("/approvals/{id}"), format!("/approvals/{id}/edit")] {
        let html = served.get(&page).text();
        assert!(!html.contains(bad) && !html.contains("<img src=x"), "{page}: {html}");
        assert!(!html.contains('\u{202e}'), "{page}");
        assert!(html.contains("&lt;img src=x"), "{page}");
    }
    let html = served.get(&format!("/approvals/{id}")).text();
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && html.contains("u{202e}evil"), "{html}");
    let rejected = served
        .form(&format!("/approvals/{id}/reject"), &[("hash", approval["shown"].as_str().unwrap()), ("reason", bad)]);
    assert_eq!(rejected.status, 303, "{}", rejected.text());
    for page in ["/approvals?which=decided".to_owned(), format!("/approvals/{id}")] {
        let html = served.get(&page).text();
        assert!(!html.contains(bad), "{page}: {html}");
    }
    assert!(served.get(&format!("/approvals/{id}")).text().contains("&lt;script&gt;"));
    // Arguments with an invisible character are shown with its name, and counted.
    let odd = served.tool(
        "main",
        "write_file",
        json!({ "path": "/project/workspace/hello.txt", "content": "a\u{200b}b\u{202e}" }),
    );
    assert!(!odd.is_empty());
}

/// A file whose lines end in the old way is one long line, and those behind it stand under their own headings.
#[test]
fn each_file_that_would_change_has_its_own_part_on_the_page() {
    let served = Served::start();
    std::fs::create_dir(served.file("workspace/box")).unwrap();
    std::fs::write(served.file("workspace/box/1"), "x\r".repeat(400)).unwrap();
    std::fs::write(served.file("workspace/box/2"), "two\n").unwrap();
    std::fs::write(served.file("workspace/box/3"), "three").unwrap();
    served.tool("main", "delete_file", json!({ "path": "/project/workspace/box", "recursive": true }));
    let approval = served.get("/api/v1/approvals").json()[0].clone();
    let html = served.get(&format!("/approvals/{}", approval["id"].as_str().unwrap())).text();
    assert_eq!(html.matches("<div class=\"diff-file\"").count(), 3, "{html}");
    assert!(html.contains("4 paths: 4 deleted, +0 −3") && html.contains("<del>two</del>"), "{html}");
    assert!(html.contains("(no line feed at the end)"), "{html}");
    assert_eq!(approval["changes"].as_array().unwrap().len(), 4, "{approval}");
}

/// Many together have no lines: an agent decides how many wait, and how long each is.
#[test]
fn a_list_tells_every_path_and_no_lines_and_a_page_the_first_of_them() {
    let served = Served::start();
    let long = |line: usize| (0..3000).map(|n| format!("{line}-{n}\n")).collect::<String>();
    let listed = parked(&served, "long.txt", &long(1));
    let shown = served.get(&at(&listed)).json();
    let lines = |approval: &Value| {
        let hunks = approval["changes"][0]["diff"]["hunks"].as_array().unwrap();
        hunks.iter().map(|hunk| hunk["lines"].as_array().unwrap().len()).sum::<usize>()
    };
    let diff = &listed["changes"][0]["diff"];
    assert_eq!((lines(&listed), &diff["removed"], &diff["more"]), (0, &json!(3000), &json!(3000)), "{listed}");
    assert_eq!((&listed["preview"], &listed["removed"]), (&json!(""), &json!(3000)), "{listed}");
    assert_eq!((lines(&shown), &shown["changes"][0]["diff"]["more"]), (3000, &json!(0)));
    assert!(shown["preview"].as_str().unwrap().contains("\n-1-2999\n"));
    for same in ["id", "summary", "shown", "whole", "added", "reaches", "spots"] {
        assert_eq!(listed[same], shown[same], "{same}");
    }
    for same in ["path", "fate", "is_directory", "words"] {
        assert_eq!(listed["changes"][0][same], shown["changes"][0][same], "{same}");
    }

    // The inbox has the first lines of each, says so, and lets nobody agree for longer to what it does not show.
    parked(&served, "longer.txt", &long(2));
    let inbox = served.get("/approvals").text();
    assert_eq!(inbox.matches("<del>").count(), 2 * 2000, "of each as many as of any diff");
    assert_eq!(inbox.matches("not all of what it would change is shown here").count(), 4, "{inbox}");
    let own = format!("/approvals/{}", listed["id"].as_str().unwrap());
    assert!(inbox.contains(&format!("1000 lines not shown here: <a href=\"{own}\">look at all of it</a>")), "{inbox}");
    let page = served.get(&own).text();
    assert!(page.matches("<del>").count() == 3000 && !page.contains("not shown here"), "{page}");
    assert_eq!(decide(&served, &listed, json!({ "decision": "reject" })).status, 200);
    assert_eq!(served.get("/approvals?which=decided").text().matches("<del>").count(), 0);
}

#[test]
fn the_inbox_says_all_that_a_decision_needs() {
    let rule = "\n[approvals]\nabove = \"low\"\n[[approvals.rule]]\ntool = \"write_file\"\npath = \"/project/workspace/**\"\nrisk = \"high\"\nwhy = \"looked at by a person\"\n";
    let served = Served::start_with(rule);
    served.tool("main", "write_file", json!({ "path": "/project/workspace/hello.txt", "content": "a\u{200b}b\n" }));
    let html = served.get("/approvals").text();
    for part in [
        "write_file",
        "/project/workspace/hello.txt",
        "Requester",
        "Destination",
        "paddock.toml:",
        "looked at by a person",
        "Once",
        "This exact call",
        "This session",
        "Always",
        "not to paddock.toml",
        "U+200B",
        "+1",
        "−1",
        "data-key=\"a\"",
        "data-key=\"e\"",
        "data-key=\"r\"",
        "data-live=\"approvals\"",
        "Reason, for the agent",
        "<del>hello</del>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let approval = served.get("/api/v1/approvals").json()[0].clone();
    let edit = served.get(&format!("/approvals/{}/edit", approval["id"].as_str().unwrap())).text();
    assert!(edit.contains("name=\"a.path\"") && edit.contains("name=\"a.content\"") && edit.contains("name=\"raw\""));
}

#[test]
fn forms_decide_and_a_second_one_says_who_was_first() {
    let served = Served::start();
    let approval = parked(&served, "old.txt", "one\n");
    let (id, hash) = (approval["id"].as_str().unwrap(), approval["shown"].as_str().unwrap());
    let typed = [("hash", hash), ("a.path", "/project/workspace/hello.txt")];
    let edited = served.form(&format!("/approvals/{id}/edit"), &typed);
    assert_eq!(edited.status, 303, "{}", edited.text());
    assert_eq!(served.get(&at(&approval)).json()["edited"], json!({ "path": "/project/workspace/hello.txt" }));
    let late = served.form(&format!("/approvals/{id}/approve"), &[("hash", hash), ("reach", "once")]);
    assert_eq!(late.status, 409);
    assert!(late.text().contains("edited already, by"), "{}", late.text());

    let second = parked(&served, "second.txt", "two\n");
    let (id, hash) = (second["id"].as_str().unwrap(), second["shown"].as_str().unwrap());
    let raw = [("hash", hash), ("raw", "{\"path\": \"/project/workspace/old.txt\", \"more\": 1}")];
    assert_eq!(served.form(&format!("/approvals/{id}/edit"), &raw).status, 400);
    assert_eq!(served.form(&format!("/approvals/{id}/approve"), &[("hash", hash), ("reach", "always")]).status, 303);
    let grant = served.get("/api/v1/grants").json()[0].clone();
    assert_eq!((&grant["reach"], &grant["approval"]), (&json!("always"), &second["id"]));
    assert!(served.get("/grants").text().contains(grant["id"].as_str().unwrap()));
    let revoked = served.form(&format!("/grants/{}/revoke", grant["id"].as_str().unwrap()), &[]);
    assert_eq!(revoked.status, 303, "{}", revoked.text());
    assert_eq!(served.get("/api/v1/grants").json(), json!([]));
    assert_eq!(served.request("DELETE", "/api/v1/grants/gr-nothing").status, 404);
}

#[test]
fn what_cannot_be_shown_whole_is_not_allowed_for_good() {
    let served = Served::start();
    std::fs::write(served.file("workspace/image.bin"), b"\x00\x01\x02").unwrap();
    served.tool("main", "delete_file", json!({ "path": "/project/workspace/image.bin" }));
    let approval = served.get("/api/v1/approvals").json()[0].clone();
    assert_eq!(approval["whole"], false, "{approval}");
    let html = served.get("/approvals").text();
    assert!(html.contains("Withheld: ") && html.contains("value=\"always\" disabled"), "{html}");
    for reach in ["always", "session"] {
        let refused = decide(&served, &approval, json!({ "decision": "approve", "reach": reach }));
        assert_eq!(refused.status, 422, "{}", refused.text());
    }
    assert_eq!(decide(&served, &approval, json!({ "decision": "approve" })).status, 200);
}
