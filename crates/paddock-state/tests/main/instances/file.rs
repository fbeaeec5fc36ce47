//! What is particular to instances in files: what is written, with which mode, and what damage does.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use paddock_state::ExtensionName;
use paddock_state::conversation::{ConversationError, Loaded, Message, MessageEvent, Notice};
use paddock_state::instance::Instances;
use serde_json::{Map, Value};

use super::{World, append, ids, key, message, remove, replace, said, turn, turns};

const BASE: &str = "main/messages/base.jsonl";
const EVENTS: &str = "main/messages/events.jsonl";
const METADATA: &str = "main/metadata.json";
const STATE: &str = "main/extensions/memory.json";
/// How many of a [`Sample`]'s files are the conversation.
const CONVERSATION: usize = 2;

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// How many bytes this thread has written so far, to whatever file.
fn written() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    counters.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

fn four(from: usize) -> Vec<MessageEvent> {
    (from..from + 4).map(|n| append(&format!("m{n:06}"))).collect()
}

#[test]
fn a_turn_that_only_adds_keeps_the_inode_and_writes_only_what_is_new() {
    let world = World::files();
    let instances = world.with("main");
    let base = world.file(BASE);
    let mut costs = Vec::new();
    for history in [4, 4000] {
        let messages: Vec<Message> = (0..history).map(|n| message(&format!("m{n:06}"))).collect();
        let mut conversation = instances.conversation(&key("main")).unwrap();
        conversation.write_base(&turn("w"), &messages).unwrap();
        let (before, place) = (fs::read(&base).unwrap(), inode(&base));
        let began = written();
        for event in four(history) {
            conversation.append_event(&turn("t"), &event).unwrap();
        }
        conversation.fold(&turn("t")).unwrap();
        costs.push(written() - began);
        let after = fs::read(&base).unwrap();
        assert_eq!(inode(&base), place, "the same file");
        assert_eq!(after[..before.len()], before, "what was there is as it was");
        let added = String::from_utf8(after[before.len()..].to_vec()).unwrap();
        assert_eq!(added.lines().count(), 4);
        // The events and the messages, and not much else.
        assert!(costs.last().unwrap() < &(3 * added.len() as u64), "{costs:?} for {}", added.len());
    }
    // Longer numbers in the lines are all that a longer history costs.
    assert!(costs[1] < costs[0] + 8 * 4 * 4, "{costs:?}");
}

#[test]
fn a_turn_that_alters_puts_a_new_file_in_place() {
    let world = World::files();
    let instances = world.with("main");
    turns(&*instances, "main", &[&four(0)]);
    let base = world.file(BASE);
    for events in [vec![remove("m000001")], vec![replace("m000002", message("x"))], vec![MessageEvent::Truncate]] {
        let old = fs::File::open(&base).unwrap();
        turns(&*instances, "main", &[&events]);
        assert_ne!(inode(&base), old.metadata().unwrap().ino(), "{events:?}");
        assert!(!world.file("main/messages/base.jsonl.tmp").exists());
    }
}

#[test]
fn nobody_else_may_look() {
    let world = World::files();
    let place = world.file("instances");
    let instances = super::opened(place.to_str().unwrap(), None);
    instances.create(&key("main"), "agent").unwrap();
    turns(&*instances, "main", &[&four(0), &[remove("m000001")]]);
    instances.set_state(&key("main"), &ExtensionName::new("memory").unwrap(), &Map::new()).unwrap();
    instances.clear(&key("main")).unwrap();
    turns(&*instances, "main", &[&four(0)]);
    let (mut directories, mut files) = (0, 0);
    let mut left = vec![place];
    while let Some(path) = left.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            directories += 1;
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
            files += 1;
        }
    }
    assert!(directories >= 4 && files >= 4, "{directories} {files}");
}

#[test]
fn a_link_in_the_place_of_an_instance_is_refused() {
    let world = World::files();
    let instances = world.with("main");
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = super::opened(outside.path().to_str().unwrap(), None);
    elsewhere.create(&key("evil"), "agent").unwrap();
    turns(&*elsewhere, "evil", &[&[append("a")]]);
    symlink(outside.path().join("evil"), world.file("evil")).unwrap();
    let refused = |error: ConversationError| assert!(matches!(error, ConversationError::DamagedFile { .. }), "{error}");
    refused(instances.show(&key("evil")).unwrap_err());
    refused(instances.load(&key("evil")).unwrap_err());
    refused(instances.conversation(&key("evil")).err().unwrap());
    refused(instances.delete(&key("evil")).unwrap_err());
    refused(instances.clear(&key("evil")).unwrap_err());
    refused(instances.create(&key("evil"), "agent").unwrap_err());
    let listing = instances.list().unwrap();
    assert_eq!(listing.instances.iter().map(|one| one.instance_key.as_str()).collect::<Vec<_>>(), ["main"]);
    assert_eq!(listing.unreadable.len(), 1);
    assert_eq!(said(&*elsewhere, "evil"), ["a"]);
}

#[test]
fn who_only_asks_who_writes_is_in_nobodys_way() {
    let world = World::files();
    let instances = world.with("main");
    drop(instances.conversation(&key("main")).unwrap());
    let (done, begin) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begin.wait();
            while !done.load(Ordering::Acquire) {
                instances.held_by(&key("main"));
            }
        });
        begin.wait();
        let refused = (0..200).filter_map(|_| instances.conversation(&key("main")).err()).next();
        done.store(true, Ordering::Release);
        assert!(refused.is_none(), "{refused:?}");
    });
}

#[test]
fn a_process_that_is_being_started_does_not_keep_what_was_given_back() {
    let world = World::files();
    let instances = world.with("main");
    let (done, begin) = (AtomicBool::new(false), Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begin.wait();
            while !done.load(Ordering::Acquire) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        begin.wait();
        let refused = (0..500).filter_map(|_| instances.conversation(&key("main")).err()).next();
        done.store(true, Ordering::Release);
        assert!(refused.is_none(), "{refused:?}");
    });
}

#[test]
fn a_missing_base_is_refused_and_what_was_put_back_is_gone_on_with() {
    let world = World::files();
    let instances = world.with("main");
    turns(&*instances, "main", &[&four(0)]);
    let (base, away) = (world.file(BASE), world.file("away"));
    fs::rename(&base, &away).unwrap();
    let refused = |error: Option<ConversationError>| {
        assert!(matches!(&error, Some(ConversationError::MissingFile(path)) if *path == base), "{error:?}");
    };
    refused(instances.load(&key("main")).err());
    refused(instances.conversation(&key("main")).err());
    refused(instances.restart(&key("main")).err());
    assert!(!base.exists(), "nothing is made anew");
    assert_eq!(instances.repair(&key("main"), false).unwrap().lost.len(), 1);
    assert!(!base.exists(), "looking makes nothing either");
    fs::rename(&away, &base).unwrap();
    turns(&*instances, "main", &[&four(4)]);
    assert_eq!(said(&*instances, "main").len(), 8);
}

#[test]
fn what_was_left_of_a_conversation_goes_with_the_next_removal_also_of_nothing() {
    let world = World::files();
    let instances = world.with("main");
    // As a process leaves it that is killed between the two steps of a removal.
    let gone = world.file(".gone-1-2-3");
    fs::create_dir_all(gone.join("messages")).unwrap();
    fs::write(gone.join("messages/base.jsonl"), "what was said").unwrap();
    assert!(!instances.delete(&key("nobody")).unwrap());
    assert!(!gone.exists());
    assert_eq!(instances.list().unwrap().instances.len(), 1);
}

/// An instance with a history, an open turn and the state of an extension, and its files.
struct Sample {
    world: World,
    instances: std::sync::Arc<dyn Instances>,
    loaded: Loaded,
    files: [(PathBuf, Vec<u8>); 4],
}

fn memory() -> ExtensionName {
    ExtensionName::new("memory").unwrap()
}

impl Sample {
    fn new() -> Self {
        let world = World::files();
        let instances = world.with("main");
        let own = |n: usize| append(&format!("m{n}"));
        let history: Vec<_> = (0..20).map(own).collect();
        turns(&*instances, "main", &[&history, &[remove("m3"), own(20)], &[own(21), own(22)]]);
        let mut conversation = instances.conversation(&key("main")).unwrap();
        for n in 30..35 {
            conversation.append_event(&turn("open"), &own(n)).unwrap();
        }
        drop(conversation);
        let loaded = instances.load(&key("main")).unwrap();
        assert_eq!((loaded.messages.len(), &loaded.notices), (27, &vec![]));
        let state = serde_json::json!({"visits": 3, "seen": ["naïve", {"a": null}], "text": "x".repeat(300)});
        instances.set_state(&key("main"), &memory(), state.as_object().unwrap()).unwrap();
        let files = [BASE, EVENTS, METADATA, STATE].map(|path| world.file(path));
        let files = files.map(|path| (path.clone(), fs::read(path).unwrap()));
        Self { world, instances, loaded, files }
    }

    /// Whether one of the small files, flipped, is told as damaged by whoever asks for it, and by nobody else.
    fn is_refused(&self, file: usize) -> bool {
        let named = |error: Option<ConversationError>| matches!(error, Some(ConversationError::DamagedFile { path, .. }) if path == self.files[file].0);
        let instances = &self.instances;
        assert_eq!(instances.load(&key("main")).unwrap(), self.loaded);
        if self.files[file].0 == self.world.file(STATE) {
            return named(instances.get_state(&key("main"), &memory()).err());
        }
        let listing = instances.list().unwrap();
        named(instances.show(&key("main")).err()) && listing.instances.is_empty() && listing.unreadable.len() == 1
    }

    /// Flips one bit of one file.
    fn flip(&self, file: usize, bit: usize) -> Vec<u8> {
        let (path, bytes) = &self.files[file];
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, &flipped).unwrap();
        flipped
    }

    fn put_back(&self) {
        for (path, bytes) in &self.files {
            fs::write(path, bytes).unwrap();
        }
    }

    /// Flips that are spread over the first so many files as their sizes are.
    fn flips(&self, count: usize, files: usize) -> Vec<(usize, usize)> {
        let bits: Vec<usize> = self.files[..files].iter().map(|(_, bytes)| bytes.len() * 8).collect();
        let mut state = 0x2545_f491_4f6c_dd1d_usize;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let place = |mut at: usize| {
            let file = bits
                .iter()
                .position(|bits| {
                    at < *bits || {
                        at -= bits;
                        false
                    }
                })
                .unwrap();
            (file, at)
        };
        (0..count).map(|_| place(next() % bits.iter().sum::<usize>())).collect()
    }
}

#[test]
fn of_three_thousand_flipped_bits_none_is_accepted_silently() {
    let sample = Sample::new();
    let (mut refused, mut told, mut small) = (0, 0, 0);
    // Only the very last line break, without which a line is cut off, makes of an event one that was never written whole.
    let last_bits = sample.files[1].1.len() * 8 - 8..sample.files[1].1.len() * 8;
    let flips = sample.flips(3000, sample.files.len()).into_iter().chain(last_bits.clone().map(|bit| (1, bit)));
    for (file, bit) in flips {
        sample.flip(file, bit);
        if file >= CONVERSATION {
            assert!(sample.is_refused(file), "bit {bit} of file {file} was accepted");
            (refused, small) = (refused + 1, small + 1);
            sample.put_back();
            continue;
        }
        match sample.instances.load(&key("main")) {
            Err(ConversationError::Damaged { line, path, .. }) => {
                assert!(line >= 1 && path.starts_with(sample.world.file("main")), "{line} of {}", path.display());
                refused += 1;
            }
            Err(error) => panic!("bit {bit} of file {file}: {error}"),
            Ok(loaded) => {
                assert!(
                    loaded.notices.iter().any(|notice| matches!(notice, Notice::TornTail { .. })),
                    "bit {bit} of file {file} was accepted"
                );
                assert_eq!(loaded.messages, sample.loaded.messages[..26], "only the last event is dropped");
                assert!(file == 1 && last_bits.contains(&bit), "bit {bit} of file {file} is taken for a crash");
                told += 1;
            }
        }
        sample.put_back();
    }
    assert_eq!(sample.instances.load(&key("main")).unwrap(), sample.loaded);
    assert!(refused > 2900 && told >= 8 && small > 100, "{refused} refused, {told} told, {small} of the small files");
}

#[test]
fn repair_loses_only_the_damaged_lines_and_keeps_what_it_found() {
    let sample = Sample::new();
    for (file, bit) in sample.flips(60, CONVERSATION) {
        let flipped = sample.flip(file, bit);
        let repaired = sample.instances.repair(&key("main"), true).unwrap();
        assert!(!repaired.lost.is_empty(), "bit {bit} of file {file} was not noticed");
        let aside = repaired.kept_aside.unwrap();
        for (at, (path, bytes)) in sample.files[..CONVERSATION].iter().enumerate() {
            let kept = fs::read(aside.join(path.file_name().unwrap())).unwrap();
            assert!(kept == if at == file { flipped.clone() } else { bytes.clone() }, "bit {bit} of file {file}");
        }
        let after = sample.instances.load(&key("main")).unwrap();
        assert_eq!(after.notices, []);
        // Two, where the flipped bit was in the line break between them.
        let mut left = sample.loaded.messages.iter();
        assert!(after.messages.iter().all(|message| left.any(|other| other == message)), "{:?}", ids(&after));
        let most = if sample.files[file].1[bit / 8] == b'\n' { 2 } else { 1 };
        assert!(after.messages.len() + most >= 27, "bit {bit} of file {file}: {:?}", ids(&after));
        goes_on(&*sample.instances, after);
        fs::remove_dir_all(&aside).unwrap();
        sample.put_back();
    }
}

/// What was repaired can be written as before.
fn goes_on(instances: &dyn Instances, before: Loaded) {
    let mut conversation = instances.conversation(&key("main")).unwrap();
    let open = before.open_turn.map_or_else(|| turn("open"), |open| open.turn);
    conversation.append_event(&open, &append("after")).unwrap();
    conversation.fold(&open).unwrap();
    let mut expected = before.messages;
    let after = instances.load(&key("main")).unwrap();
    expected.push(after.messages.last().unwrap().clone());
    assert_eq!(after.messages, expected);
    assert_eq!(after.messages.last().unwrap().content(), Value::from("this is after"));
}

#[test]
fn a_copy_made_while_turns_are_folded_is_of_one_moment() {
    let world = World::files();
    let instances = world.with("main");
    let place = world.file("main").parent().unwrap().to_owned();
    let files = paddock_state::instance::FileInstances::at(place, paddock_db::Durability::Process);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut conversation = instances.conversation(&key("main")).unwrap();
            // Few enough that a copy stays short; slow enough that copies fall between its steps.
            for number in 0..400 {
                std::thread::sleep(std::time::Duration::from_micros(200));
                for event in four(number * 4) {
                    conversation.append_event(&turn(&format!("t{number}")), &event).unwrap();
                }
                conversation.fold(&turn(&format!("t{number}"))).unwrap();
                if over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for round in 0..60 {
            let copies = tempfile::tempdir().unwrap();
            let copy = copies.path().join("main");
            fs::create_dir_all(copy.join("messages")).unwrap();
            files.copy_conversation(&key("main"), &copy).unwrap();
            let read =
                paddock_state::instance::FileInstances::at(copies.path().to_owned(), paddock_db::Durability::Process);
            let loaded = read.load(&key("main")).unwrap_or_else(|error| panic!("round {round}: {error}"));
            let wanted: Vec<String> = (0..loaded.messages.len()).map(|n| format!("m{n:06}")).collect();
            assert_eq!(ids(&loaded), wanted, "round {round}");
            assert_eq!(loaded.notices, [], "round {round}");
        }
        over.store(true, Ordering::Relaxed);
    });
}
