//! A crash at every step of every operation: what is loaded afterwards is the conversation before the operation or after it.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::Paths;
use super::faulty::{Fault, FaultyFiles, decisions};
use super::layer::{Files as _, Over};
use super::read::snapshot;
use super::repair::repair;
use super::write::FileConversation;
use crate::TurnId;
use crate::conversation::{Conversation, ConversationError, Message, MessageEvent, apply};

/// What is done to a conversation.
#[derive(Debug, Clone)]
enum Act {
    Event(u8, MessageEvent),
    Fold(u8),
    Base(u8, Vec<Message>),
}

/// Equal ones are made at the same moment.
pub(crate) fn message(id: &str, text: &str) -> Message {
    let line = json!({"id": id, "data": {"role": "user", "content": text}, "createdAt": "2026-11-15T12:00:00.000Z", "source": {"type": "user"}});
    serde_json::from_str(&line.to_string()).unwrap()
}

fn append(id: &str) -> MessageEvent {
    MessageEvent::Append {
        message: message(id, &format!("what {id} says, long enough to fill more than one block of the disk")),
    }
}

fn turn(number: u8) -> TurnId {
    TurnId::new(format!("turn-{number}")).unwrap()
}

fn paths() -> Paths {
    Paths::of(Path::new("/instance"))
}

fn fresh() -> FaultyFiles {
    let paths = paths();
    let files = FaultyFiles::with(&[Path::new("/instance"), &paths.directory]);
    for path in [&paths.base, &paths.events] {
        files.create(path, false).unwrap();
    }
    files.synced()
}

fn loaded(files: &FaultyFiles) -> Result<Vec<Message>, ConversationError> {
    let mut messages = Vec::new();
    snapshot(files, &paths())?.messages(&mut |message| messages.push(message))?;
    Ok(messages)
}

fn open(files: &FaultyFiles) -> FileConversation<FaultyFiles> {
    FileConversation::open(files.clone(), paths(), true, ()).unwrap()
}

fn perform(conversation: &mut FileConversation<FaultyFiles>, act: &Act) -> Result<(), ConversationError> {
    match act {
        Act::Event(number, event) => conversation.append_event(&turn(*number), event).map(drop),
        Act::Fold(number) => conversation.fold(&turn(*number)).map(drop),
        Act::Base(number, messages) => conversation.write_base(&turn(*number), messages).map(drop),
    }
}

/// The conversation as it should be after each act, the state before the first one included.
fn expected(acts: &[Act]) -> Vec<Vec<Message>> {
    let mut states = vec![Vec::new()];
    for act in acts {
        let before = states.last().unwrap().clone();
        states.push(match act {
            Act::Event(_, event) => apply(before, std::slice::from_ref(event)).0,
            Act::Fold(_) => before,
            Act::Base(_, messages) => messages.clone(),
        });
    }
    states
}

/// Acts until one fails; says which.
fn run(files: &FaultyFiles, acts: &[Act]) -> Option<usize> {
    let mut conversation = open(files);
    acts.iter().position(|act| perform(&mut conversation, act).is_err())
}

/// What may be loaded when the act with that number was cut off. Messages are added to a base one by one.
fn legal(acts: &[Act], states: &[Vec<Message>], at: usize) -> Vec<Vec<Message>> {
    let (before, after) = (&states[at], &states[at + 1]);
    match &acts[at] {
        Act::Base(..) if after.starts_with(before) => {
            (before.len()..=after.len()).map(|len| after[..len].to_vec()).collect()
        }
        _ => vec![before.clone(), after.clone()],
    }
}

/// After a crash: one of the legal states, the same whether it is only read or opened for writing, and everything that is left can
/// be done from there with the right end.
fn check_after_crash(files: &FaultyFiles, acts: &[Act], states: &[Vec<Message>], at: usize, how: &str) {
    let found = loaded(files).unwrap_or_else(|error| panic!("{how}, act {at}: {error}"));
    let legal = legal(acts, states, at);
    assert!(legal.contains(&found), "{how}, act {at} {:?}: neither before nor after it: {found:#?}", acts[at]);
    let mut conversation = open(files);
    assert_eq!(loaded(files).unwrap(), found, "{how}, act {at}: opening changed what is there");
    if let Some(open) = conversation.open_turn().map(|open| open.turn.clone()) {
        conversation.fold(&open).unwrap();
    }
    assert_eq!(loaded(files).unwrap(), found, "{how}, act {at}: folding what was left changed it");
    let next = MessageEvent::Append { message: message("next", "after the crash") };
    conversation.append_event(&turn(200), &next).unwrap();
    conversation.fold(&turn(200)).unwrap();
    let mut wanted = found;
    wanted.push(message("next", "after the crash"));
    assert_eq!(loaded(files).unwrap(), wanted, "{how}, act {at}: the next turn");
}

/// Stops at every step, in several ways.
fn crash_everywhere(acts: &[Act], losses: u64) -> u64 {
    let states = expected(acts);
    let whole = fresh();
    whole.fault(u64::MAX, Fault::Stop { done: 0 });
    assert_eq!(run(&whole, acts), None, "without a fault every act succeeds");
    assert_eq!(&loaded(&whole).unwrap(), states.last().unwrap());
    let steps = whole.steps();
    for step in 1..=steps {
        for done in [0, 50, 99, 100] {
            let files = fresh();
            files.fault(step, Fault::Stop { done });
            let Some(at) = run(&files, acts) else { continue };
            check_after_crash(&files.after_kill(), acts, &states, at, &format!("killed at step {step} ({done} %)"));
            for seed in 1..=losses {
                let after = files.after_power_loss(&mut decisions(seed + step * 1000));
                check_after_crash(&after, acts, &states, at, &format!("power lost at step {step} ({done} %), {seed}"));
            }
        }
    }
    steps
}

fn a_turn_of_appends() -> Vec<Act> {
    let mut acts: Vec<Act> = ["a", "b", "c", "d"].map(|id| Act::Event(1, append(id))).to_vec();
    acts.push(Act::Fold(1));
    acts
}

#[test]
fn a_crash_at_any_step_of_append_and_fold_leaves_one_of_two_states() {
    let mut acts = a_turn_of_appends();
    acts.extend(["e", "f"].map(|id| Act::Event(2, append(id))));
    acts.push(Act::Fold(2));
    let steps = crash_everywhere(&acts, 12);
    // Six events are written and synced, two bases added to and synced, and twice the events are cleared and marked.
    assert_eq!(steps, 6 * 2 + 2 * 2 + 2 * 2);
}

#[test]
fn a_turn_of_four_messages_is_synced_five_times() {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let before = files.syncs();
    let next: Vec<Act> =
        ["e", "f", "g", "h"].map(|id| Act::Event(2, append(id))).into_iter().chain([Act::Fold(2)]).collect();
    assert_eq!(run(&files, &next), None);
    assert_eq!(files.syncs() - before, 4 + 1);
}

#[test]
fn an_event_that_is_appended_ahead_lasts_once_it_is_settled_or_anything_else_is_done() {
    let done: [fn(&mut FileConversation<FaultyFiles>); 4] = [
        |conversation| conversation.settle().unwrap(),
        |conversation| conversation.append_event_ahead(&turn(1), &append("next")).map(drop).unwrap(),
        |conversation| conversation.append_event(&turn(1), &append("next")).map(drop).unwrap(),
        |conversation| conversation.fold(&turn(1)).map(drop).unwrap(),
    ];
    for (case, next) in done.into_iter().enumerate() {
        let files = fresh();
        let mut conversation = open(&files);
        conversation.append_event_ahead(&turn(1), &append("a")).unwrap();
        assert_eq!(loaded(&files).unwrap().len(), 1, "it is seen at once");
        next(&mut conversation);
        for seed in 1..=12 {
            let after = loaded(&files.after_power_loss(&mut decisions(seed))).unwrap();
            assert_eq!(
                after.first().map(|message| message.id().to_owned()).as_deref(),
                Some("a"),
                "case {case}, {seed}"
            );
        }
    }
}

#[test]
fn an_event_that_could_not_be_made_to_last_is_told_with_whatever_comes_next() {
    let files = fresh();
    let mut conversation = open(&files);
    // It is written, and then synced.
    files.fault(2, Fault::FailOnce { done: 0 });
    conversation.append_event_ahead(&turn(1), &append("a")).unwrap();
    assert!(matches!(conversation.settle(), Err(ConversationError::Io { .. })));
    assert!(matches!(conversation.append_event(&turn(1), &append("b")), Err(ConversationError::Unsure(_))));
    drop(conversation);
    open(&files);
    assert_eq!(loaded(&files).unwrap().len(), 1, "whoever opens it next looks at what is there");
}

/// Killed, opened by another process, and then the power is lost: what that process relied on is not gone.
#[test]
fn what_a_killed_process_left_lasts_once_it_is_opened() {
    let mut acts = a_turn_of_appends();
    acts.extend([
        Act::Event(2, append("e")),
        Act::Event(2, MessageEvent::Remove { target_id: "b".into() }),
        Act::Fold(2),
    ]);
    acts.extend([Act::Event(3, append("f")), Act::Fold(3), Act::Base(4, vec![message("z", "all anew")])]);
    let states = expected(&acts);
    for step in 1.. {
        for done in [0, 50, 100] {
            let files = fresh();
            files.fault(step, Fault::Stop { done });
            let Some(at) = run(&files, &acts) else { return };
            files.restart();
            let how = format!("killed at step {step} ({done} %)");
            let found = loaded(&files).unwrap_or_else(|error| panic!("{how}: {error}"));
            drop(open(&files));
            for seed in 1..=12 {
                let after = files.after_power_loss(&mut decisions(seed + step * 1000));
                let how = format!("{how}, then power lost, {seed}");
                assert_eq!(loaded(&after).unwrap_or_else(|error| panic!("{how}: {error}")), found, "{how}");
                check_after_crash(&after, &acts, &states, at, &how);
            }
        }
    }
}

#[test]
fn a_crash_at_any_step_of_a_rewriting_fold_leaves_one_of_two_states() {
    let mut acts = a_turn_of_appends();
    acts.push(Act::Event(2, MessageEvent::Replace { target_id: "b".into(), message: message("b2", "another") }));
    acts.push(Act::Event(2, MessageEvent::Remove { target_id: "a".into() }));
    acts.push(Act::Event(2, append("e")));
    acts.push(Act::Event(2, MessageEvent::Remove { target_id: "nobody".into() }));
    acts.push(Act::Fold(2));
    acts.push(Act::Event(3, append("f")));
    acts.push(Act::Fold(3));
    crash_everywhere(&acts, 12);
}

#[test]
fn a_crash_at_any_step_of_emptying_leaves_one_of_two_states() {
    let mut acts = a_turn_of_appends();
    acts.extend([Act::Event(2, append("x")), Act::Event(2, MessageEvent::Truncate), Act::Fold(2)]);
    acts.extend([Act::Event(3, append("y")), Act::Fold(3)]);
    crash_everywhere(&acts, 12);
}

#[test]
fn a_crash_at_any_step_of_writing_a_base_leaves_a_legal_state() {
    let mut acts = a_turn_of_appends();
    let longer = ["a", "b", "c", "d", "g", "h"].map(|id| match append(id) {
        MessageEvent::Append { message } => message,
        _ => unreachable!(),
    });
    acts.push(Act::Base(2, longer.to_vec()));
    acts.push(Act::Base(3, vec![message("z", "all anew"), message("y", "and more")]));
    acts.push(Act::Base(4, Vec::new()));
    crash_everywhere(&acts, 12);
}

#[test]
fn a_step_that_fails_is_told_and_leaves_one_of_two_states() {
    let mut acts = a_turn_of_appends();
    acts.extend([
        Act::Event(2, MessageEvent::Remove { target_id: "a".into() }),
        Act::Event(2, append("e")),
        Act::Fold(2),
    ]);
    let states = expected(&acts);
    for step in 1.. {
        for done in [0, 50, 100] {
            let files = fresh();
            files.fault(step, Fault::FailOnce { done });
            let mut conversation = open(&files);
            let mut failed = None;
            for (at, act) in acts.iter().enumerate() {
                match perform(&mut conversation, act) {
                    Ok(()) => {}
                    Err(ConversationError::Unsure(_)) => panic!("step {step}: told as unsure before anything failed"),
                    Err(_) => {
                        failed = Some(at);
                        break;
                    }
                }
            }
            if !files.was_reached() {
                return;
            }
            let at = failed.unwrap_or_else(|| panic!("step {step} failed and nobody was told"));
            // Either it can be tried again at once, with the right end, or this writer says that it cannot.
            match perform(&mut conversation, &acts[at]) {
                Ok(()) => {
                    let rest = acts[at + 1..].iter();
                    rest.for_each(|act| perform(&mut conversation, act).unwrap());
                    assert_eq!(&loaded(&files).unwrap(), states.last().unwrap(), "step {step} ({done} %), act {at}");
                }
                Err(ConversationError::Unsure(_)) => {
                    drop(conversation);
                    check_after_crash(&files, &acts, &states, at, &format!("failed at step {step} ({done} %)"));
                }
                Err(error) => panic!("step {step}, act {at}: {error}"),
            }
        }
    }
}

#[test]
fn a_turn_is_not_folded_twice_when_its_events_could_not_be_cleared() {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let acts = [Act::Event(2, append("e")), Act::Fold(2)];
    files.fault(u64::MAX, Fault::Stop { done: 0 });
    let mut conversation = open(&files);
    perform(&mut conversation, &acts[0]).unwrap();
    // The base is written and synced; clearing the events is the third step.
    files.fault(3, Fault::FailOnce { done: 0 });
    assert!(perform(&mut conversation, &acts[1]).is_err());
    assert!(matches!(perform(&mut conversation, &acts[1]), Err(ConversationError::Unsure(_))));
    assert_eq!(loaded(&files).unwrap().len(), 5);
    let mut again = open(&files);
    assert_eq!(again.open_turn(), None, "the base holds it");
    again.fold(&turn(2)).unwrap();
    assert_eq!(loaded(&files).unwrap().len(), 5);
}

#[test]
fn an_event_that_could_not_be_written_is_not_there() {
    for done in [0, 50, 99, 100] {
        let files = fresh();
        let mut conversation = open(&files);
        files.fault(1, Fault::FailOnce { done });
        assert!(conversation.append_event(&turn(1), &append("a long one")).is_err());
        assert_eq!(loaded(&files).unwrap(), []);
        // Shorter than what was cut off.
        conversation.append_event(&turn(1), &MessageEvent::Append { message: message("b", "") }).unwrap();
        assert_eq!(loaded(&files).unwrap(), [message("b", "")], "{done} %");
    }
}

#[test]
fn a_turn_that_could_not_be_added_leaves_the_base_as_it_was() {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let base = files.content(&paths().base);
    let mut conversation = open(&files);
    conversation.append_event(&turn(2), &append("e")).unwrap();
    files.fault(1, Fault::FailOnce { done: 50 });
    assert!(conversation.fold(&turn(2)).is_err());
    assert_eq!(files.content(&paths().base), base);
}

#[test]
fn what_a_crash_left_behind_the_good_part_is_gone_once_opened() {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let base = files.content(&paths().base);
    // Cut off while it was added to the base.
    let mut conversation = open(&files);
    conversation.append_event(&turn(2), &append("e")).unwrap();
    files.fault(1, Fault::Stop { done: 50 });
    assert!(conversation.fold(&turn(2)).is_err());
    let after = files.after_kill();
    assert!(after.content(&paths().base).len() > base.len());
    open(&after);
    assert_eq!(after.content(&paths().base), base);
    // Cut off while it was written as an event.
    let mut conversation = open(&after);
    after.fault(1, Fault::Stop { done: 99 });
    assert!(conversation.append_event(&turn(2), &append("f, which is never acknowledged")).is_err());
    let after = after.after_kill();
    let mut conversation = open(&after);
    assert_eq!(conversation.notices().len(), 1, "it is told");
    let lasting = after.after_power_loss(&mut || false);
    assert!(lasting.content(&paths().dropped).ends_with(b"\n"), "and kept, also when the power is lost next");
    conversation.append_event(&turn(2), &MessageEvent::Append { message: message("g", "") }).unwrap();
    drop(conversation);
    assert_eq!(open(&after).notices(), []);
    let ids: Vec<String> = loaded(&after).unwrap().iter().map(|message| message.id().to_owned()).collect();
    assert_eq!(ids, ["a", "b", "c", "d", "e", "g"]);
}

#[test]
fn confirmed_lines_that_are_lost_are_noticed_by_the_events_after_them() {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    open(&files).append_event(&turn(2), &append("e")).unwrap();
    let base = files.content(&paths().base);
    let lines: Vec<usize> = base.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for (whole_lines, cut) in [(0, 0), (2, lines[1]), (3, lines[2]), (3, lines[2] + 20)] {
        let shorter = files.after_kill();
        shorter.put(&paths().base, base[..cut].to_vec());
        let error = loaded(&shorter).unwrap_err();
        let ConversationError::Damaged { line, .. } = error else { panic!("{error}") };
        assert_eq!(line, whole_lines + 1, "{cut}");
        assert!(FileConversation::open(shorter, paths(), true, ()).is_err());
    }
}

/// A conversation of three turns that are over, one of them rewritten, and the ids of its messages.
fn at_rest() -> (FaultyFiles, Vec<&'static str>) {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let acts = [Act::Event(2, MessageEvent::Remove { target_id: "b".into() }), Act::Fold(2)];
    assert_eq!(run(&files, &acts), None);
    assert_eq!(run(&files, &[Act::Event(3, append("e")), Act::Event(3, append("f")), Act::Fold(3)]), None);
    (files.synced(), vec!["a", "c", "d", "e", "f"])
}

#[test]
fn confirmed_lines_that_are_gone_are_noticed_while_no_turn_is_open() {
    let (files, ids) = at_rest();
    let base = String::from_utf8(files.content(&paths().base)).unwrap();
    // Three messages, the mark of a new base, and two messages.
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 6);
    for kept in 0..lines.len() {
        let shorter = files.after_kill();
        shorter.put(&paths().base, lines[..kept].concat().into_bytes());
        for refused in [loaded(&shorter).err(), FileConversation::open(shorter.clone(), paths(), true, ()).err()] {
            let Some(ConversationError::Damaged { path, line, reason }) = refused else {
                panic!("{kept}: {refused:?}")
            };
            assert_eq!((path, line), (paths().base, kept as u64 + 1), "{reason}");
            assert!(reason.contains("not there"), "{reason}");
        }
        let found = shorter.content(&paths().base);
        let looked = repair(&shorter, &paths(), false).unwrap();
        assert_eq!(
            looked.lost.iter().map(|lost| (&lost.file, lost.line)).collect::<Vec<_>>(),
            [(&paths().base, kept as u64 + 1)]
        );
        let aside = repair(&shorter, &paths(), true).unwrap().kept_aside.unwrap();
        assert_eq!(shorter.content(&aside.join("base.jsonl")), found);
        let left: Vec<String> = loaded(&shorter).unwrap().iter().map(|message| message.id().to_owned()).collect();
        let messages = if kept > 3 { kept - 1 } else { kept };
        assert_eq!(left, ids[..messages]);
        assert_eq!(repair(&shorter, &paths(), true).unwrap().lost, []);
        let seq = open(&shorter).append_event(&turn(4), &append("next")).unwrap();
        assert_eq!(seq, 9, "the numbers go on from where they were");
    }
}

#[test]
fn events_that_were_being_cleared_are_none_and_nothing_is_told() {
    let (files, ids) = at_rest();
    let whole = files.content(&paths().events);
    for left in [Vec::new(), whole[..1].to_vec(), vec![0]] {
        files.put(&paths().events, left);
        assert_eq!(loaded(&files).unwrap().len(), ids.len());
        assert_eq!(open(&files).notices(), []);
        assert_eq!(files.content(&paths().events), whole, "it is marked again");
    }
}

#[test]
fn a_conversation_without_a_mark_is_read_and_gets_one() {
    let (files, ids) = at_rest();
    // As a Paddock of before left it.
    files.put(&paths().events, Vec::new());
    let read =
        |files: &FaultyFiles| loaded(files).unwrap().iter().map(|message| message.id().to_owned()).collect::<Vec<_>>();
    assert_eq!(read(&files), ids);
    drop(open(&files));
    assert!(files.content(&paths().events).starts_with(b"{\"type\":\"folded\",\"lines\":6,"));
    assert_eq!(read(&files), ids);
}

/// A conversation of two turns and an open one, synced.
fn with_an_open_turn() -> FaultyFiles {
    let files = fresh();
    assert_eq!(run(&files, &a_turn_of_appends()), None);
    let mut conversation = open(&files);
    conversation.append_event(&turn(2), &MessageEvent::Remove { target_id: "b".into() }).unwrap();
    conversation.fold(&turn(2)).unwrap();
    for id in ["e", "f", "g"] {
        conversation.append_event(&turn(3), &append(id)).unwrap();
    }
    drop(conversation);
    files.synced()
}

/// The same with flawed lines, in each of the files or in both.
fn damaged_in_many_ways() -> Vec<FaultyFiles> {
    let flaws: [(&[usize], &[usize]); 5] = [(&[1], &[]), (&[], &[1]), (&[1], &[0]), (&[0, 3], &[0, 2]), (&[3], &[])];
    let spoiled = |path: &Path, lines: &[usize], files: &FaultyFiles| {
        let mut content = files.content(path);
        let starts = std::iter::once(0)
            .chain(content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
        let starts: Vec<usize> = starts.collect();
        lines.iter().for_each(|line| content[starts[*line] + 20] ^= 1);
        files.put(path, content);
    };
    let spoil = |(base, events): (&[usize], &[usize])| {
        let files = with_an_open_turn();
        spoiled(&paths().base, base, &files);
        spoiled(&paths().events, events, &files);
        files
    };
    flaws.into_iter().map(spoil).collect()
}

/// Whether what was found before a repair is kept aside, in both files.
fn is_kept_aside(files: &FaultyFiles, found: &[Vec<u8>; 2]) -> bool {
    let directory = paths().directory;
    let asides = files.names(&directory).into_iter().filter(|name| name.starts_with("damaged-"));
    asides.map(|name| directory.join(name)).any(|aside| {
        let names = files.names(&aside);
        names == ["base.jsonl", "events.jsonl"]
            && names.iter().zip(found).all(|(name, found)| files.content(&aside.join(name)) == *found)
    })
}

/// After a crash of a repair: what was found is there, in its place or aside, and repairing again comes to what it would have come to.
fn check_after_crashed_repair(files: &FaultyFiles, found: &[Vec<u8>; 2], wanted: &[Message], how: &str) {
    let own = paths();
    let untouched = [&own.base, &own.events].map(|path| files.content(path)) == *found;
    assert!(untouched || is_kept_aside(files, found), "{how}: what was found is nowhere any more");
    if let Ok(messages) = loaded(files) {
        assert_eq!(messages, wanted, "{how}: neither damaged nor repaired");
    }
    repair(files, &own, true).unwrap();
    assert_eq!(loaded(files).unwrap(), wanted, "{how}: repaired once more");
    assert_eq!(repair(files, &own, true).unwrap().lost, [], "{how}");
    open(files).append_event(&turn(3), &append("next")).unwrap();
    assert_eq!(loaded(files).unwrap().len(), wanted.len() + 1, "{how}: the next event");
}

#[test]
fn a_crash_at_any_step_of_a_repair_loses_nothing() {
    for (case, damaged) in damaged_in_many_ways().into_iter().enumerate() {
        let found = [paths().base, paths().events].map(|path| damaged.content(&path));
        assert!(loaded(&damaged).is_err(), "case {case} is damaged");
        let whole = damaged.after_kill();
        repair(&whole, &paths(), true).unwrap();
        let wanted = loaded(&whole).unwrap();
        assert!(is_kept_aside(&whole, &found));
        // The directory aside with two copies, each written and synced; two directories synced; two files beside and in place.
        assert_eq!(whole.steps(), 1 + 2 * 3 + 2 + 2 * 5, "case {case}");
        for step in 1..=whole.steps() + 1 {
            for done in [0, 50, 100] {
                let files = damaged.after_kill();
                files.fault(step, Fault::Stop { done });
                assert_eq!(repair(&files, &paths(), true).is_ok(), step > whole.steps());
                let how = format!("case {case}, step {step} ({done} %)");
                check_after_crashed_repair(&files.after_kill(), &found, &wanted, &format!("{how}, killed"));
                for seed in 1..=12 {
                    let after = files.after_power_loss(&mut decisions(seed + step * 1000));
                    check_after_crashed_repair(&after, &found, &wanted, &format!("{how}, power lost, {seed}"));
                }
            }
        }
    }
}

#[test]
fn lines_that_are_gone_are_told_and_what_is_left_is_repaired() {
    let whole = with_an_open_turn();
    let own = paths();
    let without = |path: &Path, gone: &[usize]| {
        let files = whole.after_kill();
        let content = String::from_utf8(files.content(path)).unwrap();
        let kept = content.split_inclusive('\n').enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, line)| line);
        files.put(path, kept.collect::<String>().into_bytes());
        files
    };
    // The base holds three messages and the mark of a new one; the events how far it goes and three messages.
    let cases: [(&Path, &[usize], u64, &[&str]); 6] = [
        (&own.base, &[1], 2, &["a", "d", "e", "f", "g"]),
        (&own.base, &[0, 1], 1, &["d", "e", "f", "g"]),
        (&own.base, &[3], 4, &["a", "c", "d", "e", "f", "g"]),
        (&own.events, &[0], 1, &["a", "c", "d", "e", "f", "g"]),
        (&own.events, &[1], 2, &["a", "c", "d", "f", "g"]),
        (&own.events, &[2], 3, &["a", "c", "d", "e", "g"]),
    ];
    for (path, gone, line, kept) in cases {
        let files = without(path, gone);
        assert!(loaded(&files).is_err(), "{gone:?} of {}", path.display());
        let repaired = repair(&files, &own, true).unwrap();
        let lost: Vec<(&Path, u64)> = repaired.lost.iter().map(|lost| (lost.file.as_path(), lost.line)).collect();
        assert!(lost.contains(&(path, line)), "{gone:?} of {}: {lost:?}", path.display());
        let ids: Vec<String> = loaded(&files).unwrap().iter().map(|message| message.id().to_owned()).collect();
        assert_eq!(ids, kept, "{gone:?} of {}", path.display());
    }
}

#[test]
fn a_file_that_is_missing_is_told_and_never_made_anew() {
    for missing in [paths().base, paths().events] {
        let files = with_an_open_turn();
        files.remove(&missing).unwrap();
        let left = files.names(&paths().directory);
        for refused in [loaded(&files).err(), FileConversation::open(files.clone(), paths(), true, ()).err()] {
            assert!(matches!(&refused, Some(ConversationError::MissingFile(path)) if *path == missing), "{refused:?}");
        }
        assert_eq!(files.names(&paths().directory), left, "nothing is made");
    }
}

#[test]
fn repairing_without_a_file_says_that_it_is_missing_and_keeps_the_other() {
    for (missing, kept) in [(paths().base, vec!["e", "f", "g"]), (paths().events, vec!["a", "c", "d"])] {
        let files = with_an_open_turn();
        files.remove(&missing).unwrap();
        let looked = repair(&files, &paths(), false).unwrap();
        assert_eq!(looked.lost.iter().map(|lost| (&lost.file, lost.line)).collect::<Vec<_>>(), [(&missing, 1)]);
        assert!(!files.names(&paths().directory).iter().any(|name| missing.ends_with(name)), "looking makes nothing");
        let repaired = repair(&files, &paths(), true).unwrap();
        assert_eq!(repaired.lost, looked.lost);
        let aside = files.names(&repaired.kept_aside.unwrap());
        assert!(aside.len() == 1 && !missing.ends_with(&aside[0]), "{aside:?}");
        let ids: Vec<String> = loaded(&files).unwrap().iter().map(|message| message.id().to_owned()).collect();
        assert_eq!(ids, kept, "without {}", missing.display());
        let seq = open(&files).append_event(&turn(3), &append("next")).unwrap();
        assert!(seq > 6, "the numbers go on: {seq}");
    }
}

#[test]
fn who_was_about_to_read_when_a_repair_ended_reads_what_is_there_now() {
    let files = with_an_open_turn();
    let wanted = loaded(&files).unwrap();
    files.at_lock(|files| {
        let own = paths();
        let content = files.content(&own.events);
        files.create(&own.new_events, true).unwrap();
        files.put(&own.new_events, content);
        files.rename(&own.new_events, &own.events, Over::Replaced).unwrap();
        let mut writer = open(files);
        writer.fold(&turn(3)).unwrap();
        writer.append_event(&turn(4), &append("later")).unwrap();
        writer.fold(&turn(4)).unwrap();
    });
    assert_eq!(loaded(&files).unwrap().len(), wanted.len() + 1);
}

fn any_event() -> impl Strategy<Value = MessageEvent> {
    // Few ids, so that they are met, missed and doubled often.
    let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
    prop_oneof![
        4 => (id(), 0..1000u32).prop_map(|(id, n)| MessageEvent::Append { message: message(id, &n.to_string()) }),
        2 => (id(), id(), 0..1000u32).prop_map(|(target, id, n)| MessageEvent::Replace { target_id: target.into(), message: message(id, &n.to_string()) }),
        2 => id().prop_map(|id| MessageEvent::Remove { target_id: id.into() }),
        1 => Just(MessageEvent::Truncate),
    ]
}

fn any_acts() -> impl Strategy<Value = Vec<Act>> {
    let turn = prop::collection::vec(any_event(), 0..6);
    prop::collection::vec(turn, 1..6).prop_map(|turns| {
        let numbered = turns.into_iter().zip(1u8..);
        numbered
            .flat_map(|(events, number)| {
                let events = events.into_iter().map(move |event| Act::Event(number, event));
                events.chain(std::iter::once(Act::Fold(number)))
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_events_comes_to_what_the_plain_model_says(acts in any_acts()) {
        let files = fresh();
        let states = expected(&acts);
        let mut conversation = open(&files);
        for (act, state) in acts.iter().zip(&states[1..]) {
            perform(&mut conversation, act).unwrap();
            prop_assert_eq!(&loaded(&files).unwrap(), state);
        }
        drop(conversation);
        open(&files);
        prop_assert_eq!(&loaded(&files).unwrap(), states.last().unwrap());
    }

    #[test]
    fn any_sequence_survives_a_crash_anywhere(acts in any_acts(), step in 1..60u64, done in 0..=100usize, seed in any::<u64>()) {
        let files = fresh();
        let states = expected(&acts);
        files.fault(step, Fault::Stop { done });
        if let Some(at) = run(&files, &acts) {
            check_after_crash(&files.after_kill(), &acts, &states, at, "killed");
            check_after_crash(&files.after_power_loss(&mut decisions(seed)), &acts, &states, at, "power lost");
        }
    }
}
