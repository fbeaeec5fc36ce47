//! What is promised of instances and conversations, wherever they are kept. Each test is named after its promise.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use paddock_state::conversation::{
    ConversationError, Message, MessageEvent, MessageSource, MissingMessage, Notice, Written, apply,
};
use paddock_state::instance::{Imported, Saved, Status};
use paddock_state::{ExtensionName, InstanceKey, Timestamp, TurnId};
use serde_json::{Map, Value, json};

use super::{World, append, ids, key, message, remove, replace, said, saying, turn, turns};

macro_rules! promises {
    ($($name:ident),+ $(,)?) => {
        mod files {
            $(#[test] fn $name() { super::$name(&super::World::files()); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&super::World::postgres()); })+
        }
    };
}

promises! {
    each_source_and_event_comes_back_as_it_was_written,
    odd_ids_and_contents_come_back_as_they_were_written,
    events_are_folded_in_their_order,
    of_equal_ids_the_first_is_meant,
    a_message_is_found_by_the_id_that_replaced_its_own,
    a_missing_target_is_skipped_and_told,
    turns_never_mix,
    folding_again_does_nothing,
    only_appends_are_added_without_writing_all_anew,
    write_base_adds_when_and_only_when_it_may,
    write_base_waits_for_the_end_of_the_turn,
    an_open_turn_survives_being_opened_again,
    numbers_of_events_only_grow,
    a_second_writer_is_told_who_holds_it_until_the_first_is_dropped,
    of_many_who_come_at_once_one_gets_it,
    readers_see_only_whole_states,
    the_state_of_an_extension_comes_back_and_is_written_only_when_it_changed,
    the_state_of_an_extension_is_never_seen_half_written,
    instances_are_listed_newest_first_and_damaged_ones_are_told,
    instances_of_one_moment_are_listed_by_their_keys,
    creating_again_keeps_the_beginning,
    deleting_what_is_not_there_is_no_error_and_neighbours_stay,
    hostile_keys_cannot_be_made,
    what_was_exported_can_be_imported,
    an_import_is_whole_or_not_there,
    restarting_ends_the_turn_that_was_cut_off,
    clearing_leaves_the_beginning_only,
    a_held_instance_is_not_deleted_cleared_or_repaired,
    an_instance_that_is_not_there_is_told_as_such,
    damage_is_refused_by_its_number_and_repaired_without_more_loss,
    a_sound_conversation_needs_no_repair,
}

fn each_source_and_event_comes_back_as_it_was_written(world: &World) {
    let instances = world.with("main");
    let sources = [
        MessageSource::User,
        MessageSource::Assistant { step_id: "s1".into() },
        MessageSource::Tool { tool_call_id: "c1".into(), tool_name: "read_file".into() },
        MessageSource::System,
        MessageSource::Extension { extension_name: "memory".into() },
    ];
    let made = |(at, source): (usize, MessageSource)| {
        let source = serde_json::to_string(&source).unwrap();
        let data = json!({"role": "assistant", "content": [{"type": "text", "text": "hällo\nthere"}]});
        let metadata = r#"{"z":1.0,"a":[12345678901234567890123]}"#;
        let made = r#""createdAt":"2026-11-15T12:00:00.000Z""#;
        let text = format!(r#"{{"id":"m{at}","data":{data},"metadata":{metadata},{made},"source":{source}}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let messages: Vec<Message> = sources.into_iter().enumerate().map(made).collect();
    let mut events: Vec<MessageEvent> =
        messages.iter().map(|message| MessageEvent::Append { message: message.clone() }).collect();
    events.push(replace("m1", message("new")));
    events.push(remove("m0"));
    let mut expected = messages;
    expected[1] = {
        let MessageEvent::Replace { message, .. } = &events[5] else { panic!() };
        message.clone()
    };
    expected.remove(0);

    let mut conversation = instances.conversation(&key("main")).unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(conversation.append_event(&turn("t"), event).unwrap(), at as u64 + 1);
    }
    let open = world.open().load(&key("main")).unwrap();
    assert_eq!(open.messages, expected);
    let text = |messages: &[Message]| serde_json::to_string(messages).unwrap();
    assert_eq!(text(&open.messages), text(&expected));
    conversation.fold(&turn("t")).unwrap();
    let folded = world.open().load(&key("main")).unwrap();
    assert_eq!(text(&folded.messages), text(&expected));
    assert_eq!((folded.open_turn, folded.notices), (None, vec![]));
    for event in [append("x"), MessageEvent::Truncate] {
        conversation.append_event(&turn("u"), &event).unwrap();
    }
    assert_eq!(instances.load(&key("main")).unwrap().messages, []);
    conversation.fold(&turn("u")).unwrap();
    assert_eq!(instances.load(&key("main")).unwrap().messages, []);
}

fn odd_ids_and_contents_come_back_as_they_were_written(world: &World) {
    let instances = world.with("main");
    let long = "long ".repeat(4_000);
    let odd = ["", "\0", "a\"b\\c", "new\nline", "\u{202e}", "한국어 🦀", "\",\"seq\":7,\"turnId\":\"t\"", &long];
    let messages: Vec<Message> = odd.iter().map(|text| saying(text, text)).collect();
    let events: Vec<_> = messages.iter().map(|message| MessageEvent::Append { message: message.clone() }).collect();
    turns(&*instances, "main", &[&events]);
    assert_eq!(world.open().load(&key("main")).unwrap().messages, messages);
    turns(&*instances, "main", &[&odd.map(remove)]);
    assert_eq!(said(&*instances, "main"), [""; 0]);
}

fn events_are_folded_in_their_order(world: &World) {
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b"), append("c")]]);
    turns(
        &*instances,
        "main",
        &[
            &[append("d"), remove("b"), replace("d", message("e")), append("f"), remove("e")],
            &[append("g"), MessageEvent::Truncate, append("h"), append("i"), replace("h", message("j"))],
            &[append("k")],
        ],
    );
    assert_eq!(said(&*instances, "main"), ["j", "i", "k"]);
}

fn of_equal_ids_the_first_is_meant(world: &World) {
    let instances = world.with("main");
    let say = |what: &str| MessageEvent::Append { message: saying("same", what) };
    turns(&*instances, "main", &[&[say("one"), say("two"), say("three")]]);
    turns(&*instances, "main", &[&[remove("same"), say("four"), replace("same", saying("same", "new"))]]);
    let contents: Vec<Value> = instances.load(&key("main")).unwrap().messages.iter().map(Message::content).collect();
    assert_eq!(contents, ["new", "three", "four"]);
}

fn a_message_is_found_by_the_id_that_replaced_its_own(world: &World) {
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b"), append("c")], &[replace("b", message("z"))]]);
    assert_eq!(said(&*instances, "main"), ["a", "z", "c"]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("t"), &remove("b")).unwrap();
    conversation.append_event(&turn("t"), &replace("z", message("y"))).unwrap();
    conversation.append_event(&turn("t"), &remove("z")).unwrap();
    let missing = conversation.fold(&turn("t")).unwrap().missing;
    assert_eq!(missing.iter().map(|missing| missing.event_index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(said(&*instances, "main"), ["a", "y", "c"]);
}

fn a_missing_target_is_skipped_and_told(world: &World) {
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a")]]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    for event in [append("b"), replace("nobody", message("x")), remove("nothing")] {
        conversation.append_event(&turn("t"), &event).unwrap();
    }
    let missing = |event_index, target_id: &str| MissingMessage { event_index, target_id: target_id.into() };
    let expected = [missing(1, "nobody"), missing(2, "nothing")];
    let loaded = world.open().load(&key("main")).unwrap();
    assert_eq!(ids(&loaded), ["a", "b"]);
    assert_eq!(loaded.notices, expected.clone().map(Notice::MissingMessage));
    assert_eq!(loaded.notices[0].code(), "E_MESSAGE_TARGET_NOT_FOUND");
    assert_eq!(conversation.fold(&turn("t")).unwrap().missing, expected);
    assert_eq!(said(&*instances, "main"), ["a", "b"]);
    assert_eq!(instances.load(&key("main")).unwrap().notices, []);
}

fn turns_never_mix(world: &World) {
    let instances = world.with("main");
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("one"), &append("a")).unwrap();
    let refused = |error: ConversationError| {
        assert!(
            matches!(&error, ConversationError::TurnOpen { open, asked } if *open == turn("one") && *asked == turn("two")),
            "{error}"
        );
    };
    refused(conversation.append_event(&turn("two"), &append("b")).unwrap_err());
    refused(conversation.fold(&turn("two")).unwrap_err());
    refused(conversation.write_base(&turn("two"), &[]).unwrap_err());
    assert_eq!(said(&*instances, "main"), ["a"]);
    drop(conversation);
    let mut conversation = world.open().conversation(&key("main")).unwrap();
    refused(conversation.append_event(&turn("two"), &append("b")).unwrap_err());
    conversation.fold(&turn("one")).unwrap();
    conversation.append_event(&turn("two"), &append("b")).unwrap();
    conversation.fold(&turn("two")).unwrap();
    assert_eq!(said(&*instances, "main"), ["a", "b"]);
}

fn folding_again_does_nothing(world: &World) {
    let instances = world.with("main");
    let mut conversation = instances.conversation(&key("main")).unwrap();
    assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Nothing);
    conversation.append_event(&turn("t"), &append("a")).unwrap();
    assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Appended);
    assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Nothing);
    assert_eq!(conversation.open_turn(), None);
    drop(conversation);
    let mut conversation = world.open().conversation(&key("main")).unwrap();
    assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Nothing);
    assert_eq!(said(&*instances, "main"), ["a"]);
}

fn only_appends_are_added_without_writing_all_anew(world: &World) {
    let instances = world.with("main");
    let mut conversation = instances.conversation(&key("main")).unwrap();
    let mut ends = |events: &[MessageEvent]| {
        for event in events {
            conversation.append_event(&turn("t"), event).unwrap();
        }
        conversation.fold(&turn("t")).unwrap().written
    };
    assert_eq!(ends(&[append("a"), append("b")]), Written::Appended);
    assert_eq!(ends(&[append("c"), remove("a")]), Written::Rewritten);
    assert_eq!(ends(&[append("d")]), Written::Appended);
    assert_eq!(ends(&[MessageEvent::Truncate]), Written::Rewritten);
    assert_eq!(ends(&[append("e")]), Written::Appended);
    assert_eq!(said(&*instances, "main"), ["e"]);
}

fn write_base_adds_when_and_only_when_it_may(world: &World) {
    let instances = world.with("main");
    let mut conversation = instances.conversation(&key("main")).unwrap();
    let all: Vec<Message> = (0..500).map(|n| message(&format!("m{n}"))).collect();
    let mut writes = |messages: &[Message]| {
        let written = conversation.write_base(&turn("t"), messages).unwrap().written;
        assert_eq!(world.open().load(&key("main")).unwrap().messages, messages);
        written
    };
    assert_eq!(writes(&[]), Written::Nothing);
    assert_eq!(writes(&all[..3]), Written::Appended);
    assert_eq!(writes(&all[..3]), Written::Nothing);
    assert_eq!(writes(&all), Written::Appended);
    // The same ids in the same order are not the same messages.
    let mut other = all.clone();
    other[1] = saying("m1", "something else");
    assert_eq!(writes(&other), Written::Rewritten);
    assert_eq!(writes(&other[..2]), Written::Rewritten);
    assert_eq!(writes(&other[1..]), Written::Rewritten);
    assert_eq!(writes(&[]), Written::Rewritten);
    assert_eq!(writes(&all[..1]), Written::Appended);
}

fn write_base_waits_for_the_end_of_the_turn(world: &World) {
    let instances = world.with("main");
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("t"), &append("a")).unwrap();
    let refused = conversation.write_base(&turn("t"), &[message("b")]);
    assert!(matches!(refused, Err(ConversationError::TurnOpen { .. })), "{refused:?}");
    assert_eq!(said(&*instances, "main"), ["a"]);
}

fn an_open_turn_survives_being_opened_again(world: &World) {
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b")]]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("t"), &append("c")).unwrap();
    let last = conversation.append_event(&turn("t"), &remove("a")).unwrap();
    drop(conversation);
    let others = world.open();
    let seen = others.load(&key("main")).unwrap().open_turn.unwrap();
    assert_eq!((&seen.turn, seen.events, seen.last_seq), (&turn("t"), 2, last));
    let mut conversation = others.conversation(&key("main")).unwrap();
    assert_eq!(conversation.open_turn(), Some(&seen));
    assert_eq!(conversation.append_event(&turn("t"), &append("d")).unwrap(), last + 1);
    assert_eq!(conversation.fold(&turn("t")).unwrap().written, Written::Rewritten);
    assert_eq!(said(&*instances, "main"), ["b", "c", "d"]);
}

fn numbers_of_events_only_grow(world: &World) {
    let instances = world.with("main");
    let mut last = 0;
    for round in 0..4 {
        let mut conversation = instances.conversation(&key("main")).unwrap();
        for event in [append("a"), append("b"), if round % 2 == 0 { remove("a") } else { append("c") }] {
            let seq = conversation.append_event(&turn("t"), &event).unwrap();
            assert!(seq > last, "{seq} after {last}");
            last = seq;
        }
        conversation.fold(&turn("t")).unwrap();
        conversation.write_base(&turn("w"), &[message("x")]).unwrap();
    }
}

fn a_second_writer_is_told_who_holds_it_until_the_first_is_dropped(world: &World) {
    let (mine, others) = (world.with("main"), world.open());
    assert_eq!(others.held_by(&key("main")), None);
    let conversation = mine.conversation(&key("main")).unwrap();
    let Err(error) = others.conversation(&key("main")) else { panic!("two writers") };
    let pid = format!("process {} ", std::process::id());
    assert!(matches!(&error, ConversationError::Held { holder, .. } if holder.contains(&pid)), "{error}");
    assert!(error.to_string().contains("instance \"main\" is held by"), "{error}");
    assert!(others.held_by(&key("main")).unwrap().contains(&pid));
    assert!(mine.conversation(&key("main")).is_err(), "not even in the same process");
    drop(conversation);
    assert_eq!(others.held_by(&key("main")), None);
    others.conversation(&key("main")).unwrap();
}

fn of_many_who_come_at_once_one_gets_it(world: &World) {
    let instances = world.with("main");
    for _ in 0..10 {
        let begin = Barrier::new(6);
        let taken = thread::scope(|scope| {
            let come = || {
                let own = world.open();
                own.show(&key("main")).unwrap();
                begin.wait();
                own.conversation(&key("main"))
            };
            let all: Vec<_> = (0..6).map(|_| scope.spawn(come)).collect();
            // Nobody gives it back before all have come.
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        let refused = taken.iter().filter(|one| matches!(one, Err(ConversationError::Held { .. }))).count();
        assert_eq!((taken.iter().filter(|one| one.is_ok()).count(), refused), (1, 5));
        drop(taken);
        assert_eq!(instances.held_by(&key("main")), None);
    }
}

fn readers_see_only_whole_states(world: &World) {
    const TURNS: usize = 30;
    let instances = world.with("main");
    let (done, begin) = (AtomicBool::new(false), Barrier::new(3));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = world.open();
                begin.wait();
                let (mut longest, mut is_last) = (0, false);
                while !is_last {
                    // Whoever looks after the end sees all of it.
                    is_last = done.load(Ordering::Acquire);
                    let loaded = reader.load(&key("main")).unwrap();
                    let prefix: Vec<String> = (0..loaded.messages.len()).map(|n| format!("m{n}")).collect();
                    assert_eq!(ids(&loaded), prefix, "whole, in order, once");
                    assert!(prefix.len() >= longest, "what was there once stays there");
                    longest = prefix.len();
                }
                assert_eq!(longest, TURNS * 4);
            });
        }
        let mut conversation = instances.conversation(&key("main")).unwrap();
        begin.wait();
        let _ended = Ended(&done);
        for n in 0..TURNS {
            let turn = turn(&format!("t{n}"));
            for at in 0..4 {
                conversation.append_event(&turn, &append(&format!("m{}", n * 4 + at))).unwrap();
            }
            if n % 3 == 2 {
                // All is written anew, and the ids are the same.
                conversation.append_event(&turn, &replace("m1", message("m1"))).unwrap();
            }
            conversation.fold(&turn).unwrap();
        }
    });
}

/// Says that a writer came to its end, whichever.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("an object") };
    object
}

fn the_state_of_an_extension_comes_back_and_is_written_only_when_it_changed(world: &World) {
    let instances = world.with("main");
    let (memory, other) = (ExtensionName::new("memory").unwrap(), ExtensionName::new("o.t her").unwrap());
    assert_eq!(instances.get_state(&key("main"), &memory).unwrap(), None);
    assert_eq!(instances.extensions(&key("main")).unwrap(), []);
    let first = object(json!({"facts": ["a\u{0}b"], "n": 1}));
    let second = object(json!({"facts": [], "deep": {"er": null}}));
    assert_eq!(instances.set_state(&key("main"), &memory, &first).unwrap(), Saved::Written);
    assert_eq!(world.open().set_state(&key("main"), &memory, &first).unwrap(), Saved::Unchanged);
    assert_eq!(instances.set_state(&key("main"), &other, &first).unwrap(), Saved::Written);
    assert_eq!(instances.set_state(&key("main"), &memory, &second).unwrap(), Saved::Written);
    assert_eq!(world.open().get_state(&key("main"), &memory).unwrap(), Some(second));
    assert_eq!(instances.get_state(&key("main"), &other).unwrap(), Some(first));
    assert_eq!(instances.extensions(&key("main")).unwrap(), [memory, other]);
}

fn the_state_of_an_extension_is_never_seen_half_written(world: &World) {
    let instances = world.with("main");
    let memory = ExtensionName::new("memory").unwrap();
    let states = [1, 2].map(|of| object(json!({"of": of, "facts": vec![of; 5_000 * of]})));
    instances.set_state(&key("main"), &memory, &states[0]).unwrap();
    thread::scope(|scope| {
        let write = |at: usize| {
            let (instances, states, memory) = (world.open(), &states, &memory);
            move || {
                for n in 0..100 {
                    instances.set_state(&key("main"), memory, &states[(n + at) % 2]).unwrap();
                }
            }
        };
        let writers = [scope.spawn(write(0)), scope.spawn(write(1))];
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let seen = instances.get_state(&key("main"), &memory).unwrap().unwrap();
            assert!(states.contains(&seen), "neither of the two");
        }
    });
}

fn instances_are_listed_newest_first_and_damaged_ones_are_told(world: &World) {
    let instances = world.open();
    assert_eq!(instances.list().unwrap().instances, []);
    for name in ["b", "a", "한국어", "broken"] {
        instances.create(&key(name), "agent").unwrap();
        thread::sleep(std::time::Duration::from_millis(2));
    }
    instances.set_status(&key("b"), Status::Processing).unwrap();
    world.damage_metadata("broken");
    let listing = world.open().list().unwrap();
    let listed: Vec<&str> = listing.instances.iter().map(|instance| instance.instance_key.as_str()).collect();
    assert_eq!(listed, ["b", "한국어", "a"]);
    assert_eq!(listing.instances[0].status, Status::Processing);
    assert_eq!(listing.unreadable.len(), 1);
    assert!(listing.unreadable[0].0.contains("broken"), "{:?}", listing.unreadable);
    assert!(matches!(instances.show(&key("broken")), Err(ConversationError::DamagedFile { .. })));
}

fn instances_of_one_moment_are_listed_by_their_keys(world: &World) {
    let instances = world.open();
    // Some of these share a millisecond, whatever the machine.
    for n in (0..40).rev() {
        instances.create(&key(&format!("k{n:02}")), "agent").unwrap();
    }
    let listed = instances.list().unwrap().instances;
    assert_eq!(listed.len(), 40);
    assert!(listed.windows(2).all(|pair| {
        pair[0].updated_at > pair[1].updated_at
            || (pair[0].updated_at == pair[1].updated_at && pair[0].instance_key < pair[1].instance_key)
    }));
}

fn creating_again_keeps_the_beginning(world: &World) {
    let instances = world.open();
    assert_eq!(instances.show(&key("main")).unwrap(), None);
    let first = instances.create(&key("main"), "writer").unwrap();
    assert_eq!((first.status, first.agent_name.as_str()), (Status::Idle, "writer"));
    thread::sleep(std::time::Duration::from_millis(2));
    assert_eq!(world.open().create(&key("main"), "another").unwrap(), first);
    instances.set_status(&key("main"), Status::Processing).unwrap();
    let now = world.open().create(&key("main"), "another").unwrap();
    assert_eq!((now.created_at, now.agent_name.as_str()), (first.created_at, "writer"));
    assert!(now.updated_at > first.updated_at);
    assert_eq!(instances.show(&key("main")).unwrap(), Some(now));
}

fn deleting_what_is_not_there_is_no_error_and_neighbours_stay(world: &World) {
    let instances = world.with("main");
    for name in ["mai", "main2", "x"] {
        instances.create(&key(name), "agent").unwrap();
        turns(&*instances, name, &[&[append("a")]]);
    }
    let memory = ExtensionName::new("memory").unwrap();
    instances.set_state(&key("main"), &memory, &Map::new()).unwrap();
    turns(&*instances, "main", &[&[append("a")]]);
    assert!(!instances.delete(&key("absent")).unwrap());
    assert!(instances.delete(&key("main")).unwrap());
    assert!(!world.open().delete(&key("main")).unwrap());
    assert_eq!(instances.show(&key("main")).unwrap(), None);
    for name in ["mai", "main2", "x"] {
        assert_eq!(said(&*world.open(), name), ["a"]);
    }
    instances.create(&key("main"), "agent").unwrap();
    assert_eq!(said(&*instances, "main"), [""; 0]);
    assert_eq!(instances.get_state(&key("main"), &memory).unwrap(), None);
}

fn hostile_keys_cannot_be_made(world: &World) {
    let instances = world.with("main");
    for hostile in ["", ".", "..", "../main", "a/b", "/", "a\0b", ".lease", "a\\b", "a\nb"] {
        assert!(InstanceKey::new(hostile).is_err(), "{hostile:?}");
        assert!(ExtensionName::new(hostile).is_err(), "{hostile:?}");
        assert!(TurnId::new(hostile).is_err() || hostile.starts_with('.'), "{hostile:?}");
    }
    // What would be hostile to a statement or a pattern is an ordinary name.
    for odd in ["'; DROP TABLE instance_instance; --", "%", "_", "a*", "$(x)"] {
        instances.create(&key(odd), odd).unwrap();
        assert!(instances.delete(&key(odd)).unwrap());
    }
    assert_eq!(instances.list().unwrap().instances.len(), 1);
}

fn what_was_exported_can_be_imported(world: &World) {
    let instances = world.with("main");
    let messages: Vec<Message> = (0..450).map(|n| message(&format!("m{}", n % 400))).collect();
    let events = [append("new"), remove("m3"), replace("m4", message("four"))];
    let mut given = messages.iter().cloned().map(Ok);
    let made = Timestamp::parse("2026-01-02T03:04:05.678Z").unwrap();
    let imported = Imported { events: &events, created_at: Some(made), ..Imported::of(&mut given) };
    assert_eq!(instances.import(&key("copy"), "writer", imported).unwrap(), 450);
    let loaded = world.open().load(&key("copy")).unwrap();
    assert_eq!(loaded.messages, apply(messages.clone(), &events).0);
    assert_eq!(loaded.open_turn.as_ref().unwrap().events, 3);
    let shown = instances.show(&key("copy")).unwrap().unwrap();
    assert_eq!((shown.agent_name.as_str(), shown.created_at), ("writer", made));
    assert!(shown.updated_at > made);
    // What is carried on from here is what came: the open turn is not folded by it.
    let mut confirmed = Vec::new();
    let (open, seen) = instances.read_apart(&key("copy"), &mut |message| confirmed.push(message)).unwrap();
    assert_eq!((confirmed, open), (messages.clone(), events.to_vec()));
    assert_eq!((seen.open_turn, seen.notices), (loaded.open_turn.clone(), vec![]));
    assert!(instances.restart(&key("copy")).unwrap().is_some());
    turns(&*instances, "copy", &[&[append("after")]]);
    assert_eq!(instances.load(&key("copy")).unwrap().messages.len(), 451);
    let again = instances.import(&key("copy"), "x", Imported::of(&mut std::iter::empty()));
    assert!(matches!(again, Err(ConversationError::Exists(_))));
    assert_eq!(instances.load(&key("copy")).unwrap().messages.len(), 451);
}

fn an_import_is_whole_or_not_there(world: &World) {
    let instances = world.with("main");
    let bad = || Err(ConversationError::NoInstance(key("elsewhere")));
    let mut given = (0..300).map(|n| Ok(message(&format!("m{n}")))).chain([bad()]);
    let imported = Imported::of(&mut given);
    assert!(matches!(instances.import(&key("half"), "x", imported), Err(ConversationError::NoInstance(_))));
    assert_eq!(world.open().show(&key("half")).unwrap(), None);
    assert_eq!(instances.list().unwrap().instances.len(), 1);
    instances.create(&key("half"), "x").unwrap();
    assert_eq!(said(&*instances, "half"), [""; 0]);
}

fn restarting_ends_the_turn_that_was_cut_off(world: &World) {
    let instances = world.with("main");
    instances.set_status(&key("main"), Status::Processing).unwrap();
    assert_eq!(instances.restart(&key("main")).unwrap(), None);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("cut"), &append("a")).unwrap();
    drop(conversation);
    instances.set_status(&key("main"), Status::Processing).unwrap();
    assert_eq!(world.open().restart(&key("main")).unwrap(), Some(turn("cut")));
    assert_eq!(instances.show(&key("main")).unwrap().unwrap().status, Status::Idle);
    assert_eq!(instances.load(&key("main")).unwrap().open_turn, None);
    turns(&*instances, "main", &[&[append("b")]]);
    assert_eq!(said(&*instances, "main"), ["a", "b"]);
}

fn clearing_leaves_the_beginning_only(world: &World) {
    let instances = world.with("main");
    let memory = ExtensionName::new("memory").unwrap();
    instances.set_state(&key("main"), &memory, &Map::new()).unwrap();
    instances.set_status(&key("main"), Status::Processing).unwrap();
    turns(&*instances, "main", &[&[append("a")]]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("cut"), &append("b")).unwrap();
    drop(conversation);
    let before = instances.show(&key("main")).unwrap().unwrap();
    instances.clear(&key("main")).unwrap();
    let after = world.open().show(&key("main")).unwrap().unwrap();
    assert_eq!((after.created_at, after.agent_name), (before.created_at, before.agent_name));
    assert_eq!(after.status, Status::Idle);
    assert_eq!(instances.get_state(&key("main"), &memory).unwrap(), None);
    let loaded = instances.load(&key("main")).unwrap();
    assert_eq!((loaded.messages, loaded.open_turn), (vec![], None));
    turns(&*instances, "main", &[&[append("c")]]);
    assert_eq!(said(&*instances, "main"), ["c"]);
}

fn a_held_instance_is_not_deleted_cleared_or_repaired(world: &World) {
    let (mine, others) = (world.with("main"), world.open());
    let mut conversation = mine.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("t"), &append("a")).unwrap();
    let held = |error: ConversationError| assert!(matches!(error, ConversationError::Held { .. }), "{error}");
    held(others.delete(&key("main")).unwrap_err());
    held(others.clear(&key("main")).unwrap_err());
    held(others.repair(&key("main"), true).unwrap_err());
    held(others.restart(&key("main")).unwrap_err());
    conversation.append_event(&turn("t"), &append("b")).unwrap();
    conversation.fold(&turn("t")).unwrap();
    assert_eq!(said(&*others, "main"), ["a", "b"]);
    drop(conversation);
    assert!(others.delete(&key("main")).unwrap());
}

fn an_instance_that_is_not_there_is_told_as_such(world: &World) {
    let (instances, absent) = (world.with("main"), key("absent"));
    let memory = ExtensionName::new("memory").unwrap();
    let none = |error: ConversationError| assert!(matches!(error, ConversationError::NoInstance(_)), "{error}");
    none(instances.load(&absent).unwrap_err());
    none(instances.conversation(&absent).err().unwrap());
    none(instances.set_status(&absent, Status::Idle).unwrap_err());
    none(instances.clear(&absent).unwrap_err());
    none(instances.get_state(&absent, &memory).unwrap_err());
    none(instances.extensions(&absent).unwrap_err());
    none(instances.set_state(&absent, &memory, &Map::new()).unwrap_err());
    none(instances.repair(&absent, true).unwrap_err());
    none(instances.restart(&absent).unwrap_err());
    assert_eq!(instances.show(&absent).unwrap(), None);
    assert_eq!(instances.held_by(&absent), None);
}

fn damage_is_refused_by_its_number_and_repaired_without_more_loss(world: &World) {
    let instances = world.with("main");
    let events: Vec<MessageEvent> = (1..=9).map(|n| append(&format!("m{n}"))).collect();
    turns(&*instances, "main", &[&events]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("open"), &append("m10")).unwrap();
    drop(conversation);
    world.damage("main", 4);
    let error = instances.load(&key("main")).unwrap_err();
    assert!(matches!(error, ConversationError::Damaged { line: 4, .. }), "{error}");

    let looked = instances.repair(&key("main"), false).unwrap();
    assert_eq!((looked.messages, looked.events, looked.kept_aside), (8, 1, None));
    assert_eq!(looked.lost.iter().map(|lost| lost.line).collect::<Vec<_>>(), [4]);
    assert!(instances.load(&key("main")).is_err(), "looking repairs nothing");
    let repaired = instances.repair(&key("main"), true).unwrap();
    assert!(repaired.kept_aside.is_some());
    assert_eq!(repaired.lost, looked.lost);
    let kept = ["m1", "m2", "m3", "m5", "m6", "m7", "m8", "m9", "m10"];
    let loaded = world.open().load(&key("main")).unwrap();
    assert_eq!(ids(&loaded), kept);
    assert_eq!(loaded.open_turn.unwrap().turn, turn("open"));
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("open"), &append("m11")).unwrap();
    conversation.fold(&turn("open")).unwrap();
    assert_eq!(said(&*instances, "main").len(), 10);
}

fn a_sound_conversation_needs_no_repair(world: &World) {
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b")], &[remove("a"), append("c")]]);
    let repaired = instances.repair(&key("main"), true).unwrap();
    assert_eq!((repaired.messages, repaired.events), (2, 0));
    assert_eq!((repaired.lost, repaired.kept_aside), (vec![], None));
    assert_eq!(said(&*instances, "main"), ["b", "c"]);
}
