//! A Workspace or two in a temporary directory, a command run there, and each test run as root and as another user.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use super::could_not_run::tell;
use paddock_core::{CommandLine, CommandRunner as _, CommandSettings, CommandSpec, NotRun, Vfs};
use paddock_exec::{Command, Ended, Error, How, Output, Protections, Runner, Sandbox, Shown, Stage};
use paddock_stores::conformance::world::{path_of, with_call};

const AS: &str = "PADDOCK_EXEC_TEST_AS";
const NOBODY: u32 = 65534;

/// Runs a test body as whoever runs the tests and, when that is root, once more as an ordinary user.
pub fn as_each_user(name: &str, body: impl Fn()) {
    body();
    if std::env::var_os(AS).is_some() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        tell("the sandbox as root: these tests are run by an ordinary user");
        return;
    }
    let name = name.split_once("::").map_or(name, |(_, rest)| rest);
    let program = program_for_everyone();
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(AS, "nobody")
        .env("TMPDIR", "/tmp")
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .expect("the test starts again as an ordinary user");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "as an ordinary user: {text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Says that this machine could not run the test that is running, or a part of it, as the user that runs it.
pub fn could_not_run(why: &str) {
    let user = if rustix::process::geteuid().is_root() { "" } else { " (as an ordinary user)" };
    super::could_not_run::could_not_run(&format!("{why}{user}"));
}

/// This test binary, where an ordinary user can start it.
fn program_for_everyone() -> PathBuf {
    std::env::current_exe().expect("a test knows its own program")
}

#[macro_export]
macro_rules! as_each_user {
    ($(fn $name:ident() $body:block)*) => {$(
        #[test]
        fn $name() {
            $crate::main::harness::as_each_user(concat!(module_path!(), "::", stringify!($name)), || $body);
        }
    )*};
}

/// A directory of the host with a Workspace `w` in it, and whatever a test adds.
pub struct Yard {
    pub dir: tempfile::TempDir,
}

/// The kernel leaves a directory that is closed even to its owner, which a temporary directory does not remove.
impl Drop for Yard {
    fn drop(&mut self) {
        let _ = paddock_exec::staged::remove_tree(self.dir.path());
    }
}

impl Yard {
    pub fn new() -> Yard {
        let dir = tempfile::Builder::new().prefix("paddock-exec-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["w", "upper", "work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Yard { dir }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub fn write(&self, relative: &str, content: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    pub fn has(&self, relative: &str) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok()
    }

    pub fn shown(&self, how: How) -> Shown {
        Shown::host("/project", self.path("w"), how)
    }

    pub fn read_only(&self) -> Shown {
        self.shown(How::ReadOnly)
    }

    pub fn direct(&self) -> Shown {
        self.shown(How::Direct)
    }

    /// Staged in `upper` and `work`: for one run.
    pub fn staged(&self) -> Shown {
        self.shown(How::Staged(Stage { upper: self.path("upper"), work: self.path("work"), held: Vec::new() }))
    }

    /// Staged in a layer of its own, for a test that runs more than one command.
    pub fn staged_anew(&self) -> Shown {
        let directory = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
        self.shown(How::Staged(Stage::create(&directory).unwrap()))
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    pub ended: Ended,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn code(&self) -> i32 {
        self.ended.exit.code()
    }

    #[track_caller]
    pub fn well(self) -> Ran {
        assert_eq!(self.code(), 0, "{self:?}");
        self
    }

    #[track_caller]
    pub fn badly(self) -> Ran {
        assert_ne!(self.code(), 0, "{self:?}");
        self
    }
}

pub fn sh(shown: Vec<Shown>, text: &str) -> Ran {
    ran(Sandbox::new(shown, Command::shell("/project", text)))
}

pub fn sh_without(shown: Vec<Shown>, text: &str, without: impl FnOnce(&mut Protections)) -> Ran {
    let mut protections = Protections::ALL;
    without(&mut protections);
    ran(Sandbox::new(shown, Command::shell("/project", text)).with_protections(protections))
}

pub fn ran(sandbox: Sandbox) -> Ran {
    try_run(sandbox).unwrap_or_else(|error| panic!("{error}"))
}

pub fn try_run(sandbox: Sandbox) -> Result<Ran, Error> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ended = paddock_exec::run(sandbox, &|| false, &mut |piece| match piece {
        Output::Out(bytes) => out.extend_from_slice(bytes),
        Output::Err(bytes) => err.extend_from_slice(bytes),
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran { ended, out: text(out), err: text(err) })
}

/// All paths below a directory, sorted, for comparing.
pub fn tree(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![top.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            found.push(entry.path().strip_prefix(top).unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// Runs a test body in a process of its own, so that other tests do not come and go meanwhile.
pub fn alone(name: &str, body: impl FnOnce()) {
    const ALONE: &str = "PADDOCK_EXEC_TEST_ALONE";
    if std::env::var(ALONE).as_deref() == Ok(name) {
        return body();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("main::{name}"), "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .env(AS, "this")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a text in a Workspace, as a tool has it run: what came of it, and what it printed.
pub fn run_text(
    runner: &Runner,
    vfs: &Vfs,
    prefix: &str,
    text: &str,
    direct: bool,
) -> Result<(paddock_core::Ran, String), NotRun> {
    let settings = CommandSettings { direct, ..CommandSettings::default() };
    let directory = path_of(prefix);
    let spec = CommandSpec {
        command: CommandLine::Shell(text),
        vfs,
        directory: &directory,
        confined: false,
        spared: &[],
        settings: &settings,
        time_limit: settings.limits.time,
        cpu_limit: settings.limits.cpu,
        input: None,
    };
    let mut printed = Vec::new();
    let mut keep = |piece: paddock_core::Output<'_>| {
        if let paddock_core::Output::Out(bytes) = piece {
            printed.extend_from_slice(bytes);
        }
        ControlFlow::Continue(())
    };
    let ran = with_call(|call| runner.run(call, &spec, &mut keep))?;
    Ok((ran, String::from_utf8_lossy(&printed).into_owned()))
}
