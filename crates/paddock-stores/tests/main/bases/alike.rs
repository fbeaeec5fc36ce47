//! Whatever is done to a database, it looks as the one in memory does.

use std::collections::BTreeMap;
use std::fmt::Write;

use paddock_core::Usage;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

const SPACES: [&str; 2] = ["a1", "a10"];
const KEYS: [&str; 6] = ["a", "d", "d/a", "d/b", "d/e/a", "é"];
const DIRS: [&str; 3] = ["", "d", "d/e"];
const PINS: [&str; 2] = ["one", "two"];

#[derive(Debug, Clone)]
enum Step {
    Advance,
    Put { key: usize, text: u8, keep: bool },
    MakeDir { key: usize, keep: bool },
    PutChunks { key: usize, count: usize, keep: bool },
    Copy { from: usize, to: usize, same_version: bool, keep: bool },
    Restore { key: usize, at: u64, keep: bool },
    Remove { key: usize, keep: bool },
    Forget { key: usize, at: u64 },
    SetUsage(u64),
}

#[derive(Debug, Clone)]
enum Act {
    Change { space: usize, steps: Vec<Step>, fails: bool },
    Pin { space: usize, pin: usize },
    Unpin { space: usize, pin: usize },
    Drop { space: usize },
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let (key, at, keep) = (0..KEYS.len(), 0..12_u64, any::<bool>());
    prop_oneof![
        3 => Just(Step::Advance),
        4 => (key.clone(), any::<u8>(), keep).prop_map(|(key, text, keep)| Step::Put { key, text, keep }),
        1 => (key.clone(), keep).prop_map(|(key, keep)| Step::MakeDir { key, keep }),
        1 => (key.clone(), 0..3_usize, keep).prop_map(|(key, count, keep)| Step::PutChunks { key, count, keep }),
        2 => (key.clone(), key.clone(), any::<bool>(), keep)
            .prop_map(|(from, to, same_version, keep)| Step::Copy { from, to, same_version, keep }),
        2 => (key.clone(), at.clone(), keep).prop_map(|(key, at, keep)| Step::Restore { key, at, keep }),
        3 => (key.clone(), keep).prop_map(|(key, keep)| Step::Remove { key, keep }),
        2 => (key, at).prop_map(|(key, at)| Step::Forget { key, at }),
        1 => (0..9_u64).prop_map(Step::SetUsage),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let (space, pin) = (0..SPACES.len(), 0..PINS.len());
    prop_oneof![
        12 => (space.clone(), prop::collection::vec(step(), 1..6), prop::bool::weighted(0.1))
            .prop_map(|(space, steps, fails)| Act::Change { space, steps, fails }),
        2 => (space.clone(), pin.clone()).prop_map(|(space, pin)| Act::Pin { space, pin }),
        2 => (space.clone(), pin).prop_map(|(space, pin)| Act::Unpin { space, pin }),
        1 => space.prop_map(|space| Act::Drop { space }),
        1 => Just(Act::Collect),
    ]
}

/// Does it; answers what can be told of it.
fn act_on(base: &dyn BaseStore, act: &Act) -> String {
    with_call(|call| match act {
        Act::Change { space, steps, fails } => {
            let staged: Vec<Vec<u64>> = steps
                .iter()
                .map(|step| match step {
                    Step::PutChunks { count, .. } => base.stage(call, &vec![&b"chunk"[..]; *count]).unwrap(),
                    _ => Vec::new(),
                })
                .collect();
            let mut head = Commit(0);
            let changed = base.write(call, &Namespace::new([SPACES[*space]]), &mut |rows| {
                for (step, staged) in steps.iter().zip(&staged) {
                    take(rows, step, staged)?;
                }
                head = rows.head();
                if *fails { own_failure() } else { Ok(()) }
            });
            format!("{head:?} {:?}", changed.map_err(|error| error.kind().clone()))
        }
        Act::Pin { space, pin } => {
            format!("{:?}", base.pin(call, &Namespace::new([SPACES[*space]]), PINS[*pin]).unwrap())
        }
        Act::Unpin { space, pin } => {
            base.unpin(call, &Namespace::new([SPACES[*space]]), PINS[*pin]).unwrap();
            String::new()
        }
        Act::Drop { space } => {
            base.drop_namespace(call, &Namespace::new([SPACES[*space]])).unwrap();
            String::new()
        }
        Act::Collect => base.collect_chunks(call, 0).unwrap().to_string(),
    })
}

fn take(rows: &mut dyn RowsMut, step: &Step, staged: &[u64]) -> Result<()> {
    match step {
        Step::Advance => rows.advance().map(drop),
        Step::Put { key, text, keep } => rows.put(KEYS[*key], &file(&[b'a' + text % 26]), *keep).map(drop),
        Step::MakeDir { key, keep } => rows.put(KEYS[*key], &dir(), *keep).map(drop),
        Step::PutChunks { key, keep, .. } => rows.put(KEYS[*key], &chunked(staged, 5), *keep).map(drop),
        Step::Copy { from, to, same_version, keep } => match rows.get(KEYS[*from])? {
            Some(row) => {
                let version = same_version.then_some(row.version);
                rows.put(KEYS[*to], &NewRow { version, ..sharing(&row) }, *keep).map(drop)
            }
            None => Ok(()),
        },
        Step::Restore { key, at, keep } => match rows.past(KEYS[*key], Commit(*at))? {
            Some(row) => rows.put(KEYS[*key], &NewRow { version: None, ..sharing(&row) }, *keep).map(drop),
            None => Ok(()),
        },
        Step::Remove { key, keep } => rows.remove(KEYS[*key], *keep),
        Step::Forget { key, at } => rows.forget(KEYS[*key], Commit(*at)),
        Step::SetUsage(bytes) => rows.set_usage(Usage { bytes: *bytes, files: bytes + 1 }),
    }
}

/// Everything that can be seen, with versions by their order alone.
fn seen(base: &dyn BaseStore, last: u64) -> String {
    let mut told = String::new();
    let mut versions = BTreeMap::new();
    for space in SPACES {
        for moment in std::iter::once(Moment::Now).chain((0..=last).map(|at| Moment::At(Commit(at)))) {
            look(base, &Namespace::new([space]), moment, |rows| {
                writeln!(told, "{space} {moment:?} {:?}", rows.usage()?).unwrap();
                for dir in DIRS {
                    for (name, row) in rows.children(dir, None, 100)? {
                        let key = if dir.is_empty() { name } else { format!("{dir}/{name}") };
                        versions.insert(row.version, 0);
                        tell(rows, &key, &row, &mut told)?;
                    }
                }
                Ok(())
            })
            .unwrap();
        }
    }
    for (order, (version, _)) in versions.iter().enumerate() {
        told = told.replace(&format!("v{version}."), &format!("version {order}"));
    }
    told
}

fn tell(rows: &dyn Rows, key: &str, row: &Row, told: &mut String) -> Result<()> {
    let mut content = Vec::new();
    assert_eq!(rows.get_small(key, 0..9, &mut content)?.as_ref(), Some(row));
    let whole = Row { version: 0, body: None, ..row.clone() };
    let chunks = match row.body {
        Some(body) if body.chunked => Some(rows.chunks(body, 0..9)?),
        _ => None,
    };
    for id in chunks.iter().flatten() {
        rows.chunk(*id, 0..9, &mut content)?;
    }
    let content = String::from_utf8(content).unwrap();
    writeln!(told, "  {key} {whole:?} v{}. {:?} {content}", row.version, row.body.map(|body| body.chunked)).unwrap();
    Ok(())
}

fn compare(cases: u32, fresh: impl Fn() -> Box<dyn Fresh>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let acts = prop::collection::vec(act(), 1..30);
    let outcome = TestRunner::new(config).run(&acts, |acts| {
        let (model, fresh) = (InMemory::new().handle(), fresh());
        let handles = [fresh.handle(), fresh.handle()];
        for (at, act) in acts.iter().enumerate() {
            let base = &*handles[at % 2];
            prop_assert_eq!(act_on(base, act), act_on(&*model, act), "{:?}", act);
        }
        prop_assert_eq!(seen(&*handles[0], 14), seen(&*model, 14));
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn sqlite_is_like_memory() {
    compare(64, || Box::new(OnSqlite::new()));
}

#[test]
fn postgres_is_like_memory() {
    // A database for each would take longer than what is done in it.
    let fresh = Arc::new(OnPostgres::new());
    compare(24, move || {
        let base = fresh.handle();
        for space in SPACES {
            with_call(|call| base.drop_namespace(call, &Namespace::new([space]))).unwrap();
        }
        with_call(|call| base.collect_chunks(call, 0)).unwrap();
        Box::new(Arc::clone(&fresh))
    });
}

impl<T: Fresh + Send> Fresh for Arc<T> {
    fn handle(&self) -> Arc<dyn BaseStore> {
        (**self).handle()
    }
}
