//! Git directories of any name: what makes git run something in them is guarded where they are there.

use paddock_core::{AccessScope, Alter, Alteration, DenyRule, Expect, Operation, Outcome, Refused};
use paddock_stores::conformance::world::{denied, path_of, run, with_call};
use paddock_stores::conformance::{Space, World};

use crate::common::world;

/// A git directory called like anything, another one with a worktree, and what is none.
fn holding() -> World {
    let world = world(&[Space::at("/w")]);
    for dir in ["state", "deep/down/State"] {
        world.seed(0, &format!("{dir}/HEAD"), "ref: refs/heads/main\n");
        world.seed(0, &format!("{dir}/config"), "[core]\n\tbare = false\n");
        world.seed(0, &format!("{dir}/objects/info/x"), "");
        world.seed(0, &format!("{dir}/refs/heads/main"), "x");
    }
    world.seed(0, "state/worktrees/t/HEAD", "ref: refs/heads/t\n");
    world.seed(0, "state/worktrees/t/commondir", "../..\n");
    world.seed(0, "state/worktrees/t/gitdir", "/w/t/.git\n");
    world.seed(0, "api/HEAD", "what the HEAD method does\n");
    world.seed(0, "app/src/head.ts", "");
    world.seed(0, "app/src/objects/x.ts", "");
    world.seed(0, "prepared/pre-push", "x");
    world
}

#[track_caller]
fn guarded(outcome: Result<Outcome, Refused>) -> &'static str {
    match denied(outcome) {
        DenyRule::Guarded(name) => name.name,
        other => panic!("{other:?}"),
    }
}

fn alter(world: &World, commit: bool, changes: Vec<(&str, Alter)>) -> Result<Outcome, Refused> {
    let path = path_of(changes[0].0);
    let alteration = |(path, how)| Alteration { path: path_of(path), how, expect: Expect::Any };
    let alterations = changes.into_iter().map(alteration).collect();
    let operation =
        if commit { Operation::Commit { path, alterations } } else { Operation::Alter { path, alterations } };
    with_call(|call| run(world.vfs(), call, operation))
}

fn put(world: &World, path: &str) -> Result<Outcome, Refused> {
    world.try_write(path, "x", Expect::Any)
}

fn content(text: &str) -> Alter {
    Alter::Write { content: text.as_bytes().to_vec(), mode: None }
}

#[test]
fn what_makes_git_run_something_is_guarded_whatever_the_directory_is_called() {
    let world = holding();
    for (path, row) in [
        ("state/config", ".git/config"),
        ("state/config.worktree", ".git/config"),
        ("state/remotes/origin", ".git/config"),
        ("state/branches/origin", ".git/config"),
        ("state/hooks/pre-push", ".git/hooks"),
        ("state/hooks/deep/down", ".git/hooks"),
        ("state/commondir", ".git/commondir"),
        ("state/worktrees/t/config.worktree", ".git/config"),
        ("state/rebase-merge/git-rebase-todo", ".git/rebase-merge"),
        ("state/worktrees/t/sequencer/todo", ".git/rebase-merge"),
        ("state/worktrees/t/gitdir", ".git/commondir"),
        ("deep/down/State/CONFIG.worktree", ".git/config"),
        ("deep/down/State/hoo\u{200d}ks/pre-push", ".git/hooks"),
    ] {
        assert_eq!(guarded(put(&world, &format!("/w/{path}"))), row, "{path}");
        assert_eq!(guarded(alter(&world, false, vec![(&format!("/w/{path}"), content("x"))])), row, "{path}");
        assert_eq!(guarded(alter(&world, true, vec![(&format!("/w/{path}"), content("x"))])), row, "{path}");
    }
    assert_eq!(guarded(world.rename("/w/prepared", "/w/state/hooks")), ".git/hooks");
    assert_eq!(guarded(world.delete_all("/w/state/config")), ".git/config");
    assert_eq!(guarded(world.rename("/w/state/config", "/w/was")), ".git/config");
    assert_eq!(guarded(alter(&world, true, vec![("/w/state/config", Alter::Delete)])), ".git/config");
    assert_eq!(world.held(0, "state/config").as_deref(), Some("[core]\n\tbare = false\n"));
    assert!(world.held(0, "state/hooks/pre-push").is_none() && world.held(0, "prepared/pre-push").is_some());
}

/// Else it would be no repository for a moment, and one again with another config.
#[test]
fn what_makes_it_a_repository_stays_and_is_not_added() {
    let world = holding();
    for outcome in [
        world.delete_all("/w/state/objects"),
        world.rename("/w/state/objects", "/w/elsewhere"),
        world.delete_all("/w/state/HEAD"),
        world.delete_all("/w/state"),
        world.rename("/w/deep", "/w/other"),
        put(&world, "/w/api/objects/info/x"),
        world.rename("/w/prepared", "/w/api/Objects"),
        alter(&world, true, vec![("/w/api/objects", Alter::MakeDir)]),
        alter(&world, true, vec![("/w/state/objects", Alter::Delete)]),
    ] {
        guarded(outcome);
    }
    assert_eq!(guarded(world.delete_all("/w/state/worktrees/t/commondir")), ".git/commondir");
}

#[test]
fn through_a_link_it_is_the_same_repository() {
    let world = holding();
    world.link("to", "state");
    world.link("far", "deep/down");
    for path in ["/w/to/config", "/w/to/hooks/pre-push", "/w/far/State/config"] {
        guarded(put(&world, path));
    }
    guarded(alter(&world, true, vec![("/w/state/remotes", Alter::Link { leads_to: "../prepared".to_owned() })]));
    guarded(world.make_dir("/w/state/remotes"));
    // Nor may a link be what git takes its hooks from.
    guarded(alter(&world, true, vec![("/w/state/hooks", Alter::Link { leads_to: "../prepared".to_owned() })]));
}

#[test]
fn elsewhere_and_beside_these_names_the_agent_works_on() {
    let world = holding();
    for path in [
        "config",
        "hooks/useState.ts",
        "api/config",
        "api/hooks/x",
        "app/src/config",
        "app/src/hooks/useState.ts",
        "app/src/objects/y.ts",
        "objects/x",
        "commondir",
        "api/sequencer/todo",
    ] {
        put(&world, &format!("/w/{path}")).unwrap_or_else(|e| panic!("{path}: {e}"));
        let path = format!("/w/{path}");
        alter(&world, true, vec![(&path, content("y"))]).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    world.delete_all("/w/app").unwrap();
}

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn in_a_directory_of_gits_commands_leave_what_git_leaves_and_file_tools_nothing() {
    let world = holding();
    for (path, text) in [
        ("refs/heads/config", ID),
        ("refs/heads/hooks/x", "ref: refs/heads/main\n"),
        ("refs/remotes/origin/config", ID),
        ("logs/refs/heads/remotes/x", "anything"),
        ("objects/ab/cdef", "anything"),
        ("info/exclude", "anything"),
        ("description", "anything"),
        ("rebase-merge/onto", ID),
        ("ORIG_HEAD", ID),
        ("worktrees/t/ORIG_HEAD", ID),
    ] {
        let path = format!("/w/state/{path}");
        guarded(put(&world, &path));
        alter(&world, true, vec![(&path, content(text))]).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
    for (path, text) in [
        ("ORIG_HEAD", "ref: commondir\n"),
        ("worktrees/t/ORIG_HEAD", "ref: commondir\n"),
        ("refs/heads/main", "ref: hooks/post-commit\n"),
        ("refs/replace/x", ID),
        ("MERGE_AUTOSTASH", ID),
        ("rebase-merge/autostash", ID),
        ("objects/ab/cdef", "something else"),
        (ID, "[core]\n"),
        ("logs/.git/index", "x"),
        ("index.lock", ""),
    ] {
        let path = format!("/w/state/{path}");
        assert_eq!(guarded(alter(&world, true, vec![(&path, content(text))])), ".git/index", "{path}");
    }
    // What an object was may go, and come again.
    let object = "/w/state/objects/ab/cdef";
    alter(&world, true, vec![(object, Alter::Delete), (object, content("x"))]).unwrap();
    // With a directory comes whatever is in it, and git writes through links.
    world.seed(0, "t/git-rebase-todo", "exec evil\n");
    guarded(world.rename("/w/t", "/w/state/rebase-apply"));
    guarded(world.rename("/w/t", "/w/state/logs/x"));
}

/// The same list of harmless settings as in a `.git`.
#[test]
fn a_command_may_change_what_cannot_make_anything_run() {
    let world = holding();
    let named = content("[core]\n\tbare = false\n[user]\n\tname = A\n");
    alter(&world, true, vec![("/w/state/config", named.clone())]).unwrap();
    guarded(alter(&world, false, vec![("/w/deep/down/State/config", named)]));
    let evil = content("[core]\n\tbare = false\n\tfsmonitor = evil\n");
    guarded(alter(&world, true, vec![("/w/state/config", evil.clone())]));
    assert!(world.held(0, "state/config").unwrap().contains("name = A"));
    let todo = "/w/state/rebase-merge/git-rebase-todo";
    guarded(alter(&world, true, vec![(todo, content("pick 1234 one\nexec evil\n"))]));
    alter(&world, true, vec![(todo, content("pick 1234 one\n"))]).unwrap();
    guarded(alter(&world, false, vec![(todo, content("pick 1234 one\n"))]));
    alter(&world, true, vec![(todo, Alter::Delete)]).unwrap();
    // What the list lets through is taken back, and nothing else is put there.
    alter(&world, false, vec![("/w/state/config", Alter::Truncate(7))]).unwrap();
}

/// A repository that is called as one: nothing has to be there yet.
#[test]
fn names_of_repositories_are_guarded_before_they_are_any() {
    let world = world(&[Space::at("/w")]);
    for path in ["b.git/config", "x/.bare/hooks/pre-push", "x/.bare/worktrees/t/config.worktree", "B.Git/commondir"] {
        guarded(put(&world, &format!("/w/{path}")));
    }
    // Whatever is in one: git itself changes it, in commands.
    guarded(put(&world, "/w/b.git/description"));
    put(&world, "/w/b.git.txt").unwrap();
    put(&world, "/w/digit/config").unwrap();
}

#[test]
fn nothing_about_it_comes_back_from_a_write_only_workspace() {
    let world = world(&[Space::at("/d").scope(AccessScope::WriteOnly)]);
    world.seed(0, "state/HEAD", "ref: refs/heads/main\n");
    world.seed(0, "state/objects/x", "");
    let there = put(&world, "/d/state/config");
    let elsewhere = put(&world, "/d/other/config");
    assert!(matches!((&there, &elsewhere), (Ok(Outcome::Accepted), Ok(Outcome::Accepted))), "{there:?} {elsewhere:?}");
    assert_eq!((world.held(0, "state/config"), world.held(0, "other/config").as_deref()), (None, Some("x")));
}

/// A config in the directory of a worktree is not what git asks how long its hashes are.
#[test]
fn how_an_index_is_read_is_said_by_the_shared_config_alone() {
    let world = world(&[Space::at("/w")]);
    world.seed(0, ".git/HEAD", "ref: refs/heads/main\n");
    world.seed(0, ".git/objects/x", "");
    world.seed(0, ".git/worktrees/x.git/HEAD", "ref: refs/heads/x\n");
    world.seed(0, ".git/worktrees/x.git/commondir", "../..\n");
    // With hashes of 20 bytes nothing can be made of it, with hashes of 32 there is one harmless file.
    let mut index = [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &1_u32.to_be_bytes(), &[0; 60]].concat();
    index.extend([b"\0\x04\0../x\0ZZZZ\0\x05\0b.txt\0".as_slice(), &[0; 32]].concat());
    let index = Alter::Write { content: index, mode: None };
    let longer = content("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n");
    for repository in [".git", ".git/worktrees/x.git"] {
        let (config, list) = (format!("/w/{repository}/config"), format!("/w/{repository}/index"));
        let outcome = alter(&world, true, vec![(&config, longer.clone()), (&list, index.clone())]);
        match repository {
            ".git" => drop(outcome.unwrap()),
            _ => drop(guarded(outcome)),
        }
        // Only the shared one counts, and it says nothing for what comes next.
        world.seed(0, ".git/config", "[core]\n\tbare = false\n");
    }
}
