//! A person's repository in a Workspace: nothing that an agent leaves there runs when the person uses it.

use std::process::Command;

use serde_json::{Value, json};

use crate::commands::{execute, open_project, printed, text};
use crate::harness::World;

/// What the person types, in their repository on the host.
#[track_caller]
fn person(world: &World, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(world.project().join("work")).args(arguments);
    git.env("HOME", world.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    let out = git.output().unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(out.status.success(), "git {arguments:?}: {}{}", told(&out.stdout), told(&out.stderr));
    told(&out.stdout)
}

/// With a commit, and a remote outside of every Workspace.
fn with_repository(world: World) -> World {
    let origin = world.path().join("origin.git");
    world.write("work/a.txt", "one\n");
    person(&world, &["init", "-q", "-b", "main"]);
    for (key, value) in [("user.name", "A"), ("user.email", "a@b.c")] {
        person(&world, &["config", key, value]);
    }
    person(&world, &["add", "a.txt"]);
    person(&world, &["commit", "-qm", "first"]);
    person(&world, &["init", "-q", "--bare", origin.to_str().unwrap()]);
    person(&world, &["remote", "add", "origin", origin.to_str().unwrap()]);
    person(&world, &["push", "-qu", "origin", "main"]);
    world
}

/// A repository in this place of `.git`, whose hook runs when somebody pushes to it.
fn hidden_repository(place: &str) -> String {
    format!(
        "cd .git && mkdir -p {place}/objects {place}/refs {place}/hooks && cd {place} && echo 'ref: refs/heads/main' > HEAD && \
         printf '[core]\\n\\tbare = true\\n' > config && printf '#!/bin/sh\\ntouch /project/evil' > hooks/post-receive && \
         chmod +x hooks/post-receive && cd /project"
    )
}

/// Settings by which git runs something at a person's `git status`.
const EVIL: &str = "[core]\n\tfsmonitor = touch evil;\n";

#[track_caller]
fn assert_guarded(answer: &Value) {
    assert_eq!(answer["verdict"], "denied", "{answer:#}");
    assert!(text(answer).contains("guarded"), "{answer:#}");
}

#[test]
fn no_repository_can_be_hidden_in_another() {
    let world = with_repository(open_project());
    let before = world.read("work/.git/config");
    assert_guarded(&execute(&world, &format!("{} && git remote set-url origin .git/x", hidden_repository("x"))));
    for place in ["x", "logs", "sequencer", "refs/remotes/x", "logs/refs/remotes/x", "worktrees/x", "modules/x"] {
        assert_guarded(&execute(&world, &hidden_repository(place)));
    }
    // Wherever one is, git is not sent there.
    for sent in [
        "git remote set-url origin .git/x",
        "git remote set-url --push origin file:///project/.git/x",
        "git config branch.main.pushRemote ./.git/x",
        "mkdir -p .git/remotes && echo 'URL: .git/x' > .git/remotes/other",
    ] {
        assert_guarded(&execute(&world, sent));
    }
    assert_eq!(world.read("work/.git/config"), before);
    assert!(!world.has("work/.git/x") && !world.has("work/.git/remotes"));
    person(&world, &["push", "-q"]);
}

/// An index as git writes it, in which one file is staged under this name.
fn index_with(name: &str) -> Vec<u8> {
    let mut index = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &1_u32.to_be_bytes(), &[0; 60]].concat();
    index.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    index.extend(name.as_bytes());
    index.resize(index.len() + 8 - (62 + name.len()) % 8, 0);
    index.resize(index.len() + 20, 0);
    index
}

/// `git checkout .` writes whatever the index names, a commit keeps what the list of conflicts names, and a rebase that goes on starts
/// the strategy that is noted.
#[test]
fn no_list_of_gits_own_leads_it_elsewhere() {
    let world = with_repository(open_project());
    for name in ["../outside", ".git/hooks/post-checkout", "a/../../outside", "/etc/cron.d/x"] {
        world.write("work/crafted", index_with(name));
        assert_guarded(&execute(&world, "cp crafted .git/index"));
        assert_guarded(&execute(&world, "mkdir -p .git/modules/m && cp crafted .git/modules/m/index"));
    }
    // A person's `git commit -a` would put it where an agent reads it.
    world.write("work/crafted", index_with("secrets/key"));
    assert_guarded(&execute(&world, "cp crafted .git/index"));
    assert_guarded(&execute(&world, "mkdir -p .git/rr-cache && printf '%040d\\t.env\\0' 1 > .git/MERGE_RR"));
    world.write("work/crafted", index_with("b.txt"));
    printed(&execute(&world, "cp crafted .git/index && git read-tree HEAD && git status --short"));
    for planted in [
        "mkdir -p .git/rr-cache && printf '%040d\\t../outside\\0' 1 > .git/MERGE_RR",
        "mkdir -p .git/rebase-merge && echo /../evil > .git/rebase-merge/strategy",
        "mkdir -p .git/sequencer && printf '[options]\\n\\tstrategy = /../evil\\n' > .git/sequencer/opts",
        "mkdir -p .git/rebase-apply && echo \"'--build-fake-ancestor=../precious'\" > .git/rebase-apply/apply-opt",
        "echo '; touch evil #' > .git/BISECT_NAMES",
        // Git follows links when it remembers a conflict, also one that comes later.
        "mkdir -p .git/rr-cache && printf '%040d\\tnotes\\0' 1 > .git/MERGE_RR",
    ] {
        assert_guarded(&execute(&world, planted));
    }
    for path in [".git/MERGE_RR", ".git/rr-cache/1/preimage", ".git/info/exclude", ".git/index", "new/.git/HEAD"] {
        let arguments = json!({"path": format!("/project/{path}"), "content": "x"}).to_string();
        let ran = world.paddock(&["tool", "write_file", &arguments]);
        assert!(ran.code == 1 && ran.stdout.contains("guarded"), "{path}: {ran}");
    }
    assert!(!world.has("outside") && !world.has("work/.git/MERGE_RR") && !world.has("work/new"));
    for work in [
        "git update-index --index-version 4 && echo 2 > a.txt && git commit -qam second",
        "git checkout -q -b side HEAD~1 && echo side > a.txt && git commit -qam side && \
         ! git -c rerere.enabled=false merge main > /dev/null 2>&1 && test -s .git/MERGE_MSG",
        "echo both > a.txt && git add a.txt && git commit -qm both && git branch index && git checkout -q main",
        "git checkout -q -b onto HEAD~1 && echo onto > a.txt && git commit -qam onto && \
         ! git rebase -q --strategy=ort -Xignore-space-change side > /dev/null 2>&1 && test -s .git/rebase-merge/strategy_opts",
        "git rebase --abort && ! git cherry-pick -Xignore-space-change main side > /dev/null 2>&1 && test -s .git/sequencer/opts",
        "git cherry-pick --abort && git checkout -q main",
        "git bisect start main main~1 -- a.txt 'b c' && test -s .git/BISECT_NAMES",
        "git bisect reset && git init -q --object-format=sha256 far && cd far && echo 1 > f.txt && git add f.txt",
        "cd far && echo 2 > f.txt && git add f.txt",
    ] {
        printed(&execute(&world, work));
    }
    person(&world, &["fsck", "--strict"]);
    // How long its hashes are says how an index is read, so that only a new repository says it.
    assert_guarded(&execute(&world, "git -C far config --unset extensions.objectformat"));
    assert_guarded(&execute(
        &world,
        "git config core.repositoryformatversion 1 && git config extensions.objectformat sha256",
    ));
    // What the person has staged is theirs, hidden or not.
    world.write("work/.env", "KEY=1\n");
    person(&world, &["add", "-f", ".env"]);
    printed(&execute(&world, "echo 9 > c.txt && git add c.txt"));
    assert!(person(&world, &["ls-files"]).contains(".env\n"));
}

/// Where a git directory lies in the tree of a person, or is not called `.git`, its lists are read as well.
#[test]
fn lists_of_git_directories_of_any_name_are_read() {
    let world = with_repository(open_project());
    let origin = world.path().join("origin.git");
    let origin = origin.to_str().unwrap();
    person(&world, &["clone", "-q", "-b", "main", "--separate-git-dir", "state", origin, "apart"]);
    person(&world, &["worktree", "add", "-q", "tree"]);
    person(&world, &["clone", "-q", "--bare", origin, "proj/.bare"]);
    person(&world, &["-C", "proj/.bare", "worktree", "add", "-q", "../tree", "main"]);
    world.write("work/crafted", index_with("../outside"));
    let inner = "docs.git/logs/.git";
    for planted in [
        "mkdir -p state/rebase-merge && echo /../evil > state/rebase-merge/strategy",
        "mkdir -p state/sequencer && printf '[options]\n\tstrategy = /../evil\n' > state/sequencer/opts",
        "cp crafted state/index",
        &format!(
            "mkdir -p {inner}/objects {inner}/refs && echo 'ref: refs/heads/x' > {inner}/HEAD && cp crafted {inner}/index"
        ),
        // Git writes through links in its directory.
        "ln -s ../apart/a.txt state/COMMIT_EDITMSG",
        "ln -s /home/alice/.profile proj/.bare/worktrees/tree/COMMIT_EDITMSG",
        "ln -s ../a.txt .git/worktrees/tree/MERGE_MSG",
    ] {
        assert_guarded(&execute(&world, planted));
    }
    // Of a worktree whose place nobody knows here, what is hidden everywhere is hidden.
    world.write("work/crafted", index_with(".env"));
    assert_guarded(&execute(&world, "cp crafted .git/worktrees/tree/index"));
    for path in ["state/MERGE_RR", "state/index", "state/rebase-merge/strategy", ".git/info/exclude"] {
        let arguments = json!({"path": format!("/project/{path}"), "content": "x"}).to_string();
        let ran = world.paddock(&["tool", "write_file", &arguments]);
        assert!(ran.code == 1 && ran.stdout.contains("guarded"), "{path}: {ran}");
    }
    let told = world.paddock(&["why", "write", "/project/.git/info/exclude"]);
    assert!(told.stdout.contains("guarded against file tools"), "{told}");
    for (directory, tree) in
        [("state", "apart"), (".git/worktrees/tree", "tree"), ("proj/.bare/worktrees/tree", "proj/tree")]
    {
        let git = format!("git --git-dir={directory} --work-tree={tree}");
        printed(&execute(&world, &format!("echo 2 > {tree}/a.txt && {git} add -u && {git} status --short")));
    }
}

/// A person's next command follows what lies in git's directory: a stash that it puts over everything, a reference that leads to another
/// file, an index that names what the agent may not write.
#[test]
fn what_a_persons_next_git_command_follows_is_what_git_leaves() {
    let world = with_repository(World::configured(
        r#"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
hide = [".env"]
[[workspace]]
prefix = "/project/vendor"
scope = "READ_ONLY"
mount = { physical = "work/vendor" }
[commands]
"#,
    ));
    world.write("work/vendor/lib.js", "theirs\n");
    world.write("work/notes/thesis.txt", "mine\n");
    world.write("work/plain", "mine\n");
    world.write("work/.env", "SECRET=1\n");
    person(&world, &["add", "vendor"]);
    person(&world, &["commit", "-qm", "vendor"]);
    let stage = |path: &str| {
        format!("b=$(echo evil | git hash-object -w --stdin) && git update-index --add --cacheinfo 100644,$b,{path}")
    };
    for evil in [
        "git rev-parse HEAD > .git/MERGE_AUTOSTASH".to_owned(),
        "mkdir -p .git/rebase-merge && git rev-parse HEAD > .git/rebase-merge/autostash".to_owned(),
        "echo 'ref: commondir' > .git/ORIG_HEAD".to_owned(),
        "echo 'ref: hooks/post-commit' > .git/refs/heads/main".to_owned(),
        "h=$(git rev-parse HEAD) && mkdir -p .git/$h && printf '[core]\n\tfsmonitor = evil\n' > .git/$h/config".to_owned(),
        "git update-ref refs/replace/$(git rev-parse HEAD:a.txt) $(git rev-parse HEAD:a.txt)".to_owned(),
        "o=$(git rev-parse HEAD:a.txt) && f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-) && chmod u+w $f && echo x > $f"
            .to_owned(),
        stage(".husky/pre-commit"),
        stage("paddock.toml"),
        stage("vendor/lib.js"),
        stage("vendor/new.js"),
        stage(".env"),
        // Git would remove what lies there to make room.
        stage("notes"),
        stage("plain/below"),
        "mkdir -p .git/rebase-merge && echo '\"index-output=.env\"' > .git/rebase-merge/strategy_opts".to_owned(),
        "git config remote.origin.url ../home/private".to_owned(),
        "git config remote.origin.url /home/alice/private".to_owned(),
        "git config remote.origin.mirror true".to_owned(),
        "git config --add remote.origin.fetch +refs/heads/none:refs/heads/mine".to_owned(),
        "touch .git/index.lock".to_owned(),
    ] {
        assert_guarded(&execute(&world, &evil));
    }
    // What git noted of whole directories it notes again: nobody's commit holds what its index does not name.
    printed(&execute(&world, "echo 2 > a.txt && git add a.txt && git write-tree && git status --short"));
    let index = std::fs::read(world.path().join("project/work/.git/index")).unwrap();
    assert!(!index.windows(4).any(|word| word == b"TREE"));
    // Nor is an agent believed that a file which is not its to change is as it was.
    assert!(person(&world, &["ls-files", "--debug", "vendor/lib.js"]).contains("mtime: 0:0"));
    person(&world, &["fsck", "--strict"]);
    person(&world, &["commit", "-qm", "reviewed"]);
    assert_eq!(person(&world, &["show", "--format=", "--name-only"]), "a.txt\n");
    assert_eq!(world.read("work/notes/thesis.txt"), "mine\n");
    // What stays within what the agent sees may be a remote, and what is gone makes room.
    printed(&execute(
        &world,
        "git init -q near && git remote add near ./near && git remote add up https://example.com/a.git",
    ));
    printed(&execute(&world, "mkdir own && echo 1 > own/x && git add own && git commit -qm own"));
    printed(&execute(&world, "rm -r own && echo now > own && git add -A own && git commit -qm again"));
}

/// A repository in which a Workspace is nested that agents write, too.
#[test]
fn what_lies_in_a_nested_workspace_is_staged_where_it_can_be_seen() {
    let world = with_repository(World::configured(
        r#"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
[[workspace]]
prefix = "/project/gen"
scope = "READ_WRITE"
mount = { physical = "work/gen" }
[[workspace]]
prefix = "/project/inbox"
scope = "WRITE_ONLY"
mount = { physical = "work/inbox" }
[commands]
"#,
    ));
    printed(&execute(&world, "echo 1 > gen/new.txt && git add gen/new.txt && git commit -qm generated"));
    assert_eq!(person(&world, &["ls-files", "gen"]), "gen/new.txt\n");
    world.write("work/crafted", index_with("inbox/secret"));
    assert_guarded(&execute(&world, "cp crafted .git/index"));
    // Nothing that is not delivered is said to be.
    let arguments = json!({"path": "/project/inbox/backup.git/readme.md", "content": "x"}).to_string();
    let ran = world.paddock(&["tool", "write_file", &arguments]);
    assert!(ran.code == 1 && ran.stdout.contains("guarded") && !world.has("work/inbox/backup.git"), "{ran}");
}

#[test]
fn what_git_does_by_itself_in_a_repository_is_taken() {
    let world = with_repository(open_project());
    for work in [
        "echo 2 > a.txt && git commit -qam second && echo 3 > a.txt && git commit -qam third",
        "git remote add up https://example.com/a.git && git remote set-url --push up git@example.com:a.git",
        "git init -q -b main near && cd near && git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m near",
        "git remote add near ./near && git fetch -q near && git remote set-head near main && test -s .git/refs/remotes/near/HEAD",
        // Of several commits that do not fit git keeps where it began, in a file that is called "head".
        "git checkout -q -b side HEAD~2 && echo other > a.txt && git commit -qam other && \
         ! git cherry-pick main~1 main > /dev/null 2>&1 && test -s .git/sequencer/head",
        "git cherry-pick --abort && git checkout -q main",
    ] {
        printed(&execute(&world, work));
    }
    assert_eq!(person(&world, &["log", "--format=%s"]), "third\nsecond\nfirst\n");
    person(&world, &["push", "-q"]);
}

#[test]
fn a_worktree_is_made_where_its_names_are_lifted() {
    let world = with_repository(World::configured(
        r#"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
unguard = [".git", ".git/commondir"]
[commands]
"#,
    ));
    assert_eq!(printed(&execute(&world, "git worktree add -q tree && git -C tree log --format=%s")), "first\n");
    assert!(world.has("work/.git/worktrees/tree/HEAD") && world.has("work/tree/a.txt"));
    assert_guarded(&execute(&world, "echo '[core]' > .git/worktrees/tree/config"));
}

/// In the person's worktree a submodule is where neither `.git/modules` nor its `.git` file shows it.
#[test]
fn submodules_of_a_worktree_are_not_the_agents() {
    let world = with_repository(open_project());
    let origin = world.path().join("origin.git");
    let allow = "protocol.file.allow=always";
    person(&world, &["-c", allow, "submodule", "--quiet", "add", "-b", "main", origin.to_str().unwrap(), "sub"]);
    person(&world, &["commit", "-qm", "sub"]);
    person(&world, &["worktree", "add", "-q", "tree"]);
    person(&world, &["-C", "tree", "-c", allow, "submodule", "--quiet", "update", "--init"]);
    let settings = ".git/worktrees/tree/modules/sub/config";
    let before = world.read(&format!("work/{settings}"));
    let append = json!({ "path": format!("/project/{settings}"), "content": EVIL }).to_string();
    assert_guarded(&world.paddock(&["tool", "append_file", &append, "--json"]).json());
    assert_guarded(&execute(&world, &format!("printf '{EVIL}' >> {settings}")));
    assert_guarded(&execute(
        &world,
        "cd .git/worktrees/tree/modules/sub && mkdir -p hooks && echo true > hooks/pre-push",
    ));
    assert_eq!(world.read(&format!("work/{settings}")), before);
    person(&world, &["-C", "tree", "status"]);
    assert!(!world.has("work/evil") && !world.has("work/tree/evil"));
    // What git does there by itself is its own, and a branch may be called so.
    printed(&execute(&world, "cd tree/sub && git checkout -q -b side && git status"));
    printed(&execute(&world, "git checkout -q -b hooks/config"));
    assert_eq!(person(&world, &["-C", "tree/sub", "branch", "--show-current"]), "side\n");
    assert_eq!(person(&world, &["branch", "--show-current"]), "hooks/config\n");
}

/// A git directory of another name, as a person makes one, and what must not get into it.
#[test]
fn git_directories_that_are_not_called_so_are_not_the_agents() {
    let world = with_repository(open_project());
    let origin = world.path().join("origin.git");
    let origin = origin.to_str().unwrap();
    person(&world, &["clone", "-q", "--bare", origin, "proj/.bare"]);
    person(&world, &["-C", "proj/.bare", "worktree", "add", "-q", "../tree", "main"]);
    world.write("work/proj/.git", "gitdir: ./.bare\n");
    person(&world, &["clone", "-q", "-b", "main", "--separate-git-dir", "state", origin, "apart"]);
    person(&world, &["clone", "-q", "--bare", origin, "b.git"]);
    for (directory, from) in [("proj/.bare", "proj/tree"), ("state", "apart"), ("b.git", "b.git")] {
        let settings = world.read(&format!("work/{directory}/config"));
        let append = json!({ "path": format!("/project/{directory}/config"), "content": EVIL }).to_string();
        assert_guarded(&world.paddock(&["tool", "append_file", &append, "--json"]).json());
        for evil in [
            format!("printf '{EVIL}' >> {directory}/config"),
            format!("git -C {directory} config alias.status '!touch evil'"),
            format!("mkdir -p {directory}/hooks && echo 'touch evil' > {directory}/hooks/pre-receive"),
            format!("mv {directory}/objects x"),
        ] {
            assert_guarded(&execute(&world, &evil));
        }
        assert_eq!(world.read(&format!("work/{directory}/config")), settings);
        // What cannot make anything run may be set, and taken back.
        printed(&execute(&world, &format!("git -C {directory} config user.name Agent")));
        assert_eq!(person(&world, &["-C", from, "config", "user.name"]), "Agent\n");
        assert_eq!(world.paddock(&["undo"]).code, 0);
        assert_eq!(world.read(&format!("work/{directory}/config")), settings);
        printed(&execute(&world, &format!("git -C {directory} branch hooks/config main")));
        assert!(person(&world, &["-C", from, "branch"]).contains("hooks/config"));
    }
    let told = world.paddock(&["why", "write", "/project/state/config"]);
    assert!(told.code == 0 && told.stdout.contains("unless its directory is a git repository"), "{told}");
}

/// There nothing is judged afterwards: what is there is held.
#[test]
fn where_changes_take_effect_at_once_they_are_held_too() {
    let world = with_repository(World::configured(
        r#"
[[workspace]]
prefix = "/project"
scope = "READ_WRITE"
mount = { physical = "work" }
[approvals]
above = "high"
[commands]
changes = "direct"
"#,
    ));
    let origin = world.path().join("origin.git");
    let clone = ["clone", "-q", "-b", "main", "--separate-git-dir", "state", origin.to_str().unwrap(), "apart"];
    person(&world, &clone);
    let settings = world.read("work/state/config");
    for evil in [&format!("printf '{EVIL}' >> state/config"), "mv state other", "echo true > state/hooks/pre-push"] {
        let answer = execute(&world, evil);
        assert_ne!(answer["structured"]["exit_code"], 0, "{evil}: {answer:#}");
    }
    assert_eq!(world.read("work/state/config"), settings);
    printed(&execute(&world, "mkdir -p plain && echo 1 > plain/config && git -C state branch hooks/side"));
}

/// What `git rebase --continue` goes on with may run anything.
#[test]
fn nothing_is_put_into_a_rebase_that_somebody_goes_on_with() {
    let world = with_repository(open_project());
    let todo = ".git/rebase-merge/git-rebase-todo";
    // The agent's own rebase stops where it does not fit, and is kept like that.
    let diverge = "git checkout -q -b side && echo side > a.txt && git commit -qam side && echo more > b.txt && \
                   git add b.txt && git commit -qm more && git checkout -q main && echo main > a.txt && git commit -qam main";
    printed(&execute(&world, diverge));
    printed(&execute(&world, "git checkout -q side && ! git rebase main > /dev/null 2>&1"));
    assert!(world.read(&format!("work/{todo}")).starts_with("pick "));
    for file in
        [todo, ".git/rebase-merge/git-rebase-todo.backup", ".git/sequencer/todo", ".git/rebase-apply/author-script"]
    {
        let append = json!({ "path": format!("/project/{file}"), "content": "exec touch evil\n" }).to_string();
        assert_guarded(&world.paddock(&["tool", "append_file", &append, "--json"]).json());
        let evil = format!("mkdir -p $(dirname {file}) && printf 'x touch evil\\n' >> {file}");
        assert_guarded(&execute(&world, &evil));
    }
    assert_guarded(&execute(&world, "echo 'touch evil' >> .git/rebase-merge/author-script"));
    assert_guarded(&execute(&world, "GIT_SEQUENCE_EDITOR='echo exec touch evil >>' git rebase --edit-todo"));
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert!(!world.has(&format!("work/{todo}")));
    printed(&execute(&world, "! git rebase main side > /dev/null 2>&1"));
    printed(&execute(&world, "echo both > a.txt && git add a.txt && GIT_EDITOR=true git rebase --continue"));
    assert!(!world.has("work/.git/rebase-merge"));
    // What it runs itself is over when the command is.
    printed(&execute(&world, "git rebase -q -x 'touch ran' HEAD~1 && test -e ran && mv ran /tmp/ran"));
    // So is what `git am` keeps of an author.
    let take = "git format-patch -q -1 side~1 --stdout > p && git checkout -q -B taken main~1 && ! git am -q p && \
                test -s .git/rebase-apply/author-script";
    printed(&execute(&world, take));
    printed(&execute(&world, "git am --abort && mv p /tmp/p && git checkout -q main"));
    assert_eq!(person(&world, &["log", "-1", "--format=%s"]), "main\n");
    // A person's own is theirs to go on with.
    printed(&execute(&world, "git checkout -q -B other main~1 && echo other > a.txt && git commit -qam other"));
    printed(&execute(&world, "! git rebase main > /dev/null 2>&1"));
    world.write("work/a.txt", "mine\n");
    person(&world, &["add", "a.txt"]);
    person(&world, &["-c", "core.editor=true", "rebase", "--continue"]);
    assert!(!world.has("work/evil"));
}

#[test]
fn hooks_that_live_in_the_project_are_not_the_agents() {
    let world = with_repository(open_project());
    person(&world, &["config", "core.hooksPath", ".husky"]);
    world.write("work/.husky/pre-commit", "#!/bin/sh\ntrue\n");
    let edit = |path: &str| {
        let arguments = json!({ "path": path, "old_string": "true", "new_string": "touch evil" }).to_string();
        world.paddock(&["tool", "edit_file", &arguments, "--json"]).json()
    };
    assert_guarded(&edit("/project/.husky/pre-commit"));
    assert_guarded(&execute(&world, "echo 'touch evil' >> .husky/pre-commit"));
    assert_guarded(&execute(&world, "mkdir sub && echo 'pre-commit: {}' > sub/lefthook.yml"));
    assert_eq!(world.read("work/.husky/pre-commit"), "#!/bin/sh\ntrue\n");
    // What is no hook is the agent's work.
    world.write("work/hooks.sh", "true\n");
    assert_eq!(edit("/project/hooks.sh")["verdict"], "done");
}
