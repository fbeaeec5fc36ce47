//! What the console shows and does against the API and the command line: every page and form has a twin in both.
//!
//! The routes are read from the console's sources, so that one which nobody thought of here fails the test. A form that does
//! one of several things counts once for each.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::harness::World;

/// A page or a form, the endpoint that programs have for it, and the command that does the same.
const TWINS: &[(&str, &str, &str)] = &[
    ("GET /", "GET /api/v1/overview", "quota"),
    ("GET /activity", "GET /api/v1/audit", "audit query"),
    ("GET /activity/{call}", "GET /api/v1/calls/{id}", "audit query"),
    ("GET /approvals", "GET /api/v1/approvals", "approvals list"),
    ("GET /approvals/{id}", "GET /api/v1/approvals/{id}", "approvals show"),
    ("GET /approvals/{id}/edit", "GET /api/v1/approvals/{id}", "approvals show"),
    ("GET /files", "GET /api/v1/list", "mount"),
    ("GET /files/", "GET /api/v1/list", "mount"),
    ("GET /files/{*path}", "GET /api/v1/files/{agent}/{path}", "mount"),
    ("GET /forks", "GET /api/v1/forks", "fork"),
    ("GET /forks/{name}", "GET /api/v1/forks/{name}", "diff"),
    ("GET /grants", "GET /api/v1/grants", "approvals grants"),
    ("GET /instances", "GET /api/v1/instances", "instance list"),
    ("GET /instances/{key}", "GET /api/v1/instances/{key}", "instance show"),
    ("GET /instances/{key}/export", "GET /api/v1/instances/{key}/export", "instance export"),
    ("GET /projects", "GET /api/v1/projects", "projects"),
    ("GET /search", "GET /api/v1/search", "tool"),
    ("GET /settings", "GET /api/v1/tokens", "token list"),
    ("GET /settings/about", "GET /api/v1/check", "check"),
    ("GET /settings/config", "GET /api/v1/config", "config show"),
    ("GET /settings/doctor", "GET /api/v1/doctor", "doctor"),
    ("GET /threads", "GET /api/v1/threads", "threads list"),
    ("GET /threads/{id}", "GET /api/v1/threads/{id}", "threads show"),
    ("GET /why", "GET /api/v1/why", "why"),
    ("POST /activity/verify", "POST /api/v1/audit/verify", "audit verify"),
    ("POST /activity/{call}/undo", "POST /api/v1/calls/{id}/undo", "undo"),
    ("POST /approvals/{id}/approve", "POST /api/v1/approvals/{id}/decision", "approvals approve"),
    ("POST /approvals/{id}/edit", "POST /api/v1/approvals/{id}/decision", "approvals edit"),
    ("POST /approvals/{id}/reject", "POST /api/v1/approvals/{id}/decision", "approvals reject"),
    ("POST /files/{*path} Delete", "DELETE /api/v1/files/{agent}/{path}", "mount"),
    ("POST /files/{*path} MakeDir", "POST /api/v1/directories", "mount"),
    ("POST /files/{*path} Move", "POST /api/v1/move", "mount"),
    ("POST /files/{*path} Restore", "POST /api/v1/history/restore", "restore"),
    ("POST /forks", "POST /api/v1/forks", "fork"),
    ("POST /forks/{name}/apply", "POST /api/v1/forks/{name}/apply", "apply"),
    ("POST /forks/{name}/discard", "DELETE /api/v1/forks/{name}", "discard"),
    ("POST /forks/{name}/resolve", "POST /api/v1/forks/{name}/resolve", "resolve"),
    ("POST /grants/{id}/revoke", "DELETE /api/v1/grants/{id}", "approvals revoke"),
    ("POST /instances/{key}/clear", "POST /api/v1/instances/{key}/clear", "instance restart"),
    ("POST /instances/{key}/delete", "DELETE /api/v1/instances/{key}", "instance delete"),
    ("POST /instances/{key}/restart", "POST /api/v1/instances/{key}/restart", "instance restart"),
    ("POST /projects/import", "PUT /api/v1/import/{agent}/{path}", "import"),
    ("POST /projects/import-git", "POST /api/v1/import", "import"),
    ("POST /projects/new", "POST /api/v1/projects", "new"),
    ("POST /projects/publish", "POST /api/v1/shares", "publish"),
    ("POST /projects/push", "POST /api/v1/push", "export"),
    ("POST /projects/shares/{id}/revoke", "DELETE /api/v1/shares/{id}", "share revoke"),
    ("POST /settings/config", "PUT /api/v1/config/{key}", "config set"),
    ("POST /settings/tokens", "POST /api/v1/tokens", "token new"),
    ("POST /settings/tokens/{id}/revoke", "DELETE /api/v1/tokens/{id}", "token revoke"),
    ("POST /threads/{id}/cancel", "POST /api/v1/threads/{id}/cancel", "threads cancel"),
    ("POST /threads/{id}/fork", "POST /api/v1/threads/{id}/fork", "threads fork"),
    ("POST /threads/{id}/resume", "POST /api/v1/threads/{id}/resume", "resume"),
    ("POST /upload/{*path}", "PUT /api/v1/files/{agent}/{path}", "mount"),
];

#[test]
fn every_page_and_form_of_the_console_is_an_api_call_and_a_command_too() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paddock-console/src/pages");
    let mut routes = BTreeSet::new();
    for source in sources(&pages) {
        routes.extend(routes_in(&source));
    }
    // One form of the Files pages does what its field `act` says.
    assert!(routes.remove("POST /files/{*path}"));
    let acts = fs::read_to_string(pages.join("files/acts.rs")).unwrap();
    routes.extend(variants(&acts, "Form").into_iter().map(|act| format!("POST /files/{{*path}} {act}")));

    let listed: BTreeSet<String> = TWINS.iter().map(|(route, ..)| (*route).to_owned()).collect();
    let alone: Vec<_> = routes.difference(&listed).collect();
    assert!(alone.is_empty(), "the console has what neither an API call nor a command is known for: {alone:#?}");
    let gone: Vec<_> = listed.difference(&routes).collect();
    assert!(gone.is_empty(), "the console does not have this any more: {gone:#?}");

    let document = paddock_console::openapi();
    for (route, endpoint, _) in TWINS {
        let (method, path) = endpoint.split_once(' ').unwrap();
        let there = document["paths"][path].get(method.to_lowercase()).is_some();
        assert!(there, "\"{route}\" is said to be {endpoint}, which the API does not have");
    }
    let world = World::empty();
    for command in TWINS.iter().map(|(.., command)| *command).collect::<BTreeSet<_>>() {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let ran = world.paddock(&words);
        let usage = format!("Usage: paddock {command}");
        assert!(ran.code == 0 && ran.stdout.contains(&usage), "`paddock {command}` is no command: {ran}");
    }
}

fn sources(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![fs::read_to_string(path).unwrap()] })
        .collect()
}

/// The methods and paths that a source routes.
fn routes_in(source: &str) -> Vec<String> {
    let calls = source.split(".route(").skip(1).map(within_parentheses);
    let routed = calls.flat_map(|call| {
        let path = call.split('"').nth(1).unwrap_or_default().to_owned();
        let methods = ["get", "post"].into_iter().filter(|method| calls_it(call, method));
        methods.map(move |method| format!("{} {path}", method.to_uppercase())).collect::<Vec<_>>()
    });
    routed.collect()
}

/// What stands before the parenthesis that closes an open one.
fn within_parentheses(text: &str) -> &str {
    let mut open = 1;
    let end = text.find(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    });
    &text[..end.unwrap_or(text.len())]
}

fn calls_it(text: &str, name: &str) -> bool {
    let is_word = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(&format!("{name}(")).any(|(at, _)| !is_word(&text[..at]))
}

/// The variants of an enum.
fn variants(source: &str, name: &str) -> Vec<String> {
    let body = source.split(&format!("enum {name} {{\n")).nth(1).unwrap().split("\n}").next().unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let named = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    named.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned()).collect()
}

#[test]
fn routes_are_found_however_they_are_written() {
    let source = r#"Router::new().route("/a", get(|s, r| show(s, r, page))).route(
        "/b/{id}",
        get(one).post(|s, r| act(s, r, target(budget))),
    ).route("/c", any(target))"#;
    assert_eq!(routes_in(source), ["GET /a", "GET /b/{id}", "POST /b/{id}"]);
    assert_eq!(
        variants("enum Form {\n    /// x\n    MakeDir { name: String },\n    Move,\n}\nenum Y {\n    Z,\n}", "Form"),
        ["MakeDir", "Move"]
    );
}
