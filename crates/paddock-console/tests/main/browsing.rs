//! The pages of Files and Search, as a browser without JavaScript sees them: what agents wrote is text, whatever it is.

use serde_json::json;

use crate::harness::Served;

fn write(served: &Served, path: &str, content: impl AsRef<[u8]>) {
    let path = served.file(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
fn directories_and_files_have_pages() {
    let served = Served::start();
    write(&served, "workspace/docs/read.md", "# Title\n\nA *word*, [there](../hello.txt) ![x](pic.png)\n");
    write(&served, "workspace/docs/pic.png", b"\x89PNG\r\n\x1a\n");
    write(&served, "workspace/docs/none.bin", b"\x00\x01\x02");
    let top = served.get("/files").text();
    for part in ["href=\"/files/project?agent=main\"", "href=\"/files/drop?agent=main\"", ">WO<"] {
        assert!(top.contains(part), "{part}: {top}");
    }
    let listing = served.get("/files/project/workspace").text();
    assert!(listing.contains("href=\"/files/project/workspace/hello.txt?agent=main\""), "{listing}");
    assert!(listing.contains("data-upload=\"/api/v1/files/main/project/workspace/\""), "{listing}");
    let read_only = served.get("/files/project/src").text();
    assert!(read_only.contains("lib.rs") && !read_only.contains("data-upload"), "{read_only}");

    let code = served.get("/files/project/src/lib.rs").text();
    assert!(code.contains("<span class=\"hl-") && code.contains("id=\"L1\""), "{code}");
    let document = served.get("/files/project/workspace/docs/read.md").text();
    for part in [
        "<h2>Title</h2>",
        "<em>word</em>",
        "href=\"/files/project/workspace/hello.txt?agent=main\"",
        "src=\"/api/v1/files/main/project/workspace/docs/pic.png\"",
    ] {
        assert!(document.contains(part), "{part}: {document}");
    }
    let source = served.get("/files/project/workspace/docs/read.md?view=source").text();
    assert!(source.contains("pre class=\"source\"") && !source.contains("<em>word</em>"), "{source}");
    let image = served.get("/files/project/workspace/docs/pic.png").text();
    assert!(image.contains("<img src=\"/api/v1/files/main/project/workspace/docs/pic.png#v"), "{image}");
    let binary = served.get("/files/project/workspace/docs/none.bin").text();
    assert!(binary.contains("This file is no text") && binary.contains("?download=true"), "{binary}");
    assert_eq!(served.get("/files/project/workspace/none").status, 404);
}

#[test]
fn what_is_denied_says_why() {
    let served = Served::start();
    let hidden = served.get("/files/project/.env");
    assert_eq!(hidden.status, 403);
    assert!(
        hidden.text().contains("/why?operation=read&amp;path=%2Fproject%2F.env&amp;agent=main"),
        "{}",
        hidden.text()
    );
    assert!(!hidden.text().contains("hidden-value"));
    for path in ["/files/project/workspace/..%2f..%2f..%2fetc", "/files/project/%2e%2e/x", "/files/a%00b"] {
        assert_eq!(served.get(path).status, 400, "{path}");
    }
    for page in ["/files/project", "/files/project/workspace", "/search?q=hidden-value", "/files/project?view=history"]
    {
        let text = served.get(page).text();
        assert!(!text.contains("KEY=") && !text.contains(">.env<"), "{page}: {text}");
    }
}

#[test]
fn names_and_contents_are_text_whatever_they_are() {
    let served = Served::start();
    let name = "<img src=x onerror=alert(1)>\"'&.md";
    let evil = "<script>alert(1)</script>\n\n[a](javascript:alert(1)) <b onclick=x>\n\n![p](https://evil.example/p.png) ![q](data:image/png;base64,x)\n";
    write(&served, &format!("workspace/{name}"), evil);
    write(&served, "workspace/evil.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    write(&served, "workspace/evil.html", "<script>alert(1)</script>");
    write(&served, "workspace/bidi.rs", "let a = 1; // \u{202e}\u{200b}\n");
    let listing = served.get("/files/project/workspace");
    let document = served.get("/files/project/workspace/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%22%27%26.md");
    assert_eq!(document.status, 200);
    let svg = served.get("/files/project/workspace/evil.svg");
    let page = served.get("/files/project/workspace/evil.html");
    let found = served.get("/search?q=alert");
    for answer in [&listing, &document, &svg, &page, &found] {
        let text = answer.text();
        for bad in [
            "<script>alert",
            "<img src=x",
            "<b onclick",
            "\"javascript:alert",
            "evil.example/p.png\"",
            "<svg xmlns",
            "\"data:",
        ] {
            assert!(!text.contains(bad), "{bad}: {text}");
        }
        assert!(answer.head("content-security-policy").unwrap().contains("script-src 'self'"));
    }
    assert!(document.text().contains("&lt;script&gt;"), "{}", document.text());
    assert!(found.text().contains("&lt;script&gt;"), "{}", found.text());
    let bidi = served.get("/files/project/workspace/bidi.rs").text();
    assert!(bidi.contains("U+202E") && bidi.contains("2 invisible characters") && !bidi.contains('\u{202e}'), "{bidi}");
}

#[test]
fn forms_make_move_delete_restore_and_upload() {
    let served = Served::start();
    let at = |path: &str| format!("/files/project/workspace{path}?agent=main");
    let made = served.form(&at(""), &[("act", "make_dir"), ("name", "new dir")]);
    assert_eq!(made.status, 303, "{}", made.text());
    assert!(served.file("workspace/new dir").is_dir());
    for name in ["a/b", "..", ""] {
        assert_eq!(served.form(&at(""), &[("act", "make_dir"), ("name", name)]).status, 400, "{name}");
    }
    let to = "/project/workspace/new dir/hi.txt";
    assert_eq!(served.form(&at("/hello.txt"), &[("act", "move"), ("to", to)]).status, 303);
    assert!(served.file("workspace/new dir/hi.txt").is_file());

    let version = served.get("/api/v1/stat?path=/project/workspace/new%20dir/hi.txt").json()["version"].clone();
    let changed = served.request("PUT", "/api/v1/files/main/project/workspace/new%20dir/hi.txt").body("changed\n");
    assert_eq!(changed.status, 200);
    let history = served.get("/files/project/workspace/new%20dir/hi.txt?view=history").text();
    assert!(history.contains(">write<") || history.contains("write</a>"), "{history}");
    let change = history.split("&amp;change=").nth(1).unwrap().split(['"', '#']).next().unwrap().to_owned();
    let lines = served.get(&format!("/files/project/workspace/new%20dir/hi.txt?view=history&change={change}")).text();
    assert!(lines.contains("<del>hello</del>") && lines.contains("<ins>changed</ins>"), "{lines}");

    let stale = [("act", "delete"), ("version", version.as_str().unwrap())];
    assert_eq!(served.form(&at("/new%20dir/hi.txt"), &stale).status, 409);
    let restored = served.form(&at("/new%20dir/hi.txt"), &[("act", "restore"), ("version", version.as_str().unwrap())]);
    assert_eq!(restored.status, 303, "{}", restored.text());
    assert_eq!(std::fs::read_to_string(served.file("workspace/new dir/hi.txt")).unwrap(), "hello\n");
    assert_eq!(served.form(&at("/new%20dir"), &[("act", "delete")]).status, 303);
    assert!(!served.file("workspace/new dir").exists());
    assert_eq!(served.form(&at("/x"), &[("act", "what")]).status, 400);
}

#[test]
fn a_plain_form_uploads_and_replaces_nothing() {
    let served = Served::start();
    let part = |name: &str, content: &str| {
        format!("--b\r\ncontent-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n{content}\r\n")
    };
    let send = |parts: String| {
        let request = served.request("POST", "/upload/project/workspace?agent=main");
        request.header("content-type", "multipart/form-data; boundary=b").body(format!("{parts}--b--\r\n"))
    };
    let big = "x".repeat(5 << 20);
    let sent = send(part("one.txt", "1") + &part("two.txt", &big));
    assert_eq!(sent.status, 303, "{}", sent.text());
    assert_eq!(std::fs::read_to_string(served.file("workspace/one.txt")).unwrap(), "1");
    assert_eq!(std::fs::metadata(served.file("workspace/two.txt")).unwrap().len(), 5 << 20);
    assert_eq!(send(part("one.txt", "2")).status, 409);
    assert_eq!(std::fs::read_to_string(served.file("workspace/one.txt")).unwrap(), "1");
    for name in ["../out.txt", "a/b", ".."] {
        assert_eq!(send(part(name, "x")).status, 400, "{name}");
    }
    assert_eq!(send(part(".env", "x")).status, 403);
    let forged = served.request("POST", "/upload/project/workspace").header("origin", "http://127.0.0.1:1");
    assert_eq!(forged.header("content-type", "multipart/form-data; boundary=b").body("--b--\r\n").status, 403);
}

#[test]
fn a_search_has_a_page() {
    let served = Served::start();
    write(&served, "workspace/a.txt", "one needle\n");
    let found = served.get("/search?q=needle").text();
    assert!(found.contains("href=\"/files/project/workspace/a.txt?agent=main#L1\""), "{found}");
    assert!(served.get("/search").text().contains("name=\"q\""));
    assert!(served.get("/search?q=nothing-like-it").text().contains("Nothing matches"));
    let bad = served.get("/search?q=(&regex=true");
    assert_eq!(bad.status, 400);
    assert!(bad.text().contains("pattern"), "{}", bad.text());
}

#[test]
fn each_quota_of_a_workspace_has_its_meter() {
    let served = Served::start_with(
        "[[workspace]]\nprefix = \"/few\"\nscope = \"RW\"\nmount = { virtual = \"few\" }\nquota = { files = 10 }\n\
         [[workspace]]\nprefix = \"/both\"\nscope = \"RW\"\nmount = { virtual = \"both\" }\nquota = { bytes = \"1 KiB\", files = 4 }\n",
    );
    for path in ["/few/a.txt", "/few/b.txt", "/both/a.txt"] {
        served.tool("main", "write_file", json!({ "path": path, "content": "1234" }));
    }
    for page in ["/", "/projects"] {
        let page = served.get(page).text();
        let meter = |label: &str| page.split("<meter").find(|meter| meter.contains(&format!("aria-label=\"{label}\"")));
        assert!(
            page.contains("2 of 10 files") && page.contains("1 of 4 files") && page.contains("4 B of 1.0 KiB"),
            "{page}"
        );
        assert!(meter("Files of /few").unwrap().contains("max=\"10\"") && meter("Storage of /few").is_none(), "{page}");
        assert!(meter("Files of /both").unwrap().contains("value=\"1\""), "{page}");
        assert!(meter("Storage of /both").unwrap().contains("max=\"1024\""), "{page}");
        assert!(meter("Files of /notes").is_none(), "no quota, no meter: {page}");
    }
}

#[test]
fn the_overview_shows_who_works_here_on_what() {
    let served = Served::start();
    served.tool("main", "write_file", json!({ "path": "/project/workspace/b.txt", "content": "b" }));
    served.tool("main", "read_file", json!({ "path": "/elsewhere" }));
    served.desk.audit_log().unwrap().flush().unwrap();
    let page = served.get("/").text();
    for part in
        ["reviewer", "/project/workspace", ">RW<", "write_file", "of 64.0 MiB", "<svg", "denied", "Acts per hour"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let answer = served.get("/api/v1/overview").json();
    assert_eq!(answer["agents"][0]["name"], "main");
    assert_eq!(answer["agents"][1]["workspaces"][0]["prefix"], "/code");
    assert_eq!(answer["waiting"], 0);
    assert_eq!(answer["hours"].as_array().unwrap().len(), 24);
    let acts: u64 = answer["hours"].as_array().unwrap().iter().map(|hour| hour["done"].as_u64().unwrap()).sum();
    assert!(acts >= 1, "{answer}");
}

/// What fails says so on a page with the menu around it, and leads back to where it was asked from, within this console only.
#[test]
fn what_fails_is_told_inside_the_console_with_the_way_back() {
    let served = Served::start();
    let host = served.address.to_string();
    let missing = served.get("/approvals/ap-none");
    assert_eq!(missing.status, 404, "{}", missing.text());
    let text = missing.text();
    assert!(text.contains("aria-label=\"Console\"") && text.contains("It was not done"), "{text}");
    assert!(text.contains("<a class=\"button\" href=\"/approvals\">Back</a>"), "{text}");
    let from = |referer: String| {
        let form = served.form("/settings/tokens", &[("name", "x"), ("days", "many")]).header("referer", &referer);
        assert_eq!(form.status, 400, "{}", form.text());
        form.text()
    };
    let text = from(format!("http://{host}/settings?agent=main&told=Done"));
    assert!(text.contains("aria-label=\"Console\"") && text.contains("is no number of days"), "{text}");
    assert!(text.contains("href=\"/settings?agent=main\">Back</a>"), "{text}");
    for elsewhere in
        ["http://elsewhere.example/settings/config".to_owned(), format!("http://{host}//elsewhere.example/")]
    {
        let text = from(elsewhere);
        assert!(text.contains("href=\"/settings\">Back</a>") && !text.contains("elsewhere.example"), "{text}");
    }
}

/// The agent that was picked is looked at on the pages after it, until there is no such agent any more.
#[test]
fn the_agent_that_was_picked_is_held() {
    let served = Served::start();
    let picked = served.get("/files?agent=reviewer");
    let cookie = picked.head("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with("paddock_agent=reviewer; Path=/;"), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert!(served.get("/files?agent=nobody").head("set-cookie").is_none(), "only what there is is held");
    let with = |agent: &str, page: &str| {
        let cookies = format!("{}; paddock_agent={agent}", served.session());
        served.stranger("GET", page).header("cookie", &cookies).text()
    };
    assert!(with("reviewer", "/files").contains("/files/code?agent=reviewer"), "the choice holds");
    let gone = with("gone", "/files");
    assert!(gone.contains("/files/project?agent=main"), "a choice of nobody is none: {gone}");
}

#[test]
fn a_search_finds_files_by_their_names_too() {
    let served = Served::start();
    let page = served.get("/search?q=HELLO.T").text();
    assert!(
        page.contains("Files by name") && page.contains("href=\"/files/project/workspace/hello.txt?agent=main\""),
        "{page}"
    );
    assert!(!served.get("/search?q=.env").text().contains("/files/project/.env"), "what is hidden has no name");
    let path = served.get("/search?q=workspace%2Fhel").text();
    assert!(path.contains("/files/project/workspace/hello.txt"), "{path}");
    let lines = served.get("/search?q=pub+fn").text();
    assert!(lines.contains("1 line in 1 file<") && !lines.contains("Files by name"), "{lines}");
}
