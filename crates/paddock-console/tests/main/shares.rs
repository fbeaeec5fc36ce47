//! Published projects: what a share shows and to whom, and that nothing of the console is within its reach.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::Served;

const PAGE: &str = "<!doctype html><title>site</title><script src=\"a.js\"></script>";

/// A project with a page, and what must not leave beside it.
fn site() -> Served {
    let served = Served::start();
    let at = |path: &str| served.file(format!("workspace/{path}"));
    for directory in ["site/sub", "site/.git", "site/empty", "other"] {
        std::fs::create_dir_all(at(directory)).unwrap();
    }
    for (path, content) in [
        ("site/index.html", PAGE),
        ("site/a.js", "1"),
        ("site/a b.txt", "spaced"),
        ("site/sub/index.html", "sub"),
        ("site/.env", "KEY=hidden-value"),
        ("site/key.secret", "hidden-value"),
        ("site/.git/config", "hidden-value"),
        ("other/file.txt", "hidden-value"),
    ] {
        std::fs::write(at(path), content).unwrap();
    }
    for (link, to) in [
        ("site/inside", "a.js"),
        ("site/leaves", "../other/file.txt"),
        ("site/away", "../other"),
        ("site/host", "/etc/passwd"),
        ("site/way", ".env"),
        ("site/repository", ".git/config"),
    ] {
        symlink(to, at(link)).unwrap();
    }
    served
}

fn publish(served: &Served, more: Value) -> Value {
    let mut new = json!({ "path": "/project/workspace/site" });
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = served.request("POST", "/api/v1/shares").json_body(&new);
    assert_eq!(made.status, 200, "{}", made.text());
    made.json()
}

/// What a browser gets that visits a share.
struct Visited {
    status: u16,
    head: String,
    body: String,
}

impl Visited {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::trim)
    }

    fn mark(&self) -> String {
        self.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

fn ask(served: &Served, method: &str, host: &str, target: &str, headers: &str, body: &str) -> Visited {
    let answer = served.stranger(method, target).host(host).lines(headers).body(body);
    let head: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    Visited { status: answer.status, head: head.to_ascii_lowercase(), body: answer.text() }
}

fn host_of(served: &Served, share: &Value) -> String {
    format!("{}.localhost:{}", share["id"].as_str().unwrap(), served.address.port())
}

fn visit(served: &Served, share: &Value, target: &str, headers: &str) -> Visited {
    ask(served, "GET", &host_of(served, share), target, headers, "")
}

#[test]
fn it_is_published_opened_revoked_and_gone() {
    let served = site();
    let share = publish(&served, json!({}));
    assert_eq!(share["link"], format!("http://{}/", host_of(&served, &share)));
    assert_eq!(share["id"].as_str().unwrap().len(), 32);
    let first = visit(&served, &share, "/", "");
    assert_eq!((first.status, first.body.as_str()), (200, PAGE));
    assert_eq!(first.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(first.header("referrer-policy"), Some("no-referrer"));
    let mark = format!("cookie: {}\r\n", first.mark());
    let script = visit(&served, &share, "/a.js", &mark);
    assert_eq!((script.status, script.body.as_str()), (200, "1"));
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("set-cookie"), None, "one visit is one use");
    let known = format!("{mark}if-none-match: {}\r\n", script.header("etag").unwrap());
    assert_eq!(visit(&served, &share, "/a.js", &known).status, 304);
    assert_eq!(visit(&served, &share, "/a%20b.txt", &mark).body, "spaced");
    assert_eq!(visit(&served, &share, "/sub", &mark).header("location"), Some("/sub/"));
    assert_eq!(visit(&served, &share, "/sub/", &mark).body, "sub");
    assert_eq!(visit(&served, &share, "/inside", &mark).body, "1");
    assert_eq!(visit(&served, &share, "/empty/", &mark).status, 404, "nothing is listed");
    assert_eq!(visit(&served, &share, "/a.js/", &mark).status, 404);
    let listed = served.get("/api/v1/shares").json();
    assert_eq!((&listed[0]["uses"], &listed[0]["state"]), (&json!(1), &json!("open")));
    let id = share["id"].as_str().unwrap();
    assert_eq!(served.request("DELETE", &format!("/api/v1/shares/{id}")).status, 204);
    for headers in ["", mark.as_str(), known.as_str()] {
        assert_eq!(visit(&served, &share, "/", headers).status, 410);
    }
    assert_eq!(served.get("/api/v1/shares").json()[0]["state"], "revoked");
}

#[test]
fn only_what_the_project_shows_leaves_however_it_is_asked_for() {
    let served = site();
    let share = publish(&served, json!({}));
    let mark = format!("cookie: {}\r\n", visit(&served, &share, "/", "").mark());
    for target in [
        "/.env",
        "/%2eenv",
        "/.%65nv",
        "/key.secret",
        "/.git/config",
        "/.GIT/config",
        "/way",
        "/leaves",
        "/away/file.txt",
        "/host",
        "/repository",
        "/../other/file.txt",
        "/sub/../../other/file.txt",
        "/%2e%2e/other/file.txt",
        "/..%2fother%2ffile.txt",
        "/sub%2f..%2f..%2fother/file.txt",
        "/%252e%252e/other/file.txt",
        "/..\\other\\file.txt",
        "/..%5cother%5cfile.txt",
        "//other/file.txt",
        "//",
        "/sub//index.html",
        "/index.html%00.js",
        "/%00",
        "/%ff",
        "/%",
        "/project/workspace/other/file.txt",
        "/index.html/",
        "/api/v1/agents",
        "/login/x",
        "/assets/base.css",
        "/mcp",
        "/healthz",
    ] {
        let answer = visit(&served, &share, target, &mark);
        assert_eq!(answer.status, 404, "{target}: {}", answer.body);
        assert!(!answer.body.contains("hidden-value") && !answer.body.contains("root:"), "{target}: {}", answer.body);
    }
}

#[test]
fn a_name_that_is_hidden_later_is_hidden_at_once_and_without_its_workspace_it_ends() {
    let served = site();
    let share = publish(&served, json!({}));
    let mark = format!("cookie: {}\r\n", visit(&served, &share, "/", "").mark());
    assert_eq!(visit(&served, &share, "/a.js", &mark).status, 200);
    let config = std::fs::read_to_string(served.file("paddock.toml")).unwrap();
    std::fs::write(served.file("paddock.toml"), config.replace("hide = [\".env\"", "hide = [\"a.js\", \".env\""))
        .unwrap();
    assert_eq!(visit(&served, &share, "/a.js", &mark).status, 404);
    // Then /project covers the path, which is another Workspace.
    let start = config.find("[[workspace]]\nprefix = \"/project/workspace\"").unwrap();
    let end = config.find("[[workspace]]\nprefix = \"/notes\"").unwrap();
    std::fs::write(served.file("paddock.toml"), format!("{}{}", &config[..start], &config[end..])).unwrap();
    assert_eq!(visit(&served, &share, "/", &mark).status, 410);
}

#[test]
fn it_ends_by_itself() {
    let served = site();
    let share = publish(&served, json!({ "days": 1 }));
    let mark = format!("cookie: {}\r\n", visit(&served, &share, "/", "").mark());
    let home = served.desk.installation().home().unwrap();
    let database = rusqlite::Connection::open(home.state_db()).unwrap();
    database.busy_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(database.execute("UPDATE published_share SET expires_at = 1", []).unwrap(), 1);
    for headers in ["", mark.as_str()] {
        let answer = visit(&served, &share, "/", headers);
        assert_eq!(answer.status, 410);
        assert!(answer.header("clear-site-data").is_some());
    }
    for bad in [json!({ "days": 0 }), json!({ "days": 400 }), json!({ "max_uses": 0 }), json!({ "password": "short" })]
    {
        let mut new = json!({ "path": "/project/workspace/site" });
        new.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert_eq!(served.request("POST", "/api/v1/shares").json_body(&new).status, 400, "{bad}");
    }
}

#[test]
fn a_password_is_asked_for_and_opens_this_host_alone() {
    let served = site();
    let share = publish(&served, json!({ "password": "correct horse" }));
    let other = publish(&served, json!({ "password": "another horse" }));
    assert!(!served.get("/api/v1/shares").text().contains("horse"));
    let asked = visit(&served, &share, "/a.js", "");
    assert_eq!(asked.status, 401);
    assert!(asked.body.contains("type=\"password\"") && asked.header("set-cookie").is_none());
    let host = host_of(&served, &share);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let say = |host: &str, password: &str| ask(&served, "POST", host, "/a.js", form, &format!("password={password}"));
    assert_eq!(say(&host, "wrong+horse").status, 401);
    let entered = say(&host, "correct+horse");
    assert_eq!((entered.status, entered.header("location")), (303, Some("/a.js")));
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=lax") && !cookie.contains("domain="), "{cookie}");
    let mark = format!("cookie: {}\r\n", entered.mark());
    assert_eq!(visit(&served, &share, "/a.js", &mark).body, "1");
    assert_eq!(visit(&served, &other, "/a.js", &mark).status, 401, "the mark is of another share");
    let tries: Vec<u16> = (0..30).map(|_| say(&host_of(&served, &other), "guessed-again").status).collect();
    assert!(tries.contains(&429), "{tries:?}");
}

#[test]
fn of_eight_visitors_at_once_three_come_in_where_three_may() {
    let served = site();
    let share = publish(&served, json!({ "max_uses": 3 }));
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let (served, share) = (&served, &share);
        let visits: Vec<_> = (0..8).map(|_| scope.spawn(move || visit(served, share, "/", "").status)).collect();
        visits.into_iter().map(|visit| visit.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 410, 410, 410, 410, 410]);
    let listed = served.get("/api/v1/shares").json();
    assert_eq!((&listed[0]["uses"], &listed[0]["state"]), (&json!(3), &json!("used_up")));
}

#[test]
fn looking_ahead_is_no_visit_and_no_worker_stays() {
    let served = site();
    let share = publish(&served, json!({ "max_uses": 1 }));
    assert_eq!(visit(&served, &share, "/", "sec-purpose: prefetch\r\n").status, 204);
    assert_eq!(visit(&served, &share, "/a.js", "service-worker: script\r\n").status, 403);
    assert_eq!(ask(&served, "DELETE", &host_of(&served, &share), "/", "", "").status, 405);
    assert_eq!(ask(&served, "POST", &host_of(&served, &share), "/", "", "password=x").status, 405);
    assert_eq!(visit(&served, &share, "/", "").status, 200);
}

#[test]
fn no_other_host_is_taken_for_a_share_and_none_for_the_console() {
    let served = site();
    let share = publish(&served, json!({}));
    let (id, port) = (share["id"].as_str().unwrap(), served.address.port());
    let session = format!("cookie: {}\r\n", served.session());
    for host in [
        format!("{id}.evil.example:{port}"),
        format!("{id}.127.0.0.1:{port}"),
        format!("{id}.localhost"),
        format!("{id}.localhost:1"),
        format!("{id}.localhost.:{port}"),
        format!("x.{id}.localhost:{port}"),
        format!("{id}x.localhost:{port}"),
        format!("{}.localhost:{port}", &id[1..]),
    ] {
        let answer = ask(&served, "GET", &host, "/", &session, "");
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains("<title>"), "{host}");
    }
    let twice = format!("{session}host: 127.0.0.1:{port}\r\n");
    assert_ne!(visit(&served, &share, "/", &twice).status, 200, "two hosts are a trick");
    assert_eq!(visit(&served, &share, "http://127.0.0.1/", &session).status, 421);
    let upper = ask(&served, "GET", &host_of(&served, &share).to_uppercase(), "/", "", "");
    assert_eq!(upper.status, 200, "hosts have no case");
    let unknown = format!("{}.localhost:{port}", "0".repeat(32));
    assert_eq!(ask(&served, "GET", &unknown, "/", &session, "").status, 404);
    // The console's session opens nothing of the console here, and is not looked at.
    let console = visit(&served, &share, "/api/v1/tokens", &session);
    assert_eq!(console.status, 404);
}

#[test]
fn what_a_published_page_sends_reaches_nothing_of_the_console() {
    let served = site();
    let share = publish(&served, json!({}));
    let (port, origin) = (served.address.port(), format!("http://{}", host_of(&served, &share)));
    let session = format!("cookie: {}\r\n", served.session());
    for console in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        for site in ["same-site", "cross-site"] {
            let from =
                format!("{session}origin: {origin}\r\nsec-fetch-site: {site}\r\ncontent-type: application/json\r\n");
            let made = ask(&served, "POST", &console, "/api/v1/tokens", &from, "{\"name\":\"x\"}");
            assert_eq!(made.status, 403, "{console} {site}: {}", made.body);
            let put = ask(&served, "PUT", &console, "/api/v1/files/main/project/workspace/x", &from, "x");
            assert_eq!(put.status, 403);
            // What it could fetch it cannot read: no answer is given to its origin, or into it.
            let read = ask(&served, "GET", &console, "/api/v1/agents", &from, "");
            assert_eq!(read.header("access-control-allow-origin"), None);
            assert_eq!(read.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(read.header("x-frame-options"), Some("deny"));
            let asked = ask(&served, "OPTIONS", &console, "/api/v1/agents", &from, "");
            assert_eq!(asked.header("access-control-allow-origin"), None);
        }
        // An old browser that says only where it is from.
        let from = format!("{session}origin: {origin}\r\n");
        assert_eq!(ask(&served, "POST", &console, "/logout", &from, "everybody=true").status, 403);
    }
    assert_eq!(served.get("/api/v1/tokens").json(), json!([]));
    assert!(!served.file("workspace/x").exists());
    let page = visit(&served, &share, "/", "");
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "connect-src 'self'",
        "default-src 'self'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "sandbox allow-scripts",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("allow-top-navigation") && !policy.contains("allow-popups-to-escape"), "{policy}");
    assert_eq!(page.header("cross-origin-resource-policy"), Some("same-origin"));
    assert_eq!(page.header("x-frame-options"), Some("deny"));
    assert!(!page.head.contains("paddock_session"));
    // The mark of a visit is no session.
    let mark = format!("cookie: {}\r\n", page.mark());
    assert_eq!(ask(&served, "GET", &format!("127.0.0.1:{port}"), "/api/v1/agents", &mark, "").status, 401);
    let as_session = format!("cookie: paddock_session_{port}={}\r\n", page.mark().split('=').nth(1).unwrap());
    assert_eq!(ask(&served, "GET", &format!("127.0.0.1:{port}"), "/api/v1/agents", &as_session, "").status, 401);
}

#[test]
fn a_published_page_cannot_sign_the_person_out_by_a_cookie_of_its_own() {
    let served = site();
    let (port, session) = (served.address.port(), served.session());
    // What a script below the console's own name could put before ours.
    let tossed = format!("cookie: paddock_session_{port}=made-up; {session}\r\n");
    assert_eq!(ask(&served, "GET", &format!("127.0.0.1:{port}"), "/api/v1/agents", &tossed, "").status, 200);
}

#[test]
fn what_is_no_directory_or_hidden_is_not_published() {
    let served = site();
    for path in
        ["/project/workspace/site/a.js", "/project/workspace/nowhere", "/elsewhere", "/project/workspace/site/away"]
    {
        let made = served.request("POST", "/api/v1/shares").json_body(&json!({ "path": path }));
        assert!(matches!(made.status, 403 | 404), "{path}: {}", made.text());
    }
    assert_eq!(served.get("/api/v1/shares").json(), json!([]));
}

/// As many visitors as may, each of whom asks for a large file and takes nothing of it.
async fn idle_visitors(served: &Served, share: &Value) -> Vec<TcpStream> {
    let request = format!("GET /large.bin HTTP/1.1\r\nHost: {}\r\n\r\n", host_of(served, share));
    let mut held = Vec::new();
    for _ in 0..256 {
        let socket = TcpSocket::new_v4().unwrap();
        // The kernel takes little for them, too.
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(served.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await.unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        held.push(stream);
    }
    held
}

#[test]
fn visitors_who_take_nothing_keep_nobody_from_the_console() {
    let served = site();
    let large = std::fs::File::create(served.file("workspace/site/large.bin")).unwrap();
    large.set_len(64 * 1024 * 1024).unwrap();
    let share = publish(&served, json!({}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let held = runtime.block_on(idle_visitors(&served, &share));
    let late = visit(&served, &share, "/", "");
    assert_eq!((late.status, late.header("retry-after")), (503, Some("5")), "{}", late.body);
    assert_eq!(served.get("/api/v1/shares").status, 200);
    assert_eq!(served.get("/").status, 200);
    drop((held, runtime));
    let until = Instant::now() + Duration::from_secs(60);
    while visit(&served, &share, "/", "").status != 200 {
        assert!(Instant::now() < until, "their places are not free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}
