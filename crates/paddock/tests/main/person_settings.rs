//! `paddock config --user`: how a person likes the program to speak, in every project; and the line that says how far long
//! work is.

use std::fs::{self, File};
use std::io::Read as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::harness::World;

#[test]
fn settings_are_shown_set_and_taken_away() {
    let world = World::empty();
    assert_eq!(world.paddock(&["config", "show", "--user", "--json"]).json(), json!({}));
    assert!(!world.home().join(".paddock").exists(), "asking leaves no trace");
    insta::assert_snapshot!(world.paddock(&["config", "set", "--user", "color", "never"]), @r#"
    [stderr]
    changed "color" in [world]/home/.paddock/config.json
    [exit 0]
    "#);
    assert_eq!(world.paddock(&["config", "set", "progress", "never", "--user"]).code, 0);
    insta::assert_snapshot!(world.paddock(&["config", "show", "--user", "--origin"]), @r#"
    color = "never"  # [world]/home/.paddock/config.json
    progress = "never"  # [world]/home/.paddock/config.json
    [exit 0]
    "#);
    assert_eq!(
        world.paddock(&["config", "show", "--user", "--json"]).json(),
        json!({"color": "never", "progress": "never"})
    );
    assert_eq!(world.paddock(&["config", "get", "--user", "color"]).stdout, "never\n");
    assert_eq!(world.paddock(&["config", "get", "--user", "color", "--json"]).json(), json!("never"));
    assert_eq!(world.paddock(&["config", "unset", "--user", "color"]).code, 0);
    insta::assert_snapshot!(world.paddock(&["config", "unset", "--user", "color"]), @r#"
    [stderr]
    error: "color" is not set
    hint: `paddock config show --user` shows every setting that is
    [exit 1]
    "#);
}

#[test]
fn what_is_no_setting_is_told() {
    let world = World::seed();
    insta::assert_snapshot!(world.paddock(&["config", "set", "--user", "commands.deny", "[]"]), @r#"
    [stderr]
    error: there is no setting "commands.deny"
    hint: settings are color, log, progress; those of a project are changed without --user
    [exit 2]
    "#);
    insta::assert_snapshot!(world.paddock(&["config", "set", "--user", "color", "blue"]), @r#"
    [stderr]
    error: "blue" cannot be color
    hint: it can be auto, always, never
    [exit 2]
    "#);
    assert!(
        world.paddock(&["config", "set", "--help"]).stdout.contains("colours in what is printed: auto, always, never")
    );
}

/// An option beats the environment, and that beats a setting.
#[test]
fn a_setting_holds_where_nothing_else_is_said() {
    let world = World::seed();
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = world.command(&["check"]);
        command.envs(variables.iter().copied());
        world.run(command, "").stdout.contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert_eq!(world.paddock(&["config", "set", "--user", "color", "always"]).code, 0);
    assert!(coloured(&[]) && !coloured(&[("NO_COLOR", "1")]));
    assert_eq!(world.paddock(&["config", "set", "--user", "color", "never"]).code, 0);
    assert!(!coloured(&[]) && coloured(&[("CLICOLOR_FORCE", "1")]));

    let told = |more: &[&str]| {
        let call = ["tool", "read_file", r#"{"path": "/nowhere"}"#];
        world.paddock(&[&call, more].concat()).stderr
    };
    assert_eq!(told(&[]), "");
    assert_eq!(world.paddock(&["config", "set", "--user", "log", "debug"]).code, 0);
    assert!(told(&[]).contains("denied"), "{}", told(&[]));
    assert_eq!(told(&["--log", "warn"]), "");
}

#[test]
fn a_damaged_file_is_told_and_stops_nothing() {
    let world = World::seed();
    assert_eq!(world.paddock(&["config", "set", "--user", "color", "never"]).code, 0);
    let file = world.home().join(".paddock/config.json");
    fs::write(&file, "{\"color\": \"blue\"}").unwrap();
    let ran = world.paddock(&["map"]);
    assert!(ran.code == 0 && ran.stdout.contains("Filesystem Map"), "{ran}");
    assert!(ran.stderr.starts_with("warning: your settings are left out: "), "{ran}");
    let refused = world.paddock(&["config", "set", "--user", "color", "never"]);
    assert!(refused.code == 1 && refused.stderr.contains("\"blue\" cannot be color"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"color\": \"blue\"}");
}

/// What a command told a person at a terminal.
fn at_a_terminal(world: &World, arguments: &[&str]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let stderr = File::options().read(true).write(true).open(name).unwrap();
    let mut command = world.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().unwrap();
    // The terminal ends for us when nobody has its other side any more, this side's copy included.
    drop(command);
    let mut told = Vec::new();
    let _ = File::from(master).read_to_end(&mut told);
    assert!(child.wait().unwrap().success());
    String::from_utf8(told).unwrap()
}

#[test]
fn how_far_long_work_is_is_told_at_a_terminal_alone_and_where_it_is_wanted() {
    let world = World::seed();
    let wrote = world.paddock(&["tool", "write_file", r#"{"path": "workspace/a.txt", "content": "a"}"#]);
    assert_eq!(wrote.code, 0, "{wrote}");
    let told = at_a_terminal(&world, &["backup", "../first"]);
    let line = told.find("\r\u{1b}[Kstate.db: ").unwrap_or_else(|| panic!("{told:?}"));
    assert!(told[line + 1..].contains("\r\u{1b}[K"), "the line is gone when the copy is made: {told:?}");

    let piped = world.paddock(&["backup", "../second"]);
    assert!(piped.code == 0 && !piped.stderr.contains('\u{1b}') && !piped.stderr.contains('%'), "{piped}");
    assert_eq!(world.paddock(&["config", "set", "--user", "progress", "never"]).code, 0);
    let told = at_a_terminal(&world, &["backup", "../third"]);
    assert!(told.contains("copied to") && !told.contains('\u{1b}'), "{told:?}");
}
