//! Files over HTTP: every status of reading and writing, what cannot run, what never leaves.

use std::io::Read as _;

use crate::harness::Served;
use crate::http::Request;
use serde_json::json;

const FILES: &str = "/api/v1/files/main";

fn put(served: &Served, path: &str, content: &str) -> Request {
    served.request("PUT", &format!("{FILES}{path}")).body(content)
}

fn get(served: &Served, path: &str) -> Request {
    served.get(&format!("{FILES}{path}"))
}

/// A workspace-relative name that only Unix knows.
fn write(served: &Served, path: &str, content: impl AsRef<[u8]>) {
    std::fs::write(served.file(path), content).unwrap();
}

#[test]
fn a_file_is_read_whole_in_part_and_not_again() {
    let served = Served::start();
    let whole = get(&served, "/project/workspace/hello.txt");
    assert_eq!((whole.status, whole.text().as_str()), (200, "hello\n"));
    assert_eq!(whole.head("content-length"), Some("6"));
    assert_eq!(whole.head("accept-ranges"), Some("bytes"));
    let tag = whole.head("etag").unwrap();
    assert!(tag.starts_with("\"v"), "{tag}");

    let known = get(&served, "/project/workspace/hello.txt").header("if-none-match", tag);
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.head("etag"), Some(tag));
    let other = get(&served, "/project/workspace/hello.txt").header("if-none-match", "\"v0\"");
    assert_eq!(other.status, 200);
    let wanted = get(&served, "/project/workspace/hello.txt").header("if-match", "\"v0\"");
    assert_eq!(wanted.status, 412);

    let part = get(&served, "/project/workspace/hello.txt").header("range", "bytes=1-3");
    assert_eq!((part.status, part.text().as_str()), (206, "ell"));
    assert_eq!(part.head("content-range"), Some("bytes 1-3/6"));
    let end = get(&served, "/project/workspace/hello.txt").header("range", "bytes=-2").header("if-range", tag);
    assert_eq!((end.status, end.text().as_str()), (206, "o\n"));
    let stale = get(&served, "/project/workspace/hello.txt").header("range", "bytes=-2").header("if-range", "\"v0\"");
    assert_eq!((stale.status, stale.text().as_str()), (200, "hello\n"));
    let past = get(&served, "/project/workspace/hello.txt").header("range", "bytes=6-");
    assert_eq!((past.status, past.head("content-range")), (416, Some("bytes */6")));

    let head = served.request("HEAD", &format!("{FILES}/project/workspace/hello.txt"));
    assert_eq!((head.status, head.head("content-length"), head.head("etag")), (200, Some("6"), Some(tag)));
    assert!(head.body.is_empty());
}

#[test]
fn what_is_no_file_is_told_apart() {
    let served = Served::start();
    assert_eq!(get(&served, "/project/workspace/none.txt").status, 404);
    assert_eq!(get(&served, "/project/workspace").status, 409);
    assert_eq!(get(&served, "/elsewhere/a").status, 403);
    assert_eq!(served.get("/api/v1/files/nobody/project/a").status, 404);
    let other = served.get("/api/v1/files/reviewer/code/a.txt");
    assert_eq!((other.status, other.text().as_str()), (200, "for the reviewer\n"));
    assert_eq!(served.get("/api/v1/files/reviewer/project/src/lib.rs").status, 403);
}

#[test]
fn a_file_is_put_under_conditions() {
    let served = Served::start();
    let new = put(&served, "/project/workspace/deep/er/a.txt", "one").header("if-none-match", "*");
    assert_eq!(new.status, 201, "{}", new.text());
    assert_eq!(std::fs::read_to_string(served.file("workspace/deep/er/a.txt")).unwrap(), "one");
    let tag = new.head("etag").unwrap().to_owned();
    assert_eq!(get(&served, "/project/workspace/deep/er/a.txt").head("etag"), Some(tag.as_str()));

    let taken = put(&served, "/project/workspace/deep/er/a.txt", "two").header("if-none-match", "*");
    assert_eq!(taken.status, 412);
    let wrong = put(&served, "/project/workspace/deep/er/a.txt", "two").header("if-match", "\"v0\"");
    assert_eq!(wrong.status, 412);
    let weak = put(&served, "/project/workspace/deep/er/a.txt", "two").header("if-match", &format!("W/{tag}"));
    assert_eq!(weak.status, 412);
    let absent = put(&served, "/project/workspace/none.txt", "two").header("if-match", "*");
    assert_eq!(absent.status, 412);
    assert!(!served.file("workspace/none.txt").exists());
    let both = put(&served, "/project/workspace/x", "two").header("if-match", "*").header("if-none-match", "*");
    assert_eq!(both.status, 400);
    assert_eq!(std::fs::read_to_string(served.file("workspace/deep/er/a.txt")).unwrap(), "one");

    let right = put(&served, "/project/workspace/deep/er/a.txt", "two").header("if-match", &tag);
    assert_eq!((right.status, right.json()["created"].as_bool()), (200, Some(false)));
    let any = put(&served, "/project/workspace/deep/er/a.txt", "three");
    assert_eq!(any.status, 200);
    assert_eq!(put(&served, "/project/workspace/deep/er", "x").status, 409);
    assert_eq!(put(&served, "/project/workspace/deep/er/", "x").status, 400);
    assert_eq!(std::fs::read_to_string(served.file("workspace/deep/er/a.txt")).unwrap(), "three");

    let virtual_ = put(&served, "/notes/a.txt", "kept elsewhere").header("if-none-match", "*");
    assert_eq!(virtual_.status, 201, "{}", virtual_.text());
    assert_eq!(get(&served, "/notes/a.txt").text(), "kept elsewhere");
}

#[test]
fn an_upload_is_one_call_that_can_be_undone() {
    let served = Served::start();
    let done = put(&served, "/project/workspace/hello.txt", "replaced");
    let call = done.json()["call"].as_str().unwrap().to_owned();
    let rows = served.desk.audit_log().unwrap().query(&paddock_ledger::audit::Filter::default()).unwrap().rows;
    let row = rows.iter().find(|row| row.call.to_string() == call && !row.outcome.is_empty()).expect("it is recorded");
    assert_eq!((row.tool.as_str(), row.outcome.as_str()), ("upload", "done"));
    assert_eq!(row.path, "/project/workspace/hello.txt");
    paddock_desk::history::undo(&served.desk, Some(&call), None, false).unwrap();
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "hello\n");
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let served = Served::start();
    let path = served.file("workspace/run.sh");
    write(&served, "workspace/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let replaced = put(&served, "/project/workspace/run.sh", "#!/bin/sh\necho\n");
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn of_writers_who_saw_the_same_one_wins() {
    let served = Served::start();
    let tag = get(&served, "/project/workspace/hello.txt").head("etag").unwrap().to_owned();
    let sends: Vec<_> = (0..8)
        .map(|n| put(&served, "/project/workspace/hello.txt", &format!("writer {n}\n")).header("if-match", &tag))
        .collect();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sent: Vec<_> = sends.into_iter().map(|send| scope.spawn(move || send.status)).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let won: Vec<usize> = (0..8).filter(|n| statuses[*n] == 200).collect();
    assert_eq!(won.len(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 412)), "{statuses:?}");
    let left = std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap();
    assert_eq!(left, format!("writer {}\n", won[0]));
}

#[test]
fn the_quota_holds_for_uploads() {
    let served = Served::start();
    let announced = served.request("PUT", &format!("{FILES}/project/workspace/big")).body(vec![0; 70 << 20]);
    assert_eq!(announced.status, 422, "{}", announced.text());
    assert!(announced.text().contains("no more"), "{}", announced.text());
    let unannounced = served.request("PUT", &format!("{FILES}/project/workspace/big")).chunked(&vec![0; 70 << 20]);
    assert_eq!(unannounced.status, 422, "{}", unannounced.text());
    write(&served, "workspace/most", vec![0; 40 << 20]);
    let small = served.request("PUT", &format!("{FILES}/project/workspace/small")).chunked(b"in pieces");
    assert_eq!((small.status, small.json()["created"].as_bool()), (201, Some(true)));
    let over = served.request("PUT", &format!("{FILES}/project/workspace/over")).body(vec![1; 40 << 20]);
    assert_eq!(over.status, 422, "{}", over.text());
    assert_eq!(served.request("PUT", &format!("{FILES}/project/workspace/fits")).body(vec![1; 10 << 20]).status, 201);
    assert!(!served.file("workspace/big").exists() && !served.file("workspace/over").exists());
}

#[test]
fn deleting_moving_and_making_directories() {
    let served = Served::start();
    let made = served.request("POST", "/api/v1/directories").json_body(&json!({ "path": "/project/workspace/d/e" }));
    assert_eq!(made.status, 200, "{}", made.text());
    assert!(served.file("workspace/d/e").is_dir());
    let again = served.request("POST", "/api/v1/directories").json_body(&json!({ "path": "/project/workspace/d" }));
    assert_eq!(again.status, 409);

    let to = json!({ "from": "/project/workspace/hello.txt", "to": "/project/workspace/d/e/hi.txt" });
    assert_eq!(served.request("POST", "/api/v1/move").json_body(&to).status, 200);
    assert!(served.file("workspace/d/e/hi.txt").is_file());
    assert_eq!(served.request("POST", "/api/v1/move").json_body(&to).status, 404);
    let out = json!({ "from": "/project/workspace/d/e/hi.txt", "to": "/elsewhere/hi.txt" });
    assert_eq!(served.request("POST", "/api/v1/move").json_body(&out).status, 403);

    let away = |path: &str| served.request("DELETE", &format!("{FILES}{path}"));
    assert_eq!(away("/project/workspace/d").status, 409);
    assert_eq!(away("/project/workspace/d/e/hi.txt").header("if-match", "\"v0\"").status, 412);
    let tag = get(&served, "/project/workspace/d/e/hi.txt").head("etag").unwrap().to_owned();
    assert_eq!(away("/project/workspace/d/e/hi.txt").header("if-match", &tag).status, 200);
    assert!(!served.file("workspace/d/e/hi.txt").exists());
    assert_eq!(away("/project/workspace/d?recursive=true").status, 200);
    assert!(!served.file("workspace/d").exists());
    assert_eq!(away("/project/workspace/d").status, 404);
    assert_eq!(away("/project/workspace?recursive=true").status, 403);
}

#[test]
fn a_read_only_token_changes_nothing() {
    let served = Served::start();
    let secret = served.token("looks", true);
    let target = format!("{FILES}/project/workspace/hello.txt");
    assert_eq!(served.stranger("GET", &target).bearer(&secret).status, 200);
    for method in ["PUT", "DELETE"] {
        assert_eq!(served.stranger(method, &target).bearer(&secret).body("x").status, 403);
    }
    let move_ = json!({ "from": "/project/workspace/hello.txt", "to": "/project/workspace/b" });
    let moved = served.stranger("POST", "/api/v1/move").bearer(&secret).json_body(&move_);
    assert_eq!(moved.status, 403);
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "hello\n");
}

#[test]
fn an_upload_that_another_page_sends_or_that_breaks_off_changes_nothing() {
    let served = Served::start();
    let forged = put(&served, "/project/workspace/hello.txt", "forged").header("origin", "http://127.0.0.1:1");
    assert_eq!(forged.status, 403);
    let torn = served
        .request("PUT", &format!("{FILES}/project/workspace/hello.txt"))
        .header("content-length", "1000")
        .header("x-then", "nothing");
    let mut torn = torn.begun("only this");
    torn.shutdown(std::net::Shutdown::Write).unwrap();
    // What is answered, or that nothing is, comes when the request is over.
    let _ = torn.read_to_end(&mut Vec::new());
    assert_eq!(std::fs::read_to_string(served.file("workspace/hello.txt")).unwrap(), "hello\n");
}

#[test]
fn hidden_names_never_leave_and_are_never_written() {
    let served = Served::start();
    write(&served, "workspace/a.secret", "hidden-value");
    write(&served, "workspace/seen.txt", "hidden-value is only a word here\n");
    for path in ["/project/.env", "/project/workspace/.env", "/project/workspace/a.secret"] {
        let read = get(&served, path);
        assert_eq!(read.status, 403, "{path}");
        assert!(!read.text().contains("hidden-value"));
        assert_eq!(put(&served, path, "over").status, 403, "{path}");
        assert_eq!(served.request("DELETE", &format!("{FILES}{path}")).status, 403);
        let stat = served.get(&format!("/api/v1/stat?path={path}"));
        assert_eq!(stat.status, 403, "{path}");
    }
    assert_eq!(std::fs::read_to_string(served.file("workspace/.env")).unwrap(), "KEY=hidden-value\n");
    for path in ["/project", "/project/workspace"] {
        let listed = served.get(&format!("/api/v1/list?path={path}"));
        assert_eq!(listed.status, 200);
        assert!(!listed.text().contains(".env") && !listed.text().contains("a.secret"), "{}", listed.text());
    }
    let found = served.get("/api/v1/search?q=hidden-value");
    let files: Vec<_> = found.json()["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(files, ["/project/workspace/seen.txt"]);
    let onto = json!({ "from": "/project/workspace/seen.txt", "to": "/project/workspace/b.secret" });
    assert_eq!(served.request("POST", "/api/v1/move").json_body(&onto).status, 403);
    let with_it = served.request("DELETE", &format!("{FILES}/project/workspace?recursive=true"));
    assert_eq!(with_it.status, 403);
    // What goes recursively would take a hidden file along.
    std::fs::create_dir(served.file("workspace/d")).unwrap();
    write(&served, "workspace/d/.env", "KEY=hidden-value");
    assert_eq!(served.request("DELETE", &format!("{FILES}/project/workspace/d?recursive=true")).status, 403);
    assert!(served.file("workspace/d/.env").is_file());
}

#[test]
fn paddocks_own_and_guarded_names_hold_for_the_person_too() {
    let served = Served::start();
    assert_eq!(put(&served, "/project/paddock.toml", "x").status, 403);
    assert_eq!(put(&served, "/project/workspace/.git/hooks/pre-commit", "x").status, 403);
    assert_eq!(put(&served, "/project/workspace/.envrc", "x").status, 403);
}

#[test]
fn a_person_reads_and_writes_whatever_the_agents_scope() {
    let served = Served::start();
    assert_eq!(put(&served, "/drop/in.txt", "delivered").status, 201);
    assert_eq!(get(&served, "/drop/in.txt").text(), "delivered");
    assert_eq!(served.get("/api/v1/stat?path=/drop/in.txt").json()["scope"], "WRITE_ONLY");
    assert_eq!(put(&served, "/project/src/new.rs", "// a person may").status, 201);
    // The agent's own scope is as it was.
    let denied = served.tool("main", "read_file", json!({ "path": "/drop/in.txt" }));
    assert!(!denied.contains("delivered"), "{denied}");
}

#[test]
fn no_route_leads_out() {
    let served = Served::start();
    write(&served, "../outside.txt", "outside");
    let outs = [
        "/project/workspace/../../../outside.txt",
        "/project/workspace/%2e%2e/%2e%2e/outside.txt",
        "/project/workspace/..%2f..%2foutside.txt",
        "/project/workspace/%2e%2e%2fpaddock.toml",
        "/project/workspace/./hello.txt",
        "/project/workspace/a%00b",
        "/project/workspace/a%5cb",
        "/project/workspace/a%0ab",
        "/project/workspace/%ff",
    ];
    for out in outs {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = served.request(method, &format!("{FILES}{out}")).body("");
            assert_eq!(answer.status, 400, "{method} {out}: {}", answer.text());
        }
    }
    for out in ["//etc/passwd", "/%2fetc/passwd", "///outside.txt", "/~root/x", "/etc/passwd"] {
        assert_eq!(get(&served, out).status, 403, "{out}");
    }
    std::os::unix::fs::symlink("../../outside.txt", served.file("workspace/out")).unwrap();
    std::os::unix::fs::symlink(".env", served.file("workspace/to-hidden")).unwrap();
    std::os::unix::fs::symlink("hello.txt", served.file("workspace/inside")).unwrap();
    assert_eq!(get(&served, "/project/workspace/out").status, 403);
    assert_eq!(get(&served, "/project/workspace/to-hidden").status, 403);
    assert_eq!(get(&served, "/project/workspace/inside").text(), "hello\n");
    assert_eq!(put(&served, "/project/workspace/out", "over").status, 409);
    assert_eq!(std::fs::read_to_string(served.file("../outside.txt")).unwrap(), "outside");
    for path in ["/../etc", "/project/../../etc", "/a%00"] {
        assert!(matches!(served.get(&format!("/api/v1/list?path={path}")).status, 400 | 403), "{path}");
    }
}

#[test]
fn nothing_of_a_file_runs_in_the_consoles_origin() {
    let served = Served::start();
    let script = "<script>document.title='x'</script>";
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    write(&served, "workspace/page.html", format!("<!doctype html>{script}"));
    write(&served, "workspace/page.xhtml", script);
    write(&served, "workspace/code.js", "alert(1)");
    write(&served, "workspace/x.svg", svg);
    write(&served, "workspace/fake.png", format!("<html>{script}</html>"));
    write(&served, "workspace/none", b"\x00\x01<html><script>");
    let kinds = [
        ("page.html", "text/plain; charset=utf-8"),
        ("page.xhtml", "text/plain; charset=utf-8"),
        ("code.js", "text/plain; charset=utf-8"),
        ("x.svg", "image/svg+xml"),
        ("fake.png", "image/png"),
        ("none", "application/octet-stream"),
    ];
    for (name, kind) in kinds {
        let sent = get(&served, &format!("/project/workspace/{name}"));
        assert_eq!(sent.head("content-type"), Some(kind), "{name}");
        assert_eq!(sent.head("x-content-type-options"), Some("nosniff"));
        let policy = sent.head("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("sandbox"), "{policy}");
        assert!(!policy.contains("allow-scripts") && !policy.contains("script-src"), "{policy}");
    }
    let kept = get(&served, "/project/workspace/page.html?download=true");
    assert!(kept.head("content-disposition").unwrap().starts_with("attachment;"));
    let binary = get(&served, "/project/workspace/none");
    assert!(binary.head("content-disposition").unwrap().starts_with("attachment;"));
}

#[test]
fn a_directory_of_a_hundred_thousand_is_paged() {
    let served = Served::start();
    std::fs::create_dir(served.file("workspace/many")).unwrap();
    for n in 0..100_000 {
        std::fs::File::create(served.file(format!("workspace/many/{n:06}"))).unwrap();
    }
    let first = served.get("/api/v1/list?path=/project/workspace/many").json();
    assert_eq!(first["entries"].as_array().unwrap().len(), 200);
    assert_eq!(first["next"], "/project/workspace/many/000199");
    let after = "/api/v1/list?path=/project/workspace/many&limit=1000&after=/project/workspace/many/";
    let next = served.get(&format!("{after}000199")).json();
    let entries = next["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["name"]), (1000, &json!("000200")));
    let last = served.get(&format!("{after}099989")).json();
    assert_eq!((last["entries"].as_array().unwrap().len(), &last["next"]), (10, &json!(null)));
    for refused in ["0", "1001", "100000"] {
        let many = served.get(&format!("/api/v1/list?path=/project/workspace/many&limit={refused}"));
        assert!(many.status == 400 && many.text().contains("ask for 1 to 1000"), "{refused}");
    }
    let foreign = served.get("/api/v1/list?path=/project/workspace/many&after=/project/workspace/hello.txt");
    assert_eq!(foreign.status, 400);
}

#[test]
fn listing_and_facts_show_workspaces_and_scopes() {
    let served = Served::start();
    let top = served.get("/api/v1/list").json();
    let names: Vec<_> = top["entries"].as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, ["drop", "notes", "project"]);
    assert_eq!(top["entries"][0]["scope"], "WRITE_ONLY");
    let inside = served.get("/api/v1/list?path=/project").json();
    let workspace = inside["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == "workspace").unwrap();
    assert_eq!((&workspace["scope"], &workspace["kind"]), (&json!("READ_WRITE"), &json!("directory")));
    let file = served.get("/api/v1/stat?path=/project/src/lib.rs").json();
    assert_eq!((&file["kind"], &file["size"], &file["text"]), (&json!("file"), &json!(30), &json!(true)));
    assert_eq!((&file["workspace"], &file["scope"]), (&json!("/project"), &json!("READ_ONLY")));
    assert_eq!(served.get("/api/v1/stat?path=/").json()["kind"], "directory");
    assert_eq!(served.get("/api/v1/stat?path=/notes").json()["kind"], "directory");
    assert_eq!(served.get("/api/v1/stat?path=/project/none").status, 404);
    assert_eq!(served.get("/api/v1/list?path=/project/src/lib.rs").status, 409);
    assert_eq!(served.get("/api/v1/list?path=/&what=ever").status, 400);
}

#[test]
fn a_search_is_bounded_and_paged() {
    let served = Served::start();
    for n in 0..30 {
        write(&served, &format!("workspace/f{n:02}.txt"), "needle one\nneedle (two)\nhay\n");
    }
    let whole = served.get("/api/v1/search?q=needle&limit=1000").json();
    assert_eq!(whole["matches"], 60);
    let mut after = String::new();
    let mut seen = Vec::new();
    loop {
        let page = served.get(&format!("/api/v1/search?q=needle&limit=25{after}")).json();
        for file in page["files"].as_array().unwrap() {
            assert_eq!(file["lines"].as_array().unwrap().len(), 2);
            seen.push(file["path"].as_str().unwrap().to_owned());
        }
        assert!(page["matches"].as_u64().unwrap() <= 25);
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen.len(), 30, "{seen:?}");
    assert!(seen.is_sorted());
    let literal = served.get("/api/v1/search?q=(two)&path=/project/workspace").json();
    assert_eq!(literal["matches"], 30);
    let regex = served.get("/api/v1/search?q=n..dle%20o&regex=true&path=/project/workspace/f01.txt").json();
    assert_eq!(regex["files"][0]["lines"][0], json!({ "line": 1, "text": "needle one" }));
    assert_eq!(served.get("/api/v1/search?q=(&regex=true").status, 400);
    assert_eq!(served.get("/api/v1/search?q=").status, 400);
    assert_eq!(served.get("/api/v1/search?q=x&path=/elsewhere").status, 403);
}

#[test]
fn a_large_file_goes_in_and_out_in_pieces() {
    let served = Served::start();
    let content: Vec<u8> = (0..20_000_000_u32).map(|n| (n % 251) as u8).collect();
    let target = format!("{FILES}/notes/large.bin");
    assert_eq!(served.request("PUT", &target).body(&content).status, 201);
    let back = served.get(&target);
    assert!(back.body == content, "{} bytes came back", back.body.len());
    let part = served.get(&target).header("range", "bytes=9999990-10000009");
    assert_eq!(part.body, &content[9_999_990..10_000_010]);
}

#[test]
fn a_file_that_changes_while_it_is_read_breaks_off() {
    let served = Served::start();
    let size = 60 << 20;
    write(&served, "workspace/large", vec![b'a'; size]);
    let request = get(&served, "/project/workspace/large");
    let answered = request.slowly(|| write(&served, "workspace/large", vec![b'b'; size]));
    let body = answered.expect_err("it breaks off");
    assert!(!body.is_empty() && body.iter().all(|byte| *byte == b'a'), "{} bytes", body.len());
}
