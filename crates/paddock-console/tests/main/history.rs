//! What happened to a path, and the way back, over the API.

use serde_json::json;

use crate::harness::Served;

fn write(served: &Served, path: &str, content: &str) {
    let told = served.tool("main", "write_file", json!({ "path": path, "content": content }));
    assert!(!told.contains("denied"), "{told}");
}

fn last_call(served: &Served) -> String {
    served.get("/api/v1/calls").json()[0]["call"].as_str().unwrap().to_owned()
}

#[test]
fn a_path_has_its_changes_newest_first_and_page_by_page() {
    let served = Served::start();
    for n in 0..5 {
        write(&served, "/notes/a.md", &format!("{n}\n"));
    }
    let all = served.get("/api/v1/history?path=/notes/a.md").json();
    assert_eq!(all.as_array().unwrap().len(), 5);
    let seq = |row: &serde_json::Value| row["seq"].as_i64().unwrap();
    let first = served.get("/api/v1/history?path=/notes/a.md&limit=2").json();
    let next = served.get(&format!("/api/v1/history?path=/notes/a.md&limit=2&after={}", seq(&first[1]))).json();
    assert_eq!((&first[0], &first[1], &next[0], &next[1]), (&all[0], &all[1], &all[2], &all[3]));
    let diff = served.get(&format!("/api/v1/history/changes/{}", all[0]["id"].as_str().unwrap())).json();
    let lines = diff["diff"]["hunks"][0]["lines"].as_array().unwrap();
    let texts: Vec<_> = lines.iter().map(|line| (&line["kind"], &line["text"])).collect();
    assert_eq!(texts, [(&json!("removed"), &json!("3")), (&json!("added"), &json!("4"))]);
    assert_eq!(served.get("/api/v1/history/changes/nonsense").status, 404);
    assert_eq!(served.get("/api/v1/history?path=/elsewhere").status, 404);
    assert_eq!(served.get("/api/v1/history?path=/notes&more=1").status, 400);
}

#[test]
fn undoing_over_the_api_is_what_the_command_does() {
    let served = Served::start();
    write(&served, "/project/workspace/hello.txt", "one\n");
    write(&served, "/project/workspace/hello.txt", "two\n");
    let call = last_call(&served);
    let undo = |body| served.request("POST", &format!("/api/v1/calls/{call}/undo")).json_body(&body).json();
    let dry = undo(json!({ "dry_run": true }));
    assert_eq!((&dry["done"], &dry["undoes"]), (&json!(false), &json!(call)));
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "two\n");
    // The command says the same, and what it would do.
    let by_desk = paddock_desk::history::undo(&served.desk, Some(&call), None, true).unwrap();
    assert_eq!(serde_json::to_value(&by_desk).unwrap(), dry);
    let done = undo(json!({}));
    assert_eq!((&done["done"], &done["changes"]), (&json!(true), &dry["changes"]));
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "one\n");
    let again = served.request("POST", &format!("/api/v1/calls/{call}/undo")).json_body(&json!({}));
    assert_eq!(again.status, 409, "{}", again.text());
    let unknown = served.request("POST", "/api/v1/calls/zzzzzzzzzzzzz/undo").json_body(&json!({}));
    assert_eq!(unknown.status, 404, "{}", unknown.text());
}

#[test]
fn something_newer_in_the_way_is_a_conflict_that_names_it() {
    let served = Served::start();
    write(&served, "/notes/a.md", "one\n");
    let first = last_call(&served);
    write(&served, "/notes/a.md", "two\n");
    let told = served.request("POST", &format!("/api/v1/calls/{first}/undo")).json_body(&json!({}));
    assert_eq!(told.status, 409);
    let conflicts = &told.json()["details"]["conflicts"];
    assert_eq!(conflicts[0]["path"], json!("/notes/a.md"));
    assert_eq!(conflicts[0]["newer"], json!([last_call(&served)]));
}

#[test]
fn a_path_is_restored_to_a_version() {
    let served = Served::start();
    write(&served, "/notes/a.md", "one\n");
    let version = served.get("/api/v1/history?path=/notes/a.md").json()[0]["version"].clone();
    write(&served, "/notes/a.md", "two\n");
    let body = json!({ "path": "/notes/a.md", "at": version });
    let done = served.request("POST", "/api/v1/history/restore").json_body(&body).json();
    assert_eq!(done["done"], json!(true), "{done}");
    assert!(served.tool("main", "read_file", json!({ "path": "/notes/a.md" })).contains("one"));
    let later = json!({ "path": "/notes/a.md", "at": "next week" });
    assert_eq!(served.request("POST", "/api/v1/history/restore").json_body(&later).status, 400);
}

#[test]
fn one_call_has_its_changes_with_their_lines() {
    let served = Served::start();
    write(&served, "/notes/<b>.md", "<script>alert(1)</script>\n");
    let call = last_call(&served);
    let told = served.get(&format!("/api/v1/calls/{call}")).json();
    let changed = &told["changed"][0];
    assert_eq!((&changed["path"], &changed["path_now"]), (&json!("/notes/<b>.md"), &json!("/notes/<b>.md")));
    assert_eq!(changed["diff"]["hunks"][0]["lines"][0]["text"], json!("<script>alert(1)</script>"));
    let page = served.get(&format!("/activity/{call}"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", page.text());
    assert!(!page.text().contains("<script>alert"), "{}", page.text());
    let undone = served.form(&format!("/activity/{call}/undo"), &[]);
    assert_eq!(undone.status, 303, "{}", undone.text());
    assert!(served.get(undone.head("location").unwrap()).text().contains("is undone"));
    assert!(served.tool("main", "read_file", json!({ "path": "/notes/<b>.md" })).contains("no"));
}
