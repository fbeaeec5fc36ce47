//! A crash at every step of making, emptying, importing and removing an instance, and of keeping an extension's state: it is there as
//! before or as after, and whole. What was acknowledged lasts.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::directory::{Directories, EXTENSIONS, ImportTurns, METADATA};
use super::{Imported, Instance};
use crate::conversation::file::faulty::{Fault, FaultyFiles, decisions};
use crate::conversation::file::{FileConversation, Files as _, Paths, crash_tests, snapshot};
use crate::conversation::{Conversation as _, Message, MessageEvent, Result};
use crate::{InstanceKey, TurnId, private};

const PLACE: &str = "/home/instances";

fn message(id: &str) -> Message {
    crash_tests::message(id, &format!("what {id} says"))
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
    Directories { files: files.clone(), place: Path::new(PLACE), synced: true, now: SystemTime::now() }
}

fn hours_later(files: &FaultyFiles, hours: u64) -> Directories<'_, FaultyFiles> {
    Directories { now: SystemTime::now() + Duration::from_hours(hours), ..directories(files) }
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

/// What is there under names that no instance has.
fn asides(files: &FaultyFiles) -> Vec<String> {
    files.names(Path::new(PLACE)).into_iter().filter(|name| name.starts_with('.')).collect()
}

/// What is left after an act was stopped at each of its steps.
fn cut_off_everywhere(begin: &FaultyFiles, act: impl Fn(&FaultyFiles) -> Result<()>) -> Vec<FaultyFiles> {
    let whole = begin.after_kill();
    act(&whole).unwrap();
    assert_eq!(asides(&whole), [""; 0]);
    let mut left = Vec::new();
    for step in 1..=whole.steps() {
        let files = begin.after_kill();
        files.fault(step, Fault::Stop { done: 0 });
        assert!(act(&files).is_err());
        left.push(files.after_kill());
        left.extend((1..=4).map(|seed| files.after_power_loss(&mut decisions(seed + step * 1000))));
    }
    assert!(left.iter().any(|files| !asides(files).is_empty()), "nothing is ever left");
    left
}

#[test]
fn what_was_being_removed_goes_when_it_is_removed_again() {
    for files in cut_off_everywhere(&used(), |files| directories(files).remove(&directory())) {
        match looked(&files, "cut off") {
            Some(_) => directories(&files).remove(&directory()).unwrap(),
            None => directories(&files).sweep().unwrap(),
        }
        assert_eq!(files.names(Path::new(PLACE)), [""; 0]);
    }
}

#[test]
fn what_was_being_emptied_goes_when_anything_is_done_later() {
    for files in cut_off_everywhere(&used(), |files| directories(files).clear(&instance())) {
        hours_later(&files, 25).clear(&instance()).unwrap();
        assert_eq!(asides(&files), [""; 0]);
    }
}

#[test]
fn what_somebody_makes_now_is_left_alone() {
    let files = used();
    let unfinished = Path::new(PLACE).join(format!("{}{}", private::UNFINISHED, private::unused()));
    files.make_directory(&unfinished).unwrap();
    hours_later(&files, 23).clear(&instance()).unwrap();
    assert_eq!(asides(&files).len(), 1);
    hours_later(&files, 25).sweep().unwrap();
    assert_eq!(asides(&files), [""; 0]);
    assert!(looked(&files, "after all").is_some(), "and no instance goes");
}

#[test]
fn what_cannot_be_taken_away_is_told() {
    let files = used();
    // It is renamed, that is made to last, and then it goes.
    files.fault(3, Fault::FailOnce { done: 0 });
    assert!(directories(&files).remove(&directory()).is_err());
    assert_eq!(asides(&files).len(), 1);
    // Whoever comes next cannot know whether its name lasts, and makes sure of that first.
    files.fault(2, Fault::FailOnce { done: 0 });
    assert!(directories(&files).sweep().is_err());
    assert_eq!(asides(&files).len(), 1);
    directories(&files).sweep().unwrap();
    assert_eq!(asides(&files), [""; 0]);
}
