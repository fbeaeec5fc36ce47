//! Many at once, and calls that end before they are done.

#![allow(missing_docs, reason = "the name of each case is its sentence")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a case fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use paddock_core::{Cancel, ErrorKind, Expect, Operation};

use super::world::{browse, error, path_of, search, write};
use super::{Fixture, World};

const WRITERS: usize = 64;
const ROUNDS: usize = 20;

/// Runs this in many threads that start together.
fn together<T: Send>(n: usize, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(n);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n)
            .map(|i| {
                let (start, act) = (&start, &act);
                scope.spawn(move || {
                    start.wait();
                    act(i)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

pub fn of_many_edits_none_is_lost(fixture: &Fixture) {
    let world = fixture.world();
    let counters = |n: usize| (0..WRITERS).map(|i| format!("<{i}>={n};\n")).collect::<String>();
    world.write("/w/f", counters(0));
    together(WRITERS, |i| {
        for round in 0..ROUNDS {
            let (old, new) = (format!("<{i}>={round};"), format!("<{i}>={};", round + 1));
            world.edit("/w/f", &old, &new).unwrap();
        }
    });
    assert_eq!(world.text("/w/f"), counters(ROUNDS));
}

pub fn of_many_appends_none_is_lost_or_torn(fixture: &Fixture) {
    let world = fixture.world();
    together(WRITERS, |i| {
        for round in 0..ROUNDS {
            world.append("/w/log", format!("{i} {round} {}\n", "x".repeat(100))).unwrap();
        }
    });
    let text = world.text("/w/log");
    let expected: BTreeSet<String> =
        (0..WRITERS).flat_map(|i| (0..ROUNDS).map(move |r| format!("{i} {r} {}", "x".repeat(100)))).collect();
    assert_eq!(text.lines().count(), WRITERS * ROUNDS);
    assert_eq!(text.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
}

pub fn edits_and_appends_of_one_file_do_not_lose_each_other(fixture: &Fixture) {
    let world = fixture.world();
    world.write("/w/f", "n=0;\n");
    together(8, |i| {
        for round in 0..ROUNDS {
            if i == 0 {
                world.edit("/w/f", &format!("n={round};"), &format!("n={};", round + 1)).unwrap();
            } else {
                world.append("/w/f", format!("{i}\n")).unwrap();
            }
        }
    });
    let text = world.text("/w/f");
    assert!(text.starts_with(&format!("n={ROUNDS};\n")), "{text}");
    assert_eq!(text.lines().count(), 1 + 7 * ROUNDS);
}

pub fn exactly_one_of_many_creates(fixture: &Fixture) {
    let world = fixture.world();
    for round in 0..20 {
        let path = format!("/w/d{round}/f");
        let outcomes = together(16, |i| world.try_write(&path, format!("{i}"), Expect::Absent));
        let winners: Vec<usize> = (0..16).filter(|i| outcomes[*i].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        assert_eq!(world.text(&path), winners[0].to_string());
        for outcome in outcomes.into_iter().filter(Result::is_err) {
            assert_eq!(error(outcome), ErrorKind::AlreadyExists);
        }
    }
}

pub fn exactly_one_of_many_writes_on_a_version(fixture: &Fixture) {
    let world = fixture.world();
    for _ in 0..20 {
        let version = world.write("/w/f", "start");
        let outcomes = together(16, |i| world.try_write("/w/f", format!("{i}"), Expect::Is(version)));
        let winners: Vec<usize> = (0..16).filter(|i| outcomes[*i].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        assert_eq!(world.text("/w/f"), winners[0].to_string());
        for outcome in outcomes.into_iter().filter(Result::is_err) {
            assert_eq!(error(outcome), ErrorKind::Stale);
        }
    }
}

pub fn exactly_one_of_many_moves_the_same_file(fixture: &Fixture) {
    let world = fixture.world();
    for _ in 0..20 {
        world.write("/w/f", "x");
        let outcomes = together(8, |i| world.rename("/w/f", &format!("/w/to{i}")).is_ok());
        assert_eq!(outcomes.iter().filter(|moved| **moved).count(), 1);
        assert_eq!(world.list("/w").len(), 1, "it is in one place");
        let there = world.list("/w").remove(0);
        world.delete(&there).unwrap();
    }
}

pub fn a_reader_sees_one_whole_write(fixture: &Fixture) {
    let world = fixture.world();
    let content = |i: usize| format!("{i}").repeat(20_000);
    world.write("/w/f", content(0));
    together(8, |i| {
        for round in 0..20 {
            if i < 4 {
                world.write("/w/f", content((i + round) % 10));
            } else {
                let bytes = world.read("/w/f");
                assert_eq!(bytes.len(), 20_000);
                assert!(bytes.iter().all(|byte| *byte == bytes[0]), "no mix of two writes");
            }
        }
    });
}

fn grown(fixture: &Fixture) -> World {
    let world = fixture.world();
    for i in 0..50 {
        world.write(&format!("/w/{}/{i}", i % 5), "needle\n");
    }
    world
}

fn looks() -> [Operation; 3] {
    [
        Operation::List(browse("/w")),
        Operation::Search { path: path_of("/w"), search: search("needle") },
        Operation::Read { path: path_of("/w/0/0"), range: 0..10 },
    ]
}

pub fn a_cancelled_call_stops(fixture: &Fixture) {
    let world = grown(fixture);
    let cancel = Cancel::default();
    cancel.stop();
    let later = Instant::now() + Duration::from_secs(600);
    for look in looks() {
        assert_eq!(error(world.run_until(look, &cancel, later)), ErrorKind::Cancelled);
    }
    let change = write("/w/new", b"x", Expect::Any);
    assert_eq!(error(world.run_until(change, &cancel, later)), ErrorKind::Cancelled);
    assert_eq!(error(world.read_part("/w/new", 0..1)), ErrorKind::NotFound);
}

pub fn a_call_out_of_time_stops(fixture: &Fixture) {
    let world = grown(fixture);
    let cancel = Cancel::default();
    for look in looks() {
        assert_eq!(error(world.run_until(look, &cancel, Instant::now())), ErrorKind::TimedOut);
    }
}

pub fn a_long_search_ends_soon_after_it_is_cancelled(fixture: &Fixture) {
    let world = fixture.world();
    let line = "x".repeat(63) + "\n";
    for i in 0..40 {
        world.write(&format!("/w/{i}"), line.repeat(1 << 13));
    }
    let cancel = Cancel::default();
    let later = Instant::now() + Duration::from_secs(600);
    let outcome = std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            // Whatever a search takes, sooner or later one is running when the call is stopped.
            let search = || Operation::Search { path: path_of("/w"), search: search("(x|y)+z$") };
            (0..1000).map(|_| world.run_until(search(), &cancel, later)).find(Result::is_err)
        });
        while cancel.seen() < 60 && !slow.is_finished() {
            std::thread::yield_now();
        }
        cancel.stop();
        slow.join().unwrap()
    });
    assert_eq!(error(outcome.expect("a search that was stopped")), ErrorKind::Cancelled);
}

pub fn progress_can_be_seen(fixture: &Fixture) {
    let world = grown(fixture);
    let later = Instant::now() + Duration::from_secs(600);
    for look in looks().into_iter().take(2) {
        let cancel = Cancel::default();
        world.run_until(look, &cancel, later).unwrap();
        assert!(cancel.seen() >= 50, "{} entries were counted", cancel.seen());
    }
}
