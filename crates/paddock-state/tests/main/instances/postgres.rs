//! What is particular to instances on a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use paddock_db::Postgres;
use paddock_db::postgres_testing::{Cluster, Database, ask, run};
use paddock_state::ExtensionName;
use paddock_state::conversation::ConversationError;
use paddock_state::instance::{Instances, PostgresInstances, Saved};
use rustix::process::Signal;
use serde_json::Map;

use super::child::{LEASE, Player, taken};
use super::{World, append, ids, key, message, opened, remove, replace, said, turn, turns};

fn first(database: &Database, sql: &str) -> String {
    ask(&database.url(), &sql.replace("instance_", "paddock.instance_")).unwrap()
}

fn change(database: &Database, sql: &str) {
    run(&database.url(), &sql.replace("instance_", "paddock.instance_"));
}

#[test]
fn a_writer_that_slept_past_its_lease_writes_nothing() {
    let world = World::postgres();
    world.with("main");
    let instances = opened(&world.place(), Some(LEASE));
    let mut sleeper = Player::start("sleeper", &world.place());
    assert_eq!(sleeper.hears().as_deref(), Some("wrote"));
    sleeper.signal(Signal::STOP);
    let mut conversation = taken(&*instances, "main");
    assert_eq!(conversation.open_turn().unwrap().events, 1);
    sleeper.signal(Signal::CONT);
    sleeper.tell("go on");
    // Nothing but the fence tells that it is another's by now: all else is as the sleeper left it.
    for _ in 0..3 {
        assert_eq!(sleeper.hears().as_deref(), Some("lost"));
    }
    conversation.append_event(&turn("early"), &append("mine")).unwrap();
    conversation.fold(&turn("early")).unwrap();
    assert_eq!(said(&*instances, "main"), ["early", "mine"]);
}

#[test]
fn a_lease_lasts_as_long_as_its_holder_lives() {
    let world = World::postgres();
    world.with("main");
    let lease = Duration::from_secs(3);
    let (mine, others) = (opened(&world.place(), Some(lease)), opened(&world.place(), Some(lease)));
    let mut conversation = mine.conversation(&key("main")).unwrap();
    thread::sleep(lease * 3 / 2);
    let refused = others.conversation(&key("main"));
    assert!(matches!(refused, Err(ConversationError::Held { .. })), "who writes nothing lives all the same");
    conversation.append_event(&turn("t"), &append("a")).unwrap();
    conversation.fold(&turn("t")).unwrap();
    assert_eq!(said(&*mine, "main"), ["a"]);
}

/// Cuts every other connection to the database.
fn cut_connections(database: &Database) {
    run(
        &database.url(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
}

#[test]
fn a_reader_whose_connection_is_cut_goes_on_where_it_was_or_says_that_it_cannot() {
    let world = World::postgres();
    let instances = world.with("main");
    let messages: Vec<_> = (0..2500).map(|n| message(&n.to_string())).collect();
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.write_base(&turn("w"), &messages).unwrap();
    drop(conversation);
    let mut read = Vec::new();
    let seen = instances.read(&key("main"), &mut |message| {
        read.push(message);
        if read.len() == 700 {
            cut_connections(database(&world));
        }
    });
    seen.unwrap();
    assert!(read == messages, "each once, in order: {}", read.len());

    let mut given = 0;
    let refused = instances.read(&key("main"), &mut |_| {
        given += 1;
        if given == 700 {
            turns(&*world.open(), "main", &[&[remove("1"), append("new")]]);
            cut_connections(database(&world));
        }
    });
    assert!(matches!(refused, Err(ConversationError::Database(_))), "{refused:?}");
    assert!(given < 2500);
    assert_eq!(instances.load(&key("main")).unwrap().messages.len(), 2500);
}

#[test]
fn a_reader_sees_one_moment_however_long_it_reads() {
    let world = World::postgres();
    let instances = world.with("main");
    let messages: Vec<_> = (0..2500).map(|n| message(&n.to_string())).collect();
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.write_base(&turn("w"), &messages).unwrap();
    let mut read = Vec::new();
    let seen = instances.read(&key("main"), &mut |message| {
        read.push(message);
        if read.len() == 10 {
            for event in [remove("2000"), append("new")] {
                conversation.append_event(&turn("t"), &event).unwrap();
            }
            conversation.fold(&turn("t")).unwrap();
        }
    });
    seen.unwrap();
    assert!(read == messages);
    assert_eq!(instances.load(&key("main")).unwrap().messages.len(), 2500);
}

fn database(world: &World) -> &Database {
    let World::Postgres(database) = world else { panic!("a server") };
    database
}

#[test]
fn a_deleted_instance_is_lost_to_who_slept() {
    let world = World::postgres();
    world.with("main");
    let short = opened(&world.place(), Some(LEASE));
    let mut sleeper = Player::start("sleeper", &world.place());
    assert_eq!(sleeper.hears().as_deref(), Some("wrote"));
    sleeper.signal(Signal::STOP);
    drop(taken(&*short, "main"));
    assert!(short.delete(&key("main")).unwrap());
    short.create(&key("main"), "agent").unwrap();
    sleeper.signal(Signal::CONT);
    sleeper.tell("go on");
    for _ in 0..3 {
        assert_eq!(sleeper.hears().as_deref(), Some("lost"));
    }
    assert_eq!(said(&*short, "main"), [""; 0]);
    assert_eq!(first(database(&world), "SELECT count(*) FROM instance_event"), "0");
}

#[test]
fn installations_do_not_see_each_other() {
    let database = Database::fresh();
    let db = database.open(&[PostgresInstances::SCHEMA]);
    let (one, two) = (PostgresInstances::new(db.clone(), "one"), PostgresInstances::new(db, "two"));
    one.create(&key("main"), "agent").unwrap();
    assert_eq!(two.show(&key("main")).unwrap(), None);
    assert!(!two.delete(&key("main")).unwrap());
    two.create(&key("main"), "other").unwrap();
    turns(&one, "main", &[&[append("a")]]);
    turns(&two, "main", &[&[append("b")]]);
    assert!(two.delete(&key("main")).unwrap());
    assert_eq!(said(&one, "main"), ["a"]);
    assert_eq!(one.list().unwrap().instances.len(), 1);
}

#[test]
fn a_turn_that_only_adds_touches_no_earlier_row() {
    let world = World::postgres();
    let instances = world.with("main");
    let many: Vec<_> = (0..300).map(|n| append(&format!("m{n}"))).collect();
    turns(&*instances, "main", &[&many]);
    let sql = "SELECT count(*) || md5(string_agg(ctid::text || xmin::text || xmax::text, ',' ORDER BY seq)) \
               FROM instance_message WHERE seq <= 300";
    let before = first(database(&world), sql);
    turns(&*instances, "main", &[&[append("x"), append("y")]]);
    assert_eq!(first(database(&world), sql), before);
    turns(&*instances, "main", &[&[replace("m7", message("m7"))]]);
    assert_ne!(first(database(&world), sql), before);
    assert_eq!(first(database(&world), "SELECT count(*) FROM instance_event"), "0");
}

#[test]
fn unchanged_state_leaves_its_row_alone() {
    let world = World::postgres();
    let instances = world.with("main");
    let name = ExtensionName::new("memory").unwrap();
    instances.set_state(&key("main"), &name, &Map::new()).unwrap();
    let sql = "SELECT ctid::text || xmin::text || xmax::text FROM instance_state";
    let before = first(database(&world), sql);
    assert_eq!(instances.set_state(&key("main"), &name, &Map::new()).unwrap(), Saved::Unchanged);
    assert_eq!(first(database(&world), sql), before);
}

#[test]
fn what_was_done_to_rows_behind_our_back_is_noticed() {
    let world = World::postgres();
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b"), append("c")]]);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    for event in [append("d"), append("e"), remove("b")] {
        conversation.append_event(&turn("t"), &event).unwrap();
    }
    drop(conversation);
    let before = instances.load(&key("main")).unwrap();
    let table = |name: &str| format!("CREATE TABLE instance_copy_{name} AS TABLE instance_{name}");
    change(database(&world), &["message", "event"].map(table).join(";"));
    let deeds = [
        "DELETE FROM instance_message WHERE seq = 2",
        "DELETE FROM instance_message WHERE seq = 3",
        "DELETE FROM instance_event WHERE seq = 5",
        "DELETE FROM instance_event WHERE seq = 6",
        "UPDATE instance_message SET seq = 9 WHERE seq = 1",
        "UPDATE instance_message SET id_digest = 'x' WHERE seq = 1",
        "UPDATE instance_message SET line = (SELECT line FROM instance_copy_message WHERE seq = 1) WHERE seq = 3",
        "UPDATE instance_event SET seq = 9 WHERE seq = 4",
        "UPDATE instance_event SET event = replace(event, 'append', 'remove') WHERE seq = 4",
        "UPDATE instance_event SET message = NULL WHERE seq = 4",
        "UPDATE instance_event SET message = (SELECT message FROM instance_copy_event WHERE seq = 5) WHERE seq = 4",
        "UPDATE instance_event SET event = (SELECT event FROM instance_copy_event WHERE seq = 6) WHERE seq = 5",
        "INSERT INTO instance_message SELECT instance, 9, id_digest, line FROM instance_copy_message WHERE seq = 1",
    ];
    for deed in deeds {
        change(database(&world), deed);
        let read = instances.load(&key("main"));
        assert!(matches!(read, Err(ConversationError::Damaged { .. })), "{deed}: {read:?}");
        let repaired = instances.repair(&key("main"), true).unwrap();
        assert!(!repaired.lost.is_empty() && repaired.kept_aside.is_some(), "{deed}");
        let after = instances.load(&key("main")).unwrap();
        assert!(after.messages.len() + 2 >= before.messages.len(), "{deed}: {:?}", ids(&after));
        assert_eq!(instances.repair(&key("main"), true).unwrap().lost, [], "{deed}");
        put_back(&world);
        assert_eq!(instances.load(&key("main")).unwrap(), before, "{deed}");
    }
    let kept = "SELECT count(*) FROM instance_damaged WHERE coalesce(event, message) IS NOT NULL";
    assert!(first(database(&world), kept).parse::<u32>().unwrap() >= 7, "what was damaged is kept aside");
    turns(&*instances, "main", &[]);
}

fn put_back(world: &World) {
    change(
        database(world),
        "DELETE FROM instance_message; INSERT INTO instance_message TABLE instance_copy_message; \
         DELETE FROM instance_event; INSERT INTO instance_event TABLE instance_copy_event; \
         UPDATE instance_instance SET messages = 3, events = 3",
    );
}

#[test]
fn a_damaged_message_is_not_replaced_as_if_it_were_sound() {
    let world = World::postgres();
    let instances = world.with("main");
    turns(&*instances, "main", &[&[append("a"), append("b")]]);
    world.damage("main", 2);
    let mut conversation = instances.conversation(&key("main")).unwrap();
    conversation.append_event(&turn("t"), &replace("b", message("c"))).unwrap();
    let refused = conversation.fold(&turn("t"));
    assert!(matches!(refused, Err(ConversationError::Damaged { line: 2, .. })), "{refused:?}");
    assert_eq!(conversation.open_turn().unwrap().events, 1, "the events are still there");
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_turns_loses_nothing_acknowledged() {
    let cluster = Cluster::start();
    let open = || {
        let db = Postgres::new(&cluster.url(), vec![PostgresInstances::SCHEMA]).unwrap();
        PostgresInstances::new(db, "suite").with_lease(LEASE)
    };
    let instances = open();
    instances.create(&key("main"), "agent").unwrap();
    let done = AtomicBool::new(false);
    let acknowledged = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut conversation = taken(&instances, "main");
            let mut next = 0;
            while !done.load(Ordering::Acquire) {
                let turn = turn("t");
                match conversation.append_event(&turn, &append(&next.to_string())) {
                    Ok(_) => next += 1,
                    Err(error) => {
                        assert!(!matches!(error, ConversationError::TurnOpen { .. }), "{error}");
                        drop(conversation);
                        conversation = taken(&instances, "main");
                        // What nobody acknowledged may be there all the same.
                        next = instances.load(&key("main")).unwrap().messages.len();
                    }
                }
                if next % 4 == 0 {
                    // One that failed is done with the next.
                    let _ = conversation.fold(&turn);
                }
            }
            next
        });
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(300));
            cluster.kill();
            cluster.restart();
        }
        thread::sleep(Duration::from_millis(300));
        done.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    let there = said(&open(), "main");
    assert_eq!(there, (0..acknowledged).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(acknowledged > 4, "{acknowledged}");
}
