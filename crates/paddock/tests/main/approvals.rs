//! What waits for a person, from the call to the decision: through the command line, over MCP, and for commands.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Ran, World};

fn delete(world: &World, path: &str) -> Ran {
    world.paddock(&["tool", "--json", "delete_file", &json!({ "path": path }).to_string()])
}

/// The approval that a call waits for.
fn parked(ran: &Ran) -> String {
    assert_eq!(ran.code, 3, "{ran}");
    let answer = ran.json();
    assert_eq!((&answer["verdict"], &answer["structured"]["error"]), (&json!("parked"), &json!("parked")), "{ran}");
    answer["structured"]["approval"].as_str().unwrap().to_owned()
}

fn decide(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(&[&["approvals"], arguments].concat());
    command.env("USER", "alice");
    world.run(command, "")
}

fn with_old_file() -> World {
    let world = World::seed();
    world.write("workspace/old.txt", "one\ntwo\n");
    world
}

#[test]
fn a_delete_waits_is_shown_is_approved_and_runs_once() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(parked(&delete(&world, "workspace/old.txt")), id);
    assert!(world.has("workspace/old.txt"));

    let listed = world.paddock(&["approvals", "list", "--json"]).json();
    assert_eq!((&listed[0]["id"], listed.as_array().unwrap().len()), (&json!(id), 1));
    let diff = &listed[0]["changes"][0]["diff"];
    assert_eq!((&diff["hunks"], &diff["removed"], &diff["more"]), (&json!([]), &json!(2), &json!(2)), "{listed}");
    assert_eq!(world.paddock(&["approvals", "list", "--agent", "other", "--json"]).json(), json!([]));
    let shown = world.paddock(&["approvals", "show", &id]);
    for words in ["delete_file", "main", "high", "+0 −2", "-one", "this call, once", "--reach always", "old.txt"] {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
    let facts = world.paddock(&["approvals", "show", &id, "--json"]).json();
    assert_eq!((&facts["added"], &facts["removed"], &facts["whole"]), (&json!(0), &json!(2), &json!(true)));
    assert_eq!(facts.get("token"), None);

    let approved = decide(&world, &["approve", &id[..8]]);
    assert_eq!(approved.code, 0, "{approved}");
    let again = decide(&world, &["approve", &id]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("is approved already, by alice"), "{again}");
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
    assert!(!world.has("workspace/old.txt"));
    world.write("workspace/old.txt", "one\ntwo\n");
    assert_ne!(parked(&delete(&world, "workspace/old.txt")), id);

    let rows = world.paddock(&["audit", "query", "--tool", "approvals approve", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    assert_eq!(world.paddock(&["audit", "verify"]).code, 0);
    let waited = world.paddock(&["audit", "query", "--outcome", "parked", "--json"]).json();
    assert_eq!(waited.as_array().unwrap().len(), 3, "{waited}");
}

#[test]
fn what_is_rejected_is_told_with_its_reason() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(decide(&world, &["reject", &id, "--reason", "move it to the archive"]).code, 0);
    let told = delete(&world, "workspace/old.txt");
    assert_eq!(told.code, 1);
    assert!(told.stdout.contains("alice rejected this call: move it to the archive"), "{told}");
    assert!(world.has("workspace/old.txt"));
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json(), json!([]));
    assert_eq!(world.paddock(&["approvals", "list", "--all", "--json"]).json()[0]["status"], "rejected");
}

#[test]
fn nothing_is_decided_that_would_not_count_any_more() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    world.write("paddock.toml", format!("{}\n# changed\n", world.read("paddock.toml")));
    let refused = decide(&world, &["approve", &id]);
    assert!(refused.code == 1 && refused.stderr.contains("paddock.toml has changed since"), "{refused}");
    let second = parked(&delete(&world, "workspace/old.txt"));
    assert_ne!(second, id);
    assert_eq!(decide(&world, &["approve", &second]).code, 0);
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
}

#[test]
fn a_grant_for_good_holds_for_no_place_that_a_link_leads_to_later() {
    let world = World::seed();
    let rule = |name: &str| format!("[[approvals.rule]]\npath = \"/project/workspace/{name}\"\nrisk = \"high\"\n");
    let rules = rule("report.csv") + &rule("migrations/**");
    world.write("paddock.toml", format!("{}\n{rules}", world.read("paddock.toml")));
    world.write("workspace/migrations/1.sql", "mine");
    let write = |content: &str| {
        let arguments = json!({ "path": "workspace/report.csv", "content": content }).to_string();
        world.paddock(&["tool", "--json", "write_file", &arguments])
    };
    assert_eq!(decide(&world, &["approve", &parked(&write("1")), "--reach", "always"]).code, 0);
    assert_eq!((write("2").code, write("3").code), (0, 0), "it is not asked about again");
    let report = world.project().join("workspace/report.csv");
    std::fs::remove_file(&report).unwrap();
    std::os::unix::fs::symlink("migrations/1.sql", &report).unwrap();
    parked(&write("evil"));
    assert_eq!(world.read("workspace/migrations/1.sql"), "mine");
}

#[test]
fn ids_that_begin_alike_are_listed_and_a_reason_steers_no_terminal() {
    let world = with_old_file();
    world.write("workspace/older.txt", "x\n");
    let ids = ["workspace/old.txt", "workspace/older.txt"].map(|path| parked(&delete(&world, path)));
    let several = decide(&world, &["approve", "ap-"]);
    assert_eq!(several.code, 2, "{several}");
    assert!(several.stderr.contains("of 2 that wait") && ids.iter().all(|id| several.stderr.contains(id)), "{several}");
    assert_eq!(decide(&world, &["reject", &ids[0], "--reason", "no\n\u{1b}[31mred"]).code, 0);
    let told = world.paddock(&["tool", "delete_file", "{\"path\": \"workspace/old.txt\"}"]);
    assert!(told.stdout.contains("no\n\\u{1b}[31mred"), "{told}");
}

/// What an agent puts into a directory after its move was agreed to would move along.
#[test]
fn a_move_of_a_directory_is_agreed_to_with_what_is_in_it() {
    let world = World::seed();
    let rule = "[[approvals.rule]]\npath = \"/project/workspace/pub/**\"\nrisk = \"high\"\n";
    world.write("paddock.toml", format!("{}\n{rule}", world.read("paddock.toml")));
    world.write("workspace/a/deep/f.txt", "seen\n");
    let arguments = json!({ "source": "workspace/a", "destination": "workspace/pub/a" }).to_string();
    let moves = || world.paddock(&["tool", "--json", "move_file", &arguments]);
    let id = parked(&moves());
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    assert_eq!(shown["whole"], false, "{shown}");
    assert_eq!(decide(&world, &["approve", &id]).code, 0);
    let write = json!({ "path": "workspace/a/deep/g.sh", "content": "unseen" }).to_string();
    assert_eq!(world.paddock(&["tool", "write_file", &write]).code, 0);
    let second = parked(&moves());
    assert_ne!(second, id);
    assert_eq!(decide(&world, &["approve", &second, "--reach", "always"]).code, 1);
    assert_eq!(decide(&world, &["approve", &second]).code, 0);
    assert_eq!(moves().code, 0);
    assert!(world.has("workspace/pub/a/deep/g.sh"));
}

#[test]
fn what_was_rejected_is_asked_about_anew_where_it_is_something_else_by_now() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(decide(&world, &["reject", &id]).code, 0);
    assert_eq!(delete(&world, "workspace/old.txt").code, 1);
    let again = decide(&world, &["approve", &id]);
    assert!(again.code == 1 && again.stderr.contains("is rejected already, by alice"), "{again}");
    assert!(again.stderr.contains("it stands until 20") && again.stderr.contains("is asked about anew"), "{again}");
    world.write("paddock.toml", format!("{}\n# changed\n", world.read("paddock.toml")));
    let second = parked(&delete(&world, "workspace/old.txt"));
    assert_ne!(second, id);
    assert_eq!(decide(&world, &["reject", &second]).code, 0);
    world.write("workspace/old.txt", "three\n");
    let third = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(decide(&world, &["approve", &third]).code, 0);
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
    assert!(!world.has("workspace/old.txt"));
}

/// A list may have very many, and each of them very long ones: the whole is with the one that is asked for.
#[test]
fn long_arguments_are_whole_where_one_is_shown_and_cut_in_lists() {
    let world = with_old_file();
    let rule = "[[approvals.rule]]\ntool = \"write_file\"\nrisk = \"high\"\n";
    world.write("paddock.toml", format!("{}\n{rule}", world.read("paddock.toml")));
    // Its thousand and twenty-fourth byte is within a character.
    let content = format!("a{}", "é".repeat(10_000));
    let arguments = json!({ "path": "workspace/new.txt", "content": content }).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "write_file", &arguments]));
    let listed = world.paddock(&["approvals", "list", "--json"]).json()[0].clone();
    let cut = format!("a{}… (18978 more bytes)", "é".repeat(511));
    assert_eq!(listed["arguments"], json!({ "path": "workspace/new.txt", "content": cut }));
    assert_eq!(listed["arguments_cut"], json!(18_978));
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    assert_eq!((&shown["arguments"]["content"], &shown["arguments_cut"]), (&json!(content), &json!(0)));
    assert_eq!(listed["shown"], shown["shown"], "a decision is about the whole");
    assert_eq!(decide(&world, &["approve", &id]).code, 0);
    assert_eq!(world.paddock(&["tool", "write_file", &arguments]).code, 0);
    assert_eq!(world.read("workspace/new.txt"), content);
}

#[test]
fn the_audit_says_which_call_was_decided_how_and_why() {
    let world = with_old_file();
    world.write("workspace/older.txt", "x\n");
    let path = "workspace/old.txt";
    let ask = || parked(&delete(&world, path));
    let row = |tool: &str| {
        let rows = world.paddock(&["audit", "query", "--tool", tool, "--json"]).json();
        rows.as_array().unwrap().iter().rfind(|row| row["kind"] == "outcome").unwrap()["reason"].clone()
    };
    let edited = ask();
    decide(&world, &["edit", &edited, "--set", "path=workspace/older.txt"]);
    assert_eq!(row("approvals edit"), json!(format!("{edited}: with other arguments")));
    assert_eq!(delete(&world, path).code, 0);
    let approved = ask();
    decide(&world, &["approve", &approved, "--reach", "exact"]);
    assert_eq!(row("approvals approve"), json!(format!("{approved}: exact")));
    let grants = world.paddock(&["approvals", "grants", "--json"]).json();
    let grant = grants[0]["id"].as_str().unwrap();
    decide(&world, &["revoke", grant]);
    assert_eq!(row("approvals revoke"), json!(format!("{grant} of {approved}")));
    let rejected = ask();
    decide(&world, &["reject", &rejected, "--reason", &"why ".repeat(100)]);
    assert_eq!(row("approvals reject"), json!(format!("{rejected}: {}…", "why ".repeat(50))));
    let tail = world.paddock(&["audit", "tail"]);
    assert!(tail.stdout.contains(&format!("({approved}: exact)")), "{tail}");

    // What a command changed is made under the name of its approval.
    let held = exec(&world, REMOVE).json()["structured"]["approval"].as_str().unwrap().to_owned();
    decide(&world, &["approve", &held]);
    let made = row("execute_command");
    assert!(made.as_str().is_some_and(|reason| reason.starts_with(&format!("{held}: "))), "{made}");
}

#[test]
fn an_edited_call_runs_with_the_other_arguments_if_the_policy_allows_them() {
    let world = with_old_file();
    world.write("workspace/older.txt", "x\n");
    let id = parked(&delete(&world, "workspace/old.txt"));
    let wrong = decide(&world, &["edit", &id, "--set", "paht=x"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert_eq!(decide(&world, &["edit", &id, "--set", "path=workspace/older.txt"]).code, 0);
    let ran = delete(&world, "workspace/old.txt");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("A person changed the arguments of this call"), "{ran}");
    assert!(world.has("workspace/old.txt") && !world.has("workspace/older.txt"));

    let id = parked(&delete(&world, "workspace/old.txt"));
    world.write("workspace/older.txt", "x\n");
    assert_eq!(decide(&world, &["edit", &id, "--set", "path=workspace/older.txt"]).code, 0);
    std::fs::remove_file(world.project().join("workspace/older.txt")).unwrap();
    let failed = delete(&world, "workspace/old.txt");
    assert_eq!(failed.code, 1, "{failed}");
    assert!(failed.stdout.contains("A person changed the arguments of this call"), "{failed}");
    assert!(world.has("workspace/old.txt"));
}

#[test]
fn a_call_is_not_edited_into_what_the_policy_denies() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    for (path, why) in
        [("src/App.tsx", "protected path"), ("workspace/.env", "not available here"), ("../x", "Can only delete in")]
    {
        let edit = decide(&world, &["edit", &id, "--arguments", &json!({ "path": path }).to_string()]);
        assert_eq!(edit.code, 1, "{path}: {edit}");
        assert!(edit.stderr.contains("it would not run, so nothing was decided"), "{path}: {edit}");
        assert!(edit.stderr.contains(why), "{path}: {edit}");
    }
    let still = world.paddock(&["approvals", "show", &id, "--json"]).json();
    assert_eq!(still["status"], "pending", "{still}");
    assert_eq!(
        world.paddock(&["approvals", "list", "--json"]).json().as_array().unwrap().len(),
        1,
        "nothing new waits"
    );
    let denied = world.paddock(&["audit", "query", "--outcome", "denied", "--json"]).json();
    assert_eq!(denied, json!([]), "the agent asked for nothing of it");
    assert_eq!(decide(&world, &["approve", &id]).code, 0);
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
}

#[test]
fn a_recursive_delete_shows_directories_as_what_they_are() {
    let world = World::seed();
    world.write("workspace/old/deep/a.txt", "one\n");
    let call = json!({ "path": "workspace/old", "recursive": true }).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "delete_file", &call]));
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    let preview = shown["preview"].as_str().unwrap();
    for directory in ["old/", "old/deep/"] {
        assert!(preview.contains(&format!("  deleted      /project/workspace/{directory}\n")), "{preview}");
    }
    assert!(preview.contains("-one"), "{preview}");
    assert_eq!((&shown["whole"], &shown["summary"]), (&json!(true), &json!("3 paths: 3 deleted, +0 −1")), "{preview}");
    assert_eq!(decide(&world, &["approve", &id, "--reach", "always"]).code, 0);
}

#[test]
fn an_editor_can_be_used() {
    let world = with_old_file();
    world.write("workspace/older.txt", "x\n");
    let id = parked(&delete(&world, "workspace/old.txt"));
    let mut command = world.command(&["approvals", "edit", &id]);
    command.env("EDITOR", "sed -i s/old.txt/older.txt/");
    let edited = world.run(command, "");
    assert_eq!(edited.code, 0, "{edited}");
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
    assert!(world.has("workspace/old.txt") && !world.has("workspace/older.txt"));
}

#[test]
fn a_grant_lasts_until_it_is_revoked() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(decide(&world, &["approve", &id, "--reach", "always"]).code, 0);
    for _ in 0..2 {
        assert_eq!(delete(&world, "workspace/old.txt").code, 0);
        world.write("workspace/old.txt", "again\n");
    }
    let grants = world.paddock(&["approvals", "grants", "--json"]).json();
    assert_eq!((&grants[0]["reach"], &grants[0]["granted_by"]), (&json!("always"), &json!("alice")), "{grants}");
    let grant = grants[0]["id"].as_str().unwrap();
    assert_eq!(decide(&world, &["revoke", grant]).code, 0);
    assert_eq!(decide(&world, &["revoke", grant]).code, 1);
    parked(&delete(&world, "workspace/old.txt"));
}

#[test]
fn nobody_agrees_to_a_session_that_has_ended() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    let offered = world.paddock(&["approvals", "show", &id, "--json"]).json()["reaches"].clone();
    let session = offered.as_array().unwrap().iter().find(|offer| offer["reach"] == "session").unwrap();
    assert!(session["withheld"].as_str().is_some_and(|why| why.contains("has ended")), "{offered}");
    let refused = decide(&world, &["approve", &id, "--reach", "session"]);
    assert!(refused.code == 1 && refused.stderr.contains("--reach exact"), "{refused}");
    assert_eq!(decide(&world, &["approve", &id, "--reach", "exact"]).code, 0);
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
}

#[test]
fn a_changed_policy_or_file_is_asked_about_anew() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    decide(&world, &["approve", &id]);
    world.write("paddock.toml", format!("{}\n# changed\n", world.read("paddock.toml")));
    let second = parked(&delete(&world, "workspace/old.txt"));
    assert_ne!(second, id);
    decide(&world, &["approve", &second]);
    world.write("workspace/old.txt", "three\n");
    let third = parked(&delete(&world, "workspace/old.txt"));
    assert_ne!(third, second);
    let preview = &world.paddock(&["approvals", "show", &third, "--json"]).json()["preview"];
    assert!(preview.as_str().unwrap().contains("-three"), "{preview}");
}

#[test]
fn what_deceives_or_is_no_text_is_shown_as_what_it_is() {
    let world = World::seed();
    world.write("workspace/odd.txt", "safe\u{202e}txt\u{200b}\n");
    let shown = |path: &str| {
        let id = parked(&delete(&world, path));
        world.paddock(&["approvals", "show", &id, "--json"]).json()
    };
    let odd = shown("workspace/odd.txt");
    let preview = odd["preview"].as_str().unwrap();
    assert!(
        preview.contains("\\u{202e}") && preview.contains("\\u{200b}") && !preview.contains('\u{202e}'),
        "{preview}"
    );
    world.write("workspace/image.bin", b"\0\x01\x02");
    let binary = shown("workspace/image.bin");
    assert_eq!(binary["whole"], false);
    assert!(binary["preview"].as_str().unwrap().contains("no text: 3 bytes"), "{binary}");
    let id = binary["id"].as_str().unwrap();
    let always = decide(&world, &["approve", id, "--reach", "always"]);
    assert!(always.code == 1 && always.stderr.contains("not shown whole"), "{always}");
}

#[test]
fn modes_that_a_command_sets_are_shown_to_whoever_decides() {
    let world = World::seed();
    for name in ["open.txt", "edited.sh", "same.txt", "gone.txt"] {
        world.write(&format!("workspace/{name}"), "one\n");
        let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(world.project().join("workspace").join(name), plain).unwrap();
    }
    // What a person made goes too, so that somebody is asked.
    let text = "unlink gone.txt; echo 1 > run.sh; chmod 755 run.sh; echo 1 > plain.txt; chmod 777 open.txt; \
                mkdir -m 700 own; echo two >> edited.sh; chmod 755 edited.sh; echo two >> same.txt; \
                head -c 3 /dev/zero > tool; chmod 755 tool";
    let command = json!({ "command": text }).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "execute_command", &command]));
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    let mut said: Vec<String> = words(&shown).into_iter().filter(|line| line.contains("mode ")).collect();
    said.sort();
    let wanted = [
        "changed /project/workspace/edited.sh (mode 644 → 755)",
        "mode or time /project/workspace/open.txt (mode 644 → 777)",
        "new /project/workspace/own/ (mode 700)",
        "new /project/workspace/run.sh (new file mode 100755)",
        "new /project/workspace/tool (new file mode 100755; no text: 3 bytes)",
    ];
    assert_eq!(said, wanted, "{shown:#}");
    let preview = shown["preview"].as_str().unwrap();
    assert!(preview.contains("== /project/workspace/plain.txt (new, +1 −0)") && preview.contains("+two"), "{preview}");
}

/// What becomes of each path, as people read it.
fn words(shown: &Value) -> Vec<String> {
    let words = |change: &Value| change["words"].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    shown["changes"].as_array().unwrap().iter().map(words).collect()
}

/// The command's change that waits now, as it is shown.
fn held_by(world: &World, command: &str) -> Value {
    let call = json!({ "command": command }).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "execute_command", &call]));
    world.paddock(&["approvals", "show", &id, "--json"]).json()
}

/// Neither line ends of old, nor what a link says, pass for another file or swallow one.
#[test]
fn no_content_and_no_link_forges_or_swallows_a_part_of_what_is_shown() {
    let world = with_old_file();
    let command = r#"ln -s "$(printf 'docs\n--- /dev/null\n+++ /project/workspace/forged.md\n@@ -0,0 +1,4000 @@\n+# Notes\n+')" 0link
        printf 'x\r%.0s' $(seq 400) > 1swallows; echo after > 2after; unlink old.txt"#;
    let shown = held_by(&world, command);
    let paths: Vec<&str> =
        shown["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    let here = |name: &str| format!("/project/workspace/{name}");
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [here("0link"), here("1swallows"), here("2after"), here("old.txt")], "{shown:#}");
    assert_eq!(shown["summary"], "4 paths: 1 deleted, 3 new, +2 −2", "{shown:#}");
    let id = shown["id"].as_str().unwrap();
    let told = world.paddock(&["approvals", "show", id]).stdout;
    assert!(!told.contains('\r') && told.contains("docs\\u{a}--- /dev/null"), "{told}");
    let headings: Vec<&str> = told.lines().filter(|line| line.starts_with("== ")).collect();
    assert_eq!(headings.len(), 3, "{told}");
    assert!(!told.lines().any(|line| line.starts_with("+++ ") || line.starts_with("@@ -0,0 +1,4000")), "{told}");
}

/// However much is in the first, the last is named, and counted.
#[test]
fn every_path_is_named_with_its_fate_before_what_is_in_it() {
    let world = World::seed();
    let long = "a line that is not short\n".repeat(7500);
    for name in ["1", "2", "3", "4"] {
        world.write(&format!("workspace/{name}.txt"), &long);
    }
    world.write("workspace/5-payroll.txt", "salaries\n");
    let shown = held_by(&world, "for file in *.txt; do unlink $file; done");
    assert_eq!(shown["summary"], "5 paths: 5 deleted, +0 −30001", "{}", shown["summary"]);
    assert_eq!(shown["whole"], false);
    let told = world.paddock(&["approvals", "show", shown["id"].as_str().unwrap()]).stdout;
    let (names, lines) = told.split_once("\n== ").unwrap();
    for name in ["1.txt", "2.txt", "3.txt", "4.txt", "5-payroll.txt"] {
        assert!(names.contains(&format!("  deleted      /project/workspace/{name}")), "{names}");
    }
    assert!(lines.contains("-salaries"), "what still fits is shown");
    let left_out: Vec<String> =
        words(&shown).into_iter().filter(|words| words.contains("too much to be shown")).collect();
    assert_eq!(left_out.len(), 2, "{left_out:?}");
}

#[test]
fn where_even_names_are_too_many_their_number_is_told_by_directory() {
    let world = World::seed();
    let make = "mkdir -p a/deep b; for n in $(seq 1500); do echo 1 > a/deep/$n; done; for n in $(seq 700); do echo 1 > b/$n; done";
    let shown = held_by(&world, make);
    assert_eq!(shown["summary"], "2203 paths: 2203 new, +2200 −0", "{}", shown["summary"]);
    let spots = json!([
        "/project/workspace/: 2 paths: 2 new",
        "/project/workspace/a/: 1501 paths: 1501 new",
        "/project/workspace/b/: 700 paths: 700 new"
    ]);
    assert_eq!((&shown["spots"], &shown["whole"]), (&spots, &json!(false)));
    assert_eq!(shown["changes"].as_array().unwrap().len(), 2000);
    let told = world.paddock(&["approvals", "show", shown["id"].as_str().unwrap()]).stdout;
    assert!(
        told.contains("Not every path can be named") && told.contains("  /project/workspace/b/: 700 paths"),
        "{told}"
    );
    let always = decide(&world, &["approve", shown["id"].as_str().unwrap(), "--reach", "always"]);
    assert!(always.code == 1 && always.stderr.contains("not shown whole"), "{always}");
}

#[test]
fn rules_raise_and_lower_the_risk_and_say_why() {
    let world = with_old_file();
    let rules = "\n[[approvals.rule]]\ntool = \"delete_file\"\npath = \"/project/workspace/tmp/**\"\nrisk = \"low\"\n\
                 [[approvals.rule]]\ntool = \"write_file\"\npath = \"/project/workspace/migrations/**\"\nrisk = \"high\"\n\
                 why = \"schema changes are reviewed\"\n";
    world.write("paddock.toml", format!("{}{rules}", world.read("paddock.toml")));
    let why = world.paddock(&["why", "write", "workspace/migrations/1.sql"]);
    assert!(why.code == 0 && why.stdout.contains("says the risk is high: schema changes are reviewed"), "{why}");
    assert!(!world.paddock(&["why", "write", "workspace/x"]).stdout.contains("risk"));
    assert!(why.stdout.contains("then: a person is asked before it happens: its risk is high"), "{why}");
    let deleting = |path: &str| world.paddock(&["why", "delete", path]).stdout;
    assert!(
        deleting("workspace/old.txt").contains("a person is asked") && !deleting("workspace/tmp/x").contains("asked")
    );
    assert!(world.paddock(&["check"]).stdout.contains("says the risk is low"));
    world.write("workspace/tmp/x", "x\n");
    assert_eq!(delete(&world, "workspace/tmp/x").code, 0);
    let arguments = json!({"path": "workspace/migrations/1.sql", "content": "create\n"}).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "write_file", &arguments]));
    let shown = world.paddock(&["approvals", "show", &id]);
    assert!(shown.stdout.contains("paddock.toml:") && shown.stdout.contains("schema changes are reviewed"), "{shown}");
    assert!(shown.stdout.contains("+create"), "{shown}");
}

#[test]
fn what_takes_very_much_away_waits_and_says_how_much() {
    let world = with_old_file();
    let long: String = (0..4812).map(|n| format!("{n}\n")).collect();
    world.write("workspace/long.txt", &long);
    let over = |path: &str| {
        let arguments = json!({ "path": path, "content": "short\n" }).to_string();
        world.paddock(&["tool", "--json", "write_file", &arguments])
    };
    let id = parked(&over("workspace/long.txt"));
    let shown = world.paddock(&["approvals", "show", &id]).stdout;
    assert!(shown.contains("risk       high: it replaces 4,812 lines"), "{shown}");
    let held = exec(&world, ": > long.txt");
    assert_eq!(held.code, 3, "{held}");
    let waits = world.paddock(&["approvals", "list", "--json"]).json();
    let held = waits.as_array().unwrap().iter().find(|one| one["tool"] == "execute_command").unwrap();
    let shown = world.paddock(&["approvals", "show", held["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["rule"], json!("it replaces 4,812 lines"), "{shown}");
    // What is the agent's own is its own affair, and so is what a person finds small enough.
    let own = json!({ "path": "workspace/own.txt", "content": long }).to_string();
    assert_eq!(world.paddock(&["tool", "write_file", &own]).code, 0);
    assert_eq!(over("workspace/own.txt").code, 0);
    world.write("paddock.toml", format!("{}\n[approvals]\nlarge = {{ lines = 5000 }}\n", world.read("paddock.toml")));
    assert_eq!(over("workspace/long.txt").code, 0);
}

#[test]
fn padding_a_file_first_hides_nothing_of_what_is_taken_away() {
    let world = with_old_file();
    let long: String = (0..4812).map(|n| format!("{n}\n")).collect();
    world.write("workspace/data.csv", &long);
    let log = "something happened\n".repeat((20 << 20) / 19);
    world.write("workspace/log.txt", &log);
    // Its twin first: adding is never much, to a large file as to any.
    assert_eq!(exec(&world, "head -c 8500000 /dev/zero >> data.csv").code, 0);
    assert_eq!(exec(&world, "echo one line more >> log.txt").code, 0);
    let held = exec(&world, "head -c 8523951 /dev/zero > data.csv; tail -c +1 data.csv | wc -c");
    assert_eq!(held.code, 3, "{held}");
    let id = held.json()["structured"]["approval"].as_str().unwrap().to_owned();
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    assert_eq!(shown["rule"], json!("it replaces 4,812 lines"), "{shown}");
}

#[test]
fn nothing_waits_where_nobody_wants_to_be_asked() {
    let world = with_old_file();
    world.write("paddock.toml", format!("{}\n[approvals]\nabove = \"high\"\n", world.read("paddock.toml")));
    assert_eq!(delete(&world, "workspace/old.txt").code, 0);
    assert_eq!(world.paddock(&["approvals", "list"]).stdout, "nothing waits for a person\n");
    let none = world.paddock(&["approvals", "show", "ap-none"]);
    assert!(none.code == 1 && none.stderr.contains("hint: "), "{none}");
}

#[test]
fn somebody_is_told_with_nothing_but_tool_path_and_id() {
    let world = with_old_file();
    let told = world.path().join("told");
    let program = format!("printf '%s\\n' \"$@\" > {}.part; mv {0}.part {0}", told.display());
    let notify = json!(["sh", "-c", program, "sh"]);
    world.write("paddock.toml", format!("{}\n[approvals]\nnotify = {notify}\n", world.read("paddock.toml")));
    let id = parked(&delete(&world, "workspace/old.txt"));
    let until = Instant::now() + Duration::from_secs(60);
    while !told.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let words = std::fs::read_to_string(told).unwrap();
    assert_eq!(words, format!("delete_file\n/project/workspace/old.txt\n{id}\n"));
}

fn exec(world: &World, command: &str) -> Ran {
    world.paddock(&["exec", "--json", command])
}

const REMOVE: &str = "find . -name old.txt -delete; echo ran >> log.txt; echo done";

#[test]
fn what_a_command_changed_is_held_and_made_as_it_is() {
    let world = with_old_file();
    let held = exec(&world, REMOVE);
    assert_eq!(held.code, 3, "{held}");
    let id = held.json()["structured"]["approval"].as_str().unwrap().to_owned();
    assert!(world.has("workspace/old.txt") && !world.has("workspace/log.txt"));
    // The same command is not run again while it waits, and another one says that it does.
    let waits = exec(&world, REMOVE);
    assert_eq!((waits.code, &waits.json()["structured"]["approval"]), (3, &json!(id)), "{waits}");
    let other = world.paddock(&["exec", "true"]);
    assert!(other.code == 0 && other.stderr.contains("still waits for a person"), "{other}");

    let shown = world.paddock(&["approvals", "show", &id]);
    assert!(shown.stdout.contains("-one") && shown.stdout.contains("+ran"), "{shown}");
    let edit = decide(&world, &["edit", &id, "--set", "command=true"]);
    assert!(edit.code == 1 && edit.stderr.contains("not edited"), "{edit}");
    let approved = decide(&world, &["approve", &id]);
    assert_eq!(approved.code, 0, "{approved}");
    assert!(!world.has("workspace/old.txt"));
    assert_eq!(world.read("workspace/log.txt"), "ran\n");

    // The agent hears of it once, without running it again; then it runs.
    let told = exec(&world, REMOVE);
    assert_eq!((told.code, told.json()["output"].as_str()), (0, Some("done\n")), "{told}");
    assert_eq!(world.read("workspace/log.txt"), "ran\n");
    assert_eq!(exec(&world, REMOVE).code, 0);
    assert_eq!(world.read("workspace/log.txt"), "ran\nran\n");

    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert!(world.has("workspace/old.txt") && !world.has("workspace/log.txt"));
}

#[test]
fn a_held_change_that_meets_another_one_is_told_and_not_made() {
    let world = with_old_file();
    let held = exec(&world, REMOVE);
    let id = held.json()["structured"]["approval"].as_str().unwrap().to_owned();
    world.write("workspace/old.txt", "somebody else's\n");
    let approved = decide(&world, &["approve", &id]);
    assert_eq!(approved.code, 1, "{approved}");
    let why = "what the call would change has changed since it was shown";
    assert!(approved.stderr.contains(&format!("cannot be made any more: {why}. Nothing of it was made")), "{approved}");
    let listed = world.paddock(&["approvals", "list", "--all"]);
    assert!(listed.stdout.contains("overtaken") && listed.stdout.contains(why), "{listed}");
    let shown = world.paddock(&["approvals", "show", &id, "--json"]).json();
    let told = (&shown["status"], &shown["decided_by"], shown["reason"].as_str().unwrap());
    assert_eq!(told, (&json!("overtaken"), &json!("alice"), format!("nothing was made: {why}").as_str()));
    assert_eq!(world.read("workspace/old.txt"), "somebody else's\n");
    assert!(!world.has("workspace/log.txt"));
    // It can be run again, and is asked about anew.
    let again = exec(&world, REMOVE);
    assert_eq!(again.code, 3, "{again}");
    assert_ne!(again.json()["structured"]["approval"], Value::String(id));
}

#[test]
fn a_held_change_that_is_rejected_is_gone() {
    let world = with_old_file();
    let held = exec(&world, REMOVE);
    let id = held.json()["structured"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(decide(&world, &["reject", &id, "--reason", "keep it"]).code, 0);
    let told = exec(&world, REMOVE);
    assert!(told.code == 125 && told.stdout.contains("alice rejected this call: keep it"), "{told}");
    assert!(world.has("workspace/old.txt") && !world.has("workspace/log.txt"));
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json(), json!([]));
    // The same words that would change something else are asked about.
    world.write("workspace/old.txt", "three\n");
    let other = exec(&world, REMOVE);
    assert_eq!(other.code, 3, "{other}");
    let id = other.json()["structured"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(decide(&world, &["approve", &id]).code, 0);
    assert!(!world.has("workspace/old.txt") && world.has("workspace/log.txt"));
}

#[test]
fn what_is_asked_about_before_it_runs_is_rejected_by_its_words() {
    let world = with_old_file();
    let direct = world.read("paddock.toml").replace("[commands]", "[commands]\nchanges = \"direct\"");
    world.write("paddock.toml", &direct);
    let asked = |words: &str| exec(&world, words);
    let id = asked("echo ran >> log.txt").json()["structured"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(decide(&world, &["reject", &id, "--reason", "no log"]).code, 0);
    world.write("workspace/log.txt", "another\n");
    let told = asked("echo ran >> log.txt");
    assert!(told.code == 125 && told.stdout.contains("no log"), "{told}");
    assert_eq!(asked("echo run >> log.txt").code, 3);
    world.write("paddock.toml", format!("{direct}\n# changed\n"));
    assert_eq!(asked("echo ran >> log.txt").code, 3);
    assert_eq!(world.read("workspace/log.txt"), "another\n");
}

#[test]
fn what_is_allowed_exactly_of_a_command_is_the_change_that_was_seen() {
    let world = with_old_file();
    let command = "find . -name old.txt -delete; echo new > new.txt";
    let id = exec(&world, command).json()["structured"]["approval"].as_str().unwrap().to_owned();
    let shown = world.paddock(&["approvals", "show", &id]);
    assert!(shown.stdout.contains("this exact command of main, as often as it makes the same change"), "{shown}");
    assert_eq!(decide(&world, &["approve", &id, "--reach", "exact"]).code, 0);
    assert_eq!(exec(&world, command).code, 0, "it hears that it was made");
    for _ in 0..2 {
        world.write("workspace/old.txt", "one\ntwo\n");
        std::fs::remove_file(world.project().join("workspace/new.txt")).unwrap();
        let again = exec(&world, command);
        assert_eq!(again.code, 0, "{again}");
        assert!(!world.has("workspace/old.txt") && world.has("workspace/new.txt"));
    }
    let grants = world.paddock(&["approvals", "grants", "--json"]).json();
    assert_eq!((&grants[0]["reach"], &grants[0]["uses"]), (&json!("exact"), &json!(2)), "{grants}");
    // The same words that do something else are asked about.
    world.write("workspace/deeper/old.txt", "three\n");
    assert_eq!(exec(&world, command).code, 3);
    assert!(world.has("workspace/deeper/old.txt"));
}

#[test]
fn a_command_whose_changes_take_effect_at_once_is_asked_about_before_it_runs() {
    let world = with_old_file();
    let direct = world.read("paddock.toml").replace("[commands]", "[commands]\nchanges = \"direct\"");
    world.write("paddock.toml", direct);
    let asked = exec(&world, "echo ran >> log.txt");
    assert_eq!(asked.code, 3, "{asked}");
    assert!(!world.has("workspace/log.txt"));
    let id = asked.json()["structured"]["approval"].as_str().unwrap().to_owned();
    assert_eq!(decide(&world, &["approve", &id]).code, 0);
    assert!(!world.has("workspace/log.txt"));
    let ran = exec(&world, "echo ran >> log.txt");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(world.read("workspace/log.txt"), "ran\n");
    assert_eq!(exec(&world, "echo ran >> log.txt").code, 3);
}

/// A decision that is cut off while what a command changed is made leaves all of it or nothing, and nobody stuck.
#[test]
fn killed_while_it_is_made_a_held_change_is_whole_or_gone() {
    let command = json!({ "command": "cd d; for i in f*; do unlink $i; echo new > n$i; done" }).to_string();
    for round in 0..12usize {
        let world = World::seed();
        for n in 0..40 {
            world.write(&format!("workspace/d/f{n:02}"), "old\n");
        }
        let id = parked(&world.paddock(&["tool", "--json", "execute_command", &command]));
        let mut approving = world.command(&["approvals", "approve", &id]);
        let mut child =
            approving.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let count = |prefix: &str| {
            let names = std::fs::read_dir(world.project().join("workspace/d")).unwrap();
            names.filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with(prefix)).count()
        };
        // Once so much of it is made.
        while count("n") <= round * 3 && child.try_wait().unwrap().is_none() {}
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(world.paddock(&["tool", "list_dir", &json!({ "path": "workspace/d" }).to_string()]).code, 0);
        let now = (count("f"), count("n"));
        assert!(matches!(now, (40, 0) | (0, 40)), "round {round}: {now:?}");
        // Whatever became of it, the agent can go on: it is made, it is made now by the same call, or it is asked about again.
        let again = world.paddock(&["tool", "--json", "execute_command", &command]);
        if again.code == 3 {
            assert_eq!(now, (40, 0), "round {round}: {again}");
            assert_eq!(world.paddock(&["approvals", "approve", &parked(&again)]).code, 0, "round {round}");
        }
        assert_eq!((count("f"), count("n")), (0, 40), "round {round}: {again}");
    }
}

#[test]
fn what_a_person_refused_by_name_stays_refused_whatever_they_allow_in_general() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    assert_eq!(decide(&world, &["reject", &id, "--reason", "it is needed"]).code, 0);
    let other = json!({ "path": "workspace/old.txt", "recursive": false }).to_string();
    let id = parked(&world.paddock(&["tool", "--json", "delete_file", &other]));
    assert_eq!(decide(&world, &["approve", &id, "--reach", "always"]).code, 0);
    let refused = delete(&world, "workspace/old.txt");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stdout.contains("it is needed") && world.has("workspace/old.txt"), "{refused}");
}

/// Its path is named with the reason, and nothing comes after it.
#[test]
fn a_content_that_cannot_be_shown_is_not_more_that_is_not_shown() {
    let world = World::seed();
    world.write("workspace/old.bin", [0, 159, 146, 150]);
    let id = parked(&delete(&world, "workspace/old.bin"));
    let shown = world.paddock(&["approvals", "show", &id]).stdout;
    assert!(shown.contains("deleted      /project/workspace/old.bin (no text: 4 bytes)"), "{shown}");
    assert!(shown.contains("not all of it can be shown") && !shown.contains("and more that is not shown"), "{shown}");
}

#[test]
fn arguments_that_were_not_changed_decide_nothing() {
    let world = with_old_file();
    let id = parked(&delete(&world, "workspace/old.txt"));
    let mut command = world.command(&["approvals", "edit", &id]);
    command.env("EDITOR", "true");
    let unchanged = world.run(command, "");
    assert_eq!(unchanged.code, 2, "{unchanged}");
    assert_eq!(parked(&delete(&world, "workspace/old.txt")), id, "it still waits");
}

#[test]
fn nobody_is_asked_about_a_directory_that_cannot_go_because_of_what_it_holds() {
    let world = World::seed();
    world.write("workspace/d/f", "a person's\n");
    let refused = world.paddock(&["tool", "delete_file", r#"{"path": "workspace/d"}"#]);
    assert!(refused.stdout.contains("is not empty. Set recursive to true"), "{refused}");
    assert_eq!(world.paddock(&["approvals", "list", "--json"]).json(), json!([]));
    let asked = world.paddock(&["tool", "delete_file", r#"{"path": "workspace/d", "recursive": true}"#]);
    assert!(asked.stdout.contains("A person has to approve this call first"), "{asked}");
}
