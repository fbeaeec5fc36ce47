//! A person saves a file below while a fork changes it for the first time: at whatever moment, no line of theirs is lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use paddock_core::{
    AccessScope, Alter, Alteration, Expect, Looks, Mount, NoJournal, Operation, Replacement, Vfs, Workspace,
};
use paddock_stores::conformance::world::{self, Open};
use paddock_stores::doubles::Shared;

use super::ground::{Ground, at, rel};
use super::*;

const PERSON: &str = "the person's line\n";
/// More moments than any act has: each is a question to the layer below.
const MOMENTS: usize = 100;

/// Small enough to be kept whole, or in several chunks.
fn lines(count: usize) -> String {
    (0..count).map(|line| format!("{line:>15}\n")).collect()
}

/// The moment at which the person saves, counted in questions to the layer below from now on; 0 is never.
#[derive(Default)]
struct Moment {
    left: AtomicUsize,
    saved: AtomicBool,
}

impl Moment {
    fn has_come(&self) -> bool {
        let step = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) == Ok(1)
    }
}

/// A Workspace that holds `d/a.txt`, unless it is to be empty, which is saved at a moment; and a fork of it.
fn ground_saved_at(moment: &Arc<Moment>, store: Arc<dyn Store>, content: &str) -> Ground {
    let workspace = Workspace::new(at(SOURCE), AccessScope::ReadWrite, Mount::new(Arc::clone(&store), None));
    let person = Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap();
    let save = move |content: String| {
        let write = Operation::Write { path: at(&w("d/a.txt")), content: content.into_bytes(), expect: Expect::Any };
        with_call(|call| world::run(&person, call, write)).unwrap();
    };
    if !content.is_empty() {
        save(content.to_owned());
    }
    let (content, watched) = (content.to_owned(), Arc::clone(moment));
    let others = move |_, _: &str| {
        if watched.has_come() {
            save(format!("{PERSON}{content}"));
            watched.saved.store(true, Ordering::SeqCst);
        }
    };
    Ground::new(Arc::new(Shared::new(store, others)), Standing::Live, upper(&Arc::new(MemoryBase::new())), &[])
}

fn alter(path: &str, how: Alter, expect: Expect) -> Operation {
    Operation::Alter { path: at(path), alterations: vec![Alteration { path: at(path), how, expect }] }
}

fn edit(expect: Expect) -> Operation {
    let edits = vec![Replacement { old: format!("{:>15}", 7), new: "the fork's".to_owned(), all: false }];
    Operation::Edit { path: at(&f("d/a.txt")), edits, expect }
}

/// Does an act in a fork while the person saves, at each moment in turn. `judge` sees what became of it.
fn at_every_moment(
    content: &str,
    store: impl Fn() -> (Option<TempDir>, Arc<dyn Store>),
    act: impl Fn(&Ground) -> Operation,
    judge: impl Fn(&Ground, bool),
) {
    for n in 1..MOMENTS {
        let moment = Arc::new(Moment::default());
        let (_dir, store) = store();
        let ground = ground_saved_at(&moment, store, content);
        let operation = act(&ground);
        moment.left.store(n, Ordering::SeqCst);
        let done = ground.run(operation);
        moment.left.store(0, Ordering::SeqCst);
        if !moment.saved.load(Ordering::SeqCst) {
            assert!(n > 2, "the layer below was hardly asked");
            done.unwrap();
            return;
        }
        if let Err(refused) = &done {
            let refused = format!("{refused:?}");
            assert!(["Stale", "AlreadyExists"].iter().any(|why| refused.contains(why)), "moment {n}: {refused}");
        }
        judge(&ground, done.is_ok());
    }
    panic!("an act asks the layer below without end");
}

fn in_memory() -> (Option<TempDir>, Arc<dyn Store>) {
    (None, Arc::new(MemoryStore::new()))
}

fn on_a_disk() -> (Option<TempDir>, Arc<dyn Store>) {
    let dir = TempDir::new().unwrap();
    let store = PhysicalStore::new(&dir.path().join("mount")).unwrap();
    (Some(dir), Arc::new(store))
}

/// Unless a conflict stands in the way, what is applied leaves the person's line there.
fn the_line_stays(ground: &Ground) {
    if let Ok(alterations) = ground.merge().ready() {
        ground.alter(alterations.to_vec()).unwrap();
    }
    let has_line = |(_, bytes): &(String, Vec<u8>)| String::from_utf8_lossy(bytes).contains(PERSON);
    assert!(ground.tree(SOURCE).iter().any(has_line), "{:?}", ground.merge());
}

fn is_safe(act: impl Fn(&Ground) -> Operation) {
    for content in [lines(20), lines(10_000)] {
        at_every_moment(&content, in_memory, &act, |ground, _| the_line_stays(ground));
        at_every_moment(&content, on_a_disk, &act, |ground, _| the_line_stays(ground));
    }
}

#[test]
fn an_edit_in_a_fork_loses_nothing_that_is_saved_meanwhile() {
    is_safe(|_| edit(Expect::Any));
}

#[test]
fn an_append_in_a_fork_loses_nothing_that_is_saved_meanwhile() {
    is_safe(|_| Operation::Append { path: at(&f("d/a.txt")), content: b"the fork's\n".to_vec() });
}

#[test]
fn a_move_in_a_fork_loses_nothing_that_is_saved_meanwhile() {
    is_safe(|_| Operation::Move { from: at(&f("d/a.txt")), to: at(&f("b.txt")) });
    is_safe(|_| Operation::Move { from: at(&f("d")), to: at(&f("e")) });
}

#[test]
fn a_shortened_or_dressed_file_of_a_fork_loses_nothing_that_is_saved_meanwhile() {
    is_safe(|_| alter(&f("d/a.txt"), Alter::Truncate(100), Expect::Any));
    is_safe(|_| alter(&f("d/a.txt"), Alter::Dress(Looks { mode: Some(0o600), modified: None }), Expect::Any));
}

/// What a person saves is none of what the agent had seen: either the change is refused, or the note is of what it saw.
#[test]
fn what_a_change_in_a_fork_expects_is_what_it_covers() {
    type Act = fn(Expect) -> Operation;
    let acts: [Act; 4] = [
        edit,
        |expect| Operation::Write { path: at(&f("d/a.txt")), content: b"the fork's\n".to_vec(), expect },
        |expect| alter(&f("d/a.txt"), Alter::Delete, expect),
        |expect| alter(&f("d/a.txt"), Alter::Link { leads_to: "elsewhere".to_owned() }, expect),
    ];
    for act in acts {
        let seen = |ground: &Ground| {
            let meta = with_call(|call| ground.view.stat(call, rel("d/a.txt").as_rel())).unwrap();
            act(Expect::Is(meta.version))
        };
        at_every_moment(&lines(20), in_memory, seen, |ground, is_done| {
            let noted = with_call(|call| ground.fork.covered(call, rel("d/a.txt").as_rel())).unwrap();
            let noted = noted.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(noted, is_done.then(|| lines(20)));
            the_line_stays(ground);
        });
    }
}

/// Nothing was there when it was looked at.
#[test]
fn a_new_file_of_a_fork_is_told_from_one_that_is_saved_meanwhile() {
    let write = |_: &Ground| Operation::Write {
        path: at(&f("d/a.txt")),
        content: b"the fork's\n".to_vec(),
        expect: Expect::Absent,
    };
    at_every_moment("", in_memory, write, |ground, _| the_line_stays(ground));
    let moved = |ground: &Ground| {
        ground.write(&f("b.txt"), "the fork's\n");
        Operation::Move { from: at(&f("b.txt")), to: at(&f("d/a.txt")) }
    };
    at_every_moment("", in_memory, moved, |ground, _| the_line_stays(ground));
}
