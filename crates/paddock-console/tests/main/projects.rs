//! Projects over HTTP: template, export, import, the same again; and what the page does.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::Served;

/// Between two looks at what has to happen soon.
const SHORT: std::time::Duration = std::time::Duration::from_millis(20);

fn tree(served: &Served, at: &str) -> Vec<(String, Vec<u8>)> {
    let root = served.file(at);
    let (mut found, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_template_goes_home_and_comes_back_the_same() {
    let served = Served::start();
    let templates = served.get("/api/v1/templates").json();
    let names: Vec<&str> = templates.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["react", "vanilla", "node-api"]);
    let new = json!({ "template": "vanilla", "path": "/project/workspace/site" });
    let made = served.request("POST", "/api/v1/projects").json_body(&new);
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(served.request("POST", "/api/v1/projects").json_body(&new).status, 409, "something is there");
    let zip = served.get("/api/v1/export/main/project/workspace/site?format=zip");
    assert_eq!((zip.status, zip.head("content-type")), (200, Some("application/zip")));
    assert_eq!(zip.head("content-disposition"), Some("attachment; filename=\"site.zip\""));
    let again = served.request("PUT", "/api/v1/import/main/project/workspace/again").body(&zip.body);
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(tree(&served, "workspace/again"), tree(&served, "workspace/site"));
    // And into a Virtual Workspace, where it is the same archive again.
    assert_eq!(served.request("PUT", "/api/v1/import/main/notes/site").body(&zip.body).status, 200);
    assert_eq!(served.get("/api/v1/export/main/notes/site").body, zip.body);
    let bundle = served.get("/api/v1/export/main/project/workspace/site?format=bundle");
    assert!(bundle.body.starts_with(b"# v2 git bundle\n"), "{}", bundle.text());
}

#[test]
fn the_page_shows_every_project_page_by_page_and_the_overview_the_largest() {
    let served = Served::start();
    for n in 0..52 {
        std::fs::create_dir_all(served.file(format!("workspace/p{n:02}"))).unwrap();
        std::fs::write(served.file(format!("workspace/p{n:02}/index.html")), "x".repeat(n + 1)).unwrap();
    }
    let first = served.get("/projects").text();
    assert!(first.contains("/project/workspace/p49<") && !first.contains("/project/workspace/p50<"), "{first}");
    let next = "/projects?agent=main&amp;after=%2Fproject%2Fworkspace%2Fp49";
    assert!(first.contains(&format!("rel=\"next\" href=\"{next}\"")), "{first}");
    let second = served.get(&next.replace("&amp;", "&")).text();
    assert!(second.contains("/project/workspace/p50<") && second.contains("/project/workspace/p51<"), "{second}");
    assert!(!second.contains("/project/workspace/p49<") && !second.contains("rel=\"next\""), "{second}");
    let overview = served.get("/").text();
    assert!(overview.contains("Storage by project") && overview.contains("/project/workspace/p51<"), "{overview}");
    assert!(overview.contains("and 44 more"), "{overview}");
}

#[test]
fn a_project_is_pushed_by_a_form_and_only_to_elsewhere() {
    let served = Served::start();
    std::fs::create_dir_all(served.file("workspace/site")).unwrap();
    std::fs::write(served.file("workspace/site/index.html"), "x").unwrap();
    assert!(served.get("/projects").text().contains("action=\"/projects/push\""));
    let push = |url: &str, secret: &str| {
        let fields = [("agent", "main"), ("path", "/project/workspace/site"), ("url", url), ("secret", secret)];
        served.form("/projects/push", &fields)
    };
    for url in ["/srv/x.git", "file:///srv/x.git", "../x"] {
        let refused = push(url, "");
        assert_eq!(refused.status, 400, "{url}: {}", refused.text());
        assert!(refused.text().contains("only a remote that is elsewhere"), "{url}: {}", refused.text());
    }
    let unknown = push("https://127.0.0.1:1/x.git", "nobody-has-this");
    assert!(unknown.status == 404 && unknown.text().contains("there is no secret"), "{}", unknown.text());
    let failed = push("https://127.0.0.1:1/x.git", "");
    assert!(failed.status >= 400 && failed.status < 500, "{} {}", failed.status, failed.text());
}

#[test]
fn projects_are_listed_with_their_sizes_page_by_page() {
    let served = Served::start();
    for name in ["one", "two", "three"] {
        std::fs::create_dir_all(served.file(format!("workspace/{name}"))).unwrap();
        std::fs::write(served.file(format!("workspace/{name}/index.html")), "x".repeat(name.len() * 100)).unwrap();
    }
    let first = served.get("/api/v1/projects?sizes=true&limit=2").json();
    let paths = |page: &serde_json::Value| -> Vec<String> {
        page["projects"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&first), ["/project/workspace/one", "/project/workspace/three"]);
    assert_eq!(first["projects"][1]["size"], json!({ "bytes": 500, "files": 1 }));
    let prefixes = [&first["workspaces"][0]["prefix"], &first["workspaces"][1]["prefix"]];
    assert_eq!(prefixes, ["/notes", "/project/workspace"], "read-write alone");
    assert_eq!(first["workspaces"][1]["quota"]["bytes"], 64 << 20);
    let next = first["next"].as_str().unwrap();
    let second = served.get(&format!("/api/v1/projects?after={next}")).json();
    assert_eq!(paths(&second), ["/project/workspace/two"]);
    assert_eq!(second["next"], json!(null));
}

#[test]
fn what_is_refused_changes_nothing_and_says_why() {
    let served = Served::start();
    let before = tree(&served, "workspace");
    let put = |target: &str, body: &[u8]| served.request("PUT", target).body(body).status;
    assert_eq!(put("/api/v1/import/main/project/workspace/x", b"no Zip at all"), 422);
    assert_eq!(put("/api/v1/import/main/elsewhere/x", b"PK"), 404);
    assert_eq!(put("/api/v1/import/main/project/workspace/%2e%2e/x", b"PK"), 400);
    assert_eq!(served.get("/api/v1/export/main/project/workspace/nowhere").status, 404);
    assert_eq!(served.get("/api/v1/export/main/project/workspace?format=tar").status, 400);
    // A repository of the server's own disk is nobody's business over HTTP.
    let local = served.file("workspace").display().to_string();
    for url in [local.clone(), format!("file://{local}"), "../x".to_owned()] {
        let import = json!({ "path": "/project/workspace/x", "remote": { "url": url } });
        assert_eq!(served.request("POST", "/api/v1/import").json_body(&import).status, 400, "{url}");
        let push = json!({ "path": "/project/workspace", "remote": { "url": url } });
        assert_eq!(served.request("POST", "/api/v1/push").json_body(&push).status, 400, "{url}");
    }
    let secret =
        json!({ "path": "/project/workspace/x", "remote": { "url": "https://127.0.0.1:1/x", "secret": "none" } });
    assert_eq!(served.request("POST", "/api/v1/import").json_body(&secret).status, 404);
    assert_eq!(tree(&served, "workspace"), before);
}

/// The beginning of an upload whose rest does not come.
fn begun_upload(served: &Served, target: &str) -> TcpStream {
    served.request("PUT", target).header("content-length", "1000000").begun("PK")
}

/// What is answered without the rest.
fn status_of(stream: &mut TcpStream) -> String {
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head[9..]).into_owned()
}

#[test]
fn an_upload_that_cannot_be_put_anywhere_is_refused_before_it_comes() {
    let served = Served::start();
    for (target, status) in [
        ("/api/v1/import/nobody/project/workspace/x", "404"),
        ("/api/v1/import/main/elsewhere/x", "404"),
        ("/api/v1/import/main/project/src", "409"),
        ("/api/v1/import/main/project/workspace/.env/x", "403"),
        ("/api/v1/import/main/project/workspace", "409"),
        ("/api/v1/import/main/project/workspace/hello.txt", "409"),
    ] {
        assert_eq!(status_of(&mut begun_upload(&served, target)), status, "{target}");
    }
}

#[test]
fn few_uploads_are_kept_at_once() {
    let served = Served::start();
    let target = "/api/v1/import/main/project/workspace/x";
    let put = || served.request("PUT", target).body(b"no Zip at all").status;
    let mut open: Vec<TcpStream> = Vec::new();
    // What asks takes a place itself for a moment, in which one that was just begun may be refused: so more are begun until all are taken.
    let mut taken = false;
    for _ in 0..600 {
        open.push(begun_upload(&served, target));
        std::thread::sleep(SHORT);
        taken = put() == 503;
        if taken {
            break;
        }
    }
    assert!(taken, "one more is asked to come later");
    drop(open);
    let freed = (0..600).any(|_| {
        std::thread::sleep(SHORT);
        put() == 422
    });
    assert!(freed, "who has left holds no place");
}

#[test]
fn few_runs_of_git_are_under_way_at_once() {
    let served = Served::start();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/x", silent.local_addr().unwrap());
    let body = json!({ "path": "/project/workspace/x", "remote": { "url": url } });
    let send = || served.request("POST", "/api/v1/import").json_body(&body).open();
    let asked: Vec<TcpStream> = (0..4).map(|_| send()).collect();
    let reached: Vec<_> = asked.iter().map(|_| silent.accept().unwrap()).collect();
    let mut fifth = send();
    assert_eq!(status_of(&mut fifth), "503");
    drop(reached);
    for mut stream in asked {
        assert_eq!(status_of(&mut stream), "422");
    }
    // Whoever leaves ends the run: the remote hears that it is over long before silence would end it.
    let client = send();
    let (mut remote, _) = silent.accept().unwrap();
    drop(client);
    remote.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    remote.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_token_sends_no_stored_secret_anywhere() {
    let served = Served::start();
    let bearer = served.token("program", false);
    let remote = json!({ "url": "https://127.0.0.1:1/x", "secret": "none" });
    for (target, path) in [("/api/v1/import", "/project/workspace/x"), ("/api/v1/push", "/project/workspace")] {
        let body = json!({ "path": path, "remote": remote });
        let asked = served.stranger("POST", target).bearer(&bearer).json_body(&body);
        assert_eq!(asked.status, 403, "{target}");
        assert!(asked.text().contains("opens no remote with a stored secret"), "{}", asked.text());
        assert_eq!(served.request("POST", target).json_body(&body).status, 404, "a person may; there is none");
    }
}

#[test]
fn hidden_names_are_in_no_export() {
    let served = Served::start();
    let zip = served.get("/api/v1/export/main/project/workspace?include_ignored=true");
    assert!(zip.body.windows(9).any(|window| window == b"hello.txt"));
    assert!(!zip.body.windows(4).any(|window| window == b".env"));
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_u64;
    let step = |state: &mut u64| {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        u8::try_from(*state >> 56).unwrap()
    };
    (0..len).map(|_| step(&mut state)).collect()
}

/// Alone in its process where the runner gives each test one; otherwise what runs beside it counts too, so it is bounded generously.
#[test]
fn a_large_export_is_never_held_whole_however_slowly_it_is_taken() {
    let served = Served::start();
    std::fs::create_dir(served.file("workspace/big")).unwrap();
    {
        let mut file = std::fs::File::create(served.file("workspace/big/data")).unwrap();
        let piece = noise(1 << 20);
        (0..64).for_each(|_| file.write_all(&piece).unwrap());
    }
    let before = peak();
    let mut stream = served.get("/api/v1/export/main/project/workspace/big").open();
    // It begins, and waits for whoever reads.
    let mut buffer = vec![0; 64 * 1024];
    stream.read_exact(&mut buffer[..1024]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let mut total = 1024;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            read => total += read,
        }
    }
    assert!(total > 64 << 20, "{total}");
    let grown = peak().saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB more for an archive of 64 MiB");
}

#[test]
fn an_export_that_fails_midway_breaks_off() {
    let served = Served::start();
    std::fs::create_dir_all(served.file("workspace/big")).unwrap();
    std::fs::write(served.file("workspace/big/a"), noise(24 << 20)).unwrap();
    std::fs::write(served.file("workspace/big/b"), "b").unwrap();
    let mut stream = served.get("/api/v1/export/main/project/workspace/big?format=bundle").open();
    let mut buffer = vec![0; 1024];
    stream.read_exact(&mut buffer).unwrap();
    // A bundle named its objects before: one that has become another cannot be in it.
    std::fs::write(served.file("workspace/big/b"), "another").unwrap();
    let _ = stream.read_to_end(&mut buffer);
    assert!(!buffer.ends_with(b"0\r\n\r\n"), "it ended as if it were whole");
}

#[test]
fn the_page_starts_imports_publishes_and_revokes() {
    let served = Served::start();
    let page = served.get("/projects");
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("Vanilla JS") && page.text().contains("Nothing is published"));
    let fields = [("agent", "main"), ("template", "vanilla"), ("path", "/project/workspace/site")];
    assert_eq!(served.form("/projects/new", &fields).status, 303);
    assert!(served.get("/projects").text().contains("/api/v1/export/main/project/workspace/site?format=zip"));
    let zip = served.get("/api/v1/export/main/project/workspace/site").body.clone();
    let mut body = Vec::new();
    for (name, value) in [("agent", "main"), ("path", "/project/workspace/again")] {
        write!(body, "--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
    }
    write!(body, "--x\r\ncontent-disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\n").unwrap();
    body.extend_from_slice(&zip);
    write!(body, "\r\n--x--\r\n").unwrap();
    let sent = served.request("POST", "/projects/import").header("content-type", "multipart/form-data; boundary=x");
    let sent = sent.body(&body);
    assert_eq!(sent.status, 303, "{}", sent.text());
    assert_eq!(tree(&served, "workspace/again"), tree(&served, "workspace/site"));
    let fields =
        [("agent", "main"), ("path", "/project/workspace/site"), ("days", "3"), ("password", ""), ("max_uses", "")];
    let published = served.form("/projects/publish", &fields);
    assert_eq!(published.status, 200, "{}", published.text());
    let share = &served.get("/api/v1/shares").json()[0];
    assert!(published.text().contains(share["link"].as_str().unwrap()));
    let id = share["id"].as_str().unwrap();
    assert_eq!(served.form(&format!("/projects/shares/{id}/revoke"), &[]).status, 303);
    assert!(served.get("/projects").text().contains("revoked"));
}
