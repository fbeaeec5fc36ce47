//! Nobody can keep the server from serving others, from closing a door, or from ending.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::harness::Served;
use crate::instances::with_messages;

/// Sends a request and reads no more of the answer than its head.
fn head_only(served: &Served, target: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = BufReader::with_capacity(64, served.get(target).open());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "it ended: {head}");
    }
    (head, stream)
}

#[test]
fn those_who_take_an_export_and_read_nothing_do_not_keep_others_waiting() {
    let served = Served::start();
    with_messages(&served, "chat", 1);
    // More than what is on its way can hold, and nothing that could be packed.
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    std::fs::write(served.file("workspace/noise"), noise.take(2 << 20).flatten().collect::<Vec<u8>>()).unwrap();
    let target = "/api/v1/export/main/project/workspace?format=zip";
    let readers: Vec<_> = (0..20).map(|_| head_only(&served, target)).collect();
    let with = |status: &str| readers.iter().filter(|(head, _)| head.starts_with(status)).collect::<Vec<_>>();
    assert_eq!((with("HTTP/1.1 200").len(), with("HTTP/1.1 503").len()), (16, 4), "a bound of their own");
    assert!(with("HTTP/1.1 503").iter().all(|(head, _)| head.contains("retry-after: 10")));
    for export in ["/api/v1/audit/export", "/api/v1/instances/chat/export"] {
        let refused = served.get(export);
        assert_eq!(refused.status, 503, "{export}: {}", refused.text());
    }
    assert_eq!(served.get("/api/v1/agents").status, 200, "others are answered");
    drop(readers);
    // Who has gone away leaves the place to others, as soon as that is noticed.
    while served.get("/api/v1/audit/export").status == 503 {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let served = Served::start();
    std::fs::create_dir(served.file("workspace/site")).unwrap();
    std::fs::write(served.file("workspace/site/index.html"), "<p>hello</p>").unwrap();
    let share = json!({ "path": "/project/workspace/site", "password": "a long password" });
    let share = served.request("POST", "/api/v1/shares").json_body(&share).json();
    let share = share["link"].as_str().unwrap().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let own = served.address.to_string();
    let form = "application/x-www-form-urlencoded";
    let asked = [
        (&own, "/api/v1/tokens", "application/json"),
        (&own, "/settings/tokens", form),
        (&own, "/logout", form),
        (&share, "/", form),
    ];
    let begun: Vec<_> = asked
        .map(|(host, target, kind)| {
            let request = served.request("POST", target).host(host).header("content-type", kind);
            (target, request.header("content-length", "100").begun("name="))
        })
        .into();
    for (target, stream) in begun {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 408"), "{target}: {line}");
    }
}

/// Listens to the events of a server with these headers; nothing where it is not let in.
fn listening(served: &Served, identity: &str) -> Option<BufReader<TcpStream>> {
    let mut stream = BufReader::new(served.stranger("GET", "/api/v1/events").lines(identity).open());
    let mut line = String::new();
    while !line.starts_with(": here") {
        line.clear();
        stream.read_line(&mut line).unwrap();
        if line.contains(" 401 ") || line.is_empty() {
            return None;
        }
    }
    Some(stream)
}

/// Reads to the end of a stream, which comes or the time to read runs out.
fn ends(mut stream: BufReader<TcpStream>) -> bool {
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
        if line == "0\r\n" {
            return true;
        }
        line.clear();
    }
    false
}

#[test]
fn events_end_with_the_token_or_session_that_opened_them() {
    let served = Served::start();
    let bearer = |secret: &str| format!("authorization: Bearer {secret}\r\n");
    let id_of = |name: &str| {
        let listed = served.get("/api/v1/tokens").json();
        let token = listed.as_array().unwrap().iter().find(|token| token["name"] == name).unwrap().clone();
        token["id"].as_str().unwrap().to_owned()
    };
    let (here, there) = (served.token("here", true), served.token("there", true));
    let by_here = listening(&served, &bearer(&here)).unwrap();
    let by_there = listening(&served, &bearer(&there)).unwrap();
    assert_eq!(served.request("DELETE", &format!("/api/v1/tokens/{}", id_of("here"))).status, 204);
    assert!(ends(by_here), "a revoked token hears nothing more");
    // As `paddock token revoke` does it, in another process.
    paddock_desk::access::Access::of(&served.desk).unwrap().revoke(&id_of("there")).unwrap();
    assert!(ends(by_there), "also where another process revoked it");
    let cookie = format!("cookie: {}\r\n", served.session());
    let by_person = listening(&served, &cookie).unwrap();
    assert_eq!(served.form("/logout", &[]).status, 200);
    assert!(ends(by_person), "who signed out hears nothing more");
    assert!(listening(&served, &cookie).is_none());
}

#[test]
fn a_token_makes_no_token_and_widens_no_policy() {
    let served = Served::start();
    let secret = served.token("ci", false);
    let id = served.get("/api/v1/tokens").json()[0]["id"].as_str().unwrap().to_owned();
    let asked = |method: &str, target: &str| served.stranger(method, target).bearer(&secret);
    let scope = "/api/v1/config/workspace%5B0%5D.scope";
    for (request, command) in [
        (asked("POST", "/api/v1/tokens").json_body(&json!({ "name": "x" })), "paddock token new"),
        (asked("DELETE", &format!("/api/v1/tokens/{id}")), "paddock token revoke"),
        (asked("PUT", scope).json_body(&json!({ "value": "READ_WRITE" })), "paddock config set"),
        (asked("DELETE", "/api/v1/config/workspace%5B1%5D.hide"), "paddock config unset"),
    ] {
        assert_eq!(request.status, 403, "{}", request.text());
        assert!(request.json()["hint"].as_str().unwrap().contains(command), "{}", request.text());
    }
    // The forms of pages are no way around.
    assert_eq!(asked("POST", "/settings/tokens").form(&[("name", "x"), ("agent", ""), ("days", "")]).status, 403);
    assert_eq!(asked("POST", "/logout").form(&[("everybody", "true")]).status, 403);
    assert_eq!(served.get("/api/v1/tokens").json().as_array().unwrap().len(), 1);
    assert!(std::fs::read_to_string(served.file("paddock.toml")).unwrap().contains("scope = \"READ_ONLY\""));
    assert_eq!(asked("POST", "/api/v1/directories").json_body(&json!({ "path": "/project/workspace/d" })).status, 200);
}

#[test]
fn two_consoles_of_one_machine_keep_their_sessions_apart() {
    let served = Served::start();
    let port = served.address.port();
    let name = format!("paddock_session_{port}=");
    assert!(served.session().starts_with(&name), "{}", served.session());
    let document = served.get("/api/v1/openapi.json").json();
    let scheme = &document["components"]["securitySchemes"]["session"]["name"];
    assert_eq!(*scheme, json!(format!("paddock_session_{port}")));
    // Of two sessions that a browser sends, both end.
    let link = served.link();
    let signed_in = served.stranger("GET", &format!("/login/{link}"));
    let second = signed_in.head("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let both = format!("{name}made-up; {}; {second}", served.session());
    let out = served.stranger("POST", "/logout").header("cookie", &both).header("sec-fetch-site", "same-origin");
    assert_eq!(out.form(&[]).status, 200);
    for ended in [served.session(), second] {
        assert_eq!(served.stranger("GET", "/api/v1/agents").header("cookie", &ended).status, 401);
    }
}

#[test]
fn no_endpoint_takes_a_parameter_that_it_does_not_know() {
    let served = Served::start();
    let document = served.get("/api/v1/openapi.json").json();
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let target = format!("{}?unheard-of=1", path.replace(['{', '}'], ""));
            let answer = served.request(&method.to_uppercase(), &target).body("");
            assert_eq!(answer.status, 400, "{method} {target}: {}", answer.text());
            asked += 1;
        }
    }
    assert!(asked > 50, "only {asked} were asked");
}

#[test]
fn the_console_has_a_name_that_it_shares_with_no_other_server() {
    let served = Served::start();
    let port = served.address.port();
    let asked = |host: &str| served.stranger("GET", "/healthz").host(host).status;
    assert_eq!(asked(&format!("paddock.localhost:{port}")), 200);
    assert_eq!(asked(&format!("other.localhost:{port}")), 421);
    // What is published is no neighbour of it.
    assert_eq!(asked(&format!("{}.paddock.localhost:{port}", "a".repeat(32))), 421);
}

#[test]
fn a_refusal_names_what_helps() {
    let served = Served::start();
    let hint = |secret: &str| {
        let asked = served.stranger("POST", "/api/v1/tokens").bearer(secret);
        asked.json_body(&json!({ "name": "x" })).json()["hint"].as_str().unwrap().to_owned()
    };
    assert_eq!(hint(&served.agent_token("main")), "make one with `paddock token new NAME --api`");
    assert_eq!(hint(&served.token("r", true)), "make one without --read-only");
    let missing = served.get("/api/v1/list?path=/project/workspace/nowhere");
    let problem = missing.json();
    assert_eq!(
        (missing.status, &problem["detail"]),
        (404, &json!("/project/workspace/nowhere: no such file or directory"))
    );
    assert!(!problem["hint"].as_str().unwrap().is_empty(), "{problem}");
}

#[test]
fn a_link_cannot_put_words_into_the_consoles_mouth() {
    let served = Served::start();
    assert!(!served.get("/settings?told=You+were+signed+out").text().contains("You were signed out"));
    let zeros = "0".repeat(64);
    let forged = served.get(&format!("/settings?told=You+were+signed+out&seal={zeros}"));
    assert!(forged.status == 200 && !forged.text().contains("You were signed out"));
    // What the console itself says is told.
    served.token("ci", true);
    let id = served.get("/api/v1/tokens").json()[0]["id"].as_str().unwrap().to_owned();
    let revoked = served.form(&format!("/settings/tokens/{id}/revoke"), &[]);
    let to = revoked.head("location").unwrap_or_else(|| panic!("{} {}", revoked.status, revoked.text())).to_owned();
    assert!(served.get(&to).text().contains("The token is revoked."), "{to}");
    assert!(!served.get(&to.replace("revoked", "made")).text().contains("The token is made."), "{to}");
}
