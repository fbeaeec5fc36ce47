//! Looking at instances: lists, what is known of one, what was said.

use std::fs;

use paddock_state::instance::Instances as _;
use serde_json::json;

use super::{CONFIG, LINES, files, import, instance, key, open_turn, place, with_chat};
use crate::harness::World;

#[test]
fn the_last_changed_come_first_and_the_rest_is_counted() {
    let world = World::configured(CONFIG);
    for number in 0..23 {
        files_made(&world, &format!("i{number:02}"), number);
    }
    let told = instance(&world, &["list", "--json"]).json();
    let listed: Vec<&str> =
        told["instances"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
    let expected: Vec<String> = (3..23).rev().map(|number| format!("i{number:02}")).collect();
    assert_eq!(listed, expected);
    assert_eq!((&told["more"], &told["unreadable"]), (&json!(3), &json!([])));
    let few = instance(&world, &["list", "-n", "2"]);
    insta::assert_snapshot!(few, @r"
    i22  reviewer  idle        changed 2026-01-01 00:00:22
    i21  main      idle        changed 2026-01-01 00:00:21
    [stderr]
    21 more: raise -n, or show --all
    [exit 0]
    ");
    let all = instance(&world, &["list", "--all"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (23, ""), "{all}");
    for of in [["list", "-a", "reviewer"], ["list", "--agent", "reviewer"], ["--agent", "reviewer", "list"]] {
        let ran = instance(&world, &of);
        assert_eq!(ran.stdout.lines().count(), 12, "{ran}");
        assert!(ran.stdout.lines().all(|line| line.contains("  reviewer  ")), "{ran}");
    }
    assert_eq!(instance(&world, &["list", "-a", "nobody"]).stderr, "there are no instances\n");
}

/// An instance that was last changed at a moment of its own.
fn files_made(world: &World, name: &str, second: u32) {
    if second == 0 {
        import(world, name, "");
    } else {
        files(world).create(&key(name), "main").unwrap();
    }
    let agent = if second.is_multiple_of(2) { "reviewer" } else { "main" };
    let time = format!("2026-01-01T00:00:{second:02}.000Z");
    let text = json!({
        "status": "idle", "agentName": agent, "instanceKey": name, "createdAt": time, "updatedAt": time,
    });
    fs::write(place(world).join(name).join("metadata.json"), text.to_string()).unwrap();
}

#[test]
fn a_damaged_instance_is_told_and_hides_no_other() {
    let world = with_chat();
    import(&world, "broken", "");
    fs::write(place(&world).join("broken/metadata.json"), "{\x1b").unwrap();
    fs::create_dir(place(&world).join("odd\x1b[2J")).unwrap();
    let listed = instance(&world, &["list"]);
    assert_eq!(listed.code, 0);
    assert!(listed.stdout.starts_with("chat  main  idle"), "{listed}");
    let notes: Vec<&str> = listed.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{listed}");
    assert!(notes[0].starts_with("note: instance \"broken\" cannot be read: "), "{listed}");
    assert!(notes[1].starts_with("note: instance \"odd\\u{1b}[2J\" cannot be read: "), "{listed}");
    let told = instance(&world, &["list", "--json"]).json();
    assert_eq!(told["unreadable"][0]["name"], "broken");
    assert!(told["unreadable"][0]["reason"].as_str().unwrap().contains("metadata.json"), "{told}");
    assert_eq!(told["instances"].as_array().unwrap().len(), 1);
    // It can still be taken away.
    assert_eq!(instance(&world, &["delete", "broken", "-y"]).code, 0);
    assert!(!place(&world).join("broken").exists());
}

#[test]
fn what_is_known_of_an_instance_is_shown() {
    let world = with_chat();
    open_turn(&world, "chat");
    let state = json!({"visits": 3}).as_object().unwrap().clone();
    files(&world).set_state(&key("chat"), &"memory".parse().unwrap(), &state).unwrap();
    let told = instance(&world, &["show", "chat", "--json"]).json();
    assert_eq!(told["key"], "chat");
    assert_eq!(told["agent"], "main");
    assert_eq!(told["status"], "idle");
    assert_eq!(told["messages"], 4);
    assert_eq!(told["openTurn"], json!({"turnId": "turn-7", "events": 1, "lastSeq": 4}));
    assert_eq!(told["heldBy"], json!(null));
    assert_eq!(told["extensions"], json!([{"name": "memory", "bytes": 12}]));
    let text = instance(&world, &["show", "chat"]);
    for line in
        ["messages    4, ", "open turn   turn-7, with 1 event", "held by     nobody", "extension   memory, 12 B"]
    {
        assert!(text.stdout.contains(line), "{line}: {text}");
    }
    // Whoever writes it now is named.
    let held = files(&world).conversation(&key("chat")).unwrap();
    let holder = instance(&world, &["show", "chat", "--json"]).json()["heldBy"].as_str().unwrap().to_owned();
    assert!(holder.starts_with(&format!("process {}", std::process::id())), "{holder}");
    drop(held);
}

#[test]
fn a_conversation_is_printed_for_people_and_for_programs() {
    let world = with_chat();
    insta::assert_snapshot!(instance(&world, &["messages", "chat"]), @r#"
    2026-11-15 12:30:00  user  m1
      Is it in src?

    2026-11-15 12:30:01  assistant  m2
      Let me look.
      {"a":1.2345678901234568e+22,"toolName":"read_file","type":"tool-call","z":1}

    2026-11-15 12:30:02  tool read_file  m3
      No.
      It is in lib.
    [exit 0]
    "#);
    assert_eq!(instance(&world, &["messages", "chat", "--jsonl"]).stdout, LINES);
    let array = instance(&world, &["messages", "chat", "--json"]);
    assert_eq!(array.json().as_array().unwrap().len(), 3);
    let inner = array.stdout.trim_start_matches("[\n  ").trim_end_matches("\n]\n").replace(",\n  ", "\n");
    assert_eq!(inner + "\n", LINES, "digits and order of keys are kept");
    let last = instance(&world, &["messages", "chat", "--last", "2", "--jsonl"]).stdout;
    assert_eq!(last.lines().collect::<Vec<_>>(), LINES.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(instance(&world, &["messages", "chat", "--last", "0", "--json"]).stdout, "[]\n");
    open_turn(&world, "chat");
    assert!(instance(&world, &["messages", "chat", "--last", "1"]).stdout.ends_with("  And now?\n"));
}

#[test]
fn a_damaged_line_ends_the_conversation_with_its_number() {
    let world = with_chat();
    let base = place(&world).join("chat/messages/base.jsonl");
    let text = fs::read_to_string(&base).unwrap().replace("Let me look", "Let me hook");
    fs::write(&base, text).unwrap();
    let ran = instance(&world, &["messages", "chat", "--json"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(serde_json::from_str::<serde_json::Value>(&ran.stdout).is_err(), "half a conversation is no document");
    assert!(ran.stderr.contains("error: line 2 of \"[world]/home/.paddock/workspaces/"), "{ran}");
    assert!(ran.stderr.ends_with("hint: `paddock instance repair chat` shows what can be kept\n"), "{ran}");
}

#[test]
fn a_torn_line_is_told_and_the_rest_is_there() {
    let world = with_chat();
    open_turn(&world, "chat");
    let events = place(&world).join("chat/messages/events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, format!("{text}{}", &text[..40])).unwrap();
    let ran = instance(&world, &["messages", "chat", "--jsonl"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 4), "{ran}");
    assert!(ran.stderr.starts_with("note: line 3 of \"") && ran.stderr.contains("cut off"), "{ran}");
}

/// Gathered, these would be far more than the process may have.
#[test]
fn a_long_conversation_is_never_held_in_memory() {
    let world = World::configured(CONFIG);
    let line = LINES.lines().next().unwrap().replace("Is it in src?", &"word ".repeat(4_000));
    let count = 350;
    world.write("long.jsonl", format!("{line}\n").repeat(count));
    let script = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        // In KiB: enough for the program, and less than the 7 MB of the conversation.
        let text = format!("ulimit -d 5000; {} {command}", env!("CARGO_BIN_EXE_paddock"));
        shell.args(["-c", &text]).current_dir(world.project()).env_clear().env("HOME", world.home());
        shell.env("PATH", "/usr/bin:/bin");
        world.run(shell, "")
    };
    let imported = script("instance import long long.jsonl");
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    for command in ["messages long", "messages long --json", "export long"] {
        let ran = script(&format!("instance {command} | wc -c"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
        let bytes: usize = ran.stdout.trim().parse().unwrap();
        assert!(bytes > 7_000_000, "{command}: {bytes}");
    }
    let ran = script("instance messages long --last 1 --jsonl");
    assert_eq!(ran.stdout, format!("{line}\n"));
    assert_ne!(script("instance messages long --last 350").code, 0, "what is gathered does not fit");
    // Whoever reads only the beginning is no error.
    assert_eq!(script("instance messages long --jsonl | head -c 10").stdout, "{\"id\":\"m1\"");
}
