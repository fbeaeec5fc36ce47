//! Applying: three states for each path, all of it or nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{Alter, Alteration, ErrorKind, Expect, Looks, Operation};
use paddock_stores::conformance::world::path_of;
use paddock_stores::doubles::{Method, Shared};

use super::ground::{Ground, SOURCE, at, store_kind};
use super::*;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn some_files(ground: &Ground) {
    ground.write(&w("a.txt"), TEN);
    ground.write(&w("b.txt"), "b\n");
    ground.write(&w("d/x"), "x\n");
    ground.write(&w("d/deep/y"), "y\n");
    ground.make_dir(&w("d/empty"));
    ground.write(&w("other/z"), "z\n");
}

#[test]
fn what_only_the_fork_changed_is_taken() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.edit(&f("a.txt"), "5\n", "five\n").unwrap();
        ground.write(&f("new/n"), "n\n");
        ground.make_dir(&f("hollow"));
        ground.delete(&f("b.txt"));
        ground.apply();
        assert_eq!(ground.text(&w("a.txt")).unwrap(), TEN.replace('5', "five"), "{}", setting.name);
        assert_eq!(ground.text(&w("new/n")).as_deref(), Some("n\n"));
        assert_eq!(ground.text(&w("b.txt")), None);
        assert!(ground.tree(SOURCE).iter().any(|(path, _)| path == "hollow/"));
        assert_eq!(ground.tree(SOURCE), ground.tree(FORK), "{}", setting.name);
    });
}

#[test]
fn what_both_changed_in_different_places_meets() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.edit(&f("a.txt"), "1\n2", "one\n2").unwrap();
        ground.edit(&w("a.txt"), "10", "ten").unwrap();
        ground.write(&w("other/z"), "changed below alone\n");
        assert_eq!(ground.diff(), ["changed a.txt"], "{}", setting.name);
        ground.apply();
        let both = TEN.replacen('1', "one", 1).replace("10", "ten");
        assert_eq!(ground.text(&w("a.txt")).unwrap(), both, "{}", setting.name);
        assert_eq!(ground.text(&w("other/z")).unwrap(), "changed below alone\n");
    });
}

#[test]
fn the_same_change_on_both_sides_is_no_change() {
    on_every_ground(&[], some_files, |ground, setting| {
        for path in ["a.txt", "fresh"] {
            ground.write(&f(path), "same\n");
            ground.write(&w(path), "same\n");
        }
        ground.delete(&f("d"));
        ground.delete(&w("d"));
        assert_eq!(ground.diff(), [""; 0], "{}", setting.name);
        let merge = ground.merge();
        assert_eq!(merge.ready(), Ok(&[][..]), "{}", setting.name);
    });
}

#[test]
fn a_change_that_was_taken_back_does_not_take_back_one_below() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("b.txt"), "tried\n");
        ground.write(&w("b.txt"), "moved on\n");
        ground.write(&f("b.txt"), "b\n");
        assert_eq!(ground.diff(), [""; 0], "{}", setting.name);
        ground.apply();
        assert_eq!(ground.text(&w("b.txt")).unwrap(), "moved on\n");
    });
}

#[test]
fn contradictions_are_listed_and_nothing_is_lost() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("untroubled"), "u\n");
        ground.edit(&f("a.txt"), "5\n", "five\n").unwrap();
        ground.edit(&w("a.txt"), "5\n", "FIVE\nand more\n").unwrap();
        ground.delete(&f("b.txt"));
        ground.write(&w("b.txt"), "changed\n");
        ground.write(&f("d/x"), "changed here\n");
        ground.delete(&w("d/x"));
        ground.write(&f("twice"), "here\n");
        ground.write(&w("twice"), "below\n");
        ground.write(&f("other/z"), "bin\0ary");
        ground.write(&w("other/z"), "ano\0ther");
        let before = (ground.tree(SOURCE), ground.tree(FORK));
        assert_eq!(
            ground.conflicts(),
            [
                "a.txt: changed on both sides, in the same place (line 5 here, lines 5 to 6 below)",
                "b.txt: deleted here, and changed below",
                "d/x: deleted below, and changed here",
                "other/z: changed on both sides, and it cannot be merged as text",
                "twice: added on both sides, differently",
            ],
            "{}",
            setting.name
        );
        let merge = ground.merge();
        assert!(merge.ready().is_err());
        let listed: Vec<String> = merge.alterations.iter().map(|a| a.path.to_string()).collect();
        assert_eq!(listed, [w("untroubled")], "what would be done is still shown");
        assert_eq!((ground.tree(SOURCE), ground.tree(FORK)), before);
    });
}

#[test]
fn a_directory_goes_with_what_was_in_it_and_with_nothing_else() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.delete(&f("d"));
        assert_eq!(
            ground.diff(),
            ["removed d", "removed d/deep", "removed d/deep/y", "removed d/empty", "removed d/x"],
            "{}",
            setting.name
        );
        ground.write(&w("d/deep/new"), "new\n");
        assert_eq!(ground.conflicts(), ["d/deep/new: added below, in a directory that was deleted here"]);
        ground.delete(&w("d/deep/new"));
        ground.write(&w("d/x"), "changed\n");
        assert_eq!(ground.conflicts(), ["d/x: deleted here, and changed below"]);
        ground.write(&w("d/x"), "x\n");
        ground.apply();
        let left: Vec<String> = ground.tree(SOURCE).into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, ["a.txt", "b.txt", "other/", "other/z"], "{}", setting.name);
    });
}

#[test]
fn a_renamed_directory_is_one_that_goes_and_one_that_comes() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.rename(&f("d"), &f("e"));
        assert_eq!(ground.text(&f("e/deep/y")).as_deref(), Some("y\n"));
        ground.apply();
        assert_eq!(ground.tree(SOURCE), ground.tree(FORK), "{}", setting.name);
        assert_eq!(ground.text(&w("d/x")), None);
        assert_eq!(ground.text(&w("e/deep/y")).as_deref(), Some("y\n"), "{}", setting.name);
    });
}

#[test]
fn a_directory_becomes_a_file_and_a_file_a_directory() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.delete(&f("d"));
        ground.write(&f("d"), "a file now\n");
        ground.delete(&f("b.txt"));
        ground.write(&f("b.txt/in/it"), "in it\n");
        assert!(ground.diff().contains(&"turned d".to_owned()), "{:?}", ground.diff());
        assert!(ground.diff().contains(&"turned b.txt".to_owned()), "{:?}", ground.diff());
        ground.apply();
        assert_eq!(ground.tree(SOURCE), ground.tree(FORK), "{}", setting.name);
        ground.delete(&f("d"));
        ground.write(&f("d/x"), "x again\n");
        ground.delete(&f("b.txt"));
        ground.write(&f("b.txt"), "b again\n");
        ground.apply();
        assert_eq!(ground.tree(SOURCE), ground.tree(FORK), "{}", setting.name);
        assert_eq!(ground.text(&w("b.txt")).as_deref(), Some("b again\n"), "{}", setting.name);
    });
}

#[test]
fn kinds_that_contradict_each_other_clash() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("d/x"), "changed here\n");
        ground.write(&f("thing"), "a file here\n");
        ground.delete(&w("d"));
        ground.write(&w("d"), "a file below\n");
        ground.write(&w("thing/in"), "a directory below\n");
        let said = ground.conflicts();
        let clash = "a file on one side, and a directory or a link on the other";
        assert!(said.contains(&format!("thing: {clash}")), "{}: {said:?}", setting.name);
        // The directory of it became a file: what is changed here was deleted there.
        assert!(said.contains(&"d/x: deleted below, and changed here".to_owned()), "{}: {said:?}", setting.name);
        assert_eq!(said.len(), 2, "{said:?}");
    });
}

#[test]
fn nothing_is_put_where_a_file_stands_in_the_way() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("d/new"), "new here\n");
        ground.delete(&w("d"));
        ground.write(&w("d"), "a file below\n");
        let clash = "d/new: a file on one side, and a directory or a link on the other";
        assert_eq!(ground.conflicts(), [clash], "{}", setting.name);
    });
}

#[test]
fn a_directory_that_was_made_again_forgets_what_it_held_and_keeps_what_came_below() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.delete(&f("d"));
        ground.make_dir(&f("d"));
        ground.write(&f("d/deep/y"), "another y\n");
        ground.write(&w("d/later"), "later\n");
        assert_eq!(ground.diff(), ["changed d/deep/y", "removed d/empty", "removed d/x"], "{}", setting.name);
        ground.apply();
        assert_eq!(ground.text(&w("d/later")).as_deref(), Some("later\n"), "{}", setting.name);
        assert_eq!(ground.text(&w("d/x")), None);
        assert_eq!(ground.text(&w("d/deep/y")).as_deref(), Some("another y\n"));
    });
}

#[test]
fn what_changes_between_the_merge_and_the_apply_refuses_the_whole() {
    type Late = (&'static str, fn(&Ground));
    let late: [Late; 4] = [
        ("written", |ground| ground.write(&w("a.txt"), "late\n")),
        ("added", |ground| ground.write(&w("new"), "late\n")),
        ("deleted one", |ground| ground.write(&w("b.txt"), "late\n")),
        ("in the directory", |ground| ground.write(&w("d/empty/late"), "late\n")),
    ];
    for (what, change) in late {
        on_every_ground(&[], some_files, |ground, setting| {
            // The one that is refused comes first, since a host's disk is changed step by step.
            match what {
                "written" => ground.write(&f("a.txt"), "here\n"),
                "added" => ground.write(&f("new"), "here\n"),
                "deleted one" => ground.delete(&f("b.txt")),
                _ => ground.delete(&f("d/empty")),
            }
            let merge = ground.merge();
            change(ground);
            let before = ground.tree(SOURCE);
            let refused = ground.alter(merge.ready().unwrap().to_vec());
            assert!(refused.is_err(), "{what}, {}", setting.name);
            assert_eq!(ground.tree(SOURCE), before, "{what}, {}", setting.name);
        });
    }
}

#[test]
fn on_a_store_of_rows_the_last_refusal_takes_the_first_change_back() {
    for frozen in [true, false] {
        on_virtual(&[], frozen, &some_files, &|ground, setting| {
            ground.delete(&f("d"));
            ground.write(&f("z"), "here\n");
            let merge = ground.merge();
            ground.write(&w("z"), "late\n");
            let before = ground.tree(SOURCE);
            let refused = store_kind(ground.alter(merge.ready().unwrap().to_vec()));
            assert_eq!(refused, ErrorKind::AlreadyExists, "{}", setting.name);
            assert_eq!(ground.tree(SOURCE), before, "{}", setting.name);
        });
    }
}

#[test]
fn every_change_says_what_it_expects() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("a.txt"), "here\n");
        ground.write(&f("new/n"), "n\n");
        ground.delete(&f("d"));
        let merge = ground.merge();
        for alteration in &merge.alterations {
            let holds = alteration.path == at(&w("d")) || alteration.path == at(&w("d/deep"));
            match alteration.expect {
                Expect::Any => assert!(holds && alteration.how == Alter::Delete, "{alteration:?}"),
                Expect::Absent => assert!(alteration.path.as_str().contains("new"), "{alteration:?}"),
                Expect::Is(_) | Expect::UnchangedSince(_) => assert!(!holds, "{}: {alteration:?}", setting.name),
            }
        }
        assert_eq!(merge.alterations.len(), 8, "{:?}", merge.alterations);
    });
}

#[test]
fn a_fork_goes_on_after_it_was_applied() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.edit(&f("a.txt"), "5\n", "five\n").unwrap();
        ground.edit(&w("a.txt"), "10", "ten").unwrap();
        ground.write(&f("mine"), "1\n");
        ground.delete(&f("b.txt"));
        ground.apply();
        // The same lines again: nobody below touched what came from here.
        ground.edit(&f("a.txt"), "five\n", "fünf\n").unwrap();
        ground.delete(&f("mine"));
        ground.write(&f("b.txt"), "back\n");
        ground.apply();
        assert_eq!(
            ground.text(&w("a.txt")).unwrap(),
            TEN.replace('5', "fünf").replace("10", "ten"),
            "{}",
            setting.name
        );
        assert_eq!(ground.text(&w("mine")), None, "{}", setting.name);
        assert_eq!(ground.text(&w("b.txt")).as_deref(), Some("back\n"), "{}", setting.name);
        // And what was changed below since is not overwritten.
        ground.write(&f("b.txt"), "mine\n");
        ground.write(&w("b.txt"), "theirs\n");
        assert_eq!(ground.conflicts().len(), 1, "{}", setting.name);
    });
}

#[test]
fn a_fork_that_changed_during_the_apply_keeps_its_care() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("b.txt"), "one\n");
        let merge = ground.merge();
        ground.alter(merge.ready().unwrap().to_vec()).unwrap();
        ground.write(&f("b.txt"), "two\n");
        assert!(!with_call(|call| merge.applied(call, &ground.fork)).unwrap(), "{}", setting.name);
        assert_eq!(ground.text(&f("b.txt")).as_deref(), Some("two\n"));
        assert_eq!(ground.conflicts().len(), 1, "the fork cannot know whose change it is");
    });
}

#[test]
fn the_deleting_of_what_was_written_over_remembers_what_was_there() {
    on_every_ground(&[], some_files, |ground, setting| {
        ground.write(&f("b.txt"), "here\n");
        ground.write(&w("b.txt"), "below\n");
        ground.delete(&f("b.txt"));
        assert_eq!(ground.conflicts(), ["b.txt: deleted here, and changed below"], "{}", setting.name);
    });
}

#[test]
fn encodings_and_line_endings_are_merged_byte_by_byte() {
    let crlf = TEN.replace('\n', "\r\n");
    on_every_ground(
        &[],
        |ground| ground.write(&w("c.txt"), &crlf),
        |ground, setting| {
            ground.write(&f("c.txt"), crlf.replace("1\r\n2", "eins\r\n2"));
            ground.write(&w("c.txt"), crlf.replace("10", "zehn"));
            ground.apply();
            let merged = crlf.replacen('1', "eins", 1).replace("10", "zehn");
            assert_eq!(ground.text(&w("c.txt")).unwrap(), merged, "{}", setting.name);
        },
    );
}

#[test]
fn large_files_go_down_whole() {
    let large = "0123456789abcdef\n".repeat(20_000);
    on_every_ground(
        &[],
        |ground| ground.write(&w("large"), &large),
        |ground, setting| {
            ground.edit(&f("large"), &"0123456789abcdef\n".repeat(20_000), &format!("first\n{large}")).unwrap();
            ground.write(&w("large"), format!("{large}last\n"));
            ground.apply();
            assert!(ground.text(&w("large")).unwrap() == format!("first\n{large}last\n"), "{}", setting.name);
        },
    );
}

#[test]
fn deleting_a_directory_can_be_undone_in_a_fork() {
    on_every_ground(&[], some_files, |ground, setting| {
        let before = ground.tree(FORK);
        ground.delete(&f("d"));
        let told = ground.last_told();
        super::ground::take_back(ground, told);
        assert_eq!(ground.tree(FORK), before, "{}", setting.name);
        assert_eq!(ground.diff(), [""; 0], "{}", setting.name);
    });
}

#[test]
fn a_mode_is_a_change_of_its_own_whatever_becomes_of_the_content() {
    let files = ["merged", "only below", "mode below", "both"];
    let before = |ground: &Ground| files.iter().for_each(|file| ground.write(&w(file), TEN));
    on_every_ground(&[], before, |ground, setting| {
        for file in files {
            ground.edit(&f(file), "1\n2", "one\n2").unwrap();
        }
        ground.chmod(&f("merged"), 0o755);
        ground.edit(&w("merged"), "10", "ten").unwrap();
        // Here the content is as it was again, and the mode is not.
        ground.write(&f("only below"), TEN);
        ground.chmod(&f("only below"), 0o755);
        ground.edit(&w("only below"), "10", "ten").unwrap();
        ground.chmod(&w("mode below"), 0o600);
        ground.chmod(&f("both"), 0o755);
        ground.chmod(&w("both"), 0o600);
        ground.apply();
        let modes = files.map(|file| ground.mode(&w(file)));
        assert_eq!(modes, [0o755, 0o755, 0o600, 0o600], "{}", setting.name);
        let both = TEN.replacen('1', "one", 1).replace("10", "ten");
        assert_eq!(ground.text(&w("merged")).unwrap(), both, "{}", setting.name);
        assert_eq!(ground.text(&w("only below")).unwrap(), TEN.replace("10", "ten"), "{}", setting.name);
    });
}

#[test]
fn a_large_file_that_is_saved_while_a_fork_copies_it_is_never_half_of_each() {
    const LEN: usize = 20 * 1024 * 1024;
    // It is saved before this read of it, or before each.
    for at in [Some(1), Some(2), None] {
        let dir = TempDir::new().unwrap();
        let mount = dir.path().join("mount");
        let disk = Arc::new(PhysicalStore::new(&mount).unwrap());
        std::fs::create_dir_all(&mount).unwrap();
        std::fs::write(mount.join("large"), "a".repeat(LEN)).unwrap();
        let reads = AtomicUsize::new(0);
        let others = move |method, path: &str| {
            if method == Method::Read && path == "large" {
                let read = reads.fetch_add(1, Ordering::SeqCst);
                if at.is_none_or(|at| at == read) {
                    std::fs::write(mount.join("new"), "b".repeat(LEN)).unwrap();
                    std::fs::rename(mount.join("new"), mount.join("large")).unwrap();
                }
            }
        };
        let store = Arc::new(Shared::new(disk, others));
        let ground = Ground::new(store, Standing::Live, upper(&Arc::new(MemoryBase::new())), &[]);
        let how = Alter::Dress(Looks { mode: Some(0o600), modified: None });
        let alteration = Alteration { path: path_of(&f("large")), how, expect: Expect::Any };
        let changed = ground.run(Operation::Alter { path: path_of(&f("large")), alterations: vec![alteration] });
        match at {
            Some(_) => {
                changed.unwrap();
                assert!(ground.read(&f("large")).unwrap() == vec![b'b'; LEN], "{at:?}");
            }
            None => assert_eq!(store_kind(changed.map(|_| ())), ErrorKind::Stale),
        }
    }
}
