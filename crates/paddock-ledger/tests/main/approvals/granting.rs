//! What is allowed for longer than one call covers exactly what it says, and never a higher risk.

use paddock_core::{Operation, Preview, Risk};
use paddock_db::rusqlite;
use paddock_ledger::approvals::{ApprovalError, Decision, Reach, Status};

use super::{Ask, Desk, Ground, Stopped, on_both, path, to_new, write_of, writing};

fn is_parked(desk: &Desk, ask: &Ask, operation: Operation) -> bool {
    matches!(desk.call(ask, operation), Err(Stopped::Parked(_)))
}

/// A first call was approved with this reach, and made.
fn granted(ground: &Ground, reach: Reach, risk: Risk) -> Desk {
    let desk = ground.desk();
    let mut ask = writing();
    (ask.risk, ask.terms.above) = (risk, Risk::Low);
    let id = desk.parked(&ask, to_new());
    desk.approve(&id, reach);
    desk.call(&ask, to_new()).unwrap();
    desk
}

#[test]
fn once_is_no_grant() {
    on_both(|ground| {
        let desk = granted(ground, Reach::Once, Risk::High);
        assert!(desk.approvals.grants().unwrap().is_empty());
        assert!(is_parked(&desk, &writing(), to_new()));
    });
}

#[test]
fn exact_covers_this_call_and_no_other() {
    on_both(|ground| {
        let desk = granted(ground, Reach::Exact, Risk::High);
        for _ in 0..3 {
            ground.desk().write().unwrap();
        }
        let mut other_session = writing();
        other_session.requester.session = "s2".to_owned();
        desk.call(&other_session, to_new()).unwrap();
        let other = Ask::of("write_file", r#"{"content":"x","path":"/w/a"}"#);
        assert!(is_parked(&desk, &other, write_of("/w/a", "x")));
        let other_tool = Ask::of("append_file", &writing().arguments);
        assert!(is_parked(&desk, &other_tool, to_new()));
        let grant = &desk.approvals.grants().unwrap()[0];
        assert_eq!((grant.reach(), grant.granted_by.as_str()), (Reach::Exact, "alice"));
        assert!(grant.uses >= 4 && grant.last_used.is_some(), "{grant:?}");
    });
}

#[test]
fn session_covers_the_tool_in_that_session() {
    on_both(|ground| {
        let desk = granted(ground, Reach::Session, Risk::High);
        let other = Ask::of("write_file", r#"{"content":"x","path":"/w/b"}"#);
        ground.desk().call(&other, write_of("/w/b", "x")).unwrap();
        let mut other_session = other.clone();
        other_session.requester.session = "s2".to_owned();
        assert!(is_parked(&desk, &other_session, write_of("/w/b", "x")));
        let delete = Ask::of("delete_file", r#"{"path":"/w/b"}"#);
        assert!(is_parked(&desk, &delete, Operation::Delete { path: path("/w/b"), recursive: false }));
    });
}

#[test]
fn always_covers_the_tool_on_that_path() {
    on_both(|ground| {
        let desk = granted(ground, Reach::Always, Risk::High);
        let mut other = Ask::of("write_file", r#"{"content":"x","path":"/w/a"}"#);
        other.requester.session = "s2".to_owned();
        ground.desk().call(&other, write_of("/w/a", "x")).unwrap();
        let elsewhere = Ask::of("write_file", r#"{"content":"x","path":"/w/b"}"#);
        assert!(is_parked(&desk, &elsewhere, write_of("/w/b", "x")));
        // A path below it is another path.
        let below = Ask::of("write_file", r#"{"content":"x","path":"/w/ab"}"#);
        assert!(is_parked(&desk, &below, write_of("/w/ab", "x")));
    });
}

#[test]
fn no_grant_covers_a_higher_risk_or_another_agent() {
    for reach in [Reach::Exact, Reach::Session, Reach::Always] {
        on_both(|ground| {
            let mut desk = granted(ground, reach, Risk::Medium);
            let mut ask = writing();
            (ask.risk, ask.terms.above) = (Risk::Medium, Risk::Low);
            desk.call(&ask, to_new()).unwrap();
            ask.risk = Risk::High;
            assert!(is_parked(&desk, &ask, to_new()), "{reach:?}");
            ask.risk = Risk::Medium;
            desk.agent = paddock_core::AgentName::parse("reviewer").unwrap();
            assert!(is_parked(&desk, &ask, to_new()), "{reach:?}");
        });
    }
}

#[test]
fn a_grant_that_is_revoked_covers_nothing() {
    on_both(|ground| {
        let desk = granted(ground, Reach::Always, Risk::High);
        let id = desk.approvals.grants().unwrap()[0].id.clone();
        ground.desk().approvals.revoke(&id).unwrap();
        assert!(is_parked(&desk, &writing(), to_new()));
        assert!(desk.approvals.grants().unwrap().is_empty());
        assert!(matches!(desk.approvals.revoke(&id), Err(ApprovalError::NoGrant(_))));
    });
}

#[test]
fn a_grant_that_is_revoked_before_it_was_used_leaves_no_decision_behind() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        desk.approve(&id, Reach::Exact);
        let grant = desk.approvals.grants().unwrap()[0].id.clone();
        desk.approvals.revoke(&grant).unwrap();
        assert!(is_parked(&desk, &writing(), to_new()));
        assert_eq!(ground.text("a").as_deref(), Some("old\n"));
    });
}

#[test]
fn nobody_allows_for_longer_what_they_did_not_see_whole() {
    on_both(|ground| {
        let desk = ground.desk();
        let mut ask = writing();
        ask.preview = Preview::in_words("…");
        let id = desk.parked(&ask, to_new());
        for reach in [Reach::Session, Reach::Always] {
            let decided = desk.approvals.decide(&id, None, "alice", &Decision::Approve(reach));
            assert!(matches!(decided, Err(ApprovalError::NotWhole(_))), "{decided:?}");
        }
        desk.approve(&id, Reach::Once);
        desk.call(&ask, to_new()).unwrap();
    });
}

#[test]
fn a_decision_whose_grant_cannot_be_kept_is_not_kept_either() {
    let ground = Ground::on(None);
    let desk = ground.desk();
    let id = desk.parked(&writing(), to_new());
    let behind = rusqlite::Connection::open(ground.dir.path().join("state.db")).unwrap();
    behind.execute("ALTER TABLE approval_grant RENAME TO elsewhere", []).unwrap();
    let decided = desk.approvals.decide(&id, None, "alice", &Decision::Approve(Reach::Always));
    assert!(matches!(decided, Err(ApprovalError::Database(_))), "{decided:?}");
    behind.execute("ALTER TABLE elsewhere RENAME TO approval_grant", []).unwrap();
    assert_eq!(desk.approvals.show(&id).unwrap().status, Status::Pending);
    desk.approve(&id, Reach::Always);
}
