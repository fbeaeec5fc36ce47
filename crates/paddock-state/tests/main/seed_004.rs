//! The fourth seed: its four test strategies, and each MUST and SHOULD of its summary.
//!
//! `docs/specs/workspace.md` maps each rule to its test; rules that other tests hold already are not repeated here.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use paddock_db::Durability;
use paddock_state::conversation::{ConversationError, Message, MessageEvent, MessageSource, Written};
use paddock_state::instance::{FileInstances, Instances as _, Saved};
use paddock_state::{ExtensionName, HomeSources, InstanceKey, Origin, SystemRoot, TurnId, WorkspaceHome, WorkspaceId};
use serde_json::{Map, Value, json};

/// A project and a System Root beside it.
struct Ground {
    directory: tempfile::TempDir,
    home: WorkspaceHome,
    instances: FileInstances,
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("project");
        fs::create_dir(&project).unwrap();
        let sources = HomeSources { home: Some(directory.path().join("alice")), ..HomeSources::default() };
        fs::create_dir(directory.path().join("alice")).unwrap();
        let system = SystemRoot::resolve(&sources, Some(&project)).unwrap();
        let home =
            WorkspaceHome::claim(&system, &Origin::of_project(project.canonicalize().unwrap(), Some("app"))).unwrap();
        let instances = FileInstances::of(&home, Durability::Process);
        Self { directory, home, instances }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.instances_dir().join("chat").join(name)
    }

    fn base(&self) -> PathBuf {
        self.file("messages/base.jsonl")
    }

    fn events(&self) -> PathBuf {
        self.file("messages/events.jsonl")
    }

    /// Whether nothing but how far the base goes is in their place.
    fn has_no_events(&self) -> bool {
        let text = fs::read_to_string(self.events()).unwrap();
        text.lines().count() == 1 && text.starts_with("{\"type\":\"folded\",\"lines\":")
    }
}

fn key(text: &str) -> InstanceKey {
    InstanceKey::new(text).unwrap()
}

fn turn(text: &str) -> TurnId {
    TurnId::new(text).unwrap()
}

fn message(id: &str) -> Message {
    Message::new(id, "user", &json!(format!("what {id} says")), MessageSource::User)
}

fn append(id: &str) -> MessageEvent {
    MessageEvent::Append { message: message(id) }
}

fn ids(ground: &Ground) -> Vec<String> {
    let loaded = ground.instances.load(&key("chat")).unwrap();
    loaded.messages.iter().map(|message| message.id().to_owned()).collect()
}

#[test]
fn the_same_project_always_has_the_same_workspace_id() {
    let id = |root: &str, package: &str| WorkspaceId::of(&Origin::new(root, package));
    for (root, package) in [("/srv/app", "@scope/app"), ("/", ""), (&*format!("/{}", "long/".repeat(80)), "p")] {
        assert_eq!(id(root, package), id(root, package));
        // Nothing else goes into it, and both of these do.
        assert_ne!(id(root, package), id(&format!("{root}/x"), package));
        assert_ne!(id(root, package), id(root, &format!("{package}x")));
    }
    // It is known beforehand, also to other programs.
    assert_eq!(id("/srv/app", "@scope/app").as_str(), "srv_app__scope_app");
}

#[test]
fn any_path_and_package_make_a_safe_name() {
    let long = "x".repeat(5000);
    let paths =
        ["/", "/..", "/a/../../etc", "/a\0b", "/\u{202e}", "/a b\tc\nd", "/日本語", "/-rf", "/.", &format!("/{long}")];
    let packages = ["", ".", "..", "../..", "@a/b", "a\\b", "%2e%2e", "~", "$(x)", &long];
    for path in paths {
        for package in packages {
            let origin = Origin::new(path, package);
            for id in [WorkspaceId::of(&origin), WorkspaceId::with_hash(&origin)] {
                let text = id.as_str();
                assert!(!["", ".", ".."].contains(&text) && text.len() <= 120, "{path:?} {package:?}: {text}");
                assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{text}");
                assert_eq!(Path::new(text).components().count(), 1, "{text}");
            }
        }
    }
}

#[test]
fn a_base_is_appended_to_when_and_only_when_all_events_are_appends() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    for number in 0..50 {
        conversation.append_event(&turn("t0"), &append(&format!("m{number}"))).unwrap();
    }
    conversation.fold(&turn("t0")).unwrap();
    let (bytes, inode) = (fs::read(ground.base()).unwrap(), fs::metadata(ground.base()).unwrap().ino());
    // Only appends: the same file, the old bytes untouched, and no more new ones than the turn has.
    for id in ["a", "b"] {
        conversation.append_event(&turn("t1"), &append(id)).unwrap();
    }
    let events = fs::metadata(ground.events()).unwrap().len();
    assert_eq!(conversation.fold(&turn("t1")).unwrap().written, Written::Appended);
    let after = fs::read(ground.base()).unwrap();
    assert_eq!(fs::metadata(ground.base()).unwrap().ino(), inode);
    assert_eq!(after[..bytes.len()], bytes);
    let added = (after.len() - bytes.len()) as u64;
    assert!(added > 0 && added < events, "{added} bytes for {events} bytes of events");
    assert!(!ground.file("messages/base.jsonl.tmp").exists());
    // Every mutation: another file.
    let mutations = [
        MessageEvent::Replace { target_id: "m1".into(), message: message("n1") },
        MessageEvent::Remove { target_id: "m2".into() },
        MessageEvent::Remove { target_id: "nobody".into() },
        MessageEvent::Truncate,
    ];
    for (number, mutation) in mutations.into_iter().enumerate() {
        let of = turn(&format!("u{number}"));
        let before = fs::metadata(ground.base()).unwrap().ino();
        // Kept open, so that its number is not given again.
        let _old = fs::File::open(ground.base()).unwrap();
        conversation.append_event(&of, &append(&format!("x{number}"))).unwrap();
        conversation.append_event(&of, &mutation).unwrap();
        assert_eq!(conversation.fold(&of).unwrap().written, Written::Rewritten, "{mutation:?}");
        assert_ne!(fs::metadata(ground.base()).unwrap().ino(), before, "{mutation:?}");
        assert!(ground.has_no_events(), "{mutation:?}");
    }
    assert!(ids(&ground).is_empty());
}

#[test]
fn a_conversation_is_restored_from_its_base_and_its_events() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    for id in ["m1", "m2", "m3"] {
        conversation.append_event(&turn("t1"), &append(id)).unwrap();
    }
    conversation.fold(&turn("t1")).unwrap();
    conversation.append_event(&turn("t2"), &append("m4")).unwrap();
    conversation.append_event(&turn("t2"), &MessageEvent::Remove { target_id: "m2".into() }).unwrap();
    let replace = MessageEvent::Replace { target_id: "m1".into(), message: message("n1") };
    conversation.append_event(&turn("t2"), &replace).unwrap();
    drop(conversation);
    // As another process finds it, while the turn is open and when it is over.
    assert_eq!(ids(&ground), ["n1", "m3", "m4"]);
    let loaded = ground.instances.load(&key("chat")).unwrap();
    let open = loaded.open_turn.unwrap();
    assert_eq!((open.turn, open.events), (turn("t2"), 3));
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    conversation.fold(&turn("t2")).unwrap();
    assert_eq!(ids(&ground), ["n1", "m3", "m4"]);
    assert_eq!(ground.instances.load(&key("chat")).unwrap().open_turn, None);
}

#[test]
fn nothing_of_an_instance_lies_in_the_project() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    conversation.append_event(&turn("t"), &append("m")).unwrap();
    conversation.fold(&turn("t")).unwrap();
    ground.instances.set_state(&key("chat"), &ExtensionName::new("x").unwrap(), &Map::new()).unwrap();
    let project = ground.directory.path().join("project");
    assert_eq!(fs::read_dir(&project).unwrap().count(), 0);
    let system = ground.directory.path().canonicalize().unwrap().join("alice/.paddock");
    assert!(ground.home.path().starts_with(&system), "{}", ground.home.path().display());
    assert!(ground.base().is_file());
}

#[test]
fn events_leave_the_base_alone_until_the_turn_is_over() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    conversation.append_event(&turn("t1"), &append("m1")).unwrap();
    conversation.fold(&turn("t1")).unwrap();
    let (before, changed) = (fs::read(ground.base()).unwrap(), fs::metadata(ground.base()).unwrap().mtime_nsec());
    for number in 0..3_usize {
        let first = fs::read(ground.events()).unwrap();
        conversation.append_event(&turn("t2"), &append(&format!("e{number}"))).unwrap();
        let now = fs::read(ground.events()).unwrap();
        assert!(now.starts_with(&first) && now.len() > first.len(), "events are only ever added to");
    }
    assert_eq!(fs::read(ground.base()).unwrap(), before);
    assert_eq!(fs::metadata(ground.base()).unwrap().mtime_nsec(), changed);
    conversation.fold(&turn("t2")).unwrap();
    assert_eq!(ids(&ground).len(), 4);
    assert!(ground.has_no_events());
}

#[test]
fn turns_never_mix() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    conversation.append_event(&turn("t1"), &append("m1")).unwrap();
    let refused = |error: ConversationError| matches!(&error, ConversationError::TurnOpen { open, asked } if open.as_str() == "t1" && asked.as_str() == "t2");
    assert!(refused(conversation.append_event(&turn("t2"), &append("m2")).unwrap_err()));
    assert!(refused(conversation.fold(&turn("t2")).unwrap_err()));
    assert!(refused(conversation.write_base(&turn("t2"), &[message("m2")]).unwrap_err()));
    drop(conversation);
    // Also after a crash, in another process.
    let mut conversation = ground.instances.conversation(&key("chat")).unwrap();
    assert!(refused(conversation.append_event(&turn("t2"), &append("m2")).unwrap_err()));
    conversation.fold(&turn("t1")).unwrap();
    conversation.append_event(&turn("t2"), &append("m2")).unwrap();
    conversation.fold(&turn("t2")).unwrap();
    let base = fs::read_to_string(ground.base()).unwrap();
    let turns: Vec<String> = base
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["turnId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(turns, ["t1", "t2"], "each line says whose it is");
}

#[test]
fn the_state_of_an_extension_is_json_in_a_file_of_its_name() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let state = json!({"a": [1, {"b": null}]}).as_object().unwrap().clone();
    let name = ExtensionName::new("my.ext-1").unwrap();
    assert_eq!(ground.instances.get_state(&key("chat"), &name).unwrap(), None);
    ground.instances.set_state(&key("chat"), &name, &state).unwrap();
    let text = fs::read_to_string(ground.file("extensions/my.ext-1.json")).unwrap();
    let mut stored: Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert!(stored.remove("paddock.sum").is_some());
    assert_eq!(stored, state);
    assert_eq!(ground.instances.get_state(&key("chat"), &name).unwrap(), Some(state));
    for escaping in ["../x", "..", "", "a/b"] {
        assert!(ExtensionName::new(escaping).is_err(), "{escaping:?}");
    }
}

#[test]
fn an_unchanged_state_is_not_written() {
    let ground = Ground::new();
    ground.instances.create(&key("chat"), "main").unwrap();
    let name = ExtensionName::new("memory").unwrap();
    let set = |state: Value| ground.instances.set_state(&key("chat"), &name, state.as_object().unwrap()).unwrap();
    let inode = || fs::metadata(ground.file("extensions/memory.json")).unwrap().ino();
    assert_eq!(set(json!({"a": 1, "b": 2})), Saved::Written);
    let first = inode();
    assert_eq!(set(json!({"a": 1, "b": 2})), Saved::Unchanged);
    assert_eq!(inode(), first, "writing puts another file in its place");
    let _old = fs::File::open(ground.file("extensions/memory.json")).unwrap();
    assert_eq!(set(json!({"a": 1, "b": 3})), Saved::Written);
    assert_ne!(inode(), first);
}

#[test]
fn deleting_takes_messages_and_states_along_and_nothing_else() {
    let ground = Ground::new();
    for name in ["chat", "chat2"] {
        ground.instances.create(&key(name), "main").unwrap();
        ground.instances.set_state(&key(name), &ExtensionName::new("x").unwrap(), &Map::new()).unwrap();
    }
    assert!(ground.instances.delete(&key("chat")).unwrap());
    let left: Vec<_> =
        fs::read_dir(ground.home.instances_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["chat2"]);
    assert!(!ground.instances.delete(&key("chat")).unwrap(), "what is not there is no error");
    assert!(ground.instances.show(&key("chat2")).unwrap().is_some());
    for all in ["", ".", "..", "*/", "/"] {
        assert!(InstanceKey::new(all).is_err(), "{all:?} would be everything");
    }
}
