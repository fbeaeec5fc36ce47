//! One server, started for a run and thrown away after it.
//!
//! PostgreSQL refuses to run as the superuser, so there it is given to another user. It is told to end when this
//! program does, however that happens.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::install;
use crate::process;

const PASSWORD: &str = "test-password";
const PATIENCE: Duration = Duration::from_secs(60);
/// It keeps nothing, so it need not wait for the disk; and it is small, since the tests want the memory.
const SETTINGS: &[&str] =
    &["fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=300"];

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    place: tempfile::TempDir,
    port: u16,
    process: Option<Child>,
}

impl Server {
    pub(crate) fn start() -> Result<Self> {
        let place = tempfile::Builder::new().prefix("paddock-postgres-").tempdir()?;
        give_away(place.path())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = Self { place, port, process: None };
        server.initialize()?;
        server.process = Some(server.launch()?);
        server.wait_until_ready()?;
        Ok(server)
    }

    /// The url of its superuser.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.place.path().join("log")
    }

    fn initialize(&self) -> Result<()> {
        let password = self.place.path().join("password");
        fs::write(&password, PASSWORD)?;
        let mut command = as_other_user("initdb")?;
        command.arg("-D").arg(self.data()).arg("--pwfile").arg(&password);
        command.args(["-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", "--auth=scram-sha-256"]);
        process::logged(&mut command, &self.log())
    }

    fn launch(&self) -> Result<Child> {
        let log = fs::File::create(self.log())?;
        let mut command = as_other_user("postgres")?;
        command.arg("-D").arg(self.data()).arg("-k").arg(self.place.path());
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.spawn().context("cannot start postgres")
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let file = self.data().join("postmaster.pid");
        while !fs::read_to_string(&file).is_ok_and(|said| said.lines().last().is_some_and(|l| l.trim() == "ready")) {
            let over = match &mut self.process {
                Some(child) => child.try_wait()?.is_some(),
                None => true,
            };
            let said = || fs::read_to_string(self.log()).unwrap_or_default();
            ensure!(!over && Instant::now() < end, "PostgreSQL does not start:\n{}", said().trim_end());
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.process.take() {
            // Its processes notice when it is gone; its data is thrown away.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether we may do anything on this machine.
pub(crate) fn is_superuser() -> bool {
    let said = Command::new("id").arg("-u").output();
    said.is_ok_and(|said| said.stdout == b"0\n")
}

/// A program of PostgreSQL as a user it runs for, ending when we do.
fn as_other_user(program: &str) -> Result<Command> {
    let path = install::find(program).with_context(|| format!("{program} is not installed"))?;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_superuser() {
        let user = other_user()?;
        command.args(["--reuid", &user, "--regid", &group_of(&user)?, "--clear-groups"]);
    }
    command.arg("--").arg(path).current_dir("/");
    Ok(command)
}

fn give_away(place: &Path) -> Result<()> {
    if is_superuser() {
        let status = Command::new("chown").arg(other_user()?).arg(place).status()?;
        ensure!(status.success(), "cannot give \"{}\" to another user", place.display());
    }
    // What is in it is still its owner's alone, and the password file is read by name.
    let status = Command::new("chmod").arg("755").arg(place).status()?;
    ensure!(status.success(), "cannot open \"{}\" to another user", place.display());
    Ok(())
}

fn other_user() -> Result<String> {
    let known = |user: &str| Command::new("id").arg(user).output().is_ok_and(|said| said.status.success());
    let found = ["postgres", "nobody"].into_iter().find(|user| known(user));
    found.map(str::to_owned).context("no user to run PostgreSQL as")
}

fn group_of(user: &str) -> Result<String> {
    let said = Command::new("id").args(["-g", user]).output()?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
