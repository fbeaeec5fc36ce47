//! A kernel that lacks what a sandbox needs: commands are refused with words, and `doctor` says what is missing.
//!
//! The kernel itself is asked not to have it: inside of a user namespace, how many more there may be below it can be set, and
//! none is what some distributions set for everybody.

use std::process::Command;

use crate::harness::{Ran, World};

/// Runs `paddock` where no user namespace can be made.
fn without_user_namespaces(world: &World, arguments: &[&str]) -> Ran {
    let program = world.command(arguments);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c"]);
    command.arg("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"");
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(world.project()).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", world.home()).env("TMPDIR", world.path());
    world.run(command, "")
}

#[test]
fn what_is_missing_is_named_and_no_command_runs() {
    let world = World::seed();
    let command = r#"{"command": "touch /project/workspace/made"}"#;
    let refused = without_user_namespaces(&world, &["tool", "execute_command", command]);
    assert_eq!(refused.code, 1, "{refused}");
    let told = "The command was not run: this system lacks user namespaces";
    assert!(refused.stdout.contains(told) && refused.stdout.contains("`paddock doctor`"), "{refused}");
    assert!(!world.has("workspace/made"));

    let executed = without_user_namespaces(&world, &["exec", "--", "touch", "made"]);
    assert_eq!(executed.code, 125, "{executed}");
    assert!(executed.stderr.contains("lacks user namespaces"), "{executed}");
    assert!(!world.has("workspace/made"));

    let doctor = without_user_namespaces(&world, &["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor}");
    let missing = "✗ commands: user namespaces: missing";
    assert!(doctor.stdout.contains(missing) && doctor.stdout.contains("user.max_user_namespaces"), "{doctor}");

    let read = without_user_namespaces(&world, &["tool", "read_file", r#"{"path": "package.json"}"#]);
    assert_eq!(read.code, 0, "what needs no sandbox goes on: {read}");
    let honest = world.paddock(&["tool", "execute_command", command]);
    assert!(honest.code == 0 && world.has("workspace/made"), "the honest twin: {honest}");
}
