//! What a run was told to do: its model reads it as the Gatekeeper let it in, in every process.

use std::sync::{Arc, Mutex};

use paddock_agent::Ended;
use paddock_agent::model::{Model, ModelAnswer, ModelError, Question};
use serde_json::json;

use crate::versions::execute;
use crate::world::{Process, World, answer, call, plan, script};

/// What a model was asked, all messages of a question in one text.
type Asked = Arc<Mutex<Vec<String>>>;

struct Recording {
    model: Arc<dyn Model>,
    asked: Asked,
}

impl Model for Recording {
    fn name(&self) -> String {
        self.model.name()
    }

    fn ask(&self, question: &Question, heard: &mut dyn FnMut(&str)) -> Result<ModelAnswer, ModelError> {
        let messages: Vec<&str> = question.messages.iter().map(|message| message.content.as_str()).collect();
        self.asked.lock().unwrap().push(messages.join("\n"));
        self.model.ask(question, heard)
    }
}

/// Has what the model of a process is asked written down.
pub(crate) fn recorded(process: &mut Process) -> Asked {
    let asked = Asked::default();
    let model = Arc::clone(&process.runtime.model);
    process.runtime.model = Arc::new(Recording { model, asked: Arc::clone(&asked) });
    asked
}

/// A run that waits for a decision, with a task that holds what cannot be seen.
fn frozen() -> (World, String) {
    let delete = call("delete_file", &json!({ "path": "/w/old.txt" }));
    let world = World::new(&script(&[plan(&["remove"]), delete, answer("removed")]));
    std::fs::write(world.file("old.txt"), "precious\n").unwrap();
    let task = "re\u{202e}move\u{1b}[2J \u{200b}it\u{2060}, \u{e0041}please";
    let Ended::Frozen(approval) = world.process().start("t", task).unwrap() else { panic!("not frozen") };
    (world, approval)
}

fn resumed_and_clean(world: &World, approval: &str) {
    let mut process = world.process();
    process.approve(approval);
    let asked = recorded(&mut process);
    assert_eq!(process.resume("t").unwrap(), Ended::Done("removed".into()));
    let asked = asked.lock().unwrap().concat();
    assert!(asked.contains("The task: remove[2J it, please"), "{asked}");
    let hidden = |c: char| "\u{202e}\u{1b}\u{200b}\u{2060}\u{e0041}".contains(c);
    assert!(!asked.contains(hidden), "{asked:?}");
}

#[test]
fn a_task_is_as_clean_after_a_freeze_as_before() {
    let (world, approval) = frozen();
    resumed_and_clean(&world, &approval);
}

#[test]
fn a_task_of_a_record_of_before_is_cleaned_when_it_is_read() {
    let (world, approval) = frozen();
    execute(&world, "UPDATE agent_checkpoint SET state = json_set(state, '$.input_prompt', '')");
    resumed_and_clean(&world, &approval);
}
