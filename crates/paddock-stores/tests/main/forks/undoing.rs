//! Applies that were undone below: what they carried counts as not applied, and nothing else changes.

use paddock_core::CallId;
use paddock_stores::fork::{self, Merge};
use paddock_stores::virtual_store::VirtualStore;

use super::ground::{Ground, SOURCE, at};
use super::*;

fn files(ground: &Ground) {
    ground.write(&w("a.txt"), "1\n2\n3\n4\n5\n");
    ground.write(&w("b.txt"), "b\n");
    ground.write(&w("d/x"), "x\n");
    ground.write(&w("d/y"), "y\n");
}

/// The calls that applied the fork, newest first.
fn applies(ground: &Ground) -> Vec<CallId> {
    with_call(|call| ground.fork.applies(call)).unwrap()
}

fn without(ground: &Ground, undone: &[CallId]) -> VirtualStore {
    ground.fork.clone().without(undone.iter().copied())
}

fn paths(ground: &Ground, undone: &[CallId]) -> Vec<String> {
    let found = with_call(|call| fork::differences(call, &without(ground, undone), &ground.view)).unwrap();
    let sign = |conflict: bool| if conflict { "!" } else { "" };
    found.iter().map(|one| format!("{}{}", one.path.as_str(), sign(one.conflict))).collect()
}

fn merge(ground: &Ground, undone: &[CallId]) -> Merge {
    with_call(|call| fork::merge(call, &without(ground, undone), &ground.view, &at(SOURCE))).unwrap()
}

#[test]
fn one_of_two_applies_is_undone() {
    on_every_ground(&[], files, |ground, setting| {
        ground.write(&f("a.txt"), "one\n2\n3\n4\n5\n");
        ground.delete(&f("d"));
        ground.apply();
        ground.write(&f("b.txt"), "B\n");
        ground.apply();
        let [second, first] = applies(ground)[..] else { panic!("{}: two applies", setting.name) };
        // What the first one had changed is as it was.
        files(ground);
        ground.write(&w("b.txt"), "B\n");
        assert_eq!(paths(ground, &[]), [""; 0], "{}: nobody said so", setting.name);
        assert_eq!(paths(ground, &[first]), ["a.txt", "d", "d/x", "d/y"], "{}", setting.name);
        ground.write(&w("b.txt"), "b\n");
        assert_eq!(paths(ground, &[second]), ["b.txt"], "{}", setting.name);
        assert_eq!(paths(ground, &[first, second]).len(), 5, "{}", setting.name);
    });
}

/// The ancestor before the apply is what is merged with: what was changed below stays.
#[test]
fn what_was_merged_and_undone_is_merged_again() {
    on_every_ground(&[], files, |ground, setting| {
        ground.write(&f("a.txt"), "one\n2\n3\n4\n5\n");
        ground.write(&w("a.txt"), "1\n2\n3\n4\nfive\n");
        ground.apply();
        let undone = applies(ground);
        ground.write(&w("a.txt"), "1\n2\n3\n4\nfive\n");
        let again = merge(ground, &undone);
        assert_eq!(again.conflicts, [], "{}", setting.name);
        ground.alter(again.alterations.clone()).unwrap();
        assert_eq!(ground.text(&w("a.txt")).as_deref(), Some("one\n2\n3\n4\nfive\n"), "{}", setting.name);
        assert!(with_call(|call| again.applied(call, &without(ground, &undone))).unwrap());
        assert_eq!(paths(ground, &[]), [""; 0], "{}", setting.name);
        // The undone one is a part of the new one now.
        let now = applies(ground);
        assert!(now.len() == 1 && now != undone, "{}: {now:?}", setting.name);
        ground.write(&w("a.txt"), "1\n2\n3\n4\nfive\n");
        assert_eq!(paths(ground, &now), ["a.txt"], "{}", setting.name);
    });
}

#[test]
fn every_apply_can_be_undone_however_many_came_after_it() {
    on_every_ground(&[], files, |ground, setting| {
        ground.write(&f("a.txt"), "a\n");
        ground.apply();
        for n in 0..80 {
            ground.write(&f("b.txt"), format!("{n}\n"));
            ground.apply();
        }
        let known = applies(ground);
        assert_eq!(known.len(), 81, "{}", setting.name);
        ground.write(&w("b.txt"), "78\n");
        assert_eq!(paths(ground, &known[..1]), ["b.txt"], "{}", setting.name);
        ground.write(&w("b.txt"), "79\n");
        ground.write(&w("a.txt"), "1\n2\n3\n4\n5\n");
        assert_eq!(paths(ground, &known[80..]), ["a.txt"], "{}", setting.name);
        assert_eq!(merge(ground, &known[80..]).conflicts, [], "{}", setting.name);
    });
}

/// One path was put below by itself, to settle a conflict, and taken back after an apply.
#[test]
fn a_path_that_was_put_below_alone_and_undone_is_in_conflict_again() {
    on_every_ground(&[], files, |ground, setting| {
        ground.write(&f("a.txt"), "here\n");
        ground.write(&f("b.txt"), "B\n");
        ground.apply();
        // The first apply is undone when the path is put below, and stays remembered.
        let first = applies(ground)[0];
        files(ground);
        ground.write(&w("a.txt"), "below\n");
        assert_eq!(paths(ground, &[first]), ["a.txt!", "b.txt"], "{}", setting.name);
        with_call(|call| without(ground, &[first]).will_be_below(call, &[ground::rel("a.txt")])).unwrap();
        let settled = applies(ground)[0];
        assert_eq!(paths(ground, &[first]), ["a.txt!", "b.txt"], "{}: nothing is below yet", setting.name);
        ground.write(&w("a.txt"), "here\n");
        let merge = merge(ground, &[first]);
        ground.alter(merge.ready().unwrap().to_vec()).unwrap();
        assert!(with_call(|call| merge.applied(call, &without(ground, &[first]))).unwrap());
        assert_eq!(paths(ground, &[first]), [""; 0], "{}", setting.name);
        ground.write(&w("a.txt"), "below\n");
        assert_eq!(paths(ground, &[first, settled]), ["a.txt!"], "{}", setting.name);
        assert_eq!(paths(ground, &[first]), [""; 0], "{}: it was not undone", setting.name);
    });
}

#[test]
fn an_apply_of_a_directory_that_was_made_anew_is_undone() {
    let before = |ground: &Ground| {
        files(ground);
        ground.write(&w("d/out"), "old\n");
        ground.write(&w("d/gone"), "old\n");
    };
    on_every_ground(&[], before, |ground, setting| {
        ground.delete(&f("d"));
        ground.write(&f("d/out"), "here\n");
        ground.apply();
        let apply = applies(ground)[0];
        ground.write(&w("d/out"), "old\n");
        ground.write(&w("d/gone"), "old\n");
        assert_eq!(paths(ground, &[apply]), ["d/gone", "d/out"], "{}", setting.name);
    });
}
