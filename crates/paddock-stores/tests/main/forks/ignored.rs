//! What a `.gitignore` names in a fork stays apart: two builds contradict each other, and nobody means to merge them.

use paddock_stores::fork::{self, Holdings, Merge};
use paddock_stores::virtual_store::VirtualStore;

use super::ground::{Ground, SOURCE, at, rel};
use super::*;

fn built(ground: &Ground) {
    ground.write(&w(".gitignore"), "/target/\n*.o\n");
    ground.write(&w("a.rs"), "a\n");
    ground.write(&w("target/out"), "old\n");
}

fn apart(ground: &Ground) -> VirtualStore {
    ground.fork.clone().leaving_ignored(true)
}

fn merge(ground: &Ground) -> Merge {
    with_call(|call| fork::merge(call, &apart(ground), &ground.view, &at(SOURCE))).unwrap()
}

/// What is shown, what stays apart.
fn told(ground: &Ground) -> (Vec<String>, Vec<String>) {
    let found = with_call(|call| fork::compared(call, &apart(ground), &ground.view)).unwrap();
    let Holdings { differences, ignored, .. } = found;
    let shown = differences.iter().map(|one| one.path.as_str().to_owned()).collect();
    (shown, ignored.iter().map(|path| path.as_str().to_owned()).collect())
}

fn names(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Applies what is not apart.
fn apply(ground: &Ground) {
    let merge = merge(ground);
    ground.alter(merge.ready().unwrap_or_else(|conflicts| panic!("{conflicts:?}")).to_vec()).unwrap();
    assert!(with_call(|call| merge.applied(call, &apart(ground))).unwrap());
}

#[test]
fn two_builds_are_in_nobodys_way_and_neither_is_lost() {
    on_every_ground(&[], built, |ground, setting| {
        ground.write(&f("a.rs"), "A\n");
        ground.write(&f("target/out"), "here\n");
        ground.write(&f("target/deep/new"), "here\n");
        ground.write(&f("src/x.o"), "here\n");
        ground.write(&w("target/out"), "below\n");
        let ignored = names(&["src/x.o", "target/deep", "target/out"]);
        assert_eq!(told(ground), (names(&["a.rs", "src"]), ignored.clone()), "{}", setting.name);
        apply(ground);
        assert_eq!(ground.text(&w("a.rs")).unwrap(), "A\n", "{}", setting.name);
        assert_eq!(ground.text(&w("target/out")).unwrap(), "below\n", "{}", setting.name);
        assert!(ground.read(&w("src/x.o")).is_none(), "{}", setting.name);
        // They are not applied, so they are told as long as they are there; and whoever wants them gets them, or the conflict.
        assert_eq!(told(ground), (Vec::new(), ignored), "{}", setting.name);
        assert_eq!(
            ground.diff(),
            ["added src/x.o", "added target/deep", "added target/deep/new", "changed target/out"]
        );
        assert_eq!(ground.conflicts().len(), 1, "{}", setting.name);
        ground.write(&w("target/out"), "old\n");
        ground.apply();
        assert_eq!(ground.text(&w("target/out")).unwrap(), "here\n", "{}", setting.name);
        assert_eq!(told(ground), (Vec::new(), Vec::new()), "{}", setting.name);
    });
}

#[test]
fn what_goes_with_its_directory_is_not_apart_and_a_repository_never_is() {
    let before = |ground: &Ground| {
        built(ground);
        ground.write(&w("lib/b.rs"), "b\n");
        ground.write(&w("lib/b.o"), "b\n");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.delete(&f("lib"));
        ground.write(&f(".git/index"), "staged\n");
        assert_eq!(told(ground).0, names(&[".git", ".git/index", "lib", "lib/b.o", "lib/b.rs"]), "{}", setting.name);
        apply(ground);
        assert!(ground.read(&w("lib/b.o")).is_none(), "{}", setting.name);
        assert_eq!(told(ground), (Vec::new(), Vec::new()), "{}", setting.name);
    });
}

/// Git applies its rules to no directory of its own, and to no file in one.
#[test]
fn rules_that_match_everything_leave_no_repository_behind() {
    for rules in ["*\n!*/\n!*.rs\n", ".*\n*.o\n"] {
        on_every_ground(&[], built, |ground, setting| {
            ground.write(&w(".gitignore"), rules);
            for path in [".git/HEAD", ".git/refs/heads/main", "sub/.git/x.o", "sub/b.rs", ".cache/x.o", "x.o"] {
                ground.write(&f(path), "here\n");
            }
            let repositories = [".git", ".git/HEAD", ".git/refs", ".git/refs/heads", ".git/refs/heads/main"];
            let shown = [&repositories[..], &["sub", "sub/.git", "sub/.git/x.o", "sub/b.rs"]].concat();
            let (found, ignored) = told(ground);
            let found: Vec<String> = found.into_iter().filter(|path| path != ".cache").collect();
            assert_eq!(found, names(&shown), "{}: {rules}", setting.name);
            assert!(ignored.iter().any(|path| path.starts_with(".cache")), "{}: {rules} {ignored:?}", setting.name);
            assert!(ignored.contains(&"x.o".to_owned()), "{}: {rules} {ignored:?}", setting.name);
            apply(ground);
            assert_eq!(ground.text(&w(".git/HEAD")).unwrap(), "here\n", "{}: {rules}", setting.name);
            assert!(ground.read(&w(".cache/x.o")).is_none(), "{}: {rules}", setting.name);
        });
    }
}

/// A repository in a directory that is apart goes with that directory.
#[test]
fn a_repository_in_what_is_apart_stays_with_it() {
    on_every_ground(&[], built, |ground, setting| {
        ground.write(&f("target/lib/.git/HEAD"), "here\n");
        assert_eq!(told(ground), (Vec::new(), names(&["target/lib"])), "{}", setting.name);
    });
}

#[test]
fn what_is_apart_in_a_directory_that_was_made_anew_keeps_its_ancestor() {
    let before = |ground: &Ground| {
        built(ground);
        ground.write(&w("target/deep/old"), "old\n");
        ground.write(&w("target/old"), "old\n");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.delete(&f("target"));
        ground.write(&f("target/out"), "here\n");
        ground.write(&f("a.rs"), "A\n");
        let ignored = names(&["target/deep", "target/old", "target/out"]);
        assert_eq!(told(ground), (names(&["a.rs"]), ignored.clone()), "{}", setting.name);
        // However often the rest is applied.
        for content in ["A\n", "B\n"] {
            ground.write(&f("a.rs"), content);
            apply(ground);
            assert_eq!(told(ground), (Vec::new(), ignored.clone()), "{}", setting.name);
        }
        let whole = ["removed target/deep", "removed target/deep/old", "removed target/old", "changed target/out"];
        assert_eq!(ground.diff(), whole, "{}", setting.name);
        ground.apply();
        assert_eq!(ground.text(&w("target/out")).unwrap(), "here\n", "{}", setting.name);
        assert!(ground.read(&w("target/old")).is_none(), "{}", setting.name);
    });
}

#[test]
fn what_was_applied_with_the_rest_and_undone_is_apart_as_it_was() {
    let before = |ground: &Ground| {
        built(ground);
        ground.write(&w("target/old"), "old\n");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.delete(&f("target"));
        ground.write(&f("target/out"), "here\n");
        ground.apply();
        let undone = with_call(|call| ground.fork.applies(call)).unwrap();
        before(ground);
        ground.write(&f("a.rs"), "A\n");
        let known = apart(ground).without(undone);
        let merge = with_call(|call| fork::merge(call, &known, &ground.view, &at(SOURCE))).unwrap();
        ground.alter(merge.ready().unwrap().to_vec()).unwrap();
        assert!(with_call(|call| merge.applied(call, &known)).unwrap());
        // What is known of the first apply went with the second.
        assert_eq!(told(ground), (Vec::new(), names(&["target/old", "target/out"])), "{}", setting.name);
        assert_eq!(ground.diff(), ["removed target/old", "changed target/out"], "{}", setting.name);
        assert_eq!(ground.conflicts(), [""; 0], "{}", setting.name);
    });
}

/// What is applied beside it is over: what comes there later is none of the fork's doing.
#[test]
fn what_goes_beside_what_is_apart_goes_once() {
    let before = |ground: &Ground| {
        ground.write(&w(".gitignore"), "/target/*\n!/target/keep\n!/target/both\n!/target/all/\n");
        for path in ["target/out", "target/keep", "target/both", "target/all/x"] {
            ground.write(&w(path), "old\n");
        }
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.delete(&f("target"));
        ground.write(&f("target/out"), "here\n");
        ground.delete(&w("target/both"));
        let gone = names(&["target/all", "target/all/x", "target/keep"]);
        assert_eq!(told(ground), (gone, names(&["target/out"])), "{}", setting.name);
        apply(ground);
        assert!(ground.read(&w("target/keep")).is_none(), "{}", setting.name);
        for path in ["target/keep", "target/both", "target/all/x"] {
            ground.write(&w(path), "old\n");
        }
        assert_eq!(told(ground), (Vec::new(), names(&["target/out"])), "{}", setting.name);
        assert_eq!(ground.diff(), ["changed target/out"], "{}", setting.name);
        // The directory itself was applied: its mode changes here alone.
        ground.chmod(&f("target"), 0o750);
        assert_eq!(told(ground).0, names(&["target"]), "{}", setting.name);
    });
}

/// The rules are the fork's own, and those of each directory count in it.
#[test]
fn a_rule_that_the_fork_makes_or_takes_back_counts() {
    on_every_ground(&[], built, |ground, setting| {
        ground.write(&f(".gitignore"), "*.log\n");
        ground.write(&f("in/.gitignore"), "!keep.log\n");
        ground.write(&f("in/keep.log"), "x\n");
        ground.write(&f("in/x.log"), "x\n");
        ground.write(&f("x.o"), "x\n");
        let shown = names(&[".gitignore", "in", "in/.gitignore", "in/keep.log", "x.o"]);
        assert_eq!(told(ground), (shown, names(&["in/x.log"])), "{}", setting.name);
    });
}

/// By name, for once: what goes with a directory is only left with that directory.
#[test]
fn what_is_named_is_left_and_the_rest_is_applied() {
    on_every_ground(&[], built, |ground, setting| {
        ground.write(&f("a.rs"), "A\n");
        ground.write(&f("new/one"), "1\n");
        ground.write(&f("new/two"), "2\n");
        ground.delete(&f("target/out"));
        let merged = |paths: &[&str]| {
            let store = ground.fork.clone().excepting(paths.iter().map(|path| rel(path)).collect());
            with_call(|call| fork::merge(call, &store, &ground.view, &at(SOURCE))).unwrap()
        };
        let left = |paths: &[&str]| {
            let excepted = merged(paths).excepted;
            excepted.iter().map(|path| path.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(left(&["new/one", "target"]), names(&["new/one", "target/out"]), "{}", setting.name);
        assert_eq!(left(&["nowhere", "a"]), names(&[]), "{}", setting.name);
        let merge = merged(&["new/one", "target/out"]);
        ground.alter(merge.ready().unwrap().to_vec()).unwrap();
        assert!(with_call(|call| merge.applied(call, &ground.fork)).unwrap());
        assert_eq!(
            (ground.text(&w("a.rs")).unwrap(), ground.text(&w("new/two")).unwrap()),
            ("A\n".into(), "2\n".into())
        );
        assert!(ground.read(&w("new/one")).is_none() && ground.read(&w("target/out")).is_some(), "{}", setting.name);
        assert_eq!(ground.diff(), ["added new/one", "removed target/out"], "{}", setting.name);
    });
}

#[test]
fn what_goes_with_a_directory_is_not_left_without_it() {
    on_every_ground(&[], built, |ground, setting| {
        ground.delete(&f("target"));
        let left = |paths: &[&str]| {
            let store = ground.fork.clone().excepting(paths.iter().map(|path| rel(path)).collect());
            with_call(|call| fork::merge(call, &store, &ground.view, &at(SOURCE))).unwrap().excepted
        };
        assert!(left(&["target/out"]).is_empty(), "{}", setting.name);
        assert_eq!(left(&["target"]), [rel("target")], "{}", setting.name);
    });
}
