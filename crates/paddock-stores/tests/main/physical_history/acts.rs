//! What each act says was there, and what comes of it.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use paddock_core::{Alter, Before, ErrorKind, Expect, Kind, Operation};
use paddock_stores::TEMP_PREFIX;

use super::{Pasture, append, delete, edit, error, inode, kept, logical, rename, set_mode, write};

#[test]
fn what_is_new_was_absent_and_tells_how_many_directories_were_made_for_it() {
    let pasture = Pasture::new();
    let made = pasture.write("/w/a/b/c.txt", "one");
    assert_eq!((made.created, &made.before, made.parents), (true, &Before::Absent, 2));
    let made = pasture.one(append("/w/a/log/x.txt", "one"));
    assert_eq!((made.created, &made.before, made.parents), (true, &Before::Absent, 1));
    let made = pasture.one(Operation::MakeDir { path: logical("/w/a/d/e/f") });
    assert_eq!((made.created, &made.before, made.parents), (true, &Before::Absent, 2));
    let again = pasture.one(Operation::MakeDir { path: logical("/w/a/d") });
    assert!(!again.created && matches!(again.before, Before::Dir(_)) && again.parents == 0, "{again:?}");
    let moved = pasture.one(rename("/w/a/b/c.txt", "/w/x/y/c.txt"));
    assert_eq!((moved.created, &moved.before, moved.parents), (true, &Before::Absent, 2));
    assert_eq!(pasture.place.entries().unwrap(), []);
    pasture.assert_counted();
}

#[test]
fn each_replacement_keeps_what_was_there() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    let first = pasture.write("/w/f", "two");
    assert!(!first.created && first.parents == 0);
    let second = pasture.one(edit("/w/f", "two", "three"));
    let third = pasture.run(delete("/w/f")).unwrap();
    let texts = [&first, &second, &third[0].1].map(|change| pasture.recall(&kept(change)).unwrap());
    assert_eq!(texts, ["one", "two", "three"]);
    assert!(!pasture.host("f").exists());
    pasture.assert_counted();
}

#[test]
fn the_old_inode_itself_is_kept_and_no_temporary_name_stays() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    set_mode(&pasture.host("f"), 0o640);
    let old = inode(&pasture.host("f"));
    let change = pasture.write("/w/f", "two");
    let path = pasture.dir.path().join("system/history").join(kept(&change).0);
    assert_eq!(inode(&path), old);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    let names = fs::read_dir(pasture.host("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_str().unwrap().starts_with(TEMP_PREFIX)));
}

#[test]
fn an_append_only_says_how_much_was_there() {
    let pasture = Pasture::new();
    pasture.write("/w/log", "one\n");
    let before = inode(&pasture.host("log"));
    assert_eq!(pasture.one(append("/w/log", "two\n")).before, Before::Prefix(4));
    assert_eq!(inode(&pasture.host("log")), before, "it grew in place");
    assert_eq!(pasture.place.entries().unwrap(), []);
    pasture.assert_counted();
}

#[test]
fn a_directory_that_went_is_told_as_one() {
    let pasture = Pasture::new();
    pasture.write("/w/d/e/f", "one");
    let told = pasture.run(delete("/w/d")).unwrap();
    let before: Vec<&Before> = told.iter().map(|(_, change)| &change.before).collect();
    assert!(matches!(before[..], [Before::Kept(_), Before::Dir(_), Before::Dir(_)]), "{before:?}");
    pasture.assert_counted();
}

#[test]
fn nothing_is_kept_unless_it_is_asked_for() {
    let pasture = Pasture::forgetful();
    pasture.write("/w/f", "one");
    assert_eq!(pasture.write("/w/f", "two").before, Before::Lost);
    assert_eq!(pasture.one(append("/w/f", "!")).before, Before::Lost);
    assert_eq!(pasture.run(delete("/w/f")).unwrap()[0].1.before, Before::Lost);
    assert!(!pasture.dir.path().join("system").exists(), "not even a place for it was made");
    pasture.assert_counted();
}

#[test]
fn what_is_restored_has_its_content_and_mode_and_stays_kept() {
    let pasture = Pasture::new();
    pasture.write("/w/d/run.sh", "echo one\n");
    set_mode(&pasture.host("d/run.sh"), 0o750);
    let first = kept(&pasture.write("/w/d/run.sh", "echo two\n"));
    set_mode(&pasture.host("d/run.sh"), 0o600);
    for _ in 0..2 {
        let told = pasture.restore("/w/d/run.sh", &first).unwrap();
        assert!(matches!(told[0].1.before, Before::Kept(_)));
        assert_eq!(pasture.state()["d/run.sh"], "750 echo one\n");
    }
    pasture.run(delete("/w/d")).unwrap();
    let told = pasture.restore("/w/d/run.sh", &first).unwrap();
    assert_eq!((told[0].1.created, &told[0].1.before, told[0].1.parents), (true, &Before::Absent, 1));
    assert_eq!(pasture.state()["d/run.sh"], "750 echo one\n");
    assert_eq!(pasture.recall(&first).unwrap(), "echo one\n");
    pasture.assert_counted();
}

#[test]
fn what_comes_back_raises_no_privileges() {
    let pasture = Pasture::new();
    pasture.write("/w/f", "one");
    set_mode(&pasture.host("f"), 0o4755);
    let first = kept(&pasture.write("/w/f", "two"));
    pasture.restore("/w/f", &first).unwrap();
    assert_eq!(pasture.state()["f"], "755 one");
}

#[test]
fn a_restore_that_expects_something_else_changes_nothing() {
    let pasture = Pasture::new();
    let seen = pasture.write("/w/f", "one").version.unwrap();
    let first = kept(&pasture.write("/w/f", "two"));
    for expect in [Expect::Is(seen), Expect::Absent] {
        assert!(pasture.alter("/w/f", Alter::Restore(first.clone()), expect).is_err());
    }
    assert_eq!(pasture.read("/w/f"), "two");
    fs::create_dir(pasture.host("d")).unwrap();
    assert_eq!(error(pasture.restore("/w/d", &first)), ErrorKind::IsADirectory);
}

#[test]
fn a_delete_that_expects_something_else_changes_nothing() {
    let pasture = Pasture::new();
    let seen = pasture.write("/w/f", "one").version.unwrap();
    let now = pasture.write("/w/f", "two").version.unwrap();
    assert_eq!(error(pasture.alter("/w/f", Alter::Delete, Expect::Is(seen))), ErrorKind::Stale);
    assert_eq!(pasture.read("/w/f"), "two");
    pasture.alter("/w/f", Alter::Delete, Expect::Is(now)).unwrap();
    assert!(!pasture.host("f").exists());
}

#[test]
fn a_link_is_kept_as_a_link_and_comes_back_as_one() {
    let pasture = Pasture::new();
    pasture.write("/w/real", "content");
    symlink("real", pasture.host("link")).unwrap();
    let told = pasture.run(delete("/w/link")).unwrap();
    let link = kept(&told[0].1);
    assert_eq!(pasture.place.entries().unwrap()[0].kind, Kind::Link);
    assert_eq!(pasture.recall(&link), Err(ErrorKind::Link), "a link has no content");
    pasture.restore("/w/link", &link).unwrap();
    assert_eq!(pasture.state()["link"], "to real");
    assert_eq!(pasture.state()["real"], "644 content");
    // Also over a file, and a file over it.
    pasture.write("/w/other", "one");
    let file = kept(&pasture.write("/w/other", "two"));
    let replaced = pasture.restore("/w/other", &link).unwrap();
    assert_eq!(pasture.state()["other"], "to real");
    pasture.restore("/w/other", &kept(&replaced[0].1)).unwrap();
    pasture.restore("/w/link", &file).unwrap();
    assert_eq!((pasture.state()["link"].as_str(), pasture.state()["real"].as_str()), ("644 one", "644 content"));
}

#[test]
fn a_file_with_several_names_is_kept_and_its_other_names_stay() {
    let pasture = Pasture::new();
    let outside = pasture.dir.path().join("outside");
    fs::write(&outside, "one\n").unwrap();
    fs::hard_link(&outside, pasture.host("f")).unwrap();
    fs::hard_link(&outside, pasture.host("g")).unwrap();
    let replaced = kept(&pasture.write("/w/f", "two\n"));
    let grown = pasture.one(append("/w/g", "three\n"));
    assert_eq!(pasture.recall(&replaced).unwrap(), "one\n");
    assert_eq!(pasture.recall(&kept(&grown)).unwrap(), "one\n");
    assert_eq!(pasture.read("/w/g"), "one\nthree\n");
    let back = pasture.restore("/w/g", &kept(&grown)).unwrap();
    assert_eq!(pasture.read("/w/g"), "one\n");
    pasture.one(append("/w/g", "more\n"));
    pasture.restore("/w/f", &kept(&back[0].1)).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "one\n", "never written through");
}

#[test]
fn where_hard_links_are_denied_what_is_kept_of_them_is_not_read() {
    let pasture = Pasture::new();
    fs::write(pasture.dir.path().join("outside"), "one\n").unwrap();
    fs::hard_link(pasture.dir.path().join("outside"), pasture.host("f")).unwrap();
    let change = kept(&pasture.write("/w/f", "two\n"));
    let strict = pasture.denying_hard_links();
    assert_eq!(strict.recall(&change), Err(ErrorKind::HardLinked));
    assert_eq!(error(strict.restore("/w/f", &change)), ErrorKind::HardLinked);
    fs::hard_link(strict.host("f"), strict.dir.path().join("second")).unwrap();
    assert_eq!(error(strict.alter("/w/f", Alter::Truncate(1), Expect::Any)), ErrorKind::HardLinked);
    fs::remove_file(strict.dir.path().join("outside")).unwrap();
    strict.restore("/w/f", &change).unwrap();
    assert_eq!(strict.read("/w/f"), "one\n");
}

#[test]
fn a_move_or_a_directory_that_expects_something_else_changes_nothing() {
    let pasture = Pasture::new();
    let seen = pasture.write("/w/f", "one").version.unwrap();
    let now = pasture.write("/w/f", "two").version.unwrap();
    let to = || Alter::Move { to: logical("/w/g") };
    assert_eq!(error(pasture.alter("/w/f", to(), Expect::Is(seen))), ErrorKind::Stale);
    assert!(pasture.host("f").exists() && !pasture.host("g").exists());
    pasture.alter("/w/f", to(), Expect::Is(now)).unwrap();
    pasture.run(Operation::MakeDir { path: logical("/w/d") }).unwrap();
    assert_eq!(error(pasture.alter("/w/d", Alter::MakeDir, Expect::Absent)), ErrorKind::AlreadyExists);
}

#[test]
fn a_truncation_keeps_what_it_cuts_off() {
    let pasture = Pasture::new();
    pasture.write("/w/log", "one\ntwo\n");
    set_mode(&pasture.host("log"), 0o640);
    let told = pasture.alter("/w/log", Alter::Truncate(4), Expect::Any).unwrap();
    assert_eq!(pasture.state()["log"], "640 one\n");
    assert_eq!(pasture.recall(&kept(&told[0].1)).unwrap(), "one\ntwo\n");
    let told = pasture.alter("/w/log", Alter::Truncate(99), Expect::Any).unwrap();
    assert_eq!((pasture.read("/w/log").as_str(), &told[0].1.before), ("one\n", &Before::Prefix(4)));
    pasture.assert_counted();
}

#[test]
fn a_truncation_of_which_nothing_is_kept_happens_in_place_but_never_through_other_names() {
    let pasture = Pasture::forgetful();
    pasture.write("/w/log", "one\ntwo\n");
    let before = inode(&pasture.host("log"));
    let seen = pasture.alter("/w/log", Alter::Truncate(4), Expect::Any).unwrap()[0].1.version.unwrap();
    assert_eq!((pasture.read("/w/log").as_str(), inode(&pasture.host("log"))), ("one\n", before));
    fs::hard_link(pasture.host("log"), pasture.dir.path().join("outside")).unwrap();
    // The second name is a change of the file's status: the version is another.
    assert_eq!(error(pasture.alter("/w/log", Alter::Truncate(1), Expect::Is(seen))), ErrorKind::Stale);
    pasture.alter("/w/log", Alter::Truncate(1), Expect::Any).unwrap();
    assert_eq!(pasture.read("/w/log"), "o");
    assert_eq!(fs::read_to_string(pasture.dir.path().join("outside")).unwrap(), "one\n");
    assert_eq!(error(pasture.alter("/w/none", Alter::Truncate(1), Expect::Any)), ErrorKind::NotFound);
    pasture.assert_counted();
}

#[test]
fn a_pipe_that_is_deleted_comes_back_as_itself() {
    let pasture = Pasture::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, pasture.host("pipe"), kind, mode, 0).unwrap();
    let before = inode(&pasture.host("pipe"));
    let kept = kept(&pasture.one(delete("/w/pipe")));
    assert!(!pasture.host("pipe").exists());
    assert_eq!(pasture.recall(&kept), Err(ErrorKind::NotAFile), "it is never opened");
    // It has no content that a copy could have, and stays kept for the next time.
    for _ in 0..2 {
        pasture.restore("/w/pipe", &kept).unwrap();
        assert_eq!(inode(&pasture.host("pipe")), before);
        fs::remove_file(pasture.host("pipe")).unwrap();
    }
}

#[test]
fn a_file_that_went_by_itself_from_among_many_was_absent() {
    let pasture = Pasture::new();
    pasture.write("/w/d/f", "one");
    pasture.write("/w/d/g", "two");
    let told = pasture.call(|call| {
        let plan = pasture.vfs.plan(call, delete("/w/d")).unwrap();
        fs::remove_file(pasture.host("d/f")).unwrap();
        let request = paddock_core::Request::of_person("test", paddock_core::Risk::Low);
        let paddock_core::Passed::Now(token) = pasture.vfs.ask(call, &request, &plan).unwrap() else { panic!() };
        pasture.vfs.run(call, plan, token).unwrap();
        pasture.listener.told.lock().unwrap().split_off(1)
    });
    let before: Vec<&Before> = told.iter().map(|(_, change)| &change.before).collect();
    assert!(matches!(before[..], [Before::Kept(_), Before::Absent, Before::Dir(_)]), "{before:?}");
}

#[test]
fn thousands_of_files_go_and_come_back() {
    let pasture = Pasture::new();
    for n in 0..2_000 {
        let dir = pasture.host(&format!("d/{}", n % 20));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{n}.txt")), n.to_string()).unwrap();
    }
    let before = pasture.state();
    let told = pasture.run(delete("/w/d")).unwrap();
    assert_eq!(pasture.state().len(), 0);
    assert_eq!(pasture.place.entries().unwrap().len(), 2_000);
    let alterations = told.iter().rev().flat_map(super::way_back).collect();
    pasture.run(Operation::Alter { path: logical("/w/d"), alterations }).unwrap();
    assert_eq!(pasture.state(), before);
    let written = write("/w/after", "one");
    assert!(pasture.one(written).created);
}
