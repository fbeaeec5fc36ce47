//! Real programs on a mounted Virtual Workspace.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use paddock_core::{AccessScope, GUARDED, NameRules, Store, View};
use paddock_fuse::{How, Others};
use paddock_stores::PhysicalStore;
use paddock_stores::virtual_store::VirtualStore;

use crate::world::{Mounted, read, vfs, workspace};

/// A Workspace in which git may write everything, as in a command's own fork.
fn mounted_on(store: Arc<dyn Store>, others: Others) -> Mounted {
    let unguard: Vec<String> = GUARDED.iter().map(|row| row.name.to_owned()).collect();
    let names = NameRules::new(Vec::new(), &unguard, &[]).unwrap();
    let vfs = vfs(vec![workspace("/w", AccessScope::ReadWrite, store).with_names(names)]);
    Mounted::new(vfs, How::Writable, |served| served.while_others(others))
}

fn mounted(others: Others) -> Mounted {
    mounted_on(Arc::new(VirtualStore::in_memory()), others)
}

fn ran(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{out}\n{err}", output.status);
    out.into_owned()
}

fn sh(dir: &Path, script: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(dir).env_remove("PYTHONDONTWRITEBYTECODE");
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("LC_ALL", "C");
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        shell.env(format!("{name}_NAME"), "A").env(format!("{name}_EMAIL"), "a@example.com");
    }
    ran(&shell.output().unwrap())
}

fn git_works(mounted: &Mounted) {
    let dir = mounted.at("/w");
    sh(&dir, "git init -q -b main repo && cd repo && git config user.name A && git config user.email a@b.c");
    let repo = mounted.at("/w/repo");
    for n in 0..40 {
        fs::create_dir_all(repo.join(format!("d{}", n % 5))).unwrap();
        fs::write(repo.join(format!("d{}/f{n}", n % 5)), format!("content {n}\n").repeat(n + 1)).unwrap();
    }
    sh(&repo, "git add -A && git commit -q -m first && test -z \"$(git status --porcelain)\"");
    fs::write(repo.join("d0/f0"), "changed\n").unwrap();
    fs::remove_file(repo.join("d1/f1")).unwrap();
    fs::write(repo.join("new"), "new\n").unwrap();
    assert_eq!(sh(&repo, "git status --porcelain"), " M d0/f0\n D d1/f1\n?? new\n");
    sh(&repo, "git add -A && git commit -q -m second && git mv d2 moved && git commit -q -m third");
    sh(&repo, "git checkout -q -b side HEAD~2 && test ! -e new && git checkout -q main && test -e moved/f2");
    sh(&repo, "git gc -q && git fsck --strict && test -z \"$(git status --porcelain)\"");
    sh(&dir, "git clone -q repo copy && cd copy && test \"$(git log --oneline | wc -l)\" = 3");
    assert_eq!(read(&mounted.vfs, "/w/copy/d0/f0").as_deref(), Some("changed\n"));
}

#[test]
fn git_works_where_others_may_change_things() {
    git_works(&mounted(Others::MayChange));
}

#[test]
fn git_works_where_nobody_else_does() {
    git_works(&mounted(Others::ChangeNothing));
}

#[test]
fn git_works_on_a_directory_of_the_host() {
    let host = tempfile::tempdir().unwrap();
    git_works(&mounted_on(Arc::new(PhysicalStore::new(host.path()).unwrap()), Others::MayChange));
}

#[test]
fn git_goes_on_in_an_overlay_over_a_repository() {
    let host = tempfile::tempdir().unwrap();
    sh(host.path(), "git init -q -b main . && mkdir d && echo one > d/f && echo two > g && ln -s d/f l");
    sh(host.path(), "git add -A && git commit -q -m first");
    let below = workspace("/b", AccessScope::ReadOnly, Arc::new(PhysicalStore::new(host.path()).unwrap()));
    let view = View::of(&below, std::slice::from_ref(&below)).unwrap();
    let store = VirtualStore::in_memory().over(view);
    let mounted = mounted_on(Arc::new(store), Others::ChangeNothing);
    let dir = mounted.at("/w");
    assert_eq!(sh(&dir, "git status --porcelain && cat l"), "one\n");
    sh(&dir, "echo more >> d/f && git mv g moved && git mv l d/l && mv d e && rm -r e/l");
    sh(&dir, "git add -A && git commit -q -m second && git fsck --strict && test -z \"$(git status --porcelain)\"");
    assert_eq!(sh(&dir, "git log --oneline | wc -l").trim(), "2");
    assert_eq!(sh(&dir, "git checkout -q HEAD~1 && ls && cat d/f l"), "d\ng\nl\none\none\n");
    assert_eq!(
        sh(host.path(), "git log --oneline | wc -l && git status --porcelain").trim(),
        "1",
        "nothing below changed"
    );
}

#[test]
fn sqlite_keeps_its_promises() {
    for (others, journal) in [(Others::MayChange, "delete"), (Others::ChangeNothing, "wal")] {
        let mounted = mounted(others);
        let dir = mounted.at("/w");
        let sql = |text: &str| sh(&dir, &format!("sqlite3 t.db \"{text}\""));
        assert_eq!(sql(&format!("pragma journal_mode={journal}")), format!("{journal}\n"));
        sql("create table t(a integer primary key, b text); insert into t(b) values('x'),('y')");
        sql("begin; insert into t(b) select b||b from t; insert into t(b) select b||b from t; commit");
        sql("begin; delete from t; rollback");
        assert_eq!(sql("select count(*) from t; pragma integrity_check"), "8\nok\n");
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let sql = &sql;
                scope.spawn(move || {
                    for _ in 0..5 {
                        sql(&format!("pragma busy_timeout=60000; insert into t(b) values('w{worker}')"));
                    }
                });
            }
        });
        assert_eq!(sql("select count(*) from t; pragma integrity_check"), "28\nok\n", "{journal}");
    }
}

#[test]
fn gcc_builds_what_then_runs() {
    let mounted = mounted(Others::ChangeNothing);
    let dir = mounted.at("/w");
    fs::write(dir.join("part.c"), "int answer(void) { return 42; }\n").unwrap();
    let main = "#include <stdio.h>\nint answer(void);\nint main(void) { printf(\"%d\\n\", answer()); return 0; }\n";
    fs::write(dir.join("main.c"), main).unwrap();
    sh(&dir, "gcc -c part.c main.c && ar rcs libpart.a part.o && gcc main.o -L. -lpart -o prog");
    assert_eq!(sh(&dir, "./prog && ./prog"), "42\n42\n");
    sh(&dir, "gcc -O1 part.c main.c -o prog && ./prog");
}

#[test]
fn python_has_its_environment_and_tar_its_archive() {
    let mounted = mounted(Others::ChangeNothing);
    let dir = mounted.at("/w");
    sh(&dir, "python3 -m venv --without-pip env");
    assert_eq!(sh(&dir, "env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'"), "True\n");
    sh(
        &dir,
        "mkdir pkg && echo 'x = 1' > pkg/__init__.py && env/bin/python -c 'import pkg' && test -d pkg/__pycache__",
    );
    sh(&dir, "ln -s pkg link && tar cf all.tar pkg link && mkdir out && tar xf all.tar -C out");
    sh(&dir, "diff -r pkg out/pkg && test \"$(readlink out/link)\" = pkg && cp -a pkg again && diff -r pkg again");
    sh(
        &dir,
        "find . -name '*.py' | sort > found && sed -i 's/x = 1/x = 2/' pkg/__init__.py && grep -q 'x = 2' pkg/__init__.py",
    );
    sh(&dir, "rm -rf env out pkg again && ls -la");
}

#[test]
fn cargo_builds_a_small_crate() {
    let mounted = mounted(Others::ChangeNothing);
    let dir = mounted.at("/w");
    fs::create_dir_all(dir.join("tiny/src")).unwrap();
    fs::write(
        dir.join("tiny/Cargo.toml"),
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    fs::write(dir.join("tiny/src/main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "-q", "--offline"]).current_dir(dir.join("tiny"));
    cargo.env("CARGO_TARGET_DIR", dir.join("tiny/target")).env_remove("RUSTFLAGS");
    assert_eq!(ran(&cargo.output().unwrap()), "built\n");
    fs::write(dir.join("tiny/src/main.rs"), "fn main() { println!(\"again\"); }\n").unwrap();
    assert_eq!(ran(&cargo.output().unwrap()), "again\n", "a change is noticed");
}
