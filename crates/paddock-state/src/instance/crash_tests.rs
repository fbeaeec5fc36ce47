//! A crash at every step of making, emptying, importing and removing an instance, and of keeping an extension's state: it is there as
//! before or as after, and whole. What was acknowledged lasts.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::directory::{Directories, EXTENSIONS, ImportTurns, METADATA};
use super::{Imported, Instance};
use crate::conversation::file::faulty::{Fault, FaultyFiles, decisions};
use crate::conversation::file::{FileConversation, Paths, snapshot};
use crate::conversation::{Conversation as _, Message, MessageEvent, MessageSource, Result};
use crate::{InstanceKey, TurnId};

const PLACE: &str = "/home/instances";

fn message(id: &str) -> Message {
    let at = crate::Timestamp::parse("2026-11-15T12:00:00.000Z").unwrap();
    Message::new(id, "user", &Value::from(format!("what {id} says")), MessageSource::User).made_at(at)
}

fn turn(name: &str) -> TurnId {
    TurnId::new(name).unwrap()
}

fn instance() -> Instance {
    Instance::new(&InstanceKey::new("main").unwrap(), "agent")
}

fn directory() -> PathBuf {
    Path::new(PLACE).join("main")
}

fn state_file() -> PathBuf {
    directory().join(EXTENSIONS).join("memory.json")
}

fn directories(files: &FaultyFiles) -> Directories<'_, FaultyFiles> {
    Directories { files: files.clone(), place: Path::new(PLACE), synced: true }
}

/// What is there of the instance.
#[derive(Debug, Clone, PartialEq)]
struct There {
    messages: Vec<Message>,
    state: Option<Vec<u8>>,
}

/// Looks, and insists that what is there is whole and can be gone on with.
fn looked(files: &FaultyFiles, how: &str) -> Option<There> {
    if !files.names(Path::new(PLACE)).contains(&"main".to_owned()) {
        return None;
    }
    let names = files.names(&directory());
    assert_eq!(names, [EXTENSIONS, "messages", METADATA], "{how}");
    serde_json::from_slice::<Instance>(&files.content(&directory().join(METADATA))).unwrap();
    let paths = Paths::of(&directory());
    let loaded = || {
        let mut messages = Vec::new();
        let taken = snapshot(files, &paths).unwrap_or_else(|error| panic!("{how}: {error}"));
        taken.messages(&mut |message| messages.push(message)).unwrap_or_else(|error| panic!("{how}: {error}"));
        messages
    };
    let messages = loaded();
    let mut conversation = FileConversation::open(files.clone(), paths.clone(), true, ()).unwrap();
    let open = conversation.open_turn().map_or_else(|| turn("next"), |open| open.turn.clone());
    conversation.append_event(&open, &MessageEvent::Append { message: message("next") }).unwrap();
    assert_eq!(loaded().len(), messages.len() + 1, "{how}");
    let has_state = files.names(&directory().join(EXTENSIONS)).contains(&"memory.json".to_owned());
    Some(There { messages, state: has_state.then(|| files.content(&state_file())) })
}

/// Stops an act at every step, and once not at all.
fn crash_everywhere(begin: &FaultyFiles, act: impl Fn(&FaultyFiles) -> Result<()>) {
    let before = looked(&begin.after_kill(), "before");
    let whole = begin.after_kill();
    act(&whole).unwrap();
    let (steps, after) = (whole.steps(), looked(&whole, "after"));
    assert!(steps >= 3 && before != after);
    for step in 1..=steps + 1 {
        for done in [0, 50, 100] {
            let files = begin.after_kill();
            files.fault(step, Fault::Stop { done });
            // What is left to clean up behind an act does not make it fail.
            let is_told = act(&files).is_ok();
            assert!(is_told || step <= steps);
            let check = |left: &FaultyFiles, how: &str| {
                let found = looked(left, how);
                let legal = if is_told { found == after } else { found == before || found == after };
                assert!(legal, "{how}, told as done: {is_told}: {found:#?}");
            };
            check(&files.after_kill(), &format!("killed at step {step} ({done} %)"));
            for seed in 1..=12 {
                let left = files.after_power_loss(&mut decisions(seed + step * 1000));
                check(&left, &format!("power lost at step {step} ({done} %), {seed}"));
            }
        }
    }
}

fn nothing() -> FaultyFiles {
    FaultyFiles::with(&[Path::new("/home")])
}

fn used() -> FaultyFiles {
    let files = nothing();
    directories(&files).create(&instance()).unwrap();
    let paths = Paths::of(&directory());
    let mut conversation = FileConversation::open(files.clone(), paths, true, ()).unwrap();
    for id in ["a", "b"] {
        conversation.append_event(&turn("one"), &MessageEvent::Append { message: message(id) }).unwrap();
    }
    conversation.fold(&turn("one")).unwrap();
    directories(&files).replace(&state_file(), b"{}\n").unwrap();
    files.synced()
}

#[test]
fn a_crash_at_any_step_of_making_an_instance_leaves_none_or_a_whole_one() {
    crash_everywhere(&nothing(), |files| directories(files).create(&instance()).map(drop));
}

#[test]
fn what_is_said_to_a_new_instance_survives_a_loss_of_power() {
    for seed in 1..=50 {
        let files = nothing();
        directories(&files).create(&instance()).unwrap();
        let mut conversation = FileConversation::open(files.clone(), Paths::of(&directory()), true, ()).unwrap();
        conversation.append_event(&turn("one"), &MessageEvent::Append { message: message("a") }).unwrap();
        let found = looked(&files.after_power_loss(&mut decisions(seed)), "power lost");
        assert_eq!(found.map(|found| found.messages), Some(vec![message("a")]));
    }
}

#[test]
fn a_crash_at_any_step_of_emptying_an_instance_leaves_it_full_or_empty() {
    crash_everywhere(&used(), |files| directories(files).clear(&instance()));
}

#[test]
fn a_crash_at_any_step_of_removing_an_instance_leaves_it_whole_or_gone() {
    crash_everywhere(&used(), |files| directories(files).remove(&directory()));
}

#[test]
fn a_crash_at_any_step_of_keeping_a_state_leaves_the_old_or_the_new_one() {
    crash_everywhere(&used(), |files| directories(files).replace(&state_file(), b"{\n  \"visits\": 3\n}\n"));
}

#[test]
fn a_crash_at_any_step_of_an_import_leaves_none_or_all_of_it() {
    let turns = ImportTurns { confirmed: turn("import"), open: turn("import-open") };
    crash_everywhere(&nothing(), |files| {
        let messages = &mut ["a", "b", "c"].into_iter().map(|id| Ok(message(id)));
        let events = [MessageEvent::Append { message: message("d") }];
        directories(files).import(&instance(), &turns, Imported { events: &events, ..Imported::of(messages) }).map(drop)
    });
}
