//! Why something is allowed or denied, and what would allow it.

use serde_json::json;

use crate::harness::Served;

#[test]
fn every_step_up_to_what_decided_is_told() {
    let served = Served::start();
    let ask =
        |operation: &str, path: &str| served.get(&format!("/api/v1/why?operation={operation}&path={path}")).json();
    let allowed = ask("write", "/project/workspace/a");
    assert_eq!((&allowed["allowed"], &allowed["would_allow"]), (&json!(true), &json!(null)));
    assert!(allowed["steps"].as_array().unwrap().iter().all(|step| step["passed"] == json!(true)));
    for (operation, path, about, text) in [
        ("write", "/project/src/lib.rs", "Access Scope", "scope = \"READ_WRITE\""),
        ("read", "/project/workspace/.env", "Hidden names", "hide = [\"*.secret\"]"),
        ("write", "/project/workspace/.git/hooks/x", "Guarded names", "unguard = [\".git/hooks\"]"),
        ("read", "/drop/x", "Access Scope", "scope = \"READ_WRITE\""),
    ] {
        let told = ask(operation, path);
        let last = told["steps"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["about"], &last["passed"]), (&json!(about), &json!(false)), "{told}");
        assert_eq!(told["would_allow"]["text"], json!(text), "{told}");
    }
    let nowhere = ask("read", "/elsewhere/a");
    assert_eq!(nowhere["workspace"], json!(null));
    assert!(nowhere["would_allow"]["text"].as_str().unwrap().starts_with("[[workspace]]\nprefix = \"/elsewhere\"\n"));
    assert_eq!(ask("write", "/project/workspace/paddock.toml")["would_allow"], json!(null), "nothing lifts this");
    let told = served.get("/api/v1/why?operation=format&path=/");
    assert_eq!(told.status, 400);
    assert_eq!(served.get("/api/v1/why?operation=read&path=/&agent=nobody").status, 404);
}

#[test]
fn the_line_that_would_allow_it_does() {
    let served = Served::start();
    for (operation, path) in [
        ("write", "/project/src/lib.rs"),
        ("read", "/project/workspace/.env"),
        ("write", "/project/workspace/.git/hooks/x"),
    ] {
        let ask = || served.get(&format!("/api/v1/why?operation={operation}&path={path}")).json();
        let told = ask();
        let key = told["would_allow"]["key"].as_str().unwrap().replace('[', "%5B").replace(']', "%5D");
        let body = json!({ "value": told["would_allow"]["value"] });
        let set = served.request("PUT", &format!("/api/v1/config/{key}")).json_body(&body);
        assert_eq!(set.status, 200, "{}", set.text());
        assert_eq!(ask()["allowed"], json!(true), "{operation} {path}");
    }
    let served = Served::start();
    let nowhere = served.get("/api/v1/why?operation=read&path=/code/a").json();
    let mut text = std::fs::read_to_string(served.file("paddock.toml")).unwrap();
    text.push_str(nowhere["would_allow"]["text"].as_str().unwrap());
    // Behind the last table of another agent a table of `main` still is one of `main`.
    std::fs::create_dir(served.file("../code")).unwrap();
    std::fs::write(served.file("paddock.toml"), text).unwrap();
    let told = served.get("/api/v1/why?operation=read&path=/code/a").json();
    assert_eq!(told["allowed"], json!(true), "{told} {}", served.get("/api/v1/check").json());
}

#[test]
fn the_page_answers_a_question_that_came_with_the_address() {
    let served = Served::start();
    assert!(served.get("/why").text().contains("Ask about a path"));
    let page = served.get("/why?agent=main&operation=write_file&path=/project/src/%3Cb%3Elib.rs").text();
    assert!(page.contains("READ_ONLY does not let write through"), "{page}");
    assert!(page.contains("&lt;b&gt;lib.rs") && !page.contains("<b>lib.rs"), "{page}");
    assert!(page.contains("/settings/config?key=workspace%5B0%5D.scope"), "{page}");
    assert!(page.contains("value=\"write\" selected"), "{page}");
    let bad = served.get("/why?operation=read&path=../../..");
    assert!(bad.status == 200 && bad.text().contains("leads above"), "{}", bad.text());
}
