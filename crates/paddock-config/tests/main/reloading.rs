//! A policy that follows its file, and never widens by accident.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use paddock_config::{ConfigFile, save, template};
use paddock_core::AgentPolicy;
use proptest::prelude::*;

use crate::could_not_run::could_not_run;
use crate::support::{Project, may_read, may_write, verdicts, workspace};

/// How many Workspaces of the file an agent has. Whoever has none has none of Paddock's own either.
fn granted(policy: &AgentPolicy) -> usize {
    let all = policy.vfs.workspaces();
    match all.iter().filter(|workspace| !workspace.is_aside()).count() {
        0 => all.len(),
        given => given,
    }
}

#[test]
fn a_valid_change_takes_effect_at_the_next_call() {
    let project = Project::new();
    project.write(&workspace("/a", "RO", "."));
    let reloader = project.reloader().unwrap();
    let before = reloader.current();
    assert!(!may_write(&before, "/a/x"));
    assert!(Arc::ptr_eq(&before, &reloader.current()), "nothing changed, nothing is built");
    assert_eq!(reloader.generation(), 1);
    project.write(&workspace("/a", "RW", "."));
    assert!(may_write(&reloader.current(), "/a/x"));
    assert_eq!(reloader.generation(), 2);
    save(&project.file(), &workspace("/b", "RO", ".")).unwrap();
    let renamed = reloader.current();
    assert!(!may_read(&renamed, "/a/x") && may_read(&renamed, "/b/x"));
    assert_eq!(reloader.generation(), 3);
    assert_eq!(reloader.notice(), None);
    assert!(!may_write(&before, "/a/x"), "a call in flight keeps the policy it began with");
}

#[test]
fn an_invalid_change_keeps_the_old_policy_and_is_told_once() {
    let project = Project::new();
    project.write(&workspace("/a", "RO", "."));
    let reloader = project.reloader().unwrap();
    let before = reloader.current();
    project.write("[[workspace]]\nprefix = \"/a\"\nscope = \"RW");
    let kept = reloader.current();
    assert!(Arc::ptr_eq(&before, &kept));
    assert_eq!(reloader.generation(), 1);
    let notice = reloader.notice().unwrap();
    assert!(notice.starts_with("error: ") && notice.contains("paddock.toml:3:"), "{notice}");
    reloader.current();
    assert_eq!(reloader.notice(), None, "once");
    assert_eq!(reloader.error().unwrap().to_string(), notice);
    project.write(&workspace("/a", "RW", "missing/../../.."));
    reloader.current();
    assert!(reloader.notice().unwrap().contains("cannot be used"), "a mount that cannot be is as invalid");
    project.write(&workspace("/a", "RW", "."));
    assert!(may_write(&reloader.current(), "/a/x"));
    assert!(reloader.error().is_none());
}

#[test]
fn a_file_that_is_gone_or_empty_takes_everything_away_at_once() {
    let project = Project::new();
    let text = workspace("/a", "RW", ".");
    project.write(&text);
    let reloader = project.reloader().unwrap();
    assert!(may_write(&reloader.current(), "/a/x"));
    let granted = || granted(&reloader.current());
    fs::remove_file(project.file()).unwrap();
    assert_eq!((granted(), reloader.generation()), (0, 2));
    project.write("");
    assert_eq!((granted(), reloader.generation()), (0, 2), "nothing after nothing is not told");
    project.write(&text);
    assert_eq!((granted(), reloader.generation()), (1, 3));
    project.write("");
    assert_eq!(granted(), 0);
    project.write(&text);
    assert_eq!(granted(), 1);
    project.write("# only a comment\n");
    assert_eq!(granted(), 0);
    assert!(reloader.notice().is_none());
}

#[test]
fn a_file_that_cannot_be_read_takes_everything_away() {
    let project = Project::new();
    let text = workspace("/a", "RW", ".");
    project.write(&text);
    let reloader = project.reloader().unwrap();
    fs::remove_file(project.file()).unwrap();
    fs::create_dir(project.file()).unwrap();
    assert_eq!(granted(&reloader.current()), 0);
    assert!(reloader.notice().unwrap().contains("it is not a file"));
    reloader.current();
    assert_eq!(reloader.notice(), None);
    fs::remove_dir(project.file()).unwrap();
    fs::write(project.file(), b"name = \"\xff\"").unwrap();
    assert_eq!(granted(&reloader.current()), 0);
    assert!(reloader.notice().unwrap().contains("not UTF-8"));
    project.write(&text);
    assert_eq!(granted(&reloader.current()), 1);
    if rustix::process::geteuid().is_root() {
        return could_not_run("the host refuses nothing to its administrator, so no file is unreadable");
    }
    fs::set_permissions(project.file(), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(granted(&reloader.current()), 0);
}

#[test]
fn a_project_without_a_file_grants_nothing_until_there_is_one() {
    let project = Project::new();
    let reloader = project.reloader().unwrap();
    assert_eq!(granted(&reloader.current()), 0);
    project.write(&template("shop"));
    assert!(may_read(&reloader.current(), "src/App.tsx"));
}

#[test]
fn starting_with_a_broken_file_or_an_unknown_agent_is_an_error() {
    let project = Project::new();
    project.write("nmae = 1\n");
    assert!(project.reloader().unwrap_err().to_string().contains("did you mean \"name\"?"));
    project.write(&template("shop"));
    assert!(project.reloader_of("ghost").unwrap_err().to_string().contains("there is no agent \"ghost\""));
}

#[test]
fn an_agent_that_is_no_longer_configured_loses_its_workspaces() {
    let project = Project::new();
    project.write(&workspace("/a", "RW", ".").replace("[[workspace]]", "[[agents.b.workspace]]"));
    let reloader = project.reloader_of("b").unwrap();
    assert!(may_write(&reloader.current(), "/a/x"));
    project.write(&workspace("/a", "RW", "."));
    assert_eq!(granted(&reloader.current()), 0);
    assert!(reloader.notice().unwrap().contains("there is no agent \"b\""));
}

#[test]
fn moving_a_link_on_the_way_does_not_slip_in_another_file() {
    let project = Project::new();
    let (real, evil) = (project.make("real"), project.make("evil"));
    fs::write(real.join("paddock.toml"), workspace("/a", "RO", ".")).unwrap();
    fs::write(evil.join("paddock.toml"), workspace("/a", "RW", "/etc")).unwrap();
    symlink(&real, project.root.join("link")).unwrap();
    let path = project.root.join("link/paddock.toml");
    let ports = crate::support::ports();
    let agent = paddock_core::AgentName::main();
    let reloader = paddock_config::Reloader::start(&path, agent, project.system_root(), ports).unwrap();
    fs::remove_file(project.root.join("link")).unwrap();
    symlink(&evil, project.root.join("link")).unwrap();
    assert!(!may_write(&reloader.current(), "/a/x"));
    assert_eq!(reloader.generation(), 1);
}

#[test]
fn a_link_on_the_named_way_stays_paddocks_own_after_a_change() {
    let project = Project::new();
    let real = project.make("real");
    fs::write(real.join("paddock.toml"), workspace("/a", "RW", "..")).unwrap();
    symlink("real", project.root.join("link")).unwrap();
    let path = project.root.join("link/paddock.toml");
    let agent = paddock_core::AgentName::main();
    let reloader =
        paddock_config::Reloader::start(&path, agent, project.system_root(), crate::support::ports()).unwrap();
    assert!(!may_write(&reloader.current(), "/a/link"));
    fs::write(real.join("paddock.toml"), workspace("/b", "RW", "..")).unwrap();
    let changed = reloader.current();
    assert!(!may_write(&changed, "/b/link") && may_write(&changed, "/b/x"));
}

#[test]
fn a_writer_that_pauses_with_half_of_the_file_does_not_lose_the_boundary() {
    let project = Project::new();
    let inner = project.make("w");
    project.write(&workspace("/a", "RO", "."));
    let reloader = project.reloader().unwrap();
    let half = workspace("/a", "RW", ".");
    let whole = [half.clone(), workspace("/a/w", "RO", inner.to_str().unwrap())].concat();
    project.write(&half);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            project.write(&whole);
        });
        let policy = reloader.current();
        assert!(may_write(&policy, "/a/x") && !may_write(&policy, "/a/w/x"));
    });
}

#[test]
fn many_callers_see_one_new_policy() {
    let project = Project::new();
    project.write(&workspace("/a", "RO", "."));
    let reloader = project.reloader().unwrap();
    reloader.current();
    project.write(&workspace("/a", "RW", "."));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(may_write(&reloader.current(), "/a/x")));
        }
    });
    assert_eq!(reloader.generation(), 2);
}

const PROBES: &[&str] = &["/", "/p", "/p/a", "/p/w", "/p/w/x", "/p/w/drop/y", "/q/.env", "/q/z", "/etc/passwd"];

fn nested() -> String {
    let hidden = workspace("/q", "RW", "../q");
    [workspace("/p", "RO", "."), workspace("/p/w", "RW", "w"), workspace("/p/w/drop", "WO", "w/drop"), hidden].concat()
        + "hide = [\".env\"]\n"
}

/// The whole file with a few characters put in place of others, if that breaks it.
fn broken(at: usize, put: &str, drop: usize) -> Option<String> {
    let whole = nested();
    let from = at % whole.len();
    let to = (from + drop).min(whole.len());
    let text = format!("{}{put}{}", &whole[..from], &whole[to..]);
    ConfigFile::parse("paddock.toml", &text).is_err().then_some(text)
}

fn never_widens(broken: &str) {
    let project = Project::new();
    project.write(&nested());
    let reloader = project.reloader().unwrap();
    let before = verdicts(&reloader.current(), PROBES);
    project.write(broken);
    assert_eq!(verdicts(&reloader.current(), PROBES), before, "{broken}");
    assert!(reloader.error().is_some(), "{broken}");
    assert!(project.reloader().is_err(), "started anew, it grants nothing: {broken}");
}

proptest! {
    // Few cases of many files each: a change is waited for, and they can wait together.
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(2) })]

    #[test]
    fn a_file_that_breaks_never_widens_access(
        changes in prop::collection::vec((0usize..400, "[\\]\\[\"={}#a-z\\n ]{0,4}", 0usize..12), 32),
    ) {
        let broken: Vec<String> = changes.iter().filter_map(|(at, put, drop)| broken(*at, put, *drop)).collect();
        std::thread::scope(|scope| {
            for text in &broken {
                scope.spawn(|| never_widens(text));
            }
        });
    }
}
