//! `paddock secret`, and what a stored value must never do: turn up anywhere.

mod leaks;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{Ran, World};

const VALUE: &str = "sk-planted/Value+0123456789";

fn set(world: &World, name: &str, value: &str) -> Ran {
    world.paddock_reading(&["secret", "set", name], value)
}

fn with(world: &World, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
    let mut command = world.command(arguments);
    command.envs(variables.iter().copied());
    world.run(command, input)
}

#[test]
fn a_secret_is_set_listed_and_removed_and_never_shown() {
    let world = World::empty();
    let listed = world.paddock(&["secret", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (0, ""), "{listed}");
    assert!(!world.home().join(".paddock").exists(), "looking makes nothing");
    let stored = set(&world, "openai", &format!("{VALUE}\n"));
    assert_eq!(stored.code, 0, "{stored}");
    assert_eq!(stored.stderr, "stored the secret \"openai\"; paddock.toml names it as { secret = \"openai\" }\n");
    assert!(set(&world, "openai", "another-value-of-it").stderr.starts_with("replaced the secret \"openai\""));
    assert_eq!(set(&world, "b.two", VALUE).code, 0);
    let listed = world.paddock(&["secret", "list", "--json"]);
    let rows = listed.json();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["b.two", "openai"]);
    assert!(rows[1]["createdAt"].as_str().unwrap() <= rows[1]["updatedAt"].as_str().unwrap(), "{rows}");
    assert!(rows[0].as_object().unwrap().len() == 3, "names and times only: {rows}");
    assert!(world.paddock(&["secret", "list"]).stdout.starts_with("b.two   stored 2"));
    let wrong = world.paddock(&["secret", "rm", "openai", "no-such"]);
    assert_eq!(wrong.code, 1, "{wrong}");
    assert!(wrong.stderr.starts_with("error: there is no secret \"no-such\"\nhint: "), "{wrong}");
    assert_eq!(world.paddock(&["secret", "rm", "openai", "b.two"]).code, 0);
    assert_eq!(world.paddock(&["secret", "list", "--json"]).json(), serde_json::json!([]));
    let secrets = world.home().join(".paddock/secrets");
    assert_eq!(fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_value_is_never_an_argument_and_never_repeated() {
    let world = World::empty();
    for arguments in [
        &["secret", "set", "openai", VALUE][..],
        &["secret", "set", "openai", "--", VALUE],
        &["secret", "set", "openai", "one", VALUE],
        &["secret", "set", "openai", "--value", VALUE],
        &["secret", "set", VALUE],
    ] {
        let ran = world.paddock(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran}");
        assert!(!ran.to_string().contains("planted"), "{arguments:?}: {ran}");
        assert!(ran.stderr.starts_with("error: "), "{ran}");
    }
    let ran = world.paddock(&["secret", "set", "openai", VALUE]);
    assert!(ran.stderr.contains("never an argument") && ran.stderr.contains("hint: pipe it in"), "{ran}");
    assert_eq!(world.paddock(&["secret", "list"]).stdout, "");
}

#[test]
fn a_value_may_come_from_a_variable_or_a_file() {
    let world = World::empty();
    world.write("token.txt", format!("{VALUE}\r\n"));
    assert_eq!(world.paddock(&["secret", "set", "f", "--from-file", "token.txt"]).code, 0);
    let ran = with(&world, &["secret", "set", "v", "--from-env", "TOKEN"], &[("TOKEN", VALUE)], "");
    assert_eq!(ran.code, 0, "{ran}");
    // Whoever has it sees it in no error.
    let ran = world.paddock(&["secret", "set", "x", "--from-file", VALUE]);
    assert!(ran.code == 2 && ran.stderr.contains("\"[secret f]\"") && !ran.stderr.contains(VALUE), "{ran}");
    for (arguments, told) in [
        (["secret", "set", "x", "--from-env", "NO_SUCH"], "there is no variable \"NO_SUCH\""),
        (["secret", "set", "x", "--from-file", "no-such"], "cannot read \"no-such\""),
    ] {
        let ran = world.paddock(&arguments);
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran}");
    }
}

#[test]
fn what_cannot_be_recognised_is_refused_and_told_why() {
    let world = World::empty();
    let ran = set(&world, "pin", "hunter2");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("too short for a secret") && ran.stderr.contains("cannot be recognised"), "{ran}");
    assert!(!ran.stderr.contains("hunter2"), "{ran}");
    assert_eq!(set(&world, "pin", "").code, 2);
}

#[test]
fn the_key_is_rotated_to_a_passphrase_and_back() {
    let world = World::empty();
    let none = world.paddock(&["secret", "rotate"]);
    assert!(none.code == 1 && none.stderr.starts_with("error: there are no secrets yet"), "{none}");
    set(&world, "openai", VALUE);
    assert!(
        world.paddock(&["secret", "rotate"]).stderr.starts_with("1 secret is encrypted anew, opened by a new key file")
    );
    let nobody = world.paddock(&["secret", "rotate", "--passphrase"]);
    assert!(nobody.code == 2 && nobody.stderr.contains("nobody to ask"), "{nobody}");
    let words = ("PADDOCK_PASSPHRASE", "five good words");
    let ran = with(&world, &["secret", "rotate", "--passphrase"], &[words], "");
    assert!(ran.code == 0 && ran.stderr.contains("opened by the new passphrase"), "{ran}");
    let locked = set(&world, "b", "another-value-of-it");
    assert!(locked.code == 1 && locked.stderr.contains("locked by a passphrase"), "{locked}");
    assert!(locked.stderr.contains("PADDOCK_PASSPHRASE_FILE"), "{locked}");
    let wrong = with(&world, &["secret", "rm", "openai"], &[("PADDOCK_PASSPHRASE", "five bad words")], "");
    assert!(wrong.code == 1 && wrong.stderr.starts_with("error: wrong passphrase\n"), "{wrong}");
    // Names need none.
    assert!(world.paddock(&["secret", "list"]).stdout.starts_with("openai"));
    world.write("words", "five good words\n");
    world.write("new", "six other good words\n");
    let files = [("PADDOCK_PASSPHRASE_FILE", "words"), ("PADDOCK_NEW_PASSPHRASE_FILE", "new")];
    assert_eq!(with(&world, &["secret", "rotate"], &files, "").code, 0);
    assert_eq!(with(&world, &["secret", "set", "c"], &[words], "a-value-of-c").code, 1);
    world.write("words", "six other good words\n");
    assert_eq!(with(&world, &["secret", "rotate", "--key-file"], &files[..1], "").code, 0);
    assert_eq!(set(&world, "b", "another-value-of-it").code, 0);
    assert_eq!(world.paddock(&["secret", "list", "--json"]).json().as_array().unwrap().len(), 2);
}

#[test]
fn of_many_processes_that_store_at_once_none_loses() {
    let world = World::empty();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let world = &world;
            scope.spawn(move || assert_eq!(set(world, &format!("s{n}"), &format!("value-number-{n}")).code, 0));
        }
    });
    let rows = world.paddock(&["secret", "list", "--json"]).json();
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]);
}

#[test]
fn check_works_without_secrets_and_tells_which_are_missing_and_which_are_in_files() {
    let world = World::configured(
        r#"
[[workspace]]
prefix = "/w"
scope = "RW"
mount = { physical = "w" }
hide = ["hidden.txt"]
[commands]
env = { TOKEN = { secret = "token" } }
"#,
    );
    world.write("w/plain.txt", "nothing");
    world.write("w/exposed.txt", format!("x{VALUE}y"));
    world.write("w/hidden.txt", VALUE);
    let ran = world.paddock(&["check"]);
    assert!(ran.code == 0 && ran.stdout.contains("there is no secret \"token\" (paddock.toml:8)"), "{ran}");
    assert!(ran.stdout.contains("→ store it with `paddock secret set token`"), "{ran}");
    assert!(!ran.stdout.contains("agents can read"), "without secrets nothing is looked for: {ran}");
    let refused = world.paddock(&["map"]);
    assert!(refused.code == 2 && refused.stderr.contains(" --> paddock.toml:8:"), "{refused}");
    set(&world, "token", VALUE);
    let ran = world.paddock(&["check"]);
    assert!(ran.stdout.contains("⚠ /w/exposed.txt holds the secret \"token\" (agent main)"), "{ran}");
    assert!(ran.stdout.contains("(2 files, ") && !ran.stdout.contains("hidden.txt"), "{ran}");
    let found = world.paddock(&["check", "--json"]).json();
    assert_eq!(found["missing_secrets"], serde_json::json!([]));
    assert_eq!(found["secrets_in_files"]["found"][0]["path"], "/w/exposed.txt");
    assert_eq!(found["secrets_in_files"]["complete"], true, "{found}");
    for arguments in [&["config", "show"][..], &["config", "show", "--json"], &["config", "get", "commands.env"]] {
        let ran = world.paddock(arguments);
        assert!(ran.code == 0 && ran.stdout.contains("token") && !ran.stdout.contains(VALUE), "{ran}");
    }
}

#[test]
fn wrong_usage_repeats_no_stored_value() {
    let world = World::empty();
    set(&world, "openai", VALUE);
    for arguments in [&["map", VALUE][..], &["--agent", VALUE, "map"], &["--config", VALUE, "check"]] {
        let ran = world.paddock(arguments);
        assert!(ran.code == 2 && !ran.stderr.contains(VALUE), "{ran}");
        assert!(ran.stderr.contains("[secret openai]"), "{ran}");
    }
}
