//! Virtual Workspaces, history and audit on a PostgreSQL server, through the command line: with a real server, one that
//! cannot be reached, and one that is killed in the middle.

use std::collections::BTreeSet;
use std::time::Duration;

use paddock_db::postgres_testing::{Cluster, Database, free_port};
use serde_json::{Value, json};

use crate::client::{Raw, call};
use crate::crash::Chance;
use crate::harness::{Ran, World};
use crate::two_servers::share_key;

/// Stands in every url, and in nothing that is printed.
const PASSWORD: &str = "test-password";

/// A project whose state is all on a server.
fn config(url: &str) -> String {
    format!(
        "name = \"p\"\n[virtual]\nurl = \"{url}\"\n[state]\nurl = \"{url}\"\nid = \"p\"\n\
         [[workspace]]\nprefix = \"/notes\"\nscope = \"RW\"\nmount = {{ virtual = \"notes\" }}\n\
         [[workspace]]\nprefix = \"/disk\"\nscope = \"RW\"\nmount = {{ physical = \"disk\" }}\n"
    )
}

fn world(url: &str) -> World {
    let world = World::configured(&config(url));
    world.write("disk/README", "by hand\n");
    world
}

/// Runs a command; the password is in nothing it prints.
fn run(world: &World, arguments: &[&str]) -> Ran {
    let ran = world.paddock(arguments);
    assert!(!ran.to_string().contains(PASSWORD), "{arguments:?}: {ran}");
    ran
}

/// As [`run`], where it has to be done.
fn done(world: &World, arguments: &[&str]) -> Ran {
    let ran = run(world, arguments);
    assert_eq!(ran.code, 0, "{arguments:?}: {ran}");
    ran
}

fn write(world: &World, path: &str, content: &str) {
    done(world, &["tool", "write_file", &json!({"path": path, "content": content}).to_string()]);
}

/// What a path holds for the agent; nothing when it is not there.
fn read(world: &World, path: &str) -> Option<String> {
    let ran = run(world, &["tool", "read_file", &json!({"path": path}).to_string()]);
    (ran.code == 0).then_some(ran.stdout)
}

#[test]
fn files_history_and_audit_are_on_the_server() {
    let database = Database::fresh();
    let world = world(&database.url());
    write(&world, "/notes/plan.md", "one\n");
    write(&world, "/notes/plan.md", "two\n");
    // More than a chunk.
    let large = format!("{}\n", "0123456789".repeat(10)).repeat(900);
    write(&world, "/notes/large.txt", &large);
    write(&world, "/disk/README", "by an agent\n");
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "two\n");
    assert!(read(&world, "/notes/large.txt").unwrap() == large);

    let log = done(&world, &["log", "--json"]).json();
    assert_eq!(log.as_array().unwrap().len(), 4, "{log}");
    done(&world, &["undo"]);
    assert_eq!(world.read("disk/README"), "by hand\n");
    let second = log[2]["call"].as_str().unwrap();
    done(&world, &["undo", second]);
    assert_eq!(read(&world, "/notes/plan.md").unwrap(), "one\n");

    let audit = done(&world, &["audit", "query", "--json"]);
    assert!(audit.stdout.contains("/notes/plan.md"), "{audit}");
    done(&world, &["audit", "verify"]);
    done(&world, &["doctor"]);
    // Another home has nothing of it but the url and the key, and sees the same files.
    let elsewhere = self::world(&database.url());
    share_key(&world, &elsewhere);
    assert_eq!(read(&elsewhere, "/notes/plan.md").unwrap(), "one\n");
}

#[test]
fn a_fork_is_made_compared_and_applied() {
    let database = Database::fresh();
    let world = world(&database.url());
    write(&world, "/notes/plan.md", "one\ntwo\n");
    for source in ["/notes", "/disk"] {
        done(&world, &["fork", source, "x"]);
        let (file, old) = if source == "/notes" { ("plan.md", "one\ntwo\n") } else { ("README", "by hand\n") };
        assert_eq!(read(&world, &format!("/forks/x/{file}")).unwrap(), old, "{source}");
        write(&world, &format!("/forks/x/{file}"), "new\n");
        write(&world, "/forks/x/d/more.md", "more\n");
        assert_eq!(read(&world, &format!("{source}/{file}")).unwrap(), old, "{source}");
        let diff = done(&world, &["diff", "x"]);
        assert!(diff.stdout.contains("+new") && diff.stdout.contains("d/more.md"), "{diff}");
        done(&world, &["apply", "x"]);
        assert_eq!(read(&world, &format!("{source}/{file}")).unwrap(), "new\n", "{source}");
        assert_eq!(read(&world, &format!("{source}/d/more.md")).unwrap(), "more\n", "{source}");
        done(&world, &["discard", "x"]);
    }
    done(&world, &["audit", "verify"]);
}

/// Two servers of one project, each with the file to append to; and a person who looks meanwhile.
#[test]
fn two_processes_at_once_lose_nothing() {
    const EACH: usize = 20;
    let database = Database::fresh();
    let world = world(&database.url());
    write(&world, "/notes/log", "");
    let append = |who: usize| {
        let mut raw = Raw::greeted(&world, &["mcp"]);
        for n in 0..EACH {
            let line = json!({"path": "/notes/log", "content": format!("{who} {n}\n")});
            raw.send(&call(i64::try_from(n).unwrap(), "append_file", &line));
            let answer = raw.receive();
            assert_ne!(answer["result"]["isError"], json!(true), "{answer}");
        }
        raw.end();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| append(1));
        scope.spawn(|| append(2));
        scope.spawn(|| done(&world, &["log"]));
    });
    let text = read(&world, "/notes/log").unwrap();
    for who in [1, 2] {
        let own: Vec<String> =
            text.lines().filter(|line| line.starts_with(&format!("{who} "))).map(str::to_owned).collect();
        assert_eq!(own, (0..EACH).map(|n| format!("{who} {n}")).collect::<Vec<_>>());
    }
    assert_eq!(done(&world, &["log", "--limit", "100", "--json"]).json().as_array().unwrap().len(), 1 + 2 * EACH);
    done(&world, &["audit", "verify"]);
}

#[test]
fn a_server_that_cannot_be_reached_is_told_with_what_to_do() {
    let port = free_port();
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:{port}/paddock");
    let world = world(&url);
    let doctor = run(&world, &["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    for key in ["virtual.url", "state.url"] {
        let told = format!("✗ database {key}: the database \"127.0.0.1:{port}/paddock\" cannot be reached");
        assert!(doctor.stdout.contains(&told), "{doctor}");
    }
    assert!(
        doctor
            .stdout
            .contains("→ look whether the file's directory, or the server and its url in paddock.toml, are right")
    );
    // Who has no key yet cannot begin: others may have signed there.
    let write = json!({"path": "/notes/plan.md", "content": "x"}).to_string();
    let ran = run(&world, &["tool", "write_file", &write]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot be reached") && ran.stdout.is_empty(), "{ran}");
    let signed = World::seed();
    assert_eq!(signed.paddock(&["tool", "write_file", "{\"path\": \"workspace/a\", \"content\": \"x\"}"]).code, 0);
    share_key(&signed, &world);
    // An agent learns that it did not work, and nothing of where the server is.
    let write = json!({"path": "/notes/plan.md", "content": "x"}).to_string();
    let ran = run(&world, &["tool", "write_file", &write]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(!ran.stdout.contains("127.0.0.1"), "{ran}");
    // What cannot be recorded is not done.
    let ran = run(&world, &["tool", "write_file", &json!({"path": "/disk/README", "content": "x"}).to_string()]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(world.read("disk/README"), "by hand\n");
    // From now on the project has a place of its own, and a past to ask for.
    for command in [["log"].as_slice(), &["undo"], &["audit", "verify"], &["fork", "/notes", "x"]] {
        let ran = run(&world, command);
        assert_eq!(ran.code, 1, "{command:?}: {ran}");
        assert!(ran.stderr.contains("cannot be reached") && ran.stderr.contains("\nhint: "), "{command:?}: {ran}");
    }
}

#[test]
fn the_password_is_in_no_message() {
    let database = Database::fresh();
    let right = database.url();
    assert!(right.contains(PASSWORD));
    let wrong_password = right.replace(PASSWORD, &format!("not-{PASSWORD}"));
    let wrong_database = format!("{right}_of_nobody");
    let wrong_scheme = right.replace("postgres://", "postgre://");
    let wrong_parameter = format!("{right}?pool_size=none");
    for url in [&wrong_password, &wrong_database, &wrong_scheme, &wrong_parameter] {
        let world = world(url);
        for command in [
            ["doctor"].as_slice(),
            &["check"],
            &["log"],
            &["audit", "verify"],
            &["config", "show"],
            &["config", "show", "--json"],
            &["config", "get", "virtual.url"],
        ] {
            run(&world, command);
        }
        let write = json!({"path": "/notes/plan.md", "content": "x"}).to_string();
        assert_ne!(run(&world, &["tool", "write_file", &write]).code, 0, "{url}");
        assert_ne!(run(&world, &["doctor"]).code, 0, "{url}");
    }
}

/// How often the server is killed.
fn kills() -> usize {
    std::env::var("PADDOCK_POSTGRES_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// Files that an agent wrote while a server was killed: those it was answered about, and the others.
#[derive(Default)]
struct Written {
    answered: Vec<(String, String)>,
    refused: Vec<(String, String)>,
}

impl Written {
    /// Writes one more file; whether that was answered.
    fn one_more(&mut self, raw: &mut Raw, n: i64) -> bool {
        // Some are larger than a chunk, so that contents go in before their commit.
        let line = format!("{}\n", n.to_string().repeat(40));
        let content = line.repeat(if n % 7 == 0 { 66_000 / line.len() + 1 } else { 10 });
        let path = format!("/notes/f{n}");
        raw.send(&call(n, "write_file", &json!({"path": path, "content": content})));
        let answered = raw.receive()["result"]["isError"] != json!(true);
        let whose = if answered { &mut self.answered } else { &mut self.refused };
        whose.push((path, content));
        answered
    }

    /// What was answered is there for whoever comes next, and nothing is half there.
    fn check(&self, world: &World) {
        let mut raw = Raw::greeted(world, &["mcp"]);
        let mut id = 0;
        let mut found = |path: &str| {
            id += 1;
            raw.send(&call(id, "read_file", &json!({"path": path})));
            let result: Value = raw.receive()["result"].take();
            (result["isError"] != json!(true)).then(|| result["content"][0]["text"].as_str().unwrap().to_owned())
        };
        for (path, content) in &self.answered {
            assert!(found(path).as_ref() == Some(content), "{path} was answered");
        }
        for (path, content) in &self.refused {
            assert!(found(path).is_none_or(|text| text == *content), "{path} is half there");
        }
        raw.end();
    }
}

/// Writes file after file while the server is killed and comes back, and until it is found again.
fn written_while_killed(cluster: &Cluster, raw: &mut Raw, n: &mut i64, after: Duration) -> Written {
    const IN_VAIN: usize = 100;
    let mut written = Written::default();
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            std::thread::sleep(after);
            cluster.kill();
            cluster.restart();
        });
        let mut in_vain = 0;
        while in_vain < IN_VAIN {
            let was_back = killer.is_finished();
            *n += 1;
            match (was_back, written.one_more(raw, *n)) {
                (true, true) => return,
                (true, false) => in_vain += 1,
                (false, _) => {}
            }
        }
        panic!("the server is back, and was not found in {IN_VAIN} calls");
    });
    written
}

/// A server that comes back is found again, by who waited for it as by others; what was answered is there, and nothing is
/// half there.
#[test]
fn what_was_answered_survives_a_server_that_is_killed() {
    let mut chance = Chance(std::process::id().into());
    let cluster = Cluster::start();
    let world = world(&cluster.url());
    let mut raw = Raw::greeted(&world, &["mcp"]);
    let (mut n, mut answered) = (0, Vec::new());
    for _ in 0..kills() {
        let after = Duration::from_millis(20 + chance.below(400));
        let written = written_while_killed(&cluster, &mut raw, &mut n, after);
        done(&world, &["audit", "verify"]);
        written.check(&world);
        answered.extend(written.answered.into_iter().map(|(path, _)| path));
    }
    raw.end();
    let known = done(&world, &["audit", "query", "--outcome", "done", "--limit", "1000000", "--json"]).json();
    let known: BTreeSet<&str> = known.as_array().unwrap().iter().filter_map(|row| row["path"].as_str()).collect();
    for path in &answered {
        assert!(known.contains(path.as_str()), "the audit knows {path}");
    }
}
