//! Undo, and the undo of undo, over chains of changes.

use std::fs;
use std::os::unix::fs::symlink;

use paddock_core::{Alteration, Operation};

use super::{Pasture, Told, append, delete, edit, logical, rename, set_mode, way_back, write};

/// Takes back what an operation did, as one change of its own.
fn take_back(pasture: &Pasture, told: &[Told]) -> Vec<Told> {
    let alterations: Vec<Alteration> = told.iter().rev().flat_map(way_back).collect();
    pasture.run(Operation::Alter { path: logical("/w"), alterations }).unwrap()
}

/// Makes each change, takes them back from the last to the first, and then takes the taking back back. Every state on
/// the way is what it was.
fn there_and_back(pasture: &Pasture, operations: Vec<Operation>) {
    let mut states = vec![pasture.state()];
    let mut done = Vec::new();
    for operation in operations {
        done.push(pasture.run(operation).unwrap());
        states.push(pasture.state());
        pasture.assert_version(&done[done.len() - 1]);
        pasture.assert_counted();
    }
    let mut undone = Vec::new();
    for (n, told) in done.iter().enumerate().rev() {
        undone.push(take_back(pasture, told));
        assert_eq!(pasture.state(), states[n], "after the undo of {told:?}");
        pasture.assert_version(&undone[undone.len() - 1]);
        pasture.assert_counted();
    }
    for (n, told) in undone.iter().rev().enumerate() {
        take_back(pasture, told);
        assert_eq!(pasture.state(), states[n + 1], "after the undo of the undo {told:?}");
        pasture.assert_counted();
    }
}

#[test]
fn write_edit_append_delete_and_write_again() {
    let pasture = Pasture::new();
    there_and_back(
        &pasture,
        vec![
            write("/w/f", "one\n"),
            write("/w/f", "two\n"),
            edit("/w/f", "two", "three"),
            append("/w/f", "four\n"),
            append("/w/f", "five\n"),
            edit("/w/f", "four", "FOUR"),
            delete("/w/f"),
            write("/w/f", "anew\n"),
        ],
    );
}

#[test]
fn directories_moves_links_and_modes() {
    let pasture = Pasture::new();
    fs::write(pasture.host("run.sh"), "echo\n").unwrap();
    set_mode(&pasture.host("run.sh"), 0o755);
    symlink("run.sh", pasture.host("link")).unwrap();
    fs::hard_link(pasture.host("run.sh"), pasture.dir.path().join("elsewhere")).unwrap();
    paddock_stores::quota::reconcile(&pasture.store, &paddock_core::Cancel::default()).unwrap();
    there_and_back(
        &pasture,
        vec![
            write("/w/a/b/c/new.txt", "new\n"),
            Operation::MakeDir { path: logical("/w/a/empty/inner") },
            append("/w/run.sh", "true\n"),
            edit("/w/run.sh", "echo", "printf"),
            rename("/w/a/b/c/new.txt", "/w/z/y/moved.txt"),
            delete("/w/link"),
            write("/w/z/y/moved.txt", "other\n"),
            delete("/w/a"),
            write("/w/a", "a file where a directory was\n"),
            delete("/w/z"),
        ],
    );
    assert_eq!(fs::read_to_string(pasture.dir.path().join("elsewhere")).unwrap(), "echo\n");
}
