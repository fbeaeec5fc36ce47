//! Repositories in a fork: what git itself puts into them is applied, and what could make it run something is not.

use std::process::Command;

use serde_json::json;

use super::sides::{execute, with_commands};
use super::{CONFIG, tool, without_ids, write};
use crate::harness::World;

const EXECUTES: [(&str, &str); 3] = [
    ("fsmonitor", "[core]\n\tfsmonitor = evil\n"),
    ("include", "[include]\n\tpath = ../evil\n"),
    ("alias", "[alias]\n\tst = !evil\n"),
];

/// The Workspace below is a person's repository.
fn with_repository(world: World) -> World {
    let mut git = Command::new("git");
    git.current_dir(world.project().join("w")).args(["init", "-q", "-b", "main"]);
    git.env("HOME", world.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(git.status().unwrap().success());
    world
}

/// A fork that came to hold these files while their names were not guarded, beside a change of "a.txt".
fn holding(unguard: &str, files: &[(&str, &str)]) -> World {
    let world = World::configured(&CONFIG.replace("hide = [", &format!("unguard = [{unguard}]\nhide = ["))).unasked();
    world.write("w/a.txt", "one\n");
    let world = with_repository(world);
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "HERE\n");
    files.iter().for_each(|(path, content)| write(&world, &format!("/forks/x/{path}"), content));
    world.write("paddock.toml", CONFIG);
    world
}

/// The person's own git, below.
fn below(world: &World, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(world.project().join("w")).args(arguments);
    git.env("HOME", world.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    let out = git.output().unwrap();
    assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

const AS_A: [&str; 4] = ["-c", "user.name=A", "-c", "user.email=a@b.c"];

#[test]
fn an_index_alone_stays_in_the_fork_and_an_undo_leaves_what_a_commit_needs() {
    let world = with_repository(with_commands());
    below(&world, &["add", "."]);
    below(&world, &[&AS_A[..], &["commit", "-qm", "first"]].concat());
    assert_eq!(world.paddock(&["discard", "x", "--yes"]).code, 0);
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    // Staged and not committed, and not what is in the file.
    execute(&world, "cp a.txt /tmp/a && echo evil >> a.txt && git add a.txt && cp /tmp/a a.txt && echo new > n.txt");
    // A person's look writes the index anew.
    std::fs::File::options()
        .write(true)
        .open(world.project().join("w/a.txt"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    below(&world, &["status"]);
    let told = world.paddock(&["diff", "x", "--stat"]);
    assert!(!told.stdout.contains(".git/index") && told.stderr.contains("staged and not committed"), "{told}");
    let applied = world.paddock(&["apply", "x", "--json"]).json();
    assert_eq!((&applied["done"], &applied["conflicts"]), (&json!(true), &json!([])), "{applied}");
    assert_eq!(applied["ignored"], json!([".git/index"]));
    below(&world, &["add", "."]);
    below(&world, &[&AS_A[..], &["commit", "-qm", "second"]].concat());
    assert!(!below(&world, &["show", "HEAD:a.txt"]).contains("evil"));
    let undone = world.paddock(&["undo", applied["call"].as_str().unwrap()]);
    assert!(undone.code == 0 && !undone.stdout.contains("objects"), "{undone}");
    assert!(!world.has("w/n.txt"));
    assert!(!below(&world, &["fsck", "--strict"]).contains("missing"));
}

#[test]
fn what_git_does_by_itself_in_a_fork_is_applied() {
    let world = with_repository(with_commands());
    let before = world.read("w/.git/config");
    execute(&world, "git config user.name A && git config user.email a@b.c && git add a.txt && git commit -qm first");
    execute(&world, "git init -q g && git -C g -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m one");
    execute(&world, "git clone -q --no-hardlinks g c && git remote add up https://example.com/a.git");
    let dry = world.paddock(&["apply", "x", "--dry-run"]);
    assert!(dry.code == 0 && dry.stdout.contains("  writes /w/.git/config\n"), "{dry}");
    let first = world.paddock(&["apply", "x", "--json"]).json();
    assert_eq!(first["done"], true, "{first}");
    let config = world.read("w/.git/config");
    assert!(config.contains("name = A") && config.contains("https://example.com/a.git"), "{config}");
    assert!(world.read("w/c/.git/config").contains("remote \"origin\"") && world.has("w/g/.git/HEAD"));
    assert!(world.paddock(&["diff", "x"]).stdout.is_empty());
    // The next change of the same config is one like the first.
    execute(&world, "git config user.name B");
    let second = world.paddock(&["apply", "x", "--json"]).json();
    assert!(world.read("w/.git/config").contains("name = B"));
    for applied in [second, first] {
        let undone = world.paddock(&["undo", applied["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{undone}");
    }
    assert_eq!((world.read("w/.git/config"), world.has("w/g"), world.has("w/c")), (before, false, false));
}

/// Both sides are made to agree on what git wrote, too.
#[test]
fn a_side_is_kept_of_a_config_that_cannot_make_anything_run() {
    let world = with_repository(with_commands());
    let below = world.read("w/.git/config");
    execute(&world, "git config user.name A");
    world.write("w/.git/config", format!("{below}[user]\n\tname = B\n"));
    assert_eq!(world.paddock(&["apply", "x"]).code, 1, "in conflict");
    let kept = world.paddock(&["resolve", "x", ".git/config", "--keep", "here"]);
    assert_eq!(kept.code, 0, "{kept}");
    assert!(world.read("w/.git/config").contains("name = A"));
    world.write("w/.git/config", format!("{below}[user]\n\tname = C\n"));
    execute(&world, "git config user.name D");
    let kept = world.paddock(&["resolve", "x", ".git/config", "--keep", "below"]);
    assert_eq!(kept.code, 0, "{kept}");
    world.write("w/.git/config", format!("{below}[user]\n\tname = E\n[core]\n\tfsmonitor = mine\n"));
    execute(&world, "git config user.name F");
    let kept = world.paddock(&["resolve", "x", ".git/config", "--keep", "here"]);
    assert!(kept.code == 1 && kept.stderr.contains("its name is guarded"), "it would take away the person's: {kept}");
}

#[test]
fn a_fork_with_something_that_git_would_run_arrives_not_at_all_or_without_it() {
    for (name, evil) in EXECUTES {
        let held = format!("[core]\n\tbare = false\n{evil}");
        // In the repository that is there, and in one that is new.
        for path in [".git/config", "new/.git/config"] {
            let world = holding("\".git/config\"", &[(path, &held)]);
            let before = world.read("w/.git/config");
            let refused = world.paddock(&["apply", "x"]);
            assert_eq!(refused.code, 1, "{name}: {refused}");
            let told = format!(
                "error: write /w/{path} is denied: its name is guarded (.git/config: git runs what it names)\n\
                 hint: nothing was changed; `paddock apply x --except {path}` leaves it where it is and takes over the rest\n"
            );
            assert_eq!(refused.stderr, told, "{name}");
            // A dry run says so before.
            let dry = world.paddock(&["apply", "x", "--dry-run"]);
            assert_eq!((dry.code, dry.stderr, dry.stdout.as_str()), (1, told, ""), "{name}");
            assert_eq!((world.read("w/.git/config"), world.read("w/a.txt")), (before.clone(), "one\n".to_owned()));
            assert!(!world.has("w/new"), "{name}: nothing arrives");
            assert_eq!(world.paddock(&["apply", "x", "--except", path]).code, 0, "{name}");
            assert_eq!((world.read("w/.git/config"), world.read("w/a.txt")), (before, "HERE\n".to_owned()));
            assert!(!world.has("w/new/.git/config"), "{name}");
            assert!(world.paddock(&["diff", "x"]).stdout.contains(path), "{name}: it is in the fork");
            assert_eq!(world.paddock(&["discard", "x"]).code, 2, "{name}: it would be lost");
        }
    }
}

/// What is in it goes with it, so that it can only be left whole.
#[test]
fn a_directory_that_goes_is_left_by_its_own_name() {
    let world = World::configured(&CONFIG.replace("hide = [", "unguard = [\".git/config\"]\nhide = [")).unasked();
    world.write("w/a.txt", "one\n");
    world.write("w/g/deep/.git/config", "[core]\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "HERE\n");
    let goes = tool(&world, "main", "delete_file", &json!({"path": "/forks/x/g", "recursive": true}));
    assert_eq!(goes.code, 0, "{goes}");
    world.write("paddock.toml", CONFIG);
    let refused = world.paddock(&["apply", "x"]);
    assert!(refused.code == 1 && refused.stderr.contains("`paddock apply x --except g` leaves"), "{refused}");
    let inside = world.paddock(&["apply", "x", "--except", "g/deep/.git/config"]);
    assert!(inside.code == 1 && inside.stderr.contains("goes with the directory that it is in"), "{inside}");
    assert_eq!(world.paddock(&["apply", "x", "--except", "g"]).code, 0);
    assert!(world.has("w/g/deep/.git/config") && world.read("w/a.txt") == "HERE\n");
}

#[test]
fn hooks_of_a_fork_stay_there() {
    let hooks = [
        "new/.git/hooks/pre-commit",
        // A repository that is there has what hooks it has.
        ".git/hooks/update.sample",
        ".git/hooks/pre-push",
        ".husky/pre-commit",
    ];
    for hook in hooks {
        let world = holding("\".git/hooks\", \".husky\"", &[(hook, "#!/bin/sh\ntouch evil\n")]);
        let before = world.has(&format!("w/{hook}"));
        let refused = world.paddock(&["apply", "x"]);
        assert!(refused.code == 1 && refused.stderr.contains("its name is guarded"), "{hook}: {refused}");
        assert_eq!((world.read("w/a.txt"), world.has("w/new")), ("one\n".to_owned(), false), "{hook}");
        assert_eq!(world.has(&format!("w/{hook}")), before, "{hook}");
    }
}

/// As a `.gitignore` leaves them, but named for one apply.
#[test]
fn paths_are_left_in_a_fork_by_name() {
    let world = super::world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    for (path, content) in [("a.txt", "HERE\n"), ("b.txt", "b\n"), ("d/c.txt", "c\n"), ("d/e.txt", "e\n")] {
        write(&world, &format!("/forks/x/{path}"), content);
    }
    world.write("w/a.txt", "THERE\n");
    let unknown = world.paddock(&["apply", "x", "--except", "nowhere"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("\"nowhere\" does not differ"), "{unknown}");
    assert!(!world.has("w/b.txt"));
    insta::assert_snapshot!(
        without_ids(&world.paddock(&["apply", "x", "--except", "/w/a.txt", "--except", "/forks/x/d"])), @r"
    applied fork x to /w
      writes /w/b.txt
    [stderr]
    left in fork x, as asked: 2 paths
      a.txt
      d
    `paddock undo [id]` takes this back
    the fork stays; `paddock discard x` removes it
    [exit 0]
    ");
    assert!(!world.has("w/d"));
    let shown = world.paddock(&["diff", "x", "--stat"]).stdout;
    assert!(
        shown.contains("a.txt | +1 -1 (conflict)") && shown.contains("d/c.txt") && !shown.contains("b.txt"),
        "{shown}"
    );
    let json = world.paddock(&["apply", "x", "--except", "a.txt", "--dry-run", "--json"]).json();
    assert_eq!(json["excepted"], json!(["a.txt"]), "{json}");
    assert_eq!(world.paddock(&["apply", "x", "--except", "a.txt"]).code, 0);
    assert_eq!((world.read("w/d/c.txt"), world.read("w/a.txt")), ("c\n".to_owned(), "THERE\n".to_owned()));
}
