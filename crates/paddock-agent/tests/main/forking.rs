//! Forks of a run: whole or not at all, with the task and the bounds that their turn had.

use paddock_agent::RunError;
use paddock_agent::record::RecordError;

use crate::versions::execute;
use crate::world::{World, answer, key, plan, script};

#[test]
fn a_fork_that_cannot_be_copied_is_not_there() {
    let world = World::new(&script(&[plan(&["say"]), answer("said")]));
    world.process().start("t", "go").unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON agent_checkpoint WHEN NEW.thread = 'f' \
                  BEGIN SELECT RAISE(ABORT, 'no space'); END";
    execute(&world, refuse);
    let process = world.process();
    let failed = process.runtime.fork(&key("t"), 2, &key("f"), "alice").unwrap_err();
    assert!(matches!(failed, RunError::Record(RecordError::Database(_))), "{failed:?}");
    let missing = process.runtime.record.thread("f").unwrap_err();
    assert!(matches!(missing, RecordError::NoThread(_)), "{missing:?}");
    // The honest twin.
    execute(&world, "DROP TRIGGER refuse");
    process.runtime.fork(&key("t"), 2, &key("g"), "alice").unwrap();
    assert_eq!(process.runtime.record.thread("g").unwrap().checkpoints, 2);
    let taken = process.runtime.fork(&key("t"), 2, &key("g"), "alice");
    assert!(taken.is_err());
}
