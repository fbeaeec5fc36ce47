//! What the start of a command costs: `true`, bare, in bubblewrap with like mounts, direct and staged.
//!
//! Figures are printed, never asserted; the ratios of one run are what counts. `cargo run -p paddock-exec --example
//! start -- 200` takes the number of rounds; rounds of all kinds alternate, so that a busy machine slows all alike.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use paddock_exec::{Command, How, Sandbox, Shown, Stage};

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let yard = std::env::temp_dir().join(format!("paddock-start-{}", std::process::id()));
    std::fs::create_dir_all(yard.join("w")).unwrap();
    let mut kinds: Vec<Kind> = vec![
        Kind::new("fork + exec", Box::new(|_| status(&mut Process::new("/bin/true")))),
        Kind::new("bubblewrap", Box::new(|yard: &Path| status(bubblewrap(&mut Process::new("bwrap"), yard)))),
        Kind::new("direct", Box::new(|yard: &Path| sandbox(yard, How::Direct))),
        Kind::new("read-only", Box::new(|yard: &Path| sandbox(yard, How::ReadOnly))),
        Kind::new("staged", Box::new(staged)),
    ];
    for round in 0..rounds + 5 {
        for kind in &mut kinds {
            let began = Instant::now();
            (kind.run)(&yard);
            if round >= 5 {
                kind.times.push(began.elapsed());
            }
        }
    }
    let base = kinds[1].median();
    for kind in &mut kinds {
        let median = kind.median();
        println!("{:<12} {:>9.3} ms  {:>5.2} x bubblewrap", kind.name, median * 1e3, median / base);
    }
    paddock_exec::tidy_up();
    std::fs::remove_dir_all(yard).unwrap();
}

type Run = Box<dyn Fn(&Path)>;

struct Kind {
    name: &'static str,
    run: Run,
    times: Vec<Duration>,
}

impl Kind {
    fn new(name: &'static str, run: Run) -> Kind {
        Kind { name, run, times: Vec::new() }
    }

    fn median(&mut self) -> f64 {
        self.times.sort();
        self.times[self.times.len() / 2].as_secs_f64()
    }
}

fn status(process: &mut Process) {
    assert!(process.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
}

fn sandbox(yard: &Path, how: How) {
    let shown = Shown::host("/project", yard.join("w"), how);
    let ended =
        paddock_exec::run(Sandbox::new(vec![shown], Command::new("/project", ["/bin/true"])), &|| false, &mut |_| {});
    assert_eq!(ended.unwrap().exit.code(), 0);
}

fn staged(yard: &Path) {
    let directory = yard.join("stage");
    std::fs::create_dir(&directory).unwrap();
    sandbox(yard, How::Staged(Stage::create(&directory).unwrap()));
    paddock_exec::staged::remove_tree(&directory).unwrap();
}

/// The mounts of the minimal system and one Workspace.
fn bubblewrap<'a>(process: &'a mut Process, yard: &Path) -> &'a mut Process {
    process.args([
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--clearenv",
        "--cap-drop",
        "ALL",
    ]);
    process.args(["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    for name in ["bin", "sbin", "lib", "lib64"] {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(to) => process.arg("--symlink").arg(to).arg(path),
            Err(_) => process.arg("--ro-bind-try").arg(&path).arg(&path),
        };
    }
    for name in ["alternatives", "ld.so.cache", "mime.types", "ssl/certs", "ca-certificates", "nsswitch.conf", "passwd"]
    {
        let path = Path::new("/etc").join(name);
        process.arg("--ro-bind-try").arg(&path).arg(&path);
    }
    process.arg("--bind").arg(yard.join("w")).args(["/project", "--chdir", "/project", "/bin/true"])
}
