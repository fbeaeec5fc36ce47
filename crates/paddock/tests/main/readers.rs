//! Thousands who listen to the events of one `paddock serve`, each over a connection of its own: all are told, one more than there is
//! room for is refused, and the others are served meanwhile.

use std::net::TcpStream;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::harness::{World, eventually};
use crate::server::{Listener, Server, token};

/// How many come at once before it is looked who was let in.
const AT_ONCE: usize = 256;
/// Fewer than these are no crowd.
const CROWD: usize = 1000;
/// How many files a process may have open until it asks for more; fewer than a crowd, as many hosts have it.
const UNASKED: usize = 512;

const CONFIG: &str = r#"
[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
"#;

/// A server on a host that allows few open files to who does not ask for more.
fn frugally(world: &World) -> Server {
    let program = Server::command(world);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -S -n {UNASKED} && exec \"$0\" \"$@\"")]);
    command.arg(program.get_program()).args(program.get_args());
    command
        .current_dir(world.project())
        .env_clear()
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Server::spawn(command)
}

/// The tests hold the other end of each connection.
fn hold_many_connections() {
    let allowed = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: allowed.maximum, ..allowed }).unwrap();
}

#[test]
fn thousands_listen_and_are_told_and_one_too_many_is_refused() {
    hold_many_connections();
    let world = World::configured(CONFIG);
    let (agent, api) = (token(&world, &["agent"]), token(&world, &["program", "--api"]));
    let server = frugally(&world);
    let asks = || server.request("GET", "/api/v1/events").bearer(&api);
    let mut readers = Vec::new();
    loop {
        let coming: Vec<TcpStream> = (0..AT_ONCE).map(|_| asks().open()).collect();
        let before = readers.len();
        readers.extend(coming.into_iter().filter_map(Listener::let_in));
        if readers.len() < before + AT_ONCE {
            break;
        }
    }
    assert!(readers.len() >= CROWD, "{} and no more may listen", readers.len());
    let refused = asks();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("too many listen already"), "{}", refused.text());

    // Who does not listen is served as ever, and everybody who does hears of it.
    let written = server.call(&agent, "write_file", &json!({ "path": "/notes/a.txt", "content": "a" }));
    assert!(!written.contains("\"isError\":true"), "{written}");
    for reader in &mut readers {
        assert_eq!(reader.next()["path"], "/notes/a.txt");
    }
    // Where one goes, another may come.
    readers.pop();
    assert!(eventually(|| Listener::let_in(asks().open()).is_some()), "a place that is left stays taken");
}
