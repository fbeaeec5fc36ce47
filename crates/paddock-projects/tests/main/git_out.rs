//! Bundles and repositories, as the real git sees them.

use std::path::PathBuf;

use paddock_core::CallId;
use paddock_projects::export::{self, Commit, Export};
use paddock_projects::{ProjectError, unwatched};

use crate::world::{GROUNDS, Node, World, as_git_has_it, file, git, path, sample, tree};

/// A bundle of a project, in a file.
pub(crate) fn bundle_of(world: &World, at: &str, ignored: bool) -> PathBuf {
    let to = world.dir.path().join(format!("{}.bundle", CallId::next()));
    let mut out = std::fs::File::create(&to).unwrap();
    let commit = Commit::default();
    export::bundle(&world.person(), &path(at), Export { ignored }, &commit, &mut out, &mut unwatched).unwrap();
    to
}

#[test]
fn git_clones_a_bundle_finds_no_fault_in_it_and_has_what_was_there() {
    let world = World::new();
    for ground in GROUNDS {
        let at = format!("{ground}/project");
        world.plant(&at, &sample());
        let bundle = bundle_of(&world, &at, false);
        let to = format!("clone{}", ground.trim_start_matches('/'));
        git(world.dir.path(), &["clone", "--quiet", bundle.to_str().unwrap(), &to]);
        let clone = world.dir.path().join(&to);
        git(&clone, &["fsck", "--strict", "--full"]);
        assert_eq!(git(&clone, &["status", "--porcelain"]), "");
        assert_eq!(git(&clone, &["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
        assert_eq!(git(&clone, &["rev-list", "--count", "HEAD"]).trim(), "1");
        // The clone is put where the Workspace is, to be compared with the same eyes.
        std::fs::remove_dir_all(clone.join(".git")).unwrap();
        std::fs::rename(&clone, world.disk(&to)).unwrap();
        assert_eq!(world.tree(&format!("/p/{to}")), as_git_has_it(&sample()), "{ground}");
    }
}

#[test]
fn the_same_project_gives_the_same_bundle_and_the_commit_says_what_it_is_told() {
    let world = World::new();
    world.plant("/p/project", &sample());
    world.plant("/v/project", &sample());
    let bytes = |at: &str| std::fs::read(bundle_of(&world, at, false)).unwrap();
    assert_eq!(bytes("/p/project"), bytes("/p/project"));
    assert_eq!(bytes("/p/project"), bytes("/v/project"));
    let commit = Commit {
        author: "Ada L".to_owned(),
        email: "ada@example.com".to_owned(),
        when: Some(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)),
        message: "first\n\nwith a body".to_owned(),
        branch: "work/one".to_owned(),
    };
    let to = world.dir.path().join("dated.bundle");
    let mut out = std::fs::File::create(&to).unwrap();
    let told =
        export::bundle(&world.person(), &path("/p/project"), Export::default(), &commit, &mut out, &mut unwatched)
            .unwrap();
    git(world.dir.path(), &["clone", "--quiet", to.to_str().unwrap(), "dated"]);
    let clone = world.dir.path().join("dated");
    let said = git(&clone, &["log", "-1", "--format=%an|%ae|%at|%s|%b|%H|%D"]);
    let id = told.commit.unwrap();
    let expected = format!(
        "Ada L|ada@example.com|1700000000|first|with a body\n|{id}|HEAD -> work/one, origin/work/one, origin/HEAD"
    );
    assert_eq!(said.trim(), expected);
}

#[test]
fn git_clones_a_repository_and_finds_no_fault_in_it() {
    let world = World::new();
    world.plant("/v/project", &sample());
    let to = world.dir.path().join("exported.git");
    let commit = Commit::default();
    let write =
        || export::repository(&world.person(), &path("/v/project"), Export::default(), &commit, &to, &mut unwatched);
    let told = write().unwrap();
    git(&to, &["fsck", "--strict", "--full"]);
    git(
        &to,
        &[
            "verify-pack",
            &std::fs::read_dir(to.join("objects/pack"))
                .unwrap()
                .map(|e| e.unwrap().path())
                .find(|p| p.extension().is_some_and(|e| e == "idx"))
                .unwrap()
                .display()
                .to_string(),
        ],
    );
    git(world.dir.path(), &["clone", "--quiet", to.to_str().unwrap(), "cloned"]);
    assert_eq!(git(&world.dir.path().join("cloned"), &["rev-parse", "HEAD"]).trim(), told.commit.unwrap());
    // What is there is not written over.
    assert!(matches!(write(), Err(ProjectError::Output(_))));
    git(&to, &["fsck", "--strict"]);
}

#[test]
fn a_repository_that_cannot_be_finished_leaves_nothing() {
    let world = World::new();
    world.plant("/p/project", &sample());
    let to = world.dir.path().join("stopped.git");
    // Everything is named, and the pack is being written.
    let mut stop = |progress: paddock_projects::Progress<'_>| {
        if progress.files == 9 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let stopped =
        export::repository(&world.person(), &path("/p/project"), Export::default(), &Commit::default(), &to, &mut stop);
    assert!(matches!(stopped, Err(ProjectError::Stopped)), "{stopped:?}");
    assert!(!to.exists());
}

#[test]
fn an_empty_project_is_an_empty_tree() {
    let world = World::new();
    world.plant("/p/project", &tree(&[("only", Node::Dir(0o755))]));
    let bundle = bundle_of(&world, "/p/project", false);
    git(world.dir.path(), &["clone", "--quiet", bundle.to_str().unwrap(), "empty"]);
    git(&world.dir.path().join("empty"), &["fsck", "--strict"]);
}

#[test]
fn what_changes_between_the_two_readings_is_noticed() {
    let world = World::new();
    world.plant("/p/project", &tree(&[("a", file("a")), ("b", file("before"))]));
    let disk = world.disk("project/b");
    // Both are named, and the first is being written.
    let mut meddle = |progress: paddock_projects::Progress<'_>| {
        if progress.files == 2 && progress.path == "a" {
            std::fs::write(&disk, "after!").unwrap();
        }
        std::ops::ControlFlow::Continue(())
    };
    let (person, at, commit) = (world.person(), path("/p/project"), Commit::default());
    let bundle = export::bundle(&person, &at, Export::default(), &commit, &mut Vec::new(), &mut meddle);
    assert!(matches!(&bundle, Err(ProjectError::Changed { path }) if path == "b"), "{bundle:?}");
}
