//! Real work: the tools that agents use, directly and staged, and the way Workspaces lie in each other.

use std::fs;
use std::path::PathBuf;

use paddock_exec::{Command, How, Sandbox, Shown, Stage};

use crate::as_each_user;
use crate::main::harness::*;

/// Runs a text in a direct and in a staged Workspace, each of its own.
fn everywhere(text: &str, prepare: impl Fn(&Yard)) -> Vec<String> {
    let direct = Yard::new();
    let staged = Yard::new();
    prepare(&direct);
    prepare(&staged);
    vec![sh(vec![direct.direct()], text).well().out, sh(vec![staged.staged()], text).well().out]
}

as_each_user! {
    fn git_keeps_a_history() {
        let text = "set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git init -q .; echo one > f; git add f; git commit -qm first; echo two >> f; git commit -qam second; git clone -q . /tmp/copy; git -C /tmp/copy log --format=%s; git mv f g; git commit -qm moved; git status --short; git gc -q";
        for out in everywhere(text, |_| {}) {
            assert_eq!(out, "second\nfirst\n");
        }
    }

    fn a_compiler_builds_a_program() {
        let text = "set -e; gcc -O1 -o hello hello.c; ./hello; test -x hello";
        let prepare = |yard: &Yard| yard.write("w/hello.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n");
        for out in everywhere(text, prepare) {
            assert_eq!(out, "built\n");
        }
    }

    fn python_works_with_many_processes() {
        let program = "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n  for how in ['fork', 'spawn', 'forkserver']:\n    m.set_start_method(how, force=True)\n    with m.Pool(2) as p: print(sum(p.map(f, range(10))))\n  with m.Manager() as g: print(len(g.list([1, 2])))\n";
        let prepare = |yard: &Yard| yard.write("w/p.py", program);
        for out in everywhere("/usr/bin/python3 p.py", prepare) {
            assert_eq!(out, "285\n285\n285\n2\n");
        }
    }

    fn a_database_is_written() {
        let text = "sqlite3 a.db 'pragma journal_mode=wal; create table t(x); insert into t values (7); select x from t'";
        for out in everywhere(text, |_| {}) {
            assert_eq!(out, "wal\n7\n");
        }
    }

    fn node_runs_and_writes() {
        if fs::metadata("/usr/bin/node").is_err() {
            could_not_run("no node at /usr/bin");
            return;
        }
        let text = "node -e \"const fs=require('fs'); fs.writeFileSync('a','x'); console.log(fs.readFileSync('a','utf8'), require('child_process').execSync('echo in').toString().trim())\"";
        for out in everywhere(text, |_| {}) {
            assert_eq!(out, "x in\n");
        }
    }

    fn workspaces_lie_in_each_other() {
        let yard = Yard::new();
        yard.write("w/docs/a", "outer");
        yard.write("w/inner/shadowed", "SHADOWED");
        yard.write("in/b", "inner");
        yard.write("deep/c", "deep");
        let shown = |outer: Shown| vec![
            Shown::host("/project/inner", yard.path("in"), How::Direct),
            Shown::host("/project/not/yet/there", yard.path("deep"), How::ReadOnly),
            outer,
        ];
        let text = "cat docs/a inner/b not/yet/there/c; ls inner not not/yet; cat inner/shadowed; echo w > inner/new; echo no > not/yet/there/no; rmdir inner; mv inner x; rm -rf not; true";
        for outer in [yard.read_only(), yard.staged()] {
            let ran = sh(shown(outer), text);
            assert!(ran.out.starts_with("outerinnerdeepinner:\nb\n"), "{ran:?}");
            assert!(!ran.out.contains("SHADOWED"), "{ran:?}");
            assert_eq!(yard.read("in/new"), "w\n");
            fs::remove_file(yard.path("in/new")).unwrap();
            assert_eq!(tree(&yard.path("deep")), [PathBuf::from("c")]);
            assert!(!yard.has("w/not") && !yard.has("upper/not"));
        }
        // Written directly, the outer one gets no directory that it does not have.
        assert!(try_run(Sandbox::new(shown(yard.direct()), Command::shell("/project", text))).is_err());
        assert!(!yard.has("w/not"));
    }

    fn a_nested_place_below_a_hidden_name_shows_only_itself() {
        let yard = Yard::new();
        yard.write("w/private/key", "SECRET");
        yard.write("in/b", "inner");
        let outer = Shown { masks: vec!["private".into()], ..yard.staged() };
        let ran = sh(vec![outer, Shown::host("/project/private/in", yard.path("in"), How::ReadOnly)], "ls private; cat private/key private/in/b");
        assert_eq!(ran.out, "in\ninner", "{ran:?}");
    }

    fn a_link_on_the_way_to_a_nested_place_is_not_followed() {
        let yard = Yard::new();
        yard.write("in/b", "inner");
        std::os::unix::fs::symlink("/etc", yard.path("w/inner")).unwrap();
        let nested = Shown::host("/project/inner", yard.path("in"), How::ReadOnly);
        let ran = sh(vec![yard.staged(), nested], "cat inner/b; ls -d inner; cat /etc/passwd | wc -l").well();
        assert_eq!(ran.out, "innerinner\n1\n", "{ran:?}");
    }

    fn several_staged_workspaces_each_have_their_layer() {
        let yard = Yard::new();
        for name in ["v", "upper2", "work2"] {
            fs::create_dir(yard.path(name)).unwrap();
        }
        let stage = Stage { upper: yard.path("upper2"), work: yard.path("work2"), held: Vec::new() };
        sh(vec![yard.staged(), Shown::host("/other", yard.path("v"), How::Staged(stage))], "echo 1 > a; echo 2 > /other/b; mv a /other").well();
        assert_eq!((tree(&yard.path("upper")).len(), tree(&yard.path("upper2")).len()), (0, 2));
        assert!(tree(&yard.path("w")).is_empty() && tree(&yard.path("v")).is_empty());
    }

    fn places_that_cannot_be_shown_are_refused() {
        let yard = Yard::new();
        for at in ["/usr/x", "/etc", "/tmp/x", "/proc", "relative", "/a/../b"] {
            let shown = Shown::host(at, yard.path("w"), How::ReadOnly);
            assert!(try_run(Sandbox::new(vec![shown], Command::new("/", ["true"]))).is_err(), "{at}");
        }
        assert!(try_run(Sandbox::new(vec![yard.direct(), yard.direct()], Command::new("/", ["true"]))).is_err());
        let gone = Shown::host("/project", yard.path("gone"), How::ReadOnly);
        assert!(try_run(Sandbox::new(vec![gone], Command::new("/", ["true"]))).is_err());
        sh(vec![Shown::host("/home/me/tmp/usr", yard.path("w"), How::ReadOnly), yard.direct()], "ls /home/me/tmp/usr").well();
    }

    fn a_program_that_is_not_there_is_named() {
        let yard = Yard::new();
        let try_program = |name: &str| try_run(Sandbox::new(vec![yard.direct()], Command::new("/project", [name])));
        for name in ["no-such-program", "/project/none", "./none"] {
            let error = try_program(name).unwrap_err();
            assert!(error.to_string().contains("could not be started"), "{error}");
        }
        assert!(try_program("").is_err());
        assert!(try_run(Sandbox::new(vec![yard.direct()], Command::new("/nowhere", ["true"]))).is_err());
        assert_eq!(try_program("pwd").unwrap().well().out, "/project\n");
    }

    fn tools_are_shown_at_their_own_place() {
        let Some(home) = fs::read_dir("/opt").ok().and_then(|mut all| all.next()).and_then(Result::ok) else {
            could_not_run("nothing in /opt");
            return;
        };
        let yard = Yard::new();
        let mut command = Command::new("/project", ["ls", "/opt"]);
        command.tools = vec![home.path(), "/usr/bin".into()];
        assert_eq!(ran(Sandbox::new(vec![yard.direct()], command)).well().out.trim(), home.file_name().to_str().unwrap());
        sh(vec![yard.direct()], "ls /opt").badly();
    }

    fn input_and_variables_are_the_callers() {
        let yard = Yard::new();
        yard.write("in", "from a file");
        let mut command = Command::shell("/project", "cat; echo $NAME $HOME; whoami; hostname; ulimit -n");
        command.input = Some(fs::File::open(yard.path("in")).unwrap().into());
        command.variables = vec![("NAME".into(), "value".into()), ("HOME".into(), "/project".into())];
        command.limits.open_files = 77;
        let out = ran(Sandbox::new(vec![yard.direct()], command)).well().out;
        let user = if rustix::process::geteuid().is_root() { "root" } else { "agent" };
        assert_eq!(out, format!("from a filevalue /project\n{user}\npaddock\n77\n"));
    }
}

fn ground(yard: &Yard, how: How) -> Shown {
    Shown::host("/", yard.path("w"), how)
}

as_each_user! {
    fn a_workspace_can_be_the_ground_of_everything() {
        for staged in [true, false] {
            let yard = Yard::new();
            yard.write("w/a/b", "ground");
            yard.write("w/.env", "SECRET");
            yard.write("in/c", "inner");
            let directory = tempfile::tempdir_in(yard.dir.path()).unwrap();
            let stage = Stage::create(directory.path()).unwrap();
            let how = if staged { How::Staged(stage.clone()) } else { How::ReadOnly };
            let outer = Shown { masks: vec![".env".into()], ..ground(&yard, how) };
            let inner = Shown::host("/a/in", yard.path("in"), How::ReadOnly);
            let text = "cat /a/b /a/in/c /.env; ls /; echo x > /etc/x; echo x > /dev/x; echo x > /usr/x; echo x > /tmp/x && cat /tmp/x; echo x > /dev/shm/y; echo new > /new; rm -f /bin; cat /etc/hostname";
            let command = Command::shell("/a", text);
            let ran = ran(Sandbox::new(vec![inner, outer], command));
            assert!(ran.out.starts_with("groundinner") && ran.out.contains("\netc\n") && ran.out.ends_with("x\npaddock\n"), "{ran:?}");
            assert!(!ran.out.contains("SECRET") && !ran.out.contains(".env"), "{ran:?}");
            let changed = paddock_exec::staged::changes(&stage, &yard.path("w"), 10).unwrap();
            let paths: Vec<_> = changed.found.iter().map(|found| found.path.clone()).collect();
            let wanted: &[&str] = if staged { &["new"] } else { &[] };
            assert_eq!(paths, wanted.iter().map(PathBuf::from).collect::<Vec<_>>());
            assert_eq!(tree(&yard.path("w")).len(), 3);
            drop(changed);
            paddock_exec::staged::remove_tree(directory.path()).unwrap();
        }
    }

    fn a_ground_must_leave_the_system_its_names() {
        let yard = Yard::new();
        let refused = |shown| try_run(Sandbox::new(vec![shown], Command::new("/", ["true"]))).is_err();
        assert!(refused(ground(&yard, How::Direct)) && refused(ground(&yard, How::WriteOnly)));
        assert!(!refused(ground(&yard, How::ReadOnly)));
        yard.write("w/usr", "");
        assert!(refused(ground(&yard, How::ReadOnly)));
    }
}
