//! What can happen: changes of the Workspace and of forks, forks that come, are applied and go, pins, collecting.

use proptest::prelude::*;

use super::model::Text;

/// Where something happens: the Workspace, or one of two forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Source,
    Fork(usize),
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Change {
        place: Where,
        change: Change,
        /// Is it taken back at once?
        undo: bool,
    },
    Fork(usize),
    Apply(usize),
    Discard(usize),
    Pin(usize),
    Unpin(usize),
    Collect,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write(&'static str, Text),
    Edit(&'static str, usize, u8),
    Append(&'static str, u8),
    Delete(&'static str),
    Move(&'static str, &'static str),
    MakeDir(&'static str),
    Link(&'static str, &'static str),
}

/// Few names, so that they meet: as files on one side and as directories on the other.
const PATHS: &[&str] = &["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/b", "e", "e/a"];

/// Where links are: at names of their own, since what is written at the name of a link goes where it leads.
const LINKS: &[&str] = &["l", "d/l", "d/m", "d/e/l", "e/l"];

/// What they say: within their directory, out of it, along another link, to nothing, and out of the Workspace.
const TEXTS: &[&str] = &["a", "../a", "./e/a", "../d/l", "nowhere", "/elsewhere", "../../.."];

fn link() -> impl Strategy<Value = &'static str> {
    prop::sample::select(LINKS)
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PATHS)
}

fn text() -> impl Strategy<Value = Text> {
    (prop::array::uniform3(0u8..3), prop::bool::weighted(0.1), prop::collection::vec(0u8..3, 0..2))
        .prop_map(|([a, b, c], large, tail)| Text { slots: [a, b, c, u8::from(large)], tail })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (path(), text()).prop_map(|(path, text)| Change::Write(path, text)),
        4 => (path(), 0usize..3, 0u8..4).prop_map(|(path, slot, value)| Change::Edit(path, slot, value)),
        2 => (path(), 0u8..3).prop_map(|(path, value)| Change::Append(path, value)),
        3 => path().prop_map(Change::Delete),
        2 => (path(), path()).prop_map(|(from, to)| Change::Move(from, to)),
        1 => path().prop_map(Change::MakeDir),
        2 => (link(), prop::sample::select(TEXTS)).prop_map(|(path, text)| Change::Link(path, text)),
        1 => link().prop_map(Change::Delete),
        1 => (link(), link()).prop_map(|(from, to)| Change::Move(from, to)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let place = prop_oneof![
        2 => Just(Where::Source),
        3 => Just(Where::Fork(0)),
        1 => Just(Where::Fork(1)),
    ];
    let change = (place, change(), prop::bool::weighted(0.2)).prop_map(|(place, change, undo)| Step::Change {
        place,
        change,
        undo,
    });
    prop_oneof![
        20 => change,
        2 => (0usize..2).prop_map(Step::Fork),
        4 => (0usize..2).prop_map(Step::Apply),
        1 => (0usize..2).prop_map(Step::Discard),
        1 => (0usize..2).prop_map(Step::Pin),
        1 => (0usize..2).prop_map(Step::Unpin),
        1 => Just(Step::Collect),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let begin = [text(), text(), text()].prop_map(|texts| {
        let write =
            |(path, text)| Step::Change { place: Where::Source, change: Change::Write(path, text), undo: false };
        let mut steps: Vec<Step> = ["a", "d/a", "d/e/a"].into_iter().zip(texts).map(write).collect();
        steps.extend([Step::Fork(0), Step::Fork(1)]);
        steps
    });
    (begin, prop::collection::vec(step(), 1..40)).prop_map(|(mut begin, steps)| {
        begin.extend(steps);
        begin
    })
}
