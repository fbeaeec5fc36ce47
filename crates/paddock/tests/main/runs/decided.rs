//! What a person decided about a call of a run: taken up once, by that call, and told as it is.

use serde_json::{Value, json};

use super::{answer, begin, call, script};
use crate::harness::World;

/// A run whose one step is this command; the approval that it froze on.
fn held(world: &World, thread: &str, command: &str) -> String {
    let lines = [answer("- [ ] work"), call("execute_command", &json!({ "command": command })), answer("worked")];
    frozen(&begin(world, thread, &script(world, &lines), &["--level", "admin"]))
}

fn frozen(ran: &crate::harness::Ran) -> String {
    assert_eq!(ran.code, 3, "{ran}");
    ran.json()["approval"].as_str().unwrap().to_owned()
}

fn resumed(world: &World, thread: &str) -> Value {
    let ran = world.paddock(&["resume", thread, "--no-wait", "--json"]);
    assert!(ran.code == 0 || ran.code == 3, "{ran}");
    ran.json()
}

fn messages(world: &World, thread: &str) -> String {
    world.paddock(&["instance", "messages", thread, "--jsonl"]).stdout
}

fn with_old_file() -> World {
    let world = World::seed();
    world.write("workspace/old.txt", "one\n");
    world
}

#[test]
fn an_approved_change_of_a_command_is_made_once_and_the_command_not_run_again() {
    for (thread, end) in [("well", "0"), ("badly", "1")] {
        let world = with_old_file();
        let id = held(&world, thread, &format!("echo x >> log.txt; unlink old.txt; echo ran; exit {end}"));
        assert!(world.has("workspace/old.txt") && !world.has("workspace/log.txt"));
        assert_eq!(world.paddock(&["approvals", "approve", &id]).code, 0);
        assert_eq!(world.read("workspace/log.txt"), "x\n");
        assert_eq!(resumed(&world, thread)["status"], "done");
        assert_eq!(world.read("workspace/log.txt"), "x\n", "exit {end}");
        let said = messages(&world, thread);
        assert!(said.contains(&format!("Exit code {end}. This command ran before")), "{said}");
        assert!(said.contains("It was not run again") && !said.contains("used already"), "{said}");
    }
}

#[test]
fn what_was_agreed_to_and_cannot_be_made_any_more_is_told_as_that() {
    let world = with_old_file();
    let id = held(&world, "late", "unlink old.txt");
    world.write("workspace/old.txt", "somebody else's\n");
    assert_eq!(world.paddock(&["approvals", "approve", &id]).code, 1);
    resumed(&world, "late");
    let said = messages(&world, "late");
    assert!(said.contains("cannot be made any more as it was shown") && !said.contains("Nobody decided"), "{said}");
    assert_eq!(world.read("workspace/old.txt"), "somebody else's\n");
}

#[test]
fn a_read_that_a_person_agreed_to_is_made() {
    let world = World::seed();
    let rule = "\n[[approvals.rule]]\ntool = \"read_file\"\npath = \"/project/workspace/**\"\nrisk = \"high\"\n";
    world.write("paddock.toml", format!("{}{rule}", world.read("paddock.toml")));
    world.write("workspace/told.txt", "the word is swordfish\n");
    let read = call("read_file", &json!({ "path": "workspace/told.txt" }));
    let model = script(&world, &[answer("- [ ] read"), read, answer("read")]);
    let id = frozen(&begin(&world, "reads", &model, &["--level", "admin"]));
    assert_eq!(world.paddock(&["approvals", "approve", &id]).code, 0);
    assert_eq!(resumed(&world, "reads")["status"], "done");
    let said = messages(&world, "reads");
    assert!(said.contains("swordfish") && !said.contains("used already"), "{said}");
}

#[test]
fn an_edited_call_that_is_refused_is_asked_about_anew_when_it_comes_again() {
    let world = with_old_file();
    world.write("workspace/older.txt", "two\n");
    let delete = call("delete_file", &json!({ "path": "workspace/old.txt" }));
    let model = script(&world, &[answer("- [ ] remove"), delete.clone(), delete, answer("removed")]);
    let first = frozen(&begin(&world, "again", &model, &["--level", "admin"]));
    let other = json!({ "path": "workspace/older.txt" }).to_string();
    assert_eq!(world.paddock(&["approvals", "edit", &first, "--arguments", &other]).code, 0);
    std::fs::remove_file(world.project().join("workspace/older.txt")).unwrap();
    let waiting = resumed(&world, "again");
    assert_eq!(waiting["status"], "frozen", "{waiting}");
    let second = waiting["approval"].as_str().unwrap();
    assert_ne!(second, first, "what waits can be decided");
    assert_eq!(world.paddock(&["approvals", "approve", second]).code, 0);
    assert_eq!(resumed(&world, "again")["status"], "done");
    assert!(!world.has("workspace/old.txt"));
}
