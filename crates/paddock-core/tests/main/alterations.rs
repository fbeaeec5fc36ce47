//! Several changes as one, a person's own acts, and Views: the guard holds for each.

use std::sync::Arc;

use paddock_core::{
    AccessScope, Alter, Alteration, DenyRule, ErrorKind, Expect, HidePattern, LogicalPath, Mount, NameRules, NoJournal,
    Operation, Origin, Outcome, Refused, RelPathBuf, Store, Vfs, View, Walk, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_stores::conformance::world::{self, Open, path_of, with_call};

fn workspaces() -> Vec<Workspace> {
    let hide = || vec![HidePattern { text: ".env".to_owned(), origin: Origin::unknown() }];
    let workspace = |prefix, scope| {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Workspace::new(path_of(prefix), scope, Mount::new(store, None))
            .with_names(NameRules::new(hide(), &[], &[]).unwrap())
    };
    vec![
        workspace("/w", AccessScope::ReadWrite),
        workspace("/w/nested", AccessScope::ReadOnly),
        workspace("/r", AccessScope::ReadOnly),
        workspace("/drop", AccessScope::WriteOnly),
    ]
}

fn vfs() -> Vfs {
    Vfs::new(workspaces(), Arc::new(Open), Arc::new(NoJournal)).unwrap()
}

fn run(vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
    with_call(|call| world::run(vfs, call, operation))
}

fn alter(vfs: &Vfs, changes: &[(&str, Alter)]) -> Result<Outcome, Refused> {
    let alteration =
        |(path, how): &(&str, Alter)| Alteration { path: path_of(path), how: how.clone(), expect: Expect::Any };
    let alterations = changes.iter().map(alteration).collect();
    run(vfs, Operation::Alter { path: path_of(changes[0].0), alterations })
}

fn content(text: &str) -> Alter {
    Alter::Write { content: text.as_bytes().to_vec(), mode: None }
}

fn text(vfs: &Vfs, path: &str) -> Option<String> {
    match run(vfs, Operation::Read { path: path_of(path), range: 0..u64::MAX }) {
        Ok(Outcome::Read { bytes, .. }) => Some(String::from_utf8(bytes).unwrap()),
        Err(_) => None,
        other => panic!("{other:?}"),
    }
}

fn denied_by(outcome: Result<Outcome, Refused>) -> DenyRule {
    match outcome {
        Err(Refused::Denied(denial) | Refused::DeniedInside(denial)) => denial.rule,
        other => panic!("not denied: {other:?}"),
    }
}

#[test]
fn several_changes_are_made_in_order() {
    let vfs = vfs();
    alter(&vfs, &[("/w/old/a", content("x"))]).unwrap();
    let moved = Alter::Move { to: path_of("/w/b") };
    let done = alter(
        &vfs,
        &[("/w/d", Alter::MakeDir), ("/w/old/a", moved), ("/w/old", Alter::Delete), ("/w/d/c", content("y"))],
    );
    assert!(matches!(done, Ok(Outcome::Changed { paths: 4, .. })), "{done:?}");
    assert_eq!((text(&vfs, "/w/b").as_deref(), text(&vfs, "/w/d/c").as_deref()), (Some("x"), Some("y")));
}

#[test]
fn one_denied_path_refuses_the_whole() {
    for path in ["/w/.env", "/w/.git/hooks/pre-commit", "/w/paddock.toml", "/w/nested/f", "/r/f", "/nowhere"] {
        let vfs = vfs();
        let outcome = alter(&vfs, &[("/w/a", content("x")), (path, content("x"))]);
        assert!(matches!(outcome, Err(Refused::Denied(_))), "{path}: {outcome:?}");
        assert_eq!(text(&vfs, "/w/a"), None, "{path}");
    }
}

#[test]
fn a_directory_that_moves_is_judged_with_all_it_holds() {
    let vfs = vfs();
    alter(&vfs, &[("/w/tools/hooks/pre-commit", content("x"))]).unwrap();
    let outcome = alter(&vfs, &[("/w/a", content("x")), ("/w/tools", Alter::Move { to: path_of("/w/.git") })]);
    denied_by(outcome);
    assert_eq!(text(&vfs, "/w/tools/hooks/pre-commit").as_deref(), Some("x"));
    alter(&vfs, &[("/w/tools", Alter::Move { to: path_of("/w/other") })]).unwrap();
    assert_eq!(text(&vfs, "/w/other/hooks/pre-commit").as_deref(), Some("x"));
}

#[test]
fn in_a_write_only_workspace_an_agent_has_no_such_changes() {
    let outcome = alter(&vfs(), &[("/drop/f", content("x"))]);
    assert!(matches!(outcome, Err(Refused::Misuse { .. })), "{outcome:?}");
}

#[test]
fn a_persons_act_is_judged_as_read_write_and_by_every_name_rule() {
    let agent = vfs();
    let person = agent.for_person(Arc::new(Open));
    for path in ["/r/f", "/w/nested/f", "/drop/f"] {
        alter(&person, &[(path, content("x"))]).unwrap();
        assert_eq!(text(&person, path).as_deref(), Some("x"), "{path}");
    }
    assert_eq!(text(&agent, "/r/f").as_deref(), Some("x"), "it is the same Store");
    assert_eq!(text(&agent, "/drop/f"), None, "and the agent's scope is as it was");
    assert_eq!(denied_by(alter(&agent, &[("/r/f", content("y"))])), DenyRule::Scope);
    for path in ["/r/.env", "/r/.git/hooks/pre-commit", "/r/paddock.toml"] {
        denied_by(alter(&person, &[(path, content("x"))]));
    }
}

#[test]
fn a_view_shows_what_the_agent_sees_and_no_more() {
    let all = workspaces();
    let vfs = Vfs::new(all.clone(), Arc::new(Open), Arc::new(NoJournal)).unwrap();
    alter(&vfs, &[("/w/a", content("x")), ("/w/sub/b", content("y"))]).unwrap();
    let bare: Vec<Workspace> = all.iter().map(|w| w.clone().with_names(NameRules::default())).take(1).collect();
    let behind = Vfs::new(bare, Arc::new(Open), Arc::new(NoJournal)).unwrap();
    alter(&behind, &[("/w/.env", content("secret")), ("/w/nested/shadowed", content("z"))]).unwrap();

    let view = View::of(&all[0], &all).unwrap();
    let rel = |path: &str| RelPathBuf::parse(path).unwrap();
    let mut met = Vec::new();
    with_call(|call| {
        view.walk(call, rel("").as_rel(), &Walk::default(), &mut |entry| {
            met.push(entry.path.to_owned());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
        for hidden in [".env", "nested/shadowed", "nested"] {
            let found = view.stat(call, rel(hidden).as_rel());
            assert_eq!(found.map_err(|e| e.kind().clone()), Err(ErrorKind::NotFound), "{hidden}");
        }
        assert_eq!(view.stat(call, rel("a").as_rel()).unwrap().len, 1);
    });
    assert_eq!(met, ["a", "sub", "sub/b"]);
    assert!(View::of(&all[3], &all).is_none(), "a write-only Workspace has none");
}

#[test]
fn what_left_is_not_looked_for_below_itself() {
    let vfs = vfs();
    alter(&vfs, &[("/w/f", content("x")), ("/w/d/a", content("y"))]).unwrap();
    let swap = [
        ("/w/f", Alter::Delete),
        ("/w/d/a", Alter::Delete),
        ("/w/d", Alter::Delete),
        ("/w/d", content("a file now")),
        ("/w/f", Alter::MakeDir),
        ("/w/f/deep/b", content("in a directory now")),
    ];
    alter(&vfs, &swap).unwrap();
    assert_eq!(text(&vfs, "/w/d").as_deref(), Some("a file now"));
    assert_eq!(text(&vfs, "/w/f/deep/b").as_deref(), Some("in a directory now"));
}

#[test]
fn nothing_is_judged_less_below_what_left() {
    let vfs = vfs();
    alter(&vfs, &[("/w/f", content("x"))]).unwrap();
    for path in ["/w/f/.env", "/w/f/.git/hooks/pre-commit", "/w/f/paddock.toml"] {
        let outcome = alter(&vfs, &[("/w/f", Alter::Delete), ("/w/f", Alter::MakeDir), (path, content("x"))]);
        assert!(matches!(outcome, Err(Refused::Denied(_))), "{path}: {outcome:?}");
        assert_eq!(text(&vfs, "/w/f").as_deref(), Some("x"), "{path}");
    }
}

#[test]
fn a_directory_that_still_holds_something_goes_nowhere_and_neither_does_the_rest() {
    let all = workspaces();
    let vfs = Vfs::new(all.clone(), Arc::new(Open), Arc::new(NoJournal)).unwrap();
    alter(&vfs, &[("/w/d/a", content("x")), ("/w/d/b", content("y")), ("/w/e/a", content("z"))]).unwrap();
    let bare: Vec<Workspace> = all.iter().map(|w| w.clone().with_names(NameRules::default())).take(1).collect();
    let behind = Vfs::new(bare, Arc::new(Open), Arc::new(NoJournal)).unwrap();
    alter(&behind, &[("/w/e/.env", content("secret"))]).unwrap();

    let outcome = alter(&vfs, &[("/w/d/a", Alter::Delete), ("/w/d", Alter::Delete)]);
    assert!(
        matches!(&outcome, Err(Refused::Store { source, .. }) if *source.kind() == ErrorKind::NotEmpty),
        "{outcome:?}"
    );
    assert_eq!(text(&vfs, "/w/d/a").as_deref(), Some("x"));
    assert_eq!(denied_by(alter(&vfs, &[("/w/e/a", Alter::Delete), ("/w/e", Alter::Delete)])), DenyRule::Hidden);
    assert_eq!(text(&vfs, "/w/e/a").as_deref(), Some("z"));
}

/// What is let through of it is what a command may do there, and a person's other acts have no such exception.
#[test]
fn what_git_makes_of_its_own_is_taken_over_from_a_fork_as_it_is_committed_by_a_command() {
    const PLAIN: &str = "[core]\n\tbare = false\n";
    let hooks = || ("/w/.git/hooks", Alter::MakeDir);
    let repository = || vec![("/w/.git", Alter::MakeDir), hooks(), ("/w/.git/config", content(PLAIN))];
    let with = |more: Vec<(&'static str, Alter)>| repository().into_iter().chain(more).collect::<Vec<_>>();
    let config = |text: &str| vec![("/w/.git/config", content(&format!("{PLAIN}{text}")))];
    let rows = [
        // Is one there before, is it let through, what is done.
        (false, true, with(vec![("/w/.git/hooks/update.sample", content("x"))])),
        (false, false, with(vec![("/w/.git/hooks/update", content("x"))])),
        (false, false, vec![("/w/.git/config", content("[core]\n\tfsmonitor = x\n"))]),
        (false, false, vec![("/w/.git/config", Alter::Link { leads_to: "../evil".to_owned() })]),
        (false, false, vec![("/w/.git", content("gitdir: evil\n"))]),
        (true, true, config("[user]\n\tname = A\n")),
        (true, true, config("[remote \"up\"]\n\turl = https://example.com/a.git\n")),
        (true, false, config("[core]\n\tfsmonitor = x\n")),
        (true, false, config("[include]\n\tpath = x\n")),
        (true, false, config("[remote \"up\"]\n\turl = ext::x\n")),
        (true, false, vec![("/w/.git/config", Alter::Delete)]),
        (true, false, vec![("/w/.git/hooks/update.sample", content("x"))]),
        (true, false, vec![("/w/.git/commondir", content("evil"))]),
    ];
    for (there, passes, changes) in rows {
        let judged = |operation: fn(LogicalPath, Vec<Alteration>) -> Operation, person: bool| {
            let agent = vfs();
            let alterations = |changes: &[(&str, Alter)]| {
                let one = |(path, how): &(&str, Alter)| Alteration {
                    path: path_of(path),
                    how: how.clone(),
                    expect: Expect::Any,
                };
                changes.iter().map(one).collect::<Vec<_>>()
            };
            if there {
                let path = path_of("/w");
                run(&agent, Operation::Commit { path, alterations: alterations(&repository()) }).unwrap();
            }
            let vfs = if person { agent.for_person(Arc::new(Open)) } else { agent };
            match run(&vfs, operation(path_of("/w"), alterations(&changes))) {
                Ok(_) => true,
                Err(Refused::Denied(denial)) => !matches!(denial.rule, DenyRule::Guarded(_)),
                other => panic!("{other:?}"),
            }
        };
        let commit = judged(|path, alterations| Operation::Commit { path, alterations }, false);
        let taken = judged(|path, alterations| Operation::TakeOver { path, alterations }, true);
        assert_eq!((commit, taken), (passes, passes), "{changes:?}");
        let altered = judged(|path, alterations| Operation::Alter { path, alterations }, true);
        assert!(!altered || matches!(changes[0].1, Alter::Delete), "{changes:?}");
    }
}
