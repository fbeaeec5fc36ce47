//! Settings: configuration, doctor, tokens; and what the server says about itself.

use serde_json::json;

use crate::harness::Served;

#[test]
fn every_value_is_told_with_its_line_and_can_be_changed() {
    let served = Served::start();
    let before = served.get("/api/v1/config").json();
    let name = before.as_array().unwrap().iter().find(|one| one["key"] == json!("name")).unwrap().clone();
    assert_eq!((&name["value"], &name["origin"]), (&json!("\"served\""), &json!("paddock.toml:2")));
    let set = served.request("PUT", "/api/v1/config/workspace%5B1%5D.quota.files").json_body(&json!({ "value": "7" }));
    assert_eq!(set.status, 200, "{}", set.text());
    let one = served.get("/api/v1/config/workspace%5B1%5D.quota.files").json();
    assert_eq!(one["value"], json!("7"));
    served.desk.audit().flush().unwrap();
    let recorded = served.get("/api/v1/audit?tool=config%20set").json();
    assert_eq!(recorded[0]["path"], json!("workspace[1].quota.files"));
    let unset = served.request("DELETE", "/api/v1/config/workspace%5B1%5D.quota.files");
    assert_eq!(unset.status, 200, "{}", unset.text());
    assert_eq!(served.get("/api/v1/config/workspace%5B1%5D.quota.files").status, 404);
    assert_eq!(served.get("/settings/config").status, 200);
}

#[test]
fn a_value_that_could_not_take_effect_changes_nothing() {
    let served = Served::start();
    let file = served.file("paddock.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    for (key, value) in [
        ("workspace%5B0%5D.scope", "EVERYTHING"),
        ("workspace%5B1%5D.prefix", "/project"),
        ("workspace%5B1%5D.mount", "{ overlay = \"/drop\" }"),
        ("nonsense", "1"),
        ("workspace%5B99%5D.scope", "RO"),
        ("..", "1"),
    ] {
        let told = served.request("PUT", &format!("/api/v1/config/{key}")).json_body(&json!({ "value": value }));
        assert_eq!(told.status, 400, "{key}: {}", told.text());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{key}");
    }
    let page = served.form("/settings/config", &[("key", "workspace[0].scope"), ("value", "<b>"), ("deed", "set")]);
    assert_eq!(page.status, 400);
    assert!(page.text().contains("Nothing was changed") && !page.text().contains("<b>"), "{}", page.text());
    let gone = served.request("DELETE", "/api/v1/config/workspace%5B0%5D.prefix");
    assert_eq!(gone.status, 400, "{}", gone.text());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let reader = served.token("reader", true);
    let asked = served.stranger("PUT", "/api/v1/config/name").bearer(&reader);
    assert_eq!(asked.json_body(&json!({ "value": "other" })).status, 403);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_password_in_the_configuration_is_not_shown() {
    let served = Served::start();
    let mut text = std::fs::read_to_string(served.file("paddock.toml")).unwrap();
    text.push_str("\n[web_search]\nurl = \"http://me:hunter2@127.0.0.1:1/\"\n");
    std::fs::write(served.file("paddock.toml"), text).unwrap();
    for page in ["/api/v1/config", "/settings/config"] {
        let told = served.get(page).text();
        assert!(!told.contains("hunter2"), "{page}: {told}");
    }
}

#[test]
fn the_doctor_and_the_check_look_at_the_project() {
    let served = Served::start();
    let rows = served.get("/api/v1/doctor").json();
    let of = |what: &str| rows.as_array().unwrap().iter().find(|row| row["what"] == json!(what)).cloned();
    assert_eq!(of("configuration").unwrap()["status"], json!("ok"), "{rows}");
    assert_eq!(of("audit").unwrap()["status"], json!("ok"), "{rows}");
    assert_eq!(served.get("/api/v1/check").json()["valid"], json!(true));
    std::fs::remove_dir_all(served.file("code")).unwrap();
    let page = served.get("/settings/doctor").text();
    assert!(page.contains("is not a directory") && page.contains("make it, or change its mount"), "{page}");
}

#[test]
fn a_token_is_made_with_its_bounds_and_shown_with_how_to_connect() {
    let served = Served::start();
    let made = served.form("/settings/tokens", &[("name", "<b>ci</b>"), ("agent", "main"), ("days", "7")]);
    let text = made.text();
    assert!(
        text.contains("claude mcp add --transport http paddock") && text.contains("paddock connect claude-code"),
        "{text}"
    );
    assert!(!text.contains("<b>ci"), "{text}");
    let list = served.get("/api/v1/tokens").json();
    assert!(list[0]["expires"].is_string(), "{list}");
    let agent_reader =
        served.form("/settings/tokens", &[("name", "r"), ("agent", "main"), ("days", ""), ("read_only", "true")]);
    assert_eq!(agent_reader.status, 400, "what cannot hold is refused, not left out: {}", agent_reader.text());
    assert!(agent_reader.text().contains("a token of an agent cannot be read-only"));
    let reader = served.form("/settings/tokens", &[("name", "r"), ("agent", ""), ("days", ""), ("read_only", "true")]);
    assert!(reader.text().contains("curl -H"), "{}", reader.text());
    assert_eq!(served.form("/settings/tokens", &[("name", "r"), ("agent", ""), ("days", "soon")]).status, 400);
    for page in ["/settings", "/settings/about"] {
        assert_eq!(served.get(page).status, 200, "{page}");
    }
}

#[test]
fn numbers_are_for_whoever_may_come_in() {
    let served = Served::start();
    assert_eq!(served.stranger("GET", "/metrics").status, 401);
    let agent = served.agent_token("main");
    assert_eq!(served.stranger("GET", "/metrics").bearer(&agent).status, 403);
    served.get("/api/v1/workspaces").json();
    let reader = served.token("prometheus", true);
    let told = served.stranger("GET", "/metrics").bearer(&reader);
    assert_eq!(told.status, 200);
    let text = told.text();
    assert!(
        text.contains("paddock_http_requests_total{method=\"GET\",route=\"/api/v1/workspaces\",status=\"200\"} 1\n"),
        "{text}"
    );
    assert!(text.contains("paddock_approvals_waiting 0\n") && text.contains("paddock_build_info{"), "{text}");
    assert!(text.contains("route=\"/login/{link}\""), "the route, never the link: {text}");
}

#[test]
fn every_answer_has_an_id() {
    let served = Served::start();
    let (one, other) = (served.get("/healthz"), served.stranger("GET", "/nowhere"));
    let ids = [one.head("x-request-id").unwrap(), other.head("x-request-id").unwrap()];
    assert_ne!(ids[0], ids[1]);
}

/// A mistake in the file is told on every page, and takes none of them away: what it said before goes on to hold.
#[test]
fn a_broken_configuration_leaves_every_page_and_says_where_it_is_broken() {
    let served = Served::start();
    let file = served.file("paddock.toml");
    let sound = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, sound.replacen("READ_ONLY", "READ_SOMETIMES", 1)).unwrap();
    let pages = "/ /files /files/project/workspace /approvals /forks /activity /why /threads /instances /projects /settings \
        /settings/config /settings/doctor /search?q=hello /files?agent=reviewer";
    for page in pages.split(' ') {
        let answer = served.get(page);
        let text = answer.text();
        assert_eq!(answer.status, 200, "{page}: {text}");
        assert!(text.contains("The configuration has a problem"), "{page}: {text}");
        assert!(text.contains("READ_SOMETIMES") && text.contains("paddock.toml:7"), "{page}: {text}");
        assert!(text.contains("aria-label=\"Console\""), "{page} has no navigation");
    }
    assert!(served.get("/files/project/workspace").text().contains("hello.txt"), "the older policy holds");
    std::fs::write(&file, sound).unwrap();
    assert!(!served.get("/").text().contains("The configuration has a problem"), "it is sound again");
    std::fs::remove_file(&file).unwrap();
    let gone = served.get("/files/project/workspace").text();
    assert!(!gone.contains("hello.txt"), "what is gone grants nothing: {gone}");
    assert!(gone.contains("aria-label=\"Console\""), "{gone}");
}

#[test]
fn tokens_of_one_name_are_told_apart() {
    let served = Served::start();
    served.token("ci", false);
    served.token("ci", true);
    let tokens = served.get("/api/v1/tokens").json();
    let page = served.get("/settings").text();
    for token in tokens.as_array().unwrap() {
        let id = token["id"].as_str().unwrap();
        assert!(page.contains(&format!("<code class=\"small\">{id}</code>")), "{id}: {page}");
        assert!(page.contains(&format!("Revoke<span class=\"sr\"> ci {id}</span>")), "{id}: {page}");
    }
}
