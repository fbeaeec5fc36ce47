//! What a command changed, held until it is decided: kept whole, made as it was, gone afterwards.

use std::io::{Read as _, Seek as _, Write as _};
use std::time::{Duration, SystemTime};

use paddock_core::{
    Alter, Alteration, Earlier, Expect, Gate as _, Held, Looks, Operation, Refused, Request, Requester, Staged, Version,
};
use paddock_db::rusqlite;
use paddock_ledger::approvals::{Decision, Reach};

use super::{Ask, Desk, Ground, Stopped, on_both, path};

fn alteration(at: &str, how: Alter, expect: Expect) -> Alteration {
    Alteration { path: path(at), how, expect }
}

fn to(text: &str) -> Alter {
    Alter::Write { content: text.into(), mode: None }
}

fn staged(content: &[u8], modified: SystemTime) -> Staged {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    Staged::new(file, content.len() as u64, 0o640, modified)
}

/// "a" becomes other content, and "d" is made with a file in it.
fn changes() -> Vec<Alteration> {
    vec![
        alteration("/w/a", to("held\n"), Expect::Any),
        alteration("/w/d", Alter::MakeDir, Expect::Any),
        alteration("/w/d/b", to("new\n"), Expect::Absent),
    ]
}

fn command(changes: Vec<Alteration>) -> Ask {
    let mut ask = Ask::of("execute_command", r#"{"command":"make"}"#);
    ask.changes = Some(changes);
    ask
}

fn commit(changes: Vec<Alteration>) -> Operation {
    Operation::Commit { path: path("/w"), alterations: changes }
}

fn parked(desk: &Desk) -> String {
    desk.parked(&command(changes()), commit(changes()))
}

fn earlier(desk: &Desk) -> Result<Earlier, Refused> {
    earlier_with(desk, Requester::default())
}

fn earlier_with(desk: &Desk, requester: Requester) -> Result<Earlier, Refused> {
    let ask = Ask { requester, ..Ask::of("execute_command", r#"{"command":"make"}"#) };
    let request = Request { tool: ask.tool, risk: ask.risk, asked: &ask };
    desk.with_call(|call| desk.approvals.earlier(call, &request))
}

/// Makes what was held, as a call of its own.
fn make(desk: &Desk, held: Held) -> Result<paddock_core::CallId, Stopped> {
    let mut ask = command(held.alterations.clone()).with_token(&held.token);
    // Whoever makes it need not know the arguments.
    (ask.arguments, ask.of) = (String::new(), Some(held.of));
    desk.call(&ask, commit(held.alterations))
}

#[test]
fn of_many_that_ask_at_once_one_is_told_that_it_was_made() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = parked(&desk);
        desk.approve(&id, Reach::Once);
        make(&desk, desk.approvals.held(&id).unwrap().unwrap()).unwrap();
        desk.ledger.audit.flush().unwrap();
        let desks: Vec<_> = (0..8).map(|_| ground.desk()).collect();
        let start = std::sync::Barrier::new(desks.len());
        let told: usize = std::thread::scope(|scope| {
            let ask = |desk| {
                start.wait();
                let Ok(Earlier::Made { id, .. }) = earlier(desk) else { return 0 };
                usize::from(desk.approvals.hears(&id, &Requester::default()).unwrap())
            };
            let asking: Vec<_> = desks.iter().map(|desk| scope.spawn(move || ask(desk))).collect();
            asking.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(told, 1);
    });
}

#[test]
fn it_waits_is_made_without_the_command_and_told_once() {
    on_both(|ground| {
        let desk = ground.desk();
        assert!(matches!(earlier(&desk), Ok(Earlier::Nothing { waiting: 0 })));
        let id = parked(&desk);
        let other = ground.desk();
        assert!(matches!(earlier(&other), Ok(Earlier::Waits(waits)) if waits == id));
        assert!(other.approvals.held(&id).unwrap().is_none(), "nobody has agreed yet");
        assert_eq!(ground.text("a").as_deref(), Some("old\n"));
        other.approve(&id, Reach::Once);
        let Ok(Earlier::Agreed(agreed)) = earlier(&desk) else { panic!("not agreed") };
        assert_eq!((agreed.id.as_str(), agreed.by.as_str()), (id.as_str(), "alice"));
        let held = other.approvals.held(&id).unwrap().unwrap();
        make(&other, held).unwrap();
        assert_eq!((ground.text("a").as_deref(), ground.text("d/b").as_deref()), (Some("held\n"), Some("new\n")));
        // A second one that was as quick.
        assert!(matches!(make(&desk, *agreed), Err(Stopped::Refused("token_used" | "token_state", _))));
        other.ledger.audit.flush().unwrap();
        // Looking whether it would run tells nobody yet.
        for _ in 0..2 {
            let Ok(Earlier::Made { told, .. }) = earlier(&desk) else { panic!("not made") };
            assert_eq!(told, "what it printed");
        }
        assert!(desk.approvals.hears(&id, &Requester::default()).unwrap());
        assert!(!desk.approvals.hears(&id, &Requester::default()).unwrap(), "it is told once");
        assert!(matches!(earlier(&desk), Ok(Earlier::Nothing { waiting: 0 })));
        // Who brings the decision and was cut off before the answer was kept is told again.
        let token = desk.approvals.show(&id).unwrap().token;
        let run = Requester { token, ..Requester::default() };
        assert!(desk.approvals.hears(&id, &run).unwrap());
        assert!(matches!(earlier_with(&desk, run), Ok(Earlier::Made { .. })));
        assert!(other.approvals.held(&id).unwrap().is_none());
    });
}

#[test]
fn every_kind_of_change_comes_back_as_it_was_kept() {
    on_both(|ground| {
        let desk = ground.desk();
        let large: Vec<u8> = (0..2_500_000u32).map(|n| n.to_le_bytes()[0] ^ 0x5a).collect();
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
        let looks = Looks { mode: Some(0o755), modified: Some(time) };
        let kept = vec![
            alteration("/w/large", Alter::Take(staged(&large, time)), Expect::UnchangedSince(time)),
            alteration("/w/empty", Alter::Take(staged(b"", time)), Expect::Absent),
            alteration("/w/link", Alter::Link { leads_to: "../a".to_owned() }, Expect::Any),
            alteration("/w/a", Alter::Dress(looks), Expect::Is(Version(7))),
            alteration("/w/a", Alter::Delete, Expect::Any),
        ];
        let id = desk.parked(&command(kept.clone()), commit(kept.clone()));
        desk.approve(&id, Reach::Once);
        let held = ground.desk().approvals.held(&id).unwrap().unwrap();
        assert_eq!(held.alterations.len(), kept.len());
        for (back, was) in held.alterations.iter().zip(&kept) {
            assert_eq!((&back.path, &back.expect), (&was.path, &was.expect));
            match (&back.how, &was.how) {
                (Alter::Take(back), Alter::Take(was)) => {
                    assert_eq!((back.len(), back.mode(), back.modified()), (was.len(), was.mode(), was.modified()));
                }
                (back, was) => assert_eq!(back, was),
            }
        }
        let Alter::Take(back) = &held.alterations[0].how else { panic!("not taken") };
        let (mut file, mut read) = (back.file().try_clone().unwrap(), Vec::new());
        file.rewind().unwrap();
        file.read_to_end(&mut read).unwrap();
        assert!(read == large);
    });
}

#[test]
fn what_is_rejected_or_over_is_gone() {
    let ground = Ground::on(None);
    let behind = rusqlite::Connection::open(ground.dir.path().join("state.db")).unwrap();
    let parts =
        || -> i64 { behind.query_row("SELECT count(*) FROM approval_held_part", [], |row| row.get(0)).unwrap() };
    let desk = ground.desk();
    let id = parked(&desk);
    assert!(parts() > 0);
    desk.decide(&id, &Decision::Reject("no".to_owned()));
    assert_eq!(parts(), 0);
    assert!(
        matches!(earlier(&desk), Ok(Earlier::Nothing { waiting: 0 })),
        "what it changes now is seen when it has run"
    );
    assert!(matches!(desk.call(&command(changes()), commit(changes())), Err(Stopped::Refused("rejected", _))));
    assert_eq!(parts(), 0, "nothing is kept of what nobody is asked about");
    ground.wait(101);
    let second = parked(&desk);
    assert_ne!(second, id);
    let before = parts();
    ground.wait(101);
    assert!(matches!(earlier(&desk), Ok(Earlier::Nothing { waiting: 0 })));
    parked(&desk);
    assert_eq!(parts(), before, "what was over went when the next came");
}

#[test]
fn what_was_kept_and_changed_since_is_not_made() {
    let ground = Ground::on(None);
    let desk = ground.desk();
    let id = parked(&desk);
    desk.approve(&id, Reach::Once);
    let behind = rusqlite::Connection::open(ground.dir.path().join("state.db")).unwrap();
    // "evil", where "held" was.
    let changed = behind.execute("UPDATE approval_held_part SET content = 'ZXZpbAo=' WHERE seq = 0 AND part = 1", []);
    assert_eq!(changed.unwrap(), 1);
    let held = desk.approvals.held(&id).unwrap().unwrap();
    assert!(matches!(make(&desk, held), Err(Stopped::Refused("token_arguments", _))));
    assert_eq!(ground.text("a").as_deref(), Some("old\n"));
}

#[test]
fn what_is_let_go_of_is_not_made_any_more() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = parked(&desk);
        desk.approve(&id, Reach::Once);
        desk.approvals.let_go(&id, "it changed");
        assert!(matches!(earlier(&desk), Ok(Earlier::Nothing { waiting: 0 })));
        assert!(desk.approvals.held(&id).unwrap().is_none());
        assert_ne!(parked(&desk), id);
    });
}

#[test]
fn only_so_many_wait_at_once_and_a_decision_makes_room() {
    on_both(|ground| {
        let desk = ground.desk();
        let ask = |n: usize| {
            let mut ask = command(changes());
            ask.arguments = format!(r#"{{"command":"make {n}"}}"#);
            ask
        };
        let first = desk.parked(&ask(0), commit(changes()));
        for n in 1..16 {
            desk.parked(&ask(n), commit(changes()));
        }
        let Err(Stopped::Refused("too_many_wait", why)) = desk.call(&ask(16), commit(changes())) else {
            panic!("one too many")
        };
        assert!(why.contains("wait for a person already"), "{why}");
        desk.decide(&first, &Decision::Reject("no".to_owned()));
        desk.parked(&ask(17), commit(changes()));
    });
}

#[test]
fn a_rejection_stands_for_the_same_change_of_the_same_command() {
    on_both(|ground| {
        let desk = ground.desk();
        let run = |number| (command(changes_of_run(number)), commit(changes_of_run(number)));
        let (first, operation) = run(0);
        let id = desk.parked(&first, operation);
        desk.decide(&id, &Decision::Reject("keep it".to_owned()));
        // Nor does what is allowed in general let it through.
        let (second, operation) = run(2);
        let told = Stopped::Refused("rejected", "alice rejected this call: keep it".to_owned());
        assert_eq!(desk.call(&second, operation), Err(told.clone()));
        let mut other = changes_of_run(2);
        other[1] = alteration("/w/c", to("new\n"), Expect::Any);
        let waits = desk.parked(&command(other.clone()), commit(other));
        assert!(matches!(earlier(&desk), Ok(Earlier::Waits(id)) if id == waits));
        desk.approve(&waits, Reach::Always);
        let (third, operation) = run(2);
        assert_eq!(desk.call(&third, operation), Err(told));
        // What it would change is another thing by now.
        ground.store.plant("a", "somebody else's\n");
        let (fourth, operation) = run(2);
        desk.call(&fourth, operation).unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("held\n"));
    });
}

/// The same change as each run makes it: what has to be true before is another thing, and so is the order of the files.
fn changes_of_run(run: usize) -> Vec<Alteration> {
    let expect = if run == 0 { Expect::Absent } else { Expect::Any };
    let mut made = vec![alteration("/w/a", to("held\n"), Expect::Any), alteration("/w/b", to("new\n"), expect)];
    if run % 2 == 1 {
        made.reverse();
    }
    made
}

#[test]
fn what_is_allowed_exactly_is_the_same_change_by_the_same_command_whenever_it_runs() {
    on_both(|ground| {
        let desk = ground.desk();
        let run = |number| (command(changes_of_run(number)), commit(changes_of_run(number)));
        let (first, operation) = run(0);
        let id = desk.parked(&first, operation);
        desk.approve(&id, Reach::Exact);
        make(&desk, desk.approvals.held(&id).unwrap().unwrap()).unwrap();
        for number in [1, 2] {
            ground.store.plant("a", "old\n");
            let (again, operation) = run(number);
            desk.call(&again, operation).unwrap();
            assert_eq!(ground.text("a").as_deref(), Some("held\n"));
        }
        assert_eq!(desk.approvals.grants().unwrap()[0].uses, 2);

        let others = [("/w/b", to("other\n")), ("/w/c", to("new\n")), ("/w/b", Alter::Delete)];
        for (at, how) in others {
            let mut other = changes_of_run(2);
            other[1] = alteration(at, how, Expect::Any);
            let told = desk.call(&command(other.clone()), commit(other));
            assert!(matches!(told, Err(Stopped::Parked(_))), "{at}: {told:?}");
        }
        let mut elsewhere = command(changes_of_run(2));
        elsewhere.arguments = r#"{"command":"make other"}"#.to_owned();
        assert!(matches!(desk.call(&elsewhere, commit(changes_of_run(2))), Err(Stopped::Parked(_))));
    });
}
