//! Conversations on their way out and in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use paddock_state::instance::Instances as _;
use serde_json::json;

use super::{CONFIG, LINES, files, import, instance, key, keys, open_turn, place, with_chat};
use crate::harness::World;

#[test]
fn what_was_exported_is_imported_byte_by_byte() {
    let world = with_chat();
    let state = json!({"visits": 3, "last": {"z": [], "a": null}}).as_object().unwrap().clone();
    files(&world).set_state(&key("chat"), &"memory".parse().unwrap(), &state).unwrap();
    // As a stream.
    let stream = instance(&world, &["export", "chat"]);
    assert_eq!((stream.stdout.as_str(), stream.stderr.as_str()), (LINES, ""));
    import(&world, "streamed", &stream.stdout);
    assert_eq!(instance(&world, &["export", "streamed", "-"]).stdout, LINES);
    // As a file.
    insta::assert_snapshot!(instance(&world, &["export", "chat", "chat.jsonl", "--messages"]), @r#"
    [stderr]
    wrote 3 messages to "chat.jsonl"
    [exit 0]
    "#);
    assert_eq!(world.read("chat.jsonl"), LINES);
    assert_eq!(instance(&world, &["import", "filed", "chat.jsonl", "--agent", "reviewer"]).code, 0);
    assert_eq!(instance(&world, &["show", "filed", "--json"]).json()["agent"], "reviewer");
    // As a directory, with everything.
    assert_eq!(instance(&world, &["export", "filed", "empty-handed"]).code, 0);
    assert_eq!(instance(&world, &["export", "chat", "all"]).code, 0);
    assert_eq!(world.read("all/messages/base.jsonl"), LINES);
    assert_eq!(world.read("all/messages/events.jsonl"), "");
    let metadata: serde_json::Value = serde_json::from_str(&world.read("all/metadata.json")).unwrap();
    assert_eq!((&metadata["agentName"], &metadata["instanceKey"]), (&json!("main"), &json!("chat")));
    assert_eq!(fs::metadata(world.project().join("all")).unwrap().permissions().mode() & 0o777, 0o700);
    insta::assert_snapshot!(instance(&world, &["import", "back", "all"]), @r#"
    imported 3 messages as instance "back" of main
    [exit 0]
    "#);
    assert_eq!(instance(&world, &["export", "back"]).stdout, LINES);
    assert_eq!(files(&world).get_state(&key("back"), &"memory".parse().unwrap()).unwrap(), Some(state));
    assert_eq!(instance(&world, &["export", "back", "again"]).code, 0);
    assert_eq!(world.read("again/extensions/memory.json"), world.read("all/extensions/memory.json"));
}

#[test]
fn on_a_server_it_is_the_same() {
    let database = paddock_db::postgres_testing::Database::fresh();
    let world = World::configured(&format!("{CONFIG}\n[state]\nurl = \"{}\"\nid = \"app\"\n", database.url()));
    import(&world, "chat", LINES);
    import(&world, "other", "");
    assert_eq!(instance(&world, &["export", "chat"]).stdout, LINES);
    assert_eq!(keys(&world), ["chat", "other"]);
    let shown = instance(&world, &["show", "chat", "--json"]);
    assert_eq!((&shown.json()["messages"], &shown.json()["agent"]), (&json!(3), &json!("main")));
    // The states of extensions are listed and exported from there too.
    world.write("g/base.jsonl", LINES);
    world.write("g/extensions/compaction.json", "{\n  \"kept\": 2\n}\n");
    assert_eq!(instance(&world, &["import", "with", "g"]).code, 0);
    let shown = instance(&world, &["show", "with", "--json"]).json();
    assert_eq!(shown["extensions"], json!([{"name": "compaction", "bytes": 10}]));
    assert_eq!(instance(&world, &["export", "with", "out"]).code, 0);
    assert_eq!(world.read("out/extensions/compaction.json"), world.read("g/extensions/compaction.json"));
    assert_eq!(instance(&world, &["delete", "with", "--yes"]).code, 0);
    assert_eq!(instance(&world, &["restart", "chat"]).code, 0);
    assert!(instance(&world, &["repair", "chat"]).stdout.contains("nothing is damaged: 3 messages"));
    assert_eq!(instance(&world, &["delete", "chat", "--yes"]).stdout, "deleted instance \"chat\"\n");
    assert_eq!(keys(&world), ["other"]);
}

#[test]
fn an_export_goes_over_nothing_and_leaves_nothing_half_done() {
    let world = with_chat();
    world.write("there.jsonl", "mine");
    world.write("full/mine", "mine");
    for command in [
        &["export", "chat", "there.jsonl", "--messages"][..],
        &["export", "chat", "there.jsonl"],
        &["export", "chat", "full"],
    ] {
        let ran = instance(&world, command);
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.starts_with("error: cannot make \""), "{ran}");
    }
    assert_eq!((world.read("there.jsonl"), world.read("full/mine")), ("mine".to_owned(), "mine".to_owned()));
    let base = place(&world).join("chat/messages/base.jsonl");
    let damaged = fs::read_to_string(&base).unwrap().replace("Let me look", "Let me hook");
    fs::write(&base, damaged).unwrap();
    for command in [&["export", "chat", "new.jsonl", "--messages"][..], &["export", "chat", "new"]] {
        let ran = instance(&world, command);
        assert!(ran.code == 1 && ran.stderr.contains("line 2 of"), "{ran}");
    }
    assert!(!world.has("new.jsonl") && !world.has("new"));
}

#[test]
fn an_open_turn_is_in_the_messages_of_an_export() {
    let world = with_chat();
    open_turn(&world, "chat");
    let ran = instance(&world, &["export", "chat"]);
    assert_eq!(ran.stdout.lines().count(), 4);
    assert_eq!(ran.stderr, "note: turn \"turn-7\" is not over; its 1 event so far are in the messages\n");
    assert_eq!(instance(&world, &["show", "chat", "--json"]).json()["openTurn"]["events"], 1, "it is still open here");
}

#[test]
fn an_export_of_everything_changes_nothing_and_comes_back_as_it_was() {
    let world = with_chat();
    open_turn(&world, "chat");
    insta::assert_snapshot!(instance(&world, &["export", "chat", "all"]), @r#"
    [stderr]
    note: turn "turn-7" is not over; its 1 event so far are in events.jsonl
    wrote 3 messages to "all"
    [exit 0]
    "#);
    assert_eq!(world.read("all/messages/base.jsonl"), LINES, "what is confirmed");
    let events = world.read("all/messages/events.jsonl");
    assert!(events.starts_with(r#"{"type":"append","message":{"id":"m4","#) && events.lines().count() == 1, "{events}");
    // Another day, at another place.
    let metadata = world.read("all/metadata.json");
    let made = metadata.split("\"createdAt\": \"").nth(1).unwrap().split('"').next().unwrap();
    world.write("all/metadata.json", metadata.replace(made, "2026-01-02T03:04:05.678Z"));
    assert_eq!(instance(&world, &["import", "back", "all"]).code, 0);
    let shown = instance(&world, &["show", "back", "--json"]).json();
    assert_eq!((&shown["createdAt"], &shown["openTurn"]["events"]), (&json!("2026-01-02T03:04:05.678Z"), &json!(1)));
    assert_eq!(instance(&world, &["export", "back", "again"]).code, 0);
    for file in ["messages/base.jsonl", "messages/events.jsonl"] {
        assert_eq!(world.read(&format!("again/{file}")), world.read(&format!("all/{file}")), "{file}");
    }
}

#[test]
fn what_goondan_wrote_is_imported() {
    let world = World::configured(CONFIG);
    let [first, second, third] = LINES.lines().collect::<Vec<_>>()[..] else { panic!() };
    world.write("g/metadata.json", "{\n  \"status\": \"processing\",\n  \"agentName\": \"coder\",\n  \"instanceKey\": \"cli\",\n  \"createdAt\": \"2026-01-01T00:00:00.000Z\",\n  \"updatedAt\": \"2026-01-01T00:00:00.000Z\"\n}\n");
    world.write("g/messages/base.jsonl", format!("{first}\n{second}\n"));
    let events = [
        format!(r#"{{"type":"append","message":{third}}}"#),
        format!(r#"{{"type":"replace","targetId":"m1","message":{}}}"#, first.replace("src?", "lib?")),
        r#"{"type":"remove","targetId":"m2"}"#.to_owned(),
    ];
    world.write("g/messages/events.jsonl", events.join("\n") + "\n");
    world.write("g/extensions/compaction.json", "{\n  \"kept\": 2\n}");
    insta::assert_snapshot!(instance(&world, &["import", "from-goondan", "g"]), @r#"
    imported 2 messages as instance "from-goondan" of coder
    [stderr]
    3 events of a turn that is not over came along; `paddock instance restart from-goondan` ends it
    [exit 0]
    "#);
    let expected = format!("{}\n{third}\n", first.replace("src?", "lib?"));
    assert_eq!(instance(&world, &["export", "from-goondan"]).stdout, expected);
    assert_eq!(instance(&world, &["restart", "from-goondan"]).code, 0);
    assert_eq!(instance(&world, &["export", "from-goondan"]).stdout, expected);
    let told = instance(&world, &["show", "from-goondan", "--json"]).json();
    assert_eq!((&told["agent"], &told["openTurn"]), (&json!("coder"), &json!(null)));
    assert_eq!(told["extensions"], json!([{"name": "compaction", "bytes": 10}]));
    // The files may also lie beside each other.
    world.write("flat/base.jsonl", LINES);
    assert_eq!(instance(&world, &["import", "flat", "flat"]).code, 0);
    assert_eq!(instance(&world, &["export", "flat"]).stdout, LINES);
}

#[test]
fn what_is_no_conversation_is_refused_with_its_line_and_nothing_is_imported() {
    let world = with_chat();
    let good = LINES.lines().next().unwrap();
    let own = fs::read_to_string(place(&world).join("chat/messages/base.jsonl")).unwrap();
    let own_line = own.lines().next().unwrap();
    for (bad, why) in [
        ("{\"id\":", "EOF while parsing"),
        ("not json", "expected"),
        (r#"{"role":"user","content":"hi"}"#, "field"),
        (own_line, "the field"),
        (&good.replace(r#""metadata":{}"#, r#""metadata":{},"more":1"#), "the field \"more\""),
        (&good.replace("2026-11-15T12:30:00.000Z", "noon"), "noon"),
    ] {
        let ran = world.paddock_reading(&["instance", "import", "new", "-"], &format!("{good}\n{bad}\n{good}\n"));
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.starts_with("error: line 2 of \"standard input\" is damaged: "), "{ran}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("\nhint: nothing was imported; "), "{ran}");
        assert_eq!(keys(&world), ["chat"]);
    }
    let mut bytes = format!("{good}\n").into_bytes();
    bytes.extend(b"{\"id\":\"\xff\"}\n");
    world.write("g/base.jsonl", bytes);
    assert!(
        instance(&world, &["import", "new", "g"])
            .stderr
            .contains("line 2 of \"g/base.jsonl\" is damaged: it is not text")
    );
    world.write("g/base.jsonl", LINES);
    for (file, content) in [
        ("g/events.jsonl", "{\"type\":\"swap\"}\n"),
        ("g/metadata.json", "{}"),
        ("g/extensions/.json", "{}"),
        ("g/extensions/x.txt", "{}"),
        ("g/extensions/x.json", "[]"),
    ] {
        world.write(file, content);
        let ran = instance(&world, &["import", "new", "g"]);
        assert!(ran.code == 1 && ran.stderr.contains(file), "{file}: {ran}");
        fs::remove_file(world.project().join(file)).unwrap();
    }
    assert_eq!(keys(&world), ["chat"]);
    for missing in ["nowhere", "g/extensions"] {
        let ran = instance(&world, &["import", "new", missing]);
        assert!(ran.code == 1 && ran.stderr.contains("hint: name the directory of an instance"), "{ran}");
    }
    // One that is there is never written over.
    let ran = instance(&world, &["import", "chat", "g"]);
    assert!(ran.code == 1 && ran.stderr.starts_with("error: there is an instance \"chat\" already"), "{ran}");
    assert_eq!(keys(&world), ["chat"]);
}
