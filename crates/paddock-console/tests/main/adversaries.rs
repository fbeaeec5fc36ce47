//! What comes over HTTP and means harm: other names, other pages, other people's secrets, requests made to confuse.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::harness::Served;

/// What a raw request is answered, up to so many bytes.
fn raw(served: &Served, request: &str) -> String {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.take(4096).read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_foreign_name_gets_nothing_wherever_it_asks() {
    let served = Served::start();
    let port = served.address.port();
    for target in ["/", "/api/v1/agents", "/mcp", "/login/x", "/assets/base.css", "/healthz"] {
        for host in
            ["evil.example".to_owned(), format!("evil.example:{port}"), format!("127.0.0.1:{port}.evil.example")]
        {
            let answer = raw(&served, &format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 421"), "{target} as {host}: {answer}");
        }
    }
    // Two names, none, and one in the target that is not the one in the header.
    let own = format!("127.0.0.1:{port}");
    for request in [
        format!("GET / HTTP/1.1\r\nhost: {own}\r\nhost: evil.example\r\nconnection: close\r\n\r\n"),
        "GET / HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(),
        format!("GET http://evil.example/ HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n\r\n"),
    ] {
        let answer = raw(&served, &request);
        let refused = answer.starts_with("HTTP/1.1 421") || answer.starts_with("HTTP/1.1 400");
        assert!(refused, "{request:?}: {answer}");
    }
    assert_eq!(served.stranger("GET", "/healthz").status, 200);
}

#[test]
fn cookies_that_another_page_put_before_ours_sign_nobody_out() {
    let served = Served::start();
    let ours = served.session();
    let name = ours.split('=').next().unwrap().to_owned();
    let foreign: String = (0..20).map(|n| format!("{name}={n:064x}; ")).collect();
    assert_eq!(served.stranger("GET", "/").header("cookie", &format!("{foreign}{ours}")).status, 200);
    assert_eq!(served.stranger("GET", "/").header("cookie", foreign.trim_end_matches("; ")).status, 401);
}

#[test]
fn only_our_own_pages_change_anything_with_a_cookie() {
    let served = Served::start();
    let port = served.address.port();
    let own = format!("http://127.0.0.1:{port}");
    let cookie = served.request("GET", "/").status;
    assert_eq!(cookie, 200);
    let post = |headers: &[(&str, &str)]| {
        let mut request = served.stranger("POST", "/settings/tokens").header("cookie", &served.session());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.form(&[("name", "x"), ("agent", "")]).status
    };
    for foreign in [
        // A page on another port of this machine sends the cookie too, whatever SameSite says.
        vec![("origin", "http://127.0.0.1:1"), ("sec-fetch-site", "same-site")],
        vec![("origin", "http://localhost:1")],
        vec![("origin", "https://evil.example")],
        vec![("origin", "null")],
        vec![("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site")],
        vec![("sec-fetch-site", "none")],
        // Our origin, and yet the browser says that it is not from us.
        vec![("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
        vec![],
    ] {
        assert_eq!(post(&foreign), 403, "{foreign:?}");
    }
    for ours in [vec![("origin", own.as_str())], vec![("sec-fetch-site", "same-origin")]] {
        assert_eq!(post(&ours), 200, "{ours:?}");
    }
    let made = served.get("/api/v1/tokens").json();
    assert_eq!(made.as_array().unwrap().len(), 2, "only ours made one: {made}");
}

#[test]
fn a_wrong_secret_opens_nothing_and_each_opens_its_own_door_only() {
    let served = Served::start();
    let (api, reader, agent) = (served.token("api", false), served.token("r", true), served.agent_token("main"));
    let asked = |method: &str, target: &str, secret: &str| {
        let request = served.stranger(method, target).bearer(secret);
        if method == "POST" { request.json_body(&json!({ "name": "x" })).status } else { request.status }
    };
    let near = format!("{}0", &api[..api.len() - 1]);
    for wrong in ["", "x", "pdk_", &near, &format!("{api}x"), &api.to_uppercase()] {
        if *wrong != *api {
            assert_eq!(asked("GET", "/api/v1/agents", wrong), 401, "{wrong}");
        }
    }
    assert_eq!(asked("GET", "/api/v1/agents", &api), 200);
    assert_eq!(asked("POST", "/api/v1/tokens", &api), 403, "a token makes no other");
    assert_eq!(asked("GET", "/api/v1/agents", &reader), 200);
    assert_eq!(asked("POST", "/api/v1/tokens", &reader), 403, "it may only look");
    let file = "/api/v1/files/main/project/workspace/hello.txt";
    assert_eq!(asked("DELETE", file, &reader), 403, "it may only look, at files too");
    assert_eq!(asked("GET", "/api/v1/agents", &agent), 403, "an agent does not look through the API");
    assert_eq!(asked("GET", "/", &agent), 403);
    for wrong in [&api, &reader, "x"] {
        assert_eq!(asked("POST", "/mcp", wrong), 401, "only an agent's token opens /mcp");
    }
    // The cookie of a person is no token, and a revoked token opens nothing from then on.
    let session = served.session().split('=').nth(1).unwrap().to_owned();
    assert_eq!(asked("GET", "/api/v1/agents", &session), 401);
    let listed = served.get("/api/v1/tokens").json();
    let id = listed.as_array().unwrap().iter().find(|token| token["name"] == "api").unwrap()["id"].as_str().unwrap();
    assert_eq!(served.request("DELETE", &format!("/api/v1/tokens/{id}")).status, 204);
    assert_eq!(asked("GET", "/api/v1/agents", &api), 401);
}

#[test]
fn a_link_signs_in_once_and_not_by_looking_ahead() {
    let served = Served::start();
    let link = served.link();
    let target = format!("/login/{link}");
    assert_eq!(served.stranger("GET", &target).header("sec-purpose", "prefetch").status, 204);
    assert_eq!(served.stranger("HEAD", &target).status, 405, "only a visit uses it up");
    let first = served.stranger("GET", &target);
    assert_eq!(first.status, 303);
    let cookie = first.head("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let second = served.stranger("GET", &target);
    assert_eq!((second.status, second.head("set-cookie")), (403, None));
    assert!(second.text().contains("paddock login"));
    assert!(!second.text().contains(&link));
    // Signing out ends the session itself, not only the cookie.
    let pair = cookie.split(';').next().unwrap();
    let out = served.stranger("POST", "/logout").header("cookie", pair).header("sec-fetch-site", "same-origin");
    assert_eq!(out.form(&[]).status, 200);
    assert_eq!(served.stranger("GET", "/").header("cookie", pair).status, 401);
}

#[test]
fn signing_out_ends_every_session_that_the_browser_brings() {
    let served = Served::start();
    let signed_in = || {
        let cookie =
            served.stranger("GET", &format!("/login/{}", served.link())).head("set-cookie").unwrap().to_owned();
        cookie.split(';').next().unwrap().to_owned()
    };
    let (first, second) = (signed_in(), signed_in());
    let both = format!("{first}; {second}");
    let out = served.stranger("POST", "/logout").header("cookie", &both).header("sec-fetch-site", "same-origin");
    let out = out.form(&[]);
    assert_eq!(out.status, 200);
    assert!(out.head("set-cookie").unwrap().contains("Max-Age=0"), "the cookie goes, too");
    for cookie in [&first, &second] {
        assert_eq!(served.stranger("GET", "/").header("cookie", cookie).status, 401, "{cookie}");
    }
    assert_eq!(served.get("/").status, 200, "others stay signed in");
}

#[test]
fn every_answer_forbids_what_no_page_needs() {
    let served = Served::start();
    for target in ["/", "/settings", "/api/v1/agents", "/assets/base.css", "/nowhere", "/login/x"] {
        let answer = served.get(target);
        let policy = answer.head("content-security-policy").unwrap_or_else(|| panic!("{target} has none"));
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{target}: {policy}");
        assert_eq!(answer.head("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.head("access-control-allow-origin"), None, "{target}");
    }
}

#[test]
fn what_is_too_large_or_too_slow_is_refused() {
    let served = Served::start();
    let huge = format!("{{\"name\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    let answer = served.request("POST", "/api/v1/tokens").header("content-type", "application/json").body(huge);
    assert_eq!(answer.status, 413, "{}", answer.text());
    // A head that never ends.
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nhost: {}\r\n", served.address).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(served.get("/").status, 200, "others are served");
}

#[test]
fn no_route_leads_out_of_the_assets() {
    let served = Served::start();
    for target in [
        "/assets/../Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/%2e%2e%2fsrc/lib.rs",
        "/assets//etc/passwd",
        "/assets/%2fetc/passwd",
        "/assets/README.md",
        "/assets/base.css%00.html",
    ] {
        let answer = served.get(target);
        assert!(matches!(answer.status, 400 | 404), "{target}: {} {}", answer.status, answer.text());
        assert!(!answer.text().contains("[package]") && !answer.text().contains("root:"), "{target}");
    }
}

#[test]
fn bad_questions_are_problems_and_never_a_broken_server() {
    let served = Served::start();
    for (method, target, body) in [
        ("GET", "/api/v1/nowhere", ""),
        ("GET", "/api/v1/workspaces?agent=nobody", ""),
        ("GET", "/api/v1/workspaces?unknown=1", ""),
        ("GET", "/api/v1/events?unknown=1", ""),
        ("POST", "/api/v1/tokens", "{"),
        ("POST", "/api/v1/tokens", "{\"name\": 1}"),
        ("POST", "/api/v1/tokens", "{\"name\": \"x\", \"more\": 1}"),
        ("POST", "/api/v1/tokens", "{\"name\": \"\"}"),
        ("DELETE", "/api/v1/tokens/tok_nobody", ""),
        ("PATCH", "/api/v1/tokens", ""),
    ] {
        let request = served.request(method, target).header("content-type", "application/json").body(body);
        assert!((400..500).contains(&request.status), "{method} {target} {body}: {}", request.status);
        if request.status != 405 {
            assert_eq!(request.head("content-type"), Some("application/problem+json"), "{method} {target} {body}");
            let problem = request.json();
            assert_eq!(problem["status"], request.status, "{problem}");
            assert!(problem["detail"].as_str().is_some_and(|text| !text.is_empty()), "{problem}");
        }
    }
}
