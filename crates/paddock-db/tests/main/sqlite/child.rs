//! Processes that the tests start: this very binary, told by its environment which part to play.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use paddock_db::{DbError, Durability, Sqlite, rusqlite};

use super::{numbers, put, put_ahead, soon};

const PART: &str = "PADDOCK_DB_TEST_PART";
const HOME: &str = "PADDOCK_DB_TEST_HOME";

/// The arguments that make this binary play a part.
pub(super) fn arguments() -> [String; 4] {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [program, "--exact".into(), "--nocapture".into(), "sqlite::child::play".into()]
}

/// Gives `part` in the directory `home` to `command`, whose last arguments are [`arguments`].
pub(super) fn cast<'a>(command: &'a mut Command, part: &str, home: &Path) -> &'a mut Command {
    command.env(PART, part).env(HOME, home)
}

pub(super) fn start(part: &str, home: &Path) -> Child {
    let [program, rest @ ..] = arguments();
    cast(Command::new(program).args(rest), part, home).stdout(Stdio::piped()).spawn().unwrap()
}

/// What a child says, line by line, without what the test harness says.
pub(super) fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    said(BufReader::new(child.stdout.take().unwrap()))
}

fn said(out: BufReader<ChildStdout>) -> impl Iterator<Item = String> {
    out.lines().map_while(Result::ok).filter_map(|line| Some(line.split_once("> ")?.1.to_owned()))
}

/// One line in one call; with a mark, since the harness talks on the same pipe.
fn say(line: &str) {
    let mut out = std::io::stdout();
    out.write_all(format!("\n> {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

#[test]
fn play() {
    let (Ok(part), Ok(home)) = (std::env::var(PART), std::env::var(HOME)) else { return };
    let home = Path::new(&home);
    match part.as_str() {
        "count" => count(home),
        "numbers-process" => endless(home, Durability::Process),
        "numbers-disk" => endless(home, Durability::Disk),
        "story-process" => story(home, Durability::Process),
        "story-disk" => story(home, Durability::Disk),
        "ahead" => ahead(home, put),
        "only-ahead" => ahead(home, |_, _| Ok(())),
        "ten" => ten(home),
        "hold" => hold(home),
        "impatient" => impatient(home),
        "full-disk" => super::trouble::full_disk(home),
        "read-only-disk" => super::trouble::read_only_disk(home),
        other => panic!("no such part: {other}"),
    }
}

/// Adds one to the same row, a hundred times.
fn count(home: &Path) {
    let db = numbers(home, Durability::Process);
    for _ in 0..100 {
        db.write(soon(), |tx| {
            let seen = tx
                .prepare_cached("SELECT coalesce(max(n), 0) FROM counter WHERE name = 'all'")
                .and_then(|mut look| look.query_row((), |row| row.get::<_, i64>(0)));
            let seen = seen.map_err(|error| db.error(error))?;
            tx.execute("INSERT OR REPLACE INTO counter(name, n) VALUES ('all', ?1)", [seen + 1])
                .map_err(|error| db.error(error))
        })
        .unwrap();
    }
    say("done");
}

/// Writes numbers until it is killed, and says each once it is acknowledged.
fn endless(home: &Path, durability: Durability) {
    let db = numbers(home, durability);
    let first = super::all(&db).unwrap().len();
    for n in i64::try_from(first).unwrap().. {
        put(&db, n).unwrap();
        say(&format!("kept {n}"));
    }
}

/// Everything that happens to a log: several threads, a checkpoint that lets it begin anew, and its deletion.
fn story(home: &Path, durability: Durability) {
    for chapter in 0..3 {
        let db = numbers(&home.join("new/deeper"), durability);
        several_threads(&db, chapter * 1000);
        let other = rusqlite::Connection::open(db.path()).unwrap();
        let moved: (i64, i64, i64) = other
            .query_row("PRAGMA wal_checkpoint(RESTART)", (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        assert!(moved.0 == 0 && moved.1 > 0 && moved.1 == moved.2, "{moved:?}");
        several_threads(&db, chapter * 1000 + 500);
        drop(db);
        assert!(home.join("new/deeper/numbers.db-wal").exists());
        drop(other);
        assert!(!home.join("new/deeper/numbers.db-wal").exists(), "the last one to close deletes the log");
    }
}

fn several_threads(db: &Sqlite, from: i64) {
    std::thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || {
                for n in 0..4 {
                    let n = from + thread * 100 + n;
                    put(db, n).unwrap();
                    say(&format!("kept {n}"));
                }
            });
        }
    });
}

/// Numbers that are not waited for, each followed by something else before it is said.
fn ahead(home: &Path, next: impl Fn(&Sqlite, i64) -> Result<(), DbError>) {
    let db = numbers(&home.join("new/deeper"), Durability::Disk);
    for n in 0..10 {
        put_ahead(&db, n).unwrap();
        next(&db, 100 + n).unwrap();
        say(&format!("kept {n}"));
    }
}

/// Ten numbers, whatever becomes of them.
fn ten(home: &Path) {
    let db = numbers(home, Durability::Disk);
    for n in 0..10 {
        match put(&db, n) {
            Ok(()) => say(&format!("kept {n}")),
            Err(error) => say(&format!("not known {n}: {error}")),
        }
    }
}

/// Has the turn and does not give it back.
fn hold(home: &Path) {
    let db = numbers(home, Durability::Process);
    db.write(soon(), |_| -> Result<(), DbError> {
        say("held");
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    })
    .unwrap();
}

/// Wants the turn while another process has it, more than once.
fn impatient(home: &Path) {
    let db = numbers(home, Durability::Process);
    for _ in 0..5 {
        let until = Instant::now() + Duration::from_millis(30);
        let refused = db.write(until, |_| Ok::<_, DbError>(()));
        assert!(matches!(refused, Err(DbError::Busy { .. })), "{refused:?}");
    }
    let names = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path().join("comm"));
    let names = names.map(|comm| std::fs::read_to_string(comm).unwrap());
    assert_eq!(names.filter(|name| name.starts_with("paddock-db-queu")).count(), 1, "one thread waits, not five");
    say("refused");
    put(&db, 1).unwrap();
    say("written");
}
