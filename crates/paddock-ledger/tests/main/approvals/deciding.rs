//! What waits, and what a decision changes for the next identical call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use paddock_core::{Asked, Passed, Preview, Request, Requester, Risk, Terms};
use paddock_ledger::approvals::{ApprovalError, ApprovalQuery, Decision, Reach, Status};

use super::{Stopped, on_both, shows, to_new, write_of, writing};

#[test]
fn an_identical_call_waits_under_the_same_id_and_a_person_is_told_once() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        assert_eq!(ground.desk().parked(&writing(), to_new()), id);
        assert_eq!(*ground.told.lock().unwrap(), [id.as_str()]);
        assert_eq!(desk.waiting(), [id.as_str()]);
        let other = desk.parked(&writing_of_b(), write_of("/w/b", "new\n"));
        assert_ne!(other, id);
        assert_eq!(ground.text("a").as_deref(), Some("old\n"));
        let shown = desk.approvals.show(&id).unwrap();
        assert_eq!((shown.status, shown.risk, shown.preview), (Status::Pending, Risk::High, writing().preview));
        assert_eq!((shown.path.as_str(), shown.session.as_str(), shown.token), ("/w/a", "s1", None));
        assert_eq!(shown.rule.as_deref(), Some("paddock.toml:3 says the risk is high"));
    });
}

fn writing_of_b() -> super::Ask {
    super::Ask::of("write_file", r#"{"content":"new\n","path":"/w/b"}"#)
}

#[test]
fn what_is_not_above_the_threshold_is_not_asked() {
    on_both(|ground| {
        let desk = ground.desk();
        let mut ask = writing();
        ask.risk = Risk::Medium;
        desk.call(&ask, to_new()).unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
        ask.terms.above = Risk::Low;
        desk.parked(&ask, write_of("/w/a", "newer\n"));
        ask.risk = Risk::Low;
        desk.call(&ask, write_of("/w/a", "newest\n")).unwrap();
    });
}

/// What is shown may take long to be made, and others work meanwhile.
#[test]
fn while_it_is_made_what_a_person_is_shown_nobody_waits_for_the_database() {
    on_both(|ground| {
        let (desk, other) = (ground.desk(), ground.desk());
        let made = AtomicUsize::new(0);
        let meanwhile = || {
            made.fetch_add(1, Ordering::SeqCst);
            other.approvals.withdraw("ap-another").unwrap();
        };
        let ask = Meanwhile { ask: writing(), meanwhile: &meanwhile };
        let id = desk.with_call(|call| {
            let plan = desk.vfs.plan(call, to_new()).unwrap();
            let request = Request { tool: "write_file", risk: Risk::High, asked: &ask };
            match desk.vfs.ask(call, &request, &plan).unwrap() {
                Passed::Parked(id) => id,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!((made.load(Ordering::SeqCst), desk.waiting()), (1, vec![id]));
    });
}

/// Two that ask the same at the same moment wait under one id, and a person is told once.
#[test]
fn of_two_that_ask_the_same_while_it_is_made_what_is_shown_one_is_asked_about() {
    on_both(|ground| {
        let (desk, other) = (ground.desk(), ground.desk());
        let first = Mutex::new(None);
        let meanwhile = || *first.lock().unwrap() = Some(other.parked(&writing(), to_new()));
        let ask = Meanwhile { ask: writing(), meanwhile: &meanwhile };
        let passed = desk.with_call(|call| {
            let plan = desk.vfs.plan(call, to_new()).unwrap();
            let request = Request { tool: "write_file", risk: Risk::High, asked: &ask };
            desk.vfs.ask(call, &request, &plan).unwrap()
        });
        let first = first.lock().unwrap().take().unwrap();
        assert!(matches!(passed, Passed::Parked(id) if id == first));
        assert_eq!(*ground.told.lock().unwrap(), [first.as_str()]);
        assert_eq!(desk.waiting(), [first]);
    });
}

/// A call during whose preview something else happens.
struct Meanwhile<'a> {
    ask: super::Ask,
    meanwhile: &'a dyn Fn(),
}

impl Asked for Meanwhile<'_> {
    fn terms(&self) -> &Terms {
        self.ask.terms()
    }

    fn requester(&self) -> &Requester {
        self.ask.requester()
    }

    fn rule(&self) -> Option<String> {
        self.ask.rule()
    }

    fn arguments(&self) -> String {
        self.ask.arguments()
    }

    fn shown_arguments(&self) -> String {
        self.ask.shown_arguments()
    }

    fn preview(&self) -> Preview {
        (self.meanwhile)();
        self.ask.preview()
    }
}

#[test]
fn an_approved_call_runs_once_and_is_asked_again_then() {
    on_both(|ground| {
        let (asks, decides) = (ground.desk(), ground.desk());
        let id = asks.parked(&writing(), to_new());
        decides.approve(&id, Reach::Once);
        let call = asks.write().unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
        let used = decides.approvals.show(&id).unwrap();
        assert_eq!(used.used_by, Some(call.to_string()));
        let again = asks.parked(&writing(), to_new());
        assert_ne!(again, id);
        assert_eq!(asks.waiting(), [again]);
    });
}

#[test]
fn what_nobody_decides_in_time_is_over_and_asked_anew() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        ground.wait(101);
        assert!(desk.waiting().is_empty());
        let late = desk.approvals.decide(&id, None, "alice", &Decision::Approve(Reach::Once));
        assert!(matches!(late, Err(ApprovalError::Decided { status: Status::Expired, .. })), "{late:?}");
        let second = desk.parked(&writing(), to_new());
        assert_ne!(second, id);
        // One that was approved and not used in time is over too.
        desk.approve(&second, Reach::Once);
        ground.wait(101);
        assert_ne!(desk.parked(&writing(), to_new()), second);
        assert_eq!(ground.text("a").as_deref(), Some("old\n"));
    });
}

#[test]
fn the_agent_is_told_who_rejected_and_why() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.decide(&id, &Decision::Reject("use the archive".to_owned()));
        let told = Stopped::Refused("rejected", "alice rejected this call: use the archive".to_owned());
        assert_eq!(desk.write(), Err(told));
        // Each call is decided alone.
        desk.parked(&writing_of_b(), write_of("/w/b", "new\n"));
        ground.wait(101);
        assert_ne!(desk.parked(&writing(), to_new()), id);
    });
}

#[test]
fn what_changed_since_is_asked_anew_with_what_would_change_now() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Once);
        ground.store.plant("a", "somebody else's\n");
        let mut ask = writing();
        ask.preview = shows(&["-somebody else's", "+new"]);
        let anew = desk.parked(&ask, to_new());
        assert_ne!(anew, id);
        assert_eq!(desk.approvals.show(&anew).unwrap().preview, ask.preview);
        let over = desk.approvals.show(&id).unwrap();
        let why = "nothing was made: what the call would change has changed since it was shown";
        assert_eq!((over.status, over.reason.as_deref()), (Status::Overtaken, Some(why)));
        let late = desk.approvals.decide(&id, None, "bob", &Decision::Approve(Reach::Once)).unwrap_err();
        assert_eq!(late.to_string(), format!("approval \"{id}\" is overtaken already"));
        assert_eq!(ground.text("a").as_deref(), Some("somebody else's\n"));
    });
}

/// It stands for what was shown, and for no longer than it could have been agreed to.
#[test]
fn a_rejection_stands_for_what_was_shown_and_nothing_else() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.decide(&id, &Decision::Reject("no".to_owned()));
        assert!(matches!(desk.write(), Err(Stopped::Refused("rejected", _))));
        // Under another policy it is another question, and so is it about other content.
        let mut ask = writing();
        ask.terms.policy = "p2".to_owned();
        let anew = desk.parked(&ask, to_new());
        assert_eq!(desk.parked(&ask, to_new()), anew);
        ground.store.plant("a", "somebody else's\n");
        let changed = desk.parked(&writing(), to_new());
        assert_ne!(changed, id);
        assert_eq!(desk.approvals.show(&id).unwrap().status, Status::Rejected, "what was decided is still told");
        // Nor is it another thread's.
        let mut other = writing();
        other.requester.thread = Some("t2".to_owned());
        desk.parked(&other, to_new());
        desk.approve(&changed, Reach::Once);
        desk.write().unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
    });
}

/// Whatever was asked and agreed to meanwhile: what is as it was when a person said no is refused.
#[test]
fn what_is_again_as_it_was_when_it_was_rejected_is_refused() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.decide(&id, &Decision::Reject("no".to_owned()));
        let mut ask = writing();
        ask.terms.policy = "p2".to_owned();
        let anew = desk.parked(&ask, to_new());
        desk.approve(&anew, Reach::Exact);
        assert!(matches!(desk.write(), Err(Stopped::Refused("rejected", _))), "no grant outranks it");
        desk.call(&ask, to_new()).unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
    });
}

#[test]
fn a_decision_under_another_policy_does_not_count() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Once);
        let mut ask = writing();
        ask.terms.policy = "p2".to_owned();
        assert_ne!(desk.parked(&ask, to_new()), id);
    });
}

#[test]
fn another_thread_or_user_does_not_use_it() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Once);
        let mut ask = writing();
        ask.requester.thread = Some("t2".to_owned());
        assert_ne!(desk.parked(&ask, to_new()), id);
        ask = writing();
        ask.requester.user = Some("bob".to_owned());
        assert_ne!(desk.parked(&ask, to_new()), id);
        desk.write().unwrap();
    });
}

#[test]
fn it_is_decided_once_and_only_as_it_was_shown() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        let shown = desk.approvals.show(&id).unwrap().shown();
        let approve = Decision::Approve(Reach::Once);
        let stale = desk.approvals.decide(&id, Some("0123456789abcdef"), "bob", &approve);
        assert!(matches!(stale, Err(ApprovalError::NotAsShown(_))), "{stale:?}");
        desk.approvals.decide(&id, Some(&shown), "alice", &approve).unwrap();
        let second = desk.approvals.decide(&id, Some(&shown), "bob", &Decision::Reject(String::new()));
        let told = second.unwrap_err().to_string();
        assert_eq!(told, format!("approval \"{id}\" is approved already, by alice"));
        let unknown = desk.approvals.decide("ap-none", None, "bob", &approve);
        assert!(matches!(unknown, Err(ApprovalError::NoApproval(_))));
    });
}

#[test]
fn of_many_who_decide_at_once_one_does() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        let desks: Vec<_> = (0..6).map(|_| ground.desk()).collect();
        let decided = std::thread::scope(|scope| {
            let decide = |(n, desk): (usize, &super::Desk)| {
                let decision =
                    if n % 2 == 0 { Decision::Approve(Reach::Once) } else { Decision::Reject("no".to_owned()) };
                desk.approvals.decide(&id, None, &format!("person {n}"), &decision).is_ok()
            };
            let threads: Vec<_> = desks.iter().enumerate().map(|one| scope.spawn(move || decide(one))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|ok| *ok).count()
        });
        assert_eq!(decided, 1);
    });
}

#[test]
fn of_many_identical_calls_at_once_one_begins_to_wait() {
    on_both(|ground| {
        let desks: Vec<_> = (0..6).map(|_| ground.desk()).collect();
        let mut ids = std::thread::scope(|scope| {
            let park = |desk: &super::Desk| desk.parked(&writing(), to_new());
            let threads: Vec<_> = desks.iter().map(|desk| scope.spawn(move || park(desk))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        ids.dedup();
        assert_eq!(ids, desks[0].waiting());
        assert_eq!(ground.told.lock().unwrap().len(), 1);
    });
}

#[test]
fn lists_are_narrowed() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.decide(&id, &Decision::Reject("no".to_owned()));
        ground.wait(1);
        let waits = desk.parked(&writing_of_b(), write_of("/w/b", "new\n"));
        let listed = |query: ApprovalQuery| -> Vec<String> {
            desk.approvals.list(&query).unwrap().into_iter().map(|approval| approval.id).collect()
        };
        assert_eq!(listed(ApprovalQuery::default()), [waits.as_str()]);
        assert_eq!(listed(ApprovalQuery { all: true, ..ApprovalQuery::default() }), [waits.as_str(), id.as_str()]);
        let of = |agent: &str| ApprovalQuery { all: true, agent: Some(agent.to_owned()), ..ApprovalQuery::default() };
        assert_eq!(listed(of("main")).len(), 2);
        assert!(listed(of("reviewer")).is_empty());
        assert_eq!(listed(ApprovalQuery { decided: true, ..ApprovalQuery::default() }), [id.as_str()]);
        let some = |after: Option<&str>| {
            let after = after.map(str::to_owned);
            listed(ApprovalQuery { all: true, after, limit: Some(1), ..ApprovalQuery::default() })
        };
        assert_eq!((some(None), some(Some(&waits))), (vec![waits.clone()], vec![id.clone()]));
        assert!(some(Some(&id)).is_empty() && some(Some("ap-none")).is_empty());
        assert_eq!(desk.approvals.waiting().unwrap(), 1);
        assert_eq!(desk.approvals.begins(&waits[..6]).unwrap(), [(waits, true)]);
    });
}

#[test]
fn what_is_over_is_forgotten_once_it_is_old() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.decide(&id, &Decision::Reject("no".to_owned()));
        let waits = desk.parked(&writing_of_b(), write_of("/w/b", "new\n"));
        let over = desk.approvals.show(&id).unwrap().expires_at;
        let all = || desk.approvals.list(&ApprovalQuery { all: true, ..ApprovalQuery::default() }).unwrap().len();
        // What can still be used is never old, whatever is asked for.
        assert_eq!((desk.approvals.collect(i64::MAX).unwrap(), all()), (0, 2));
        ground.wait(30 * 24 * 3600);
        assert_eq!((desk.approvals.collect(over).unwrap(), all()), (0, 2));
        assert_eq!(desk.approvals.collect(over + 60_000).unwrap(), 2);
        assert_eq!(all(), 0);
        assert!(desk.approvals.show(&waits).is_err());
    });
}
