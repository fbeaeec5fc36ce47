//! An index beside the tree that it tells of, while that changes in every way.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use super::directory::{DEEPEST, LONGEST};
use super::*;

fn paths(index: &Index) -> Vec<String> {
    index.find().unwrap().into_iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

/// An index of names that begin with `.env`, and how often it was asked.
fn of_env(top: &Path) -> (Index, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let matches = move |path: &Path, _: Kind| {
        count.fetch_add(1, Ordering::Relaxed);
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(".env"))
    };
    (Index::new(top, Box::new(matches)), asked)
}

/// Makes every directory look as if it had been left alone for long.
fn settle(top: &Path) {
    let old = SystemTime::now() - Duration::from_secs(60);
    for path in [top.to_owned(), top.join("a"), top.join("a/b")] {
        if path.is_dir() {
            fs::File::open(path).unwrap().set_modified(old).unwrap();
        }
    }
}

#[test]
fn names_are_found_at_any_depth_and_below_a_match_nothing_is_asked() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("a/b")).unwrap();
    fs::create_dir_all(top.path().join(".env.d/x")).unwrap();
    for name in [".env", "a/b/.env.local", "a/file", ".env.d/x/.env"] {
        fs::write(top.path().join(name), "").unwrap();
    }
    std::os::unix::fs::symlink("a", top.path().join("link")).unwrap();
    let (index, _) = of_env(top.path());
    assert_eq!(paths(&index), [".env", ".env.d", "a/b/.env.local"]);
}

#[test]
fn what_changes_is_noticed_at_once() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("a/b")).unwrap();
    let (index, _) = of_env(top.path());
    assert!(paths(&index).is_empty());
    for round in 0..50 {
        let name = format!("a/b/.env{round}");
        fs::write(top.path().join(&name), "").unwrap();
        assert_eq!(paths(&index), std::slice::from_ref(&name));
        fs::remove_file(top.path().join(&name)).unwrap();
        assert!(paths(&index).is_empty());
    }
    fs::write(top.path().join("a/.env"), "").unwrap();
    fs::rename(top.path().join("a"), top.path().join("c")).unwrap();
    assert_eq!(paths(&index), ["c/.env"]);
}

#[test]
fn a_settled_directory_is_not_read_again() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("a/b")).unwrap();
    fs::write(top.path().join("a/b/.env"), "").unwrap();
    settle(top.path());
    // Setting a time changes the other one, which nobody can set: it has to grow old by itself.
    std::thread::sleep(Duration::from_millis(150));
    let (index, asked) = of_env(top.path());
    assert_eq!(paths(&index), ["a/b/.env"]);
    let once = asked.load(Ordering::Relaxed);
    assert_eq!(paths(&index), ["a/b/.env"]);
    assert_eq!(asked.load(Ordering::Relaxed), once);
    fs::write(top.path().join("a/.env"), "").unwrap();
    assert_eq!(paths(&index), ["a/.env", "a/b/.env"]);
}

#[test]
fn a_large_tree_is_shared_and_nothing_is_lost() {
    let top = tempfile::tempdir().unwrap();
    for number in 0..1500 {
        fs::create_dir_all(top.path().join(format!("a/b{}/c{}/d{number}", number % 3, number % 40))).unwrap();
    }
    let hidden: Vec<String> = [7, 700, 1499].map(|n| format!("a/b{}/c{}/d{n}/.env", n % 3, n % 40)).to_vec();
    for path in &hidden {
        fs::write(top.path().join(path), "").unwrap();
    }
    let (index, _) = of_env(top.path());
    let mut wanted = hidden.clone();
    wanted.sort();
    for _ in 0..3 {
        assert_eq!(paths(&index), wanted);
    }
    fs::write(top.path().join("a/b1/c1/d1/.env.new"), "").unwrap();
    wanted.push("a/b1/c1/d1/.env.new".to_owned());
    wanted.sort();
    assert_eq!(paths(&index), wanted);
}

/// A tree that is watched from the second question on.
fn watched() -> (tempfile::TempDir, Index, Arc<AtomicUsize>) {
    let top = tempfile::tempdir().unwrap();
    for number in 0..WATCHED {
        fs::create_dir_all(top.path().join(format!("a{}/b{number}", number % 10))).unwrap();
    }
    fs::write(top.path().join("a7/b7/.env"), "").unwrap();
    let (index, asked) = of_env(top.path());
    for _ in 0..2 {
        assert_eq!(paths(&index), ["a7/b7/.env"]);
    }
    assert!(index.state.lock().unwrap().watch.is_some(), "it is watched");
    (top, index, asked)
}

#[test]
fn a_watched_tree_is_not_asked_and_no_change_is_missed() {
    let (top, index, asked) = watched();
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(paths(&index), ["a7/b7/.env"]);
    assert_eq!(asked.load(Ordering::Relaxed), before, "nothing was read");
    let at = |path: &str| top.path().join(path);
    fs::write(at("a1/.env"), "").unwrap();
    assert_eq!(paths(&index), ["a1/.env", "a7/b7/.env"]);
    fs::create_dir_all(at("a1/new/deep/er")).unwrap();
    fs::write(at("a1/new/deep/er/.env"), "").unwrap();
    assert_eq!(paths(&index), ["a1/.env", "a1/new/deep/er/.env", "a7/b7/.env"]);
    fs::write(at("a1/new/deep/er/.env2"), "").unwrap();
    fs::remove_file(at("a1/.env")).unwrap();
    assert_eq!(paths(&index), ["a1/new/deep/er/.env", "a1/new/deep/er/.env2", "a7/b7/.env"]);
    fs::rename(at("a1/new"), at("a2/moved")).unwrap();
    assert_eq!(paths(&index), ["a2/moved/deep/er/.env", "a2/moved/deep/er/.env2", "a7/b7/.env"]);
    fs::rename(at("a2/moved/deep/er/.env"), at("a2/moved/deep/er/x")).unwrap();
    fs::remove_dir_all(at("a7")).unwrap();
    assert_eq!(paths(&index), ["a2/moved/deep/er/.env2"]);
    fs::rename(at("a2/moved/deep"), at("a3/.env.d")).unwrap();
    assert_eq!(paths(&index), ["a3/.env.d"]);
    fs::rename(at("a3/.env.d"), at("a3/plain")).unwrap();
    assert_eq!(paths(&index), ["a3/plain/er/.env2"]);
    assert!(index.state.lock().unwrap().watch.is_some(), "still");
}

#[test]
fn a_tree_that_was_replaced_is_read_again() {
    let (top, index, _) = watched();
    let other = top.path().with_extension("old");
    fs::rename(top.path(), &other).unwrap();
    fs::create_dir(top.path()).unwrap();
    fs::write(top.path().join(".env"), "").unwrap();
    assert_eq!(paths(&index), [".env"]);
    fs::remove_dir_all(other).unwrap();
}

#[test]
fn a_queue_that_overflows_is_not_trusted() {
    let (top, index, _) = watched();
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    for number in 0..most / 2 + 1000 {
        let path = top.path().join(format!("a1/b1/x{}", number % 2));
        fs::write(&path, "").unwrap();
        fs::remove_file(&path).unwrap();
    }
    fs::write(top.path().join("a1/.env"), "").unwrap();
    assert_eq!(paths(&index), ["a1/.env", "a7/b7/.env"]);
}

#[test]
fn a_fresh_time_is_not_trusted() {
    let now = Duration::from_secs(1000);
    let stamp = |seconds, nanoseconds| Stamp {
        device: 1,
        inode: 1,
        modified: (seconds, nanoseconds),
        changed: (seconds, nanoseconds),
    };
    assert!(stamp(999, 1).is_settled(now));
    assert!(!stamp(999, 950_000_000).is_settled(now));
    assert!(!stamp(998, 0).is_settled(now), "whole seconds are coarse");
    assert!(stamp(990, 0).is_settled(now));
    assert!(!stamp(1001, 5).is_settled(now), "a time to come says nothing");
}

#[test]
fn a_directory_replaced_by_a_link_is_not_followed() {
    let top = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join(".env"), "").unwrap();
    fs::create_dir(top.path().join("a")).unwrap();
    let (index, _) = of_env(top.path());
    assert!(paths(&index).is_empty());
    fs::remove_dir(top.path().join("a")).unwrap();
    std::os::unix::fs::symlink(outside.path(), top.path().join("a")).unwrap();
    assert!(paths(&index).is_empty());
}

/// As [`of_env`], watched from the second question on, however small the tree is.
fn soon_watched(top: &Path) -> Index {
    Index { watched_from: 1, ..of_env(top).0 }
}

/// What an index says that knows nothing yet.
fn anew(top: &Path) -> Vec<String> {
    paths(&of_env(top).0)
}

/// A watched tree with these directories and files.
fn small_watched(directories: &[&str], files: &[&str]) -> (tempfile::TempDir, Index) {
    let top = tempfile::tempdir().unwrap();
    for path in directories {
        fs::create_dir_all(top.path().join(path)).unwrap();
    }
    for path in files {
        fs::write(top.path().join(path), "").unwrap();
    }
    let index = soon_watched(top.path());
    for _ in 0..2 {
        assert_eq!(paths(&index), anew(top.path()));
    }
    assert!(index.state.lock().unwrap().watch.is_some(), "it is watched");
    (top, index)
}

#[test]
fn a_directory_that_takes_the_place_of_another_is_watched_like_it() {
    let (top, index) = small_watched(&["app/sub", "app.new/sub"], &[]);
    let at = |path: &str| top.path().join(path);
    fs::rename(at("app"), at("app.bak")).unwrap();
    fs::rename(at("app.new"), at("app")).unwrap();
    assert!(paths(&index).is_empty());
    fs::write(at("app/.env"), "").unwrap();
    assert_eq!(paths(&index), ["app/.env"]);
    fs::write(at("app/sub/.env"), "").unwrap();
    assert_eq!(paths(&index), ["app/.env", "app/sub/.env"]);
    fs::write(at("app.bak/sub/.env"), "").unwrap();
    assert_eq!(paths(&index), ["app/.env", "app/sub/.env", "app.bak/sub/.env"]);
}

#[test]
fn what_a_directory_brings_along_into_the_place_of_another_is_found() {
    let (top, index) = small_watched(&["rel/sub", "rel.new/sub"], &["rel.new/.env", "rel.new/sub/.env"]);
    let at = |path: &str| top.path().join(path);
    fs::rename(at("rel"), at("rel.old")).unwrap();
    fs::rename(at("rel.new"), at("rel")).unwrap();
    assert_eq!(paths(&index), ["rel/.env", "rel/sub/.env"]);
}

#[test]
fn a_directory_that_is_made_again_is_watched_again() {
    let (top, index) = small_watched(&["app/sub/deep"], &[]);
    let at = |path: &str| top.path().join(path);
    fs::remove_dir_all(at("app/sub")).unwrap();
    fs::create_dir_all(at("app/sub/deep")).unwrap();
    assert!(paths(&index).is_empty());
    for name in ["app/sub/.env", "app/sub/deep/.env"] {
        fs::write(at(name), "").unwrap();
    }
    assert_eq!(paths(&index), ["app/sub/.env", "app/sub/deep/.env"]);
}

#[test]
fn a_directory_that_moves_without_end_is_still_found() {
    let (top, index) = small_watched(&["d0/sub"], &[]);
    for round in 0..30 {
        let now = top.path().join(format!("d{}", round + 1));
        fs::rename(top.path().join(format!("d{round}")), &now).unwrap();
        let name = format!("sub/.env{round}");
        assert_eq!(paths(&index), anew(top.path()));
        fs::write(now.join(&name), "").unwrap();
        assert_eq!(paths(&index), [format!("d{}/{name}", round + 1)]);
        fs::remove_file(now.join(&name)).unwrap();
    }
}

#[test]
fn a_directory_that_is_met_at_two_places_is_told_of_at_both() {
    let top = tempfile::tempdir().unwrap();
    let at = {
        let top = top.path().to_owned();
        move |path: &str| top.join(path)
    };
    for path in ["a", "x/p/sub/deep", "y"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    // Old enough to be trusted without being read again.
    std::thread::sleep(Duration::from_millis(150));
    let matches = {
        let at = at.clone();
        move |path: &Path, _: Kind| {
            // While the tree is looked at, after "a" and before "y".
            if path == Path::new("a/trigger") {
                let _ = fs::rename(at("x/p"), at("y/p"));
            }
            path.ends_with(".env")
        }
    };
    let index = Index { watched_from: 1, ..Index::new(top.path(), Box::new(matches)) };
    for _ in 0..2 {
        assert!(paths(&index).is_empty());
    }
    fs::write(at("a/trigger"), "").unwrap();
    fs::write(at("y/touched"), "").unwrap();
    assert!(paths(&index).is_empty());
    assert!(at("y/p").is_dir(), "it was moved meanwhile");
    fs::rename(at("y/p"), at("x/p")).unwrap();
    assert!(paths(&index).is_empty());
    fs::write(at("x/p/sub/deep/.env"), "").unwrap();
    assert_eq!(paths(&index), ["x/p/sub/deep/.env"]);
}

/// What happens in a tree, and beside it.
#[derive(Debug, Clone)]
enum Act {
    Make(PathBuf),
    Hide(PathBuf),
    Remove(PathBuf),
    Move(PathBuf, PathBuf),
    Swap(PathBuf, PathBuf),
    Ask,
}

fn act() -> impl Strategy<Value = Act> {
    let place = || {
        let names = prop::collection::vec(select(vec!["a", "b"]), 1..4);
        (select(vec!["in", "in", "in", "out"]), names)
            .prop_map(|(top, names)| [top].into_iter().chain(names).collect::<PathBuf>())
    };
    prop_oneof![
        place().prop_map(Act::Make),
        place().prop_map(Act::Hide),
        place().prop_map(Act::Remove),
        (place(), place()).prop_map(|(from, to)| Act::Move(from, to)),
        (place(), place()).prop_map(|(one, other)| Act::Swap(one, other)),
        Just(Act::Ask),
    ]
}

/// Does it; what cannot be done is left.
fn do_it(ground: &Path, act: &Act) {
    let at = |path: &PathBuf| ground.join(path);
    let _ = match act {
        Act::Make(path) => fs::create_dir_all(at(path)),
        Act::Hide(path) => fs::write(at(path).join(".env"), ""),
        Act::Remove(path) => fs::remove_dir_all(at(path)),
        Act::Move(from, to) => fs::rename(at(from), at(to)),
        Act::Swap(one, other) => {
            let swap = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(CWD, at(one), CWD, at(other), swap).map_err(Into::into)
        }
        Act::Ask => Ok(()),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_an_old_index_says_what_a_new_one_does(acts in prop::collection::vec(act(), 1..40)) {
        let ground = tempfile::tempdir().unwrap();
        let top = ground.path().join("in");
        for path in ["in/a/a/a", "in/a/b", "in/b/a/b", "out/a"] {
            fs::create_dir_all(ground.path().join(path)).unwrap();
        }
        let (asked, watched) = (of_env(&top).0, soon_watched(&top));
        paths(&watched);
        for act in acts.iter().chain([&Act::Ask]) {
            do_it(ground.path(), act);
            if matches!(act, Act::Ask) {
                let truth = anew(&top);
                prop_assert_eq!(paths(&asked), truth.clone(), "asked");
                prop_assert_eq!(paths(&watched), truth, "watched");
            }
        }
    }
}

/// Goes down so many directories of this name, making each, and answers the last.
fn dig(top: &Path, name: &str, levels: usize) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut last = rustix::fs::openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        match rustix::fs::mkdirat(&last, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => panic!("{errno}"),
        }
        last = rustix::fs::openat(&last, name, flags, Mode::empty()).unwrap();
    }
    last
}

fn make_file(directory: &OwnedFd, name: &str) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o644)).unwrap();
}

#[test]
fn a_tree_without_end_hides_its_depths_and_nothing_above() {
    let long = "x".repeat(200);
    for (name, levels) in [(long.as_str(), 40), ("d", 2 * DEEPEST)] {
        let top = tempfile::tempdir().unwrap();
        make_file(&dig(top.path(), name, 10), ".env");
        make_file(&dig(top.path(), name, levels), ".env");
        fs::write(top.path().join(".env"), "").unwrap();
        let down = |levels: usize| std::iter::repeat_n(name, levels).collect::<PathBuf>();
        let is_closed = |path: &PathBuf| path.as_os_str().len() > LONGEST || path.iter().count() > DEEPEST;
        let first_closed = (1..).map(down).find(is_closed).unwrap();
        let wanted = [PathBuf::from(".env"), down(10).join(".env"), first_closed];
        let (asked, watched) = (of_env(top.path()).0, soon_watched(top.path()));
        for _ in 0..3 {
            assert_eq!(asked.find().unwrap(), wanted);
            assert_eq!(watched.find().unwrap(), wanted);
        }
        crate::staged::remove_tree(top.path()).unwrap();
    }
}

#[test]
fn a_tree_that_cannot_be_read_is_an_error_and_not_an_empty_one() {
    let top = tempfile::tempdir().unwrap();
    let (index, _) = of_env(&top.path().join("gone"));
    assert_eq!(index.find().unwrap_err().kind(), io::ErrorKind::NotFound);
}
