//! Repositories that come in, by the real git, and those that mean harm.

use std::path::{Path, PathBuf};
use std::process::Command;

use paddock_projects::import::{self, Import, Limits};
use paddock_projects::{Credentials, FaultKind, ProjectError, Remote, WhyLeft, unwatched};

use crate::git_out::bundle_of;
use crate::world::{GROUNDS, Node, Tree, World, as_git_has_it, file, git, path, sample, tree};

/// A repository that a person made.
fn made(world: &World, name: &str, lay_out: impl FnOnce(&Path)) -> PathBuf {
    let at = world.dir.path().join(name);
    std::fs::create_dir(&at).unwrap();
    git(&at, &["init", "--quiet"]);
    lay_out(&at);
    git(&at, &["add", "--all", "--force"]);
    git(&at, &["commit", "--quiet", "--message", "first"]);
    at
}

#[test]
fn a_bundle_and_a_repository_come_in_and_one_undo_takes_them_back() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let bundle = bundle_of(&world, "/p/project", false);
    git(world.dir.path(), &["clone", "--quiet", bundle.to_str().unwrap(), "cloned"]);
    for from in [bundle.clone(), world.dir.path().join("cloned")] {
        for ground in GROUNDS {
            let at = format!("{ground}/taken");
            let told = world.clone(&at, from.to_str().unwrap()).unwrap();
            assert_eq!(world.tree(&at), as_git_has_it(&sample()), "{ground} {from:?}");
            assert_eq!((told.files, told.links), (7, 2));
            world.undo(&told.call);
            assert!(!world.tree(ground).contains_key("taken"), "{ground}");
        }
    }
    assert_eq!(world.waiting(), 0);
}

#[test]
fn only_the_last_commit_of_the_branch_comes_in_without_filters_and_hooks() {
    let world = World::new();
    let evidence = world.dir.path().join("ran");
    let at = made(&world, "theirs", |at| {
        std::fs::write(at.join(".gitattributes"), "*.txt text eol=crlf export-ignore\n*.c filter=evil ident\n")
            .unwrap();
        std::fs::write(at.join("a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(at.join("b.c"), "$Id$\n").unwrap();
    });
    let runs = format!("touch {}", evidence.display());
    git(&at, &["config", "filter.evil.smudge", &runs]);
    git(&at, &["config", "uploadpack.packObjectsHook", &runs]);
    git(&at, &["config", "core.fsmonitor", &runs]);
    for hook in ["post-checkout", "reference-transaction", "pre-auto-gc"] {
        let file = at.join(".git/hooks").join(hook);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, format!("#!/bin/sh\n{runs}\n")).unwrap();
        std::os::unix::fs::chown(&file, None, None).unwrap();
        Command::new("chmod").arg("+x").arg(&file).status().unwrap();
    }
    git(&at, &["branch", "other"]);
    std::fs::remove_file(&evidence).ok();
    let from = format!("file://{}", at.display());
    let told = import::git(
        &world.person(),
        &path("/v/in"),
        Import::default(),
        &Remote::open(&from),
        Some("other"),
        &world.scratch,
        &mut unwatched,
    )
    .unwrap();
    assert_eq!(told.files, 3);
    let taken = world.tree("/v/in");
    assert_eq!(taken["a.txt"], file("one\ntwo\n"));
    assert_eq!(taken["b.c"], file("$Id$\n"));
    assert!(!taken.keys().any(|name| name.starts_with(".git/")));
    assert!(!evidence.exists(), "something of the repository has run");
}

#[test]
fn other_repositories_that_are_only_named_are_left_out_and_told() {
    let world = World::new();
    let inner = made(&world, "inner", |at| std::fs::write(at.join("x"), "x").unwrap());
    let outer = made(&world, "outer", |at| std::fs::write(at.join("y"), "y").unwrap());
    git(&outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]);
    git(&outer, &["commit", "--quiet", "--message", "with another"]);
    let told = world.clone("/p/in", outer.to_str().unwrap()).unwrap();
    assert_eq!(told.left_out.paths.iter().map(|left| left.why).collect::<Vec<_>>(), [WhyLeft::Submodule]);
    assert_eq!(world.tree("/p/in").keys().collect::<Vec<_>>(), [".gitmodules", "y"]);
}

/// A tree that git would not make itself.
fn evil(world: &World, lines: &[(&str, &str, &[u8])]) -> PathBuf {
    let at = made(world, "evil", |at| std::fs::write(at.join("honest"), "honest").unwrap());
    let mut raw = Vec::new();
    for (mode, name, content) in lines {
        std::fs::write(at.join("content"), content).unwrap();
        let id = git(&at, &["hash-object", "-w", "content"]);
        raw.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let id = id.trim();
        raw.extend((0..20).map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).unwrap()));
    }
    std::fs::write(at.join("raw"), raw).unwrap();
    let tree = git(&at, &["hash-object", "-w", "-t", "tree", "--literally", "raw"]);
    let commit = git(&at, &["commit-tree", "-m", "evil", tree.trim()]);
    git(&at, &["update-ref", "refs/heads/main", commit.trim()]);
    at
}

#[test]
fn trees_that_lead_elsewhere_are_refused_whole() {
    let cases: [&[(&str, &str, &[u8])]; 8] = [
        &[("100644", "../x", b"evil")],
        &[("100644", "..", b"evil")],
        &[("100644", ".git", b"gitdir: /elsewhere")],
        &[("100644", "GIT~1", b"evil")],
        &[("120000", "link", b"/etc/passwd")],
        &[("120000", "link", b"../out")],
        &[("100644", "A", b"1"), ("100644", "a", b"2")],
        &[("100644", "a\\b", b"1")],
    ];
    for lines in cases {
        let world = World::new();
        let from = evil(&world, lines);
        for ground in GROUNDS {
            let error = world.clone(&format!("{ground}/in"), from.to_str().unwrap()).unwrap_err();
            assert!(matches!(error.kind(), FaultKind::BadContent | FaultKind::Failed), "{lines:?}: {error}");
            assert_eq!(world.tree(ground), Tree::new(), "{lines:?}");
        }
    }
}

#[test]
fn bounds_hold_for_repositories_too() {
    let world = World::new();
    let at = made(&world, "big", |at| {
        std::fs::write(at.join("zeros"), vec![0; 3 << 20]).unwrap();
        std::fs::write(at.join("two"), "2").unwrap();
    });
    for limits in [Limits { bytes: 1 << 20, ..Limits::default() }, Limits { entries: 1, ..Limits::default() }] {
        let error =
            world.clone_with("/p/in", at.to_str().unwrap(), Import { limits, ..Import::default() }).unwrap_err();
        assert_eq!(error.kind(), FaultKind::TooLarge, "{error}");
    }
    assert_eq!(world.tree("/p"), Tree::new());
}

#[test]
fn addresses_that_start_something_and_names_that_are_options_are_refused() {
    let world = World::new();
    let evidence = world.dir.path().join("ran");
    for address in [
        format!("ext::sh -c touch% {}", evidence.display()),
        format!("--upload-pack=touch {}", evidence.display()),
        format!("ssh://-oProxyCommand=touch {}/x", evidence.display()),
    ] {
        let error = world.clone("/p/in", &address).unwrap_err();
        assert_eq!(error.kind(), FaultKind::Misuse, "{error}");
    }
    let from = world.dir.path().to_str().unwrap().to_owned();
    let branch = |name: &str| {
        import::git(
            &world.person(),
            &path("/p/in"),
            Import::default(),
            &Remote::open(&from),
            Some(name),
            &world.scratch,
            &mut unwatched,
        )
    };
    assert!(matches!(branch("--upload-pack=evil"), Err(ProjectError::BadBranch(_))));
    assert!(!evidence.exists());
    // A secret opens no repository on a disk.
    let secret = Credentials::new("me", "sesame");
    let refused = import::git(
        &world.person(),
        &path("/p/in"),
        Import::default(),
        &Remote { address: &from, credentials: Some(&secret) },
        None,
        &world.scratch,
        &mut unwatched,
    );
    assert!(matches!(refused, Err(ProjectError::BadAddress { .. })), "{refused:?}");
}

#[test]
fn what_is_not_there_or_of_another_kind_is_told_with_what_is_taken() {
    let world = World::new();
    let file = world.dir.path().join("notes.txt");
    let error = world.clone("/p/in", file.to_str().unwrap()).unwrap_err();
    assert!(matches!(&error, ProjectError::NothingThere { .. }), "{error}");
    assert!(error.hint().contains("a Zip, a Git bundle, a repository"), "{}", error.hint());
    for content in ["no archive", "", "# v2 git bundles\n", "# v"] {
        std::fs::write(&file, content).unwrap();
        let error = world.clone("/p/in", file.to_str().unwrap()).unwrap_err();
        assert!(matches!(&error, ProjectError::OtherKind { .. }), "{error}");
        assert!(error.hint().contains("a Zip, a Git bundle, a repository"), "{}", error.hint());
    }
}

#[test]
fn what_is_no_repository_is_told_in_gits_words() {
    let world = World::new();
    let error = world.clone("/p/in", world.disk("").to_str().unwrap()).unwrap_err();
    assert!(matches!(&error, ProjectError::Git { said, .. } if said.contains("repository")), "{error}");
    assert_eq!(world.waiting(), 0);
    assert_eq!(world.tree("/p"), tree(&[]));
    let _ = Node::Dir(0);
}
