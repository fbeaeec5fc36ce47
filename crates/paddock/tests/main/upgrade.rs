//! What an earlier commit wrote is opened by today's program: read, brought to today's form, and gone on with. What a
//! later one wrote is refused, and nothing of it is touched.
//!
//! The files were written by the program of the commit that their directory is named after, by `fixtures/upgrade/make.sh`.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paddock_db::postgres_testing::{Database, ask, run};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Ran, World};

/// Where the project stood when it was written, and the name that followed from it.
const ROOT: &str = "/home/alice/project";
const ID: &str = "home_alice_project__upgrade";
/// Stands in its configuration for the server that has its state.
const SERVER: &str = "postgres://DATABASE";

/// Every project that is kept: of some commits, with its state in files and on a server.
fn kept() -> Vec<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/upgrade");
    let found = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let found: Vec<PathBuf> = found.collect();
    for on_server in [true, false] {
        assert!(found.iter().any(|one| one.join("dump.sql").exists() == on_server), "there is something to open");
    }
    found
}

/// One whose state is in files.
fn kept_in_files() -> PathBuf {
    kept().into_iter().find(|one| !one.join("dump.sql").exists()).unwrap()
}

/// What was kept, in a world of its own.
struct Earlier {
    world: World,
    /// Where its state is, unless that is in files.
    server: Option<Database>,
}

impl Deref for Earlier {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Earlier {
    /// Paths of the host are in what is kept, and a project that moved is another project: today's take their place.
    fn new(kept: &Path) -> Self {
        let world = World::empty();
        let root = world.project().to_str().unwrap().to_owned();
        let home = world.home().join(".paddock");
        copy(&kept.join("project"), &world.project(), &root);
        copy(&kept.join("home"), &home, &root);
        let id = format!("{}__upgrade", root.trim_matches('/').replace('/', "_"));
        rename_all(&home.join("workspaces"), ID, &id);
        rename_all(&home.join("secrets/audit"), ID, &id);
        rename_all(&home.join("connections"), &place(ROOT), &place(&root));
        let dump = fs::read_to_string(kept.join("dump.sql")).ok();
        let server = dump.map(|dump| restored(&world, &dump.replace(ROOT, &root)));
        if server.is_none() {
            let database = rusqlite::Connection::open(state(&world).join("state.db")).unwrap();
            for column in ["territory", "place", "place_key"] {
                let sql = format!("UPDATE history_change SET {column} = replace({column}, ?1, ?2)");
                database.execute(&sql, (ROOT, root.as_str())).unwrap();
            }
        }
        Self { world, server }
    }

    /// How far the tables of an owner are.
    fn step(&self, owner: &str) -> u32 {
        let sql = |tables: &str| format!("SELECT version FROM {tables}paddock_schema WHERE owner = '{owner}'");
        match &self.server {
            Some(server) => ask(&server.url(), &sql("paddock.")).unwrap().parse().unwrap(),
            None => {
                let database = rusqlite::Connection::open(state(self).join("state.db")).unwrap();
                database.query_row(&sql(""), (), |row| row.get(0)).unwrap()
            }
        }
    }
}

/// A database that holds what was kept, and the configuration that names it.
fn restored(world: &World, dump: &str) -> Database {
    let server = Database::fresh();
    run(&server.url(), dump);
    world.write("paddock.toml", world.read("paddock.toml").replace(SERVER, &server.url()));
    server
}

/// How a place is named where it is remembered what was written into clients' files.
fn place(path: &str) -> String {
    Sha256::digest(path).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn rename_all(directory: &Path, from: &str, to: &str) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        fs::rename(entry.path(), directory.join(name.replace(from, to))).unwrap();
    }
}

/// As private as they were: git keeps no modes.
fn copy(from: &Path, to: &Path, root: &str) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to, root);
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            let bytes = String::from_utf8(bytes)
                .map_or_else(|error| error.into_bytes(), |text| text.replace(ROOT, root).into_bytes());
            fs::write(&to, bytes).unwrap();
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

#[test]
fn what_an_earlier_commit_wrote_is_read_and_gone_on_with() {
    for kept in kept() {
        let world = Earlier::new(&kept);
        let named_nobody = world.step("history") < 5;
        // The audit: every row as it was signed, though its table has grown.
        let before = done(&world, &["audit", "verify", "--json"]).json();
        assert_eq!((&before["ok"], &before["lost"]), (&json!(true), &json!(0)), "{before}");
        let rows = done(&world, &["audit", "query", "--limit", "1000", "--json"]).json();
        let nobody = rows.as_array().unwrap().iter().all(|row| row["by"].is_null());
        assert_eq!(nobody, named_nobody, "nobody is named after the fact: {rows}");
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
        let persons = if world.server.is_some() { 2 } else { 3 };
        assert!(world.step("audit") >= persons && world.step("history") >= 5, "{}", kept.display());
    }
}

/// The change of a command that waits for a person.
fn held(world: &World) -> String {
    let waits = done(world, &["approvals", "list", "--json"]).json();
    let held = waits.as_array().unwrap().iter().find(|one| one["tool"] == "execute_command");
    held.unwrap_or_else(|| panic!("{waits}"))["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_a_command_changed_then_is_decided_now() {
    let old = json!({ "path": "/notes/reviewed/old.md" });
    for kept in kept() {
        let world = Earlier::new(&kept);
        let id = held(&world);
        let shown = done(&world, &["approvals", "show", &id]).stdout;
        assert!(shown.contains("-old") && shown.contains("+held"), "{shown}");
        done(&world, &["approvals", "approve", &id]);
        assert_eq!(world.read("disk/held.txt"), "held\n");
        assert_eq!(world.paddock(&["tool", "read_file", &old.to_string()]).code, 1, "it is gone");
        done(&world, &["undo"]);
        assert!(!world.has("disk/held.txt"));
        assert_eq!(tool(&world, "read_file", &old), "old\n");

        let world = Earlier::new(&kept);
        done(&world, &["approvals", "reject", &held(&world)]);
        assert!(!world.has("disk/held.txt"));
        assert_eq!(tool(&world, "read_file", &old), "old\n");
        done(&world, &["audit", "verify"]);
    }
}

/// Every file of clients below a directory, with its text.
fn of_clients(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let path = entry.strip_prefix(directory).unwrap().to_owned();
            if !path.to_str().unwrap().starts_with('.') {
                continue;
            }
            if entry.is_dir() {
                waiting.push(entry);
            } else {
                found.insert(path, fs::read_to_string(entry).unwrap());
            }
        }
    }
    found
}

#[test]
fn what_was_written_into_clients_files_then_is_taken_back_now() {
    for kept in kept() {
        let (world, before) = (Earlier::new(&kept), of_clients(&kept.join("before")));
        assert_ne!(of_clients(&world.project()), before);
        for client in ["claude-code", "codex", "cursor", "vscode"] {
            let known = world.paddock(&["connect", client, "--dry-run"]);
            assert_eq!(known.code, 0, "its own lines are known: {known}");
            done(&world, &["connect", client, "--undo", "--yes"]);
        }
        assert_eq!(of_clients(&world.project()), before, "{}", kept.display());
        assert!(!world.home().join(".paddock/connections").exists());
    }
}

#[test]
fn what_a_person_had_set_then_holds_now() {
    let with_settings = kept().into_iter().filter(|kept| kept.join("home/config.json").exists());
    let with_settings: Vec<PathBuf> = with_settings.collect();
    assert!(!with_settings.is_empty(), "there are settings to open");
    for kept in with_settings {
        let world = Earlier::new(&kept);
        assert_eq!(done(&world, &["config", "show", "--user", "--json"]).json(), json!({ "color": "never" }));
        done(&world, &["config", "set", "--user", "progress", "never"]);
        let both = json!({ "color": "never", "progress": "never" });
        assert_eq!(done(&world, &["config", "show", "--user", "--json"]).json(), both);
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
    let kept = kept_in_files();
    for owner in ["audit", "history", "approvals", "access", "shares", "runs", "virtual"] {
        let world = Earlier::new(&kept);
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
    let world = Earlier::new(&kept_in_files());
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
