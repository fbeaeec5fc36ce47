//! Many processes that change the same file: none loses a change, and none is left waiting.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use paddock_core::{AccessScope, Expect, Mount, NoJournal, Operation, Outcome, Refused, Replacement, Vfs, Workspace};
use paddock_db::postgres_testing::Database;
use paddock_db::{Durability, Postgres, Sqlite};
use paddock_stores::conformance::world::{self, Open, path_of, with_call};
use paddock_stores::virtual_store::base::{BaseStore, Namespace};
use paddock_stores::virtual_store::{PostgresBase, SqliteBase, VirtualStore};

const WRITERS: usize = 64;
const EDITS: usize = 100;
/// Which writer a process is, and where it writes.
const WRITER: &str = "PADDOCK_TEST_WRITER";
const PLACE: &str = "PADDOCK_TEST_PLACE";

fn on_sqlite(place: &str) -> Arc<dyn BaseStore> {
    let open = |name, schema| Sqlite::new(Path::new(place).join(name), vec![schema], Durability::Process);
    Arc::new(SqliteBase::new(open("state.db", SqliteBase::STATE), open("content.db", SqliteBase::CONTENT)))
}

fn on_postgres(place: &str) -> Arc<dyn BaseStore> {
    Arc::new(PostgresBase::new(Postgres::new(place, vec![PostgresBase::SCHEMA]).unwrap()))
}

fn vfs(base: Arc<dyn BaseStore>) -> Vfs {
    let store = VirtualStore::new(base, Namespace::new(["shared", "counters"]));
    let workspace = Workspace::new(path_of("/w"), AccessScope::ReadWrite, Mount::new(Arc::new(store), None));
    Vfs::new(vec![workspace], Arc::new(Open), Arc::new(NoJournal)).unwrap()
}

fn run(vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
    with_call(|call| world::run(vfs, call, operation))
}

fn counters(value: impl Fn(usize) -> usize) -> String {
    (0..WRITERS).map(|writer| format!("w{writer}={};\n", value(writer))).collect()
}

/// One of the processes: it counts its own line up, in the file that all of them change.
fn count_up(vfs: &Vfs, writer: usize) {
    for n in 0..EDITS {
        let (old, new) = (format!("\nw{writer}={n};"), format!("\nw{writer}={};", n + 1));
        let edits = vec![Replacement { old, new, all: false }];
        run(vfs, Operation::Edit { path: path_of("/w/counters"), edits, expect: Expect::Any }).unwrap();
    }
}

/// Starts the test of this name again, once for each writer.
fn play(test: &str, place: &str, open: fn(&str) -> Arc<dyn BaseStore>) {
    if let (Ok(writer), Ok(place)) = (std::env::var(WRITER), std::env::var(PLACE)) {
        return count_up(&vfs(open(&place)), writer.parse().unwrap());
    }
    let vfs = vfs(open(place));
    let content = format!("counters\n{}", counters(|_| 0)).into_bytes();
    run(&vfs, Operation::Write { path: path_of("/w/counters"), content, expect: Expect::Absent }).unwrap();
    let start = |writer: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("many_writers::{test}")]).env(WRITER, writer.to_string()).env(PLACE, place);
        (writer, command.stdout(Stdio::null()).spawn().unwrap())
    };
    let children: BTreeMap<usize, _> = (0..WRITERS).map(start).collect();
    for (writer, mut child) in children {
        assert!(child.wait().unwrap().success(), "writer {writer} ended");
    }
    let Outcome::Read { bytes, .. } =
        run(&vfs, Operation::Read { path: path_of("/w/counters"), range: 0..u64::MAX }).unwrap()
    else {
        panic!("a read reads")
    };
    assert_eq!(String::from_utf8(bytes).unwrap(), format!("counters\n{}", counters(|_| EDITS)));
}

#[test]
fn of_64_processes_on_sqlite_none_loses_an_edit_and_all_end() {
    let dir = tempfile::tempdir().unwrap();
    play("of_64_processes_on_sqlite_none_loses_an_edit_and_all_end", dir.path().to_str().unwrap(), on_sqlite);
}

mod postgres {
    use super::{Database, WRITER, on_postgres, play};

    #[test]
    fn of_64_processes_none_loses_an_edit_and_all_end() {
        let test = "postgres::of_64_processes_none_loses_an_edit_and_all_end";
        if std::env::var(WRITER).is_ok() {
            return play(test, "", on_postgres);
        }
        let database = Database::fresh();
        play(test, &database.url_with("pool_size=1"), on_postgres);
    }
}
