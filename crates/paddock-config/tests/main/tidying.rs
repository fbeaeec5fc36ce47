//! Letting go of the past, and holding still while somebody copies it; whose key signs it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use paddock_config::{ConfigFile, Installation, Settings, build};
use paddock_core::{AgentName, Before, Call, CallId, Cancel};
use paddock_db::DbError;
use paddock_db::postgres_testing::Database;
use paddock_ledger::history::{Page, Spot};
use paddock_state::{HomeSources, SystemRoot};
use paddock_stores::conformance::world::Open;

use crate::support::{Project, write};

/// The rows of a copy speak of chunks that are copied after them: these must not go in between.
#[test]
fn nothing_is_let_go_of_while_a_copy_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let sources = HomeSources { option: Some(dir.path().join("home")), ..HomeSources::default() };
    let system = SystemRoot::resolve(&sources, None).unwrap();
    let settings = Settings::of(dir.path().join("project"), None, &paddock_state::Secrets::none()).unwrap();
    let installation = Installation::claim(&system, &settings).unwrap();
    let (agent, cancel) = (AgentName::main(), Cancel::default());
    let deadline = Instant::now() + Duration::from_secs(60);
    let call = Call { id: CallId::next(), agent: &agent, cancel: &cancel, deadline };
    installation.base().stage(&call, &[b"nobody names it"]).unwrap();
    let (_, content) = installation.databases()[1];
    content
        .write(deadline, |tx| {
            tx.execute("UPDATE chunk SET staged = 0", ()).map(drop).map_err(|error| content.error(error))
        })
        .unwrap();
    let chunks = || -> i64 {
        let count = |conn: &paddock_db::rusqlite::Connection| {
            conn.query_row("SELECT count(*) FROM chunk", (), |row| row.get(0)).map_err(|error| content.error(error))
        };
        content.read::<_, DbError>(count).unwrap()
    };
    let (copying, another) = (installation.hold_still().unwrap(), installation.hold_still().unwrap());
    installation.tidy().unwrap();
    drop(another);
    installation.tidy().unwrap();
    assert_eq!(chunks(), 1, "whoever copies keeps it");
    drop(copying);
    installation.tidy().unwrap();
    assert_eq!(chunks(), 0);
}

/// What a Virtual Store keeps is in the same bound as what a Physical one does.
#[test]
fn what_a_virtual_store_keeps_counts() {
    let project = Project::new();
    let text = "[virtual]\nhistory = { size = \"1 KiB\" }\n\
                [[workspace]]\nprefix = \"/n\"\nscope = \"RW\"\nmount = { virtual = \"n\" }\n";
    let file = ConfigFile::parse("paddock.toml", text).unwrap();
    let settings = Settings::of(project.root.clone(), Some(&file), &paddock_state::Secrets::none()).unwrap();
    let installation = Installation::claim(&project.system_root(), &settings).unwrap();
    let policy = build(&file, &AgentName::main(), &project.host(), &installation.ports(Arc::new(Open))).unwrap();
    for n in 0..10 {
        write(&policy, "/n/a", &n.to_string().repeat(300)).unwrap();
    }
    installation.tidy().unwrap();
    let history = installation.history().unwrap();
    let rows = history.log(&Spot::find(&policy.vfs, &policy.path("/n/a").unwrap()).unwrap(), Page::first(99)).unwrap();
    let kept = rows.iter().filter(|row| matches!(row.before, Before::Kept(_))).count();
    assert_eq!((rows.len(), kept), (10, 3), "as many as there is room for");
}

/// Machines that share a state share the key, and one without it must not make another.
#[test]
fn a_second_machine_without_the_key_is_refused_and_makes_none() {
    let database = Database::fresh();
    let text = format!("name = \"p\"\n[state]\nurl = \"{}\"\nid = \"shared\"", database.url());
    let file = ConfigFile::parse("paddock.toml", &text).unwrap();
    let claimed = |project: &Project| {
        let settings = Settings::of(project.root.clone(), Some(&file), &paddock_state::Secrets::none()).unwrap();
        Installation::claim(&project.system_root(), &settings)
    };
    let (one, two) = (Project::new(), Project::new());
    let first = claimed(&one).unwrap();
    let recorded = |installation: &Installation| {
        let (agent, now) = (AgentName::main(), std::time::SystemTime::now());
        let log = installation.audit_log().unwrap();
        log.intent(CallId::next(), (&agent, None), "write", "/a", None, now).unwrap();
        log.flush().unwrap();
    };
    recorded(&first);
    let refused = claimed(&two).unwrap_err();
    assert!(refused.to_string().contains("signed with another key"), "{refused}");
    assert!(refused.hint().contains("share secrets/audit.key"), "{}", refused.hint());
    let key = two.system_root().audit_key();
    assert!(!key.exists(), "it made none");
    std::fs::create_dir_all(key.parent().unwrap()).unwrap();
    std::fs::copy(one.system_root().audit_key(), &key).unwrap();
    recorded(&claimed(&two).unwrap());
    // One that has a key of its own is told so at once too.
    let three = Project::new();
    let alone = Settings::of(three.root.clone(), None, &paddock_state::Secrets::none()).unwrap();
    drop(Installation::claim(&three.system_root(), &alone).unwrap());
    assert!(three.system_root().audit_key().exists());
    assert!(claimed(&three).unwrap_err().to_string().contains("signed with another key"));
}
