//! What a nested, hidden or guarded place keeps stays kept, by whatever way one comes.

use std::fs;
use std::os::unix::fs::symlink;

use paddock_core::AccessScope::{ReadOnly, ReadWrite, WriteOnly};
use paddock_core::{ErrorKind, Operation, Refused};
use paddock_stores::HardLinks;

use super::pen::{Pane, Pen, SECRET, assert_denied, kind, logical};

fn nested() -> Pen {
    let pane = |prefix, scope, host| Pane { prefix, scope, host, hide: &[".env"] };
    let panes =
        [pane("/p", ReadWrite, "p"), pane("/p/drop", WriteOnly, "p/drop"), pane("/p/docs", ReadOnly, "elsewhere")];
    let pen = Pen::with(&panes, HardLinks::Read);
    for dir in ["p/drop", "p/docs", "p/src", "elsewhere"] {
        fs::create_dir_all(pen.inside(dir)).unwrap();
    }
    fs::write(pen.inside("p/drop/box.txt"), SECRET).unwrap();
    fs::write(pen.inside("p/docs/shadowed.txt"), SECRET).unwrap();
    fs::write(pen.inside("elsewhere/guide.txt"), "guide to SECRETS").unwrap();
    fs::write(pen.inside("p/src/.env"), SECRET).unwrap();
    fs::write(pen.inside("p/src/main.rs"), "no SECRET here").unwrap();
    pen
}

#[test]
fn a_listing_shows_nested_workspaces_and_nothing_that_they_shadow() {
    let pen = nested();
    assert_eq!(pen.list("/p").unwrap(), ["/p/docs", "/p/docs/guide.txt", "/p/drop", "/p/src", "/p/src/main.rs"]);
    assert_eq!(pen.list("/").unwrap()[0], "/p");
    assert_denied(pen.list("/p/drop"));
}

#[test]
fn a_recursive_search_crosses_under_the_nested_scope() {
    let pen = nested();
    let found: Vec<String> = pen.search("/", "SECRET").unwrap().into_iter().map(|hit| hit.0).collect();
    assert_eq!(found, ["/p/docs/guide.txt", "/p/src/main.rs"]);
}

#[test]
fn a_link_inside_leads_to_the_nested_workspace_and_its_scope() {
    let pen = nested();
    symlink("drop/box.txt", pen.inside("p/to-drop")).unwrap();
    symlink("docs", pen.inside("p/to-docs")).unwrap();
    symlink("src/.env", pen.inside("p/to-env")).unwrap();
    assert_denied(pen.read("/p/to-drop"));
    assert_denied(pen.read("/p/to-env"));
    assert_denied(pen.search("/p/to-env", "SECRET"));
    assert_eq!(pen.read("/p/to-docs/guide.txt").unwrap(), "guide to SECRETS");
    assert_eq!(kind(pen.read("/p/to-docs/shadowed.txt")), ErrorKind::NotFound);
    assert_denied(pen.write("/p/to-docs/guide.txt", "x"));
}

#[test]
fn a_recursive_delete_or_move_never_takes_a_kept_path_along() {
    let pen = nested();
    fs::create_dir_all(pen.inside("p/repo/.git/hooks")).unwrap();
    fs::create_dir_all(pen.inside("p/plain/deep")).unwrap();
    fs::write(pen.inside("p/plain/deep/x"), "x").unwrap();
    for dir in ["/p/src", "/p/repo"] {
        assert!(matches!(pen.delete(dir), Err(Refused::DeniedInside(_))), "{dir}");
        assert!(matches!(pen.rename(dir, "/p/taken"), Err(Refused::DeniedInside(_))), "{dir}");
    }
    for dir in ["/p/drop", "/p/docs", "/p"] {
        assert_denied(pen.delete(dir));
        assert_denied(pen.rename(dir, "/p/taken"));
    }
    for kept in ["p/src/main.rs", "p/src/.env", "p/repo/.git/hooks", "p/drop/box.txt", "p/docs/shadowed.txt"] {
        assert!(pen.inside(kept).exists(), "{kept}");
    }
    pen.rename("/p/plain", "/p/moved").unwrap();
    pen.delete("/p/moved").unwrap();
    assert!(!pen.inside("p/moved").exists());
}

#[test]
fn guarded_names_are_read_only_wherever_they_are_and_however_they_come() {
    let pen = nested();
    fs::create_dir_all(pen.inside("p/repo/.git")).unwrap();
    fs::write(pen.inside("p/repo/.git/config"), "[core]").unwrap();
    for path in [
        "/p/repo/.git/hooks/pre-commit",
        "/p/repo/.git/config",
        "/p/.envrc",
        "/p/a/.vscode/tasks.json",
        "/p/.mcp.json",
        "/p/x/.bashrc",
        "/p/sub/.git",
    ] {
        assert_denied(pen.write(path, "run me"));
        assert_denied(pen.append(path, "run me"));
        assert_denied(pen.rename("/p/src/main.rs", path));
    }
    assert_denied(pen.edit("/p/repo/.git/config", "core", "alias"));
    assert_denied(pen.make_dir("/p/repo/.git/hooks"));
    // By way of a directory whose content only becomes guarded where it arrives.
    pen.write("/p/innocent/hooks/pre-commit", "run me").unwrap();
    assert_denied(pen.rename("/p/innocent", "/p/repo2/.git"));
    assert_denied(pen.rename("/p/innocent/hooks", "/p/repo/.git/hooks"));
    assert_eq!(pen.read("/p/repo/.git/config").unwrap(), "[core]");
    for fine in ["/p/package.json", "/p/Makefile", "/p/conftest.py"] {
        pen.write(fine, "fine").unwrap();
    }
}

#[test]
fn deleting_the_directory_behind_a_workspace_breaks_nothing() {
    let pen = Pen::new();
    pen.write("/w/a.txt", "one").unwrap();
    fs::remove_dir_all(pen.inside("")).unwrap();
    assert_eq!(kind(pen.read("/w/a.txt")), ErrorKind::NotFound);
    assert_eq!(pen.list("/w").unwrap(), [""; 0]);
    pen.write("/w/b/c.txt", "two").unwrap();
    assert_eq!(pen.read("/w/b/c.txt").unwrap(), "two");
    assert_eq!(fs::read_to_string(pen.inside("b/c.txt")).unwrap(), "two");
}

#[test]
fn a_nested_workspace_is_not_reached_by_another_spelling() {
    let pen = nested();
    // A file system that folds case would take each of these for the nested Workspace.
    fs::create_dir_all(pen.inside("p/DROP")).unwrap();
    fs::write(pen.inside("p/DROP/box.txt"), SECRET).unwrap();
    for path in ["/p/DROP/box.txt", "/p/Drop/box.txt", "/p/dr\u{200d}op/box.txt"] {
        assert_denied(pen.read(path));
        assert_denied(pen.write(path, "x"));
    }
    assert_denied(pen.list("/p/DROP"));
    assert_denied(pen.delete("/p/DROP"));
    assert!(!pen.list("/p").unwrap().iter().any(|path| path.contains("DROP")));
    assert_eq!(pen.search("/p/src", "SECRET").unwrap().len(), 1);
}

/// The Mount of `/out` lies inside the Mount of `/p`, where `/p` has another name for it.
#[test]
fn nothing_else_is_put_in_the_place_of_another_workspaces_mount() {
    let pane = |prefix, host| Pane { prefix, scope: ReadWrite, host, hide: &[] };
    let pen = Pen::with(&[pane("/p", "p"), pane("/out", "p/build/out")], HardLinks::Read);
    fs::create_dir_all(pen.inside("p/build/out")).unwrap();
    symlink(pen.outside(""), pen.inside("p/evil")).unwrap();
    for taken in ["/p/build/out", "/p/build"] {
        assert_denied(pen.rename(taken, "/p/elsewhere"));
        assert_denied(pen.delete(taken));
    }
    // A file system that folds names would take these for it.
    for other in ["BUILD", "bu\u{200d}ild"] {
        fs::create_dir_all(pen.inside("p").join(other)).unwrap();
        assert_denied(pen.rename(&format!("/p/{other}"), "/p/elsewhere"));
        assert_denied(pen.delete(&format!("/p/{other}")));
    }
    fs::remove_dir(pen.inside("p/build/out")).unwrap();
    assert_denied(pen.rename("/p/evil", "/p/build/out"));
    pen.write("/out/a.txt", "a").unwrap();
    assert_eq!(fs::read_to_string(pen.inside("p/build/out/a.txt")).unwrap(), "a");
    pen.rename("/p/evil", "/p/renamed").unwrap();
}

#[test]
fn a_link_may_not_arrive_above_guarded_names() {
    let pen = Pen::new();
    fs::create_dir_all(pen.inside("store/pkg")).unwrap();
    symlink("store/pkg", pen.inside("link")).unwrap();
    for way in ["/w/.vscode", "/w/.config", "/w/a/.git", "/w/.git/modules", "/w/.local/share"] {
        assert_denied(pen.rename("/w/link", way));
    }
    pen.rename("/w/link", "/w/other").unwrap();
    assert_denied(pen.write("/w/.vscode/anything.json", "{}"));
}

#[test]
fn a_directory_that_git_would_take_for_a_repository_cannot_be_made() {
    let pen = Pen::new();
    pen.write("/w/docs/config", "[core]\nfsmonitor = evil").unwrap();
    pen.write("/w/docs/objects/x", "").unwrap();
    assert_denied(pen.write("/w/docs/HEAD", "ref: refs/heads/main"));
    pen.write("/w/docs/head.txt", "fine").unwrap();
    assert_denied(pen.rename("/w/docs/head.txt", "/w/docs/HEAD"));
}

/// Something guarded is put into a directory after its move was judged and before it happens.
#[test]
fn what_comes_into_a_directory_while_it_moves_is_judged_too() {
    let pen = Pen::new();
    pen.write("/w/x/plain", "x").unwrap();
    let go = |from, to| Operation::Move { from: logical(from), to: logical(to) };
    let moved = pen.run_after(go("/w/x", "/w/.config"), || {
        pen.write("/w/x/fish/config.fish", "run me").unwrap();
    });
    assert!(matches!(moved, Err(Refused::DeniedInside(_))), "{moved:?}");
    assert!(!pen.inside(".config").exists());
    assert_eq!(pen.read("/w/x/fish/config.fish").unwrap(), "run me", "it went back");
    let left: Vec<_> = fs::read_dir(pen.inside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["x"]);
    pen.run_after(go("/w/x", "/w/moved"), || drop(pen.write("/w/x/more", "m").unwrap())).unwrap();
    assert_eq!(pen.read("/w/moved/more").unwrap(), "m");
}

#[test]
fn temporary_names_are_not_for_agents() {
    let pen = Pen::new();
    assert_denied(pen.write("/w/.paddock-tmp-mine", "x"));
    assert_denied(pen.make_dir("/w/.Paddock-TMP-x"));
    // What a write that was cut off left behind does not keep a directory from going.
    fs::create_dir(pen.inside("d")).unwrap();
    fs::write(pen.inside("d/.paddock-tmp-1-2-3"), "left").unwrap();
    pen.delete("/w/d").unwrap();
    assert!(!pen.inside("d").exists());
}

/// The disk is full, or a directory is in the way: an agent that may only write learns of neither.
#[test]
fn a_link_into_a_write_only_workspace_tells_nothing_either() {
    let pane = |prefix, scope, host| Pane { prefix, scope, host, hide: &[] };
    let pen = Pen::with(&[pane("/rw", ReadWrite, "rw"), pane("/rw/nest", WriteOnly, "nest")], HardLinks::Read);
    fs::create_dir_all(pen.inside("rw")).unwrap();
    fs::create_dir_all(pen.inside("nest/dir")).unwrap();
    fs::write(pen.inside("nest/file"), "x").unwrap();
    symlink("nest", pen.inside("rw/out")).unwrap();
    for name in ["dir", "file", "absent", "file/below", "dir/below", "absent/below"] {
        let told = |result: Result<_, Refused>| format!("{result:?}");
        let path = format!("/rw/out/{name}");
        assert_eq!(told(pen.edit(&path, "zz", "y")), "Ok(Accepted)", "edit {name}");
        assert_eq!(told(pen.append(&path, "")), "Ok(Accepted)", "append {name}");
    }
}
