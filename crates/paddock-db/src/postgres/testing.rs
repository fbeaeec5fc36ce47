//! Real servers for tests: one that is one's own, and a fresh database on a shared one.
//!
//! Owns starting, stopping and killing PostgreSQL. It refuses to run as root, so there it is started as another
//! user. Only for tests, behind the feature `testing`: what goes wrong here panics with what the server said.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::connection::{Connector, random};
use super::url::Settings;
use super::wait;
use crate::{Postgres, Schema};

/// Holds the url of a superuser on a server that is there for the tests.
pub const SHARED: &str = "PADDOCK_TEST_POSTGRES";
const PASSWORD: &str = "test-password";
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of one's own, gone when dropped.
#[derive(Debug)]
pub struct Cluster {
    place: PathBuf,
    port: u16,
    settings: Vec<String>,
    server: Mutex<Option<Child>>,
}

impl Cluster {
    /// One that forgets nothing when killed, whatever the power does.
    pub fn start() -> Self {
        Self::with(&["fsync=off"])
    }

    /// One with settings of its own, as `name=value`.
    pub fn with(settings: &[&str]) -> Self {
        let place = fresh_place();
        let password = place.join("password");
        fs::write(&password, PASSWORD).unwrap();
        let mut init = as_other_user("initdb");
        init.arg("-D").arg(place.join("data")).arg("--pwfile").arg(&password);
        init.args(["-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]);
        init.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
        let done = init.output().expect("initdb starts; install PostgreSQL");
        assert!(done.status.success(), "initdb: {}", String::from_utf8_lossy(&done.stderr));
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let cluster = Self { place, port: free_port(), settings, server: Mutex::new(None) };
        cluster.restart();
        cluster
    }

    /// Starts it again after [`Self::kill`] or [`Self::stop`].
    pub fn restart(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut child = self.launch();
            // What is left of a killed server keeps its memory for a moment, and the next one does not start.
            while child.try_wait().unwrap().is_none() {
                if self.is_ready(&child) {
                    *self.server.lock().unwrap() = Some(child);
                    return;
                }
                assert!(Instant::now() < end, "the server does not start: {}", self.log());
                thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < end, "the server does not start: {}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn launch(&self) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.place.join("log")).unwrap();
        let mut command = as_other_user("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.place);
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command.args(["-c", "max_connections=200", "-c", "shared_buffers=16MB"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.spawn().expect("postgres starts")
    }

    fn is_ready(&self, child: &Child) -> bool {
        let said = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let mut lines = said.lines();
        lines.next() == Some(&child.id().to_string()) && lines.last().is_some_and(|last| last.trim() == "ready")
    }

    /// Ends it as an administrator would, cutting off who is connected.
    pub fn stop(&self) {
        if let Some(mut child) = self.server.lock().unwrap().take() {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            child.wait().unwrap();
        }
    }

    /// Ends it and each of its processes at once, as they stand.
    pub fn kill(&self) {
        if let Some(mut child) = self.server.lock().unwrap().take() {
            let parts = children_of(child.id());
            child.kill().unwrap();
            for part in parts {
                // One that is gone already is as dead as the others.
                let _ = kill_process(part, Signal::KILL);
            }
            child.wait().unwrap();
        }
    }

    /// Where its data is.
    pub fn data(&self) -> PathBuf {
        self.place.join("data")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.place.join("log")).unwrap_or_default()
    }

    /// The url of a superuser over TCP.
    pub fn url(&self) -> String {
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// A database of one's own, empty; gone when dropped.
#[derive(Debug)]
pub struct Database {
    name: String,
    admin: String,
    /// Kept for as long as somebody uses it.
    _cluster: Option<Arc<Cluster>>,
}

impl Database {
    /// On the shared server when there is one, else on one that the databases of this process share.
    pub fn fresh() -> Self {
        static OURS: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        if let Ok(url) = std::env::var(SHARED) {
            return Self::on(&url, None);
        }
        let mut ours = OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cluster = ours.upgrade().unwrap_or_else(|| Arc::new(Cluster::start()));
        *ours = Arc::downgrade(&cluster);
        Self::on(&cluster.url(), Some(cluster.clone()))
    }

    fn on(admin: &str, cluster: Option<Arc<Cluster>>) -> Self {
        let name = format!("test_{}_{:x}", std::process::id(), random());
        run(admin, &format!("CREATE DATABASE {name}"));
        Self { name, admin: admin.to_owned(), _cluster: cluster }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its url.
    pub fn url(&self) -> String {
        self.url_with("")
    }

    /// Its url with more parameters, as `a=b&c=d`.
    pub fn url_with(&self, parameters: &str) -> String {
        with_database(&self.admin, &self.name, parameters)
    }

    /// Opens it.
    pub fn open(&self, schemas: &[Schema]) -> Postgres {
        Postgres::new(&self.url(), schemas.to_vec()).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !thread::panicking() {
            run(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// The url of another database of the same server.
pub fn with_database(url: &str, name: &str, parameters: &str) -> String {
    let (start, query) = url.split_once('?').unwrap_or((url, ""));
    let server = start.rsplit_once('/').unwrap().0;
    let query: Vec<&str> = [query, parameters].into_iter().filter(|part| !part.is_empty()).collect();
    format!("{server}/{name}{}{}", if query.is_empty() { "" } else { "?" }, query.join("&"))
}

/// Runs statements outside of any transaction.
pub fn run(url: &str, sql: &str) {
    let connector = Arc::new(Connector::new(Settings::parse(url).unwrap()));
    let deadline = Instant::now() + PATIENCE;
    let connection = connector.open(deadline).unwrap();
    wait::until(deadline, connection.client.batch_execute(sql)).expect("an answer").unwrap();
}

/// The first value that a statement answers, asked outside of any transaction.
pub fn ask(url: &str, sql: &str) -> Option<String> {
    let connector = Arc::new(Connector::new(Settings::parse(url).unwrap()));
    let deadline = Instant::now() + PATIENCE;
    let connection = connector.open(deadline).unwrap();
    let answer = wait::until(deadline, connection.client.simple_query(sql)).expect("an answer").unwrap();
    answer.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}

/// A program, as a user who is not root. The server's are where Debian has them, or on the path.
pub fn as_other_user(program: &str) -> Command {
    let program = program_path(program);
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = other_user();
    command.arg(format!("--reuid={}", user.0)).arg(format!("--regid={}", user.1)).args(["--clear-groups", "--"]);
    command.arg(program).current_dir("/");
    command
}

fn program_path(program: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            let path = version.path().join("bin").join(program);
            path.exists().then_some((number, path))
        })
        .collect();
    found.sort();
    let sbin = Path::new("/usr/sbin").join(program);
    match found.pop() {
        Some((_, path)) => path,
        None if sbin.exists() => sbin,
        None => program.into(),
    }
}

/// The number and the group of `postgres`, or of `nobody`.
fn other_user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse::<u32>());
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    of("postgres").or_else(|| of("nobody")).expect("a user who is not root")
}

/// A directory that the other user owns; short, since the path of a socket is.
pub fn fresh_place() -> PathBuf {
    let place = std::env::temp_dir().join(format!("paddock-pg-{:x}", random()));
    fs::create_dir(&place).unwrap();
    give_away(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// Makes the other user the owner.
pub fn give_away(path: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = other_user();
    chown(path, Some(user), Some(group))
}

/// A port nobody has just now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn children_of(parent: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |number: &i32| {
        let said = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        // The second field is a name that may hold anything; what counts comes after it.
        let after = said.rsplit_once(')').map_or("", |(_, after)| after);
        after.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    };
    numbers.filter(is_child).filter_map(Pid::from_raw).collect()
}
