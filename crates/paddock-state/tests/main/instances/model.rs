//! Random conversations against the plain rule: a list, and events applied to it one by one.

use std::sync::atomic::{AtomicU32, Ordering};

use paddock_state::conversation::{Conversation, Message, MessageEvent, MissingMessage, Notice, Written, apply};
use paddock_state::instance::Instances;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{World, count, key, remove, replace, saying, turn};

/// Few ids, so that they are equal, met and missed often.
const IDS: u8 = 5;

#[derive(Debug, Clone)]
enum Step {
    Append(u8),
    Replace(u8, u8),
    Remove(u8),
    Truncate,
    Fold,
    /// The process ends, and another goes on.
    Reopen,
    /// As many of what is confirmed as that, and then these.
    WriteBase(u8, Vec<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 0..IDS;
    let step = prop_oneof![
        8 => id().prop_map(Step::Append),
        2 => (id(), id()).prop_map(|(target, new)| Step::Replace(target, new)),
        2 => id().prop_map(Step::Remove),
        1 => Just(Step::Truncate),
        4 => Just(Step::Fold),
        1 => Just(Step::Reopen),
        1 => (0_u8..6, prop::collection::vec(id(), 0..3)).prop_map(|(kept, new)| Step::WriteBase(kept, new)),
    ];
    prop::collection::vec(step, 1..40)
}

/// What the conversation has to be.
#[derive(Default)]
struct Model {
    base: Vec<Message>,
    events: Vec<MessageEvent>,
    made: u32,
}

impl Model {
    /// Another content each time: two with one id are not the same.
    fn message(&mut self, id: u8) -> Message {
        self.made += 1;
        saying(&id.to_string(), &self.made.to_string())
    }

    fn now(&self) -> (Vec<Message>, Vec<MissingMessage>) {
        apply(self.base.clone(), &self.events)
    }

    fn event(&mut self, step: &Step) -> Option<MessageEvent> {
        Some(match step {
            Step::Append(id) => MessageEvent::Append { message: self.message(*id) },
            Step::Replace(target, id) => replace(&target.to_string(), self.message(*id)),
            Step::Remove(target) => remove(&target.to_string()),
            Step::Truncate => MessageEvent::Truncate,
            Step::Fold | Step::Reopen | Step::WriteBase(..) => return None,
        })
    }

    fn fold(&mut self, conversation: &mut dyn Conversation) {
        let folded = conversation.fold(&turn("t")).unwrap();
        let (messages, missing) = self.now();
        assert_eq!(folded.missing, missing);
        let only_appends = self.events.iter().all(MessageEvent::is_append);
        let written = match (self.events.is_empty(), only_appends) {
            (true, _) => Written::Nothing,
            (_, true) => Written::Appended,
            (_, false) => Written::Rewritten,
        };
        assert_eq!(folded.written, written);
        (self.base, self.events) = (messages, Vec::new());
    }
}

fn plays(instances: &dyn Instances, name: &str, steps: &[Step]) {
    instances.create(&key(name), "agent").unwrap();
    let mut model = Model::default();
    let mut conversation = instances.conversation(&key(name)).unwrap();
    for step in steps {
        if let Some(event) = model.event(step) {
            conversation.append_event(&turn("t"), &event).unwrap();
            model.events.push(event);
        }
        match step {
            Step::Fold => model.fold(&mut *conversation),
            Step::Reopen => {
                drop(conversation);
                conversation = instances.conversation(&key(name)).unwrap();
                let open = conversation.open_turn().map_or(0, |open| open.events);
                assert_eq!(open, model.events.len() as u64);
            }
            Step::WriteBase(kept, new) => {
                model.fold(&mut *conversation);
                let kept = usize::from(*kept).min(model.base.len());
                let mut messages = model.base[..kept].to_vec();
                for id in new {
                    messages.push(model.message(*id));
                }
                conversation.write_base(&turn("w"), &messages).unwrap();
                model.base = messages;
            }
            _ => {}
        }
        let loaded = instances.load(&key(name)).unwrap();
        let (messages, missing) = model.now();
        assert_eq!(loaded.messages, messages, "after {step:?}");
        assert_eq!(loaded.notices, missing.into_iter().map(Notice::MissingMessage).collect::<Vec<_>>());
    }
}

fn agrees_with_the_model(world: &World, usual: u32) {
    let (instances, cases) = (world.open(), AtomicU32::new(0));
    let config = Config { cases: count("PROPTEST_CASES", usual), failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&steps(), |steps| {
        let name = format!("case-{}", cases.fetch_add(1, Ordering::Relaxed));
        plays(&*instances, &name, &steps);
        instances.delete(&key(&name)).unwrap();
        Ok(())
    });
    played.unwrap();
}

mod files {
    #[test]
    fn random_conversations_are_what_the_plain_rule_says() {
        super::agrees_with_the_model(&super::World::files(), 100);
    }
}

mod postgres {
    #[test]
    fn random_conversations_are_what_the_plain_rule_says() {
        super::agrees_with_the_model(&super::World::postgres(), 25);
    }
}
