//! A large file that a fork changes for the first time: what did not change of it is not stored again.

use std::sync::Arc;

use paddock_core::{AccessScope, ErrorKind, Expect, Mount, NoJournal, Operation, Vfs, View, Workspace};
use paddock_stores::conformance::world::{self, Open, with_call};
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{MemoryBase, VirtualStore};

use super::ground::{FORK, Ground, SOURCE, Standing, at, rel};
use super::{f, on_every_ground, on_virtual, w};

const CHUNK: usize = 64 * 1024;
/// Sixteen chunks and a half.
const LINES: usize = 16 * CHUNK / 16 + CHUNK / 32;

/// Lines of 16 bytes, no two alike.
fn large() -> String {
    (0..LINES).map(|line| format!("{line:>15}\n")).collect()
}

/// The chunks of a file, as a View tells them.
fn chunks(view: &View, path: &str) -> Vec<u64> {
    with_call(|call| view.pieces(call, rel(path).as_rel())).unwrap().map(|pieces| pieces.ids).unwrap_or_default()
}

fn fork_view(ground: &Ground) -> View {
    let fork = Workspace::new(at(FORK), AccessScope::ReadWrite, Mount::new(Arc::new(ground.fork.clone()), None));
    View::of(&fork, std::slice::from_ref(&fork)).unwrap()
}

/// How many chunks of the fork's file are not those of the Workspace's at the same place.
fn of_its_own(ground: &Ground, path: &str, was: &str) -> usize {
    let (own, below) = (chunks(&fork_view(ground), path), chunks(&ground.view, was));
    assert!(!own.is_empty() && !below.is_empty());
    own.iter().enumerate().filter(|(place, id)| below.get(*place) != Some(id)).count()
}

fn plant(ground: &Ground) {
    for name in ["edited", "added", "moved"] {
        ground.write(&w(name), large());
    }
}

#[test]
fn the_first_change_of_a_large_file_in_a_fork_stores_what_changed_alone() {
    for frozen in [true, false] {
        on_virtual(&[], frozen, &plant, &|ground, setting| {
            ground.edit(&f("edited"), &format!("{:>15}", 5000), &format!("{:>15}", "another")).unwrap();
            assert_eq!(of_its_own(ground, "edited", "edited"), 1, "{}", setting.name);
            let content = b"and more\n".to_vec();
            ground.run(Operation::Append { path: at(&f("added")), content }).unwrap();
            assert_eq!(of_its_own(ground, "added", "added"), 1, "{}", setting.name);
            ground.rename(&f("moved"), &f("elsewhere"));
            assert_eq!(of_its_own(ground, "elsewhere", "moved"), 0, "{}", setting.name);
        });
    }
}

#[test]
fn what_a_fork_shares_with_its_workspace_is_right_on_every_ground_and_outlives_it() {
    on_every_ground(&[], plant, |ground, setting| {
        let edited = large().replace(&format!("{:>15}", 5000), "another");
        ground.edit(&f("edited"), &format!("{:>15}", 5000), "another").unwrap();
        ground.run(Operation::Append { path: at(&f("added")), content: b"and more\n".to_vec() }).unwrap();
        ground.rename(&f("moved"), &f("elsewhere"));
        for name in ["edited", "added", "moved"] {
            ground.write(&w(name), "nothing of it");
        }
        with_call(|call| ground.fork.base().collect_chunks(call, 0)).unwrap();
        assert_eq!(ground.text(&f("edited")), Some(edited), "{}", setting.name);
        assert_eq!(ground.text(&f("added")), Some(large() + "and more\n"), "{}", setting.name);
        assert_eq!(ground.text(&f("elsewhere")), Some(large()), "{}", setting.name);
    });
}

#[test]
fn chunks_of_what_is_out_of_sight_are_nobodys_to_name() {
    let base: Arc<dyn BaseStore> = Arc::new(MemoryBase::new());
    let store = Arc::new(VirtualStore::new(Arc::clone(&base), Namespace::new(["source"])));
    let workspace =
        Workspace::new(at(SOURCE), AccessScope::ReadWrite, Mount::new(Arc::<VirtualStore>::clone(&store), None));
    let vfs = Vfs::new(vec![workspace.clone()], Arc::new(Open), Arc::new(NoJournal)).unwrap();
    let write = Operation::Write { path: at(&w(".env")), content: large().into_bytes(), expect: Expect::Any };
    with_call(|call| world::run(&vfs, call, write)).unwrap();
    let who_sees_it = View::of(&workspace, std::slice::from_ref(&workspace)).unwrap();
    assert!(!chunks(&who_sees_it, ".env").is_empty());
    let ground = Ground::new(store, Standing::Live, (base, Namespace::new(["fork"])), &[]);
    let told = with_call(|call| ground.view.pieces(call, rel(".env").as_rel()));
    assert_eq!(*told.unwrap_err().kind(), ErrorKind::NotFound);
}
