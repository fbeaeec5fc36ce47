//! What a Workspace on the host's disk survives with durability `disk`: the loss of power, after each change and in its middle.
//!
//! The Physical Store stands on a real mount of a file system that forgets what was not synced. A story of every kind
//! of change is played through the guard; after each operation of the file system it is known what would be found.

mod disk;
mod forgetful;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use paddock_core::{
    AccessScope, Alter, Alteration, Call, Expect, Journal, Kind, Looks, NoJournal, Operation, Outcome, PartDone, Plan,
    Staged, Vfs,
};
use paddock_stores::conformance::world::{Open, browse, delete, rename, swap, with_call, write};
use paddock_stores::{Durability, HardLinks, KeptPlace, PhysicalStore, TEMP_PREFIX};
use rustix::fs::RenameFlags;

use crate::world::{act, errno, path, read, workspace};
use disk::{Ahead, Found, Moment, Thing};
use forgetful::Forgetful;

/// Where the Mount is on the disk; the first write makes it.
const MOUNT: &str = "made/mount";
/// Where what is replaced is kept on the disk.
const HISTORY: &str = "system/history";

/// How a Store stands on a disk.
#[derive(Debug, Clone, Copy)]
struct How {
    durability: Durability,
    /// Is what changes replace kept?
    keeps: bool,
    /// Are the Mount, the history and what is staged on file systems of their own?
    apart: bool,
    hard_links: HardLinks,
}

const DISK: How = How { durability: Durability::Disk, keeps: false, apart: false, hard_links: HardLinks::Read };
const PROCESS: How = How { durability: Durability::Process, ..DISK };

/// Wants everything kept, and remembers nothing.
struct Keeps;

impl Journal for Keeps {
    fn keeps(&self) -> bool {
        true
    }

    fn begin(&self, _: &Call<'_>, _: &Plan) -> paddock_core::Result<()> {
        Ok(())
    }

    fn part_done(&self, _: &Call<'_>, _: &PartDone<'_>) -> paddock_core::Result<()> {
        Ok(())
    }

    fn end(&self, _: &Call<'_>, _: bool) {}
}

/// A Workspace at `/w` on the disk.
fn vfs_on(disk: &Forgetful, how: How) -> Vfs {
    let store = PhysicalStore::new(&disk.dir().join(MOUNT)).unwrap();
    let mut store = store.with_durability(how.durability).with_hard_links(how.hard_links);
    let mut journal: Arc<dyn Journal> = Arc::new(NoJournal);
    if how.keeps {
        store = store.with_history(KeptPlace::new(&disk.dir().join(HISTORY)).unwrap());
        journal = Arc::new(Keeps);
    }
    let workspaces = vec![workspace("/w", AccessScope::ReadWrite, Arc::new(store))];
    Vfs::new(workspaces, Arc::new(Open), journal).unwrap()
}

/// What a Mount holds, by path: the content of a file, where a link leads; a directory's path ends with `/`.
type Held = BTreeMap<String, String>;

/// What the Mount holds on a disk. What is under a temporary name is nobody's.
fn held(found: &Found) -> Held {
    let held = found.iter().filter_map(|(path, thing)| {
        let path = path.strip_prefix(MOUNT)?.strip_prefix('/')?;
        if path.split('/').any(|name| name.starts_with(TEMP_PREFIX)) {
            return None;
        }
        Some(match thing {
            Thing::Dir => (format!("{path}/"), String::new()),
            Thing::File { content, .. } => (path.to_owned(), text_of(content)),
            Thing::Link(text) => (path.to_owned(), text.clone()),
        })
    });
    held.collect()
}

/// What a Workspace shows at `/w`.
fn shown(vfs: &Vfs) -> Held {
    let Outcome::Entries(entries) = act(vfs, Operation::List(browse("/w"))).unwrap() else { panic!("no listing") };
    let shown = entries.found.iter().map(|entry| {
        let below = entry.path.strip_prefix("/w/").unwrap();
        match entry.kind {
            Kind::Dir => (format!("{below}/"), String::new()),
            Kind::Link => (below.to_owned(), with_call(|call| vfs.leads_to(call, &path(entry.path))).unwrap()),
            _ => (below.to_owned(), read(vfs, entry.path).unwrap()),
        }
    });
    shown.collect()
}

fn text_of(content: &[u8]) -> String {
    String::from_utf8_lossy(content).into_owned()
}

/// More than one write to the disk.
fn text(line: &str) -> String {
    format!("{line}\n").repeat(12_000 / (line.len() + 1))
}

/// A content, short enough to be told.
fn brief(text: &str) -> String {
    format!("{:?} and {} bytes in all", text.lines().next().unwrap_or_default(), text.len())
}

fn alter(at: &str, how: Alter) -> Operation {
    Operation::Alter { path: path(at), alterations: vec![Alteration { path: path(at), how, expect: Expect::Any }] }
}

fn append(at: &str, text: &str) -> Operation {
    Operation::Append { path: path(at), content: text.into() }
}

/// A file that waits in a directory, and that nobody synced.
fn waiting(home: &Path, name: &str) -> Staged {
    let content = text(name);
    fs::create_dir_all(home).unwrap();
    fs::write(home.join(name), &content).unwrap();
    Staged::new(File::open(home.join(name)).unwrap(), content.len() as u64, 0o644, UNIX_EPOCH)
}

/// One that may be taken from there.
fn staged(home: &Path, name: &str) -> Staged {
    let staged = waiting(home, name);
    staged.at(Arc::new(OwnedFd::from(File::open(home).unwrap())), name.to_owned())
}

/// One change of each kind after the other.
fn story(disk: &Forgetful) -> Vec<(&'static str, Operation)> {
    let home = disk.dir().join("staged");
    let write = |at: &str, line: &str| write(at, text(line).as_bytes(), Expect::Any);
    let make_dir = |at: &str| Operation::MakeDir { path: path(at) };
    let edits = vec![swap("second", "third", true)];
    vec![
        ("a new file in new directories", write("/w/a/b/f", "first")),
        ("a file is overwritten", write("/w/a/b/f", "second")),
        ("a file is edited", Operation::Edit { path: path("/w/a/b/f"), edits, expect: Expect::Any }),
        ("something is added to a file", append("/w/a/b/f", &text("added"))),
        ("a new file by an append", append("/w/log/new/f", &text("log"))),
        ("a file is cut", alter("/w/log/new/f", Alter::Truncate(5000))),
        ("directories are made", make_dir("/w/m/n/o")),
        ("a file moves in its directory", rename("/w/a/b/f", "/w/a/b/moved")),
        ("a file moves to new directories", rename("/w/a/b/moved", "/w/x/y/moved")),
        ("a file moves across directories", rename("/w/x/y/moved", "/w/a/across")),
        ("a link is made", alter("/w/a/link", Alter::Link { leads_to: "across".into() })),
        ("a link is replaced", alter("/w/a/link", Alter::Link { leads_to: "b".into() })),
        ("a second file", write("/w/dir/sub/two", "two")),
        ("a directory moves in its directory", rename("/w/dir", "/w/moved")),
        ("a directory moves across directories", rename("/w/moved", "/w/a/b/dir")),
        ("a staged file arrives", alter("/w/t/staged", Alter::Take(staged(&home, "staged")))),
        ("a staged file replaces another", alter("/w/t/staged", Alter::Take(staged(&home, "another")))),
        ("a staged file is copied", alter("/w/t/copied", Alter::Take(waiting(&home, "copied")))),
        ("a file is deleted", delete("/w/t/copied", false)),
        ("an empty directory is deleted", delete("/w/m/n/o", false)),
        ("a link is deleted", delete("/w/a/link", false)),
        ("a directory is deleted with everything in it", delete("/w/a", true)),
    ]
}

/// A change that was acknowledged.
struct Step<'a> {
    name: &'static str,
    disk: &'a Forgetful,
    before: Held,
    after: Held,
    /// What would have been found at any time since the change before it.
    moments: Vec<Moment>,
}

/// Plays the story, and tells of each change when it is acknowledged.
fn play(how: How, mut told: impl FnMut(&Step<'_>)) {
    let disk = if how.apart { Forgetful::apart() } else { Forgetful::new() };
    let story = story(&disk);
    let vfs = vfs_on(&disk, how);
    disk.moments();
    for (name, operation) in story {
        let before = held(&disk.seen());
        act(&vfs, operation).unwrap_or_else(|e| panic!("{name}: {e}"));
        let after = held(&disk.seen());
        assert_ne!(before, after, "{name}");
        told(&Step { name, disk: &disk, before, after, moments: disk.moments() });
    }
}

/// In what a Mount holds less, or otherwise, than it should; by path.
fn lacks(held: &Held, wanted: &Held) -> Vec<String> {
    let paths: BTreeSet<&String> = held.keys().chain(wanted.keys()).collect();
    let differs = |path: &&String| held.get(*path) != wanted.get(*path);
    let tell = |path: &String| format!("{path}: {}", held.get(path).map_or("nothing".into(), |text| brief(text)));
    paths.into_iter().filter(differs).map(tell).collect()
}

/// What is wrong with what is found when the power fails in the middle of a change: each file is wholly the old one or wholly
/// the new one, and what the change leaves there is somewhere. Where it is kept, so is what the change takes away.
fn damage(step: &Step<'_>, moment: &Moment, keeps: bool) -> Vec<String> {
    let Moment { after, ahead, found } = moment;
    let there = held(found);
    let mut wrong = Vec::new();
    for (path, text) in &there {
        if step.before.get(path) != Some(text) && step.after.get(path) != Some(text) {
            wrong.push(format!("{path} is neither the old nor the new one: {}", brief(text)));
        }
    }
    for path in step.before.keys().filter(|path| step.after.contains_key(*path) && !there.contains_key(*path)) {
        wrong.push(format!("{path} is gone"));
    }
    let anywhere: Vec<String> = found
        .values()
        .filter_map(|thing| match thing {
            Thing::Dir => None,
            Thing::File { content, .. } => Some(text_of(content)),
            Thing::Link(text) => Some(text.clone()),
        })
        .collect();
    for (path, text) in step.before.iter().filter(|(_, text)| !text.is_empty()) {
        let stays = keeps || step.after.values().any(|after| after == text);
        // An append keeps what was there where it was.
        if stays && !anywhere.iter().any(|found| found.starts_with(text.as_str())) {
            wrong.push(format!("what {path} held is nowhere: {}", brief(text)));
        }
    }
    wrong.iter().map(|what| format!("{}, after {after}, with {ahead:?} ahead: {what}", step.name)).collect()
}

/// The layer below all others here: it forgets what it should, and nothing else.
#[test]
fn a_disk_forgets_what_was_not_synced() {
    let disk = Forgetful::new();
    let at = |path: &str| disk.dir().join(path);
    let sync = |path: &str| File::open(at(path)).unwrap().sync_all().unwrap();
    let names = || disk.on_disk(Ahead::Nothing).into_keys().collect::<Vec<_>>();
    let content = |path: &str| match &disk.on_disk(Ahead::Nothing)[path] {
        Thing::File { content, .. } => text_of(content),
        other => panic!("{other:?}"),
    };
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/f"), "one").unwrap();
    sync("d/f");
    sync("d");
    assert_eq!(names(), [""; 0], "nobody synced the directory that the directory is in");
    sync("");
    assert_eq!((names(), content("d/f")), (vec!["d".into(), "d/f".into()], "one".into()));

    fs::write(at("d/f"), "two").unwrap();
    fs::write(at("d/g"), "new").unwrap();
    sync("d");
    assert_eq!((content("d/f"), content("d/g")), ("one".into(), String::new()), "names, and no contents");
    sync("d/f");
    assert_eq!(content("d/f"), "two");

    let renamed = |from: &str, to: &str, flags| {
        rustix::fs::renameat_with(rustix::fs::CWD, at(from), rustix::fs::CWD, at(to), flags).map_err(Into::into)
    };
    sync("d/g");
    renamed("d/f", "d/g", RenameFlags::EXCHANGE).unwrap();
    assert_eq!((content("d/f"), fs::read_to_string(at("d/f")).unwrap()), ("two".into(), "new".into()));
    sync("d");
    assert_eq!((content("d/f"), content("d/g")), ("new".into(), "two".into()));
    let taken = Some(rustix::io::Errno::EXIST.raw_os_error());
    assert_eq!(errno(renamed("d/f", "d/g", RenameFlags::NOREPLACE)), taken);
    renamed("d/f", "f", RenameFlags::NOREPLACE).unwrap();
    sync("");
    assert_eq!(names(), ["d", "d/f", "d/g", "f"], "it has left nowhere yet, and arrived");
    fs::hard_link(at("f"), at("d/h")).unwrap();
    sync("d");
    fs::remove_file(at("f")).unwrap();
    assert_eq!(names(), ["d", "d/g", "d/h", "f"]);

    let again = Forgetful::holding(&disk.power_off());
    assert_eq!(fs::read_to_string(again.dir().join("d/h")).unwrap(), "new");
    assert_eq!(fs::read_to_string(again.dir().join("f")).unwrap(), "new");
}

#[test]
fn what_was_acknowledged_on_the_hosts_disk_survives_the_loss_of_power() {
    play(DISK, |step| {
        let name = step.name;
        for ahead in [Ahead::Nothing, Ahead::Names] {
            let lost = lacks(&held(&step.disk.on_disk(ahead)), &step.after);
            assert_eq!(lost, [""; 0], "{name}, with {ahead:?} ahead");
        }
        let again = Forgetful::holding(&step.disk.on_disk(Ahead::Nothing));
        let vfs = vfs_on(&again, DISK);
        assert_eq!(lacks(&shown(&vfs), &step.after), [""; 0], "{name}, when the power is back");
        act(&vfs, write("/w/again/f", b"it goes on", Expect::Any)).unwrap();
        drop(vfs);
        let mut wanted = step.after.clone();
        wanted.extend([("again/".into(), String::new()), ("again/f".into(), "it goes on".into())]);
        assert_eq!(lacks(&held(&again.power_off()), &wanted), [""; 0], "{name}, and a second loss");
    });
}

#[test]
fn power_that_fails_in_the_middle_leaves_each_file_old_or_new() {
    let mut moments = 0;
    play(DISK, |step| {
        moments += step.moments.len();
        let damages: Vec<String> = step.moments.iter().flat_map(|moment| damage(step, moment, false)).collect();
        assert_eq!(damages, [""; 0]);
    });
    assert!(moments > 200, "{moments}");
}

/// Shows that the two tests above can fail, for each kind of change, and that the two choices are two.
#[test]
fn without_syncing_the_loss_of_power_takes_what_was_acknowledged() {
    let (mut kept, mut whole) = (Vec::new(), true);
    play(PROCESS, |step| {
        if lacks(&held(&step.disk.on_disk(Ahead::Nothing)), &step.after).is_empty() {
            kept.push(step.name);
        }
        whole &= step.moments.iter().all(|moment| damage(step, moment, false).is_empty());
        // The next change has all of the last one below it.
        step.disk.sync_all();
    });
    assert_eq!(kept, [""; 0]);
    assert!(!whole, "a name that was ahead of its content was found with nothing in it");
}

#[test]
fn a_mode_that_was_acknowledged_survives_the_loss_of_power() {
    for (how, after) in [(DISK, 0o750), (PROCESS, 0o640)] {
        let disk = Forgetful::new();
        let vfs = vfs_on(&disk, how);
        act(&vfs, write("/w/f", b"x", Expect::Any)).unwrap();
        fs::set_permissions(disk.dir().join(MOUNT).join("f"), fs::Permissions::from_mode(0o640)).unwrap();
        disk.sync_all();
        act(&vfs, alter("/w/f", Alter::Dress(Looks { mode: Some(0o750), modified: None }))).unwrap();
        drop(vfs);
        let Thing::File { mode, .. } = disk.power_off()[&format!("{MOUNT}/f")].clone() else { panic!("no file") };
        assert_eq!(mode, after, "{how:?}");
    }
}

/// Whether the old inode itself is kept, by a second name or none, or a copy of it.
#[test]
fn what_a_change_replaced_is_kept_through_the_loss_of_power() {
    let keeps = How { keeps: true, ..DISK };
    for how in [keeps, How { hard_links: HardLinks::Deny, ..keeps }, How { apart: true, ..keeps }] {
        play(how, |step| {
            let damages: Vec<String> = step.moments.iter().flat_map(|moment| damage(step, moment, true)).collect();
            assert_eq!(damages, [""; 0], "{how:?}");
            for ahead in [Ahead::Nothing, Ahead::Names] {
                let found = step.disk.on_disk(ahead);
                assert_eq!(lacks(&held(&found), &step.after), [""; 0], "{}, with {ahead:?} ahead, {how:?}", step.name);
                let gone = |thing: &Thing| !found.iter().any(|(path, kept)| path.starts_with(HISTORY) && kept == thing);
                let lost =
                    step.disk.seen().into_iter().filter(|(path, thing)| path.starts_with(HISTORY) && gone(thing));
                assert_eq!(lost.map(|(path, _)| path).collect::<Vec<_>>(), [""; 0], "{}, {how:?}", step.name);
            }
        });
    }
}
