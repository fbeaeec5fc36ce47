//! kill -9 at any moment: what was acknowledged is there once and in order, and at most one event more.

use std::thread;
use std::time::Duration;

use super::child::{LEASE, Player, taken};
use super::{World, append, count, ids, key, opened, turn};
use paddock_state::conversation::ConversationError;

/// A number below `end`, another for each round; what matters is only that the moments differ.
fn some(round: u32, end: u64) -> u64 {
    let mixed = u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (mixed ^ mixed >> 17) % end
}

fn nothing_acknowledged_is_lost(world: &World, kills: u32) {
    world.with("main");
    let instances = opened(&world.place(), Some(LEASE));
    let mut acknowledged = 0;
    for round in 0..kills {
        let mut player = Player::start("turns", &world.place());
        for _ in 0..=some(round, 30) {
            let line = player.hears().expect("it goes on until it is killed");
            acknowledged = number(&line);
        }
        thread::sleep(Duration::from_micros(some(round + 1, 4000)));
        if let Some(last) = player.kill().last() {
            acknowledged = number(last);
        }
        let loaded = instances.load(&key("main")).unwrap();
        let there = loaded.messages.len();
        let expected: Vec<String> = (0..there).map(|n| n.to_string()).collect();
        assert_eq!(ids(&loaded), expected, "round {round}: each once, in order");
        assert!((acknowledged..=acknowledged + 1).contains(&there), "round {round}: {there} after {acknowledged}");
    }
    assert!(acknowledged > 0);
}

/// How many messages are there when this one is.
fn number(line: &str) -> usize {
    line.strip_prefix("kept ").unwrap().parse::<usize>().unwrap() + 1
}

fn a_dead_holder_holds_nothing(world: &World) {
    world.with("main");
    let instances = opened(&world.place(), Some(LEASE));
    let mut player = Player::start("hold", &world.place());
    assert_eq!(player.hears().as_deref(), Some("held"));
    let Err(error) = instances.conversation(&key("main")) else { panic!("two writers") };
    let pid = format!("process {} ", player.pid());
    assert!(matches!(&error, ConversationError::Held { holder, .. } if holder.contains(&pid)), "{error}");
    assert!(instances.held_by(&key("main")).unwrap().contains(&pid));
    assert_eq!(ids(&instances.load(&key("main")).unwrap()), ["theirs"]);
    player.kill();
    let mut conversation = taken(&*instances, "main");
    conversation.append_event(&turn("theirs"), &append("mine")).unwrap();
    conversation.fold(&turn("theirs")).unwrap();
    assert_eq!(ids(&instances.load(&key("main")).unwrap()), ["theirs", "mine"]);
}

mod files {
    use super::*;

    #[test]
    fn killed_at_any_moment_nothing_acknowledged_is_lost() {
        nothing_acknowledged_is_lost(&World::files(), count("PADDOCK_KILLS", 50));
    }

    #[test]
    fn of_two_processes_one_writes_and_a_dead_one_holds_nothing() {
        a_dead_holder_holds_nothing(&World::files());
    }
}

mod postgres {
    use super::*;

    #[test]
    fn killed_at_any_moment_nothing_acknowledged_is_lost() {
        // Each waits until the one before is taken for dead.
        nothing_acknowledged_is_lost(&World::postgres(), count("PADDOCK_KILLS", 100) / 10);
    }

    #[test]
    fn of_two_processes_one_writes_and_a_dead_one_holds_nothing() {
        a_dead_holder_holds_nothing(&World::postgres());
    }
}
