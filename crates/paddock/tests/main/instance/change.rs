//! Restarting, deleting and repairing.

use std::fs;
use std::io::Write as _;

use paddock_state::instance::Instances as _;
use serde_json::json;

use super::{LINES, files, import, instance, key, keys, open_turn, place, with_chat};
use crate::harness::World;

#[test]
fn a_turn_that_was_cut_off_is_ended_and_keeps_what_it_said() {
    let world = with_chat();
    open_turn(&world, "chat");
    files(&world).set_status(&key("chat"), paddock_state::instance::Status::Processing).unwrap();
    insta::assert_snapshot!(instance(&world, &["restart", "chat"]), @r#"
    instance "chat" rests; turn "turn-7", which was cut off, is over
    [exit 0]
    "#);
    let told = instance(&world, &["show", "chat", "--json"]).json();
    assert_eq!((&told["messages"], &told["openTurn"], &told["status"]), (&json!(4), &json!(null), &json!("idle")));
    insta::assert_snapshot!(instance(&world, &["restart", "chat"]), @r#"
    instance "chat" rests; no turn was open
    [exit 0]
    "#);
}

#[test]
fn beginning_anew_is_asked_about() {
    let world = with_chat();
    let created = instance(&world, &["show", "chat", "--json"]).json()["createdAt"].clone();
    insta::assert_snapshot!(instance(&world, &["restart", "chat", "--fresh"]), @r"
    [stderr]
    error: nothing was changed: nobody can be asked here
    hint: --yes does it without asking
    [exit 2]
    ");
    assert_eq!(instance(&world, &["messages", "chat", "--jsonl"]).stdout, LINES);
    insta::assert_snapshot!(instance(&world, &["restart", "chat", "--fresh", "--yes"]), @r#"
    instance "chat" begins anew
    [exit 0]
    "#);
    let told = instance(&world, &["show", "chat", "--json"]).json();
    assert_eq!((&told["messages"], &told["createdAt"]), (&json!(0), &created));
    assert_eq!(instance(&world, &["restart", "chat", "--yes"]).code, 2, "without --fresh there is nothing to agree to");
}

#[test]
fn what_is_deleted_is_gone_and_its_neighbours_stay() {
    let world = with_chat();
    import(&world, "chat2", LINES);
    import(&world, "cha", LINES);
    insta::assert_snapshot!(instance(&world, &["delete", "chat"]), @r"
    [stderr]
    error: nothing was deleted: nobody can be asked here
    hint: --yes does it without asking
    [exit 2]
    ");
    assert_eq!(keys(&world), ["cha", "chat", "chat2"]);
    insta::assert_snapshot!(instance(&world, &["delete", "-y", "chat", "nobody"]), @r#"
    deleted instance "chat"
    [stderr]
    there is no instance "nobody": nothing to delete
    [exit 0]
    "#);
    assert_eq!(keys(&world), ["cha", "chat2"]);
    assert!(!place(&world).join("chat").exists());
    // What is not there needs no word of a person.
    insta::assert_snapshot!(instance(&world, &["delete", "chat"]), @r#"
    [stderr]
    there is no instance "chat": nothing to delete
    [exit 0]
    "#);
}

#[test]
fn an_empty_key_deletes_nothing() {
    let world = with_chat();
    import(&world, "other", LINES);
    for bad in ["", "..", "*"] {
        let ran = instance(&world, &["delete", "--yes", "chat", bad]);
        // One bad key, and not even the good one before it is touched; a star is a name like any other.
        if bad != "*" {
            assert_eq!(ran.code, 2, "{ran}");
            assert_eq!(keys(&world), ["chat", "other"], "{bad:?}");
        }
    }
    assert_eq!(keys(&world), ["other"]);
}

#[test]
fn who_holds_an_instance_is_told_to_whoever_would_change_it() {
    let world = with_chat();
    let held = files(&world).conversation(&key("chat")).unwrap();
    let holder = format!("error: instance \"chat\" is held by process {} (", std::process::id());
    for command in [
        &["delete", "chat", "--yes"][..],
        &["restart", "chat"],
        &["restart", "chat", "--fresh", "--yes"],
        &["repair", "chat", "--apply"],
    ] {
        let ran = instance(&world, command);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.starts_with(&holder) && ran.stderr.contains("\nhint: wait until it is done"), "{ran}");
    }
    assert_eq!(instance(&world, &["messages", "chat", "--jsonl"]).stdout, LINES, "reading is possible meanwhile");
    drop(held);
    assert_eq!(instance(&world, &["delete", "chat", "--yes"]).code, 0);
}

#[test]
fn repairing_shows_each_lost_line_and_changes_only_with_a_word() {
    let world = with_chat();
    insta::assert_snapshot!(instance(&world, &["repair", "chat", "--apply"]), @r"
    ✓ nothing is damaged: 3 messages
    [exit 0]
    ");
    let base = place(&world).join("chat/messages/base.jsonl");
    let damaged = fs::read_to_string(&base).unwrap().replace("Let me look", "Let me hook");
    fs::write(&base, &damaged).unwrap();
    insta::assert_snapshot!(instance(&world, &["repair", "chat"]), @r"
    ✗ base.jsonl line 2: its checksum does not fit
    ✓ 2 messages can be kept; 1 line cannot
    [stderr]
    nothing was changed; `paddock instance repair chat --apply` keeps these and puts the files as they are aside
    [exit 0]
    ");
    assert_eq!(fs::read_to_string(&base).unwrap(), damaged);
    let told = instance(&world, &["repair", "chat", "--json"]).json();
    assert_eq!((&told["messages"], &told["keptAside"], &told["lost"][0]["line"]), (&json!(2), &json!(null), &json!(2)));
    let applied = instance(&world, &["repair", "chat", "--apply"]);
    assert_eq!(applied.code, 0, "{applied}");
    assert!(applied.stdout.ends_with("✓ 2 messages kept; 1 line cannot\n"), "{applied}");
    let aside = applied.stderr.split('"').nth(1).unwrap().replace("[world]", world.path().to_str().unwrap());
    assert_eq!(fs::read_to_string(format!("{aside}/base.jsonl")).unwrap(), damaged);
    let kept: Vec<&str> = LINES.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
    let ran = instance(&world, &["messages", "chat", "--jsonl"]);
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), kept, "{ran}");
}

/// Runs a command at a terminal, where somebody types an answer.
fn at_a_terminal(world: &World, arguments: &[&str], typed: &str) -> (i32, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let open = || fs::File::options().read(true).write(true).open(&name).unwrap();
    let arguments: Vec<&str> = std::iter::once("instance").chain(arguments.iter().copied()).collect();
    let mut command = world.command(&arguments);
    command.stdin(open()).stderr(open()).stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    fs::File::from(master.try_clone().unwrap()).write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn at_a_terminal_a_person_is_asked_and_the_answer_counts() {
    let world = with_chat();
    for no in ["\n", "n\n", "delete\n"] {
        assert_eq!(at_a_terminal(&world, &["delete", "chat"], no), (1, String::new()), "{no:?}");
        assert_eq!(at_a_terminal(&world, &["restart", "chat", "--fresh"], no), (1, String::new()), "{no:?}");
    }
    assert_eq!(instance(&world, &["messages", "chat", "--jsonl"]).stdout, LINES);
    let anew = (0, "instance \"chat\" begins anew\n".to_owned());
    assert_eq!(at_a_terminal(&world, &["restart", "chat", "--fresh"], "y\n"), anew);
    assert_eq!(at_a_terminal(&world, &["delete", "chat"], "yes\n"), (0, "deleted instance \"chat\"\n".to_owned()));
    assert!(keys(&world).is_empty());
}
