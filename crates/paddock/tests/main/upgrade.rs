//! What an earlier commit wrote is opened by today's program: read, brought to today's form, and gone on with. What a
//! later one wrote is refused, and nothing of it is touched.
//!
//! The files were written by the program of the commit that their directory is named after, by `fixtures/upgrade/make.sh`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Ran, World};

/// Where the project stood when it was written, and the name that followed from it.
const ROOT: &str = "/home/alice/project";
const ID: &str = "home_alice_project__upgrade";

/// Every commit that files are kept of.
fn commits() -> Vec<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/upgrade");
    let found = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let found: Vec<PathBuf> = found.collect();
    assert!(!found.is_empty(), "there are files to open");
    found
}

/// The files of a commit in a world of their own.
fn world(commit: &Path) -> World {
    let world = World::empty();
    copy(&commit.join("project"), &world.project());
    let home = world.home().join(".paddock");
    copy(&commit.join("home"), &home);
    // Paths of the host are in what is kept: a project that moved is another project.
    let root = world.project().to_str().unwrap().to_owned();
    let id = format!("{}__upgrade", root.trim_matches('/').replace('/', "_"));
    fs::rename(home.join("workspaces").join(ID), home.join("workspaces").join(&id)).unwrap();
    fs::write(state(&world).join("origin.json"), json!({ "package": "upgrade", "project_root": root }).to_string())
        .unwrap();
    for end in ["head", "head.lost"] {
        let heads = home.join("secrets/audit");
        fs::rename(heads.join(format!("{ID}.{end}")), heads.join(format!("{id}.{end}"))).unwrap();
    }
    let database = rusqlite::Connection::open(state(&world).join("state.db")).unwrap();
    for column in ["territory", "place", "place_key"] {
        let sql = format!("UPDATE history_change SET {column} = replace({column}, ?1, ?2)");
        database.execute(&sql, (ROOT, root.as_str())).unwrap();
    }
    drop(database);
    world
}

/// As private as they were: git keeps no modes.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// Where the state of the project is.
fn state(world: &World) -> PathBuf {
    let all = world.home().join(".paddock/workspaces");
    let mut found = fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    let only = found.next().unwrap();
    assert!(found.next().is_none(), "there is one project");
    only
}

fn done(world: &World, arguments: &[&str]) -> Ran {
    let ran = world.paddock(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran}");
    ran
}

fn tool(world: &World, name: &str, arguments: &Value) -> String {
    done(world, &["tool", name, &arguments.to_string()]).stdout
}

/// How far each owner's tables are.
fn steps(world: &World) -> Vec<(String, u32)> {
    let database = rusqlite::Connection::open(state(world).join("state.db")).unwrap();
    let mut rows = database.prepare("SELECT owner, version FROM paddock_schema ORDER BY owner").unwrap();
    let found = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    found.map(Result::unwrap).collect()
}

#[test]
fn what_an_earlier_commit_wrote_is_read_and_gone_on_with() {
    for commit in commits() {
        let world = world(&commit);
        // The audit: every row as it was signed, though its table has grown.
        let before = done(&world, &["audit", "verify", "--json"]).json();
        assert_eq!((&before["ok"], &before["lost"]), (&json!(true), &json!(0)), "{before}");
        let rows = done(&world, &["audit", "query", "--limit", "1000", "--json"]).json();
        assert!(rows.as_array().unwrap().iter().all(|row| row["by"].is_null()), "nobody is named after the fact");
        // Contents, those in chunks too.
        assert_eq!(tool(&world, "read_file", &json!({ "path": "/notes/plan.md" })), "two\n");
        assert_eq!(tool(&world, "read_file", &json!({ "path": "/disk/a.txt" })), "first\n");
        assert!(tool(&world, "read_file", &json!({ "path": "/notes/large.txt" })).contains("xxxxxxxx"));
        // Approvals and grants.
        let waited = done(&world, &["approvals", "list", "--all", "--json"]).json();
        let paths: Vec<&Value> = waited.as_array().unwrap().iter().map(|one| &one["path"]).collect();
        assert!(paths.contains(&&json!("/notes/plan.md")) && paths.contains(&&json!("/disk/a.txt")), "{waited}");
        // Tokens, shares, secrets, runs, conversations.
        assert_eq!(done(&world, &["token", "list", "--json"]).json()[0]["name"], "ci");
        assert_eq!(done(&world, &["share", "list", "--json"]).json()[0]["path"], "/notes/site");
        assert_eq!(done(&world, &["secret", "list", "--json"]).json()[0]["name"], "git-token");
        let thread = done(&world, &["threads", "show", "kept", "--json"]).json();
        assert!(thread.to_string().contains("\"done\""), "{thread}");
        assert_eq!(done(&world, &["threads", "replay", "kept", "--json"]).json()["differs_at"], Value::Null);
        assert!(done(&world, &["instance", "messages", "kept"]).stdout.contains("write the file"));

        // And on: an undo of then, an apply of a fork of then, the grant of then, new rows behind the old ones.
        let calls = done(&world, &["log", "/notes/plan.md", "--json"]).json();
        let edit = calls.as_array().unwrap().iter().find(|row| row["what"] == "edit").unwrap();
        done(&world, &["undo", edit["call"].as_str().unwrap()]);
        assert_eq!(tool(&world, "read_file", &json!({ "path": "/notes/plan.md" })), "one\n");
        assert!(done(&world, &["diff", "try"]).stdout.contains("+forked"));
        let second = done(&world, &["log", "/disk/a.txt", "--json"]).json();
        let second = second.as_array().unwrap().iter().find(|row| row["bytes"] == 7).unwrap().clone();
        done(&world, &["restore", "/disk/a.txt", "--at", second["call"].as_str().unwrap()]);
        assert_eq!(world.read("disk/a.txt"), "second\n");
        tool(&world, "delete_file", &json!({ "path": "/disk/a.txt" }));
        assert!(!world.has("disk/a.txt"), "the grant of then holds");
        let after = done(&world, &["audit", "verify", "--json"]).json();
        assert_eq!(after["ok"], json!(true), "{after}");
        assert!(after["rows"].as_u64() > before["rows"].as_u64());
        let named = done(&world, &["log", "--json"]).json();
        assert!(named.as_array().unwrap().iter().any(|row| row["by"] == "a person"), "{named}");
        let steps = steps(&world);
        let at = |owner: &str| steps.iter().find(|(name, _)| name == owner).map(|(_, step)| *step);
        assert!(at("audit") >= Some(3) && at("history") >= Some(5), "{steps:?}");
    }
}

/// Every table of the state, as text.
fn everything(world: &World) -> String {
    let database = rusqlite::Connection::open(state(world).join("state.db")).unwrap();
    let names: Vec<String> = {
        let mut rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        rows.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let mut text = String::new();
    for name in names {
        let mut rows = database.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = rows.column_count();
        let mut found = rows.query(()).unwrap();
        while let Some(row) = found.next().unwrap() {
            (0..columns).for_each(|at| text.push_str(&format!("{:?} ", row.get_ref(at).unwrap())));
            text.push('\n');
        }
    }
    text
}

#[test]
fn what_a_later_program_wrote_is_refused_and_left_as_it_is() {
    let commit = commits().remove(0);
    for owner in ["audit", "history", "approvals", "access", "shares", "runs", "virtual"] {
        let world = world(&commit);
        done(&world, &["audit", "verify"]);
        let database = rusqlite::Connection::open(state(&world).join("state.db")).unwrap();
        database.execute("UPDATE paddock_schema SET version = 99 WHERE owner = ?1", (owner,)).unwrap();
        drop(database);
        let before = everything(&world);
        let call = json!({ "path": "/notes/plan.md", "content": "x" }).to_string();
        for arguments in [vec!["log"], vec!["undo"], vec!["token", "list"], vec!["tool", "write_file", &call]] {
            let ran = world.paddock(&arguments);
            assert_ne!(ran.code, 0, "{owner}: {arguments:?}: {ran}");
        }
        let told = world.paddock(&["token", "list"]);
        assert!(told.stderr.contains("was written by a newer Paddock"), "{owner}: {told}");
        assert!(told.stderr.contains(&format!("{owner} is at step 99")), "{owner}: {told}");
        assert!(told.stderr.contains("hint: update this paddock"), "{owner}: {told}");
        assert_eq!(everything(&world), before, "{owner}: nothing of it was touched");
    }
}

#[test]
fn secrets_of_a_later_form_are_refused_and_left_as_they_are() {
    let world = world(&commits().remove(0));
    let vault = world.home().join(".paddock/secrets/vault.json");
    let mut form: Value = serde_json::from_str(&fs::read_to_string(&vault).unwrap()).unwrap();
    form["format"] = json!(99);
    fs::write(&vault, form.to_string()).unwrap();
    for arguments in [vec!["secret", "list"], vec!["secret", "rm", "git-token"]] {
        let ran = world.paddock(&arguments);
        assert_ne!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains("hint: use the version of Paddock that wrote it"), "{ran}");
    }
    assert_eq!(fs::read_to_string(&vault).unwrap(), form.to_string());
}
