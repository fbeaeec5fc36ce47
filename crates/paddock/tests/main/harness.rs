//! A world of its own for each test: a home, a project, a clean environment, and outputs that read the same on
//! every machine.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// The sample project of the first specification.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("src/App.tsx", "export default function App() {\n  return <h1>Hola</h1>;\n}\n"),
    ("backend-orchestrator/orchestrator.ts", "export function run() {}\n"),
    ("supabase/schema.sql", "create table memoria (id int);\n"),
    ("memoria/notas.md", "# Notas\n"),
    ("package.json", "{ \"name\": \"proyecto\" }\n"),
    (".env", "TOKEN=never-shown\n"),
];

/// A temporary directory with a home and a project in it.
pub(crate) struct World {
    directory: TempDir,
}

impl World {
    /// An empty project.
    pub(crate) fn empty() -> Self {
        let directory = tempfile::Builder::new().prefix("paddock-test-").tempdir().unwrap();
        let world = Self { directory };
        fs::create_dir(world.home()).unwrap();
        fs::create_dir(world.project()).unwrap();
        world
    }

    /// The sample project, set up by `paddock init`.
    pub(crate) fn seed() -> Self {
        let world = Self::empty();
        for (path, content) in FILES {
            world.write(path, content);
        }
        assert_eq!(world.paddock(&["init"]).code, 0);
        world
    }

    /// An empty project with this configuration.
    pub(crate) fn configured(config: &str) -> Self {
        let world = Self::empty();
        world.write("paddock.toml", config);
        world
    }

    /// The same where nobody wants to be asked, whatever the risk.
    pub(crate) fn unasked(self) -> Self {
        self.write("paddock.toml", format!("{}\n[approvals]\nabove = \"high\"\n", self.read("paddock.toml")));
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.project().join(path).symlink_metadata().is_ok()
    }

    /// The command, with nothing of the person who runs the tests in its environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paddock"));
        command.args(arguments).current_dir(self.project()).env_clear().env("HOME", self.home());
        command.env("TMPDIR", self.directory.path());
        command
    }

    /// Runs `paddock` in the project.
    pub(crate) fn paddock(&self, arguments: &[&str]) -> Ran {
        self.run(self.command(arguments), "")
    }

    /// Runs `paddock` in the project with this on its standard input.
    pub(crate) fn paddock_reading(&self, arguments: &[&str], input: &str) -> Ran {
        self.run(self.command(arguments), input)
    }

    /// The same at a terminal, and the terminal's other side; standard output is a pipe.
    pub(crate) fn at_a_terminal(&self, arguments: &[&str]) -> (Child, File) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = self.command(arguments);
        command.stdin(open()).stderr(open()).stdout(Stdio::piped());
        (command.spawn().unwrap(), File::from(master))
    }

    pub(crate) fn run(&self, mut command: Command, input: &str) -> Ran {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program may end without reading all of it.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        Ran {
            stdout: self.normalised(&output.stdout),
            stderr: self.normalised(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    fn normalised(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let path = self.path();
        let unresolved = self.directory.path();
        let text = text.replace(env!("CARGO_BIN_EXE_paddock"), "[bin]/paddock");
        let hidden = |text: String, path: &Path| text.replace(path.to_str().unwrap(), "[world]");
        hidden(hidden(text, &path), unresolved)
    }
}

/// What became of one run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl Ran {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

/// Everything in one piece, for snapshots.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stdout)?;
        if !self.stderr.is_empty() {
            write!(f, "[stderr]\n{}", self.stderr)?;
        }
        writeln!(f, "[exit {}]", self.code)
    }
}

/// Is a process of the host running that was given this word?
pub(crate) fn runs(word: &str) -> bool {
    let given = |pid: &std::path::Path| {
        std::fs::read(pid.join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| given(&entry.path()))
}

/// Waits until it is so; false when it never was.
pub(crate) fn eventually(what: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
