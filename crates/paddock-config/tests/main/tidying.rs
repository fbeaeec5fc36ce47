//! Letting go of the past, and holding still while somebody copies it.

use std::time::{Duration, Instant};

use paddock_config::{Installation, Settings};
use paddock_core::{AgentName, Call, CallId, Cancel};
use paddock_db::DbError;
use paddock_state::{HomeSources, SystemRoot};

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
