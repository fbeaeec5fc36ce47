//! Records that another version of the program wrote: an older one is read, a newer one is refused.

use std::time::{Duration, Instant};

use paddock_agent::record::RecordError;
use paddock_agent::{Ended, RunError};
use paddock_config::StateDatabase;
use paddock_db::DbError;
use serde_json::json;

use crate::world::{World, answer, call, plan, script};

/// Changes what is recorded.
fn rewrite(world: &World, sql: &str) {
    assert!(execute(world, sql) > 0);
}

/// Has the database do something; gives the number of rows that it changed.
pub(crate) fn execute(world: &World, sql: &str) -> usize {
    let process = world.process();
    let StateDatabase::Sqlite(database) = process.installation.state_database().unwrap() else {
        panic!("the state is on SQLite");
    };
    let until = Instant::now() + Duration::from_secs(60);
    database.write(until, |connection| Ok::<_, DbError>(connection.execute(sql, ()).unwrap())).unwrap()
}

fn frozen() -> (World, String) {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), delete, fail(), fail(), fail()]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("not frozen") };
    (world, approval)
}

#[test]
fn a_record_of_before_goes_on_with_what_it_had_used_up() {
    let (world, approval) = frozen();
    // As it was written when the turn was counted, and not each step and what it worked.
    let progress = "json_set(state, '$.progress.began', 1000000, '$.progress.replans', 2)";
    rewrite(&world, &format!("UPDATE agent_checkpoint SET state = json_remove({progress}, '$.progress.worked')"));
    rewrite(&world, "UPDATE agent_step SET step = json_remove(step, '$.replans')");
    world.process().approve(&approval);
    let ended = world.process().resume("t").unwrap();
    let Ended::Asking(question) = ended else { panic!("{ended:?}") };
    assert!(question.contains("after 3 tries"), "{question}");
    assert!(!world.file("old.txt").exists());
    assert_eq!(paddock_agent::replay(&world.process().runtime.record, "t").unwrap().differs_at, None);
}

#[test]
fn a_record_of_a_newer_program_is_refused_and_nothing_of_it_is_done() {
    let (world, approval) = frozen();
    let newer = paddock_agent::state::VERSION + 1;
    rewrite(&world, &format!("UPDATE agent_checkpoint SET state = json_set(state, '$.version', {newer})"));
    world.process().approve(&approval);
    let refused = world.process().resume("t").unwrap_err();
    assert!(matches!(&refused, RunError::Record(RecordError::Unreadable { .. })), "{refused:?}");
    let told = format!("{refused}; {}", refused.hint());
    assert!(told.contains("this program knows") && told.contains("newer version of Paddock"), "{told}");
    assert_eq!(world.text("old.txt"), "precious\n");
    assert_eq!(world.process().start("t", "something else").unwrap_err().to_string(), refused.to_string());
}

#[test]
fn a_step_that_was_replaced_when_only_words_said_so_stays_replaced() {
    let fail = || call("read_file", &json!({ "path": "/r/nothing.txt" }));
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let failing = vec![plan(&["look", "then remove"]), fail(), fail(), fail()];
    let world = World::new(&script(&[failing, vec![plan(&["remove"]), delete, answer("removed")]].concat()));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let Ended::Frozen(approval) = world.process().start("t", "go").unwrap() else { panic!("not frozen") };
    rewrite(&world, "UPDATE agent_step SET step = json_remove(step, '$.replaced')");
    world.process().approve(&approval);
    assert_eq!(world.process().resume("t").unwrap(), Ended::Done("removed".into()));
    assert_eq!(paddock_agent::replay(&world.process().runtime.record, "t").unwrap().differs_at, None);
}
