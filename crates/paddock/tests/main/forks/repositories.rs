//! Repositories in a fork: what git itself puts into them is applied, and what could make it run something is not.

use std::process::Command;

use super::sides::{execute, with_commands};
use super::{CONFIG, write};
use crate::harness::World;

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
