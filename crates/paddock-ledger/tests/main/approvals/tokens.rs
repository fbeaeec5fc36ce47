//! The token of a decision: every attack on it has its own reason.

use paddock_core::Risk;
use paddock_ledger::approvals::{Decision, Reach};

use super::{Ask, Desk, Ground, Stopped, on_both, to_new, write_of, writing};

/// Of a run: its decisions come back with their tokens.
fn of_thread() -> Ask {
    let mut ask = writing();
    (ask.requester.thread, ask.requester.user) = (Some("t1".to_owned()), Some("alice".to_owned()));
    ask
}

fn approved(ground: &Ground) -> (Desk, String) {
    let desk = ground.desk();
    let id = desk.parked(&of_thread(), to_new());
    let token = desk.approve(&id, Reach::Once).token.unwrap();
    (desk, token)
}

fn why(desk: &Desk, ask: &Ask) -> &'static str {
    match desk.call(ask, to_new()) {
        Err(Stopped::Refused(name, _)) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_lets_one_call_through_once() {
    on_both(|ground| {
        let (desk, token) = approved(ground);
        let ask = of_thread().with_token(&token);
        desk.call(&ask, to_new()).unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("new\n"));
        ground.store.plant("a", "again\n");
        assert_eq!(why(&ground.desk(), &ask), "token_used");
        assert_eq!(ground.text("a").as_deref(), Some("again\n"));
    });
}

#[test]
fn without_its_token_a_run_goes_on_waiting() {
    on_both(|ground| {
        let (desk, _) = approved(ground);
        assert!(matches!(desk.call(&of_thread(), to_new()), Err(Stopped::Parked(_))));
    });
}

#[test]
fn every_attack_is_refused_for_its_own_reason() {
    on_both(|ground| {
        let (desk, token) = approved(ground);
        let good = of_thread().with_token(&token);
        let attack = |change: &dyn Fn(&mut Ask)| {
            let mut ask = good.clone();
            change(&mut ask);
            why(&desk, &ask)
        };
        assert_eq!(attack(&|ask| ask.requester.thread = Some("t2".to_owned())), "token_thread");
        assert_eq!(attack(&|ask| ask.requester.thread = None), "token_thread");
        assert_eq!(attack(&|ask| ask.requester.user = Some("bob".to_owned())), "token_user");
        assert_eq!(attack(&|ask| ask.tool = "append_file"), "token_tool");
        assert_eq!(attack(&|ask| ask.arguments.push(' ')), "token_arguments");
        assert_eq!(attack(&|ask| ask.terms.policy = "p2".to_owned()), "token_policy");
        // Also where nobody would be asked.
        assert_eq!(
            attack(&|ask| {
                ask.risk = Risk::Low;
                ask.tool = "append_file";
            }),
            "token_tool"
        );
        ground.store.plant("a", "somebody else's\n");
        assert_eq!(attack(&|_| ()), "token_state");
        ground.wait(101);
        assert_eq!(attack(&|_| ()), "token_expired");
        assert_eq!(ground.text("a").as_deref(), Some("somebody else's\n"));
    });
}

#[test]
fn what_was_not_signed_here_is_forged() {
    on_both(|ground| {
        let (desk, token) = approved(ground);
        let mut parts = token.split('.');
        let (kind, id, signed) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let flipped: String = signed.chars().map(|c| if c == '0' { '1' } else { '0' }).collect();
        let forged = [
            String::new(),
            "token".to_owned(),
            format!("{kind}.{id}"),
            format!("{kind}.{id}."),
            format!("{kind}.{id}.{signed}.x"),
            format!("{kind}.{id}.{flipped}"),
            format!("{kind}.{id}.{}", &signed[..signed.len() - 1]),
            format!("pat0.{id}.{signed}"),
        ];
        for token in &forged {
            assert_eq!(why(&desk, &of_thread().with_token(token)), "token_forged", "{token}");
        }
        let unknown = format!("{kind}.ap-0000000000.{signed}");
        assert_eq!(why(&desk, &of_thread().with_token(&unknown)), "token_unknown");
        // Another approval's signature is no signature of this one.
        let other = desk.parked(&another(), write_of("/w/b", "x"));
        desk.approve(&other, Reach::Once);
        let mixed = format!("{kind}.{other}.{signed}");
        assert_eq!(why(&desk, &another().with_token(&mixed)), "token_forged");
        desk.call(&of_thread().with_token(&token), to_new()).unwrap();
    });
}

fn another() -> Ask {
    let mut ask = of_thread();
    ask.arguments = r#"{"content":"x","path":"/w/b"}"#.to_owned();
    ask
}

#[test]
fn what_was_not_agreed_to_has_no_token_that_counts() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&of_thread(), to_new());
        let guessed = format!("pat1.{id}.{}", "0".repeat(64));
        assert_eq!(why(&desk, &of_thread().with_token(&guessed)), "token_unknown");
        let decided = desk.decide(&id, &Decision::Reject("no".to_owned()));
        assert_eq!(decided.token, None);
        assert_eq!(why(&desk, &of_thread().with_token(&guessed)), "token_unknown");
    });
}

#[test]
fn an_edited_call_runs_with_the_edited_arguments_once() {
    on_both(|ground| {
        let desk = ground.desk();
        let id = desk.parked(&writing(), to_new());
        let edited = r#"{"content":"mild\n","path":"/w/a"}"#;
        let decided = desk.decide(&id, &Decision::Edit(edited.to_owned()));
        let Err(Stopped::Edited { arguments, token }) = desk.write() else { panic!("not edited") };
        assert_eq!((arguments.as_str(), Some(&token)), (edited, decided.token.as_ref()));
        // The agent's own arguments are not what was agreed to.
        assert_eq!(why(&desk, &writing().with_token(&token)), "token_arguments");
        let mut ask = writing().with_token(&token);
        ask.arguments = arguments;
        desk.call(&ask, write_of("/w/a", "mild\n")).unwrap();
        assert_eq!(ground.text("a").as_deref(), Some("mild\n"));
        assert_eq!(desk.call(&ask, write_of("/w/a", "mild\n")), used());
        assert!(matches!(desk.write(), Err(Stopped::Parked(_))));
    });
}

fn used() -> Result<paddock_core::CallId, Stopped> {
    Err(Stopped::Refused("token_used", "the token was used already".to_owned()))
}
