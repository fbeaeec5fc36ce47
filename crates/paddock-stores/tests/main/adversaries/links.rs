//! Symbolic links: where they lead decides, and outside is never reached.

use std::fs;
use std::os::unix::fs::symlink;

use paddock_core::{AccessScope, ErrorKind};
use paddock_stores::HardLinks;

use super::pen::{Pane, Pen, SECRET, assert_denied, kind};

/// Every way of planting a link that leads outside, and the path an agent would use.
fn plant_escapes(pen: &Pen) -> Vec<&'static str> {
    let outside = pen.outside("");
    fs::create_dir(pen.inside("dir")).unwrap();
    symlink(outside.join("secret.txt"), pen.inside("to-file")).unwrap();
    symlink(&outside, pen.inside("to-dir")).unwrap();
    symlink("../outside", pen.inside("relative")).unwrap();
    symlink("chain-2", pen.inside("chain-1")).unwrap();
    symlink("dir/chain-3", pen.inside("chain-2")).unwrap();
    symlink("../../outside/secret.txt", pen.inside("dir/chain-3")).unwrap();
    symlink(outside.join("not-there.txt"), pen.inside("dangling")).unwrap();
    symlink("../../../outside", pen.inside("dir/up")).unwrap();
    vec![
        "/w/to-file",
        "/w/to-dir/secret.txt",
        "/w/relative/secret.txt",
        "/w/chain-1",
        "/w/dangling",
        "/w/to-dir/new/deep.txt",
        "/w/dir/up/secret.txt",
        "/w/to-dir/sub/../secret.txt",
    ]
}

#[test]
fn a_link_that_leads_outside_is_never_followed_by_any_operation() {
    let pen = Pen::new();
    let paths = plant_escapes(&pen);
    fs::write(pen.inside("dir/own.txt"), "own").unwrap();
    let before = pen.outside_state();
    for path in paths {
        if path.ends_with("sub/../secret.txt") {
            // By text this is /w/to-dir/secret.txt, whatever "sub" is.
            assert_eq!(kind(pen.read(path)), ErrorKind::LinkEscapes, "read {path}");
            continue;
        }
        assert_eq!(kind(pen.read(path)), ErrorKind::LinkEscapes, "read {path}");
        assert_eq!(kind(pen.write(path, "owned")), ErrorKind::LinkEscapes, "write {path}");
        assert_eq!(kind(pen.append(path, "owned")), ErrorKind::LinkEscapes, "append {path}");
        assert_eq!(kind(pen.edit(path, "SECRET", "owned")), ErrorKind::LinkEscapes, "edit {path}");
        assert_eq!(kind(pen.list(path)), ErrorKind::LinkEscapes, "list {path}");
        assert_eq!(kind(pen.search(path, ".")), ErrorKind::LinkEscapes, "search {path}");
        assert_eq!(kind(pen.make_dir(&format!("{path}/x"))), ErrorKind::LinkEscapes, "make_dir {path}");
        assert_eq!(kind(pen.rename("/w/dir/own.txt", &format!("{path}/x"))), ErrorKind::LinkEscapes, "move to {path}");
    }
    assert_eq!(kind(pen.delete("/w/to-dir/secret.txt")), ErrorKind::LinkEscapes);
    assert_eq!(kind(pen.rename("/w/to-dir/secret.txt", "/w/mine")), ErrorKind::LinkEscapes);
    assert_eq!(pen.outside_state(), before);
}

#[test]
fn walks_and_searches_show_links_and_do_not_enter_them() {
    let pen = Pen::new();
    plant_escapes(&pen);
    let listed = pen.list("/w").unwrap();
    assert!(listed.contains(&"/w/to-dir".to_owned()));
    assert!(!listed.iter().any(|path| path.contains("secret")), "{listed:?}");
    assert_eq!(pen.search("/w", SECRET).unwrap(), []);
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let pen = Pen::new();
    fs::create_dir_all(pen.inside("real/deep")).unwrap();
    fs::write(pen.inside("real/deep/a.txt"), "hello\n").unwrap();
    symlink("real/deep", pen.inside("short")).unwrap();
    symlink("../real/deep/a.txt", pen.inside("real/a")).unwrap();
    symlink(pen.inside("real"), pen.inside("absolute")).unwrap();
    symlink("not-yet.txt", pen.inside("real/dangling")).unwrap();
    for path in ["/w/short/a.txt", "/w/real/a", "/w/absolute/deep/a.txt"] {
        assert_eq!(pen.read(path).unwrap(), "hello\n", "{path}");
    }
    pen.edit("/w/real/a", "hello", "hullo").unwrap();
    assert_eq!(fs::read_to_string(pen.inside("real/deep/a.txt")).unwrap(), "hullo\n");
    assert!(fs::symlink_metadata(pen.inside("real/a")).unwrap().is_symlink(), "the link stays a link");
    pen.write("/w/real/dangling", "made").unwrap();
    assert_eq!(fs::read_to_string(pen.inside("real/not-yet.txt")).unwrap(), "made");
    assert_eq!(pen.list("/w/short").unwrap(), ["/w/real/deep/a.txt"]);
    assert_eq!(pen.search("/w/short", "hullo").unwrap().len(), 1);
}

#[test]
fn deleting_and_moving_a_link_is_about_the_link() {
    let pen = Pen::new();
    fs::write(pen.inside("kept.txt"), "kept").unwrap();
    symlink("kept.txt", pen.inside("link")).unwrap();
    symlink(pen.outside("secret.txt"), pen.inside("escape")).unwrap();
    pen.rename("/w/link", "/w/renamed").unwrap();
    assert!(fs::symlink_metadata(pen.inside("renamed")).unwrap().is_symlink());
    pen.delete("/w/renamed").unwrap();
    pen.delete("/w/escape").unwrap();
    assert_eq!(fs::read_to_string(pen.inside("kept.txt")).unwrap(), "kept");
    assert!(pen.outside("secret.txt").exists());
}

#[test]
fn a_link_to_a_hidden_or_guarded_name_is_judged_where_it_leads() {
    let pen = Pen::new();
    fs::write(pen.inside(".env"), SECRET).unwrap();
    fs::create_dir_all(pen.inside(".git/hooks")).unwrap();
    fs::write(pen.inside("plain.txt"), "plain").unwrap();
    symlink(".env", pen.inside("innocent")).unwrap();
    symlink(".git/hooks", pen.inside("h")).unwrap();
    symlink("plain.txt", pen.inside("fine")).unwrap();
    assert_denied(pen.read("/w/innocent"));
    assert_denied(pen.write("/w/innocent", "x"));
    assert_denied(pen.write("/w/h/pre-commit", "#!/bin/sh"));
    assert_denied(pen.make_dir("/w/h/x"));
    assert_denied(pen.rename("/w/plain.txt", "/w/h/pre-commit"));
    assert!(fs::read_dir(pen.inside(".git/hooks")).unwrap().next().is_none());
    assert_eq!(pen.read("/w/fine").unwrap(), "plain");
}

#[test]
fn links_that_lead_in_circles_end() {
    let pen = Pen::new();
    symlink("b", pen.inside("a")).unwrap();
    symlink("a", pen.inside("b")).unwrap();
    fs::create_dir(pen.inside("d")).unwrap();
    symlink("../d", pen.inside("d/self")).unwrap();
    fs::write(pen.inside("d/x.txt"), "needle").unwrap();
    assert_eq!(kind(pen.read("/w/a")), ErrorKind::LinkEscapes);
    assert_eq!(pen.list("/w/d").unwrap(), ["/w/d/self", "/w/d/x.txt"]);
    assert_eq!(pen.search("/w", "needle").unwrap().len(), 1);
    assert_eq!(pen.read("/w/d/self/self/self/x.txt").unwrap(), "needle");
}

/// The directory of a Mount is made by the first write. Where a link has taken the place of a
/// directory above it meanwhile, nothing is made behind that link.
#[test]
fn a_missing_mount_is_not_made_behind_a_link() {
    let pane = Pane { prefix: "/w", scope: AccessScope::ReadWrite, host: "above/mount", hide: &[] };
    let pen = Pen::with(&[pane], HardLinks::Read);
    fs::create_dir(pen.inside("above")).unwrap();
    pen.write("/w/a.txt", "made").unwrap();
    assert_eq!(fs::read_to_string(pen.inside("above/mount/a.txt")).unwrap(), "made");
    fs::remove_dir_all(pen.inside("above")).unwrap();
    symlink(pen.outside(""), pen.inside("above")).unwrap();
    let before = pen.outside_state();
    assert!(pen.write("/w/a.txt", "escaped").is_err());
    assert!(pen.make_dir("/w/d").is_err());
    assert_eq!(pen.outside_state(), before);
}
