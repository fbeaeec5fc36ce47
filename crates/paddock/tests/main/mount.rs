//! `paddock mount`: the agent's view for a person, with any program. Everything in `on_a_mount` needs a real one.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::harness::World;

const CONFIG: &str = r#"
[[workspace]]
prefix = "/notes"
scope = "READ_ONLY"
mount = { virtual = "notes" }
hide = ["secret"]

[[workspace]]
prefix = "/work/here"
scope = "READ_WRITE"
mount = { virtual = "work" }

[[workspace]]
prefix = "/drop"
scope = "WRITE_ONLY"
mount = { virtual = "drop" }
"#;

fn world() -> World {
    let world = World::configured(CONFIG);
    assert_eq!(world.paddock(&["tool", "write_file", r#"{"path": "/work/here/f", "content": "first"}"#]).code, 0);
    assert_eq!(world.paddock(&["tool", "write_file", r#"{"path": "/drop/f", "content": "in"}"#]).code, 0);
    world
}

/// An empty directory beside the project.
fn empty(world: &World) -> PathBuf {
    let dir = world.path().join("view");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// A `paddock mount` that runs; unmounted whatever becomes of the test.
struct Mounting {
    child: Child,
    dir: PathBuf,
    /// What it said first.
    said: String,
}

impl Mounting {
    fn start(world: &World, options: &[&str]) -> Self {
        let dir = empty(world);
        let mut command = world.command(&["mount", dir.to_str().unwrap()]);
        Self::run(command.args(options).env("PATH", std::env::var_os("PATH").unwrap()), dir)
    }

    fn run(command: &mut Command, dir: PathBuf) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let read = out.read_line(&mut line).unwrap();
            said.push_str(&line);
            if read == 0 || line.contains("the view of") || line == "}\n" {
                break;
            }
        }
        Self { child, dir, said }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.join(path.trim_start_matches('/'))
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Its exit code, once it is over.
    fn code(&mut self) -> Option<i32> {
        for _ in 0..4000 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it does not end");
    }
}

impl Drop for Mounting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.dir).stderr(Stdio::null()).status();
    }
}

fn names(dir: &std::path::Path) -> Vec<String> {
    let mut all: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    all.sort();
    all
}

#[test]
fn what_cannot_be_mounted_on_is_told() {
    let world = world();
    let dir = empty(&world);
    std::fs::write(dir.join("f"), "x").unwrap();
    insta::assert_snapshot!(world.paddock(&["mount", dir.to_str().unwrap()]), @r#"
    [stderr]
    error: "[world]/view" is not empty
    hint: name an empty directory: what is in this one would be covered
    [exit 1]
    "#);
    insta::assert_snapshot!(world.paddock(&["mount", "/no/such/place"]), @r#"
    [stderr]
    error: "/no/such/place" is not a directory that can be reached
    hint: name a directory that exists and that you may enter
    [exit 1]
    "#);
    world.write("inside/keep", "");
    std::fs::remove_file(world.project().join("inside/keep")).unwrap();
    insta::assert_snapshot!(world.paddock(&["mount", "inside"]), @r#"
    [stderr]
    error: "inside" is in a place that agents or Paddock itself use
    hint: name an empty directory outside of the project, as in /tmp
    [exit 2]
    "#);
}

mod on_a_mount {
    use std::fs;

    use super::*;

    #[test]
    fn it_shows_exactly_what_the_agent_sees() {
        let world = world();
        let mut mounting = Mounting::start(&world, &[]);
        let shown = mounting.dir.display().to_string();
        assert_eq!(mounting.said, format!("the view of agent main is on {shown}, read-only\n"));
        assert_eq!(names(&mounting.dir), ["drop", "notes", "work"]);
        assert_eq!(fs::read_to_string(mounting.at("/work/here/f")).unwrap(), "first");
        assert!(fs::write(mounting.at("/work/here/f"), "x").is_err());
        assert!(fs::read(mounting.at("/drop/f")).is_err(), "what the agent cannot see is not shown");
        // What agents change meanwhile is seen.
        let write = r#"{"path": "/work/here/f", "content": "second"}"#;
        assert_eq!(world.paddock(&["tool", "write_file", write]).code, 0);
        assert_eq!(fs::read_to_string(mounting.at("/work/here/f")).unwrap(), "second");
        mounting.signal("INT");
        assert_eq!(mounting.code(), Some(0));
        assert_eq!(names(&mounting.dir), Vec::<String>::new(), "it is unmounted");
    }

    #[test]
    fn it_tells_programs_what_is_where() {
        let world = world();
        let mut mounting = Mounting::start(&world, &["--json"]);
        let told: serde_json::Value = serde_json::from_str(&mounting.said).unwrap();
        assert_eq!(told["agent"], "main");
        assert_eq!(told["writable"], false);
        assert_eq!(told["workspaces"], serde_json::json!(["/drop", "/notes", "/work/here"]));
        assert_eq!(told["directory"], mounting.dir.to_str().unwrap());
        mounting.signal("TERM");
        assert_eq!(mounting.code(), Some(0));
    }

    #[test]
    fn with_write_each_close_is_the_persons_recorded_and_undoable_act() {
        let world = world();
        let mut mounting = Mounting::start(&world, &["--write"]);
        fs::write(mounting.at("/notes/n"), "by a person").unwrap();
        fs::write(mounting.at("/work/here/f"), "replaced").unwrap();
        assert_eq!(fs::read_to_string(mounting.at("/drop/f")).unwrap(), "in", "to a person every scope is read-write");
        assert!(fs::write(mounting.at("/notes/secret"), "x").is_err(), "hidden names still hold");
        assert!(fs::write(mounting.at("/work/here/.envrc"), "x").is_err(), "and guarded ones");
        let read = |path: &str| world.paddock(&["tool", "read_file", &format!(r#"{{"path": "{path}"}}"#)]);
        assert!(read("/notes/n").stdout.contains("by a person"));
        let rows = world.paddock(&["audit", "query", "--tool", "mount", "--json"]).stdout;
        let done = rows.matches("\"done\"").count();
        assert_eq!(done, 2, "each close is one call: {rows}");
        let risks = [rows.matches("\"low\"").count(), rows.matches("\"medium\"").count()];
        assert_eq!(risks, [1, 1], "a new file and one that is replaced: {rows}");
        assert_eq!(rows.matches("\"denied\"").count(), 0, "what is refused at once is no call: {rows}");
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert_eq!(fs::read_to_string(mounting.at("/work/here/f")).unwrap(), "first", "undone, and seen at once");
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert!(fs::read(mounting.at("/notes/n")).is_err());
        mounting.signal("HUP");
        assert_eq!(mounting.code(), Some(0));
    }

    #[test]
    fn somebody_else_may_unmount_it() {
        let world = world();
        let mut mounting = Mounting::start(&world, &["--write"]);
        fs::write(mounting.at("/work/here/new"), "x").unwrap();
        let unmounted = Command::new("fusermount3").arg("-u").arg(&mounting.dir).status().unwrap();
        assert!(unmounted.success());
        assert_eq!(mounting.code(), Some(0));
        assert!(world.paddock(&["tool", "read_file", r#"{"path": "/work/here/new"}"#]).stdout.contains('x'));
    }

    /// Runs a program that must not hang.
    fn bounded(program: &str) -> (Option<i32>, String) {
        let ran = Command::new("timeout").args(["-s", "KILL", "30", "sh", "-c", program]).output().unwrap();
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    }

    #[test]
    fn a_server_that_is_killed_leaves_nobody_hanging() {
        let world = world();
        let mut mounting = Mounting::start(&world, &["--write"]);
        let dir = mounting.dir.display().to_string();
        // Somebody in the middle of their work.
        let script = format!("while cat {dir}/work/here/f >/dev/null && echo x >> {dir}/work/here/log; do :; done");
        let mut busy = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap();
        while fs::metadata(mounting.at("/work/here/log")).map_or(true, |log| log.len() < 10) {
            std::thread::yield_now();
        }
        mounting.signal("KILL");
        mounting.code();
        let (code, said) = bounded(&format!("cat {dir}/work/here/f"));
        assert!(code == Some(1) && said.contains("not connected"), "{code:?} {said}");
        assert_eq!(bounded(&format!("ls {dir}")).0, Some(2));
        for _ in 0..6000 {
            if busy.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(busy.try_wait().unwrap().is_some(), "who was at work is told, too");
        insta::assert_snapshot!(world.paddock(&["mount", &dir]), @r#"
        [stderr]
        error: "[world]/view" is still mounted, and nobody serves it any more
        hint: run `fusermount3 -u [world]/view` (or, as root, `umount [world]/view`) first
        [exit 1]
        "#);
        assert!(Command::new("fusermount3").arg("-u").arg(&dir).status().unwrap().success());
        let mut again = Mounting::start(&world, &[]);
        let log = fs::read_to_string(again.at("/work/here/log")).unwrap();
        assert!(log.lines().all(|line| line == "x"), "what was closed before is whole");
        again.signal("INT");
        assert_eq!(again.code(), Some(0));
    }

    mod only_root {
        use std::os::unix::process::CommandExt as _;

        use super::*;

        /// As a user who is nobody special, by way of the setuid helper. Run by root in a mount namespace of its own, where
        /// the device may be opened by all as on most systems.
        #[test]
        fn an_ordinary_user_mounts_by_the_helper() {
            let world = world();
            let dir = empty(&world);
            let everything = world.path();
            assert!(Command::new("chown").arg("-R").arg("65534:65534").arg(&everything).status().unwrap().success());
            assert!(Command::new("chmod").arg("o+x").arg(&everything).status().unwrap().success());
            let script = "mkdir /dev/shm/paddock-$$ && mount -t tmpfs -o mode=755 own /dev/shm/paddock-$$ && \
                mknod -m 666 /dev/shm/paddock-$$/fuse c 10 229 && mount --bind /dev/shm/paddock-$$/fuse /dev/fuse && \
                umount -l /dev/shm/paddock-$$ && rmdir /dev/shm/paddock-$$ && \
                exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "sh", "-ec", script, "sh"]);
            command.arg(env!("CARGO_BIN_EXE_paddock")).arg("mount").arg(&dir).arg("--write");
            command.current_dir(world.project()).env_clear().env("HOME", world.home()).process_group(0);
            let path = std::env::var_os("PATH").unwrap();
            let mut mounting = Mounting::run(command.env("PATH", &path), dir);
            assert!(mounting.said.starts_with("the view of agent main"), "{}", mounting.said);
            // Only there is it seen.
            let inside = |script: &str| {
                let pid = mounting.child.id().to_string();
                let mut enter = Command::new("nsenter");
                enter.args(["--mount", "--target", &pid, "setpriv", "--reuid", "65534", "--regid", "65534"]);
                let ran = enter.args(["--clear-groups", "sh", "-ec", script]).output().unwrap();
                (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned())
            };
            let view = mounting.dir.display();
            assert_eq!(inside(&format!("cat {view}/work/here/f")), (true, "first".to_owned()));
            assert!(inside(&format!("echo more > {view}/work/here/g && test -O {view}/work/here/g")).0);
            assert!(names(&mounting.dir).is_empty(), "nothing of it is mounted for others");
            mounting.signal("INT");
            assert_eq!(mounting.code(), Some(0));
            let mut read = world.command(&["tool", "read_file", r#"{"path": "/work/here/g"}"#]);
            let told = read.uid(65534).gid(65534).output().unwrap();
            assert!(String::from_utf8_lossy(&told.stdout).contains("more"));
        }
    }
}
