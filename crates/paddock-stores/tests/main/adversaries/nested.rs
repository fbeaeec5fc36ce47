//! What a nested, hidden or guarded place keeps stays kept, by whatever way one comes.

use std::fs;
use std::os::unix::fs::symlink;

use paddock_core::AccessScope::{ReadOnly, ReadWrite, WriteOnly};
use paddock_core::{ErrorKind, Refused};
use paddock_stores::HardLinks;

use super::pen::{Pane, Pen, SECRET, assert_denied, kind};

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
