//! What every command shares: help, exit codes, colours, completions, man pages.

use crate::harness::World;

#[test]
fn wrong_usage_ends_with_2() {
    let world = World::empty();
    for arguments in [&["no-such-command"][..], &[], &["why", "read"], &["--log", "loud", "map"]] {
        let ran = world.paddock(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn help_names_the_exit_codes() {
    let ran = World::empty().paddock(&["--help"]);
    assert_eq!(ran.code, 0);
    for words in ["Exit codes:", "0  done", "1  denied", "2  wrong usage"] {
        assert!(ran.stdout.contains(words), "{ran}");
    }
}

#[test]
fn colours_are_for_terminals_unless_insisted_on() {
    let world = World::seed();
    let run = |variables: &[(&str, &str)]| {
        let mut command = world.command(&["check"]);
        command.envs(variables.iter().copied());
        world.run(command, "").stdout
    };
    assert!(!run(&[]).contains('\u{1b}'));
    assert!(run(&[("CLICOLOR_FORCE", "1")]).contains('\u{1b}'));
    assert!(!run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn completions_for_every_shell() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = world.paddock(&["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains("doctor"), "{shell}: {ran}");
    }
}

#[test]
fn manual_pages() {
    let world = World::empty();
    let ran = world.paddock(&["man"]);
    assert!(ran.stdout.contains(".TH paddock 1"), "{ran}");
    assert_eq!(world.paddock(&["man", "pages"]).code, 0);
    for page in ["paddock.1", "paddock-init.1", "paddock-config-set.1"] {
        assert!(world.has(&format!("pages/{page}")), "{page}");
    }
}

#[test]
fn asking_leaves_no_trace() {
    let world = World::seed();
    for arguments in [&["map"][..], &["check"], &["doctor"], &["why", "read", "x"], &["config", "show"]] {
        world.paddock(arguments);
    }
    assert!(std::fs::read_dir(world.home()).unwrap().next().is_none(), "the System Root is not made by asking");
}
