//! A command's changes that stop half-way, at every step there is: afterwards everything is as it was before.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use paddock_core::{Alter, Alteration, CallId, ErrorKind, Expect, Looks, Operation, Refused, Staged, WayBack};
use paddock_ledger::history::{CallState, HistoryError};

use super::history_world::path;
use super::mortal::Dies;
use super::on_disk::OnDisk;

/// A directory with one of each kind to be changed.
fn world() -> OnDisk {
    let world = OnDisk::new();
    for (name, text) in [("one/mod", "before"), ("one/gone", "g"), ("one/dir/inner", "i"), ("one/run.sh", "#!")] {
        world.put(name, text);
    }
    world.put("two/f", "theirs");
    fs::create_dir(world.at("one/empty")).unwrap();
    symlink("mod", world.at("one/link")).unwrap();
    fs::set_permissions(world.at("one/dir"), Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(world.at("one/empty"), Permissions::from_mode(0o705)).unwrap();
    world
}

impl OnDisk {
    /// A file as a command leaves it, in a place of its own.
    fn staged(&self, name: &str, text: &str) -> Alter {
        let home = self.at("staged");
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join(name), text).unwrap();
        let file = File::open(home.join(name)).unwrap();
        let home = Arc::new(File::open(&home).unwrap().into());
        Alter::Take(Staged::new(file, text.len() as u64, 0o644, SystemTime::now()).at(home, name.to_owned()))
    }

    /// One of each kind, in the order in which a command's changes are made, on two Stores.
    fn changes(&self) -> Vec<Alteration> {
        let one = |at: &str, how| Alteration { path: path(at), how, expect: Expect::Any };
        let mode = |mode| Alter::Dress(Looks { mode: Some(mode), modified: None });
        vec![
            one("/w/gone", Alter::Delete),
            one("/w/dir/inner", Alter::Delete),
            one("/w/dir", Alter::Delete),
            one("/w/empty", Alter::Delete),
            one("/w/mod", self.staged("mod", "after")),
            one("/w/link", Alter::Link { leads_to: "elsewhere".to_owned() }),
            // Where a directory was, a file comes to be; where a file was, a directory.
            one("/w/dir", self.staged("dir", "a file")),
            one("/w/gone", Alter::MakeDir),
            one("/w/gone/new", self.staged("new", "new")),
            one("/o/f", self.staged("f", "ours")),
            one("/w/run.sh", mode(0o755)),
            one("/w/gone", mode(0o700)),
        ]
    }

    /// Takes back what a call did, as it is done at the next start. Nothing where there was nothing to take back.
    fn take_back(&self, undone: CallId) -> Option<CallId> {
        let id = CallId::next();
        match self.with_call(id, |call| self.vfs.way_back(call, undone)).unwrap() {
            WayBack::Nothing => None,
            WayBack::OfAnother => panic!("whose?"),
            WayBack::By(alterations) => {
                self.run(&self.vfs, id, Operation::Alter { path: path("/w"), alterations }).unwrap();
                Some(id)
            }
        }
    }

    /// What there is below both Mounts: kind and mode, and what is in it.
    fn seen(&self) -> BTreeMap<String, (u32, String)> {
        let mut found = BTreeMap::new();
        for mount in ["one", "two"] {
            look(&self.at(mount), mount, &mut found);
        }
        found
    }
}

fn look(dir: &Path, name: &str, found: &mut BTreeMap<String, (u32, String)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}/{}", entry.file_name().to_str().unwrap());
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        let held = match meta.file_type() {
            kind if kind.is_dir() => String::new(),
            kind if kind.is_symlink() => fs::read_link(entry.path()).unwrap().to_str().unwrap().to_owned(),
            _ => fs::read_to_string(entry.path()).unwrap(),
        };
        if meta.is_dir() {
            look(&entry.path(), &name, found);
        }
        found.insert(name, (meta.mode(), held));
    }
}

fn commit(world: &OnDisk) -> Operation {
    Operation::Commit { path: path("/w"), alterations: world.changes() }
}

#[test]
fn a_commit_that_is_cut_off_at_any_step_is_taken_back() {
    let steps = world().changes().len();
    for dies in (0..steps).flat_map(|n| [Dies::Before(n), Dies::After(n)]) {
        let told = format!("{dies:?}");
        let world = world();
        let before = world.seen();
        let call = world.dies(dies, commit(&world));
        assert_eq!(before == world.seen(), dies == Dies::Before(0), "{told}");
        let by = world.take_back(call);
        assert_eq!(world.seen(), before, "{told}");
        assert!(world.history.unfinished().unwrap().is_empty(), "{told}: nothing is left to look after");
        // Once is enough.
        assert!(world.take_back(call).is_none() && world.seen() == before, "{told}");
        // And the taking back is an act like any other.
        if let Some(by) = by {
            let row = world.history.find_call(&by.to_string()).unwrap();
            assert_eq!((row.state, row.undoes), (CallState::Completed, Some(call)), "{told}");
        }
    }
}

/// What is there by then is a person's, at each path that the commit would have changed; it is refused as a whole.
#[test]
fn what_a_person_did_since_keeps_a_commit_from_being_taken_back() {
    let steps = [
        ("mod", Dies::After(0)),
        ("new.txt", Dies::After(1)),
        ("new.txt", Dies::Before(1)),
        ("run.sh", Dies::After(2)),
        ("link", Dies::After(3)),
    ];
    for (name, dies) in steps {
        let world = world();
        let one = |at: &str, how| Alteration { path: path(at), how, expect: Expect::Any };
        let alterations = vec![
            one("/w/mod", world.staged("mod", "after")),
            one("/w/new.txt", world.staged("new", "made by it")),
            one("/w/run.sh", Alter::Dress(Looks { mode: Some(0o755), modified: None })),
            one("/w/link", Alter::Link { leads_to: "elsewhere".to_owned() }),
        ];
        let call = world.dies(dies, Operation::Commit { path: path("/w"), alterations });
        std::thread::sleep(Duration::from_millis(50));
        if name == "link" {
            fs::remove_file(world.at("one/link")).unwrap();
        }
        world.put(&format!("one/{name}"), "by a person");
        let before = world.seen();
        assert!(world.with_call(CallId::next(), |call_now| world.vfs.way_back(call_now, call)).is_err(), "{name}");
        assert!(matches!(world.undo(call), Err(HistoryError::CutOff { .. })), "{name}, {dies:?}");
        assert_eq!(world.seen(), before, "{name}, {dies:?}");
    }
}

#[test]
fn a_commit_that_came_to_its_end_is_not_taken_back() {
    let world = world();
    let call = CallId::next();
    world.run(&world.vfs, call, commit(&world)).unwrap();
    let after = world.seen();
    assert!(world.take_back(call).is_none() && world.take_back(CallId::next()).is_none());
    assert_eq!(world.seen(), after);
}

#[test]
fn everything_that_is_expected_is_looked_at_before_the_first_change() {
    let world = world();
    let began = SystemTime::now();
    // The kernel's clock for files may be behind by a tick.
    std::thread::sleep(Duration::from_millis(20));
    world.put("two/f", "changed meanwhile");
    let before = world.seen();
    let mut alterations = world.changes();
    for alteration in &mut alterations {
        alteration.expect = Expect::UnchangedSince(began);
    }
    let refused = world.run(&world.vfs, CallId::next(), Operation::Commit { path: path("/w"), alterations });
    match refused {
        Err(Refused::Store { path, source }) => {
            assert_eq!((path.as_str(), source.kind()), ("/o/f", &ErrorKind::Stale));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.seen(), before);
    assert!(world.history.unfinished().unwrap().is_empty());
}

#[test]
fn what_the_commit_does_to_one_name_of_a_file_is_no_conflict_at_another() {
    let world = world();
    world.put("one/a", "shared");
    fs::hard_link(world.at("one/a"), world.at("one/b")).unwrap();
    fs::hard_link(world.at("one/a"), world.at("one/c")).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let began = SystemTime::now();
    std::thread::sleep(Duration::from_millis(20));
    let one = |at: &str, how| Alteration { path: path(at), how, expect: Expect::UnchangedSince(began) };
    let alterations =
        || vec![one("/w/a", Alter::Delete), one("/w/b", world.staged("b", "mine")), one("/w/c", Alter::Delete)];
    world.run(&world.vfs, CallId::next(), Operation::Commit { path: path("/w"), alterations: alterations() }).unwrap();
    assert_eq!(fs::read_to_string(world.at("one/b")).unwrap(), "mine");
    assert!(!world.at("one/a").exists() && !world.at("one/c").exists());
    // What somebody else does to it still is.
    let again = Operation::Commit { path: path("/w"), alterations: vec![one("/w/b", Alter::Delete)] };
    assert!(world.run(&world.vfs, CallId::next(), again).is_err());
}
