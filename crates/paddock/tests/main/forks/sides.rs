//! Sides of a conflict that are kept, and modes, which are a side's as much as its content.

use std::process::Command;

use serde_json::json;

use super::{CONFIG, read, tool, without_ids, world, write};
use crate::harness::World;

#[test]
fn a_side_is_kept_path_by_path() {
    let world = world();
    world.write("w/z.txt", "below\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "HERE\n");
    write(&world, "/forks/x/z.txt", "HERE\n");
    world.write("w/a.txt", "THERE\n");
    world.write("w/z.txt", "THERE\n");
    let none = world.paddock(&["resolve", "x", "new.txt", "--keep", "here"]);
    assert!(none.code == 1 && none.stderr.contains("is in no conflict"), "{none}");
    let kept = world.paddock(&["resolve", "x", "a.txt", "--keep", "here"]);
    assert!(
        kept.code == 0 && kept.stdout == "wrote /w/a.txt\n" && kept.stderr.contains("1 conflict is left"),
        "{kept}"
    );
    assert_eq!(world.paddock(&["apply", "x"]).code, 1, "one is left");
    let kept = world.paddock(&["resolve", "x", "z.txt", "--keep", "below", "--json"]).json();
    let changed = json!([{ "path": "/forks/x/z.txt", "removed": false }]);
    assert_eq!((&kept["changed"], &kept["conflicts"]), (&changed, &json!(0)), "{kept}");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!((world.read("w/a.txt"), world.read("w/z.txt")), ("HERE\n".to_owned(), "THERE\n".to_owned()));
}

/// `apply` prints them as they are below, an agent as they are in the fork, and `diff` as they are in both.
#[test]
fn a_path_in_conflict_is_known_by_each_of_its_names() {
    for name in ["d/a.txt", "/w/d/a.txt", "/forks/x/d/a.txt", "./d/a.txt"] {
        let world = world();
        world.write("w/d/a.txt", "below\n");
        assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
        write(&world, "/forks/x/d/a.txt", "HERE\n");
        world.write("w/d/a.txt", "THERE\n");
        let kept = world.paddock(&["resolve", "x", name, "--keep", "here"]);
        assert_eq!((kept.code, kept.stdout.as_str()), (0, "wrote /w/d/a.txt\n"), "{name}: {kept}");
    }
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    let elsewhere = world.paddock(&["resolve", "x", "/notes/a.txt", "--keep", "here"]);
    assert!(elsewhere.code == 1 && elsewhere.stderr.contains("is neither in /forks/x nor in /w"), "{elsewhere}");
}

/// One call, so that one undo brings all of them back.
#[test]
fn a_side_is_kept_of_every_conflict_at_once() {
    let world = world();
    world.write("w/z.txt", "below\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    let nothing = world.paddock(&["resolve", "x", "--all", "--keep", "here"]);
    assert!(nothing.code == 0 && nothing.stderr.contains("there is no conflict"), "{nothing}");
    write(&world, "/forks/x/a.txt", "HERE\n");
    assert_eq!(tool(&world, "main", "delete_file", &json!({"path": "/forks/x/z.txt"})).code, 0);
    world.write("w/a.txt", "THERE\n");
    world.write("w/z.txt", "THERE\n");
    assert_eq!(world.paddock(&["resolve", "x", "--keep", "here"]).code, 2, "no path is named");
    let some = world.paddock(&["resolve", "x", "a.txt", "new.txt", "--keep", "here"]);
    assert!(some.code == 1 && some.stderr.contains("\"new.txt\" is in no conflict"), "{some}");
    assert_eq!(world.read("w/a.txt"), "THERE\n", "all of them or nothing");
    insta::assert_snapshot!(without_ids(&world.paddock(&["resolve", "x", "--all", "--keep", "here"])), @r"
    wrote /w/a.txt
    removed /w/z.txt
    [stderr]
    no conflict is left: `paddock apply x` takes the rest over
    `paddock undo [id]` takes this back
    [exit 0]
    ");
    assert!(world.read("w/a.txt") == "HERE\n" && !world.has("w/z.txt"));
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!((world.read("w/a.txt"), world.read("w/z.txt")), ("THERE\n".to_owned(), "THERE\n".to_owned()));
    let kept = world.paddock(&["resolve", "x", "a.txt", "z.txt", "--keep", "below"]);
    assert_eq!((kept.code, kept.stdout.as_str()), (0, "wrote /forks/x/a.txt\nwrote /forks/x/z.txt\n"), "{kept}");
    assert_eq!(read(&world, "/forks/x/z.txt"), "THERE\n");
}

/// On the host's disk, where the fork has noted what was below, and where it stands on a moment.
#[test]
fn a_side_that_was_kept_and_undone_after_the_fork_was_applied_is_not_lost_from_sight() {
    for (source, file) in [("/w", "a.txt"), ("/notes", "a.md")] {
        let world = world();
        write(&world, "/notes/a.md", "one\ntwo\nthree\n");
        let below = |content: &str| match source {
            "/w" => world.write("w/a.txt", content),
            _ => write(&world, "/notes/a.md", content),
        };
        assert_eq!(world.paddock(&["fork", source, "x"]).code, 0);
        write(&world, &format!("/forks/x/{file}"), "HERE\n");
        write(&world, "/forks/x/first.md", "first\n");
        assert_eq!(world.paddock(&["apply", "x"]).code, 0);
        // An apply that was undone is still remembered after a side was kept.
        assert_eq!(world.paddock(&["undo"]).code, 0);
        below("THERE\n");
        let kept = world.paddock(&["resolve", "x", file, "--keep", "here", "--json"]).json();
        let diff = world.paddock(&["diff", "x", "--stat"]).stdout;
        assert!(diff.starts_with("A first.md"), "{source}: {diff}");
        assert_eq!(world.paddock(&["apply", "x"]).code, 0);
        assert_eq!(world.paddock(&["diff", "x"]).stdout, "", "{source}");
        let undone = world.paddock(&["undo", kept["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{undone}");
        let diff = world.paddock(&["diff", "x", "--stat"]).stdout;
        assert!(diff.starts_with(&format!("M {file} | +1 -1 (conflict)\n1 path changed")), "{source}: {diff}");
        let asked = world.paddock(&["discard", "x"]);
        assert!(asked.code == 2 && asked.stderr.contains("holds what was not applied"), "{asked}");
        // It can be kept again, and then it is.
        assert_eq!(world.paddock(&["resolve", "x", file, "--keep", "here"]).code, 0);
        assert_eq!(world.paddock(&["apply", "x"]).code, 0);
        assert_eq!(world.paddock(&["discard", "x"]).code, 0, "{source}");
    }
}

/// A command in a fork.
pub(super) fn execute(world: &World, command: &str) {
    let ran = tool(world, "main", "execute_command", &json!({"command": command, "workspace": "/forks/x"}));
    assert_eq!(ran.code, 0, "{ran}");
}

pub(super) fn with_commands() -> World {
    let world = World::configured(&format!("{CONFIG}[commands]\n")).unasked();
    world.write("w/a.txt", "one\n");
    world.write("w/run.sh", "echo\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    world
}

fn mode_of(world: &World, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(world.project().join(path)).unwrap().permissions().mode() & 0o777
}

#[test]
fn modes_are_shown_and_applied_with_everything_else() {
    let world = with_commands();
    execute(&world, "echo two >> run.sh; chmod 755 run.sh a.txt; echo new > new.sh; chmod 755 new.sh");
    insta::assert_snapshot!(world.paddock(&["diff", "x"]), @r"
    changed a.txt (mode 644 to 755)
    added file new.sh (mode 755)
    --- /dev/null
    +++ b/new.sh
    @@ -0,0 +1 @@
    +new
    changed run.sh (mode 644 to 755)
    --- a/run.sh
    +++ b/run.sh
    @@ -1 +1,2 @@
     echo
    +two
    [exit 0]
    ");
    insta::assert_snapshot!(world.paddock(&["diff", "x", "--stat"]), @r"
    M a.txt (mode 644 to 755)
    A new.sh | +1 -0 (mode 755)
    M run.sh | +1 -0 (mode 644 to 755)
    3 paths changed, 2 lines added, 0 removed
    [exit 0]
    ");
    for list in ["/differences", "/rows"] {
        let options: &[&str] =
            if list == "/rows" { &["diff", "x", "--json", "--stat"] } else { &["diff", "x", "--json"] };
        let shown = world.paddock(options).json();
        let mode = |at: usize, side: &str| shown.pointer(list).unwrap()[at][side].clone();
        assert_eq!((mode(0, "mode_before"), mode(0, "mode_after")), (json!(0o644), json!(0o755)), "{list}");
        assert_eq!((mode(1, "mode_before"), mode(1, "mode_after")), (json!(null), json!(0o755)), "{list}");
    }
    insta::assert_snapshot!(world.paddock(&["apply", "x", "--dry-run"]), @r"
    would apply fork x to /w
      sets the mode of /w/a.txt to 755
      writes /w/new.sh (mode 755)
      writes /w/run.sh
      sets the mode of /w/run.sh to 755
    [exit 0]
    ");
    assert_eq!(world.paddock(&["apply", "x"]).code, 0);
    assert_eq!(["a.txt", "new.sh", "run.sh"].map(|file| mode_of(&world, &format!("w/{file}"))), [0o755; 3]);
}

#[test]
fn the_side_that_is_kept_is_kept_with_its_mode() {
    let world = with_commands();
    execute(&world, "echo HERE > run.sh; echo HERE > a.txt; chmod 755 run.sh a.txt");
    world.write("w/run.sh", "THERE\n");
    world.write("w/a.txt", "THERE\n");
    assert_eq!(world.paddock(&["resolve", "x", "a.txt", "--keep", "below"]).code, 0);
    assert_eq!(world.paddock(&["resolve", "x", "run.sh", "--keep", "here"]).code, 0);
    assert_eq!((world.read("w/run.sh").as_str(), mode_of(&world, "w/run.sh")), ("HERE\n", 0o755));
    let left = world.paddock(&["diff", "x"]);
    assert!(left.stdout.is_empty() && left.stderr.contains("holds nothing"), "{left}");
}

#[test]
fn what_cannot_be_read_below_is_not_shown_as_gone() {
    let world = World::configured(&CONFIG.replace("hide = [", "hard_links = \"deny\"\nhide = [")).unasked();
    world.write("w/a.txt", "one\n");
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    assert_eq!(tool(&world, "main", "delete_file", &json!({"path": "/forks/x/a.txt"})).code, 0);
    world.write("w/a.txt", "another\n");
    std::fs::hard_link(world.project().join("w/a.txt"), world.project().join("elsewhere")).unwrap();
    let compared = world.paddock(&["diff", "x", "--json"]).json();
    let told = &compared["differences"][0]["contradiction"];
    assert_eq!((&told["kind"], &told["sides"]), (&json!("deleted_here_changed_below"), &json!(null)), "{compared:#}");
    assert!(told["unread"].as_str().unwrap().contains("/w/a.txt"), "{compared:#}");
}

#[test]
fn a_fork_that_nobody_wants_goes_without_a_look_at_what_would_be_lost() {
    let world = world();
    assert_eq!(world.paddock(&["fork", "/w", "x"]).code, 0);
    write(&world, "/forks/x/a.txt", "changed\n");
    // It cannot be compared any more.
    std::fs::remove_dir_all(world.project().join("w")).unwrap();
    world.write("w", "no directory\n");
    let asked = world.paddock(&["discard", "x"]);
    assert!(asked.code != 0 && !asked.stderr.contains("--yes"), "{asked}");
    let gone = world.paddock(&["discard", "x", "--yes"]);
    assert_eq!(gone.code, 0, "{gone}");
}

/// Many conflicts are as many contents, and no program may have that many files open.
#[test]
fn a_side_is_kept_of_more_conflicts_than_files_may_be_open() {
    const CONFLICTS: usize = 200;
    let world = with_commands();
    execute(&world, &format!("for n in $(seq {CONFLICTS}); do echo here > $n; done; chmod 755 1; chmod 600 3"));
    for n in 1..=CONFLICTS {
        world.write(&format!("w/{n}"), "below\n");
    }
    let program = world.command(&["resolve", "x", "--all", "--keep", "here"]);
    let mut frugal = Command::new("/bin/sh");
    frugal.args(["-c", "ulimit -n 128 && exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    frugal.current_dir(world.project()).env_clear();
    frugal.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let kept = world.run(frugal, "");
    assert_eq!((kept.code, kept.stdout.lines().count()), (0, CONFLICTS), "{kept}");
    for n in 1..=CONFLICTS {
        assert_eq!(world.read(&format!("w/{n}")), "here\n");
    }
    assert_eq!((mode_of(&world, "w/1"), mode_of(&world, "w/3"), mode_of(&world, "w/4")), (0o755, 0o600, 0o644));
    assert_eq!(world.paddock(&["diff", "x"]).stdout, "");
    assert_eq!(world.paddock(&["undo"]).code, 0);
    assert_eq!((world.read("w/1"), mode_of(&world, "w/1")), ("below\n".to_owned(), 0o644));
}
