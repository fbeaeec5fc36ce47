//! Forks over the API and in the pages.

use serde_json::{Value, json};

use crate::harness::Served;

fn with_fork() -> Served {
    let served = Served::start();
    std::fs::write(served.file("workspace/hello.txt"), "one\ntwo\nthree\n").unwrap();
    let body = json!({ "workspace": "/project/workspace", "name": "try" });
    let made = served.request("POST", "/api/v1/forks").json_body(&body);
    assert_eq!((made.status, &made.json()["prefix"]), (200, &json!("/forks/try")));
    served
}

fn write(served: &Served, path: &str, content: &str) {
    let told = served.tool("main", "write_file", json!({ "path": path, "content": content }));
    assert!(!told.contains("denied"), "{told}");
}

#[test]
fn what_a_fork_changes_is_shown_and_applied_whole() {
    let served = with_fork();
    write(&served, "/forks/try/hello.txt", "one\n2\nthree\n");
    write(&served, "/forks/try/new.txt", "new\n");
    let list = served.get("/api/v1/forks").json();
    assert_eq!((&list[0]["differs"], &list[0]["conflicts"]), (&json!(2), &json!(0)));
    let compared = served.get("/api/v1/forks/try").json();
    let paths: Vec<&Value> = compared["differences"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, [&json!("hello.txt"), &json!("new.txt")]);
    let page = served.get("/forks/try").text();
    assert!(
        page.contains("<del>two</del>") && page.contains("<ins>2</ins>") && page.contains("Apply 2 changes"),
        "{page}"
    );
    assert!(served.get("/forks").text().contains("2 paths to apply"));
    let dry = served.request("POST", "/api/v1/forks/try/apply").json_body(&json!({ "dry_run": true })).json();
    assert_eq!((&dry["done"], dry["changes"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "one\ntwo\nthree\n");
    let done = served.form("/forks/try/apply", &[]);
    assert_eq!(done.status, 303, "{}", done.text());
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "one\n2\nthree\n");
    assert!(served.get(done.head("location").unwrap()).text().contains("Applied 2 changes"));
}

#[test]
fn a_conflict_is_answered_with_its_list_and_nothing_is_applied() {
    let served = with_fork();
    write(&served, "/forks/try/hello.txt", "one\n<b>here</b>\nthree\n");
    write(&served, "/forks/try/new.txt", "new\n");
    write(&served, "/project/workspace/hello.txt", "one\nbelow\nthree\n");
    let told = served.request("POST", "/api/v1/forks/try/apply").json_body(&json!({}));
    assert_eq!(told.status, 409, "{}", told.text());
    let told = told.json();
    assert_eq!(told["details"]["conflicts"][0]["path"], json!("hello.txt"));
    assert_eq!(told["details"]["conflicts"][0]["kind"], json!("both_changed"));
    assert!(!served.file("workspace/new.txt").exists(), "all or nothing");
    let compared = served.get("/api/v1/forks/try").json();
    let sides = &compared["differences"][0]["contradiction"]["sides"];
    assert_eq!(sides["below"], json!("one\nbelow\nthree\n"));
    assert_eq!(sides["here"], json!("one\n<b>here</b>\nthree\n"));
    let page = served.get("/forks/try").text();
    assert!(page.contains("<del>below</del>") && page.contains("<ins>&lt;b&gt;here&lt;/b&gt;</ins>"), "{page}");
    let refused = served.form("/forks/try/apply", &[]);
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("Nothing was applied"));
}

#[test]
fn nothing_is_discarded_that_nobody_looked_at() {
    let served = with_fork();
    write(&served, "/forks/try/new.txt", "new\n");
    assert_eq!(served.request("DELETE", "/api/v1/forks/try").status, 409);
    let asked = served.form("/forks/try/discard", &[]);
    assert_eq!(asked.status, 200);
    assert!(asked.text().contains("Discard it with all of this?") && asked.text().contains("new.txt"));
    assert_eq!(served.get("/api/v1/forks/try").status, 200);
    assert_eq!(served.form("/forks/try/discard", &[("sure", "yes")]).status, 303);
    assert_eq!(served.get("/api/v1/forks/try").status, 404);
    assert_eq!(served.get("/api/v1/forks").json(), json!([]));
    assert!(served.get("/forks").text().contains("There are no forks"));
}

#[test]
fn a_fork_is_made_by_a_form() {
    let served = Served::start();
    let fields = [("workspace", "/project/workspace"), ("name", "mine"), ("agent", "main"), ("from", "main")];
    let made = served.form("/forks", &fields);
    assert_eq!(made.status, 303, "{}", made.text());
    assert!(served.get("/forks/mine").text().contains("Nothing differs"));
    let page = served.get("/forks").text();
    assert!(page.contains("<option value=\"/project/workspace\" selected>"), "what can be written is offered: {page}");
    let page = served.get("/projects").text();
    let (lasting, fork) = (page.find(">/project/workspace</h3>").unwrap(), page.find(">/forks/mine</h3>").unwrap());
    assert!(lasting < fork && !page.contains("value=\"/forks/mine/"), "{page}");
    let again = served.form("/forks", &fields);
    assert_eq!(again.status, 400);
    assert!(again.text().contains("there is a fork"), "{}", again.text());
}

fn in_conflict() -> Served {
    let served = with_fork();
    write(&served, "/forks/try/hello.txt", "one\nhere\nthree\n");
    write(&served, "/project/workspace/hello.txt", "one\nbelow\nthree\n");
    write(&served, "/forks/try/new.txt", "new\n");
    served
}

#[test]
fn a_conflict_is_resolved_by_choosing_a_side_and_the_rest_is_applied() {
    let served = in_conflict();
    let page = served.get("/forks/try").text();
    assert!(page.contains("Keep the Workspace's") && page.contains("Keep this one's"), "{page}");
    let resolve = |body: Value| served.request("POST", "/api/v1/forks/try/resolve").json_body(&body);
    assert_eq!(resolve(json!({ "paths": ["new.txt"], "keep": "here" })).status, 404, "it is in no conflict");
    assert_eq!(resolve(json!({ "paths": ["hello.txt"], "keep": "both" })).status, 400);
    assert_eq!(resolve(json!({ "paths": ["/elsewhere/hello.txt"], "keep": "here" })).status, 404);
    assert_eq!(resolve(json!({ "paths": [], "keep": "below" })).status, 400);
    // As it is called here, or below, is as good as without either.
    let done = resolve(json!({ "paths": ["/forks/try/hello.txt"], "keep": "below" })).json();
    let changed = json!([{ "path": "/forks/try/hello.txt", "removed": false }]);
    assert_eq!((&done["changed"], &done["conflicts"]), (&changed, &json!(0)), "{done}");
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "one\nbelow\nthree\n");
    let rows = served.get("/api/v1/audit?tool=resolve&ended=true").json();
    assert!(rows[0]["by"].as_str().unwrap().ends_with("(console)"), "{rows}");
    // It is an act like any other: undone, the conflict is back.
    let undo = format!("/api/v1/calls/{}/undo", done["call"].as_str().unwrap());
    let undone = served.request("POST", &undo).json_body(&json!({}));
    assert_eq!(undone.status, 200, "{}", undone.text());
    assert_eq!(served.request("POST", "/api/v1/forks/try/apply").json_body(&json!({})).status, 409);
    let kept = served.form("/forks/try/resolve", &[("path", "hello.txt"), ("keep", "here")]);
    assert_eq!(kept.status, 303, "{}", kept.text());
    let told = served.get(kept.head("location").unwrap()).text();
    assert!(told.contains("<code>paddock undo ") && told.contains("Apply 1 change"), "{told}");
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "one\nhere\nthree\n");
    assert_eq!(served.form("/forks/try/apply", &[]).status, 303);
    assert_eq!(std::fs::read_to_string(served.file("workspace/new.txt")).unwrap(), "new\n");
}

#[test]
fn the_side_that_took_a_file_away_can_be_kept() {
    let served = with_fork();
    served.desk.audit().flush().unwrap();
    let gone = served.request("DELETE", "/api/v1/files/main/forks/try/hello.txt");
    assert_eq!(gone.status, 200, "{}", gone.text());
    write(&served, "/project/workspace/hello.txt", "one\nbelow\nthree\n");
    let body = json!({ "paths": ["hello.txt"], "keep": "here" });
    let done = served.request("POST", "/api/v1/forks/try/resolve").json_body(&body);
    assert_eq!((done.status, &done.json()["changed"][0]["removed"]), (200, &json!(true)), "{}", done.text());
    assert!(!served.file("workspace/hello.txt").exists());
}

/// A dry run says so before, with the same words; the rest goes without it.
#[test]
fn what_is_denied_refuses_the_whole_until_it_is_excepted() {
    let config = |unguard: &str| {
        format!("[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = {{ physical = \"code\" }}\n{unguard}")
    };
    let served = Served::with(&config("unguard = [\".envrc\"]\n"));
    let body = json!({ "workspace": "/w", "name": "try" });
    assert_eq!(served.request("POST", "/api/v1/forks").json_body(&body).status, 200);
    write(&served, "/forks/try/.envrc", "touch evil\n");
    write(&served, "/forks/try/new.txt", "new\n");
    std::fs::write(served.file("paddock.toml"), config("")).unwrap();
    let served = served.again();
    let apply = |body: Value| served.request("POST", "/api/v1/forks/try/apply").json_body(&body);
    let (dry, real) = (apply(json!({ "dry_run": true })), apply(json!({})));
    assert_eq!((dry.status, real.status), (403, 403), "{}", dry.text());
    assert_eq!(dry.json(), real.json());
    assert!(real.text().contains("--except .envrc"), "{}", real.text());
    assert_eq!(apply(json!({ "except": ["nowhere"] })).status, 404);
    let done = apply(json!({ "except": ["/w/.envrc"] })).json();
    assert_eq!((&done["done"], &done["excepted"]), (&json!(true), &json!([".envrc"])), "{done}");
    assert!(served.file("code/new.txt").exists() && !served.file("code/.envrc").exists());
}
