//! The diff: what a fork changed, as people and programs read it, and nothing of what is out of sight.

use paddock_stores::fork::{Detail, DifferenceKind, Modes, Shape, stat, unified};

use super::ground::take_back;
use super::*;
use crate::planting;

#[test]
fn a_diff_shows_lines_numbers_and_kinds() {
    let before = |ground: &Ground| {
        ground.write(&w("a.txt"), "one\ntwo\nthree\n");
        ground.write(&w("gone"), "gone\n");
        ground.write(&w("image"), "\0\x01\x02");
        ground.make_dir(&w("dir"));
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.edit(&f("a.txt"), "two", "2").unwrap();
        ground.delete(&f("gone"));
        ground.delete(&f("dir"));
        ground.write(&f("image"), "\0\x01\x02\x03");
        ground.write(&f("new/empty"), "");
        ground.write(&f("no end"), "x");
        let differences = ground.differences();
        assert_eq!(
            unified(&differences),
            "\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
removed directory dir
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-gone
changed image (binary, 3 to 4 bytes)
added directory new
added file new/empty
--- /dev/null
+++ b/no end
@@ -0,0 +1 @@
+x
\\ No newline at end of file
",
            "{}",
            setting.name
        );
        assert_eq!(
            stat(&differences).to_string(),
            "\
M a.txt | +1 -1
D dir
D gone | +0 -1
M image
A new
A new/empty | +0 -0
A no end | +1 -0
7 paths changed, 2 lines added, 2 removed
",
            "{}",
            setting.name
        );
        assert_eq!(differences[0].change, DifferenceKind::Changed);
        assert_eq!((differences[4].before, differences[4].after), (None, Some(Shape::Directory)));
    });
}

#[test]
fn looking_and_making_directories_above_is_no_difference() {
    let before = |ground: &Ground| ground.write(&w("a/b/c"), "c\n");
    on_every_ground(&[], before, |ground, setting| {
        ground.read(&f("a/b/c")).unwrap();
        ground.write(&f("a/b/d"), "d\n");
        ground.delete(&f("a/b/d"));
        ground.write(&f("a/b/c"), "other\n");
        ground.write(&f("a/b/c"), "c\n");
        assert_eq!(ground.diff(), [""; 0], "{}", setting.name);
    });
}

#[test]
fn a_conflict_shows_both_sides() {
    on_every_ground(
        &[],
        |ground| ground.write(&w("a"), "x\n"),
        |ground, setting| {
            ground.write(&f("a"), "here\n");
            ground.write(&w("a"), "below\n");
            let differences = ground.differences();
            assert!(differences[0].conflict, "{}", setting.name);
            let shown = unified(&differences);
            assert_eq!(shown, "conflict a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-below\n+here\n", "{}", setting.name);
            assert!(stat(&differences).to_string().starts_with("M a | +1 -1 (conflict)\n"));
        },
    );
}

#[test]
fn very_large_files_are_told_and_not_shown() {
    let large = "x".repeat(5 * 1024 * 1024);
    on_every_ground(
        &[],
        |ground| ground.write(&w("large"), &large),
        |ground, setting| {
            ground.write(&f("large"), "small\n");
            let differences = ground.differences();
            let (before, after) = (large.len() as u64, 6);
            assert_eq!(differences[0].detail, Detail::Large { before, after }, "{}", setting.name);
            ground.apply();
            assert_eq!(ground.text(&w("large")).as_deref(), Some("small\n"));
        },
    );
}

#[test]
fn names_that_could_steer_a_terminal_are_made_visible() {
    let base = Arc::new(MemoryBase::new());
    let store = Arc::new(MemoryStore::new());
    let ground = Ground::new(store, Standing::Live, upper(&base), &[]);
    ground.write(&f("plain"), "x\n");
    let mut differences = ground.differences();
    // No path can hold such a name today; what shows one must not count on that.
    let quiet = stat(&differences);
    let mut loud = quiet.clone();
    loud.rows[0].path = "\u{1b}[31m\n".to_owned();
    assert!(!loud.to_string().contains('\u{1b}'));
    differences.clear();
    assert_eq!(unified(&differences), "");
}

#[test]
fn what_the_workspace_keeps_out_of_sight_is_in_no_diff_and_no_apply() {
    on_every_ground(
        &["/w/nested"],
        |ground| ground.write(&w("d/x"), "x\n"),
        |ground, setting| {
            // Behind the guard there is more.
            if let Some(dir) = &setting.dir {
                let mount = dir.path().join("mount");
                std::fs::write(mount.join("d/.env"), "SECRET=1\n").unwrap();
                std::fs::create_dir_all(mount.join("nested")).unwrap();
                std::fs::write(mount.join("nested/shadowed"), "shadowed\n").unwrap();
            }
            ground.write(&w("nested/own"), "of the nested Workspace\n");
            // The fork hides nothing by itself, so its agent can write these.
            ground.write(&f(".env"), "MINE=1\n");
            ground.write(&f("nested/own"), "of the fork\n");
            ground.write(&f("nested/more"), "of the fork\n");
            ground.write(&f("seen"), "seen\n");
            assert_eq!(ground.text(&f("d/.env")), None);
            assert_eq!(ground.diff(), ["added seen"], "{}", setting.name);
            let merge = ground.merge();
            let left_out: Vec<&str> = merge.left_out.iter().map(|path| path.as_str()).collect();
            assert_eq!(left_out, [".env", "nested"], "{}", setting.name);
            ground.apply();
            assert_eq!(ground.text(&w("nested/own")).as_deref(), Some("of the nested Workspace\n"), "{}", setting.name);
            assert_eq!(ground.text(&w("nested/more")), None);
            assert_eq!(ground.text(&f(".env")).as_deref(), Some("MINE=1\n"), "it stays in the fork");
        },
    );
}

#[test]
fn a_directory_with_something_hidden_stays_whole() {
    let before = |ground: &Ground| ground.write(&w("d/x"), "x\n");
    on_disk(&[], &before, &|ground, setting| {
        let mount = setting.dir.as_ref().unwrap().path().join("mount");
        std::fs::write(mount.join("d/.env"), "SECRET=1\n").unwrap();
        ground.delete(&f("d"));
        assert_eq!(ground.diff(), ["removed d", "removed d/x"]);
        let refused = ground.alter(ground.merge().ready().unwrap().to_vec());
        assert!(refused.is_err());
        assert!(!refused.unwrap_err().to_string().contains("SECRET"));
        assert_eq!(ground.text(&w("d/x")).as_deref(), Some("x\n"), "nothing went, not even what could have");
    });
}

#[test]
fn links_of_the_workspace_go_and_links_of_a_fork_come() {
    let dir = tempfile::TempDir::new().unwrap();
    let mount = dir.path().join("mount");
    let store = Arc::new(PhysicalStore::new(&mount).unwrap());
    std::fs::create_dir_all(mount.join("d")).unwrap();
    std::fs::write(mount.join("d/x"), "x\n").unwrap();
    std::os::unix::fs::symlink("d/x", mount.join("link")).unwrap();
    std::os::unix::fs::symlink("d", mount.join("way")).unwrap();
    let ground = Ground::new(store, Standing::Live, upper(&Arc::new(MemoryBase::new())), &[]);
    ground.delete(&f("link"));
    ground.delete(&f("way"));
    ground.write(&f("way/in"), "in a directory of its own\n");
    assert_eq!(ground.diff(), ["removed link", "turned way", "added way/in"]);
    assert!(
        unified(&ground.differences()).starts_with("removed link link (d/x to nothing)\nlink way becomes a directory")
    );
    ground.apply();
    assert!(!mount.join("link").exists() && mount.join("d/x").exists());
    assert_eq!(std::fs::read(mount.join("way/in")).unwrap(), b"in a directory of its own\n");
    assert!(!mount.join("d/in").exists(), "nothing went through the link");

    planting::link(&ground.fork, "mine", "d/x");
    assert_eq!(ground.diff(), ["added mine"]);
    ground.apply();
    assert_eq!(std::fs::read_link(mount.join("mine")).unwrap(), std::path::Path::new("d/x"));
}

#[test]
fn links_arrive_as_they_are_written() {
    let before = |ground: &Ground| {
        ground.write(&w("lib/foo/cli.js"), "cli\n");
        ground.link(&w("lib/.bin/old"), "../foo/cli.js");
        ground.link(&w("lib/.bin/gone"), "../foo/cli.js");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.link(&f("lib/.bin/foo"), "../foo/cli.js");
        ground.link(&f("lib/.bin/chain"), "foo");
        // It leads where it led, and yet it is another.
        ground.link(&f("lib/.bin/old"), "./foo");
        ground.link(&f("lib/.bin/dangling"), "../none/yet");
        ground.link(&f("lib/out"), "../../../etc/hosts");
        ground.delete(&f("lib/.bin/gone"));
        assert_eq!(
            unified(&ground.differences()),
            "\
added link lib/.bin/chain (nothing to foo)
added link lib/.bin/dangling (nothing to ../none/yet)
added link lib/.bin/foo (nothing to ../foo/cli.js)
removed link lib/.bin/gone (../foo/cli.js to nothing)
changed lib/.bin/old (../foo/cli.js to ./foo)
added link lib/out (nothing to ../../../etc/hosts)
",
            "{}",
            setting.name
        );
        let seen = ground.tree(FORK);
        ground.apply();
        assert_eq!(ground.tree(SOURCE), seen, "{}", setting.name);
        assert_eq!(ground.text(&w("lib/.bin/old")).as_deref(), Some("cli\n"), "{}", setting.name);
        ground.link(&w("lib/.bin/foo"), "../foo/below.js");
        ground.link(&f("lib/.bin/foo"), "../foo/here.js");
        let said = "lib/.bin/foo: changed on both sides, in the same place";
        assert_eq!(ground.conflicts(), [said], "{}", setting.name);
    });
}

#[test]
fn modes_are_told_beside_everything_else_that_changes() {
    let before = |ground: &Ground| {
        ground.write(&w("run.sh"), "echo\n");
        ground.write(&w("only"), "same\n");
        ground.write(&w("image"), "\0");
        ground.write(&w("plain"), "plain\n");
        ground.write(&w("was"), "a file\n");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.write(&f("run.sh"), "echo 2\n");
        ground.chmod(&f("run.sh"), 0o755);
        ground.chmod(&f("only"), 0o600);
        ground.write(&f("image"), "\0\0");
        ground.chmod(&f("image"), 0o400);
        ground.write(&f("plain"), "other\n");
        ground.write(&f("new.sh"), "new\n");
        ground.chmod(&f("new.sh"), 0o755);
        ground.make_dir(&f("private"));
        ground.chmod(&f("private"), 0o700);
        ground.delete(&f("was"));
        ground.make_dir(&f("was"));
        let differences = ground.differences();
        assert_eq!(
            unified(&differences),
            "\
changed image (binary, 1 to 2 bytes, mode 644 to 400)
added file new.sh (mode 755)
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+new
changed only (mode 644 to 600)
--- a/plain
+++ b/plain
@@ -1 +1 @@
-plain
+other
added directory private (mode 700)
changed run.sh (mode 644 to 755)
--- a/run.sh
+++ b/run.sh
@@ -1 +1 @@
-echo
+echo 2
file was becomes a directory
--- a/was
+++ /dev/null
@@ -1 +0,0 @@
-a file
",
            "{}",
            setting.name
        );
        assert_eq!(
            stat(&differences).to_string(),
            "\
M image (mode 644 to 400)
A new.sh | +1 -0 (mode 755)
M only (mode 644 to 600)
M plain | +1 -1
A private (mode 700)
M run.sh | +1 -1 (mode 644 to 755)
T was | +0 -1
7 paths changed, 3 lines added, 3 removed
",
            "{}",
            setting.name
        );
        let modes = Modes { mode_before: None, mode_after: Some(0o755) };
        assert_eq!((differences[1].modes, stat(&differences).rows[1].modes), (modes, modes), "{}", setting.name);
        ground.apply();
        for (path, mode) in [
            ("image", 0o400),
            ("new.sh", 0o755),
            ("only", 0o600),
            ("private", 0o700),
            ("run.sh", 0o755),
            ("plain", 0o644),
        ] {
            assert_eq!(ground.mode(&w(path)), mode, "{path}, {}", setting.name);
        }
    });
}

#[test]
fn a_link_that_an_earlier_version_noted_by_its_place_is_no_conflict() {
    let dir = tempfile::TempDir::new().unwrap();
    let mount = dir.path().join("mount");
    std::fs::create_dir_all(mount.join("d")).unwrap();
    for name in ["goes", "changes"] {
        std::os::unix::fs::symlink("../d/x", mount.join("d").join(name)).unwrap();
    }
    let store = Arc::new(PhysicalStore::new(&mount).unwrap());
    let ground = Ground::new(store, Standing::Live, upper(&Arc::new(MemoryBase::new())), &[]);
    ground.delete(&f("d/goes"));
    ground.delete(&f("d/changes"));
    for name in ["goes", "changes"] {
        planting::noted_link(&ground.fork, &format!("d/{name}"), "/d/x");
    }
    assert_eq!(ground.conflicts(), [""; 0]);
    std::fs::remove_file(mount.join("d/changes")).unwrap();
    std::os::unix::fs::symlink("y", mount.join("d/changes")).unwrap();
    assert_eq!(ground.conflicts(), ["d/changes: deleted here, and changed below"]);
}

#[test]
fn a_directory_that_a_fork_deleted_comes_back_with_its_links() {
    let before = |ground: &Ground| {
        ground.write(&w("d/x"), "x\n");
        ground.link(&w("d/l"), "./x");
    };
    on_every_ground(&[], before, |ground, setting| {
        let seen = ground.tree(FORK);
        ground.delete(&f("d"));
        take_back(ground, ground.last_told());
        assert_eq!(ground.tree(FORK), seen, "{}", setting.name);
        assert_eq!(ground.diff(), [""; 0], "{}", setting.name);
    });
}
