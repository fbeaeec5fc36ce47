//! Commands under the same policy as the file tools: seed 000's, and what each scope means to them.

use serde_json::{Value, json};

use crate::could_not_run::could_not_run;
use crate::harness::{Ran, World, eventually, runs};

/// A command through exactly the agent's call.
pub(crate) fn execute(world: &World, command: &str) -> Value {
    execute_with(world, &json!({ "command": command }))
}

fn execute_with(world: &World, arguments: &Value) -> Value {
    world.paddock(&["tool", "execute_command", &arguments.to_string(), "--json"]).json()
}

pub(crate) fn text(answer: &Value) -> String {
    let pieces = answer["content"].as_array().unwrap();
    pieces.iter().map(|piece| piece["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// What was printed, where the command ran to a good end.
#[track_caller]
pub(crate) fn printed(answer: &Value) -> String {
    assert_eq!(answer["structured"]["exit_code"], 0, "{answer:#}");
    assert_eq!(answer["verdict"], "done", "{answer:#}");
    let is_silent = answer["structured"]["output_bytes"] == 0;
    if is_silent { String::new() } else { answer["content"][0]["text"].as_str().unwrap().to_owned() }
}

fn changed(answer: &Value) -> Vec<(String, String)> {
    let listed = answer["structured"]["changed"].as_array().cloned().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    listed.iter().map(|entry| (word(&entry["change"]), word(&entry["path"]))).collect()
}

/// A project whose only agent has the whole of it, read-write, with what git needs.
pub(crate) fn open_project() -> World {
    World::configured(
        r#"
base = "/project"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
hide = [".env", "secrets"]
[commands]
deny = ["rm"]
"#,
    )
}

#[test]
fn test_4_a_dangerous_command_is_refused() {
    let world = World::seed();
    world.write("workspace/keep.txt", "kept");
    let ran = world.paddock(&["tool", "execute_command", r#"{"command": "rm -rf workspace/"}"#]);
    assert!(ran.stdout.contains("❌ ERROR: Dangerous command \"rm\" is not allowed."), "{ran}");
    for command in
        ["/bin/rm -rf .", "sh -c 'rm -rf .'", "true && rm -rf .", "env rm -rf .", "(rm -rf .)", "echo x | rm -rf ."]
    {
        assert!(text(&execute(&world, command)).contains("Dangerous command \"rm\""), "{command}");
    }
    assert_eq!(world.read("workspace/keep.txt"), "kept");
}

#[test]
fn commands_and_file_tools_are_at_home_in_one_workspace() {
    let workspaces = ["a", "b"].map(|name| {
        format!("[[workspace]]\nprefix = \"/{name}\"\nscope = \"RW\"\nmount = {{ physical = \"{name}\" }}\n")
    });
    let world = |base: &str| World::configured(&format!("{base}{}[commands]\n", workspaces.concat()));
    let based = world("base = \"/b\"\n");
    assert_eq!(printed(&execute(&based, "pwd")), "/b\n");
    assert!(based.paddock(&["map"]).stdout.contains("start in /b."));
    assert_eq!(printed(&execute(&world(""), "pwd")), "/a\n");
}

#[test]
fn test_5_a_safe_command_lists_the_workspace() {
    let world = World::seed();
    world.write("workspace/hello.txt", "hello");
    let answer = execute(&world, "ls -la");
    assert!(printed(&answer).contains("hello.txt"), "{answer:#}");
    assert_eq!(printed(&execute(&world, "pwd")), "/project/workspace\n");
    let ran = world.paddock(&["exec", "--", "ls", "-la"]);
    assert!(ran.code == 0 && ran.stdout.contains("hello.txt"), "{ran}");
}

#[test]
fn what_it_changed_is_there_when_it_ends_and_can_be_undone() {
    let world = World::seed();
    world.write("workspace/old.txt", "before\n");
    let answer = execute(
        &world,
        "echo after > old.txt; mkdir -p d; echo new > d/new.sh; chmod +x d/new.sh; ln -s new.sh d/link",
    );
    printed(&answer);
    let mut told = changed(&answer);
    told.sort();
    let expected = [
        ("created", "/project/workspace/d/link"),
        ("created", "/project/workspace/d/new.sh"),
        ("made", "/project/workspace/d"),
        ("modified", "/project/workspace/old.txt"),
    ];
    assert_eq!(told, expected.map(|(change, path)| (change.to_owned(), path.to_owned())));
    assert_eq!((world.read("workspace/old.txt"), world.read("workspace/d/link")), ("after\n".into(), "new\n".into()));
    assert_eq!(printed(&execute(&world, "./d/new.sh 2>/dev/null; test -x d/new.sh && echo runs")), "runs\n");
    let undone = world.paddock(&["undo"]);
    assert_eq!(undone.code, 0, "{undone}");
    assert_eq!(world.read("workspace/old.txt"), "before\n");
    assert!(!world.has("workspace/d"), "{undone}");
}

/// There are models that refuse an empty text.
#[test]
fn a_command_that_prints_nothing_has_no_empty_piece_in_its_answer() {
    let world = World::seed();
    let answer = execute(&world, "true");
    let pieces: Vec<&str> = answer["content"].as_array().unwrap().iter().filter_map(|p| p["text"].as_str()).collect();
    assert!(pieces.len() == 1 && pieces[0].starts_with("Exit code 0"), "{answer:#}");
    let ran = world.paddock(&["exec", "true"]);
    assert!(ran.stdout.is_empty() && ran.stderr.starts_with("Exit code 0"), "{ran}");
    let told = world.paddock(&["exec", "--json", "true"]).json();
    assert_eq!(told["output"], "", "{told}");
}

#[test]
fn what_goes_with_a_directory_and_is_hidden_is_not_named_to_a_command() {
    let world = World::seed();
    world.write("workspace/box/deep/.env", "TOKEN=secret");
    world.write("workspace/box/seen.txt", "seen\n");
    let answer = execute(&world, "mv box box2");
    assert!(!answer.to_string().contains(".env"), "{answer:#}");
    let reason = "Cannot delete \"/project/workspace/box/deep\" whole, and nothing was changed: it holds something that is \
                  not yours to change.";
    assert!(text(&answer).contains(reason), "{answer:#}");
    assert!(world.has("workspace/box/deep/.env") && world.has("workspace/box/seen.txt"));
}

#[test]
fn a_command_that_only_looks_changes_nothing_and_is_no_change_to_undo() {
    let world = World::seed();
    let answer = execute(&world, "cat /project/src/App.tsx | head -1; touch /tmp/x");
    printed(&answer);
    assert!(changed(&answer).is_empty());
    assert!(text(&answer).contains("No file changed."), "{answer:#}");
}

/// What pip brings into a new venv is no private key.
#[test]
fn under_the_names_that_init_hides_public_certificates_arrive_and_keys_do_not() {
    let world = World::seed();
    let bundle = "mkdir -p v/certifi && echo public > v/certifi/cacert.pem && cat v/certifi/cacert.pem";
    assert_eq!(printed(&execute(&world, bundle)), "public\n");
    assert_eq!(world.read("workspace/v/certifi/cacert.pem"), "public\n");
    let key = execute(&world, "echo secret > v/key.pem");
    assert_eq!(key["verdict"], "denied", "{key:#}");
    assert!(!world.project().join("workspace/v/key.pem").exists());
}

#[test]
fn what_may_only_be_read_cannot_be_changed_and_what_is_hidden_is_not_there() {
    let world = World::seed();
    world.write(".env", "TOKEN=secret");
    world.write("workspace/.env", "TOKEN=secret");
    let before = world.read("src/App.tsx");
    let answer =
        execute(&world, "echo x > /project/src/App.tsx; echo x > /project/new.txt; mv /project/src /project/away");
    assert_ne!(answer["structured"]["exit_code"], 0, "{answer:#}");
    assert_eq!(world.read("src/App.tsx"), before);
    assert!(!world.has("new.txt"));
    for path in ["/project/.env", "/project/workspace/.env"] {
        let answer = execute(&world, &format!("cat {path}; ls -la $(dirname {path})"));
        assert!(!text(&answer).contains("TOKEN"), "{answer:#}");
        assert!(!text(&answer).contains(" .env"), "{answer:#}");
    }
    assert!(printed(&execute(&world, "head -c 5 /project/src/App.tsx")).len() == 5);
}

#[test]
fn nothing_of_the_host_is_there() {
    let world = World::seed();
    let outside = world.path().join("outside.txt");
    std::fs::write(&outside, "private").unwrap();
    let answer = execute(&world, &format!("cat {}; cat /etc/shadow; ls /root /home; env", outside.display()));
    let told = text(&answer);
    assert!(!told.contains("private") && !told.contains("root:"), "{told}");
    assert!(!told.contains("CARGO") && !told.contains("PADDOCK"), "{told}");
}

#[test]
fn one_denied_path_drops_the_whole_with_its_reason() {
    let world = open_project();
    world.write("work/dir/.env", "TOKEN=secret");
    world.write("work/dir/a.txt", "a");
    let answer = execute(&world, "echo new > fine.txt; find dir -delete");
    assert_eq!(answer["verdict"], "denied", "{answer:#}");
    assert!(text(&answer).contains("Nothing it changed was kept"), "{answer:#}");
    assert!(!world.has("work/fine.txt") && world.has("work/dir/a.txt") && world.has("work/dir/.env"));
}

#[test]
fn git_works_and_a_hook_cannot_be_planted() {
    let world = open_project();
    let git = "git -c init.defaultBranch=main init -q . && git config user.name A && git config user.email a@b.c && \
               echo hello > a.txt && git add a.txt && git commit -qm first && git log --oneline";
    let answer = execute(&world, git);
    assert!(printed(&answer).contains("first"), "{answer:#}");
    assert!(world.has("work/.git/config") && world.has("work/.git/HEAD"));
    let again = execute(
        &world,
        "echo more >> a.txt && git commit -qam second && git remote add origin ./b && git log --oneline",
    );
    assert!(printed(&again).contains("second"), "{again:#}");
    assert!(world.read("work/.git/config").contains("origin"));
    for planted in [
        "printf '#!/bin/sh\\necho evil' > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "git config alias.st '!evil'",
        // A person's fetch would bring along what lies there.
        "git remote add outside ../b",
        "mkdir x && git init -q x && echo evil > x/.git/hooks/post-checkout",
        "echo 'layout evil' > .envrc",
        "mkdir -p .vscode && echo {} > .vscode/tasks.json",
        "mv .git hidden && mkdir .git && cp -r hidden/. .git && echo evil > .git/hooks/post-commit",
    ] {
        let answer = execute(&world, planted);
        assert_eq!(answer["verdict"], "denied", "{planted}: {answer:#}");
        assert!(text(&answer).contains("guarded"), "{planted}: {answer:#}");
    }
    assert!(!world.has("work/.git/hooks/pre-commit") && !world.has("work/x") && !world.has("work/.envrc"));
}

#[test]
fn taking_away_what_a_person_made_needs_a_person() {
    let world = open_project();
    world.write("work/mine.txt", "a person's");
    let answer = execute(&world, "find . -name mine.txt -delete");
    assert_eq!(answer["verdict"], "parked", "{answer:#}");
    assert!(text(&answer).contains("waits for a person"), "{answer:#}");
    assert!(world.has("work/mine.txt"));
    // What the agent made itself it may take away.
    printed(&execute(&world, "mkdir d && echo 1 > d/own.txt"));
    let answer = execute(&world, "find d -delete");
    printed(&answer);
    assert!(!world.has("work/d"));
    // A list of what is ignored helps nobody who could write it.
    printed(&execute(&world, "echo '*' > .gitignore"));
    let answer = execute(&world, "find . -name 'mine.*' -delete");
    assert!(answer["verdict"] == "parked" && world.has("work/mine.txt"), "{answer:#}");
}

#[test]
fn no_move_makes_a_persons_files_the_agents_own() {
    let world = open_project();
    let more = "[[workspace]]\nprefix = \"/other\"\nscope = \"READ_WRITE\"\nmount = { physical = \"other\" }\n";
    world.write("paddock.toml", world.read("paddock.toml").replace("[commands]", &format!("{more}[commands]")));
    for file in ["work/proj/m1.py", "work/lib/m1.py", "other/x"] {
        world.write(file, "a person's\n");
    }
    let tool = |name: &str, arguments: Value| {
        let ran = world.paddock(&["tool", name, &arguments.to_string()]);
        assert_eq!(ran.code, 0, "{ran}");
    };
    let moved = |from: &str, to: &str| tool("move_file", json!({"source": from, "destination": to}));
    let removes = |directory: &str| {
        let command = format!("find {directory} -mindepth 1 -delete");
        execute_with(
            &world,
            &json!({"command": command, "workspace": format!("/{}", &directory[1..].split('/').next().unwrap())}),
        )
    };
    // By way of another Workspace.
    moved("/project/lib", "/other/trash");
    assert_eq!(removes("/other/trash")["verdict"], "parked");
    // By way of the agent's own directory, which it swaps for the person's.
    tool("write_file", json!({"path": "/project/q/m1.py", "content": "own\n"}));
    moved("/project/q", "/project/q0");
    moved("/project/proj", "/project/q");
    tool("append_file", json!({"path": "/project/q/m1.py", "content": "own\n"}));
    assert_eq!(removes("/project/q")["verdict"], "parked");
    assert!(world.has("work/q/m1.py") && world.has("other/trash/m1.py"));
    // Its twin: what the agent made, here or there, it may take away.
    tool("write_file", json!({"path": "/project/d/own.py", "content": "own\n"}));
    tool("append_file", json!({"path": "/project/d/own.py", "content": "more\n"}));
    printed(&execute(&world, "chmod +x d/own.py; echo more >> d/own.py"));
    moved("/project/d", "/other/d");
    printed(&removes("/other/d"));
    assert!(!world.has("other/d/own.py"));
}

#[test]
fn a_file_that_changed_meanwhile_is_a_conflict() {
    let world = open_project();
    world.write("work/a.txt", "one");
    let change = world.project().join("work/a.txt");
    let other = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        std::fs::write(change, "by somebody else").unwrap();
    });
    let answer = execute(&world, "sleep 3; echo mine > a.txt; echo new > b.txt");
    other.join().unwrap();
    assert_eq!(answer["verdict"], "denied", "{answer:#}");
    assert!(text(&answer).contains("\"/project/a.txt\" changed while the command ran"), "{answer:#}");
    assert_eq!(world.read("work/a.txt"), "by somebody else");
    assert!(!world.has("work/b.txt"));
}

#[test]
fn a_command_can_be_confined_to_one_directory() {
    let world = World::seed();
    world.write("workspace/app/main.txt", "app");
    world.write("workspace/other/secret.txt", "not for it");
    let confined = |command: &str| execute_with(&world, &json!({ "command": command, "workspace": "workspace/app" }));
    assert_eq!(printed(&confined("pwd; cat main.txt")), "/project/workspace/app\napp");
    let answer = confined("cat ../other/secret.txt /project/workspace/other/secret.txt; ls ..; echo x > ../planted");
    assert!(!text(&answer).contains("not for it") && !text(&answer).contains("other/\n"), "{answer:#}");
    printed(&confined("echo new > new.txt"));
    assert_eq!(world.read("workspace/app/new.txt"), "new\n");
    assert!(!world.has("workspace/planted"));
    // A link is no way to another place.
    std::os::unix::fs::symlink(world.path(), world.project().join("workspace/out")).unwrap();
    std::os::unix::fs::symlink("other", world.project().join("workspace/beside")).unwrap();
    for link in ["workspace/out", "workspace/out/home", "workspace/beside"] {
        let answer = execute_with(&world, &json!({ "command": "ls; cat secret.txt", "workspace": link }));
        assert_eq!(answer["verdict"], "failed", "{link}: {answer:#}");
        assert!(text(&answer).contains("no such directory"), "{link}: {answer:#}");
    }
    let nowhere = execute_with(&world, &json!({ "command": "true", "workspace": "workspace/none" }));
    assert_eq!(nowhere["verdict"], "failed", "{nowhere:#}");
    let protected = execute_with(&world, &json!({ "command": "true", "workspace": "/project/src" }));
    assert_eq!(protected["verdict"], "denied", "{protected:#}");
}

#[test]
fn in_a_write_only_workspace_files_arrive_and_nothing_comes_back() {
    let world = World::configured(
        r#"
[[workspace]]
prefix = "/work"
scope = "READ_WRITE"
mount = { physical = "work" }
[[workspace]]
prefix = "/inbox"
scope = "WRITE_ONLY"
mount = { physical = "inbox" }
[commands]
"#,
    );
    world.write("inbox/old.txt", "private");
    let answer =
        execute(&world, "ls /inbox; cat /inbox/old.txt; stat -c %s /inbox/old.txt; echo hello > /inbox/new.txt");
    assert!(!text(&answer).contains("private") && !text(&answer).contains("old.txt\n7"), "{answer:#}");
    assert_eq!((world.read("inbox/new.txt"), world.read("inbox/old.txt")), ("hello\n".into(), "private".into()));
    // Nor where any of it is on the host.
    let table = printed(&execute(&world, "cat /proc/self/mountinfo /proc/self/mounts"));
    assert!(table.contains(" /inbox ") && !table.contains(world.path().to_str().unwrap()), "{table}");
    assert!(!table.contains("staged/"), "{table}");
    execute(&world, "mkdir -p /inbox/a/b && echo deep > /inbox/a/b/c && echo again > /inbox/new.txt");
    assert_eq!((world.read("inbox/a/b/c"), world.read("inbox/new.txt")), ("deep\n".into(), "again\n".into()));
}

#[test]
fn without_a_read_write_workspace_or_without_the_section_there_are_no_commands() {
    let read_only = "[[workspace]]\nprefix = \"/w\"\nscope = \"READ_ONLY\"\nmount = { physical = \".\" }\n";
    let world = World::configured(&format!("{read_only}[commands]\n"));
    assert_eq!(execute(&world, "true")["verdict"], "denied");
    let world = World::configured(&read_only.replace("READ_ONLY", "READ_WRITE"));
    assert_eq!(execute(&world, "true")["verdict"], "denied");
}

#[test]
fn a_long_output_is_shown_at_both_ends_and_read_by_pages() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = { physical = \"w\" }\n[commands]\noutput_limit = \"1 KiB\"\n",
    );
    let answer = execute(&world, "seq 1 5000; printf '\\377\\033[31mred\\033[0m'");
    let shown = printed(&answer);
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("\u{fffd}red"), "{shown}");
    assert!(shown.len() < 1200 && shown.contains("bytes left out"), "{shown}");
    let path = answer["structured"]["output_path"].as_str().unwrap();
    let read = world.paddock(&["tool", "read_file", &json!({ "path": path, "offset": 2499, "limit": 1 }).to_string()]);
    assert!(read.stdout.contains("2500"), "{read}");
    let write = world.paddock(&["tool", "write_file", &json!({ "path": path, "content": "x" }).to_string()]);
    assert_eq!(write.code, 1, "{write}");
}

#[test]
fn limits_end_a_command_and_the_answer_says_which() {
    let world = World::configured(
        "[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = { physical = \"w\" }\n[commands]\ntime_limit = \"1 s\"\n",
    );
    let answer = execute(&world, "echo begun; echo x > half.txt; sleep 60");
    assert_eq!(answer["structured"]["ended_by"], "time", "{answer:#}");
    assert!(text(&answer).contains("begun") && !world.has("w/half.txt"), "{answer:#}");
    assert_eq!(answer["verdict"], "failed", "{answer:#}");
    let world = World::configured(
        "[[workspace]]\nprefix = \"/w\"\nscope = \"READ_WRITE\"\nmount = { physical = \"w\" }\n[commands]\n",
    );
    let ran = world.paddock(&["exec", "ulimit -S -t 1; echo x > half.txt; while true; do true; done"]);
    assert!(ran.code == 152 && ran.stderr.contains("the limit of cpu") && !world.has("w/half.txt"), "{ran}");
}

#[test]
fn a_repository_that_a_command_made_can_be_undone() {
    let world = open_project();
    printed(&execute(&world, "git init -q r && git -C r config user.name A"));
    let undone = world.paddock(&["undo"]);
    assert!(undone.code == 0 && !world.has("work/r"), "{undone}");
    let again = world.paddock(&["undo"]);
    assert!(again.code == 0 || !again.stderr.contains("guarded"), "{again}");
}

#[test]
fn exec_passes_the_code_through_and_says_what_changed() {
    let world = World::seed();
    let told = |arguments: &[&str]| -> Ran { world.paddock(arguments) };
    assert_eq!(told(&["exec", "--", "sh", "-c", "exit 7"]).code, 7);
    assert_eq!(told(&["exec", "exit 8"]).code, 8);
    let refused = told(&["exec", "--", "rm", "-rf", "."]);
    assert!(refused.code == 125 && refused.stderr.contains("Dangerous command"), "{refused}");
    let wrote = told(&["exec", "--", "sh", "-c", "echo \"it's $0\" > 'a b.txt'", "me"]);
    assert!(wrote.code == 0 && wrote.stderr.contains("+ /project/workspace/a b.txt"), "{wrote}");
    assert_eq!(world.read("workspace/a b.txt"), "it's me\n");
    let json = told(&["exec", "--json", "--", "echo", "hi"]).json();
    assert_eq!((&json["output"], &json["structured"]["exit_code"]), (&json!("hi\n"), &json!(0)));
}

#[test]
fn with_direct_changes_a_person_is_asked_before_and_guarded_names_still_hold() {
    let config = r#"
[[workspace]]
prefix = "/w"
scope = "READ_WRITE"
mount = { physical = "w" }
hide = [".env"]
[commands]
changes = "direct"
"#;
    let world = World::configured(config);
    world.write("w/a.txt", "a");
    let answer = execute(&world, "echo b > a.txt");
    assert_eq!(answer["verdict"], "parked", "{answer:#}");
    assert!(text(&answer).contains("has to approve this call first") && world.read("w/a.txt") == "a", "{answer:#}");
    let world = World::configured(&format!("{config}[approvals]\nabove = \"high\"\n"));
    world.write("w/.git/hooks/pre-commit.sample", "sample");
    world.write("w/.git/config", "[core]\n");
    world.write("w/.env", "TOKEN=secret");
    printed(&execute(&world, "echo b > a.txt"));
    assert_eq!(world.read("w/a.txt"), "b\n");
    for attack in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "mv .git g && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        "cat .env",
    ] {
        let answer = execute(&world, attack);
        assert_ne!(answer["structured"]["exit_code"], 0, "{attack}: {answer:#}");
        assert!(!text(&answer).contains("TOKEN"), "{attack}: {answer:#}");
    }
    assert!(!world.has("w/.git/hooks/pre-commit") && world.read("w/.git/config") == "[core]\n");
}

/// Where the compiler that built this is: the name by which it is called may only lead to it.
fn toolchain() -> String {
    let ran = std::process::Command::new("rustc").arg("--print=sysroot").output().unwrap();
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

/// Programs as people use them, on a directory of the host and on a Virtual Workspace, staged.
#[test]
fn real_work_is_done_inside() {
    let sysroot = toolchain();
    let world = World::configured(&format!(
        r#"
[[workspace]]
prefix = "/disk"
scope = "READ_WRITE"
mount = {{ physical = "disk" }}
[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = {{ virtual = "notes" }}
[commands]
time_limit = "300 s"
cpu_limit = "300 s"
tools = ["{sysroot}"]
env = {{ PATH = "{sysroot}/bin:/usr/bin:/bin", npm_config_cache = "/tmp/npm", CARGO_HOME = "/tmp/cargo" }}
"#
    ));
    let cargo = "mkdir -p c/src && printf '[package]\\nname = \"c\"\\nedition = \"2021\"\\n[workspace]\\n' > c/Cargo.toml && \
                 printf 'fn main() { println!(\"built by cargo\"); }' > c/src/main.rs && cd c && \
                 cargo build -q --offline && ./target/debug/c && test -s Cargo.lock";
    // With pip it would hold more files than this test has time for.
    let venv = "python3 -m venv --without-pip v && . v/bin/activate && \
                python -c 'import sys; print(sys.prefix != sys.base_prefix)'";
    let npm = "mkdir -p dep app && echo '{\"name\": \"dep\", \"version\": \"1.0.0\", \"bin\": {\"dep\": \"cli.js\"}}' > dep/package.json && \
               printf '#!/usr/bin/env node\nconsole.log(\"linked\")' > dep/cli.js && \
               echo 'module.exports = 7' > dep/index.js && cd app && echo 'console.log(require(\"dep\") * 6)' > start.js && \
               echo '{\"name\": \"app\", \"version\": \"1.0.0\", \"scripts\": {\"start\": \"node start.js\"}}' > package.json && \
               npm install --offline --silent --no-audit --no-fund ../dep > /dev/null && npm run --silent start";
    let mut works = vec![
        ("printf '#include <stdio.h>\\nint main(void) { puts(\"built\"); }' > a.c && gcc a.c -o a && ./a", "built\n"),
        ("python3 -c 'from multiprocessing import Pool; print(sum(Pool(2).map(abs, [-1, -2, -3])))'", "6\n"),
        ("sqlite3 t.db 'create table t(a); insert into t values (7); select a from t;'", "7\n"),
        (
            "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --format=%s",
            "x\n",
        ),
        ("git clone -q --no-hardlinks r copy 2>/dev/null && ls -d copy/.git", "copy/.git\n"),
        ("tar cf t.tar a.c && mkdir -p out && tar xf t.tar -C out && cmp a.c out/a.c && echo same", "same\n"),
        (cargo, "built by cargo\n"),
        (venv, "True\n"),
    ];
    if std::path::Path::new("/usr/bin/npm").exists() {
        works.push((npm, "42\n"));
        // By the link that npm made, in the next command.
        works.push(("cd app && node_modules/.bin/dep && readlink node_modules/.bin/dep", "linked\n../dep/cli.js\n"));
    } else {
        could_not_run("no npm at /usr/bin");
    }
    for workspace in ["/disk", "/notes"] {
        for (command, expected) in &works {
            let answer = execute_with(&world, &json!({ "command": command, "workspace": workspace }));
            assert_eq!(printed(&answer), *expected, "{workspace}: {command}");
        }
    }
}

/// Commands on Workspaces that are no directory of the host: served, forked, and committed like the others.
mod served {
    use super::*;

    fn world() -> World {
        World::configured(
            r#"
[[workspace]]
prefix = "/notes"
scope = "READ_WRITE"
mount = { virtual = "notes" }
hide = [".env"]
[[workspace]]
prefix = "/docs"
scope = "READ_ONLY"
mount = { virtual = "docs", shared = true }
[[workspace]]
prefix = "/try"
scope = "READ_WRITE"
mount = { overlay = "/notes" }
[[workspace]]
prefix = "/out"
scope = "WRITE_ONLY"
mount = { virtual = "out" }
[agents.author]
[[agents.author.workspace]]
prefix = "/docs"
scope = "READ_WRITE"
mount = { virtual = "docs", shared = true }
[commands]
"#,
        )
    }

    fn write(world: &World, agent: &str, path: &str, content: &str) {
        let arguments = json!({ "path": path, "content": content }).to_string();
        assert_eq!(world.paddock(&["--agent", agent, "tool", "write_file", &arguments]).code, 0);
    }

    fn read(world: &World, path: &str) -> String {
        let answer = world.paddock(&["tool", "read_file", &json!({ "path": path }).to_string(), "--json"]).json();
        answer["content"][0]["text"].as_str().unwrap_or_default().trim_end().to_owned()
    }

    #[test]
    fn what_a_command_changed_is_in_the_store_and_can_be_undone() {
        let world = world();
        write(&world, "main", "/notes/old.txt", "before\n");
        write(&world, "author", "/docs/manual.txt", "read me\n");
        let answer = execute(
            &world,
            "cat /docs/manual.txt old.txt; echo after > old.txt; mkdir d; echo '#!/bin/sh\necho ran' > d/run.sh; \
             chmod +x d/run.sh; ln -s d/run.sh link; ./link",
        );
        assert_eq!(printed(&answer), "read me\nbefore\nran\n");
        assert_eq!(read(&world, "/notes/old.txt"), "after");
        assert_eq!(printed(&execute(&world, "./link; readlink link; cat /try/old.txt")), "ran\nd/run.sh\nafter\n");
        let refused = execute(&world, "echo x > /docs/manual.txt");
        assert_ne!(refused["structured"]["exit_code"], 0, "{refused:#}");
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert_eq!(read(&world, "/notes/old.txt"), "before");
    }

    #[test]
    fn links_are_in_the_next_command_what_they_were_in_the_last() {
        let world = world();
        let packages = "mkdir -p node_modules/.bin node_modules/foo; cd node_modules; \
                        printf '#!/bin/sh\necho ran\n' > foo/cli.js; chmod +x foo/cli.js; \
                        ln -s ../foo/cli.js .bin/foo; ln -s foo .bin/bar; cp -a .bin/foo .bin/copy && touch -h .bin/bar";
        let look = "cd node_modules/.bin; readlink foo; readlink bar; readlink copy; ./foo; ./bar; ./copy";
        for workspace in ["/try", "/notes"] {
            let execute = |command| execute_with(&world, &json!({ "command": command, "workspace": workspace }));
            printed(&execute(packages));
            let seen = printed(&execute(look));
            assert_eq!(seen, "../foo/cli.js\nfoo\n../foo/cli.js\nran\nran\nran\n", "{workspace}");
        }
    }

    #[test]
    fn hidden_guarded_and_write_only_hold_there_too() {
        let world = world();
        let answer = execute(&world, "echo evil > .envrc");
        assert_eq!(answer["verdict"], "denied", "{answer:#}");
        let answer = execute(&world, "echo secret > .env");
        assert_ne!(answer["structured"]["exit_code"], 0, "{answer:#}");
        write(&world, "main", "/out/old.txt", "private");
        let answer = execute(&world, "cat /out/old.txt; ls /out; echo hello > /out/new.txt; cat /out/new.txt");
        assert!(!text(&answer).contains("private") && !text(&answer).contains("old.txt\n"), "{answer:#}");
    }

    #[test]
    fn an_overlay_takes_the_changes_and_what_it_stands_on_stays() {
        let world = world();
        write(&world, "main", "/notes/a.txt", "one\n");
        printed(&execute_with(&world, &json!({ "command": "echo two > a.txt", "workspace": "/try" })));
        assert_eq!((read(&world, "/try/a.txt"), read(&world, "/notes/a.txt")), ("two".into(), "one".into()));
        assert!(world.paddock(&["diff", "/try"]).stdout.contains("+two"));
    }

    #[test]
    fn git_and_sqlite_work_there() {
        let world = world();
        let answer = execute(
            &world,
            "git init -q . && git config user.name A && git config user.email a@b.c && echo 1 > f && git add f && \
             git commit -qm first && git log --oneline | wc -l && python3 -c 'import sqlite3; \
             c = sqlite3.connect(\"x.db\"); c.execute(\"create table t(a)\"); c.execute(\"insert into t values (42)\"); \
             c.commit(); print(c.execute(\"select a from t\").fetchone()[0])'",
        );
        assert_eq!(printed(&answer), "1\n42\n");
        assert!(printed(&execute(&world, "git status --short; git log --oneline")).contains("first"));
    }
}

/// Over MCP: what is printed is told as it comes, and nothing survives whoever asked for it.
mod over_mcp {

    use super::*;
    use crate::client::{Raw, call};

    /// Calls with a token for progress.
    fn begin(raw: &mut Raw, command: &str) {
        let mut request = call(7, "execute_command", &json!({ "command": command }));
        request["params"]["_meta"] = json!({ "progressToken": "p" });
        raw.send(&request);
    }

    #[test]
    fn what_it_prints_is_told_while_it_runs() {
        let world = World::seed();
        let mut raw = Raw::greeted(&world, &["mcp"]);
        begin(&mut raw, "echo first; sleep 1; echo second");
        let told = raw.receive();
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["message"], "first\n", "{told}");
        let answer = std::iter::repeat_with(|| raw.receive()).find(|message| message["id"] == 7).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "first\nsecond\n", "{answer}");
    }

    #[test]
    fn cancelling_it_kills_everything_it_started() {
        let world = World::seed();
        let mut raw = Raw::greeted(&world, &["mcp"]);
        begin(&mut raw, "(setsid sleep 98761 &); sleep 98761; echo > made.txt");
        assert!(eventually(|| runs("98761")));
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
        assert!(eventually(|| !runs("98761")));
        raw.send(&call(8, "read_file", &json!({ "path": "workspace/made.txt" })));
        let answer = std::iter::repeat_with(|| raw.receive()).find(|message| message["id"] == 8).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }

    #[test]
    fn a_server_that_is_killed_takes_its_commands_along() {
        let world = World::seed();
        let mut raw = Raw::greeted(&world, &["mcp"]);
        begin(&mut raw, "(setsid sleep 98762 &); sleep 98762");
        assert!(eventually(|| runs("98762")));
        raw.kill();
        assert!(eventually(|| !runs("98762")));
        // What it had staged goes with the next command.
        assert_eq!(execute(&world, "true")["verdict"], "done");
    }
}

/// Who looks back sees which command it was, not only where it ran.
#[test]
fn a_change_that_was_held_is_listed_with_its_command_once_it_is_made() {
    let world = open_project();
    world.write("work/old.txt", "a person's");
    let held = execute(&world, "unlink old.txt");
    assert_eq!(held["verdict"], "parked", "{held:#}");
    let approved = world.paddock(&["approvals", "approve", "ap-"]);
    assert!(approved.code == 0 && approved.to_string().contains("it is not run again"), "{approved}");
    let log = world.paddock(&["log"]);
    assert!(log.stdout.contains("(exit 0: unlink old.txt)"), "{log}");
}
