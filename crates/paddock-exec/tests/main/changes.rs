//! What a staged command changed is told, whole and in order, and nothing else.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use paddock_exec::staged::{self, Changes, Now};
use paddock_exec::{How, Stage};

use crate::as_each_user;
use crate::main::harness::*;

fn changes(yard: &Yard) -> Changes {
    let How::Staged(stage) = yard.staged().how else { unreachable!() };
    staged::changes(&stage, &yard.path("w"), 10_000).unwrap()
}

/// One line per change: a sign, the path, and what is worth saying.
fn told(changes: &Changes) -> Vec<String> {
    let mark = |new: bool| if new { '+' } else { '~' };
    let line = |found: &staged::Found| {
        let path = found.path.display();
        match &found.what {
            Now::File { len, new, same_content, .. } => {
                format!("{}f {path} {len}{}", mark(*new), if *same_content { " mode" } else { "" })
            }
            Now::Dir { new, .. } => format!("{}d {path}", mark(*new)),
            Now::Link { to, new } => format!("{}l {path} -> {}", mark(*new), to.display()),
            Now::Gone { dir } => format!("-{} {path}", if *dir { 'd' } else { 'f' }),
            Now::Special => format!("!s {path}"),
        }
    };
    changes.found.iter().map(line).collect()
}

fn after(yard: &Yard, text: &str) -> Vec<String> {
    sh(vec![yard.staged()], text).well();
    told(&changes(yard))
}

fn filled() -> Yard {
    let yard = Yard::new();
    for (path, content) in [("a", "one"), ("d/x", "x"), ("d/y", "y"), ("d/e/z", "z"), ("b", "two")] {
        yard.write(&format!("w/{path}"), content);
    }
    std::os::unix::fs::symlink("a", yard.path("w/l")).unwrap();
    yard
}

as_each_user! {
    fn nothing_done_is_nothing_told() {
        assert!(after(&filled(), "cat a d/* d/e/z > /dev/null; ls -laR; test -L l").is_empty());
    }

    fn what_is_made_changed_and_removed_is_told() {
        let yard = filled();
        let told = after(&yard, "echo 1 > n; echo 2 >> a; rm b; mkdir m; echo 3 > m/i; ln -s /etc/shadow s; chmod 700 d/x");
        assert_eq!(told, ["~f a 5", "-f b", "+d m", "+f n 2", "+l s -> /etc/shadow", "~f d/x 1 mode", "+f m/i 2"]);
        let changes = changes(&yard);
        let mut content = String::new();
        changes.open(&PathBuf::from("a")).unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "one2\n");
        assert!(changes.open(&PathBuf::from("s")).is_err(), "a link is not opened");
    }

    fn what_is_copied_up_and_the_same_is_no_change() {
        let told = after(&filled(), "touch a d/x; echo other > b; printf two > b; chmod 700 d/y; chmod 644 d/y; mv d/x t; mv t d/x");
        assert!(told.is_empty(), "{told:?}");
    }

    fn a_removed_directory_is_told_entry_by_entry_entries_first() {
        assert_eq!(after(&filled(), "rm -r d"), ["-f d/e/z", "-d d/e", "-f d/x", "-f d/y", "-d d"]);
    }

    fn a_directory_made_again_covers_only_what_it_lacks() {
        let told = after(&filled(), "rm -r d; mkdir d; printf x > d/x; echo new > d/n");
        assert_eq!(told, ["+f d/n 4", "-f d/e/z", "-d d/e", "-f d/y"]);
    }

    fn another_kind_takes_the_place_of_what_is_gone() {
        let told = after(&filled(), "rm -r d a; echo now > d; mkdir a; echo in > a/i; rm l; ln -s b l");
        assert_eq!(
            told,
            ["-f a", "+d a", "-f d/e/z", "-d d/e", "-f d/x", "-f d/y", "-d d", "~f d 4", "~l l -> b", "+f a/i 3"]
        );
    }

    fn a_directory_moved_is_all_its_entries_moved() {
        let told = after(&filled(), "mv d f");
        assert_eq!(
            told,
            ["-f d/e/z", "-d d/e", "-f d/x", "-f d/y", "-d d", "+d f", "+d f/e", "+f f/x 1", "+f f/y 1", "+f f/e/z 1"]
        );
    }

    fn special_files_are_told_as_such() {
        let python = "import socket; socket.socket(socket.AF_UNIX).bind('s')";
        assert_eq!(after(&filled(), &format!("mkfifo p; /usr/bin/python3 -c \"{python}\"")), ["!s p", "!s s"]);
    }

    fn files_closed_to_their_owner_are_read_and_stay_closed() {
        let yard = filled();
        let told_first = after(&yard, "mkdir c; echo in > c/i; chmod 0 c/i; chmod 0 c; echo x > q; chmod 0 q; chmod 0 d");
        assert_eq!(told_first, ["+d c", "~d d", "+f q 2", "+f c/i 3"]);
        let again = changes(&yard);
        let mut content = String::new();
        again.open(&PathBuf::from("c/i")).unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "in\n");
        drop(again);
        let mode = |path: &str| fs::symlink_metadata(yard.path(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("upper/c"), mode("upper/q"), mode("upper/d")), (0, 0, 0));
        assert_eq!(told(&changes(&yard)), told_first, "the same when read again");
    }

    fn names_that_are_no_text_and_marks_of_overlays_are_only_names() {
        let yard = filled();
        let told = after(&yard, "printf x > \"$(printf 'n\\377')\"; printf y > 'new\nline'; setfattr -n user.overlay.opaque -v y d 2> /dev/null; : ");
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().any(|line| line.contains("new\nline")), "{told:?}");
    }

    fn a_tree_too_deep_is_an_error_and_can_be_removed() {
        let yard = filled();
        let python = "import os\nfor i in range(1500):\n os.mkdir('deep'); os.chdir('deep')\nopen('f','w').write('x')";
        sh(vec![yard.staged()], &format!("/usr/bin/python3 -c \"{python}\"")).well();
        let How::Staged(stage) = yard.staged().how else { unreachable!() };
        let error = staged::changes(&stage, &yard.path("w"), 10_000).unwrap_err();
        assert!(error.to_string().contains("too deep"), "{error}");
        staged::remove_tree(&yard.path("upper")).unwrap();
        staged::remove_tree(&yard.path("work")).unwrap();
        assert!(!yard.has("upper") && !yard.has("work"));
        assert_eq!(yard.read("w/a"), "one");
    }

    fn removing_a_layer_follows_no_link_and_needs_no_mode() {
        let yard = filled();
        yard.write("outside/keep", "kept");
        sh(vec![yard.staged()], "mkdir -p c/d/e; touch c/d/e/f; ln -s / c/root; chmod 0 c/d/e; chmod 0 c/d; chmod 0 c").well();
        std::os::unix::fs::symlink(yard.path("outside"), yard.path("upper/out")).unwrap();
        staged::remove_tree(&yard.path("upper")).unwrap();
        assert!(!yard.has("upper"));
        assert_eq!(yard.read("outside/keep"), "kept");
        staged::remove_tree(&yard.path("upper")).unwrap();
    }

    fn more_changes_than_wanted_are_an_error() {
        let yard = filled();
        sh(vec![yard.staged()], "touch n1 n2 n3 n4").well();
        let How::Staged(stage) = yard.staged().how else { unreachable!() };
        assert!(staged::changes(&stage, &yard.path("w"), 3).is_err());
        assert_eq!(staged::changes(&stage, &yard.path("w"), 4).unwrap().found.len(), 4);
    }

    fn a_held_layer_is_seen_and_only_what_comes_on_top_is_told() {
        let yard = filled();
        assert_eq!(after(&yard, "rm -r d; echo held > h; echo 1 > a").len(), 7);
        for name in ["upper2", "work2"] {
            fs::create_dir(yard.path(name)).unwrap();
        }
        let stage = Stage { upper: yard.path("upper2"), work: yard.path("work2"), held: vec![yard.path("upper")] };
        let ran = sh(vec![yard.shown(How::Staged(stage.clone()))], "ls; cat h; mkdir d; printf x > d/x; echo 2 > h; printf 1 > a; rm b").well();
        assert_eq!(ran.out, "a\nb\nh\nl\nheld\n");
        let told = told(&staged::changes(&stage, &yard.path("w"), 100).unwrap());
        assert_eq!(told, ["~f a 1", "-f b", "+d d", "~f h 2", "+f d/x 1"]);
    }

    fn a_drop_box_holds_only_new_things() {
        let yard = Yard::new();
        yard.write("box/a/b", "text");
        fs::set_permissions(yard.path("box/a/b"), fs::Permissions::from_mode(0o600)).unwrap();
        let told = told(&staged::drop_box(&yard.path("box"), 10).unwrap());
        assert_eq!(told, ["+d a", "+f a/b 4"]);
    }
}
