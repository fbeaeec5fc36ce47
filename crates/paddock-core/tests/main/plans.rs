//! A plan runs once, with its own token, in its own Vfs; and moves between Stores keep content.

use std::sync::{Arc, Mutex};

use paddock_core::{
    AccessScope, Call, EffectKind, ErrorKind, Expect, Gate, Journal, Mount, NoJournal, Operation, Outcome, PartDone,
    Passed, Permit, Plan, Refused, Request, Result as StoreResult, Risk, Store, Token, Vfs, Workspace,
};
use paddock_stores::MemoryStore;
use paddock_stores::conformance::world::{browse, path_of, rename, with_call, write};
use paddock_stores::doubles::{FailsAt, Recording};

/// Lets everything pass, parks what is called "park" and refuses what is called "refuse".
struct Door;

impl Gate for Door {
    fn pass(&self, _: &Call<'_>, request: &Request<'_>, _: &Plan, permit: Permit) -> Result<Passed, Refused> {
        match request.tool {
            "park" => Ok(Passed::Parked("42".to_owned())),
            "refuse" => Err(Refused::Gate("not today".to_owned())),
            _ => Ok(Passed::Now(permit.grant())),
        }
    }
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }
}

impl Journal for Notes {
    fn begin(&self, _: &Call<'_>, plan: &Plan) -> StoreResult<()> {
        self.add(format!("begin {}", plan.kind()));
        Ok(())
    }

    fn keeps(&self) -> bool {
        false
    }

    fn part_done(&self, _: &Call<'_>, done: &PartDone<'_>) -> StoreResult<()> {
        self.add(format!("part {}", done.part));
        Ok(())
    }

    fn end(&self, _: &Call<'_>, completed: bool) {
        self.add(format!("end {completed}"));
    }
}

fn vfs(stores: &[(&str, Arc<dyn Store>)], journal: Arc<dyn Journal>) -> Vfs {
    let workspace = |(prefix, store): &(&str, Arc<dyn Store>)| {
        Workspace::new(path_of(prefix), AccessScope::ReadWrite, Mount::new(Arc::clone(store), None))
    };
    Vfs::new(stores.iter().map(workspace).collect(), Arc::new(Door), journal).unwrap()
}

fn plan(vfs: &Vfs, operation: Operation) -> Plan {
    with_call(|call| vfs.plan(call, operation)).unwrap()
}

fn token(vfs: &Vfs, plan: &Plan) -> Token {
    match with_call(|call| vfs.ask(call, &Request::of_person("any", Risk::Low), plan)).unwrap() {
        Passed::Now(token) => token,
        other => panic!("{other:?}"),
    }
}

fn run(vfs: &Vfs, operation: Operation) -> Result<Outcome, Refused> {
    let plan = with_call(|call| vfs.plan(call, operation))?;
    let token = token(vfs, &plan);
    with_call(|call| vfs.run(call, plan, token))
}

fn text(vfs: &Vfs, path: &str) -> Option<String> {
    match run(vfs, Operation::Read { path: path_of(path), range: 0..u64::MAX }) {
        Ok(Outcome::Read { bytes, .. }) => Some(String::from_utf8(bytes).unwrap()),
        Err(_) => None,
        other => panic!("{other:?}"),
    }
}

fn one_store() -> (Vfs, Arc<Recording>) {
    let recording = Arc::new(Recording::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::<Recording>::clone(&recording);
    (vfs(&[("/w", store)], Arc::new(NoJournal)), recording)
}

#[test]
fn the_token_of_another_plan_opens_nothing() {
    let (vfs, recording) = one_store();
    let harmless = plan(&vfs, write("/w/a", b"harmless", Expect::Any));
    let other = plan(&vfs, write("/w/b", b"other", Expect::Any));
    let token = token(&vfs, &harmless);
    recording.take();
    let outcome = with_call(|call| vfs.run(call, other, token));
    assert!(matches!(outcome, Err(Refused::Gate(_))), "{outcome:?}");
    assert_eq!(recording.take(), [], "and no Store was touched");
    assert_eq!(text(&vfs, "/w/b"), None);
}

#[test]
fn a_plan_runs_only_where_it_was_made() {
    let ((here, _), (there, recording)) = (one_store(), one_store());
    let made_here = plan(&here, write("/w/a", b"x", Expect::Any));
    let token = token(&here, &made_here);
    let outcome = with_call(|call| there.run(call, made_here, token));
    assert!(matches!(outcome, Err(Refused::Gate(_))), "{outcome:?}");
    assert_eq!(recording.take(), []);
    assert_eq!(text(&there, "/w/a"), None);
}

#[test]
fn what_the_gate_does_not_let_pass_does_not_happen() {
    let (vfs, _) = one_store();
    let plan = plan(&vfs, write("/w/a", b"x", Expect::Any));
    let ask = |tool| with_call(|call| vfs.ask(call, &Request::of_person(tool, Risk::High), &plan));
    assert!(matches!(ask("park"), Ok(Passed::Parked(id)) if id == "42"));
    assert!(matches!(ask("refuse"), Err(Refused::Gate(why)) if why == "not today"));
    assert_eq!(text(&vfs, "/w/a"), None);
}

#[test]
fn a_plan_tells_what_it_will_do() {
    let (vfs, _) = one_store();
    let told = |operation| {
        let plan = plan(&vfs, operation);
        let effect = |e: &paddock_core::Effect| (e.path.to_string(), e.what, e.before.is_some());
        plan.effects().iter().map(effect).collect::<Vec<_>>()
    };
    let effect = |path: &str, what, before| (path.to_owned(), what, before);
    let append = |path: &str| Operation::Append { path: path_of(path), content: b"x".to_vec() };
    assert_eq!(told(write("/w/d/a", b"x", Expect::Any)), [effect("/w/d/a", EffectKind::Create, false)]);
    assert_eq!(told(append("/w/d/a")), [effect("/w/d/a", EffectKind::Create, false)]);
    run(&vfs, write("/w/d/a", b"x", Expect::Any)).unwrap();
    assert_eq!(told(write("/w/d/a", b"x", Expect::Any)), [effect("/w/d/a", EffectKind::Replace, true)]);
    assert_eq!(told(append("/w/d/a")), [effect("/w/d/a", EffectKind::Append, true)]);
    assert_eq!(told(Operation::MakeDir { path: path_of("/w/e") }), [effect("/w/e", EffectKind::MakeDir, false)]);
    let moved = [effect("/w/d", EffectKind::MoveAway, true), effect("/w/e", EffectKind::MoveHere, false)];
    assert_eq!(told(rename("/w/d", "/w/e")), moved);
    let deleted = [effect("/w/d/a", EffectKind::Delete, false), effect("/w/d", EffectKind::Delete, false)];
    assert_eq!(told(Operation::Delete { path: path_of("/w/d"), recursive: true }), deleted);
    assert_eq!(told(Operation::Read { path: path_of("/w/d/a"), range: 0..1 }), []);
}

fn two_stores() -> [Arc<dyn Store>; 2] {
    [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())]
}

#[test]
fn a_move_between_stores_keeps_content_and_tells_the_journal() {
    let notes = Arc::new(Notes::default());
    let [a, b] = two_stores();
    let vfs = vfs(&[("/a", a), ("/b", b)], Arc::<Notes>::clone(&notes));
    run(&vfs, write("/a/d/f", b"1", Expect::Any)).unwrap();
    run(&vfs, write("/a/d/e/g", b"2", Expect::Any)).unwrap();
    notes.0.lock().unwrap().clear();
    run(&vfs, rename("/a/d", "/b/new/d")).unwrap();
    assert_eq!(text(&vfs, "/b/new/d/f").as_deref(), Some("1"));
    assert_eq!(text(&vfs, "/b/new/d/e/g").as_deref(), Some("2"));
    assert_eq!((text(&vfs, "/a/d/f"), text(&vfs, "/a/d/e/g")), (None, None));
    let told = notes.0.lock().unwrap().clone();
    assert_eq!(told, ["begin move", "part 0", "part 1", "part 2", "part 3", "part 4", "end true"]);
}

#[test]
fn a_move_between_stores_that_is_cut_off_leaves_content_in_one_of_them() {
    for n in 1..30 {
        for failing_at_source in [true, false] {
            let notes = Arc::new(Notes::default());
            let [a, b] = two_stores();
            let calm = vfs(&[("/a", Arc::clone(&a)), ("/b", Arc::clone(&b))], Arc::new(NoJournal));
            run(&calm, write("/a/d/f", b"1", Expect::Any)).unwrap();
            run(&calm, write("/a/d/g", b"2", Expect::Any)).unwrap();
            let failing = |store: Arc<dyn Store>| -> Arc<dyn Store> { Arc::new(FailsAt::new(store, n)) };
            let stores = if failing_at_source { [failing(a), b] } else { [a, failing(b)] };
            let [a, b] = stores;
            let rough = vfs(&[("/a", a), ("/b", b)], Arc::<Notes>::clone(&notes));
            let outcome = run(&rough, rename("/a/d", "/b/d"));
            for (file, content) in [("f", "1"), ("g", "2")] {
                let there = [text(&calm, &format!("/a/d/{file}")), text(&calm, &format!("/b/d/{file}"))];
                assert!(
                    there.iter().flatten().any(|text| text == content),
                    "{file} is somewhere after call {n} failed"
                );
            }
            if let Err(Refused::Store { source, .. }) = &outcome {
                assert_eq!(*source.kind(), ErrorKind::Io);
            }
            let told = notes.0.lock().unwrap().clone();
            assert!(told.is_empty() || told.last() == Some(&format!("end {}", outcome.is_ok())), "{told:?}");
        }
    }
}

#[test]
fn a_journal_that_cannot_write_stops_the_plan_before_it_starts() {
    struct Full;
    impl Journal for Full {
        fn begin(&self, _: &Call<'_>, _: &Plan) -> StoreResult<()> {
            Err(ErrorKind::Full.into())
        }
        fn keeps(&self) -> bool {
            false
        }
        fn part_done(&self, _: &Call<'_>, _: &PartDone<'_>) -> StoreResult<()> {
            Ok(())
        }
        fn end(&self, _: &Call<'_>, _: bool) {}
    }
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let vfs = vfs(&[("/w", store)], Arc::new(Full));
    assert!(run(&vfs, write("/w/a", b"x", Expect::Any)).is_err());
    assert_eq!(text(&vfs, "/w/a"), None, "reading needs no journal, and nothing is there");
}

#[test]
fn progress_is_counted_on_the_call() {
    let (vfs, _) = one_store();
    for i in 0..10 {
        run(&vfs, write(&format!("/w/{i}"), b"x", Expect::Any)).unwrap();
    }
    let seen = with_call(|call| {
        let plan = vfs.plan(call, Operation::List(browse("/w"))).unwrap();
        let token = token(&vfs, &plan);
        vfs.run(call, plan, token).unwrap();
        call.cancel.seen()
    });
    assert!(seen >= 10, "{seen}");
}
